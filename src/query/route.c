/* SPDX-License-Identifier: Apache-2.0 */
#include "query/route.h"

#include "tier/unit.h"

#include <stdio.h>

#define NAMES_SIZE 64

const char *vv_route_tier_name(size_t tier)
{
    return tier < VV_SPACES ? vv_space_word((enum vv_space)tier).data : "raw";
}

/* ---- which tiers can ---- */

#define NEVER INT64_MAX

/* From when on local midnights are at multiples of `length_ns` of UTC, as long as the range lasts:
 * VV_TIME_MIN for all of it, NEVER where they are not at its end. */
static int64_t zone_fits_from(const struct vv_zone *zone, int64_t from, int64_t to,
                              int64_t length_ns)
{
    int64_t instant = vv_time_floor(from, VV_SECOND) / VV_SECOND;
    int64_t end = vv_time_ceil(to, VV_SECOND) / VV_SECOND;
    int64_t length = length_ns / VV_SECOND;
    int64_t fits_from = VV_TIME_MIN;
    do {
        int64_t until;
        bool fits = vv_zone_offset(zone, instant, &until) % length == 0;
        fits_from = fits ? fits_from : until < end ? until * VV_SECOND : NEVER;
        instant = until;
    } while (instant < end);
    return fits_from;
}

/* From when on the tier's steps make up the asked ones, as long as it is kept: VV_TIME_MIN for all
 * of the range; NEVER: they don't, or are not to be taken. */
static int64_t can_from(const struct vv_route_question *question, enum vv_space tier)
{
    const struct vv_steps *steps = question->steps;
    int64_t length_ns = vv_tier_step_ns(tier);
    if (!question->tiers[tier].is_on || question->has_regions || question->needs_raw) {
        return NEVER;
    }
    if (!steps->zone) {
        return steps->length_ns % length_ns == 0 ? VV_TIME_MIN : NEVER;
    }
    return tier == VV_SPACE_DAY
               ? NEVER
               : zone_fits_from(steps->zone, question->from, question->to, length_ns);
}

static bool can(const struct vv_route_question *question, enum vv_space tier)
{
    return can_from(question, tier) < NEVER;
}

/* The tiers that can, and raw, as a list in words. */
static const char *what_can(const struct vv_route_question *question, char out[NAMES_SIZE])
{
    size_t size = 0;
    out[0] = '\0';
    for (size_t tier = VV_SPACES; tier-- > 0;) {
        if (can(question, (enum vv_space)tier)) {
            size +=
                (size_t)snprintf(out + size, NAMES_SIZE - size, "%s, ", vv_route_tier_name(tier));
        }
    }
    snprintf(out + size, NAMES_SIZE - size, "raw");
    return out;
}

/* ---- a wish that cannot be met ---- */

static enum vv_status refuse_wish(const struct vv_route_question *question, enum vv_space tier,
                                  struct vv_error *error)
{
    char had[NAMES_SIZE];
    char step[VV_TIME_TEXT_SIZE];
    char asked[VV_TIME_TEXT_SIZE];
    what_can(question, had);
    vv_duration_format(vv_tier_step_ns(tier), step);
    vv_duration_format(question->steps->length_ns, asked);
    if (question->needs_raw) {
        return vv_error_set(error, VV_INVALID,
                            "tier=%s has steps of %s, and %s needs raw points: take tier=raw, or "
                            "aggregates of steps, as agg=mean",
                            vv_route_tier_name(tier), step, question->needs_raw);
    }
    if (question->has_regions) {
        return vv_error_set(error, VV_INVALID,
                            "tier=%s: where the store has other regions, only raw points of all "
                            "of them can be had: take tier=raw",
                            vv_route_tier_name(tier));
    }
    if (!question->tiers[tier].is_on) {
        return vv_error_set(error, VV_INVALID, "tier=%s is off: for these steps there is %s",
                            vv_route_tier_name(tier), had);
    }
    return vv_error_set(error, VV_INVALID,
                        "tier=%s has steps of %s, of which steps of %s%s cannot be made: take "
                        "another step, or tier=%s",
                        vv_route_tier_name(tier), step, asked,
                        question->steps->zone ? " in this time zone" : "", had);
}

/* ---- what has expired ---- */

/* What is missing is noted in hours, and rounded up: so much is no more than retentions say. */
static int64_t all_from(int64_t oldest, int64_t lacked_before)
{
    bool lacks_more = lacked_before > VV_TIME_MIN + 2 * VV_ROUTE_SLACK_NS &&
                      oldest < lacked_before - 2 * VV_ROUTE_SLACK_NS;
    return lacks_more ? lacked_before : oldest;
}

/* From when on a tier has all that it is to have. */
static int64_t tier_from(const struct vv_route_question *question, size_t tier)
{
    const struct vv_route_tier *kept = &question->tiers[tier];
    return all_from(kept->oldest, kept->lacked_before);
}

/* The same of points. An answer of them alone says which of them may have expired: they are what
 * was asked for, unless the step was chosen here. */
static int64_t raw_from(const struct vv_route_question *question, const struct vv_route *route)
{
    bool are_meant = route->n == 0 && (!question->has_choice || question->wish == VV_TIER_RAW);
    return are_meant ? route->raw_oldest : all_from(route->raw_oldest, route->raw_whole_from);
}

/* The tier that is on and goes back to `from`, or else farthest back; of several the finest. */
static size_t reaching_back(const struct vv_route_question *question)
{
    size_t best = VV_SPACES;
    for (size_t tier = 0; tier < VV_SPACES; tier++) {
        if (!question->tiers[tier].is_on) {
            continue;
        }
        int64_t from = tier_from(question, tier);
        if (from <= question->kept_from) {
            return tier;
        }
        if (best == VV_SPACES || from < tier_from(question, best)) {
            best = tier;
        }
    }
    return best;
}

/* The same of a tier that is asked, which may not fit the asked steps before. */
static int64_t level_from(const struct vv_route_question *question,
                          const struct vv_route_level *level)
{
    int64_t from = tier_from(question, level->tier);
    return level->oldest > from ? level->oldest : from;
}

static int64_t oldest_of(const struct vv_route_question *question, const struct vv_route *route)
{
    int64_t oldest = raw_from(question, route);
    for (size_t i = 0; i < route->n; i++) {
        int64_t from = level_from(question, &route->levels[i]);
        oldest = from < oldest ? from : oldest;
    }
    return oldest;
}

/* Parts of steps are hidden, too, so it is rounded up; what is lacking is told otherwise. */
int64_t vv_route_begin(const struct vv_route *route, int64_t from)
{
    int64_t begin = route->raw_oldest > from ? route->raw_oldest : from;
    for (size_t i = 0; i < route->n && begin > from; i++) {
        const struct vv_route_level *level = &route->levels[i];
        int64_t shown = level->oldest > from ? level->oldest : from;
        int64_t whole = vv_time_ceil(shown, vv_tier_step_ns(level->tier));
        begin = whole < begin ? whole : begin;
    }
    return begin;
}

int64_t vv_route_lacks_before(const struct vv_route_question *question,
                              const struct vv_route *route)
{
    int64_t hidden = route->raw_oldest;
    for (size_t i = 0; i < route->n; i++) {
        hidden = route->levels[i].oldest < hidden ? route->levels[i].oldest : hidden;
    }
    int64_t all = oldest_of(question, route);
    return all > hidden ? all : VV_TIME_MIN;
}

/* The other tier is left out by what was wished, by the zone, or as it can't make such steps. */
static enum vv_status refuse_step(const struct vv_route_question *question, enum vv_space other,
                                  const char *asked, const char *since, struct vv_error *error)
{
    bool has_zone = question->steps->zone != NULL;
    int64_t length_ns = vv_tier_step_ns(other);
    char step[VV_TIME_TEXT_SIZE];
    vv_duration_format(length_ns, step);
    if (can_from(question, other) == VV_TIME_MIN) {
        size_t wished =
            question->wish == VV_TIER_RAW ? VV_SPACES : (size_t)(question->wish - VV_TIER_MINUTE);
        if (question->steps->length_ns == 0) {
            return vv_error_set(error, VV_INVALID,
                                "tier=%s goes back to %s: begin there, or name no tier (tier=%s "
                                "goes back farther)",
                                vv_route_tier_name(wished), since, vv_route_tier_name(other));
        }
        return vv_error_set(error, VV_INVALID,
                            "tier=%s has steps of %s from %s on: begin there, or name no tier "
                            "(tier=%s has them)",
                            vv_route_tier_name(wished), asked, since, vv_route_tier_name(other));
    }
    if (has_zone && question->steps->length_ns % length_ns == 0) {
        return vv_error_set(error, VV_INVALID,
                            "steps of %s in this time zone can be had from %s on: begin there, or "
                            "take those of UTC, without tz (tier=%s)",
                            asked, since, vv_route_tier_name(other));
    }
    return vv_error_set(error, VV_INVALID,
                        "steps of %s%s can be had from %s on: begin there, or take a step of %s or "
                        "a multiple of it (tier=%s)",
                        asked, has_zone ? " in this time zone" : "", since, step,
                        vv_route_tier_name(other));
}

/* Whether the route no longer has what the range begins with: without `from` it begins where there
 * is something, which may be behind all of it (not so with a page behind the last one). Places
 * before the last one may be left out so. */
static bool lacks_begin(const struct vv_route_question *question, int64_t oldest)
{
    bool lacks_all = oldest >= question->kept_to;
    if (!question->has_from) {
        return question->kept_to == question->to && question->kept_to < oldest - question->slack_ns;
    }
    return lacks_all ? question->kept_from < question->kept_to
                     : question->kept_from < oldest - question->slack_ns;
}

/* An error where another tier has what the route no longer has of the range. */
static enum vv_status check_age(const struct vv_route_question *question,
                                const struct vv_route *route, struct vv_error *error)
{
    size_t other = reaching_back(question);
    int64_t oldest = oldest_of(question, route);
    int64_t end = oldest < question->kept_to ? oldest : question->kept_to;
    bool lacks = lacks_begin(question, oldest);
    if (!lacks || question->has_regions || other == VV_SPACES ||
        tier_from(question, other) >= end) {
        return VV_OK;
    }
    char since[VV_TIME_TEXT_SIZE];
    char step[VV_TIME_TEXT_SIZE];
    char asked[VV_TIME_TEXT_SIZE];
    /* Behind the end of what is to lie there, another place has it. */
    vv_time_format(question->kept_to < question->to ? end : oldest, since);
    vv_duration_format(vv_tier_step_ns((enum vv_space)other), step);
    vv_duration_format(question->steps->length_ns, asked);
    if (question->needs_raw) {
        return vv_error_set(error, VV_INVALID,
                            "%s needs raw points, and those before %s have expired: begin there, "
                            "or take aggregates of steps of %s or multiples of it (tier=%s)",
                            question->needs_raw, since, step, vv_route_tier_name(other));
    }
    return refuse_step(question, (enum vv_space)other, asked, since, error);
}

/* An error where what is kept of the range are steps, and it holds no whole one of them. */
static enum vv_status check_steps(const struct vv_route_question *question,
                                  const struct vv_route *route, struct vv_error *error)
{
    bool has_some = route->n == 0 || raw_from(question, route) < question->kept_to ||
                    question->kept_from >= question->kept_to || !question->has_from;
    const struct vv_route_level *finest = NULL; /* of those that go so far back */
    for (size_t i = 0; i < route->n && !has_some; i++) {
        const struct vv_route_level *level = &route->levels[i];
        int64_t step_ns = vv_tier_step_ns(level->tier);
        int64_t all = level_from(question, level);
        int64_t from = question->kept_from > all ? question->kept_from : all;
        has_some = vv_time_ceil(from, step_ns) < vv_time_floor(question->kept_to, step_ns);
        finest = all < question->kept_to ? level : finest;
    }
    if (has_some || !finest) {
        return VV_OK;
    }
    int64_t step_ns = vv_tier_step_ns(finest->tier);
    int64_t first = vv_time_floor(question->kept_from, step_ns);
    int64_t end = vv_time_floor(question->kept_to - 1, step_ns) + step_ns;
    int64_t all = level_from(question, finest);
    first = first < all ? vv_time_ceil(all, step_ns) : first;
    if (first >= end) { /* the only one has begun to expire */
        return VV_OK;
    }
    char step[VV_TIME_TEXT_SIZE];
    char from[VV_TIME_TEXT_SIZE];
    char to[VV_TIME_TEXT_SIZE];
    vv_duration_format(step_ns, step);
    vv_time_format(first, from);
    vv_time_format(end, to);
    return vv_error_set(error, VV_INVALID,
                        "of that time there are only steps of %s (tier=%s), and the range has no "
                        "whole one: ask from %s to %s",
                        step, vv_route_tier_name(finest->tier), from, to);
}

/* ---- choosing ---- */

enum vv_status vv_route_choose(const struct vv_route_question *question, struct vv_route *route_out,
                               struct vv_error *error)
{
    size_t first = VV_SPACES; /* how many tiers may be used: those below */
    *route_out = (struct vv_route){.raw_oldest = question->raw_oldest,
                                   .raw_whole_from = question->raw_whole_from};
    if (question->wish == VV_TIER_RAW) {
        first = 0;
    } else if (question->wish >= VV_TIER_MINUTE) {
        enum vv_space wanted = (enum vv_space)(question->wish - VV_TIER_MINUTE);
        if (!can(question, wanted)) {
            return refuse_wish(question, wanted, error);
        }
        first = (size_t)wanted + 1;
    }
    for (size_t tier = first; tier-- > 0;) {
        const struct vv_route_tier *kept = &question->tiers[tier];
        int64_t from = can_from(question, (enum vv_space)tier);
        if (from < NEVER) {
            route_out->levels[route_out->n++] = (struct vv_route_level){
                (enum vv_space)tier, kept->space, from > kept->oldest ? from : kept->oldest,
                kept->whole_from};
        }
    }
    enum vv_status status = check_age(question, route_out, error);
    return status == VV_OK ? check_steps(question, route_out, error) : status;
}

/* ---- choosing a step ---- */

static const int64_t round_lengths[] = {
    VV_SECOND,  2 * VV_SECOND, 5 * VV_SECOND, 10 * VV_SECOND, 15 * VV_SECOND, 30 * VV_SECOND,
    VV_MINUTE,  2 * VV_MINUTE, 5 * VV_MINUTE, 10 * VV_MINUTE, 15 * VV_MINUTE, 30 * VV_MINUTE,
    VV_HOUR,    2 * VV_HOUR,   3 * VV_HOUR,   6 * VV_HOUR,    12 * VV_HOUR,   VV_DAY,
    2 * VV_DAY, 7 * VV_DAY,    28 * VV_DAY,   84 * VV_DAY,    364 * VV_DAY,   1092 * VV_DAY,
};

int64_t vv_route_coarser(int64_t step_ns)
{
    for (size_t i = 0; i < sizeof round_lengths / sizeof round_lengths[0]; i++) {
        if (round_lengths[i] > step_ns) {
            return round_lengths[i];
        }
    }
    return 0;
}

/* How many steps the range touches. Days of 23 or 25 hours count as days. */
static uint64_t steps_in(int64_t from, int64_t to, const struct vv_zone *zone, int64_t length_ns)
{
    struct vv_steps steps;
    vv_steps_init(&steps, length_ns, zone, from, to);
    uint64_t apart =
        (uint64_t)vv_steps_start(&steps, to - 1) - (uint64_t)vv_steps_start(&steps, from);
    return (apart + (uint64_t)length_ns / 2) / (uint64_t)length_ns + 1;
}

enum vv_status vv_route_step(int64_t from, int64_t to, const struct vv_zone *zone, uint32_t points,
                             int64_t *step_out, struct vv_error *error)
{
    *step_out = 0;
    if (points == 1 || from >= to) {
        return VV_OK;
    }
    for (size_t i = 0; i < sizeof round_lengths / sizeof round_lengths[0]; i++) {
        int64_t length_ns = round_lengths[i];
        uint64_t range = (uint64_t)to - (uint64_t)from;
        if (range / (uint64_t)length_ns <= points &&
            steps_in(from, to, zone, length_ns) <= points) {
            *step_out = length_ns;
            return VV_OK;
        }
    }
    return vv_error_set(error, VV_INVALID,
                        "points=%u is too few for so long a range: take more of them, or a later "
                        "from; points=1 is one value of the whole range",
                        points);
}

int64_t vv_route_step_of(enum vv_tier_wish wish, int64_t from, int64_t to)
{
    uint64_t range = from < to ? (uint64_t)to - (uint64_t)from : 0;
    if (wish >= VV_TIER_MINUTE) {
        return vv_tier_step_ns((enum vv_space)(wish - VV_TIER_MINUTE));
    }
    if (wish != VV_TIER_AUTO) {
        return 0;
    }
    if (range <= 6 * (uint64_t)VV_HOUR) {
        return VV_SECOND;
    }
    if (range <= 7 * (uint64_t)VV_DAY) {
        return VV_MINUTE;
    }
    return range <= 90 * (uint64_t)VV_DAY ? VV_HOUR : VV_DAY;
}
