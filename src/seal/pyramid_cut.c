/* SPDX-License-Identifier: Apache-2.0 */
#include "seal/pyramid_private.h"

struct vv_unit vv_pyramid_below(const struct vv_tiers *tiers, const struct vv_plans *plans,
                                enum vv_space tier, int64_t start)
{
    int64_t end = start + vv_tier_step_ns(tier);
    int finer = vv_tiers_below(tiers, (int)tier);
    if (finer < 0) {
        return (struct vv_unit){start, end};
    }
    return (struct vv_unit){
        vv_unit_of((enum vv_space)finer, plans->plans, plans->n, start).from,
        vv_unit_of((enum vv_space)finer, plans->plans, plans->n, end - 1).to,
    };
}

/* What stays of the steps, and those that are made anew. */
enum vv_status vv_build_cut_steps(struct vv_build *build, const struct vv_pyramid_cut *cut)
{
    struct vv_rollup *rollup = build->pyramid->rollup;
    vv_rollup_leave_out(rollup, &cut->gone);
    enum vv_status status = vv_build_add_record(build, cut->records, cut->first);
    for (size_t i = 0; i < cut->n_again && status == VV_OK; i++) {
        int64_t start = cut->again[i];
        const struct vv_rollup_part part = {cut->gone.metric, start,
                                            start + vv_tier_step_ns(cut->tier)};
        struct vv_unit below = vv_pyramid_below(&build->tiers, &build->plans, cut->tier, start);
        vv_rollup_take_only(rollup, &part);
        status = vv_build_gather(build, (int)cut->tier, below.from, below.to);
    }
    return status;
}

enum vv_status vv_pyramid_cut(struct vv_pyramid *pyramid, uint32_t place,
                              const struct vv_pyramid_cut *cut, struct vv_piece_list *blocks_out,
                              struct vv_error *error)
{
    struct vv_build build;
    struct vv_unit_record record = {0};
    struct vv_few *few = &pyramid->few;
    const struct vv_span_key *key = &cut->records->items[cut->first].key;
    int64_t step_ns = vv_tier_step_ns(cut->tier);
    enum vv_status status =
        vv_build_begin(&build, pyramid, place, key->partition.source, key->measurement, error);
    build.whole_from = INT64_MIN; /* who asks has looked that what is made anew is whole */
    if (status == VV_OK) {        /* deleted points are not counted among raw ones, either */
        status = vv_unit_read(cut->records->items[cut->first].bytes, &record, error);
        build.whole_at = record.whole_at;
    }
    vv_rollup_begin(pyramid->rollup, step_ns);
    vv_few_drop(few);
    if (status == VV_OK && cut->is_rows) {
        vv_few_begin(few, (size_t)((cut->unit.to - cut->unit.from - 1) / step_ns + 1));
        status = vv_build_add_record(&build, cut->records, cut->first);
    } else if (status == VV_OK) {
        status = vv_build_cut_steps(&build, cut);
    }
    if (status != VV_OK) {
        return status;
    }
    struct vv_piece piece = {.kind = VV_PIECE_BLOCK, .key = *key, .version = VV_VERSION_NONE};
    return vv_build_write_record(&build, &piece, few->n > 0, &cut->unit, blocks_out);
}
