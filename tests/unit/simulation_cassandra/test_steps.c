/* SPDX-License-Identifier: Apache-2.0 */
/* What only tiers hold can't be deleted where nodes share a store: that is said, and nothing is. */
#include "engines_fixture.h"

static enum vv_status try_delete(struct node *node, int64_t from, struct vv_error *error)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)from);
    const struct vv_parameter parameters[] = {
        {VV_STR_LITERAL("tenant"), VV_STR_LITERAL("t")},
        {VV_STR_LITERAL("all"), VV_STR_LITERAL("true")},
        {VV_STR_LITERAL("from"), vv_str_of(text)},
        {VV_STR_LITERAL("to"), VV_STR_LITERAL("2100-01-01T00:00:00Z")},
    };
    struct vv_request *request;
    struct vv_deleted deleted;
    enum vv_status status =
        vv_request_parse(VV_REQUEST_DELETE, parameters, 4, now_ns(), &request, error);
    if (status == VV_OK) {
        status = vv_engine_delete(node->rig.engine, request, &deleted, error);
        vv_request_destroy(request);
    }
    return status;
}

static void what_only_tiers_hold_is_not_deleted_where_nodes_share_a_store(void **state)
{
    (void)state;
    struct vv_error error = {0};
    has_tiers = true;
    rows_tenants[0] = "";
    make_cluster(1);
    struct node *node = make_node(0);
    write_at(node, now_ns());
    work(node);
    assert_int_equal(try_delete(node, now_ns() - 100 * VV_DAY, &error), VV_INVALID);
    assert_non_null(strstr(error.message, "nodes share a store"));
    assert_non_null(strstr(error.message, "delete from then on"));
    assert_int_equal(count_points(node), written);
    assert_int_equal(try_delete(node, now_ns() - VV_HOUR, &error), VV_OK);
    assert_int_equal(count_points(node), 0);
    drop_cluster();
    has_tiers = false;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_only_tiers_hold_is_not_deleted_where_nodes_share_a_store),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
