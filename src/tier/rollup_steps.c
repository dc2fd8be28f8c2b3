/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps are kept in the order in which they were seen first, the same for all metrics, and in an
 * index by time; points come ascending, so the step of the last one is nearly always the one
 * wanted.
 */
#include "tier/rollup_private.h"

#include <stdlib.h>
#include <string.h>

#define CELLS_MAX                                                                                  \
    (1u << 20) /* steps of metrics, each of some 350 bytes: what memory may be taken */
#define CELLS_KEPT  (1u << 16)                       /* from one roll-up to the next */
#define SKETCH_KEPT (sizeof(struct vv_sketch) + 256) /* the same, with the memory of few bins */
#define STEPS_FIRST 64 /* room for so many is made at first, then twice as many */

enum vv_status vv_rollup_no_memory(struct vv_error *error)
{
    return vv_error_set(error, VV_NO_MEMORY, "out of memory while rolling up");
}

/* ---- life ---- */

enum vv_status vv_rollup_create(double alpha, struct vv_rollup **rollup_out)
{
    struct vv_sketch probe;
    if (alpha != 0 && !vv_sketch_init(&probe, alpha)) {
        return VV_INVALID;
    }
    struct vv_rollup *rollup = calloc(1, sizeof *rollup);
    if (!rollup) {
        return VV_NO_MEMORY;
    }
    rollup->alpha = alpha;
    rollup->step_ns = 1;
    *rollup_out = rollup;
    return VV_OK;
}

/* Most have few bins, and the next one as many. */
static void clear_sketch(struct vv_sketch *sketch)
{
    if (vv_sketch_memory_bytes(sketch) > SKETCH_KEPT) {
        vv_sketch_deinit(sketch);
    } else {
        vv_sketch_clear(sketch);
    }
}

static void clear_metric(const struct vv_rollup *rollup, struct vv_rolled_metric *metric)
{
    for (size_t i = 0; i < rollup->n_steps && rollup->alpha > 0; i++) {
        if (metric->steps[i].count > 0) {
            clear_sketch(&metric->sketches[i]);
        }
    }
    if (rollup->n_steps > 0) {
        memset(metric->steps, 0, rollup->n_steps * sizeof *metric->steps);
    }
}

/* Of empty sketches from the first one on: what memory they keep. */
static void drop_sketches(const struct vv_rollup *rollup, struct vv_rolled_metric *metric,
                          size_t first)
{
    for (size_t i = first; i < rollup->steps_capacity && rollup->alpha > 0; i++) {
        vv_sketch_deinit(&metric->sketches[i]);
    }
}

/* Frees the arrays of metrics from the first one on that are not in use. */
static void drop_metrics(struct vv_rollup *rollup, size_t first)
{
    for (size_t i = first; i < rollup->metrics_made; i++) {
        drop_sketches(rollup, &rollup->metrics[i], 0);
        free(rollup->metrics[i].steps);
        free(rollup->metrics[i].sketches);
    }
    rollup->metrics_made = first;
}

void vv_rollup_begin(struct vv_rollup *rollup, int64_t step_ns)
{
    vv_invariant(step_ns > 0);
    for (size_t i = 0; i < rollup->n_metrics; i++) {
        clear_metric(rollup, &rollup->metrics[i]);
    }
    if (rollup->metrics_made * rollup->steps_capacity > CELLS_KEPT) {
        drop_metrics(rollup, 0);
        rollup->steps_capacity = 0;
    }
    rollup->step_ns = step_ns;
    rollup->n_steps = 0;
    rollup->n_metrics = 0;
    rollup->n_values = 0;
    rollup->recent = 0;
    rollup->takes = VV_TAKES_ALL;
}

static void take(struct vv_rollup *rollup, enum vv_rollup_takes takes,
                 const struct vv_rollup_part *part)
{
    rollup->takes = takes;
    rollup->part = *part;
    rollup->n_left_out = 0;
}

void vv_rollup_take_only(struct vv_rollup *rollup, const struct vv_rollup_part *part)
{
    take(rollup, VV_TAKES_ONLY, part);
}

void vv_rollup_leave_out(struct vv_rollup *rollup, const struct vv_rollup_part *part)
{
    take(rollup, VV_LEAVES_OUT, part);
}

void vv_rollup_leave_out_metrics(struct vv_rollup *rollup, const uint32_t *metrics, size_t n,
                                 int64_t from, int64_t to)
{
    const struct vv_rollup_part part = {VV_ROLLUP_ALL_METRICS, from, to};
    vv_invariant(n > 0);
    take(rollup, VV_LEAVES_OUT, &part);
    rollup->left_out = metrics;
    rollup->n_left_out = n;
}

void vv_rollup_take_all(struct vv_rollup *rollup)
{
    rollup->takes = VV_TAKES_ALL;
}

void vv_rollup_destroy(struct vv_rollup *rollup)
{
    if (!rollup) {
        return;
    }
    vv_rollup_begin(rollup, 1);
    drop_metrics(rollup, 0);
    free(rollup->metrics);
    free(rollup->starts);
    free(rollup->order);
    free(rollup);
}

/* ---- room ---- */

static void *grow(void *array, size_t size, size_t n, bool *done)
{
    void *bigger = realloc(array, size * n);
    *done &= bigger != NULL;
    return bigger ? bigger : array;
}

/* Arrays of a metric for `capacity` steps, those from `used` on empty. */
static bool fit_metric(const struct vv_rollup *rollup, struct vv_rolled_metric *metric, size_t used,
                       size_t capacity)
{
    bool done = true;
    metric->steps = grow(metric->steps, sizeof *metric->steps, capacity, &done);
    if (rollup->alpha > 0) {
        metric->sketches = grow(metric->sketches, sizeof *metric->sketches, capacity, &done);
    }
    if (done) {
        memset(metric->steps + used, 0, (capacity - used) * sizeof *metric->steps);
    }
    for (size_t i = used; i < capacity && done && rollup->alpha > 0; i++) {
        (void)vv_sketch_init(&metric->sketches[i], rollup->alpha);
    }
    return done;
}

static enum vv_status check_cells(size_t n_metrics, size_t n_steps, struct vv_error *error)
{
    return n_metrics * n_steps <= CELLS_MAX
               ? VV_OK
               : vv_error_set(error, VV_TOO_LARGE,
                              "there are too many steps of too many metrics to roll up at once");
}

/* What so many steps have room for when nothing had more before them. */
static size_t capacity_of(size_t n_steps)
{
    size_t capacity = STEPS_FIRST;
    while (capacity < n_steps) {
        capacity *= 2;
    }
    return capacity;
}

/* Gives back the room of an earlier roll-up that had more steps: what fits must not depend on what
 * was rolled up before. An array that can't be made smaller may stay. */
static void shrink_steps(struct vv_rollup *rollup)
{
    size_t capacity = capacity_of(rollup->n_steps);
    if (capacity >= rollup->steps_capacity) {
        return;
    }
    drop_metrics(rollup, rollup->n_metrics);
    for (size_t i = 0; i < rollup->metrics_made; i++) {
        drop_sketches(rollup, &rollup->metrics[i], capacity);
        (void)fit_metric(rollup, &rollup->metrics[i], capacity, capacity);
    }
    rollup->steps_capacity = capacity;
}

static enum vv_status fit_steps(struct vv_rollup *rollup, struct vv_error *error)
{
    if (rollup->n_steps < rollup->steps_capacity) {
        return VV_OK;
    }
    if (rollup->n_steps == VV_CHUNK_STEPS_MAX) {
        return vv_error_set(error, VV_TOO_LARGE, "there are more than %u steps to roll up at once",
                            VV_CHUNK_STEPS_MAX);
    }
    size_t capacity = capacity_of(rollup->n_steps + 1);
    bool done = true;
    enum vv_status status = check_cells(rollup->n_metrics, capacity, error);
    if (status != VV_OK) {
        return status;
    }
    drop_metrics(rollup, rollup->n_metrics);
    rollup->starts = grow(rollup->starts, sizeof *rollup->starts, capacity, &done);
    rollup->order = grow(rollup->order, sizeof *rollup->order, capacity, &done);
    for (size_t i = 0; i < rollup->metrics_made && done; i++) {
        done = fit_metric(rollup, &rollup->metrics[i], rollup->steps_capacity, capacity);
    }
    if (!done) {
        return vv_rollup_no_memory(error);
    }
    rollup->steps_capacity = capacity;
    return VV_OK;
}

static enum vv_status make_metric(struct vv_rollup *rollup, struct vv_error *error)
{
    if (rollup->n_metrics == VV_ROLLUP_METRICS_MAX) {
        return vv_error_set(error, VV_TOO_LARGE,
                            "there are more than %u metrics to roll up at once",
                            VV_ROLLUP_METRICS_MAX);
    }
    if (rollup->n_metrics < rollup->metrics_made) {
        return VV_OK;
    }
    if ((rollup->n_metrics + 1) * rollup->steps_capacity > CELLS_MAX) {
        shrink_steps(rollup);
    }
    enum vv_status status = check_cells(rollup->n_metrics + 1, rollup->steps_capacity, error);
    if (status != VV_OK) {
        return status;
    }
    if (rollup->metrics_made == rollup->metrics_capacity) {
        size_t capacity = rollup->metrics_capacity ? rollup->metrics_capacity * 2 : 16;
        bool done = true;
        rollup->metrics = grow(rollup->metrics, sizeof *rollup->metrics, capacity, &done);
        if (!done) {
            return vv_rollup_no_memory(error);
        }
        rollup->metrics_capacity = capacity;
    }
    struct vv_rolled_metric made = {0};
    if (rollup->steps_capacity > 0 && !fit_metric(rollup, &made, 0, rollup->steps_capacity)) {
        free(made.steps);
        free(made.sketches);
        return vv_rollup_no_memory(error);
    }
    rollup->metrics[rollup->metrics_made++] = made;
    return VV_OK;
}

/* ---- finding ---- */

/* Floats beside integers make all of them floats, as everywhere. */
static void fit_type(const struct vv_rollup *rollup, struct vv_rolled_metric *metric,
                     enum vv_value_type type)
{
    if (metric->type == type || metric->type == VV_FLOAT64) {
        return;
    }
    for (size_t i = 0; i < rollup->n_steps; i++) {
        if (metric->steps[i].count > 0) {
            vv_step_widen(&metric->steps[i]);
        }
    }
    metric->type = VV_FLOAT64;
}

enum vv_status vv_rollup_metric(struct vv_rollup *rollup, uint32_t metric, enum vv_value_type type,
                                struct vv_rolled_metric **metric_out, struct vv_error *error)
{
    size_t low = 0;
    for (size_t high = rollup->n_metrics; low < high;) {
        size_t middle = low + (high - low) / 2;
        if (rollup->metrics[middle].metric < metric) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    struct vv_rolled_metric *found = &rollup->metrics[low];
    if (low == rollup->n_metrics || found->metric != metric) {
        enum vv_status status = make_metric(rollup, error);
        if (status != VV_OK) {
            return status;
        }
        found = &rollup->metrics[low];
        struct vv_rolled_metric fresh = rollup->metrics[rollup->n_metrics];
        memmove(found + 1, found, (rollup->n_metrics - low) * sizeof *found);
        fresh.metric = metric;
        fresh.type = type;
        *found = fresh;
        rollup->n_metrics++;
    }
    fit_type(rollup, found, type);
    *metric_out = found;
    return VV_OK;
}

/* The first place in the order whose step begins at `start` or later. */
static size_t place_of(const struct vv_rollup *rollup, int64_t start)
{
    size_t low = 0;
    for (size_t high = rollup->n_steps; low < high;) {
        size_t middle = low + (high - low) / 2;
        if (rollup->starts[rollup->order[middle]] < start) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

enum vv_status vv_rollup_step(struct vv_rollup *rollup, int64_t start, size_t *step_out,
                              struct vv_error *error)
{
    size_t place = rollup->recent;
    if (place >= rollup->n_steps || rollup->starts[rollup->order[place]] != start) {
        place = place_of(rollup, start);
    }
    if (place == rollup->n_steps || rollup->starts[rollup->order[place]] != start) {
        enum vv_status status = fit_steps(rollup, error);
        if (status != VV_OK) {
            return status;
        }
        uint32_t *at = rollup->order + place;
        memmove(at + 1, at, (rollup->n_steps - place) * sizeof *at);
        *at = (uint32_t)rollup->n_steps;
        rollup->starts[rollup->n_steps++] = start;
    }
    rollup->recent = place;
    *step_out = rollup->order[place];
    return VV_OK;
}

/* ---- order ---- */

enum vv_status vv_rollup_sort(struct vv_rollup *rollup, struct vv_error *error)
{
    size_t n = rollup->n_steps;
    bool is_sorted = true;
    for (size_t i = 0; i < n; i++) {
        is_sorted &= rollup->order[i] == i;
    }
    if (is_sorted) {
        return VV_OK;
    }
    size_t size = sizeof(struct vv_sketch) > sizeof(struct vv_step) ? sizeof(struct vv_sketch)
                                                                    : sizeof(struct vv_step);
    char *room = malloc(n * size);
    if (!room) {
        return vv_rollup_no_memory(error);
    }
    int64_t *starts = (int64_t *)(void *)room;
    struct vv_step *steps = (struct vv_step *)(void *)room;
    struct vv_sketch *sketches = (struct vv_sketch *)(void *)room;
    for (size_t m = 0; m < rollup->n_metrics; m++) {
        struct vv_rolled_metric *metric = &rollup->metrics[m];
        for (size_t i = 0; i < n && rollup->alpha > 0; i++) {
            sketches[i] = metric->sketches[rollup->order[i]];
        }
        if (rollup->alpha > 0) {
            memcpy(metric->sketches, sketches, n * sizeof *sketches);
        }
        for (size_t i = 0; i < n; i++) {
            steps[i] = metric->steps[rollup->order[i]];
        }
        memcpy(metric->steps, steps, n * sizeof *steps);
    }
    for (size_t i = 0; i < n; i++) {
        starts[i] = rollup->starts[rollup->order[i]];
    }
    memcpy(rollup->starts, starts, n * sizeof *starts);
    for (size_t i = 0; i < n; i++) {
        rollup->order[i] = (uint32_t)i;
    }
    free(room);
    return VV_OK;
}
