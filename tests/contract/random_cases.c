/* SPDX-License-Identifier: Apache-2.0 */
/* Seeded changes against the model: in this process with crashes and failures, and in a child that
 * is killed. */
#include "model.h"

#include "base/random.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SEED_FIRST 4711

/* More seeds than usual by VARVE_TEST_SEEDS, for a long search. */
static uint64_t seed_count(uint64_t usual)
{
    const char *wanted = getenv("VARVE_TEST_SEEDS");
    uint64_t count = wanted ? strtoull(wanted, NULL, 10) : usual;
    print_message("seeds %d … %llu\n", SEED_FIRST, (unsigned long long)(SEED_FIRST + count - 1));
    return count;
}

static void run_seed(struct contract *c, uint64_t seed, uint32_t changes)
{
    static struct model model;
    memset(&model, 0, sizeof model);
    struct vv_random random = {.state = seed};
    for (uint32_t i = 0; i < changes; i++) {
        struct change change = model_change(seed, i);
        model_change_model(&model, &change, model_change_store(c->store, &change));
        if (vv_random_below(&random, 15) == 0) {
            model_verify(c->store, &model);
        }
        if (vv_random_below(&random, 60) == 0) {
            contract_crash(c, vv_random_next(&random));
            model_after_crash(c->store, &model, NULL);
        }
        if (vv_random_below(&random, 150) == 0) {
            c->backend->break_writes(c);
            fail_to_write(c);
            c->backend->heal_writes(c);
            contract_recover(c);
            model_after_crash(c->store, &model, NULL);
        }
    }
    model_verify(c->store, &model);
}

static void any_changes_leave_what_the_model_says(void **state)
{
    struct contract *c = *state;
    uint64_t seeds = seed_count((c->backend->abilities & IS_EMBEDDED) ? 3 : 60);
    for (uint64_t seed = SEED_FIRST; seed < SEED_FIRST + seeds; seed++) {
        run_seed(c, seed, 700);
        contract_reset(c);
    }
}

/* ---- a child that is killed */

/* What the child says through its output, before and after each change. */
struct report {
    uint32_t number;
    uint32_t ended;
    struct outcome outcome;
};

static bool tell(const struct report *report)
{
    return write(STDOUT_FILENO, report, sizeof *report) == (ssize_t)sizeof *report;
}

int kill_child(const char *folder, const char *arguments)
{
    struct contract c = {.backend = backends[0]};
    unsigned long long seed;
    uint32_t number;
    char name[32];
    if (sscanf(arguments, "%31[^:]:%llu:%u", name, &seed, &number) != 3) {
        return 2;
    }
    for (size_t i = 0; i < n_backends; i++) {
        c.backend = strcmp(backends[i]->name, name) == 0 ? backends[i] : c.backend;
    }
    snprintf(c.folder, sizeof c.folder, "%s", folder);
    contract_open(&c);
    for (;; number++) {
        struct change change = model_change(seed, number);
        struct report report = {.number = number};
        if (!tell(&report)) {
            return 3;
        }
        report.outcome = model_change_store(c.store, &change);
        report.ended = 1;
        if (!tell(&report)) {
            return 3;
        }
    }
}

static pid_t start_child(const struct contract *c, uint64_t seed, uint32_t number, int *output_out)
{
    char arguments[96];
    snprintf(arguments, sizeof arguments, "%s:%llu:%u", c->backend->name, (unsigned long long)seed,
             number);
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execl("/proc/self/exe", "contract", "--child", c->folder, arguments, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    *output_out = ends[0];
    return child;
}

/* Reads one report; false at the end of the output. */
static bool hear(int output, struct report *report_out)
{
    size_t size = 0;
    while (size < sizeof *report_out) {
        ssize_t more = read(output, (char *)report_out + size, sizeof *report_out - size);
        if (more <= 0 && errno != EINTR) {
            return false;
        }
        size += more > 0 ? (size_t)more : 0;
    }
    return true;
}

/* Lets the child get some way into its change; how far does not matter to the result. */
static void kill_soon(pid_t child, uint64_t delay_us)
{
    const struct timespec delay = {.tv_nsec = (long)delay_us * 1000};
    (void)nanosleep(&delay, NULL);
    assert_int_equal(kill(child, SIGKILL), 0);
}

/* A change that writes much, after some others. */
static uint32_t choose_last(uint64_t seed, uint32_t number, struct vv_random *random)
{
    uint32_t last = number + (uint32_t)vv_random_below(random, 100);
    if (vv_random_below(random, 4) == 0) {
        return last; /* any */
    }
    while (model_change(seed, last).kind < CHANGE_CONFIRM) {
        last++;
    }
    return last;
}

/* Follows a child and kills it when it is in `last`. Returns the number of the change that it was
 * killed in, or the next one; *in_change_out says which. */
static uint32_t follow_child(pid_t child, int output, uint64_t seed, uint32_t first, uint32_t last,
                             uint64_t delay_us, struct model *model, bool *in_change_out)
{
    struct report report;
    uint32_t number = first;
    *in_change_out = false;
    while (hear(output, &report)) {
        assert_int_equal(report.number, number);
        if (report.ended) {
            struct change change = model_change(seed, number);
            model_change_model(model, &change, report.outcome);
            number++;
        } else if (number == last) {
            kill_soon(child, delay_us);
        }
        *in_change_out = !report.ended;
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    close(output);
    return number;
}

/* After a kill: compares, and makes sure of a retention whose change was cut short. */
static uint32_t examine(struct contract *c, uint64_t seed, uint32_t number, bool in_change,
                        struct model *model)
{
    contract_open(c);
    struct change change = model_change(seed, number);
    model_after_crash(c->store, model, in_change ? &change : NULL);
    if (in_change && change.kind == CHANGE_SET_RETENTION) {
        model_change_model(model, &change, model_change_store(c->store, &change));
    }
    contract_close(c);
    return number + (in_change ? 1 : 0);
}

static void a_killed_process_leaves_what_the_model_says(void **state)
{
    struct contract *c = *state;
    static struct model model;
    struct vv_random random = {.state = SEED_FIRST};
    contract_close(c);
    uint64_t seeds = seed_count(2);
    for (uint64_t seed = SEED_FIRST; seed < SEED_FIRST + seeds; seed++) {
        memset(&model, 0, sizeof model);
        uint32_t number = 0;
        for (int kills = 0; kills < 12; kills++) {
            uint32_t last = choose_last(seed, number, &random);
            uint64_t delay_us = vv_random_below(&random, 4000);
            int output;
            bool in_change;
            pid_t child = start_child(c, seed, number, &output);
            number = follow_child(child, output, seed, number, last, delay_us, &model, &in_change);
            number = examine(c, seed, number, in_change, &model);
        }
        contract_open(c);
        contract_reset(c);
        contract_close(c);
    }
}

const struct contract_case random_cases[] = {
    CONTRACT_CASE_NEEDS(KEEPS_ORDER | EXPIRES_BY_CALL | WRITES_AGAIN,
                        any_changes_leave_what_the_model_says),
    CONTRACT_CASE_NEEDS(IS_EMBEDDED, a_killed_process_leaves_what_the_model_says),
    {0},
};
