/* SPDX-License-Identifier: Apache-2.0 */
/* Tiers of a fleet: whatever node is asked, they say what the points do. */
#include "simulation/fleet/world.h"

#include "engine/engine_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define STEPS     3
#define WISHES    (2 + VV_SPACES)
#define QUESTIONS 5

static const char *const step_words[STEPS] = {"1m", "1h", "1d"};
static const int64_t lengths[STEPS] = {VV_MINUTE, VV_HOUR, VV_DAY};
static const char *const wish_words[WISHES] = {NULL, "raw", "minute", "hour", "day"};

void fleet_set_tiers(struct fleet_node *node)
{
    struct fleet_world *world = node->world;
    int64_t retention_ns[VV_SPACES];
    struct vv_error error = {0};
    bool keeps_them = world->has_classes && world->begins_with_tiers;
    if (!node->engine || !fleet_is_free(node) || keeps_them) {
        return; /* what is built of tiers that are kept for longer is looked at without classes */
    }
    for (int tier = 0; tier < VV_SPACES; tier++) { /* those that are on stay so */
        retention_ns[tier] = vv_random_below(&world->random, 3) ? 0 : VV_RETENTION_AS_IS;
    }
    fleet_enter(node);
    enum vv_status status =
        vv_engine_set_tiers(node->engine, VV_STR_LITERAL(FLEET_TENANT), retention_ns, &error);
    fleet_tell(world, node, "tiers: %s %s", vv_status_name(status), error.message);
    if (status == VV_INVALID) {
        fleet_fail(world, "good tiers are refused: %s", error.message);
    }
    world->has_lengthened |= status != VV_INVALID;
    fleet_leave(node);
}

/* ---- what the points say ---- */

struct question {
    struct fleet_node *node;
    size_t step; /* an index of step_words */
    size_t wish; /* … of wish_words */
    bool all;
    bool together; /* of all sources at once */
    struct truth_reader reader;
};

struct row {
    size_t source;
    size_t field;
    long long time;
    double count;
    double sum;
    double min;
    double max;
    double first;
    double last;
};

/* What a step has, of all points in it. */
struct expected {
    size_t least; /* values that must be there */
    size_t most;  /* that may be */
    double sum;   /* of those that are, if that is known */
    double min;
    double max;
    double first;
    double last;
};

static bool was_written(const struct truth_point *point, double value)
{
    for (size_t i = 0; i < point->n; i++) {
        if ((double)point->writes[i].value == value) {
            return true;
        }
    }
    return false;
}

static void add_seen(struct expected *expected, double value, int64_t time, int64_t at[2])
{
    bool is_first = expected->least == 0;
    expected->least++;
    expected->most++;
    expected->sum += value;
    expected->min = is_first || value < expected->min ? value : expected->min;
    expected->max = is_first || value > expected->max ? value : expected->max;
    expected->first = is_first || time < at[0] ? value : expected->first;
    expected->last = is_first || time > at[1] ? value : expected->last;
    at[0] = is_first || time < at[0] ? time : at[0];
    at[1] = is_first || time > at[1] ? time : at[1];
}

static void expect_of(const struct question *question, size_t source, size_t field, int64_t label,
                      struct expected *expected, int64_t at[2])
{
    const struct fleet_world *world = question->node->world;
    const struct truth *truth = &world->truth;
    for (size_t i = 0; i < TRUTH_TIMES; i++) {
        size_t index = truth_index(source, field, i);
        const struct truth_point *point = &truth->points[index];
        int64_t time = truth_time(i, world->base_ns);
        if (vv_time_floor(time, lengths[question->step]) != label) {
            continue;
        }
        if (!question->all) {
            bool may_be_deleted = truth->n_deletions > 0;
            expected->least +=
                !may_be_deleted && truth_known(truth, index, &question->reader) != NULL;
            expected->most += point->n > 0;
        } else if (point->seen) {
            add_seen(expected, (double)point->seen, time, at);
        }
    }
}

/* The first of the sources that are answered with this one: of the same measurement. */
static size_t first_of(const struct question *question, size_t source, size_t field)
{
    size_t groups = question->node->world->has_classes && field > 0 ? FLEET_APART : 1;
    return question->together ? source % groups : source;
}

static struct expected expect(const struct question *question, size_t source, size_t field,
                              int64_t label)
{
    struct expected expected = {0};
    int64_t at[2] = {0, 0};
    for (size_t i = 0; i < TRUTH_SOURCES; i++) {
        if (first_of(question, i, field) == source) {
            expect_of(question, i, field, label, &expected, at);
        }
    }
    return expected;
}

/* ---- comparing ---- */

static void fail(const struct question *question, const char *what, const struct row *row)
{
    fleet_fail(question->node->world,
               "node %u: %s: s%zu f%zu at %lld: count %g sum %g min %g max %g first %g last %g "
               "(step %s, tier %s)",
               question->node->number, what, row->source, row->field, row->time, row->count,
               row->sum, row->min, row->max, row->first, row->last, step_words[question->step],
               wish_words[question->wish] ? wish_words[question->wish] : "unsaid");
}

/* Whether the value is one that was written to a point of the step. */
static bool is_value(const struct question *question, const struct row *row, double value)
{
    const struct fleet_world *world = question->node->world;
    for (size_t i = 0; i < TRUTH_TIMES * TRUTH_SOURCES; i++) {
        int64_t time = truth_time(i % TRUTH_TIMES, world->base_ns);
        size_t source = i / TRUTH_TIMES;
        if (vv_time_floor(time, lengths[question->step]) == row->time &&
            first_of(question, source, row->field) == row->source &&
            was_written(&world->truth.points[truth_index(source, row->field, i % TRUTH_TIMES)],
                        value)) {
            return true;
        }
    }
    return false;
}

/* Several sources may have their first value at one time, and which of them is said is open. */
static bool is_at(const struct question *question, const struct row *row, double value,
                  double of_time)
{
    const struct truth *truth = &question->node->world->truth;
    bool has_value = false;
    bool has_other = false;
    for (size_t time = 0; time < TRUTH_TIMES && !(has_value && has_other); time++) {
        has_value = has_other = false;
        for (size_t source = 0; source < TRUTH_SOURCES; source++) {
            bool is_in = first_of(question, source, row->field) == row->source;
            double seen = (double)truth->points[truth_index(source, row->field, time)].seen;
            has_value |= is_in && seen == value;
            has_other |= is_in && seen == of_time;
        }
    }
    return has_value && has_other;
}

static const char *judge(const struct question *question, const struct row *row,
                         const struct expected *expected)
{
    if (row->count < (double)expected->least || row->count > (double)expected->most) {
        return "a wrong count";
    }
    if (!question->all) {
        bool good = is_value(question, row, row->min) && is_value(question, row, row->max) &&
                    is_value(question, row, row->first) && is_value(question, row, row->last);
        return good ? NULL : "a value that was never written";
    }
    if (row->sum != expected->sum || row->min != expected->min || row->max != expected->max) {
        return "wrong aggregates";
    }
    bool good = question->together ? is_at(question, row, row->first, expected->first) &&
                                         is_at(question, row, row->last, expected->last)
                                   : row->first == expected->first && row->last == expected->last;
    if (!good) {
        return "a wrong first or last value";
    }
    return NULL;
}

/* Which steps were answered: by the first of their points. */
struct answered {
    bool steps[TRUTH_SOURCES][TRUTH_FIELDS][TRUTH_TIMES];
};

static void note_answered(const struct question *question, const struct row *row,
                          struct answered *answered)
{
    for (size_t i = 0; i < TRUTH_TIMES; i++) {
        int64_t time = truth_time(i, question->node->world->base_ns);
        if (vv_time_floor(time, lengths[question->step]) == row->time) {
            answered->steps[row->source][row->field][i] = true;
        }
    }
}

static void see_row(const struct question *question, const char *line, struct answered *answered)
{
    struct row row = {0};
    char name[8] = "";
    int n = question->together ? line[0] == ',' : sscanf(line, "host=s%zu", &row.source);
    const char *rest = strchr(line, ',');
    row.source %= TRUTH_SOURCES;
    if (n != 1 || !rest ||
        sscanf(rest, ",%7[a-z0-9].f%zu,%lld,%lf,%lf,%lf,%lf,%lf,%lf", name, &row.field, &row.time,
               &row.count, &row.sum, &row.min, &row.max, &row.first, &row.last) != 9 ||
        row.field >= TRUTH_FIELDS) {
        fleet_fail(question->node->world, "cannot read the answer's line: %s", line);
        return;
    }
    size_t source = name[0] == 'd' && question->together ? (size_t)(name[1] - '0') : row.source;
    row.source = first_of(question, source, row.field);
    struct expected expected = expect(question, row.source, row.field, row.time);
    const char *wrong = judge(question, &row, &expected);
    if (wrong) {
        fail(question, wrong, &row);
    }
    note_answered(question, &row, answered);
}

static void expect_others_empty(const struct question *question, const struct answered *answered)
{
    for (size_t i = 0; i < TRUTH_SOURCES * TRUTH_FIELDS * TRUTH_TIMES; i++) {
        size_t time = i % TRUTH_TIMES;
        struct row row = {.source = i / TRUTH_TIMES / TRUTH_FIELDS,
                          .field = i / TRUTH_TIMES % TRUTH_FIELDS};
        if (answered->steps[row.source][row.field][time] ||
            first_of(question, row.source, row.field) != row.source) {
            continue;
        }
        row.time = vv_time_floor(truth_time(time, question->node->world->base_ns),
                                 lengths[question->step]);
        struct expected expected = expect(question, row.source, row.field, row.time);
        row.count = (double)expected.least;
        if (expected.least > 0) {
            fail(question, "a step is missing", &row);
            return;
        }
    }
}

/* The claim may come behind the rows. */
static void compare(struct question *question, struct vv_buffer *answer)
{
    struct answered answered = {0};
    char *rest = NULL;
    vv_buffer_u8(answer, 0);
    struct vv_buffer copy = {0};
    vv_buffer_append(&copy, answer->data, answer->size);
    vv_invariant(vv_buffer_status(answer) == VV_OK && vv_buffer_status(&copy) == VV_OK);
    for (char *line = strtok_r((char *)copy.data, "\r\n", &rest); line;
         line = strtok_r(NULL, "\r\n", &rest)) {
        fleet_take_claim(line, &question->reader);
        if (strstr(line, "of many sources")) {
            fleet_tell(question->node->world, question->node, "%s", line);
        }
    }
    vv_buffer_deinit(&copy);
    bool header = true;
    for (char *line = strtok_r((char *)answer->data, "\r\n", &rest);
         line && !question->node->world->failure[0]; line = strtok_r(NULL, "\r\n", &rest)) {
        if (line[0] != '#' && !header) {
            see_row(question, line, &answered);
        }
        header = header && line[0] == '#';
    }
    if (!question->node->world->failure[0]) {
        expect_others_empty(question, &answered);
    }
}

/* ---- asking ---- */

static bool can_be_asked(const struct question *question)
{
    struct vv_registry *registry = question->node->engine->registry;
    uint32_t tenant;
    if (vv_registry_tenant(registry, VV_STR_LITERAL(FLEET_TENANT), false, &tenant, NULL) != VV_OK) {
        return false;
    }
    uint32_t places[VV_PLACES_MAX];
    size_t n = vv_registry_places(registry, tenant, places);
    size_t tier = question->wish - 2;
    for (size_t i = 0; i < n && question->wish >= 2; i++) {
        struct vv_tiers tiers = vv_registry_tiers(registry, places[i]);
        if (tiers.spaces[tier] == VV_REGISTRY_NONE || tier > question->step) {
            return false;
        }
    }
    return true;
}

static enum vv_status ask(const struct question *question, struct vv_buffer *answer,
                          struct vv_error *error)
{
    struct fleet_node *node = question->node;
    bool descending = vv_random_below(&node->world->random, 2);
    struct vv_parameter parameters[9] = {
        {VV_STR_LITERAL("tenant"), VV_STR_LITERAL(FLEET_TENANT)},
        {VV_STR_LITERAL("metric"), fleet_metrics(node->world)},
        {VV_STR_LITERAL("time_format"), VV_STR_LITERAL("ns")},
        {VV_STR_LITERAL("agg"), VV_STR_LITERAL("count,sum,min,max,first,last")},
        {VV_STR_LITERAL("to"), VV_STR_LITERAL("2100-01-01T00:00:00Z")},
        {VV_STR_LITERAL("order"), descending ? VV_STR_LITERAL("desc") : VV_STR_LITERAL("asc")},
        {VV_STR_LITERAL("step"), vv_str_of(step_words[question->step])},
    };
    size_t n = 7;
    if (wish_words[question->wish]) {
        parameters[n++] =
            (struct vv_parameter){VV_STR_LITERAL("tier"), vv_str_of(wish_words[question->wish])};
    }
    if (question->together) {
        parameters[n++] = (struct vv_parameter){VV_STR_LITERAL("group_by"), VV_STR_LITERAL("all")};
    }
    return fleet_ask(node, parameters, n, answer, error);
}

static void check(struct question *question)
{
    struct fleet_node *node = question->node;
    struct vv_buffer answer = {0};
    struct vv_error error = {0};
    if (!node->engine || !fleet_is_free(node) || !can_be_asked(question)) {
        return;
    }
    question->reader = fleet_reader_of(node, question->all);
    bool heard = fleet_hears(node);
    fleet_enter(node);
    enum vv_status status = ask(question, &answer, &error);
    bool hears = question->all || (heard && fleet_hears(node));
    if (!hears) {
        fleet_tell(node->world, node, "does not hear the others");
    } else if (status == VV_DONE || status == VV_NOT_FOUND) {
        compare(question, &answer);
    } else if (question->all ||
               (status != VV_OVERLOAD && status != VV_IO && status != VV_TIMEOUT)) {
        fleet_fail(node->world, "node %u: the query of tiers fails: %s: %s", node->number,
                   vv_status_name(status), error.message);
    }
    vv_buffer_deinit(&answer);
    fleet_leave(node);
}

void fleet_check_tiers(struct fleet_node *node, bool all)
{
    struct fleet_world *world = node->world;
    size_t n = all ? QUESTIONS : 2;
    for (size_t i = 0; i < n && world->has_tiers && !world->failure[0]; i++) {
        size_t chosen = vv_random_below(&world->random, STEPS * WISHES);
        struct question question = {
            .node = node, .step = chosen % STEPS, .wish = chosen / STEPS, .all = all};
        question.together = vv_random_below(&world->random, 2) == 0;
        check(&question);
    }
}
