/* SPDX-License-Identifier: Apache-2.0 */
/* The names of places and spaces. */
#include "model/space.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define TEXT(literal) VV_STR_LITERAL(literal)

static void names_are_taken_apart(void **state)
{
    (void)state;
    static const struct {
        struct vv_str name, tenant, place, class;
        bool is_space, is_tier, is_good;
    } cases[] = {
        {TEXT("plant"), TEXT("plant"), TEXT("plant"), TEXT(""), false, false, true},
        {TEXT("plant/hour"), TEXT("plant"), TEXT("plant"), TEXT(""), true, true, true},
        {TEXT("plant/late"), TEXT("plant"), TEXT("plant"), TEXT(""), true, false, true},
        {TEXT("plant/year"), TEXT("plant"), TEXT("plant"), TEXT(""), true, false, false},
        {TEXT("plant/"), TEXT("plant"), TEXT("plant"), TEXT(""), true, false, false},
        {TEXT("plant/@a"), TEXT("plant"), TEXT("plant/@a"), TEXT("a"), true, false, true},
        {TEXT("plant/@a/hour"), TEXT("plant"), TEXT("plant/@a"), TEXT("a"), true, true, true},
        {TEXT("plant/@a/late"), TEXT("plant"), TEXT("plant/@a"), TEXT("a"), true, false, true},
        {TEXT("plant/@a/b"), TEXT("plant"), TEXT("plant/@a"), TEXT("a"), true, false, false},
        {TEXT("plant/@a/hour/day"), TEXT("plant"), TEXT("plant/@a"), TEXT("a"), true, false, false},
        {TEXT("plant/@"), TEXT("plant"), TEXT("plant/@"), TEXT(""), true, false, false},
        {TEXT("plant/@a b"), TEXT("plant"), TEXT("plant/@a b"), TEXT("a b"), true, false, false},
        {TEXT("p@x"), TEXT("p@x"), TEXT("p@x"), TEXT(""), false, false, true},
        {TEXT("@"), TEXT("@"), TEXT("@"), TEXT(""), false, false, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct vv_str name = cases[i].name;
        enum vv_space space;
        assert_true(vv_str_equal(vv_space_tenant_name(name), cases[i].tenant));
        assert_true(vv_str_equal(vv_space_place_name(name), cases[i].place));
        assert_true(vv_str_equal(vv_space_class_name(name), cases[i].class));
        assert_int_equal(vv_space_is_name(name), cases[i].is_space);
        assert_int_equal(vv_space_of_name(name, &space), cases[i].is_tier);
        assert_int_equal(vv_space_has_good_suffix(name), cases[i].is_good);
    }
}

static void names_of_classes_are_short_words(void **state)
{
    (void)state;
    assert_true(vv_space_is_class_name(TEXT("debug-2_x.Y")));
    assert_true(vv_space_is_class_name(TEXT("abcdefghijklmnopqrstuvwxyz012345")));
    assert_false(vv_space_is_class_name(TEXT("abcdefghijklmnopqrstuvwxyz0123456")));
    assert_false(vv_space_is_class_name(TEXT("")));
    assert_false(vv_space_is_class_name(TEXT("a/b")));
    assert_false(vv_space_is_class_name(TEXT("a*")));
    assert_false(vv_space_is_class_name(TEXT("ä")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_taken_apart),
        cmocka_unit_test(names_of_classes_are_short_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
