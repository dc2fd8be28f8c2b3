/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of system tables read as hosts and keyspaces, whatever is in them. */
#include "notation.h"

#include "cql/address.h"
#include "cql/responses.h"
#include "cql/topology.h"

static struct vvcql_topology topology;
static struct vvcql_error error;
static struct sockaddr_storage control;

static int set_up(void **state)
{
    (void)state;
    memset(&topology, 0, sizeof topology);
    return vvcql_address_parse(&control, "10.0.0.9", 9999) ? 0 : -1;
}

static int tear_down(void **state)
{
    vvcql_topology_deinit(&topology);
    return forget_bytes(state);
}

/* Rows of columns "name type" with values of notation; NULL is null. */
struct table {
    const char *const *names;
    const uint16_t *types;
    const char *const *values;
    uint32_t n_columns;
    uint32_t n_rows;
};

static void put_type(struct vvcql_buffer *body, uint16_t type)
{
    vvcql_write_u16(body, type);
    for (int i = 0; i < (type == VVCQL_TYPE_SET) + 2 * (type == VVCQL_TYPE_MAP); i++) {
        vvcql_write_u16(body, VVCQL_TYPE_TEXT);
    }
}

static struct vvcql_result *result_of(const struct table *table)
{
    struct vvcql_buffer body = {0};
    vvcql_write_u32(&body, 2);
    vvcql_write_u32(&body, 1);
    vvcql_write_u32(&body, table->n_columns);
    vvcql_write_string(&body, "k");
    vvcql_write_string(&body, "t");
    for (uint32_t i = 0; i < table->n_columns; i++) {
        vvcql_write_string(&body, table->names[i]);
        put_type(&body, table->types[i]);
    }
    vvcql_write_u32(&body, table->n_rows);
    for (uint32_t i = 0; i < table->n_rows * table->n_columns; i++) {
        struct vvcql_bytes value = {0};
        if (table->values[i] != NULL) {
            value = bytes(table->values[i]);
        }
        vvcql_write_value(&body, value);
    }
    struct vvcql_frame frame = {.opcode = VVCQL_OP_RESULT,
                                .body = {.data = body.data, .size = body.size}};
    struct vvcql_result *result;
    if (vvcql_result_create(&frame, "h", &result, &error) != VVCQL_OK) {
        fail_msg("%s", error.message);
    }
    vvcql_buffer_deinit(&body);
    return result;
}

#define ID1 "00000000 00000000 00000000 00000001"
#define ID2 "00000000 00000000 00000000 00000002"
#define ID3 "00000000 00000000 00000000 00000003"
#define ID4 "00000000 00000000 00000000 00000004"
#define TOKENS                                                                                     \
    "00000003 00000002 '-5' 00000013 '9223372036854775807' 00000014 '-9223372036854775808'"
#define MURMUR "'org.apache.cassandra.dht.Murmur3Partitioner'"

static const char *const local_names[] = {"host_id",         "data_center", "rack",
                                          "release_version", "tokens",      "partitioner",
                                          "rpc_address",     "rpc_port",    "broadcast_address"};
static const uint16_t local_types[] = {VVCQL_TYPE_UUID, VVCQL_TYPE_TEXT, VVCQL_TYPE_TEXT,
                                       VVCQL_TYPE_TEXT, VVCQL_TYPE_SET,  VVCQL_TYPE_TEXT,
                                       VVCQL_TYPE_INET, VVCQL_TYPE_INT,  VVCQL_TYPE_INET};

static enum vvcql_status add_local(const char *const *values, uint32_t n_rows)
{
    struct table table = {local_names, local_types, values, 9, n_rows};
    struct vvcql_result *result = result_of(&table);
    enum vvcql_status status = vvcql_topology_add_local(&topology, result, &control, 9042, &error);
    vvcql_result_destroy(result);
    return status;
}

static void assert_address(size_t host, const char *name)
{
    char text[VVCQL_HOST_MAX];
    assert_true(host < topology.n_hosts);
    vvcql_address_name(&topology.hosts[host].address, text);
    assert_string_equal(text, name);
}

static void test_local_row(void **state)
{
    static const char *const values[] = {ID1,    "'dc1'",    "'r1'",     "'5.0.8'", TOKENS,
                                         MURMUR, "7f000002", "00002353", "7f000003"};
    (void)state;
    assert_int_equal(add_local(values, 1), VVCQL_OK);
    assert_int_equal(topology.n_hosts, 1);
    const struct vvcql_found_host *host = &topology.hosts[0];
    assert_true(host->is_control);
    assert_int_equal(host->id[15], 1);
    assert_string_equal(host->datacenter, "dc1");
    assert_string_equal(host->rack, "r1");
    assert_string_equal(host->release, "5.0.8");
    assert_address(0, "127.0.0.2:9043");
    assert_int_equal(host->n_tokens, 3);
    assert_int_equal(host->tokens[0], -5);
    assert_true(host->tokens[1] == INT64_MAX);
    assert_true(host->tokens[2] == INT64_MIN);
}

static void test_local_address_that_is_not_told(void **state)
{
    static const char *const any[] = {ID1,    "'dc1'",    NULL,       NULL,      NULL,
                                      MURMUR, "00000000", "00002353", "7f000003"};
    static const char *const none[] = {ID2, "'dc1'", NULL, NULL, NULL, MURMUR, NULL, NULL, NULL};
    static const char *const odd[] = {ID3,    "'dc1'",  NULL,       NULL,      NULL,
                                      MURMUR, "7f0000", "7fffffff", "00000000"};
    (void)state;
    assert_int_equal(add_local(any, 1), VVCQL_OK);
    assert_address(0, "127.0.0.3:9043");
    assert_int_equal(add_local(none, 1), VVCQL_OK);
    assert_address(1, "10.0.0.9:9999");
    assert_int_equal(add_local(odd, 1), VVCQL_OK);
    assert_address(2, "10.0.0.9:9999");
}

static void test_local_row_that_is_none(void **state)
{
    static const char *const no_id[] = {NULL, "'dc1'", NULL, NULL, NULL, MURMUR, NULL, NULL, NULL};
    static const char *const bad_id[] = {"01", "'dc1'", NULL, NULL, NULL, MURMUR, NULL, NULL, NULL};
    static const char *const no_dc[] = {ID1, "", NULL, NULL, NULL, MURMUR, NULL, NULL, NULL};
    (void)state;
    assert_int_equal(add_local(no_id, 0), VVCQL_PROTOCOL);
    assert_int_equal(add_local(no_id, 1), VVCQL_PROTOCOL);
    assert_int_equal(add_local(bad_id, 1), VVCQL_PROTOCOL);
    assert_int_equal(add_local(no_dc, 1), VVCQL_PROTOCOL);
    assert_int_equal(topology.n_hosts, 0);
}

static void test_tokens_of_another_partitioner(void **state)
{
    static const char *const values[] = {
        ID1,  "'dc1'", NULL, NULL, TOKENS, "'org.apache.cassandra.dht.RandomPartitioner'",
        NULL, NULL,    NULL};
    (void)state;
    assert_int_equal(add_local(values, 1), VVCQL_OK);
    assert_true(topology.has_no_tokens);
    assert_int_equal(topology.hosts[0].n_tokens, 0);
}

/* 7, nothing, a sign, letters, two numbers too large, null. */
#define GARBLED_TOKENS                                                                             \
    "00000007 00000001 '7' 00000000 00000001 '-' 00000002 '1x' 00000014 '18446744073709551615' "   \
    "00000013 '9223372036854775808' ffffffff"

static void test_garbled_tokens_are_left_out(void **state)
{
    static const char *const tokens[] = {
        GARBLED_TOKENS,
        "00000002 00000001 '7' 00000005 '8'", /* cut short */
        "7fffffff 00000001 '7'",
        "ff",
    };
    (void)state;
    for (size_t i = 0; i < sizeof tokens / sizeof tokens[0]; i++) {
        const char *values[] = {ID1, "'dc1'", NULL, NULL, tokens[i], MURMUR, NULL, NULL, NULL};
        assert_int_equal(add_local(values, 1), VVCQL_OK);
        assert_int_equal(topology.hosts[0].n_tokens, i < 2);
        vvcql_topology_deinit(&topology);
    }
}

static const char *const peer_names[] = {"peer",           "host_id",     "data_center",
                                         "native_address", "native_port", "tokens"};
static const uint16_t peer_types[] = {VVCQL_TYPE_INET, VVCQL_TYPE_UUID, VVCQL_TYPE_TEXT,
                                      VVCQL_TYPE_INET, VVCQL_TYPE_INT,  VVCQL_TYPE_SET};

static void add_peers(const char *const *values, uint32_t n_rows)
{
    struct table table = {peer_names, peer_types, values, 6, n_rows};
    struct vvcql_result *result = result_of(&table);
    assert_int_equal(vvcql_topology_add_peers(&topology, result, 9042, &error), VVCQL_OK);
    vvcql_result_destroy(result);
}

static void test_peers(void **state)
{
    static const char *const values[] = {
        "0a000001",
        ID1,
        "'dc1'",
        "7f000001",
        "00002353",
        TOKENS,
        "0a000002",
        ID2,
        "'dc1'",
        "00000000",
        "00002354",
        NULL,
        "20010db8000000000000000000000001",
        ID3,
        "'dc2'",
        NULL,
        NULL,
        NULL,
        "0a000004",
        ID1,
        "'dc1'",
        "7f000004",
        NULL,
        NULL, /* ID1 is there already */
        "0a000005",
        NULL,
        "'dc1'",
        "7f000005",
        NULL,
        NULL, /* no id */
        "0a000006",
        ID4,
        NULL,
        "7f000006",
        NULL,
        NULL, /* no data centre */
        NULL,
        ID4,
        "'dc1'",
        "7f",
        NULL,
        NULL, /* no address */
        "00000000",
        ID4,
        "'dc1'",
        NULL,
        "00000000",
        NULL, /* none either */
    };
    (void)state;
    add_peers(values, 8);
    assert_int_equal(topology.n_hosts, 3);
    assert_address(0, "127.0.0.1:9043");
    assert_address(1, "10.0.0.2:9044");
    assert_address(2, "[2001:db8::1]:9042");
    assert_string_equal(topology.hosts[2].datacenter, "dc2");
    assert_int_equal(topology.hosts[0].n_tokens, 3);
    assert_false(topology.hosts[0].is_control);
}

static void test_peers_without_the_columns(void **state)
{
    static const char *const names[] = {"host_id", "data_center", "rpc_address"};
    static const uint16_t types[] = {VVCQL_TYPE_UUID, VVCQL_TYPE_TEXT, VVCQL_TYPE_INET};
    static const char *const values[] = {ID1, "'dc1'", "7f000001"};
    (void)state;
    struct table table = {names, types, values, 3, 1};
    struct vvcql_result *result = result_of(&table);
    assert_int_equal(vvcql_topology_add_peers(&topology, result, 7, &error), VVCQL_OK);
    vvcql_result_destroy(result);
    assert_address(0, "127.0.0.1:7");
    table.n_columns = 2; /* the address is gone, too */
    result = result_of(&table);
    assert_int_equal(vvcql_topology_add_peers(&topology, result, 7, &error), VVCQL_OK);
    vvcql_result_destroy(result);
    assert_int_equal(topology.n_hosts, 1);
}

static enum vvcql_status add_keyspaces(const char *const *values, uint32_t n_rows)
{
    static const char *const names[] = {"keyspace_name", "replication"};
    static const uint16_t types[] = {VVCQL_TYPE_TEXT, VVCQL_TYPE_MAP};
    struct table table = {names, types, values, 2, n_rows};
    struct vvcql_result *result = result_of(&table);
    enum vvcql_status status = vvcql_topology_add_keyspaces(&topology, result, &error);
    vvcql_result_destroy(result);
    return status;
}

static const char *const keyspaces[] = {
    "'ks'",    "00000002 00000005 'class' 00000001 'N' 00000003 'dc1' 00000001 '3'",
    "'empty'", "00000000",
    "'odd'",   "00000002 00000001 'a' 00000001 'b' 00000005 'ccccc'",
    "'null'",  NULL,
    NULL,      "00000000",
    "'nulls'", "00000001 ffffffff ffffffff",
};

static void test_keyspaces(void **state)
{
    (void)state;
    assert_int_equal(add_keyspaces(keyspaces, 6), VVCQL_OK);
    assert_int_equal(topology.n_keyspaces, 4);
    assert_string_equal(topology.keyspaces[0].name, "ks");
    assert_int_equal(topology.keyspaces[0].n, 2);
    assert_string_equal(topology.keyspaces[0].keys[1], "dc1");
    assert_string_equal(topology.keyspaces[0].values[1], "3");
    assert_int_equal(topology.keyspaces[1].n, 0);
    assert_int_equal(topology.keyspaces[2].n, 1);
    assert_string_equal(topology.keyspaces[3].name, "nulls");
    assert_string_equal(topology.keyspaces[3].values[0], "");
}

static void test_memory_runs_out(void **state)
{
    static const char *const local[] = {ID1,    "'dc1'",    NULL, NULL, TOKENS,
                                        MURMUR, "7f000002", NULL, NULL};
    (void)state;
    struct table table = {local_names, local_types, local, 9, 1};
    bool failed = true;
    uint64_t k = 1;
    for (; failed; k++) {
        struct vvcql_result *result = result_of(&table);
        vv_sim_memory_fail(k);
        enum vvcql_status status =
            vvcql_topology_add_local(&topology, result, &control, 9042, &error);
        failed = vv_sim_memory_failed();
        assert_int_equal(status, failed ? VVCQL_NO_MEMORY : VVCQL_OK);
        vvcql_result_destroy(result);
        vvcql_topology_deinit(&topology);
    }
    assert_in_range(k, 3, 100);
}

static void test_memory_runs_out_for_keyspaces(void **state)
{
    static const char *const names[] = {"keyspace_name", "replication"};
    static const uint16_t types[] = {VVCQL_TYPE_TEXT, VVCQL_TYPE_MAP};
    (void)state;
    struct table table = {names, types, keyspaces, 2, 6};
    bool failed = true;
    uint64_t k = 1;
    for (; failed; k++) {
        struct vvcql_result *result = result_of(&table);
        vv_sim_memory_fail(k);
        enum vvcql_status status = vvcql_topology_add_keyspaces(&topology, result, &error);
        failed = vv_sim_memory_failed();
        assert_int_equal(status, failed ? VVCQL_NO_MEMORY : VVCQL_OK);
        vvcql_result_destroy(result);
        vvcql_topology_deinit(&topology);
    }
    assert_in_range(k, 5, 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_local_row, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_local_address_that_is_not_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_local_row_that_is_none, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_tokens_of_another_partitioner, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_garbled_tokens_are_left_out, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_peers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_peers_without_the_columns, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_keyspaces, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_memory_runs_out, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_memory_runs_out_for_keyspaces, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
