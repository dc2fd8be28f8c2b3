/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replacing frozen days beside other nodes: by any of them, whoever dies of it. Sources of their
 * own have nothing else; each version of a day has its number as all values, so that what a step
 * has tells which one it is of. As a client should, it sends the same again until it is answered.
 */
#include "simulation/fleet/world.h"

#include "engine/engine_private.h"
#include "ingest/line_protocol.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define DAYS_BEFORE 620 /* points are kept for 500 days, or 900 */
#define EACH_MAX    60

static int64_t day_of(const struct fleet_world *world, size_t day)
{
    int64_t apart = day < 2 ? 1 : 30; /* some are in one unit of days */
    return vv_time_floor(world->base_ns, VV_DAY) - (DAYS_BEFORE + apart * (int64_t)day) * VV_DAY;
}

/* Points of an hour in that version: rows in place of steps, or steps. */
static uint64_t each_of(uint64_t version)
{
    static const uint64_t each[] = {1, EACH_MAX, 2, 30};
    return each[version % 4];
}

static enum vv_status send(struct fleet_node *node, size_t source, int64_t day, uint64_t version,
                           struct vv_error *error)
{
    struct vv_staging staging;
    struct vv_line_parser *parser;
    uint64_t each = each_of(version);
    enum vv_status status =
        vv_engine_stage_frozen(node->engine, VV_STR_LITERAL(FLEET_TENANT), &staging, error);
    if (status != VV_OK) {
        return status;
    }
    vv_invariant(vv_line_parser_create(&staging, 1, &parser) == VV_OK);
    for (uint64_t i = 0; i < 24 * each; i++) {
        char line[96];
        snprintf(line, sizeof line, "z,host=r%zu v=%" PRIu64 "i %" PRId64 "\n", source, version,
                 day + (int64_t)i * (VV_HOUR / (int64_t)each));
        vv_invariant(vv_line_parser_feed(parser, line, strlen(line)) == VV_OK);
    }
    vv_invariant(vv_line_parser_finish(parser) == VV_OK);
    vv_line_parser_destroy(parser);
    struct vv_batch *batch = vv_staging_take_batch(&staging);
    vv_staging_deinit(&staging);
    return batch ? vv_engine_replace(node->engine, batch, error) : VV_OVERLOAD;
}

/* Nodes that may still carry out what they have noted, or deliver it: not before that is done
 * something else is sent. */
static bool is_settled(struct fleet_world *world, struct fleet_day *day)
{
    for (size_t i = 0; i < world->n_nodes; i++) {
        struct fleet_node *node = &world->nodes[i];
        uint32_t bit = 1u << i;
        if (!(day->holders & bit) || !node->engine || !fleet_is_free(node)) {
            continue;
        }
        bool is_done = fleet_step(node, VV_TASK_FLUSH) == VV_OK && node->engine &&
                       fleet_is_free(node) && vv_engine_parked(node->engine).n == 0;
        day->holders &= is_done ? ~bit : UINT32_MAX;
    }
    return day->holders == 0;
}

void fleet_replace(struct fleet_node *node)
{
    struct fleet_world *world = node->world;
    struct vv_error error = {0};
    size_t source = vv_random_below(&world->random, FLEET_REPLACED);
    size_t at = vv_random_below(&world->random, FLEET_DAYS);
    struct fleet_day *day = &world->days[source][at];
    if (!node->engine || !fleet_is_free(node) || day->is_busy) {
        return;
    }
    day->is_busy = true;
    if (day->pending == 0 && !is_settled(world, day)) {
        day->is_busy = false;
        return;
    }
    if (!node->engine || !fleet_is_free(node)) { /* it has died meanwhile */
        day->is_busy = false;
        return;
    }
    uint64_t version = day->pending ? day->pending : ++world->versions;
    fleet_enter(node);
    enum vv_status status = send(node, source, day_of(world, at), version, &error);
    bool is_dead = node->is_dead;
    bool is_refused = !is_dead && (status == VV_INVALID || status == VV_OVERLOAD ||
                                   status == VV_NOT_FOUND || status == VV_FULL);
    fleet_tell(world, node, "replace r%zu day %zu by %" PRIu64 ": %s %s", source, at, version,
               is_dead ? "dead" : vv_status_name(status), error.message);
    if (status == VV_OK && !is_dead) {
        day->version = version;
        day->pending = 0;
        day->holders |= vv_engine_parked(node->engine).n > 0 ? 1u << node->number : 0;
    } else if (!is_refused) {
        day->pending = version;
        day->holders |= 1u << node->number;
    }
    day->is_busy = false;
    fleet_leave(node);
}

/* ---- asking ---- */

struct asking {
    struct fleet_node *node;
    enum vv_space tier;
    bool all;           /* it is at rest: the last version is there, and no other one */
    bool is_of_records; /* of the tier alone, and not of finer ones that get a day by and by */
    uint64_t counts[FLEET_REPLACED][FLEET_DAYS];
};

static size_t index_of(const struct fleet_world *world, int64_t time)
{
    size_t at = 0;
    while (at < FLEET_DAYS && day_of(world, at) != vv_time_floor(time, VV_DAY)) {
        at++;
    }
    return at;
}

static void see_line(struct asking *asking, const char *line)
{
    struct fleet_world *world = asking->node->world;
    size_t source;
    long long time;
    double count;
    double min;
    double max;
    int n = sscanf(line, "host=r%zu,z.v,%lld,%lf,%lf,%lf", &source, &time, &count, &min, &max);
    size_t at = n == 5 ? index_of(world, time) : FLEET_DAYS;
    if (n != 5 || source >= FLEET_REPLACED || at == FLEET_DAYS) {
        fleet_fail(world, "a step that never was: %s", line);
        return;
    }
    struct fleet_day *day = &world->days[source][at];
    uint64_t version = (uint64_t)max;
    bool is_known = min > 0 && version <= world->versions;
    bool is_last = version == day->version || version == day->pending;
    bool is_whole =
        !asking->is_of_records ||
        (min == max && (asking->tier != VV_SPACE_DAY || (uint64_t)count == 24 * each_of(version)));
    if (!is_known || !is_whole || (asking->all && !is_last)) {
        fleet_fail(
            world, "node %u, tier %d: r%zu day %zu, of version %" PRIu64 " (or %" PRIu64 "): %s",
            asking->node->number, (int)asking->tier, source, at, day->version, day->pending, line);
    }
    asking->counts[source][at] += (uint64_t)count;
}

static void check_counts(const struct asking *asking)
{
    struct fleet_world *world = asking->node->world;
    for (size_t source = 0; source < FLEET_REPLACED; source++) {
        for (size_t at = 0; at < FLEET_DAYS; at++) {
            const struct fleet_day *day = &world->days[source][at];
            uint64_t found = asking->counts[source][at];
            bool is_one = found == 24 * each_of(day->version) ||
                          (day->pending && found == 24 * each_of(day->pending));
            /* Finer tiers have it if they were there by then. */
            bool may_lack = asking->tier != VV_SPACE_DAY || day->version == 0;
            if (!is_one && !(may_lack && found == 0)) {
                fleet_fail(world,
                           "node %u, tier %d: r%zu day %zu has %" PRIu64
                           " points of version %" PRIu64 " (or %" PRIu64 ")",
                           asking->node->number, (int)asking->tier, source, at, found, day->version,
                           day->pending);
            }
        }
    }
}

/* As the answer says: no line of it names another tier, or points. */
static bool is_of_tier(const char *answer, const char *word)
{
    const char *at = answer;
    bool is = true;
    while (is && (at = strstr(at, "# tier ")) != NULL) {
        at += strlen("# tier ");
        is = strncmp(at, word, strlen(word)) == 0;
    }
    return is;
}

static void ask(struct fleet_node *node, enum vv_space tier, bool all)
{
    static const char *const words[VV_SPACES] = {"minute", "hour", "day"};
    static const char *const steps[VV_SPACES] = {"1m", "1h", "1d"};
    struct fleet_world *world = node->world;
    struct asking asking = {.node = node, .tier = tier, .all = all};
    struct vv_buffer answer = {0};
    struct vv_error error = {0};
    char from[24];
    char to[24];
    snprintf(from, sizeof from, "%" PRId64, world->base_ns - 900 * VV_DAY);
    snprintf(to, sizeof to, "%" PRId64, world->base_ns - 600 * VV_DAY);
    const struct vv_parameter parameters[] = {
        {VV_STR_LITERAL("tenant"), VV_STR_LITERAL(FLEET_TENANT)},
        {VV_STR_LITERAL("metric"), VV_STR_LITERAL("z.v")},
        {VV_STR_LITERAL("time_format"), VV_STR_LITERAL("ns")},
        {VV_STR_LITERAL("from"), vv_str_of(from)},
        {VV_STR_LITERAL("to"), vv_str_of(to)},
        {VV_STR_LITERAL("agg"), VV_STR_LITERAL("count,min,max")},
        {VV_STR_LITERAL("step"), vv_str_of(steps[tier])},
        {VV_STR_LITERAL("tier"), vv_str_of(words[tier])},
    };
    fleet_enter(node);
    enum vv_status status =
        fleet_ask(node, parameters, sizeof parameters / sizeof parameters[0], &answer, &error);
    vv_buffer_u8(&answer, 0);
    bool is_answered = status == VV_DONE && !node->is_dead;
    asking.is_of_records = all || is_of_tier((char *)answer.data, words[tier]);
    char *rest = NULL;
    for (char *line = strtok_r((char *)answer.data, "\r\n", &rest); line && is_answered;
         line = strtok_r(NULL, "\r\n", &rest)) {
        if (strncmp(line, "host=", 5) == 0) {
            see_line(&asking, line);
        }
    }
    vv_buffer_deinit(&answer);
    if (all && is_answered) {
        check_counts(&asking);
    } else if (all && !node->is_dead && status != VV_NOT_FOUND &&
               !(status == VV_INVALID && tier < VV_SPACE_DAY)) { /* of tiers that keep less */
        fleet_fail(world, "node %u, tier %d of replaced days: %s: %s", node->number, (int)tier,
                   vv_status_name(status), error.message);
    }
    fleet_leave(node);
}

void fleet_check_replaced(struct fleet_node *node, bool all)
{
    for (int tier = all ? 0 : VV_SPACE_DAY; tier < VV_SPACES; tier++) {
        if (node->engine && fleet_is_free(node) && !node->world->failure[0]) {
            ask(node, (enum vv_space)tier, all);
        }
    }
}
