/* SPDX-License-Identifier: Apache-2.0 */
/* Which spans are sealed next. */
#include "seal/seal_private.h"

#include <stdlib.h>

#define OTHER_MAX      1024 /* marks of another kind that are passed over for a group */
#define LONG_UNITS_MAX 64
#define COHORTS_MAX    16

struct choice {
    struct vv_sealer *sealer;
    vv_stamp until;
    int64_t now_ns;
    size_t spans_max;
    size_t n_other;              /* marks of another kind so far … */
    struct vv_mark before_other; /* … and what came before the first of them */
};

bool vv_seal_has_damaged(const struct vv_sealer *sealer, const struct vv_span_key *key)
{
    for (size_t i = 0; i < sealer->n_damaged; i++) {
        if (vv_span_key_compare(&sealer->damaged[i], key) == 0) {
            return true;
        }
    }
    return false;
}

bool vv_sealer_is_damaged(const struct vv_sealer *sealer, const struct vv_mark *mark)
{
    return vv_seal_has_damaged(sealer, &mark->key);
}

void vv_seal_put_off(struct vv_sealer *sealer, const struct vv_mark *mark,
                     const struct vv_error *why)
{
    vv_put_off_add(&sealer->put_off, &mark->key, vv_seal_monotonic(sealer), why);
    sealer->figures.put_off++;
}

/* Nodes number sources for themselves, and so may each have marked a span as due at another time:
 * the second mark waits for the next time around, and finds nothing left. */
static bool is_in_group(const struct vv_sealer *sealer, const struct vv_mark *mark)
{
    for (size_t i = 0; i < sealer->n_marks; i++) {
        if (vv_span_key_compare(&sealer->marks[i].key, &mark->key) == 0) {
            return true;
        }
    }
    return false;
}

/* VV_SEAL_RAW, or the tier whose unit it is, or VV_SEAL_COHORTS or VV_SEAL_VOLUMES and the tier. */
static int kind_of(const struct vv_sealer *sealer, const struct vv_mark *mark)
{
    uint32_t tenant;
    enum vv_space tier;
    if (!vv_registry_space_of(sealer->options.registry, mark->key.partition.tenant, &tenant,
                              &tier)) {
        return VV_SEAL_RAW;
    }
    if (vv_volume_is(&mark->key)) {
        return VV_SEAL_VOLUMES + (int)tier;
    }
    return (vv_cohort_is(mark->key.partition.source) ? VV_SEAL_COHORTS : 0) + (int)tier;
}

static struct vv_tier_seen *find_tier(const struct vv_sealer *sealer, uint32_t space)
{
    for (size_t i = 0; i < sealer->n_tiers_seen; i++) {
        if (sealer->tiers_seen[i].space == space) {
            return &sealer->tiers_seen[i];
        }
    }
    return NULL;
}

static bool is_told(const struct vv_sealer *sealer, uint32_t space)
{
    const struct vv_sealer_options *options = &sealer->options;
    return !options->is_told || options->is_told(options->learn_context, space);
}

/* Until all nodes know of a tier, what one of them flushes may make no unit of it stale. One that
 * was switched on here may have marks before it has been told. */
bool vv_sealer_is_known_to_all(struct vv_sealer *sealer, uint32_t space)
{
    struct vv_store *store = sealer->options.store;
    if (!store->ops->shared) {
        return true;
    }
    struct vv_tier_seen *seen = find_tier(sealer, space);
    if (!seen && !is_told(sealer, space)) {
        return false;
    }
    if (store->ops->shared->peers(store, NULL, 0) == 0) {
        return true;
    }
    if (!seen) {
        seen = realloc(sealer->tiers_seen, (sealer->n_tiers_seen + 1) * sizeof *seen);
        if (!seen) {
            return false;
        }
        sealer->tiers_seen = seen;
        seen = &seen[sealer->n_tiers_seen++];
        *seen = (struct vv_tier_seen){space, vv_seal_monotonic(sealer)};
    }
    return vv_seal_monotonic(sealer) - seen->since_ns >= sealer->options.lead_ns;
}

static bool is_over(const struct choice *choice, const struct vv_mark *mark, int kind)
{
    int64_t unit_ns =
        mark->span_ns > 0 ? mark->span_ns : vv_tier_unit_ns_max((enum vv_space)(kind % VV_SPACES));
    return mark->key.span_start + unit_ns <= vv_seal_over_ns(choice->sealer, choice->now_ns);
}

/* Volumes are never made before their time: who asks for all to be sealed need not wait for them.
 */
static bool is_asked(const struct choice *choice, const struct vv_mark *mark, int kind)
{
    const struct vv_sealer_options *options = &choice->sealer->options;
    if (kind >= VV_SEAL_VOLUMES) {
        return vv_volume_is_quiet(mark, options->volumes_after_ns, choice->now_ns);
    }
    return choice->until == VV_SEAL_DUE ? vv_ledger_quiet(&options->ledger, mark, choice->now_ns)
                                        : mark->run <= choice->until;
}

/* On request raw spans are sealed before they are over; of a unit nothing can be built before. */
static bool is_wanted(const struct choice *choice, const struct vv_mark *mark, int kind)
{
    bool asked = is_asked(choice, mark, kind);
    if (!asked || kind == VV_SEAL_RAW) {
        return asked;
    }
    bool is_shared = choice->sealer->options.store->ops->shared != NULL;
    bool must_be_over = is_shared || choice->until != VV_SEAL_DUE;
    return (!must_be_over || is_over(choice, mark, kind)) &&
           vv_sealer_is_known_to_all(choice->sealer, mark->key.partition.tenant);
}

/* Not what is damaged, away for now, or in the group by another mark. */
static bool is_free(struct choice *choice, const struct vv_mark *mark, int kind)
{
    struct vv_sealer *sealer = choice->sealer;
    bool rests = kind != VV_SEAL_RAW && kind < VV_SPACES &&
                 vv_put_off_rests(&sealer->put_off, kind, vv_seal_monotonic(sealer));
    bool is_off = rests || vv_put_off_has(&sealer->put_off, &mark->key);
    sealer->passed_over += is_off;
    return !is_off && !vv_sealer_is_damaged(sealer, mark) && !is_in_group(sealer, mark);
}

/* Units of long tiers are built of much, and between groups others have their turn. */
static size_t group_max(const struct choice *choice, int kind)
{
    size_t most = kind >= VV_SEAL_COHORTS  ? COHORTS_MAX
                  : kind > VV_SPACE_MINUTE ? LONG_UNITS_MAX
                                           : choice->spans_max;
    return most < choice->spans_max ? most : choice->spans_max;
}

/* A group is of one kind: what a tier is built of is sealed, or built, before. Marks of coarser
 * tiers are passed over, some of them; the next group begins at the first one. One of a finer kind
 * ends the group: what is above it would be built now, and once more behind it. */
static enum vv_status choose_mark(void *context, const struct vv_mark *mark)
{
    struct choice *choice = context;
    struct vv_sealer *sealer = choice->sealer;
    int kind = kind_of(sealer, mark);
    bool chosen = is_wanted(choice, mark, kind) && is_free(choice, mark, kind);
    if (chosen && sealer->n_marks > 0 && kind < sealer->kind) {
        return VV_DONE;
    }
    if (chosen && sealer->n_marks > 0 && kind > sealer->kind) {
        if (choice->n_other++ == 0) {
            choice->before_other = sealer->cursor;
        }
        chosen = false;
    }
    sealer->cursor = *mark;
    sealer->has_cursor = true;
    if (chosen) {
        sealer->kind = kind;
        sealer->marks[sealer->n_marks++] = *mark;
    }
    bool is_full = sealer->n_marks > 0 && sealer->n_marks >= group_max(choice, sealer->kind);
    return is_full || choice->n_other > OTHER_MAX ? VV_DONE : VV_OK;
}

static enum vv_status fit_marks(struct vv_sealer *sealer, size_t spans_max)
{
    if (sealer->marks_capacity >= spans_max) {
        return VV_OK;
    }
    struct vv_mark *marks = realloc(sealer->marks, spans_max * sizeof *marks);
    sealer->marks = marks ? marks : sealer->marks;
    struct vv_mark *settled = realloc(sealer->settled, 2 * spans_max * sizeof *settled);
    sealer->settled = settled ? settled : sealer->settled;
    bool *is_mine = realloc(sealer->is_mine, spans_max * sizeof *is_mine);
    sealer->is_mine = is_mine ? is_mine : sealer->is_mine;
    if (!marks || !settled || !is_mine) {
        return VV_NO_MEMORY;
    }
    sealer->marks_capacity = spans_max;
    return VV_OK;
}

/* Goes on behind the last mark that was looked at, and once around at the end: marks that wait for
 * quiet are not looked at again for each group. */
enum vv_status vv_seal_choose(struct vv_sealer *sealer, vv_stamp until, size_t spans_max,
                              struct vv_error *error)
{
    struct vv_store *store = sealer->options.store;
    int64_t now = sealer->options.clock->wall_ns(sealer->options.clock);
    struct choice choice = {
        .sealer = sealer, .until = until, .now_ns = now, .spans_max = spans_max};
    int64_t due_until = until == VV_SEAL_DUE ? now : INT64_MAX;
    enum vv_status status = fit_marks(sealer, spans_max);
    sealer->n_marks = 0;
    sealer->passed_over = 0;
    sealer->latest_ns = now > sealer->latest_ns ? now : sealer->latest_ns;
    if (status != VV_OK) {
        return status;
    }
    vv_put_off_forget(&sealer->put_off, vv_seal_monotonic(sealer));
    const struct vv_mark held = {.due_ns = until == VV_SEAL_DUE ? sealer->hold_ns : INT64_MIN};
    const struct vv_mark *first = held.due_ns > INT64_MIN ? &held : NULL;
    if (sealer->has_cursor && sealer->cursor.due_ns >= held.due_ns) {
        struct vv_mark after = sealer->cursor;
        status = store->ops->scan_marks(store, due_until, &after, choose_mark, &choice, error);
    }
    if (status == VV_OK && sealer->n_marks == 0) {
        status = store->ops->scan_marks(store, due_until, first, choose_mark, &choice, error);
    }
    if (sealer->n_marks == 0) {
        sealer->has_cursor = false;
    } else if (choice.n_other > 0) {
        sealer->cursor = choice.before_other;
    }
    return status;
}
