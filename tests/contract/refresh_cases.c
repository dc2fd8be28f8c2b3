/* SPDX-License-Identifier: Apache-2.0 */
/* Runs in Cassandra that wait for long are written again before they expire. */
#include "rows.h"

#include <string.h>
#include <time.h>

#define TENANT 5
#define SLACK  VV_DAY /* of the back-end */

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * VV_SECOND + now.tv_nsec;
}

static void expect_times(const char *before, bool same)
{
    const char *after = cql_table_text(TENANT, "runs", "WRITETIME(data)");
    if ((strcmp(before, after) == 0) != same) {
        fail_msg("%s the same: %s, %s", same ? "not" : "still", before, after);
    }
}

static void runs_that_wait_for_half_the_slack_are_written_again(void **state)
{
    struct contract *c = *state;
    struct vv_span_key waits = span_of(TENANT, 1, 10, 3);
    struct vv_span_key sealed = span_of(TENANT, 2, 10, 3);
    int64_t now = now_ns();
    vv_stamp run = vv_stamp_make((uint64_t)now / 1000, 1);
    char before[256];
    put_run(c, &waits, run, 0, "a");
    put_run(c, &waits, run, 1, "b");
    put_mark(c, &waits, 5, run);
    put_run(c, &sealed, run, 0, "c");
    put_mark(c, &sealed, 6, run);
    put_block(c, &sealed, "c");
    remove_run(c, &sealed, run, 0);
    retire_mark(c, &sealed, 6, run);
    confirm(c);
    snprintf(before, sizeof before, "%s", cql_table_text(TENANT, "runs", "WRITETIME(data)"));
    expire(c, now);
    expect_times(before, true); /* too early */
    expire(c, now + SLACK / 2 + VV_MINUTE);
    expect_times(before, false);
    char expected[128];
    snprintf(expected, sizeof expected, "R3.%llu.0=a R3.%llu.1=b", (unsigned long long)run,
             (unsigned long long)run);
    assert_string_equal(pieces_text(c, &waits.partition), expected);
    assert_string_equal(pieces_text(c, &sealed.partition), "B3.0=c");
    snprintf(before, sizeof before, "%s", cql_table_text(TENANT, "runs", "WRITETIME(data)"));
    expire(c, now + SLACK / 2 + VV_HOUR);
    expect_times(before, true); /* not so soon again */
    expire(c, now + SLACK);
    expect_times(before, false);
    /* What is written meanwhile can still be sealed. */
    put_block(c, &waits, "ab");
    remove_run(c, &waits, run, 0);
    remove_run(c, &waits, run, 1);
    retire_mark(c, &waits, 5, run);
    confirm(c);
    assert_string_equal(pieces_text(c, &waits.partition), "B3.0=ab");
    snprintf(before, sizeof before, "%s", cql_table_text(TENANT, "runs", "WRITETIME(data)"));
    expire(c, now + 2 * SLACK);
    expect_times(before, true);
}

const struct contract_case refresh_cases[] = {
    CONTRACT_CASE_NEEDS(KEEPS_ROWS, runs_that_wait_for_half_the_slack_are_written_again),
    {0},
};
