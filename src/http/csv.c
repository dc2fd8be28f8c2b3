/* SPDX-License-Identifier: Apache-2.0 */
/* Reading of CSV. */
#include "http/csv.h"

#include <inttypes.h>

struct vv_csv vv_csv_of(struct vv_str text, struct vv_arena *arena)
{
    if (text.size >= 3 && memcmp(text.data, "\xEF\xBB\xBF", 3) == 0) {
        text = (struct vv_str){text.data + 3, text.size - 3}; /* spreadsheets write this mark */
    }
    return (struct vv_csv){.text = text, .next_line = 1, .arena = arena};
}

static bool at_end(const struct vv_csv *csv)
{
    return csv->at >= csv->text.size;
}

static bool at_newline(const struct vv_csv *csv)
{
    return !at_end(csv) && (csv->text.data[csv->at] == '\n' ||
                            (csv->text.data[csv->at] == '\r' && csv->at + 1 < csv->text.size &&
                             csv->text.data[csv->at + 1] == '\n'));
}

static void skip_newline(struct vv_csv *csv)
{
    csv->at += csv->text.data[csv->at] == '\r' ? 2 : 1;
    csv->next_line++;
}

static enum vv_status quoted_field(struct vv_csv *csv, struct vv_str *field_out,
                                   struct vv_error *error)
{
    csv->at++;
    /* Without its quotes it is never longer than what is left. */
    const char *end = csv->text.data + csv->text.size;
    const char *close = memchr(csv->text.data + csv->at, '"', csv->text.size - csv->at);
    while (close && close + 1 < end && close[1] == '"') {
        close = close + 2 < end ? memchr(close + 2, '"', (size_t)(end - close - 2)) : NULL;
    }
    if (!close) {
        return vv_error_set(error, VV_INVALID, "line %" PRIu64 ": a quote does not end", csv->line);
    }
    size_t size = (size_t)(close - csv->text.data) - csv->at;
    char *copy = vv_arena_alloc(csv->arena, size + 1);
    if (!copy) {
        return vv_error_set(error, VV_NO_MEMORY, "out of memory; try again later");
    }
    size_t length = 0;
    for (size_t i = 0; i < size; i++) {
        char c = csv->text.data[csv->at + i];
        csv->next_line += c == '\n';
        copy[length++] = c;
        i += c == '"'; /* the second of a pair */
    }
    *field_out = (struct vv_str){copy, length};
    csv->at += size + 1;
    if (!at_end(csv) && !at_newline(csv) && csv->text.data[csv->at] != ',') {
        return vv_error_set(error, VV_INVALID,
                            "line %" PRIu64 ": text after a closing quote; double the quotes "
                            "inside of a quoted field",
                            csv->line);
    }
    return VV_OK;
}

static void plain_field(struct vv_csv *csv, struct vv_str *field_out)
{
    size_t start = csv->at;
    while (!at_end(csv) && !at_newline(csv) && csv->text.data[csv->at] != ',') {
        csv->at++;
    }
    *field_out = (struct vv_str){csv->text.data + start, csv->at - start};
}

enum vv_status vv_csv_row(struct vv_csv *csv, struct vv_str *fields_out, size_t fields_max,
                          size_t *n_out, struct vv_error *error)
{
    while (at_newline(csv)) {
        skip_newline(csv);
    }
    if (at_end(csv)) {
        return VV_DONE;
    }
    csv->line = csv->next_line;
    size_t n = 0;
    for (;;) {
        if (n == fields_max) {
            return vv_error_set(error, VV_INVALID, "line %" PRIu64 ": more than %zu fields",
                                csv->line, fields_max);
        }
        if (!at_end(csv) && csv->text.data[csv->at] == '"') {
            enum vv_status status = quoted_field(csv, &fields_out[n], error);
            if (status != VV_OK) {
                return status;
            }
        } else {
            plain_field(csv, &fields_out[n]);
        }
        n++;
        if (at_end(csv) || at_newline(csv)) {
            break;
        }
        csv->at++; /* the comma */
    }
    if (at_newline(csv)) {
        skip_newline(csv);
    }
    *n_out = n;
    return VV_OK;
}
