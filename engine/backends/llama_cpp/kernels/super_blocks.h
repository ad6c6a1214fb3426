// Products of weights in blocks of 256 with small scales for each 16 or 32 of them, activations in Q8_K.
//
// As in eight_bit.h the weights become bytes w + OFFSET, the rows side by side, in groups of 32. Products
// with the activations and with the small scales are whole numbers. They are added up as such, in integers or in
// floating point that holds them (exact up to 2^24), and multiplied by the block's scales at its end. The order for a
// row and a column is always the same; so a result does not depend on how many columns there are.
//
// A format (k_quants.h) is made from a block of ROWS rows and has
//   OFFSET   what was added to the weights; TOP: see `dots` in lanes.h;
//   SCALES   how many small scales it leaves to the sums: 8 or 16, in `scales`; 0 where the bytes hold them already;
//   FACTORS  whether these are words in `factors` instead, for products that go through 16 bits (NARROW);
//   STARTS   at how many places a sum starts anew, each with its own -OFFSET * sum(y): SCALES, 1 or 0;
//   PAIRS    how many pairs of minima there are, in `minima`, to be subtracted times sum(y), or 0;
//   OFFSETS  whether the minima are the scales, for the OFFSET that no sum has started with;
//   AS_ONE   takes the place of MOST_AS_ONE (lanes.h); it may be left out;
//   weight<HALF>(pair, j)  the bytes w[j] of group 2 * pair + HALF, where those of packed rows are made with so few
//            instructions that they are made anew for each few columns; it may be left out;
//   d, dmin  the scales of the block and of its minima;
//   groups   calls `use(g, w)` for the groups g = 0..7, in a fixed order, with the bytes of 32 weights: w[j] has the
//            weights 32g + 4j .. 32g + 4j + 3 of each row.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>

#include "packed_rows.h"

namespace outrider {

/// n with 2^n = power.
constexpr int shift_of(int power) {
    return power <= 1 ? 0 : 1 + shift_of(power / 2);
}

/// Columns up to which a tile is one function.
template <class Format, class = void> constexpr int AS_ONE = MOST_AS_ONE;
template <class Format>
constexpr int AS_ONE<Format, std::enable_if_t<(Format::AS_ONE > 0)>> = Format::AS_ONE;

/// Whether a format's groups come one after the other, with bytes that are made anew for each few columns.
template <class Format, class = void> constexpr bool MAKES_ANEW = false;
template <class Format>
constexpr bool MAKES_ANEW<Format, std::void_t<decltype(&Format::template weight<0>)>> = true;

/// Whether a format's rows are packed. Only those are worth multiplying twice as many at once: others are turned first.
template <class Format, class = void> constexpr bool PACKED = false;
template <class Format>
constexpr bool PACKED<Format, std::enable_if_t<Format::Block::PACKED>> = true;

template <class Format> struct SuperBlocks {
    using Weights = typename Format::Weights;
    using Activations = block_q8_K;
    static constexpr ggml_type TYPE = Format::TYPE;
    static constexpr bool DIRECT = false;

    /// What belongs to a block of a column: where sums start, and its sums in the order of the minima.
    struct Column {
        std::array<int32_t, Format::STARTS> starts;
        std::array<std::array<int16_t, 2>, Format::PAIRS> pairs;
    };

#ifndef __ARM_NEON
    /// As ggml's function for it, the same numbers: that one is compiled for any processor, and takes ten times as long.
    /// For ARM compilers fuse its product with what rounds it, so that a number half-way may come out as another one;
    /// there it is ggml's own.
    static void quantise(const float * x, Activations * out, int64_t count) {
        for (; count > 0; count -= QK_K, x += QK_K, out++) {
            Reals most = real(0.0f);
            for (int j = 0; j < QK_K; j += ROWS) {
                most = larger(size_of(load_any(x + j)), most);
            }
            const float largest = largest_of(most);
            std::memset(out, 0, sizeof(*out));
            if (!(largest > 0.0f)) {
                continue;
            }
            int first = 0;  // Of those ROWS numbers that the largest one is among.
            while (!any(not_below(size_of(load_any(x + first)), real(largest)))) {
                first += ROWS;
            }
            const float * const found = std::find_if(x + first, x + QK_K, [&](float v) { return std::fabs(v) == largest; });
            const float scale = -127.0f / *found;
            alignas(64) float whole[QK_K];
            for (int j = 0; j < QK_K; j += ROWS) {
                store(whole + j, nearest(times(real(scale), load_any(x + j))));
            }
            for (int j = 0; j < QK_K; j++) {
                out->qs[j] = static_cast<int8_t>(static_cast<int32_t>(whole[j]));
            }
            for (int s = 0; s < QK_K / 16; s++) {
                int sum = 0;
                for (int j = 16 * s; j < 16 * (s + 1); j++) {
                    sum += out->qs[j];
                }
                out->bsums[s] = static_cast<int16_t>(sum);
            }
            out->d = 1.0f / scale;
        }
    }
#endif

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
        if constexpr (N > AS_ONE<Format>) {
            tile_of_many(weights, stride, blocks, y, columns, out, next, N);
        } else {
            Reals totals[N];
            for (int c = 0; c < N; c++) {
                totals[c] = real(0.0f);
            }
            const BlocksOf<Format> lying(weights, stride, blocks);
            for (int64_t i = 0; i < blocks; i++) {
                const Format rows = lying[i];
                const char * later = next == nullptr ? nullptr : next + i * ROWS * sizeof(Weights);
                if constexpr (sizeof(Vec) == 64 && N > SUPER_BLOCKS_BESIDE) {
                    block_apart<N>(totals, rows, i, y, columns, later);
                } else {
                    block<N>(totals, rows, i, y, columns, later);
                }
            }
            for (int c = 0; c < N; c++) {
                store_any(out[c], totals[c]);
            }
        }
    }

    /// The groups of a block in the order in which a format gives them: sums in floating point must keep it.
    struct Unpacked {
        Vec w[8][8];
        int numbers[8];

        OUTRIDER_INLINE void set(const Format & rows, const char * later) {
            int held = 0;
            rows.groups([&](int g, const Vec(&bytes)[8]) OUTRIDER_INLINE_LAMBDA {
                fetch_part(later, g);
                numbers[held] = g;
                for (int j = 0; j < 8; j++) {
                    w[held][j] = bytes[j];
                }
                held++;
            });
        }

        template <int HALF> OUTRIDER_INLINE Vec weight(int pair, int j) const { return w[2 * pair + HALF][j]; }
    };

    /// The same for many columns: each block is unpacked once, then multiplied with a few of them after the others, by
    /// functions that all numbers of columns share.
    static OUTRIDER_APART void tile_of_many(const char * weights, size_t stride, int64_t blocks,
                                            const Activations * const * y, const Column * const * columns,
                                            float * const * out, const char * next, int count) {
        static constexpr auto ADD = block_functions(std::make_integer_sequence<int, SUPER_BLOCKS_BESIDE>{});
        const Groups<SUPER_BLOCKS_BESIDE> parts(count);
        Reals totals[MOST_COLUMNS];
        for (int c = 0; c < count; c++) {
            totals[c] = real(0.0f);
        }
        const BlocksOf<Format> lying(weights, stride, blocks);
        for (int64_t i = 0; i < blocks; i++) {
            const Format rows = lying[i];
            const char * later = next == nullptr ? nullptr : next + i * ROWS * sizeof(Weights);
            Unpacked unpacked;
            unpacked.set(rows, later);
            parts.each(0, [&](int first, int size) OUTRIDER_INLINE_LAMBDA {
                ADD[size - 1](totals + first, rows, unpacked, i, y + first, columns + first);
            });
        }
        for (int c = 0; c < count; c++) {
            store_any(out[c], totals[c]);
        }
    }

    using AddBlock = void (*)(Reals *, const Format &, const Unpacked &, int64_t, const Activations * const *,
                              const Column * const *);

    template <int... N>
    static constexpr std::array<AddBlock, sizeof...(N)> block_functions(std::integer_sequence<int, N...>) {
        return {&unpacked_block<N + 1>...};
    }

    template <int N>
    static OUTRIDER_APART void unpacked_block(Reals * totals, const Format & rows, const Unpacked & unpacked, int64_t i,
                                              const Activations * const * y, const Column * const * columns) {
        Vec sums[N];
        each_of<N>([&](auto c) OUTRIDER_INLINE_LAMBDA { start(sums[c], i, columns[c]); });
#pragma GCC unroll 1
        for (int k = 0; k < 8; k++) {
            add_group<0, N>(sums, rows, unpacked.numbers[k], unpacked.w[k], i, y, columns);
        }
        each_of<N>([&](auto c) OUTRIDER_INLINE_LAMBDA { finish(totals[c], sums[c], rows, i, y[c], columns[c]); });
    }

    /// Columns from which on twice ROWS rows are multiplied at once; see tiles.h.
    static constexpr int TALL_FROM = PACKED<Format> && SUPER_BLOCKS_TALL != 0 ? 3 : 0;

    /// As `tile` for twice as many rows: each number of a column is loaded once for both halves of them.
    template <int N>
    static void tall_tile(const char * weights, size_t stride, int64_t blocks, const Activations * const * y,
                          const Column * const * columns, float * const * out, const char * next) {
        tall_tile_of_many(weights, stride, blocks, y, columns, out, next, N);
    }

    static OUTRIDER_APART void tall_tile_of_many(const char * weights, size_t stride, int64_t blocks,
                                                 const Activations * const * y, const Column * const * columns,
                                                 float * const * out, const char * next, int count) {
        constexpr size_t STEP = ROWS * sizeof(Weights);
        static constexpr auto ADD = tall_functions(std::make_integer_sequence<int, SUPER_BLOCKS_TALL_AS_ONE>{});
        const Groups<SUPER_BLOCKS_TALL> parts(count, SUPER_BLOCKS_TALL_AS_ONE);
        Reals totals[2][MOST_COLUMNS];
        for (int c = 0; c < count; c++) {
            totals[0][c] = totals[1][c] = real(0.0f);
        }
        const BlocksOf<Format> low(weights, stride, blocks), high(weights + ROWS * stride, stride, blocks);
        for (int64_t i = 0; i < blocks; i++) {
            const Format rows[2] = {low[i], high[i]};
            const char * later = next == nullptr ? nullptr : next + 2 * i * STEP;
            const auto add = [&](const auto * sources) OUTRIDER_INLINE_LAMBDA {
                parts.each(0, [&](int first, int size) OUTRIDER_INLINE_LAMBDA {
                    ADD[size - 1](totals[0] + first, totals[1] + first, rows, sources, i, y + first, columns + first, later);
                    later = nullptr;
                });
            };
            if constexpr (MAKES_ANEW<Format>) {
                add(stored(rows));
            } else {
                Unpacked unpacked[2];
                for (int r = 0; r < 2; r++) {
                    unpacked[r].set(rows[r], later == nullptr ? nullptr : later + r * STEP);
                }
                add(stored(unpacked));
            }
        }
        for (int c = 0; c < count; c++) {
            store_any(out[c], totals[0][c]);
            store_any(out[c] + ROWS, totals[1][c]);
        }
    }

    /// Where a tall tile takes the bytes of its weights from.
    using Source = std::conditional_t<MAKES_ANEW<Format>, Format, Unpacked>;
    using AddTall = void (*)(Reals *, Reals *, const Format *, const Source *, int64_t, const Activations * const *,
                             const Column * const *, const char *);

    template <int... N>
    static constexpr std::array<AddTall, sizeof...(N)> tall_functions(std::integer_sequence<int, N...>) {
        return {&tall_block<N + 1>...};
    }

    /// `later`: what is to be fetched meanwhile, where the groups are not unpacked before.
    template <int N>
    static OUTRIDER_APART void tall_block(Reals * low, Reals * high, const Format * rows, const Source * sources,
                                          int64_t i, const Activations * const * y, const Column * const * columns,
                                          const char * later) {
        Vec sums[2][N];
        const int8_t * numbers[N];
        each_of<N>([&](auto c) OUTRIDER_INLINE_LAMBDA {
            start(sums[0][c], i, columns[c]);
            start(sums[1][c], i, columns[c]);
            numbers[c] = y[c][i].qs;
        });
#pragma GCC unroll 1
        for (int pair = 0; pair < 4; pair++) {
            if (MAKES_ANEW<Format>) {
                for (int part = 0; part < 4; part++) {
                    fetch_part(later, 4 * pair + part);
                }
            }
            each_of<2>([&](auto half) OUTRIDER_INLINE_LAMBDA {
                add_tall<half>(sums, rows, sources, pair, i, numbers, columns);
            });
        }
        each_of<N>([&](auto c) OUTRIDER_INLINE_LAMBDA {
            finish(low[c], sums[0][c], rows[0], i, y[c], columns[c]);
            finish(high[c], sums[1][c], rows[1], i, y[c], columns[c]);
        });
    }

    /// The bytes of a group's weights from `first` on.
    template <int HALF> struct Bytes {
        const Source & source;
        int pair, first;

        OUTRIDER_INLINE Vec operator[](int j) const { return source.template weight<HALF>(pair, first + j); }
    };

    /// As `add_group` for twice ROWS rows and all columns.
    template <int HALF, int N>
    static OUTRIDER_INLINE void add_tall(Vec (&sums)[2][N], const Format * rows, const Source * sources, int pair,
                                         int64_t i, const int8_t * const (&numbers)[N], const Column * const * columns) {
        constexpr int PARTS = Format::SCALES == 16 ? 2 : 1, SIZE = 8 / PARTS;
        const int k = 2 * pair + HALF;
        int g = k;
        if constexpr (!MAKES_ANEW<Format>) {
            g = sources->numbers[k];
        }
        each_of<PARTS>([&](auto part) OUTRIDER_INLINE_LAMBDA {
            const int number = PARTS * g + part;
            Vec sum[2][N];
            const int8_t * here[N];
            each_of<N>([&](auto c) OUTRIDER_INLINE_LAMBDA {
                here[c] = numbers[c] + 32 * g + 4 * SIZE * part;
                sum[0][c] = zero();
                if constexpr (Format::STARTS == Format::SCALES && Format::STARTS != 0) {
                    sum[0][c] = all(columns[c][i].starts[number]);
                }
                sum[1][c] = sum[0][c];
            });
            const Bytes<HALF> low{sources[0], pair, SIZE * part}, high{sources[1], pair, SIZE * part};
            tall_dots<Format::TOP, SIZE>(sum, low, high, here, [](auto) {});
            each_of<N>([&](auto c) OUTRIDER_INLINE_LAMBDA {
                put(sums[0][c], rows[0], number, sum[0][c]);
                put(sums[1][c], rows[1], number, sum[1][c]);
            });
        });
    }

    /// Adds block i's products with N columns to their totals.
    template <int N>
    static OUTRIDER_INLINE void block(Reals * totals, const Format & rows, int64_t i, const Activations * const * y,
                      const Column * const * columns, const char * later) {
        Vec sums[N];
        each_of<N>([&](auto c) OUTRIDER_INLINE_LAMBDA { start(sums[c], i, columns[c]); });
        rows.groups([&](int g, const Vec(&w)[8]) OUTRIDER_INLINE_LAMBDA {
            fetch_part(later, g);
            in_groups<N, SUPER_BLOCKS_BESIDE>([&](auto first, auto count) OUTRIDER_INLINE_LAMBDA {
                add_group<first, count>(sums, rows, g, w, i, y, columns);
            });
        });
#pragma GCC unroll 16
        for (int c = 0; c < N; c++) {
            finish(totals[c], sums[c], rows, i, y[c], columns[c]);
        }
    }

    /// The same, not as a part of its caller: for many columns there are too few registers for both (measured).
    template <int N>
    static OUTRIDER_APART void block_apart(Reals * totals, const Format & rows, int64_t i,
                                           const Activations * const * y, const Column * const * columns,
                                           const char * later) {
        block<N>(totals, rows, i, y, columns, later);
    }

    /// Fetches a part of the weights that come then: more at once would hold up what is needed now.
    static OUTRIDER_INLINE void fetch_part(const char * later, int g) {
        constexpr size_t PART = ROWS * sizeof(Weights) / 8;
        if (later != nullptr) {
            fetch<PART>(later + g * PART);
        }
    }

    /// The sum of a column's block, in integers, or where there are scales the bits of floating point numbers.
    static OUTRIDER_INLINE void start(Vec & sum, int64_t i, const Column * column) {
        sum = zero();
        if constexpr (Format::STARTS == 1) {
            sum = all(column[i].starts[0]);
        }
    }

    /// Adds group g's products with a few columns side by side: one after the other they would wait for their sums, and
    /// for all of them there are too few registers.
    template <int FIRST, int COUNT, int N>
    static OUTRIDER_INLINE void add_group(Vec (&sums)[N], const Format & rows, int g, const Vec (&w)[8], int64_t i,
                                          const Activations * const * y, const Column * const * columns) {
        constexpr int PARTS = Format::SCALES == 16 ? 2 : 1, SIZE = 8 / PARTS;
#pragma GCC unroll 2
        for (int part = 0; part < PARTS; part++) {
            const int number = PARTS * g + part;
            Vec sum[COUNT];
            const int8_t * numbers[COUNT];
#pragma GCC unroll 8
            for (int c = 0; c < COUNT; c++) {
                numbers[c] = y[FIRST + c][i].qs + 32 * g + 4 * SIZE * part;
                sum[c] = Format::FACTORS ? sums[FIRST + c] : zero();
                if constexpr (Format::STARTS == Format::SCALES && Format::STARTS != 0) {
                    sum[c] = all(columns[FIRST + c][i].starts[number]);
                }
            }
            if constexpr (Format::FACTORS) {
                dots<Format::TOP, SIZE>(sum, w + SIZE * part, numbers, [](int) {}, rows.factors[number]);
            } else if constexpr (FULL_BYTES) {
#pragma GCC unroll 8
                for (int j = SIZE * part; j < SIZE * (part + 1); j++) {
#pragma GCC unroll 8
                    for (int c = 0; c < COUNT; c++) {
                        sum[c] = add_byte_products(sum[c], w[j], all(dword(y[FIRST + c][i].qs + 32 * g + 4 * j)));
                    }
                }
            } else {
                dots<Format::TOP, SIZE>(sum, w + SIZE * part, numbers, [](int) {});
            }
#pragma GCC unroll 8
            for (int c = 0; c < COUNT; c++) {
                if constexpr (Format::FACTORS) {
                    sums[FIRST + c] = sum[c];
                } else {
                    put(sums[FIRST + c], rows, number, sum[c]);
                }
            }
        }
    }

    /// Adds a part's products to their sum.
    static OUTRIDER_INLINE void put(Vec & sum, const Format & rows, int part, Vec products) {
        if constexpr (Format::SCALES == 0) {
            sum = add_dwords(sum, products);
        } else {
            sum = bits_of(fused(rows.scales[part], to_reals(products), reals_of(sum)));
        }
    }

    /// Adds the sum of a column's block i, times the block's scales.
    static OUTRIDER_INLINE void finish(Reals & total, const Vec & products, const Format & rows, int64_t i,
                                       const Activations * y, const Column * column) {
        constexpr bool WHOLE = Format::SCALES == 0 || Format::FACTORS;
        Reals sum = WHOLE ? to_reals(products) : reals_of(products);
        if constexpr (Format::PAIRS == 0) {
            sum = times(rows.d, sum);
        } else {
            Vec minima = zero();
#pragma GCC unroll 8
            for (int p = 0; p < Format::PAIRS; p++) {
                minima = add_pairs(minima, rows.minima[p], all(dword(&column[i].pairs[p])));
            }
            if constexpr (Format::OFFSETS) {
                minima = dwords_left(minima, shift_of(Format::OFFSET));
                sum = times(rows.d, to_reals(sub_dwords(products, minima)));
            } else {
                sum = fused_minus(rows.dmin, to_reals(minima), times(rows.d, sum));
            }
        }
        total = fused(real(y[i].d), sum, total);
    }
};

}  // namespace outrider
