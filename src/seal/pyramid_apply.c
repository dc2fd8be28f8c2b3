/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A record that is kept, where nodes share the store, loses what was deleted since it was built:
 * whole steps. One of which only a part is deleted is built again of what is below, where that is
 * certainly all there; where it has gone, the step goes as a whole, since what is deleted must not
 * stay.
 */
#include "base/log.h"
#include "seal/pyramid_private.h"

/* What there is below a step. */
enum below {
    BELOW_WHOLE,
    BELOW_GONE,  /* some of it has expired */
    BELOW_WAITS, /* some of it is to be built first */
    BELOW_LATER, /* some of it lacks a deletion: it is built again, and then what is above */
    BELOW_UNREADABLE,
};

static enum below judge_records(const struct vv_build *build, const struct vv_pyramid_level *level,
                                const struct vv_stretch *stretch)
{
    struct vv_unit_record record;
    struct vv_str bytes = level->records.items[stretch->tag].bytes;
    if (vv_unit_read(bytes, &record, NULL) != VV_OK) {
        return BELOW_UNREADABLE;
    }
    return vv_build_lacks_any(build, &record) ? BELOW_LATER : BELOW_WHOLE;
}

/* The first of them that has a record, too. */
static void note_stale(struct vv_build *build, enum vv_space tier, int64_t from, int64_t to)
{
    const struct vv_pyramid_level *level = &build->pyramid->levels[tier];
    for (size_t i = 0; i < level->records.n; i++) {
        struct vv_unit_record record;
        if (vv_unit_read(level->records.items[i].bytes, &record, NULL) == VV_OK &&
            record.unit.from < to && record.unit.to > from &&
            vv_cover_is_stale(&level->cover, record.unit.from, record.unit.to)) {
            vv_build_wait_for(build, tier, record.unit.from);
            return;
        }
    }
}

/* A stretch without a record of a tier that is whole there is empty, as far as the finer tiers do
 * not have it. */
static enum vv_status judge_below(struct vv_build *build, int above, int64_t from, int64_t to,
                                  enum below *below_out)
{
    const struct vv_pyramid_options *options = &build->pyramid->options;
    int tier = vv_tiers_below(&build->tiers, above);
    *below_out = BELOW_WHOLE;
    if (tier < 0) {
        *below_out = from >= build->whole_from ? BELOW_WHOLE : BELOW_GONE;
        return VV_OK;
    }
    struct vv_pyramid_level *level = &build->pyramid->levels[tier];
    bool is_damaged;
    enum vv_status status =
        vv_build_list_records(build, (enum vv_space)tier, from, to, &is_damaged);
    if (status == VV_OK && is_damaged) {
        *below_out = BELOW_UNREADABLE;
        return VV_OK;
    }
    if (status == VV_OK && vv_cover_is_stale(&level->cover, from, to)) {
        note_stale(build, (enum vv_space)tier, from, to);
        *below_out = BELOW_WAITS;
        return VV_OK;
    }
    int64_t whole_from = options->records_from ? options->records_from(options->whole_context,
                                                                       build->tiers.spaces[tier])
                                               : INT64_MAX;
    while (from < to && status == VV_OK && *below_out == BELOW_WHOLE) {
        struct vv_stretch stretch = vv_cover_next(&level->cover, 0, from, to);
        if (stretch.is_covered) {
            *below_out = judge_records(build, level, &stretch);
        } else {
            status = judge_below(build, tier, stretch.from, stretch.to, below_out);
            bool is_empty = *below_out == BELOW_GONE && stretch.from >= whole_from;
            *below_out = is_empty ? BELOW_WHOLE : *below_out;
        }
        from = stretch.to;
    }
    return status;
}

/* ---- what is to be done with a record ---- */

struct applying {
    struct vv_build *build;
    size_t index;                 /* of the deletion */
    struct vv_piece_list *now;    /* the record … */
    struct vv_unit_record record; /* … and its first part */
    struct vv_rollup_part gone;
    int64_t again[2]; /* steps of which only a part is deleted, and which are made anew */
    size_t n_again;
    bool is_left; /* for when what is below has the deletion */
};

static void tell_step(const struct applying *applying, int64_t start)
{
    const struct vv_build *build = applying->build;
    struct vv_registry *registry = build->pyramid->options.registry;
    struct vv_str source = vv_registry_source_id(registry, build->source);
    struct vv_str measurement = vv_registry_measurement_name(registry, build->measurement);
    struct vv_str tier = vv_space_word(build->tier);
    char time[VV_TIME_TEXT_SIZE];
    vv_time_format(start, time);
    vv_log(
        VV_LOG_WARN, "step_deleted",
        "source=%.*s measurement=%.*s tier=%.*s from=%s message=\"a part of the step was deleted, "
        "and what it was built of has expired meanwhile: all of it goes\"",
        VV_STR_ARG(source), VV_STR_ARG(measurement), VV_STR_ARG(tier), time);
}

/* Kept as it is the step would have what is deleted for good; so its unit stays stale. */
static enum vv_status refuse_step(const struct applying *applying, int64_t start)
{
    struct vv_build *build = applying->build;
    char time[VV_TIME_TEXT_SIZE];
    vv_time_format(start, time);
    return vv_error_set(build->error, VV_CORRUPT,
                        "the step from %s on is deleted in part, and a finer record that it is to "
                        "be built of is damaged, or newer than this program: reroll it, or start "
                        "a newer one",
                        time);
}

/* The step at `start` holds an end of what is deleted. */
static enum vv_status decide_step(struct applying *applying, int64_t start)
{
    struct vv_build *build = applying->build;
    struct vv_unit finer = vv_pyramid_below(&build->tiers, &build->plans, build->tier, start);
    enum below below;
    enum vv_status status = judge_below(build, (int)build->tier, finer.from, finer.to, &below);
    if (status != VV_OK) {
        return status;
    }
    switch (below) {
    case BELOW_WHOLE:
        applying->again[applying->n_again++] = start;
        break;
    case BELOW_GONE:
        tell_step(applying, start);
        break;
    case BELOW_WAITS:
        return vv_error_set(build->error, VV_OVERLOAD,
                            "what a deleted part of a unit is built of is not built yet");
    case BELOW_LATER:
        applying->is_left = true;
        break;
    case BELOW_UNREADABLE:
        return refuse_step(applying, start);
    }
    return VV_OK;
}

static enum vv_status plan(struct applying *applying)
{
    const struct vv_build *build = applying->build;
    const struct vv_deletion *deletion = &build->pyramid->deletions.items[applying->index];
    const struct vv_unit *unit = &applying->record.unit;
    int64_t step_ns = vv_tier_step_ns(build->tier);
    int64_t from = deletion->from > unit->from ? deletion->from : unit->from;
    int64_t to = deletion->to < unit->to ? deletion->to : unit->to;
    int64_t first = vv_time_floor(from, step_ns);
    int64_t last = vv_time_floor(to - 1, step_ns);
    bool is_all = deletion->metric == VV_DELETION_ALL_METRICS;
    enum vv_status status = VV_OK;
    applying->n_again = 0;
    applying->is_left = false;
    applying->gone = (struct vv_rollup_part){is_all ? VV_ROLLUP_ALL_METRICS : deletion->metric,
                                             first, last + step_ns};
    if (first < deletion->from) {
        status = decide_step(applying, first);
    }
    bool is_other = last != first || first >= deletion->from;
    if (status == VV_OK && last + step_ns > deletion->to && is_other) {
        status = decide_step(applying, last);
    }
    return status;
}

/* ---- doing it ---- */

static enum vv_status add_steps(struct applying *applying)
{
    struct vv_build *build = applying->build;
    const struct vv_pyramid_cut cut = {.tier = build->tier,
                                       .records = applying->now,
                                       .unit = applying->record.unit,
                                       .gone = applying->gone,
                                       .again = {applying->again[0], applying->again[1]},
                                       .n_again = applying->n_again};
    int64_t whole_from = build->whole_from;
    build->whole_from = INT64_MIN; /* what is made anew is whole */
    build->keeps = false;
    vv_rollup_begin(build->pyramid->rollup, vv_tier_step_ns(build->tier));
    vv_few_drop(&build->pyramid->few);
    enum vv_status status = vv_build_cut_steps(build, &cut);
    build->whole_from = whole_from;
    build->keeps = true;
    return status;
}

/* Of rows all goes at once that is deleted. */
static enum vv_status add_rows(struct applying *applying)
{
    struct vv_build *build = applying->build;
    const struct vv_unit *unit = &applying->record.unit;
    int64_t step_ns = vv_tier_step_ns(build->tier);
    vv_rollup_begin(build->pyramid->rollup, step_ns);
    vv_few_begin(&build->pyramid->few, (size_t)((unit->to - unit->from - 1) / step_ns + 1));
    return vv_build_add_record(build, applying->now, 0);
}

/* What the record lacked before it lacks still, but for this deletion. */
static enum vv_status rewrite(struct applying *applying)
{
    struct vv_build *build = applying->build;
    struct vv_piece_list next = {0};
    bool is_rows = applying->record.kind == VV_UNIT_ROWS;
    struct vv_piece first = applying->now->items[0];
    first.bytes = (struct vv_str){0};
    enum vv_status status = is_rows ? add_rows(applying) : add_steps(applying);
    status = status == VV_OK ? vv_build_lacks_none(build) : status;
    if (status == VV_OK) {
        vv_build_note_lacks(build, &applying->record);
        build->pyramid->lacks[applying->index] = false;
        bool has_rows = is_rows && build->pyramid->few.n > 0;
        status = vv_build_write_record(build, &first, has_rows, &applying->record.unit, &next);
    }
    if (status != VV_OK) {
        vv_piece_list_deinit(&next);
        return status;
    }
    vv_piece_list_deinit(applying->now);
    *applying->now = next;
    return VV_OK;
}

static bool has_rows_deleted(const struct vv_build *build, const struct vv_unit_record *record)
{
    bool any = false;
    for (size_t i = 0; i < build->pyramid->deletions.n && !any; i++) {
        any = vv_build_is_new(build, i, record);
    }
    return any;
}

/* false: what is there can't be read, or nothing is left. */
static bool read_first(struct applying *applying)
{
    const struct vv_piece_list *now = applying->now;
    return now->n > 0 && now->items[0].bytes.size > 0 &&
           vv_unit_read(now->items[0].bytes, &applying->record, NULL) == VV_OK;
}

enum vv_status vv_build_apply_deletions(struct vv_build *build, struct vv_piece_list *record,
                                        bool *is_cut_out)
{
    struct applying applying = {.build = build, .now = record};
    enum vv_status status = VV_OK;
    if (read_first(&applying) && applying.record.kind == VV_UNIT_ROWS) {
        *is_cut_out = has_rows_deleted(build, &applying.record);
        return *is_cut_out ? rewrite(&applying) : VV_OK;
    }
    for (size_t i = 0; i < build->pyramid->deletions.n && status == VV_OK; i++) {
        applying.index = i;
        if (!read_first(&applying) || !vv_build_lacks(build, i, &applying.record)) {
            continue;
        }
        status = plan(&applying);
        if (status == VV_OK && !applying.is_left) {
            status = rewrite(&applying);
            *is_cut_out = true;
        }
    }
    return status;
}
