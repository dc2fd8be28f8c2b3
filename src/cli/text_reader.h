/* SPDX-License-Identifier: Apache-2.0 */
/* A window over the text of an input that moves forward by records: lines, or rows of CSV. One
 * thread at a time. */
#ifndef VV_CLI_TEXT_READER_H
#define VV_CLI_TEXT_READER_H

#include "cli/input.h"

/* The longest record; the longest line that a server can be set to accept. */
#define VV_RECORD_BYTES_MAX (4u << 20)

struct vv_text_reader {
    struct vv_input *input;
    uint64_t line; /* number of the line at the front, from 1 */
    /* private */
    char *bytes;
    size_t at;
    size_t filled;
    size_t capacity;
    bool ended;
};

VV_MUST_CHECK enum vv_status vv_text_reader_init(struct vv_text_reader *reader,
                                                 struct vv_input *input);
void vv_text_reader_deinit(struct vv_text_reader *reader);

/* What is there from the front on; *at_end_out: no more can be had, the input ends here or the
 * record is too long. */
struct vv_str vv_text_reader_window(const struct vv_text_reader *reader, bool *at_end_out);
/* Reads more behind it. VV_DONE: the window is empty and the input has ended. */
VV_MUST_CHECK enum vv_status vv_text_reader_fill(struct vv_text_reader *reader,
                                                 struct vv_error *error);
/* Moves the front forward. */
void vv_text_reader_skip(struct vv_text_reader *reader, size_t size, uint32_t newlines);
/* Moves the front behind the next newline, however far it is. */
VV_MUST_CHECK enum vv_status vv_text_reader_skip_line(struct vv_text_reader *reader,
                                                      struct vv_error *error);

#endif
