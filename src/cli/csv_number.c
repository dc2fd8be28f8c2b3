/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as spreadsheets and loggers write them: "+5", ".5" and "5." become 5, 0.5 and 5. */
#include "cli/csv_number.h"

#include <strings.h>

static bool is_word(struct vv_str cell, const char *word)
{
    return cell.size == strlen(word) && strncasecmp(cell.data, word, cell.size) == 0;
}

static bool is_missing(struct vv_str cell)
{
    static const char *const words[] = {"", "nan", "na", "n/a", "null", "none", "-"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (is_word(cell, words[i])) {
            return true;
        }
    }
    return false;
}

/* Copies digits; how many. */
static size_t copy_digits(struct vv_str cell, size_t *at, char *out, size_t *used)
{
    size_t digits = 0;
    for (; *at < cell.size && cell.data[*at] >= '0' && cell.data[*at] <= '9'; ++*at) {
        out[(*used)++] = cell.data[*at];
        digits++;
    }
    return digits;
}

static bool copy_exponent(struct vv_str cell, size_t *at, char *out, size_t *used)
{
    if (*at == cell.size || (cell.data[*at] != 'e' && cell.data[*at] != 'E')) {
        return true;
    }
    out[(*used)++] = cell.data[(*at)++];
    if (*at < cell.size && (cell.data[*at] == '+' || cell.data[*at] == '-')) {
        out[(*used)++] = cell.data[(*at)++];
    }
    return copy_digits(cell, at, out, used) > 0;
}

/* The digits before and behind the point; at least one of them. */
static bool copy_mantissa(struct vv_str cell, size_t *at, bool whole, char *out, size_t *used)
{
    size_t before = copy_digits(cell, at, out, used);
    if (before == 0) {
        out[(*used)++] = '0';
    }
    if (whole || *at == cell.size || cell.data[*at] != '.') {
        return before > 0;
    }
    ++*at;
    size_t point = (*used)++;
    out[point] = '.';
    size_t behind = copy_digits(cell, at, out, used);
    if (behind == 0) {
        *used = point;
    }
    return before + behind > 0;
}

enum vv_csv_number_kind vv_csv_number(struct vv_str cell, bool whole, char *out)
{
    size_t at = 0;
    size_t used = 0;
    if (is_missing(cell)) {
        return VV_CSV_MISSING;
    }
    if (!whole && (is_word(cell, "true") || is_word(cell, "false"))) {
        memcpy(out, cell.size == 4 ? "true" : "false", cell.size + 1);
        return VV_CSV_VALUE;
    }
    if (cell.size + 4 > VV_CSV_NUMBER_SIZE) {
        return VV_CSV_TEXT;
    }
    if (cell.data[0] == '-') {
        out[used++] = '-';
    }
    at += cell.data[0] == '-' || cell.data[0] == '+';
    if (!copy_mantissa(cell, &at, whole, out, &used) ||
        (!whole && !copy_exponent(cell, &at, out, &used)) || at != cell.size) {
        return VV_CSV_TEXT;
    }
    if (whole) {
        out[used++] = 'i';
    }
    out[used] = '\0';
    return VV_CSV_VALUE;
}
