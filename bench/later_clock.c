/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For LD_PRELOAD: a process whose time of day is ahead by VARVE_LATER seconds. Only functions that
 * tell the time of day are touched; waiting goes by other clocks.
 */
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <dlfcn.h>

static int (*real_clock_gettime)(clockid_t clock, struct timespec *now);
static time_t ahead_s;

__attribute__((constructor)) static void begin(void)
{
    const char *text = getenv("VARVE_LATER");
    *(void **)&real_clock_gettime = dlsym(RTLD_NEXT, "clock_gettime");
    ahead_s = text ? (time_t)strtoll(text, NULL, 10) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    int result = real_clock_gettime ? real_clock_gettime(clock, now)
                                    : (int)syscall(SYS_clock_gettime, clock, now);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        now->tv_sec += ahead_s;
    }
    return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    (void)zone;
    struct timespec exact;
    int result = clock_gettime(CLOCK_REALTIME, &exact);
    now->tv_sec = exact.tv_sec;
    now->tv_usec = exact.tv_nsec / 1000;
    return result;
}

time_t time(time_t *now_out)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    if (now_out) {
        *now_out = now.tv_sec;
    }
    return now.tv_sec;
}
