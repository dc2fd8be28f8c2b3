/* SPDX-License-Identifier: Apache-2.0 */
/* Stored keys with generations, and the names of families. */
#include "store/rocksdb/keys.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static void stored_block(uint32_t tenant, uint32_t generation, uint32_t source, uint8_t *out)
{
    const struct vv_piece block = {
        VV_PIECE_BLOCK, {{tenant, source, -VV_DAY, VV_DAY, 3, 0}, 4, -VV_HOUR}, 0, 7, {0}, 0, 0};
    uint8_t key[VV_KEY_BLOCK_SIZE];
    vv_key_from_block(&block, key);
    vv_rocksdb_key_store(key, sizeof key, generation, out);
}

static void a_stored_block_comes_back(void **state)
{
    (void)state;
    uint8_t stored[VV_STORED_BLOCK_SIZE];
    struct vv_piece back;
    stored_block(1, 99, 2, stored);
    vv_rocksdb_key_to_block(stored, &back);
    const struct vv_span_key expected = {{1, 2, -VV_DAY, VV_DAY, 3, 0}, 4, -VV_HOUR};
    assert_int_equal(vv_span_key_compare(&back.key, &expected), 0);
    assert_int_equal(back.part, 7);
}

/* A head where its block would be, its tail behind all heads of the bucket, in front of the next.
 */
static void a_tail_lies_behind_the_heads_of_its_bucket(void **state)
{
    (void)state;
    uint8_t whole[VV_STORED_BLOCK_SIZE];
    uint8_t head[VV_STORED_BLOCK_SIZE];
    uint8_t tail[VV_STORED_BLOCK_SIZE];
    uint8_t last[VV_STORED_BLOCK_SIZE];
    uint8_t next[VV_STORED_BLOCK_SIZE];
    struct vv_piece back;
    stored_block(1, 99, 2, whole);
    stored_block(1, 99, 2, last);
    stored_block(1, 99, 3, next);
    memset(last + VV_STORED_SPLIT_AT + 1, 0xff, sizeof last - VV_STORED_SPLIT_AT - 1);
    memcpy(head, whole, sizeof head);
    vv_rocksdb_key_make_head(head);
    memcpy(tail, head, sizeof tail);
    vv_rocksdb_key_make_tail(tail);
    assert_false(vv_rocksdb_key_is_cut(whole));
    assert_true(vv_rocksdb_key_is_cut(head));
    assert_int_equal(memcmp(head, whole, VV_STORED_SPAN_SIZE), 0);
    assert_true(memcmp(tail, last, sizeof tail) > 0 && memcmp(tail, next, sizeof tail) < 0);
    vv_rocksdb_key_to_block(head, &back);
    assert_int_equal(back.part, 7);
    vv_rocksdb_key_to_block(tail, &back);
    assert_int_equal(back.part, 7);
    assert_int_equal(back.key.partition.split, 3 | VV_SPLIT_TAIL);
}

/* All of a tenant's generation lies together, and begins with its prefix. */
static void generations_lie_apart(void **state)
{
    (void)state;
    uint8_t keys[4][VV_STORED_BLOCK_SIZE];
    stored_block(1, 1, UINT32_MAX, keys[0]);
    stored_block(1, 2, 0, keys[1]);
    stored_block(1, 256, 0, keys[2]);
    stored_block(2, 0, 0, keys[3]);
    for (int i = 0; i < 3; i++) {
        assert_true(memcmp(keys[i], keys[i + 1], sizeof keys[0]) < 0);
    }
    uint8_t prefix[VV_GENERATION_PREFIX_SIZE];
    vv_rocksdb_key_generation(1, 256, prefix);
    assert_memory_equal(keys[2], prefix, sizeof prefix);
}

static void family_names_come_back(void **state)
{
    (void)state;
    const struct vv_era eras[] = {
        {0, 0}, {0, -10000000000}, {604800, -75600}, {INT64_MAX / 1000000000, 5}};
    for (size_t i = 0; i < 4; i++) {
        char name[VV_FAMILY_NAME_SIZE];
        struct vv_era back;
        vv_rocksdb_family_name(&eras[i], name);
        assert_true(vv_rocksdb_family_parse(name, &back));
        assert_int_equal(back.retention_s, eras[i].retention_s);
        assert_int_equal(back.start_s, eras[i].start_s);
    }
}

static void other_names_are_refused(void **state)
{
    (void)state;
    static const char *const names[] = {"",
                                        "default",
                                        "blocks",
                                        "blocks/",
                                        "blocks/1",
                                        "blocks/1/",
                                        "blocks//1",
                                        "blocks/-1/0",
                                        "blocks/01/0",
                                        "blocks/1/+0",
                                        "blocks/1/0x",
                                        "blocks/ 1/0",
                                        "blocks/1/0/2",
                                        "Blocks/1/0",
                                        "blocks/99999999999999999999999999/0"};
    struct vv_era era;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        assert_false(vv_rocksdb_family_parse(names[i], &era));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stored_block_comes_back),
        cmocka_unit_test(a_tail_lies_behind_the_heads_of_its_bucket),
        cmocka_unit_test(generations_lie_apart),
        cmocka_unit_test(family_names_come_back),
        cmocka_unit_test(other_names_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
