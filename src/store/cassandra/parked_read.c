/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading what is parked. It is collected before Cassandra is asked: a run that is delivered
 * meanwhile is seen twice then, and never missed.
 */
#include "store/cassandra/rows.h"

#include "store/keys.h"

#include <stdlib.h>

/* ---- runs ---- */

struct collecting {
    const struct vv_store_read *read;
    struct vv_parked_runs *runs;
    struct vv_error *error;
};

void vv_parked_runs_deinit(struct vv_parked_runs *runs)
{
    free(runs->items);
    vv_buffer_deinit(&runs->bytes);
}

enum vv_status vv_parked_runs_add(struct vv_parked_runs *runs, const struct vv_piece *run)
{
    if (runs->n == runs->capacity) {
        size_t capacity = runs->capacity ? runs->capacity * 2 : 16;
        struct vv_piece *items = realloc(runs->items, capacity * sizeof *items);
        if (!items) {
            return VV_NO_MEMORY;
        }
        runs->items = items;
        runs->capacity = capacity;
    }
    runs->items[runs->n++] = *run;
    vv_buffer_str(&runs->bytes, run->bytes);
    return vv_buffer_status(&runs->bytes);
}

void vv_parked_runs_end(struct vv_parked_runs *runs)
{
    size_t at = 0;
    for (size_t i = 0; i < runs->n; i++) {
        runs->items[i].bytes.data = (const char *)runs->bytes.data + at;
        at += runs->items[i].bytes.size;
    }
}

static enum vv_status collect_run(void *context, struct vv_str key, struct vv_str value)
{
    struct collecting *collecting = context;
    struct vv_piece run;
    if (vv_parked_run(key, value, &run) != VV_OK) {
        return vv_error_set(collecting->error, VV_CORRUPT, "a parked run is damaged");
    }
    if (run.key.span_start < collecting->read->span_from ||
        run.key.span_start >= collecting->read->span_to) {
        return VV_OK;
    }
    enum vv_status status = vv_parked_runs_add(collecting->runs, &run);
    return status == VV_OK ? VV_OK
                           : vv_error_set(collecting->error, status, "out of memory while reading");
}

/* Nothing can seal or remove rows: they are not given where nobody asks for values. */
static bool is_wanted(struct vv_cassandra *store, const struct vv_store_read *read)
{
    return read->partition.region == 0 && read->span_from < read->span_to &&
           (read->span_ns != 0 ||
            vv_cassandra_written_layout(store, read->partition.tenant) != VV_LAYOUT_ROWS) &&
           vv_parking_has_partition(&store->parking, &read->partition);
}

enum vv_status vv_parked_collect(struct vv_cassandra *store, const struct vv_store_read *read,
                                 struct vv_parked_runs *runs, struct vv_error *error)
{
    struct collecting collecting = {read, runs, error};
    uint8_t from[VV_KEY_SPAN_SIZE];
    uint8_t to[VV_KEY_SPAN_SIZE];
    if (!is_wanted(store, read)) {
        return VV_OK;
    }
    vv_key_read_bounds(read, 0, from, to);
    const struct vv_str prefix = {(char *)from, VV_KEY_PARTITION_SIZE + sizeof read->measurement};
    enum vv_status status =
        vv_parked_scan(store, VV_PARKED_RUN, prefix, collect_run, &collecting, error);
    if (status == VV_OK) {
        vv_parked_runs_end(runs);
    }
    return status;
}

enum vv_status vv_parked_give(const struct vv_parked_runs *runs, vv_piece_visit visit,
                              void *context)
{
    enum vv_status status = VV_OK;
    for (size_t i = 0; i < runs->n && status == VV_OK; i++) {
        status = visit(context, &runs->items[i]);
    }
    return status;
}

/* ---- buckets ---- */

struct nearest {
    int64_t wanted;
    bool forward;
    bool found;
    int64_t best;
};

static enum vv_status look_at_bucket(void *context, struct vv_str key, struct vv_str value)
{
    struct nearest *nearest = context;
    (void)value;
    if (key.size != VV_KEY_PARTITION_SIZE) {
        return VV_OK;
    }
    int64_t start = vv_key_to_partition((const uint8_t *)key.data).bucket_start;
    if (nearest->forward ? start < nearest->wanted : start > nearest->wanted) {
        return VV_OK;
    }
    bool is_nearer = nearest->forward ? start < nearest->best : start > nearest->best;
    if (!nearest->found || is_nearer) {
        nearest->found = true;
        nearest->best = start;
    }
    return VV_OK;
}

enum vv_status vv_parked_nearest(struct vv_cassandra *store, uint32_t tenant, uint32_t source,
                                 int64_t bucket_start, bool forward, int64_t *bucket_start_out,
                                 struct vv_error *error)
{
    struct nearest nearest = {.wanted = bucket_start, .forward = forward};
    uint8_t prefix[VV_KEY_SOURCE_SIZE];
    if (!atomic_load(&store->parking.is_loading) && atomic_load(&store->parking.n_buckets) == 0) {
        return VV_DONE;
    }
    vv_key_from_source(tenant, source, prefix);
    enum vv_status status =
        vv_parked_scan(store, VV_PARKED_BUCKET, (struct vv_str){(char *)prefix, sizeof prefix},
                       look_at_bucket, &nearest, error);
    *bucket_start_out = nearest.best;
    return status == VV_OK && !nearest.found ? VV_DONE : status;
}
