/* SPDX-License-Identifier: Apache-2.0 */
/* Widths, alignment and captions of tables. */
#include "cli/table_print.h"

#include "cli/terminal.h"

#include <math.h>
#include <stdlib.h>

#define ROWS_KEPT      1000u
#define KEPT_BYTES_MAX (4u << 20)
#define GAP            2  /* blanks between columns */
#define TEXT_WIDTH_MIN 12 /* cut texts keep this much */
#define DIGITS         6

struct column {
    struct vv_str name;
    bool is_number; /* every cell that is not empty is one */
    bool has_values;
    bool one_value; /* all rows have the same */
    bool in_caption;
    size_t width;
    size_t before; /* numbers: digits before the point, and the sign */
    size_t behind; /* the point and what follows it */
    size_t words;  /* of NaN and the like among them */
};

struct vv_table {
    struct vv_table_options options;
    size_t n;
    struct column *columns;
    struct vv_str *cells;  /* of the row being printed */
    struct vv_buffer text; /* header and kept cells, each ended by a zero byte */
    size_t *offsets;       /* of each kept cell in text */
    size_t n_offsets;
    size_t offsets_capacity;
    uint64_t rows;
    bool laid_out;
};

/* ---- numbers ---- */

static bool looks_like_number(struct vv_str cell)
{
    size_t digits = 0;
    for (size_t i = 0; i < cell.size; i++) {
        char c = cell.data[i];
        bool sign = (c == '-' || c == '+') &&
                    (i == 0 || cell.data[i - 1] == 'e' || cell.data[i - 1] == 'E');
        bool exponent = (c == 'e' || c == 'E') && digits > 0 && i + 1 < cell.size;
        digits += c >= '0' && c <= '9';
        if (!(c >= '0' && c <= '9') && c != '.' && !sign && !exponent) {
            return false;
        }
    }
    return digits > 0;
}

bool vv_table_number(struct vv_str cell, char *out)
{
    char text[VV_TABLE_NUMBER_SIZE];
    if (cell.size >= sizeof text || !looks_like_number(cell)) {
        return false;
    }
    memcpy(text, cell.data, cell.size);
    text[cell.size] = '\0';
    memcpy(out, text, cell.size + 1);
    if (!strpbrk(text, ".eE")) {
        return true;
    }
    double value = strtod(text, NULL);
    double size = fabs(value);
    if (value != 0 && (size < 1e-4 || size >= 1e15)) {
        snprintf(out, VV_TABLE_NUMBER_SIZE, "%.*g", DIGITS, value);
        return true;
    }
    int before = size >= 1 ? (int)floor(log10(size)) + 1 : 0;
    int decimals = before < DIGITS ? DIGITS - before : 0;
    snprintf(out, VV_TABLE_NUMBER_SIZE, "%.*f", decimals, value);
    char *point = strchr(out, '.');
    size_t end = strlen(out);
    while (point && end > 0 && out[end - 1] == '0') {
        end--;
    }
    end -= point && out[end - 1] == '.';
    out[end] = '\0';
    return true;
}

/* ---- keeping rows ---- */

static enum vv_status keep_cell(struct vv_table *table, struct vv_str cell)
{
    if (table->n_offsets == table->offsets_capacity) {
        size_t capacity = table->offsets_capacity ? table->offsets_capacity * 2 : 64;
        size_t *larger = realloc(table->offsets, capacity * sizeof *larger);
        if (!larger) {
            return VV_NO_MEMORY;
        }
        table->offsets = larger;
        table->offsets_capacity = capacity;
    }
    table->offsets[table->n_offsets++] = table->text.size;
    vv_buffer_str(&table->text, cell);
    vv_buffer_u8(&table->text, '\0');
    return vv_buffer_status(&table->text);
}

/* A kept cell; row 0 is the header. */
static struct vv_str kept_cell(const struct vv_table *table, size_t row, size_t i)
{
    size_t at = row * table->n + i;
    size_t end = at + 1 < table->n_offsets ? table->offsets[at + 1] : table->text.size;
    const char *start = (const char *)table->text.data + table->offsets[at];
    return (struct vv_str){start, end - table->offsets[at] - 1};
}

enum vv_status vv_table_create(const struct vv_table_options *options, const struct vv_str *header,
                               size_t n, struct vv_table **table_out)
{
    struct vv_table *table = calloc(1, sizeof *table);
    if (!table) {
        return VV_NO_MEMORY;
    }
    table->options = *options;
    table->n = n;
    table->columns = calloc(n ? n : 1, sizeof *table->columns);
    table->cells = calloc(n ? n : 1, sizeof *table->cells);
    enum vv_status status = table->columns && table->cells ? VV_OK : VV_NO_MEMORY;
    for (size_t i = 0; status == VV_OK && i < n; i++) {
        status = keep_cell(table, header[i]);
    }
    if (status != VV_OK) {
        vv_table_destroy(table);
        return status;
    }
    if (table->options.rows_kept == 0) {
        table->options.rows_kept = ROWS_KEPT;
    }
    *table_out = table;
    return VV_OK;
}

void vv_table_destroy(struct vv_table *table)
{
    if (table) {
        free(table->columns);
        free(table->cells);
        free(table->offsets);
        vv_buffer_deinit(&table->text);
        free(table);
    }
}

uint64_t vv_table_rows(const struct vv_table *table)
{
    return table->rows;
}

/* ---- layout ---- */

/* As the server writes what is no number. */
static bool is_not_finite(struct vv_str cell)
{
    return vv_str_equal(cell, VV_STR_LITERAL("NaN")) ||
           vv_str_equal(cell, VV_STR_LITERAL("+Inf")) || vv_str_equal(cell, VV_STR_LITERAL("-Inf"));
}

static size_t larger_of(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* `width` is that of the cells as they are; numbers are measured besides. */
static void measure_cell(struct column *column, struct vv_str cell, struct vv_str first)
{
    char number[VV_TABLE_NUMBER_SIZE];
    column->one_value = column->one_value && vv_str_equal(cell, first);
    if (cell.size == 0) {
        return;
    }
    column->has_values = true;
    column->width = larger_of(column->width, vv_terminal_width(cell));
    if (vv_table_number(cell, number)) {
        size_t before = strcspn(number, ".");
        column->before = larger_of(column->before, before);
        column->behind = larger_of(column->behind, strlen(number) - before);
    } else if (is_not_finite(cell)) {
        column->words = larger_of(column->words, cell.size);
    } else {
        column->is_number = false;
    }
}

static void measure(struct vv_table *table, size_t i, size_t rows, bool complete)
{
    struct column *column = &table->columns[i];
    *column = (struct column){.name = kept_cell(table, 0, i), .is_number = true, .one_value = true};
    for (size_t row = 1; row <= rows; row++) {
        measure_cell(column, kept_cell(table, row, i), kept_cell(table, 1, i));
    }
    column->is_number = column->is_number && column->has_values;
    if (column->is_number) {
        column->width = larger_of(column->before + column->behind, column->words);
    }
    column->width = larger_of(column->width, vv_terminal_width(column->name));
    column->in_caption = complete && rows > 0 && column->one_value && i < table->options.captioned;
}

static size_t total_width(const struct vv_table *table)
{
    size_t width = 0;
    for (size_t i = 0; i < table->n; i++) {
        width += table->columns[i].in_caption ? 0 : table->columns[i].width + GAP;
    }
    return width > 0 ? width - GAP : 0;
}

/* Takes columns from the widest text until the table fits, or no text is left to be cut. */
static void shrink(struct vv_table *table)
{
    while (table->options.columns > 0 && total_width(table) > table->options.columns) {
        struct column *widest = NULL;
        for (size_t i = 0; i < table->n; i++) {
            struct column *column = &table->columns[i];
            if (!column->in_caption && !column->is_number && column->width > TEXT_WIDTH_MIN &&
                (!widest || column->width > widest->width)) {
                widest = column;
            }
        }
        if (!widest) {
            return;
        }
        widest->width--;
    }
}

/* ---- printing ---- */

/* As many characters as fit, the last one an ellipsis if some do not. Returns the width. */
static size_t print_cut(FILE *file, struct vv_str text, size_t columns)
{
    size_t width = vv_terminal_width(text);
    if (width <= columns) {
        vv_terminal_print(file, text);
        return width;
    }
    size_t used = 0;
    struct vv_str rest = text;
    while (rest.size > 0) {
        uint32_t point;
        size_t length = vv_terminal_decode(rest, &point);
        size_t one = vv_terminal_width((struct vv_str){rest.data, length});
        if (used + one + 1 > columns) {
            break;
        }
        used += one;
        rest = (struct vv_str){rest.data + length, rest.size - length};
    }
    vv_terminal_print(file, (struct vv_str){text.data, text.size - rest.size});
    fputs(vv_terminal_utf8() ? "…" : "~", file);
    return used + 1;
}

void vv_table_print_cut(FILE *file, struct vv_str text, size_t columns)
{
    size_t used = print_cut(file, text, columns);
    fprintf(file, "%*s", (int)(columns > used ? columns - used : 0), "");
}

/* Blanks before, the number, blanks behind, so that points stand below each other. */
static void print_number(FILE *file, const struct column *column, const char *number, bool last)
{
    size_t before = strcspn(number, ".");
    size_t behind = strlen(number) - before;
    size_t right = column->behind > behind ? column->behind - behind : 0;
    size_t taken = strlen(number) + right;
    size_t left = column->width > taken ? column->width - taken : 0;
    fprintf(file, "%*s%s", (int)left, "", number);
    if (!last) {
        fprintf(file, "%*s", (int)right, "");
    }
}

static void print_text(FILE *file, const struct vv_table *table, const struct column *column,
                       struct vv_str text, bool last)
{
    size_t width = vv_terminal_width(text);
    if (column->is_number) { /* the header above numbers, or a word among them */
        fprintf(file, "%*s", (int)(column->width > width ? column->width - width : 0), "");
        vv_terminal_print(file, text);
        return;
    }
    bool limited = table->options.columns > 0;
    size_t used = print_cut(file, text, limited ? column->width : SIZE_MAX);
    if (!last) {
        fprintf(file, "%*s", (int)(column->width > used ? column->width - used : 0), "");
    }
}

/* The last column of a row that is not empty: nothing is filled up behind it. */
static size_t last_column(const struct vv_table *table, const struct vv_str *cells)
{
    size_t last = table->n;
    for (size_t i = 0; i < table->n; i++) {
        if (!table->columns[i].in_caption && (last == table->n || cells[i].size > 0)) {
            last = i;
        }
    }
    return last;
}

static void print_cell(struct vv_table *table, size_t i, struct vv_str cell, bool header, bool last)
{
    FILE *file = table->options.file;
    const struct column *column = &table->columns[i];
    char number[VV_TABLE_NUMBER_SIZE];
    if (!header && column->is_number && vv_table_number(cell, number)) {
        print_number(file, column, number, last);
    } else {
        print_text(file, table, column, cell, last);
    }
}

static void print_cells(struct vv_table *table, const struct vv_str *cells, bool header)
{
    size_t last = last_column(table, cells);
    bool first = true;
    for (size_t i = 0; i < table->n && i <= last; i++) {
        if (!table->columns[i].in_caption) {
            fprintf(table->options.file, "%*s", first ? 0 : GAP, "");
            print_cell(table, i, cells[i], header, i == last);
            first = false;
        }
    }
    fputc('\n', table->options.file);
}

/* The values that all rows share, in one line. */
static void print_caption(struct vv_table *table)
{
    FILE *file = table->options.file;
    char begin[16];
    char end[16];
    bool any = false;
    for (size_t i = 0; i < table->n; i++) {
        struct vv_str value =
            table->columns[i].in_caption ? kept_cell(table, 1, i) : (struct vv_str){NULL, 0};
        if (value.size > 0) {
            fputs(any ? "  " : vv_terminal_colour(file, VV_COLOUR_BOLD, begin), file);
            vv_terminal_print(file, value);
            any = true;
        }
    }
    if (any) {
        fprintf(file, "%s\n", vv_terminal_colour(file, NULL, end));
    }
}

static void print_kept_row(struct vv_table *table, size_t row)
{
    for (size_t i = 0; i < table->n; i++) {
        table->cells[i] = kept_cell(table, row, i);
    }
    print_cells(table, table->cells, row == 0);
}

/* Finds the widths from what is kept, and prints that. */
static void lay_out(struct vv_table *table, bool complete)
{
    FILE *file = table->options.file;
    char begin[16];
    char end[16];
    size_t rows = table->n ? table->n_offsets / table->n - 1 : 0;
    for (size_t i = 0; i < table->n; i++) {
        measure(table, i, rows, complete);
    }
    shrink(table);
    print_caption(table);
    fputs(vv_terminal_colour(file, VV_COLOUR_DIM, begin), file);
    print_kept_row(table, 0);
    fputs(vv_terminal_colour(file, NULL, end), file);
    for (size_t row = 1; row <= rows; row++) {
        print_kept_row(table, row);
    }
    table->laid_out = true;
}

enum vv_status vv_table_row(struct vv_table *table, const struct vv_str *cells)
{
    table->rows++;
    if (table->laid_out) {
        print_cells(table, cells, false);
        return VV_OK;
    }
    for (size_t i = 0; i < table->n; i++) {
        enum vv_status status = keep_cell(table, cells[i]);
        if (status != VV_OK) {
            return status;
        }
    }
    if (table->rows >= table->options.rows_kept || table->text.size > KEPT_BYTES_MAX) {
        lay_out(table, false);
    }
    return VV_OK;
}

enum vv_status vv_table_end(struct vv_table *table)
{
    if (!table->laid_out) {
        lay_out(table, true);
    }
    return VV_OK;
}
