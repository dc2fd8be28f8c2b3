/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A space is what is kept of a tenant for itself: a tier, under a retention of its own; or its late
 * points, under that of its other points. To the store, and to the other nodes, it is one more
 * tenant, with a name that clients cannot use: "plant/hour".
 *
 * A tier that is switched on again where nodes share a store has another **life**, in a space of
 * its own: "plant/hour.2". What is left of the one before can't be taken for something of this one.
 *
 * A place is where raw points lie: the tenant itself, or one of its classes, which are kept for a
 * time of their own: "plant/@debug". A class has spaces as a tenant has: "plant/@debug/hour". Pure
 * functions, any thread.
 */
#ifndef VV_MODEL_SPACE_H
#define VV_MODEL_SPACE_H

#include "base/bytes.h"

enum vv_space {
    VV_SPACE_MINUTE,
    VV_SPACE_HOUR,
    VV_SPACE_DAY,
    VV_SPACES, /* those above, of tiers */
    VV_SPACE_LATE = VV_SPACES,
    VV_SPACES_ALL
};

#define VV_SPACE_LIVES_MAX  9999
#define VV_SPACE_SUFFIX_MAX 12
#define VV_CLASS_NAME_MAX   32
#define VV_CLASS_SUFFIX_MAX (2 + VV_CLASS_NAME_MAX) /* "/@" and the name */
/* A space with this retention is off: nothing is written into it, and what it had goes. */
#define VV_SPACE_OFF_NS 1
/* Whether a retention keeps more than another; 0 is for ever. */
static inline bool vv_retention_is_longer(int64_t a_ns, int64_t b_ns)
{
    return b_ns != 0 && (a_ns == 0 || a_ns > b_ns);
}
static inline int64_t vv_retention_longer(int64_t a_ns, int64_t b_ns)
{
    return vv_retention_is_longer(a_ns, b_ns) ? a_ns : b_ns;
}

/* What it is called: "hour". A NUL follows. */
struct vv_str vv_space_word(enum vv_space space);
/* The tier of this word; false: there is none. */
bool vv_space_of_word(struct vv_str word, enum vv_space *space_out);
/* How long a tier is kept where nobody says; 0: for ever. */
int64_t vv_space_retention_ns_default(enum vv_space space);
/* What follows a place's name in that of its space: "/hour", of its second life "/hour.2"; into
 * `room`. The space of late points has one life. */
struct vv_str vv_space_suffix(enum vv_space space, uint32_t life,
                              char room[VV_SPACE_SUFFIX_MAX + 1]);
/* The life of a space of this name, from 1 on. */
uint32_t vv_space_life(struct vv_str name);
/* The name of the tenant that a space, or a tenant, of this name belongs to. */
struct vv_str vv_space_tenant_name(struct vv_str name);
/* The name of the place that a space of this name belongs to; a place's is its own. */
struct vv_str vv_space_place_name(struct vv_str name);
/* The class that a place or a space of this name is of, or belongs to; size 0: of the tenant. */
struct vv_str vv_space_class_name(struct vv_str name);
/* Whether the name of a class is well-formed: 1 to 32 of a-z, A-Z, 0-9, '_', '-' and '.'. */
bool vv_space_is_class_name(struct vv_str name);
/* Whether a name is that of a tier's space; which one then. */
bool vv_space_of_name(struct vv_str name, enum vv_space *space_out);
/* Whether a name is that of the space of a place's late points. */
bool vv_space_is_late_name(struct vv_str name);
/* Whether the name is one of a space or a class; that it is well-formed is not looked at. */
bool vv_space_is_name(struct vv_str name);
/* Whether what follows a tenant's name, if anything does, is a class or a suffix, or both. */
bool vv_space_has_good_suffix(struct vv_str name);

#endif
