/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks: all parts but part 0 are written first, part 0 of all spans afterwards, and then what
 * they replaced is deleted. Covers of runs.
 */
#include "store/cassandra/cassandra.h"

#include "store/keys.h"

#include <stdlib.h>

/* A span that gets blocks: its pieces, and the newest seal that it had in any class. */
struct replaced {
    const struct vv_piece *pieces;
    size_t n;
    struct vv_tenant_classes classes;
    int64_t seal; /* that is written now */
    bool had[VV_CASSANDRA_CLASSES_MAX + 1];
};

static bool same_span(const struct vv_piece *a, const struct vv_piece *b)
{
    return vv_span_key_compare(&a->key, &b->key) == 0;
}

static enum vv_status add_span(struct vv_cassandra *store, struct vvcql_statement *statement,
                               const struct vv_span_key *key, struct vv_error *error)
{
    enum vv_status status = vv_cassandra_add_partition(store, statement, &key->partition, error);
    vv_cassandra_add_str(statement, vv_cassandra_measurement(store, key->measurement));
    vvcql_add_timestamp(statement, vv_cassandra_ms(key->span_start));
    return status;
}

/* ---- what was there before ---- */

static enum vv_status ask_seals(struct vv_cassandra *store, struct replaced *spans, size_t n,
                                struct vv_error *error)
{
    struct vvcql_statement *statements[VV_CASSANDRA_ASK_MAX];
    struct vvcql_result *results[VV_CASSANDRA_ASK_MAX];
    size_t asked = 0;
    enum vv_status status = VV_OK;
    for (size_t i = 0; i < n && status == VV_OK; i++) {
        for (uint32_t c = 0; c < spans[i].classes.n && status == VV_OK; c++) {
            const struct vv_class *class = &store->classes[spans[i].classes.classes[c]];
            statements[asked] = vvcql_statement_prepared(class->newest_seal);
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
        for (uint32_t c = 0; c < spans[i].classes.n; c++, at++) {
            int64_t seal;
            spans[i].had[c] =
                vvcql_next_row(results[at]) && vvcql_get_bigint(results[at], 0, &seal);
            if (spans[i].had[c] && seal >= spans[i].seal) {
                spans[i].seal = seal + 1; /* a clock of this or another node went ahead */
            }
            vvcql_result_destroy(results[at]);
        }
    }
    return status;
}

/* ---- writing ---- */

static enum vv_status put_part(struct vv_cassandra *store, const struct replaced *span,
                               const struct vv_piece *piece, struct vv_error *error)
{
    const struct vv_partition *partition = &piece->key.partition;
    const struct vv_class *class = &store->classes[span->classes.classes[0]];
    struct vvcql_statement *statement = vvcql_statement_prepared(class->put_block);
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
    vv_cassandra_add_str(statement, piece->bytes);
    vvcql_add_int(statement,
                  vv_cassandra_block_ttl(store, partition->bucket_start + partition->bucket_ns,
                                         span->classes.retention_ns, now));
    vvcql_add_bigint(statement, span->seal);
    vvcql_set_idempotent(statement, true);
    vv_buffer_deinit(&metrics);
    return vv_flight_send(&store->flight, statement, error);
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

/* One range each, and only where something was. */
static enum vv_status drop_old(struct vv_cassandra *store, const struct replaced *spans, size_t n,
                               struct vv_error *error)
{
    enum vv_status status = VV_OK;
    for (size_t i = 0; i < n && status == VV_OK; i++) {
        for (uint32_t c = 0; c < spans[i].classes.n && status == VV_OK; c++) {
            if (!spans[i].had[c]) {
                continue;
            }
            const struct vv_class *class = &store->classes[spans[i].classes.classes[c]];
            struct vvcql_statement *statement = vvcql_statement_prepared(class->drop_seals);
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
        status = put_parts(store, spans, n, false, error);
    }
    if (status == VV_OK) {
        status = put_parts(store, spans, n, true, error);
    }
    return status == VV_OK ? drop_old(store, spans, n, error) : status;
}

#define SPANS_AT_ONCE (VV_CASSANDRA_ASK_MAX / (VV_CASSANDRA_CLASSES_MAX + 1))

enum vv_status vv_cassandra_put_blocks(struct vv_store *base, const struct vv_piece *pieces,
                                       size_t n, struct vv_error *error)
{
    struct vv_cassandra *store = vv_cassandra_of(base);
    enum vv_status status = vv_cassandra_check(store, error);
    if (status == VV_OK) {
        status = vv_key_check_blocks(pieces, n, error);
    }
    for (size_t at = 0; at < n && status == VV_OK;) {
        struct replaced spans[SPANS_AT_ONCE];
        size_t n_spans = 0;
        int64_t us;
        status = vv_cassandra_write_us(store, &us, error);
        while (at < n && n_spans < SPANS_AT_ONCE) {
            size_t end = at + 1;
            while (end < n && same_span(&pieces[at], &pieces[end])) {
                end++;
            }
            spans[n_spans++] = (struct replaced){
                .pieces = &pieces[at],
                .n = end - at,
                .classes = vv_cassandra_classes_of(store, pieces[at].key.partition.tenant),
                .seal = us,
            };
            at = end;
        }
        if (status == VV_OK) {
            status = replace(store, spans, n_spans, error);
        }
    }
    return vv_cassandra_failed(store, status);
}

/* ---- covers ---- */

static enum vv_status put_cover(struct vv_cassandra *store, const struct vv_span_key *key,
                                const struct vv_buffer *list, struct vv_error *error)
{
    int64_t us;
    enum vv_status status = vv_buffer_status(list);
    if (status == VV_OK) {
        status = vv_cassandra_write_us(store, &us, error);
    }
    if (status != VV_OK) {
        return status;
    }
    struct vvcql_statement *statement = vvcql_statement_prepared(store->put_run);
    int64_t now = store->clock->wall_ns(store->clock);
    status = add_span(store, statement, key, error);
    if (status != VV_OK) {
        vvcql_statement_destroy(statement);
        return status;
    }
    vvcql_add_bigint(statement, vv_cassandra_from_stamp(VV_CASSANDRA_COVERS));
    vvcql_add_bigint(statement, us);
    vvcql_add_null(statement);
    vvcql_add_bytes(statement, list->data, list->size);
    vvcql_add_int(
        statement,
        vv_cassandra_run_ttl(store, key->partition.bucket_start + key->partition.bucket_ns, now));
    vvcql_add_bigint(statement, us);
    vvcql_set_idempotent(statement, true);
    return vv_flight_send(&store->flight, statement, error);
}

/* A run that was put just before must be there when its cover is: their timestamps don't order
 * them, since they are different rows, and a cover alone does no harm. */
enum vv_status vv_cassandra_remove_runs(struct vv_store *base, const struct vv_piece *runs,
                                        size_t n, struct vv_error *error)
{
    struct vv_cassandra *store = vv_cassandra_of(base);
    struct vv_buffer list = {0};
    enum vv_status status = vv_cassandra_check(store, error);
    for (size_t i = 0; i < n && status == VV_OK; i++) {
        vv_buffer_be64(&list, runs[i].run);
        vv_buffer_be32(&list, runs[i].part);
        if (i + 1 == n || !same_span(&runs[i], &runs[i + 1])) {
            status = put_cover(store, &runs[i].key, &list, error);
            vv_buffer_clear(&list);
        }
    }
    vv_buffer_deinit(&list);
    return vv_cassandra_failed(store, status);
}
