/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies compressed and uncompressed; wrong ones are refused before they cost memory. */
#include "cql/frame.h"

#include "notation.h"

static struct vvcql_bytes content(const struct vvcql_buffer *buffer)
{
    return (struct vvcql_bytes){.data = buffer->data, .size = buffer->size};
}

/* Words that repeat, so that they compress; the same ones for the same seed. */
static struct vvcql_bytes sample(size_t size, uint64_t seed, unsigned words)
{
    uint8_t *data = vv_sim_malloc(size + 1);
    for (size_t i = 0; i < size; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        data[i] = (uint8_t)((seed >> 33) % words);
    }
    struct vvcql_bytes result = exact(data, size);
    free(data);
    return result;
}

static void test_blocks_by_hand_are_uncompressed(void **state)
{
    (void)state;
    struct vvcql_buffer out = {0};
    /* five literals */
    assert_int_equal(vvcql_uncompress(bytes("00000005 50 'hello'"), 5, &out), VVCQL_OK);
    assert_bytes(content(&out), "'hello'");
    /* one literal, repeated from one byte before: 4 + 15 + 8 times; five literals to end with */
    assert_int_equal(vvcql_uncompress(bytes("00000021 1f 'a' 0100 08 50 'bcdef'"), 33, &out),
                     VVCQL_OK);
    assert_bytes(content(&out), "'aaaaaaaaaaaaaaaaaaaaaaaaaaaabcdef'");
    vvcql_buffer_deinit(&out);
}

static void test_nothing_compressed_is_nothing(void **state)
{
    (void)state;
    struct vvcql_buffer out = {0};
    vvcql_write_string(&out, "before");
    assert_int_equal(vvcql_uncompress(bytes("00000000 00"), 10, &out), VVCQL_OK);
    assert_int_equal(out.size, 0);
    assert_int_equal(vvcql_uncompress(bytes("00000000"), 0, &out), VVCQL_OK);
    assert_int_equal(out.size, 0);
    assert_non_null(out.data);
    vvcql_buffer_deinit(&out);
}

static void test_what_is_compressed_comes_back(void **state)
{
    (void)state;
    const size_t sizes[] = {0, 1, 4, 13, 64, 65, 1000, 65535, 65536, 300000};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (unsigned words = 1; words <= 256; words *= 16) {
            struct vvcql_bytes body = sample(sizes[i], 7 + i, words);
            struct vvcql_buffer compressed = {0};
            struct vvcql_buffer out = {0};
            vvcql_write_u8(&compressed, 0xEE); /* it is appended */
            size_t size = vvcql_compress(&compressed, body);
            assert_false(compressed.failed);
            assert_int_equal(compressed.size, 1 + size);
            assert_int_equal(compressed.data[0], 0xEE);
            struct vvcql_bytes block = exact(compressed.data + 1, size);
            assert_int_equal(vvcql_uncompress(block, sizes[i], &out), VVCQL_OK);
            assert_same(content(&out), body);
            vvcql_buffer_deinit(&compressed);
            vvcql_buffer_deinit(&out);
        }
    }
}

static void test_every_prefix_is_refused(void **state)
{
    (void)state;
    struct vvcql_bytes body = sample(500, 3, 5);
    struct vvcql_buffer compressed = {0};
    struct vvcql_buffer out = {0};
    size_t size = vvcql_compress(&compressed, body);
    for (size_t i = 0; i < size; i++) {
        assert_int_equal(vvcql_uncompress(prefix(content(&compressed), i), 1000, &out),
                         VVCQL_PROTOCOL);
        assert_int_equal(out.size, 0);
    }
    vvcql_buffer_deinit(&compressed);
    vvcql_buffer_deinit(&out);
}

static void test_wrong_lengths_are_refused(void **state)
{
    (void)state;
    struct vvcql_buffer out = {0};
    const char *const wrong[] = {
        "",
        "00000005",                           /* no block */
        "00000004 50 'hello'",                /* more than it says */
        "00000006 50 'hello'",                /* less */
        "00000005 50 'hello' 00",             /* more behind */
        "00000005 60 'hello'",                /* literals beyond the end */
        "00000021 1f 'a' 0200 08 50 'bcdef'", /* from before the start */
        "80000005 50 'hello'",
        "ffffffff 50 'hello'",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_int_equal(vvcql_uncompress(bytes(wrong[i]), SIZE_MAX, &out), VVCQL_PROTOCOL);
        assert_int_equal(out.size, 0);
    }
    assert_int_equal(vvcql_uncompress(bytes("00000005 50 'hello'"), 4, &out), VVCQL_PROTOCOL);
    vvcql_buffer_deinit(&out);
}

static void test_claims_beyond_what_a_block_can_hold_cost_no_memory(void **state)
{
    (void)state;
    struct vvcql_buffer out = {0};
    vv_sim_memory_fail(1);
    assert_int_equal(vvcql_uncompress(bytes("10000000 50 'hello'"), SIZE_MAX, &out),
                     VVCQL_PROTOCOL);
    assert_false(vv_sim_memory_failed()); /* none was asked for */
    assert_null(out.data);
}

static void test_memory_that_is_out_is_told(void **state)
{
    (void)state;
    struct vvcql_bytes block = bytes("00000005 50 'hello'");
    struct vvcql_buffer out = {0};
    vv_sim_memory_fail(1);
    assert_int_equal(vvcql_uncompress(block, 5, &out), VVCQL_NO_MEMORY);
    assert_true(vv_sim_memory_failed());
    assert_int_equal(vvcql_uncompress(block, 5, &out), VVCQL_OK); /* and it goes on */
    vvcql_buffer_deinit(&out);
    vv_sim_memory_fail(1);
    assert_int_equal(vvcql_compress(&out, block), 0);
    assert_true(vv_sim_memory_failed());
    assert_true(out.failed);
    vvcql_buffer_deinit(&out);
}

static void test_a_body_too_long_to_compress_fails(void **state)
{
    (void)state;
    struct vvcql_buffer out = {0};
    struct vvcql_bytes body = {.data = bytes("00").data, .size = (size_t)INT32_MAX};
    assert_int_equal(vvcql_compress(&out, body), 0);
    assert_true(out.failed);
    vvcql_buffer_deinit(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_blocks_by_hand_are_uncompressed, forget_bytes),
        cmocka_unit_test_teardown(test_nothing_compressed_is_nothing, forget_bytes),
        cmocka_unit_test_teardown(test_what_is_compressed_comes_back, forget_bytes),
        cmocka_unit_test_teardown(test_every_prefix_is_refused, forget_bytes),
        cmocka_unit_test_teardown(test_wrong_lengths_are_refused, forget_bytes),
        cmocka_unit_test_teardown(test_claims_beyond_what_a_block_can_hold_cost_no_memory,
                                  forget_bytes),
        cmocka_unit_test_teardown(test_memory_that_is_out_is_told, forget_bytes),
        cmocka_unit_test_teardown(test_a_body_too_long_to_compress_fails, forget_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
