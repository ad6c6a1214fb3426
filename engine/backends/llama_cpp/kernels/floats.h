// Weights in float32, float16 and bfloat16, activations in float32 as they are.
//
// Numbers of a row side by side; a few rows and columns at once, so that each is loaded once for several
// products. Every sum of a row and a column is added up alone and in the same order, whatever stands beside it.
#pragma once

#include "lanes.h"

namespace outrider {

struct F32 {
    using Weights = float;
    static constexpr ggml_type TYPE = GGML_TYPE_F32;

    static Reals load(const Weights * at) { return load_any(at); }
    static Reals load(const Weights * at, int count) { return load_some(at, count); }
};

struct F16 {
    using Weights = ggml_fp16_t;
    static constexpr ggml_type TYPE = GGML_TYPE_F16;

    static Reals load(const Weights * at) { return load_halves(at); }
    static Reals load(const Weights * at, int count) { return load_some_halves(at, count); }
};

struct BF16 {
    using Weights = ggml_bf16_t;
    static constexpr ggml_type TYPE = GGML_TYPE_BF16;

    static Reals load(const Weights * at) { return load_bhalves(at); }
    static Reals load(const Weights * at, int count) { return load_some_bhalves(at, count); }
};

template <class Format> struct Floats {
    using Weights = typename Format::Weights;
    using Activations = float;
    using Column = float;
    static constexpr ggml_type TYPE = Format::TYPE;
    static constexpr bool DIRECT = true;

    template <int N>
    static void tile(const char * weights, size_t stride, int64_t count, const Activations * const * y,
                     const Column * const *, float * const * out, const char * next) {
        constexpr int HEIGHT = float_rows(group_size(N, FLOAT_COLUMNS)), REST = ROWS % HEIGHT;
        for (int r = 0; r + HEIGHT <= ROWS; r += HEIGHT) {
            rows<HEIGHT, N>(weights, stride, count, y, out, r, next);
        }
        if constexpr (REST != 0) {
            rows<REST, N>(weights, stride, count, y, out, ROWS - REST, next);
        }
    }

    /// HEIGHT rows from row r on, for all columns.
    template <int HEIGHT, int N>
    static OUTRIDER_INLINE void rows(const char * weights, size_t stride, int64_t count, const Activations * const * y,
                                     float * const * out, int r, const char * next) {
        in_groups<N, FLOAT_COLUMNS>([&](auto first, auto size) OUTRIDER_INLINE_LAMBDA {
            const char * later = next == nullptr || first != 0 ? nullptr : next + r * stride;
            some<HEIGHT, size>(weights + r * stride, stride, count, y + first, out + first, r, later);
        });
    }

    template <int HEIGHT, int N>
    static void some(const char * weights, size_t stride, int64_t count, const Activations * const * y,
                     float * const * out, int first, const char * next) {
        // Unrolled all of them, or the sums would be kept in memory.
        Reals sums[HEIGHT][N];
        const Weights * rows[HEIGHT];
#pragma GCC unroll 16
        for (int r = 0; r < HEIGHT; r++) {
            rows[r] = reinterpret_cast<const Weights *>(weights + r * stride);
#pragma GCC unroll 16
            for (int c = 0; c < N; c++) {
                sums[r][c] = real(0.0f);
            }
        }
        int64_t k = 0;
        for (; k + ROWS <= count; k += ROWS) {
            if (next != nullptr && k * sizeof(Weights) % 64 == 0) {
#pragma GCC unroll 16
                for (int r = 0; r < HEIGHT; r++) {
                    fetch_second(next + r * stride + k * sizeof(Weights));
                }
            }
            Reals w[HEIGHT];
#pragma GCC unroll 16
            for (int r = 0; r < HEIGHT; r++) {
                w[r] = Format::load(rows[r] + k);
            }
#pragma GCC unroll 16
            for (int c = 0; c < N; c++) {
                const Reals column = load_any(y[c] + k);
#pragma GCC unroll 16
                for (int r = 0; r < HEIGHT; r++) {
                    sums[r][c] = fused(w[r], column, sums[r][c]);
                }
            }
        }
        if (k < count) {
            const int rest = static_cast<int>(count - k);
#pragma GCC unroll 16
            for (int c = 0; c < N; c++) {
                const Reals column = load_some(y[c] + k, rest);
#pragma GCC unroll 16
                for (int r = 0; r < HEIGHT; r++) {
                    sums[r][c] = fused(Format::load(rows[r] + k, rest), column, sums[r][c]);
                }
            }
        }
#pragma GCC unroll 16
        for (int c = 0; c < N; c++) {
#pragma GCC unroll 16
            for (int r = 0; r < HEIGHT; r++) {
                out[c][first + r] = sum_of(sums[r][c]);
            }
        }
    }
};

}  // namespace outrider
