/* SPDX-License-Identifier: Apache-2.0 */
/* The engine's part of the metrics page, in Prometheus text format. */
#include "engine/engine_private.h"

#include <stdio.h>
#include <unistd.h>

static void head_lines(struct vv_buffer *buffer, const char *name, const char *type,
                       const char *help)
{
    vv_buffer_format(buffer, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void single(struct vv_buffer *buffer, const char *name, const char *type, const char *help,
                   double value)
{
    head_lines(buffer, name, type, help);
    vv_buffer_format(buffer, "%s %.17g\n", name, value);
}

/* A label's value: backslash, quote and newline are escaped. */
static void label_value(struct vv_buffer *buffer, struct vv_str text)
{
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        if (c == '\\' || c == '"') {
            vv_buffer_u8(buffer, '\\');
        }
        vv_buffer_u8(buffer, (uint8_t)(c == '\n' ? ' ' : c));
    }
}

/* ---- accounts ---- */

enum account_field { FIELD_RECEIVED, FIELD_ACCEPTED, FIELD_ACCEPTED_HERE, FIELD_UNKNOWN };

static uint64_t field_of(const struct vv_account *account, enum account_field field)
{
    switch (field) {
    case FIELD_RECEIVED:
        return account->received;
    case FIELD_ACCEPTED:
        return account->accepted;
    case FIELD_ACCEPTED_HERE:
        return account->accepted_here;
    case FIELD_UNKNOWN:
        return account->unknown;
    }
    return 0;
}

static void account_lines(struct vv_engine *engine, struct vv_buffer *buffer, const char *name,
                          const char *help, enum account_field field)
{
    head_lines(buffer, name, "counter", help);
    uint32_t tenants = vv_registry_tenant_count(engine->registry);
    for (uint32_t i = 0; i < tenants; i++) {
        struct vv_str tenant = vv_registry_tenant_name(engine->registry, i);
        struct vv_account account;
        vv_engine_read_account(engine, i, &account);
        if (!vv_registry_is_tenant(engine->registry, i)) {
            continue;
        }
        vv_buffer_format(buffer, "%s{tenant=\"", name);
        label_value(buffer, tenant);
        vv_buffer_format(buffer, "\"} %llu\n", (unsigned long long)field_of(&account, field));
    }
}

static void refused_lines(struct vv_engine *engine, struct vv_buffer *buffer)
{
    head_lines(buffer, "varve_points_refused_total", "counter",
               "Points refused since the start, by reason.");
    uint32_t tenants = vv_registry_tenant_count(engine->registry);
    for (uint32_t i = 0; i < tenants; i++) {
        bool is_tenant = vv_registry_is_tenant(engine->registry, i);
        struct vv_str tenant = vv_registry_tenant_name(engine->registry, i);
        struct vv_account account;
        vv_engine_read_account(engine, i, &account);
        for (size_t reason = 0; reason < VV_REASON_COUNT && is_tenant; reason++) {
            if (account.refused[reason]) {
                vv_buffer_text(buffer, "varve_points_refused_total{tenant=\"");
                label_value(buffer, tenant);
                vv_buffer_format(buffer, "\",reason=\"%s\"} %llu\n",
                                 vv_reason_name((enum vv_reason)reason),
                                 (unsigned long long)account.refused[reason]);
            }
        }
    }
}

static void write_accounts(struct vv_engine *engine, struct vv_buffer *buffer)
{
    account_lines(engine, buffer, "varve_points_received_total", "Points seen since the start.",
                  FIELD_RECEIVED);
    account_lines(engine, buffer, "varve_points_accepted_total",
                  "Points accepted since the start: durable and readable.", FIELD_ACCEPTED_HERE);
    account_lines(engine, buffer, "varve_points_accepted_ever_total",
                  "Points accepted in the life of the data folder.", FIELD_ACCEPTED);
    account_lines(engine, buffer, "varve_points_unknown_total",
                  "Points whose outcome is unknown, since the start.", FIELD_UNKNOWN);
    refused_lines(engine, buffer);
}

/* ---- the write path ---- */

static void histogram_head(struct vv_buffer *buffer, const char *name, const char *help)
{
    head_lines(buffer, name, "histogram", help);
}

static void write_commits(struct vv_engine *engine, struct vv_buffer *buffer)
{
    struct vv_engine_counters *counters = &engine->counters;
    histogram_head(buffer, "varve_write_seconds",
                   "From a batch's submission to the end of its commit; of history by itself.");
    vv_histogram_write_durations(&counters->commit_wait, "varve_write_seconds", "kind=\"live\"",
                                 buffer);
    vv_histogram_write_durations(&counters->history_wait, "varve_write_seconds", "kind=\"history\"",
                                 buffer);
    histogram_head(buffer, "varve_commit_seconds", "The journal's write and sync of a round.");
    vv_histogram_write_durations(&counters->commit_duration, "varve_commit_seconds", "", buffer);
    histogram_head(buffer, "varve_ack_store_seconds",
                   "From a batch's commit to its outcome, of those that wait for the store.");
    vv_histogram_write_durations(&counters->ack_wait, "varve_ack_store_seconds", "", buffer);
    single(buffer, "varve_acks_waiting", "gauge", "Batches that wait for the store's confirmation.",
           (double)atomic_load(&counters->acks_waiting));
    single(buffer, "varve_ack_timeouts_total", "counter",
           "Batches that the store had not confirmed within ack.timeout; the journal has them.",
           (double)atomic_load(&counters->acks_timed_out));
    histogram_head(buffer, "varve_commit_batches", "Batches that shared one sync.");
    vv_histogram_write_counts(&counters->commit_batches, "varve_commit_batches", "", buffer);
    histogram_head(buffer, "varve_commit_points", "Points that shared one sync.");
    vv_histogram_write_counts(&counters->commit_points, "varve_commit_points", "", buffer);
}

static void write_journal(struct vv_engine *engine, struct vv_buffer *buffer)
{
    struct vv_journal_figures figures = {0};
    if (atomic_load(&engine->recovering)) {
        return; /* it is not open yet */
    }
    vv_journal_read_figures(engine->journal, &figures);
    int64_t now = engine->clock->wall_ns(engine->clock);
    double age = figures.oldest_ns ? (double)(now - figures.oldest_ns) / 1e9 : 0;
    single(buffer, "varve_journal_bytes", "gauge", "Records that are not in the store yet.",
           (double)figures.bytes);
    single(buffer, "varve_journal_file_bytes", "gauge", "Size of the journal's files.",
           (double)figures.file_bytes);
    single(buffer, "varve_journal_segments", "gauge", "The journal's files.",
           (double)figures.segments);
    single(buffer, "varve_journal_age_seconds", "gauge",
           "Age of the oldest record that is not in the store yet.", age > 0 ? age : 0);
    single(buffer, "varve_journal_syncs_total", "counter", "Syncs of the journal.",
           (double)figures.syncs);
    single(buffer, "varve_journal_sync_failures_total", "counter", "Failed syncs.",
           (double)figures.sync_failures);
}

static void write_head(struct vv_engine *engine, struct vv_buffer *buffer)
{
    struct vv_head_figures figures;
    vv_head_read_figures(engine->head, &figures);
    single(buffer, "varve_head_bytes", "gauge", "Memory of points that are not flushed yet.",
           (double)figures.bytes);
    single(buffer, "varve_head_points", "gauge", "Points that are not flushed yet.",
           (double)figures.points);
    single(buffer, "varve_head_series", "gauge", "Series that have points in the head.",
           (double)figures.series);
    single(buffer, "varve_head_generations", "gauge", "Generations of the head.",
           (double)figures.generations);
}

/* Not below 0; 0 where nobody has told a time. */
static double age_s(const struct vv_engine *engine, int64_t time_ns)
{
    double age = (double)engine->clock->wall_ns(engine->clock) / 1e9 - (double)time_ns / 1e9;
    return time_ns != INT64_MAX && age > 0 ? age : 0;
}

static void write_nodes(struct vv_engine *engine, struct vv_buffer *buffer)
{
    if (!engine->store->ops->shared) {
        return;
    }
    struct vv_peers_summary peers = vv_engine_sum_peers(engine);
    single(buffer, "varve_nodes_known", "gauge", "Other nodes that share the store.",
           (double)peers.n);
    single(buffer, "varve_nodes_gone", "gauge", "Of those, nodes that have not been heard of.",
           (double)peers.gone);
    single(buffer, "varve_nodes_flushed_age_seconds", "gauge",
           "How long ago the time is up to which all other nodes of this region have written "
           "what they took.",
           age_s(engine, peers.flushed_until_ns[0]));
}

static void write_regions(struct vv_engine *engine, struct vv_buffer *buffer)
{
    struct vv_region regions[VV_REGIONS_MAX];
    size_t n = vv_engine_read_regions(engine, regions);
    if (n == 0) {
        return;
    }
    vv_buffer_text(buffer,
                   "# HELP varve_region_readable Whether what a region stores is read here.\n"
                   "# TYPE varve_region_readable gauge\n");
    for (size_t i = 0; i < n; i++) {
        vv_buffer_format(buffer, "varve_region_readable{region=\"%s\"} %d\n", regions[i].name,
                         regions[i].state == VV_REGION_READABLE);
    }
    if (n > 1) {
        struct vv_peers_summary peers = vv_engine_sum_peers(engine);
        vv_buffer_text(buffer,
                       "# HELP varve_region_heard_age_seconds How long ago the time is up to which "
                       "another region's nodes said that they had written what they took.\n"
                       "# TYPE varve_region_heard_age_seconds gauge\n");
        for (size_t i = 1; i < n; i++) {
            vv_buffer_format(buffer, "varve_region_heard_age_seconds{region=\"%s\"} %.3f\n",
                             regions[i].name, age_s(engine, peers.flushed_until_ns[i]));
        }
    }
}

static void write_flushes(struct vv_engine *engine, struct vv_buffer *buffer)
{
    struct vv_engine_counters *counters = &engine->counters;
    histogram_head(buffer, "varve_flush_seconds", "A generation's way into the store.");
    vv_histogram_write_durations(&counters->flush_duration, "varve_flush_seconds", "", buffer);
    single(buffer, "varve_flushes_total", "counter", "Generations flushed.",
           (double)atomic_load(&counters->flushes));
    single(buffer, "varve_flush_failures_total", "counter", "Flushes that failed, to be repeated.",
           (double)atomic_load(&counters->flush_failures));
    single(buffer, "varve_flush_rows_total", "counter", "Rows flushed.",
           (double)atomic_load(&counters->flush_rows));
    single(buffer, "varve_flush_late_rows_total", "counter",
           "Of the rows flushed, those that came late and are kept apart.",
           (double)atomic_load(&counters->flush_late_rows));
    single(buffer, "varve_flush_bytes_total", "counter", "Encoded bytes of runs.",
           (double)atomic_load(&counters->flush_bytes));
}

static void write_seals(struct vv_engine *engine, struct vv_buffer *buffer)
{
    pthread_mutex_lock(&engine->lock);
    struct vv_seal_figures figures = engine->seal_figures;
    pthread_mutex_unlock(&engine->lock);
    single(buffer, "varve_seals_total", "counter", "Spans sealed.", (double)figures.spans);
    single(buffer, "varve_reseals_total", "counter", "Of those, spans that had a block already.",
           (double)figures.again);
    single(buffer, "varve_tier_units_total", "counter", "Units of tiers that were built.",
           (double)figures.units);
    single(buffer, "varve_tier_units_kept_total", "counter",
           "Of those, units that kept what they had: points came late for what has expired.",
           (double)figures.kept);
    single(buffer, "varve_seal_rows_total", "counter", "Rows in new blocks.", (double)figures.rows);
    single(buffer, "varve_seal_bytes_total", "counter", "Encoded bytes of new blocks.",
           (double)figures.bytes_out);
    single(buffer, "varve_seal_damaged_total", "counter",
           "Spans that cannot be sealed because a stored piece is damaged.",
           (double)figures.damaged);
    single(buffer, "varve_seals_put_off_total", "counter",
           "Times that a span was left for later, its part of the store being away.",
           (double)figures.put_off);
    single(buffer, "varve_seal_failures_total", "counter", "Seals that failed, to be repeated.",
           (double)atomic_load(&engine->counters.seal_failures));
    single(buffer, "varve_plans_changed_total", "counter", "Sources that were given another plan.",
           (double)atomic_load(&engine->counters.plans_changed));
    single(buffer, "varve_plans_outgrown_total", "counter",
           "Of those, sources that had outgrown the plan before.",
           (double)atomic_load(&engine->counters.plans_outgrown));
    single(buffer, "varve_plans_full_total", "counter",
           "Plans that were not changed, since no more changes of the source can be kept.",
           (double)atomic_load(&engine->counters.plans_full));
}

static void write_deletions(struct vv_engine *engine, struct vv_buffer *buffer)
{
    struct vv_engine_counters *counters = &engine->counters;
    struct vv_deletions_figures figures;
    vv_deletions_read_figures(engine->deletions, &figures);
    pthread_mutex_lock(&engine->lock);
    uint64_t hidden = engine->seal_figures.hidden;
    uint64_t cut = engine->seal_figures.cut;
    pthread_mutex_unlock(&engine->lock);
    single(buffer, "varve_deletions_total", "counter", "Requests that deleted something.",
           (double)atomic_load(&counters->deletions));
    single(buffer, "varve_deletion_markers", "gauge", "Markers of deletion that are kept.",
           (double)figures.markers);
    single(buffer, "varve_deletion_sources", "gauge", "Sources that have any.",
           (double)figures.sources);
    single(buffer, "varve_deletion_spans_marked_total", "counter",
           "Spans that are to be sealed again, since something of them is deleted.",
           (double)atomic_load(&counters->spans_swept));
    single(buffer, "varve_deletion_values_removed_total", "counter",
           "Deleted values that sealing left out.", (double)hidden);
    single(buffer, "varve_replaced_days_total", "counter",
           "Frozen days of a measurement of a source that were replaced.",
           (double)atomic_load(&counters->days_replaced));
    single(buffer, "varve_deletion_records_cut_total", "counter",
           "Records of tiers of which deleted steps were taken out.",
           (double)(atomic_load(&counters->records_cut) + cut));
    single(buffer, "varve_deletion_damaged_total", "counter",
           "What the sweep could not read, and left as it is.",
           (double)atomic_load(&counters->sweep_damaged));
}

/* ---- the rest ---- */

static void write_parked(struct vv_engine *engine, struct vv_buffer *buffer)
{
    if (!engine->store->ops->shared) {
        return;
    }
    struct vv_parked parked = vv_engine_parked(engine);
    int64_t since = parked.since_ns;
    double age = since ? (double)(engine->clock->wall_ns(engine->clock) - since) / 1e9 : 0;
    single(buffer, "varve_store_parked", "gauge",
           "What waits here for a part of the store that is away: pieces, marks, definitions.",
           (double)parked.n);
    single(buffer, "varve_store_parked_bytes", "gauge", "Their bytes.", (double)parked.bytes);
    single(buffer, "varve_store_parked_age_seconds", "gauge",
           "How long the oldest of it has waited.", age > 0 ? age : 0);
}

static void write_store(struct vv_engine *engine, struct vv_buffer *buffer)
{
    struct vv_store_figures figures = {0};
    engine->store->ops->read_figures(engine->store, &figures);
    single(buffer, "varve_store_disk_bytes", "gauge", "The store's files.",
           (double)figures.disk_bytes);
    single(buffer, "varve_store_memory_bytes", "gauge", "The store's buffers and caches.",
           (double)figures.memory_bytes);
    single(buffer, "varve_store_files", "gauge", "The store's files.", (double)figures.files);
    single(buffer, "varve_store_eras", "gauge", "Eras that exist.", (double)figures.eras);
    single(buffer, "varve_expiry_held_seconds", "gauge",
           "How far behind the clock nothing expires, since what is older waits to be sealed, or "
           "deletions to be swept.",
           (double)atomic_load(&engine->expiry_held_ns) / (double)VV_SECOND);
    single(buffer, "varve_store_eras_expired_total", "counter", "Eras dropped.",
           (double)figures.eras_expired);
    single(buffer, "varve_store_pending_bytes", "gauge", "Compaction that is not done yet.",
           (double)figures.pending_bytes);
    single(buffer, "varve_store_writable", "gauge",
           "1 when the store can be written, as far as is known.",
           atomic_load(&engine->store_failed) ? 0 : 1);
    single(buffer, "varve_store_recoveries_total", "counter", "Recoveries after failed writes.",
           (double)figures.recoveries);
    if (engine->store->ops->write_metrics) {
        engine->store->ops->write_metrics(engine->store, buffer);
    }
    write_parked(engine, buffer);
}

static void write_registry(struct vv_engine *engine, struct vv_buffer *buffer)
{
    struct vv_registry_figures figures;
    vv_registry_read_figures(engine->registry, &figures);
    single(buffer, "varve_tenants", "gauge", "Tenants.", (double)figures.tenants);
    single(buffer, "varve_sources", "gauge", "Sources.", (double)figures.sources);
    single(buffer, "varve_metrics", "gauge", "Metrics.", (double)figures.metrics);
    single(buffer, "varve_registry_bytes", "gauge", "Memory of names, tags and their index.",
           (double)figures.bytes);
    single(buffer, "varve_series_cache_hits_total", "counter", "Series found by their text.",
           (double)figures.cache_hits);
    single(buffer, "varve_series_cache_misses_total", "counter", "Series that were looked up.",
           (double)figures.cache_misses);
}

static void write_queries(struct vv_engine *engine, struct vv_buffer *buffer)
{
    static const char *const labels[VV_REQUEST_KINDS] = {"kind=\"query\"",   "kind=\"latest\"",
                                                         "kind=\"sources\"", "kind=\"metrics\"",
                                                         "kind=\"tags\"",    "kind=\"export\""};
    struct vv_engine_counters *counters = &engine->counters;
    histogram_head(buffer, "varve_query_seconds", "Duration of queries.");
    for (size_t i = 0; i < VV_REQUEST_KINDS; i++) {
        vv_histogram_write_durations(&counters->query_duration[i], "varve_query_seconds", labels[i],
                                     buffer);
    }
    head_lines(buffer, "varve_queries_failed_total", "counter", "Queries that ended in an error.");
    for (size_t i = 0; i < VV_REQUEST_KINDS; i++) {
        vv_buffer_format(buffer, "varve_queries_failed_total{%s} %llu\n", labels[i],
                         (unsigned long long)atomic_load(&counters->queries_failed[i]));
    }
    single(buffer, "varve_query_rows_total", "counter", "Rows answered.",
           (double)atomic_load(&counters->query_rows));
    single(buffer, "varve_query_bytes_total", "counter", "Encoded bytes that queries read.",
           (double)atomic_load(&counters->query_bytes));
    single(buffer, "varve_query_partitions_total", "counter", "Partitions that queries read.",
           (double)atomic_load(&counters->query_partitions));
}

static void write_process(struct vv_buffer *buffer)
{
    struct timespec cpu;
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu) == 0) {
        single(buffer, "process_cpu_seconds_total", "counter", "CPU time of the process.",
               (double)cpu.tv_sec + (double)cpu.tv_nsec / 1e9);
    }
    unsigned long size = 0;
    unsigned long resident = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file) {
        if (fscanf(file, "%lu %lu", &size, &resident) == 2) {
            double page = (double)sysconf(_SC_PAGESIZE);
            single(buffer, "process_virtual_memory_bytes", "gauge", "Virtual memory.",
                   (double)size * page);
            single(buffer, "process_resident_memory_bytes", "gauge", "Resident memory.",
                   (double)resident * page);
        }
        fclose(file);
    }
}

void vv_engine_write_metrics(struct vv_engine *engine, struct vv_buffer *buffer)
{
    write_process(buffer);
    write_journal(engine, buffer);
    write_head(engine, buffer);
    write_store(engine, buffer);
    if (atomic_load(&engine->recovering)) {
        return; /* the registry is being filled */
    }
    write_accounts(engine, buffer);
    write_commits(engine, buffer);
    write_flushes(engine, buffer);
    write_seals(engine, buffer);
    write_deletions(engine, buffer);
    write_nodes(engine, buffer);
    write_regions(engine, buffer);
    write_registry(engine, buffer);
    write_queries(engine, buffer);
}
