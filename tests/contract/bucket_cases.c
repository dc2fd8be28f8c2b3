/* SPDX-License-Identifier: Apache-2.0 */
/* Reads of several buckets: what reads of one after the other give, but all runs first. */
#include "contract.h"

#include <string.h>

#define FIRST      100 /* the day of the first bucket that has something */
#define DAYS       15
#define FOUND_SIZE 16384

/* What was visited, runs and blocks apart: "<day>/<hour>.<run>.<part>=<bytes> …". */
struct found {
    char text[2][FOUND_SIZE];
    size_t size[2];
    uint32_t n;
    uint32_t stop_at; /* 0: never */
    enum vv_status stop_with;
    bool is_late; /* a run came behind a block */
};

static enum vv_status find_piece(void *context, const struct vv_piece *piece)
{
    struct found *found = context;
    int64_t start = piece->key.partition.bucket_start;
    size_t *size = &found->size[piece->kind];
    found->is_late |= piece->kind == VV_PIECE_RUN && found->size[VV_PIECE_BLOCK] > 0;
    int length = snprintf(found->text[piece->kind] + *size, FOUND_SIZE - *size,
                          " %lld/%lld.%llu.%u=%.*s", (long long)(start / VV_DAY),
                          (long long)((piece->key.span_start - start) / VV_HOUR),
                          (unsigned long long)piece->run, piece->part, VV_STR_ARG(piece->bytes));
    if (length < 0 || *size + (size_t)length >= FOUND_SIZE) {
        return VV_TOO_LARGE;
    }
    *size += (size_t)length;
    return ++found->n == found->stop_at ? found->stop_with : VV_OK;
}

static void clear(struct found *found)
{
    found->text[0][0] = found->text[1][0] = 0;
    found->size[0] = found->size[1] = 0;
    found->n = found->stop_at = 0;
    found->is_late = false;
}

static void find(struct contract *c, const struct vv_store_read *read, struct found *found)
{
    clear(found);
    assert_ok(c->store->ops->read(c->store, read, find_piece, found, NULL));
    assert_false(found->is_late);
}

static void find_one_by_one(struct contract *c, const struct vv_store_read *read,
                            struct found *found)
{
    clear(found);
    for (uint32_t i = 0; i < read->n_buckets; i++) {
        struct vv_store_read one = *read;
        one.partition.bucket_start += i * one.partition.bucket_ns;
        one.n_buckets = i % 2; /* none is one, too */
        assert_ok(c->store->ops->read(c->store, &one, find_piece, found, NULL));
    }
}

static struct vv_store_read read_of(int64_t day, uint32_t n_buckets)
{
    return (struct vv_store_read){.partition = partition_of(1, 1, day),
                                  .measurement = 1,
                                  .span_from = INT64_MIN,
                                  .span_to = INT64_MAX,
                                  .n_buckets = n_buckets};
}

static void check(struct contract *c, const struct vv_store_read *read)
{
    static struct found several;
    static struct found single;
    find(c, read, &several);
    find_one_by_one(c, read, &single);
    assert_string_equal(several.text[VV_PIECE_RUN], single.text[VV_PIECE_RUN]);
    assert_string_equal(several.text[VV_PIECE_BLOCK], single.text[VV_PIECE_BLOCK]);
}

/* Of all that the buckets have, from and up to the middle of the first and the last one, and less
 * than one of them. */
static void check_spans(struct contract *c, int64_t day, uint32_t n_buckets, bool heads_only)
{
    struct vv_store_read read = read_of(day, n_buckets);
    read.heads_only = heads_only;
    check(c, &read);
    read.span_from = day * VV_DAY + 4 * VV_HOUR;
    check(c, &read);
    read.span_to = (day + n_buckets - 1) * VV_DAY + 4 * VV_HOUR;
    check(c, &read);
    read.span_from = read.span_to - 2 * VV_HOUR;
    check(c, &read);
    read.span_to = read.span_from;
    check(c, &read);
}

static void check_all(struct contract *c)
{
    uint32_t max = c->store->ops->buckets_max;
    assert_true(max > 1);
    for (int64_t day = FIRST - 2; day < FIRST + DAYS; day++) {
        for (uint32_t n = 2; n <= max; n += n < 4 ? 1 : max / 4) {
            check_spans(c, day, n, false);
            check_spans(c, day, n, true);
        }
    }
}

/* ---- what is put ---- */

/* Two parts, with heads where they are cut. */
static void put_parts(struct contract *c, const struct vv_span_key *key, bool is_cut,
                      const char *text)
{
    const struct vv_piece pieces[] = {
        {VV_PIECE_BLOCK, *key, 0, 0, vv_str_of(text), 0, is_cut ? 3 : 0},
        {VV_PIECE_BLOCK, *key, 0, 1, vv_str_of(text), 0, is_cut ? 1 : 0},
    };
    assert_ok(c->store->ops->put_blocks(c->store, pieces, 2, NULL));
}

/* Beside a span: what reads of it are to pass over. */
static void put_beside(struct contract *c, const struct vv_span_key *key, bool is_cut)
{
    static const struct {
        int32_t tenant, source, split, measurement;
        int64_t shorter;
    } differences[] = {{1, 0, 0, 0, 0}, {0, 1, 0, 0, 0},  {0, -1, 0, 0, 0},     {0, 0, 1, 0, 0},
                       {0, 0, 0, 1, 0}, {0, 0, 0, -1, 0}, {0, 0, 0, 0, VV_HOUR}};
    for (size_t i = 0; i < sizeof differences / sizeof differences[0]; i++) {
        struct vv_span_key other = *key;
        other.partition.tenant += (uint32_t)differences[i].tenant;
        other.partition.source += (uint32_t)differences[i].source;
        other.partition.split = (uint16_t)(other.partition.split + differences[i].split);
        other.measurement += (uint32_t)differences[i].measurement;
        other.partition.bucket_ns -= differences[i].shorter;
        put_run(c, &other, 1, 0, "other run");
        put_parts(c, &other, is_cut, "other block");
    }
}

/* Some days have runs, some blocks, some both, some neither; some only what is of others. */
static void put_days(struct contract *c, bool cuts)
{
    static const struct {
        bool has_run, has_block, has_cut, has_others;
    } days[DAYS] = {
        {true, true, false, false},   {false, false, false, true},  {true, false, false, true},
        {false, false, false, false}, {false, true, true, true},    {true, true, false, true},
        {false, false, true, false},  {true, true, true, true},     {false, false, false, false},
        {false, false, false, false}, {false, false, false, false}, {false, false, true, true},
        {true, false, true, false},   {false, true, false, false},  {true, false, false, true},
    };
    for (int day = 0; day < DAYS; day++) {
        struct vv_span_key key = span_of(1, 1, FIRST + day, 1);
        char text[32];
        if (days[day].has_others) {
            put_beside(c, &key, cuts);
        }
        for (int hour = 1; hour < 6; hour += 2) {
            bool is_cut = days[day].has_cut && hour != 3;
            key = span_of(1, 1, FIRST + day, hour);
            snprintf(text, sizeof text, "%d/%d", day, hour);
            if (days[day].has_run) {
                put_run(c, &key, 1, 0, text);
                put_run(c, &key, 1, 1, text);
                put_run(c, &key, 7, 0, text);
            }
            if (days[day].has_block || is_cut) {
                snprintf(text, sizeof text, "head and tail of %d/%d", day, hour);
                put_parts(c, &key, cuts && is_cut, text);
            }
        }
    }
    confirm(c);
}

/* ---- cases ---- */

static void runs_of_all_buckets_come_before_their_blocks(void **state)
{
    struct contract *c = *state;
    struct found found;
    struct vv_span_key keys[4];
    for (int i = 0; i < 4; i++) {
        keys[i] = span_of(1, 1, FIRST + i, 3);
    }
    put_block(c, &keys[0], "a");
    put_run(c, &keys[0], 2, 0, "b");
    put_beside(c, &keys[1], false);
    put_block(c, &keys[3], "c");
    put_run(c, &keys[3], 1, 0, "d");
    put_run(c, &keys[2], 9, 1, "e");
    struct vv_store_read read = read_of(FIRST, 4);
    find(c, &read, &found);
    assert_string_equal(found.text[VV_PIECE_RUN], " 100/3.2.0=b 102/3.9.1=e 103/3.1.0=d");
    assert_string_equal(found.text[VV_PIECE_BLOCK], " 100/3.0.0=a 103/3.0.0=c");
    read.n_buckets = 3;
    find(c, &read, &found);
    assert_string_equal(found.text[VV_PIECE_RUN], " 100/3.2.0=b 102/3.9.1=e");
    assert_string_equal(found.text[VV_PIECE_BLOCK], " 100/3.0.0=a");
    read = read_of(FIRST + 1, 3);
    find(c, &read, &found);
    assert_string_equal(found.text[VV_PIECE_RUN], " 102/3.9.1=e 103/3.1.0=d");
    assert_string_equal(found.text[VV_PIECE_BLOCK], " 103/3.0.0=c");
    read = read_of(FIRST + 4, 4);
    find(c, &read, &found);
    assert_int_equal(found.n, 0);
}

static void several_buckets_are_read_as_one_by_one(void **state)
{
    struct contract *c = *state;
    put_days(c, false);
    check_all(c);
}

/* Wherever the first of them is. */
static void blocks_with_heads_are_read_once(void **state)
{
    struct contract *c = *state;
    struct found found;
    for (int first = 0; first < 4; first++) {
        char expected[512] = "";
        size_t size = 0;
        for (int day = 0; day < 4; day++) {
            struct vv_span_key early = span_of(1, 1, FIRST + day, 2);
            struct vv_span_key late = span_of(1, 1, FIRST + day, 8);
            put_beside(c, &late, true);
            put_parts(c, &early, false, "whole");
            put_parts(c, &late, day >= first, day >= first ? "cut in two" : "whole as well");
            const char *text = day >= first ? "cut in two" : "whole as well";
            size +=
                (size_t)snprintf(expected + size, sizeof expected - size,
                                 " %d/2.0.0=whole %d/2.0.1=whole %d/8.0.0=%s %d/8.0.1=%s",
                                 FIRST + day, FIRST + day, FIRST + day, text, FIRST + day, text);
        }
        struct vv_store_read read = read_of(FIRST, 4);
        find(c, &read, &found);
        assert_string_equal(found.text[VV_PIECE_BLOCK], expected);
        assert_int_equal(found.n, 16);
        check_all(c);
    }
    contract_crash(c, 1);
    put_days(c, true);
    check_all(c);
}

/* From eras shorter than a bucket to one that has all of them; and when some have expired. */
static void buckets_of_several_eras_are_read_as_one_by_one(void **state)
{
    struct contract *c = *state;
    static const int64_t retentions[] = {VV_HOUR, 4 * VV_DAY, 12 * VV_DAY, 30 * VV_DAY, 0};
    for (size_t i = 0; i < sizeof retentions / sizeof retentions[0]; i++) {
        struct found before;
        struct found after;
        struct vv_store_read read = read_of(FIRST + 4, 4);
        contract_reset(c);
        set_retention(c, 1, retentions[i]);
        put_days(c, true);
        check_all(c);
        find(c, &read, &before);
        expire(c, (FIRST + 6) * VV_DAY + retentions[i] + retentions[i] / 8 + VV_MINUTE);
        find(c, &read, &after);
        check_all(c);
        assert_true(after.n > 0);
        assert_int_equal(after.n<before.n, retentions[i]> 0);
    }
}

/* Moves a little at a time, and looks after each step. */
static void check_moving(struct contract *c)
{
    bool more = true;
    for (int i = 0; more; i++) {
        assert_true(i < 10000);
        assert_ok(c->store->ops->expire(c->store, FIRST * VV_DAY, 200, &more, NULL));
        check_spans(c, FIRST - 1, 2, i % 2);
        for (int64_t day = FIRST; day < FIRST + DAYS; day += 3) {
            check_spans(c, day, c->store->ops->buckets_max, i % 2);
        }
    }
    check_all(c);
}

static void buckets_that_move_are_read_as_one_by_one(void **state)
{
    struct contract *c = *state;
    static struct found before;
    static struct found after;
    struct vv_span_key replaced = span_of(1, 1, FIRST + 4, 1);
    struct vv_span_key removed = span_of(1, 1, FIRST + 6, 1);
    struct vv_span_key added = span_of(1, 1, FIRST + 6, 3);
    struct vv_store_read read = read_of(FIRST + 4, 4);
    set_retention(c, 1, 30 * VV_DAY);
    put_days(c, true);
    set_retention(c, 1, 4 * VV_DAY);
    put_parts(c, &replaced, false, "new");
    put_parts(c, &added, true, "new and cut");
    put_span(c, &removed, 0, NULL);
    check_all(c);
    find(c, &read, &before);
    check_moving(c);
    find(c, &read, &after);
    assert_string_equal(after.text[VV_PIECE_BLOCK], before.text[VV_PIECE_BLOCK]);
    set_retention(c, 1, 400 * VV_DAY);
    put_parts(c, &removed, true, "there again");
    set_retention(c, 1, 2 * VV_DAY);
    put_parts(c, &replaced, true, "newest");
    find(c, &read, &before);
    check_moving(c);
    find(c, &read, &after);
    assert_string_equal(after.text[VV_PIECE_BLOCK], before.text[VV_PIECE_BLOCK]);
}

static bool begins_with(const struct found *whole, const struct found *found)
{
    return memcmp(whole->text[0], found->text[0], found->size[0]) == 0 &&
           memcmp(whole->text[1], found->text[1], found->size[1]) == 0;
}

/* At each of the pieces. */
static void check_stops(struct contract *c, bool heads_only)
{
    static struct found whole;
    static struct found found;
    struct vv_store_read read = read_of(FIRST + 2, c->store->ops->buckets_max);
    read.heads_only = heads_only;
    find(c, &read, &whole);
    assert_true(whole.n > 10);
    for (uint32_t i = 1; i <= 2 * whole.n; i++) {
        clear(&found);
        found.stop_at = (i + 1) / 2;
        found.stop_with = i % 2 ? VV_DONE : VV_TIMEOUT;
        enum vv_status status = c->store->ops->read(c->store, &read, find_piece, &found, NULL);
        assert_int_equal(status, i % 2 ? VV_OK : VV_TIMEOUT);
        assert_int_equal(found.n, found.stop_at);
        assert_true(begins_with(&whole, &found));
    }
}

static void a_visitor_stops_in_any_of_the_buckets(void **state)
{
    struct contract *c = *state;
    put_days(c, false);
    check_stops(c, false);
    contract_reset(c);
    set_retention(c, 1, 12 * VV_DAY);
    put_days(c, true);
    check_stops(c, false);
    check_stops(c, true);
    set_retention(c, 1, 4 * VV_DAY);
    check_stops(c, false);
    check_stops(c, true);
}

static void of_another_region_there_is_nothing_in_any_bucket(void **state)
{
    struct contract *c = *state;
    struct found found;
    put_days(c, true);
    struct vv_store_read read = read_of(FIRST, 4);
    read.partition.region = 1;
    find(c, &read, &found);
    assert_int_equal(found.n, 0);
}

const struct contract_case bucket_cases[] = {
    CONTRACT_CASE_NEEDS(READS_BUCKETS, runs_of_all_buckets_come_before_their_blocks),
    CONTRACT_CASE_NEEDS(READS_BUCKETS, several_buckets_are_read_as_one_by_one),
    CONTRACT_CASE_NEEDS(READS_BUCKETS, blocks_with_heads_are_read_once),
    CONTRACT_CASE_NEEDS(READS_BUCKETS, buckets_of_several_eras_are_read_as_one_by_one),
    CONTRACT_CASE_NEEDS(READS_BUCKETS, buckets_that_move_are_read_as_one_by_one),
    CONTRACT_CASE_NEEDS(READS_BUCKETS, a_visitor_stops_in_any_of_the_buckets),
    CONTRACT_CASE_NEEDS(READS_BUCKETS, of_another_region_there_is_nothing_in_any_bucket),
    {0},
};
