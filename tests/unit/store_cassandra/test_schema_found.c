/* SPDX-License-Identifier: Apache-2.0 */
/* Failures to read the schema: those that pass by themselves, and those that somebody must mend. */
#include "store/cassandra/schema_private.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static enum vv_status failed(enum vvcql_status status, int32_t code)
{
    struct vvcql_error from = {0};
    struct vv_error error = {0};
    (void)vvcql_error_set(&from, status, "what it says");
    from.code = code;
    enum vv_status found = vv_schema_failed(&from, "reading", &error);
    assert_non_null(strstr(error.message, "what it says"));
    return found;
}

static void what_passes_is_an_io_error(void **state)
{
    (void)state;
    static const enum vvcql_status statuses[] = {VVCQL_UNREACHABLE, VVCQL_TIMEOUT, VVCQL_LOST,
                                                 VVCQL_OVERLOADED};
    static const int32_t codes[] = {VVCQL_CODE_UNAVAILABLE,      VVCQL_CODE_READ_TIMEOUT,
                                    VVCQL_CODE_READ_FAILURE,     VVCQL_CODE_OVERLOADED,
                                    VVCQL_CODE_IS_BOOTSTRAPPING, VVCQL_CODE_SERVER_ERROR};
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++) {
        assert_int_equal(failed(statuses[i], VVCQL_CODE_NONE), VV_IO);
    }
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        assert_int_equal(failed(VVCQL_SERVER, codes[i]), VV_IO);
    }
}

static void what_somebody_must_mend_is_invalid(void **state)
{
    (void)state;
    static const int32_t codes[] = {VVCQL_CODE_UNAUTHORIZED, VVCQL_CODE_INVALID,
                                    VVCQL_CODE_SYNTAX_ERROR, VVCQL_CODE_CONFIG_ERROR};
    assert_int_equal(failed(VVCQL_REFUSED, VVCQL_CODE_NONE), VV_INVALID);
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        assert_int_equal(failed(VVCQL_SERVER, codes[i]), VV_INVALID);
    }
}

static void memory_is_neither(void **state)
{
    (void)state;
    assert_int_equal(failed(VVCQL_NO_MEMORY, VVCQL_CODE_NONE), VV_NO_MEMORY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_passes_is_an_io_error),
        cmocka_unit_test(what_somebody_must_mend_is_invalid),
        cmocka_unit_test(memory_is_neither),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
