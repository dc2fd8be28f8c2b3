/* SPDX-License-Identifier: Apache-2.0 */
/* Parked records on their way: their statements are sent together, and each record stays or goes by
 * what became of its own. */
#include "store/cassandra/cassandra.h"

#include <stdlib.h>

static bool fit_items(struct vv_delivery *delivery)
{
    if (delivery->n_items < delivery->items_capacity) {
        return true;
    }
    size_t capacity = delivery->items_capacity ? delivery->items_capacity * 2 : 64;
    struct vv_delivery_item *items = realloc(delivery->items, capacity * sizeof *items);
    if (!items) {
        return false;
    }
    delivery->items = items;
    delivery->items_capacity = capacity;
    return true;
}

static bool fit_statements(struct vv_delivery *delivery)
{
    if (delivery->n < delivery->capacity) {
        return true;
    }
    size_t capacity = delivery->capacity ? delivery->capacity * 2 : 64;
    struct vvcql_statement **statements =
        realloc(delivery->statements, capacity * sizeof *delivery->statements);
    delivery->statements = statements ? statements : delivery->statements;
    size_t *whose = realloc(delivery->whose, capacity * sizeof *whose);
    delivery->whose = whose ? whose : delivery->whose;
    if (!statements || !whose) {
        return false;
    }
    delivery->capacity = capacity;
    return true;
}

enum vv_status vv_delivery_begin(struct vv_delivery *delivery, struct vv_str key)
{
    if (!fit_items(delivery)) {
        return VV_NO_MEMORY;
    }
    size_t at = delivery->keys.size;
    vv_buffer_str(&delivery->keys, key);
    if (delivery->keys.failed) {
        return VV_NO_MEMORY;
    }
    delivery->items[delivery->n_items++] = (struct vv_delivery_item){at, key.size, false};
    return VV_OK;
}

enum vv_status vv_delivery_add(struct vv_delivery *delivery, struct vvcql_statement *take_statement)
{
    if (!take_statement || !fit_statements(delivery)) {
        vvcql_statement_destroy(take_statement);
        vv_delivery_give_up(delivery);
        return VV_NO_MEMORY;
    }
    delivery->bytes += vvcql_statement_size(take_statement);
    delivery->statements[delivery->n] = take_statement;
    delivery->whose[delivery->n++] = delivery->n_items - 1;
    return VV_OK;
}

void vv_delivery_give_up(struct vv_delivery *delivery)
{
    delivery->items[delivery->n_items - 1].failed = true;
}

struct vv_str vv_delivery_key(const struct vv_delivery *delivery, size_t item)
{
    const struct vv_delivery_item *one = &delivery->items[item];
    return (struct vv_str){(const char *)delivery->keys.data + one->key_at, one->key_size};
}

enum vv_status vv_delivery_send(struct vv_delivery *delivery, struct vv_error *error)
{
    size_t n = delivery->n;
    enum vv_status *statuses = calloc(n ? n : 1, sizeof *statuses);
    if (!statuses) {
        return vv_error_set(error, VV_NO_MEMORY, "out of memory while delivering");
    }
    delivery->n = 0; /* they are taken */
    enum vv_status status = vv_cassandra_ask_each(delivery->store, VV_DEAD_BY_WRITE,
                                                  delivery->statements, n, NULL, statuses, error);
    for (size_t i = 0; i < n; i++) {
        struct vv_delivery_item *item = &delivery->items[delivery->whose[i]];
        item->failed = item->failed || statuses[i] != VV_OK;
    }
    free(statuses);
    return status;
}

enum vv_status vv_delivery_finish(struct vv_delivery *delivery, size_t *delivered,
                                  struct vv_error *error)
{
    enum vv_status status = VV_OK;
    for (size_t i = 0; i < delivery->n_items && status == VV_OK; i++) {
        if (!delivery->items[i].failed) {
            status =
                vv_unpark(delivery->store, delivery->kind, vv_delivery_key(delivery, i), error);
            *delivered += status == VV_OK;
        }
    }
    return status;
}

void vv_delivery_deinit(struct vv_delivery *delivery)
{
    for (size_t i = 0; i < delivery->n; i++) {
        vvcql_statement_destroy(delivery->statements[i]);
    }
    free(delivery->statements);
    free(delivery->whose);
    free(delivery->items);
    vv_buffer_deinit(&delivery->keys);
}
