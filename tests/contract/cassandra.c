/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store on a real Cassandra, of which the environment tells:
 *
 *   VARVE_CASSANDRA       contact points
 *   VARVE_CASSANDRA_PIDS  its processes, which are stopped to make writes fail
 */
#include "cassandra_open.h"

#include <signal.h>
#include <string.h>
#include <sys/types.h>

const char *contract_contact_points(void)
{
    return getenv("VARVE_CASSANDRA");
}

static bool is_there(void)
{
    const char *servers = contract_contact_points();
    return servers && servers[0];
}

static void crash(struct contract *contract, uint64_t seed)
{
    (void)seed;
    contract_close(contract);
    contract_open(contract);
}

static void signal_servers(int signal_number)
{
    const char *at = getenv("VARVE_CASSANDRA_PIDS");
    assert_non_null(at);
    while (*at) {
        char *end;
        long pid = strtol(at, &end, 10);
        assert_true(pid > 1);
        assert_int_equal(kill((pid_t)pid, signal_number), 0);
        at = end + strspn(end, ", ");
    }
}

static void break_writes(struct contract *contract)
{
    (void)contract;
    signal_servers(SIGSTOP);
}

static void heal_writes(struct contract *contract)
{
    (void)contract;
    signal_servers(SIGCONT);
}

const struct backend cassandra_backend = {
    .name = "cassandra",
    .abilities = KEEPS_ROWS,
    .heals_slowly = true,
    .is_there = is_there,
    .open = contract_open_cassandra,
    .crash = crash,
    .break_writes = break_writes,
    .heal_writes = heal_writes,
    .forget = contract_forget_names,
};
