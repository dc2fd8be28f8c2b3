/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that are one request or two, and answers that are lists. Main thread. */
#ifndef VV_CLI_LISTS_H
#define VV_CLI_LISTS_H

#include "cli/client.h"
#include "cli/table_print.h"

#include <jansson.h>

struct vv_session {
    struct vv_client_options options;
    struct vv_client *client; /* the caller destroys it, also after a failure */
};
VV_MUST_CHECK enum vv_status vv_session_open(const struct vv_arguments *arguments,
                                             struct vv_session *session, struct vv_error *error);

/* One of several requests: the same as vv_call_once, in a session that is open. */
int vv_session_call(struct vv_session *session, const struct vv_call *call,
                    struct vv_response *response_out);
/* One request of a whole command; returns its exit code. *response_out is only for VV_EXIT_OK, and
 * deinited by the caller in any case. */
int vv_call_once(const struct vv_arguments *arguments, const struct vv_call *call,
                 struct vv_response *response_out);

/* The object that an answer holds; the caller's. NULL: there is none, which was said. */
json_t *vv_answer_object(const struct vv_response *response);

/* What a list of the server is printed as. */
struct vv_list_table {
    const struct vv_str *header;
    size_t columns;
    enum vv_status (*print_row)(struct vv_table *table, json_t *item);
};
/* Prints the list `name` of the answer to a call as a table, or as it came; the exit code. */
int vv_list_answer(const struct vv_arguments *arguments, const struct vv_call *call,
                   const char *name, const struct vv_list_table *how);
/* The same with a GET of a path. */
int vv_list_print(const struct vv_arguments *arguments, const char *path, const char *name,
                  const struct vv_list_table *how);

#endif
