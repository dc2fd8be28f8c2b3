/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the command line knows about where it prints: terminals, colours, widths. Text that came
 * from elsewhere is shown without control characters, so that it cannot steer the terminal.
 * Main thread only.
 */
#ifndef VV_CLI_TERMINAL_H
#define VV_CLI_TERMINAL_H

#include "base/bytes.h"

#include <stdio.h>

bool vv_terminal_is(FILE *file);
/* A terminal that shows colours, and NO_COLOR is not set. */
bool vv_terminal_colours(FILE *file);
/* Characters in a line; 80 if it cannot be known. */
size_t vv_terminal_columns(FILE *file);
/* Whether the environment's locale is UTF-8. */
bool vv_terminal_utf8(void);

/* Columns that UTF-8 text takes: one for each character, two for wide ones (East Asian, emoji),
 * none for combining ones; one for each byte that is not UTF-8. */
size_t vv_terminal_width(struct vv_str text);
/* Prints text with a replacement sign for control characters and for bytes that are not UTF-8. */
void vv_terminal_print(FILE *file, struct vv_str text);
/* The length of the UTF-8 character at the beginning, and its code point; 1 and UINT32_MAX for a
 * byte that is none. text is not empty. */
size_t vv_terminal_decode(struct vv_str text, uint32_t *point_out);

#define VV_COLOUR_BOLD   "1"
#define VV_COLOUR_DIM    "2"
#define VV_COLOUR_RED    "31;1"
#define VV_COLOUR_YELLOW "33"
#define VV_COLOUR_CYAN   "36"
/* The escape sequence that begins a colour (NULL: that ends it), or "" where there are none; `out`
 * holds 16 bytes. Returns out. */
const char *vv_terminal_colour(FILE *file, const char *colour, char *out);

/* Messages to standard error: `varve: error: …`, `hint: …`, `note: …`, one line each. */
void vv_say_error(const char *format, ...) VV_PRINTF(1, 2);
void vv_say_hint(const char *format, ...) VV_PRINTF(1, 2);
void vv_say_note(const char *format, ...) VV_PRINTF(1, 2);

#endif
