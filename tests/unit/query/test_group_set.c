/* SPDX-License-Identifier: Apache-2.0 */
/* Groups: what belongs together, in which order, and memory that runs out. */
#include "base/random.h"
#include "query/group_set.h"
#include "simulation/sim_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define SEED    71
#define SOURCES 2000

static bool add(struct vv_group_set *set, uint32_t source)
{
    char a[16];
    char b[16];
    snprintf(a, sizeof a, "%u", source % 7);
    snprintf(b, sizeof b, "%s", source % 3 ? "x" : "");
    struct vv_str values[] = {vv_str_of(a), vv_str_of(b)};
    return vv_group_set_add(set, values);
}

static void sources_of_a_group_stand_together(void **state)
{
    (void)state;
    struct vv_group_set set = {.n_tags = 2, .seed = SEED};
    static uint32_t sources[SOURCES];
    for (uint32_t i = 0; i < SOURCES; i++) {
        sources[i] = i * 5 + 1;
        assert_true(add(&set, sources[i]));
    }
    assert_int_equal(set.n_groups, 14);
    assert_true(vv_group_set_order(&set, sources));
    size_t next = 0;
    for (size_t g = 0; g < set.n_groups; g++) {
        const struct vv_group *group = &set.groups[g];
        assert_int_equal(group->first, next);
        next += group->n;
        if (g > 0) {
            const struct vv_group *before = &set.groups[g - 1];
            int order = vv_str_compare(before->values[0], group->values[0]);
            assert_true(order < 0 ||
                        (order == 0 && vv_str_compare(before->values[1], group->values[1]) < 0));
        }
        for (size_t i = 0; i < group->n; i++) {
            uint32_t source = sources[group->first + i];
            assert_true(i == 0 || source > sources[group->first + i - 1]);
            assert_int_equal(group->values[0].data[0], '0' + source % 7);
            assert_int_equal(group->values[1].size, source % 3 ? 1 : 0);
        }
    }
    assert_int_equal(next, SOURCES);
    vv_group_set_deinit(&set);
}

static void no_tags_make_one_group(void **state)
{
    (void)state;
    struct vv_group_set set = {0};
    uint32_t sources[3] = {5, 6, 7};
    for (int i = 0; i < 3; i++) {
        assert_true(vv_group_set_add(&set, NULL));
    }
    assert_true(vv_group_set_order(&set, sources));
    assert_int_equal(set.n_groups, 1);
    assert_int_equal(set.groups[0].n, 3);
    assert_int_equal(sources[2], 7);
    vv_group_set_deinit(&set);
    assert_true(vv_group_set_order(&set, sources)); /* none at all */
    vv_group_set_deinit(&set);
}

/* Parts must not be mistaken for each other: ("a", "") and ("", "a"). */
static void values_are_kept_apart(void **state)
{
    (void)state;
    struct vv_group_set set = {.n_tags = 2};
    struct vv_str left[] = {VV_STR_LITERAL("a"), VV_STR_LITERAL("")};
    struct vv_str right[] = {VV_STR_LITERAL(""), VV_STR_LITERAL("a")};
    assert_true(vv_group_set_add(&set, left));
    assert_true(vv_group_set_add(&set, right));
    assert_int_equal(set.n_groups, 2);
    vv_group_set_deinit(&set);
}

static void memory_that_runs_out(void **state)
{
    (void)state;
    for (uint64_t k = 1;; k++) {
        struct vv_group_set set = {.n_tags = 2};
        static uint32_t sources[SOURCES];
        bool done = true;
        vv_sim_memory_fail(k);
        for (uint32_t i = 0; i < SOURCES && done; i++) {
            sources[i] = i;
            done = add(&set, i);
        }
        done = done && vv_group_set_order(&set, sources);
        bool failed = vv_sim_memory_failed();
        assert_true(done == !failed);
        vv_group_set_deinit(&set);
        if (!failed) {
            break;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sources_of_a_group_stand_together),
        cmocka_unit_test(no_tags_make_one_group),
        cmocka_unit_test(values_are_kept_apart),
        cmocka_unit_test(memory_that_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
