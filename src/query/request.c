/* SPDX-License-Identifier: Apache-2.0 */
/* The parameters of a request: one table of names, and what must hold between them. */
#include "query/request.h"

#include "query/words.h"

#include <stdlib.h>

#define PARAMETERS_MAX 65536u

#define ON_QUERY   (1u << VV_REQUEST_QUERY)
#define ON_LATEST  (1u << VV_REQUEST_LATEST)
#define ON_SOURCES (1u << VV_REQUEST_SOURCES)
#define ON_METRICS (1u << VV_REQUEST_METRICS)
#define ON_TAGS    (1u << VV_REQUEST_TAGS)
#define ON_EXPORT  (1u << VV_REQUEST_EXPORT)
#define ON_DELETE  (1u << VV_REQUEST_DELETE)
#define ON_REROLL  (1u << VV_REQUEST_REROLL)
#define ON_LISTS   (ON_SOURCES | ON_METRICS | ON_TAGS)
#define ON_ALL     (ON_QUERY | ON_LATEST | ON_LISTS | ON_EXPORT)

/* What parsing needs beside the request: texts whose meaning depends on other parameters. */
struct parse {
    struct vv_request *request;
    int64_t epoch_ns;
    struct vv_str from, to, before; /* data NULL: not given */
    bool has_order, by_source, has_groups, has_fill;
};

typedef enum vv_status (*parse_value)(struct parse *parse, struct vv_str value,
                                      struct vv_error *error);

/* ---- single values ---- */

static enum vv_status parse_word(const char *what, struct vv_str value, const char *const *words,
                                 size_t n, size_t *index_out, struct vv_error *error)
{
    *index_out = vv_words_find(words, n, value);
    return *index_out < n ? VV_OK : vv_words_unknown(error, what, value, words, n);
}

static enum vv_status keep_text(struct parse *parse, struct vv_str value, struct vv_str *text_out,
                                struct vv_error *error)
{
    *text_out = vv_arena_str(&parse->request->arena, value);
    return text_out->data ? VV_OK
                          : vv_error_set(error, VV_NO_MEMORY, "out of memory for the request");
}

static enum vv_status parse_tenant(struct parse *parse, struct vv_str value, struct vv_error *error)
{
    if (parse->request->tenant.data && !vv_str_equal(parse->request->tenant, value)) {
        return vv_error_set(error, VV_INVALID,
                            "tenant and db are the same parameter and differ: give one of them");
    }
    return keep_text(parse, value, &parse->request->tenant, error);
}

static enum vv_status parse_source(struct parse *parse, struct vv_str value, struct vv_error *error)
{
    return vv_request_source(parse->request, value, error);
}

static enum vv_status parse_tag(struct parse *parse, struct vv_str value, struct vv_error *error)
{
    return vv_request_tag(parse->request, value, error);
}

static enum vv_status parse_metric(struct parse *parse, struct vv_str value, struct vv_error *error)
{
    return vv_request_metric(parse->request, value, error);
}

static enum vv_status parse_measurement(struct parse *parse, struct vv_str value,
                                        struct vv_error *error)
{
    return vv_request_measurement(parse->request, value, error);
}

static enum vv_status parse_from(struct parse *parse, struct vv_str value, struct vv_error *error)
{
    (void)error;
    parse->from = value;
    return VV_OK;
}

static enum vv_status parse_to(struct parse *parse, struct vv_str value, struct vv_error *error)
{
    (void)error;
    parse->to = value;
    return VV_OK;
}

static enum vv_status parse_before(struct parse *parse, struct vv_str value, struct vv_error *error)
{
    (void)error;
    parse->before = value;
    return VV_OK;
}

static enum vv_status parse_epoch(struct parse *parse, struct vv_str value, struct vv_error *error)
{
    return vv_request_epoch(value, &parse->epoch_ns, error);
}

static enum vv_status parse_order(struct parse *parse, struct vv_str value, struct vv_error *error)
{
    static const char *const words[] = {"asc", "desc"};
    size_t index;
    enum vv_status status = parse_word("order", value, words, 2, &index, error);
    parse->request->descending = index == 1;
    parse->has_order = true;
    return status;
}

/* Of at most 15 digits; 0 for what is no number. */
static uint64_t take_number(struct vv_str value)
{
    uint64_t number = 0;
    bool valid = value.size <= 15;
    for (size_t i = 0; i < value.size && valid; i++) {
        valid = value.data[i] >= '0' && value.data[i] <= '9';
        number = number * 10 + (uint64_t)(value.data[i] - '0');
    }
    return valid ? number : 0;
}

static enum vv_status parse_limit(struct parse *parse, struct vv_str value, struct vv_error *error)
{
    char shown[VV_SHOWN_SIZE];
    parse->request->limit = take_number(value);
    return parse->request->limit > 0
               ? VV_OK
               : vv_error_set(error, VV_INVALID,
                              "limit '%s' is not a number of rows: an integer from 1 to 10^15 - 1",
                              vv_shown(value, shown));
}

static enum vv_status parse_points(struct parse *parse, struct vv_str value, struct vv_error *error)
{
    uint64_t points = take_number(value);
    if (points < 1 || points > VV_POINTS_MAX) {
        char shown[VV_SHOWN_SIZE];
        return vv_error_set(error, VV_INVALID,
                            "points '%s' is not a number of rows for a screen: an integer from 1 "
                            "to %u",
                            vv_shown(value, shown), VV_POINTS_MAX);
    }
    parse->request->points = (uint32_t)points;
    return VV_OK;
}

static enum vv_status parse_tier(struct parse *parse, struct vv_str value, struct vv_error *error)
{
    const char *words[2 + VV_SPACES] = {"auto", "raw"};
    for (int tier = 0; tier < VV_SPACES; tier++) {
        words[2 + tier] = vv_space_word((enum vv_space)tier).data;
    }
    size_t index;
    enum vv_status status = parse_word("tier", value, words, 2 + VV_SPACES, &index, error);
    parse->request->tier = (enum vv_tier_wish)(VV_TIER_AUTO + (int)index);
    return status;
}

static enum vv_status parse_where(struct parse *parse, struct vv_str value, struct vv_error *error)
{
    return vv_where_parse(&parse->request->where, value, error);
}

static enum vv_status parse_step(struct parse *parse, struct vv_str value, struct vv_error *error)
{
    return vv_request_step(value, &parse->request->step_ns, error);
}

static enum vv_status parse_zone(struct parse *parse, struct vv_str value, struct vv_error *error)
{
    return vv_zone_find(value, &parse->request->zone, error);
}

static enum vv_status parse_aggregates(struct parse *parse, struct vv_str value,
                                       struct vv_error *error)
{
    return vv_request_aggregates(parse->request, value, error);
}

static enum vv_status parse_groups(struct parse *parse, struct vv_str value, struct vv_error *error)
{
    parse->has_groups = true;
    return vv_request_groups(parse->request, value, &parse->by_source, error);
}

static enum vv_status parse_fill(struct parse *parse, struct vv_str value, struct vv_error *error)
{
    static const char *const words[] = {"none", "null", "zero", "previous", "linear"};
    size_t index;
    enum vv_status status = parse_word("fill", value, words, 5, &index, error);
    parse->request->fill = (enum vv_fill)index;
    parse->has_fill = status == VV_OK && index > 0;
    return status;
}

static enum vv_status parse_partial(struct parse *parse, struct vv_str value,
                                    struct vv_error *error)
{
    static const char *const words[] = {"refused", "allowed"};
    size_t index;
    enum vv_status status = parse_word("partial", value, words, 2, &index, error);
    parse->request->partial = status == VV_OK && index == 1;
    return status;
}

static enum vv_status parse_export_format(struct parse *parse, struct vv_str value,
                                          struct vv_error *error)
{
    static const char *const words[] = {"line", "jsonl", "csv"};
    static const enum vv_format formats[] = {VV_FORMAT_LINE, VV_FORMAT_JSON_LINES, VV_FORMAT_CSV};
    size_t index;
    enum vv_status status = parse_word("format", value, words, 3, &index, error);
    if (status == VV_OK) {
        parse->request->format = formats[index];
        parse->request->has_format = true;
    }
    return status;
}

static enum vv_status parse_format(struct parse *parse, struct vv_str value, struct vv_error *error)
{
    static const char *const words[] = {"json", "csv"};
    size_t index;
    enum vv_status status = parse_word("format", value, words, 2, &index, error);
    parse->request->format = index == 1 ? VV_FORMAT_CSV : VV_FORMAT_JSON;
    parse->request->has_format = true;
    return status;
}

static enum vv_status parse_time_format(struct parse *parse, struct vv_str value,
                                        struct vv_error *error)
{
    static const char *const words[] = {"rfc3339", "ns", "us", "ms", "s"};
    size_t index;
    enum vv_status status = parse_word("time_format", value, words, 5, &index, error);
    parse->request->time_format = (enum vv_time_format)index;
    return status;
}

static enum vv_status parse_after(struct parse *parse, struct vv_str value, struct vv_error *error)
{
    return keep_text(parse, value, &parse->request->after, error);
}

static enum vv_status parse_history(struct parse *parse, struct vv_str value,
                                    struct vv_error *error)
{
    static const char *const words[] = {"true", "false"};
    size_t index;
    enum vv_status status = parse_word("history", value, words, 2, &index, error);
    parse->request->history = index == 0;
    return status;
}

static enum vv_status parse_key(struct parse *parse, struct vv_str value, struct vv_error *error)
{
    return keep_text(parse, value, &parse->request->key, error);
}

static enum vv_status parse_truth(const char *what, struct vv_str value, bool *out,
                                  struct vv_error *error)
{
    static const char *const words[] = {"true", "false"};
    size_t index;
    enum vv_status status = parse_word(what, value, words, 2, &index, error);
    *out = index == 0;
    return status;
}

static enum vv_status parse_all_sources(struct parse *parse, struct vv_str value,
                                        struct vv_error *error)
{
    return parse_truth("all", value, &parse->request->all, error);
}

static enum vv_status parse_dry_run(struct parse *parse, struct vv_str value,
                                    struct vv_error *error)
{
    return parse_truth("dry_run", value, &parse->request->dry_run, error);
}

static enum vv_status parse_all_time(struct parse *parse, struct vv_str value,
                                     struct vv_error *error)
{
    static const char *const words[] = {"all"};
    size_t index;
    enum vv_status status = parse_word("time", value, words, 1, &index, error);
    parse->request->all_time = index == 0;
    return status;
}

/* ---- the table ---- */

static const struct parameter {
    const char *name;
    unsigned kinds;
    bool repeats;
    bool may_be_empty;
    parse_value parse;
} parameters[] = {
    {"tenant", ON_ALL | ON_DELETE | ON_REROLL, false, false, parse_tenant},
    {"db", ON_ALL | ON_DELETE | ON_REROLL, false, false, parse_tenant},
    {"source", ON_QUERY | ON_LATEST | ON_SOURCES | ON_EXPORT | ON_DELETE | ON_REROLL, true, false,
     parse_source},
    {"tag", ON_QUERY | ON_LATEST | ON_SOURCES | ON_EXPORT | ON_DELETE | ON_REROLL, true, false,
     parse_tag},
    {"measurement", ON_EXPORT | ON_DELETE | ON_REROLL, true, false, parse_measurement},
    {"metric", ON_QUERY | ON_LATEST | ON_METRICS | ON_EXPORT | ON_DELETE, true, false,
     parse_metric},
    {"from", ON_QUERY | ON_LATEST | ON_EXPORT | ON_DELETE | ON_REROLL, false, false, parse_from},
    {"to", ON_QUERY | ON_EXPORT | ON_DELETE | ON_REROLL, false, false, parse_to},
    {"before", ON_QUERY, false, false, parse_before},
    {"epoch", ON_QUERY | ON_LATEST | ON_EXPORT | ON_DELETE | ON_REROLL, false, false, parse_epoch},
    {"order", ON_QUERY, false, false, parse_order},
    {"limit", ON_QUERY | ON_LISTS, false, false, parse_limit},
    {"where", ON_QUERY, true, false, parse_where},
    {"step", ON_QUERY, false, false, parse_step},
    {"points", ON_QUERY, false, false, parse_points},
    {"tier", ON_QUERY | ON_REROLL, false, false, parse_tier},
    {"tz", ON_QUERY, false, false, parse_zone},
    {"agg", ON_QUERY, true, false, parse_aggregates},
    {"group_by", ON_QUERY, false, true, parse_groups},
    {"fill", ON_QUERY, false, false, parse_fill},
    {"partial", ON_QUERY | ON_LATEST, false, false, parse_partial},
    {"after", ON_SOURCES, false, false, parse_after},
    {"history", ON_SOURCES, false, false, parse_history},
    {"key", ON_TAGS, false, false, parse_key},
    {"all", ON_DELETE, false, false, parse_all_sources},
    {"time", ON_DELETE, false, false, parse_all_time},
    {"dry_run", ON_DELETE | ON_REROLL, false, false, parse_dry_run},
    {"format", ON_ALL & ~ON_EXPORT, false, false, parse_format},
    {"format", ON_EXPORT, false, false, parse_export_format},
    {"time_format", ON_QUERY | ON_LATEST | ON_SOURCES, false, false, parse_time_format},
};
#define PARAMETER_COUNT (sizeof parameters / sizeof parameters[0])

static enum vv_status unknown_parameter(enum vv_request_kind kind, struct vv_str name,
                                        struct vv_error *error)
{
    const char *allowed[PARAMETER_COUNT];
    size_t n = 0;
    for (size_t i = 0; i < PARAMETER_COUNT; i++) {
        if (parameters[i].kinds >> kind & 1) {
            allowed[n++] = parameters[i].name;
        }
    }
    return vv_words_unknown(error, "parameter", name, allowed, n);
}

static enum vv_status parse_parameter(struct parse *parse, const struct vv_parameter *given,
                                      bool seen[PARAMETER_COUNT], struct vv_error *error)
{
    size_t index = 0;
    while (index < PARAMETER_COUNT &&
           !(vv_str_equal(given->name, vv_str_of(parameters[index].name)) &&
             (parameters[index].kinds >> parse->request->kind & 1))) {
        index++;
    }
    if (index == PARAMETER_COUNT) {
        return unknown_parameter(parse->request->kind, given->name, error);
    }
    const struct parameter *parameter = &parameters[index];
    if (seen[index] && !parameter->repeats) {
        return vv_error_set(error, VV_INVALID, "%s is given twice: give it once", parameter->name);
    }
    seen[index] = true;
    if (given->value.size == 0 && !parameter->may_be_empty) {
        return vv_error_set(error, VV_INVALID, "%s is empty: give it a value or leave it out",
                            parameter->name);
    }
    if (!vv_words_are_text(given->value)) { /* it may come back in the answer */
        return vv_error_set(error, VV_INVALID,
                            "%s has a control character or is not UTF-8: no name has that",
                            parameter->name);
    }
    return parameter->parse(parse, given->value, error);
}

/* ---- what must hold between parameters ---- */

static enum vv_status finish_times(struct parse *parse, struct vv_error *error)
{
    struct vv_request *request = parse->request;
    enum vv_status status = VV_OK;
    if (parse->before.data) {
        if (parse->to.data || (parse->has_order && !request->descending)) {
            return vv_error_set(error, VV_INVALID,
                                "before=T means to=T and order=desc: leave to and order out");
        }
        parse->to = parse->before;
        request->descending = true;
    }
    const char *to_name = parse->before.data ? "before" : "to";
    request->from = VV_TIME_MIN;
    request->to = VV_TIME_MAX + 1;
    request->has_from = parse->from.data != NULL;
    request->has_to = parse->to.data != NULL;
    if (request->has_from) {
        status =
            vv_request_time(parse->from, request->now_ns, parse->epoch_ns, &request->from, error);
        if (status != VV_OK) {
            return vv_error_prefix(error, status, "from");
        }
    }
    if (request->has_to) {
        status = vv_request_time(parse->to, request->now_ns, parse->epoch_ns, &request->to, error);
        if (status != VV_OK) {
            return vv_error_prefix(error, status, "%s", to_name);
        }
    }
    if (request->has_from && request->has_to && request->from >= request->to) {
        return vv_error_set(error, VV_INVALID,
                            "from must be earlier than %s: the range is from <= time < %s", to_name,
                            to_name);
    }
    return VV_OK;
}

/* Nothing is deleted because a word was forgotten. */
static enum vv_status finish_deletion(const struct vv_request *request, struct vv_error *error)
{
    bool selects = request->ids.n + request->id_patterns.n + request->n_matchers +
                       request->metrics.n + request->measurements.n >
                   0;
    if (!selects && !request->all) {
        return vv_error_set(error, VV_INVALID,
                            "say what to delete: source, tag, metric or measurement; all=true for "
                            "everything of the tenant");
    }
    if (selects && request->all) {
        return vv_error_set(error, VV_INVALID,
                            "all=true means everything of the tenant: leave it out, or source, "
                            "tag, metric and measurement");
    }
    bool bounded = request->has_from && request->has_to;
    if (!bounded && !request->all_time) {
        return vv_error_set(error, VV_INVALID,
                            "give from and to: the range is from <= time < to; time=all for all "
                            "of time");
    }
    if (request->all_time && (request->has_from || request->has_to)) {
        return vv_error_set(error, VV_INVALID, "time=all has no from and no to");
    }
    return VV_OK;
}

static enum vv_status finish_reroll(const struct vv_request *request, struct vv_error *error)
{
    if (request->tier == VV_TIER_RAW) {
        return vv_error_set(error, VV_INVALID,
                            "raw points are built of nothing: tier is minute, hour, day, or auto "
                            "for all");
    }
    return VV_OK;
}

static enum vv_status check_points(const struct parse *parse, struct vv_error *error)
{
    const struct vv_request *request = parse->request;
    if (request->points > 0 && request->step_ns != 0) {
        return vv_error_set(error, VV_INVALID, "points chooses the step: leave step or points out");
    }
    if (request->points > 0 && request->n_aggregates == 0) {
        return vv_error_set(error, VV_INVALID,
                            "points needs agg: say what to compute, e.g. agg=mean; for the first "
                            "points as they are there is limit");
    }
    if (request->points > 0 && !parse->from.data) {
        return vv_error_set(error, VV_INVALID,
                            "points needs from: the step is chosen by the range");
    }
    return VV_OK;
}

/* Whether the answer has steps, of whatever length. */
static bool has_steps(const struct vv_request *request)
{
    return request->step_ns != 0 || request->points > 0 || request->tier == VV_TIER_AUTO ||
           request->tier >= VV_TIER_MINUTE;
}

static enum vv_status finish(struct parse *parse, struct vv_error *error)
{
    struct vv_request *request = parse->request;
    bool by_source = parse->by_source || !parse->has_groups;
    enum vv_status status = check_points(parse, error);
    if (status != VV_OK) {
        return status;
    }
    request->grouped = !by_source;
    if (request->n_aggregates == 0 && request->step_ns != 0) {
        return vv_error_set(error, VV_INVALID,
                            "step needs agg: say what to compute, e.g. agg=mean or agg=min,max");
    }
    if (request->n_aggregates == 0 && request->grouped) {
        return vv_error_set(error, VV_INVALID,
                            "group_by needs agg: say what to compute, e.g. agg=mean; or group by "
                            "source too, as in group_by=source,site, for points with their tags");
    }
    if (parse->has_fill && !has_steps(request)) {
        return vv_error_set(error, VV_INVALID,
                            "fill needs step: without steps nothing can be empty");
    }
    if (!request->tenant.data) {
        request->tenant = VV_STR_LITERAL("default");
    }
    status = finish_times(parse, error);
    if (status == VV_OK && request->kind == VV_REQUEST_REROLL) {
        status = finish_reroll(request, error);
    }
    return status == VV_OK && request->kind == VV_REQUEST_DELETE ? finish_deletion(request, error)
                                                                 : status;
}

static enum vv_status parse_all(struct parse *parse, const struct vv_parameter *given, size_t n,
                                struct vv_error *error)
{
    bool seen[PARAMETER_COUNT] = {false};
    if (n > PARAMETERS_MAX) {
        return vv_error_set(error, VV_INVALID, "too many parameters: at most %u", PARAMETERS_MAX);
    }
    for (size_t i = 0; i < n; i++) {
        enum vv_status status = parse_parameter(parse, &given[i], seen, error);
        if (status != VV_OK) {
            return status;
        }
    }
    return finish(parse, error);
}

enum vv_status vv_request_parse(enum vv_request_kind kind, const struct vv_parameter *given,
                                size_t n, int64_t now_ns, struct vv_request **request_out,
                                struct vv_error *error)
{
    *request_out = NULL;
    struct vv_request *request = calloc(1, sizeof *request);
    if (!request) {
        return vv_error_set(error, VV_NO_MEMORY, "out of memory for the request");
    }
    request->kind = kind;
    request->now_ns = now_ns;
    vv_where_init(&request->where);
    struct parse parse = {.request = request, .epoch_ns = 1};
    enum vv_status status = parse_all(&parse, given, n, error);
    if (status != VV_OK) {
        vv_request_destroy(request);
        return status;
    }
    *request_out = request;
    return VV_OK;
}

void vv_request_destroy(struct vv_request *request)
{
    if (request) {
        vv_arena_deinit(&request->arena);
        free(request);
    }
}

struct vv_str vv_request_tenant(const struct vv_request *request)
{
    return request->tenant;
}

enum vv_format vv_request_format(const struct vv_request *request, enum vv_format fallback)
{
    if (request->kind == VV_REQUEST_EXPORT && fallback == VV_FORMAT_JSON) {
        fallback = VV_FORMAT_LINE;
    }
    return request->has_format ? request->format : fallback;
}
