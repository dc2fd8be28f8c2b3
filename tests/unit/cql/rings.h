/* SPDX-License-Identifier: Apache-2.0 */
/* Rings and keyspaces written as texts, for the tests of the token map. */
#ifndef TESTS_UNIT_CQL_RINGS_H
#define TESTS_UNIT_CQL_RINGS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cql/replicas.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))

enum { OPTIONS_MAX = 8, TEXT_MAX = 160, NAME_SIZE = 16 };

/* ---- keyspaces out of texts such as "NetworkTopologyStrategy dc1=3 dc2=3/1" ---- */

struct keyspace {
    char text[TEXT_MAX];
    const char *keys[OPTIONS_MAX];
    const char *values[OPTIONS_MAX];
    struct vvcql_ring_keyspace ring_keyspace;
};

static inline void read_keyspace(struct keyspace *keyspace, const char *name, const char *text)
{
    assert_true(strlen(text) < sizeof keyspace->text);
    strcpy(keyspace->text, text);
    size_t n = 0;
    char *rest = keyspace->text;
    for (char *word = strsep(&rest, " "); word != NULL; word = strsep(&rest, " ")) {
        assert_true(n < OPTIONS_MAX);
        char *equals = strchr(word, '=');
        if (equals != NULL) {
            *equals = 0;
        }
        keyspace->keys[n] = equals == NULL ? "class" : word;
        keyspace->values[n] = equals == NULL ? word : equals + 1;
        n++;
    }
    keyspace->ring_keyspace =
        (struct vvcql_ring_keyspace){name, keyspace->keys, keyspace->values, n};
}

static inline struct vvcql_token_map *map_of(const struct vvcql_ring_host *hosts, size_t n_hosts,
                                             const char *text)
{
    struct keyspace keyspace;
    read_keyspace(&keyspace, "k", text);
    struct vvcql_token_map *map =
        vvcql_token_map_create(hosts, n_hosts, &keyspace.ring_keyspace, 1);
    assert_non_null(map);
    return map;
}

static inline void check_replicas(const struct vvcql_token_map *map, int64_t token,
                                  const char *expected)
{
    size_t n;
    const uint32_t *hosts = vvcql_token_map_find(map, "k", token, &n);
    char text[TEXT_MAX] = "";
    size_t size = 0;
    for (size_t i = 0; i < n; i++) {
        size += (size_t)snprintf(text + size, sizeof text - size, i == 0 ? "%u" : " %u", hosts[i]);
        assert_true(size < sizeof text);
    }
    assert_string_equal(text, expected);
}

/* What an ever so small ring answers for one setting and token. */
static inline void check_one(const struct vvcql_ring_host *hosts, size_t n_hosts, const char *text,
                             int64_t token, const char *expected)
{
    struct vvcql_token_map *map = map_of(hosts, n_hosts, text);
    check_replicas(map, token, expected);
    vvcql_token_map_destroy(map);
}

#define TOKENS(...)                                                                                \
    (const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)

#endif
