/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads that are asked for ahead: a store whose answers hold what was there when they were asked
 * for, while flushes and seals go on between asking and using.
 */
#include "query_model.h"

#define SEEDS    10
#define REQUESTS 40

struct kept {
    struct vv_piece piece;
    char *bytes;
};

struct vv_store_answer {
    struct slow *slow;
    struct kept *pieces;
    size_t n;
    bool fails;
    bool used;
};

/* Passes everything on to the fixture's store. */
struct slow {
    struct vv_store base;
    struct vv_store_ops ops;
    struct fixture *f;
    struct vv_random random;
    bool moves; /* flush and seal between asking and using */
    unsigned flush_at;
    bool fails_day; /* partitions of every third day */
    unsigned fail_every;
    unsigned begun;
    unsigned unused;
    unsigned unused_most;
};

static struct slow *slow_of(struct vv_store *store)
{
    return (struct slow *)(void *)store;
}

static enum vv_status keep_piece(void *context, const struct vv_piece *piece)
{
    struct vv_store_answer *answer = context;
    answer->pieces = realloc(answer->pieces, (answer->n + 1) * sizeof *answer->pieces);
    struct kept *kept = &answer->pieces[answer->n++];
    kept->piece = *piece;
    kept->bytes = malloc(piece->bytes.size + 1);
    memcpy(kept->bytes, piece->bytes.data, piece->bytes.size);
    kept->piece.bytes.data = kept->bytes;
    return VV_OK;
}

static enum vv_status begin_read(struct vv_store *store, const struct vv_store_read *read,
                                 struct vv_store_answer **answer_out, struct vv_error *error)
{
    struct slow *slow = slow_of(store);
    struct vv_store *inner = slow->f->store;
    struct vv_store_answer *answer = calloc(1, sizeof *answer);
    answer->slow = slow;
    slow->begun++;
    slow->unused++;
    slow->unused_most = slow->unused > slow->unused_most ? slow->unused : slow->unused_most;
    answer->fails = slow->fail_every && slow->begun % slow->fail_every == 0;
    answer->fails |= slow->fails_day && read->partition.bucket_start / VV_DAY % 3 == 0;
    *answer_out = answer;
    enum vv_status status = inner->ops->read(inner, read, keep_piece, answer, error);
    if (slow->begun == slow->flush_at || (slow->moves && vv_random_below(&slow->random, 6) == 0)) {
        fixture_flush(slow->f);
    }
    if (slow->moves && vv_random_below(&slow->random, 12) == 0) {
        fixture_seal(slow->f);
    }
    return status;
}

static enum vv_status visit_read(struct vv_store_answer *answer, vv_piece_visit visit,
                                 void *context, struct vv_error *error)
{
    answer->slow->unused -= !answer->used;
    answer->used = true;
    if (answer->fails) {
        return vv_error_set(error, VV_OVERLOAD, "at a bad time");
    }
    enum vv_status status = VV_OK;
    for (size_t i = 0; i < answer->n && status == VV_OK; i++) {
        status = visit(context, &answer->pieces[i].piece);
    }
    return status == VV_DONE ? VV_OK : status;
}

static void end_read(struct vv_store_answer *answer)
{
    answer->slow->unused -= !answer->used;
    for (size_t i = 0; i < answer->n; i++) {
        free(answer->pieces[i].bytes);
    }
    free(answer->pieces);
    free(answer);
}

static enum vv_status never_read(struct vv_store *store, const struct vv_store_read *read,
                                 vv_piece_visit visit, void *context, struct vv_error *error)
{
    (void)store;
    (void)read;
    (void)visit;
    (void)context;
    return vv_error_set(error, VV_INVALID, "read without having been asked for");
}

static enum vv_status nearest(struct vv_store *store, uint32_t tenant, uint32_t source,
                              int64_t bucket_start, bool forward, int64_t *bucket_start_out,
                              struct vv_error *error)
{
    struct vv_store *inner = slow_of(store)->f->store;
    return inner->ops->nearest(inner, tenant, source, bucket_start, forward, bucket_start_out,
                               error);
}

static void slow_init(struct slow *slow, struct fixture *f, uint64_t seed)
{
    *slow = (struct slow){.f = f, .random = {seed}};
    slow->ops.read = never_read;
    slow->ops.begin_read = begin_read;
    slow->ops.visit_read = visit_read;
    slow->ops.end_read = end_read;
    slow->ops.nearest = nearest;
    slow->base.ops = &slow->ops;
    f->context.store = &slow->base;
}

static size_t no_peers(struct vv_store *store, struct vv_peer *peers_out, size_t max)
{
    (void)store;
    (void)peers_out;
    (void)max;
    return 0;
}

static const struct vv_shared_ops shared_ops = {.peers = no_peers};

static void check_seeds(bool moves, unsigned fail_every)
{
    static struct model m;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct slow slow;
        model_init(&m, seed);
        slow_init(&slow, &m.f, seed);
        slow.ops.shared = model_hides ? &shared_ops : NULL;
        slow.moves = moves;
        slow.fail_every = fail_every;
        for (int i = 0; i < REQUESTS; i++) {
            int group = vv_random_below(&m.random, 2) ? MODEL_WITH_SITE : 0;
            struct model_query q = model_request(&m, vv_random_below(&m.random, 2) == 0, group);
            model_write_words(&q);
            model_print(seed, &q);
            model_check(&m, &q);
            assert_int_equal(slow.unused, 0);
        }
        assert_true(slow.begun > 0);
        fixture_deinit(&m.f);
    }
}

static void answers_equal_a_naive_model(void **state)
{
    (void)state;
    check_seeds(false, 0);
}

/* The head is looked at before the store is used, but what was asked for earlier is older. */
static void flushes_between_asking_and_using_lose_nothing(void **state)
{
    (void)state;
    check_seeds(true, 0);
}

static void what_others_wrote_is_asked_for_as_well(void **state)
{
    (void)state;
    model_hides = true;
    check_seeds(false, 0);
    check_seeds(true, 0);
    model_hides = false;
}

/* Two sources with a bucket a day, and later points of the same days in the head. While the first
 * is read the second one's answers are there already, without what is flushed then. */
static void a_flush_at_any_read_loses_nothing(void **state)
{
    (void)state;
    enum { DAYS = 4 };
    for (unsigned at = 1; at <= 2 * DAYS; at++) {
        struct fixture f;
        struct slow slow;
        fixture_init(&f);
        f.flush.bucket_ns = VV_DAY;
        f.flush.span_ns = VV_DAY;
        uint32_t metric = fixture_metric(&f, "m", "v", VV_FLOAT64);
        uint32_t sources[2] = {fixture_source(&f, "a", "x"), fixture_source(&f, "b", "x")};
        for (int late = 0; late < 2; late++) {
            for (int i = 0; i < 2 * DAYS; i++) {
                fixture_point(&f, sources[i / DAYS], metric,
                              FIXTURE_NOW - (6 - i % DAYS) * VV_DAY + late * VV_MINUTE, i);
            }
            if (!late) {
                fixture_flush(&f);
            }
        }
        slow_init(&slow, &f, 1);
        slow.flush_at = at;
        char *text;
        assert_int_equal(
            fixture_answer(&f, VV_REQUEST_QUERY, WORDS("metric=m.v", "from=-60d"), 1 << 20, &text),
            VV_OK);
        assert_int_equal(f.facts.rows, 4 * DAYS);
        free(text);
        fixture_deinit(&f);
    }
}

static void what_failed_ahead_is_asked_for_again(void **state)
{
    (void)state;
    struct fixture f;
    struct slow slow;
    fixture_init(&f);
    uint32_t source = fixture_source(&f, "a", "north");
    uint32_t metric = fixture_metric(&f, "m", "v", VV_FLOAT64);
    for (int i = 0; i < 40; i++) {
        fixture_point(&f, source, metric, FIXTURE_NOW - 41 * VV_DAY + i * VV_DAY, i);
    }
    f.flush.bucket_ns = VV_DAY;
    f.flush.span_ns = VV_DAY;
    fixture_flush(&f);
    slow_init(&slow, &f, 1);
    slow.fail_every = 1000;
    slow.begun = 999 - 5; /* the sixth */
    char *text;
    assert_int_equal(
        fixture_answer(&f, VV_REQUEST_QUERY, WORDS("metric=m.v", "from=-60d"), 1 << 20, &text),
        VV_OK);
    assert_int_equal(f.facts.rows, 40);
    free(text);
    slow.fail_every = 1; /* always: then it is an error */
    assert_int_equal(
        fixture_answer(&f, VV_REQUEST_QUERY, WORDS("metric=m.v", "from=-60d"), 1 << 20, &text),
        VV_OVERLOAD);
    fixture_deinit(&f);
}

/* Every third bucket's partition can't be read. */
static void what_can_not_be_read_is_named_where_that_is_allowed(void **state)
{
    (void)state;
    struct fixture f;
    struct slow slow;
    fixture_init(&f);
    f.flush.bucket_ns = VV_DAY;
    f.flush.span_ns = VV_DAY;
    uint32_t source = fixture_source(&f, "a", "north");
    uint32_t metric = fixture_metric(&f, "m", "v", VV_FLOAT64);
    for (int i = 0; i < 12; i++) {
        fixture_point(&f, source, metric, FIXTURE_NOW - 13 * VV_DAY + i * VV_DAY, i);
    }
    fixture_flush(&f);
    fixture_point(&f, source, metric, FIXTURE_NOW - VV_HOUR, 99);
    slow_init(&slow, &f, 1);
    slow.fails_day = true;
    expect_error(&f, VV_REQUEST_QUERY, WORDS("metric=m.v", "from=-60d"), VV_OVERLOAD, "bad time");
    json_t *answer =
        ask_json(&f, VV_REQUEST_QUERY, WORDS("metric=m.v", "from=-60d", "partial=allowed"));
    const json_t *facts = json_object_get(answer, "facts");
    assert_false(json_boolean_value(json_object_get(facts, "complete")));
    assert_int_equal(json_integer_value(json_object_get(facts, "partitions_missing")), 4);
    assert_int_equal(json_integer_value(json_object_get(facts, "rows")), 9);
    const json_t *missing = json_object_get(facts, "missing");
    assert_int_equal(json_array_size(missing), 4);
    const json_t *first = json_array_get(missing, 0);
    assert_string_equal(json_string_value(json_object_get(first, "source")), "a");
    assert_string_equal(json_string_value(json_object_get(first, "to")), "2024-09-24T00:00:00Z");
    json_decref(answer);
    char *text;
    assert_int_equal(
        fixture_answer(&f, VV_REQUEST_QUERY,
                       WORDS("metric=m.v", "from=-60d", "partial=allowed", "format=csv"), 1 << 20,
                       &text),
        VV_OK);
    assert_non_null(strstr(text, "# incomplete: 4 partitions could not be read\n"));
    free(text);
    fixture_deinit(&f);
}

/* A bucket each for 200 days and three sources. */
static void check_asking_ahead(bool unseen)
{
    struct fixture f;
    struct slow slow;
    fixture_init(&f);
    f.unseen = unseen;
    uint32_t metric = fixture_metric(&f, "m", "v", VV_FLOAT64);
    char id[2] = "a";
    for (; id[0] < 'd'; id[0]++) {
        uint32_t source = fixture_source(&f, id, "north");
        for (int i = 0; i < 200; i++) {
            fixture_point(&f, source, metric, FIXTURE_NOW - 201 * VV_DAY + i * VV_DAY, i);
        }
    }
    f.flush.bucket_ns = VV_DAY;
    f.flush.span_ns = VV_DAY;
    fixture_flush(&f);
    slow_init(&slow, &f, 1);
    slow.ops.shared = unseen ? &shared_ops : NULL;
    char *text;
    assert_int_equal(
        fixture_answer(&f, VV_REQUEST_QUERY, WORDS("metric=m.v", "from=-300d"), 1 << 20, &text),
        VV_OK);
    assert_int_equal(f.facts.rows, 600);
    assert_in_range(slow.unused_most, 20, 33);
    free(text);
    unsigned all = slow.begun;
    slow.begun = 0;
    assert_int_equal(
        fixture_answer(&f, VV_REQUEST_QUERY,
                       WORDS("metric=m.v", "source=b", "from=-300d", "order=desc", "limit=1"),
                       1 << 20, &text),
        VV_OK);
    assert_true(slow.begun * 20 < all); /* where one row is enough, hardly anything is asked for */
    free(text);
    fixture_deinit(&f);
}

static void asking_runs_ahead_within_a_bound(void **state)
{
    (void)state;
    check_asking_ahead(false);
    check_asking_ahead(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_equal_a_naive_model),
        cmocka_unit_test(flushes_between_asking_and_using_lose_nothing),
        cmocka_unit_test(what_others_wrote_is_asked_for_as_well),
        cmocka_unit_test(a_flush_at_any_read_loses_nothing),
        cmocka_unit_test(what_failed_ahead_is_asked_for_again),
        cmocka_unit_test(what_can_not_be_read_is_named_where_that_is_allowed),
        cmocka_unit_test(asking_runs_ahead_within_a_bound),
    };
    setenv("TZ", "Europe/Berlin", 1); /* the model's calendar */
    tzset();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
