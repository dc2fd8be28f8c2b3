/* SPDX-License-Identifier: Apache-2.0 */
/* Tiers in the simulated world: they come and go, and answer what the points would. */
#include "simulation/world_question.h"
#include "tier/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEPS  4 /* a minute, an hour, a day, the whole range */
#define WISHES (2 + VV_SPACES)

static const char *const step_words[STEPS] = {"1m", "1h", "1d", NULL};
static const char *const wish_words[WISHES] = {NULL, "raw", "minute", "hour", "day"};

/* ---- which there are ---- */

/* Of the tenant or of its class. */
static struct vv_tiers tiers_of(struct world *world, bool of_class)
{
    struct vv_registry *registry = vv_engine_query_context(world->engine)->registry;
    uint32_t place;
    if (vv_registry_tenant(registry, VV_STR_LITERAL("sim"), false, &place, NULL) == VV_OK &&
        of_class) {
        place = vv_registry_class(registry, place, VV_STR_LITERAL("c"));
    }
    return vv_registry_tiers(registry, place);
}

static enum vv_status set_retentions(struct world *world, bool of_class,
                                     const struct vv_retentions *wanted, struct vv_error *error)
{
    struct vv_class_effect effect;
    const struct vv_class_wish wish = {.name = VV_STR_LITERAL("c"),
                                       .has_measurements = true,
                                       .measurements = vv_str_of(world->class_takes),
                                       .retentions = *wanted};
    return of_class
               ? vv_engine_set_class(world->engine, VV_STR_LITERAL("sim"), &wish, &effect, error)
               : vv_engine_set_retentions(world->engine, VV_STR_LITERAL("sim"), wanted, error);
}

void world_make_class(struct world *world)
{
    world->class_takes = "n\n";
    static const struct vv_retentions keep = {
        VV_RETENTION_AS_IS, {VV_RETENTION_AS_IS, VV_RETENTION_AS_IS, VV_RETENTION_AS_IS}};
    struct vv_error error = {0};
    if (set_retentions(world, true, &keep, &error) != VV_OK) {
        world_fail(world, "a good class is refused: %s", error.message);
    }
}

void world_change_class(struct world *world)
{
    static const char *const choices[] = {"", "m\n", "n\n", "m\nn\n"};
    static const struct vv_retentions keep = {
        VV_RETENTION_AS_IS, {VV_RETENTION_AS_IS, VV_RETENTION_AS_IS, VV_RETENTION_AS_IS}};
    struct vv_error error = {0};
    world->class_takes = choices[vv_random_below(&world->random, 4)];
    enum vv_status status = set_retentions(world, true, &keep, &error);
    if (world->story) {
        printf("  \"%s\": %s %s\n", world->class_takes, vv_status_name(status), error.message);
    }
    if (status == VV_INVALID) {
        world_fail(world, "good measurements of a class are refused: %s", error.message);
    }
}

const char *world_measurement(const struct world *world, size_t field)
{
    return world->has_class && field >= MODEL_FIELDS / 2 ? "n" : "m";
}

uint32_t world_measurement_number(const struct world *world, const char *name)
{
    struct vv_registry *registry = vv_engine_query_context(world->engine)->registry;
    uint32_t tenant;
    uint32_t number = VV_REGISTRY_NONE;
    bool there =
        vv_registry_tenant(registry, VV_STR_LITERAL("sim"), false, &tenant, NULL) == VV_OK &&
        vv_registry_measurement(registry, tenant, vv_str_of(name), false, &number, NULL) == VV_OK;
    return there ? number : VV_REGISTRY_NONE;
}

void world_set_tiers(struct world *world)
{
    static const int64_t choices[] = {VV_SPACE_OFF_NS, 0, 0, 0, VV_RETENTION_AS_IS};
    struct vv_retentions wanted = {.raw_ns = VV_RETENTION_AS_IS};
    struct vv_error error = {0};
    bool of_class = world->has_class && vv_random_below(&world->random, 2) == 0;
    struct vv_tiers tiers = tiers_of(world, of_class);
    for (int tier = 0; tier < VV_SPACES; tier++) {
        wanted.tiers_ns[tier] = choices[vv_random_below(&world->random, 5)];
        bool is_on = tiers.spaces[tier] != VV_REGISTRY_NONE;
        world->switched_off |= is_on && wanted.tiers_ns[tier] == VV_SPACE_OFF_NS;
    }
    enum vv_status status = set_retentions(world, of_class, &wanted, &error);
    if (world->story) {
        printf("  %s%lld %lld %lld: %s %s\n", of_class ? "of the class " : "",
               (long long)wanted.tiers_ns[0], (long long)wanted.tiers_ns[1],
               (long long)wanted.tiers_ns[2], vv_status_name(status), error.message);
    }
    if (status == VV_INVALID) {
        world_fail(world, "good tiers are refused: %s", error.message);
    }
}

void world_set_retentions(struct world *world)
{
    for (int of_class = 0; of_class < (world->has_class ? 2 : 1); of_class++) {
        struct vv_retentions wanted = {.raw_ns = world->retention_ns};
        wanted.tiers_ns[VV_SPACE_MINUTE] = vv_random_below(&world->random, 2) ? 0 : 3 * VV_DAY;
        wanted.tiers_ns[VV_SPACE_HOUR] =
            vv_random_below(&world->random, 2) ? 0 : world->retention_ns;
        struct vv_error error = {0};
        for (int tier = 0; tier < VV_SPACES; tier++) {
            world->tiers_ns[tier] |= wanted.tiers_ns[tier];
        }
        if (set_retentions(world, of_class > 0, &wanted, &error) != VV_OK) {
            world_fail(world, "good retentions are refused: %s", error.message);
        }
    }
}

/* ---- a question ---- */

/* How many tiers might answer: those that are on, not longer than the step, nor than the wish. */
static size_t count_fitting(const struct question *question, const struct vv_tiers *tiers)
{
    size_t n = 0;
    for (size_t tier = 0; tier < VV_SPACES; tier++) {
        bool is_wanted = question->wish == 0 || tier + 2 <= question->wish;
        n += tiers->spaces[tier] != VV_REGISTRY_NONE && is_wanted && tier <= question->step;
    }
    return n;
}

/* The tiers of the places in which the measurements that there are lie in the range; one at least.
 */
struct asked {
    struct vv_tiers tiers[2 * VV_STAYS_MAX];
    size_t n;
};

/* A place that counts only later is not asked for its tiers. */
static void add_places(const struct question *question, uint32_t measurement, struct asked *asked)
{
    struct world *world = question->world;
    struct vv_registry *registry = vv_engine_query_context(world->engine)->registry;
    struct vv_stay stays[VV_STAYS_MAX];
    size_t n = vv_registry_stays(registry, measurement, stays);
    int64_t now = world->clock.clock.wall_ns(&world->clock.clock);
    while (n > 1 && stays[n - 1].from > now) {
        n--;
    }
    for (size_t i = 0; i < n; i++) {
        bool is_before = i + 1 < n && question->has_from && stays[i].to <= question->from;
        if (!is_before && stays[i].from < question->to) {
            asked->tiers[asked->n++] = vv_registry_tiers(registry, stays[i].place);
        }
    }
}

static struct asked asked_of(const struct question *question)
{
    static const char *const measurements[] = {"m", "n"};
    struct world *world = question->world;
    struct asked asked = {.n = 0};
    const char *one =
        question->field < MODEL_FIELDS ? world_measurement(world, question->field) : NULL;
    for (size_t i = 0; i < 2; i++) {
        bool is_asked = !one || strcmp(one, measurements[i]) == 0;
        if (is_asked) {
            add_places(question, world_measurement_number(world, measurements[i]), &asked);
        }
    }
    if (asked.n == 0) { /* nothing was written: the tenant's */
        asked.tiers[asked.n++] = tiers_of(world, false);
    }
    return asked;
}

static bool can_be_asked(const struct question *question, const struct asked *asked)
{
    size_t tier = question->wish - 2;
    bool can = question->wish < 2 || tier <= question->step;
    for (size_t i = 0; i < asked->n && question->wish >= 2; i++) {
        can = can && asked->tiers[i].spaces[tier] != VV_REGISTRY_NONE;
    }
    return can;
}

static enum vv_status ask(struct question *question, struct vv_buffer *answer,
                          struct vv_error *error)
{
    char from[24];
    char to[24];
    snprintf(from, sizeof from, "%lld", (long long)question->from);
    snprintf(to, sizeof to, "%lld", (long long)question->to);
    char metric[16] = "m.*,n.*";
    if (question->field < MODEL_FIELDS) {
        snprintf(metric, sizeof metric, "%s.f%zu",
                 world_measurement(question->world, question->field), question->field);
    }
    struct vv_parameter parameters[10] = {
        {VV_STR_LITERAL("tenant"), VV_STR_LITERAL("sim")},
        {VV_STR_LITERAL("metric"), vv_str_of(metric)},
        {VV_STR_LITERAL("time_format"), VV_STR_LITERAL("ns")},
        {VV_STR_LITERAL("agg"),
         vv_str_of(question->percentiles ? "count,sum,min,max,first,last,mean,p50,p99"
                                         : "count,sum,min,max,first,last,mean")},
        {VV_STR_LITERAL("order"), vv_str_of(question->descending ? "desc" : "asc")},
        {VV_STR_LITERAL("to"), vv_str_of(to)},
    };
    size_t n = 6;
    if (question->has_from) {
        parameters[n++] = (struct vv_parameter){VV_STR_LITERAL("from"), vv_str_of(from)};
    }
    if (question->grouped) {
        parameters[n++] = (struct vv_parameter){VV_STR_LITERAL("group_by"), VV_STR_LITERAL("all")};
    }
    if (step_words[question->step]) {
        parameters[n++] =
            (struct vv_parameter){VV_STR_LITERAL("step"), vv_str_of(step_words[question->step])};
    }
    if (wish_words[question->wish]) {
        parameters[n++] =
            (struct vv_parameter){VV_STR_LITERAL("tier"), vv_str_of(wish_words[question->wish])};
    }
    return world_ask(question->world, parameters, n, answer, &question->facts, error);
}

static void fail(struct question *question, const char *what, const char *line)
{
    world_fail(question->world, "%s: %s (%s%sstep %s, tier %s, %s, from %lld to %lld%s)", what,
               line, question->grouped ? "all sources, " : "",
               question->field < MODEL_FIELDS ? "one field, " : "",
               step_words[question->step] ? step_words[question->step] : "none",
               wish_words[question->wish] ? wish_words[question->wish] : "unsaid",
               question->descending ? "descending" : "ascending",
               (long long)(question->has_from ? question->from : 0), (long long)question->to,
               question->world->bare ? ", without markers" : "");
}

/* ---- comparing ---- */

static int compare_values(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Percentiles are between their neighbours in proportion; of sketches, near one of them. */
static bool is_percentile(const struct expected *expected, double percent, double error,
                          double value)
{
    double rank = percent / 100 * (double)(expected->n - 1);
    double low = expected->values[(size_t)floor(rank)];
    double high = expected->values[(size_t)ceil(rank)];
    if (error > 0) {
        return value >= low * (1 - error) * (1 - 1e-9) && value <= high * (1 + error) * (1 + 1e-9);
    }
    double exact = low + (high - low) * (rank - floor(rank));
    return fabs(value - exact) <= 1e-9 * exact;
}

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
    double mean;
    double p50;
    double p99;
};

/* Of all sources together the source is not named, and 0 here. */
static bool read_row(const struct question *question, const char *line, struct row *row_out)
{
    int lacking = question->percentiles ? 0 : 2;
    char site[16];
    char measurement[2];
    if (question->grouped) {
        row_out->source = 0;
        return sscanf(line, ",%1[mn].f%zu,%lld,%lf,%lf,%lf,%lf,%lf,%lf,%lf,%lf,%lf", measurement,
                      &row_out->field, &row_out->time, &row_out->count, &row_out->sum,
                      &row_out->min, &row_out->max, &row_out->first, &row_out->last, &row_out->mean,
                      &row_out->p50, &row_out->p99) == 12 - lacking &&
               row_out->field < MODEL_FIELDS;
    }
    return sscanf(line,
                  "\"host=s%zu,site=%1[a]\",%1[mn].f%zu,%lld,%lf,%lf,%lf,%lf,%lf,%lf,%lf,%lf,%lf",
                  &row_out->source, site, measurement, &row_out->field, &row_out->time,
                  &row_out->count, &row_out->sum, &row_out->min, &row_out->max, &row_out->first,
                  &row_out->last, &row_out->mean, &row_out->p50, &row_out->p99) == 14 - lacking &&
           row_out->source < MODEL_SOURCES && row_out->field < MODEL_FIELDS;
}

/* What is wrong; NULL: nothing. */
static const char *compare(const struct question *question, const struct row *row,
                           struct expected *expected)
{
    double error = question->facts.percentile_error;
    double mean = expected->sum / (double)expected->n;
    qsort(expected->values, expected->n, sizeof expected->values[0], compare_values);
    if (row->count != (double)expected->n) {
        return "the count is wrong";
    }
    if (row->sum != expected->sum || fabs(row->mean - mean) > 1e-9 * mean) {
        return "the sum or the mean is wrong";
    }
    if (row->min != expected->values[0] || row->max != expected->values[expected->n - 1]) {
        return "the least or the greatest is wrong";
    }
    if (row->first != expected->first || row->last != expected->last) {
        return "the first or the last is wrong";
    }
    if (question->percentiles && (!is_percentile(expected, 50, error, row->p50) ||
                                  !is_percentile(expected, 99, error, row->p99))) {
        return "a percentile is wrong";
    }
    return NULL;
}

/* ---- the comparison ---- */

/* Rows of the answer, by series, the earliest first. */
static int compare_rows(const void *a, const void *b)
{
    const struct row *x = a;
    const struct row *y = b;
    if (x->source != y->source) {
        return x->source < y->source ? -1 : 1;
    }
    if (x->field != y->field) {
        return x->field < y->field ? -1 : 1;
    }
    return x->time < y->time ? -1 : x->time > y->time;
}

/* The rows of the answer in *rows_out, which is freed by the caller; in the asked order each
 * series' times only go one way. */
static size_t read_rows(struct question *question, struct vv_buffer *answer, struct row **rows_out)
{
    size_t lines = 0;
    size_t n = 0;
    vv_buffer_u8(answer, 0);
    vv_invariant(vv_buffer_status(answer) == VV_OK);
    for (size_t i = 0; i < answer->size; i++) {
        lines += answer->data[i] == '\n';
    }
    struct row *rows = calloc(lines + 1, sizeof *rows);
    vv_invariant(rows != NULL);
    char *rest = NULL;
    char *line = strtok_r((char *)answer->data, "\r\n", &rest);
    for (line = line ? strtok_r(NULL, "\r\n", &rest) : NULL; line;
         line = strtok_r(NULL, "\r\n", &rest)) {
        if (line[0] == '#') { /* tells what the answer is made of */
            continue;
        }
        if (!read_row(question, line, &rows[n])) {
            fail(question, "cannot read the answer's line", line);
            break;
        }
        const struct row *last = n > 0 ? &rows[n - 1] : NULL;
        if (last && last->source == rows[n].source && last->field == rows[n].field &&
            (last->time < rows[n].time) == question->descending) {
            fail(question, "a row is out of order", line);
        }
        n++;
    }
    *rows_out = rows;
    return n;
}

static const char *describe(const struct row *row, char text[200])
{
    snprintf(text, 200,
             "s%zu f%zu at %lld: count %g sum %g min %g max %g first %g last %g mean %g "
             "p50 %g p99 %g",
             row->source, row->field, row->time, row->count, row->sum, row->min, row->max,
             row->first, row->last, row->mean, row->p50, row->p99);
    return text;
}

static void compare_series(struct question *question, size_t source, size_t field,
                           const struct row *rows, size_t n, size_t *used)
{
    struct expected expected;
    char text[200];
    size_t at = 0;
    while (world_next_step(question, source, field, &at, &expected)) {
        const struct row *row = *used < n ? &rows[*used] : NULL;
        if (expected.is_vague) {
            *used += row && row->source == source && row->field == field &&
                     (world_step_length(question) == 0 || row->time == expected.label);
            continue;
        }
        struct row missing = {.source = source, .field = field, .time = expected.label};
        missing.count = (double)expected.n;
        missing.sum = expected.sum;
        if (!row || row->source != source || row->field != field ||
            (world_step_length(question) && row->time > expected.label)) {
            fail(question, "a step is missing", describe(&missing, text));
            return;
        }
        if (world_step_length(question) && row->time < expected.label) {
            fail(question, "a step has nothing to be made of", describe(row, text));
            return;
        }
        const char *wrong = compare(question, row, &expected);
        if (wrong) {
            if (question->world->story) {
                printf("expected %zu values:", expected.n);
                for (size_t i = 0; i < expected.n; i++) {
                    printf(" %g", expected.values[i]);
                }
                printf("\n");
                for (size_t i = 0; i <= VV_SPACES; i++) {
                    const struct vv_tier_fact *fact = &question->facts.tiers[i];
                    printf("  of tier %zu: %llu parts, %llu steps, from %lld to %lld\n", i,
                           (unsigned long long)fact->parts, (unsigned long long)fact->steps,
                           (long long)fact->from, (long long)fact->to);
                }
            }
            fail(question, wrong, describe(row, text));
            return;
        }
        ++*used;
    }
}

static void compare_all(struct question *question, const struct row *rows, size_t n)
{
    char text[200];
    size_t used = 0;
    for (size_t source = 0; source < (question->grouped ? 1 : MODEL_SOURCES); source++) {
        for (size_t field = 0; field < MODEL_FIELDS; field++) {
            if (question->field == MODEL_FIELDS || question->field == field) {
                compare_series(question, source, field, rows, n, &used);
            }
        }
    }
    if (used < n) {
        fail(question, "a step has nothing to be made of", describe(&rows[used], text));
    }
}

/* They name the tiers that might answer, and none that was not to be asked. */
static void check_facts(struct question *question, const struct asked *asked)
{
    const struct vv_result_facts *facts = &question->facts;
    size_t most = 0;
    for (size_t i = 0; i < asked->n; i++) {
        size_t n = count_fitting(question, &asked->tiers[i]);
        most = n > most ? n : most;
    }
    bool may_have_expired = question->world->hides && asked->n > 1; /* then one counts no more */
    if (facts->n_tiers > most || (facts->n_tiers < most && !may_have_expired)) {
        fail(question, "the facts name another number of tiers", "");
    }
    for (size_t tier = 0; tier < VV_SPACES; tier++) {
        const struct vv_tier_fact *fact = &facts->tiers[tier];
        bool is_on = false;
        for (size_t i = 0; i < asked->n; i++) {
            is_on |= asked->tiers[i].spaces[tier] != VV_REGISTRY_NONE;
        }
        bool may = facts->n_tiers > 0 && tier <= facts->coarsest_tier && is_on;
        if (fact->parts > 0 && !may) {
            fail(question, "the facts name a tier that was not to be asked", wish_words[tier + 2]);
        }
        question->world->tier_parts[tier] += fact->parts;
        question->world->tier_steps[tier] += fact->steps;
        question->world->cohort_parts += fact->cohorts;
    }
}

static void check(struct question *question)
{
    struct asked asked = asked_of(question);
    struct vv_error error = {0};
    struct vv_buffer answer = {0};
    if (!can_be_asked(question, &asked)) {
        return;
    }
    enum vv_status status = ask(question, &answer, &error);
    if (status == VV_DONE) {
        struct row *rows;
        size_t n = read_rows(question, &answer, &rows);
        qsort(rows, n, sizeof *rows, compare_rows);
        compare_all(question, rows, n);
        check_facts(question, &asked);
        free(rows);
    } else if (status != VV_NOT_FOUND) {
        fail(question, "the query fails", error.message);
    }
    vv_buffer_deinit(&answer);
}

/* All of the time, or from one of the points to another, and some seconds around them. */
static void choose_range(struct question *question)
{
    struct world *world = question->world;
    if (world->hides) {
        question->has_from = !world->is_settled;
        question->from = vv_time_floor(world->model.frozen, VV_DAY) + VV_DAY;
        question->to = world->base_ns + 36500 * VV_DAY;
        return;
    }
    question->to = world->base_ns + 36500 * VV_DAY;
    question->has_from = vv_random_below(&world->random, 2) == 0;
    if (question->has_from) {
        int64_t a = world->model.times[vv_random_below(&world->random, MODEL_TIMES)];
        int64_t b = world->model.times[vv_random_below(&world->random, MODEL_TIMES)];
        int64_t around = (int64_t)vv_random_below(&world->random, 10) * VV_SECOND;
        question->from = (a < b ? a : b) - around;
        question->to = (a < b ? b : a) + 1 + around;
    }
}

void world_check_tiers(struct world *world, bool all)
{
    size_t n = all ? STEPS * WISHES : 3;
    for (size_t i = 0; i < n && !world->failure[0]; i++) {
        size_t chosen = all ? i : vv_random_below(&world->random, STEPS * WISHES);
        struct question question = {.world = world, .step = chosen % STEPS, .wish = chosen / STEPS};
        if (question.step >= VV_SPACES && question.wish >= 2) {
            question.step = question.wish - 2; /* what a tier's answer would have anyway */
        }
        question.descending = vv_random_below(&world->random, 2) == 0;
        question.grouped = vv_random_below(&world->random, 3) == 0;
        question.percentiles = vv_random_below(&world->random, 2) == 0;
        question.field = vv_random_below(&world->random, 2 * MODEL_FIELDS);
        question.field = question.field < MODEL_FIELDS ? question.field : MODEL_FIELDS;
        if (world->hides && world->is_settled) { /* only these have all that was frozen */
            size_t tier = i % VV_SPACES;
            question.step = world->tiers_ns[tier] == 0 ? tier : VV_SPACE_DAY;
            question.wish = 2 + question.step;
        }
        choose_range(&question);
        world_order_sources(&question);
        check(&question);
    }
}
