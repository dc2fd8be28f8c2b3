/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes as tests write them: hex digits with spaces anywhere, texts between single quotes:
 * "0002 'ks' 00000001 ff". Each lies in memory of exactly its size, so that a read beyond is seen.
 */
#ifndef VARVE_TEST_CQL_NOTATION_H
#define VARVE_TEST_CQL_NOTATION_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cql/types.h"
#include "simulation/sim_memory.h"

#define PIECES_MAX 65536
static void *pieces[PIECES_MAX];
static size_t n_pieces;

/* A copy in memory of its own; lives until forget_bytes(). */
static inline struct vvcql_bytes exact(const void *data, size_t size)
{
    assert_true(n_pieces < PIECES_MAX);
    uint8_t *copy = vv_sim_malloc(size > 0 ? size : 1);
    if (size > 0) {
        memcpy(copy, data, size);
    }
    pieces[n_pieces++] = copy;
    return (struct vvcql_bytes){.data = copy, .size = size};
}

/* For the teardown of a test. */
static inline int forget_bytes(void **state)
{
    (void)state;
    while (n_pieces > 0) {
        free(pieces[--n_pieces]);
    }
    return 0;
}

static inline uint8_t digit_of(char character)
{
    const char *digits = "0123456789abcdef";
    const char *at = strchr(digits, character);
    assert_non_null(at);
    return (uint8_t)(at - digits);
}

static inline struct vvcql_bytes bytes(const char *notation)
{
    uint8_t *into = vv_sim_malloc(strlen(notation) + 1);
    size_t size = 0;
    for (const char *at = notation; *at != '\0'; at++) {
        if (*at == '\'') {
            for (at++; *at != '\''; at++) {
                assert_true(*at != '\0');
                into[size++] = (uint8_t)*at;
            }
        } else if (*at != ' ') {
            uint8_t high = digit_of(*at++);
            into[size++] = (uint8_t)(high << 4 | digit_of(*at));
        }
    }
    struct vvcql_bytes result = exact(into, size);
    free(into);
    return result;
}

static inline struct vvcql_bytes prefix(struct vvcql_bytes whole, size_t size)
{
    return exact(whole.data, size);
}

static inline void assert_same(struct vvcql_bytes got, struct vvcql_bytes expected)
{
    assert_int_equal(got.size, expected.size);
    assert_memory_equal(got.data, expected.data, expected.size);
}

static inline void assert_bytes(struct vvcql_bytes got, const char *notation)
{
    assert_non_null(got.data);
    assert_same(got, bytes(notation));
}

static inline void assert_text(struct vvcql_bytes got, const char *text)
{
    assert_int_equal(got.size, strlen(text));
    assert_memory_equal(got.data, text, got.size);
}

#endif
