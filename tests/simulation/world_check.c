/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated world: asking for every point. */
#include "simulation/world.h"

#include <stdio.h>

static bool see_line(struct world *world, char *line)
{
    size_t source;
    size_t field;
    long long time;
    double value;
    char site[16];
    char measurement[2];
    if (sscanf(line, "\"host=s%zu,site=%1[a]\",%1[mn].f%zu,%lld,%lf", &source, site, measurement,
               &field, &time, &value) != 6) {
        world_fail(world, "cannot read the answer's line: %s", line);
        return false;
    }
    size_t index = model_time_index(&world->model, time);
    if (source >= MODEL_SOURCES || field >= MODEL_FIELDS || index == MODEL_TIMES) {
        world_fail(world, "a point that was never written: %s", line);
        return false;
    }
    if (world->model.times[index] < world->model.frozen) {
        return true;
    }
    const char *wrong =
        model_check_see(&world->model, &world->model.points[source][field][index], (uint64_t)value);
    if (wrong) {
        world_fail(world, "%s: %s (acknowledged: %llu)", wrong, line,
                   (unsigned long long)world->model.points[source][field][index].value);
    }
    return !wrong;
}

enum vv_status world_ask(struct world *world, const struct vv_parameter *parameters, size_t n,
                         struct vv_buffer *answer, struct vv_result_facts *facts_out,
                         struct vv_error *error)
{
    struct vv_request *request;
    struct vv_result *result;
    enum vv_status status =
        vv_request_parse(VV_REQUEST_QUERY, parameters, n,
                         world->clock.clock.wall_ns(&world->clock.clock), &request, error);
    if (status != VV_OK) {
        return status;
    }
    struct vv_query_limits limits;
    struct vv_query_context context = *vv_engine_query_context(world->engine);
    context.deletions = world->bare ? NULL : context.deletions;
    vv_engine_query_limits(world->engine, &limits);
    status = vv_result_open(&context, &limits, request, VV_FORMAT_CSV, &result, error);
    if (status != VV_OK) {
        return status;
    }
    do {
        status = vv_result_write(result, answer, 65536, error);
    } while (status == VV_OK);
    vv_result_read_facts(result, facts_out);
    vv_result_close(result);
    return status;
}

static enum vv_status ask_all(struct world *world, struct vv_buffer *answer, struct vv_error *error)
{
    const struct vv_parameter parameters[] = {
        {VV_STR_LITERAL("tenant"), VV_STR_LITERAL("sim")},
        {VV_STR_LITERAL("metric"), VV_STR_LITERAL("m.*,n.*")},
        {VV_STR_LITERAL("time_format"), VV_STR_LITERAL("ns")},
        {VV_STR_LITERAL("to"),
         VV_STR_LITERAL("2100-01-01T00:00:00Z")}, /* whatever the clock says */
        {VV_STR_LITERAL("order"),
         vv_random_below(&world->random, 2) ? VV_STR_LITERAL("desc") : VV_STR_LITERAL("asc")},
    };
    struct vv_result_facts facts;
    return world_ask(world, parameters, 5, answer, &facts, error);
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

static void check_points(struct world *world)
{
    struct vv_buffer answer = {0};
    struct vv_error error = {0};
    check_account(world);
    model_check_begin(&world->model);
    enum vv_status status = ask_all(world, &answer, &error);
    if (status != VV_DONE && status != VV_NOT_FOUND) { /* nothing was ever written */
        world_fail(world, "the query fails: %s: %s", vv_status_name(status), error.message);
    }
    vv_buffer_u8(&answer, 0);
    char *rest = NULL;
    char *line = strtok_r((char *)answer.data, "\r\n", &rest);
    for (bool header = true; line; line = strtok_r(NULL, "\r\n", &rest)) {
        bool is_remark = line[0] == '#'; /* what the answer is made of */
        if (!header && !is_remark && !see_line(world, line)) {
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
                   (long long)world->model.times[time],
                   (unsigned long long)world->model.points[source][field][time].value);
    }
}

void world_check(struct world *world)
{
    world_note_time(world);
    check_points(world);
    if (!world->failure[0] && world->has_tiers) {
        world_check_tiers(world, false);
    }
}
