/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a partition: the runs with their covers, page by page, then the blocks of all of the
 * tenant's classes together, as one table would have them. First pages of both were asked for at
 * the same time, so blocks may be older than covers.
 *
 * A run that a cover names is left out, and looked for again if the block that counts turns out not
 * to be that cover's.
 *
 * Of a span's blocks the highest seal that is whole counts, whichever class it is in: a sealer that
 * died leaves the one that it replaced, with what is deleted, and which class is the present one
 * changes. Rows descend by seal, and a seal whose first part is there, with the number of parts, is
 * whole. A page may end inside a seal that is deleted meanwhile; a missing part is noticed, and the
 * blocks are read again from that span on.
 */
#include "store/cassandra/block_lanes.h"

#include "store/keys.h"

#include <stdlib.h>

#define AGAIN_MAX 16

/* A span whose runs were left out since some cover names them. */
struct hidden {
    int64_t span;
    int64_t cover;  /* the newest one's seal */
    bool in_newest; /* all of them */
};

/* A span, and the seal of its block that counts. */
struct winner {
    int64_t span;
    int64_t seal;
};

struct reading {
    struct vv_cassandra *store;
    struct vv_store_answer *answer;
    const struct vv_store_read *read;
    vv_piece_visit visit;
    void *context;
    struct vv_error *error;
    struct vv_buffer numbers; /* of a piece's columns */
    struct vv_buffer renumbered;
    struct vv_buffer whole; /* a head and its tail */
    /* Runs. */
    int64_t covers_span;
    int64_t cover;           /* the seal of the newest cover of that span */
    struct vv_buffer newest; /* its entries, sorted */
    struct vv_buffer covers; /* those of the others */
    struct hidden *hidden;   /* spans of which runs were left out */
    size_t n_hidden;
    size_t hidden_capacity;
    bool only_cover; /* a second look at one span: only this cover counts */
    int64_t only_span;
    int64_t cover_wanted;
    /* Blocks. */
    struct winner *spans; /* whose blocks were given */
    size_t n_spans;
    size_t spans_capacity;
    bool in_span;
    int64_t span; /* of the seal that is being given */
    int64_t seal;
    int32_t parts_left; /* of it */
    bool stopped;       /* the visitor has what it wants */
};

/* ---- giving a piece ---- */

static enum vv_status give(struct reading *reading, struct vv_piece *piece, struct vvcql_bytes ids,
                           struct vvcql_bytes data)
{
    struct vv_cassandra *store = reading->store;
    piece->key.partition = reading->read->partition;
    piece->key.measurement = reading->read->measurement;
    piece->bytes = (struct vv_str){(const char *)data.data, data.size};
    vv_buffer_clear(&reading->numbers);
    enum vv_status status =
        vv_cassandra_numbers(store, reading->read->measurement, ids, data, &reading->numbers);
    if (status == VV_OK && reading->numbers.size > 0) {
        status = vv_cassandra_renumber(data, &reading->numbers, &reading->renumbered);
        piece->bytes =
            (struct vv_str){(const char *)reading->renumbered.data, reading->renumbered.size};
    }
    if (status == VV_NOT_FOUND) { /* left out, its points would be gone when the span is sealed */
        vv_regions_lack_names(store, reading->read->partition.region);
        return vv_error_set(reading->error, VV_OVERLOAD,
                            "a piece has a metric that this node has not learnt yet: try again");
    }
    if (status != VV_OK) {
        return vv_error_set(reading->error, status,
                            status == VV_NO_MEMORY ? "out of memory while reading"
                                                   : "the columns of a piece do not fit its bytes");
    }
    atomic_fetch_add_explicit(&store->bytes_read, data.size, memory_order_relaxed);
    status = reading->visit(reading->context, piece);
    reading->stopped = status == VV_DONE;
    return status;
}

/* ---- runs ---- */

static int compare_entries(const void *a, const void *b)
{
    return memcmp(a, b, VV_COVER_SIZE);
}

static bool has_entry(const struct vv_buffer *list, const struct vv_piece *run, int64_t version)
{
    uint8_t key[VV_COVER_SIZE];
    vv_key_put_u64(key, run->run);
    vv_key_put_u32(key + 8, run->part);
    vv_key_put_u64(key + 12, (uint64_t)version);
    return list->size > 0 && bsearch(key, list->data, list->size / VV_COVER_SIZE, VV_COVER_SIZE,
                                     compare_entries) != NULL;
}

static bool is_in(const struct vv_buffer *list, const struct vv_piece *run)
{
    return has_entry(list, run, run->version) || has_entry(list, run, 0);
}

static void sort_entries(struct vv_buffer *list)
{
    if (list->size > 0) {
        qsort(list->data, list->size / VV_COVER_SIZE, VV_COVER_SIZE, compare_entries);
    }
}

static enum vv_status note_hidden(struct reading *reading, int64_t span, bool in_newest)
{
    struct hidden *last = reading->n_hidden > 0 ? &reading->hidden[reading->n_hidden - 1] : NULL;
    if (last && last->span == span) {
        last->in_newest &= in_newest;
        return VV_OK;
    }
    if (reading->n_hidden == reading->hidden_capacity) {
        size_t capacity = reading->hidden_capacity ? reading->hidden_capacity * 2 : 64;
        struct hidden *hidden = realloc(reading->hidden, capacity * sizeof *hidden);
        if (!hidden) {
            return vv_error_set(reading->error, VV_NO_MEMORY, "out of memory while reading");
        }
        reading->hidden = hidden;
        reading->hidden_capacity = capacity;
    }
    reading->hidden[reading->n_hidden++] =
        (struct hidden){.span = span, .cover = reading->cover, .in_newest = in_newest};
    return VV_OK;
}

/* Covers ascend by their seals, and come before the span's runs. */
static enum vv_status take_cover(struct reading *reading, int64_t span, int64_t seal,
                                 struct vvcql_bytes entries)
{
    if (span != reading->covers_span) {
        vv_buffer_clear(&reading->covers);
        vv_buffer_clear(&reading->newest);
        reading->covers_span = span;
    }
    if (reading->only_cover && seal != reading->cover_wanted) {
        return VV_OK;
    }
    vv_buffer_append(&reading->covers, reading->newest.data, reading->newest.size);
    vv_buffer_clear(&reading->newest);
    vv_buffer_append(&reading->newest, entries.data, entries.size - entries.size % VV_COVER_SIZE);
    reading->cover = seal;
    sort_entries(&reading->newest);
    sort_entries(&reading->covers);
    return reading->covers.failed ? VV_NO_MEMORY : vv_buffer_status(&reading->newest);
}

/* VV_DONE when all of the one span that is wanted was seen. */
static enum vv_status visit_run(struct reading *reading, struct vvcql_result *row)
{
    int64_t span_ms;
    int64_t run;
    int64_t part;
    struct vvcql_bytes ids = {0};
    struct vvcql_bytes data;
    if (!vvcql_get_bigint(row, 0, &span_ms) || !vvcql_get_bigint(row, 1, &run) ||
        !vvcql_get_bigint(row, 2, &part) || !vvcql_get_bytes(row, 4, &data)) {
        return vv_error_set(reading->error, VV_CORRUPT, "a row of runs is not as Varve writes it");
    }
    int64_t span = span_ms * VV_MILLISECOND;
    if (reading->only_cover && span != reading->only_span) {
        return VV_DONE;
    }
    if (vv_cassandra_to_stamp(run) == VV_CASSANDRA_COVERS) {
        return take_cover(reading, span, part, data);
    }
    struct vv_piece piece = {
        .kind = VV_PIECE_RUN, .run = vv_cassandra_to_stamp(run), .part = (uint32_t)part};
    piece.key.span_start = span;
    (void)vvcql_get_bytes(row, 3, &ids);
    (void)vvcql_get_bigint(row, 5, &piece.version);
    bool has_covers = span == reading->covers_span;
    bool in_newest = has_covers && is_in(&reading->newest, &piece);
    if (in_newest || (has_covers && is_in(&reading->covers, &piece))) {
        return reading->only_cover ? VV_OK : note_hidden(reading, span, in_newest);
    }
    return give(reading, &piece, ids, data);
}

/* Those of all pages. The first page is borrowed; NULL when it is still to be asked for. */
static enum vv_status walk_runs(struct reading *reading, int64_t from_ms,
                                struct vvcql_result *first)
{
    struct vv_answer_rows rows = {.answer = reading->answer,
                                  .prepared = vv_cassandra_read_runs(reading->answer),
                                  .from_ms = from_ms,
                                  .page_size = VV_CASSANDRA_RUNS_OF_A_PAGE};
    enum vv_status status = vv_answer_rows_begin(&rows, first, reading->error);
    while (status == VV_OK && rows.page) {
        atomic_fetch_add_explicit(&reading->store->rows_read, 1, memory_order_relaxed);
        status = visit_run(reading, rows.page);
        status = status == VV_OK ? vv_answer_rows_next(&rows, reading->error) : status;
    }
    vv_answer_rows_end(&rows);
    return status;
}

/* ---- blocks ---- */

static const struct winner *winner_of(const struct reading *reading, int64_t span)
{
    for (size_t i = reading->n_spans; i > 0; i--) {
        if (reading->spans[i - 1].span == span) {
            return &reading->spans[i - 1];
        }
    }
    return NULL;
}

static enum vv_status note_span(struct reading *reading, int64_t span, int64_t seal)
{
    if (reading->n_spans == reading->spans_capacity) {
        size_t capacity = reading->spans_capacity ? reading->spans_capacity * 2 : 64;
        struct winner *spans = realloc(reading->spans, capacity * sizeof *spans);
        if (!spans) {
            return vv_error_set(reading->error, VV_NO_MEMORY, "out of memory while reading");
        }
        reading->spans = spans;
        reading->spans_capacity = capacity;
    }
    reading->spans[reading->n_spans++] = (struct winner){span, seal};
    return VV_OK;
}

static enum vv_status give_removed(struct reading *reading, int64_t span, int64_t seal)
{
    struct vv_piece piece = {.kind = VV_PIECE_BLOCK, .version = seal, .bytes = {"", 0}};
    piece.key = (struct vv_span_key){.partition = reading->read->partition,
                                     .measurement = reading->read->measurement,
                                     .span_start = span};
    enum vv_status status = reading->visit(reading->context, &piece);
    reading->stopped = status == VV_DONE;
    return status;
}

/* To a head what is behind it, where more than heads are asked for. */
static enum vv_status add_tail(struct reading *reading, const struct vvcql_result *row,
                               struct vvcql_bytes *data)
{
    struct vvcql_bytes tail;
    bool is_asked = !reading->read->heads_only && !reading->answer->is_late;
    if (!is_asked || !vvcql_get_bytes(row, 6, &tail)) {
        return VV_OK;
    }
    vv_buffer_clear(&reading->whole);
    vv_buffer_append(&reading->whole, data->data, data->size);
    vv_buffer_append(&reading->whole, tail.data, tail.size);
    *data = (struct vvcql_bytes){reading->whole.data, reading->whole.size};
    return vv_buffer_status(&reading->whole);
}

/* VV_OVERLOAD here: a part is missing, read again. */
static enum vv_status visit_block(struct reading *reading, struct vvcql_result *row)
{
    int64_t span_ms;
    int64_t seal;
    int64_t part;
    int32_t parts = 0;
    struct vvcql_bytes ids = {0};
    struct vvcql_bytes data;
    if (!vvcql_get_bigint(row, 0, &span_ms) || !vvcql_get_bigint(row, 1, &seal) ||
        !vvcql_get_bigint(row, 2, &part) || !vvcql_get_bytes(row, 5, &data)) {
        return vv_error_set(reading->error, VV_CORRUPT,
                            "a row of blocks is not as Varve writes it");
    }
    int64_t span = span_ms * VV_MILLISECOND;
    bool goes_on = reading->in_span && reading->parts_left > 0 && span == reading->span &&
                   seal == reading->seal;
    if (!goes_on) {
        if (reading->in_span && reading->parts_left > 0) {
            return VV_OVERLOAD;
        }
        reading->in_span = false;
        bool is_older = reading->n_spans > 0 && reading->spans[reading->n_spans - 1].span == span;
        if (!vvcql_get_int(row, 3, &parts) || is_older) {
            return VV_OK; /* not whole, or older than what was given */
        }
        enum vv_status status = note_span(reading, span, seal);
        if (status != VV_OK || parts == 0) {
            return status == VV_OK && reading->read->tells_removed
                       ? give_removed(reading, span, seal)
                       : status;
        }
        reading->in_span = true;
        reading->span = span;
        reading->seal = seal;
        reading->parts_left = parts;
    }
    (void)vvcql_get_bytes(row, 4, &ids);
    struct vv_piece piece = {.kind = VV_PIECE_BLOCK, .part = (uint32_t)part, .version = seal};
    piece.key.span_start = span;
    reading->parts_left--;
    enum vv_status status = add_tail(reading, row, &data);
    return status == VV_OK ? give(reading, &piece, ids, data) : status;
}

static enum vv_status walk_blocks(struct reading *reading, int64_t from_ms, bool has_pages)
{
    struct vv_block_lanes lanes;
    struct vvcql_result *row;
    reading->in_span = false;
    enum vv_status status =
        vv_block_lanes_begin(&lanes, reading->answer, from_ms, has_pages, reading->error);
    while (status == VV_OK && (row = vv_block_lanes_row(&lanes))) {
        atomic_fetch_add_explicit(&reading->store->rows_read, 1, memory_order_relaxed);
        status = visit_block(reading, row);
        status = status == VV_OK ? vv_block_lanes_next(&lanes, reading->error) : status;
    }
    vv_block_lanes_end(&lanes);
    bool lacks_part = reading->in_span && reading->parts_left > 0;
    return status == VV_OK && lacks_part ? VV_OVERLOAD : status;
}

/* Parts that were given twice do no harm: they are the same points. */
static enum vv_status read_blocks(struct reading *reading)
{
    bool has_pages = true;
    enum vv_status status = VV_OVERLOAD;
    reading->span = reading->read->span_from;
    for (int again = 0; status == VV_OVERLOAD && !reading->stopped && again < AGAIN_MAX; again++) {
        status = walk_blocks(reading, vv_cassandra_ms_from(reading->span), has_pages);
        if (status == VV_OVERLOAD) {
            has_pages = false;
            reading->n_spans -=
                reading->n_spans > 0 && reading->spans[reading->n_spans - 1].span == reading->span;
        }
    }
    return status;
}

/* What can't be read now is still there: the reader may come again. */
enum vv_status vv_cassandra_put_off(enum vv_status status)
{
    return status == VV_IO ? VV_OVERLOAD : status;
}

/* Runs that were left out for a cover of another block than the one that counts, which may not have
 * them in it: those that its own cover doesn't name are given. */
static enum vv_status give_hidden(struct reading *reading)
{
    enum vv_status status = VV_OK;
    for (size_t i = 0; i < reading->n_hidden && status == VV_OK; i++) {
        const struct hidden *hidden = &reading->hidden[i];
        const struct winner *winner = winner_of(reading, hidden->span);
        if (winner && winner->seal == hidden->cover && hidden->in_newest) {
            continue;
        }
        reading->only_cover = true;
        reading->only_span = hidden->span;
        reading->cover_wanted = winner ? winner->seal : VV_VERSION_NONE;
        reading->covers_span = INT64_MIN;
        status = walk_runs(reading, vv_cassandra_ms(hidden->span), NULL);
        status = status == VV_DONE && !reading->stopped ? VV_OK : status;
    }
    return status;
}

static enum vv_status visit_answer(struct reading *reading)
{
    struct vv_store_answer *answer = reading->answer;
    enum vv_status status =
        walk_runs(reading, vv_cassandra_ms_from(reading->read->span_from), answer->runs);
    status = status == VV_OK ? read_blocks(reading) : status;
    return status == VV_OK ? give_hidden(reading) : status;
}

enum vv_status vv_cassandra_visit_read(struct vv_store_answer *answer, vv_piece_visit visit,
                                       void *context, struct vv_error *error)
{
    struct reading reading = {.covers_span = INT64_MIN,
                              .store = answer->store,
                              .answer = answer,
                              .read = &answer->read,
                              .visit = visit,
                              .context = context,
                              .error = error};
    enum vv_status status = vv_cassandra_wait_answer(answer, error);
    if (status == VV_OK && answer->runs) {
        status = visit_answer(&reading);
    }
    if (status == VV_OK) {
        status = vv_cassandra_visit_rows(answer, visit, context, error);
        reading.stopped = status == VV_DONE;
    }
    if (status == VV_OK || status == VV_IO) { /* what is parked is there, whatever is away */
        enum vv_status given = vv_parked_give(&answer->parked, visit, context);
        reading.stopped = reading.stopped || (status == VV_OK && given == VV_DONE);
        status = status == VV_OK || (given != VV_OK && given != VV_DONE) ? given : status;
    }
    vv_buffer_deinit(&reading.numbers);
    vv_buffer_deinit(&reading.renumbered);
    vv_buffer_deinit(&reading.whole);
    vv_buffer_deinit(&reading.newest);
    vv_buffer_deinit(&reading.covers);
    free(reading.hidden);
    free(reading.spans);
    return reading.stopped ? VV_OK : vv_cassandra_put_off(status);
}

enum vv_status vv_cassandra_read(struct vv_store *base, const struct vv_store_read *read,
                                 vv_piece_visit visit, void *context, struct vv_error *error)
{
    struct vv_store_answer *answer;
    enum vv_status status = vv_cassandra_begin_read(base, read, &answer, error);
    if (status == VV_OK) {
        status = vv_cassandra_visit_read(answer, visit, context, error);
        vv_cassandra_end_read(answer);
    }
    return status;
}
