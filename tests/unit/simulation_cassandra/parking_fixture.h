/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of parking share: two nodes, each the real store with a local store that outlives it,
 * on the model of Cassandra; a clock; and what a node does. */
#ifndef TESTS_SIMULATION_CASSANDRA_PARKING_FIXTURE_H
#define TESTS_SIMULATION_CASSANDRA_PARKING_FIXTURE_H

#include "store/cassandra/cassandra.h"

#include "simulation/cassandra/sim_cassandra.h"
#include "simulation/sim_clock.h"
#include "support/keyspace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NAME    "parking"
#define START   (INT64_C(1767225600) * VV_SECOND)
#define TENANT  1
#define SOURCES 64
#define HALF    0x5a5au /* of the sets */
#define ALL     0xffffu
#define MARKS   256

static const int64_t classes[] = {30 * VV_DAY};

/* A node: its local store outlives the store, as files do. */
struct node {
    uint32_t client;
    uint64_t parked_max;
    const char *rows_tenants;
    int64_t lead_ns; /* 0: others need no time to learn */
    struct vv_store *local;
    struct vv_store_ops local_ops;
    const struct vv_store_ops *memory_ops;
    struct vv_store *store;
};

static uint32_t raw_tenant = TENANT; /* or a class of it: where raw data is put */
static struct vv_sim_clock clock_of_all;
static struct vv_sim_cassandra *model;
static struct node a;
static struct node b;

/* ---- names ---- */

static char source_names[SOURCES][8];
#define TENANTS      13
#define SPACES       4 /* the tiers of TENANT from this number on */
#define LATE         7 /* late points of TENANT, where they are kept apart */
#define CLASS        8 /* of TENANT */
#define CLASS_SPACES 9 /* the tiers of that */
#define CLASS_LATE   12
static const char *const tenant_names[TENANTS] = {
    "t0",      "t1",    "t2",           "t3",         "t1/minute", "t1/hour",   "t1/day",
    "t1/late", "t1/@c", "t1/@c/minute", "t1/@c/hour", "t1/@c/day", "t1/@c/late"};

static inline struct vv_str tenant_name(void *context, uint32_t tenant)
{
    (void)context;
    return vv_str_of(tenant_names[tenant % TENANTS]);
}

static inline struct vv_str source_name(void *context, uint32_t source)
{
    (void)context;
    return vv_str_of(source_names[source % SOURCES]);
}

static inline struct vv_str measurement_name(void *context, uint32_t measurement)
{
    (void)context;
    (void)measurement;
    return VV_STR_LITERAL("m");
}

static inline struct vv_str field_name(void *context, uint32_t metric, uint32_t *measurement_out,
                                       enum vv_value_type *type_out)
{
    (void)context;
    *measurement_out = 1;
    *type_out = VV_INT64;
    return metric == 7 ? VV_STR_LITERAL("f") : (struct vv_str){0};
}

static inline bool find_metric(void *context, uint32_t measurement, int64_t id,
                               uint32_t *metric_out)
{
    (void)context;
    (void)measurement;
    (void)id;
    *metric_out = 7;
    return true;
}

static inline bool find_named(void *context, uint32_t tenant, struct vv_str name,
                              uint32_t *metric_out)
{
    (void)context;
    (void)tenant;
    *metric_out = 7;
    return vv_str_equal(name, VV_STR_LITERAL("m.f"));
}

static inline bool find_tenant(void *context, struct vv_str name, uint32_t *tenant_out)
{
    (void)context;
    for (*tenant_out = 0; *tenant_out < TENANTS; ++*tenant_out) {
        if (vv_str_equal(name, vv_str_of(tenant_names[*tenant_out]))) {
            return true;
        }
    }
    return false;
}

static inline bool find_source(void *context, uint32_t tenant, struct vv_str id,
                               uint32_t *source_out)
{
    char text[8];
    (void)context;
    (void)tenant;
    snprintf(text, sizeof text, "%.*s", VV_STR_ARG(id));
    return sscanf(text, "s%u", source_out) == 1;
}

static inline bool find_measurement(void *context, uint32_t tenant, struct vv_str name,
                                    uint32_t *measurement_out)
{
    (void)context;
    (void)tenant;
    *measurement_out = 1;
    return vv_str_equal(name, VV_STR_LITERAL("m"));
}

static const struct vv_store_names names = {
    .tenant = tenant_name,
    .source = source_name,
    .measurement = measurement_name,
    .field = field_name,
    .metric = find_metric,
    .metric_named = find_named,
    .tenant_named = find_tenant,
    .source_named = find_source,
    .measurement_named = find_measurement,
};

/* ---- nodes ---- */

static inline void close_nothing(struct vv_store *store)
{
    (void)store;
}

static inline void open_node(struct node *node)
{
    char contact[32];
    struct vv_error error = {0};
    snprintf(contact, sizeof contact, NAME "/%u", node->client);
    const struct vv_cassandra_options options = {
        .cql = {.contact_points = contact},
        .regions = {{"here", "varve"}},
        .n_regions = 1,
        .classes_ns = classes,
        .n_classes = 1,
        .rows_tenants = node->rows_tenants,
        .slack_ns = VV_DAY,
        .lead_ns = node->lead_ns,
        .requests_max = 64,
        .bytes_max = 1u << 20,
        .parked_max = node->parked_max,
    };
    node->local->ops = &node->local_ops;
    enum vv_status status = vv_store_cassandra_open(&options, node->local, &names,
                                                    &clock_of_all.clock, &node->store, &error);
    if (status != VV_OK) {
        fail_msg("the store does not open: %s", error.message);
    }
}

static inline void make_node(struct node *node, uint32_t client)
{
    const struct vv_store_options options = {.folder = "/data", .eras = 24};
    *node = (struct node){.client = client, .parked_max = 1u << 20};
    assert_int_equal(vv_store_memory_open(&options, &node->local, NULL), VV_OK);
    node->memory_ops = node->local->ops;
    node->local_ops = *node->local->ops;
    node->local_ops.close = close_nothing;
    open_node(node);
}

static inline void close_node(struct node *node)
{
    if (node->store) {
        node->store->ops->close(node->store);
    }
    node->store = NULL;
}

static inline void drop_node(struct node *node)
{
    close_node(node);
    node->local->ops = node->memory_ops;
    node->local->ops->close(node->local);
}

/* As after a kill -9: what the local store has not confirmed is gone, in part. */
static inline void crash_node(struct node *node, uint64_t seed)
{
    close_node(node);
    node->local->ops = node->memory_ops;
    vv_store_memory_crash(node->local, seed);
    open_node(node);
}

static inline int set_up(void **state)
{
    (void)state;
    raw_tenant = TENANT;
    vv_sim_clock_init(&clock_of_all, START);
    for (uint32_t i = 0; i < SOURCES; i++) {
        snprintf(source_names[i], sizeof source_names[0], "s%u", i % SOURCES);
    }
    model = vv_sim_cassandra_create(NAME, 11, &clock_of_all.clock);
    make_keyspace(NAME "/7", "varve", "dc1", classes, 1);
    make_node(&a, 0);
    make_node(&b, 1);
    return 0;
}

static inline int tear_down(void **state)
{
    (void)state;
    drop_node(&a);
    drop_node(&b);
    vv_sim_cassandra_destroy(model);
    return 0;
}

static inline void advance(int64_t ns)
{
    vv_sim_clock_advance(&clock_of_all, ns);
}

static inline void set_away(uint32_t sets)
{
    vv_sim_cassandra_set_away(model, sets);
}

/* ---- what a node does ---- */

static inline struct vv_span_key span_of(uint32_t source, int64_t day)
{
    return (struct vv_span_key){
        .partition = {raw_tenant, source, START + day * VV_DAY, VV_DAY, 0, 0},
        .measurement = 1,
        .span_start = START + day * VV_DAY,
    };
}

static inline struct vv_mark mark_of(uint32_t source, int64_t day, vv_stamp run)
{
    struct vv_span_key key = span_of(source, day);
    return (struct vv_mark){
        .due_ns = key.span_start + VV_HOUR, .key = key, .span_ns = VV_HOUR, .run = run};
}

static inline enum vv_status put(struct node *node, uint32_t source, int64_t day, vv_stamp run,
                                 struct vv_str bytes)
{
    struct vv_error error = {0};
    const struct vv_piece piece = {
        .kind = VV_PIECE_RUN, .key = span_of(source, day), .run = run, .bytes = bytes};
    const struct vv_mark mark = mark_of(source, day, run);
    enum vv_status status = node->store->ops->put_run(node->store, &piece, &error);
    return status == VV_OK ? node->store->ops->put_mark(node->store, &mark, &error) : status;
}

static inline enum vv_status confirm(struct node *node)
{
    struct vv_error error = {0};
    return node->store->ops->confirm(node->store, &error);
}

static inline enum vv_status recover(struct node *node)
{
    struct vv_error error = {0};
    return node->store->ops->recover(node->store, &error);
}

static inline enum vv_status flush_once(struct node *node, uint32_t n, int64_t day, vv_stamp run)
{
    enum vv_status status = VV_OK;
    for (uint32_t source = 0; source < n && status == VV_OK; source++) {
        char text[32];
        snprintf(text, sizeof text, "%u.%d", source, (int)day);
        status = put(node, source, day, run, vv_str_of(text));
    }
    return status == VV_OK ? confirm(node) : status;
}

/* As the engine does it: after a failure it recovers and flushes again; how often it did. */
static inline int flush(struct node *node, uint32_t n, int64_t day, vv_stamp run)
{
    for (int i = 0; i < 20; i++) {
        if (flush_once(node, n, day, run) == VV_OK) {
            return i;
        }
        assert_int_equal(recover(node), VV_OK);
    }
    fail_msg("the flush does not come to an end");
    return -1;
}

static inline void deliver(struct node *node)
{
    struct vv_error error = {0};
    bool more = true;
    for (int i = 0; i < 1000 && more; i++) {
        assert_int_equal(node->store->ops->shared->deliver(node->store, &more, &error), VV_OK);
    }
    assert_false(more);
}

/* Time passes, and what can go goes. */
static inline void deliver_all(struct node *node)
{
    for (int i = 0; i < 4; i++) {
        advance(11 * VV_SECOND);
        deliver(node);
    }
}

static inline struct vv_parked parked_of(struct node *node)
{
    struct vv_parked all;
    node->store->ops->shared->parked(node->store, &all);
    return all;
}

static inline uint64_t parked(struct node *node)
{
    return parked_of(node).n;
}

static inline bool has_parked(struct node *node)
{
    return node->store->ops->shared->has_parked(node->store, TENANT);
}

/* ---- what is there ---- */

struct seen {
    char text[256];
    size_t n;
};

static inline enum vv_status see(void *context, const struct vv_piece *piece)
{
    struct seen *seen = context;
    size_t used = strlen(seen->text);
    snprintf(seen->text + used, sizeof seen->text - used, "%s%.*s", used ? " " : "",
             VV_STR_ARG(piece->bytes));
    seen->n++;
    return VV_OK;
}

/* The source's runs of a day, "" when they can't be read. */
static inline const char *read_source(struct node *node, uint32_t source, int64_t day)
{
    static struct seen seen;
    struct vv_error error = {0};
    const struct vv_span_key key = span_of(source, day);
    const struct vv_store_read read = {.partition = key.partition,
                                       .measurement = 1,
                                       .span_from = key.span_start,
                                       .span_to = key.span_start + VV_DAY};
    seen = (struct seen){0};
    enum vv_status status = node->store->ops->read(node->store, &read, see, &seen, &error);
    return status == VV_OK ? seen.text : "?";
}

/* How many of the sources the node reads as they were written, each once; the others fail. */
static inline uint32_t readable(struct node *node, uint32_t n, int64_t day)
{
    uint32_t good = 0;
    for (uint32_t source = 0; source < n; source++) {
        char text[32];
        snprintf(text, sizeof text, "%u.%d", source, (int)day);
        const char *found = read_source(node, source, day);
        if (strcmp(found, "?") != 0 && strcmp(found, "") != 0) {
            assert_string_equal(found, text);
            good++;
        }
    }
    return good;
}

struct runs {
    struct vv_piece items[8]; /* without their bytes */
    size_t n;
};

static inline enum vv_status take_run(void *context, const struct vv_piece *piece)
{
    struct runs *runs = context;
    if (piece->kind == VV_PIECE_RUN) {
        assert_true(runs->n < 8);
        runs->items[runs->n] = *piece;
        runs->items[runs->n++].bytes = (struct vv_str){0};
    }
    return VV_OK;
}

/* Those of the span that are in no block. */
static inline struct runs runs_of(struct node *node, const struct vv_span_key *key)
{
    struct runs runs = {.n = 0};
    const struct vv_store_read read = {.partition = key->partition,
                                       .measurement = 1,
                                       .span_from = key->span_start,
                                       .span_to = key->span_start + 1};
    assert_int_equal(node->store->ops->read(node->store, &read, take_run, &runs, NULL), VV_OK);
    return runs;
}

/* What the sealer does: makes a block of the span's runs. */
static inline void seal(struct node *node, const struct vv_mark *mark, struct vv_str bytes)
{
    const struct vv_store_ops *ops = node->store->ops;
    struct vv_error error = {0};
    bool is_mine = false;
    const struct vv_piece block = {.kind = VV_PIECE_BLOCK, .key = mark->key, .bytes = bytes};
    assert_int_equal(ops->shared->take_seal(node->store, mark, &is_mine, &error), VV_OK);
    assert_true(is_mine);
    struct runs runs = runs_of(node, &mark->key);
    assert_int_equal(ops->put_blocks(node->store, &block, 1, &error), VV_OK);
    assert_int_equal(ops->remove_runs(node->store, runs.items, runs.n, &error), VV_OK);
    assert_int_equal(confirm(node), VV_OK);
}

struct marks {
    struct vv_mark items[MARKS];
    size_t n;
};

static inline enum vv_status see_mark(void *context, const struct vv_mark *mark)
{
    struct marks *marks = context;
    assert_true(marks->n < MARKS);
    marks->items[marks->n++] = *mark;
    return VV_OK;
}

/* Until all shards of the ledger were read. */
static inline size_t scan(struct node *node, struct marks *marks)
{
    struct vv_error error = {0};
    for (int i = 0; i < 10; i++) {
        marks->n = 0;
        assert_int_equal(
            node->store->ops->scan_marks(node->store, INT64_MAX, NULL, see_mark, marks, &error),
            VV_OK);
    }
    return marks->n;
}

#endif
