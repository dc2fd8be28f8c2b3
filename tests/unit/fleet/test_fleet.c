/* SPDX-License-Identifier: Apache-2.0 */
/* Telling, learning and keeping: what is told and what is not, limits, failures, damage. */
#include "fleet_fixture.h"
#include "simulation/sim_memory.h"

struct pair {
    struct node *a;
    struct node *b;
};

static struct pair open_pair(void)
{
    fake_begin(7);
    return (struct pair){node_open(1), node_open(2)};
}

static void close_pair(struct pair *pair)
{
    node_close(pair->a);
    node_close(pair->b);
    fake_end();
}

static void make_some(struct node *node)
{
    uint32_t tenant = node_tenant(node, "t");
    vv_registry_set_retention(node->registry, tenant, VV_DAY);
    uint32_t metric = node_metric(node, "t", "pump", "temp", VV_INT64);
    node_describe(node, metric, "K", "how warm");
    uint32_t source = node_source(node, "t", "id=p1,site=x", 100);
    node_source(node, "t", "host=h", 100);
    node_agree(node, source, (struct vv_plan){VV_TIME_MIN, VV_DAY, VV_HOUR, 2, 0});
    node_flush(node);
}

static void what_one_saw_the_others_know(void **state)
{
    (void)state;
    struct pair pair = open_pair();
    make_some(pair.a);
    node_learn(pair.b);
    node_keep(pair.b);
    char expected[512];
    int64_t retention_ns;
    vv_stamp stamp;
    struct vv_described described;
    vv_registry_stamped_retention(pair.a->registry, 0, &retention_ns, &stamp);
    vv_registry_described(pair.a->registry, 0, &described);
    assert_int_equal(stamp & VV_STAMP_NODE_MAX, 1);
    snprintf(expected, sizeof expected,
             "measurement t pump\n"
             "metric t pump.temp 1 'K' %llu 'how warm' %llu\n"
             "source t host=h 1 -9000000000000000000:host=h,\n"
             "source t p1 0 100:site=x, plan -9000000000000000000 86400000000000 3600000000000 2\n"
             "tenant t 86400000000000 %llu\n",
             (unsigned long long)described.unit_stamp,
             (unsigned long long)described.description_stamp, (unsigned long long)stamp);
    assert_dump(pair.b, expected);
    assert_dump(pair.a, expected);
    close_pair(&pair);
}

static void nothing_is_told_twice(void **state)
{
    (void)state;
    struct pair pair = open_pair();
    make_some(pair.a);
    uint64_t told = hub.nodes[1].told;
    assert_int_equal(told, 7); /* tenant, measurement, metric, two sources, tags, plan */
    make_some(pair.a);         /* the same again */
    assert_int_equal(hub.nodes[1].told, told);
    node_learn(pair.b);
    make_some(pair.b); /* what the other told already, but for the time of the retention */
    assert_int_equal(hub.nodes[2].repeated, 0);
    assert_int_equal(hub.nodes[2].parroted, 0);
    assert_int_equal(hub.nodes[2].told, 0);
    node_source(pair.b, "t", "id=p1,site=y", 200);
    node_flush(pair.b);
    assert_int_equal(hub.nodes[2].told, 1); /* one version of the tags */
    node_learn(pair.a);
    node_source(pair.a, "t", "id=p1,site=y", 200);
    node_flush(pair.a);
    assert_int_equal(hub.nodes[1].told, told);
    assert_same_nodes(pair.a, pair.b);
    close_pair(&pair);
}

static void numbers_stay_after_a_restart(void **state)
{
    (void)state;
    struct pair pair = open_pair();
    node_source(pair.b, "u", "id=first", 5); /* so that numbers differ */
    node_flush(pair.b);
    make_some(pair.a);
    node_learn(pair.b);
    uint32_t tenant;
    uint32_t before;
    uint32_t after;
    assert_true(vv_fleet_has_learnt(pair.b->fleet));
    assert_int_equal(vv_registry_tenant(pair.b->registry, TEXT("t"), false, &tenant, NULL), VV_OK);
    assert_int_equal(vv_registry_source_by_id(pair.b->registry, tenant, TEXT("p1"), &before),
                     VV_OK);
    assert_int_equal(before, 1);
    assert_false(vv_registry_settled(pair.b->registry, VV_REGISTRY_SOURCE, before));
    node_keep(pair.b);
    assert_false(vv_fleet_has_learnt(pair.b->fleet));
    assert_true(vv_registry_settled(pair.b->registry, VV_REGISTRY_SOURCE, before));
    node_restart(pair.b, true);
    assert_int_equal(vv_registry_source_by_id(pair.b->registry, tenant, TEXT("p1"), &after), VV_OK);
    assert_int_equal(after, before);
    uint64_t told = hub.nodes[2].told;
    node_learn(pair.b);
    node_flush(pair.b);
    assert_int_equal(hub.nodes[2].told, told);
    close_pair(&pair);
}

static void what_was_not_kept_is_learnt_again(void **state)
{
    (void)state;
    struct pair pair = open_pair();
    make_some(pair.a);
    node_learn(pair.b);
    hub.nodes[2].fail = 1;
    assert_int_equal(vv_fleet_confirm(pair.b->fleet, NULL), VV_IO);
    assert_true(vv_fleet_has_learnt(pair.b->fleet));
    node_restart(pair.b, true);
    node_learn(pair.b);
    assert_same_nodes(pair.a, pair.b);
    close_pair(&pair);
}

/* The metadata is read before the journal: it may not refer to what only the journal has. */
static void what_is_kept_stands_by_itself(void **state)
{
    (void)state;
    struct pair pair = open_pair();
    node_metric(pair.a, "t", "pump", "temp", VV_INT64);
    node_flush(pair.a);
    node_metric(pair.b, "t", "pump", "speed", VV_INT64);
    for (size_t i = 0; i < pair.b->n_touched; i++) { /* as a committer that has journaled them */
        struct vv_buffer record = {0};
        enum vv_registry_kind kind = pair.b->touched[i].kind;
        uint32_t number = pair.b->touched[i].number;
        vv_registry_settle(pair.b->registry, kind, number,
                           vv_registry_encode(pair.b->registry, kind, number, &record));
        vv_buffer_deinit(&record);
    }
    node_learn(pair.b);
    node_keep(pair.b);
    node_restart(pair.b, true); /* loads the metadata by itself first */
    node_flush(pair.b);
    node_learn(pair.a);
    assert_same_nodes(pair.a, pair.b);
    close_pair(&pair);
}

static void what_was_told_in_vain_is_told_again(void **state)
{
    (void)state;
    struct pair pair = open_pair();
    make_some(pair.a);
    node_source(pair.a, "t", "id=p2,site=x", 1);
    node_source(pair.a, "t", "id=p1,site=z", 300);
    for (uint32_t k = 1; k < 4; k++) {
        hub.nodes[1].fail = 0;
        uint64_t before = hub.nodes[1].told;
        /* Told, then the confirm fails: the store may have lost it. */
        assert_int_equal(vv_fleet_tell(pair.a->fleet, VV_REGISTRY_SOURCE, 2, NULL), VV_OK);
        assert_int_equal(vv_fleet_tell(pair.a->fleet, VV_REGISTRY_SOURCE, 0, NULL), VV_OK);
        hub.nodes[1].fail = 1;
        assert_int_equal(vv_fleet_confirm(pair.a->fleet, NULL), VV_IO);
        fake_crash(1);
        assert_int_equal(vv_fleet_tell_again(pair.a->fleet, NULL), VV_OK);
        assert_true(hub.nodes[1].told > before);
    }
    node_flush(pair.a);
    uint64_t told = hub.nodes[1].told;
    assert_int_equal(vv_fleet_tell_again(pair.a->fleet, NULL), VV_OK);
    assert_int_equal(hub.nodes[1].told, told); /* all is confirmed */
    node_learn(pair.b);
    assert_same_nodes(pair.a, pair.b);
    close_pair(&pair);
}

static void a_failing_flush_is_done_again(void **state)
{
    (void)state;
    struct pair pair = open_pair();
    for (uint32_t wait = 0; wait < 8; wait++) {
        char text[32];
        snprintf(text, sizeof text, "id=p%u,n=%u", wait % 3, wait);
        node_source(pair.a, "t", text, wait);
        hub.nodes[1].fail = wait % 2 ? 1 : 0;
        enum vv_status status = node_try_flush(pair.a);
        assert_int_equal(status, wait % 2 ? VV_IO : VV_OK);
        if (status != VV_OK) {
            fake_crash(1);
            assert_int_equal(vv_fleet_tell_again(pair.a->fleet, NULL), VV_OK);
            node_flush(pair.a);
        }
        node_learn(pair.b);
        assert_same_nodes(pair.a, pair.b);
    }
    close_pair(&pair);
}

/* A store that was one node's before has never been told of. */
static void a_store_that_was_not_shared_is_told_of(void **state)
{
    (void)state;
    struct pair pair = open_pair();
    node_close_fleet(pair.a); /* as a single node would fill it */
    assert_int_equal(vv_registry_create(&pair.a->options, &pair.a->registry), VV_OK);
    pair.a->fleet = NULL;
    pair.a->deletions = NULL;
    node_metric(pair.a, "t", "pump", "temp", VV_INT64);
    for (int i = 0; i < 30; i++) {
        char text[32];
        snprintf(text, sizeof text, "id=p%d,n=%d", i, i);
        uint32_t source = node_source(pair.a, "t", text, i);
        const struct vv_plan plan = {VV_TIME_MIN, VV_DAY, VV_HOUR, 1, 0};
        assert_int_equal(vv_registry_source_set_plans(pair.a->registry, source, &plan, 1), VV_OK);
    }
    for (size_t i = 0; i < pair.a->n_touched; i++) {
        assert_int_equal(node_put(pair.a, pair.a->touched[i].kind, pair.a->touched[i].number),
                         VV_OK);
    }
    assert_int_equal(pair.a->store->ops->confirm(pair.a->store, NULL), VV_OK);
    pair.a->n_touched = 0;
    node_restart(pair.a, false);
    int slices = 0;
    while (vv_fleet_tell_rest(pair.a->fleet, 10, NULL) == VV_OK) {
        node_keep(pair.a);
        slices++;
        if (slices == 2) {
            node_restart(pair.a, true); /* it begins again */
        }
    }
    node_keep(pair.a);
    assert_true(slices >= 5);
    node_learn(pair.b);
    assert_same_nodes(pair.a, pair.b);
    uint64_t told = hub.nodes[1].told;
    node_restart(pair.a, true);
    assert_int_equal(vv_fleet_tell_rest(pair.a->fleet, 10, NULL), VV_DONE);
    assert_int_equal(hub.nodes[1].told, told);
    close_pair(&pair);
}

/* ---- what counts ---- */

static void the_latest_setting_counts(void **state)
{
    (void)state;
    struct pair pair = open_pair();
    make_some(pair.a);
    node_learn(pair.b);
    node_keep(pair.b);
    vv_sim_clock_jump(&pair.b->clock, 1600000000 * VV_SECOND); /* b's clock is behind */
    vv_registry_set_retention(pair.b->registry, 0, 3 * VV_DAY);
    vv_registry_note_whole(pair.b->registry, 0,
                           (struct vv_whole){.longer = {{VV_HOUR, VV_DAY, 0, 0}}, .n = 1});
    node_describe(pair.b, 0, "C", NULL);
    node_flush(pair.b);
    node_keep(pair.b);
    node_learn(pair.a);
    assert_int_equal(vv_registry_retention(pair.a->registry, 0), VV_DAY); /* not in a flush yet */
    node_touch(pair.b, VV_REGISTRY_TENANT, 0);
    node_flush(pair.b);
    node_learn(pair.a);
    assert_same_nodes(pair.a, pair.b);
    assert_int_equal(vv_registry_retention(pair.a->registry, 0), 3 * VV_DAY);
    struct vv_metric_info info;
    vv_registry_metric_info(pair.a->registry, 0, &info);
    assert_true(vv_str_equal(info.unit, TEXT("C")));
    assert_true(vv_str_equal(info.description, TEXT("how warm")));
    assert_int_equal(vv_registry_whole(pair.a->registry, 0).longer[0].from,
                     VV_HOUR); /* no more is said */
    close_pair(&pair);
}

static void begin_with_default(struct node *node)
{
    node->options.retention_ns = VV_DAY;
    node_restart(node, true);
    node_tenant(node, "t");
    node_flush(node);
}

static void learn_and_keep(struct node *node)
{
    node_learn(node);
    node_keep(node);
}

static struct vv_whole whole_of_t(struct node *node)
{
    uint32_t tenant;
    assert_int_equal(vv_registry_tenant(node->registry, TEXT("t"), false, &tenant, NULL), VV_OK);
    return vv_registry_whole(node->registry, tenant);
}

/* The tenant is new on a and on b, which gives it the longer life; a is never heard of again. */
static void expect_shorter_life_said(void (*begin)(struct node *))
{
    struct node *nodes[4];
    fake_begin(7);
    for (uint32_t i = 0; i < 4; i++) {
        nodes[i] = node_open(1 + i);
    }
    struct node *b = nodes[1];
    begin(nodes[0]);
    learn_and_keep(nodes[2]);
    vv_sim_clock_advance(&b->clock, VV_SECOND);
    int64_t set_at = b->clock.clock.wall_ns(&b->clock.clock);
    vv_registry_set_retention(b->registry, node_tenant(b, "t"), 3 * VV_DAY);
    node_flush(b);
    learn_and_keep(nodes[2]); /* of both */
    learn_and_keep(b);
    struct vv_whole whole = whole_of_t(b);
    assert_true(vv_whole_from(&whole) >=
                set_at + VV_HOUR); /* behind all that may have been put by then */
    assert_int_equal(whole.longer[0].kept_ns, VV_DAY);
    node_restart(nodes[2], true);
    for (size_t i = 1; i < 4; i++) { /* the last one is new then */
        vv_sim_clock_advance(&nodes[i]->clock, 300 * VV_DAY);
    }
    for (size_t i = 4; i-- > 1;) {
        learn_and_keep(nodes[i]);
        assert_int_equal(whole_of_t(nodes[i]).longer[0].from,
                         vv_whole_from(&whole)); /* whenever it is heard */
        assert_int_equal(whole_of_t(nodes[i]).longer[0].kept_ns, VV_DAY);
    }
    for (size_t i = 0; i < 4; i++) {
        node_close(nodes[i]);
    }
    fake_end();
}

static void whoever_hears_of_a_shorter_life_says_so(void **state)
{
    (void)state;
    expect_shorter_life_said(make_some);
    expect_shorter_life_said(begin_with_default);
}

/* The later one is the shorter: then nothing is taken for whole that is not. */
static void of_a_longer_life_nothing_is_said(void **state)
{
    (void)state;
    struct pair pair = open_pair();
    uint32_t tenant = node_tenant(pair.b, "t");
    vv_registry_set_retention(pair.b->registry, tenant, 3 * VV_DAY);
    vv_sim_clock_advance(&pair.a->clock, VV_SECOND);
    make_some(pair.a);
    node_flush(pair.b);
    node_learn(pair.a);
    node_learn(pair.b);
    assert_int_equal(vv_registry_retention(pair.b->registry, tenant), VV_DAY);
    assert_int_equal(vv_registry_whole(pair.a->registry, 0).n, 0);
    assert_int_equal(vv_registry_whole(pair.b->registry, tenant).n, 0);
    close_pair(&pair);
}

static void float_wins_over_int(void **state)
{
    (void)state;
    struct pair pair = open_pair();
    node_metric(pair.a, "t", "pump", "temp", VV_INT64);
    node_metric(pair.b, "t", "pump", "temp", VV_FLOAT64);
    node_metric(pair.a, "t", "pump", "n", VV_INT64);
    node_metric(pair.b, "t", "pump", "n", VV_INT64);
    node_flush(pair.a);
    node_flush(pair.b);
    node_learn(pair.a);
    node_learn(pair.b);
    node_keep(pair.a);
    node_restart(pair.a, true);
    assert_same_nodes(pair.a, pair.b);
    uint32_t temp = vv_registry_metric_named(pair.a->registry, 0, TEXT("pump.temp"));
    uint32_t n = vv_registry_metric_named(pair.a->registry, 0, TEXT("pump.n"));
    struct vv_metric_info info;
    vv_registry_metric_info(pair.a->registry, temp, &info);
    assert_int_equal(info.type, VV_FLOAT64);
    vv_registry_metric_info(pair.a->registry, n, &info);
    assert_int_equal(info.type, VV_INT64);
    close_pair(&pair);
}

static void of_versions_from_one_time_the_greater_counts(void **state)
{
    (void)state;
    struct pair pair = open_pair();
    node_source(pair.a, "t", "id=p,site=x", 100);
    node_source(pair.a, "t", "id=p,site=b", 200);
    node_source(pair.b, "t", "id=p,a=1,b=2", 100);
    node_source(pair.b, "t", "id=p,a=0,b=3", 300);
    node_flush(pair.a);
    node_flush(pair.b);
    node_learn(pair.a);
    node_learn(pair.b);
    const char *expected = "source t p 0 100:a=1,b=2, 200:site=b, 300:a=0,b=3,\n"
                           "tenant t 0 0\n";
    assert_dump(pair.a, expected);
    assert_dump(pair.b, expected);
    /* Here, too, and then it is not told. */
    node_source(pair.a, "t", "id=p,a=0,b=2", 300);
    uint64_t told = hub.nodes[1].told;
    node_flush(pair.a);
    assert_int_equal(hub.nodes[1].told, told);
    assert_dump(pair.a, expected);
    /* The index follows the present version. */
    uint32_t *sources = NULL;
    size_t n = 0;
    const struct vv_str value = TEXT("3");
    const struct vv_matcher matcher = {
        .key = TEXT("b"), .op = VV_MATCH_IN, .values = &value, .n_values = 1};
    const struct vv_selector selector = {.matchers = &matcher, .n_matchers = 1};
    assert_int_equal(
        vv_registry_select(pair.a->registry, 0, &selector, VV_REGISTRY_NONE, 9, &sources, &n, NULL),
        VV_OK);
    assert_int_equal(n, 1);
    free(sources);
    close_pair(&pair);
}

static void who_asked_first_has_chosen_the_plan(void **state)
{
    (void)state;
    struct pair pair = open_pair();
    uint32_t a = node_source(pair.a, "t", "id=p", 1);
    uint32_t b = node_source(pair.b, "t", "id=p", 1);
    node_agree(pair.a, a, (struct vv_plan){VV_TIME_MIN, VV_DAY, VV_HOUR, 1, 0});
    node_agree(pair.b, b, (struct vv_plan){VV_TIME_MIN, VV_HOUR, VV_HOUR, 1, 0});
    node_flush(pair.a);
    node_flush(pair.b);
    assert_int_equal(vv_registry_source_plans(pair.b->registry, b).plans[0].bucket_ns, VV_DAY);
    assert_same_nodes(pair.a, pair.b);
    close_pair(&pair);
}

/* ---- damage and limits ---- */

static void hear(struct node *node, uint8_t kind, const char *name, int64_t item,
                 struct vv_buffer *value)
{
    struct vv_str bytes = {(const char *)value->data, value->size};
    const struct vv_told told = {
        .kind = kind, .tenant = TEXT("t"), .name = vv_str_of(name), .item = item, .value = bytes};
    assert_int_equal(fake_tell(node->store, &told, NULL), VV_OK);
    vv_buffer_clear(value);
}

static uint64_t refused_by(struct node *node)
{
    struct vv_fleet_figures figures;
    vv_fleet_read_figures(node->fleet, &figures);
    return figures.refused;
}

static void hostile_values_are_left_out(void **state)
{
    (void)state;
    struct pair pair = open_pair();
    make_some(pair.b);
    char *before = node_dump(pair.b);
    struct vv_buffer value = {0};
    static struct vv_told_content content;
    vv_buffer_text(&value, "\1garbage");
    hear(pair.a, VV_TOLD_SOURCE, "q", 0, &value);
    /* A plan that contradicts the known one. */
    content = (struct vv_told_content){.kind = VV_TOLD_PLAN, .n = 1};
    content.plans[0] = (struct vv_plan){VV_TIME_MIN, VV_HOUR, VV_HOUR, 1, 0};
    vv_told_encode(&content, &value);
    hear(pair.a, VV_TOLD_PLAN, "p1", VV_TIME_MIN, &value);
    node_learn(pair.b);
    assert_int_equal(refused_by(pair.b), 2);
    assert_true(vv_fleet_lacks_any(pair.b->fleet, TEXT("t")));
    assert_false(vv_fleet_lacks_any(pair.b->fleet, TEXT("u")));
    assert_false(vv_fleet_lacks_any(pair.a->fleet, TEXT("t")));
    /* Plans that cannot be. */
    content.plans[0].bucket_ns = -1;
    vv_told_encode(&content, &value);
    hear(pair.a, VV_TOLD_PLAN, "p1", VV_TIME_MIN, &value);
    /* A source of the other sort; a canonical one whose id is no tag set. */
    content = (struct vv_told_content){.kind = VV_TOLD_SOURCE, .canonical = true};
    vv_told_encode(&content, &value);
    hear(pair.a, VV_TOLD_SOURCE, "p1", 0, &value);
    vv_told_encode(&content, &value);
    hear(pair.a, VV_TOLD_SOURCE, "b=1,a=1", 0, &value);
    /* Tags out of order, with control characters, of a canonical source. */
    content = (struct vv_told_content){.kind = VV_TOLD_TAGS, .n = 2};
    content.tags[0] = (struct vv_tag){TEXT("b"), TEXT("1")};
    content.tags[1] = (struct vv_tag){TEXT("a"), TEXT("1")};
    vv_told_encode(&content, &value);
    hear(pair.a, VV_TOLD_TAGS, "p1", 1, &value);
    content.tags[1] = (struct vv_tag){TEXT("c"), TEXT("\n")};
    vv_told_encode(&content, &value);
    hear(pair.a, VV_TOLD_TAGS, "p1", 2, &value);
    content.n = 1;
    vv_told_encode(&content, &value);
    hear(pair.a, VV_TOLD_TAGS, "host=h", 3, &value);
    vv_told_encode(&content, &value);
    hear(pair.a, VV_TOLD_TAGS, "p1", INT64_MAX, &value);
    /* A metric that another measurement has. */
    node_metric(pair.b, "t", "a", "b.c", VV_INT64);
    content = (struct vv_told_content){.kind = VV_TOLD_METRIC, .measurement_size = 3};
    content.described = (struct vv_described){.unit = {"", 0}, .description = {"", 0}};
    vv_told_encode(&content, &value);
    free(before);
    before = node_dump(pair.b);
    hear(pair.a, VV_TOLD_METRIC, "a.b.c", 0, &value);
    node_learn(pair.b);
    char *after = node_dump(pair.b);
    assert_int_equal(refused_by(pair.b), 10);
    assert_non_null(strstr(after, "measurement t a.b\n")); /* the name itself is harmless */
    size_t same = strlen(before);
    assert_int_equal(strlen(after), same + strlen("measurement t a.b\n"));
    free(before);
    free(after);
    vv_buffer_deinit(&value);
    close_pair(&pair);
}

static void a_newer_node_stops_learning(void **state)
{
    (void)state;
    struct pair pair = open_pair();
    struct vv_buffer value = {0};
    struct vv_error error = {0};
    vv_buffer_u8(&value, 2);
    hear(pair.a, VV_TOLD_SOURCE, "q", 0, &value);
    make_some(pair.a);
    assert_int_equal(vv_fleet_learn(pair.b->fleet, &error), VV_NEWER);
    node_keep(pair.b);
    assert_int_equal(vv_fleet_learn(pair.b->fleet, &error), VV_NEWER); /* nothing is skipped */
    vv_buffer_deinit(&value);
    close_pair(&pair);
}

static void limits_hold_while_learning(void **state)
{
    (void)state;
    fake_begin(3);
    struct pair pair = {node_open(1), node_open(2)};
    node_close_fleet(pair.b);
    pair.b->options.sources_max = 5;
    node_open_fleet(pair.b);
    assert_int_equal(vv_fleet_note_loaded(pair.b->fleet, NULL), VV_OK);
    for (int i = 0; i < 20; i++) {
        char text[32];
        snprintf(text, sizeof text, "id=p%d,n=%d", i, i);
        node_source(pair.a, "t", text, i);
    }
    node_metric(pair.a, "t", "pump", "temp", VV_INT64);
    node_flush(pair.a);
    node_learn(pair.b);
    assert_int_equal(vv_registry_source_count(pair.b->registry), 5);
    assert_int_equal(vv_registry_metric_count(pair.b->registry), 1); /* the rest is learnt */
    assert_int_equal(refused_by(pair.b), 2 * 15);
    assert_true(vv_fleet_lacks_any(pair.b->fleet, TEXT("t")));
    assert_false(vv_fleet_lacks_any(pair.b->fleet, TEXT("u")));
    node_keep(pair.b);
    node_restart(pair.b, true);
    node_learn(pair.b);
    assert_true(vv_fleet_lacks_any(pair.b->fleet, TEXT("t")));
    assert_false(vv_fleet_lacks_any(pair.b->fleet, TEXT("u")));
    close_pair(&pair);
}

/* All that was told is visited once more, and the store counts that. */
static void learn_all_again(struct node *node)
{
    hub.nodes[node->number].learnt = 0;
    hub.nodes[node->number].learnt_all++;
    node_learn(node);
}

static void limit(struct node *node, uint32_t sources)
{
    node_close_fleet(node);
    node->options.tenants_max = 2 * VV_FLEET_LACKING_MAX;
    node->options.sources_max = sources;
    node_open_fleet(node);
    assert_int_equal(vv_fleet_note_loaded(node->fleet, NULL), VV_OK);
}

/* Of a tenant, until all was learnt once more and a source or metric was not left out again; more
 * tenants than can be noted are as one. */
static void what_was_left_out_counts_until_all_is_learnt_without_it(void **state)
{
    for (int many = 0; many < 2; many++) {
        fake_begin(3);
        struct pair pair = {node_open(1), node_open(2)};
        (void)state;
        limit(pair.a, 10000);
        limit(pair.b, 5);
        for (int i = 0; i < (many ? VV_FLEET_LACKING_MAX + 10 : 20); i++) {
            char text[32];
            char tenant[16];
            snprintf(text, sizeof text, "id=p%d,n=%d", i, i);
            snprintf(tenant, sizeof tenant, many ? "t%d" : "t", i);
            node_source(pair.a, tenant, text, i);
        }
        node_flush(pair.a);
        assert_false(vv_fleet_leaves_out(pair.b->fleet));
        node_learn(pair.b);
        assert_true(vv_fleet_leaves_out(pair.b->fleet));
        assert_true(vv_fleet_lacks_any(pair.b->fleet, TEXT("t")));
        assert_int_equal(vv_fleet_lacks_any(pair.b->fleet, TEXT("u")), many);
        for (int i = 0; i < 3; i++) {
            learn_all_again(pair.b);
            assert_true(vv_fleet_lacks_any(pair.b->fleet, TEXT("t")));
        }
        node_keep(pair.b);
        pair.b->options.sources_max = 5000;
        node_restart(pair.b, false);
        hub.nodes[2].learnt_all = 0;
        node_learn(pair.b);
        assert_true(vv_fleet_lacks_any(pair.b->fleet, TEXT("t")));
        learn_all_again(pair.b);
        assert_false(vv_fleet_lacks_any(pair.b->fleet, TEXT("t")));
        assert_false(vv_fleet_leaves_out(pair.b->fleet));
        node_keep(pair.b);
        node_restart(pair.b, true);
        assert_false(vv_fleet_lacks_any(pair.b->fleet, TEXT("t")));
        close_pair(&pair);
    }
}

/* What a source's plan or tags are does not hide that there is one. */
static void what_is_refused_of_a_known_source_is_not_lacking(void **state)
{
    (void)state;
    struct pair pair = open_pair();
    make_some(pair.b);
    struct vv_buffer value = {0};
    static struct vv_told_content content;
    content = (struct vv_told_content){.kind = VV_TOLD_PLAN, .n = 1};
    content.plans[0] = (struct vv_plan){VV_TIME_MIN, VV_HOUR, VV_HOUR, 1, 0};
    vv_told_encode(&content, &value);
    hear(pair.a, VV_TOLD_PLAN, "p1", VV_TIME_MIN, &value);
    node_learn(pair.b);
    assert_int_equal(refused_by(pair.b), 1);
    assert_false(vv_fleet_lacks_any(pair.b->fleet, TEXT("t")));
    vv_buffer_deinit(&value);
    close_pair(&pair);
}

/* Up to when the others were heard lasts with what they told: a start while nobody can be heard
 * goes on from there, and not from what a confirm has not kept. */
static void what_was_heard_until_is_known_after_a_start(void **state)
{
    (void)state;
    struct pair pair = open_pair();
    vv_sim_clock_advance(&pair.b->clock, VV_SECOND);
    make_some(pair.a);
    node_flush(pair.a);
    node_learn(pair.b);
    int64_t heard = vv_fleet_heard_wall_ns(pair.b->fleet);
    assert_true(heard != INT64_MIN);
    node_restart(pair.b, true);
    assert_true(vv_fleet_heard_wall_ns(pair.b->fleet) == INT64_MIN); /* it was not confirmed */
    node_learn(pair.b);
    heard = vv_fleet_heard_wall_ns(pair.b->fleet);
    node_keep(pair.b);
    vv_sim_clock_advance(&pair.b->clock, VV_MINUTE);
    node_restart(pair.b, true);
    assert_true(vv_fleet_heard_wall_ns(pair.b->fleet) == heard);
    assert_false(
        vv_fleet_is_current(pair.b->fleet, VV_HOUR)); /* by this process it has not heard */
    node_learn(pair.b);
    assert_true(vv_fleet_is_current(pair.b->fleet, VV_SECOND));
    assert_true(vv_fleet_heard_wall_ns(pair.b->fleet) == heard); /* others may not have told all */
    vv_sim_clock_advance(&pair.b->clock, 20 * VV_SECOND);
    node_learn(pair.b);
    heard += 20 * VV_SECOND;
    assert_true(vv_fleet_heard_wall_ns(pair.b->fleet) == heard + VV_MINUTE);
    vv_sim_clock_jump(&pair.b->clock, heard + VV_MINUTE + VV_HOUR); /* as lately as before */
    assert_true(vv_fleet_heard_wall_ns(pair.b->fleet) == heard + VV_MINUTE + VV_HOUR);
    vv_sim_clock_jump(&pair.b->clock, heard + VV_MINUTE);
    node_keep(pair.b);
    vv_sim_clock_advance(&pair.b->clock, 4 * VV_MINUTE);
    node_learn(pair.b);
    assert_false(vv_fleet_has_learnt(pair.b->fleet));
    vv_sim_clock_advance(&pair.b->clock, VV_MINUTE);
    node_learn(pair.b);
    assert_true(vv_fleet_has_learnt(pair.b->fleet)); /* so old that it is kept without other news */
    node_keep(pair.b);
    assert_false(vv_fleet_has_learnt(pair.b->fleet));
    close_pair(&pair);
}

static void a_history_of_changes_is_bounded(void **state)
{
    (void)state;
    struct pair pair = open_pair();
    for (int i = 0; i < 100; i++) {
        char text[32];
        snprintf(text, sizeof text, "id=p,n=%d", i);
        node_source(i % 2 ? pair.a : pair.b, "t", text, i);
        node_flush(i % 2 ? pair.a : pair.b);
    }
    node_learn(pair.b);
    node_learn(pair.a);
    assert_same_nodes(pair.a, pair.b);
    struct vv_arena arena = {0};
    struct vv_tag_version versions[VV_TAG_HISTORY_MAX];
    size_t n;
    assert_int_equal(vv_registry_source_history(pair.a->registry, 0, &arena, versions, &n), VV_OK);
    assert_int_equal(n, VV_TAG_HISTORY_MAX);
    assert_int_equal(versions[0].from_ns, 100 - VV_TAG_HISTORY_MAX);
    vv_arena_deinit(&arena);
    close_pair(&pair);
}

/* ---- memory ---- */

static void memory_may_run_out_while_learning(void **state)
{
    (void)state;
    struct pair pair = open_pair();
    make_some(pair.a);
    node_source(pair.a, "t", "id=p1,site=y,more=z", 200);
    node_flush(pair.a);
    uint64_t failures = 0;
    for (uint64_t k = 1;; k++) {
        node_restart(pair.b, true); /* it knows nothing */
        vv_sim_memory_fail(k);
        enum vv_status status = vv_fleet_learn(pair.b->fleet, NULL);
        if (!vv_sim_memory_failed()) {
            assert_int_equal(status, VV_OK);
            break;
        }
        assert_int_equal(status, VV_NO_MEMORY);
        failures++;
        node_learn(pair.b);
        assert_same_nodes(pair.a, pair.b);
    }
    print_message("%llu failures\n", (unsigned long long)failures);
    assert_true(failures > 20);
    assert_same_nodes(pair.a, pair.b);
    close_pair(&pair);
}

static bool tell_and_keep(struct node *node)
{
    bool failed = false;
    for (size_t i = 0; i < node->n_touched; i++) {
        failed |= vv_fleet_tell(node->fleet, node->touched[i].kind, node->touched[i].number,
                                NULL) != VV_OK;
    }
    failed |= vv_fleet_confirm(node->fleet, NULL) != VV_OK;
    return !failed;
}

static void memory_may_run_out_while_telling_and_keeping(void **state)
{
    (void)state;
    struct pair pair = open_pair();
    uint64_t failures = 0;
    bool failed = true;
    for (uint32_t k = 1; failed; k++) {
        char text[32];
        snprintf(text, sizeof text, "id=a%u,n=%u", k, k);
        node_source(pair.a, "t", text, k);
        node_flush(pair.a);
        node_learn(pair.b);
        snprintf(text, sizeof text, "id=b%u,n=%u", k, k);
        node_source(pair.b, "t", text, k);
        node_metric(pair.b, "t", "fan", text, VV_FLOAT64);
        vv_sim_memory_fail(k);
        bool done = tell_and_keep(pair.b);
        failed = vv_sim_memory_failed();
        assert_true(done || failed);
        failures += failed;
        node_flush(pair.b);
        node_learn(pair.a);
        assert_same_nodes(pair.a, pair.b);
    }
    print_message("%llu failures\n", (unsigned long long)failures);
    assert_true(failures > 5);
    node_restart(pair.b, true);
    assert_same_nodes(pair.a, pair.b);
    close_pair(&pair);
}

/* ---- readers ---- */

static void readers_learn_at_most_now_and_then(void **state)
{
    (void)state;
    struct pair pair = open_pair();
    make_some(pair.a);
    vv_sim_clock_advance(&pair.b->clock, VV_SECOND);
    vv_fleet_learn_for_reader(pair.b->fleet);
    assert_same_nodes(pair.a, pair.b);
    node_source(pair.a, "t", "id=p9", 1);
    node_flush(pair.a);
    vv_sim_clock_advance(&pair.b->clock, 199 * VV_MILLISECOND);
    vv_fleet_learn_for_reader(pair.b->fleet);
    uint32_t source;
    assert_int_equal(vv_registry_source_by_id(pair.b->registry, 0, TEXT("p9"), &source),
                     VV_NOT_FOUND);
    vv_sim_clock_advance(&pair.b->clock, VV_MILLISECOND);
    vv_fleet_learn_for_reader(pair.b->fleet);
    assert_int_equal(vv_registry_source_by_id(pair.b->registry, 0, TEXT("p9"), &source), VV_OK);
    close_pair(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_one_saw_the_others_know),
        cmocka_unit_test(nothing_is_told_twice),
        cmocka_unit_test(numbers_stay_after_a_restart),
        cmocka_unit_test(what_was_not_kept_is_learnt_again),
        cmocka_unit_test(what_is_kept_stands_by_itself),
        cmocka_unit_test(what_was_told_in_vain_is_told_again),
        cmocka_unit_test(a_failing_flush_is_done_again),
        cmocka_unit_test(a_store_that_was_not_shared_is_told_of),
        cmocka_unit_test(the_latest_setting_counts),
        cmocka_unit_test(whoever_hears_of_a_shorter_life_says_so),
        cmocka_unit_test(of_a_longer_life_nothing_is_said),
        cmocka_unit_test(float_wins_over_int),
        cmocka_unit_test(of_versions_from_one_time_the_greater_counts),
        cmocka_unit_test(who_asked_first_has_chosen_the_plan),
        cmocka_unit_test(hostile_values_are_left_out),
        cmocka_unit_test(a_newer_node_stops_learning),
        cmocka_unit_test(limits_hold_while_learning),
        cmocka_unit_test(what_was_left_out_counts_until_all_is_learnt_without_it),
        cmocka_unit_test(what_is_refused_of_a_known_source_is_not_lacking),
        cmocka_unit_test(what_was_heard_until_is_known_after_a_start),
        cmocka_unit_test(a_history_of_changes_is_bounded),
        cmocka_unit_test(memory_may_run_out_while_learning),
        cmocka_unit_test(memory_may_run_out_while_telling_and_keeping),
        cmocka_unit_test(readers_learn_at_most_now_and_then),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
