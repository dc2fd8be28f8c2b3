/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a line of line protocol ends, and the little that a client must know of it; the server
 * parses and judges it. Pure, any thread.
 */
#ifndef VV_CLI_LINE_SCAN_H
#define VV_CLI_LINE_SCAN_H

#include "base/bytes.h"

struct vv_line_scan {
    size_t size;        /* up to the newline, without it and without a carriage return before it */
    size_t next;        /* where the next line begins */
    size_t series_size; /* measurement and tags */
    uint32_t fields;    /* 0 for a blank line, a comment and a line without fields */
    uint32_t newlines;  /* lines of the file that it takes: more than 1 with newlines in strings */
    bool blank;         /* nothing in it, or a comment */
    bool timed;         /* has a timestamp */
};

/* Looks at the first line of bytes, which are not empty. False: it does not end in them (with
 * `at_end` it always does). When a string does not end in them and `at_end` says that nothing, or
 * nothing that belongs to the line, follows, the line ends at the first newline: a quote that is
 * missing is likelier than a string to the end. */
bool vv_line_scan(struct vv_str bytes, bool at_end, struct vv_line_scan *scan_out);

#endif
