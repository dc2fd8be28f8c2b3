/* SPDX-License-Identifier: Apache-2.0 */
/* The door's counters and their text. */
#include "http/traffic.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void test_counts(void **state)
{
    (void)state;
    static struct vv_traffic traffic;
    static const char *const paths[] = {"/a", "/b", "other"};
    vv_traffic_count(&traffic, 0, 200, 1000);
    vv_traffic_count(&traffic, 0, 200, 1000);
    vv_traffic_count(&traffic, 0, 0, 1000);
    vv_traffic_count(&traffic, 2, 404, -1);
    vv_traffic_count(&traffic, 2, 777, INT64_MAX);
    vv_traffic_add(&traffic.accepted, 5);
    vv_traffic_add(&traffic.closed, 2);
    struct vv_buffer text = {0};
    vv_traffic_write(&traffic, paths, 3, &text);
    vv_buffer_u8(&text, 0);
    assert_int_equal(vv_buffer_status(&text), VV_OK);
    const char *all = (const char *)text.data;
    assert_non_null(strstr(all, "varve_http_requests_total{path=\"/a\",code=\"200\"} 2\n"));
    assert_non_null(strstr(all, "varve_http_requests_total{path=\"/a\",code=\"499\"} 1\n"));
    assert_non_null(strstr(all, "varve_http_requests_total{path=\"other\",code=\"404\"} 1\n"));
    assert_non_null(strstr(all, "varve_http_requests_total{path=\"other\",code=\"0\"} 1\n"));
    assert_non_null(strstr(all, "varve_http_request_seconds_count{path=\"/a\"} 3\n"));
    assert_null(strstr(all, "/b"));
    assert_non_null(strstr(all, "varve_http_connections 3\n"));
    vv_buffer_deinit(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_counts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
