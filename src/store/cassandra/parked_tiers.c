/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tiers above what is parked: a unit is built of what others can see, and is not built again unless
 * something makes it stale afterwards. So a run that says so waits for the raw data that it is
 * about, for the runs of finer tiers that it may be built of, and for the notes of their buckets:
 * what is built elsewhere is looked for by these.
 *
 * A cohort's unit is built of the sources that are known by what nodes tell, and of what these
 * have: its runs wait for all that is parked of the tenant, of any source, and for all that is
 * told. They may wait for more than they must, as long as a part of Cassandra is away.
 */
#include "model/space.h"
#include "store/cassandra/cassandra.h"
#include "store/keys.h"
#include "tier/cohort.h"
#include "tier/unit.h"

#define TENANT_SIZE 4 /* in keys */
#define MORE_PART   4 /* behind those of a cohort's own runs (seal/stale.c) */

/* What says that the points of sources are there: others see none of both while it is parked. */
static const enum vv_parked_kind kinds_of_points[] = {VV_PARKED_RUN, VV_PARKED_BUCKET};

static enum vv_status see_source(void *context, struct vv_str key, struct vv_str value)
{
    (void)value;
    *(bool *)context = key.size < VV_KEY_SOURCE_SIZE ||
                       !vv_cohort_is(vv_key_get_u32((const uint8_t *)key.data + TENANT_SIZE));
    return VV_DONE;
}

/* The first of each kind: what is of cohorts comes behind all sources. What can't be read counts as
 * there. */
static bool has_points(struct vv_cassandra *store, struct vv_str prefix)
{
    bool found = false;
    for (size_t i = 0; i < sizeof kinds_of_points / sizeof kinds_of_points[0] && !found; i++) {
        enum vv_status status =
            vv_parked_scan(store, kinds_of_points[i], prefix, see_source, &found, NULL);
        found = found || (status != VV_OK && status != VV_DONE);
    }
    return found;
}

/* Of a cohort's sources: of any of the tenant. */
static bool has_any(struct vv_cassandra *store, uint32_t tenant, uint32_t source)
{
    uint8_t key[VV_KEY_SOURCE_SIZE];
    vv_key_from_source(tenant, source, key);
    const struct vv_str prefix = {(const char *)key,
                                  vv_cohort_is(source) ? TENANT_SIZE : VV_KEY_SOURCE_SIZE};
    return has_points(store, prefix);
}

static bool is_named(const struct vv_cassandra *store, struct vv_str name, uint32_t *number_out)
{
    return store->names.tenant_named(store->names.context, name, number_out);
}

/* The number of a tier in one of its lives; false where this node knows of none. */
static bool find_life(struct vv_cassandra *store, struct vv_str owner, enum vv_space tier,
                      uint32_t life, uint32_t *number_out)
{
    struct vv_buffer text = {0};
    char suffix[VV_SPACE_SUFFIX_MAX + 1];
    vv_buffer_str(&text, owner);
    vv_buffer_str(&text, vv_space_suffix(tier, life, suffix));
    const struct vv_str name = {(char *)text.data, text.size};
    bool is_known = vv_buffer_status(&text) == VV_OK && is_named(store, name, number_out);
    vv_buffer_deinit(&text);
    return is_known;
}

/* Of a finer tier, whatever life of it this node knows. */
static bool has_tier(struct vv_cassandra *store, struct vv_str owner, enum vv_space tier,
                     uint32_t source)
{
    bool found = false;
    uint32_t number;
    for (uint32_t life = 1;
         life <= VV_SPACE_LIVES_MAX && !found && find_life(store, owner, tier, life, &number);
         life++) {
        found = has_any(store, number, source);
    }
    return found;
}

static bool has_told(struct vv_cassandra *store)
{
    struct vv_parked parked;
    vv_shared_parked(&store->base, &parked);
    return parked.n_told > 0;
}

bool vv_parked_below(struct vv_cassandra *store, const struct vv_partition *partition)
{
    enum vv_space tier;
    uint32_t number;
    uint32_t source = partition->source;
    struct vv_str name = vv_cassandra_tenant(store, partition->tenant);
    bool is_cohort = vv_cohort_is(source);
    if (!vv_parking_has_any(&store->parking) || !vv_space_of_name(name, &tier)) {
        return false;
    }
    if (is_cohort && has_told(store)) {
        return true;
    }
    if (atomic_load(&store->parking.n_runs) == 0 && atomic_load(&store->parking.n_buckets) == 0) {
        return false;
    }
    struct vv_str owner = vv_space_place_name(name);
    bool found = is_named(store, owner, &number) && has_any(store, number, source);
    found = found || (vv_cassandra_late_space(store, partition->tenant, &number) &&
                      has_any(store, number, source));
    int end = (int)tier + is_cohort; /* it is built of the sources' units of the same tier */
    for (int finer = 0; finer < end && !found; finer++) {
        found = has_tier(store, owner, (enum vv_space)finer, source);
    }
    return found;
}

bool vv_shared_has_parked_below(struct vv_store *base, const struct vv_partition *partition)
{
    return vv_parked_below(vv_cassandra_of(base), partition);
}

bool vv_park_puts_now(struct vv_cassandra *store, const struct vv_partition *partition)
{
    return vv_cohort_is(partition->source) && !vv_park_is_away(store, partition);
}

bool vv_park_doubts(struct vv_cassandra *store, struct vv_piece *run)
{
    uint32_t *source = &run->key.partition.source;
    run->part = vv_cohort_doubt(*source, run->part % 4);
    *source = VV_COHORT_DOUBTS;
    return !vv_park_is_away(store, &run->key.partition);
}

/* Of a cohort's unit what can be put at once is put, and said of it by the mark. */
bool vv_shared_is_held(struct vv_store *base, const struct vv_mark *mark, bool has_run)
{
    struct vv_cassandra *store = vv_cassandra_of(base);
    const struct vv_partition *partition = &mark->key.partition;
    bool is_held = has_run && vv_park_wants_run(store, partition);
    return (is_held && !vv_park_puts_now(store, partition)) || vv_ledger_is_away(store, mark);
}

/* Of a source's partition in a tier that has cohorts, its cohort's. */
static bool find_cohort(struct vv_cassandra *store, const struct vv_partition *partition,
                        struct vv_partition *cohort_out)
{
    enum vv_space tier;
    uint64_t id;
    *cohort_out = *partition;
    return !vv_cohort_is(partition->source) &&
           vv_space_of_name(vv_cassandra_tenant(store, partition->tenant), &tier) &&
           vv_tier_has_cohorts(tier) &&
           vv_shared_cohort_of(&store->base, partition->tenant, partition->source,
                               &cohort_out->source, &id) == VV_OK;
}

/* Where a unit lies, and that of its cohort. */
static bool is_unit_away(struct vv_cassandra *store, const struct vv_partition *unit)
{
    struct vv_partition cohort;
    return vv_park_is_away(store, unit) ||
           (find_cohort(store, unit, &cohort) && vv_park_is_away(store, &cohort));
}

bool vv_parked_above_is_away(struct vv_cassandra *store, const struct vv_mark *mark)
{
    const struct vv_partition *partition = &mark->key.partition;
    struct vv_str name = vv_cassandra_tenant(store, partition->tenant);
    struct vv_str owner = vv_space_place_name(name);
    enum vv_space tier;
    bool is_away = false;
    uint32_t number;
    if (!vv_dead_any(&store->dead)) {
        return false;
    }
    if (vv_space_of_name(name, &tier)) {
        return is_unit_away(store, partition);
    }
    for (int above = 0; above < VV_SPACES; above++) {
        for (uint32_t life = 1; life <= VV_SPACE_LIVES_MAX && !is_away &&
                                find_life(store, owner, (enum vv_space)above, life, &number);
             life++) {
            const struct vv_span_key key =
                vv_unit_key((enum vv_space)above, number, partition->source, mark->key.measurement,
                            mark->key.span_start);
            is_away = is_unit_away(store, &key.partition);
        }
    }
    return is_away;
}

/* The cohort's own run is parked, too, and comes behind all that is: this one keeps what others
 * have built without the source from being taken for all there is until then. It is one run for all
 * sources; each try has a version of its own, so that it is none that was covered before. */
struct vvcql_statement *vv_parked_cohort_run(struct vv_cassandra *store, const struct vv_piece *run,
                                             int64_t version)
{
    struct vv_piece more = *run;
    struct vvcql_statement *statement;
    if (!find_cohort(store, &run->key.partition, &more.key.partition)) {
        return NULL;
    }
    more.run = vv_stamp_make(1, 0);
    more.part = MORE_PART;
    more.version = version;
    if (vv_park_is_away(store, &more.key.partition) && !vv_park_doubts(store, &more)) {
        return NULL;
    }
    return vv_cassandra_run_statement(store, &more, false, &statement, NULL) == VV_OK ? statement
                                                                                      : NULL;
}
