/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens a store on Cassandra, a real one or the model of one: all cases share one keyspace; each
 * has tenants of its own, by a name that is kept in its folder.
 */
#include "cassandra_open.h"

#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAMES_MAX 65536

const int64_t contract_classes[CONTRACT_CLASSES] = {7 * VV_DAY, 30 * VV_DAY, 365 * VV_DAY};

uint32_t contract_rows_tenant = CONTRACT_NONE;
int64_t contract_lead_ns;
struct vv_clock *contract_clock;

/*
 * ---- names: tenants "<case>.t5", sources "s7". Metric 203 is field "f203" of measurement 3: each
 * measurement has a hundred, integers where the number is odd. Measurement 2 is called as if it
 * were a metric of measurement 1, "m1.f5"; the others "m1", "m3".
 */

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

void contract_forget_names(void)
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
    return measurement == 2 ? VV_STR_LITERAL("m1.f5") : name_of("", 'm', measurement);
}

static struct vv_str field_name(void *context, uint32_t metric, uint32_t *measurement_out,
                                enum vv_value_type *type_out)
{
    (void)context;
    *measurement_out = metric / 100 + 1;
    *type_out = metric % 2 == 0 ? VV_FLOAT64 : VV_INT64;
    return metric == UINT32_MAX ? (struct vv_str){0} : name_of("", 'f', metric);
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

static bool find_named(void *context, uint32_t tenant, struct vv_str name, uint32_t *metric_out)
{
    (void)context;
    (void)tenant;
    char text[64];
    unsigned measurement;
    int size = 0;
    snprintf(text, sizeof text, "%.*s", VV_STR_ARG(name));
    if (sscanf(text, "m1.f5.f%u%n", metric_out, &size) == 1 && (size_t)size == name.size) {
        return *metric_out / 100 == 1;
    }
    return sscanf(text, "m%u.f%u%n", &measurement, metric_out, &size) == 2 &&
           (size_t)size == name.size && *metric_out / 100 + 1 == measurement;
}

/* A number behind a letter; false for other names. */
static bool number_in(struct vv_str name, char letter, uint32_t *number_out)
{
    char text[96];
    int size = 0;
    snprintf(text, sizeof text, "%.*s", VV_STR_ARG(name));
    return text[0] == letter && sscanf(text + 1, "%u%n", number_out, &size) == 1 &&
           (size_t)size + 1 == name.size;
}

static bool find_tenant(void *context, struct vv_str name, uint32_t *tenant_out)
{
    (void)context;
    size_t prefix = strlen(all.one_case);
    return name.size > prefix && memcmp(name.data, all.one_case, prefix) == 0 &&
           number_in((struct vv_str){name.data + prefix, name.size - prefix}, 't', tenant_out);
}

static bool find_source(void *context, uint32_t tenant, struct vv_str id, uint32_t *source_out)
{
    (void)context;
    (void)tenant;
    return number_in(id, 's', source_out);
}

static bool find_measurement(void *context, uint32_t tenant, struct vv_str name,
                             uint32_t *measurement_out)
{
    (void)context;
    (void)tenant;
    *measurement_out = 2;
    return vv_str_equal(name, VV_STR_LITERAL("m1.f5")) || number_in(name, 'm', measurement_out);
}

struct vv_str contract_tenant_name(uint32_t tenant)
{
    return tenant_name(NULL, tenant);
}

static const struct vv_store_names names = {
    .tenant = tenant_name,
    .source = source_name,
    .measurement = measurement_name,
    .field = field_name,
    .metric = find_metric,
    .metric_named = find_named,
    .tenant_named = find_tenant,
    .source_named = find_source,
    .measurement_named = find_measurement,
};

/* ---- opening */

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

enum vv_status contract_open_cassandra(const struct vv_store_options *options,
                                       struct vv_store **store_out, struct vv_error *error)
{
    char local_folder[300];
    char rows_tenants[128] = "";
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
    if (contract_rows_tenant == CONTRACT_ALL) {
        snprintf(rows_tenants, sizeof rows_tenants, "*");
    } else if (contract_rows_tenant != CONTRACT_NONE) {
        snprintf(rows_tenants, sizeof rows_tenants, "no.such, %.*s ,other",
                 VV_STR_ARG(tenant_name(NULL, contract_rows_tenant)));
    }
    const struct vv_cassandra_options cassandra = {
        .cql = {.contact_points = contract_contact_points(), .request_timeout_ms = 2500},
        .regions = {{all.one_case, "varve"}},
        .n_regions = 1,
        .classes_ns = contract_classes,
        .n_classes = CONTRACT_CLASSES,
        .rows_tenants = rows_tenants,
        .lead_ns = contract_lead_ns,
        .slack_ns = VV_DAY,
        .requests_max = 128,
        .bytes_max = 4u << 20,
    };
    return vv_store_cassandra_open(&cassandra, local, &names,
                                   contract_clock ? contract_clock : vv_clock_system(), store_out,
                                   error);
}
