/* SPDX-License-Identifier: Apache-2.0 */
/* Errors filled, and names. */
#include "cql/error.h"

#include "notation.h"

static void test_an_error_is_filled_anew(void **state)
{
    (void)state;
    struct vvcql_error error;
    memset(&error, 0x5A, sizeof error);
    assert_int_equal(vvcql_error_set(&error, VVCQL_TIMEOUT, "after %d ms", 12), VVCQL_TIMEOUT);
    assert_int_equal(error.status, VVCQL_TIMEOUT);
    assert_int_equal(error.code, VVCQL_CODE_NONE);
    assert_false(error.outcome_unknown);
    assert_int_equal(error.received, 0);
    assert_string_equal(error.host, "");
    assert_string_equal(error.message, "after 12 ms");
    assert_int_equal(vvcql_error_set(NULL, VVCQL_LOST, "%s", "x"), VVCQL_LOST);
}

static void test_a_message_may_hold_the_one_before(void **state)
{
    (void)state;
    struct vvcql_error error;
    vvcql_error_set(&error, VVCQL_LOST, "reset\nby peer");
    vvcql_error_set(&error, VVCQL_UNREACHABLE, "no host: %s", error.message);
    assert_string_equal(error.message, "no host: reset?by peer");
}

static void test_a_long_message_is_cut_between_characters(void **state)
{
    (void)state;
    char text[2 * VVCQL_MESSAGE_MAX] = "";
    for (size_t start = 0; start < 4; start++) {
        memset(text, 'a', start);
        for (size_t i = start; i + 4 < sizeof text; i += 4) {
            memcpy(text + i, "\xf0\x9f\x8c\x8d", 5);
        }
        struct vvcql_error error;
        vvcql_error_set(&error, VVCQL_LOST, "%s", text);
        size_t characters = (VVCQL_MESSAGE_MAX - 1 - start) / 4;
        assert_int_equal(strlen(error.message), start + 4 * characters);
        assert_memory_equal(error.message, text, strlen(error.message));
    }
}

static void test_names_are_stable(void **state)
{
    (void)state;
    assert_string_equal(vvcql_status_name(VVCQL_OK), "ok");
    assert_string_equal(vvcql_status_name(VVCQL_NO_MEMORY), "no_memory");
    assert_string_equal(vvcql_status_name(VVCQL_CLOSED), "closed");
    assert_string_equal(vvcql_status_name((enum vvcql_status)(VVCQL_CLOSED + 1)), "unknown");
    assert_string_equal(vvcql_code_name(VVCQL_CODE_NONE), "none");
    assert_string_equal(vvcql_code_name(VVCQL_CODE_SERVER_ERROR), "server_error");
    assert_string_equal(vvcql_code_name(VVCQL_CODE_UNAVAILABLE), "unavailable");
    assert_string_equal(vvcql_code_name(VVCQL_CODE_CAS_WRITE_UNKNOWN), "cas_write_unknown");
    assert_string_equal(vvcql_code_name(INT32_MIN), "unknown");
    for (int i = VVCQL_OK; i <= VVCQL_CLOSED; i++) {
        assert_string_not_equal(vvcql_status_name((enum vvcql_status)i), "unknown");
    }
}

static void test_consistency_levels_go_by_name(void **state)
{
    (void)state;
    for (int i = VVCQL_ANY; i <= VVCQL_LOCAL_ONE; i++) {
        enum vvcql_consistency found = VVCQL_LOCAL_ONE;
        assert_true(
            vvcql_consistency_of(vvcql_consistency_name((enum vvcql_consistency)i), &found));
        assert_int_equal(found, i);
    }
    enum vvcql_consistency level = VVCQL_ONE;
    assert_true(vvcql_consistency_of("local_Quorum", &level));
    assert_int_equal(level, VVCQL_LOCAL_QUORUM);
    assert_false(vvcql_consistency_of("LOCAL", &level));
    assert_false(vvcql_consistency_of("", &level));
    assert_int_equal(level, VVCQL_LOCAL_QUORUM);
    assert_string_equal(vvcql_consistency_name((enum vvcql_consistency)0x0B), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_error_is_filled_anew),
        cmocka_unit_test(test_a_message_may_hold_the_one_before),
        cmocka_unit_test(test_a_long_message_is_cut_between_characters),
        cmocka_unit_test(test_names_are_stable),
        cmocka_unit_test(test_consistency_levels_go_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
