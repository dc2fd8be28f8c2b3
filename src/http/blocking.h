/* SPDX-License-Identifier: Apache-2.0 */
/* Handlers whose work may block (administration): it is done by a worker, with the connection
 * suspended. */
#ifndef VV_HTTP_BLOCKING_H
#define VV_HTTP_BLOCKING_H

struct vv_exchange;

/* For a handler's finish: lets a worker call `work`, which leaves an answer. */
void vv_blocking_finish(struct vv_exchange *exchange, void (*work)(struct vv_exchange *exchange));
/* The handler's release. */
void vv_blocking_release(struct vv_exchange *exchange);

#endif
