/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated world: starting, crashing, writing, asking. */
#include "simulation/world.h"

#include "ingest/line_protocol.h"

#include <stdio.h>
#include <stdlib.h>

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
    settings->future_ns_max = 3650 * VV_DAY;
    settings->seal_lateness_ns = VV_MINUTE;
    settings->seal_quiet_ns = VV_SECOND;
    settings->block_bytes_max = 2048; /* several parts a span */
    settings->splits = (int64_t)(1 + vv_random_below(&world->random, 3));
    settings->disk_reserve_bytes = 0;
}

void world_init(struct world *world, uint64_t seed, bool story)
{
    *world = (struct world){.random = {seed}, .story = story};
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

static void leave_open(struct world *world, const struct submission *submission)
{
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

/* One random line: some fields of a source at a time; notes the writes. */
static void add_line(struct world *world, struct submission *submission, struct vv_buffer *text)
{
    size_t source = vv_random_below(&world->random, MODEL_SOURCES);
    size_t time = vv_random_below(&world->random, MODEL_TIMES);
    if (vv_random_below(&world->random, 2) == 0) { /* often the same points again */
        time = vv_random_below(&world->random, 5);
    }
    size_t first = vv_random_below(&world->random, MODEL_FIELDS);
    size_t n = 1 + vv_random_below(&world->random, MODEL_FIELDS);
    vv_buffer_format(text, "m,host=s%zu,site=a ", source);
    for (size_t i = 0; i < n; i++) {
        size_t field = (first + i) % MODEL_FIELDS;
        uint64_t value = world->next_value++;
        vv_buffer_format(text, "%sf%zu=%llu", i ? "," : "", field, (unsigned long long)value);
        submission->writes[submission->n++] =
            (struct write){&world->model.points[source][field][time], value};
    }
    vv_buffer_format(text, " %lld\n", (long long)model_time(time, world->base_ns));
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
    vv_line_parser_destroy(parser);
    if (staging.points_received != staging.points_staged) {
        world_fail(world, "a good line was refused: %s", staging.refusals[0].detail);
    }
    vv_engine_account(world->engine, &staging);
    struct vv_batch *batch = vv_staging_take_batch(&staging);
    vv_staging_deinit(&staging);
    return batch;
}

void world_submit(struct world *world)
{
    size_t lines = 1 + vv_random_below(&world->random, 30);
    struct submission *submission =
        calloc(1, sizeof *submission + lines * MODEL_FIELDS * sizeof(struct write));
    struct vv_buffer text = {0};
    vv_invariant(submission != NULL);
    submission->world = world;
    submission->sequence = world->next_sequence++;
    for (size_t i = 0; i < lines; i++) {
        add_line(world, submission, &text);
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

/* ---- asking ---- */

static bool see_line(struct world *world, char *line)
{
    size_t source;
    size_t field;
    long long time;
    double value;
    char site[16];
    if (sscanf(line, "\"host=s%zu,site=%1[a]\",m.f%zu,%lld,%lf", &source, site, &field, &time,
               &value) != 5) {
        world_fail(world, "cannot read the answer's line: %s", line);
        return false;
    }
    size_t index = model_time_index(time, world->base_ns);
    if (source >= MODEL_SOURCES || field >= MODEL_FIELDS || index == MODEL_TIMES) {
        world_fail(world, "a point that was never written: %s", line);
        return false;
    }
    const char *wrong =
        model_check_see(&world->model, &world->model.points[source][field][index], (uint64_t)value);
    if (wrong) {
        world_fail(world, "%s: %s (acknowledged: %llu)", wrong, line,
                   (unsigned long long)world->model.points[source][field][index].value);
    }
    return !wrong;
}

static enum vv_status ask(struct world *world, struct vv_buffer *answer, struct vv_error *error)
{
    const struct vv_parameter parameters[] = {
        {VV_STR_LITERAL("tenant"), VV_STR_LITERAL("sim")},
        {VV_STR_LITERAL("metric"), VV_STR_LITERAL("m.*")},
        {VV_STR_LITERAL("time_format"), VV_STR_LITERAL("ns")},
        {VV_STR_LITERAL("order"),
         vv_random_below(&world->random, 2) ? VV_STR_LITERAL("desc") : VV_STR_LITERAL("asc")},
    };
    struct vv_request *request;
    struct vv_result *result;
    enum vv_status status =
        vv_request_parse(VV_REQUEST_QUERY, parameters, 4,
                         world->clock.clock.wall_ns(&world->clock.clock), &request, error);
    if (status != VV_OK) {
        return status;
    }
    struct vv_query_limits limits;
    vv_engine_query_limits(world->engine, &limits);
    status = vv_result_open(vv_engine_query_context(world->engine), &limits, request, VV_FORMAT_CSV,
                            &result, error);
    if (status != VV_OK) {
        return status;
    }
    do {
        status = vv_result_write(result, answer, 65536, error);
    } while (status == VV_OK);
    vv_result_close(result);
    return status;
}

static void check_account(struct world *world)
{
    struct vv_account account;
    vv_engine_read_account(world->engine, 0, &account);
    uint64_t sum = account.accepted_here + account.unknown;
    for (size_t i = 0; i < VV_REASON_COUNT; i++) {
        sum += account.refused[i];
    }
    if (account.received != sum + world->waiting_points) {
        world_fail(world, "the account does not add up: %llu received, %llu accounted for",
                   (unsigned long long)account.received,
                   (unsigned long long)(sum + world->waiting_points));
    }
}

void world_check(struct world *world)
{
    struct vv_buffer answer = {0};
    struct vv_error error = {0};
    check_account(world);
    model_check_begin(&world->model);
    enum vv_status status = ask(world, &answer, &error);
    if (status != VV_DONE && status != VV_NOT_FOUND) { /* nothing was ever written */
        world_fail(world, "the query fails: %s: %s", vv_status_name(status), error.message);
    }
    vv_buffer_u8(&answer, 0);
    char *rest = NULL;
    char *line = strtok_r((char *)answer.data, "\r\n", &rest);
    for (bool header = true; line; line = strtok_r(NULL, "\r\n", &rest)) {
        if (!header && !see_line(world, line)) {
            break;
        }
        header = false;
    }
    vv_buffer_deinit(&answer);
    size_t source;
    size_t field;
    size_t time;
    const char *wrong =
        world->failure[0] ? NULL : model_check_end(&world->model, &source, &field, &time);
    if (wrong) {
        world_fail(world, "%s: s%zu f%zu at %lld: %llu", wrong, source, field,
                   (long long)model_time(time, world->base_ns),
                   (unsigned long long)world->model.points[source][field][time].value);
    }
}

static enum vv_status find_run(void *context, const struct vv_mark *mark)
{
    (void)mark;
    *(size_t *)context += 1;
    return VV_OK;
}

/* Counts the runs of all spans that the points can lie in. */
static enum vv_status count_run(void *context, const struct vv_piece *piece)
{
    *(size_t *)context += piece->kind == VV_PIECE_RUN;
    return VV_OK;
}

static size_t count_runs(struct world *world)
{
    struct vv_registry *registry = vv_engine_query_context(world->engine)->registry;
    size_t runs = 0;
    for (uint32_t source = 0; source < vv_registry_source_count(registry); source++) {
        struct vv_plans plans = vv_registry_source_plans(registry, source);
        for (size_t t = 0; plans.n && t < MODEL_TIMES; t++) {
            int64_t time = model_time(t, world->base_ns);
            struct vv_bucket bucket = vv_bucket_of(plans.plans, plans.n, time);
            struct vv_store_read read = {.partition = {.tenant = 0,
                                                       .source = source,
                                                       .bucket_start = bucket.start,
                                                       .bucket_ns = bucket.bucket_ns,
                                                       .split = vv_split_of(&bucket, time)},
                                         .measurement = 0,
                                         .span_from = bucket.start,
                                         .span_to = bucket.end};
            vv_invariant(world->store->ops->read(world->store, &read, count_run, &runs, NULL) ==
                         VV_OK);
        }
    }
    return runs;
}

void world_settle(struct world *world)
{
    struct vv_error error = {0};
    vv_sim_disk_heal(world->disk);
    vv_store_memory_fail(world->store, VV_OK, 0);
    vv_sim_clock_advance(&world->clock, VV_HOUR); /* past any wait after a failure */
    while (vv_engine_step(world->engine, VV_TASK_COMMIT, &error) == VV_OK) {
    }
    for (int i = 0; i < 3; i++) { /* older jobs first, then what is active */
        enum vv_status status = vv_engine_step(world->engine, VV_TASK_FLUSH, &error);
        if (status != VV_OK) {
            world_fail(world, "the last flush fails: %s", error.message);
        }
    }
    enum vv_status status;
    while ((status = vv_engine_step(world->engine, VV_TASK_SEAL_ALL, &error)) == VV_OK) {
    }
    size_t marks = 0;
    vv_invariant(world->store->ops->scan_marks(world->store, INT64_MAX, NULL, find_run, &marks,
                                               NULL) == VV_OK);
    size_t runs = count_runs(world);
    if (status != VV_DONE || marks || runs) {
        world_fail(world, "after sealing all, %zu marks and %zu runs are left (%s)", marks, runs,
                   vv_status_name(status));
    }
}
