/* SPDX-License-Identifier: Apache-2.0 */
#include "store/cassandra/block_lanes.h"

/* Notes which row comes next. */
static enum vv_status look(struct vv_block_lane *lane, struct vv_error *error)
{
    const struct vvcql_result *row = lane->rows.page;
    bool is_right =
        !row || (vvcql_get_bigint(row, 0, &lane->span_ms) && vvcql_get_bigint(row, 1, &lane->seal));
    return is_right ? VV_OK
                    : vv_error_set(error, VV_CORRUPT, "a row of blocks is not as Varve writes it");
}

static bool is_before(const struct vv_block_lane *a, const struct vv_block_lane *b)
{
    return a->span_ms < b->span_ms || (a->span_ms == b->span_ms && a->seal > b->seal);
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

enum vv_status vv_block_lanes_begin(struct vv_block_lanes *lanes,
                                    const struct vv_store_answer *answer, int64_t from_ms,
                                    bool has_pages, struct vv_error *error)
{
    enum vv_status status = VV_OK;
    *lanes = (struct vv_block_lanes){0};
    for (uint32_t i = 0; i < answer->classes.n && status == VV_OK; i++) {
        uint8_t class = answer->classes.classes[i];
        if (vv_regions_has_class(answer->view, class, answer->is_late)) {
            struct vv_block_lane *lane = &lanes->lanes[lanes->n++];
            lane->rows =
                (struct vv_answer_rows){.answer = answer,
                                        .prepared = vv_cassandra_read_blocks(answer, class),
                                        .from_ms = from_ms,
                                        .page_size = VV_CASSANDRA_BLOCKS_OF_A_PAGE};
            status = vv_answer_rows_begin(&lane->rows, has_pages ? answer->blocks[i] : NULL, error);
            status = status == VV_OK ? look(lane, error) : status;
        }
    }
    choose(lanes);
    return status;
}

struct vvcql_result *vv_block_lanes_row(const struct vv_block_lanes *lanes)
{
    return lanes->first ? lanes->first->rows.page : NULL;
}

enum vv_status vv_block_lanes_next(struct vv_block_lanes *lanes, struct vv_error *error)
{
    enum vv_status status = vv_answer_rows_next(&lanes->first->rows, error);
    status = status == VV_OK ? look(lanes->first, error) : status;
    choose(lanes);
    return status;
}

void vv_block_lanes_end(struct vv_block_lanes *lanes)
{
    for (uint32_t i = 0; i < lanes->n; i++) {
        vv_answer_rows_end(&lanes->lanes[i].rows);
    }
}
