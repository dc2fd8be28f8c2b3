/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hostile blocks. The input is opened as it is, and again with its checksum made right, so that
 * the decoders see it; what decodes is encoded again and must come back the same.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "codec/block.h"

/* More rows than this are decoded by no one here: the time goes to variety. */
#define ROWS_MAX    8192u
#define COLUMNS_MAX 64u

static void require(int condition)
{
    if (!condition) {
        abort();
    }
}

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count == 0 ? 1 : count, size);
    require(memory != NULL);
    return memory;
}

static void free_rows(struct vv_rows *rows)
{
    for (size_t i = 0; i < rows->n_columns; i++) {
        free(rows->columns[i].values);
        free(rows->columns[i].present);
    }
    free(rows->columns);
    free(rows->times);
    free(rows->stamps);
}

/* Decodes everything; columns that do not decode are left out. */
static int decode(const struct vv_block *block, struct vv_rows *rows_out)
{
    size_t n_rows = block->n_rows;
    *rows_out = (struct vv_rows){.n_rows = n_rows};
    rows_out->times = allocate(n_rows, sizeof *rows_out->times);
    rows_out->stamps = allocate(n_rows, sizeof *rows_out->stamps);
    rows_out->columns = allocate(block->n_columns, sizeof *rows_out->columns);
    int sound = vv_block_times(block, rows_out->times) == VV_BLOCK_OK;
    sound = vv_block_stamps(block, rows_out->stamps) == VV_BLOCK_OK && sound;
    for (uint32_t i = 0; i < block->n_columns; i++) {
        struct vv_block_column column;
        struct vv_column decoded = {0};
        decoded.values = allocate(n_rows, sizeof *decoded.values);
        decoded.present = allocate((n_rows + 7) / 8, 1);
        uint32_t found;
        enum vv_block_status status = vv_block_column_info(block, i, &column);
        require(status != VV_BLOCK_OK ||
                (vv_block_find(block, column.metric, &found) && found <= i));
        decoded.metric = column.metric;
        decoded.type = column.type;
        if (status == VV_BLOCK_OK &&
            vv_block_values(block, i, decoded.values, decoded.present) == VV_BLOCK_OK) {
            rows_out->columns[rows_out->n_columns++] = decoded;
        } else {
            free(decoded.values);
            free(decoded.present);
        }
    }
    return sound;
}

static void compare(const struct vv_rows *a, const struct vv_rows *b)
{
    require(a->n_rows == b->n_rows && a->n_columns == b->n_columns);
    require(memcmp(a->times, b->times, a->n_rows * sizeof *a->times) == 0);
    require(memcmp(a->stamps, b->stamps, a->n_rows * sizeof *a->stamps) == 0);
    for (size_t i = 0; i < a->n_columns; i++) {
        const struct vv_column *left = &a->columns[i];
        const struct vv_column *right = &b->columns[i];
        require(left->metric == right->metric && left->type == right->type);
        require(memcmp(left->present, right->present, (a->n_rows + 7) / 8) == 0);
        for (size_t row = 0; row < a->n_rows; row++) {
            int present = (left->present[row >> 3] >> (row & 7)) & 1;
            require(!present || left->values[row] == right->values[row]);
        }
    }
}

static void encode_again(const struct vv_rows *rows, int zstd_level)
{
    struct vv_block_options options = {zstd_level, zstd_level == 0};
    size_t capacity = vv_block_bound(rows);
    uint8_t *bytes = allocate(capacity, 1);
    size_t size;
    enum vv_block_status status = vv_block_encode(rows, &options, bytes, capacity, &size);
    require(status == VV_BLOCK_OK || status == VV_BLOCK_INVALID); /* stamps may not ascend */
    if (status == VV_BLOCK_OK) {
        struct vv_block block;
        struct vv_rows read;
        require(vv_block_open(bytes, size, &block) == VV_BLOCK_OK);
        require(decode(&block, &read));
        compare(rows, &read);
        free_rows(&read);
    }
    free(bytes);
}

static void read_block(const uint8_t *data, size_t size)
{
    struct vv_block block;
    struct vv_rows rows;
    if (vv_block_open(data, size, &block) != VV_BLOCK_OK || block.n_rows > ROWS_MAX ||
        block.n_columns > COLUMNS_MAX) {
        return;
    }
    if (decode(&block, &rows)) {
        encode_again(&rows, 0);
        encode_again(&rows, 1);
    }
    free_rows(&rows);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_block(data, size);
    if (size < 8) {
        return 0;
    }
    uint8_t *fixed = allocate(size, 1);
    memcpy(fixed, data, size);
    uint64_t checksum = XXH3_64bits(fixed, size - 8);
    for (size_t i = 0; i < 8; i++) {
        fixed[size - 8 + i] = (uint8_t)(checksum >> (8 * i));
    }
    read_block(fixed, size);
    free(fixed);
    return 0;
}
