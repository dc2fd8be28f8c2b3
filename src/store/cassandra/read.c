/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a partition: first the runs with their covers, page by page, then the blocks of the
 * tenant's classes, the present one first.
 *
 * Of a span's blocks the highest seal that is whole counts: rows descend by seal, and a seal whose
 * first part is there, with the number of parts, is whole. A page may end inside a seal that is
 * deleted meanwhile; a missing part is noticed, and the class is read again from that span on.
 */
#include "store/cassandra/answer.h"

#include "store/keys.h"

#include <stdlib.h>

#define COVER_SIZE 12 /* run 8, part 4, big-endian */
#define AGAIN_MAX  16

struct reading {
    struct vv_cassandra *store;
    struct vv_store_answer *answer;
    const struct vv_store_read *read;
    vv_piece_visit visit;
    void *context;
    struct vv_error *error;
    struct vv_buffer numbers; /* of a piece's columns */
    struct vv_buffer renumbered;
    /* Runs. */
    int64_t covers_span;
    struct vv_buffer covers;
    bool covers_sorted;
    /* Blocks. */
    int64_t *spans; /* whose blocks were given, by this or an earlier class; ascending by class */
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
        return vv_error_set(reading->error, VV_CORRUPT,
                            "a piece has a metric that this node does not know");
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

/* ---- pages ---- */

typedef enum vv_status (*row_visit)(struct reading *reading, struct vvcql_result *row);

static enum vv_status visit_rows(struct reading *reading, struct vvcql_result *page,
                                 row_visit visit)
{
    enum vv_status status = VV_OK;
    while (status == VV_OK && vvcql_next_row(page)) {
        atomic_fetch_add_explicit(&reading->store->rows_read, 1, memory_order_relaxed);
        status = visit(reading, page);
    }
    return status;
}

/* Asks for a page, the one after `before` unless that is NULL. */
static enum vv_status ask_page(struct reading *reading, const struct vvcql_prepared *prepared,
                               int64_t from_ms, int32_t page_size,
                               const struct vvcql_result *before, struct vvcql_result **page_out)
{
    enum vv_status status;
    struct vvcql_statement *statement = vv_cassandra_question(reading->answer, prepared, from_ms,
                                                              page_size, &status, reading->error);
    if (status != VV_OK) {
        vvcql_statement_destroy(statement);
        return status;
    }
    if (before) {
        struct vvcql_bytes state = vvcql_result_paging_state(before);
        vvcql_set_paging_state(statement, state.data, state.size);
    }
    return vv_cassandra_ask(reading->store, &statement, 1, page_out, reading->error);
}

/* Each row of all pages to `visit`. The first page is borrowed; NULL when it is still to be asked
 * for. */
static enum vv_status walk(struct reading *reading, const struct vvcql_prepared *prepared,
                           int64_t from_ms, int32_t page_size, struct vvcql_result *first,
                           row_visit visit)
{
    struct vvcql_result *own = NULL;
    enum vv_status status = VV_OK;
    if (first) {
        vvcql_rewind(first);
    } else {
        status = ask_page(reading, prepared, from_ms, page_size, NULL, &own);
    }
    for (struct vvcql_result *page = first ? first : own; status == VV_OK; page = own) {
        status = visit_rows(reading, page, visit);
        if (status != VV_OK || vvcql_result_paging_state(page).size == 0) {
            break;
        }
        struct vvcql_result *next;
        status = ask_page(reading, prepared, from_ms, page_size, page, &next);
        if (status == VV_OK) {
            vvcql_result_destroy(own);
            own = next;
        }
    }
    vvcql_result_destroy(own);
    return status;
}

/* ---- runs ---- */

static int compare_covers(const void *a, const void *b)
{
    return memcmp(a, b, COVER_SIZE);
}

static bool is_covered(struct reading *reading, const struct vv_piece *run)
{
    if (reading->covers.size == 0 || reading->covers_span != run->key.span_start) {
        return false;
    }
    if (!reading->covers_sorted) {
        qsort(reading->covers.data, reading->covers.size / COVER_SIZE, COVER_SIZE, compare_covers);
        reading->covers_sorted = true;
    }
    uint8_t key[COVER_SIZE];
    vv_key_put_u64(key, run->run);
    vv_key_put_u32(key + 8, run->part);
    return bsearch(key, reading->covers.data, reading->covers.size / COVER_SIZE, COVER_SIZE,
                   compare_covers) != NULL;
}

/* Rows of a span's covers come before its runs. */
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
    (void)vvcql_get_bytes(row, 3, &ids);
    struct vv_piece piece = {
        .kind = VV_PIECE_RUN, .run = vv_cassandra_to_stamp(run), .part = (uint32_t)part};
    piece.key.span_start = span_ms * VV_MILLISECOND;
    if (piece.run != VV_CASSANDRA_COVERS) {
        return is_covered(reading, &piece) ? VV_OK : give(reading, &piece, ids, data);
    }
    if (piece.key.span_start != reading->covers_span) {
        vv_buffer_clear(&reading->covers);
    }
    reading->covers_span = piece.key.span_start;
    reading->covers_sorted = false;
    vv_buffer_append(&reading->covers, data.data, data.size - data.size % COVER_SIZE);
    return vv_buffer_status(&reading->covers);
}

/* ---- blocks ---- */

static bool was_given(const struct reading *reading, int64_t span)
{
    for (size_t i = reading->n_spans; i > 0; i--) {
        if (reading->spans[i - 1] == span) {
            return true;
        }
    }
    return false;
}

static enum vv_status note_span(struct reading *reading, int64_t span)
{
    if (reading->n_spans == reading->spans_capacity) {
        size_t capacity = reading->spans_capacity ? reading->spans_capacity * 2 : 64;
        int64_t *spans = realloc(reading->spans, capacity * sizeof *spans);
        if (!spans) {
            return vv_error_set(reading->error, VV_NO_MEMORY, "out of memory while reading");
        }
        reading->spans = spans;
        reading->spans_capacity = capacity;
    }
    reading->spans[reading->n_spans++] = span;
    return VV_OK;
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
    bool goes_on = reading->in_span && span == reading->span && seal == reading->seal;
    if (!goes_on) {
        if (reading->in_span && reading->parts_left > 0) {
            return VV_OVERLOAD;
        }
        reading->in_span = false;
        if (!vvcql_get_int(row, 3, &parts) || was_given(reading, span)) {
            return VV_OK; /* not whole, or older than what was given */
        }
        enum vv_status status = note_span(reading, span);
        if (status != VV_OK || parts == 0) {
            return status;
        }
        reading->in_span = true;
        reading->span = span;
        reading->seal = seal;
        reading->parts_left = parts;
    }
    (void)vvcql_get_bytes(row, 4, &ids);
    struct vv_piece piece = {.kind = VV_PIECE_BLOCK, .part = (uint32_t)part};
    piece.key.span_start = span;
    reading->parts_left--;
    return give(reading, &piece, ids, data);
}

/* Parts that were given twice do no harm: they are the same points. */
static enum vv_status read_class(struct reading *reading, uint32_t index)
{
    struct vv_store_answer *answer = reading->answer;
    const struct vv_class *class = &reading->store->classes[answer->classes.classes[index]];
    struct vvcql_result *first = answer->has_blocks ? answer->blocks[index] : NULL;
    int64_t from_ms = vv_cassandra_ms_from(reading->read->span_from);
    enum vv_status status = VV_OVERLOAD;
    for (int again = 0; status == VV_OVERLOAD && !reading->stopped && again < AGAIN_MAX; again++) {
        reading->in_span = false;
        status = walk(reading, class->read_blocks, from_ms, VV_CASSANDRA_BLOCKS_OF_A_PAGE, first,
                      visit_block);
        if (status == VV_OK && reading->in_span && reading->parts_left > 0) {
            status = VV_OVERLOAD;
        }
        if (status == VV_OVERLOAD) {
            first = NULL;
            from_ms = vv_cassandra_ms(reading->span);
            reading->n_spans -=
                reading->n_spans > 0 && reading->spans[reading->n_spans - 1] == reading->span;
        }
    }
    return status;
}

/* What can't be read now is still there: the reader may come again. */
enum vv_status vv_cassandra_put_off(enum vv_status status)
{
    return status == VV_IO ? VV_OVERLOAD : status;
}

static enum vv_status visit_answer(struct reading *reading)
{
    struct vv_store_answer *answer = reading->answer;
    enum vv_status status =
        walk(reading, reading->store->read_runs, vv_cassandra_ms_from(reading->read->span_from),
             VV_CASSANDRA_RUNS_OF_A_PAGE, answer->runs, visit_run);
    for (uint32_t i = 0; i < answer->classes.n && status == VV_OK; i++) {
        status = read_class(reading, i);
    }
    return status;
}

enum vv_status vv_cassandra_visit_read(struct vv_store_answer *answer, vv_piece_visit visit,
                                       void *context, struct vv_error *error)
{
    struct reading reading = {.store = answer->store,
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
    vv_buffer_deinit(&reading.numbers);
    vv_buffer_deinit(&reading.renumbered);
    vv_buffer_deinit(&reading.covers);
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
