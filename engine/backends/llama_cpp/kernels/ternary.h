// Weights -1, 0, 1 in blocks of 256 with one scale (TQ1_0, TQ2_0): see super_blocks.h for what such a format gives.
#pragma once

#include "k_quants.h"

namespace outrider {

struct Ternary {
    static constexpr int OFFSET = 1, TOP = 3, SCALES = 0, STARTS = 1, PAIRS = 0;
    static constexpr bool FACTORS = false, OFFSETS = false;
};

struct TQ2_0 : Ternary {
    using Weights = block_tq2_0;
    static constexpr ggml_type TYPE = GGML_TYPE_TQ2_0;
    const char * block;
    size_t stride;
    Reals d;

    /// The last two bytes of a block: those before them are read along.
    OUTRIDER_INLINE TQ2_0(const char * block, size_t stride)
        : block(block), stride(stride), d(high_halves(load4(block + offsetof(Weights, d) - 2, stride))) {}

    template <class Use> OUTRIDER_INLINE void groups(Use && use) const {
        for (int half = 0; half < 2; half++) {
            Vec raw[8], w[8];
            load32(block + offsetof(Weights, qs) + 32 * half, stride, raw);
            for (int part = 0; part < 4; part++) {
                for (int j = 0; j < 8; j++) {
                    w[j] = two_bits(raw[j], 2 * part);
                }
                use(4 * half + part, w);
            }
        }
    }
};

/// Five weights a byte: 256 / 243 times their digits to the base three as a fraction of 256, the first digit in front.
struct TQ1_0 : Ternary {
    using Weights = block_tq1_0;
    static constexpr ggml_type TYPE = GGML_TYPE_TQ1_0;
    const char * block;
    size_t stride;
    Reals d;

    OUTRIDER_INLINE TQ1_0(const char * block, size_t stride)
        : block(block), stride(stride), d(high_halves(load4(block + offsetof(Weights, d) - 2, stride))) {}

    /// Digit n of each byte.
    static Vec digit(Vec x, int n) {
        static constexpr int16_t POWERS[5] = {1, 3, 9, 27, 81};
        const Vec power = all_words(POWERS[n]), three = all_words(3), low = all_words(255);
        // What is behind the digits before it, times three: the digit is before the point.
        const auto times_three = [&](Vec words) { return mul_words(and_bits(mul_words(words, power), low), three); };
        const Vec even = words_right(times_three(and_bits(x, low)), 8);
        const Vec odd = times_three(words_right(x, 8));
        return join_masked(even, odd, all_words(static_cast<int16_t>(0xff00)));
    }

    template <class Use> OUTRIDER_INLINE void groups(Use && use) const {
        Vec raw[8], w[8];
        load32(block + offsetof(Weights, qs), stride, raw);
        for (int g = 0; g < 5; g++) {
            for (int j = 0; j < 8; j++) {
                w[j] = digit(raw[j], g);
            }
            use(g, w);
        }
        load16(block + offsetof(Weights, qs) + 32, stride, raw);
        raw[4] = load4(block + offsetof(Weights, qh), stride);
        for (int g = 5; g < 8; g++) {
            for (int j = 0; j < 4; j++) {
                w[j] = digit(raw[j], 2 * (g - 5));
                w[4 + j] = g < 7 ? digit(raw[j], 2 * (g - 5) + 1) : digit(raw[4], j);
            }
            use(g, w);
        }
    }
};

}  // namespace outrider
