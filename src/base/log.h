/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log: one line per event, `2026-01-02T03:04:05.678Z level event key=value …`, to standard
 * error. Values with spaces, quotes or control characters are quoted and escaped. Any thread.
 */
#ifndef VV_BASE_LOG_H
#define VV_BASE_LOG_H

#include "base/status.h"

enum vv_log_level { VV_LOG_DEBUG, VV_LOG_INFO, VV_LOG_WARN, VV_LOG_ERROR, VV_LOG_OFF };

/* Lines below the level are dropped. Default: info. */
void vv_log_level_set(enum vv_log_level level);

/* `event` is a fixed snake_case word; then pairs of a key and a printf format with ONE conversion
 * each… is written as one format string: vv_log(VV_LOG_INFO, "recovered", "records=%zu ms=%.1f", n,
 * ms). A value that comes from outside goes through vv_log_quote() first. */
void vv_log(enum vv_log_level level, const char *event, const char *format, ...) VV_PRINTF(3, 4);

/* Quotes text for a value when it needs it; returns out, cut to its size. */
const char *vv_log_quote(const char *text, size_t text_size, char *out, size_t out_size);

#endif
