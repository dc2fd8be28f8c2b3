/* SPDX-License-Identifier: Apache-2.0 */
#include "tier/record_metrics.h"

#include "codec/block.h"
#include "tier/chunk.h"

bool vv_record_is(struct vv_str bytes)
{
    return bytes.size >= 2 && bytes.data[0] == 'V' && bytes.data[1] == 'U';
}

static enum vv_status from_block(enum vv_block_status status)
{
    switch (status) {
    case VV_BLOCK_OK:
        return VV_OK;
    case VV_BLOCK_NO_MEMORY:
        return VV_NO_MEMORY;
    case VV_BLOCK_NEWER:
        return VV_NEWER;
    default:
        return VV_CORRUPT;
    }
}

/* ---- which there are ---- */

/* What is stale has some where a day of it is replaced. */
static bool has_rows(const struct vv_unit_record *record)
{
    return record->kind == VV_UNIT_ROWS ||
           (record->kind == VV_UNIT_STALE && record->content.size > 0);
}

static enum vv_status add_metrics_of_rows(struct vv_str content, struct vv_buffer *out)
{
    struct vv_block block;
    enum vv_status status =
        from_block(vv_block_open((const uint8_t *)content.data, content.size, &block));
    for (uint32_t i = 0; status == VV_OK && i < block.n_columns; i++) {
        struct vv_block_column column;
        status = from_block(vv_block_column_info(&block, i, &column));
        if (status == VV_OK) {
            vv_buffer_append(out, &column.metric, sizeof column.metric);
        }
    }
    return status;
}

static enum vv_status open_steps(struct vv_str content, struct vv_chunk *chunk_out)
{
    struct vv_chunk_head head;
    enum vv_status status = vv_chunk_look(content, &head, NULL);
    return status == VV_OK ? vv_chunk_open_steps(content, chunk_out, NULL) : status;
}

static enum vv_status add_metrics_of_steps(struct vv_str content, struct vv_buffer *out)
{
    struct vv_chunk chunk;
    enum vv_status status = open_steps(content, &chunk);
    for (uint32_t i = 0; status == VV_OK && i < chunk.n_metrics; i++) {
        uint32_t metric;
        enum vv_value_type type;
        status = vv_chunk_metric(&chunk, i, &metric, &type, NULL);
        if (status == VV_OK) {
            vv_buffer_append(out, &metric, sizeof metric);
        }
    }
    return status;
}

enum vv_status vv_record_metrics(struct vv_str bytes, struct vv_buffer *out)
{
    struct vv_unit_record record;
    enum vv_status status = vv_unit_read(bytes, &record, NULL);
    if (status == VV_OK && has_rows(&record)) {
        status = add_metrics_of_rows(record.content, out);
    } else if (status == VV_OK && record.kind == VV_UNIT_STEPS) {
        status = add_metrics_of_steps(record.content, out);
    }
    return status == VV_OK ? vv_buffer_status(out) : status;
}

/* ---- others ---- */

static enum vv_status renumber_rows(struct vv_str content, const uint32_t *metrics, size_t n,
                                    struct vv_buffer *out)
{
    struct vv_block block;
    size_t size = 0;
    const uint8_t *bytes = (const uint8_t *)content.data;
    enum vv_status status = from_block(vv_block_open(bytes, content.size, &block));
    if (status != VV_OK || block.n_columns != n) {
        return status != VV_OK ? status : VV_CORRUPT;
    }
    size_t bound = vv_block_renumbered_bound(&block, content.size);
    uint8_t *room = vv_buffer_reserve(out, bound);
    if (!room) {
        return VV_NO_MEMORY;
    }
    status = from_block(vv_block_renumber(bytes, content.size, metrics, room, bound, &size));
    out->size += size;
    return status;
}

static enum vv_status renumber_steps(struct vv_str content, const uint32_t *metrics, size_t n,
                                     struct vv_buffer *out)
{
    struct vv_chunk chunk;
    enum vv_status status = open_steps(content, &chunk);
    if (status != VV_OK || chunk.n_metrics != n) {
        return status != VV_OK ? status : VV_CORRUPT;
    }
    return vv_chunk_renumber(content, metrics, out, NULL);
}

enum vv_status vv_record_renumber(struct vv_str bytes, const uint32_t *metrics, size_t n,
                                  struct vv_buffer *out)
{
    struct vv_unit_record record;
    enum vv_status status = vv_unit_read(bytes, &record, NULL);
    if (status != VV_OK) {
        return status;
    }
    vv_unit_write_head(out, &record);
    if (record.kind == VV_UNIT_STEPS) {
        status = renumber_steps(record.content, metrics, n, out);
    } else if (has_rows(&record)) {
        status = renumber_rows(record.content, metrics, n, out);
    } else {
        vv_buffer_str(out, record.content);
        status = n == 0 ? VV_OK : VV_CORRUPT;
    }
    return status == VV_OK ? vv_buffer_status(out) : status;
}

/* ---- its head ---- */

size_t vv_record_head_size(struct vv_str bytes)
{
    struct vv_unit_record record;
    struct vv_chunk_head head;
    bool has_head = vv_record_is(bytes) && vv_unit_read(bytes, &record, NULL) == VV_OK &&
                    record.kind == VV_UNIT_STEPS &&
                    vv_chunk_look(record.content, &head, NULL) == VV_OK && head.has_sketches;
    return has_head ? (size_t)(record.content.data - bytes.data) + head.steps_size : 0;
}
