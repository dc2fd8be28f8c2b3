/* SPDX-License-Identifier: Apache-2.0 */
/* Frames for others than blocks. */
#include "codec/frame.h"

#include "shapes.h"

#define SIZE 3000u

static uint8_t plain[SIZE];
static uint8_t frame[SIZE];
static uint8_t read_back[SIZE];

static size_t make_frame(void)
{
    size_t size;
    for (size_t i = 0; i < SIZE; i++) {
        plain[i] = (uint8_t)(i / 7 % 50);
    }
    assert_int_equal(vv_frame_encode(3, plain, SIZE, frame, SIZE, &size), VV_BLOCK_OK);
    assert_true(size > 0 && size < SIZE / 2);
    return size;
}

static void a_frame_comes_back_and_says_its_size(void **state)
{
    (void)state;
    size_t size = make_frame();
    assert_int_equal(vv_frame_content_size(frame, size), SIZE);
    assert_int_equal(vv_frame_decode(frame, size, read_back, SIZE), VV_BLOCK_OK);
    assert_memory_equal(read_back, plain, SIZE);
    vv_block_release_thread_memory();
}

static void what_does_not_fit_has_no_size(void **state)
{
    (void)state;
    size_t size = make_frame();
    size_t again;
    assert_int_equal(vv_frame_encode(3, plain, SIZE, frame, size - 1, &again), VV_BLOCK_OK);
    assert_int_equal(again, 0);
    vv_block_release_thread_memory();
}

static void hostile_bytes_are_no_frame(void **state)
{
    (void)state;
    size_t size = make_frame();
    assert_true(vv_frame_content_size(frame, 3) == UINT64_MAX);
    assert_int_equal(vv_frame_decode(frame, size - 1, read_back, SIZE), VV_BLOCK_CORRUPT);
    assert_int_equal(vv_frame_decode(frame, size, read_back, SIZE - 1), VV_BLOCK_CORRUPT);
    frame[0] ^= 1;
    assert_true(vv_frame_content_size(frame, size) == UINT64_MAX);
    assert_int_equal(vv_frame_decode(frame, size, read_back, SIZE), VV_BLOCK_CORRUPT);
    vv_block_release_thread_memory();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frame_comes_back_and_says_its_size),
        cmocka_unit_test(what_does_not_fit_has_no_size),
        cmocka_unit_test(hostile_bytes_are_no_frame),
    };
    return cmocka_run_group_tests_name("codec frames", tests, NULL, NULL);
}
