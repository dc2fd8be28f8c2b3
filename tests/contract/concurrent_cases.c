/* SPDX-License-Identifier: Apache-2.0 */
/* Readers on several threads while the storage thread writes, seals, expires and recovers. */
#include "contract.h"

#include "base/random.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#define SOURCES 8
#define READERS 3

/*
 * The writer counts up one number per source: it puts a run with it, later seals it into a block of
 * two equal parts, and removes the runs. A reader that asks after round r was written must find a
 * number of at least r, and a block must be whole.
 */
struct shared {
    struct contract *c;
    _Atomic uint64_t written[SOURCES];
    atomic_bool stop;
    atomic_uint put_off;
    atomic_uint reads;
};

struct seen {
    uint64_t run_max;
    uint64_t block[2];
    uint32_t n_blocks;
    bool broken;
};

static enum vv_status see_piece(void *context, const struct vv_piece *piece)
{
    struct seen *seen = context;
    char text[32] = "";
    if (piece->bytes.size >= sizeof text) {
        seen->broken = true;
        return VV_OK;
    }
    memcpy(text, piece->bytes.data, piece->bytes.size);
    uint64_t number = strtoull(text, NULL, 10);
    if (piece->kind == VV_PIECE_RUN) {
        seen->run_max = number > seen->run_max ? number : seen->run_max;
        seen->broken |= number != piece->run;
    } else if (seen->n_blocks < 2) {
        seen->block[seen->n_blocks++] = number;
    } else {
        seen->broken = true;
    }
    return VV_OK;
}

static enum vv_status count_mark(void *context, const struct vv_mark *mark)
{
    int64_t *last = context;
    if (mark->due_ns < *last) {
        return VV_CORRUPT;
    }
    *last = mark->due_ns;
    return VV_OK;
}

static enum vv_status check_meta(void *context, struct vv_str key, struct vv_str value)
{
    (void)context;
    return vv_str_equal(key, value) ? VV_OK : VV_CORRUPT;
}

static bool read_one(struct shared *shared, uint32_t source)
{
    struct vv_store *store = shared->c->store;
    uint64_t at_least = atomic_load(&shared->written[source]);
    struct vv_span_key key = span_of(1, source, 100, 3);
    const struct vv_store_read read = {.partition = key.partition,
                                       .measurement = 1,
                                       .span_from = key.span_start,
                                       .span_to = key.span_start + 1};
    struct seen seen = {0};
    struct vv_error error = {0};
    enum vv_status status = store->ops->read(store, &read, see_piece, &seen, &error);
    if (status == VV_OVERLOAD) {
        atomic_fetch_add(&shared->put_off, 1);
        return true;
    }
    atomic_fetch_add(&shared->reads, 1);
    uint64_t newest = seen.run_max > seen.block[0] ? seen.run_max : seen.block[0];
    bool whole = seen.n_blocks == 0 || (seen.n_blocks == 2 && seen.block[0] == seen.block[1]);
    if (status != VV_OK || seen.broken || !whole || newest < at_least) {
        fprintf(stderr, "source %u: status %s %s, newest %llu, at least %llu, blocks %u\n", source,
                vv_status_name(status), error.message, (unsigned long long)newest,
                (unsigned long long)at_least, seen.n_blocks);
        return false;
    }
    return true;
}

static bool read_other(struct shared *shared, uint32_t source)
{
    struct vv_store *store = shared->c->store;
    struct vv_store_figures figures;
    struct vv_buffer value = {0};
    int64_t last = INT64_MIN;
    int64_t start = 0;
    enum vv_status statuses[] = {
        store->ops->scan_marks(store, INT64_MAX, NULL, count_mark, &last, NULL),
        store->ops->scan_meta(store, 1, vv_str_of("k"), check_meta, NULL, NULL),
        store->ops->get_meta(store, 1, vv_str_of("always"), &value, NULL),
        store->ops->nearest(store, 0, 1, source, INT64_MAX, false, &start, NULL),
    };
    store->ops->read_figures(store, &figures);
    vv_buffer_deinit(&value);
    for (size_t i = 0; i < 4; i++) {
        bool allowed = statuses[i] == VV_OK || statuses[i] == VV_OVERLOAD ||
                       (i == 3 && statuses[i] == VV_DONE);
        if (!allowed) {
            fprintf(stderr, "call %zu: %s\n", i, vv_status_name(statuses[i]));
            return false;
        }
    }
    return true;
}

static void *reader(void *context)
{
    struct shared *shared = context;
    struct vv_random random = {.state = (uintptr_t)&random};
    bool good = true;
    while (good && !atomic_load(&shared->stop)) {
        uint32_t source = (uint32_t)vv_random_below(&random, SOURCES);
        good =
            read_one(shared, source) && (vv_random_below(&random, 8) || read_other(shared, source));
    }
    return good ? context : NULL;
}

static void write_round(struct shared *shared, uint64_t round)
{
    struct contract *c = shared->c;
    uint32_t source = (uint32_t)(round % SOURCES);
    struct vv_span_key key = span_of(1, source, 100, 3);
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)round);
    put_run(c, &key, round, 0, text);
    put_mark(c, &key, (int64_t)(round % 100), round);
    put_meta(c, 1, text[0] == '1' ? "k1" : "k2", text[0] == '1' ? "k1" : "k2");
    if (!c->backend->immediate) {
        confirm(c);
    }
    atomic_store(&shared->written[source], round);
    if (round / SOURCES % 4 == 3) {
        const char *const parts[] = {text, text};
        put_span(c, &key, 2, parts);
        for (uint64_t run = round; run + 4 * SOURCES > round && run >= SOURCES; run -= SOURCES) {
            remove_run(c, &key, run, 0);
        }
        retire_mark(c, &key, (int64_t)(round % 100), round);
    }
    if (round % 50 == 0) {
        confirm(c);
    }
}

/* Eras that come and go beside the readers' one, and a tenant that moves. */
static void churn(struct shared *shared, uint64_t round)
{
    struct contract *c = shared->c;
    if (round % 40 == 0) {
        struct vv_span_key key = span_of(2, 1, (int64_t)round, 3);
        put_block(c, &key, "x");
        bool more;
        int64_t now = ((int64_t)round - 20) * VV_DAY;
        assert_ok(c->store->ops->expire(c->store, now, 50, &more, NULL));
    }
    if (round % 200 == 0) {
        set_retention(c, 1, round % 400 == 0 ? 0 : 40000 * VV_DAY);
    }
}

static void run_readers(struct contract *c, uint64_t rounds,
                        void (*extra)(struct shared *shared, uint64_t round))
{
    static struct shared shared;
    memset(&shared, 0, sizeof shared);
    shared.c = c;
    pthread_t threads[READERS];
    put_meta(c, 1, "always", "there");
    set_retention(c, 2, 3 * VV_DAY);
    confirm(c);
    for (size_t i = 0; i < READERS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, reader, &shared), 0);
    }
    for (uint64_t round = SOURCES; round < rounds || atomic_load(&shared.reads) < 100; round++) {
        write_round(&shared, round);
        if (extra) {
            extra(&shared, round);
        }
    }
    atomic_store(&shared.stop, true);
    for (size_t i = 0; i < READERS; i++) {
        void *good;
        pthread_join(threads[i], &good);
        assert_non_null(good);
    }
    assert_true(atomic_load(&shared.reads) > 0);
}

/* A round on a server takes several agreements of its replicas. */
static uint64_t rounds_of(const struct contract *c)
{
    return c->backend->heals_slowly ? 200 : 1000;
}

static void readers_see_what_was_written_while_it_is_sealed(void **state)
{
    run_readers(*state, rounds_of(*state), NULL);
}

static void readers_are_safe_while_eras_go_and_tenants_move(void **state)
{
    run_readers(*state, rounds_of(*state), churn);
}

/* Everything is confirmed before the failure, so that readers may go on counting. */
static void fail_and_recover(struct shared *shared, uint64_t round)
{
    struct contract *c = shared->c;
    if (round % 150 != 0) {
        return;
    }
    confirm(c);
    c->backend->break_writes(c);
    fail_to_write(c);
    c->backend->heal_writes(c);
    contract_recover(c);
}

static void readers_are_safe_while_the_store_recovers(void **state)
{
    run_readers(*state, rounds_of(*state), fail_and_recover);
}

const struct contract_case concurrent_cases[] = {
    CONTRACT_CASE(readers_see_what_was_written_while_it_is_sealed),
    CONTRACT_CASE(readers_are_safe_while_eras_go_and_tenants_move),
    CONTRACT_CASE(readers_are_safe_while_the_store_recovers),
    {0},
};
