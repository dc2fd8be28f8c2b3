/* SPDX-License-Identifier: Apache-2.0 */
/* Words, variable-length integers and the bounds of writer and reader. */
#include "codec/bytes.h"

#include "shapes.h"

static void varints_come_back(void **state)
{
    (void)state;
    struct vv_random random = {12};
    for (unsigned i = 0; i < 2000; i++) {
        uint64_t value = i < 130 ? i : vv_random_next(&random) >> vv_random_below(&random, 64);
        value = i == 130 ? UINT64_MAX : value;
        uint8_t bytes[VV_VARINT_BYTES_MAX];
        struct vv_writer writer = {bytes, bytes + sizeof bytes, false};
        vv_put_varint(&writer, value);
        assert_false(writer.overflowed);
        assert_int_equal(writer.at - bytes, vv_varint_size(value));
        struct vv_reader reader = {bytes, writer.at, false};
        assert_true(vv_take_varint(&reader) == value);
        assert_true(!reader.failed && reader.at == reader.end);
        struct vv_reader shorter = {bytes, writer.at - 1, false};
        assert_true(vv_take_varint(&shorter) == 0);
        assert_true(shorter.failed);
    }
}

static void too_long_varints_fail(void **state)
{
    (void)state;
    uint8_t bytes[12];
    memset(bytes, 0x80, sizeof bytes);
    struct vv_reader endless = {bytes, bytes + sizeof bytes, false};
    assert_true(vv_take_varint(&endless) == 0);
    assert_true(endless.failed);
    memset(bytes, 0xff, 9);
    bytes[9] = 2; /* bit 64 */
    struct vv_reader overflowing = {bytes, bytes + sizeof bytes, false};
    assert_true(vv_take_varint(&overflowing) == 0);
    assert_true(overflowing.failed);
}

static void zigzag_is_its_own_inverse(void **state)
{
    (void)state;
    struct vv_random random = {13};
    assert_true(vv_zigzag(0) == 0 && vv_zigzag(UINT64_MAX) == 1 && vv_zigzag(1) == 2);
    assert_true(vv_zigzag(UINT64_C(1) << 63) == UINT64_MAX);
    for (unsigned i = 0; i < 1000; i++) {
        uint64_t value = vv_random_next(&random);
        assert_true(vv_unzigzag(vv_zigzag(value)) == value);
    }
}

static void a_failed_writer_writes_no_more(void **state)
{
    (void)state;
    uint8_t bytes[8] = {0};
    struct vv_writer writer = {bytes, bytes + 7, false};
    vv_put_u64(&writer, UINT64_MAX);
    vv_put_byte(&writer, 1);
    vv_put_varint(&writer, 1);
    assert_true(writer.overflowed);
    for (size_t i = 0; i < sizeof bytes; i++) {
        assert_int_equal(bytes[i], 0);
    }
}

static void bit_lengths(void **state)
{
    (void)state;
    assert_int_equal(vv_bit_length(0), 0);
    for (unsigned bit = 0; bit < 64; bit++) {
        assert_int_equal(vv_bit_length(UINT64_C(1) << bit), bit + 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(varints_come_back),
        cmocka_unit_test(too_long_varints_fail),
        cmocka_unit_test(zigzag_is_its_own_inverse),
        cmocka_unit_test(a_failed_writer_writes_no_more),
        cmocka_unit_test(bit_lengths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
