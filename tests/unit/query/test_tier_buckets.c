/* SPDX-License-Identifier: Apache-2.0 */
/* Tiers are read some buckets at a time: the answer is that of one at a time, and of raw points. */
#include "tier_place.h"

#define HOURS_NS  (28 * VV_DAY)  /* buckets of hours … */
#define DAYS_NS   (364 * VV_DAY) /* … and days */
#define FIRST     680            /* bucket of hours of 2022-02-17; the last one is 713 */
#define WORDS_MAX 24

/* ---- how the store is read ---- */

static const struct vv_store_ops *whole_ops;

static struct {
    uint32_t space; /* whose reads are counted */
    uint32_t reads;
    uint32_t buckets; /* of all reads … */
    uint32_t most;    /* … and at most of one */
} counted;

static enum vv_status count_read(struct vv_store *store, const struct vv_store_read *read,
                                 vv_piece_visit visit, void *context, struct vv_error *error)
{
    uint32_t n = read->n_buckets > 0 ? read->n_buckets : 1;
    if (read->partition.tenant == counted.space) {
        counted.reads++;
        counted.buckets += n;
        counted.most = n > counted.most ? n : counted.most;
    }
    assert_true(n <= 1 || n <= store->ops->buckets_max);
    assert_true(read->span_from >= read->partition.bucket_start);
    assert_true(read->span_to <= read->partition.bucket_start + n * read->partition.bucket_ns);
    return whole_ops->read(store, read, visit, context, error);
}

/* An answer of a store that reads so many buckets at once. */
static json_t *ask(struct place *p, uint32_t buckets_max, enum vv_space tier,
                   const char *const *words)
{
    struct vv_store_ops ops = *p->f.store->ops;
    whole_ops = p->f.store->ops;
    ops.read = count_read;
    ops.buckets_max = buckets_max;
    p->f.store->ops = &ops;
    memset(&counted, 0, sizeof counted);
    counted.space = p->t.spaces[tier];
    json_t *json = ask_json(&p->f, VV_REQUEST_QUERY, words);
    p->f.store->ops = whole_ops;
    return json;
}

/* How much was given of a tier, and from where to where; into how many parts gaps are cut is not
 * told apart. */
static void assert_same_facts(const struct vv_result_facts *several,
                              const struct vv_result_facts *single)
{
    for (int tier = 0; tier <= VV_SPACES; tier++) {
        const struct vv_tier_fact *a = &several->tiers[tier];
        const struct vv_tier_fact *b = &single->tiers[tier];
        assert_true(a->steps == b->steps && a->from == b->from && a->to == b->to);
        assert_true(tier == VV_SPACES || a->parts == b->parts);
        assert_true(a->is_sealed == b->is_sealed && a->sealed_until == b->sealed_until);
    }
    assert_true(several->points_read == single->points_read);
}

#define OF_RAW_POINTS_TOO 0 /* partitions: as many as reads of one bucket find */

/* In either direction, and of all that reads of one bucket at a time tell. */
static void check_order(struct place *p, enum vv_space tier, const char *const *words,
                        uint64_t partitions)
{
    static const uint32_t maxima[] = {1, 2, 3, 4, 16, 1000};
    json_t *single = ask(p, 0, tier, words);
    uint32_t reads = counted.reads;
    assert_true(p->f.facts.rows > 0);
    assert_int_equal(counted.most, 1);
    struct vv_result_facts facts = p->f.facts;
    assert_true(partitions == OF_RAW_POINTS_TOO || facts.partitions_read == partitions);
    for (size_t i = 0; i < sizeof maxima / sizeof maxima[0]; i++) {
        json_t *several = ask(p, maxima[i], tier, words);
        assert_true(
            json_equal(json_object_get(several, "series"), json_object_get(single, "series")));
        assert_int_equal(p->f.facts.partitions_read, facts.partitions_read);
        assert_same_facts(&p->f.facts, &facts);
        assert_true(p->f.facts.pieces_read == facts.pieces_read);
        assert_true(p->f.facts.bytes_read == facts.bytes_read);
        assert_true(counted.reads <= reads);
        reads = counted.reads;
        json_decref(several);
    }
    json_decref(single);
}

static void check(struct place *p, enum vv_space tier, const char *const *words,
                  uint64_t partitions)
{
    const char *all[WORDS_MAX];
    size_t n = 0;
    for (; words[n]; n++) {
        all[n] = words[n];
    }
    all[n] = all[n + 1] = NULL;
    check_same(p, all);
    check_order(p, tier, all, partitions);
    all[n] = "order=desc";
    check_same(p, all);
    check_order(p, tier, all, partitions);
}

/* ---- what there is ---- */

/* One source that has points of one metric; the tiers' raw data is not counted as read. */
static void begin(struct place *p)
{
    memset(p, 0, sizeof *p);
    place_name(p);
    tiers_init(&p->t, &p->f);
}

/* Points and records of [from, to). */
static void fill(struct place *p, enum vv_space tier, int64_t from, int64_t to, int64_t gap)
{
    write_series(p, 0, 1, from, to, gap);
    fixture_flush(&p->f);
    tiers_build(&p->t, p->sources[0], p->press, tier, from, to);
}

#define ASK_HOURS(...)                                                                             \
    ASK("from=2022-02-01", "to=2024-10-01", "source=a", "metric=press.temp", __VA_ARGS__)

static int64_t bucket_of_hours(int bucket)
{
    return (FIRST + bucket) * HOURS_NS;
}

/* ---- answers ---- */

static void hours_of_many_buckets_are_read_together(void **state)
{
    (void)state;
    struct place p;
    begin(&p);
    fill(&p, VV_SPACE_HOUR, bucket_of_hours(0) + 3 * VV_DAY, bucket_of_hours(21) + 5 * VV_DAY,
         5 * VV_HOUR);
    const char *const *words = ASK_HOURS("step=6h", ALL_AGG);
    check(&p, VV_SPACE_HOUR, words, 22);
    json_decref(ask(&p, 1, VV_SPACE_HOUR, words));
    assert_int_equal(counted.reads, 22);
    json_decref(ask(&p, 4, VV_SPACE_HOUR, words));
    assert_int_equal(counted.reads, 6);
    assert_int_equal(counted.buckets, 22); /* what is not wanted is not asked for */
    assert_int_equal(raw_parts(&p), 0);
    json_decref(ask(&p, 16, VV_SPACE_HOUR, words));
    assert_int_equal(counted.reads, 2);
    check(&p, VV_SPACE_HOUR, ASK_HOURS("step=6h", "agg=max,p90", "fill=null"), 22);
    check(&p, VV_SPACE_HOUR, ASK_HOURS("step=1d", "tz=Europe/Berlin", ALL_AGG), 22);
    check(&p, VV_SPACE_HOUR,
          ASK("from=2022-05-05T05:05:05Z", "to=2022-11-11T11:11:11Z", "source=a", "step=1h",
              "metric=press.temp", ALL_AGG),
          OF_RAW_POINTS_TOO);
    place_deinit(&p);
}

static void days_of_many_buckets_are_read_together(void **state)
{
    (void)state;
    struct place p;
    begin(&p);
    int64_t from = 48 * DAYS_NS + 100 * VV_DAY; /* 2018-01-28 */
    fill(&p, VV_SPACE_DAY, from, 54 * DAYS_NS + 200 * VV_DAY, 11 * VV_HOUR);
    const char *const *words =
        ASK("from=2018-01-01", "source=a", "metric=press.temp", "step=7d", ALL_AGG);
    check(&p, VV_SPACE_DAY, words, 7);
    json_decref(ask(&p, 3, VV_SPACE_DAY, words));
    assert_int_equal(counted.reads, 3);
    json_decref(ask(&p, 1000, VV_SPACE_DAY, words)); /* of some years at most */
    assert_int_equal(counted.most, 4);
    assert_int_equal(counted.reads, 2);
    place_deinit(&p);
}

/* More than are told apart in one window. */
static void minutes_of_many_buckets_are_read_together(void **state)
{
    (void)state;
    struct place p;
    begin(&p);
    fill(&p, VV_SPACE_MINUTE, 19800 * VV_DAY, 19960 * VV_DAY, 10 * VV_HOUR);
    const char *const *words =
        ASK("from=2024-01-01", "source=a", "metric=press.temp", "step=3m", ALL_AGG);
    check(&p, VV_SPACE_MINUTE, words, 80);
    json_decref(ask(&p, 16, VV_SPACE_MINUTE, words));
    assert_int_equal(counted.reads, 5);
    place_deinit(&p);
}

/* Buckets without anything, at the ends of what is read together as in its middle, and so many
 * that nothing is found in some. */
static void buckets_without_anything_are_passed_over(void **state)
{
    (void)state;
    struct place p;
    begin(&p);
    static const int filled[] = {0, 1, 3, 4, 5, 10, 21, 22, 32};
    for (size_t i = 0; i < sizeof filled / sizeof filled[0]; i++) {
        int64_t from = bucket_of_hours(filled[i]) + (int64_t)i * VV_DAY;
        fill(&p, VV_SPACE_HOUR, from, from + 6 * VV_DAY, 3 * VV_HOUR);
    }
    check(&p, VV_SPACE_HOUR, ASK_HOURS("step=6h", ALL_AGG), 9);
    check(&p, VV_SPACE_HOUR, ASK_HOURS("step=1h", "agg=count,max", "fill=null"), 9);
    vv_registry_set_retention(p.f.registry, p.f.tenant, VV_DAY); /* nothing finer fills gaps */
    tiers_keep(&p.t, VV_SPACE_MINUTE, VV_DAY);
    check_order(&p, VV_SPACE_HOUR, ASK_HOURS("step=6h", ALL_AGG), 9);
    check_order(&p, VV_SPACE_HOUR, ASK_HOURS("step=6h", ALL_AGG, "order=desc"), 9);
    place_deinit(&p);
}

/* What others of the source have among what was read is no reason to read on there. */
static void the_store_is_asked_behind_what_was_read(void **state)
{
    (void)state;
    struct place p;
    begin(&p);
    static const int filled[] = {0, 30};
    static const int others[] = {5, 25};
    for (int i = 0; i < 2; i++) {
        int64_t from = bucket_of_hours(others[i]);
        write_series(&p, 0, 2, from, from + VV_DAY, VV_HOUR);
        fixture_flush(&p.f);
        tiers_build(&p.t, p.sources[0], p.pump, VV_SPACE_HOUR, from, from + VV_DAY);
        from = bucket_of_hours(filled[i]);
        fill(&p, VV_SPACE_HOUR, from, from + VV_DAY, VV_HOUR);
    }
    check(&p, VV_SPACE_HOUR, ASK_HOURS("step=6h", ALL_AGG), 2);
    json_decref(ask(&p, 4, VV_SPACE_HOUR, ASK_HOURS("step=6h", ALL_AGG)));
    assert_int_equal(counted.reads, 4); /* 0 … 3, 4 … 7, 25 … 28, 29 … 30 */
    json_decref(ask(&p, 4, VV_SPACE_HOUR, ASK_HOURS("step=6h", ALL_AGG, "order=desc")));
    assert_int_equal(counted.reads, 4); /* 30 … 27, 26 … 23, 5 … 2, 1 … 0 */
    place_deinit(&p);
}

/* Only of the units that they are of. */
static void doubts_of_some_buckets_leave_the_others(void **state)
{
    (void)state;
    struct place p;
    begin(&p);
    fill(&p, VV_SPACE_HOUR, bucket_of_hours(0), bucket_of_hours(9), 5 * VV_HOUR);
    int64_t late = bucket_of_hours(2) + 9 * VV_DAY + 5;
    fixture_point(&p.f, p.sources[0], p.metrics[1], late, 190);
    fixture_flush(&p.f);
    tiers_soil(&p.t, p.sources[0], p.press, late);
    fixture_point(&p.f, p.sources[0], p.metrics[1], bucket_of_hours(7) + VV_DAY, 180);
    const char *const *words = ASK_HOURS("step=1h", ALL_AGG);
    for (uint32_t max = 0; max <= 16; max += 4) {
        json_t *single = ask(&p, 0, VV_SPACE_HOUR, words);
        json_t *several = ask(&p, max, VV_SPACE_HOUR, words);
        assert_true(
            json_equal(json_object_get(several, "series"), json_object_get(single, "series")));
        assert_int_equal(p.f.facts.tiers[VV_SPACE_HOUR].parts, 9 * 28 - 2);
        assert_int_equal(raw_parts(&p), 2);
        json_decref(single);
        json_decref(several);
    }
    check_same(&p, words);
    check_same(&p, ASK_HOURS("step=1h", "order=desc", ALL_AGG));
    place_deinit(&p);
}

/* ---- bounds ---- */

static void where_few_rows_are_wanted_one_bucket_is_read(void **state)
{
    (void)state;
    struct place p;
    begin(&p);
    fill(&p, VV_SPACE_HOUR, bucket_of_hours(0), bucket_of_hours(9), 5 * VV_HOUR);
    static const char *const orders[] = {"order=asc", "order=desc"};
    for (int i = 0; i < 2; i++) {
        json_decref(ask(&p, 16, VV_SPACE_HOUR, ASK_HOURS("step=6h", ALL_AGG, orders[i])));
        assert_int_equal(counted.reads, 1);
        assert_int_equal(counted.most, 9);
        json_decref(
            ask(&p, 16, VV_SPACE_HOUR, ASK_HOURS("step=6h", ALL_AGG, "limit=1", orders[i])));
        assert_int_equal(p.f.facts.rows, 1);
        assert_int_equal(p.f.facts.partitions_read, 1);
        assert_int_equal(counted.reads, 1);
        assert_int_equal(counted.most, 1);
        check_same(&p, ASK_HOURS("step=6h", ALL_AGG, "limit=300", orders[i]));
    }
    place_deinit(&p);
}

/* What does not fit is read in halves, down to units; each bucket counts once. */
static void windows_of_many_buckets_are_narrowed(void **state)
{
    (void)state;
    struct place p;
    begin(&p);
    int64_t middle = bucket_of_hours(12); /* windows need not begin with a bucket */
    fill(&p, VV_SPACE_HOUR, bucket_of_hours(0) + 5 * VV_DAY, bucket_of_hours(6), 20 * VV_MINUTE);
    fill(&p, VV_SPACE_HOUR, middle, bucket_of_hours(19) + 17 * VV_DAY, 20 * VV_MINUTE);
    const char *const asked[2][11] = {
        {"tenant=t", "time_format=ns", "from=2022-02-01", "to=2024-10-01", "source=a",
         "metric=press.temp", "tier=hour", "step=6h", "agg=count,sum,p90"},
        {"tenant=t", "time_format=ns", "from=2022-02-01", "to=2024-10-01", "source=a",
         "metric=press.temp", "tier=hour", "step=6h", "agg=count,sum,p90", "order=desc"},
    };
    for (int i = 0; i < 2; i++) {
        int narrowed = 0;
        p.f.limits.memory_bytes_max = 64 << 20;
        json_t *whole = ask(&p, 0, VV_SPACE_HOUR, asked[i]);
        struct vv_result_facts facts = p.f.facts;
        json_decref(ask(&p, 16, VV_SPACE_HOUR, asked[i]));
        uint32_t reads = counted.reads;
        for (size_t memory = 512 << 10; memory >= 40 << 10; memory -= memory / 4) {
            p.f.limits.memory_bytes_max = memory;
            json_t *json = ask(&p, 16, VV_SPACE_HOUR, asked[i]);
            assert_true(
                json_equal(json_object_get(json, "series"), json_object_get(whole, "series")));
            assert_same_facts(&p.f.facts, &facts);
            assert_int_equal(p.f.facts.partitions_read, 14);
            narrowed += counted.reads > reads;
            json_decref(json);
        }
        assert_true(narrowed > 5);
        json_decref(whole);
    }
    place_deinit(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hours_of_many_buckets_are_read_together),
        cmocka_unit_test(days_of_many_buckets_are_read_together),
        cmocka_unit_test(minutes_of_many_buckets_are_read_together),
        cmocka_unit_test(buckets_without_anything_are_passed_over),
        cmocka_unit_test(the_store_is_asked_behind_what_was_read),
        cmocka_unit_test(doubts_of_some_buckets_leave_the_others),
        cmocka_unit_test(where_few_rows_are_wanted_one_bucket_is_read),
        cmocka_unit_test(windows_of_many_buckets_are_narrowed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
