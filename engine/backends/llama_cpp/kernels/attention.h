// The parts of attention: blocks of 32 positions of a cache times a few columns (a token and a head each).
//
// Keys are turned so that sixteen positions lie side by side; keys and values are converted to float32 once for all
// columns. Each column's sums are added up alone, in the order of positions; so they do not depend on other columns.
#pragma once

#include "lanes.h"

#include <cmath>
#include <limits>

namespace outrider {

/// Positions that are taken at once. Blocks start at multiples of it.
constexpr int BLOCK = 32;
constexpr int LANES = 16;
constexpr int VECTORS = BLOCK / LANES;
/// Columns whose sums are kept in registers at once.
constexpr int TOGETHER = 12;
/// Vectors of values whose sums are kept in registers at once.
constexpr int WIDE = 2;

inline int64_t quotient_up(int64_t a, int64_t b) {
    return (a + b - 1) / b;
}

constexpr float NOTHING = -std::numeric_limits<float>::infinity();

/// e^x for x <= 0, to about a unit in the last place; 0 where that would not be a normal number.
inline __m512 exponential(__m512 x) {
    const __m512 n = _mm512_roundscale_ps(_mm512_mul_ps(x, _mm512_set1_ps(1.44269504f)), 0);
    // ln 2 in two parts: n times the first is exact.
    __m512 r = _mm512_fnmadd_ps(n, _mm512_set1_ps(0.693359375f), x);
    r = _mm512_fnmadd_ps(n, _mm512_set1_ps(-2.12194440e-4f), r);
    __m512 sum = _mm512_set1_ps(1.0f / 5040);
    for (const float term : {1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 1.0f / 2, 1.0f, 1.0f}) {
        sum = _mm512_fmadd_ps(sum, r, _mm512_set1_ps(term));
    }
    const __mmask16 normal = _mm512_cmp_ps_mask(x, _mm512_set1_ps(-87.0f), _CMP_NLT_UQ);  // True for NaN, too.
    return _mm512_maskz_scalef_ps(normal, sum, n);
}

inline float exponential(float x) {
    return _mm512_cvtss_f32(exponential(_mm512_set1_ps(x)));
}

inline __m512 tangent(__m512 x) {
    const __m512 one = _mm512_set1_ps(1.0f);
    const __m512 e = exponential(_mm512_mul_ps(_mm512_abs_ps(x), _mm512_set1_ps(-2.0f)));
    const __m512 size = _mm512_div_ps(_mm512_sub_ps(one, e), _mm512_add_ps(one, e));
    return _mm512_castsi512_ps(_mm512_ternarylogic_epi32(_mm512_castps_si512(x), _mm512_castps_si512(size),
                                                         _mm512_set1_epi32(INT32_MIN), 0xe4));
}

/// out[i * BLOCK + r] = number i of row r, for sixteen rows and sixteen numbers in float16.
inline void turn_halves(const char * rows, size_t stride, float * out) {
    Vec a[8], b[8];
    for (int i = 0; i < 8; i++) {
        a[i] = both(rows + i * stride, rows + (i + 8) * stride);
    }
    for (int i = 0; i < 8; i += 2) {
        b[i] = _mm512_unpacklo_epi16(a[i], a[i + 1]);
        b[i + 1] = _mm512_unpackhi_epi16(a[i], a[i + 1]);
    }
    // b: numbers 0..3 (even) or 4..7 (odd) of two rows, then of four, then two numbers of eight rows.
    for (int i = 0; i < 2; i++) {
        for (int h = 0; h < 2; h++) {
            a[4 * i + 2 * h] = _mm512_unpacklo_epi32(b[4 * i + h], b[4 * i + 2 + h]);
            a[4 * i + 2 * h + 1] = _mm512_unpackhi_epi32(b[4 * i + h], b[4 * i + 2 + h]);
        }
    }
    for (int j = 0; j < 4; j++) {
        b[2 * j] = _mm512_unpacklo_epi64(a[j], a[4 + j]);
        b[2 * j + 1] = _mm512_unpackhi_epi64(a[j], a[4 + j]);
    }
    for (int j = 0; j < 8; j++) {
        // Quarters: number j of rows 0..7, number 8 + j of these, number j of rows 8..15, number 8 + j of these.
        const Vec turned = _mm512_shuffle_i32x4(b[j], b[j], 0xd8);
        _mm512_store_ps(out + j * BLOCK, _mm512_cvtph_ps(_mm512_castsi512_si256(turned)));
        _mm512_store_ps(out + (8 + j) * BLOCK, _mm512_cvtph_ps(_mm512_extracti64x4_epi64(turned, 1)));
    }
}

/// out[i * BLOCK + r] = number i of row r, for sixteen rows and four numbers in float32.
inline void turn_floats(const float * rows, int64_t stride, float * out) {
    Vec v[4];
    load16(reinterpret_cast<const char *>(rows), stride * sizeof(float), v);
    for (int i = 0; i < 4; i++) {
        _mm512_store_ps(out + i * BLOCK, _mm512_castsi512_ps(v[i]));
    }
}

inline void widen_halves(const char * row, int64_t count, float * out) {
    for (int64_t i = 0; i < count; i += LANES) {
        const __m256i halves = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(row + i * sizeof(ggml_fp16_t)));
        _mm512_store_ps(out + i, _mm512_cvtph_ps(halves));
    }
}

/// Whether any of `count` <= BLOCK positions of a mask in float16 is not -inf.
inline bool any_visible(const ggml_fp16_t * mask, int count) {
    const __m512i hidden = _mm512_set1_epi16(static_cast<short>(0xfc00));
    uint64_t seen = 0;
    for (int i = 0; i < count; i += 32) {
        const __mmask32 here = count - i >= 32 ? ~0u : (1u << (count - i)) - 1;
        seen |= _mm512_mask_cmpneq_epi16_mask(here, _mm512_maskz_loadu_epi16(here, mask + i), hidden);
    }
    return seen != 0;
}

/// out[c * BLOCK + p]: the product of column c with the key of position p, for N columns.
template <int N>
void multiply_keys(const float * keys, int64_t count, const float * const * columns, float * out) {
    __m512 sums[N][VECTORS];
    for (int c = 0; c < N; c++) {
        for (int v = 0; v < VECTORS; v++) {
            sums[c][v] = _mm512_setzero_ps();
        }
    }
    for (int64_t i = 0; i < count; i++) {
        __m512 key[VECTORS];
        for (int v = 0; v < VECTORS; v++) {
            key[v] = _mm512_load_ps(keys + i * BLOCK + v * LANES);
        }
        for (int c = 0; c < N; c++) {
            const __m512 number = _mm512_set1_ps(columns[c][i]);
            for (int v = 0; v < VECTORS; v++) {
                sums[c][v] = _mm512_fmadd_ps(key[v], number, sums[c][v]);
            }
        }
    }
    for (int c = 0; c < N; c++) {
        for (int v = 0; v < VECTORS; v++) {
            _mm512_store_ps(out + c * BLOCK + v * LANES, sums[c][v]);
        }
    }
}

/// sums[c][0..16 W) += the values of `positions` positions, each times its weight for column c, for N columns.
template <int N, int W>
void add_values(const float * values, int64_t stride, int positions, const float * weights, float * const * sums,
                int64_t first) {
    __m512 held[N][W];
    for (int c = 0; c < N; c++) {
        for (int v = 0; v < W; v++) {
            held[c][v] = _mm512_load_ps(sums[c] + first + v * LANES);
        }
    }
    for (int p = 0; p < positions; p++) {
        __m512 value[W];
        for (int v = 0; v < W; v++) {
            value[v] = _mm512_load_ps(values + p * stride + first + v * LANES);
        }
        for (int c = 0; c < N; c++) {
            const __m512 weight = _mm512_set1_ps(weights[c * BLOCK + p]);
            for (int v = 0; v < W; v++) {
                held[c][v] = _mm512_fmadd_ps(value[v], weight, held[c][v]);
            }
        }
    }
    for (int c = 0; c < N; c++) {
        for (int v = 0; v < W; v++) {
            _mm512_store_ps(sums[c] + first + v * LANES, held[c][v]);
        }
    }
}

template <int N>
void add_all_values(const float * values, int64_t count, int positions, const float * weights, float * const * sums) {
    int64_t first = 0;
    for (; first + WIDE * LANES <= count; first += WIDE * LANES) {
        add_values<N, WIDE>(values, count, positions, weights, sums, first);
    }
    for (; first < count; first += LANES) {
        add_values<N, 1>(values, count, positions, weights, sums, first);
    }
}

}  // namespace outrider
