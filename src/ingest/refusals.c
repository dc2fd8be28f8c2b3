/* SPDX-License-Identifier: Apache-2.0 */
/* Refusals: counted by reason, and some kept with their place and a text for the answer. */
#include "base/clock.h"
#include "ingest/staging_private.h"

#include <stdio.h>

#define NAME_SHOWN_MAX 48 /* bytes of a name that a text shows */

static const char *const reason_names[VV_REASON_COUNT] = {
    [VV_REASON_SYNTAX] = "syntax",       [VV_REASON_TYPE] = "type",
    [VV_REASON_UNSIGNED] = "unsigned",   [VV_REASON_STRING] = "string",
    [VV_REASON_FUTURE] = "future",       [VV_REASON_PAST] = "past",
    [VV_REASON_RETENTION] = "retention", [VV_REASON_LATE] = "late",
    [VV_REASON_LIMIT] = "limit",         [VV_REASON_NAME] = "name",
    [VV_REASON_OVERLOAD] = "overload",
};

const char *vv_reason_name(enum vv_reason reason)
{
    vv_invariant(reason < VV_REASON_COUNT);
    return reason_names[reason];
}

enum vv_reason vv_reason_of(enum vv_status status)
{
    switch (status) {
    case VV_INVALID:
        return VV_REASON_SYNTAX;
    case VV_TOO_LARGE:
        return VV_REASON_LIMIT;
    case VV_EXISTS:
        return VV_REASON_NAME;
    default:
        return VV_REASON_OVERLOAD;
    }
}

void vv_refuse_points(struct vv_staging *staging, enum vv_reason reason, uint64_t n)
{
    staging->points_received += n;
    staging->refused[reason] += n;
    if (!vv_reason_is_lenient(reason)) {
        staging->refused_strict += n;
    }
}

/* The length of the well-formed UTF-8 character at text, or 0; control characters count as not
 * well-formed. */
static size_t shown_character(const char *text, size_t size)
{
    const unsigned char *byte = (const unsigned char *)text;
    if (byte[0] < 0x80) {
        return byte[0] >= 0x20 && byte[0] != 0x7f;
    }
    size_t length = byte[0] >= 0xf0 ? 4 : byte[0] >= 0xe0 ? 3 : 2;
    if (byte[0] < 0xc2 || byte[0] > 0xf4 || length > size) {
        return 0;
    }
    for (size_t i = 1; i < length; i++) {
        if ((byte[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    bool overlong = (byte[0] == 0xe0 && byte[1] < 0xa0) || (byte[0] == 0xf0 && byte[1] < 0x90);
    bool surrogate = byte[0] == 0xed && byte[1] >= 0xa0;
    bool too_high = byte[0] == 0xf4 && byte[1] >= 0x90;
    bool control = byte[0] == 0xc2 && byte[1] < 0xa0;
    return overlong || surrogate || too_high || control ? 0 : length;
}

/* Copies text with '?' for what cannot be shown, cut at a character to fit. Returns the length. */
static size_t clean_copy(char *out, size_t out_size, struct vv_str text)
{
    size_t length = 0;
    for (size_t at = 0; at < text.size;) {
        size_t step = shown_character(text.data + at, text.size - at);
        if (length + (step ? step : 1) >= out_size) {
            break;
        }
        if (step) {
            memcpy(out + length, text.data + at, step);
            length += step;
            at += step;
        } else {
            out[length++] = '?';
            at++;
        }
    }
    out[length] = '\0';
    return length;
}

/* The last lenient one of those that are kept, or VV_REFUSALS_KEPT. */
static size_t last_lenient(const struct vv_staging *staging)
{
    for (size_t i = staging->n_refusals; i-- > 0;) {
        if (vv_reason_is_lenient(staging->refusals[i].reason)) {
            return i;
        }
    }
    return VV_REFUSALS_KEPT;
}

/* Whether a refusal would be kept: writing texts that nobody sees is slow. */
static bool has_place(const struct vv_staging *staging, enum vv_reason reason)
{
    return staging->n_refusals < VV_REFUSALS_KEPT ||
           (!vv_reason_is_lenient(reason) && last_lenient(staging) < VV_REFUSALS_KEPT);
}

void vv_refusal_keep(struct vv_staging *staging, uint64_t line, uint32_t column,
                     enum vv_reason reason, const char *detail)
{
    if (!has_place(staging, reason)) {
        return;
    }
    if (staging->n_refusals == VV_REFUSALS_KEPT) {
        /* Strict ones push lenient ones out: they are why the answer is an error. */
        size_t gone = last_lenient(staging);
        memmove(&staging->refusals[gone], &staging->refusals[gone + 1],
                (VV_REFUSALS_KEPT - 1 - gone) * sizeof staging->refusals[0]);
        staging->n_refusals--;
    }
    struct vv_refusal *refusal = &staging->refusals[staging->n_refusals++];
    refusal->line = line;
    refusal->column = column;
    refusal->reason = reason;
    clean_copy(refusal->detail, sizeof refusal->detail, vv_str_of(detail));
}

static bool list_has(const char *list, const char *name, size_t size)
{
    for (const char *at = list; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, name, size) == 0 && (at[size] == '\0' || at[size] == ',')) {
            return true;
        }
    }
    return false;
}

/* Adds a name to those that were refused leniently, when it fits; false when it is there. */
static bool list_lenient(struct vv_staging *staging, struct vv_str name)
{
    char clean[sizeof staging->lenient_fields];
    size_t size = clean_copy(clean, sizeof clean, name);
    size_t used = strlen(staging->lenient_fields);
    if (list_has(staging->lenient_fields, clean, size)) {
        return false;
    }
    if (used + size + 2 <= sizeof staging->lenient_fields) {
        if (used > 0) {
            staging->lenient_fields[used++] = ',';
        }
        memcpy(staging->lenient_fields + used, clean, size + 1);
    }
    return true;
}

/* What is wrong with a field, behind its name. */
static const char *miss_text(const struct vv_miss *miss)
{
    switch (miss->reason) {
    case VV_REASON_TYPE:
        return miss->kind == VV_FIELD_FLOAT
                   ? "holds int64 since its first value, this is a float: send whole numbers, or "
                     "use another name"
                   : "holds float64, which is not exact for this integer beyond 2^53";
    case VV_REASON_STRING:
        return "is a string: only numbers and booleans are stored";
    case VV_REASON_UNSIGNED:
        return "is above the largest int64, 9223372036854775807";
    default:
        return "is refused";
    }
}

void vv_refuse_miss(struct vv_staging *staging, const struct vv_miss *miss, const char *cause)
{
    struct vv_slot *slot = &staging->row->shape->slots[miss->slot];
    bool lenient = vv_reason_is_lenient(miss->reason);
    vv_refuse_points(staging, miss->reason, 1);
    if (lenient) { /* the first of each name is enough */
        bool known = slot->listed;
        slot->listed = true;
        if (known || !list_lenient(staging, slot->name)) {
            return;
        }
    }
    if (!has_place(staging, miss->reason)) {
        return;
    }
    char name[NAME_SHOWN_MAX];
    size_t length = clean_copy(name, sizeof name, slot->name);
    char detail[sizeof staging->refusals[0].detail];
    snprintf(detail, sizeof detail, "field '%s%s' %s", name, length < slot->name.size ? "…" : "",
             cause ? cause : miss_text(miss));
    vv_refusal_keep(staging, staging->row->line, miss->column, miss->reason, detail);
}

static void time_text(const struct vv_staging *staging, enum vv_reason reason,
                      const struct vv_staging_class *class, const char *time, char *out,
                      size_t out_size)
{
    const struct vv_staging_options *options = &staging->options;
    bool freezes = class ? class->freezes : options->freezes;
    char length[VV_TIME_TEXT_SIZE];
    int64_t bound = reason == VV_REASON_FUTURE ? options->future_ns_max
                    : reason == VV_REASON_PAST ? options->past_ns_max
                    : reason == VV_REASON_LATE ? options->late_ns_max
                    : class                    ? class->retention_ns
                                               : options->retention_ns;
    vv_duration_format(bound, length);
    if (reason == VV_REASON_RETENTION && freezes) {
        snprintf(out, out_size,
                 "time %s lies in a frozen span: tiers are built of points up to %s old", time,
                 length);
    } else if (reason == VV_REASON_RETENTION) {
        snprintf(out, out_size, "time %s is older than the %s's retention of %s", time,
                 class ? "class" : "tenant", length);
    } else if (reason == VV_REASON_LATE) {
        snprintf(out, out_size, "time %s is older than %s: the tenant refuses what comes so late",
                 time, length);
    } else {
        snprintf(out, out_size, "time %s is more than %s in the %s: check precision and clock",
                 time, length, reason == VV_REASON_FUTURE ? "future" : "past");
    }
}

/* Counts all fields of the row; whether a text about them would be kept. */
static bool refuse_fields(struct vv_staging *staging, enum vv_reason reason)
{
    uint32_t fields = vv_row_fields(staging->row);
    vv_refuse_points(staging, reason, fields);
    return fields > 0 && has_place(staging, reason);
}

void vv_refuse_time(struct vv_staging *staging, enum vv_reason reason, int64_t time)
{
    if (!refuse_fields(staging, reason)) {
        return;
    }
    char detail[sizeof staging->refusals[0].detail];
    char text[VV_TIME_TEXT_SIZE];
    vv_time_format(time, text);
    if (time < VV_TIME_MIN || time > VV_TIME_MAX) {
        snprintf(detail, sizeof detail,
                 "the time is outside of the years 1684 to 2255: check the precision");
    } else {
        time_text(staging, reason, vv_row_class(staging, time), text, detail, sizeof detail);
    }
    vv_refusal_keep(staging, staging->row->line, 0, reason, detail);
}

void vv_refuse_frozen(struct vv_staging *staging, int64_t time, uint64_t line, uint32_t n)
{
    vv_refuse_points(staging, VV_REASON_RETENTION, n);
    if (!has_place(staging, VV_REASON_RETENTION)) {
        return;
    }
    char detail[sizeof staging->refusals[0].detail];
    char text[VV_TIME_TEXT_SIZE];
    vv_time_format(time, text);
    snprintf(detail, sizeof detail,
             "time %s lies in a frozen span: what tiers have of it was built of points that have "
             "expired since",
             text);
    vv_refusal_keep(staging, line, 0, VV_REASON_RETENTION, detail);
}
