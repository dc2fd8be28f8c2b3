/* SPDX-License-Identifier: Apache-2.0 */
/* Parcels: filling them, and reading the answers of the server. */
#include "cli/parcel.h"

#include "settings/value.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>

#define LINES_FIRST 1024u
#define LISTED_MAX  16u /* as many lines as a server lists */

void vv_parcel_deinit(struct vv_parcel *parcel)
{
    vv_buffer_deinit(&parcel->text);
    free(parcel->numbers);
    free(parcel->ends);
    *parcel = (struct vv_parcel){0};
}

static enum vv_status reserve_lines(struct vv_parcel *parcel, size_t n)
{
    if (parcel->n_lines + n <= parcel->lines_capacity) {
        return VV_OK;
    }
    size_t capacity = parcel->lines_capacity ? parcel->lines_capacity : LINES_FIRST;
    while (capacity < parcel->n_lines + n) {
        capacity *= 2;
    }
    uint64_t *larger = realloc(parcel->numbers, capacity * sizeof *larger);
    if (!larger) {
        return VV_NO_MEMORY;
    }
    parcel->numbers = larger;
    parcel->lines_capacity = capacity;
    return VV_OK;
}

enum vv_status vv_parcel_add(struct vv_parcel *parcel, const struct vv_sender_line *line)
{
    enum vv_status status = reserve_lines(parcel, line->newlines);
    if (status != VV_OK) {
        return status;
    }
    for (uint32_t i = 0; i < line->newlines; i++) {
        parcel->numbers[parcel->n_lines++] = line->number + i;
    }
    vv_buffer_str(&parcel->text, line->text);
    if (line->stamp.size > 0) {
        vv_buffer_u8(&parcel->text, ' ');
        vv_buffer_str(&parcel->text, line->stamp);
    }
    vv_buffer_u8(&parcel->text, '\n');
    parcel->points += line->points;
    return vv_buffer_status(&parcel->text);
}

/* ---- groups ---- */

static struct vv_parcel_end last_end(const struct vv_parcel *parcel, size_t n)
{
    return n > 0 ? parcel->ends[n - 1] : (struct vv_parcel_end){0};
}

enum vv_status vv_parcel_end_group(struct vv_parcel *parcel)
{
    if (parcel->n_lines == last_end(parcel, parcel->n_ends).lines) {
        return VV_OK;
    }
    if (parcel->n_ends == parcel->ends_capacity) {
        size_t capacity = parcel->ends_capacity ? parcel->ends_capacity * 2 : 64;
        struct vv_parcel_end *larger = realloc(parcel->ends, capacity * sizeof *larger);
        if (!larger) {
            return VV_NO_MEMORY;
        }
        parcel->ends = larger;
        parcel->ends_capacity = capacity;
    }
    parcel->ends[parcel->n_ends++] = (struct vv_parcel_end){
        .bytes = parcel->text.size, .lines = parcel->n_lines, .points = parcel->points};
    return VV_OK;
}

struct vv_parcel vv_parcel_part(const struct vv_parcel *parcel, size_t first, size_t n)
{
    struct vv_parcel_end begin = last_end(parcel, first);
    struct vv_parcel_end end = last_end(parcel, first + n);
    struct vv_parcel part = *parcel;
    part.text.data += begin.bytes;
    part.text.size = end.bytes - begin.bytes;
    part.text.capacity = part.text.size;
    part.numbers += begin.lines;
    part.n_lines = end.lines - begin.lines;
    part.points = end.points - begin.points;
    part.ends = NULL;
    part.n_ends = n;
    return part;
}

static void keep_count(struct vv_load_report *report, struct vv_str reason, const char *file,
                       uint64_t points, const char *fields)
{
    char detail[256];
    snprintf(detail, sizeof detail, "%" PRIu64 " %s, of lines that are not listed: %s", points,
             points == 1 ? "point" : "points", fields);
    vv_load_report_keep(report, reason, file, 0, detail, (struct vv_str){0});
}

/* "string=12 unsigned=1 fields=a,b": the words before `fields`. Of which lines they are nobody
 * says. Returns the points. */
static uint64_t count_lenient(const char *header, const char *file, struct vv_load_report *report)
{
    uint64_t points = 0;
    const char *fields = strstr(header, "fields=");
    for (const char *at = header; *at && at != fields;) {
        size_t word = strcspn(at, " ");
        const char *equals = memchr(at, '=', word);
        int64_t n;
        if (equals) {
            struct vv_str reason = {at, (size_t)(equals - at)};
            struct vv_str count = {equals + 1, word - reason.size - 1};
            if (vv_int_parse(count, &n) && n > 0) {
                vv_load_report_refuse(report, reason, (uint64_t)n);
                vv_load_report_example(report, reason, file, 0, 0, fields ? fields : "");
                keep_count(report, reason, file, (uint64_t)n, fields ? fields : "");
                points += (uint64_t)n;
            }
        }
        at += word;
        at += strspn(at, " ");
    }
    return points;
}

/* Goes through the lines of a parcel. */
struct cursor {
    const struct vv_parcel *parcel;
    size_t line; /* from 1, where `rest` begins; 0: nowhere yet */
    struct vv_str rest;
};

/* The nth line of the text, from 1 to n_lines. Quick when it is not before the last one asked. */
static struct vv_str text_of(struct cursor *cursor, size_t line)
{
    const struct vv_buffer *text = &cursor->parcel->text;
    if (cursor->line == 0 || line < cursor->line) {
        cursor->line = 1;
        cursor->rest = (struct vv_str){(const char *)text->data, text->size};
    }
    for (;;) {
        struct vv_str rest = cursor->rest;
        const char *end = memchr(rest.data, '\n', rest.size);
        size_t size = end ? (size_t)(end - rest.data) : rest.size;
        if (cursor->line == line) {
            return (struct vv_str){rest.data, size};
        }
        cursor->rest = (struct vv_str){end + 1, rest.size - size - 1};
        cursor->line++;
    }
}

/* ---- times ---- */

static json_t *item_of(json_t *lines, size_t line)
{
    size_t i;
    json_t *item;
    json_array_foreach(lines, i, item)
    {
        if (json_integer_value(json_object_get(item, "line")) == (json_int_t)line) {
            return item;
        }
    }
    return NULL;
}

static bool is_listed(json_t *lines, size_t line)
{
    return item_of(lines, line) != NULL;
}

/* The number behind the last space. */
static bool time_of(struct vv_str text, int64_t *time_out)
{
    const char *space = memrchr(text.data, ' ', text.size);
    struct vv_str word = {space + 1, space ? (size_t)(text.data + text.size - space) - 1 : 0};
    return space && vv_int_parse(word, time_out);
}

/* Lines of a parcel ascend in time: the first and the last that are not listed as refused. Where
 * the server did not list all, these may be refused, too: the range is then wider than it need be.
 */
static void note_times(const struct vv_parcel *parcel, json_t *refused,
                       struct vv_load_report *report)
{
    struct cursor cursor = {.parcel = parcel};
    int64_t time;
    size_t first = 1;
    while (first <= parcel->n_lines &&
           (is_listed(refused, first) || !time_of(text_of(&cursor, first), &time))) {
        first++;
    }
    if (first > parcel->n_lines) {
        return;
    }
    vv_load_report_time(report, time);
    const char *start = (const char *)parcel->text.data;
    struct vv_str rest = {start, parcel->text.size};
    for (size_t last = parcel->n_lines; last > first; last--) {
        const char *before = memrchr(start, '\n', rest.size - 1);
        const char *begin = before ? before + 1 : start;
        struct vv_str line = {begin, (size_t)(start + rest.size - begin) - 1};
        if (!is_listed(refused, last) && time_of(line, &time)) {
            vv_load_report_time(report, time);
            return;
        }
        rest.size = (size_t)(begin - start);
    }
}

static enum vv_verdict judge_success(const struct vv_parcel *parcel,
                                     const struct vv_response *response,
                                     struct vv_load_report *report)
{
    uint64_t lenient = count_lenient(response->refused, parcel->file, report);
    uint64_t accepted = parcel->points > lenient ? parcel->points - lenient : 0;
    if (response->accepted >= 0) {
        accepted = (uint64_t)response->accepted;
    }
    vv_load_report_accept(report, accepted);
    if (report->wants_times && accepted > 0) {
        note_times(parcel, NULL, report);
    }
    return VV_VERDICT_DONE;
}

/* Nothing was stored: lines that are not listed are of the same request, or are too many to be
 * listed. */
static void keep_all(const struct vv_parcel *parcel, json_t *lines, struct vv_load_report *report)
{
    struct cursor cursor = {.parcel = parcel};
    const char *reason = json_string_value(json_object_get(json_array_get(lines, 0), "reason"));
    for (size_t n = 1; n <= parcel->n_lines; n++) {
        json_t *item = item_of(lines, n);
        const char *own = json_string_value(json_object_get(item, "reason"));
        const char *detail = json_string_value(json_object_get(item, "detail"));
        reason = own ? own : reason;
        vv_load_report_keep(report, vv_str_of(reason ? reason : "other"), parcel->file,
                            parcel->numbers[n - 1],
                            item ? (detail ? detail : "") : "it goes with others that are refused",
                            text_of(&cursor, n));
    }
}

/* Lists of the server end somewhere. */
static void keep_refused(const struct vv_parcel *parcel, json_t *lines,
                         struct vv_load_report *report)
{
    size_t i;
    json_t *item;
    struct cursor cursor = {.parcel = parcel};
    uint64_t listed = 0; /* the last one */
    const char *reason = "other";
    const char *detail = "";
    json_array_foreach(lines, i, item)
    {
        json_int_t line = json_integer_value(json_object_get(item, "line"));
        bool is_known = line >= 1 && (uint64_t)line <= parcel->n_lines;
        reason = json_string_value(json_object_get(item, "reason"));
        reason = reason ? reason : "other";
        detail = json_string_value(json_object_get(item, "detail"));
        detail = detail ? detail : "";
        if (is_known && (uint64_t)line != listed) {
            vv_load_report_keep(report, vv_str_of(reason), parcel->file, parcel->numbers[line - 1],
                                detail, text_of(&cursor, (size_t)line));
            listed = (uint64_t)line;
        }
    }
    if (json_array_size(lines) >= LISTED_MAX) {
        vv_load_report_keep(report, VV_STR_LITERAL("other"), parcel->file,
                            listed > 0 ? parcel->numbers[listed - 1] : 0,
                            "behind this one there may be more, which the server did not list",
                            (struct vv_str){0});
    }
}

static void keep_examples(const struct vv_parcel *parcel, json_t *lines,
                          struct vv_load_report *report)
{
    size_t i;
    json_t *item;
    json_array_foreach(lines, i, item)
    {
        json_int_t line = json_integer_value(json_object_get(item, "line"));
        json_int_t column = json_integer_value(json_object_get(item, "column"));
        const char *reason = json_string_value(json_object_get(item, "reason"));
        const char *detail = json_string_value(json_object_get(item, "detail"));
        bool known = line >= 1 && (uint64_t)line <= parcel->n_lines;
        vv_load_report_example(report, vv_str_of(reason ? reason : "other"), parcel->file,
                               known ? parcel->numbers[line - 1] : 0,
                               column > 0 && column < UINT32_MAX ? (uint32_t)column : 0,
                               detail ? detail : "");
    }
}

/* A 400 that tells what was stored and what not. */
static enum vv_verdict judge_partial(const struct vv_parcel *parcel,
                                     const struct vv_response *response,
                                     struct vv_load_report *report, struct vv_error *error)
{
    const char *text = (const char *)response->body.data;
    json_t *root = json_loadb(text ? text : "", response->body.size, 0, NULL);
    json_t *accepted = json_object_get(root, "accepted");
    json_t *refused = json_object_get(root, "refused");
    enum vv_verdict verdict = VV_VERDICT_FATAL;
    bool is_answer = json_is_integer(accepted) && json_is_object(refused);
    if (is_answer && json_integer_value(accepted) == 0 && parcel->n_ends > 1) {
        verdict = VV_VERDICT_SPLIT;
    } else if (is_answer) {
        const char *reason;
        json_t *points;
        json_object_foreach(refused, reason, points)
        {
            vv_load_report_refuse(report, vv_str_of(reason), (uint64_t)json_integer_value(points));
        }
        vv_load_report_accept(report, (uint64_t)json_integer_value(accepted));
        if (report->wants_times && json_integer_value(accepted) > 0) {
            note_times(parcel, json_object_get(root, "lines"), report);
        }
        keep_examples(parcel, json_object_get(root, "lines"), report);
        if (report->refused_file && json_integer_value(accepted) == 0) {
            keep_all(parcel, json_object_get(root, "lines"), report);
        } else if (report->refused_file) {
            keep_refused(parcel, json_object_get(root, "lines"), report);
        }
        verdict = VV_VERDICT_DONE;
    } else {
        vv_response_message(response, error);
    }
    json_decref(root);
    return verdict;
}

enum vv_verdict vv_parcel_judge(const struct vv_parcel *parcel, const struct vv_response *response,
                                struct vv_load_report *report, struct vv_error *error)
{
    if (response->code >= 200 && response->code < 300) {
        return judge_success(parcel, response, report);
    }
    if (response->code == 400) {
        return judge_partial(parcel, response, report, error);
    }
    vv_response_message(response, error);
    return response->code == 408 || response->code == 429 || response->code >= 500
               ? VV_VERDICT_AGAIN
               : VV_VERDICT_FATAL;
}
