/* SPDX-License-Identifier: Apache-2.0 */
/* What the store on Cassandra counts, and its client, as lines for Prometheus. */
#include "store/cassandra/cassandra.h"

void vv_cassandra_read_figures(struct vv_store *base, struct vv_store_figures *figures_out)
{
    struct vv_cassandra *store = vv_cassandra_of(base);
    store->local->ops->read_figures(store->local, figures_out);
    figures_out->recoveries = atomic_load(&store->recoveries);
}

static void line(struct vv_buffer *out, const char *name, const char *type, const char *help,
                 uint64_t value)
{
    vv_buffer_format(out, "# HELP varve_cassandra_%s %s\n# TYPE varve_cassandra_%s %s\n", name,
                     help, name, type);
    vv_buffer_format(out, "varve_cassandra_%s %llu\n", name, (unsigned long long)value);
}

static void write_requests(const struct vvcql_counters *counters, struct vv_buffer *out)
{
    line(out, "requests_total", "counter", "Requests, however they ended.", counters->requests);
    line(out, "errors_total", "counter", "Of those, requests that failed.", counters->errors);
    line(out, "timeouts_total", "counter", "Of those, requests that no host answered in time.",
         counters->timeouts);
    line(out, "overloaded_total", "counter", "Of those, requests that were one too many.",
         counters->overloaded);
    line(out, "retries_total", "counter", "Attempts after a request's first one.",
         counters->retries);
    line(out, "speculative_total", "counter",
         "Queries asked of a second host since the first one was slow.", counters->speculative);
    line(out, "speculative_won_total", "counter", "Of those, queries that the second one answered.",
         counters->speculative_won);
    line(out, "unprepared_total", "counter", "Statements that a host had forgotten.",
         counters->unprepared);
    line(out, "warnings_total", "counter", "Warnings in Cassandra's answers.", counters->warnings);
    line(out, "requests_in_flight", "gauge", "Requests that have not ended.", counters->in_flight);
    line(out, "orphans", "gauge", "Requests that ended and may still be answered.",
         counters->orphans);
}

static void write_hosts(const struct vvcql_counters *counters, struct vv_buffer *out)
{
    line(out, "sent_bytes_total", "counter", "Bytes sent to Cassandra.", counters->bytes_sent);
    line(out, "received_bytes_total", "counter", "Bytes that came from Cassandra.",
         counters->bytes_received);
    line(out, "connections_opened_total", "counter", "Connections that were ready.",
         counters->connections_opened);
    line(out, "connections_lost_total", "counter", "Connections that ended unasked.",
         counters->connections_lost);
    line(out, "hosts", "gauge", "Hosts of the cluster, of all data centres.", counters->hosts);
    line(out, "hosts_up", "gauge", "Hosts with a connection.", counters->hosts_up);
}

void vv_cassandra_write_metrics(struct vv_store *base, struct vv_buffer *out)
{
    struct vv_cassandra *store = vv_cassandra_of(base);
    struct vvcql_counters counters;
    vvcql_session_counters(store->session, &counters);
    write_requests(&counters, out);
    write_hosts(&counters, out);
    line(out, "reads_total", "counter", "Partitions asked for, by measurement.",
         atomic_load(&store->reads));
    line(out, "read_rows_total", "counter", "Rows of Cassandra that were read.",
         atomic_load(&store->rows_read));
    line(out, "read_bytes_total", "counter", "Bytes of what was read, unpacked.",
         atomic_load(&store->bytes_read));
    line(out, "runs_refreshed_total", "counter",
         "Runs that waited for being sealed for half of cassandra.slack, written again.",
         atomic_load(&store->runs_refreshed));
    if (store->purges) {
        const struct vv_purge_figures *purge = &store->purge.figures;
        line(out, "purge_copied_total", "counter", "Partitions copied, since they live.",
             atomic_load(&purge->copied));
        line(out, "purge_left_total", "counter", "Partitions not copied, since they are over.",
             atomic_load(&purge->left));
        line(out, "purge_bytes_total", "counter", "Bytes copied.", atomic_load(&purge->bytes));
        line(out, "purge_truncated_total", "counter", "Tables truncated.",
             atomic_load(&purge->tables));
        line(out, "purge_state_since_seconds", "gauge",
             "Unix time since which a purge under way is in its state; 0: none is.",
             (uint64_t)(atomic_load(&purge->since_ms) / 1000));
        line(out, "purge_ended_seconds", "gauge",
             "Unix time when this node last ended a purge; 0: not since its start.",
             (uint64_t)(atomic_load(&purge->last_end_ns) / VV_SECOND));
    }
}
