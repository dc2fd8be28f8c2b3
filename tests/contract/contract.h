/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contract suite: what store.h promises, on every back-end of the table in backends.c. Each
 * case is a cmocka test whose state is a struct contract with an open, empty store.
 */
#ifndef TESTS_CONTRACT_CONTRACT_H
#define TESTS_CONTRACT_CONTRACT_H

#include "store/store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

struct backend;

struct contract {
    const struct backend *backend;
    struct vv_store *store;
    char folder[256];
};

#define BROKEN_SIZE 400000

/* What only some back-ends can do; a case that needs it is left out for the others. */
enum backend_ability {
    IS_EMBEDDED = 1,     /* keeps a folder, which another process can open */
    KEEPS_ORDER = 2,     /* a crash leaves a prefix of all changes, not of each kind */
    EXPIRES_BY_CALL = 4, /* expire() frees at the time that it is given; else time itself does */
    FORGETS_BUCKETS = 8, /* nearest() never names a bucket that has nothing any more */
    WRITES_AGAIN = 16,   /* a run that was removed can be put again under the same key */
    READS_ON = 32,       /* reads are answered while writes fail */
    KEEPS_ROWS = 64,     /* can keep a tenant's values as rows */
    READS_BUCKETS = 128, /* a read may be of several */
};

struct backend {
    const char *name;
    unsigned abilities;     /* enum backend_ability */
    bool heals_slowly;      /* servers and connections come back some time after heal_writes */
    bool immediate;         /* readers see what another thread wrote before it is confirmed */
    bool (*is_there)(void); /* whether it can be tested here; NULL: always */
    enum vv_status (*open)(const struct vv_store_options *options, struct vv_store **store_out,
                           struct vv_error *error);
    /* As after a crash of the process: what was not confirmed may be gone. */
    void (*crash)(struct contract *contract, uint64_t seed);
    /* Makes a put_blocks of BROKEN_SIZE bytes fail with VV_FULL or VV_IO; `heal_writes` lets it
     * succeed again. */
    void (*break_writes)(struct contract *contract);
    void (*heal_writes)(struct contract *contract);
    void (*forget)(void); /* after all cases; may be NULL */
};

extern const struct backend cassandra_backend; /* where VARVE_CASSANDRA names a server */
/* The tenant whose values a Cassandra that is opened from now on keeps as rows; CONTRACT_ALL for
 * all, CONTRACT_NONE, as each case begins, for none. */
#define CONTRACT_ALL  (UINT32_MAX - 1)
#define CONTRACT_NONE UINT32_MAX
extern uint32_t contract_rows_tenant;
/* Of a store on Cassandra that is opened from now on; as each case begins 0 and the machine's. */
extern int64_t contract_lead_ns;
extern struct vv_clock *contract_clock;
/* Of the Cassandra that is tested; NULL: there is none. */
const char *contract_contact_points(void);
/* The tenant's name in Cassandra, in the open store. */
struct vv_str contract_tenant_name(uint32_t tenant);
extern const struct backend *const backends[];
extern const size_t n_backends;

/* cmocka's setup and teardown; the setup's state is a const struct backend *. */
int contract_setup(void **state);
int contract_teardown(void **state);

/* A new, empty folder's path; remove it with contract_remove_folder(). */
void contract_make_folder(char *out, size_t size);
void contract_remove_folder(const char *path);

void contract_open(struct contract *contract);
void contract_close(struct contract *contract);
void contract_crash(struct contract *contract, uint64_t seed);
/* recover(), which must succeed: soon after writes were healed, where that takes time. */
void contract_recover(struct contract *contract);
/* An empty store again. */
void contract_reset(struct contract *contract);

#define assert_ok(status) assert_int_equal((status), VV_OK)

/* ---- short forms of the store's calls; they assert success */

/* A partition of a day's bucket, `day` days since 1970. */
struct vv_partition partition_of(uint32_t tenant, uint32_t source, int64_t day);
/* A span of measurement 1 in it, `hour` hours after the bucket's start. */
struct vv_span_key span_of(uint32_t tenant, uint32_t source, int64_t day, int hour);

void put_run(struct contract *contract, const struct vv_span_key *key, vv_stamp run, uint32_t part,
             const char *text);
void remove_run(struct contract *contract, const struct vv_span_key *key, vv_stamp run,
                uint32_t part);
/* One block per text, parts from 0. n 0: the span has no block any more. */
void put_span(struct contract *contract, const struct vv_span_key *key, size_t n,
              const char *const *texts);
void put_block(struct contract *contract, const struct vv_span_key *key, const char *text);
void put_mark(struct contract *contract, const struct vv_span_key *key, int64_t due_ns,
              vv_stamp run);
void retire_mark(struct contract *contract, const struct vv_span_key *key, int64_t due_ns,
                 vv_stamp run);
void put_meta(struct contract *contract, uint8_t kind, const char *key, const char *value);
void remove_meta(struct contract *contract, uint8_t kind, const char *key);
void confirm(struct contract *contract);
void set_retention(struct contract *contract, uint32_t tenant, int64_t retention_ns);
/* Until there is no more to do. */
void expire(struct contract *contract, int64_t now_ns);

/* Puts a block that fails because of break_writes(). */
void fail_to_write(struct contract *contract);

/* ---- what is there, as text to compare; static memory, valid until the next call */

/* "R<span hour>.<run>.<part>=<bytes> … B<span hour>.<part>=<bytes>" of measurement 1. */
const char *pieces_text(struct contract *contract, const struct vv_partition *partition);
/* The same for spans that start in [from, to) only, and any measurement. */
const char *read_text(struct contract *contract, const struct vv_store_read *read);
/* "<due>/<source>.<span hour>=<run> …". */
const char *marks_text(struct contract *contract, int64_t due_until, const struct vv_mark *after);
/* "<key>=<value> …". */
const char *meta_text(struct contract *contract, uint8_t kind, const char *prefix);
bool has_block(struct contract *contract, const struct vv_span_key *key);

/* ---- the cases, by file */
struct contract_case {
    const char *name;
    CMUnitTestFunction function;
    unsigned needs; /* enum backend_ability */
};

#define CONTRACT_CASE(function)                                                                    \
    {                                                                                              \
#function, function, 0                                                                     \
    }
#define CONTRACT_CASE_NEEDS(needs, function)                                                       \
    {                                                                                              \
#function, function, needs                                                                 \
    }

extern const struct contract_case write_cases[];
extern const struct contract_case block_cases[];
extern const struct contract_case bucket_cases[];
extern const struct contract_case part_cases[];
extern const struct contract_case retention_cases[];
extern const struct contract_case nearest_cases[];
extern const struct contract_case durability_cases[];
extern const struct contract_case failure_cases[];
extern const struct contract_case folder_cases[];
extern const struct contract_case concurrent_cases[];
extern const struct contract_case random_cases[];
extern const struct contract_case rows_cases[];
extern const struct contract_case refresh_cases[];
extern const struct contract_case turn_cases[];
extern const struct contract_case metrics_cases[];

/* The child of the kill test: works on `folder` until it is killed. Returns the exit code. */
int kill_child(const char *folder, const char *arguments);

#endif
