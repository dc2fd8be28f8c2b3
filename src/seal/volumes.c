/* SPDX-License-Identifier: Apache-2.0 */
#include "seal/volumes.h"

#include "base/compare.h"
#include "tier/record_metrics.h"

#include <stdlib.h>
#include <string.h>

/* Behind the last unit of the bucket, and its cohort's. */
#define BEHIND_NS VV_DAY
#define SPREAD_NS (2 * VV_DAY)

#define TAIL_SIZE_MIN 2048u /* less costs who reads it in passing less than a key of its own */

/* ---- marks ---- */

static bool is_of_tier(struct vv_registry *registry, const struct vv_span_key *key)
{
    uint32_t place;
    enum vv_space tier;
    return vv_registry_space_of(registry, key->partition.tenant, &place, &tier) &&
           vv_tier_has_volumes(tier);
}

bool vv_volume_is_marked(struct vv_registry *registry, const struct vv_mark *mark)
{
    return vv_volume_is(&mark->key) && is_of_tier(registry, &mark->key);
}

struct vv_mark vv_volume_mark(const struct vv_ledger_rule *rule, const struct vv_span_key *unit,
                              vv_stamp run)
{
    const struct vv_span_key key = vv_volume_key(unit);
    struct vv_ledger_rule own = *rule;
    own.lateness_ns += BEHIND_NS;
    own.spread_ns = SPREAD_NS;
    return vv_ledger_mark(&own, &key, key.partition.bucket_ns, run);
}

bool vv_volume_is_quiet(const struct vv_mark *mark, int64_t quiet_ns, int64_t now_ns)
{
    int64_t age = now_ns - (int64_t)vv_stamp_clock_us(mark->run) * VV_MICROSECOND;
    return age >= quiet_ns || age < -quiet_ns; /* a clock that went back */
}

/* ---- making ---- */

/* Units that follow each other. */
struct stretch {
    struct vv_unit unit;
    struct vv_buffer bytes; /* the chunk of all metrics */
    struct vv_chunk chunk;  /* of these */
    int64_t *starts;
};

struct making {
    struct vv_rollup *rollup;
    int zstd_level;
    const struct vv_mark *mark;
    struct vv_piece_list records; /* heads, ascending */
    struct stretch stretches[VV_VOLUME_STRETCHES];
    size_t n_stretches;
    uint32_t *metrics; /* of all stretches, ascending */
    size_t n_metrics;
    bool is_fit; /* so far: all are records of steps, none is stale */
};

static enum vv_status take_record(void *context, const struct vv_piece *piece)
{
    struct making *making = context;
    struct vv_unit_record record;
    making->is_fit = piece->kind == VV_PIECE_BLOCK && piece->part == 0 &&
                     vv_unit_read(piece->bytes, &record, NULL) == VV_OK &&
                     record.kind == VV_UNIT_STEPS;
    if (!making->is_fit) {
        return VV_DONE;
    }
    return vv_piece_list_add(&making->records, piece, true) ? VV_OK : VV_NO_MEMORY;
}

static enum vv_status read_records(struct making *making, struct vv_store *store,
                                   struct vv_error *error)
{
    const struct vv_span_key *key = &making->mark->key;
    struct vv_store_read read = {
        .partition = key->partition,
        .measurement = key->measurement,
        .span_from = key->span_start,
        .span_to = key->span_start + key->partition.bucket_ns,
        .heads_only = true,
    };
    read.partition.split = 0;
    return store->ops->read(store, &read, take_record, making, error);
}

static struct vv_unit_record record_at(const struct making *making, size_t index)
{
    struct vv_unit_record record = {0};
    enum vv_status status = vv_unit_read(making->records.items[index].bytes, &record, NULL);
    vv_invariant(status == VV_OK); /* it was before */
    return record;
}

/* Puts the steps of the records [begin, end) together. */
static enum vv_status join_records(struct making *making, size_t begin, size_t end,
                                   struct stretch *stretch)
{
    enum vv_status status = VV_OK;
    vv_rollup_begin(making->rollup, vv_tier_step_ns(VV_SPACE_HOUR));
    for (size_t i = begin; i < end && status == VV_OK; i++) {
        struct vv_chunk chunk;
        status = vv_chunk_open_steps(record_at(making, i).content, &chunk, NULL);
        status = status == VV_OK ? vv_rollup_add_chunk(making->rollup, &chunk, NULL) : status;
    }
    if (status == VV_OK && vv_rollup_metrics(making->rollup) > VV_CHUNK_METRICS_MAX) {
        status = VV_TOO_LARGE;
    }
    status =
        status == VV_OK ? vv_rollup_encode(making->rollup, 0, 0, &stretch->bytes, NULL) : status;
    const struct vv_str bytes = {(char *)stretch->bytes.data, stretch->bytes.size};
    status = status == VV_OK ? vv_chunk_open_steps(bytes, &stretch->chunk, NULL) : status;
    if (status == VV_OK) {
        stretch->starts = malloc(stretch->chunk.n_steps * sizeof *stretch->starts);
        status = stretch->starts ? vv_chunk_starts(&stretch->chunk, stretch->starts, NULL)
                                 : VV_NO_MEMORY;
    }
    return status;
}

static enum vv_status join_all(struct making *making)
{
    size_t n = making->records.n;
    enum vv_status status = VV_OK;
    for (size_t begin = 0, end = 0; begin < n && status == VV_OK; begin = end) {
        if (making->n_stretches == VV_VOLUME_STRETCHES) {
            return VV_TOO_LARGE;
        }
        struct stretch *stretch = &making->stretches[making->n_stretches++];
        stretch->unit = record_at(making, begin).unit;
        for (end = begin + 1; end < n && record_at(making, end).unit.from == stretch->unit.to;
             end++) {
            stretch->unit.to = record_at(making, end).unit.to;
        }
        status = join_records(making, begin, end, stretch);
    }
    return status;
}

static enum vv_status list_metrics(struct making *making)
{
    size_t n = 0;
    size_t kept = 0;
    for (size_t i = 0; i < making->n_stretches; i++) {
        n += making->stretches[i].chunk.n_metrics;
    }
    making->metrics = malloc(n * sizeof *making->metrics);
    if (!making->metrics) {
        return VV_NO_MEMORY;
    }
    n = 0;
    for (size_t i = 0; i < making->n_stretches; i++) {
        const struct vv_chunk *chunk = &making->stretches[i].chunk;
        for (uint32_t m = 0; m < chunk->n_metrics; m++) {
            enum vv_value_type type;
            enum vv_status status = vv_chunk_metric(chunk, m, &making->metrics[n++], &type, NULL);
            if (status != VV_OK) {
                return status;
            }
        }
    }
    qsort(making->metrics, n, sizeof *making->metrics, vv_compare_u32);
    for (size_t i = 0; i < n; i++) {
        if (kept == 0 || making->metrics[kept - 1] != making->metrics[i]) {
            making->metrics[kept++] = making->metrics[i];
        }
    }
    making->n_metrics = kept;
    return kept > 0 && making->metrics[kept - 1] <= VV_VOLUME_METRIC_MAX ? VV_OK : VV_TOO_LARGE;
}

/* Of a stretch in which the metric has no values all steps are empty. */
static enum vv_status encode_metric(const struct making *making, const struct stretch *stretch,
                                    uint32_t number, struct vv_step *steps, struct vv_buffer *out)
{
    struct vv_chunk_metric metric = {.metric = number, .type = VV_INT64, .steps = steps};
    uint32_t index;
    enum vv_status status = VV_OK;
    if (vv_chunk_find(&stretch->chunk, number, &index, &metric.type)) {
        status = vv_chunk_steps(&stretch->chunk, index, stretch->starts, steps, NULL);
    } else {
        memset(steps, 0, stretch->chunk.n_steps * sizeof *steps);
    }
    const struct vv_chunk_content content = {
        .step_ns = stretch->chunk.step_ns,
        .n_steps = stretch->chunk.n_steps,
        .starts = stretch->starts,
        .n_metrics = 1,
        .metrics = &metric,
    };
    vv_unit_write(out, VV_UNIT_STEPS, &stretch->unit);
    return status == VV_OK ? vv_chunk_encode(&content, making->zstd_level, out, NULL) : status;
}

static enum vv_status push_part(struct making *making, uint32_t number, size_t index,
                                struct vv_piece_list *blocks_out)
{
    const struct stretch *stretch = &making->stretches[index];
    struct vv_buffer bytes = {0};
    struct vv_step *steps = malloc(stretch->chunk.n_steps * sizeof *steps);
    enum vv_status status =
        steps ? encode_metric(making, stretch, number, steps, &bytes) : VV_NO_MEMORY;
    status = status == VV_OK ? vv_buffer_status(&bytes) : status;
    if (status == VV_OK) {
        const struct vv_piece piece = {.kind = VV_PIECE_BLOCK,
                                       .key = making->mark->key,
                                       .part = vv_volume_part(number) + (uint32_t)index,
                                       .bytes = {(char *)bytes.data, bytes.size},
                                       .version = VV_VERSION_NONE};
        status = vv_piece_list_add(blocks_out, &piece, true) ? VV_OK : VV_NO_MEMORY;
    }
    vv_buffer_deinit(&bytes);
    free(steps);
    return status;
}

static enum vv_status push_all(struct making *making, struct vv_piece_list *blocks_out)
{
    enum vv_status status = VV_OK;
    for (size_t m = 0; m < making->n_metrics && status == VV_OK; m++) {
        for (size_t i = 0; i < making->n_stretches && status == VV_OK; i++) {
            status = push_part(making, making->metrics[m], i, blocks_out);
        }
    }
    return status;
}

static void making_deinit(struct making *making)
{
    for (size_t i = 0; i < making->n_stretches; i++) {
        vv_buffer_deinit(&making->stretches[i].bytes);
        free(making->stretches[i].starts);
    }
    vv_piece_list_deinit(&making->records);
    free(making->metrics);
    free(making);
}

static enum vv_status make(struct making *making, struct vv_piece_list *blocks_out)
{
    enum vv_status status = join_all(making);
    status = status == VV_OK ? list_metrics(making) : status;
    return status == VV_OK ? push_all(making, blocks_out) : status;
}

/* What can't be read or put together, whatever it is, is no error: there is no volume. */
enum vv_status vv_volume_make(struct vv_store *store, const struct vv_mark *mark,
                              struct vv_rollup *rollup, int zstd_level,
                              struct vv_piece_list *blocks_out, struct vv_error *error)
{
    const struct vv_piece none = {
        .kind = VV_PIECE_BLOCK, .key = mark->key, .version = VV_VERSION_NONE};
    size_t before = blocks_out->n;
    struct making *making = calloc(1, sizeof *making);
    if (!making) {
        return VV_NO_MEMORY;
    }
    *making =
        (struct making){.rollup = rollup, .zstd_level = zstd_level, .mark = mark, .is_fit = true};
    enum vv_status status = read_records(making, store, error);
    bool is_away = status != VV_OK && status != VV_CORRUPT && status != VV_NEWER;
    bool is_fit = status == VV_OK && making->is_fit && making->records.n > 1;
    if (is_fit) {
        status = make(making, blocks_out);
    }
    if (!is_away && status != VV_NO_MEMORY && (!is_fit || status != VV_OK)) {
        vv_piece_list_truncate(blocks_out, before);
        status = vv_piece_list_add(blocks_out, &none, false) ? VV_OK : VV_NO_MEMORY;
    }
    making_deinit(making);
    return status;
}

/* ---- putting ---- */

/* What is put: the pieces borrow their bytes. */
struct putting {
    struct vv_piece *pieces; /* room for two of each block */
    size_t n;
};

static int compare_pieces(const void *a, const void *b)
{
    const struct vv_piece *x = a;
    const struct vv_piece *y = b;
    int order = vv_span_key_compare(&x->key, &y->key);
    if (order != 0) {
        return order;
    }
    return x->part < y->part ? -1 : x->part > y->part;
}

static void add_block(struct putting *putting, const struct vv_piece *block)
{
    size_t size = vv_record_head_size(block->bytes);
    struct vv_piece *piece = &putting->pieces[putting->n++];
    *piece = *block;
    piece->head_size = size > 0 && block->bytes.size - size >= TAIL_SIZE_MIN ? size : 0;
}

/* That there is none in the buckets of records. */
static void remove_volumes(struct putting *putting, struct vv_registry *registry)
{
    size_t n = putting->n;
    for (size_t i = 0; i < n; i++) {
        const struct vv_span_key *key = &putting->pieces[i].key;
        if (!vv_volume_is(key) && is_of_tier(registry, key)) {
            putting->pieces[putting->n++] = (struct vv_piece){
                .kind = VV_PIECE_BLOCK, .key = vv_volume_key(key), .version = VV_VERSION_NONE};
        }
    }
}

/* Several records, and who puts them, may say the same of a volume. */
static void drop_doubles(struct putting *putting)
{
    size_t kept = 0;
    for (size_t i = 0; i < putting->n; i++) {
        const struct vv_piece *piece = &putting->pieces[i];
        if (kept == 0 || compare_pieces(&putting->pieces[kept - 1], piece) != 0) {
            putting->pieces[kept++] = *piece;
        }
    }
    putting->n = kept;
}

/* Those that are removed, each once: what is put is sorted. */
static enum vv_status mark_removed(const struct vv_volumes *volumes, const struct putting *putting,
                                   struct vv_error *error)
{
    struct vv_store *store = volumes->store;
    struct vv_span_key last;
    bool is_first = true;
    enum vv_status status = VV_OK;
    for (size_t i = 0; i < putting->n && status == VV_OK; i++) {
        const struct vv_span_key *key = &putting->pieces[i].key;
        if (vv_volume_is(key) || !is_of_tier(volumes->registry, key)) {
            continue;
        }
        const struct vv_mark mark = vv_volume_mark(volumes->rule, key, volumes->run);
        if (is_first || vv_span_key_compare(&last, &mark.key) != 0) {
            status = store->ops->put_mark(store, &mark, error);
        }
        last = mark.key;
        is_first = false;
    }
    return status;
}

enum vv_status vv_volumes_put(const struct vv_volumes *volumes, const struct vv_piece_list *blocks,
                              struct vv_error *error)
{
    struct vv_store *store = volumes->store;
    enum vv_status status = VV_OK;
    struct putting putting = {.pieces = malloc(2 * blocks->n * sizeof *putting.pieces)};
    if (!putting.pieces) {
        return VV_NO_MEMORY;
    }
    for (size_t i = 0; i < blocks->n; i++) {
        add_block(&putting, &blocks->items[i]);
    }
    if (!store->ops->shared) {
        remove_volumes(&putting, volumes->registry);
    }
    qsort(putting.pieces, putting.n, sizeof *putting.pieces, compare_pieces);
    if (!store->ops->shared) {
        drop_doubles(&putting);
        status = volumes->rule ? mark_removed(volumes, &putting, error) : VV_OK;
    }
    status =
        status == VV_OK ? store->ops->put_blocks(store, putting.pieces, putting.n, error) : status;
    free(putting.pieces);
    return status;
}
