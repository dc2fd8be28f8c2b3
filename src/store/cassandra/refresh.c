/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs that are still not sealed at half of their slack are written again with their marks, so that
 * they do not expire before they are in a block: a pass over the marks that were due so long ago,
 * every quarter of the slack. A mark tells of its span's newest run only, so each run is judged by
 * its own version, which is when it was put. The bytes and the key are the same; the TTL is new.
 */
#include "model/space.h"
#include "store/cassandra/cassandra.h"
#include "store/keys.h"

#include <stdlib.h>

#define MARKS_AT_ONCE 64

struct refreshing {
    struct vv_cassandra *store;
    struct vv_mark marks[MARKS_AT_ONCE];
    size_t n;
    bool full;
};

static enum vv_status note_mark(void *context, const struct vv_mark *mark)
{
    struct refreshing *refreshing = context;
    if (refreshing->n == MARKS_AT_ONCE) {
        refreshing->full = true;
        return VV_DONE;
    }
    refreshing->store->refresh_after = *mark;
    refreshing->store->refresh_goes_on = true;
    refreshing->marks[refreshing->n++] = *mark;
    return VV_OK;
}

struct copying {
    struct vv_cassandra *store;
    int64_t before_ns; /* runs that are older */
    struct vv_buffer bytes;
    struct vv_piece *runs; /* their bytes are places in `bytes` until all are there */
    size_t n;
};

/* What is parked is with this node, and waits for what others must see before. What they see
 * already of the same key is another version of it: of a unit that was made stale again it must
 * last until that comes; of points the parked one has all that it has. */
static bool is_parked(struct vv_cassandra *store, const struct vv_piece *run)
{
    int64_t version;
    if (!vv_parking_has_partition(&store->parking, &run->key.partition)) {
        return false;
    }
    bool is_of_tier = vv_cassandra_is_tier(store, run->key.partition.tenant);
    return vv_parked_version(store, run, &version, NULL) != VV_OK ||
           (is_of_tier ? version == run->version : version != 0);
}

/* The store can't be written while it is read, so the runs are kept until then. */
static enum vv_status keep_run(void *context, const struct vv_piece *piece)
{
    struct copying *copying = context;
    if (piece->kind != VV_PIECE_RUN || piece->version >= copying->before_ns / VV_MICROSECOND ||
        is_parked(copying->store, piece)) {
        return VV_OK;
    }
    struct vv_piece *runs = realloc(copying->runs, (copying->n + 1) * sizeof *runs);
    if (!runs) {
        return VV_NO_MEMORY;
    }
    copying->runs = runs;
    runs[copying->n] = *piece;
    copying->n++;
    vv_buffer_append(&copying->bytes, piece->bytes.data, piece->bytes.size);
    return vv_buffer_status(&copying->bytes);
}

static enum vv_status write_again(struct vv_cassandra *store, struct copying *copying,
                                  struct vv_error *error)
{
    enum vv_status status = VV_OK;
    size_t at = 0;
    for (size_t i = 0; i < copying->n && status == VV_OK; i++) {
        struct vv_piece *run = &copying->runs[i];
        run->bytes.data = (const char *)copying->bytes.data + at;
        at += run->bytes.size;
        status = vv_cassandra_put_run_again(store, run, error);
    }
    return status;
}

static bool is_unit(const struct vv_cassandra *store, const struct vv_mark *mark)
{
    struct vv_str name = vv_cassandra_tenant(store, mark->key.partition.tenant);
    return vv_space_place_name(name).size < name.size;
}

static enum vv_status refresh_span(struct vv_cassandra *store, const struct vv_mark *mark,
                                   int64_t before_ns, uint64_t *work_out, struct vv_error *error)
{
    const struct vv_store_read read = {.partition = mark->key.partition,
                                       .measurement = mark->key.measurement,
                                       .span_from = mark->key.span_start,
                                       .span_to = mark->key.span_start + 1};
    struct copying copying = {.store = store, .before_ns = before_ns};
    enum vv_status status = vv_cassandra_read(&store->base, &read, keep_run, &copying, error);
    if (status == VV_OK) {
        status = write_again(store, &copying, error);
    }
    /* The mark, too, which tells the next owner of the shard; of an open unit, and of single
     * values, there is only that. */
    bool is_alone =
        is_unit(store, mark) || vv_cassandra_has_values(&store->base, mark->key.partition.tenant);
    if (status == VV_OK && (copying.n > 0 || is_alone)) {
        struct vv_mark again = *mark;
        again.is_of_block = true; /* it stood in the ledger, however the tenant is kept now */
        status = vv_cassandra_put_mark(&store->base, &again, error);
        *work_out += VV_KEY_MARK_SIZE;
    }
    *work_out += copying.bytes.size;
    atomic_fetch_add_explicit(&store->runs_refreshed, copying.n, memory_order_relaxed);
    vv_buffer_deinit(&copying.bytes);
    free(copying.runs);
    return status;
}

/* Some of the marks, behind those of the call before. */
static enum vv_status refresh_some(struct vv_cassandra *store, int64_t now_ns, uint64_t *work_out,
                                   bool *more_out, struct vv_error *error)
{
    struct refreshing *refreshing = calloc(1, sizeof *refreshing);
    if (!refreshing) {
        return vv_error_set(error, VV_NO_MEMORY, "out of memory while writing runs again");
    }
    refreshing->store = store;
    int64_t before_ns = now_ns - store->slack_ns / 2;
    struct vv_mark after = store->refresh_after;
    enum vv_status status = vv_cassandra_scan_all_marks(
        store, before_ns, store->refresh_goes_on ? &after : NULL, note_mark, refreshing, error);
    for (size_t i = 0; i < refreshing->n && status == VV_OK; i++) {
        status = refresh_span(store, &refreshing->marks[i], before_ns, work_out, error);
    }
    *more_out = refreshing->full;
    free(refreshing);
    return status;
}

enum vv_status vv_cassandra_refresh(struct vv_cassandra *store, int64_t now_ns, uint64_t work_bytes,
                                    bool *more_out, struct vv_error *error)
{
    uint64_t work = 0;
    bool more = true;
    enum vv_status status = VV_OK;
    *more_out = false;
    now_ns = now_ns > VV_TIME_MAX ? VV_TIME_MAX : now_ns; /* so that adding to it is safe */
    now_ns = now_ns < VV_TIME_MIN ? VV_TIME_MIN : now_ns;
    /* A clock that went back by more than a pass begins one. */
    if (now_ns < store->refresh_at_ns && now_ns >= store->refresh_at_ns - store->slack_ns) {
        return VV_OK;
    }
    while (more && status == VV_OK && work <= work_bytes) {
        status = refresh_some(store, now_ns, &work, &more, error);
    }
    if (status == VV_OK && work > 0) {
        status = vv_cassandra_settle(store, error);
    }
    if (status == VV_OK && !more) {
        store->refresh_goes_on = false;
        store->refresh_at_ns = now_ns + store->slack_ns / 4;
    }
    *more_out = more;
    return status;
}
