/* SPDX-License-Identifier: Apache-2.0 */
/* Aggregates by source: against a naive model, and the semantics that are easy to get wrong. */
#include "query_model.h"

#define SEEDS    10
#define REQUESTS 60

static void steps_equal_a_naive_model(void **state)
{
    (void)state;
    static struct model m;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        model_init(&m, seed + 100);
        for (int i = 0; i < REQUESTS; i++) {
            int group = vv_random_below(&m.random, 4) ? 0 : MODEL_WITH_SITE;
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
        cmocka_unit_test(steps_equal_a_naive_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
