/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of a request: from the URL and from form bodies. One thread at a time. */
#ifndef VV_HTTP_PARAMETERS_H
#define VV_HTTP_PARAMETERS_H

#include "base/arena.h"
#include "query/query.h"

#define VV_PARAMETERS_MAX 1000

struct MHD_Connection;

/* Zero-initialised is empty and valid. */
struct vv_parameters {
    struct vv_parameter *items;
    size_t n;
    size_t capacity;
    struct vv_arena arena; /* of decoded texts */
};

void vv_parameters_deinit(struct vv_parameters *parameters);

/* Appends what stands in the URL; texts are borrowed from the connection's request. VV_INVALID
 * beyond VV_PARAMETERS_MAX, VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_parameters_add_url(struct vv_parameters *parameters,
                                                   struct MHD_Connection *connection,
                                                   struct vv_error *error);
/* Appends the pairs of an application/x-www-form-urlencoded text, decoded (copied). VV_INVALID for
 * a percent sign without two hexadecimal digits, too. */
VV_MUST_CHECK enum vv_status vv_parameters_add_form(struct vv_parameters *parameters,
                                                    struct vv_str form, struct vv_error *error);
/* The last value of a name; data is NULL when it is absent. */
struct vv_str vv_parameters_find(const struct vv_parameters *parameters, const char *name);
/* The tenant that is named by `tenant` or, as InfluxDB has it, `db`; else "default". */
struct vv_str vv_parameters_tenant(const struct vv_parameters *parameters);
/* Takes out every one of a name. */
void vv_parameters_remove(struct vv_parameters *parameters, const char *name);

#endif
