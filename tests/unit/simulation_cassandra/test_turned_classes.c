/* SPDX-License-Identifier: Apache-2.0 */
/* A tenant whose retention changes lies in tables of several classes: of a span's blocks the newest
 * one counts, whichever table is the present one, and wherever a sealer died. */
#include "engines_fixture.h"

#define SHORT (20 * VV_DAY)
#define LONG  (200 * VV_DAY)

#define SEALS 2

static void seal_some(struct node *node)
{
    for (int i = 0; i < SEALS && !node->is_killed; i++) { /* the ledger is read in parts */
        advance(10 * VV_SECOND);
        (void)rig_step(&node->rig, VV_TASK_LEARN);
        (void)rig_step(&node->rig, VV_TASK_SEAL_ALL);
        (void)rig_step(&node->rig, VV_TASK_BEAT);
    }
}

static void delete_all(struct node *node)
{
    const struct vv_parameter parameters[] = {
        {VV_STR_LITERAL("tenant"), VV_STR_LITERAL("t")},
        {VV_STR_LITERAL("metric"), VV_STR_LITERAL("m.v")},
        {VV_STR_LITERAL("from"), VV_STR_LITERAL("0")},
        {VV_STR_LITERAL("to"), VV_STR_LITERAL("4000000000000000000")},
    };
    struct vv_request *request;
    struct vv_deleted deleted;
    struct vv_error error = {0};
    assert_int_equal(vv_request_parse(VV_REQUEST_DELETE, parameters, 4, now_ns(), &request, &error),
                     VV_OK);
    assert_int_equal(vv_engine_delete(node->rig.engine, request, &deleted, &error), VV_OK);
    vv_request_destroy(request);
    for (int i = 0; i < 6; i++) {
        work(node);
        (void)rig_step(&node->rig, VV_TASK_SWEEP);
        advance(2 * VV_SECOND);
    }
}

static enum vv_status count_block(void *context, const struct vv_piece *piece)
{
    *(int *)context += piece->kind == VV_PIECE_BLOCK && piece->bytes.size > 0;
    return VV_OK;
}

/* Those that the store gives of the bucket in which `time` lies, deleted or not. */
static int blocks_at(struct node *node, int64_t time)
{
    int n = 0;
    visit_at(node, time, count_block, &n);
    return n;
}

/* The sealer that removes what is deleted dies when it has asked for so much; false: it is done
 * before. */
static bool die_sealing(int requests)
{
    make_cluster(1);
    struct node *node = make_node(0);
    int64_t time = now_ns();
    write_at(node, time);
    work(node);
    keep_for(node, SHORT);
    seal_some(node);
    assert_int_equal(blocks_at(node, time), 1);
    keep_for(node, LONG);
    delete_all(node);
    struct killing killing = {node, requests};
    vv_sim_cassandra_set_hook(model, kill_in_time, &killing);
    seal_some(node);
    vv_sim_cassandra_set_hook(model, NULL, NULL);
    bool has_died = node->is_killed;
    if (has_died) {
        bury_node(node, (uint64_t)requests);
        rig_open(&node->rig);
        work(node);
        seal_some(node);
    }
    assert_int_equal(blocks_at(node, time), 0);
    keep_for(node, SHORT);
    int n = blocks_at(node, time);
    if (n > 0) {
        fail_msg("after %d requests: the block that was replaced is there again", requests);
    }
    drop_cluster();
    return has_died;
}

static void what_a_dead_sealer_has_replaced_does_not_come_back_with_its_class(void **state)
{
    (void)state;
    int requests = 0;
    while (die_sealing(requests)) {
        requests++;
    }
    assert_true(requests > 10);
}

#define SPANS 150 /* more than two pages */

/* What the store gives of spans that are made up, a second each. */
struct given {
    int64_t begin; /* the first one */
    int64_t seals[SPANS];
    int n;
    int64_t last;
};

static enum vv_status keep_bytes(void *context, const struct vv_piece *piece)
{
    struct vv_buffer *bytes = context;
    if (piece->kind == VV_PIECE_BLOCK && bytes->size == 0) {
        vv_buffer_append(bytes, piece->bytes.data, piece->bytes.size);
    }
    return VV_OK;
}

static enum vv_status take_span(void *context, const struct vv_piece *piece)
{
    struct given *given = context;
    int64_t at = (piece->key.span_start - given->begin) / VV_SECOND;
    if (piece->kind == VV_PIECE_BLOCK && at >= 0 && at < SPANS) {
        assert_true(piece->key.span_start > given->last);
        given->last = piece->key.span_start;
        given->seals[at] = piece->version;
        given->n++;
    }
    return VV_OK;
}

/* Every `step`th of the spans, with the same bytes. */
static void put_spans(struct node *node, int64_t begin, int step, struct vv_str bytes,
                      const struct vv_store_read *read)
{
    static struct vv_piece pieces[SPANS];
    struct vv_store *store = node->rig.engine->store;
    struct vv_error error = {0};
    size_t n = 0;
    for (int i = 0; i < SPANS; i += step) {
        pieces[n++] = (struct vv_piece){.kind = VV_PIECE_BLOCK,
                                        .key = {.partition = read->partition,
                                                .measurement = read->measurement,
                                                .span_start = begin + i * VV_SECOND},
                                        .bytes = bytes};
    }
    if (store->ops->put_blocks(store, pieces, n, &error) != VV_OK ||
        store->ops->confirm(store, &error) != VV_OK) {
        fail_msg("%s", error.message);
    }
}

static struct given spans_of(struct node *node, int64_t begin)
{
    struct given given = {.begin = begin, .last = INT64_MIN};
    visit_at(node, begin, take_span, &given);
    return given;
}

/* Some of the spans lie in one table and some in the other, page by page. */
static void spans_of_several_classes_are_given_once_and_in_order(void **state)
{
    (void)state;
    struct vv_buffer bytes = {0};
    make_cluster(2);
    struct node *node = make_node(0);
    write_at(node, now_ns());
    work(node);
    keep_for(node, SHORT);
    seal_some(node);
    int64_t time = now_ns();
    visit_at(node, time, keep_bytes, &bytes);
    assert_true(bytes.size > 0);
    struct vv_str block = {(const char *)bytes.data, bytes.size};
    struct vv_store_read read = read_at(node, time);
    int64_t begin = read.span_from + VV_SECOND;
    put_spans(node, begin, 1, block, &read);
    struct given before = spans_of(node, begin);
    assert_int_equal(before.n, SPANS);
    keep_for(node, LONG);
    seal_some(node); /* another pass */
    put_spans(node, begin, 3, block, &read);
    for (int turned = 0; turned < 2; turned++) {
        struct given after = spans_of(node, begin);
        assert_int_equal(after.n, SPANS);
        for (int i = 0; i < SPANS; i++) {
            assert_true(i % 3 == 0 ? after.seals[i] > before.seals[i]
                                   : after.seals[i] == before.seals[i]);
        }
        keep_for(node, SHORT);
    }
    vv_buffer_deinit(&bytes);
    drop_cluster();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_dead_sealer_has_replaced_does_not_come_back_with_its_class),
        cmocka_unit_test(spans_of_several_classes_are_given_once_and_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
