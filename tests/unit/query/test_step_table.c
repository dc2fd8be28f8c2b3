/* SPDX-License-Identifier: Apache-2.0 */
/* The step table: finding, order, and memory that runs out. */
#include "base/clock.h"
#include "base/random.h"
#include "query/step_table.h"
#include "simulation/sim_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SEED  61
#define STEPS 5000

static const struct vv_fold_spec spec = {0};

static void folds_are_found_again(void **state)
{
    (void)state;
    struct vv_step_table table = {0};
    struct vv_random random = {SEED};
    static uint64_t counts[STEPS];
    for (int i = 0; i < 50000; i++) {
        uint64_t step = i % 2 ? vv_random_below(&random, STEPS) : (uint64_t)(i % STEPS);
        struct vv_fold *fold = vv_step_table_find(&table, ((int64_t)step - 2000) * VV_HOUR);
        assert_non_null(fold);
        assert_int_equal(fold->step.count, counts[step]);
        fold->step.count = ++counts[step];
    }
    size_t used = 0;
    for (int i = 0; i < STEPS; i++) {
        used += counts[i] > 0;
    }
    assert_int_equal(table.n, used);
    assert_true(vv_step_table_sort(&table));
    for (size_t i = 1; i < table.n; i++) {
        assert_true(vv_step_table_sorted(&table, i - 1)->start <
                    vv_step_table_sorted(&table, i)->start);
    }
    assert_true(table.bytes >= used * sizeof(struct vv_step_entry));
    vv_step_table_clear(&spec, &table);
    assert_int_equal(table.bytes, 0);
}

static void an_empty_table_sorts(void **state)
{
    (void)state;
    struct vv_step_table table = {0};
    assert_true(vv_step_table_sort(&table));
    vv_step_table_clear(&spec, &table);
}

static void memory_that_runs_out(void **state)
{
    (void)state;
    for (uint64_t k = 1;; k++) {
        struct vv_step_table table = {0};
        bool done = true;
        vv_sim_memory_fail(k);
        for (int64_t i = 0; i < 1000 && done; i++) {
            done = vv_step_table_find(&table, i) != NULL;
        }
        done = done && vv_step_table_sort(&table);
        bool failed = vv_sim_memory_failed();
        assert_true(done == !failed);
        for (int64_t i = 0; i < 1000; i++) { /* what failed leaves the table usable */
            assert_non_null(vv_step_table_find(&table, i));
        }
        assert_int_equal(table.n, 1000);
        vv_step_table_clear(&spec, &table);
        if (!failed) {
            break;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folds_are_found_again),
        cmocka_unit_test(an_empty_table_sorts),
        cmocka_unit_test(memory_that_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
