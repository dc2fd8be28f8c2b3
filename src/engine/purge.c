/* SPDX-License-Identifier: Apache-2.0 */
/* Purging by copying, where the store does it: looking at it, asking for it. */
#include "engine/engine_private.h"

static const struct vv_shared_ops *ops_of(const struct vv_engine *engine, struct vv_error *error)
{
    const struct vv_shared_ops *shared = engine->store->ops->shared;
    if (!shared || !shared->purges) {
        (void)vv_error_set(error, VV_INVALID,
                           "blocks are purged by copying on Cassandra only: here what has expired "
                           "is dropped at once");
        return NULL;
    }
    return shared;
}

enum vv_status vv_engine_read_purges(struct vv_engine *engine,
                                     struct vv_purge_progress progress_out[VV_PURGES_MAX],
                                     size_t *n_out, struct vv_error *error)
{
    const struct vv_shared_ops *shared = ops_of(engine, error);
    return shared ? shared->purges(engine->store, progress_out, n_out, error) : VV_INVALID;
}

enum vv_status vv_engine_ask_purge(struct vv_engine *engine, struct vv_error *error)
{
    const struct vv_shared_ops *shared = ops_of(engine, error);
    return shared ? shared->ask_purge(engine->store, error) : VV_INVALID;
}
