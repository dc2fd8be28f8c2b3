/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Days that are frozen, of which the server keeps tiers only: with --replace-frozen they are sent
 * to be replaced. The server takes what a request has of a day and a series for all there is, so
 * lines of a day that may be of one source and measurement are sorted to stand together, and go in
 * one request.
 */
#include "cli/backfill_private.h"

#include "base/clock.h"
#include "cli/series_group.h"
#include "cli/terminal.h"

#include <inttypes.h>
#include <jansson.h>

static enum vv_status read_answer(struct vv_backfill *backfill, const struct vv_response *response,
                                  struct vv_error *error)
{
    struct vv_backfill_state *state = &backfill->state;
    json_t *root = json_loadb((const char *)response->body.data, response->body.size, 0, NULL);
    const json_t *until = json_object_get(root, "frozen_until_ns");
    const char *id_tag = json_string_value(json_object_get(root, "id_tag"));
    bool is_good = id_tag && strlen(id_tag) < sizeof state->id_tag;
    state->frozen_until = json_is_integer(until) ? json_integer_value(until) : VV_BACKFILL_NOTHING;
    snprintf(state->id_tag, sizeof state->id_tag, "%s", id_tag ? id_tag : "");
    json_decref(root);
    return is_good ? VV_OK
                   : vv_error_set(error, VV_INVALID, "the answer of the server cannot be read");
}

static void say_frozen(const struct vv_backfill *backfill)
{
    char text[VV_TIME_TEXT_SIZE];
    int64_t until = backfill->state.frozen_until;
    if (backfill->load.quiet) {
        return;
    }
    if (until == VV_BACKFILL_NOTHING) {
        vv_say_note("no day is frozen as a whole: all is loaded as usual");
        return;
    }
    vv_time_format(until, text);
    vv_say_note(
        "days before %s are frozen: what tiers have of them is replaced, by day, source and "
        "metric, where the files have any of it",
        text);
}

enum vv_status vv_backfill_ask_frozen(struct vv_backfill *backfill, struct vv_error *error)
{
    struct vv_client *client;
    struct vv_response response = {0};
    struct vv_buffer path = {0};
    struct vv_buffer form = {0};
    vv_form_add(&form, "tenant", vv_str_of(backfill->load.client.tenant));
    vv_buffer_text(&path, "/api/v1/replace?");
    vv_buffer_append(&path, form.data, form.size);
    vv_buffer_u8(&path, 0);
    enum vv_status status = vv_client_create(&backfill->load.client, &client);
    status = status == VV_OK ? vv_buffer_status(&path) : status;
    if (status == VV_OK) {
        const struct vv_call call = {.method = "GET", .path = (const char *)path.data};
        status = vv_client_call(client, &call, &response, error);
    }
    if (status == VV_OK && response.code != 200) {
        vv_response_message(&response, error);
        status = VV_INVALID;
    } else if (status == VV_OK) {
        status = read_answer(backfill, &response, error);
    }
    if (status == VV_OK) {
        say_frozen(backfill);
    }
    vv_response_deinit(&response);
    vv_buffer_deinit(&path);
    vv_buffer_deinit(&form);
    vv_client_destroy(client);
    return status;
}

enum vv_status vv_backfill_check_frozen(const struct vv_backfill *backfill, struct vv_error *error)
{
    const struct vv_backfill_state *state = &backfill->state;
    if (!state->lacks_some || state->frozen_points == 0) {
        return VV_OK;
    }
    return vv_error_set(
        error, VV_INVALID,
        "some of what the files hold can't be taken (%s%.200s), and frozen days would be made of "
        "the rest of them: nothing is replaced; mend the files, and begin anew with --restart",
        state->refused_bytes > 0 ? "see " : "a file is damaged",
        state->refused_bytes > 0 ? backfill->refused_path : "");
}

bool vv_backfill_is_frozen(const struct vv_backfill *backfill, int64_t time)
{
    return backfill->replaces && time < backfill->state.frozen_until;
}

void vv_backfill_group(const struct vv_backfill *backfill, struct vv_history_line *line)
{
    line->slice = VV_BACKFILL_LATER;
    line->group = 0;
    if (vv_backfill_is_frozen(backfill, line->time)) {
        const struct vv_str series = {line->text.data, line->series_size};
        line->slice = vv_time_floor(line->time, VV_DAY);
        line->group = vv_series_group(series, vv_str_of(backfill->state.id_tag));
    }
}

/* ---- the plan ---- */

struct plan {
    uint64_t days;
    uint64_t series; /* and days */
    uint64_t points; /* of these */
    int64_t first;
    int64_t last;
    uint64_t usual; /* points that are loaded as usual */
};

static void count_line(struct plan *plan, const struct vv_history_line *line,
                       struct vv_history_line *before)
{
    if (line->slice == VV_BACKFILL_LATER) {
        plan->usual += line->points;
        return;
    }
    bool is_first = plan->days == 0;
    bool is_day = is_first || line->slice != before->slice;
    plan->days += is_day;
    plan->series += is_day || line->group != before->group;
    plan->points += line->points;
    plan->first = is_first ? line->slice : plan->first;
    plan->last = line->slice;
    *before = *line;
}

static void print_plan(const struct vv_backfill *backfill, const struct plan *plan)
{
    char first[VV_TIME_TEXT_SIZE] = "";
    char last[VV_TIME_TEXT_SIZE] = "";
    char counts[3][VV_COUNT_TEXT_SIZE];
    if (plan->days > 0) {
        vv_time_format(plan->first, first);
        vv_time_format(plan->last, last);
    }
    if (backfill->json) {
        json_t *root = json_pack("{s:b, s:I, s:I, s:I, s:s?, s:s?, s:I}", "dry_run", 1, "days",
                                 (json_int_t)plan->days, "series_days", (json_int_t)plan->series,
                                 "replaced_points", (json_int_t)plan->points, "first_day",
                                 first[0] ? first : NULL, "last_day", last[0] ? last : NULL,
                                 "loaded_points", (json_int_t)plan->usual);
        json_dumpf(root, stdout, JSON_PRESERVE_ORDER);
        fputc('\n', stdout);
        json_decref(root);
        return;
    }
    if (plan->days > 0) {
        printf("would replace what tiers have of %s series and days, on %s days from %s to %s, by "
               "%s points\n",
               vv_count_text(plan->series, counts[0]), vv_count_text(plan->days, counts[1]), first,
               last, vv_count_text(plan->points, counts[2]));
    }
    printf("would load %s points as usual\n", vv_count_text(plan->usual, counts[0]));
    printf("nothing was changed; the same command without --dry-run does it, and need not stage "
           "again\n");
}

enum vv_status vv_backfill_tell_plan(struct vv_backfill *backfill, struct vv_error *error)
{
    struct vv_history_runs runs = backfill->state.runs; /* nothing is taken of those */
    struct vv_history_merge *merge;
    struct vv_history_line line;
    struct vv_history_line before = {0};
    struct plan plan = {0};
    enum vv_status status = vv_history_merge_create(backfill->folder, &runs, &merge, error);
    while (status == VV_OK) {
        status = vv_history_next(merge, &line, error);
        if (status == VV_OK) {
            count_line(&plan, &line, &before);
        }
    }
    vv_history_merge_destroy(merge);
    if (status == VV_DONE) {
        print_plan(backfill, &plan);
        status = VV_OK;
    }
    return status;
}
