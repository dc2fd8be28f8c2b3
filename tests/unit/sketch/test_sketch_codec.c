/* SPDX-License-Identifier: Apache-2.0 */
/* The sketch's bytes: exact, few for few values, and harmless when damaged. */
#include "samples.h"
#include "sketch/sketch.h"

static void fill(struct vv_sketch *sketch, enum distribution distribution, size_t count,
                 struct vv_random *random)
{
    for (size_t i = 0; i < count; i++) {
        add_one(sketch, sample(distribution, random));
    }
}

static size_t round_trip(const struct vv_sketch *sketch)
{
    struct vv_sketch read;
    struct encoded_sketch encoded = encode_sketch(sketch);
    assert_true(encoded.size <= vv_sketch_encoded_bound(sketch));
    assert_int_equal(vv_sketch_decode(encoded.bytes, encoded.size, &read), VV_SKETCH_OK);
    assert_sketch_equal(sketch, &read);
    assert_true(vv_sketch_count(sketch) == vv_sketch_count(&read));
    assert_true(vv_sketch_error(sketch) == vv_sketch_error(&read));
    assert_int_equal(vv_sketch_collapsed(sketch), vv_sketch_collapsed(&read));
    for (double q = 0.0; q <= 1.0 && vv_sketch_count(sketch) > 0; q += 0.05) {
        assert_true(vv_sketch_quantile(sketch, q) == vv_sketch_quantile(&read, q));
    }
    for (size_t capacity = 0; capacity < encoded.size; capacity++) {
        uint8_t *out = malloc(capacity == 0 ? 1 : capacity);
        assert_non_null(out);
        assert_int_equal(vv_sketch_encode(sketch, out, capacity), 0);
        free(out);
    }
    vv_sketch_deinit(&read);
    free(encoded.bytes);
    return encoded.size;
}

static void every_distribution_comes_back(void **state)
{
    (void)state;
    static const double alphas[] = {0.0, 0.0001, 0.02};
    struct vv_random random = {211};
    for (int distribution = 0; distribution < DISTRIBUTION_END; distribution++) {
        for (size_t count = 0; count < 400; count += count < 5 ? 1 : 79) {
            struct vv_sketch sketch;
            assert_true(vv_sketch_init(&sketch, alphas[count % 3]));
            fill(&sketch, (enum distribution)distribution, count, &random);
            if (count % 2 == 1) {
                add_one(&sketch, (double)INFINITY);
            }
            round_trip(&sketch);
            vv_sketch_deinit(&sketch);
        }
    }
}

static void large_and_weighted_sketches_come_back(void **state)
{
    (void)state;
    struct vv_random random = {212};
    struct vv_sketch sketch;
    assert_true(vv_sketch_init(&sketch, 0.01));
    fill(&sketch, DISTRIBUTION_LOGNORMAL, 20000, &random);
    assert_true(vv_sketch_add(&sketch, -1e300, UINT64_C(1) << 62));
    assert_true(vv_sketch_add(&sketch, 1e-300, 64));
    assert_true(vv_sketch_add(&sketch, 1e-299, 63));
    round_trip(&sketch);
    vv_sketch_deinit(&sketch);
    assert_true(vv_sketch_init(&sketch, 0.0005));
    fill(&sketch, DISTRIBUTION_ALL_MAGNITUDES, 12000, &random);
    assert_true(vv_sketch_collapsed(&sketch));
    struct encoded_sketch encoded = encode_sketch(&sketch);
    struct vv_sketch read;
    assert_int_equal(vv_sketch_decode(encoded.bytes, encoded.size, &read), VV_SKETCH_OK);
    assert_sketch_equal(&sketch, &read);
    assert_true(vv_sketch_collapsed(&read));
    free(encoded.bytes);
    vv_sketch_deinit(&read);
    vv_sketch_deinit(&sketch);
}

static void few_values_take_few_bytes(void **state)
{
    (void)state;
    struct vv_random random = {213};
    struct vv_sketch sketch;
    (void)vv_sketch_init(&sketch, 0.0);
    assert_int_equal(round_trip(&sketch), 2);
    add_one(&sketch, 21.5);
    assert_true(round_trip(&sketch) <= 9);
    add_one(&sketch, 22.5);
    assert_true(round_trip(&sketch) <= 13);
    vv_sketch_clear(&sketch);
    for (size_t i = 0; i < 60; i++) {
        add_one(&sketch, round(10.0 * sample(DISTRIBUTION_NORMAL, &random)) / 10.0);
    }
    assert_true(round_trip(&sketch) <= 60);
    vv_sketch_clear(&sketch);
    assert_true(vv_sketch_add(&sketch, 0.0, 100000));
    assert_true(round_trip(&sketch) <= 7);
    vv_sketch_deinit(&sketch);
}

static struct encoded_sketch make_victim(void)
{
    struct vv_random random = {214};
    struct vv_sketch sketch;
    (void)vv_sketch_init(&sketch, 0.02);
    fill(&sketch, DISTRIBUTION_AROUND_ZERO, 300, &random);
    assert_true(vv_sketch_add(&sketch, 0.0, 7));
    add_one(&sketch, -(double)INFINITY);
    struct encoded_sketch encoded = encode_sketch(&sketch);
    vv_sketch_deinit(&sketch);
    return encoded;
}

/* Damaged bytes are refused, or give a sketch that works. */
static void try_decode(const uint8_t *bytes, size_t size)
{
    struct vv_sketch sketch;
    struct vv_sketch sum;
    struct vv_sketch again; /* has been something else before */
    enum vv_sketch_status status = vv_sketch_decode(bytes, size, &sketch);
    (void)vv_sketch_init(&again, 0.3);
    add_one(&again, -5.0);
    add_one(&again, 7.0);
    assert_int_equal(vv_sketch_decode_again(bytes, size, &again), status);
    assert_int_equal(vv_sketch_count(&again), vv_sketch_count(&sketch));
    if (status == VV_SKETCH_OK) {
        assert_sketch_equal(&again, &sketch);
        (void)vv_sketch_init(&sum, vv_sketch_alpha(&sketch));
        assert_true(vv_sketch_merge(&sum, &sketch));
        assert_sketch_equal(&sum, &sketch);
        (void)vv_sketch_quantile(&sketch, 0.5);
        vv_sketch_deinit(&sum);
        vv_sketch_deinit(&sketch);
    } else {
        assert_true(status == VV_SKETCH_CORRUPT || status == VV_SKETCH_NEWER);
        assert_int_equal(vv_sketch_count(&sketch), 0);
        assert_int_equal(vv_sketch_memory_bytes(&sketch), sizeof sketch);
    }
    vv_sketch_deinit(&again);
}

static void flipped_bits_do_no_harm(void **state)
{
    (void)state;
    struct encoded_sketch victim = make_victim();
    for (size_t bit = 0; bit < 8 * victim.size; bit++) {
        victim.bytes[bit / 8] ^= (uint8_t)(1u << (bit % 8));
        try_decode(victim.bytes, victim.size);
        victim.bytes[bit / 8] ^= (uint8_t)(1u << (bit % 8));
    }
    free(victim.bytes);
}

static void truncated_and_longer_bytes_are_refused(void **state)
{
    (void)state;
    struct encoded_sketch victim = make_victim();
    struct vv_sketch sketch;
    for (size_t size = 0; size < victim.size; size++) {
        uint8_t *copy = malloc(size == 0 ? 1 : size);
        assert_non_null(copy);
        memcpy(copy, victim.bytes, size);
        assert_int_equal(vv_sketch_decode(copy, size, &sketch), VV_SKETCH_CORRUPT);
        free(copy);
    }
    uint8_t *longer = calloc(1, victim.size + 1);
    assert_non_null(longer);
    memcpy(longer, victim.bytes, victim.size);
    assert_int_equal(vv_sketch_decode(longer, victim.size + 1, &sketch), VV_SKETCH_CORRUPT);
    free(longer);
    free(victim.bytes);
}

static void hostile_claims_are_refused(void **state)
{
    (void)state;
    struct vv_sketch sketch;
    /* version, flags, min = max = 1, then a store */
    const uint8_t many_bins[] = {1, 0x82, 0, 2, 0xff, 0x1f, 0, 0};
    assert_int_equal(vv_sketch_decode(many_bins, sizeof many_bins, &sketch), VV_SKETCH_CORRUPT);
    const uint8_t far_index[] = {1, 0x82, 0, 2, 0, 0xfe, 0xff, 0xff, 0xff, 0x0f, 0};
    assert_int_equal(vv_sketch_decode(far_index, sizeof far_index, &sketch), VV_SKETCH_CORRUPT);
    const uint8_t collapsed[] = {1, 0xa2, 0, 2, 0, 0, 0};
    assert_int_equal(vv_sketch_decode(collapsed, sizeof collapsed, &sketch), VV_SKETCH_CORRUPT);
    const uint8_t too_many[] = {1,    0x8a, 0,    2,    0xff, 0xff, 0xff, 0xff, 0xff,
                                0xff, 0xff, 0xff, 0xff, 0x01, 0,    0,    0};
    assert_int_equal(vv_sketch_decode(too_many, sizeof too_many, &sketch), VV_SKETCH_CORRUPT);
    const uint8_t more_than_all[] = {1,    0x82, 0,    2,    1,    0,    0xfc, 0xbf, 0xff,
                                     0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0};
    assert_int_equal(vv_sketch_decode(more_than_all, sizeof more_than_all, &sketch),
                     VV_SKETCH_CORRUPT);
    const uint8_t far_bins[] = {1, 0x82, 0, 2, 5, 0xa8, 0xab, 0x04, 0, 2, 2, 2, 2, 2};
    assert_int_equal(vv_sketch_decode(far_bins, sizeof far_bins, &sketch), VV_SKETCH_CORRUPT);
    const uint8_t near_bins[] = {1, 0x82, 0, 2, 2, 0xa8, 0xab, 0x04, 0, 2, 2};
    assert_int_equal(vv_sketch_decode(near_bins, sizeof near_bins, &sketch), VV_SKETCH_OK);
    assert_int_equal(vv_sketch_count(&sketch), 3);
    vv_sketch_deinit(&sketch);
    const uint8_t good[] = {1, 0x82, 0, 2, 0, 0, 0};
    assert_int_equal(vv_sketch_decode(good, sizeof good, &sketch), VV_SKETCH_OK);
    assert_true(vv_sketch_quantile(&sketch, 0.5) == 1.0);
    vv_sketch_deinit(&sketch);
}

static void a_newer_version_is_told_apart(void **state)
{
    (void)state;
    struct vv_sketch sketch;
    const uint8_t newer[] = {3, 0};
    assert_int_equal(vv_sketch_decode(newer, sizeof newer, &sketch), VV_SKETCH_NEWER);
    const uint8_t older[] = {0, 0};
    assert_int_equal(vv_sketch_decode(older, sizeof older, &sketch), VV_SKETCH_CORRUPT);
}

static void what_was_absorbed_comes_back(void **state)
{
    (void)state;
    struct vv_sketch sketch;
    struct vv_sketch coarse;
    struct vv_sketch other;
    assert_true(vv_sketch_init(&sketch, 0.01));
    assert_true(vv_sketch_init(&coarse, 0.05));
    assert_true(vv_sketch_init(&other, 0.01));
    assert_true(vv_sketch_absorb(&sketch, &coarse)); /* it has nothing */
    assert_true(vv_sketch_error(&sketch) == 0.01);
    for (int i = 1; i < 100; i++) {
        add_one(&sketch, i);
        add_one(&coarse, 1000.0 / i);
    }
    size_t before = round_trip(&sketch);
    assert_true(vv_sketch_absorb(&sketch, &coarse));
    assert_true(fabs(vv_sketch_error(&sketch) - (0.05 + 0.01 * 1.05)) < 1e-12);
    assert_true(vv_sketch_alpha(&sketch) == 0.01);
    assert_true(round_trip(&sketch) >= before + 8);
    add_one(&other, 5);
    assert_true(vv_sketch_merge(&other, &sketch));
    assert_true(vv_sketch_error(&other) == vv_sketch_error(&sketch));
    struct encoded_sketch encoded = encode_sketch(&sketch);
    memset(encoded.bytes + 2, 0, 8);
    vv_sketch_deinit(&other);
    assert_int_equal(vv_sketch_decode(encoded.bytes, encoded.size, &other), VV_SKETCH_CORRUPT);
    memset(encoded.bytes + 2, 0xff, 8); /* no number */
    assert_int_equal(vv_sketch_decode(encoded.bytes, encoded.size, &other), VV_SKETCH_CORRUPT);
    free(encoded.bytes);
    vv_sketch_clear(&sketch);
    assert_true(vv_sketch_error(&sketch) == 0.01);
    vv_sketch_deinit(&sketch);
    vv_sketch_deinit(&coarse);
}

/* The bytes of version 1, written out: they must be read for as long as the version exists. */
static void version_1_is_read_for_ever(void **state)
{
    (void)state;
    static const uint8_t bytes[] = {0x01, 0x1f, 0x7b, 0x14, 0xae, 0x47, 0xe1, 0x7a, 0x94, 0x3f,
                                    0x00, 0x05, 0x02, 0xb2, 0x7d, 0x02, 0x01, 0x01, 0x01, 0x9a,
                                    0x01, 0xfc, 0x24, 0x03, 0x1d, 0x00, 0x38, 0x00};
    struct vv_sketch sketch;
    assert_int_equal(vv_sketch_decode(bytes, sizeof bytes, &sketch), VV_SKETCH_OK);
    assert_int_equal(vv_sketch_count(&sketch), 106);
    assert_true(vv_sketch_error(&sketch) == 0.02);
    assert_true(vv_sketch_quantile(&sketch, 0.0) == -(double)INFINITY);
    assert_true(vv_sketch_quantile(&sketch, 1.0) == (double)INFINITY);
    assert_true(fabs(vv_sketch_quantile(&sketch, 0.5) - 21.5) <= 0.02 * 21.5);
    assert_true(fabs(vv_sketch_quantile(&sketch, 0.015) + 3.0) <= 0.02 * 3.0);
    assert_true(vv_sketch_quantile(&sketch, 0.02) == 0.0);
    assert_true(fabs(vv_sketch_quantile(&sketch, 0.9925) - 80.25) <= 0.02 * 80.25);
    vv_sketch_deinit(&sketch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_distribution_comes_back),
        cmocka_unit_test(what_was_absorbed_comes_back),
        cmocka_unit_test(large_and_weighted_sketches_come_back),
        cmocka_unit_test(few_values_take_few_bytes),
        cmocka_unit_test(flipped_bits_do_no_harm),
        cmocka_unit_test(truncated_and_longer_bytes_are_refused),
        cmocka_unit_test(hostile_claims_are_refused),
        cmocka_unit_test(a_newer_version_is_told_apart),
        cmocka_unit_test(version_1_is_read_for_ever),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
