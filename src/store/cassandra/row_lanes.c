/* SPDX-License-Identifier: Apache-2.0 */
#include "store/cassandra/row_lanes.h"

/* Of the same time and metric 0; less than 0: a comes before b. */
static int compare(const struct vv_value_row *a, const struct vv_value_row *b)
{
    if (a->time != b->time) {
        return a->time > b->time ? -1 : 1;
    }
    return vv_str_compare(a->metric, b->metric);
}

/* The bytes of a value are compared as Cassandra does: unsigned, the first one the highest. */
static void take_value(struct vv_row_value *to, const struct vv_row_value *from)
{
    if (from->is_set &&
        (!to->is_set || from->us > to->us || (from->us == to->us && from->bits > to->bits))) {
        *to = *from;
    }
}

/* The row that comes next of all lanes: they stand at the first that each has. */
static void choose(struct vv_row_lanes *lanes)
{
    struct vv_value_row *row = &lanes->row;
    for (uint32_t i = 0; i < lanes->n; i++) {
        const struct vv_value_row *one = &lanes->lanes[i].row;
        int order = i == 0 ? -1 : compare(one, row);
        if (order < 0) {
            *row = *one;
        } else if (order == 0) {
            for (size_t column = 0; column < VV_ROW_COLUMNS; column++) {
                take_value(&row->values[column], &one->values[column]);
            }
        }
    }
}

static void count_page(struct vv_row_lane *lane)
{
    struct vv_cassandra *store = lane->rows.answer->store;
    const struct vvcql_result *page = lane->rows.page;
    if (page != lane->counted) {
        lane->counted = page;
        atomic_fetch_add_explicit(&store->rows_read, vvcql_result_rows(page), memory_order_relaxed);
        atomic_fetch_add_explicit(&store->bytes_read, vvcql_result_size(page),
                                  memory_order_relaxed);
    }
}

/* Takes over the row at which the lane stands. */
static enum vv_status look(struct vv_row_lane *lane, struct vv_error *error)
{
    struct vvcql_result *page = lane->rows.page;
    struct vv_value_row *row = &lane->row;
    int64_t time_ms;
    int32_t nanos;
    struct vvcql_bytes name;
    if (!page) {
        return VV_OK;
    }
    count_page(lane);
    if (!vvcql_get_bigint(page, 0, &time_ms) || !vvcql_get_int(page, 1, &nanos) || nanos < 0 ||
        nanos >= VV_MILLISECOND || !vvcql_get_bytes(page, 2, &name)) {
        return vv_error_set(error, VV_CORRUPT, "a row of values is not as Varve writes it");
    }
    row->time = time_ms * VV_MILLISECOND + nanos;
    row->metric = (struct vv_str){(const char *)name.data, name.size};
    for (size_t i = 0; i < VV_ROW_COLUMNS; i++) {
        int64_t value;
        struct vv_row_value *to = &row->values[i];
        to->is_set =
            vvcql_get_bigint(page, 3 + 2 * i, &value) && vvcql_get_bigint(page, 4 + 2 * i, &to->us);
        to->bits = to->is_set ? (uint64_t)value : 0;
    }
    return VV_OK;
}

/* Lanes that have no more rows go. */
static void drop_ended(struct vv_row_lanes *lanes)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < lanes->n; i++) {
        if (lanes->lanes[i].rows.page) {
            lanes->lanes[n++] = lanes->lanes[i];
        }
    }
    lanes->n = n;
}

enum vv_status vv_row_lanes_begin(struct vv_row_lanes *lanes, const struct vv_store_answer *answer,
                                  struct vv_error *error)
{
    enum vv_status status = VV_OK;
    lanes->n = 0;
    for (uint32_t i = 0; i < answer->classes.n && status == VV_OK; i++) {
        if (answer->rows[i]) {
            struct vv_row_lane *lane = &lanes->lanes[lanes->n++];
            *lane = (struct vv_row_lane){
                .rows = {.answer = answer, .class = answer->classes.classes[i]},
            };
            status = vv_answer_rows_begin(&lane->rows, answer->rows[i], error);
            status = status == VV_OK ? look(lane, error) : status;
        }
    }
    if (status == VV_OK) {
        drop_ended(lanes);
        choose(lanes);
    }
    return status;
}

const struct vv_value_row *vv_row_lanes_row(const struct vv_row_lanes *lanes)
{
    return lanes->n > 0 ? &lanes->row : NULL;
}

enum vv_status vv_row_lanes_next(struct vv_row_lanes *lanes, struct vv_error *error)
{
    enum vv_status status = VV_OK;
    bool has_ended = false;
    /* The row's name is in one of the pages, which may go only when all have been compared. */
    bool is_taken[VV_CASSANDRA_CLASSES_MAX + 1];
    for (uint32_t i = 0; i < lanes->n; i++) {
        is_taken[i] = lanes->n == 1 || compare(&lanes->lanes[i].row, &lanes->row) == 0;
    }
    for (uint32_t i = 0; i < lanes->n && status == VV_OK; i++) {
        if (is_taken[i]) {
            struct vv_row_lane *lane = &lanes->lanes[i];
            status = vv_answer_rows_next(&lane->rows, error);
            status = status == VV_OK ? look(lane, error) : status;
            has_ended |= !lane->rows.page;
        }
    }
    if (status == VV_OK && has_ended) {
        drop_ended(lanes);
    }
    if (status == VV_OK) {
        choose(lanes);
    }
    return status;
}

void vv_row_lanes_end(struct vv_row_lanes *lanes)
{
    for (uint32_t i = 0; i < lanes->n; i++) {
        vv_answer_rows_end(&lanes->lanes[i].rows);
    }
}
