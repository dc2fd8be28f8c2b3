/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ctrl-C in clients: the first SIGINT or SIGTERM asks them to end in order, with a summary and a
 * clean terminal; the second ends the process.
 */
#ifndef VV_CLI_INTERRUPT_H
#define VV_CLI_INTERRUPT_H

#include <stdbool.h>

/* Once, before threads are started. */
void vv_interrupt_catch(void);
/* Any thread. */
bool vv_interrupted(void);

#endif
