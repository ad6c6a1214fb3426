// Weights that are packed when a model is loaded (packed_rows.h): in a buffer type of ours, which llama.cpp puts the
// weights of products into where it is asked for (`use_extra_bufts`).
#pragma once

#include "products.h"

#ifdef OUTRIDER_LANES

namespace outrider {

/// The products of packed weights of some formats. Each function tells whether the weights have one of them.
struct PackedProducts {
    bool (*workspace)(const ggml_tensor * dst, int threads, size_t * size);
    bool (*multiply)(const ggml_compute_params * params, ggml_tensor * dst);
    bool (*multiply_experts)(const ggml_compute_params * params, ggml_tensor * dst, int64_t expert,
                             const int32_t * expert_rows, char * scratch);
    bool (*pack)(const ggml_tensor * weights, const char * from, char * to);  // `from` null: whether it would be.
};

extern const PackedProducts PACKED_EIGHT_BITS, PACKED_SMALL_BLOCKS, PACKED_SCALED_BLOCKS, PACKED_K_QUANTS;

template <class... Formats> struct PackedProductsOf {
    static bool workspace([[maybe_unused]] const ggml_tensor * dst, [[maybe_unused]] int threads,
                          [[maybe_unused]] size_t * size) {
        if constexpr (PACKS) {  // Elsewhere nothing needs to be compiled for it.
            return with_one<Formats...>(dst->src[0]->type, [&](auto format) {
                using Its = Product<decltype(format)>;
                *size = Its::numbers_size(dst) + Its::workspace(dst, threads);
            });
        }
        return false;
    }

    static bool multiply([[maybe_unused]] const ggml_compute_params * params, [[maybe_unused]] ggml_tensor * dst) {
        if constexpr (PACKS) {
            return ProductsOf<Formats...>::multiply(params, dst);
        }
        return false;
    }

    static bool multiply_experts([[maybe_unused]] const ggml_compute_params * params, [[maybe_unused]] ggml_tensor * dst,
                                 [[maybe_unused]] int64_t expert, [[maybe_unused]] const int32_t * expert_rows,
                                 [[maybe_unused]] char * scratch) {
        if constexpr (PACKS) {
            return ProductsOf<Formats...>::multiply_experts(params, dst, expert, expert_rows, scratch);
        }
        return false;
    }

    static bool pack([[maybe_unused]] const ggml_tensor * weights, [[maybe_unused]] const char * from,
                     [[maybe_unused]] char * to) {
        if constexpr (PACKS) {
            return with_one<Formats...>(weights->type, [&](auto format) {
                const int64_t blocks = weights->ne[0] / ggml_blck_size(weights->type);
                const size_t row = weights->nb[1], tile = ROWS * row;
                for (size_t at = 0; from != nullptr && at < ggml_nbytes(weights); at += tile) {
                    decltype(format)::Layout::pack(from + at, row, blocks, to + at, decltype(format)::PACKED_FLIP);
                }
            });
        }
        return false;
    }

    static constexpr PackedProducts ALL = {workspace, multiply, multiply_experts, pack};
};

/// The products (SuperBlocks, ScaledBlocks) of a format whose bytes are packed as they are.
template <template <class> class Products, class Format> struct PackedAsTheyAre : Products<Format> {
    using Layout = typename Format::Layout;
    static constexpr int32_t PACKED_FLIP = 0;
};

/// As Products::multiply_experts for experts whose weights are packed; otherwise it does nothing.
bool multiply_packed_experts(const ggml_compute_params * params, ggml_tensor * dst, int64_t expert,
                             const int32_t * expert_rows, char * scratch);

/// The buffer type, or null where packing is no gain.
ggml_backend_buffer_type_t packing_buffer_type();

}  // namespace outrider

#endif
