/* SPDX-License-Identifier: Apache-2.0 */
/* The schema's text. */
#include "store/cassandra/schema.h"

#include "base/clock.h"

#include <ctype.h>
#include <stdio.h>

#define WINDOWS            25 /* of a retention: between 20 and 30 */
#define GC_GRACE_MIN_S     (24 * 3600)
#define GC_GRACE_FOREVER_S (10 * 24 * 3600) /* Cassandra's default */

/* ---- figures ---- */

void vv_schema_class_name(int64_t retention_ns, char out[VV_CLASS_NAME_SIZE])
{
    static const struct {
        int64_t ns;
        char letter;
    } units[] = {{VV_DAY, 'd'}, {VV_HOUR, 'h'}, {VV_MINUTE, 'm'}, {VV_SECOND, 's'}};
    for (size_t i = 0; i < sizeof units / sizeof units[0] && retention_ns > 0; i++) {
        if (retention_ns % units[i].ns == 0) {
            snprintf(out, VV_CLASS_NAME_SIZE, "%lld%c", (long long)(retention_ns / units[i].ns),
                     units[i].letter);
            return;
        }
    }
    snprintf(out, VV_CLASS_NAME_SIZE, "forever");
}

struct vv_schema_window vv_schema_window_of(int64_t life_ns)
{
    int64_t minutes = life_ns / WINDOWS / VV_MINUTE;
    if (minutes >= 24 * 60) {
        return (struct vv_schema_window){"DAYS", (minutes + 12 * 60) / (24 * 60)};
    }
    if (minutes >= 60) {
        return (struct vv_schema_window){"HOURS", (minutes + 30) / 60};
    }
    return (struct vv_schema_window){"MINUTES", minutes > 0 ? minutes : 1};
}

int64_t vv_schema_gc_grace_s(int64_t life_ns, int64_t repair_interval_ns)
{
    int64_t repair_s = repair_interval_ns / VV_SECOND;
    int64_t least = life_ns == 0 ? GC_GRACE_FOREVER_S : GC_GRACE_MIN_S;
    int64_t above = repair_s + repair_s / 4; /* a repair takes its time, or is late */
    return above > least ? above : least;
}

/* ---- checks ---- */

static bool is_name(const char *text)
{
    size_t size = strlen(text);
    if (size < 1 || size > 48 || !isalpha((unsigned char)text[0])) {
        return false;
    }
    for (size_t i = 0; i < size; i++) {
        if (!isalnum((unsigned char)text[i]) && text[i] != '_') {
            return false;
        }
    }
    return true;
}

/* "dc1:3,dc2:3" → 'dc1': 3, 'dc2': 3 */
static bool put_replication(struct vv_buffer *out, const char *text)
{
    const char *at = text;
    for (;;) {
        size_t name = strcspn(at, ":,'");
        if (name == 0 || at[name] != ':') {
            return false;
        }
        vv_buffer_format(out, ", '%.*s': ", (int)name, at);
        at += name + 1;
        size_t digits = strspn(at, "0123456789");
        if (digits == 0 || digits > 3 || (at[digits] != ',' && at[digits] != '\0')) {
            return false;
        }
        vv_buffer_format(out, "%.*s", (int)digits, at);
        at += digits;
        if (*at == '\0') {
            return true;
        }
        at++;
    }
}

static enum vv_status check(const struct vv_schema_options *options, struct vv_error *error)
{
    struct vv_buffer replication = {0};
    bool replicated = put_replication(&replication, options->replication);
    vv_buffer_deinit(&replication);
    if (!is_name(options->keyspace)) {
        return vv_error_set(error, VV_INVALID,
                            "cassandra.keyspace must be letters, digits and '_', at most 48, "
                            "beginning with a letter");
    }
    if (!replicated) {
        return vv_error_set(error, VV_INVALID,
                            "cassandra.replication must be DATACENTRE:REPLICAS, several joined by "
                            "commas, for example dc1:3,dc2:3");
    }
    for (size_t i = 0; i < options->n_classes; i++) {
        if (options->classes_ns[i] < VV_MINUTE || options->classes_ns[i] % VV_SECOND != 0 ||
            (i > 0 && options->classes_ns[i] <= options->classes_ns[i - 1])) {
            return vv_error_set(error, VV_INVALID,
                                "cassandra.classes must ascend, each at least a minute");
        }
    }
    return VV_OK;
}

/* ---- tables ---- */

#define PARTITION                                                                                  \
    "    tenant text,\n"                                                                           \
    "    source uuid,         -- made of the tenant and the source's id\n"                         \
    "    bucket timestamp,    -- where the bucket begins\n"                                        \
    "    bucket_s int,        -- its length, part of the key: plans change\n"                      \
    "    split smallint,      -- of a source that one partition can't hold\n"                      \
    "    measurement text,\n"                                                                      \
    "    span timestamp,      -- what is sealed at once\n"

static void put_keyspace(struct vv_buffer *out, const struct vv_schema_options *options)
{
    vv_buffer_text(out, "CREATE KEYSPACE IF NOT EXISTS ");
    vv_buffer_text(out, options->keyspace);
    vv_buffer_text(out, "\n  WITH replication = {'class': 'NetworkTopologyStrategy'");
    (void)put_replication(out, options->replication);
    vv_buffer_text(out, "};\n\n");
}

/* What all tables that expire have. */
static void put_expiring(struct vv_buffer *out, int64_t life_ns, int64_t gc_grace_s)
{
    struct vv_schema_window window = vv_schema_window_of(life_ns);
    vv_buffer_format(out,
                     "  AND compaction = {'class': 'TimeWindowCompactionStrategy',\n"
                     "    'compaction_window_unit': '%s', 'compaction_window_size': '%lld'}\n"
                     "  AND gc_grace_seconds = %lld\n"
                     "  AND read_repair = 'NONE' -- it would mix old rows into new windows\n",
                     window.unit, (long long)window.size, (long long)gc_grace_s);
}

static void put_lasting(struct vv_buffer *out, int64_t gc_grace_s)
{
    vv_buffer_format(out,
                     "  AND compaction = {'class': 'UnifiedCompactionStrategy'}\n"
                     "  AND gc_grace_seconds = %lld\n",
                     (long long)gc_grace_s);
}

static void put_runs(struct vv_buffer *out, const struct vv_schema_options *options)
{
    vv_buffer_format(
        out,
        "-- What flushes wrote. A run is never deleted: once a block has replaced it (a cover, a\n"
        "-- row under the least run, says so) it expires.\n"
        "CREATE TABLE IF NOT EXISTS %s.runs (\n" PARTITION
        "    run bigint,          -- the stamp of the flush\n"
        "    part bigint,\n"
        "    metrics blob,        -- ids of the columns of data, 8 bytes each\n"
        "    data blob,           -- a columnar block\n"
        "    PRIMARY KEY ((tenant, source, bucket, bucket_s, split), measurement, span, run, "
        "part)\n"
        ") WITH compression = {'class': 'LZ4Compressor', 'chunk_length_in_kb': 16}\n",
        options->keyspace);
    put_expiring(out, options->run_life_ns,
                 vv_schema_gc_grace_s(options->run_life_ns, options->repair_interval_ns));
    vv_buffer_text(out, "  AND comment = 'unsealed data';\n\n");
}

static void put_blocks(struct vv_buffer *out, const struct vv_schema_options *options,
                       int64_t retention_ns)
{
    char name[VV_CLASS_NAME_SIZE];
    vv_schema_class_name(retention_ns, name);
    int64_t gc_grace = vv_schema_gc_grace_s(retention_ns, options->repair_interval_ns);
    vv_buffer_format(
        out,
        "-- Sealed data of tenants whose retention is %s. A table for each retention: TWCS drops\n"
        "-- a file only when all in it has expired.\n"
        "CREATE TABLE IF NOT EXISTS %s.blocks_%s (\n" PARTITION
        "    seal bigint,         -- the stamp of the pass that wrote it: the highest counts\n"
        "    part bigint,\n"
        "    parts int,           -- in part 0, which is written last; 0: the span has no block\n"
        "    metrics blob,\n"
        "    data blob,\n"
        "    PRIMARY KEY ((tenant, source, bucket, bucket_s, split), measurement, span, seal, "
        "part)\n"
        ") WITH CLUSTERING ORDER BY (measurement ASC, span ASC, seal DESC, part ASC)\n"
        "  AND compression = {'class': 'LZ4Compressor', 'chunk_length_in_kb': 16}\n",
        retention_ns > 0 ? name : "for ever", options->keyspace, name);
    if (retention_ns > 0) {
        put_expiring(out, retention_ns, gc_grace);
    } else {
        put_lasting(out, gc_grace);
    }
    vv_buffer_text(out, "  AND comment = 'sealed data';\n\n");
}

static void put_buckets(struct vv_buffer *out, const struct vv_schema_options *options)
{
    vv_buffer_format(
        out,
        "-- Which buckets a source has, so that a reader need not look into empty ones. A\n"
        "-- partition for each period of 512 days, and one that lists the periods.\n"
        "CREATE TABLE IF NOT EXISTS %s.buckets (\n"
        "    tenant text,\n"
        "    source uuid,\n"
        "    period int,\n"
        "    bucket timestamp,\n"
        "    bucket_s int,\n"
        "    PRIMARY KEY ((tenant, source, period), bucket, bucket_s)\n"
        ") WITH comment = 'which buckets there are'\n",
        options->keyspace);
    put_lasting(out, vv_schema_gc_grace_s(0, options->repair_interval_ns));
    vv_buffer_text(out, ";\n\n");
}

static void put_version(struct vv_buffer *out, const struct vv_schema_options *options)
{
    vv_buffer_format(out,
                     "-- The version that these tables have.\n"
                     "CREATE TABLE IF NOT EXISTS %s.varve_schema (\n"
                     "    id text PRIMARY KEY,\n"
                     "    version int\n"
                     ") WITH comment = 'version of the schema';\n\n"
                     "INSERT INTO %s.varve_schema (id, version) VALUES ('schema', %d);\n",
                     options->keyspace, options->keyspace, VV_SCHEMA_VERSION);
}

enum vv_status vv_schema_print(const struct vv_schema_options *options, struct vv_buffer *out,
                               struct vv_error *error)
{
    enum vv_status status = check(options, error);
    if (status != VV_OK) {
        return status;
    }
    put_keyspace(out, options);
    put_runs(out, options);
    for (size_t i = 0; i < options->n_classes; i++) {
        put_blocks(out, options, options->classes_ns[i]);
    }
    put_blocks(out, options, 0);
    put_buckets(out, options);
    put_version(out, options); /* last: where it is, the rest is */
    status = vv_buffer_status(out);
    return status == VV_OK ? VV_OK : vv_error_set(error, status, "out of memory");
}
