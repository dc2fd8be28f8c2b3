/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hostile CSV, both ways through the command line: as a file to load, where each line that comes
 * out must be one line of line protocol with the fields that were counted, and as an answer to
 * show, fed in pieces.
 */
#include "cli/commands.h"
#include "cli/csv_lines.h"
#include "cli/line_scan.h"
#include "cli/view.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* With some options, so that tags, whole numbers and names from the header are in the lines. */
static void begin_lines(struct vv_arguments *arguments, struct vv_csv_lines **lines_out)
{
    static char *argv[] = {"file",          "--tag", "k,=v ",         "--tag-columns", "2",
                           "--int-columns", "3",     "--time-format", "%Y-%m-%d %H:%M"};
    struct vv_usage usage;
    vv_invariant(vv_arguments_parse(vv_command_find("load"), 9, argv, arguments, &usage) == VV_OK);
    vv_invariant(vv_csv_lines_create(arguments, "m", lines_out, NULL) == VV_OK);
}

static void check_line(const struct vv_buffer *out, const struct vv_csv_line *line)
{
    struct vv_line_scan scan;
    struct vv_str text = {(const char *)out->data, out->size};
    if (line->fields == 0) {
        vv_invariant(out->size == 0);
        return;
    }
    vv_invariant(vv_line_scan(text, true, &scan));
    vv_invariant(scan.next == out->size && scan.fields == line->fields && scan.timed);
    vv_invariant(scan.series_size == line->series_size && scan.newlines == 1);
}

static void load(struct vv_str text)
{
    struct vv_arguments arguments;
    struct vv_csv_lines *lines;
    struct vv_csv_reader csv;
    struct vv_buffer out = {0};
    struct vv_error error = {0};
    begin_lines(&arguments, &lines);
    vv_invariant(vv_csv_reader_init(&csv, ',') == VV_OK);
    bool begun = false;
    while (text.size > 0 && vv_csv_reader_next(&csv, text, true) == VV_OK) {
        bool header = false;
        text = (struct vv_str){text.data + csv.next, text.size - csv.next};
        if (!begun && vv_csv_lines_begin(lines, &csv, &header, &error) != VV_OK) {
            vv_invariant(error.message[0] != '\0');
            break;
        }
        begun = true;
        struct vv_csv_line line;
        vv_buffer_clear(&out);
        if (!header && vv_csv_lines_append(lines, &csv, &out, &line) == VV_OK) {
            check_line(&out, &line);
        }
    }
    vv_buffer_deinit(&out);
    vv_csv_reader_deinit(&csv);
    vv_csv_lines_destroy(lines);
    vv_arguments_deinit(&arguments);
}

static void show(struct vv_str text, size_t piece)
{
    char *printed = NULL;
    size_t printed_size = 0;
    struct vv_view *view = NULL;
    const struct vv_view_options options = {
        .file = open_memstream(&printed, &printed_size), .columns = 40, .units = text};
    vv_invariant(options.file != NULL && vv_view_create(&options, &view) == VV_OK);
    enum vv_status status = VV_OK;
    for (size_t at = 0; status == VV_OK && at < text.size; at += piece) {
        size_t size = piece < text.size - at ? piece : text.size - at;
        status = vv_view_feed(view, text.data + at, size, NULL);
    }
    if (status == VV_OK) {
        status = vv_view_end(view, NULL);
    }
    vv_view_destroy(view);
    fclose(options.file);
    for (size_t i = 0; i < printed_size; i++) {
        unsigned char byte = (unsigned char)printed[i];
        vv_invariant(byte >= 0x20 || byte == '\n');
    }
    free(printed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct vv_str text = {(const char *)data, size};
    setenv("LC_ALL", "C.UTF-8", 1);
    load(text);
    show(text, size > 0 ? 1 + data[0] % 64u : 1);
    return 0;
}
