// Weights in float32, float16 and bfloat16, activations in float32 as they are.
//
// Sixteen numbers of a row side by side; a few rows and columns at once, so that each is loaded once for several
// products. Every sum of a row and a column is added up alone and in the same order, whatever stands beside it.
#pragma once

#include "lanes.h"

namespace outrider {

struct F32 {
    using Weights = float;
    static constexpr ggml_type TYPE = GGML_TYPE_F32;

    static __m512 load(const Weights * at) { return _mm512_loadu_ps(at); }
    static __m512 load(const Weights * at, __mmask16 mask) { return _mm512_maskz_loadu_ps(mask, at); }
};

struct F16 {
    using Weights = ggml_fp16_t;
    static constexpr ggml_type TYPE = GGML_TYPE_F16;

    static __m512 load(const Weights * at) { return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *) at)); }
    static __m512 load(const Weights * at, __mmask16 mask) {
        return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(mask, at));
    }
};

struct BF16 {
    using Weights = ggml_bf16_t;
    static constexpr ggml_type TYPE = GGML_TYPE_BF16;

    static __m512 widen(__m256i halves) {
        return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
    }
    static __m512 load(const Weights * at) { return widen(_mm256_loadu_si256((const __m256i *) at)); }
    static __m512 load(const Weights * at, __mmask16 mask) { return widen(_mm256_maskz_loadu_epi16(mask, at)); }
};

template <class Format> struct Floats {
    using Weights = typename Format::Weights;
    using Activations = float;
    using Column = float;
    static constexpr ggml_type TYPE = Format::TYPE;
    static constexpr bool DIRECT = true;
    static constexpr int TOGETHER = 4;  // rows
    static constexpr int MOST = 6;      // columns

    template <int N>
    static void tile(const char * weights, size_t stride, int64_t count, const Activations * const * y,
                     const Column * const *, float * const * out, const char * next) {
        constexpr int GROUPS = (N + MOST - 1) / MOST, SIZE = (N + GROUPS - 1) / GROUPS, REST = N - (GROUPS - 1) * SIZE;
        for (int r = 0; r < ROWS; r += TOGETHER) {
            const char * rows = weights + r * stride;
            const char * later = next == nullptr ? nullptr : next + r * stride;
            for (int g = 0; g + 1 < GROUPS; g++) {
                some<SIZE>(rows, stride, count, y + g * SIZE, out + g * SIZE, r, later);
                later = nullptr;
            }
            some<REST>(rows, stride, count, y + (N - REST), out + (N - REST), r, later);
        }
    }

    template <int N>
    static void some(const char * weights, size_t stride, int64_t count, const Activations * const * y,
                     float * const * out, int first, const char * next) {
        __m512 sums[TOGETHER][N];
        const Weights * rows[TOGETHER];
        for (int r = 0; r < TOGETHER; r++) {
            rows[r] = reinterpret_cast<const Weights *>(weights + r * stride);
            for (int c = 0; c < N; c++) {
                sums[r][c] = _mm512_setzero_ps();
            }
        }
        int64_t k = 0;
        for (; k + 16 <= count; k += 16) {
            if (next != nullptr && k * sizeof(Weights) % 64 == 0) {
                for (int r = 0; r < TOGETHER; r++) {
                    _mm_prefetch(next + r * stride + k * sizeof(Weights), _MM_HINT_T1);
                }
            }
            __m512 w[TOGETHER];
            for (int r = 0; r < TOGETHER; r++) {
                w[r] = Format::load(rows[r] + k);
            }
            for (int c = 0; c < N; c++) {
                const __m512 column = _mm512_loadu_ps(y[c] + k);
                for (int r = 0; r < TOGETHER; r++) {
                    sums[r][c] = _mm512_fmadd_ps(w[r], column, sums[r][c]);
                }
            }
        }
        if (k < count) {
            const __mmask16 mask = static_cast<__mmask16>((1u << (count - k)) - 1);
            for (int c = 0; c < N; c++) {
                const __m512 column = _mm512_maskz_loadu_ps(mask, y[c] + k);
                for (int r = 0; r < TOGETHER; r++) {
                    sums[r][c] = _mm512_fmadd_ps(Format::load(rows[r] + k, mask), column, sums[r][c]);
                }
            }
        }
        for (int c = 0; c < N; c++) {
            for (int r = 0; r < TOGETHER; r++) {
                out[c][first + r] = _mm512_reduce_add_ps(sums[r][c]);
            }
        }
    }
};

}  // namespace outrider
