// Weights in blocks of 32 to 128 with other scales than those of eight_bit.h (Q4_1, Q5_1, MXFP4, NVFP4, Q1_0, Q2_0),
// activations in blocks of 32.
//
// Sums of products are exact integers, as in eight_bit.h, for 32 weights or for 16, and are added up in floating point
// in their order. A format is made from a block of ROWS rows and has
//   Activations  blocks of 32 numbers;
//   OFFSET       what was added to the weights; TOP: see `dots` in lanes.h;
//   PARTS        blocks of 32 numbers that a block of weights takes;
//   SPLIT        scales for each of these: 1 or 2;
//   MINIMA       whether a minimum times sum(y) is to be added, in `minimum`;
//   scale        `scale(s)`: scale number s;
//   load         `load(p, w)`: the bytes of the 32 weights of part p.
#pragma once

#include <array>

#include "eight_bit.h"

namespace outrider {

template <class Format> struct ScaledBlocks {
    using Weights = typename Format::Weights;
    using Activations = typename Format::Activations;
    static constexpr ggml_type TYPE = Format::TYPE;
    static constexpr bool DIRECT = false;
    static constexpr int SIZE = 8 / Format::SPLIT;

    /// What a column's block adds beside its numbers: its scale, that times sum(y), and where sums start.
    struct Column {
        float scale, total;
        std::array<int32_t, Format::SPLIT> starts;
    };

    static void prepare(const Activations * y, int64_t blocks, Column * out) {
        for (int64_t i = 0; i < blocks; i++) {
            ggml_half scale;
            std::memcpy(&scale, y + i, sizeof(scale));  // What both kinds of blocks begin with.
            out[i].scale = GGML_CPU_FP16_TO_FP32(scale);
            int total = 0;
            for (int s = 0; s < Format::SPLIT; s++) {
                int sum = 0;
                for (int j = 4 * SIZE * s; j < 4 * SIZE * (s + 1); j++) {
                    sum += y[i].qs[j];
                }
                out[i].starts[s] = -Format::OFFSET * sum;
                total += sum;
            }
            out[i].total = out[i].scale * static_cast<float>(total);
        }
    }

    /// As EightBit::tile.
    template <int N>
    static void tile(const char * weights, size_t stride, int64_t blocks, const Activations * const * y,
                     const Column * const * columns, float * const * out, const char * next) {
        Reals sums[N];
#pragma GCC unroll 16
        for (int c = 0; c < N; c++) {
            sums[c] = real(0.0f);
        }
        const BlocksOf<Format> lying(weights, stride, blocks);
        for (int64_t i = 0; i < blocks; i++) {
            const Format rows = lying[i];
            const char * later = next == nullptr ? nullptr : next + i * ROWS * sizeof(Weights);
#pragma GCC unroll 4
            for (int p = 0; p < Format::PARTS; p++) {
                part<N>(sums, rows, p, i * Format::PARTS + p, y, columns, later);
            }
        }
#pragma GCC unroll 16
        for (int c = 0; c < N; c++) {
            store_any(out[c], sums[c]);
        }
    }

    /// Adds the products of a block's part p with block i of the columns.
    template <int N>
    static OUTRIDER_INLINE void part(Reals (&sums)[N], const Format & rows, int p, int64_t i,
                                     const Activations * const * y, const Column * const * columns,
                                     const char * later) {
        constexpr size_t STEP = ROWS * sizeof(Weights) / (8 * Format::PARTS);
        Vec w[8];
        rows.load(p, w);
        in_groups<N, EIGHT_BIT_BESIDE>([&](auto first, auto count) OUTRIDER_INLINE_LAMBDA {
            constexpr int COUNT = count;
#pragma GCC unroll 2
            for (int s = 0; s < Format::SPLIT; s++) {
                Vec sum[COUNT];
                const int8_t * numbers[COUNT];
#pragma GCC unroll 16
                for (int c = 0; c < COUNT; c++) {
                    sum[c] = all(columns[first + c][i].starts[s]);
                    numbers[c] = y[first + c][i].qs + 4 * SIZE * s;
                }
                dots<Format::TOP, SIZE>(sum, w + SIZE * s, numbers, [&](int j) OUTRIDER_INLINE_LAMBDA {
                    if (first == 0 && later != nullptr) {
                        fetch<STEP>(later + (8 * p + SIZE * s + j) * STEP);
                    }
                });
#pragma GCC unroll 16
                for (int c = 0; c < COUNT; c++) {
                    const Reals scale = times(rows.scale(Format::SPLIT * p + s), real(columns[first + c][i].scale));
                    sums[first + c] = fused(scale, to_reals(sum[c]), sums[first + c]);
                }
            }
            if constexpr (Format::MINIMA) {
#pragma GCC unroll 16
                for (int c = 0; c < COUNT; c++) {
                    sums[first + c] = fused(rows.minimum, real(columns[first + c][i].total), sums[first + c]);
                }
            }
        });
    }
};

/// A block of a few rows: where it lies.
struct RowBlocks {
    const char * block;
    size_t stride;
};

template <template <class> class Rows = FileRows> struct Q4_1 {
    using Weights = block_q4_1;
    using Layout = Rows<Weights>;
    using Block = typename Layout::Block;
    using Activations = block_q8_1;
    static constexpr ggml_type TYPE = GGML_TYPE_Q4_1;
    static constexpr int OFFSET = 0, TOP = 15, PARTS = 1, SPLIT = 1;
    static constexpr bool MINIMA = true;
    Block block;
    Reals d, minimum;

    explicit OUTRIDER_INLINE Q4_1(const Block & block) : block(block) {
        const Vec both_scales = block.load4(0);
        d = low_halves(both_scales);
        minimum = high_halves(both_scales);
    }

    Reals scale(int) const { return d; }

    OUTRIDER_INLINE void load(int, Vec w[8]) const { nibbles(block, offsetof(Weights, qs), w); }
};

template <template <class> class Rows = FileRows> struct Q5_1 {
    using Weights = block_q5_1;
    using Layout = Rows<Weights>;
    using Block = typename Layout::Block;
    using Activations = block_q8_1;
    static constexpr ggml_type TYPE = GGML_TYPE_Q5_1;
    static constexpr int OFFSET = 0, TOP = 31, PARTS = 1, SPLIT = 1;
    static constexpr bool MINIMA = true;
    Block block;
    Reals d, minimum;

    explicit OUTRIDER_INLINE Q5_1(const Block & block) : block(block) {
        const Vec both_scales = block.load4(0);
        d = low_halves(both_scales);
        minimum = high_halves(both_scales);
    }

    Reals scale(int) const { return d; }

    OUTRIDER_INLINE void load(int, Vec w[8]) const {
        nibbles(block, offsetof(Weights, qs), w);
        const Vec high = block.load4(offsetof(Weights, qh));
        for (int j = 0; j < 8; j++) {
            w[j] = or_bits(w[j], spread_bits(high, 4 * j));
        }
    }
};

/// Twice what four bits stand for in floating point with a bit of mantissa (E2M1), and 12 more.
/// Source: "OCP Microscaling Formats (MX) Specification", version 1.0, section 5.3.3.
inline Vec fp4_values() {
    alignas(16) static const uint8_t VALUES[16] = {12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0};
    return table16(VALUES);
}

template <template <class> class Rows = FileRows> struct MXFP4 {
    using Weights = block_mxfp4;
    using Layout = Rows<Weights>;
    using Block = typename Layout::Block;
    using Activations = block_q8_0;
    static constexpr ggml_type TYPE = GGML_TYPE_MXFP4;
    static constexpr int OFFSET = 12, TOP = 24, PARTS = 1, SPLIT = 1;
    static constexpr bool MINIMA = false;
    Block block;
    Reals d;

    explicit OUTRIDER_INLINE MXFP4(const Block & block) : block(block) {
        // 2^(e - 128) as a product of two powers, since it may be too small for a normal number.
        const Vec e = block.scale_bytes(), half = dwords_right(e, 1);
        const auto power = [](Vec x) { return reals_of(dwords_left(add_dwords(x, all(63)), 23)); };
        d = times(power(half), power(sub_dwords(e, half)));
    }

    Reals scale(int) const { return d; }

    OUTRIDER_INLINE void load(int, Vec w[8]) const {
        nibbles(block, offsetof(Weights, qs), w);
        const Vec values = fp4_values();
        for (int j = 0; j < 8; j++) {
            w[j] = lookup(values, w[j]);
        }
    }
};

struct NVFP4 : RowBlocks {
    using Weights = block_nvfp4;
    using Activations = block_q8_0;
    static constexpr ggml_type TYPE = GGML_TYPE_NVFP4;
    static constexpr int OFFSET = 12, TOP = 24, PARTS = 2, SPLIT = 2;
    static constexpr bool MINIMA = false;
    Reals d[4];

    OUTRIDER_INLINE NVFP4(const char * block, size_t stride) : RowBlocks{block, stride} {
        // Four bits of exponent and three of mantissa, moved to where float32 has them: 2^120 too small. Twice the
        // weights is what the bytes hold. 127 stands for 0 here as in ggml.
        const Vec bytes = load4(block, stride);
        for (int s = 0; s < 4; s++) {
            const Vec bits = dwords_left(and_bits(dwords_right(bytes, 8 * s), all(127)), 20);
            const Reals number = times(reals_of(bits), real(0x1p119f));
            d[s] = where(above(reals_of(all(127 << 20)), reals_of(bits)), number, real(0.0f));
        }
    }

    Reals scale(int s) const { return d[s]; }

    OUTRIDER_INLINE void load(int p, Vec w[8]) const {
        Vec raw[4];
        load16(block + offsetof(Weights, qs) + 16 * p, stride, raw);
        const Vec values = fp4_values(), low = all_bytes(15);
        for (int j = 0; j < 2; j++) {
            for (int s = 0; s < 2; s++) {
                w[4 * s + j] = lookup(values, and_bits(raw[2 * s + j], low));
                w[4 * s + 2 + j] = lookup(values, and_bits(words_right(raw[2 * s + j], 4), low));
            }
        }
    }
};

/// A bit a weight: 1 or -1. The bytes hold eight times that.
struct Q1_0 {
    using Weights = block_q1_0;
    using Activations = block_q8_0;
    static constexpr ggml_type TYPE = GGML_TYPE_Q1_0;
    static constexpr int OFFSET = 8, TOP = 16, PARTS = 4, SPLIT = 1;
    static constexpr bool MINIMA = false;
    Reals d;
    Vec bits[PARTS];

    OUTRIDER_INLINE Q1_0(const char * block, size_t stride) : d(times(load_scales(block, stride), real(0.125f))) {
        load16(block + offsetof(Weights, qs), stride, bits);
    }

    Reals scale(int) const { return d; }

    OUTRIDER_INLINE void load(int p, Vec w[8]) const {
        for (int j = 0; j < 8; j++) {
            w[j] = spread_bits(bits[p], 4 * j);
        }
    }
};

/// Two bits a weight: -1..2. Four weights lie in a byte.
struct Q2_0 {
    using Weights = block_q2_0;
    using Activations = block_q8_0;
    static constexpr ggml_type TYPE = GGML_TYPE_Q2_0;
    static constexpr int OFFSET = 1, TOP = 3, PARTS = 2, SPLIT = 1;
    static constexpr bool MINIMA = false;
    Reals d;
    Vec bits[4];

    OUTRIDER_INLINE Q2_0(const char * block, size_t stride) : d(load_scales(block, stride)) {
        load16(block + offsetof(Weights, qs), stride, bits);
    }

    Reals scale(int) const { return d; }

    OUTRIDER_INLINE void load(int p, Vec w[8]) const {
        for (int j = 0; j < 8; j++) {
            const Vec byte = and_bits(dwords_right(bits[2 * p + j / 4], 8 * (j % 4)), all(255));
            const Vec pairs = and_bits(or_bits(byte, dwords_left(byte, 12)), all(0x000f000f));
            w[j] = and_bits(or_bits(pairs, dwords_left(pairs, 6)), all(0x03030303));
        }
    }
};

}  // namespace outrider
