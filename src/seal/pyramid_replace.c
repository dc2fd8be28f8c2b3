/* SPDX-License-Identifier: Apache-2.0 */
#include "seal/pyramid_private.h"

#include <stdlib.h>

/* What is deleted of the series, and what is replaced of rows that the record keeps, whatever their
 * stamps. */
static enum vv_status hide(const struct vv_pyramid *pyramid,
                           const struct vv_pyramid_replacement *replacement,
                           struct vv_deletion_list *hidden_out)
{
    const struct vv_deletion_list *deleted = &pyramid->deletions;
    size_t n = deleted->n + replacement->n_metrics;
    *hidden_out = (struct vv_deletion_list){.items = calloc(n, sizeof *hidden_out->items), .n = n};
    if (!hidden_out->items) {
        *hidden_out = (struct vv_deletion_list){0};
        return VV_NO_MEMORY;
    }
    if (deleted->n > 0) {
        memcpy(hidden_out->items, deleted->items, deleted->n * sizeof *deleted->items);
    }
    for (size_t i = 0; i < replacement->n_metrics; i++) {
        hidden_out->items[deleted->n + i] = (struct vv_deletion){.from = replacement->from,
                                                                 .to = replacement->to,
                                                                 .stamp = UINT64_MAX,
                                                                 .metric = replacement->metrics[i]};
    }
    return VV_OK;
}

/* What stays of the record. */
static enum vv_status add_rest(struct vv_build *build,
                               const struct vv_pyramid_replacement *replacement)
{
    struct vv_pyramid *pyramid = build->pyramid;
    struct vv_deletion_list hidden;
    enum vv_status status = hide(pyramid, replacement, &hidden);
    if (status == VV_OK) {
        vv_merge_set_deletions(pyramid->merge, &hidden);
        if (!replacement->is_rows) {
            vv_rollup_leave_out_metrics(pyramid->rollup, replacement->metrics,
                                        replacement->n_metrics, replacement->from, replacement->to);
        }
        status = vv_build_add_record(build, replacement->records, replacement->first);
        vv_rollup_take_all(pyramid->rollup);
    }
    vv_merge_reset(pyramid->merge, INT64_MIN, INT64_MAX);
    vv_merge_set_deletions(pyramid->merge, &pyramid->deletions);
    vv_deletion_list_deinit(&hidden);
    return status;
}

enum vv_status vv_pyramid_replace(struct vv_pyramid *pyramid,
                                  const struct vv_pyramid_replacement *replacement,
                                  struct vv_piece_list *blocks_out, struct vv_error *error)
{
    struct vv_build build;
    const struct vv_span_key *key = &replacement->key;
    enum vv_status status = vv_build_begin(&build, pyramid, replacement->place,
                                           key->partition.source, key->measurement, error);
    build.unit = *key;
    build.tier = replacement->tier;
    vv_build_begin_unit(pyramid, replacement->tier, &replacement->unit);
    if (status == VV_OK && replacement->has_record) {
        status = add_rest(&build, replacement);
    }
    for (size_t i = 0; i < replacement->n_rows && status == VV_OK; i++) {
        status = vv_build_add_rows(&build, &replacement->rows[i]);
    }
    return status == VV_OK ? vv_build_write_unit(&build, replacement->tier, &replacement->unit,
                                                 VV_VERSION_NONE, blocks_out)
                           : status;
}
