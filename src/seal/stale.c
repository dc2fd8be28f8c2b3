/* SPDX-License-Identifier: Apache-2.0 */
#include "seal/stale.h"

#include "base/clock.h"
#include "tier/cohort.h"

#include <stdlib.h>
#include <string.h>

#define OPEN_RUN 1 /* of what is stale anyway until its unit is over */
/* Where nodes share the store, whatever made a cohort's unit stale: each node has one run of each
 * part, which what it puts later replaces. What it had put before may be covered; the store tells
 * them apart by their versions. */
#define COHORT_RUN vv_stamp_make(1, 0)
/* Parts of the runs of cohorts' units where nodes share the store. */
#define AHEAD  VV_STALE_PARTS
#define BEHIND 0u
/* Cohorts' units are spread over that part of what sources' are: within VV_TIER_DUE_NS_MAX. */
#define COHORT_SPREAD 4

void vv_stale_begin(struct vv_stale *stale, const struct vv_stale_options *options, uint32_t place,
                    uint32_t source, uint32_t measurement, vv_stamp run)
{
    *stale = (struct vv_stale){
        .options = options,
        .tiers = vv_registry_tiers_built(options->registry, place),
        .plans = vv_registry_source_plans(options->registry, source),
        .source = source,
        .measurement = measurement,
        .run = run,
        .open_at = INT64_MAX,
        .not_before = INT64_MIN,
    };
}

/* A unit that was made stale for another time gets one more mark. */
void vv_stale_not_before(struct vv_stale *stale, int64_t not_before)
{
    if (stale->not_before != not_before) {
        stale->not_before = not_before;
        memset(stale->has_last, 0, sizeof stale->has_last);
    }
}

/* Behind the raw spans, and behind the finer tier: what is sealed or built before need not be built
 * of runs, and not again. */
static int64_t due_of(const struct vv_stale *stale, enum vv_space tier,
                      const struct vv_span_key *key, const struct vv_unit *unit)
{
    struct vv_ledger_rule rule = stale->options->ledger;
    struct vv_span_key raw = *key;
    int64_t length = unit->to - unit->from;
    int64_t raw_span_ns = vv_bucket_of(stale->plans.plans, stale->plans.n, unit->to - 1).span_ns;
    raw.span_start = unit->to - raw_span_ns;
    int64_t raw_due = vv_ledger_mark(&rule, &raw, raw_span_ns, 0).due_ns;
    int64_t spread = rule.spread_ns ? rule.spread_ns : length;
    int64_t most = vv_tier_spread_ns_max(tier);
    rule.spread_ns = spread < most ? spread : most;
    int64_t due = vv_ledger_mark(&rule, key, length, 0).due_ns;
    due = due > raw_due ? due : raw_due;
    return (due > stale->not_before ? due : stale->not_before) + 1 + (int64_t)tier;
}

/* Behind the units of all its sources, so that it is built once. Where nodes share the store all
 * would be due at the same time, which takes a long build each: they are spread behind it. */
static int64_t due_of_cohort(const struct vv_stale_options *options, enum vv_space tier,
                             const struct vv_stale_unit *cohort)
{
    const struct vv_ledger_rule *rule = &options->ledger;
    int64_t raw_spread_ns = rule->spread_ns ? rule->spread_ns : VV_DAY;
    int64_t most = vv_tier_spread_ns_max(tier);
    int64_t behind_ns =
        (most > raw_spread_ns ? most : raw_spread_ns) + 1 + VV_SPACES + (int64_t)tier;
    struct vv_ledger_rule own = *rule;
    own.spread_ns = most / COHORT_SPREAD;
    int64_t length = cohort->to - cohort->key.span_start;
    return options->store->ops->shared
               ? vv_ledger_mark(&own, &cohort->key, length, 0).due_ns + behind_ns
               : cohort->to + rule->lateness_ns + behind_ns;
}

/* The same of a source's unit, so that who reads finds one row a unit and not one for each span and
 * flush. One of another length, as plans change and while something is parked, is another run: what
 * says less must not replace it. */
static vv_stamp shared_run(const struct vv_stale_unit *stale)
{
    int64_t length = (stale->to - stale->key.span_start) / VV_MINUTE;
    return vv_cohort_is(stale->key.partition.source) ? COHORT_RUN
                                                     : vv_stamp_make(1 + (uint64_t)length, 0);
}

static vv_stamp run_of(const struct vv_stale_options *options, const struct vv_stale_unit *stale)
{
    if (stale->is_open) {
        return OPEN_RUN;
    }
    bool says_more = stale->record.size > 0; /* what replaces a day */
    return options->store->ops->shared && !says_more ? shared_run(stale) : stale->run;
}

static enum vv_status put_run(const struct vv_stale_options *options,
                              const struct vv_stale_unit *stale, uint32_t part,
                              struct vv_error *error)
{
    struct vv_store *store = options->store;
    const struct vv_unit unit = {stale->key.span_start, stale->to};
    struct vv_buffer bytes = {0};
    if (stale->record.size > 0) {
        vv_buffer_str(&bytes, stale->record);
    } else {
        vv_unit_write(&bytes, VV_UNIT_STALE, &unit);
    }
    enum vv_status status = vv_buffer_status(&bytes);
    if (status == VV_OK) {
        const struct vv_piece run = {.kind = VV_PIECE_RUN,
                                     .key = stale->key,
                                     .run = run_of(options, stale),
                                     .part = part,
                                     .bytes = {(char *)bytes.data, bytes.size}};
        status = store->ops->put_run(store, &run, error);
    }
    vv_buffer_deinit(&bytes);
    return status;
}

static struct vv_mark mark_of(const struct vv_stale_unit *stale)
{
    return (struct vv_mark){.due_ns = stale->due_ns,
                            .key = stale->key,
                            .span_ns = stale->to - stale->key.span_start,
                            .run = stale->run};
}

enum vv_status vv_stale_mark(const struct vv_stale_options *options,
                             const struct vv_stale_unit *stale, struct vv_error *error)
{
    const struct vv_mark mark = mark_of(stale);
    return options->store->ops->put_mark(options->store, &mark, error);
}

enum vv_status vv_stale_put(const struct vv_stale_options *options,
                            const struct vv_stale_unit *stale, struct vv_error *error)
{
    enum vv_status status = put_run(options, stale, stale->part, error);
    return status == VV_OK ? vv_stale_mark(options, stale, error) : status;
}

/* ---- later ---- */

enum vv_status vv_stale_list_add(struct vv_stale_list *list, const struct vv_stale_unit *unit,
                                 struct vv_error *error)
{
    if (list->n == list->capacity) {
        size_t capacity = list->capacity ? list->capacity * 2 : 256;
        struct vv_stale_unit *bigger = realloc(list->items, capacity * sizeof *bigger);
        if (!bigger) {
            return vv_error_set(error, VV_NO_MEMORY, "out of memory while flushing");
        }
        list->items = bigger;
        list->capacity = capacity;
    }
    list->items[list->n++] = *unit;
    return VV_OK;
}

void vv_stale_list_deinit(struct vv_stale_list *list)
{
    free(list->items);
    *list = (struct vv_stale_list){0};
}

/* By which plans what is parked will lie is known when it is delivered, and only then: a unit of
 * minutes may be longer by those, but not longer than a day. */
static void widen(const struct vv_stale_options *options, struct vv_stale_unit *stale)
{
    struct vv_store *store = options->store;
    uint32_t place = vv_registry_place_of(options->registry, stale->key.partition.tenant);
    bool is_replaced = stale->record.size > 0; /* points of this unit, by the plans of now */
    if (stale->tier != VV_SPACE_MINUTE || is_replaced ||
        !store->ops->shared->has_parked(store, place)) {
        return;
    }
    int64_t from = vv_time_floor(stale->key.span_start, VV_DAY);
    from = from > VV_TIME_MIN ? from : VV_TIME_MIN;
    int64_t to = vv_time_floor(stale->to - 1, VV_DAY) + VV_DAY;
    stale->key = vv_unit_key(stale->tier, stale->key.partition.tenant, stale->key.partition.source,
                             stale->key.measurement, from);
    stale->due_ns += to - stale->to;
    stale->to = to;
}

static enum vv_status mark_open(const struct vv_stale_options *options,
                                const struct vv_stale_unit *stale, int64_t now_ns,
                                struct vv_error *error)
{
    bool is_marked = !stale->is_marked_open ||
                     vv_open_units_has(options->open_units, &stale->key, stale->to, now_ns);
    return is_marked ? VV_OK : vv_stale_mark(options, stale, error);
}

static enum vv_status confirm(const struct vv_stale_options *options, struct vv_error *error)
{
    return options->confirm ? options->confirm(options->confirm_context, error)
                            : options->store->ops->confirm(options->store, error);
}

/* Nobody builds a unit that is open, but by the time that what is parked comes it may be over, and
 * built without that: so it is made stale behind it. */
static bool waits_below(const struct vv_stale_options *options, const struct vv_stale_unit *stale)
{
    struct vv_store *store = options->store;
    return store->ops->shared->has_parked_below(store, &stale->key.partition);
}

/* Those of a tier; *any: some were made stale before, which must have landed. */
static enum vv_status put_tier(const struct vv_stale_options *options, struct vv_stale_list *list,
                               enum vv_space tier, int64_t over_at, bool *any,
                               struct vv_error *error)
{
    bool is_first = true;
    enum vv_status status = VV_OK;
    for (size_t i = 0; i < list->n && status == VV_OK; i++) {
        struct vv_stale_unit *stale = &list->items[i];
        if (stale->tier != tier || vv_cohort_is(stale->key.partition.source)) {
            continue;
        }
        if (stale->to > over_at && !waits_below(options, stale)) {
            status = mark_open(options, stale, over_at, error);
            continue;
        }
        if (is_first && *any) {
            status = confirm(options, error);
        }
        is_first = false;
        *any = true;
        widen(options, stale);
        status = status == VV_OK ? vv_stale_put(options, stale, error) : status;
    }
    return status;
}

/* By unit; of one that is there several times the last run comes first. */
static int compare_units(const void *a, const void *b)
{
    const struct vv_stale_unit *x = a;
    const struct vv_stale_unit *y = b;
    int order = vv_span_key_compare(&x->key, &y->key);
    if (order == 0) {
        order = x->run > y->run ? -1 : x->run < y->run;
    }
    return order;
}

static enum vv_status put_cohort(const struct vv_stale_options *options,
                                 const struct vv_stale_unit *stale, uint32_t part,
                                 struct vv_error *error)
{
    enum vv_status status = put_run(options, stale, part, error);
    return status == VV_OK && part == BEHIND ? vv_stale_mark(options, stale, error) : status;
}

/* Of many sources' ones each is put once. An open one is left to who builds its sources' units:
 * that tells of it again. *any: some were put before, which must have landed. */
static enum vv_status put_cohorts(const struct vv_stale_options *options,
                                  const struct vv_stale_list *list, int64_t over_at, uint32_t part,
                                  bool *any, struct vv_error *error)
{
    const struct vv_stale_unit *last = NULL;
    enum vv_status status = VV_OK;
    for (size_t i = 0; i < list->n && status == VV_OK; i++) {
        const struct vv_stale_unit *stale = &list->items[i];
        bool is_other = !vv_cohort_is(stale->key.partition.source) ||
                        (last && vv_span_key_compare(&last->key, &stale->key) == 0);
        if (is_other || (stale->to > over_at && !waits_below(options, stale))) {
            continue;
        }
        status = !last && *any ? confirm(options, error) : VV_OK;
        last = stale;
        status = status == VV_OK ? put_cohort(options, stale, part, error) : status;
    }
    *any = *any || last;
    return status;
}

enum vv_status vv_stale_check_held(const struct vv_stale_options *options,
                                   const struct vv_stale_list *list, int64_t over_at,
                                   struct vv_error *error)
{
    struct vv_store *store = options->store;
    bool is_held = false;
    if (!options->is_whole || !store->ops->shared || !store->ops->shared->is_held) {
        return VV_OK;
    }
    for (size_t i = 0; i < list->n && !is_held; i++) {
        const struct vv_stale_unit *stale = &list->items[i];
        const struct vv_mark mark = mark_of(stale);
        bool has_run = stale->to <= over_at || waits_below(options, stale);
        bool is_put = has_run || !vv_cohort_is(stale->key.partition.source);
        is_held = is_put && store->ops->shared->is_held(store, &mark, has_run);
    }
    return is_held ? vv_error_set(error, VV_OVERLOAD,
                                  "the part of the store is away that says what is above")
                   : VV_OK;
}

static bool has_sources(const struct vv_stale_list *list)
{
    bool has = false;
    for (size_t i = 0; i < list->n && !has; i++) {
        has = !vv_cohort_is(list->items[i].key.partition.source);
    }
    return has;
}

/* Cohorts' are put twice: before those that they are built of, so that nobody takes the cohort's
 * record for what its sources say; and behind them: who covers that run sees what they say. */
enum vv_status vv_stale_put_list(const struct vv_stale_options *options, struct vv_stale_list *list,
                                 int64_t over_at, struct vv_error *error)
{
    enum vv_status status = vv_stale_check_held(options, list, over_at, error);
    bool any = false;
    if (status != VV_OK) {
        return status;
    }
    if (list->n > 0) {
        qsort(list->items, list->n, sizeof *list->items, compare_units);
    }
    if (has_sources(list)) {
        status = put_cohorts(options, list, over_at, AHEAD, &any, error);
    }
    for (int tier = 0; tier < VV_SPACES && status == VV_OK; tier++) {
        status = put_tier(options, list, (enum vv_space)tier, over_at, &any, error);
    }
    if (status == VV_OK) {
        status = put_cohorts(options, list, over_at, BEHIND, &any, error);
    }
    if (status == VV_OK && options->is_whole) {
        status = confirm(options, error);
    }
    if (status == VV_OK) { /* a part may be found to be away until all is sent */
        status = vv_stale_check_held(options, list, over_at, error);
    }
    list->n = 0;
    return status;
}

/* ---- now ---- */

/* Whether another source of the tenant is in the cohort: else the cohort has no records. */
static bool has_others(struct vv_registry *registry, uint32_t tenant, uint32_t source)
{
    uint32_t first = vv_cohort_first(vv_cohort_of(source));
    bool has = false;
    for (uint32_t i = 0; i < VV_COHORT_SOURCES && !has; i++) {
        uint32_t other = first + i;
        has = other != source && vv_registry_source_tenant(registry, other) == tenant;
    }
    return has;
}

/* Which cohort it is; VV_DONE where it has none. On a shared store another node may know of others
 * when this one does not, and build a record of them together. */
static enum vv_status find_cohort(const struct vv_stale_options *options, uint32_t source,
                                  uint32_t *cohort_out)
{
    struct vv_store *store = options->store;
    uint32_t tenant = vv_registry_source_tenant(options->registry, source);
    uint64_t id;
    if (!store->ops->shared) {
        *cohort_out = vv_cohort_of(source);
        return has_others(options->registry, tenant, source) ? VV_OK : VV_DONE;
    }
    if (!store->ops->shared->cohort_of) {
        return VV_DONE;
    }
    return store->ops->shared->cohort_of(store, tenant, source, cohort_out, &id) == VV_OK
               ? VV_OK
               : VV_NO_MEMORY;
}

enum vv_status vv_stale_cohort(const struct vv_stale_options *options, enum vv_space tier,
                               const struct vv_stale_unit *stale, struct vv_stale_unit *cohort_out)
{
    uint32_t cohort;
    if (!vv_tier_has_cohorts(tier)) {
        return VV_DONE;
    }
    enum vv_status status = find_cohort(options, stale->key.partition.source, &cohort);
    if (status != VV_OK) {
        return status;
    }
    *cohort_out = *stale;
    cohort_out->part = 0;
    cohort_out->record = (struct vv_str){0};
    cohort_out->key.partition.source = cohort;
    cohort_out->tier = tier;
    cohort_out->due_ns = due_of_cohort(options, tier, cohort_out);
    if (cohort_out->due_ns < stale->due_ns + VV_SPACES) { /* of late points that are kept apart */
        cohort_out->due_ns = stale->due_ns + VV_SPACES;
    }
    return VV_OK;
}

static enum vv_status put_or_list(struct vv_stale *stale, const struct vv_stale_unit *item,
                                  struct vv_error *error)
{
    return stale->later ? vv_stale_list_add(stale->later, item, error)
                        : vv_stale_put(stale->options, item, error);
}

struct vv_stale_unit vv_stale_unit_of(const struct vv_stale *stale, enum vv_space tier,
                                      int64_t time)
{
    struct vv_unit unit = vv_unit_of(tier, stale->plans.plans, stale->plans.n, time);
    struct vv_stale_unit item = {
        .key = vv_unit_key(tier, stale->tiers.spaces[tier], stale->source, stale->measurement,
                           unit.from),
        .to = unit.to,
        .run = stale->run,
        .tier = tier,
        .is_open = unit.to > stale->open_at,
        .is_marked_open = stale->marks_open,
    };
    item.due_ns = due_of(stale, tier, &item.key, &unit);
    return item;
}

enum vv_status vv_stale_unit_put(struct vv_stale *stale, enum vv_space tier, int64_t time,
                                 struct vv_error *error)
{
    struct vv_stale_unit item = vv_stale_unit_of(stale, tier, time);
    enum vv_status status = put_or_list(stale, &item, error);
    struct vv_stale_unit cohort;
    if (status == VV_OK) {
        enum vv_status has = vv_stale_cohort(stale->options, tier, &item, &cohort);
        status = has == VV_OK ? put_or_list(stale, &cohort, error) : has;
    }
    return status == VV_DONE ? VV_OK : status;
}

/* The unit of the tier that holds `time`, unless it was the last one. */
static enum vv_status note(struct vv_stale *stale, enum vv_space tier, int64_t time,
                           int64_t over_at, struct vv_unit *unit_out, struct vv_error *error)
{
    struct vv_unit unit = vv_unit_of(tier, stale->plans.plans, stale->plans.n, time);
    *unit_out = unit;
    bool is_last = stale->has_last[tier] && stale->last[tier].from == unit.from &&
                   stale->last[tier].to == unit.to;
    if (unit.to > over_at || is_last) {
        return VV_OK;
    }
    stale->has_last[tier] = true;
    stale->last[tier] = unit;
    return vv_stale_unit_put(stale, tier, time, error);
}

enum vv_status vv_stale_times(struct vv_stale *stale, const int64_t *times, size_t n,
                              int64_t over_at, struct vv_error *error)
{
    enum vv_status status = VV_OK;
    for (int tier = (int)stale->first; tier < VV_SPACES; tier++) {
        bool is_on = stale->tiers.spaces[tier] != VV_REGISTRY_NONE;
        for (size_t i = 0; is_on && i < n && status == VV_OK;) {
            struct vv_unit unit;
            status = note(stale, (enum vv_space)tier, times[i], over_at, &unit, error);
            while (i < n && times[i] < unit.to) {
                i++;
            }
        }
    }
    return status;
}

enum vv_status vv_stale_range(struct vv_stale *stale, int64_t from, int64_t to, int64_t over_at,
                              struct vv_error *error)
{
    enum vv_status status = VV_OK;
    for (int tier = (int)stale->first; tier < VV_SPACES; tier++) {
        bool is_on = stale->tiers.spaces[tier] != VV_REGISTRY_NONE;
        for (int64_t at = from; is_on && at < to && status == VV_OK;) {
            struct vv_unit unit;
            status = note(stale, (enum vv_space)tier, at, over_at, &unit, error);
            at = unit.to;
        }
    }
    return status;
}
