/* A disk that fills up: preloaded into a program, makes writes to files in one folder fail with ENOSPC.

   FULL_DISK_FOLDER names the folder, FULL_DISK_CONTROL a file of three 64-bit numbers that the test shares with it: how
   many writes were counted, and the first and the last one that fail. Writes are those that need space: of data, of a
   larger size, of a new file. The first write that fails puts half of its data on the disk, as real disks do. */
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
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct control {
    _Atomic int64_t counted, first, last;
};

static struct control *control;
static char folder[PATH_MAX];

__attribute__((constructor)) static void begin(void) {
    const char *name = getenv("FULL_DISK_FOLDER"), *shared = getenv("FULL_DISK_CONTROL");
    if (!name || !shared || strlen(name) >= sizeof folder) return;
    const int file = open(shared, O_RDWR | O_CLOEXEC);
    if (file < 0) return;
    void *found = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (found == MAP_FAILED) return;
    strcpy(folder, name);
    control = found;
}

static int in_folder(const char *path) {
    const size_t length = strlen(folder);
    return length && !strncmp(path, folder, length) && path[length] == '/';
}

static int is_ours(int file) {
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    const ssize_t length = readlink(link, path, sizeof path - 1);
    if (length <= 0) return 0;
    path[length] = 0;
    return in_folder(path);
}

/* 0: goes on; 1: the first that fails; 2: one of the others. */
static int fails(void) {
    const int64_t number = ++control->counted;
    if (number < control->first || number > control->last) return 0;
    return number == control->first ? 1 : 2;
}

#define REAL(name) ((typeof(&name))dlsym(RTLD_NEXT, #name))
#define FULL (errno = ENOSPC, -1)

ssize_t write(int file, const void *data, size_t size) {
    if (control && is_ours(file)) {
        const int failed = fails();
        if (failed == 1 && size > 1) return REAL(write)(file, data, size / 2);
        if (failed) return FULL;
    }
    return REAL(write)(file, data, size);
}

#define PWRITE(name, offset_type)                                                                                      \
    ssize_t name(int file, const void *data, size_t size, offset_type offset) {                                        \
        if (control && is_ours(file)) {                                                                                \
            const int failed = fails();                                                                                \
            if (failed == 1 && size > 1) return REAL(name)(file, data, size / 2, offset);                              \
            if (failed) return FULL;                                                                                   \
        }                                                                                                              \
        return REAL(name)(file, data, size, offset);                                                                   \
    }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

#define FTRUNCATE(name, offset_type)                                                                                   \
    int name(int file, offset_type size) {                                                                             \
        struct stat before;                                                                                            \
        if (control && !fstat(file, &before) && size > before.st_size && is_ours(file) && fails()) return FULL;        \
        return REAL(name)(file, size);                                                                                 \
    }
FTRUNCATE(ftruncate, off_t)
FTRUNCATE(ftruncate64, off64_t)

#define OPEN(name)                                                                                                     \
    int name(const char *path, int flags, ...) {                                                                       \
        va_list more;                                                                                                  \
        va_start(more, flags);                                                                                         \
        const mode_t mode = flags & O_CREAT ? va_arg(more, mode_t) : 0;                                                \
        va_end(more);                                                                                                  \
        if (control && flags & O_CREAT && in_folder(path) && access(path, F_OK) && fails()) return FULL;               \
        return REAL(name)(path, flags, mode);                                                                          \
    }
OPEN(open)
OPEN(open64)
