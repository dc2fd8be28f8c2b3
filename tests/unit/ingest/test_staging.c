/* SPDX-License-Identifier: Apache-2.0 */
/* Staging on its own: bounds on times, the account, definitions, limits, what it remembers. */
#include "ingest_fixture.h"

#include "ingest/staging_private.h"
#include "model/partition.h"
#include "simulation/sim_memory.h"

#define HOUR INT64_C(3600000000000)

static struct vv_str str(const char *text)
{
    return vv_str_of(text);
}

/* One row of one float field, of the measurement without tags. */
static void stage(struct ingest_fixture *fixture, const char *measurement, const char *field,
                  double value, int64_t time)
{
    struct vv_staging *staging = &fixture->staging;
    if (!vv_staging_begin(staging, str(measurement), staging->lines + 1)) {
        vv_staging_identify(staging, str(measurement), NULL, 0);
    }
    vv_staging_float(staging, str(field), value, 7);
    vv_staging_end(staging, time);
}

/* ---- times ---- */

static enum vv_reason reason_of_time(struct ingest_fixture *fixture, int64_t time)
{
    fixture_begin(fixture);
    stage(fixture, "m", "f", 1, time);
    struct vv_staging account = fixture_finish(fixture);
    assert_int_equal(account.points_received, 1);
    return account.n_refusals ? account.refusals[0].reason : VV_REASON_COUNT;
}

static void test_time_bounds(void **state)
{
    (void)state;
    struct ingest_fixture fixture;
    fixture_init(&fixture);
    int64_t now = fixture.options.now_ns;
    assert_int_equal(reason_of_time(&fixture, now + HOUR), VV_REASON_COUNT);
    assert_int_equal(reason_of_time(&fixture, now + HOUR + 1), VV_REASON_FUTURE);
    assert_int_equal(reason_of_time(&fixture, INT64_MAX), VV_REASON_FUTURE);
    assert_int_equal(reason_of_time(&fixture, VV_TIME_MIN), VV_REASON_COUNT);
    assert_int_equal(reason_of_time(&fixture, VV_TIME_MIN - 1), VV_REASON_PAST);
    assert_int_equal(reason_of_time(&fixture, INT64_MIN), VV_REASON_PAST);
    fixture.options.past_ns_max = 10 * HOUR;
    assert_int_equal(reason_of_time(&fixture, now - 10 * HOUR), VV_REASON_COUNT);
    assert_int_equal(reason_of_time(&fixture, now - 10 * HOUR - 1), VV_REASON_PAST);
    fixture.options.retention_ns = 5 * HOUR;
    assert_int_equal(reason_of_time(&fixture, now - 5 * HOUR), VV_REASON_COUNT);
    assert_int_equal(reason_of_time(&fixture, now - 5 * HOUR - 1), VV_REASON_RETENTION);
    assert_int_equal(reason_of_time(&fixture, now - 10 * HOUR - 1), VV_REASON_PAST);
    fixture.options.late_ns_max = HOUR;
    assert_int_equal(reason_of_time(&fixture, now - HOUR), VV_REASON_COUNT);
    assert_int_equal(reason_of_time(&fixture, now - HOUR - 1), VV_REASON_LATE);
    assert_int_equal(reason_of_time(&fixture, now - 5 * HOUR), VV_REASON_LATE);
    assert_int_equal(reason_of_time(&fixture, now - 5 * HOUR - 1), VV_REASON_RETENTION);
    fixture.options.retention_ns = 0;
    assert_int_equal(reason_of_time(&fixture, now - 5 * HOUR - 1), VV_REASON_LATE);
    fixture.options.late_ns_max = 0;
    fixture.options.past_ns_max = INT64_MAX;
    fixture.options.retention_ns = INT64_MAX;
    fixture.options.future_ns_max = INT64_MAX;
    assert_int_equal(reason_of_time(&fixture, VV_TIME_MAX), VV_REASON_COUNT);
    assert_int_equal(reason_of_time(&fixture, VV_TIME_MAX + 1), VV_REASON_FUTURE);
    assert_int_equal(reason_of_time(&fixture, -INT64_MAX + now), VV_REASON_COUNT);
    fixture_deinit(&fixture);
}

/* A time out of bounds refuses each field of the row, and makes nothing in the registry. */
static void test_time_refuses_all_fields(void **state)
{
    (void)state;
    struct ingest_fixture fixture;
    fixture_init(&fixture);
    fixture_begin(&fixture);
    struct vv_staging *staging = &fixture.staging;
    assert_false(vv_staging_begin(staging, str("m"), 1));
    vv_staging_identify(staging, str("m"), NULL, 0);
    vv_staging_float(staging, str("a"), 1, 1);
    vv_staging_int(staging, str("b"), 1, 1);
    vv_staging_refuse_field(staging, str("s"), VV_REASON_STRING, 1);
    vv_staging_float(staging, str("a"), 2, 1);
    vv_staging_end(staging, INT64_MAX);
    struct vv_staging account = fixture_finish(&fixture);
    assert_int_equal(account.refused[VV_REASON_FUTURE], 3);
    assert_int_equal(account.points_received, 3);
    assert_int_equal(account.n_refusals, 1);
    uint32_t number = 0;
    assert_int_equal(vv_registry_measurement(fixture.registry, fixture.options.tenant, str("m"),
                                             false, &number, NULL),
                     VV_NOT_FOUND);
    fixture_deinit(&fixture);
}

/* ---- what is left of a row ---- */

/* Hours that are odd are frozen. */
struct looks {
    int n;
    enum vv_status status;
};

static enum vv_status look(void *context, struct vv_staging_frozen *asked, struct vv_error *error)
{
    struct looks *looks = context;
    looks->n++;
    asked->from = vv_time_floor(asked->time, HOUR);
    asked->to = asked->from + HOUR;
    asked->is_frozen = asked->from / HOUR % 2 != 0;
    return looks->status == VV_OK ? VV_OK : vv_error_set(error, looks->status, "it is away");
}

static void begin_looking(struct ingest_fixture *fixture, struct looks *looks)
{
    fixture_init(fixture);
    fixture->options.frozen_before = 10 * HOUR;
    fixture->options.look = look;
    fixture->options.look_context = looks;
    fixture_begin(fixture);
}

static void test_frozen_spans_are_looked_up_once(void **state)
{
    (void)state;
    struct ingest_fixture fixture;
    struct looks looks = {.status = VV_OK};
    begin_looking(&fixture, &looks);
    for (int i = 0; i < 60; i++) {
        stage(&fixture, "m", "f", i, HOUR + i);     /* frozen */
        stage(&fixture, "n", "g", i, 4 * HOUR + i); /* not */
        stage(&fixture, "o", "h", i, 11 * HOUR + i);
    }
    assert_int_equal(looks.n, 0); /* who parses does not wait */
    assert_true(vv_staging_is_in_doubt(&fixture.staging));
    assert_int_equal(fixture.staging.points_received, 60);
    vv_staging_decide(&fixture.staging);
    assert_int_equal(looks.n, 2);
    assert_false(vv_staging_is_in_doubt(&fixture.staging));
    stage(&fixture, "m", "f", 1, 2 * HOUR);
    stage(&fixture, "m", "f", 1, 10 * HOUR - 1);
    vv_staging_decide(&fixture.staging);
    assert_int_equal(looks.n, 4);
    struct vv_staging account = fixture_finish(&fixture);
    assert_int_equal(account.refused[VV_REASON_RETENTION], 61);
    assert_int_equal(account.points_received, 3 * 60 + 2);
    assert_int_equal(account.points_staged, 2 * 60 + 1);
    assert_string_equal(account.refusals[0].detail,
                        "time 1970-01-01T01:00:00Z lies in a frozen span: what tiers have of it "
                        "was built of points that have expired since");
    fixture_deinit(&fixture);
}

/* Whatever their fields are, and wherever the parser is in a line when it is decided. */
static void test_rows_in_doubt_are_staged_as_they_came(void **state)
{
    (void)state;
    static const char text[] = "m f=1,g=2i,h=3 7200000000000\n"
                               "m g=5i,f=4 7200000000001\n"
                               "m f=1 3600000000000\n" /* frozen */
                               "m h=6,f=7,g=8i 7200000000000\n"
                               "m f=9,h=10 39600000000000\n"
                               "m f=1,g=2i 3600000000000\n"; /* frozen */
    for (size_t cut = 0; cut < sizeof text; cut++) {
        struct ingest_fixture fixture;
        struct vv_line_parser *parser;
        struct looks looks = {.status = VV_OK};
        begin_looking(&fixture, &looks);
        assert_int_equal(vv_line_parser_create(&fixture.staging, 1, &parser), VV_OK);
        assert_int_equal(vv_line_parser_feed(parser, text, cut), VV_OK);
        vv_staging_decide(&fixture.staging);
        fixture_take(&fixture);
        assert_int_equal(vv_line_parser_feed(parser, text + cut, sizeof text - 1 - cut), VV_OK);
        assert_int_equal(vv_line_parser_finish(parser), VV_OK);
        assert_true(cut > 0 || vv_staging_bytes(&fixture.staging) > 5 * 40);
        vv_staging_decide(&fixture.staging);
        struct vv_staging account = fixture_finish(&fixture);
        vv_line_parser_destroy(parser);
        assert_int_equal(account.points_staged, 10);
        assert_string_equal(fixture_refusals(&fixture), "3:0 retention\n6:0 retention\n");
        static const char *const rows[] = {
            "m|-|m.f=1 m.g=2i m.h=3|7200000000000\n", "m|-|m.f=4 m.g=5i|7200000000001\n",
            "m|-|m.f=7 m.g=8i m.h=6|7200000000000\n", "m|-|m.f=9 m.h=10|39600000000000\n"};
        for (size_t i = 0; i < 4; i++) {
            assert_non_null(strstr(fixture_rows(&fixture), rows[i]));
        }
        assert_true(strstr(fixture_rows(&fixture), rows[0]) <
                    strstr(fixture_rows(&fixture), rows[2])); /* the later one wins */
        fixture_deinit(&fixture);
    }
}

static void test_what_is_in_doubt_can_be_forgotten(void **state)
{
    (void)state;
    struct ingest_fixture fixture;
    struct looks looks = {.status = VV_OK};
    begin_looking(&fixture, &looks);
    stage(&fixture, "m", "f", 1, 2 * HOUR);
    stage(&fixture, "m", "f", 1, 11 * HOUR);
    vv_staging_forget_doubt(&fixture.staging);
    vv_staging_decide(&fixture.staging);
    struct vv_staging account = fixture_finish(&fixture);
    assert_int_equal(looks.n, 0);
    assert_int_equal(account.points_received, 1);
    fixture_deinit(&fixture);
}

/* Nothing is taken, and nothing refused for good, for a store that can't be read now. */
static void test_a_look_that_fails_fails_the_request(void **state)
{
    (void)state;
    struct ingest_fixture fixture;
    struct looks looks = {.status = VV_IO};
    begin_looking(&fixture, &looks);
    stage(&fixture, "m", "f", 1, 11 * HOUR);
    stage(&fixture, "m", "f", 1, 2 * HOUR);
    stage(&fixture, "m", "f", 2, 3 * HOUR);
    vv_staging_decide(&fixture.staging);
    assert_true(fixture.staging.out_of_memory);
    assert_non_null(strstr(fixture.staging.failure.message, "it is away"));
    assert_int_equal(looks.n, 1);
    struct vv_staging account = fixture_finish(&fixture);
    assert_int_equal(account.refused[VV_REASON_OVERLOAD], 2);
    assert_int_equal(account.points_received, 3);
    assert_int_equal(account.points_staged, 1);
    fixture_deinit(&fixture);
}

static void test_malformed_line_leaves_no_trace(void **state)
{
    (void)state;
    struct ingest_fixture fixture;
    fixture_init(&fixture);
    const char *text = "m,t=a f=1,g=2,h=x 1\nm,t=b s=\"only a string\" 2\n";
    fixture_lines(&fixture, text, strlen(text), SIZE_MAX, 0, 1);
    uint32_t number = 0;
    assert_int_equal(vv_registry_measurement(fixture.registry, fixture.options.tenant, str("m"),
                                             false, &number, NULL),
                     VV_NOT_FOUND);
    assert_int_equal(vv_registry_source_count(fixture.registry), 0);
    fixture_deinit(&fixture);
}

static void test_limits_of_the_registry(void **state)
{
    (void)state;
    struct ingest_fixture fixture;
    fixture_init(&fixture);
    vv_registry_destroy(fixture.registry);
    struct vv_registry_options options = {
        .tenants_max = 1, .sources_max = 2, .metrics_max = 4, .cache_bytes = 1 << 16};
    assert_int_equal(vv_registry_create(&options, &fixture.registry), VV_OK);
    fixture.options.registry = fixture.registry;
    assert_int_equal(
        vv_registry_tenant(fixture.registry, str("t"), true, &fixture.options.tenant, NULL), VV_OK);
    const char *text = "m,t=a f=1,g=2 1\n" /* three of four names, one of two sources */
                       "m,t=b f=1,g=2 2\n"
                       "m,t=c f=1,g=2 3\n"              /* no source is left: two points */
                       "m,t=a f=1,h=2,i=3,j=4,g=5 4\n"; /* i and j do not fit */
    struct vv_staging account = fixture_lines(&fixture, text, strlen(text), SIZE_MAX, 0, 1);
    assert_int_equal(account.points_received, 11);
    assert_int_equal(account.refused[VV_REASON_LIMIT], 4);
    assert_string_equal(fixture_refusals(&fixture), "3:1 limit\n4:15 limit\n4:19 limit\n");
    assert_int_equal(account.lines_refused, 1);
    assert_non_null(strstr(account.refusals[1].detail, "field 'i'"));
    fixture_deinit(&fixture);
}

/* A run has no room for more: one that had them could never be flushed. */
static void test_no_more_fields_of_a_measurement_than_fit(void **state)
{
    (void)state;
    struct ingest_fixture fixture;
    uint32_t measurement;
    fixture_init(&fixture);
    assert_int_equal(vv_registry_measurement(fixture.registry, fixture.options.tenant, str("m"),
                                             true, &measurement, NULL),
                     VV_OK);
    for (unsigned i = 0; i < VV_BLOCK_COLUMNS_MAX - 1; i++) {
        char field[16];
        uint32_t metric;
        enum vv_value_type type;
        snprintf(field, sizeof field, "f%u", i);
        assert_int_equal(vv_registry_metric(fixture.registry, measurement, str(field), VV_FLOAT64,
                                            true, &metric, &type, NULL),
                         VV_OK);
    }
    const char *text = "m,t=a f0=1,last=2,beyond=3 1\n"
                       "m,t=b last=2 2\n"
                       "n,t=b beyond=2 3\n";
    struct vv_staging account = fixture_lines(&fixture, text, strlen(text), SIZE_MAX, 0, 1);
    assert_int_equal(account.refused[VV_REASON_LIMIT], 1);
    assert_non_null(strstr(account.refusals[0].detail, "has 4096 fields"));
    /* Other nodes may have told of more. */
    uint32_t metric;
    enum vv_value_type type;
    assert_int_equal(vv_registry_metric(fixture.registry, measurement, str("told"), VV_FLOAT64,
                                        true, &metric, &type, NULL),
                     VV_OK);
    text = "m,t=a f1=1,told=2 4\n";
    account = fixture_lines(&fixture, text, strlen(text), SIZE_MAX, 0, 1);
    assert_int_equal(account.refused[VV_REASON_LIMIT], 1);
    assert_int_equal(account.points_received, 2);
    fixture_deinit(&fixture);
}

static void test_name_taken_by_another_measurement(void **state)
{
    (void)state;
    struct ingest_fixture fixture;
    fixture_init(&fixture);
    const char *text = "a.b c=1 1\na b.c=1,d=2 2\n";
    fixture_lines(&fixture, text, strlen(text), SIZE_MAX, 0, 1);
    assert_string_equal(fixture_rows(&fixture), "a.b|-|a.b.c=1|1\na|-|a.d=2|2\n");
    assert_string_equal(fixture_refusals(&fixture), "2:3 name\n");
    fixture_deinit(&fixture);
}

/* A new request finds out what types the metrics have when its first row ends. */
static void test_types_of_earlier_requests(void **state)
{
    (void)state;
    struct ingest_fixture fixture;
    fixture_init(&fixture);
    const char *first = "m i=1i,f=1 1\n";
    fixture_lines(&fixture, first, strlen(first), SIZE_MAX, 0, 1);
    const char *second = "m i=1.5,f=9007199254740993i,g=1 2\nm i=2i,f=3i,g=2i 3\nm i=1 4\n";
    fixture_lines(&fixture, second, strlen(second), SIZE_MAX, 0, 1);
    assert_string_equal(fixture_rows(&fixture), "m|-|m.g=1|2\nm|-|m.i=2i m.f=3 m.g=2|3\n");
    assert_string_equal(fixture_refusals(&fixture), "1:3 type\n1:9 type\n3:3 type\n");
    fixture_deinit(&fixture);
}

static void test_field_refused_for_any_reason(void **state)
{
    (void)state;
    struct ingest_fixture fixture;
    fixture_init(&fixture);
    fixture_begin(&fixture);
    struct vv_staging *staging = &fixture.staging;
    assert_false(vv_staging_begin(staging, str(""), 5));
    vv_staging_identify(staging, str("m"), NULL, 0);
    vv_staging_bool(staging, str("b"), true, 1);
    vv_staging_refuse_field(staging, str("f"), VV_REASON_LIMIT, 9);
    vv_staging_end_now(staging);
    struct vv_staging account = fixture_finish(&fixture);
    assert_string_equal(fixture_refusals(&fixture), "5:9 limit\n");
    assert_string_equal(account.refusals[0].detail, "field 'f' is refused");
    assert_int_equal(account.points_staged, 1);
    fixture_deinit(&fixture);
}

/* ---- frames ---- */

static void test_orders_share_a_frame(void **state)
{
    (void)state;
    struct ingest_fixture fixture;
    fixture_init(&fixture);
    fixture_begin(&fixture);
    struct vv_line_parser *parser = NULL;
    assert_int_equal(vv_line_parser_create(&fixture.staging, 1, &parser), VV_OK);
    const char *text = "m a=1,b=2,c=3 1\nm c=6,a=4,b=5 2\nm b=8,c=9,a=7 3\nn a=1 4\n"
                       "m a=1,b=2,c=3 5\n";
    assert_int_equal(vv_line_parser_feed(parser, text, strlen(text)), VV_OK);
    vv_line_parser_destroy(parser);
    struct vv_batch *batch = vv_staging_take_batch(&fixture.staging);
    assert_non_null(batch);
    assert_int_equal(batch->n_frames, 2);
    assert_int_equal(batch->frames[0].n_rows, 4);
    for (size_t row = 0; row < 3; row++) {
        for (size_t i = 0; i < 3; i++) {
            double value;
            memcpy(&value, &batch->frames[0].values[row * 3 + i], sizeof value);
            assert_true(value == (double)(row * 3 + i + 1));
        }
    }
    vv_batch_destroy(batch);
    vv_staging_deinit(&fixture.staging);
    fixture_deinit(&fixture);
}

/* More fields than the row's first memory, in changing order. */
static void test_wide_rows(void **state)
{
    (void)state;
    struct ingest_fixture fixture;
    fixture_init(&fixture);
    fixture.options.fields_max = 0; /* as many as a frame can have */
    fixture_begin(&fixture);
    struct vv_staging *staging = &fixture.staging;
    for (uint32_t row = 0; row < 3; row++) {
        if (!vv_staging_begin(staging, str("wide"), row + 1)) {
            vv_staging_identify(staging, str("wide"), NULL, 0);
        }
        for (uint32_t i = 0; i < VV_FRAME_METRICS_MAX; i++) {
            char name[16];
            snprintf(name, sizeof name, "f%u", row == 1 ? VV_FRAME_METRICS_MAX - 1 - i : i);
            vv_staging_int(staging, str(name), row, 1);
        }
        if (row == 2) {
            vv_staging_int(staging, str("one too many"), row, 1);
        }
        vv_staging_end(staging, row);
    }
    assert_int_equal(staging->points_staged, 2 * VV_FRAME_METRICS_MAX);
    assert_int_equal(staging->refused[VV_REASON_LIMIT], 1);
    assert_int_equal(staging->batch->n_frames, 1);
    fixture_finish(&fixture);
    fixture_deinit(&fixture);
}

/* ---- definitions ---- */

static size_t count_definitions(const struct vv_batch *batch, enum vv_registry_kind kind)
{
    size_t n = 0;
    for (size_t i = 0; i < batch->n_definitions; i++) {
        n += batch->definitions[i].kind == kind;
    }
    return n;
}

static void settle(struct vv_registry *registry, const struct vv_batch *batch)
{
    for (size_t i = 0; i < batch->n_definitions; i++) {
        struct vv_buffer record = {0};
        enum vv_registry_kind kind = (enum vv_registry_kind)batch->definitions[i].kind;
        uint64_t version =
            vv_registry_encode(registry, kind, batch->definitions[i].number, &record);
        assert_int_equal(vv_buffer_status(&record), VV_OK);
        vv_registry_settle(registry, kind, batch->definitions[i].number, version);
        vv_buffer_deinit(&record);
    }
}

static void expect_definitions(const struct vv_batch *batch, size_t tenants, size_t measurements,
                               size_t metrics, size_t sources)
{
    assert_non_null(batch);
    assert_int_equal(count_definitions(batch, VV_REGISTRY_TENANT), tenants);
    assert_int_equal(count_definitions(batch, VV_REGISTRY_MEASUREMENT), measurements);
    assert_int_equal(count_definitions(batch, VV_REGISTRY_METRIC), metrics);
    assert_int_equal(count_definitions(batch, VV_REGISTRY_SOURCE), sources);
    assert_int_equal(batch->n_definitions, tenants + measurements + metrics + sources);
}

/* Everything that is not in the journal is listed in each batch that uses it, cached or not. */
static void test_definitions_until_settled(void **state)
{
    (void)state;
    struct ingest_fixture fixture;
    fixture_init(&fixture);
    fixture_begin(&fixture);
    struct vv_line_parser *parser = NULL;
    assert_int_equal(vv_line_parser_create(&fixture.staging, 1, &parser), VV_OK);
    const char *text = "m,t=a f=1,g=2 1\nm,t=b f=1 2\nm,t=a f=1,g=2 3\n";
    for (int i = 0; i < 2; i++) {
        assert_int_equal(vv_line_parser_feed(parser, text, strlen(text)), VV_OK);
        struct vv_batch *batch = vv_staging_take_batch(&fixture.staging);
        expect_definitions(batch, 1, 1, 2, 2);
        if (i == 1) {
            settle(fixture.registry, batch);
        }
        vv_batch_destroy(batch);
    }
    text = "m,t=b f=1 2\nm,t=a f=1,g=2 3\nm,t=a h=1 4\n";
    assert_int_equal(vv_line_parser_feed(parser, text, strlen(text)), VV_OK);
    struct vv_batch *batch = vv_staging_take_batch(&fixture.staging);
    expect_definitions(batch, 0, 0, 1, 0);
    settle(fixture.registry, batch);
    vv_batch_destroy(batch);
    vv_registry_set_retention(fixture.registry, fixture.options.tenant, HOUR);
    assert_int_equal(vv_line_parser_feed(parser, text, strlen(text)), VV_OK);
    batch = vv_staging_take_batch(&fixture.staging);
    expect_definitions(batch, 1, 0, 0, 0);
    vv_batch_destroy(batch);
    vv_line_parser_destroy(parser);
    fixture_finish(&fixture);
    fixture_deinit(&fixture);
}

/* ---- refusals ---- */

static void refuse_string(struct vv_staging *staging, const char *field, uint64_t line)
{
    if (!vv_staging_begin(staging, str("m"), line)) {
        vv_staging_identify(staging, str("m"), NULL, 0);
    }
    vv_staging_refuse_field(staging, str(field), VV_REASON_STRING, 3);
    vv_staging_end_now(staging);
}

/* Each name once, and only as long as there is room. */
static void test_lenient_fields(void **state)
{
    (void)state;
    struct ingest_fixture fixture;
    fixture_init(&fixture);
    fixture_begin(&fixture);
    for (int round = 0; round < 3; round++) {
        refuse_string(&fixture.staging, "status", 1);
        refuse_string(&fixture.staging, "stat", 2);
        refuse_string(&fixture.staging, "us\x02\xc3", 3);
        refuse_string(&fixture.staging, "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", 4);
    }
    assert_string_equal(fixture.staging.lenient_fields,
                        "status,stat,us??,\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
    assert_int_equal(fixture.staging.n_refusals, 4);
    for (int i = 0; i < 60; i++) {
        char name[32];
        snprintf(name, sizeof name, "another_field_%d", i);
        refuse_string(&fixture.staging, name, 5);
    }
    assert_true(strlen(fixture.staging.lenient_fields) < sizeof fixture.staging.lenient_fields);
    assert_true(strlen(fixture.staging.lenient_fields) > 230);
    struct vv_staging account = fixture_finish(&fixture);
    assert_int_equal(account.refused[VV_REASON_STRING], 72);
    assert_int_equal(account.refused_strict, 0);
    fixture_deinit(&fixture);
}

/* The places for texts go to what makes the answer an error. */
static void test_strict_refusals_push_lenient_ones_out(void **state)
{
    (void)state;
    struct ingest_fixture fixture;
    fixture_init(&fixture);
    fixture_begin(&fixture);
    struct vv_staging *staging = &fixture.staging;
    for (uint64_t i = 0; i < 2 * VV_REFUSALS_KEPT; i++) {
        char name[16];
        snprintf(name, sizeof name, "s%d", (int)i);
        refuse_string(staging, name, i + 1);
    }
    assert_int_equal(staging->n_refusals, VV_REFUSALS_KEPT);
    vv_staging_refuse_line(staging, 100, 1, VV_REASON_SYNTAX, "first");
    refuse_string(staging, "later", 101);
    vv_staging_refuse_line(staging, 102, 1, VV_REASON_LIMIT, "second");
    assert_int_equal(staging->n_refusals, VV_REFUSALS_KEPT);
    assert_int_equal(staging->refusals[VV_REFUSALS_KEPT - 1].line, 102);
    assert_int_equal(staging->refusals[VV_REFUSALS_KEPT - 2].line, 100);
    assert_int_equal(staging->refusals[VV_REFUSALS_KEPT - 3].line, VV_REFUSALS_KEPT - 2);
    for (uint64_t i = 0; i < 40; i++) {
        vv_staging_refuse_line(staging, 200 + i, 1, VV_REASON_SYNTAX, "more");
    }
    assert_int_equal(staging->refusals[0].line, 100);
    assert_int_equal(staging->refusals[VV_REFUSALS_KEPT - 1].line, 200 + VV_REFUSALS_KEPT - 3);
    struct vv_staging account = fixture_finish(&fixture);
    assert_int_equal(account.refused[VV_REASON_SYNTAX], 41);
    fixture_deinit(&fixture);
}

/* Whatever bytes come, a text is well-formed, printable and cut at a character. */
static void test_texts_are_clean(void **state)
{
    (void)state;
    struct ingest_fixture fixture;
    fixture_init(&fixture);
    fixture_begin(&fixture);
    struct vv_staging *staging = &fixture.staging;
    vv_staging_refuse_line(staging, 1, 1, VV_REASON_SYNTAX,
                           "\x01\x7f\x80\xc0\xaf\xe0\x80\x80\xed\xa0\x80\xf4\x90\x80\x80\xf5"
                           "\xc2\x85 \xc3\xbc \xc3");
    assert_string_equal(staging->refusals[0].detail, "?????????????????? \xc3\xbc ?");
    char euros[400] = "";
    for (int i = 0; i < 100; i++) {
        strcat(euros, "\xe2\x82\xac");
    }
    vv_staging_refuse_line(staging, 2, 1, VV_REASON_SYNTAX, euros);
    assert_int_equal(strlen(staging->refusals[1].detail), 159 / 3 * 3);
    fixture_finish(&fixture);
    fixture_deinit(&fixture);
}

static void test_reason_names(void **state)
{
    (void)state;
    for (int a = 0; a < VV_REASON_COUNT; a++) {
        assert_true(strlen(vv_reason_name((enum vv_reason)a)) > 0);
        for (int b = 0; b < a; b++) {
            assert_string_not_equal(vv_reason_name((enum vv_reason)a),
                                    vv_reason_name((enum vv_reason)b));
        }
    }
}

/* ---- memory ---- */

/* Names without end in one request: what is remembered is bounded, and rows stay right. */
static void test_many_names(void **state)
{
    (void)state;
    struct ingest_fixture fixture;
    fixture_init(&fixture);
    fixture_begin(&fixture);
    struct vv_staging *staging = &fixture.staging;
    char name[512];
    memset(name, 'x', sizeof name);
    for (int i = 0; i < 30000; i++) {
        snprintf(name + 480, sizeof name - 480, "%d", i);
        refuse_string(staging, name, 1);
        stage(&fixture, "m", "f", i, i);
    }
    assert_int_equal(staging->points_staged, 30000);
    const struct vv_shapes *shapes = &staging->row->shapes;
    assert_true(shapes->bytes + shapes->names.bytes < (size_t)8 << 20);
    fixture_finish(&fixture);
    fixture_deinit(&fixture);
}

static void test_many_measurements(void **state)
{
    (void)state;
    struct ingest_fixture fixture;
    fixture_init(&fixture);
    fixture_begin(&fixture);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 3000; i++) {
            char name[32];
            snprintf(name, sizeof name, "measurement_%d", i);
            stage(&fixture, name, "f", i, 1);
        }
    }
    assert_int_equal(fixture.staging.points_staged, 6000);
    assert_int_equal(fixture.staging.batch->n_frames, 3000);
    fixture_finish(&fixture);
    fixture_deinit(&fixture);
}

static void test_init_without_memory(void **state)
{
    (void)state;
    struct ingest_fixture fixture;
    fixture_init(&fixture);
    for (uint64_t k = 1;; k++) {
        vv_sim_memory_fail(k);
        enum vv_status status = vv_staging_init(&fixture.staging, &fixture.options);
        if (!vv_sim_memory_failed()) {
            assert_int_equal(status, VV_OK);
            assert_int_equal(k, 8);
            vv_staging_deinit(&fixture.staging);
            break;
        }
        assert_int_equal(status, VV_NO_MEMORY);
        vv_staging_deinit(&fixture.staging); /* harmless */
    }
    fixture_deinit(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_time_bounds),
        cmocka_unit_test(test_time_refuses_all_fields),
        cmocka_unit_test(test_frozen_spans_are_looked_up_once),
        cmocka_unit_test(test_rows_in_doubt_are_staged_as_they_came),
        cmocka_unit_test(test_what_is_in_doubt_can_be_forgotten),
        cmocka_unit_test(test_a_look_that_fails_fails_the_request),
        cmocka_unit_test(test_malformed_line_leaves_no_trace),
        cmocka_unit_test(test_limits_of_the_registry),
        cmocka_unit_test(test_no_more_fields_of_a_measurement_than_fit),
        cmocka_unit_test(test_name_taken_by_another_measurement),
        cmocka_unit_test(test_types_of_earlier_requests),
        cmocka_unit_test(test_field_refused_for_any_reason),
        cmocka_unit_test(test_orders_share_a_frame),
        cmocka_unit_test(test_wide_rows),
        cmocka_unit_test(test_definitions_until_settled),
        cmocka_unit_test(test_lenient_fields),
        cmocka_unit_test(test_strict_refusals_push_lenient_ones_out),
        cmocka_unit_test(test_texts_are_clean),
        cmocka_unit_test(test_reason_names),
        cmocka_unit_test(test_many_names),
        cmocka_unit_test(test_many_measurements),
        cmocka_unit_test(test_init_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
