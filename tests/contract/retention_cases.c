/* SPDX-License-Identifier: Apache-2.0 */
/* Retention: what expires when, and what a change of it does to what is stored. */
#include "contract.h"

#include "base/random.h"
#include "store/era.h"

#define DAY0 100 /* the bucket's day in most cases */

static const int64_t bucket_end = (DAY0 + 1) * VV_DAY;

/* The longest that a block can outlive its retention. */
static int64_t era_length(int64_t retention_ns)
{
    return vv_era_length_s(vv_era_retention_s(retention_ns), 8) * VV_SECOND;
}

static uint64_t eras_expired(struct contract *c)
{
    struct vv_store_figures figures;
    c->store->ops->read_figures(c->store, &figures);
    return figures.eras_expired;
}

static void nothing_expires_before_the_retention(void **state)
{
    struct contract *c = *state;
    static const int64_t retentions[] = {VV_MINUTE, VV_HOUR, 7 * VV_DAY, 7 * VV_DAY + 1,
                                         365 * VV_DAY};
    for (uint32_t i = 0; i < 5; i++) {
        struct vv_span_key key = span_of(i, 1, DAY0, 23);
        set_retention(c, i, retentions[i]);
        put_block(c, &key, "a");
    }
    for (uint32_t i = 0; i < 5; i++) {
        struct vv_span_key key = span_of(i, 1, DAY0, 23);
        expire(c, bucket_end + retentions[i] - 1);
        assert_true(has_block(c, &key));
    }
}

static void eras_expire_as_a_whole_soon_after_the_retention(void **state)
{
    struct contract *c = *state;
    static const int64_t retentions[] = {VV_MINUTE, VV_HOUR, 7 * VV_DAY, 7 * VV_DAY + 1,
                                         365 * VV_DAY};
    for (uint32_t i = 0; i < 5; i++) {
        struct vv_span_key key = span_of(1, 1, DAY0, 23);
        struct vv_span_key later = span_of(1, 1, DAY0 + 1000, 0);
        set_retention(c, 1, retentions[i]);
        put_block(c, &key, "a");
        put_block(c, &later, "b");
        uint64_t before = eras_expired(c);
        expire(c, bucket_end + retentions[i] + VV_SECOND + era_length(retentions[i]));
        assert_false(has_block(c, &key));
        assert_true(has_block(c, &later));
        assert_int_equal(eras_expired(c), before + 1);
    }
}

static void without_a_retention_blocks_stay_for_ever(void **state)
{
    struct contract *c = *state;
    struct vv_span_key never_set = span_of(1, 1, -50000, 3);
    struct vv_span_key set_to_0 = span_of(2, 1, -50000, 3);
    set_retention(c, 2, VV_DAY);
    set_retention(c, 2, 0);
    put_block(c, &never_set, "a");
    put_block(c, &set_to_0, "b");
    expire(c, VV_TIME_MAX);
    expire(c, INT64_MAX);
    assert_true(has_block(c, &never_set));
    assert_true(has_block(c, &set_to_0));
    assert_int_equal(eras_expired(c), 0);
}

static void runs_and_marks_do_not_expire(void **state)
{
    struct contract *c = *state;
    struct vv_span_key key = span_of(1, 1, DAY0, 3);
    set_retention(c, 1, VV_HOUR);
    put_run(c, &key, 1, 0, "r");
    put_block(c, &key, "b");
    put_mark(c, &key, 5, 1);
    expire(c, bucket_end + VV_DAY);
    assert_string_equal(pieces_text(c, &key.partition), "R3.1.0=r");
    assert_string_equal(marks_text(c, 5, NULL), "5/1.3=1");
}

static void a_negative_retention_is_refused(void **state)
{
    struct contract *c = *state;
    assert_int_equal(c->store->ops->set_retention(c->store, 1, -1, NULL), VV_INVALID);
}

/* Long and short buckets share eras; each counts from its own end. */
static void buckets_of_all_lengths_keep_the_retention(void **state)
{
    struct contract *c = *state;
    static const int64_t lengths[] = {VV_MINUTE, VV_HOUR, VV_DAY, 90 * VV_DAY, VV_BUCKET_NS_MAX};
    int64_t retention = 30 * VV_DAY;
    set_retention(c, 1, retention);
    for (uint32_t i = 0; i < 5; i++) {
        int64_t start = vv_time_floor(DAY0 * VV_DAY, lengths[i]);
        struct vv_span_key key = {{1, i, start, lengths[i], 0, 0}, 1, start};
        put_block(c, &key, "a");
    }
    for (int64_t now = DAY0 * VV_DAY; now < 900 * VV_DAY; now += 9 * VV_HOUR) {
        expire(c, now);
        for (uint32_t i = 0; i < 5; i++) {
            int64_t start = vv_time_floor(DAY0 * VV_DAY, lengths[i]);
            struct vv_span_key key = {{1, i, start, lengths[i], 0, 0}, 1, start};
            int64_t end = start + lengths[i];
            bool has = has_block(c, &key);
            assert_true(has || now >= end + retention);
            assert_true(!has || now < end + retention + era_length(retention) + VV_SECOND);
        }
    }
}

static void nothing_is_kept_for_1_ns_however_long_the_bucket(void **state)
{
    struct contract *c = *state;
    int64_t day = DAY0 * VV_DAY;
    struct vv_span_key key = {{1, 1, day, 364 * VV_DAY, 0, 0}, 1, day};
    struct vv_span_key later = {{1, 2, day, 364 * VV_DAY, 0, 0}, 1, day};
    struct vv_span_key other = {{2, 1, day, 364 * VV_DAY, 0, 0}, 1, day};
    set_retention(c, 2, VV_SECOND); /* the shortest that is one */
    put_block(c, &key, "a");
    put_block(c, &other, "b");
    set_retention(c, 1, 1);
    expire(c, day + VV_HOUR);
    assert_false(has_block(c, &key));
    put_block(c, &later, "c");
    expire(c, day + VV_HOUR);
    assert_false(has_block(c, &later));
    set_retention(c, 1, 0);
    expire(c, day + VV_HOUR);
    assert_false(has_block(c, &key));
    assert_false(has_block(c, &later));
    assert_true(has_block(c, &other));
    put_block(c, &key, "d");
    expire(c, day + VV_HOUR);
    assert_true(has_block(c, &key));
}

/* ---- changes */

static void a_longer_retention_keeps_what_is_stored(void **state)
{
    struct contract *c = *state;
    struct vv_span_key key = span_of(1, 1, DAY0, 3);
    struct vv_span_key other = span_of(2, 1, DAY0, 3);
    set_retention(c, 1, 2 * VV_DAY);
    set_retention(c, 2, 2 * VV_DAY);
    put_block(c, &key, "a");
    put_block(c, &other, "b");
    set_retention(c, 1, 60 * VV_DAY);
    assert_string_equal(pieces_text(c, &key.partition), "B3.0=a");
    expire(c, bucket_end + 10 * VV_DAY);
    assert_string_equal(pieces_text(c, &key.partition), "B3.0=a");
    assert_false(has_block(c, &other));
    expire(c, bucket_end + 60 * VV_DAY - 1);
    assert_true(has_block(c, &key));
    expire(c, bucket_end + 60 * VV_DAY + era_length(60 * VV_DAY));
    assert_false(has_block(c, &key));
}

/* The old class's era is due while the tenant's blocks still wait there to be moved. */
static void what_waits_to_be_moved_does_not_expire_with_its_old_era(void **state)
{
    struct contract *c = *state;
    static const char *const parts[] = {"1", "2", "3"};
    set_retention(c, 1, 2 * VV_DAY);
    for (uint32_t source = 0; source < 20; source++) {
        struct vv_span_key key = span_of(1, source, DAY0, 3);
        put_span(c, &key, 3, parts);
    }
    set_retention(c, 1, 60 * VV_DAY);
    bool more = true;
    int calls = 0;
    while (more) {
        assert_ok(c->store->ops->expire(c->store, bucket_end + 10 * VV_DAY, 1, &more, NULL));
        calls++;
        for (uint32_t source = 0; source < 20; source++) {
            struct vv_partition partition = partition_of(1, source, DAY0);
            assert_string_equal(pieces_text(c, &partition), "B3.0=1 B3.1=2 B3.2=3");
        }
    }
    assert_true(calls > 10); /* about work_bytes each */
}

static void a_shorter_retention_frees_what_is_stored(void **state)
{
    struct contract *c = *state;
    struct vv_span_key old = span_of(1, 1, DAY0, 3);
    struct vv_span_key recent = span_of(1, 1, DAY0 + 20, 3);
    struct vv_span_key other = span_of(2, 1, DAY0, 3);
    put_block(c, &old, "a");
    put_block(c, &recent, "b");
    put_block(c, &other, "c");
    int64_t now = (DAY0 + 21) * VV_DAY;
    expire(c, now);
    set_retention(c, 1, 7 * VV_DAY);
    expire(c, now);
    assert_false(has_block(c, &old));
    assert_true(has_block(c, &recent));
    assert_true(has_block(c, &other));
    expire(c, now + 7 * VV_DAY - 1);
    assert_true(has_block(c, &recent));
    expire(c, now + 7 * VV_DAY + era_length(7 * VV_DAY));
    assert_false(has_block(c, &recent));
    assert_true(has_block(c, &other));
}

static void a_retention_is_durable_when_the_call_returns(void **state)
{
    struct contract *c = *state;
    struct vv_span_key key = span_of(1, 1, DAY0, 3);
    set_retention(c, 1, 7 * VV_DAY);
    contract_crash(c, 1);
    put_block(c, &key, "a");
    contract_crash(c, 2);
    expire(c, bucket_end + 30 * VV_DAY);
    assert_false(has_block(c, &key));
    put_block(c, &key, "b");
    set_retention(c, 1, 0);
    contract_crash(c, 3);
    expire(c, bucket_end + 3000 * VV_DAY);
    assert_true(has_block(c, &key));
}

/* Back and forth, with blocks replaced and removed in every state of the move. */
static void the_newest_blocks_hold_while_a_tenant_moves(void **state)
{
    struct contract *c = *state;
    static const int64_t classes[] = {0, 7 * VV_DAY, 0, 30 * VV_DAY, 7 * VV_DAY, 0};
    static const char *const two[] = {"old", "old2"};
    int64_t now = bucket_end;
    for (int steps = 0; steps < 4; steps++) {
        for (uint32_t source = 0; source < 12; source++) {
            struct vv_span_key key = span_of(1, source, DAY0, 3);
            put_span(c, &key, 2, two);
        }
        for (int i = 1; i < 6; i++) {
            set_retention(c, 1, classes[i]);
            bool more;
            for (int step = 0; step < steps; step++) {
                assert_ok(c->store->ops->expire(c->store, now, 200, &more, NULL));
            }
            struct vv_span_key replaced = span_of(1, (uint32_t)i, DAY0, 3);
            struct vv_span_key removed = span_of(1, (uint32_t)i + 6, DAY0, 3);
            put_block(c, &replaced, "new");
            put_span(c, &removed, 0, NULL);
            contract_crash(c, (uint64_t)i);
        }
        for (int end = 0; end < 2; end++) {
            for (uint32_t source = 0; source < 12; source++) {
                struct vv_partition partition = partition_of(1, source, DAY0);
                bool replaced = source >= 1 && source <= 5;
                bool removed = source >= 7 && source <= 11;
                assert_string_equal(pieces_text(c, &partition), removed    ? ""
                                                                : replaced ? "B3.0=new"
                                                                           : "B3.0=old B3.1=old2");
            }
            expire(c, now);
        }
    }
}

static void a_retention_may_change_again_and_again(void **state)
{
    struct contract *c = *state;
    for (int i = 1; i < 40; i++) {
        struct vv_span_key key = span_of(1, (uint32_t)i, DAY0, 3);
        put_block(c, &key, "a");
        set_retention(c, 1, i * 7 * VV_DAY);
    }
    expire(c, bucket_end + 38 * 7 * VV_DAY);
    set_retention(c, 1, 400 * VV_DAY);
    expire(c, bucket_end + 400 * VV_DAY - 1);
    for (uint32_t source = 1; source < 40; source++) {
        struct vv_span_key key = span_of(1, source, DAY0, 3);
        assert_true(has_block(c, &key));
    }
}

static void figures_count_eras(void **state)
{
    struct contract *c = *state;
    struct vv_store_figures figures;
    c->store->ops->read_figures(c->store, &figures);
    assert_int_equal(figures.eras, 0);
    struct vv_span_key a = span_of(1, 1, DAY0, 3);
    struct vv_span_key b = span_of(1, 1, DAY0 + 100, 3);
    struct vv_span_key ever = span_of(2, 1, DAY0, 3);
    set_retention(c, 1, 7 * VV_DAY);
    put_block(c, &a, "a");
    put_block(c, &b, "b");
    put_block(c, &ever, "c");
    c->store->ops->read_figures(c->store, &figures);
    assert_int_equal(figures.eras, 3);
    assert_int_equal(figures.eras_expired, 0);
    assert_true(figures.memory_bytes > 0);
    expire(c, bucket_end + 20 * VV_DAY);
    c->store->ops->read_figures(c->store, &figures);
    assert_int_equal(figures.eras, 2);
    assert_int_equal(figures.eras_expired, 1);
    if ((c->backend->abilities & IS_EMBEDDED)) {
        assert_true(figures.disk_bytes > 0);
        assert_true(figures.files > 0);
    }
}

static uint64_t disk_bytes(struct contract *c)
{
    struct vv_store_figures figures;
    c->store->ops->read_figures(c->store, &figures);
    return figures.disk_bytes;
}

/* The disk of a tenant that left is freed, though another one's blocks lie in the same era. */
static void space_is_freed_beside_others(void **state)
{
    struct contract *c = *state;
    static char bytes[100000];
    struct vv_random random = {.state = 5};
    for (uint32_t i = 0; i < 100; i++) {
        for (size_t at = 0; at < sizeof bytes; at++) {
            bytes[at] = (char)vv_random_next(&random);
        }
        for (uint32_t tenant = 1; tenant <= 2; tenant++) {
            const struct vv_piece block = {
                VV_PIECE_BLOCK, span_of(tenant, i, DAY0, 3), 0, 0, {bytes, sizeof bytes}, 0, 0};
            assert_ok(c->store->ops->put_blocks(c->store, &block, 1, NULL));
        }
    }
    assert_true(disk_bytes(c) > 190 * sizeof bytes);
    set_retention(c, 1, 7 * VV_DAY);
    expire(c, bucket_end + 100 * VV_DAY);
    contract_crash(c, 1); /* what is still to be freed is not forgotten */
    for (int i = 0; i < 1000000 && disk_bytes(c) > 110 * sizeof bytes; i++) {
        expire(c, bucket_end + 100 * VV_DAY);
    }
    assert_true(disk_bytes(c) < 110 * sizeof bytes);
    for (uint32_t i = 0; i < 100; i++) {
        struct vv_span_key gone = span_of(1, i, DAY0, 3);
        struct vv_span_key kept = span_of(2, i, DAY0, 3);
        assert_false(has_block(c, &gone));
        assert_true(has_block(c, &kept));
    }
}

const struct contract_case retention_cases[] = {
    CONTRACT_CASE(nothing_expires_before_the_retention),
    CONTRACT_CASE_NEEDS(EXPIRES_BY_CALL, eras_expire_as_a_whole_soon_after_the_retention),
    CONTRACT_CASE(without_a_retention_blocks_stay_for_ever),
    CONTRACT_CASE_NEEDS(EXPIRES_BY_CALL, runs_and_marks_do_not_expire),
    CONTRACT_CASE(a_negative_retention_is_refused),
    CONTRACT_CASE_NEEDS(EXPIRES_BY_CALL, buckets_of_all_lengths_keep_the_retention),
    CONTRACT_CASE_NEEDS(IS_EMBEDDED, nothing_is_kept_for_1_ns_however_long_the_bucket),
    CONTRACT_CASE_NEEDS(EXPIRES_BY_CALL, a_longer_retention_keeps_what_is_stored),
    CONTRACT_CASE_NEEDS(EXPIRES_BY_CALL, what_waits_to_be_moved_does_not_expire_with_its_old_era),
    CONTRACT_CASE_NEEDS(EXPIRES_BY_CALL, a_shorter_retention_frees_what_is_stored),
    CONTRACT_CASE_NEEDS(EXPIRES_BY_CALL, a_retention_is_durable_when_the_call_returns),
    CONTRACT_CASE(the_newest_blocks_hold_while_a_tenant_moves),
    CONTRACT_CASE(a_retention_may_change_again_and_again),
    CONTRACT_CASE_NEEDS(EXPIRES_BY_CALL, figures_count_eras),
    CONTRACT_CASE_NEEDS(IS_EMBEDDED, space_is_freed_beside_others),
    {0},
};
