/* SPDX-License-Identifier: Apache-2.0 */
/* Writes through the door, over an engine whose outcomes the test chooses. */
#include "door_fixture.h"
#include "ingest/line_protocol.h"

#include <jansson.h>
#include <zlib.h>

#define LINE "pump,site=a temperature=73.9 1700000000000000000\n"

/* A text of n different lines. */
static struct vv_buffer lines(size_t n)
{
    struct vv_buffer text = {0};
    for (size_t i = 0; i < n; i++) {
        vv_buffer_format(&text, "pump,unit=%zu a=%zu.5,b=%zui %zu\n", i % 50, i, i, i + 1);
    }
    return text;
}

static struct vv_buffer gzipped(const void *bytes, size_t size)
{
    struct vv_buffer packed = {0};
    z_stream zlib = {0};
    assert_int_equal(deflateInit2(&zlib, 6, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
    size_t bound = deflateBound(&zlib, size) + 64;
    uint8_t *room = vv_buffer_reserve(&packed, bound);
    zlib.next_in = (Bytef *)(uintptr_t)bytes;
    zlib.avail_in = (uInt)size;
    zlib.next_out = room;
    zlib.avail_out = (uInt)bound;
    assert_int_equal(deflate(&zlib, Z_FINISH), Z_STREAM_END);
    packed.size = bound - zlib.avail_out;
    deflateEnd(&zlib);
    return packed;
}

/* Waits until all requests are accounted for, and checks guarantee 7 as far as the door goes. */
static void check_accounts(struct door *door, size_t requests, uint64_t received, uint64_t refused)
{
    fake_wait_accounts(door->engine, requests);
    struct fake_seen seen = fake_look(door->engine);
    assert_int_equal(seen.received, received);
    assert_int_equal(seen.refused, refused);
    assert_int_equal(seen.staged + seen.refused, seen.received);
}

static void test_stores_and_answers_204(void **state)
{
    struct door *door = *state;
    static const enum fake_mode modes[] = {FAKE_NOW, FAKE_LATER};
    for (int i = 0; i < 2; i++) {
        fake_set_mode(door->engine, modes[i]);
        struct response response = ask(door, "POST", "/write?db=a", "", LINE LINE, 204);
        assert_header(&response, "X-Varve-Accepted", "2");
        assert_header(&response, "X-Influxdb-Version", "1.8.10-varve");
        response_free(&response);
    }
    check_accounts(door, 2, 4, 0);
    assert_int_equal(fake_look(door->engine).points_stored, 4);
}

static void test_bodies_without_points(void **state)
{
    struct door *door = *state;
    expect(door, "POST", "/write?db=a", "", "", 204);
    expect(door, "POST", "/write?db=a", "", NULL, 204);
    expect(door, "POST", "/write?db=a", "", "\n# nothing\n\n", 204);
    expect(door, "POST", "/write?db=a", "Content-Encoding: gzip\r\n", "", 204);
    assert_int_equal(fake_look(door->engine).batches, 0);
}

static void test_parameters(void **state)
{
    struct door *door = *state;
    expect(door, "POST", "/write?db=a&precision=s&rp=x&consistency=one&u=me&p=secret", "",
           "m v=1 1700000000\n", 204);
    expect(door, "POST", "/api/v2/write?bucket=b/autogen&org=o&precision=ms",
           "Authorization: Token x\r\n", "m v=1 1700000000000\n", 204);
    expect(door, "POST", "/write", "", "m v=1 1\n", 204);
    struct response response = ask(door, "GET", "/api/v1/tenants", "", NULL, 200);
    assert_contains(response.body, "{\"tenant\":\"a\"");
    assert_contains(response.body, "{\"tenant\":\"b\"");
    assert_contains(response.body, "{\"tenant\":\"default\"");
    response_free(&response);
    response = ask(door, "POST", "/write?db=a&precision=weeks", "", LINE, 400);
    assert_contains(response.body, "\"code\":\"invalid\"");
    response_free(&response);
    expect(door, "POST", "/write?db=%01", "", LINE, 400);
    response = ask(door, "POST", "/write?db=a", "Content-Encoding: br\r\n", LINE, 415);
    assert_contains(response.body, "gzip, deflate, zstd");
    response_free(&response);
    /* Four tenants are allowed. */
    expect(door, "POST", "/write?db=d", "", LINE, 204);
    response = ask(door, "POST", "/write?db=e", "", LINE, 403);
    assert_contains(response.body, "limit_reached");
    response_free(&response);
}

static void test_refusals_are_listed(void **state)
{
    struct door *door = *state;
    struct response response =
        ask(door, "POST", "/write?db=a", "",
            "pump v=1 1\nthis is not a line\npump v=2 2\npump v=3 99999999999999999999\n", 400);
    json_t *root = json_loads(response.body, 0, NULL);
    assert_non_null(root);
    assert_int_equal(json_integer_value(json_object_get(root, "accepted")), 2);
    assert_string_equal(json_string_value(json_object_get(root, "code")), "invalid");
    assert_string_equal(json_string_value(json_object_get(root, "where")), "POST /write");
    assert_non_null(json_string_value(json_object_get(root, "error")));
    json_t *first = json_array_get(json_object_get(root, "lines"), 0);
    assert_int_equal(json_integer_value(json_object_get(first, "line")), 2);
    assert_string_equal(json_string_value(json_object_get(first, "reason")), "syntax");
    assert_int_equal(json_array_size(json_object_get(root, "lines")), 2);
    json_decref(root);
    response_free(&response);
    check_accounts(door, 1, 4, 2);
    assert_int_equal(fake_look(door->engine).points_stored, 2);
}

static void test_lenient_refusals_are_a_header(void **state)
{
    struct door *door = *state;
    struct response response =
        ask(door, "POST", "/write?db=a", "", "pump v=1,state=\"on\",w=\"x\" 1\n", 204);
    assert_header(&response, "X-Varve-Refused", "string=2 fields=state,w");
    assert_header(&response, "X-Varve-Accepted", "1");
    response_free(&response);
    response = ask(door, "POST", "/write?db=a", "", "pump n\xC3\xA4me=\"on\" 1\n", 204);
    assert_header(&response, "X-Varve-Refused", "string=1 fields=n??me");
    response_free(&response);
}

static void test_json_points(void **state)
{
    struct door *door = *state;
    struct response response =
        ask(door, "POST", "/api/v1/points?tenant=a&precision=s", "",
            "[{\"measurement\":\"pump\",\"tags\":{\"site\":\"a\"},\"time\":1700000000,"
            "\"fields\":{\"t\":73.9,\"n\":12}}]",
            204);
    assert_header(&response, "X-Varve-Accepted", "2");
    response_free(&response);
    response = ask(door, "POST", "/api/v1/points?tenant=a", "", "[{\"measurement\":1}]", 400);
    assert_contains(response.body, "point 1");
    response_free(&response);
    expect(door, "POST", "/api/v1/points", "", "nonsense", 400);
}

static void test_outcomes(void **state)
{
    struct door *door = *state;
    static const struct {
        enum vv_status status;
        int code;
        const char *word;
        bool retry;
    } cases[] = {
        {VV_OVERLOAD, 503, "overload", true},   {VV_FULL, 503, "disk_full", true},
        {VV_IO, 503, "io_error", true},         {VV_NO_MEMORY, 503, "no_memory", true},
        {VV_CANCELLED, 503, "cancelled", true}, {VV_UNKNOWN, 500, "outcome_unknown", false}};
    atomic_store(&door->engine->fail_from, 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        atomic_store(&door->engine->outcome, (int)cases[i].status);
        fake_set_mode(door->engine, i % 2 ? FAKE_NOW : FAKE_LATER);
        struct response response = ask(door, "POST", "/write?db=a", "", LINE, cases[i].code);
        assert_contains(response.body, cases[i].word);
        assert_contains(response.body, "\"accepted\":0");
        char value[32];
        bool retry = response_header(&response, "Retry-After", value, sizeof value) != NULL;
        assert_int_equal(retry, cases[i].retry);
        response_free(&response);
    }
    check_accounts(door, sizeof cases / sizeof cases[0], 6, 0);
}

static void test_admission_comes_before_the_body(void **state)
{
    struct door *door = *state;
    atomic_store(&door->engine->admit, VV_FULL);
    /* A small body: the connection can be used again. */
    struct client client = client_connect(door->address);
    static const char request[] =
        "POST /write?db=a HTTP/1.1\r\nHost: t\r\nContent-Length: 5\r\n\r\n"
        "hello";
    for (int i = 0; i < 3; i++) {
        client_send(&client, request, sizeof request - 1);
        struct response response = client_receive(&client, true);
        assert_int_equal(response.code, 503);
        assert_contains(response.body, "disk_full");
        response_free(&response);
    }
    client_close(&client);
    /* A large one that has not come: the answer is there at once. */
    client = client_connect(door->address);
    static const char head[] =
        "POST /write?db=a HTTP/1.1\r\nHost: t\r\nContent-Length: 1000000\r\n\r\n";
    client_send(&client, head, sizeof head - 1);
    struct response response = client_receive(&client, true);
    assert_int_equal(response.code, 503);
    response_free(&response);
    client_close(&client);
    /* One that waits to be asked for. */
    client = client_connect(door->address);
    static const char waiting[] = "POST /write?db=a HTTP/1.1\r\nHost: t\r\nContent-Length: 10\r\n"
                                  "Expect: 100-continue\r\n\r\n";
    client_send(&client, waiting, sizeof waiting - 1);
    response = client_receive(&client, true);
    assert_int_equal(response.code, 503);
    response_free(&response);
    client_close(&client);
    assert_int_equal(fake_look(door->engine).accounts, 0);
}

/* The client can send all of a body that was refused before it came, and then gets the answer: the
 * connection is not reset under it. */
static void test_refused_large_body_gets_its_answer(void **state)
{
    struct door *door = *state;
    door->settings.http_body_bytes_max = 1 << 20;
    door_reopen(door);
    size_t size = 8u << 20;
    char *body = calloc(1, size);
    for (int i = 0; i < 5; i++) {
        struct client client = client_connect(door->address);
        char head[128];
        int length =
            snprintf(head, sizeof head,
                     "POST /write?db=a HTTP/1.1\r\nHost: t\r\nContent-Length: %zu\r\n\r\n", size);
        assert_true(client_send(&client, head, (size_t)length));
        assert_true(client_send(&client, body, size));
        struct response response = client_receive(&client, true);
        assert_int_equal(response.code, 413);
        assert_contains(response.body, "http.body_bytes_max");
        assert_true(response.complete);
        response_free(&response);
        client_close(&client);
    }
    free(body);
}

/* False when the server has closed. */
static bool send_chunked(struct client *client, const struct vv_buffer *body, size_t piece)
{
    for (size_t at = 0; at < body->size; at += piece) {
        size_t size = body->size - at < piece ? body->size - at : piece;
        char head[32];
        int length = snprintf(head, sizeof head, "%zx\r\n", size);
        if (!client_send(client, head, (size_t)length) ||
            !client_send(client, body->data + at, size) || !client_send(client, "\r\n", 2)) {
            return false;
        }
    }
    return client_send(client, "0\r\n\r\n", 5);
}

static const char chunked_head[] =
    "POST /write?db=a HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n";

static void test_chunked_bodies(void **state)
{
    struct door *door = *state;
    struct vv_buffer body = lines(2000);
    static const size_t pieces[] = {1, 13, 4096, 1u << 20};
    struct client client = client_connect(door->address);
    for (size_t i = 0; i < 4; i++) {
        client_send(&client, chunked_head, sizeof chunked_head - 1);
        assert_true(send_chunked(&client, &body, pieces[i]));
        struct response response = client_receive(&client, true);
        assert_int_equal(response.code, 204);
        assert_header(&response, "X-Varve-Accepted", "4000");
        response_free(&response);
    }
    client_close(&client);
    vv_buffer_deinit(&body);
}

static void test_chunked_body_beyond_its_limit(void **state)
{
    struct door *door = *state;
    door->settings.http_body_bytes_max = 1 << 20;
    door_reopen(door);
    struct vv_buffer body = lines(200000);
    assert_true(body.size > (3u << 20));
    struct client client = client_connect(door->address);
    client_send(&client, chunked_head, sizeof chunked_head - 1);
    assert_true(send_chunked(&client, &body, 10000));
    struct response response = client_receive(&client, true);
    assert_int_equal(response.code, 413);
    assert_true(response.complete);
    response_free(&response);
    client_close(&client);
    vv_buffer_deinit(&body);
}

#define LONG_LINES      60000
#define BATCH_BYTES_MAX (128u << 10)

/* Memory is bounded: a long body becomes several batches, each committed before more is read. */
static void check_long_body(struct door *door, const char *headers, const struct vv_buffer *sent)
{
    size_t before = fake_look(door->engine).batches;
    struct response response =
        client_request(door->address, "POST", "/write?db=a", headers, sent->data, sent->size);
    assert_int_equal(response.code, 204);
    response_free(&response);
    assert_true(fake_look(door->engine).batches - before > 4);
    assert_true(fake_look(door->engine).bytes_largest < BATCH_BYTES_MAX + (1u << 20));
}

static void test_long_bodies_become_batches(void **state)
{
    struct door *door = *state;
    door->settings.batch_bytes_max = BATCH_BYTES_MAX;
    door_reopen(door);
    struct vv_buffer text = lines(LONG_LINES);
    struct vv_buffer packed = gzipped(text.data, text.size);
    static const enum fake_mode modes[] = {FAKE_NOW, FAKE_LATER};
    for (int i = 0; i < 2; i++) {
        fake_set_mode(door->engine, modes[i]);
        check_long_body(door, "", &text);
        check_long_body(door, "Content-Encoding: gzip\r\n", &packed);
    }
    check_accounts(door, 4, 4 * 2 * LONG_LINES, 0);
    assert_int_equal(fake_look(door->engine).points_stored, 4 * 2 * LONG_LINES);
    /* Chunked, in pieces that end anywhere. */
    struct client client = client_connect(door->address);
    client_send(&client, chunked_head, sizeof chunked_head - 1);
    assert_true(send_chunked(&client, &text, 70001));
    struct response response = client_receive(&client, true);
    assert_int_equal(response.code, 204);
    assert_header(&response, "X-Varve-Accepted", "120000");
    response_free(&response);
    client_close(&client);
    vv_buffer_deinit(&text);
    vv_buffer_deinit(&packed);
}

/* ---- rows in doubt ---- */

/* All but the last third are in doubt, and every other thousand of these is frozen. */
static void test_rows_in_doubt_are_decided_on(void **state)
{
    struct door *door = *state;
    door->settings.batch_bytes_max = BATCH_BYTES_MAX;
    door_reopen(door);
    atomic_store(&door->engine->frozen_before, 20001);
    struct vv_buffer text = lines(LONG_LINES);
    struct vv_buffer packed = gzipped(text.data, text.size);
    const struct vv_buffer *bodies[] = {&text, &packed};
    static const char *const headers[] = {"", "Content-Encoding: gzip\r\n"};
    const uint64_t refused = 2 * 10000;
    for (size_t i = 0; i < 2; i++) {
        struct response response = client_request(door->address, "POST", "/write?db=a", headers[i],
                                                  bodies[i]->data, bodies[i]->size);
        assert_int_equal(response.code, 400);
        assert_contains(response.body, "stored 100000 points");
        assert_contains(response.body, "{\"retention\":20000}");
        response_free(&response);
    }
    check_accounts(door, 2, (uint64_t)2 * 2 * LONG_LINES, 2 * refused);
    assert_int_equal(fake_look(door->engine).points_stored, 2 * (2 * LONG_LINES - refused));
    expect(door, "POST", "/write?db=a", "", "m v=1 1500\n", 400); /* nothing is left */
    expect(door, "POST", "/write?db=a", "", "m v=1 2500\n", 204);
    vv_buffer_deinit(&text);
    vv_buffer_deinit(&packed);
}

static void test_what_can_not_be_decided_fails_as_a_whole(void **state)
{
    struct door *door = *state;
    atomic_store(&door->engine->frozen_before, 20001);
    atomic_store(&door->engine->look_outcome, VV_IO);
    struct response response =
        ask(door, "POST", "/write?db=a", "", "m v=1 30000\nm v=1 2500\n", 503);
    assert_contains(response.body, "whether a span is frozen can't be told, send again later");
    response_free(&response);
    fake_wait_accounts(door->engine, 1);
    assert_int_equal(fake_look(door->engine).points_stored, 0);
    atomic_store(&door->engine->look_outcome, VV_OK);
    expect(door, "POST", "/write?db=a", "", "m v=1 30000\nm v=1 2500\n", 204);
}

static void *stop_at_once(void *context)
{
    struct door *door = context;
    vv_http_stop(door->http, 0);
    return NULL;
}

/* More wait for the store than there are threads to ask it; some clients go, and then the server
 * stops. */
static void test_who_waits_for_a_decision_can_be_stopped(void **state)
{
    enum { N = 12 };
    struct door *door = *state;
    struct client clients[N];
    pthread_t thread;
    static const char request[] = "POST /write?db=a HTTP/1.1\r\nHost: t\r\nContent-Length: "
                                  "24\r\n\r\nm v=1 30000\nm,t=a v=1 5\n";
    atomic_store(&door->engine->frozen_before, 20001);
    fake_hold_looks(door->engine, true);
    for (size_t i = 0; i < N; i++) {
        clients[i] = client_connect(door->address);
        client_send(&clients[i], request, sizeof request - 1);
    }
    fake_wait_looking(door->engine, 4);
    for (size_t i = 0; i < N; i += 3) {
        client_close(&clients[i]);
    }
    expect(door, "POST", "/write?db=a", "", "m v=1 30000\n", 204); /* holds up no other */
    assert_int_equal(pthread_create(&thread, NULL, stop_at_once, door), 0);
    fake_hold_looks(door->engine, false);
    pthread_join(thread, NULL);
    door->http = NULL;
    for (size_t i = 0; i < N; i++) {
        if (i % 3 != 0) {
            client_close(&clients[i]);
        }
    }
    struct fake_seen seen = fake_look(door->engine);
    assert_int_equal(seen.staged + seen.refused, seen.received);
}

/* Only the last batch of a request waits for the store; where all is handed in already, one without
 * points does. */
static void test_answers_that_wait_for_the_store(void **state)
{
    struct door *door = *state;
    static const char *const targets[] = {
        "/write?db=a&ack=", "/api/v2/write?bucket=a&ack=", "/api/v1/points?tenant=a&ack="};
    static const char point[] = "[{\"measurement\":\"m\",\"time\":1,\"fields\":{\"t\":1}}]";
    char target[64];
    for (size_t i = 0; i < 3; i++) {
        const char *body = i == 2 ? point : "m t=1 1\n";
        snprintf(target, sizeof target, "%sstore", targets[i]);
        expect(door, "POST", target, "", body, 204);
        assert_int_equal(fake_look(door->engine).batches_to_store, i + 1);
        snprintf(target, sizeof target, "%sjournal", targets[i]);
        expect(door, "POST", target, "", body, 204);
        assert_int_equal(fake_look(door->engine).batches_to_store, i + 1);
        snprintf(target, sizeof target, "%smemory", targets[i]);
        struct response response = ask(door, "POST", target, "", body, 400);
        assert_contains(response.body, "ack is 'memory'; allowed: journal, store");
        response_free(&response);
    }
    expect(door, "POST", "/write?db=a&ack=store", "", "\n", 204); /* nothing to wait for */
    assert_int_equal(fake_look(door->engine).batches_to_store, 3);
    strcpy(door->settings.ack_kind, "store");
    door->settings.batch_bytes_max = BATCH_BYTES_MAX;
    door_reopen(door);
    expect(door, "POST", "/write?db=a&ack=journal", "", LINE, 204);
    assert_int_equal(fake_look(door->engine).batches_to_store, 3);
    struct vv_buffer text = lines(LONG_LINES);
    check_long_body(door, "", &text);
    assert_int_equal(fake_look(door->engine).batches_to_store, 4);
    assert_int_equal(fake_look(door->engine).batches_empty, 0);
    vv_buffer_deinit(&text);
}

/* How many of these lines it takes until a batch is full. */
static size_t lines_to_fill(struct door *door, size_t bytes_max)
{
    struct vv_staging staging;
    struct vv_line_parser *parser;
    size_t n = 0;
    assert_int_equal(vv_engine_stage(door->engine, VV_STR_LITERAL("a"), &staging, NULL), VV_OK);
    assert_int_equal(vv_line_parser_create(&staging, 1, &parser), VV_OK);
    while (!staging.batch || staging.batch->bytes < bytes_max) {
        struct vv_buffer text = {0};
        vv_buffer_format(&text, "pump,unit=%zu a=%zu.5,b=%zui %zu\n", n % 50, n, n, n + 1);
        assert_int_equal(vv_line_parser_feed(parser, (char *)text.data, text.size), VV_OK);
        vv_buffer_deinit(&text);
        n++;
    }
    vv_line_parser_destroy(parser);
    vv_staging_deinit(&staging);
    return n;
}

/* The last line that has points fills the batch, and so it is handed in before the body's end. */
static void test_a_last_batch_without_points_waits_for_the_store(void **state)
{
    struct door *door = *state;
    door->settings.batch_bytes_max = BATCH_BYTES_MAX;
    door_reopen(door);
    size_t n = lines_to_fill(door, BATCH_BYTES_MAX);
    struct vv_buffer text = lines(n);
    for (int i = 0; i < 100000; i++) {
        vv_buffer_text(&text, "# nothing\n");
    }
    struct response response =
        client_request(door->address, "POST", "/write?db=a&ack=store", "", text.data, text.size);
    assert_int_equal(response.code, 204);
    char points[32];
    snprintf(points, sizeof points, "%zu", 2 * n);
    assert_header(&response, "X-Varve-Accepted", points);
    response_free(&response);
    struct fake_seen seen = fake_look(door->engine);
    assert_int_equal(seen.batches, 2);
    assert_int_equal(seen.batches_to_store, 1);
    assert_int_equal(seen.batches_empty, 1);
    vv_buffer_deinit(&text);
}

/* A later batch fails: the answer says how much was stored before, and comes although the client
 * is still sending. */
static void test_failure_in_the_middle(void **state)
{
    struct door *door = *state;
    door->settings.batch_bytes_max = BATCH_BYTES_MAX;
    door_reopen(door);
    struct vv_buffer text = lines(LONG_LINES);
    atomic_store(&door->engine->fail_from, 2);
    atomic_store(&door->engine->outcome, VV_OVERLOAD);
    struct response response =
        client_request(door->address, "POST", "/write?db=a", "", text.data, text.size);
    assert_int_equal(response.code, 503);
    char expected[64];
    snprintf(expected, sizeof expected, "\"accepted\":%zu",
             (size_t)fake_look(door->engine).points_stored);
    assert_contains(response.body, expected);
    assert_contains(response.body, "points were stored before");
    response_free(&response);
    fake_wait_accounts(door->engine, 1);
    struct fake_seen seen = fake_look(door->engine);
    /* What was staged and never handed in was not received. */
    assert_int_equal(seen.staged, seen.received);
    vv_buffer_deinit(&text);
}

static void test_damaged_gzip(void **state)
{
    struct door *door = *state;
    struct vv_buffer text = lines(1000);
    struct vv_buffer packed = gzipped(text.data, text.size);
    struct response response =
        client_request(door->address, "POST", "/write?db=a", "Content-Encoding: gzip\r\n",
                       packed.data, packed.size / 2);
    assert_int_equal(response.code, 400);
    assert_contains(response.body, "ends before its end");
    json_t *root = json_loads(response.body, 0, NULL);
    uint64_t accepted = (uint64_t)json_integer_value(json_object_get(root, "accepted"));
    assert_true(accepted > 0 && accepted < 2000 && accepted % 2 == 0);
    assert_int_equal(accepted, fake_look(door->engine).points_stored);
    json_decref(root);
    response_free(&response);
    expect(door, "POST", "/write?db=a", "Content-Encoding: gzip\r\n", "this is no gzip\n", 400);
    expect(door, "POST", "/write?db=a", "Content-Encoding: zstd\r\n", "this is no zstd\n", 400);
    vv_buffer_deinit(&text);
    vv_buffer_deinit(&packed);
}

/* A body that inflates without end is given up, in bounded memory. */
static void test_gzip_bomb(void **state)
{
    struct door *door = *state;
    door->settings.http_body_bytes_max = 65536;
    door_reopen(door);
    size_t size = 4u << 20;
    char *text = malloc(size);
    memset(text, '\n', size);
    struct vv_buffer packed = gzipped(text, size);
    assert_true(packed.size < 65536);
    struct response response =
        client_request(door->address, "POST", "/write?db=a", "Content-Encoding: gzip\r\n",
                       packed.data, packed.size);
    assert_int_equal(response.code, 413);
    assert_contains(response.body, "decoded body");
    response_free(&response);
    free(text);
    vv_buffer_deinit(&packed);
}

static void test_early_close_stores_whole_lines_only(void **state)
{
    struct door *door = *state;
    door->settings.http_idle_ns_max = VV_SECOND; /* libmicrohttpd may notice only then */
    door_reopen(door);
    struct client client = client_connect(door->address);
    static const char part[] =
        "POST /write?db=a HTTP/1.1\r\nHost: t\r\nContent-Length: 1000\r\n\r\n"
        "pump v=1 1\npump v=2";
    client_send(&client, part, sizeof part - 1);
    client_close(&client);
    check_accounts(door, 1, 0, 0); /* nothing was handed in: nothing was received */
    assert_int_equal(fake_look(door->engine).batches, 0);
}

static void test_pipelined_requests(void **state)
{
    struct door *door = *state;
    struct client client = client_connect(door->address);
    struct vv_buffer requests = {0};
    for (int i = 0; i < 50; i++) {
        vv_buffer_format(&requests,
                         "POST /write?db=a HTTP/1.1\r\nHost: t\r\nContent-Length: %zu\r\n\r\n%s"
                         "GET /ping HTTP/1.1\r\nHost: t\r\n\r\n",
                         strlen(LINE), LINE);
    }
    client_send(&client, requests.data, requests.size);
    for (int i = 0; i < 100; i++) {
        struct response response = client_receive(&client, true);
        assert_int_equal(response.code, 204);
        response_free(&response);
    }
    assert_int_equal(fake_look(door->engine).points_stored, 50);
    vv_buffer_deinit(&requests);
    client_close(&client);
}

/* Many writes wait for one commit: no thread is held by any of them. */
static void test_writes_wait_without_threads(void **state)
{
    struct door *door = *state;
    enum { MANY = 100 };
    static struct client clients[MANY];
    fake_set_mode(door->engine, FAKE_HELD);
    static const char request[] =
        "POST /write?db=a HTTP/1.1\r\nHost: t\r\nContent-Length: 9\r\n\r\npump v=1\n";
    for (int i = 0; i < MANY; i++) {
        clients[i] = client_connect(door->address);
        client_send(&clients[i], request, sizeof request - 1);
    }
    fake_wait_waiting(door->engine, MANY);
    expect(door, "GET", "/ping", "", NULL, 204);
    fake_set_mode(door->engine, FAKE_LATER);
    for (int i = 0; i < MANY; i++) {
        struct response response = client_receive(&clients[i], true);
        assert_int_equal(response.code, 204);
        response_free(&response);
        client_close(&clients[i]);
    }
    check_accounts(door, MANY, MANY, 0);
}

/* The server stops while the engine has no outcome: the answer says unknown, and the outcome may
 * come when the door is gone. */
static void test_stop_while_a_write_waits(void **state)
{
    struct door *door = *state;
    fake_set_mode(door->engine, FAKE_HELD);
    struct client client = client_connect(door->address);
    static const char request[] =
        "POST /write?db=a HTTP/1.1\r\nHost: t\r\nContent-Length: 9\r\n\r\npump v=1\n";
    client_send(&client, request, sizeof request - 1);
    fake_wait_waiting(door->engine, 1);
    vv_http_stop(door->http, 0);
    door->http = NULL;
    struct response response = client_receive(&client, true);
    assert_int_equal(response.code, 500);
    assert_contains(response.body, "outcome_unknown");
    assert_header(&response, "Connection", "close");
    response_free(&response);
    client_close(&client);
}

static void *stop_door(void *context)
{
    struct door *door = context;
    vv_http_stop(door->http, 60 * VV_SECOND);
    return NULL;
}

/* What is under way is finished within the grace; new connections are refused. */
static void test_stop_waits_for_what_is_under_way(void **state)
{
    struct door *door = *state;
    fake_set_mode(door->engine, FAKE_HELD);
    struct client client = client_connect(door->address);
    static const char request[] =
        "POST /write?db=a HTTP/1.1\r\nHost: t\r\nContent-Length: 9\r\n\r\npump v=1\n";
    client_send(&client, request, sizeof request - 1);
    fake_wait_waiting(door->engine, 1);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, stop_door, door), 0);
    fake_set_mode(door->engine, FAKE_LATER);
    struct response response = client_receive(&client, true);
    assert_int_equal(response.code, 204);
    response_free(&response);
    client_close(&client);
    pthread_join(thread, NULL);
    door->http = NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        door_test(test_stores_and_answers_204),
        door_test(test_bodies_without_points),
        door_test(test_parameters),
        door_test(test_rows_in_doubt_are_decided_on),
        door_test(test_what_can_not_be_decided_fails_as_a_whole),
        door_test(test_who_waits_for_a_decision_can_be_stopped),
        door_test(test_refusals_are_listed),
        door_test(test_lenient_refusals_are_a_header),
        door_test(test_json_points),
        door_test(test_outcomes),
        door_test(test_admission_comes_before_the_body),
        door_test(test_refused_large_body_gets_its_answer),
        door_test(test_chunked_bodies),
        door_test(test_chunked_body_beyond_its_limit),
        door_test(test_long_bodies_become_batches),
        door_test(test_answers_that_wait_for_the_store),
        door_test(test_a_last_batch_without_points_waits_for_the_store),
        door_test(test_failure_in_the_middle),
        door_test(test_damaged_gzip),
        door_test(test_gzip_bomb),
        door_test(test_early_close_stores_whole_lines_only),
        door_test(test_pipelined_requests),
        door_test(test_writes_wait_without_threads),
        door_test(test_stop_while_a_write_waits),
        door_test(test_stop_waits_for_what_is_under_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
