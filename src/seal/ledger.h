/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ledger's rule: when a span is due to be sealed. Pure; any thread.
 *
 * A span is due when its end and the lateness have passed; sources are spread over the following
 * span, so that not all of them are sealed in the same second. The moment depends on the span and
 * the source only, so each new run renews the same mark.
 */
#ifndef VV_SEAL_LEDGER_H
#define VV_SEAL_LEDGER_H

#include "store/store.h"

struct vv_ledger_rule {
    int64_t lateness_ns; /* after the span's end */
    int64_t spread_ns;   /* 0: over the length of a span */
    int64_t quiet_ns;    /* no new run for this long … */
    int64_t overdue_ns;  /* … unless it has been due for this long: then it is sealed anyway */
    /* Late points that are kept apart are folded at multiples of the one, moved by the other. */
    int64_t fold_every_ns; /* 0: there are none */
    int64_t fold_at_ns;
};

struct vv_mark vv_ledger_mark(const struct vv_ledger_rule *rule, const struct vv_span_key *key,
                              int64_t span_ns, vv_stamp run);

/* The next time, later than now, at which late points are folded; for a rule that has one. */
int64_t vv_ledger_fold(const struct vv_ledger_rule *rule, int64_t now_ns);

/* Whether the due mark is quiet (or overdue) at now. */
bool vv_ledger_quiet(const struct vv_ledger_rule *rule, const struct vv_mark *mark, int64_t now_ns);

#endif
