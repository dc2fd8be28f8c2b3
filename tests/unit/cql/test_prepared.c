/* SPDX-License-Identifier: Apache-2.0 */
/* The table of prepared texts, and partition keys made of their values. */
#include "notation.h"

#include "cql/prepared.h"
#include "cql/statement_private.h"

#include <pthread.h>

#define TEXTS 500

static struct vvcql_prepared_texts texts;

static int set_up(void **state)
{
    (void)state;
    return vvcql_prepared_init(&texts) ? 0 : -1;
}

static int tear_down(void **state)
{
    vvcql_prepared_deinit(&texts);
    return forget_bytes(state);
}

static struct vvcql_prepared *find_number(int i)
{
    char text[64];
    (void)snprintf(text, sizeof text, "SELECT %d", i);
    return vvcql_prepared_find(&texts, text);
}

static void test_same_text_same_object(void **state)
{
    (void)state;
    struct vvcql_prepared *found[TEXTS];
    for (int i = 0; i < TEXTS; i++) {
        found[i] = find_number(i);
        assert_non_null(found[i]);
    }
    for (int i = 0; i < TEXTS; i++) { /* the table has grown meanwhile */
        assert_ptr_equal(find_number(i), found[i]);
    }
    assert_int_equal(texts.n, TEXTS);
    assert_null(vvcql_prepared_id_of(found[0]).data);
}

static void *find_all(void *context)
{
    struct vvcql_prepared **found = context;
    for (int i = 0; i < TEXTS; i++) {
        found[i] = find_number(i);
    }
    return NULL;
}

static void test_threads_find_the_same(void **state)
{
    (void)state;
    static struct vvcql_prepared *found[2][TEXTS];
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, find_all, found[i]), 0);
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    assert_memory_equal(found[0], found[1], sizeof found[0]);
}

/* Two markers; the key is of the second and the first. */
static void keep_two(struct vvcql_prepared *prepared)
{
    struct vvcql_prepared_answer answer = {
        .id = bytes("0102"), .n_key_parts = 2, .key_parts = {1, 0}, .n_values = 2, .keyspace = "k"};
    assert_true(vvcql_prepared_keep(prepared, &answer));
}

static void test_keeps_the_last_answer(void **state)
{
    (void)state;
    struct vvcql_prepared *prepared = find_number(1);
    keep_two(prepared);
    assert_bytes(vvcql_prepared_id_of(prepared), "0102");
    struct vvcql_prepared_answer answer = {.id = bytes("030405"), .n_values = 1};
    assert_true(vvcql_prepared_keep(prepared, &answer));
    assert_bytes(vvcql_prepared_id_of(prepared), "030405");
    assert_int_equal(prepared->n_values, 1);
    assert_int_equal(prepared->n_key_parts, 0);
    assert_string_equal(prepared->keyspace, "");
}

static bool key_of(const struct vvcql_prepared *prepared, const struct vvcql_statement *statement,
                   const char *expected)
{
    struct vvcql_buffer key = {0};
    bool is_known = vvcql_prepared_key(prepared, statement, &key);
    if (is_known) {
        assert_bytes((struct vvcql_bytes){.data = key.data, .size = key.size}, expected);
    }
    vvcql_buffer_deinit(&key);
    return is_known;
}

static void test_key_of_one_value_is_the_value(void **state)
{
    (void)state;
    struct vvcql_prepared *prepared = find_number(1);
    struct vvcql_prepared_answer answer = {
        .id = bytes("01"), .n_key_parts = 1, .key_parts = {1}, .n_values = 2};
    struct vvcql_statement *statement = vvcql_statement_prepared(prepared);
    vvcql_add_int(statement, 7);
    vvcql_add_text(statement, "abc");
    assert_false(key_of(prepared, statement, "")); /* not prepared yet */
    assert_true(vvcql_prepared_keep(prepared, &answer));
    assert_true(key_of(prepared, statement, "'abc'"));
    vvcql_statement_destroy(statement);
}

static void test_key_of_two_values_in_its_order(void **state)
{
    (void)state;
    struct vvcql_prepared *prepared = find_number(1);
    struct vvcql_statement *statement = vvcql_statement_prepared(prepared);
    keep_two(prepared);
    vvcql_add_int(statement, 7);
    assert_false(key_of(prepared, statement, "")); /* a value is missing */
    vvcql_add_text(statement, "abc");
    assert_true(key_of(prepared, statement, "0003 'abc' 00 0004 00000007 00"));
    vvcql_statement_destroy(statement);
}

static void test_no_key_of_null_or_unset(void **state)
{
    (void)state;
    struct vvcql_prepared *prepared = find_number(1);
    keep_two(prepared);
    for (int i = 0; i < 2; i++) {
        struct vvcql_statement *statement = vvcql_statement_prepared(prepared);
        vvcql_add_int(statement, 7);
        if (i == 0) {
            vvcql_add_null(statement);
        } else {
            vvcql_add_unset(statement);
        }
        assert_false(key_of(prepared, statement, ""));
        vvcql_statement_destroy(statement);
    }
}

static void test_memory_runs_out(void **state)
{
    (void)state;
    bool failed = true;
    for (uint64_t k = 1; failed; k++) {
        struct vvcql_prepared_texts own;
        struct vvcql_prepared_answer answer = {.id = bytes("0102")};
        vv_sim_memory_fail(k);
        bool is_made = vvcql_prepared_init(&own);
        if (is_made) {
            for (int i = 0; i < 70; i++) {
                char text[16];
                (void)snprintf(text, sizeof text, "%d", i);
                struct vvcql_prepared *prepared = vvcql_prepared_find(&own, text);
                if (prepared != NULL && !vvcql_prepared_keep(prepared, &answer)) {
                    assert_null(vvcql_prepared_id_of(prepared).data);
                }
            }
            vvcql_prepared_deinit(&own);
        }
        failed = vv_sim_memory_failed();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_same_text_same_object, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_threads_find_the_same, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_keeps_the_last_answer, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_key_of_one_value_is_the_value, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_key_of_two_values_in_its_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_key_of_null_or_unset, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_memory_runs_out, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
