/* SPDX-License-Identifier: Apache-2.0 */
/* From when on a tenant's points live as long as its present retention says, and until when those
 * live that were to for longer. Under the tenants' lock. */
#include "registry/registry_private.h"

#include <string.h>

struct vv_whole vv_registry_whole(struct vv_registry *registry, uint32_t number)
{
    struct vv_tenant *tenant = vv_tenant_at(registry, number);
    struct vv_whole whole = {0};
    if (tenant) {
        pthread_mutex_lock(&registry->tenants.lock);
        whole = tenant->whole;
        pthread_mutex_unlock(&registry->tenants.lock);
    }
    return whole;
}

static bool is_time(int64_t time_ns)
{
    return time_ns >= 0 && time_ns <= VV_TIME_MAX;
}

static bool is_good_longer(const struct vv_whole *whole)
{
    bool is_good = whole->n <= VV_LENGTHENED_MAX;
    for (size_t i = 0; is_good && i < whole->n; i++) {
        const struct vv_lengthened *one = &whole->longer[i];
        is_good = one->from > 0 && is_time(one->from) && one->kept_ns >= 0 && is_time(one->until) &&
                  one->lived_ns >= 0 && (i == 0 || one[-1].from <= one->from);
    }
    return is_good;
}

/* Below 0: in the list before the other one; 0: they are the same. */
static int compare(const int64_t *one, const int64_t *other, size_t n)
{
    size_t i = 0;
    while (i + 1 < n && one[i] == other[i]) {
        i++;
    }
    return (one[i] > other[i]) - (one[i] < other[i]);
}

static int compare_longer(const void *left, const void *right)
{
    const struct vv_lengthened *one = left;
    const struct vv_lengthened *other = right;
    const int64_t a[] = {one->from, one->kept_ns, one->until, one->lived_ns};
    const int64_t b[] = {other->from, other->kept_ns, other->until, other->lived_ns};
    return compare(a, b, 4);
}

static int compare_shorter(const void *left, const void *right)
{
    const struct vv_shortened *one = left;
    const struct vv_shortened *other = right;
    const int64_t a[] = {one->until, one->before_ns};
    const int64_t b[] = {other->until, other->before_ns};
    return compare(a, b, 2);
}

static bool is_good_built(const struct vv_rebuilt *built)
{
    return built->longer_from == 0
               ? built->from == 0
               : built->longer_from > 0 && is_time(built->longer_from) &&
                     built->from >= VV_TIME_MIN && built->from < built->longer_from;
}

bool vv_whole_is_good(const struct vv_whole *whole)
{
    bool is_good = is_good_longer(whole) && whole->n_shorter <= VV_SHORTENED_MAX &&
                   is_good_built(&whole->built);
    for (size_t i = 0; is_good && i < whole->n_shorter; i++) {
        const struct vv_shortened *one = &whole->shorter[i];
        is_good = one->until > 0 && is_time(one->until) && one->before_ns >= 0 &&
                  (i == 0 || one[-1].until <= one->until);
    }
    return is_good;
}

bool vv_whole_has_lives(const struct vv_whole *whole)
{
    bool has = whole->n_shorter > 0;
    for (size_t i = 0; i < whole->n; i++) {
        has |= whole->longer[i].until > 0;
    }
    return has;
}

bool vv_whole_lives(const struct vv_whole *whole, int64_t retention_ns, int64_t now_ns,
                    struct vv_shortened *longest_out)
{
    *longest_out = (struct vv_shortened){0, retention_ns};
    for (size_t i = 0; i < whole->n_shorter; i++) { /* of the same ones the last */
        const struct vv_shortened *one = &whole->shorter[i];
        bool is_longest = vv_retention_is_longer(one->before_ns, retention_ns) &&
                          !vv_retention_is_longer(longest_out->before_ns, one->before_ns);
        *longest_out = now_ns < one->until && is_longest ? *one : *longest_out;
    }
    return longest_out->until > 0;
}

int64_t vv_lengthened_kept_ns(const struct vv_lengthened *longer, int64_t now_ns)
{
    if (now_ns >= longer->until) {
        return longer->kept_ns;
    }
    return longer->lived_ns == 0                ? INT64_MAX
           : longer->lived_ns > longer->kept_ns ? longer->lived_ns
                                                : longer->kept_ns;
}

/* The earliest time there is where all is kept. */
static int64_t minus(int64_t time_ns, int64_t kept_ns)
{
    int64_t before;
    return __builtin_sub_overflow(time_ns, kept_ns, &before) ? INT64_MIN : before;
}

int64_t vv_whole_gone_by(const struct vv_whole *whole, size_t i, int64_t at_ns, int64_t now_ns)
{
    const struct vv_lengthened *longer = &whole->longer[i];
    int64_t left = minus(at_ns, vv_lengthened_kept_ns(longer, now_ns));
    left = left < longer->from ? left : longer->from;
    bool is_built = longer->from <= whole->built.longer_from;
    return is_built && whole->built.from < left ? whole->built.from : left;
}

int64_t vv_whole_gone(const struct vv_whole *whole, int64_t at_ns, int64_t now_ns)
{
    int64_t gone = INT64_MIN;
    for (size_t i = 0; i < whole->n; i++) {
        int64_t left = vv_whole_gone_by(whole, i, at_ns, now_ns);
        gone = left > gone ? left : gone;
    }
    return gone;
}

static void encode_one(const struct vv_lengthened *one, struct vv_buffer *out)
{
    vv_buffer_zigzag(out, one->from);
    vv_buffer_zigzag(out, one->kept_ns);
}

void vv_whole_encode_first(const struct vv_whole *whole, struct vv_buffer *out)
{
    encode_one(&whole->longer[0], out); /* zeroes: there is none */
}

void vv_whole_encode_rest(const struct vv_whole *whole, struct vv_buffer *out)
{
    vv_buffer_zigzag(out, 0); /* what was shortened last: said by all of them */
    vv_buffer_zigzag(out, 0);
    vv_buffer_u8(out, (uint8_t)(whole->n > 1 ? whole->n - 1 : 0));
    for (size_t i = 1; i < whole->n; i++) {
        encode_one(&whole->longer[i], out);
    }
}

void vv_whole_encode_lives(const struct vv_whole *whole, struct vv_buffer *out)
{
    for (size_t i = 0; i < whole->n; i++) {
        vv_buffer_zigzag(out, whole->longer[i].until);
        vv_buffer_zigzag(out, whole->longer[i].lived_ns);
    }
    vv_buffer_u8(out, (uint8_t)whole->n_shorter);
    for (size_t i = 0; i < whole->n_shorter; i++) {
        vv_buffer_zigzag(out, whole->shorter[i].until);
        vv_buffer_zigzag(out, whole->shorter[i].before_ns);
    }
}

void vv_whole_encode_built(const struct vv_whole *whole, struct vv_buffer *out)
{
    vv_buffer_zigzag(out, whole->built.longer_from);
    vv_buffer_zigzag(out, whole->built.from);
}

static void read_one(struct vv_reader *reader, struct vv_lengthened *one_out)
{
    one_out->from = vv_reader_zigzag(reader);
    one_out->kept_ns = vv_reader_zigzag(reader);
}

void vv_whole_read_first(struct vv_reader *reader, struct vv_whole *whole_out)
{
    read_one(reader, &whole_out->longer[0]);
    whole_out->n = whole_out->longer[0].from != 0;
}

void vv_whole_read_rest(struct vv_reader *reader, struct vv_whole *whole)
{
    size_t n = whole->n + vv_reader_u8(reader);
    for (; whole->n < n && whole->n < VV_LENGTHENED_MAX; whole->n++) {
        read_one(reader, &whole->longer[whole->n]);
    }
}

void vv_whole_read_last(struct vv_reader *reader, struct vv_whole *whole)
{
    whole->shorter[0].until = vv_reader_zigzag(reader);
    whole->shorter[0].before_ns = vv_reader_zigzag(reader);
    whole->n_shorter = whole->shorter[0].until != 0;
}

void vv_whole_read_lives(struct vv_reader *reader, struct vv_whole *whole)
{
    for (size_t i = 0; i < whole->n; i++) {
        whole->longer[i].until = vv_reader_zigzag(reader);
        whole->longer[i].lived_ns = vv_reader_zigzag(reader);
    }
    size_t n = vv_reader_u8(reader);
    for (whole->n_shorter = 0; whole->n_shorter < n && whole->n_shorter < VV_SHORTENED_MAX;) {
        struct vv_shortened *one = &whole->shorter[whole->n_shorter++];
        one->until = vv_reader_zigzag(reader);
        one->before_ns = vv_reader_zigzag(reader);
    }
}

void vv_whole_read_built(struct vv_reader *reader, struct vv_whole *whole)
{
    whole->built.longer_from = vv_reader_zigzag(reader);
    whole->built.from = vv_reader_zigzag(reader);
}

/* Whether the other one says as much, or more. */
static bool is_longer_said_by(const void *left, const void *right)
{
    const struct vv_lengthened *one = left;
    const struct vv_lengthened *other = right;
    bool ends_as_soon =
        other->until == 0 ||
        (other->until <= one->until && !vv_retention_is_longer(other->lived_ns, one->lived_ns));
    return other->from >= one->from && other->kept_ns <= one->kept_ns && ends_as_soon;
}

static bool is_shorter_said_by(const void *left, const void *right)
{
    const struct vv_shortened *one = left;
    const struct vv_shortened *other = right;
    return other->until >= one->until && !vv_retention_is_longer(one->before_ns, other->before_ns);
}

/* A list of what was lengthened, or shortened. */
struct list_kind {
    size_t size;
    int (*compare)(const void *one, const void *other);
    bool (*is_said_by)(const void *one, const void *other);
};
static const struct list_kind longer_kind = {sizeof(struct vv_lengthened), compare_longer,
                                             is_longer_said_by};
static const struct list_kind shorter_kind = {sizeof(struct vv_shortened), compare_shorter,
                                              is_shorter_said_by};

/* Into a list in order of which none says what another one does, with room for one more; returns
 * how many there are then. If one says it, nothing has been taken out before. */
static size_t add(const struct list_kind *kind, void *items, size_t n, const void *one)
{
    uint8_t *bytes = items;
    size_t size = kind->size;
    size_t kept = 0;
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        uint8_t *item = bytes + i * size;
        if (kind->is_said_by(one, item)) {
            return n;
        }
        if (!kind->is_said_by(item, one)) {
            at += kind->compare(item, one) < 0;
            memmove(bytes + kept++ * size, item, size);
        }
    }
    memmove(bytes + (at + 1) * size, bytes + at * size, (kept - at) * size);
    memcpy(bytes + at * size, one, size);
    return kept + 1;
}

/* What both say together, for whatever either is about. */
static struct vv_lengthened unite(const struct vv_lengthened *a, const struct vv_lengthened *b)
{
    bool lives = a->until > 0 && b->until > 0;
    return (struct vv_lengthened){.from = a->from > b->from ? a->from : b->from,
                                  .kept_ns = a->kept_ns < b->kept_ns ? a->kept_ns : b->kept_ns,
                                  .until = a->until < b->until ? a->until : b->until,
                                  .lived_ns = !lives ? 0
                                              : vv_retention_is_longer(a->lived_ns, b->lived_ns)
                                                  ? b->lived_ns
                                                  : a->lived_ns};
}

/* The two earliest make room together. */
static void add_longer(struct vv_whole *whole, const struct vv_lengthened *one)
{
    struct vv_lengthened all[VV_LENGTHENED_MAX + 1];
    memcpy(all, whole->longer, whole->n * sizeof *all);
    size_t n = add(&longer_kind, all, whole->n, one);
    size_t over = n > VV_LENGTHENED_MAX;
    if (over) {
        all[1] = unite(&all[0], &all[1]);
    }
    whole->n = n - over;
    memcpy(whole->longer, all + over, whole->n * sizeof *all);
}

/* The one that ends first makes room. */
static void add_shorter(struct vv_whole *whole, const struct vv_shortened *one)
{
    struct vv_shortened all[VV_SHORTENED_MAX + 1];
    memcpy(all, whole->shorter, whole->n_shorter * sizeof *all);
    size_t n = add(&shorter_kind, all, whole->n_shorter, one);
    size_t over = n > VV_SHORTENED_MAX;
    whole->n_shorter = n - over;
    memcpy(whole->shorter, all + over, whole->n_shorter * sizeof *all);
}

/* What is lacked since then is what counts; of the same, all that was built. */
static struct vv_rebuilt latest(const struct vv_rebuilt *a, const struct vv_rebuilt *b)
{
    bool is_a =
        a->longer_from > b->longer_from || (a->longer_from == b->longer_from && a->from < b->from);
    return is_a ? *a : *b;
}

static struct vv_whole merge(struct vv_whole a, const struct vv_whole *b)
{
    a.built = latest(&a.built, &b->built);
    for (size_t i = 0; i < b->n; i++) {
        add_longer(&a, &b->longer[i]);
    }
    for (size_t i = 0; i < b->n_shorter; i++) {
        add_shorter(&a, &b->shorter[i]);
    }
    return a;
}

static bool is_same(const struct vv_whole *a, const struct vv_whole *b)
{
    bool is_same = a->n == b->n && a->n_shorter == b->n_shorter &&
                   a->built.longer_from == b->built.longer_from && a->built.from == b->built.from;
    for (size_t i = 0; is_same && i < a->n; i++) {
        is_same = compare_longer(&a->longer[i], &b->longer[i]) == 0;
    }
    for (size_t i = 0; is_same && i < a->n_shorter; i++) {
        is_same = compare_shorter(&a->shorter[i], &b->shorter[i]) == 0;
    }
    return is_same;
}

void vv_registry_note_whole(struct vv_registry *registry, uint32_t number, struct vv_whole whole)
{
    struct vv_tenant *tenant = vv_tenant_at(registry, number);
    vv_invariant(vv_whole_is_good(&whole));
    if (!tenant) {
        return;
    }
    pthread_mutex_lock(&registry->tenants.lock);
    struct vv_whole after = merge(tenant->whole, &whole);
    if (!is_same(&after, &tenant->whole)) {
        vv_tenant_set_whole(tenant, &after);
        vv_state_change(&tenant->state);
    }
    pthread_mutex_unlock(&registry->tenants.lock);
}

void vv_tenant_set_whole(struct vv_tenant *tenant, const struct vv_whole *whole)
{
    tenant->whole = *whole;
    atomic_store_explicit(&tenant->lives_until, vv_whole_until(whole), memory_order_relaxed);
}

void vv_registry_note_time(struct vv_registry *registry, int64_t now_ns)
{
    atomic_store_explicit(&registry->now_ns, now_ns, memory_order_relaxed);
}

void vv_registry_note_held(struct vv_registry *registry, int64_t held_ns)
{
    atomic_store_explicit(&registry->held_ns, held_ns, memory_order_relaxed);
}

/* Alone, when all is built that it is needed for, is said (vv_registry_end_life). */
bool vv_registry_is_ending(struct vv_registry *registry, uint32_t number)
{
    const struct vv_tenant *tenant = vv_tenant_at(registry, number);
    if (!tenant || vv_registry_retention(registry, number) != VV_SPACE_OFF_NS) {
        return false;
    }
    int64_t until = atomic_load_explicit(&tenant->lives_until, memory_order_relaxed);
    return vv_registry_is_shared(registry)
               ? atomic_load_explicit(&registry->now_ns, memory_order_relaxed) < until
               : until > 0;
}

int64_t vv_registry_life_by_clock(struct vv_registry *registry, uint32_t number, int64_t now_ns)
{
    int64_t retention = vv_registry_retention(registry, number);
    if (retention == 0) {
        return retention;
    }
    struct vv_tenant *tenant = vv_tenant_keeper(registry, vv_tenant_at(registry, number));
    pthread_mutex_lock(&registry->tenants.lock);
    struct vv_whole whole = tenant->whole;
    pthread_mutex_unlock(&registry->tenants.lock);
    struct vv_shortened longest;
    (void)vv_whole_lives(&whole, retention, now_ns, &longest);
    return longest.before_ns;
}

int64_t vv_registry_life(struct vv_registry *registry, uint32_t number, int64_t now_ns)
{
    int64_t held_ns = vv_registry_is_shared(registry)
                          ? 0
                          : atomic_load_explicit(&registry->held_ns, memory_order_relaxed);
    int64_t at = now_ns > INT64_MIN + held_ns ? now_ns - held_ns : INT64_MIN;
    return vv_registry_life_by_clock(registry, number, at);
}

/* A tier may have to live on for longer than what is put does at least (engine/lives.c). */
int64_t vv_registry_kept(struct vv_registry *registry, uint32_t number, int64_t now_ns)
{
    uint32_t place;
    enum vv_space tier;
    bool goes_by_itself =
        vv_registry_is_shared(registry) && !vv_registry_space_of(registry, number, &place, &tier);
    return goes_by_itself ? vv_registry_retention(registry, number)
                          : vv_registry_life(registry, number, now_ns);
}

bool vv_registry_lives_on(struct vv_registry *registry, uint32_t number, int64_t now_ns)
{
    return vv_registry_life(registry, number, now_ns) != vv_registry_retention(registry, number);
}

void vv_registry_end_life(struct vv_registry *registry, uint32_t number)
{
    struct vv_tenant *tenant = vv_tenant_at(registry, number);
    if (tenant) {
        pthread_mutex_lock(&registry->tenants.lock);
        struct vv_whole whole = tenant->whole;
        whole.n_shorter = 0;
        vv_tenant_set_whole(tenant, &whole);
        pthread_mutex_unlock(&registry->tenants.lock);
    }
}
