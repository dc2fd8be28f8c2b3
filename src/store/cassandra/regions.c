/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Regions: each has a keyspace of its own, which only its nodes write. What is read, of this region
 * and of the others, is prepared here; and whether another region's keyspace is kept in the data
 * centre where this node reads is looked at now and then, as it may be made later, or replicated to
 * here.
 *
 * The numbers that a region's nodes may have go by its place in the list of all, so the list is
 * kept in the local store, and another order is refused.
 */
#include "store/cassandra/cassandra.h"
#include "store/cassandra/schema_private.h"

#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>

#define LOOK_NS       VV_MINUTE
#define LOOK_AGAIN_NS (5 * VV_SECOND) /* when nobody could be asked */

/* ---- statements ---- */

#define READ_BLOCKS(tail)                                                                          \
    "SELECT span, seal, part, parts, metrics, data" tail " FROM @ WHERE " VV_PARTITION_IS          \
    " AND measurement = ? AND span >= ? AND span < ?"

static bool prepare_class(struct vv_cassandra *store, struct vv_region_view *view, size_t i)
{
    const struct vv_class_tables tables = vv_schema_class_tables(store->classes[i].retention_ns);
    bool all = true;
    for (uint32_t j = 0; j < vv_cassandra_tables(store) && all; j++) {
        view->read_blocks[i][j] =
            vv_cassandra_prepare_in(store, view->keyspace, READ_BLOCKS(", tail"), tables.blocks[j]);
        view->read_heads[i][j] =
            vv_cassandra_prepare_in(store, view->keyspace, READ_BLOCKS(""), tables.blocks[j]);
        view->read_late[i][j] = /* raw points have no tails */
            vv_cassandra_prepare_in(store, view->keyspace, READ_BLOCKS(""), tables.late[j]);
        all = view->read_blocks[i][j] && view->read_heads[i][j] && view->read_late[i][j];
    }
    view->read_values[i] = vv_cassandra_prepare_in(
        store, view->keyspace,
        "SELECT event_time, nanos, metric, value, WRITETIME(value), value_int, "
        "WRITETIME(value_int) FROM @ WHERE " VV_ROWS_ARE " AND event_time >= ? AND event_time <= ?",
        tables.rows);
    return all && view->read_values[i];
}

#define READ_RUNS(partition)                                                                       \
    "SELECT span, run, part, metrics, data, written FROM @ WHERE " partition                       \
    " AND measurement = ? AND span >= ? AND span < ?"

static bool prepare_data(struct vv_cassandra *store, struct vv_region_view *view)
{
    view->read_runs =
        vv_cassandra_prepare_in(store, view->keyspace, READ_RUNS(VV_PARTITION_IS), "runs");
    view->read_shared_runs =
        vv_cassandra_prepare_in(store, view->keyspace, READ_RUNS(VV_SHARED_IS), "shared_runs");
    view->bucket_after =
        vv_cassandra_prepare_in(store, view->keyspace,
                                "SELECT bucket FROM @ WHERE tenant = ? AND source = ? AND "
                                "period = ? AND bucket >= ? ORDER BY bucket ASC LIMIT 1",
                                "buckets");
    view->bucket_before =
        vv_cassandra_prepare_in(store, view->keyspace,
                                "SELECT bucket FROM @ WHERE tenant = ? AND source = ? AND "
                                "period = ? AND bucket <= ? ORDER BY bucket DESC LIMIT 1",
                                "buckets");
    return view->read_runs && view->read_shared_runs && view->bucket_after && view->bucket_before;
}

static bool prepare_told(struct vv_cassandra *store, struct vv_region_view *view)
{
    view->read_nodes = vv_cassandra_prepare_in(
        store, view->keyspace,
        "SELECT node, owner, beat, flushed_until, slot, partial, tables FROM @ "
        "WHERE region = ?",
        "nodes");
    view->read_definitions = vv_cassandra_prepare_in(
        store, view->keyspace,
        "SELECT tenant, kind, name, item, node, value FROM @ WHERE region = ? AND shard = ?",
        "definitions");
    view->read_changes = vv_cassandra_prepare_in(
        store, view->keyspace,
        "SELECT written, definitions FROM @ WHERE region = ? AND node = ? AND slot = ? AND "
        "written > ?",
        "changes");
    return view->read_nodes && view->read_definitions && view->read_changes;
}

bool vv_regions_prepare(struct vv_cassandra *store)
{
    bool all = true;
    for (size_t i = 0; i < store->n_views && all; i++) {
        struct vv_region_view *view = &store->views[i];
        all = prepare_data(store, view) && prepare_told(store, view);
        for (size_t j = 0; j < store->n_classes && all; j++) {
            all = prepare_class(store, view, j);
        }
    }
    return all;
}

/* ---- life ---- */

static void add_view(struct vv_cassandra *store, const struct vv_cassandra_region *region)
{
    struct vv_region_view *view = &store->views[store->n_views++];
    size_t size = strlen(region->name);
    vv_invariant(size > 0 && size < sizeof view->name);
    memcpy(view->name, region->name, size + 1);
    size = strlen(region->keyspace);
    vv_invariant(size > 0 && size < sizeof view->keyspace);
    memcpy(view->keyspace, region->keyspace, size + 1);
}

void vv_regions_init(struct vv_cassandra *store, const struct vv_cassandra_options *options)
{
    vv_invariant(options->n_regions <= VV_REGIONS_MAX && options->own_region < options->n_regions);
    store->own_region = options->own_region;
    add_view(store, &options->regions[options->own_region]);
    for (size_t i = 0; i < options->n_regions; i++) {
        if (i != options->own_region) {
            add_view(store, &options->regions[i]);
        }
    }
    atomic_store(&store->views[0].state, VV_REGION_READABLE);
    atomic_store(&store->views[0].classes, UINT32_MAX);
    atomic_store(&store->views[0].late_classes, UINT32_MAX);
}

void vv_regions_deinit(struct vv_cassandra *store)
{
    for (size_t i = 0; i < store->n_views; i++) {
        free(store->views[i].nodes);
    }
}

/* As they stand in the list of all. */
static void list_all(const struct vv_cassandra *store, struct vv_buffer *out)
{
    for (size_t i = 0; i < store->n_views; i++) {
        size_t view = i == store->own_region ? 0 : i < store->own_region ? i + 1 : i;
        vv_buffer_format(out, "%s%s", i > 0 ? "," : "", store->views[view].name);
    }
}

/* Whether the list only grew at its end. Where there was one region, it may be any of them now. */
static bool goes_on(struct vv_str now, struct vv_str before)
{
    if (before.size == 0 || !memchr(before.data, ',', before.size)) {
        return true;
    }
    return now.size >= before.size && memcmp(now.data, before.data, before.size) == 0 &&
           (now.size == before.size || now.data[before.size] == ',');
}

static enum vv_status keep_list(struct vv_cassandra *store, struct vv_str list,
                                struct vv_error *error)
{
    struct vv_store *local = store->local;
    enum vv_status status = local->ops->put_meta(
        local, VV_LOCAL_OWNER, (struct vv_str)VV_STR_LITERAL("regions"), list, error);
    return status == VV_OK ? local->ops->confirm(local, error) : status;
}

enum vv_status vv_regions_check_order(struct vv_cassandra *store, struct vv_error *error)
{
    struct vv_buffer now = {0};
    struct vv_buffer before = {0};
    struct vv_str key = VV_STR_LITERAL("regions");
    enum vv_status status =
        store->local->ops->get_meta(store->local, VV_LOCAL_OWNER, key, &before, error);
    status = status == VV_NOT_FOUND ? VV_OK : status;
    list_all(store, &now);
    if (status == VV_OK && now.failed) {
        status = vv_error_set(error, VV_NO_MEMORY, "out of memory while opening the store");
    }
    if (status == VV_OK) {
        struct vv_str list = {now.data ? (const char *)now.data : "", now.size};
        struct vv_str kept = {before.data ? (const char *)before.data : "", before.size};
        if (!goes_on(list, kept)) {
            status =
                vv_error_set(error, VV_INVALID,
                             "the regions beside %s were %.*s when this data folder was used "
                             "last, and are %.*s now: in cassandra.regions leave them in their "
                             "order, and append new ones",
                             store->views[0].name, VV_STR_ARG(kept), VV_STR_ARG(list));
        } else if (!vv_str_equal(list, kept)) {
            status = keep_list(store, list, error);
        }
    }
    vv_buffer_deinit(&now);
    vv_buffer_deinit(&before);
    return status;
}

/* ---- looking ---- */

static bool is_replicated_to(const struct vv_schema *found, const char *datacenter)
{
    const struct vv_schema_option *class = vv_schema_find_option(
        found->options, found->n_options, VV_STR_LITERAL("replication.class"));
    if (class && vv_str_equal(class->value, VV_STR_LITERAL("SimpleStrategy"))) {
        return true; /* which knows no data centres */
    }
    char name[160];
    snprintf(name, sizeof name, "replication.%s", datacenter);
    const struct vv_schema_option *copies =
        vv_schema_find_option(found->options, found->n_options, vv_str_of(name));
    return copies && !vv_str_equal(copies->value, VV_STR_LITERAL("0"));
}

/* Why it can't be read here; NULL when it can. */
static const char *reason_of(const struct vv_schema *found, const char *datacenter)
{
    if (!found->exists) {
        return "its keyspace is not there yet";
    }
    if (!is_replicated_to(found, datacenter)) {
        return "its keyspace has no copies in this data centre";
    }
    bool has_tables = vv_schema_find_table(found, VV_STR_LITERAL("runs")) &&
                      vv_schema_find_table(found, VV_STR_LITERAL("buckets")) &&
                      vv_schema_find_table(found, VV_STR_LITERAL("nodes")) &&
                      vv_schema_find_table(found, VV_STR_LITERAL("definitions")) &&
                      vv_schema_find_table(found, VV_STR_LITERAL("changes"));
    if (!has_tables) {
        return "its keyspace has no tables of Varve";
    }
    if (vv_schema_find_table(found, VV_STR_LITERAL("blocks_forever_2"))) {
        return "its tables are purged by copying, and only its own nodes know which ones count";
    }
    /* The row that says which version may come here later than the tables. */
    return found->version != 0 && found->version != VV_SCHEMA_VERSION
               ? "its tables are of another version"
               : NULL;
}

/* A table of late points that is not there yet hides nothing of what came in time. */
static void note_classes(const struct vv_cassandra *store, struct vv_region_view *view,
                         const struct vv_schema *found)
{
    uint32_t classes = 0;
    uint32_t late_classes = 0;
    for (size_t i = 0; i < store->n_classes; i++) {
        const struct vv_class_tables tables =
            vv_schema_class_tables(store->classes[i].retention_ns);
        bool has_class = vv_schema_find_table(found, vv_str_of(tables.blocks[0])) &&
                         vv_schema_find_table(found, vv_str_of(tables.rows));
        bool has_late = vv_schema_find_table(found, vv_str_of(tables.late[0]));
        classes |= (uint32_t)has_class << i;
        late_classes |= (uint32_t)has_late << i;
    }
    atomic_store(&view->classes, classes);
    atomic_store(&view->late_classes, late_classes);
}

static void note_state(struct vv_region_view *view, const char *reason)
{
    int before = atomic_load(&view->state);
    int now = reason ? VV_REGION_ABSENT : VV_REGION_READABLE;
    if (now == before) {
        return;
    }
    atomic_store(&view->state, now);
    if (reason) {
        vv_log(VV_LOG_WARN, "region_absent", "region=%s keyspace=%s reason=\"%s\"", view->name,
               view->keyspace, reason);
    } else {
        vv_log(VV_LOG_INFO, "region_readable", "region=%s keyspace=%s", view->name, view->keyspace);
    }
}

/* What was seen last stays when nobody can be asked. */
void vv_regions_look(struct vv_cassandra *store, struct vv_region_view *view)
{
    char datacenter[128];
    struct vv_schema found = {0};
    struct vv_error error = {0};
    int64_t now = store->clock->monotonic_ns(store->clock);
    vvcql_session_datacenter(store->session, datacenter);
    enum vv_status status = vv_schema_find(store->session, view->keyspace, &found, &error);
    /* Without copies here its version can't be read, and need not. */
    bool is_told = datacenter[0] && (status == VV_OK || found.n_options > 0);
    const char *reason = is_told ? reason_of(&found, datacenter) : NULL;
    is_told = is_told && (status == VV_OK || !is_replicated_to(&found, datacenter));
    view->look_at_ns = now + (is_told ? LOOK_NS : LOOK_AGAIN_NS);
    if (is_told) {
        note_classes(store, view, &found);
        note_state(view, reason);
    } else {
        vv_log(VV_LOG_DEBUG, "region_not_asked", "region=%s status=%s", view->name,
               vv_status_name(status));
    }
    vv_schema_deinit(&found);
}

void vv_regions_look_at_all(struct vv_cassandra *store)
{
    for (size_t i = 1; i < store->n_views; i++) {
        vv_regions_look(store, &store->views[i]);
    }
}

/* ---- reading ---- */

const struct vv_region_view *vv_regions_view(const struct vv_cassandra *store, uint8_t region)
{
    const struct vv_region_view *view = region < store->n_views ? &store->views[region] : NULL;
    return view && atomic_load(&view->state) == VV_REGION_READABLE ? view : NULL;
}

bool vv_regions_has_class(const struct vv_region_view *view, uint8_t class, bool is_late)
{
    return atomic_load(is_late ? &view->late_classes : &view->classes) >> class & 1;
}

void vv_regions_lack_names(struct vv_cassandra *store, uint8_t region)
{
    if (region != 0) { /* of this one nothing is missed */
        atomic_store(&store->views[region].lacks_names, true);
    }
}

size_t vv_shared_regions(struct vv_store *base, struct vv_region regions_out[VV_REGIONS_MAX])
{
    const struct vv_cassandra *store = vv_cassandra_of(base);
    for (size_t i = 0; i < store->n_views; i++) {
        const struct vv_region_view *view = &store->views[i];
        regions_out[i] =
            (struct vv_region){.state = (enum vv_region_state)atomic_load(&store->views[i].state)};
        memcpy(regions_out[i].name, view->name, sizeof view->name);
    }
    return store->n_views;
}
