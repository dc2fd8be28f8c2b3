/* SPDX-License-Identifier: Apache-2.0 */
/* The naive model of what must be answered. */
#include "simulation/model.h"

#include "base/clock.h"
#include "model/partition.h"

#include <stdlib.h>

/* The first indexes of the groups of times; the first group is around the start. */
#define DAYS_BEFORE (MODEL_TIMES * 2 / 9)
#define BURST       (MODEL_TIMES * 4 / 9)
#define YEARS_AGO   (BURST - 2 * OF_A_DAY)
#define OF_A_DAY    30 /* steps, not rows, of each day; and nothing else near them */
#define MIDNIGHT    (BURST + MODEL_BURST_TIMES)
#define MONTHS_AGO  (MIDNIGHT + MODEL_BURST_TIMES)
#define TO_COME     (MODEL_TIMES * 5 / 6)
#define NEXT_DAYS   (TO_COME + 10) /* the first and the last half minute of a day */
#define OF_AN_END   25

static int64_t time_of(size_t index, int64_t base_ns)
{
    int64_t i = (int64_t)index;
    if (index < DAYS_BEFORE) { /* around the start, some of them to come */
        return base_ns + ((int64_t)MODEL_NOW - i) * 3 * VV_MINUTE;
    }
    if (index < YEARS_AGO) {
        return base_ns - 2 * VV_HOUR - i * 3 * VV_HOUR;
    }
    if (index < BURST) { /* history loaded years afterwards, of an hour of two days */
        int64_t hour = vv_time_floor(base_ns, VV_HOUR) - 400 * VV_DAY;
        i -= YEARS_AGO;
        return hour - i / OF_A_DAY * VV_DAY + (1 + i % OF_A_DAY * 7) * VV_SECOND;
    }
    if (index < MIDNIGHT) { /* around the end of an hour, on a day that has nothing else */
        return base_ns - 43 * VV_HOUR + (i - BURST - 20) * VV_SECOND;
    }
    if (index < MONTHS_AGO) {
        return base_ns + (i - MIDNIGHT - 30) * VV_SECOND + VV_SECOND / 2;
    }
    if (index < TO_COME) {
        return base_ns - 40 * VV_DAY - (i - MONTHS_AGO) * 41 * VV_HOUR;
    }
    if (index < NEXT_DAYS) {
        return base_ns + VV_DAY + (i - TO_COME) * 68 * VV_HOUR + VV_SECOND;
    }
    i -= NEXT_DAYS;
    return i < OF_AN_END ? base_ns + 3 * VV_DAY + i * VV_SECOND
                         : base_ns + 9 * VV_DAY + (i - 2 * OF_AN_END) * VV_SECOND;
}

size_t model_burst(size_t burst, size_t *n_out)
{
    static const size_t first[MODEL_BURSTS] = {YEARS_AGO, BURST, MIDNIGHT, NEXT_DAYS,
                                               NEXT_DAYS + OF_AN_END};
    *n_out = burst == 0 ? BURST - YEARS_AGO : burst > 2 ? OF_AN_END : MODEL_BURST_TIMES;
    return first[burst];
}

static int compare_times(const void *a, const void *b, void *context)
{
    const struct model *model = context;
    int64_t x = model->times[*(const size_t *)a];
    int64_t y = model->times[*(const size_t *)b];
    vv_invariant(x != y || a == b);
    return x < y ? -1 : x > y;
}

void model_init(struct model *model, int64_t base_ns)
{
    for (size_t i = 0; i < MODEL_TIMES; i++) {
        model->times[i] = time_of(i, base_ns);
        model->by_time[i] = i;
    }
    model->frozen = VV_TIME_MIN;
    qsort_r(model->by_time, MODEL_TIMES, sizeof model->by_time[0], compare_times, model);
}

size_t model_time_index(const struct model *model, int64_t time_ns)
{
    size_t low = 0;
    size_t high = MODEL_TIMES;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int64_t time = model->times[model->by_time[middle]];
        if (time == time_ns) {
            return model->by_time[middle];
        }
        low = time < time_ns ? middle + 1 : low;
        high = time < time_ns ? high : middle;
    }
    return MODEL_TIMES;
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

/* Values that are open came earlier, and are deleted too if they are there. */
void model_delete(struct model_point *point)
{
    point->acknowledged = false;
    point->n_open = 0;
    point->deletion = 0;
}

void model_blur(struct model *model, size_t source, int64_t time_ns)
{
    const int64_t unit_ns = 28 * VV_DAY;
    int64_t from = vv_time_floor(time_ns, unit_ns);
    for (size_t field = 0; field < MODEL_FIELDS; field++) {
        for (size_t t = 0; t < MODEL_TIMES; t++) {
            bool is_near = model->times[t] >= from && model->times[t] < from + unit_ns;
            model->points[source][field][t].vague |= is_near;
        }
    }
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
        if (model->times[i % MODEL_TIMES] < model->frozen) {
            point->vague |= point->n_open > 0 || point->deletion > point->sequence;
            point->n_open = 0;
            point->deletion = 0;
            continue;
        }
        if (model->restarted) {
            point->n_open = 0; /* what a restart did not bring back never comes */
        }
        bool may_be_deleted = model->restarted && point->deletion > point->sequence;
        if (point->acknowledged && !point->seen && may_be_deleted) {
            point->acknowledged = false; /* it is not there, so it has to stay away */
        }
        point->deletion = model->restarted ? 0 : point->deletion;
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
