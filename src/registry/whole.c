/* SPDX-License-Identifier: Apache-2.0 */
/* From when on a tenant's points live as long as its present retention says. Under the tenants'
 * lock. */
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

bool vv_whole_is_good(const struct vv_whole *whole)
{
    bool is_good = whole->n <= VV_LENGTHENED_MAX && whole->until >= 0 &&
                   whole->until <= VV_TIME_MAX && whole->before_ns >= 0;
    for (size_t i = 0; is_good && i < whole->n; i++) {
        const struct vv_lengthened *one = &whole->longer[i];
        is_good = one->from > 0 && one->from <= VV_TIME_MAX && one->kept_ns >= 0 &&
                  (i == 0 || (one[-1].from < one->from && one[-1].kept_ns < one->kept_ns));
    }
    return is_good;
}

int64_t vv_whole_gone(const struct vv_whole *whole, int64_t at_ns)
{
    int64_t gone = INT64_MIN;
    for (size_t i = 0; i < whole->n; i++) {
        int64_t left = at_ns - whole->longer[i].kept_ns;
        left = left < whole->longer[i].from ? left : whole->longer[i].from;
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
    vv_buffer_u8(out, (uint8_t)(whole->n - 1));
    for (size_t i = 1; i < whole->n; i++) {
        encode_one(&whole->longer[i], out);
    }
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

/* Whether the other one says as much, or more. */
static bool is_said_by(const struct vv_lengthened *one, const struct vv_lengthened *other)
{
    return other->from >= one->from && other->kept_ns <= one->kept_ns;
}

/* In order; the two earliest make room together. */
static void add(struct vv_whole *whole, const struct vv_lengthened *one)
{
    struct vv_lengthened all[VV_LENGTHENED_MAX + 1];
    size_t n = 0;
    size_t at = 0;
    for (size_t i = 0; i < whole->n; i++) {
        if (is_said_by(one, &whole->longer[i])) {
            return;
        }
        if (!is_said_by(&whole->longer[i], one)) {
            at += whole->longer[i].from < one->from;
            all[n++] = whole->longer[i];
        }
    }
    memmove(&all[at + 1], &all[at], (n - at) * sizeof *all);
    all[at] = *one;
    n++;
    if (n > VV_LENGTHENED_MAX) {
        all[1].kept_ns = all[0].kept_ns;
        n--;
        memmove(&all[0], &all[1], n * sizeof *all);
    }
    memcpy(whole->longer, all, n * sizeof *all);
    whole->n = n;
}

/* Of lives before a shorter one that come from one time the shorter counts: rather less is taken
 * for whole than is. */
static struct vv_whole merge(struct vv_whole a, const struct vv_whole *b)
{
    if (a.until == b->until && a.until > 0) {
        bool is_shorter = a.before_ns != 0 && (b->before_ns == 0 || a.before_ns < b->before_ns);
        a.before_ns = is_shorter ? a.before_ns : b->before_ns;
    } else if (b->until > a.until) {
        a.until = b->until;
        a.before_ns = b->before_ns;
    }
    for (size_t i = 0; i < b->n; i++) {
        add(&a, &b->longer[i]);
    }
    return a;
}

static bool is_same(const struct vv_whole *a, const struct vv_whole *b)
{
    bool is_same = a->n == b->n && a->until == b->until && a->before_ns == b->before_ns;
    for (size_t i = 0; is_same && i < a->n; i++) {
        is_same =
            a->longer[i].from == b->longer[i].from && a->longer[i].kept_ns == b->longer[i].kept_ns;
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
    atomic_store_explicit(&tenant->lives_until, whole->until, memory_order_relaxed);
}

bool vv_registry_is_ending(struct vv_registry *registry, uint32_t number)
{
    const struct vv_tenant *tenant = vv_tenant_at(registry, number);
    return tenant && !vv_registry_is_shared(registry) &&
           vv_registry_retention(registry, number) == VV_SPACE_OFF_NS &&
           atomic_load_explicit(&tenant->lives_until, memory_order_relaxed) > 0;
}

int64_t vv_registry_life(struct vv_registry *registry, uint32_t number, int64_t now_ns)
{
    int64_t retention = vv_registry_retention(registry, number);
    bool is_off = retention == VV_SPACE_OFF_NS;
    if (retention == 0 || (is_off && vv_registry_is_shared(registry))) {
        return retention;
    }
    struct vv_tenant *tenant = vv_tenant_keeper(registry, vv_tenant_at(registry, number));
    pthread_mutex_lock(&registry->tenants.lock);
    struct vv_whole whole = tenant->whole;
    pthread_mutex_unlock(&registry->tenants.lock);
    bool was_longer = whole.before_ns == 0 || whole.before_ns > retention;
    return now_ns < whole.until && was_longer ? whole.before_ns : retention;
}

int64_t vv_registry_kept(struct vv_registry *registry, uint32_t number, int64_t now_ns)
{
    return vv_registry_is_shared(registry) ? vv_registry_retention(registry, number)
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
        whole.until = whole.before_ns = 0;
        vv_tenant_set_whole(tenant, &whole);
        pthread_mutex_unlock(&registry->tenants.lock);
    }
}
