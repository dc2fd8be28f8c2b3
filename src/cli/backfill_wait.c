/* SPDX-License-Identifier: Apache-2.0 */
/* Sealing: the server brings what was loaded into its store, and builds tiers of it; asked until
 * nothing of the range is due any more. What is not due yet, as it is hardly over, or waits for late
 * points to be folded, is not waited for: that can take until tomorrow. */
#include "cli/backfill_private.h"

#include "base/clock.h"
#include "cli/interrupt.h"

#include <inttypes.h>
#include <jansson.h>
#include <time.h>

#define PAUSE_LEAST (50 * VV_MILLISECOND)
#define PAUSE_MOST  (5 * VV_SECOND)

struct waiting {
    struct vv_backfill *backfill;
    struct vv_client *client;
    uint64_t most;       /* that waited so far */
    int64_t answered_ns; /* when the server answered last */
};

static void draw(struct waiting *waiting, uint64_t left, const char *trouble)
{
    struct vv_progress *progress = &waiting->backfill->load.progress;
    int64_t now = vv_load_now_ns();
    waiting->most = left > waiting->most ? left : waiting->most;
    progress->bytes_total = waiting->most;
    if (vv_progress_is_due(progress, now)) {
        const struct vv_progress_state state = {.bytes = waiting->most - left,
                                                .points = waiting->most - left,
                                                .file = "sealing",
                                                .trouble = trouble};
        vv_progress_draw(progress, &state, now);
    }
}

static void pause_ns(int64_t ns)
{
    int64_t until = vv_load_now_ns() + ns;
    while (vv_load_now_ns() < until && !vv_interrupted()) {
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_LEAST}, NULL);
    }
}

static bool may_pass(enum vv_status status, const struct vv_response *response)
{
    return status == VV_IO || status == VV_UNKNOWN ||
           (status == VV_OK && (response->code == 429 || response->code >= 500));
}

/* A request, again while its failure may pass; *response_out is the caller's in any case. */
static enum vv_status call(struct waiting *waiting, const char *method, const char *path,
                           struct vv_response *response_out, struct vv_error *error)
{
    const struct vv_call request = {.method = method, .path = path};
    for (;;) {
        enum vv_status status = vv_client_call(waiting->client, &request, response_out, error);
        int64_t now = vv_load_now_ns();
        bool is_late = now - waiting->answered_ns > waiting->backfill->retry_ns;
        if (status == VV_OK && !may_pass(status, response_out)) {
            waiting->answered_ns = now;
            return VV_OK;
        }
        if (status == VV_OK) {
            vv_response_message(response_out, error);
        }
        if (vv_interrupted()) {
            return VV_CANCELLED;
        }
        if (!may_pass(status, response_out) || is_late) {
            return status == VV_OK ? VV_OVERLOAD : status;
        }
        draw(waiting, waiting->most, error->message);
        vv_response_deinit(response_out);
        pause_ns(VV_SECOND);
    }
}

static enum vv_status flush(struct waiting *waiting, struct vv_error *error)
{
    struct vv_response response = {0};
    enum vv_status status = call(waiting, "POST", "/api/v1/flush", &response, error);
    if (status == VV_OK && response.code / 100 != 2) {
        vv_response_message(&response, error);
        status = VV_INVALID;
    }
    vv_response_deinit(&response);
    return status;
}

/* ---- what is left ---- */

/* `after`: where a server goes on that does not look at all at once; 0: from the beginning. */
static enum vv_status make_path(const struct vv_backfill *backfill, uint64_t after,
                                struct vv_buffer *path)
{
    char time[VV_TIME_TEXT_SIZE];
    struct vv_buffer form = {0};
    const struct vv_load_report *report = &backfill->load.report;
    int64_t last = report->last;
    vv_form_add(&form, "tenant", vv_str_of(backfill->load.client.tenant));
    vv_time_format(report->first, time);
    vv_form_add(&form, "from", vv_str_of(time));
    vv_time_format(last < INT64_MAX ? last + 1 : last, time);
    vv_form_add(&form, "to", vv_str_of(time));
    vv_buffer_clear(path);
    vv_buffer_text(path, "/api/v1/sealing?");
    vv_buffer_append(path, form.data, form.size);
    if (after > 0) {
        vv_buffer_format(path, "&after=%" PRIu64, after);
    }
    vv_buffer_u8(path, 0);
    bool good = vv_buffer_status(path) == VV_OK && vv_buffer_status(&form) == VV_OK;
    vv_buffer_deinit(&form);
    return good ? VV_OK : VV_NO_MEMORY;
}

/* Adds to what was counted so far; *after_out: where to go on, or 0. */
static enum vv_status read_left(struct vv_backfill *backfill, const struct vv_response *response,
                                uint64_t *left, uint64_t *after_out, struct vv_error *error)
{
    json_t *root = json_loadb((const char *)response->body.data, response->body.size, 0, NULL);
    json_t *due = json_object_get(root, "due");
    json_int_t waiting = json_integer_value(json_object_get(root, "waiting"));
    bool good = json_is_integer(due);
    *left += (uint64_t)json_integer_value(due);
    *after_out = (uint64_t)json_integer_value(json_object_get(root, "next"));
    backfill->later += (uint64_t)(waiting - json_integer_value(due));
    backfill->open += (uint64_t)json_integer_value(json_object_get(root, "open"));
    backfill->damaged += (uint64_t)json_integer_value(json_object_get(root, "damaged"));
    backfill->kept += (uint64_t)json_integer_value(json_object_get(root, "kept"));
    json_decref(root);
    return good ? VV_OK
                : vv_error_set(error, VV_INVALID, "the answer of the server cannot be read");
}

/* A part of it; *after: which, and where to go on. */
static enum vv_status ask_part(struct waiting *waiting, uint64_t *after, uint64_t *left,
                               struct vv_error *error)
{
    struct vv_response response = {0};
    struct vv_buffer path = {0};
    enum vv_status status = make_path(waiting->backfill, *after, &path);
    if (status == VV_OK) {
        status = call(waiting, "GET", (const char *)path.data, &response, error);
    }
    if (status == VV_OK && response.code != 200) {
        vv_response_message(&response, error);
        status = VV_INVALID;
    } else if (status == VV_OK) {
        status = read_left(waiting->backfill, &response, left, after, error);
    }
    vv_response_deinit(&response);
    vv_buffer_deinit(&path);
    return status;
}

/* *left_out: what is due to be sealed. */
static enum vv_status ask(struct waiting *waiting, uint64_t *left_out, struct vv_error *error)
{
    struct vv_backfill *backfill = waiting->backfill;
    uint64_t after = 0;
    enum vv_status status;
    *left_out = 0;
    backfill->later = 0;
    backfill->open = 0;
    backfill->damaged = 0;
    backfill->kept = 0;
    do {
        status = ask_part(waiting, &after, left_out, error);
        status = status == VV_OK && after > 0 && vv_interrupted() ? VV_CANCELLED : status;
    } while (status == VV_OK && after > 0);
    return status;
}

static enum vv_status wait_sealed(struct waiting *waiting, struct vv_error *error)
{
    enum vv_status status = VV_OK;
    uint64_t left = 1;
    while (status == VV_OK && left > 0) {
        int64_t begun = vv_load_now_ns();
        status = ask(waiting, &left, error);
        if (status == VV_OK && left > 0) { /* asking is to take a tenth of the time at most */
            int64_t pause = 10 * (vv_load_now_ns() - begun);
            draw(waiting, left, "");
            pause_ns(pause < PAUSE_MOST ? pause : PAUSE_MOST);
            status = vv_interrupted() ? VV_CANCELLED : VV_OK;
        }
    }
    return status;
}

enum vv_status vv_backfill_wait(struct vv_backfill *backfill, struct vv_error *error)
{
    struct waiting waiting = {.backfill = backfill, .answered_ns = vv_load_now_ns()};
    struct vv_progress *progress = &backfill->load.progress;
    if (!backfill->load.report.has_times) {
        return VV_OK;
    }
    vv_progress_init(progress, progress->on, 0, waiting.answered_ns);
    progress->unit = "spans";
    enum vv_status status = vv_client_create(&backfill->load.client, &waiting.client);
    if (status == VV_OK) {
        status = flush(&waiting, error);
    }
    if (status == VV_OK) {
        status = wait_sealed(&waiting, error);
    }
    if (status == VV_NO_MEMORY) {
        (void)vv_error_set(error, status, "out of memory");
    }
    vv_progress_clear(progress);
    vv_client_destroy(waiting.client);
    return status;
}
