/* SPDX-License-Identifier: Apache-2.0 */
/* Reads of single parts, and of runs alone; and runs of a source that was known to have none. */
#include "contract.h"

#include <string.h>

#define FIRST      100
#define BUCKETS    4
#define PARTS      6 /* 0, 1, 2, 7, 8, 9 */
#define FOUND_SIZE 4096

struct found {
    char text[FOUND_SIZE];
    size_t size;
    uint32_t last; /* of this part no more is wanted */
};

static enum vv_status find_piece(void *context, const struct vv_piece *piece)
{
    struct found *found = context;
    int length = snprintf(found->text + found->size, FOUND_SIZE - found->size, " %s%lld/%lld.%u",
                          piece->kind == VV_PIECE_RUN ? "R" : "B",
                          (long long)(piece->key.partition.bucket_start / VV_DAY),
                          (long long)((piece->key.span_start % VV_DAY) / VV_HOUR), piece->part);
    vv_invariant(length > 0 && found->size + (size_t)length < FOUND_SIZE);
    found->size += (size_t)length;
    return piece->kind == VV_PIECE_BLOCK && piece->part == found->last ? VV_DONE : VV_OK;
}

static void expect_up_to(struct contract *c, const struct vv_store_read *read, uint32_t last,
                         const char *expected)
{
    struct found found = {.last = last};
    assert_ok(c->store->ops->read(c->store, read, find_piece, &found, NULL));
    assert_string_equal(found.text, expected);
}

static void expect(struct contract *c, const struct vv_store_read *read, const char *expected)
{
    expect_up_to(c, read, UINT32_MAX, expected);
}

static struct vv_store_read read_of(uint32_t source, uint32_t n_buckets)
{
    return (struct vv_store_read){.partition = partition_of(1, source, FIRST),
                                  .measurement = 1,
                                  .span_from = FIRST * VV_DAY,
                                  .span_to = (FIRST + n_buckets) * VV_DAY,
                                  .n_buckets = n_buckets};
}

/* In each bucket a span that begins with it, of two times three parts, and one three hours later.
 */
static void put_parts(struct contract *c)
{
    for (int day = FIRST; day < FIRST + BUCKETS; day++) {
        struct vv_piece pieces[2 * PARTS];
        for (uint32_t i = 0; i < 2 * PARTS; i++) {
            pieces[i] = (struct vv_piece){.kind = VV_PIECE_BLOCK,
                                          .key = span_of(1, 1, day, i < PARTS ? 0 : 3),
                                          .part = i % PARTS % 3 + (i % PARTS < 3 ? 0 : 7),
                                          .bytes = vv_str_of("part")};
        }
        assert_ok(c->store->ops->put_blocks(c->store, pieces, 2 * PARTS, NULL));
    }
}

static void single_parts_are_those_of_spans_that_begin_with_buckets(void **state)
{
    struct contract *c = *state;
    put_parts(c);
    struct vv_store_read read = read_of(1, BUCKETS);
    read.part_from = 7;
    read.part_to = 8;
    expect(c, &read, " B100/0.7 B101/0.7 B102/0.7 B103/0.7");
    read.part_to = 9;
    read.n_buckets = 2;
    expect(c, &read, " B100/0.7 B100/0.8 B101/0.7 B101/0.8");
    read.part_from = 36;
    read.part_to = VV_BLOCK_PARTS_MAX;
    expect(c, &read, "");
    read.part_from = 0;
    read.part_to = 1;
    read.n_buckets = 1;
    expect(c, &read, " B100/0.0");
    read.n_buckets = BUCKETS;
    read.span_from++; /* not in the range any more */
    expect(c, &read, " B101/0.0 B102/0.0 B103/0.0");
    read.span_to = (FIRST + 2) * VV_DAY;
    expect(c, &read, " B101/0.0");
}

static void single_parts_end_at_one_that_is_missing_or_wanted_last(void **state)
{
    struct contract *c = *state;
    put_parts(c);
    struct vv_store_read read = read_of(1, 2);
    read.part_to = 32;
    expect(c, &read, " B100/0.0 B100/0.1 B100/0.2 B101/0.0 B101/0.1 B101/0.2");
    expect_up_to(c, &read, 1, " B100/0.0 B100/0.1 B101/0.0 B101/0.1");
    read.part_from = 8;
    expect(c, &read, " B100/0.8 B100/0.9 B101/0.8 B101/0.9");
    read.part_from = 6;
    expect(c, &read, "");
}

/* Also while blocks lie in two classes, as in that of a store that has just been opened. */
static void single_parts_are_found_where_they_move(void **state)
{
    struct contract *c = *state;
    put_parts(c);
    struct vv_store_read read = read_of(1, BUCKETS);
    read.part_from = 7;
    read.part_to = 32;
    assert_ok(c->store->ops->set_retention(c->store, 1, 30 * VV_DAY, NULL));
    expect_up_to(c, &read, 8,
                 " B100/0.7 B100/0.8 B101/0.7 B101/0.8 B102/0.7 B102/0.8 B103/0.7 B103/0.8");
    struct vv_piece again = {.kind = VV_PIECE_BLOCK,
                             .key = span_of(1, 1, FIRST + 1, 0),
                             .part = 8,
                             .bytes = vv_str_of("other")};
    assert_ok(c->store->ops->put_blocks(c->store, &again, 1, NULL));
    expect_up_to(c, &read, 7, " B100/0.7 B102/0.7 B103/0.7");
    contract_crash(c, 1);
    expect_up_to(c, &read, 7, " B100/0.7 B102/0.7 B103/0.7");
    read.part_from = 8;
    expect_up_to(c, &read, 8, " B100/0.8 B101/0.8 B102/0.8 B103/0.8");
    read.part_from = 1;
    expect(c, &read, " B100/0.1 B100/0.2 B102/0.1 B102/0.2 B103/0.1 B103/0.2");
}

/* A visitor that has the block written anew, in other parts, when it sees the first one. */
struct replacing {
    struct contract *c;
    char text[64];
};

static enum vv_status replace_and_note(void *context, const struct vv_piece *piece)
{
    struct replacing *replacing = context;
    struct contract *c = replacing->c;
    if (replacing->text[0] == '\0') {
        struct vv_piece again[PARTS];
        for (uint32_t i = 0; i < PARTS; i++) {
            again[i] = (struct vv_piece){
                .kind = VV_PIECE_BLOCK, .key = piece->key, .part = i, .bytes = vv_str_of("new")};
        }
        assert_ok(c->store->ops->put_blocks(c->store, again, PARTS, NULL));
    }
    strncat(replacing->text, " ", 2);
    strncat(replacing->text, piece->bytes.data, piece->bytes.size);
    return VV_OK;
}

static void single_parts_of_a_bucket_are_of_one_block(void **state)
{
    struct contract *c = *state;
    put_parts(c);
    struct vv_store_read read = read_of(1, 1);
    read.part_to = 32;
    for (int i = 0; i < 2; i++) {
        struct replacing replacing = {.c = c};
        enum vv_status status =
            c->store->ops->read(c->store, &read, replace_and_note, &replacing, NULL);
        if (i == 0 && status == VV_OVERLOAD) {
            assert_string_equal(replacing.text, " part");
            continue;
        }
        assert_ok(status);
        assert_string_equal(replacing.text,
                            i == 0 ? " part part part" : " new new new new new new");
    }
}

static void runs_are_read_alone(void **state)
{
    struct contract *c = *state;
    struct vv_span_key key = span_of(1, 1, FIRST, 3);
    put_parts(c);
    put_run(c, &key, 1, 0, "run");
    struct vv_store_read read = read_of(1, 2);
    read.runs_only = true;
    expect(c, &read, " R100/3.0");
    read.span_from = key.span_start + 1;
    expect(c, &read, "");
}

/* ---- runs of a source that had none ---- */

static void a_run_is_found_behind_a_read_that_found_none(void **state)
{
    struct contract *c = *state;
    struct vv_store_read read = read_of(2, 1);
    struct vv_span_key key = span_of(1, 2, FIRST, 3);
    for (vv_stamp run = 1; run < 4; run++) {
        expect(c, &read, "");
        expect(c, &read, ""); /* known by now */
        put_run(c, &key, run, 0, "run");
        expect(c, &read, " R100/3.0");
        expect(c, &read, " R100/3.0");
        remove_run(c, &key, run, 0);
    }
}

/* Runs of other buckets and sources say nothing of whether there are some here. */
static void runs_beside_what_is_read_are_no_runs_of_it(void **state)
{
    struct contract *c = *state;
    struct vv_span_key before = span_of(1, 2, FIRST - 3, 3);
    struct vv_span_key behind = span_of(1, 2, FIRST + 3, 3);
    struct vv_span_key next = span_of(1, 3, FIRST, 3);
    struct vv_store_read read = read_of(2, 1);
    put_run(c, &next, 1, 0, "run");
    expect(c, &read, "");
    put_run(c, &behind, 1, 0, "run");
    expect(c, &read, "");
    put_run(c, &before, 1, 0, "run");
    expect(c, &read, "");
    read.partition = before.partition;
    read.span_from = before.partition.bucket_start;
    expect(c, &read, " R97/3.0");
    read = read_of(3, 1);
    expect(c, &read, " R100/3.0");
}

/* What was removed and not confirmed is there again after a crash. */
static void runs_that_come_back_are_found(void **state)
{
    struct contract *c = *state;
    struct vv_store_read read = read_of(2, 1);
    struct vv_span_key key = span_of(1, 2, FIRST, 3);
    put_block(c, &key, "else the failed write confirms what was before it");
    put_block(c, &key, "");
    put_run(c, &key, 1, 0, "run");
    confirm(c);
    remove_run(c, &key, 1, 0);
    expect(c, &read, "");
    expect(c, &read, "");
    c->backend->break_writes(c);
    fail_to_write(c);
    c->backend->heal_writes(c);
    contract_recover(c);
    expect(c, &read, " R100/3.0");
}

const struct contract_case part_cases[] = {
    CONTRACT_CASE_NEEDS(READS_BUCKETS, single_parts_are_those_of_spans_that_begin_with_buckets),
    CONTRACT_CASE_NEEDS(READS_BUCKETS, single_parts_end_at_one_that_is_missing_or_wanted_last),
    CONTRACT_CASE_NEEDS(READS_BUCKETS, single_parts_are_found_where_they_move),
    CONTRACT_CASE_NEEDS(READS_BUCKETS, single_parts_of_a_bucket_are_of_one_block),
    CONTRACT_CASE_NEEDS(READS_BUCKETS, runs_are_read_alone),
    CONTRACT_CASE_NEEDS(READS_BUCKETS, a_run_is_found_behind_a_read_that_found_none),
    CONTRACT_CASE_NEEDS(READS_BUCKETS, runs_beside_what_is_read_are_no_runs_of_it),
    CONTRACT_CASE_NEEDS(IS_EMBEDDED, runs_that_come_back_are_found),
    {0},
};
