/* SPDX-License-Identifier: Apache-2.0 */
/* What RocksDB says in words, as statuses. */
#include "store/rocksdb/rocksdb.h"

static bool contains(const char *message, const char *word)
{
    return strstr(message, word) != NULL;
}

static enum vv_status status_of(const char *message)
{
    if (contains(message, "No space left") || contains(message, "quota exceeded") ||
        contains(message, "File too large")) {
        return VV_FULL;
    }
    if (contains(message, "/LOCK:") || contains(message, "lock hold by")) {
        return VV_LOCKED;
    }
    return strncmp(message, "Corruption", 10) == 0 ? VV_CORRUPT : VV_IO;
}

static const char *advice_for(enum vv_status status)
{
    switch (status) {
    case VV_FULL:
        return "; free space on this disk";
    case VV_LOCKED:
        return "; another process has this store open: stop it first";
    case VV_CORRUPT:
        return "; the store is damaged: restore it from a backup";
    default:
        return "";
    }
}

enum vv_status vv_rocksdb_fail(char *take_message, const char *what, struct vv_error *error)
{
    enum vv_status status = status_of(take_message);
    vv_error_set(error, status, "%s: %.300s%s", what, take_message, advice_for(status));
    rocksdb_free(take_message);
    return status;
}

enum vv_status vv_rocksdb_wrote(struct vv_rocksdb *rocksdb, char *take_message, const char *what,
                                struct vv_error *error)
{
    if (!take_message) {
        return VV_OK;
    }
    rocksdb->broken = true;
    return vv_rocksdb_fail(take_message, what, error);
}

enum vv_status vv_rocksdb_writable(const struct vv_rocksdb *rocksdb, struct vv_error *error)
{
    if (rocksdb->broken) {
        return vv_error_set(error, VV_IO, "an earlier write failed: recover the store first");
    }
    return VV_OK;
}
