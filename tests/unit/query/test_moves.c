/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A source's first plan gives way to another one while it is read: what the store keeps of it is
 * taken from the old places and put into the new ones. No answer misses anything.
 */
#include "query_fixture.h"
#include "registry/shared.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#define DAYS   6
#define POINTS 5 /* a day; days in between have none */
#define ALL    (DAYS * POINTS)

static const struct vv_plan plans[2] = {
    {VV_TIME_MIN, VV_DAY, VV_HOUR, 1, 0},
    {VV_TIME_MIN, 8 * VV_HOUR, 2 * VV_HOUR, 3, 0},
};

struct pieces {
    struct vv_piece items[4 * ALL];
    size_t n;
};

/* A store over the fixture's, so that something happens at each call. */
struct hooked {
    struct vv_store base;
    struct vv_store_ops ops;
    struct fixture *f;
    uint32_t source;
    struct pieces pieces[2]; /* by plan */
    int at;                  /* the plan that holds */
    unsigned calls;
    unsigned move_at; /* the call before, or after which it moves */
    bool after;
    bool takes_time; /* until the next call */
};

struct vv_store_answer {
    struct hooked *hooked;
    struct vv_store_read read;
    struct pieces pieces;
};

static struct hooked *hooked_of(struct vv_store *store)
{
    return (struct hooked *)(void *)store;
}

static enum vv_status keep(void *context, const struct vv_piece *piece)
{
    struct pieces *pieces = context;
    vv_invariant(pieces->n < sizeof pieces->items / sizeof *pieces->items);
    struct vv_piece *kept = &pieces->items[pieces->n++];
    *kept = *piece;
    kept->bytes.data = vv_str_duplicate(piece->bytes);
    vv_invariant(kept->bytes.data != NULL);
    return VV_OK;
}

static void forget(struct pieces *pieces)
{
    while (pieces->n > 0) {
        free((char *)pieces->items[--pieces->n].bytes.data);
    }
}

static void begin_move(struct hooked *hooked)
{
    vv_invariant(vv_registry_begin_move(hooked->f->registry, hooked->source, &plans[1 - hooked->at],
                                        NULL) == VV_OK);
    sched_yield();
}

static void end_move(struct hooked *hooked)
{
    struct vv_store *store = hooked->f->store;
    const struct pieces *gone = &hooked->pieces[hooked->at];
    const struct pieces *come = &hooked->pieces[1 - hooked->at];
    vv_invariant(store->ops->remove_runs(store, gone->items, gone->n, NULL) == VV_OK);
    sched_yield();
    for (size_t i = 0; i < come->n; i++) {
        vv_invariant(store->ops->put_run(store, &come->items[i], NULL) == VV_OK);
    }
    vv_invariant(store->ops->confirm(store, NULL) == VV_OK);
    hooked->at = 1 - hooked->at;
    vv_registry_end_move(hooked->f->registry, hooked->source);
}

static void step(struct hooked *hooked, bool after)
{
    hooked->calls += !after;
    if (hooked->after != after || hooked->move_at == 0) {
        return;
    }
    if (hooked->calls == hooked->move_at) {
        begin_move(hooked);
    }
    if (hooked->calls == hooked->move_at + hooked->takes_time) {
        end_move(hooked);
    }
}

static enum vv_status read_hooked(struct vv_store *store, const struct vv_store_read *read,
                                  vv_piece_visit visit, void *context, struct vv_error *error)
{
    struct hooked *hooked = hooked_of(store);
    step(hooked, false);
    enum vv_status status =
        hooked->f->store->ops->read(hooked->f->store, read, visit, context, error);
    step(hooked, true);
    return status;
}

static enum vv_status nearest_hooked(struct vv_store *store, uint8_t region, uint32_t tenant,
                                     uint32_t source, int64_t start, bool forward,
                                     int64_t *start_out, struct vv_error *error)
{
    struct hooked *hooked = hooked_of(store);
    step(hooked, false);
    enum vv_status status = hooked->f->store->ops->nearest(hooked->f->store, region, tenant, source,
                                                           start, forward, start_out, error);
    step(hooked, true);
    return status;
}

/* What is asked for is what was there then. */
static enum vv_status begin_hooked(struct vv_store *store, const struct vv_store_read *read,
                                   struct vv_store_answer **answer_out, struct vv_error *error)
{
    struct vv_store_answer *answer = calloc(1, sizeof *answer);
    vv_invariant(answer != NULL);
    answer->hooked = hooked_of(store);
    *answer_out = answer;
    return read_hooked(store, read, keep, &answer->pieces, error);
}

static enum vv_status visit_hooked(struct vv_store_answer *answer, vv_piece_visit visit,
                                   void *context, struct vv_error *error)
{
    (void)error;
    enum vv_status status = VV_OK;
    for (size_t i = 0; i < answer->pieces.n && status == VV_OK; i++) {
        status = visit(context, &answer->pieces.items[i]);
    }
    return status == VV_DONE ? VV_OK : status;
}

static void end_hooked(struct vv_store_answer *answer)
{
    forget(&answer->pieces);
    free(answer);
}

/* ---- data ---- */

static struct pieces *keeping;
static const struct vv_store_ops *plain;

static enum vv_status put_and_keep(struct vv_store *store, const struct vv_piece *run,
                                   struct vv_error *error)
{
    vv_invariant(keep(keeping, run) == VV_OK);
    return plain->put_run(store, run, error);
}

static void write_all(struct fixture *f, uint32_t source, uint32_t metric)
{
    for (int i = 0; i < ALL; i++) {
        fixture_point(f, source, metric,
                      FIXTURE_NOW - (40 - 5 * (i / POINTS)) * VV_DAY + i * 3 * VV_HOUR, i);
    }
}

/* The same points, as both plans have them; the store keeps those of the one that holds. */
static void fill(struct fixture *f, struct hooked *hooked, uint32_t metric)
{
    struct vv_store_ops ops = *f->store->ops;
    plain = f->store->ops;
    ops.put_run = put_and_keep;
    for (int i = 1; i >= 0; i--) {
        int plan = i ? 1 - hooked->at : hooked->at;
        assert_int_equal(vv_registry_source_set_plans(f->registry, hooked->source, &plans[plan], 1),
                         VV_OK);
        write_all(f, hooked->source, metric);
        keeping = &hooked->pieces[plan];
        f->store->ops = &ops;
        fixture_flush(f);
        f->store->ops = plain;
        if (i == 1) {
            assert_int_equal(plain->remove_runs(f->store, keeping->items, keeping->n, NULL), VV_OK);
        }
    }
}

/* `ahead`: the store can be asked ahead; `at`: the plan that holds. */
static void begin(struct fixture *f, struct hooked *hooked, bool ahead, int at)
{
    fixture_init(f);
    uint32_t metric = fixture_metric(f, "m", "v", VV_FLOAT64);
    uint32_t other = fixture_source(f, "0", "x"); /* is read before, and does not move */
    write_all(f, other, metric);
    fixture_flush(f);
    *hooked = (struct hooked){.f = f, .source = fixture_source(f, "a", "x"), .at = at};
    fill(f, hooked, metric);
    hooked->ops.read = read_hooked;
    hooked->ops.nearest = nearest_hooked;
    if (ahead) {
        hooked->ops.begin_read = begin_hooked;
        hooked->ops.visit_read = visit_hooked;
        hooked->ops.end_read = end_hooked;
    }
    hooked->base.ops = &hooked->ops;
    f->context.store = &hooked->base;
}

static void end(struct fixture *f, struct hooked *hooked)
{
    forget(&hooked->pieces[0]);
    forget(&hooked->pieces[1]);
    fixture_deinit(f);
}

static enum vv_status count_all(struct fixture *f, const char *order, const char *limit)
{
    char *text;
    enum vv_status status = fixture_answer(
        f, VV_REQUEST_QUERY, WORDS("metric=m.v", "from=-60d", order, limit), 1 << 20, &text);
    free(text);
    assert_true(status != VV_OK || f->facts.rows == 2 * ALL);
    return status;
}

static const char *const orders[] = {"order=asc", "order=desc"};
static const char *const limits[] = {"limit=100000", "limit=1000"}; /* all at once, span by span */

/* Once at each call, before it or after it. */
static void check_moves(bool ahead, int at, const char *order, const char *limit)
{
    unsigned moves = 0;
    for (unsigned call = 1;; call++) {
        struct fixture f;
        struct hooked hooked;
        begin(&f, &hooked, ahead, at);
        hooked.move_at = (call + 1) / 2;
        hooked.after = call % 2 == 0;
        assert_int_equal(count_all(&f, order, limit), VV_OK);
        bool moved = hooked.at != at;
        moves += moved;
        end(&f, &hooked);
        if (!moved) {
            break;
        }
    }
    assert_true(moves >= 2 * DAYS);
}

static void check_all_moves(bool ahead)
{
    for (int i = 0; i < 8; i++) {
        check_moves(ahead, i % 2, orders[i / 2 % 2], limits[i / 4]);
    }
}

static void a_move_at_any_read_loses_nothing(void **state)
{
    (void)state;
    check_all_moves(false);
}

static void nor_does_one_at_any_asking_ahead(void **state)
{
    (void)state;
    check_all_moves(true);
}

/* What is asked for ahead while a source moves is asked for in its new places, where it is not yet:
 * as long as the other source is read, nobody waits for that. */
static void what_is_asked_for_during_a_move_is_asked_for_again(void **state)
{
    (void)state;
    unsigned moves = 0;
    enum vv_status status = VV_OK;
    for (unsigned call = 1; status == VV_OK; call++) {
        struct fixture f;
        struct hooked hooked;
        begin(&f, &hooked, true, 0);
        hooked.move_at = call;
        hooked.after = true;
        hooked.takes_time = true;
        status = count_all(&f, orders[0], limits[0]);
        moves += hooked.at == 1;
        end(&f, &hooked);
    }
    assert_int_equal(status, VV_OVERLOAD); /* the scan came to it, and the next call never came */
    assert_true(moves >= 3);
}

struct mover {
    struct hooked *hooked;
    _Atomic bool ended;
};

static void *move_often(void *context)
{
    struct mover *mover = context;
    for (int i = 0; i < 300; i++) {
        begin_move(mover->hooked);
        end_move(mover->hooked);
        sched_yield();
    }
    atomic_store(&mover->ended, true);
    return NULL;
}

static void readers_wait_for_the_end_of_a_move(void **state)
{
    (void)state;
    for (int ahead = 0; ahead < 2; ahead++) {
        struct fixture f;
        struct hooked hooked;
        pthread_t thread;
        begin(&f, &hooked, ahead, 0);
        struct mover mover = {.hooked = &hooked};
        assert_int_equal(pthread_create(&thread, NULL, move_often, &mover), 0);
        for (int i = 0; !atomic_load(&mover.ended); i++) {
            assert_int_equal(count_all(&f, orders[i % 2], limits[i / 2 % 2]), VV_OK);
        }
        assert_int_equal(pthread_join(thread, NULL), 0);
        end(&f, &hooked);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_move_at_any_read_loses_nothing),
        cmocka_unit_test(nor_does_one_at_any_asking_ahead),
        cmocka_unit_test(what_is_asked_for_during_a_move_is_asked_for_again),
        cmocka_unit_test(readers_wait_for_the_end_of_a_move),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
