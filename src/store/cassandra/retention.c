/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long rows live, in which table, and in which layout. What is stored keeps the end that it was
 * given: a retention that is changed later counts for new blocks; a shorter one is hidden at once
 * by the reader, a longer one can't bring back what was written to end earlier.
 */
#include "store/cassandra/rows.h"

#include "model/late.h"
#include "store/keys.h"
#include "tier/unit.h"

#include <stdlib.h>

#define TTL_MIN_S 60                 /* without slack */
#define TTL_MAX_S INT64_C(630720000) /* 20 years: Cassandra takes no longer one */
#define EPOCH_END_S                                                                                \
    INT64_C(2147483000) /* 2038-01-19: before storage_compatibility_mode NONE the                  \
                           end of a row must lie before */

static int32_t ttl_of(int64_t end_ns, int64_t now_ns)
{
    int64_t now_s = now_ns / VV_SECOND;
    int64_t left_s = end_ns / VV_SECOND - now_s + 1;
    if (left_s < TTL_MIN_S) {
        return TTL_MIN_S; /* never 0, which is for ever */
    }
    if (left_s > TTL_MAX_S || left_s > EPOCH_END_S - now_s) {
        return 0; /* rather too long than too short */
    }
    return (int32_t)left_s;
}

static int64_t later(int64_t time_ns, int64_t by_ns)
{
    int64_t sum;
    return __builtin_add_overflow(time_ns, by_ns, &sum) ? INT64_MAX : sum;
}

int32_t vv_cassandra_block_ttl(const struct vv_cassandra *store, int64_t bucket_end_ns,
                               int64_t retention_ns, int64_t now_ns)
{
    if (retention_ns == 0) {
        return 0;
    }
    int64_t end_ns = later(bucket_end_ns, retention_ns);
    return ttl_of(later(end_ns > now_ns ? end_ns : now_ns, store->slack_ns), now_ns);
}

int32_t vv_cassandra_run_ttl(const struct vv_cassandra *store, int64_t end_ns, int64_t now_ns)
{
    return ttl_of(later(end_ns > now_ns ? end_ns : now_ns, store->slack_ns), now_ns);
}

/* A tier's bucket is longer than a unit by far, and what lives as long as it would keep Cassandra
 * from dropping the runs of raw data that expire beside it. */
int64_t vv_cassandra_runs_end(const struct vv_cassandra *store, const struct vv_span_key *key)
{
    enum vv_space tier;
    const struct vv_partition *partition = &key->partition;
    return vv_space_of_name(vv_cassandra_tenant(store, partition->tenant), &tier)
               ? later(key->span_start, vv_tier_unit_ns_max(tier) + VV_TIER_DUE_NS_MAX)
               : partition->bucket_start + partition->bucket_ns;
}

static int32_t ttl_for(const struct vv_cassandra *store, const struct vv_span_key *key,
                       int64_t wait_ns, int64_t now_ns)
{
    int64_t due_ns = later(now_ns, wait_ns);
    int64_t end_ns = vv_cassandra_runs_end(store, key);
    return vv_cassandra_run_ttl(store, end_ns > due_ns ? end_ns : due_ns, now_ns);
}

int32_t vv_cassandra_runs_ttl(const struct vv_cassandra *store, const struct vv_span_key *key,
                              int64_t now_ns)
{
    return ttl_for(store, key, vv_cassandra_fold_wait(store, key->partition.tenant), now_ns);
}

/* Who wrote the runs may have had folds further apart than this node has them. */
int32_t vv_cassandra_cover_ttl(const struct vv_cassandra *store, const struct vv_span_key *key,
                               int64_t now_ns)
{
    bool waits = vv_cassandra_may_wait(store, key->partition.tenant);
    return ttl_for(store, key, waits ? VV_LATE_FOLD_NS_MAX : 0, now_ns);
}

/* ---- classes ---- */

/* The shortest class that is not below the retention; the last is for ever. */
static uint8_t class_of(const struct vv_cassandra *store, int64_t retention_ns)
{
    size_t last = store->n_classes - 1;
    for (size_t i = 0; i < last && retention_ns > 0; i++) {
        if (store->classes[i].retention_ns >= retention_ns) {
            return (uint8_t)i;
        }
    }
    return (uint8_t)last;
}

/* Where the tenant is, or belongs, in a list that ascends by tenant. */
static size_t place_of(const struct vv_tenant_classes *tenants, size_t n, uint32_t tenant)
{
    size_t low = 0;
    while (low < n) {
        size_t middle = low + (n - low) / 2;
        if (tenants[middle].tenant < tenant) {
            low = middle + 1;
        } else {
            n = middle;
        }
    }
    return low;
}

/* What a tenant has that no retention was set for. */
static struct vv_tenant_classes without_record(const struct vv_cassandra *store, uint32_t tenant)
{
    return (struct vv_tenant_classes){.tenant = tenant, .n = 1, .classes = {class_of(store, 0)}};
}

struct vv_tenant_classes vv_cassandra_recorded(struct vv_cassandra *store, uint32_t tenant,
                                               bool *found_out)
{
    struct vv_tenant_classes classes = without_record(store, tenant);
    pthread_mutex_lock(&store->lock);
    size_t at = place_of(store->tenants, store->n_tenants, tenant);
    *found_out = at < store->n_tenants && store->tenants[at].tenant == tenant;
    if (*found_out) {
        classes = store->tenants[at];
    }
    pthread_mutex_unlock(&store->lock);
    return classes;
}

int64_t vv_cassandra_retention(struct vv_cassandra *store, uint32_t tenant)
{
    bool found;
    return vv_cassandra_recorded(store, tenant, &found).retention_ns;
}

struct vv_tenant_classes vv_cassandra_classes_of(struct vv_cassandra *store, uint32_t tenant)
{
    bool found;
    struct vv_tenant_classes classes = vv_cassandra_recorded(store, tenant, &found);
    if (!found) { /* nothing was written here; another node may have */
        classes.layouts = VV_LAYOUT_BLOCKS;
    }
    classes.layouts |= vv_cassandra_layout(store, tenant);
    return classes;
}

uint8_t vv_cassandra_written_layout(struct vv_cassandra *store, uint32_t tenant)
{
    bool found;
    struct vv_tenant_classes classes = vv_cassandra_recorded(store, tenant, &found);
    return classes.layout ? classes.layout : vv_cassandra_layout(store, tenant);
}

/* Puts a class at the front. */
static void prefer(struct vv_tenant_classes *classes, uint8_t one)
{
    uint8_t before[VV_CASSANDRA_CLASSES_MAX + 1];
    uint32_t n = 1;
    memcpy(before, classes->classes, sizeof before);
    classes->classes[0] = one;
    for (uint32_t i = 0; i < classes->n; i++) {
        if (before[i] != one) {
            classes->classes[n++] = before[i];
        }
    }
    classes->n = n;
}

void vv_cassandra_prefer_own(const struct vv_cassandra *store, struct vv_tenant_classes *classes)
{
    prefer(classes, class_of(store, classes->retention_ns));
}

static void add_class(struct vv_tenant_classes *classes, uint8_t one)
{
    if (!memchr(classes->classes, one, classes->n)) {
        classes->classes[classes->n++] = one;
    }
}

/* What the other has, and this one not, behind it. */
static void add_classes(struct vv_tenant_classes *classes, const struct vv_tenant_classes *other)
{
    classes->layouts |= other->layouts;
    for (uint32_t i = 0; i < other->n; i++) {
        add_class(classes, other->classes[i]);
    }
}

/* Into a list that ascends by tenant. */
static bool keep_tenant(struct vv_tenant_classes **tenants, size_t *n,
                        const struct vv_tenant_classes *classes)
{
    size_t at = place_of(*tenants, *n, classes->tenant);
    if (at < *n && (*tenants)[at].tenant == classes->tenant) {
        (*tenants)[at] = *classes;
        return true;
    }
    struct vv_tenant_classes *bigger = realloc(*tenants, (*n + 1) * sizeof *bigger);
    if (!bigger) {
        return false;
    }
    memmove(bigger + at + 1, bigger + at, (*n - at) * sizeof *bigger);
    bigger[at] = *classes;
    *tenants = bigger;
    *n += 1;
    return true;
}

/*
 * The record of a tenant, integers big-endian:
 *
 *   retention 8
 *   layouts   1   that it has had, bits of enum vv_layout; 16 times the one that this node writes
 *   classes   8 × n   the retention of each, the one that blocks are written into first; the
 *                     classes of a configuration may change, their tables stay
 */
#define RECORD_HEAD  9
#define LAYOUT_SHIFT 4
#define LAYOUT_BITS  (VV_LAYOUT_BLOCKS | VV_LAYOUT_ROWS)

static void encode_record(const struct vv_cassandra *store, const struct vv_tenant_classes *classes,
                          struct vv_buffer *out)
{
    vv_buffer_be64(out, (uint64_t)classes->retention_ns);
    vv_buffer_u8(out, (uint8_t)(classes->layouts | classes->layout << LAYOUT_SHIFT));
    for (uint32_t i = 0; i < classes->n; i++) {
        vv_buffer_be64(out, (uint64_t)store->classes[classes->classes[i]].retention_ns);
    }
}

enum vv_status vv_cassandra_put_classes(struct vv_cassandra *store,
                                        const struct vv_tenant_classes *classes,
                                        struct vv_error *error)
{
    uint8_t key[4];
    struct vv_buffer value = {0};
    vv_key_put_u32(key, classes->tenant);
    encode_record(store, classes, &value);
    enum vv_status status = vv_buffer_status(&value);
    struct vv_store *local = store->local;
    if (status == VV_OK) {
        status = local->ops->put_meta(local, VV_LOCAL_CLASSES, (struct vv_str){(char *)key, 4},
                                      (struct vv_str){(char *)value.data, value.size}, error);
    }
    vv_buffer_deinit(&value);
    return status;
}

/* The same record, but for the number, goes to the other nodes: they must know where to read. */
static enum vv_status tell_record(struct vv_cassandra *store,
                                  const struct vv_tenant_classes *classes, struct vv_error *error)
{
    struct vv_buffer value = {0};
    encode_record(store, classes, &value);
    enum vv_status status = vv_buffer_status(&value);
    if (status == VV_OK) {
        const struct vv_told told = {.kind = VV_TOLD_CLASSES,
                                     .tenant = vv_cassandra_tenant(store, classes->tenant),
                                     .value = {(char *)value.data, value.size}};
        status = vv_shared_tell(&store->base, &told, error);
    }
    vv_buffer_deinit(&value);
    return status;
}

enum vv_status vv_cassandra_keep_classes(struct vv_cassandra *store,
                                         const struct vv_tenant_classes *classes,
                                         struct vv_error *error)
{
    struct vv_tenant_classes all = *classes;
    pthread_mutex_lock(&store->lock);
    size_t at = place_of(store->tenants, store->n_tenants, all.tenant);
    if (at < store->n_tenants && store->tenants[at].tenant == all.tenant) {
        add_classes(&all, &store->tenants[at]); /* learnt meanwhile */
    }
    bool kept = keep_tenant(&store->tenants, &store->n_tenants, &all);
    pthread_mutex_unlock(&store->lock);
    return kept ? VV_OK : vv_error_set(error, VV_NO_MEMORY, "out of memory");
}

/* A tenant that nobody has written anything of is written where it belongs at once: what is told
 * of it goes before the first run. */
enum vv_status vv_cassandra_set_retention(struct vv_store *base, uint32_t tenant,
                                          int64_t retention_ns, struct vv_error *error)
{
    struct vv_cassandra *store = vv_cassandra_of(base);
    if (retention_ns < 0) {
        return vv_error_set(error, VV_INVALID, "a retention can't be negative");
    }
    enum vv_status status = vv_cassandra_check(store, error);
    if (status != VV_OK) {
        return status;
    }
    bool found;
    struct vv_tenant_classes classes = vv_cassandra_recorded(store, tenant, &found);
    uint8_t wanted = class_of(store, retention_ns);
    bool is_new = !found || classes.classes[0] != wanted;
    bool waits = is_new && store->lead_ns > 0 && (found || !vv_cassandra_is_current(store));
    classes.retention_ns = retention_ns;
    if (waits) {
        add_class(&classes, wanted);
    } else {
        prefer(&classes, wanted);
    }
    status = vv_cassandra_put_classes(store, &classes, error);
    if (status == VV_OK && is_new) {
        status = tell_record(store, &classes, error);
    }
    if (status == VV_OK && waits) {
        status = vv_cassandra_wish_turn(store, tenant, error);
    }
    if (status == VV_OK) {
        status = store->local->ops->confirm(store->local, error);
    }
    if (status == VV_OK) {
        status = vv_cassandra_keep_classes(store, &classes, error);
    }
    return vv_cassandra_failed(store, status);
}

/* In a layout that others know of, until they know of the wanted one. */
static uint8_t known_layout(const struct vv_tenant_classes *classes)
{
    if (classes->layout) {
        return classes->layout;
    }
    return classes->layouts & VV_LAYOUT_ROWS ? VV_LAYOUT_ROWS : VV_LAYOUT_BLOCKS;
}

/* What a crash takes with the record is written again, in the layout of then. */
enum vv_status vv_cassandra_note_layout(struct vv_cassandra *store, uint32_t tenant,
                                        struct vv_error *error)
{
    bool found;
    struct vv_tenant_classes classes = vv_cassandra_recorded(store, tenant, &found);
    uint8_t wanted = vv_cassandra_layout(store, tenant);
    if (classes.layout == wanted ||
        (classes.layout && vv_cassandra_waits_for_turn(store, tenant))) {
        return VV_OK;
    }
    bool is_first = classes.layouts == 0 && vv_cassandra_is_current(store);
    bool is_known = classes.layout == 0 && (classes.layouts & wanted);
    bool waits = store->lead_ns > 0 && !is_first && !is_known && known_layout(&classes) != wanted;
    classes.layout = waits ? known_layout(&classes) : wanted;
    classes.layouts |= wanted | classes.layout;
    enum vv_status status = vv_cassandra_put_classes(store, &classes, error);
    if (status == VV_OK) {
        status = tell_record(store, &classes, error);
    }
    if (status == VV_OK && waits) {
        status = vv_cassandra_wish_turn(store, tenant, error);
    }
    if (status == VV_OK) {
        status = vv_cassandra_keep_classes(store, &classes, error);
    }
    return vv_cassandra_failed(store, status);
}

/* ---- loading ---- */

struct loading {
    struct vv_cassandra *store;
    struct vv_tenant_classes *tenants;
    size_t n;
    struct vv_error *error;
};

static enum vv_status decode_record(const struct vv_cassandra *store, struct vv_str value,
                                    struct vv_tenant_classes *classes_out, struct vv_error *error)
{
    size_t n = value.size < RECORD_HEAD ? 0 : (value.size - RECORD_HEAD) / 8;
    if (n == 0 || n > VV_CASSANDRA_CLASSES_MAX + 1 || value.size != RECORD_HEAD + n * 8) {
        return vv_error_set(error, VV_CORRUPT, "the record of a retention is damaged");
    }
    const uint8_t *at = (const uint8_t *)value.data;
    classes_out->retention_ns = (int64_t)vv_key_get_u64(at);
    classes_out->layouts = at[8] & LAYOUT_BITS;
    classes_out->layout = at[8] >> LAYOUT_SHIFT & LAYOUT_BITS;
    for (size_t i = n; i > 0; i--) {
        int64_t retention = (int64_t)vv_key_get_u64(at + RECORD_HEAD + (i - 1) * 8);
        uint8_t one = class_of(store, retention);
        if (store->classes[one].retention_ns != retention) {
            return vv_error_set(error, VV_INVALID,
                                "a tenant's data lies in a retention class that is not configured "
                                "here: add it to cassandra.classes, which must be the same for all "
                                "nodes");
        }
        prefer(classes_out, one);
    }
    return VV_OK;
}

static enum vv_status load_tenant(void *context, struct vv_str key, struct vv_str value)
{
    struct loading *loading = context;
    struct vv_tenant_classes classes = {0};
    if (key.size != 4) {
        return vv_error_set(loading->error, VV_CORRUPT, "the record of a retention is damaged");
    }
    classes.tenant = vv_key_get_u32((const uint8_t *)key.data);
    enum vv_status status = decode_record(loading->store, value, &classes, loading->error);
    if (status != VV_OK) {
        return status;
    }
    return keep_tenant(&loading->tenants, &loading->n, &classes) ? VV_OK : VV_NO_MEMORY;
}

/* To what is there by now: the storage thread may set something at the same time. */
static enum vv_status add_learnt(struct vv_cassandra *store, const struct vv_tenant_classes *theirs,
                                 bool is_of_own_region, struct vv_error *error)
{
    struct vv_tenant_classes classes = without_record(store, theirs->tenant);
    pthread_mutex_lock(&store->lock);
    size_t at = place_of(store->tenants, store->n_tenants, theirs->tenant);
    if (at < store->n_tenants && store->tenants[at].tenant == theirs->tenant) {
        classes = store->tenants[at];
        add_classes(&classes, theirs);
    } else if (is_of_own_region) {
        classes = *theirs;
    } else {
        add_classes(&classes, theirs);
    }
    bool kept = keep_tenant(&store->tenants, &store->n_tenants, &classes);
    pthread_mutex_unlock(&store->lock);
    return kept ? VV_OK : vv_error_set(error, VV_NO_MEMORY, "out of memory");
}

/* Where another node has put something is read too. Who has nothing of the tenant yet begins where
 * the other one of its region writes. */
enum vv_status vv_cassandra_learn_classes(struct vv_cassandra *store, struct vv_str tenant,
                                          struct vv_str value, bool is_of_own_region,
                                          struct vv_error *error)
{
    struct vv_tenant_classes theirs = {0};
    uint32_t number;
    enum vv_status status = decode_record(store, value, &theirs, error);
    if (status != VV_OK) {
        return status;
    }
    if (!store->names.tenant_named(store->names.context, tenant, &number)) {
        return VV_NOT_FOUND;
    }
    theirs.tenant = number;
    theirs.layout = 0;
    return add_learnt(store, &theirs, is_of_own_region, error);
}

static bool is_same(const struct vv_tenant_classes *a, const struct vv_tenant_classes *b)
{
    return a->layouts == b->layouts && a->layout == b->layout &&
           a->retention_ns == b->retention_ns && a->n == b->n &&
           memcmp(a->classes, b->classes, a->n) == 0;
}

/* After a failure: what was learnt from others is in no record, and what was put may be lost. */
static enum vv_status unite(struct vv_cassandra *store, struct loading *loading)
{
    enum vv_status status = VV_OK;
    for (size_t i = 0; i < store->n_tenants && status == VV_OK; i++) {
        struct vv_tenant_classes one = store->tenants[i];
        size_t at = place_of(loading->tenants, loading->n, one.tenant);
        bool has_record = at < loading->n && loading->tenants[at].tenant == one.tenant;
        if (has_record) {
            add_classes(&one, &loading->tenants[at]);
        }
        if (has_record ? !is_same(&one, &loading->tenants[at]) : one.layout != 0) {
            status = vv_cassandra_put_classes(store, &one, loading->error);
        }
        if (status == VV_OK && !keep_tenant(&loading->tenants, &loading->n, &one)) {
            status = VV_NO_MEMORY;
        }
    }
    return status;
}

/* Readers go on with what they knew until all is there. */
enum vv_status vv_cassandra_load_classes(struct vv_cassandra *store, struct vv_error *error)
{
    struct loading loading = {.store = store, .error = error};
    enum vv_status status = store->local->ops->scan_meta(
        store->local, VV_LOCAL_CLASSES, (struct vv_str){0}, load_tenant, &loading, error);
    pthread_mutex_lock(&store->lock);
    status = status == VV_OK ? unite(store, &loading) : status;
    struct vv_tenant_classes *unused = loading.tenants;
    if (status == VV_OK) {
        unused = store->tenants;
        store->tenants = loading.tenants;
        store->n_tenants = loading.n;
    }
    pthread_mutex_unlock(&store->lock);
    free(unused);
    return status;
}

/* Cassandra expires rows by itself, or they are purged by copying; what must not expire yet is
 * written again. */
enum vv_status vv_cassandra_expire(struct vv_store *base, int64_t now_ns, uint64_t work_bytes,
                                   bool *more_out, struct vv_error *error)
{
    struct vv_cassandra *store = vv_cassandra_of(base);
    *more_out = false;
    enum vv_status status = vv_cassandra_check(store, error);
    if (status == VV_OK) {
        status = vv_cassandra_refresh(store, now_ns, work_bytes, more_out, error);
    }
    bool purges_more = false;
    if (status == VV_OK) {
        vv_purge_go_on(store, now_ns, work_bytes, &purges_more);
        *more_out |= purges_more;
    }
    return status == VV_OVERLOAD ? VV_OK : vv_cassandra_failed(store, status); /* later then */
}
