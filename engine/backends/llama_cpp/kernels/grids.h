// Weights that are taken from tables, eight or four at a time: their sizes (IQ2_XXS, IQ2_XS, IQ2_S, IQ3_XXS, IQ3_S), or
// whether they are -1, 0 or 1 (IQ1_S, IQ1_M). See super_blocks.h for what such a format gives.
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

/// Sizes below `MORE`, a power of two, with signs (bit k of a lane: weight k is negative), as bytes of so many more.
template <int MORE, int LARGEST> struct SignedSizes {
    static constexpr int OFFSET = MORE, TOP = MORE + LARGEST, PAIRS = 0;
    static constexpr bool FACTORS = false, OFFSETS = false;
    static constexpr int AS_ONE = 8;  // Copying entries takes most of the time, however many columns there are.
    static_assert(LARGEST < MORE);

    static OUTRIDER_INLINE void apply(Vec signs, Vec w[8]) {
#pragma GCC unroll 8
        for (int j = 0; j < 8; j++) {
            // size ^ 64 = 64 + size, or (size ^ 63) + 1 = 64 - size.
            const Vec ones = words_right(spread_bits(signs, 4 * j), 4);
            w[j] = add_words(xor_bits(w[j], sub_words(all_bytes(MORE), ones)), ones);
        }
    }
};

struct IQ2_XXS : SignedSizes<64, 43> {
    using Weights = block_iq2_xxs;
    static constexpr ggml_type TYPE = GGML_TYPE_IQ2_XXS;
    static constexpr int SCALES = 8, STARTS = 8;
    Reals d, scales[SCALES];
    Vec signs[8];
    const char * block;
    size_t stride;

    OUTRIDER_INLINE IQ2_XXS(const char * block, size_t stride)
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

struct IQ2_XS : SignedSizes<64, 43> {
    using Weights = block_iq2_xs;
    static constexpr ggml_type TYPE = GGML_TYPE_IQ2_XS;
    static constexpr int SCALES = 16, STARTS = 16;
    Reals d, scales[SCALES];
    Vec signs[8];
    const char * block;
    size_t stride;

    OUTRIDER_INLINE IQ2_XS(const char * block, size_t stride)
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

struct IQ2_S : SignedSizes<64, 43> {
    using Weights = block_iq2_s;
    static constexpr ggml_type TYPE = GGML_TYPE_IQ2_S;
    static constexpr int SCALES = 16, STARTS = 16;
    Reals d, scales[SCALES];
    Vec signs[8];
    const char * block;
    size_t stride;

    OUTRIDER_INLINE IQ2_S(const char * block, size_t stride)
        : d(times(load_scales(block, stride), real(0.125f))), block(block), stride(stride) {
        load32(block + offsetof(Weights, qs) + 32, stride, signs);
        for (int i = 0; i < 2; i++) {
            const Vec nibbles = load4(block + offsetof(Weights, scales) + 4 * i, stride);
            for (int s = 0; s < 8; s++) {
                scales[8 * i + s] = odd_scale<4>(nibbles, 4 * s);
            }
        }
    }

    template <class Use> OUTRIDER_INLINE void groups(Use && use) const {
        const auto entry = [](const char * row, int g, int n) {
            const unsigned high = byte_at(row + offsetof(Weights, qh) + g);
            return iq2s_grid + (byte_at(row + offsetof(Weights, qs) + 4 * g + n) | (high << (8 - 2 * n) & 0x300));
        };
        each_group<8>(block, stride, entry, [&](int g, Vec(&w)[8]) OUTRIDER_INLINE_LAMBDA {
            apply(signs[g], w);
            use(g, w);
        });
    }
};

struct IQ3_XXS : SignedSizes<64, 62> {
    using Weights = block_iq3_xxs;
    static constexpr ggml_type TYPE = GGML_TYPE_IQ3_XXS;
    static constexpr int SCALES = 8, STARTS = 8;
    Reals d, scales[SCALES];
    Vec signs[8];
    const char * block;
    size_t stride;

    OUTRIDER_INLINE IQ3_XXS(const char * block, size_t stride)
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

struct IQ3_S : SignedSizes<16, 15> {
    using Weights = block_iq3_s;
    static constexpr ggml_type TYPE = GGML_TYPE_IQ3_S;
    static constexpr int SCALES = 8, STARTS = 8;
    Reals d, scales[SCALES];
    Vec signs[8];
    const char * block;
    size_t stride;

    OUTRIDER_INLINE IQ3_S(const char * block, size_t stride) : d(load_scales(block, stride)), block(block), stride(stride) {
        load32(block + offsetof(Weights, signs), stride, signs);
        const Vec nibbles = load4(block + offsetof(Weights, scales), stride);
        for (int g = 0; g < 8; g++) {
            scales[g] = odd_scale<4>(nibbles, 4 * g);
        }
    }

    template <class Use> OUTRIDER_INLINE void groups(Use && use) const {
        const auto entry = [](const char * row, int g, int n) {
            const unsigned high = byte_at(row + offsetof(Weights, qh) + g);
            return iq3s_grid + (byte_at(row + offsetof(Weights, qs) + 8 * g + n) | (high << (8 - n) & 0x100));
        };
        each_group<4>(block, stride, entry, [&](int g, Vec(&w)[8]) OUTRIDER_INLINE_LAMBDA {
            apply(signs[g], w);
            use(g, w);
        });
    }
};

/// Weights -1, 0, 1 that are moved by an eighth up or down, eight at a time: eight times that, and 9 more.
struct MovedSigns {
    static constexpr int OFFSET = 9, TOP = 18, PAIRS = 0;
    static constexpr bool FACTORS = false, OFFSETS = false;
    static constexpr int AS_ONE = 8;

    /// `w`: -1, 0, 1 in bytes, eight weights in each two registers; `down`: bit `first` + 4 * n tells of the eight n.
    static OUTRIDER_INLINE void apply(Vec down, int first, Vec w[8]) {
        // For 0, 1 and -1 (the lower four bits of it are 15): eight times that, 8 more.
        alignas(16) static const uint8_t VALUES[16] = {8, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
        const Vec values = table16(VALUES);
#pragma GCC unroll 4
        for (int n = 0; n < 4; n++) {
            // All bits where the weights are moved up: then 2 more, where no bit is yet.
            const Vec up = sub_dwords(and_bits(dwords_right(down, first + 4 * n), all(1)), all(1));
            for (int j = 2 * n; j < 2 * n + 2; j++) {
                w[j] = join_masked(lookup(values, low_nibbles(w[j])), up, all_bytes(2));
            }
        }
    }
};

struct IQ1_S : MovedSigns {
    using Weights = block_iq1_s;
    static constexpr ggml_type TYPE = GGML_TYPE_IQ1_S;
    static constexpr int SCALES = 8, STARTS = 8;
    Reals d, scales[SCALES];
    Vec down[8];
    const char * block;
    size_t stride;

    OUTRIDER_INLINE IQ1_S(const char * block, size_t stride)
        : d(times(load_scales(block, stride), real(0.125f))), block(block), stride(stride) {
        Vec high[4];
        load16(block + offsetof(Weights, qh), stride, high);
        for (int g = 0; g < 8; g++) {
            scales[g] = odd_scale<3>(high[g / 2], 16 * (g % 2) + 12);
            // The same for all four of a group.
            down[g] = and_bits(dwords_right(high[g / 2], 16 * (g % 2) + 15), all(1));
            down[g] = or_bits(down[g], dwords_left(down[g], 4));
            down[g] = or_bits(down[g], dwords_left(down[g], 8));
        }
    }

    template <class Use> OUTRIDER_INLINE void groups(Use && use) const {
        const auto entry = [](const char * row, int g, int n) {
            const unsigned high = word_at(row + offsetof(Weights, qh) + 2 * g);
            return iq1s_grid + (byte_at(row + offsetof(Weights, qs) + 4 * g + n) | (high >> 3 * n & 7) << 8);
        };
        each_group<8>(block, stride, entry, [&](int g, Vec(&w)[8]) OUTRIDER_INLINE_LAMBDA {
            apply(down[g], 0, w);
            use(g, w);
        });
    }
};

struct IQ1_M : MovedSigns {
    using Weights = block_iq1_m;
    static constexpr ggml_type TYPE = GGML_TYPE_IQ1_M;
    static constexpr int SCALES = 16, STARTS = 16;
    Reals d, scales[SCALES];
    Vec high[4];
    const char * block;
    size_t stride;

    OUTRIDER_INLINE IQ1_M(const char * block, size_t stride) : block(block), stride(stride) {
        const Vec words[2] = {load4(block + offsetof(Weights, scales), stride),
                              load4(block + offsetof(Weights, scales) + 4, stride)};
        // Four words: in each the scales of two groups, below four bits of d.
        const auto part = [](Vec x, int shift, int bits) { return and_bits(dwords_right(x, shift), all(bits)); };
        const Vec low = or_bits(part(words[0], 12, 0xf), part(words[0], 24, 0xf0));
        d = times(low_halves(or_bits(low, or_bits(part(words[1], 4, 0xf00), part(words[1], 16, 0xf000)))), real(0.125f));
        for (int s = 0; s < SCALES; s++) {
            scales[s] = odd_scale<3>(words[s / 8], s / 4 % 2 * 16 + s % 4 * 3);
        }
        load16(block + offsetof(Weights, qh), stride, high);
    }

    template <class Use> OUTRIDER_INLINE void groups(Use && use) const {
        const auto entry = [](const char * row, int g, int n) {
            const unsigned bits = word_at(row + offsetof(Weights, qh) + 2 * g) >> 4 * n & 7;
            return iq1s_grid + (byte_at(row + offsetof(Weights, qs) + 4 * g + n) | bits << 8);
        };
        each_group<8>(block, stride, entry, [&](int g, Vec(&w)[8]) OUTRIDER_INLINE_LAMBDA {
            apply(high[g / 2], 16 * (g % 2) + 3, w);
            use(g, w);
        });
    }
};

}  // namespace outrider
