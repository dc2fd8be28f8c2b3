/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps RocksDB's log of itself away from the disk. After one failed write to that log the next one
 * trips an assertion in Debian's build, so a full disk would end the process; c.h can neither do
 * without the log nor put another in its place. It says little (see options.c), so it is opened in
 * a folder in memory that is removed at once.
 */
#include "store/rocksdb/rocksdb.h"

#include "base/opendir.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MEMORY_FOLDER "/dev/shm"
#define FOLDER_PREFIX "varve-log-"
#define LEFT_AFTER_S  3600 /* opening takes much less */

static void remove_folder(const char *path)
{
    DIR *folder = vv_opendir(path);
    if (!folder) {
        return;
    }
    for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
        (void)unlinkat(dirfd(folder), entry->d_name, 0);
    }
    closedir(folder);
    (void)rmdir(path);
}

/* Removes the folders of processes that were killed while they opened a store. */
static void remove_leftovers(void)
{
    DIR *memory = vv_opendir(MEMORY_FOLDER);
    if (!memory) {
        return;
    }
    for (struct dirent *entry = readdir(memory); entry; entry = readdir(memory)) {
        struct stat about;
        bool named = strncmp(entry->d_name, FOLDER_PREFIX, sizeof FOLDER_PREFIX - 1) == 0;
        if (named && fstatat(dirfd(memory), entry->d_name, &about, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISDIR(about.st_mode) && about.st_uid == geteuid() &&
            about.st_mtime < time(NULL) - LEFT_AFTER_S) {
            char path[sizeof MEMORY_FOLDER + sizeof entry->d_name];
            snprintf(path, sizeof path, "%s/%s", MEMORY_FOLDER, entry->d_name);
            remove_folder(path);
        }
    }
    closedir(memory);
}

void vv_rocksdb_quiet_begin(struct vv_rocksdb *rocksdb)
{
    remove_leftovers();
    strcpy(rocksdb->log_folder, MEMORY_FOLDER "/" FOLDER_PREFIX "XXXXXX");
    if (!mkdtemp(rocksdb->log_folder)) {
        rocksdb->log_folder[0] = 0; /* without such a folder the log lies beside the data */
    }
    rocksdb_options_set_db_log_dir(rocksdb->options.base, rocksdb->log_folder);
}

void vv_rocksdb_quiet_end(struct vv_rocksdb *rocksdb)
{
    if (rocksdb->log_folder[0]) {
        remove_folder(rocksdb->log_folder);
    }
}
