/* SPDX-License-Identifier: Apache-2.0 */
/* Tenants: made under the tenants' lock, found without one. */
#include "model/batch.h"
#include "registry/registry_private.h"
#include "registry/shared.h"
#include "registry/text.h"

struct wanted {
    struct vv_registry *registry;
    struct vv_str name;
};

static bool is_tenant(const void *context, uint32_t number)
{
    const struct wanted *wanted = context;
    struct vv_tenant *tenant = vv_tenant_at(wanted->registry, number);
    return tenant && vv_str_equal(vv_text_str(tenant->name), wanted->name);
}

static uint64_t name_hash(struct vv_registry *registry, struct vv_str name)
{
    return vv_registry_hash(registry, VV_REGISTRY_NONE, name);
}

uint32_t vv_tenant_find(struct vv_registry *registry, struct vv_str name)
{
    struct wanted wanted = {registry, name};
    return vv_names_find(&registry->tenant_names, name_hash(registry, name), is_tenant, &wanted);
}

void vv_tenant_deinit(struct vv_registry *registry, struct vv_tenant *tenant)
{
    vv_index_deinit(registry, &tenant->index);
}

static struct vv_str life_name(struct vv_str place, enum vv_space space, uint32_t life,
                               char room[VV_SPACE_NAME_MAX])
{
    char suffix_room[VV_SPACE_SUFFIX_MAX + 1];
    struct vv_str suffix = vv_space_suffix(space, life, suffix_room);
    vv_invariant(place.size > 0 && place.size <= VV_TENANT_NAME_MAX + VV_CLASS_SUFFIX_MAX &&
                 vv_space_place_name(place).size == place.size);
    memcpy(room, place.data, place.size);
    memcpy(room + place.size, suffix.data, suffix.size);
    return (struct vv_str){room, place.size + suffix.size};
}

static struct vv_str space_name(struct vv_str place, enum vv_space space,
                                char room[VV_SPACE_NAME_MAX])
{
    return life_name(place, space, 1, room);
}

static uint32_t find_life(struct vv_registry *registry, struct vv_str place, enum vv_space space,
                          uint32_t life)
{
    char room[VV_SPACE_NAME_MAX];
    bool is_late = space == VV_SPACE_LATE && life > 1;
    return is_late || life > VV_SPACE_LIVES_MAX
               ? VV_REGISTRY_NONE
               : vv_tenant_find(registry, life_name(place, space, life, room));
}

static uint32_t linked_space(struct vv_registry *registry, uint32_t place, enum vv_space space)
{
    struct vv_tenant *tenant = vv_tenant_at(registry, place);
    uint32_t linked =
        tenant ? atomic_load_explicit(&tenant->spaces[space], memory_order_acquire) : 0;
    return linked > 0 ? linked - 1 : VV_REGISTRY_NONE;
}

static uint32_t linked_life(struct vv_registry *registry, uint32_t place, enum vv_space space)
{
    uint32_t linked = linked_space(registry, place, space);
    return linked == VV_REGISTRY_NONE ? 0
                                      : vv_space_life(vv_registry_tenant_name(registry, linked));
}

/* Of several lives the place's is the latest. */
static void link_space(struct vv_registry *registry, uint32_t tenant, enum vv_space space,
                       uint32_t number)
{
    struct vv_tenant *linked = vv_tenant_at(registry, number);
    uint32_t life = vv_space_life(vv_registry_tenant_name(registry, number));
    atomic_store_explicit(&linked->space, (uint8_t)space, memory_order_relaxed);
    atomic_store_explicit(&linked->owner, tenant + 1, memory_order_release);
    if (life >= linked_life(registry, tenant, space)) {
        atomic_store_explicit(&vv_tenant_at(registry, tenant)->spaces[space], number + 1,
                              memory_order_release);
    }
}

/* One that no journal has yet is not used: its number could become another one's. */
static bool is_settled(struct vv_registry *registry, uint32_t space)
{
    return space != VV_REGISTRY_NONE && vv_registry_settled(registry, VV_REGISTRY_TENANT, space);
}

/* A class comes when its tenant is settled. */
static void link_class(struct vv_registry *registry, uint32_t number, struct vv_str name)
{
    uint32_t tenant = vv_tenant_find(registry, vv_space_tenant_name(name));
    if (tenant != VV_REGISTRY_NONE && is_settled(registry, number)) {
        vv_class_link(registry, tenant, number);
    }
}

/* Those of a place from a life on, as far as there is one after the other. */
static void link_lives(struct vv_registry *registry, uint32_t place, enum vv_space space,
                       uint32_t life)
{
    struct vv_str name = vv_registry_tenant_name(registry, place);
    uint32_t number = find_life(registry, name, space, life);
    while (number != VV_REGISTRY_NONE) {
        if (is_settled(registry, number)) {
            link_space(registry, place, space, number);
        }
        number = find_life(registry, name, space, ++life);
    }
}

/* Records come in any order: whichever of a place and its space is the second links them, and which
 * of two lives is the later one is in their names. */
void vv_tenant_link(struct vv_registry *registry, uint32_t number)
{
    struct vv_str name = vv_registry_tenant_name(registry, number);
    struct vv_str owner = vv_space_place_name(name);
    bool is_space = owner.size < name.size;
    uint32_t place = is_space ? vv_tenant_find(registry, owner) : number;
    if (!is_space && vv_space_is_name(name)) {
        link_class(registry, number, name);
    }
    uint32_t life = is_space ? vv_space_life(name) : 1;
    for (size_t i = 0; i < VV_SPACES_ALL && place != VV_REGISTRY_NONE; i++) {
        enum vv_space space = (enum vv_space)i;
        if (!is_space || find_life(registry, owner, space, life) == number) {
            link_lives(registry, place, space, life);
        }
    }
}

enum vv_status vv_tenant_add(struct vv_registry *registry, uint32_t number, struct vv_str name,
                             int64_t retention_ns, uint64_t state)
{
    struct vv_objects *tenants = &registry->tenants;
    struct vv_tenant *tenant = vv_objects_room(tenants, number);
    if (!tenant || !vv_names_reserve(&registry->tenant_names)) {
        return VV_NO_MEMORY;
    }
    struct vv_text *kept = vv_registry_keep_text(registry, name);
    if (!kept || vv_index_init(&tenant->index) != VV_OK) {
        return VV_NO_MEMORY;
    }
    atomic_store_explicit(&tenant->retention_ns, retention_ns, memory_order_relaxed);
    atomic_store_explicit(&tenant->state, state, memory_order_relaxed);
    atomic_store_explicit(&tenant->name, kept, memory_order_release);
    vv_objects_use(tenants, number);
    atomic_fetch_add_explicit(&tenants->live, !vv_space_is_name(name), memory_order_relaxed);
    vv_class_count(registry, name);
    vv_names_add(&registry->tenant_names, name_hash(registry, name), number);
    vv_tenant_link(registry, number);
    return VV_OK;
}

/* Spaces are not counted: who sets the limit thinks of tenants. */
static enum vv_status check_limit(struct vv_registry *registry, struct vv_str name,
                                  struct vv_error *error)
{
    struct vv_objects *tenants = &registry->tenants;
    bool is_full = !vv_space_is_name(name) && atomic_load(&tenants->live) >= tenants->limit;
    if (is_full || !vv_objects_can_hold(tenants, vv_objects_end(tenants))) {
        return vv_error_set(error, VV_TOO_LARGE,
                            "there are %u tenants, which is the limit: raise it to add more",
                            (unsigned)atomic_load(&tenants->live));
    }
    return vv_registry_check_room(registry, error);
}

static enum vv_status make(struct vv_registry *registry, struct vv_str name, int64_t retention_ns,
                           uint32_t *number_out, struct vv_error *error)
{
    *number_out = vv_tenant_find(registry, name);
    if (*number_out != VV_REGISTRY_NONE) {
        return VV_OK;
    }
    uint32_t number = vv_objects_end(&registry->tenants);
    enum vv_status status = check_limit(registry, name, error);
    if (status == VV_OK) {
        status = vv_tenant_add(registry, number, name, retention_ns, 1 << 1);
    }
    *number_out = status == VV_OK ? number : VV_REGISTRY_NONE;
    return status;
}

enum vv_status vv_tenant_make(struct vv_registry *registry, struct vv_str name,
                              int64_t retention_ns, uint32_t *number_out, struct vv_error *error)
{
    pthread_mutex_lock(&registry->tenants.lock);
    enum vv_status status = make(registry, name, retention_ns, number_out, error);
    pthread_mutex_unlock(&registry->tenants.lock);
    return status;
}

/* A tenant that begins on this node: as the options say. Its spaces come first, so that whoever
 * sees it sees all of them. */
static enum vv_status begin(struct vv_registry *registry, struct vv_str name, uint32_t *tenant_out,
                            struct vv_error *error)
{
    *tenant_out = vv_tenant_find(registry, name);
    if (*tenant_out != VV_REGISTRY_NONE) {
        return VV_OK;
    }
    enum vv_status status = check_limit(registry, name, error);
    for (int i = 0; registry->has_spaces && i < VV_SPACES && status == VV_OK; i++) {
        char room[VV_SPACE_NAME_MAX];
        uint32_t space;
        status = make(registry, space_name(name, (enum vv_space)i, room),
                      vv_space_retention_ns_default((enum vv_space)i), &space, error);
    }
    if (status == VV_OK && registry->late.policy == VV_LATE_SEPARATE) {
        char room[VV_SPACE_NAME_MAX];
        uint32_t space;
        status = make(registry, space_name(name, VV_SPACE_LATE, room), 0, &space, error);
    }
    if (status == VV_OK) {
        status = make(registry, name, registry->retention_ns, tenant_out, error);
    }
    if (status == VV_OK) {
        atomic_store_explicit(&vv_tenant_at(registry, *tenant_out)->late,
                              vv_late_pack(registry->late), memory_order_relaxed);
    }
    return status;
}

enum making { FIND, MAKE, BEGIN };

static enum vv_status find_or_make(struct vv_registry *registry, struct vv_str name,
                                   enum making making, uint32_t *number_out, struct vv_error *error)
{
    *number_out = vv_tenant_find(registry, name);
    if (*number_out != VV_REGISTRY_NONE) {
        return VV_OK;
    }
    enum vv_status status =
        vv_name_check(vv_space_tenant_name(name), VV_TENANT_NAME_MAX, "the tenant's name", error);
    if (status != VV_OK) {
        return status == VV_TOO_LARGE ? VV_INVALID : status;
    }
    if (making == FIND) {
        return vv_error_set(error, VV_NOT_FOUND, "there is no tenant '%.*s'", VV_STR_ARG(name));
    }
    pthread_mutex_lock(&registry->tenants.lock);
    status = making == BEGIN ? begin(registry, name, number_out, error)
                             : make(registry, name, 0, number_out, error);
    pthread_mutex_unlock(&registry->tenants.lock);
    return status;
}

enum vv_status vv_registry_tenant(struct vv_registry *registry, struct vv_str name, bool create,
                                  uint32_t *tenant_out, struct vv_error *error)
{
    *tenant_out = VV_REGISTRY_NONE;
    if (vv_space_is_name(name)) {
        return vv_error_set(error, VV_INVALID, "the tenant's name contains '/': leave it out");
    }
    return find_or_make(registry, name, create ? BEGIN : FIND, tenant_out, error);
}

/* ---- spaces ---- */

enum vv_status vv_registry_space_named(struct vv_registry *registry, struct vv_str name,
                                       bool create, uint32_t *number_out, struct vv_error *error)
{
    *number_out = VV_REGISTRY_NONE;
    if (!vv_space_has_good_suffix(name)) {
        return vv_error_set(error, VV_INVALID, "'%.*s' names no tenant, nor a tier of one",
                            VV_STR_ARG(name));
    }
    return find_or_make(registry, name, create ? MAKE : FIND, number_out, error);
}

/* The latest that there is, settled or not; 1 where there is none. */
static uint32_t latest_life(struct vv_registry *registry, uint32_t place, enum vv_space space)
{
    struct vv_str name = vv_registry_tenant_name(registry, place);
    uint32_t life = linked_life(registry, place, space);
    life = life > 0 ? life : 1;
    while (find_life(registry, name, space, life + 1) != VV_REGISTRY_NONE) {
        life++;
    }
    return life;
}

enum vv_status vv_registry_space(struct vv_registry *registry, uint32_t tenant, enum vv_space space,
                                 bool create, uint32_t *space_out, struct vv_error *error)
{
    char room[VV_SPACE_NAME_MAX];
    struct vv_str name = life_name(vv_registry_tenant_name(registry, tenant), space,
                                   latest_life(registry, tenant, space), room);
    return find_or_make(registry, name, create ? MAKE : FIND, space_out, error);
}

enum vv_status vv_registry_next_space(struct vv_registry *registry, uint32_t tenant,
                                      enum vv_space tier, uint32_t *space_out,
                                      struct vv_error *error)
{
    char room[VV_SPACE_NAME_MAX];
    uint32_t life = latest_life(registry, tenant, tier) + 1;
    *space_out = VV_REGISTRY_NONE;
    if (life > VV_SPACE_LIVES_MAX) {
        return vv_error_set(error, VV_TOO_LARGE, "the tier was switched on %u times, and no more",
                            (unsigned)life - 1);
    }
    struct vv_str name = life_name(vv_registry_tenant_name(registry, tenant), tier, life, room);
    return find_or_make(registry, name, MAKE, space_out, error);
}

uint32_t vv_registry_late_space(struct vv_registry *registry, uint32_t number)
{
    return linked_space(registry, number, VV_SPACE_LATE);
}

uint32_t vv_registry_late_seen(struct vv_registry *registry, uint32_t number)
{
    char room[VV_SPACE_NAME_MAX];
    uint32_t space = vv_registry_late_space(registry, number);
    struct vv_str name = vv_registry_tenant_name(registry, number);
    bool is_place = name.size > 0 && vv_space_place_name(name).size == name.size;
    return space == VV_REGISTRY_NONE && is_place
               ? vv_tenant_find(registry, space_name(name, VV_SPACE_LATE, room))
               : space;
}

static bool is_on(struct vv_registry *registry, uint32_t space)
{
    return vv_registry_retention(registry, space) != VV_SPACE_OFF_NS;
}

static struct vv_tiers tiers_of(struct vv_registry *registry, uint32_t number, bool with_ending)
{
    struct vv_tiers tiers = {.any = false};
    for (size_t i = 0; i < VV_SPACES; i++) {
        uint32_t space = linked_space(registry, number, (enum vv_space)i);
        bool has =
            space != VV_REGISTRY_NONE &&
            (is_on(registry, space) || (with_ending && vv_registry_is_ending(registry, space)));
        tiers.spaces[i] = has ? space : VV_REGISTRY_NONE;
        tiers.any |= has;
    }
    return tiers;
}

struct vv_tiers vv_registry_tiers(struct vv_registry *registry, uint32_t number)
{
    return tiers_of(registry, number, false);
}

struct vv_tiers vv_registry_tiers_built(struct vv_registry *registry, uint32_t number)
{
    return tiers_of(registry, number, true);
}

int vv_tiers_below(const struct vv_tiers *tiers, int above)
{
    int tier = above - 1;
    while (tier >= 0 && tiers->spaces[tier] == VV_REGISTRY_NONE) {
        tier--;
    }
    return tier;
}

size_t vv_registry_unsettled(struct vv_registry *registry, uint32_t tenant,
                             uint32_t numbers_out[VV_SPACES_ALL + 1])
{
    size_t n = 0;
    struct vv_str name = vv_registry_tenant_name(registry, tenant);
    for (int i = 0; i < VV_SPACES_ALL; i++) {
        uint32_t life = latest_life(registry, tenant, (enum vv_space)i);
        uint32_t space = find_life(registry, name, (enum vv_space)i, life);
        if (space != VV_REGISTRY_NONE &&
            !vv_registry_settled(registry, VV_REGISTRY_TENANT, space)) {
            numbers_out[n++] = space;
        }
    }
    if (!vv_registry_settled(registry, VV_REGISTRY_TENANT, tenant)) {
        numbers_out[n++] = tenant;
    }
    return n;
}

enum vv_status vv_registry_define_tenant(struct vv_registry *registry, uint32_t tenant,
                                         struct vv_batch *batch)
{
    uint32_t numbers[VV_SPACES_ALL + 1];
    size_t n = vv_registry_unsettled(registry, tenant, numbers);
    enum vv_status status = VV_OK;
    for (size_t i = 0; i < n && status == VV_OK; i++) {
        status = vv_batch_define(batch, VV_REGISTRY_TENANT, numbers[i]);
    }
    return status;
}

/* What a space or a class is of, and which space it is; itself and VV_SPACES_ALL for others. */
static uint32_t above(struct vv_registry *registry, uint32_t number, enum vv_space *space_out)
{
    struct vv_tenant *space = vv_tenant_at(registry, number);
    uint32_t owner = space ? atomic_load_explicit(&space->owner, memory_order_acquire) : 0;
    *space_out = owner > 0
                     ? (enum vv_space)atomic_load_explicit(&space->space, memory_order_relaxed)
                     : VV_SPACES_ALL;
    return owner > 0 ? owner - 1 : number;
}

uint32_t vv_registry_place_of(struct vv_registry *registry, uint32_t number)
{
    enum vv_space space;
    uint32_t place = above(registry, number, &space);
    return space == VV_SPACES_ALL ? number : place;
}

uint32_t vv_registry_owner(struct vv_registry *registry, uint32_t number)
{
    enum vv_space space;
    return above(registry, vv_registry_place_of(registry, number), &space);
}

bool vv_registry_space_of(struct vv_registry *registry, uint32_t number, uint32_t *place_out,
                          enum vv_space *space_out)
{
    enum vv_space space;
    uint32_t place = above(registry, number, &space);
    if (space >= VV_SPACES) {
        return false;
    }
    *place_out = place;
    *space_out = space;
    return true;
}

bool vv_registry_is_tenant(struct vv_registry *registry, uint32_t number)
{
    struct vv_str name = vv_registry_tenant_name(registry, number);
    return name.size > 0 && !vv_space_is_name(name);
}

struct vv_str vv_registry_tenant_name(struct vv_registry *registry, uint32_t number)
{
    struct vv_tenant *tenant = vv_tenant_at(registry, number);
    return vv_text_str(tenant ? tenant->name : NULL);
}

uint32_t vv_registry_tenant_count(struct vv_registry *registry)
{
    return vv_objects_end(&registry->tenants);
}

struct vv_tenant *vv_tenant_keeper(struct vv_registry *registry, struct vv_tenant *tenant)
{
    uint32_t owner = tenant ? atomic_load_explicit(&tenant->owner, memory_order_acquire) : 0;
    bool is_late =
        owner > 0 && atomic_load_explicit(&tenant->space, memory_order_relaxed) == VV_SPACE_LATE;
    return is_late ? vv_tenant_at(registry, owner - 1) : tenant;
}

/* Whether it is a tier's, which has had a later life since. */
static bool is_former(struct vv_registry *registry, uint32_t number)
{
    uint32_t place;
    enum vv_space tier;
    if (!vv_registry_space_of(registry, number, &place, &tier)) {
        return false;
    }
    uint32_t present = linked_space(registry, place, tier);
    return present != VV_REGISTRY_NONE && present != number;
}

int64_t vv_registry_retention(struct vv_registry *registry, uint32_t number)
{
    if (is_former(registry, number)) {
        return VV_SPACE_OFF_NS;
    }
    struct vv_tenant *tenant = vv_tenant_keeper(registry, vv_tenant_at(registry, number));
    return tenant ? atomic_load_explicit(&tenant->retention_ns, memory_order_relaxed) : 0;
}

static void set_retention(struct vv_tenant *tenant, int64_t retention_ns, vv_stamp stamp)
{
    atomic_store_explicit(&tenant->retention_ns, retention_ns, memory_order_relaxed);
    atomic_store_explicit(&tenant->retention_stamp, stamp, memory_order_relaxed);
    vv_state_change(&tenant->state);
}

void vv_registry_set_retention(struct vv_registry *registry, uint32_t number, int64_t retention_ns)
{
    struct vv_tenant *tenant = vv_tenant_at(registry, number);
    if (!tenant) {
        return;
    }
    pthread_mutex_lock(&registry->tenants.lock);
    if (atomic_load_explicit(&tenant->retention_ns, memory_order_relaxed) != retention_ns) {
        vv_stamp before = atomic_load_explicit(&tenant->retention_stamp, memory_order_relaxed);
        set_retention(tenant, retention_ns, vv_registry_stamp_above(registry, before));
    }
    pthread_mutex_unlock(&registry->tenants.lock);
}

void vv_retention_begin(struct vv_registry *registry, uint32_t number, int64_t retention_ns)
{
    struct vv_tenant *tenant = vv_tenant_at(registry, number);
    pthread_mutex_lock(&registry->tenants.lock);
    vv_stamp before = atomic_load_explicit(&tenant->retention_stamp, memory_order_relaxed);
    if (before == 0 && vv_registry_is_shared(registry)) {
        set_retention(tenant, retention_ns, vv_registry_stamp_above(registry, before));
    }
    pthread_mutex_unlock(&registry->tenants.lock);
}

void vv_registry_stamped_retention(struct vv_registry *registry, uint32_t number,
                                   int64_t *retention_ns_out, vv_stamp *stamp_out)
{
    struct vv_tenant *tenant = vv_tenant_at(registry, number);
    *retention_ns_out = 0;
    *stamp_out = 0;
    if (tenant) {
        pthread_mutex_lock(&registry->tenants.lock);
        *retention_ns_out = atomic_load_explicit(&tenant->retention_ns, memory_order_relaxed);
        *stamp_out = atomic_load_explicit(&tenant->retention_stamp, memory_order_relaxed);
        pthread_mutex_unlock(&registry->tenants.lock);
    }
}

enum vv_status vv_registry_learn_retention(struct vv_registry *registry, uint32_t number,
                                           int64_t retention_ns, vv_stamp stamp,
                                           struct vv_error *error)
{
    struct vv_tenant *tenant = vv_tenant_at(registry, number);
    if (!tenant) {
        return vv_error_set(error, VV_NOT_FOUND, "there is no such tenant");
    }
    if (retention_ns < 0) {
        return vv_error_set(error, VV_INVALID, "the retention is negative");
    }
    pthread_mutex_lock(&registry->tenants.lock);
    int64_t known_ns = atomic_load_explicit(&tenant->retention_ns, memory_order_relaxed);
    vv_stamp known = atomic_load_explicit(&tenant->retention_stamp, memory_order_relaxed);
    if (stamp > known || (stamp == known && retention_ns > known_ns)) {
        set_retention(tenant, retention_ns, stamp);
    }
    pthread_mutex_unlock(&registry->tenants.lock);
    return VV_OK;
}
