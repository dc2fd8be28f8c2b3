/* SPDX-License-Identifier: Apache-2.0 */
/* Asking nodes, and bringing everything to rest. */
#include "simulation/fleet/world.h"

#include "engine/engine_private.h"

#include <inttypes.h>
#include <stdio.h>

#define ROUNDS_MAX  400
#define IDLE_ROUNDS 20 /* the ledger is read in parts */

/* ---- asking ---- */

static bool see_line(struct fleet_world *world, const struct fleet_node *node, const char *line)
{
    size_t source;
    size_t field;
    long long time;
    double value;
    if (sscanf(line, "host=s%zu,%*[a-z0-9].f%zu,%lld,%lf", &source, &field, &time, &value) != 4) {
        fleet_fail(world, "cannot read the answer's line: %s", line);
        return false;
    }
    source %= TRUTH_SOURCES;
    size_t index = truth_time_index(time, world->base_ns);
    if (source >= TRUTH_SOURCES || field >= TRUTH_FIELDS || index == TRUTH_TIMES) {
        fleet_fail(world, "a point that was never written: %s", line);
        return false;
    }
    const char *wrong =
        truth_see(&world->truth, truth_index(source, field, index), (uint64_t)value);
    if (wrong) {
        fleet_fail(world, "node %u: %s: %s", node->number, wrong, line);
    }
    return !wrong;
}

static enum vv_status ask_with(struct fleet_node *node, bool bare,
                               const struct vv_parameter *parameters, size_t n,
                               struct vv_buffer *answer, struct vv_error *error)
{
    struct vv_request *request;
    struct vv_result *result;
    struct vv_query_limits limits;
    enum vv_status status =
        vv_request_parse(VV_REQUEST_QUERY, parameters, n,
                         node->clock.clock.wall_ns(&node->clock.clock), &request, error);
    if (status != VV_OK) {
        return status;
    }
    vv_engine_query_begin(node->engine);
    struct vv_query_context context = *vv_engine_query_context(node->engine);
    context.deletions = bare ? NULL : context.deletions;
    vv_engine_query_limits(node->engine, &limits);
    status = vv_result_open(&context, &limits, request, VV_FORMAT_CSV, &result, error);
    if (status != VV_OK) {
        return status;
    }
    do {
        status = vv_result_write(result, answer, 65536, error);
    } while (status == VV_OK);
    vv_result_close(result);
    return status;
}

enum vv_status fleet_ask(struct fleet_node *node, const struct vv_parameter *parameters, size_t n,
                         struct vv_buffer *answer, struct vv_error *error)
{
    return ask_with(node, false, parameters, n, answer, error);
}

static enum vv_status ask(struct fleet_node *node, bool bare, struct vv_buffer *answer,
                          struct vv_error *error)
{
    const struct vv_parameter parameters[] = {
        {VV_STR_LITERAL("tenant"), VV_STR_LITERAL(FLEET_TENANT)},
        {VV_STR_LITERAL("metric"), fleet_metrics(node->world)},
        {VV_STR_LITERAL("time_format"), VV_STR_LITERAL("ns")},
        {VV_STR_LITERAL("to"),
         VV_STR_LITERAL("2100-01-01T00:00:00Z")}, /* whatever the clock says */
        {VV_STR_LITERAL("order"),
         vv_random_below(&node->world->random, 2) ? VV_STR_LITERAL("desc") : VV_STR_LITERAL("asc")},
    };
    return ask_with(node, bare, parameters, sizeof parameters / sizeof parameters[0], answer,
                    error);
}

struct truth_reader fleet_reader_of(struct fleet_node *node, bool all)
{
    const struct vv_shared_ops *shared = node->engine->store->ops->shared;
    struct truth_reader reader = {.node = node->number,
                                  .order = node->world->truth.acknowledgements};
    for (size_t i = 0; i < TRUTH_NODES; i++) {
        reader.until_ns[i] = all ? INT64_MAX : INT64_MIN;
    }
    if (!shared || all) {
        return reader;
    }
    struct vv_peer peers[VV_SIM_CASSANDRA_CLIENTS];
    size_t n = shared->peers(node->engine->store, peers, VV_SIM_CASSANDRA_CLIENTS);
    for (size_t i = 0; i < n && i < VV_SIM_CASSANDRA_CLIENTS; i++) {
        for (size_t j = 0; j < node->world->n_nodes; j++) {
            if (node->world->nodes[j].stamp_node == peers[i].node) {
                reader.until_ns[j] = peers[i].flushed_until_ns;
            }
        }
    }
    return reader;
}

void fleet_take_claim(const char *line, struct truth_reader *reader)
{
    long long until;
    if (sscanf(line, "# complete until %lld", &until) != 1) {
        return;
    }
    for (size_t i = 0; i < TRUTH_NODES; i++) {
        reader->until_ns[i] = until > reader->until_ns[i] ? until : reader->until_ns[i];
    }
}

static void compare(struct fleet_node *node, struct vv_buffer *answer, struct truth_reader *reader)
{
    struct fleet_world *world = node->world;
    char *rest = NULL;
    size_t point;
    truth_begin(&world->truth);
    vv_buffer_u8(answer, 0);
    char *line = strtok_r((char *)answer->data, "\r\n", &rest);
    for (bool header = true; line; line = strtok_r(NULL, "\r\n", &rest)) {
        if (line[0] == '#') {
            fleet_take_claim(line, reader);
        } else if (!header && !see_line(world, node, line)) {
            return;
        }
        header = false;
    }
    const char *wrong = truth_end(&world->truth, reader, &point);
    if (wrong) {
        const struct truth_write *best = truth_known(&world->truth, point, reader);
        fleet_fail(world,
                   "node %u: %s: s%zu f%zu at %" PRId64 ": %" PRIu64 ", not %" PRIu64
                   " of node %u, acknowledged at %" PRId64 "; it claims to know all until %" PRId64,
                   node->number, wrong, point / TRUTH_TIMES / TRUTH_FIELDS,
                   point / TRUTH_TIMES % TRUTH_FIELDS,
                   truth_time(point % TRUTH_TIMES, world->base_ns), world->truth.points[point].seen,
                   best ? best->value : 0, best ? best->node : 0, best ? best->acknowledged_ns : 0,
                   best ? reader->until_ns[best->node] : 0);
    }
}

bool fleet_hears(struct fleet_node *node)
{
    return !node->engine->fleet ||
           vv_fleet_is_current(node->engine->fleet, vv_settings_lead_ns(&node->settings));
}

void fleet_check(struct fleet_node *node, bool all)
{
    struct vv_buffer answer = {0};
    struct vv_error error = {0};
    if (!node->engine || !fleet_is_free(node)) {
        return;
    }
    fleet_tell(node->world, node, "check");
    struct truth_reader reader = fleet_reader_of(node, all);
    bool heard = fleet_hears(node);
    fleet_enter(node);
    enum vv_status status = ask(node, false, &answer, &error);
    bool hears = all || (heard && fleet_hears(node));
    if (!hears) {
        fleet_tell(node->world, node, "does not hear the others");
    } else if (status == VV_DONE || status == VV_NOT_FOUND) {
        compare(node, &answer, &reader);
    } else if (all || (status != VV_OVERLOAD && status != VV_IO && status != VV_TIMEOUT)) {
        fleet_fail(node->world, "node %u: the query fails: %s: %s", node->number,
                   vv_status_name(status), error.message);
    }
    vv_buffer_deinit(&answer);
    fleet_leave(node);
}

static void see_bare(struct fleet_world *world, const struct fleet_node *node, const char *line)
{
    size_t source;
    size_t field;
    long long time;
    double value;
    if (sscanf(line, "host=s%zu,%*[a-z0-9].f%zu,%lld,%lf", &source, &field, &time, &value) != 4) {
        return;
    }
    source %= TRUTH_SOURCES;
    size_t index = truth_time_index(time, world->base_ns);
    if (index < TRUTH_TIMES &&
        truth_is_deleted(&world->truth, truth_index(source, field, index), (uint64_t)value)) {
        fleet_fail(world, "node %u: a deleted value is still stored (%s): %s", node->number,
                   world->truth.forgets_nodes ? "rows" : "blocks", line);
    }
}

void fleet_check_bare(struct fleet_node *node)
{
    struct vv_buffer answer = {0};
    struct vv_error error = {0};
    char *rest = NULL;
    fleet_tell(node->world, node, "check what is stored");
    fleet_enter(node);
    enum vv_status status = ask(node, true, &answer, &error);
    if (status != VV_DONE && status != VV_NOT_FOUND) {
        fleet_fail(node->world, "node %u: the bare query fails: %s", node->number, error.message);
    }
    vv_buffer_u8(&answer, 0);
    for (char *line = strtok_r((char *)answer.data, "\r\n", &rest); line;
         line = strtok_r(NULL, "\r\n", &rest)) {
        see_bare(node->world, node, line);
    }
    vv_buffer_deinit(&answer);
    fleet_leave(node);
}

/* ---- rest ---- */

static enum vv_status count_mark(void *context, const struct vv_mark *mark)
{
    (void)mark;
    *(size_t *)context += 1;
    return VV_OK;
}

/* One round of all that a node does by itself; whether anything was done. */
static bool work_off(struct fleet_node *node)
{
    bool worked = false;
    if (!node->engine && !fleet_start(node)) {
        return true;
    }
    worked |= fleet_step(node, VV_TASK_COMMIT) == VV_OK;
    worked |= fleet_step(node, VV_TASK_FLUSH) == VV_OK && node->engine->job_first;
    (void)fleet_step(node, VV_TASK_LEARN);
    worked |= fleet_step(node, VV_TASK_DELIVER) == VV_OK;
    worked |= fleet_step(node, VV_TASK_SWEEP) == VV_OK;
    worked |= fleet_step(node, VV_TASK_SEAL_ALL) == VV_OK;
    (void)fleet_step(node, VV_TASK_BEAT);
    return worked || fleet_reads_ledger(node->engine->store);
}

size_t fleet_look(struct fleet_node *node)
{
    size_t marks = 0;
    if (node->engine && fleet_is_free(node)) {
        struct vv_store *store = node->engine->store;
        fleet_enter(node);
        (void)!store->ops->scan_marks(store, INT64_MAX, NULL, count_mark, &marks, NULL);
        fleet_leave(node);
    }
    return marks;
}

static void expect_no_marks(struct fleet_node *node)
{
    size_t marks = fleet_look(node);
    if (marks) {
        fleet_fail(node->world, "node %u: after sealing all, %zu marks are left", node->number,
                   marks);
    }
}

static void check_all(struct fleet_world *world)
{
    for (size_t i = 0; i < world->n_nodes && !world->failure[0]; i++) {
        fleet_check(&world->nodes[i], true);
        fleet_check_tiers(&world->nodes[i], true);
        if (world->replaces) {
            fleet_check_replaced(&world->nodes[i], true);
        }
    }
}

static void come_to_rest(struct fleet_world *world)
{
    size_t idle = 0;
    size_t rounds = 0;
    for (; idle < IDLE_ROUNDS && rounds < ROUNDS_MAX && !world->failure[0]; rounds++) {
        bool worked = false;
        /* Past any wait after a failure; then so little that nodes are not gone for each other. */
        fleet_advance(world, rounds < 3 ? VV_HOUR : 10 * VV_SECOND);
        for (size_t i = 0; i < world->n_nodes; i++) {
            vv_sim_disk_heal(world->nodes[i].disk);
            worked |= work_off(&world->nodes[i]);
        }
        idle = worked ? 0 : idle + 1;
    }
    if (rounds == ROUNDS_MAX) {
        fleet_fail(world, "the nodes do not come to rest");
    }
}

void fleet_settle(struct fleet_world *world)
{
    world->interleaves = false;
    world->crashes = false;
    vv_sim_cassandra_set_faults(world->cassandra, NULL);
    fleet_heal(world);
    come_to_rest(world);
    fleet_check_places(world);
    check_all(world);
    if (world->has_tiers && !world->failure[0]) {
        fleet_tell(world, NULL, "all units are over");
        fleet_advance(world, 29 * VV_DAY);
        come_to_rest(world);
        fleet_check_places(world);
        check_all(world);
        for (size_t i = 0; i < world->n_nodes && !world->failure[0]; i++) {
            fleet_check_units(&world->nodes[i]);
            if (i == 0 || !world->has_classes) { /* of more measurements it takes longer */
                fleet_reroll(&world->nodes[i], false, true);
            }
        }
    }
    for (size_t i = 0; i < world->n_nodes && !world->failure[0]; i++) {
        expect_no_marks(&world->nodes[i]);
    }
    for (size_t i = 0; i < world->n_nodes && !world->failure[0]; i++) {
        fleet_check_bare(&world->nodes[i]);
    }
    fleet_tell(world, NULL, "all runs expire");
    fleet_advance(world, 3 * FLEET_SLACK);
    for (size_t i = 0; i < world->n_nodes && !world->failure[0]; i++) {
        (void)fleet_step(&world->nodes[i], VV_TASK_LEARN); /* what is to be agreed on by now */
    }
    check_all(world);
}
