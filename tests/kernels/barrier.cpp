// Tries the barrier: teams of 1 to 8 threads meet many times, on all cores and on one, some of them late.
//
//     barrier-check [MEETINGS]
//
// Exits with 1 where a thread went on before all were there. It is compiled from tests/engine/backends/test_barrier.py.
#include "barrier.h"

#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

/// What a thread has counted. No atomic: the barrier alone orders what threads write and read.
struct alignas(64) Count {
    int64_t met = 0;
};

void stay_on_one_core() {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof(one), &one);
}

void meet(outrider::Barrier & barrier, std::vector<Count> & counts, int thread, int64_t meetings) {
    const int threads = static_cast<int>(counts.size());
    uint64_t chance = static_cast<uint64_t>(thread) + 1;
    for (int64_t number = 1; number <= meetings; number++) {
        chance = chance * 6364136223846793005u + 1442695040888963407u;
        if (chance >> 55 == 0) {  // Once in 512 times, for so long that the others sleep.
            usleep(300);
        }
        counts[thread].met = number;
        barrier.wait(thread, threads);
        for (const Count & count : counts) {
            if (count.met != number) {
                std::puts("BROKEN: a thread went on before all were there");
                std::fflush(stdout);
                _exit(1);  // The others may wait for ever.
            }
        }
        barrier.wait(thread, threads);
    }
}

void try_team(int threads, int64_t meetings) {
    outrider::Barrier barrier;
    std::vector<Count> counts(static_cast<size_t>(threads));
    std::vector<std::thread> team;
    for (int thread = 0; thread < threads; thread++) {
        team.emplace_back(meet, std::ref(barrier), std::ref(counts), thread, meetings);
    }
    for (std::thread & thread : team) {
        thread.join();
    }
}

}  // namespace

int main(int count, char ** words) {
    const int64_t meetings = count > 1 ? std::atoll(words[1]) : 2000;
    for (const bool one_core : {false, true}) {
        if (one_core) {
            stay_on_one_core();
        }
        for (int threads = 1; threads <= 8; threads++) {
            try_team(threads, meetings);
        }
    }
    std::puts("held");
    return 0;
}
