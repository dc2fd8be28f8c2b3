/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replacing days that are frozen: all tiers have the new points' steps and nothing else changes,
 * whatever crashes when.
 */
#include "steps_rig.h"

#include "tier/unit.h"

/* The second day of h=a has so many points of v in an hour, the others what they had. */
static void assert_day_has(struct place *place, int n)
{
    uint64_t expected = (uint64_t)((HOURS - 24) * EACH + 24 * n);
    assert_int_equal(minutes(place, "m.v", "h=a"), expected);
    assert_int_equal(hours(place, "m.v", "h=a"), expected);
    assert_int_equal(days(place, "m.v", "h=a"), expected);
    assert_int_equal(hours(place, "m.v", NULL), expected + HOURS * EACH);
    assert_int_equal(days(place, "m.v", NULL), expected + HOURS * EACH);
    assert_int_equal(days(place, "m.w", NULL), 2 * HOURS * EACH);
    assert_int_equal(minutes(place, "m.w", "h=a"), HOURS * EACH);
    assert_int_equal(minutes(place, "m.v", "h=b"), HOURS * EACH);
}

static void begin_frozen(struct place *place)
{
    begin_whole(place);
    set_retentions(place, 2 * VV_DAY, 0, 0);
    expire(place);
    assert_day_has(place, EACH);
}

/* ---- tests ---- */

static void a_day_is_replaced_in_all_tiers_and_nothing_else(void **state)
{
    (void)state;
    static const int each[] = {2, 60, 1, 1800, 7}; /* rows in place of steps, and back */
    struct place place;
    begin_frozen(&place);
    for (size_t i = 0; i < sizeof each / sizeof each[0]; i++) {
        assert_int_equal(replace_day(&place, "m,h=a", 1, each[i]), VV_OK);
        assert_day_has(&place, each[i]);
        seal_all(&place); /* what sources have together is built again */
        assert_day_has(&place, each[i]);
        assert_int_equal(count(&place, "raw", "1h", "m.v", NULL), 0);
    }
    crash(&place, 1);
    assert_day_has(&place, 7);
    end(&place);
}

static void a_source_that_never_was_gets_what_tiers_keep(void **state)
{
    (void)state;
    struct place place;
    begin(&place);
    assert_int_equal(replace_day(&place, "m,h=new", 0, 30), VV_OK);
    assert_int_equal(hours(&place, "m.v", "h=new"), 24 * 30);
    assert_int_equal(days(&place, "m.v", "h=new"), 24 * 30);
    assert_int_equal(replace_day(&place, "m,h=new", -300, 30), VV_OK); /* only days are kept */
    crash(&place, 2);
    assert_int_equal(days(&place, "m.v", "h=new"), 2 * 24 * 30);
    assert_int_equal(hours(&place, "m.v", "h=new"), 24 * 30);
    assert_int_equal(days(&place, "m.v", "h=a"), HOURS * EACH);
    end(&place);
}

static enum vv_status count_volume(void *context, const struct vv_mark *mark)
{
    *(int *)context += vv_volume_is(&mark->key);
    return VV_OK;
}

static bool is_volume_marked(struct place *place)
{
    struct vv_store *store = place->store;
    int marks = 0;
    assert_int_equal(store->ops->scan_marks(store, INT64_MAX, NULL, count_volume, &marks, NULL),
                     VV_OK);
    return marks > 0;
}

static void forget_volumes(struct place *place)
{
    vv_sim_clock_advance(&place->clock, VV_HOUR);
    seal_all(place);
    assert_false(is_volume_marked(place));
}

/* Up to the end of its days, of all that h=a has. */
static void delete_all(struct place *place)
{
    order_deletion(place, "tag", "h=a", -start, DAYS * VV_DAY);
}

static void a_volume_of_hours_that_are_replaced_or_cut_is_made_again(void **state)
{
    (void)state;
    struct place place;
    begin_frozen(&place);
    forget_volumes(&place);
    assert_int_equal(replace_day(&place, "m,h=a", 1, 60), VV_OK);
    assert_true(is_volume_marked(&place));
    forget_volumes(&place);
    delete_all(&place);
    sweep_all(&place);
    assert_true(is_volume_marked(&place));
    end(&place);
}

static void what_is_not_frozen_is_not_replaced(void **state)
{
    (void)state;
    struct place place;
    begin_frozen(&place);
    assert_int_equal(replace_day(&place, "m,h=a", DAYS + 38, 1), VV_INVALID);
    assert_int_equal(replace_day(&place, "m,h=a", DAYS + 39, 1), VV_INVALID);
    assert_int_equal(hours(&place, "m.v", "h=a"), HOURS * EACH);
    end(&place);
}

static void assert_too_large(struct place *place, struct vv_buffer *text)
{
    struct vv_error error = {0};
    assert_int_equal(try_replace(place, (struct vv_str){(char *)text->data, text->size}, &error),
                     VV_TOO_LARGE);
    assert_day_has(place, EACH);
    vv_buffer_deinit(text);
    *text = (struct vv_buffer){0};
}

static void a_request_is_of_one_day_and_not_of_too_many_series(void **state)
{
    (void)state;
    struct place place;
    struct vv_buffer text = {0};
    begin_frozen(&place);
    fill_day(&text, "m,h=a", 1, 5);
    fill_day(&text, "m,h=b", 2, 5);
    assert_too_large(&place, &text);
    fill_day(&text, "m,h=a", 2, 5);
    fill_day(&text, "m,h=a", DAYS + 39, 1); /* not even frozen */
    assert_too_large(&place, &text);
    fill_day(&text, "m,h=a", 1, 5);
    for (unsigned i = 0; i < VV_REPLACE_SERIES_MAX; i++) {
        vv_buffer_format(&text, "m,h=n%u v=1 %lld\n", i, (long long)(start + VV_DAY));
    }
    assert_too_large(&place, &text);
    assert_int_equal(count(&place, "hour", "1h", "m.v", "h=n0"), 0);
    assert_int_equal(replace_day(&place, "m,h=a", 1, 5), VV_OK);
    assert_day_has(&place, 5);
    end(&place);
}

static void a_deletion_that_is_not_swept_is_waited_for(void **state)
{
    (void)state;
    struct place place;
    begin_frozen(&place);
    delete_all(&place);
    assert_int_equal(replace_day(&place, "m,h=a", 1, 5), VV_OVERLOAD);
    sweep_all(&place);
    assert_int_equal(hours(&place, "m.v", "h=a"), 0);
    assert_int_equal(replace_day(&place, "m,h=a", 1, 5), VV_OK);
    for (uint64_t turn = 0; turn < 4; turn++) { /* it is not swept again */
        assert_int_equal(hours(&place, "m.v", "h=a"), 24 * 5);
        assert_int_equal(days(&place, "m.v", "h=a"), 24 * 5);
        assert_int_equal(minutes(&place, "m.v", "h=a"), 24 * 5);
        sweep_all(&place);
        seal_all(&place);
        crash(&place, turn);
    }
    end(&place);
}

/* Of the blocks of several eras some may be there when it ends. */
static const struct vv_store_ops *whole_ops;
static int64_t puts_left;

static enum vv_status put_some(struct vv_store *store, const struct vv_piece *pieces, size_t n,
                               struct vv_error *error)
{
    for (size_t begin = 0; begin < n;) {
        size_t end = begin + 1;
        while (end < n && vv_span_key_compare(&pieces[end].key, &pieces[begin].key) == 0) {
            end++;
        }
        if (puts_left-- <= 0) {
            return vv_error_set(error, VV_IO, "the disk is gone");
        }
        enum vv_status status = whole_ops->put_blocks(store, pieces + begin, end - begin, error);
        if (status != VV_OK) {
            return status;
        }
        begin = end;
    }
    return VV_OK;
}

/* Whole before, or whole after. */
static bool assert_whole(struct place *place)
{
    bool is_new = hours(place, "m.v", "h=a") != HOURS * EACH;
    assert_day_has(place, is_new ? 5 : EACH);
    return is_new;
}

/* As it was. */
static void put_back(struct place *place)
{
    assert_int_equal(replace_day(place, "m,h=a", 1, EACH), VV_OK);
    assert_day_has(place, EACH);
}

static void a_crash_at_any_write_leaves_a_day_as_it_was_or_replaced(void **state)
{
    (void)state;
    struct place place;
    bool is_done = false;
    int n_new = 0;
    int n_old = 0;
    begin_frozen(&place);
    for (uint32_t wait = 0; !is_done; wait++) {
        vv_store_memory_fail_later(place.store, VV_IO, wait, 1000000);
        is_done = replace_day(&place, "m,h=a", 1, 5) == VV_OK;
        vv_store_memory_fail(place.store, VV_OK, 0);
        crash(&place, wait);
        *(assert_whole(&place) ? &n_new : &n_old) += 1;
        put_back(&place);
    }
    assert_true(n_old > 3);
    assert_true(n_new > 3);
    end(&place);
}

static void blocks_that_are_put_in_part_are_put_again_at_the_start(void **state)
{
    (void)state;
    struct place place;
    bool is_done = false;
    int turns = 0;
    begin_frozen(&place);
    whole_ops = place.store->ops;
    struct vv_store_ops ops = *whole_ops;
    ops.put_blocks = put_some;
    for (int64_t puts = 0; !is_done; puts++) {
        puts_left = puts;
        place.store->ops = &ops;
        is_done = replace_day(&place, "m,h=a", 1, 5) == VV_OK;
        place.store->ops = whole_ops;
        crash(&place, (uint64_t)puts);
        assert_day_has(&place, 5);
        put_back(&place);
        turns++;
    }
    assert_true(turns > 20); /* hours of minutes, the hours, the days */
    end(&place);
}

/* Of what it had noted nothing is carried out with another day. */
static void memory_that_runs_out_leaves_a_day_as_it_was_or_replaced(void **state)
{
    (void)state;
    struct place place;
    int n_failed = 0;
    bool is_done = false;
    begin_frozen(&place);
    for (uint32_t wait = 0; !is_done; wait++) {
        vv_store_memory_fail_later(place.store, VV_NO_MEMORY, wait, 1);
        is_done = replace_day(&place, "m,h=a", 1, 5) == VV_OK;
        vv_store_memory_fail(place.store, VV_OK, 0);
        n_failed += !is_done;
        vv_sim_clock_advance(&place.clock, VV_HOUR);
        seal_all(&place); /* opens the store again, where it has to be */
        assert_int_equal(replace_day(&place, "m,h=a", 2, EACH), VV_OK);
        (void)assert_whole(&place);
        put_back(&place);
    }
    assert_true(n_failed > 20);
    end(&place);
}

/* Something makes the first hour of the second day stale. */
static uint32_t source_of(struct place *place, const char *id)
{
    struct vv_registry *registry = vv_engine_query_context(place->engine)->registry;
    uint32_t tenant;
    uint32_t source;
    assert_int_equal(vv_registry_tenant(registry, TENANT, false, &tenant, NULL), VV_OK);
    assert_int_equal(vv_registry_source_by_id(registry, tenant, vv_str_of(id), &source), VV_OK);
    return source;
}

static void make_stale(struct place *place, const char *id, bool is_marked)
{
    struct vv_registry *registry = vv_engine_query_context(place->engine)->registry;
    struct vv_store *store = place->store;
    struct vv_buffer bytes = {0};
    uint32_t tenant;
    uint32_t source = source_of(place, id);
    const struct vv_unit unit = {start + VV_DAY, start + VV_DAY + VV_HOUR};
    assert_int_equal(vv_registry_tenant(registry, TENANT, false, &tenant, NULL), VV_OK);
    uint32_t space = vv_registry_tiers(registry, tenant).spaces[VV_SPACE_MINUTE];
    vv_unit_write(&bytes, VV_UNIT_STALE, &unit);
    const struct vv_piece run = {.kind = VV_PIECE_RUN,
                                 .key = vv_unit_key(VV_SPACE_MINUTE, space, source, 0, unit.from),
                                 .run = 7,
                                 .bytes = {(char *)bytes.data, bytes.size}};
    const struct vv_mark mark = {
        .due_ns = unit.to, .key = run.key, .span_ns = VV_HOUR, .run = run.run};
    assert_int_equal(store->ops->put_run(store, &run, NULL), VV_OK);
    if (is_marked) {
        assert_int_equal(store->ops->put_mark(store, &mark, NULL), VV_OK);
    }
    assert_int_equal(store->ops->confirm(store, NULL), VV_OK);
    vv_buffer_deinit(&bytes);
}

static void what_will_be_built_is_waited_for_and_what_will_not_is_an_error(void **state)
{
    (void)state;
    struct place place;
    begin_frozen(&place);
    make_stale(&place, "h=a", false);
    assert_int_equal(replace_day(&place, "m,h=a", 1, 5), VV_INVALID);
    make_stale(&place, "h=a", true);
    assert_int_equal(replace_day(&place, "m,h=a", 1, 5), VV_OVERLOAD);
    seal_all(&place);
    assert_day_has(&place, EACH);
    assert_int_equal(replace_day(&place, "m,h=a", 1, 5), VV_OK);
    assert_day_has(&place, 5);
    end(&place);
}

static size_t plans_of(struct place *place, const char *id)
{
    struct vv_registry *registry = vv_engine_query_context(place->engine)->registry;
    return vv_registry_source_plans(registry, source_of(place, id)).n;
}

/* It is another series of the request that is refused. */
static void what_is_refused_of_a_new_source_leaves_no_plan(void **state)
{
    (void)state;
    struct place place;
    struct vv_buffer text = {0};
    struct vv_error error = {0};
    int64_t first;
    int64_t last;
    begin_frozen(&place);
    fill_day(&text, "m,h=new", DAYS + 39, 1); /* not frozen, but known from now on */
    fill_day(&text, "m,h=other", DAYS + 39, 1);
    struct vv_str day = {(char *)text.data, text.size};
    assert_int_equal(try_replace(&place, day, &error), VV_INVALID);
    make_stale(&place, "h=other", true);
    vv_buffer_clear(&text);
    fill_day(&text, "m,h=new", 1, 5);
    fill_day(&text, "m,h=other", 1, 5);
    day = (struct vv_str){(char *)text.data, text.size};
    assert_int_equal(try_replace(&place, day, &error), VV_OVERLOAD);
    for (uint64_t turn = 0; turn < 2; turn++) {
        struct vv_registry *registry = vv_engine_query_context(place.engine)->registry;
        assert_int_equal(plans_of(&place, "h=new"), 0);
        assert_int_equal(plans_of(&place, "h=other"), 0);
        assert_false(vv_registry_source_times(registry, source_of(&place, "h=new"), &first, &last));
        crash(&place, turn);
    }
    seal_all(&place);
    assert_int_equal(try_replace(&place, day, &error), VV_OK);
    for (uint64_t turn = 0; turn < 2; turn++) {
        assert_int_equal(plans_of(&place, "h=new"), 1);
        assert_int_equal(hours(&place, "m.v", "h=new"), 24 * 5);
        assert_int_equal(days(&place, "m.v", "h=other"), 24 * 5);
        crash(&place, turn);
    }
    vv_buffer_deinit(&text);
    end(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_day_is_replaced_in_all_tiers_and_nothing_else),
        cmocka_unit_test(a_source_that_never_was_gets_what_tiers_keep),
        cmocka_unit_test(a_volume_of_hours_that_are_replaced_or_cut_is_made_again),
        cmocka_unit_test(what_is_not_frozen_is_not_replaced),
        cmocka_unit_test(a_request_is_of_one_day_and_not_of_too_many_series),
        cmocka_unit_test(a_deletion_that_is_not_swept_is_waited_for),
        cmocka_unit_test(a_crash_at_any_write_leaves_a_day_as_it_was_or_replaced),
        cmocka_unit_test(memory_that_runs_out_leaves_a_day_as_it_was_or_replaced),
        cmocka_unit_test(what_will_be_built_is_waited_for_and_what_will_not_is_an_error),
        cmocka_unit_test(what_is_refused_of_a_new_source_leaves_no_plan),
        cmocka_unit_test(blocks_that_are_put_in_part_are_put_again_at_the_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
