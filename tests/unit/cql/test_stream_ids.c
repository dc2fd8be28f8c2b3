/* SPDX-License-Identifier: Apache-2.0 */
/* Stream ids: never given out twice, orphans kept until their answer comes. */
#include "cql/stream_ids.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cql/policy.h"
#include "simulation/sim_memory.h"

static char owners[VVCQL_STREAMS_MAX]; /* their addresses */

static struct vvcql_stream_ids ids_of(size_t capacity)
{
    struct vvcql_stream_ids ids;
    assert_true(vvcql_stream_ids_init(&ids, capacity));
    assert_int_equal(ids.capacity, capacity);
    assert_int_equal(ids.in_use, 0);
    assert_int_equal(ids.orphans, 0);
    return ids;
}

static void every_id_is_given_out_once(void **state)
{
    (void)state;
    static const size_t capacities[] = {1, 2, 63, 64, 65, 127, 128, 1000, 1024, 32767, 32768};
    for (size_t c = 0; c < sizeof capacities / sizeof *capacities; c++) {
        size_t capacity = capacities[c];
        struct vvcql_stream_ids ids = ids_of(capacity);
        bool *seen = calloc(capacity, sizeof *seen);
        assert_non_null(seen);
        for (size_t i = 0; i < capacity; i++) {
            int id = vvcql_stream_ids_take(&ids, &owners[i]);
            assert_in_range(id, 0, capacity - 1);
            assert_false(seen[id]);
            seen[id] = true;
        }
        assert_int_equal(vvcql_stream_ids_take(&ids, owners), -1);
        assert_int_equal(ids.in_use, capacity);
        bool is_known;
        int last = (int)capacity - 1;
        assert_non_null(vvcql_stream_ids_answer(&ids, last, &is_known));
        assert_int_equal(vvcql_stream_ids_take(&ids, owners), last);
        assert_int_equal(vvcql_stream_ids_take(&ids, owners), -1);
        free(seen);
        vvcql_stream_ids_deinit(&ids);
    }
}

static void an_orphan_waits_for_its_answer(void **state)
{
    (void)state;
    struct vvcql_stream_ids ids = ids_of(2);
    int given_up = vvcql_stream_ids_take(&ids, &owners[0]);
    vvcql_stream_ids_abandon(&ids, given_up);
    assert_int_equal(ids.orphans, 1);
    assert_int_equal(ids.in_use, 1);
    vvcql_stream_ids_abandon(&ids, given_up);
    assert_int_equal(ids.orphans, 1);
    int other = vvcql_stream_ids_take(&ids, &owners[1]);
    assert_int_not_equal(other, given_up);
    assert_int_equal(vvcql_stream_ids_take(&ids, &owners[2]), -1);
    bool is_known = false;
    assert_null(vvcql_stream_ids_answer(&ids, given_up, &is_known));
    assert_true(is_known);
    assert_int_equal(ids.orphans, 0);
    assert_int_equal(vvcql_stream_ids_take(&ids, &owners[2]), given_up);
    assert_ptr_equal(vvcql_stream_ids_answer(&ids, given_up, &is_known), &owners[2]);
    assert_ptr_equal(vvcql_stream_ids_answer(&ids, other, &is_known), &owners[1]);
    assert_int_equal(ids.in_use, 0);
    vvcql_stream_ids_deinit(&ids);
}

static void answers_that_nobody_waits_for(void **state)
{
    (void)state;
    struct vvcql_stream_ids ids = ids_of(70);
    int taken = vvcql_stream_ids_take(&ids, &owners[0]);
    static const int wrong[] = {-32768, -2, -1, 69, 70, 71, 127, 128, 32767, INT32_MAX, INT32_MIN};
    bool is_known = true;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        is_known = true;
        assert_null(vvcql_stream_ids_answer(&ids, wrong[i], &is_known));
        assert_false(is_known);
        vvcql_stream_ids_abandon(&ids, wrong[i]);
    }
    assert_int_equal(ids.orphans, 0);
    assert_int_equal(ids.in_use, 1);
    assert_ptr_equal(vvcql_stream_ids_answer(&ids, taken, &is_known), &owners[0]);
    assert_null(vvcql_stream_ids_answer(&ids, taken, &is_known)); /* a second answer */
    assert_false(is_known);
    assert_int_equal(ids.in_use, 0);
    vvcql_stream_ids_deinit(&ids);
}

static void ending_all_of_them(void **state)
{
    (void)state;
    struct vvcql_stream_ids ids = ids_of(VVCQL_STREAMS_MAX);
    void *owner = owners;
    assert_int_equal(vvcql_stream_ids_any(&ids, &owner), -1);
    assert_null(owner);
    for (size_t i = 0; i < VVCQL_STREAMS_MAX; i++) {
        int id = vvcql_stream_ids_take(&ids, &owners[i]);
        if (i % 3 == 0) {
            vvcql_stream_ids_abandon(&ids, id);
        }
    }
    size_t n = 0;
    for (int id = vvcql_stream_ids_any(&ids, &owner); id >= 0;
         id = vvcql_stream_ids_any(&ids, &owner)) {
        bool is_known;
        assert_ptr_equal(vvcql_stream_ids_answer(&ids, id, &is_known), owner);
        assert_int_not_equal((char *)owner - owners, 0);
        n++;
    }
    assert_int_equal(n, VVCQL_STREAMS_MAX - ids.orphans);
    assert_int_equal(ids.orphans, VVCQL_STREAMS_MAX / 3 + 1);
    assert_int_equal(ids.in_use, ids.orphans);
    vvcql_stream_ids_deinit(&ids);
}

static void any_of_few(void **state)
{
    (void)state;
    const int capacity = 300;
    for (int only = 0; only < capacity; only++) {
        struct vvcql_stream_ids ids = ids_of((size_t)capacity);
        while (vvcql_stream_ids_take(&ids, owners) >= 0) {
        }
        for (int id = 0; id < capacity; id++) {
            bool is_known = id != only;
            if (is_known) {
                vvcql_stream_ids_answer(&ids, id, &is_known);
                assert_true(is_known);
            }
        }
        void *owner;
        assert_int_equal(vvcql_stream_ids_any(&ids, &owner), only);
        assert_ptr_equal(owner, owners);
        vvcql_stream_ids_abandon(&ids, only);
        assert_int_equal(vvcql_stream_ids_any(&ids, &owner), -1);
        vvcql_stream_ids_deinit(&ids);
    }
}

/* ---- random operations beside a plain array ---- */

enum { MODEL_MAX = 200 };

struct model {
    struct vvcql_stream_ids ids;
    enum { FREE, OWNED, ORPHAN } states[MODEL_MAX];
    void *owners[MODEL_MAX];
    size_t counts[3];
};

static void change(struct model *model, int id, int state, void *owner)
{
    model->counts[model->states[id]]--;
    model->counts[state]++;
    model->states[id] = (unsigned)state;
    model->owners[id] = owner;
}

static void take(struct model *model, uint64_t number)
{
    void *owner = &owners[number % VVCQL_STREAMS_MAX];
    int id = vvcql_stream_ids_take(&model->ids, owner);
    if (model->counts[FREE] == 0) {
        assert_int_equal(id, -1);
        return;
    }
    assert_in_range(id, 0, model->ids.capacity - 1);
    assert_int_equal(model->states[id], FREE);
    change(model, id, OWNED, owner);
}

static void answer(struct model *model, int id)
{
    bool is_known;
    void *owner = vvcql_stream_ids_answer(&model->ids, id, &is_known);
    assert_int_equal(is_known, model->states[id] != FREE);
    assert_ptr_equal(owner, model->owners[id]);
    change(model, id, FREE, NULL);
}

static void abandon(struct model *model, int id)
{
    vvcql_stream_ids_abandon(&model->ids, id);
    if (model->states[id] == OWNED) {
        change(model, id, ORPHAN, NULL);
    }
}

static void find_any(struct model *model)
{
    void *owner;
    int id = vvcql_stream_ids_any(&model->ids, &owner);
    if (model->counts[OWNED] == 0) {
        assert_int_equal(id, -1);
        assert_null(owner);
    } else {
        assert_int_equal(model->states[id], OWNED);
        assert_ptr_equal(owner, model->owners[id]);
    }
}

static void run_model(size_t capacity, uint64_t *random)
{
    struct model model = {.ids = ids_of(capacity), .counts = {capacity, 0, 0}};
    for (int step = 0; step < 4000; step++) {
        uint64_t number = vvcql_random(random) >> 8;
        int id = (int)(number / 16 % capacity);
        /* Fuller and emptier in turn. */
        unsigned takes = step / 500 % 2 == 0 ? 9 : 4;
        if (number % 16 < takes) {
            take(&model, number >> 16);
        } else if (number % 16 < 13) {
            answer(&model, id);
        } else if (number % 16 < 15) {
            abandon(&model, id);
        } else {
            find_any(&model);
        }
        assert_int_equal(model.ids.in_use, model.counts[OWNED] + model.counts[ORPHAN]);
        assert_int_equal(model.ids.orphans, model.counts[ORPHAN]);
    }
    vvcql_stream_ids_deinit(&model.ids);
}

static void random_operations(void **state)
{
    (void)state;
    uint64_t random = 3;
    print_message("seed %d\n", (int)random);
    for (size_t capacity = 1; capacity <= MODEL_MAX; capacity += 1 + capacity / 8) {
        run_model(capacity, &random);
    }
}

static void without_memory(void **state)
{
    (void)state;
    uint64_t k = 0;
    bool failed = true;
    while (failed) {
        struct vvcql_stream_ids ids;
        vv_sim_memory_fail(++k);
        bool is_ready = vvcql_stream_ids_init(&ids, 100);
        failed = vv_sim_memory_failed();
        assert_int_equal(is_ready, !failed);
        vvcql_stream_ids_deinit(&ids); /* allowed after a failure too */
    }
    assert_int_equal(k, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_id_is_given_out_once),
        cmocka_unit_test(an_orphan_waits_for_its_answer),
        cmocka_unit_test(answers_that_nobody_waits_for),
        cmocka_unit_test(ending_all_of_them),
        cmocka_unit_test(any_of_few),
        cmocka_unit_test(random_operations),
        cmocka_unit_test(without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
