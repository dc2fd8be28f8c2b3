/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copying a range of tokens from the tables that a purge leaves to those that it fills: partition
 * by partition, page by page. Rows keep their seals, and so their timestamps, so that what was
 * sealed meanwhile wins, and what is copied twice is the same.
 *
 * A partition that was copied is looked through in both tables, side by side: of each span each
 * seal that the old one has is in the new one, or there is a higher one.
 */
#include "store/cassandra/cassandra.h"

#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>

#define PARTITIONS_OF_A_PAGE 100
#define ROWS_OF_A_PAGE       64
#define ROWS_AT_FIRST        8 /* until it is seen how large they are */
#define BYTES_OF_A_PAGE      (4u << 20)
#define SEALS_OF_A_PAGE      1000
#define TRIES_MAX            3
/* What looking at a partition, and at a range, costs beside its bytes: so that a turn ends where
 * all is over, too. */
#define PARTITION_WORK      16384
#define RANGE_WORK          65536
#define TRUNCATE_TIMEOUT_MS 20000 /* the storage thread waits; it is asked again */

/* ---- tables ---- */

struct tables {
    const struct vv_purge_table *from;
    const struct vv_purge_table *to;
    const struct vvcql_prepared *put;
    bool is_late;
};

static bool prepare_table(struct vv_cassandra *store, const char *name, struct vv_purge_table *out)
{
    *out = (struct vv_purge_table){
        .list = vv_cassandra_prepare(store,
                                     "SELECT DISTINCT " VV_PARTITION_COLUMNS
                                     " FROM @ WHERE token(" VV_PARTITION_COLUMNS
                                     ") >= ? AND token(" VV_PARTITION_COLUMNS ") <= ?",
                                     name),
        .read_rows = vv_cassandra_prepare(store,
                                          "SELECT measurement, span, seal, part, parts, metrics, "
                                          "data, tail, TTL(data) FROM @ WHERE " VV_PARTITION_IS,
                                          name),
        .read_seals = vv_cassandra_prepare(
            store, "SELECT measurement, span, seal, part FROM @ WHERE " VV_PARTITION_IS, name),
    };
    return out->list && out->read_rows && out->read_seals;
}

static enum vv_status prepare_class(struct vv_cassandra *store, size_t class,
                                    struct vv_error *error)
{
    const struct vv_class_tables names = vv_schema_class_tables(store->classes[class].retention_ns);
    struct vv_purge *purge = &store->purge;
    if (!purge->tables) {
        purge->tables = calloc(4 * store->n_classes, sizeof *purge->tables);
    }
    bool made = purge->tables != NULL;
    for (size_t i = 0; i < 4 && made; i++) {
        struct vv_purge_table *table = &purge->tables[4 * class + i];
        const char *name = i < 2 ? names.blocks[i] : names.late[i - 2];
        made = table->list || prepare_table(store, name, table);
    }
    return made ? VV_OK : vv_error_set(error, VV_NO_MEMORY, "out of memory while purging");
}

static struct tables tables_of(const struct vv_cassandra *store, const struct vv_purge_range *range)
{
    const struct vv_class *class = &store->classes[range->class];
    size_t to = (size_t)(range->number & 1);
    const struct vv_purge_table *tables =
        &store->purge.tables[4 * range->class + (range->is_late ? 2 : 0)];
    return (struct tables){.from = &tables[1 - to],
                           .to = &tables[to],
                           .put = (range->is_late ? class->late : class->blocks)[to].put,
                           .is_late = range->is_late};
}

/* ---- a partition ---- */

/* Its key; the texts are those of the page that it stands in. */
struct partition {
    struct vv_str region;
    struct vv_str tenant;
    uint8_t source[16];
    int64_t bucket_ms;
    int32_t bucket_s;
    int16_t split;
};

static bool read_partition(const struct vvcql_result *row, struct partition *out)
{
    out->region = vv_cassandra_text(row, 0);
    out->tenant = vv_cassandra_text(row, 1);
    return vvcql_get_uuid(row, 2, out->source) && vvcql_get_bigint(row, 3, &out->bucket_ms) &&
           vvcql_get_int(row, 4, &out->bucket_s) && vvcql_get_smallint(row, 5, &out->split);
}

static void add_partition(struct vvcql_statement *statement, const struct partition *partition)
{
    vv_cassandra_add_str(statement, partition->region);
    vv_cassandra_add_str(statement, partition->tenant);
    vvcql_add_uuid(statement, partition->source);
    vvcql_add_timestamp(statement, partition->bucket_ms);
    vvcql_add_int(statement, partition->bucket_s);
    vvcql_add_smallint(statement, partition->split);
}

/* What is to be kept for so long; 0: for ever. */
static int64_t life_of(struct vv_cassandra *store, uint32_t tenant, int64_t now_ns)
{
    bool found;
    struct vv_tenant_classes classes = vv_cassandra_recorded(store, tenant, &found);
    int64_t retention_ns = found ? classes.retention_ns : 0;
    if (retention_ns == 0 || !store->names.life) {
        return retention_ns;
    }
    int64_t life_ns = store->names.life(store->names.context, tenant, now_ns);
    return life_ns == 0 || life_ns > retention_ns ? life_ns : retention_ns;
}

/* As its TTL would be; whatever is not sure to be over lives. */
static bool lives(struct vv_cassandra *store, const struct partition *partition, int64_t now_ns)
{
    uint32_t tenant;
    if (!store->names.tenant_named(store->names.context, partition->tenant, &tenant)) {
        return true;
    }
    int64_t life_ns = life_of(store, tenant, now_ns);
    int64_t end_ns;
    return life_ns == 0 || __builtin_mul_overflow(partition->bucket_ms, VV_MILLISECOND, &end_ns) ||
           __builtin_add_overflow(end_ns, partition->bucket_s * VV_SECOND, &end_ns) ||
           __builtin_add_overflow(end_ns, life_ns, &end_ns) ||
           __builtin_add_overflow(end_ns, store->slack_ns, &end_ns) || end_ns > now_ns;
}

/* ---- pages of a partition ---- */

struct pages {
    struct vv_cassandra *store;
    const struct partition *partition;
    const struct vvcql_prepared *prepared;
    int32_t size;
    struct vvcql_result *page; /* NULL: at the end */
};

static enum vv_status ask_page(struct pages *pages, struct vv_error *error)
{
    struct vvcql_statement *statement = vvcql_statement_prepared(pages->prepared);
    struct vvcql_result *next;
    add_partition(statement, pages->partition);
    vvcql_set_page_size(statement, pages->size);
    vvcql_set_idempotent(statement, true);
    if (pages->page) {
        struct vvcql_bytes state = vvcql_result_paging_state(pages->page);
        vvcql_set_paging_state(statement, state.data, state.size);
    }
    enum vv_status status = vv_cassandra_ask(pages->store, &statement, 1, &next, error);
    if (status == VV_OK) {
        vvcql_result_destroy(pages->page);
        pages->page = next;
    }
    return status;
}

/* To the next row; pages->page is NULL behind the last one. */
static enum vv_status next_row(struct pages *pages, struct vv_error *error)
{
    enum vv_status status = VV_OK;
    while (status == VV_OK && pages->page && !vvcql_next_row(pages->page)) {
        if (vvcql_result_paging_state(pages->page).size == 0) {
            vvcql_result_destroy(pages->page);
            pages->page = NULL;
        } else {
            status = ask_page(pages, error);
        }
    }
    return status;
}

static enum vv_status first_row(struct pages *pages, struct vv_error *error)
{
    enum vv_status status = ask_page(pages, error);
    return status == VV_OK ? next_row(pages, error) : status;
}

/* ---- copying ---- */

static enum vv_status not_ours(struct vv_error *error)
{
    return vv_error_set(error, VV_CORRUPT, "a row of blocks is not as Varve writes it");
}

static enum vv_status put_row(const struct pages *pages, const struct vvcql_prepared *put,
                              struct vvcql_statement **statement_out, uint64_t *bytes,
                              size_t *largest, struct vv_error *error)
{
    const struct vvcql_result *row = pages->page;
    int64_t span_ms;
    int64_t seal;
    int64_t part;
    int32_t parts;
    int32_t ttl; /* of what was written before its table was purged: all parts end together */
    struct vvcql_bytes metrics = {0};
    struct vvcql_bytes data = {0};
    struct vvcql_bytes tail = {0};
    if (!vvcql_get_bigint(row, 1, &span_ms) || !vvcql_get_bigint(row, 2, &seal) ||
        !vvcql_get_bigint(row, 3, &part) || !vvcql_get_bytes(row, 6, &data)) {
        return not_ours(error);
    }
    (void)vvcql_get_bytes(row, 5, &metrics);
    bool has_tail = vvcql_get_bytes(row, 7, &tail);
    size_t size = data.size + tail.size;
    *largest = size > *largest ? size : *largest;
    struct vvcql_statement *statement = vvcql_statement_prepared(put);
    add_partition(statement, pages->partition);
    vv_cassandra_add_str(statement, vv_cassandra_text(row, 0));
    vvcql_add_timestamp(statement, span_ms);
    vvcql_add_bigint(statement, seal);
    vvcql_add_bigint(statement, part);
    if (vvcql_get_int(row, 4, &parts)) {
        vvcql_add_int(statement, parts);
    } else {
        vvcql_add_null(statement);
    }
    vvcql_add_bytes(statement, metrics.size > 0 ? metrics.data : (const uint8_t *)"", metrics.size);
    vvcql_add_bytes(statement, data.size > 0 ? data.data : (const uint8_t *)"", data.size);
    if (has_tail) {
        vvcql_add_bytes(statement, tail.data, tail.size);
    } else {
        vvcql_add_unset(statement);
    }
    vvcql_add_int(statement, vvcql_get_int(row, 8, &ttl) ? ttl : 0);
    vvcql_add_bigint(statement, seal);
    vvcql_set_idempotent(statement, true);
    *bytes += size + metrics.size;
    *statement_out = statement;
    return VV_OK;
}

static enum vv_status send(struct vv_cassandra *store, struct vvcql_statement **statements,
                           size_t *n, enum vv_status status, struct vv_error *error)
{
    struct vvcql_result *results[ROWS_OF_A_PAGE];
    if (status != VV_OK) {
        for (size_t i = 0; i < *n; i++) {
            vvcql_statement_destroy(statements[i]);
        }
    } else if (*n > 0) {
        status = vv_cassandra_ask(store, statements, *n, results, error);
        for (size_t i = 0; i < *n && status == VV_OK; i++) {
            vvcql_result_destroy(results[i]);
        }
    }
    *n = 0;
    return status;
}

static enum vv_status copy_rows(struct vv_cassandra *store, const struct tables *tables,
                                const struct partition *partition, uint64_t *bytes,
                                struct vv_error *error)
{
    struct pages pages = {.store = store,
                          .partition = partition,
                          .prepared = tables->from->read_rows,
                          .size = ROWS_AT_FIRST};
    struct vvcql_statement *statements[ROWS_OF_A_PAGE];
    size_t n = 0;
    size_t largest = 1;
    enum vv_status status = first_row(&pages, error);
    while (status == VV_OK && pages.page) {
        status = put_row(&pages, tables->put, &statements[n], bytes, &largest, error);
        n += status == VV_OK;
        size_t fit = BYTES_OF_A_PAGE / largest;
        pages.size = fit < 1 ? 1 : fit > ROWS_OF_A_PAGE ? ROWS_OF_A_PAGE : (int32_t)fit;
        if (n >= (size_t)pages.size) {
            status = send(store, statements, &n, status, error);
        }
        status = status == VV_OK ? next_row(&pages, error) : status;
    }
    status = send(store, statements, &n, status, error);
    vvcql_result_destroy(pages.page);
    return status;
}

/* ---- looking through ---- */

struct place {
    struct vv_str measurement;
    int64_t span_ms;
    int64_t seal;
    int64_t part;
};

static enum vv_status place_of(const struct pages *pages, struct place *out, struct vv_error *error)
{
    out->measurement = vv_cassandra_text(pages->page, 0);
    bool is_right = vvcql_get_bigint(pages->page, 1, &out->span_ms) &&
                    vvcql_get_bigint(pages->page, 2, &out->seal) &&
                    vvcql_get_bigint(pages->page, 3, &out->part);
    return is_right ? VV_OK : not_ours(error);
}

/* As Cassandra orders them: texts by their bytes. */
static int compare_spans(const struct place *a, const struct place *b)
{
    size_t size =
        a->measurement.size < b->measurement.size ? a->measurement.size : b->measurement.size;
    int order = size > 0 ? memcmp(a->measurement.data, b->measurement.data, size) : 0;
    if (order == 0 && a->measurement.size != b->measurement.size) {
        order = a->measurement.size < b->measurement.size ? -1 : 1;
    }
    return order != 0 ? order : (a->span_ms > b->span_ms) - (a->span_ms < b->span_ms);
}

/* Whether `has` stands for what is at `wanted`: *is_before_out tells that what comes behind it
 * may. */
static bool stands_for(const struct place *has, const struct place *wanted, bool *is_before_out)
{
    int order = compare_spans(has, wanted);
    *is_before_out =
        order < 0 || (order == 0 && has->seal == wanted->seal && has->part < wanted->part);
    return order == 0 &&
           (has->seal > wanted->seal || (has->seal == wanted->seal && has->part == wanted->part));
}

static enum vv_status is_there(struct pages *has, const struct place *wanted, bool *is_there_out,
                               struct vv_error *error)
{
    struct place place;
    enum vv_status status = VV_OK;
    bool is_before = true;
    *is_there_out = false;
    while (status == VV_OK && has->page && is_before && !*is_there_out) {
        status = place_of(has, &place, error);
        *is_there_out = status == VV_OK && stands_for(&place, wanted, &is_before);
        if (status == VV_OK && is_before) {
            status = next_row(has, error);
        }
    }
    return status;
}

/* Whether a block of a higher seal is in any table of any class: it has had what was below it
 * dropped, where its tenant has changed its class. Seldom asked. */
static enum vv_status is_replaced(struct vv_cassandra *store, const struct tables *tables,
                                  const struct partition *partition, const struct place *wanted,
                                  bool *is_out, struct vv_error *error)
{
    struct vvcql_statement *statements[2 * (VV_CASSANDRA_CLASSES_MAX + 1)];
    struct vvcql_result *results[2 * (VV_CASSANDRA_CLASSES_MAX + 1)];
    size_t n = 2 * store->n_classes;
    for (size_t i = 0; i < n; i++) {
        const struct vv_class *class = &store->classes[i / 2];
        statements[i] = vvcql_statement_prepared(
            (tables->is_late ? class->late : class->blocks)[i % 2].newest_seal);
        add_partition(statements[i], partition);
        vv_cassandra_add_str(statements[i], wanted->measurement);
        vvcql_add_timestamp(statements[i], wanted->span_ms);
        vvcql_set_idempotent(statements[i], true);
    }
    enum vv_status status = vv_cassandra_ask(store, statements, n, results, error);
    *is_out = false;
    for (size_t i = 0; i < n && status == VV_OK; i++) {
        int64_t seal;
        *is_out |= vvcql_next_row(results[i]) && vvcql_get_bigint(results[i], 0, &seal) &&
                   seal > wanted->seal;
        vvcql_result_destroy(results[i]);
    }
    return status;
}

static enum vv_status look_through(struct vv_cassandra *store, const struct tables *tables,
                                   const struct partition *partition, bool *is_whole_out,
                                   struct vv_error *error)
{
    struct pages from = {.store = store,
                         .partition = partition,
                         .prepared = tables->from->read_seals,
                         .size = SEALS_OF_A_PAGE};
    struct pages to = from;
    to.prepared = tables->to->read_seals;
    *is_whole_out = true;
    enum vv_status status = first_row(&from, error);
    status = status == VV_OK ? first_row(&to, error) : status;
    while (status == VV_OK && from.page && *is_whole_out) {
        struct place wanted;
        status = place_of(&from, &wanted, error);
        status = status == VV_OK ? is_there(&to, &wanted, is_whole_out, error) : status;
        if (status == VV_OK && !*is_whole_out) {
            status = is_replaced(store, tables, partition, &wanted, is_whole_out, error);
        }
        status = status == VV_OK ? next_row(&from, error) : status;
    }
    vvcql_result_destroy(from.page);
    vvcql_result_destroy(to.page);
    return status;
}

static enum vv_status copy_partition(struct vv_cassandra *store, const struct tables *tables,
                                     const struct partition *partition, uint64_t *work,
                                     struct vv_error *error)
{
    uint64_t bytes = 0;
    bool is_whole = false;
    enum vv_status status =
        vv_cassandra_note_again(store, partition->tenant, partition->source, partition->bucket_ms,
                                partition->bucket_s, error);
    for (int i = 0; i < TRIES_MAX && !is_whole && status == VV_OK; i++) {
        status = copy_rows(store, tables, partition, &bytes, error);
        status =
            status == VV_OK ? look_through(store, tables, partition, &is_whole, error) : status;
    }
    if (status == VV_OK && !is_whole) {
        status = vv_error_set(error, VV_IO,
                              "what was copied of a source of %.*s is not all in the other table",
                              VV_STR_ARG(partition->tenant));
    }
    *work += bytes;
    atomic_fetch_add_explicit(&store->purge.figures.bytes, bytes, memory_order_relaxed);
    atomic_fetch_add_explicit(&store->purge.figures.copied, 1, memory_order_relaxed);
    return status;
}

/* ---- a range ---- */

static enum vv_status ask_partitions(struct vv_cassandra *store, struct vv_purge_range *range,
                                     struct vv_error *error)
{
    struct tables tables = tables_of(store, range);
    struct vvcql_statement *statement = vvcql_statement_prepared(tables.from->list);
    struct vvcql_result *next;
    uint64_t first = (uint64_t)range->range << 56 ^ UINT64_C(1) << 63;
    vvcql_add_bigint(statement, (int64_t)first);
    vvcql_add_bigint(statement, (int64_t)(first | ~UINT64_C(0) >> 8));
    vvcql_set_page_size(statement, PARTITIONS_OF_A_PAGE);
    vvcql_set_idempotent(statement, true);
    if (range->partitions) {
        struct vvcql_bytes state = vvcql_result_paging_state(range->partitions);
        vvcql_set_paging_state(statement, state.data, state.size);
    }
    enum vv_status status = vv_cassandra_ask(store, &statement, 1, &next, error);
    if (status == VV_OK) {
        vvcql_result_destroy(range->partitions);
        range->partitions = next;
    }
    return status;
}

/* To the next partition of either table; *done_out: there is none. */
static enum vv_status next_partition(struct vv_cassandra *store, struct vv_purge_range *range,
                                     bool *done_out, struct vv_error *error)
{
    enum vv_status status = VV_OK;
    *done_out = false;
    if (!range->partitions) {
        status = ask_partitions(store, range, error);
    }
    while (status == VV_OK && !vvcql_next_row(range->partitions)) {
        if (vvcql_result_paging_state(range->partitions).size == 0) {
            vvcql_result_destroy(range->partitions);
            range->partitions = NULL;
            *done_out = range->is_late;
            if (range->is_late) {
                return VV_OK;
            }
            range->is_late = true;
        }
        status = ask_partitions(store, range, error);
    }
    return status;
}

void vv_purge_range_end(struct vv_purge_range *range)
{
    vvcql_result_destroy(range->partitions);
    *range = (struct vv_purge_range){0};
}

bool vv_purge_turn_is_over(const struct vv_cassandra *store, const struct vv_purge_turn *turn)
{
    return turn->work > turn->work_max || store->clock->monotonic_ns(store->clock) > turn->until_ns;
}

enum vv_status vv_purge_copy(struct vv_cassandra *store, struct vv_purge_range *range,
                             struct vv_purge_turn *turn, bool *done_out, struct vv_error *error)
{
    *done_out = false;
    enum vv_status status = prepare_class(store, range->class, error);
    turn->work += RANGE_WORK;
    while (status == VV_OK && !vv_purge_turn_is_over(store, turn)) {
        struct partition partition;
        status = next_partition(store, range, done_out, error);
        if (status != VV_OK || *done_out) {
            break;
        }
        if (!read_partition(range->partitions, &partition)) {
            status = not_ours(error);
        } else if (lives(store, &partition, turn->now_ns)) {
            struct tables tables = tables_of(store, range);
            status = copy_partition(store, &tables, &partition, &turn->work, error);
        } else {
            atomic_fetch_add_explicit(&store->purge.figures.left, 1, memory_order_relaxed);
        }
        turn->work += PARTITION_WORK;
    }
    return status;
}

/* ---- truncating ---- */

enum vv_status vv_purge_truncate(struct vv_cassandra *store, size_t class, int64_t number,
                                 bool is_late, struct vv_error *error)
{
    const struct vv_class_tables names = vv_schema_class_tables(store->classes[class].retention_ns);
    size_t from = 1 - (size_t)(number & 1);
    const char *table = is_late ? names.late[from] : names.blocks[from];
    char text[160];
    struct vvcql_result *result;
    snprintf(text, sizeof text, "TRUNCATE TABLE %s.%s", store->keyspace, table);
    struct vvcql_statement *statement = vvcql_statement_create(text);
    vvcql_set_timeout(statement, TRUNCATE_TIMEOUT_MS);
    enum vv_status status = vv_cassandra_ask(store, &statement, 1, &result, error);
    if (status == VV_OK) {
        vvcql_result_destroy(result);
        atomic_fetch_add_explicit(&store->purge.figures.tables, 1, memory_order_relaxed);
        vv_log(VV_LOG_INFO, "purge_truncated", "table=%s", table);
    }
    return status;
}
