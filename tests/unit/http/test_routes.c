/* SPDX-License-Identifier: Apache-2.0 */
/* The table of routes agrees with itself. */
#include "http/routes.h"

#include "http/traffic.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void test_paths_are_those_of_the_table(void **state)
{
    (void)state;
    size_t n_routes = 0;
    size_t n_paths = 0;
    const struct vv_route *routes = vv_route_table(&n_routes);
    const char *const *paths = vv_route_paths(&n_paths);
    assert_true(n_paths <= VV_TRAFFIC_ROUTES_MAX);
    size_t highest = 0;
    for (size_t i = 0; i < n_routes; i++) {
        size_t index = vv_route_path_index(&routes[i]);
        assert_true(index + 1 < n_paths);
        assert_string_equal(paths[index], routes[i].path);
        assert_true(index == highest || index == highest + 1);
        highest = index;
    }
    assert_int_equal(highest + 2, n_paths);
    assert_string_equal(paths[vv_route_path_index(NULL)], "other");
}

static void test_find(void **state)
{
    (void)state;
    unsigned methods = 0;
    const struct vv_route *list = vv_route_find("/api/v1/metrics", "GET", &methods);
    const struct vv_route *set = vv_route_find("/api/v1/metrics", "PUT", &methods);
    assert_non_null(list);
    assert_non_null(set);
    assert_ptr_not_equal(list, set);
    assert_ptr_equal(vv_route_find("/api/v1/metrics", "POST", &methods), set);
    assert_ptr_equal(vv_route_find("/api/v1/metrics", "HEAD", &methods), list);
    assert_null(vv_route_find("/api/v1/metrics", "DELETE", &methods));
    char text[40];
    vv_route_methods(methods, text, sizeof text);
    assert_string_equal(text, "GET, HEAD, POST, PUT");
    assert_null(vv_route_find("/write", "get", &methods));
    vv_route_methods(methods, text, sizeof text);
    assert_string_equal(text, "POST");
    assert_null(vv_route_find("/write/", "POST", &methods));
    assert_int_equal(methods, 0);
    vv_route_methods(0, text, sizeof text);
    assert_string_equal(text, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paths_are_those_of_the_table),
        cmocka_unit_test(test_find),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
