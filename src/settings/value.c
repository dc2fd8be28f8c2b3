/* SPDX-License-Identifier: Apache-2.0 */
/* Values of settings: from text into the struct and back. */
#include "settings/table.h"

#include "base/clock.h"
#include "settings/value.h"

#include <assert.h>
#include <inttypes.h>
#include <strings.h>

#define ALLOWED_SIZE   160
#define SHOWN_TEXT_MAX 48 /* of a wrong value in a message */

static int64_t *number_at(const struct vv_setting *row, struct vv_settings *settings)
{
    return (int64_t *)(void *)((char *)settings + row->offset);
}

static int64_t read_number(const struct vv_setting *row, const struct vv_settings *settings)
{
    int64_t value;
    memcpy(&value, (const char *)settings + row->offset, sizeof value);
    return value;
}

static enum vv_status refuse(const struct vv_setting *row, struct vv_str text, const char *what,
                             struct vv_error *error)
{
    char allowed[ALLOWED_SIZE];
    vv_setting_allowed(row, allowed, sizeof allowed);
    if (row->type == VV_SETTING_SECRET) {
        return vv_error_set(error, VV_INVALID, "%s: the value %s; allowed: %s", row->name, what,
                            allowed);
    }
    int shown = text.size > SHOWN_TEXT_MAX ? SHOWN_TEXT_MAX : (int)text.size;
    return vv_error_set(error, VV_INVALID, "%s: '%.*s' %s; allowed: %s", row->name, shown,
                        text.data ? text.data : "", what, allowed);
}

/* Decimal digits at the beginning; false without any, or beyond int64. */
static bool read_digits(struct vv_str text, uint64_t *value_out, size_t *length_out)
{
    uint64_t value = 0;
    size_t at = 0;
    while (at < text.size && text.data[at] >= '0' && text.data[at] <= '9') {
        unsigned digit = (unsigned)(text.data[at] - '0');
        if (value > ((uint64_t)INT64_MAX - digit) / 10) {
            return false;
        }
        value = value * 10 + digit;
        at++;
    }
    *value_out = value;
    *length_out = at;
    return at > 0;
}

bool vv_int_parse(struct vv_str text, int64_t *value_out)
{
    bool negative = text.size > 0 && text.data[0] == '-';
    struct vv_str digits = {text.data + negative, text.size - negative};
    uint64_t value;
    size_t length;
    if (!read_digits(digits, &value, &length) || length != digits.size) {
        return false;
    }
    *value_out = negative ? -(int64_t)value : (int64_t)value;
    return true;
}

static const struct {
    const char *name;
    int64_t bytes;
} size_units[] = {
    {"TiB", INT64_C(1) << 40}, {"GiB", INT64_C(1) << 30},      {"MiB", INT64_C(1) << 20},
    {"KiB", INT64_C(1) << 10}, {"TB", INT64_C(1000000000000)}, {"GB", INT64_C(1000000000)},
    {"MB", INT64_C(1000000)},  {"KB", INT64_C(1000)},          {"B", 1},
};

bool vv_size_parse(struct vv_str text, int64_t *bytes_out)
{
    uint64_t value;
    size_t length;
    if (!read_digits(text, &value, &length)) {
        return false;
    }
    if (length < text.size && text.data[length] == ' ') {
        length++;
    }
    struct vv_str unit = {text.data + length, text.size - length};
    if (unit.size == 0) {
        *bytes_out = (int64_t)value;
        return text.data[length - 1] != ' ';
    }
    for (size_t i = 0; i < sizeof size_units / sizeof size_units[0]; i++) {
        if (unit.size == strlen(size_units[i].name) &&
            strncasecmp(unit.data, size_units[i].name, unit.size) == 0) {
            int64_t bytes = size_units[i].bytes;
            *bytes_out = (int64_t)value * (value <= (uint64_t)(INT64_MAX / bytes) ? bytes : 0);
            return value <= (uint64_t)(INT64_MAX / bytes);
        }
    }
    return false;
}

static const char *number_problem(enum vv_setting_type type)
{
    if (type == VV_SETTING_SIZE) {
        return "is not a size such as 4096, 64MiB or 1GB";
    }
    if (type == VV_SETTING_DURATION) {
        return "is not a duration such as 30s, 1h30m or 7d";
    }
    return "is not a whole number";
}

static bool parse_number(enum vv_setting_type type, struct vv_str text, int64_t *value_out)
{
    if (type == VV_SETTING_SIZE) {
        return vv_size_parse(text, value_out);
    }
    if (type == VV_SETTING_DURATION) {
        return vv_duration_parse(text, value_out, NULL) == VV_OK;
    }
    return vv_int_parse(text, value_out);
}

static enum vv_status set_number(const struct vv_setting *row, struct vv_str text,
                                 struct vv_settings *settings, struct vv_error *error)
{
    int64_t value;
    if (!parse_number(row->type, text, &value)) {
        return refuse(row, text, number_problem(row->type), error);
    }
    bool zero_allowed = row->zero && value == 0;
    if (!zero_allowed && value < row->least) {
        return refuse(row, text, "is too small", error);
    }
    if (value > row->most) {
        return refuse(row, text, "is too large", error);
    }
    *number_at(row, settings) = value;
    return VV_OK;
}

static enum vv_status set_bool(const struct vv_setting *row, struct vv_str text,
                               struct vv_settings *settings, struct vv_error *error)
{
    static const char *const words[] = {"false", "true", "no", "yes", "off", "on"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (text.size == strlen(words[i]) && strncasecmp(text.data, words[i], text.size) == 0) {
            *(bool *)(void *)((char *)settings + row->offset) = i % 2 == 1;
            return VV_OK;
        }
    }
    return refuse(row, text, "is neither true nor false", error);
}

static bool is_choice(const char *choices, struct vv_str text)
{
    for (const char *at = choices; *at;) {
        size_t size = strcspn(at, "|");
        if (size == text.size && memcmp(at, text.data, size) == 0) {
            return true;
        }
        at += size + (at[size] == '|');
    }
    return false;
}

static bool has_control(struct vv_str text)
{
    for (size_t i = 0; i < text.size; i++) {
        if ((unsigned char)text.data[i] < 0x20 || text.data[i] == 0x7F) {
            return true;
        }
    }
    return false;
}

static enum vv_status set_text(const struct vv_setting *row, struct vv_str text,
                               struct vv_settings *settings, struct vv_error *error)
{
    if (has_control(text)) {
        return vv_error_set(error, VV_INVALID, "%s: the value has control characters in it",
                            row->name);
    }
    if (row->choices && !is_choice(row->choices, text)) {
        return refuse(row, text, "is not one of the words", error);
    }
    if (text.size < (size_t)row->least) {
        return refuse(row, text, "is too short", error);
    }
    if (text.size > (size_t)row->most) {
        return refuse(row, text, "is too long", error);
    }
    char *out = (char *)settings + row->offset;
    if (text.size > 0) {
        memcpy(out, text.data, text.size);
    }
    memset(out + text.size, 0, VV_SETTING_TEXT_MAX - text.size);
    return VV_OK;
}

enum vv_status vv_setting_read(const struct vv_setting *row, struct vv_str text,
                               struct vv_settings *settings, struct vv_error *error)
{
    switch (row->type) {
    case VV_SETTING_SIZE:
    case VV_SETTING_DURATION:
    case VV_SETTING_INT:
        return set_number(row, text, settings, error);
    case VV_SETTING_BOOL:
        return set_bool(row, text, settings, error);
    case VV_SETTING_TEXT:
    case VV_SETTING_ENUM:
    case VV_SETTING_SECRET:
        break;
    }
    return set_text(row, text, settings, error);
}

void vv_size_format(int64_t bytes, char *out)
{
    for (size_t i = 0; bytes > 0 && i < 4; i++) {
        if (bytes % size_units[i].bytes == 0) {
            snprintf(out, VV_SIZE_TEXT_SIZE, "%" PRId64 "%s", bytes / size_units[i].bytes,
                     size_units[i].name);
            return;
        }
    }
    snprintf(out, VV_SIZE_TEXT_SIZE, "%" PRId64, bytes);
}

#define NUMBER_TEXT_SIZE VV_TIME_TEXT_SIZE
static_assert(VV_SIZE_TEXT_SIZE <= NUMBER_TEXT_SIZE, "sizes fit where durations do");

/* out holds NUMBER_TEXT_SIZE bytes. */
static void write_number(enum vv_setting_type type, int64_t value, char *out)
{
    switch (type) {
    case VV_SETTING_SIZE:
        vv_size_format(value, out);
        return;
    case VV_SETTING_DURATION:
        vv_duration_format(value, out);
        return;
    case VV_SETTING_INT:
    case VV_SETTING_BOOL:
    case VV_SETTING_TEXT:
    case VV_SETTING_ENUM:
    case VV_SETTING_SECRET:
        break;
    }
    snprintf(out, NUMBER_TEXT_SIZE, "%" PRId64, value);
}

void vv_setting_write(const struct vv_setting *row, const struct vv_settings *settings, char *out)
{
    const char *at = (const char *)settings + row->offset;
    if (row->type == VV_SETTING_SECRET) {
        out[0] = '\0';
    } else if (row->type == VV_SETTING_TEXT || row->type == VV_SETTING_ENUM) {
        snprintf(out, VV_SETTING_WRITTEN_SIZE, "%.*s", VV_SETTING_TEXT_MAX - 1, at);
    } else if (row->type == VV_SETTING_BOOL) {
        snprintf(out, VV_SETTING_WRITTEN_SIZE, "%s", *(const bool *)at ? "true" : "false");
    } else {
        write_number(row->type, read_number(row, settings), out);
    }
}

bool vv_setting_is_hidden(const struct vv_setting *row, const struct vv_settings *settings)
{
    return row->type == VV_SETTING_SECRET && *((const char *)settings + row->offset) != '\0';
}

/* "debug, info or warn" of "debug|info|warn". */
static void write_choices(const char *choices, char *out, size_t out_size)
{
    size_t length = 0;
    vv_invariant(choices != NULL);
    for (const char *at = choices; *at && length < out_size;) {
        size_t size = strcspn(at, "|");
        bool last = at[size] == '\0';
        const char *joint = at == choices ? "" : last ? " or " : ", ";
        length += (size_t)snprintf(out + length, out_size - length, "%s%.*s", joint, (int)size, at);
        at += size + !last;
    }
}

void vv_setting_allowed(const struct vv_setting *row, char *out, size_t out_size)
{
    char least[NUMBER_TEXT_SIZE];
    char most[NUMBER_TEXT_SIZE];
    switch (row->type) {
    case VV_SETTING_BOOL:
        snprintf(out, out_size, "true or false");
        return;
    case VV_SETTING_ENUM:
        write_choices(row->choices, out, out_size);
        return;
    case VV_SETTING_TEXT:
    case VV_SETTING_SECRET:
        snprintf(out, out_size, "text of %" PRId64 " to %" PRId64 " bytes", row->least, row->most);
        return;
    case VV_SETTING_SIZE:
    case VV_SETTING_DURATION:
    case VV_SETTING_INT:
        break;
    }
    write_number(row->type, row->least, least);
    write_number(row->type, row->most, most);
    snprintf(out, out_size, "%s to %s%s%s", least, most, row->zero ? "; 0: " : "",
             row->zero ? row->zero : "");
}
