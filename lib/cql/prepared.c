/* SPDX-License-Identifier: Apache-2.0 */
/* Prepared texts: a hash table by text that only grows, so that pointers stay good. */
#include "prepared.h"

#include "statement_private.h"
#include "token.h"

#include <stdlib.h>
#include <string.h>

#define CHAINS_FIRST 64

static uint64_t hash_of(const char *text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    for (; *text != '\0'; text++)
        hash = (hash ^ (uint8_t)*text) * UINT64_C(0x100000001b3);
    return hash;
}

bool vvcql_prepared_init(struct vvcql_prepared_texts *texts)
{
    memset(texts, 0, sizeof(*texts));
    texts->chains = calloc(CHAINS_FIRST, sizeof(struct vvcql_prepared *));
    if (texts->chains == NULL)
        return false;
    texts->n_chains = CHAINS_FIRST;
    if (pthread_mutex_init(&texts->lock, NULL) != 0) {
        free(texts->chains);
        texts->chains = NULL;
        return false;
    }
    return true;
}

void vvcql_prepared_deinit(struct vvcql_prepared_texts *texts)
{
    for (size_t i = 0; i < texts->n_chains; i++) {
        while (texts->chains[i] != NULL) {
            struct vvcql_prepared *prepared = texts->chains[i];
            texts->chains[i] = prepared->next;
            vvcql_buffer_deinit(&prepared->id);
            free(prepared->text);
            free(prepared);
        }
    }
    free(texts->chains);
    pthread_mutex_destroy(&texts->lock);
}

static struct vvcql_prepared *create(const char *cql)
{
    struct vvcql_prepared *prepared = calloc(1, sizeof(*prepared));
    if (prepared == NULL)
        return NULL;
    prepared->text =
        vvcql_duplicate((struct vvcql_bytes){.data = (const uint8_t *)cql, .size = strlen(cql)});
    if (prepared->text == NULL) {
        free(prepared);
        return NULL;
    }
    return prepared;
}

/* Twice the chains; when there is no memory for them, chains just become longer. */
static void grow(struct vvcql_prepared_texts *texts)
{
    size_t n = texts->n_chains * 2;
    struct vvcql_prepared **chains = calloc(n, sizeof(struct vvcql_prepared *));
    if (chains == NULL)
        return;
    for (size_t i = 0; i < texts->n_chains; i++) {
        while (texts->chains[i] != NULL) {
            struct vvcql_prepared *prepared = texts->chains[i];
            texts->chains[i] = prepared->next;
            size_t at = hash_of(prepared->text) % n;
            prepared->next = chains[at];
            chains[at] = prepared;
        }
    }
    free(texts->chains);
    texts->chains = chains;
    texts->n_chains = n;
}

static struct vvcql_prepared *find_or_add(struct vvcql_prepared_texts *texts, const char *cql,
                                          uint64_t hash)
{
    struct vvcql_prepared *prepared = texts->chains[hash % texts->n_chains];
    while (prepared != NULL && strcmp(prepared->text, cql) != 0)
        prepared = prepared->next;
    if (prepared != NULL)
        return prepared;
    if (texts->n >= texts->n_chains)
        grow(texts);
    prepared = create(cql);
    if (prepared == NULL)
        return NULL;
    struct vvcql_prepared **chain = &texts->chains[hash % texts->n_chains];
    prepared->lock = &texts->lock;
    prepared->next = *chain;
    *chain = prepared;
    texts->n++;
    return prepared;
}

struct vvcql_prepared *vvcql_prepared_find(struct vvcql_prepared_texts *texts, const char *cql)
{
    uint64_t hash = hash_of(cql);
    pthread_mutex_lock(&texts->lock);
    struct vvcql_prepared *prepared = find_or_add(texts, cql, hash);
    pthread_mutex_unlock(&texts->lock);
    return prepared;
}

bool vvcql_prepared_keep(struct vvcql_prepared *prepared,
                         const struct vvcql_prepared_answer *answer)
{
    struct vvcql_buffer id = {0};
    vvcql_write_bytes(&id, answer->id.data, answer->id.size);
    if (id.failed) {
        vvcql_buffer_deinit(&id);
        return false;
    }
    vvcql_buffer_deinit(&prepared->id);
    prepared->id = id;
    pthread_mutex_lock(prepared->lock);
    prepared->n_key_parts = answer->n_key_parts;
    memcpy(prepared->key_parts, answer->key_parts, sizeof(prepared->key_parts));
    prepared->n_values = answer->n_values;
    memcpy(prepared->keyspace, answer->keyspace, sizeof(prepared->keyspace));
    pthread_mutex_unlock(prepared->lock);
    return true;
}

struct vvcql_bytes vvcql_prepared_id_of(const struct vvcql_prepared *prepared)
{
    if (prepared->id.size == 0)
        return (struct vvcql_bytes){NULL, 0};
    return (struct vvcql_bytes){prepared->id.data, prepared->id.size};
}

bool vvcql_prepared_key(const struct vvcql_prepared *prepared,
                        const struct vvcql_statement *statement, struct vvcql_buffer *key)
{
    if (prepared->n_key_parts == 0)
        return false;
    for (size_t i = 0; i < prepared->n_key_parts; i++) {
        if (prepared->key_parts[i] >= statement->n_values)
            return false;
        struct vvcql_bytes value = vvcql_statement_value(statement, prepared->key_parts[i]);
        if (value.data == NULL)
            return false;
        if (prepared->n_key_parts == 1)
            vvcql_write_bytes(key, value.data, value.size);
        else
            vvcql_key_add(key, value);
    }
    return !key->failed;
}
