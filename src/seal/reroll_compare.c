/* SPDX-License-Identifier: Apache-2.0 */
/* What is stored of a unit, and what was built of it: step by step. */
#include "seal/reroll_private.h"

#include <stdlib.h>

/* ---- steps of a record ---- */

static enum vv_status add_rows(struct vv_reroll *reroll, struct vv_error *error)
{
    for (;;) {
        const struct vv_rows *rows;
        enum vv_status status = vv_merge_next(reroll->merge, &rows, error);
        if (status == VV_OK) {
            status = vv_rollup_add_rows(reroll->rollup, rows, error);
        }
        if (status != VV_OK) {
            return status == VV_DONE ? VV_OK : status;
        }
    }
}

#define PARTS_MAX (VV_ROLLUP_METRICS_MAX / VV_CHUNK_METRICS_MAX + 1)

/* A record as chunks; zero-initialised has none. */
struct chunks {
    size_t n;
    struct vv_chunk items[PARTS_MAX];
    struct vv_buffer bytes[PARTS_MAX];
};

static void chunks_deinit(struct chunks *chunks)
{
    for (size_t i = 0; i < PARTS_MAX; i++) {
        vv_buffer_deinit(&chunks->bytes[i]);
    }
}

/* Opens what stands in the next one's bytes. */
static enum vv_status open_chunk(struct chunks *chunks, struct vv_error *error)
{
    const struct vv_buffer *bytes = &chunks->bytes[chunks->n];
    enum vv_status status = vv_buffer_status(bytes);
    if (status == VV_OK) {
        status = vv_chunk_open((struct vv_str){(const char *)bytes->data, bytes->size},
                               &chunks->items[chunks->n], error);
    }
    chunks->n += status == VV_OK;
    return status;
}

/* Of what is in the roll-up. */
static enum vv_status add_rolled_up(struct vv_reroll *reroll, struct chunks *chunks,
                                    struct vv_error *error)
{
    enum vv_status status = VV_OK;
    size_t metrics = vv_rollup_steps(reroll->rollup) > 0 ? vv_rollup_metrics(reroll->rollup) : 0;
    for (size_t first = 0; first < metrics && chunks->n < PARTS_MAX && status == VV_OK;
         first += VV_CHUNK_METRICS_MAX) {
        status = vv_rollup_encode(reroll->rollup, first, 0, &chunks->bytes[chunks->n], error);
        if (status == VV_OK) {
            status = open_chunk(chunks, error);
        }
    }
    return status;
}

/* What the parts of a record are, or its rows would be. VV_CORRUPT, VV_NEWER. */
static enum vv_status read_steps(struct vv_reroll *reroll, enum vv_space tier,
                                 const struct vv_piece_list *pieces, struct chunks *chunks,
                                 struct vv_error *error)
{
    enum vv_status status = VV_OK;
    vv_rollup_begin(reroll->rollup, vv_tier_step_ns(tier));
    vv_merge_reset(reroll->merge, INT64_MIN, INT64_MAX);
    for (size_t i = 0; i < pieces->n && status == VV_OK; i++) {
        struct vv_unit_record record;
        if (pieces->items[i].bytes.size == 0) {
            continue;
        }
        status = vv_unit_read(pieces->items[i].bytes, &record, error);
        if (status == VV_OK && record.kind == VV_UNIT_STEPS && chunks->n == PARTS_MAX) {
            status = vv_error_set(error, VV_CORRUPT, "a tier's record has too many parts");
        } else if (status == VV_OK && record.kind == VV_UNIT_STEPS) {
            vv_buffer_str(&chunks->bytes[chunks->n], record.content);
            status = open_chunk(chunks, error);
        } else if (status == VV_OK) {
            status = vv_merge_add_block(reroll->merge, (const uint8_t *)record.content.data,
                                        record.content.size, error);
        }
    }
    if (status == VV_OK) {
        status = add_rows(reroll, error);
    }
    return status == VV_OK ? add_rolled_up(reroll, chunks, error) : status;
}

static enum vv_status compare_chunks(struct vv_reroll *reroll, enum vv_space tier,
                                     struct chunks *stored, struct chunks *built,
                                     struct vv_comparison *comparison, bool *is_readable_out,
                                     struct vv_error *error)
{
    *is_readable_out = true;
    enum vv_status status = read_steps(reroll, tier, &reroll->stored, stored, error);
    if (vv_reroll_is_damage(status)) {
        *is_readable_out = false;
        status = VV_OK;
    }
    if (status == VV_OK) {
        status = read_steps(reroll, tier, &reroll->built, built, error);
    }
    if (status == VV_OK && *is_readable_out) {
        status =
            vv_chunk_compare(stored->items, stored->n, built->items, built->n, comparison, error);
        *is_readable_out = !vv_reroll_is_damage(status);
        status = vv_reroll_is_damage(status) ? VV_OK : status;
    }
    return status;
}

enum vv_status vv_reroll_compare(struct vv_reroll *reroll, enum vv_space tier,
                                 struct vv_reroll_result *result, struct vv_error *error)
{
    struct vv_comparison comparison = {0};
    bool is_good = true;
    struct chunks *both = calloc(2, sizeof *both);
    if (!both) {
        return vv_error_set(error, VV_NO_MEMORY, "out of memory");
    }
    enum vv_status status =
        compare_chunks(reroll, tier, &both[0], &both[1], &comparison, &is_good, error);
    bool has_record = reroll->stored.n > 0;
    bool has_points = both[1].n > 0;
    result->verdict = !has_record && !has_points         ? VV_REROLL_NOTHING
                      : !has_record                      ? VV_REROLL_MISSING
                      : !is_good || comparison.steps > 0 ? VV_REROLL_DIFFERENT
                                                         : VV_REROLL_SAME;
    result->steps = comparison.steps;
    result->metric = comparison.metric;
    result->start = comparison.start;
    result->what = is_good ? comparison.what : NULL;
    chunks_deinit(&both[0]);
    chunks_deinit(&both[1]);
    free(both);
    return status;
}
