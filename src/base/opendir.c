/* SPDX-License-Identifier: Apache-2.0 */
/* Opening a folder by a descriptor of its own. */
#include "base/opendir.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

DIR *vv_opendir(const char *path)
{
    int descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) {
        return NULL;
    }
    DIR *folder = fdopendir(descriptor);
    if (!folder) {
        int code = errno;
        (void)close(descriptor);
        errno = code;
    }
    return folder;
}
