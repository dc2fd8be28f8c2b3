/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole nodes on the model of Cassandra, operated by hand: each has its engine, disk and local
 * store, which outlive a kill; one clock goes for all. All write the source id=x of tenant t.
 */
#ifndef TESTS_SIMULATION_CASSANDRA_ENGINES_FIXTURE_H
#define TESTS_SIMULATION_CASSANDRA_ENGINES_FIXTURE_H

#include "unit/engine/nodes_rig.h"

#include "engine/engine_private.h"
#include "engine/schema_options.h"
#include "simulation/cassandra/sim_cassandra.h"

#define NAME      "engines"
#define NODES_MAX 4

struct node {
    struct rig rig; /* first: found by it */
    uint32_t client;
    struct vv_store *local;
    struct vv_store_ops local_ops;
    const struct vv_store_ops *memory_ops;
    bool is_killed;
};

static struct vv_sim_clock clock_of_all;
static struct vv_sim_cassandra *model;
static struct node nodes[NODES_MAX];
static const char *rows_tenants[NODES_MAX]; /* of each node; NULL: none */
static int64_t sources_max[NODES_MAX];      /* 0: as by default */
static int64_t purge_every_ns;              /* 0: blocks have a TTL */
static int64_t block_bytes_max;             /* 0: as by default */
static bool has_tiers;                      /* they are on from the beginning */
static int64_t raw_ns = 40 * VV_DAY;        /* how long raw data is kept with them */
static long long written;                   /* points, each with its own time and number */

static inline int64_t now_ns(void)
{
    return clock_of_all.clock.wall_ns(&clock_of_all.clock);
}

static inline void set_up_node(struct rig *rig, struct vv_settings *settings,
                               struct vv_engine_options *options)
{
    struct node *node = (struct node *)rig;
    snprintf(settings->store_kind, sizeof settings->store_kind, "cassandra");
    snprintf(settings->cassandra_contact_points, sizeof settings->cassandra_contact_points,
             NAME "/%u", node->client);
    snprintf(settings->cassandra_keyspace, sizeof settings->cassandra_keyspace, "varve");
    snprintf(settings->cassandra_replication, sizeof settings->cassandra_replication, "dc1:3");
    snprintf(settings->cassandra_classes, sizeof settings->cassandra_classes, "30d,300d");
    if (rows_tenants[node->client]) {
        snprintf(settings->cassandra_rows_tenants, sizeof settings->cassandra_rows_tenants, "%s",
                 rows_tenants[node->client]);
    }
    settings->sources_max =
        sources_max[node->client] ? sources_max[node->client] : settings->sources_max;
    settings->cassandra_slack_ns = 2 * VV_DAY;
    settings->cassandra_purge_every_ns = purge_every_ns;
    settings->block_bytes_max = block_bytes_max ? block_bytes_max : settings->block_bytes_max;
    settings->tiers_default = has_tiers;
    settings->retention_raw_ns = has_tiers ? raw_ns : 0;
    options->take_local = node->local;
}

static inline void close_nothing(struct vv_store *store)
{
    (void)store;
}

/* The memory store knows its own operations only. */
static inline struct vv_store *plain_local(struct node *node)
{
    node->local->ops = node->memory_ops;
    return node->local;
}

static inline void make_schema(void)
{
    struct vv_schema_setup setup;
    struct vv_schema_report report;
    struct vvcql_session *session;
    struct vv_settings settings;
    const struct vvcql_options cql = {.contact_points = NAME "/7"};
    struct vv_engine_options options = {0};
    vv_settings_init(&settings);
    set_up_node(&nodes[0].rig, &settings, &options);
    assert_int_equal(vv_schema_setup_of(&settings, &setup, NULL), VV_OK);
    assert_int_equal(vvcql_session_open(&cql, false, &session, NULL), VVCQL_OK);
    assert_int_equal(vv_schema_apply(session, &setup.options, NULL, NULL, &report, NULL), VV_OK);
    vv_schema_report_deinit(&report);
    vvcql_session_close(session);
}

/* Nobody is there yet. */
static inline void make_cluster(uint64_t seed)
{
    vv_sim_clock_init(&clock_of_all, RIG_START);
    model = vv_sim_cassandra_create(NAME, seed, &clock_of_all.clock);
    memset(nodes, 0, sizeof nodes);
    written = 0;
    make_schema();
}

static inline struct node *make_node(uint32_t client)
{
    struct node *node = &nodes[client];
    const struct vv_store_options options = {.folder = "/data/store", .eras = 24};
    vv_log_level_set(VV_LOG_OFF);
    node->client = client;
    node->rig = (struct rig){.prepare = set_up_node,
                             .disk = vv_sim_disk_create(client + 1),
                             .other_clock = &clock_of_all.clock};
    struct vv_disk *disk = vv_sim_disk_interface(node->rig.disk);
    assert_int_equal(disk->ops->make_folder(disk, "/data", NULL), VV_OK);
    assert_int_equal(disk->ops->make_folder(disk, "/data/journal", NULL), VV_OK);
    assert_int_equal(vv_store_memory_open(&options, &node->local, NULL), VV_OK);
    node->memory_ops = node->local->ops;
    node->local_ops = *node->local->ops;
    node->local_ops.close = close_nothing;
    node->local->ops = &node->local_ops;
    rig_open(&node->rig);
    return node;
}

static inline void drop_cluster(void)
{
    for (size_t i = 0; i < NODES_MAX; i++) {
        if (nodes[i].rig.engine) {
            vv_engine_close(nodes[i].rig.engine);
        }
        if (nodes[i].rig.disk) {
            vv_sim_disk_destroy(nodes[i].rig.disk);
            plain_local(&nodes[i])->ops->close(nodes[i].local);
        }
    }
    vv_sim_cassandra_destroy(model);
}

/* From now on nothing that the node does has any effect: kill -9. */
static inline void kill_node(struct node *node)
{
    node->is_killed = true;
    vv_sim_cassandra_cut(model, node->client);
    vv_sim_disk_power_off_after(node->rig.disk, 0);
    vv_store_memory_fail(plain_local(node), VV_IO, UINT32_MAX);
    node->local->ops = &node->local_ops;
}

/* What kills a node when it has asked for so much: context of the hook. */
struct killing {
    struct node *node;
    int left;
};

static inline void kill_in_time(void *context, uint32_t client)
{
    struct killing *killing = context;
    if (client == killing->node->client && killing->left-- == 0) {
        kill_node(killing->node);
    }
}

/* Its engine goes; what its store had not confirmed is gone in part. */
static inline void bury_node(struct node *node, uint64_t seed)
{
    assert_true(node->is_killed);
    vv_engine_close(node->rig.engine);
    node->rig.engine = NULL;
    vv_store_memory_fail(plain_local(node), VV_OK, 0);
    vv_store_memory_crash(node->local, seed);
    node->local->ops = &node->local_ops;
    vv_sim_disk_restart(node->rig.disk);
    vv_sim_disk_heal(node->rig.disk);
    vv_sim_cassandra_join(model, node->client);
    node->is_killed = false;
}

static inline void advance(int64_t ns)
{
    vv_sim_clock_advance(&clock_of_all, ns);
}

static inline bool is_up(const struct node *node)
{
    return node->rig.engine != NULL;
}

static inline void write_at(struct node *node, int64_t time_ns)
{
    char line[80];
    written++;
    snprintf(line, sizeof line, "m,id=x v=%lldi %lld\n", written, (long long)time_ns + written);
    rig_write_line(&node->rig, line);
}

/* What a node does every now and then. */
static inline void work(struct node *node)
{
    enum vv_status status;
    (void)rig_step(&node->rig, VV_TASK_LEARN);
    for (int i = 0; (status = rig_step(&node->rig, VV_TASK_FLUSH)) != VV_OK && i < 20; i++) {
        advance(5 * VV_SECOND);
    }
    assert_int_equal(status, VV_OK);
    (void)rig_step(&node->rig, VV_TASK_PLANS);
    (void)rig_step(&node->rig, VV_TASK_DELIVER);
    (void)rig_step(&node->rig, VV_TASK_BEAT);
}

/* Until the node knows it, and writes what belongs to the tenant there. */
static inline void keep_for(struct node *node, int64_t retention_ns)
{
    struct vv_error error = {0};
    if (vv_engine_set_retention(node->rig.engine, VV_STR_LITERAL("t"), retention_ns, &error) !=
        VV_OK) {
        fail_msg("%s", error.message);
    }
    for (int i = 0; i < 3; i++) {
        advance(11 * VV_SECOND);
        work(node);
    }
}

/* All that are up write, now and as far ahead as they may, for as long. */
static inline void live(int64_t duration_ns)
{
    for (int64_t end = now_ns() + duration_ns; now_ns() < end;) {
        for (size_t i = 0; i < NODES_MAX; i++) {
            if (is_up(&nodes[i])) {
                write_at(&nodes[i], now_ns());
                write_at(&nodes[i], now_ns() + 9 * VV_MINUTE);
                work(&nodes[i]);
            }
        }
        advance(10 * VV_MINUTE);
    }
}

/* The number of the source that all write, as the node has it. */
static inline uint32_t number_of_source(struct node *node)
{
    struct vv_registry *registry = vv_engine_query_context(node->rig.engine)->registry;
    uint32_t tenant;
    uint32_t source;
    assert_int_equal(vv_registry_tenant(registry, VV_STR_LITERAL("t"), false, &tenant, NULL),
                     VV_OK);
    assert_int_equal(vv_registry_source_by_id(registry, tenant, VV_STR_LITERAL("id=x"), &source),
                     VV_OK);
    return source;
}

static inline struct vv_plans plans_of(struct node *node)
{
    return vv_registry_source_plans(vv_engine_query_context(node->rig.engine)->registry,
                                    number_of_source(node));
}

/* Of m, in the bucket in which `time` lies. */
static inline struct vv_store_read read_at(struct node *node, int64_t time)
{
    struct vv_plans plans = plans_of(node);
    struct vv_bucket bucket = vv_bucket_of(plans.plans, plans.n, time);
    struct vv_registry *registry = node->rig.engine->registry;
    struct vv_store_read read = {
        .span_from = bucket.start, .span_to = bucket.end, .span_ns = bucket.span_ns};
    uint32_t tenant;
    assert_int_equal(vv_registry_tenant(registry, VV_STR_LITERAL("t"), false, &tenant, NULL),
                     VV_OK);
    assert_int_equal(vv_registry_measurement(registry, tenant, VV_STR_LITERAL("m"), false,
                                             &read.measurement, NULL),
                     VV_OK);
    read.partition = (struct vv_partition){.tenant = tenant,
                                           .source = number_of_source(node),
                                           .bucket_start = bucket.start,
                                           .bucket_ns = bucket.bucket_ns,
                                           .split = vv_split_name(&bucket, 0)};
    return read;
}

/* What the store has of that bucket. */
static inline void visit_at(struct node *node, int64_t time, vv_piece_visit visit, void *context)
{
    struct vv_store *store = node->rig.engine->store;
    struct vv_store_read read = read_at(node, time);
    struct vv_error error = {0};
    if (store->ops->read(store, &read, visit, context, &error) != VV_OK) {
        fail_msg("%s", error.message);
    }
}

static inline enum vv_status change_plan(struct node *node, int64_t bucket_ns, uint16_t splits,
                                         struct vv_plan *plan_out)
{
    const struct vv_plan_wish wish = {.bucket_ns = bucket_ns, .splits = splits};
    struct vv_error error = {0};
    return vv_engine_change_plan(node->rig.engine, VV_STR_LITERAL("t"), VV_STR_LITERAL("id=x"),
                                 &wish, plan_out, &error);
}

static inline void assert_same_plans(struct node *one, struct node *other)
{
    struct vv_plans mine = plans_of(one);
    struct vv_plans theirs = plans_of(other);
    assert_int_equal(mine.n, theirs.n);
    for (size_t i = 0; i < mine.n; i++) {
        assert_int_equal(mine.plans[i].from_ns, theirs.plans[i].from_ns);
        assert_int_equal(mine.plans[i].bucket_ns, theirs.plans[i].bucket_ns);
        assert_int_equal(mine.plans[i].span_ns, theirs.plans[i].span_ns);
        assert_int_equal(mine.plans[i].splits, theirs.plans[i].splits);
    }
}

/* How many points the node finds; it asserts nothing of them but that no two are the same. */
static inline long long count_points(struct node *node)
{
    struct vv_result_facts facts;
    struct vv_buffer text = {0};
    long long n = (long long)rig_query(&node->rig, &text, &facts);
    vv_buffer_deinit(&text);
    return n;
}

/* The same plans and every point, on all that are up; also when all is sealed. */
static inline void assert_all_is_there(void)
{
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < NODES_MAX; i++) {
            if (is_up(&nodes[i])) {
                work(&nodes[i]);
            }
        }
        advance(2 * VV_SECOND);
    }
    for (int sealed = 0; sealed < 2; sealed++) {
        for (size_t i = 0; i < NODES_MAX; i++) {
            if (is_up(&nodes[i])) {
                assert_same_plans(&nodes[1], &nodes[i]);
                assert_int_equal(count_points(&nodes[i]), written);
            }
        }
        for (size_t i = 0; i < NODES_MAX && sealed == 0; i++) {
            for (int step = 0; is_up(&nodes[i]) && step < 10; step++) {
                (void)rig_step(&nodes[i].rig, VV_TASK_LEARN);
                (void)rig_step(&nodes[i].rig, VV_TASK_SEAL_ALL);
            }
        }
    }
}

#endif
