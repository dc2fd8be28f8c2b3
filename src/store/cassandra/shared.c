/* SPDX-License-Identifier: Apache-2.0 */
/* What nodes share: its life and its statements. */
#include "store/cassandra/cassandra.h"

#include <stdio.h>
#include <stdlib.h>

#define SLOT_IS "region = ? AND part = ? AND slot = ? AND shard = ? AND node = ?"

static uint32_t own_node(struct vv_store *base)
{
    return atomic_load(&vv_cassandra_of(base)->shared.node);
}

const struct vv_shared_ops vv_cassandra_shared_ops = {
    .node = own_node,
    .tell = vv_shared_tell,
    .learn = vv_shared_learn,
    .learnt_all = vv_shared_learnt_all,
    .agree_plans = vv_shared_agree_plans,
    .agree_places = vv_shared_agree_places,
    .beat = vv_shared_beat,
    .set_partial = vv_shared_set_partial,
    .peers = vv_shared_peers,
    .regions = vv_shared_regions,
    .begin_seal = vv_shared_begin_seal,
    .take_seal = vv_shared_take_seal,
    .is_marked = vv_shared_is_marked,
    .look_at_marks = vv_shared_look_at_marks,
    .purges = vv_shared_purges,
    .ask_purge = vv_shared_ask_purge,
    .has_parked = vv_shared_has_parked,
    .has_parked_below = vv_shared_has_parked_below,
    .is_held = vv_shared_is_held,
    .cohort_of = vv_shared_cohort_of,
    .parked = vv_shared_parked,
    .tentative = vv_shared_tentative,
    .doubt_plans = vv_shared_doubt_plans,
    .place_parked = vv_shared_place_parked,
    .settle_plan = vv_shared_settle_plan,
    .order = vv_shared_order,
    .deliver = vv_shared_deliver,
};

bool vv_shared_init(struct vv_cassandra *store, const char *region)
{
    struct vv_cassandra_shared *shared = &store->shared;
    size_t size = strlen(region);
    vv_invariant(size > 0 && size < sizeof shared->region);
    memcpy(shared->region, region, size + 1);
    vv_invariant(pthread_mutex_init(&shared->lock, NULL) == 0);
    vv_invariant(pthread_mutex_init(&shared->learning, NULL) == 0);
    shared->marks = calloc(VV_MARKS_OUT_MAX, sizeof *shared->marks);
    return shared->marks != NULL;
}

void vv_shared_forget_put(struct vv_cassandra_shared *shared)
{
    for (size_t i = 0; i < shared->n_put; i++) {
        vv_buffer_deinit(&shared->put[i].list);
    }
    shared->n_put = 0;
}

void vv_shared_deinit(struct vv_cassandra *store)
{
    struct vv_cassandra_shared *shared = &store->shared;
    vv_shared_forget_put(shared);
    for (size_t i = 0; i < VV_CASSANDRA_SHARDS; i++) {
        free(shared->shards[i].seen);
    }
    free(shared->marks);
    free(shared->slots);
    free(shared->put);
    for (size_t i = 0; i < shared->n_unplaced; i++) {
        free(shared->unplaced[i]);
    }
    free(shared->unplaced);
    vv_buffer_deinit(&shared->told);
    pthread_mutex_destroy(&shared->learning);
    pthread_mutex_destroy(&shared->lock);
}

void vv_shared_forget_told(struct vv_cassandra_shared *shared)
{
    struct vv_buffer *told = &shared->told;
    struct vv_reader reader = vv_reader_of(told->data, told->size);
    struct vv_told one;
    size_t kept = 0;
    size_t begin = 0;
    while (vv_told_next(&reader, &one)) {
        size_t end = told->size - vv_reader_left(&reader);
        if (one.kind == VV_TOLD_CLASSES) {
            memmove(told->data + kept, told->data + begin, end - begin);
            kept += end - begin;
        }
        begin = end;
    }
    told->size = kept;
    told->failed = false;
    shared->told_sent = 0;
}

void vv_shared_forget(struct vv_cassandra *store)
{
    struct vv_cassandra_shared *shared = &store->shared;
    shared->n_marks = 0;
    shared->n_slots = 0;
    vv_shared_forget_put(shared);
    for (size_t i = 0; i < VV_CASSANDRA_SHARDS; i++) {
        shared->shards[i].is_known = false;
        shared->shards[i].is_fresh = false;
    }
}

static bool prepare_tables(struct vv_cassandra *store)
{
    struct vv_cassandra_shared *shared = &store->shared;
    shared->join = vv_cassandra_prepare(
        store, "INSERT INTO @ (region, node, owner) VALUES (?, ?, ?) IF NOT EXISTS", "nodes");
    shared->put_beat = vv_cassandra_prepare(store,
                                            "UPDATE @ USING TIMESTAMP ? SET beat = ?, "
                                            "flushed_until = ?, slot = ?, partial = ? "
                                            "WHERE region = ? AND node = ?",
                                            "nodes");
    shared->say_slot = vv_cassandra_prepare(
        store, "UPDATE @ USING TIMESTAMP ? SET slot = ?, tables = ? WHERE region = ? AND node = ?",
        "nodes");
    shared->put_definition =
        vv_cassandra_prepare(store,
                             "INSERT INTO @ (region, shard, tenant, kind, name, item, node, value) "
                             "VALUES (?, ?, ?, ?, ?, ?, ?, ?) USING TIMESTAMP ?",
                             "definitions");
    shared->put_change =
        vv_cassandra_prepare(store,
                             "INSERT INTO @ (region, node, slot, written, definitions) "
                             "VALUES (?, ?, ?, ?, ?) USING TTL ? AND TIMESTAMP ?",
                             "changes");
    shared->put_plan =
        vv_cassandra_prepare(store,
                             "INSERT INTO @ (region, tenant, source, valid_from, bucket_ns, "
                             "span_ns, splits, share_bits) VALUES (?, ?, ?, ?, ?, ?, ?, ?) "
                             "IF NOT EXISTS",
                             "plans");
    shared->read_plan = vv_cassandra_prepare(
        store,
        "SELECT bucket_ns, span_ns, splits, share_bits FROM @ WHERE region = ? AND "
        "tenant = ? AND source = ? AND valid_from = ?",
        "plans");
    shared->read_plans = vv_cassandra_prepare(
        store,
        "SELECT valid_from, bucket_ns, span_ns, splits, share_bits FROM @ WHERE "
        "region = ? AND tenant = ? AND source = ?",
        "plans");
    shared->put_place = vv_cassandra_prepare(store,
                                             "INSERT INTO @ (region, tenant, measurement, class) "
                                             "VALUES (?, ?, ?, ?) IF NOT EXISTS",
                                             "places");
    shared->read_place = vv_cassandra_prepare(
        store, "SELECT class FROM @ WHERE region = ? AND tenant = ? AND measurement = ?", "places");
    shared->put_move =
        vv_cassandra_prepare(store,
                             "INSERT INTO @ (region, tenant, measurement, valid_from, class) "
                             "VALUES (?, ?, ?, ?, ?) IF NOT EXISTS",
                             "moves");
    shared->read_move = vv_cassandra_prepare(store,
                                             "SELECT class FROM @ WHERE region = ? AND tenant = ? "
                                             "AND measurement = ? AND valid_from = ?",
                                             "moves");
    return shared->put_place && shared->read_place && shared->put_move && shared->read_move &&
           shared->join && shared->put_beat && shared->say_slot && shared->put_definition &&
           shared->put_change && shared->put_plan && shared->read_plan && shared->read_plans;
}

static bool prepare_ledger(struct vv_cassandra *store)
{
    struct vv_cassandra_shared *shared = &store->shared;
    shared->put_ledger = vv_cassandra_prepare(
        store, "UPDATE @ USING TTL ? AND TIMESTAMP ? SET newest = ? WHERE " SLOT_IS " AND mark = ?",
        "ledger");
    shared->retire_ledger = vv_cassandra_prepare(
        store,
        "UPDATE @ USING TTL ? AND TIMESTAMP ? SET retired = ? WHERE " SLOT_IS " AND mark = ?",
        "ledger");
    shared->read_ledger =
        vv_cassandra_prepare(store, "SELECT mark, newest, retired FROM @ WHERE " SLOT_IS, "ledger");
    shared->put_slot = vv_cassandra_prepare(
        store, "UPDATE @ USING TTL ? AND TIMESTAMP ? SET touched = ? WHERE " SLOT_IS,
        "ledger_slots");
    shared->read_slots = vv_cassandra_prepare(
        store, "SELECT slot, node, touched FROM @ WHERE region = ? AND part = ? AND shard = ?",
        "ledger_slots");
    shared->read_seal = vv_cassandra_prepare(
        store, "SELECT node, lease, seal, purges FROM @ WHERE region = ? AND shard = ?", "seals");
    shared->make_seal = vv_cassandra_prepare(store,
                                             "INSERT INTO @ (region, shard, node, lease, seal) "
                                             "VALUES (?, ?, ?, ?, ?) IF NOT EXISTS",
                                             "seals");
    shared->move_seal = vv_cassandra_prepare(store,
                                             "UPDATE @ SET node = ?, lease = ?, seal = ? "
                                             "WHERE region = ? AND shard = ? IF seal = ?",
                                             "seals");
    shared->make_purge = vv_cassandra_prepare(store,
                                              "INSERT INTO @ (region, shard, node, lease, seal, "
                                              "purges) VALUES (?, ?, ?, ?, ?, ?) IF NOT EXISTS",
                                              "seals");
    shared->move_purge = vv_cassandra_prepare(store,
                                              "UPDATE @ SET node = ?, lease = ?, seal = ?, "
                                              "purges = ? WHERE region = ? AND shard = ? "
                                              "IF seal = ?",
                                              "seals");
    return shared->put_ledger && shared->retire_ledger && shared->read_ledger && shared->put_slot &&
           shared->read_slots && shared->read_seal && shared->make_seal && shared->move_seal &&
           shared->make_purge && shared->move_purge;
}

bool vv_shared_prepare(struct vv_cassandra *store)
{
    return prepare_tables(store) && prepare_ledger(store) && vv_purge_prepare(store);
}
