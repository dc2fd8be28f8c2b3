/* SPDX-License-Identifier: Apache-2.0 */
/* The token map: keyspaces and their replication settings. */
#include "rings.h"
#include "simulation/sim_memory.h"

static void strategies_that_place_by_token(void **state)
{
    (void)state;
    const struct vvcql_ring_host hosts[] = {{"dc1", "r1", TOKENS(10)}, {"dc1", "r1", TOKENS(20)}};
    static const struct {
        const char *text;
        const char *replicas;
    } settings[] = {
        {"org.apache.cassandra.locator.SimpleStrategy replication_factor=2", "0 1"},
        {"org.apache.cassandra.locator.NetworkTopologyStrategy dc1=2", "0 1"},
        {"NetworkTopologyStrategy", ""},
        {"NetworkTopologyStrategy DC1=2", ""},
        {"NetworkTopologyStrategy replication_factor=2", ""},
        {"SimpleStrategy dc1=2", ""},
        {"org.apache.cassandra.locator.LocalStrategy", ""},
        {"org.apache.cassandra.locator.EverywhereStrategy dc1=2", ""},
        {"org.apache.cassandra.locator.OldNetworkTopologyStrategy dc1=2", ""},
        {"org.apache.cassandra.locator. dc1=2", ""},
        {"simplestrategy replication_factor=2", ""},
        {"dc1=2", ""},
    };
    for (size_t i = 0; i < LENGTH(settings); i++) {
        check_one(hosts, 2, settings[i].text, 0, settings[i].replicas);
    }
}

static void factors(void **state)
{
    (void)state;
    const struct vvcql_ring_host hosts[] = {
        {"dc1", "r1", TOKENS(10)}, {"dc1", "r1", TOKENS(20)}, {"dc1", "r1", TOKENS(30)}};
    static const struct {
        const char *text;
        const char *replicas;
    } settings[] = {
        {"3", "0 1 2"},
        {"03", "0 1 2"},
        {"2/1", "0"},
        {"3/1", "0 1"},
        {"4/1", "0 1 2"},
        {"9/7", "0 1"},
        {"2147483647", "0 1 2"},
        {"0", ""},
        {"", ""},
        {"-1", ""},
        {"+1", ""},
        {" 1", ""},
        {"1x", ""},
        {"2147483648", ""},
        {"99999999999999999999999", ""},
        {"/", ""},
        {"/1", ""},
        {"3/", ""},
        {"3/0", ""},
        {"3/3", ""},
        {"3/4", ""},
        {"3/1/1", ""},
        {"3/-1", ""},
    };
    for (size_t i = 0; i < LENGTH(settings); i++) {
        const char *keys[] = {"class", "dc1", "replication_factor"};
        const char *values[] = {"NetworkTopologyStrategy", settings[i].text, settings[i].text};
        struct vvcql_ring_keyspace keyspace = {"k", keys, values, 3};
        struct vvcql_token_map *map = vvcql_token_map_create(hosts, 3, &keyspace, 1);
        check_replicas(map, 0, settings[i].replicas);
        vvcql_token_map_destroy(map);
        values[0] = "SimpleStrategy";
        map = vvcql_token_map_create(hosts, 3, &keyspace, 1);
        check_replicas(map, 0, settings[i].replicas);
        vvcql_token_map_destroy(map);
    }
}

static void keyspaces_by_name(void **state)
{
    (void)state;
    const struct vvcql_ring_host hosts[] = {{"dc1", "r1", TOKENS(10)}, {"dc1", "r1", TOKENS(20)}};
    static const char *const texts[] = {
        "NetworkTopologyStrategy dc1=2", "SimpleStrategy replication_factor=2",
        "NetworkTopologyStrategy dc2=7 dc1=2", "LocalStrategy", "NetworkTopologyStrategy dc1=1"};
    static const char *const names[] = {"telemetry", "simple", "a", "system", "one"};
    struct keyspace keyspaces[5];
    struct vvcql_ring_keyspace ring_keyspaces[5];
    for (size_t i = 0; i < 5; i++) {
        read_keyspace(&keyspaces[i], names[i], texts[i]);
        ring_keyspaces[i] = keyspaces[i].ring_keyspace;
    }
    struct vvcql_token_map *map = vvcql_token_map_create(hosts, 2, ring_keyspaces, 5);
    assert_non_null(map);
    static const size_t expected[] = {2, 2, 2, 0, 1};
    const uint32_t *found[5];
    for (size_t i = 0; i < 5; i++) {
        size_t n;
        found[i] = vvcql_token_map_find(map, names[i], 12, &n);
        assert_int_equal(n, expected[i]);
        assert_true(n == 0 || found[i][0] == 1);
    }
    /* Equal settings, one table; data centres that no host is in make no difference. */
    assert_ptr_equal(found[0], found[2]);
    assert_ptr_not_equal(found[0], found[1]);
    size_t n = 7;
    assert_null(vvcql_token_map_find(map, "tele", 12, &n));
    assert_int_equal(n, 0);
    n = 7;
    assert_null(vvcql_token_map_find(map, "", 12, &n));
    assert_int_equal(n, 0);
    vvcql_token_map_destroy(map);
}

static void maps_without_anything(void **state)
{
    (void)state;
    size_t n = 7;
    assert_null(vvcql_token_map_find(NULL, "k", 0, &n));
    assert_int_equal(n, 0);
    vvcql_token_map_destroy(NULL);
    struct vvcql_token_map *map = vvcql_token_map_create(NULL, 0, NULL, 0);
    assert_non_null(map);
    check_replicas(map, 0, "");
    vvcql_token_map_destroy(map);
    check_one(NULL, 0, "SimpleStrategy replication_factor=1", 0, "");
}

static void without_memory(void **state)
{
    (void)state;
    const struct vvcql_ring_host hosts[] = {{"dc1", "r1", TOKENS(10)}, {"dc2", "r1", TOKENS(20)}};
    struct keyspace keyspaces[3];
    read_keyspace(&keyspaces[0], "k", "NetworkTopologyStrategy dc1=3 dc2=3");
    read_keyspace(&keyspaces[1], "l", "SimpleStrategy replication_factor=2");
    read_keyspace(&keyspaces[2], "m", "NetworkTopologyStrategy dc1=3 dc2=3");
    const struct vvcql_ring_keyspace ring_keyspaces[] = {
        keyspaces[0].ring_keyspace, keyspaces[1].ring_keyspace, keyspaces[2].ring_keyspace};
    uint64_t k = 0;
    bool failed = true;
    while (failed) {
        vv_sim_memory_fail(++k);
        struct vvcql_token_map *map = vvcql_token_map_create(hosts, 2, ring_keyspaces, 3);
        failed = vv_sim_memory_failed();
        assert_int_equal(map == NULL, failed);
        vvcql_token_map_destroy(map);
    }
    assert_in_range(k, 20, 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strategies_that_place_by_token),
        cmocka_unit_test(factors),
        cmocka_unit_test(keyspaces_by_name),
        cmocka_unit_test(maps_without_anything),
        cmocka_unit_test(without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
