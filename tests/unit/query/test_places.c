/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a measurement's points lie is agreed on when the first of them are flushed, which may be
 * while they are read. No answer misses anything.
 */
#include "query_fixture.h"
#include "registry/shared.h"

#define POINTS 40

/* A store over the fixture's: at one of its calls the head is flushed, into the class. */
struct hooked {
    struct vv_store base;
    struct vv_store_ops ops;
    struct fixture f;
    uint32_t source;
    uint32_t metric;
    uint32_t measurement;
    uint32_t class;
    unsigned calls;
    unsigned flush_at; /* the call, before it … */
    bool after;        /* … or after it */
    bool flushed;
};

static vv_stamp stamp_of(void *context)
{
    const struct hooked *hooked = context;
    return hooked->f.stamp;
}

static void settle(struct hooked *hooked, uint32_t tenant)
{
    struct vv_buffer record = {0};
    struct vv_registry *registry = hooked->f.registry;
    uint64_t version = vv_registry_encode(registry, VV_REGISTRY_TENANT, tenant, &record);
    vv_registry_settle(registry, VV_REGISTRY_TENANT, tenant, version);
    vv_buffer_deinit(&record);
}

/* What a flush does with the first points. */
static void flush(struct hooked *hooked)
{
    assert_true(vv_registry_set_place(hooked->f.registry, hooked->measurement, hooked->class));
    fixture_flush(&hooked->f);
    hooked->flushed = true;
}

static void step(struct hooked *hooked, bool after)
{
    hooked->calls += !after;
    if (hooked->calls == hooked->flush_at && hooked->after == after) {
        flush(hooked);
    }
}

static enum vv_status read_hooked(struct vv_store *store, const struct vv_store_read *read,
                                  vv_piece_visit visit, void *context, struct vv_error *error)
{
    struct hooked *hooked = (struct hooked *)(void *)store;
    struct vv_store *inner = hooked->f.store;
    step(hooked, false);
    enum vv_status status = inner->ops->read(inner, read, visit, context, error);
    step(hooked, true);
    return status;
}

static enum vv_status nearest_hooked(struct vv_store *store, uint8_t region, uint32_t tenant,
                                     uint32_t source, int64_t start, bool forward,
                                     int64_t *start_out, struct vv_error *error)
{
    struct hooked *hooked = (struct hooked *)(void *)store;
    struct vv_store *inner = hooked->f.store;
    step(hooked, false);
    enum vv_status status =
        inner->ops->nearest(inner, region, tenant, source, start, forward, start_out, error);
    step(hooked, true);
    return status;
}

/* Points in the head of a measurement that is in no place yet, of a source that has others. */
static void begin(struct hooked *hooked)
{
    struct fixture *f = &hooked->f;
    *hooked = (struct hooked){0};
    fixture_init(f);
    vv_registry_share(f->registry, stamp_of, hooked);
    settle(hooked, f->tenant);
    assert_int_equal(vv_registry_make_class(f->registry, f->tenant, VV_STR_LITERAL("debug"),
                                            300 * VV_DAY, &hooked->class, NULL),
                     VV_OK);
    settle(hooked, hooked->class);
    hooked->source = fixture_source(f, "a", NULL);
    uint32_t other = fixture_metric(f, "other", "v", VV_FLOAT64);
    fixture_point(f, hooked->source, other, FIXTURE_NOW - 50 * VV_DAY, 0);
    fixture_flush(f);
    hooked->metric = fixture_metric(f, "m", "v", VV_FLOAT64);
    assert_int_equal(vv_registry_measurement(f->registry, f->tenant, VV_STR_LITERAL("m"), false,
                                             &hooked->measurement, NULL),
                     VV_OK);
    assert_false(vv_registry_is_placed(f->registry, hooked->measurement));
    for (int i = 0; i < POINTS; i++) {
        fixture_point(f, hooked->source, hooked->metric, FIXTURE_NOW - (POINTS - i) * VV_DAY, i);
    }
    hooked->ops.read = read_hooked;
    hooked->ops.nearest = nearest_hooked;
    hooked->base.ops = &hooked->ops;
    f->context.store = &hooked->base;
}

static void end(struct hooked *hooked)
{
    fixture_deinit(&hooked->f);
}

/* At each call, before it or after it, until none is left. */
static void check_flushes(enum vv_request_kind kind, const char *const *words, uint64_t rows)
{
    unsigned flushes = 0;
    for (unsigned call = 1;; call++) {
        struct hooked hooked;
        char *text;
        begin(&hooked);
        hooked.flush_at = (call + 1) / 2;
        hooked.after = call % 2 == 0;
        assert_int_equal(fixture_answer(&hooked.f, kind, words, 1, &text), VV_OK);
        if (hooked.f.facts.rows != rows) {
            fail_msg("flushed at call %u: %llu rows of %llu", call,
                     (unsigned long long)hooked.f.facts.rows, (unsigned long long)rows);
        }
        free(text);
        bool flushed = hooked.flushed;
        end(&hooked);
        if (!flushed) {
            break;
        }
        flushes++;
    }
    assert_true(flushes > 0);
}

static void points_that_are_placed_meanwhile_are_found(void **state)
{
    (void)state;
    check_flushes(VV_REQUEST_QUERY, WORDS("metric=m.v", "from=-60d", "limit=1000"), POINTS);
    check_flushes(VV_REQUEST_QUERY, WORDS("metric=m.v", "from=-60d", "limit=100000"), POINTS);
    check_flushes(VV_REQUEST_QUERY, WORDS("metric=m.v", "from=-60d", "limit=1000", "order=desc"),
                  POINTS);
    check_flushes(VV_REQUEST_EXPORT, WORDS("metric=m.v"), POINTS);
}

/* Its route was chosen by the place that it seemed to have. */
static void aggregates_of_what_is_placed_meanwhile_are_whole(void **state)
{
    (void)state;
    static const char *const words[] = {"tenant=t",  "metric=m.v", "from=-60d",
                                        "agg=count", "step=1d",    NULL};
    check_flushes(VV_REQUEST_QUERY, words, POINTS);
    for (int written = 0; written < 5; written++) {
        struct hooked hooked;
        struct vv_request *request;
        struct vv_result *result;
        struct vv_buffer buffer = {0};
        begin(&hooked);
        struct fixture *f = &hooked.f;
        assert_int_equal(fixture_request(f, VV_REQUEST_QUERY, words, &request), VV_OK);
        assert_int_equal(
            vv_result_open(&f->context, &f->limits, request, VV_FORMAT_JSON, &result, &f->error),
            VV_OK);
        enum vv_status status = VV_OK;
        for (int i = 0; status == VV_OK; i++) {
            if (i == written) {
                flush(&hooked);
            }
            status = vv_result_write(result, &buffer, 1, &f->error);
        }
        assert_int_equal(status, VV_DONE);
        vv_result_read_facts(result, &f->facts);
        assert_int_equal(f->facts.rows, POINTS);
        vv_result_close(result);
        vv_buffer_deinit(&buffer);
        end(&hooked);
    }
}

/* Points of which a class of five days keeps but a few. */
static void begin_old(struct hooked *hooked, const char *patterns)
{
    struct fixture *f = &hooked->f;
    *hooked = (struct hooked){0};
    fixture_init(f);
    vv_registry_share(f->registry, stamp_of, hooked);
    settle(hooked, f->tenant);
    assert_int_equal(vv_registry_make_class(f->registry, f->tenant, VV_STR_LITERAL("debug"),
                                            5 * VV_DAY, &hooked->class, NULL),
                     VV_OK);
    assert_int_equal(
        vv_registry_set_class_patterns(f->registry, hooked->class, vv_str_of(patterns), NULL),
        VV_OK);
    settle(hooked, hooked->class);
    vv_registry_set_class_ready(f->registry, hooked->class);
    hooked->source = fixture_source(f, "a", NULL);
    uint32_t other = fixture_metric(f, "other", "v", VV_FLOAT64);
    fixture_point(f, hooked->source, other, FIXTURE_NOW - 50 * VV_DAY, 0);
    fixture_flush(f);
    hooked->metric = fixture_metric(f, "m", "v", VV_FLOAT64);
    assert_int_equal(vv_registry_measurement(f->registry, f->tenant, VV_STR_LITERAL("m"), false,
                                             &hooked->measurement, NULL),
                     VV_OK);
    for (int i = 0; i < POINTS; i++) {
        fixture_point(f, hooked->source, hooked->metric, FIXTURE_NOW - (POINTS - i) * VV_DAY, i);
    }
}

/* Where it lies is learnt between the selection and the scan. Returns how many points are found. */
static int place_meanwhile(bool into_class)
{
    struct hooked hooked;
    struct vv_request *request;
    struct vv_result *result;
    struct vv_buffer buffer = {0};
    begin_old(&hooked, into_class ? "" : "m\n");
    struct fixture *f = &hooked.f;
    uint32_t wished = vv_registry_first_place(f->registry, hooked.measurement);
    assert_int_equal(wished, into_class ? f->tenant : hooked.class);
    static const char *const words[] = {"tenant=t", "metric=m.v", "from=-60d", "limit=1000", NULL};
    assert_int_equal(fixture_request(f, VV_REQUEST_QUERY, words, &request), VV_OK);
    assert_int_equal(
        vv_result_open(&f->context, &f->limits, request, VV_FORMAT_JSON, &result, &f->error),
        VV_OK);
    assert_true(vv_registry_set_place(f->registry, hooked.measurement,
                                      into_class ? hooked.class : f->tenant));
    fixture_flush(f);
    enum vv_status status = VV_OK;
    while (status == VV_OK) {
        status = vv_result_write(result, &buffer, 1, &f->error);
    }
    assert_int_equal(status, VV_DONE);
    vv_result_read_facts(result, &f->facts);
    int rows = (int)f->facts.rows;
    vv_result_close(result);
    vv_buffer_deinit(&buffer);
    end(&hooked);
    return rows;
}

static void what_turns_out_to_be_kept_longer_is_all_there(void **state)
{
    (void)state;
    assert_int_equal(place_meanwhile(false), POINTS);
}

static void what_turns_out_to_be_kept_shorter_is_hidden(void **state)
{
    (void)state;
    int rows = place_meanwhile(true);
    assert_true(rows > 0 && rows <= 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_turns_out_to_be_kept_longer_is_all_there),
        cmocka_unit_test(what_turns_out_to_be_kept_shorter_is_hidden),
        cmocka_unit_test(points_that_are_placed_meanwhile_are_found),
        cmocka_unit_test(aggregates_of_what_is_placed_meanwhile_are_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
