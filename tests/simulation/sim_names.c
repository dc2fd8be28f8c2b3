/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the simulated disk. Out of memory ends the test. */
#include "simulation/sim_names.h"
#include "simulation/sim_memory.h"

#include <stdlib.h>

char *vv_sim_copy_text(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = vv_sim_malloc(size);
    memcpy(copy, text, size);
    return copy;
}

static struct vv_sim_name *list_find(struct vv_sim_name_list *list, const char *path)
{
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->items[i].path, path) == 0) {
            return &list->items[i];
        }
    }
    return NULL;
}

static void list_remove(struct vv_sim_name_list *list, const char *path)
{
    struct vv_sim_name *name = list_find(list, path);
    if (name) {
        free(name->path);
        vv_sim_inode_release(name->inode);
        *name = list->items[--list->count];
    }
}

static void list_set(struct vv_sim_name_list *list, const char *path, struct vv_sim_inode *inode)
{
    inode->references++;
    list_remove(list, path);
    if (list->count == list->capacity) {
        list->capacity = list->capacity ? list->capacity * 2 : 16;
        list->items = vv_sim_realloc(list->items, list->capacity * sizeof *list->items);
    }
    list->items[list->count++] = (struct vv_sim_name){vv_sim_copy_text(path), inode};
}

static void list_clear(struct vv_sim_name_list *list)
{
    while (list->count > 0) {
        list_remove(list, list->items[list->count - 1].path);
    }
}

bool vv_sim_names_in_folder(const char *path, const char *folder)
{
    size_t length = strlen(folder);
    const char *slash = strrchr(path, '/');
    if (strcmp(folder, "/") == 0) {
        return slash == path && path[1] != '\0';
    }
    return slash && (size_t)(slash - path) == length && strncmp(path, folder, length) == 0;
}

static void change_apply(struct vv_sim_name_list *list, const struct vv_sim_name_change *change)
{
    if (change->removed) {
        list_remove(list, change->removed);
    }
    if (change->added) {
        list_set(list, change->added, change->inode);
    }
}

static void change_free(struct vv_sim_name_change *change)
{
    free(change->removed);
    free(change->added);
    vv_sim_inode_release(change->inode);
}

void vv_sim_names_change(struct vv_sim_names *names, const char *removed, const char *added,
                         struct vv_sim_inode *inode)
{
    if (names->change_count == names->change_capacity) {
        names->change_capacity = names->change_capacity ? names->change_capacity * 2 : 16;
        names->changes =
            vv_sim_realloc(names->changes, names->change_capacity * sizeof *names->changes);
    }
    struct vv_sim_name_change *change = &names->changes[names->change_count++];
    inode->references++;
    *change = (struct vv_sim_name_change){removed ? vv_sim_copy_text(removed) : NULL,
                                          added ? vv_sim_copy_text(added) : NULL, inode};
    change_apply(&names->seen, change);
}

/* The changes in this folder become durable; those of others stay as they are. */
void vv_sim_names_sync(struct vv_sim_names *names, const char *folder)
{
    size_t kept = 0;
    for (size_t i = 0; i < names->change_count; i++) {
        struct vv_sim_name_change change = names->changes[i];
        if (vv_sim_names_in_folder(change.added ? change.added : change.removed, folder)) {
            change_apply(&names->durable, &change);
            change_free(&change);
        } else {
            names->changes[kept++] = change;
        }
    }
    names->change_count = kept;
}

void vv_sim_names_crash(struct vv_sim_names *names, struct vv_random *random)
{
    uint64_t mode = vv_random_below(random, 4);
    for (size_t i = 0; i < names->change_count; i++) {
        if (mode < 2 ? mode == 0 : vv_random_below(random, 2) == 0) {
            change_apply(&names->durable, &names->changes[i]);
        }
    }
    list_clear(&names->seen);
    for (size_t i = 0; i < names->durable.count; i++) {
        list_set(&names->seen, names->durable.items[i].path, names->durable.items[i].inode);
    }
    for (size_t i = 0; i < names->change_count; i++) {
        change_free(&names->changes[i]);
    }
    names->change_count = 0;
}

struct vv_sim_inode *vv_sim_names_find(struct vv_sim_names *names, const char *path)
{
    struct vv_sim_name *name = list_find(&names->seen, path);
    return name ? name->inode : NULL;
}

void vv_sim_names_deinit(struct vv_sim_names *names)
{
    list_clear(&names->seen);
    list_clear(&names->durable);
    for (size_t i = 0; i < names->change_count; i++) {
        change_free(&names->changes[i]);
    }
    free(names->seen.items);
    free(names->durable.items);
    free(names->changes);
}
