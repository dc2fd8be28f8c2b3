/* SPDX-License-Identifier: Apache-2.0 */
/* Packing of answers: reads back, whatever the pieces; small ones are left as they are. */
#include "base/random.h"
#include "http/packer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void unpack(const struct vv_buffer *packed, struct vv_buffer *plain_out)
{
    z_stream zlib = {0};
    assert_int_equal(inflateInit2(&zlib, 31), Z_OK);
    zlib.next_in = packed->data;
    zlib.avail_in = (uInt)packed->size;
    int result = Z_OK;
    while (result == Z_OK) {
        uint8_t *room = vv_buffer_reserve(plain_out, 4096);
        zlib.next_out = room;
        zlib.avail_out = 4096;
        result = inflate(&zlib, Z_NO_FLUSH);
        plain_out->size += 4096 - zlib.avail_out;
    }
    assert_int_equal(result, Z_STREAM_END);
    assert_int_equal(zlib.avail_in, 0);
    inflateEnd(&zlib);
}

static void check(uint64_t seed, bool wanted, size_t pieces, bool expect_gzip)
{
    struct vv_random random = {seed};
    struct vv_packer packer = {.wanted = wanted};
    struct vv_buffer all = {0};
    struct vv_buffer out = {0};
    for (size_t i = 0; i < pieces; i++) {
        struct vv_buffer plain = {0};
        size_t rows = (size_t)vv_random_below(&random, 3000) + 20;
        for (size_t row = 0; row < rows; row++) {
            vv_buffer_format(&plain, "[%zu,%zu],", row, (size_t)vv_random_below(&random, 1000));
        }
        vv_buffer_append(&all, plain.data, plain.size);
        assert_int_equal(vv_packer_add(&packer, &plain, i + 1 == pieces, &out), VV_OK);
        vv_buffer_deinit(&plain);
    }
    assert_int_equal(vv_packer_is_open(&packer), expect_gzip);
    struct vv_buffer got = {0};
    if (expect_gzip) {
        unpack(&out, &got);
        assert_true(out.size < all.size);
    } else {
        vv_buffer_append(&got, out.data, out.size);
    }
    assert_int_equal(got.size, all.size);
    assert_memory_equal(got.data, all.data, all.size);
    vv_packer_close(&packer);
    vv_buffer_deinit(&got);
    vv_buffer_deinit(&all);
    vv_buffer_deinit(&out);
}

static void test_packs(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 10; seed++) {
        check(seed, true, seed, true);
        check(seed, false, seed, false);
    }
}

static void test_small_answers_stay_plain(void **state)
{
    (void)state;
    struct vv_packer packer = {.wanted = true};
    struct vv_buffer plain = {0};
    struct vv_buffer out = {0};
    vv_buffer_text(&plain, "{\"series\":[]}");
    assert_int_equal(vv_packer_add(&packer, &plain, true, &out), VV_OK);
    assert_false(vv_packer_is_open(&packer));
    assert_int_equal(out.size, strlen("{\"series\":[]}"));
    vv_packer_close(&packer);
    vv_buffer_deinit(&plain);
    vv_buffer_deinit(&out);
}

static void test_accept_encoding(void **state)
{
    (void)state;
    static const struct {
        const char *header;
        bool accepts;
    } cases[] = {{"gzip", true},       {"deflate, gzip;q=1.0, *;q=0.5", true},
                 {"br , GZIP", true},  {"*", true},
                 {"gzip;q=0", false},  {"gzip; q=0.000", false},
                 {"gzip;q=0.5", true}, {"*;q=0", false},
                 {"br", false},        {"xgzip", false},
                 {"identity", false},  {"", false},
                 {",,,;,", false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (vv_accepts_gzip(vv_str_of(cases[i].header)) != cases[i].accepts) {
            fail_msg("Accept-Encoding: %s", cases[i].header);
        }
    }
    assert_false(vv_accepts_gzip((struct vv_str){NULL, 0}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_packs),
        cmocka_unit_test(test_small_answers_stay_plain),
        cmocka_unit_test(test_accept_encoding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
