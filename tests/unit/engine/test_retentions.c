/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Retentions of points and tiers: what is refused, what a change leaves behind, and what new
 * tenants begin with; over restarts, kills and a journal that ends early.
 */
#include "base/log.h"
#include "engine/engine.h"
#include "ingest/line_protocol.h"
#include "simulation/sim_clock.h"
#include "simulation/sim_disk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define PLANT VV_STR_LITERAL("plant")
#define AS_IS VV_RETENTION_AS_IS
#define OFF   VV_SPACE_OFF_NS

struct place {
    struct vv_settings settings;
    struct vv_sim_disk *disk;
    struct vv_sim_clock clock;
    struct vv_store *store;
    struct vv_engine *engine;
    struct vv_error error;
};

static void open_engine(struct place *place)
{
    struct vv_engine_options options = {.settings = &place->settings,
                                        .disk = vv_sim_disk_interface(place->disk),
                                        .clock = &place->clock.clock,
                                        .store = place->store,
                                        .manual = true};
    if (vv_engine_open(&options, &place->engine, &place->error) != VV_OK ||
        vv_engine_recover(place->engine, &place->error) != VV_OK) {
        fail_msg("%s", place->error.message);
    }
}

static void begin(struct place *place, bool tiers_default)
{
    *place = (struct place){.disk = vv_sim_disk_create(1)};
    vv_log_level_set(VV_LOG_OFF);
    vv_settings_init(&place->settings);
    strcpy(place->settings.data, "/data");
    place->settings.disk_reserve_bytes = 0;
    place->settings.series_cache_bytes = 1 << 20;
    place->settings.journal_segment_bytes = 64 << 10;
    place->settings.tiers_default = tiers_default;
    struct vv_disk *disk = vv_sim_disk_interface(place->disk);
    assert_int_equal(disk->ops->make_folder(disk, "/data", NULL), VV_OK);
    assert_int_equal(disk->ops->make_folder(disk, "/data/journal", NULL), VV_OK);
    assert_int_equal(disk->ops->sync_folder(disk, "/", NULL), VV_OK);
    assert_int_equal(disk->ops->sync_folder(disk, "/data", NULL), VV_OK);
    vv_sim_clock_init(&place->clock, INT64_C(1767225600) * VV_SECOND);
    struct vv_store_options options = {.folder = "/data/store", .eras = 24};
    assert_int_equal(vv_store_memory_open(&options, &place->store, NULL), VV_OK);
    open_engine(place);
}

static void end(struct place *place)
{
    vv_engine_close(place->engine);
    place->store->ops->close(place->store);
    vv_sim_disk_destroy(place->disk);
}

static void restart(struct place *place)
{
    vv_engine_close(place->engine);
    open_engine(place);
}

/* kill -9, or a loss of power: the store has what was confirmed and any of what was not. */
static void crash(struct place *place, bool power, uint64_t seed)
{
    vv_engine_close(place->engine);
    vv_store_memory_crash(place->store, seed);
    if (power) {
        vv_sim_disk_crash(place->disk);
    } else {
        vv_sim_disk_restart(place->disk);
    }
    vv_sim_disk_heal(place->disk);
    open_engine(place);
}

static struct vv_registry *registry_of(struct place *place)
{
    return vv_engine_query_context(place->engine)->registry;
}

static uint32_t number_of(struct place *place, struct vv_str name)
{
    uint32_t tenant = VV_REGISTRY_NONE;
    (void)!vv_registry_tenant(registry_of(place), name, false, &tenant, NULL);
    return tenant;
}

/* "raw minute hour day" in days, "-" for off. */
static const char *kept(struct place *place, struct vv_str name)
{
    static char text[128];
    struct vv_registry *registry = registry_of(place);
    uint32_t tenant = number_of(place, name);
    if (tenant == VV_REGISTRY_NONE) {
        return "none";
    }
    struct vv_tiers tiers = vv_registry_tiers(registry, tenant);
    int size =
        snprintf(text, sizeof text, "%d", (int)(vv_registry_retention(registry, tenant) / VV_DAY));
    for (int i = 0; i < VV_SPACES; i++) {
        if (tiers.spaces[i] == VV_REGISTRY_NONE) {
            size += snprintf(text + size, sizeof text - (size_t)size, " -");
        } else {
            int64_t retention_ns = vv_registry_retention(registry, tiers.spaces[i]);
            size += snprintf(text + size, sizeof text - (size_t)size, " %d",
                             (int)(retention_ns / VV_DAY));
        }
    }
    return text;
}

static enum vv_status change(struct place *place, int64_t raw, int64_t minute, int64_t hour,
                             int64_t day)
{
    const struct vv_retentions retentions = {raw, {minute, hour, day}};
    place->error = (struct vv_error){0};
    return vv_engine_set_retentions(place->engine, PLANT, &retentions, &place->error);
}

static void keep_status(void *context, enum vv_status status, const char *message)
{
    (void)message;
    *(enum vv_status *)context = status;
}

static enum vv_status write_point(struct place *place, struct vv_str tenant)
{
    static const char line[] = "m,h=x v=1,w=2 1767225600000000000\n";
    struct vv_staging staging;
    struct vv_line_parser *parser;
    enum vv_status outcome = VV_DONE;
    assert_int_equal(vv_engine_stage(place->engine, tenant, &staging, NULL), VV_OK);
    assert_int_equal(vv_line_parser_create(&staging, 1, &parser), VV_OK);
    assert_int_equal(vv_line_parser_feed(parser, line, sizeof line - 1), VV_OK);
    assert_int_equal(vv_line_parser_finish(parser), VV_OK);
    vv_staging_decide(&staging);
    vv_line_parser_destroy(parser);
    vv_engine_submit(place->engine, vv_staging_take_batch(&staging), keep_status, &outcome);
    vv_staging_deinit(&staging);
    assert_int_equal(vv_engine_step(place->engine, VV_TASK_COMMIT, NULL), VV_OK);
    return outcome;
}

static enum vv_status flush(struct place *place)
{
    return vv_engine_step(place->engine, VV_TASK_FLUSH, NULL);
}

static void expire(struct place *place)
{
    assert_int_equal(vv_engine_step(place->engine, VV_TASK_EXPIRE, NULL), VV_OK);
}

/* ---- changes ---- */

static void tiers_are_switched_on_changed_and_off_and_stay_so(void **state)
{
    (void)state;
    struct place place;
    begin(&place, false);
    assert_int_equal(change(&place, 7 * VV_DAY, 30 * VV_DAY, 365 * VV_DAY, 0), VV_OK);
    assert_string_equal(kept(&place, PLANT), "7 30 365 0");
    restart(&place);
    assert_string_equal(kept(&place, PLANT), "7 30 365 0");
    assert_int_equal(change(&place, AS_IS, 60 * VV_DAY, OFF, AS_IS), VV_OK);
    assert_string_equal(kept(&place, PLANT), "7 60 - 0");
    assert_int_equal(flush(&place), VV_OK);
    restart(&place);
    assert_string_equal(kept(&place, PLANT), "7 60 - 0");
    assert_int_equal(change(&place, AS_IS, OFF, AS_IS, OFF), VV_OK);
    assert_int_equal(vv_engine_set_retention(place.engine, PLANT, VV_DAY, NULL), VV_OK);
    crash(&place, true, 3);
    assert_string_equal(kept(&place, PLANT), "1 - - -");
    end(&place);
}

static void tiers_alone_leave_the_points_alone(void **state)
{
    (void)state;
    static const int64_t hours[VV_SPACES] = {AS_IS, 90 * VV_DAY, AS_IS};
    struct place place;
    begin(&place, false);
    assert_int_equal(vv_engine_set_retention(place.engine, PLANT, 5 * VV_DAY, NULL), VV_OK);
    assert_int_equal(vv_engine_set_tiers(place.engine, PLANT, hours, NULL), VV_OK);
    assert_string_equal(kept(&place, PLANT), "5 - 90 -");
    assert_int_equal(vv_engine_set_retention(place.engine, PLANT, 6 * VV_DAY, NULL), VV_OK);
    assert_string_equal(kept(&place, PLANT), "6 - 90 -");
    end(&place);
}

static void what_a_tier_is_built_from_must_live_long_enough(void **state)
{
    (void)state;
    static const struct {
        int64_t raw, minute, hour, day;
        const char *word; /* that the message has; NULL: allowed */
    } cases[] = {
        {2 * VV_DAY - 1, 30 * VV_DAY, OFF, OFF, "the minute tier"},
        {2 * VV_DAY, 30 * VV_DAY, OFF, OFF, NULL},
        {VV_HOUR, OFF, 90 * VV_DAY, OFF, "keep raw points or the minute tier for 2 days"},
        {2 * VV_DAY, VV_HOUR, 90 * VV_DAY, OFF, NULL},
        {7 * VV_DAY, OFF, OFF, 0, "the day tier"},
        {7 * VV_DAY, 30 * VV_DAY, 34 * VV_DAY, 0, "for 35 days"},
        {7 * VV_DAY, 30 * VV_DAY, 35 * VV_DAY, 0, NULL},
        {7 * VV_DAY, 35 * VV_DAY, VV_DAY, VV_DAY, NULL},
        {35 * VV_DAY, OFF, OFF, 400 * VV_DAY, NULL},
        {0, OFF, OFF, 0, NULL},
        {7 * VV_DAY, 0, OFF, 0, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct place place;
        begin(&place, false);
        enum vv_status status =
            change(&place, cases[i].raw, cases[i].minute, cases[i].hour, cases[i].day);
        assert_int_equal(status, cases[i].word ? VV_INVALID : VV_OK);
        if (cases[i].word) {
            assert_non_null(strstr(place.error.message, cases[i].word));
            assert_int_equal(change(&place, AS_IS, AS_IS, AS_IS, AS_IS), VV_OK);
            assert_string_equal(kept(&place, PLANT), "0 - - -");
        }
        end(&place);
    }
}

static void what_waits_longer_to_be_sealed_must_live_longer(void **state)
{
    (void)state;
    struct place place;
    begin(&place, false);
    vv_engine_close(place.engine);
    place.settings.seal_lateness_ns = 3 * VV_DAY;
    place.settings.seal_spread_ns = 2 * VV_DAY;
    open_engine(&place);
    assert_int_equal(change(&place, 5 * VV_DAY, 30 * VV_DAY, OFF, OFF), VV_INVALID);
    assert_non_null(strstr(place.error.message, "6 days"));
    assert_int_equal(change(&place, 6 * VV_DAY, 30 * VV_DAY, OFF, OFF), VV_OK);
    end(&place);
}

static void points_are_not_kept_too_short_while_tiers_are_on(void **state)
{
    (void)state;
    struct place place;
    begin(&place, false);
    assert_int_equal(change(&place, 7 * VV_DAY, 30 * VV_DAY, OFF, OFF), VV_OK);
    assert_int_equal(vv_engine_set_retention(place.engine, PLANT, VV_DAY, &place.error),
                     VV_INVALID);
    assert_non_null(strstr(place.error.message, "switch it off"));
    assert_string_equal(kept(&place, PLANT), "7 30 - -");
    assert_int_equal(change(&place, VV_DAY, OFF, AS_IS, AS_IS), VV_OK); /* both at once */
    assert_string_equal(kept(&place, PLANT), "1 - - -");
    end(&place);
}

/* The message names how long it takes, and that does. */
static void late_points_that_could_not_be_kept_apart_are_refused_a_limit(void **state)
{
    (void)state;
    static const struct {
        int64_t raw;
        int64_t minute;
        int64_t hour;
        int64_t day;
        const char *enough;
        int64_t enough_ns;
    } cases[] = {
        {VV_HOUR, OFF, OFF, OFF, "raw points for 3h", 3 * VV_HOUR},
        {2 * VV_DAY, 30 * VV_DAY, OFF, OFF, "raw points for 63h", 63 * VV_HOUR},
        {2 * VV_DAY, 60 * VV_DAY, 90 * VV_DAY, 0, "raw points for 63h", 63 * VV_HOUR},
    };
    const struct vv_late_wish apart = {true, VV_LATE_SEPARATE, 2 * VV_HOUR};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct place place;
        begin(&place, false);
        assert_int_equal(change(&place, cases[i].raw, cases[i].minute, cases[i].hour, cases[i].day),
                         VV_OK);
        assert_int_equal(vv_engine_set_late(place.engine, PLANT, &apart, &place.error), VV_INVALID);
        if (!strstr(place.error.message, cases[i].enough)) {
            fail_msg("%s", place.error.message);
        }
        int64_t less_ns = cases[i].enough_ns - VV_HOUR;
        assert_int_equal(change(&place, less_ns, AS_IS, AS_IS, AS_IS), VV_OK);
        assert_int_equal(vv_engine_set_late(place.engine, PLANT, &apart, &place.error), VV_INVALID);
        assert_int_equal(change(&place, cases[i].enough_ns, AS_IS, AS_IS, AS_IS), VV_OK);
        assert_int_equal(vv_engine_set_late(place.engine, PLANT, &apart, &place.error), VV_OK);
        end(&place);
    }
}

/* ---- off, and on again ---- */

static enum vv_status count_piece(void *context, const struct vv_piece *piece)
{
    *(size_t *)context += piece->kind == VV_PIECE_BLOCK;
    return VV_OK;
}

static bool has_block(struct place *place, const struct vv_span_key *key)
{
    size_t n = 0;
    const struct vv_store_read read = {.partition = key->partition,
                                       .measurement = key->measurement,
                                       .span_from = key->span_start,
                                       .span_to = key->span_start + 1};
    assert_int_equal(place->store->ops->read(place->store, &read, count_piece, &n, NULL), VV_OK);
    return n > 0;
}

static struct vv_span_key put_hour(struct place *place)
{
    uint32_t space =
        vv_registry_tiers(registry_of(place), number_of(place, PLANT)).spaces[VV_SPACE_HOUR];
    int64_t now = place->clock.clock.wall_ns(&place->clock.clock);
    int64_t from = vv_time_floor(now, 28 * VV_DAY);
    const struct vv_span_key key = {{space, 1, from, 28 * VV_DAY, 0, 0}, 1, from};
    const struct vv_piece block = {.kind = VV_PIECE_BLOCK, .key = key, .bytes = {"x", 1}};
    assert_int_equal(place->store->ops->put_blocks(place->store, &block, 1, NULL), VV_OK);
    return key;
}

/* What was written while it was off is not in what it had: that must never be seen again. */
static void a_tier_is_on_again_only_when_what_it_had_is_gone(void **state)
{
    (void)state;
    struct place place;
    begin(&place, false);
    assert_int_equal(change(&place, 0, OFF, 90 * VV_DAY, OFF), VV_OK);
    expire(&place);
    const struct vv_span_key key = put_hour(&place);
    expire(&place);
    assert_true(has_block(&place, &key));
    assert_int_equal(change(&place, AS_IS, AS_IS, OFF, AS_IS), VV_OK);
    assert_int_equal(change(&place, AS_IS, AS_IS, 90 * VV_DAY, AS_IS), VV_OK); /* it goes on */
    expire(&place);
    assert_true(has_block(&place, &key));
    assert_int_equal(change(&place, AS_IS, AS_IS, OFF, AS_IS), VV_OK);
    assert_int_equal(vv_engine_step(place.engine, VV_TASK_FLUSH, NULL), VV_OK);
    expire(&place); /* nothing is to be built of it: it goes */
    assert_int_equal(change(&place, AS_IS, AS_IS, 90 * VV_DAY, AS_IS), VV_OVERLOAD);
    assert_int_equal(change(&place, AS_IS, 90 * VV_DAY, AS_IS, AS_IS), VV_OK); /* a new one */
    restart(&place);
    assert_int_equal(change(&place, AS_IS, AS_IS, 90 * VV_DAY, AS_IS), VV_OVERLOAD);
    expire(&place);
    assert_false(has_block(&place, &key));
    assert_int_equal(change(&place, AS_IS, AS_IS, 90 * VV_DAY, AS_IS), VV_OK);
    assert_string_equal(kept(&place, PLANT), "0 90 90 -");
    end(&place);
}

static void seal_all(struct place *place)
{
    enum vv_status status;
    while ((status = vv_engine_step(place->engine, VV_TASK_SEAL_ALL, NULL)) == VV_OK) {
    }
    assert_int_equal(status, VV_DONE);
}

static void nothing_is_built_into_a_tier_that_is_off(void **state)
{
    (void)state;
    for (int off = 0; off < 2; off++) {
        struct place place;
        begin(&place, false);
        assert_int_equal(change(&place, 0, OFF, 90 * VV_DAY, OFF), VV_OK);
        const struct vv_span_key bucket = put_hour(&place);
        struct vv_span_key key = bucket;
        key.span_start = vv_time_floor(INT64_C(1767225600) * VV_SECOND, VV_DAY);
        assert_int_equal(write_point(&place, PLANT), VV_OK);
        place.clock.wall_ns += 3 * VV_DAY; /* the unit is over: the flush makes it stale */
        assert_int_equal(flush(&place), VV_OK);
        key.partition.source = 0;
        key.measurement = 0;
        assert_false(has_block(&place, &key));
        assert_int_equal(change(&place, AS_IS, AS_IS, off ? OFF : AS_IS, AS_IS), VV_OK);
        expire(&place);
        seal_all(&place);
        assert_int_equal(has_block(&place, &key), !off);
        assert_int_equal(has_block(&place, &bucket), !off);
        end(&place);
    }
}

/* ---- failures ---- */

static void a_change_that_is_not_journaled_changes_nothing(void **state)
{
    (void)state;
    for (int on = 0; on < 2; on++) {
        struct place place;
        begin(&place, false);
        assert_int_equal(change(&place, 9 * VV_DAY, on ? 20 * VV_DAY : OFF, OFF, OFF), VV_OK);
        const char *before = on ? "9 20 - -" : "9 - - -";
        vv_sim_disk_fail_call(place.disk, VV_SIM_WRITE, 1, VV_IO);
        assert_int_equal(change(&place, 7 * VV_DAY, on ? OFF : 30 * VV_DAY, 90 * VV_DAY, 0), VV_IO);
        assert_string_equal(kept(&place, PLANT), before);
        crash(&place, false, 1);
        assert_string_equal(kept(&place, PLANT), before);
        end(&place);
    }
}

/* It was on for a moment, in which it may have been seen: what it had by then must be gone, too. */
static void a_tier_that_could_not_be_switched_on_is_on_only_when_it_was_seen_to_be_off(void **state)
{
    (void)state;
    struct place place;
    begin(&place, false);
    assert_int_equal(change(&place, 9 * VV_DAY, 20 * VV_DAY, OFF, OFF), VV_OK);
    assert_int_equal(change(&place, 9 * VV_DAY, OFF, OFF, OFF), VV_OK);
    expire(&place);
    expire(&place);
    vv_sim_disk_fail_call(place.disk, VV_SIM_WRITE, 1, VV_IO);
    assert_int_equal(change(&place, 9 * VV_DAY, 20 * VV_DAY, OFF, OFF), VV_IO);
    assert_string_equal(kept(&place, PLANT), "9 - - -");
    assert_int_equal(change(&place, 9 * VV_DAY, 20 * VV_DAY, OFF, OFF), VV_OVERLOAD);
    expire(&place);
    assert_int_equal(change(&place, 9 * VV_DAY, 20 * VV_DAY, OFF, OFF), VV_OK);
    end(&place);
}

/* Wherever the power goes off, what is left is allowed: no tier without what it is built from. */
static void a_change_is_left_allowed_wherever_it_is_cut_short(void **state)
{
    (void)state;
    static const struct {
        struct vv_retentions from, to;
        const char *steps[6]; /* that the journal may end after */
    } cases[] = {
        {{9 * VV_DAY, {20 * VV_DAY, OFF, OFF}},
         {60 * VV_DAY, {OFF, OFF, 0}},
         {"9 20 - -", "60 20 - -", "60 20 - 0", "60 - - 0"}},
        {{60 * VV_DAY, {OFF, OFF, 0}},
         {9 * VV_DAY, {OFF, 20 * VV_DAY, OFF}},
         {"60 - - 0", "60 - 20 0", "60 - 20 -", "9 - 20 -"}},
    };
    for (size_t i = 0; i < 2; i++) {
        bool ended = false;
        bool seen[6] = {false};
        for (uint64_t k = 0; !ended && k < 60; k++) {
            struct place place;
            begin(&place, false);
            assert_int_equal(
                vv_engine_set_retentions(place.engine, PLANT, &cases[i].from, &place.error), VV_OK);
            assert_int_equal(flush(&place), VV_OK);
            vv_sim_disk_power_off_after(place.disk, k + 1);
            enum vv_status status =
                vv_engine_set_retentions(place.engine, PLANT, &cases[i].to, &place.error);
            bool flushed = status == VV_OK && flush(&place) == VV_OK;
            ended = flushed && !vv_sim_disk_is_off(place.disk);
            crash(&place, true, k);
            size_t step = 0;
            while (cases[i].steps[step] && strcmp(cases[i].steps[step], kept(&place, PLANT)) != 0) {
                step++;
            }
            if (!cases[i].steps[step] || (status == VV_OK && step < 3)) {
                fail_msg("case %zu, cut at %llu: %s", i, (unsigned long long)k,
                         kept(&place, PLANT));
            }
            seen[step] = true;
            end(&place);
        }
        assert_true(ended && seen[0] && seen[3]);
    }
}

/* ---- new tenants ---- */

static void a_write_makes_a_tenant_with_the_default_tiers(void **state)
{
    (void)state;
    struct place place;
    begin(&place, false);
    assert_int_equal(write_point(&place, VV_STR_LITERAL("old")), VV_OK);
    place.settings.tiers_default = true;
    restart(&place);
    assert_int_equal(write_point(&place, VV_STR_LITERAL("old")), VV_OK);
    assert_int_equal(write_point(&place, PLANT), VV_OK);
    assert_int_equal(vv_engine_create_tenant(place.engine, VV_STR_LITERAL("made"), NULL), VV_OK);
    for (int i = 0; i < 3; i++) {
        assert_string_equal(kept(&place, PLANT), "7 30 365 0");
        assert_string_equal(kept(&place, VV_STR_LITERAL("made")), "7 30 365 0");
        assert_string_equal(kept(&place, VV_STR_LITERAL("old")), "0 - - -");
        place.settings.tiers_default = false; /* it is theirs to keep */
        place.settings.retention_raw_ns = 9 * VV_DAY;
        crash(&place, true, (uint64_t)i);
        assert_true(i != 1 || flush(&place) == VV_OK);
    }
    assert_int_equal(write_point(&place, VV_STR_LITERAL("new")), VV_OK);
    assert_string_equal(kept(&place, VV_STR_LITERAL("new")), "9 - - -");
    end(&place);
}

static void a_new_tenant_has_all_its_tiers_wherever_the_journal_ends(void **state)
{
    (void)state;
    bool ended = false;
    for (uint64_t k = 0; !ended && k < 60; k++) {
        struct place place;
        begin(&place, true);
        place.settings.retention_raw_ns = 8 * VV_DAY;
        restart(&place);
        vv_sim_disk_power_off_after(place.disk, k + 1);
        enum vv_status status = write_point(&place, PLANT);
        bool flushed = status == VV_OK && flush(&place) == VV_OK;
        ended = flushed && !vv_sim_disk_is_off(place.disk);
        crash(&place, true, k);
        const char *found = kept(&place, PLANT);
        if (strcmp(found, "8 30 365 0") != 0 && (status == VV_OK || strcmp(found, "none") != 0)) {
            fail_msg("cut at %llu: %s", (unsigned long long)k, found);
        }
        assert_int_equal(write_point(&place, PLANT), VV_OK);
        assert_string_equal(kept(&place, PLANT), "8 30 365 0");
        end(&place);
    }
    assert_true(ended);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tiers_are_switched_on_changed_and_off_and_stay_so),
        cmocka_unit_test(tiers_alone_leave_the_points_alone),
        cmocka_unit_test(what_a_tier_is_built_from_must_live_long_enough),
        cmocka_unit_test(what_waits_longer_to_be_sealed_must_live_longer),
        cmocka_unit_test(points_are_not_kept_too_short_while_tiers_are_on),
        cmocka_unit_test(late_points_that_could_not_be_kept_apart_are_refused_a_limit),
        cmocka_unit_test(a_tier_is_on_again_only_when_what_it_had_is_gone),
        cmocka_unit_test(nothing_is_built_into_a_tier_that_is_off),
        cmocka_unit_test(a_change_that_is_not_journaled_changes_nothing),
        cmocka_unit_test(
            a_tier_that_could_not_be_switched_on_is_on_only_when_it_was_seen_to_be_off),
        cmocka_unit_test(a_change_is_left_allowed_wherever_it_is_cut_short),
        cmocka_unit_test(a_write_makes_a_tenant_with_the_default_tiers),
        cmocka_unit_test(a_new_tenant_has_all_its_tiers_wherever_the_journal_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
