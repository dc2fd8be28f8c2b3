/* SPDX-License-Identifier: Apache-2.0 */
/* Terminals: what they can show, and how wide text is on them. */
#include "cli/terminal.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define MESSAGE_SIZE    2048
#define NOT_A_CHARACTER UINT32_MAX

bool vv_terminal_is(FILE *file)
{
    return isatty(fileno(file)) == 1;
}

bool vv_terminal_colours(FILE *file)
{
    const char *no_colour = getenv("NO_COLOR");
    const char *term = getenv("TERM");
    bool dumb = term && strcmp(term, "dumb") == 0;
    return vv_terminal_is(file) && !dumb && !(no_colour && *no_colour);
}

size_t vv_terminal_columns(FILE *file)
{
    struct winsize size = {0};
    if (ioctl(fileno(file), TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
        return size.ws_col;
    }
    return 80;
}

bool vv_terminal_utf8(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *value = getenv(names[i]);
        if (value && *value) {
            return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
        }
    }
    return true; /* nothing is set, as in containers; terminals of today understand it */
}

/* How many bytes a character has by its first one; 0 if no character begins with it. */
static size_t length_of(unsigned char first)
{
    if (first < 0x80) {
        return 1;
    }
    if (first >= 0xC2 && first < 0xE0) {
        return 2;
    }
    if (first >= 0xE0 && first < 0xF0) {
        return 3;
    }
    return first >= 0xF0 && first < 0xF5 ? 4 : 0;
}

size_t vv_terminal_decode(struct vv_str text, uint32_t *point_out)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned char first = (unsigned char)text.data[0];
    size_t length = length_of(first);
    *point_out = NOT_A_CHARACTER;
    if (length == 0 || length > text.size) {
        return 1;
    }
    uint32_t point = length == 1 ? first : first & (0x7Fu >> length);
    for (size_t i = 1; i < length; i++) {
        unsigned char next = (unsigned char)text.data[i];
        if ((next & 0xC0) != 0x80) {
            return 1;
        }
        point = point << 6 | (next & 0x3Fu);
    }
    if (point < least[length] || point > 0x10FFFF || (point >= 0xD800 && point < 0xE000)) {
        return 1;
    }
    *point_out = point;
    return length;
}

struct range {
    uint32_t first;
    uint32_t last;
};

static bool in_ranges(uint32_t point, const struct range *ranges, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (point >= ranges[i].first && point <= ranges[i].last) {
            return true;
        }
    }
    return false;
}

/* The blocks that matter for names of things; not the whole of Unicode's table. */
static size_t point_width(uint32_t point)
{
    static const struct range none[] = {
        {0x300, 0x36F}, {0x200B, 0x200F}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}};
    static const struct range wide[] = {
        {0x1100, 0x115F},   {0x2E80, 0x303E},   {0x3041, 0xA4CF},   {0xAC00, 0xD7A3},
        {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},
        {0x1F300, 0x1F64F}, {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD},
    };
    if (point < 0x300 || point == NOT_A_CHARACTER) {
        return 1;
    }
    if (in_ranges(point, none, sizeof none / sizeof none[0])) {
        return 0;
    }
    return in_ranges(point, wide, sizeof wide / sizeof wide[0]) ? 2 : 1;
}

size_t vv_terminal_width(struct vv_str text)
{
    size_t width = 0;
    while (text.size > 0) {
        uint32_t point;
        size_t length = vv_terminal_decode(text, &point);
        width += point_width(point);
        text = (struct vv_str){text.data + length, text.size - length};
    }
    return width;
}

static bool is_control(uint32_t point)
{
    /* C0, DEL, C1, and the marks that turn the direction of writing */
    return point < 0x20 || (point >= 0x7F && point < 0xA0) || point == NOT_A_CHARACTER ||
           (point >= 0x202A && point <= 0x202E) || (point >= 0x2066 && point <= 0x2069);
}

void vv_terminal_print(FILE *file, struct vv_str text)
{
    const char *replacement = vv_terminal_utf8() ? "\xEF\xBF\xBD" : "?";
    while (text.size > 0) {
        uint32_t point;
        size_t length = vv_terminal_decode(text, &point);
        if (is_control(point)) {
            fputs(replacement, file);
        } else {
            fwrite(text.data, 1, length, file);
        }
        text = (struct vv_str){text.data + length, text.size - length};
    }
}

const char *vv_terminal_colour(FILE *file, const char *colour, char *out)
{
    out[0] = '\0';
    if (vv_terminal_colours(file)) {
        snprintf(out, 16, "\x1b[%sm", colour ? colour : "0");
    }
    return out;
}

static void say(const char *prefix, const char *colour, const char *format, va_list arguments)
    __attribute__((format(printf, 3, 0)));

static void say(const char *prefix, const char *colour, const char *format, va_list arguments)
{
    char message[MESSAGE_SIZE];
    char begin[16];
    char end[16];
    vsnprintf(message, sizeof message, format, arguments);
    fflush(stdout);
    fprintf(stderr, "%s%s%s ", vv_terminal_colour(stderr, colour, begin), prefix,
            vv_terminal_colour(stderr, NULL, end));
    vv_terminal_print(stderr, vv_str_of(message));
    fputc('\n', stderr);
}

void vv_say_error(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say("varve: error:", VV_COLOUR_RED, format, arguments);
    va_end(arguments);
}

void vv_say_hint(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say("hint:", VV_COLOUR_CYAN, format, arguments);
    va_end(arguments);
}

void vv_say_note(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say("note:", VV_COLOUR_YELLOW, format, arguments);
    va_end(arguments);
}
