/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps RocksDB's log of itself away from the disk. After one failed write to that log the next one
 * trips an assertion in Debian's build, so a full disk would end the process; c.h can neither do
 * without the log nor put another in its place. It says little (see options.c), so it is opened in
 * a folder in memory that is removed at once.
 */
#include "store/rocksdb/rocksdb.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

void vv_rocksdb_quiet_begin(struct vv_rocksdb *rocksdb)
{
    strcpy(rocksdb->log_folder, "/dev/shm/varve-log-XXXXXX");
    if (!mkdtemp(rocksdb->log_folder)) {
        rocksdb->log_folder[0] = 0; /* without such a folder the log lies beside the data */
    }
    rocksdb_options_set_db_log_dir(rocksdb->options.base, rocksdb->log_folder);
}

void vv_rocksdb_quiet_end(struct vv_rocksdb *rocksdb)
{
    DIR *folder = rocksdb->log_folder[0] ? opendir(rocksdb->log_folder) : NULL;
    if (!folder) {
        return;
    }
    for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
        (void)unlinkat(dirfd(folder), entry->d_name, 0);
    }
    closedir(folder);
    (void)rmdir(rocksdb->log_folder);
}
