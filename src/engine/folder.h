/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The data folder: `VARVE` (format and lock), `journal/`, `store/`.
 *
 * VARVE is a text file: `varve data folder`, `format: 1`. It is locked (flock) while a server has
 * the folder open.
 */
#ifndef VV_ENGINE_FOLDER_H
#define VV_ENGINE_FOLDER_H

#include "base/status.h"

struct vv_folder;

/* Makes the folder when it is missing or empty, checks and locks it. VV_LOCKED: another server has
 * it; VV_NEWER: a newer format; VV_INVALID: not Varve's; VV_IO. The message says what to do. */
VV_MUST_CHECK enum vv_status vv_folder_open(const char *path, struct vv_folder **folder_out,
                                            struct vv_error *error);
void vv_folder_close(struct vv_folder *folder);
/* Paths below it; valid until close. */
const char *vv_folder_journal(const struct vv_folder *folder);
const char *vv_folder_store(const struct vv_folder *folder);

#endif
