/* SPDX-License-Identifier: Apache-2.0 */
/* Aggregates and groups of a request. */
#include "query/request.h"
#include "query/words.h"

#include <stdlib.h>

#define PERCENTILE_SIZE_MAX 16u

static const struct {
    const char *name;
    enum vv_aggregate_kind kind;
    unsigned needs;
} aggregates[] = {
    {"count", VV_AGGREGATE_COUNT, 0},
    {"sum", VV_AGGREGATE_SUM, VV_NEED_SUM},
    {"min", VV_AGGREGATE_MIN, VV_NEED_BOUNDS},
    {"max", VV_AGGREGATE_MAX, VV_NEED_BOUNDS},
    {"mean", VV_AGGREGATE_MEAN, VV_NEED_SUM},
    {"stddev", VV_AGGREGATE_STDDEV, VV_NEED_MOMENTS},
    {"first", VV_AGGREGATE_FIRST, VV_NEED_ENDS},
    {"last", VV_AGGREGATE_LAST, VV_NEED_ENDS},
    {"first_time", VV_AGGREGATE_FIRST_TIME, VV_NEED_ENDS},
    {"last_time", VV_AGGREGATE_LAST_TIME, VV_NEED_ENDS},
    {"median", VV_AGGREGATE_PERCENTILE, VV_NEED_PERCENTILES},
    {"rate", VV_AGGREGATE_RATE, VV_NEED_CHANGE},
    {"increase", VV_AGGREGATE_INCREASE, VV_NEED_CHANGE},
    {"delta", VV_AGGREGATE_DELTA, VV_NEED_CHANGE},
};
#define AGGREGATE_COUNT (sizeof aggregates / sizeof aggregates[0])

/* "p" and a number from 0 to 100: digits, perhaps a point and digits. */
static bool parse_percentile(struct vv_str word, double *quantile_out)
{
    char digits[PERCENTILE_SIZE_MAX];
    if (word.size < 2 || word.size > sizeof digits || word.data[0] != 'p') {
        return false;
    }
    size_t points = 0;
    for (size_t i = 1; i < word.size; i++) {
        bool point = word.data[i] == '.';
        points += point;
        if (points > 1 || (!point && (word.data[i] < '0' || word.data[i] > '9'))) {
            return false;
        }
        digits[i - 1] = word.data[i];
    }
    digits[word.size - 1] = '\0';
    if (word.data[1] == '.' || word.data[word.size - 1] == '.') {
        return false;
    }
    double percent = strtod(digits, NULL);
    *quantile_out = percent / 100;
    return percent <= 100;
}

static enum vv_status unknown_aggregate(struct vv_str word, struct vv_error *error)
{
    const char *names[AGGREGATE_COUNT + 2];
    for (size_t i = 0; i < AGGREGATE_COUNT; i++) {
        names[i] = aggregates[i].name;
    }
    names[AGGREGATE_COUNT] = "p0 to p100";
    names[AGGREGATE_COUNT + 1] = "p99.9";
    return vv_words_unknown(error, "agg", word, names, AGGREGATE_COUNT + 2);
}

static bool recognise(struct vv_str word, struct vv_aggregate *aggregate, unsigned *needs_out)
{
    for (size_t i = 0; i < AGGREGATE_COUNT; i++) {
        if (vv_str_equal(word, vv_str_of(aggregates[i].name))) {
            aggregate->kind = aggregates[i].kind;
            aggregate->quantile = 0.5; /* of median */
            *needs_out = aggregates[i].needs;
            return true;
        }
    }
    aggregate->kind = VV_AGGREGATE_PERCENTILE;
    *needs_out = VV_NEED_PERCENTILES;
    return parse_percentile(word, &aggregate->quantile);
}

static enum vv_status add_aggregate(struct vv_request *request, struct vv_str word,
                                    struct vv_error *error)
{
    struct vv_aggregate aggregate = {0};
    unsigned needs = 0;
    if (!recognise(word, &aggregate, &needs)) {
        return unknown_aggregate(word, error);
    }
    for (size_t i = 0; i < request->n_aggregates; i++) {
        if (vv_str_equal(word, request->aggregates[i].name)) {
            return vv_error_set(error, VV_INVALID, "agg names '%.*s' twice", VV_STR_ARG(word));
        }
    }
    if (request->n_aggregates == VV_AGGREGATES_MAX) {
        return vv_error_set(error, VV_INVALID, "agg has too many names: at most %d",
                            VV_AGGREGATES_MAX);
    }
    aggregate.name = vv_arena_str(&request->arena, word);
    if (!aggregate.name.data) {
        return vv_error_set(error, VV_NO_MEMORY, "out of memory for the request");
    }
    request->aggregates[request->n_aggregates++] = aggregate;
    request->needs |= needs;
    return VV_OK;
}

enum vv_status vv_request_aggregates(struct vv_request *request, struct vv_str text,
                                     struct vv_error *error)
{
    struct vv_str rest = text;
    struct vv_str word;
    bool started = false;
    while (vv_words_next(&rest, ',', &started, &word)) {
        enum vv_status status = add_aggregate(request, word, error);
        if (status != VV_OK) {
            return status;
        }
    }
    return VV_OK;
}

static enum vv_status add_group_tag(struct vv_request *request, struct vv_str word,
                                    struct vv_error *error)
{
    struct vv_str tag = vv_words_unescape(&request->arena, word);
    if (!tag.data) {
        return vv_error_set(error, VV_NO_MEMORY, "out of memory for the request");
    }
    if (tag.size == 0) {
        return vv_error_set(error, VV_INVALID,
                            "group_by has an empty name: write group_by=site,line, source or all");
    }
    for (size_t i = 0; i < request->n_group_tags; i++) {
        if (vv_str_equal(tag, request->group_tags[i])) {
            char shown[VV_SHOWN_SIZE];
            return vv_error_set(error, VV_INVALID, "group_by names '%s' twice",
                                vv_shown(tag, shown));
        }
    }
    if (request->n_group_tags == VV_GROUP_TAGS_MAX) {
        return vv_error_set(error, VV_INVALID, "group_by has too many tags: at most %d",
                            VV_GROUP_TAGS_MAX);
    }
    request->group_tags[request->n_group_tags++] = tag;
    return VV_OK;
}

enum vv_status vv_request_groups(struct vv_request *request, struct vv_str text, bool *by_source,
                                 struct vv_error *error)
{
    if (text.size == 0 || vv_str_equal(text, VV_STR_LITERAL("all"))) {
        return VV_OK;
    }
    struct vv_str rest = text;
    struct vv_str word;
    bool started = false;
    while (vv_words_next(&rest, ',', &started, &word)) {
        if (vv_str_equal(word, VV_STR_LITERAL("source"))) {
            *by_source = true;
            continue;
        }
        if (vv_str_equal(word, VV_STR_LITERAL("all"))) {
            return vv_error_set(error, VV_INVALID,
                                "group_by=all stands alone; a tag of that name is \\all");
        }
        enum vv_status status = add_group_tag(request, word, error);
        if (status != VV_OK) {
            return status;
        }
    }
    return VV_OK;
}
