// Puts the products of products.h in the places of llama.cpp's. Where the processor lacks the instructions (lanes.h), or
// there is none for the weights' format, llama.cpp's own remain.

#include "packing.h"

#include "tiled/tiled.h"

#include <atomic>

extern "C" {
size_t ggml_stock_tiled_wdata_size(int n_tasks, ggml_tensor * dst);
bool ggml_stock_mul_mat_tiled(const ggml_compute_params * params, ggml_tensor * dst);
bool ggml_stock_mul_mat_id_tiled(const ggml_compute_params * params, ggml_tensor * dst, int64_t cur_a, int64_t cne1,
                                 const int32_t * expert_rows, char * scratch);
}

ggml_backend_buffer_type_t ggml_backend_cpu_repack_buffer_type();

namespace outrider {
namespace {

/// More tokens than are ever verified at once: they are a prompt's, and llama.cpp may take them as it likes.
constexpr int64_t MOST_VERIFIED = 33;

/// Output layers of which some rows are wanted: as many as there are models at a time, and more.
struct Limit {
    std::atomic<const void *> weights;
    std::atomic<const uint64_t *> bits;
};
Limit limits[64];

thread_local const void * output_weights = nullptr;

#ifdef OUTRIDER_LANES

/// Whether one of the files of formats has this product, for which `use` asks each of them.
template <class Use> bool with_products(const ggml_tensor * dst, Use && use) {
    if (!fits(dst)) {
        return false;
    }
    for (const Products * products : {&EIGHT_BITS, &K_QUANTS, &SMALL_BLOCKS, &FLOATS, &SCALED_BLOCKS, &GRIDS}) {
        if (use(*products)) {
            return true;
        }
    }
    return false;
}

size_t workspace(const ggml_tensor * dst, int threads) {
    size_t size = 0;
    with_products(dst, [&](const Products & products) { return products.workspace(dst, threads, &size); });
    return size;
}

/// Weights are packed in our way, or stay as they are in their file.
ggml_backend_buffer_type_t repack_buffer_type() {
    return packing_buffer_type();
}

constexpr bool COMPUTED_HERE = true;

bool multiply(const ggml_compute_params * params, ggml_tensor * dst) {
    return with_products(dst, [&](const Products & products) { return products.multiply(params, dst); });
}

bool multiply_experts(const ggml_compute_params * params, ggml_tensor * dst, int64_t expert,
                      const int32_t * expert_rows, char * scratch) {
    // Nothing else can read packed weights.
    return multiply_packed_experts(params, dst, expert, expert_rows, scratch) ||
           (!params->use_ref && with_products(dst, [&](const Products & products) {
               return products.multiply_experts(params, dst, expert, expert_rows, scratch);
           }));
}

#else

size_t workspace(const ggml_tensor *, int) {
    return 0;
}

ggml_backend_buffer_type_t repack_buffer_type() {
    return ggml_backend_cpu_repack_buffer_type();
}

constexpr bool COMPUTED_HERE = false;

bool multiply(const ggml_compute_params *, ggml_tensor *) {
    return false;
}

bool multiply_experts(const ggml_compute_params *, ggml_tensor *, int64_t, const int32_t *, char *) {
    return false;
}

#endif

}  // namespace

const uint64_t * wanted_rows(const void * weights) {
    for (const Limit & limit : limits) {
        if (limit.weights.load(std::memory_order_acquire) == weights) {
            return limit.bits.load(std::memory_order_acquire);
        }
    }
    return nullptr;
}

void note_output(const void * weights) {
    output_weights = weights;
}

}  // namespace outrider

ggml_backend_buffer_type_t ggml_offered_repack_buffer_type();

ggml_backend_buffer_type_t ggml_offered_repack_buffer_type() {
    return outrider::repack_buffer_type();
}

extern "C" {

/// Whether products and attention of this folder are at work on this processor.
GGML_BACKEND_API bool outrider_computes_here();

GGML_BACKEND_API bool outrider_computes_here() {
    return outrider::COMPUTED_HERE;
}

/// Whether weights can be packed when they are loaded, which makes products of several tokens faster.
GGML_BACKEND_API bool outrider_packs_here();

GGML_BACKEND_API bool outrider_packs_here() {
    return outrider::COMPUTED_HERE && outrider::repack_buffer_type() != nullptr;
}

/// The weights of the output layer whose logits this thread asked for last, computed here; null: none were.
GGML_BACKEND_API const void * outrider_output_weights();

const void * outrider_output_weights() {
    return outrider::output_weights;
}

/// Lets only some rows of an output layer be computed: those of set bits, of which each stands for WANTED_ROWS rows. The
/// bits stay the caller's; null: all rows. Not while the layer is computed. Whether there was room for it.
GGML_BACKEND_API bool outrider_want_rows(const void * weights, const uint64_t * bits);

bool outrider_want_rows(const void * weights, const uint64_t * bits) {
    for (outrider::Limit & limit : outrider::limits) {
        const void * none = nullptr;
        if (limit.weights.load() == weights ||
            (bits != nullptr && limit.weights.compare_exchange_strong(none, weights))) {
            limit.bits.store(bits, std::memory_order_release);
            if (bits == nullptr) {
                limit.weights.store(nullptr, std::memory_order_release);
            }
            return true;
        }
    }
    return bits == nullptr;
}

size_t ggml_tiled_wdata_size(int n_tasks, ggml_tensor * dst) {
    const size_t stock = ggml_stock_tiled_wdata_size(n_tasks, dst);
    return std::max(stock, outrider::workspace(dst, n_tasks));
}

bool ggml_compute_forward_mul_mat_tiled(const ggml_compute_params * params, ggml_tensor * dst) {
    if (!params->use_ref && outrider::multiply(params, dst)) {
        return true;
    }
    return dst->src[1]->ne[1] > outrider::MOST_VERIFIED && ggml_stock_mul_mat_tiled(params, dst);
}

bool ggml_compute_forward_mul_mat_id_tiled(const ggml_compute_params * params, ggml_tensor * dst, int64_t cur_a,
                                           int64_t cne1, const int32_t * expert_rows, char * scratch) {
    if (outrider::multiply_experts(params, dst, cur_a, expert_rows, scratch)) {
        return true;
    }
    return dst->src[2]->ne[1] > outrider::MOST_VERIFIED &&
           ggml_stock_mul_mat_id_tiled(params, dst, cur_a, cne1, expert_rows, scratch);
}
}
