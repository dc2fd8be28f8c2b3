/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the two halves of line protocol share: line_protocol.c finds where lines end in a stream,
 * line_grammar.c reads one line.
 *
 * Only a string may hold a newline, and only the grammar knows where a string begins. So a line is
 * read up to the first newline; when a string is open there, the stream is searched for its end,
 * and the grammar checks on from that field to the next newline, until nothing is open. Then the
 * whole line is read once more, to be staged. Every byte is looked at a bounded number of times.
 */
#ifndef VV_INGEST_LINE_PRIVATE_H
#define VV_INGEST_LINE_PRIVATE_H

#include "ingest/line_protocol.h"
#include "ingest/staging_private.h"

enum vv_line_outcome {
    VV_LINE_DONE,    /* staged, or refused for something that is not a matter of grammar */
    VV_LINE_REFUSED, /* malformed at `stop`, or beyond a limit there */
    VV_LINE_OPEN,    /* the end came inside a string */
};

/* One line; for the positions it begins where it begins in the stream. */
struct vv_line {
    const char *start;
    const char *end; /* the newline, or where the text ends; not the '\r' before it */
    uint64_t number;
    const char *stop;    /* REFUSED: where it goes wrong; OPEN: the opening quote */
    const char *field;   /* OPEN: the beginning of the field with the string */
    const char *problem; /* REFUSED: what is wrong there and what would be right */
    enum vv_reason reason;
};

struct vv_line_parser {
    struct vv_staging *staging;
    int64_t unit_ns;
    size_t line_bytes_max;
    uint64_t number; /* of the line at the front, from 1 */
    bool skipping;   /* the rest of a line that is too long */
    /* What was found out about the line at the front; offsets from its beginning. */
    bool opened;    /* a string in it holds a newline */
    bool in_string; /* and its end is not found yet */
    size_t scanned; /* the search goes on here */
    size_t quote;   /* of the string */
    size_t field;   /* with the string */
    /* The line at the front when it was cut. */
    char *carry;
    size_t carry_size;
    size_t carry_capacity;
    /* Names without their escapes, and tags, of the present line. */
    char *scratch;
    size_t scratch_used;
    size_t scratch_capacity;
    struct vv_tag tags[VV_TAGS_MAX];
};

/* Reads a line and stages it. A refusal is noted; with OPEN nothing is. */
enum vv_line_outcome vv_line_stage(struct vv_line_parser *parser, struct vv_line *line);
/* Reads on from a field without staging or noting anything. */
enum vv_line_outcome vv_line_check(struct vv_line_parser *parser, struct vv_line *line,
                                   const char *field);
/* Notes a refusal of the line: stop, problem and reason are set. */
void vv_line_refuse(struct vv_line_parser *parser, const struct vv_line *line);
/* The quote that ends the string opened at `quote`, searched for from `from`; NULL if it is not
 * before end. */
const char *vv_line_string_end(const char *quote, const char *from, const char *end);

#endif
