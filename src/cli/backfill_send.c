/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loading: the runs' lines go to the server in the order of time. Now and then everything is waited
 * for and the state is written: what was sent after that is sent again by the next start, and is
 * the same points.
 */
#include "cli/backfill_private.h"

#include "base/clock.h"
#include "cli/interrupt.h"
#include "cli/pace.h"

#include <time.h>

#define SAVE_BYTES (UINT64_C(16) << 20)
#define SAVE_NS    VV_SECOND

struct sending {
    struct vv_backfill *backfill;
    struct vv_history_merge *merge;
    uint64_t bytes; /* of text, since the state was written */
    int64_t saved_ns;
    struct vv_pace pace;
};

static void draw(void *context)
{
    struct vv_backfill *backfill = context;
    struct vv_load *load = &backfill->load;
    const struct vv_history_runs *runs = &backfill->state.runs;
    int64_t now = vv_load_now_ns();
    if (!vv_progress_is_due(&load->progress, now)) {
        return;
    }
    char trouble[128];
    struct vv_progress_state state = {.file = "loading", .trouble = trouble};
    vv_sender_trouble(load->sender, trouble);
    for (size_t i = 0; i < runs->n; i++) {
        state.bytes += runs->items[i].at;
    }
    pthread_mutex_lock(&load->report.lock);
    state.points = load->report.accepted;
    pthread_mutex_unlock(&load->report.lock);
    vv_progress_draw(&load->progress, &state, now);
}

static enum vv_status open_sender(struct vv_backfill *backfill, struct vv_error *error)
{
    struct vv_load *load = &backfill->load;
    const struct vv_sender_options options = {
        .client = &load->client,
        .ack = vv_arguments_text(load->arguments, "ack", NULL),
        .lanes = (size_t)backfill->connections,
        .lines_max = (size_t)backfill->batch_lines,
        .bytes_max = (size_t)backfill->batch_bytes,
        .retry_ns = backfill->retry_ns,
        .report = &load->report,
        .tick = draw,
        .tick_context = backfill,
    };
    return vv_sender_create(&options, &load->sender, error);
}

/* Everything that was read is answered, and noted. */
static enum vv_status settle(struct sending *sending, struct vv_error *error)
{
    enum vv_status status = vv_sender_drain(sending->backfill->load.sender);
    if (status == VV_OK) {
        status = vv_backfill_save(sending->backfill, error);
    }
    sending->bytes = 0;
    sending->saved_ns = vv_load_now_ns();
    return status;
}

/* Waits while more was sent than the rate allows. */
static void hold_back(struct sending *sending)
{
    while (!vv_pace_may_go(&sending->pace, vv_load_now_ns()) && !vv_interrupted()) {
        nanosleep(&(struct timespec){.tv_nsec = 10 * VV_MILLISECOND}, NULL);
        draw(sending->backfill);
    }
}

static enum vv_status send_line(struct sending *sending, const struct vv_history_line *line)
{
    const struct vv_sender_line out = {
        .text = line->text,
        .series_size = line->series_size,
        .points = line->points,
        .newlines = line->newlines,
        .number = line->place,
    };
    sending->bytes += line->text.size;
    vv_pace_take(&sending->pace, line->points);
    hold_back(sending);
    return vv_sender_add(sending->backfill->load.sender, &out);
}

static enum vv_status send_lines(struct sending *sending, struct vv_error *error)
{
    for (;;) {
        struct vv_history_line line;
        bool is_due = sending->bytes >= SAVE_BYTES ||
                      (sending->bytes > 0 && vv_load_now_ns() - sending->saved_ns >= SAVE_NS);
        enum vv_status status = is_due ? settle(sending, error) : VV_OK;
        if (status == VV_OK) {
            status =
                vv_interrupted() ? VV_CANCELLED : vv_history_next(sending->merge, &line, error);
        }
        if (status == VV_OK) {
            draw(sending->backfill);
            status = send_line(sending, &line);
        }
        if (status != VV_OK) {
            return status == VV_DONE ? settle(sending, error) : status;
        }
    }
}

static uint64_t bytes_of(const struct vv_history_runs *runs)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < runs->n; i++) {
        bytes += runs->items[i].bytes;
    }
    return bytes;
}

/* The sender's own failure says more than what it returned for it. */
static enum vv_status end_sender(struct vv_backfill *backfill, enum vv_status status,
                                 struct vv_error *error)
{
    struct vv_error sent = {0};
    enum vv_status finished = vv_sender_finish(backfill->load.sender, &sent);
    if (finished != VV_OK && error->message[0] == '\0') {
        *error = sent;
        status = finished;
    }
    return status;
}

enum vv_status vv_backfill_send(struct vv_backfill *backfill, struct vv_error *error)
{
    struct vv_load *load = &backfill->load;
    int64_t now = vv_load_now_ns();
    struct sending sending = {.backfill = backfill,
                              .saved_ns = now,
                              .pace = {.rate = (double)backfill->rate, .at_ns = now}};
    load->report.files = load->arguments->words;
    load->report.wants_times = true;
    vv_progress_init(&load->progress, load->progress.on, bytes_of(&backfill->state.runs), now);
    enum vv_status status = open_sender(backfill, error);
    if (status == VV_OK) {
        status = vv_sender_begin_file(load->sender, "", "ns");
    }
    if (status == VV_OK) {
        status =
            vv_history_merge_create(backfill->folder, &backfill->state.runs, &sending.merge, error);
    }
    if (status == VV_OK) {
        status = send_lines(&sending, error);
    }
    if (load->sender) {
        status = end_sender(backfill, status, error);
    }
    if (status == VV_OK) {
        backfill->state.phase = VV_BACKFILL_SEALING;
        status = vv_backfill_save(backfill, error);
    }
    vv_progress_clear(&load->progress);
    vv_history_merge_destroy(sending.merge);
    vv_sender_destroy(load->sender);
    load->sender = NULL;
    return status;
}
