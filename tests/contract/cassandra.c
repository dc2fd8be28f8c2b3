/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store on a real Cassandra, of which the environment tells:
 *
 *   VARVE_CASSANDRA       contact points
 *   VARVE_CASSANDRA_PIDS  its processes, which are stopped to make writes fail
 *
 * All cases share one keyspace; each has tenants of its own, by a name that is kept in its folder.
 */
#include "contract.h"

#include "store/cassandra/open.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAMES_MAX 65536

static const int64_t classes[] = {7 * VV_DAY, 30 * VV_DAY, 365 * VV_DAY};

/* ---- names: "<case>.t5", "s7", "m1" */

static struct {
    pthread_mutex_t lock;
    char one_case[64];
    char *names[NAMES_MAX];
    size_t n;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct vv_str name_of(const char *prefix, char letter, uint32_t number)
{
    char text[96];
    size_t size = (size_t)snprintf(text, sizeof text, "%s%c%u", prefix, letter, number);
    size_t slot = 5381;
    for (size_t i = 0; i < size; i++) {
        slot = slot * 33 + (unsigned char)text[i];
    }
    pthread_mutex_lock(&all.lock);
    for (slot %= NAMES_MAX; all.names[slot] && strcmp(all.names[slot], text) != 0;) {
        slot = (slot + 1) % NAMES_MAX;
    }
    if (!all.names[slot]) {
        vv_invariant(++all.n < NAMES_MAX / 2);
        all.names[slot] = strdup(text);
        vv_invariant(all.names[slot] != NULL);
    }
    struct vv_str name = {all.names[slot], size};
    pthread_mutex_unlock(&all.lock);
    return name;
}

static void forget_names(void)
{
    for (size_t i = 0; i < NAMES_MAX; i++) {
        free(all.names[i]);
        all.names[i] = NULL;
    }
    all.n = 0;
}

static struct vv_str tenant_name(void *context, uint32_t tenant)
{
    (void)context;
    return name_of(all.one_case, 't', tenant);
}

static struct vv_str source_name(void *context, uint32_t source)
{
    (void)context;
    return name_of("", 's', source);
}

static struct vv_str measurement_name(void *context, uint32_t measurement)
{
    (void)context;
    return name_of("", 'm', measurement);
}

static struct vv_str field_name(void *context, uint32_t metric, uint32_t *measurement_out,
                                enum vv_value_type *type_out)
{
    (void)context;
    *measurement_out = 1;
    *type_out = VV_FLOAT64;
    return name_of("", 'f', metric);
}

/* No case has pieces of another node. */
static bool find_metric(void *context, uint32_t measurement, int64_t id, uint32_t *metric_out)
{
    (void)context;
    (void)measurement;
    (void)id;
    (void)metric_out;
    return false;
}

/* "m1.f7" */
static bool find_named(void *context, uint32_t tenant, struct vv_str name, uint32_t *metric_out)
{
    (void)context;
    (void)tenant;
    return sscanf(name.data, "m1.f%u", metric_out) == 1;
}

static const struct vv_store_names names = {
    NULL, tenant_name, source_name, measurement_name, field_name, find_metric, find_named,
};

/* ---- the back-end */

static bool is_there(void)
{
    const char *servers = getenv("VARVE_CASSANDRA");
    return servers && servers[0];
}

/* The case's name: of its folder and of when it was made, so that a folder made again is another
 * case. */
static void find_case(const char *folder)
{
    struct stat about;
    struct timespec now;
    char path[300];
    snprintf(path, sizeof path, "%s/case", folder);
    if (stat(path, &about) != 0) {
        clock_gettime(CLOCK_REALTIME, &now);
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        fprintf(file, "%d.%lld.%09ld.", (int)getpid(), (long long)now.tv_sec, now.tv_nsec);
        assert_int_equal(fclose(file), 0);
    }
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_non_null(fgets(all.one_case, sizeof all.one_case, file));
    fclose(file);
}

static enum vv_status open_cassandra(const struct vv_store_options *options,
                                     struct vv_store **store_out, struct vv_error *error)
{
    char local_folder[300];
    struct vv_store_options local_options = *options;
    struct vv_store *local;
    (void)mkdir(options->folder, 0700);
    find_case(options->folder);
    snprintf(local_folder, sizeof local_folder, "%s/local", options->folder);
    local_options.folder = local_folder;
    enum vv_status status = vv_store_rocksdb_open(&local_options, &local, error);
    if (status != VV_OK) {
        return status;
    }
    const struct vv_cassandra_options cassandra = {
        .cql = {.contact_points = getenv("VARVE_CASSANDRA"), .request_timeout_ms = 2500},
        .keyspace = "varve",
        .classes_ns = classes,
        .n_classes = 3,
        .slack_ns = VV_DAY,
        .requests_max = 128,
        .bytes_max = 4u << 20,
    };
    return vv_store_cassandra_open(&cassandra, local, &names, vv_clock_system(), store_out, error);
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
    .heals_slowly = true,
    .is_there = is_there,
    .open = open_cassandra,
    .crash = crash,
    .break_writes = break_writes,
    .heal_writes = heal_writes,
    .forget = forget_names,
};
