/* SPDX-License-Identifier: Apache-2.0 */
#include "store/cassandra/block_lanes.h"

/* Notes which row comes next. */
static enum vv_status look(struct vv_block_lane *lane, struct vv_error *error)
{
    const struct vvcql_result *row = lane->rows.page;
    bool is_right =
        !row || (vvcql_get_bigint(row, 0, &lane->span_ms) &&
                 vvcql_get_bigint(row, 1, &lane->seal) && vvcql_get_bigint(row, 2, &lane->part));
    return is_right ? VV_OK
                    : vv_error_set(error, VV_CORRUPT, "a row of blocks is not as Varve writes it");
}

static int64_t now_of(const struct vv_store_answer *answer)
{
    struct vv_clock *clock = answer->store->clock;
    return clock->monotonic_ns(clock);
}

/* What was in one table when that was read may be in the other one by now, and gone from it. */
static enum vv_status check_time(const struct vv_block_lanes *lanes,
                                 const struct vv_cassandra *store, struct vv_error *error)
{
    return vv_purge_is_too_long(store, lanes->since_ns)
               ? vv_error_set(error, VV_IO, "reading blocks took too long: try again")
               : VV_OK;
}

static bool is_before(const struct vv_block_lane *a, const struct vv_block_lane *b)
{
    if (a->span_ms != b->span_ms || a->seal != b->seal) {
        return a->span_ms < b->span_ms || (a->span_ms == b->span_ms && a->seal > b->seal);
    }
    return a->class != b->class ? a->class < b->class : a->part < b->part;
}

static void choose(struct vv_block_lanes *lanes)
{
    lanes->first = NULL;
    for (uint32_t i = 0; i < lanes->n; i++) {
        struct vv_block_lane *lane = &lanes->lanes[i];
        if (lane->rows.page && (!lanes->first || is_before(lane, lanes->first))) {
            lanes->first = lane;
        }
    }
}

static enum vv_status add_lane(struct vv_block_lanes *lanes, const struct vv_store_answer *answer,
                               uint32_t i, uint32_t table, int64_t from_ms, bool has_pages,
                               struct vv_error *error)
{
    struct vv_block_lane *lane = &lanes->lanes[lanes->n++];
    uint8_t class = answer->classes.classes[i];
    lane->class = i;
    lane->rows = (struct vv_answer_rows){.answer = answer,
                                         .prepared = vv_cassandra_read_blocks(answer, class, table),
                                         .from_ms = from_ms,
                                         .page_size = VV_CASSANDRA_BLOCKS_OF_A_PAGE};
    enum vv_status status =
        vv_answer_rows_begin(&lane->rows, has_pages ? answer->blocks[i][table] : NULL, error);
    return status == VV_OK ? look(lane, error) : status;
}

enum vv_status vv_block_lanes_begin(struct vv_block_lanes *lanes,
                                    const struct vv_store_answer *answer, int64_t from_ms,
                                    bool has_pages, struct vv_error *error)
{
    uint32_t tables = vv_cassandra_tables(answer->store);
    enum vv_status status = VV_OK;
    *lanes = (struct vv_block_lanes){.since_ns = has_pages ? answer->begun_ns : now_of(answer)};
    for (uint32_t i = 0; i < answer->classes.n; i++) {
        uint8_t class = answer->classes.classes[i];
        bool has_class = vv_regions_has_class(answer->view, class, answer->is_late);
        for (uint32_t j = 0; j < tables && has_class && status == VV_OK; j++) {
            status = add_lane(lanes, answer, i, j, from_ms, has_pages, error);
        }
    }
    choose(lanes);
    return status == VV_OK ? check_time(lanes, answer->store, error) : status;
}

struct vvcql_result *vv_block_lanes_row(const struct vv_block_lanes *lanes)
{
    return lanes->first ? lanes->first->rows.page : NULL;
}

/* Past the row at which it stands. */
static enum vv_status pass(const struct vv_block_lanes *lanes, struct vv_block_lane *lane,
                           struct vv_error *error)
{
    enum vv_status status = vv_answer_rows_next(&lane->rows, error);
    status = status == VV_OK ? look(lane, error) : status;
    return status == VV_OK ? check_time(lanes, lane->rows.answer->store, error) : status;
}

enum vv_status vv_block_lanes_next(struct vv_block_lanes *lanes, struct vv_error *error)
{
    const struct vv_block_lane given = *lanes->first;
    enum vv_status status = VV_OK;
    for (uint32_t i = 0; i < lanes->n && status == VV_OK; i++) {
        struct vv_block_lane *lane = &lanes->lanes[i];
        bool is_same = lane->rows.page && lane->class == given.class &&
                       lane->span_ms == given.span_ms && lane->seal == given.seal &&
                       lane->part == given.part;
        status = is_same ? pass(lanes, lane, error) : status;
    }
    choose(lanes);
    return status;
}

void vv_block_lanes_end(struct vv_block_lanes *lanes)
{
    for (uint32_t i = 0; i < lanes->n; i++) {
        vv_answer_rows_end(&lanes->lanes[i].rows);
    }
}
