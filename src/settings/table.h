/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to this folder: the one table of settings, and how a value of a row is read and written.
 * The table is constant; any thread.
 */
#ifndef VV_SETTINGS_TABLE_H
#define VV_SETTINGS_TABLE_H

#include "settings/settings.h"

enum vv_setting_type {
    VV_SETTING_SIZE,     /* bytes: 64MiB, 1GB, 4096 */
    VV_SETTING_DURATION, /* ns: 30s, 10m, 7d */
    VV_SETTING_INT,
    VV_SETTING_BOOL,
    VV_SETTING_TEXT,
    VV_SETTING_ENUM,   /* a text of which `choices` are allowed */
    VV_SETTING_SECRET, /* a text that is never printed, in messages neither */
};

struct vv_setting {
    const char *name; /* dotted, as in YAML */
    enum vv_setting_type type;
    size_t offset;      /* in struct vv_settings: int64_t, bool or char[VV_SETTING_TEXT_MAX] */
    const char *preset; /* the default, as it would be written */
    /* Numbers: the range, both ends allowed. Texts: the least length. */
    int64_t least;
    int64_t most;
    const char *zero; /* numbers: 0 is allowed besides the range and means this; NULL: it is not */
    const char *choices; /* enums: words between bars, "debug|info" */
    const char *meaning; /* one or two sentences without the full stop at the end */
};

extern const struct vv_setting vv_setting_table[];
extern const size_t vv_setting_count;

/* The row with this dotted name; NULL if there is none. */
const struct vv_setting *vv_setting_find(struct vv_str name);
/* The kind of a section ("store": the row "store.kind"); NULL if it is none or has no kind. */
const struct vv_setting *vv_setting_kind_of(struct vv_str section);
/* The name nearest to a wrong one, "" if none is near. */
const char *vv_setting_nearest(struct vv_str name);

/* Reads `text` as the row's type into settings. VV_INVALID: the message has the name, what is wrong
 * and what is allowed; settings are then as before. */
VV_MUST_CHECK enum vv_status vv_setting_read(const struct vv_setting *row, struct vv_str text,
                                             struct vv_settings *settings, struct vv_error *error);

#define VV_SETTING_WRITTEN_SIZE (VV_SETTING_TEXT_MAX + 8)
/* The present value as vv_setting_read takes it, "" for a secret; out holds
 * VV_SETTING_WRITTEN_SIZE bytes. */
void vv_setting_write(const struct vv_setting *row, const struct vv_settings *settings, char *out);
/* Whether it is a secret that is there. */
bool vv_setting_is_hidden(const struct vv_setting *row, const struct vv_settings *settings);
/* What is allowed, for messages and documents: "1KiB to 16GiB; 0 for any". */
void vv_setting_allowed(const struct vv_setting *row, char *out, size_t out_size);

/* cassandra.c: what vv_settings_check asks of the section cassandra. */
VV_MUST_CHECK enum vv_status vv_settings_check_cassandra(const struct vv_settings *settings,
                                                         struct vv_error *error);

#endif
