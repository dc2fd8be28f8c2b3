/* SPDX-License-Identifier: Apache-2.0 */
/* The line of progress: share, bar, rate, what is left, file. */
#include "cli/progress.h"

#include "base/clock.h"
#include "cli/load_report.h"
#include "cli/terminal.h"

#include <inttypes.h>

#define DRAW_EVERY_NS (150 * VV_MILLISECOND)
#define BAR_CELLS     20
#define ESTIMATE_NS   VV_SECOND /* before that, what is left is not guessed */
#define ERASE_LINE    "\r\x1b[K"

void vv_progress_init(struct vv_progress *progress, bool on, uint64_t bytes_total, int64_t now_ns)
{
    *progress = (struct vv_progress){
        .on = on,
        .bytes_total = bytes_total,
        .begun_ns = now_ns,
        .drawn_ns = now_ns,
    };
}

bool vv_progress_is_due(const struct vv_progress *progress, int64_t now_ns)
{
    return progress->on && now_ns - progress->drawn_ns >= DRAW_EVERY_NS;
}

/* Full cells and one of eight parts, or '#' without UTF-8. */
static void append_bar(struct vv_buffer *out, double share, bool utf8)
{
    static const char *const parts[] = {" ", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    size_t eighths = (size_t)(share * BAR_CELLS * 8);
    for (size_t i = 0; i < BAR_CELLS; i++) {
        size_t filled = eighths > i * 8 ? eighths - i * 8 : 0;
        if (!utf8) {
            vv_buffer_text(out, filled >= 8 ? "#" : ".");
        } else {
            vv_buffer_text(out, filled >= 8 ? "█" : parts[filled]);
        }
    }
}

/* "12 s", "3 min 20 s", "2 h 5 min". */
static void append_left(struct vv_buffer *out, double seconds)
{
    uint64_t left = seconds < 1e9 ? (uint64_t)(seconds + 0.5) : 1000000000;
    if (left < 60) {
        vv_buffer_format(out, "  %" PRIu64 " s left", left);
    } else if (left < 3600) {
        vv_buffer_format(out, "  %" PRIu64 " min %" PRIu64 " s left", left / 60, left % 60);
    } else {
        vv_buffer_format(out, "  %" PRIu64 " h %" PRIu64 " min left", left / 3600,
                         left % 3600 / 60);
    }
}

static const char *unit_of(const struct vv_progress *progress)
{
    return progress->unit ? progress->unit : "points";
}

static void append_share(const struct vv_progress *progress, const struct vv_progress_state *state,
                         bool utf8, struct vv_buffer *out)
{
    if (progress->bytes_total == 0) {
        char points[VV_COUNT_TEXT_SIZE];
        vv_buffer_format(out, "%s %s", vv_count_text(state->points, points), unit_of(progress));
        return;
    }
    double share = (double)state->bytes / (double)progress->bytes_total;
    share = share < 1 ? share : 1;
    vv_buffer_format(out, "%3d %% ", (int)(share * 100));
    append_bar(out, share, utf8);
}

/* As many characters as fit into the columns. */
static void cut(struct vv_buffer *out, size_t columns)
{
    struct vv_str rest = {(const char *)out->data, out->size};
    size_t used = 0;
    size_t at = 0;
    while (rest.size > 0) {
        uint32_t point;
        size_t length = vv_terminal_decode(rest, &point);
        used += vv_terminal_width((struct vv_str){rest.data, length});
        if (used > columns) {
            break;
        }
        at += length;
        rest = (struct vv_str){rest.data + length, rest.size - length};
    }
    out->size = at;
}

void vv_progress_format(const struct vv_progress *progress, const struct vv_progress_state *state,
                        int64_t now_ns, size_t columns, bool utf8, struct vv_buffer *out)
{
    char rate[VV_COUNT_TEXT_SIZE];
    int64_t elapsed_ns = now_ns - progress->begun_ns;
    append_share(progress, state, utf8, out);
    if (state->trouble && *state->trouble) {
        vv_buffer_format(out, "  waiting: %s", state->trouble);
    } else {
        vv_buffer_format(out, "  %s %s/s", vv_rate_text(progress->rate, rate), unit_of(progress));
        if (progress->bytes_total > state->bytes && state->bytes > 0 && elapsed_ns > ESTIMATE_NS) {
            double left = (double)(progress->bytes_total - state->bytes);
            append_left(out, left * (double)elapsed_ns / 1e9 / (double)state->bytes);
        }
        vv_buffer_format(out, "  %s", state->file);
    }
    cut(out, columns);
}

void vv_progress_draw(struct vv_progress *progress, const struct vv_progress_state *state,
                      int64_t now_ns)
{
    if (!progress->on) {
        return;
    }
    double seconds = (double)(now_ns - progress->drawn_ns) / 1e9;
    if (seconds > 0) {
        double rate = (double)(state->points - progress->points_before) / seconds;
        double weight = progress->drawn ? 0.2 : 1;
        progress->rate += weight * (rate - progress->rate);
    }
    progress->points_before = state->points;
    progress->drawn_ns = now_ns;
    struct vv_buffer line = {0};
    size_t columns = vv_terminal_columns(stderr);
    vv_progress_format(progress, state, now_ns, columns - 1, vv_terminal_utf8(), &line);
    if (vv_buffer_status(&line) == VV_OK) {
        fputs(ERASE_LINE, stderr);
        vv_terminal_print(stderr, (struct vv_str){(const char *)line.data, line.size});
        fflush(stderr);
        progress->drawn = true;
    }
    vv_buffer_deinit(&line);
}

void vv_progress_clear(struct vv_progress *progress)
{
    if (progress->drawn) {
        fputs(ERASE_LINE, stderr);
        fflush(stderr);
        progress->drawn = false;
    }
}
