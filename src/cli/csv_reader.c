/* SPDX-License-Identifier: Apache-2.0 */
/* Cutting records into cells. */
#include "cli/csv_reader.h"

#include <stdlib.h>

struct cutter {
    struct vv_csv_reader *csv;
    struct vv_str bytes;
    size_t at;
    bool open; /* a quote does not end */
};

enum vv_status vv_csv_reader_init(struct vv_csv_reader *csv, char delimiter)
{
    *csv = (struct vv_csv_reader){.delimiter = delimiter};
    csv->cells = calloc(VV_CSV_CELLS_MAX, sizeof *csv->cells);
    return csv->cells ? VV_OK : VV_NO_MEMORY;
}

void vv_csv_reader_deinit(struct vv_csv_reader *csv)
{
    free(csv->cells);
    vv_buffer_deinit(&csv->scratch);
    *csv = (struct vv_csv_reader){0};
}

static bool is_end(const struct cutter *cutter)
{
    return cutter->at >= cutter->bytes.size || cutter->bytes.data[cutter->at] == '\n';
}

static void add_cell(struct vv_csv_reader *csv, const char *start, size_t size)
{
    if (csv->n == VV_CSV_CELLS_MAX) {
        csv->problem = "more than 4096 cells";
        return;
    }
    csv->cells[csv->n++] = (struct vv_str){start, size};
}

static void cut_plain(struct cutter *cutter)
{
    size_t start = cutter->at;
    while (!is_end(cutter) && cutter->bytes.data[cutter->at] != cutter->csv->delimiter) {
        cutter->at++;
    }
    size_t end = cutter->at;
    if (is_end(cutter) && end > start && cutter->bytes.data[end - 1] == '\r') {
        end--;
    }
    add_cell(cutter->csv, cutter->bytes.data + start, end - start);
}

/* The closing quote of the cell that begins at `start`, behind its quote; the end if there is none.
 * Counts the doubled ones. */
static size_t find_quote(struct cutter *cutter, size_t start, size_t *doubled_out)
{
    const char *data = cutter->bytes.data;
    *doubled_out = 0;
    size_t at = start;
    for (; at < cutter->bytes.size; at++) {
        if (data[at] == '\n') {
            cutter->csv->newlines++;
        } else if (data[at] == '"') {
            if (at + 1 == cutter->bytes.size || data[at + 1] != '"') {
                return at;
            }
            ++*doubled_out;
            at++;
        }
    }
    cutter->open = true;
    return cutter->bytes.size;
}

/* A cell with each doubled quote once. The first of a record reserves room for all that can follow,
 * so that the scratch does not move under the cells. */
static void add_unquoted(struct cutter *cutter, size_t start, size_t end)
{
    struct vv_buffer *scratch = &cutter->csv->scratch;
    size_t before = scratch->size;
    if (before == 0) {
        vv_buffer_reserve(scratch, cutter->bytes.size - start);
    }
    for (size_t at = start; at < end; at++) {
        at += cutter->bytes.data[at] == '"';
        vv_buffer_u8(scratch, (uint8_t)cutter->bytes.data[at]);
    }
    if (!scratch->failed) {
        add_cell(cutter->csv, (const char *)scratch->data + before, scratch->size - before);
    }
}

static void cut_quoted(struct cutter *cutter)
{
    size_t doubled;
    size_t start = cutter->at + 1;
    size_t end = find_quote(cutter, start, &doubled);
    if (doubled > 0 && !cutter->open) {
        add_unquoted(cutter, start, end);
    } else {
        add_cell(cutter->csv, cutter->bytes.data + start, end - start);
    }
    cutter->at = cutter->open ? end : end + 1;
    if (cutter->at < cutter->bytes.size && cutter->bytes.data[cutter->at] == '\r') {
        cutter->at++;
    }
    if (!is_end(cutter) && cutter->bytes.data[cutter->at] != cutter->csv->delimiter) {
        cutter->csv->problem = "text behind a closing quote";
        while (!is_end(cutter)) {
            cutter->at++;
        }
    }
}

static void cut_record(struct cutter *cutter)
{
    for (;;) {
        if (!is_end(cutter) && cutter->bytes.data[cutter->at] == '"') {
            cut_quoted(cutter);
        } else {
            cut_plain(cutter);
        }
        if (is_end(cutter)) {
            return;
        }
        cutter->at++; /* the delimiter; behind it there is a cell, be it empty */
    }
}

/* The record whose quote does not end is its first line only. */
static void give_up(struct cutter *cutter)
{
    const char *newline = memchr(cutter->bytes.data, '\n', cutter->bytes.size);
    cutter->at = newline ? (size_t)(newline - cutter->bytes.data) : cutter->bytes.size;
    cutter->csv->newlines = 0;
    cutter->csv->problem = "a quote that does not end";
}

enum vv_status vv_csv_reader_next(struct vv_csv_reader *csv, struct vv_str bytes, bool at_end)
{
    struct cutter cutter = {.csv = csv, .bytes = bytes};
    csv->n = 0;
    csv->newlines = 0;
    csv->problem = NULL;
    vv_buffer_clear(&csv->scratch);
    cut_record(&cutter);
    if (csv->scratch.failed) {
        return VV_NO_MEMORY;
    }
    if (cutter.at >= bytes.size && !at_end) {
        return VV_DONE;
    }
    if (cutter.open) {
        give_up(&cutter);
    }
    csv->next = cutter.at + (cutter.at < bytes.size);
    csv->newlines++;
    if (csv->n == 1 && csv->cells[0].size == 0 && bytes.data[0] != '"') {
        csv->n = 0;
    }
    return VV_OK;
}
