/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From when on all is there that was written, of each tenant and each space: noted durably before
 * anything expires, so that it stays known when a retention is lengthened later. A tier is whole
 * from when it was seen to be on at the earliest, by the wall clock, and from behind all that may
 * have been written by then: what was sealed before has no records, however far expiry is held up.
 *
 * Where nodes share a store, what they agree on says it (vv_registry_whole, set in retentions.c).
 *
 * Metadata: VV_META_WHOLE, keyed by the tenant's or space's number: u8 version, i64 time. From
 * version 2 on what has expired follows (seal/expired.h): u64 count, u8 n, of each u64 count, i64
 * time; and from version 3 on what a tier lacks: i64 time.
 *
 * A tier lacks what had expired of it when it was made to be kept for longer, and what was there
 * already when it was switched on; for good when what it is built of is gone. A reroll builds it
 * again before that (built_again.c).
 */
#include "engine/engine_private.h"
#include "engine/lacks.h"
#include "registry/shared.h"

#include <stdlib.h>
#include <string.h>

#define VERSION      3
#define UNKNOWN      INT64_MIN
#define NOTHING      INT64_MAX /* a tier that is off */
#define NOTE_EACH_NS VV_HOUR   /* rounded up to: so that it is written once in a while */

struct vv_whole_note {
    int64_t from;
    int64_t lacked_before;     /* what was before that a tier may lack; VV_TIME_MIN: nothing */
    struct vv_expired expired; /* of points */
    bool is_said;              /* a record may have said that count since it was noted */
};

static bool fit(struct vv_engine *engine, uint32_t n)
{
    if (n <= engine->n_whole) {
        return true;
    }
    pthread_mutex_lock(&engine->lock); /* others read it: vv_whole_bounds */
    struct vv_whole_note *bigger = realloc(engine->whole, n * sizeof *bigger);
    for (uint32_t i = engine->n_whole; bigger && i < n; i++) {
        bigger[i] =
            (struct vv_whole_note){.from = UNKNOWN, .lacked_before = VV_TIME_MIN, .is_said = true};
    }
    if (bigger) {
        engine->whole = bigger;
        engine->n_whole = n;
    }
    pthread_mutex_unlock(&engine->lock);
    return bigger != NULL;
}

struct loading {
    struct vv_engine *engine;
    struct vv_error *error;
};

/* False: it is damaged. One of version 1 says when all points are whole again. */
static bool read_expired(struct vv_reader *reader, uint8_t version, int64_t from,
                         struct vv_expired *expired_out)
{
    *expired_out = (struct vv_expired){0};
    if (version == 1) {
        if (from > VV_TIME_MIN && from != NOTHING) {
            vv_expired_note(expired_out, from);
        }
        return true;
    }
    expired_out->count = vv_reader_u64(reader);
    expired_out->n = vv_reader_u8(reader);
    bool is_good = expired_out->n <= VV_EXPIRED_TIMES;
    for (size_t i = 0; i < expired_out->n && is_good; i++) {
        expired_out->times[i].count = vv_reader_u64(reader);
        expired_out->times[i].before = (int64_t)vv_reader_u64(reader);
    }
    return is_good && !reader->failed;
}

static enum vv_status load(void *context, struct vv_str key, struct vv_str value)
{
    struct loading *loading = context;
    struct vv_reader reader = vv_reader_of(value.data, value.size);
    struct vv_reader number = vv_reader_of(key.data, key.size);
    uint32_t n = vv_reader_be32(&number);
    uint8_t version = vv_reader_u8(&reader);
    int64_t from = (int64_t)vv_reader_u64(&reader);
    struct vv_expired expired;
    bool is_good = version >= 1 && version <= VERSION && !number.failed && !reader.failed &&
                   read_expired(&reader, version, from, &expired);
    int64_t lacked_before = version < 3 ? VV_TIME_MIN : (int64_t)vv_reader_u64(&reader);
    is_good = is_good && !reader.failed;
    if (!is_good) {
        return vv_error_set(loading->error, version > VERSION ? VV_NEWER : VV_CORRUPT,
                            "a record of what has expired is damaged or of a newer version");
    }
    if (n >= vv_registry_tenant_count(loading->engine->registry)) {
        return VV_OK;
    }
    if (!fit(loading->engine, n + 1)) {
        return vv_error_set(loading->error, VV_NO_MEMORY, "out of memory");
    }
    loading->engine->whole[n].from = from;
    loading->engine->whole[n].lacked_before = lacked_before;
    loading->engine->whole[n].expired = expired;
    return VV_OK;
}

enum vv_status vv_whole_load(struct vv_engine *engine, struct vv_error *error)
{
    struct loading loading = {engine, error};
    return engine->store->ops->scan_meta(engine->store, VV_META_WHOLE, (struct vv_str){0}, load,
                                         &loading, error);
}

void vv_whole_end_lives(struct vv_engine *engine)
{
    for (uint32_t i = 0; i < engine->n_whole; i++) {
        if (engine->whole[i].from == NOTHING && vv_registry_is_ending(engine->registry, i)) {
            vv_registry_end_life(engine->registry, i);
        }
    }
}

/* What is there at a time, by the lives that have not ended at another one: the later of both. */
struct when {
    int64_t at;
    int64_t seen;
};

static struct when when_of(const struct vv_engine *engine, int64_t at)
{
    int64_t now = engine->clock->wall_ns(engine->clock);
    return (struct when){at, at > now ? at : now};
}

/* What nodes share expires by itself, by what they have agreed on: what is at least so old may have
 * gone at a time, also what was put before that, when it was to live for less. VV_TIME_MIN:
 * nothing. */
static int64_t shared_gone(const struct vv_engine *engine, uint32_t number, struct when when)
{
    struct vv_whole whole = vv_registry_whole(engine->registry, number);
    int64_t retention = vv_registry_life(engine->registry, number, when.seen);
    int64_t from = retention > 0 ? when.at - retention : VV_TIME_MIN;
    int64_t gone = vv_whole_gone(&whole, when.at, when.seen);
    return gone > from ? gone : from;
}

static int64_t shared_from(const struct vv_engine *engine, uint32_t number, struct when when)
{
    struct vv_registry *registry = engine->registry;
    if (vv_registry_retention(registry, number) == VV_SPACE_OFF_NS &&
        !vv_registry_is_ending(registry, number)) {
        return NOTHING;
    }
    int64_t from = shared_gone(engine, number, when);
    return from == VV_TIME_MIN ? from : vv_time_floor(from, NOTE_EACH_NS) + NOTE_EACH_NS;
}

/* At a time, where that takes what is there. */
static int64_t whole_from(const struct vv_engine *engine, uint32_t number, struct when when)
{
    if (engine->store->ops->shared) {
        return shared_from(engine, number, when);
    }
    bool is_known = number < engine->n_whole && engine->whole[number].from != UNKNOWN;
    return is_known ? engine->whole[number].from : NOTHING;
}

/* What nodes share lives for so much longer. */
static int64_t tiers_at(const struct vv_engine *engine)
{
    return engine->clock->wall_ns(engine->clock) - engine->settings.cassandra_slack_ns;
}

/* Before expiry has been looked at nothing has gone in this process that is not noted. */
int64_t vv_whole_for_tiers(void *context, uint32_t tenant)
{
    struct vv_engine *engine = context;
    if (!engine->store->ops->shared) {
        int64_t from = whole_from(engine, tenant, when_of(engine, 0));
        return from == NOTHING ? INT64_MIN : from;
    }
    int64_t gone = shared_gone(engine, tenant, when_of(engine, tiers_at(engine)));
    return gone > VV_TIME_MIN ? gone : INT64_MIN;
}

int64_t vv_whole_for_records(void *context, uint32_t space)
{
    struct vv_engine *engine = context;
    return whole_from(engine, space, when_of(engine, engine->clock->wall_ns(engine->clock)));
}

int64_t vv_whole_for_queries(void *context, uint32_t number)
{
    struct vv_engine *engine = context;
    pthread_mutex_lock(&engine->lock);
    int64_t from = vv_whole_for_tiers(engine, number);
    pthread_mutex_unlock(&engine->lock);
    return from;
}

/* By `at` all has gone that is older than points live, whenever it was put; and what was put before
 * a retention was made longer, when it was to. The time from when on all nodes knew of the last
 * longer one is the count. */
static void shared_expired(const struct vv_engine *engine, uint32_t tenant, int64_t at,
                           struct vv_expired *expired_out)
{
    struct vv_whole whole = vv_registry_whole(engine->registry, tenant);
    int64_t seen = when_of(engine, at).seen;
    int64_t life = vv_registry_life(engine->registry, tenant, seen);
    _Static_assert(VV_LENGTHENED_MAX < VV_EXPIRED_TIMES, "there is room for all");
    *expired_out = (struct vv_expired){.count = (uint64_t)vv_whole_from(&whole), .n = whole.n};
    for (size_t i = 0; i < whole.n; i++) {
        const struct vv_lengthened *one = &whole.longer[i];
        int64_t before = at - vv_lengthened_kept_ns(one, seen);
        expired_out->times[i].count = (uint64_t)one->from;
        expired_out->times[i].before = before < one->from ? before : one->from;
    }
    if (life > 0) {
        expired_out->times[expired_out->n].count = UINT64_MAX;
        expired_out->times[expired_out->n++].before = at - life;
    }
}

void vv_whole_expired(void *context, uint32_t tenant, struct vv_expired *expired_out)
{
    const struct vv_engine *engine = context;
    if (engine->store->ops->shared) {
        shared_expired(engine, tenant, tiers_at(engine), expired_out);
        return;
    }
    *expired_out =
        tenant < engine->n_whole ? engine->whole[tenant].expired : (struct vv_expired){0};
}

void vv_whole_expired_in(struct vv_engine *engine, uint32_t tenant, int64_t ahead_ns,
                         struct vv_expired *expired_out)
{
    if (engine->store->ops->shared) {
        int64_t now = engine->clock->wall_ns(engine->clock);
        shared_expired(engine, tenant, now + ahead_ns, expired_out);
        return;
    }
    pthread_mutex_lock(&engine->lock);
    vv_whole_expired(engine, tenant, expired_out);
    pthread_mutex_unlock(&engine->lock);
}

void vv_whole_said(void *context, uint32_t tenant)
{
    struct vv_engine *engine = context;
    if (tenant < engine->n_whole) {
        engine->whole[tenant].is_said = true;
    }
}

static struct vv_reroll_bounds bounds_of(struct vv_engine *engine, uint32_t place, struct when when)
{
    struct vv_tiers tiers = vv_registry_tiers_built(engine->registry, place);
    pthread_mutex_lock(&engine->lock);
    struct vv_reroll_bounds bounds = {.raw_from = whole_from(engine, place, when),
                                      .heard_until = INT64_MAX};
    for (int tier = 0; tier < VV_SPACES; tier++) {
        uint32_t space = tiers.spaces[tier];
        bounds.tier_from[tier] =
            space != VV_REGISTRY_NONE ? whole_from(engine, space, when) : INT64_MAX;
        bounds.tier_gone[tier] = INT64_MIN;
    }
    pthread_mutex_unlock(&engine->lock);
    return bounds;
}

struct vv_reroll_bounds vv_whole_bounds(struct vv_engine *engine, uint32_t place)
{
    return vv_whole_bounds_in(engine, place, 0);
}

struct vv_reroll_bounds vv_whole_bounds_in(struct vv_engine *engine, uint32_t place,
                                           int64_t ahead_ns)
{
    int64_t at = engine->clock->wall_ns(engine->clock) + ahead_ns;
    return bounds_of(engine, place, when_of(engine, at));
}

struct vv_reroll_bounds vv_whole_bounds_for(struct vv_engine *engine, uint32_t place,
                                            int64_t ahead_ns)
{
    int64_t now = engine->clock->wall_ns(engine->clock);
    return bounds_of(engine, place, (struct when){now, now + ahead_ns});
}

/* The same once more, too, if there are records from since then: what they were made of may go. */
static void note_expired(struct vv_whole_note *note, int64_t gone)
{
    const struct vv_expired *expired = &note->expired;
    if (note->is_said || expired->n == 0 || expired->times[expired->n - 1].before != gone) {
        vv_expired_note(&note->expired, gone);
    }
}

/* As the store was told, or as it is by now: a retention may become longer before it expires. */
static int64_t kept_ns(const struct vv_engine *engine, uint32_t number, int64_t now)
{
    int64_t life = vv_registry_life(engine->registry, number, now);
    int64_t told = number < engine->n_retentions ? engine->retentions[number] : life;
    return told > 0 && vv_retention_is_longer(life, told) ? told : life;
}

/* ---- what tiers lack ---- */

static bool is_noted(const struct vv_engine *engine, uint32_t number)
{
    return number < engine->n_whole && engine->whole[number].from != UNKNOWN &&
           engine->whole[number].from != NOTHING;
}

/* From when on a tier can be built. A finer one that is not noted as on can't have more yet than
 * what it is built of itself. */
static int64_t built_from(const struct vv_engine *engine, const struct vv_tiers *built,
                          uint32_t place, enum vv_space tier)
{
    int64_t from = is_noted(engine, place) ? engine->whole[place].from : VV_TIME_MIN;
    for (int finer = 0; finer < (int)tier; finer++) {
        uint32_t space = built->spaces[finer];
        if (space != VV_REGISTRY_NONE && is_noted(engine, space)) {
            int64_t lacked = engine->whole[space].lacked_before;
            from = lacked < from ? lacked : from;
        }
    }
    return from;
}

/* What it is built of lives on unseen when that is kept for less. */
static int64_t answered_from(const struct vv_engine *engine, uint32_t place, enum vv_space tier)
{
    struct vv_retentions kept = vv_engine_retentions(engine, place);
    int64_t now = engine->clock->wall_ns(engine->clock);
    int64_t longest_ns = kept.raw_ns;
    for (int finer = 0; finer < (int)tier; finer++) {
        bool is_on = vv_retentions_have(&kept, (enum vv_space)finer);
        longest_ns = is_on ? vv_retention_longer(longest_ns, kept.tiers_ns[finer]) : longest_ns;
    }
    return longest_ns > 0 && now > VV_TIME_MIN + longest_ns ? now - longest_ns : VV_TIME_MIN;
}

/* One that is not noted yet began with its place, or lacks all that was before. Under the lock. */
static int64_t lacked_noted(const struct vv_engine *engine, uint32_t place, uint32_t space)
{
    bool is_place_noted = place < engine->n_whole && engine->whole[place].from != UNKNOWN;
    return is_noted(engine, space) ? engine->whole[space].lacked_before
           : is_place_noted        ? INT64_MAX
                                   : VV_TIME_MIN;
}

int64_t vv_whole_lacked_before(void *context, uint32_t space)
{
    struct vv_engine *engine = context;
    uint32_t place;
    enum vv_space tier;
    if (!vv_registry_space_of(engine->registry, space, &place, &tier)) {
        return VV_TIME_MIN;
    }
    if (engine->store->ops->shared) {
        return vv_lacks_shared(engine, space, place, tier);
    }
    struct vv_tiers built = vv_registry_tiers_built(engine->registry, place);
    int64_t answered = answered_from(engine, place, tier);
    pthread_mutex_lock(&engine->lock);
    int64_t before = built_from(engine, &built, place, tier);
    before = answered > before ? answered : before;
    int64_t noted = lacked_noted(engine, place, space);
    pthread_mutex_unlock(&engine->lock);
    return noted < before ? noted : before;
}

/* ---- noting ---- */

/* Of one that is on from now on: what was sealed before it lacks. */
static int64_t lacked_at_first(struct vv_engine *engine, uint32_t place, int64_t now)
{
    struct vv_account_cell *cell =
        vv_account_of(engine, vv_registry_owner(engine->registry, place));
    bool is_new = engine->whole[place].from == UNKNOWN; /* the tier began with it */
    uint64_t switched_at = cell ? atomic_load(&cell->switched_at) : 0;
    bool had_some = cell && (switched_at > 0 ? switched_at > 1 : atomic_load(&cell->accepted) > 0);
    return is_new || !had_some ? VV_TIME_MIN : now + engine->settings.future_ns_max;
}

/* What holds when that has gone which may go at `expiry_ns`, seen at `now`. */
static struct vv_whole_note next_of(struct vv_engine *engine, uint32_t number, int64_t now,
                                    int64_t expiry_ns)
{
    struct vv_whole_note next = engine->whole[number];
    uint32_t place;
    enum vv_space tier;
    bool is_tier = vv_registry_space_of(engine->registry, number, &place, &tier);
    int64_t retention = kept_ns(engine, number, now);
    if (is_tier && retention == VV_SPACE_OFF_NS) {
        next.from = NOTHING;
        next.lacked_before = VV_TIME_MIN;
        return next;
    }
    if (is_tier && !is_noted(engine, number)) {
        next.lacked_before = lacked_at_first(engine, place, now);
    }
    if (next.from == UNKNOWN || next.from == NOTHING) { /* a new one; or it is on from now on */
        next.from = is_tier ? now + engine->settings.future_ns_max : VV_TIME_MIN;
    }
    if (retention > 0 && expiry_ns > VV_TIME_MIN + retention) {
        int64_t gone = vv_time_floor(expiry_ns - retention, NOTE_EACH_NS) + NOTE_EACH_NS;
        next.from = gone > next.from ? gone : next.from;
        if (is_tier) {
            next.lacked_before = gone > next.lacked_before ? gone : next.lacked_before;
        } else {
            note_expired(&next, gone);
            next.is_said = false;
        }
    }
    return next;
}

static enum vv_status put(struct vv_engine *engine, uint32_t number,
                          const struct vv_whole_note *note, struct vv_error *error)
{
    const struct vv_expired *expired = &note->expired;
    uint8_t key[4];
    struct vv_buffer value = {0};
    vv_registry_key(number, key);
    bool lacks = note->lacked_before > VV_TIME_MIN;
    bool has_expired = expired->count > 0;
    vv_buffer_u8(&value, lacks ? VERSION : has_expired ? 2 : 1);
    vv_buffer_u64(&value, (uint64_t)note->from);
    if (lacks || has_expired) {
        vv_buffer_u64(&value, expired->count);
        vv_buffer_u8(&value, (uint8_t)expired->n);
    }
    for (size_t i = 0; i < expired->n; i++) {
        vv_buffer_u64(&value, expired->times[i].count);
        vv_buffer_u64(&value, (uint64_t)expired->times[i].before);
    }
    if (lacks) {
        vv_buffer_u64(&value, (uint64_t)note->lacked_before);
    }
    enum vv_status status = vv_buffer_status(&value);
    if (status == VV_OK) {
        struct vv_store *store = engine->store;
        status = store->ops->put_meta(store, VV_META_WHOLE,
                                      (struct vv_str){(const char *)key, sizeof key},
                                      (struct vv_str){(const char *)value.data, value.size}, error);
    }
    vv_buffer_deinit(&value);
    return status;
}

/* What is in memory is durable: else a store that failed would never be told again. */
static enum vv_status note_all(struct vv_engine *engine, int64_t expiry_ns,
                               struct vv_whole_note *next, uint32_t n, struct vv_error *error)
{
    int64_t now = engine->clock->wall_ns(engine->clock);
    bool any = false;
    enum vv_status status = VV_OK;
    for (uint32_t i = 0; i < n && status == VV_OK; i++) {
        const struct vv_whole_note *present = &engine->whole[i];
        next[i] = next_of(engine, i, now, expiry_ns);
        if (next[i].from != present->from || next[i].expired.count != present->expired.count ||
            next[i].lacked_before != present->lacked_before) {
            status = put(engine, i, &next[i], error);
            any |= next[i].from != VV_TIME_MIN; /* else nothing goes: that may be lost */
        }
    }
    status = status == VV_OK && any ? vv_engine_confirm(engine, error) : status;
    if (status == VV_OK) {
        pthread_mutex_lock(&engine->lock);
        memcpy(engine->whole, next, n * sizeof *next);
        pthread_mutex_unlock(&engine->lock);
    }
    return status;
}

enum vv_status vv_whole_note_built(struct vv_engine *engine, uint32_t space, int64_t from,
                                   int64_t to, struct vv_error *error)
{
    if (!is_noted(engine, space) || from >= engine->whole[space].lacked_before ||
        to < engine->whole[space].lacked_before) {
        return VV_OK;
    }
    struct vv_whole_note next = engine->whole[space];
    next.lacked_before = from;
    enum vv_status status = put(engine, space, &next, error);
    status = status == VV_OK ? vv_engine_confirm(engine, error) : status;
    if (status == VV_OK) {
        pthread_mutex_lock(&engine->lock);
        engine->whole[space].lacked_before = from;
        pthread_mutex_unlock(&engine->lock);
    }
    return status;
}

bool vv_whole_is_noted(const struct vv_engine *engine)
{
    if (engine->store->ops->shared) {
        return true;
    }
    uint32_t n = vv_registry_tenant_count(engine->registry);
    bool is_noted = n <= engine->n_whole;
    for (uint32_t i = 0; i < n && is_noted; i++) {
        is_noted = engine->whole[i].from != UNKNOWN;
    }
    return is_noted;
}

enum vv_status vv_whole_note(struct vv_engine *engine, int64_t expiry_ns, struct vv_error *error)
{
    uint32_t n = vv_registry_tenant_count(engine->registry);
    if (engine->store->ops->shared || n == 0) {
        return VV_OK;
    }
    struct vv_whole_note *next = fit(engine, n) ? malloc(n * sizeof *next) : NULL;
    enum vv_status status = next ? note_all(engine, expiry_ns, next, n, error)
                                 : vv_error_set(error, VV_NO_MEMORY, "out of memory");
    free(next);
    return status;
}
