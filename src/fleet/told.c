/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The form of what is told, version 1; of tenants 2 of those that want something done with late
 * points, 3 of those that are whole from some time on only, 4 of classes, 5 of those whose
 * retention was shortened, 6 of those whose was made longer more than once, 7 of those whose
 * was shortened, however often, and 8 of those that were built again; of measurements 2 of those
 * that are in a class.
 * Integers are varints unless their size is named, signed ones
 * zigzag; a text is its size and its bytes. No checksum: who keeps the bytes has one.
 *
 *   u8 form, then by kind:
 *   tenant       retention in ns (signed), u64 stamp of the retention; form 2: late points
 *                (vv_late_pack), u64 stamp of that; form 3: these, and from when on it is whole
 *                in ns (signed), how long what is older lives in ns (signed); form 4: these,
 *                patterns, u64 stamp of them; form 5: these, until when the retention before counts
 *                in ns (signed), and that one (signed); forms 6 to 8 as 8 to 10 in
 *                registry/records.c
 *   measurement  form 2: name of the class
 *   metric       u8 type, size of the measurement's name, u64 stamp of the unit, unit,
 *                u64 stamp of the description, description
 *   source       u8 flags: 1 when the id is the whole tag set
 *   tags         their number; for each: key, value
 *   plan         u8 flags as of a source, number of plans (this one and all before it); for each:
 *                from in ns (signed), bucket in ns, span in ns, division; the last is from `item`
 *   markers      u8 flags as of a source, number of markers; for each: u8 scope, u8 flags (1:
 * swept), from in ns (signed), to in ns (signed), u64 stamp, of a measurement or a metric the
 *                measurement's name, of a metric its field and u8 type
 *
 *   heard        nothing
 *   move         u8 1: it is withdrawn; name of the class, empty: none
 *
 * Nothing may follow. `item` is 0 but for tags, plans, markers and moves.
 */
#include "fleet/told.h"

#define FORM_PLAIN     1
#define FORM_LATE      2 /* tenants only */
#define FORM_WHOLE     3 /* tenants only */
#define FORM_CLASS     4 /* tenants only */
#define FORM_SHORTER   5 /* tenants only */
#define FORM_LONGER    6 /* tenants only */
#define FORM_LIVES     7 /* tenants only */
#define FORM_BUILT     8 /* tenants only */
#define FORM_PLACED    2 /* measurements only */
#define FLAG_CANONICAL 1u
#define TAG_SIZE_MIN   4 /* two texts of one byte each */
#define MARKER_MIN     12
#define FLAG_SWEPT     1u

/* ---- encoding ---- */

static void encode_tags(const struct vv_told_content *content, struct vv_buffer *buffer)
{
    vv_buffer_varint(buffer, content->n);
    for (size_t i = 0; i < content->n; i++) {
        vv_buffer_sized(buffer, content->tags[i].key);
        vv_buffer_sized(buffer, content->tags[i].value);
    }
}

static void encode_plans(const struct vv_told_content *content, struct vv_buffer *buffer)
{
    vv_buffer_u8(buffer, content->canonical ? FLAG_CANONICAL : 0);
    vv_buffer_varint(buffer, content->n);
    for (size_t i = 0; i < content->n; i++) {
        vv_buffer_zigzag(buffer, content->plans[i].from_ns);
        vv_buffer_varint(buffer, (uint64_t)content->plans[i].bucket_ns);
        vv_buffer_varint(buffer, (uint64_t)content->plans[i].span_ns);
        vv_buffer_varint(buffer, vv_plan_division(&content->plans[i]));
    }
}

static uint8_t form_of(const struct vv_told_content *content)
{
    bool has_late = vv_late_pack(content->late) > 0 || content->late_stamp > 0;
    if (content->kind == VV_TOLD_MEASUREMENT && content->class_name.size > 0) {
        return FORM_PLACED;
    }
    if (content->kind != VV_TOLD_TENANT) {
        return FORM_PLAIN;
    }
    if (content->whole.built.longer_from > 0) {
        return FORM_BUILT;
    }
    if (vv_whole_has_lives(&content->whole)) {
        return FORM_LIVES;
    }
    if (content->whole.n > 1) {
        return FORM_LONGER;
    }
    if (content->patterns_stamp > 0) {
        return FORM_CLASS;
    }
    return content->whole.n > 0 ? FORM_WHOLE : has_late ? FORM_LATE : FORM_PLAIN;
}

static void encode_tenant(const struct vv_told_content *content, struct vv_buffer *buffer)
{
    vv_buffer_zigzag(buffer, content->retention_ns);
    vv_buffer_u64(buffer, content->retention_stamp);
    if (form_of(content) >= FORM_LATE) {
        vv_buffer_varint(buffer, vv_late_pack(content->late));
        vv_buffer_u64(buffer, content->late_stamp);
    }
    if (form_of(content) >= FORM_WHOLE) {
        vv_whole_encode_first(&content->whole, buffer);
    }
    if (form_of(content) >= FORM_CLASS) {
        vv_buffer_sized(buffer, content->patterns);
        vv_buffer_u64(buffer, content->patterns_stamp);
    }
    if (form_of(content) >= FORM_LONGER) {
        vv_whole_encode_rest(&content->whole, buffer);
    }
    if (form_of(content) >= FORM_LIVES) {
        vv_whole_encode_lives(&content->whole, buffer);
    }
    if (form_of(content) >= FORM_BUILT) {
        vv_whole_encode_built(&content->whole, buffer);
    }
}

static void encode_markers(const struct vv_told_content *content, struct vv_buffer *buffer)
{
    vv_buffer_u8(buffer, content->canonical ? FLAG_CANONICAL : 0);
    vv_buffer_varint(buffer, content->n);
    for (size_t i = 0; i < content->n; i++) {
        const struct vv_told_marker *told = &content->markers[i];
        vv_buffer_u8(buffer, told->marker.scope);
        vv_buffer_u8(buffer, told->marker.is_swept ? FLAG_SWEPT : 0);
        vv_buffer_zigzag(buffer, told->marker.from);
        vv_buffer_zigzag(buffer, told->marker.to);
        vv_buffer_u64(buffer, told->marker.stamp);
        if (told->marker.scope != VV_DELETION_SOURCE) {
            vv_buffer_sized(buffer, told->measurement);
        }
        if (told->marker.scope == VV_DELETION_METRIC) {
            vv_buffer_sized(buffer, told->field);
            vv_buffer_u8(buffer, (uint8_t)told->type);
        }
    }
}

void vv_told_encode(const struct vv_told_content *content, struct vv_buffer *buffer)
{
    vv_buffer_u8(buffer, form_of(content));
    switch (content->kind) {
    case VV_TOLD_TENANT:
        encode_tenant(content, buffer);
        break;
    case VV_TOLD_MEASUREMENT:
        if (content->class_name.size > 0) {
            vv_buffer_sized(buffer, content->class_name);
        }
        break;
    case VV_TOLD_HEARD:
        break;
    case VV_TOLD_MOVE:
        vv_buffer_u8(buffer, content->is_withdrawn);
        vv_buffer_sized(buffer, content->class_name);
        break;
    case VV_TOLD_METRIC:
        vv_buffer_u8(buffer, (uint8_t)content->type);
        vv_buffer_varint(buffer, content->measurement_size);
        vv_buffer_u64(buffer, content->described.unit_stamp);
        vv_buffer_sized(buffer, content->described.unit);
        vv_buffer_u64(buffer, content->described.description_stamp);
        vv_buffer_sized(buffer, content->described.description);
        break;
    case VV_TOLD_SOURCE:
        vv_buffer_u8(buffer, content->canonical ? FLAG_CANONICAL : 0);
        break;
    case VV_TOLD_TAGS:
        encode_tags(content, buffer);
        break;
    case VV_TOLD_PLAN:
        encode_plans(content, buffer);
        break;
    case VV_TOLD_MARKERS:
        encode_markers(content, buffer);
        break;
    }
}

/* ---- decoding ---- */

static bool read_canonical(struct vv_reader *reader, bool *canonical_out)
{
    uint8_t flags = vv_reader_u8(reader);
    *canonical_out = flags & FLAG_CANONICAL;
    return flags <= FLAG_CANONICAL;
}

static bool read_tenant(struct vv_reader *reader, uint8_t form, struct vv_told_content *out)
{
    out->retention_ns = vv_reader_zigzag(reader);
    out->retention_stamp = vv_reader_u64(reader);
    out->late = vv_late_unpack(form >= FORM_LATE ? vv_reader_varint(reader) : 0);
    out->late_stamp = form >= FORM_LATE ? vv_reader_u64(reader) : 0;
    out->whole = (struct vv_whole){0};
    if (form >= FORM_WHOLE) {
        vv_whole_read_first(reader, &out->whole);
    }
    out->patterns = form >= FORM_CLASS ? vv_reader_sized(reader) : (struct vv_str){"", 0};
    out->patterns_stamp = form >= FORM_CLASS ? vv_reader_u64(reader) : 0;
    if (form >= FORM_SHORTER) {
        vv_whole_read_last(reader, &out->whole);
    }
    if (form >= FORM_LONGER) {
        vv_whole_read_rest(reader, &out->whole);
    }
    if (form >= FORM_LIVES) {
        vv_whole_read_lives(reader, &out->whole);
    }
    if (form >= FORM_BUILT) {
        vv_whole_read_built(reader, &out->whole);
    }
    return out->patterns_stamp <= VV_TOLD_STAMP_MAX && out->retention_ns >= 0 &&
           out->retention_stamp <= VV_TOLD_STAMP_MAX && vv_late_is_good(out->late) &&
           out->late_stamp <= VV_TOLD_STAMP_MAX && vv_whole_is_good(&out->whole);
}

static bool read_measurement(struct vv_reader *reader, uint8_t form, struct vv_told_content *out)
{
    out->class_name = form >= FORM_PLACED ? vv_reader_sized(reader) : (struct vv_str){"", 0};
    return form == FORM_PLAIN || vv_space_is_class_name(out->class_name);
}

static bool read_move(struct vv_reader *reader, int64_t item, struct vv_told_content *out)
{
    uint8_t withdrawn = vv_reader_u8(reader);
    out->is_withdrawn = withdrawn;
    out->class_name = vv_reader_sized(reader);
    bool is_day = item > VV_TIME_MIN && item <= VV_TIME_MAX && item % VV_DAY == 0;
    return is_day && withdrawn <= 1 &&
           (out->class_name.size == 0 || vv_space_is_class_name(out->class_name));
}

static bool read_metric(struct vv_reader *reader, struct vv_str name, struct vv_told_content *out)
{
    uint8_t type = vv_reader_u8(reader);
    out->type = type == VV_INT64 ? VV_INT64 : VV_FLOAT64;
    uint64_t measurement_size = vv_reader_varint(reader);
    out->described.unit_stamp = vv_reader_u64(reader);
    out->described.unit = vv_reader_sized(reader);
    out->described.description_stamp = vv_reader_u64(reader);
    out->described.description = vv_reader_sized(reader);
    bool splits = measurement_size > 0 && name.size > 2 && measurement_size < name.size - 1 &&
                  name.data[measurement_size] == '.';
    out->measurement_size = splits ? (size_t)measurement_size : 0;
    return splits && (type == VV_FLOAT64 || type == VV_INT64) &&
           out->described.unit_stamp <= VV_TOLD_STAMP_MAX &&
           out->described.description_stamp <= VV_TOLD_STAMP_MAX;
}

static bool read_tags(struct vv_reader *reader, struct vv_told_content *out)
{
    uint64_t n = vv_reader_varint(reader);
    if (n > VV_TAGS_MAX || n > vv_reader_left(reader) / TAG_SIZE_MIN) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        out->tags[i].key = vv_reader_sized(reader);
        out->tags[i].value = vv_reader_sized(reader);
    }
    out->n = (size_t)n;
    return true;
}

static bool read_plans(struct vv_reader *reader, int64_t item, struct vv_told_content *out)
{
    bool good = read_canonical(reader, &out->canonical);
    uint64_t n = vv_reader_varint(reader);
    good = good && n > 0 && n <= VV_PLANS_MAX;
    for (size_t i = 0; good && i < n; i++) {
        out->plans[i] = (struct vv_plan){.from_ns = vv_reader_zigzag(reader)};
        out->plans[i].bucket_ns = (int64_t)vv_reader_varint(reader);
        out->plans[i].span_ns = (int64_t)vv_reader_varint(reader);
        good = vv_plan_divide(&out->plans[i], vv_reader_varint(reader)) &&
               out->plans[i].from_ns <= VV_TIME_MAX;
    }
    out->n = good ? (size_t)n : 0;
    return good && out->plans[n - 1].from_ns == item;
}

static bool read_marker(struct vv_reader *reader, struct vv_told_marker *out)
{
    *out = (struct vv_told_marker){.marker = {.scope = vv_reader_u8(reader)}};
    struct vv_marker *marker = &out->marker;
    uint8_t flags = vv_reader_u8(reader);
    uint8_t type = VV_FLOAT64;
    marker->is_swept = flags & FLAG_SWEPT;
    marker->from = vv_reader_zigzag(reader);
    marker->to = vv_reader_zigzag(reader);
    marker->stamp = vv_reader_u64(reader);
    bool has_measurement = marker->scope != VV_DELETION_SOURCE;
    bool has_field = marker->scope == VV_DELETION_METRIC;
    if (has_measurement) {
        out->measurement = vv_reader_sized(reader);
    }
    if (has_field) {
        out->field = vv_reader_sized(reader);
        type = vv_reader_u8(reader);
    }
    out->type = type == VV_INT64 ? VV_INT64 : VV_FLOAT64;
    return !reader->failed && marker->scope >= VV_DELETION_SOURCE &&
           marker->scope <= VV_DELETION_METRIC && flags <= FLAG_SWEPT &&
           marker->from >= VV_TIME_MIN && marker->from < marker->to &&
           marker->to <= VV_TIME_MAX + 1 && marker->stamp <= VV_TOLD_STAMP_MAX &&
           (!has_measurement || out->measurement.size > 0) && (!has_field || out->field.size > 0) &&
           (type == VV_FLOAT64 || type == VV_INT64);
}

static bool read_markers(struct vv_reader *reader, struct vv_told_content *out)
{
    bool good = read_canonical(reader, &out->canonical);
    uint64_t n = vv_reader_varint(reader);
    good = good && n <= VV_TOLD_MARKERS_MAX && n <= vv_reader_left(reader) / MARKER_MIN;
    for (size_t i = 0; good && i < n; i++) {
        good = read_marker(reader, &out->markers[i]);
    }
    out->n = good ? (size_t)n : 0;
    return good;
}

static bool read_content(struct vv_reader *reader, uint8_t form, const struct vv_told *told,
                         struct vv_told_content *out)
{
    bool named = told->name.size > 0;
    switch (out->kind) {
    case VV_TOLD_TENANT:
        return !named && told->item == 0 && read_tenant(reader, form, out);
    case VV_TOLD_MEASUREMENT:
        return named && told->item == 0 && read_measurement(reader, form, out);
    case VV_TOLD_METRIC:
        return named && told->item == 0 && read_metric(reader, told->name, out);
    case VV_TOLD_SOURCE:
        return named && told->item == 0 && read_canonical(reader, &out->canonical);
    case VV_TOLD_TAGS:
        return named && read_tags(reader, out);
    case VV_TOLD_PLAN:
        return named && read_plans(reader, told->item, out);
    case VV_TOLD_MARKERS:
        return named && told->item >= 0 && read_markers(reader, out);
    case VV_TOLD_HEARD:
        return !named && told->item == 0 && vv_space_class_name(told->tenant).size > 0 &&
               vv_space_place_name(told->tenant).size == told->tenant.size;
    case VV_TOLD_MOVE:
        return named && read_move(reader, told->item, out);
    }
    return false;
}

enum vv_status vv_told_decode(const struct vv_told *told, struct vv_told_content *content_out,
                              struct vv_error *error)
{
    struct vv_reader reader = vv_reader_of(told->value.data, told->value.size);
    uint8_t form = vv_reader_u8(&reader);
    content_out->kind = (enum vv_told_kind)told->kind;
    content_out->n = 0;
    uint8_t form_max = told->kind == VV_TOLD_TENANT        ? FORM_BUILT
                       : told->kind == VV_TOLD_MEASUREMENT ? FORM_PLACED
                                                           : FORM_PLAIN;
    if (told->kind > VV_TOLD_MOVE || form > form_max) {
        return vv_error_set(error, VV_NEWER,
                            "node %u tells of kind %u in form %u, which this program does not "
                            "know: use a newer program on all nodes",
                            (unsigned)told->node, (unsigned)told->kind, (unsigned)form);
    }
    bool good = told->kind != 0 && form != 0 && told->value.size <= VV_TOLD_VALUE_MAX &&
                read_content(&reader, form, told, content_out) && !reader.failed &&
                vv_reader_left(&reader) == 0;
    return good ? VV_OK
                : vv_error_set(error, VV_CORRUPT, "what node %u told (kind %u) is damaged",
                               (unsigned)told->node, (unsigned)told->kind);
}
