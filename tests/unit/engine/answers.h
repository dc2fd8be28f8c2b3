/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of writes that wait for the store share: how each was answered, and what the metrics
 * say meanwhile. */
#ifndef TESTS_UNIT_ENGINE_ANSWERS_H
#define TESTS_UNIT_ENGINE_ANSWERS_H

#include "engine/engine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct write {
    _Atomic int answers;
    enum vv_status status; /* once there is an answer */
    char message[256];
};

static inline void answer(void *context, enum vv_status status, const char *message)
{
    struct write *write = context;
    write->status = status;
    snprintf(write->message, sizeof write->message, "%s", message);
    atomic_fetch_add(&write->answers, 1);
}

static inline void assert_waits(const struct write *write)
{
    assert_int_equal(write->answers, 0);
}

static inline void assert_answered(const struct write *write, enum vv_status status)
{
    assert_int_equal(write->answers, 1);
    assert_int_equal(write->status, status);
}

/* The value of a metric without labels. */
static inline double metric(struct vv_engine *engine, const char *name)
{
    struct vv_buffer page = {0};
    char start[64];
    vv_engine_write_metrics(engine, &page);
    vv_buffer_u8(&page, 0);
    snprintf(start, sizeof start, "\n%s ", name);
    const char *line = strstr((const char *)page.data, start);
    if (!line) {
        fail_msg("no metric %s", name);
    }
    double value = atof(line + strlen(start));
    vv_buffer_deinit(&page);
    return value;
}

#endif
