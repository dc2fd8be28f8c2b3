/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Short turns on the processors, for a thread that somebody waits for and that works little at
 * once.
 *
 * A thread that wakes takes a processor over from another one at once if its own turn would end
 * sooner; of two with equal turns it may have to wait for the other's end, which the kernel looks
 * for at its clock ticks only (4 ms apart in many systems). Its share of the time stays the same.
 */
#ifndef VV_BASE_TURNS_H
#define VV_BASE_TURNS_H

/* For the calling thread, from now on; again costs little. A kernel that knows no turns of a
 * thread's own (Linux before 6.12), or does not allow it, goes on as before. */
void vv_turns_shorten(void);

#endif
