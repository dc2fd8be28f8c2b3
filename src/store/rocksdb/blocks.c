/* SPDX-License-Identifier: Apache-2.0 */
/* Replacing the blocks of spans. */
#include "store/rocksdb/rocksdb.h"

/* One call of put_blocks. */
struct replacement {
    struct vv_rocksdb *rocksdb;
    struct vv_rocksdb_finder finder;
    struct vv_rocksdb_changes changes;
    struct vv_rocksdb_tenant tenant; /* of the last span */
    bool has_tenant;
};

/* Remembers the longest bucket of all before it is there: nearest() passes over eras by it. */
static enum vv_status raise_longest(struct vv_rocksdb *rocksdb, const struct vv_piece *pieces,
                                    size_t n, struct vv_error *error)
{
    int64_t longest = rocksdb->bucket_ns_max;
    for (size_t i = 0; i < n; i++) {
        int64_t bucket_ns = pieces[i].key.partition.bucket_ns;
        longest = bucket_ns > longest ? bucket_ns : longest;
    }
    if (longest == rocksdb->bucket_ns_max) {
        return VV_OK;
    }
    const char key[] = {VV_AREA_OWN, VV_OWN_LONGEST};
    uint8_t value[8];
    vv_key_put_u64(value, (uint64_t)longest);
    enum vv_status status = vv_rocksdb_put(rocksdb, (struct vv_str){key, sizeof key},
                                           (struct vv_str){(char *)value, sizeof value}, error);
    if (status == VV_OK) {
        status = vv_rocksdb_flush(rocksdb, error);
    }
    if (status == VV_OK) {
        pthread_mutex_lock(&rocksdb->lock);
        rocksdb->bucket_ns_max = longest;
        pthread_mutex_unlock(&rocksdb->lock);
    }
    return status;
}

/* ---- what is cut ---- */

/* A span's new parts, as they are stored. */
struct span {
    const struct vv_piece *pieces;
    size_t n; /* 0: it has no block any more */
    bool is_cut;
};

static bool may_be_cut(const struct vv_piece *piece)
{
    return piece->head_size > 0 && piece->head_size < piece->bytes.size;
}

static struct span span_of(const struct vv_piece *pieces, size_t n)
{
    struct span span = {pieces, pieces[0].bytes.size > 0 ? n : 0, true};
    for (size_t i = 0; i < n && span.is_cut; i++) {
        span.is_cut = may_be_cut(&pieces[i]);
    }
    return span;
}

/* ---- what is removed ---- */

static bool has_part(const struct span *span, uint32_t part)
{
    size_t low = 0; /* they ascend */
    size_t high = span->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (span->pieces[middle].part < part) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < span->n && span->pieces[low].part == part;
}

/* Whether a stored key will be written again, so that nothing is left to be removed. */
static bool is_overwritten(const struct span *span, const uint8_t *key, bool is_tail)
{
    uint32_t part = vv_key_get_u32(key + VV_STORED_SPAN_SIZE) & VV_BLOCK_PARTS_MAX;
    return span && span->is_cut == (is_tail || vv_rocksdb_key_is_cut(key)) && has_part(span, part);
}

/* Removes what one class has under a key of a span, that of its tails too, but for what is
 * overwritten; *has_cut_out: a head was there. */
static enum vv_status remove_under(struct replacement *replacement,
                                   const struct vv_rocksdb_class *class,
                                   enum vv_rocksdb_phase phase, const struct vv_span_key *key,
                                   const struct span *overwritten, bool *has_cut_out,
                                   struct vv_error *error)
{
    struct vv_rocksdb_era *era;
    struct vv_rocksdb_cursor *cursor;
    bool is_tail = (key->partition.split & VV_SPLIT_TAIL) != 0;
    enum vv_status status =
        vv_rocksdb_finder_seek(&replacement->finder, class, key, &era, &cursor, error);
    if (status != VV_OK || !cursor) {
        return status;
    }
    struct vv_rocksdb_change change = {phase, class->generation, era, true, {0}, {0}};
    uint8_t span[VV_STORED_SPAN_SIZE];
    memcpy(span, vv_rocksdb_cursor_key(cursor).data, sizeof span);
    while (vv_rocksdb_on_span(cursor, span)) {
        memcpy(change.key, vv_rocksdb_cursor_key(cursor).data, sizeof change.key);
        *has_cut_out |= vv_rocksdb_key_is_cut(change.key);
        if (!is_overwritten(overwritten, change.key, is_tail)) {
            vv_rocksdb_changes_add(&replacement->changes, &change);
        }
        rocksdb_iter_next(cursor->iterator);
    }
    return vv_rocksdb_cursor_status(cursor, error);
}

/* The same of heads, whole blocks and tails. These are where their heads are; what a move has left
 * of them it will remove. */
static enum vv_status remove_parts(struct replacement *replacement,
                                   const struct vv_rocksdb_class *class,
                                   enum vv_rocksdb_phase phase, const struct vv_span_key *key,
                                   const struct span *overwritten, struct vv_error *error)
{
    struct vv_span_key tails = *key;
    bool has_cut = false;
    tails.partition.split |= VV_SPLIT_TAIL;
    enum vv_status status =
        remove_under(replacement, class, phase, key, overwritten, &has_cut, error);
    return status == VV_OK && has_cut
               ? remove_under(replacement, class, phase, &tails, overwritten, &has_cut, error)
               : status;
}

/* ---- what is put ---- */

static void add_cut(struct replacement *replacement, const struct vv_piece *piece,
                    const struct vv_rocksdb_change *whole)
{
    struct vv_rocksdb_change head = *whole;
    struct vv_rocksdb_change tail = *whole;
    vv_rocksdb_key_make_head(head.key);
    vv_rocksdb_key_make_tail(tail.key);
    head.value.size = piece->head_size;
    tail.value =
        (struct vv_str){piece->bytes.data + piece->head_size, piece->bytes.size - piece->head_size};
    vv_rocksdb_changes_add(&replacement->changes, &head);
    vv_rocksdb_changes_add(&replacement->changes, &tail);
}

/* Adds the new parts of a span in its newest class. */
static enum vv_status add_parts(struct replacement *replacement,
                                const struct vv_rocksdb_class *class, const struct span *span,
                                struct vv_error *error)
{
    struct vv_rocksdb *rocksdb = replacement->rocksdb;
    struct vv_era era =
        vv_era_of(class->retention_s, rocksdb->era_count, &span->pieces[0].key.partition);
    struct vv_rocksdb_change change = {VV_PHASE_MAIN, class->generation, NULL, false, {0}, {0}};
    enum vv_status status = vv_rocksdb_eras_make(rocksdb, &era, &change.era, error);
    for (size_t i = 0; i < span->n && status == VV_OK; i++) {
        uint8_t key[VV_KEY_BLOCK_SIZE];
        vv_key_from_block(&span->pieces[i], key);
        vv_rocksdb_key_store(key, sizeof key, class->generation, change.key);
        change.value = span->pieces[i].bytes;
        if (span->is_cut) {
            add_cut(replacement, &span->pieces[i], &change);
        } else {
            vv_rocksdb_changes_add(&replacement->changes, &change);
        }
    }
    return status;
}

static enum vv_status replace_span(struct replacement *replacement, const struct vv_piece *pieces,
                                   size_t n, struct vv_error *error)
{
    const struct vv_span_key *key = &pieces[0].key;
    uint32_t tenant = key->partition.tenant;
    if (!replacement->has_tenant || replacement->tenant.tenant != tenant) {
        vv_rocksdb_tenants_get(replacement->rocksdb, tenant, &replacement->tenant);
        replacement->has_tenant = true;
    }
    const struct vv_rocksdb_tenant *where = &replacement->tenant;
    const struct vv_rocksdb_class *newest = &where->classes[where->n - 1];
    const struct span span = span_of(pieces, n);
    bool removed = span.n == 0;
    enum vv_rocksdb_phase older = removed ? VV_PHASE_BEFORE : VV_PHASE_AFTER;
    enum vv_status status = remove_parts(replacement, newest, VV_PHASE_MAIN, key, &span, error);
    if (status == VV_OK && !removed) {
        status = add_parts(replacement, newest, &span, error);
    }
    for (uint32_t i = 0; i + 1 < where->n && status == VV_OK; i++) {
        status = remove_parts(replacement, &where->classes[i], older, key, NULL, error);
    }
    return status;
}

enum vv_status vv_rocksdb_put_blocks(struct vv_store *store, const struct vv_piece *pieces,
                                     size_t n, struct vv_error *error)
{
    struct vv_rocksdb *rocksdb = vv_rocksdb_of(store);
    enum vv_status status = vv_rocksdb_writable(rocksdb, error);
    status = status == VV_OK ? vv_key_check_blocks(pieces, n, error) : status;
    status = status == VV_OK ? raise_longest(rocksdb, pieces, n, error) : status;
    struct replacement replacement = {.rocksdb = rocksdb, .finder = {.rocksdb = rocksdb}};
    size_t begin = 0;
    for (size_t i = 1; i <= n && status == VV_OK; i++) {
        if (i == n || vv_span_key_compare(&pieces[i].key, &pieces[begin].key) != 0) {
            status = replace_span(&replacement, &pieces[begin], i - begin, error);
            begin = i;
        }
    }
    vv_rocksdb_finder_deinit(&replacement.finder);
    if (status == VV_OK) {
        status = vv_rocksdb_changes_write(rocksdb, &replacement.changes, error);
    }
    vv_rocksdb_changes_deinit(&replacement.changes);
    return status;
}
