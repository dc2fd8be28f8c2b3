/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rerolling: what is damaged in a tier's record is found and put right, and nothing is touched
 * where what is below is not certainly whole.
 */
#include "seal/reroll.h"

#include "seal/pieces.h"
#include "seal/stale.h"
#include "support/fake_shared.h"
#include "support/pipeline.h"
#include "tier/chunk.h"
#include "tier/cohort.h"
#include "tier/rollup.h"

#include <stdlib.h>

static const int64_t midnight = 20000 * VV_DAY;

struct world {
    struct pipeline p;
    struct vv_reroll *reroll;
    uint32_t source;
    uint32_t spaces[VV_SPACES];
    struct vv_reroll_bounds bounds;
    int64_t now;
};

static void seal_all(struct world *world)
{
    struct vv_error error = {0};
    enum vv_status status;
    while ((status = vv_sealer_step(world->p.sealer, VV_SEAL_ALL, 8, &error)) == VV_OK) {
    }
    if (status != VV_DONE) {
        fail_msg("%s", error.message);
    }
}

/* Two days of points, one each second of the first minute of each hour but the third; sealed, with
 * all tiers, some hours before now. */
static int set_up(void **state)
{
    struct world *world = calloc(1, sizeof *world);
    assert_non_null(world);
    pipeline_init(&world->p, midnight);
    world->p.flush.bucket_ns = VV_DAY;
    world->p.flush.span_ns = VV_HOUR;
    for (int tier = 0; tier < VV_SPACES; tier++) {
        world->spaces[tier] = pipeline_tier(&world->p, (enum vv_space)tier);
        world->bounds.tier_from[tier] = VV_TIME_MIN;
    }
    world->bounds.raw_from = VV_TIME_MIN;
    world->bounds.heard_until = INT64_MAX;
    world->source = pipeline_source(&world->p, "a");
    for (int hour = 0; hour < 48; hour++) {
        for (int second = 0; second < 60 && hour != 2; second++) {
            int64_t time = midnight + hour * VV_HOUR + second * VV_SECOND;
            pipeline_write(&world->p, world->source, 0, time, (uint64_t)(hour * 100 + second));
        }
    }
    world->now = midnight + 60 * VV_DAY;
    vv_sim_clock_advance(&world->p.clock, 60 * VV_DAY);
    assert_int_equal(pipeline_flush(&world->p), VV_OK);
    seal_all(world);
    const struct vv_reroll_options options = {.registry = world->p.registry,
                                              .store = world->p.store,
                                              .deletions = world->p.deletions,
                                              .block_bytes_max = 1 << 20,
                                              .percentile_error = 0.01};
    assert_int_equal(vv_reroll_create(&options, &world->reroll), VV_OK);
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;
    vv_reroll_destroy(world->reroll);
    pipeline_deinit(&world->p);
    free(world);
    return 0;
}

static struct vv_reroll_result look(struct world *world, enum vv_space tier, int64_t time,
                                    bool repair)
{
    struct vv_reroll_result result;
    struct vv_error error = {0};
    if (vv_reroll_unit(world->reroll, tier, world->p.tenant, world->source, world->p.measurement,
                       time, &world->bounds, world->now, repair, &result, &error) != VV_OK) {
        fail_msg("%s", error.message);
    }
    return result;
}

static void assert_verdict(struct world *world, enum vv_space tier, int64_t time,
                           enum vv_reroll_verdict verdict)
{
    assert_int_equal(look(world, tier, time, false).verdict, verdict);
}

static struct vv_span_key key_of(const struct world *world, enum vv_space tier, int64_t from)
{
    return vv_unit_key(tier, world->spaces[tier], world->source, world->p.measurement, from);
}

static void put_record(struct world *world, enum vv_space tier, int64_t from, struct vv_str bytes)
{
    struct vv_error error = {0};
    const struct vv_piece piece = {
        .kind = VV_PIECE_BLOCK, .key = key_of(world, tier, from), .bytes = bytes};
    if (world->p.store->ops->put_blocks(world->p.store, &piece, 1, &error) != VV_OK) {
        fail_msg("%s", error.message);
    }
}

/* A record of steps that looks well, of n values, each `value`, one a second from `time` on. */
static void put_steps(struct world *world, enum vv_space tier, const struct vv_unit *unit,
                      int64_t time, size_t n, uint64_t value)
{
    struct vv_rollup *rollup;
    int64_t times[64];
    uint64_t values[64];
    struct vv_buffer bytes = {0};
    struct vv_error error = {0};
    for (size_t i = 0; i < n; i++) {
        times[i] = time + (int64_t)i * VV_SECOND;
        values[i] = value;
    }
    struct vv_column column = {.metric = world->p.metrics[0], .type = VV_INT64, .values = values};
    const struct vv_rows rows = {.n_rows = n, .n_columns = 1, .times = times, .columns = &column};
    assert_int_equal(vv_rollup_create(0.01, &rollup), VV_OK);
    vv_rollup_begin(rollup, vv_tier_step_ns(tier));
    assert_int_equal(vv_rollup_add_rows(rollup, &rows, &error), VV_OK);
    vv_unit_write(&bytes, VV_UNIT_STEPS, unit);
    assert_int_equal(vv_rollup_encode(rollup, 0, 0, &bytes, &error), VV_OK);
    put_record(world, tier, unit->from, (struct vv_str){(char *)bytes.data, bytes.size});
    vv_buffer_deinit(&bytes);
    vv_rollup_destroy(rollup);
}

/* ---- tests ---- */

static void test_what_the_sealer_built_is_as_it_should_be(void **state)
{
    struct world *world = *state;
    for (int hour = 0; hour < 48; hour++) {
        assert_verdict(world, VV_SPACE_MINUTE, midnight + hour * VV_HOUR,
                       hour == 2 ? VV_REROLL_NOTHING : VV_REROLL_SAME);
    }
    assert_verdict(world, VV_SPACE_HOUR, midnight, VV_REROLL_SAME);
    assert_verdict(world, VV_SPACE_HOUR, midnight + VV_DAY, VV_REROLL_SAME);
    assert_verdict(world, VV_SPACE_DAY, midnight, VV_REROLL_SAME);
    assert_verdict(world, VV_SPACE_HOUR, midnight + 7 * VV_DAY, VV_REROLL_NOTHING);
    assert_verdict(world, VV_SPACE_DAY, world->now, VV_REROLL_OPEN);
}

static void test_a_damaged_record_is_found_and_repaired(void **state)
{
    struct world *world = *state;
    const struct vv_unit hour = {midnight, midnight + VV_HOUR};
    const struct vv_unit day = {midnight, midnight + VV_DAY};
    put_steps(world, VV_SPACE_MINUTE, &hour, midnight, 59, 7);
    put_steps(world, VV_SPACE_HOUR, &day, midnight, 60, 7);
    struct vv_reroll_result result = look(world, VV_SPACE_MINUTE, midnight, false);
    assert_int_equal(result.verdict, VV_REROLL_DIFFERENT);
    assert_string_equal(result.what, "count");
    assert_int_equal(result.steps, 1);
    assert_int_equal(result.start, midnight);
    assert_int_equal(result.metric, world->p.metrics[0]);
    assert_false(result.is_repaired);
    assert_verdict(world, VV_SPACE_MINUTE, midnight, VV_REROLL_DIFFERENT); /* untouched */
    assert_true(look(world, VV_SPACE_MINUTE, midnight, true).is_repaired);
    assert_verdict(world, VV_SPACE_MINUTE, midnight, VV_REROLL_SAME);
    result = look(world, VV_SPACE_HOUR, midnight, true);
    assert_int_equal(result.verdict, VV_REROLL_DIFFERENT);
    assert_int_equal(result.steps, 23); /* the hours with points, in each something */
    assert_true(result.is_repaired);
    assert_verdict(world, VV_SPACE_HOUR, midnight, VV_REROLL_SAME);
    assert_verdict(world, VV_SPACE_DAY, midnight, VV_REROLL_SAME);
}

static void test_each_part_of_a_step_is_compared(void **state)
{
    struct world *world = *state;
    const struct vv_unit unit = {midnight, midnight + VV_HOUR};
    static const struct {
        int64_t late;
        size_t n;
        uint64_t value;
        const char *what;
    } cases[] = {{0, 59, 7, "count"}, {0, 60, 7, "min or max"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        put_steps(world, VV_SPACE_MINUTE, &unit, midnight + cases[i].late, cases[i].n,
                  cases[i].value);
        struct vv_reroll_result result = look(world, VV_SPACE_MINUTE, midnight, true);
        assert_int_equal(result.verdict, VV_REROLL_DIFFERENT);
        assert_string_equal(result.what, cases[i].what);
        assert_verdict(world, VV_SPACE_MINUTE, midnight, VV_REROLL_SAME);
    }
}

static void test_a_record_that_is_missing_or_unreadable_is_made(void **state)
{
    struct world *world = *state;
    put_record(world, VV_SPACE_HOUR, midnight, (struct vv_str){0});
    assert_verdict(world, VV_SPACE_HOUR, midnight, VV_REROLL_MISSING);
    assert_true(look(world, VV_SPACE_HOUR, midnight, true).is_repaired);
    assert_verdict(world, VV_SPACE_HOUR, midnight, VV_REROLL_SAME);
    put_record(world, VV_SPACE_HOUR, midnight, VV_STR_LITERAL("no record at all"));
    assert_true(look(world, VV_SPACE_HOUR, midnight, true).is_repaired);
    assert_verdict(world, VV_SPACE_HOUR, midnight, VV_REROLL_SAME);
    const struct vv_unit nothing = {midnight + 2 * VV_HOUR, midnight + 3 * VV_HOUR};
    assert_verdict(world, VV_SPACE_MINUTE, nothing.from, VV_REROLL_NOTHING);
}

/* It may be all that is left of what was below it. */
static void test_a_record_without_any_points_below_is_told_and_never_removed(void **state)
{
    struct world *world = *state;
    const struct vv_unit nothing = {midnight + 2 * VV_HOUR, midnight + 3 * VV_HOUR};
    put_steps(world, VV_SPACE_MINUTE, &nothing, nothing.from, 5, 1);
    for (int turn = 0; turn < 2; turn++) {
        struct vv_reroll_result result = look(world, VV_SPACE_MINUTE, nothing.from, true);
        assert_int_equal(result.verdict, VV_REROLL_DIFFERENT);
        assert_false(result.is_repaired);
    }
}

/* ---- what is too large ---- */

struct there {
    size_t blocks;
    size_t runs;
};

static enum vv_status count_piece(void *context, const struct vv_piece *piece)
{
    struct there *there = context;
    there->blocks += piece->kind == VV_PIECE_BLOCK && piece->bytes.size > 0;
    there->runs += piece->kind == VV_PIECE_RUN;
    return VV_OK;
}

static struct there what_is_there(struct world *world, enum vv_space tier, int64_t from)
{
    struct there there = {0};
    const struct vv_span_key key = key_of(world, tier, from);
    const struct vv_store_read read = {.partition = key.partition,
                                       .measurement = key.measurement,
                                       .span_from = from,
                                       .span_to = from + 1};
    assert_int_equal(world->p.store->ops->read(world->p.store, &read, count_piece, &there, NULL),
                     VV_OK);
    return there;
}

/* One step of the metrics from the first one on: a part of a record of minutes. */
static void add_part(struct world *world, uint32_t first, uint32_t part,
                     struct vv_piece_list *parts)
{
    struct vv_rollup *rollup;
    uint64_t value = 3;
    int64_t time = midnight;
    struct vv_buffer bytes = {0};
    const struct vv_unit unit = {midnight, midnight + VV_HOUR};
    assert_int_equal(vv_rollup_create(0.01, &rollup), VV_OK);
    vv_rollup_begin(rollup, VV_MINUTE);
    for (uint32_t i = 0; i < VV_CHUNK_METRICS_MAX; i++) {
        struct vv_column column = {.metric = first + i, .type = VV_INT64, .values = &value};
        const struct vv_rows rows = {
            .n_rows = 1, .n_columns = 1, .times = &time, .columns = &column};
        assert_int_equal(vv_rollup_add_rows(rollup, &rows, NULL), VV_OK);
    }
    vv_unit_write(&bytes, VV_UNIT_STEPS, &unit);
    assert_int_equal(vv_rollup_encode(rollup, 0, 0, &bytes, NULL), VV_OK);
    const struct vv_piece piece = {.kind = VV_PIECE_BLOCK,
                                   .key = key_of(world, VV_SPACE_MINUTE, midnight),
                                   .part = part,
                                   .bytes = {(char *)bytes.data, bytes.size}};
    assert_true(vv_piece_list_add(parts, &piece, true));
    vv_buffer_deinit(&bytes);
    vv_rollup_destroy(rollup);
}

/* A record of the first hour with more metrics than can be rolled up together. */
static void put_too_much(struct world *world)
{
    struct vv_piece_list parts = {0};
    for (uint32_t part = 0; part * VV_CHUNK_METRICS_MAX <= VV_ROLLUP_METRICS_MAX; part++) {
        add_part(world, part * VV_CHUNK_METRICS_MAX, part, &parts);
    }
    assert_int_equal(world->p.store->ops->put_blocks(world->p.store, parts.items, parts.n, NULL),
                     VV_OK);
    vv_piece_list_deinit(&parts);
}

static void test_the_record_of_a_unit_that_is_too_large_is_never_replaced(void **state)
{
    struct world *world = *state;
    put_too_much(world);
    for (int turn = 0; turn < 2; turn++) {
        struct vv_reroll_result result = look(world, VV_SPACE_HOUR, midnight, true);
        assert_int_equal(result.verdict, VV_REROLL_DAMAGED);
        assert_false(result.is_repaired);
        assert_int_equal(what_is_there(world, VV_SPACE_HOUR, midnight).blocks, 1);
    }
    assert_verdict(world, VV_SPACE_HOUR, midnight + VV_DAY, VV_REROLL_SAME);
}

static void test_the_sealer_keeps_the_record_of_a_unit_that_is_too_large(void **state)
{
    struct world *world = *state;
    const struct vv_stale_options options = {.registry = world->p.registry,
                                             .store = world->p.store};
    const struct vv_stale_unit stale = {.key = key_of(world, VV_SPACE_HOUR, midnight),
                                        .to = midnight + VV_DAY,
                                        .due_ns = midnight,
                                        .run = world->p.stamp};
    put_too_much(world);
    assert_int_equal(vv_stale_put(&options, &stale, NULL), VV_OK);
    seal_all(world);
    assert_int_equal(what_is_there(world, VV_SPACE_HOUR, midnight).blocks, 1);
    assert_int_equal(what_is_there(world, VV_SPACE_HOUR, midnight).runs, 1); /* still stale */
    assert_int_equal(pipeline_marks(&world->p), 0); /* and not tried again and again */
    assert_verdict(world, VV_SPACE_HOUR, midnight, VV_REROLL_WAITING);
}

/* ---- what the store can't read ---- */

static struct {
    struct vv_store_ops ops;
    const struct vv_store_ops *real;
    uint32_t tenant; /* whose partitions can't be read */
} bad;

static enum vv_status read_badly(struct vv_store *store, const struct vv_store_read *read,
                                 vv_piece_visit visit, void *context, struct vv_error *error)
{
    return read->partition.tenant == bad.tenant
               ? vv_error_set(error, VV_CORRUPT, "the store is damaged")
               : bad.real->read(store, read, visit, context, error);
}

/* As where a checksum of the store's own is wrong: no piece comes. */
static void test_what_the_store_cannot_read_is_damaged_and_fails_nothing(void **state)
{
    struct world *world = *state;
    bad.real = world->p.store->ops;
    bad.ops = *bad.real;
    bad.ops.read = read_badly;
    world->p.store->ops = &bad.ops;
    bad.tenant = world->p.tenant; /* raw */
    assert_verdict(world, VV_SPACE_MINUTE, midnight, VV_REROLL_DAMAGED);
    assert_verdict(world, VV_SPACE_HOUR, midnight + VV_DAY, VV_REROLL_SAME); /* all in records */
    bad.tenant = world->spaces[VV_SPACE_MINUTE]; /* the record, and what is below one */
    assert_verdict(world, VV_SPACE_MINUTE, midnight, VV_REROLL_DAMAGED);
    assert_verdict(world, VV_SPACE_HOUR, midnight, VV_REROLL_DAMAGED);
    world->p.store->ops = bad.real;
    assert_verdict(world, VV_SPACE_MINUTE, midnight, VV_REROLL_SAME);
}

static void test_nothing_is_built_of_what_has_expired(void **state)
{
    struct world *world = *state;
    const struct vv_unit hour = {midnight, midnight + VV_HOUR};
    world->bounds.raw_from = midnight + VV_SECOND;
    put_steps(world, VV_SPACE_MINUTE, &hour, midnight, 59, 7);
    assert_int_equal(look(world, VV_SPACE_MINUTE, midnight, true).verdict, VV_REROLL_EXPIRED);
    assert_verdict(world, VV_SPACE_MINUTE, midnight + VV_HOUR, VV_REROLL_SAME);
    world->bounds.raw_from = midnight;
    assert_verdict(world, VV_SPACE_MINUTE, midnight, VV_REROLL_DIFFERENT); /* it was left alone */
}

static void test_a_stretch_without_a_record_is_empty_only_where_its_tier_was_on(void **state)
{
    struct world *world = *state;
    world->bounds.raw_from = INT64_MAX;
    assert_verdict(world, VV_SPACE_HOUR, midnight, VV_REROLL_SAME); /* in spite of its third hour */
    world->bounds.tier_from[VV_SPACE_MINUTE] = midnight + 2 * VV_HOUR;
    assert_verdict(world, VV_SPACE_HOUR, midnight, VV_REROLL_SAME);
    world->bounds.tier_from[VV_SPACE_MINUTE] = midnight + 2 * VV_HOUR + 1;
    assert_verdict(world, VV_SPACE_HOUR, midnight, VV_REROLL_EXPIRED);
    assert_verdict(world, VV_SPACE_HOUR, midnight + VV_DAY, VV_REROLL_SAME); /* all in records */
}

static void test_what_waits_for_the_sealer_is_left_to_it(void **state)
{
    struct world *world = *state;
    pipeline_write(&world->p, world->source, 0, midnight + VV_MINUTE, 5);
    assert_int_equal(pipeline_flush(&world->p), VV_OK);
    assert_verdict(world, VV_SPACE_MINUTE, midnight, VV_REROLL_WAITING);
    assert_verdict(world, VV_SPACE_HOUR, midnight, VV_REROLL_WAITING);
    assert_verdict(world, VV_SPACE_DAY, midnight, VV_REROLL_WAITING);
    seal_all(world);
    assert_verdict(world, VV_SPACE_MINUTE, midnight, VV_REROLL_SAME);
    assert_verdict(world, VV_SPACE_DAY, midnight, VV_REROLL_SAME);
}

/* A run that says that nothing above it is stale: as one that came while the unit was open. */
static void test_nothing_is_built_of_what_is_not_sealed(void **state)
{
    struct world *world = *state;
    struct vv_buffer bytes = {0};
    const struct vv_unit hour = {midnight + VV_HOUR, midnight + 2 * VV_HOUR};
    vv_unit_write(&bytes, VV_UNIT_STALE, &hour);
    struct vv_piece run = {.kind = VV_PIECE_RUN,
                           .key = key_of(world, VV_SPACE_MINUTE, hour.from),
                           .run = 99,
                           .bytes = {(char *)bytes.data, bytes.size}};
    assert_int_equal(world->p.store->ops->put_run(world->p.store, &run, NULL), VV_OK);
    assert_verdict(world, VV_SPACE_MINUTE, hour.from, VV_REROLL_WAITING);
    assert_verdict(world, VV_SPACE_HOUR, midnight, VV_REROLL_UNSEALED);
    assert_verdict(world, VV_SPACE_HOUR, midnight + VV_DAY, VV_REROLL_SAME);
    run.key = (struct vv_span_key){.partition = {.tenant = world->p.tenant,
                                                 .source = world->source,
                                                 .bucket_start = midnight,
                                                 .bucket_ns = VV_DAY},
                                   .measurement = world->p.measurement,
                                   .span_start = midnight};
    assert_int_equal(world->p.store->ops->put_run(world->p.store, &run, NULL), VV_OK);
    assert_verdict(world, VV_SPACE_MINUTE, midnight, VV_REROLL_UNSEALED);
    vv_buffer_deinit(&bytes);
}

static void test_nothing_is_built_of_what_cannot_be_read(void **state)
{
    struct world *world = *state;
    put_record(world, VV_SPACE_MINUTE, midnight, VV_STR_LITERAL("no record at all"));
    assert_verdict(world, VV_SPACE_HOUR, midnight, VV_REROLL_DAMAGED);
    const struct vv_piece block = {
        .kind = VV_PIECE_BLOCK,
        .key = {.partition = {.tenant = world->p.tenant,
                              .source = world->source,
                              .bucket_start = midnight,
                              .bucket_ns = VV_DAY},
                .measurement = world->p.measurement,
                .span_start = midnight},
        .bytes = VV_STR_LITERAL("no block at all"),
    };
    assert_int_equal(world->p.store->ops->put_blocks(world->p.store, &block, 1, NULL), VV_OK);
    assert_verdict(world, VV_SPACE_MINUTE, midnight, VV_REROLL_DAMAGED);
    assert_verdict(world, VV_SPACE_MINUTE, midnight + VV_HOUR, VV_REROLL_SAME);
}

/* ---- beside other nodes ---- */

static bool is_marked;
static bool is_mine;
static size_t n_taken;
static size_t n_learnt;
static int64_t runs_put_us;

static enum vv_status say_marked(struct vv_store *store, const struct vv_mark *mark,
                                 bool *is_marked_out, struct vv_error *error)
{
    (void)store;
    (void)mark;
    (void)error;
    *is_marked_out = is_marked;
    return VV_OK;
}

static enum vv_status take(struct vv_store *store, const struct vv_mark *mark, bool *mine_out,
                           struct vv_error *error)
{
    (void)store;
    (void)mark;
    (void)error;
    n_taken++;
    *mine_out = is_mine;
    return VV_OK;
}

static enum vv_status learn(void *context, struct vv_error *error)
{
    (void)context;
    (void)error;
    n_learnt++;
    return VV_OK;
}

struct telling {
    vv_piece_visit visit;
    void *context;
};

static enum vv_status tell_version(void *context, const struct vv_piece *piece)
{
    const struct telling *telling = context;
    struct vv_piece told = *piece;
    told.version = piece->kind == VV_PIECE_RUN ? runs_put_us : piece->version;
    return telling->visit(telling->context, &told);
}

/* Runs say when they were put, as those of a store that nodes share do. */
static enum vv_status read_with_versions(struct vv_store *store, const struct vv_store_read *read,
                                         vv_piece_visit visit, void *context,
                                         struct vv_error *error)
{
    struct telling telling = {visit, context};
    return fake_shared_read(store, read, tell_version, &telling, error);
}

/* The world's store, from now on with other nodes. */
static struct fake_shared *share(struct world *world)
{
    struct fake_shared *fake = fake_shared_wrap(world->p.store, 1);
    fake->ops.read = read_with_versions;
    fake->shared.is_marked = say_marked;
    fake->shared.take_seal = take;
    const struct vv_reroll_options options = {.registry = world->p.registry,
                                              .store = world->p.store,
                                              .deletions = world->p.deletions,
                                              .block_bytes_max = 1 << 20,
                                              .percentile_error = 0.01,
                                              .learn = learn};
    vv_reroll_destroy(world->reroll);
    assert_int_equal(vv_reroll_create(&options, &world->reroll), VV_OK);
    is_marked = false;
    is_mine = true;
    n_taken = n_learnt = 0;
    runs_put_us = 0;
    return fake;
}

static void drop_record(struct world *world, enum vv_space tier, int64_t from)
{
    put_record(world, tier, from, (struct vv_str){"", 0});
}

static void test_beside_others_only_what_is_wrong_is_taken_and_looked_at_again(void **state)
{
    struct world *world = *state;
    share(world);
    assert_int_equal(look(world, VV_SPACE_HOUR, midnight, true).verdict, VV_REROLL_SAME);
    assert_int_equal(n_taken, 0);
    drop_record(world, VV_SPACE_MINUTE, midnight);
    assert_verdict(world, VV_SPACE_MINUTE, midnight, VV_REROLL_MISSING);
    assert_int_equal(n_taken, 0);
    struct vv_reroll_result result = look(world, VV_SPACE_MINUTE, midnight, true);
    assert_true(result.is_repaired);
    assert_int_equal(n_taken, 1);
    assert_int_equal(n_learnt, 1);
    assert_verdict(world, VV_SPACE_MINUTE, midnight, VV_REROLL_SAME);
}

static void test_a_marked_unit_waits_for_who_builds_it(void **state)
{
    struct world *world = *state;
    share(world);
    drop_record(world, VV_SPACE_MINUTE, midnight);
    is_marked = true;
    assert_int_equal(look(world, VV_SPACE_MINUTE, midnight, true).verdict, VV_REROLL_WAITING);
    assert_int_equal(n_taken, 0);
    is_marked = false;
    assert_verdict(world, VV_SPACE_MINUTE, midnight, VV_REROLL_MISSING);
}

static void test_what_cannot_be_taken_is_left(void **state)
{
    struct world *world = *state;
    share(world);
    drop_record(world, VV_SPACE_MINUTE, midnight);
    is_mine = false;
    struct vv_reroll_result result = look(world, VV_SPACE_MINUTE, midnight, true);
    assert_int_equal(result.verdict, VV_REROLL_AWAY);
    assert_false(result.is_repaired);
    is_mine = true;
    assert_true(look(world, VV_SPACE_MINUTE, midnight, true).is_repaired);
}

static void test_what_another_node_may_still_have_is_refused(void **state)
{
    struct world *world = *state;
    share(world);
    drop_record(world, VV_SPACE_MINUTE, midnight);
    world->bounds.heard_until = midnight + VV_HOUR - 1;
    assert_int_equal(look(world, VV_SPACE_MINUTE, midnight, true).verdict, VV_REROLL_AWAY);
    world->bounds.heard_until = midnight + VV_HOUR;
    assert_true(look(world, VV_SPACE_MINUTE, midnight, true).is_repaired);
}

/* Its runs were covered by a record that somebody took away. */
static void test_a_stale_unit_that_nobody_will_build_is_wrong(void **state)
{
    struct world *world = *state;
    share(world);
    struct vv_error error = {0};
    struct vv_buffer bytes = {0};
    const struct vv_unit unit = {midnight, midnight + VV_HOUR};
    runs_put_us = world->now / VV_MICROSECOND;
    vv_unit_write(&bytes, VV_UNIT_STALE, &unit);
    struct vv_piece run = {.kind = VV_PIECE_RUN,
                           .key = key_of(world, VV_SPACE_MINUTE, midnight),
                           .run = vv_stamp_make(1, 0), /* whenever it was put (stale.c) */
                           .bytes = {(char *)bytes.data, bytes.size}};
    struct vv_store *store = world->p.store;
    assert_int_equal(store->ops->put_run(store, &run, &error), VV_OK);
    /* Its mark may come a moment later. */
    assert_verdict(world, VV_SPACE_MINUTE, midnight, VV_REROLL_WAITING);
    world->now += VV_HOUR;
    is_marked = true;
    assert_verdict(world, VV_SPACE_MINUTE, midnight, VV_REROLL_WAITING);
    is_marked = false;
    assert_verdict(world, VV_SPACE_MINUTE, midnight, VV_REROLL_DIFFERENT);
    assert_true(look(world, VV_SPACE_MINUTE, midnight, true).is_repaired);
    assert_verdict(world, VV_SPACE_MINUTE, midnight, VV_REROLL_SAME);
    vv_buffer_deinit(&bytes);
}

/* It is not known from when on a source has points: what is empty is passed over. */
static void test_beside_others_nothing_is_refused_where_nothing_is(void **state)
{
    struct world *world = *state;
    share(world);
    world->bounds.raw_from = world->now;
    for (int tier = 0; tier < VV_SPACES; tier++) {
        world->bounds.tier_from[tier] = world->now;
    }
    assert_verdict(world, VV_SPACE_MINUTE, midnight - 9 * VV_DAY, VV_REROLL_NOTHING);
    assert_verdict(world, VV_SPACE_MINUTE, midnight, VV_REROLL_EXPIRED);
}

static enum vv_status say_cohort(struct vv_store *store, uint32_t tenant, uint32_t source,
                                 uint32_t *cohort_out, uint64_t *id_out)
{
    (void)store;
    (void)tenant;
    *cohort_out = VV_COHORT_NUMBER | 1;
    *id_out = source;
    return VV_OK;
}

static struct vv_mark marked; /* the last one of a source's own unit */
static bool was_marked;       /* when the record was put */

static enum vv_status note_mark(struct vv_store *store, const struct vv_mark *mark,
                                struct vv_error *error)
{
    marked = vv_cohort_is(mark->key.partition.source) ? marked : *mark;
    return fake_shared_of(store)->inner->put_mark(store, mark, error);
}

static enum vv_status note_put(struct vv_store *store, const struct vv_piece *pieces, size_t n,
                               struct vv_error *error)
{
    was_marked = vv_span_key_compare(&marked.key, &pieces[0].key) == 0;
    return fake_shared_of(store)->inner->put_blocks(store, pieces, n, error);
}

/* The node may be lost when the record is there and the cohort is built of the one before. */
static void test_a_repaired_unit_is_marked_before_so_that_its_cohort_is_told(void **state)
{
    struct world *world = *state;
    struct fake_shared *fake = share(world);
    fake->shared.cohort_of = say_cohort;
    fake->ops.put_mark = note_mark;
    drop_record(world, VV_SPACE_HOUR, midnight);
    fake->ops.put_blocks = note_put;
    memset(&marked, 0, sizeof marked);
    was_marked = false;
    assert_true(look(world, VV_SPACE_HOUR, midnight, true).is_repaired);
    assert_true(was_marked);
}

#define reroll_test(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        reroll_test(test_what_the_sealer_built_is_as_it_should_be),
        reroll_test(test_a_damaged_record_is_found_and_repaired),
        reroll_test(test_each_part_of_a_step_is_compared),
        reroll_test(test_a_record_that_is_missing_or_unreadable_is_made),
        reroll_test(test_a_record_without_any_points_below_is_told_and_never_removed),
        reroll_test(test_the_record_of_a_unit_that_is_too_large_is_never_replaced),
        reroll_test(test_the_sealer_keeps_the_record_of_a_unit_that_is_too_large),
        reroll_test(test_what_the_store_cannot_read_is_damaged_and_fails_nothing),
        reroll_test(test_nothing_is_built_of_what_has_expired),
        reroll_test(test_a_stretch_without_a_record_is_empty_only_where_its_tier_was_on),
        reroll_test(test_what_waits_for_the_sealer_is_left_to_it),
        reroll_test(test_nothing_is_built_of_what_is_not_sealed),
        reroll_test(test_nothing_is_built_of_what_cannot_be_read),
        reroll_test(test_beside_others_only_what_is_wrong_is_taken_and_looked_at_again),
        reroll_test(test_a_marked_unit_waits_for_who_builds_it),
        reroll_test(test_what_cannot_be_taken_is_left),
        reroll_test(test_what_another_node_may_still_have_is_refused),
        reroll_test(test_a_stale_unit_that_nobody_will_build_is_wrong),
        reroll_test(test_beside_others_nothing_is_refused_where_nothing_is),
        reroll_test(test_a_repaired_unit_is_marked_before_so_that_its_cohort_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
