/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines in a stream: where they end, across pieces of any size. Whole lines are read where they
 * are; only a line that a piece cuts is copied, into a carry of at most line_bytes_max + 1 bytes.
 *
 * What happens to a line depends on its bytes alone, not on the pieces that they came in:
 *   - a line without an end in its first line_bytes_max + 1 bytes is refused. When a string in it
 *     has crossed newlines, reading goes on after the first of them, since a quote that is missing
 *     is likelier than such a string; otherwise it goes on after the next newline.
 *   - a string that is open at the end of the stream: the same.
 */
#include "ingest/line_protocol.h"

#include "base/clock.h"
#include "ingest/line_private.h"

#include <stdio.h>
#include <stdlib.h>

#define LINE_BYTES_DEFAULT ((size_t)64 * 1024)
#define CARRY_MIN          ((size_t)1024)

enum vv_status vv_precision_parse(struct vv_str word, int64_t *unit_ns_out, struct vv_error *error)
{
    static const struct {
        const char *word;
        int64_t unit_ns;
    } units[] = {
        {"ns", 1},
        {"n", 1},
        {"us", VV_MICROSECOND},
        {"u", VV_MICROSECOND},
        {"\xc2\xb5", VV_MICROSECOND}, /* micro sign */
        {"\xc2\xb5s", VV_MICROSECOND},
        {"\xce\xbc", VV_MICROSECOND}, /* the Greek letter, which looks the same */
        {"\xce\xbcs", VV_MICROSECOND},
        {"ms", VV_MILLISECOND},
        {"s", VV_SECOND},
        {"m", VV_MINUTE},
        {"h", VV_HOUR},
    };
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (vv_str_equal(word, vv_str_of(units[i].word))) {
            *unit_ns_out = units[i].unit_ns;
            return VV_OK;
        }
    }
    int shown = word.size < 32 ? (int)word.size : 32;
    return vv_error_set(error, VV_INVALID,
                        "precision '%.*s' is not one of ns, us (or u), ms, s, m, h", shown,
                        word.data);
}

enum vv_status vv_line_parser_create(struct vv_staging *staging, int64_t unit_ns,
                                     struct vv_line_parser **parser_out)
{
    vv_invariant(unit_ns > 0);
    struct vv_line_parser *parser = malloc(sizeof *parser);
    if (!parser) {
        return VV_NO_MEMORY;
    }
    memset(parser, 0, offsetof(struct vv_line_parser, tags)); /* tags are written before use */
    parser->staging = staging;
    parser->unit_ns = unit_ns;
    parser->line_bytes_max = staging->options.line_bytes_max;
    if (parser->line_bytes_max == 0) {
        parser->line_bytes_max = LINE_BYTES_DEFAULT;
    }
    parser->number = 1;
    *parser_out = parser;
    return VV_OK;
}

void vv_line_parser_destroy(struct vv_line_parser *parser)
{
    if (parser) {
        free(parser->carry);
        free(parser->scratch);
        free(parser);
    }
}

/* The line at the front is done with: `size` bytes of it, up to a newline or the end. */
static size_t advance(struct vv_line_parser *parser, const char *text, size_t size)
{
    if (parser->opened) {
        for (size_t i = 0; i < size; i++) {
            parser->number += text[i] == '\n';
        }
    } else {
        parser->number++;
    }
    parser->opened = false;
    parser->in_string = false;
    parser->scanned = 0;
    return size;
}

/* The bytes up to the next newline, with it; all when there is none. */
static size_t line_size(const char *text, size_t size)
{
    const char *newline = memchr(text, '\n', size);
    return newline ? (size_t)(newline - text) + 1 : size;
}

static struct vv_line line_of(const struct vv_line_parser *parser, const char *text, size_t size)
{
    bool has_return = size > 0 && text[size - 1] == '\r';
    return (struct vv_line){
        .start = text,
        .end = text + size - has_return,
        .number = parser->number,
        .stop = text,
        .problem = "",
        .reason = VV_REASON_SYNTAX,
    };
}

/* Refuses the line at the front, and with it what is before its first newline. */
static size_t give_up(struct vv_line_parser *parser, const struct vv_line *line, size_t size)
{
    size_t first = line_size(line->start, size);
    vv_line_refuse(parser, line);
    return advance(parser, line->start, first);
}

/* Notes that the string which the line was found to end in goes on. */
static void open_string(struct vv_line_parser *parser, const struct vv_line *line)
{
    parser->opened = true;
    parser->in_string = true;
    parser->quote = (size_t)(line->stop - line->start);
    parser->field = (size_t)(line->field - line->start);
    parser->scanned = parser->quote + 1;
}

/* Stages a line of `size` bytes that ends there, at a newline or (`final`) with the stream.
 * Returns the bytes used, or 0 when it turns out to end inside a string. */
static size_t stage_line(struct vv_line_parser *parser, const char *text, size_t size, bool final)
{
    struct vv_line line = line_of(parser, text, size);
    size_t whole = size + !final;
    enum vv_line_outcome outcome = VV_LINE_DONE;
    if (parser->opened) {
        outcome = vv_line_check(parser, &line, text + parser->field);
    }
    if (outcome != VV_LINE_OPEN) {
        outcome = vv_line_stage(parser, &line);
    }
    if (outcome == VV_LINE_DONE) {
        return advance(parser, text, whole);
    }
    if (outcome == VV_LINE_REFUSED) {
        size_t before = (size_t)(line.stop - text);
        return advance(parser, text, before + line_size(line.stop, whole - before));
    }
    if (final) {
        return give_up(parser, &line, whole);
    }
    open_string(parser, &line);
    return 0;
}

/* Looks for the end of the line at the front and stages it. Returns the bytes used; 0 when there
 * is no end in these. */
static size_t find_and_stage(struct vv_line_parser *parser, const char *text, size_t size)
{
    for (;;) {
        if (parser->in_string) {
            const char *closing =
                vv_line_string_end(text + parser->quote, text + parser->scanned, text + size);
            parser->scanned = closing ? (size_t)(closing - text) + 1 : size;
            parser->in_string = !closing;
        }
        const char *newline = NULL;
        if (!parser->in_string) {
            newline = memchr(text + parser->scanned, '\n', size - parser->scanned);
        }
        if (!newline) {
            parser->scanned = size;
            return 0;
        }
        size_t used = stage_line(parser, text, (size_t)(newline - text), false);
        if (used > 0) {
            return used;
        }
    }
}

/* Drops bytes up to the next newline. */
static size_t skip(struct vv_line_parser *parser, const char *text, size_t size)
{
    size_t used = line_size(text, size);
    if (text[used - 1] == '\n') {
        parser->skipping = false;
        parser->number++;
    }
    return used;
}

static bool is_comment(const char *text, size_t size)
{
    size_t at = 0;
    while (at < size && (text[at] == ' ' || text[at] == '\t')) {
        at++;
    }
    return at < size && text[at] == '#';
}

/* The line at the front has no end within the limit. */
static size_t over_limit(struct vv_line_parser *parser, const char *text, size_t size)
{
    char problem[120];
    struct vv_line line = line_of(parser, text, parser->line_bytes_max);
    line.problem = problem;
    line.reason = VV_REASON_LIMIT;
    if (parser->opened) {
        snprintf(problem, sizeof problem,
                 "a string that is not closed within the %zu bytes of a line",
                 parser->line_bytes_max);
        line.stop = text + parser->quote;
        return give_up(parser, &line, parser->line_bytes_max);
    }
    if (!is_comment(text, parser->line_bytes_max)) {
        snprintf(problem, sizeof problem, "a line longer than %zu bytes: split it into several",
                 parser->line_bytes_max);
        vv_line_refuse(parser, &line);
    }
    parser->skipping = true;
    parser->scanned = 0;
    return skip(parser, text, size);
}

/* Deals with the line at the front of [text, text + size), size > 0, of which nothing follows when
 * `final`. Returns the bytes used; 0 when more are needed. */
static size_t consume_line(struct vv_line_parser *parser, const char *text, size_t size, bool final)
{
    if (parser->skipping) {
        return skip(parser, text, size);
    }
    bool is_over = size > parser->line_bytes_max;
    size_t used = find_and_stage(parser, text, is_over ? parser->line_bytes_max + 1 : size);
    if (used > 0) {
        return used;
    }
    if (is_over) {
        return over_limit(parser, text, size);
    }
    return final ? stage_line(parser, text, size, true) : 0;
}

/* Deals with the lines in text, and returns the bytes used. */
static size_t consume(struct vv_line_parser *parser, const char *text, size_t size, bool final)
{
    size_t at = 0;
    while (at < size && !parser->staging->out_of_memory) {
        size_t used = consume_line(parser, text + at, size - at, final);
        if (used == 0) {
            break;
        }
        at += used;
    }
    return at;
}

/* Adds bytes to the carry, at most as many as a line may have and one. */
static void carry(struct vv_line_parser *parser, const char *bytes, size_t size)
{
    size_t wanted = parser->carry_size + size;
    if (wanted > parser->carry_capacity) {
        size_t capacity = parser->carry_capacity ? parser->carry_capacity : CARRY_MIN;
        while (capacity < wanted) {
            capacity *= 2;
        }
        char *larger = realloc(parser->carry, capacity);
        if (!larger) {
            parser->staging->out_of_memory = true;
            return;
        }
        parser->carry = larger;
        parser->carry_capacity = capacity;
    }
    memcpy(parser->carry + parser->carry_size, bytes, size);
    parser->carry_size = wanted;
}

static void consume_carry(struct vv_line_parser *parser, bool final)
{
    size_t used = consume(parser, parser->carry, parser->carry_size, final);
    parser->carry_size -= used;
    memmove(parser->carry, parser->carry + used, parser->carry_size);
}

/* Completes the line in the carry from the bytes that follow it; returns how many it took. */
static size_t feed_carry(struct vv_line_parser *parser, const char *bytes, size_t size)
{
    size_t taken = line_size(bytes, size);
    size_t room = parser->line_bytes_max + 1 - parser->carry_size;
    taken = taken < room ? taken : room;
    carry(parser, bytes, taken);
    if (!parser->staging->out_of_memory) {
        consume_carry(parser, false);
    }
    return taken;
}

static enum vv_status status_of(const struct vv_line_parser *parser)
{
    return parser->staging->out_of_memory ? VV_NO_MEMORY : VV_OK;
}

enum vv_status vv_line_parser_feed(struct vv_line_parser *parser, const char *bytes, size_t size)
{
    while (size > 0 && !parser->staging->out_of_memory) {
        size_t used;
        if (parser->carry_size > 0) {
            used = feed_carry(parser, bytes, size);
        } else {
            used = consume(parser, bytes, size, false);
            if (used < size && !parser->staging->out_of_memory) {
                carry(parser, bytes + used, size - used);
                used = size;
            }
        }
        bytes += used;
        size -= used;
    }
    return status_of(parser);
}

enum vv_status vv_line_parser_finish(struct vv_line_parser *parser)
{
    if (parser->carry_size > 0 && !parser->staging->out_of_memory) {
        consume_carry(parser, true);
    }
    return status_of(parser);
}
