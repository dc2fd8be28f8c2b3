/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks: all parts but part 0 are written first, part 0 of all spans afterwards, and then what
 * they replaced is deleted. They carry the stamp of the shard's pass (pass.c), which says, too,
 * into which of a class's tables they go where these are purged by copying. What is replaced in the
 * other one goes when that is truncated.
 *
 * A cover tells which runs the block of one seal has in it: all of them, those too that came into
 * it with the block that it was made from. It counts only beside that very block, since another
 * node may have made the one that wins from fewer runs.
 *
 *   cover   20 bytes a part of a run: run 8, part 4, version 8 (0: any)
 */
#include "store/cassandra/cassandra.h"

#include "store/keys.h"

#include <stdlib.h>

/* A span that gets blocks: its pieces, and in which classes it had some. */
struct replaced {
    const struct vv_piece *pieces;
    size_t n;
    struct vv_tenant_classes classes;
    bool is_late;
    uint8_t shard;
    uint32_t second;       /* bits: classes of which the second table is written */
    int64_t seal;          /* that is written now */
    int64_t made_from;     /* the seal of the block that was read to make it; 0: none */
    struct vv_buffer list; /* its runs that are in the new block too */
    bool had[VV_CASSANDRA_CLASSES_MAX + 1][2]; /* by table */
};

static bool same_span(const struct vv_piece *a, const struct vv_piece *b)
{
    return vv_span_key_compare(&a->key, &b->key) == 0;
}

/* Of the class at this place of the tenant's, and one of its tables. */
static const struct vv_block_statements *statements_of(const struct vv_cassandra *store,
                                                       const struct replaced *span, uint32_t index,
                                                       uint32_t table)
{
    const struct vv_class *class = &store->classes[span->classes.classes[index]];
    return span->is_late ? &class->late[table] : &class->blocks[table];
}

/* The table of that class that is written. */
static uint32_t table_of(const struct replaced *span, uint32_t index)
{
    return span->second >> span->classes.classes[index] & 1;
}

/* Where the span is in its partition. */
static void add_place(const struct vv_cassandra *store, struct vvcql_statement *statement,
                      const struct vv_span_key *key)
{
    vv_cassandra_add_str(statement, vv_cassandra_measurement(store, key->measurement));
    vvcql_add_timestamp(statement, vv_cassandra_ms(key->span_start));
}

static enum vv_status add_span(struct vv_cassandra *store, struct vvcql_statement *statement,
                               const struct vv_span_key *key, struct vv_error *error)
{
    enum vv_status status = vv_cassandra_add_partition(store, statement, &key->partition, error);
    add_place(store, statement, key);
    return status;
}

/* The same in the table of its runs. */
static enum vv_status add_runs_span(struct vv_cassandra *store, struct vvcql_statement *statement,
                                    const struct vv_span_key *key, struct vv_error *error)
{
    enum vv_status status =
        vv_cassandra_add_runs_partition(store, statement, &key->partition, error);
    add_place(store, statement, key);
    return status;
}

/* ---- what was there before ---- */

static enum vv_status ask_seals(struct vv_cassandra *store, struct replaced *spans, size_t n,
                                struct vv_error *error)
{
    struct vvcql_statement *statements[VV_CASSANDRA_ASK_MAX] = {NULL};
    struct vvcql_result *results[VV_CASSANDRA_ASK_MAX];
    size_t asked = 0;
    uint32_t n_tables = vv_cassandra_tables(store);
    enum vv_status status = VV_OK;
    for (size_t i = 0; i < n && status == VV_OK; i++) {
        for (uint32_t c = 0; c < n_tables * spans[i].classes.n && status == VV_OK; c++) {
            statements[asked] = vvcql_statement_prepared(
                statements_of(store, &spans[i], c / n_tables, c % n_tables)->newest_seal);
            status = add_span(store, statements[asked], &spans[i].pieces->key, error);
            vvcql_set_idempotent(statements[asked], true);
            asked++;
        }
    }
    if (status != VV_OK) {
        for (size_t i = 0; i < asked; i++) {
            vvcql_statement_destroy(statements[i]);
        }
        return status;
    }
    status = vv_cassandra_ask(store, statements, asked, results, error);
    for (size_t i = 0, at = 0; i < n && status == VV_OK; i++) {
        int64_t newest = 0;
        for (uint32_t c = 0; c < n_tables * spans[i].classes.n; c++, at++) {
            int64_t seal;
            bool *had = &spans[i].had[c / n_tables][c % n_tables];
            *had = vvcql_next_row(results[at]) && vvcql_get_bigint(results[at], 0, &seal);
            newest = *had && seal > newest ? seal : newest;
            vvcql_result_destroy(results[at]);
        }
        int64_t told = spans[i].pieces->version;
        spans[i].made_from = told == VV_VERSION_NONE ? 0 : told != 0 ? told : newest;
    }
    return status;
}

/* ---- covers ---- */

static struct vvcql_statement *cover_question(struct vv_cassandra *store,
                                              const struct vv_span_key *key, int64_t seal,
                                              enum vv_status *status_out, struct vv_error *error)
{
    struct vvcql_statement *statement =
        vvcql_statement_prepared(vv_cassandra_runs_of(store, &key->partition)->read_cover);
    *status_out = add_runs_span(store, statement, key, error);
    vvcql_add_bigint(statement, vv_cassandra_from_stamp(VV_CASSANDRA_COVERS));
    vvcql_add_bigint(statement, seal);
    vvcql_set_idempotent(statement, true);
    return statement;
}

/* Runs that have expired by now are left out, so that a span that is sealed again and again has no
 * longer and longer list. */
static void take_cover(struct vv_cassandra *store, struct vvcql_result *row,
                       const struct vv_span_key *key, struct vv_buffer *list)
{
    struct vvcql_bytes entries;
    int64_t now = store->clock->wall_ns(store->clock);
    int64_t life_ns =
        vv_cassandra_runs_end(store, key) - key->partition.bucket_start +
        (vv_cassandra_may_wait(store, key->partition.tenant) ? VV_LATE_FOLD_NS_MAX : 0);
    int64_t oldest_us = (now - store->slack_ns - life_ns - VV_DAY) / 1000;
    if (!vvcql_next_row(row) || !vvcql_get_bytes(row, 0, &entries)) {
        return;
    }
    for (size_t at = 0; at + VV_COVER_SIZE <= entries.size; at += VV_COVER_SIZE) {
        int64_t version = (int64_t)vv_key_get_u64(entries.data + at + 12);
        if (version == 0 || version >= oldest_us) {
            vv_buffer_append(list, entries.data + at, VV_COVER_SIZE);
        }
    }
}

static enum vv_status read_covers(struct vv_cassandra *store, struct replaced *spans, size_t n,
                                  struct vv_error *error)
{
    struct vvcql_statement *statements[VV_CASSANDRA_ASK_MAX];
    struct vvcql_result *results[VV_CASSANDRA_ASK_MAX];
    size_t asked = 0;
    /* A cover that was just written must be seen, or what replaces it has less in it. */
    enum vv_status status = vv_flight_wait(&store->flight, error);
    for (size_t i = 0; i < n && status == VV_OK; i++) {
        if (spans[i].made_from != 0) {
            statements[asked++] =
                cover_question(store, &spans[i].pieces->key, spans[i].made_from, &status, error);
        }
    }
    if (status != VV_OK) {
        for (size_t i = 0; i < asked; i++) {
            vvcql_statement_destroy(statements[i]);
        }
        return status;
    }
    status = asked > 0 ? vv_cassandra_ask(store, statements, asked, results, error) : VV_OK;
    for (size_t i = 0, at = 0; i < n && status == VV_OK; i++) {
        if (spans[i].made_from != 0) {
            take_cover(store, results[at], &spans[i].pieces->key, &spans[i].list);
            vvcql_result_destroy(results[at++]);
        }
    }
    for (size_t i = 0; i < n && status == VV_OK; i++) {
        status = vv_buffer_status(&spans[i].list);
    }
    return status;
}

static enum vv_status put_cover(struct vv_cassandra *store, const struct vv_span_key *key,
                                int64_t seal, const struct vv_buffer *list, struct vv_error *error)
{
    int64_t us;
    enum vv_status status = vv_buffer_status(list);
    if (status == VV_OK) {
        status = vv_cassandra_write_us(store, &us, error);
    }
    if (status != VV_OK) {
        return status;
    }
    struct vvcql_statement *statement =
        vvcql_statement_prepared(vv_cassandra_runs_of(store, &key->partition)->put);
    int64_t now = store->clock->wall_ns(store->clock);
    status = add_runs_span(store, statement, key, error);
    if (status != VV_OK) {
        vvcql_statement_destroy(statement);
        return status;
    }
    vvcql_add_bigint(statement, vv_cassandra_from_stamp(VV_CASSANDRA_COVERS));
    vvcql_add_bigint(statement, seal);
    vvcql_add_null(statement);
    vvcql_add_bytes(statement, list->data, list->size);
    vvcql_add_bigint(statement, us);
    vvcql_add_int(statement, vv_cassandra_cover_ttl(store, key, now));
    vvcql_add_bigint(statement, us);
    vvcql_set_idempotent(statement, true);
    return vv_flight_send(&store->flight, statement, error);
}

/* What the old blocks had in them is in the new ones. Before a new one counts: who dies in between
 * would leave runs that no cover names, and perhaps no mark, as another node may have sealed the
 * span before. */
static enum vv_status put_old_covers(struct vv_cassandra *store, const struct replaced *spans,
                                     size_t n, struct vv_error *error)
{
    enum vv_status status = VV_OK;
    for (size_t i = 0; i < n && status == VV_OK; i++) {
        if (spans[i].list.size > 0) {
            status = put_cover(store, &spans[i].pieces->key, spans[i].seal, &spans[i].list, error);
        }
    }
    return status;
}

/* ---- writing ---- */

/* The head and what is behind it, or all as one. */
static void add_bytes(struct vvcql_statement *statement, const struct vv_piece *piece)
{
    struct vv_str bytes = piece->bytes;
    bool has_tail = piece->head_size > 0 && piece->head_size < bytes.size;
    size_t head = has_tail ? piece->head_size : bytes.size;
    vv_cassandra_add_str(statement, (struct vv_str){bytes.data, head});
    if (has_tail) {
        vv_cassandra_add_str(statement, (struct vv_str){bytes.data + head, bytes.size - head});
    } else {
        vvcql_add_unset(statement); /* null would be a tombstone */
    }
}

static enum vv_status put_part(struct vv_cassandra *store, const struct replaced *span,
                               const struct vv_piece *piece, struct vv_error *error)
{
    const struct vv_partition *partition = &piece->key.partition;
    struct vvcql_statement *statement =
        vvcql_statement_prepared(statements_of(store, span, 0, table_of(span, 0))->put);
    struct vv_buffer metrics = {0};
    enum vv_status status = add_span(store, statement, &piece->key, error);
    if (status == VV_OK) {
        status = vv_cassandra_metrics(store, piece->bytes, &metrics);
    }
    if (status != VV_OK) {
        vv_buffer_deinit(&metrics);
        vvcql_statement_destroy(statement);
        return status;
    }
    int64_t now = store->clock->wall_ns(store->clock);
    vvcql_add_bigint(statement, span->seal);
    vvcql_add_bigint(statement, piece->part);
    if (piece == span->pieces) {
        vvcql_add_int(statement, piece->bytes.size > 0 ? (int32_t)span->n : 0);
    } else {
        vvcql_add_null(statement);
    }
    vvcql_add_bytes(statement, metrics.data ? metrics.data : (const uint8_t *)"", metrics.size);
    add_bytes(statement, piece);
    int64_t bucket_end = partition->bucket_start + partition->bucket_ns;
    vvcql_add_int(statement,
                  store->purges
                      ? 0
                      : vv_cassandra_block_ttl(store, bucket_end, span->classes.retention_ns, now));
    vvcql_add_bigint(statement, span->seal);
    vvcql_set_idempotent(statement, true);
    vv_buffer_deinit(&metrics);
    return vv_flight_gather(&store->flight, statement, 1, error);
}

static enum vv_status put_parts(struct vv_cassandra *store, const struct replaced *spans, size_t n,
                                bool first, struct vv_error *error)
{
    enum vv_status status = VV_OK;
    for (size_t i = 0; i < n && status == VV_OK; i++) {
        for (size_t j = 0; j < spans[i].n && status == VV_OK; j++) {
            if ((j == 0) == first) {
                status = put_part(store, &spans[i], &spans[i].pieces[j], error);
            }
        }
    }
    enum vv_status landed = vv_flight_wait(&store->flight, status == VV_OK ? error : NULL);
    return status == VV_OK ? landed : status;
}

/* Whose blocks have landed before a purge may have begun to copy, which is when a later pass is
 * committed, or a shard has moved. What lands afterwards may be truncated with the table that it is
 * in, so it does not count as put. */
static enum vv_status check_current(struct vv_cassandra *store, const struct replaced *spans,
                                    size_t n, struct vv_error *error)
{
    bool shards[VV_CASSANDRA_SHARDS] = {false};
    bool current[VV_CASSANDRA_SHARDS];
    for (size_t i = 0; i < n && store->purges; i++) {
        shards[spans[i].shard] = true;
    }
    enum vv_status status = vv_shared_check_passes(store, shards, current, error);
    for (size_t i = 0; i < VV_CASSANDRA_SHARDS && status == VV_OK; i++) {
        if (shards[i] && !current[i]) {
            status = vv_error_set(error, VV_OVERLOAD,
                                  "another node, or a purge, has taken over this shard of the "
                                  "sources: try again later");
        }
    }
    return status;
}

/* One range each, and only where something was. */
static enum vv_status drop_old(struct vv_cassandra *store, const struct replaced *spans, size_t n,
                               struct vv_error *error)
{
    enum vv_status status = VV_OK;
    for (size_t i = 0; i < n && status == VV_OK; i++) {
        for (uint32_t c = 0; c < spans[i].classes.n && status == VV_OK; c++) {
            uint32_t table = table_of(&spans[i], c);
            if (!spans[i].had[c][table]) {
                continue;
            }
            struct vvcql_statement *statement =
                vvcql_statement_prepared(statements_of(store, &spans[i], c, table)->drop_seals);
            vvcql_add_bigint(statement, spans[i].seal);
            status = add_span(store, statement, &spans[i].pieces->key, error);
            vvcql_add_bigint(statement, spans[i].seal);
            vvcql_set_idempotent(statement, true);
            if (status == VV_OK) {
                status = vv_flight_send(&store->flight, statement, error);
            } else {
                vvcql_statement_destroy(statement);
            }
        }
    }
    return status;
}

/* For remove_runs: which seal the runs go with. */
static enum vv_status note_put(struct vv_cassandra_shared *shared, struct replaced *span,
                               struct vv_error *error)
{
    if (shared->n_put == shared->put_capacity) {
        size_t capacity = shared->put_capacity ? shared->put_capacity * 2 : 64;
        struct vv_span_put *put = realloc(shared->put, capacity * sizeof *put);
        if (!put) {
            return vv_error_set(error, VV_NO_MEMORY, "out of memory while sealing");
        }
        shared->put = put;
        shared->put_capacity = capacity;
    }
    shared->put[shared->n_put++] =
        (struct vv_span_put){.key = span->pieces->key, .seal = span->seal, .list = span->list};
    span->list = (struct vv_buffer){0};
    return VV_OK;
}

static enum vv_status replace(struct vv_cassandra *store, struct replaced *spans, size_t n,
                              struct vv_error *error)
{
    enum vv_status status = VV_OK;
    for (size_t i = 0; i < n && status == VV_OK; i++) {
        status = vv_cassandra_note_bucket(store, &spans[i].pieces->key.partition, error);
    }
    if (status == VV_OK) {
        status = ask_seals(store, spans, n, error);
    }
    if (status == VV_OK) {
        status = read_covers(store, spans, n, error);
    }
    if (status == VV_OK) { /* these land with the parts behind the first: see there */
        status = put_old_covers(store, spans, n, error);
    }
    if (status == VV_OK) {
        status = put_parts(store, spans, n, false, error);
    }
    if (status == VV_OK) {
        status = put_parts(store, spans, n, true, error);
    }
    if (status == VV_OK) {
        status = check_current(store, spans, n, error);
    }
    if (status == VV_OK) {
        status = drop_old(store, spans, n, error);
    }
    for (size_t i = 0; i < n && status == VV_OK; i++) {
        status = note_put(&store->shared, &spans[i], error);
    }
    return status;
}

#define SPANS_AT_ONCE (VV_CASSANDRA_ASK_MAX / (2 * (VV_CASSANDRA_CLASSES_MAX + 1)))

/* Some spans; returns how many pieces they have. */
static enum vv_status replace_some(struct vv_cassandra *store, const struct vv_piece *pieces,
                                   size_t n, size_t *n_out, struct vv_error *error)
{
    struct replaced spans[SPANS_AT_ONCE];
    size_t n_spans = 0;
    size_t at = 0;
    enum vv_status status = VV_OK;
    while (at < n && n_spans < SPANS_AT_ONCE && status == VV_OK) {
        size_t end = at + 1;
        while (end < n && same_span(&pieces[at], &pieces[end])) {
            end++;
        }
        struct replaced *span = &spans[n_spans++];
        const struct vv_partition *partition = &pieces[at].key.partition;
        *span = (struct replaced){.pieces = &pieces[at],
                                  .n = end - at,
                                  .classes = vv_cassandra_classes_of(store, partition->tenant),
                                  .is_late = vv_cassandra_is_late(store, partition->tenant)};
        status = vv_cassandra_shard(store, partition, &span->shard, error);
        span->seal = store->shared.shards[span->shard].pass;
        span->second = store->shared.shards[span->shard].pass_second;
        at = end;
    }
    if (status == VV_OK) {
        status = replace(store, spans, n_spans, error);
    }
    for (size_t i = 0; i < n_spans; i++) {
        vv_buffer_deinit(&spans[i].list);
    }
    *n_out = at;
    return status;
}

static enum vv_status take_passes(struct vv_cassandra *store, const struct vv_piece *pieces,
                                  size_t n, struct vv_error *error)
{
    bool shards[VV_CASSANDRA_SHARDS] = {false};
    enum vv_status status = VV_OK;
    for (size_t i = 0; i < n && status == VV_OK; i++) {
        uint8_t shard;
        status = vv_cassandra_shard(store, &pieces[i].key.partition, &shard, error);
        shards[shard] = true;
    }
    return status == VV_OK ? vv_shared_take_passes(store, shards, error) : status;
}

enum vv_status vv_cassandra_put_blocks(struct vv_store *base, const struct vv_piece *pieces,
                                       size_t n, struct vv_error *error)
{
    struct vv_cassandra *store = vv_cassandra_of(base);
    enum vv_status status = vv_cassandra_check(store, error);
    if (status == VV_OK) {
        status = vv_key_check_blocks(pieces, n, error);
    }
    if (status == VV_OK) {
        status = take_passes(store, pieces, n, error);
    }
    vv_shared_forget_put(&store->shared);
    for (size_t at = 0; at < n && status == VV_OK;) {
        size_t some;
        status = replace_some(store, pieces + at, n - at, &some, error);
        at += some;
    }
    return vv_cassandra_failed(store, status);
}

/* ---- removing runs ---- */

static struct vv_span_put *find_put(struct vv_cassandra_shared *shared,
                                    const struct vv_span_key *key)
{
    for (size_t i = 0; i < shared->n_put; i++) {
        if (vv_span_key_compare(&shared->put[i].key, key) == 0) {
            return &shared->put[i];
        }
    }
    return NULL;
}

/* Runs that are in no new block: they go with the block that is there, or with none, which is a
 * block without parts. */
static enum vv_status remove_alone(struct vv_cassandra *store, const struct vv_piece *run,
                                   const struct vv_buffer *removed, struct vv_error *error)
{
    const struct vv_piece nothing = {.kind = VV_PIECE_BLOCK, .key = run->key};
    struct replaced span = {
        .pieces = &nothing,
        .n = 1,
        .classes = vv_cassandra_classes_of(store, run->key.partition.tenant),
        .is_late = vv_cassandra_is_late(store, run->key.partition.tenant),
    };
    enum vv_status status = ask_seals(store, &span, 1, error);
    if (status == VV_OK) {
        status = read_covers(store, &span, 1, error);
    }
    span.seal = span.made_from;
    if (status == VV_OK && span.made_from == 0) {
        status = take_passes(store, &nothing, 1, error);
        if (status == VV_OK) {
            status = vv_cassandra_shard(store, &run->key.partition, &span.shard, error);
        }
        span.seal = store->shared.shards[span.shard].pass;
        span.second = store->shared.shards[span.shard].pass_second;
        if (status == VV_OK) {
            status = put_parts(store, &span, 1, true, error);
        }
    }
    if (status == VV_OK) {
        vv_buffer_append(&span.list, removed->data, removed->size);
        status = put_cover(store, &run->key, span.seal, &span.list, error);
    }
    vv_buffer_deinit(&span.list);
    return status;
}

enum vv_status vv_cassandra_remove_runs(struct vv_store *base, const struct vv_piece *runs,
                                        size_t n, struct vv_error *error)
{
    struct vv_cassandra *store = vv_cassandra_of(base);
    struct vv_buffer removed = {0};
    enum vv_status status = vv_cassandra_check(store, error);
    for (size_t i = 0; i < n && status == VV_OK; i++) {
        vv_buffer_be64(&removed, runs[i].run);
        vv_buffer_be32(&removed, runs[i].part);
        vv_buffer_be64(&removed, (uint64_t)runs[i].version);
        if (i + 1 < n && same_span(&runs[i], &runs[i + 1])) {
            continue;
        }
        struct vv_span_put *put = find_put(&store->shared, &runs[i].key);
        if (put) {
            vv_buffer_append(&put->list, removed.data, removed.size);
            status = put_cover(store, &runs[i].key, put->seal, &put->list, error);
        } else {
            status = vv_buffer_status(&removed);
            status = status == VV_OK ? remove_alone(store, &runs[i], &removed, error) : status;
        }
        vv_buffer_clear(&removed);
    }
    vv_buffer_deinit(&removed);
    return vv_cassandra_failed(store, status);
}
