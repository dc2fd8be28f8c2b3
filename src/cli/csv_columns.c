/* SPDX-License-Identifier: Apache-2.0 */
/* Which column is the time, which are tags, which are fields. */
#include "cli/csv_columns.h"

#include "cli/csv_number.h"
#include "settings/value.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

void vv_csv_escape(struct vv_buffer *buffer, struct vv_str text, const char *special)
{
    for (size_t i = 0; i < text.size; i++) {
        if (strchr(special, text.data[i]) && text.data[i] != '\0') {
            vv_buffer_u8(buffer, '\\');
        }
        vv_buffer_u8(buffer, (uint8_t)text.data[i]);
    }
}

bool vv_csv_is_name(struct vv_str text)
{
    for (size_t i = 0; i < text.size; i++) {
        if ((unsigned char)text.data[i] < 0x20) {
            return false;
        }
    }
    return text.size > 0 && text.data[text.size - 1] != '\\';
}

struct vv_str vv_csv_trim(struct vv_str text)
{
    while (text.size > 0 && (*text.data == ' ' || *text.data == '\t')) {
        text.data++;
        text.size--;
    }
    while (text.size > 0 && (text.data[text.size - 1] == ' ' || text.data[text.size - 1] == '\t')) {
        text.size--;
    }
    return text;
}

void vv_csv_columns_clear(struct vv_csv_lines *lines)
{
    for (size_t i = 0; i < lines->n; i++) {
        free(lines->columns[i].name);
        free((char *)(uintptr_t)lines->columns[i].key.data);
    }
    free(lines->columns);
    lines->columns = NULL;
    lines->n = 0;
}

bool vv_csv_columns_are_names(const struct vv_csv_reader *csv)
{
    for (size_t i = 0; i < csv->n; i++) {
        char number[VV_CSV_NUMBER_SIZE];
        if (vv_csv_number(vv_csv_trim(csv->cells[i]), false, number) == VV_CSV_VALUE) {
            return false;
        }
    }
    return true;
}

static enum vv_status name_columns(struct vv_csv_lines *lines, const struct vv_csv_reader *csv,
                                   bool is_header)
{
    lines->columns = calloc(csv->n ? csv->n : 1, sizeof *lines->columns);
    if (!lines->columns) {
        return VV_NO_MEMORY;
    }
    lines->n = csv->n;
    for (size_t i = 0; i < csv->n; i++) {
        char number[24];
        snprintf(number, sizeof number, "%zu", i + 1);
        struct vv_str cell = vv_csv_trim(csv->cells[i]);
        if (i == 0 && cell.size >= 3 && memcmp(cell.data, "\xEF\xBB\xBF", 3) == 0) {
            cell = (struct vv_str){cell.data + 3, cell.size - 3}; /* a byte order mark */
        }
        lines->columns[i].name =
            vv_str_duplicate(is_header && vv_csv_is_name(cell) ? cell : vv_str_of(number));
        if (!lines->columns[i].name) {
            return VV_NO_MEMORY;
        }
    }
    return VV_OK;
}

/* The column that an option names: by its name, else by its number; n when there is none. */
static size_t find_column(const struct vv_csv_lines *lines, struct vv_str name)
{
    int64_t number;
    for (size_t i = 0; i < lines->n; i++) {
        if (vv_str_equal(vv_str_of(lines->columns[i].name), name)) {
            return i;
        }
    }
    if (vv_int_parse(name, &number) && number >= 1 && (uint64_t)number <= lines->n) {
        return (size_t)number - 1;
    }
    return lines->n;
}

static enum vv_status refuse_column(const struct vv_csv_lines *lines, const char *option,
                                    struct vv_str name, struct vv_error *error)
{
    char names[256];
    size_t used = 0;
    for (size_t i = 0; i < lines->n && used < sizeof names; i++) {
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "",
                                 lines->columns[i].name);
    }
    int shown = name.size < VV_CSV_SHOWN_MAX ? (int)name.size : VV_CSV_SHOWN_MAX;
    return vv_error_set(error, VV_INVALID, "--%s: there is no column '%.*s'; there are: %s", option,
                        shown, name.data, names);
}

/* Gives a column its role and key; VV_NO_MEMORY. */
static enum vv_status set_role(struct vv_csv_column *column, enum vv_csv_role role,
                               struct vv_str key)
{
    struct vv_buffer buffer = {0};
    vv_csv_escape(&buffer, key, ",= ");
    vv_buffer_u8(&buffer, '=');
    enum vv_status status = vv_buffer_status(&buffer);
    if (status != VV_OK) {
        vv_buffer_deinit(&buffer);
        return status;
    }
    free((char *)(uintptr_t)column->key.data);
    column->key = (struct vv_str){(const char *)buffer.data, buffer.size};
    column->role = role;
    column->named = true;
    return VV_OK;
}

/* The columns of a list with commas, in all its options. */
static enum vv_status set_listed(struct vv_csv_lines *lines, const char *option,
                                 enum vv_csv_role role, struct vv_error *error)
{
    const char *list;
    for (size_t at = 0; (list = vv_arguments_next(lines->arguments, option, &at));) {
        while (*list) {
            struct vv_str name = {list, strcspn(list, ",")};
            list += name.size;
            list += *list == ',';
            size_t i = find_column(lines, name);
            if (i == lines->n) {
                return refuse_column(lines, option, name, error);
            }
            enum vv_status status =
                set_role(&lines->columns[i], role, vv_str_of(lines->columns[i].name));
            if (status != VV_OK) {
                return status;
            }
        }
    }
    return VV_OK;
}

/* --field COLUMN=NAME. Keeps a column that is a whole number one. */
static enum vv_status set_renamed(struct vv_csv_lines *lines, struct vv_error *error)
{
    const char *pair;
    for (size_t at = 0; (pair = vv_arguments_next(lines->arguments, "field", &at));) {
        const char *equals = strrchr(pair, '=');
        struct vv_str name = {pair, equals ? (size_t)(equals - pair) : strlen(pair)};
        struct vv_str key = equals ? vv_str_of(equals + 1) : name;
        size_t i = find_column(lines, name);
        if (!vv_csv_is_name(key)) {
            return vv_error_set(error, VV_INVALID, "--field: '%.64s' is not COLUMN=NAME", pair);
        }
        if (i == lines->n) {
            return refuse_column(lines, "field", name, error);
        }
        enum vv_csv_role role = lines->columns[i].role == VV_CSV_INT ? VV_CSV_INT : VV_CSV_FLOAT;
        enum vv_status status = set_role(&lines->columns[i], role, key);
        if (status != VV_OK) {
            return status;
        }
    }
    return VV_OK;
}

static enum vv_status find_time(struct vv_csv_lines *lines, struct vv_error *error)
{
    static const char *const usual[] = {"timestamp", "time", "datetime", "date", "ts"};
    const char *wanted = vv_arguments_text(lines->arguments, "time-column", NULL);
    lines->time = 0;
    if (wanted) {
        lines->time = find_column(lines, vv_str_of(wanted));
        if (lines->time == lines->n) {
            return refuse_column(lines, "time-column", vv_str_of(wanted), error);
        }
    } else {
        for (size_t i = sizeof usual / sizeof usual[0]; i > 0; i--) {
            for (size_t j = lines->n; j > 0; j--) {
                if (strcasecmp(lines->columns[j - 1].name, usual[i - 1]) == 0) {
                    lines->time = j - 1;
                }
            }
        }
    }
    lines->columns[lines->time].role = VV_CSV_TIME;
    lines->columns[lines->time].named = true;
    return VV_OK;
}

/* Columns that no option named: left out when the fields were listed, else to be seen. */
static enum vv_status set_rest(struct vv_csv_lines *lines, struct vv_error *error)
{
    size_t at = 0;
    bool listed = vv_arguments_next(lines->arguments, "field-columns", &at) != NULL;
    size_t fields = 0;
    for (size_t i = 0; i < lines->n; i++) {
        struct vv_csv_column *column = &lines->columns[i];
        if (!column->named && !listed) {
            enum vv_status status = set_role(column, VV_CSV_UNDECIDED, vv_str_of(column->name));
            if (status != VV_OK) {
                return status;
            }
        } else if (!column->named) {
            column->role = VV_CSV_LEFT_OUT;
            column->announced = true;
        }
        fields += column->role == VV_CSV_UNDECIDED || column->role == VV_CSV_FLOAT ||
                  column->role == VV_CSV_INT;
    }
    if (fields == 0) {
        return vv_error_set(error, VV_INVALID, "no column is left for values");
    }
    return VV_OK;
}

static enum vv_status set_roles(struct vv_csv_lines *lines, struct vv_error *error)
{
    enum vv_status status = find_time(lines, error);
    if (status == VV_OK) {
        status = set_listed(lines, "tag-columns", VV_CSV_TAG, error);
    }
    if (status == VV_OK) {
        status = set_listed(lines, "field-columns", VV_CSV_FLOAT, error);
    }
    if (status == VV_OK) {
        status = set_listed(lines, "int-columns", VV_CSV_INT, error);
    }
    if (status == VV_OK) {
        status = set_renamed(lines, error);
    }
    return status == VV_OK ? set_rest(lines, error) : status;
}

enum vv_status vv_csv_columns_read(struct vv_csv_lines *lines, const struct vv_csv_reader *csv,
                                   bool is_header, struct vv_error *error)
{
    enum vv_status status = name_columns(lines, csv, is_header);
    if (status == VV_OK) {
        status = set_roles(lines, error);
    }
    return status == VV_NO_MEMORY ? vv_error_set(error, status, "out of memory") : status;
}
