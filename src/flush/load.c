/* SPDX-License-Identifier: Apache-2.0 */
/* Counting by source: each has one slot of the table, which it may have to win from another. */
#include "flush/load.h"

#include "base/random.h"

#include <stdlib.h>

#define SLOTS       1024 /* a power of two */
#define NOTICED_MAX 64   /* waiting to be asked for */
/* A partition of the largest load has 40 MiB then: of the 10 to 100 that Cassandra can bear. */
#define BYTES_PER_ROW 640
#define EVIDENCE      8  /* of what is too much this part must have been seen, */
#define RANGE_PART    16 /* over this part of the bucket: a burst is no pace */

struct slot {
    uint32_t source;
    int64_t bucket_start;
    int64_t bucket_ns;
    uint64_t rows;
    uint64_t load;
    uint64_t noticed_at; /* the load then; 0: not in this bucket */
    int64_t first_ns;
    int64_t last_ns;
};

struct vv_load {
    struct slot slots[SLOTS];
    struct vv_load_source noticed[NOTICED_MAX];
    size_t n_noticed;
};

enum vv_status vv_load_create(struct vv_load **load_out)
{
    struct vv_load *load = calloc(1, sizeof *load);
    *load_out = load;
    return load ? VV_OK : VV_NO_MEMORY;
}

void vv_load_destroy(struct vv_load *load)
{
    free(load);
}

static uint64_t weigh(const struct vv_load_rows *rows)
{
    uint64_t load = rows->rows;
    uint64_t by_bytes = rows->bytes / BYTES_PER_ROW;
    load = by_bytes > load ? by_bytes : load;
    if (rows->values_max > 0) {
        uint64_t by_values = rows->values * VV_SPLIT_LOAD_MAX / rows->values_max;
        load = by_values > load ? by_values : load;
    }
    return load;
}

/* Whose load is larger has the slot in the end: each takes from the other what it brings. */
static bool win(struct slot *slot, const struct vv_load_rows *rows, uint64_t load)
{
    bool same_bucket =
        slot->bucket_start == rows->bucket.start && slot->bucket_ns == rows->bucket.bucket_ns;
    bool is_mine = slot->load > 0 && slot->source == rows->source;
    if (is_mine && same_bucket) {
        return true;
    }
    if (is_mine && slot->bucket_start > rows->bucket.start) {
        return false; /* late: that bucket is not written much any more */
    }
    if (!is_mine && slot->load > load) {
        slot->load -= load;
        return false;
    }
    *slot = (struct slot){.source = rows->source,
                          .bucket_start = rows->bucket.start,
                          .bucket_ns = rows->bucket.bucket_ns,
                          .first_ns = rows->first_ns,
                          .last_ns = rows->last_ns};
    return true;
}

static int64_t range_of(const struct slot *slot)
{
    int64_t range = slot->last_ns - slot->first_ns;
    int64_t least = slot->bucket_ns / RANGE_PART;
    return range > least ? range : least;
}

static void notice(struct vv_load *load, struct slot *slot)
{
    if (load->n_noticed == NOTICED_MAX) {
        return; /* it comes again */
    }
    slot->noticed_at = slot->load;
    load->noticed[load->n_noticed++] = (struct vv_load_source){
        .source = slot->source,
        .bucket_start = slot->bucket_start,
        .rows = slot->rows,
        .load = slot->load,
        .range_ns = range_of(slot),
    };
}

void vv_load_add(struct vv_load *load, const struct vv_load_rows *rows)
{
    struct vv_random hash = {rows->source};
    struct slot *slot = &load->slots[vv_random_next(&hash) & (SLOTS - 1)];
    uint64_t weight = weigh(rows);
    if (!win(slot, rows, weight)) {
        return;
    }
    slot->rows += rows->rows;
    slot->load += weight;
    slot->first_ns = rows->first_ns < slot->first_ns ? rows->first_ns : slot->first_ns;
    slot->last_ns = rows->last_ns > slot->last_ns ? rows->last_ns : slot->last_ns;
    uint64_t most = (uint64_t)VV_SPLIT_LOAD_MAX * rows->bucket.splits;
    most = rows->bucket.share_bits > 0 ? 2 * VV_SHARED_LOAD_MAX : most;
    const struct vv_plan plan = {.bucket_ns = rows->bucket.bucket_ns, .splits = 1};
    bool is_too_much =
        slot->load > most ||
        (slot->load > most / EVIDENCE && vv_plan_load(&plan, slot->load, range_of(slot)) > most);
    if (is_too_much && slot->load >= 2 * slot->noticed_at) {
        notice(load, slot);
    }
}

bool vv_load_next(struct vv_load *load, struct vv_load_source *source_out)
{
    if (load->n_noticed == 0) {
        return false;
    }
    *source_out = load->noticed[--load->n_noticed];
    return true;
}
