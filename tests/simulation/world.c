/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated world: starting, crashing, writing, asking. */
#include "simulation/world.h"

#include "ingest/line_protocol.h"
#include "tier/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void world_fail(struct world *world, const char *format, ...)
{
    if (world->failure[0]) {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(world->failure, sizeof world->failure, format, arguments);
    va_end(arguments);
}

static void init_settings(struct world *world)
{
    struct vv_settings *settings = &world->settings;
    vv_settings_init(settings);
    snprintf(settings->data, sizeof settings->data, "/data");
    settings->journal_segment_bytes = 4096;
    settings->journal_bytes_max = 8 << 20;
    settings->head_flush_bytes = 1 << 20;
    settings->head_bytes_max = 64 << 20;
    world->changes_plans = vv_random_below(&world->random, 2) == 0;
    settings->future_ns_max = world->changes_plans ? 10 * VV_MINUTE : 3650 * VV_DAY;
    world->has_tiers = vv_random_below(&world->random, 3) > 0;
    world->has_class = vv_random_below(&world->random, 2) == 0;
    world->hides = world->has_tiers && vv_random_below(&world->random, 4) == 0;
    world->retention_ns = (int64_t)(45 + 15 * vv_random_below(&world->random, 4)) * VV_DAY;
    static const int64_t folds[] = {VV_HOUR, 6 * VV_HOUR, VV_DAY};
    settings->late_fold_every_ns = folds[vv_random_below(&world->random, 3)];
    settings->late_fold_at_ns = (int64_t)vv_random_below(&world->random, 3) * VV_HOUR;
    settings->seal_lateness_ns = VV_MINUTE;
    settings->seal_quiet_ns = VV_SECOND;
    static const int64_t volumes[] = {0, VV_SECOND, 10 * VV_MINUTE};
    settings->volumes_after_ns = volumes[vv_random_below(&world->random, 3)];
    settings->block_bytes_max = 2048; /* several parts a span */
    settings->splits = (int64_t)(1 + vv_random_below(&world->random, 3));
    settings->disk_reserve_bytes = 0;
    settings->history_share = 100; /* the model goes by the order in which writes come */
}

void world_init(struct world *world, uint64_t seed, bool story)
{
    world->random.state = seed;
    world->story = story;
    world->base_ns = INT64_C(1767225600) * VV_SECOND; /* 2026-01-01 */
    vv_sim_clock_init(&world->clock, world->base_ns + VV_HOUR);
    world->disk = vv_sim_disk_create(seed);
    struct vv_disk *disk = vv_sim_disk_interface(world->disk);
    vv_invariant(disk->ops->make_folder(disk, "/data", NULL) == VV_OK);
    vv_invariant(disk->ops->make_folder(disk, "/data/journal", NULL) == VV_OK);
    vv_invariant(disk->ops->sync_folder(disk, "/data", NULL) == VV_OK);
    vv_invariant(disk->ops->sync_folder(disk, "/", NULL) == VV_OK);
    struct vv_store_options options = {.folder = "/data/store", .eras = 24};
    vv_invariant(vv_store_memory_open(&options, &world->store, NULL) == VV_OK);
    init_settings(world);
    model_init(&world->model, world->base_ns);
    world->next_value = 1;
    world->next_sequence = 1;
}

static void drop_waiting(struct world *world)
{
    while (world->waiting) {
        struct submission *submission = world->waiting;
        world->waiting = submission->next;
        free(submission);
    }
    world->waiting_points = 0;
}

void world_deinit(struct world *world)
{
    vv_engine_close(world->engine);
    drop_waiting(world);
    world->store->ops->close(world->store);
    vv_sim_disk_destroy(world->disk);
}

bool world_start(struct world *world)
{
    struct vv_engine_options options = {
        .settings = &world->settings,
        .disk = vv_sim_disk_interface(world->disk),
        .clock = &world->clock.clock,
        .store = world->store,
        .manual = true,
    };
    struct vv_error error = {0};
    enum vv_status status = vv_engine_open(&options, &world->engine, &error);
    if (status == VV_OK) {
        status = vv_engine_recover(world->engine, &error);
        if (status != VV_OK) {
            vv_engine_close(world->engine);
            world->engine = NULL;
        }
    }
    if (status != VV_OK && status != VV_IO && status != VV_FULL) {
        world_fail(world, "the engine does not start: %s: %s", vv_status_name(status),
                   error.message);
    }
    if (status == VV_OK) {
        struct vv_account account;
        vv_engine_read_account(world->engine, 0, &account);
        if (account.accepted < world->acknowledged_points ||
            account.accepted > world->acknowledged_points + world->open_points) {
            world_fail(world, "accepted is %llu after a restart, not %llu (+ up to %llu unknown)",
                       (unsigned long long)account.accepted,
                       (unsigned long long)world->acknowledged_points,
                       (unsigned long long)world->open_points);
        }
        world->open_points = 0; /* what a restart did not bring back never comes */
        world->acknowledged_points = account.accepted;
    }
    return status == VV_OK;
}

/* ---- writing ---- */

int64_t world_accepted_age(const struct world *world)
{
    int64_t fold =
        world_late(world).policy == VV_LATE_SEPARATE ? world->settings.late_fold_every_ns : 0;
    return world->retention_ns - 12 * VV_HOUR - vv_tier_unit_ns_max(VV_SPACE_DAY) - fold;
}

void world_note_time(struct world *world)
{
    int64_t now = world->clock.clock.wall_ns(&world->clock.clock);
    if (world->hides && now - world_accepted_age(world) > world->model.frozen) {
        world->model.frozen = now - world_accepted_age(world);
    }
}

static void blur_frozen(struct world *world, const struct submission *submission)
{
    for (size_t i = 0; i < submission->n; i++) {
        const struct write *write = &submission->writes[i];
        if (world->model.times[write->time] < world->model.frozen) {
            model_blur(&world->model, write->source, world->model.times[write->time]);
        }
    }
}

static void leave_open(struct world *world, const struct submission *submission)
{
    blur_frozen(world, submission);
    for (size_t i = 0; i < submission->n; i++) {
        model_leave_open(submission->writes[i].point, submission->writes[i].value,
                         submission->sequence);
    }
    world->open_points += submission->n;
}

static void unlink_submission(struct world *world, struct submission *submission)
{
    struct submission **link = &world->waiting;
    while (*link && *link != submission) {
        link = &(*link)->next;
    }
    if (*link) {
        *link = submission->next;
    }
    world->waiting_points -= submission->n;
    free(submission);
}

static void done(void *context, enum vv_status status, const char *message)
{
    struct submission *submission = context;
    struct world *world = submission->world;
    if (world->story) {
        printf("  batch %llu: %s %s\n", (unsigned long long)submission->sequence,
               vv_status_name(status), message);
    }
    if (status == VV_OK) {
        blur_frozen(world, submission);
        for (size_t i = 0; i < submission->n; i++) {
            model_acknowledge(submission->writes[i].point, submission->writes[i].value,
                              submission->sequence);
        }
        world->acknowledged_points += submission->n;
    } else if (status == VV_UNKNOWN) {
        leave_open(world, submission);
    }
    unlink_submission(world, submission);
}

/* n fields of a source at a time, beginning with one of them, in a line for each measurement; notes
 * the writes. */
static void add_line(struct world *world, struct submission *submission, struct vv_buffer *text,
                     size_t source, size_t time, size_t first, size_t n)
{
    const char *open = "";
    for (size_t i = 0; i < n; i++) {
        size_t field = (first + i) % MODEL_FIELDS;
        const char *measurement = world_measurement(world, field);
        bool goes_on = strcmp(open, measurement) == 0;
        if (!goes_on && i > 0) {
            vv_buffer_format(text, " %lld\n", (long long)world->model.times[time]);
        }
        if (!goes_on) {
            vv_buffer_format(text, "%s,host=s%zu,site=a ", measurement, source);
        }
        open = measurement;
        uint64_t value = world->next_value++;
        vv_buffer_format(text, "%sf%zu=%llu", goes_on ? "," : "", field, (unsigned long long)value);
        submission->writes[submission->n++] =
            (struct write){&world->model.points[source][field][time], source, time, value};
    }
    vv_buffer_format(text, " %lld\n", (long long)world->model.times[time]);
}

/* What is earlier or later would be refused. */
static bool is_accepted(const struct world *world, size_t time)
{
    struct vv_clock *clock = (struct vv_clock *)&world->clock.clock;
    int64_t now = clock->wall_ns(clock);
    struct vv_late late = world_late(world);
    bool is_refused =
        late.policy == VV_LATE_REFUSE && world->model.times[time] < now - late.limit_ns;
    return !is_refused && world->model.times[time] <= now + world->settings.future_ns_max &&
           (!world->hides || world->model.times[time] >= now - world_accepted_age(world));
}

static bool has_accepted(const struct world *world)
{
    size_t time = 0;
    while (time < MODEL_TIMES && !is_accepted(world, time)) {
        time++;
    }
    return time < MODEL_TIMES;
}

static void add_random_line(struct world *world, struct submission *submission,
                            struct vv_buffer *text)
{
    size_t source = vv_random_below(&world->random, MODEL_SOURCES);
    size_t time = vv_random_below(&world->random, MODEL_TIMES);
    if (vv_random_below(&world->random, 2) == 0) { /* often the same points again */
        time = MODEL_NOW - 2 + vv_random_below(&world->random, 5);
    }
    while (!is_accepted(world, time)) {
        time = vv_random_below(&world->random, MODEL_TIMES);
    }
    size_t first = vv_random_below(&world->random, MODEL_FIELDS);
    size_t n = 1 + vv_random_below(&world->random, MODEL_FIELDS);
    add_line(world, submission, text, source, time, first, n);
}

/* All times of a burst, or the last of them. */
static void add_burst(struct world *world, struct submission *submission, struct vv_buffer *text)
{
    size_t n;
    size_t begin = model_burst(vv_random_below(&world->random, MODEL_BURSTS), &n);
    size_t source = vv_random_below(&world->random, MODEL_SOURCES);
    size_t first = vv_random_below(&world->random, MODEL_FIELDS);
    size_t fields = 1 + vv_random_below(&world->random, MODEL_FIELDS);
    size_t skipped = vv_random_below(&world->random, 2) * vv_random_below(&world->random, n);
    for (size_t i = skipped; i < n; i++) {
        if (is_accepted(world, begin + i)) {
            add_line(world, submission, text, source, begin + i, first, fields);
        }
    }
}

static struct vv_batch *parse(struct world *world, const struct vv_buffer *text)
{
    struct vv_staging staging;
    struct vv_line_parser *parser;
    struct vv_error error = {0};
    if (vv_engine_stage(world->engine, VV_STR_LITERAL("sim"), &staging, &error) != VV_OK) {
        world_fail(world, "cannot stage: %s", error.message);
        return NULL;
    }
    vv_invariant(vv_line_parser_create(&staging, 1, &parser) == VV_OK);
    vv_invariant(vv_line_parser_feed(parser, (const char *)text->data, text->size) == VV_OK);
    vv_invariant(vv_line_parser_finish(parser) == VV_OK);
    vv_staging_decide(&staging);
    vv_line_parser_destroy(parser);
    if (staging.points_received != staging.points_staged) {
        world_fail(world, "a good line was refused: %s", staging.refusals[0].detail);
    }
    vv_engine_account(world->engine, &staging);
    struct vv_batch *batch = vv_staging_take_batch(&staging);
    vv_staging_deinit(&staging);
    return batch;
}

void world_change_plan(struct world *world)
{
    static const int64_t buckets[] = {15 * VV_MINUTE, VV_HOUR, 3 * VV_HOUR, VV_DAY};
    char source[32];
    struct vv_plan plan;
    struct vv_error error = {0};
    struct vv_plan_wish wish = {
        .bucket_ns = buckets[vv_random_below(&world->random, 4)],
        .splits = (uint16_t)(1 + vv_random_below(&world->random, 4)),
    };
    snprintf(source, sizeof source, "host=s%d,site=a",
             (int)vv_random_below(&world->random, MODEL_SOURCES));
    enum vv_status status = vv_engine_change_plan(world->engine, VV_STR_LITERAL("sim"),
                                                  vv_str_of(source), &wish, &plan, &error);
    if (world->story) {
        printf("  %s: %s %s\n", source, vv_status_name(status), error.message);
    }
    bool is_change = status == VV_OK && plan.from_ns != VV_TIME_MIN;
    if (is_change && plan.from_ns % plan.bucket_ns != 0) {
        world_fail(world, "a plan begins inside a bucket");
    }
}

void world_submit(struct world *world)
{
    world_note_time(world);
    if (!has_accepted(world)) {
        return;
    }
    size_t lines = 1 + vv_random_below(&world->random, 30);
    struct submission *submission = calloc(
        1, sizeof *submission + (lines + MODEL_BURST_TIMES) * MODEL_FIELDS * sizeof(struct write));
    struct vv_buffer text = {0};
    vv_invariant(submission != NULL);
    submission->world = world;
    submission->sequence = world->next_sequence++;
    for (size_t i = 0; i < lines; i++) {
        add_random_line(world, submission, &text);
    }
    if (world->has_tiers && vv_random_below(&world->random, 3) == 0) {
        add_burst(world, submission, &text);
    }
    vv_invariant(vv_buffer_status(&text) == VV_OK);
    struct vv_batch *batch = parse(world, &text);
    vv_buffer_deinit(&text);
    if (!batch) {
        free(submission);
        return;
    }
    struct submission **link = &world->waiting;
    while (*link) {
        link = &(*link)->next;
    }
    *link = submission;
    world->waiting_points += submission->n;
    vv_engine_submit(world->engine, batch, done, submission);
}

void world_crash(struct world *world, bool process_only)
{
    for (const struct submission *each = world->waiting; each; each = each->next) {
        leave_open(world, each); /* its sync may have been under way */
    }
    vv_engine_close(world->engine);
    world->engine = NULL;
    drop_waiting(world);
    vv_store_memory_fail(world->store, VV_OK, 0);
    vv_store_memory_crash(world->store, vv_random_next(&world->random));
    if (process_only) {
        vv_sim_disk_restart(world->disk);
    } else {
        vv_sim_disk_crash(world->disk);
    }
    vv_sim_disk_heal(world->disk);
    world->model.restarted = true;
}
