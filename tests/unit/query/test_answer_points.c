/* SPDX-License-Identifier: Apache-2.0 */
/* Points: against a naive model, the shapes of the answers, and how little is read. */
#include "query_model.h"

#define SEEDS    12
#define REQUESTS 40

static void points_equal_a_naive_model(void **state)
{
    (void)state;
    static struct model m;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        model_init(&m, seed);
        for (int i = 0; i < REQUESTS; i++) {
            int group = vv_random_below(&m.random, 2) ? MODEL_WITH_SITE : 0;
            struct model_query q = model_request(&m, false, group);
            model_write_words(&q);
            model_print(seed, &q);
            model_check(&m, &q);
        }
        fixture_deinit(&m.f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(points_equal_a_naive_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
