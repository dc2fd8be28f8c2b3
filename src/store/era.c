/* SPDX-License-Identifier: Apache-2.0 */
/* Eras: arithmetic in whole seconds, where no sum of stored times can overflow. */
#include "store/era.h"

#define MINUTE_S INT64_C(60)

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
    return retention_ns > 0 ? seconds_up(retention_ns) : 0;
}

int64_t vv_era_length_s(int64_t retention_s, int eras)
{
    int64_t length = (retention_s + eras - 1) / eras;
    return (length + MINUTE_S - 1) / MINUTE_S * MINUTE_S;
}

struct vv_era vv_era_of(int64_t retention_s, int eras, const struct vv_partition *partition)
{
    struct vv_era era = {.retention_s = retention_s, .start_s = 0};
    if (retention_s > 0) {
        era.start_s =
            vv_time_floor(bucket_end_s(partition) - 1, vv_era_length_s(retention_s, eras));
    }
    return era;
}

bool vv_era_expired(const struct vv_era *era, int eras, int64_t now_ns)
{
    if (era->retention_s == 0) {
        return false;
    }
    int64_t end_s = era->start_s + vv_era_length_s(era->retention_s, eras);
    return seconds_down(now_ns) - era->retention_s >= end_s;
}

bool vv_era_bucket_expired(const struct vv_partition *partition, int64_t retention_s,
                           int64_t now_ns)
{
    return retention_s > 0 && seconds_down(now_ns) - retention_s >= bucket_end_s(partition);
}

bool vv_era_may_hold(const struct vv_era *era, int eras, int64_t bucket_ns_max, int64_t from,
                     int64_t to)
{
    if (era->retention_s == 0) {
        return true;
    }
    int64_t end_s = era->start_s + vv_era_length_s(era->retention_s, eras);
    return end_s > seconds_down(from) && era->start_s - seconds_up(bucket_ns_max) <= seconds_up(to);
}

int vv_era_count(int eras)
{
    if (eras == 0) {
        return VV_ERAS_DEFAULT;
    }
    return eras < VV_ERAS_MIN ? VV_ERAS_MIN : eras > VV_ERAS_MAX ? VV_ERAS_MAX : eras;
}
