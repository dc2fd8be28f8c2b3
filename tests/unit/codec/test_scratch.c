/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Working memory: each allocation of an encode or decode fails in turn, and nothing is left when
 * a thread ends. scratch.c holds all allocations of the codec; it is built into this test with
 * allocators that can fail and count.
 */
#include <pthread.h>
#include <stdlib.h>
#include <zstd.h>
#include <zstd_errors.h>

static unsigned n_calls;
static unsigned failing_call; /* 0 = none */
static long n_held;

static int call_fails(void)
{
    n_calls++;
    return n_calls == failing_call;
}

static void *counted(void *memory)
{
    n_held += memory != NULL;
    return memory;
}

static void *test_malloc(size_t size)
{
    return call_fails() ? NULL : counted(malloc(size));
}

static void *test_calloc(size_t count, size_t size)
{
    return call_fails() ? NULL : counted(calloc(count, size));
}

static void test_free(void *memory)
{
    n_held -= memory != NULL;
    free(memory);
}

static ZSTD_CCtx *test_create_compressor(void)
{
    return call_fails() ? NULL : counted(ZSTD_createCCtx());
}

static ZSTD_DCtx *test_create_decompressor(void)
{
    return call_fails() ? NULL : counted(ZSTD_createDCtx());
}

static size_t test_free_compressor(ZSTD_CCtx *compressor)
{
    n_held -= compressor != NULL;
    return ZSTD_freeCCtx(compressor);
}

static size_t test_free_decompressor(ZSTD_DCtx *decompressor)
{
    n_held -= decompressor != NULL;
    return ZSTD_freeDCtx(decompressor);
}

static size_t test_compress(ZSTD_CCtx *compressor, void *out, size_t capacity, const void *bytes,
                            size_t size, int level)
{
    if (call_fails()) {
        return (size_t)0 - (size_t)ZSTD_error_memory_allocation;
    }
    return ZSTD_compressCCtx(compressor, out, capacity, bytes, size, level);
}

#define malloc            test_malloc
#define calloc            test_calloc
#define free              test_free
#define ZSTD_createCCtx   test_create_compressor
#define ZSTD_createDCtx   test_create_decompressor
#define ZSTD_freeCCtx     test_free_compressor
#define ZSTD_freeDCtx     test_free_decompressor
#define ZSTD_compressCCtx test_compress
#include "codec/scratch.c"
#undef malloc
#undef calloc
#undef free

#include "shapes.h"

static void start_failing(unsigned call)
{
    vv_block_release_thread_memory();
    n_calls = 0;
    failing_call = call;
}

static void each_failure_of_encoding_is_told(void **state)
{
    (void)state;
    struct vv_random random = {91};
    struct vv_rows rows = make_all_shapes(200, TIMING_JITTER, STAMPING_EACH, ABSENCE_SOME, &random);
    struct vv_block_options options = {3, true};
    size_t capacity = vv_block_bound(&rows);
    uint8_t *out = exact_array(capacity, 1);
    size_t size;
    unsigned n_failed = 0;
    for (unsigned call = 1;; call++) {
        start_failing(call);
        enum vv_block_status status = vv_block_encode(&rows, &options, out, capacity, &size);
        bool failed = n_calls >= call;
        failing_call = 0;
        assert_int_equal(status, failed ? VV_BLOCK_NO_MEMORY : VV_BLOCK_OK);
        assert_int_equal(vv_block_encode(&rows, &options, out, capacity, &size), VV_BLOCK_OK);
        if (!failed) {
            break;
        }
        n_failed++;
    }
    assert_true(n_failed > 10);
    free(out);
    free_rows(&rows);
    vv_block_release_thread_memory();
    assert_int_equal(n_held, 0);
}

static bool decode_all(const struct encoded *encoded, size_t n_rows)
{
    struct vv_block block;
    int64_t *times = exact_array(n_rows, sizeof *times);
    uint64_t *values = exact_array(n_rows, sizeof *values);
    uint8_t *present = exact_array((n_rows + 7) / 8, 1);
    assert_int_equal(vv_block_open(encoded->bytes, encoded->size, &block), VV_BLOCK_OK);
    enum vv_block_status status = vv_block_times(&block, times);
    status = status == VV_BLOCK_OK ? vv_block_stamps(&block, values) : status;
    for (uint32_t i = 0; i < block.n_columns && status == VV_BLOCK_OK; i++) {
        status = vv_block_values(&block, i, values, present);
    }
    free(times);
    free(values);
    free(present);
    assert_true(status == VV_BLOCK_OK || status == VV_BLOCK_NO_MEMORY);
    return status == VV_BLOCK_OK;
}

static void each_failure_of_decoding_is_told(void **state)
{
    (void)state;
    struct vv_random random = {92};
    struct vv_rows rows = make_all_shapes(200, TIMING_JITTER, STAMPING_EACH, ABSENCE_SOME, &random);
    failing_call = 0;
    struct encoded encoded = encode_rows(&rows, 3, false);
    unsigned n_failed = 0;
    for (unsigned call = 1;; call++) {
        start_failing(call);
        bool decoded = decode_all(&encoded, rows.n_rows);
        bool failed = n_calls >= call;
        failing_call = 0;
        assert_int_equal(decoded, !failed);
        assert_block_equal(&encoded, &rows);
        if (!failed) {
            break;
        }
        n_failed++;
    }
    assert_true(n_failed >= 3);
    free(encoded.bytes);
    free_rows(&rows);
    vv_block_release_thread_memory();
    assert_int_equal(n_held, 0);
}

static void large_buffers_are_not_kept(void **state)
{
    (void)state;
    struct vv_scratch *scratch = vv_scratch_acquire();
    assert_non_null(vv_scratch_buffer(scratch, VV_SCRATCH_VALUES, 1000));
    assert_non_null(vv_scratch_buffer(scratch, VV_SCRATCH_PLANES, (size_t)2 << 20));
    assert_int_equal(n_held, 3);
    vv_scratch_relax(scratch);
    assert_int_equal(n_held, 2);
    assert_null(vv_scratch_buffer(scratch, VV_SCRATCH_PLANES, SIZE_MAX));
    vv_scratch_release();
    assert_int_equal(n_held, 0);
}

static void *encode_in_thread(void *argument)
{
    struct vv_random random = {93};
    struct vv_rows rows = make_all_shapes(100, TIMING_JITTER, STAMPING_EACH, ABSENCE_SOME, &random);
    struct encoded encoded = encode_rows(&rows, 3, true);
    assert_block_equal(&encoded, &rows);
    *(long *)argument = n_held;
    free(encoded.bytes);
    free_rows(&rows);
    return NULL;
}

static void a_thread_leaves_nothing(void **state)
{
    (void)state;
    pthread_t thread;
    long n_held_inside = 0;
    vv_block_release_thread_memory();
    assert_int_equal(n_held, 0);
    assert_int_equal(pthread_create(&thread, NULL, encode_in_thread, &n_held_inside), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(n_held_inside > 3);
    assert_int_equal(n_held, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_failure_of_encoding_is_told),
        cmocka_unit_test(each_failure_of_decoding_is_told),
        cmocka_unit_test(large_buffers_are_not_kept),
        cmocka_unit_test(a_thread_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
