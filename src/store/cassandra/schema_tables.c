/* SPDX-License-Identifier: Apache-2.0 */
/* What the tables should be. */
#include "store/cassandra/schema_private.h"

#include <stdio.h>

#define STR(text)                                                                                  \
    {                                                                                              \
        (text), sizeof(text) - 1                                                                   \
    }
#define COUNT(array) (sizeof(array) / sizeof(array)[0])

#define KEY(name, type, position, why)                                                             \
    {                                                                                              \
        STR(name), STR(type), STR("partition_key"), position, false, why                           \
    }
#define CLUSTERING(name, type, position, descending, why)                                          \
    {                                                                                              \
        STR(name), STR(type), STR("clustering"), position, descending, why                         \
    }
#define REGULAR(name, type, why)                                                                   \
    {                                                                                              \
        STR(name), STR(type), STR("regular"), -1, false, why                                       \
    }

#define PARTITION_KEY                                                                              \
    KEY("tenant", "text", 0, NULL),                                                                \
        KEY("source", "uuid", 1, "made of the tenant and the id of the source"),                   \
        KEY("bucket", "timestamp", 2, "where the bucket begins"),                                  \
        KEY("bucket_s", "int", 3, "its length: in the key because plans change"),                  \
        KEY("split", "smallint", 4, "of a source too large for one partition")
#define REGION_KEY KEY("region", "text", 0, "whose nodes of Varve wrote it")
/* Regions seal by themselves, so what they seal is apart. */
#define PARTITION                                                                                  \
    REGION_KEY, KEY("tenant", "text", 1, NULL),                                                    \
        KEY("source", "uuid", 2, "made of the tenant and the id of the source"),                   \
        KEY("bucket", "timestamp", 3, "where the bucket begins"),                                  \
        KEY("bucket_s", "int", 4, "its length: in the key because plans change"),                  \
        KEY("split", "smallint", 5, "of a source too large for one partition"),                    \
        CLUSTERING("measurement", "text", 0, false, NULL),                                         \
        CLUSTERING("span", "timestamp", 1, false, "where the time that is sealed at once begins")

static const struct vv_schema_column runs[] = {
    PARTITION,
    CLUSTERING("run", "bigint", 2, false, "the stamp of the flush (the least one: covers)"),
    CLUSTERING("part", "bigint", 3, false, "of a cover: the seal of the block"),
    REGULAR("metrics", "blob", "ids of the columns of data, 8 bytes each"),
    REGULAR("data", "blob", "a columnar block, or of a cover the runs that are in a block"),
    REGULAR("written", "bigint", "tells a run that was written again, with more, from the first"),
};

static const struct vv_schema_column shared_runs[] = {
    REGION_KEY,
    KEY("tenant", "text", 1, NULL),
    KEY("share", "int", 2, "the first bits of the UUIDs of sources, and above 24 bits how many"),
    KEY("bucket", "timestamp", 3, "where the bucket begins"),
    KEY("bucket_s", "int", 4, "its length: in the key because plans change"),
    CLUSTERING("source", "uuid", 0, false, "made of the tenant and the id of the source"),
    CLUSTERING("measurement", "text", 1, false, NULL),
    CLUSTERING("span", "timestamp", 2, false, "where the time that is sealed at once begins"),
    CLUSTERING("run", "bigint", 3, false, "the stamp of the flush (the least one: covers)"),
    CLUSTERING("part", "bigint", 4, false, "of a cover: the seal of the block"),
    REGULAR("metrics", "blob", "ids of the columns of data, 8 bytes each"),
    REGULAR("data", "blob", "a columnar block, or of a cover the runs that are in a block"),
    REGULAR("written", "bigint", "tells a run that was written again, with more, from the first"),
};

static const struct vv_schema_column blocks[] = {
    PARTITION,
    CLUSTERING("seal", "bigint", 2, true,
               "the stamp of the pass that wrote it: the highest counts"),
    CLUSTERING("part", "bigint", 3, false, NULL),
    REGULAR("parts", "int", "in part 0, which is written last (0: the span has no block)"),
    REGULAR("metrics", "blob", "ids of the columns of data, 8 bytes each"),
    REGULAR("data", "blob", "a columnar block, or the head of a record of a tier"),
    REGULAR("tail", "blob", "what is behind the head: sketches, which only percentiles need"),
};

static const struct vv_schema_column rows[] = {
    PARTITION_KEY,
    CLUSTERING("event_time", "timestamp", 0, true, "the newest first"),
    CLUSTERING("nanos", "int", 1, true,
               "0 to 999,999: what of the time is less than a millisecond"),
    CLUSTERING("metric", "text", 2, false, "measurement.field"),
    REGULAR("value", "double", "null where value_int is set"),
    REGULAR("value_int", "bigint", "of metrics that are integers"),
};

static const struct vv_schema_column buckets[] = {
    KEY("tenant", "text", 0, NULL),
    KEY("source", "uuid", 1, NULL),
    KEY("period", "int", 2, NULL),
    CLUSTERING("bucket", "timestamp", 0, false, NULL),
    CLUSTERING("bucket_s", "int", 1, false, NULL),
};

static const struct vv_schema_column ledger[] = {
    REGION_KEY,
    KEY("part", "int", 1, "of the sources: four shards"),
    KEY("slot", "timestamp", 2, "the hour in which the span is due"),
    CLUSTERING("shard", "int", 0, false, "of the source"),
    CLUSTERING("node", "int", 1, false, "that wrote the runs"),
    CLUSTERING("mark", "text", 2, false,
               "due, bucket, its length, split, span, tenant, measurement, source"),
    REGULAR("newest", "blob", "put (us): when it was written, goes up. Then run, ns of the span"),
    REGULAR("retired", "bigint", "up to where it was sealed: the mark is open while put is above"),
};

static const struct vv_schema_column ledger_slots[] = {
    REGION_KEY,
    KEY("part", "int", 1, NULL),
    CLUSTERING("shard", "int", 0, false, NULL),
    CLUSTERING("slot", "timestamp", 1, false, NULL),
    CLUSTERING("node", "int", 2, false, NULL),
    REGULAR("touched", "bigint", "changes whenever the node adds to the slot"),
};

static const struct vv_schema_column seals[] = {
    REGION_KEY,
    KEY("shard", "int", 1, NULL),
    REGULAR("node", "int", "that seals the shard"),
    REGULAR("lease", "timestamp", "until when others leave it alone"),
    REGULAR("seal", "bigint", "the stamp of its newest pass"),
    REGULAR("purges", "blob",
            "pairs: a class, as its retention in ns, and the number of its purge"),
};

static const struct vv_schema_column purges[] = {
    REGION_KEY,
    KEY("class", "text", 1, NULL),
    CLUSTERING("part", "int", 0, false, "-1: the class, 0 to 255: ranges of tokens"),
    REGULAR("number", "bigint", "of the newest purge, of a range the newest one that is done"),
    REGULAR("state", "int", "0 idle, 1 moving, 2 copying, 3 waiting, 4 dropping"),
    REGULAR("since", "timestamp", "when that began"),
    REGULAR("asked", "timestamp", "when somebody wanted a purge"),
    REGULAR("node", "int", "that has set it"),
};

static const struct vv_schema_column plans[] = {
    REGION_KEY,
    KEY("tenant", "text", 1, NULL),
    KEY("source", "uuid", 2, NULL),
    CLUSTERING("valid_from", "bigint", 0, false, "ns since 1970"),
    REGULAR("bucket_ns", "bigint", NULL),
    REGULAR("span_ns", "bigint", NULL),
    REGULAR("splits", "int", NULL),
    REGULAR("share_bits", "int", "by how many bits of its UUID it shares runs with others, if any"),
};

static const struct vv_schema_column places[] = {
    REGION_KEY,
    KEY("tenant", "text", 1, NULL),
    KEY("measurement", "text", 2, NULL),
    REGULAR("class", "text", "empty: it lies with the rest of its tenant"),
};

static const struct vv_schema_column moves[] = {
    REGION_KEY,
    KEY("tenant", "text", 1, NULL),
    KEY("measurement", "text", 2, NULL),
    CLUSTERING("valid_from", "bigint", 0, false, "ns since 1970: the beginning of a day"),
    REGULAR("class", "text", "empty: with the rest of its tenant"),
};

static const struct vv_schema_column definitions[] = {
    REGION_KEY,
    KEY("shard", "int", 1, "of tenant and name"),
    CLUSTERING("tenant", "text", 0, false, NULL),
    CLUSTERING("kind", "int", 1, false, NULL),
    CLUSTERING("name", "text", 2, false, NULL),
    CLUSTERING("item", "bigint", 3, false, NULL),
    CLUSTERING("node", "int", 4, false, "that saw it"),
    REGULAR("value", "blob", NULL),
};

static const struct vv_schema_column changes[] = {
    REGION_KEY,
    KEY("node", "int", 1, NULL),
    KEY("slot", "bigint", 2, "counts up, so that no partition grows without bound"),
    CLUSTERING("written", "bigint", 0, false, "us since 1970, ascending"),
    REGULAR("definitions", "blob", "that the node has added"),
};

static const struct vv_schema_column nodes[] = {
    REGION_KEY,
    CLUSTERING("node", "int", 0, false, NULL),
    REGULAR("owner", "uuid", "of its data folder"),
    REGULAR("beat", "bigint", "goes up while it lives. Changes written before are there"),
    REGULAR("flushed_until", "bigint",
            "ns since 1970: what it acknowledged before is in the tables"),
    REGULAR("slot", "bigint", "of its newest changes"),
    REGULAR("partial", "int",
            "1: it could not take all that others told, and leaves sealing to them"),
    REGULAR("tables", "int", "a hash: same where nodes read the same tables, for as long"),
};

static const struct vv_schema_column versions[] = {
    KEY("id", "text", 0, NULL),
    REGULAR("version", "int", NULL),
};

static const char runs_why[] =
    "What flushes wrote. A run is never deleted: once a block has replaced it (a cover, a row\n"
    "under the least run, says so) it expires. No deletion can come back to life then.";
static const char shared_runs_why[] =
    "The same for sources that send little: a partition for some 32 of them, so that what a flush\n"
    "has of them goes there together. By how many bits a source shares is a part of its plan.";
static const char blocks_why[] =
    "Sealed data of tenants with this retention. A table for each retention: TWCS drops a file\n"
    "only when all in it has expired.";
static const char forever_why[] =
    "Sealed data that is kept for ever, and what would live longer than Cassandra can count.";
static const char rows_why[] =
    "Values of tenants with this retention that are kept as rows (cassandra.rows_tenants), for\n"
    "any client to read. A value written again, or another one for its point, is the same row:\n"
    "the later stamp, its CQL timestamp, counts.";
static const char late_why[] =
    "Sealed late points of tenants that keep them apart, in the form of blocks. Apart, so that\n"
    "tables of blocks have only what came in time. Its windows go by when points were folded.";
static const char buckets_why[] =
    "Which buckets a source has, so that a reader need not look into empty ones. A partition\n"
    "for each period of 512 days, and one that lists the periods.";
static const char ledger_why[] =
    "Which spans have runs that are in no block yet. Rows are written again, never deleted. A\n"
    "partition for each hour in which spans are due. A mark has its due time in ns since 1970,\n"
    "bucket and span in s, and a tabulator between.";
static const char ledger_slots_why[] = "Which of these partitions there are, and which changed.";
static const char seals_why[] =
    "Who seals a shard of the sources. The stamp goes up by compare-and-set before anything is\n"
    "read, and blocks are written with it: what somebody else writes late loses.";
static const char plans_why[] =
    "How the time of a source is cut into buckets and spans: who asked first has chosen.";
static const char purges_why[] =
    "How far a class is that is purged by copying what lives into its other table.";
static const char places_why[] =
    "Which class new measurements of tenants with classes are in: who asked first has chosen.";
static const char moves_why[] = "Which class the points of a measurement are in from a day on, if "
                                "that was proposed: who asked\n"
                                "first has chosen.";
static const char definitions_why[] =
    "Tenants, measurements, metrics and sources with their tags, as each node saw them.";
static const char changes_why[] = "The newest definitions again, by node, to learn them from.";
static const char nodes_why[] = "Which nodes of Varve use these tables, by their data folders.";
static const char versions_why[] = "The version that these tables have.";

/* ---- building ---- */

struct building {
    struct vv_schema *schema;
    const struct vv_schema_options *options;
    bool failed; /* no memory */
};

static struct vv_str text(struct building *building, const char *format, ...) VV_PRINTF(2, 3);

static struct vv_str text(struct building *building, const char *format, ...)
{
    char whole[128];
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(whole, sizeof whole, format, arguments);
    va_end(arguments);
    vv_invariant(size >= 0 && (size_t)size < sizeof whole);
    struct vv_str copy =
        vv_arena_str(&building->schema->arena, (struct vv_str){whole, (size_t)size});
    building->failed = building->failed || !copy.data;
    return copy.data ? copy : VV_STR_LITERAL("");
}

#define OPTIONS_MAX      16
#define CHUNK_KIB        "16"
#define BLOCKS_CHUNK_KIB "32" /* they are larger, and few of them are read at once */

static struct vv_schema_table *add_table(struct building *building, struct vv_str name,
                                         const char *why, const struct vv_schema_column *columns,
                                         size_t n_columns)
{
    struct vv_arena *arena = &building->schema->arena;
    struct vv_schema_table *table = &building->schema->tables[building->schema->n_tables++];
    struct vv_schema_column *copies = vv_arena_alloc(arena, n_columns * sizeof *copies);
    struct vv_schema_option *options = vv_arena_alloc(arena, OPTIONS_MAX * sizeof *options);
    *table = (struct vv_schema_table){.name = name, .why = why};
    if (!copies || !options) {
        building->failed = true;
        return table;
    }
    memcpy(copies, columns, n_columns * sizeof *copies);
    table->columns = copies;
    table->n_columns = n_columns;
    table->options = options;
    return table;
}

static void add_option(struct vv_schema_table *table, const char *name, struct vv_str value)
{
    if (table->options) {
        vv_invariant(table->n_options < OPTIONS_MAX);
        table->options[table->n_options++] = (struct vv_schema_option){vv_str_of(name), value};
    }
}

/* What all tables of rows have. */
static void add_common(struct building *building, struct vv_schema_table *table, int64_t life_ns)
{
    int64_t gc_grace_s = vv_schema_gc_grace_s(building->options, life_ns);
    add_option(table, "gc_grace_seconds", text(building, "%lld", (long long)gc_grace_s));
    add_option(table, "default_time_to_live", VV_STR_LITERAL("0"));
    add_option(table, "speculative_retry", VV_STR_LITERAL("99p"));
}

/* Without a least ratio: what is packed already still repeats keys and ids of metrics. */
static void add_compression(struct vv_schema_table *table, const char *chunk_kib)
{
    add_option(table, "compression.class", VV_STR_LITERAL("LZ4Compressor"));
    add_option(table, "compression.chunk_length_in_kb", vv_str_of(chunk_kib));
}

static void add_expiring(struct building *building, struct vv_schema_table *table, int64_t life_ns)
{
    struct vv_schema_window window = vv_schema_window_of(life_ns);
    add_option(table, "compaction.class", VV_STR_LITERAL("TimeWindowCompactionStrategy"));
    add_option(table, "compaction.compaction_window_unit", vv_str_of(window.unit));
    add_option(table, "compaction.compaction_window_size",
               text(building, "%lld", (long long)window.size));
    add_common(building, table, life_ns);
    add_option(table, "read_repair", VV_STR_LITERAL("NONE"));
}

static void add_lasting(struct building *building, struct vv_schema_table *table)
{
    add_option(table, "compaction.class", VV_STR_LITERAL("UnifiedCompactionStrategy"));
    add_common(building, table, 0);
    add_option(table, "read_repair", VV_STR_LITERAL("BLOCKING"));
}

/* What is kept for a retention: an own table for each. */
static void add_kept(struct building *building, struct vv_schema_table *table, int64_t retention_ns,
                     const char *chunk_kib)
{
    if (retention_ns > 0) {
        add_expiring(building, table, retention_ns);
    } else {
        add_lasting(building, table);
    }
    add_compression(table, chunk_kib);
}

static void add_blocks(struct building *building, int64_t retention_ns, int which)
{
    const struct vv_class_tables tables = vv_schema_class_tables(retention_ns);
    add_kept(building,
             add_table(building, text(building, "%s", tables.blocks[which]),
                       retention_ns > 0 ? blocks_why : forever_why, blocks, COUNT(blocks)),
             retention_ns, BLOCKS_CHUNK_KIB);
}

static void add_rows(struct building *building, int64_t retention_ns)
{
    const struct vv_class_tables tables = vv_schema_class_tables(retention_ns);
    add_kept(building,
             add_table(building, text(building, "%s", tables.rows), rows_why, rows, COUNT(rows)),
             retention_ns, CHUNK_KIB);
}

static void add_late(struct building *building, int64_t retention_ns, int which)
{
    const struct vv_class_tables tables = vv_schema_class_tables(retention_ns);
    add_kept(building,
             add_table(building, text(building, "%s", tables.late[which]), late_why, blocks,
                       COUNT(blocks)),
             retention_ns, BLOCKS_CHUNK_KIB);
}

/* The last of all classes is for ever. */
static int64_t retention_of(const struct vv_schema_options *options, size_t class)
{
    return class < options->n_classes ? options->classes_ns[class] : 0;
}

static void add_classes(struct building *building)
{
    const struct vv_schema_options *options = building->options;
    for (size_t i = 0; i <= options->n_classes; i++) {
        add_blocks(building, retention_of(options, i), 0);
    }
    for (size_t i = 0; i <= options->n_classes; i++) {
        add_rows(building, retention_of(options, i));
    }
    for (size_t i = 0; i <= options->n_classes; i++) {
        add_late(building, retention_of(options, i), 0);
    }
    for (size_t i = 0; i <= options->n_classes && options->purges; i++) {
        add_blocks(building, retention_of(options, i), 1);
        add_late(building, retention_of(options, i), 1);
    }
}

static void add_tables(struct building *building)
{
    const struct vv_schema_options *options = building->options;
    struct vv_schema_table *table =
        add_table(building, VV_STR_LITERAL("runs"), runs_why, runs, COUNT(runs));
    add_expiring(building, table, options->run_life_ns);
    add_compression(table, CHUNK_KIB);
    add_classes(building);
    table = add_table(building, VV_STR_LITERAL("shared_runs"), shared_runs_why, shared_runs,
                      COUNT(shared_runs));
    add_expiring(building, table, options->run_life_ns);
    add_compression(table, CHUNK_KIB);
    table = add_table(building, VV_STR_LITERAL("buckets"), buckets_why, buckets, COUNT(buckets));
    add_lasting(building, table);
    table = add_table(building, VV_STR_LITERAL("ledger"), ledger_why, ledger, COUNT(ledger));
    add_expiring(building, table, options->run_life_ns);
    table = add_table(building, VV_STR_LITERAL("ledger_slots"), ledger_slots_why, ledger_slots,
                      COUNT(ledger_slots));
    add_expiring(building, table, options->run_life_ns);
    table = add_table(building, VV_STR_LITERAL("seals"), seals_why, seals, COUNT(seals));
    add_lasting(building, table);
    table = add_table(building, VV_STR_LITERAL("plans"), plans_why, plans, COUNT(plans));
    add_lasting(building, table);
    table = add_table(building, VV_STR_LITERAL("places"), places_why, places, COUNT(places));
    add_lasting(building, table);
    table = add_table(building, VV_STR_LITERAL("moves"), moves_why, moves, COUNT(moves));
    add_lasting(building, table);
    table = add_table(building, VV_STR_LITERAL("purges"), purges_why, purges, COUNT(purges));
    add_lasting(building, table);
    table = add_table(building, VV_STR_LITERAL("definitions"), definitions_why, definitions,
                      COUNT(definitions));
    add_lasting(building, table);
    table = add_table(building, VV_STR_LITERAL("changes"), changes_why, changes, COUNT(changes));
    add_expiring(building, table, VV_SCHEMA_CHANGES_LIFE_NS);
    table = add_table(building, VV_STR_LITERAL("nodes"), nodes_why, nodes, COUNT(nodes));
    add_option(table, "default_time_to_live", VV_STR_LITERAL("0"));
    table = add_table(building, VV_STR_LITERAL("varve_schema"), versions_why, versions,
                      COUNT(versions));
    add_option(table, "default_time_to_live", VV_STR_LITERAL("0"));
}

/* ---- the keyspace ---- */

static void add_keyspace_option(struct vv_schema *schema, struct vv_str name, struct vv_str value)
{
    schema->options[schema->n_options++] = (struct vv_schema_option){name, value};
}

static void add_keyspace(struct building *building)
{
    struct vv_schema *schema = building->schema;
    const struct vv_schema_options *options = building->options;
    if (options->n_replication > 0) {
        add_keyspace_option(schema, VV_STR_LITERAL("replication.class"),
                            VV_STR_LITERAL("NetworkTopologyStrategy"));
    }
    for (size_t i = 0; i < options->n_replication; i++) {
        struct vv_buffer name = {0};
        vv_buffer_text(&name, "replication.");
        vv_buffer_str(&name, options->replication[i].datacenter);
        struct vv_str copy =
            vv_arena_str(&schema->arena, (struct vv_str){(const char *)name.data, name.size});
        building->failed = building->failed || name.failed || !copy.data;
        add_keyspace_option(schema, copy,
                            text(building, "%lld", (long long)options->replication[i].replicas));
        vv_buffer_deinit(&name);
    }
    add_keyspace_option(schema, VV_STR_LITERAL("durable_writes"), VV_STR_LITERAL("true"));
}

enum vv_status vv_schema_want(const struct vv_schema_options *options, struct vv_schema *schema_out)
{
    *schema_out = (struct vv_schema){
        .keyspace = options->keyspace, .exists = true, .version = VV_SCHEMA_VERSION};
    struct building building = {schema_out, options, false};
    size_t n_tables = (options->purges ? 5 : 3) * (options->n_classes + 1) + 14;
    size_t n_options = options->n_replication + 2;
    schema_out->tables = vv_arena_alloc(&schema_out->arena, n_tables * sizeof *schema_out->tables);
    schema_out->options =
        vv_arena_alloc(&schema_out->arena, n_options * sizeof *schema_out->options);
    if (!schema_out->tables || !schema_out->options) {
        vv_schema_deinit(schema_out);
        return VV_NO_MEMORY;
    }
    add_keyspace(&building);
    add_tables(&building);
    for (size_t i = 0; i < n_tables && options->n_replication == 0; i++) {
        schema_out->tables[i].n_options = 0;
    }
    if (building.failed) {
        vv_schema_deinit(schema_out);
        return VV_NO_MEMORY;
    }
    return VV_OK;
}
