/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moving a tenant's blocks to the class of its new retention, in steps. A step copies some spans to
 * the newest class, which is durable, and then removes them from the older one. A crash in between
 * leaves a span in both: the newest class holds, and the next step finds the copy there and only
 * removes the other.
 *
 * Where blocks are cut, the tails go with their heads, so that both are always in the same class.
 * Those that are left behind come after all heads of their bucket, and are only removed.
 */
#include "store/rocksdb/rocksdb.h"

#include "base/arena.h"

#define STEP_BYTES_MAX (UINT64_C(4) << 20)

/* One step: the spans from the first that is left in an era of an older class. */
struct step {
    struct vv_rocksdb *rocksdb;
    const struct vv_rocksdb_tenant *where;
    uint32_t from_class; /* index of the older class */
    int64_t now_ns;
    struct vv_rocksdb_finder finder;
    struct vv_rocksdb_changes changes;
    struct vv_arena arena;
    uint8_t first[VV_STORED_BLOCK_SIZE];
    uint8_t behind[VV_STORED_BLOCK_SIZE + 1]; /* the least key behind the last */
    uint64_t bytes;
};

/* Whether the span is to be copied: it is not too old, and no newer class has it. */
static enum vv_status is_wanted(struct step *step, const struct vv_span_key *span, bool *wanted_out,
                                struct vv_error *error)
{
    const struct vv_rocksdb_tenant *where = step->where;
    int64_t retention_s = where->classes[where->n - 1].retention_s;
    *wanted_out = !vv_era_bucket_expired(&span->partition, retention_s, step->now_ns);
    enum vv_status status = VV_OK;
    for (uint32_t i = step->from_class + 1; i < where->n && *wanted_out && status == VV_OK; i++) {
        struct vv_rocksdb_era *era;
        struct vv_rocksdb_cursor *cursor;
        status =
            vv_rocksdb_finder_seek(&step->finder, &where->classes[i], span, &era, &cursor, error);
        *wanted_out = cursor == NULL;
    }
    return status;
}

static enum vv_status copy_part(struct step *step, const struct vv_span_key *span,
                                const struct vv_rocksdb_cursor *cursor, struct vv_error *error)
{
    struct vv_rocksdb *rocksdb = step->rocksdb;
    const struct vv_rocksdb_class *newest = &step->where->classes[step->where->n - 1];
    struct vv_era era = vv_era_of(newest->retention_s, rocksdb->era_count, &span->partition);
    struct vv_rocksdb_change change = {.phase = VV_PHASE_MAIN, .generation = newest->generation};
    enum vv_status status = vv_rocksdb_eras_make(rocksdb, &era, &change.era, error);
    if (status != VV_OK) {
        return status;
    }
    memcpy(change.key, vv_rocksdb_cursor_key(cursor).data, sizeof change.key);
    vv_rocksdb_key_generation(step->where->tenant, newest->generation, change.key);
    change.value = vv_arena_str(&step->arena, vv_rocksdb_cursor_value(cursor));
    if (!change.value.data) {
        return vv_error_set(error, VV_NO_MEMORY, "no memory to move blocks to another retention");
    }
    vv_rocksdb_changes_add(&step->changes, &change);
    return VV_OK;
}

/* The tails of a span whose heads are copied. */
static enum vv_status copy_tails(struct step *step, const struct vv_span_key *span,
                                 struct vv_error *error)
{
    const struct vv_rocksdb_class *class = &step->where->classes[step->from_class];
    struct vv_span_key tails = *span;
    struct vv_rocksdb_era *era;
    struct vv_rocksdb_cursor *cursor;
    tails.partition.split |= VV_SPLIT_TAIL;
    enum vv_status status =
        vv_rocksdb_finder_seek(&step->finder, class, &tails, &era, &cursor, error);
    if (status != VV_OK || !cursor) {
        return status;
    }
    uint8_t span_bytes[VV_STORED_SPAN_SIZE];
    memcpy(span_bytes, vv_rocksdb_cursor_key(cursor).data, sizeof span_bytes);
    while (status == VV_OK && vv_rocksdb_on_span(cursor, span_bytes)) {
        status = copy_part(step, span, cursor, error);
        step->bytes += vv_rocksdb_cursor_value(cursor).size;
        rocksdb_iter_next(cursor->iterator);
    }
    return status == VV_OK ? vv_rocksdb_cursor_status(cursor, error) : status;
}

/* Takes the span on which the cursor stands into the step and leaves the cursor behind it. */
static enum vv_status take_span(struct step *step, struct vv_rocksdb_cursor *cursor,
                                struct vv_error *error)
{
    struct vv_str key = vv_rocksdb_cursor_key(cursor);
    if (key.size != VV_STORED_BLOCK_SIZE) {
        return vv_error_set(error, VV_CORRUPT,
                            "a block's key has %zu bytes: restore the store from a backup",
                            key.size);
    }
    uint8_t span_bytes[VV_STORED_SPAN_SIZE];
    struct vv_piece piece;
    memcpy(span_bytes, key.data, sizeof span_bytes);
    vv_rocksdb_key_to_block((const uint8_t *)key.data, &piece);
    bool is_tails = (piece.key.partition.split & VV_SPLIT_TAIL) != 0;
    bool wanted = false;
    bool has_cut = false;
    enum vv_status status = is_tails ? VV_OK : is_wanted(step, &piece.key, &wanted, error);
    while (status == VV_OK && vv_rocksdb_on_span(cursor, span_bytes)) {
        key = vv_rocksdb_cursor_key(cursor);
        memcpy(step->behind, key.data, VV_STORED_BLOCK_SIZE);
        step->bytes += key.size + vv_rocksdb_cursor_value(cursor).size;
        has_cut |= vv_rocksdb_key_is_cut(step->behind);
        if (wanted) {
            status = copy_part(step, &piece.key, cursor, error);
        }
        rocksdb_iter_next(cursor->iterator);
    }
    return status == VV_OK && wanted && has_cut ? copy_tails(step, &piece.key, error) : status;
}

/* Collects spans, up to about bytes_max; *ended_out says whether these are the last. */
static enum vv_status collect(struct step *step, const struct vv_rocksdb_era *era,
                              uint64_t bytes_max, bool *ended_out, struct vv_error *error)
{
    uint8_t from[VV_GENERATION_PREFIX_SIZE];
    uint8_t to[VV_GENERATION_PREFIX_SIZE];
    vv_rocksdb_key_generation(step->where->tenant,
                              step->where->classes[step->from_class].generation, from);
    memcpy(to, from, sizeof to);
    struct vv_str upper = {(char *)to, vv_key_successor(to, sizeof to)};
    struct vv_rocksdb_cursor cursor;
    enum vv_status status =
        vv_rocksdb_cursor_open(step->rocksdb, era->family, NULL,
                               (struct vv_str){(char *)from, sizeof from}, upper, &cursor, error);
    if (status != VV_OK) {
        return status;
    }
    rocksdb_iter_seek_to_first(cursor.iterator);
    if (vv_rocksdb_cursor_valid(&cursor)) {
        struct vv_str key = vv_rocksdb_cursor_key(&cursor);
        memcpy(step->first, key.data,
               key.size < sizeof step->first ? key.size : sizeof step->first);
    }
    while (status == VV_OK && vv_rocksdb_cursor_valid(&cursor) && step->bytes < bytes_max) {
        status = take_span(step, &cursor, error);
    }
    if (status == VV_OK) {
        status = vv_rocksdb_cursor_status(&cursor, error);
    }
    *ended_out = !vv_rocksdb_cursor_valid(&cursor);
    vv_rocksdb_cursor_close(&cursor);
    return status;
}

/* Gives back the space of an era that a generation has left: at once when nobody else uses it. */
static enum vv_status leave_era(struct vv_rocksdb *rocksdb, struct vv_rocksdb_era *era,
                                struct vv_error *error)
{
    bool has;
    enum vv_status status =
        vv_rocksdb_has_prefix(rocksdb, era->family, (struct vv_str){0}, &has, error);
    if (status != VV_OK) {
        return status;
    }
    return has ? vv_rocksdb_reclaim_want(rocksdb, &era->era, error)
               : vv_rocksdb_eras_drop(rocksdb, era, error);
}

static enum vv_status run_step(struct vv_rocksdb *rocksdb, const struct vv_rocksdb_tenant *where,
                               uint32_t from_class, struct vv_rocksdb_era *era, int64_t now_ns,
                               uint64_t *work_left, bool *ended_out, struct vv_error *error)
{
    struct step step = {.rocksdb = rocksdb,
                        .where = where,
                        .from_class = from_class,
                        .now_ns = now_ns,
                        .finder = {.rocksdb = rocksdb}};
    uint64_t bytes_max = *work_left < STEP_BYTES_MAX ? *work_left : STEP_BYTES_MAX;
    enum vv_status status = collect(&step, era, bytes_max, ended_out, error);
    vv_rocksdb_finder_deinit(&step.finder);
    if (status == VV_OK) {
        status = vv_rocksdb_changes_write(rocksdb, &step.changes, error);
    }
    if (status == VV_OK && step.bytes > 0) {
        status = vv_rocksdb_remove_range(
            rocksdb, era, (struct vv_str){(char *)step.first, sizeof step.first},
            (struct vv_str){(char *)step.behind, sizeof step.behind}, error);
        if (status == VV_OK && *ended_out) {
            status = leave_era(rocksdb, era, error);
        }
    }
    *work_left -= step.bytes < *work_left ? step.bytes : *work_left;
    vv_rocksdb_changes_deinit(&step.changes);
    vv_arena_deinit(&step.arena);
    return status;
}

/* Empties one older class; *ended_out says whether it is empty. */
static enum vv_status move_class(struct vv_rocksdb *rocksdb, const struct vv_rocksdb_tenant *where,
                                 uint32_t from_class, int64_t now_ns, uint64_t *work_left,
                                 bool *ended_out, struct vv_error *error)
{
    const struct vv_rocksdb_class *class = &where->classes[from_class];
    enum vv_status status = VV_OK;
    struct vv_rocksdb_era *era = vv_rocksdb_eras_step(rocksdb, class->retention_s, INT64_MIN, true);
    while (era && status == VV_OK) {
        int64_t start_s = era->era.start_s;
        bool ended = false;
        while (!ended && status == VV_OK && *work_left > 0) {
            status = run_step(rocksdb, where, from_class, era, now_ns, work_left, &ended, error);
        }
        vv_rocksdb_eras_release(rocksdb, era);
        if (status == VV_OK && !ended) {
            return VV_OK; /* no work left */
        }
        era = status == VV_OK ? vv_rocksdb_eras_step(rocksdb, class->retention_s, start_s + 1, true)
                              : NULL;
    }
    *ended_out = status == VV_OK;
    return status;
}

enum vv_status vv_rocksdb_move(struct vv_rocksdb *rocksdb, uint32_t tenant, int64_t now_ns,
                               uint64_t *work_left, struct vv_error *error)
{
    struct vv_rocksdb_tenant where;
    vv_rocksdb_tenants_get(rocksdb, tenant, &where);
    enum vv_status status = VV_OK;
    bool ended = true;
    while (status == VV_OK && ended && where.n > 1) {
        ended = false;
        status = move_class(rocksdb, &where, 0, now_ns, work_left, &ended, error);
        if (status == VV_OK && ended) {
            where.n--;
            memmove(&where.classes[0], &where.classes[1], where.n * sizeof where.classes[0]);
            status = vv_rocksdb_tenants_set(rocksdb, &where, error);
        }
    }
    return status;
}
