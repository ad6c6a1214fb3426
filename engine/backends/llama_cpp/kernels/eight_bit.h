// Weights in blocks of 32 with one float16 scale (Q8_0, Q4_0, Q5_0, IQ4_NL), activations in Q8_0.
//
// Each format gives its weights as bytes w + OFFSET, the rows side by side; TOP: see `dots` in lanes.h. A block's sum of
// products is an exact integer: sum((w + OFFSET) * y) - OFFSET * sum(y). The sums of the blocks are added up in floating
// point in their order, for each row and column alone; so a result does not depend on how many columns there are.
//
// Rows lie as in their file (FileRows), or side by side in memory of ours (PackedRows): the same numbers, found faster.
#pragma once

#include <array>

#include "lanes.h"
#include "packed_rows.h"

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

/// The same with its numbers beside them, where tall tiles are multiplied.
struct Block8Bytes : Block8 {
    int8_t bytes[QK8_0];

    void keep(const int8_t * numbers) { std::memcpy(bytes, numbers, sizeof(bytes)); }
};

struct Q8_0 {
    using Weights = block_q8_0;
    static constexpr ggml_type TYPE = GGML_TYPE_Q8_0;
    static constexpr int OFFSET = BYTE_OFFSET, TOP = BYTE_TOP;

    /// Packed, the bytes are w + OFFSET already.
    static constexpr int32_t PACKED_FLIP = OFFSET != 0 ? static_cast<int32_t>(0x80808080) : 0;

    template <class Block> static OUTRIDER_INLINE void load(const Block & block, Vec w[8]) {
        block.load32(offsetof(Weights, qs), w);
        for (int j = 0; OFFSET != 0 && !Block::PACKED && j < 8; j++) {
            w[j] = xor_bits(w[j], all_bytes(-128));
        }
    }

    /// A half of `w`.
    template <int HALF, class Block> static OUTRIDER_INLINE void load_half(const Block & block, Vec w[8]) {
        block.load16(offsetof(Weights, qs) + 16 * HALF, w + 4 * HALF);
        for (int j = 4 * HALF; OFFSET != 0 && !Block::PACKED && j < 4 * HALF + 4; j++) {
            w[j] = xor_bits(w[j], all_bytes(-128));
        }
    }
};

/// The halves of `w` of a format that has them at once.
template <class Format> struct AtOnce {
    template <int HALF, class Block> static OUTRIDER_INLINE void load_half(const Block & block, Vec w[8]) {
        if constexpr (HALF == 0) {
            Format::load(block, w);
        }
    }
};

template <class Block> OUTRIDER_INLINE void nibbles(const Block & block, size_t at, Vec w[8]) {
    block.load16(at, w);
    const Vec low = all_bytes(15);
    for (int j = 0; j < 4; j++) {
        w[4 + j] = and_bits(words_right(w[j], 4), low);
        w[j] = and_bits(w[j], low);
    }
}

struct Q4_0 : AtOnce<Q4_0> {
    using Weights = block_q4_0;
    static constexpr ggml_type TYPE = GGML_TYPE_Q4_0;
    static constexpr int OFFSET = 8, TOP = 15;
    static constexpr int32_t PACKED_FLIP = 0;

    template <class Block> static OUTRIDER_INLINE void load(const Block & block, Vec w[8]) {
        nibbles(block, offsetof(Weights, qs), w);
    }
};

struct Q5_0 : AtOnce<Q5_0> {
    using Weights = block_q5_0;
    static constexpr ggml_type TYPE = GGML_TYPE_Q5_0;
    static constexpr int OFFSET = 16, TOP = 31;
    static constexpr int32_t PACKED_FLIP = 0;

    template <class Block> static OUTRIDER_INLINE void load(const Block & block, Vec w[8]) {
        nibbles(block, offsetof(Weights, qs), w);
        const Vec high = block.load4(offsetof(Weights, qh));
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
    static constexpr int32_t PACKED_FLIP = 0;

    template <class Block> static OUTRIDER_INLINE void load(const Block & block, Vec w[8]) {
        nibbles(block, offsetof(Weights, qs), w);
        const Vec values = iq4_values();
        for (int j = 0; j < 8; j++) {
            w[j] = lookup(values, w[j]);
        }
    }

    template <int HALF, class Block> static OUTRIDER_INLINE void load_half(const Block & block, Vec w[8]) {
        Vec raw[4];
        block.load16(offsetof(Weights, qs), raw);
        const Vec values = iq4_values();
        for (int j = 0; j < 4; j++) {
            w[4 * HALF + j] = lookup(values, and_bits(words_right(raw[j], 4 * HALF), all_bytes(15)));
        }
    }
};

/// `Rows`: how the rows lie, FileRows or PackedRows.
template <class Format, template <class> class Rows = FileRows> struct EightBit {
    using Weights = typename Format::Weights;
    using Layout = Rows<Weights>;
    static constexpr int32_t PACKED_FLIP = Format::PACKED_FLIP;
    using Activations = block_q8_0;
    static constexpr ggml_type TYPE = Format::TYPE;
    static constexpr bool DIRECT = false;
    static constexpr bool WORDS = NARROW && Format::TOP == SIGNED;
    static constexpr bool TALL = TALL_BESIDE != 0;
    using Column = std::conditional_t<WORDS, Block8Words, std::conditional_t<TALL, Block8Bytes, Block8>>;
    /// Sums in integers are so many times too large.
    static constexpr float SCALED = WORDS ? 1.0f / WORD_DOTS : 1.0f;
    /// From so many columns on twice ROWS rows are multiplied together, where there are as many; 0: never.
    static constexpr int TALL_FROM = TALL ? 3 : 0;
    /// Columns up to which a tile is one function. In blocks as small as these the others cost more (measured); but where
    /// tall tiles are multiplied, few rows remain for them.
    static constexpr int AS_ONE = TALL_FROM != 0 ? TALL_FROM - 1 : MOST_COLUMNS;
    /// The same for tall tiles: Q8_0 is worth its time to compile.
    static constexpr int TALL_AS_ONE = std::is_same_v<Format, Q8_0> ? MOST_COLUMNS : MOST_AS_ONE;

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
        OUTRIDER_INLINE Opened(const Rows<Weights> & rows, int64_t i) {
            const auto block = rows.block(i);
            Format::load(block, w);
            scales = block.scales();
        }

        /// One of eight parts of the same work.
        template <int PART> OUTRIDER_INLINE void open_part(const typename Layout::Block & block) {
            if constexpr (PART == 1 || PART == 5) {
                Format::template load_half<PART / 4>(block, w);
            } else if constexpr (PART == 3) {
                scales = block.scales();
            }
        }
    };

    /// ROWS rows at `weights` times N columns; the sums of column c go to out[c][0..ROWS). At `next` are the weights that
    /// come then: rows follow each other in memory, so all of them are fetched in their order, which memory likes best.
    template <int N>
    static void tile(const char * weights, size_t stride, int64_t blocks, const Activations * const * y,
                     const Column * const * columns, float * const * out, const char * next) {
        constexpr size_t STEP = ROWS * sizeof(Weights);
        const Rows<Weights> lying(weights, stride, blocks);
        if constexpr (N > AS_ONE) {
            Opened rows;
            tile_of_many([&](int64_t i) OUTRIDER_INLINE_LAMBDA {
                if (next != nullptr) {
                    fetch<STEP>(next + i * STEP);
                }
                rows = Opened(lying, i);
                return stored(&rows);
            }, blocks, y, columns, out, N);
        } else {
            Reals sums[N];
            clear(sums);
            // Fetching all at once holds up what is needed now; between the products of Q8_0 it slows them (measured).
            constexpr bool SPREAD = N <= 3 || sizeof(Weights) < 32;
            for (int64_t i = 0; i < blocks; i++) {
                const char * later = next == nullptr ? nullptr : next + i * STEP;
                if (!SPREAD && later != nullptr) {
                    fetch<STEP>(later);
                }
                const Opened rows(lying, i);
                add(sums, rows, i, y, columns, [&](int j) OUTRIDER_INLINE_LAMBDA {
                    if (SPREAD && later != nullptr) {
                        fetch<STEP / 8>(later + j * (STEP / 8));
                    }
                });
            }
            finish(sums, out);
        }
    }

    /// The same for many columns, whose groups are multiplied by functions that all numbers of columns share; `open(i)`:
    /// block i of the rows.
    template <class Open>
    static OUTRIDER_APART void tile_of_many(Open && open, int64_t blocks, const Activations * const * y,
                                            const Column * const * columns, float * const * out, int count) {
        static constexpr auto ADD = group_functions(std::make_integer_sequence<int, EIGHT_BIT_BESIDE>{});
        const Groups<EIGHT_BIT_BESIDE> parts(count);
        Reals sums[MOST_COLUMNS];
        clear(sums);
        for (int64_t i = 0; i < blocks; i++) {
            const Opened * rows = open(i);
            parts.each(0, [&](int first, int size) OUTRIDER_INLINE_LAMBDA {
                ADD[size - 1](sums + first, *rows, i, y + first, columns + first);
            });
        }
        for (int c = 0; c < count; c++) {
            store_any(out[c], sums[c]);
        }
    }

    using AddGroup = void (*)(Reals *, const Opened &, int64_t, const Activations * const *, const Column * const *);

    template <int... N>
    static constexpr std::array<AddGroup, sizeof...(N)> group_functions(std::integer_sequence<int, N...>) {
        return {&add_apart<N + 1>...};
    }

    template <int COUNT>
    static OUTRIDER_APART void add_apart(Reals * sums, const Opened & rows, int64_t i, const Activations * const * y,
                                         const Column * const * columns) {
        add(some<COUNT>(sums), rows, i, y, columns, [](int) {});
    }

    /// The same for rows that were unpacked before.
    template <int N>
    static void opened_tile(const Opened * rows, int64_t blocks, const Activations * const * y,
                            const Column * const * columns, float * const * out) {
        if constexpr (N > AS_ONE) {
            tile_of_many([&](int64_t i) { return rows + i; }, blocks, y, columns, out, N);
        } else {
            Reals sums[N];
            clear(sums);
            for (int64_t i = 0; i < blocks; i++) {
                add(sums, rows[i], i, y, columns, [](int) {});
            }
            finish(sums, out);
        }
    }

    /// What is unpacked and fetched while a block of a tall tile is multiplied, piece by piece between the products: the
    /// processor does not look ahead far enough to do that by itself.
    struct Coming {
        const Layout lying[2];
        Opened * rows;
        int64_t block;
        const char * ahead;

        /// One of sixteen parts of it.
        template <int PART> OUTRIDER_INLINE void part() const {
            constexpr size_t STEP = 2 * ROWS * sizeof(Weights);
            static_assert(STEP <= 16 * 64, "a cache line is fetched with each of a block's words");
            if (PART * 64 < STEP) {
                fetch_second(ahead + PART * 64);
            }
            rows[PART / 8].template open_part<PART % 8>(lying[PART / 8].block(block));
        }
    };

    /// Calls `multiply(i, now, coming)` for the blocks of twice ROWS rows, with what is unpacked and what comes.
    template <class Multiply>
    static OUTRIDER_INLINE void each_tall_block(const char * weights, size_t stride, int64_t blocks, const char * next,
                                                Multiply && multiply) {
        const size_t step = next == nullptr ? 0 : 2 * ROWS * sizeof(Weights);
        Opened rows[2][2];
        Coming coming{{Layout(weights, stride, blocks), Layout(weights + ROWS * stride, stride, blocks)},
                      nullptr, 0, next == nullptr ? weights : next};
        for (int r = 0; r < 2; r++) {
            rows[0][r] = Opened(coming.lying[r], 0);
        }
        for (int64_t i = 0; i < blocks; i++) {
            const Opened * now = stored(rows[i % 2]);
            coming.rows = stored(rows[1 - i % 2]);
            coming.block = std::min(i + 1, blocks - 1);
            multiply(i, now, coming);
            coming.ahead += step;
        }
    }

    /// As `tile` for twice as many rows.
    template <int N>
    static void tall_tile(const char * weights, size_t stride, int64_t blocks, const Activations * const *,
                          const Column * const * columns, float * const * out, const char * next) {
        if constexpr (N > TALL_AS_ONE) {
            tall_tile_of_many(weights, stride, blocks, columns, out, next, N);
        } else {
            Reals low[N], high[N];
            clear(low);
            clear(high);
            const auto multiply = [&](int64_t i, const Opened * now, const Coming & coming) OUTRIDER_INLINE_LAMBDA {
                add_tall(low, high, now[0], now[1], i, columns,
                         [&](auto j) OUTRIDER_INLINE_LAMBDA { coming.template part<j>(); });
            };
            each_tall_block(weights, stride, blocks, next, multiply);
            store_tall(low, high, out, N);
        }
    }

    /// As `tile_of_many` for twice as many rows.
    static OUTRIDER_APART void tall_tile_of_many(const char * weights, size_t stride, int64_t blocks,
                                                 const Column * const * columns, float * const * out, const char * next,
                                                 int count) {
        static constexpr auto ADD = tall_functions(std::make_integer_sequence<int, TALL_BESIDE>{});
        static constexpr auto ADD_FIRST = tall_first_functions(std::make_integer_sequence<int, TALL_BESIDE>{});
        const Groups<TALL_BESIDE> parts(count);
        Reals low[MOST_COLUMNS], high[MOST_COLUMNS];
        clear(low);
        clear(high);
        const auto multiply = [&](int64_t i, const Opened * now, const Coming & coming) OUTRIDER_INLINE_LAMBDA {
            ADD_FIRST[parts.size - 1](low, high, now, i, columns, coming);
            parts.each(parts.size, [&](int first, int size) OUTRIDER_INLINE_LAMBDA {
                ADD[size - 1](low + first, high + first, now, now + 1, i, columns + first);
            });
        };
        each_tall_block(weights, stride, blocks, next, multiply);
        store_tall(low, high, out, count);
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
            if constexpr (N <= TALL_AS_ONE) {
                add_tall(low, high, now[0], now[blocks], i, columns, [](auto) {});
            } else {
                static constexpr auto ADD = tall_functions(std::make_integer_sequence<int, TALL_BESIDE>{});
                Groups<TALL_BESIDE>(N).each(0, [&](int first, int size) OUTRIDER_INLINE_LAMBDA {
                    ADD[size - 1](low + first, high + first, now, now + blocks, i, columns + first);
                });
            }
        }
        store_tall(low, high, out, N);
    }

    using AddTall = void (*)(Reals *, Reals *, const Opened *, const Opened *, int64_t, const Column * const *);
    using AddTallFirst = void (*)(Reals *, Reals *, const Opened *, int64_t, const Column * const *, const Coming &);

    template <int... N>
    static constexpr std::array<AddTall, sizeof...(N)> tall_functions(std::integer_sequence<int, N...>) {
        return {&add_tall_apart<N + 1>...};
    }

    template <int... N>
    static constexpr std::array<AddTallFirst, sizeof...(N)> tall_first_functions(std::integer_sequence<int, N...>) {
        return {&add_tall_first<N + 1>...};
    }

    template <int COUNT>
    static OUTRIDER_APART void add_tall_apart(Reals * low, Reals * high, const Opened * a, const Opened * b, int64_t i,
                                              const Column * const * columns) {
        add_tall(some<COUNT>(low), some<COUNT>(high), *a, *b, i, columns, [](auto) {});
    }

    template <int COUNT>
    static OUTRIDER_APART void add_tall_first(Reals * low, Reals * high, const Opened * now, int64_t i,
                                              const Column * const * columns, const Coming & coming) {
        add_tall(some<COUNT>(low), some<COUNT>(high), now[0], now[1], i, columns,
                 [&](auto j) OUTRIDER_INLINE_LAMBDA { coming.template part<j>(); });
    }

    /// As `add` for two times ROWS rows; `each`: see `tall_dots`, called for the first columns.
    template <int N, class Each>
    static OUTRIDER_INLINE void add_tall(Reals (&low)[N], Reals (&high)[N], const Opened & a, const Opened & b,
                                         int64_t i, const Column * const * columns, Each && each) {
        in_groups<N, TALL_BESIDE>([&](auto first, auto count) OUTRIDER_INLINE_LAMBDA {
            Vec sums[2][count];
            const Vec * w[] = {first == 0 ? a.w : anew(a.w), first == 0 ? b.w : anew(b.w)};
            const auto meanwhile = [&](auto j) OUTRIDER_INLINE_LAMBDA {
                if constexpr (first == 0) {
                    each(j);
                }
            };
            if constexpr (WORDS) {
                const int16_t * numbers[count];
                each_of<count>([&](auto c) OUTRIDER_INLINE_LAMBDA { numbers[c] = columns[first + c][i].words; });
                tall_word_dots<8>(sums, w[0], w[1], numbers, meanwhile);
            } else {
                const int8_t * numbers[count];
                each_of<count>([&](auto c) OUTRIDER_INLINE_LAMBDA {
                    sums[0][c] = sums[1][c] = all(columns[first + c][i].correction);
                    numbers[c] = columns[first + c][i].bytes;
                });
                tall_dots<Format::TOP, 8>(sums, w[0], w[1], numbers, meanwhile);
            }
            each_of<count>([&](auto c) OUTRIDER_INLINE_LAMBDA {
                const Reals scale = real(columns[first + c][i].scale);
                low[first + c] = fused(times(a.scales, scale), to_reals(sums[0][c]), low[first + c]);
                high[first + c] = fused(times(b.scales, scale), to_reals(sums[1][c]), high[first + c]);
            });
        });
    }

    static OUTRIDER_INLINE void store_tall(const Reals * low, const Reals * high, float * const * out, int count) {
        for (int c = 0; c < count; c++) {
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
    template <int BESIDE = EIGHT_BIT_BESIDE, int N, class Each>
    static OUTRIDER_INLINE void add(Reals (&sums)[N], const Opened & rows, int64_t i, const Activations * const * y,
                                    const Column * const * columns, Each && each) {
        in_groups<N, BESIDE>([&](auto first, auto count) OUTRIDER_INLINE_LAMBDA {
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
