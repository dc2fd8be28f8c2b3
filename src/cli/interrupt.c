/* SPDX-License-Identifier: Apache-2.0 */
/* A flag that a signal sets. */
#include "cli/interrupt.h"

#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_bool interrupted;

static void note_signal(int signal_number)
{
    (void)signal_number;
    atomic_store_explicit(&interrupted, true, memory_order_relaxed);
}

void vv_interrupt_catch(void)
{
    struct sigaction action = {.sa_handler = note_signal, .sa_flags = (int)SA_RESETHAND};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

bool vv_interrupted(void)
{
    return atomic_load_explicit(&interrupted, memory_order_relaxed);
}
