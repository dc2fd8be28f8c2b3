/* SPDX-License-Identifier: Apache-2.0 */
/* The layout that keeps each value as a row: every value comes back, whatever client reads it. */
#include "rows.h"

#include "base/random.h"
#include "model/merge.h"
#include "model/piece.h"
#include "simulation/sim_memory.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#define DAY       INT64_C(17000)
#define START     (DAY * VV_DAY)
#define TENANT    5
#define STAMP(us) vv_stamp_make((us), 7)

static void open_with(struct contract *contract, uint32_t rows_tenant)
{
    contract_close(contract);
    contract_rows_tenant = rows_tenant;
    contract_open(contract);
}

static struct contract *rows_store(void **state)
{
    struct contract *c = *state;
    open_with(c, TENANT);
    return c;
}

static void put_one(struct contract *c, int64_t time, uint32_t metric, uint64_t bits,
                    vv_stamp stamp)
{
    const struct value value = {time, metric, bits, stamp};
    put_values(c, TENANT, 1, stamp, &value, 1);
}

static void expect_day(struct contract *c, uint32_t measurement, struct values *expected)
{
    struct values found;
    read_values(c, TENANT, 1, DAY, measurement, START, START + VV_DAY, &found);
    values_expect(&found, expected);
    values_free(&found);
    values_free(expected);
}

/* A run of one value; to be freed. */
static struct vv_str encode_one(const struct value *value)
{
    struct vv_rows rows;
    struct vv_piece_encoder encoder = {.options = {.zstd_level = 0}};
    struct vv_str bytes;
    assert_ok(vv_rows_alloc(1, 1, &rows));
    rows.times[0] = value->time;
    rows.stamps[0] = value->stamp;
    rows.columns[0].metric = value->metric;
    rows.columns[0].type = value->metric % 2 == 0 ? VV_FLOAT64 : VV_INT64;
    rows.columns[0].values[0] = value->bits;
    vv_column_mark(&rows.columns[0], 0);
    assert_ok(vv_piece_encode(&encoder, &rows, 0, 1, &bytes, NULL));
    char *copy = malloc(bytes.size);
    assert_non_null(copy);
    memcpy(copy, bytes.data, bytes.size);
    vv_piece_encoder_deinit(&encoder);
    vv_rows_free(&rows);
    return (struct vv_str){copy, bytes.size};
}

/* ---- values and times */

/* What is removed is gone whichever was written first; what has a higher stamp stays. */
static void removed_rows_are_gone_and_later_ones_stay(void **state)
{
    struct contract *c = rows_store(state);
    const struct vv_partition partition = {
        .tenant = TENANT, .source = 1, .bucket_start = START, .bucket_ns = VV_DAY};
    struct vv_value_removal removal = {
        .partition = partition, .stamp = STAMP(200), .measurement = 1, .metric = 10};
    struct values expected = {0};
    int64_t last = START + VV_HOUR + 7 * VV_MILLISECOND + 5; /* its end cuts a ms */
    put_one(c, START, 10, 1, STAMP(100));
    put_one(c, START + 1, 10, 2, STAMP(300)); /* written afterwards */
    put_one(c, START + VV_HOUR, 11, 3, STAMP(100));
    put_one(c, last - 1, 10, 4, STAMP(199));
    put_one(c, last, 10, 5, STAMP(100)); /* behind the range */
    removal.from = START;
    removal.to = last;
    confirm(c);
    assert_ok(c->store->ops->remove_values(c->store, &removal, NULL));
    confirm(c);
    values_add(&expected, (struct value){START + 1, 10, 2, STAMP(300)});
    values_add(&expected, (struct value){START + VV_HOUR, 11, 3, STAMP(100)});
    values_add(&expected, (struct value){last, 10, 5, STAMP(100)});
    expect_day(c, 1, &expected);
    assert_ok(c->store->ops->remove_values(c->store, &removal, NULL)); /* again: no matter */
    removal.measurement = VV_VALUES_ALL;
    removal.metric = VV_VALUES_ALL;
    removal.from = START + VV_HOUR - 3; /* also what is written later with a lower stamp */
    assert_ok(c->store->ops->remove_values(c->store, &removal, NULL));
    put_one(c, last - 2, 12, 6, STAMP(150));
    put_one(c, START + VV_HOUR - 3, 12, 7, STAMP(150));
    put_one(c, START + VV_HOUR - 4, 12, 8, STAMP(150)); /* before the range */
    confirm(c);
    expected = (struct values){0};
    values_add(&expected, (struct value){START + 1, 10, 2, STAMP(300)});
    values_add(&expected, (struct value){START + VV_HOUR - 4, 12, 8, STAMP(150)});
    values_add(&expected, (struct value){last, 10, 5, STAMP(100)});
    expect_day(c, 1, &expected);
}

static void rows_keep_every_bit(void **state)
{
    struct contract *c = rows_store(state);
    static const uint64_t patterns[] = {
        0,
        UINT64_C(1) << 63,            /* -0.0, the least integer */
        1,                            /* the least denormal */
        UINT64_C(0x000fffffffffffff), /* the largest one */
        UINT64_C(0x7fefffffffffffff), /* the largest number */
        UINT64_C(0x7ff0000000000000), /* infinities */
        UINT64_C(0xfff0000000000000),
        UINT64_C(0x7ff8000000000000), /* NaN, quiet */
        UINT64_C(0xfff8000000000001),
        UINT64_C(0x7ff0000000000001), /* signalling */
        UINT64_C(0xfff4123456789abc),
        UINT64_C(0x7fffffffffffffff),
        UINT64_MAX,
    };
    const size_t n = sizeof patterns / sizeof patterns[0];
    struct vv_random random = {20240601};
    struct values expected = {0};
    for (size_t i = 0; i < 300; i++) {
        uint64_t bits = i < n ? patterns[i] : vv_random_next(&random);
        int64_t time = START + (int64_t)i * VV_SECOND;
        values_add(&expected, (struct value){time, 10, bits, STAMP(100 + i / 7)});
        if (i % 3 != 0) { /* absent in some rows */
            values_add(&expected, (struct value){time, 11, bits, STAMP(100 + i / 7)});
        }
    }
    put_values(c, TENANT, 1, STAMP(1000), expected.items, expected.n);
    confirm(c);
    expect_day(c, 1, &expected);
}

static void rows_keep_every_time(void **state)
{
    struct contract *c = rows_store(state);
    static const int64_t days[] = {
        DAY, 0, -1, -100, VV_TIME_MIN / VV_DAY, VV_TIME_MAX / VV_DAY - 1};
    static const int64_t offsets[] = {
        0,         1,           999999,  1000000,           1000001,
        1999999,   VV_HOUR - 1, VV_HOUR, VV_HOUR + 1234567, VV_DAY - 1000001,
        VV_DAY - 1};
    for (size_t i = 0; i < sizeof days / sizeof days[0]; i++) {
        struct values expected = {0};
        struct values found;
        for (size_t j = 0; j < sizeof offsets / sizeof offsets[0]; j++) {
            int64_t time = days[i] * VV_DAY + offsets[j];
            values_add(&expected, (struct value){time, 1, j + 1, STAMP(50)});
        }
        put_values(c, TENANT, 1, STAMP(50), expected.items, expected.n);
        confirm(c);
        read_values(c, TENANT, 1, days[i], 1, days[i] * VV_DAY, (days[i] + 1) * VV_DAY, &found);
        values_expect(&found, &expected);
        values_free(&found);
        values_free(&expected);
    }
}

static void rows_of_a_range(void **state)
{
    struct contract *c = rows_store(state);
    struct values all = {0};
    struct vv_random random = {7};
    for (int i = 0; i < 200; i++) {
        int64_t time = START + (int64_t)vv_random_below(&random, (uint64_t)(3 * VV_HOUR));
        time -= i % 2 == 0 ? time % VV_MILLISECOND : 0;
        values_merge(&all, (struct value){time, 4, (uint64_t)i, STAMP(9)});
    }
    put_values(c, TENANT, 1, STAMP(9), all.items, all.n);
    confirm(c);
    for (int i = 0; i < 60; i++) {
        int64_t from = all.items[vv_random_below(&random, all.n)].time + i % 3 - 1;
        int64_t to = all.items[vv_random_below(&random, all.n)].time + i % 2;
        struct values expected = {0};
        struct values found;
        for (size_t j = 0; j < all.n; j++) {
            if (all.items[j].time >= from && all.items[j].time < to) {
                values_add(&expected, all.items[j]);
            }
        }
        read_values(c, TENANT, 1, DAY, 1, from, to, &found);
        values_expect(&found, &expected);
        values_free(&found);
        values_free(&expected);
    }
    values_free(&all);
}

/* More than a page of CQL and than a piece may have; readers may also stop early. */
static enum vv_status stop_at_second(void *context, const struct vv_piece *piece)
{
    (void)piece;
    int *count = context;
    return ++*count == 2 ? VV_DONE : VV_OK;
}

static void rows_come_in_pages(void **state)
{
    struct contract *c = rows_store(state);
    struct values expected = {0};
    for (int i = 0; i < 9000; i++) {
        int64_t time = START + 2 * VV_HOUR - 8700 * VV_MILLISECOND + i * VV_MILLISECOND;
        values_add(&expected, (struct value){time, 12 + (uint32_t)(i % 3), (uint64_t)i, STAMP(77)});
    }
    put_values(c, TENANT, 1, STAMP(77), expected.items, expected.n);
    confirm(c);
    struct values found;
    read_values(c, TENANT, 1, DAY, 1, START, START + VV_DAY, &found);
    assert_int_equal(found.pieces, 4); /* 8,700 rows before the end of a span, 300 behind it */
    values_expect(&found, &expected);
    values_free(&found);
    values_free(&expected);

    const struct vv_store_read read = {.partition = partition_of(TENANT, 1, DAY),
                                       .measurement = 1,
                                       .span_from = START,
                                       .span_to = START + VV_DAY,
                                       .span_ns = VV_HOUR};
    int count = 0;
    assert_ok(c->store->ops->read(c->store, &read, stop_at_second, &count, NULL));
    assert_int_equal(count, 2);
}

/* An answer that was asked for ahead gives the same each time, also after a visit that ended early
 * and with what was written since. */
static enum vv_status count_bytes(void *context, const struct vv_piece *piece)
{
    size_t *bytes = context;
    *bytes += piece->bytes.size;
    return VV_OK;
}

static void rows_can_be_visited_again(void **state)
{
    struct contract *c = rows_store(state);
    const struct vv_store_read read = {.partition = partition_of(TENANT, 1, DAY),
                                       .measurement = 1,
                                       .span_from = START,
                                       .span_to = START + VV_DAY,
                                       .span_ns = VV_HOUR};
    struct vv_store_answer *answer;
    struct values expected = {0};
    for (int i = 0; i < 5000; i++) {
        values_add(&expected, (struct value){START + i * VV_SECOND, 12, (uint64_t)i, STAMP(7)});
    }
    put_values(c, TENANT, 1, STAMP(7), expected.items, expected.n);
    confirm(c);
    assert_ok(c->store->ops->begin_read(c->store, &read, &answer, NULL));
    int count = 0;
    assert_ok(c->store->ops->visit_read(answer, stop_at_second, &count, NULL));
    size_t first = 0;
    assert_ok(c->store->ops->visit_read(answer, count_bytes, &first, NULL));
    assert_true(first > 0);
    for (int i = 0; i < 3; i++) {
        size_t again = 0;
        put_one(c, START + VV_HOUR * 20 + i, 12, 1, STAMP(8));
        confirm(c);
        assert_ok(c->store->ops->visit_read(answer, count_bytes, &again, NULL));
        assert_int_equal(again, first);
        count = 0;
        assert_ok(c->store->ops->visit_read(answer, stop_at_second, &count, NULL));
        assert_int_equal(count, 2);
    }
    c->store->ops->end_read(answer);
    assert_ok(c->store->ops->begin_read(c->store, &read, &answer, NULL)); /* and not visited */
    c->store->ops->end_read(answer);
    values_free(&expected);
}

/* ---- stamps */

static void rows_let_the_higher_stamp_win(void **state)
{
    struct contract *c = rows_store(state);
    struct values expected = {0};
    for (int order = 0; order < 2; order++) {
        for (uint64_t i = 0; i < 3; i++) {
            uint64_t us = order == 0 ? 1000 + i : 1002 - i;
            put_one(c, START + order, 10, us, STAMP(us));
        }
        values_add(&expected, (struct value){START + order, 10, 1002, STAMP(1002)});
    }
    confirm(c);
    expect_day(c, 1, &expected);
    put_one(c, START + 5, 10, vv_bits_of_double(2.5),
            STAMP(0)); /* not negative, but as low as can be */
    put_one(c, START + 6, 11, 8, ~UINT64_C(0) - VV_STAMP_NODE_MAX);
    confirm(c);
    values_add(&expected, (struct value){START, 10, 1002, STAMP(1002)});
    values_add(&expected, (struct value){START + 1, 10, 1002, STAMP(1002)});
    values_add(&expected, (struct value){START + 5, 10, vv_bits_of_double(2.5), 0});
    values_add(&expected, (struct value){START + 6, 11, 8, ~UINT64_C(0)});
    expect_day(c, 1, &expected);
}

/* Metrics of one time with stamps of their own. */
static void rows_of_a_time_have_stamps_of_their_own(void **state)
{
    struct contract *c = rows_store(state);
    struct values expected = {0};
    for (uint32_t i = 0; i < 40; i++) {
        uint64_t us = 500 + i * 7 % 5;
        put_one(c, START + i % 2, 10 + i, i, STAMP(us));
        values_add(&expected, (struct value){START + i % 2, 10 + i, i, STAMP(us)});
    }
    confirm(c);
    expect_day(c, 1, &expected);
}

static void rows_written_again_are_the_same(void **state)
{
    struct contract *c = rows_store(state);
    struct values expected = {0};
    for (int i = 0; i < 150; i++) {
        values_add(&expected, (struct value){START + i * VV_MINUTE, 10 + (uint32_t)i % 2,
                                             (uint64_t)i, STAMP(10 + (uint64_t)i / 40)});
    }
    put_values(c, TENANT, 1, STAMP(60), expected.items, expected.n);
    confirm(c);
    assert_string_equal(cql_text(TENANT, "forever", "COUNT(*)"), "150");
    char before[8192];
    snprintf(before, sizeof before, "%s", cql_text(TENANT, "forever", "value_int"));
    contract_crash(c, 1);
    put_values(c, TENANT, 1, STAMP(60), expected.items, expected.n); /* after a crash */
    put_values(c, TENANT, 1, STAMP(99), expected.items, expected.n / 2);
    confirm(c);
    assert_string_equal(cql_text(TENANT, "forever", "COUNT(*)"), "150");
    assert_string_equal(cql_text(TENANT, "forever", "value_int"), before);
    expect_day(c, 1, &expected);
}

/* ---- names */

static void rows_of_measurements_stay_apart(void **state)
{
    struct contract *c = rows_store(state);
    static const uint32_t metrics[] = {5, 10, 105, 110, 205, 210}; /* m1.f5, m1.f5.f105, m3.f205 */
    for (uint32_t i = 0; i < 6; i++) {
        put_one(c, START + VV_HOUR, metrics[i], i + 1, STAMP(100));
    }
    confirm(c);
    for (uint32_t measurement = 1; measurement <= 4; measurement++) {
        struct values expected = {0};
        for (uint32_t i = 0; i < 6; i++) {
            if (metrics[i] / 100 + 1 == measurement) {
                values_add(&expected,
                           (struct value){START + VV_HOUR, metrics[i], i + 1, STAMP(100)});
            }
        }
        expect_day(c, measurement, &expected);
    }
}

static void rows_look_plain(void **state)
{
    struct contract *c = rows_store(state);
    put_one(c, START + VV_HOUR + 1500000, 10, vv_bits_of_double(21.5), STAMP(1234567));
    put_one(c, START + VV_HOUR + 1500000, 111, (uint64_t)-42, STAMP(1234568));
    put_one(c, START + 2 * VV_HOUR, 10, vv_bits_of_double(-0.25), STAMP(1234569));
    confirm(c);
    assert_string_equal(
        cql_text(TENANT, "forever",
                 "bucket, bucket_s, split, event_time, nanos, metric, value, value_int"),
        "1468800000000,86400,0,1468807200000,0,m1.f10,-0.25, "
        "1468800000000,86400,0,1468803600001,500000,m1.f10,21.5, "
        "1468800000000,86400,0,1468803600001,500000,m1.f5.f111,,-42");
    assert_string_equal(cql_text(TENANT, "forever", "WRITETIME(value), WRITETIME(value_int)"),
                        "1234569, 1234567, ,1234568");
}

/* ---- layouts */

static void rows_and_blocks_as_the_settings_change(void **state)
{
    struct contract *c = *state;
    struct values expected = {0};
    static const uint32_t settings[] = {CONTRACT_NONE, TENANT, CONTRACT_NONE, CONTRACT_ALL,
                                        TENANT + 1};
    for (uint32_t i = 0; i < 5; i++) {
        open_with(c, settings[i]);
        for (uint32_t j = 0; j < 20; j++) { /* half of them replace older ones */
            int64_t time = START + (int64_t)(i * 10 + j) * VV_MINUTE;
            struct value value = {time, 10, i * 100 + j, STAMP(1000 * (i + 1) + j)};
            put_values(c, TENANT, 1, value.stamp, &value, 1);
            values_merge(&expected, value);
        }
        confirm(c);
    }
    assert_string_equal(cql_text(TENANT, "forever", "COUNT(*)"), "40");
    struct values copy = {0};
    for (size_t i = 0; i < expected.n; i++) {
        values_add(&copy, expected.items[i]);
    }
    expect_day(c, 1, &expected);
    contract_crash(c, 2); /* it is kept which layouts there are */
    expect_day(c, 1, &copy);
}

/* Sealing goes on for what was written before; rows have no part in it. */
static void rows_are_not_sealed(void **state)
{
    struct contract *c = *state;
    const struct vv_span_key key = span_of(TENANT, 1, DAY, 0);
    put_one(c, START, 10, 1, STAMP(1));
    put_mark(c, &key, 5, STAMP(1));
    confirm(c);
    open_with(c, TENANT);
    put_one(c, START, 10, 2, STAMP(2));
    put_mark(c, &key, 5, STAMP(2));
    put_mark(c, &(struct vv_span_key){key.partition, 1, START + VV_HOUR}, 5, STAMP(2));
    confirm(c);
    char marks[64];
    snprintf(marks, sizeof marks, "5/1.0=%llu", (unsigned long long)STAMP(1));
    assert_string_equal(marks_text(c, INT64_MAX, NULL), marks);
    assert_int_equal(count_pieces(c, &key), 1);
    retire_mark(c, &key, 5, STAMP(1));
    remove_run(c, &key, STAMP(1), 0);
    remove_run(c, &key, STAMP(2), 0);
    put_span(c, &key, 0, NULL);
    confirm(c);
    assert_string_equal(marks_text(c, INT64_MAX, NULL), "");
    assert_int_equal(count_pieces(c, &key), 0);
    struct values expected = {0};
    values_add(&expected, (struct value){START, 10, 2, STAMP(2)});
    expect_day(c, 1, &expected);
}

static void rows_have_buckets(void **state)
{
    struct contract *c = rows_store(state);
    int64_t start = 0;
    put_one(c, START, 10, 1, STAMP(1));
    confirm(c);
    assert_ok(
        c->store->ops->nearest(c->store, 0, TENANT, 1, START + 9 * VV_DAY, false, &start, NULL));
    assert_int_equal(start, START);
}

/* ---- expiry */

static int64_t seconds_to(int64_t end_ns)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return end_ns / VV_SECOND - now.tv_sec;
}

static void expect_ttl(uint32_t tenant, const char *class_name, int64_t end_ns)
{
    long long ttl = -1;
    assert_int_equal(sscanf(cql_text(tenant, class_name, "TTL(value)"), "%lld", &ttl), 1);
    int64_t most = seconds_to(end_ns) + 300; /* the test may be slow */
    if (ttl > most || ttl < most - 600) {
        fail_msg("TTL %lld, expected about %" PRId64, ttl, most - 300);
    }
}

static void rows_expire_with_their_bucket(void **state)
{
    struct contract *c = rows_store(state);
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    int64_t today = vv_time_floor((int64_t)now.tv_sec * VV_SECOND, VV_DAY);
    int64_t slack = VV_DAY;
    put_one(c, today, 10, 1, STAMP(1));
    confirm(c);
    assert_string_equal(cql_text(TENANT, "forever", "TTL(value)"), "");
    set_retention(c, TENANT, 5 * VV_DAY);
    put_one(c, today, 10, 2, STAMP(2));
    confirm(c);
    expect_ttl(TENANT, "7d", today + VV_DAY + 5 * VV_DAY + slack);
    set_retention(c, TENANT, 20 * VV_DAY);
    put_one(c, today, 10, 3, STAMP(3));
    put_one(c, today - 10 * VV_DAY, 11, 3, STAMP(3));
    confirm(c);
    expect_ttl(TENANT, "30d", today + VV_DAY + 20 * VV_DAY + slack);
    struct values found;
    read_values(c, TENANT, 1, today / VV_DAY, 1, today, today + VV_DAY, &found);
    assert_int_equal(found.n, 1); /* of three classes the newest */
    assert_int_equal(found.items[0].bits, 3);
    values_free(&found);
    set_retention(c, TENANT, 90 * VV_DAY);
    /* Expired long ago: there while tiers are built of it, but never for ever. */
    put_one(c, START, 10, 4, STAMP(4));
    confirm(c);
    expect_ttl(TENANT, "365d", (int64_t)now.tv_sec * VV_SECOND + slack);
}

/* ---- what is wrong */

static void rows_that_cannot_be_are_refused(void **state)
{
    struct contract *c = rows_store(state);
    const struct vv_span_key key = span_of(TENANT, 1, DAY, 0);
    struct vv_piece piece = {VV_PIECE_RUN, key, 1, 0, VV_STR_LITERAL("no block"), 0, 0};
    struct vv_error error = {0};
    assert_int_equal(c->store->ops->put_run(c->store, &piece, &error), VV_CORRUPT);
    assert_non_null(strstr(error.message, "damaged"));

    const struct value nameless = {START, UINT32_MAX, 0, 1};
    piece.bytes = encode_one(&nameless);
    assert_int_equal(c->store->ops->put_run(c->store, &piece, &error), VV_INVALID);
    assert_non_null(strstr(error.message, "has no name"));
    free((char *)piece.bytes.data);
    confirm(c); /* nothing failed */
    struct values none = {0};
    expect_day(c, 1, &none);
}

static void rows_are_written_again_after_a_failure(void **state)
{
    struct contract *c = rows_store(state);
    struct values expected = {0};
    for (int i = 0; i < 500; i++) {
        values_add(&expected, (struct value){START + i * VV_SECOND, 10, (uint64_t)i, STAMP(7)});
    }
    put_values(c, TENANT, 1, STAMP(7), expected.items, 1); /* what it says of the tenant is there */
    confirm(c);
    c->backend->break_writes(c);
    put_values(c, TENANT, 1, STAMP(8), expected.items, expected.n);
    assert_int_equal(c->store->ops->confirm(c->store, NULL), VV_IO);
    c->backend->heal_writes(c);
    contract_recover(c);
    put_values(c, TENANT, 1, STAMP(8), expected.items, expected.n);
    confirm(c);
    contract_crash(c, 3);
    open_with(c, CONTRACT_NONE); /* read because of what was kept, not of what is set */
    expect_day(c, 1, &expected);
}

/* Whichever allocation fails: what was not written is told and can be written again. */
static void rows_are_written_again_when_memory_was_out(void **state)
{
    struct contract *c = rows_store(state);
    struct vv_store *store = c->store;
    const struct vv_span_key key = span_of(TENANT, 1, DAY, 0);
    struct values expected = {0};
    bool failed = true;
    for (uint64_t k = 1; failed; k++) {
        struct value value = {START + (int64_t)k, 10 + k % 2, k, STAMP(k)};
        struct vv_piece piece = {.kind = VV_PIECE_RUN, .key = key, .run = value.stamp};
        piece.bytes = encode_one(&value);
        vv_sim_memory_fail(k);
        enum vv_status status = store->ops->put_run(store, &piece, NULL);
        if (status == VV_OK) {
            status = store->ops->confirm(store, NULL);
        }
        failed = vv_sim_memory_failed();
        assert_true(status == VV_OK || status == VV_NO_MEMORY || status == VV_IO);
        if (status != VV_OK) {
            contract_recover(c);
            assert_ok(store->ops->put_run(store, &piece, NULL));
            confirm(c);
        }
        free((char *)piece.bytes.data);
        values_add(&expected, value);
    }
    assert_true(expected.n > 8);
    expect_day(c, 1, &expected);
}

static void rows_are_read_again_when_memory_was_out(void **state)
{
    struct contract *c = rows_store(state);
    const struct vv_store_read read = {.partition = partition_of(TENANT, 1, DAY),
                                       .measurement = 1,
                                       .span_from = START,
                                       .span_to = START + VV_DAY,
                                       .span_ns = VV_HOUR};
    size_t whole = 0;
    bool failed = true;
    for (uint64_t i = 0; i < 5; i++) {
        put_one(c, START + (int64_t)i * VV_HOUR, 10 + (uint32_t)i % 2, i, STAMP(1));
    }
    confirm(c);
    assert_ok(c->store->ops->read(c->store, &read, count_bytes, &whole, NULL));
    uint64_t k = 1;
    for (; failed; k++) {
        size_t bytes = 0;
        vv_sim_memory_fail(k);
        enum vv_status status = c->store->ops->read(c->store, &read, count_bytes, &bytes, NULL);
        failed = vv_sim_memory_failed();
        assert_true(status == VV_OK ? bytes == whole : status == VV_NO_MEMORY);
    }
    assert_true(k > 20);
}

/* ---- against a model */

static void rows_follow_the_model(void **state)
{
    struct contract *c = rows_store(state);
    const uint64_t seed = 4711;
    struct vv_random random = {seed};
    struct values model[2] = {{0}, {0}};
    printf("seed %" PRIu64 "\n", seed);
    for (int round = 0; round < 30; round++) {
        uint32_t measurement = 1 + (uint32_t)vv_random_below(&random, 2);
        vv_stamp stamp = STAMP(1000 + (uint64_t)(round * 37 % 30)); /* in no order */
        struct values put = {0};
        uint64_t n = 1 + vv_random_below(&random, 120);
        for (uint64_t i = 0; i < n; i++) {
            struct value value = {START + (int64_t)vv_random_below(&random, 300) * VV_MINUTE,
                                  (measurement - 1) * 100 + (uint32_t)vv_random_below(&random, 6),
                                  vv_random_next(&random), stamp};
            values_merge(&put, value);
        }
        if (vv_random_below(&random, 6) == 0) {
            open_with(c, vv_random_below(&random, 2) ? CONTRACT_NONE : CONTRACT_ALL);
        }
        put_values(c, TENANT, 1, stamp, put.items, put.n);
        for (size_t i = 0; i < put.n; i++) {
            values_merge(&model[measurement - 1], put.items[i]);
        }
        values_free(&put);
        confirm(c);
    }
    expect_day(c, 1, &model[0]);
    expect_day(c, 2, &model[1]);
}

const struct contract_case rows_cases[] = {
    CONTRACT_CASE_NEEDS(KEEPS_ROWS, rows_keep_every_bit),
    CONTRACT_CASE_NEEDS(KEEPS_ROWS, rows_keep_every_time),
    CONTRACT_CASE_NEEDS(KEEPS_ROWS, removed_rows_are_gone_and_later_ones_stay),
    CONTRACT_CASE_NEEDS(KEEPS_ROWS, rows_of_a_range),
    CONTRACT_CASE_NEEDS(KEEPS_ROWS, rows_come_in_pages),
    CONTRACT_CASE_NEEDS(KEEPS_ROWS, rows_can_be_visited_again),
    CONTRACT_CASE_NEEDS(KEEPS_ROWS, rows_let_the_higher_stamp_win),
    CONTRACT_CASE_NEEDS(KEEPS_ROWS, rows_of_a_time_have_stamps_of_their_own),
    CONTRACT_CASE_NEEDS(KEEPS_ROWS, rows_written_again_are_the_same),
    CONTRACT_CASE_NEEDS(KEEPS_ROWS, rows_of_measurements_stay_apart),
    CONTRACT_CASE_NEEDS(KEEPS_ROWS, rows_look_plain),
    CONTRACT_CASE_NEEDS(KEEPS_ROWS, rows_and_blocks_as_the_settings_change),
    CONTRACT_CASE_NEEDS(KEEPS_ROWS, rows_are_not_sealed),
    CONTRACT_CASE_NEEDS(KEEPS_ROWS, rows_have_buckets),
    CONTRACT_CASE_NEEDS(KEEPS_ROWS, rows_expire_with_their_bucket),
    CONTRACT_CASE_NEEDS(KEEPS_ROWS, rows_that_cannot_be_are_refused),
    CONTRACT_CASE_NEEDS(KEEPS_ROWS, rows_are_written_again_after_a_failure),
    CONTRACT_CASE_NEEDS(KEEPS_ROWS, rows_are_written_again_when_memory_was_out),
    CONTRACT_CASE_NEEDS(KEEPS_ROWS, rows_are_read_again_when_memory_was_out),
    CONTRACT_CASE_NEEDS(KEEPS_ROWS, rows_follow_the_model),
    {0},
};
