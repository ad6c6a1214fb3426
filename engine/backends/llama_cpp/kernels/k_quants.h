// Weights in blocks of 256 with small scales for each 16 or 32 of them (Q2_K to Q6_K, IQ4_XS): see super_blocks.h.
#pragma once

#include "super_blocks.h"

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

inline Vec two_bits(Vec x, int shift) {
    return _mm512_and_si512(move_bits(x, shift), _mm512_set1_epi8(3));
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
        const Vec six = _mm512_set1_epi8(63);
        const Vec first[2] = {_mm512_and_si512(v[1], six), join_bits(low_nibbles(v[3]), v[1], 2, 48)};
        const Vec second[2] = {_mm512_and_si512(v[2], six), join_bits(high_nibbles(v[3]), v[2], 2, 48)};
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

    template <class Use> OUTRIDER_INLINE void groups(Use && use) const {
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

    template <class Use> OUTRIDER_INLINE void groups(Use && use) const {
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

    template <class Use> OUTRIDER_INLINE void groups(Use && use) const {
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

    template <class Use> OUTRIDER_INLINE void groups(Use && use) const {
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

/// Small scales for 16 weights each, to be multiplied into them: a pair of bytes times a 16-bit number does not carry
/// from the lower byte into the upper one as long as both products fit.
/// bytes[i]: the scales 4i .. 4i + 3; out[s]: scale s in every word.
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

    template <class Use> OUTRIDER_INLINE void groups(Use && use) const {
        for (int half = 0; half < 2; half++) {
            Vec raw[8], w[8];
            load32(block + offsetof(Weights, qs) + 32 * half, stride, raw);
            for (int part = 0; part < 4; part++) {
                const int g = 4 * half + part;
                for (int j = 0; j < 8; j++) {
                    // At most 3 * 15.
                    w[j] = _mm512_mullo_epi16(two_bits(raw[j], 2 * part), factors[2 * g + j / 4]);
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

    template <class Use> OUTRIDER_INLINE void groups(Use && use) const {
        Vec high[8];
        load32(block + offsetof(Weights, hmask), stride, high);
        for (int half = 0; half < 2; half++) {
            Vec raw[8], w[8];
            load32(block + offsetof(Weights, qs) + 32 * half, stride, raw);
            for (int part = 0; part < 4; part++) {
                const int g = 4 * half + part;
                for (int j = 0; j < 8; j++) {
                    // (w - 4) * scale + OFFSET = w * scale + (OFFSET - 4 * scale)
                    const Vec plus4 = join_bits(two_bits(raw[j], 2 * part), high[j], g - 2, 4);
                    w[j] = _mm512_add_epi16(_mm512_mullo_epi16(plus4, factors[2 * g + j / 4]), offsets[2 * g + j / 4]);
                }
                use(g, w);
            }
        }
    }
};

}  // namespace outrider
