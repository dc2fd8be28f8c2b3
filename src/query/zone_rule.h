/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rule at the end of a TZif file, a POSIX TZ text such as "CET-1CEST,M3.5.0,M10.5.0/3": what
 * holds after the last listed change. Private to src/query. Pure functions, any thread.
 */
#ifndef VV_QUERY_ZONE_RULE_H
#define VV_QUERY_ZONE_RULE_H

#include "base/bytes.h"

enum vv_zone_date_kind {
    VV_ZONE_DATE_JULIAN,  /* Jn: 1 … 365, 29 February never counted */
    VV_ZONE_DATE_ORDINAL, /* n: 0 … 365, 29 February counted */
    VV_ZONE_DATE_WEEKDAY, /* Mm.w.d */
};

struct vv_zone_date {
    enum vv_zone_date_kind kind;
    int day;             /* of the year, or of the week (0 = Sunday) */
    int month;           /* 1 … 12 */
    int week;            /* 1 … 5; 5 is the last */
    int32_t time_of_day; /* seconds of local time, −167 h … 167 h */
};

struct vv_zone_rule {
    int32_t standard; /* local minus UTC, seconds */
    bool has_summer;
    int32_t summer;
    struct vv_zone_date begin; /* of summer time, in standard time */
    struct vv_zone_date end;   /* in summer time */
};

/* False when the text is not such a rule. */
VV_MUST_CHECK bool vv_zone_rule_parse(struct vv_str text, struct vv_zone_rule *rule_out);

/* As vv_zone_offset, by the rule alone. */
int32_t vv_zone_rule_offset(const struct vv_zone_rule *rule, int64_t instant, int64_t *until_out);

#endif
