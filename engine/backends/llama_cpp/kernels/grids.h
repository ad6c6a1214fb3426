// Weights whose sizes are taken from tables, eight or four at a time (IQ2_XXS, IQ2_XS, IQ3_XXS): see super_blocks.h for
// what such a format gives.
//
// The entries are copied one by one; that takes most of the time, and is done once for all columns. Signs, scales and
// shifts are then applied to all rows side by side.
#pragma once

#include "k_quants.h"

namespace outrider {

/// Copies the entries of group g of a block of each row to `bytes`, 32 bytes for each row one after the other.
/// `entry(row, g, n)`: the address of entry n, of `SIZE` bytes, for a row's block.
template <int SIZE, class Entry>
OUTRIDER_INLINE void copy_entries(const char * block, size_t stride, int g, char * bytes, Entry && entry) {
    for (int r = 0; r < ROWS; r++) {
#pragma GCC unroll 8
        for (int n = 0; n < 32 / SIZE; n++) {
            std::memcpy(bytes + 32 * r + SIZE * n, entry(block + r * stride, g, n), SIZE);
        }
    }
}

/// Calls `use(g, w)` with the entries of the groups. Those of the next one are copied meanwhile: copying takes other
/// parts of a processor than multiplying, and what was just written in pieces cannot be read as a whole at once.
template <int SIZE, class Entry, class Use>
OUTRIDER_INLINE void each_group(const char * block, size_t stride, Entry && entry, Use && use) {
    alignas(64) char bytes[2][32 * ROWS];
    copy_entries<SIZE>(block, stride, 0, bytes[0], entry);
    for (int g = 0; g < 8; g++) {
        if (g + 1 < 8) {
            copy_entries<SIZE>(block, stride, g + 1, bytes[(g + 1) % 2], entry);
        }
        Vec w[8];
        load32(bytes[g % 2], 32, w);
        use(g, w);
    }
}

inline unsigned byte_at(const char * at) {
    return static_cast<unsigned char>(*at);
}

inline unsigned word_at(const char * at) {
    uint16_t word;
    std::memcpy(&word, at, sizeof(word));
    return word;
}

/// 2 * s + 1 for the `BITS` bits of each lane from bit `at` on.
template <int BITS> inline Reals odd_scale(Vec x, int at) {
    const Vec s = and_bits(dwords_right(x, at), all((1 << BITS) - 1));
    return to_reals(add_dwords(add_dwords(s, s), all(1)));
}

/// Four times seven bits, in the lower bits of bytes; the eighth bit is such that the number of ones is even.
inline Vec even_ones(Vec sevens) {
    alignas(16) static const uint8_t ODD[16] = {0, 128, 128, 0, 128, 0, 0, 128, 128, 0, 0, 128, 0, 128, 128, 0};
    const Vec odd = table16(ODD);
    return or_bits(sevens, xor_bits(lookup(odd, low_nibbles(sevens)), lookup(odd, high_nibbles(sevens))));
}

/// The lower 28 bits as four times seven, in bytes.
inline Vec sevens_of_28_bits(Vec x) {
    const Vec low = join_masked(and_bits(x, all(0x7f)), dwords_left(x, 1), all(0x7f00));
    return join_masked(join_masked(low, dwords_left(x, 2), all(0x7f0000)), dwords_left(x, 3), all(0x7f000000));
}

/// Sizes below 64 with signs (bit k of a lane: weight k is negative), as bytes of 64 more.
struct SignedSizes {
    static constexpr int OFFSET = 64, TOP = 126, PAIRS = 0;
    static constexpr bool FACTORS = false, OFFSETS = false;

    static OUTRIDER_INLINE void apply(Vec signs, Vec w[8]) {
#pragma GCC unroll 8
        for (int j = 0; j < 8; j++) {
            // size ^ 64 = 64 + size, or (size ^ 63) + 1 = 64 - size.
            const Vec ones = words_right(spread_bits(signs, 4 * j), 4);
            w[j] = add_words(xor_bits(w[j], sub_words(all_bytes(64), ones)), ones);
        }
    }
};

struct IQ2_XXS : SignedSizes {
    using Weights = block_iq2_xxs;
    static constexpr ggml_type TYPE = GGML_TYPE_IQ2_XXS;
    static constexpr int SCALES = 8, STARTS = 8;
    Reals d, scales[SCALES];
    Vec signs[8];
    const char * block;
    size_t stride;

    IQ2_XXS(const char * block, size_t stride)
        : d(times(load_scales(block, stride), real(0.125f))), block(block), stride(stride) {
        Vec v[16];
        load32(block + offsetof(Weights, qs), stride, v);
        load32(block + offsetof(Weights, qs) + 32, stride, v + 8);
        for (int g = 0; g < 8; g++) {
            scales[g] = odd_scale<4>(v[2 * g + 1], 28);
            signs[g] = even_ones(sevens_of_28_bits(v[2 * g + 1]));
        }
    }

    template <class Use> OUTRIDER_INLINE void groups(Use && use) const {
        const auto entry = [](const char * row, int g, int n) {
            return iq2xxs_grid + byte_at(row + offsetof(Weights, qs) + 8 * g + n);
        };
        each_group<8>(block, stride, entry, [&](int g, Vec(&w)[8]) OUTRIDER_INLINE_LAMBDA {
            apply(signs[g], w);
            use(g, w);
        });
    }
};

struct IQ2_XS : SignedSizes {
    using Weights = block_iq2_xs;
    static constexpr ggml_type TYPE = GGML_TYPE_IQ2_XS;
    static constexpr int SCALES = 16, STARTS = 16;
    Reals d, scales[SCALES];
    Vec signs[8];
    const char * block;
    size_t stride;

    IQ2_XS(const char * block, size_t stride)
        : d(times(load_scales(block, stride), real(0.125f))), block(block), stride(stride) {
        Vec v[16], nibbles[2];
        load32(block + offsetof(Weights, qs), stride, v);
        load32(block + offsetof(Weights, qs) + 32, stride, v + 8);
        for (int i = 0; i < 2; i++) {
            nibbles[i] = load4(block + offsetof(Weights, scales) + 4 * i, stride);
        }
        for (int g = 0; g < 8; g++) {
            // The upper seven bits of words become bytes.
            const auto sevens = [](Vec x) {
                const Vec words = words_right(x, 9);
                return and_bits(or_bits(words, dwords_right(words, 8)), all(0x7f7f));
            };
            signs[g] = even_ones(or_bits(sevens(v[2 * g]), dwords_left(sevens(v[2 * g + 1]), 16)));
            for (int s = 0; s < 2; s++) {
                scales[2 * g + s] = odd_scale<4>(nibbles[g / 4], 8 * (g % 4) + 4 * s);
            }
        }
    }

    template <class Use> OUTRIDER_INLINE void groups(Use && use) const {
        const auto entry = [](const char * row, int g, int n) {
            return iq2xs_grid + (word_at(row + offsetof(Weights, qs) + 8 * g + 2 * n) & 511);
        };
        each_group<8>(block, stride, entry, [&](int g, Vec(&w)[8]) OUTRIDER_INLINE_LAMBDA {
            apply(signs[g], w);
            use(g, w);
        });
    }
};

struct IQ3_XXS : SignedSizes {
    using Weights = block_iq3_xxs;
    static constexpr ggml_type TYPE = GGML_TYPE_IQ3_XXS;
    static constexpr int SCALES = 8, STARTS = 8;
    Reals d, scales[SCALES];
    Vec signs[8];
    const char * block;
    size_t stride;

    IQ3_XXS(const char * block, size_t stride)
        : d(times(load_scales(block, stride), real(0.25f))), block(block), stride(stride) {
        Vec v[8];
        load32(block + offsetof(Weights, qs) + 64, stride, v);
        for (int g = 0; g < 8; g++) {
            scales[g] = odd_scale<4>(v[g], 28);
            signs[g] = even_ones(sevens_of_28_bits(v[g]));
        }
    }

    template <class Use> OUTRIDER_INLINE void groups(Use && use) const {
        const auto entry = [](const char * row, int g, int n) {
            return iq3xxs_grid + byte_at(row + offsetof(Weights, qs) + 8 * g + n);
        };
        each_group<4>(block, stride, entry, [&](int g, Vec(&w)[8]) OUTRIDER_INLINE_LAMBDA {
            apply(signs[g], w);
            use(g, w);
        });
    }
};

}  // namespace outrider
