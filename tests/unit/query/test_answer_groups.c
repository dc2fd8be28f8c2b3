/* SPDX-License-Identifier: Apache-2.0 */
/* Aggregates over groups of sources: against a naive model, bounds of memory. */
#include "query_model.h"

#define SEEDS    8
#define REQUESTS 60

static void groups_equal_a_naive_model(void **state)
{
    (void)state;
    static struct model m;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        model_init(&m, seed + 200);
        for (int i = 0; i < REQUESTS; i++) {
            int group = vv_random_below(&m.random, 2) ? MODEL_ALL : MODEL_BY_SITE;
            struct model_query q = model_request(&m, true, group);
            model_write_words(&q);
            model_print(seed, &q);
            model_check(&m, &q);
        }
        fixture_deinit(&m.f);
    }
}

int main(void)
{
    setenv("TZ", "Europe/Berlin", 1);
    tzset();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_equal_a_naive_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
