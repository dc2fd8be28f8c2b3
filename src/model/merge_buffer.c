/* SPDX-License-Identifier: Apache-2.0 */
/* The merge's working memory: growth, order, and which of two values for one time wins. */
#include "model/merge_buffer.h"

#include <stdlib.h>
#include <string.h>

enum vv_status vv_merge_buffer_init(struct vv_merge_buffer *buffer, size_t n_lanes)
{
    *buffer = (struct vv_merge_buffer){.n_lanes = n_lanes};
    buffer->lanes = calloc(n_lanes ? n_lanes : 1, sizeof *buffer->lanes);
    vv_merge_buffer_clear(buffer);
    return buffer->lanes ? VV_OK : VV_NO_MEMORY;
}

void vv_merge_buffer_deinit(struct vv_merge_buffer *buffer)
{
    free(buffer->times);
    free(buffer->stamps);
    for (size_t i = 0; buffer->lanes && i < buffer->n_lanes; i++) {
        free(buffer->lanes[i].values);
        free(buffer->lanes[i].has);
    }
    free(buffer->lanes);
    *buffer = (struct vv_merge_buffer){0};
}

void vv_merge_buffer_clear(struct vv_merge_buffer *buffer)
{
    buffer->n_rows = 0;
    buffer->sorted = true;
    buffer->unique = true;
    for (size_t i = 0; buffer->lanes && i < buffer->n_lanes; i++) {
        buffer->lanes[i].full = true;
    }
}

static bool grow(void *array, size_t count, size_t size)
{
    void **pointer = array;
    void *bigger = realloc(*pointer, count * size);
    if (bigger) {
        *pointer = bigger;
    }
    return bigger != NULL;
}

enum vv_status vv_merge_buffer_reserve(struct vv_merge_buffer *buffer, size_t rows)
{
    size_t needed = buffer->n_rows + rows;
    if (needed <= buffer->capacity) {
        return VV_OK;
    }
    size_t capacity = buffer->capacity * 2 > needed ? buffer->capacity * 2 : needed;
    bool grown = grow(&buffer->times, capacity, sizeof *buffer->times) &&
                 grow(&buffer->stamps, capacity, sizeof *buffer->stamps);
    for (size_t i = 0; i < buffer->n_lanes && grown; i++) {
        struct vv_lane *lane = &buffer->lanes[i];
        grown = grow(&lane->values, capacity, sizeof *lane->values) &&
                grow(&lane->has, capacity, sizeof *lane->has);
    }
    if (!grown) {
        return VV_NO_MEMORY; /* arrays that did grow are merely larger than capacity says */
    }
    buffer->capacity = capacity;
    return VV_OK;
}

size_t vv_merge_buffer_bytes(const struct vv_merge_buffer *buffer)
{
    return buffer->capacity * (sizeof(int64_t) + sizeof(uint64_t) +
                               buffer->n_lanes * (sizeof(uint64_t) + sizeof(uint8_t)));
}

void vv_merge_buffer_appended(struct vv_merge_buffer *buffer, size_t first)
{
    const int64_t *times = buffer->times;
    for (size_t i = first ? first : 1; i < buffer->n_rows && buffer->sorted; i++) {
        if (times[i] > times[i - 1]) {
            continue;
        }
        buffer->unique = false;
        if (times[i] < times[i - 1] || buffer->stamps[i] < buffer->stamps[i - 1]) {
            buffer->sorted = false;
        }
    }
    for (size_t lane = 0; lane < buffer->n_lanes; lane++) {
        size_t rows = buffer->n_rows - first;
        if (buffer->lanes[lane].full && rows &&
            memchr(buffer->lanes[lane].has + first, 0, rows) != NULL) {
            buffer->lanes[lane].full = false;
        }
    }
}

struct sort_key {
    int64_t time;
    uint64_t stamp;
    size_t index;
};

static int compare_keys(const void *a, const void *b)
{
    const struct sort_key *x = a;
    const struct sort_key *y = b;
    if (x->time != y->time) {
        return x->time < y->time ? -1 : 1;
    }
    if (x->stamp != y->stamp) {
        return x->stamp < y->stamp ? -1 : 1;
    }
    return x->index < y->index ? -1 : x->index > y->index;
}

static void gather(const struct vv_merge_buffer *from, const struct sort_key *keys,
                   struct vv_merge_buffer *to)
{
    for (size_t i = 0; i < from->n_rows; i++) {
        to->times[i] = keys[i].time;
        to->stamps[i] = keys[i].stamp;
    }
    for (size_t lane = 0; lane < from->n_lanes; lane++) {
        for (size_t i = 0; i < from->n_rows; i++) {
            to->lanes[lane].values[i] = from->lanes[lane].values[keys[i].index];
            to->lanes[lane].has[i] = from->lanes[lane].has[keys[i].index];
        }
    }
    to->n_rows = from->n_rows;
}

enum vv_status vv_merge_buffer_sort(struct vv_merge_buffer *buffer, struct vv_merge_buffer *spare)
{
    if (buffer->sorted) {
        return VV_OK;
    }
    vv_merge_buffer_clear(spare);
    struct sort_key *keys = malloc(buffer->n_rows * sizeof *keys);
    if (!keys || vv_merge_buffer_reserve(spare, buffer->n_rows) != VV_OK) {
        free(keys);
        return VV_NO_MEMORY;
    }
    for (size_t i = 0; i < buffer->n_rows; i++) {
        keys[i] = (struct sort_key){buffer->times[i], buffer->stamps[i], i};
    }
    qsort(keys, buffer->n_rows, sizeof *keys, compare_keys);
    gather(buffer, keys, spare);
    free(keys);
    struct vv_merge_buffer swap = *buffer;
    *buffer = *spare;
    *spare = swap;
    buffer->sorted = true;
    buffer->unique = true;
    vv_merge_buffer_appended(buffer, 0);
    return VV_OK;
}

/* Copies into row `to` of out what row `from` has and the row does not have yet. */
static bool take_values(const struct vv_merge_buffer *buffer, size_t from,
                        struct vv_merge_buffer *out, size_t to)
{
    bool any = false;
    for (size_t i = 0; i < buffer->n_lanes; i++) {
        if (buffer->lanes[i].has[from] && !out->lanes[i].has[to]) {
            out->lanes[i].values[to] = buffer->lanes[i].values[from];
            out->lanes[i].has[to] = 1;
            any = true;
        }
    }
    return any;
}

static void open_row(struct vv_merge_buffer *out, size_t row, int64_t time, uint64_t stamp)
{
    out->times[row] = time;
    out->stamps[row] = stamp;
    for (size_t i = 0; i < out->n_lanes; i++) {
        out->lanes[i].has[row] = 0;
        out->lanes[i].values[row] = 0;
    }
}

/* Rows [first, end) have one time: the newest value of each lane, in one row. */
static void join_group(const struct vv_merge_buffer *buffer, size_t first, size_t end,
                       struct vv_merge_buffer *out)
{
    size_t row = out->n_rows;
    bool any = false;
    open_row(out, row, buffer->times[first], buffer->stamps[end - 1]);
    for (size_t i = end; i-- > first;) {
        any |= take_values(buffer, i, out, row);
    }
    out->n_rows += any;
}

/* Whether a row after `row` of the group has the lane: then this row's value has lost. */
static bool is_overwritten(const struct vv_lane *lane, size_t row, size_t end)
{
    return memchr(lane->has + row + 1, 1, end - row - 1) != NULL;
}

/* Rows [first, end) have one time: values stay in the row of their stamp if they have won. */
static void separate_group(const struct vv_merge_buffer *buffer, size_t first, size_t end,
                           struct vv_merge_buffer *out)
{
    for (size_t i = first; i < end; i++) {
        size_t row = out->n_rows;
        bool continues = row > 0 && i > first && out->times[row - 1] == buffer->times[i] &&
                         out->stamps[row - 1] == buffer->stamps[i];
        row -= continues;
        if (!continues) {
            open_row(out, row, buffer->times[i], buffer->stamps[i]);
        }
        bool any = false;
        for (size_t lane = 0; lane < buffer->n_lanes; lane++) {
            const struct vv_lane *from = &buffer->lanes[lane];
            if (from->has[i] && !is_overwritten(from, i, end)) {
                out->lanes[lane].values[row] = from->values[i];
                out->lanes[lane].has[row] = 1;
                any = true;
            }
        }
        out->n_rows += any && !continues;
    }
}

enum vv_status vv_merge_buffer_resolve(const struct vv_merge_buffer *buffer, size_t first,
                                       size_t end, bool join_times, struct vv_merge_buffer *out)
{
    size_t start = out->n_rows;
    if (vv_merge_buffer_reserve(out, end - first) != VV_OK) {
        return VV_NO_MEMORY;
    }
    for (size_t i = first; i < end;) {
        size_t next = i + 1;
        while (next < end && buffer->times[next] == buffer->times[i]) {
            next++;
        }
        if (join_times) {
            join_group(buffer, i, next, out);
        } else {
            separate_group(buffer, i, next, out);
        }
        i = next;
    }
    vv_merge_buffer_appended(out, start);
    return VV_OK;
}

void vv_merge_buffer_keep(struct vv_merge_buffer *buffer, size_t first, size_t end)
{
    size_t rows = end - first;
    if (rows == 0) {
        vv_merge_buffer_clear(buffer);
        return;
    }
    if (first > 0) {
        memmove(buffer->times, buffer->times + first, rows * sizeof *buffer->times);
        memmove(buffer->stamps, buffer->stamps + first, rows * sizeof *buffer->stamps);
        for (size_t i = 0; i < buffer->n_lanes; i++) {
            struct vv_lane *lane = &buffer->lanes[i];
            memmove(lane->values, lane->values + first, rows * sizeof *lane->values);
            memmove(lane->has, lane->has + first, rows);
        }
    }
    buffer->n_rows = rows;
}
