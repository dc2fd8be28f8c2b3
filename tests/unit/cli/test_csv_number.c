/* SPDX-License-Identifier: Apache-2.0 */
/* Values in cells. */
#include "cli/csv_number.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void expect(const char *cell, bool whole, enum vv_csv_number_kind kind, const char *expected)
{
    char out[VV_CSV_NUMBER_SIZE] = "";
    if (vv_csv_number(vv_str_of(cell), whole, out) != kind) {
        fail_msg("'%s'", cell);
    }
    if (kind == VV_CSV_VALUE) {
        assert_string_equal(out, expected);
    }
}

static void numbers(void **state)
{
    (void)state;
    expect("73.96732207", false, VV_CSV_VALUE, "73.96732207");
    expect("-0.5", false, VV_CSV_VALUE, "-0.5");
    expect("+5", false, VV_CSV_VALUE, "5");
    expect(".5", false, VV_CSV_VALUE, "0.5");
    expect("5.", false, VV_CSV_VALUE, "5");
    expect("-.5e-3", false, VV_CSV_VALUE, "-0.5e-3");
    expect("1E+9", false, VV_CSV_VALUE, "1E+9");
    expect("True", false, VV_CSV_VALUE, "true");
    expect("FALSE", false, VV_CSV_VALUE, "false");
    expect("12", true, VV_CSV_VALUE, "12i");
    expect("-7", true, VV_CSV_VALUE, "-7i");
}

static void gaps(void **state)
{
    (void)state;
    static const char *const words[] = {"", "NaN", "nan", "NA", "n/a", "NULL", "None", "-"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        expect(words[i], false, VV_CSV_MISSING, "");
        expect(words[i], true, VV_CSV_MISSING, "");
    }
}

static void other_text(void **state)
{
    (void)state;
    static const char *const words[] = {
        ".",
        "e5",
        "1e",
        "1e+",
        "--1",
        "1-",
        "0x10",
        "inf",
        "5 5",
        "1,5",
        "1.2.3",
        "abc",
        "12i",
        "+",
        "1111111111111111111111111111111111111111111111111111111111111111111111111"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        expect(words[i], false, VV_CSV_TEXT, "");
    }
    expect("1.0", true, VV_CSV_TEXT, "");
    expect("true", true, VV_CSV_TEXT, "");
    expect(".5", true, VV_CSV_TEXT, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers),
        cmocka_unit_test(gaps),
        cmocka_unit_test(other_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
