/* SPDX-License-Identifier: Apache-2.0 */
/* Runs every case of the contract on every back-end. An argument runs the cases that contain it. */
#include "contract.h"

#include <signal.h>
#include <string.h>

#define TESTS_MAX 256
#define NAME_SIZE 96

static const struct contract_case *const groups[] = {
    write_cases,      block_cases,   bucket_cases, retention_cases, nearest_cases,
    durability_cases, failure_cases, folder_cases, random_cases,    concurrent_cases,
    rows_cases,       refresh_cases, turn_cases,   metrics_cases,   part_cases,
};

static char names[TESTS_MAX][NAME_SIZE];
static struct CMUnitTest tests[TESTS_MAX];
static size_t n_tests;

static void add(const struct backend *backend, const struct contract_case *one, const char *filter)
{
    vv_invariant(n_tests < TESTS_MAX);
    char *name = names[n_tests];
    snprintf(name, NAME_SIZE, "%s: %s", backend->name, one->name);
    if ((one->needs & ~backend->abilities) != 0 || !strstr(name, filter)) {
        return;
    }
    /* cmocka's prestate is not const; the setup reads it as const again. */
    union {
        const struct backend *backend;
        void *state;
    } state = {backend};
    tests[n_tests++] =
        (struct CMUnitTest){name, one->function, contract_setup, contract_teardown, state.state};
}

int main(int argc, char **argv)
{
    /* A file that grows beyond its limit must fail to be written, not end the process. */
    signal(SIGXFSZ, SIG_IGN);
    if (argc == 4 && strcmp(argv[1], "--child") == 0) {
        return kill_child(argv[2], argv[3]);
    }
    for (size_t i = 0; i < n_backends; i++) {
        if (backends[i]->is_there && !backends[i]->is_there()) {
            continue;
        }
        for (size_t j = 0; j < sizeof groups / sizeof groups[0]; j++) {
            for (const struct contract_case *one = groups[j]; one->name; one++) {
                add(backends[i], one, argc > 1 ? argv[1] : "");
            }
        }
    }
    int failures = _cmocka_run_group_tests("store contract", tests, n_tests, NULL, NULL);
    for (size_t i = 0; i < n_backends; i++) {
        if (backends[i]->forget) {
            backends[i]->forget();
        }
    }
    return failures;
}
