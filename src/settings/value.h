/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers and sizes as people write them, for settings and for the command line. Any thread. */
#ifndef VV_SETTINGS_VALUE_H
#define VV_SETTINGS_VALUE_H

#include "base/bytes.h"

/* Decimal digits, perhaps after a minus; false for anything else and beyond int64. */
VV_MUST_CHECK bool vv_int_parse(struct vv_str text, int64_t *value_out);
/* Bytes: digits and perhaps a unit, "4096", "64MiB", "1 GB". */
VV_MUST_CHECK bool vv_size_parse(struct vv_str text, int64_t *bytes_out);

#define VV_SIZE_TEXT_SIZE 32
/* In the largest unit that leaves no rest: "64MiB", "1500". out holds VV_SIZE_TEXT_SIZE bytes. */
void vv_size_format(int64_t bytes, char *out);

#endif
