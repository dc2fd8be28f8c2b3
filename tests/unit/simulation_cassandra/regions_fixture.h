/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of regions share: nodes of several regions on the model of one cluster, and what they
 * do and see. */
#ifndef TESTS_SIMULATION_CASSANDRA_REGIONS_FIXTURE_H
#define TESTS_SIMULATION_CASSANDRA_REGIONS_FIXTURE_H

#include "simulation/cassandra/sim_cassandra.h"

#include "base/log.h"
#include "simulation/sim_clock.h"
#include "store/cassandra/cassandra.h"
#include "support/keyspace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NAME      "regions"
#define START     (INT64_C(1767225600) * VV_SECOND)
#define NODES_MAX 8
#define SECONDS   (1000 * 1000) /* in µs */

static struct vv_sim_clock sim;
static struct vv_sim_cassandra *model;
static struct vv_store *open_nodes[NODES_MAX]; /* closed when the case is over */
static struct vv_store *one; /* a node of each of the first two regions, where a case wants them */
static struct vv_store *two;
static const int64_t classes[] = {7 * VV_DAY};

static const struct vv_cassandra_region list[] = {
    {"one", "varve_one"}, {"two", "varve_two"}, {"three", "varve_three"}};

/* ---- names: a letter and the number */

static inline struct vv_str name_of(char letter, uint32_t number)
{
    static char names[128][16];
    vv_invariant(letter >= 's' && letter <= 'v' && number < 32);
    char *name = names[(letter - 's') * 32 + (int)number];
    snprintf(name, 16, "%c%u", letter, number);
    return vv_str_of(name);
}

static inline struct vv_str tenant_name(void *context, uint32_t tenant)
{
    (void)context;
    return name_of('t', tenant);
}

static inline struct vv_str source_name(void *context, uint32_t source)
{
    (void)context;
    return name_of('s', source);
}

static inline struct vv_str measurement_name(void *context, uint32_t measurement)
{
    (void)context;
    return name_of('u', measurement);
}

static inline bool find_tenant(void *context, struct vv_str name, uint32_t *tenant_out)
{
    (void)context;
    *tenant_out = name.size > 1 ? (uint32_t)(name.data[1] - '0') : 0;
    return name.size > 1 && name.data[0] == 't';
}

static const struct vv_store_names names = {
    .tenant = tenant_name,
    .source = source_name,
    .measurement = measurement_name,
    .tenant_named = find_tenant,
};

/* ---- the cluster */

static inline void make_region(const char *keyspace, const char *datacenter)
{
    make_keyspace(NAME, keyspace, datacenter, classes, 1);
}

static inline int set_up(void **state)
{
    (void)state;
    vv_sim_clock_init(&sim, START);
    model = vv_sim_cassandra_create(NAME, 1, &sim.clock);
    make_region("varve_one", "dc1");
    make_region("varve_two", "dc1");
    return 0;
}

static inline int tear_down(void **state)
{
    (void)state;
    for (size_t i = 0; i < NODES_MAX; i++) {
        if (open_nodes[i]) {
            open_nodes[i]->ops->close(open_nodes[i]);
            open_nodes[i] = NULL;
        }
    }
    vv_sim_cassandra_destroy(model);
    return 0;
}

/* ---- nodes */

static inline struct vv_store *new_local(void)
{
    const struct vv_store_options options = {.eras = 8};
    struct vv_store *local;
    assert_int_equal(vv_store_memory_open(&options, &local, NULL), VV_OK);
    return local;
}

static inline enum vv_status try_open(struct vv_store *take_local,
                                      const struct vv_cassandra_region *all, size_t n, size_t own,
                                      struct vv_store **store_out, struct vv_error *error)
{
    struct vv_cassandra_options options = {
        .cql = {.contact_points = NAME, .request_timeout_ms = 2500},
        .n_regions = n,
        .own_region = own,
        .classes_ns = classes,
        .n_classes = 1,
        .slack_ns = VV_DAY,
        .requests_max = 16,
        .bytes_max = 1u << 20,
    };
    memcpy(options.regions, all, n * sizeof *all);
    return vv_store_cassandra_open(&options, take_local, &names, &sim.clock, store_out, error);
}

static inline struct vv_store *open_node(size_t n, size_t own)
{
    struct vv_store *store;
    struct vv_error error = {0};
    if (try_open(new_local(), list, n, own, &store, &error) != VV_OK) {
        fail_msg("%s", error.message);
    }
    for (size_t i = 0; i < NODES_MAX; i++) {
        if (!open_nodes[i]) {
            open_nodes[i] = store;
            break;
        }
    }
    return store;
}

static inline int set_up_two(void **state)
{
    set_up(state);
    one = open_node(2, 0);
    two = open_node(2, 1);
    return 0;
}

static inline void confirm(struct vv_store *store)
{
    struct vv_error error = {0};
    if (store->ops->confirm(store, &error) != VV_OK) {
        fail_msg("%s", error.message);
    }
}

static inline void beat(struct vv_store *store)
{
    int64_t now = sim.clock.wall_ns(&sim.clock);
    assert_int_equal(store->ops->shared->beat(store, now, NULL), VV_OK);
}

static inline void wait_ns(int64_t duration_ns)
{
    vv_sim_clock_advance(&sim, duration_ns);
}

/* ---- pieces */

static inline struct vv_span_key span_of(uint8_t region, uint32_t source)
{
    return (struct vv_span_key){.partition = {.tenant = 1,
                                              .source = source,
                                              .bucket_start = START,
                                              .bucket_ns = VV_DAY,
                                              .region = region},
                                .measurement = 1,
                                .span_start = START};
}

static inline enum vv_status put(struct vv_store *store, enum vv_piece_kind kind,
                                 const struct vv_span_key *key, const char *text)
{
    const struct vv_piece piece = {
        .kind = kind, .key = *key, .run = kind == VV_PIECE_RUN, .bytes = vv_str_of(text)};
    return kind == VV_PIECE_RUN ? store->ops->put_run(store, &piece, NULL)
                                : store->ops->put_blocks(store, &piece, 1, NULL);
}

struct seen {
    uint8_t region;
    char text[256];
};

static inline enum vv_status note_piece(void *context, const struct vv_piece *piece)
{
    struct seen *seen = context;
    size_t used = strlen(seen->text);
    assert_int_equal(piece->key.partition.region, seen->region);
    snprintf(seen->text + used, sizeof seen->text - used, "%s%c=%.*s", used ? " " : "",
             piece->kind == VV_PIECE_RUN ? 'R' : 'B', VV_STR_ARG(piece->bytes));
    return VV_OK;
}

static inline void assert_read(struct vv_store *store, uint8_t region, uint32_t source,
                               const char *text)
{
    struct vv_span_key key = span_of(region, source);
    struct seen seen = {.region = region};
    struct vv_error error = {0};
    const struct vv_store_read read = {.partition = key.partition,
                                       .measurement = 1,
                                       .span_from = START - VV_DAY,
                                       .span_to = START + VV_DAY,
                                       .span_ns = VV_HOUR};
    if (store->ops->read(store, &read, note_piece, &seen, &error) != VV_OK) {
        fail_msg("%s", error.message);
    }
    assert_string_equal(seen.text, text);
}

static inline bool has_bucket(struct vv_store *store, uint8_t region, uint32_t source)
{
    int64_t start = 0;
    enum vv_status status =
        store->ops->nearest(store, region, 1, source, START + VV_DAY, false, &start, NULL);
    assert_true(status == VV_DONE || (status == VV_OK && start == START));
    return status == VV_OK;
}

/* ---- what is told */

static inline void tell(struct vv_store *store, const char *name, const char *value)
{
    const struct vv_told told = {.kind = 4,
                                 .tenant = VV_STR_LITERAL("t1"),
                                 .name = vv_str_of(name),
                                 .value = vv_str_of(value)};
    assert_int_equal(store->ops->shared->tell(store, &told, NULL), VV_OK);
}

static inline enum vv_status note_told(void *context, const struct vv_told *told)
{
    char *text = context;
    size_t used = strlen(text);
    snprintf(text + used, 512 - used, "%s%u/%u:%.*s=%.*s", used ? " " : "", told->region,
             told->node, VV_STR_ARG(told->name), VV_STR_ARG(told->value));
    return VV_OK;
}

/* "<region>/<node>:<name>=<value> …"; valid until the next call. */
static inline const char *learn(struct vv_store *store)
{
    static char text[512];
    struct vv_error error = {0};
    text[0] = '\0';
    if (store->ops->shared->learn(store, note_told, text, &error) != VV_OK) {
        fail_msg("%s", error.message);
    }
    return text;
}

static inline const char *regions_text(struct vv_store *store)
{
    static char text[256];
    static const char *const states[] = {"unknown", "absent", "readable"};
    struct vv_region regions[VV_REGIONS_MAX];
    size_t n = store->ops->shared->regions(store, regions);
    text[0] = '\0';
    for (size_t i = 0; i < n; i++) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s%s:%s", used ? " " : "", regions[i].name,
                 states[regions[i].state]);
    }
    return text;
}

/* "<region>/<node> …" */
static inline const char *peers_text(struct vv_store *store)
{
    static char text[256];
    struct vv_peer peers[8];
    size_t n = store->ops->shared->peers(store, peers, 8);
    text[0] = '\0';
    for (size_t i = 0; i < n; i++) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s%u/%u%s", used ? " " : "", peers[i].region,
                 peers[i].node, peers[i].is_gone ? " gone" : "");
    }
    return text;
}

/* What a client of Cassandra does; `bytes`, unless NULL, are the statement's only value. */
static inline void execute(const char *cql, const struct vv_buffer *bytes)
{
    const struct vvcql_options options = {.contact_points = NAME};
    struct vvcql_session *session;
    struct vvcql_result *result;
    assert_int_equal(vvcql_session_open(&options, false, &session, NULL), VVCQL_OK);
    struct vvcql_statement *statement =
        bytes ? vvcql_statement_prepared(vvcql_prepare(session, cql)) : vvcql_statement_create(cql);
    if (bytes) {
        vvcql_add_bytes(statement, bytes->data, bytes->size);
    }
    assert_int_equal(vvcql_wait(session, statement, &result, NULL), VVCQL_OK);
    vvcql_result_destroy(result);
    vvcql_session_close(session);
}

#define CASE(name)     cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define CASE_TWO(name) cmocka_unit_test_setup_teardown(name, set_up_two, tear_down)

#endif
