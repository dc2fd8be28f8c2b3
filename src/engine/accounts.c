/* SPDX-License-Identifier: Apache-2.0 */
/* The tenants' accounts: what was received, accepted, refused and why. Guarantee 7. */
#include "engine/engine_private.h"

#include <stdlib.h>

struct vv_account_cell *vv_account_of(struct vv_engine *engine, uint32_t tenant)
{
    size_t page = tenant / VV_ACCOUNT_PAGE;
    if (page >= VV_ACCOUNT_PAGES) {
        return NULL;
    }
    struct vv_account_cell *cells = atomic_load(&engine->accounts[page]);
    if (!cells) {
        struct vv_account_cell *fresh = calloc(VV_ACCOUNT_PAGE, sizeof *fresh);
        if (!fresh) {
            return NULL;
        }
        if (atomic_compare_exchange_strong(&engine->accounts[page], &cells, fresh)) {
            cells = fresh;
        } else {
            free(fresh); /* another thread was first */
        }
    }
    return &cells[tenant % VV_ACCOUNT_PAGE];
}

void vv_accounts_deinit(struct vv_engine *engine)
{
    for (size_t i = 0; i < VV_ACCOUNT_PAGES; i++) {
        free(atomic_load(&engine->accounts[i]));
    }
}

void vv_engine_account(struct vv_engine *engine, const struct vv_staging *staging)
{
    struct vv_account_cell *cell = vv_account_of(engine, staging->options.tenant);
    if (!cell) {
        return;
    }
    atomic_fetch_add(&cell->received, staging->points_received);
    for (size_t i = 0; i < VV_REASON_COUNT; i++) {
        if (staging->refused[i]) {
            atomic_fetch_add(&cell->refused[i], staging->refused[i]);
        }
    }
}

void vv_engine_read_account(struct vv_engine *engine, uint32_t tenant,
                            struct vv_account *account_out)
{
    *account_out = (struct vv_account){0};
    struct vv_account_cell *cell = vv_account_of(engine, tenant);
    if (!cell) {
        return;
    }
    account_out->received = atomic_load(&cell->received);
    account_out->accepted = atomic_load(&cell->accepted);
    account_out->accepted_here = atomic_load(&cell->accepted_here);
    account_out->unknown = atomic_load(&cell->unknown);
    for (size_t i = 0; i < VV_REASON_COUNT; i++) {
        account_out->refused[i] = atomic_load(&cell->refused[i]);
    }
}
