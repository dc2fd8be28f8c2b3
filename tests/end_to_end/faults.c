/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library to preload into the server, which makes calls of the disk fail, wait or be cut short.
 * What it does is read at each call from a file that the test has mapped too (VARVE_FAULTS_FILE),
 * so faults come and go while the server runs. varve_process.py knows the same layout.
 *
 *   file: 16 rules of 256 bytes each
 *   rule:
 *    0  4  on: 0 or 1; written last by the test
 *    4  4  operations, a set of enum operation
 *    8  4  errno to fail with; 0 does not fail
 *   12  4  1: a matching call waits as long as the rule is on
 *   16  4  how many calls wait in that way now
 *   20  4  1: a write that is to fail writes the first half of its bytes
 *   24  8  how many matching calls pass before it acts
 *   32  8  how many calls it acts on
 *   40  8  matching calls so far
 *   48  8  calls that it acted on so far
 *   56  8  free bytes to tell instead of the real ones (operation SPACE); nanoseconds by which
 *          the wall clock is ahead (CLOCK)
 *   64 192 part of the path of the file, ends with 0; empty matches all
 *
 * The first rule that acts decides; the others count the call all the same.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#define RULES    16
#define PATH_MAX 4096

enum operation {
    OPERATION_SYNC = 1,
    OPERATION_WRITE = 2,
    OPERATION_CREATE = 4, /* opening with O_CREAT, and links */
    OPERATION_ALLOCATE = 8,
    OPERATION_TRUNCATE = 16,
    OPERATION_RENAME = 32,
    OPERATION_SPACE = 64,
    OPERATION_CLOCK = 128,
};

struct rule {
    _Atomic uint32_t on;
    uint32_t operations;
    int32_t error;
    uint32_t waits;
    _Atomic uint32_t waiting;
    uint32_t torn;
    uint64_t skip;
    uint64_t count;
    _Atomic uint64_t seen;
    _Atomic uint64_t acted;
    int64_t value;
    char path[192];
};
_Static_assert(sizeof(struct rule) == 256, "varve_process.py knows the size");

static _Atomic(struct rule *) shared_rules;

static struct rule *rules(void)
{
    static _Atomic int opened;
    if (!atomic_exchange(&opened, 1)) {
        int (*real_open)(const char *, int, ...) = dlsym(RTLD_NEXT, "open");
        const char *path = getenv("VARVE_FAULTS_FILE");
        int file = path ? real_open(path, O_RDWR | O_CLOEXEC) : -1;
        size_t size = RULES * sizeof(struct rule);
        void *bytes =
            file < 0 ? MAP_FAILED : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (bytes == MAP_FAILED) {
            fprintf(stderr, "faults: VARVE_FAULTS_FILE cannot be mapped\n");
            _exit(99);
        }
        close(file);
        atomic_store(&shared_rules, bytes);
    }
    return atomic_load(&shared_rules);
}

/* Before the program's first thread, so that no two calls race to open the file. */
__attribute__((constructor)) static void begin(void)
{
    (void)rules();
}

static void wait_while_on(struct rule *rule)
{
    const struct timespec moment = {.tv_nsec = 1000000};
    atomic_fetch_add(&rule->waiting, 1);
    while (atomic_load(&rule->on)) {
        nanosleep(&moment, NULL);
    }
    atomic_fetch_sub(&rule->waiting, 1);
}

/* The rule that acts on this call; NULL when it goes through. */
static struct rule *find(enum operation operation, const char *path)
{
    struct rule *acting = NULL;
    struct rule *all = rules();
    for (size_t i = 0; all && i < RULES; i++) {
        struct rule *rule = &all[i];
        if (!atomic_load(&rule->on) || !(rule->operations & operation) ||
            !strstr(path, rule->path)) {
            continue;
        }
        uint64_t seen = atomic_fetch_add(&rule->seen, 1);
        if (!acting && seen >= rule->skip && seen - rule->skip < rule->count) {
            acting = rule;
        }
    }
    if (acting) {
        atomic_fetch_add(&acting->acted, 1);
        if (acting->waits) {
            wait_while_on(acting);
        }
    }
    return acting;
}

/* Whether the call is to fail; errno is set then. */
static int fails(enum operation operation, const char *path)
{
    int before = errno;
    struct rule *rule = find(operation, path);
    errno = rule && rule->error ? rule->error : before;
    return rule && rule->error;
}

static const char *path_of(int file, char *path)
{
    char link[64];
    int before = errno;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t size = readlink(link, path, PATH_MAX - 1);
    path[size > 0 ? size : 0] = 0;
    errno = before;
    return path;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

/* ---- syncs ---- */

int fsync(int file)
{
    char path[PATH_MAX];
    return fails(OPERATION_SYNC, path_of(file, path)) ? -1 : REAL(fsync)(file);
}

int fdatasync(int file)
{
    char path[PATH_MAX];
    return fails(OPERATION_SYNC, path_of(file, path)) ? -1 : REAL(fdatasync)(file);
}

/* ---- writes ---- */

ssize_t write(int file, const void *bytes, size_t size)
{
    char path[PATH_MAX];
    struct rule *rule = find(OPERATION_WRITE, path_of(file, path));
    if (rule && rule->error) {
        if (rule->torn) {
            (void)!REAL(write)(file, bytes, size / 2);
        }
        errno = rule->error;
        return -1;
    }
    return REAL(write)(file, bytes, size);
}

ssize_t pwrite(int file, const void *bytes, size_t size, off_t offset)
{
    char path[PATH_MAX];
    struct rule *rule = find(OPERATION_WRITE, path_of(file, path));
    if (rule && rule->error) {
        if (rule->torn) {
            (void)!REAL(pwrite)(file, bytes, size / 2, offset);
        }
        errno = rule->error;
        return -1;
    }
    return REAL(pwrite)(file, bytes, size, offset);
}

/* ---- the rest ---- */

int open(const char *path, int flags, ...)
{
    mode_t mode = 0;
    if (flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE) {
        va_list arguments;
        va_start(arguments, flags);
        mode = va_arg(arguments, mode_t);
        va_end(arguments);
    }
    if (flags & O_CREAT && fails(OPERATION_CREATE, path)) {
        return -1;
    }
    return REAL(open)(path, flags, mode);
}

int link(const char *from, const char *to)
{
    return fails(OPERATION_CREATE, to) ? -1 : REAL(link)(from, to);
}

int fallocate(int file, int mode, off_t offset, off_t size)
{
    char path[PATH_MAX];
    return fails(OPERATION_ALLOCATE, path_of(file, path))
               ? -1
               : REAL(fallocate)(file, mode, offset, size);
}

int ftruncate(int file, off_t size)
{
    char path[PATH_MAX];
    return fails(OPERATION_TRUNCATE, path_of(file, path)) ? -1 : REAL(ftruncate)(file, size);
}

int rename(const char *from, const char *to)
{
    return fails(OPERATION_RENAME, to) ? -1 : REAL(rename)(from, to);
}

int statvfs(const char *path, struct statvfs *about)
{
    struct rule *rule = find(OPERATION_SPACE, path);
    int result = REAL(statvfs)(path, about);
    if (result == 0 && rule) {
        about->f_bavail = (uint64_t)rule->value / about->f_frsize;
        about->f_bfree = about->f_bavail;
    }
    return result;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    int result = REAL(clock_gettime)(clock, now);
    struct rule *rule = clock == CLOCK_REALTIME ? find(OPERATION_CLOCK, "") : NULL;
    if (result == 0 && rule) {
        int64_t ns = now->tv_nsec + rule->value % 1000000000;
        now->tv_sec += rule->value / 1000000000 + ns / 1000000000;
        now->tv_nsec = ns % 1000000000;
    }
    return result;
}

/* The same under the names that programs with 64-bit offsets use. */
int open64(const char *path, int flags, ...) __attribute__((alias("open")));
ssize_t pwrite64(int file, const void *bytes, size_t size, off64_t offset)
    __attribute__((alias("pwrite")));
int fallocate64(int file, int mode, off64_t offset, off64_t size)
    __attribute__((alias("fallocate")));
int ftruncate64(int file, off64_t size) __attribute__((alias("ftruncate")));
int statvfs64(const char *path, struct statvfs64 *about) __attribute__((alias("statvfs")));
