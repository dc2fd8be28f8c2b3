/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of status words and error messages. */
#include "base/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_every_status_has_its_own_name(void **state)
{
    (void)state;
    for (int i = VV_OK; i <= VV_CANCELLED; i++) {
        assert_string_not_equal(vv_status_name((enum vv_status)i), "unlisted");
        for (int j = VV_OK; j < i; j++) {
            assert_string_not_equal(vv_status_name((enum vv_status)i),
                                    vv_status_name((enum vv_status)j));
        }
    }
    assert_string_equal(vv_status_name((enum vv_status)999), "unlisted");
}

static void test_messages_are_set_and_prefixed(void **state)
{
    (void)state;
    struct vv_error error = {0};
    assert_int_equal(vv_error_set(&error, VV_FULL, "no space for %d", 7), VV_FULL);
    assert_string_equal(error.message, "no space for 7");
    assert_int_equal(vv_error_prefix(&error, VV_IO, "file %s", "x"), VV_IO);
    assert_string_equal(error.message, "file x: no space for 7");
    assert_int_equal(vv_error_set(NULL, VV_IO, "ignored"), VV_IO);
    assert_int_equal(vv_error_prefix(NULL, VV_IO, "ignored"), VV_IO);
}

static void test_long_messages_are_cut(void **state)
{
    (void)state;
    char text[2000];
    memset(text, 'a', sizeof text);
    text[sizeof text - 1] = '\0';
    struct vv_error error = {0};
    assert_int_equal(vv_error_set(&error, VV_IO, "%s", text), VV_IO);
    assert_int_equal(strlen(error.message), sizeof error.message - 1);
    assert_int_equal(vv_error_prefix(&error, VV_IO, "first"), VV_IO);
    assert_int_equal(strlen(error.message), sizeof error.message - 1);
    assert_memory_equal(error.message, "first: aaa", 10);
    assert_int_equal(vv_error_prefix(&error, VV_IO, "%s", text), VV_IO);
    assert_int_equal(strlen(error.message), sizeof error.message - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_status_has_its_own_name),
        cmocka_unit_test(test_messages_are_set_and_prefixed),
        cmocka_unit_test(test_long_messages_are_cut),
    };
    return cmocka_run_group_tests_name("status", tests, NULL, NULL);
}
