/* SPDX-License-Identifier: Apache-2.0 */
/* Queries through the door: parameters, streaming, errors before and after the first byte, slow
 * and vanished clients, limits. */
#include "door_fixture.h"

#include <zlib.h>

static size_t rows_in(const char *body)
{
    size_t n = 0;
    char expected[64];
    while (*body) {
        snprintf(expected, sizeof expected, "row %zu of the answer\n", n);
        if (strncmp(body, expected, strlen(expected)) != 0) {
            fail_msg("row %zu is: %.40s", n, body);
        }
        body += strlen(expected);
        n++;
    }
    return n;
}

static void test_small_answers(void **state)
{
    struct door *door = *state;
    struct response response = ask(door, "GET", "/api/v1/query?rows=3", "", NULL, 200);
    assert_int_equal(rows_in(response.body), 3);
    assert_header(&response, "Content-Type", "application/json");
    char value[32];
    assert_non_null(response_header(&response, "Content-Length", value, sizeof value));
    response_free(&response);
    response = ask(door, "GET", "/api/v1/latest?rows=0", "", NULL, 200);
    assert_int_equal(response.body_size, 0);
    response_free(&response);
    static const char *const paths[] = {"/api/v1/sources?rows=1", "/api/v1/metrics?rows=1",
                                        "/api/v1/tags?rows=1"};
    for (size_t i = 0; i < 3; i++) {
        expect(door, "GET", paths[i], "", NULL, 200);
    }
}

static void test_parameters(void **state)
{
    struct door *door = *state;
    struct response response =
        ask(door, "POST", "/api/v1/query?rows=1&u=me&p=x&pretty=true", "", "rows=4", 200);
    assert_int_equal(rows_in(response.body), 4); /* the last of a name counts */
    response_free(&response);
    response = ask(door, "POST", "/api/v1/query?pretty=true", "Content-Type: application/json\r\n",
                   "{\"rows\":5}", 200);
    assert_int_equal(rows_in(response.body), 5);
    response_free(&response);
    response = ask(door, "POST", "/api/v1/query", "", "  {\"rows\":6}", 200);
    assert_int_equal(rows_in(response.body), 6);
    response_free(&response);
    response = ask(door, "POST", "/api/v1/query?rows=1", "", "{\"rows\":6}", 400);
    assert_contains(response.body, "JSON body");
    response_free(&response);
    expect(door, "POST", "/api/v1/query", "", "{\"rows\":", 400);
    expect(door, "POST", "/api/v1/query", "", "rows=%zz", 400);
    response = ask(door, "GET", "/api/v1/query?nonsense=1", "", NULL, 400);
    assert_contains(response.body, "'nonsense' is not allowed");
    assert_contains(response.body, "\"where\":\"GET /api/v1/query\"");
    response_free(&response);
    expect(door, "PUT", "/api/v1/query?rows=1", "", "", 405);
}

static void test_formats(void **state)
{
    struct door *door = *state;
    struct response response =
        ask(door, "GET", "/api/v1/query?rows=1", "Accept: text/csv\r\n", NULL, 200);
    assert_header(&response, "Content-Type", "text/csv; charset=utf-8");
    response_free(&response);
    response = ask(door, "GET", "/api/v1/query?rows=1&format=csv", "", NULL, 200);
    assert_header(&response, "Content-Type", "text/csv; charset=utf-8");
    response_free(&response);
    response =
        ask(door, "GET", "/api/v1/query?rows=1&format=json", "Accept: text/csv\r\n", NULL, 200);
    assert_header(&response, "Content-Type", "application/json");
    response_free(&response);
}

static void test_long_answers_are_streamed(void **state)
{
    struct door *door = *state;
    struct response response = ask(door, "GET", "/api/v1/query?rows=300000", "", NULL, 200);
    assert_header(&response, "Transfer-Encoding", "chunked");
    assert_int_equal(rows_in(response.body), 300000);
    response_free(&response);
    /* With pauses of the query, and in many pieces. */
    response = ask(door, "GET", "/api/v1/query?rows=20000&quiet=300", "", NULL, 200);
    assert_int_equal(rows_in(response.body), 20000);
    response_free(&response);
    /* HTTP/1.0 knows no chunks: the answer ends with the connection. */
    struct client client = client_connect(door->address);
    static const char request[] = "GET /api/v1/query?rows=100000 HTTP/1.0\r\n\r\n";
    client_send(&client, request, sizeof request - 1);
    while (client_more(&client)) {
    }
    vv_buffer_u8(&client.in, 0);
    const char *body = strstr((const char *)client.in.data, "\r\n\r\n");
    assert_non_null(body);
    assert_int_equal(rows_in(body + 4), 100000);
    client_close(&client);
}

static void test_answers_are_packed(void **state)
{
    struct door *door = *state;
    static const size_t sizes[] = {100, 300000};
    for (size_t i = 0; i < 2; i++) {
        char target[64];
        snprintf(target, sizeof target, "/api/v1/query?rows=%zu", sizes[i]);
        struct response response = ask(door, "GET", target, "Accept-Encoding: gzip\r\n", NULL, 200);
        assert_header(&response, "Content-Encoding", "gzip");
        size_t room = sizes[i] * 40;
        char *plain = malloc(room);
        z_stream zlib = {.next_in = (Bytef *)response.body,
                         .avail_in = (uInt)response.body_size,
                         .next_out = (Bytef *)plain,
                         .avail_out = (uInt)room};
        assert_int_equal(inflateInit2(&zlib, 31), Z_OK);
        assert_int_equal(inflate(&zlib, Z_FINISH), Z_STREAM_END);
        plain[room - zlib.avail_out] = '\0';
        assert_int_equal(rows_in(plain), sizes[i]);
        inflateEnd(&zlib);
        free(plain);
        response_free(&response);
    }
    char value[32];
    struct response response =
        ask(door, "GET", "/api/v1/query?rows=2", "Accept-Encoding: gzip\r\n", NULL, 200);
    assert_null(response_header(&response, "Content-Encoding", value, sizeof value));
    response_free(&response);
}

static void test_errors_before_the_first_byte(void **state)
{
    struct door *door = *state;
    static const struct {
        enum vv_status status;
        int code;
    } cases[] = {{VV_INVALID, 400},  {VV_NOT_FOUND, 404}, {VV_TOO_LARGE, 413}, {VV_TIMEOUT, 503},
                 {VV_OVERLOAD, 503}, {VV_NO_MEMORY, 503}, {VV_CORRUPT, 500},   {VV_IO, 500}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        static const char *const when[] = {"", "&fail_after=0&rows=9", "&fail_after=100&rows=500",
                                           "&fail_after=0&rows=9&quiet=5"};
        for (size_t k = 0; k < 4; k++) {
            char target[128];
            snprintf(target, sizeof target, "/api/v1/query?status=%d%s", (int)cases[i].status,
                     when[k]);
            struct response response = ask(door, "GET", target, "", NULL, cases[i].code);
            assert_contains(response.body, vv_status_name(cases[i].status));
            response_free(&response);
        }
    }
    struct fake_seen seen = fake_look(door->engine);
    assert_int_equal(seen.results_open, 0);
    assert_int_equal(seen.queries_done, 32);
}

/* The status has gone out: the answer says at its end that it is not complete. */
static void test_errors_in_the_middle(void **state)
{
    struct door *door = *state;
    static const char *const encodings[] = {"", "Accept-Encoding: identity\r\n"};
    for (size_t i = 0; i < 2; i++) {
        struct response response =
            ask(door, "GET", "/api/v1/query?rows=100000&fail_after=50000&status=14", encodings[i],
                NULL, 200);
        assert_contains(response.body, "row 49999 of");
        assert_contains(response.body, "aborted: timeout");
        assert_null(strstr(response.body, "row 50000 of"));
        response_free(&response);
    }
    assert_int_equal(fake_look(door->engine).results_open, 0);
}

static void test_head(void **state)
{
    struct door *door = *state;
    struct client client = client_connect(door->address);
    static const char requests[] = "HEAD /api/v1/query?rows=1 HTTP/1.1\r\nHost: t\r\n\r\n"
                                   "HEAD /api/v1/query?status=3 HTTP/1.1\r\nHost: t\r\n\r\n"
                                   "HEAD /ping HTTP/1.1\r\nHost: t\r\n\r\n"
                                   "HEAD /api/v1/query?rows=100000 HTTP/1.1\r\nHost: t\r\n\r\n";
    static const int codes[] = {200, 404, 204, 200};
    client_send(&client, requests, sizeof requests - 1);
    for (int i = 0; i < 4; i++) {
        struct response response = client_receive(&client, false);
        assert_int_equal(response.code, codes[i]);
        response_free(&response);
    }
    assert_false(
        client_more(&client)); /* of unknown length: the connection ends, and no byte more */
    assert_int_equal(client.in.size, 0);
    client_close(&client);
}

static void wait_results(struct door *door, size_t open)
{
    struct vv_engine *engine = door->engine;
    pthread_mutex_lock(&engine->lock);
    while (engine->seen.results_open != open) {
        pthread_cond_wait(&engine->changed, &engine->lock);
    }
    pthread_mutex_unlock(&engine->lock);
}

/* Slow readers hold no worker: there are two, and many clients that do not read at all. */
static void test_slow_readers_hold_no_thread(void **state)
{
    struct door *door = *state;
    enum { MANY = 20 };
    static struct client clients[MANY];
    static const char request[] =
        "GET /api/v1/query?rows=100000000 HTTP/1.1\r\nHost: t\r\n\r\n"; /* 2 GB */
    for (int i = 0; i < MANY; i++) {
        clients[i] = client_connect(door->address);
        client_send(&clients[i], request, sizeof request - 1);
    }
    wait_results(door, MANY);
    struct response response = ask(door, "GET", "/api/v1/query?rows=1000", "", NULL, 200);
    assert_int_equal(rows_in(response.body), 1000);
    response_free(&response);
    for (int i = 0; i < MANY; i++) {
        client_close(&clients[i]);
    }
    wait_results(door, 0); /* and who is gone is noticed */
    assert_int_equal(fake_look(door->engine).queries_cancelled, MANY);
}

/* A query that works without a row yet is ended when its client has gone. */
static void test_vanished_client_ends_its_query(void **state)
{
    struct door *door = *state;
    struct client client = client_connect(door->address);
    static const char request[] =
        "GET /api/v1/query?rows=1&quiet=-1 HTTP/1.1\r\nHost: t\r\n\r\n"; /* works for ever */
    client_send(&client, request, sizeof request - 1);
    wait_results(door, 1);
    client_close(&client);
    wait_results(door, 0);
}

static void test_number_of_queries_is_bounded(void **state)
{
    struct door *door = *state;
    door->settings.query_concurrent_max = 3;
    door_reopen(door);
    static struct client clients[3];
    static const char request[] = "GET /api/v1/query?rows=1&quiet=-1 HTTP/1.1\r\nHost: t\r\n\r\n";
    for (int i = 0; i < 3; i++) {
        clients[i] = client_connect(door->address);
        client_send(&clients[i], request, sizeof request - 1);
    }
    wait_results(door, 3);
    struct response response = ask(door, "GET", "/api/v1/query?rows=1", "", NULL, 503);
    assert_contains(response.body, "query.concurrent_max");
    char value[32];
    assert_non_null(response_header(&response, "Retry-After", value, sizeof value));
    response_free(&response);
    expect(door, "GET", "/ping", "", NULL, 204);
    for (int i = 0; i < 3; i++) {
        client_close(&clients[i]);
    }
    wait_results(door, 0);
    expect(door, "GET", "/api/v1/query?rows=1", "", NULL, 200);
}

/* Queries of all sorts are under way when the server stops: all of them end. */
static void test_stop_ends_queries(void **state)
{
    struct door *door = *state;
    static const char *const requests[] = {
        "GET /api/v1/query?rows=1&quiet=-1 HTTP/1.1\r\nHost: t\r\n\r\n",
        "GET /api/v1/query?rows=100000000 HTTP/1.1\r\nHost: t\r\n\r\n",
        "GET /api/v1/query?rows=100000000 HTTP/1.1\r\nHost: t\r\nAccept-Encoding: gzip\r\n\r\n"};
    enum { MANY = 12 };
    static struct client clients[MANY];
    for (int i = 0; i < MANY; i++) {
        clients[i] = client_connect(door->address);
        client_send(&clients[i], requests[i % 3], strlen(requests[i % 3]));
    }
    wait_results(door, MANY);
    vv_http_stop(door->http, 0);
    door->http = NULL;
    assert_int_equal(fake_look(door->engine).results_open, 0);
    for (int i = 0; i < MANY; i++) {
        client_close(&clients[i]);
    }
}

static void test_bodies_of_queries_are_bounded(void **state)
{
    struct door *door = *state;
    size_t size = (1u << 20) + 1;
    char *body = malloc(size + 1);
    memset(body, '&', size);
    body[size] = '\0';
    expect(door, "POST", "/api/v1/query", "", body, 413);
    body[size - 1] = '\0';
    expect(door, "POST", "/api/v1/query", "", body, 200);
    free(body);
    /* Chunked: the length is not known before. */
    struct client client = client_connect(door->address);
    static const char head[] =
        "POST /api/v1/query HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n";
    client_send(&client, head, sizeof head - 1);
    char chunk[4096 + 8];
    memset(chunk, '&', sizeof chunk);
    memcpy(chunk, "1000\r\n", 6);
    memcpy(chunk + 6 + 4096, "\r\n", 2);
    bool open = true;
    for (int i = 0; open && i < 2000; i++) {
        open = client_send(&client, chunk, 6 + 4096 + 2);
    }
    struct response response = client_receive(&client, true);
    assert_int_equal(response.code, 413);
    response_free(&response);
    client_close(&client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        door_test(test_small_answers),
        door_test(test_parameters),
        door_test(test_formats),
        door_test(test_long_answers_are_streamed),
        door_test(test_answers_are_packed),
        door_test(test_errors_before_the_first_byte),
        door_test(test_errors_in_the_middle),
        door_test(test_head),
        door_test(test_slow_readers_hold_no_thread),
        door_test(test_vanished_client_ends_its_query),
        door_test(test_number_of_queries_is_bounded),
        door_test(test_stop_ends_queries),
        door_test(test_bodies_of_queries_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
