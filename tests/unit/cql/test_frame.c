/* SPDX-License-Identifier: Apache-2.0 */
/* Frames written, and cut out of streams that come in any pieces. */
#include "cql/frame.h"

#include "notation.h"

#define BOUND 100000

static struct vvcql_bytes content(const struct vvcql_buffer *buffer)
{
    return (struct vvcql_bytes){.data = buffer->data, .size = buffer->size};
}

static struct vvcql_bytes repeated(char character, size_t size)
{
    char *data = vv_sim_malloc(size + 1);
    memset(data, character, size);
    struct vvcql_bytes result = exact(data, size);
    free(data);
    return result;
}

/* ---- writing ---- */

static void test_frames_are_appended(void **state)
{
    (void)state;
    struct vvcql_buffer out = {0};
    vvcql_frame_write(&out, VVCQL_OP_QUERY, VVCQL_FLAG_TRACING, 0x0102, bytes("'body'"), false);
    vvcql_frame_write(&out, VVCQL_OP_OPTIONS, 0, 0x7FFF, (struct vvcql_bytes){0}, true);
    assert_false(out.failed);
    assert_bytes(content(&out), "04 02 0102 07 00000004 'body' 04 00 7fff 05 00000000");
    vvcql_buffer_deinit(&out);
}

static void test_only_what_gets_smaller_is_compressed(void **state)
{
    (void)state;
    struct vvcql_buffer out = {0};
    struct vvcql_bytes same = repeated('a', 5000);
    vvcql_frame_write(&out, VVCQL_OP_EXECUTE, 0, 1, same, true);
    assert_true(out.size < 100);
    assert_int_equal(out.data[1], VVCQL_FLAG_COMPRESSED);
    struct vvcql_reader reader = vvcql_reader_of(content(&out));
    vvcql_read_bytes(&reader, 5);
    uint32_t size = vvcql_read_u32(&reader);
    assert_int_equal(size, reader.left);
    struct vvcql_buffer body = {0};
    assert_int_equal(vvcql_uncompress(vvcql_read_bytes(&reader, size), BOUND, &body), VVCQL_OK);
    assert_same(content(&body), same);
    vvcql_buffer_deinit(&body);

    uint8_t all[256];
    for (size_t i = 0; i < sizeof all; i++) {
        all[i] = (uint8_t)i;
    }
    vvcql_buffer_clear(&out);
    struct vvcql_bytes different = {.data = all, .size = sizeof all};
    vvcql_frame_write(&out, VVCQL_OP_EXECUTE, 0, 1, different, true);
    assert_int_equal(out.size, VVCQL_FRAME_HEADER_SIZE + sizeof all);
    assert_int_equal(out.data[1], 0);
    assert_memory_equal(out.data + VVCQL_FRAME_HEADER_SIZE, all, sizeof all);

    vvcql_buffer_clear(&out);
    vvcql_frame_write(&out, VVCQL_OP_EXECUTE, 0, 1, repeated('a', 40), true); /* too short */
    assert_int_equal(out.data[1], 0);
    vvcql_buffer_deinit(&out);
}

static void test_a_body_beyond_the_bound_is_not_written(void **state)
{
    (void)state;
    struct vvcql_buffer out = {0};
    vvcql_frame_write(&out, VVCQL_OP_OPTIONS, 0, 1, (struct vvcql_bytes){0}, false);
    struct vvcql_bytes body = {.data = bytes("00").data, .size = VVCQL_FRAME_BODY_MAX + 1};
    vvcql_frame_write(&out, VVCQL_OP_QUERY, 0, 2, body, true);
    assert_true(out.failed);
    assert_int_equal(out.size, VVCQL_FRAME_HEADER_SIZE);
    vvcql_buffer_deinit(&out);
}

static void test_failed_memory_leaves_what_was_there(void **state)
{
    (void)state;
    struct vvcql_bytes body = repeated('a', 3000);
    bool failed = true;
    for (uint64_t k = 1; failed; k++) {
        for (int compress = 0; compress < 2; compress++) {
            struct vvcql_buffer out = {0};
            vvcql_write_string(&out, "before");
            vv_sim_memory_fail(k);
            vvcql_frame_write(&out, VVCQL_OP_QUERY, 0, 1, body, compress != 0);
            failed = vv_sim_memory_failed();
            assert_int_equal(out.failed, failed);
            assert_int_equal(out.size == 8, failed);
            assert_memory_equal(out.data, "\0\6before", 8);
            vvcql_buffer_deinit(&out);
        }
    }
}

/* ---- splitting ---- */

/* Adds bytes as a connection that reads them does. */
static void feed(struct vvcql_splitter *splitter, struct vvcql_bytes more)
{
    while (more.size > 0) {
        size_t capacity;
        uint8_t *at = vvcql_splitter_reserve(splitter, more.size, &capacity);
        assert_non_null(at);
        assert_true(capacity > 0);
        size_t size = more.size < capacity ? more.size : capacity;
        memcpy(at, more.data, size);
        vvcql_splitter_added(splitter, size);
        more.data += size;
        more.size -= size;
    }
}

static void assert_frame(struct vvcql_splitter *splitter, int opcode, int flags, int stream,
                         struct vvcql_bytes body)
{
    struct vvcql_frame frame;
    bool found;
    assert_int_equal(vvcql_splitter_next(splitter, &frame, &found, NULL), VVCQL_OK);
    assert_true(found);
    assert_int_equal(frame.opcode, opcode);
    assert_int_equal(frame.flags, flags);
    assert_int_equal(frame.stream, stream);
    assert_int_equal(frame.body.size, body.size);
    assert_memory_equal(frame.body.data, body.data, body.size);
}

static void assert_none(struct vvcql_splitter *splitter)
{
    struct vvcql_frame frame;
    bool found = true;
    assert_int_equal(vvcql_splitter_next(splitter, &frame, &found, NULL), VVCQL_OK);
    assert_false(found);
}

static void assert_refused(struct vvcql_splitter *splitter, const char *needle)
{
    for (int i = 0; i < 2; i++) { /* and it stays so */
        struct vvcql_frame frame;
        struct vvcql_error error;
        bool found = true;
        assert_int_equal(vvcql_splitter_next(splitter, &frame, &found, &error), VVCQL_PROTOCOL);
        assert_false(found);
        assert_int_equal(error.status, VVCQL_PROTOCOL);
        if (strstr(error.message, needle) == NULL) {
            fail_msg("\"%s\" is not in \"%s\"", needle, error.message);
        }
    }
}

/* Ready, empty; an event, negative stream; compressed; flags that are not known. */
static const char *const stream_of_four = "84 00 0003 02 00000000"
                                          "84 08 ffff 0c 00000003 'abc'"
                                          "84 03 0102 08 0000000a 00000005 50 'hello'"
                                          "84 f0 0000 08 00000001 00";

static void test_frames_come_out_however_they_are_torn(void **state)
{
    (void)state;
    struct vvcql_bytes whole = bytes(stream_of_four);
    for (size_t piece = 1; piece <= whole.size; piece++) {
        struct vvcql_splitter splitter = {.frame_bytes_max = BOUND};
        size_t found_frames = 0;
        for (size_t at = 0; at < whole.size; at += piece) {
            size_t size = whole.size - at < piece ? whole.size - at : piece;
            feed(&splitter, exact(whole.data + at, size));
            size_t arrived = at + size;
            const size_t ends[] = {9, 21, 40, 50};
            while (found_frames < 4 && ends[found_frames] <= arrived) {
                static const uint8_t opcodes[] = {2, 0x0c, 8, 8};
                static const uint8_t flags[] = {0, 8, 2, 0xf0};
                static const int16_t streams[] = {3, -1, 0x0102, 0};
                const char *const bodies[] = {"", "'abc'", "'hello'", "00"};
                assert_frame(&splitter, opcodes[found_frames], flags[found_frames],
                             streams[found_frames], bytes(bodies[found_frames]));
                found_frames++;
            }
            assert_none(&splitter);
        }
        assert_int_equal(found_frames, 4);
        vvcql_splitter_deinit(&splitter);
    }
}

static void test_an_empty_splitter_has_no_frame(void **state)
{
    (void)state;
    struct vvcql_splitter splitter = {.frame_bytes_max = BOUND};
    assert_none(&splitter);
    size_t capacity;
    assert_non_null(vvcql_splitter_reserve(&splitter, 0, &capacity)); /* at least one */
    assert_true(capacity >= 1);
    assert_none(&splitter);
    vvcql_splitter_deinit(&splitter);
}

static void test_other_versions_and_directions_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        const char *message;
    } cases[] = {
        {"83", "version 3"},
        {"85 00", "version 5"},
        {"04 00 0003 02 00000000", "no answer"},
        {"'HTTP/1.1 400 Bad Request'", "check address, port and TLS"},
        {"15 03 03 00 02 02 28", "check address, port and TLS"}, /* an alert of TLS */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct vvcql_splitter splitter = {.frame_bytes_max = BOUND};
        feed(&splitter, bytes("84 00 0003 02 00000000"));
        feed(&splitter, bytes(cases[i].bytes));
        assert_frame(&splitter, VVCQL_OP_READY, 0, 3, bytes(""));
        assert_refused(&splitter, cases[i].message);
        vvcql_splitter_deinit(&splitter);
    }
}

static void test_bodies_beyond_the_bound_are_refused_by_their_header(void **state)
{
    (void)state;
    const char *const headers[] = {"84 00 0000 08 00000009", "84 00 0000 08 80000000",
                                   "84 00 0000 08 ffffffff", "84 01 0000 08 00000009"};
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
        struct vvcql_splitter splitter = {.frame_bytes_max = 8};
        struct vvcql_bytes header = bytes(headers[i]);
        feed(&splitter, prefix(header, 8));
        assert_none(&splitter);
        feed(&splitter, exact(header.data + 8, 1));
        assert_refused(&splitter, "longer than the 8");
        vvcql_splitter_deinit(&splitter);
    }
    struct vvcql_splitter splitter = {.frame_bytes_max = 8};
    feed(&splitter, bytes("84 00 0000 08 00000008 '12345678'")); /* the bound itself is fine */
    assert_frame(&splitter, VVCQL_OP_RESULT, 0, 0, bytes("'12345678'"));
    vvcql_splitter_deinit(&splitter);
}

static void test_bodies_that_cannot_be_uncompressed_are_refused(void **state)
{
    (void)state;
    const char *const streams[] = {
        "84 01 0000 08 00000000",                                       /* no length */
        "84 01 0000 08 0000000a 00000006 50 'hello'",                   /* a wrong one */
        "84 01 0000 08 0000000f 00000021 1f 'a' 0100 08 60 'bcdef'",    /* no block */
        "84 01 0000 08 00000010 00000021 1f 'a' 0100 08 50 'bcdef' 00", /* something behind */
    };
    for (size_t i = 0; i < sizeof streams / sizeof streams[0]; i++) {
        struct vvcql_splitter splitter = {.frame_bytes_max = 64};
        feed(&splitter, bytes(streams[i]));
        assert_refused(&splitter, "uncompressed");
        vvcql_splitter_deinit(&splitter);
    }
    struct vvcql_splitter splitter = {.frame_bytes_max = 32};
    feed(&splitter, bytes("84 01 0000 08 0000000f 00000021 1f 'a' 0100 08 50 'bcdef'"));
    assert_refused(&splitter, "to at most 32 bytes"); /* fits, but not what it becomes */
    vvcql_splitter_deinit(&splitter);
}

static void test_a_claimed_length_costs_no_memory(void **state)
{
    (void)state;
    struct vvcql_splitter splitter = {.frame_bytes_max = VVCQL_FRAME_BODY_MAX};
    feed(&splitter, bytes("84 00 0000 08 10000000"));
    for (int i = 0; i < 100; i++) {
        size_t capacity;
        assert_non_null(vvcql_splitter_reserve(&splitter, 4096, &capacity));
        assert_true(capacity >= 4096);
        vvcql_splitter_added(&splitter, 10);
        assert_none(&splitter);
    }
    assert_true(splitter.bytes_.capacity <= 16384);
    vvcql_splitter_deinit(&splitter);
}

static void test_memory_of_large_frames_is_given_back(void **state)
{
    (void)state;
    struct vvcql_splitter splitter = {.frame_bytes_max = VVCQL_FRAME_BODY_MAX};
    struct vvcql_bytes body = repeated('r', 6 << 20);
    struct vvcql_buffer frame = {0};
    vvcql_frame_write(&frame, VVCQL_OP_RESULT, 0, 1, body, false);
    vvcql_frame_write(&frame, VVCQL_OP_RESULT, 0, 2, body, true);
    for (int i = 0; i < 2; i++) {
        frame.data[0] = 0x84;
        frame.data[VVCQL_FRAME_HEADER_SIZE + body.size] = 0x84;
        feed(&splitter, content(&frame));
        assert_frame(&splitter, VVCQL_OP_RESULT, 0, 1, body);
        assert_frame(&splitter, VVCQL_OP_RESULT, 0, 2, body);
        assert_none(&splitter);
        size_t capacity;
        assert_non_null(vvcql_splitter_reserve(&splitter, 65536, &capacity));
        assert_true(splitter.bytes_.capacity <= 65536);
        assert_int_equal(splitter.body_.capacity, 0);
    }
    vvcql_buffer_deinit(&frame);
    vvcql_splitter_deinit(&splitter);
}

static void test_it_goes_on_after_memory_was_out(void **state)
{
    (void)state;
    struct vvcql_bytes first = bytes("84 01 0102 08 0000000a 00000005");
    struct vvcql_bytes second = bytes("50 'hello'");
    bool failed = true;
    for (uint64_t k = 1; failed; k++) {
        struct vvcql_splitter splitter = {.frame_bytes_max = BOUND};
        struct vvcql_frame frame;
        struct vvcql_error error;
        bool found = false;
        size_t capacity;
        vv_sim_memory_fail(k);
        if (vvcql_splitter_reserve(&splitter, first.size, &capacity) == NULL) {
            assert_int_equal(capacity, 0);
        }
        feed(&splitter, first);
        if (vvcql_splitter_reserve(&splitter, 100000, &capacity) == NULL) {
            assert_int_equal(capacity, 0);
        }
        feed(&splitter, second);
        enum vvcql_status status = vvcql_splitter_next(&splitter, &frame, &found, &error);
        failed = vv_sim_memory_failed();
        if (status != VVCQL_OK) {
            assert_int_equal(status, VVCQL_NO_MEMORY);
            assert_true(failed);
            assert_frame(&splitter, VVCQL_OP_RESULT, 0, 0x0102, bytes("'hello'"));
        } else {
            assert_true(found);
        }
        vvcql_splitter_deinit(&splitter);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_frames_are_appended, forget_bytes),
        cmocka_unit_test_teardown(test_only_what_gets_smaller_is_compressed, forget_bytes),
        cmocka_unit_test_teardown(test_a_body_beyond_the_bound_is_not_written, forget_bytes),
        cmocka_unit_test_teardown(test_failed_memory_leaves_what_was_there, forget_bytes),
        cmocka_unit_test_teardown(test_frames_come_out_however_they_are_torn, forget_bytes),
        cmocka_unit_test_teardown(test_an_empty_splitter_has_no_frame, forget_bytes),
        cmocka_unit_test_teardown(test_other_versions_and_directions_are_refused, forget_bytes),
        cmocka_unit_test_teardown(test_bodies_beyond_the_bound_are_refused_by_their_header,
                                  forget_bytes),
        cmocka_unit_test_teardown(test_bodies_that_cannot_be_uncompressed_are_refused,
                                  forget_bytes),
        cmocka_unit_test_teardown(test_a_claimed_length_costs_no_memory, forget_bytes),
        cmocka_unit_test_teardown(test_memory_of_large_frames_is_given_back, forget_bytes),
        cmocka_unit_test_teardown(test_it_goes_on_after_memory_was_out, forget_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
