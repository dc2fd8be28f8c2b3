/* SPDX-License-Identifier: Apache-2.0 */
/* Plain, gzip and zstd files, whole, joined, cut and damaged; and the window over their text. */
#include "cli/input.h"

#include "cli/text_reader.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <cmocka.h>

static void make_text(struct vv_buffer *text, size_t lines)
{
    for (size_t i = 0; i < lines; i++) {
        vv_buffer_format(text, "cpu,host=h%zu v=%zu %zu\n", i % 7, i * i, i);
    }
    assert_int_equal(vv_buffer_status(text), VV_OK);
}

static void pack_gzip(const struct vv_buffer *text, struct vv_buffer *out)
{
    z_stream stream = {0};
    assert_int_equal(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    size_t most = deflateBound(&stream, text->size);
    stream.next_in = text->data;
    stream.avail_in = (uInt)text->size;
    stream.next_out = vv_buffer_reserve(out, most);
    stream.avail_out = (uInt)most;
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    out->size += stream.total_out;
    deflateEnd(&stream);
}

static void pack_zstd(const struct vv_buffer *text, struct vv_buffer *out)
{
    size_t most = ZSTD_compressBound(text->size);
    uint8_t *room = vv_buffer_reserve(out, most);
    size_t size = ZSTD_compress(room, most, text->data, text->size, 3);
    assert_false(ZSTD_isError(size));
    out->size += size;
}

/* Writes bytes to a file of which the name is put into `path`. */
static void save(const void *bytes, size_t size, char *path)
{
    strcpy(path, "/tmp/varve-input-XXXXXX");
    int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, bytes, size), size);
    close(file);
}

/* Reads a file whole, `piece` bytes at a time; its status at the end. */
static enum vv_status read_all(const char *path, size_t piece, struct vv_buffer *out,
                               struct vv_error *error)
{
    struct vv_input *input;
    enum vv_status status = vv_input_open(path, &input, error);
    assert_int_equal(status, VV_OK);
    while (status == VV_OK) {
        size_t size;
        uint8_t *room = vv_buffer_reserve(out, piece);
        status = vv_input_read(input, room, piece, &size, error);
        assert_true(status != VV_OK || (size > 0 && size <= piece));
        out->size += status == VV_OK ? size : 0;
    }
    vv_input_close(input);
    return status;
}

static void expect_text(const struct vv_buffer *packed, const struct vv_buffer *text)
{
    static const size_t pieces[] = {1, 1000, 1 << 20};
    char path[64];
    save(packed->data, packed->size, path);
    for (size_t i = packed->size > 100000 ? 1 : 0; i < 3; i++) {
        struct vv_buffer found = {0};
        assert_int_equal(read_all(path, pieces[i], &found, NULL), VV_DONE);
        assert_int_equal(found.size, text->size);
        assert_memory_equal(found.data, text->data, text->size);
        vv_buffer_deinit(&found);
    }
    unlink(path);
}

static void every_form_is_read(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 3, 500, 60000};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct vv_buffer text = {0};
        struct vv_buffer gzip = {0};
        struct vv_buffer zstd = {0};
        make_text(&text, sizes[i]);
        pack_gzip(&text, &gzip);
        pack_zstd(&text, &zstd);
        expect_text(&text, &text);
        expect_text(&gzip, &text);
        expect_text(&zstd, &text);
        vv_buffer_deinit(&text);
        vv_buffer_deinit(&gzip);
        vv_buffer_deinit(&zstd);
    }
}

static void joined_files_are_one(void **state)
{
    (void)state;
    struct vv_buffer text = {0};
    struct vv_buffer twice = {0};
    struct vv_buffer gzip = {0};
    struct vv_buffer zstd = {0};
    make_text(&text, 100);
    for (int i = 0; i < 2; i++) {
        vv_buffer_append(&twice, text.data, text.size);
        pack_gzip(&text, &gzip);
        pack_zstd(&text, &zstd);
    }
    expect_text(&gzip, &twice);
    expect_text(&zstd, &twice);
    vv_buffer_deinit(&text);
    vv_buffer_deinit(&twice);
    vv_buffer_deinit(&gzip);
    vv_buffer_deinit(&zstd);
}

static void expect_corrupt(const struct vv_buffer *packed, size_t size)
{
    char path[64];
    struct vv_buffer found = {0};
    struct vv_error error = {0};
    save(packed->data, size, path);
    assert_int_equal(read_all(path, 4096, &found, &error), VV_CORRUPT);
    assert_non_null(strstr(error.message, path));
    vv_buffer_deinit(&found);
    unlink(path);
}

static void damage_is_seen(void **state)
{
    (void)state;
    struct vv_buffer text = {0};
    struct vv_buffer gzip = {0};
    struct vv_buffer zstd = {0};
    make_text(&text, 1000);
    pack_gzip(&text, &gzip);
    pack_zstd(&text, &zstd);
    expect_corrupt(&gzip, gzip.size - 1); /* cut */
    expect_corrupt(&gzip, 20);
    expect_corrupt(&zstd, zstd.size - 1);
    expect_corrupt(&zstd, 5);
    gzip.data[gzip.size / 2] ^= 0x55;
    expect_corrupt(&gzip, gzip.size);
    gzip.data[gzip.size / 2] ^= 0x55;
    vv_buffer_text(&gzip, "garbage behind it");
    expect_corrupt(&gzip, gzip.size);
    vv_buffer_deinit(&text);
    vv_buffer_deinit(&gzip);
    vv_buffer_deinit(&zstd);
}

static void nothing_is_a_file_too(void **state)
{
    (void)state;
    char path[64];
    struct vv_buffer found = {0};
    save("", 0, path);
    assert_int_equal(read_all(path, 10, &found, NULL), VV_DONE);
    assert_int_equal(found.size, 0);
    unlink(path);
    vv_buffer_deinit(&found);
    struct vv_input *input;
    struct vv_error error = {0};
    assert_int_equal(vv_input_open(path, &input, &error), VV_NOT_FOUND);
    assert_non_null(strstr(error.message, path));
    assert_int_equal(vv_input_open("/", &input, &error), VV_OK);
    size_t size;
    assert_int_equal(vv_input_read(input, path, 1, &size, &error), VV_IO);
    vv_input_close(input);
}

/* Lines through the window, also ones that are longer than it. */
static void the_window_gives_every_line(void **state)
{
    (void)state;
    static const size_t lengths[] = {0, 1, 300000, 5, 2000000, 700000, 3};
    struct vv_buffer text = {0};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        uint8_t *room = vv_buffer_reserve(&text, lengths[i] + 1);
        memset(room, 'a' + (int)i, lengths[i]);
        room[lengths[i]] = '\n';
        text.size += lengths[i] + 1;
    }
    char path[64];
    save(text.data, text.size - 1, path); /* the last one has no newline */
    vv_buffer_deinit(&text);
    struct vv_input *input;
    struct vv_text_reader reader;
    assert_int_equal(vv_input_open(path, &input, NULL), VV_OK);
    assert_int_equal(vv_text_reader_init(&reader, input), VV_OK);
    size_t seen = 0;
    while (seen < sizeof lengths / sizeof lengths[0]) {
        bool at_end;
        struct vv_str window = vv_text_reader_window(&reader, &at_end);
        const char *newline = window.size ? memchr(window.data, '\n', window.size) : NULL;
        if (!newline && !(at_end && window.size > 0)) {
            assert_int_equal(vv_text_reader_fill(&reader, NULL), VV_OK);
            continue;
        }
        size_t size = newline ? (size_t)(newline - window.data) : window.size;
        assert_int_equal(size, lengths[seen]);
        assert_true(size == 0 || window.data[size - 1] == 'a' + (char)seen);
        assert_int_equal(reader.line, seen + 1);
        vv_text_reader_skip(&reader, size + (newline != NULL), 1);
        seen++;
    }
    assert_int_equal(vv_text_reader_fill(&reader, NULL), VV_DONE);
    vv_text_reader_deinit(&reader);
    vv_input_close(input);
    unlink(path);
}

static void a_line_that_is_too_long_is_skipped(void **state)
{
    (void)state;
    struct vv_buffer text = {0};
    uint8_t *room = vv_buffer_reserve(&text, 3u * VV_RECORD_BYTES_MAX);
    memset(room, 'x', 3u * VV_RECORD_BYTES_MAX);
    text.size = 3u * VV_RECORD_BYTES_MAX;
    vv_buffer_text(&text, "\nnext\n");
    char path[64];
    save(text.data, text.size, path);
    vv_buffer_deinit(&text);
    struct vv_input *input;
    struct vv_text_reader reader;
    assert_int_equal(vv_input_open(path, &input, NULL), VV_OK);
    assert_int_equal(vv_text_reader_init(&reader, input), VV_OK);
    bool at_end = false;
    while (!at_end) {
        assert_int_equal(vv_text_reader_fill(&reader, NULL), VV_OK);
        vv_text_reader_window(&reader, &at_end);
    }
    assert_int_equal(vv_text_reader_skip_line(&reader, NULL), VV_OK);
    assert_int_equal(reader.line, 2);
    struct vv_str window = vv_text_reader_window(&reader, &at_end);
    assert_memory_equal(window.data, "next\n", 5);
    vv_text_reader_deinit(&reader);
    vv_input_close(input);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_is_read),
        cmocka_unit_test(joined_files_are_one),
        cmocka_unit_test(damage_is_seen),
        cmocka_unit_test(nothing_is_a_file_too),
        cmocka_unit_test(the_window_gives_every_line),
        cmocka_unit_test(a_line_that_is_too_long_is_skipped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
