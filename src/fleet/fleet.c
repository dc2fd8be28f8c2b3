/* SPDX-License-Identifier: Apache-2.0 */
/* The fleet's life, what is known at start, agreeing, learning, confirming. */
#include "fleet/fleet_private.h"

#include "base/log.h"

#include <stdlib.h>

#define READER_WAIT_NS (200 * VV_MILLISECOND)

/*
 * After a break in what is heard: whoever could not tell something meanwhile, since a part of the
 * store was away, has told it so long after that part is back. What is parked is tried again within
 * 8 s, which takes a request's time (12 s, unless that was set); and what was noted of hosts that
 * are away, which keeps others from trying, ends after 40 s when nothing renews it.
 */
#define TELLING_NS (60 * VV_SECOND)
/* After a start nobody knows whether there was a break before it. What others have parked by then
 * they try again all the time. */
#define TELLING_NS_AT_START (20 * VV_SECOND)
/* Whoever was not heard for less has told long before anybody needs it; some request or other
 * always fails. */
#define BREAK_NS (10 * VV_SECOND)

#define RECORD_KEY     VV_STR_LITERAL("told")
#define RECORD_VERSION 1 /* then: u32 this node's number */

static vv_stamp stamp_now(void *context)
{
    const struct vv_fleet *fleet = context;
    uint32_t node = vv_fleet_ops(fleet)->node(fleet->store);
    return vv_stamp_next(0, fleet->clock->wall_ns(fleet->clock), node);
}

enum vv_status vv_fleet_create(struct vv_registry *registry, struct vv_deletions *deletions,
                               struct vv_store *store, struct vv_clock *clock, int64_t reach_ns,
                               struct vv_fleet **fleet_out)
{
    struct vv_fleet *fleet = calloc(1, sizeof *fleet);
    if (!fleet) {
        return VV_NO_MEMORY;
    }
    fleet->registry = registry;
    fleet->deletions = deletions;
    fleet->store = store;
    fleet->clock = clock;
    fleet->reach_ns = reach_ns;
    atomic_init(&fleet->heard_wall_ns, INT64_MIN);
    atomic_init(&fleet->heard_kept_ns, INT64_MIN);
    vv_invariant(pthread_mutex_init(&fleet->lock, NULL) == 0);
    vv_invariant(pthread_mutex_init(&fleet->learning, NULL) == 0);
    vv_registry_share(registry, stamp_now, fleet);
    *fleet_out = fleet;
    return VV_OK;
}

void vv_fleet_destroy(struct vv_fleet *fleet)
{
    if (fleet) {
        pthread_mutex_destroy(&fleet->lock);
        pthread_mutex_destroy(&fleet->learning);
        vv_known_deinit(&fleet->known);
        free(fleet->learnt);
        free(fleet->unconfirmed);
        free(fleet->pending);
        free(fleet->moves);
        free(fleet->told_moves);
        free(fleet->asking);
        vv_fleet_free_classes(fleet);
        free(fleet);
    }
}

bool vv_fleet_note(struct vv_fleet_object **list, size_t *n, size_t *capacity,
                   enum vv_registry_kind kind, uint32_t number, bool is_far)
{
    struct vv_fleet_object *last = *n ? &(*list)[*n - 1] : NULL;
    if (last && last->kind == (uint8_t)kind && last->number == number) {
        last->is_far &= is_far;
        return true;
    }
    if (*n == *capacity) {
        size_t larger = *capacity ? *capacity * 2 : 64;
        struct vv_fleet_object *bigger = realloc(*list, larger * sizeof *bigger);
        if (!bigger) {
            return false;
        }
        *list = bigger;
        *capacity = larger;
    }
    (*list)[(*n)++] =
        (struct vv_fleet_object){.kind = (uint8_t)kind, .is_far = is_far, .number = number};
    return true;
}

/* ---- what is known at start ---- */

static uint32_t end_of(struct vv_registry *registry, enum vv_registry_kind kind)
{
    switch (kind) {
    case VV_REGISTRY_TENANT:
        return vv_registry_tenant_count(registry);
    case VV_REGISTRY_MEASUREMENT:
        return vv_registry_measurement_count(registry);
    case VV_REGISTRY_METRIC:
        return vv_registry_metric_count(registry);
    case VV_REGISTRY_SOURCE:
        return vv_registry_source_count(registry);
    case VV_REGISTRY_TIMES:
        break;
    }
    return 0;
}

static bool note_tenant(struct vv_fleet *fleet, uint32_t number)
{
    uint64_t *known = vv_known_tenant(&fleet->known, number);
    if (known) {
        *known = vv_known_terms(vv_terms_of(fleet->registry, number));
    }
    return known != NULL;
}

static bool note_metric(struct vv_fleet *fleet, uint32_t number)
{
    struct vv_metric_info info;
    struct vv_described described;
    vv_registry_metric_info(fleet->registry, number, &info);
    vv_registry_described(fleet->registry, number, &described);
    struct vv_known_metric *known = vv_known_metric(&fleet->known, number);
    if (known && info.name.size) {
        *known = vv_known_metric_of(info.type, &described);
    }
    return known != NULL;
}

/* Others know the object as it is; its tags are noted by the registry. */
static bool note_known(struct vv_fleet *fleet, enum vv_registry_kind kind, uint32_t number)
{
    bool *measurement;
    struct vv_known_source *source;
    switch (kind) {
    case VV_REGISTRY_TENANT:
        return vv_registry_tenant_name(fleet->registry, number).size == 0 ||
               note_tenant(fleet, number);
    case VV_REGISTRY_MEASUREMENT:
        /* Of its place a crash may have left the record only: what was told of it is learnt. */
        measurement = vv_known_measurement(&fleet->known, number);
        return measurement;
    case VV_REGISTRY_METRIC:
        return note_metric(fleet, number);
    case VV_REGISTRY_SOURCE:
        source = vv_known_source(&fleet->known, number);
        if (source && vv_registry_source_id(fleet->registry, number).size > 0) {
            size_t plans = vv_registry_source_plans(fleet->registry, number).n;
            *source = (struct vv_known_source){.itself = true, .plans = (uint8_t)plans};
        }
        return source;
    case VV_REGISTRY_TIMES:
        break;
    }
    return true;
}

/* Whether the metadata says that this node has told all of it. */
static enum vv_status find_record(struct vv_fleet *fleet, bool *found_out, struct vv_error *error)
{
    struct vv_buffer value = {0};
    enum vv_status status =
        fleet->store->ops->get_meta(fleet->store, VV_META_FLEET, RECORD_KEY, &value, error);
    struct vv_reader reader = vv_reader_of(value.data, value.size);
    uint8_t version = vv_reader_u8(&reader);
    uint32_t node = vv_reader_u32(&reader);
    vv_buffer_deinit(&value);
    *found_out = status == VV_OK && !reader.failed && version == RECORD_VERSION &&
                 node == vv_fleet_ops(fleet)->node(fleet->store);
    if (status == VV_OK && version > RECORD_VERSION) {
        return vv_error_set(error, VV_NEWER,
                            "the metadata was written by a newer version: use a newer program");
    }
    return status == VV_NOT_FOUND ? VV_OK : status;
}

enum vv_status vv_fleet_note_loaded(struct vv_fleet *fleet, struct vv_error *error)
{
    bool found;
    enum vv_status status = find_record(fleet, &found, error);
    if (status != VV_OK) {
        return status;
    }
    fleet->record_due = !found;
    for (int kind = VV_REGISTRY_TENANT; kind <= VV_REGISTRY_SOURCE; kind++) {
        uint32_t end = end_of(fleet->registry, (enum vv_registry_kind)kind);
        for (uint32_t number = 0; number < end; number++) {
            if (!found) {
                vv_fleet_note_replayed(fleet, (enum vv_registry_kind)kind, number);
                fleet->rest.kind = VV_REGISTRY_TENANT;
            } else if (!note_known(fleet, (enum vv_registry_kind)kind, number)) {
                return vv_error_set(error, VV_NO_MEMORY, "out of memory while starting");
            }
        }
    }
    status = vv_fleet_load_far(fleet, error);
    status = status == VV_OK ? vv_fleet_load_lacking(fleet, error) : status;
    status = status == VV_OK ? vv_fleet_load_lacks(fleet, error) : status;
    return status == VV_OK && found ? vv_fleet_load_heard(fleet, error) : status;
}

void vv_fleet_note_replayed(struct vv_fleet *fleet, enum vv_registry_kind kind, uint32_t number)
{
    pthread_mutex_lock(&fleet->lock);
    struct vv_known *known = &fleet->known;
    switch (kind) {
    case VV_REGISTRY_TENANT:
        if (number < known->tenants.capacity) {
            *vv_known_tenant(known, number) = 0;
        }
        break;
    case VV_REGISTRY_MEASUREMENT:
        if (number < known->measurements.capacity) {
            *vv_known_measurement(known, number) = false;
        }
        break;
    case VV_REGISTRY_METRIC:
        if (number < known->metrics.capacity) {
            *vv_known_metric(known, number) = (struct vv_known_metric){0};
        }
        break;
    case VV_REGISTRY_SOURCE:
        if (number < known->sources.capacity) {
            *vv_known_source(known, number) =
                (struct vv_known_source){.is_tentative = vv_fleet_is_tentative(fleet, number)};
        }
        vv_registry_forget_known(fleet->registry, number);
        break;
    case VV_REGISTRY_TIMES:
        break;
    }
    pthread_mutex_unlock(&fleet->lock);
}

enum vv_status vv_fleet_tell_rest(struct vv_fleet *fleet, uint32_t most, struct vv_error *error)
{
    struct vv_fleet_rest *rest = &fleet->rest;
    for (uint32_t i = 0; i < most && rest->kind; i++) {
        enum vv_registry_kind kind = (enum vv_registry_kind)rest->kind;
        if (rest->number >= end_of(fleet->registry, kind)) {
            rest->number = 0;
            rest->kind = kind == VV_REGISTRY_SOURCE ? 0 : (uint8_t)(kind + 1);
            continue;
        }
        enum vv_status status = vv_fleet_tell(fleet, kind, rest->number, error);
        if (status != VV_OK) {
            return status;
        }
        rest->number++;
    }
    return rest->kind ? VV_OK : VV_DONE;
}

enum vv_status vv_fleet_tell_again(struct vv_fleet *fleet, struct vv_error *error)
{
    enum vv_status status = VV_OK;
    size_t n = fleet->n_unconfirmed;
    fleet->n_pending = 0; /* whoever wanted them asks again */
    pthread_mutex_lock(&fleet->learning);
    vv_fleet_classes_lost(fleet);
    pthread_mutex_unlock(&fleet->learning);
    for (size_t i = 0; i < n; i++) {
        const struct vv_fleet_object *object = &fleet->unconfirmed[i];
        if (object->kind == VV_META_DELETION) {
            vv_deletions_note_untold(fleet->deletions, object->number);
        } else {
            vv_fleet_note_replayed(fleet, (enum vv_registry_kind)object->kind, object->number);
        }
    }
    for (size_t i = 0; i < n && status == VV_OK; i++) {
        struct vv_fleet_object object = fleet->unconfirmed[i];
        status =
            object.kind == VV_META_DELETION
                ? vv_fleet_tell_markers(fleet, object.number, error)
                : vv_fleet_tell(fleet, (enum vv_registry_kind)object.kind, object.number, error);
    }
    fleet->n_unconfirmed = n; /* what was told again stands in the list already */
    return status;
}

/* ---- plans ---- */

static enum vv_status take_agreed(struct vv_fleet *fleet, const struct vv_first_plan *agreed,
                                  struct vv_error *error)
{
    pthread_mutex_lock(&fleet->lock);
    enum vv_status status =
        vv_registry_learn_plans(fleet->registry, agreed->source, 0, &agreed->plan, 1, error);
    pthread_mutex_unlock(&fleet->lock);
    if (status == VV_CORRUPT) { /* another plan was told meanwhile, against what was agreed */
        struct vv_str id = vv_registry_source_id(fleet->registry, agreed->source);
        char text[600];
        vv_log(VV_LOG_ERROR, "plans_contradict", "source=%s",
               vv_log_quote(id.data, id.size, text, sizeof text));
        return VV_OK;
    }
    return status;
}

enum vv_status vv_fleet_agree(struct vv_fleet *fleet, struct vv_first_plan *plans, size_t n,
                              struct vv_error *error)
{
    enum vv_status status = vv_fleet_ops(fleet)->agree_plans(fleet->store, plans, n, error);
    for (size_t i = 0; i < n && status == VV_OK; i++) {
        if (plans[i].is_tentative) {
            status = vv_fleet_note_pending(fleet, &plans[i], error);
            continue;
        }
        status = take_agreed(fleet, &plans[i], error);
        if (status == VV_OK) {
            status = vv_fleet_tell(fleet, VV_REGISTRY_SOURCE, plans[i].source, error);
        }
    }
    return status;
}

/* ---- learning ---- */

/* How long it takes until all has been told that could not be told before, if there is any. */
static int64_t telling_ns(const struct vv_fleet *fleet, int64_t begun_ns)
{
    int64_t last = atomic_load_explicit(&fleet->learnt_ns, memory_order_relaxed);
    if (fleet->has_failed) {
        return last == 0 || begun_ns - last > BREAK_NS ? TELLING_NS : 0;
    }
    int64_t before = atomic_load_explicit(&fleet->heard_wall_ns, memory_order_relaxed);
    return last == 0 && before != INT64_MIN ? TELLING_NS_AT_START : 0;
}

/* Under `learning`. */
static void note_learning(struct vv_fleet *fleet, int64_t begun_ns, int64_t begun_wall_ns,
                          bool is_joined)
{
    int64_t telling = telling_ns(fleet, begun_ns);
    if (telling > 0) {
        fleet->held_until_ns = fleet->clock->monotonic_ns(fleet->clock) + telling;
    }
    atomic_store_explicit(&fleet->learnt_ns, begun_ns, memory_order_release);
    if (begun_ns >= fleet->held_until_ns && is_joined) {
        atomic_store_explicit(&fleet->heard_ns, begun_ns, memory_order_release);
        atomic_store_explicit(&fleet->heard_wall_ns, begun_wall_ns, memory_order_release);
    }
}

enum vv_status vv_fleet_learn(struct vv_fleet *fleet, struct vv_error *error)
{
    pthread_mutex_lock(&fleet->learning);
    int64_t begun = fleet->clock->monotonic_ns(fleet->clock);
    int64_t begun_wall = fleet->clock->wall_ns(fleet->clock);
    /* As long as others do not see that this node is there they wait for nothing of it. */
    bool is_joined = vv_fleet_ops(fleet)->node(fleet->store) != 0;
    enum vv_status status = vv_fleet_ops(fleet)->learn(fleet->store, vv_fleet_take, fleet, error);
    if (status == VV_OK) {
        vv_fleet_forget_lacking(fleet);
        note_learning(fleet, begun ? begun : 1, begun_wall, is_joined);
        fleet->learnings++;
    }
    fleet->has_failed = status != VV_OK;
    pthread_mutex_unlock(&fleet->learning);
    return status;
}

/* By the clock as it is now: one that was set meanwhile changes nothing of what was heard. */
int64_t vv_fleet_heard_wall_ns(const struct vv_fleet *fleet)
{
    int64_t heard = atomic_load_explicit(&fleet->heard_ns, memory_order_acquire);
    if (heard == 0) { /* by an earlier process, or never */
        return atomic_load_explicit(&fleet->heard_wall_ns, memory_order_acquire);
    }
    int64_t age = fleet->clock->monotonic_ns(fleet->clock) - heard;
    return fleet->clock->wall_ns(fleet->clock) - age;
}

static bool is_younger(const struct vv_fleet *fleet, const _Atomic int64_t *time_ns, int64_t age_ns)
{
    int64_t time = atomic_load_explicit(time_ns, memory_order_acquire);
    return time != 0 && fleet->clock->monotonic_ns(fleet->clock) - time <= age_ns;
}

bool vv_fleet_is_current(const struct vv_fleet *fleet, int64_t age_ns)
{
    return is_younger(fleet, &fleet->learnt_ns, age_ns);
}

bool vv_fleet_has_heard_all(const struct vv_fleet *fleet, int64_t age_ns)
{
    return is_younger(fleet, &fleet->heard_ns, age_ns);
}

void vv_fleet_learn_for_reader(struct vv_fleet *fleet)
{
    struct vv_error error = {0};
    int64_t now = fleet->clock->monotonic_ns(fleet->clock);
    int64_t last = atomic_load_explicit(&fleet->reader_learnt_ns, memory_order_relaxed);
    if ((last != 0 && now - last < READER_WAIT_NS) ||
        !atomic_compare_exchange_strong(&fleet->reader_learnt_ns, &last, now ? now : 1)) {
        return; /* another reader does it, or did it a moment ago */
    }
    enum vv_status status = vv_fleet_learn(fleet, &error);
    if (status != VV_OK) {
        vv_log(VV_LOG_DEBUG, "fleet_learn_failed", "status=%s", vv_status_name(status));
    }
}

bool vv_fleet_has_learnt(struct vv_fleet *fleet)
{
    return atomic_load_explicit(&fleet->unkept, memory_order_acquire) > 0 ||
           vv_fleet_heard_is_old(fleet);
}

/* ---- confirming ---- */

bool vv_fleet_note_learnt(struct vv_fleet *fleet, enum vv_registry_kind kind, uint32_t number,
                          bool is_far)
{
    bool is_noted = vv_fleet_note(&fleet->learnt, &fleet->n_learnt, &fleet->learnt_capacity, kind,
                                  number, is_far);
    atomic_store_explicit(&fleet->unkept, fleet->n_learnt, memory_order_release);
    return is_noted;
}

enum vv_status vv_fleet_keep(struct vv_fleet *fleet, enum vv_registry_kind kind, uint32_t number)
{
    pthread_mutex_lock(&fleet->learning);
    bool is_noted = vv_fleet_note_learnt(fleet, kind, number, false);
    pthread_mutex_unlock(&fleet->learning);
    return is_noted ? VV_OK : VV_NO_MEMORY;
}

static int compare_learnt(const void *a, const void *b)
{
    const struct vv_fleet_object *x = a;
    const struct vv_fleet_object *y = b;
    if (x->kind != y->kind) {
        return x->kind < y->kind ? -1 : 1;
    }
    return x->number < y->number ? -1 : x->number > y->number;
}

/* Names before what uses them, each once. */
static void sort_learnt(struct vv_fleet *fleet)
{
    if (fleet->n_learnt > 1) {
        qsort(fleet->learnt, fleet->n_learnt, sizeof *fleet->learnt, compare_learnt);
    }
    size_t kept = 0;
    for (size_t i = 0; i < fleet->n_learnt; i++) {
        if (kept == 0 || compare_learnt(&fleet->learnt[kept - 1], &fleet->learnt[i]) != 0) {
            fleet->learnt[kept++] = fleet->learnt[i];
        } else {
            fleet->learnt[kept - 1].is_far &= fleet->learnt[i].is_far;
        }
    }
    fleet->n_learnt = kept;
}

static enum vv_status put(struct vv_fleet *fleet, uint8_t kind, struct vv_str key,
                          const struct vv_buffer *value, struct vv_error *error)
{
    if (vv_buffer_status(value) != VV_OK) {
        return vv_error_set(error, VV_NO_MEMORY, "out of memory while keeping what was learnt");
    }
    struct vv_str bytes = {(const char *)value->data, value->size};
    return fleet->store->ops->put_meta(fleet->store, kind, key, bytes, error);
}

static enum vv_status put_markers(struct vv_fleet *fleet, uint32_t source, struct vv_str key,
                                  struct vv_buffer *value, struct vv_error *error)
{
    return vv_deletions_encode(fleet->deletions, source, value)
               ? put(fleet, VV_META_DELETION, key, value, error)
               : VV_OK; /* retired meanwhile */
}

/* What it has of this node's own is told with it: who settles a version tells its news. What came
 * from another region has none: that is settled by its own job. */
static enum vv_status put_object(struct vv_fleet *fleet, struct vv_fleet_object *learnt,
                                 struct vv_str key, struct vv_buffer *value, struct vv_error *error)
{
    enum vv_registry_kind kind = (enum vv_registry_kind)learnt->kind;
    learnt->version = vv_registry_encode(fleet->registry, kind, learnt->number, value);
    enum vv_status status = put(fleet, learnt->kind, key, value, error);
    if (status != VV_OK) {
        return status;
    }
    return learnt->is_far ? vv_fleet_put_far(fleet, kind, learnt->number, error)
                          : vv_fleet_tell(fleet, kind, learnt->number, error);
}

static enum vv_status put_learnt(struct vv_fleet *fleet, struct vv_error *error)
{
    struct vv_buffer value = {0};
    enum vv_status status = VV_OK;
    for (size_t i = 0; i < fleet->n_learnt && status == VV_OK; i++) {
        struct vv_fleet_object *learnt = &fleet->learnt[i];
        uint8_t bytes[4];
        vv_registry_key(learnt->number, bytes);
        struct vv_str key = {(const char *)bytes, sizeof bytes};
        vv_buffer_clear(&value);
        status = learnt->kind == VV_META_DELETION
                     ? put_markers(fleet, learnt->number, key, &value, error)
                     : put_object(fleet, learnt, key, &value, error);
    }
    vv_buffer_deinit(&value);
    return status;
}

static enum vv_status put_record(struct vv_fleet *fleet, struct vv_error *error)
{
    if (!fleet->record_due || fleet->rest.kind) {
        return VV_OK;
    }
    struct vv_buffer value = {0};
    vv_buffer_u8(&value, RECORD_VERSION);
    vv_buffer_u32(&value, vv_fleet_ops(fleet)->node(fleet->store));
    enum vv_status status = put(fleet, VV_META_FLEET, RECORD_KEY, &value, error);
    vv_buffer_deinit(&value);
    return status;
}

static bool note_owner(struct vv_fleet *fleet, enum vv_registry_kind kind, uint32_t number,
                       bool is_far)
{
    return vv_fleet_note(&fleet->learnt, &fleet->n_learnt, &fleet->learnt_capacity, kind, number,
                         is_far);
}

static uint32_t owner_of_class(struct vv_fleet *fleet, uint32_t number)
{
    struct vv_str name = vv_registry_tenant_name(fleet->registry, number);
    uint32_t tenant = VV_REGISTRY_NONE;
    bool has = vv_space_class_name(name).size > 0 &&
               vv_registry_tenant(fleet->registry, vv_space_tenant_name(name), false, &tenant,
                                  NULL) == VV_OK;
    return has ? tenant : VV_REGISTRY_NONE;
}

/* Of a measurement: where its points lie, or may. */
static bool add_places(struct vv_fleet *fleet, const struct vv_fleet_object *object)
{
    uint32_t places[VV_MOVES_MAX];
    size_t n = vv_registry_places_of(fleet->registry, object->number, places);
    bool added = true;
    for (size_t i = 0; i < n && added; i++) {
        added = note_owner(fleet, VV_REGISTRY_TENANT, places[i], object->is_far);
    }
    return added;
}

/* Whom an object belongs to may be in the journal only, which is read after the metadata. */
static bool add_owners(struct vv_fleet *fleet)
{
    bool added = true;
    for (size_t i = 0; i < fleet->n_learnt && added; i++) { /* theirs, too */
        struct vv_fleet_object object = fleet->learnt[i];
        struct vv_metric_info info;
        uint32_t tenant = VV_REGISTRY_NONE;
        if (object.kind == VV_REGISTRY_METRIC) {
            vv_registry_metric_info(fleet->registry, object.number, &info);
            tenant = info.tenant;
            added = note_owner(fleet, VV_REGISTRY_MEASUREMENT, info.measurement, object.is_far);
        } else if (object.kind == VV_REGISTRY_MEASUREMENT) {
            tenant = vv_registry_measurement_tenant(fleet->registry, object.number);
            added = add_places(fleet, &object);
        } else if (object.kind == VV_REGISTRY_TENANT) {
            tenant = owner_of_class(fleet, object.number);
        } else if (object.kind == VV_REGISTRY_SOURCE) {
            tenant = vv_registry_source_tenant(fleet->registry, object.number);
        }
        if (tenant != VV_REGISTRY_NONE) {
            added = added && note_owner(fleet, VV_REGISTRY_TENANT, tenant, object.is_far);
        }
    }
    return added;
}

static enum vv_status confirm(struct vv_fleet *fleet, struct vv_error *error)
{
    sort_learnt(fleet);
    if (!add_owners(fleet)) {
        return vv_error_set(error, VV_NO_MEMORY, "out of memory while keeping what was learnt");
    }
    sort_learnt(fleet);
    enum vv_status status = put_learnt(fleet, error);
    if (status == VV_OK) {
        status = put_record(fleet, error);
    }
    int64_t heard;
    struct vv_fleet_lacks lacks;
    if (status == VV_OK) {
        status = vv_fleet_put_heard(fleet, &heard, error);
    }
    if (status == VV_OK) {
        status = vv_fleet_put_lacking(fleet, error);
    }
    if (status == VV_OK) {
        status = vv_fleet_put_lacks(fleet, &lacks, error);
    }
    if (status == VV_OK) {
        status = vv_fleet_put_ready(fleet, error);
    }
    if (status == VV_OK) {
        status = fleet->store->ops->confirm(fleet->store, error);
    }
    if (status != VV_OK) {
        return status; /* all of it may be gone: the next confirm puts it again */
    }
    fleet->record_due &= fleet->rest.kind != 0;
    fleet->lacking_kept = fleet->lacking_version;
    atomic_store_explicit(&fleet->heard_kept_ns, heard, memory_order_relaxed);
    fleet->lacks_kept = lacks;
    for (size_t i = 0; i < fleet->n_learnt && fleet->learnt[i].kind != VV_META_DELETION; i++) {
        vv_registry_settle(fleet->registry, (enum vv_registry_kind)fleet->learnt[i].kind,
                           fleet->learnt[i].number, fleet->learnt[i].version);
    }
    fleet->n_learnt = 0;
    fleet->n_unconfirmed = 0;
    vv_fleet_classes_confirmed(fleet);
    atomic_store_explicit(&fleet->unkept, 0, memory_order_release);
    return VV_OK;
}

enum vv_status vv_fleet_confirm(struct vv_fleet *fleet, struct vv_error *error)
{
    pthread_mutex_lock(&fleet->learning);
    enum vv_status status = confirm(fleet, error);
    pthread_mutex_unlock(&fleet->learning);
    return status == VV_OK ? vv_fleet_take_pending(fleet, error) : status;
}

void vv_fleet_read_figures(struct vv_fleet *fleet, struct vv_fleet_figures *figures_out)
{
    *figures_out = (struct vv_fleet_figures){
        .told = atomic_load_explicit(&fleet->told, memory_order_relaxed),
        .learnt = atomic_load_explicit(&fleet->taken, memory_order_relaxed),
        .refused = atomic_load_explicit(&fleet->refused, memory_order_relaxed),
        .unkept = atomic_load_explicit(&fleet->unkept, memory_order_relaxed),
    };
}
