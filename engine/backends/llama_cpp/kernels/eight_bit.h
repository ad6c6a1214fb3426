// Weights in blocks of 32 with one float16 scale (Q8_0, Q4_0, Q5_0, IQ4_NL), activations in Q8_0.
//
// Each format gives its weights as unsigned bytes w + OFFSET, sixteen rows side by side. A block's sum of products is an
// exact integer: sum((w + OFFSET) * y) - OFFSET * sum(y). The sums of the blocks are added up in floating point in their
// order, for each row and column alone; so a result does not depend on how many columns there are.
#pragma once

#include "lanes.h"

namespace outrider {

/// What a column's block adds beside its numbers: the scale, and -OFFSET * sum(y).
struct Block8 {
    float scale;
    int32_t correction;
};

struct Q8_0 {
    using Weights = block_q8_0;
    static constexpr ggml_type TYPE = GGML_TYPE_Q8_0;
    static constexpr int OFFSET = 128;

    static void load(const char * block, size_t stride, Vec w[8]) {
        load32(block + offsetof(Weights, qs), stride, w);
        for (int j = 0; j < 8; j++) {
            w[j] = _mm512_xor_si512(w[j], _mm512_set1_epi8(-128));
        }
    }
};

inline void nibbles(const char * at, size_t stride, Vec w[8]) {
    load16(at, stride, w);
    const Vec low = _mm512_set1_epi8(15);
    for (int j = 0; j < 4; j++) {
        w[4 + j] = _mm512_and_si512(_mm512_srli_epi16(w[j], 4), low);
        w[j] = _mm512_and_si512(w[j], low);
    }
}

struct Q4_0 {
    using Weights = block_q4_0;
    static constexpr ggml_type TYPE = GGML_TYPE_Q4_0;
    static constexpr int OFFSET = 8;

    static void load(const char * block, size_t stride, Vec w[8]) {
        nibbles(block + offsetof(Weights, qs), stride, w);
    }
};

struct Q5_0 {
    using Weights = block_q5_0;
    static constexpr ggml_type TYPE = GGML_TYPE_Q5_0;
    static constexpr int OFFSET = 16;

    static void load(const char * block, size_t stride, Vec w[8]) {
        nibbles(block + offsetof(Weights, qs), stride, w);
        const Vec high = load4(block + offsetof(Weights, qh), stride);
        // Four bits become the fifth bits of four bytes.
        alignas(64) static const uint32_t SPREAD[16] = {
            0x00000000, 0x00000010, 0x00001000, 0x00001010, 0x00100000, 0x00100010, 0x00101000, 0x00101010,
            0x10000000, 0x10000010, 0x10001000, 0x10001010, 0x10100000, 0x10100010, 0x10101000, 0x10101010,
        };
        const Vec spread = _mm512_load_si512(SPREAD);
        for (int j = 0; j < 8; j++) {
            w[j] = _mm512_or_si512(w[j], _mm512_permutexvar_epi32(_mm512_srli_epi32(high, 4 * j), spread));
        }
    }
};

struct IQ4_NL {
    using Weights = block_iq4_nl;
    static constexpr ggml_type TYPE = GGML_TYPE_IQ4_NL;
    static constexpr int OFFSET = 128;

    static void load(const char * block, size_t stride, Vec w[8]) {
        nibbles(block + offsetof(Weights, qs), stride, w);
        const __m128i values = _mm_loadu_si128(reinterpret_cast<const __m128i *>(kvalues_iq4nl));
        const Vec table = _mm512_xor_si512(_mm512_broadcast_i32x4(values), _mm512_set1_epi8(-128));
        for (int j = 0; j < 8; j++) {
            w[j] = _mm512_shuffle_epi8(table, w[j]);
        }
    }
};

template <class Format> struct EightBit {
    using Weights = typename Format::Weights;
    using Activations = block_q8_0;
    using Column = Block8;
    static constexpr ggml_type TYPE = Format::TYPE;
    static constexpr bool DIRECT = false;

    static void prepare(const Activations * y, int64_t blocks, Column * out) {
        for (int64_t i = 0; i < blocks; i++) {
            int sum = 0;
            for (int j = 0; j < QK8_0; j++) {
                sum += y[i].qs[j];
            }
            out[i] = {GGML_CPU_FP16_TO_FP32(y[i].d), -Format::OFFSET * sum};
        }
    }

    /// ROWS rows at `weights` times N columns; the sums of column c go to out[c][0..ROWS). At `next` are the weights that
    /// come then: rows follow each other in memory, so all of them are fetched in their order, which memory likes best.
    template <int N>
    static void tile(const char * weights, size_t stride, int64_t blocks, const Activations * const * y,
                     const Column * const * columns, float * const * out, const char * next) {
        __m512 sums[N];
#pragma GCC unroll 16
        for (int c = 0; c < N; c++) {
            sums[c] = _mm512_setzero_ps();
        }
        constexpr size_t STEP = ROWS * sizeof(Weights);
        // Fetching all at once holds up what is needed now; between the products of Q8_0 it slows them (measured).
        constexpr bool SPREAD = N <= 3 || sizeof(Weights) < 32;
        for (int64_t i = 0; i < blocks; i++) {
            const char * block = weights + i * sizeof(Weights);
            const char * later = next == nullptr ? nullptr : next + i * STEP;
            if (!SPREAD && later != nullptr) {
                fetch<STEP>(later);
            }
            Vec w[8];
            Format::load(block, stride, w);
            const __m512 scales = load_halves(block + offsetof(Weights, d), stride);
#pragma GCC unroll 16
            for (int c = 0; c < N; c++) {
                const int8_t * q = y[c][i].qs;
                Vec sum = _mm512_set1_epi32(columns[c][i].correction);
#pragma GCC unroll 8
                for (int j = 0; j < 8; j++) {
                    if (SPREAD && c == 0 && later != nullptr) {
                        fetch<STEP / 8>(later + j * (STEP / 8));
                    }
                    sum = _mm512_dpbusd_epi32(sum, w[j], _mm512_set1_epi32(dword(q + 4 * j)));
                }
                const __m512 scale = _mm512_mul_ps(scales, _mm512_set1_ps(columns[c][i].scale));
                sums[c] = _mm512_fmadd_ps(scale, _mm512_cvtepi32_ps(sum), sums[c]);
            }
        }
#pragma GCC unroll 16
        for (int c = 0; c < N; c++) {
            _mm512_storeu_ps(out[c], sums[c]);
        }
    }
};

}  // namespace outrider
