/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared operations in memory: several nodes, each with a memory store of its own, tell each other
 * through one log. What one tells is there at once for the others, and stays only if it confirms.
 * One thread at a time, but for a lock around each call.
 */
#ifndef TESTS_SUPPORT_FAKE_FLEET_H
#define TESTS_SUPPORT_FAKE_FLEET_H

#include "base/random.h"
#include "registry/registry.h"
#include "store/store.h"

#include "simulation/sim_clock.h"
#include "simulation/sim_memory.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define FAKE_NODES     5
#define FAKE_TENTATIVE 600

struct fake_told {
    struct vv_told told; /* owns its texts */
    uint64_t sequence;   /* of the last change */
    bool confirmed;
};

struct fake_tentative {
    struct vv_first_plan plans[FAKE_TENTATIVE];
    size_t n;
};

struct fake_node {
    struct vv_store *store; /* a memory store with more operations */
    uint8_t region;         /* 0, or 1: then it hears of the others as of another region */
    uint32_t deaf_to;       /* hears nothing of this node; 0: of all */
    bool is_removed;        /* is no peer of the others any more */
    uint32_t beats;
    struct vv_sim_clock *asked_clock; /* goes on by asked_ns while places are agreed on; or NULL */
    int64_t asked_ns;
    struct vv_store_ops ops;
    const struct vv_store_ops *own; /* the memory store's */
    struct vv_registry *registry;   /* to name sources for agreed plans; set by the test */
    uint64_t learnt;                /* sequence */
    uint64_t learnt_confirmed;
    uint64_t learnt_all;         /* so often all that is told was learnt, as the test says */
    uint64_t told;               /* calls */
    uint64_t repeated;           /* of those: what it had told already */
    uint64_t parroted;           /* of those: what another had told already */
    uint32_t wait;               /* calls that succeed before … */
    uint32_t fail;               /* … the next ones fail */
    uint32_t plans_at_first_run; /* that it had told and confirmed by then */
    uint32_t runs;
    uint32_t confirms;
    uint64_t parked_told;
    bool plans_away;  /* nobody can be asked for first plans */
    bool places_away; /* … or where measurements lie */
    bool is_deaf;     /* it can't hear the others */
    uint32_t damaged; /* what is parked of this source, and one; 0: nothing */
    struct fake_tentative tentative;
    struct fake_tentative tentative_confirmed;
    uint32_t settled; /* and of the last one: */
    uint32_t placed;  /* and how many plans it was for, the last time */
    size_t placed_plans;
    uint32_t doubted;
    struct vv_plan settled_from;
    struct vv_plan settled_to;
    bool settled_while_moving;
    uint32_t settled_confirms; /* that there had been */
};

struct fake_plan {
    char name[128]; /* region, tenant and source */
    struct vv_plan plan;
};

struct fake_measurement {
    char name[128]; /* tenant and measurement */
    char class_name[VV_CLASS_NAME_MAX + 1];
};

struct fake_fleet {
    pthread_mutex_t lock;
    struct fake_node nodes[FAKE_NODES + 1]; /* by node number, from 1 */
    struct fake_told *log;
    size_t n;
    struct fake_plan *plans;
    size_t n_plans;
    struct fake_measurement places[1024];
    size_t n_places;
    bool has_peers;   /* nodes see each other */
    size_t n_regions; /* that their settings have; 0: they say nothing of any */
    size_t far_peers; /* nodes of another region, by numbers that are not in use */
    uint64_t sequence;
    struct vv_random random;
};

static struct fake_fleet hub; /* the operations get a store only */

static inline uint32_t fake_number(struct vv_store *store)
{
    for (uint32_t i = 1; i <= FAKE_NODES; i++) {
        if (hub.nodes[i].store == store) {
            return i;
        }
    }
    vv_invariant(false);
    return 0;
}

static inline struct vv_str fake_copy(struct vv_str text)
{
    char *copy = vv_sim_malloc(text.size + 1);
    memcpy(copy, text.size ? text.data : "", text.size);
    return (struct vv_str){copy, text.size};
}

static inline bool fake_is_same(const struct vv_told *a, const struct vv_told *b)
{
    return a->kind == b->kind && a->item == b->item && vv_str_equal(a->tenant, b->tenant) &&
           vv_str_equal(a->name, b->name);
}

static inline bool fake_fails(struct fake_node *node)
{
    bool waits = node->wait > 0;
    bool fails = !waits && node->fail > 0;
    node->wait -= waits;
    node->fail -= fails;
    return fails;
}

static inline void fake_note_told(struct fake_node *node, uint32_t number,
                                  const struct vv_told *told)
{
    node->told++;
    bool repeated = false;
    bool parroted = false;
    for (size_t i = 0; i < hub.n; i++) {
        const struct vv_told *known = &hub.log[i].told;
        if (fake_is_same(known, told) && vv_str_equal(known->value, told->value)) {
            repeated |= known->node == number;
            parroted |= known->node != number;
        }
    }
    node->repeated += repeated;
    node->parroted += parroted;
}

static inline enum vv_status fake_tell(struct vv_store *store, const struct vv_told *told,
                                       struct vv_error *error)
{
    pthread_mutex_lock(&hub.lock);
    uint32_t number = fake_number(store);
    struct fake_node *node = &hub.nodes[number];
    if (fake_fails(node)) {
        pthread_mutex_unlock(&hub.lock);
        return vv_error_set(error, VV_IO, "told to fail");
    }
    fake_note_told(node, number, told);
    struct fake_told *place = NULL;
    for (size_t i = 0; i < hub.n; i++) {
        if (hub.log[i].told.node == number && fake_is_same(&hub.log[i].told, told)) {
            place = &hub.log[i];
            free((char *)place->told.value.data);
        }
    }
    if (!place) {
        hub.log = vv_sim_realloc(hub.log, (hub.n + 1) * sizeof *hub.log);
        place = &hub.log[hub.n++];
        place->told = *told;
        place->told.node = number;
        place->told.tenant = fake_copy(told->tenant);
        place->told.name = fake_copy(told->name);
    }
    place->told.value = fake_copy(told->value);
    place->sequence = ++hub.sequence;
    place->confirmed = false;
    pthread_mutex_unlock(&hub.lock);
    return VV_OK;
}

/* The least sequence of a node's news above `after`; NULL when there is none. */
static inline const struct fake_told *fake_next(uint32_t number, uint64_t after)
{
    const struct fake_told *next = NULL;
    for (size_t i = 0; i < hub.n; i++) {
        const struct fake_told *each = &hub.log[i];
        if (each->told.node == number && each->sequence > after &&
            (!next || each->sequence < next->sequence)) {
            next = each;
        }
    }
    return next;
}

/* Others in any order, what each told in its order. */
static inline enum vv_status fake_learn(struct vv_store *store, vv_told_visit visit, void *context,
                                        struct vv_error *error)
{
    pthread_mutex_lock(&hub.lock);
    uint32_t number = fake_number(store);
    struct fake_node *node = &hub.nodes[number];
    uint64_t at[FAKE_NODES + 1];
    enum vv_status status = fake_fails(node) || node->is_deaf ? VV_IO : VV_OK;
    for (uint32_t i = 1; i <= FAKE_NODES; i++) {
        at[i] = node->learnt;
    }
    for (uint32_t left = FAKE_NODES; left > 0 && status == VV_OK;) {
        uint32_t from = 1 + (uint32_t)vv_random_below(&hub.random, FAKE_NODES);
        bool hears = from != number && from != node->deaf_to;
        const struct fake_told *next = hears ? fake_next(from, at[from]) : NULL;
        if (next) {
            struct vv_told told = next->told;
            told.region = hub.nodes[from].region != node->region;
            at[from] = next->sequence;
            status = visit(context, &told);
        }
        left = 0;
        for (uint32_t i = 1; i <= FAKE_NODES; i++) {
            left += i != number && i != node->deaf_to && fake_next(i, at[i]) != NULL;
        }
    }
    if (status == VV_OK) {
        node->learnt = hub.sequence;
    } else {
        vv_error_set(error, status, "the learning ended early");
    }
    pthread_mutex_unlock(&hub.lock);
    return status;
}

static inline uint64_t fake_learnt_all(struct vv_store *store)
{
    return hub.nodes[fake_number(store)].learnt_all;
}

/* Forgets the tentative plan of a source; false: there was none. */
static inline bool fake_forget_tentative(struct fake_tentative *tentative, uint32_t source)
{
    for (size_t i = 0; i < tentative->n; i++) {
        if (tentative->plans[i].source == source) {
            tentative->plans[i] = tentative->plans[--tentative->n];
            return true;
        }
    }
    return false;
}

static inline enum vv_status fake_agree(struct vv_store *store, struct vv_first_plan *plans,
                                        size_t n, struct vv_error *error)
{
    pthread_mutex_lock(&hub.lock);
    struct fake_node *node = &hub.nodes[fake_number(store)];
    enum vv_status status = fake_fails(node) ? vv_error_set(error, VV_IO, "told to fail") : VV_OK;
    for (size_t i = 0; i < n && status == VV_OK; i++) {
        plans[i].is_tentative = node->plans_away;
        if (node->plans_away) {
            struct fake_tentative *tentative = &node->tentative;
            fake_forget_tentative(tentative, plans[i].source);
            vv_invariant(tentative->n < FAKE_TENTATIVE);
            tentative->plans[tentative->n++] = plans[i];
            continue;
        }
        char name[128];
        snprintf(name, sizeof name, "%u/%.*s/%.*s", node->region,
                 VV_STR_ARG(vv_registry_tenant_name(node->registry, plans[i].tenant)),
                 VV_STR_ARG(vv_registry_source_id(node->registry, plans[i].source)));
        size_t at = 0;
        while (at < hub.n_plans && strcmp(hub.plans[at].name, name) != 0) {
            at++;
        }
        if (at == hub.n_plans) {
            hub.plans = vv_sim_realloc(hub.plans, (at + 1) * sizeof *hub.plans);
            snprintf(hub.plans[at].name, sizeof hub.plans[at].name, "%s", name);
            hub.plans[at].plan = plans[i].plan;
            hub.n_plans++;
        }
        plans[i].plan = hub.plans[at].plan;
    }
    pthread_mutex_unlock(&hub.lock);
    return status;
}

static inline enum vv_status fake_agree_places(struct vv_store *store, struct vv_place_wish *wishes,
                                               size_t n, struct vv_error *error)
{
    pthread_mutex_lock(&hub.lock);
    struct fake_node *node = &hub.nodes[fake_number(store)];
    bool fails = fake_fails(node) || node->places_away;
    enum vv_status status = fails ? vv_error_set(error, VV_IO, "told to fail") : VV_OK;
    if (node->asked_clock) {
        vv_sim_clock_advance(node->asked_clock, node->asked_ns);
    }
    for (size_t i = 0; i < n && status == VV_OK; i++) {
        char name[128];
        size_t at = 0;
        snprintf(name, sizeof name, "%.*s/%.*s", VV_STR_ARG(wishes[i].tenant),
                 VV_STR_ARG(wishes[i].measurement));
        if (wishes[i].from_ns != VV_TIME_MIN) {
            snprintf(name + strlen(name), sizeof name - strlen(name), "@%lld",
                     (long long)wishes[i].from_ns);
        }
        while (at < hub.n_places && strcmp(hub.places[at].name, name) != 0) {
            at++;
        }
        if (at == hub.n_places) {
            vv_invariant(at < sizeof hub.places / sizeof *hub.places);
            memcpy(hub.places[at].name, name, sizeof name);
            memcpy(hub.places[at].class_name, wishes[i].class_name, sizeof wishes[i].class_name);
            hub.n_places++;
        }
        memcpy(wishes[i].class_name, hub.places[at].class_name, sizeof wishes[i].class_name);
    }
    pthread_mutex_unlock(&hub.lock);
    return status;
}

/* What a node has told and not confirmed is gone. */
static inline void fake_lose(uint32_t number)
{
    size_t kept = 0;
    hub.nodes[number].tentative = hub.nodes[number].tentative_confirmed;
    for (size_t i = 0; i < hub.n; i++) {
        struct fake_told *each = &hub.log[i];
        if (each->told.node == number && !each->confirmed) {
            free((char *)each->told.tenant.data);
            free((char *)each->told.name.data);
            free((char *)each->told.value.data);
        } else {
            hub.log[kept++] = *each;
        }
    }
    hub.n = kept;
}

static inline enum vv_status fake_confirm(struct vv_store *store, struct vv_error *error)
{
    pthread_mutex_lock(&hub.lock);
    uint32_t number = fake_number(store);
    struct fake_node *node = &hub.nodes[number];
    enum vv_status status = fake_fails(node) ? vv_error_set(error, VV_IO, "told to fail")
                                             : node->own->confirm(store, error);
    if (status == VV_OK) {
        node->confirms++;
        node->learnt_confirmed = node->learnt;
        node->tentative_confirmed = node->tentative;
        for (size_t i = 0; i < hub.n; i++) {
            hub.log[i].confirmed |= hub.log[i].told.node == number;
        }
    } else if (vv_random_below(&hub.random, 2)) {
        fake_lose(number);
    }
    pthread_mutex_unlock(&hub.lock);
    return status;
}

static inline enum vv_status fake_put_run(struct vv_store *store, const struct vv_piece *run,
                                          struct vv_error *error)
{
    pthread_mutex_lock(&hub.lock);
    uint32_t number = fake_number(store);
    struct fake_node *node = &hub.nodes[number];
    for (size_t i = 0; i < hub.n && node->runs == 0; i++) {
        const struct fake_told *each = &hub.log[i];
        node->plans_at_first_run +=
            each->told.node == number && each->told.kind == 6 && each->confirmed;
    }
    node->runs++;
    enum vv_status status = node->own->put_run(store, run, error);
    pthread_mutex_unlock(&hub.lock);
    return status;
}

/* 0: it has not joined. */
static inline uint32_t fake_node_number(struct vv_store *store)
{
    uint32_t number = fake_number(store);
    return hub.nodes[number].is_removed ? 0 : number;
}

static inline enum vv_status fake_beat(struct vv_store *store, int64_t until_ns,
                                       struct vv_error *error)
{
    (void)until_ns;
    (void)error;
    pthread_mutex_lock(&hub.lock);
    hub.nodes[fake_number(store)].beats++;
    pthread_mutex_unlock(&hub.lock);
    return VV_OK;
}

static inline size_t fake_peers(struct vv_store *store, struct vv_peer *peers_out, size_t max)
{
    uint32_t own = fake_number(store);
    size_t n = 0;
    for (uint32_t i = 1; i <= FAKE_NODES && hub.has_peers; i++) {
        if (i != own && hub.nodes[i].store && !hub.nodes[i].is_removed) {
            if (n < max) {
                peers_out[n] = (struct vv_peer){
                    .node = i, .region = hub.nodes[i].region != hub.nodes[own].region};
            }
            n++;
        }
    }
    for (size_t i = 0; i < hub.far_peers; i++, n++) {
        if (n < max) {
            peers_out[n] = (struct vv_peer){.node = (uint32_t)(1000 + i), .region = 1};
        }
    }
    return n;
}

static inline enum vv_status fake_begin_seal(struct vv_store *store, const struct vv_mark *marks,
                                             size_t n, bool *mine_out, struct vv_error *error)
{
    (void)store;
    (void)marks;
    (void)error;
    for (size_t i = 0; i < n; i++) {
        mine_out[i] = true;
    }
    return VV_OK;
}

static inline bool fake_has_parked(struct vv_store *store, uint32_t tenant)
{
    (void)store;
    (void)tenant;
    return false;
}

static inline bool fake_has_parked_below(struct vv_store *store,
                                         const struct vv_partition *partition)
{
    (void)store;
    (void)partition;
    return false;
}

static inline void fake_parked(struct vv_store *store, struct vv_parked *parked_out)
{
    *parked_out = (struct vv_parked){.n_told = hub.nodes[fake_number(store)].parked_told};
}

static inline size_t fake_tentative(struct vv_store *store, struct vv_first_plan *plans_out,
                                    size_t max)
{
    pthread_mutex_lock(&hub.lock);
    const struct fake_node *node = &hub.nodes[fake_number(store)];
    size_t n = node->tentative.n;
    memcpy(plans_out, node->tentative.plans, (n < max ? n : max) * sizeof *plans_out);
    pthread_mutex_unlock(&hub.lock);
    return n;
}

static inline enum vv_status fake_place(struct vv_store *store, uint32_t tenant, uint32_t source,
                                        const struct vv_plan *plans, size_t n,
                                        struct vv_error *error)
{
    pthread_mutex_lock(&hub.lock);
    struct fake_node *node = &hub.nodes[fake_number(store)];
    enum vv_status status = fake_fails(node) ? vv_error_set(error, VV_IO, "told to fail") : VV_OK;
    status = status == VV_OK && node->damaged == source + 1 ? VV_CORRUPT : status;
    if (status == VV_OK) {
        const struct vv_first_plan first = {tenant, source, plans[0], true};
        fake_forget_tentative(&node->tentative, source);
        fake_forget_tentative(&node->tentative_confirmed, source);
        node->tentative.plans[node->tentative.n++] = first;
        node->tentative_confirmed.plans[node->tentative_confirmed.n++] = first;
        node->placed++;
        node->placed_plans = n;
        node->settled_while_moving = vv_registry_source_plans(node->registry, source).is_moving;
    }
    pthread_mutex_unlock(&hub.lock);
    return status;
}

/* Nothing is agreed on that was not told, but for what cannot be asked. */
static inline enum vv_status fake_doubt(struct vv_store *store, struct vv_plan_doubt *doubts,
                                        size_t n, struct vv_error *error)
{
    pthread_mutex_lock(&hub.lock);
    struct fake_node *node = &hub.nodes[fake_number(store)];
    enum vv_status status = fake_fails(node) ? vv_error_set(error, VV_IO, "told to fail") : VV_OK;
    for (size_t i = 0; i < n && status == VV_OK; i++) {
        struct fake_tentative *tentative = &node->tentative;
        doubts[i].is_tentative = node->plans_away;
        doubts[i].is_whole = !node->plans_away;
        if (node->plans_away) {
            fake_forget_tentative(tentative, doubts[i].source);
            vv_invariant(tentative->n < FAKE_TENTATIVE);
            tentative->plans[tentative->n++] = (struct vv_first_plan){
                doubts[i].tenant, doubts[i].source, doubts[i].plans[0], true};
        }
        node->doubted++;
    }
    pthread_mutex_unlock(&hub.lock);
    return status;
}

static inline enum vv_status fake_settle(struct vv_store *store, uint32_t tenant, uint32_t source,
                                         const struct vv_plan *plans, size_t n,
                                         struct vv_error *error)
{
    (void)tenant;
    (void)n;
    pthread_mutex_lock(&hub.lock);
    struct fake_node *node = &hub.nodes[fake_number(store)];
    enum vv_status status = fake_fails(node) ? vv_error_set(error, VV_IO, "told to fail") : VV_OK;
    status = status == VV_OK && node->damaged == source + 1 ? VV_CORRUPT : status;
    for (size_t i = 0; i < node->tentative.n; i++) {
        if (node->tentative.plans[i].source == source) {
            node->settled_from = node->tentative.plans[i].plan;
        }
    }
    if (status == VV_OK && fake_forget_tentative(&node->tentative, source)) {
        fake_forget_tentative(&node->tentative_confirmed, source);
        node->settled++;
        node->settled_to = plans[0];
        node->settled_while_moving = vv_registry_source_plans(node->registry, source).is_moving;
        node->settled_confirms = node->confirms;
    }
    pthread_mutex_unlock(&hub.lock);
    return status;
}

static inline enum vv_status fake_deliver(struct vv_store *store, bool *more_out,
                                          struct vv_error *error)
{
    (void)store;
    (void)error;
    *more_out = false;
    return VV_OK;
}

static inline size_t fake_regions(struct vv_store *store,
                                  struct vv_region regions_out[VV_REGIONS_MAX])
{
    (void)store;
    for (size_t i = 0; i < hub.n_regions; i++) {
        regions_out[i] = (struct vv_region){.state = VV_REGION_READABLE};
        snprintf(regions_out[i].name, sizeof regions_out[i].name, "region%zu", i);
    }
    return hub.n_regions;
}

static const struct vv_shared_ops hub_shared = {
    .regions = fake_regions,
    .node = fake_node_number,
    .tell = fake_tell,
    .learn = fake_learn,
    .learnt_all = fake_learnt_all,
    .agree_plans = fake_agree,
    .agree_places = fake_agree_places,
    .beat = fake_beat,
    .peers = fake_peers,
    .begin_seal = fake_begin_seal,
    .has_parked = fake_has_parked,
    .has_parked_below = fake_has_parked_below,
    .parked = fake_parked,
    .tentative = fake_tentative,
    .doubt_plans = fake_doubt,
    .place_parked = fake_place,
    .settle_plan = fake_settle,
    .deliver = fake_deliver,
};

static inline struct vv_store *fake_open(uint32_t number)
{
    struct fake_node *node = &hub.nodes[number];
    const struct vv_store_options options = {0};
    struct vv_error error = {0};
    *node = (struct fake_node){0};
    assert_int_equal(vv_store_memory_open(&options, &node->store, &error), VV_OK);
    node->own = node->store->ops;
    node->ops = *node->store->ops;
    node->ops.confirm = fake_confirm;
    node->ops.put_run = fake_put_run;
    node->ops.shared = &hub_shared;
    node->store->ops = &node->ops;
    return node->store;
}

static inline void fake_begin(uint64_t seed)
{
    hub = (struct fake_fleet){.random = {seed}};
    pthread_mutex_init(&hub.lock, NULL);
}

/* The process ends: what it did since its last confirm is gone, or not. */
static inline void fake_crash(uint32_t number)
{
    struct fake_node *node = &hub.nodes[number];
    if (vv_random_below(&hub.random, 2)) {
        fake_lose(number);
    }
    node->learnt = node->learnt_confirmed;
    node->store->ops = node->own;
    vv_store_memory_crash(node->store, vv_random_next(&hub.random));
    node->store->ops = &node->ops;
}

static inline void fake_end(void)
{
    for (size_t i = 0; i < hub.n; i++) {
        free((char *)hub.log[i].told.tenant.data);
        free((char *)hub.log[i].told.name.data);
        free((char *)hub.log[i].told.value.data);
    }
    free(hub.log);
    free(hub.plans);
    for (uint32_t i = 1; i <= FAKE_NODES; i++) {
        if (hub.nodes[i].store) {
            hub.nodes[i].store->ops->close(hub.nodes[i].store);
        }
    }
    pthread_mutex_destroy(&hub.lock);
}

#endif
