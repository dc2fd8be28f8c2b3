/* SPDX-License-Identifier: Apache-2.0 */
/* The sealer: groups of due spans, each merged once. */
#include "seal/sealer.h"

#include "model/merge.h"
#include "model/piece.h"

#include <stdlib.h>
#include <string.h>

#define AHEAD           16         /* spans that are asked for before their turn */
#define GROUP_BYTES_MAX (4u << 20) /* of encoded blocks in one write to the store */
#define BLOCK_ROWS_MAX  65536
#define DAMAGED_MAX     256

/* A list of pieces that own their bytes (or have none). */
struct piece_list {
    struct vv_piece *items;
    size_t n;
    size_t capacity;
    size_t bytes;
};

struct vv_sealer {
    struct vv_sealer_options options;
    struct vv_piece_encoder encoder;
    struct vv_merge *merge;
    struct vv_mark *marks; /* of this group */
    size_t n_marks;
    size_t marks_capacity;
    struct vv_store_answer *answers[AHEAD]; /* of marks that were asked for, by index */
    size_t n_asked;
    struct vv_mark *settled; /* of those, the ones whose span is done */
    size_t n_settled;
    bool *is_mine;            /* of marks, by index */
    struct piece_list blocks; /* new */
    struct piece_list runs;   /* read, to be removed */
    struct vv_seal_figures figures;
    struct vv_mark cursor; /* the last mark looked at: a pass goes on behind it */
    bool has_cursor;
    struct vv_span_key damaged[DAMAGED_MAX]; /* not tried again before a restart */
    size_t n_damaged;
};

static bool push_piece(struct piece_list *list, const struct vv_piece *piece, bool with_bytes)
{
    if (list->n == list->capacity) {
        size_t capacity = list->capacity ? list->capacity * 2 : 64;
        struct vv_piece *bigger = realloc(list->items, capacity * sizeof *bigger);
        if (!bigger) {
            return false;
        }
        list->items = bigger;
        list->capacity = capacity;
    }
    struct vv_piece *item = &list->items[list->n];
    *item = *piece;
    item->bytes = (struct vv_str){0};
    if (with_bytes && piece->bytes.size) {
        char *copy = malloc(piece->bytes.size);
        if (!copy) {
            return false;
        }
        memcpy(copy, piece->bytes.data, piece->bytes.size);
        item->bytes = (struct vv_str){copy, piece->bytes.size};
        list->bytes += piece->bytes.size;
    }
    list->n++;
    return true;
}

static void truncate_list(struct piece_list *list, size_t n)
{
    while (list->n > n) {
        struct vv_piece *item = &list->items[--list->n];
        list->bytes -= item->bytes.size;
        free((char *)item->bytes.data);
    }
}

enum vv_status vv_sealer_create(const struct vv_sealer_options *options,
                                struct vv_sealer **sealer_out)
{
    struct vv_sealer *sealer = calloc(1, sizeof *sealer);
    struct vv_merge_options merge_options = {.from = INT64_MIN, .to = INT64_MAX};
    if (!sealer || vv_merge_create(&merge_options, &sealer->merge) != VV_OK) {
        free(sealer);
        return VV_NO_MEMORY;
    }
    sealer->options = *options;
    sealer->encoder.options =
        (struct vv_block_options){.zstd_level = options->zstd_level, .with_stats = true};
    sealer->encoder.rows_max = BLOCK_ROWS_MAX;
    sealer->encoder.bytes_max = options->block_bytes_max;
    *sealer_out = sealer;
    return VV_OK;
}

void vv_sealer_destroy(struct vv_sealer *sealer)
{
    if (!sealer) {
        return;
    }
    truncate_list(&sealer->blocks, 0);
    truncate_list(&sealer->runs, 0);
    free(sealer->blocks.items);
    free(sealer->runs.items);
    free(sealer->marks);
    free(sealer->settled);
    free(sealer->is_mine);
    vv_merge_destroy(sealer->merge);
    vv_piece_encoder_deinit(&sealer->encoder);
    free(sealer);
}

/* ---- which spans ---- */

struct choice {
    struct vv_sealer *sealer;
    vv_stamp until;
    int64_t now_ns;
    size_t spans_max;
};

static bool is_damaged(const struct vv_sealer *sealer, const struct vv_mark *mark)
{
    for (size_t i = 0; i < sealer->n_damaged; i++) {
        if (vv_span_key_compare(&sealer->damaged[i], &mark->key) == 0) {
            return true;
        }
    }
    return false;
}

/* Nodes number sources for themselves, and so may each have marked a span as due at another time:
 * the second mark waits for the next time around, and finds nothing left. */
static bool is_in_group(const struct vv_sealer *sealer, const struct vv_mark *mark)
{
    for (size_t i = 0; i < sealer->n_marks; i++) {
        if (vv_span_key_compare(&sealer->marks[i].key, &mark->key) == 0) {
            return true;
        }
    }
    return false;
}

static enum vv_status choose_mark(void *context, const struct vv_mark *mark)
{
    struct choice *choice = context;
    struct vv_sealer *sealer = choice->sealer;
    sealer->cursor = *mark;
    sealer->has_cursor = true;
    bool chosen = choice->until == VV_SEAL_DUE
                      ? vv_ledger_quiet(&sealer->options.ledger, mark, choice->now_ns)
                      : mark->run <= choice->until;
    if (chosen && !is_damaged(sealer, mark) && !is_in_group(sealer, mark)) {
        sealer->marks[sealer->n_marks++] = *mark;
    }
    return sealer->n_marks < choice->spans_max ? VV_OK : VV_DONE;
}

static enum vv_status fit_marks(struct vv_sealer *sealer, size_t spans_max)
{
    if (sealer->marks_capacity >= spans_max) {
        return VV_OK;
    }
    struct vv_mark *marks = realloc(sealer->marks, spans_max * sizeof *marks);
    sealer->marks = marks ? marks : sealer->marks;
    struct vv_mark *settled = realloc(sealer->settled, spans_max * sizeof *settled);
    sealer->settled = settled ? settled : sealer->settled;
    bool *is_mine = realloc(sealer->is_mine, spans_max * sizeof *is_mine);
    sealer->is_mine = is_mine ? is_mine : sealer->is_mine;
    if (!marks || !settled || !is_mine) {
        return VV_NO_MEMORY;
    }
    sealer->marks_capacity = spans_max;
    return VV_OK;
}

/* Goes on behind the last mark that was looked at, and once around at the end: marks that wait for
 * quiet are not looked at again for each group. */
static enum vv_status choose_marks(struct vv_sealer *sealer, vv_stamp until, size_t spans_max,
                                   struct vv_error *error)
{
    struct vv_store *store = sealer->options.store;
    int64_t now = sealer->options.clock->wall_ns(sealer->options.clock);
    struct choice choice = {sealer, until, now, spans_max};
    int64_t due_until = until == VV_SEAL_DUE ? now : INT64_MAX;
    enum vv_status status = VV_OK;
    sealer->n_marks = 0;
    if (sealer->has_cursor) {
        struct vv_mark after = sealer->cursor;
        status = store->ops->scan_marks(store, due_until, &after, choose_mark, &choice, error);
    }
    if (status == VV_OK && sealer->n_marks == 0) {
        status = store->ops->scan_marks(store, due_until, NULL, choose_mark, &choice, error);
    }
    if (sealer->n_marks == 0) {
        sealer->has_cursor = false;
    }
    return status;
}

/* ---- one span ---- */

struct reading {
    struct vv_sealer *sealer;
    bool had_block;
    int64_t made_from; /* the version of the span's present block */
    bool keep_bytes;   /* false: the span has expired, its runs are only listed */
    struct vv_error *error;
};

static enum vv_status read_piece(void *context, const struct vv_piece *piece)
{
    struct reading *reading = context;
    struct vv_sealer *sealer = reading->sealer;
    sealer->figures.bytes_in += piece->bytes.size;
    if (piece->kind == VV_PIECE_BLOCK) {
        reading->made_from = piece->version;
        reading->had_block = true;
    } else if (!push_piece(&sealer->runs, piece, false)) {
        return VV_NO_MEMORY;
    }
    if (!reading->keep_bytes) {
        return VV_OK;
    }
    return vv_merge_add_block(sealer->merge, (const uint8_t *)piece->bytes.data, piece->bytes.size,
                              reading->error);
}

static bool is_expired(struct vv_sealer *sealer, const struct vv_mark *mark)
{
    int64_t retention = vv_registry_retention(sealer->options.registry, mark->key.partition.tenant);
    int64_t now = sealer->options.clock->wall_ns(sealer->options.clock);
    int64_t bucket_end = mark->key.partition.bucket_start + mark->key.partition.bucket_ns;
    return retention > 0 && bucket_end < now - retention;
}

static enum vv_status encode_blocks(struct vv_sealer *sealer, const struct vv_span_key *key,
                                    int64_t made_from, struct vv_error *error)
{
    struct vv_piece block = {.kind = VV_PIECE_BLOCK, .key = *key, .version = made_from};
    for (;;) {
        const struct vv_rows *rows;
        enum vv_status status = vv_merge_next(sealer->merge, &rows, error);
        if (status != VV_OK) {
            return status == VV_DONE ? VV_OK : status;
        }
        sealer->figures.rows += rows->n_rows;
        for (size_t first = 0; first < rows->n_rows;) {
            size_t n = vv_piece_rows(&sealer->encoder, rows, first, rows->n_rows);
            status = vv_piece_encode(&sealer->encoder, rows, first, first + n, &block.bytes, error);
            if (status != VV_OK) {
                return status;
            }
            if (!push_piece(&sealer->blocks, &block, true)) {
                return VV_NO_MEMORY;
            }
            block.part++;
            first += n;
        }
    }
}

static struct vv_store_read read_of(const struct vv_mark *mark)
{
    return (struct vv_store_read){.partition = mark->key.partition,
                                  .measurement = mark->key.measurement,
                                  .span_from = mark->key.span_start,
                                  .span_to = mark->key.span_start + 1};
}

/* Where the store's answers take their time, the spans of a group are asked for some ahead. */
static void ask_ahead(struct vv_sealer *sealer, size_t at)
{
    struct vv_store *store = sealer->options.store;
    size_t end = at + AHEAD < sealer->n_marks ? at + AHEAD : sealer->n_marks;
    for (size_t i = at; i < end && store->ops->begin_read; i++) {
        struct vv_store_answer **answer = &sealer->answers[i % AHEAD];
        if (i >= sealer->n_asked) {
            struct vv_store_read read = read_of(&sealer->marks[i]);
            sealer->n_asked = i + 1;
            if (store->ops->begin_read(store, &read, answer, NULL) != VV_OK) {
                *answer = NULL; /* it is read when its turn comes */
            }
        }
    }
}

static void forget_answers(struct vv_sealer *sealer)
{
    for (size_t i = 0; i < AHEAD; i++) {
        if (sealer->answers[i]) {
            sealer->options.store->ops->end_read(sealer->answers[i]);
            sealer->answers[i] = NULL;
        }
    }
    sealer->n_asked = 0;
}

static enum vv_status read_span(struct vv_sealer *sealer, size_t at, struct reading *reading,
                                struct vv_error *error)
{
    struct vv_store *store = sealer->options.store;
    ask_ahead(sealer, at);
    struct vv_store_answer *answer = sealer->answers[at % AHEAD];
    if (!answer) {
        struct vv_store_read read = read_of(&sealer->marks[at]);
        return store->ops->read(store, &read, read_piece, reading, error);
    }
    sealer->answers[at % AHEAD] = NULL;
    enum vv_status status = store->ops->visit_read(answer, read_piece, reading, error);
    store->ops->end_read(answer);
    return status;
}

static enum vv_status seal_span(struct vv_sealer *sealer, size_t at, struct vv_error *error)
{
    const struct vv_mark *mark = &sealer->marks[at];
    struct reading reading = {.sealer = sealer,
                              .keep_bytes = !is_expired(sealer, mark),
                              .made_from = VV_VERSION_NONE,
                              .error = error};
    size_t runs_before = sealer->runs.n;
    vv_merge_reset(sealer->merge, INT64_MIN, INT64_MAX);
    enum vv_status status = read_span(sealer, at, &reading, error);
    if (status != VV_OK || !reading.keep_bytes) {
        sealer->figures.expired += status == VV_OK;
        return status;
    }
    if (sealer->runs.n == runs_before) {
        return VV_OK; /* sealed before a crash: only the mark is left */
    }
    status = encode_blocks(sealer, &mark->key, reading.made_from, error);
    sealer->figures.spans += status == VV_OK;
    sealer->figures.again += status == VV_OK && reading.had_block;
    return status;
}

/* ---- a group ---- */

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

/* Blocks first, durably; then the runs; then the marks. */
static enum vv_status write_group(struct vv_sealer *sealer, struct vv_error *error)
{
    struct vv_store *store = sealer->options.store;
    enum vv_status status = VV_OK;
    if (sealer->blocks.n > 0) {
        qsort(sealer->blocks.items, sealer->blocks.n, sizeof *sealer->blocks.items, compare_pieces);
        status = store->ops->put_blocks(store, sealer->blocks.items, sealer->blocks.n, error);
    }
    if (status == VV_OK && sealer->runs.n > 0) {
        status = store->ops->remove_runs(store, sealer->runs.items, sealer->runs.n, error);
    }
    if (status == VV_OK) {
        status = store->ops->retire_marks(store, sealer->settled, sealer->n_settled, error);
    }
    if (status == VV_OK) {
        sealer->figures.bytes_out += sealer->blocks.bytes;
    }
    return status;
}

/* A damaged piece must not stop the sealing of everything else: its span stays as it is, is still
 * answered (with the error), and is looked at again after the next restart. */
static void skip_damaged(struct vv_sealer *sealer, const struct vv_mark *mark, size_t blocks,
                         size_t runs)
{
    truncate_list(&sealer->blocks, blocks);
    truncate_list(&sealer->runs, runs);
    sealer->damaged[sealer->n_damaged++] = mark->key;
    sealer->figures.damaged++;
}

/* Leaves out the spans that other nodes seal. */
static enum vv_status begin_group(struct vv_sealer *sealer, struct vv_error *error)
{
    struct vv_store *store = sealer->options.store;
    if (!store->ops->shared) {
        return VV_OK;
    }
    enum vv_status status = store->ops->shared->begin_seal(store, sealer->marks, sealer->n_marks,
                                                           sealer->is_mine, error);
    size_t kept = 0;
    for (size_t i = 0; i < sealer->n_marks && status == VV_OK; i++) {
        if (sealer->is_mine[i]) {
            sealer->marks[kept++] = sealer->marks[i];
        }
    }
    sealer->n_marks = kept;
    return status;
}

static enum vv_status seal_group(struct vv_sealer *sealer, struct vv_error *error)
{
    for (size_t i = 0; i < sealer->n_marks; i++) {
        if (sealer->blocks.bytes >= GROUP_BYTES_MAX) { /* the next group begins here */
            sealer->cursor = sealer->marks[i - 1];
            break;
        }
        size_t blocks = sealer->blocks.n;
        size_t runs = sealer->runs.n;
        enum vv_status status = seal_span(sealer, i, error);
        bool is_bad = status == VV_CORRUPT || status == VV_NEWER;
        if (is_bad && sealer->n_damaged < DAMAGED_MAX) {
            skip_damaged(sealer, &sealer->marks[i], blocks, runs);
            continue;
        }
        if (status != VV_OK) {
            return status;
        }
        sealer->settled[sealer->n_settled++] = sealer->marks[i];
    }
    return write_group(sealer, error);
}

enum vv_status vv_sealer_step(struct vv_sealer *sealer, vv_stamp until, size_t spans_max,
                              struct vv_error *error)
{
    enum vv_status status = fit_marks(sealer, spans_max);
    if (status == VV_OK) {
        status = choose_marks(sealer, until, spans_max, error);
    }
    if (status == VV_OK && sealer->n_marks == 0) {
        status = VV_DONE;
    }
    if (status == VV_OK) {
        sealer->n_settled = 0;
        status = begin_group(sealer, error);
    }
    if (status == VV_OK) {
        status = seal_group(sealer, error);
        forget_answers(sealer);
    }
    truncate_list(&sealer->blocks, 0);
    truncate_list(&sealer->runs, 0);
    if (status == VV_NO_MEMORY) {
        vv_error_set(error, status, "out of memory while sealing; it is tried again");
    }
    return status;
}

void vv_sealer_read_figures(const struct vv_sealer *sealer, struct vv_seal_figures *figures_out)
{
    *figures_out = sealer->figures;
}
