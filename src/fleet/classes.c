/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Classes of measurements among nodes: who knows them.
 *
 * Nothing of a measurement is written before its place is settled: by the table of places, where
 * who asked first has chosen (place.c), or because this node knew of no class of its tenant, nor
 * could have heard of one. What was placed in that way others learn like a name. So a class takes
 * nothing before every node has told that it has heard of it, and a node tells so when
 * - the class stands in its metadata: it will never again place without asking in that tenant, and
 * - all that it has placed there, however it came to know that, is known to the others.
 * A node that comes later learns everything before it places anything. One that could not take all
 * that it was told of classes and places asks for each, and chooses no class itself.
 */
#include "fleet/fleet_private.h"

#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>

#define PEERS_FEW    32
#define TELL_AT_ONCE 4096 /* measurements */

#define LACKS_KEY     VV_STR_LITERAL("lacks")
#define LACKS_VERSION 1 /* then: u8 1: something was left out; u32 other regions with classes */
/* Key "ready", number 4 (big-endian), without a value: all nodes know the class. */
#define READY_KEY_SIZE 9

/* ---- what this node could not take ---- */

uint32_t vv_fleet_far_classes(const struct vv_fleet *fleet)
{
    return atomic_load_explicit(&fleet->far_classes, memory_order_acquire);
}

/* With the next confirm. */
static void keep_soon(struct vv_fleet *fleet)
{
    atomic_fetch_add_explicit(&fleet->unkept, 1, memory_order_release);
}

void vv_fleet_note_far_class(struct vv_fleet *fleet, uint8_t region)
{
    uint32_t bit = 1u << region;
    if (!(atomic_fetch_or_explicit(&fleet->far_classes, bit, memory_order_acq_rel) & bit)) {
        keep_soon(fleet);
    }
}

/* Of regions that the settings have no more it does not matter. */
static uint32_t regions_there(struct vv_fleet *fleet)
{
    struct vv_region regions[VV_REGIONS_MAX];
    const struct vv_shared_ops *ops = vv_fleet_ops(fleet);
    size_t n = ops->regions ? ops->regions(fleet->store, regions) : 0;
    return n > 0 ? (1u << n) - 1 : UINT32_MAX;
}

bool vv_fleet_lacks(const struct vv_fleet *fleet)
{
    return atomic_load_explicit(&fleet->lacks, memory_order_acquire) ||
           (atomic_load_explicit(&fleet->lacked, memory_order_acquire) &&
            atomic_load_explicit(&fleet->learnings, memory_order_acquire) == 0);
}

bool vv_fleet_lacks_moves(const struct vv_fleet *fleet)
{
    return atomic_load_explicit(&fleet->lacks_moves, memory_order_acquire) ||
           (atomic_load_explicit(&fleet->lacked, memory_order_acquire) &&
            atomic_load_explicit(&fleet->learnings, memory_order_acquire) == 0);
}

void vv_fleet_note_lack(struct vv_fleet *fleet, const struct vv_told *told,
                        const struct vv_error *why)
{
    bool is_move = told->kind == VV_TOLD_MOVE;
    bool is_of_class =
        told->kind == VV_TOLD_MEASUREMENT || is_move || vv_space_class_name(told->tenant).size > 0;
    bool matters = told->region == 0 && is_of_class; /* regions agree by themselves */
    if (matters && !atomic_load_explicit(&fleet->lacks, memory_order_relaxed)) {
        snprintf(fleet->lack, sizeof fleet->lack, "%.255s", why->message);
        atomic_store_explicit(&fleet->lacks, true, memory_order_release);
        keep_soon(fleet);
    }
    if (matters && is_move) {
        atomic_store_explicit(&fleet->lacks_moves, true, memory_order_release);
    }
}

enum vv_status vv_fleet_put_lacks(struct vv_fleet *fleet, struct vv_fleet_lacks *lacks_out,
                                  struct vv_error *error)
{
    struct vv_buffer value = {0};
    *lacks_out = (struct vv_fleet_lacks){vv_fleet_lacks(fleet), vv_fleet_far_classes(fleet)};
    if (lacks_out->any == fleet->lacks_kept.any && lacks_out->far == fleet->lacks_kept.far) {
        return VV_OK;
    }
    vv_buffer_u8(&value, LACKS_VERSION);
    vv_buffer_u8(&value, lacks_out->any);
    vv_buffer_u32(&value, lacks_out->far);
    enum vv_status status = vv_buffer_status(&value);
    if (status == VV_OK) {
        status =
            fleet->store->ops->put_meta(fleet->store, VV_META_FLEET, LACKS_KEY,
                                        (struct vv_str){(char *)value.data, value.size}, error);
    } else {
        vv_error_set(error, status, "out of memory while keeping what was learnt");
    }
    vv_buffer_deinit(&value);
    return status;
}

static struct vv_str ready_key(uint32_t number, uint8_t key_out[READY_KEY_SIZE])
{
    memcpy(key_out, "ready", 5);
    vv_registry_key(number, key_out + 5);
    return (struct vv_str){(const char *)key_out, READY_KEY_SIZE};
}

/* For ever: a node that comes later learns of the class before it places anything. */
enum vv_status vv_fleet_put_ready(struct vv_fleet *fleet, struct vv_error *error)
{
    enum vv_status status = VV_OK;
    for (size_t i = 0; i < fleet->n_classes && status == VV_OK; i++) {
        const struct vv_fleet_class *class = &fleet->classes[i];
        uint8_t key[READY_KEY_SIZE];
        if (!class->is_ready_kept && class->is_kept &&
            vv_registry_class_is_ready(fleet->registry, class->number)) {
            status = fleet->store->ops->put_meta(fleet->store, VV_META_FLEET,
                                                 ready_key(class->number, key),
                                                 (struct vv_str){"", 0}, error);
        }
    }
    return status;
}

static enum vv_status load_ready(void *context, struct vv_str key, struct vv_str value)
{
    struct vv_fleet *fleet = context;
    (void)value;
    if (key.size == READY_KEY_SIZE) {
        const uint8_t *bytes = (const uint8_t *)key.data + 5;
        uint32_t number = (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 |
                          (uint32_t)bytes[2] << 8 | bytes[3];
        if (vv_space_class_name(vv_registry_tenant_name(fleet->registry, number)).size > 0) {
            vv_registry_set_class_ready(fleet->registry, number);
        }
    }
    return VV_OK;
}

enum vv_status vv_fleet_load_lacks(struct vv_fleet *fleet, struct vv_error *error)
{
    struct vv_buffer value = {0};
    enum vv_status status =
        fleet->store->ops->get_meta(fleet->store, VV_META_FLEET, LACKS_KEY, &value, error);
    struct vv_reader reader = vv_reader_of(value.data, value.size);
    uint8_t version = vv_reader_u8(&reader);
    uint8_t lacks = vv_reader_u8(&reader);
    uint32_t far = vv_reader_u32(&reader);
    bool is_good = !reader.failed && version == LACKS_VERSION;
    vv_buffer_deinit(&value);
    if (status == VV_OK) { /* what is damaged may have said it */
        fleet->lacks_kept = (struct vv_fleet_lacks){lacks > 0 || !is_good, is_good ? far : 0};
        atomic_store_explicit(&fleet->lacked, fleet->lacks_kept.any, memory_order_release);
        atomic_store_explicit(&fleet->far_classes, fleet->lacks_kept.far & regions_there(fleet),
                              memory_order_release);
    }
    status = status == VV_NOT_FOUND ? VV_OK : status;
    return status == VV_OK
               ? fleet->store->ops->scan_meta(fleet->store, VV_META_FLEET, VV_STR_LITERAL("ready"),
                                              load_ready, fleet, error)
               : status;
}

/* ---- who knows a class: under `learning` ---- */

static struct vv_fleet_class *class_of(struct vv_fleet *fleet, uint32_t number)
{
    uint32_t *at = vv_known_item(&fleet->class_at, number, sizeof *at);
    if (!at || *at > 0) {
        return at ? &fleet->classes[*at - 1] : NULL;
    }
    if (fleet->n_classes == fleet->classes_capacity) {
        size_t capacity = fleet->classes_capacity ? 2 * fleet->classes_capacity : 16;
        struct vv_fleet_class *more = realloc(fleet->classes, capacity * sizeof *more);
        if (!more) {
            return NULL;
        }
        fleet->classes = more;
        fleet->classes_capacity = capacity;
    }
    fleet->classes[fleet->n_classes] = (struct vv_fleet_class){.number = number};
    *at = (uint32_t)++fleet->n_classes;
    return &fleet->classes[*at - 1];
}

/* Its tiers are learnt with it: what is told of both is whole after the next learning. */
enum vv_status vv_fleet_note_class(struct vv_fleet *fleet, uint32_t number)
{
    struct vv_fleet_class *class = class_of(fleet, number);
    if (class && !class->is_told) {
        class->learnt_in = fleet->learnings;
    }
    return class ? VV_OK : VV_NO_MEMORY;
}

static bool has_heard(const struct vv_fleet_class *class, uint32_t node)
{
    for (size_t i = 0; i < class->n_heard; i++) {
        if (class->heard[i] == node) {
            return true;
        }
    }
    return false;
}

enum vv_status vv_fleet_note_heard(struct vv_fleet *fleet, uint32_t number, uint32_t node)
{
    struct vv_fleet_class *class = class_of(fleet, number);
    if (!class) {
        return VV_NO_MEMORY;
    }
    if (has_heard(class, node)) {
        return VV_OK;
    }
    if (class->n_heard == class->capacity) {
        size_t capacity = class->capacity ? 2 * class->capacity : 8;
        uint32_t *more = realloc(class->heard, capacity * sizeof *more);
        if (!more) {
            return VV_NO_MEMORY;
        }
        class->heard = more;
        class->capacity = capacity;
    }
    class->heard[class->n_heard++] = node;
    return VV_OK;
}

void vv_fleet_classes_confirmed(struct vv_fleet *fleet)
{
    for (size_t i = 0; i < fleet->n_classes; i++) {
        struct vv_fleet_class *class = &fleet->classes[i];
        class->is_ready_kept |=
            class->is_kept && vv_registry_class_is_ready(fleet->registry, class->number);
        class->is_kept |= class->is_noted;
        if (class->is_told && !class->is_confirmed) {
            class->is_confirmed = true;
            class->told_in = fleet->learnings;
        }
    }
}

void vv_fleet_classes_lost(struct vv_fleet *fleet)
{
    for (size_t i = 0; i < fleet->n_classes; i++) {
        fleet->classes[i].is_told &= fleet->classes[i].is_confirmed;
    }
}

void vv_fleet_free_classes(struct vv_fleet *fleet)
{
    for (size_t i = 0; i < fleet->n_classes; i++) {
        free(fleet->classes[i].heard);
    }
    free(fleet->classes);
    free(fleet->class_at.items);
}

/* ---- telling ---- */

/* What is done at once with all classes. */
struct round {
    struct vv_fleet *fleet;
    size_t told; /* of classes and tiers: these need not be confirmed before it is said who knows */
    bool did;    /* something is to be confirmed */
};

/* Whatever was told is in the store, also of what the store held before it was shared. */
static bool is_all_told(const struct round *round)
{
    struct vv_fleet *fleet = round->fleet;
    struct vv_parked parked;
    vv_fleet_ops(fleet)->parked(fleet->store, &parked);
    return parked.n_told == 0 && fleet->n_unconfirmed == round->told && fleet->rest.kind == 0;
}

/* What of it others know already is not told again. */
static enum vv_status tell_placed(struct vv_fleet *fleet, uint32_t tenant, struct vv_error *error)
{
    struct vv_registry *registry = fleet->registry;
    uint32_t n = vv_registry_measurement_count(registry);
    enum vv_status status = VV_OK;
    for (uint32_t i = 0; i < n && status == VV_OK && fleet->n_unconfirmed < TELL_AT_ONCE; i++) {
        if (vv_registry_measurement_tenant(registry, i) == tenant &&
            vv_registry_is_placed(registry, i)) {
            status = vv_fleet_tell(fleet, VV_REGISTRY_MEASUREMENT, i, error);
        }
    }
    return status;
}

static enum vv_status tell_heard(struct vv_fleet *fleet, struct vv_fleet_class *class,
                                 struct vv_error *error)
{
    struct vv_buffer value = {0};
    const struct vv_told_content content = {.kind = VV_TOLD_HEARD};
    /* Who told the class may be lost with what was on its way to the definitions: others have
     * learnt it from what expires. So each node tells it once. */
    enum vv_status status = vv_fleet_tell_class(fleet, class->number, error);
    vv_told_encode(&content, &value);
    if (status == VV_OK && vv_buffer_status(&value) != VV_OK) {
        status = vv_error_set(error, VV_NO_MEMORY, "out of memory while telling other nodes");
    }
    if (status == VV_OK) {
        struct vv_told told = {.kind = VV_TOLD_HEARD,
                               .tenant = vv_registry_tenant_name(fleet->registry, class->number),
                               .name = {"", 0},
                               .value = {(const char *)value.data, value.size}};
        status = vv_fleet_ops(fleet)->tell(fleet->store, &told, error);
    }
    vv_buffer_deinit(&value);
    class->is_told = status == VV_OK;
    return status;
}

/* One that was settled once is linked to its tenant. */
static bool is_class(struct vv_registry *registry, uint32_t number)
{
    return vv_space_class_name(vv_registry_tenant_name(registry, number)).size > 0 &&
           vv_registry_place_of(registry, number) == number &&
           vv_registry_owner(registry, number) != number;
}

static bool all_of_region(const struct vv_fleet_class *class, const struct vv_peer *peers, size_t n)
{
    bool all = true;
    for (size_t i = 0; i < n && all; i++) {
        all = peers[i].region != 0 || has_heard(class, peers[i].node);
    }
    return all;
}

/* All other nodes of this region, as they were seen after the class could be known to everybody who
 * comes. */
static bool all_have_heard(struct vv_fleet *fleet, const struct vv_fleet_class *class)
{
    struct vv_peer few[PEERS_FEW];
    if (!class->is_confirmed || fleet->learnings <= class->told_in) {
        return false;
    }
    size_t n = vv_fleet_ops(fleet)->peers(fleet->store, few, PEERS_FEW);
    if (n <= PEERS_FEW) {
        return all_of_region(class, few, n);
    }
    struct vv_peer *peers = calloc(n, sizeof *peers); /* who came since then makes it wait */
    size_t now = peers ? vv_fleet_ops(fleet)->peers(fleet->store, peers, n) : SIZE_MAX;
    bool all = now <= n && all_of_region(class, peers, now);
    free(peers);
    return all;
}

void vv_fleet_note_passed_over(struct vv_fleet *fleet, uint32_t class, uint32_t measurement)
{
    pthread_mutex_lock(&fleet->learning);
    struct vv_fleet_class *passed = class_of(fleet, class);
    bool is_first = passed && !passed->is_passed_over;
    if (is_first) {
        char text[600];
        struct vv_str name = vv_registry_measurement_name(fleet->registry, measurement);
        passed->is_passed_over = true;
        vv_log(VV_LOG_WARN, "class_passed_over",
               "class=%.*s measurement=%s message=\"it is in its tenant: another node put it "
               "there, or not all nodes had said that they know the class; set the class again to "
               "move it\"",
               VV_STR_ARG(vv_registry_tenant_name(fleet->registry, class)),
               vv_log_quote(name.data, name.size, text, sizeof text));
    }
    pthread_mutex_unlock(&fleet->learning);
}

bool vv_fleet_lacks_space(const struct vv_fleet *fleet)
{
    return atomic_load_explicit(&fleet->lacks_space, memory_order_acquire);
}

static void note_space(struct vv_fleet *fleet, struct vv_fleet_class *class, enum vv_status status,
                       const struct vv_error *why)
{
    bool is_news = class->lacks_space != (status != VV_OK);
    class->lacks_space = status != VV_OK;
    if (is_news && class->lacks_space) {
        char text[400];
        vv_log(VV_LOG_ERROR, "class_waits",
               "class=%.*s message=%s effect=\"no node uses the class: its late points have no "
               "place\"",
               VV_STR_ARG(vv_registry_tenant_name(fleet->registry, class->number)),
               vv_log_quote(why->message, strlen(why->message), text, sizeof text));
    }
}

/* Where late points are kept apart a class has a space for them; who said so may not have known of
 * the class then. False: it is not there yet. */
static bool has_late_space(struct vv_fleet *fleet, struct vv_fleet_class *class, bool *did)
{
    struct vv_registry *registry = fleet->registry;
    struct vv_error why = {0};
    uint32_t space;
    if (vv_registry_late(registry, class->number).policy != VV_LATE_SEPARATE ||
        vv_registry_late_space(registry, class->number) != VV_REGISTRY_NONE) {
        class->lacks_space = false;
        return true;
    }
    enum vv_status status =
        vv_registry_space(registry, class->number, VV_SPACE_LATE, true, &space, &why);
    if (status == VV_OK && !vv_fleet_note_learnt(fleet, VV_REGISTRY_TENANT, space, false)) {
        status = vv_error_set(&why, VV_NO_MEMORY, "out of memory");
    }
    note_space(fleet, class, status, &why);
    *did |= status == VV_OK; /* told and linked with the next confirm */
    return false;
}

/* One step of: its record into the metadata, what was placed before it told, that it is known told,
 * others awaited. */
static enum vv_status go_on_with(struct round *round, struct vv_fleet_class *class,
                                 struct vv_error *error)
{
    struct vv_fleet *fleet = round->fleet;
    enum vv_status status = VV_OK;
    if (!class->is_kept) { /* what the journal has of it may be read after measurements */
        round->did = true;
        class->is_noted = vv_fleet_note_learnt(fleet, VV_REGISTRY_TENANT, class->number, false);
        return class->is_noted
                   ? VV_OK
                   : vv_error_set(error, VV_NO_MEMORY, "out of memory while telling other nodes");
    }
    bool is_known = fleet->learnings > class->learnt_in &&
                    vv_registry_class_is_told(fleet->registry, class->number);
    if (!class->is_told && is_known && has_late_space(fleet, class, &round->did)) {
        status = tell_placed(fleet, vv_registry_owner(fleet->registry, class->number), error);
        round->did |= fleet->n_unconfirmed > 0;
        if (status == VV_OK && is_all_told(round)) {
            size_t before = fleet->n_unconfirmed;
            round->did = true;
            status = tell_heard(fleet, class, error);
            round->told += fleet->n_unconfirmed - before;
        }
    } else if (class->is_told && is_all_told(round) && all_have_heard(fleet, class)) {
        vv_registry_set_class_ready(fleet->registry, class->number);
        round->did = true; /* that is kept */
    }
    return status;
}

/* Those that were linked since the last time. */
static enum vv_status find_classes(struct vv_fleet *fleet, struct vv_error *error)
{
    uint32_t linked = vv_registry_class_count(fleet->registry);
    uint32_t n = linked > fleet->linked ? vv_registry_tenant_count(fleet->registry) : 0;
    for (uint32_t i = 0; i < n; i++) {
        if (is_class(fleet->registry, i) && !class_of(fleet, i)) {
            return vv_error_set(error, VV_NO_MEMORY, "out of memory while telling other nodes");
        }
    }
    fleet->linked = linked;
    return VV_OK;
}

enum vv_status vv_fleet_tell_heard(struct vv_fleet *fleet, struct vv_error *error)
{
    struct round round = {.fleet = fleet};
    pthread_mutex_lock(&fleet->learning);
    enum vv_status status = find_classes(fleet, error);
    bool lacks_space = false;
    for (size_t i = 0; i < fleet->n_classes && status == VV_OK; i++) {
        struct vv_fleet_class *class = &fleet->classes[i];
        bool is_done = class->is_told && vv_registry_class_is_ready(fleet->registry, class->number);
        if (!is_done && is_class(fleet->registry, class->number)) {
            status = go_on_with(&round, class, error);
        }
        lacks_space |= class->lacks_space;
    }
    if (status == VV_OK || lacks_space) { /* else not all were looked at */
        atomic_store_explicit(&fleet->lacks_space, lacks_space, memory_order_release);
    }
    pthread_mutex_unlock(&fleet->learning);
    return status == VV_OK && !round.did ? VV_DONE : status;
}
