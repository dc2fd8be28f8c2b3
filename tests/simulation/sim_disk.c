/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated disk, the program's side: the calls of the disk interface, and their faults. */
#include "simulation/sim_disk_private.h"
#include "simulation/sim_memory.h"

#include <stdlib.h>

struct sim_handle {
    struct vv_file file; /* first */
    struct vv_sim_disk *sim;
    struct vv_sim_inode *inode;
    uint64_t life;
    bool writable;
};

static struct vv_sim_disk *sim_of(struct vv_disk *disk)
{
    return (struct vv_sim_disk *)disk;
}

static struct sim_handle *handle_of(struct vv_file *file)
{
    return (struct sim_handle *)file;
}

/* Faults */

static enum vv_status off_error(struct vv_error *error)
{
    return vv_error_set(error, VV_IO, "the simulated disk is off");
}

/* Whether this call fails, and with what. *partial_out: the power goes off during it. */
static enum vv_status meet_fault(struct vv_sim_disk *sim, enum vv_sim_call call, bool *partial_out,
                                 struct vv_error *error)
{
    *partial_out = false;
    if (sim->off) {
        return off_error(error);
    }
    if (call != VV_SIM_READ) {
        sim->calls++;
        if (sim->off_countdown > 0 && --sim->off_countdown == 0) {
            sim->off = true;
            *partial_out = true;
            return off_error(error);
        }
    }
    struct vv_sim_fault *fault = &sim->faults[call];
    if (fault->countdown > 0 && --fault->countdown == 0) {
        return vv_error_set(error, fault->status, "a simulated fault: %s",
                            vv_status_name(fault->status));
    }
    if (fault->rate > 0 && vv_random_below(&sim->random, 1000000) < fault->rate) {
        return vv_error_set(error, VV_IO, "a simulated fault now and then");
    }
    return VV_OK;
}

static bool coin(struct vv_sim_disk *sim)
{
    return vv_random_below(&sim->random, 2) == 0;
}

static bool is_dead(const struct sim_handle *handle)
{
    return handle->life != handle->sim->life;
}

/* Calls on files; each takes the lock around its step. */

static enum vv_status write_locked(struct sim_handle *handle, uint64_t offset, const void *bytes,
                                   size_t size, struct vv_error *error)
{
    struct vv_sim_disk *sim = handle->sim;
    bool partial;
    bool was_off = sim->off;
    enum vv_status status = meet_fault(sim, VV_SIM_WRITE, &partial, error);
    size_t written = size;
    uint64_t end = offset + size;
    uint64_t growth = end > handle->inode->seen.size ? end - handle->inode->seen.size : 0;
    if (status != VV_OK) {
        written = was_off ? 0 : (size_t)vv_random_below(&sim->random, size + 1);
    } else if (sim->capacity != VV_SIM_NO_LIMIT && growth > 0) {
        uint64_t used = vv_sim_disk_bytes_used(sim);
        uint64_t left = used < sim->capacity ? sim->capacity - used : 0;
        if (growth > left) {
            status = vv_error_set(error, VV_FULL, "the simulated disk is full");
            written = size > growth - left ? (size_t)(size - (growth - left)) : 0;
        }
    }
    vv_sim_inode_write(handle->inode, offset, bytes, written);
    return status;
}

static enum vv_status sim_write(struct vv_file *file, uint64_t offset, const void *bytes,
                                size_t size, struct vv_error *error)
{
    struct sim_handle *handle = handle_of(file);
    vv_invariant(handle->writable);
    pthread_mutex_lock(&handle->sim->lock);
    enum vv_status status =
        is_dead(handle) ? off_error(error) : write_locked(handle, offset, bytes, size, error);
    pthread_mutex_unlock(&handle->sim->lock);
    return status;
}

static enum vv_status sim_read(struct vv_file *file, uint64_t offset, void *bytes, size_t size,
                               size_t *size_out, struct vv_error *error)
{
    struct sim_handle *handle = handle_of(file);
    pthread_mutex_lock(&handle->sim->lock);
    bool partial;
    enum vv_status status =
        is_dead(handle) ? off_error(error) : meet_fault(handle->sim, VV_SIM_READ, &partial, error);
    if (status == VV_OK) {
        const struct vv_sim_image *image = &handle->inode->seen;
        size_t left = offset < image->size ? image->size - (size_t)offset : 0;
        *size_out = size < left ? size : left;
        if (*size_out) {
            memcpy(bytes, image->bytes + offset, *size_out);
        }
    }
    pthread_mutex_unlock(&handle->sim->lock);
    return status;
}

static enum vv_status sync_locked(struct sim_handle *handle, struct vv_error *error)
{
    struct vv_sim_disk *sim = handle->sim;
    bool partial;
    bool was_off = sim->off;
    enum vv_status status = meet_fault(sim, VV_SIM_SYNC, &partial, error);
    if (status == VV_OK) {
        vv_sim_inode_sync(handle->inode);
    } else if (!was_off && coin(sim)) {
        vv_sim_inode_drop_changes(handle->inode, &sim->random);
    }
    return status;
}

static enum vv_status sim_sync(struct vv_file *file, struct vv_error *error)
{
    struct sim_handle *handle = handle_of(file);
    pthread_mutex_lock(&handle->sim->lock);
    enum vv_status status = is_dead(handle) ? off_error(error) : sync_locked(handle, error);
    pthread_mutex_unlock(&handle->sim->lock);
    return status;
}

static enum vv_status sim_truncate(struct vv_file *file, uint64_t size, struct vv_error *error)
{
    struct sim_handle *handle = handle_of(file);
    struct vv_sim_disk *sim = handle->sim;
    vv_invariant(handle->writable);
    pthread_mutex_lock(&sim->lock);
    bool partial = false;
    enum vv_status status =
        is_dead(handle) ? off_error(error) : meet_fault(sim, VV_SIM_TRUNCATE, &partial, error);
    if (status == VV_OK || (partial && coin(sim))) {
        vv_sim_inode_resize(handle->inode, size);
    }
    pthread_mutex_unlock(&sim->lock);
    return status;
}

static enum vv_status allocate_locked(struct sim_handle *handle, uint64_t size,
                                      struct vv_error *error)
{
    struct vv_sim_disk *sim = handle->sim;
    bool partial;
    enum vv_status status = meet_fault(sim, VV_SIM_ALLOCATE, &partial, error);
    uint64_t now = handle->inode->seen.size;
    if (status == VV_OK && !sim->allocates) {
        return vv_error_set(error, VV_IO, "the simulated disk cannot reserve space");
    }
    if (status == VV_OK && size > now && sim->capacity != VV_SIM_NO_LIMIT &&
        vv_sim_disk_bytes_used(sim) + (size - now) > sim->capacity) {
        return vv_error_set(error, VV_FULL, "the simulated disk is full");
    }
    if (size > now && (status == VV_OK || (partial && coin(sim)))) {
        vv_sim_inode_resize(handle->inode, size);
    }
    return status;
}

static enum vv_status sim_allocate(struct vv_file *file, uint64_t size, struct vv_error *error)
{
    struct sim_handle *handle = handle_of(file);
    vv_invariant(handle->writable);
    pthread_mutex_lock(&handle->sim->lock);
    enum vv_status status =
        is_dead(handle) ? off_error(error) : allocate_locked(handle, size, error);
    pthread_mutex_unlock(&handle->sim->lock);
    return status;
}

static enum vv_status sim_size(struct vv_file *file, uint64_t *size_out, struct vv_error *error)
{
    struct sim_handle *handle = handle_of(file);
    pthread_mutex_lock(&handle->sim->lock);
    bool dead = is_dead(handle) || handle->sim->off;
    *size_out = handle->inode->seen.size;
    pthread_mutex_unlock(&handle->sim->lock);
    return dead ? off_error(error) : VV_OK;
}

static void sim_close(struct vv_file *file)
{
    struct sim_handle *handle = handle_of(file);
    struct vv_sim_disk *sim = handle->sim;
    pthread_mutex_lock(&sim->lock);
    vv_sim_inode_release(handle->inode);
    sim->handles--;
    pthread_mutex_unlock(&sim->lock);
    free(handle);
}

/* Calls on names */

static enum vv_status create_locked(struct vv_sim_disk *sim, const char *path, bool is_folder,
                                    struct vv_error *error)
{
    bool partial;
    enum vv_status status = meet_fault(sim, VV_SIM_OPEN, &partial, error);
    if (status == VV_OK && vv_sim_names_find(&sim->names, path)) {
        return vv_error_set(error, VV_EXISTS, "cannot create %s: it exists", path);
    }
    if (status == VV_OK || (partial && coin(sim) && !vv_sim_names_find(&sim->names, path))) {
        vv_sim_names_change(&sim->names, NULL, path, vv_sim_inode_create(is_folder));
    }
    return status;
}

static enum vv_status open_locked(struct vv_sim_disk *sim, const char *path, enum vv_open_mode mode,
                                  struct sim_handle *handle, struct vv_error *error)
{
    enum vv_status status = sim->off ? off_error(error) : VV_OK;
    if (status == VV_OK && mode == VV_OPEN_CREATE) {
        status = create_locked(sim, path, false, error);
    }
    if (status != VV_OK) {
        return status;
    }
    struct vv_sim_inode *inode = vv_sim_names_find(&sim->names, path);
    if (!inode) {
        return vv_error_set(error, VV_NOT_FOUND, "cannot open %s: it does not exist", path);
    }
    if (inode->is_folder) {
        return vv_error_set(error, VV_IO, "cannot open %s: it is a folder", path);
    }
    inode->references++;
    sim->handles++;
    *handle = (struct sim_handle){{&vv_sim_disk_ops}, sim, inode, sim->life, mode != VV_OPEN_READ};
    return VV_OK;
}

static enum vv_status sim_open(struct vv_disk *disk, const char *path, enum vv_open_mode mode,
                               struct vv_file **file_out, struct vv_error *error)
{
    struct vv_sim_disk *sim = sim_of(disk);
    struct sim_handle *handle = vv_sim_calloc(1, sizeof *handle);
    pthread_mutex_lock(&sim->lock);
    enum vv_status status = open_locked(sim, path, mode, handle, error);
    pthread_mutex_unlock(&sim->lock);
    if (status != VV_OK) {
        free(handle);
        return status;
    }
    *file_out = &handle->file;
    return VV_OK;
}

static enum vv_status sim_make_folder(struct vv_disk *disk, const char *path,
                                      struct vv_error *error)
{
    struct vv_sim_disk *sim = sim_of(disk);
    pthread_mutex_lock(&sim->lock);
    enum vv_status status = create_locked(sim, path, true, error);
    pthread_mutex_unlock(&sim->lock);
    return status;
}

static enum vv_status sim_remove(struct vv_disk *disk, const char *path, struct vv_error *error)
{
    struct vv_sim_disk *sim = sim_of(disk);
    pthread_mutex_lock(&sim->lock);
    bool partial;
    enum vv_status status = meet_fault(sim, VV_SIM_REMOVE, &partial, error);
    struct vv_sim_inode *inode = vv_sim_names_find(&sim->names, path);
    if (status == VV_OK && !inode) {
        status = vv_error_set(error, VV_NOT_FOUND, "cannot remove %s: it does not exist", path);
    } else if (inode && (status == VV_OK || (partial && coin(sim)))) {
        vv_sim_names_change(&sim->names, path, NULL, inode);
    }
    pthread_mutex_unlock(&sim->lock);
    return status;
}

static enum vv_status sim_rename(struct vv_disk *disk, const char *from, const char *to,
                                 struct vv_error *error)
{
    struct vv_sim_disk *sim = sim_of(disk);
    pthread_mutex_lock(&sim->lock);
    bool partial;
    enum vv_status status = meet_fault(sim, VV_SIM_RENAME, &partial, error);
    struct vv_sim_inode *inode = vv_sim_names_find(&sim->names, from);
    if (status == VV_OK && !inode) {
        status = vv_error_set(error, VV_NOT_FOUND, "cannot rename %s: it does not exist", from);
    } else if (inode && (status == VV_OK || (partial && coin(sim)))) {
        vv_sim_names_change(&sim->names, from, to, inode);
    }
    pthread_mutex_unlock(&sim->lock);
    return status;
}

static enum vv_status sim_sync_folder(struct vv_disk *disk, const char *path,
                                      struct vv_error *error)
{
    struct vv_sim_disk *sim = sim_of(disk);
    pthread_mutex_lock(&sim->lock);
    bool partial;
    enum vv_status status = meet_fault(sim, VV_SIM_SYNC_FOLDER, &partial, error);
    if (status == VV_OK || (partial && coin(sim))) {
        vv_sim_names_sync(&sim->names, path);
    }
    pthread_mutex_unlock(&sim->lock);
    return status;
}

static enum vv_status sim_list(struct vv_disk *disk, const char *path,
                               enum vv_status (*visit)(void *context, const char *name),
                               void *context, struct vv_error *error)
{
    struct vv_sim_disk *sim = sim_of(disk);
    pthread_mutex_lock(&sim->lock);
    enum vv_status status = sim->off ? off_error(error) : VV_OK;
    size_t count = 0;
    char **names = vv_sim_calloc(sim->names.seen.count + 1, sizeof *names);
    for (size_t i = 0; status == VV_OK && i < sim->names.seen.count; i++) {
        if (vv_sim_names_in_folder(sim->names.seen.items[i].path, path)) {
            names[count++] = vv_sim_copy_text(strrchr(sim->names.seen.items[i].path, '/') + 1);
        }
    }
    if (status == VV_OK && strcmp(path, "/") != 0 && !vv_sim_names_find(&sim->names, path)) {
        status = vv_error_set(error, VV_NOT_FOUND, "cannot list %s: it does not exist", path);
    }
    pthread_mutex_unlock(&sim->lock);
    for (size_t i = 0; i < count; i++) {
        status = status == VV_OK ? visit(context, names[i]) : status;
        free(names[i]);
    }
    free(names);
    return status;
}

static enum vv_status sim_free_bytes(struct vv_disk *disk, const char *path, uint64_t *free_out,
                                     uint64_t *total_out, struct vv_error *error)
{
    (void)path;
    struct vv_sim_disk *sim = sim_of(disk);
    pthread_mutex_lock(&sim->lock);
    uint64_t used = vv_sim_disk_bytes_used(sim);
    *total_out = sim->capacity;
    *free_out = used < sim->capacity ? sim->capacity - used : 0;
    bool off = sim->off;
    pthread_mutex_unlock(&sim->lock);
    return off ? off_error(error) : VV_OK;
}

const struct vv_disk_ops vv_sim_disk_ops = {
    .open = sim_open,
    .close = sim_close,
    .write = sim_write,
    .read = sim_read,
    .sync = sim_sync,
    .truncate = sim_truncate,
    .allocate = sim_allocate,
    .size = sim_size,
    .remove = sim_remove,
    .rename = sim_rename,
    .make_folder = sim_make_folder,
    .sync_folder = sim_sync_folder,
    .list = sim_list,
    .free_bytes = sim_free_bytes,
};
