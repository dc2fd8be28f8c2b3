/* SPDX-License-Identifier: Apache-2.0 */
/* What only tiers have is deleted in whole steps, whichever node is asked and whoever builds. */
#include "seal/seal_private.h"
#include "tiers_fixture.h"

/* Until only tiers have what was written; then all hear each other again. */
static void outlive(int64_t kept_ns)
{
    live_long(1, VV_DAY); /* runs that are not sealed do not live so long */
    live_long(5, kept_ns / 4);
    for (int i = 0; i < 12; i++) {
        advance(10 * VV_SECOND);
        work(&nodes[0]);
        work(&nodes[1]);
    }
}

static void outlive_points(void)
{
    outlive(36 * VV_DAY);
}

static void build_again(void)
{
    for (int i = 0; i < 2; i++) {
        for (size_t n = 0; n < 2; n++) {
            work(&nodes[n]);
            (void)rig_step(&nodes[n].rig, VV_TASK_SWEEP);
        }
        sweep();
        seal(&nodes[1]);
    }
}

static void assert_left(long long left)
{
    for (int tier = 0; tier < VV_SPACES; tier++) {
        for (size_t n = 0; n < 2; n++) {
            long long found = count_by(&nodes[n], (enum vv_space)tier);
            if (found != left) {
                fail_msg("node %zu: tier %d has %lld points, not %lld", n, tier, found, left);
            }
        }
    }
}

static void begin_with_minutes(void)
{
    begin("blocks", 1);
    keep_minutes_for_ever();
}

static void delete_a_minute(size_t by, bool dies)
{
    begin_with_minutes();
    int64_t from = fill_minutes(&nodes[1]);
    long long all = written;
    outlive_points();
    assert_left(all);
    delete_between(&nodes[by], from + VV_MINUTE, from + 2 * VV_MINUTE);
    if (dies) {
        kill_node(&nodes[by]);
        bury_node(&nodes[by], 7);
        rig_open(&nodes[by].rig);
    }
    build_again();
    assert_left(all - 60);
    build_again(); /* and not once more */
    assert_left(all - 60);
    end();
}

static void what_only_tiers_have_is_deleted_whichever_node_is_asked(void **state)
{
    (void)state;
    delete_a_minute(0, false);
    delete_a_minute(1, false);
}

static void so_it_is_when_the_node_dies_that_took_the_order(void **state)
{
    (void)state;
    delete_a_minute(0, true);
    delete_a_minute(1, true);
}

static void a_part_of_a_step_is_refused_with_the_nearest_range(void **state)
{
    (void)state;
    struct vv_error error = {0};
    char text[2][VV_TIME_TEXT_SIZE];
    begin_with_minutes();
    int64_t from = fill_minutes(&nodes[1]);
    long long all = written;
    outlive_points();
    assert_int_equal(try_delete(&nodes[0], from + 90 * VV_SECOND, from + 170 * VV_SECOND, &error),
                     VV_INVALID);
    vv_time_format(from + VV_MINUTE, text[0]);
    vv_time_format(from + 3 * VV_MINUTE, text[1]);
    assert_non_null(strstr(error.message, text[0]));
    assert_non_null(strstr(error.message, text[1]));
    build_again();
    assert_left(all);
    delete_between(&nodes[0], from + VV_MINUTE, from + 3 * VV_MINUTE);
    build_again();
    assert_left(all - 120);
    end();
}

#define POINTS_HOUR 20 /* so that steps are kept of them */

/* Some points each hour of some days. */
static int64_t fill_days(int days)
{
    int64_t from = vv_time_floor(now_ns(), VV_DAY) + VV_DAY;
    advance(from - now_ns());
    for (int hour = 0; hour < 24 * days; hour++) {
        advance(VV_HOUR);
        for (int i = 0; i < POINTS_HOUR; i++) {
            write_at(&nodes[1], from + hour * VV_HOUR + i * VV_MINUTE);
        }
        work(&nodes[1]);
        if (hour % 12 == 11) {
            seal(&nodes[1]);
        }
    }
    return from;
}

/* The day in the middle goes as a whole: of its hours nothing is left to build a day of, while
 * those at the ends are built again of the hours that are left. */
static void days_are_built_again_of_the_hours_that_are_left(void **state)
{
    (void)state;
    begin("blocks", 1);
    int64_t from = fill_days(4);
    long long all = written;
    outlive(64 * VV_DAY); /* minutes are gone, too, and units of days are over */
    assert_int_equal(count_by(&nodes[0], VV_SPACE_DAY), all);
    assert_int_equal(count_by(&nodes[0], VV_SPACE_HOUR), all);
    delete_between(&nodes[0], from + 12 * VV_HOUR, from + 60 * VV_HOUR);
    build_again();
    assert_int_equal(count_by(&nodes[1], VV_SPACE_HOUR), all - 48 * POINTS_HOUR);
    assert_int_equal(count_by(&nodes[1], VV_SPACE_DAY), all - 48 * POINTS_HOUR);
    end();
}

/* What hours are kept in is away when they are to be built, so that days come first. */
static void delete_while_a_part_is_away(uint32_t set)
{
    begin("blocks", set + 1);
    int64_t from = fill_days(3);
    long long all = written;
    outlive(64 * VV_DAY);
    delete_between(&nodes[1], from + 12 * VV_HOUR, from + 60 * VV_HOUR);
    sweep();
    vv_sim_cassandra_set_away(model, UINT32_C(1) << set);
    seal(&nodes[1]);
    vv_sim_cassandra_set_away(model, 0);
    build_again();
    long long hours = count_by(&nodes[1], VV_SPACE_HOUR);
    long long days = count_by(&nodes[1], VV_SPACE_DAY);
    if (hours != all - 48 * POINTS_HOUR || days != hours) {
        fail_msg("set %u: of %lld points %lld are in hours, %lld in days", set, all, hours, days);
    }
    end();
}

static void days_wait_for_hours_that_are_away(void **state)
{
    (void)state;
    for (uint32_t set = 0; set < VV_SIM_CASSANDRA_SETS; set++) {
        delete_while_a_part_is_away(set);
    }
}

/* All of time, from before anything can be; nothing is refused, and nothing is left. */
static void all_of_time_is_deleted(void **state)
{
    (void)state;
    static const int64_t froms[] = {VV_TIME_MIN, RIG_START - 200 * VV_DAY - VV_SECOND};
    for (size_t i = 0; i < 2; i++) {
        begin_with_minutes();
        (void)fill_minutes(&nodes[1]);
        outlive_points();
        write_at(&nodes[1], now_ns());
        advance(VV_SECOND);
        assert_true(count_by_hours(&nodes[1]) > 300);
        delete_between(&nodes[i], froms[i], VV_TIME_MAX);
        build_again();
        assert_left(0);
        assert_int_equal(count_points(&nodes[1]), 0);
        end();
    }
}

/* All work up to a time, and seal. */
static void live_until(int64_t time_ns, int64_t step_ns)
{
    while (now_ns() < time_ns) {
        advance(step_ns < time_ns - now_ns() ? step_ns : time_ns - now_ns());
        work(&nodes[0]);
        work(&nodes[1]);
        seal(&nodes[1]);
    }
}

/* Fills the first days of a unit of days, which is over some hours later, and whose points have
 * expired; the first point's time. */
static int64_t fill_new_unit(uint64_t seed, int64_t *end_out)
{
    raw_ns = 10 * VV_DAY;
    begin("blocks", seed);
    int64_t unit = vv_time_floor(now_ns(), 28 * VV_DAY) + 28 * VV_DAY;
    *end_out = unit + 28 * VV_DAY;
    live_until(unit - VV_DAY / 2, VV_DAY);
    int64_t from = fill_days(3);
    live_until(*end_out - 12 * VV_HOUR, 12 * VV_HOUR);
    return from;
}

static void end_with_new_unit(void)
{
    end();
    raw_ns = 40 * VV_DAY;
}

/* The sealer has come as far as this in the ledger. */
static void reach(struct node *node, int64_t due_ns)
{
    struct vv_sealer *sealer = node->rig.engine->sealer;
    sealer->cursor = (struct vv_mark){.due_ns = due_ns};
    sealer->has_cursor = true;
}

/* Its turn comes while hours are stale by the deletion; there is no record of it yet. */
static void a_day_that_is_built_for_the_first_time_lacks_only_what_was_deleted(void **state)
{
    (void)state;
    int64_t unit_end;
    int64_t from = fill_new_unit(1, &unit_end);
    long long all = written;
    delete_between(&nodes[1], from + 12 * VV_HOUR + VV_MINUTE, from + 12 * VV_HOUR + 2 * VV_MINUTE);
    sweep();
    advance(unit_end + 6 * VV_MINUTE - now_ns());
    work(&nodes[0]);
    work(&nodes[1]);
    reach(&nodes[1], unit_end - 1);
    build_again();
    live_until(now_ns() + 4 * VV_DAY, VV_DAY);
    assert_int_equal(count_by(&nodes[1], VV_SPACE_HOUR), all - 1);
    assert_int_equal(count_by(&nodes[1], VV_SPACE_DAY), all - 1);
    end_with_new_unit();
}

/* ---- what can't be read ---- */

static struct vv_span_key unit_at(struct node *node, enum vv_space tier, int64_t time)
{
    struct vv_registry *registry = vv_engine_query_context(node->rig.engine)->registry;
    uint32_t source = number_of_source(node);
    uint32_t tenant = vv_registry_source_tenant(registry, source);
    return vv_unit_key(tier, vv_registry_tiers(registry, tenant).spaces[tier], source, 0, time);
}

struct kept {
    struct vv_piece piece; /* the record of a unit, of one part */
    struct vv_buffer bytes;
    size_t runs; /* that make it stale */
};

static enum vv_status keep_piece(void *context, const struct vv_piece *piece)
{
    struct kept *kept = context;
    kept->runs += piece->kind == VV_PIECE_RUN;
    if (piece->kind == VV_PIECE_BLOCK) {
        kept->piece = *piece;
        vv_buffer_clear(&kept->bytes);
        vv_buffer_str(&kept->bytes, piece->bytes);
    }
    return VV_OK;
}

static void look_at_unit(struct node *node, const struct vv_span_key *key, struct kept *kept)
{
    struct vv_store *store = node->rig.engine->store;
    const struct vv_store_read read = {
        .partition = key->partition, .span_from = key->span_start, .span_to = key->span_start + 1};
    kept->runs = 0;
    assert_int_equal(store->ops->read(store, &read, keep_piece, kept, NULL), VV_OK);
}

/* As who seals it does. */
static void put_record(struct node *node, const struct kept *kept, uint8_t version)
{
    struct vv_store *store = node->rig.engine->store;
    struct vv_error error = {0};
    struct vv_piece piece = kept->piece;
    bool is_mine = false;
    kept->bytes.data[2] = version;
    piece.bytes = (struct vv_str){(const char *)kept->bytes.data, kept->bytes.size};
    const struct vv_mark mark = {.key = piece.key, .span_ns = VV_HOUR};
    assert_int_equal(store->ops->shared->begin_seal(store, &mark, 1, &is_mine, &error), VV_OK);
    assert_true(is_mine);
    if (store->ops->put_blocks(store, &piece, 1, &error) != VV_OK ||
        store->ops->confirm(store, &error) != VV_OK) {
        fail_msg("%s", error.message);
    }
}

/* The minutes were written by a newer program, or are damaged. */
static void an_hour_waits_for_minutes_that_cannot_be_read(void **state)
{
    (void)state;
    struct kept minutes = {0};
    struct kept hours = {0};
    struct vv_engine_health health;
    begin_with_minutes();
    int64_t from = fill_minutes(&nodes[1]);
    long long all = written;
    outlive_points();
    const struct vv_span_key minute = unit_at(&nodes[1], VV_SPACE_MINUTE, from);
    const struct vv_span_key hour = unit_at(&nodes[1], VV_SPACE_HOUR, vv_time_floor(from, VV_DAY));
    look_at_unit(&nodes[1], &minute, &minutes);
    assert_true(minutes.bytes.size > 3);
    uint8_t version = minutes.bytes.data[2];
    delete_between(&nodes[0], from + VV_MINUTE, from + 2 * VV_MINUTE);
    put_record(&nodes[1], &minutes, 200);
    build_again();
    look_at_unit(&nodes[1], &hour, &hours);
    assert_true(hours.runs > 0);
    vv_engine_read_health(nodes[1].rig.engine, &health);
    assert_true(health.live && health.ready);
    assert_int_equal(health.held_up, 3); /* and the day, for which the hour is not built */
    advance(VV_MINUTE);
    assert_int_equal(rig_step(&nodes[1].rig, VV_TASK_SEAL_ALL), VV_DONE);
    look_at_unit(&nodes[1], &minute, &minutes); /* as it was */
    assert_true(minutes.bytes.size > 3 && minutes.bytes.data[2] == 200);
    put_record(&nodes[1], &minutes, version);
    kill_node(&nodes[1]);
    bury_node(&nodes[1], 7);
    rig_open(&nodes[1].rig);
    build_again();
    look_at_unit(&nodes[1], &hour, &hours);
    assert_int_equal(hours.runs, 0);
    vv_engine_read_health(nodes[1].rig.engine, &health);
    assert_int_equal(health.held_up, 0);
    assert_left(all - 60);
    vv_buffer_deinit(&minutes.bytes);
    vv_buffer_deinit(&hours.bytes);
    end();
}

static enum vv_status count_run(void *context, const struct vv_piece *piece)
{
    *(size_t *)context += piece->kind == VV_PIECE_RUN;
    return VV_OK;
}

/* How many runs say that the unit of days that begins then is stale. */
static size_t stale_runs_of_day(struct node *node, int64_t unit)
{
    struct vv_registry *registry = vv_engine_query_context(node->rig.engine)->registry;
    struct vv_store *store = node->rig.engine->store;
    uint32_t tenant;
    uint32_t source;
    size_t n = 0;
    assert_int_equal(vv_registry_tenant(registry, VV_STR_LITERAL("t"), false, &tenant, NULL),
                     VV_OK);
    assert_int_equal(vv_registry_source_by_id(registry, tenant, VV_STR_LITERAL("id=x"), &source),
                     VV_OK);
    uint32_t space = vv_registry_tiers(registry, tenant).spaces[VV_SPACE_DAY];
    struct vv_span_key key = vv_unit_key(VV_SPACE_DAY, space, source, 0, unit);
    const struct vv_store_read read = {
        .partition = key.partition, .span_from = unit, .span_to = unit + 1};
    assert_int_equal(store->ops->read(store, &read, count_run, &n, NULL), VV_OK);
    return n;
}

/* Another node may be building it just then of hours that it has read before. */
static void a_day_without_a_record_is_stale_by_a_deletion_of_its_hours(void **state)
{
    (void)state;
    int64_t unit_end;
    int64_t from = fill_new_unit(1, &unit_end);
    long long all = written;
    advance(unit_end + 6 * VV_MINUTE - now_ns());
    work(&nodes[0]);
    work(&nodes[1]);
    delete_between(&nodes[1], from + 12 * VV_HOUR + VV_MINUTE, from + 12 * VV_HOUR + 2 * VV_MINUTE);
    assert_int_equal(stale_runs_of_day(&nodes[1], unit_end - 28 * VV_DAY), 0);
    sweep();
    assert_true(stale_runs_of_day(&nodes[1], unit_end - 28 * VV_DAY) > 0);
    build_again();
    live_until(now_ns() + 4 * VV_DAY, VV_DAY);
    assert_int_equal(stale_runs_of_day(&nodes[1], unit_end - 28 * VV_DAY), 0);
    assert_int_equal(count_by(&nodes[1], VV_SPACE_HOUR), all - 1);
    assert_int_equal(count_by(&nodes[1], VV_SPACE_DAY), all - 1);
    end_with_new_unit();
}

/* Points have expired twice over by then, so nothing else keeps its markers. */
static void a_deletion_is_not_forgotten_while_units_wait_to_be_built(void **state)
{
    (void)state;
    begin_with_minutes();
    int64_t from = fill_minutes(&nodes[1]);
    long long all = written;
    outlive(120 * VV_DAY);
    delete_between(&nodes[1], from + VV_MINUTE, from + 2 * VV_MINUTE);
    sweep();
    for (int quarter = 0; quarter < 5 * 4; quarter++) {
        advance(6 * VV_HOUR);
        for (size_t n = 0; n < 2; n++) {
            work(&nodes[n]);
            (void)rig_step(&nodes[n].rig, VV_TASK_EXPIRE);
            (void)rig_step(&nodes[n].rig, VV_TASK_SWEEP);
        }
    }
    seal(&nodes[1]);
    assert_left(all - 60);
    end();
}

/* What is written again is never deleted by an order that came before it. */
static void what_was_written_since_a_deletion_stays_when_more_is_deleted(void **state)
{
    (void)state;
    begin_with_minutes();
    int64_t from = fill_minutes(&nodes[1]);
    live_long(1, VV_DAY);
    delete_between(&nodes[1], from, from + 2 * VV_MINUTE);
    build_again();
    for (int i = 0; i < 60; i++) {
        write_at(&nodes[1], from + i * VV_SECOND);
    }
    work(&nodes[1]);
    seal(&nodes[1]);
    outlive_points();
    assert_left(written - 120);
    delete_between(&nodes[1], from + 3 * VV_MINUTE, from + 4 * VV_MINUTE);
    build_again();
    assert_left(written - 120 - 60);
    end();
}

/* ---- many sources ---- */

#define SOURCES        40
#define POINTS_MINUTE  10
#define MINUTES_FILLED 3

/* The same points of many sources; the first one's time. */
static int64_t fill_sources(struct node *node)
{
    char lines[SOURCES * 60];
    int64_t from = vv_time_floor(now_ns(), VV_HOUR) + VV_HOUR;
    advance(from + MINUTES_FILLED * VV_MINUTE - now_ns());
    for (int i = 0; i < MINUTES_FILLED * POINTS_MINUTE; i++) {
        int64_t time = from + i * (VV_MINUTE / POINTS_MINUTE);
        size_t length = 0;
        for (int source = 0; source < SOURCES; source++) {
            length +=
                (size_t)snprintf(lines + length, sizeof lines - length, "m,id=s%d v=%lldi %lld\n",
                                 source, written++, (long long)time);
        }
        rig_write_line(&node->rig, lines);
    }
    work(node);
    return from;
}

/* Of the local store: each of them is one of the whole store, for which all is waited that is under
 * way. */
static enum vv_status (*inner_confirm)(struct vv_store *, struct vv_error *);
static size_t confirms;

static enum vv_status count_confirm(struct vv_store *store, struct vv_error *error)
{
    confirms++;
    return inner_confirm(store, error);
}

/* How many times the node waits for the cluster until it has swept all. */
static size_t confirms_of_sweep(struct node *node)
{
    enum vv_status status = VV_OK;
    inner_confirm = node->local_ops.confirm;
    node->local_ops.confirm = count_confirm;
    confirms = 0;
    for (int i = 0; i < 1000 && status != VV_DONE; i++) {
        advance(2 * VV_SECOND);
        status = rig_step(&node->rig, VV_TASK_SWEEP);
        assert_true(status == VV_OK || status == VV_DONE);
    }
    assert_int_equal(status, VV_DONE);
    node->local_ops.confirm = inner_confirm;
    return confirms;
}

static int64_t begin_with_sources(void)
{
    begin_with_minutes();
    int64_t from = fill_sources(&nodes[1]);
    outlive_points();
    assert_left(written);
    return from;
}

static void many_sources_are_swept_in_few_rounds(void **state)
{
    (void)state;
    int64_t from = begin_with_sources();
    delete_between(&nodes[1], from + VV_MINUTE, from + 2 * VV_MINUTE);
    work(&nodes[1]);
    assert_in_range(confirms_of_sweep(&nodes[1]), 1, SOURCES);
    build_again();
    assert_left(written - SOURCES * POINTS_MINUTE);
    end();
}

/* The others do not wait for those of which a part is away, which come when it is back. */
static void sources_that_are_away_hold_up_no_others(void **state)
{
    (void)state;
    for (uint32_t set = 0; set < VV_SIM_CASSANDRA_SETS; set += 3) {
        int64_t from = begin_with_sources();
        long long left = written - SOURCES * POINTS_MINUTE;
        delete_between(&nodes[1], from + VV_MINUTE, from + 2 * VV_MINUTE);
        work(&nodes[1]);
        vv_sim_cassandra_set_away(model, UINT32_C(1) << set);
        for (int i = 0; i < 20 * SOURCES; i++) {
            (void)rig_step(&nodes[1].rig, VV_TASK_SWEEP);
            advance(2 * VV_SECOND);
        }
        struct vv_deletions *deletions = nodes[1].rig.engine->deletions;
        size_t waiting = 0;
        for (uint32_t source = 0;
             (source = vv_deletions_next(deletions, source, VV_MARKER_UNSWEPT)) != UINT32_MAX;
             source++) {
            waiting++;
        }
        assert_in_range(waiting, 1, SOURCES - 1);
        vv_sim_cassandra_set_away(model, 0);
        build_again();
        build_again();
        assert_left(left);
        end();
    }
}

/* ---- a tier that is switched off meanwhile ---- */

static struct vv_store_ops switching_ops;
static const struct vv_store_ops *plain_ops;
static uint32_t hours; /* their space; VV_REGISTRY_NONE: they are off */

static enum vv_status find_and_switch_off(struct vv_store *store, uint8_t region, uint32_t tenant,
                                          uint32_t source, int64_t start, bool forward,
                                          int64_t *start_out, struct vv_error *error)
{
    static const int64_t kept_ns[VV_SPACES] = {VV_RETENTION_AS_IS, VV_SPACE_OFF_NS,
                                               VV_SPACE_OFF_NS};
    enum vv_status status =
        plain_ops->nearest(store, region, tenant, source, start, forward, start_out, error);
    if (tenant == hours) {
        hours = VV_REGISTRY_NONE;
        set_tiers(&nodes[1], kept_ns);
    }
    return status;
}

static void a_tier_is_switched_off_while_it_is_swept(void **state)
{
    (void)state;
    static const int64_t kept_ns[VV_SPACES] = {VV_RETENTION_AS_IS, VV_RETENTION_AS_IS,
                                               VV_SPACE_OFF_NS};
    begin_with_minutes();
    int64_t from = fill_minutes(&nodes[1]);
    long long all = written;
    outlive_points();
    kill_node(&nodes[0]); /* it is alone: the tier goes at once */
    set_tiers(&nodes[1], kept_ns);
    advance(VV_DAY);
    delete_between(&nodes[1], from + VV_MINUTE, from + 2 * VV_MINUTE);
    work(&nodes[1]);
    struct vv_store *store = nodes[1].rig.engine->store;
    plain_ops = store->ops;
    switching_ops = *plain_ops;
    switching_ops.nearest = find_and_switch_off;
    store->ops = &switching_ops;
    hours = unit_at(&nodes[1], VV_SPACE_HOUR, from).partition.tenant;
    for (int i = 0; i < 30; i++) {
        enum vv_status status = rig_step(&nodes[1].rig, VV_TASK_SWEEP);
        assert_true(status == VV_OK || status == VV_DONE);
        advance(2 * VV_SECOND);
    }
    assert_int_equal(hours, VV_REGISTRY_NONE);
    store->ops = plain_ops;
    seal(&nodes[1]);
    assert_int_equal(count_by(&nodes[1], VV_SPACE_MINUTE), all - 60);
    bury_node(&nodes[0], 7);
    end();
}

/* ---- what is counted ---- */

static uint64_t records_cut(void)
{
    struct vv_seal_figures figures[2];
    for (size_t i = 0; i < 2; i++) {
        vv_sealer_read_figures(nodes[i].rig.engine->sealer, &figures[i]);
    }
    return figures[0].cut + figures[1].cut;
}

/* Whether their points are still there to be built of, or not. */
static void records_that_lose_what_was_deleted_are_counted(void **state)
{
    (void)state;
    static const int64_t kept_ns[] = {36 * VV_DAY, 64 * VV_DAY};
    for (size_t i = 0; i < 2; i++) {
        begin_with_minutes();
        int64_t from = fill_minutes(&nodes[1]);
        outlive(kept_ns[i]);
        assert_int_equal(records_cut(), 0);
        delete_between(&nodes[0], from + VV_MINUTE, from + 2 * VV_MINUTE);
        build_again();
        assert_int_equal(records_cut(), VV_SPACES);
        build_again();
        assert_int_equal(records_cut(), VV_SPACES);
        end();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_only_tiers_have_is_deleted_whichever_node_is_asked),
        cmocka_unit_test(so_it_is_when_the_node_dies_that_took_the_order),
        cmocka_unit_test(a_part_of_a_step_is_refused_with_the_nearest_range),
        cmocka_unit_test(days_are_built_again_of_the_hours_that_are_left),
        cmocka_unit_test(a_deletion_is_not_forgotten_while_units_wait_to_be_built),
        cmocka_unit_test(days_wait_for_hours_that_are_away),
        cmocka_unit_test(a_day_that_is_built_for_the_first_time_lacks_only_what_was_deleted),
        cmocka_unit_test(a_day_without_a_record_is_stale_by_a_deletion_of_its_hours),
        cmocka_unit_test(an_hour_waits_for_minutes_that_cannot_be_read),
        cmocka_unit_test(all_of_time_is_deleted),
        cmocka_unit_test(what_was_written_since_a_deletion_stays_when_more_is_deleted),
        cmocka_unit_test(many_sources_are_swept_in_few_rounds),
        cmocka_unit_test(sources_that_are_away_hold_up_no_others),
        cmocka_unit_test(a_tier_is_switched_off_while_it_is_swept),
        cmocka_unit_test(records_that_lose_what_was_deleted_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
