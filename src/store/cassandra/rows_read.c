/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading values that are kept as rows: they come from the newest to the oldest, are gathered, and
 * given as runs of bounded size, each of one span and ascending in itself.
 *
 * A partition has all measurements of its source, and a row has its metric as text. What a text
 * stands for is looked up once for each read; as metrics ascend within a time, the next one is
 * mostly the one that followed the last time.
 */
#include "store/cassandra/row_lanes.h"

#include "model/merge.h"
#include "model/piece.h"

#include <stdlib.h>

#define ROWS_OF_A_PAGE  2000
#define PIECE_ROWS_MAX  4096
#define PIECE_CELLS_MAX (128u << 10) /* rows × columns */
#define NONE            UINT32_MAX

/* What a text of a metric stands for. */
struct known {
    struct vv_str name;
    uint32_t metric; /* NONE: not of this measurement, or not known to this node */
    enum vv_value_type type;
    uint32_t column; /* of the piece that is gathered; NONE: it has none yet */
};

struct place { /* of a column in the piece */
    uint32_t metric;
    enum vv_value_type type;
};

struct cell {
    int64_t time;
    vv_stamp stamp;
    uint64_t bits;
    uint32_t column;
};

struct rows_reading {
    struct vv_cassandra *store;
    const struct vv_store_answer *answer;
    const struct vv_store_read *read;
    int64_t from; /* [from, to), within the bucket */
    int64_t to;
    int64_t span; /* of the piece that is gathered */
    struct vv_rows_kept *kept;
    vv_piece_visit visit;
    void *context;
    struct vv_error *error;
    struct vv_arena arena; /* names */
    struct known *known;   /* ascending by name */
    size_t n_known;
    size_t known_capacity;
    size_t next_known; /* the one that comes next, as a rule */
    /* The piece that is gathered, descending in time. */
    struct cell *cells;
    size_t n_cells;
    size_t cells_capacity;
    size_t n_rows; /* at most */
    struct place columns[VV_BLOCK_COLUMNS_MAX];
    size_t n_columns;
    struct vv_piece_encoder encoder;
    uint32_t part;
};

static enum vv_status no_memory(struct rows_reading *reading)
{
    return vv_error_set(reading->error, VV_NO_MEMORY, "out of memory while reading");
}

/* ---- giving a piece ---- */

static int compare_stamps(const void *a, const void *b)
{
    const struct cell *x = a;
    const struct cell *y = b;
    return x->stamp < y->stamp ? -1 : x->stamp > y->stamp;
}

static bool same_row(const struct cell *a, const struct cell *b)
{
    return a->time == b->time && a->stamp == b->stamp;
}

/* Turns the cells around and brings those of one time in the order of their stamps; returns how
 * many rows they make. */
static size_t order_cells(struct cell *cells, size_t n)
{
    for (size_t i = 0; i < n / 2; i++) {
        struct cell one = cells[i];
        cells[i] = cells[n - 1 - i];
        cells[n - 1 - i] = one;
    }
    size_t n_rows = 0;
    for (size_t first = 0, end; first < n; first = end) {
        bool mixed = false;
        for (end = first + 1; end < n && cells[end].time == cells[first].time; end++) {
            mixed = mixed || cells[end].stamp != cells[first].stamp;
        }
        if (mixed) {
            qsort(cells + first, end - first, sizeof *cells, compare_stamps);
        }
        n_rows++;
        for (size_t i = first + 1; mixed && i < end; i++) {
            n_rows += !same_row(&cells[i], &cells[i - 1]);
        }
    }
    return n_rows;
}

/* Returns the highest stamp. */
static vv_stamp fill_rows(const struct rows_reading *reading, struct vv_rows *rows)
{
    vv_stamp highest = 0;
    for (size_t i = 0; i < reading->n_columns; i++) {
        rows->columns[i].metric = reading->columns[i].metric;
        rows->columns[i].type = reading->columns[i].type;
    }
    for (size_t i = 0, row = 0; i < reading->n_cells; i++) {
        const struct cell *cell = &reading->cells[i];
        row += i > 0 && !same_row(cell, cell - 1);
        rows->times[row] = cell->time;
        rows->stamps[row] = cell->stamp;
        rows->columns[cell->column].values[row] = cell->bits;
        vv_column_mark(&rows->columns[cell->column], row);
        highest = cell->stamp > highest ? cell->stamp : highest;
    }
    return highest;
}

static enum vv_status give(struct rows_reading *reading)
{
    struct vv_rows rows;
    size_t n_rows = order_cells(reading->cells, reading->n_cells);
    if (n_rows == 0) {
        return VV_OK;
    }
    if (vv_rows_alloc(n_rows, reading->n_columns, &rows) != VV_OK) {
        return no_memory(reading);
    }
    struct vv_piece piece = {.kind = VV_PIECE_RUN, .part = reading->part++};
    piece.key.partition = reading->read->partition;
    piece.key.measurement = reading->read->measurement;
    piece.key.span_start = reading->span;
    piece.run = fill_rows(reading, &rows);
    enum vv_status status =
        vv_piece_encode(&reading->encoder, &rows, 0, n_rows, &piece.bytes, reading->error);
    vv_rows_free(&rows);
    if (status == VV_OK) {
        vv_rows_kept_add(reading->kept, &piece);
        status = reading->visit(reading->context, &piece);
    }
    reading->n_cells = reading->n_rows = reading->n_columns = 0;
    for (size_t i = 0; i < reading->n_known; i++) {
        reading->known[i].column = NONE;
    }
    return status;
}

/* ---- metrics ---- */

static enum vv_status learn(struct rows_reading *reading, size_t at, struct vv_str name)
{
    const struct vv_store_names *names = &reading->store->names;
    if (reading->n_known == reading->known_capacity) {
        size_t capacity = reading->known_capacity ? reading->known_capacity * 2 : 64;
        struct known *known = realloc(reading->known, capacity * sizeof *known);
        if (!known) {
            return no_memory(reading);
        }
        reading->known = known;
        reading->known_capacity = capacity;
    }
    struct known one = {.name = vv_arena_str(&reading->arena, name), .column = NONE};
    if (!one.name.data) {
        return no_memory(reading);
    }
    uint32_t measurement = NONE;
    if (!names->metric_named(names->context, reading->read->partition.tenant, name, &one.metric) ||
        names->field(names->context, one.metric, &measurement, &one.type).size == 0 ||
        measurement != reading->read->measurement) {
        one.metric = NONE;
    }
    memmove(&reading->known[at + 1], &reading->known[at], (reading->n_known - at) * sizeof one);
    reading->known[at] = one;
    reading->n_known++;
    return VV_OK;
}

/* The index of the name, which is made known if it is not. */
static enum vv_status look_up(struct rows_reading *reading, struct vv_str name, size_t *index_out)
{
    size_t low = 0;
    size_t high = reading->n_known;
    if (reading->next_known < high &&
        vv_str_equal(reading->known[reading->next_known].name, name)) {
        *index_out = reading->next_known;
        return VV_OK;
    }
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = vv_str_compare(reading->known[middle].name, name);
        if (order == 0) {
            *index_out = middle;
            return VV_OK;
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    *index_out = low;
    return learn(reading, low, name);
}

/* ---- a row ---- */

/* The bits as of the metric's own type. Another one is there when nodes have made the metric at the
 * same time; what can't be said in its own type is left out. */
static bool convert(uint64_t *bits, enum vv_value_type from, enum vv_value_type to)
{
    double value;
    if (from == to) {
        return true;
    }
    if (to == VV_FLOAT64) {
        value = (double)(int64_t)*bits;
        memcpy(bits, &value, sizeof value);
        return true;
    }
    memcpy(&value, bits, sizeof value);
    if (!(value >= -0x1p63 && value < 0x1p63) || (double)(int64_t)value != value) {
        return false;
    }
    *bits = (uint64_t)(int64_t)value;
    return true;
}

/* Whoever writes by hand may give any CQL timestamp. */
static vv_stamp stamp_of(int64_t us)
{
    const int64_t most = (INT64_C(1) << (64 - VV_STAMP_NODE_BITS)) - 1;
    us = us < 0 ? 0 : us;
    return vv_stamp_make((uint64_t)(us > most ? most : us), 0);
}

/* The value and its stamp, of two columns the later one; false when none is set. */
static bool get_value(const struct vv_value_row *row, struct cell *cell,
                      enum vv_value_type *type_out)
{
    const struct vv_row_value *of_float = &row->values[VV_ROW_FLOAT64];
    const struct vv_row_value *of_int = &row->values[VV_ROW_INT64];
    bool is_int = of_int->is_set && (!of_float->is_set || of_int->us > of_float->us);
    const struct vv_row_value *value = is_int ? of_int : of_float;
    cell->bits = value->bits;
    cell->stamp = stamp_of(value->us);
    *type_out = is_int ? VV_INT64 : VV_FLOAT64;
    return value->is_set;
}

static enum vv_status gather(struct rows_reading *reading, struct known *known, struct cell *cell)
{
    bool new_row = reading->n_cells == 0 || !same_row(cell, &reading->cells[reading->n_cells - 1]);
    size_t n_rows = reading->n_rows + new_row;
    size_t n_columns = reading->n_columns + (known->column == NONE);
    int64_t span = vv_time_floor(cell->time, reading->read->span_ns);
    if (span != reading->span || n_rows > PIECE_ROWS_MAX || n_columns > VV_BLOCK_COLUMNS_MAX ||
        (n_rows > 1 && n_rows * n_columns > PIECE_CELLS_MAX)) {
        enum vv_status status = give(reading);
        if (status != VV_OK) {
            return status;
        }
        n_rows = 1;
    }
    reading->span = span;
    if (reading->n_cells == reading->cells_capacity) {
        size_t capacity = reading->cells_capacity ? reading->cells_capacity * 2 : 1024;
        struct cell *cells = realloc(reading->cells, capacity * sizeof *cells);
        if (!cells) {
            return no_memory(reading);
        }
        reading->cells = cells;
        reading->cells_capacity = capacity;
    }
    if (known->column == NONE) {
        known->column = (uint32_t)reading->n_columns++;
        reading->columns[known->column] = (struct place){known->metric, known->type};
    }
    cell->column = known->column;
    reading->cells[reading->n_cells++] = *cell;
    reading->n_rows = n_rows;
    return VV_OK;
}

static enum vv_status visit_row(struct rows_reading *reading, const struct vv_value_row *row)
{
    struct cell cell = {.time = row->time};
    enum vv_value_type type;
    if (cell.time < reading->from || cell.time >= reading->to || !get_value(row, &cell, &type)) {
        return VV_OK;
    }
    size_t index;
    enum vv_status status = look_up(reading, row->metric, &index);
    if (status != VV_OK) {
        return status;
    }
    reading->next_known = index + 1 < reading->n_known ? index + 1 : 0;
    struct known *known = &reading->known[index];
    if (known->metric == NONE || !convert(&cell.bits, type, known->type)) {
        return VV_OK;
    }
    return gather(reading, known, &cell);
}

/* ---- pages ---- */

/* What of the read lies in its bucket, [from, to). */
static int64_t from_of(const struct vv_store_read *read)
{
    int64_t start = read->partition.bucket_start;
    return read->span_from > start ? read->span_from : start;
}

static int64_t to_of(const struct vv_store_read *read)
{
    int64_t end = read->partition.bucket_start + read->partition.bucket_ns;
    return read->span_to < end ? read->span_to : end;
}

struct vvcql_statement *vv_cassandra_rows_question(const struct vv_store_answer *answer,
                                                   uint8_t class, enum vv_status *status_out,
                                                   struct vv_error *error)
{
    const struct vv_store_read *read = &answer->read;
    struct vvcql_statement *statement = vvcql_statement_prepared(answer->view->read_values[class]);
    int64_t first = vv_time_floor(from_of(read), VV_MILLISECOND);
    int64_t last = vv_time_floor(to_of(read) - 1, VV_MILLISECOND);
    *status_out =
        vv_cassandra_add_rows_partition(answer->store, statement, &read->partition, error);
    vvcql_add_timestamp(statement, vv_cassandra_ms(first));
    vvcql_add_timestamp(statement, vv_cassandra_ms(last));
    vvcql_set_page_size(statement, ROWS_OF_A_PAGE);
    vvcql_set_idempotent(statement, true);
    return statement;
}

static enum vv_status visit_lanes(struct rows_reading *reading, struct vv_store_answer *answer)
{
    struct vv_row_lanes lanes;
    enum vv_status status = vv_row_lanes_begin(&lanes, answer, reading->error);
    vv_rows_kept_begin(&answer->kept);
    for (const struct vv_value_row *row; status == VV_OK && (row = vv_row_lanes_row(&lanes));) {
        status = visit_row(reading, row);
        status = status == VV_OK ? vv_row_lanes_next(&lanes, reading->error) : status;
    }
    vv_row_lanes_end(&lanes);
    return status == VV_OK ? give(reading) : status;
}

/* The pages go when their pieces are kept. */
static enum vv_status visit_all(struct rows_reading *reading, struct vv_store_answer *answer)
{
    enum vv_status status = visit_lanes(reading, answer);
    if (status != VV_OK) {
        return status;
    }
    vv_rows_kept_end(&answer->kept);
    for (uint32_t i = 0; i < answer->classes.n && answer->kept.is_whole; i++) {
        vvcql_result_destroy(answer->rows[i]);
        answer->rows[i] = NULL;
    }
    return VV_OK;
}

enum vv_status vv_cassandra_visit_rows(struct vv_store_answer *answer, vv_piece_visit visit,
                                       void *context, struct vv_error *error)
{
    if ((answer->classes.layouts & VV_LAYOUT_ROWS) == 0) {
        return VV_OK;
    }
    if (answer->kept.is_whole) {
        return vv_rows_kept_visit(&answer->kept, &answer->read, visit, context);
    }
    struct rows_reading *reading = calloc(1, sizeof *reading);
    if (!reading) {
        return vv_error_set(error, VV_NO_MEMORY, "out of memory while reading");
    }
    reading->store = answer->store;
    reading->answer = answer;
    reading->read = &answer->read;
    reading->from = from_of(&answer->read);
    reading->to = to_of(&answer->read);
    reading->kept = &answer->kept;
    reading->visit = visit;
    reading->context = context;
    reading->error = error;
    enum vv_status status = visit_all(reading, answer);
    vv_piece_encoder_deinit(&reading->encoder);
    vv_arena_deinit(&reading->arena);
    free(reading->cells);
    free(reading->known);
    free(reading);
    return status;
}
