/* SPDX-License-Identifier: Apache-2.0 */
/* The table of settings. Its order is the order of the documents; rows of a section stand together.
 */
#include "settings/table.h"

#include "base/clock.h"
#include "settings/suggest.h"

#include <assert.h>

#define KIB INT64_C(1024)
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)
#define TIB (1024 * GIB)

#define YEARS_100 (36525 * VV_DAY)

#define AT(member) offsetof(struct vv_settings, member)

#define SIZE(name, member, preset, least, most, zero, meaning)                                     \
    {                                                                                              \
        name, VV_SETTING_SIZE, AT(member), preset, least, most, zero, NULL, meaning                \
    }
#define DURATION(name, member, preset, least, most, zero, meaning)                                 \
    {                                                                                              \
        name, VV_SETTING_DURATION, AT(member), preset, least, most, zero, NULL, meaning            \
    }
#define INT(name, member, preset, least, most, zero, meaning)                                      \
    {                                                                                              \
        name, VV_SETTING_INT, AT(member), preset, least, most, zero, NULL, meaning                 \
    }
#define BOOL(name, member, preset, meaning)                                                        \
    {                                                                                              \
        name, VV_SETTING_BOOL, AT(member), preset, 0, 1, NULL, NULL, meaning                       \
    }
#define TEXT(name, member, preset, least, meaning)                                                 \
    {                                                                                              \
        name, VV_SETTING_TEXT, AT(member), preset, least, VV_SETTING_TEXT_MAX - 1, NULL, NULL,     \
            meaning                                                                                \
    }
#define ENUM(name, member, preset, choices, meaning)                                               \
    {                                                                                              \
        name, VV_SETTING_ENUM, AT(member), preset, 1, VV_SETTING_TEXT_MAX - 1, NULL, choices,      \
            meaning                                                                                \
    }

#define SECRET(name, member, meaning)                                                              \
    {                                                                                              \
        name, VV_SETTING_SECRET, AT(member), "", 0, VV_SETTING_TEXT_MAX - 1, NULL, NULL, meaning   \
    }

static_assert(sizeof(((struct vv_settings *)0)->data) == VV_SETTING_TEXT_MAX,
              "texts have one length");

const struct vv_setting vv_setting_table[] = {
    TEXT("data", data, "varve-data", 1,
         "The folder that holds everything: journal and store. It is made if it is missing, and "
         "only one process can use it"),
    ENUM("log.level", log_level, "info", "debug|info|warn|error",
         "The least important lines that are logged. The log goes to standard error"),

    TEXT("http.listen", listen, "127.0.0.1:8987", 3,
         "HOST:PORT to listen on. `0.0.0.0:8987` is every IPv4 interface, `[::]:8987` every one; "
         "port 0 takes any free port. There is no authentication yet: let only those in who may "
         "read and write everything"),
    INT("http.threads", http_threads, "2", 1, 64, NULL,
        "Threads that read requests and parse what is written; more are started when there would "
        "be less than one for each 125 connections"),
    INT("http.connections_max", http_connections_max, "1000", 1, 100000, NULL,
        "Connections at the same time; further ones wait. Each takes a file descriptor and "
        "up to 256 KiB while it is busy"),
    SIZE("http.body_bytes_max", http_body_bytes_max, "64MiB", 64 * KIB, 16 * GIB, NULL,
         "The largest request body; a larger one is answered 413. Bodies are read piece by piece, "
         "so this bounds time and not memory"),
    DURATION("http.idle_max", http_idle_ns_max, "30s", VV_SECOND, VV_HOUR, NULL,
             "A connection on which nothing moves for so long is closed"),

    TEXT("ingest.id_tag", id_tag, "", 0,
         "The tag whose value is the source's id, for example `host`; the other tags then describe "
         "the source. Empty: all tags together are the id. Choose it before the first write"),
    DURATION("ingest.future_max", future_ns_max, "10m", VV_SECOND, 365 * VV_DAY, NULL,
             "Points later than now by more than this are refused: one wrong clock must not be "
             "the newest value for years"),
    DURATION("ingest.past_max", past_ns_max, "0s", VV_MINUTE, YEARS_100, "any age is accepted",
             "Points older than this are refused"),
    SIZE("ingest.line_bytes_max", line_bytes_max, "256KiB", KIB, 4 * MIB, NULL,
         "The longest line (or JSON point) that is accepted"),
    INT("ingest.fields_max", fields_max, "1000", 1, 10000, NULL, "Fields in a line, at most"),
    SIZE("ingest.batch_bytes_max", batch_bytes_max, "4MiB", 64 * KIB, 32 * MIB, NULL,
         "What one request holds in memory; a longer body is stored batch by batch"),

    INT("limits.tenants_max", tenants_max, "1000", 1, 1000000, NULL, "Tenants, at most"),
    INT("limits.sources_max", sources_max, "2000000", 1, 100000000, NULL,
        "Sources of all tenants together, at most. Points of further sources are refused: a tag "
        "that changes with each point would fill memory otherwise"),
    INT("limits.metrics_max", metrics_max, "100000", 1, 10000000, NULL,
        "Metrics and measurements of all tenants together, at most"),
    SIZE("limits.series_cache_bytes", series_cache_bytes, "64MiB", MIB, 16 * GIB, NULL,
         "The cache that leads from the tags of a line to its source"),

    SIZE("journal.segment_bytes", journal_segment_bytes, "16MiB", MIB, GIB, NULL,
         "The size to which a file of the journal is preallocated"),
    SIZE("journal.bytes_max", journal_bytes_max, "4GiB", 16 * MIB, TIB, NULL,
         "The whole journal, at most: what is accepted and not in the store yet. Beyond it writes "
         "are answered 503"),
    BOOL("journal.skip_damaged", journal_skip_damaged, "false",
         "At the start, leave out damaged records in the middle of the journal instead of "
         "refusing to start. What they held is lost; the log counts them"),

    SIZE("head.flush_bytes", head_flush_bytes, "64MiB", MIB, 16 * GIB, NULL,
         "When points in memory take this much, they are flushed to the store"),
    DURATION("head.flush_age", head_flush_age_ns, "5m", VV_SECOND, VV_DAY, NULL,
             "When the oldest points in memory are this old, they are flushed to the store"),
    SIZE("head.bytes_max", head_bytes_max, "512MiB", 4 * MIB, TIB, NULL,
         "Points in memory, at most; beyond it writes are answered 503 until the store has caught "
         "up. At least twice head.flush_bytes"),

    DURATION(
        "history.age", history_age_ns, "1h", VV_MINUTE, 366 * VV_DAY, NULL,
        "A write whose points are all older than this is history, and gives way to live data; "
        "so does sealing what was due so long ago, for whatever reason it was not sealed then"),
    INT("history.share", history_share, "5", 1, 100, NULL,
        "While live data comes (the last of it within 10 s), writing history rests after each "
        "piece "
        "of it for so long that it takes so many percent of the time, and so does sealing it; a "
        "rest is 5 s at most. Live writes are acknowledged nearly as soon as without it then. 100: "
        "history is never held back, and loading it ends sooner"),

    DURATION("partition.bucket", bucket_ns, "0s", VV_MINUTE, 366 * VV_DAY,
             "chosen for each source from what is seen",
             "How much time a partition of a new source holds"),
    DURATION("partition.span", span_ns, "0s", VV_MINUTE, 366 * VV_DAY,
             "chosen for each source from what is seen",
             "How much time is sealed at once; divides partition.bucket"),
    BOOL("partition.adapt", partition_adapt, "true",
         "Give a source whose partitions grow too large another plan for the time to come; not "
         "where partition.bucket is set"),
    INT("partition.splits", splits, "1", 1, 64, NULL,
        "Into how many partitions a bucket of a new source is divided"),

    DURATION("seal.lateness", seal_lateness_ns, "5m", VV_SECOND, 30 * VV_DAY, NULL,
             "A span is sealed so long after its end at the earliest. Later points are accepted "
             "too; they have the span sealed again"),
    DURATION("seal.quiet", seal_quiet_ns, "30s", VV_SECOND, VV_DAY, "at once",
             "A span is sealed when nothing was written to it for so long"),
    DURATION("seal.spread", seal_spread_ns, "0s", VV_SECOND, 30 * VV_DAY, "the length of the span",
             "Spans that end together are sealed over so much time, so that a million sources "
             "are not sealed in the same second"),
    DURATION("seal.interval", seal_interval_ns, "5s", 100 * VV_MILLISECOND, VV_HOUR, NULL,
             "How often spans that are due are looked for"),
    INT("seal.share", seal_share, "25", 1, 90, NULL,
        "While flushes wait, sealing and building tiers take so many percent of the time of the "
        "thread that writes the store, at most, so that history that is loaded, or late points, do "
        "not hold up what comes now; when none wait, all of it"),
    SIZE("seal.block_bytes_max", block_bytes_max, "256KiB", 4 * KIB, 16 * MIB, NULL,
         "A sealed block is cut at about this size"),
    INT("seal.zstd_level", zstd_level, "1", 1, 19, "no zstd",
        "How hard sealed blocks are compressed after the codec of the columns"),

    ENUM(
        "late.policy", late_policy, "accept", "accept|separate|refuse",
        "What new tenants do with late points, those that are older than late.limit when they "
        "come. accept: their spans are sealed again, and the tiers above built again. separate: "
        "they are kept apart from what came in time, merged by each answer, and folded into the "
        "tiers at a set time. refuse: they are refused, with a reason that names the limit. `varve "
        "tenants set` changes one tenant's"),
    DURATION("late.limit", late_limit_ns, "1h", VV_SECOND, YEARS_100, NULL,
             "How old a point may be when it comes before it is late, where a tenant has set no "
             "limit of its own. Whole seconds"),
    DURATION("late.fold_every", late_fold_every_ns, "1d", VV_SECOND, VV_SETTINGS_FOLD_NS_MAX, NULL,
             "How often late points that are kept apart are sealed, and folded into the tiers"),
    DURATION("late.fold_at", late_fold_at_ns, "2h", VV_SECOND, 7 * VV_DAY, "midnight",
             "When that is done: so long after midnight (UTC), or after another multiple of "
             "late.fold_every"),

    INT("deletion.markers_max", deletion_markers_max, "100000", 1, 10000000, NULL,
        "Markers of deletion that are kept, at most, of all sources together; each takes some 50 "
        "bytes of memory"),
    DURATION("deletion.takeover", deletion_takeover_ns, "5m", VV_SECOND, VV_DAY, NULL,
             "Where nodes share the store: how long after a deletion others see to it that its "
             "bytes go, when the node that deleted has not said that it has done so"),

    ENUM("store.kind", store_kind, "rocksdb", "rocksdb|cassandra",
         "Where points are kept: in the folder of `data`, or in Cassandra, which many nodes share; "
         "then the folder has the journal and what belongs to this node alone, and the section "
         "`cassandra` counts. Choose it before the first write"),
    SIZE("store.cache_bytes", store_cache_bytes, "64MiB", MIB, TIB, NULL,
         "The store's cache of blocks, at most"),
    SIZE("store.write_buffer_bytes", store_write_buffer_bytes, "64MiB", MIB, 64 * GIB, NULL,
         "The store's write buffers together, at most"),
    INT("store.eras", store_eras, "24", 8, 64, NULL,
        "Into how many slices of time a retention is divided. A slice expires as a whole, so data "
        "outlives its retention by up to one of them"),
    DURATION(
        "store.merge_after", store_merge_after_ns, "1h", VV_SECOND, 365 * VV_DAY, "never",
        "A slice of time that is over is merged into one run of files when nothing was written "
        "to it for so long, so that it takes less room and is read faster. That needs twice "
        "its room on the disk: where that is not free, it waits"),
    SIZE("store.disk_reserve_bytes", disk_reserve_bytes, "256MiB", 16 * MIB, TIB, NULL,
         "When less is free on the disk of `data`, writes are answered 503, long before the disk "
         "is full"),

    ENUM("ack.kind", ack_kind, "journal", "journal|store",
         "When a write is answered: when it is in this node's journal, or when the store has "
         "confirmed it, so that the loss of this node's disk loses nothing that was acknowledged. "
         "`ack: store` is short for it; the parameter `ack` of a write overrides it"),
    DURATION("ack.timeout", ack_timeout_ns, "30s", 100 * VV_MILLISECOND, VV_HOUR, NULL,
             "With ack: store, the outcome of a write that the store has not confirmed for so long "
             "is answered as unknown (500); it is in the journal and will be delivered"),

    DURATION("retention.raw", retention_raw_ns, "0s", VV_HOUR, YEARS_100, "for ever",
             "How long points of new tenants are kept. `varve tenants set` changes one tenant's"),
    DURATION(
        "retention.interval", expire_interval_ns, "1m", VV_SECOND, VV_DAY, NULL,
        "How often expired data is looked for, and on Cassandra what is still to be sealed and "
        "would expire; there at most a 16th of cassandra.slack"),

    BOOL(
        "tiers.default", tiers_default, "false",
        "Keep tiers of new tenants: what their points are in each minute (for 30 days), hour (a "
        "year) and day (for ever), so that long ranges are answered fast and outlive the points. "
        "Points are then kept for 7 days, unless retention.raw is set. `varve tenants set` changes "
        "one tenant's"),
    DURATION("tiers.volumes_after", volumes_after_ns, "10m", VV_SECOND, VV_DAY, "never",
             "On the embedded store the hours of 28 days are also kept together, so that questions "
             "about months read few pieces: when nothing was built there for so long"),
    INT("tiers.percentile_error", tiers_percentile_error, "100", 1, 5000, NULL,
        "How far percentiles of tiers may be off, relative to the value, in hundredths of a "
        "percent: 100 is 1 %. Less takes more room, and is not held where values differ much, "
        "which the answer says. Counts for what is built from then on"),

    DURATION("query.time_max", query_time_ns_max, "30s", 100 * VV_MILLISECOND, VV_DAY, NULL,
             "A query that takes longer is ended"),
    SIZE("query.memory_bytes_max", query_memory_bytes_max, "256MiB", 4 * MIB, TIB, NULL,
         "Memory of one query, at most; one that needs more fails and says how to narrow it"),
    INT("query.series_max", query_series_max, "1000000", 1, 100000000, NULL,
        "Sources times metrics that one query may touch"),
    INT("query.concurrent_max", query_concurrent_max, "64", 1, 10000, NULL,
        "Queries at the same time; more are answered 503"),
    INT("query.threads", query_threads, "2", 1, 64, NULL, "Threads that work on queries"),

    TEXT("cassandra.contact_points", cassandra_contact_points, "127.0.0.1:9042", 1,
         "Hosts of the cluster as HOST or HOST:PORT, with commas; 9042 is the port of those "
         "without. One that answers is enough: the others are learnt from it"),
    TEXT("cassandra.local_datacenter", cassandra_datacenter, "", 0,
         "The data centre whose hosts are asked, and whose replicas count. Empty: that of the "
         "first contact point that answers"),
    TEXT("cassandra.keyspace", cassandra_keyspace, "varve", 1,
         "The keyspace of the tables: letters, digits and `_`, at most 48, a letter first; small "
         "letters only, as Cassandra makes them small. `{region}` in it stands for the name of the "
         "region, and must be there where there are several"),
    TEXT("cassandra.region", cassandra_region, "default", 1,
         "The region of this node. Nodes of a region share sealing, plans and a keyspace, and need "
         "no other region to go on. Letters, digits, `-` and `_`, at most 48; it can't be changed "
         "later"),
    TEXT("cassandra.regions", cassandra_regions, "", 0,
         "All regions, with commas, the same on all nodes; at most 8. What they store is read too, "
         "where its keyspace is kept in the data centre of this node. Append new ones; never "
         "change the order. Empty: there is `cassandra.region` only"),
    TEXT("cassandra.replication", cassandra_replication, "datacenter1:3", 1,
         "Copies in each data centre, as DATACENTRE:COPIES with commas, of the keyspace of this "
         "node's region. `varve schema --apply` makes the keyspace with it; what is there is "
         "compared and never changed"),
    TEXT("cassandra.classes", cassandra_classes, "7d,30d,90d,365d", 0,
         "Retentions that have a table of their own, ascending, with commas; there is always one "
         "for what is kept for ever. A tenant's points lie in the shortest that is not below its "
         "retention: the nearer the two are, the sooner the room is free again. After a change run "
         "`varve schema --apply`; don't remove one that has data"),
    TEXT(
        "cassandra.rows_tenants", cassandra_rows_tenants, "", 0,
        "Tenants whose points are kept as rows that any CQL client can read, one for each value, "
        "instead of as blocks: names with commas, or `*` for all. It takes much more room and more "
        "of Cassandra's time. Late points that are kept apart are no rows. After a change what is "
        "there stays as it is and is still read"),
    ENUM("cassandra.consistency", cassandra_consistency, "LOCAL_QUORUM",
         "LOCAL_QUORUM|LOCAL_ONE|QUORUM|ONE|TWO|THREE|ALL",
         "How many copies must answer a write or a read. With the words that are no majority "
         "(LOCAL_ONE, ONE, and TWO or THREE of more copies) a node may not find what another one "
         "has just written, and a host that is lost may take data with it"),
    INT("cassandra.requests_max", cassandra_requests_max, "256", 1, 8192, NULL,
        "Writes under way at the same time"),
    SIZE("cassandra.bytes_max", cassandra_bytes_max, "16MiB", MIB, GIB, NULL,
         "Bytes of the writes that are under way"),
    SIZE(
        "cassandra.parked_max", cassandra_parked_max, "1GiB", MIB, TIB, "nothing is parked",
        "How much is kept in the data folder for parts of Cassandra that are away while others are "
        "there, until it can be delivered. What is beyond it waits in the journal, with everything "
        "else"),
    DURATION("cassandra.slack", cassandra_slack_ns, "3d", VV_HOUR, 30 * VV_DAY, NULL,
             "How much longer than it must be what is written is kept in Cassandra: for points "
             "that wait for being sealed, even when a node is away for a while. Reading hides what "
             "the retention has ended"),
    DURATION("cassandra.purge_every", cassandra_purge_every_ns, "0s", VV_HOUR, 365 * VV_DAY,
             "what is stored has a TTL",
             "How often blocks are purged by copying, instead of having a TTL: what must live is "
             "copied into a second table of its class, and the first one is truncated, one class "
             "at a time. That takes as much room again as what lives of the largest class, and "
             "all hosts must be there. Set it on all nodes, and run `varve schema --apply`, while "
             "none runs; it "
             "can't be unset later. Runs, and values that are kept as rows, have their TTL"),
    DURATION("cassandra.repair_interval", cassandra_repair_interval_ns, "0s", VV_HOUR, 365 * VV_DAY,
             "not told",
             "How often you repair the keyspace, for the tables' gc_grace_seconds, which must be "
             "longer"),
    INT("cassandra.connections_per_host", cassandra_connections_per_host, "2", 1, 64, NULL,
        "Connections to each host"),
    DURATION("cassandra.request_timeout", cassandra_request_timeout_ns, "12s", 100 * VV_MILLISECOND,
             10 * VV_MINUTE, NULL,
             "A request that takes longer, its retries included, has failed. Should be above "
             "Cassandra's own timeouts, so that its answer says what happened"),
    DURATION(
        "cassandra.speculative_delay", cassandra_speculative_delay_ns, "500ms", VV_MILLISECOND,
        VV_MINUTE, "never",
        "What a host has not answered for so long of a query is asked of a second host too, so "
        "that one that hangs holds up no reader. Should be above what answers take as a rule"),
    DURATION("cassandra.gc_grace_min", cassandra_gc_grace_min_ns, "1d", 4 * VV_HOUR, 10 * VV_DAY,
             NULL,
             "What the tables' gc_grace_seconds are at least. Below a day only if you insist, for "
             "classes with windows of hours: a host that is away for longer must be repaired, or "
             "made anew, before it comes back, and 3 hours of hints is all that it gets"),
    BOOL("cassandra.remote_hosts", cassandra_remote_hosts, "false",
         "Ask other data centres when no host of the local one answers. Their copies may be older "
         "with a LOCAL_ consistency"),
    TEXT("cassandra.user", cassandra_user, "", 0, "The name to log in with. Empty: no login"),
    SECRET("cassandra.password", cassandra_password,
           "The password of cassandra.user. Better in cassandra.password_file: other users of this "
           "machine can see a command line"),
    TEXT("cassandra.password_file", cassandra_password_file, "", 0,
         "A file whose first line is the password of cassandra.user. Empty: none"),
    BOOL("cassandra.tls", cassandra_tls, "false", "Speak TLS to Cassandra"),
    TEXT("cassandra.tls_ca", cassandra_tls_ca, "", 0,
         "A PEM file with the authorities that the hosts' certificates must be signed by. Empty: "
         "those of the system"),
    TEXT("cassandra.tls_certificate", cassandra_tls_certificate, "", 0,
         "A PEM file with this client's certificate and its chain, where Cassandra wants one"),
    TEXT("cassandra.tls_key", cassandra_tls_key, "", 0,
         "A PEM file with the key of cassandra.tls_certificate, without a password"),
    BOOL("cassandra.tls_skip_name_check", cassandra_tls_skip_name_check, "false",
         "Accept certificates that are not for the host that shows them. Only where they carry no "
         "names: whoever has any certificate of these authorities can then pretend to be "
         "Cassandra"),

    DURATION("fleet.beat", fleet_beat_ns, "2s", 100 * VV_MILLISECOND, VV_MINUTE, NULL,
             "With a store that several nodes share: how often this one tells the others that it "
             "lives, and up to when it has written what it took"),
    DURATION(
        "fleet.poll", fleet_poll_ns, "1s", 50 * VV_MILLISECOND, VV_MINUTE, NULL,
        "With a store that several nodes share: how often this one learns what the others told "
        "of names, tags and settings"),
    DURATION(
        "fleet.gone_after", fleet_gone_ns, "30s", VV_SECOND, VV_HOUR, NULL,
        "With a store that several nodes share: a node that has not been heard of for so long is "
        "gone. Answers name it, and others seal what was its to seal. The same on all nodes"),
};

const size_t vv_setting_count = sizeof vv_setting_table / sizeof vv_setting_table[0];

/* Only for suggestions; a test holds it against the table. */
static const char *const sections[] = {"ack",       "late",      "log",     "http",  "ingest",
                                       "limits",    "journal",   "head",    "seal",  "history",
                                       "partition", "retention", "tiers",   "store", "query",
                                       "cassandra", "fleet",     "deletion"};

const struct vv_setting *vv_setting_find(struct vv_str name)
{
    for (size_t i = 0; i < vv_setting_count; i++) {
        if (vv_str_equal(vv_str_of(vv_setting_table[i].name), name)) {
            return &vv_setting_table[i];
        }
    }
    return NULL;
}

const struct vv_setting *vv_setting_kind_of(struct vv_str section)
{
    static const char suffix[] = ".kind";
    for (size_t i = 0; i < vv_setting_count; i++) {
        const char *name = vv_setting_table[i].name;
        if (section.size > 0 && strlen(name) == section.size + sizeof suffix - 1 &&
            memcmp(name, section.data, section.size) == 0 &&
            strcmp(name + section.size, suffix) == 0) {
            return &vv_setting_table[i];
        }
    }
    return NULL;
}

/* What follows the last dot. */
static struct vv_str last_word(struct vv_str name)
{
    for (size_t i = name.size; i > 0; i--) {
        if (name.data[i - 1] == '.') {
            return (struct vv_str){name.data + i, name.size - i};
        }
    }
    return name;
}

/* The best of all names; else a name whose last word is near, as in `threads` or `server.listen`.
 */
const char *vv_setting_nearest(struct vv_str name)
{
    struct vv_suggestion whole;
    struct vv_suggestion part;
    vv_suggestion_init(&whole, name);
    vv_suggestion_init(&part, last_word(name));
    const char *part_name = "";
    for (size_t i = 0; i < vv_setting_count; i++) {
        const char *row = vv_setting_table[i].name;
        vv_suggestion_offer(&whole, row);
        const char *word = last_word(vv_str_of(row)).data;
        if (vv_suggestion_offer(&part, word)) {
            part_name = row;
        }
    }
    for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++) {
        vv_suggestion_offer(&whole, sections[i]);
    }
    return whole.best ? whole.best : part_name;
}
