/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Statements for the same partition that go together, in unlogged batches of one partition. Several
 * batches are open at a time: runs of sources come in the order of their UUIDs, but a source may
 * write into several buckets and places, and its neighbours may share by other numbers of bits.
 */
#include "store/cassandra/rows.h"

#include "store/keys.h"

#define ROWS_PER_COST 10 /* of a batch cost as much as one row alone */

static enum vv_status send_one(struct vv_cassandra *store, struct vv_open_batch *open,
                               struct vv_error *error)
{
    struct vvcql_statement *batch = open->statement;
    uint32_t cost = (open->n + ROWS_PER_COST - 1) / ROWS_PER_COST;
    *open = (struct vv_open_batch){0};
    if (!batch) {
        return VV_OK;
    }
    vvcql_set_idempotent(batch, true);
    if (store->delivery) {
        return vv_delivery_add(store->delivery, batch);
    }
    return vv_cassandra_failed(store, vv_flight_gather(&store->flight, batch, cost, error));
}

enum vv_status vv_cassandra_send_batches(struct vv_cassandra *store, struct vv_error *error)
{
    enum vv_status status = VV_OK;
    for (size_t i = 0; i < VV_OPEN_BATCHES && status == VV_OK; i++) {
        status = send_one(store, &store->batches.open[i], error);
    }
    if (status != VV_OK) { /* all is done again */
        vv_cassandra_forget_batches(store);
    }
    return status;
}

void vv_cassandra_forget_batches(struct vv_cassandra *store)
{
    for (size_t i = 0; i < VV_OPEN_BATCHES; i++) {
        vvcql_statement_destroy(store->batches.open[i].statement);
        store->batches.open[i] = (struct vv_open_batch){0};
    }
}

/* The partition's own, or the one that is to give way for it: one that is free, else the one that
 * nothing was added to for the longest time. */
static struct vv_open_batch *find(struct vv_open_batches *batches, const uint8_t *partition)
{
    struct vv_open_batch *oldest = &batches->open[0];
    for (size_t i = 0; i < VV_OPEN_BATCHES; i++) { /* from the one that was used last */
        struct vv_open_batch *open = &batches->open[(batches->last + i) % VV_OPEN_BATCHES];
        if (open->statement && memcmp(open->partition, partition, sizeof open->partition) == 0) {
            return open;
        }
        oldest = open->used < oldest->used ? open : oldest;
    }
    return oldest;
}

static enum vv_status add(struct vv_open_batch *open, struct vvcql_statement *take_statement,
                          struct vv_error *error)
{
    if (open->n == 0) { /* one alone goes without a batch, which costs Cassandra more */
        open->statement = take_statement;
        open->n = 1;
        return VV_OK;
    }
    if (open->n == 1) {
        struct vvcql_statement *batch = vvcql_batch_create(VVCQL_BATCH_UNLOGGED);
        if (!batch) {
            vvcql_statement_destroy(take_statement);
            return vv_error_set(error, VV_NO_MEMORY, "out of memory while writing");
        }
        vvcql_batch_add(batch, open->statement);
        open->statement = batch;
    }
    vvcql_batch_add(open->statement, take_statement);
    open->n++;
    return VV_OK;
}

enum vv_status vv_cassandra_gather(struct vv_cassandra *store, const struct vv_partition *partition,
                                   size_t bytes_max, struct vvcql_statement *take_statement,
                                   struct vv_error *error)
{
    struct vv_open_batches *batches = &store->batches;
    uint8_t key[VV_KEY_PARTITION_SIZE];
    if (!take_statement) {
        return vv_error_set(error, VV_NO_MEMORY, "out of memory while writing");
    }
    vv_key_from_partition(partition, key);
    struct vv_open_batch *open = find(batches, key);
    size_t size = vvcql_statement_size(take_statement);
    bool joins = open->statement && memcmp(key, open->partition, sizeof key) == 0 &&
                 vvcql_statement_size(open->statement) + size <= bytes_max;
    enum vv_status status = joins ? VV_OK : send_one(store, open, error);
    if (status != VV_OK) {
        vvcql_statement_destroy(take_statement);
        return status;
    }
    memcpy(open->partition, key, sizeof key);
    open->used = ++batches->uses;
    batches->last = (uint32_t)(open - batches->open);
    return add(open, take_statement, error);
}
