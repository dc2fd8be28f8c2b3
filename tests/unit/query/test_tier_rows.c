/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a tier's step is a row of the answer, rows are written from it as it is; but not where the
 * row has another part, at the end of what was read before or at the start of what comes next.
 */
#include "tier_place.h"

#define ROW_HOURS 7 /* divides no day: rows go across the ends of units */

/* Each row has its first hour, a third of them another one. */
static void write_sparse(struct place *p)
{
    int64_t row = vv_time_ceil(START, ROW_HOURS * VV_HOUR);
    for (int i = 0; row < START + DAYS * VV_DAY; i++, row += ROW_HOURS * VV_HOUR) {
        fixture_point(&p->f, p->sources[0], p->metrics[2], row + 61 * VV_SECOND, 1 + i % 10);
        fixture_point(&p->f, p->sources[0], p->metrics[2], row + 62 * VV_SECOND, 2 + i % 7);
        if (i % 3 == 0) {
            int64_t later = row + (1 + i / 3 % (ROW_HOURS - 1)) * VV_HOUR;
            fixture_point(&p->f, p->sources[0], p->metrics[2], later + VV_SECOND, 100 + i);
        }
    }
    fixture_flush(&p->f);
}

static void check_all(struct place *p, const char *aggregates)
{
    static const char *const steps[] = {"step=1h", "step=2h", "step=7h", "step=14h", "step=1d"};
    static const char *const more[] = {"order=asc", "order=desc", "fill=zero", "limit=5"};
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        for (size_t j = 0; j < sizeof more / sizeof more[0]; j++) {
            printf("%s %s %s\n", steps[i], more[j], aggregates);
            check_same(p, ASK("from=2024-09-14T00:00:00Z", "to=2024-10-02T00:00:00Z", "source=a",
                              "metric=pump.flow", steps[i], more[j], aggregates));
        }
    }
}

static void rows_that_are_steps_of_a_tier_are_as_of_raw_points(void **state)
{
    (void)state;
    struct place p;
    place_name(&p);
    tiers_init(&p.t, &p.f);
    write_sparse(&p);
    build(&p, VV_SPACE_HOUR, START, START + DAYS * VV_DAY);
    check_all(&p, "agg=count");
    check_all(&p, "agg=mean,max,last");
    check_all(&p, ALL_AGG);
    assert_true(steps_of(&p, VV_SPACE_HOUR) > 0);
    /* Days that are missing are gaps, which rows go into as well. */
    tiers_soil(&p.t, p.sources[0], p.pump, START + 3 * VV_DAY);
    tiers_soil(&p.t, p.sources[0], p.pump, START + 8 * VV_DAY);
    check_all(&p, "agg=count,sum,stddev");
    place_deinit(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_that_are_steps_of_a_tier_are_as_of_raw_points),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
