/* SPDX-License-Identifier: Apache-2.0 */
/* What must be answered. */
#include "simulation/fleet/truth.h"

#include "simulation/sim_memory.h"

#include <stdlib.h>

void truth_deinit(struct truth *truth)
{
    for (size_t i = 0; i < TRUTH_POINTS; i++) {
        free(truth->points[i].writes);
    }
    free(truth->deletions);
}

int64_t truth_time(size_t index, int64_t base_ns)
{
    int64_t i = (int64_t)index;
    if (index < TRUTH_FAR * 2 / 3) { /* around the start, some of them to come */
        return base_ns + ((int64_t)TRUTH_NOW - i) * 7 * VV_MINUTE;
    }
    if (index < TRUTH_FAR) { /* the days before */
        return base_ns - VV_DAY - i * 5 * VV_HOUR;
    }
    return base_ns - 400 * VV_DAY - i * 11 * VV_SECOND;
}

size_t truth_index(size_t source, size_t field, size_t time)
{
    return (source * TRUTH_FIELDS + field) * TRUTH_TIMES + time;
}

size_t truth_time_index(int64_t time_ns, int64_t base_ns)
{
    size_t index = 0;
    while (index < TRUTH_TIMES && truth_time(index, base_ns) != time_ns) {
        index++;
    }
    return index;
}

void truth_write(struct truth *truth, size_t point, vv_stamp stamp, uint64_t value, uint32_t node)
{
    struct truth_point *one = &truth->points[point];
    if (one->n == one->capacity) {
        one->capacity = one->capacity ? one->capacity * 2 : 4;
        one->writes = vv_sim_realloc(one->writes, one->capacity * sizeof *one->writes);
    }
    one->writes[one->n++] = (struct truth_write){.stamp = stamp, .value = value, .node = node};
}

void truth_acknowledge(struct truth *truth, size_t point, vv_stamp stamp, int64_t now_ns)
{
    struct truth_point *one = &truth->points[point];
    for (size_t i = one->n; i-- > 0;) {
        if (one->writes[i].stamp == stamp) {
            one->writes[i].is_acknowledged = true;
            one->writes[i].acknowledged_ns = now_ns;
            one->writes[i].order = ++truth->acknowledgements;
        }
    }
}

void truth_begin(struct truth *truth)
{
    for (size_t i = 0; i < TRUTH_POINTS; i++) {
        truth->points[i].seen = 0;
    }
}

const char *truth_see(struct truth *truth, size_t point, uint64_t value)
{
    if (truth->points[point].seen) {
        return "a point is answered twice";
    }
    truth->points[point].seen = value;
    return NULL;
}

static uint64_t rank(const struct truth *truth, const struct truth_write *write)
{
    return truth->forgets_nodes ? vv_stamp_clock_us(write->stamp) : write->stamp;
}

const struct truth_write *truth_known(const struct truth *truth, size_t index,
                                      const struct truth_reader *reader)
{
    const struct truth_point *point = &truth->points[index];
    const struct truth_write *best = NULL;
    for (size_t i = 0; i < point->n; i++) {
        const struct truth_write *write = &point->writes[i];
        int64_t until = reader->until_ns[write->node];
        bool is_known =
            write->is_acknowledged &&
            (write->node == reader->node || until == INT64_MAX || write->acknowledged_ns < until);
        if (is_known && (!best || rank(truth, write) > rank(truth, best))) {
            best = write;
        }
    }
    return best;
}

/* ---- deletions ---- */

void truth_delete(struct truth *truth, const struct truth_deletion *deletion)
{
    if (truth->n_deletions == truth->deletions_capacity) {
        truth->deletions_capacity = truth->deletions_capacity ? truth->deletions_capacity * 2 : 16;
        truth->deletions =
            vv_sim_realloc(truth->deletions, truth->deletions_capacity * sizeof *truth->deletions);
    }
    truth->deletions[truth->n_deletions++] = *deletion;
}

static bool concerns(const struct truth *truth, const struct truth_deletion *deletion, size_t point)
{
    size_t source = point / TRUTH_TIMES / TRUTH_FIELDS;
    size_t field = point / TRUTH_TIMES % TRUTH_FIELDS;
    int64_t time = truth_time(point % TRUTH_TIMES, truth->base_ns);
    return (deletion->sources >> source & 1) &&
           (deletion->field == TRUTH_FIELDS || deletion->field == field) &&
           time >= deletion->from_ns && time < deletion->to_ns;
}

/* Where nodes are forgotten, the same µs may be hidden or not. */
static bool hides(const struct truth *truth, const struct truth_deletion *deletion,
                  const struct truth_write *write, bool for_sure)
{
    if (!truth->forgets_nodes) {
        return write->stamp < deletion->stamp;
    }
    uint64_t written = vv_stamp_clock_us(write->stamp);
    uint64_t deleted = vv_stamp_clock_us(deletion->stamp);
    return for_sure ? written < deleted : written <= deleted;
}

static bool may_be_hidden(const struct truth *truth, size_t point, const struct truth_write *write)
{
    for (size_t i = 0; i < truth->n_deletions; i++) {
        const struct truth_deletion *deletion = &truth->deletions[i];
        if (concerns(truth, deletion, point) && hides(truth, deletion, write, false)) {
            return true;
        }
    }
    return false;
}

/* By what the reader has to know; NULL: by all that was acknowledged. */
static bool must_be_hidden(const struct truth *truth, size_t point, const struct truth_write *write,
                           const struct truth_reader *reader)
{
    for (size_t i = 0; i < truth->n_deletions; i++) {
        const struct truth_deletion *deletion = &truth->deletions[i];
        bool is_known = deletion->is_acknowledged &&
                        (!reader || deletion->node == reader->node ||
                         deletion->acknowledged_ns < reader->until_ns[deletion->node]);
        if (is_known && concerns(truth, deletion, point) && hides(truth, deletion, write, true)) {
            return true;
        }
    }
    return false;
}

bool truth_is_deleted(const struct truth *truth, size_t point, uint64_t value)
{
    const struct truth_point *one = &truth->points[point];
    for (size_t i = 0; i < one->n; i++) {
        if (one->writes[i].value == value) {
            return must_be_hidden(truth, point, &one->writes[i], NULL);
        }
    }
    return false;
}

/* Whether the write may be deleted by something that the reader need not have heard of. Who knows
 * of it carries it out, the newest value first or last: rows go at once, and what was beside them
 * in a block, or comes later, when that is written anew. */
static bool may_be_hidden_unheard(const struct truth *truth, size_t point,
                                  const struct truth_write *write,
                                  const struct truth_reader *reader)
{
    for (size_t i = 0; i < truth->n_deletions; i++) {
        const struct truth_deletion *deletion = &truth->deletions[i];
        int64_t until = reader->until_ns[deletion->node];
        bool is_heard = deletion->node == reader->node || until == INT64_MAX ||
                        (deletion->is_acknowledged && deletion->acknowledged_ns < until);
        if (!is_heard && concerns(truth, deletion, point) && hides(truth, deletion, write, false)) {
            return true;
        }
    }
    return false;
}

/* ---- judging ---- */

static const char *judge(struct truth *truth, size_t index, const struct truth_reader *reader)
{
    struct truth_point *point = &truth->points[index];
    const struct truth_write *best = truth_known(truth, index, reader);
    if (!point->seen) {
        bool is_missing = best && !may_be_hidden(truth, index, best);
        return is_missing ? "an acknowledged value is missing" : NULL;
    }
    for (size_t i = point->n; i-- > 0;) {
        struct truth_write *write = &point->writes[i];
        if (write->value != point->seen) {
            continue;
        }
        if (best && rank(truth, write) < rank(truth, best) &&
            !may_be_hidden_unheard(truth, index, best, reader)) {
            return "an older value than one that was acknowledged";
        }
        if (must_be_hidden(truth, index, write, reader)) {
            return "a value that is deleted";
        }
        if (!write->is_acknowledged && write->node == reader->node) {
            write->is_acknowledged = true; /* it is there, so it has to stay */
            write->acknowledged_ns = INT64_MAX - 1;
        }
        return NULL;
    }
    return "a value that was never written";
}

const char *truth_end(struct truth *truth, const struct truth_reader *reader, size_t *point_out)
{
    for (size_t i = 0; i < TRUTH_POINTS; i++) {
        const char *wrong = judge(truth, i, reader);
        if (wrong) {
            *point_out = i;
            return wrong;
        }
    }
    return NULL;
}
