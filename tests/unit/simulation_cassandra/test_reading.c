/* SPDX-License-Identifier: Apache-2.0 */
/* A read asks for runs and for blocks at once: what another node seals while these are on their way
 * is seen, whichever of the two is carried out before it. */
#include "parking_fixture.h"

#define SOURCE 3
#define ROUNDS 48

/* Seals the span's runs as `bytes` once so many requests of the reader were carried out. */
struct sealing {
    int carried_out; /* calls of the hook for the reader: one before and one after each request */
    int at;
    struct vv_str bytes;
    bool is_done;
};

static void seal_source(struct node *node, struct vv_str bytes)
{
    const struct vv_mark mark = mark_of(SOURCE, 0, 1);
    seal(node, &mark, bytes);
}

/* What is still asked for is carried out afterwards. */
static void seal_between(void *context, uint32_t client)
{
    struct sealing *sealing = context;
    if (client != b.client || sealing->carried_out++ != sealing->at || sealing->is_done) {
        return;
    }
    sealing->is_done = true;
    vv_sim_cassandra_set_deferred(model, false);
    seal_source(&a, sealing->bytes);
}

/* What b reads while a seals, `at` of b's requests having begun or ended. */
static const char *read_beside(struct sealing *sealing)
{
    vv_sim_cassandra_set_hook(model, seal_between, sealing);
    vv_sim_cassandra_set_deferred(model, true);
    const char *found = read_source(&b, SOURCE, 0);
    vv_sim_cassandra_set_deferred(model, false);
    vv_sim_cassandra_set_hook(model, NULL, NULL);
    return found;
}

/* A new cluster for each round, whose seed says what is carried out first. */
static void begin_again(uint64_t seed)
{
    drop_node(&a);
    drop_node(&b);
    vv_sim_cassandra_destroy(model);
    model = vv_sim_cassandra_create(NAME, seed, &clock_of_all.clock);
    make_keyspace(NAME "/7", "varve", "dc1", classes, 1);
    make_node(&a, 0);
    make_node(&b, 1);
}

static void put_run(int number)
{
    char text[16];
    snprintf(text, sizeof text, "run%d", number);
    assert_int_equal(put(&a, SOURCE, 0, vv_stamp_make((uint64_t)number, 0), vv_str_of(text)),
                     VV_OK);
    assert_int_equal(confirm(&a), VV_OK);
}

/* `before`: what has been sealed when the run comes that is sealed beside the read; "": nothing.
 * Either the run is seen (with the block that was there) or the block that has it in it. */
static void expect_seen(const char *before)
{
    int saw_run = 0;
    int saw_block = 0;
    for (int round = 0; round < ROUNDS; round++) {
        struct sealing sealing = {.at = round % 4, .bytes = VV_STR_LITERAL("new")};
        begin_again((uint64_t)round + 1);
        if (*before) {
            put_run(1);
            seal_source(&a, vv_str_of(before));
        }
        put_run(2);
        const char *found = read_beside(&sealing);
        assert_true(sealing.is_done);
        bool has_run = strstr(found, "run2") != NULL;
        bool has_block = strstr(found, "new") != NULL;
        bool has_rest = has_block || !*before || strstr(found, before) != NULL;
        if ((!has_run && !has_block) || !has_rest || strstr(found, "run1")) {
            fail_msg("round %d: \"%s\"", round, found);
        }
        saw_run += has_run;
        saw_block += has_block;
    }
    assert_true(saw_run > 0 && saw_block > 0);
}

static void what_is_sealed_beside_a_read_is_seen(void **state)
{
    (void)state;
    expect_seen("");
}

static void what_is_sealed_again_beside_a_read_is_seen(void **state)
{
    (void)state;
    expect_seen("old");
}

/* The head of a block and all of it, of what was put as one, too. */
static const char *read_head(struct node *node, bool heads_only)
{
    static struct seen seen;
    struct vv_error error = {0};
    const struct vv_span_key key = span_of(SOURCE, 0);
    const struct vv_store_read read = {.partition = key.partition,
                                       .measurement = 1,
                                       .span_from = key.span_start,
                                       .span_to = key.span_start + VV_DAY,
                                       .heads_only = heads_only};
    seen = (struct seen){0};
    assert_int_equal(node->store->ops->read(node->store, &read, see, &seen, &error), VV_OK);
    return seen.text;
}

static void put_with_head(size_t head_size)
{
    const struct vv_store_ops *ops = a.store->ops;
    struct vv_error error = {0};
    bool is_mine = false;
    const struct vv_mark mark = mark_of(SOURCE, 0, 1);
    const struct vv_piece block = {.kind = VV_PIECE_BLOCK,
                                   .key = span_of(SOURCE, 0),
                                   .bytes = VV_STR_LITERAL("head and tail"),
                                   .head_size = head_size};
    assert_int_equal(ops->shared->begin_seal(a.store, &mark, 1, &is_mine, &error), VV_OK);
    assert_int_equal(ops->put_blocks(a.store, &block, 1, &error), VV_OK);
}

static void tails_are_read_where_they_are_wanted(void **state)
{
    (void)state;
    put_with_head(4);
    assert_string_equal(read_head(&b, true), "head");
    assert_string_equal(read_head(&b, false), "head and tail");
    put_with_head(0);
    assert_string_equal(read_head(&b, true), "head and tail");
    assert_string_equal(read_head(&b, false), "head and tail");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_sealed_beside_a_read_is_seen, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_sealed_again_beside_a_read_is_seen, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(tails_are_read_where_they_are_wanted, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
