/* SPDX-License-Identifier: Apache-2.0 */
/* Content codings: what was packed comes back, however it is cut; damage and early ends show. */
#include "base/random.h"
#include "http/decoder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static struct vv_buffer text_of(size_t lines)
{
    struct vv_buffer text = {0};
    for (size_t i = 0; i < lines; i++) {
        vv_buffer_format(&text, "pump,unit=%zu temperature=%zu.%zu %zu\n", i % 7, i % 100, i % 13,
                         i);
    }
    return text;
}

static struct vv_buffer gzipped(const struct vv_buffer *plain, int window_bits)
{
    struct vv_buffer packed = {0};
    z_stream zlib = {0};
    assert_int_equal(deflateInit2(&zlib, 6, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY), Z_OK);
    size_t bound = deflateBound(&zlib, plain->size) + 64;
    uint8_t *room = vv_buffer_reserve(&packed, bound);
    zlib.next_in = plain->data;
    zlib.avail_in = (uInt)plain->size;
    zlib.next_out = room;
    zlib.avail_out = (uInt)bound;
    assert_int_equal(deflate(&zlib, Z_FINISH), Z_STREAM_END);
    packed.size = bound - zlib.avail_out;
    deflateEnd(&zlib);
    return packed;
}

static struct vv_buffer zstandard(const struct vv_buffer *plain)
{
    struct vv_buffer packed = {0};
    size_t bound = ZSTD_compressBound(plain->size);
    uint8_t *room = vv_buffer_reserve(&packed, bound);
    packed.size = ZSTD_compress(room, bound, plain->data, plain->size, 3);
    return packed;
}

/* Feeds in pieces of random sizes (of 1 byte when the seed is 0) into an output of out_size. */
static enum vv_status unpack(enum vv_coding coding, const struct vv_buffer *packed, uint64_t seed,
                             size_t out_size, struct vv_buffer *plain_out, bool *complete_out)
{
    struct vv_decoder decoder;
    struct vv_random random = {seed};
    struct vv_error error = {0};
    enum vv_status status = vv_decoder_open(&decoder, coding);
    char *out = malloc(out_size);
    size_t at = 0;
    while (status == VV_OK && at < packed->size) {
        size_t left = packed->size - at;
        size_t piece = seed ? 1 + (size_t)vv_random_below(&random, 3000) : 1;
        piece = piece < left ? piece : left;
        size_t done = 0;
        for (;;) {
            size_t taken = 0;
            size_t made = 0;
            status = vv_decoder_step(&decoder, (const char *)packed->data + at + done, piece - done,
                                     &taken, out, out_size, &made, &error);
            vv_buffer_append(plain_out, out, made);
            done += taken;
            if (status != VV_OK || (taken == 0 && made == 0)) {
                break;
            }
        }
        if (status == VV_OK) {
            assert_int_equal(done, piece);
        }
        at += piece;
    }
    *complete_out = vv_decoder_is_complete(&decoder);
    vv_decoder_close(&decoder);
    free(out);
    return status;
}

static void check_round_trip(enum vv_coding coding, const struct vv_buffer *packed,
                             const struct vv_buffer *plain)
{
    static const size_t out_sizes[] = {1, 7, 65536};
    for (uint64_t seed = 0; seed < 4; seed++) {
        for (size_t i = 0; i < 3; i++) {
            struct vv_buffer got = {0};
            bool complete = false;
            assert_int_equal(unpack(coding, packed, seed, out_sizes[i], &got, &complete), VV_OK);
            assert_true(complete);
            assert_int_equal(got.size, plain->size);
            assert_memory_equal(got.data, plain->data, plain->size);
            vv_buffer_deinit(&got);
        }
    }
}

static void test_round_trips(void **state)
{
    (void)state;
    struct vv_buffer plain = text_of(2000);
    struct vv_buffer gzip = gzipped(&plain, 31);
    struct vv_buffer zlib = gzipped(&plain, 15);
    struct vv_buffer zstd = zstandard(&plain);
    check_round_trip(VV_CODING_GZIP, &gzip, &plain);
    check_round_trip(VV_CODING_GZIP, &zlib, &plain);
    check_round_trip(VV_CODING_ZSTD, &zstd, &plain);
    check_round_trip(VV_CODING_IDENTITY, &plain, &plain);
    vv_buffer_deinit(&plain);
    vv_buffer_deinit(&gzip);
    vv_buffer_deinit(&zlib);
    vv_buffer_deinit(&zstd);
}

static void test_members_follow_each_other(void **state)
{
    (void)state;
    struct vv_buffer plain = text_of(100);
    struct vv_buffer gzip = gzipped(&plain, 31);
    struct vv_buffer zstd = zstandard(&plain);
    size_t size = plain.size;
    size_t gzip_size = gzip.size;
    size_t zstd_size = zstd.size;
    struct vv_buffer twice = {0};
    for (int i = 0; i < 2; i++) {
        vv_buffer_append(&twice, plain.data, size);
    }
    struct vv_buffer gzips = {0};
    struct vv_buffer zstds = {0};
    for (int i = 0; i < 2; i++) {
        vv_buffer_append(&gzips, gzip.data, gzip_size);
        vv_buffer_append(&zstds, zstd.data, zstd_size);
    }
    check_round_trip(VV_CODING_GZIP, &gzips, &twice);
    check_round_trip(VV_CODING_ZSTD, &zstds, &twice);
    vv_buffer_deinit(&plain);
    vv_buffer_deinit(&gzip);
    vv_buffer_deinit(&zstd);
    vv_buffer_deinit(&twice);
    vv_buffer_deinit(&gzips);
    vv_buffer_deinit(&zstds);
}

static void check_every_cut_shows(enum vv_coding coding, const struct vv_buffer *packed)
{
    for (size_t size = 1; size < packed->size; size++) {
        struct vv_buffer cut = *packed;
        cut.size = size;
        struct vv_buffer got = {0};
        bool complete = true;
        assert_int_equal(unpack(coding, &cut, 5, 4096, &got, &complete), VV_OK);
        assert_false(complete);
        vv_buffer_deinit(&got);
    }
}

static void test_early_end_shows(void **state)
{
    (void)state;
    struct vv_buffer plain = text_of(20);
    struct vv_buffer gzip = gzipped(&plain, 31);
    struct vv_buffer zstd = zstandard(&plain);
    check_every_cut_shows(VV_CODING_GZIP, &gzip);
    check_every_cut_shows(VV_CODING_ZSTD, &zstd);
    vv_buffer_deinit(&plain);
    vv_buffer_deinit(&gzip);
    vv_buffer_deinit(&zstd);
}

static void test_nothing_is_complete(void **state)
{
    (void)state;
    for (int coding = VV_CODING_IDENTITY; coding <= VV_CODING_ZSTD; coding++) {
        struct vv_decoder decoder;
        assert_int_equal(vv_decoder_open(&decoder, (enum vv_coding)coding), VV_OK);
        assert_true(vv_decoder_is_complete(&decoder));
        vv_decoder_close(&decoder);
    }
}

/* Damage gives an error or, rarely, other bytes; never more than the window's worth of memory, and
 * never a crash. A flipped bit of gzip is always found: it has a checksum. */
static void test_damage_is_found(void **state)
{
    (void)state;
    struct vv_buffer plain = text_of(300);
    struct vv_buffer gzip = gzipped(&plain, 31);
    struct vv_random random = {77};
    for (int round = 0; round < 500; round++) {
        size_t at = 10 + (size_t)vv_random_below(&random, gzip.size - 18);
        uint8_t bit = (uint8_t)(1u << vv_random_below(&random, 8));
        gzip.data[at] ^= bit;
        struct vv_buffer got = {.limit = 1u << 22};
        bool complete = false;
        enum vv_status status = unpack(VV_CODING_GZIP, &gzip, 9, 4096, &got, &complete);
        assert_true(status == VV_CORRUPT || !complete);
        vv_buffer_deinit(&got);
        gzip.data[at] ^= bit;
    }
    vv_buffer_deinit(&plain);
    vv_buffer_deinit(&gzip);
}

static void test_garbage_is_refused(void **state)
{
    (void)state;
    struct vv_buffer garbage = {0};
    vv_buffer_text(&garbage, "pump temperature=1 2\nnot compressed at all, but long enough\n");
    for (int coding = VV_CODING_GZIP; coding <= VV_CODING_ZSTD; coding++) {
        struct vv_buffer got = {0};
        bool complete = false;
        assert_int_equal(unpack((enum vv_coding)coding, &garbage, 3, 64, &got, &complete),
                         VV_CORRUPT);
        vv_buffer_deinit(&got);
    }
    vv_buffer_deinit(&garbage);
}

static void test_coding_names(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum vv_coding coding;
    } known[] = {{"", VV_CODING_IDENTITY},   {"identity", VV_CODING_IDENTITY},
                 {"gzip", VV_CODING_GZIP},   {"GZIP", VV_CODING_GZIP},
                 {"x-gzip", VV_CODING_GZIP}, {"deflate", VV_CODING_GZIP},
                 {"zstd", VV_CODING_ZSTD}};
    enum vv_coding coding;
    struct vv_error error = {0};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        assert_int_equal(vv_coding_parse(vv_str_of(known[i].name), &coding, &error), VV_OK);
        assert_int_equal(coding, known[i].coding);
    }
    assert_int_equal(vv_coding_parse((struct vv_str){NULL, 0}, &coding, &error), VV_OK);
    assert_int_equal(vv_coding_parse(VV_STR_LITERAL("br"), &coding, &error), VV_INVALID);
    assert_non_null(strstr(error.message, "gzip"));
    assert_int_equal(vv_coding_parse(VV_STR_LITERAL("gzip, gzip"), &coding, &error), VV_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trips),     cmocka_unit_test(test_members_follow_each_other),
        cmocka_unit_test(test_early_end_shows), cmocka_unit_test(test_nothing_is_complete),
        cmocka_unit_test(test_damage_is_found), cmocka_unit_test(test_garbage_is_refused),
        cmocka_unit_test(test_coding_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
