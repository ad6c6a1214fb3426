// Weights in blocks of 256 with small scales for each 16 or 32 of them (Q2_K to Q6_K, IQ4_XS), activations in Q8_K.
//
// As in eight_bit.h the weights become unsigned bytes w + OFFSET, sixteen rows side by side, in groups of 32. Products
// with the activations and with the small scales are whole numbers. They are added up as such, in integers or in
// floating point that holds them (exact up to 2^24), and multiplied by the block's scales at its end. The order for a
// row and a column is always the same; so a result does not depend on how many columns there are.
//
// A format is made from a block of ROWS rows and has
//   OFFSET     what was added to the weights;
//   SCALES     how many small scales it leaves to the sums: 8 or 16 in `scales`, or 0 where the bytes hold them already;
//   STARTS     at how many places a sum starts anew, each with its own -OFFSET * sum(y): SCALES, 1 or 0;
//   PAIRS      how many pairs of minima there are in `minima`, which are subtracted times sum(y), or 0;
//   d, dmin    the scales of the block and of its minima;
//   groups     calls `use(g, w)` for the groups g = 0..7, in any order, with the bytes of 32 weights: w[j] has the
//              weights 32g + 4j .. 32g + 4j + 3 of each row.
#pragma once

#include "lanes.h"

namespace outrider {

/// The halves of dwords in the lanes, as floating point: the low ones, or the high ones.
inline __m512 low_halves(Vec x) {
    return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(x));
}

inline __m512 high_halves(Vec x) {
    return low_halves(_mm512_srli_epi32(x, 16));
}

inline Vec low_nibbles(Vec x) {
    return _mm512_and_si512(x, _mm512_set1_epi8(15));
}

inline Vec high_nibbles(Vec x) {
    return low_nibbles(_mm512_srli_epi16(x, 4));
}

/// Each byte's bits moved down by `shift` (up where it is negative). Other bits of the bytes come out wrong: a rotation
/// of whole dwords takes the fewest instructions.
inline Vec move_bits(Vec x, int shift) {
    return _mm512_rorv_epi32(x, _mm512_set1_epi32(shift & 31));
}

/// `w` and those of each byte's moved bits that are in `bits`.
inline Vec join_bits(Vec w, Vec x, int shift, int bits) {
    return _mm512_ternarylogic_epi32(w, move_bits(x, shift), _mm512_set1_epi8(static_cast<char>(bits)), 0xf8);
}

/// Eight scales and eight minima of six bits, in twelve bytes (Q4_K, Q5_K). `header`: d and dmin, then these.
struct SixBitScales {
    static constexpr int OFFSET = 0, SCALES = 8, STARTS = 0, PAIRS = 4;
    __m512 d, dmin, scales[SCALES];
    Vec minima[PAIRS];

    SixBitScales(const char * header, size_t stride) {
        Vec v[4];
        load16(header, stride, v);
        d = low_halves(v[0]);
        dmin = high_halves(v[0]);
        const Vec first[2] = {_mm512_and_si512(v[1], _mm512_set1_epi8(63)), join_bits(low_nibbles(v[3]), v[1], 2, 48)};
        const Vec second[2] = {_mm512_and_si512(v[2], _mm512_set1_epi8(63)), join_bits(high_nibbles(v[3]), v[2], 2, 48)};
        const Vec words = _mm512_set1_epi32(0x00ff00ff);
        for (int i = 0; i < 2; i++) {
            for (int s = 0; s < 4; s++) {
                const Vec scale = _mm512_and_si512(_mm512_srli_epi32(first[i], 8 * s), _mm512_set1_epi32(255));
                scales[4 * i + s] = _mm512_cvtepi32_ps(scale);
            }
            minima[2 * i] = _mm512_and_si512(second[i], words);
            minima[2 * i + 1] = _mm512_and_si512(_mm512_srli_epi16(second[i], 8), words);
        }
    }
};

struct Q4_K : SixBitScales {
    using Weights = block_q4_K;
    static constexpr ggml_type TYPE = GGML_TYPE_Q4_K;
    const char * block;
    size_t stride;

    Q4_K(const char * block, size_t stride) : SixBitScales(block, stride), block(block), stride(stride) {}

    template <class Use> void groups(Use && use) const {
        for (int pair = 0; pair < 4; pair++) {
            Vec raw[8], w[8];
            load32(block + offsetof(Weights, qs) + 32 * pair, stride, raw);
            for (int j = 0; j < 8; j++) {
                w[j] = low_nibbles(raw[j]);
            }
            use(2 * pair, w);
            for (int j = 0; j < 8; j++) {
                w[j] = high_nibbles(raw[j]);
            }
            use(2 * pair + 1, w);
        }
    }
};

struct Q5_K : SixBitScales {
    using Weights = block_q5_K;
    static constexpr ggml_type TYPE = GGML_TYPE_Q5_K;
    const char * block;
    size_t stride;

    Q5_K(const char * block, size_t stride) : SixBitScales(block, stride), block(block), stride(stride) {}

    template <class Use> void groups(Use && use) const {
        Vec high[8];
        load32(block + offsetof(Weights, qh), stride, high);
        for (int pair = 0; pair < 4; pair++) {
            Vec raw[8], w[8];
            load32(block + offsetof(Weights, qs) + 32 * pair, stride, raw);
            for (int j = 0; j < 8; j++) {
                w[j] = join_bits(low_nibbles(raw[j]), high[j], 2 * pair - 4, 16);
            }
            use(2 * pair, w);
            for (int j = 0; j < 8; j++) {
                w[j] = join_bits(high_nibbles(raw[j]), high[j], 2 * pair - 3, 16);
            }
            use(2 * pair + 1, w);
        }
    }
};

struct Q6_K {
    using Weights = block_q6_K;
    static constexpr ggml_type TYPE = GGML_TYPE_Q6_K;
    static constexpr int OFFSET = 32, SCALES = 16, STARTS = 16, PAIRS = 0;
    const char * block;
    size_t stride;
    __m512 d, scales[SCALES];

    Q6_K(const char * block, size_t stride) : block(block), stride(stride) {
        Vec v[4];
        load16(block + offsetof(Weights, scales), stride, v);
        for (int s = 0; s < SCALES; s++) {
            scales[s] = _mm512_cvtepi32_ps(_mm512_srai_epi32(_mm512_slli_epi32(v[s / 4], 24 - 8 * (s % 4)), 24));
        }
        // The last two bytes of a block: those before them are read along, never those of the next one.
        d = high_halves(load4(block + offsetof(Weights, d) - 2, stride));
    }

    template <class Use> void groups(Use && use) const {
        for (int half = 0; half < 2; half++) {
            Vec high[8];
            load32(block + offsetof(Weights, qh) + 32 * half, stride, high);
            for (int part = 0; part < 2; part++) {
                Vec raw[8], w[8];
                load32(block + offsetof(Weights, ql) + 64 * half + 32 * part, stride, raw);
                for (int j = 0; j < 8; j++) {
                    w[j] = join_bits(low_nibbles(raw[j]), high[j], 2 * part - 4, 48);
                }
                use(4 * half + part, w);
                for (int j = 0; j < 8; j++) {
                    w[j] = join_bits(high_nibbles(raw[j]), high[j], 2 * part, 48);
                }
                use(4 * half + part + 2, w);
            }
        }
    }
};

struct IQ4_XS {
    using Weights = block_iq4_xs;
    static constexpr ggml_type TYPE = GGML_TYPE_IQ4_XS;
    static constexpr int OFFSET = 128, SCALES = 8, STARTS = 8, PAIRS = 0;
    const char * block;
    size_t stride;
    __m512 d, scales[SCALES];

    IQ4_XS(const char * block, size_t stride) : block(block), stride(stride) {
        Vec v[4];
        load16(block, stride, v);
        d = low_halves(v[0]);
        for (int s = 0; s < SCALES; s++) {
            const Vec low = _mm512_and_si512(_mm512_srli_epi32(v[1], 4 * s), _mm512_set1_epi32(15));
            const Vec high = _mm512_and_si512(_mm512_srli_epi32(v[0], 16 + 2 * s), _mm512_set1_epi32(3));
            const Vec scale = _mm512_add_epi32(low, _mm512_slli_epi32(high, 4));
            scales[s] = _mm512_cvtepi32_ps(_mm512_sub_epi32(scale, _mm512_set1_epi32(32)));
        }
    }

    template <class Use> void groups(Use && use) const {
        const __m128i values = _mm_loadu_si128(reinterpret_cast<const __m128i *>(kvalues_iq4nl));
        const Vec table = _mm512_xor_si512(_mm512_broadcast_i32x4(values), _mm512_set1_epi8(-128));
        for (int pair = 0; pair < 4; pair++) {
            Vec raw[8], w[8];
            load32(block + offsetof(Weights, qs) + 32 * pair, stride, raw);
            for (int i = 0; i < 2; i++) {
                for (int j = 0; j < 4; j++) {
                    w[j] = _mm512_shuffle_epi8(table, low_nibbles(raw[4 * i + j]));
                    w[4 + j] = _mm512_shuffle_epi8(table, high_nibbles(raw[4 * i + j]));
                }
                use(2 * pair + i, w);
            }
        }
    }
};

/// A small scale for each 16 weights, multiplied into them: a pair of bytes times a 16-bit number does not carry from
/// the lower byte into the upper one as long as both products fit. `bytes`: scales 4i .. 4i + 3; out[s]: words of scale s.
inline void scale_words(const Vec bytes[4], Vec out[16]) {
    for (int s = 0; s < 16; s++) {
        const int at = s % 4;
        const Vec places = _mm512_set4_epi32(0x800c800c + at * 0x10001, 0x80088008 + at * 0x10001,
                                             0x80048004 + at * 0x10001, 0x80008000 + at * 0x10001);
        out[s] = _mm512_shuffle_epi8(bytes[s / 4], places);
    }
}

struct Q2_K {
    using Weights = block_q2_K;
    static constexpr ggml_type TYPE = GGML_TYPE_Q2_K;
    static constexpr int OFFSET = 0, SCALES = 0, STARTS = 0, PAIRS = 8;
    const char * block;
    size_t stride;
    __m512 d, dmin;
    Vec factors[16], minima[PAIRS];

    Q2_K(const char * block, size_t stride) : block(block), stride(stride) {
        Vec v[4], bytes[4];
        load16(block + offsetof(Weights, scales), stride, v);
        for (int i = 0; i < 4; i++) {
            bytes[i] = low_nibbles(v[i]);
            const Vec second = high_nibbles(v[i]);
            minima[2 * i] = _mm512_and_si512(second, _mm512_set1_epi32(0x00ff00ff));
            minima[2 * i + 1] = _mm512_and_si512(_mm512_srli_epi16(second, 8), _mm512_set1_epi32(0x00ff00ff));
        }
        scale_words(bytes, factors);
        const Vec last = load4(block + offsetof(Weights, qs) + sizeof(Weights::qs), stride);
        d = low_halves(last);
        dmin = high_halves(last);
    }

    template <class Use> void groups(Use && use) const {
        for (int half = 0; half < 2; half++) {
            Vec raw[8], w[8];
            load32(block + offsetof(Weights, qs) + 32 * half, stride, raw);
            for (int part = 0; part < 4; part++) {
                const int g = 4 * half + part;
                for (int j = 0; j < 8; j++) {
                    // At most 3 * 15.
                    w[j] = _mm512_mullo_epi16(_mm512_and_si512(move_bits(raw[j], 2 * part), _mm512_set1_epi8(3)), factors[2 * g + j / 4]);
                }
                use(g, w);
            }
        }
    }
};

struct Q3_K {
    using Weights = block_q3_K;
    static constexpr ggml_type TYPE = GGML_TYPE_Q3_K;
    /// The weights times their scales are -4 * 31 .. -4 * -32.
    static constexpr int OFFSET = 124, SCALES = 0, STARTS = 1, PAIRS = 0;
    const char * block;
    size_t stride;
    __m512 d;
    Vec factors[16], offsets[16];

    Q3_K(const char * block, size_t stride) : block(block), stride(stride) {
        Vec v[4], bytes[4];
        // Scales and d are the last 14 bytes; the two before them are read along.
        load16(block + offsetof(Weights, scales) - 2, stride, v);
        Vec u[3];
        for (int i = 0; i < 3; i++) {
            u[i] = _mm512_or_si512(_mm512_srli_epi32(v[i], 16), _mm512_slli_epi32(v[i + 1], 16));
        }
        d = high_halves(v[3]);
        for (int i = 0; i < 4; i++) {
            bytes[i] = join_bits(i < 2 ? low_nibbles(u[i]) : high_nibbles(u[i - 2]), u[2], 2 * i - 4, 48);
        }
        scale_words(bytes, factors);
        for (int s = 0; s < 16; s++) {
            factors[s] = _mm512_sub_epi16(factors[s], _mm512_set1_epi16(32));
            const Vec offset = _mm512_sub_epi16(_mm512_set1_epi16(OFFSET), _mm512_slli_epi16(factors[s], 2));
            offsets[s] = _mm512_or_si512(offset, _mm512_slli_epi16(offset, 8));
        }
    }

    template <class Use> void groups(Use && use) const {
        Vec high[8];
        load32(block + offsetof(Weights, hmask), stride, high);
        for (int half = 0; half < 2; half++) {
            Vec raw[8], w[8];
            load32(block + offsetof(Weights, qs) + 32 * half, stride, raw);
            for (int part = 0; part < 4; part++) {
                const int g = 4 * half + part;
                for (int j = 0; j < 8; j++) {
                    // (w - 4) * scale + OFFSET = w * scale + (OFFSET - 4 * scale)
                    const Vec plus4 = join_bits(_mm512_and_si512(move_bits(raw[j], 2 * part), _mm512_set1_epi8(3)), high[j], g - 2, 4);
                    w[j] = _mm512_add_epi16(_mm512_mullo_epi16(plus4, factors[2 * g + j / 4]), offsets[2 * g + j / 4]);
                }
                use(g, w);
            }
        }
    }
};

template <class Format> struct SuperBlocks {
    using Weights = typename Format::Weights;
    using Activations = block_q8_K;
    static constexpr ggml_type TYPE = Format::TYPE;
    static constexpr bool DIRECT = false;
    static constexpr int TOGETHER = 4;

    /// What belongs to a block of a column: where sums start, and its sums in the order of the minima.
    struct Column {
        std::array<int32_t, Format::STARTS> starts;
        std::array<std::array<int16_t, 2>, Format::PAIRS> pairs;
    };

    static int sum(const block_q8_K & y, int part, int parts) {
        int sum = 0;
        for (int j = part * 16 / parts; j < (part + 1) * 16 / parts; j++) {
            sum += y.bsums[j];
        }
        return sum;
    }

    static void prepare(const Activations * y, int64_t blocks, Column * out) {
        for (int64_t i = 0; i < blocks; i++) {
            for (int s = 0; s < Format::STARTS; s++) {
                out[i].starts[s] = -Format::OFFSET * sum(y[i], s, Format::STARTS);
            }
            for (int p = 0; p < Format::PAIRS; p++) {
                const int first = p / 2 * 4 + p % 2;
                out[i].pairs[p] = {static_cast<int16_t>(sum(y[i], first, 2 * Format::PAIRS)),
                                   static_cast<int16_t>(sum(y[i], first + 2, 2 * Format::PAIRS))};
            }
        }
    }

    /// As EightBit::tile.
    template <int N>
    static void tile(const char * weights, size_t stride, int64_t blocks, const Activations * const * y,
                     const Column * const * columns, float * const * out, const char * next) {
        __m512 totals[N];
        for (int c = 0; c < N; c++) {
            totals[c] = _mm512_setzero_ps();
        }
        constexpr size_t STEP = ROWS * sizeof(Weights);
        for (int64_t i = 0; i < blocks; i++) {
            const Format rows(weights + i * sizeof(Weights), stride);
            block<N>(rows, i, y, columns, totals, next == nullptr ? nullptr : next + i * STEP);
        }
        for (int c = 0; c < N; c++) {
            _mm512_storeu_ps(out[c], totals[c]);
        }
    }

    /// Adds block i's products to the totals.
    template <int N>
    static void block(const Format & rows, int64_t i, const Activations * const * y, const Column * const * columns,
                      __m512 (&totals)[N], const char * next) {
        Vec sums[N];  // The bits of floating point numbers, if there are scales.
#pragma GCC unroll 16
        for (int c = 0; c < N; c++) {
            sums[c] = _mm512_setzero_si512();
            if constexpr (Format::STARTS == 1) {
                sums[c] = _mm512_set1_epi32(columns[c][i].starts[0]);
            }
        }
        rows.groups([&](int g, const Vec(&w)[8]) __attribute__((always_inline)) {
            if (next != nullptr) {
                // A few at a time: more would hold up what is needed now.
                constexpr size_t PART = ROWS * sizeof(Weights) / 8;
                for (size_t b = 0; b < PART; b += 64) {
                    _mm_prefetch(next + g * PART + b, _MM_HINT_T0);
                }
            }
#pragma GCC unroll 16
            for (int c = 0; c < N; c += TOGETHER) {
                constexpr int PARTS = Format::SCALES == 16 ? 2 : 1, SIZE = 8 / PARTS;
                for (int part = 0; part < PARTS; part++) {
                    some<SIZE, N>(rows, i, PARTS * g + part, c, w + SIZE * part, y, columns, sums);
                }
            }
        });
#pragma GCC unroll 16
        for (int c = 0; c < N; c++) {
            __m512 sum = Format::SCALES == 0 ? _mm512_cvtepi32_ps(sums[c]) : _mm512_castsi512_ps(sums[c]);
            sum = _mm512_mul_ps(rows.d, sum);
            if constexpr (Format::PAIRS != 0) {
                Vec minima = _mm512_setzero_si512();
                for (int p = 0; p < Format::PAIRS; p++) {
                    minima = _mm512_dpwssd_epi32(minima, rows.minima[p], _mm512_set1_epi32(dword(&columns[c][i].pairs[p])));
                }
                sum = _mm512_fnmadd_ps(rows.dmin, _mm512_cvtepi32_ps(minima), sum);
            }
            totals[c] = _mm512_fmadd_ps(_mm512_set1_ps(y[c][i].d), sum, totals[c]);
        }
    }

    /// Adds the products with part `part` of block i to the sums of up to TOGETHER columns from `first` on, side by side:
    /// one after the other they would wait for their sums.
    template <int SIZE, int N>
    static inline __attribute__((always_inline)) void some(const Format & rows, int64_t i, int part, int first,
                                                           const Vec * w, const Activations * const * y,
                                                           const Column * const * columns, Vec (&sums)[N]) {
        Vec sum[TOGETHER];
        for (int c = 0; c < TOGETHER && first + c < N; c++) {
            sum[c] = _mm512_setzero_si512();
            if constexpr (Format::STARTS == Format::SCALES && Format::STARTS != 0) {
                sum[c] = _mm512_set1_epi32(columns[first + c][i].starts[part]);
            }
        }
        for (int j = 0; j < SIZE; j++) {
            for (int c = 0; c < TOGETHER && first + c < N; c++) {
                const int number = dword(y[first + c][i].qs + 4 * (SIZE * part + j));
                sum[c] = _mm512_dpbusd_epi32(sum[c], w[j], _mm512_set1_epi32(number));
            }
        }
        for (int c = 0; c < TOGETHER && first + c < N; c++) {
            if constexpr (Format::SCALES == 0) {
                sums[first + c] = _mm512_add_epi32(sums[first + c], sum[c]);
            } else {
                const __m512 before = _mm512_castsi512_ps(sums[first + c]);
                sums[first + c] =
                    _mm512_castps_si512(_mm512_fmadd_ps(rows.scales[part], _mm512_cvtepi32_ps(sum[c]), before));
            }
        }
    }
};

}  // namespace outrider
