/* SPDX-License-Identifier: Apache-2.0 */
#include "store/cassandra/block_lanes.h"

static void end_lane(struct vv_block_lane *lane)
{
    vvcql_result_destroy(lane->own);
    lane->own = NULL;
    lane->page = NULL;
}

static enum vv_status go_on(const struct vv_block_lanes *lanes, struct vv_block_lane *lane,
                            struct vv_error *error)
{
    while (!vvcql_next_row(lane->page)) {
        struct vvcql_result *next;
        if (vvcql_result_paging_state(lane->page).size == 0) {
            end_lane(lane);
            return VV_OK;
        }
        enum vv_status status =
            vv_cassandra_ask_page(lanes->answer, lane->prepared, lanes->from_ms,
                                  VV_CASSANDRA_BLOCKS_OF_A_PAGE, lane->page, &next, error);
        if (status != VV_OK) {
            return status;
        }
        end_lane(lane);
        lane->page = lane->own = next;
    }
    bool is_right = vvcql_get_bigint(lane->page, 0, &lane->span_ms) &&
                    vvcql_get_bigint(lane->page, 1, &lane->seal);
    return is_right ? VV_OK
                    : vv_error_set(error, VV_CORRUPT, "a row of blocks is not as Varve writes it");
}

/* The first page is the answer's; NULL: it is to be asked for. */
static enum vv_status begin_lane(const struct vv_block_lanes *lanes, struct vv_block_lane *lane,
                                 struct vvcql_result *first, struct vv_error *error)
{
    enum vv_status status = VV_OK;
    if (first) {
        vvcql_rewind(first);
    } else {
        status = vv_cassandra_ask_page(lanes->answer, lane->prepared, lanes->from_ms,
                                       VV_CASSANDRA_BLOCKS_OF_A_PAGE, NULL, &lane->own, error);
    }
    lane->page = first ? first : lane->own;
    return status == VV_OK ? go_on(lanes, lane, error) : status;
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
        if (lane->page && (!lanes->first || is_before(lane, lanes->first))) {
            lanes->first = lane;
        }
    }
}

enum vv_status vv_block_lanes_begin(struct vv_block_lanes *lanes,
                                    const struct vv_store_answer *answer, int64_t from_ms,
                                    bool has_pages, struct vv_error *error)
{
    enum vv_status status = VV_OK;
    *lanes = (struct vv_block_lanes){.answer = answer, .from_ms = from_ms};
    for (uint32_t i = 0; i < answer->classes.n && status == VV_OK; i++) {
        uint8_t class = answer->classes.classes[i];
        if (vv_regions_has_class(answer->view, class, answer->is_late)) {
            struct vv_block_lane *lane = &lanes->lanes[lanes->n++];
            lane->prepared = vv_cassandra_read_blocks(answer, class);
            status = begin_lane(lanes, lane, has_pages ? answer->blocks[i] : NULL, error);
        }
    }
    choose(lanes);
    return status;
}

struct vvcql_result *vv_block_lanes_row(const struct vv_block_lanes *lanes)
{
    return lanes->first ? lanes->first->page : NULL;
}

enum vv_status vv_block_lanes_next(struct vv_block_lanes *lanes, struct vv_error *error)
{
    enum vv_status status = go_on(lanes, lanes->first, error);
    choose(lanes);
    return status;
}

void vv_block_lanes_end(struct vv_block_lanes *lanes)
{
    for (uint32_t i = 0; i < lanes->n; i++) {
        end_lane(&lanes->lanes[i]);
    }
}
