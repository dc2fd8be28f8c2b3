/* SPDX-License-Identifier: Apache-2.0 */
/* Eras: arithmetic in whole seconds, where no sum of stored times can overflow. */
#include "store/era.h"

#define MINUTE_S INT64_C(60)

/* Eras of the class that keeps for ever: from 1999 to 2100, and one on either side. */
#define EVER_LENGTH_S (90 * 24 * 60 * MINUTE_S)
#define EVER_FIRST_S  (121 * EVER_LENGTH_S)
#define EVER_LAST_S   (528 * EVER_LENGTH_S)
#define EVER_BEFORE_S (-UNBOUNDED_S)
#define UNBOUNDED_S   INT64_C(10000000000) /* beyond all times in nanoseconds */

static int64_t seconds_down(int64_t ns)
{
    return ns / VV_SECOND - (ns % VV_SECOND < 0 ? 1 : 0);
}

static int64_t seconds_up(int64_t ns)
{
    return ns / VV_SECOND + (ns % VV_SECOND > 0 ? 1 : 0);
}

/* The end of the whole bucket: a plan may have cut it short, which can only be earlier. */
static int64_t bucket_end_s(const struct vv_partition *partition)
{
    int64_t end;
    if (__builtin_add_overflow(partition->bucket_start, partition->bucket_ns, &end)) {
        end = INT64_MAX;
    }
    return seconds_up(end);
}

int64_t vv_era_retention_s(int64_t retention_ns)
{
    if (retention_ns <= 1) {
        return retention_ns == 1 ? VV_ERA_NOTHING_S : 0;
    }
    int64_t retention_s = seconds_up(retention_ns);
    return retention_s > VV_ERA_NOTHING_S ? retention_s : VV_ERA_NOTHING_S + 1;
}

int64_t vv_era_length_s(int64_t retention_s, int eras)
{
    if (retention_s == 0) {
        return EVER_LENGTH_S;
    }
    int64_t length = (retention_s + eras - 1) / eras;
    return (length + MINUTE_S - 1) / MINUTE_S * MINUTE_S;
}

static int64_t end_s(const struct vv_era *era, int eras)
{
    if (era->retention_s == 0 && era->start_s < EVER_FIRST_S) {
        return EVER_FIRST_S;
    }
    if (era->retention_s == 0 && era->start_s >= EVER_LAST_S) {
        return UNBOUNDED_S;
    }
    return era->start_s + vv_era_length_s(era->retention_s, eras);
}

struct vv_era vv_era_of(int64_t retention_s, int eras, const struct vv_partition *partition)
{
    int64_t length_s = vv_era_length_s(retention_s, eras);
    int64_t start_s = vv_time_floor(bucket_end_s(partition) - 1, length_s);
    if (retention_s == 0 && start_s < EVER_FIRST_S) {
        start_s = EVER_BEFORE_S;
    }
    if (retention_s == 0 && start_s > EVER_LAST_S) {
        start_s = EVER_LAST_S;
    }
    return (struct vv_era){.retention_s = retention_s, .start_s = start_s};
}

bool vv_era_expired(const struct vv_era *era, int eras, int64_t now_ns)
{
    return era->retention_s == VV_ERA_NOTHING_S ||
           (era->retention_s > 0 && seconds_down(now_ns) - era->retention_s >= end_s(era, eras));
}

bool vv_era_over(const struct vv_era *era, int eras, int64_t now_ns)
{
    return seconds_down(now_ns) >= end_s(era, eras);
}

bool vv_era_bucket_expired(const struct vv_partition *partition, int64_t retention_s,
                           int64_t now_ns)
{
    return retention_s == VV_ERA_NOTHING_S ||
           (retention_s > 0 && seconds_down(now_ns) - retention_s >= bucket_end_s(partition));
}

bool vv_era_may_hold(const struct vv_era *era, int eras, int64_t bucket_ns_max, int64_t from,
                     int64_t to)
{
    return end_s(era, eras) > seconds_down(from) &&
           era->start_s - seconds_up(bucket_ns_max) <= seconds_up(to);
}

int vv_era_count(int eras)
{
    if (eras == 0) {
        return VV_ERAS_DEFAULT;
    }
    return eras < VV_ERAS_MIN ? VV_ERAS_MIN : eras > VV_ERAS_MAX ? VV_ERAS_MAX : eras;
}
