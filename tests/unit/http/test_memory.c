/* SPDX-License-Identifier: Apache-2.0 */
/* Allocations that fail in the middle of a request: it gets an answer that says so, nothing leaks,
 * and the next request is served. */
#include "door_fixture.h"

#include <zlib.h>

#define ATTEMPTS_MAX 400

static struct response write_once(struct door *door, const char *headers,
                                  const struct vv_buffer *body)
{
    return client_request(door->address, "POST", "/write?db=a&precision=s", headers, body->data,
                          body->size);
}

/* Fails the first, second, third … allocation of a write, until none is left to fail. */
static void check_writes(struct door *door, const char *headers, const struct vv_buffer *body,
                         int code)
{
    size_t refused = 0;
    bool failed = true;
    for (unsigned long k = 1; failed; k++) {
        assert_true(k < ATTEMPTS_MAX);
        size_t accounts = fake_look(door->engine).accounts;
        atomic_store(&door->engine->allocation_failed, false);
        atomic_store(&door->engine->fail_allocation, k);
        struct response response = write_once(door, headers, body);
        atomic_store(&door->engine->fail_allocation, 0);
        assert_true(response.code == 503 || response.code == code);
        assert_true(response.complete);
        refused += response.code == 503;
        bool staged = response.code == code; /* else it may have ended before that */
        response_free(&response);
        if (staged) {
            fake_wait_accounts(door->engine, accounts + 1);
        }
        failed = !staged || atomic_load(&door->engine->allocation_failed);
        /* Both threads of libmicrohttpd are disarmed by a request that goes well. */
        for (int i = 0; i < 4; i++) {
            response = write_once(door, "", body);
            response_free(&response);
        }
    }
    assert_true(refused > 5);
    struct fake_seen seen = fake_look(door->engine);
    assert_int_equal(seen.staged + seen.refused, seen.received);
}

static void test_writes(void **state)
{
    struct door *door = *state;
    struct vv_buffer body = {0};
    for (int i = 0; i < 100; i++) {
        vv_buffer_format(&body, "m,s=%d v=%d,w=%di 1\n", i, i, i);
    }
    check_writes(door, "", &body, 204);
    vv_buffer_text(&body, "nonsense\nand more=\n");
    check_writes(door, "", &body, 400);
    struct vv_buffer packed = {0};
    uLongf size = compressBound((uLong)body.size);
    uint8_t *room = vv_buffer_reserve(&packed, size);
    assert_int_equal(compress(room, &size, body.data, (uLong)body.size), Z_OK);
    packed.size = size;
    check_writes(door, "Content-Encoding: deflate\r\n", &packed, 400);
    vv_buffer_deinit(&body);
    vv_buffer_deinit(&packed);
}

/* The worker's part of a query: before the first byte it is 503; after it, the answer breaks off
 * such that its reader sees it. */
static void test_queries(void **state)
{
    struct door *door = *state;
    static const char *const headers[] = {"", "Accept-Encoding: gzip\r\n"};
    static const char *const targets[] = {"/api/v1/query?rows=100", "/api/v1/query?rows=50000"};
    for (size_t i = 0; i < 4; i++) {
        size_t refused = 0;
        for (unsigned long k = 1; k < 30; k++) {
            atomic_store(&door->engine->fail_allocation, k);
            struct response response =
                client_request(door->address, "GET", targets[i / 2], headers[i % 2], NULL, 0);
            atomic_store(&door->engine->fail_allocation, 0);
            assert_true(response.code == 200 || response.code == 503);
            refused += response.code == 503;
            response_free(&response);
        }
        assert_true(refused > 0 && refused < 29);
    }
    struct response response =
        client_request(door->address, "GET", "/api/v1/query?rows=100", "", NULL, 0);
    assert_int_equal(response.code, 200);
    response_free(&response);
    assert_int_equal(fake_look(door->engine).results_open, 0);
}

static void test_administration(void **state)
{
    struct door *door = *state;
    static const char body[] = "[{\"metric\":\"a\",\"unit\":\"x\"},{\"metric\":\"missing\"}]";
    size_t lost = 0;
    for (unsigned long k = 1; k < 20; k++) {
        atomic_store(&door->engine->fail_allocation, k);
        struct response response =
            client_request(door->address, "PUT", "/api/v1/metrics", "", body, sizeof body - 1);
        atomic_store(&door->engine->fail_allocation, 0);
        assert_true(response.code == 404 || response.code == 503);
        lost += response.code == 503;
        if (response.code == 404) {
            json_t *root = json_loadb(response.body, response.body_size, 0, NULL);
            assert_non_null(root);
            assert_int_equal(json_array_size(json_object_get(root, "failed")), 1);
            json_decref(root);
        }
        response_free(&response);
    }
    assert_true(lost > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        door_test(test_writes),
        door_test(test_queries),
        door_test(test_administration),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
