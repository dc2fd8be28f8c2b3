/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plain model of a store over a small universe, and seeded changes of it. The model is arrays and
 * loops: it must be obvious, not fast.
 *
 * What is durable only after confirm() is kept as a confirmed state and the changes since; after a
 * crash the store must hold the state after some number of them. Blocks are durable at once, but
 * may be gone when they are older than their retention.
 */
#ifndef TESTS_CONTRACT_MODEL_H
#define TESTS_CONTRACT_MODEL_H

#include "contract.h"

#define MODEL_TENANTS     2
#define MODEL_SPANS       80
#define MODEL_RUNS        4
#define MODEL_PARTS       3
#define MODEL_KINDS       2
#define MODEL_KEYS        6
#define MODEL_PENDING_MAX 4096

enum change_kind {
    CHANGE_PUT_RUN,
    CHANGE_REMOVE_RUN,
    CHANGE_PUT_MARK,
    CHANGE_RETIRE_MARK,
    CHANGE_PUT_META,
    CHANGE_REMOVE_META,
    CHANGE_CONFIRM,
    CHANGE_PUT_BLOCKS,
    CHANGE_SET_RETENTION,
    CHANGE_EXPIRE,
};

struct change {
    enum change_kind kind;
    uint32_t value; /* what is put; never 0 */
    uint32_t span;
    uint32_t run;  /* from 1 */
    uint32_t part; /* of a run */
    uint32_t meta_kind;
    uint32_t meta_key;
    uint32_t n_spans; /* of put_blocks, ascending */
    uint32_t spans[4];
    uint32_t n_parts[4]; /* 0: no block any more */
    uint32_t tenant;
    int64_t retention_ns;
    int64_t now_ns;
    uint64_t work_bytes;
};

/* What confirm() makes durable; 0 is absent. */
struct model_state {
    uint32_t runs[MODEL_SPANS][MODEL_RUNS][2];
    uint32_t marks[MODEL_SPANS];
    uint32_t meta[MODEL_KINDS][MODEL_KEYS];
};

struct model_block {
    uint32_t value; /* 0: no block */
    uint32_t n_parts;
    bool may_be_gone;
};

struct model {
    struct model_state confirmed;
    struct model_state current;
    struct change pending[MODEL_PENDING_MAX];
    size_t n_pending;
    struct model_block blocks[MODEL_SPANS];
    int64_t retention_ns[MODEL_TENANTS];
};

/* What a changing call gave back. */
struct outcome {
    enum vv_status status;
    bool more; /* of expire */
};

/* The change with a number, always the same for one seed. */
struct change model_change(uint64_t seed, uint32_t number);
/* Makes the change in the store. */
struct outcome model_change_store(struct vv_store *store, const struct change *change);
/* The same in the model, which then expects it. */
void model_change_model(struct model *model, const struct change *change, struct outcome outcome);
/* The model must allow for a change of which it is not known how far it came. */
void model_change_unknown(struct model *model, const struct change *change);

/* Compares all that the store holds with the model. */
void model_verify(struct vv_store *store, struct model *model);
/* After a crash: finds out which of the pending changes are there, and whether the change that was
 * being made (may be NULL) is; then goes on from what is there. */
void model_after_crash(struct vv_store *store, struct model *model, const struct change *unknown);

#endif
