/* SPDX-License-Identifier: Apache-2.0 */
/* Months of hours are answered from volumes, and as from records and raw points. */
#include "tier_place.h"

#include "seal/volumes.h"

#define BUCKET_NS (28 * VV_DAY)
#define FIRST     710 /* bucket of 2024-06-06; buckets of so many days */
#define WORDS_MAX 24

static int64_t bucket(int n)
{
    return (FIRST + n) * BUCKET_NS;
}

/* Points and records of days of a bucket. */
static void fill_metric(struct place *p, int metric, int n, int from, int to)
{
    write_series(p, 0, metric, bucket(n) + from * VV_DAY, bucket(n) + to * VV_DAY, 15 * VV_MINUTE);
    fixture_flush(&p->f);
}

static void build_days(struct place *p, int n, int from, int to)
{
    tiers_build(&p->t, p->sources[0], p->press, VV_SPACE_HOUR, bucket(n) + from * VV_DAY,
                bucket(n) + to * VV_DAY);
}

static void fill(struct place *p, int n, int from, int to)
{
    fill_metric(p, 0, n, from, to);
    fill_metric(p, 1, n, from, to);
    build_days(p, n, from, to);
}

static struct vv_span_key volume_key(const struct place *p, int n)
{
    struct vv_span_key unit =
        vv_unit_key(VV_SPACE_HOUR, p->t.spaces[VV_SPACE_HOUR], p->sources[0], p->press, bucket(n));
    return vv_volume_key(&unit);
}

/* Makes the volume of a bucket of what its records have. */
static void bind(struct place *p, int n)
{
    struct vv_rollup *rollup;
    struct vv_piece_list blocks = {0};
    struct vv_store *store = p->f.store;
    const struct vv_mark mark = {.key = volume_key(p, n), .span_ns = BUCKET_NS};
    assert_int_equal(vv_rollup_create(0, &rollup), VV_OK);
    assert_int_equal(vv_volume_make(store, &mark, rollup, 1, &blocks, NULL), VV_OK);
    assert_true(blocks.items[0].bytes.size > 0);
    const struct vv_volumes volumes = {.registry = p->f.registry, .store = store};
    assert_int_equal(vv_volumes_put(&volumes, &blocks, NULL), VV_OK);
    vv_piece_list_deinit(&blocks);
    vv_rollup_destroy(rollup);
}

/* Three buckets: of 28 days, of 5 and then 20 behind a gap, and of 9, which has no volume. */
static void begin(struct place *p)
{
    memset(p, 0, sizeof *p);
    place_name(p);
    tiers_init(&p->t, &p->f);
    fill(p, 0, 0, 28);
    fill(p, 1, 0, 5);
    fill(p, 1, 8, 28);
    fill(p, 2, 0, 9);
    bind(p, 0);
    bind(p, 1);
}

#define ASK_MONTHS(...) ASK("from=2024-06-01", "to=2024-09-01", "source=a", __VA_ARGS__)
#define NO_PERCENTILES  "agg=count,sum,min,max,mean,stddev,first,last"

/* In either direction; so many pieces of hours are read. */
static void check(struct place *p, uint64_t pieces, const char *const *words)
{
    static const char *const orders[] = {"order=asc", "order=desc"};
    const char *all[WORDS_MAX];
    size_t n = 0;
    for (; words[n]; n++) {
        all[n] = words[n];
    }
    all[n + 1] = NULL;
    for (size_t i = 0; i < 2; i++) {
        all[n] = orders[i];
        check_same(p, all);
        assert_int_equal(p->f.facts.pieces_read, pieces);
        assert_int_equal(p->f.facts.tiers[VV_SPACE_HOUR].steps, 62 * 24);
    }
}

static void months_of_hours_are_read_from_volumes(void **state)
{
    (void)state;
    struct place p;
    begin(&p);
    check(&p, 1 + 2 + 9, ASK_MONTHS("metric=press.temp", "step=1h", NO_PERCENTILES));
    check(&p, 1 + 2 + 9, ASK_MONTHS("metric=press.count", "step=6h", NO_PERCENTILES));
    check_same(&p, ASK_MONTHS("metric=press.count", "step=7d", "agg=max"));
    check(&p, 1 + 2 + 9, ASK_MONTHS("metric=press.temp", "step=1d", "tz=Asia/Tokyo", "agg=mean"));
    place_deinit(&p);
}

static void percentiles_are_read_from_records(void **state)
{
    (void)state;
    struct place p;
    begin(&p);
    check(&p, 28 + 25 + 9, ASK_MONTHS("metric=press.temp", "step=6h", ALL_AGG));
    place_deinit(&p);
}

static void of_few_days_records_are_read(void **state)
{
    (void)state;
    struct place p;
    begin(&p);
    check_same(&p, ASK("from=2024-06-10", "to=2024-06-14", "source=a", "metric=press.temp",
                       "step=1h", NO_PERCENTILES));
    assert_int_equal(p.f.facts.pieces_read, 4);
    check_same(&p, ASK("from=2024-06-10T05:00:00Z", "to=2024-06-20T03:00:00Z", "source=a",
                       "metric=press.temp", "step=1h", NO_PERCENTILES));
    assert_int_equal(p.f.facts.pieces_read, 1);
    place_deinit(&p);
}

/* Both metrics' parts are read at once, and serve the second one, too. */
static void one_read_serves_all_metrics(void **state)
{
    (void)state;
    struct place p;
    begin(&p);
    static const char *const orders[] = {"order=asc", "order=desc"};
    for (size_t i = 0; i < 2; i++) {
        check_same(&p, ASK_MONTHS("metric=press.*", "step=6h", NO_PERCENTILES, orders[i]));
        assert_int_equal(p.f.facts.pieces_read, 2 * (1 + 2) + 9);
        assert_int_equal(steps_of(&p, VV_SPACE_HOUR), 2 * 62 * 24);
    }
    place_deinit(&p);
}

/* What came late, and is in no record yet, or in the head alone. */
static void where_something_is_stale_records_are_read(void **state)
{
    (void)state;
    for (int is_flushed = 0; is_flushed < 2; is_flushed++) {
        struct place p;
        begin(&p);
        int64_t late = bucket(1) + 9 * VV_DAY + 5;
        fixture_point(&p.f, p.sources[0], p.metrics[1], late, 1e6);
        if (is_flushed) {
            fixture_flush(&p.f);
            tiers_soil(&p.t, p.sources[0], p.press, late);
        }
        check_same(&p, ASK_MONTHS("metric=press.temp", "step=6h", NO_PERCENTILES));
        assert_int_equal(p.f.facts.tiers[VV_SPACE_HOUR].parts, 1 + 24 + 9);
        assert_true(raw_parts(&p) > 0);
        place_deinit(&p);
    }
}

/* A bucket in which a metric has nothing is not one that nothing is known of. */
static void a_metric_that_has_no_values_is_in_no_step(void **state)
{
    (void)state;
    struct place p;
    memset(&p, 0, sizeof p);
    place_name(&p);
    tiers_init(&p.t, &p.f);
    fill(&p, 0, 0, 10);
    fill_metric(&p, 1, 0, 12, 20); /* the other one is in the first stretch alone … */
    build_days(&p, 0, 12, 20);
    fill_metric(&p, 1, 1, 0, 20); /* … and not in this bucket */
    build_days(&p, 1, 0, 20);
    bind(&p, 0);
    bind(&p, 1);
    check_same(&p, ASK_MONTHS("metric=press.count", "step=1h", NO_PERCENTILES));
    assert_int_equal(steps_of(&p, VV_SPACE_HOUR), 10 * 24);
    check_same(&p, ASK_MONTHS("metric=press.temp", "step=1h", NO_PERCENTILES));
    assert_int_equal(steps_of(&p, VV_SPACE_HOUR), (10 + 8 + 20) * 24);
    check_same(&p, ASK_MONTHS("metric=press.*", "step=1h", NO_PERCENTILES));
    place_deinit(&p);
}

static void what_does_not_fit_is_read_in_less(void **state)
{
    (void)state;
    struct place p;
    begin(&p);
    const char *const *words = ASK_MONTHS("metric=press.*", "step=6h", "agg=count,sum");
    json_t *whole = ask_json(&p.f, VV_REQUEST_QUERY, words);
    uint64_t pieces = p.f.facts.pieces_read;
    size_t narrowed = 0;
    for (size_t memory = 256 << 10; memory >= 32 << 10; memory -= memory / 4) {
        p.f.limits.memory_bytes_max = memory;
        json_t *json = ask_json(&p.f, VV_REQUEST_QUERY, words);
        assert_true(json_equal(json_object_get(json, "series"), json_object_get(whole, "series")));
        narrowed += p.f.facts.pieces_read > pieces;
        json_decref(json);
    }
    assert_true(narrowed > 0);
    json_decref(whole);
    place_deinit(&p);
}

static enum vv_status take_bytes(void *context, const struct vv_piece *piece)
{
    vv_buffer_clear(context);
    vv_buffer_str(context, piece->bytes);
    return VV_OK;
}

/* The part of a bucket's volume, with a byte changed. */
static void spoil(struct place *p, int n, size_t at)
{
    struct vv_buffer bytes = {0};
    struct vv_store *store = p->f.store;
    struct vv_piece piece = {
        .kind = VV_PIECE_BLOCK, .key = volume_key(p, n), .part = vv_volume_part(p->metrics[1])};
    const struct vv_store_read read = {.partition = piece.key.partition,
                                       .measurement = p->press,
                                       .span_from = bucket(n),
                                       .span_to = bucket(n + 1),
                                       .part_from = piece.part,
                                       .part_to = piece.part + 1};
    assert_int_equal(store->ops->read(store, &read, take_bytes, &bytes, NULL), VV_OK);
    assert_true(bytes.size > at);
    bytes.data[at] ^= 0x40;
    piece.bytes = (struct vv_str){(char *)bytes.data, bytes.size};
    assert_int_equal(store->ops->put_blocks(store, &piece, 1, NULL), VV_OK);
    vv_buffer_deinit(&bytes);
}

/* Its version, the unit, the chunk's head, and the steps. */
static void a_damaged_volume_is_answered_by_its_records(void **state)
{
    (void)state;
    static const size_t damaged[] = {2, 9, 24, 200};
    for (size_t i = 0; i < sizeof damaged / sizeof damaged[0]; i++) {
        struct place p;
        begin(&p);
        spoil(&p, 1, damaged[i]);
        check_same(&p, ASK_MONTHS("metric=press.temp", "step=6h", NO_PERCENTILES));
        assert_int_equal(p.f.facts.tiers[VV_SPACE_HOUR].parts, 28 + 25 + 9);
        check_same(&p, ASK_MONTHS("metric=press.*", "step=6h", NO_PERCENTILES));
        place_deinit(&p);
    }
}

/* Each asked step is taken from what was decoded for the one before it, if it is of the same. */
static void any_stretches_of_a_volume_are_answered(void **state)
{
    (void)state;
    struct place p;
    begin(&p);
    static const char *const zones[] = {"tz=Asia/Tokyo", "tz=America/New_York", "tz=Asia/Kolkata"};
    static const char *const steps[] = {"step=1d", "step=1w", "step=28d"};
    for (size_t i = 0; i < 3; i++) {
        for (size_t j = 0; j < 3; j++) {
            check_same(&p, ASK_MONTHS("metric=press.temp", steps[j], zones[i], NO_PERCENTILES));
            check_same(
                &p, ASK_MONTHS("metric=press.*", steps[j], zones[i], NO_PERCENTILES, "order=desc"));
        }
    }
    check_same(&p, ASK("from=2024-06-09T07:00:00Z", "to=2024-08-05T23:00:00Z", "source=a",
                       "metric=press.*", "step=5h", NO_PERCENTILES));
    place_deinit(&p);
}

static const struct vv_store_ops *whole_ops;

static enum vv_status read_and_replace(struct vv_store *store, const struct vv_store_read *read,
                                       vv_piece_visit visit, void *context, struct vv_error *error)
{
    enum vv_status status = whole_ops->read(store, read, visit, context, error);
    return status == VV_OK && read->part_to > 0
               ? vv_error_set(error, VV_OVERLOAD, "replaced meanwhile")
               : status;
}

static void a_volume_that_is_replaced_meanwhile_is_answered_by_its_records(void **state)
{
    (void)state;
    struct place p;
    begin(&p);
    struct vv_store_ops ops = *p.f.store->ops;
    whole_ops = p.f.store->ops;
    ops.read = read_and_replace;
    p.f.store->ops = &ops;
    check_same(&p, ASK("from=2024-06-10", "to=2024-08-01", "source=a", "metric=press.temp",
                       "step=1h", NO_PERCENTILES));
    assert_true(p.f.facts.pieces_read > 28);
    p.f.store->ops = whole_ops;
    place_deinit(&p);
}

/* Berlin's 29th of October 2023 has 25 hours, from 22:00 UTC on. */
static void a_day_of_25_hours_is_one_row_though_two_of_its_hours_are_a_day_apart(void **state)
{
    (void)state;
    struct place p;
    int64_t day = INT64_C(1698530400) * VV_SECOND;
    memset(&p, 0, sizeof p);
    place_name(&p);
    tiers_init(&p.t, &p.f);
    for (int64_t i = -2; i <= 8; i++) {
        fixture_point(&p.f, p.sources[0], p.metrics[1], day + i * VV_DAY + VV_SECOND, (double)i);
    }
    fixture_flush(&p.f);
    tiers_build(&p.t, p.sources[0], p.press, VV_SPACE_HOUR, day - 4 * VV_DAY, day + 10 * VV_DAY);
    bind(&p, (int)(day / BUCKET_NS) - FIRST);
    for (int i = 0; i < 2; i++) {
        check_same(&p, ASK("from=2023-10-20", "to=2023-11-10", "source=a", "metric=press.temp",
                           "step=1d", "tz=Europe/Berlin", i ? "order=desc" : "order=asc",
                           "agg=count,last"));
        assert_int_equal(p.f.facts.pieces_read, 1);
    }
    place_deinit(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(months_of_hours_are_read_from_volumes),
        cmocka_unit_test(percentiles_are_read_from_records),
        cmocka_unit_test(of_few_days_records_are_read),
        cmocka_unit_test(one_read_serves_all_metrics),
        cmocka_unit_test(where_something_is_stale_records_are_read),
        cmocka_unit_test(a_metric_that_has_no_values_is_in_no_step),
        cmocka_unit_test(what_does_not_fit_is_read_in_less),
        cmocka_unit_test(a_damaged_volume_is_answered_by_its_records),
        cmocka_unit_test(any_stretches_of_a_volume_are_answered),
        cmocka_unit_test(a_volume_that_is_replaced_meanwhile_is_answered_by_its_records),
        cmocka_unit_test(a_day_of_25_hours_is_one_row_though_two_of_its_hours_are_a_day_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
