/* SPDX-License-Identifier: Apache-2.0 */
/* Spans that are frozen for some series only: looked up once for each within a request, of as many
 * as there is room for. */
#include "base/random.h"
#include "ingest/staging_private.h"

#include <stdlib.h>

#define FOUND 1024u

static int64_t frozen_before(const struct vv_staging *staging, int64_t time, uint32_t *place_out)
{
    const struct vv_staging_class *class = vv_row_class(staging, time);
    *place_out = class ? class->place : staging->options.tenant;
    return class ? class->frozen_before : staging->options.frozen_before;
}

/* One that nothing was noted in has no times. */
static bool is_answer(const struct vv_staging_frozen *found, uint32_t place,
                      const struct vv_series *series, int64_t time)
{
    return found->from <= time && time < found->to && found->place == place &&
           found->series.source == series->source &&
           found->series.measurement == series->measurement;
}

/* Rows of a series mostly follow each other in time, so only its last span is kept. */
static struct vv_staging_frozen *find(struct vv_staging_frozen *found,
                                      const struct vv_series *series)
{
    struct vv_random random = {(uint64_t)series->source << 32 | series->measurement};
    return &found[vv_random_next(&random) % FOUND];
}

/* Where the store can't be read the request fails as a whole: whoever sends it does so again. */
static enum vv_status look(struct vv_staging *staging, struct vv_staging_frozen *asked)
{
    const struct vv_staging_options *options = &staging->options;
    struct vv_error *failure = &staging->failure;
    enum vv_status status = options->look(options->look_context, asked, failure);
    if (status != VV_OK && status != VV_NO_MEMORY) {
        (void)!vv_error_prefix(failure, status,
                               "whether a span is frozen can't be told, send again later");
    }
    return status == VV_OK ? VV_OK : VV_NO_MEMORY;
}

enum vv_status vv_row_is_frozen(struct vv_staging *staging, int64_t time, bool *is_frozen_out)
{
    struct vv_staging_row *row = staging->row;
    uint32_t place;
    *is_frozen_out = false;
    if (row->n == 0 || !staging->options.look || time >= frozen_before(staging, time, &place)) {
        return VV_OK;
    }
    if (!row->frozen) {
        row->frozen = calloc(FOUND, sizeof *row->frozen);
        if (!row->frozen) {
            return VV_NO_MEMORY;
        }
    }
    struct vv_staging_frozen *found = find(row->frozen, &row->series);
    enum vv_status status = VV_OK;
    if (!is_answer(found, place, &row->series, time)) {
        *found = (struct vv_staging_frozen){.place = place, .series = row->series, .time = time};
        status = look(staging, found);
        found->to = status == VV_OK ? found->to : found->from;
    }
    *is_frozen_out = status == VV_OK && found->is_frozen;
    return status;
}
