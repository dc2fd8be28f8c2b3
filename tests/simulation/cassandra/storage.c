/* SPDX-License-Identifier: Apache-2.0 */
/* Partitions, rows, cells; merging them. */
#include "simulation/cassandra/storage.h"

#include "cql/token.h"
#include "simulation/sim_memory.h"

#include <stdlib.h>

#define FEW_ROWS 4 /* each is looked for */

/* ---- cells ---- */

/* Of two that were written at the same µs: what ends beats what stays, a tombstone what a TTL ends,
 * the later end the earlier, the larger bytes the smaller. */
static bool wins(const struct cass_cell *cell, const struct cass_cell *over)
{
    if (!over->is_set || cell->timestamp != over->timestamp) {
        return !over->is_set || cell->timestamp > over->timestamp;
    }
    bool ends = cell->is_tombstone || cell->ends_s != INT64_MAX;
    bool other_ends = over->is_tombstone || over->ends_s != INT64_MAX;
    if (ends != other_ends) {
        return ends;
    }
    if (cell->is_tombstone != over->is_tombstone) {
        return cell->is_tombstone;
    }
    if (cell->ends_s != over->ends_s) {
        return cell->ends_s > over->ends_s;
    }
    if (!cell->value || !over->value) {
        return false;
    }
    struct vv_str mine = {(const char *)cell->value->bytes, cell->value->size};
    struct vv_str other = {(const char *)over->value->bytes, over->value->size};
    return vv_str_compare(mine, other) > 0;
}

void cass_cell_reconcile(struct cass_cell *into, const struct cass_cell *cell)
{
    if (cell->is_set && wins(cell, into)) {
        struct cass_blob *before = into->value;
        *into = *cell;
        (void)cass_blob_keep(into->value);
        cass_blob_drop(before);
    }
}

bool cass_cell_is_live(const struct cass_cell *cell, int64_t deleted_at, int64_t now_s)
{
    return cell->is_set && !cell->is_tombstone && cell->timestamp > deleted_at &&
           now_s < cell->ends_s;
}

/* ---- rows ---- */

int cass_compare_clustering(const struct cass_table *table, const struct cass_clustering *a,
                            const struct cass_clustering *b)
{
    size_t n = a->n < b->n ? a->n : b->n;
    for (size_t i = 0; i < n; i++) {
        const struct cass_column *column = &table->columns[table->n_partition_key + i];
        int order = cass_compare_values(column->type, a->values[i], b->values[i]);
        if (order != 0) {
            return column->descending ? -order : order;
        }
    }
    return 0;
}

static struct cass_row *row_create(const struct cass_table *table,
                                   const struct cass_clustering *clustering)
{
    struct cass_row *row = vv_sim_calloc(1, sizeof *row + table->n_regular * sizeof row->cells[0]);
    row->references = 1;
    row->clustering = *clustering;
    row->key = cass_keep_values(row->clustering.values, row->clustering.n);
    row->deleted_at = CASS_NEVER;
    return row;
}

static void row_drop(const struct cass_table *table, struct cass_row *row)
{
    if (--row->references > 0) {
        return;
    }
    for (size_t i = 0; i < table->n_regular; i++) {
        cass_blob_drop(row->cells[i].value);
    }
    cass_blob_drop(row->key);
    free(row);
}

/* One of its own, for what others have too. */
static struct cass_row *row_unshare(const struct cass_table *table, struct cass_row *take_row)
{
    if (take_row->references == 1) {
        return take_row;
    }
    struct cass_row *row = row_create(table, &take_row->clustering);
    row->deleted_at = take_row->deleted_at;
    row->liveness = take_row->liveness;
    for (size_t i = 0; i < table->n_regular; i++) {
        row->cells[i] = take_row->cells[i];
        (void)cass_blob_keep(row->cells[i].value);
    }
    row_drop(table, take_row);
    return row;
}

/* The first row that does not come before the clustering. */
static size_t row_place(const struct cass_table *table, const struct cass_partition *partition,
                        const struct cass_clustering *clustering)
{
    size_t low = 0;
    size_t high = partition->n_rows;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (cass_compare_clustering(table, &partition->rows[middle]->clustering, clustering) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool row_adds(const struct cass_table *table, const struct cass_row *row,
                     const struct cass_row *to)
{
    bool adds = row != to && (row->deleted_at > to->deleted_at ||
                              (row->liveness.is_set && wins(&row->liveness, &to->liveness)));
    for (size_t i = 0; i < table->n_regular && row != to && !adds; i++) {
        adds = row->cells[i].is_set && wins(&row->cells[i], &to->cells[i]);
    }
    return adds;
}

static void row_merge(const struct cass_table *table, struct cass_row *into,
                      const struct cass_row *from)
{
    if (from->deleted_at > into->deleted_at) {
        into->deleted_at = from->deleted_at;
    }
    cass_cell_reconcile(&into->liveness, &from->liveness);
    for (size_t i = 0; i < table->n_regular; i++) {
        cass_cell_reconcile(&into->cells[i], &from->cells[i]);
    }
}

void cass_row_lengthen(const struct cass_table *table, struct cass_row **row)
{
    struct cass_row *longer = row_create(table, &(*row)->clustering);
    struct cass_table shorter = {.n_regular = table->n_regular - 1};
    row_merge(&shorter, longer, *row);
    row_drop(&shorter, *row);
    *row = longer;
}

/* Where the row is, or (false) belongs. */
static bool find_row(const struct cass_table *table, const struct cass_partition *partition,
                     const struct cass_clustering *clustering, size_t *at_out)
{
    *at_out = row_place(table, partition, clustering);
    return *at_out < partition->n_rows &&
           cass_compare_clustering(table, &partition->rows[*at_out]->clustering, clustering) == 0;
}

static void insert_row(struct cass_partition *partition, size_t at, struct cass_row *take_row)
{
    if (partition->n_rows == partition->rows_capacity) {
        partition->rows_capacity = partition->rows_capacity ? partition->rows_capacity * 2 : 4;
        partition->rows =
            vv_sim_realloc(partition->rows, partition->rows_capacity * sizeof *partition->rows);
    }
    memmove(partition->rows + at + 1, partition->rows + at,
            (partition->n_rows - at) * sizeof *partition->rows);
    partition->n_rows++;
    partition->rows[at] = take_row;
}

struct cass_row *cass_partition_row(const struct cass_table *table,
                                    struct cass_partition *partition,
                                    const struct cass_clustering *clustering)
{
    size_t at;
    vv_invariant(clustering->n == table->n_clustering);
    if (find_row(table, partition, clustering, &at)) {
        partition->rows[at] = row_unshare(table, partition->rows[at]);
    } else {
        insert_row(partition, at, row_create(table, clustering));
    }
    return partition->rows[at];
}

bool cass_row_is_live(const struct cass_table *table, const struct cass_row *row,
                      int64_t deleted_at, int64_t now_s)
{
    if (cass_cell_is_live(&row->liveness, deleted_at, now_s)) {
        return true;
    }
    for (size_t i = 0; i < table->n_regular; i++) {
        if (cass_cell_is_live(&row->cells[i], deleted_at, now_s)) {
            return true;
        }
    }
    return false;
}

static void merge_row(const struct cass_table *table, struct cass_partition *into,
                      struct cass_row *from)
{
    size_t at;
    if (!find_row(table, into, &from->clustering, &at)) {
        from->references++;
        insert_row(into, at, from);
    } else if (row_adds(table, from, into->rows[at])) {
        into->rows[at] = row_unshare(table, into->rows[at]);
        row_merge(table, into->rows[at], from);
    }
}

/* Many at once: two lists that ascend become one. */
static void merge_rows(const struct cass_table *table, struct cass_partition *into,
                       const struct cass_partition *from)
{
    size_t capacity = into->n_rows + from->n_rows;
    struct cass_row **rows = vv_sim_calloc(capacity, sizeof(*rows));
    size_t n = 0;
    size_t i = 0;
    for (size_t j = 0; j < from->n_rows;) {
        struct cass_row *row = from->rows[j];
        int order = 1;
        if (i < into->n_rows && into->rows[i] != row) {
            order = cass_compare_clustering(table, &into->rows[i]->clustering, &row->clustering);
        } else if (i < into->n_rows) {
            order = 0;
        }
        if (order > 0) {
            row->references++;
            rows[n++] = row;
            j++;
            continue;
        }
        struct cass_row *mine = into->rows[i++];
        if (order == 0) {
            if (row_adds(table, row, mine)) {
                mine = row_unshare(table, mine);
                row_merge(table, mine, row);
            }
            j++;
        }
        rows[n++] = mine;
    }
    while (i < into->n_rows) {
        rows[n++] = into->rows[i++];
    }
    free(into->rows);
    into->rows = rows;
    into->n_rows = n;
    into->rows_capacity = capacity;
}

/* ---- deletions ---- */

/* Whether the lower (or upper) bound of a range lies at or beyond another's. */
static bool reaches(const struct cass_table *table, const struct cass_clustering *bound,
                    bool included, const struct cass_clustering *other, bool other_included,
                    bool is_upper)
{
    int order = cass_compare_clustering(table, bound, other);
    order = is_upper ? -order : order;
    if (order != 0 || bound->n > other->n) {
        return order < 0;
    }
    return included || (bound->n == other->n && !other_included);
}

static bool contains(const struct cass_table *table, const struct cass_range *outer,
                     const struct cass_range *inner)
{
    return outer->deleted_at >= inner->deleted_at &&
           reaches(table, &outer->from, outer->from_included, &inner->from, inner->from_included,
                   false) &&
           reaches(table, &outer->to, outer->to_included, &inner->to, inner->to_included, true);
}

void cass_partition_delete(const struct cass_table *table, struct cass_partition *partition,
                           const struct cass_range *take_range)
{
    size_t kept = 0;
    for (size_t i = 0; i < partition->n_ranges; i++) {
        if (contains(table, &partition->ranges[i], take_range)) {
            cass_blob_drop(take_range->key);
            return;
        }
    }
    for (size_t i = 0; i < partition->n_ranges; i++) {
        if (contains(table, take_range, &partition->ranges[i])) {
            cass_blob_drop(partition->ranges[i].key);
        } else {
            partition->ranges[kept++] = partition->ranges[i];
        }
    }
    partition->n_ranges = kept;
    if (partition->n_ranges == partition->ranges_capacity) {
        partition->ranges_capacity = partition->ranges_capacity * 2 + 2;
        partition->ranges = vv_sim_realloc(partition->ranges,
                                           partition->ranges_capacity * sizeof *partition->ranges);
    }
    partition->ranges[partition->n_ranges++] = *take_range;
}

static bool covers(const struct cass_table *table, const struct cass_range *range,
                   const struct cass_clustering *clustering)
{
    int from = cass_compare_clustering(table, clustering, &range->from);
    int to = cass_compare_clustering(table, clustering, &range->to);
    return (range->from_included ? from >= 0 : from > 0) && (range->to_included ? to <= 0 : to < 0);
}

int64_t cass_row_deleted_at(const struct cass_table *table, const struct cass_partition *partition,
                            const struct cass_row *row)
{
    int64_t deleted_at =
        partition->deleted_at > row->deleted_at ? partition->deleted_at : row->deleted_at;
    for (size_t i = 0; i < partition->n_ranges; i++) {
        const struct cass_range *range = &partition->ranges[i];
        if (range->deleted_at > deleted_at && covers(table, range, &row->clustering)) {
            deleted_at = range->deleted_at;
        }
    }
    return deleted_at;
}

/* Whether a row has nothing that is newer than what it was deleted by. */
static bool is_all_deleted(const struct cass_table *table, const struct cass_row *row,
                           int64_t deleted_at)
{
    if (row->deleted_at > deleted_at ||
        (row->liveness.is_set && row->liveness.timestamp > deleted_at)) {
        return false;
    }
    for (size_t i = 0; i < table->n_regular; i++) {
        if (row->cells[i].is_set && row->cells[i].timestamp > deleted_at) {
            return false;
        }
    }
    return true;
}

void cass_partition_clean(const struct cass_table *table, struct cass_partition *partition)
{
    size_t kept = 0;
    for (size_t i = 0; i < partition->n_rows; i++) {
        struct cass_row *row = partition->rows[i];
        int64_t own = row->deleted_at;
        row->deleted_at = CASS_NEVER;
        int64_t deleted_at = cass_row_deleted_at(table, partition, row);
        row->deleted_at = own;
        if (deleted_at != CASS_NEVER && is_all_deleted(table, row, deleted_at)) {
            row_drop(table, row);
        } else {
            partition->rows[kept++] = row;
        }
    }
    partition->n_rows = kept;
}

/* ---- partitions ---- */

static int64_t token_of(const struct cass_table *table, const struct vv_str *values)
{
    struct vvcql_buffer key = {0};
    for (size_t i = 0; i < table->n_partition_key; i++) {
        struct vvcql_bytes value = {(const uint8_t *)values[i].data, values[i].size};
        if (table->n_partition_key == 1) {
            vvcql_write_bytes(&key, value.data, value.size);
        } else {
            vvcql_key_add(&key, value);
        }
    }
    vv_invariant(!key.failed);
    int64_t token = vvcql_token(key.data, key.size);
    vvcql_buffer_deinit(&key);
    return token;
}

struct cass_partition *cass_partition_create(const struct cass_table *table,
                                             const struct vv_str *values)
{
    struct cass_partition *partition = vv_sim_calloc(1, sizeof *partition);
    partition->references = 1;
    memcpy(partition->values, values, table->n_partition_key * sizeof *values);
    partition->key = cass_keep_values(partition->values, table->n_partition_key);
    partition->token = token_of(table, values);
    partition->deleted_at = CASS_NEVER;
    return partition;
}

void cass_partition_drop(const struct cass_table *table, struct cass_partition *partition)
{
    if (!partition || --partition->references > 0) {
        return;
    }
    for (size_t i = 0; i < partition->n_rows; i++) {
        row_drop(table, partition->rows[i]);
    }
    for (size_t i = 0; i < partition->n_ranges; i++) {
        cass_blob_drop(partition->ranges[i].key);
    }
    cass_blob_drop(partition->key);
    free(partition->rows);
    free(partition->ranges);
    free(partition);
}

void cass_partition_merge(const struct cass_table *table, struct cass_partition *into,
                          const struct cass_partition *from)
{
    if (from->deleted_at > into->deleted_at) {
        into->deleted_at = from->deleted_at;
    }
    for (size_t i = 0; i < from->n_ranges; i++) {
        struct cass_range range = from->ranges[i];
        (void)cass_blob_keep(range.key);
        cass_partition_delete(table, into, &range);
    }
    if (from->n_rows > FEW_ROWS) {
        merge_rows(table, into, from);
        return;
    }
    for (size_t i = 0; i < from->n_rows; i++) {
        merge_row(table, into, from->rows[i]);
    }
}

/* ---- a replica's partitions ---- */

int cass_compare_partitions(const struct cass_table *table, const struct cass_partition *a,
                            const struct cass_partition *b)
{
    if (a->token != b->token) {
        return a->token < b->token ? -1 : 1;
    }
    for (size_t i = 0; i < table->n_partition_key; i++) {
        int order = vv_str_compare(a->values[i], b->values[i]);
        if (order != 0) {
            return order;
        }
    }
    return 0;
}

struct cass_partition *cass_partitions_find(const struct cass_table *table,
                                            struct cass_partitions *partitions,
                                            const struct cass_partition *like, bool make)
{
    size_t low = 0;
    size_t high = partitions->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = cass_compare_partitions(table, partitions->items[middle], like);
        if (order == 0) {
            return partitions->items[middle];
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (!make) {
        return NULL;
    }
    if (partitions->n == partitions->capacity) {
        partitions->capacity = partitions->capacity ? partitions->capacity * 2 : 16;
        partitions->items =
            vv_sim_realloc(partitions->items, partitions->capacity * sizeof *partitions->items);
    }
    memmove(partitions->items + low + 1, partitions->items + low,
            (partitions->n - low) * sizeof *partitions->items);
    partitions->n++;
    return partitions->items[low] = cass_partition_create(table, like->values);
}

void cass_partitions_deinit(const struct cass_table *table, struct cass_partitions *partitions)
{
    for (size_t i = 0; i < partitions->n; i++) {
        cass_partition_drop(table, partitions->items[i]);
    }
    free(partitions->items);
    *partitions = (struct cass_partitions){0};
}
