/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks: replaced by span, durably. */
#include "contract.h"

#include <string.h>

static void new_blocks_replace_all_parts_of_the_old(void **state)
{
    struct contract *c = *state;
    struct vv_span_key key = span_of(1, 1, 10, 3);
    static const char *const three[] = {"a", "b", "c"};
    static const char *const two[] = {"d", "e"};
    put_span(c, &key, 3, three);
    assert_string_equal(pieces_text(c, &key.partition), "B3.0=a B3.1=b B3.2=c");
    put_span(c, &key, 2, two);
    assert_string_equal(pieces_text(c, &key.partition), "B3.0=d B3.1=e");
    put_span(c, &key, 3, three);
    assert_string_equal(pieces_text(c, &key.partition), "B3.0=a B3.1=b B3.2=c");
}

static void an_empty_part_0_means_no_block_any_more(void **state)
{
    struct contract *c = *state;
    struct vv_span_key key = span_of(1, 1, 10, 3);
    struct vv_span_key other = span_of(1, 1, 10, 4);
    static const char *const two[] = {"a", "b"};
    put_span(c, &key, 2, two);
    put_block(c, &other, "c");
    put_span(c, &key, 0, NULL);
    assert_string_equal(pieces_text(c, &key.partition), "B4.0=c");
    put_span(c, &key, 0, NULL); /* again: harmless */
    assert_string_equal(pieces_text(c, &key.partition), "B4.0=c");
    contract_crash(c, 1);
    assert_string_equal(pieces_text(c, &key.partition), "B4.0=c");
    put_block(c, &key, "d");
    assert_string_equal(pieces_text(c, &key.partition), "B3.0=d B4.0=c");
}

static void many_spans_are_replaced_in_one_call(void **state)
{
    struct contract *c = *state;
    struct vv_span_key first = span_of(1, 1, 10, 3);
    struct vv_span_key second = span_of(1, 1, 10, 4);
    struct vv_span_key third = span_of(1, 1, 300, 0);
    struct vv_span_key fourth = span_of(2, 1, 10, 4);
    static const char *const two[] = {"a", "b"};
    put_span(c, &first, 2, two);
    put_span(c, &second, 2, two);
    set_retention(c, 2, 30 * VV_DAY);
    const struct vv_piece pieces[] = {
        {VV_PIECE_BLOCK, first, 0, 0, vv_str_of("c"), 0, 0},
        {VV_PIECE_BLOCK, second, 0, 0, {0}, 0, 0},
        {VV_PIECE_BLOCK, third, 0, 0, vv_str_of("d"), 0, 0},
        {VV_PIECE_BLOCK, third, 0, 1, vv_str_of("e"), 0, 0},
        {VV_PIECE_BLOCK, fourth, 0, 0, vv_str_of("f"), 0, 0},
    };
    assert_ok(c->store->ops->put_blocks(c->store, pieces, 5, NULL));
    assert_string_equal(pieces_text(c, &first.partition), "B3.0=c");
    assert_string_equal(pieces_text(c, &third.partition), "B0.0=d B0.1=e");
    assert_string_equal(pieces_text(c, &fourth.partition), "B4.0=f");
    assert_ok(c->store->ops->put_blocks(c->store, pieces, 0, NULL));
}

/* Parts need not be numbered without gaps. */
static void parts_keep_their_numbers(void **state)
{
    struct contract *c = *state;
    struct vv_span_key key = span_of(1, 1, 10, 3);
    static const char *const three[] = {"a", "b", "c"};
    put_span(c, &key, 3, three);
    const struct vv_piece pieces[] = {
        {VV_PIECE_BLOCK, key, 0, 1, vv_str_of("d"), 0, 0},
        {VV_PIECE_BLOCK, key, 0, 7, vv_str_of("e"), 0, 0},
    };
    assert_ok(c->store->ops->put_blocks(c->store, pieces, 2, NULL));
    assert_string_equal(pieces_text(c, &key.partition), "B3.1=d B3.7=e");
}

static void blocks_out_of_order_are_refused_as_a_whole(void **state)
{
    struct contract *c = *state;
    struct vv_span_key a = span_of(1, 1, 10, 3);
    struct vv_span_key b = span_of(1, 1, 10, 4);
    struct vv_str text = vv_str_of("x");
    const struct vv_piece bad[][2] = {
        {{VV_PIECE_BLOCK, b, 0, 0, text, 0, 0}, {VV_PIECE_BLOCK, a, 0, 0, text, 0, 0}},
        {{VV_PIECE_BLOCK, a, 0, 1, text, 0, 0}, {VV_PIECE_BLOCK, a, 0, 0, text, 0, 0}},
        {{VV_PIECE_BLOCK, a, 0, 0, text, 0, 0}, {VV_PIECE_BLOCK, a, 0, 0, text, 0, 0}},
        {{VV_PIECE_BLOCK, a, 0, 0, {0}, 0, 0}, {VV_PIECE_BLOCK, a, 0, 1, text, 0, 0}},
        {{VV_PIECE_BLOCK, a, 0, 0, text, 0, 0}, {VV_PIECE_BLOCK, a, 0, 1, {0}, 0, 0}},
        {{VV_PIECE_BLOCK, a, 0, 0, text, 0, 0}, {VV_PIECE_RUN, b, 0, 0, text, 0, 0}},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(c->store->ops->put_blocks(c->store, bad[i], 2, NULL), VV_INVALID);
    }
    assert_string_equal(pieces_text(c, &a.partition), "");
}

static void blocks_are_durable_when_the_call_returns(void **state)
{
    struct contract *c = *state;
    for (int hour = 0; hour < 8; hour++) {
        struct vv_span_key key = span_of(1, 1, 10, hour);
        char text[8];
        snprintf(text, sizeof text, "%d", hour);
        put_run(c, &key, 1, 0, "unconfirmed");
        put_block(c, &key, text);
        contract_crash(c, (uint64_t)hour);
        struct vv_store_read read = {.partition = key.partition,
                                     .measurement = 1,
                                     .span_from = key.span_start,
                                     .span_to = key.span_start + 1};
        const char *found = read_text(c, &read);
        char alone[32];
        char both[64];
        snprintf(alone, sizeof alone, "B%d.0=%d", hour, hour);
        snprintf(both, sizeof both, "R%d.1.0=unconfirmed B%d.0=%d", hour, hour, hour);
        if (strcmp(found, alone) != 0) {
            assert_string_equal(found, both);
        }
    }
}

/* More than one file's worth, and each part still one piece. */
static void a_large_batch_of_blocks_is_replaced(void **state)
{
    struct contract *c = *state;
    enum { SPANS = 2000 };
    struct vv_piece *pieces = calloc(SPANS, sizeof *pieces);
    assert_non_null(pieces);
    static char bytes[1000];
    for (int round = 0; round < 3; round++) {
        memset(bytes, 'a' + round, sizeof bytes);
        for (uint32_t i = 0; i < SPANS; i++) {
            pieces[i] = (struct vv_piece){VV_PIECE_BLOCK,
                                          span_of(1, i / 4, 10, (int)(i % 4)),
                                          0,
                                          0,
                                          (struct vv_str){bytes, 100 + i % 900},
                                          0,
                                          0};
        }
        assert_ok(c->store->ops->put_blocks(c->store, pieces, SPANS, NULL));
    }
    struct vv_partition partition = partition_of(1, 499, 10);
    const char *text = pieces_text(c, &partition);
    assert_memory_equal(text, "B0.0=cccc", 9);
    size_t expected = 0;
    for (uint32_t i = SPANS - 4; i < SPANS; i++) {
        expected += 5 + 100 + i % 900;
    }
    assert_int_equal(strlen(text), expected + 3);
    free(pieces);
}

static const char *heads_text(struct contract *c, const struct vv_partition *partition)
{
    const struct vv_store_read read = {.partition = *partition,
                                       .measurement = 1,
                                       .span_from = INT64_MIN,
                                       .span_to = INT64_MAX,
                                       .heads_only = true};
    return read_text(c, &read);
}

static void put_with_head(struct contract *c, const struct vv_span_key *key, const char *text)
{
    const struct vv_piece pieces[] = {
        {VV_PIECE_BLOCK, *key, 0, 0, vv_str_of(text), 0, 4},
        {VV_PIECE_BLOCK, *key, 0, 1, vv_str_of(text), 0, 1},
    };
    assert_ok(c->store->ops->put_blocks(c->store, pieces, 2, NULL));
}

static void a_head_may_be_read_alone(void **state)
{
    struct contract *c = *state;
    struct vv_span_key first = span_of(1, 1, 10, 3);
    struct vv_span_key second = span_of(1, 1, 10, 4);
    struct vv_span_key third = span_of(1, 1, 10, 5);
    put_with_head(c, &first, "head and tail");
    put_block(c, &second, "whole");
    put_with_head(c, &third, "a third");
    contract_crash(c, 1);
    assert_string_equal(
        pieces_text(c, &first.partition),
        "B3.0=head and tail B3.1=head and tail B4.0=whole B5.0=a third B5.1=a third");
    const char *heads = heads_text(c, &first.partition);
    if (strcmp(heads, "B3.0=head B3.1=h B4.0=whole B5.0=a th B5.1=a") != 0) {
        assert_string_equal(
            heads, "B3.0=head and tail B3.1=head and tail B4.0=whole B5.0=a third B5.1=a third");
    }
}

/* However it was kept before, nothing of it is left. */
static void what_has_a_head_is_replaced_as_a_whole(void **state)
{
    struct contract *c = *state;
    struct vv_span_key key = span_of(1, 1, 10, 3);
    struct vv_span_key other = span_of(1, 1, 10, 4);
    put_with_head(c, &key, "first one");
    put_with_head(c, &other, "the other");
    put_with_head(c, &key, "second one");
    assert_string_equal(pieces_text(c, &key.partition),
                        "B3.0=second one B3.1=second one B4.0=the other B4.1=the other");
    put_block(c, &key, "whole");
    put_block(c, &other, "x");
    assert_string_equal(pieces_text(c, &key.partition), "B3.0=whole B4.0=x");
    assert_string_equal(heads_text(c, &key.partition), "B3.0=whole B4.0=x");
    put_with_head(c, &key, "third one");
    put_span(c, &key, 0, NULL);
    put_span(c, &other, 0, NULL);
    assert_string_equal(pieces_text(c, &key.partition), "");
}

static void nothing_is_left_of_what_had_a_head(void **state)
{
    struct contract *c = *state;
    struct vv_span_key key = span_of(1, 1, 10, 3);
    int64_t bucket;
    put_with_head(c, &key, "first one");
    set_retention(c, 1, 40000 * VV_DAY);
    put_with_head(c, &key, "second one");
    put_span(c, &key, 0, NULL);
    assert_int_equal(c->store->ops->nearest(c->store, 0, 1, 1, 0, true, &bucket, NULL), VV_DONE);
    put_with_head(c, &key, "third one");
    put_block(c, &key, "whole");
    put_span(c, &key, 0, NULL);
    assert_int_equal(c->store->ops->nearest(c->store, 0, 1, 1, 0, true, &bucket, NULL), VV_DONE);
}

const struct contract_case block_cases[] = {
    CONTRACT_CASE_NEEDS(IS_EMBEDDED, nothing_is_left_of_what_had_a_head),
    CONTRACT_CASE(a_head_may_be_read_alone),
    CONTRACT_CASE(what_has_a_head_is_replaced_as_a_whole),
    CONTRACT_CASE(new_blocks_replace_all_parts_of_the_old),
    CONTRACT_CASE(an_empty_part_0_means_no_block_any_more),
    CONTRACT_CASE(many_spans_are_replaced_in_one_call),
    CONTRACT_CASE(parts_keep_their_numbers),
    CONTRACT_CASE(blocks_out_of_order_are_refused_as_a_whole),
    CONTRACT_CASE(blocks_are_durable_when_the_call_returns),
    CONTRACT_CASE(a_large_batch_of_blocks_is_replaced),
    {0},
};
