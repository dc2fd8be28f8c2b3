/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes hostile bytes as a batch; what decodes must encode to the same rows again. */
#include "model/batch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void compare(const struct vv_batch *a, const struct vv_batch *b)
{
    vv_invariant(a->tenant == b->tenant && a->points == b->points && a->n_frames == b->n_frames);
    for (size_t i = 0; i < a->n_frames; i++) {
        const struct vv_frame *f = &a->frames[i];
        const struct vv_frame *g = &b->frames[i];
        vv_invariant(f->measurement == g->measurement && f->n_rows == g->n_rows);
        vv_invariant(f->n_metrics == g->n_metrics);
        vv_invariant(memcmp(f->metrics, g->metrics, f->n_metrics * sizeof *f->metrics) == 0);
        vv_invariant(memcmp(f->sources, g->sources, f->n_rows * sizeof *f->sources) == 0);
        vv_invariant(memcmp(f->times, g->times, f->n_rows * sizeof *f->times) == 0);
        size_t values = f->n_rows * f->n_metrics;
        vv_invariant(memcmp(f->values, g->values, values * sizeof *f->values) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct vv_batch *batch = NULL;
    if (vv_batch_decode((struct vv_str){(const char *)data, size}, &batch, NULL) != VV_OK) {
        return 0;
    }
    vv_invariant(batch->bytes <= 4096 + 8 * size);
    struct vv_buffer buffer = {0};
    vv_batch_encode(batch, &buffer);
    struct vv_str bytes = {(const char *)buffer.data, buffer.size};
    struct vv_batch *again = NULL;
    if (vv_buffer_status(&buffer) == VV_OK) {
        vv_invariant(vv_batch_decode(bytes, &again, NULL) == VV_OK);
        compare(batch, again);
    }
    vv_batch_destroy(again);
    vv_buffer_deinit(&buffer);
    vv_batch_destroy(batch);
    return 0;
}
