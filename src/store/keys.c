/* SPDX-License-Identifier: Apache-2.0 */
/* Keys as sorted bytes. */
#include "store/keys.h"

enum {
    TENANT_AT = 0,
    SOURCE_AT = 4,
    BUCKET_START_AT = 8,
    BUCKET_NS_AT = 16,
    SPLIT_AT = 24,
    MEASUREMENT_AT = 26,
    SPAN_START_AT = 30,
    SPAN_END_AT = 38,
};

_Static_assert(SOURCE_AT + 4 == VV_KEY_SOURCE_SIZE, "tenant and source come first");
_Static_assert(MEASUREMENT_AT == VV_KEY_PARTITION_SIZE, "the partition ends with the split");
_Static_assert(SPAN_END_AT == VV_KEY_SPAN_SIZE, "a span's key is 38 bytes");
_Static_assert(VV_KEY_RUN_SIZE == VV_KEY_SPAN_SIZE + 8 + 4, "span, run, part");
_Static_assert(VV_KEY_BLOCK_SIZE == VV_KEY_SPAN_SIZE + 4, "span, part");
_Static_assert(VV_KEY_MARK_SIZE == 8 + VV_KEY_SPAN_SIZE, "due, span");
_Static_assert(VV_MARK_VALUE_SIZE == 8 + 8, "run, span length");

void vv_key_from_source(uint32_t tenant, uint32_t source, uint8_t *out)
{
    vv_key_put_u32(out + TENANT_AT, tenant);
    vv_key_put_u32(out + SOURCE_AT, source);
}

void vv_key_from_partition(const struct vv_partition *partition, uint8_t *out)
{
    vv_key_from_source(partition->tenant, partition->source, out);
    vv_key_put_i64(out + BUCKET_START_AT, partition->bucket_start);
    vv_key_put_i64(out + BUCKET_NS_AT, partition->bucket_ns);
    vv_key_put_u16(out + SPLIT_AT, partition->split);
}

struct vv_partition vv_key_to_partition(const uint8_t *bytes)
{
    return (struct vv_partition){
        .tenant = vv_key_get_u32(bytes + TENANT_AT),
        .source = vv_key_get_u32(bytes + SOURCE_AT),
        .bucket_start = vv_key_get_i64(bytes + BUCKET_START_AT),
        .bucket_ns = vv_key_get_i64(bytes + BUCKET_NS_AT),
        .split = vv_key_get_u16(bytes + SPLIT_AT),
    };
}

void vv_key_from_span(const struct vv_span_key *key, uint8_t *out)
{
    vv_key_from_partition(&key->partition, out);
    vv_key_put_u32(out + MEASUREMENT_AT, key->measurement);
    vv_key_put_i64(out + SPAN_START_AT, key->span_start);
}

void vv_key_to_span(const uint8_t *bytes, struct vv_span_key *key_out)
{
    *key_out = (struct vv_span_key){
        .partition = vv_key_to_partition(bytes),
        .measurement = vv_key_get_u32(bytes + MEASUREMENT_AT),
        .span_start = vv_key_get_i64(bytes + SPAN_START_AT),
    };
}

void vv_key_from_run(const struct vv_piece *run, uint8_t *out)
{
    vv_key_from_span(&run->key, out);
    vv_key_put_u64(out + SPAN_END_AT, run->run);
    vv_key_put_u32(out + SPAN_END_AT + 8, run->part);
}

void vv_key_to_run(const uint8_t *bytes, struct vv_piece *run_out)
{
    run_out->kind = VV_PIECE_RUN;
    vv_key_to_span(bytes, &run_out->key);
    run_out->run = vv_key_get_u64(bytes + SPAN_END_AT);
    run_out->part = vv_key_get_u32(bytes + SPAN_END_AT + 8);
}

void vv_key_from_block(const struct vv_piece *block, uint8_t *out)
{
    vv_key_from_span(&block->key, out);
    vv_key_put_u32(out + SPAN_END_AT, block->part);
}

void vv_key_to_block(const uint8_t *bytes, struct vv_piece *block_out)
{
    block_out->kind = VV_PIECE_BLOCK;
    vv_key_to_span(bytes, &block_out->key);
    block_out->run = 0;
    block_out->part = vv_key_get_u32(bytes + SPAN_END_AT);
}

void vv_key_from_mark(const struct vv_mark *mark, uint8_t *out)
{
    vv_key_put_i64(out, mark->due_ns);
    vv_key_from_span(&mark->key, out + 8);
}

void vv_mark_value(const struct vv_mark *mark, uint8_t *out)
{
    vv_key_put_u64(out, mark->run);
    vv_key_put_i64(out + 8, mark->span_ns);
}

void vv_key_to_mark(const uint8_t *key, const uint8_t *value, struct vv_mark *mark_out)
{
    mark_out->due_ns = vv_key_get_i64(key);
    vv_key_to_span(key + 8, &mark_out->key);
    mark_out->is_of_block = false; /* of no meaning to who finds it */
    mark_out->run = vv_key_get_u64(value);
    mark_out->span_ns = vv_key_get_i64(value + 8);
}

enum vv_status vv_key_check(const struct vv_span_key *key, struct vv_error *error)
{
    const struct vv_partition *partition = &key->partition;
    if (partition->region != 0) {
        return vv_error_set(error, VV_INVALID, "what lies in another region is not written here");
    }
    if (partition->bucket_ns < VV_BUCKET_NS_MIN || partition->bucket_ns > VV_BUCKET_NS_MAX ||
        partition->bucket_start < VV_TIME_MIN - VV_BUCKET_NS_MAX ||
        partition->bucket_start > VV_TIME_MAX) {
        return vv_error_set(error, VV_INVALID,
                            "a bucket of %lld ns from %lld is outside of the times that are stored",
                            (long long)partition->bucket_ns, (long long)partition->bucket_start);
    }
    if (!vv_split_is_name(partition->split)) {
        return vv_error_set(error, VV_INVALID, "%u is no name of a split",
                            (unsigned)partition->split);
    }
    return VV_OK;
}

enum vv_status vv_key_check_blocks(const struct vv_piece *pieces, size_t n, struct vv_error *error)
{
    for (size_t i = 0; i < n; i++) {
        const struct vv_piece *piece = &pieces[i];
        enum vv_status status = vv_key_check(&piece->key, error);
        if (status != VV_OK) {
            return status;
        }
        int order = i == 0 ? 1 : vv_span_key_compare(&piece->key, &pieces[i - 1].key);
        bool follows = order > 0 || (order == 0 && piece->part > pieces[i - 1].part);
        bool only = piece->bytes.size > 0 || (order > 0 && piece->part == 0);
        bool after_removal = order == 0 && pieces[i - 1].bytes.size == 0;
        if (piece->kind != VV_PIECE_BLOCK || piece->part > VV_BLOCK_PARTS_MAX || !follows ||
            !only || after_removal) {
            return vv_error_set(error, VV_INVALID,
                                "block %zu of %zu is out of order or empty beside other parts", i,
                                n);
        }
    }
    return VV_OK;
}

size_t vv_key_successor(uint8_t *bytes, size_t size)
{
    while (size > 0 && bytes[size - 1] == 0xff) {
        size--;
    }
    if (size > 0) {
        bytes[size - 1]++;
    }
    return size;
}

void vv_key_read_bounds(const struct vv_store_read *read, uint32_t bucket, uint8_t *from_out,
                        uint8_t *to_out)
{
    struct vv_span_key key = {read->partition, read->measurement, read->span_from};
    key.partition.bucket_start += bucket * read->partition.bucket_ns;
    vv_key_from_span(&key, from_out);
    key.span_start = read->span_to;
    vv_key_from_span(&key, to_out);
}

size_t vv_key_block_bounds(const struct vv_store_read *read, uint32_t bucket,
                           uint8_t from_out[VV_KEY_BLOCK_SIZE], uint8_t to_out[VV_KEY_BLOCK_SIZE])
{
    struct vv_piece from = {.key = {read->partition, read->measurement, 0},
                            .part = read->part_from};
    struct vv_partition *partition = &from.key.partition;
    vv_key_read_bounds(read, bucket, from_out, to_out);
    if (read->part_to == 0) {
        return VV_KEY_SPAN_SIZE;
    }
    partition->bucket_start += bucket * partition->bucket_ns;
    from.key.span_start = partition->bucket_start;
    struct vv_piece to = from;
    bool is_inside = from.key.span_start >= read->span_from && from.key.span_start < read->span_to;
    to.part = is_inside ? read->part_to : read->part_from;
    vv_key_from_block(&from, from_out);
    vv_key_from_block(&to, to_out);
    return VV_KEY_BLOCK_SIZE;
}
