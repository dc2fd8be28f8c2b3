/* SPDX-License-Identifier: Apache-2.0 */
/* Log lines: each is built on the stack and written with one call, so that lines of several
 * threads never mix. */
#include "base/log.h"

#include "base/clock.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#define LINE_SIZE 4096 /* a pipe takes this much in one piece */
#define CUT_MARK  " cut=true"

static atomic_int level_min = VV_LOG_INFO;

void vv_log_level_set(enum vv_log_level level)
{
    atomic_store_explicit(&level_min, (int)level, memory_order_relaxed);
}

static const char *level_name(enum vv_log_level level)
{
    switch (level) {
    case VV_LOG_DEBUG:
        return "debug";
    case VV_LOG_INFO:
        return "info";
    case VV_LOG_WARN:
        return "warn";
    case VV_LOG_ERROR:
    case VV_LOG_OFF:
        break;
    }
    return "error";
}

/* Milliseconds always, so that lines align. */
static size_t format_head(enum vv_log_level level, const char *event, char *out, size_t out_size)
{
    struct vv_clock *clock = vv_clock_system();
    int64_t now_ms = clock->wall_ns(clock) / VV_MILLISECOND;
    char time[VV_TIME_TEXT_SIZE];
    vv_time_format(now_ms / 1000 * VV_SECOND, time); /* "2026-01-02T03:04:05Z" */
    int length = snprintf(out, out_size, "%.19s.%03dZ %s %s ", time, (int)(now_ms % 1000),
                          level_name(level), event);
    return length < 0 ? 0 : (size_t)length;
}

/* A value that was not quoted must not start a new line or move the cursor of a terminal. */
static void blank_controls(char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7F) {
            text[i] = ' ';
        }
    }
}

static void write_line(const char *line, size_t size)
{
    size_t at = 0;
    while (at < size) {
        ssize_t written = write(STDERR_FILENO, line + at, size - at);
        if (written < 0 && errno != EINTR) {
            return; /* there is no other place to say so */
        }
        at += written > 0 ? (size_t)written : 0;
    }
}

void vv_log(enum vv_log_level level, const char *event, const char *format, ...)
{
    if ((int)level < atomic_load_explicit(&level_min, memory_order_relaxed)) {
        return;
    }
    int saved_errno = errno;
    char line[LINE_SIZE];
    const size_t room = sizeof line - sizeof CUT_MARK; /* the mark and the end of the line fit */
    size_t size = format_head(level, event, line, room);
    bool cut = size >= room;
    if (!cut) {
        va_list arguments;
        va_start(arguments, format);
        int length = vsnprintf(line + size, room - size, format, arguments);
        va_end(arguments);
        cut = length > 0 && (size_t)length >= room - size;
        size += length > 0 && !cut ? (size_t)length : 0;
    }
    if (cut) {
        size = room - 1;
        for (const char *mark = CUT_MARK; *mark; mark++) {
            line[size++] = *mark;
        }
    }
    blank_controls(line, size);
    while (size > 0 && line[size - 1] == ' ') {
        size--;
    }
    line[size++] = '\n';
    write_line(line, size);
    errno = saved_errno;
}

/* The size of the well-formed UTF-8 character at text, or 0. Controls of C1 count as malformed,
 * since a terminal would obey them. */
static size_t character_size(const unsigned char *text, size_t size)
{
    unsigned char first = text[0];
    size_t length = first < 0x80 ? 1 : first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    if (length == 0 || length > size || first > 0xF4) {
        return 0;
    }
    for (size_t i = 1; i < length; i++) {
        if ((text[i] & 0xC0) != 0x80) {
            return 0;
        }
    }
    bool malformed = (first == 0xC2 && text[1] < 0xA0) || (first == 0xE0 && text[1] < 0xA0) ||
                     (first == 0xED && text[1] > 0x9F) || (first == 0xF0 && text[1] < 0x90) ||
                     (first == 0xF4 && text[1] > 0x8F);
    return malformed ? 0 : length;
}

static bool is_plain(unsigned char c)
{
    return c > ' ' && c != '"' && c != '\\' && c != '=' && c != 0x7F;
}

static bool needs_quotes(const unsigned char *text, size_t size)
{
    size_t at = 0;
    while (at < size) {
        size_t step = character_size(text + at, size - at);
        if (step == 0 || !is_plain(text[at])) {
            return true;
        }
        at += step;
    }
    return size == 0;
}

/* Writes the character at text as it stands between quotes. Returns the length in out (at most 4)
 * and the bytes of text that it took. */
static size_t escape(const unsigned char *text, size_t size, char out[8], size_t *taken_out)
{
    size_t step = character_size(text, size);
    unsigned char c = text[0];
    *taken_out = step ? step : 1;
    if (c == '\n' || c == '\t' || c == '\r') {
        return (size_t)snprintf(out, 8, "\\%c", c == '\n' ? 'n' : c == '\t' ? 't' : 'r');
    }
    if (c == '"' || c == '\\') {
        return (size_t)snprintf(out, 8, "\\%c", c);
    }
    if (step == 0 || c < ' ' || c == 0x7F) {
        return (size_t)snprintf(out, 8, "\\x%02x", c);
    }
    for (size_t i = 0; i < step; i++) {
        out[i] = (char)text[i];
    }
    return step;
}

const char *vv_log_quote(const char *text, size_t text_size, char *out, size_t out_size)
{
    const unsigned char *bytes = (const unsigned char *)text;
    bool quotes = needs_quotes(bytes, text_size);
    size_t around = quotes ? 3 : 1; /* the quotes and the terminator */
    if (out_size < around) {
        return "";
    }
    size_t length = 0;
    size_t at = 0;
    if (quotes) {
        out[length++] = '"';
    }
    while (at < text_size) {
        char piece[8];
        size_t taken;
        size_t size = escape(bytes + at, text_size - at, piece, &taken);
        if (length + size + (quotes ? 2 : 1) > out_size) {
            break;
        }
        for (size_t i = 0; i < size; i++) {
            out[length++] = piece[i];
        }
        at += taken;
    }
    if (quotes) {
        out[length++] = '"';
    }
    out[length] = '\0';
    return out;
}
