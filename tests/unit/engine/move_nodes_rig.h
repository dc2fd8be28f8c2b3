/* SPDX-License-Identifier: Apache-2.0 */
/* Two nodes that share a store, and measurements of their tenant "t" that change their class. */
#ifndef VV_TESTS_UNIT_ENGINE_MOVE_NODES_RIG_H
#define VV_TESTS_UNIT_ENGINE_MOVE_NODES_RIG_H

#include "nodes_rig.h"

#include "support/fake_fleet.h"

#include "engine/engine_private.h"
#include "registry/shared.h"

#define TEXT(text) ((struct vv_str)VV_STR_LITERAL(text))
#define NODES      2
/* The first that lies behind a day's notice, and what clocks may do. */
#define DAY (vv_time_floor(RIG_START, VV_DAY) + 2 * VV_DAY)

struct nodes {
    struct rig rigs[NODES];
};

static inline struct vv_registry *registry_of(struct rig *rig)
{
    return vv_engine_query_context(rig->engine)->registry;
}

static inline void prepare(struct rig *rig, struct vv_settings *settings,
                           struct vv_engine_options *options)
{
    (void)rig;
    (void)options;
    settings->bucket_ns = VV_HOUR;
    settings->span_ns = VV_HOUR;
}

static inline void begin(struct nodes *nodes)
{
    fake_begin(7);
    hub.has_peers = true;
    for (uint32_t i = 0; i < NODES; i++) {
        struct rig *rig = &nodes->rigs[i];
        vv_log_level_set(VV_LOG_OFF);
        *rig = (struct rig){.disk = vv_sim_disk_create(i + 1), .prepare = prepare};
        struct vv_disk *disk = vv_sim_disk_interface(rig->disk);
        assert_int_equal(disk->ops->make_folder(disk, "/data", NULL), VV_OK);
        assert_int_equal(disk->ops->make_folder(disk, "/data/journal", NULL), VV_OK);
        vv_sim_clock_init(&rig->clock, RIG_START);
        rig->store = fake_open(i + 1);
        rig_open(rig);
        hub.nodes[i + 1].registry = registry_of(rig);
    }
}

static inline void end(struct nodes *nodes)
{
    for (int i = 0; i < NODES; i++) {
        vv_engine_close(nodes->rigs[i].engine);
        vv_sim_disk_destroy(nodes->rigs[i].disk);
    }
    fake_end();
}

static inline void crash(struct nodes *nodes, uint32_t i)
{
    struct rig *rig = &nodes->rigs[i];
    vv_engine_close(rig->engine);
    fake_crash(i + 1);
    vv_sim_disk_restart(rig->disk);
    rig_open(rig);
    hub.nodes[i + 1].registry = registry_of(rig);
}

static inline void learn(struct rig *rig)
{
    enum vv_status status = rig_step(rig, VV_TASK_LEARN);
    assert_true(status == VV_OK || status == VV_DONE);
}

static inline void learn_all(struct nodes *nodes)
{
    for (int i = 0; i < 6; i++) {
        for (int node = 0; node < NODES; node++) {
            vv_sim_clock_advance(&nodes->rigs[node].clock, VV_SECOND);
            learn(&nodes->rigs[node]);
        }
    }
}

/* Of one node, or (NODES) of all. */
static inline void go_to(struct nodes *nodes, uint32_t which, int64_t time)
{
    for (uint32_t i = 0; i < NODES; i++) {
        struct vv_sim_clock *clock = &nodes->rigs[i].clock;
        int64_t now = clock->clock.wall_ns(&clock->clock);
        if ((which == NODES || which == i) && now < time) {
            vv_sim_clock_advance(clock, time - now);
        }
    }
}

static inline void write_at(struct rig *rig, const char *measurement, int64_t time)
{
    char line[96];
    snprintf(line, sizeof line, "%s,id=x v=1 %lld\n", measurement, (long long)time);
    rig_write_line(rig, line); /* there is no batch of a line that is refused */
}

/* Of all times that there may be points of. */
static inline enum vv_status ask(struct rig *rig, const char *metric, struct vv_error *error)
{
    const struct vv_parameter parameters[] = {{TEXT("tenant"), TEXT("t")},
                                              {TEXT("metric"), vv_str_of(metric)}};
    struct vv_request *request;
    struct vv_result *result = NULL;
    struct vv_query_limits limits;
    vv_engine_query_limits(rig->engine, &limits);
    assert_int_equal(vv_request_parse(VV_REQUEST_QUERY, parameters, 2,
                                      rig->clock.clock.wall_ns(&rig->clock.clock), &request, error),
                     VV_OK);
    enum vv_status status = vv_result_open(vv_engine_query_context(rig->engine), &limits, request,
                                           VV_FORMAT_CSV, &result, error);
    vv_result_close(result);
    return status;
}

static inline void flush(struct rig *rig)
{
    for (int i = 0; i < 3; i++) { /* older jobs first, then what is active */
        assert_int_equal(rig_step(rig, VV_TASK_FLUSH), VV_OK);
    }
}

static inline struct vv_class_effect set_class(struct rig *rig, const char *name,
                                               const char *measurements)
{
    struct vv_class_effect effect;
    struct vv_error error = {0};
    struct vv_class_wish wish = {
        .name = vv_str_of(name),
        .has_measurements = true,
        .measurements = vv_str_of(measurements),
        .retentions = {40 * VV_DAY, {VV_RETENTION_AS_IS, VV_RETENTION_AS_IS, VV_RETENTION_AS_IS}}};
    if (vv_engine_set_class(rig->engine, TEXT("t"), &wish, &effect, &error) != VV_OK) {
        fail_msg("%s", error.message);
    }
    return effect;
}

static inline uint32_t number_of(struct rig *rig, const char *name)
{
    uint32_t tenant = VV_REGISTRY_NONE;
    uint32_t measurement = VV_REGISTRY_NONE;
    assert_int_equal(vv_registry_tenant(registry_of(rig), TEXT("t"), false, &tenant, NULL), VV_OK);
    assert_int_equal(vv_registry_measurement(registry_of(rig), tenant, vv_str_of(name), false,
                                             &measurement, NULL),
                     VV_OK);
    return measurement;
}

/* Where its points of a time lie: "t", "t/@c". */
static inline const char *place_at(struct rig *rig, const char *name, int64_t time)
{
    static char text[VV_SPACE_NAME_MAX + 1];
    struct vv_stay stay = vv_registry_stay(registry_of(rig), number_of(rig, name), time);
    struct vv_str place = vv_registry_tenant_name(registry_of(rig), stay.place);
    snprintf(text, sizeof text, "%.*s", VV_STR_ARG(place));
    return text;
}

static inline void assert_settled(struct nodes *nodes, const char *name, int64_t day,
                                  const char *place)
{
    for (int i = 0; i < NODES; i++) {
        struct rig *rig = &nodes->rigs[i];
        assert_int_equal(vv_registry_next_agreeing(registry_of(rig), 0), VV_REGISTRY_NONE);
        assert_string_equal(place_at(rig, name, day - 1), "t");
        assert_string_equal(place_at(rig, name, day), place);
    }
}

static inline bool is_agreeing(struct rig *rig)
{
    return vv_registry_next_agreeing(registry_of(rig), 0) != VV_REGISTRY_NONE;
}

/* Both have points of "m"; the first sets a class for it. The time by which all have to know. */
static inline int64_t propose(struct nodes *nodes)
{
    begin(nodes);
    for (int i = 0; i < NODES; i++) {
        write_at(&nodes->rigs[i], "m", RIG_START - VV_HOUR);
        flush(&nodes->rigs[i]);
    }
    learn_all(nodes);
    struct vv_class_effect effect = set_class(&nodes->rigs[0], "c", "m\n");
    assert_int_equal(effect.moved.n, 1);
    assert_int_equal(effect.elsewhere.n, 0);
    assert_int_equal(effect.moved_from, DAY);
    assert_true(effect.known_by > RIG_START && effect.known_by < DAY - VV_DAY);
    return effect.known_by;
}

/* A run of the time lies there, as that node's store has it. */
static inline bool has_run(struct rig *rig, const char *place, int64_t time)
{
    uint32_t number;
    int64_t found;
    uint32_t source = 0;
    assert_int_equal(
        vv_registry_space_named(registry_of(rig), vv_str_of(place), false, &number, NULL), VV_OK);
    enum vv_status status =
        rig->store->ops->nearest(rig->store, 0, number, source, time - VV_HOUR, true, &found, NULL);
    return status == VV_OK && found <= time;
}

#endif
