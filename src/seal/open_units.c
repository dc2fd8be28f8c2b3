/* SPDX-License-Identifier: Apache-2.0 */
#include "seal/open_units.h"

#include "base/clock.h"
#include "base/random.h"

#include <stdlib.h>
#include <string.h>

#define PLACES   (1u << 16)
#define AGAIN_NS VV_HOUR

struct place {
    uint32_t space;
    uint32_t source;
    uint32_t measurement;
    int64_t from;
    int64_t to; /* 0 with from 0: nothing is noted */
    int64_t noted_ns;
};

struct vv_open_units {
    struct place places[PLACES];
};

enum vv_status vv_open_units_create(struct vv_open_units **units_out)
{
    *units_out = calloc(1, sizeof **units_out);
    return *units_out ? VV_OK : VV_NO_MEMORY;
}

void vv_open_units_destroy(struct vv_open_units *units)
{
    free(units);
}

static struct place *place_of(struct vv_open_units *units, const struct vv_span_key *key)
{
    struct vv_random random = {((uint64_t)key->partition.tenant << 32 | key->partition.source) ^
                               (uint64_t)key->measurement * UINT64_C(0x9E3779B97F4A7C15)};
    return &units->places[vv_random_next(&random) % PLACES];
}

bool vv_open_units_has(struct vv_open_units *units, const struct vv_span_key *key, int64_t to,
                       int64_t now_ns)
{
    if (!units) {
        return false;
    }
    struct place *place = place_of(units, key);
    bool is_same =
        place->space == key->partition.tenant && place->source == key->partition.source &&
        place->measurement == key->measurement && place->from == key->span_start && place->to == to;
    if (is_same && now_ns >= place->noted_ns && now_ns - place->noted_ns < AGAIN_NS) {
        return true;
    }
    *place = (struct place){.space = key->partition.tenant,
                            .source = key->partition.source,
                            .measurement = key->measurement,
                            .from = key->span_start,
                            .to = to,
                            .noted_ns = now_ns};
    return false;
}

void vv_open_units_clear(struct vv_open_units *units)
{
    if (units) {
        memset(units, 0, sizeof *units);
    }
}
