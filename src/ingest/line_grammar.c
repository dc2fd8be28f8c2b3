/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One line of line protocol:
 *
 *   measurement[,tag=value …] field=value[,field=value …] [time]
 *
 * A backslash escapes ',' and ' ' in a measurement, also '=' in tags and field names, and '"' and
 * '\' in strings; before anything else it stands for itself. So in names a special byte counts
 * unless a backslash is right before it, and two backslashes are just two backslashes.
 */
#include "ingest/decimal.h"
#include "ingest/line_private.h"

#include <stdio.h>
#include <stdlib.h>

#define EXCERPT_MAX 24 /* bytes of the line that a text shows */

#define EXPECTED_LINE                                                                              \
    "no fields: a line is measurement[,tag=value…] field=value[,field=value…] [time]"

static enum vv_line_outcome fail(struct vv_line *line, const char *at, const char *problem)
{
    line->stop = at;
    line->problem = problem;
    return VV_LINE_REFUSED;
}

/* ---- names ---- */

static bool is_special(char byte)
{
    return byte == ',' || byte == '=' || byte == ' ';
}

/* The first of two bytes that no backslash stands before, or end. */
static const char *find_either(const char *at, const char *end, char one, char other)
{
    for (; at < end; at++) {
        if (*at == '\\' && at + 1 < end && is_special(at[1])) {
            at++;
        } else if (*at == one || *at == other) {
            return at;
        }
    }
    return end;
}

/* The end of a field's name: '=', or ',' or ' ' where that is missing, or end. */
static const char *find_name_end(const char *at, const char *end)
{
    for (; at < end; at++) {
        if (*at == '\\' && at + 1 < end && is_special(at[1])) {
            at++;
        } else if (is_special(*at)) {
            return at;
        }
    }
    return end;
}

/* Room for names of this line without escapes; before the first of them. */
static bool reserve_scratch(struct vv_line_parser *parser, const struct vv_line *line)
{
    size_t size = (size_t)(line->end - line->start);
    if (parser->scratch_used > 0 || size <= parser->scratch_capacity) {
        return true;
    }
    free(parser->scratch);
    parser->scratch = malloc(size);
    parser->scratch_capacity = parser->scratch ? size : 0;
    parser->staging->out_of_memory |= !parser->scratch;
    return parser->scratch != NULL;
}

/* The text without the backslashes that escape; `equals`: whether '=' can be escaped. Without
 * memory the text stays as it is, and the line is lost anyhow. */
static struct vv_str unescape(struct vv_line_parser *parser, const struct vv_line *line,
                              const char *start, const char *end, bool equals)
{
    struct vv_str text = {start, (size_t)(end - start)};
    if (!memchr(start, '\\', text.size) || !reserve_scratch(parser, line)) {
        return text;
    }
    char *out = parser->scratch + parser->scratch_used;
    size_t size = 0;
    for (const char *at = start; at < end; at++) {
        if (*at == '\\' && at + 1 < end && is_special(at[1]) && (equals || at[1] != '=')) {
            at++;
        }
        out[size++] = *at;
    }
    parser->scratch_used += size;
    return (struct vv_str){out, size};
}

/* ---- measurement and tags ---- */

/* The end of measurement and tags: the first space that is not escaped, or end. */
static const char *find_key_end(const char *start, const char *end)
{
    const char *space = start;
    do {
        space = memchr(space, ' ', (size_t)(end - space));
        if (!space) {
            return end;
        }
        space++;
    } while (space - 1 > start && space[-2] == '\\');
    return space - 1;
}

static enum vv_line_outcome read_tag(struct vv_line_parser *parser, struct vv_line *line,
                                     const char *start, const char *end, struct vv_tag *tag_out)
{
    const char *equals = find_either(start, end, '=', '=');
    if (equals == start) {
        return fail(line, start, "a tag without a name: tags are ,name=value");
    }
    if (equals == end) {
        return fail(line, start, "a tag without '=': tags are ,name=value");
    }
    const char *second = find_either(equals + 1, end, '=', '=');
    if (second != end) {
        return fail(line, second, "a second '=' in a tag: write \\= in names and values");
    }
    tag_out->key = unescape(parser, line, start, equals, true);
    tag_out->value = unescape(parser, line, equals + 1, end, true);
    return VV_LINE_DONE;
}

static enum vv_line_outcome read_key(struct vv_line_parser *parser, struct vv_line *line,
                                     const char *start, const char *end)
{
    const char *at = find_either(start, end, ',', ',');
    if (at == start) {
        return fail(line, start, "no measurement: a line begins with its name");
    }
    struct vv_str measurement = unescape(parser, line, start, at, false);
    size_t n = 0;
    while (at < end) {
        const char *tag_end = find_either(at + 1, end, ',', ',');
        if (n == VV_TAGS_MAX) {
            line->reason = VV_REASON_LIMIT;
            return fail(line, at, "more than 256 tags");
        }
        enum vv_line_outcome outcome = read_tag(parser, line, at + 1, tag_end, &parser->tags[n]);
        if (outcome != VV_LINE_DONE) {
            return outcome;
        }
        n++;
        at = tag_end;
    }
    vv_staging_identify(parser->staging, measurement, parser->tags, n);
    return VV_LINE_DONE;
}

/* ---- values ---- */

const char *vv_line_string_end(const char *quote, const char *from, const char *end)
{
    while (from < end) {
        const char *found = memchr(from, '"', (size_t)(end - from));
        if (!found) {
            return NULL;
        }
        const char *before = found;
        while (before - 1 > quote && before[-1] == '\\') {
            before--;
        }
        if ((found - before) % 2 == 0) {
            return found;
        }
        from = found + 1;
    }
    return NULL;
}

/* Reads a boolean from the front: NULL if there is none. */
static const char *read_boolean(const char *at, const char *end, bool *value_out)
{
    static const char *const words[] = {"true",  "True", "TRUE", "false", "False",
                                        "FALSE", "t",    "T",    "f",     "F"};
    size_t size = 0;
    while (at + size < end && at[size] != ',' && at[size] != ' ') {
        size++;
    }
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strlen(words[i]) == size && memcmp(words[i], at, size) == 0) {
            *value_out = *at == 't' || *at == 'T';
            return at + size;
        }
    }
    return NULL;
}

/* A value as it goes to the row. */
struct value {
    enum vv_field_kind kind; /* NONE: refused for `reason` */
    enum vv_reason reason;
    uint64_t bits;
};

static enum vv_line_outcome read_string(struct vv_line *line, const char **at, struct value *value)
{
    const char *closing = vv_line_string_end(*at, *at + 1, line->end);
    if (!closing) {
        line->stop = *at;
        line->problem = "a string that is opened here and never closed: end it with '\"', and "
                        "write \\\" inside";
        return VV_LINE_OPEN;
    }
    *at = closing + 1;
    value->kind = VV_FIELD_NONE;
    value->reason = VV_REASON_STRING;
    return VV_LINE_DONE;
}

static enum vv_line_outcome read_word(struct vv_line *line, const char **at, struct value *value)
{
    bool truth = false;
    const char *word_end = read_boolean(*at, line->end, &truth);
    if (!word_end) {
        return fail(line, *at,
                    "not a value: booleans are t T true True TRUE f F false False FALSE");
    }
    *at = word_end;
    value->kind = VV_FIELD_BOOL;
    value->bits = truth;
    return VV_LINE_DONE;
}

static inline enum vv_line_outcome read_number(struct vv_line *line, const char **at,
                                               struct value *value)
{
    struct vv_decimal number;
    *at = vv_decimal_parse(*at, line->end, &number);
    switch (number.kind) {
    case VV_DECIMAL_FLOAT:
        value->kind = VV_FIELD_FLOAT;
        break;
    case VV_DECIMAL_INT:
        value->kind = VV_FIELD_INT;
        break;
    case VV_DECIMAL_ABOVE_INT:
        value->kind = VV_FIELD_NONE;
        value->reason = VV_REASON_UNSIGNED;
        return VV_LINE_DONE;
    default:
        return fail(line, *at, number.problem);
    }
    value->bits = number.bits;
    return VV_LINE_DONE;
}

static inline enum vv_line_outcome read_value(struct vv_line *line, const char **at,
                                              struct value *value)
{
    char first = *at < line->end ? **at : ' ';
    if (first == '"') {
        return read_string(line, at, value);
    }
    if (first == 't' || first == 'T' || first == 'f' || first == 'F') {
        return read_word(line, at, value);
    }
    return read_number(line, at, value);
}

/* ---- fields ---- */

/* Whether the field at `at` has the slot's name. Names are padded, so that whole words compare. */
static inline bool is_named(const struct vv_slot *slot, const char *at, const char *end)
{
    size_t size = slot->name.size;
    if (!slot->plain || (size_t)(end - at) <= size || at[size] != '=') {
        return false;
    }
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    if ((size_t)(end - at) >= size + 8) {
        size_t i = 0;
        uint64_t found;
        uint64_t wanted;
        for (; i + 8 <= size; i += 8) {
            memcpy(&found, at + i, 8);
            memcpy(&wanted, slot->name.data + i, 8);
            if (found != wanted) {
                return false;
            }
        }
        memcpy(&found, at + i, 8);
        memcpy(&wanted, slot->name.data + i, 8);
        return ((found ^ wanted) & ((UINT64_C(1) << size % 8 * 8) - 1)) == 0;
    }
#endif
    return memcmp(slot->name.data, at, size) == 0;
}

/* Reads a name up to behind its '='. */
static enum vv_line_outcome read_name(struct vv_line *line, const char **at)
{
    const char *name = *at;
    const char *equals = find_name_end(name, line->end);
    if (equals == line->end || *equals != '=') {
        return fail(line, name,
                    equals == name ? "no field here: fields are name=value, separated by ','"
                                   : "a field without '=': fields are name=value");
    }
    if (equals == name) {
        return fail(line, name, "a field without a name: fields are name=value");
    }
    *at = equals + 1;
    return VV_LINE_DONE;
}

/* The same for a field that is not the predicted one; its slot is NULL when memory is out. */
static __attribute__((noinline)) enum vv_line_outcome find_slot(struct vv_line_parser *parser,
                                                                struct vv_line *line,
                                                                const char **at,
                                                                struct vv_slot **slot_out)
{
    const char *name = *at;
    enum vv_line_outcome outcome = read_name(line, at);
    if (outcome == VV_LINE_DONE) {
        *slot_out = vv_row_slot(parser->staging, unescape(parser, line, name, *at - 1, true));
    }
    return outcome;
}

static inline void put_value(struct vv_line_parser *parser, const struct vv_line *line,
                             struct vv_slot *slot, const struct value *value, const char *name)
{
    uint32_t column = (uint32_t)(name - line->start) + 1;
    if (value->kind == VV_FIELD_NONE) {
        vv_row_miss(parser->staging, slot, value->reason, VV_FIELD_NONE, column);
    } else {
        vv_row_put(parser->staging, slot, value->kind, value->bits, column);
    }
}

/* Reads one field; *at is then behind its value. With `staged` it goes to the row. */
static inline __attribute__((always_inline)) enum vv_line_outcome read_field(
    struct vv_line_parser *parser, struct vv_line *line, const char **at, bool staged)
{
    const char *name = *at;
    struct vv_slot *slot = NULL;
    struct value value = {0};
    enum vv_line_outcome outcome = VV_LINE_DONE;
    if (!staged) {
        outcome = read_name(line, at);
    } else {
        slot = vv_row_predicted(parser->staging->row);
        if (is_named(slot, name, line->end)) {
            *at += slot->name.size + 1;
        } else {
            outcome = find_slot(parser, line, at, &slot);
        }
    }
    if (outcome == VV_LINE_DONE) {
        outcome = read_value(line, at, &value);
    }
    if (outcome == VV_LINE_DONE && slot) {
        put_value(parser, line, slot, &value, name);
    }
    return outcome;
}

/* Reads fields up to what follows them: *at_out is the end or a space. */
static inline __attribute__((always_inline)) enum vv_line_outcome read_fields(
    struct vv_line_parser *parser, struct vv_line *line, const char *at, bool staged,
    const char **at_out)
{
    for (;; at++) {
        const char *name = at;
        enum vv_line_outcome outcome = read_field(parser, line, &at, staged);
        if (outcome != VV_LINE_DONE) {
            line->field = name;
            return outcome;
        }
        if (at == line->end || *at == ' ') {
            *at_out = at;
            return VV_LINE_DONE;
        }
        if (*at != ',') {
            return fail(line, at, "after a value comes ',' and a field, or a space and the time");
        }
    }
}

/* ---- the line ---- */

static const char *skip_spaces(const char *at, const char *end)
{
    while (at < end && *at == ' ') {
        at++;
    }
    return at;
}

/* Reads the time, if there is one. */
static enum vv_line_outcome read_time(struct vv_line_parser *parser, struct vv_line *line,
                                      const char *at, bool *present_out, int64_t *time_out)
{
    at = skip_spaces(at, line->end);
    *present_out = at < line->end;
    if (!*present_out) {
        return VV_LINE_DONE;
    }
    const char *time_end = vv_decimal_time(at, line->end, parser->unit_ns, time_out);
    if (!time_end) {
        return fail(line, at, "not a time: a whole number in the request's precision");
    }
    time_end = skip_spaces(time_end, line->end);
    if (time_end < line->end) {
        return fail(line, time_end, "after the time, which is a whole number, nothing may follow");
    }
    return VV_LINE_DONE;
}

enum vv_line_outcome vv_line_check(struct vv_line_parser *parser, struct vv_line *line,
                                   const char *field)
{
    const char *at = field;
    return read_fields(parser, line, field, false, &at);
}

/* Begins the row and finds out which series it is. */
static enum vv_line_outcome begin_row(struct vv_line_parser *parser, struct vv_line *line,
                                      const char *start, const char *end)
{
    struct vv_str raw = {start, (size_t)(end - start)};
    if (vv_staging_begin(parser->staging, raw, line->number)) {
        return VV_LINE_DONE;
    }
    return read_key(parser, line, start, end);
}

static enum vv_line_outcome stage_fields(struct vv_line_parser *parser, struct vv_line *line,
                                         const char *at)
{
    bool has_time = false;
    int64_t time = 0;
    enum vv_line_outcome outcome = read_fields(parser, line, at, true, &at);
    if (outcome == VV_LINE_DONE) {
        outcome = read_time(parser, line, at, &has_time, &time);
    }
    if (outcome != VV_LINE_DONE) {
        return outcome;
    }
    if (has_time) {
        vv_staging_end(parser->staging, time);
    } else {
        vv_staging_end_now(parser->staging);
    }
    return VV_LINE_DONE;
}

static enum vv_line_outcome read_line(struct vv_line_parser *parser, struct vv_line *line)
{
    const char *start = line->start;
    while (start < line->end && (*start == ' ' || *start == '\t')) {
        start++;
    }
    if (start == line->end || *start == '#') {
        return VV_LINE_DONE;
    }
    const char *key_end = find_key_end(start, line->end);
    const char *fields = skip_spaces(key_end, line->end);
    if (fields == line->end) {
        return fail(line, fields, EXPECTED_LINE);
    }
    enum vv_line_outcome outcome = begin_row(parser, line, start, key_end);
    if (outcome != VV_LINE_DONE) {
        return outcome;
    }
    if (parser->staging->out_of_memory) {
        line->reason = VV_REASON_OVERLOAD;
        return fail(line, start, "memory is out");
    }
    return stage_fields(parser, line, fields);
}

enum vv_line_outcome vv_line_stage(struct vv_line_parser *parser, struct vv_line *line)
{
    parser->scratch_used = 0;
    enum vv_line_outcome outcome = read_line(parser, line);
    if (outcome == VV_LINE_REFUSED) {
        vv_line_refuse(parser, line);
    } else if (outcome == VV_LINE_OPEN) {
        vv_staging_drop(parser->staging);
    }
    return outcome;
}

void vv_line_refuse(struct vv_line_parser *parser, const struct vv_line *line)
{
    char detail[sizeof parser->staging->refusals[0].detail];
    size_t left = line->stop < line->end ? (size_t)(line->end - line->stop) : 0;
    int shown = (int)(left < EXCERPT_MAX ? left : EXCERPT_MAX);
    if (left == 0) {
        snprintf(detail, sizeof detail, "%s; the line ends here", line->problem);
    } else {
        snprintf(detail, sizeof detail, "%s; found '%.*s%s'", line->problem, shown, line->stop,
                 left > EXCERPT_MAX ? "…" : "");
    }
    vv_staging_refuse_line(parser->staging, line->number, (uint32_t)(line->stop - line->start) + 1,
                           line->reason, detail);
}
