// Weights in blocks of 32 with one float16 scale (Q8_0, Q4_0, Q5_0, IQ4_NL), activations in Q8_0.
//
// Each format gives its weights as bytes w + OFFSET, the rows side by side; TOP: see `dots` in lanes.h. A block's sum of
// products is an exact integer: sum((w + OFFSET) * y) - OFFSET * sum(y). The sums of the blocks are added up in floating
// point in their order, for each row and column alone; so a result does not depend on how many columns there are.
#pragma once

#include "lanes.h"

namespace outrider {

/// What a column's block adds beside its numbers: the scale, and -OFFSET * sum(y).
struct Block8 {
    float scale;
    int32_t correction;

    void keep(const int8_t *) {}
};

/// The same with its numbers as `word_dots` takes them.
struct Block8Words : Block8 {
    int16_t words[QK8_0];

    void keep(const int8_t * numbers) {
        for (int j = 0; j < QK8_0; j += 4) {
            for (const int k : {0, 1, 2, 3}) {
                words[j + k % 2 * 2 + k / 2] = numbers[j + k];
            }
        }
    }
};

struct Q8_0 {
    using Weights = block_q8_0;
    static constexpr ggml_type TYPE = GGML_TYPE_Q8_0;
    static constexpr int OFFSET = BYTE_OFFSET, TOP = BYTE_TOP;

    static void load(const char * block, size_t stride, Vec w[8]) {
        load32(block + offsetof(Weights, qs), stride, w);
        for (int j = 0; OFFSET != 0 && j < 8; j++) {
            w[j] = xor_bits(w[j], all_bytes(-128));
        }
    }

    /// A half of `w`, as it is without OFFSET.
    template <int HALF> static OUTRIDER_INLINE void load_half(const char * block, size_t stride, Vec w[8]) {
        load16(block + offsetof(Weights, qs) + 16 * HALF, stride, w + 4 * HALF);
    }
};

inline void nibbles(const char * at, size_t stride, Vec w[8]) {
    load16(at, stride, w);
    const Vec low = all_bytes(15);
    for (int j = 0; j < 4; j++) {
        w[4 + j] = and_bits(words_right(w[j], 4), low);
        w[j] = and_bits(w[j], low);
    }
}

struct Q4_0 {
    using Weights = block_q4_0;
    static constexpr ggml_type TYPE = GGML_TYPE_Q4_0;
    static constexpr int OFFSET = 8, TOP = 15;

    static void load(const char * block, size_t stride, Vec w[8]) {
        nibbles(block + offsetof(Weights, qs), stride, w);
    }
};

struct Q5_0 {
    using Weights = block_q5_0;
    static constexpr ggml_type TYPE = GGML_TYPE_Q5_0;
    static constexpr int OFFSET = 16, TOP = 31;

    static void load(const char * block, size_t stride, Vec w[8]) {
        nibbles(block + offsetof(Weights, qs), stride, w);
        const Vec high = load4(block + offsetof(Weights, qh), stride);
        for (int j = 0; j < 8; j++) {
            w[j] = or_bits(w[j], spread_bits(high, 4 * j));
        }
    }
};

/// The values that four bits stand for in IQ4_NL and IQ4_XS, as bytes.
inline Vec iq4_values() {
    const Vec values = table16(kvalues_iq4nl);
    return BYTE_OFFSET != 0 ? xor_bits(values, all_bytes(-128)) : values;
}

struct IQ4_NL {
    using Weights = block_iq4_nl;
    static constexpr ggml_type TYPE = GGML_TYPE_IQ4_NL;
    static constexpr int OFFSET = BYTE_OFFSET, TOP = BYTE_TOP;

    static void load(const char * block, size_t stride, Vec w[8]) {
        nibbles(block + offsetof(Weights, qs), stride, w);
        const Vec values = iq4_values();
        for (int j = 0; j < 8; j++) {
            w[j] = lookup(values, w[j]);
        }
    }

    template <int HALF> static OUTRIDER_INLINE void load_half(const char * block, size_t stride, Vec w[8]) {
        Vec raw[4];
        load16(block + offsetof(Weights, qs), stride, raw);
        const Vec values = iq4_values();
        for (int j = 0; j < 4; j++) {
            w[4 * HALF + j] = lookup(values, and_bits(words_right(raw[j], 4 * HALF), all_bytes(15)));
        }
    }
};

template <class Format> struct EightBit {
    using Weights = typename Format::Weights;
    using Activations = block_q8_0;
    static constexpr ggml_type TYPE = Format::TYPE;
    static constexpr bool DIRECT = false;
    static constexpr bool WORDS = NARROW && Format::TOP == SIGNED;
    using Column = std::conditional_t<WORDS, Block8Words, Block8>;
    /// Sums in integers are so many times too large.
    static constexpr float SCALED = WORDS ? 1.0f / WORD_DOTS : 1.0f;
    /// From so many columns on twice ROWS rows are multiplied together, where there are as many; 0: never.
    static constexpr int TALL_FROM = WORDS && TALL_BESIDE != 0 ? 3 : 0;

    static void prepare(const Activations * y, int64_t blocks, Column * out) {
        for (int64_t i = 0; i < blocks; i++) {
            int sum = 0;
            for (int j = 0; j < QK8_0; j++) {
                sum += y[i].qs[j];
            }
            out[i].scale = GGML_CPU_FP16_TO_FP32(y[i].d) * SCALED;
            out[i].correction = -Format::OFFSET * sum;
            out[i].keep(y[i].qs);
        }
    }

    /// A block of ROWS rows, unpacked.
    struct Opened {
        Vec w[8];
        Reals scales;

        Opened() = default;
        OUTRIDER_INLINE Opened(const char * block, size_t stride) {
            Format::load(block, stride, w);
            scales = load_scales(block + offsetof(Weights, d), stride);
        }

        /// One of eight parts of the same work.
        template <int PART> OUTRIDER_INLINE void open_part(const char * block, size_t stride) {
            if constexpr (PART == 1 || PART == 5) {
                Format::template load_half<PART / 4>(block, stride, w);
            } else if constexpr (PART == 3) {
                scales = load_scales(block + offsetof(Weights, d), stride);
            }
        }
    };

    /// ROWS rows at `weights` times N columns; the sums of column c go to out[c][0..ROWS). At `next` are the weights that
    /// come then: rows follow each other in memory, so all of them are fetched in their order, which memory likes best.
    template <int N>
    static void tile(const char * weights, size_t stride, int64_t blocks, const Activations * const * y,
                     const Column * const * columns, float * const * out, const char * next) {
        Reals sums[N];
        clear(sums);
        constexpr size_t STEP = ROWS * sizeof(Weights);
        // Fetching all at once holds up what is needed now; between the products of Q8_0 it slows them (measured).
        constexpr bool SPREAD = N <= 3 || sizeof(Weights) < 32;
        for (int64_t i = 0; i < blocks; i++) {
            const char * later = next == nullptr ? nullptr : next + i * STEP;
            if (!SPREAD && later != nullptr) {
                fetch<STEP>(later);
            }
            const Opened rows(weights + i * sizeof(Weights), stride);
            add(sums, rows, i, y, columns, [&](int j) OUTRIDER_INLINE_LAMBDA {
                if (SPREAD && later != nullptr) {
                    fetch<STEP / 8>(later + j * (STEP / 8));
                }
            });
        }
        finish(sums, out);
    }

    /// The same for rows that were unpacked before.
    template <int N>
    static void opened_tile(const Opened * rows, int64_t blocks, const Activations * const * y,
                            const Column * const * columns, float * const * out) {
        Reals sums[N];
        clear(sums);
        for (int64_t i = 0; i < blocks; i++) {
            add(sums, rows[i], i, y, columns, [](int) {});
        }
        finish(sums, out);
    }

    /// As `tile` for twice as many rows. While a block is multiplied the next one is unpacked, piece by piece between the
    /// products: the processor does not look ahead far enough to do that by itself.
    template <int N>
    static void tall_tile(const char * weights, size_t stride, int64_t blocks, const Activations * const *,
                          const Column * const * columns, float * const * out, const char * next) {
        constexpr size_t STEP = 2 * ROWS * sizeof(Weights);
        static_assert(STEP <= 16 * 64, "a cache line is fetched with each of a block's words");
        Reals low[N], high[N];
        clear(low);
        clear(high);
        const char * ahead = next == nullptr ? weights : next;
        const size_t ahead_step = next == nullptr ? 0 : STEP;
        Opened rows[2][2];
        for (int r = 0; r < 2; r++) {
            rows[0][r] = Opened(weights + r * ROWS * stride, stride);
        }
        for (int64_t i = 0; i < blocks; i++) {
            const Opened * now = stored(rows[i % 2]);
            Opened * then = stored(rows[1 - i % 2]);
            const char * coming = weights + std::min(i + 1, blocks - 1) * sizeof(Weights);
            add_tall(low, high, now[0], now[1], i, columns, [&](auto j) OUTRIDER_INLINE_LAMBDA {
                if (j * 64 < STEP) {
                    fetch_second(ahead + j * 64);
                }
                then[j / 8].template open_part<j % 8>(coming + j / 8 * ROWS * stride, stride);
            });
            ahead += ahead_step;
        }
        finish_tall(low, high, out);
    }

    /// The same for rows that were unpacked before.
    template <int N>
    static void opened_tall_tile(const Opened * rows, int64_t blocks, const Column * const * columns,
                                 float * const * out) {
        Reals low[N], high[N];
        clear(low);
        clear(high);
        for (int64_t i = 0; i < blocks; i++) {
            const Opened * now = stored(rows + i);
            add_tall(low, high, now[0], now[blocks], i, columns, [](auto) {});
        }
        finish_tall(low, high, out);
    }

    /// As `add` for two times ROWS rows; `each`: see `tall_word_dots`, called for the first columns.
    template <int N, class Each>
    static OUTRIDER_INLINE void add_tall(Reals (&low)[N], Reals (&high)[N], const Opened & a, const Opened & b,
                                         int64_t i, const Column * const * columns, Each && each) {
        in_groups<N, TALL_BESIDE>([&](auto first, auto count) OUTRIDER_INLINE_LAMBDA {
            Vec sums[2][count];
            const int16_t * numbers[count];
            each_of<count>([&](auto c) OUTRIDER_INLINE_LAMBDA { numbers[c] = columns[first + c][i].words; });
            const Vec * w[] = {first == 0 ? a.w : anew(a.w), first == 0 ? b.w : anew(b.w)};
            tall_word_dots<8>(sums, w[0], w[1], numbers, [&](auto j) OUTRIDER_INLINE_LAMBDA {
                if constexpr (first == 0) {
                    each(j);
                }
            });
            each_of<count>([&](auto c) OUTRIDER_INLINE_LAMBDA {
                const Reals scale = real(columns[first + c][i].scale);
                low[first + c] = fused(times(a.scales, scale), to_reals(sums[0][c]), low[first + c]);
                high[first + c] = fused(times(b.scales, scale), to_reals(sums[1][c]), high[first + c]);
            });
        });
    }

    template <int N>
    static OUTRIDER_INLINE void finish_tall(const Reals (&low)[N], const Reals (&high)[N], float * const * out) {
        for (int c = 0; c < N; c++) {
            store_any(out[c], low[c]);
            store_any(out[c] + ROWS, high[c]);
        }
    }

    template <int N> static OUTRIDER_INLINE void clear(Reals (&sums)[N]) {
#pragma GCC unroll 16
        for (int c = 0; c < N; c++) {
            sums[c] = real(0.0f);
        }
    }

    template <int N> static OUTRIDER_INLINE void finish(const Reals (&sums)[N], float * const * out) {
#pragma GCC unroll 16
        for (int c = 0; c < N; c++) {
            store_any(out[c], sums[c]);
        }
    }

    /// Adds the products of a block of the rows with block i of N columns; `each`: see `dots`, called for the first ones.
    template <int N, class Each>
    static OUTRIDER_INLINE void add(Reals (&sums)[N], const Opened & rows, int64_t i, const Activations * const * y,
                                    const Column * const * columns, Each && each) {
        in_groups<N, EIGHT_BIT_BESIDE>([&](auto first, auto count) OUTRIDER_INLINE_LAMBDA {
            constexpr int COUNT = count;
            Vec sum[COUNT];
            const auto meanwhile = [&](int j) OUTRIDER_INLINE_LAMBDA {
                if (first == 0) {
                    each(j);
                }
            };
            if constexpr (WORDS) {
                const int16_t * numbers[COUNT];
                each_column<COUNT>([&](auto c) OUTRIDER_INLINE_LAMBDA {
                    sum[c] = zero();
                    numbers[c] = columns[first + c][i].words;
                });
                word_dots<8>(sum, rows.w, numbers, meanwhile);
            } else {
                const int8_t * numbers[COUNT];
                each_column<COUNT>([&](auto c) OUTRIDER_INLINE_LAMBDA {
                    sum[c] = all(columns[first + c][i].correction);
                    numbers[c] = y[first + c][i].qs;
                });
                dots<Format::TOP, 8>(sum, rows.w, numbers, meanwhile);
            }
            each_column<COUNT>([&](auto c) OUTRIDER_INLINE_LAMBDA {
                const Reals scale = times(rows.scales, real(columns[first + c][i].scale));
                sums[first + c] = fused(scale, to_reals(sum[c]), sums[first + c]);
            });
        });
    }
};

}  // namespace outrider
