/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Damaged deletions: an order of the journal, a source's markers of the metadata, a predicate of
 * InfluxDB 2. What is taken gives the same again.
 */
#include "deletion/deletions.h"
#include "http/influx_delete.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_order(struct vv_str bytes)
{
    struct vv_deletion_order *order;
    struct vv_deletion_order *again;
    struct vv_buffer buffer = {0};
    if (vv_deletion_order_decode(bytes, &order, NULL) != VV_OK) {
        return;
    }
    vv_deletion_order_encode(order, &buffer);
    struct vv_str text = {(const char *)buffer.data, buffer.size};
    vv_invariant(vv_buffer_status(&buffer) == VV_OK);
    vv_invariant(vv_deletion_order_decode(text, &again, NULL) == VV_OK);
    vv_invariant(vv_deletion_order_markers(order) == vv_deletion_order_markers(again));
    vv_buffer_deinit(&buffer);
    free(order);
    free(again);
}

static void try_record(struct vv_str bytes)
{
    struct vv_deletions *deletions;
    struct vv_buffer first = {0};
    struct vv_deletions_figures before;
    struct vv_deletions_figures after;
    vv_invariant(vv_deletions_create(100, &deletions) == VV_OK);
    if (vv_deletions_apply(deletions, 7, bytes, NULL) == VV_OK) {
        vv_invariant(vv_deletions_encode(deletions, 7, &first));
        vv_deletions_read_figures(deletions, &before);
        struct vv_str text = {(const char *)first.data, first.size};
        vv_invariant(vv_deletions_apply(deletions, 7, text, NULL) == VV_OK);
        vv_deletions_read_figures(deletions, &after);
        vv_invariant(before.sources == 1 && after.sources == 1 && after.markers <= before.markers);
    }
    vv_buffer_deinit(&first);
    vv_deletions_destroy(deletions);
}

static void try_predicate(struct vv_str bytes)
{
    struct vv_parameters parameters = {0};
    (void)!vv_influx_delete_parse(VV_STR_LITERAL("t"), bytes, &parameters, NULL);
    vv_parameters_deinit(&parameters);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    struct vv_str rest = {(const char *)data + 1, size - 1};
    switch (data[0]) {
    case 'o':
        try_order(rest);
        break;
    case 'r':
        try_record(rest);
        break;
    default:
        try_predicate(rest);
    }
    return 0;
}
