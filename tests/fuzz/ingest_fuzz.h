/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the fuzz targets of ingest share. The text is parsed at once and again in pieces; both must
 * give the same rows and the same account, and the account must add up. The first two bytes of the
 * input choose the pieces and the limits. Making a registry is slow, so each of the two ways has
 * one for many inputs, with a tenant of its own for each input.
 */
#ifndef TESTS_FUZZ_INGEST_FUZZ_H
#define TESTS_FUZZ_INGEST_FUZZ_H

#include "ingest/staging.h"

#include <stdio.h>
#include <stdlib.h>

#define FUZZ_CHECK(condition) ((condition) ? (void)0 : abort())

struct fuzz_input {
    const char *text;
    size_t size;
    size_t piece; /* 0: all at once */
    uint32_t line_bytes_max;
    uint32_t fields_max;
};

/* Feeds all pieces to a parser over the staging. */
typedef void (*fuzz_feed)(struct vv_staging *staging, const struct fuzz_input *input);

#define FUZZ_TENANTS_MAX 1000

struct fuzz_registry {
    struct vv_registry *registry;
    uint32_t n_tenants;
};

struct fuzz_run {
    struct vv_staging staging;
    struct vv_buffer rows;
};

static inline void fuzz_render(struct fuzz_run *run)
{
    struct vv_batch *batch = vv_staging_take_batch(&run->staging);
    if (batch) {
        FUZZ_CHECK(batch->points == run->staging.points_staged && batch->points > 0);
        vv_batch_encode(batch, &run->rows);
        FUZZ_CHECK(vv_buffer_status(&run->rows) == VV_OK);
        vv_batch_destroy(batch);
    } else {
        FUZZ_CHECK(run->staging.points_staged == 0);
    }
}

static inline void fuzz_check_account(const struct vv_staging *staging)
{
    uint64_t refused = 0;
    for (int i = 0; i < VV_REASON_COUNT; i++) {
        refused += staging->refused[i];
    }
    FUZZ_CHECK(staging->points_received == staging->points_staged + refused);
    FUZZ_CHECK(staging->lines_refused <= staging->lines);
    FUZZ_CHECK(!staging->out_of_memory);
    for (size_t i = 0; i < staging->n_refusals; i++) {
        const char *detail = staging->refusals[i].detail;
        FUZZ_CHECK(detail[0] != '\0');
        for (size_t at = 0; detail[at]; at++) {
            FUZZ_CHECK((unsigned char)detail[at] >= 0x20);
        }
    }
}

/* A tenant that nothing is known of. */
static inline uint32_t fuzz_tenant(struct fuzz_registry *registry)
{
    if (!registry->registry || registry->n_tenants == FUZZ_TENANTS_MAX) {
        struct vv_registry_options limits = {
            .tenants_max = FUZZ_TENANTS_MAX,
            .sources_max = 1000000,
            .metrics_max = 1000000,
            .cache_bytes = 65536,
        };
        vv_registry_destroy(registry->registry);
        FUZZ_CHECK(vv_registry_create(&limits, &registry->registry) == VV_OK);
        registry->n_tenants = 0;
    }
    char name[16];
    uint32_t tenant = 0;
    snprintf(name, sizeof name, "t%u", registry->n_tenants++);
    FUZZ_CHECK(vv_registry_tenant(registry->registry, vv_str_of(name), true, &tenant, NULL) ==
               VV_OK);
    return tenant;
}

static inline void fuzz_begin(struct fuzz_run *run, struct fuzz_registry *registry,
                              const struct fuzz_input *input, fuzz_feed feed)
{
    *run = (struct fuzz_run){0};
    uint32_t tenant = fuzz_tenant(registry);
    struct vv_staging_options options = {
        .registry = registry->registry,
        .tenant = tenant,
        .now_ns = INT64_C(1700000000000000000),
        .future_ns_max = INT64_C(3600000000000),
        .past_ns_max = INT64_C(3600000000000) << 20,
        .fields_max = input->fields_max,
        .line_bytes_max = input->line_bytes_max,
    };
    FUZZ_CHECK(vv_staging_init(&run->staging, &options) == VV_OK);
    feed(&run->staging, input);
    fuzz_check_account(&run->staging);
    fuzz_render(run);
}

static inline void fuzz_end(struct fuzz_run *run)
{
    vv_staging_deinit(&run->staging);
    vv_buffer_deinit(&run->rows);
}

static inline void fuzz_compare(const struct fuzz_run *a, const struct fuzz_run *b)
{
    const struct vv_staging *x = &a->staging;
    const struct vv_staging *y = &b->staging;
    FUZZ_CHECK(x->lines == y->lines && x->lines_refused == y->lines_refused);
    FUZZ_CHECK(memcmp(x->refused, y->refused, sizeof x->refused) == 0);
    FUZZ_CHECK(x->n_refusals == y->n_refusals);
    for (size_t i = 0; i < x->n_refusals; i++) {
        FUZZ_CHECK(x->refusals[i].line == y->refusals[i].line);
        FUZZ_CHECK(x->refusals[i].column == y->refusals[i].column);
        FUZZ_CHECK(strcmp(x->refusals[i].detail, y->refusals[i].detail) == 0);
    }
    FUZZ_CHECK(a->rows.size == b->rows.size);
    FUZZ_CHECK(a->rows.size == 0 || memcmp(a->rows.data, b->rows.data, a->rows.size) == 0);
}

static inline int fuzz_ingest(const uint8_t *data, size_t size, fuzz_feed feed)
{
    if (size < 2) {
        return 0;
    }
    struct fuzz_input input = {
        .text = (const char *)data + 2,
        .size = size - 2,
        .line_bytes_max = 16 + 8 * (uint32_t)(data[1] >> 3),
        .fields_max = 1 + (data[1] & 7),
    };
    static struct fuzz_registry registries[2];
    struct fuzz_run whole;
    struct fuzz_run pieces;
    fuzz_begin(&whole, &registries[0], &input, feed);
    input.piece = 1 + data[0] % 64;
    fuzz_begin(&pieces, &registries[1], &input, feed);
    fuzz_compare(&whole, &pieces);
    fuzz_end(&whole);
    fuzz_end(&pieces);
    return 0;
}

/* The next piece as a copy of its own, so that reads beyond it are seen; the caller frees it. */
static inline char *fuzz_piece(const struct fuzz_input *input, size_t at, size_t *size_out)
{
    size_t left = input->size - at;
    *size_out = input->piece && input->piece < left ? input->piece : left;
    char *copy = malloc(*size_out);
    FUZZ_CHECK(copy);
    memcpy(copy, input->text + at, *size_out);
    return copy;
}

#endif
