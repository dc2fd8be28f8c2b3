/* SPDX-License-Identifier: Apache-2.0 */
/* Opening a folder to list what is in it. */
#ifndef VV_BASE_OPENDIR_H
#define VV_BASE_OPENDIR_H

#include <dirent.h>

/* As opendir(), for code that runs beside other threads: ThreadSanitizer does not see which
 * descriptor opendir() takes, and reports its closing as a race with whoever closed another that
 * had the same number before. Ends with closedir(). NULL: errno says why. */
DIR *vv_opendir(const char *path);

#endif
