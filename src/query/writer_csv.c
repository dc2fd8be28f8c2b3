/* SPDX-License-Identifier: Apache-2.0 */
/* Answers as CSV: RFC 4180's quoting, lines that end with a line feed. */
#include "query/writer.h"

#include "query/route.h"
#include "tier/unit.h"

#include <math.h>

#define ROW_TEXT_MAX (VV_TIME_TEXT_SIZE + 8) /* without prefix and cells */

/* A line that begins with a bare # is a remark at the end. */
static bool needs_quotes(struct vv_str text)
{
    if (text.size > 0 &&
        (text.data[0] == ' ' || text.data[0] == '#' || text.data[text.size - 1] == ' ')) {
        return true;
    }
    if (text.size > 0 && text.data[0] == '#') {
        return true; /* it might look like the line that ends a broken answer */
    }
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        if (c == ',' || c == '"' || c == '\n' || c == '\r') {
            return true;
        }
    }
    return false;
}

void vv_csv_text(struct vv_buffer *buffer, struct vv_str text)
{
    if (!needs_quotes(text)) {
        vv_buffer_str(buffer, text);
        return;
    }
    vv_buffer_u8(buffer, '"');
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] == '"') {
            vv_buffer_u8(buffer, '"');
        }
        vv_buffer_u8(buffer, (uint8_t)text.data[i]);
    }
    vv_buffer_u8(buffer, '"');
}

/* ---- series ---- */

static void begin_list(struct vv_writer *writer, struct vv_buffer *buffer)
{
    for (size_t i = 0; i < writer->layout.n_columns; i++) {
        vv_buffer_format(buffer, "%s%s", i > 0 ? "," : "", writer->layout.columns[i]);
    }
}

static void begin_series(struct vv_writer *writer, struct vv_buffer *buffer)
{
    const struct vv_writer_layout *layout = &writer->layout;
    vv_buffer_text(buffer, "source");
    for (size_t i = 0; i < layout->n_group_tags; i++) {
        vv_buffer_u8(buffer, ',');
        vv_csv_text(buffer, layout->group_tags[i]);
    }
    vv_buffer_text(buffer, ",metric,time");
    if (layout->n_aggregates == 0) {
        vv_buffer_text(buffer, ",value");
    }
    for (size_t i = 0; i < layout->n_aggregates; i++) {
        vv_buffer_u8(buffer, ',');
        vv_csv_text(buffer, layout->aggregates[i].name);
    }
}

static void begin(struct vv_writer *writer, struct vv_buffer *buffer)
{
    if (writer->layout.name) {
        begin_list(writer, buffer);
    } else {
        begin_series(writer, buffer);
    }
    vv_buffer_u8(buffer, '\n');
    writer->begun = true;
}

static void series_begin(struct vv_writer *writer, struct vv_buffer *buffer,
                         const struct vv_writer_series *series)
{
    (void)buffer;
    struct vv_buffer *prefix = &writer->prefix;
    vv_buffer_clear(prefix);
    vv_csv_text(prefix, series->source);
    for (size_t i = 0; i < writer->layout.n_group_tags; i++) {
        vv_buffer_u8(prefix, ',');
        vv_csv_text(prefix, series->values[i]);
    }
    vv_buffer_u8(prefix, ',');
    vv_csv_text(prefix, series->metric);
    vv_buffer_u8(prefix, ',');
    writer->failed = writer->failed || vv_buffer_status(prefix) != VV_OK;
    writer->in_series = true;
}

static size_t row_size_max(const struct vv_writer *writer, size_t n)
{
    return writer->prefix.size + ROW_TEXT_MAX + n * (VV_CELL_TEXT_SIZE + 1);
}

static size_t row(struct vv_writer *writer, char *out, int64_t time, const struct vv_cell *cells,
                  size_t n)
{
    size_t size = writer->prefix.size;
    memcpy(out, writer->prefix.data, size);
    size += vv_time_write(&writer->times, time, out + size);
    for (size_t i = 0; i < n; i++) {
        out[size++] = ',';
        size += cells[i].kind == VV_CELL_TIME
                    ? vv_time_write(&writer->times, cells[i].integer, out + size)
                    : vv_cell_write(cells[i], false, out + size);
    }
    out[size++] = '\n';
    return size;
}

static void series_end(struct vv_writer *writer, struct vv_buffer *buffer)
{
    (void)buffer;
    writer->in_series = false;
}

/* ---- lists ---- */

static void record_begin(struct vv_writer *writer, struct vv_buffer *buffer)
{
    (void)buffer;
    writer->in_record = true;
    writer->field = 0;
}

static void separate(struct vv_writer *writer, struct vv_buffer *buffer)
{
    vv_invariant(writer->field < writer->layout.n_columns);
    if (writer->field++ > 0) {
        vv_buffer_u8(buffer, ',');
    }
}

static void field_text(struct vv_writer *writer, struct vv_buffer *buffer, struct vv_str text)
{
    separate(writer, buffer);
    vv_csv_text(buffer, text);
}

static void field_cell(struct vv_writer *writer, struct vv_buffer *buffer, struct vv_cell cell)
{
    char text[VV_CELL_TEXT_SIZE];
    separate(writer, buffer);
    vv_buffer_append(buffer, text, vv_cell_write(cell, false, text));
}

static void field_time(struct vv_writer *writer, struct vv_buffer *buffer, int64_t time, bool known)
{
    char text[VV_TIME_TEXT_SIZE];
    separate(writer, buffer);
    vv_buffer_append(buffer, text, known ? vv_time_write(&writer->times, time, text) : 0);
}

/* A key or value inside the tags' one field: commas, equals signs and backslashes are escaped. */
static void write_part(struct vv_buffer *buffer, struct vv_str text)
{
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        if (c == ',' || c == '=' || c == '\\') {
            vv_buffer_u8(buffer, '\\');
        }
        vv_buffer_u8(buffer, (uint8_t)c);
    }
}

static void field_tags(struct vv_writer *writer, struct vv_buffer *buffer,
                       const struct vv_tag *tags, size_t n)
{
    struct vv_buffer text = {0};
    for (size_t i = 0; i < n; i++) {
        if (i > 0) {
            vv_buffer_u8(&text, ',');
        }
        write_part(&text, tags[i].key);
        vv_buffer_u8(&text, '=');
        write_part(&text, tags[i].value);
    }
    writer->failed = writer->failed || vv_buffer_status(&text) != VV_OK;
    field_text(writer, buffer, (struct vv_str){(const char *)text.data, text.size});
    vv_buffer_deinit(&text);
}

static void field_history(struct vv_writer *writer, struct vv_buffer *buffer,
                          const struct vv_tag_version *versions, size_t n)
{
    vv_invariant(n == 1);
    field_time(writer, buffer, versions[0].from_ns, versions[0].from_ns > VV_TIME_MIN);
}

static void record_end(struct vv_writer *writer, struct vv_buffer *buffer)
{
    vv_buffer_u8(buffer, '\n');
    writer->in_record = false;
}

/* ---- the end ---- */

static void write_moment(struct vv_writer *writer, struct vv_buffer *buffer, const char *word,
                         int64_t time)
{
    char text[VV_TIME_TEXT_SIZE];
    int size = (int)vv_time_write(&writer->times, time, text);
    vv_buffer_format(buffer, "%s%.*s", word, size, text);
}

/* What one tier, or raw points beside tiers, gave of the answer. */
static void write_tier(struct vv_writer *writer, struct vv_buffer *buffer, size_t tier,
                       const struct vv_tier_fact *fact)
{
    char text[VV_TIME_TEXT_SIZE];
    vv_buffer_format(buffer, "# tier %s: ", vv_route_tier_name(tier));
    write_moment(writer, buffer, "", fact->from);
    write_moment(writer, buffer, " to ", fact->to);
    if (tier < VV_SPACES && fact->steps > 0) {
        vv_duration_format(vv_tier_step_ns((enum vv_space)tier), text);
        vv_buffer_format(buffer, ", %llu steps of %s", (unsigned long long)fact->steps, text);
    } else if (tier < VV_SPACES) {
        vv_buffer_text(buffer, ", kept as points");
    }
    if (fact->cohorts > 0) {
        vv_buffer_format(buffer, ", in %llu of %llu parts of many sources at once",
                         (unsigned long long)fact->cohorts, (unsigned long long)fact->parts);
    }
    if (fact->is_sealed) {
        write_moment(writer, buffer, ", sealed until ", fact->sealed_until);
    }
    vv_buffer_u8(buffer, '\n');
}

/* What the answer is made of, where tiers might have answered: the coarsest first. */
static void write_tiers(struct vv_writer *writer, struct vv_buffer *buffer,
                        const struct vv_result_facts *facts)
{
    char text[VV_TIME_TEXT_SIZE];
    for (size_t i = 0; i <= VV_SPACES && facts->n_tiers > 0; i++) {
        size_t tier = i < VV_SPACES ? VV_SPACES - 1 - i : VV_SPACES;
        if (facts->tiers[tier].parts > 0) {
            write_tier(writer, buffer, tier, &facts->tiers[tier]);
        }
    }
    if (facts->percentile_error > 0) {
        int size = (int)vv_number_format(round(facts->percentile_error * 1e6) / 1e4, text);
        vv_buffer_format(buffer, "# percentiles are within %.*s %% of the value\n", size, text);
    }
}

static void write_peers(struct vv_writer *writer, struct vv_buffer *buffer,
                        const struct vv_result_facts *facts)
{
    char time[VV_TIME_TEXT_SIZE];
    int size = (int)vv_time_write(&writer->times, facts->complete_until_ns, time);
    vv_buffer_format(buffer, "# complete until %.*s\n", size, time);
    for (size_t i = 0; i < facts->nodes_gone && i < VV_GONE_MAX; i++) {
        size = (int)vv_time_write(&writer->times, facts->gone[i].flushed_until_ns, time);
        vv_buffer_format(buffer, "# node %u is gone: what it took since %.*s is missing\n",
                         facts->gone[i].node, size, time);
    }
    if (facts->nodes_gone > VV_GONE_MAX) {
        vv_buffer_format(buffer, "# %llu more nodes are gone\n",
                         (unsigned long long)(facts->nodes_gone - VV_GONE_MAX));
    }
}

static void write_regions(struct vv_writer *writer, struct vv_buffer *buffer,
                          const struct vv_result_facts *facts)
{
    char time[VV_TIME_TEXT_SIZE];
    for (size_t i = 1; i < facts->n_regions; i++) {
        const struct vv_region_fact *region = &facts->regions[i];
        if (region->state == VV_REGION_ABSENT) {
            vv_buffer_format(buffer, "# data of region %s is not kept in this data centre\n",
                             region->name);
            continue;
        }
        if (region->state == VV_REGION_IN_PART) {
            vv_buffer_format(buffer, "# data of region %s that is in classes is not read here\n",
                             region->name);
        }
        if (region->was_heard) {
            int size = (int)vv_time_write(&writer->times, region->heard_until_ns, time);
            vv_buffer_format(buffer, "# region %s was heard until %.*s\n", region->name, size,
                             time);
        } else {
            vv_buffer_format(buffer, "# region %s was not heard of yet\n", region->name);
        }
    }
}

static void write_end(struct vv_writer *writer, struct vv_buffer *buffer,
                      const struct vv_writer_end *end)
{
    if (!writer->begun) {
        begin(writer, buffer);
    }
    if (writer->in_record) {
        record_end(writer, buffer);
    }
    writer->in_series = false;
    if (end->facts->partitions_missing > 0) {
        vv_buffer_format(buffer, "# incomplete: %llu partitions could not be read\n",
                         (unsigned long long)end->facts->partitions_missing);
    }
    write_tiers(writer, buffer, end->facts);
    if (end->facts->has_expired) {
        write_moment(writer, buffer, "# what was before ", end->facts->expired_before);
        vv_buffer_text(buffer, " may have expired\n");
    }
    if (end->facts->has_lacks) {
        write_moment(writer, buffer, "# steps before ", end->facts->lacks_before);
        vv_buffer_text(buffer, " may be missing: tiers were switched on, or made longer, since\n");
    }
    if (end->facts->has_peers) {
        write_peers(writer, buffer, end->facts);
    }
    write_regions(writer, buffer, end->facts);
    if (end->facts->times_are_own) {
        vv_buffer_text(buffer, "# first and last are of points that this node took\n");
    }
    if (end->status != VV_OK) {
        vv_buffer_format(buffer, "# error: %s: ", vv_status_name(end->status));
        for (const char *at = end->message; *at; at++) {
            vv_buffer_u8(buffer, (uint8_t)(*at == '\n' || *at == '\r' ? ' ' : *at));
        }
        vv_buffer_u8(buffer, '\n');
    }
}

const struct vv_writer_ops vv_writer_csv = {
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
