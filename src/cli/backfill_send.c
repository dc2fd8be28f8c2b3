/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loading: the runs' lines go to the server in the order of time. Now and then everything is waited
 * for and the state is written: what was sent after that is sent again by the next start, and is
 * the same points.
 *
 * Days that are frozen come first (backfill_frozen.c): a request has whole groups of one day, and
 * what was sent is only waited for between two of them, so that a group is never sent by halves.
 */
#include "cli/backfill_private.h"

#include "base/clock.h"
#include "cli/interrupt.h"
#include "cli/pace.h"

#include <time.h>

#define SAVE_BYTES (UINT64_C(16) << 20)
#define SAVE_NS    VV_SECOND
/* Of a request that replaces: the server takes 64 MiB. */
#define REPLACE_BYTES_MAX (UINT64_C(4) << 20)
#define GROUP_BYTES_MAX   (UINT64_C(56) << 20)
#define GROUPS_MAX        500u /* … and 1,000 series */

struct sending {
    struct vv_backfill *backfill;
    struct vv_history_merge *merge;
    uint64_t bytes; /* of text, since the state was written */
    int64_t saved_ns;
    struct vv_pace pace;
    /* While frozen days are sent: */
    bool in_group;
    int64_t slice; /* of the last line … */
    uint64_t group;
    uint64_t group_bytes;   /* … of this group so far … */
    uint64_t request_bytes; /* … and of this request … */
    uint64_t groups;        /* … which has so many before this one */
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

static enum vv_status open_sender(struct vv_backfill *backfill, bool replaces,
                                  struct vv_error *error)
{
    struct vv_load *load = &backfill->load;
    struct vv_sender_options options = {
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
    if (replaces) { /* requests are cut here, and go one after the other */
        options.path = "/api/v1/replace";
        options.ack = NULL;
        options.lanes = 1;
        options.lines_max = SIZE_MAX;
        options.bytes_max = SIZE_MAX;
    }
    enum vv_status status = vv_sender_create(&options, &load->sender, error);
    return status == VV_OK ? vv_sender_begin_file(load->sender, "", "ns") : status;
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

static bool is_due(const struct sending *sending)
{
    return sending->bytes >= SAVE_BYTES ||
           (sending->bytes > 0 && vv_load_now_ns() - sending->saved_ns >= SAVE_NS);
}

/* ---- frozen days ---- */

/* A group is over: the request goes, if it is large or another day begins. */
static enum vv_status end_group(struct sending *sending, int64_t next_slice, struct vv_error *error)
{
    struct vv_backfill *backfill = sending->backfill;
    uint64_t most = (uint64_t)backfill->batch_bytes;
    most = most < REPLACE_BYTES_MAX ? most : REPLACE_BYTES_MAX;
    enum vv_status status = vv_sender_end_group(backfill->load.sender);
    bool is_full = next_slice != sending->slice || sending->request_bytes >= most ||
                   ++sending->groups >= GROUPS_MAX;
    if (status == VV_OK && is_full) {
        status = vv_sender_cut(backfill->load.sender);
        sending->request_bytes = 0;
        sending->groups = 0;
    }
    if (status == VV_OK && is_due(sending)) {
        status = settle(sending, error);
        sending->request_bytes = 0;
        sending->groups = 0;
    }
    sending->group_bytes = 0;
    return status;
}

static enum vv_status send_frozen(struct sending *sending, struct vv_error *error)
{
    for (;;) {
        struct vv_history_line line;
        enum vv_status status =
            vv_interrupted() ? VV_CANCELLED : vv_history_peek(sending->merge, &line, error);
        bool is_over = status == VV_DONE || (status == VV_OK && line.slice == VV_BACKFILL_LATER);
        bool is_other = sending->in_group && status == VV_OK &&
                        (line.slice != sending->slice || line.group != sending->group);
        if (is_over) {
            return vv_sender_end_group(sending->backfill->load.sender);
        }
        if (is_other) {
            status = end_group(sending, line.slice, error);
        }
        if (status == VV_OK) {
            draw(sending->backfill);
            sending->in_group = true;
            sending->slice = line.slice;
            sending->group = line.group;
            sending->group_bytes += line.text.size;
            sending->request_bytes += line.text.size;
            status = vv_history_next(sending->merge, &line, error);
        }
        if (status == VV_OK && sending->group_bytes > GROUP_BYTES_MAX) {
            status =
                vv_error_set(error, VV_INVALID,
                             "a day of one source and measurement is larger than 56 MiB, which "
                             "can't be replaced at once: divide the measurement");
        }
        status = status == VV_OK ? send_line(sending, &line) : status;
        if (status != VV_OK) {
            return status;
        }
    }
}

static enum vv_status end_sender(struct vv_backfill *backfill, enum vv_status status,
                                 struct vv_error *error);

/* All that is frozen is sent, and noted; the sender is another one afterwards. */
static enum vv_status replace_frozen(struct sending *sending, struct vv_error *error)
{
    struct vv_backfill *backfill = sending->backfill;
    struct vv_load *load = &backfill->load;
    if (!backfill->replaces) {
        return VV_OK;
    }
    enum vv_status status = open_sender(backfill, true, error);
    if (status == VV_OK) {
        status = send_frozen(sending, error);
    }
    if (status == VV_OK) {
        status = settle(sending, error);
    } else if (load->sender) {
        vv_sender_drop_open(load->sender); /* half a group */
    }
    if (load->sender) {
        status = end_sender(backfill, status, error);
    }
    vv_sender_destroy(load->sender);
    load->sender = NULL;
    return status;
}

/* ---- what is loaded as usual ---- */

static enum vv_status send_lines(struct sending *sending, struct vv_error *error)
{
    for (;;) {
        struct vv_history_line line;
        enum vv_status status = is_due(sending) ? settle(sending, error) : VV_OK;
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
    enum vv_status status =
        vv_history_merge_create(backfill->folder, &backfill->state.runs, &sending.merge, error);
    if (status == VV_OK) {
        status = replace_frozen(&sending, error);
    }
    if (status == VV_OK) {
        status = open_sender(backfill, false, error);
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
