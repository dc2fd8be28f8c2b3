/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Line protocol has three parts between spaces: series, fields, time. A backslash takes the meaning
 * from a comma, an equals sign or a space behind it; a quote begins a string only where a field's
 * value begins, and newlines in a string belong to it.
 */
#include "cli/line_scan.h"

enum part { PART_SERIES, PART_FIELDS, PART_TIME };

struct scanner {
    struct vv_str bytes;
    size_t at;
    enum part part;
    bool open; /* a string does not end */
    struct vv_line_scan *scan;
};

/* The byte behind a string that begins at `at`. */
static size_t skip_string(struct scanner *scanner, size_t at)
{
    const char *data = scanner->bytes.data;
    size_t size = scanner->bytes.size;
    for (at++; at < size && data[at] != '"'; at++) {
        scanner->scan->newlines += data[at] == '\n';
        if (data[at] == '\\' && at + 1 < size) {
            at++;
            scanner->scan->newlines += data[at] == '\n';
        }
    }
    scanner->open = at >= size;
    return scanner->open ? size : at + 1;
}

static bool is_escape(struct vv_str bytes, size_t at)
{
    char next = at + 1 < bytes.size ? bytes.data[at + 1] : '\0';
    return next == ',' || next == '=' || next == ' ';
}

static void take_space(struct scanner *scanner)
{
    if (scanner->part == PART_SERIES) {
        scanner->scan->series_size = scanner->at;
        scanner->part = PART_FIELDS;
    } else if (scanner->part == PART_FIELDS && scanner->scan->fields > 0) {
        scanner->part = PART_TIME;
    }
    scanner->at++;
}

/* Moves behind the byte at `at`, which is not a newline. */
static void take_byte(struct scanner *scanner)
{
    const char *data = scanner->bytes.data;
    switch (data[scanner->at]) {
    case '\\':
        scanner->at += is_escape(scanner->bytes, scanner->at) ? 2 : 1;
        return;
    case ' ':
        take_space(scanner);
        return;
    case '=':
        if (scanner->part == PART_FIELDS) {
            scanner->scan->fields++;
            if (scanner->at + 1 < scanner->bytes.size && data[scanner->at + 1] == '"') {
                scanner->at = skip_string(scanner, scanner->at + 1);
                return;
            }
        }
        break;
    default:
        if (scanner->part == PART_TIME && data[scanner->at] != '\r') {
            scanner->scan->timed = true;
        }
        break;
    }
    scanner->at++;
}

/* The line ends at `newline`, which is the end of bytes when there is none. */
static void end_line(struct vv_line_scan *scan, struct vv_str bytes, size_t newline)
{
    bool found = newline < bytes.size;
    scan->size = newline;
    scan->next = newline + found;
    scan->newlines++;
    if (scan->size > 0 && bytes.data[scan->size - 1] == '\r') {
        scan->size--;
    }
    if (scan->series_size == 0 || scan->series_size > scan->size) {
        scan->series_size = scan->size;
    }
}

static size_t find_newline(struct vv_str bytes)
{
    const char *newline = memchr(bytes.data, '\n', bytes.size);
    return newline ? (size_t)(newline - bytes.data) : bytes.size;
}

bool vv_line_scan(struct vv_str bytes, bool at_end, struct vv_line_scan *scan_out)
{
    struct scanner scanner = {.bytes = bytes, .scan = scan_out};
    *scan_out = (struct vv_line_scan){0};
    while (scanner.at < bytes.size &&
           (bytes.data[scanner.at] == ' ' || bytes.data[scanner.at] == '\t')) {
        scanner.at++;
    }
    char first = scanner.at < bytes.size ? bytes.data[scanner.at] : '\n';
    if (first == '#' || first == '\n' || first == '\r') {
        scan_out->blank = true;
        scanner.at = find_newline(bytes);
    }
    while (scanner.at < bytes.size && bytes.data[scanner.at] != '\n') {
        take_byte(&scanner);
    }
    if (scanner.at >= bytes.size && !at_end) {
        return false;
    }
    if (scanner.open) {
        scanner.at = find_newline(bytes);
        scan_out->newlines = 0;
    }
    end_line(scan_out, bytes, scanner.at);
    return true;
}
