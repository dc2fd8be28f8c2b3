/* SPDX-License-Identifier: Apache-2.0 */
#include "simulation/world_question.h"

#include "tier/unit.h"

#include <stdio.h>

int64_t world_step_length(const struct question *question)
{
    return question->step < VV_SPACES ? vv_tier_step_ns((enum vv_space)question->step) : 0;
}

static uint32_t number_of(const struct world *world, size_t source)
{
    struct vv_registry *registry = vv_engine_query_context(world->engine)->registry;
    uint32_t tenant;
    uint32_t number = VV_REGISTRY_NONE;
    char id[32];
    snprintf(id, sizeof id, "host=s%zu,site=a", source);
    if (vv_registry_tenant(registry, VV_STR_LITERAL("sim"), false, &tenant, NULL) == VV_OK &&
        vv_registry_source_by_id(registry, tenant, vv_str_of(id), &number) != VV_OK) {
        number = VV_REGISTRY_NONE;
    }
    return number;
}

void world_order_sources(struct question *question)
{
    for (size_t i = 0; i < MODEL_SOURCES; i++) {
        size_t at = i;
        uint32_t number = number_of(question->world, i);
        for (; at > 0 && number_of(question->world, question->order[at - 1]) > number; at--) {
            question->order[at] = question->order[at - 1];
        }
        question->order[at] = i;
    }
}

/* Of points of one time the first one that is added counts. */
static void add_expected(struct expected *expected, const struct model_point *point, int64_t time)
{
    expected->is_vague |= point->vague;
    if (!point->acknowledged) {
        return;
    }
    double value = (double)point->value;
    expected->first = expected->n == 0 ? value : expected->first;
    expected->last = expected->n == 0 || time > expected->last_time ? value : expected->last;
    expected->last_time = time;
    expected->sum += value;
    expected->values[expected->n++] = value;
}

/* The point of a series; of all sources together, that of the nth one. NULL: there is none. */
static const struct model_point *point_of(const struct question *question, size_t source,
                                          size_t field, size_t nth, size_t index)
{
    const struct model *model = &question->world->model;
    const struct model_point *point =
        &model->points[question->grouped ? question->order[nth] : source][field][index];
    return point->acknowledged || point->vague ? point : NULL;
}

bool world_next_step(const struct question *question, size_t source, size_t field, size_t *at,
                     struct expected *expected_out)
{
    const struct model *model = &question->world->model;
    int64_t length = world_step_length(question);
    bool any = false;
    *expected_out = (struct expected){0};
    for (; *at < MODEL_TIMES; ++*at) {
        size_t index = model->by_time[*at];
        int64_t time = model->times[index];
        int64_t label = length ? vv_time_floor(time, length) : 0;
        if (time >= question->to || (question->has_from && time < question->from)) {
            continue;
        }
        for (size_t nth = 0; nth < (question->grouped ? MODEL_SOURCES : 1); nth++) {
            const struct model_point *point = point_of(question, source, field, nth, index);
            if (point && any && label != expected_out->label) {
                return true;
            }
            if (point) {
                any = true;
                expected_out->label = label;
                add_expected(expected_out, point, time);
            }
        }
    }
    return any;
}
