/* SPDX-License-Identifier: Apache-2.0 */
#include "tier/unit.h"

#define MAGIC_0         0x56u
#define MAGIC_1         0x55u
#define VERSION         1u
#define VERSION_APPLIED 2u /* with the deletions that it has in it */
#define VERSION_WHOLE   3u /* with these, and what it says of raw data */

/* Buckets are so long that a partition has some 30 to 50 units. */
static const struct tier {
    int64_t step_ns;
    int64_t unit_ns; /* of minutes: the shorter one */
    int64_t bucket_ns;
    int64_t spread_ns_max; /* sources are spread over so much time: a longer unit need not wait */
} tiers[VV_SPACES] = {
    [VV_SPACE_MINUTE] = {VV_MINUTE, VV_HOUR, 2 * VV_DAY, VV_DAY},
    [VV_SPACE_HOUR] = {VV_HOUR, VV_DAY, 28 * VV_DAY, 4 * VV_HOUR},
    [VV_SPACE_DAY] = {VV_DAY, 28 * VV_DAY, 364 * VV_DAY, 2 * VV_DAY},
};

int64_t vv_tier_step_ns(enum vv_space tier)
{
    return tiers[tier].step_ns;
}

int64_t vv_tier_unit_ns_max(enum vv_space tier)
{
    return tier == VV_SPACE_MINUTE ? VV_DAY : tiers[tier].unit_ns;
}

int64_t vv_tier_spread_ns_max(enum vv_space tier)
{
    return tiers[tier].spread_ns_max;
}

struct vv_plan vv_tier_plan(enum vv_space tier)
{
    return (struct vv_plan){.from_ns = VV_TIME_MIN,
                            .bucket_ns = tiers[tier].bucket_ns,
                            .span_ns = tiers[tier].unit_ns,
                            .splits = 1};
}

struct vv_unit vv_unit_of(enum vv_space tier, const struct vv_plan *plans, size_t n, int64_t time)
{
    size_t at = 0;
    while (at + 1 < n && plans[at + 1].from_ns <= time) {
        at++;
    }
    int64_t length = tiers[tier].unit_ns;
    if (tier == VV_SPACE_MINUTE && plans[at].span_ns > length) {
        length = VV_DAY;
    }
    int64_t from = vv_time_floor(time, length);
    struct vv_unit unit = {.from = from > VV_TIME_MIN ? from : VV_TIME_MIN, .to = from + length};
    if (tier == VV_SPACE_MINUTE) {
        unit.from = plans[at].from_ns > unit.from ? plans[at].from_ns : unit.from;
        unit.to = at + 1 < n && plans[at + 1].from_ns < unit.to ? plans[at + 1].from_ns : unit.to;
    }
    return unit;
}

struct vv_span_key vv_unit_key(enum vv_space tier, uint32_t space, uint32_t source,
                               uint32_t measurement, int64_t from)
{
    int64_t bucket_ns = tiers[tier].bucket_ns;
    return (struct vv_span_key){
        .partition = {.tenant = space,
                      .source = source,
                      .bucket_start = vv_time_floor(from, bucket_ns),
                      .bucket_ns = bucket_ns},
        .measurement = measurement,
        .span_start = from,
    };
}

int64_t vv_unit_earliest(enum vv_space tier, int64_t from)
{
    return vv_time_floor(from, vv_tier_unit_ns_max(tier));
}

void vv_unit_write(struct vv_buffer *out, enum vv_unit_kind kind, const struct vv_unit *unit)
{
    const struct vv_unit_record record = {.kind = kind, .unit = *unit};
    vv_unit_write_head(out, &record);
}

void vv_unit_write_head(struct vv_buffer *out, const struct vv_unit_record *record)
{
    struct vv_str applied = record->applied;
    bool says_whole = record->whole_at > 0;
    bool has_applied = says_whole || applied.size > 0;
    vv_invariant(applied.size % 8 == 0 && applied.size / 8 <= VV_UNIT_APPLIED_MAX);
    vv_buffer_u8(out, MAGIC_0);
    vv_buffer_u8(out, MAGIC_1);
    vv_buffer_u8(out, says_whole ? VERSION_WHOLE : has_applied ? VERSION_APPLIED : VERSION);
    vv_buffer_u8(out, (uint8_t)record->kind);
    vv_buffer_u64(out, (uint64_t)record->unit.from);
    vv_buffer_u64(out, (uint64_t)record->unit.to);
    if (has_applied) {
        vv_buffer_u16(out, (uint16_t)(applied.size / 8));
        vv_buffer_str(out, applied);
    }
    if (says_whole) {
        vv_buffer_u64(out, record->whole_at);
    }
}

enum vv_status vv_unit_read(struct vv_str bytes, struct vv_unit_record *record_out,
                            struct vv_error *error)
{
    struct vv_reader reader = vv_reader_of(bytes.data, bytes.size);
    uint8_t magic_0 = vv_reader_u8(&reader);
    uint8_t magic_1 = vv_reader_u8(&reader);
    uint8_t version = vv_reader_u8(&reader);
    uint8_t kind = vv_reader_u8(&reader);
    struct vv_unit unit = {.from = (int64_t)vv_reader_u64(&reader)};
    unit.to = (int64_t)vv_reader_u64(&reader);
    bool is_record = !reader.failed && magic_0 == MAGIC_0 && magic_1 == MAGIC_1;
    if (is_record && version > VERSION_WHOLE) {
        return vv_error_set(error, VV_NEWER, "a tier's record has version %u, newer than this",
                            version);
    }
    size_t applied_size = version >= VERSION_APPLIED ? 8 * (size_t)vv_reader_u16(&reader) : 0;
    const uint8_t *applied = vv_reader_bytes(&reader, applied_size);
    uint64_t whole_at = version == VERSION_WHOLE ? vv_reader_u64(&reader) : 0;
    bool is_good = is_record && !reader.failed && version >= VERSION && kind <= VV_UNIT_MEMBERS &&
                   unit.from < unit.to;
    if (!is_good) {
        return vv_error_set(error, VV_CORRUPT, "a tier's record is damaged at its start");
    }
    *record_out = (struct vv_unit_record){
        .kind = (enum vv_unit_kind)kind,
        .unit = unit,
        .applied = {(const char *)applied, applied_size},
        .whole_at = whole_at,
        .content = {bytes.data + reader.at, bytes.size - reader.at},
    };
    return VV_OK;
}

bool vv_unit_replaces(struct vv_str bytes)
{
    struct vv_unit_record record;
    return vv_unit_read(bytes, &record, NULL) == VV_OK && record.kind == VV_UNIT_STALE &&
           record.content.size > 0;
}
