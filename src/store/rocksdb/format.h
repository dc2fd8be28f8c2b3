/* SPDX-License-Identifier: Apache-2.0 */
/* The file that says what a store's folder is; private to src/store/rocksdb. */
#ifndef VV_STORE_ROCKSDB_FORMAT_H
#define VV_STORE_ROCKSDB_FORMAT_H

#include "base/bytes.h"

/*
 * Makes folder a store's, or finds that it is one already. eras: how many a new store has;
 * eras_out: how many this one has. VV_NEWER, VV_CORRUPT, VV_INVALID when it holds something else.
 */
VV_MUST_CHECK enum vv_status vv_rocksdb_format_open(const char *folder, int eras, int *eras_out,
                                                    struct vv_error *error);

#endif
