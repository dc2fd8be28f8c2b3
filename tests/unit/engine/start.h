/* SPDX-License-Identifier: Apache-2.0 */
/* An engine that is opened and has replayed its journal; the test fails where it can't be. */
#ifndef TESTS_UNIT_ENGINE_START_H
#define TESTS_UNIT_ENGINE_START_H

#include "engine/engine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static inline struct vv_engine *start_engine(const struct vv_engine_options *options)
{
    struct vv_engine *engine = NULL;
    struct vv_error error = {0};
    if (vv_engine_open(options, &engine, &error) != VV_OK ||
        vv_engine_recover(engine, &error) != VV_OK) {
        fail_msg("%s", error.message);
    }
    return engine;
}

#endif
