/* SPDX-License-Identifier: Apache-2.0 */
/* Answers as JSON. */
#include "query/writer.h"

#include "query/route.h"
#include "tier/unit.h"

#include <math.h>

#define ROW_TEXT_MAX (VV_TIME_TEXT_SIZE + 8) /* without the cells */

/* ---- texts ---- */

static void write_escape(struct vv_buffer *buffer, char c)
{
    switch (c) {
    case '"':
        vv_buffer_text(buffer, "\\\"");
        break;
    case '\\':
        vv_buffer_text(buffer, "\\\\");
        break;
    case '\n':
        vv_buffer_text(buffer, "\\n");
        break;
    case '\r':
        vv_buffer_text(buffer, "\\r");
        break;
    case '\t':
        vv_buffer_text(buffer, "\\t");
        break;
    default:
        vv_buffer_format(buffer, "\\u%04x", (unsigned)(uint8_t)c);
        break;
    }
}

static void write_text(struct vv_buffer *buffer, struct vv_str text)
{
    vv_buffer_u8(buffer, '"');
    size_t start = 0;
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        if (c == '"' || c == '\\' || (uint8_t)c < 0x20) {
            vv_buffer_append(buffer, text.data + start, i - start);
            write_escape(buffer, c);
            start = i + 1;
        }
    }
    if (text.size > start) {
        vv_buffer_append(buffer, text.data + start, text.size - start);
    }
    vv_buffer_u8(buffer, '"');
}

static void write_tag(struct vv_buffer *buffer, size_t index, struct vv_str key,
                      struct vv_str value)
{
    if (index > 0) {
        vv_buffer_u8(buffer, ',');
    }
    write_text(buffer, key);
    vv_buffer_u8(buffer, ':');
    write_text(buffer, value);
}

static size_t time_text(struct vv_writer *writer, int64_t time, char *out)
{
    if (writer->times.format != VV_TIME_RFC3339) {
        return vv_time_write(&writer->times, time, out);
    }
    out[0] = '"';
    size_t size = vv_time_write(&writer->times, time, out + 1);
    out[size + 1] = '"';
    return size + 2;
}

/* ---- series ---- */

static void begin(struct vv_writer *writer, struct vv_buffer *buffer)
{
    const struct vv_writer_layout *layout = &writer->layout;
    vv_buffer_text(buffer, "{\"tenant\":");
    write_text(buffer, layout->tenant);
    if (layout->key.data) {
        vv_buffer_text(buffer, ",\"key\":");
        write_text(buffer, layout->key);
    }
    vv_buffer_format(buffer, ",\"%s\":[", layout->name ? layout->name : "series");
    writer->begun = true;
}

static void write_columns(struct vv_writer *writer, struct vv_buffer *buffer)
{
    const struct vv_writer_layout *layout = &writer->layout;
    vv_buffer_text(buffer, ",\"columns\":[\"time\"");
    if (layout->n_aggregates == 0) {
        vv_buffer_text(buffer, ",\"value\"");
    }
    for (size_t i = 0; i < layout->n_aggregates; i++) {
        vv_buffer_u8(buffer, ',');
        write_text(buffer, layout->aggregates[i].name);
    }
    vv_buffer_u8(buffer, ']');
}

static void series_begin(struct vv_writer *writer, struct vv_buffer *buffer,
                         const struct vv_writer_series *series)
{
    const struct vv_writer_layout *layout = &writer->layout;
    vv_buffer_text(buffer, writer->items++ > 0 ? ",\n{\"source\":" : "\n{\"source\":");
    if (series->source.data) {
        write_text(buffer, series->source);
    } else {
        vv_buffer_text(buffer, "null");
    }
    vv_buffer_text(buffer, ",\"tags\":{");
    for (size_t i = 0; i < layout->n_group_tags; i++) {
        write_tag(buffer, i, layout->group_tags[i], series->values[i]);
    }
    vv_buffer_text(buffer, "},\"metric\":");
    write_text(buffer, series->metric);
    vv_buffer_text(buffer, ",\"unit\":");
    write_text(buffer, series->unit);
    write_columns(writer, buffer);
    vv_buffer_text(buffer, ",\"points\":[");
    writer->in_series = true;
    writer->rows = 0;
}

static size_t row_size_max(const struct vv_writer *writer, size_t n)
{
    (void)writer;
    return ROW_TEXT_MAX + n * (VV_CELL_TEXT_SIZE + 1);
}

static size_t row(struct vv_writer *writer, char *out, int64_t time, const struct vv_cell *cells,
                  size_t n)
{
    size_t size = 0;
    if (writer->rows++ > 0) {
        out[size++] = ',';
    }
    out[size++] = '[';
    size += time_text(writer, time, out + size);
    for (size_t i = 0; i < n; i++) {
        out[size++] = ',';
        size += cells[i].kind == VV_CELL_TIME ? time_text(writer, cells[i].integer, out + size)
                                              : vv_cell_write(cells[i], true, out + size);
    }
    out[size++] = ']';
    return size;
}

static void series_end(struct vv_writer *writer, struct vv_buffer *buffer)
{
    vv_buffer_text(buffer, "]}");
    writer->in_series = false;
}

/* ---- lists ---- */

static void record_begin(struct vv_writer *writer, struct vv_buffer *buffer)
{
    vv_buffer_text(buffer, writer->items++ > 0 ? ",\n{" : "\n{");
    writer->in_record = true;
    writer->field = 0;
}

static void write_field_name(struct vv_writer *writer, struct vv_buffer *buffer)
{
    vv_invariant(writer->field < writer->layout.n_columns);
    vv_buffer_format(buffer, "%s\"%s\":", writer->field > 0 ? "," : "",
                     writer->layout.columns[writer->field]);
    writer->field++;
}

static void field_text(struct vv_writer *writer, struct vv_buffer *buffer, struct vv_str text)
{
    write_field_name(writer, buffer);
    write_text(buffer, text);
}

static void field_cell(struct vv_writer *writer, struct vv_buffer *buffer, struct vv_cell cell)
{
    char text[VV_CELL_TEXT_SIZE];
    write_field_name(writer, buffer);
    vv_buffer_append(buffer, text, vv_cell_write(cell, true, text));
}

static void write_time(struct vv_writer *writer, struct vv_buffer *buffer, int64_t time, bool known)
{
    char text[VV_TIME_TEXT_SIZE + 2];
    if (known) {
        vv_buffer_append(buffer, text, time_text(writer, time, text));
    } else {
        vv_buffer_text(buffer, "null");
    }
}

static void field_time(struct vv_writer *writer, struct vv_buffer *buffer, int64_t time, bool known)
{
    write_field_name(writer, buffer);
    write_time(writer, buffer, time, known);
}

static void write_tags(struct vv_buffer *buffer, const struct vv_tag *tags, size_t n)
{
    vv_buffer_u8(buffer, '{');
    for (size_t i = 0; i < n; i++) {
        write_tag(buffer, i, tags[i].key, tags[i].value);
    }
    vv_buffer_u8(buffer, '}');
}

static void field_tags(struct vv_writer *writer, struct vv_buffer *buffer,
                       const struct vv_tag *tags, size_t n)
{
    write_field_name(writer, buffer);
    write_tags(buffer, tags, n);
}

static void field_history(struct vv_writer *writer, struct vv_buffer *buffer,
                          const struct vv_tag_version *versions, size_t n)
{
    write_field_name(writer, buffer);
    vv_buffer_u8(buffer, '[');
    for (size_t i = 0; i < n; i++) {
        vv_buffer_text(buffer, i > 0 ? ",{\"from\":" : "{\"from\":");
        write_time(writer, buffer, versions[i].from_ns, versions[i].from_ns > VV_TIME_MIN);
        vv_buffer_text(buffer, ",\"tags\":");
        write_tags(buffer, versions[i].tags, versions[i].n_tags);
        vv_buffer_u8(buffer, '}');
    }
    vv_buffer_u8(buffer, ']');
}

static void record_end(struct vv_writer *writer, struct vv_buffer *buffer)
{
    vv_buffer_u8(buffer, '}');
    writer->in_record = false;
}

/* ---- the end ---- */

static void write_missing(struct vv_writer *writer, struct vv_buffer *buffer,
                          const struct vv_writer_end *end)
{
    const struct vv_result_facts *facts = end->facts;
    vv_buffer_format(buffer, ",\"partitions_missing\":%llu,\"missing\":[",
                     (unsigned long long)facts->partitions_missing);
    for (size_t i = 0; i < facts->partitions_missing && i < VV_MISSING_MAX; i++) {
        const struct vv_missing *missing = &facts->missing[i];
        vv_buffer_text(buffer, i > 0 ? ",{\"source\":" : "{\"source\":");
        write_text(buffer, vv_registry_source_id(end->registry, missing->source));
        if (missing->region > 0 && missing->region < facts->n_regions) {
            vv_buffer_text(buffer, ",\"region\":");
            write_text(buffer, vv_str_of(facts->regions[missing->region].name));
        }
        vv_buffer_text(buffer, ",\"from\":");
        write_time(writer, buffer, missing->from, true);
        vv_buffer_text(buffer, ",\"to\":");
        write_time(writer, buffer, missing->to, true);
        vv_buffer_u8(buffer, '}');
    }
    vv_buffer_u8(buffer, ']');
}

static void write_peers(struct vv_writer *writer, struct vv_buffer *buffer,
                        const struct vv_result_facts *facts)
{
    vv_buffer_text(buffer, ",\"complete_until\":");
    write_time(writer, buffer, facts->complete_until_ns, true);
    vv_buffer_format(buffer, ",\"nodes_gone\":%llu,\"gone\":[",
                     (unsigned long long)facts->nodes_gone);
    for (size_t i = 0; i < facts->nodes_gone && i < VV_GONE_MAX; i++) {
        vv_buffer_format(buffer, "%s{\"node\":%u,\"complete_until\":", i > 0 ? "," : "",
                         facts->gone[i].node);
        write_time(writer, buffer, facts->gone[i].flushed_until_ns, true);
        vv_buffer_u8(buffer, '}');
    }
    vv_buffer_u8(buffer, ']');
}

static const char *const region_states[] = {
    [VV_REGION_UNKNOWN] = "unknown",
    [VV_REGION_ABSENT] = "absent",
    [VV_REGION_READABLE] = "readable",
    [VV_REGION_IN_PART] = "in_part",
};

static void write_regions(struct vv_writer *writer, struct vv_buffer *buffer,
                          const struct vv_result_facts *facts)
{
    for (size_t i = 1; i < facts->n_regions; i++) {
        const struct vv_region_fact *region = &facts->regions[i];
        vv_buffer_text(buffer, i > 1 ? ",{\"name\":" : ",\"regions\":[{\"name\":");
        write_text(buffer, vv_str_of(region->name));
        vv_buffer_format(buffer, ",\"state\":\"%s\"", region_states[region->state]);
        if (region->was_heard) {
            vv_buffer_text(buffer, ",\"heard_until\":");
            write_time(writer, buffer, region->heard_until_ns, true);
        }
        vv_buffer_text(buffer, i + 1 < facts->n_regions ? "}" : "}]");
    }
}

static void write_tier(struct vv_writer *writer, struct vv_buffer *buffer, size_t tier,
                       const struct vv_tier_fact *fact)
{
    char text[VV_TIME_TEXT_SIZE];
    vv_buffer_format(buffer, "{\"tier\":\"%s\",", vv_route_tier_name(tier));
    if (tier < VV_SPACES) {
        vv_duration_format(vv_tier_step_ns((enum vv_space)tier), text);
        vv_buffer_format(buffer, "\"step\":\"%s\",\"steps\":%llu,", text,
                         (unsigned long long)fact->steps);
    }
    vv_buffer_format(buffer, "\"parts\":%llu,\"from\":", (unsigned long long)fact->parts);
    write_time(writer, buffer, fact->from, fact->parts > 0);
    vv_buffer_text(buffer, ",\"to\":");
    write_time(writer, buffer, fact->to, fact->parts > 0);
    if (fact->cohorts > 0) {
        vv_buffer_format(buffer, ",\"cohorts\":%llu", (unsigned long long)fact->cohorts);
    }
    if (fact->is_sealed) {
        vv_buffer_text(buffer, ",\"sealed_until\":");
        write_time(writer, buffer, fact->sealed_until, true);
    }
    vv_buffer_u8(buffer, '}');
}

/* Of what the answer was put together, where tiers might have answered. */
static void write_tiers(struct vv_writer *writer, struct vv_buffer *buffer,
                        const struct vv_result_facts *facts)
{
    size_t n = 0;
    if (facts->n_tiers == 0) {
        return;
    }
    vv_buffer_text(buffer, ",\"tiers\":[");
    for (size_t i = 0; i <= VV_SPACES; i++) { /* the coarsest first, raw points last */
        size_t tier = i < VV_SPACES ? VV_SPACES - 1 - i : VV_SPACES;
        if (facts->tiers[tier].parts > 0) {
            vv_buffer_text(buffer, n++ > 0 ? "," : "");
            write_tier(writer, buffer, tier, &facts->tiers[tier]);
        }
    }
    vv_buffer_u8(buffer, ']');
}

static void write_facts(struct vv_writer *writer, struct vv_buffer *buffer,
                        const struct vv_writer_end *end)
{
    const struct vv_result_facts *facts = end->facts;
    char text[VV_TIME_TEXT_SIZE];
    vv_buffer_format(buffer, "\"facts\":{\"tier\":\"%s\",\"resolution\":",
                     vv_route_tier_name(facts->n_tiers > 0 ? facts->coarsest_tier : VV_SPACES));
    if (end->step_ns > 0) {
        vv_duration_format(end->step_ns, text);
        vv_buffer_format(buffer, "\"%s\"", text);
    } else {
        vv_buffer_text(buffer, "null");
    }
    vv_buffer_format(buffer,
                     ",\"complete\":%s,\"rows\":%llu,\"points_read\":%llu,\"partitions_read\":%llu,"
                     "\"pieces_read\":%llu,\"bytes_read\":%llu,\"percentile_error\":",
                     facts->complete ? "true" : "false", (unsigned long long)facts->rows,
                     (unsigned long long)facts->points_read,
                     (unsigned long long)facts->partitions_read,
                     (unsigned long long)facts->pieces_read, (unsigned long long)facts->bytes_read);
    vv_buffer_append(buffer, text, vv_number_format(facts->percentile_error, text));
    double duration_ms = round((double)facts->duration_ns / 1e3) / 1e3;
    vv_buffer_text(buffer, ",\"duration_ms\":");
    vv_buffer_append(buffer, text, vv_number_format(duration_ms, text));
    write_tiers(writer, buffer, facts);
    if (facts->has_expired) {
        vv_buffer_text(buffer, ",\"expired_before\":");
        write_time(writer, buffer, facts->expired_before, true);
    }
    if (facts->has_lacks) {
        vv_buffer_text(buffer, ",\"lacks_before\":");
        write_time(writer, buffer, facts->lacks_before, true);
    }
    if (facts->late_outstanding > 0) {
        vv_buffer_format(buffer, ",\"late_outstanding\":%llu",
                         (unsigned long long)facts->late_outstanding);
    }
    if (facts->partitions_missing > 0) {
        write_missing(writer, buffer, end);
    }
    if (facts->has_peers) {
        write_peers(writer, buffer, facts);
    }
    write_regions(writer, buffer, facts);
    if (facts->times_are_own) {
        vv_buffer_text(buffer, ",\"first_and_last\":\"of this node\"");
    }
    vv_buffer_u8(buffer, '}');
}

static void close_item(struct vv_writer *writer, struct vv_buffer *buffer)
{
    if (writer->in_series) {
        series_end(writer, buffer);
    }
    if (writer->in_record) {
        record_end(writer, buffer);
    }
}

static void write_end(struct vv_writer *writer, struct vv_buffer *buffer,
                      const struct vv_writer_end *end)
{
    if (!writer->begun) {
        begin(writer, buffer);
    }
    close_item(writer, buffer);
    vv_buffer_text(buffer, "],\n");
    if (end->next.data) {
        vv_buffer_text(buffer, "\"next\":");
        write_text(buffer, end->next);
        vv_buffer_u8(buffer, ',');
    }
    write_facts(writer, buffer, end);
    if (end->status != VV_OK) {
        vv_buffer_format(buffer,
                         ",\"error\":{\"code\":\"%s\",\"message\":", vv_status_name(end->status));
        write_text(buffer, vv_str_of(end->message));
        vv_buffer_u8(buffer, '}');
    }
    vv_buffer_text(buffer, "}\n");
}

const struct vv_writer_ops vv_writer_json = {
    .begin = begin,
    .series_begin = series_begin,
    .row_size_max = row_size_max,
    .row = row,
    .series_end = series_end,
    .record_begin = record_begin,
    .field_text = field_text,
    .field_cell = field_cell,
    .field_time = field_time,
    .field_tags = field_tags,
    .field_history = field_history,
    .record_end = record_end,
    .end = write_end,
};
