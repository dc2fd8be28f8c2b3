/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of tag keys and values. */
#include "query_fixture.h"

static void keys_and_values_are_counted(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f);
    (void)fixture_source(&f, "a", "north");
    (void)fixture_source(&f, "b", "south");
    (void)fixture_source(&f, "c", "north");
    (void)fixture_source(&f, "d", NULL);
    expect_csv(&f, VV_REQUEST_TAGS, WORDS("format=csv"), "key,sources\nsite,3\n");
    expect_csv(&f, VV_REQUEST_TAGS, WORDS("format=csv", "key=site"),
               "value,sources\nnorth,2\nsouth,1\n");
    expect_csv(&f, VV_REQUEST_TAGS, WORDS("format=csv", "key=site", "limit=1"),
               "value,sources\nnorth,2\n");
    expect_csv(&f, VV_REQUEST_TAGS, WORDS("format=csv", "key=none"), "value,sources\n");
    json_t *answer = ask_json(&f, VV_REQUEST_TAGS, WORDS("key=site"));
    assert_string_equal(json_string_value(json_object_get(answer, "key")), "site");
    const json_t *one = json_array_get(json_object_get(answer, "values"), 1);
    assert_string_equal(json_string_value(json_object_get(one, "value")), "south");
    assert_int_equal(json_integer_value(json_object_get(one, "sources")), 1);
    json_decref(answer);
    answer = ask_json(&f, VV_REQUEST_TAGS, WORDS("limit=5"));
    assert_int_equal(json_array_size(json_object_get(answer, "keys")), 1);
    json_decref(answer);
    fixture_deinit(&f);
}

static void memory_is_bounded(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f);
    for (int i = 0; i < 5000; i++) {
        char id[16];
        snprintf(id, sizeof id, "s%d", i);
        (void)fixture_source(&f, id, id);
    }
    f.limits.memory_bytes_max = 100000;
    expect_error(&f, VV_REQUEST_TAGS, WORDS("key=site"), VV_TOO_LARGE, "give a limit");
    json_decref(ask_json(&f, VV_REQUEST_TAGS, WORDS("key=site", "limit=100")));
    assert_int_equal(f.facts.rows, 100);
    fixture_deinit(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_and_values_are_counted),
        cmocka_unit_test(memory_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
