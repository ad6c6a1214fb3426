// The buffer type of packed weights: see packing.h. What ggml wants of one stands in ggml-cpu/traits.h. Also how the
// memory of llama.cpp's own buffers is cleared.
#include "packing.h"

#ifdef OUTRIDER_LANES

#include "ggml-backend-impl.h"
#include "traits.h"

#include <cstring>
#include <utility>

#ifdef __linux__
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>
#endif

namespace outrider {
namespace {

constexpr size_t HUGE_PAGE = 2 << 20;

/// Whether one of the formats is packed, for which `use` asks each of their files.
template <class Use> bool with_packed(Use && use) {
    return use(PACKED_EIGHT_BITS) || use(PACKED_K_QUANTS) || use(PACKED_SMALL_BLOCKS) || use(PACKED_SCALED_BLOCKS);
}

/// Weights of a product, or of `dimensions` 3 those of experts.
bool packs(const ggml_tensor * weights, int dimensions) {
    return ggml_n_dims(weights) == dimensions && weights->view_src == nullptr && weights->ne[1] % ROWS == 0 &&
           ggml_is_contiguous(weights) &&
           with_packed([&](const PackedProducts & products) { return products.pack(weights, nullptr, nullptr); });
}

bool holds(const ggml_tensor * weights) {
    return weights != nullptr && weights->buffer != nullptr && weights->buffer->buft == packing_buffer_type();
}

/// Of products. Those of experts ggml begins itself, and asks for them where it asks for any (mul_mat.cpp).
class Traits : public ggml::cpu::tensor_traits {
    bool work_size(int threads, const ggml_tensor * dst, size_t & size) override {
        return with_packed([&](const PackedProducts & products) { return products.workspace(dst, threads, &size); });
    }

    bool compute_forward(ggml_compute_params * params, ggml_tensor * dst) override {
        return with_packed([&](const PackedProducts & products) { return products.multiply(params, dst); });
    }
};

class Type : public ggml::cpu::extra_buffer_type {
    Traits traits;

    bool supports_op(ggml_backend_dev_t, const ggml_tensor * op) override {
        const int dimensions = op->op == GGML_OP_MUL_MAT ? 2 : op->op == GGML_OP_MUL_MAT_ID ? 3 : 0;
        return dimensions != 0 && holds(op->src[0]) && packs(op->src[0], dimensions) && fits(op) &&
               (op->src[1]->buffer == nullptr || ggml_backend_buft_is_host(op->src[1]->buffer->buft));
    }

    ggml::cpu::tensor_traits * get_tensor_traits(const ggml_tensor * op) override {
        return op->op == GGML_OP_MUL_MAT && holds(op->src[0]) ? &traits : nullptr;
    }
};

void set_tensor(ggml_backend_buffer_t, ggml_tensor * weights, const void * data, size_t offset, size_t size) {
    GGML_ASSERT(offset == 0 && size == ggml_nbytes(weights));
    const char * from = static_cast<const char *>(data);
    with_packed([&](const PackedProducts & products) {
        return products.pack(weights, from, static_cast<char *>(weights->data));
    });
}

const char * name(ggml_backend_buffer_type_t) {
    return "CPU_OUTRIDER";
}

#if defined(__linux__) && defined(MADV_HUGEPAGE) && defined(MADV_POPULATE_WRITE)
/// Clears pages from the end, while another thread packs from the beginning: the system does so when they are first
/// touched, which can take longer than packing. Older systems refuse, and do it then.
class Clearing {
    std::atomic<bool> stopped{false};
    std::thread thread;

  public:
    Clearing(uintptr_t first, uintptr_t last) : thread([this, first, last] {
        for (uintptr_t page = last; page > first && !stopped;) {
            page -= HUGE_PAGE;
            if (madvise(reinterpret_cast<void *>(page), HUGE_PAGE, MADV_POPULATE_WRITE) != 0) {
                break;
            }
        }
    }) {}

    ~Clearing() {
        stopped = true;
        thread.join();
    }
};

std::mutex clearings_lock;
/// Never destroyed: at its end a process that was forked has no such threads to wait for.
auto & clearings = *new std::map<ggml_backend_buffer_t, Clearing>();
void (*free_stock_buffer)(ggml_backend_buffer_t);

void free_buffer(ggml_backend_buffer_t buffer) {
    {
        const std::lock_guard lock(clearings_lock);
        clearings.erase(buffer);
    }
    free_stock_buffer(buffer);
}

void clear_ahead(ggml_backend_buffer_t buffer, uintptr_t first, uintptr_t last) {
    const std::lock_guard lock(clearings_lock);
    free_stock_buffer = buffer->iface.free_buffer;
    buffer->iface.free_buffer = free_buffer;
    try {
        clearings.try_emplace(buffer, first, last);
    } catch (const std::system_error &) {  // There are no more threads to be had.
    }
}
#else
[[maybe_unused]] void clear_ahead(ggml_backend_buffer_t, uintptr_t, uintptr_t) {}
#endif

ggml_backend_buffer_t (*allocate_stock)(ggml_backend_buffer_type_t, size_t);

#ifdef __linux__
void (*clear_stock)(ggml_backend_buffer_t, uint8_t);

/// Clears the pages inside a buffer by giving them back: the system gives zeros where they are touched next. llama.cpp
/// clears the cache of a whole context when it makes one, of which most chats use little. Whether it could.
bool give_back(ggml_backend_buffer_t buffer) {
    const uintptr_t page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
    const uintptr_t begin = reinterpret_cast<uintptr_t>(ggml_backend_buffer_get_base(buffer));
    const uintptr_t end = begin + ggml_backend_buffer_get_size(buffer);
    const uintptr_t first = (begin + page - 1) & ~(page - 1), last = end & ~(page - 1);
    if (first >= last) {
        return false;
    }
    volatile char * const seen = reinterpret_cast<char *>(first);
    *seen = 1;  // Of memory that others share it would stay.
    if (madvise(reinterpret_cast<void *>(first), last - first, MADV_DONTNEED) != 0 || *seen != 0) {
        return false;
    }
    std::memset(reinterpret_cast<void *>(begin), 0, first - begin);
    std::memset(reinterpret_cast<void *>(last), 0, end - last);
    return true;
}

void clear(ggml_backend_buffer_t buffer, uint8_t value) {
    if (value != 0 || !give_back(buffer)) {
        clear_stock(buffer, value);
    }
}
#endif

/// llama.cpp's own buffers on the processor.
ggml_backend_buffer_t allocate_own(ggml_backend_buffer_type_t type, size_t size) {
    ggml_backend_buffer_t buffer = allocate_stock(type, size);
#ifdef __linux__
    if (buffer != nullptr) {
        clear_stock = buffer->iface.clear;
        buffer->iface.clear = clear;
    }
#endif
    return buffer;
}

ggml_backend_buffer_t allocate(ggml_backend_buffer_type_t type, size_t size) {
    ggml_backend_buffer_t buffer = ggml_backend_buft_alloc_buffer(ggml_backend_cpu_buffer_type(), size);
    if (buffer == nullptr) {
        return nullptr;
    }
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    // Weights are read from end to end: with large pages the processor looks up their places less often.
    const uintptr_t base = reinterpret_cast<uintptr_t>(ggml_backend_buffer_get_base(buffer));
    const uintptr_t first = (base + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1), last = (base + size) & ~(HUGE_PAGE - 1);
    if (first < last) {
        madvise(reinterpret_cast<void *>(first), last - first, MADV_HUGEPAGE);
        clear_ahead(buffer, first, last);
    }
#endif
    buffer->buft = type;
    buffer->iface.set_tensor = set_tensor;
    buffer->iface.get_tensor = nullptr;
    buffer->iface.cpy_tensor = nullptr;
    return buffer;
}

size_t alignment(ggml_backend_buffer_type_t) {
    return 64;
}

}  // namespace

bool multiply_packed_experts(const ggml_compute_params * params, ggml_tensor * dst, int64_t expert,
                             const int32_t * expert_rows, char * scratch) {
    return holds(dst->src[0]) && with_packed([&](const PackedProducts & products) {
        return products.multiply_experts(params, dst, expert, expert_rows, scratch);
    });
}

ggml_backend_buffer_type_t packing_buffer_type() {
    // ggml asks for this type before it makes any buffer.
    static const bool taken = [] {
        ggml_backend_buffer_type_t own = ggml_backend_cpu_buffer_type();
        allocate_stock = std::exchange(own->iface.alloc_buffer, allocate_own);
        return true;
    }();
    static_cast<void>(taken);
    static ggml_backend_buffer_type type = {
        {name, allocate, alignment, nullptr, nullptr, nullptr},
        ggml_backend_reg_dev_get(ggml_backend_cpu_reg(), 0),
        new Type(),
    };
    return PACKS ? &type : nullptr;
}

}  // namespace outrider

#endif
