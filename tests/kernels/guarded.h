// Memory with a page that must not be touched right behind it, or right before it.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

namespace check {

/// On which side of the data its guard page lies without a gap.
enum class Edge { behind, before };

/// `size` bytes between guard pages. Where alignment leaves a gap before the guard, its bytes are watched.
class Guarded {
public:
    Guarded(size_t size, size_t alignment, Edge edge) : size(size) {
        const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
        const size_t room = (size + page - 1) / page * page;
        whole = room + 2 * page;
        void * found = mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (found == MAP_FAILED) {
            throw std::bad_alloc();
        }
        base = static_cast<char *>(found);
        std::memset(base + page, GAP, room);
        mprotect(base, page, PROT_NONE);
        mprotect(base + page + room, page, PROT_NONE);
        first = base + page;
        last = first + room;
        begin = edge == Edge::before ? first : first + (room - size) / alignment * alignment;
    }

    ~Guarded() { munmap(base, whole); }

    Guarded(const Guarded &) = delete;
    Guarded & operator=(const Guarded &) = delete;

    char * data() const { return begin; }

    /// Whether nobody wrote into the gaps between the data and the guards.
    bool is_whole() const {
        for (const char * at = first; at < last; at++) {
            if ((at < begin || at >= begin + size) && *at != GAP) {
                return false;
            }
        }
        return true;
    }

private:
    // Four of them are a float32, and two a float16, that is no number: reading a gap shows in the result.
    static constexpr char GAP = static_cast<char>(0xff);

    size_t size, whole;
    char *base, *first, *last, *begin;
};

}  // namespace check
