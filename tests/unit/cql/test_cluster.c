/* SPDX-License-Identifier: Apache-2.0 */
/* The cluster as the session sees it: found, changing, partly gone. */
#include "execution_fixture.h"

#include "cql/control_private.h"

/* ---- helpers ---- */

static void start_fakes(int n_nodes)
{
    fake_cluster_start(&fakes, n_nodes);
    site_init(&site, &fakes);
}

static void clear_fakes(void)
{
    memset(&fakes, 0, sizeof fakes);
}

/* Only the first nodes are contact points. */
static void contact(int n_nodes)
{
    site.options.contact_points = fake_contact_points(&fakes, n_nodes, site.contact_points);
}

static void run_opened_with(enum vvcql_status status)
{
    site_start(&site, false);
    site_run_opened(&site);
    assert_int_equal(site.error.status, status);
}

/* Until the tables are to be read again, and then reads them without waiting. */
static void read_again(void)
{
    struct vvcql_control *control = &site.cluster.control;
    while (control->refresh.at_ms == VVCQL_NEVER || control->is_reading) {
        site_step(&site);
    }
    site_reach(&site, &control->refresh);
    assert_true(control->is_reading);
    while (control->is_reading) {
        site_step(&site);
    }
}

static const struct vvcql_host *host_of(int node)
{
    char name[64];
    fake_node_name(&fakes.nodes[node], name);
    return vvcql_cluster_find_name(&site.cluster, name);
}

static int control_node(void)
{
    int found = -1;
    pthread_mutex_lock(&fakes.lock);
    for (int i = 0; i < fakes.n_nodes; i++) {
        found = fakes.nodes[i].control != NULL ? i : found;
    }
    pthread_mutex_unlock(&fakes.lock);
    return found;
}

static void list(int node, bool is_listed)
{
    pthread_mutex_lock(&fakes.lock);
    fakes.nodes[node].is_listed = is_listed;
    pthread_mutex_unlock(&fakes.lock);
}

static void tell(const char *type, const char *change, int node)
{
    fake_tell(&fakes, type, change, fakes.nodes[node].address, fakes.nodes[node].port);
}

static void assert_works(void)
{
    struct outcome outcome = {0};
    site_do(&site, idempotent(vvcql_statement_create("UPDATE t")), &outcome);
    assert_status(&outcome, VVCQL_OK);
}

/* ---- finding it ---- */

static void test_all_hosts_from_one_contact_point(void **state)
{
    (void)state;
    clear_fakes();
    start_fakes(4);
    contact(1);
    site_open(&site, 4);
    assert_int_equal(site.cluster.n_hosts, 4);
    assert_int_equal(site.cluster.n_local, 4);
    for (int i = 0; i < 4; i++) {
        const struct vvcql_host *host = host_of(i);
        assert_non_null(host);
        assert_string_equal(host->datacenter, "dc1");
        assert_string_equal(host->rack, "r1");
        assert_string_equal(host->release, "5.0.8");
        assert_int_equal(host->id[15], i + 1);
    }
    assert_int_equal(counted(&site.loop.tally.hosts), 4);
    close_site();
}

static void test_tables_of_an_older_cassandra(void **state)
{
    (void)state;
    clear_fakes();
    fakes.is_old = true;
    start_fakes(3);
    contact(1);
    site.options.port = fakes.nodes[0].port;
    site_open(&site, 3);
    prepare_everywhere(INSERT1);
    for (int i = 0; i < 3; i++) {
        struct outcome outcome = {0};
        site_do(&site, insert_at(i), &outcome);
        assert_answered_by(&outcome, &fakes.nodes[i]);
    }
    close_site();
}

static void test_addresses_that_are_any(void **state)
{
    (void)state;
    clear_fakes();
    fakes.has_any_address = true;
    start_fakes(3);
    contact(1);
    site_open(&site, 3);
    for (int i = 0; i < 3; i++) {
        assert_non_null(host_of(i));
    }
    close_site();
}

/* The host tells an address that can't be reached; the contact point can. */
static void test_host_behind_another_address(void **state)
{
    (void)state;
    clear_fakes();
    fakes.hides_address = true;
    start_fakes(1);
    site_open(&site, 1);
    assert_works();
    assert_memory_equal(site.cluster.hosts[0]->name, "127.0.0.99:", strlen("127.0.0.99:"));
    fake_node_drop(&fakes.nodes[0]);
    site_run_up(&site, 0);
    site_run_up(&site, 1); /* and again */
    assert_works();
    close_site();
}

static void test_rows_that_are_garbled(void **state)
{
    (void)state;
    clear_fakes();
    fakes.is_garbled = true;
    start_fakes(3);
    contact(1);
    site_open(&site, 3);
    assert_int_equal(site.cluster.n_hosts, 3);
    close_site();
}

static void test_names_are_looked_up(void **state)
{
    (void)state;
    clear_fakes();
    start_fakes(1);
    (void)snprintf(site.contact_points, sizeof site.contact_points,
                   "no-such-host.invalid,localhost:%u", fakes.nodes[0].port);
    site_open(&site, 1);
    assert_works();
    close_site();
}

static void test_contact_points_that_are_away(void **state)
{
    (void)state;
    clear_fakes();
    start_fakes(3);
    fake_node_stop(&fakes.nodes[0]);
    fake_node_stop(&fakes.nodes[1]);
    site_open(&site, 1);
    assert_works();
    close_site();
}

/* ---- not finding it ---- */

static void test_no_contact_point_answers(void **state)
{
    (void)state;
    clear_fakes();
    start_fakes(2);
    fake_node_stop(&fakes.nodes[0]);
    fake_node_stop(&fakes.nodes[1]);
    run_opened_with(VVCQL_UNREACHABLE);
    assert_non_null(strstr(site.error.message, "no contact point can be reached"));
    assert_non_null(strstr(site.error.message, "127.0.0.2"));
    close_site();
}

static void test_wrong_password(void **state)
{
    (void)state;
    clear_fakes();
    fakes.authenticator = "org.apache.cassandra.auth.PasswordAuthenticator";
    fakes.password = "right";
    start_fakes(2);
    site.options.user = "varve";
    site.options.password = "wrong";
    run_opened_with(VVCQL_REFUSED);
    assert_non_null(strstr(site.error.message, "username and/or password"));
    site_close(&site);
    site_init(&site, &fakes);
    site.options.user = "varve";
    site.options.password = "right";
    site_open(&site, 2);
    assert_works();
    close_site();
}

/* One host turns away, the other is away: the former says more. */
static void test_refusal_outlives_the_unreachable(void **state)
{
    (void)state;
    clear_fakes();
    fakes.authenticator = "org.apache.cassandra.auth.PasswordAuthenticator";
    fakes.password = "right";
    start_fakes(2);
    site.options.user = "varve";
    site.options.password = "wrong";
    fake_node_stop(&fakes.nodes[1]);
    run_opened_with(VVCQL_REFUSED);
    close_site();
}

static void test_wrong_datacenter(void **state)
{
    (void)state;
    clear_fakes();
    fakes.nodes[2].datacenter = "dc2";
    start_fakes(3);
    site.options.local_datacenter = "dc9";
    run_opened_with(VVCQL_INVALID);
    assert_non_null(strstr(site.error.message, "dc9"));
    assert_non_null(strstr(site.error.message, "dc1"));
    assert_non_null(strstr(site.error.message, "dc2"));
    close_site();
}

static void test_patient_session_waits(void **state)
{
    (void)state;
    struct outcome outcome = {0};
    clear_fakes();
    start_fakes(1);
    fake_node_stop(&fakes.nodes[0]);
    site_start(&site, true);
    while (strstr(site.logged, "control_failed") == NULL) {
        site_step(&site);
    }
    assert_false(site.is_opened);
    site_execute(&site, vvcql_statement_create("UPDATE t"), &outcome);
    assert_status(&outcome, VVCQL_UNREACHABLE);
    assert_non_null(strstr(outcome.error.message, "127.0.0.1"));
    fake_node_start(&fakes.nodes[0]);
    site_run_opened(&site);
    assert_int_equal(site.error.status, VVCQL_OK);
    assert_works();
    close_site();
}

/* ---- data centres ---- */

static void test_remote_hosts_only_when_allowed(void **state)
{
    (void)state;
    for (int allowed = 0; allowed < 2; allowed++) {
        struct outcome outcome = {0};
        clear_fakes();
        fakes.nodes[2].datacenter = "dc2";
        start_fakes(3);
        site.options.local_datacenter = "dc1";
        site.options.remote_hosts = allowed == 1;
        site_open(&site, allowed == 1 ? 3 : 2);
        assert_int_equal(site.cluster.n_local, 2);
        for (int i = 0; i < 6; i++) {
            site_do(&site, vvcql_statement_create("UPDATE t"), &outcome);
        }
        assert_int_equal(fake_asked(&fakes.nodes[2]), 0);
        fake_node_stop(&fakes.nodes[0]);
        fake_node_stop(&fakes.nodes[1]);
        site_run_up(&site, (uint64_t)allowed);
        site_do(&site, vvcql_statement_create("UPDATE t"), &outcome);
        assert_status(&outcome, allowed == 1 ? VVCQL_OK : VVCQL_UNREACHABLE);
        close_site();
    }
}

static void test_datacenter_of_the_contact_point(void **state)
{
    (void)state;
    clear_fakes();
    fakes.nodes[0].datacenter = "dc2";
    start_fakes(3);
    contact(1);
    site_open(&site, 1);
    assert_string_equal(site.cluster.local_datacenter, "dc2");
    assert_works();
    assert_int_equal(fake_asked(&fakes.nodes[0]), 1);
    close_site();
}

/* ---- changes ---- */

static void test_host_joins(void **state)
{
    (void)state;
    clear_fakes();
    start_fakes(3);
    list(2, false);
    contact(2);
    site_open(&site, 2);
    assert_null(host_of(2));
    list(2, true);
    tell("TOPOLOGY_CHANGE", "NEW_NODE", 2);
    read_again();
    site_run_up(&site, 3);
    prepare_everywhere(INSERT1);
    struct outcome outcome = {0};
    site_do(&site, insert_at(2), &outcome); /* the token map knows it */
    assert_answered_by(&outcome, &fakes.nodes[2]);
    close_site();
}

/* Its row comes after its event: the tables are read a second time. */
static void test_host_joins_slowly(void **state)
{
    (void)state;
    clear_fakes();
    start_fakes(2);
    list(1, false);
    contact(1);
    site_open(&site, 1);
    tell("STATUS_CHANGE", "UP", 1); /* an unknown host */
    read_again();
    assert_null(host_of(1));
    list(1, true);
    read_again();
    assert_non_null(host_of(1));
    site_run_up(&site, 2);
    close_site();
}

static void test_host_leaves(void **state)
{
    (void)state;
    clear_fakes();
    start_fakes(3);
    struct outcome outcome = {0};
    contact(1);
    site_open(&site, 3);
    prepare_everywhere(INSERT1);
    assert_int_equal(control_node(), 0);
    fake_node_do(&fakes.nodes[2], FAKE_SILENCE, 0);
    site_execute(&site, insert_at(2), &outcome); /* still under way */
    list(2, false);
    tell("TOPOLOGY_CHANGE", "REMOVED_NODE", 2);
    read_again();
    assert_null(host_of(2));
    assert_int_equal(site.cluster.n_hosts, 2);
    site_run_done(&site, &outcome);
    assert_status(&outcome, VVCQL_LOST);
    while (site.cluster.n_connections > 2) {
        site_step(&site);
    }
    site_run_up(&site, 2);
    assert_works();
    close_site();
}

static void test_host_changes_its_address(void **state)
{
    (void)state;
    clear_fakes();
    start_fakes(2);
    contact(1);
    site_open(&site, 2);
    fake_node_stop(&fakes.nodes[1]);
    site_run_up(&site, 1);
    pthread_mutex_lock(&fakes.lock);
    fakes.nodes[1].port = 0;
    pthread_mutex_unlock(&fakes.lock);
    fake_node_start(&fakes.nodes[1]); /* elsewhere */
    tell("STATUS_CHANGE", "UP", 1);
    read_again();
    site_run_up(&site, 2);
    assert_int_equal(site.cluster.n_hosts, 2);
    assert_non_null(host_of(1));
    close_site();
}

/* Without an event it would take the host's next try, which is far away. */
static void test_event_brings_a_host_back(void **state)
{
    (void)state;
    clear_fakes();
    start_fakes(2);
    contact(1);
    site.options.reconnect_first_ms = LONG_MS;
    site.options.reconnect_last_ms = LONG_MS;
    site_open(&site, 2);
    assert_int_equal(control_node(), 0);
    fake_node_stop(&fakes.nodes[1]);
    site_run_up(&site, 1);
    fake_node_start(&fakes.nodes[1]);
    tell("STATUS_CHANGE", "UP", 1);
    site_run_up(&site, 2);
    close_site();
}

static void test_down_event_closes_nothing(void **state)
{
    (void)state;
    clear_fakes();
    start_fakes(2);
    contact(1);
    site_open(&site, 2);
    tell("STATUS_CHANGE", "DOWN", 1);
    tell("SCHEMA_NONSENSE", "DOWN", 1);
    tell("TOPOLOGY_CHANGE", "MOVED_NODE", 1); /* seen after the others */
    read_again();
    assert_int_equal(site_hosts_up(&site), 2);
    assert_int_equal(counted(&site.loop.tally.connections_lost), 0);
    close_site();
}

static void test_hosts_come_back_by_themselves(void **state)
{
    (void)state;
    clear_fakes();
    start_fakes(2);
    site_open(&site, 2);
    for (int i = 0; i < 2; i++) {
        fake_node_stop(&fakes.nodes[i]);
    }
    site_run_up(&site, 0);
    for (int i = 0; i < 2; i++) {
        fake_node_start(&fakes.nodes[i]);
    }
    site_run_up(&site, 2);
    assert_works();
    while (!site.cluster.control.is_established) {
        site_step(&site);
    }
    close_site();
}

/* ---- the control connection ---- */

static void run_established(void)
{
    while (!site.cluster.control.is_established) {
        site_step(&site);
    }
}

static void test_control_moves_to_another_host(void **state)
{
    (void)state;
    clear_fakes();
    start_fakes(3);
    list(2, false);
    contact(1);
    site_open(&site, 2);
    list(2, true); /* nobody tells */
    fake_node_stop(&fakes.nodes[0]);
    while (site.cluster.control.is_established) {
        site_step(&site);
    }
    run_established();
    assert_int_equal(control_node(), 1);
    site_run_up(&site, 2); /* 1 and 2 */
    assert_non_null(host_of(2));
    tell("TOPOLOGY_CHANGE", "NEW_NODE", 2);
    read_again();
    close_site();
}

static void test_control_gives_up_who_does_not_answer(void **state)
{
    (void)state;
    clear_fakes();
    start_fakes(2);
    contact(1);
    site_open(&site, 2);
    struct vvcql_control *control = &site.cluster.control;
    tell("SCHEMA_CHANGE", "UPDATED", 0); /* cut short: the connection can't go on */
    while (control->is_established) {
        site_step(&site);
    }
    run_established();
    vvcql_control_read_in(control, 0);
    site_reach(&site, &control->refresh);
    assert_true(control->is_reading);
    site_reach(&site, &control->refresh); /* the time for it is over */
    assert_false(control->is_reading);
    assert_non_null(strstr(site.logged, "control_unread"));
    while (control->is_established) {
        site_step(&site);
    }
    run_established();
    assert_works();
    close_site();
}

/* ---- memory ---- */

/* Whatever allocation fails while it opens: it says so or tries again, and leaks nothing. */
static void test_memory_runs_out_while_opening(void **state)
{
    (void)state;
    clear_fakes();
    start_fakes(2);
    bool failed = true;
    uint64_t k = 1;
    for (; failed; k++) {
        site_init(&site, &fakes);
        site_start(&site, true); /* with its own allocations, see test_session.c */
        vv_sim_memory_fail(k);
        site_run_up(&site, 2);
        failed = vv_sim_memory_failed();
        assert_works();
        site_close(&site);
    }
    assert_in_range(k, 20, 10000);
    fake_cluster_stop(&fakes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_hosts_from_one_contact_point),
        cmocka_unit_test(test_tables_of_an_older_cassandra),
        cmocka_unit_test(test_addresses_that_are_any),
        cmocka_unit_test(test_host_behind_another_address),
        cmocka_unit_test(test_rows_that_are_garbled),
        cmocka_unit_test(test_names_are_looked_up),
        cmocka_unit_test(test_contact_points_that_are_away),
        cmocka_unit_test(test_no_contact_point_answers),
        cmocka_unit_test(test_wrong_password),
        cmocka_unit_test(test_refusal_outlives_the_unreachable),
        cmocka_unit_test(test_wrong_datacenter),
        cmocka_unit_test(test_patient_session_waits),
        cmocka_unit_test(test_remote_hosts_only_when_allowed),
        cmocka_unit_test(test_datacenter_of_the_contact_point),
        cmocka_unit_test(test_host_joins),
        cmocka_unit_test(test_host_joins_slowly),
        cmocka_unit_test(test_host_leaves),
        cmocka_unit_test(test_host_changes_its_address),
        cmocka_unit_test(test_event_brings_a_host_back),
        cmocka_unit_test(test_down_event_closes_nothing),
        cmocka_unit_test(test_hosts_come_back_by_themselves),
        cmocka_unit_test(test_control_moves_to_another_host),
        cmocka_unit_test(test_control_gives_up_who_does_not_answer),
        cmocka_unit_test(test_memory_runs_out_while_opening),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
