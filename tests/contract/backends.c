/* SPDX-License-Identifier: Apache-2.0 */
/* The back-ends that keep the contract. */
#include "contract.h"

#include <sys/resource.h>

/* ---- memory */

static void memory_crash(struct contract *contract, uint64_t seed)
{
    vv_store_memory_crash(contract->store, seed);
}

static void memory_break(struct contract *contract)
{
    vv_store_memory_fail(contract->store, VV_FULL, UINT32_MAX);
}

static void memory_heal(struct contract *contract)
{
    vv_store_memory_fail(contract->store, VV_OK, 0);
}

static const struct backend memory = {
    .name = "memory",
    .abilities =
        KEEPS_ORDER | EXPIRES_BY_CALL | FORGETS_BUCKETS | WRITES_AGAIN | READS_ON | READS_BUCKETS,
    .immediate = true,
    .open = vv_store_memory_open,
    .crash = memory_crash,
    .break_writes = memory_break,
    .heal_writes = memory_heal,
};

/* ---- the embedded store: closing does not flush, so opening again is like a crash; the real one
 * is in kill.c */

static void embedded_crash(struct contract *contract, uint64_t seed)
{
    (void)seed;
    contract_close(contract);
    contract_open(contract);
}

static void limit_files(rlim_t size)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = size < limit.rlim_max ? size : limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* No file may become large, so writing a large one fails; main() ignores the signal. */
static void embedded_break(struct contract *contract)
{
    (void)contract;
    limit_files(BROKEN_SIZE / 2);
}

static void embedded_heal(struct contract *contract)
{
    (void)contract;
    limit_files(RLIM_INFINITY);
}

static const struct backend embedded = {
    .name = "rocksdb",
    .abilities = IS_EMBEDDED | KEEPS_ORDER | EXPIRES_BY_CALL | FORGETS_BUCKETS | WRITES_AGAIN |
                 READS_ON | READS_BUCKETS,
    .immediate = true,
    .open = vv_store_rocksdb_open,
    .crash = embedded_crash,
    .break_writes = embedded_break,
    .heal_writes = embedded_heal,
};

const struct backend *const backends[] = {&memory, &embedded, &cassandra_backend};
const size_t n_backends = sizeof backends / sizeof backends[0];
