/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What other nodes have told. The table of nodes is read first; then, of each, the changes behind
 * the last one seen; and only then counts what the node said of itself: up to when it has flushed,
 * its definitions of then are known here.
 *
 * At first, for a node not seen before, and after so long a pause that changes may have expired,
 * all definitions are read. All changes up to a node's beat have landed before the beat, so they
 * are among them.
 */
#include "store/cassandra/cassandra.h"

#include "base/random.h"

#include <stdlib.h>

#define GONE_NS          (30 * VV_SECOND)
#define PAUSE_NS_MAX     (VV_SCHEMA_CHANGES_LIFE_NS / 2)
#define SHARDS_AT_ONCE   16
#define DEFINITIONS_PAGE 2000
#define CHANGES_PAGE     64

struct learning {
    struct vv_cassandra *store;
    struct vv_node_seen *nodes; /* as they are now */
    size_t n;
    int64_t *slots; /* of their newest changes */
    bool any_new;
    vv_told_visit visit;
    void *context;
    struct vv_error *error;
};

static int64_t monotonic(const struct vv_cassandra *store)
{
    return store->clock->monotonic_ns(store->clock);
}

static enum vv_status no_memory(struct vv_error *error)
{
    return vv_error_set(error, VV_NO_MEMORY, "out of memory while learning from other nodes");
}

/* ---- who there is ---- */

static struct vv_node_seen *find_node(struct vv_node_seen *nodes, size_t n, uint32_t node)
{
    for (size_t i = 0; i < n; i++) {
        if (nodes[i].node == node) {
            return &nodes[i];
        }
    }
    return NULL;
}

static bool read_node(struct learning *learning, const struct vvcql_result *row)
{
    struct vv_cassandra_shared *shared = &learning->store->shared;
    struct vv_node_seen *seen = &learning->nodes[learning->n];
    int32_t node;
    int64_t beat = 0;
    int64_t slot = 0;
    if (!vvcql_get_int(row, 0, &node) || node <= 0 || (uint32_t)node == shared->node) {
        return false;
    }
    struct vv_node_seen *before = find_node(shared->nodes, shared->n_nodes, (uint32_t)node);
    (void)vvcql_get_bigint(row, 2, &beat);
    (void)vvcql_get_bigint(row, 4, &slot);
    *seen = before ? *before
                   : (struct vv_node_seen){.node = (uint32_t)node,
                                           .heard_ns = monotonic(learning->store),
                                           .flushed_until_ns = INT64_MIN,
                                           .slot = slot,
                                           .written = beat};
    learning->any_new |= !before;
    if (before && beat != before->beat) {
        seen->heard_ns = monotonic(learning->store);
    }
    seen->beat = beat;
    (void)vvcql_get_bigint(row, 3, &seen->flushed_until_ns);
    learning->slots[learning->n] = slot;
    return true;
}

/* Only the thread that learns changes the list, so it may be read here without its lock. */
static enum vv_status read_nodes(struct learning *learning)
{
    struct vv_cassandra *store = learning->store;
    struct vvcql_statement *statement = vvcql_statement_prepared(store->shared.read_nodes);
    struct vvcql_result *result;
    vv_cassandra_add_str(statement, vv_str_of(store->shared.region));
    vvcql_set_idempotent(statement, true);
    enum vv_status status = vv_cassandra_ask(store, &statement, 1, &result, learning->error);
    if (status != VV_OK) {
        return status;
    }
    size_t rows = vvcql_result_rows(result);
    learning->nodes = calloc(rows ? rows : 1, sizeof *learning->nodes);
    learning->slots = calloc(rows ? rows : 1, sizeof *learning->slots);
    while (learning->nodes && learning->slots && vvcql_next_row(result)) {
        learning->n += read_node(learning, result);
    }
    vvcql_result_destroy(result);
    return learning->nodes && learning->slots ? VV_OK : no_memory(learning->error);
}

/* ---- classes of tenants ---- */

/* A tenant that this node doesn't know yet comes with a definition. */
static enum vv_status put_aside(struct learning *learning, const struct vv_told *told)
{
    struct vv_cassandra_shared *shared = &learning->store->shared;
    struct vv_classes_told *one = malloc(sizeof *one + told->value.size + told->tenant.size);
    struct vv_classes_told **all =
        realloc(shared->unplaced, (shared->n_unplaced + 1) * sizeof(struct vv_classes_told *));
    shared->unplaced = all ? all : shared->unplaced;
    if (!one || !all) {
        free(one);
        return no_memory(learning->error);
    }
    *one = (struct vv_classes_told){told->value.size, told->tenant.size};
    memcpy(one->bytes, told->value.data, told->value.size);
    memcpy(one->bytes + told->value.size, told->tenant.data, told->tenant.size);
    shared->unplaced[shared->n_unplaced++] = one;
    return VV_OK;
}

static enum vv_status take_classes(struct learning *learning, const struct vv_told *told)
{
    enum vv_status status =
        vv_cassandra_learn_classes(learning->store, told->tenant, told->value, learning->error);
    return status == VV_NOT_FOUND ? put_aside(learning, told) : status;
}

static enum vv_status place_classes(struct learning *learning)
{
    struct vv_cassandra_shared *shared = &learning->store->shared;
    enum vv_status status = VV_OK;
    size_t kept = 0;
    for (size_t i = 0; i < shared->n_unplaced; i++) {
        struct vv_classes_told *one = shared->unplaced[i];
        struct vv_str value = {one->bytes, one->value_size};
        struct vv_str name = {one->bytes + one->value_size, one->name_size};
        enum vv_status placed =
            vv_cassandra_learn_classes(learning->store, name, value, learning->error);
        if (placed == VV_OK) {
            free(one);
        } else {
            shared->unplaced[kept++] = one;
            status = placed == VV_NOT_FOUND ? status : placed;
        }
    }
    shared->n_unplaced = kept;
    return status;
}

/* ---- giving ---- */

static enum vv_status give(struct learning *learning, const struct vv_told *told)
{
    if (told->node == learning->store->shared.node) {
        return VV_OK;
    }
    if (told->kind == VV_TOLD_CLASSES) {
        return take_classes(learning, told);
    }
    return learning->visit(learning->context, told);
}

/* ---- all definitions ---- */

static enum vv_status visit_definitions(struct learning *learning, struct vvcql_result *page)
{
    enum vv_status status = VV_OK;
    int32_t kind;
    int32_t node;
    struct vv_told told;
    while (status == VV_OK && vvcql_next_row(page)) {
        told = (struct vv_told){.tenant = vv_cassandra_text(page, 0),
                                .name = vv_cassandra_text(page, 2),
                                .value = vv_cassandra_text(page, 5)};
        if (vvcql_get_int(page, 1, &kind) && vvcql_get_bigint(page, 3, &told.item) &&
            vvcql_get_int(page, 4, &node)) {
            told.kind = (uint8_t)kind;
            told.node = (uint32_t)node;
            status = give(learning, &told);
        }
    }
    return status;
}

static struct vvcql_statement *ask_definitions(const struct vv_cassandra *store, int32_t shard)
{
    struct vvcql_statement *statement = vvcql_statement_prepared(store->shared.read_definitions);
    vv_cassandra_add_str(statement, vv_str_of(store->shared.region));
    vvcql_add_int(statement, shard);
    vvcql_set_page_size(statement, DEFINITIONS_PAGE);
    vvcql_set_idempotent(statement, true);
    return statement;
}

/* The pages of some shards; those that have more are asked again. */
static enum vv_status read_shards(struct learning *learning, int32_t first, size_t n)
{
    struct vv_cassandra *store = learning->store;
    struct vvcql_statement *statements[SHARDS_AT_ONCE];
    struct vvcql_result *pages[SHARDS_AT_ONCE];
    int32_t shards[SHARDS_AT_ONCE];
    enum vv_status status = VV_OK;
    for (size_t i = 0; i < n; i++) {
        shards[i] = first + (int32_t)i;
        statements[i] = ask_definitions(store, shards[i]);
    }
    while (n > 0 && status == VV_OK) {
        size_t more = 0;
        status = vv_cassandra_ask(store, statements, n, pages, learning->error);
        for (size_t i = 0; i < n && pages[i]; i++) {
            status = status == VV_OK ? visit_definitions(learning, pages[i]) : status;
            struct vvcql_bytes state = vvcql_result_paging_state(pages[i]);
            if (status == VV_OK && state.size > 0) {
                shards[more] = shards[i];
                statements[more] = ask_definitions(store, shards[more]);
                vvcql_set_paging_state(statements[more], state.data, state.size);
                more++;
            }
            vvcql_result_destroy(pages[i]);
        }
        for (size_t i = 0; i < more && status != VV_OK; i++) {
            vvcql_statement_destroy(statements[i]);
        }
        n = more;
    }
    return status;
}

static enum vv_status read_definitions(struct learning *learning)
{
    enum vv_status status = VV_OK;
    for (int32_t shard = 0; shard < VV_CASSANDRA_SHARDS && status == VV_OK;
         shard += SHARDS_AT_ONCE) {
        status = read_shards(learning, shard, SHARDS_AT_ONCE);
    }
    for (size_t i = 0; i < learning->n && status == VV_OK; i++) {
        learning->nodes[i].slot = learning->slots[i];
        learning->nodes[i].written = learning->nodes[i].beat;
    }
    return status;
}

/* ---- changes ---- */

static enum vv_status visit_change(struct learning *learning, struct vv_node_seen *node,
                                   struct vvcql_result *row)
{
    int64_t written;
    struct vvcql_bytes entries;
    if (!vvcql_get_bigint(row, 0, &written) || !vvcql_get_bytes(row, 1, &entries)) {
        return VV_OK; /* half expired */
    }
    struct vv_reader reader = vv_reader_of(entries.data, entries.size);
    struct vv_told told;
    enum vv_status status = VV_OK;
    while (status == VV_OK && vv_told_next(&reader, &told)) {
        told.node = node->node;
        status = give(learning, &told);
    }
    if (status == VV_OK && reader.failed) {
        status = vv_error_set(learning->error, VV_CORRUPT,
                              "what node %u told is damaged: see %s.changes", node->node,
                              learning->store->keyspace);
    }
    node->written = status == VV_OK ? written : node->written;
    return status;
}

static enum vv_status read_slot(struct learning *learning, struct vv_node_seen *node)
{
    struct vv_cassandra *store = learning->store;
    enum vv_status status = VV_OK;
    for (bool more = true; more && status == VV_OK;) {
        struct vvcql_statement *statement = vvcql_statement_prepared(store->shared.read_changes);
        struct vvcql_result *page;
        vv_cassandra_add_str(statement, vv_str_of(store->shared.region));
        vvcql_add_int(statement, (int32_t)node->node);
        vvcql_add_bigint(statement, node->slot);
        vvcql_add_bigint(statement, node->written);
        vvcql_set_page_size(statement, CHANGES_PAGE);
        vvcql_set_idempotent(statement, true);
        status = vv_cassandra_ask(store, &statement, 1, &page, learning->error);
        if (status != VV_OK) {
            break;
        }
        more = vvcql_result_paging_state(page).size > 0;
        while (status == VV_OK && vvcql_next_row(page)) {
            status = visit_change(learning, node, page);
        }
        vvcql_result_destroy(page);
    }
    return status;
}

/* A slot that is not the node's newest is whole, so the next one may follow. */
static enum vv_status read_changes(struct learning *learning, size_t at)
{
    struct vv_node_seen *node = &learning->nodes[at];
    enum vv_status status = read_slot(learning, node);
    while (status == VV_OK && node->slot < learning->slots[at]) {
        node->slot++;
        status = read_slot(learning, node);
    }
    return status;
}

/* ---- learning ---- */

static enum vv_status learn_all(struct learning *learning)
{
    struct vv_cassandra_shared *shared = &learning->store->shared;
    int64_t now = monotonic(learning->store);
    bool everything =
        !shared->has_learnt || learning->any_new || now - shared->learnt_at_ns > PAUSE_NS_MAX;
    enum vv_status status = everything ? read_definitions(learning) : VV_OK;
    for (size_t i = 0; i < learning->n && status == VV_OK; i++) {
        status = read_changes(learning, i);
    }
    if (status == VV_OK) {
        status = place_classes(learning);
    }
    if (status == VV_OK) {
        shared->has_learnt = true;
        shared->learnt_at_ns = now;
    }
    return status;
}

enum vv_status vv_shared_learn(struct vv_store *base, vv_told_visit visit, void *context,
                               struct vv_error *error)
{
    struct vv_cassandra *store = vv_cassandra_of(base);
    struct vv_cassandra_shared *shared = &store->shared;
    struct learning learning = {.store = store, .visit = visit, .context = context, .error = error};
    pthread_mutex_lock(&shared->learning);
    enum vv_status status = read_nodes(&learning);
    if (status == VV_OK) {
        status = learn_all(&learning);
    }
    if (status == VV_OK) {
        struct vv_node_seen *before = shared->nodes;
        pthread_mutex_lock(&shared->lock);
        shared->nodes = learning.nodes;
        shared->n_nodes = learning.n;
        pthread_mutex_unlock(&shared->lock);
        learning.nodes = before;
    }
    pthread_mutex_unlock(&shared->learning);
    free(learning.nodes);
    free(learning.slots);
    return vv_cassandra_put_off(status);
}

/* ---- peers ---- */

static bool is_gone(const struct vv_cassandra *store, const struct vv_node_seen *node)
{
    return monotonic(store) - node->heard_ns > GONE_NS;
}

size_t vv_shared_peers(struct vv_store *base, struct vv_peer *peers_out, size_t max)
{
    struct vv_cassandra *store = vv_cassandra_of(base);
    struct vv_cassandra_shared *shared = &store->shared;
    pthread_mutex_lock(&shared->lock);
    size_t n = shared->n_nodes;
    for (size_t i = 0; i < n && i < max; i++) {
        peers_out[i] = (struct vv_peer){
            .node = shared->nodes[i].node,
            .is_gone = is_gone(store, &shared->nodes[i]),
            .flushed_until_ns = shared->nodes[i].flushed_until_ns,
        };
    }
    pthread_mutex_unlock(&shared->lock);
    return n;
}

/* ---- who owns what ---- */

/* The node with the highest weight owns the shard: when one comes or goes, only its own move. */
static uint64_t weight(uint32_t node, uint32_t shard)
{
    struct vv_random random = {(uint64_t)node << 32 | shard};
    return vv_random_next(&random);
}

void vv_shared_divide(struct vv_cassandra *store)
{
    struct vv_cassandra_shared *shared = &store->shared;
    pthread_mutex_lock(&shared->lock);
    for (uint32_t i = 0; i < VV_CASSANDRA_SHARDS; i++) {
        uint64_t own = weight(shared->node, i);
        bool is_owned = true;
        for (size_t j = 0; j < shared->n_nodes && is_owned; j++) {
            const struct vv_node_seen *other = &shared->nodes[j];
            is_owned = is_gone(store, other) || weight(other->node, i) < own;
        }
        if (is_owned && !shared->shards[i].is_owned) {
            shared->shards[i].n_seen = 0; /* what was added meanwhile is to be read */
            shared->shards[i].read_at_ns = 0;
        }
        shared->shards[i].is_owned = is_owned;
    }
    pthread_mutex_unlock(&shared->lock);
}
