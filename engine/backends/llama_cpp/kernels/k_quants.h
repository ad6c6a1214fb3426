// Weights in blocks of 256 with small scales for each 16 or 32 of them (Q2_K to Q6_K, IQ4_XS): see super_blocks.h.
#pragma once

#include "eight_bit.h"
#include "packed_rows.h"
#include "super_blocks.h"

namespace outrider {

inline Vec low_nibbles(Vec x) {
    return and_bits(x, all_bytes(15));
}

inline Vec high_nibbles(Vec x) {
    return low_nibbles(words_right(x, 4));
}

inline Vec two_bits(Vec x, int shift) {
    return and_bits(move_bytes(x, shift), all_bytes(3));
}

/// `w` and those of each byte's moved bits that are in `bits`.
inline Vec join_bits(Vec w, Vec x, int shift, int bits) {
    return join_masked(w, move_bytes(x, shift), all_bytes(static_cast<int8_t>(bits)));
}

/// The low word of each dword in both of its words.
inline Vec both_words(Vec x) {
    return or_bits(and_bits(x, all(0xffff)), dwords_left(x, 16));
}

/// Eight scales and eight minima of six bits, in twelve bytes (Q4_K, Q5_K), behind d and dmin.
struct SixBitScales {
    static constexpr int OFFSET = 0, SCALES = 8, STARTS = 0, PAIRS = 4;
    static constexpr bool FACTORS = NARROW, OFFSETS = false;
    static constexpr int AS_ONE = std::max(MOST_AS_ONE, 10);  // Up to ten the other way is slower (measured in Q4_K).
    Reals d, dmin, scales[SCALES];
    Vec factors[SCALES], minima[PAIRS];

    template <class Block> explicit OUTRIDER_INLINE SixBitScales(const Block & block) {
        Vec v[4];
        block.load16(0, v);
        d = low_halves(v[0]);
        dmin = high_halves(v[0]);
        const Vec six = all_bytes(63);
        const Vec first[2] = {and_bits(v[1], six), join_bits(low_nibbles(v[3]), v[1], 2, 48)};
        const Vec second[2] = {and_bits(v[2], six), join_bits(high_nibbles(v[3]), v[2], 2, 48)};
        const Vec words = all(0x00ff00ff);
        for (int i = 0; i < 2; i++) {
            for (int s = 0; s < 4; s++) {
                if constexpr (FACTORS) {
                    factors[4 * i + s] = byte_in_words(first[i], s);
                } else {
                    scales[4 * i + s] = to_reals(and_bits(dwords_right(first[i], 8 * s), all(255)));
                }
            }
            minima[2 * i] = and_bits(second[i], words);
            minima[2 * i + 1] = and_bits(words_right(second[i], 8), words);
        }
    }
};

template <template <class> class Rows = FileRows> struct Q4_K : SixBitScales {
    using Weights = block_q4_K;
    using Layout = Rows<Weights>;
    using Block = typename Layout::Block;
    static constexpr ggml_type TYPE = GGML_TYPE_Q4_K;
    /// Whether upper nibbles stay where they are, which makes them 16 times as large, and their scales a sixteenth.
    static constexpr bool IN_PLACE = FULL_BYTES;
    static constexpr int TOP = IN_PLACE ? 240 : 15;
    Block block;

    explicit OUTRIDER_INLINE Q4_K(const Block & block) : SixBitScales(block), block(block) {
        for (int s = 1; IN_PLACE && s < SCALES; s += 2) {
            scales[s] = times(real(1.0f / 16), scales[s]);
        }
    }

    static OUTRIDER_INLINE Vec upper(Vec raw) { return IN_PLACE ? and_bits(raw, all_bytes(-16)) : high_nibbles(raw); }

    template <int HALF> OUTRIDER_INLINE Vec weight(int pair, int j) const {
        const Vec raw = block.load4(offsetof(Weights, qs) + 32 * pair + 4 * j);
        return HALF == 0 ? low_nibbles(raw) : upper(raw);
    }

    template <class Use> OUTRIDER_INLINE void groups(Use && use) const {
        for (int pair = 0; pair < 4; pair++) {
            Vec raw[8], w[8];
            block.load32(offsetof(Weights, qs) + 32 * pair, raw);
            for (int j = 0; j < 8; j++) {
                w[j] = low_nibbles(raw[j]);
            }
            use(2 * pair, w);
            for (int j = 0; j < 8; j++) {
                w[j] = upper(raw[j]);
            }
            use(2 * pair + 1, w);
        }
    }
};

template <template <class> class Rows = FileRows> struct Q5_K : SixBitScales {
    using Weights = block_q5_K;
    using Layout = Rows<Weights>;
    using Block = typename Layout::Block;
    static constexpr ggml_type TYPE = GGML_TYPE_Q5_K;
    static constexpr int TOP = 31;
    Block block;

    explicit OUTRIDER_INLINE Q5_K(const Block & block) : SixBitScales(block), block(block) {}

    template <class Use> OUTRIDER_INLINE void groups(Use && use) const {
        Vec high[8];
        block.load32(offsetof(Weights, qh), high);
        for (int pair = 0; pair < 4; pair++) {
            Vec raw[8], w[8];
            block.load32(offsetof(Weights, qs) + 32 * pair, raw);
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

template <template <class> class Rows = FileRows> struct Q6_K {
    using Weights = block_q6_K;
    using Layout = Rows<Weights>;
    using Block = typename Layout::Block;
    static constexpr ggml_type TYPE = GGML_TYPE_Q6_K;
    static constexpr bool FACTORS = NARROW, OFFSETS = NARROW;
    static constexpr int OFFSET = 32, TOP = 63, SCALES = 16, STARTS = OFFSETS ? 0 : 16, PAIRS = OFFSETS ? 8 : 0;
    Block block;
    Reals d, scales[SCALES];
    Vec factors[SCALES], minima[PAIRS + 1];

    explicit OUTRIDER_INLINE Q6_K(const Block & block) : block(block) {
        Vec v[4];
        block.load16(offsetof(Weights, scales), v);
        for (int s = 0; s < SCALES; s++) {
            if constexpr (FACTORS) {
                factors[s] = both_words(signed_byte(v[s / 4], s % 4));
            } else {
                scales[s] = to_reals(signed_byte(v[s / 4], s % 4));
            }
        }
        for (int p = 0; p < PAIRS; p++) {
            minima[p] = signed_words_right(p % 2 == 0 ? words_left(v[p / 2], 8) : v[p / 2], 8);
        }
        d = block.scales();
    }

    template <class Use> OUTRIDER_INLINE void groups(Use && use) const {
        for (int half = 0; half < 2; half++) {
            Vec high[8];
            block.load32(offsetof(Weights, qh) + 32 * half, high);
            const auto use_part = [&](auto part) OUTRIDER_INLINE_LAMBDA {
                Vec raw[8], w[8];
                block.load32(offsetof(Weights, ql) + 64 * half + 32 * part, raw);
                for (int j = 0; j < 8; j++) {
                    w[j] = join_bits(low_nibbles(raw[j]), high[j], 2 * part - 4, 48);
                }
                use(4 * half + part, w);
                for (int j = 0; j < 8; j++) {
                    w[j] = join_bits(high_nibbles(raw[j]), high[j], 2 * part, 48);
                }
                use(4 * half + part + 2, w);
            };
            if constexpr (NARROW) {  // With bits moved by constants.
                each_of<2>(use_part);
            } else {
                for (int part = 0; part < 2; part++) {
                    use_part(part);
                }
            }
        }
    }
};

struct IQ4_XS {
    using Weights = block_iq4_xs;
    static constexpr ggml_type TYPE = GGML_TYPE_IQ4_XS;
    static constexpr int OFFSET = BYTE_OFFSET, TOP = BYTE_TOP, SCALES = 8, PAIRS = 0;
    static constexpr int STARTS = OFFSET != 0 ? SCALES : 0;
    static constexpr bool FACTORS = NARROW, OFFSETS = false;
    const char * block;
    size_t stride;
    Reals d, scales[SCALES];
    Vec factors[SCALES];

    OUTRIDER_INLINE IQ4_XS(const char * block, size_t stride) : block(block), stride(stride) {
        Vec v[4];
        load16(block, stride, v);
        d = low_halves(v[0]);
        for (int s = 0; s < SCALES; s++) {
            const Vec low = and_bits(dwords_right(v[1], 4 * s), all(15));
            const Vec high = and_bits(dwords_right(v[0], 16 + 2 * s), all(3));
            const Vec scale = sub_dwords(add_dwords(low, dwords_left(high, 4)), all(32));
            if constexpr (FACTORS) {
                factors[s] = both_words(scale);
            } else {
                scales[s] = to_reals(scale);
            }
        }
    }

    template <class Use> OUTRIDER_INLINE void groups(Use && use) const {
        const Vec table = iq4_values();
        for (int pair = 0; pair < 4; pair++) {
            Vec raw[8], w[8];
            load32(block + offsetof(Weights, qs) + 32 * pair, stride, raw);
            for (int i = 0; i < 2; i++) {
                for (int j = 0; j < 4; j++) {
                    w[j] = lookup(table, low_nibbles(raw[4 * i + j]));
                    w[4 + j] = lookup(table, high_nibbles(raw[4 * i + j]));
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
        out[s] = byte_in_words(bytes[s / 4], s % 4);
    }
}

struct Q2_K {
    using Weights = block_q2_K;
    static constexpr ggml_type TYPE = GGML_TYPE_Q2_K;
    static constexpr int OFFSET = 0, TOP = 45, SCALES = 0, STARTS = 0, PAIRS = 8;
    static constexpr bool FACTORS = false, OFFSETS = false;
    const char * block;
    size_t stride;
    Reals d, dmin;
    Vec factors[16], minima[PAIRS];

    OUTRIDER_INLINE Q2_K(const char * block, size_t stride) : block(block), stride(stride) {
        Vec v[4], bytes[4];
        load16(block + offsetof(Weights, scales), stride, v);
        for (int i = 0; i < 4; i++) {
            bytes[i] = low_nibbles(v[i]);
            const Vec second = high_nibbles(v[i]);
            minima[2 * i] = and_bits(second, all(0x00ff00ff));
            minima[2 * i + 1] = and_bits(words_right(second, 8), all(0x00ff00ff));
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
                    w[j] = mul_words(two_bits(raw[j], 2 * part), factors[2 * g + j / 4]);
                }
                use(g, w);
            }
        }
    }
};

/// In the bytes of the weights where they hold any, otherwise (16 scales for the sums) without them.
struct Q3_K {
    using Weights = block_q3_K;
    static constexpr ggml_type TYPE = GGML_TYPE_Q3_K;
    /// The weights times their scales are -4 * 31 .. -4 * -32, without them -4..3.
    static constexpr int OFFSET = FULL_BYTES ? 124 : 4, TOP = FULL_BYTES ? 252 : 7;
    static constexpr bool FACTORS = NARROW, OFFSETS = NARROW;
    static constexpr int SCALES = FULL_BYTES ? 0 : 16, STARTS = FULL_BYTES ? 1 : OFFSETS ? 0 : 16;
    static constexpr int PAIRS = OFFSETS ? 8 : 0;
    const char * block;
    size_t stride;
    Reals d, scales[SCALES + 1];
    Vec factors[16], offsets[16], minima[PAIRS + 1];

    OUTRIDER_INLINE Q3_K(const char * block, size_t stride) : block(block), stride(stride) {
        Vec v[4], bytes[4];
        // Scales and d are the last 14 bytes; the two before them are read along.
        load16(block + offsetof(Weights, scales) - 2, stride, v);
        Vec u[3];
        for (int i = 0; i < 3; i++) {
            u[i] = or_bits(dwords_right(v[i], 16), dwords_left(v[i + 1], 16));
        }
        d = high_halves(v[3]);
        for (int i = 0; i < 4; i++) {
            bytes[i] = join_bits(i < 2 ? low_nibbles(u[i]) : high_nibbles(u[i - 2]), u[2], 2 * i - 4, 48);
        }
        if constexpr (!FULL_BYTES) {
            for (int s = 0; s < SCALES; s++) {
                const Vec scale = sub_dwords(and_bits(dwords_right(bytes[s / 4], 8 * (s % 4)), all(255)), all(32));
                if constexpr (FACTORS) {
                    factors[s] = both_words(scale);
                } else {
                    scales[s] = to_reals(scale);
                }
            }
            for (int p = 0; p < PAIRS; p++) {
                const Vec words = p % 2 == 0 ? words_left(bytes[p / 2], 8) : bytes[p / 2];
                minima[p] = sub_words(words_right(words, 8), all_words(32));
            }
            return;
        }
        scale_words(bytes, factors);
        for (int s = 0; s < 16; s++) {
            factors[s] = sub_words(factors[s], all_words(32));
            const Vec offset = sub_words(all_words(OFFSET), words_left(factors[s], 2));
            offsets[s] = or_bits(offset, words_left(offset, 8));
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
                    w[j] = join_bits(two_bits(raw[j], 2 * part), high[j], g - 2, 4);
                    if constexpr (FULL_BYTES) {
                        // (w - 4) * scale + OFFSET = w * scale + (OFFSET - 4 * scale)
                        w[j] = add_words(mul_words(w[j], factors[2 * g + j / 4]), offsets[2 * g + j / 4]);
                    }
                }
                use(g, w);
            }
        }
    }
};

}  // namespace outrider
