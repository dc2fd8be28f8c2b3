/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hash behind Cassandra's tokens. It works on little-endian words of eight bytes, two at a
 * time; the rest of up to fifteen bytes is filled up with zeros. Cassandra takes each byte of that
 * rest as a signed number before it is shifted to its place and mixed in by exclusive or, so that a
 * byte of 0x80 and more inverts all bits above its own.
 */
#include "token.h"

#include <endian.h>
#include <string.h>

#define FACTOR_1 UINT64_C(0x87c37b91114253d5)
#define FACTOR_2 UINT64_C(0x4cf5ad432745937f)

static uint64_t load_word(const uint8_t *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return le64toh(word);
}

static uint64_t rotate_left(uint64_t word, unsigned bits)
{
    return word << bits | word >> (64 - bits);
}

static uint64_t scramble_1(uint64_t word)
{
    return rotate_left(word * FACTOR_1, 31) * FACTOR_2;
}

static uint64_t scramble_2(uint64_t word)
{
    return rotate_left(word * FACTOR_2, 33) * FACTOR_1;
}

static uint64_t finish(uint64_t hash)
{
    hash = (hash ^ hash >> 33) * UINT64_C(0xff51afd7ed558ccd);
    hash = (hash ^ hash >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
    return hash ^ hash >> 33;
}

/* Up to eight bytes as signed numbers. A byte is inverted when the number of negative bytes below
 * it is odd: the parities of all bytes are summed up in three doublings. */
static uint64_t load_signed(const uint8_t *bytes, size_t size)
{
    uint8_t padded[8] = {0};
    memcpy(padded, bytes, size);
    uint64_t word = load_word(padded);
    uint64_t inverted = (word >> 7 & UINT64_C(0x0101010101010101)) << 8;
    inverted ^= inverted << 8;
    inverted ^= inverted << 16;
    inverted ^= inverted << 32;
    return word ^ inverted * 0xff;
}

int64_t vvcql_token(const void *key, size_t size)
{
    const uint8_t *at = key;
    size_t left = size;
    uint64_t hash_1 = 0;
    uint64_t hash_2 = 0;
    for (; left >= 16; at += 16, left -= 16) {
        hash_1 = rotate_left(hash_1 ^ scramble_1(load_word(at)), 27) + hash_2;
        hash_1 = hash_1 * 5 + 0x52dce729;
        hash_2 = rotate_left(hash_2 ^ scramble_2(load_word(at + 8)), 31) + hash_1;
        hash_2 = hash_2 * 5 + 0x38495ab5;
    }
    if (left > 8) {
        hash_2 ^= scramble_2(load_signed(at + 8, left - 8));
    }
    if (left > 0) {
        hash_1 ^= scramble_1(load_signed(at, left < 8 ? left : 8));
    }
    hash_1 ^= size;
    hash_2 ^= size;
    hash_1 += hash_2;
    hash_2 += hash_1;
    int64_t token = (int64_t)(finish(hash_1) + finish(hash_2));
    return token == INT64_MIN ? INT64_MAX : token;
}

void vvcql_key_add(struct vvcql_buffer *key, struct vvcql_bytes value)
{
    vvcql_write_short_bytes(key, value);
    vvcql_write_u8(key, 0);
}
