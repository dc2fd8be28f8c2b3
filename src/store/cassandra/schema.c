/* SPDX-License-Identifier: Apache-2.0 */
/* The schema's figures, the check of its options, and all its statements. */
#include "store/cassandra/schema_private.h"

#include "base/clock.h"
#include "model/partition.h"

#include <stdio.h>
#include <stdlib.h>

#define WINDOWS_MAX 30
#define WINDOWS_MIN 20
#define BUCKETS_MIN 8 /* of a life: a bucket is at most an eighth of it */
#define DAY_MINUTES INT64_C(1440)
#define DAY_S       INT64_C(86400)

/* ---- figures ---- */

void vv_schema_class_name(int64_t retention_ns, char out[VV_CLASS_NAME_SIZE])
{
    static const struct {
        int64_t ns;
        char letter;
    } units[] = {{VV_DAY, 'd'}, {VV_HOUR, 'h'}, {VV_MINUTE, 'm'}, {VV_SECOND, 's'}};
    for (size_t i = 0; i < sizeof units / sizeof units[0] && retention_ns > 0; i++) {
        if (retention_ns % units[i].ns == 0) {
            snprintf(out, VV_CLASS_NAME_SIZE, "%lld%c", (long long)(retention_ns / units[i].ns),
                     units[i].letter);
            return;
        }
    }
    snprintf(out, VV_CLASS_NAME_SIZE, "forever");
}

struct vv_class_tables vv_schema_class_tables(int64_t retention_ns)
{
    char name[VV_CLASS_NAME_SIZE];
    struct vv_class_tables tables;
    vv_schema_class_name(retention_ns, name);
    for (int i = 0; i < 2; i++) {
        const char *which = i == 0 ? "" : "_2";
        snprintf(tables.blocks[i], sizeof tables.blocks[i], "blocks_%s%s", name, which);
        snprintf(tables.late[i], sizeof tables.late[i], "late_%s%s", name, which);
    }
    snprintf(tables.rows, sizeof tables.rows, "rows_%s", name);
    return tables;
}

/* Round windows below two days, beyond them whole days; none is more than half as long again as the
 * one before, so that a life of 40 minutes or more has one of which it needs 20 to 30. */
static const int16_t round_minutes[] = {1,  2,  3,   4,   5,   6,   8,   10,  15,   20,   30,  45,
                                        60, 90, 120, 180, 240, 360, 480, 720, 1080, 1440, 2160};
#define N_ROUND (sizeof round_minutes / sizeof round_minutes[0])

/* The next longer one. */
static int64_t window_after(int64_t minutes)
{
    for (size_t i = 0; i < N_ROUND; i++) {
        if (round_minutes[i] > minutes) {
            return round_minutes[i];
        }
    }
    return (minutes / DAY_MINUTES + 1) * DAY_MINUTES;
}

/* How many lengths of buckets, of those that such a life has, begin and end with windows. What is
 * in a bucket expires at once, so a window that cuts none is rid of at once too. */
static size_t count_aligned(int64_t minutes, int64_t life_ns)
{
    size_t n;
    size_t aligned = 0;
    const int64_t *lengths = vv_bucket_lengths(&n);
    for (size_t i = 0; i < n && lengths[i] <= life_ns / BUCKETS_MIN; i++) {
        int64_t window_ns = minutes * VV_MINUTE;
        aligned += window_ns % lengths[i] == 0 || lengths[i] % window_ns == 0;
    }
    return aligned;
}

static int64_t window_minutes(int64_t life_ns)
{
    int64_t minutes = window_after(0);
    while (minutes * VV_MINUTE < (life_ns + WINDOWS_MAX - 1) / WINDOWS_MAX) {
        minutes = window_after(minutes);
    }
    int64_t best = minutes;
    while ((minutes = window_after(minutes)) * VV_MINUTE <= life_ns / WINDOWS_MIN) {
        best = count_aligned(minutes, life_ns) > count_aligned(best, life_ns) ? minutes : best;
    }
    return best;
}

struct vv_schema_window vv_schema_window_of(int64_t life_ns)
{
    int64_t minutes = window_minutes(life_ns);
    if (minutes % DAY_MINUTES == 0) {
        return (struct vv_schema_window){"DAYS", minutes / DAY_MINUTES};
    }
    if (minutes % 60 == 0) {
        return (struct vv_schema_window){"HOURS", minutes / 60};
    }
    return (struct vv_schema_window){"MINUTES", minutes};
}

/* Where nobody has told how often repairs run. */
static int64_t gc_grace_of_window_s(int64_t life_ns)
{
    int64_t minutes = life_ns == 0 ? INT64_MAX : window_minutes(life_ns);
    if (minutes < DAY_MINUTES) {
        return 0; /* the least */
    }
    return minutes == DAY_MINUTES ? 2 * DAY_S : minutes <= 7 * DAY_MINUTES ? 7 * DAY_S : 10 * DAY_S;
}

int64_t vv_schema_gc_grace_s(const struct vv_schema_options *options, int64_t life_ns)
{
    int64_t repair_s = options->repair_interval_ns / VV_SECOND;
    int64_t least_s = options->gc_grace_min_ns > 0 ? options->gc_grace_min_ns / VV_SECOND : DAY_S;
    if (repair_s > 0) {
        return repair_s + (repair_s / 4 > least_s ? repair_s / 4 : least_s);
    }
    int64_t usual_s = gc_grace_of_window_s(life_ns);
    return usual_s > least_s ? usual_s : least_s;
}

/* ---- checks ---- */

static bool is_name(const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz";
    static const char others[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
    size_t size = strlen(text);
    return size <= 48 && strspn(text, letters) > 0 && strspn(text, others) == size;
}

enum vv_status vv_schema_options_check(const struct vv_schema_options *options,
                                       struct vv_error *error)
{
    if (!is_name(options->keyspace)) {
        return vv_error_set(error, VV_INVALID,
                            "a keyspace's name must be small letters, digits and '_', at most 48, "
                            "beginning with a letter");
    }
    if (options->n_replication > VV_SCHEMA_REPLICAS_MAX ||
        options->n_classes > VV_SCHEMA_CLASSES_MAX) {
        return vv_error_set(error, VV_INVALID, "too many data centres or retention classes");
    }
    for (size_t i = 0; i < options->n_replication; i++) {
        if (options->replication[i].datacenter.size == 0 || options->replication[i].replicas < 1) {
            return vv_error_set(error, VV_INVALID,
                                "each data centre must have a name and at least one replica");
        }
    }
    for (size_t i = 0; i < options->n_classes; i++) {
        if (options->classes_ns[i] < VV_MINUTE || options->classes_ns[i] % VV_SECOND != 0 ||
            (i > 0 && options->classes_ns[i] <= options->classes_ns[i - 1])) {
            return vv_error_set(error, VV_INVALID,
                                "retention classes must ascend, each whole seconds and at least a "
                                "minute");
        }
    }
    return VV_OK;
}

/* ---- statements ---- */

static enum vv_status visit_one(const struct vv_buffer *cql, const char *kind, struct vv_str name,
                                vv_schema_visit visit, void *context)
{
    char what[96];
    enum vv_status status = vv_buffer_status(cql);
    if (status != VV_OK) {
        return status;
    }
    snprintf(what, sizeof what, "%s %.*s", kind, VV_STR_ARG(name));
    return visit(context, vv_str_of(what), (struct vv_str){(const char *)cql->data, cql->size});
}

static enum vv_status visit_all(const struct vv_schema *wanted, vv_schema_visit visit,
                                void *context)
{
    struct vv_buffer cql = {0};
    vv_schema_put_keyspace(&cql, wanted);
    enum vv_status status =
        visit_one(&cql, "keyspace", vv_str_of(wanted->keyspace), visit, context);
    for (size_t i = 0; i < wanted->n_tables && status == VV_OK; i++) {
        vv_buffer_clear(&cql);
        vv_schema_put_table(&cql, wanted->keyspace, &wanted->tables[i]);
        status = visit_one(&cql, "table", wanted->tables[i].name, visit, context);
    }
    if (status == VV_OK) { /* last: where it is, the rest is */
        char number[16];
        snprintf(number, sizeof number, "%d", wanted->version);
        vv_buffer_clear(&cql);
        vv_schema_put_version(&cql, wanted->keyspace, wanted->version);
        status = visit_one(&cql, "version", vv_str_of(number), visit, context);
    }
    vv_buffer_deinit(&cql);
    return status;
}

enum vv_status vv_schema_statements(const struct vv_schema_options *options, vv_schema_visit visit,
                                    void *context, struct vv_error *error)
{
    struct vv_schema wanted = {0};
    enum vv_status status = vv_schema_options_check(options, error);
    if (status != VV_OK) {
        return status;
    }
    if (options->n_replication == 0) {
        return vv_error_set(error, VV_INVALID, "it is not said how to replicate the keyspace");
    }
    status = vv_schema_want(options, &wanted);
    if (status == VV_OK) {
        status = visit_all(&wanted, visit, context);
    }
    vv_schema_deinit(&wanted);
    return status == VV_NO_MEMORY ? vv_error_set(error, status, "out of memory") : status;
}

static enum vv_status append(void *context, struct vv_str what, struct vv_str cql)
{
    struct vv_buffer *out = context;
    (void)what;
    if (out->size > 0) {
        vv_buffer_u8(out, '\n');
    }
    vv_buffer_str(out, cql);
    return vv_buffer_status(out);
}

enum vv_status vv_schema_print(const struct vv_schema_options *options, struct vv_buffer *out,
                               struct vv_error *error)
{
    return vv_schema_statements(options, append, out, error);
}

/* ---- schemas ---- */

void vv_schema_deinit(struct vv_schema *schema)
{
    vv_arena_deinit(&schema->arena);
    *schema = (struct vv_schema){0};
}

const struct vv_schema_table *vv_schema_find_table(const struct vv_schema *schema,
                                                   struct vv_str name)
{
    for (size_t i = 0; i < schema->n_tables; i++) {
        if (vv_str_equal(schema->tables[i].name, name)) {
            return &schema->tables[i];
        }
    }
    return NULL;
}

const struct vv_schema_column *vv_schema_find_column(const struct vv_schema_table *table,
                                                     struct vv_str name)
{
    for (size_t i = 0; i < table->n_columns; i++) {
        if (vv_str_equal(table->columns[i].name, name)) {
            return &table->columns[i];
        }
    }
    return NULL;
}

const struct vv_schema_option *vv_schema_find_option(const struct vv_schema_option *options,
                                                     size_t n, struct vv_str name)
{
    for (size_t i = 0; i < n; i++) {
        if (vv_str_equal(options[i].name, name)) {
            return &options[i];
        }
    }
    return NULL;
}

struct vv_str vv_schema_group_of(struct vv_str option)
{
    const char *dot = memchr(option.data, '.', option.size);
    return (struct vv_str){option.data, dot ? (size_t)(dot - option.data) : option.size};
}

void vv_schema_report_deinit(struct vv_schema_report *report)
{
    vv_arena_deinit(&report->arena);
    free(report->differences);
    *report = (struct vv_schema_report){0};
}
