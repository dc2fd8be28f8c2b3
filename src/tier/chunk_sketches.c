/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks: bytes → sketches. */
#include "tier/chunk_format.h"

#include "codec/frame.h"

#define SKETCHES_BYTES_MAX (64u << 20) /* of a metric */

/* The sketches' bytes as they are: borrowed, or unpacked into `room`. */
static enum vv_status unpack(struct vv_str packed, struct vv_buffer *room, struct vv_reader *out,
                             struct vv_error *error)
{
    struct vv_reader reader = vv_reader_of(packed.data, packed.size);
    uint8_t form = vv_reader_u8(&reader);
    uint64_t size = form == VV_CHUNK_SKETCHES_ZSTD ? vv_reader_varint(&reader) : 0;
    if (reader.failed || form > VV_CHUNK_SKETCHES_ZSTD || size > SKETCHES_BYTES_MAX) {
        return vv_chunk_corrupt(error);
    }
    if (form == VV_CHUNK_SKETCHES_PLAIN) {
        *out = vv_reader_of(reader.data + reader.at, vv_reader_left(&reader));
        return VV_OK;
    }
    const uint8_t *frame = reader.data + reader.at;
    size_t left = vv_reader_left(&reader);
    if (vv_frame_content_size(frame, left) != size) { /* before memory is given to it */
        return vv_chunk_corrupt(error);
    }
    uint8_t *bytes = vv_buffer_reserve(room, size);
    if (!bytes) {
        return vv_error_set(error, VV_NO_MEMORY, "out of memory while reading sketches");
    }
    enum vv_block_status status = vv_frame_decode(frame, left, bytes, size);
    if (status == VV_BLOCK_NO_MEMORY) {
        return vv_error_set(error, VV_NO_MEMORY, "out of memory while reading sketches");
    }
    if (status != VV_BLOCK_OK) {
        return vv_chunk_corrupt(error);
    }
    *out = vv_reader_of(bytes, size);
    return VV_OK;
}

/* The next one, into an initialised sketch. */
static enum vv_status read_sketch(struct vv_reader *reader, const struct vv_step *step,
                                  struct vv_sketch *sketch, struct vv_error *error)
{
    struct vv_str bytes = vv_reader_sized(reader);
    enum vv_sketch_status status =
        vv_sketch_decode_again((const uint8_t *)bytes.data, bytes.size, sketch);
    if (status == VV_SKETCH_OK && vv_sketch_count(sketch) == step->count) {
        return VV_OK;
    }
    return status == VV_SKETCH_NO_MEMORY
               ? vv_error_set(error, VV_NO_MEMORY, "out of memory while reading sketches")
           : status == VV_SKETCH_NEWER
               ? vv_error_set(error, VV_NEWER, "a sketch is of a newer version of Varve")
               : vv_chunk_corrupt(error);
}

static enum vv_status visit_all(const struct vv_chunk *chunk, struct vv_reader *reader,
                                const struct vv_step *steps, vv_sketch_visit visit, void *context,
                                struct vv_error *error)
{
    struct vv_sketch sketch;
    enum vv_status status = VV_OK;
    (void)vv_sketch_init(&sketch, 0);
    for (uint32_t i = 0; i < chunk->n_steps && status == VV_OK; i++) {
        if (steps[i].count > 0) {
            status = read_sketch(reader, &steps[i], &sketch, error);
            status = status == VV_OK ? visit(context, i, &sketch) : status;
        }
    }
    vv_sketch_deinit(&sketch);
    return status == VV_OK && vv_reader_left(reader) > 0 ? vv_chunk_corrupt(error) : status;
}

static enum vv_status read_sketches(const struct vv_chunk *chunk, struct vv_reader *reader,
                                    const struct vv_step *steps, struct vv_sketch *sketches_out,
                                    struct vv_error *error)
{
    enum vv_status status = VV_OK;
    uint32_t n = 0;
    for (; n < chunk->n_steps && status == VV_OK; n++) {
        (void)vv_sketch_init(&sketches_out[n], 0);
        status =
            steps[n].count > 0 ? read_sketch(reader, &steps[n], &sketches_out[n], error) : VV_OK;
    }
    if (status == VV_OK && vv_reader_left(reader) > 0) {
        status = vv_chunk_corrupt(error);
    }
    while (status != VV_OK && n > 0) {
        vv_sketch_deinit(&sketches_out[--n]);
    }
    return status;
}

/* The metric's sketches, which are not decoded yet; `room` keeps them, and is the caller's. */
static enum vv_status find_sketches(const struct vv_chunk *chunk, uint32_t index,
                                    struct vv_buffer *room, struct vv_reader *out,
                                    struct vv_error *error)
{
    struct vv_reader all = chunk->sketches_;
    struct vv_str packed = {0};
    if (!chunk->has_sketches) {
        return vv_error_set(error, VV_INVALID, "these steps were kept without sketches");
    }
    for (uint32_t i = 0; i <= index; i++) {
        packed = vv_reader_sized(&all);
    }
    return all.failed ? vv_chunk_corrupt(error) : unpack(packed, room, out, error);
}

enum vv_status vv_chunk_sketches(const struct vv_chunk *chunk, uint32_t index,
                                 const struct vv_step *steps, struct vv_sketch *sketches_out,
                                 struct vv_error *error)
{
    struct vv_buffer room = {0};
    struct vv_reader reader;
    enum vv_status status = find_sketches(chunk, index, &room, &reader, error);
    if (status == VV_OK) {
        status = read_sketches(chunk, &reader, steps, sketches_out, error);
    }
    vv_buffer_deinit(&room);
    return status;
}

enum vv_status vv_chunk_visit_sketches(const struct vv_chunk *chunk, uint32_t index,
                                       const struct vv_step *steps, vv_sketch_visit visit,
                                       void *context, struct vv_error *error)
{
    struct vv_buffer room = {0};
    struct vv_reader reader;
    enum vv_status status = find_sketches(chunk, index, &room, &reader, error);
    if (status == VV_OK) {
        status = visit_all(chunk, &reader, steps, visit, context, error);
    }
    vv_buffer_deinit(&room);
    return status;
}
