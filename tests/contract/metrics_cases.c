/* SPDX-License-Identifier: Apache-2.0 */
/* What a store on Cassandra counts is told to Prometheus. */
#include "contract.h"

#include <string.h>

#define TENANT 5

/* The value of a line of the store's metrics; -1: there is none. */
static double metric_of(struct contract *c, const char *name)
{
    struct vv_buffer text = {0};
    char wanted[96];
    double value = -1;
    c->store->ops->write_metrics(c->store, &text);
    vv_buffer_u8(&text, '\0');
    assert_ok(vv_buffer_status(&text));
    snprintf(wanted, sizeof wanted, "\n%s ", name);
    const char *at = strstr((const char *)text.data, wanted);
    if (at) {
        assert_int_equal(sscanf(at + strlen(wanted), "%lf", &value), 1);
    }
    vv_buffer_deinit(&text);
    return value;
}

static void what_is_read_is_counted(void **state)
{
    struct contract *c = *state;
    struct vv_span_key key = span_of(TENANT, 1, 10, 3);
    put_run(c, &key, 7, 0, "abc");
    put_run(c, &key, 7, 1, "de");
    confirm(c);
    double reads = metric_of(c, "varve_cassandra_reads_total");
    double rows = metric_of(c, "varve_cassandra_read_rows_total");
    double bytes = metric_of(c, "varve_cassandra_read_bytes_total");
    assert_string_equal(pieces_text(c, &key.partition), "R3.7.0=abc R3.7.1=de");
    assert_true(metric_of(c, "varve_cassandra_reads_total") == reads + 1);
    assert_true(metric_of(c, "varve_cassandra_read_rows_total") == rows + 2);
    assert_true(metric_of(c, "varve_cassandra_read_bytes_total") == bytes + 5);
    assert_true(metric_of(c, "varve_cassandra_runs_refreshed_total") == 0);
    assert_true(metric_of(c, "varve_cassandra_hosts_up") >= 1);
    assert_true(metric_of(c, "varve_cassandra_hosts") >= metric_of(c, "varve_cassandra_hosts_up"));
    assert_true(metric_of(c, "varve_cassandra_timeouts_total") == 0);
    assert_true(metric_of(c, "varve_cassandra_warnings_total") == 0);
}

const struct contract_case metrics_cases[] = {
    CONTRACT_CASE_NEEDS(KEEPS_ROWS, what_is_read_is_counted),
    {0},
};
