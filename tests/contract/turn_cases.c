/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tenant that is written into another class or layout, while another node has not heard of it:
 * what is read there is what was written, until all have had the time to learn.
 */
#include "rows.h"

#include "simulation/sim_clock.h"

#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define TENANT 5
#define LEAD   (10 * VV_SECOND)
#define DAY    INT64_C(17000)
#define START  (DAY * VV_DAY)

/* Two nodes of one region, by one clock. */
struct pair {
    struct vv_sim_clock clock;
    struct contract *a;
    struct contract b;
};

static enum vv_status pass_over(void *context, const struct vv_told *told)
{
    (void)context;
    (void)told;
    return VV_OK;
}

static void learn(struct contract *c)
{
    assert_ok(c->store->ops->shared->learn(c->store, pass_over, NULL, NULL));
}

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * VV_SECOND + now.tv_nsec;
}

/* The second node's folder says that it belongs to the same case, and so to the same region. */
static void copy_case(const char *from, const char *to)
{
    char path[300];
    char line[128];
    snprintf(path, sizeof path, "%s/case", from);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof line, file));
    fclose(file);
    snprintf(path, sizeof path, "%s/case", to);
    file = fopen(path, "w");
    assert_non_null(file);
    fputs(line, file);
    assert_int_equal(fclose(file), 0);
}

static void begin(struct pair *pair, void **state)
{
    pair->a = *state;
    vv_sim_clock_init(&pair->clock, now_ns());
    contract_close(pair->a);
    contract_lead_ns = LEAD;
    contract_clock = &pair->clock.clock;
    contract_open(pair->a);
    pair->b = (struct contract){.backend = pair->a->backend};
    contract_make_folder(pair->b.folder, sizeof pair->b.folder);
    copy_case(pair->a->folder, pair->b.folder);
    contract_open(&pair->b);
    learn(pair->a);
    learn(&pair->b);
}

static void end(struct pair *pair)
{
    contract_close(&pair->b);
    contract_remove_folder(pair->b.folder);
    contract_close(pair->a); /* before its clock goes */
}

static struct vv_span_key sealed_span(void)
{
    return span_of(TENANT, 1, DAY, 3);
}

static bool has_row(const char *class_name)
{
    char table[64];
    snprintf(table, sizeof table, "blocks_%s", class_name);
    return cql_table_text(TENANT, table, "part")[0] != '\0';
}

static void another_node_finds_what_is_sealed_after_a_change_of_the_class(void **state)
{
    struct pair pair;
    begin(&pair, state);
    struct contract *a = pair.a;
    struct vv_span_key key = sealed_span();
    set_retention(a, TENANT, 7 * VV_DAY);
    put_block(a, &key, "one");
    confirm(a);
    assert_true(has_row("7d")); /* a new tenant has no other place to be looked for */
    learn(&pair.b);
    assert_string_equal(pieces_text(&pair.b, &key.partition), "B3.0=one");
    set_retention(a, TENANT, 30 * VV_DAY);
    put_block(a, &key, "two");
    confirm(a);
    assert_string_equal(pieces_text(&pair.b, &key.partition), "B3.0=two");
    learn(&pair.b);
    vv_sim_clock_advance(&pair.clock, LEAD - 1);
    put_block(a, &key, "three");
    confirm(a);
    assert_false(has_row("30d")); /* a node may learn as late as that */
    vv_sim_clock_advance(&pair.clock, 1);
    confirm(a);
    put_block(a, &key, "four");
    confirm(a);
    assert_true(has_row("30d"));
    assert_false(has_row("7d"));
    assert_string_equal(pieces_text(&pair.b, &key.partition), "B3.0=four");
    assert_string_equal(pieces_text(a, &key.partition), "B3.0=four");
    end(&pair);
}

/* Another node that is told of the same retention begins where the first one writes. */
static void each_node_waits_for_itself(void **state)
{
    struct pair pair;
    begin(&pair, state);
    struct vv_span_key key = sealed_span();
    set_retention(pair.a, TENANT, 7 * VV_DAY);
    put_block(pair.a, &key, "one");
    confirm(pair.a);
    learn(&pair.b);
    set_retention(pair.a, TENANT, 30 * VV_DAY);
    confirm(pair.a);
    vv_sim_clock_advance(&pair.clock, LEAD);
    confirm(pair.a);
    vv_sim_clock_advance(&pair.clock, VV_MINUTE); /* the first one's lease of the shard ends */
    learn(&pair.b);
    set_retention(&pair.b, TENANT, 30 * VV_DAY);
    put_block(&pair.b, &key, "two");
    confirm(&pair.b);
    assert_true(has_row("7d"));
    assert_string_equal(pieces_text(pair.a, &key.partition), "B3.0=two");
    vv_sim_clock_advance(&pair.clock, LEAD);
    confirm(&pair.b);
    put_block(&pair.b, &key, "three");
    assert_false(has_row("7d"));
    assert_string_equal(pieces_text(pair.a, &key.partition), "B3.0=three");
    end(&pair);
}

/* What waits is not lost with a failure, nor with the process. */
static void a_turn_outlasts_a_restart(void **state)
{
    struct pair pair;
    begin(&pair, state);
    struct contract *a = pair.a;
    struct vv_span_key key = sealed_span();
    set_retention(a, TENANT, 7 * VV_DAY);
    put_block(a, &key, "one");
    set_retention(a, TENANT, 30 * VV_DAY);
    confirm(a);
    contract_close(a);
    contract_open(a);
    set_retention(a, TENANT, 30 * VV_DAY); /* as an engine does when it starts */
    put_block(a, &key, "two");
    confirm(a);
    assert_true(has_row("7d"));
    vv_sim_clock_advance(&pair.clock, LEAD);
    confirm(a);
    put_block(a, &key, "three");
    assert_false(has_row("7d"));
    learn(&pair.b);
    assert_string_equal(pieces_text(&pair.b, &key.partition), "B3.0=three");
    end(&pair);
}

static void a_node_that_is_alone_turns_with_the_next_confirm(void **state)
{
    struct pair pair;
    struct contract *c = *state;
    struct vv_span_key key = sealed_span();
    vv_sim_clock_init(&pair.clock, now_ns());
    contract_close(c);
    contract_lead_ns = LEAD;
    contract_clock = &pair.clock.clock;
    contract_open(c);
    learn(c);
    set_retention(c, TENANT, 7 * VV_DAY);
    put_block(c, &key, "one");
    set_retention(c, TENANT, 30 * VV_DAY);
    confirm(c);
    put_block(c, &key, "two");
    assert_true(has_row("30d"));
    assert_string_equal(pieces_text(c, &key.partition), "B3.0=two");
    contract_close(c);
}

/* ---- layouts ---- */

static void put_value(struct contract *c, uint64_t number)
{
    const struct value value = {START + (int64_t)number, 4, vv_bits_of_double((double)number),
                                vv_stamp_make(number, 1)};
    put_values(c, TENANT, 1, value.stamp, &value, 1);
    confirm(c);
}

static void expect_values(struct contract *c, uint64_t up_to)
{
    struct values found;
    struct values expected = {0};
    read_values(c, TENANT, 1, DAY, 1, START, START + VV_DAY, &found);
    for (uint64_t i = 1; i <= up_to; i++) {
        values_add(&expected, (struct value){START + (int64_t)i, 4, vv_bits_of_double((double)i),
                                             vv_stamp_make(i, 1)});
    }
    values_expect(&found, &expected);
    values_free(&found);
    values_free(&expected);
}

static void another_node_finds_what_is_written_after_a_change_of_the_layout(void **state)
{
    struct pair pair;
    begin(&pair, state);
    struct contract *a = pair.a;
    put_value(a, 1);
    learn(&pair.b);
    expect_values(&pair.b, 1);
    contract_close(a);
    contract_rows_tenant = TENANT;
    contract_open(a);
    put_value(a, 2);
    put_value(a, 3);
    expect_values(&pair.b, 3); /* it doesn't look for rows yet */
    assert_string_equal(cql_text(TENANT, "forever", "metric"), "");
    learn(&pair.b);
    vv_sim_clock_advance(&pair.clock, LEAD);
    put_value(a, 4); /* its confirm turns */
    put_value(a, 5);
    assert_string_equal(cql_text(TENANT, "forever", "metric"), "m1.f4");
    expect_values(&pair.b, 5);
    expect_values(a, 5);
    /* And back. */
    contract_close(a);
    contract_rows_tenant = CONTRACT_NONE;
    contract_open(a);
    put_value(a, 6);
    assert_string_equal(cql_text(TENANT, "forever", "metric"), "m1.f4 m1.f4");
    expect_values(&pair.b, 6);
    end(&pair);
}

static void a_new_tenant_has_its_layout_at_once(void **state)
{
    struct pair pair;
    begin(&pair, state);
    contract_close(pair.a);
    contract_rows_tenant = TENANT;
    contract_open(pair.a);
    learn(pair.a);
    put_value(pair.a, 1);
    assert_string_equal(cql_text(TENANT, "forever", "metric"), "m1.f4");
    learn(&pair.b);
    expect_values(&pair.b, 1);
    end(&pair);
}

/* ---- plans ---- */

static struct vv_first_plan agree(struct contract *c, int64_t from_ns, int64_t bucket_ns)
{
    struct vv_first_plan plan = {
        .tenant = TENANT,
        .source = 1,
        .plan = {.from_ns = from_ns, .bucket_ns = bucket_ns, .span_ns = VV_HOUR, .splits = 1}};
    assert_ok(c->store->ops->shared->agree_plans(c->store, &plan, 1, NULL));
    assert_false(plan.is_tentative);
    assert_int_equal(plan.plan.from_ns, from_ns);
    return plan;
}

static void for_each_date_one_plan_is_agreed_on(void **state)
{
    struct pair pair;
    begin(&pair, state);
    assert_int_equal(agree(pair.a, VV_TIME_MIN, VV_DAY).plan.bucket_ns, VV_DAY);
    assert_int_equal(agree(&pair.b, VV_TIME_MIN, VV_HOUR).plan.bucket_ns, VV_DAY);
    assert_int_equal(agree(&pair.b, START, VV_HOUR).plan.bucket_ns, VV_HOUR);
    assert_int_equal(agree(pair.a, START, 6 * VV_HOUR).plan.bucket_ns, VV_HOUR);
    assert_int_equal(agree(pair.a, START + VV_DAY, 6 * VV_HOUR).plan.bucket_ns, 6 * VV_HOUR);
    end(&pair);
}

/* ---- marks of all nodes ---- */

static enum vv_status count_mark(void *context, const struct vv_mark *mark)
{
    (void)mark;
    ++*(size_t *)context;
    return VV_OK;
}

static size_t count_marks(struct contract *c, int64_t due_from)
{
    size_t n = 0;
    uint32_t part = 0;
    assert_ok(c->store->ops->shared->look_at_marks(c->store, due_from, &part, UINT64_MAX,
                                                   count_mark, &n, NULL));
    assert_int_equal(part, VV_MARKS_END);
    return n;
}

static bool is_marked(struct contract *c, const struct vv_span_key *key, int64_t due_from)
{
    bool is = false;
    const struct vv_mark mark = {.key = *key, .due_ns = due_from};
    assert_ok(c->store->ops->shared->is_marked(c->store, &mark, &is, NULL));
    return is;
}

/* Of each span once, though nodes have it due at other times. */
static void any_node_sees_what_all_have_marked(void **state)
{
    struct pair pair;
    begin(&pair, state);
    struct contract *b = &pair.b;
    struct vv_span_key both = span_of(TENANT, 1, DAY, 3);
    struct vv_span_key other = span_of(TENANT, 2, DAY, 9);
    put_mark(pair.a, &both, START + 5 * VV_HOUR, 7);
    put_mark(b, &both, START + 6 * VV_HOUR, 9);
    put_mark(b, &other, START + 20 * VV_HOUR, 9);
    confirm(pair.a);
    confirm(b);
    assert_int_equal(count_marks(pair.a, INT64_MIN), 2);
    assert_int_equal(count_marks(b, INT64_MIN), 2);
    assert_int_equal(count_marks(pair.a, START + 19 * VV_HOUR), 1);
    assert_true(is_marked(pair.a, &other, START));
    assert_true(is_marked(pair.a, &both, START + 6 * VV_HOUR));
    assert_false(is_marked(pair.a, &both, START + 8 * VV_HOUR));
    retire_mark(b, &other, START + 20 * VV_HOUR, 9);
    confirm(b);
    assert_int_equal(count_marks(pair.a, INT64_MIN), 1);
    assert_false(is_marked(pair.a, &other, START));
    end(&pair);
}

#define MARKS 24

/* Not all at once, if less is asked for; in parts it is the same. */
static void a_look_at_all_marks_is_bounded(void **state)
{
    struct pair pair;
    begin(&pair, state);
    const struct vv_store_ops *ops = pair.a->store->ops;
    for (int i = 0; i < MARKS; i++) {
        struct vv_span_key key = span_of(TENANT, 1 + (uint32_t)i % 8, DAY + i / 8, 3);
        put_mark(pair.a, &key, START + 5 * VV_HOUR, 7);
    }
    confirm(pair.a);
    assert_int_equal(count_marks(pair.a, INT64_MIN), MARKS);
    size_t n = 0;
    int calls = 0;
    for (uint32_t part = 0; part != VV_MARKS_END; calls++) {
        size_t so_far = n;
        assert_ok(
            ops->shared->look_at_marks(pair.a->store, INT64_MIN, &part, 1, count_mark, &n, NULL));
        assert_true(n > so_far || part == VV_MARKS_END);
    }
    assert_int_equal(n, MARKS);
    assert_true(calls > 1);
    end(&pair);
}

/* The lease only saves work: who takes the shard writes what counts, and who was overtaken has not
 * retired anything. */
static void a_shard_can_be_taken_from_who_seals(void **state)
{
    struct pair pair;
    begin(&pair, state);
    struct contract *b = &pair.b;
    struct vv_span_key key = sealed_span();
    const struct vv_mark mark = {.key = key, .due_ns = START + 5 * VV_HOUR, .run = 7};
    bool mine = false;
    put_block(pair.a, &key, "old");
    put_mark(pair.a, &key, mark.due_ns, mark.run);
    confirm(pair.a);
    learn(pair.a);
    learn(b);
    const struct vv_shared_ops *shared = pair.a->store->ops->shared;
    assert_ok(shared->begin_seal(pair.a->store, &mark, 1, &mine, NULL));
    assert_true(mine);
    assert_ok(b->store->ops->shared->begin_seal(b->store, &mark, 1, &mine, NULL));
    assert_false(mine);
    assert_ok(b->store->ops->shared->take_seal(b->store, &mark, &mine, NULL));
    assert_true(mine);
    put_block(b, &key, "taken");
    put_block(pair.a, &key, "overtaken");
    assert_string_equal(pieces_text(pair.a, &key.partition), "B3.0=taken");
    assert_string_equal(pieces_text(b, &key.partition), "B3.0=taken");
    retire_mark(pair.a, &key, mark.due_ns, mark.run);
    confirm(pair.a);
    assert_true(is_marked(b, &key, START));
    assert_ok(shared->begin_seal(pair.a->store, &mark, 1, &mine, NULL));
    assert_true(mine); /* who took it does not keep it */
    end(&pair);
}

const struct contract_case turn_cases[] = {
    CONTRACT_CASE_NEEDS(KEEPS_ROWS, any_node_sees_what_all_have_marked),
    CONTRACT_CASE_NEEDS(KEEPS_ROWS, a_look_at_all_marks_is_bounded),
    CONTRACT_CASE_NEEDS(KEEPS_ROWS, a_shard_can_be_taken_from_who_seals),
    CONTRACT_CASE_NEEDS(KEEPS_ROWS, another_node_finds_what_is_sealed_after_a_change_of_the_class),
    CONTRACT_CASE_NEEDS(KEEPS_ROWS, each_node_waits_for_itself),
    CONTRACT_CASE_NEEDS(KEEPS_ROWS, a_turn_outlasts_a_restart),
    CONTRACT_CASE_NEEDS(KEEPS_ROWS, a_node_that_is_alone_turns_with_the_next_confirm),
    CONTRACT_CASE_NEEDS(KEEPS_ROWS,
                        another_node_finds_what_is_written_after_a_change_of_the_layout),
    CONTRACT_CASE_NEEDS(KEEPS_ROWS, a_new_tenant_has_its_layout_at_once),
    CONTRACT_CASE_NEEDS(KEEPS_ROWS, for_each_date_one_plan_is_agreed_on),
    {0},
};
