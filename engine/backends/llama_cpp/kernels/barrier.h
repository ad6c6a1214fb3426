// How threads wait for each other between two operations of a graph: several hundred times for every token.
//
// A thread that waits spins for a while, since waking one that sleeps takes longer than most waits, and sleeps then.
// Beside other programs two threads of ours are often on one core: there the one that spins would hold up the very
// thread that it waits for, so it sleeps at once.
#pragma once

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>

namespace outrider {

/// The place where the threads of a team meet; `threads`: their number. They are counted from 0.
class Barrier {
    /// Turns of a waiting thread before it sleeps: 0.05 to 0.2 ms, about as long as waking a thread takes.
    static constexpr int SPINS = 3000;
    /// Threads whose cores are known. Others count as being on cores of their own.
    static constexpr int KNOWN = 256;

    alignas(64) std::atomic<int> arrived{0};
    /// How often all have met. Sleeping threads wait until it changes.
    alignas(64) std::atomic<uint32_t> met{0};
    std::atomic<int> asleep{0};
    /// The core of each thread when it last came, or -1.
    alignas(64) std::atomic<int> cores[KNOWN];

    static void pause() {
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
#elif defined(__aarch64__)
        asm volatile("yield" ::: "memory");
#endif
    }

    void futex(int operation, uint32_t value) {
        static_assert(sizeof(met) == sizeof(uint32_t));
        syscall(SYS_futex, reinterpret_cast<uint32_t *>(&met), operation, value, nullptr, nullptr, 0);
    }

    /// Note this thread's core. Returns true if another thread was last seen there.
    bool shares_core(int thread, int threads) {
        const int core = sched_getcpu();
        if (thread < KNOWN && cores[thread].load(std::memory_order_relaxed) != core) {
            cores[thread].store(core, std::memory_order_relaxed);
        }
        for (int other = 0; other < threads && other < KNOWN; other++) {
            if (other != thread && cores[other].load(std::memory_order_relaxed) == core) {
                return true;
            }
        }
        return false;
    }

public:
    Barrier() {
        for (auto & core : cores) {
            core.store(-1, std::memory_order_relaxed);
        }
    }

    /// Returns when all threads are here.
    void wait(int thread, int threads) {
        const uint32_t before = met.load(std::memory_order_relaxed);
        const int turns = shares_core(thread, threads) ? 0 : SPINS;
        if (arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == threads) {
            arrived.store(0, std::memory_order_relaxed);
            met.store(before + 1, std::memory_order_seq_cst);
            if (asleep.load(std::memory_order_seq_cst) > 0) {
                futex(FUTEX_WAKE_PRIVATE, INT_MAX);
            }
            return;
        }
        for (int turn = 0; turn < turns; turn++) {
            if (met.load(std::memory_order_acquire) != before) {
                return;
            }
            pause();
        }
        asleep.fetch_add(1, std::memory_order_seq_cst);
        while (met.load(std::memory_order_seq_cst) == before) {
            futex(FUTEX_WAIT_PRIVATE, before);
        }
        asleep.fetch_sub(1, std::memory_order_relaxed);
    }
};

}  // namespace outrider
