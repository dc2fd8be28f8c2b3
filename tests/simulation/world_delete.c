/* SPDX-License-Identifier: Apache-2.0 */
/* Deleting in the simulated world, and in its model. */
#include "simulation/world.h"

#include "base/clock.h"

#include <stdio.h>

/* What of the model is asked for. */
struct deletion {
    size_t source; /* MODEL_SOURCES: all */
    size_t field;  /* MODEL_FIELDS: all */
    int64_t from;  /* [from, to) */
    int64_t to;
};

/* To whole steps, as what only tiers hold has to be. */
static void widen(struct deletion *chosen, int64_t step_ns)
{
    chosen->from = vv_time_floor(chosen->from, step_ns);
    chosen->to = vv_time_ceil(chosen->to, step_ns);
}

static struct deletion choose(struct world *world)
{
    static const int64_t steps[] = {1, VV_MINUTE, VV_HOUR, VV_DAY, VV_DAY};
    struct deletion chosen;
    chosen.source = vv_random_below(&world->random, MODEL_SOURCES + 1);
    chosen.field = vv_random_below(&world->random, MODEL_FIELDS + 2);
    chosen.field = chosen.field < MODEL_FIELDS ? chosen.field : MODEL_FIELDS;
    size_t a = vv_random_below(&world->random, MODEL_TIMES);
    size_t b = vv_random_below(&world->random, 3) ? vv_random_below(&world->random, MODEL_TIMES)
                                                  : a; /* one point often */
    int64_t x = world->model.times[a];
    int64_t y = world->model.times[b];
    chosen.from = x < y ? x : y;
    chosen.to = (x < y ? y : x) + 1;
    if (world->hides) {
        widen(&chosen, steps[vv_random_below(&world->random, 5)]);
    }
    return chosen;
}

static enum vv_status order(struct world *world, const struct deletion *chosen,
                            struct vv_error *error)
{
    char text[4][40];
    struct vv_parameter parameters[7] = {
        {VV_STR_LITERAL("tenant"), VV_STR_LITERAL("sim")},
        {VV_STR_LITERAL("from"), {text[0], 0}},
        {VV_STR_LITERAL("to"), {text[1], 0}},
    };
    size_t n = 3;
    parameters[1].value.size =
        (size_t)snprintf(text[0], sizeof text[0], "%lld", (long long)chosen->from);
    parameters[2].value.size =
        (size_t)snprintf(text[1], sizeof text[1], "%lld", (long long)chosen->to);
    if (chosen->source < MODEL_SOURCES) {
        snprintf(text[2], sizeof text[2], "host=s%zu", chosen->source);
        parameters[n++] = (struct vv_parameter){VV_STR_LITERAL("tag"), vv_str_of(text[2])};
    }
    if (chosen->field < MODEL_FIELDS) {
        snprintf(text[3], sizeof text[3], "%s.f%zu", world_measurement(world, chosen->field),
                 chosen->field);
        parameters[n++] = (struct vv_parameter){VV_STR_LITERAL("metric"), vv_str_of(text[3])};
    } else if (chosen->source == MODEL_SOURCES) {
        parameters[n++] = (struct vv_parameter){VV_STR_LITERAL("measurement"), VV_STR_LITERAL("?")};
    }
    struct vv_request *request;
    struct vv_deleted deleted;
    enum vv_status status =
        vv_request_parse(VV_REQUEST_DELETE, parameters, n,
                         world->clock.clock.wall_ns(&world->clock.clock), &request, error);
    if (status == VV_OK) {
        status = vv_engine_delete(world->engine, request, &deleted, error);
        vv_request_destroy(request);
    } else {
        world_fail(world, "a good deletion is refused: %s", error->message);
    }
    return status;
}

/* Parts of days may be refused where only tiers are left of them; whole ones are not. */
static bool may_be_refused(const struct world *world, const struct deletion *chosen)
{
    bool is_whole = chosen->from % VV_DAY == 0 && chosen->to % VV_DAY == 0;
    return world->hides && !is_whole && chosen->from < world->model.frozen + VV_DAY;
}

/* Of a frozen point it can't be told by asking whether a deletion that is unknown holds. */
static void delete_from_model(struct world *world, const struct deletion *chosen,
                              enum vv_status status, uint64_t sequence)
{
    for (size_t s = 0; s < MODEL_SOURCES; s++) {
        for (size_t f = 0; f < MODEL_FIELDS; f++) {
            for (size_t t = 0; t < MODEL_TIMES; t++) {
                int64_t time = world->model.times[t];
                bool is_chosen = (chosen->source == MODEL_SOURCES || chosen->source == s) &&
                                 (chosen->field == MODEL_FIELDS || chosen->field == f) &&
                                 time >= chosen->from && time < chosen->to;
                struct model_point *point = &world->model.points[s][f][t];
                point->vague |= is_chosen && status == VV_UNKNOWN && time < world->model.frozen;
                if (is_chosen && status == VV_OK) {
                    model_delete(point);
                } else if (is_chosen && status == VV_UNKNOWN) {
                    point->deletion = sequence;
                }
            }
        }
    }
}

void world_delete(struct world *world)
{
    struct vv_error error = {0};
    struct deletion chosen = choose(world);
    uint64_t sequence = world->next_sequence++;
    enum vv_status status = order(world, &chosen, &error);
    if (world->story) {
        printf("  s%zu f%zu from %lld to %lld: %s %s\n", chosen.source, chosen.field,
               (long long)chosen.from, (long long)chosen.to, vv_status_name(status), error.message);
    }
    if ((status == VV_INVALID || status == VV_TOO_LARGE) && !may_be_refused(world, &chosen)) {
        world_fail(world, "a good deletion is refused: %s", error.message);
    }
    delete_from_model(world, &chosen, status, sequence);
}

void world_sweep_all(struct world *world)
{
    struct vv_error error = {0};
    enum vv_status status;
    do {
        vv_sim_clock_advance(&world->clock, VV_SECOND);
        status = vv_engine_step(world->engine, VV_TASK_SWEEP, &error);
    } while (status == VV_OK);
    if (status != VV_DONE) {
        world_fail(world, "sweeping fails: %s", error.message);
    }
}
