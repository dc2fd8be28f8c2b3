/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of many distributions for the tests of the sketch, from fixed seeds.
 */
#ifndef TESTS_UNIT_SKETCH_SAMPLES_H
#define TESTS_UNIT_SKETCH_SAMPLES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <float.h>
#include <math.h>

#include "base/random.h"
#include "sketch/sketch.h"

static inline double random_normal(struct vv_random *random)
{
    double radius = sqrt(-2.0 * log(vv_random_unit(random) + 0x1p-60));
    return radius * cos(6.283185307179586 * vv_random_unit(random));
}

enum distribution {
    DISTRIBUTION_CONSTANT,
    DISTRIBUTION_NORMAL,
    DISTRIBUTION_AROUND_ZERO,
    DISTRIBUTION_NEGATIVE,
    DISTRIBUTION_LOGNORMAL,
    DISTRIBUTION_PARETO,
    DISTRIBUTION_NEAR_ZERO,
    DISTRIBUTION_MOSTLY_ZERO,
    DISTRIBUTION_INTEGERS,
    DISTRIBUTION_ALL_MAGNITUDES,
    DISTRIBUTION_END
};

static inline double sample(enum distribution distribution, struct vv_random *random)
{
    double normal = random_normal(random);
    double unit = vv_random_unit(random);
    switch (distribution) {
    case DISTRIBUTION_CONSTANT:
        return 21.5;
    case DISTRIBUTION_NORMAL:
        return 100.0 + 15.0 * normal;
    case DISTRIBUTION_AROUND_ZERO:
        return normal;
    case DISTRIBUTION_NEGATIVE:
        return -50.0 - 10.0 * fabs(normal);
    case DISTRIBUTION_LOGNORMAL:
        return exp(2.0 * normal);
    case DISTRIBUTION_PARETO:
        return pow(1.0 - unit, -1.0);
    case DISTRIBUTION_NEAR_ZERO:
        return normal * 1e-12;
    case DISTRIBUTION_MOSTLY_ZERO:
        return unit < 0.7 ? 0.0 : normal;
    case DISTRIBUTION_INTEGERS:
        return floor(unit * 1000.0);
    default:
        return (normal < 0.0 ? -1.0 : 1.0) * pow(10.0, 600.0 * unit - 300.0);
    }
}

static inline void add_one(struct vv_sketch *sketch, double value)
{
    assert_true(vv_sketch_add(sketch, value, 1));
}

struct encoded_sketch {
    uint8_t *bytes; /* of exactly size bytes */
    size_t size;
};

static inline struct encoded_sketch encode_sketch(const struct vv_sketch *sketch)
{
    size_t bound = vv_sketch_encoded_bound(sketch);
    uint8_t *out = malloc(bound);
    assert_non_null(out);
    struct encoded_sketch encoded = {NULL, vv_sketch_encode(sketch, out, bound)};
    assert_true(encoded.size > 0);
    encoded.bytes = malloc(encoded.size);
    assert_non_null(encoded.bytes);
    memcpy(encoded.bytes, out, encoded.size);
    free(out);
    return encoded;
}

/* Equal sketches have equal bytes. */
static inline void assert_sketch_equal(const struct vv_sketch *a, const struct vv_sketch *b)
{
    struct encoded_sketch left = encode_sketch(a);
    struct encoded_sketch right = encode_sketch(b);
    assert_int_equal(left.size, right.size);
    assert_memory_equal(left.bytes, right.bytes, left.size);
    free(left.bytes);
    free(right.bytes);
}

#endif
