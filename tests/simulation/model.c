/* SPDX-License-Identifier: Apache-2.0 */
/* The naive model of what must be answered. */
#include "simulation/model.h"

#include "base/clock.h"

int64_t model_time(size_t index, int64_t base_ns)
{
    int64_t i = (int64_t)index;
    if (index < MODEL_TIMES / 2) { /* the last hours, a minute apart */
        return base_ns - i * VV_MINUTE;
    }
    if (index < MODEL_TIMES * 3 / 4) { /* the days before */
        return base_ns - 2 * VV_HOUR - i * 3 * VV_HOUR;
    }
    return base_ns - 400 * VV_DAY - i * 7 * VV_SECOND; /* history loaded years afterwards */
}

size_t model_time_index(int64_t time_ns, int64_t base_ns)
{
    size_t index = 0;
    while (index < MODEL_TIMES && model_time(index, base_ns) != time_ns) {
        index++;
    }
    return index;
}

void model_acknowledge(struct model_point *point, uint64_t value, uint64_t sequence)
{
    point->acknowledged = true;
    point->value = value;
    point->sequence = sequence;
    size_t kept = 0; /* open values that came later may still win */
    for (size_t i = 0; i < point->n_open; i++) {
        if (point->open[i].sequence > sequence) {
            point->open[kept++] = point->open[i];
        }
    }
    point->n_open = kept;
}

void model_leave_open(struct model_point *point, uint64_t value, uint64_t sequence)
{
    if (point->n_open == MODEL_OPEN) { /* the oldest is the least likely to matter: forget none */
        __builtin_trap();
    }
    point->open[point->n_open].value = value;
    point->open[point->n_open++].sequence = sequence;
}

static struct model_point *each(struct model *model, size_t index)
{
    return &model->points[0][0][0] + index;
}

void model_check_begin(struct model *model)
{
    for (size_t i = 0; i < MODEL_SOURCES * MODEL_FIELDS * MODEL_TIMES; i++) {
        each(model, i)->seen = false;
    }
}

const char *model_check_see(struct model *model, struct model_point *point, uint64_t value)
{
    if (point->seen) {
        return "a point is answered twice";
    }
    point->seen = true;
    if (point->acknowledged && point->value == value) {
        return NULL;
    }
    for (size_t i = 0; i < point->n_open && model->restarted; i++) {
        if (point->open[i].value == value) { /* it is there, so it has to stay */
            point->acknowledged = true;
            point->value = value;
            point->sequence = point->open[i].sequence;
            return NULL;
        }
    }
    return point->acknowledged ? "another value than the one acknowledged last"
                               : "a value that was never acknowledged";
}

const char *model_check_end(struct model *model, size_t *source_out, size_t *field_out,
                            size_t *time_out)
{
    for (size_t i = 0; i < MODEL_SOURCES * MODEL_FIELDS * MODEL_TIMES; i++) {
        struct model_point *point = each(model, i);
        if (model->restarted) {
            point->n_open = 0; /* what a restart did not bring back never comes */
        }
        if (point->acknowledged && !point->seen) {
            *time_out = i % MODEL_TIMES;
            *field_out = i / MODEL_TIMES % MODEL_FIELDS;
            *source_out = i / MODEL_TIMES / MODEL_FIELDS;
            return "an acknowledged value is missing";
        }
    }
    model->restarted = false;
    return NULL;
}
