/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The disk interface: what the journal and the data folder need from a file system, so that a
 * simulation can take its place. Implementations: the real one (disk_posix.c) and the simulated one
 * of the tests. Any thread may call; one file is used by one thread at a time.
 *
 * Errors: VV_FULL when there is no space, VV_NOT_FOUND, VV_EXISTS, VV_IO for all else; the message
 * names the path and the cause.
 */
#ifndef VV_BASE_DISK_H
#define VV_BASE_DISK_H

#include "base/bytes.h"

struct vv_disk;
struct vv_file;

enum vv_open_mode {
    VV_OPEN_READ,   /* must exist */
    VV_OPEN_WRITE,  /* must exist; read and write */
    VV_OPEN_CREATE, /* must not exist; read and write */
};

struct vv_disk_ops {
    enum vv_status (*open)(struct vv_disk *, const char *path, enum vv_open_mode,
                           struct vv_file **file_out, struct vv_error *);
    void (*close)(struct vv_file *);
    /* Writes all bytes at offset or fails; a failed write may have written a part. */
    enum vv_status (*write)(struct vv_file *, uint64_t offset, const void *bytes, size_t size,
                            struct vv_error *);
    /* Reads up to size bytes; fewer only at the end of the file. */
    enum vv_status (*read)(struct vv_file *, uint64_t offset, void *bytes, size_t size,
                           size_t *size_out, struct vv_error *);
    /* Content (and size) durable on return. After a failure, what was written since the last
     * successful sync is of unknown durability. */
    enum vv_status (*sync)(struct vv_file *, struct vv_error *);
    enum vv_status (*truncate)(struct vv_file *, uint64_t size, struct vv_error *);
    /* Reserves space and extends the size to `size`; the new bytes read as zeros. */
    enum vv_status (*allocate)(struct vv_file *, uint64_t size, struct vv_error *);
    enum vv_status (*size)(struct vv_file *, uint64_t *size_out, struct vv_error *);
    enum vv_status (*remove)(struct vv_disk *, const char *path, struct vv_error *);
    enum vv_status (*rename)(struct vv_disk *, const char *from, const char *to, struct vv_error *);
    enum vv_status (*make_folder)(struct vv_disk *, const char *path, struct vv_error *);
    /* Makes creations, renames and removals in the folder durable. */
    enum vv_status (*sync_folder)(struct vv_disk *, const char *path, struct vv_error *);
    /* Calls visit for each name (without folder, not "." or ".."), in no order. */
    enum vv_status (*list)(struct vv_disk *, const char *path,
                           enum vv_status (*visit)(void *context, const char *name), void *context,
                           struct vv_error *);
    /* Bytes that an ordinary user can still write below path. */
    enum vv_status (*free_bytes)(struct vv_disk *, const char *path, uint64_t *free_out,
                                 uint64_t *total_out, struct vv_error *);
};

struct vv_disk {
    const struct vv_disk_ops *ops;
};

/* Every file knows its ops, so that calls need the file alone. */
struct vv_file {
    const struct vv_disk_ops *ops;
};

/* The real file system; one static object, never freed. */
struct vv_disk *vv_disk_posix(void);

#endif
