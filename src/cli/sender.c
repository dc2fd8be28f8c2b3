/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes: parcels wait in a small ring, a thread sends them one after the other. */
#include "cli/sender.h"

#include "base/clock.h"
#include "base/random.h"
#include "cli/interrupt.h"
#include "cli/parcel.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#define WAITING_MAX   2 /* full parcels in a lane */
#define TICK_NS       (100 * VV_MILLISECOND)
#define PAUSE_FIRST   (200 * VV_MILLISECOND)
#define PAUSE_LONGEST (10 * VV_SECOND)

struct lane {
    struct vv_sender *sender;
    struct vv_client *client;
    struct vv_parcel open; /* being filled; the adding thread's */
    struct vv_parcel waiting[WAITING_MAX];
    size_t n_waiting;
    bool busy; /* a parcel is being sent */
    bool has_thread;
    pthread_t thread;
    struct vv_random random; /* jitter of pauses */
};

struct vv_sender {
    struct vv_sender_options options;
    char path[800];   /* of requests, but for the precision */
    const char *file; /* of lines that are added now, as is the precision */
    const char *precision;
    atomic_bool abandoned;  /* requests under way are broken off */
    pthread_mutex_t lock;   /* guards what follows, and waiting, n_waiting, busy of all lanes */
    pthread_cond_t changed; /* anything of it */
    bool stop;
    enum vv_status failure; /* why sending has ended; VV_OK: it goes on */
    struct vv_error failure_error;
    char trouble[128];
    size_t n_lanes;
    struct lane lanes[];
};

static int64_t now_ns(void)
{
    struct vv_clock *clock = vv_clock_system();
    return clock->monotonic_ns(clock);
}

/* Waits for a change, for a tick's length at most. Holds the lock. */
static void wait_change(struct vv_sender *sender)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    int64_t ns = until.tv_nsec + TICK_NS;
    until.tv_sec += ns / VV_SECOND;
    until.tv_nsec = ns % VV_SECOND;
    pthread_cond_timedwait(&sender->changed, &sender->lock, &until);
}

/* ---- a lane ---- */

static void set_trouble(struct vv_sender *sender, const char *text)
{
    pthread_mutex_lock(&sender->lock);
    snprintf(sender->trouble, sizeof sender->trouble, "%.127s", text);
    pthread_mutex_unlock(&sender->lock);
}

static void fail(struct vv_sender *sender, enum vv_status status, const struct vv_error *error)
{
    pthread_mutex_lock(&sender->lock);
    if (sender->failure == VV_OK) {
        sender->failure = status;
        sender->failure_error = *error;
    }
    pthread_cond_broadcast(&sender->changed);
    pthread_mutex_unlock(&sender->lock);
}

static bool is_over(const struct vv_sender *sender)
{
    return sender->stop || sender->failure != VV_OK || vv_interrupted();
}

/* False: sending is over. */
static bool pause_lane(struct lane *lane, int64_t pause_ns)
{
    struct vv_sender *sender = lane->sender;
    int64_t until = now_ns() + pause_ns;
    pthread_mutex_lock(&sender->lock);
    while (now_ns() < until && !is_over(sender)) {
        wait_change(sender);
    }
    bool over = is_over(sender);
    pthread_mutex_unlock(&sender->lock);
    return !over;
}

/* One try. *status_out is what to fail with if there is no other. */
static enum vv_verdict try_parcel(struct lane *lane, const struct vv_parcel *parcel,
                                  int64_t *pause_out, enum vv_status *status_out,
                                  struct vv_error *error)
{
    struct vv_sender *sender = lane->sender;
    char path[sizeof sender->path + 32];
    snprintf(path, sizeof path, "%s&precision=%s", sender->path, parcel->precision);
    const struct vv_call call = {
        .method = "POST",
        .path = path,
        .content_type = "text/plain; charset=utf-8",
        .body = {(const char *)parcel->text.data, parcel->text.size},
        .cancelled = &sender->abandoned,
    };
    struct vv_response response;
    int64_t begun = now_ns();
    enum vv_status status = vv_client_call(lane->client, &call, &response, error);
    enum vv_verdict verdict = VV_VERDICT_AGAIN;
    *status_out = status;
    if (status == VV_OK) {
        verdict = vv_parcel_judge(parcel, &response, sender->options.report, error);
        *status_out = verdict == VV_VERDICT_FATAL ? VV_INVALID : VV_OVERLOAD;
        *pause_out = response.retry_ns > *pause_out ? response.retry_ns : *pause_out;
    } else if (status != VV_IO && status != VV_UNKNOWN) {
        verdict = VV_VERDICT_FATAL;
    }
    if (verdict == VV_VERDICT_DONE && sender->options.answered) {
        sender->options.answered(sender->options.answered_context, now_ns() - begun);
    }
    vv_response_deinit(&response);
    return verdict;
}

static void count_request(struct vv_load_report *report, bool again)
{
    pthread_mutex_lock(&report->lock);
    report->requests++;
    report->retries += again;
    pthread_mutex_unlock(&report->lock);
}

/* Between half of the pause and all of it, so that lanes do not come back together. */
static int64_t jitter(struct lane *lane, int64_t pause_ns)
{
    return pause_ns / 2 + (int64_t)vv_random_below(&lane->random, (uint64_t)pause_ns / 2 + 1);
}

/* Until it is answered, or given up. True: it is to be sent by parts. */
static bool send_parcel(struct lane *lane, const struct vv_parcel *parcel)
{
    struct vv_sender *sender = lane->sender;
    int64_t begun = now_ns();
    int64_t pause = PAUSE_FIRST;
    for (bool again = false;; again = true) {
        struct vv_error error = {0};
        enum vv_status status;
        count_request(sender->options.report, again);
        enum vv_verdict verdict = try_parcel(lane, parcel, &pause, &status, &error);
        if (verdict == VV_VERDICT_DONE || verdict == VV_VERDICT_SPLIT) {
            if (again) {
                set_trouble(sender, "");
            }
            return verdict == VV_VERDICT_SPLIT;
        }
        bool late = now_ns() - begun + pause > sender->options.retry_ns;
        if (verdict == VV_VERDICT_FATAL || late) {
            fail(sender, status, &error);
            return false;
        }
        set_trouble(sender, error.message);
        if (!pause_lane(lane, jitter(lane, pause))) {
            return false;
        }
        pause = pause * 2 < PAUSE_LONGEST ? pause * 2 : PAUSE_LONGEST;
    }
}

/* n of its groups, by halves where they are refused as a whole. */
static void send_groups(struct lane *lane, const struct vv_parcel *parcel, size_t first, size_t n)
{
    const struct vv_parcel part = vv_parcel_part(parcel, first, n);
    pthread_mutex_lock(&lane->sender->lock);
    bool over = is_over(lane->sender);
    pthread_mutex_unlock(&lane->sender->lock);
    if (!over && send_parcel(lane, &part)) {
        send_groups(lane, parcel, first, n / 2);
        send_groups(lane, parcel, first + n / 2, n - n / 2);
    }
}

/* Takes the oldest parcel; false: there will be none. */
static bool take_parcel(struct lane *lane, struct vv_parcel *parcel_out)
{
    struct vv_sender *sender = lane->sender;
    pthread_mutex_lock(&sender->lock);
    while (lane->n_waiting == 0 && !is_over(sender)) {
        wait_change(sender);
    }
    bool taken = lane->n_waiting > 0 && !is_over(sender);
    if (taken) {
        *parcel_out = lane->waiting[0];
        lane->n_waiting--;
        memmove(lane->waiting, lane->waiting + 1, lane->n_waiting * sizeof lane->waiting[0]);
        lane->busy = true;
        pthread_cond_broadcast(&sender->changed);
    }
    pthread_mutex_unlock(&sender->lock);
    return taken;
}

static void *run_lane(void *context)
{
    struct lane *lane = context;
    struct vv_parcel parcel;
    while (take_parcel(lane, &parcel)) {
        if (parcel.n_ends > 0) {
            vv_invariant(parcel.ends[parcel.n_ends - 1].lines == parcel.n_lines);
            send_groups(lane, &parcel, 0, parcel.n_ends);
        } else {
            (void)send_parcel(lane, &parcel);
        }
        vv_parcel_deinit(&parcel);
        pthread_mutex_lock(&lane->sender->lock);
        lane->busy = false;
        pthread_cond_broadcast(&lane->sender->changed);
        pthread_mutex_unlock(&lane->sender->lock);
    }
    return NULL;
}

/* ---- the adding thread ---- */

static enum vv_status make_path(struct vv_sender *sender)
{
    struct vv_buffer query = {0};
    vv_form_add(&query, "db", vv_str_of(sender->options.client->tenant));
    if (sender->options.ack) {
        vv_form_add(&query, "ack", vv_str_of(sender->options.ack));
    }
    enum vv_status status = vv_buffer_status(&query);
    if (status == VV_OK) {
        const char *path = sender->options.path ? sender->options.path : "/write";
        int size = snprintf(sender->path, sizeof sender->path, "%s?%.*s", path, (int)query.size,
                            (const char *)query.data);
        status = size > 0 && (size_t)size < sizeof sender->path ? VV_OK : VV_INVALID;
    }
    vv_buffer_deinit(&query);
    return status;
}

static enum vv_status start_lanes(struct vv_sender *sender)
{
    for (size_t i = 0; i < sender->n_lanes; i++) {
        struct lane *lane = &sender->lanes[i];
        lane->sender = sender;
        lane->random.state = (uint64_t)now_ns() + i;
        enum vv_status status = vv_client_create(sender->options.client, &lane->client);
        if (status != VV_OK) {
            return status;
        }
        if (pthread_create(&lane->thread, NULL, run_lane, lane) != 0) {
            return VV_NO_MEMORY;
        }
        lane->has_thread = true;
    }
    return VV_OK;
}

enum vv_status vv_sender_create(const struct vv_sender_options *options,
                                struct vv_sender **sender_out, struct vv_error *error)
{
    struct vv_sender *sender = calloc(1, sizeof *sender + options->lanes * sizeof sender->lanes[0]);
    if (!sender) {
        return vv_error_set(error, VV_NO_MEMORY, "out of memory");
    }
    sender->options = *options;
    sender->n_lanes = options->lanes;
    sender->file = "";
    sender->precision = "ns";
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    vv_invariant(pthread_mutex_init(&sender->lock, NULL) == 0);
    vv_invariant(pthread_cond_init(&sender->changed, &attributes) == 0);
    pthread_condattr_destroy(&attributes);
    enum vv_status status = make_path(sender);
    status = status == VV_OK ? start_lanes(sender) : status;
    if (status != VV_OK) {
        vv_sender_destroy(sender);
        return vv_error_set(error, status,
                            status == VV_INVALID ? "the tenant's name is too long"
                                                 : "out of memory or threads");
    }
    *sender_out = sender;
    return VV_OK;
}

/* Ends the lanes' threads, and what they are at. */
static void stop_lanes(struct vv_sender *sender)
{
    pthread_mutex_lock(&sender->lock);
    sender->stop = true;
    atomic_store(&sender->abandoned, true);
    pthread_cond_broadcast(&sender->changed);
    pthread_mutex_unlock(&sender->lock);
    for (size_t i = 0; i < sender->n_lanes; i++) {
        if (sender->lanes[i].has_thread) {
            pthread_join(sender->lanes[i].thread, NULL);
            sender->lanes[i].has_thread = false;
        }
    }
}

void vv_sender_destroy(struct vv_sender *sender)
{
    if (!sender) {
        return;
    }
    stop_lanes(sender);
    for (size_t i = 0; i < sender->n_lanes; i++) {
        struct lane *lane = &sender->lanes[i];
        vv_client_destroy(lane->client);
        vv_parcel_deinit(&lane->open);
        for (size_t j = 0; j < lane->n_waiting; j++) {
            vv_parcel_deinit(&lane->waiting[j]);
        }
    }
    pthread_cond_destroy(&sender->changed);
    pthread_mutex_destroy(&sender->lock);
    free(sender);
}

static void tick(struct vv_sender *sender)
{
    if (sender->options.tick) {
        pthread_mutex_unlock(&sender->lock);
        sender->options.tick(sender->options.tick_context);
        pthread_mutex_lock(&sender->lock);
    }
}

static enum vv_status outcome(const struct vv_sender *sender)
{
    return sender->failure != VV_OK ? sender->failure : vv_interrupted() ? VV_CANCELLED : VV_OK;
}

/* Hands the open parcel to the lane's thread, when there is room. */
static enum vv_status hand_over(struct lane *lane)
{
    struct vv_sender *sender = lane->sender;
    if (lane->open.n_lines == 0) {
        return VV_OK;
    }
    pthread_mutex_lock(&sender->lock);
    while (lane->n_waiting == WAITING_MAX && !is_over(sender)) {
        wait_change(sender);
        tick(sender);
    }
    enum vv_status status = outcome(sender);
    if (status == VV_OK) {
        lane->waiting[lane->n_waiting++] = lane->open;
        lane->open = (struct vv_parcel){.file = sender->file, .precision = sender->precision};
        pthread_cond_broadcast(&sender->changed);
    }
    pthread_mutex_unlock(&sender->lock);
    return status;
}

static enum vv_status hand_over_all(struct vv_sender *sender)
{
    enum vv_status status = VV_OK;
    for (size_t i = 0; status == VV_OK && i < sender->n_lanes; i++) {
        status = hand_over(&sender->lanes[i]);
    }
    return status;
}

enum vv_status vv_sender_begin_file(struct vv_sender *sender, const char *file,
                                    const char *precision)
{
    enum vv_status status = hand_over_all(sender);
    sender->file = file;
    sender->precision = precision;
    for (size_t i = 0; status == VV_OK && i < sender->n_lanes; i++) {
        sender->lanes[i].open.file = file;
        sender->lanes[i].open.precision = precision;
    }
    return status;
}

/* Only to spread series over lanes: the sum of its parts' hashes (FNV-1a), as tags in another order
 * are the same series. */
static uint64_t hash_series(struct vv_str series)
{
    uint64_t sum = 0;
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < series.size; i++) {
        if (series.data[i] == ',' && (i == 0 || series.data[i - 1] != '\\')) {
            sum += hash ^ hash >> 32;
            hash = UINT64_C(14695981039346656037);
        }
        hash = (hash ^ (unsigned char)series.data[i]) * UINT64_C(1099511628211);
    }
    return sum + (hash ^ hash >> 32);
}

/* Memory was short: nothing more is sent. */
static enum vv_status note_status(struct vv_sender *sender, enum vv_status status)
{
    if (status != VV_OK) {
        struct vv_error error = {0};
        (void)vv_error_set(&error, status, "out of memory");
        fail(sender, status, &error);
    }
    return status;
}

enum vv_status vv_sender_add(struct vv_sender *sender, const struct vv_sender_line *line)
{
    struct vv_str series = {line->text.data, line->series_size};
    struct lane *lane =
        &sender->lanes[sender->n_lanes > 1 ? hash_series(series) % sender->n_lanes : 0];
    enum vv_status status = note_status(sender, vv_parcel_add(&lane->open, line));
    if (status != VV_OK) {
        return status;
    }
    if (lane->open.n_lines >= sender->options.lines_max ||
        lane->open.text.size >= sender->options.bytes_max) {
        return hand_over(lane);
    }
    return VV_OK;
}

enum vv_status vv_sender_end_group(struct vv_sender *sender)
{
    enum vv_status status = VV_OK;
    for (size_t i = 0; status == VV_OK && i < sender->n_lanes; i++) {
        status = note_status(sender, vv_parcel_end_group(&sender->lanes[i].open));
    }
    return status;
}

enum vv_status vv_sender_cut(struct vv_sender *sender)
{
    return hand_over_all(sender);
}

void vv_sender_drop_open(struct vv_sender *sender)
{
    for (size_t i = 0; i < sender->n_lanes; i++) {
        struct vv_parcel *open = &sender->lanes[i].open;
        vv_parcel_deinit(open);
        *open = (struct vv_parcel){.file = sender->file, .precision = sender->precision};
    }
}

static bool all_sent(const struct vv_sender *sender)
{
    for (size_t i = 0; i < sender->n_lanes; i++) {
        if (sender->lanes[i].n_waiting > 0 || sender->lanes[i].busy) {
            return false;
        }
    }
    return true;
}

enum vv_status vv_sender_drain(struct vv_sender *sender)
{
    enum vv_status status = hand_over_all(sender);
    pthread_mutex_lock(&sender->lock);
    while (status == VV_OK && !all_sent(sender)) {
        wait_change(sender);
        tick(sender);
        status = outcome(sender);
    }
    status = status == VV_OK ? outcome(sender) : status; /* a parcel given up is not answered */
    pthread_mutex_unlock(&sender->lock);
    return status;
}

enum vv_status vv_sender_finish(struct vv_sender *sender, struct vv_error *error)
{
    enum vv_status status = vv_sender_drain(sender);
    pthread_mutex_lock(&sender->lock);
    status = status == VV_OK ? outcome(sender) : status;
    if (error && sender->failure != VV_OK) {
        *error = sender->failure_error;
    }
    pthread_mutex_unlock(&sender->lock);
    stop_lanes(sender);
    return status;
}

void vv_sender_trouble(struct vv_sender *sender, char *out)
{
    pthread_mutex_lock(&sender->lock);
    snprintf(out, sizeof sender->trouble, "%s", sender->trouble);
    pthread_mutex_unlock(&sender->lock);
}
