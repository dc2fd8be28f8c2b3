/* SPDX-License-Identifier: Apache-2.0 */
/* Deleting: from a request to an order that is journaled like a batch. */
#include "engine/engine_private.h"

#include <stdlib.h>

/* Takes the order. */
static enum vv_status journal_order(struct vv_engine *engine, struct vv_deletion_order *order,
                                    struct vv_error *error)
{
    struct vv_batch *batch;
    enum vv_status status = vv_batch_create(order->tenant, &batch);
    if (status != VV_OK) {
        free(order);
        return vv_error_set(error, status, "out of memory: try again later");
    }
    batch->deletion = order;
    status = vv_engine_journal(engine, batch, error);
    atomic_fetch_add(&engine->counters.deletions, status == VV_OK);
    return status;
}

static enum vv_status order_deletion(struct vv_engine *engine, const struct vv_request *request,
                                     struct vv_deleted *deleted_out, struct vv_error *error)
{
    struct vv_delete_selection selection;
    enum vv_status status =
        vv_request_order(&engine->query_context, request,
                         (uint64_t)engine->settings.deletion_markers_max, &selection, error);
    struct vv_deletion_order *order = selection.order;
    *deleted_out = (struct vv_deleted){
        .sources = selection.sources,
        .metrics = selection.metrics,
        .markers = status == VV_OK && order ? vv_deletion_order_markers(order) : 0,
        .from = selection.from,
        .to = selection.to,
        .dry_run = selection.dry_run,
    };
    if (status == VV_OK && order) {
        status = vv_deletions_check(engine->deletions, order, error);
    }
    if (status == VV_OK && order) {
        status = vv_steps_check(engine, order, deleted_out, error);
    }
    if (status != VV_OK || !order || selection.dry_run) {
        free(order);
        return status;
    }
    return journal_order(engine, order, error);
}

enum vv_status vv_engine_delete(struct vv_engine *engine, const struct vv_request *request,
                                struct vv_deleted *deleted_out, struct vv_error *error)
{
    *deleted_out = (struct vv_deleted){0};
    if (engine->fleet) { /* what others have told by now is found, too; if not, what is known is */
        vv_fleet_learn_for_reader(engine->fleet);
    }
    pthread_mutex_lock(&engine->delete_lock);
    enum vv_status status = order_deletion(engine, request, deleted_out, error);
    pthread_mutex_unlock(&engine->delete_lock);
    return status;
}
