/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Eras: what expires at once. A retention class holds the blocks of all tenants with one retention;
 * it is cut into eras by the END of a block's bucket, so an era has expired exactly when its last
 * instant is older than the retention, whatever buckets it holds. Pure functions, any thread.
 *
 * All lengths are whole seconds: a retention is rounded up to one, an era to whole minutes. The
 * class of retention 0 keeps for ever; it has eras of 90 days, so that what is stored is not merged
 * with what comes years later. Its first and last era have no bound, so that times far off are few
 * eras.
 */
#ifndef VV_STORE_ERA_H
#define VV_STORE_ERA_H

#include "model/partition.h"

#define VV_ERAS_MIN     8
#define VV_ERAS_MAX     64
#define VV_ERAS_DEFAULT 16

/* The class of a retention of 1 ns, in which nothing is kept: what comes into it has expired,
 * however long its bucket lasts. No other retention rounds to it. */
#define VV_ERA_NOTHING_S 1

/* Holds blocks whose bucket ends after start_s and at or before its end. */
struct vv_era {
    int64_t retention_s;
    int64_t start_s;
};

/* The number that a store uses when its options say eras: the default for 0, else within bounds. */
int vv_era_count(int eras);

/* Whole seconds, rounded up; at least 2 unless retention_ns is 0 or 1. */
int64_t vv_era_retention_s(int64_t retention_ns);

/* An era's length in a class. */
int64_t vv_era_length_s(int64_t retention_s, int eras);

/* Where a partition's blocks lie. */
struct vv_era vv_era_of(int64_t retention_s, int eras, const struct vv_partition *partition);

/* Every bucket of the era ended at least the retention ago, or nothing is kept. */
bool vv_era_expired(const struct vv_era *era, int eras, int64_t now_ns);

/* Every bucket of the era has ended. */
bool vv_era_over(const struct vv_era *era, int eras, int64_t now_ns);

/* The partition's bucket ended at least the retention ago, or nothing is kept. */
bool vv_era_bucket_expired(const struct vv_partition *partition, int64_t retention_s,
                           int64_t now_ns);

/* The era can hold a bucket that starts in [from, to], both inclusive, when no bucket is longer
 * than bucket_ns_max. */
bool vv_era_may_hold(const struct vv_era *era, int eras, int64_t bucket_ns_max, int64_t from,
                     int64_t to);

#endif
