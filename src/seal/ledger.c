/* SPDX-License-Identifier: Apache-2.0 */
/* When a span is due. */
#include "seal/ledger.h"

#include "base/random.h"

struct vv_mark vv_ledger_mark(const struct vv_ledger_rule *rule, const struct vv_span_key *key,
                              int64_t span_ns, vv_stamp run)
{
    int64_t spread = rule->spread_ns ? rule->spread_ns : span_ns;
    struct vv_random random = {key->partition.source};
    int64_t wait = rule->lateness_ns;
    if (spread > 0) {
        wait += (int64_t)vv_random_below(&random, (uint64_t)spread);
    }
    return (struct vv_mark){
        .due_ns = key->span_start + span_ns + wait, .key = *key, .span_ns = span_ns, .run = run};
}

int64_t vv_ledger_fold(const struct vv_ledger_rule *rule, int64_t now_ns)
{
    vv_invariant(rule->fold_every_ns > 0);
    return vv_time_floor(now_ns - rule->fold_at_ns, rule->fold_every_ns) + rule->fold_at_ns +
           rule->fold_every_ns;
}

bool vv_ledger_quiet(const struct vv_ledger_rule *rule, const struct vv_mark *mark, int64_t now_ns)
{
    int64_t last_run_ns = (int64_t)vv_stamp_clock_us(mark->run) * 1000;
    int64_t age = now_ns - last_run_ns;
    /* A clock that went back must not hold a span up for longer than the quiet time itself. */
    return age >= rule->quiet_ns || age < -rule->quiet_ns ||
           mark->due_ns <= now_ns - rule->overdue_ns - rule->quiet_ns;
}
