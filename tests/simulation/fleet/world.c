/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes: starting, dying, writing; letting others work in between. */
#include "simulation/fleet/world.h"

#include "engine/engine_private.h"
#include "ingest/line_protocol.h"
#include "store/cassandra/schema.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define START (INT64_C(1767225600) * VV_SECOND) /* 2026-01-01 */
#define NAME  "fleet"
#define BURST 28 /* points of one source */

void fleet_fail(struct fleet_world *world, const char *format, ...)
{
    if (world->failure[0]) {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(world->failure, sizeof world->failure, format, arguments);
    va_end(arguments);
}

void fleet_tell(struct fleet_world *world, const struct fleet_node *node, const char *format, ...)
{
    if (!world->story) {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    printf("%*s", (int)world->depth * 2, "");
    if (node) {
        printf("node %u: ", node->number);
    }
    vprintf(format, arguments);
    printf("\n");
    va_end(arguments);
}

/* ---- making it ---- */

static void init_settings(struct fleet_world *world, struct fleet_node *node)
{
    struct vv_settings *settings = &node->settings;
    vv_settings_init(settings);
    snprintf(settings->data, sizeof settings->data, "/data");
    snprintf(settings->store_kind, sizeof settings->store_kind, "cassandra");
    snprintf(settings->cassandra_contact_points, sizeof settings->cassandra_contact_points,
             NAME "/%u", node->number);
    snprintf(settings->cassandra_keyspace, sizeof settings->cassandra_keyspace, "varve");
    snprintf(settings->cassandra_replication, sizeof settings->cassandra_replication, "dc1:3");
    if (world->truth.forgets_nodes) {
        snprintf(settings->cassandra_rows_tenants, sizeof settings->cassandra_rows_tenants, "*");
    }
    snprintf(settings->cassandra_classes, sizeof settings->cassandra_classes, "600d,1000d");
    settings->cassandra_slack_ns = FLEET_SLACK;
    settings->cassandra_purge_every_ns = world->purges ? VV_HOUR : 0;
    settings->journal_segment_bytes = 4096;
    settings->journal_bytes_max = 8 << 20;
    settings->head_flush_bytes = 1 << 20;
    settings->head_bytes_max = 64 << 20;
    settings->future_ns_max = world->turns ? 10 * VV_MINUTE : 3650 * VV_DAY;
    settings->seal_lateness_ns = VV_MINUTE;
    settings->seal_quiet_ns = VV_SECOND;
    settings->block_bytes_max = 512; /* several parts a span */
    settings->disk_reserve_bytes = 0;
    settings->history_share = 100; /* each write has its stamp at once */
    settings->tiers_default = world->begins_with_tiers;
    settings->retention_raw_ns = world->begins_with_tiers ? 500 * VV_DAY : 0;
    fleet_init_late(world, settings);
}

static void close_nothing(struct vv_store *store)
{
    (void)store; /* it outlives the engine, as the files of a real one do */
}

/* The memory store knows its own operations only. */
static struct vv_store *plain_local(struct fleet_node *node)
{
    node->local->ops = node->memory_ops;
    return node->local;
}

static void wrap_local(struct fleet_node *node)
{
    node->local->ops = &node->local_ops;
}

static void init_node(struct fleet_world *world, struct fleet_node *node, uint32_t number)
{
    *node = (struct fleet_node){.world = world, .number = number};
    vv_sim_clock_init(&node->clock, START);
    node->disk = vv_sim_disk_create(vv_random_next(&world->random));
    struct vv_disk *disk = vv_sim_disk_interface(node->disk);
    vv_invariant(disk->ops->make_folder(disk, "/data", NULL) == VV_OK);
    vv_invariant(disk->ops->make_folder(disk, "/data/journal", NULL) == VV_OK);
    vv_invariant(disk->ops->sync_folder(disk, "/data", NULL) == VV_OK);
    vv_invariant(disk->ops->sync_folder(disk, "/", NULL) == VV_OK);
    struct vv_store_options options = {.folder = "/data/store", .eras = 24};
    vv_invariant(vv_store_memory_open(&options, &node->local, NULL) == VV_OK);
    node->memory_ops = node->local->ops;
    node->local_ops = *node->local->ops;
    node->local_ops.close = close_nothing;
    node->local->ops = &node->local_ops;
    init_settings(world, node);
}

static void make_schema(struct fleet_world *world)
{
    struct vv_schema_setup setup;
    struct vv_schema_report report;
    struct vvcql_session *session;
    const struct vvcql_options cql = {.contact_points = NAME "/7"};
    vv_invariant(vv_schema_setup_of(&world->nodes[0].settings, &setup, NULL) == VV_OK);
    vv_invariant(vvcql_session_open(&cql, false, &session, NULL) == VVCQL_OK);
    vv_invariant(vv_schema_apply(session, &setup.options, NULL, NULL, &report, NULL) == VV_OK);
    vv_schema_report_deinit(&report);
    vvcql_session_close(session);
}

/* While a request of the node is on its way, others work, and it may die. */
static void between(void *context, uint32_t client)
{
    struct fleet_world *world = context;
    if (client >= world->n_nodes || !world->nodes[client].is_busy) {
        return;
    }
    if (world->crashes && vv_random_below(&world->random, 3000) == 0) {
        fleet_kill(&world->nodes[client], vv_random_below(&world->random, 2) == 0);
    }
    /* Of an action's many requests about one lets another node work, whose requests do so, too. */
    uint64_t rarely = UINT64_C(25) << (2 * world->depth);
    while (world->interleaves && world->depth < world->n_nodes &&
           vv_random_below(&world->random, rarely) == 0) {
        struct fleet_node *other = &world->nodes[vv_random_below(&world->random, world->n_nodes)];
        if (fleet_is_free(other)) {
            world->work(world, other);
        }
    }
}

void fleet_init(struct fleet_world *world, uint64_t seed, size_t n_nodes, bool story)
{
    *world = (struct fleet_world){.random = {seed}, .n_nodes = n_nodes, .story = story};
    world->next_value = 1;
    world->truth.forgets_nodes = vv_random_below(&world->random, 4) == 0;
    world->turns = vv_random_below(&world->random, 2) == 0;
    world->has_tiers = seed / 4 % 2 == 1;
    world->has_classes = seed / 8 % 4 == 1;
    world->purges = seed % 3 == 0;
    world->begins_with_tiers = world->has_tiers && vv_random_below(&world->random, 2) == 0;
    world->replaces = world->begins_with_tiers && vv_random_below(&world->random, 2) == 0;
    world->moves = world->has_classes && world->turns && seed / 32 % 2 == 0;
    world->base_ns = START + (world->moves ? 2 * VV_DAY : 0); /* the first possible day */
    world->truth.base_ns = world->base_ns;
    fleet_choose_late(world);
    vv_sim_clock_init(&world->time, START);
    world->cassandra = vv_sim_cassandra_create(NAME, seed, &world->time.clock);
    for (uint32_t i = 0; i < n_nodes; i++) {
        init_node(world, &world->nodes[i], i);
    }
    make_schema(world);
    vv_sim_cassandra_set_hook(world->cassandra, between, world);
    vv_sim_cassandra_set_alone(world->cassandra, true);
    vv_sim_cassandra_set_deferred(world->cassandra, vv_random_below(&world->random, 4) > 0);
}

void fleet_deinit(struct fleet_world *world)
{
    for (size_t i = 0; i < world->n_nodes; i++) {
        struct fleet_node *node = &world->nodes[i];
        vv_engine_close(node->engine);
        node->memory_ops->close(plain_local(node));
        vv_sim_disk_destroy(node->disk);
    }
    vv_sim_cassandra_destroy(world->cassandra);
    truth_deinit(&world->truth);
}

static int64_t now_of(struct fleet_node *node)
{
    return node->clock.clock.wall_ns(&node->clock.clock);
}

static void note_latest(struct fleet_node *node)
{
    node->latest_ns = now_of(node) > node->latest_ns ? now_of(node) : node->latest_ns;
}

void fleet_set_clock(struct fleet_node *node, int64_t wall_ns)
{
    note_latest(node);
    vv_sim_clock_jump(&node->clock, wall_ns);
}

void fleet_heal(struct fleet_world *world)
{
    vv_sim_cassandra_set_unavailable(world->cassandra, 1, 0);
    vv_sim_cassandra_set_away(world->cassandra, 0);
}

void fleet_advance(struct fleet_world *world, int64_t duration_ns)
{
    vv_sim_clock_advance(&world->time, duration_ns);
    for (size_t i = 0; i < world->n_nodes; i++) {
        vv_sim_clock_advance(&world->nodes[i].clock, duration_ns);
    }
}

/* ---- life ---- */

bool fleet_is_free(const struct fleet_node *node)
{
    return !node->is_busy && !node->is_dead;
}

void fleet_kill(struct fleet_node *node, bool power)
{
    if (node->is_dead || !node->engine) {
        return;
    }
    fleet_tell(node->world, node, power ? "power off" : "kill -9");
    node->is_dead = true;
    node->is_off = power;
    vv_sim_cassandra_cut(node->world->cassandra, node->number);
    vv_sim_disk_power_off_after(node->disk, 0);
    vv_store_memory_fail(plain_local(node), VV_IO, UINT32_MAX);
    wrap_local(node);
}

/* Drops the engine of a node that has died. */
static void bury(struct fleet_node *node)
{
    struct fleet_world *world = node->world;
    node->submission.was_crashed = true;
    node->is_busy = true;
    vv_engine_close(node->engine);
    node->is_busy = false;
    node->engine = NULL;
    vv_store_memory_fail(plain_local(node), VV_OK, 0);
    vv_store_memory_crash(node->local, vv_random_next(&world->random));
    wrap_local(node);
    if (node->is_off) {
        vv_sim_disk_crash(node->disk);
    } else {
        vv_sim_disk_restart(node->disk);
    }
    vv_sim_disk_heal(node->disk);
    vv_sim_cassandra_join(world->cassandra, node->number);
    node->is_dead = false;
}

void fleet_enter(struct fleet_node *node)
{
    vv_invariant(!node->is_busy);
    node->is_busy = true;
    node->world->depth++;
}

void fleet_leave(struct fleet_node *node)
{
    node->is_busy = false;
    node->world->depth--;
    if (node->is_dead) {
        bury(node);
    }
}

/* With another layout from time to time. */
static void choose_layout(struct fleet_node *node)
{
    if (node->world->truth.forgets_nodes && node->world->turns &&
        vv_random_below(&node->world->random, 2) == 0) {
        char *rows = node->settings.cassandra_rows_tenants;
        strcpy(rows, rows[0] ? "" : "*");
        fleet_tell(node->world, node, "keeps %s", rows[0] ? "rows" : "blocks");
    }
}

bool fleet_start(struct fleet_node *node)
{
    choose_layout(node);
    struct vv_engine_options options = {
        .settings = &node->settings,
        .disk = vv_sim_disk_interface(node->disk),
        .clock = &node->clock.clock,
        .take_local = node->local,
        .manual = true,
    };
    struct vv_error error = {0};
    fleet_enter(node);
    enum vv_status status = vv_engine_open(&options, &node->engine, &error);
    if (status == VV_OK) {
        status = vv_engine_recover(node->engine, &error);
        if (status != VV_OK) {
            vv_engine_close(node->engine);
            node->engine = NULL;
        }
    }
    fleet_tell(node->world, node, "start: %s %s", vv_status_name(status), error.message);
    if (status != VV_OK && status != VV_IO && status != VV_FULL && status != VV_OVERLOAD) {
        fleet_fail(node->world, "node %u does not start: %s: %s", node->number,
                   vv_status_name(status), error.message);
    }
    if (node->engine) {
        node->stamp_node = vv_engine_node(node->engine);
    }
    fleet_leave(node);
    return node->engine != NULL;
}

enum vv_status fleet_step(struct fleet_node *node, enum vv_engine_task task)
{
    static const char *const names[] = {
        [VV_TASK_COMMIT] = "commit",     [VV_TASK_FLUSH] = "flush",   [VV_TASK_SEAL] = "seal",
        [VV_TASK_SEAL_ALL] = "seal all", [VV_TASK_EXPIRE] = "expire", [VV_TASK_LEARN] = "learn",
        [VV_TASK_BEAT] = "beat",         [VV_TASK_PLANS] = "plans",   [VV_TASK_DELIVER] = "deliver",
        [VV_TASK_SWEEP] = "sweep",       [VV_TASK_REROLL] = "reroll",
    };
    struct vv_error error = {0};
    if (!node->engine || !fleet_is_free(node)) {
        return VV_CANCELLED;
    }
    fleet_tell(node->world, node, "%s", names[task]);
    fleet_enter(node);
    enum vv_status status = vv_engine_step(node->engine, task, &error);
    fleet_tell(node->world, node, "%s: %s %s", names[task], vv_status_name(status), error.message);
    fleet_leave(node);
    return status;
}

void fleet_set_retention(struct fleet_node *node)
{
    static const int64_t retentions[] = {0, 500 * VV_DAY, 900 * VV_DAY};
    struct vv_error error = {0};
    int64_t retention = retentions[vv_random_below(&node->world->random, 3)];
    /* Who has not learnt yet that it is longer takes days for frozen that are not any more. */
    if (!node->engine || !fleet_is_free(node) || node->world->replaces) {
        return;
    }
    fleet_tell(node->world, node, "retention %d d", (int)(retention / VV_DAY));
    fleet_enter(node);
    enum vv_status status =
        vv_engine_set_retention(node->engine, VV_STR_LITERAL(FLEET_TENANT), retention, &error);
    fleet_tell(node->world, node, "retention: %s %s", vv_status_name(status), error.message);
    fleet_leave(node);
}

/* In one go: a change that is told late, when points behind it were taken elsewhere, is not what a
 * node can avoid. It may die in it. */
void fleet_ask_for_purge(struct fleet_node *node)
{
    struct vv_error error = {0};
    if (!node->engine || !fleet_is_free(node)) {
        return;
    }
    fleet_enter(node);
    enum vv_status status = vv_engine_ask_purge(node->engine, &error);
    fleet_tell(node->world, node, "a purge is asked for: %s", vv_status_name(status));
    fleet_leave(node);
}

void fleet_change_plan(struct fleet_node *node)
{
    static const int64_t buckets[] = {15 * VV_MINUTE, VV_HOUR, 3 * VV_HOUR, VV_DAY};
    struct fleet_world *world = node->world;
    char source[32];
    struct vv_plan plan;
    struct vv_error error = {0};
    struct vv_plan_wish wish = {
        .bucket_ns = buckets[vv_random_below(&world->random, 4)],
        .splits = (uint16_t)(1 + vv_random_below(&world->random, 4)),
    };
    snprintf(source, sizeof source, "host=s%zu",
             TRUTH_SOURCE_NAMES[vv_random_below(&world->random, TRUTH_SOURCES)]);
    if (!node->engine || !fleet_is_free(node) || world->depth > 0) {
        return;
    }
    bool interleaves = world->interleaves;
    world->interleaves = false;
    vv_sim_cassandra_set_faults(world->cassandra, NULL);
    vv_sim_cassandra_set_unavailable(world->cassandra, 1, 0);
    fleet_tell(world, node, "another plan for %s", source);
    fleet_enter(node);
    enum vv_status status = vv_engine_change_plan(node->engine, VV_STR_LITERAL(FLEET_TENANT),
                                                  vv_str_of(source), &wish, &plan, &error);
    fleet_tell(world, node, "plan: %s %s", vv_status_name(status), error.message);
    fleet_leave(node);
    world->interleaves = interleaves;
}

/* ---- writing ---- */

static void done(void *context, enum vv_status status, const char *message)
{
    struct fleet_submission *submission = context;
    (void)message;
    submission->is_waiting = false;
    submission->status = submission->was_crashed ? VV_UNKNOWN : status;
}

static void add_point(struct fleet_node *node, size_t source, size_t time, struct vv_buffer *text)
{
    struct fleet_world *world = node->world;
    struct fleet_submission *submission = &node->submission;
    int64_t at = truth_time(time, world->base_ns);
    vv_buffer_format(text, "m,host=s%zu ", TRUTH_SOURCE_NAMES[source]);
    for (size_t field = 0; field < TRUTH_FIELDS; field++) {
        uint64_t value = world->next_value++;
        if (field > 0 && world->has_classes) {
            char name[8];
            fleet_measurement(world, source, field, name);
            vv_buffer_format(text, " %" PRId64 "\n%s,host=s%zu ", at, name,
                             TRUTH_SOURCE_NAMES[source]);
        } else if (field > 0) {
            vv_buffer_text(text, ",");
        }
        vv_buffer_format(text, "f%zu=%" PRIu64, field, value);
        submission->points[submission->n] = truth_index(source, field, time);
        submission->values[submission->n++] = value;
    }
    vv_buffer_format(text, " %" PRId64 "\n", at);
}

/* So many of one step that a tier keeps the step instead. */
static void add_burst(struct fleet_node *node, struct vv_buffer *text)
{
    size_t source = vv_random_below(&node->world->random, TRUTH_SOURCES);
    size_t first = TRUTH_FAR + vv_random_below(&node->world->random, 8);
    for (size_t i = 0; i < BURST; i++) {
        add_point(node, source, first + i, text);
    }
}

static void add_line(struct fleet_node *node, struct vv_buffer *text)
{
    struct fleet_world *world = node->world;
    size_t source = vv_random_below(&world->random, TRUTH_SOURCES);
    size_t time = vv_random_below(&world->random, fleet_times(world));
    if (vv_random_below(&world->random, 2) == 0) { /* often the same points again */
        time = TRUTH_NOW - 1 + vv_random_below(&world->random, 4);
    }
    while (truth_time(time, world->base_ns) > now_of(node) + node->settings.future_ns_max) {
        time = vv_random_below(&world->random, fleet_times(world)); /* it would be refused */
    }
    add_point(node, source, time, text);
}

static struct vv_batch *parse(struct fleet_node *node, const struct vv_buffer *text)
{
    struct vv_staging staging;
    struct vv_line_parser *parser;
    struct vv_error error = {0};
    if (vv_engine_stage(node->engine, VV_STR_LITERAL(FLEET_TENANT), &staging, &error) != VV_OK) {
        fleet_fail(node->world, "cannot stage: %s", error.message);
        return NULL;
    }
    vv_invariant(vv_line_parser_create(&staging, 1, &parser) == VV_OK);
    vv_invariant(vv_line_parser_feed(parser, (const char *)text->data, text->size) == VV_OK);
    vv_invariant(vv_line_parser_finish(parser) == VV_OK);
    vv_staging_decide(&staging);
    vv_line_parser_destroy(parser);
    if (staging.points_received != staging.points_staged) {
        fleet_fail(node->world, "a good line was refused: %s", staging.refusals[0].detail);
    }
    vv_engine_account(node->engine, &staging);
    struct vv_batch *batch = vv_staging_take_batch(&staging);
    vv_staging_deinit(&staging);
    return batch;
}

/* The points of one batch differ, so that each write has a stamp of its own. */
static bool is_repeated(const struct fleet_submission *submission)
{
    for (size_t i = 0; i < submission->n; i++) {
        for (size_t j = 0; j < i; j++) {
            if (submission->points[i] == submission->points[j]) {
                return true;
            }
        }
    }
    return false;
}

/* What the answer says of the writes; without one they may be there after a restart. */
static void note_outcome(struct fleet_node *node)
{
    struct fleet_world *world = node->world;
    struct fleet_submission *submission = &node->submission;
    bool is_known = !submission->is_waiting && !submission->was_crashed;
    bool is_good = is_known && submission->status == VV_OK;
    fleet_tell(world, node, "write of %zu, stamp %" PRIu64 ": %s", submission->n, submission->stamp,
               is_known ? vv_status_name(submission->status) : "crashed");
    if (is_good && node->engine && node->engine->applied_stamp != submission->stamp) {
        fleet_fail(world, "a batch got another stamp than it should");
    }
    if (is_known && !is_good && submission->status != VV_UNKNOWN) {
        return; /* certainly not stored */
    }
    note_latest(node);
    for (size_t i = 0; i < submission->n; i++) {
        truth_write(&world->truth, submission->points[i], submission->stamp, submission->values[i],
                    node->number);
        if (is_good) {
            truth_acknowledge(&world->truth, submission->points[i], submission->stamp,
                              node->latest_ns);
        }
    }
}

void fleet_write(struct fleet_node *node)
{
    struct vv_buffer text = {0};
    struct fleet_submission *submission = &node->submission;
    if (!node->engine || !fleet_is_free(node)) {
        return;
    }
    do {
        vv_buffer_clear(&text);
        *submission = (struct fleet_submission){.n = 0};
        if (node->world->has_tiers && vv_random_below(&node->world->random, 8) == 0) {
            add_burst(node, &text);
            break;
        }
        for (size_t lines = 1 + vv_random_below(&node->world->random, 6); lines > 0; lines--) {
            add_line(node, &text);
        }
    } while (is_repeated(submission));
    struct vv_batch *batch = parse(node, &text);
    vv_buffer_deinit(&text);
    if (!batch) {
        return;
    }
    submission->is_waiting = true;
    submission->stamp = vv_engine_next_stamp(node->engine);
    vv_engine_submit(node->engine, batch, done, submission);
    if (submission->is_waiting) {
        (void)fleet_step(node, VV_TASK_COMMIT);
    }
    note_outcome(node);
}
