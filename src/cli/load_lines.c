/* SPDX-License-Identifier: Apache-2.0 */
/* Files of line protocol: lines go to the server as they are; it judges them. */
#include "cli/interrupt.h"
#include "cli/line_scan.h"
#include "cli/load_private.h"

static enum vv_status send_line(struct vv_load *load, struct vv_str text,
                                const struct vv_line_scan *scan, uint64_t number)
{
    bool timeless = scan->fields > 0 && !scan->timed;
    if (timeless && load->stamp[0] == '\0') {
        const struct vv_load_refusal refusal = {
            .reason = "no_time",
            .detail = load->sender
                          ? "a line without a timestamp; with --now it gets the present time"
                          : "a line without a timestamp",
            .points = scan->fields,
            .line = number,
            .text = {text.data, scan->size},
        };
        vv_load_refuse(load, &refusal);
        return VV_OK;
    }
    const struct vv_sender_line line = {
        .text = {text.data, scan->size},
        .series_size = scan->series_size,
        .points = scan->fields,
        .newlines = scan->newlines,
        .number = number,
        .stamp = vv_str_of(timeless ? load->stamp : ""),
    };
    return load->sink.add(load->sink.context, &line);
}

static enum vv_status take_line(struct vv_load *load, struct vv_text_reader *reader,
                                struct vv_str window, const struct vv_line_scan *scan,
                                struct vv_error *error)
{
    uint64_t number = reader->line;
    if (!scan->blank) {
        vv_load_count_line(load, number);
    }
    if (scan->next >= VV_RECORD_BYTES_MAX) {
        const struct vv_load_refusal refusal = {
            .reason = "limit", .detail = "a line longer than 4 MiB", .points = 1, .line = number};
        vv_load_refuse(load, &refusal);
        return vv_text_reader_skip_line(reader, error);
    }
    enum vv_status status = scan->blank ? VV_OK : send_line(load, window, scan, number);
    vv_text_reader_skip(reader, scan->next, scan->newlines);
    return status;
}

enum vv_status vv_load_lines(struct vv_load *load, struct vv_text_reader *reader,
                             struct vv_error *error)
{
    const char *precision = vv_arguments_text(load->arguments, "precision", "ns");
    enum vv_status status = load->sink.begin_file(load->sink.context, load->file, precision);
    while (status == VV_OK) {
        bool at_end;
        struct vv_line_scan scan;
        struct vv_str window = vv_text_reader_window(reader, &at_end);
        if (window.size > 0 && vv_line_scan(window, at_end, &scan)) {
            status = take_line(load, reader, window, &scan, error);
        } else {
            vv_load_tick(load);
            status = vv_interrupted() ? VV_CANCELLED : vv_text_reader_fill(reader, error);
        }
    }
    return status == VV_DONE ? VV_OK : status;
}
