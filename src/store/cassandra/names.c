/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names that all nodes share, for numbers that are one node's own.
 *
 *   source   UUID version 8 (RFC 9562): the first 128 bits of SHA-256 over
 *            "varve source" 0 tenant 0 id, with version and variant set; the same in all spaces of
 *            a tenant, so that all that is sealed of a source belongs to one shard
 *   cohort   (tier/cohort.h) of a source: the first 6 bits of its UUID, so it is four shards; its
 *            id there: the first half of the UUID, exclusive or the second. In tiers a cohort has
 *            the UUID of a source with "varve cohort" in place of "varve source", and its number
 *   shard    the first byte of the source's UUID; of a definition, of SHA-256 over
 *            "varve definition" 0 tenant 0 name
 *   metric   the first 64 bits of SHA-256 over "varve metric" 0 measurement 0 field, big-endian
 *
 * A hash that nobody can aim: two sources of a tenant whose ids were chosen to meet would be one.
 */
#include "store/cassandra/cassandra.h"

#include "codec/block.h"
#include "model/space.h"
#include "store/keys.h"
#include "tier/cohort.h"
#include "tier/record_metrics.h"

#include <openssl/evp.h>

struct vv_str vv_cassandra_tenant(const struct vv_cassandra *store, uint32_t tenant)
{
    return store->names.tenant(store->names.context, tenant);
}

bool vv_cassandra_is_tier(const struct vv_cassandra *store, uint32_t tenant)
{
    enum vv_space tier;
    return vv_space_of_name(vv_cassandra_tenant(store, tenant), &tier);
}

struct vv_str vv_cassandra_measurement(const struct vv_cassandra *store, uint32_t measurement)
{
    return store->names.measurement(store->names.context, measurement);
}

/* false: OpenSSL has no memory. */
static bool hash_names(const char *purpose, struct vv_str first, struct vv_str second,
                       uint8_t out[32])
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    bool done = context && EVP_DigestInit_ex(context, EVP_sha256(), NULL) == 1 &&
                EVP_DigestUpdate(context, purpose, strlen(purpose) + 1) == 1 &&
                EVP_DigestUpdate(context, first.data, first.size) == 1 &&
                EVP_DigestUpdate(context, "", 1) == 1 &&
                EVP_DigestUpdate(context, second.data, second.size) == 1 &&
                EVP_DigestFinal_ex(context, out, NULL) == 1;
    EVP_MD_CTX_free(context);
    return done;
}

enum vv_status vv_cassandra_source_id(const struct vv_cassandra *store, uint32_t tenant,
                                      uint32_t source, uint8_t uuid_out[16], struct vv_error *error)
{
    struct vv_str name = vv_space_tenant_name(vv_cassandra_tenant(store, tenant));
    struct vv_str id = store->names.source(store->names.context, source);
    uint8_t hash[32];
    const char *purpose = vv_cohort_is(source) ? "varve cohort" : "varve source";
    if (name.size == 0 || id.size == 0 || !hash_names(purpose, name, id, hash)) {
        return vv_error_set(error, VV_INVALID, "source %u of tenant %u has no name", source,
                            tenant);
    }
    memcpy(uuid_out, hash, 16);
    uuid_out[6] = (uint8_t)((uuid_out[6] & 0x0f) | 0x80);
    uuid_out[8] = (uint8_t)((uuid_out[8] & 0x3f) | 0x80);
    return VV_OK;
}

enum vv_status vv_shared_cohort_of(struct vv_store *base, uint32_t tenant, uint32_t source,
                                   uint32_t *cohort_out, uint64_t *id_out)
{
    uint8_t uuid[16];
    enum vv_status status =
        vv_cassandra_source_id(vv_cassandra_of(base), tenant, source, uuid, NULL);
    if (status == VV_OK) {
        *cohort_out = VV_COHORT_NUMBER | vv_cassandra_shard_of(uuid) * VV_COHORTS_SHARED / 256;
        *id_out = vv_key_get_u64(uuid) ^ vv_key_get_u64(uuid + 8);
    }
    return status;
}

enum vv_status vv_cassandra_shard(const struct vv_cassandra *store,
                                  const struct vv_partition *partition, uint8_t *shard_out,
                                  struct vv_error *error)
{
    uint8_t uuid[16];
    enum vv_status status =
        vv_cassandra_source_id(store, partition->tenant, partition->source, uuid, error);
    *shard_out = status == VV_OK ? vv_cassandra_shard_of(uuid) : 0;
    return status;
}

/* A source without a name comes first: its flush fails. */
uint64_t vv_shared_order(struct vv_store *base, uint32_t tenant, uint32_t source)
{
    uint8_t uuid[16] = {0};
    (void)!vv_cassandra_source_id(vv_cassandra_of(base), tenant, source, uuid, NULL);
    return (uint64_t)tenant << 32 | vv_key_get_u32(uuid);
}

bool vv_cassandra_definition_shard(struct vv_str tenant, struct vv_str name, uint8_t *shard_out)
{
    uint8_t hash[32];
    bool done = hash_names("varve definition", tenant, name, hash);
    *shard_out = done ? hash[0] : 0;
    return done;
}

bool vv_cassandra_metric_id(struct vv_str measurement, struct vv_str field, int64_t *id_out)
{
    uint8_t hash[32];
    if (!hash_names("varve metric", measurement, field, hash)) {
        return false;
    }
    *id_out = (int64_t)vv_key_get_u64(hash);
    return true;
}

static enum vv_status id_of(const struct vv_cassandra *store, uint32_t metric, int64_t *id_out)
{
    uint32_t measurement;
    enum vv_value_type type;
    struct vv_str field = store->names.field(store->names.context, metric, &measurement, &type);
    struct vv_str name = field.size > 0 ? vv_cassandra_measurement(store, measurement) : field;
    if (name.size == 0) {
        return VV_NOT_FOUND;
    }
    return vv_cassandra_metric_id(name, field, id_out) ? VV_OK : VV_NO_MEMORY;
}

/* Appends the number of each of a block's columns, a uint32_t; of bytes that are no block none: who
 * decodes them says what is wrong. */
static enum vv_status add_columns(struct vv_str bytes, struct vv_buffer *out)
{
    struct vv_block block;
    if (vv_block_open((const uint8_t *)bytes.data, bytes.size, &block) != VV_BLOCK_OK) {
        return VV_OK;
    }
    for (uint32_t i = 0; i < block.n_columns; i++) {
        struct vv_block_column column;
        if (vv_block_column_info(&block, i, &column) != VV_BLOCK_OK) {
            return VV_CORRUPT;
        }
        vv_buffer_append(out, &column.metric, sizeof column.metric);
    }
    return vv_buffer_status(out);
}

/* The numbers in a piece, in the order in which their ids stand beside it. */
static enum vv_status numbers_in(struct vv_str piece, struct vv_buffer *out)
{
    if (!vv_record_is(piece)) {
        return add_columns(piece, out);
    }
    enum vv_status status = vv_record_metrics(piece, out);
    if (status == VV_NO_MEMORY || status == VV_OK) {
        return status;
    }
    vv_buffer_clear(out);
    return VV_OK;
}

static uint32_t number_at(const struct vv_buffer *numbers, size_t index)
{
    uint32_t number;
    memcpy(&number, numbers->data + index * sizeof number, sizeof number);
    return number;
}

enum vv_status vv_cassandra_metrics(const struct vv_cassandra *store, struct vv_str piece,
                                    struct vv_buffer *out)
{
    struct vv_buffer numbers = {0};
    enum vv_status status = numbers_in(piece, &numbers);
    for (size_t i = 0; i < numbers.size / sizeof(uint32_t) && status == VV_OK; i++) {
        int64_t id;
        status = id_of(store, number_at(&numbers, i), &id);
        if (status == VV_OK) {
            vv_buffer_be64(out, (uint64_t)id);
        }
    }
    vv_buffer_deinit(&numbers);
    if (status != VV_OK) {
        return status == VV_NOT_FOUND ? VV_INVALID : status;
    }
    return vv_buffer_status(out);
}

/* As a rule the bytes are this node's own, so the column's own number is tried first. It counts for
 * this measurement only: one of another tenant may have the same name. */
static uint32_t number_of(const struct vv_cassandra *store, uint32_t measurement, uint32_t metric,
                          int64_t id)
{
    int64_t own;
    uint32_t number;
    uint32_t whose;
    enum vv_value_type type;
    struct vv_str field = store->names.field(store->names.context, metric, &whose, &type);
    if (field.size > 0 && whose == measurement && id_of(store, metric, &own) == VV_OK &&
        own == id) {
        return metric;
    }
    return store->names.metric(store->names.context, measurement, id, &number) ? number
                                                                               : UINT32_MAX;
}

/* The numbers here of a piece's ids; *same_out: they are those in its bytes. */
static enum vv_status find_numbers(const struct vv_cassandra *store, uint32_t measurement,
                                   struct vvcql_bytes ids, const struct vv_buffer *theirs,
                                   struct vv_buffer *out, bool *same_out)
{
    *same_out = true;
    for (size_t i = 0; i < theirs->size / sizeof(uint32_t); i++) {
        uint32_t before = number_at(theirs, i);
        uint32_t number =
            number_of(store, measurement, before, (int64_t)vv_key_get_u64(ids.data + i * 8));
        if (number == UINT32_MAX) {
            return VV_NOT_FOUND;
        }
        *same_out = *same_out && number == before;
        vv_buffer_append(out, &number, sizeof number);
    }
    return vv_buffer_status(out);
}

enum vv_status vv_cassandra_numbers(const struct vv_cassandra *store, uint32_t measurement,
                                    struct vvcql_bytes ids, struct vvcql_bytes piece,
                                    struct vv_buffer *out)
{
    struct vv_buffer theirs = {0};
    size_t before = out->size;
    bool same = true;
    if (ids.size == 0) {
        return VV_OK;
    }
    enum vv_status status =
        numbers_in((struct vv_str){(const char *)piece.data, piece.size}, &theirs);
    if (status == VV_OK && theirs.size > 0) {
        bool fits = ids.size % 8 == 0 && ids.size / 8 == theirs.size / sizeof(uint32_t);
        status = fits ? find_numbers(store, measurement, ids, &theirs, out, &same) : VV_CORRUPT;
    }
    vv_buffer_deinit(&theirs);
    if (status == VV_OK && same) {
        out->size = before;
    }
    return status;
}

static enum vv_status renumber_block(struct vvcql_bytes piece, const struct vv_buffer *numbers,
                                     struct vv_buffer *out)
{
    struct vv_block block;
    if (vv_block_open(piece.data, piece.size, &block) != VV_BLOCK_OK ||
        numbers->size != block.n_columns * sizeof(uint32_t)) {
        return VV_CORRUPT;
    }
    size_t bound = vv_block_renumbered_bound(&block, piece.size);
    uint8_t *room = vv_buffer_reserve(out, bound);
    if (!room) {
        return VV_NO_MEMORY;
    }
    size_t size;
    enum vv_block_status status = vv_block_renumber(
        piece.data, piece.size, (const uint32_t *)(const void *)numbers->data, room, bound, &size);
    out->size = size;
    return status == VV_BLOCK_OK ? VV_OK : status == VV_BLOCK_NO_MEMORY ? VV_NO_MEMORY : VV_CORRUPT;
}

enum vv_status vv_cassandra_renumber(struct vvcql_bytes piece, const struct vv_buffer *numbers,
                                     struct vv_buffer *out)
{
    struct vv_str bytes = {(const char *)piece.data, piece.size};
    vv_buffer_clear(out);
    if (!vv_record_is(bytes)) {
        return renumber_block(piece, numbers, out);
    }
    return vv_record_renumber(bytes, (const uint32_t *)(const void *)numbers->data,
                              numbers->size / sizeof(uint32_t), out);
}
