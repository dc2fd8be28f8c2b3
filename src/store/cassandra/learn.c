/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What other nodes have told. The table of nodes is read first; then, of each, the changes behind
 * the last one seen; and only then counts what the node said of itself: up to when it has flushed,
 * its definitions of then are known here.
 *
 * At first, for a node not seen before, and after so long a pause that changes may have expired,
 * all definitions are read. What was told before its newest two slots was begun is among them, but
 * not all that was told later: a definition may be parked while its change has landed. So changes
 * are read from there on.
 *
 * Where a part of it is away the rest is learnt, and not read again: an outage may be long.
 *
 * What comes from another region may come in any order, as it is copied by no majority here: its
 * newest changes are read again for a while, and all its definitions, some at a time, when its
 * nodes are heard of again, a while after that, when names are missing, and now and then. Whatever
 * fails there does not hinder what is learnt from this region.
 */
#include "store/cassandra/cassandra.h"

#include "base/log.h"

#include <stdlib.h>

#define PAUSE_NS_MAX     (VV_SCHEMA_CHANGES_LIFE_NS / 2)
#define SHARDS_AT_ONCE   16
#define DEFINITIONS_PAGE 2000
#define CHANGES_PAGE     64
#define CHANGES_AT_ONCE  64

/* Of other regions. */
#define ASK_AGAIN_NS     (5 * VV_SECOND)   /* after a failure */
#define CHANGES_AGAIN_NS (30 * VV_SECOND)  /* how often the newest are read again */
#define OVERLAP_US       (600 * 1000000LL) /* how far back */
#define WHOLE_SOON_NS    (10 * VV_MINUTE)  /* after its nodes came back: hints take their time */
#define WHOLE_NS         (6 * VV_HOUR)
#define WHOLE_NS_MIN     VV_MINUTE              /* between two times that names were missing */
#define WHOLE_STEP_NS    (200 * VV_MILLISECOND) /* at once */

struct learning {
    struct vv_cassandra *store;
    struct vv_region_view *view; /* of whom */
    uint8_t region;
    bool came_back;             /* a node of it that was gone is heard of */
    struct vv_node_seen *nodes; /* as they are now */
    size_t n;
    int64_t *slots; /* of their newest changes */
    bool any_new;
    bool takes_own; /* a crash may have taken what this node told, but not from the others */
    int64_t own_slot;
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

static bool is_self(const struct learning *learning, uint32_t node)
{
    return learning->region == 0 && node == learning->store->shared.node;
}

static bool read_node(struct learning *learning, const struct vvcql_result *row)
{
    struct vv_region_view *view = learning->view;
    struct vv_node_seen *seen = &learning->nodes[learning->n];
    bool is_far = learning->region != 0; /* all its definitions come again */
    int32_t node;
    int64_t beat = 0;
    int64_t slot = 0;
    if (!vvcql_get_int(row, 0, &node) || node <= 0) {
        return false;
    }
    if (is_self(learning, (uint32_t)node)) {
        (void)vvcql_get_bigint(row, 4, &learning->own_slot);
        return false;
    }
    struct vv_node_seen *before = find_node(view->nodes, view->n_nodes, (uint32_t)node);
    (void)vvcql_get_bigint(row, 2, &beat);
    (void)vvcql_get_bigint(row, 4, &slot);
    *seen = before ? *before
                   : (struct vv_node_seen){.node = (uint32_t)node,
                                           .heard_ns = monotonic(learning->store),
                                           .flushed_until_ns = INT64_MIN,
                                           .slot = slot - (!is_far && slot > 0),
                                           .written = is_far ? beat : INT64_MIN};
    learning->any_new |= !before;
    if (before && beat != before->beat) {
        learning->came_back |= vv_shared_is_gone(learning->store, before);
        seen->heard_ns = monotonic(learning->store);
    }
    seen->beat = beat;
    (void)vvcql_get_bigint(row, 3, &seen->flushed_until_ns);
    int32_t partial = 0;
    seen->is_partial = vvcql_get_int(row, 5, &partial) && partial != 0;
    learning->slots[learning->n] = slot;
    return true;
}

/* Only the thread that learns changes the list, so it may be read here without its lock. */
static enum vv_status read_nodes(struct learning *learning)
{
    struct vv_cassandra *store = learning->store;
    struct vvcql_statement *statement = vvcql_statement_prepared(learning->view->read_nodes);
    struct vvcql_result *result;
    vv_cassandra_add_str(statement, vv_str_of(learning->view->name));
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

static bool is_aside(const struct vv_classes_told *one, const struct vv_told *told)
{
    return one->value_size == told->value.size && one->name_size == told->tenant.size &&
           memcmp(one->bytes, told->value.data, one->value_size) == 0 &&
           memcmp(one->bytes + one->value_size, told->tenant.data, one->name_size) == 0;
}

/* A tenant that this node doesn't know yet comes with a definition. */
static enum vv_status put_aside(struct learning *learning, const struct vv_told *told)
{
    struct vv_cassandra_shared *shared = &learning->store->shared;
    for (size_t i = 0; i < shared->n_unplaced; i++) {
        if (is_aside(shared->unplaced[i], told)) { /* what comes from other regions comes again */
            return VV_OK;
        }
    }
    struct vv_classes_told *one = malloc(sizeof *one + told->value.size + told->tenant.size);
    struct vv_classes_told **all =
        realloc(shared->unplaced, (shared->n_unplaced + 1) * sizeof(struct vv_classes_told *));
    shared->unplaced = all ? all : shared->unplaced;
    if (!one || !all) {
        free(one);
        return no_memory(learning->error);
    }
    *one = (struct vv_classes_told){told->value.size, told->tenant.size, learning->region == 0};
    memcpy(one->bytes, told->value.data, told->value.size);
    memcpy(one->bytes + told->value.size, told->tenant.data, told->tenant.size);
    shared->unplaced[shared->n_unplaced++] = one;
    return VV_OK;
}

static enum vv_status take_classes(struct learning *learning, const struct vv_told *told)
{
    enum vv_status status = vv_cassandra_learn_classes(learning->store, told->tenant, told->value,
                                                       learning->region == 0, learning->error);
    if (status == VV_INVALID && learning->region != 0) { /* the rest can be read */
        char text[600];
        vv_log(VV_LOG_WARN, "region_class_unknown", "region=%s tenant=%s", learning->view->name,
               vv_log_quote(told->tenant.data, told->tenant.size, text, sizeof text));
        return VV_OK;
    }
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
        enum vv_status placed = vv_cassandra_learn_classes(learning->store, name, value,
                                                           one->is_of_own_region, learning->error);
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

static enum vv_status give(struct learning *learning, struct vv_told *told)
{
    bool is_own = is_self(learning, told->node);
    if (is_own && (!learning->takes_own || told->kind == VV_TOLD_CLASSES)) {
        return VV_OK;
    }
    told->region = learning->region;
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

static struct vvcql_statement *ask_definitions(const struct vv_region_view *view, int32_t shard)
{
    struct vvcql_statement *statement = vvcql_statement_prepared(view->read_definitions);
    vv_cassandra_add_str(statement, vv_str_of(view->name));
    vvcql_add_int(statement, shard);
    vvcql_set_page_size(statement, DEFINITIONS_PAGE);
    vvcql_set_idempotent(statement, true);
    return statement;
}

static bool is_shard_away(const struct learning *learning, int32_t shard)
{
    if (!vv_dead_any(&learning->store->dead)) {
        return false;
    }
    struct vvcql_statement *statement = ask_definitions(learning->view, shard);
    bool is = vv_cassandra_is_away(learning->store, statement, VV_DEAD_BY_READ);
    vvcql_statement_destroy(statement);
    return is;
}

/* Those that have more stay in the list. */
static enum vv_status visit_shards(struct learning *learning, struct vvcql_result **pages,
                                   int32_t *shards, struct vvcql_statement **statements, size_t *n)
{
    enum vv_status status = VV_OK;
    size_t more = 0;
    for (size_t i = 0; i < *n; i++) {
        int32_t shard = shards[i];
        if (!pages[i]) {
            continue;
        }
        status = status == VV_OK ? visit_definitions(learning, pages[i]) : status;
        struct vvcql_bytes state = vvcql_result_paging_state(pages[i]);
        if (status == VV_OK && state.size > 0) {
            shards[more] = shard;
            statements[more] = ask_definitions(learning->view, shard);
            vvcql_set_paging_state(statements[more++], state.data, state.size);
        } else if (status == VV_OK) {
            learning->view->is_read[shard] = true;
        }
        vvcql_result_destroy(pages[i]);
    }
    for (size_t i = 0; i < more && status != VV_OK; i++) {
        vvcql_statement_destroy(statements[i]);
    }
    *n = status == VV_OK ? more : 0;
    return status;
}

/* The pages of some shards; those that fail hold up no others. The list is used up. */
static enum vv_status read_shards(struct learning *learning, int32_t *shards, size_t n)
{
    struct vvcql_statement *statements[SHARDS_AT_ONCE];
    struct vvcql_result *pages[SHARDS_AT_ONCE];
    enum vv_status status = VV_OK;
    enum vv_status all = VV_OK;
    for (size_t i = 0; i < n; i++) {
        statements[i] = ask_definitions(learning->view, shards[i]);
    }
    while (n > 0 && status == VV_OK) {
        enum vv_status asked =
            vv_cassandra_ask_any(learning->store, statements, n, pages, learning->error);
        all = all == VV_OK ? asked : all;
        status = visit_shards(learning, pages, shards, statements, &n);
    }
    return status == VV_OK ? all : status;
}

static bool has_all_definitions(const struct vv_region_view *view)
{
    size_t n = 0;
    while (n < VV_CASSANDRA_SHARDS && view->is_read[n]) {
        n++;
    }
    return n == VV_CASSANDRA_SHARDS;
}

/* Those that are not read yet. After a failure, which may have taken its time, the next call goes
 * on behind it, and leaves out what is known to be away. */
static enum vv_status read_definitions(struct learning *learning)
{
    struct vv_region_view *view = learning->view;
    int32_t shards[SHARDS_AT_ONCE];
    size_t n = 0;
    enum vv_status status = VV_OK;
    for (size_t i = 0; i < VV_CASSANDRA_SHARDS && status == VV_OK; i++) {
        int32_t shard = (int32_t)(view->shard_next++ % VV_CASSANDRA_SHARDS);
        if (!view->is_read[shard] && !is_shard_away(learning, shard)) {
            shards[n++] = shard;
        }
        if (n == SHARDS_AT_ONCE) {
            status = read_shards(learning, shards, n);
            n = 0;
        }
    }
    if (status == VV_OK && n > 0) {
        status = read_shards(learning, shards, n);
    }
    if (status == VV_OK && !has_all_definitions(view)) {
        return vv_error_set(learning->error, VV_IO,
                            "too few hosts of Cassandra answer for some definitions");
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
                              learning->view->keyspace);
    }
    node->written = status == VV_OK ? written : node->written;
    return status;
}

/* Whose changes are read: from where the node is, up to a slot. */
struct hearing {
    struct vv_node_seen *node;
    int64_t newest;
    bool is_whole;
    bool is_away;
};

static struct vvcql_statement *ask_changes(const struct vv_region_view *view,
                                           const struct vv_node_seen *node)
{
    struct vvcql_statement *statement = vvcql_statement_prepared(view->read_changes);
    vv_cassandra_add_str(statement, vv_str_of(view->name));
    vvcql_add_int(statement, (int32_t)node->node);
    vvcql_add_bigint(statement, node->slot);
    vvcql_add_bigint(statement, node->written);
    vvcql_set_page_size(statement, CHANGES_PAGE);
    vvcql_set_idempotent(statement, true);
    return statement;
}

/* A slot that is not the node's newest is whole, so the next one may follow. */
static enum vv_status visit_changes(struct learning *learning, struct hearing *hearing,
                                    struct vvcql_result *page)
{
    struct vv_node_seen *node = hearing->node;
    enum vv_status status = VV_OK;
    while (status == VV_OK && vvcql_next_row(page)) {
        status = visit_change(learning, node, page);
    }
    if (status == VV_OK && vvcql_result_paging_state(page).size == 0) {
        hearing->is_whole = node->slot >= hearing->newest;
        node->slot += !hearing->is_whole;
    }
    return status;
}

/* A page of each that is not whole yet, all at once: those whose hosts do not answer hold up the
 * others once only. VV_DONE: there is none. */
static enum vv_status read_pages(struct learning *learning, struct hearing *hearings, size_t n)
{
    struct vvcql_statement *statements[CHANGES_AT_ONCE];
    struct vvcql_result *pages[CHANGES_AT_ONCE];
    struct hearing *asked[CHANGES_AT_ONCE];
    size_t n_asked = 0;
    for (size_t i = 0; i < n && n_asked < CHANGES_AT_ONCE; i++) {
        if (!hearings[i].is_whole && !hearings[i].is_away) {
            asked[n_asked] = &hearings[i];
            statements[n_asked++] = ask_changes(learning->view, hearings[i].node);
        }
    }
    if (n_asked == 0) {
        return VV_DONE;
    }
    enum vv_status status =
        vv_cassandra_ask_any(learning->store, statements, n_asked, pages, learning->error);
    status = status == VV_IO ? VV_OK : status;
    for (size_t i = 0; i < n_asked; i++) {
        asked[i]->is_away = !pages[i];
        if (pages[i] && status == VV_OK) {
            status = visit_changes(learning, asked[i], pages[i]);
        }
        vvcql_result_destroy(pages[i]);
    }
    return status;
}

static enum vv_status hear(struct learning *learning, struct hearing *hearings, size_t n)
{
    bool is_away = false;
    enum vv_status status = VV_OK;
    while (status == VV_OK) {
        status = read_pages(learning, hearings, n);
    }
    for (size_t i = 0; i < n; i++) {
        is_away |= hearings[i].is_away;
    }
    status = status == VV_DONE ? VV_OK : status;
    return status == VV_OK && is_away ? VV_IO : status;
}

/* It has not flushed later than was known, as far as anybody here can tell. */
static void hold_back(const struct learning *learning, struct vv_node_seen *node)
{
    const struct vv_region_view *view = learning->view;
    const struct vv_node_seen *before = find_node(view->nodes, view->n_nodes, node->node);
    node->flushed_until_ns = before ? before->flushed_until_ns : INT64_MIN;
}

/* Where those of one node are away, the others' are read. What this node told last may be there
 * only: it has died before the definitions, while others know of it. All that it told before its
 * newest two slots is among the definitions. */
static enum vv_status read_all_changes(struct learning *learning, bool hears_itself)
{
    int64_t own = learning->own_slot;
    struct vv_node_seen self = {
        .node = learning->store->shared.node, .slot = own > 0 ? own - 1 : 0, .written = INT64_MIN};
    struct hearing *hearings = calloc(learning->n + 1, sizeof *hearings);
    if (!hearings) {
        return no_memory(learning->error);
    }
    for (size_t i = 0; i < learning->n; i++) {
        hearings[i] = (struct hearing){.node = &learning->nodes[i], .newest = learning->slots[i]};
    }
    hearings[learning->n] = (struct hearing){.node = &self, .newest = own};
    enum vv_status status = hear(learning, hearings, learning->n + hears_itself);
    for (size_t i = 0; i < learning->n; i++) {
        if (hearings[i].is_away) {
            hold_back(learning, hearings[i].node);
        }
    }
    learning->view->has_heard_itself |= hearings[learning->n].is_whole;
    free(hearings);
    return status;
}

/* ---- learning ---- */

/* What was read of the nodes counts from now on. */
static void keep_nodes(struct learning *learning)
{
    struct vv_cassandra_shared *shared = &learning->store->shared;
    struct vv_node_seen *before = learning->view->nodes;
    pthread_mutex_lock(&shared->lock);
    learning->view->nodes = learning->nodes;
    learning->view->n_nodes = learning->n;
    pthread_mutex_unlock(&shared->lock);
    learning->nodes = before;
}

/* All definitions are wanted, and changes from now on, or from where they were heard. */
static void want_definitions(struct vv_region_view *view, int64_t now)
{
    memset(view->is_read, 0, sizeof view->is_read);
    view->heard_all_ns = now;
}

static enum vv_status learn_all(struct learning *learning)
{
    struct vv_region_view *view = learning->view;
    int64_t now = monotonic(learning->store);
    if (learning->any_new || now - view->heard_all_ns > PAUSE_NS_MAX) {
        want_definitions(view, now);
    }
    learning->takes_own = !view->has_definitions || !view->has_heard_itself;
    bool has_all = has_all_definitions(view);
    enum vv_status defined = has_all ? VV_OK : read_definitions(learning);
    view->definitions_read += !has_all && defined == VV_OK;
    if (defined != VV_OK && defined != VV_IO) {
        return defined;
    }
    enum vv_status changed = read_all_changes(learning, !view->has_heard_itself);
    if (changed != VV_OK && changed != VV_IO) {
        return changed;
    }
    for (size_t i = 0; i < learning->n && defined != VV_OK; i++) {
        hold_back(learning, &learning->nodes[i]);
    }
    view->has_definitions |= defined == VV_OK;
    view->heard_all_ns = changed == VV_OK ? now : view->heard_all_ns;
    keep_nodes(learning);
    enum vv_status placed = place_classes(learning);
    return placed != VV_OK ? placed : defined != VV_OK ? defined : changed;
}

static enum vv_status learn_from(struct learning *learning,
                                 enum vv_status (*learn)(struct learning *learning))
{
    enum vv_status status = read_nodes(learning);
    if (status == VV_OK) {
        status = learn(learning);
    }
    free(learning->nodes);
    free(learning->slots);
    return status;
}

/* ---- from other regions ---- */

/* Back to where the newest changes begin that may have come out of order. */
static void go_back(struct learning *learning)
{
    for (size_t i = 0; i < learning->n; i++) {
        struct vv_node_seen *node = &learning->nodes[i];
        int64_t from = node->beat - OVERLAP_US;
        node->slot -= node->slot > 0;
        node->written = node->written < from ? node->written : from;
    }
}

/* Whether all definitions are to be read, from the beginning. */
static bool wants_whole(struct learning *learning, int64_t now)
{
    struct vv_region_view *view = learning->view;
    if (learning->came_back || learning->any_new) {
        view->came_back |= learning->came_back;
        return true;
    }
    bool is_due = atomic_exchange(&view->lacks_names, false) || now >= view->whole_at_ns;
    return is_due && now >= view->whole_after_ns && view->whole_next == VV_CASSANDRA_SHARDS;
}

/* Reads on, for a while: meanwhile nothing is learnt from this region, nor kept. */
static enum vv_status read_on(struct learning *learning)
{
    struct vv_region_view *view = learning->view;
    int64_t now = monotonic(learning->store);
    int64_t until = now + WHOLE_STEP_NS;
    enum vv_status status = VV_OK;
    while (view->whole_next < VV_CASSANDRA_SHARDS && now < until && status == VV_OK) {
        int32_t shards[SHARDS_AT_ONCE];
        for (int32_t i = 0; i < SHARDS_AT_ONCE; i++) {
            shards[i] = (int32_t)view->whole_next + i;
        }
        status = read_shards(learning, shards, SHARDS_AT_ONCE);
        view->whole_next += status == VV_OK ? SHARDS_AT_ONCE : 0;
        now = monotonic(learning->store);
    }
    if (status == VV_OK && view->whole_next == VV_CASSANDRA_SHARDS) {
        view->again_at_ns = now;
        view->whole_at_ns = now + (view->came_back ? WHOLE_SOON_NS : WHOLE_NS);
        view->whole_after_ns = now + WHOLE_NS_MIN;
        view->came_back = false;
    }
    return status;
}

static enum vv_status learn_far(struct learning *learning)
{
    struct vv_region_view *view = learning->view;
    int64_t now = monotonic(learning->store);
    if (wants_whole(learning, now)) {
        view->whole_next = 0;
    }
    bool is_whole = view->whole_next == VV_CASSANDRA_SHARDS;
    bool is_again = is_whole && now >= view->again_at_ns;
    enum vv_status status = is_whole ? VV_OK : read_on(learning);
    if (is_again) {
        go_back(learning);
    }
    if (status == VV_OK) {
        status = read_all_changes(learning, false);
    }
    if (status == VV_OK) {
        status = place_classes(learning);
    }
    if (status == VV_OK) {
        view->again_at_ns = is_again ? now + CHANGES_AGAIN_NS : view->again_at_ns;
        keep_nodes(learning);
    }
    return status;
}

static void note_failure(struct vv_region_view *view, enum vv_status status,
                         const struct vv_error *error)
{
    if (status != VV_OK && !view->has_failed) {
        char text[600];
        vv_log(VV_LOG_WARN, "region_not_learnt", "region=%s status=%s message=%s", view->name,
               vv_status_name(status),
               vv_log_quote(error->message, strlen(error->message), text, sizeof text));
    } else if (status == VV_OK && view->has_failed) {
        vv_log(VV_LOG_INFO, "region_learnt", "region=%s", view->name);
    }
    view->has_failed = status != VV_OK;
}

static void learn_from_region(struct vv_cassandra *store, uint8_t region, vv_told_visit visit,
                              void *context)
{
    struct vv_region_view *view = &store->views[region];
    struct vv_error error = {0};
    struct learning learning = {.store = store,
                                .view = view,
                                .region = region,
                                .visit = visit,
                                .context = context,
                                .error = &error};
    int64_t now = monotonic(store);
    if (now >= view->look_at_ns) {
        vv_regions_look(store, view);
    }
    if (!vv_regions_view(store, region) || now < view->ask_at_ns) {
        return;
    }
    enum vv_status status = learn_from(&learning, learn_far);
    view->ask_at_ns = status == VV_OK ? 0 : monotonic(store) + ASK_AGAIN_NS;
    note_failure(view, status, &error);
}

uint64_t vv_shared_learnt_all(struct vv_store *base)
{
    return vv_cassandra_of(base)->views[0].definitions_read;
}

enum vv_status vv_shared_learn(struct vv_store *base, vv_told_visit visit, void *context,
                               struct vv_error *error)
{
    struct vv_cassandra *store = vv_cassandra_of(base);
    struct learning learning = {.store = store,
                                .view = &store->views[0],
                                .visit = visit,
                                .context = context,
                                .error = error};
    pthread_mutex_lock(&store->shared.learning);
    int64_t begun_ns = monotonic(store);
    enum vv_status status = learn_from(&learning, learn_all);
    if (status == VV_OK) {
        atomic_store(&store->shared.current_ns, begun_ns ? begun_ns : 1);
    }
    for (size_t i = 1; i < store->n_views && status == VV_OK; i++) {
        learn_from_region(store, (uint8_t)i, visit, context);
    }
    pthread_mutex_unlock(&store->shared.learning);
    return vv_cassandra_put_off(status);
}
