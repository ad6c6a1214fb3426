/* A machine on which the clock jumps and the disk is slow, preloaded into a program.

   ODD_MACHINE_CONTROL names a file of four 64-bit numbers that the test shares with it: by how many nanoseconds the wall
   clock is wrong, how many microseconds at least and at most each change of a file in ODD_MACHINE_FOLDER takes, and of
   how many locks there one fails with ENOLCK (0: none). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

struct control {
    _Atomic int64_t wrong, least, most, locks;
};

static struct control *control;
static char folder[PATH_MAX];
static _Atomic uint64_t drawn;

#define REAL(name) ((typeof(&name))dlsym(RTLD_NEXT, #name))

__attribute__((constructor)) static void begin(void) {
    const char *name = getenv("ODD_MACHINE_FOLDER"), *shared = getenv("ODD_MACHINE_CONTROL");
    if (!name || !shared || strlen(name) >= sizeof folder) return;
    const int file = open(shared, O_RDWR | O_CLOEXEC);
    if (file < 0) return;
    void *found = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (found == MAP_FAILED) return;
    strcpy(folder, name);
    control = found;
}

/* The clock. */

static void put_wrong(struct timespec *time) {
    const int64_t now = time->tv_sec * INT64_C(1000000000) + time->tv_nsec + control->wrong;
    time->tv_sec = now / 1000000000;
    time->tv_nsec = now % 1000000000;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    static typeof(&clock_gettime) real;
    if (!real) real = REAL(clock_gettime);
    const int failed = real(clock, time);
    if (!failed && control && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) put_wrong(time);
    return failed;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    (void)zone;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    time->tv_sec = now.tv_sec;
    time->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *out) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out) *out = now.tv_sec;
    return now.tv_sec;
}

/* The disk. */

static int is_ours(int file) {
    char link[64], path[PATH_MAX];
    if (!control || !control->most) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    const ssize_t length = readlink(link, path, sizeof path - 1);
    if (length <= 0) return 0;
    path[length] = 0;
    return !strncmp(path, folder, strlen(folder));
}

/* A number below 2^31 (the finaliser of SplitMix64 over a counter). */
static uint64_t draw(void) {
    uint64_t number = ++drawn * UINT64_C(0x9e3779b97f4a7c15);
    number = (number ^ number >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    number = (number ^ number >> 27) * UINT64_C(0x94d049bb133111eb);
    return (number ^ number >> 31) >> 33;
}

static void wait_a_while(void) {
    const uint64_t number = draw();
    const int64_t span = control->most - control->least;
    const int64_t micros = control->least + (span > 0 ? (int64_t)(number % (uint64_t)span) : 0);
    const struct timespec pause = {micros / 1000000, micros % 1000000 * 1000};
    nanosleep(&pause, NULL);
}

static int lock_fails(void) { return control->locks && draw() % (uint64_t)control->locks == 0; }

#define SLOW(result, name, parameters, arguments)                                                                      \
    result name parameters {                                                                                           \
        if (is_ours(file)) wait_a_while();                                                                             \
        return REAL(name) arguments;                                                                                   \
    }

SLOW(ssize_t, write, (int file, const void *data, size_t size), (file, data, size))
SLOW(ssize_t, pwrite64, (int file, const void *data, size_t size, off64_t at), (file, data, size, at))
SLOW(int, fsync, (int file), (file))
SLOW(int, fdatasync, (int file), (file))
SLOW(int, ftruncate64, (int file, off64_t size), (file, size))

int flock(int file, int how) {
    if (is_ours(file) && !(how & LOCK_UN) && lock_fails()) return errno = ENOLCK, -1;
    return REAL(flock)(file, how);
}

static int is_lock(int command, void *what) {
    return (command == F_SETLK || command == F_SETLKW) && ((struct flock *)what)->l_type != F_UNLCK;
}

#define FCNTL(name)                                                                                                    \
    int name(int file, int command, ...) {                                                                             \
        va_list more;                                                                                                  \
        va_start(more, command);                                                                                       \
        void *what = va_arg(more, void *);                                                                             \
        va_end(more);                                                                                                  \
        if (is_lock(command, what) && is_ours(file) && lock_fails()) return errno = ENOLCK, -1;                        \
        return REAL(name)(file, command, what);                                                                        \
    }

FCNTL(fcntl)
FCNTL(fcntl64)
