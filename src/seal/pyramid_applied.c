/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which deletions a record has in it. Steps have no stamps, so it can't be told from them; and when
 * a record was built says nothing either, as a node may have told of a deletion much later. So
 * where nodes share the store a record lists those that meet its unit and that it has in it: each
 * by a hash of the deletion's stamp and of its metric's name (none: of all metrics). A stamp is one
 * order's, and what one order deletes of a source may be told in several parts.
 *
 *   number = FNV-1a of 64 bits over the stamp, 8 bytes, the lowest first, and the name
 *
 * A record of rows has all in it that was known when it was written. What is made of steps that
 * lack something lacks it, too.
 */
#include "seal/pyramid_private.h"

#include <stdlib.h>

static uint64_t add_bytes(uint64_t hash, const void *bytes, size_t size)
{
    const uint8_t *byte = bytes;
    for (size_t i = 0; i < size; i++) {
        hash = (hash ^ byte[i]) * UINT64_C(0x100000001b3);
    }
    return hash;
}

static uint64_t number_of(const struct vv_build *build, const struct vv_deletion *deletion)
{
    struct vv_metric_info info = {0};
    uint8_t stamp[8];
    for (size_t i = 0; i < sizeof stamp; i++) {
        stamp[i] = (uint8_t)(deletion->stamp >> (8 * i));
    }
    if (deletion->metric != VV_DELETION_ALL_METRICS) {
        vv_registry_metric_info(build->pyramid->options.registry, deletion->metric, &info);
    }
    uint64_t hash = add_bytes(UINT64_C(0xcbf29ce484222325), stamp, sizeof stamp);
    return add_bytes(hash, info.name.data, info.name.size);
}

static bool is_listed(const struct vv_build *build, const struct vv_deletion *deletion,
                      struct vv_str applied)
{
    uint64_t wanted = number_of(build, deletion);
    struct vv_reader reader = vv_reader_of(applied.data, applied.size);
    bool found = false;
    while (!found && vv_reader_left(&reader) >= 8) {
        found = vv_reader_u64(&reader) == wanted;
    }
    return found;
}

bool vv_build_concerns(const struct vv_build *build, size_t index, int64_t from, int64_t to)
{
    const struct vv_pyramid *pyramid = build->pyramid;
    const struct vv_deletion *deletion = &pyramid->deletions.items[index];
    struct vv_metric_info info = {.measurement = build->measurement};
    if (!pyramid->options.store->ops->shared || deletion->from >= to || deletion->to <= from) {
        return false;
    }
    if (deletion->metric != VV_DELETION_ALL_METRICS) {
        vv_registry_metric_info(pyramid->options.registry, deletion->metric, &info);
    }
    return info.measurement == build->measurement;
}

bool vv_build_is_new(const struct vv_build *build, size_t index,
                     const struct vv_unit_record *record)
{
    return vv_build_concerns(build, index, record->unit.from, record->unit.to) &&
           !is_listed(build, &build->pyramid->deletions.items[index], record->applied);
}

bool vv_build_lacks(const struct vv_build *build, size_t index, const struct vv_unit_record *record)
{
    return record->kind == VV_UNIT_STEPS && vv_build_is_new(build, index, record);
}

bool vv_build_lacks_any(const struct vv_build *build, const struct vv_unit_record *record)
{
    bool lacks = false;
    for (size_t i = 0; i < build->pyramid->deletions.n && !lacks; i++) {
        lacks = vv_build_lacks(build, i, record);
    }
    return lacks;
}

enum vv_status vv_build_lacks_none(struct vv_build *build)
{
    struct vv_pyramid *pyramid = build->pyramid;
    size_t n = pyramid->deletions.n;
    free(pyramid->lacks);
    pyramid->lacks = n > 0 ? calloc(n, sizeof *pyramid->lacks) : NULL;
    return n == 0 || pyramid->lacks
               ? VV_OK
               : vv_error_set(build->error, VV_NO_MEMORY, "out of memory while building tiers");
}

void vv_build_note_lacks(struct vv_build *build, const struct vv_unit_record *record)
{
    bool *lacks = build->pyramid->lacks;
    for (size_t i = 0; lacks && i < build->pyramid->deletions.n; i++) {
        lacks[i] = lacks[i] || vv_build_lacks(build, i, record);
    }
}

bool vv_build_has_news(const struct vv_build *build, const struct vv_unit_record *was)
{
    const bool *lacks = build->pyramid->lacks;
    bool has = false;
    for (size_t i = 0; lacks && i < build->pyramid->deletions.n && !has; i++) {
        has = !lacks[i] && vv_build_is_new(build, i, was);
    }
    return has;
}

void vv_build_list_applied(const struct vv_build *build, const struct vv_unit *unit,
                           struct vv_buffer *out)
{
    const bool *lacks = build->pyramid->lacks;
    for (size_t i = 0; lacks && i < build->pyramid->deletions.n; i++) {
        if (!lacks[i] && vv_build_concerns(build, i, unit->from, unit->to)) {
            vv_buffer_u64(out, number_of(build, &build->pyramid->deletions.items[i]));
        }
    }
}
