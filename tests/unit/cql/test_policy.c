/* SPDX-License-Identifier: Apache-2.0 */
/* Waits within their bounds, and each line of the table of retries. */
#include "cql/policy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define LENGTH(array) (sizeof(array) / sizeof *(array))

/* ---- random numbers ---- */

static void numbers_of_a_known_state(void **state)
{
    (void)state;
    /* From state 1: x = 1 ^ 1 << 25, then x ^= x >> 27 changes nothing. */
    uint64_t random = 1;
    uint64_t expected = (1 + (UINT64_C(1) << 25)) * UINT64_C(2685821657736338717);
    assert_int_equal(vvcql_random(&random), expected);
    assert_int_equal(random, 1 + (UINT64_C(1) << 25));
}

static void numbers_are_spread(void **state)
{
    (void)state;
    uint64_t random = 77;
    int counts[64] = {0};
    for (int i = 0; i < 20000; i++) {
        uint64_t number = vvcql_random(&random);
        assert_int_not_equal(random, 0);
        for (int bit = 0; bit < 64; bit++) {
            counts[bit] += (int)(number >> bit & 1);
        }
    }
    for (int bit = 0; bit < 64; bit++) {
        assert_in_range(counts[bit], 9600, 10400);
    }
}

/* ---- waits ---- */

/* The least and the greatest wait of many. */
static void check_waits(uint32_t first_ms, uint32_t last_ms, uint32_t failures, uint32_t least_ms,
                        uint32_t most_ms)
{
    uint64_t random = 5;
    uint32_t least = UINT32_MAX;
    uint32_t most = 0;
    for (int i = 0; i < 20000; i++) {
        uint32_t wait_ms = vvcql_backoff_ms(first_ms, last_ms, failures, &random);
        least = wait_ms < least ? wait_ms : least;
        most = wait_ms > most ? wait_ms : most;
    }
    assert_in_range(least, least_ms, least_ms + (most_ms - least_ms) / 50);
    assert_in_range(most, most_ms - (most_ms - least_ms) / 50, most_ms);
}

static void waits_double_up_to_the_last(void **state)
{
    (void)state;
    check_waits(500, 30000, 1, 250, 500);
    check_waits(500, 30000, 2, 500, 1000);
    check_waits(500, 30000, 3, 1000, 2000);
    check_waits(500, 30000, 6, 8000, 16000);
    check_waits(500, 30000, 7, 15000, 30000);
    check_waits(500, 30000, 8, 15000, 30000);
    check_waits(500, 30000, UINT32_MAX, 15000, 30000);
}

static void waits_of_odd_settings(void **state)
{
    (void)state;
    check_waits(500, 30000, 0, 250, 500);
    check_waits(0, 0, 9, 0, 0);
    check_waits(0, 30000, UINT32_MAX, 0, 0);
    check_waits(1, 1, 3, 1, 1);
    check_waits(30000, 500, 1, 250, 500);
    check_waits(UINT32_MAX, UINT32_MAX, 40, UINT32_MAX / 2 + 1, UINT32_MAX);
}

/* ---- retries ---- */

enum { NO = VVCQL_RETRY_NO, SAME = VVCQL_RETRY_SAME, NEXT = VVCQL_RETRY_NEXT };

struct rule {
    int32_t code; /* with status VVCQL_SERVER; else `status` */
    enum vvcql_status status;
    int not_sent;
    int idempotent; /* and sent, as the other one */
    int other;
};

static const struct rule rules[] = {
    {VVCQL_CODE_UNAVAILABLE, VVCQL_SERVER, NEXT, NEXT, NEXT},
    {VVCQL_CODE_IS_BOOTSTRAPPING, VVCQL_SERVER, NEXT, NEXT, NEXT},
    {VVCQL_CODE_OVERLOADED, VVCQL_SERVER, NEXT, NEXT, NO},
    {VVCQL_CODE_READ_TIMEOUT, VVCQL_SERVER, NEXT, NEXT, NO},
    {VVCQL_CODE_READ_FAILURE, VVCQL_SERVER, NEXT, NEXT, NO},
    {VVCQL_CODE_WRITE_TIMEOUT, VVCQL_SERVER, NEXT, NEXT, NO},
    {VVCQL_CODE_WRITE_FAILURE, VVCQL_SERVER, NEXT, NEXT, NO},
    {VVCQL_CODE_SERVER_ERROR, VVCQL_SERVER, NEXT, NEXT, NO},
    {VVCQL_CODE_TRUNCATE_ERROR, VVCQL_SERVER, NEXT, NEXT, NO},
    {VVCQL_CODE_PROTOCOL_ERROR, VVCQL_SERVER, NO, NO, NO},
    {VVCQL_CODE_BAD_CREDENTIALS, VVCQL_SERVER, NO, NO, NO},
    {VVCQL_CODE_FUNCTION_FAILURE, VVCQL_SERVER, NO, NO, NO},
    {VVCQL_CODE_SYNTAX_ERROR, VVCQL_SERVER, NO, NO, NO},
    {VVCQL_CODE_UNAUTHORIZED, VVCQL_SERVER, NO, NO, NO},
    {VVCQL_CODE_INVALID, VVCQL_SERVER, NO, NO, NO},
    {VVCQL_CODE_CONFIG_ERROR, VVCQL_SERVER, NO, NO, NO},
    {VVCQL_CODE_ALREADY_EXISTS, VVCQL_SERVER, NO, NO, NO},
    {VVCQL_CODE_UNPREPARED, VVCQL_SERVER, NO, NO, NO},
    {VVCQL_CODE_CDC_WRITE_FAILURE, VVCQL_SERVER, NO, NO, NO},
    {VVCQL_CODE_CAS_WRITE_UNKNOWN, VVCQL_SERVER, NO, NO, NO},
    {0x7777, VVCQL_SERVER, NO, NO, NO},
    {VVCQL_CODE_NONE, VVCQL_LOST, NEXT, NEXT, NO},
    {VVCQL_CODE_NONE, VVCQL_PROTOCOL, NEXT, NEXT, NO},
    {VVCQL_CODE_NONE, VVCQL_UNREACHABLE, NEXT, NO, NO},
    {VVCQL_CODE_NONE, VVCQL_REFUSED, NEXT, NO, NO},
    {VVCQL_CODE_NONE, VVCQL_OVERLOADED, NEXT, NO, NO},
    {VVCQL_CODE_NONE, VVCQL_INVALID, NO, NO, NO},
    {VVCQL_CODE_NONE, VVCQL_NO_MEMORY, NO, NO, NO},
    {VVCQL_CODE_NONE, VVCQL_TIMEOUT, NO, NO, NO},
    {VVCQL_CODE_NONE, VVCQL_CLOSED, NO, NO, NO},
};

static struct vvcql_error error_of(const struct rule *rule)
{
    return (struct vvcql_error){
        .status = rule->status, .code = rule->code, .received = 1, .required = 2};
}

static void check(size_t i, struct vvcql_attempt attempt, int expected)
{
    struct vvcql_error error = error_of(&rules[i]);
    attempt.retries_max = 3;
    int retry = (int)vvcql_retry_after(&attempt, &error);
    if (retry != expected) {
        fail_msg("rule %zu: %d, not %d", i, retry, expected);
    }
}

static void the_table_of_retries(void **state)
{
    (void)state;
    for (size_t i = 0; i < LENGTH(rules); i++) {
        const struct rule *rule = &rules[i];
        check(i, (struct vvcql_attempt){.is_idempotent = false}, rule->not_sent);
        check(i, (struct vvcql_attempt){.is_idempotent = true}, rule->not_sent);
        check(i, (struct vvcql_attempt){.is_conditional = true}, rule->not_sent);
        check(i, (struct vvcql_attempt){.was_sent = true, .is_idempotent = true}, rule->idempotent);
        check(i, (struct vvcql_attempt){.was_sent = true}, rule->other);
    }
}

static void a_conditional_statement_is_sent_once(void **state)
{
    (void)state;
    for (size_t i = 0; i < LENGTH(rules); i++) {
        check(i, (struct vvcql_attempt){.was_sent = true, .is_conditional = true}, NO);
        check(
            i,
            (struct vvcql_attempt){.was_sent = true, .is_conditional = true, .is_idempotent = true},
            NO);
    }
}

static void no_more_than_the_greatest_number(void **state)
{
    (void)state;
    for (size_t i = 0; i < LENGTH(rules); i++) {
        struct vvcql_error error = error_of(&rules[i]);
        struct vvcql_attempt attempt = {.is_idempotent = true, .was_sent = true};
        assert_int_equal(vvcql_retry_after(&attempt, &error), NO);
        attempt.retries = attempt.retries_max = 3;
        assert_int_equal(vvcql_retry_after(&attempt, &error), NO);
        attempt.was_sent = false;
        assert_int_equal(vvcql_retry_after(&attempt, &error), NO);
        attempt.retries = 2;
        if (rules[i].code != VVCQL_CODE_UNAVAILABLE) {
            assert_int_equal(vvcql_retry_after(&attempt, &error), rules[i].not_sent);
        }
    }
}

static void unavailable_is_tried_elsewhere_once(void **state)
{
    (void)state;
    struct vvcql_error error = {.status = VVCQL_SERVER, .code = VVCQL_CODE_UNAVAILABLE};
    struct vvcql_attempt attempt = {.is_idempotent = true, .was_sent = true, .retries_max = 9};
    assert_int_equal(vvcql_retry_after(&attempt, &error), NEXT);
    attempt.retries = 1;
    assert_int_equal(vvcql_retry_after(&attempt, &error), NO);
}

/* Enough replicas answered, the one with the data did not: it is known to be slow by now. */
static void a_read_that_lacked_only_data(void **state)
{
    (void)state;
    struct vvcql_error error = {
        .status = VVCQL_SERVER, .code = VVCQL_CODE_READ_TIMEOUT, .received = 2, .required = 2};
    struct vvcql_attempt attempt = {.is_idempotent = true, .was_sent = true, .retries_max = 9};
    assert_int_equal(vvcql_retry_after(&attempt, &error), SAME);
    error.received = 3;
    assert_int_equal(vvcql_retry_after(&attempt, &error), SAME);
    attempt.retries = 1;
    assert_int_equal(vvcql_retry_after(&attempt, &error), NEXT);
    attempt.retries = 0;
    attempt.is_idempotent = false;
    assert_int_equal(vvcql_retry_after(&attempt, &error), NO);
    attempt.is_idempotent = true;
    error.data_present = true;
    assert_int_equal(vvcql_retry_after(&attempt, &error), NEXT);
    error.data_present = false;
    error.received = 1;
    assert_int_equal(vvcql_retry_after(&attempt, &error), NEXT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_of_a_known_state),
        cmocka_unit_test(numbers_are_spread),
        cmocka_unit_test(waits_double_up_to_the_last),
        cmocka_unit_test(waits_of_odd_settings),
        cmocka_unit_test(the_table_of_retries),
        cmocka_unit_test(a_conditional_statement_is_sent_once),
        cmocka_unit_test(no_more_than_the_greatest_number),
        cmocka_unit_test(unavailable_is_tried_elsewhere_once),
        cmocka_unit_test(a_read_that_lacked_only_data),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
