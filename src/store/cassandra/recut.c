/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places what is parked of a source by the plans that were agreed on. Of each run and measurement
 * that has a piece elsewhere the rows are merged, cut where the bucket, the span or the split
 * changes, and parked again, as parts with numbers that no other piece has; then the old ones go,
 * those that lie elsewhere last. A crash in between leaves some of both; the first plan is
 * tentative still, and doing it again gives the same pieces.
 *
 * As much may be parked as the disk has room for, so no more of it is in memory than keys of what
 * moves, and the pieces of one run and measurement.
 */
#include "store/cassandra/rows.h"

#include "model/merge.h"
#include "model/piece.h"
#include "store/keys.h"

#include <stdlib.h>

#define RUN_ROWS_MAX  4096 /* as the flush has them */
#define RUN_BYTES_MAX (256u << 10)
#define PARTS_AT_ONCE (UINT32_C(1) << 20) /* more than a run has */

/* All pieces of a run and measurement. */
struct group {
    uint32_t measurement;
    vv_stamp run;
};

struct old_piece {
    struct group group;
    uint32_t part;
    uint8_t key[VV_KEY_RUN_SIZE];
    bool is_placed; /* lies where the plans say */
};

struct cut {
    struct vv_cassandra *store;
    const struct vv_plan *plans;
    size_t n_plans;
    uint32_t tenant;
    uint32_t source;
    struct group *groups; /* that have a piece elsewhere; ascending when all are there */
    size_t n_groups;
    size_t groups_capacity;
    struct old_piece *pieces; /* of these groups */
    size_t n;
    size_t capacity;
    struct vv_buffer value;     /* of the piece that is read */
    struct vv_buffer old_marks; /* keys, of where nothing is to lie */
    struct vv_buffer old_buckets;
    int64_t wait_ns; /* from a span's end until it is due */
    bool is_late;    /* not that, but the time of the fold: */
    int64_t due_ns;
    vv_stamp marked; /* the newest run of all marks */
    struct vv_merge *merge;
    struct vv_piece_encoder encoder;
    /* The span that is being written. */
    struct vv_span_key span;
    bool span_open;
    uint32_t parts[VV_SPLITS_MAX];
    uint32_t first_part; /* of what is written */
    struct vv_error *error;
};

static enum vv_status no_memory(struct cut *cut)
{
    return vv_error_set(cut->error, VV_NO_MEMORY, "out of memory while placing what is parked");
}

/* ---- what is there ---- */

static bool is_same_bucket(const struct vv_bucket *bucket, const struct vv_partition *partition)
{
    return bucket->start == partition->bucket_start && bucket->bucket_ns == partition->bucket_ns;
}

static bool is_same_division(const struct vv_bucket *bucket, uint16_t split)
{
    return vv_split_index(split) < bucket->splits &&
           vv_split_share_bits(split) == bucket->share_bits;
}

static bool is_span_placed(const struct cut *cut, const struct vv_span_key *key, int64_t span_ns)
{
    struct vv_bucket bucket = vv_bucket_of(cut->plans, cut->n_plans, key->span_start);
    return is_same_bucket(&bucket, &key->partition) && bucket.span_ns == span_ns &&
           is_same_division(&bucket, key->partition.split) &&
           vv_span_of(&bucket, key->span_start) == key->span_start;
}

/* Whether all rows lie in the piece's split. */
static bool is_in_split(const struct vv_bucket *bucket, const struct vv_block *block,
                        uint16_t split)
{
    int64_t times[RUN_ROWS_MAX];
    if (bucket->splits <= 1) {
        return is_same_division(bucket, split);
    }
    if (block->n_rows > RUN_ROWS_MAX || vv_block_times(block, times) != VV_BLOCK_OK) {
        return false;
    }
    for (uint32_t i = 0; i < block->n_rows; i++) {
        if (vv_split_of(bucket, times[i]) != split) {
            return false;
        }
    }
    return true;
}

static enum vv_status look_at_piece(struct cut *cut, const struct vv_piece *run, bool *placed_out)
{
    struct vv_block block;
    if (vv_block_open((const uint8_t *)run->bytes.data, run->bytes.size, &block) != VV_BLOCK_OK) {
        return vv_error_set(cut->error, VV_CORRUPT, "a parked run is damaged");
    }
    struct vv_bucket bucket = vv_bucket_of(cut->plans, cut->n_plans, block.time_min);
    int64_t end = run->key.span_start + bucket.span_ns;
    *placed_out = is_same_bucket(&bucket, &run->key.partition) &&
                  vv_span_of(&bucket, block.time_min) == run->key.span_start &&
                  block.time_max < (end < bucket.end ? end : bucket.end) &&
                  is_in_split(&bucket, &block, run->key.partition.split);
    return VV_OK;
}

/* Room for one more. */
static bool fit(void **items, size_t n, size_t *capacity, size_t size)
{
    if (n < *capacity) {
        return true;
    }
    size_t wanted = n ? n * 2 : 64;
    void *bigger = realloc(*items, wanted * size);
    if (bigger) {
        *items = bigger;
        *capacity = wanted;
    }
    return bigger != NULL;
}

static int compare_groups(const void *a, const void *b)
{
    const struct group *x = a;
    const struct group *y = b;
    if (x->measurement != y->measurement) {
        return x->measurement < y->measurement ? -1 : 1;
    }
    return x->run < y->run ? -1 : x->run > y->run;
}

static enum vv_status read_piece(struct cut *cut, struct vv_str key, struct vv_str value,
                                 struct vv_piece *run_out, bool *placed_out)
{
    if (vv_parked_run(key, value, run_out) != VV_OK) {
        return vv_error_set(cut->error, VV_CORRUPT, "a parked run is damaged");
    }
    return look_at_piece(cut, run_out, placed_out);
}

static enum vv_status take_group(void *context, struct vv_str key, struct vv_str value)
{
    struct cut *cut = context;
    struct vv_piece run;
    bool is_placed;
    enum vv_status status = read_piece(cut, key, value, &run, &is_placed);
    if (status != VV_OK || is_placed) {
        return status;
    }
    const struct group group = {run.key.measurement, run.run};
    if (cut->n_groups > 0 && compare_groups(&group, &cut->groups[cut->n_groups - 1]) == 0) {
        return VV_OK;
    }
    void *groups = cut->groups;
    if (!fit(&groups, cut->n_groups, &cut->groups_capacity, sizeof group)) {
        return no_memory(cut);
    }
    cut->groups = groups;
    cut->groups[cut->n_groups++] = group;
    return VV_OK;
}

static enum vv_status take_piece(void *context, struct vv_str key, struct vv_str value)
{
    struct cut *cut = context;
    struct vv_piece run;
    struct old_piece piece = {.part = 0};
    enum vv_status status = read_piece(cut, key, value, &run, &piece.is_placed);
    piece.group = (struct group){run.key.measurement, run.run};
    if (status != VV_OK ||
        !bsearch(&piece.group, cut->groups, cut->n_groups, sizeof *cut->groups, compare_groups)) {
        return status;
    }
    void *pieces = cut->pieces;
    if (!fit(&pieces, cut->n, &cut->capacity, sizeof piece)) {
        return no_memory(cut);
    }
    piece.part = run.part;
    memcpy(piece.key, key.data, sizeof piece.key);
    cut->pieces = pieces;
    cut->pieces[cut->n++] = piece;
    return VV_OK;
}

static enum vv_status take_mark(void *context, struct vv_str key, struct vv_str value)
{
    struct cut *cut = context;
    struct vv_mark mark;
    if (vv_parked_mark(key, value, &mark) != VV_OK || mark.key.partition.source != cut->source ||
        mark.key.partition.tenant != cut->tenant) {
        return VV_OK;
    }
    cut->due_ns = mark.due_ns > cut->due_ns ? mark.due_ns : cut->due_ns;
    cut->wait_ns = mark.due_ns - mark.key.span_start - mark.span_ns;
    cut->marked = mark.run > cut->marked ? mark.run : cut->marked;
    if (!is_span_placed(cut, &mark.key, mark.span_ns)) {
        vv_buffer_str(&cut->old_marks, key);
    }
    return cut->old_marks.failed ? no_memory(cut) : VV_OK;
}

static enum vv_status take_bucket(void *context, struct vv_str key, struct vv_str value)
{
    struct cut *cut = context;
    (void)value;
    const struct vv_partition partition = {
        .bucket_start = vv_key_get_i64((const uint8_t *)key.data + VV_KEY_SOURCE_SIZE),
        .bucket_ns = vv_key_get_i64((const uint8_t *)key.data + VV_KEY_SOURCE_SIZE + 8),
    };
    struct vv_bucket bucket = vv_bucket_of(cut->plans, cut->n_plans, partition.bucket_start);
    if (!is_same_bucket(&bucket, &partition)) {
        vv_buffer_str(&cut->old_buckets, key);
    }
    return cut->old_buckets.failed ? no_memory(cut) : VV_OK;
}

/* What moves, and what lies where nothing is to lie then. Most often nothing moves. */
static enum vv_status gather(struct cut *cut)
{
    uint8_t room[VV_KEY_SOURCE_SIZE];
    struct vv_str prefix = {(char *)room, sizeof room};
    vv_key_from_source(cut->tenant, cut->source, room);
    enum vv_status status =
        vv_parked_scan(cut->store, VV_PARKED_RUN, prefix, take_group, cut, cut->error);
    if (status != VV_OK || cut->n_groups == 0) {
        return status;
    }
    qsort(cut->groups, cut->n_groups, sizeof *cut->groups, compare_groups);
    status = vv_parked_scan(cut->store, VV_PARKED_RUN, prefix, take_piece, cut, cut->error);
    if (status == VV_OK) {
        status = vv_parked_scan(cut->store, VV_PARKED_MARK, (struct vv_str){0}, take_mark, cut,
                                cut->error);
    }
    if (status == VV_OK) {
        status = vv_parked_scan(cut->store, VV_PARKED_BUCKET, prefix, take_bucket, cut, cut->error);
    }
    return status;
}

/* ---- what is made of it ---- */

/* By groups; what lies where it should first, as it goes first. */
static int compare_pieces(const void *a, const void *b)
{
    const struct old_piece *x = a;
    const struct old_piece *y = b;
    int order = compare_groups(&x->group, &y->group);
    return order != 0 ? order : y->is_placed - x->is_placed;
}

static bool same_span(const struct vv_span_key *a, const struct vv_span_key *b)
{
    return a->partition.bucket_start == b->partition.bucket_start &&
           a->partition.bucket_ns == b->partition.bucket_ns && a->measurement == b->measurement &&
           a->span_start == b->span_start;
}

static uint32_t next_part(struct cut *cut, const struct vv_span_key *key)
{
    if (!cut->span_open || !same_span(&cut->span, key)) {
        for (size_t i = 0; i < VV_SPLITS_MAX; i++) {
            cut->parts[i] = cut->first_part;
        }
        cut->span = *key;
        cut->span_open = true;
    }
    return cut->parts[vv_split_index(key->partition.split)]++;
}

/* Never with an older run than a mark that it replaces. Also of single values: tiers may lack them
 * by the time that they are delivered. */
static enum vv_status put_mark(struct cut *cut, const struct vv_span_key *key, int64_t span_ns,
                               vv_stamp run)
{
    int64_t due_ns = cut->is_late ? cut->due_ns : key->span_start + span_ns + cut->wait_ns;
    const struct vv_mark mark = {.due_ns = due_ns,
                                 .key = *key,
                                 .span_ns = span_ns,
                                 .run = run > cut->marked ? run : cut->marked};
    return vv_park_mark(cut->store, &mark, cut->error);
}

/* Rows [first, end), all in one span and split. */
static enum vv_status put_rows(struct cut *cut, const struct vv_span_key *key, int64_t span_ns,
                               vv_stamp run, const struct vv_rows *rows, size_t first, size_t end)
{
    enum vv_status status = VV_OK;
    while (first < end && status == VV_OK) {
        size_t n = vv_piece_rows(&cut->encoder, rows, first, end);
        struct vv_piece piece = {.kind = VV_PIECE_RUN, .key = *key, .run = run};
        status = vv_piece_encode(&cut->encoder, rows, first, first + n, &piece.bytes, cut->error);
        if (status == VV_OK) {
            piece.part = next_part(cut, key);
            status = vv_park_run(cut->store, &piece, cut->error);
        }
        first += n;
    }
    if (status == VV_OK) {
        status = vv_park_bucket(cut->store, &key->partition,
                                vv_cassandra_retention(cut->store, cut->tenant), cut->error);
    }
    return status == VV_OK ? put_mark(cut, key, span_ns, run) : status;
}

static enum vv_status place_rows(struct cut *cut, uint32_t measurement, vv_stamp run,
                                 const struct vv_rows *rows)
{
    struct vv_span_key key = {.measurement = measurement};
    key.partition.tenant = cut->tenant;
    key.partition.source = cut->source;
    enum vv_status status = VV_OK;
    for (size_t first = 0; first < rows->n_rows && status == VV_OK;) {
        struct vv_bucket bucket = vv_bucket_of(cut->plans, cut->n_plans, rows->times[first]);
        key.partition.bucket_start = bucket.start;
        key.partition.bucket_ns = bucket.bucket_ns;
        key.partition.split = vv_split_of(&bucket, rows->times[first]);
        key.span_start = vv_span_of(&bucket, rows->times[first]);
        int64_t span_end = key.span_start + bucket.span_ns;
        span_end = span_end < bucket.end ? span_end : bucket.end;
        size_t end = first + 1;
        while (end < rows->n_rows && rows->times[end] < span_end &&
               vv_split_of(&bucket, rows->times[end]) == key.partition.split) {
            end++;
        }
        status = put_rows(cut, &key, bucket.span_ns, run, rows, first, end);
        first = end;
    }
    return status;
}

static struct vv_str key_of(const struct old_piece *old)
{
    return (struct vv_str){(const char *)old->key, sizeof old->key};
}

/* Its rows are copied into the merge. */
static enum vv_status merge_piece(struct cut *cut, const struct old_piece *old)
{
    struct vv_store *local = cut->store->local;
    struct vv_piece run;
    vv_buffer_clear(&cut->value);
    enum vv_status status = local->ops->get_meta(local, VV_LOCAL_PARKED + VV_PARKED_RUN,
                                                 key_of(old), &cut->value, cut->error);
    if (status == VV_OK) {
        const struct vv_str value = {(char *)cut->value.data, cut->value.size};
        status = vv_parked_run(key_of(old), value, &run);
    }
    return status == VV_OK ? vv_merge_add_block(cut->merge, (const uint8_t *)run.bytes.data,
                                                run.bytes.size, cut->error)
                           : status;
}

/* Pieces [first, end) are a group. */
static enum vv_status place_group(struct cut *cut, size_t first, size_t end)
{
    const struct group *group = &cut->pieces[first].group;
    enum vv_status status = VV_OK;
    cut->first_part = 0;
    cut->span_open = false;
    vv_merge_reset(cut->merge, VV_TIME_MIN, VV_TIME_MAX);
    for (size_t i = first; i < end && status == VV_OK; i++) {
        const struct old_piece *old = &cut->pieces[i];
        uint32_t next = (old->part / PARTS_AT_ONCE + 1) * PARTS_AT_ONCE;
        cut->first_part = !old->is_placed && next > cut->first_part ? next : cut->first_part;
        status = merge_piece(cut, old);
    }
    while (status == VV_OK) {
        const struct vv_rows *rows;
        status = vv_merge_next(cut->merge, &rows, cut->error);
        if (status == VV_OK) {
            status = place_rows(cut, group->measurement, group->run, rows);
        }
    }
    status = status == VV_DONE ? VV_OK : status;
    for (size_t i = first; i < end && status == VV_OK; i++) {
        if (cut->pieces[i].part < cut->first_part) {
            status = vv_unpark(cut->store, VV_PARKED_RUN, key_of(&cut->pieces[i]), cut->error);
        }
    }
    return status;
}

static enum vv_status place_all(struct cut *cut)
{
    enum vv_status status = VV_OK;
    qsort(cut->pieces, cut->n, sizeof *cut->pieces, compare_pieces);
    for (size_t first = 0, end; first < cut->n && status == VV_OK; first = end) {
        for (end = first + 1; end < cut->n && compare_groups(&cut->pieces[first].group,
                                                             &cut->pieces[end].group) == 0;) {
            end++;
        }
        status = place_group(cut, first, end);
    }
    return status;
}

/* ---- what goes ---- */

static enum vv_status remove_all(struct cut *cut, enum vv_parked_kind kind,
                                 const struct vv_buffer *keys, size_t size)
{
    enum vv_status status = VV_OK;
    for (size_t at = 0; at < keys->size && status == VV_OK; at += size) {
        status =
            vv_unpark(cut->store, kind, (struct vv_str){(char *)keys->data + at, size}, cut->error);
    }
    return status;
}

static enum vv_status recut(struct cut *cut)
{
    const struct vv_merge_options options = {.from = VV_TIME_MIN, .to = VV_TIME_MAX};
    enum vv_status status = gather(cut);
    if (status != VV_OK || cut->n_groups == 0) {
        return status;
    }
    if (vv_merge_create(&options, &cut->merge) != VV_OK) {
        status = no_memory(cut);
    }
    if (status == VV_OK) {
        status = remove_all(cut, VV_PARKED_MARK, &cut->old_marks, VV_KEY_MARK_SIZE);
    }
    if (status == VV_OK) {
        status = remove_all(cut, VV_PARKED_BUCKET, &cut->old_buckets, VV_KEY_PARTITION_SIZE);
    }
    return status == VV_OK ? place_all(cut) : status;
}

/* ---- settling ---- */

static void deinit(struct cut *cut)
{
    vv_merge_destroy(cut->merge);
    vv_piece_encoder_deinit(&cut->encoder);
    vv_buffer_deinit(&cut->value);
    vv_buffer_deinit(&cut->old_marks);
    vv_buffer_deinit(&cut->old_buckets);
    free(cut->groups);
    free(cut->pieces);
}

static enum vv_status place_in(struct vv_cassandra *store, uint32_t tenant, uint32_t source,
                               const struct vv_plan *plans, size_t n, struct vv_error *error)
{
    struct cut cut = {.store = store,
                      .plans = plans,
                      .n_plans = n,
                      .tenant = tenant,
                      .source = source,
                      .is_late = vv_cassandra_is_late(store, tenant),
                      .error = error};
    cut.encoder.rows_max = RUN_ROWS_MAX;
    cut.encoder.bytes_max = RUN_BYTES_MAX;
    enum vv_status status = vv_cassandra_check(store, error);
    if (status == VV_OK) {
        status = recut(&cut);
    }
    deinit(&cut);
    return status;
}

/* In all places of the tenant; their late points lie by the same plans. */
static enum vv_status place(struct vv_cassandra *store, uint32_t tenant, uint32_t source,
                            const struct vv_plan *plans, size_t n, struct vv_error *error)
{
    uint32_t places[VV_PARKED_PLACES_MAX];
    size_t n_places = vv_parked_places(store, tenant, places, VV_PARKED_PLACES_MAX);
    enum vv_status status = vv_cassandra_check(store, error);
    for (size_t i = 0; i < n_places && status == VV_OK; i++) {
        status = place_in(store, places[i], source, plans, n, error);
    }
    return status;
}

enum vv_status vv_shared_place_parked(struct vv_store *base, uint32_t tenant, uint32_t source,
                                      const struct vv_plan *plans, size_t n, struct vv_error *error)
{
    struct vv_cassandra *store = vv_cassandra_of(base);
    const struct vv_first_plan first = {tenant, source, plans[0], true};
    enum vv_status status = place(store, tenant, source, plans, n, error);
    if (status == VV_OK) {
        status = vv_park_plan(store, &first, error);
    }
    if (status == VV_OK) {
        status = store->local->ops->confirm(store->local, error);
    }
    return vv_cassandra_failed(store, status);
}

enum vv_status vv_shared_settle_plan(struct vv_store *base, uint32_t tenant, uint32_t source,
                                     const struct vv_plan *plans, size_t n, struct vv_error *error)
{
    struct vv_cassandra *store = vv_cassandra_of(base);
    enum vv_status status = place(store, tenant, source, plans, n, error);
    if (status == VV_OK) {
        status = vv_unpark_plan(store, tenant, source, error);
    }
    if (status == VV_OK) {
        status = store->local->ops->confirm(store->local, error);
    }
    return vv_cassandra_failed(store, status);
}
