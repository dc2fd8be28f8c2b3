/* SPDX-License-Identifier: Apache-2.0 */
/* Forms: decoding, bad escapes, bounds. (Those of the URL are tested with the server.) */
#include "http/parameters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static struct vv_parameters parsed(const char *form)
{
    struct vv_parameters parameters = {0};
    struct vv_error error = {0};
    assert_int_equal(vv_parameters_add_form(&parameters, vv_str_of(form), &error), VV_OK);
    return parameters;
}

static void check(const struct vv_parameters *parameters, size_t i, const char *name,
                  const char *value)
{
    assert_true(i < parameters->n);
    assert_true(vv_str_equal(parameters->items[i].name, vv_str_of(name)));
    assert_true(vv_str_equal(parameters->items[i].value, vv_str_of(value)));
}

static void test_decodes(void **state)
{
    (void)state;
    struct vv_parameters parameters = parsed("a=1&b=x+y%20z%2B&&c&=d&e=f=g&a=2&%61%62=%C2%B0");
    assert_int_equal(parameters.n, 7);
    check(&parameters, 0, "a", "1");
    check(&parameters, 1, "b", "x y z+");
    check(&parameters, 2, "c", "");
    check(&parameters, 3, "", "d");
    check(&parameters, 4, "e", "f=g");
    check(&parameters, 5, "a", "2");
    check(&parameters, 6, "ab", "\xC2\xB0");
    struct vv_str last = vv_parameters_find(&parameters, "a");
    assert_true(vv_str_equal(last, VV_STR_LITERAL("2")));
    assert_null(vv_parameters_find(&parameters, "missing").data);
    vv_parameters_remove(&parameters, "a");
    assert_int_equal(parameters.n, 5);
    assert_null(vv_parameters_find(&parameters, "a").data);
    check(&parameters, 0, "b", "x y z+");
    vv_parameters_deinit(&parameters);
}

static void test_empty_form_has_none(void **state)
{
    (void)state;
    struct vv_parameters parameters = parsed("");
    assert_int_equal(parameters.n, 0);
    struct vv_error error = {0};
    assert_int_equal(vv_parameters_add_form(&parameters, (struct vv_str){NULL, 0}, &error), VV_OK);
    vv_parameters_deinit(&parameters);
}

static void test_bad_escapes_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"a=%", "a=%4", "a=%4g", "a=%zz", "%=1", "a=100%&b=2"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct vv_parameters parameters = {0};
        struct vv_error error = {0};
        assert_int_equal(vv_parameters_add_form(&parameters, vv_str_of(bad[i]), &error),
                         VV_INVALID);
        assert_non_null(strstr(error.message, "%25"));
        vv_parameters_deinit(&parameters);
    }
}

static void test_number_is_bounded(void **state)
{
    (void)state;
    struct vv_buffer form = {0};
    for (int i = 0; i < VV_PARAMETERS_MAX; i++) {
        vv_buffer_format(&form, "&p=%d", i);
    }
    struct vv_parameters parameters = {0};
    struct vv_error error = {0};
    struct vv_str text = {(const char *)form.data, form.size};
    assert_int_equal(vv_parameters_add_form(&parameters, text, &error), VV_OK);
    assert_int_equal(parameters.n, VV_PARAMETERS_MAX);
    assert_int_equal(vv_parameters_add_form(&parameters, VV_STR_LITERAL("q=1"), &error),
                     VV_INVALID);
    vv_parameters_deinit(&parameters);
    vv_buffer_deinit(&form);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decodes),
        cmocka_unit_test(test_empty_form_has_none),
        cmocka_unit_test(test_bad_escapes_are_refused),
        cmocka_unit_test(test_number_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
