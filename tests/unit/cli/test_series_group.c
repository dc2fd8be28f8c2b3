/* SPDX-License-Identifier: Apache-2.0 */
/* What may be of one source and measurement is in one group, however it is written. */
#include "cli/series_group.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static uint64_t group(const char *series, const char *id_tag)
{
    return vv_series_group(vv_str_of(series), vv_str_of(id_tag));
}

static void the_same_tags_are_one_group_however_they_are_written(void **state)
{
    (void)state;
    uint64_t one = group("m,a=1,b=2", "");
    assert_int_equal(group("m,b=2,a=1", ""), one);
    assert_int_equal(group("m,a=7,b=2,a=1", ""), one); /* the last of a key counts */
    assert_int_equal(group("m,a=1,c=,b=2", ""), one);  /* no value: no tag */
    assert_int_equal(group("m,a=1,c=5,b=2,c=", ""), one);
    assert_int_equal(group("m\\ x,a=1\\,2", ""), group("m\\ x,a=1\\,2", ""));
    assert_int_equal(group("m,a=x\\=y", ""), group("m,a=x=y", ""));
    assert_int_equal(group("m", ""), group("m", ""));
}

static void others_are_others(void **state)
{
    (void)state;
    uint64_t one = group("m,a=1,b=2", "");
    assert_int_not_equal(group("n,a=1,b=2", ""), one);
    assert_int_not_equal(group("m,a=2,b=1", ""), one);
    assert_int_not_equal(group("m,a=1", ""), one);
    assert_int_not_equal(group("m,a=1\\,b=2", ""), one);
    assert_int_not_equal(group("m", ""), one);
}

static void where_a_tag_is_the_id_the_others_do_not_count(void **state)
{
    (void)state;
    uint64_t one = group("m,id=1,b=2", "id");
    assert_int_equal(group("m,b=3,id=1", "id"), one);
    assert_int_equal(group("m,id=1", "id"), one);
    assert_int_equal(group("m,id=9,id=1", "id"), one);
    assert_int_not_equal(group("m,id=2,b=2", "id"), one);
    assert_int_not_equal(group("m,b=2", "id"), one);
    assert_int_equal(group("m,b=2,id=", "id"), group("m,b=2", "id"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_tags_are_one_group_however_they_are_written),
        cmocka_unit_test(others_are_others),
        cmocka_unit_test(where_a_tag_is_the_id_the_others_do_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
