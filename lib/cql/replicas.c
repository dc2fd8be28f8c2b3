/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The token map: keyspaces by name, each with the table of its replication setting. Keyspaces of
 * equal settings share a table; data centres without a host make no difference.
 */
#include "replicas.h"

#include <stdlib.h>
#include <string.h>

#include "placement.h"

struct table {
    bool is_simple;
    struct vvcql_factor *factors; /* of each data centre; SimpleStrategy: the first is the ring's */
    uint32_t *rows;               /* of each token: `width` hosts */
    size_t width;
};

struct keyspace {
    char *name;
    size_t table;
};

struct vvcql_token_map {
    int64_t *tokens; /* of the ring */
    size_t n_tokens;
    struct table *tables;
    size_t n_tables;
    struct keyspace *keyspaces; /* in the order of their names */
    size_t n_keyspaces;
};

/* ---- replication settings ---- */

/* Digits only; 0 for anything else. */
static uint32_t parse_count(const char *text, size_t size)
{
    uint64_t count = 0;
    for (size_t i = 0; i < size; i++) {
        if (text[i] < '0' || text[i] > '9') {
            return 0;
        }
        count = count * 10 + (uint64_t)(text[i] - '0');
        if (count > INT32_MAX) {
            return 0;
        }
    }
    return (uint32_t)count;
}

/* "3", or "3/1" with the number of transient ones. */
static struct vvcql_factor parse_factor(const char *text)
{
    size_t size = strcspn(text, "/");
    uint32_t all = parse_count(text, size);
    uint32_t transient = 0;
    if (text[size] == '/') {
        transient = parse_count(text + size + 1, strlen(text + size + 1));
        if (transient == 0 || transient >= all) {
            return (struct vvcql_factor){0};
        }
    }
    return (struct vvcql_factor){.all = all, .full = all - transient};
}

static const char *option_of(const struct vvcql_ring_keyspace *keyspace, const char *key)
{
    for (size_t i = 0; i < keyspace->n; i++) {
        if (strcmp(keyspace->keys[i], key) == 0) {
            return keyspace->values[i];
        }
    }
    return NULL;
}

static struct vvcql_factor factor_of(const struct vvcql_ring_keyspace *keyspace, const char *key)
{
    const char *text = option_of(keyspace, key);
    return text == NULL ? (struct vvcql_factor){0} : parse_factor(text);
}

/* false: a strategy that isn't known. `factors` are zero. */
static bool read_setting(const struct vvcql_ring_keyspace *keyspace, const struct vvcql_ring *ring,
                         bool *is_simple_out, struct vvcql_factor *factors)
{
    const char *class = option_of(keyspace, "class");
    const char *dot = class == NULL ? NULL : strrchr(class, '.');
    const char *name = dot == NULL ? class : dot + 1;
    if (name == NULL) {
        return false;
    }
    *is_simple_out = strcmp(name, "SimpleStrategy") == 0;
    if (*is_simple_out) {
        factors[0] = factor_of(keyspace, "replication_factor");
        return true;
    }
    for (size_t i = 0; i < ring->n_datacenters; i++) {
        factors[i] = factor_of(keyspace, ring->datacenters[i].name);
    }
    return strcmp(name, "NetworkTopologyStrategy") == 0;
}

/* ---- building ---- */

static size_t find_table(const struct vvcql_token_map *map, const struct vvcql_ring *ring,
                         bool is_simple, const struct vvcql_factor *factors)
{
    size_t bytes = ring->n_datacenters * sizeof *factors;
    size_t i = 0;
    while (i < map->n_tables && (map->tables[i].is_simple != is_simple ||
                                 memcmp(map->tables[i].factors, factors, bytes) != 0)) {
        i++;
    }
    return i;
}

/* The table of a setting, made when there is none; takes the factors, also on failure. */
static bool have_table(struct vvcql_token_map *map, const struct vvcql_ring *ring, bool is_simple,
                       struct vvcql_factor *take_factors, size_t *table_out)
{
    *table_out = find_table(map, ring, is_simple, take_factors);
    if (*table_out < map->n_tables) {
        free(take_factors);
        return true;
    }
    struct table *table = &map->tables[map->n_tables];
    *table = (struct table){.is_simple = is_simple, .factors = take_factors};
    map->n_tables++;
    table->rows = vvcql_place_replicas(ring, is_simple, take_factors, &table->width);
    return table->rows != NULL;
}

static bool add_keyspace(struct vvcql_token_map *map, const struct vvcql_ring *ring,
                         const struct vvcql_ring_keyspace *keyspace)
{
    struct vvcql_factor *factors = calloc(ring->n_datacenters, sizeof *factors);
    if (factors == NULL) {
        return false;
    }
    bool is_simple;
    if (!read_setting(keyspace, ring, &is_simple, factors)) {
        free(factors);
        return true;
    }
    struct keyspace *added = &map->keyspaces[map->n_keyspaces];
    if (!have_table(map, ring, is_simple, factors, &added->table)) {
        return false;
    }
    size_t size = strlen(keyspace->name) + 1;
    added->name = malloc(size);
    if (added->name == NULL) {
        return false;
    }
    memcpy(added->name, keyspace->name, size);
    map->n_keyspaces++;
    return true;
}

static int compare_keyspaces(const void *a_data, const void *b_data)
{
    const struct keyspace *a = a_data;
    const struct keyspace *b = b_data;
    return strcmp(a->name, b->name);
}

static bool add_keyspaces(struct vvcql_token_map *map, const struct vvcql_ring *ring,
                          const struct vvcql_ring_keyspace *keyspaces, size_t n_keyspaces)
{
    map->tables = calloc(n_keyspaces + 1, sizeof *map->tables);
    map->keyspaces = calloc(n_keyspaces + 1, sizeof *map->keyspaces);
    if (map->tables == NULL || map->keyspaces == NULL) {
        return false;
    }
    for (size_t i = 0; i < n_keyspaces; i++) {
        if (!add_keyspace(map, ring, &keyspaces[i])) {
            return false;
        }
    }
    qsort(map->keyspaces, map->n_keyspaces, sizeof *map->keyspaces, compare_keyspaces);
    return true;
}

static bool fill_map(struct vvcql_token_map *map, const struct vvcql_ring_host *hosts,
                     size_t n_hosts, const struct vvcql_ring_keyspace *keyspaces,
                     size_t n_keyspaces)
{
    struct vvcql_ring ring;
    if (!vvcql_ring_init(&ring, hosts, n_hosts)) {
        return false;
    }
    bool is_filled = add_keyspaces(map, &ring, keyspaces, ring.n_tokens == 0 ? 0 : n_keyspaces);
    map->tokens = ring.tokens;
    map->n_tokens = ring.n_tokens;
    ring.tokens = NULL;
    vvcql_ring_deinit(&ring);
    return is_filled;
}

struct vvcql_token_map *vvcql_token_map_create(const struct vvcql_ring_host *hosts, size_t n_hosts,
                                               const struct vvcql_ring_keyspace *keyspaces,
                                               size_t n_keyspaces)
{
    struct vvcql_token_map *map = calloc(1, sizeof *map);
    if (map != NULL && !fill_map(map, hosts, n_hosts, keyspaces, n_keyspaces)) {
        vvcql_token_map_destroy(map);
        return NULL;
    }
    return map;
}

void vvcql_token_map_destroy(struct vvcql_token_map *map)
{
    if (map == NULL) {
        return;
    }
    for (size_t i = 0; i < map->n_tables; i++) {
        free(map->tables[i].factors);
        free(map->tables[i].rows);
    }
    for (size_t i = 0; i < map->n_keyspaces; i++) {
        free(map->keyspaces[i].name);
    }
    free(map->tables);
    free(map->keyspaces);
    free(map->tokens);
    free(map);
}

/* ---- finding ---- */

static int compare_name(const void *name, const void *keyspace_data)
{
    const struct keyspace *keyspace = keyspace_data;
    return strcmp(name, keyspace->name);
}

/* The first token of the ring that isn't below this one; after the last one comes the first. */
static size_t find_token(const struct vvcql_token_map *map, int64_t token)
{
    size_t low = 0;
    size_t high = map->n_tokens;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (map->tokens[middle] < token) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low == map->n_tokens ? 0 : low;
}

const uint32_t *vvcql_token_map_find(const struct vvcql_token_map *map, const char *keyspace,
                                     int64_t token, size_t *n_out)
{
    *n_out = 0;
    if (map == NULL) {
        return NULL;
    }
    const struct keyspace *found =
        bsearch(keyspace, map->keyspaces, map->n_keyspaces, sizeof *map->keyspaces, compare_name);
    if (found == NULL) {
        return NULL;
    }
    const struct table *table = &map->tables[found->table];
    *n_out = table->width;
    return table->rows + find_token(map, token) * table->width;
}
