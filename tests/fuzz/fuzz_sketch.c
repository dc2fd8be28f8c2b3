/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hostile sketches. What decodes must answer, merge, and come back the same from its own bytes.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sketch/sketch.h"

static void require(int condition)
{
    if (!condition) {
        abort();
    }
}

/* Encodes, decodes and encodes again: the bytes must settle. */
static void encode_again(const struct vv_sketch *sketch)
{
    size_t bound = vv_sketch_encoded_bound(sketch);
    uint8_t *first = malloc(bound);
    uint8_t *second = malloc(bound);
    struct vv_sketch read;
    require(first != NULL && second != NULL);
    size_t size = vv_sketch_encode(sketch, first, bound);
    require(size > 0);
    require(vv_sketch_decode(first, size, &read) == VV_SKETCH_OK);
    require(vv_sketch_encode(&read, second, bound) == size);
    require(memcmp(first, second, size) == 0);
    vv_sketch_deinit(&read);
    free(first);
    free(second);
}

static void use(struct vv_sketch *sketch)
{
    struct vv_sketch sum;
    double before = vv_sketch_quantile(sketch, 0.0);
    for (double q = 0.1; q <= 1.0; q += 0.1) {
        double value = vv_sketch_quantile(sketch, q);
        require(isnan(before) || value >= before);
        before = value;
    }
    (void)vv_sketch_init(&sum, vv_sketch_alpha(sketch));
    require(vv_sketch_add(&sum, -3.5, 2));
    uint64_t count = vv_sketch_count(sketch);
    if (vv_sketch_merge(&sum, sketch)) {
        require(vv_sketch_count(&sum) == count + 2);
    } else {
        require(count > UINT64_MAX - 2);
    }
    encode_again(&sum);
    vv_sketch_deinit(&sum);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct vv_sketch sketch;
    if (vv_sketch_decode(data, size, &sketch) == VV_SKETCH_OK) {
        use(&sketch);
        encode_again(&sketch);
        vv_sketch_deinit(&sketch);
    }
    return 0;
}
