/* SPDX-License-Identifier: Apache-2.0 */
/* CSV in, table and sparklines out. */
#include "cli/view.h"

#include "cli/csv_reader.h"
#include "cli/spark.h"
#include "cli/table_print.h"
#include "cli/terminal.h"
#include "cli/units.h"

#include <math.h>
#include <stdlib.h>

#define ERROR_MARK       "# error: "
#define REMARK_MARK      "# " /* no cell begins with it */
#define SERIES_MAX       24   /* that get a sparkline */
#define LABEL_BYTES      512
#define LABEL_END        '\x1F'
#define LABEL_COLUMNS    36
#define SPARK_COLUMNS    60
#define COLUMNS_OF_FILES 100 /* when it is not printed to a terminal */
#define SPARK_VALUES     3   /* fewer make no line */
#define CELL_BYTES_MAX   (1u << 20)
#define NONE             SIZE_MAX

struct series {
    char label[LABEL_BYTES];
    char first_time[48];
    char last_time[48];
    struct vv_spark spark;
};

struct vv_view {
    struct vv_view_options options;
    struct vv_csv_reader csv;
    struct vv_buffer pending; /* bytes that are not a whole record yet, from `at` on */
    size_t at;
    struct vv_units units;
    struct vv_table *table;
    size_t n;      /* cells of a record */
    size_t metric; /* positions in the header; NONE: it has no such column */
    size_t time;
    size_t value;
    bool with_units;
    struct vv_str *cells; /* of a row, with the unit */
    char value_name[32];  /* of the column that sparklines show */
    struct series *series;
    size_t n_series;
    uint64_t series_seen;
    uint64_t label_hash;      /* of the present series */
    struct vv_buffer remarks; /* what the answer says of itself at its end */
};

enum vv_status vv_view_create(const struct vv_view_options *options, struct vv_view **view_out)
{
    struct vv_view *view = calloc(1, sizeof *view);
    if (!view) {
        return VV_NO_MEMORY;
    }
    view->options = *options;
    enum vv_status status = vv_csv_reader_init(&view->csv, ',');
    if (status == VV_OK) {
        status = vv_units_read(&view->units, options->units);
    }
    view->series = calloc(SERIES_MAX, sizeof *view->series);
    if (status == VV_OK && !view->series) {
        status = VV_NO_MEMORY;
    }
    if (status != VV_OK) {
        vv_view_destroy(view);
        return status;
    }
    *view_out = view;
    return VV_OK;
}

void vv_view_destroy(struct vv_view *view)
{
    if (view) {
        vv_csv_reader_deinit(&view->csv);
        vv_buffer_deinit(&view->pending);
        vv_buffer_deinit(&view->remarks);
        vv_units_deinit(&view->units);
        vv_table_destroy(view->table);
        free(view->cells);
        free(view->series);
        free(view);
    }
}

uint64_t vv_view_rows(const struct vv_view *view)
{
    return view->table ? vv_table_rows(view->table) : 0;
}

/* ---- the header ---- */

static size_t find_cell(const struct vv_csv_reader *csv, const char *name)
{
    for (size_t i = 0; i < csv->n; i++) {
        if (vv_str_equal(csv->cells[i], vv_str_of(name))) {
            return i;
        }
    }
    return NONE;
}

/* The record's cells with the unit behind the metric. */
static size_t spread_cells(struct vv_view *view, struct vv_str unit)
{
    size_t n = 0;
    for (size_t i = 0; i < view->csv.n; i++) {
        view->cells[n++] = view->csv.cells[i];
        if (view->with_units && i == view->metric) {
            view->cells[n++] = unit;
        }
    }
    return n;
}

static enum vv_status begin_table(struct vv_view *view)
{
    const struct vv_csv_reader *csv = &view->csv;
    view->n = csv->n;
    view->metric = find_cell(csv, "metric");
    view->time = find_cell(csv, "time");
    view->value = NONE;
    if (view->time != NONE && view->time + 1 < csv->n) {
        bool count = vv_str_equal(csv->cells[view->time + 1], VV_STR_LITERAL("count"));
        view->value = view->time + 1 + (count && view->time + 2 < csv->n);
        snprintf(view->value_name, sizeof view->value_name, "%.*s",
                 VV_STR_ARG(csv->cells[view->value]));
    }
    view->with_units = view->metric != NONE && view->units.any && find_cell(csv, "unit") == NONE;
    view->cells = calloc(csv->n + 1, sizeof *view->cells);
    if (!view->cells) {
        return VV_NO_MEMORY;
    }
    size_t n = spread_cells(view, VV_STR_LITERAL("unit"));
    const struct vv_table_options options = {
        .file = view->options.file,
        .columns = view->options.columns,
        .captioned = view->time == NONE ? 0 : view->time + view->with_units,
    };
    return vv_table_create(&options, view->cells, n, &view->table);
}

/* ---- series ---- */

/* The cells before the time, each ended by LABEL_END. */
static void make_label(const struct vv_view *view, char *label)
{
    size_t used = 0;
    label[0] = '\0';
    for (size_t i = 0; i < view->time && used < LABEL_BYTES; i++) {
        used += (size_t)snprintf(label + used, LABEL_BYTES - used, "%.*s%c",
                                 VV_STR_ARG(view->csv.cells[i]), LABEL_END);
    }
}

static struct vv_str label_part(const struct series *series, size_t part)
{
    const char *at = series->label;
    for (; part > 0 && strchr(at, LABEL_END); part--) {
        at = strchr(at, LABEL_END) + 1;
    }
    return (struct vv_str){at, strcspn(at, (char[]){LABEL_END, '\0'})};
}

/* Whether the series differ in a part of their labels. */
static bool parts_differ(const struct vv_view *view, size_t part)
{
    struct vv_str first = label_part(&view->series[0], part);
    for (size_t i = 1; i < view->n_series; i++) {
        if (!vv_str_equal(label_part(&view->series[i], part), first)) {
            return true;
        }
    }
    return false;
}

/* The parts in which the series differ, with two blanks between. */
static void print_label(const struct vv_view *view, const struct series *series)
{
    char text[LABEL_BYTES + 8] = "";
    size_t used = 0;
    for (size_t part = 0; part < view->time && used < LABEL_BYTES; part++) {
        struct vv_str cell = label_part(series, part);
        if (cell.size > 0 && parts_differ(view, part)) {
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%.*s", used ? "  " : "",
                                     VV_STR_ARG(cell));
        }
    }
    vv_table_print_cut(view->options.file, vv_str_of(text), LABEL_COLUMNS);
}

/* Of the cells before the time, whole and with their bounds; FNV-1a. */
static uint64_t hash_label(const struct vv_view *view)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < view->time; i++) {
        struct vv_str cell = view->csv.cells[i];
        for (size_t at = 0; at < cell.size; at++) {
            hash = (hash ^ (unsigned char)cell.data[at]) * UINT64_C(1099511628211);
        }
        hash = (hash ^ 0x100) * UINT64_C(1099511628211);
    }
    return hash;
}

/* Rows of a series stand together. NULL: there is no room for a further one. */
static struct series *find_series(struct vv_view *view)
{
    uint64_t hash = hash_label(view);
    bool is_new = view->series_seen == 0 || hash != view->label_hash;
    vv_invariant(view->series != NULL);
    view->label_hash = hash;
    view->series_seen += is_new;
    if (view->series_seen > SERIES_MAX) {
        return NULL;
    }
    struct series *series = &view->series[view->series_seen - 1];
    if (is_new) {
        *series = (struct series){0};
        make_label(view, series->label);
        snprintf(series->first_time, sizeof series->first_time, "%.*s",
                 VV_STR_ARG(view->csv.cells[view->time]));
        vv_spark_init(&series->spark);
        view->n_series = (size_t)view->series_seen;
    }
    return series;
}

static void add_to_spark(struct vv_view *view)
{
    char number[48];
    struct vv_str cell = view->csv.cells[view->value];
    struct series *series = find_series(view);
    if (!series) {
        return;
    }
    char shown[VV_TABLE_NUMBER_SIZE];
    bool good = cell.size < sizeof number && vv_table_number(cell, shown);
    snprintf(number, sizeof number, "%.*s", good ? (int)cell.size : 0, cell.data);
    vv_spark_add(&series->spark, good ? strtod(number, NULL) : NAN);
    snprintf(series->last_time, sizeof series->last_time, "%.*s",
             VV_STR_ARG(view->csv.cells[view->time]));
}

/* ---- records ---- */

static enum vv_status take_record(struct vv_view *view, struct vv_error *error)
{
    if (view->csv.problem) {
        return vv_error_set(error, VV_INVALID, "the answer is not CSV: %s", view->csv.problem);
    }
    if (!view->table) {
        return begin_table(view);
    }
    if (view->csv.n != view->n) {
        return vv_error_set(error, VV_INVALID, "the answer is not CSV: %zu cells below %zu columns",
                            view->csv.n, view->n);
    }
    struct vv_str unit = {0};
    if (view->with_units) {
        unit = vv_units_find(&view->units, view->csv.cells[view->metric]);
    }
    spread_cells(view, unit);
    if (view->value != NONE) {
        add_to_spark(view);
    }
    return vv_table_row(view->table, view->cells);
}

/* An answer that breaks off says so in its last line. */
static bool is_error_line(struct vv_str bytes)
{
    size_t size = strlen(ERROR_MARK);
    return bytes.size >= size && memcmp(bytes.data, ERROR_MARK, size) == 0;
}

static enum vv_status take_error(struct vv_str bytes, struct vv_error *error)
{
    const char *newline = memchr(bytes.data, '\n', bytes.size);
    size_t size = newline ? (size_t)(newline - bytes.data) : bytes.size;
    size_t mark = strlen(ERROR_MARK);
    return vv_error_set(error, VV_IO, "the answer is not complete: %.*s",
                        (int)(size > 400 ? 400 : size - mark), bytes.data + mark);
}

static bool is_remark(struct vv_str bytes)
{
    size_t size = strlen(REMARK_MARK);
    return bytes.size >= size && memcmp(bytes.data, REMARK_MARK, size) == 0;
}

/* How complete the answer is; VV_DONE when the line has no end yet. */
static enum vv_status take_remark(struct vv_view *view, struct vv_str bytes, bool at_end)
{
    const char *newline = memchr(bytes.data, '\n', bytes.size);
    if (!newline && !at_end) {
        return VV_DONE;
    }
    size_t size = newline ? (size_t)(newline - bytes.data) : bytes.size;
    size_t mark = strlen(REMARK_MARK);
    vv_buffer_text(&view->remarks, view->remarks.size > 0 ? "\n" : "");
    vv_buffer_append(&view->remarks, bytes.data + mark, size - mark);
    view->at += size + (newline != NULL);
    return vv_buffer_status(&view->remarks);
}

/* Records from the pending bytes; VV_DONE when there is no further whole one. */
static enum vv_status take_pending(struct vv_view *view, bool at_end, struct vv_error *error)
{
    struct vv_str bytes = {(const char *)view->pending.data + view->at,
                           view->pending.size - view->at};
    if (bytes.size == 0 || (!at_end && bytes.size < sizeof ERROR_MARK)) {
        return VV_DONE;
    }
    if (is_error_line(bytes)) {
        return at_end ? take_error(bytes, error) : VV_DONE;
    }
    if (is_remark(bytes) && view->table) {
        return take_remark(view, bytes, at_end);
    }
    enum vv_status status = vv_csv_reader_next(&view->csv, bytes, at_end);
    if (status != VV_OK) {
        return status;
    }
    view->at += view->csv.next;
    return view->csv.n > 0 ? take_record(view, error) : VV_OK;
}

static enum vv_status take_all(struct vv_view *view, bool at_end, struct vv_error *error)
{
    enum vv_status status;
    do {
        status = take_pending(view, at_end, error);
    } while (status == VV_OK);
    if (status == VV_NO_MEMORY) {
        (void)vv_error_set(error, status, "out of memory");
    }
    return status == VV_DONE ? VV_OK : status;
}

enum vv_status vv_view_feed(struct vv_view *view, const char *bytes, size_t size,
                            struct vv_error *error)
{
    size_t left = view->pending.size - view->at;
    if (view->at > 0) {
        memmove(view->pending.data, view->pending.data + view->at, left);
        view->pending.size = left;
        view->at = 0;
    }
    if (left > CELL_BYTES_MAX) {
        return vv_error_set(error, VV_INVALID,
                            "the answer is not CSV: a record of more than 1 MiB");
    }
    vv_buffer_append(&view->pending, bytes, size);
    if (vv_buffer_status(&view->pending) != VV_OK) {
        return vv_error_set(error, VV_NO_MEMORY, "out of memory");
    }
    return take_all(view, false, error);
}

/* ---- sparklines ---- */

static void print_range(const struct vv_view *view, const struct series *series)
{
    char text[VV_TABLE_NUMBER_SIZE];
    char shown[VV_TABLE_NUMBER_SIZE];
    const double ends[] = {series->spark.least, series->spark.most};
    for (size_t i = 0; i < 2; i++) {
        snprintf(text, sizeof text, "%.17g", ends[i]);
        fprintf(view->options.file, "%s%s", i ? " … " : "  ",
                vv_table_number(vv_str_of(text), shown) ? shown : text);
    }
    fputc('\n', view->options.file);
}

static void print_series(const struct vv_view *view, const struct series *series, bool labelled)
{
    FILE *file = view->options.file;
    struct vv_buffer bars = {0};
    char begin[16];
    char end[16];
    bool backwards = strcmp(series->first_time, series->last_time) > 0;
    size_t columns = view->options.columns ? view->options.columns : COLUMNS_OF_FILES;
    size_t taken = (labelled ? LABEL_COLUMNS + 2 : 0) + 28; /* the range */
    size_t room = columns > taken + 10 ? columns - taken : 10;
    vv_spark_draw(&series->spark, room < SPARK_COLUMNS ? room : SPARK_COLUMNS, backwards,
                  vv_terminal_utf8(), &bars);
    if (labelled) {
        print_label(view, series);
        fputs("  ", file);
    }
    vv_terminal_print(file, vv_str_of(view->value_name));
    fprintf(file, "  %s%.*s%s", vv_terminal_colour(file, VV_COLOUR_CYAN, begin), (int)bars.size,
            bars.data ? (const char *)bars.data : "", vv_terminal_colour(file, NULL, end));
    print_range(view, series);
    vv_buffer_deinit(&bars);
}

static void print_sparks(const struct vv_view *view)
{
    bool any = false;
    for (size_t i = 0; i < view->n_series; i++) {
        if (view->series[i].spark.values >= SPARK_VALUES) {
            fputs(any ? "" : "\n", view->options.file);
            any = true;
            print_series(view, &view->series[i], view->n_series > 1);
        }
    }
    if (any && view->series_seen > view->n_series) {
        fprintf(view->options.file, "and %llu more series\n",
                (unsigned long long)(view->series_seen - view->n_series));
    }
}

/* Each on a line of its own. */
static void print_remarks(const struct vv_view *view)
{
    struct vv_str left = {(const char *)view->remarks.data, view->remarks.size};
    fputs(left.size > 0 && vv_view_rows(view) > 0 ? "\n" : "", view->options.file);
    while (left.size > 0) {
        const char *newline = memchr(left.data, '\n', left.size);
        size_t size = newline ? (size_t)(newline - left.data) : left.size;
        vv_terminal_print(view->options.file, (struct vv_str){left.data, size});
        fputc('\n', view->options.file);
        size += newline != NULL;
        left = (struct vv_str){left.data + size, left.size - size};
    }
}

enum vv_status vv_view_end(struct vv_view *view, struct vv_error *error)
{
    enum vv_status status = take_all(view, true, error);
    if (view->table && vv_table_rows(view->table) > 0) {
        enum vv_status ended = vv_table_end(view->table);
        print_sparks(view);
        status = status == VV_OK ? ended : status;
    }
    print_remarks(view);
    return status;
}
