/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes for the tests of the fleet: a registry and a fleet on a fake shared store, what a flush and
 * a restart do with them, and the whole of a registry as text, by names. */
#ifndef TESTS_UNIT_FLEET_FIXTURE_H
#define TESTS_UNIT_FLEET_FIXTURE_H

#include "fleet/fleet.h"
#include "fleet/told.h"
#include "registry/shared.h"

#include "simulation/sim_clock.h"

#include "support/fake_fleet.h"

#ifndef TEXT
#define TEXT(literal) VV_STR_LITERAL(literal)
#endif

/* An object that was changed here since the last flush, as a journal has it. */
struct touched {
    enum vv_registry_kind kind;
    uint32_t number;
};

struct node {
    uint32_t number;
    struct vv_registry_options options;
    struct vv_registry *registry;
    struct vv_store *store;
    struct vv_deletions *deletions;
    struct vv_fleet *fleet;
    struct vv_sim_clock clock;
    struct touched touched[4096];
    size_t n_touched;
};

__attribute__((unused)) static void node_open_fleet(struct node *node)
{
    assert_int_equal(vv_registry_create(&node->options, &node->registry), VV_OK);
    hub.nodes[node->number].registry = node->registry;
    assert_int_equal(vv_deletions_create(1000, &node->deletions), VV_OK);
    assert_int_equal(vv_fleet_create(node->registry, node->deletions, node->store,
                                     &node->clock.clock, VV_HOUR, &node->fleet),
                     VV_OK);
}

static void node_close_fleet(struct node *node)
{
    vv_fleet_destroy(node->fleet);
    vv_deletions_destroy(node->deletions);
    vv_registry_destroy(node->registry);
}

__attribute__((unused)) static struct node *node_open(uint32_t number)
{
    struct node *node = calloc(1, sizeof *node);
    assert_non_null(node);
    node->number = number;
    node->options = (struct vv_registry_options){
        .id_tag = "id", .tenants_max = 100, .sources_max = 10000, .metrics_max = 1000};
    node->store = fake_open(number);
    vv_sim_clock_init(&node->clock, 1700000000 * VV_SECOND);
    node_open_fleet(node);
    assert_int_equal(vv_fleet_note_loaded(node->fleet, NULL), VV_OK);
    return node;
}

__attribute__((unused)) static void node_close(struct node *node)
{
    node_close_fleet(node);
    free(node);
}

__attribute__((unused)) static void node_touch(struct node *node, enum vv_registry_kind kind,
                                               uint32_t number)
{
    for (size_t i = 0; i < node->n_touched; i++) {
        if (node->touched[i].kind == kind && node->touched[i].number == number) {
            return;
        }
    }
    assert_true(node->n_touched < sizeof node->touched / sizeof *node->touched);
    node->touched[node->n_touched++] = (struct touched){kind, number};
}

/* ---- what clients do ---- */

__attribute__((unused)) static uint32_t node_tenant(struct node *node, const char *name)
{
    uint32_t tenant = VV_REGISTRY_NONE;
    assert_int_equal(vv_registry_tenant(node->registry, vv_str_of(name), true, &tenant, NULL),
                     VV_OK);
    node_touch(node, VV_REGISTRY_TENANT, tenant);
    return tenant;
}

__attribute__((unused)) static uint32_t node_metric(struct node *node, const char *tenant,
                                                    const char *measurement, const char *field,
                                                    enum vv_value_type type)
{
    uint32_t owner = VV_REGISTRY_NONE;
    uint32_t metric = VV_REGISTRY_NONE;
    enum vv_value_type known;
    uint32_t number = node_tenant(node, tenant);
    assert_int_equal(
        vv_registry_measurement(node->registry, number, vv_str_of(measurement), true, &owner, NULL),
        VV_OK);
    assert_int_equal(vv_registry_metric(node->registry, owner, vv_str_of(field), type, true,
                                        &metric, &known, NULL),
                     VV_OK);
    if (!vv_registry_is_placed(node->registry, owner)) { /* as the flush does */
        (void)!vv_registry_set_place(node->registry, owner, number);
    }
    node_touch(node, VV_REGISTRY_MEASUREMENT, owner);
    node_touch(node, VV_REGISTRY_METRIC, metric);
    return metric;
}

__attribute__((unused)) static void node_describe(struct node *node, uint32_t metric,
                                                  const char *unit, const char *description)
{
    assert_int_equal(
        vv_registry_describe(node->registry, metric, vv_str_of(unit), vv_str_of(description), NULL),
        VV_OK);
    node_touch(node, VV_REGISTRY_METRIC, metric);
}

/* Tags as "k=v,k2=v2", without escapes. */
__attribute__((unused)) static uint32_t node_source(struct node *node, const char *tenant,
                                                    const char *text, int64_t time)
{
    struct vv_tag tags[VV_TAGS_MAX];
    size_t n = 0;
    while (*text) {
        size_t key = strcspn(text, "=");
        size_t value = strcspn(text + key + 1, ",");
        tags[n++] = (struct vv_tag){{text, key}, {text + key + 1, value}};
        text += key + 1 + value;
        text += *text == ',';
    }
    uint32_t source = VV_REGISTRY_NONE;
    assert_int_equal(
        vv_registry_source(node->registry, node_tenant(node, tenant), tags, n, time, &source, NULL),
        VV_OK);
    node_touch(node, VV_REGISTRY_SOURCE, source);
    return source;
}

/* ---- what the engine does ---- */

__attribute__((unused)) static enum vv_status node_put(struct node *node,
                                                       enum vv_registry_kind kind, uint32_t number)
{
    struct vv_buffer record = {0};
    uint8_t key[4];
    vv_registry_key(number, key);
    vv_registry_encode(node->registry, kind, number, &record);
    assert_int_equal(vv_buffer_status(&record), VV_OK);
    struct vv_str bytes = {(const char *)record.data, record.size};
    struct vv_error error = {0};
    enum vv_status status = node->store->ops->put_meta(
        node->store, (uint8_t)kind, (struct vv_str){(const char *)key, 4}, bytes, &error);
    vv_buffer_deinit(&record);
    return status;
}

/* A job: records, then telling, the first plans of sources that have none, then the confirm. */
__attribute__((unused)) static enum vv_status node_try_flush(struct node *node)
{
    struct vv_error error = {0};
    for (int kind = VV_REGISTRY_TENANT; kind <= VV_REGISTRY_SOURCE; kind++) {
        for (size_t i = 0; i < node->n_touched; i++) {
            if ((int)node->touched[i].kind != kind) {
                continue;
            }
            enum vv_status status = node_put(node, node->touched[i].kind, node->touched[i].number);
            if (status == VV_OK) {
                status = vv_fleet_tell(node->fleet, node->touched[i].kind, node->touched[i].number,
                                       &error);
            }
            if (status != VV_OK) {
                return status;
            }
        }
    }
    enum vv_status status = vv_fleet_confirm(node->fleet, &error);
    node->n_touched = status == VV_OK ? 0 : node->n_touched;
    return status;
}

__attribute__((unused)) static void node_flush(struct node *node)
{
    assert_int_equal(node_try_flush(node), VV_OK);
}

__attribute__((unused)) static void node_agree(struct node *node, uint32_t source,
                                               struct vv_plan plan)
{
    struct vv_error error = {0};
    struct vv_first_plan first = {.tenant = vv_registry_source_tenant(node->registry, source),
                                  .source = source,
                                  .plan = plan};
    if (vv_registry_source_plans(node->registry, source).n == 0) {
        assert_int_equal(vv_fleet_agree(node->fleet, &first, 1, &error), VV_OK);
        assert_int_equal(vv_fleet_confirm(node->fleet, &error), VV_OK);
        node_touch(node, VV_REGISTRY_SOURCE, source);
    }
}

__attribute__((unused)) static void node_learn(struct node *node)
{
    struct vv_error error = {0};
    assert_int_equal(vv_fleet_learn(node->fleet, &error), VV_OK);
}

__attribute__((unused)) static void node_keep(struct node *node)
{
    struct vv_error error = {0};
    assert_int_equal(vv_fleet_confirm(node->fleet, &error), VV_OK);
}

struct node_loading {
    struct node *node;
    enum vv_registry_kind kind;
};

static enum vv_status node_load(void *context, struct vv_str key, struct vv_str value)
{
    struct node_loading *loading = context;
    struct vv_error error = {0};
    (void)key;
    enum vv_status status =
        vv_registry_apply(loading->node->registry, loading->kind, value, &error);
    assert_string_equal(error.message, "");
    return status;
}

/* The process ends, hard or not, and begins again with metadata and journal. */
__attribute__((unused)) static void node_restart(struct node *node, bool hard)
{
    struct vv_buffer *journal = calloc(node->n_touched + 1, sizeof *journal);
    assert_non_null(journal);
    for (size_t i = 0; i < node->n_touched; i++) {
        vv_registry_encode(node->registry, node->touched[i].kind, node->touched[i].number,
                           &journal[i]);
    }
    node_close_fleet(node);
    if (hard) {
        fake_crash(node->number);
    } else {
        hub.nodes[node->number].learnt = hub.nodes[node->number].learnt_confirmed;
    }
    node_open_fleet(node);
    struct vv_error error = {0};
    for (int kind = VV_REGISTRY_TENANT; kind <= VV_REGISTRY_SOURCE; kind++) {
        struct node_loading loading = {node, (enum vv_registry_kind)kind};
        assert_int_equal(node->store->ops->scan_meta(node->store, (uint8_t)kind, (struct vv_str){0},
                                                     node_load, &loading, &error),
                         VV_OK);
    }
    assert_int_equal(vv_fleet_note_loaded(node->fleet, &error), VV_OK);
    for (int kind = VV_REGISTRY_TENANT; kind <= VV_REGISTRY_SOURCE; kind++) {
        for (size_t i = 0; i < node->n_touched; i++) {
            if ((int)node->touched[i].kind == kind) {
                struct vv_str record = {(const char *)journal[i].data, journal[i].size};
                assert_int_equal(
                    vv_registry_apply(node->registry, node->touched[i].kind, record, &error),
                    VV_OK);
                vv_fleet_note_replayed(node->fleet, node->touched[i].kind, node->touched[i].number);
            }
        }
    }
    for (size_t i = 0; i < node->n_touched; i++) {
        vv_buffer_deinit(&journal[i]);
    }
    free(journal);
}

/* ---- a registry as text ---- */

struct dump {
    char **lines;
    size_t n;
};

static void dump_line(struct dump *dump, const struct vv_buffer *line)
{
    assert_int_equal(vv_buffer_status(line), VV_OK);
    dump->lines = realloc(dump->lines, (dump->n + 1) * sizeof *dump->lines);
    assert_non_null(dump->lines);
    dump->lines[dump->n++] = vv_str_duplicate((struct vv_str){(char *)line->data, line->size});
}

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void dump_source(struct node *node, uint32_t source, struct vv_buffer *line)
{
    struct vv_registry *registry = node->registry;
    struct vv_arena arena = {0};
    struct vv_tag_version versions[VV_TAG_HISTORY_MAX];
    size_t n = 0;
    assert_int_equal(vv_registry_source_history(registry, source, &arena, versions, &n), VV_OK);
    for (size_t i = 0; i < n; i++) {
        vv_buffer_format(line, " %lld:", (long long)versions[i].from_ns);
        for (size_t t = 0; t < versions[i].n_tags; t++) {
            vv_buffer_format(line, "%.*s=%.*s,", VV_STR_ARG(versions[i].tags[t].key),
                             VV_STR_ARG(versions[i].tags[t].value));
        }
    }
    struct vv_plans plans = vv_registry_source_plans(registry, source);
    for (size_t i = 0; i < plans.n; i++) {
        vv_buffer_format(line, " plan %lld %lld %lld %u", (long long)plans.plans[i].from_ns,
                         (long long)plans.plans[i].bucket_ns, (long long)plans.plans[i].span_ns,
                         plans.plans[i].splits);
    }
    vv_arena_deinit(&arena);
}

/* Everything that nodes share, in the order of names. The caller frees the text. */
__attribute__((unused)) static char *node_dump(struct node *node)
{
    struct vv_registry *registry = node->registry;
    struct dump dump = {0};
    struct vv_buffer line = {0};
    for (uint32_t i = 0; i < vv_registry_tenant_count(registry); i++) {
        int64_t retention_ns;
        vv_stamp stamp;
        if (vv_registry_tenant_name(registry, i).size == 0) {
            continue; /* a hole; likewise below */
        }
        vv_registry_stamped_retention(registry, i, &retention_ns, &stamp);
        struct vv_late late;
        vv_stamp late_stamp;
        vv_registry_stamped_late(registry, i, &late, &late_stamp);
        vv_buffer_clear(&line);
        vv_buffer_format(&line, "tenant %.*s %lld %llu",
                         VV_STR_ARG(vv_registry_tenant_name(registry, i)), (long long)retention_ns,
                         (unsigned long long)stamp);
        if (vv_late_pack(late) > 0 || late_stamp > 0) {
            vv_buffer_format(&line, " late %llu %llu", (unsigned long long)vv_late_pack(late),
                             (unsigned long long)late_stamp);
        }
        struct vv_whole whole = vv_registry_whole(registry, i);
        for (size_t n = 0; n < whole.n; n++) {
            vv_buffer_format(&line, " whole %lld %lld", (long long)whole.longer[n].from,
                             (long long)whole.longer[n].kept_ns);
        }
        dump_line(&dump, &line);
    }
    for (uint32_t i = 0; i < vv_registry_measurement_count(registry); i++) {
        uint32_t tenant = vv_registry_measurement_tenant(registry, i);
        if (tenant == VV_REGISTRY_NONE) {
            continue;
        }
        vv_buffer_clear(&line);
        vv_buffer_format(&line, "measurement %.*s %.*s",
                         VV_STR_ARG(vv_registry_tenant_name(registry, tenant)),
                         VV_STR_ARG(vv_registry_measurement_name(registry, i)));
        dump_line(&dump, &line);
    }
    for (uint32_t i = 0; i < vv_registry_metric_count(registry); i++) {
        struct vv_metric_info info;
        struct vv_described described;
        vv_registry_metric_info(registry, i, &info);
        vv_registry_described(registry, i, &described);
        if (info.name.size == 0) {
            continue;
        }
        vv_buffer_clear(&line);
        vv_buffer_format(
            &line, "metric %.*s %.*s %d '%.*s' %llu '%.*s' %llu",
            VV_STR_ARG(vv_registry_tenant_name(registry, info.tenant)), VV_STR_ARG(info.name),
            (int)info.type, VV_STR_ARG(described.unit), (unsigned long long)described.unit_stamp,
            VV_STR_ARG(described.description), (unsigned long long)described.description_stamp);
        dump_line(&dump, &line);
    }
    for (uint32_t i = 0; i < vv_registry_source_count(registry); i++) {
        uint32_t tenant = vv_registry_source_tenant(registry, i);
        if (tenant == VV_REGISTRY_NONE) {
            continue;
        }
        vv_buffer_clear(&line);
        vv_buffer_format(&line, "source %.*s %.*s %d",
                         VV_STR_ARG(vv_registry_tenant_name(registry, tenant)),
                         VV_STR_ARG(vv_registry_source_id(registry, i)),
                         vv_registry_source_is_canonical(registry, i));
        dump_source(node, i, &line);
        dump_line(&dump, &line);
    }
    if (dump.n) {
        qsort(dump.lines, dump.n, sizeof *dump.lines, compare_lines);
    }
    vv_buffer_clear(&line);
    for (size_t i = 0; i < dump.n; i++) {
        vv_buffer_text(&line, dump.lines[i]);
        vv_buffer_text(&line, "\n");
        free(dump.lines[i]);
    }
    free(dump.lines);
    char *text = vv_str_duplicate((struct vv_str){(char *)line.data, line.size});
    assert_non_null(text);
    vv_buffer_deinit(&line);
    return text;
}

__attribute__((unused)) static void assert_same_nodes(struct node *a, struct node *b)
{
    char *first = node_dump(a);
    char *second = node_dump(b);
    if (strcmp(first, second) != 0) {
        size_t at = 0;
        while (first[at] == second[at]) {
            at++;
        }
        while (at > 0 && first[at - 1] != '\n') {
            at--;
        }
        print_message("node %u: %.*s\nnode %u: %.*s\n", a->number, (int)strcspn(first + at, "\n"),
                      first + at, b->number, (int)strcspn(second + at, "\n"), second + at);
    }
    assert_int_equal(strcmp(first, second), 0);
    free(first);
    free(second);
}

__attribute__((unused)) static void assert_dump(struct node *node, const char *expected)
{
    char *text = node_dump(node);
    assert_string_equal(text, expected);
    free(text);
}

#endif
