/* SPDX-License-Identifier: Apache-2.0 */
#include "registry/shared.h"
#include "seal/pyramid_private.h"

#include <stdlib.h>

#define BLOCK_ROWS_MAX 65536

/* ---- life ---- */

enum vv_status vv_pyramid_create(const struct vv_pyramid_options *options,
                                 struct vv_pyramid **pyramid_out)
{
    const struct vv_merge_options merge = {.from = INT64_MIN,
                                           .to = INT64_MAX,
                                           .join_times = true,
                                           .notes_stamps = options->store->ops->shared};
    struct vv_pyramid *pyramid = calloc(1, sizeof *pyramid);
    *pyramid_out = NULL;
    if (!pyramid) {
        return VV_NO_MEMORY;
    }
    pyramid->options = *options;
    pyramid->encoder.options = (struct vv_block_options){.zstd_level = options->zstd_level};
    pyramid->encoder.rows_max = BLOCK_ROWS_MAX;
    pyramid->encoder.bytes_max = options->block_bytes_max;
    enum vv_status status = vv_rollup_create(options->percentile_error, &pyramid->rollup);
    if (status == VV_OK) {
        status = vv_merge_create(&merge, &pyramid->merge);
    }
    if (status != VV_OK) {
        vv_pyramid_destroy(pyramid);
        return status;
    }
    *pyramid_out = pyramid;
    return VV_OK;
}

void vv_pyramid_destroy(struct vv_pyramid *pyramid)
{
    if (!pyramid) {
        return;
    }
    for (size_t i = 0; i < VV_SPACES; i++) {
        vv_cover_deinit(&pyramid->levels[i].cover);
        vv_piece_list_deinit(&pyramid->levels[i].records);
    }
    vv_few_deinit(&pyramid->few);
    vv_frozen_deinit(&pyramid->frozen);
    vv_piece_encoder_deinit(&pyramid->encoder);
    vv_merge_destroy(pyramid->merge);
    vv_deletion_list_deinit(&pyramid->deletions);
    free(pyramid->lacks);
    vv_rollup_destroy(pyramid->rollup);
    free(pyramid);
}

enum vv_status vv_build_begin(struct vv_build *build, struct vv_pyramid *pyramid, uint32_t place,
                              uint32_t source, uint32_t measurement, struct vv_error *error)
{
    struct vv_registry *registry = pyramid->options.registry;
    *build = (struct vv_build){
        .pyramid = pyramid,
        .place = place,
        .late = vv_registry_late_seen(registry, place),
        .whole_from = pyramid->options.whole_from
                          ? pyramid->options.whole_from(pyramid->options.whole_context, place)
                          : INT64_MIN,
        .source = source,
        .measurement = measurement,
        .tiers = vv_registry_tiers_built(registry, place),
        .plans = vv_registry_source_plans(registry, source),
        .error = error,
    };
    if (pyramid->options.expired) {
        pyramid->options.expired(pyramid->options.whole_context, place, &build->expired);
    }
    /* What is deleted of the series is in no step. */
    enum vv_status status = vv_deletions_begin_merge(
        pyramid->options.deletions, source, measurement, pyramid->merge, &pyramid->deletions);
    return status == VV_OK ? vv_build_lacks_none(build) : status;
}

/* ---- rows ---- */

/* Steps are made of what was kept so far, and of all that comes. */
static enum vv_status make_steps(struct vv_build *build)
{
    struct vv_pyramid *pyramid = build->pyramid;
    enum vv_status status = VV_OK;
    for (size_t i = 0; i < pyramid->few.n && status == VV_OK; i++) {
        status = vv_rollup_add_rows(pyramid->rollup, &pyramid->few.items[i], build->error);
    }
    vv_few_drop(&pyramid->few);
    return status;
}

enum vv_status vv_build_add_rows(struct vv_build *build, const struct vv_rows *rows)
{
    struct vv_pyramid *pyramid = build->pyramid;
    bool is_taken;
    enum vv_status status = vv_few_add(&pyramid->few, rows, &is_taken);
    if (status == VV_OK && !is_taken) {
        status = make_steps(build);
        if (status == VV_OK) {
            status = vv_rollup_add_rows(pyramid->rollup, rows, build->error);
        }
    }
    return status;
}

/* All that was given to the merge. */
static enum vv_status add_merged(struct vv_build *build)
{
    struct vv_pyramid *pyramid = build->pyramid;
    for (;;) {
        const struct vv_rows *rows;
        enum vv_status status = vv_merge_next(pyramid->merge, &rows, build->error);
        if (status != VV_OK) {
            return status == VV_DONE ? VV_OK : status;
        }
        status = vv_build_add_rows(build, rows);
        if (status != VV_OK) {
            return status;
        }
    }
}

static enum vv_status add_block(struct vv_build *build, struct vv_str bytes)
{
    return vv_merge_add_block(build->pyramid->merge, (const uint8_t *)bytes.data, bytes.size,
                              build->error);
}

/* ---- raw data ---- */

static enum vv_status visit_raw(void *context, const struct vv_piece *piece)
{
    struct vv_build *build = context;
    build->found = true;
    return add_block(build, piece->bytes);
}

/* What a place, or the space of its late points, has of a bucket. */
static enum vv_status read_partitions(struct vv_build *build, uint32_t number,
                                      const struct vv_bucket *bucket, int64_t from, int64_t to,
                                      vv_piece_visit visit, void *context)
{
    struct vv_store *store = build->pyramid->options.store;
    enum vv_status status = VV_OK;
    for (uint16_t split = 0; split < bucket->splits && status == VV_OK; split++) {
        const struct vv_store_read read = {
            .partition = vv_bucket_partition(bucket, number, build->source, split),
            .measurement = build->measurement,
            .span_from = vv_span_of(bucket, from),
            .span_to = to,
            .span_ns = bucket->span_ns,
        };
        status = store->ops->read(store, &read, visit, context, build->error);
    }
    return status;
}

enum vv_status vv_build_read_points(struct vv_build *build, const struct vv_bucket *bucket,
                                    int64_t from, int64_t to, vv_piece_visit visit, void *context)
{
    enum vv_status status = read_partitions(build, build->place, bucket, from, to, visit, context);
    return status == VV_OK && build->late != VV_REGISTRY_NONE
               ? read_partitions(build, build->late, bucket, from, to, visit, context)
               : status;
}

static void lower_whole(struct vv_build *build, uint64_t at)
{
    build->whole_at = at < build->whole_at ? at : build->whole_at;
}

/* Where nodes share the store, when points were put says when they go. */
static void note_stamps(struct vv_build *build)
{
    if (vv_build_is_shared(build)) {
        vv_stamp earliest = vv_merge_stamp_min(build->pyramid->merge);
        lower_whole(build, vv_stamp_clock_us(earliest) * VV_MICROSECOND);
    }
}

static enum vv_status read_bucket(struct vv_build *build, const struct vv_bucket *bucket,
                                  int64_t from, int64_t to)
{
    from = from > bucket->start ? from : bucket->start;
    to = to < bucket->end ? to : bucket->end;
    vv_merge_reset(build->pyramid->merge, from, to);
    enum vv_status status = vv_build_read_points(build, bucket, from, to, visit_raw, build);
    status = status == VV_OK ? add_merged(build) : status;
    note_stamps(build);
    return status;
}

/* Lowers *next to where a place, or the space of its late points, has something of the source. */
static enum vv_status find_next(struct vv_build *build, uint32_t number,
                                const struct vv_bucket *after, int64_t *next)
{
    struct vv_store *store = build->pyramid->options.store;
    int64_t found;
    enum vv_status status = store->ops->nearest(store, 0, number, build->source, after->start, true,
                                                &found, build->error);
    *next = status == VV_OK && found < *next ? found : *next;
    return status == VV_DONE ? VV_OK : status;
}

/* Behind a bucket that has nothing, and as many after it, up to `to` or the next plan: buckets of
 * other plans need not be aligned to these. */
static enum vv_status pass_empty(struct vv_build *build, const struct vv_bucket *bucket, int64_t to,
                                 int64_t *end_out)
{
    int64_t next = to;
    enum vv_status status = VV_OK;
    *end_out = bucket->end;
    for (size_t i = build->plans.n; i-- > 0 && build->plans.plans[i].from_ns >= bucket->end;) {
        next = build->plans.plans[i].from_ns < next ? build->plans.plans[i].from_ns : next;
    }
    if (next > bucket->end && !vv_build_is_shared(build)) {
        status = find_next(build, build->place, bucket, &next);
        if (status == VV_OK && build->late != VV_REGISTRY_NONE) {
            status = find_next(build, build->late, bucket, &next);
        }
        *end_out = next > bucket->end ? next : bucket->end;
    }
    return status;
}

static enum vv_status read_raw(struct vv_build *build, int64_t from, int64_t to)
{
    enum vv_status status = VV_OK;
    while (from < to && status == VV_OK) {
        struct vv_bucket bucket = vv_bucket_of(build->plans.plans, build->plans.n, from);
        build->found = false;
        status = read_bucket(build, &bucket, from, to);
        from = bucket.end;
        if (status == VV_OK && !build->found) {
            status = pass_empty(build, &bucket, to, &from);
        }
    }
    return status;
}

/* ---- a finer tier ---- */

struct listing {
    struct vv_build *build;
    struct vv_pyramid_level *level;
    enum vv_space tier;
    int64_t from; /* units outside are not looked at */
    int64_t to;
    bool has_unreadable;
    int64_t unreadable; /* where the unit begins whose record can't be read */
};

/* What a checksum can tell. */
static bool is_readable(const struct vv_unit_record *record)
{
    struct vv_block block;
    struct vv_chunk chunk;
    const struct vv_str *bytes = &record->content;
    return record->kind == VV_UNIT_STEPS
               ? vv_chunk_open(*bytes, &chunk, NULL) == VV_OK
               : vv_block_open((const uint8_t *)bytes->data, bytes->size, &block) == VV_BLOCK_OK;
}

/* A record that is damaged, or newer than this program, answers nothing: what is finer is read. */
static enum vv_status pass_over(struct listing *listing, const struct vv_piece *piece)
{
    int64_t from = piece->key.span_start;
    const struct vv_unit unit = {from, from + vv_tier_unit_ns_max(listing->tier)};
    listing->has_unreadable = true;
    listing->unreadable = from;
    return vv_cover_add_stale(&listing->level->cover, &unit);
}

/* Whether it may have expired when a unit is built of it for what is asked about: then it is not
 * taken for anything. */
static bool goes_first(const struct listing *listing, const struct vv_piece *piece)
{
    const struct vv_build *build = listing->build;
    struct vv_registry *registry = build->pyramid->options.registry;
    const struct vv_partition *partition = &piece->key.partition;
    struct vv_whole whole = vv_registry_whole(registry, partition->tenant);
    int64_t end = partition->bucket_start + partition->bucket_ns;
    int64_t fold_ns = build->late != VV_REGISTRY_NONE ? VV_LATE_FOLD_NS_MAX : 0;
    int64_t by = build->now_ns + VV_TIER_DUE_NS_MAX + fold_ns;
    int64_t life = vv_registry_life(registry, partition->tenant, by);
    bool may_have_gone = end < vv_whole_gone(&whole, by, by); /* it may have been put before */
    return may_have_gone || (life > 0 && end < by - life);
}

static enum vv_status list_record(void *context, const struct vv_piece *piece)
{
    struct listing *listing = context;
    struct vv_pyramid_level *level = listing->level;
    struct vv_unit_record record;
    bool is_block = piece->kind == VV_PIECE_BLOCK;
    if (is_block && listing->has_unreadable && listing->unreadable == piece->key.span_start) {
        return VV_OK; /* a further part */
    }
    enum vv_status status =
        vv_unit_read(piece->bytes, &record, is_block ? NULL : listing->build->error);
    if (is_block && (status != VV_OK || !is_readable(&record))) {
        return pass_over(listing, piece);
    }
    if (status != VV_OK) { /* of a run, which is nothing to who only asks */
        return listing->build->is_question ? VV_OK : status;
    }
    if (listing->build->is_question &&
        (record.kind == VV_UNIT_STALE || goes_first(listing, piece))) {
        return VV_OK;
    }
    if (record.kind == VV_UNIT_STALE) {
        /* Where nodes share the store it is one and the same run, of another version each time. */
        bool is_shared = vv_build_is_shared(listing->build);
        int64_t put_us = is_shared ? piece->version : (int64_t)vv_stamp_clock_us(piece->run);
        level->stale_us = put_us > level->stale_us ? put_us : level->stale_us;
        return vv_cover_add_stale(&level->cover, &record.unit);
    }
    if (record.unit.from < listing->from || record.unit.to > listing->to) {
        return VV_OK;
    }
    if (piece->part == 0) {
        status = vv_cover_add(&level->cover, &record.unit, (uint32_t)level->records.n);
    }
    if (status == VV_OK && !vv_piece_list_add(&level->records, piece, true)) {
        status = VV_NO_MEMORY;
    }
    return status;
}

enum vv_status vv_build_read_tier(struct vv_build *build, enum vv_space tier, int64_t from,
                                  int64_t to, vv_piece_visit visit, void *context)
{
    struct vv_store *store = build->pyramid->options.store;
    const struct vv_plan plan = vv_tier_plan(tier);
    enum vv_status status = VV_OK;
    for (int64_t at = vv_time_floor(vv_unit_earliest(tier, from), plan.bucket_ns);
         at < to && status == VV_OK; at += plan.bucket_ns) {
        struct vv_span_key key =
            vv_unit_key(tier, build->tiers.spaces[tier], build->source, build->measurement, at);
        const struct vv_store_read read = {.partition = key.partition,
                                           .measurement = build->measurement,
                                           .span_from = vv_unit_earliest(tier, from),
                                           .span_to = to};
        status = store->ops->read(store, &read, visit, context, build->error);
    }
    return status;
}

enum vv_status vv_build_list_records(struct vv_build *build, enum vv_space tier, int64_t from,
                                     int64_t to, bool *damaged_out)
{
    struct vv_pyramid_level *level = &build->pyramid->levels[tier];
    struct listing listing = {.build = build, .level = level, .tier = tier, .from = from, .to = to};
    vv_cover_clear(&level->cover);
    vv_piece_list_truncate(&level->records, 0);
    level->stale_us = 0;
    enum vv_status status = vv_build_read_tier(build, tier, from, to, list_record, &listing);
    vv_cover_settle(&level->cover);
    if (damaged_out) {
        *damaged_out = listing.has_unreadable;
    }
    return status;
}

static enum vv_status add_steps(struct vv_build *build, struct vv_str content)
{
    struct vv_chunk chunk;
    enum vv_status status = vv_chunk_open(content, &chunk, build->error);
    if (status == VV_OK) {
        status = make_steps(build);
    }
    return status == VV_OK ? vv_rollup_add_chunk(build->pyramid->rollup, &chunk, build->error)
                           : status;
}

/* What is built of a record that may have more than raw points are left of may have, too. */
static void note_whole(struct vv_build *build, const struct vv_unit_record *record)
{
    if (vv_build_is_shared(build)) {
        lower_whole(build, record->whole_at);
    } else if (record->unit.from < build->whole_from &&
               !vv_frozen_is_whole(record, &build->expired)) {
        build->whole_at = 0;
    }
}

/* The record whose first part is at `index`. */
enum vv_status vv_build_add_record(struct vv_build *build, const struct vv_piece_list *records,
                                   size_t index)
{
    enum vv_status status = VV_OK;
    size_t end = index;
    vv_merge_reset(build->pyramid->merge, INT64_MIN, INT64_MAX);
    do {
        struct vv_unit_record record;
        status = vv_unit_read(records->items[end].bytes, &record, build->error);
        if (status == VV_OK) {
            vv_build_note_lacks(build, &record);
            note_whole(build, &record);
            status = record.kind == VV_UNIT_STEPS ? add_steps(build, record.content)
                                                  : add_block(build, record.content);
        }
        end++;
    } while (status == VV_OK && end < records->n && records->items[end].part > 0);
    return status == VV_OK ? add_merged(build) : status;
}

/* ---- all below a tier ---- */

static enum vv_status gather_points(struct vv_build *build, int64_t from, int64_t to)
{
    enum vv_status looked = vv_build_look_at_gone(build, from, to);
    bool is_wanted = looked == VV_OK && !build->keeps && !build->is_question;
    return is_wanted ? read_raw(build, from, to) : looked;
}

/* Adds what there is of [from, to) in tiers below `above`, or in raw data. */
enum vv_status vv_build_gather(struct vv_build *build, int above, int64_t from, int64_t to)
{
    int tier = vv_tiers_below(&build->tiers, above);
    if (tier < 0) {
        return gather_points(build, from, to);
    }
    struct vv_pyramid_level *level = &build->pyramid->levels[tier];
    enum vv_status status = vv_build_list_records(build, (enum vv_space)tier, from, to, NULL);
    /* Behind what may be gone there is nothing to ask about. */
    int64_t end = build->is_question && build->whole_from < to ? build->whole_from : to;
    while (from < end && status == VV_OK && !build->keeps) {
        struct vv_stretch stretch = vv_cover_next(&level->cover, 0, from, to);
        if (!stretch.is_covered) {
            status = vv_build_gather(build, tier, stretch.from, stretch.to);
        } else if (!build->is_question) {
            status = vv_build_add_record(build, &level->records, stretch.tag);
        }
        from = stretch.to;
    }
    return status;
}

/* ---- writing ---- */

static enum vv_status push_record(struct vv_build *build, struct vv_piece *piece,
                                  enum vv_unit_kind kind, const struct vv_unit *unit,
                                  struct vv_str content, struct vv_piece_list *blocks_out)
{
    struct vv_buffer bytes = {0};
    struct vv_buffer applied = {0};
    vv_build_list_applied(build, unit, &applied);
    const struct vv_unit_record head = {.kind = kind,
                                        .unit = *unit,
                                        .applied = {(char *)applied.data, applied.size},
                                        .whole_at = build->whole_at};
    vv_unit_write_head(&bytes, &head);
    if (build->whole_at > 0 && build->pyramid->options.say_whole) {
        build->pyramid->options.say_whole(build->pyramid->options.whole_context, build->place);
    }
    vv_buffer_str(&bytes, content);
    piece->bytes = (struct vv_str){(char *)bytes.data, bytes.size};
    bool added = vv_buffer_status(&applied) == VV_OK && vv_buffer_status(&bytes) == VV_OK &&
                 vv_piece_list_add(blocks_out, piece, true);
    vv_buffer_deinit(&applied);
    vv_buffer_deinit(&bytes);
    piece->part++;
    return added ? VV_OK
                 : vv_error_set(build->error, VV_NO_MEMORY, "out of memory while building tiers");
}

static enum vv_status write_rows(struct vv_build *build, struct vv_piece *piece,
                                 const struct vv_unit *unit, struct vv_piece_list *blocks_out)
{
    struct vv_pyramid *pyramid = build->pyramid;
    enum vv_status status = VV_OK;
    vv_merge_reset(pyramid->merge, INT64_MIN, INT64_MAX);
    for (size_t i = 0; i < pyramid->few.n && status == VV_OK; i++) {
        status = vv_merge_add_rows(pyramid->merge, &pyramid->few.items[i]);
        pyramid->few.items[i] = (struct vv_rows){0}; /* taken */
    }
    while (status == VV_OK) {
        const struct vv_rows *rows;
        status = vv_merge_next(pyramid->merge, &rows, build->error);
        for (size_t first = 0; status == VV_OK && first < rows->n_rows;) {
            struct vv_str bytes;
            size_t n = vv_piece_rows(&pyramid->encoder, rows, first, rows->n_rows);
            status =
                vv_piece_encode(&pyramid->encoder, rows, first, first + n, &bytes, build->error);
            if (status == VV_OK) {
                status = push_record(build, piece, VV_UNIT_ROWS, unit, bytes, blocks_out);
            }
            first += n;
        }
    }
    return status == VV_DONE ? VV_OK : status;
}

static enum vv_status write_steps(struct vv_build *build, struct vv_piece *piece,
                                  const struct vv_unit *unit, struct vv_piece_list *blocks_out)
{
    struct vv_pyramid *pyramid = build->pyramid;
    struct vv_buffer chunk = {0};
    enum vv_status status = VV_OK;
    for (size_t first = 0; first < vv_rollup_metrics(pyramid->rollup) && status == VV_OK;
         first += VV_CHUNK_METRICS_MAX) {
        vv_buffer_clear(&chunk);
        status = vv_rollup_encode(pyramid->rollup, first, pyramid->options.zstd_level, &chunk,
                                  build->error);
        if (status == VV_OK) {
            status = push_record(build, piece, VV_UNIT_STEPS, unit,
                                 (struct vv_str){(char *)chunk.data, chunk.size}, blocks_out);
        }
    }
    vv_buffer_deinit(&chunk);
    return status;
}

enum vv_status vv_build_write_record(struct vv_build *build, const struct vv_piece *first,
                                     bool is_rows, const struct vv_unit *unit,
                                     struct vv_piece_list *blocks_out)
{
    struct vv_piece piece = *first;
    if (is_rows) {
        return write_rows(build, &piece, unit, blocks_out);
    }
    if (vv_rollup_steps(build->pyramid->rollup) > 0) {
        return write_steps(build, &piece, unit, blocks_out);
    }
    return vv_piece_list_add(blocks_out, &piece, false)
               ? VV_OK
               : vv_error_set(build->error, VV_NO_MEMORY, "out of memory while building tiers");
}

void vv_build_begin_unit(struct vv_pyramid *pyramid, enum vv_space tier, const struct vv_unit *unit)
{
    int64_t step_ns = vv_tier_step_ns(tier);
    vv_frozen_begin(&pyramid->frozen);
    vv_rollup_begin(pyramid->rollup, step_ns);
    vv_few_begin(&pyramid->few, (size_t)((unit->to - unit->from - 1) / step_ns + 1));
}

enum vv_status vv_build_write_unit(struct vv_build *build, enum vv_space tier,
                                   const struct vv_unit *unit, int64_t made_from,
                                   struct vv_piece_list *blocks_out)
{
    struct vv_pyramid *pyramid = build->pyramid;
    bool is_few = pyramid->few.n > 0 && vv_few_is_so(&pyramid->few, vv_tier_step_ns(tier));
    enum vv_status status = is_few ? VV_OK : make_steps(build);
    if (status != VV_OK) {
        return status;
    }
    struct vv_piece piece = {
        .kind = VV_PIECE_BLOCK,
        .key = build->unit,
        .version = made_from,
    };
    return vv_build_write_record(build, &piece, is_few, unit, blocks_out);
}

/* What a record says if it is made of nothing that says less: mostly nothing. Where nodes share the
 * store it says something once a retention was made longer. */
static uint64_t whole_at_most(const struct vv_build *build, const struct vv_unit *unit)
{
    if (vv_build_is_shared(build)) {
        return build->expired.count > 0 ? UINT64_MAX : 0;
    }
    return unit->from < build->whole_from ? build->expired.count : 0;
}

static enum vv_status build_unit(struct vv_build *build, enum vv_space tier,
                                 const struct vv_unit *unit, const struct vv_mark *mark,
                                 int64_t made_from, struct vv_piece_list *blocks_out)
{
    build->unit = vv_unit_key(tier, mark->key.partition.tenant, build->source, build->measurement,
                              unit->from);
    build->tier = tier;
    build->unit_to = unit->to;
    build->keeps = false;
    build->whole_at = whole_at_most(build, unit);
    vv_build_begin_unit(build->pyramid, tier, unit);
    enum vv_status status = vv_build_lacks_none(build);
    if (status == VV_OK && !build->is_expired) {
        status = vv_build_gather(build, (int)tier, unit->from, unit->to);
    }
    if (status == VV_OK && build->keeps) {
        return vv_build_keep_record(build, made_from, blocks_out);
    }
    return status == VV_OK ? vv_build_write_unit(build, tier, unit, made_from, blocks_out) : status;
}

/* ---- of rows in hand ---- */

enum vv_status vv_pyramid_begin_minutes(struct vv_pyramid *pyramid, const struct vv_unit *unit,
                                        const struct vv_span_key *key)
{
    vv_build_begin_unit(pyramid, VV_SPACE_MINUTE, unit);
    struct vv_build build = {.pyramid = pyramid};
    enum vv_status status =
        vv_deletions_begin_merge(pyramid->options.deletions, key->partition.source,
                                 key->measurement, pyramid->merge, &pyramid->deletions);
    return status == VV_OK ? vv_build_lacks_none(&build) : status;
}

enum vv_status vv_pyramid_add_minutes(struct vv_pyramid *pyramid, const struct vv_rows *rows,
                                      struct vv_error *error)
{
    struct vv_build build = {.pyramid = pyramid, .error = error};
    return vv_build_add_rows(&build, rows);
}

enum vv_status vv_pyramid_end_minutes(struct vv_pyramid *pyramid, const struct vv_unit *unit,
                                      const struct vv_span_key *key,
                                      struct vv_piece_list *blocks_out, struct vv_error *error)
{
    struct vv_build build = {.pyramid = pyramid,
                             .source = key->partition.source,
                             .measurement = key->measurement,
                             .unit = *key,
                             .error = error};
    return vv_build_write_unit(&build, VV_SPACE_MINUTE, unit, VV_VERSION_NONE, blocks_out);
}

/* ---- of what is below ---- */

/* Whether the unit that begins at `from` has been built in this group: plans have changed, and two
 * marks meant it. */
static bool is_listed(const struct vv_piece_list *blocks, const struct vv_mark *mark, int64_t from)
{
    struct vv_span_key key = mark->key;
    bool found = false;
    key.span_start = from;
    for (size_t i = 0; i < blocks->n && !found; i++) {
        struct vv_span_key other = blocks->items[i].key;
        other.partition.bucket_start = key.partition.bucket_start;
        found = vv_span_key_compare(&other, &key) == 0;
    }
    return found;
}

/* A record that was kept has been counted. */
static void count_cut(const struct vv_build *build, const struct vv_mark *mark,
                      const struct vv_pyramid_runs *runs)
{
    bool is_it = runs->record && build->unit.span_start == mark->key.span_start;
    bool is_built = !build->keeps && !build->is_expired;
    build->pyramid->kept.cut += is_it && is_built && vv_build_has_news(build, runs->record);
}

enum vv_status vv_pyramid_build(struct vv_pyramid *pyramid, const struct vv_mark *mark, int64_t to,
                                int64_t now_ns, int64_t made_from, bool is_expired,
                                const struct vv_pyramid_runs *runs,
                                struct vv_piece_list *blocks_out, struct vv_error *error)
{
    struct vv_build build;
    uint32_t place;
    enum vv_space tier;
    bool is_space =
        vv_registry_space_of(pyramid->options.registry, mark->key.partition.tenant, &place, &tier);
    vv_invariant(is_space);
    enum vv_status status = vv_build_begin(&build, pyramid, place, mark->key.partition.source,
                                           mark->key.measurement, error);
    build.is_expired = is_expired;
    build.now_ns = now_ns;
    build.is_late = !vv_runs_only_replace(runs);
    for (int64_t at = mark->key.span_start; at < to && build.plans.n > 0 && status == VV_OK;) {
        struct vv_unit unit = vv_unit_of(tier, build.plans.plans, build.plans.n, at);
        unit.from = at; /* as it was marked */
        bool is_wanted = unit.to <= now_ns && !is_listed(blocks_out, mark, at);
        at = unit.to;
        if (!is_wanted) {
            continue; /* what is finer serves until it is over */
        }
        size_t first = blocks_out->n;
        status = build_unit(&build, tier, &unit, mark, made_from, blocks_out);
        if (status == VV_OK) {
            count_cut(&build, mark, runs);
        }
        if (status == VV_OK && !is_expired) {
            const struct vv_built built = {unit, made_from, first};
            status = vv_build_replace_days(&build, &built, runs, blocks_out);
        }
        made_from = 0;
    }
    return status;
}
