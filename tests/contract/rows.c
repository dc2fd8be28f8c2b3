/* SPDX-License-Identifier: Apache-2.0 */
/* Single values: as pieces on their way in and out, and as rows of CQL. */
#include "rows.h"

#include "cql/session.h"
#include "model/merge.h"
#include "model/piece.h"

#include <inttypes.h>
#include <string.h>

#define SPAN   VV_HOUR
#define BUCKET VV_DAY

/* ---- lists */

void values_free(struct values *values)
{
    free(values->items);
    *values = (struct values){0};
}

void values_add(struct values *values, struct value value)
{
    if (values->n == values->capacity) {
        values->capacity = values->capacity ? values->capacity * 2 : 64;
        values->items = realloc(values->items, values->capacity * sizeof *values->items);
        assert_non_null(values->items);
    }
    values->items[values->n++] = value;
}

void values_merge(struct values *values, struct value value)
{
    for (size_t i = 0; i < values->n; i++) {
        struct value *item = &values->items[i];
        if (item->time == value.time && item->metric == value.metric) {
            *item = value.stamp > item->stamp ? value : *item;
            return;
        }
    }
    values_add(values, value);
}

static int compare_values(const void *a, const void *b)
{
    const struct value *x = a;
    const struct value *y = b;
    if (x->metric != y->metric) {
        return x->metric < y->metric ? -1 : 1;
    }
    if (x->time != y->time) {
        return x->time < y->time ? -1 : 1;
    }
    return x->stamp < y->stamp ? -1 : x->stamp > y->stamp;
}

void values_sort(struct values *values)
{
    if (values->n > 1) {
        qsort(values->items, values->n, sizeof *values->items, compare_values);
    }
}

/* Of several for one point the last, which has the highest stamp. */
static void keep_newest(struct values *values)
{
    size_t kept = 0;
    values_sort(values);
    for (size_t i = 0; i < values->n; i++) {
        bool last = i + 1 == values->n || values->items[i].metric != values->items[i + 1].metric ||
                    values->items[i].time != values->items[i + 1].time;
        if (last) {
            values->items[kept++] = values->items[i];
        }
    }
    values->n = kept;
}

void values_expect(struct values *found, struct values *expected)
{
    values_sort(found);
    values_sort(expected);
    for (size_t i = 0; i < found->n && i < expected->n; i++) {
        struct value a = found->items[i];
        struct value b = expected->items[i];
        if (a.time != b.time || a.metric != b.metric || a.bits != b.bits ||
            vv_stamp_clock_us(a.stamp) != vv_stamp_clock_us(b.stamp)) {
            fail_msg("value %zu: found %" PRId64 " f%u %016" PRIx64 " %" PRIu64
                     ", expected %" PRId64 " f%u %016" PRIx64 " %" PRIu64,
                     i, a.time, a.metric, a.bits, vv_stamp_clock_us(a.stamp), b.time, b.metric,
                     b.bits, vv_stamp_clock_us(b.stamp));
        }
    }
    assert_int_equal(found->n, expected->n);
}

/* ---- in */

static size_t column_of(struct vv_rows *rows, uint32_t metric)
{
    size_t i = 0;
    while (i < rows->n_columns && rows->columns[i].metric != metric) {
        i++;
    }
    if (i == rows->n_columns) {
        rows->n_columns++;
        rows->columns[i].metric = metric;
        rows->columns[i].type = metric % 2 == 0 ? VV_FLOAT64 : VV_INT64;
    }
    return i;
}

static int compare_rows(const void *a, const void *b)
{
    const struct value *x = a;
    const struct value *y = b;
    if (x->time != y->time) {
        return x->time < y->time ? -1 : 1;
    }
    return x->stamp < y->stamp ? -1 : x->stamp > y->stamp;
}

static void put_part(struct contract *contract, const struct vv_span_key *key, vv_stamp run,
                     uint32_t part, const struct value *values, size_t n)
{
    struct vv_rows rows;
    struct vv_piece_encoder encoder = {.options = {.zstd_level = 0}};
    struct vv_piece piece = {.kind = VV_PIECE_RUN, .key = *key, .run = run, .part = part};
    assert_ok(vv_rows_alloc(n, 256, &rows));
    rows.n_columns = 0;
    size_t row = 0;
    for (size_t i = 0; i < n; i++) {
        row += i > 0 &&
               (values[i].time != values[i - 1].time || values[i].stamp != values[i - 1].stamp);
        rows.times[row] = values[i].time;
        rows.stamps[row] = values[i].stamp;
        size_t column = column_of(&rows, values[i].metric);
        assert_true(rows.n_columns <= 256);
        assert_false(vv_column_has(&rows.columns[column], row));
        rows.columns[column].values[row] = values[i].bits;
        vv_column_mark(&rows.columns[column], row);
    }
    assert_ok(vv_piece_encode(&encoder, &rows, 0, row + 1, &piece.bytes, NULL));
    assert_ok(contract->store->ops->put_run(contract->store, &piece, NULL));
    vv_piece_encoder_deinit(&encoder);
    rows.n_columns = 256;
    vv_rows_free(&rows);
}

void put_values(struct contract *contract, uint32_t tenant, uint32_t source, vv_stamp run,
                const struct value *values, size_t n)
{
    struct value *sorted = calloc(n, sizeof *sorted);
    assert_non_null(sorted);
    memcpy(sorted, values, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, compare_rows);
    for (size_t first = 0, end; first < n; first = end) {
        int64_t time = sorted[first].time;
        struct vv_span_key key = {
            {tenant, source, vv_time_floor(time, BUCKET), BUCKET, 0, 0},
            sorted[first].metric / 100 + 1,
            vv_time_floor(time, SPAN),
        };
        for (end = first + 1; end < n && vv_time_floor(sorted[end].time, SPAN) == key.span_start;) {
            end++;
        }
        put_part(contract, &key, run, 0, sorted + first, end - first);
    }
    free(sorted);
}

/* ---- out */

struct reading {
    const struct vv_store_read *read;
    struct values *values;
};

static void collect_column(struct reading *reading, const struct vv_block *block, uint32_t index,
                           const int64_t *times, const uint64_t *stamps)
{
    struct vv_block_column column;
    uint64_t *values = calloc(block->n_rows, sizeof *values);
    uint8_t *present = calloc((block->n_rows + 7) / 8, 1);
    assert_true(values && present);
    assert_int_equal(vv_block_column_info(block, index, &column), VV_BLOCK_OK);
    assert_int_equal(vv_block_values(block, index, values, present), VV_BLOCK_OK);
    assert_int_equal(column.type, column.metric % 2 == 0 ? VV_FLOAT64 : VV_INT64);
    for (uint32_t row = 0; row < block->n_rows; row++) {
        if (present[row >> 3] >> (row & 7) & 1) {
            values_add(reading->values,
                       (struct value){times[row], column.metric, values[row], stamps[row]});
        }
    }
    free(values);
    free(present);
}

static enum vv_status collect(void *context, const struct vv_piece *piece)
{
    struct reading *reading = context;
    const struct vv_store_read *read = reading->read;
    struct vv_block block;
    assert_int_equal(vv_block_open((const uint8_t *)piece->bytes.data, piece->bytes.size, &block),
                     VV_BLOCK_OK);
    assert_int_equal(piece->key.measurement, read->measurement);
    assert_true(piece->key.span_start >= read->span_from && piece->key.span_start < read->span_to);
    assert_int_equal(vv_time_floor(block.time_min, SPAN), piece->key.span_start);
    assert_int_equal(vv_time_floor(block.time_max, SPAN), piece->key.span_start);
    assert_true(block.n_rows > 0 && block.n_rows <= 4096);
    int64_t *times = calloc(block.n_rows, sizeof *times);
    uint64_t *stamps = calloc(block.n_rows, sizeof *stamps);
    assert_true(times && stamps);
    assert_int_equal(vv_block_times(&block, times), VV_BLOCK_OK);
    assert_int_equal(vv_block_stamps(&block, stamps), VV_BLOCK_OK);
    for (uint32_t i = 0; i < block.n_columns; i++) {
        collect_column(reading, &block, i, times, stamps);
    }
    free(times);
    free(stamps);
    reading->values->pieces++;
    reading->values->blocks += piece->kind == VV_PIECE_BLOCK;
    return VV_OK;
}

void read_values(struct contract *contract, uint32_t tenant, uint32_t source, int64_t day,
                 uint32_t measurement, int64_t from, int64_t to, struct values *values)
{
    const struct vv_store_read read = {.partition = partition_of(tenant, source, day),
                                       .measurement = measurement,
                                       .span_from = vv_time_floor(from, SPAN),
                                       .span_to = to,
                                       .span_ns = SPAN};
    struct reading reading = {&read, values};
    size_t kept = 0;
    *values = (struct values){0};
    assert_ok(contract->store->ops->read(contract->store, &read, collect, &reading, NULL));
    keep_newest(values);
    for (size_t i = 0; i < values->n; i++) {
        if (values->items[i].time >= from && values->items[i].time < to) {
            values->items[kept++] = values->items[i];
        }
    }
    values->n = kept;
}

static enum vv_status count_piece(void *context, const struct vv_piece *piece)
{
    (void)piece;
    ++*(size_t *)context;
    return VV_OK;
}

size_t count_pieces(struct contract *contract, const struct vv_span_key *key)
{
    const struct vv_store_read read = {.partition = key->partition,
                                       .measurement = key->measurement,
                                       .span_from = key->span_start,
                                       .span_to = key->span_start + 1};
    size_t n = 0;
    assert_ok(contract->store->ops->read(contract->store, &read, count_piece, &n, NULL));
    return n;
}

/* ---- CQL */

static void add_field(struct vvcql_result *row, size_t column, char *text, size_t size)
{
    size_t used = strlen(text);
    struct vvcql_bytes bytes;
    int64_t number;
    int32_t small;
    int16_t smaller;
    double real;
    switch (vvcql_column_type(row, column)) {
    case VVCQL_TYPE_DOUBLE:
        if (vvcql_get_double(row, column, &real)) {
            snprintf(text + used, size - used, "%g", real);
        }
        return;
    case VVCQL_TYPE_BIGINT:
    case VVCQL_TYPE_TIMESTAMP:
        if (vvcql_get_bigint(row, column, &number)) {
            snprintf(text + used, size - used, "%" PRId64, number);
        }
        return;
    case VVCQL_TYPE_INT:
        if (vvcql_get_int(row, column, &small)) {
            snprintf(text + used, size - used, "%d", small);
        }
        return;
    case VVCQL_TYPE_SMALLINT:
        if (vvcql_get_smallint(row, column, &smaller)) {
            snprintf(text + used, size - used, "%d", smaller);
        }
        return;
    default:
        if (vvcql_get_bytes(row, column, &bytes)) {
            snprintf(text + used, size - used, "%.*s", (int)bytes.size, (const char *)bytes.data);
        }
    }
}

const char *cql_table_text(uint32_t tenant, const char *table, const char *columns)
{
    char cql[512];
    static char text[8192];
    const struct vvcql_options options = {.contact_points = contract_contact_points()};
    struct vvcql_session *session;
    struct vvcql_error error;
    struct vvcql_result *result;
    snprintf(cql, sizeof cql, "SELECT %s FROM varve.%s WHERE tenant = '%.*s' ALLOW FILTERING",
             columns, table, VV_STR_ARG(contract_tenant_name(tenant)));
    assert_int_equal(vvcql_session_open(&options, false, &session, &error), VVCQL_OK);
    if (vvcql_wait(session, vvcql_statement_create(cql), &result, &error) != VVCQL_OK) {
        fail_msg("%s: %s", cql, error.message);
    }
    text[0] = '\0';
    while (vvcql_next_row(result)) {
        for (size_t i = 0; i < vvcql_result_columns(result); i++) {
            strcat(text, i > 0 ? "," : text[0] ? " " : "");
            add_field(result, i, text, sizeof text - 2);
        }
    }
    vvcql_result_destroy(result);
    vvcql_session_close(session);
    return text;
}

const char *cql_text(uint32_t tenant, const char *class_name, const char *columns)
{
    char table[64];
    snprintf(table, sizeof table, "rows_%s", class_name);
    return cql_table_text(tenant, table, columns);
}
