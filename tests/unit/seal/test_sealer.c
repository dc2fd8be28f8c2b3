/* SPDX-License-Identifier: Apache-2.0 */
/* Sealing: due spans become blocks, late points are folded in, crashes in between are harmless. */
#include "support/fake_shared.h"
#include "support/pipeline.h"

static const int64_t noon = 20000 * VV_DAY + 12 * VV_HOUR;

static void fill_hour(struct pipeline *p, uint32_t source, int64_t start)
{
    for (int64_t i = 0; i < 360; i++) {
        pipeline_write(p, source, 0, start + i * 10 * VV_SECOND, (uint64_t)i);
    }
    assert_int_equal(pipeline_flush(p), VV_OK);
}

static void init_hours(struct pipeline *p)
{
    pipeline_init(p, noon);
    p->flush.bucket_ns = VV_DAY;
    p->flush.span_ns = VV_HOUR;
}

static void a_span_is_sealed_when_it_is_over_and_quiet(void **state)
{
    (void)state;
    struct pipeline p;
    init_hours(&p);
    uint32_t source = pipeline_source(&p, "a");
    fill_hour(&p, source, noon);
    assert_int_equal(vv_sealer_step(p.sealer, VV_SEAL_DUE, 64, NULL), VV_DONE); /* not over */
    vv_sim_clock_advance(&p.clock, VV_HOUR + 2 * VV_MINUTE);
    pipeline_write(&p, source, 0, noon + VV_SECOND, 9);
    assert_int_equal(pipeline_flush(&p), VV_OK);
    assert_int_equal(vv_sealer_step(p.sealer, VV_SEAL_DUE, 64, NULL), VV_DONE); /* not quiet */
    vv_sim_clock_advance(&p.clock, 2 * VV_SECOND);
    assert_int_equal(vv_sealer_step(p.sealer, VV_SEAL_DUE, 64, NULL), VV_OK);
    assert_int_equal(vv_sealer_step(p.sealer, VV_SEAL_DUE, 64, NULL), VV_DONE);
    struct pieces pieces = pipeline_pieces(&p, source, noon);
    assert_int_equal(pieces.runs, 0);
    assert_true(pieces.blocks > 1); /* cut at block_bytes_max */
    assert_int_equal(pieces.rows, 361);
    assert_int_equal(pipeline_marks(&p), 0);
    pipeline_deinit(&p);
}

/* Else each run would be a block of its own, and pack as badly as it did. */
static void runs_that_follow_each_other_become_one_block(void **state)
{
    (void)state;
    struct pipeline p;
    init_hours(&p);
    uint32_t source = pipeline_source(&p, "a");
    for (int64_t minute = 0; minute < 10; minute++) {
        for (int64_t i = 0; i < 6; i++) {
            int64_t time = noon + minute * VV_MINUTE + i * 10 * VV_SECOND;
            pipeline_write(&p, source, 0, time, (uint64_t)i);
        }
        assert_int_equal(pipeline_flush(&p), VV_OK);
    }
    assert_int_equal(pipeline_pieces(&p, source, noon).runs, 10);
    assert_int_equal(vv_sealer_step(p.sealer, VV_SEAL_ALL, 64, NULL), VV_OK);
    struct pieces pieces = pipeline_pieces(&p, source, noon);
    assert_int_equal(pieces.runs, 0);
    assert_int_equal(pieces.blocks, 1);
    assert_int_equal(pieces.rows, 60);
    pipeline_deinit(&p);
}

static void late_points_are_folded_into_the_block(void **state)
{
    (void)state;
    struct pipeline p;
    init_hours(&p);
    uint32_t source = pipeline_source(&p, "a");
    fill_hour(&p, source, noon - 400 * VV_DAY); /* history, loaded years afterwards */
    vv_sim_clock_advance(&p.clock, 2 * VV_SECOND);
    assert_int_equal(vv_sealer_step(p.sealer, VV_SEAL_DUE, 64, NULL), VV_OK);
    pipeline_write(&p, source, 1, noon - 400 * VV_DAY + 5, 1);
    pipeline_write(&p, source, 0, noon - 400 * VV_DAY, 500); /* a correction */
    assert_int_equal(pipeline_flush(&p), VV_OK);
    assert_int_equal(pipeline_marks(&p), 1);
    vv_sim_clock_advance(&p.clock, 2 * VV_SECOND);
    assert_int_equal(vv_sealer_step(p.sealer, VV_SEAL_DUE, 64, NULL), VV_OK);
    struct pieces pieces = pipeline_pieces(&p, source, noon - 400 * VV_DAY);
    assert_int_equal(pieces.runs, 0);
    assert_int_equal(pieces.rows, 361);
    struct vv_seal_figures figures;
    vv_sealer_read_figures(p.sealer, &figures);
    assert_int_equal(figures.spans, 2);
    assert_int_equal(figures.again, 1);
    pipeline_deinit(&p);
}

static void nothing_is_lost_whichever_write_fails(void **state)
{
    (void)state;
    for (uint32_t attempt = 0; attempt < 20; attempt++) {
        struct pipeline p;
        init_hours(&p);
        uint32_t source = pipeline_source(&p, "a");
        fill_hour(&p, source, noon);
        fill_hour(&p, source, noon + VV_HOUR);
        /* The attempt-th crash: after that many failing calls, and with a prefix kept. */
        vv_store_memory_fail(p.store, VV_IO, attempt % 4);
        (void)!vv_sealer_step(p.sealer, VV_SEAL_ALL, 64, NULL);
        vv_store_memory_fail(p.store, VV_OK, 0);
        vv_store_memory_crash(p.store, attempt);
        assert_int_equal(p.store->ops->recover(p.store, NULL), VV_OK);
        while (vv_sealer_step(p.sealer, VV_SEAL_ALL, 64, NULL) == VV_OK) {
        }
        for (int64_t hour = 0; hour < 2; hour++) {
            struct pieces pieces = pipeline_pieces(&p, source, noon + hour * VV_HOUR);
            assert_int_equal(pieces.runs, 0);
            assert_int_equal(pieces.rows, 360);
        }
        assert_int_equal(pipeline_marks(&p), 0);
        pipeline_deinit(&p);
    }
}

/* Whatever else there is of it: what was due since then is sealed, and what is asked for. */
static void history_that_is_held_back_holds_up_no_other_span(void **state)
{
    (void)state;
    struct pipeline p;
    init_hours(&p);
    uint32_t source = pipeline_source(&p, "a");
    for (int64_t hour = 0; hour < 40; hour++) {
        fill_hour(&p, source, noon - 400 * VV_DAY + hour * VV_HOUR);
    }
    fill_hour(&p, source, noon - 3 * VV_HOUR);
    vv_sim_clock_advance(&p.clock, 2 * VV_SECOND);
    vv_sealer_hold(p.sealer, noon - VV_DAY);
    for (int round = 0; round < 2; round++) { /* the second one begins behind the first */
        assert_int_equal(vv_sealer_step(p.sealer, VV_SEAL_DUE, 64, NULL), VV_OK);
        assert_true(vv_sealer_last_due_ns(p.sealer) >= noon - VV_DAY);
        assert_int_equal(pipeline_marks(&p), 40);
        assert_int_equal(vv_sealer_step(p.sealer, VV_SEAL_DUE, 64, NULL), VV_DONE);
        fill_hour(&p, source, noon - 2 * VV_HOUR);
        vv_sim_clock_advance(&p.clock, 2 * VV_SECOND);
    }
    vv_sealer_hold(p.sealer, INT64_MIN);
    assert_int_equal(vv_sealer_step(p.sealer, VV_SEAL_DUE, 10, NULL), VV_OK);
    vv_sealer_hold(p.sealer, noon - VV_DAY); /* in the middle of it */
    assert_int_equal(pipeline_marks(&p), 31);
    while (vv_sealer_step(p.sealer, VV_SEAL_DUE, 64, NULL) == VV_OK) {
    }
    assert_int_equal(pipeline_marks(&p), 30);
    assert_int_equal(vv_sealer_step(p.sealer, VV_SEAL_ALL, 64, NULL), VV_OK);
    assert_true(vv_sealer_last_due_ns(p.sealer) < noon - VV_DAY);
    assert_int_equal(pipeline_marks(&p), 0);
    pipeline_deinit(&p);
}

static void history_comes_first_when_it_is_not_held_back_any_more(void **state)
{
    (void)state;
    struct pipeline p;
    init_hours(&p);
    uint32_t source = pipeline_source(&p, "a");
    fill_hour(&p, source, noon - 400 * VV_DAY);
    fill_hour(&p, source, noon - 4 * VV_HOUR);
    fill_hour(&p, source, noon - 3 * VV_HOUR);
    vv_sim_clock_advance(&p.clock, 2 * VV_SECOND);
    vv_sealer_hold(p.sealer, noon - VV_DAY);
    assert_int_equal(vv_sealer_step(p.sealer, VV_SEAL_DUE, 1, NULL), VV_OK);
    vv_sealer_hold(p.sealer, INT64_MIN);
    assert_int_equal(vv_sealer_step(p.sealer, VV_SEAL_DUE, 1, NULL), VV_OK);
    assert_true(vv_sealer_last_due_ns(p.sealer) < noon - VV_DAY);
    pipeline_deinit(&p);
}

static void expired_spans_are_cleared_away_unsealed(void **state)
{
    (void)state;
    struct pipeline p;
    init_hours(&p);
    vv_registry_set_retention(p.registry, p.tenant, 30 * VV_DAY);
    uint32_t source = pipeline_source(&p, "a");
    fill_hour(&p, source, noon - 29 * VV_DAY);
    vv_sim_clock_advance(&p.clock, 5 * VV_DAY);
    assert_int_equal(vv_sealer_step(p.sealer, VV_SEAL_DUE, 64, NULL), VV_OK);
    struct pieces pieces = pipeline_pieces(&p, source, noon - 29 * VV_DAY);
    assert_int_equal(pieces.runs + pieces.blocks, 0);
    assert_int_equal(pipeline_marks(&p), 0);
    pipeline_deinit(&p);
}

static void a_damaged_run_stops_no_other_span(void **state)
{
    (void)state;
    struct pipeline p;
    init_hours(&p);
    uint32_t source = pipeline_source(&p, "a");
    fill_hour(&p, source, noon);
    fill_hour(&p, source, noon + VV_HOUR);
    struct vv_piece bad = {.kind = VV_PIECE_RUN,
                           .key = {.partition = {.tenant = p.tenant,
                                                 .source = source,
                                                 .bucket_start = noon - 12 * VV_HOUR,
                                                 .bucket_ns = VV_DAY},
                                   .measurement = p.measurement,
                                   .span_start = noon},
                           .run = 1,
                           .bytes = VV_STR_LITERAL("not a block")};
    assert_int_equal(p.store->ops->put_run(p.store, &bad, NULL), VV_OK);
    assert_int_equal(vv_sealer_step(p.sealer, VV_SEAL_ALL, 64, NULL), VV_OK);
    assert_int_equal(vv_sealer_step(p.sealer, VV_SEAL_ALL, 64, NULL), VV_DONE);
    assert_int_equal(pipeline_pieces(&p, source, noon + VV_HOUR).runs, 0);
    assert_int_equal(pipeline_marks(&p), 1);
    struct vv_seal_figures figures;
    vv_sealer_read_figures(p.sealer, &figures);
    assert_int_equal(figures.damaged, 1);
    pipeline_deinit(&p);
}

/* So a request to seal everything ends while others go on writing. */
static void only_spans_whose_runs_are_old_enough_are_asked_for(void **state)
{
    (void)state;
    struct pipeline p;
    init_hours(&p);
    uint32_t a = pipeline_source(&p, "a");
    uint32_t b = pipeline_source(&p, "b");
    fill_hour(&p, a, noon);
    vv_stamp until = p.stamp;
    fill_hour(&p, b, noon);
    assert_int_equal(vv_sealer_step(p.sealer, until, 64, NULL), VV_OK);
    assert_int_equal(pipeline_pieces(&p, a, noon).runs, 0);
    pipeline_write(&p, a, 0, noon, 1); /* marked again, by a newer run */
    assert_int_equal(pipeline_flush(&p), VV_OK);
    assert_int_equal(vv_sealer_step(p.sealer, until, 64, NULL), VV_DONE);
    assert_int_equal(pipeline_pieces(&p, a, noon).runs, 1);
    assert_int_equal(pipeline_pieces(&p, b, noon).runs, 1);
    assert_int_equal(pipeline_marks(&p), 2);
    pipeline_deinit(&p);
}

/* ---- a shared store of which a part is away ---- */

/* The part of one source. */
struct away {
    struct vv_store_ops ops;
    struct vv_shared_ops shared;
    const struct vv_store_ops *inner;
    uint32_t source; /* VV_REGISTRY_NONE: none; ALL_SOURCES */
    bool reads;
    bool writes;
    bool begins;
    bool holds;     /* what is above it can't be made stale */
    unsigned calls; /* that failed */
    unsigned n_read;
};
#define ALL_SOURCES (VV_REGISTRY_NONE - 1)

static struct away away;

static bool is_of_part(const struct vv_span_key *key)
{
    return away.source == ALL_SOURCES || key->partition.source == away.source;
}

static enum vv_status fail_part(struct vv_error *error)
{
    away.calls++;
    return vv_error_set(error, VV_OVERLOAD, "too few replicas");
}

static enum vv_status read_part(struct vv_store *store, const struct vv_store_read *read,
                                vv_piece_visit visit, void *context, struct vv_error *error)
{
    const struct vv_span_key key = {.partition = read->partition};
    away.n_read += is_of_part(&key);
    if (away.reads && is_of_part(&key)) {
        return fail_part(error);
    }
    return away.inner->read(store, read, visit, context, error);
}

static enum vv_status put_part(struct vv_store *store, const struct vv_piece *pieces, size_t n,
                               struct vv_error *error)
{
    for (size_t i = 0; i < n && away.writes; i++) {
        if (is_of_part(&pieces[i].key)) {
            return fail_part(error);
        }
    }
    return away.inner->put_blocks(store, pieces, n, error);
}

static enum vv_status begin_part(struct vv_store *store, const struct vv_mark *marks, size_t n,
                                 bool *mine_out, struct vv_error *error)
{
    (void)store;
    for (size_t i = 0; i < n; i++) {
        mine_out[i] = true;
        if (away.begins && is_of_part(&marks[i].key)) {
            return fail_part(error);
        }
    }
    return VV_OK;
}

/* Three sources with a span each that is due; the part of the second one will be away. */
static void init_parts(struct pipeline *p, uint32_t sources[3])
{
    init_hours(p);
    for (int i = 0; i < 3; i++) {
        sources[i] = pipeline_source(p, (const char *[]){"a", "b", "c"}[i]);
        fill_hour(p, sources[i], noon - VV_DAY);
    }
    vv_sim_clock_advance(&p->clock, 2 * VV_SECOND);
    away = (struct away){.ops = *p->store->ops, .inner = p->store->ops, .source = sources[1]};
    away.ops.read = read_part;
    away.ops.put_blocks = put_part;
    away.shared.begin_seal = begin_part;
    away.ops.shared = &away.shared;
    p->store->ops = &away.ops;
}

/* Seals until it says something else than VV_OK; not for ever. */
static enum vv_status seal_all(struct pipeline *p)
{
    enum vv_status status = VV_OK;
    struct vv_error error = {0};
    for (int i = 0; i < 2000 && status == VV_OK; i++) {
        status = vv_sealer_step(p->sealer, VV_SEAL_DUE, 64, &error);
    }
    assert_true(status != VV_OVERLOAD || strstr(error.message, "too few replicas"));
    return status;
}

static void assert_sealed(struct pipeline *p, uint32_t source, bool sealed)
{
    struct pieces pieces = pipeline_pieces(p, source, noon - VV_DAY);
    assert_int_equal(pieces.runs == 0, sealed);
    assert_int_equal(pieces.rows, 360);
}

static void a_part_that_is_away_stops_no_other_span(void **state)
{
    (void)state;
    for (int way = 0; way < 3; way++) {
        struct pipeline p;
        uint32_t sources[3];
        struct vv_seal_figures figures;
        init_parts(&p, sources);
        away.reads = way == 0;
        away.writes = way == 1;
        away.begins = way == 2;
        assert_int_equal(seal_all(&p), VV_OVERLOAD);
        unsigned calls = away.calls;
        assert_in_range(calls, 1, 2);
        assert_int_equal(seal_all(&p), VV_OVERLOAD); /* and is not tried all the time */
        assert_int_equal(away.calls, calls);
        away.reads = false;
        assert_sealed(&p, sources[0], true);
        assert_sealed(&p, sources[1], false);
        assert_sealed(&p, sources[2], true);
        away.reads = way == 0;
        vv_sealer_read_figures(p.sealer, &figures);
        assert_int_equal(figures.put_off, 1);
        assert_int_equal(figures.damaged, 0);
        vv_sim_clock_advance(&p.clock, 6 * VV_SECOND);
        assert_int_equal(seal_all(&p), VV_OVERLOAD);
        assert_true(away.calls > calls);
        away.reads = away.writes = away.begins = false;
        vv_sim_clock_advance(&p.clock, 6 * VV_SECOND);
        assert_int_equal(seal_all(&p), VV_DONE);
        assert_sealed(&p, sources[1], true);
        assert_int_equal(pipeline_marks(&p), 0);
        pipeline_deinit(&p);
    }
}

static void a_part_with_many_spans_lets_all_rest(void **state)
{
    (void)state;
    struct pipeline p;
    uint32_t sources[3];
    init_parts(&p, sources);
    for (int i = 0; i < 700; i++) {
        char name[16];
        snprintf(name, sizeof name, "more%d", i);
        pipeline_write(&p, pipeline_source(&p, name), 0, noon - VV_DAY, 1);
    }
    assert_int_equal(pipeline_flush(&p), VV_OK);
    vv_sim_clock_advance(&p.clock, 2 * VV_SECOND);
    away.source = ALL_SOURCES;
    away.reads = true;
    for (int i = 0; i < 5; i++) {
        assert_int_equal(seal_all(&p), VV_OVERLOAD);
        assert_in_range(away.calls, 500, 703);
    }
    away.reads = false;
    vv_sim_clock_advance(&p.clock, 6 * VV_SECOND);
    assert_int_equal(seal_all(&p), VV_DONE);
    assert_int_equal(pipeline_marks(&p), 0);
    pipeline_deinit(&p);
}

static uint32_t fake_node(struct vv_store *store)
{
    (void)store;
    return 1;
}

static size_t no_peers(struct vv_store *store, struct vv_peer *peers_out, size_t max)
{
    (void)store;
    (void)peers_out;
    (void)max;
    return 0;
}

static bool hold_part(struct vv_store *store, const struct vv_mark *mark, bool has_run)
{
    (void)store;
    (void)has_run;
    return away.holds && is_of_part(&mark->key);
}

/* It waits before it is read, by itself. */
static void a_span_whose_units_cannot_be_made_stale_stops_no_other(void **state)
{
    (void)state;
    struct pipeline p;
    uint32_t sources[3];
    struct vv_seal_figures figures;
    init_parts(&p, sources);
    away.shared.node = fake_node;
    away.shared.peers = no_peers;
    away.shared.has_parked = fake_shared_has_parked;
    away.shared.has_parked_below = fake_shared_has_parked_below;
    away.shared.is_held = hold_part;
    pipeline_tier(&p, VV_SPACE_HOUR);
    away.holds = true;
    away.n_read = 0;
    for (int i = 0; i < 5; i++) {
        enum vv_status status = vv_sealer_step(p.sealer, VV_SEAL_DUE, 64, NULL);
        assert_true(status == VV_OK || status == VV_OVERLOAD);
    }
    vv_sealer_read_figures(p.sealer, &figures);
    assert_int_equal(figures.put_off, 1);
    assert_int_equal(away.n_read, 0);
    assert_sealed(&p, sources[0], true);
    assert_sealed(&p, sources[1], false);
    assert_sealed(&p, sources[2], true);
    away.holds = false;
    vv_sim_clock_advance(&p.clock, 6 * VV_SECOND);
    assert_int_equal(seal_all(&p), VV_DONE);
    assert_sealed(&p, sources[1], true);
    pipeline_deinit(&p);
}

/* ---- asking ahead ---- */

static int n_answers; /* that have begun and not ended */

struct vv_store_answer {
    struct vv_store *store;
    struct vv_store_read read;
};

static enum vv_status begin_answer(struct vv_store *store, const struct vv_store_read *read,
                                   struct vv_store_answer **answer_out, struct vv_error *error)
{
    (void)error;
    *answer_out = malloc(sizeof **answer_out);
    assert_non_null(*answer_out);
    **answer_out = (struct vv_store_answer){store, *read};
    n_answers++;
    return VV_OK;
}

static enum vv_status visit_answer(struct vv_store_answer *answer, vv_piece_visit visit,
                                   void *context, struct vv_error *error)
{
    return read_part(answer->store, &answer->read, visit, context, error);
}

static void end_answer(struct vv_store_answer *answer)
{
    n_answers--;
    free(answer);
}

static void what_was_asked_for_ahead_ends_when_its_span_waits(void **state)
{
    (void)state;
    struct pipeline p;
    uint32_t sources[3];
    init_parts(&p, sources);
    for (int i = 0; i < 60; i++) {
        char name[16];
        snprintf(name, sizeof name, "more%d", i);
        pipeline_write(&p, pipeline_source(&p, name), 0, noon - VV_DAY, 1);
    }
    assert_int_equal(pipeline_flush(&p), VV_OK);
    vv_sim_clock_advance(&p.clock, 2 * VV_SECOND);
    away.shared.node = fake_node;
    away.shared.peers = no_peers;
    away.shared.has_parked = fake_shared_has_parked;
    away.shared.has_parked_below = fake_shared_has_parked_below;
    away.shared.is_held = hold_part;
    away.ops.begin_read = begin_answer;
    away.ops.visit_read = visit_answer;
    away.ops.end_read = end_answer;
    pipeline_tier(&p, VV_SPACE_HOUR);
    away.holds = true;
    for (int i = 0; i < 20; i++) {
        (void)!vv_sealer_step(p.sealer, VV_SEAL_DUE, 64, NULL);
    }
    assert_sealed(&p, sources[0], true);
    assert_sealed(&p, sources[1], false);
    assert_int_equal(n_answers, 0);
    pipeline_deinit(&p);
}

/* It has no parts. */
static void an_overload_of_a_store_of_one_node_is_returned(void **state)
{
    (void)state;
    struct pipeline p;
    uint32_t sources[3];
    init_parts(&p, sources);
    away.ops.shared = NULL;
    away.writes = true;
    assert_int_equal(seal_all(&p), VV_OVERLOAD);
    assert_sealed(&p, sources[0], false);
    pipeline_deinit(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_span_is_sealed_when_it_is_over_and_quiet),
        cmocka_unit_test(runs_that_follow_each_other_become_one_block),
        cmocka_unit_test(late_points_are_folded_into_the_block),
        cmocka_unit_test(nothing_is_lost_whichever_write_fails),
        cmocka_unit_test(history_that_is_held_back_holds_up_no_other_span),
        cmocka_unit_test(history_comes_first_when_it_is_not_held_back_any_more),
        cmocka_unit_test(expired_spans_are_cleared_away_unsealed),
        cmocka_unit_test(a_damaged_run_stops_no_other_span),
        cmocka_unit_test(only_spans_whose_runs_are_old_enough_are_asked_for),
        cmocka_unit_test(a_part_that_is_away_stops_no_other_span),
        cmocka_unit_test(a_part_with_many_spans_lets_all_rest),
        cmocka_unit_test(a_span_whose_units_cannot_be_made_stale_stops_no_other),
        cmocka_unit_test(what_was_asked_for_ahead_ends_when_its_span_waits),
        cmocka_unit_test(an_overload_of_a_store_of_one_node_is_returned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
