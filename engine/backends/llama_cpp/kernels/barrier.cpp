// Puts our barrier in the place of that of GNU's OpenMP, for the calls of this library (the linker's --wrap, ggml.cmake).

#include "barrier.h"

extern "C" {
int omp_get_num_threads();
int omp_get_thread_num();
void __real_GOMP_barrier();
void __real_GOMP_parallel(void (*work)(void *), void * data, unsigned threads, unsigned flags);
}

namespace {

/// What a parallel region does, and where its threads meet.
struct Region {
    void (*work)(void *);
    void * data;
    outrider::Barrier barrier;
};

/// A thread in a region.
struct Member {
    outrider::Barrier & barrier;
    const int thread = omp_get_thread_num(), threads = omp_get_num_threads();
};

thread_local const Member * self = nullptr;

void work_in(void * data) {
    Region & region = *static_cast<Region *>(data);
    const Member member{region.barrier};
    const Member * const outer = self;
    self = &member;
    region.work(region.data);
    self = outer;
}

}  // namespace

extern "C" void __wrap_GOMP_parallel(void (*work)(void *), void * data, unsigned threads, unsigned flags) {
    Region region{work, data, {}};
    // It returns when all threads have left the region.
    __real_GOMP_parallel(work_in, &region, threads, flags);
}

extern "C" void __wrap_GOMP_barrier() {
    if (self == nullptr) {
        __real_GOMP_barrier();
    } else if (self->threads > 1) {
        self->barrier.wait(self->thread, self->threads);
    }
}
