// A cache in Q8_0, multiplied as whole numbers: half of the memory of float16, and a fraction of the instructions.
//
// Keys are the rows of a product of weights in Q8_0 (eight_bit.h), queries its columns, rounded to 8 bits as every column
// of such a product. For values the weights of a block's positions, each times the scale of its value, are rounded to 15
// bits, of which the largest that the column sees makes use of all: what it does not see must not matter. So they are
// 256 times finer than values in 8 bits, and the products of two positions each are added up exactly.
#pragma once

#include "attention_rows.h"
#include "eight_bit.h"

namespace outrider {

using ByteKeys = EightBit<Q8_0>;

/// Positions whose values are multiplied by one instruction: p of a register of positions and p of the next one.
constexpr int PAIRS = BLOCK / 2;

/// Queries of a group of columns in 8 bits, block by block: at distances that are known when this is compiled, because
/// there are not registers for as many addresses.
struct ByteQueries {
    block_q8_0 numbers[ATTENTION_COLUMNS];
    ByteKeys::Column notes[ATTENTION_COLUMNS];

    /// Puts a query into the place of column `c` of a group's blocks.
    static void put(const float * query, int64_t dk, int c, ByteQueries * group) {
        for (int64_t i = 0; i < dk; i += QK8_0, group++) {
            ggml_get_type_traits_cpu(GGML_TYPE_Q8_0)->from_float(query + i, group->numbers + c, QK8_0);
            ByteKeys::prepare(group->numbers + c, 1, group->notes + c);
        }
    }
};

/// A block of keys and values, opened once for all columns.
struct Bytes {
    const int64_t key_blocks, dv;
    ByteKeys::Opened * const keys;
    /// Numbers of two positions each as words, and the positions' scales by blocks of numbers.
    Vec * const values;
    float * const scales;
    Vec * const weights;
    alignas(64) float largest[BLOCK];

    /// `key_room` and `value_room`: places for BLOCK keys and values in float32, which is more than this takes.
    Bytes(Rows k, Rows v, int size, float * key_room, float * value_room, Ahead & later_keys, Ahead & later_values)
        : key_blocks(k.tensor->ne[0] / QK8_0), dv(v.tensor->ne[0]),
          keys(reinterpret_cast<ByteKeys::Opened *>(key_room)), values(reinterpret_cast<Vec *>(value_room)),
          scales(value_room + PAIRS * dv), weights(reinterpret_cast<Vec *>(scales + dv)) {
        // In multiples of a width: keys 9, rows in their place 16 to 24.5, scales 25; values 16, scales 17, weights 23, rows 31.5.
        static_assert(ATTENTION_COLUMNS <= 12, "weights must have room");
        if (size < BLOCK) {
            k = k.filled(size, reinterpret_cast<char *>(key_room + PAIRS * key_blocks * QK8_0));
            v = v.filled(size, reinterpret_cast<char *>(value_room + (PAIRS + 7) * dv));
        }
        // Most of the keys' next lines are asked for beside the values, where the processor waits less for itself.
        open_keys(k, reinterpret_cast<ggml_half *>(key_room + 25 * key_blocks * QK8_0), later_keys);
        open_scales(v, reinterpret_cast<ggml_half *>(weights), later_values);
        open_values(v, later_keys);
    }

    /// out[i * BLOCK + p]: the scale of block i of row p.
    static void find_scales(const Rows & rows, int64_t blocks, ggml_half * out) {
        for (int p = 0; p < BLOCK; p++) {
            const char * at = rows.at(p);
            for (int64_t i = 0; i < blocks; i++, at += sizeof(block_q8_0)) {
                std::memcpy(out + i * BLOCK + p, at, sizeof(ggml_half));
            }
        }
    }

    void open_keys(const Rows & rows, ggml_half * found, Ahead & later) {
        ByteKeys::Opened * out = keys;
        find_scales(rows, key_blocks, found);
        for (int r = 0; r < BLOCK; r += ROWS) {
            for (int64_t i = 0; i < key_blocks; i++, out++) {
                later.line();
                Q8_0::load(FileBlock<block_q8_0>{rows.at(r) + i * sizeof(block_q8_0), rows.stride}, out->w);
                out->scales = load_halves(found + i * BLOCK + r);
            }
        }
    }

    void open_scales(const Rows & rows, ggml_half * found, Ahead & later) {
        find_scales(rows, dv / QK8_0, found);
        for (int r = 0; r < BLOCK; r += ROWS) {
            Reals most = real(0.0f);
            for (int64_t i = 0; i < dv; i += QK8_0) {
                later.line();
                const Reals scale = load_halves(found + i + r);
                store(scales + i + r, scale);
                most = larger(most, size_of(scale));
            }
            store(largest + r, most);
        }
    }

    void open_values(const Rows & rows, Ahead & later) {
        Ahead ahead = later;
        const Vec low = all(0xffff);
        for (int p = 0; p < PAIRS; p++) {
            const char * at = rows.at(p / ROWS * 2 * ROWS + p % ROWS) + offsetof(block_q8_0, qs);
            Vec * out = values + p;
            for (int64_t i = 0; i < dv; i += QK8_0, at += sizeof(block_q8_0)) {
                ahead.line();
                for (int j = 0; j < QK8_0; j += ROWS, out += PAIRS) {
                    *out = join_masked(dwords_left(load_numbers(at + ROWS * rows.stride + j), 16), load_numbers(at + j), low);
                }
            }
        }
        later = ahead;
    }

    /// As `multiply_keys`.
    template <int N> OUTRIDER_APART void multiply(const ByteQueries * queries, float * out) const {
        const ByteKeys::Opened * rows = keys;
        for (int r = 0; r < BLOCK; r += ROWS) {
            Reals sums[N];
            each_of<N>([&](auto c) OUTRIDER_INLINE_LAMBDA { sums[c] = real(0.0f); });
            for (int64_t i = 0; i < key_blocks; i++, rows++) {
                const block_q8_0 * numbers[N];
                const ByteKeys::Column * notes[N];
                each_of<N>([&](auto c) OUTRIDER_INLINE_LAMBDA {
                    numbers[c] = queries[i].numbers + c;
                    notes[c] = queries[i].notes + c;
                });
                ByteKeys::add<ATTENTION_COLUMNS>(sums, *rows, 0, numbers, notes, [](int) {});
            }
            each_of<N>([&](auto c) OUTRIDER_INLINE_LAMBDA { store(out + c * BLOCK + r, sums[c]); });
        }
    }

    /// Rounds a column's weights. What a step of them stands for.
    float round(const float * from, Vec * to) const {
        constexpr float MOST = INT16_MAX, LEAST = 1e-30f;  // What is less counts for nothing beside the largest weight, 1.
        Reals weight[VECTORS], most = real(0.0f);
        for (int v = 0; v < VECTORS; v++) {
            weight[v] = load(from + v * ROWS);
            most = larger(most, times(weight[v], load(largest + v * ROWS)));
        }
        const float top = largest_of(most);
        const Reals steps = real(top > LEAST ? MOST / top : 0.0f);
        for (int v = 0; v < VECTORS; v++) {
            weight[v] = times(weight[v], steps);
        }
        for (int64_t i = 0; i < dv; i += QK8_0, to += ATTENTION_COLUMNS * (PAIRS / ROWS)) {
            for (int v = 0; v < VECTORS; v += 2) {
                Vec words[2];
                for (int half = 0; half < 2; half++) {
                    // The last bits of a sum of this size are whole numbers.
                    const Reals scale = load(scales + i + (v + half) * ROWS);
                    words[half] = bits_of(fused(weight[v + half], scale, real(0x1.8p23f)));
                }
                to[v / 2] = join_masked(dwords_left(words[1], 16), words[0], all(0xffff));
            }
        }
        return top > LEAST ? top / MOST : 0.0f;
    }

    /// As `add_all_values`.
    template <int N> void add(const float * from, float * const * sums, Ahead & later) const {
        float steps[N];
        for (int c = 0; c < N; c++) {
            steps[c] = round(from + c * BLOCK, weights + c * (PAIRS / ROWS));
        }
        constexpr int W = ATTENTION_VECTORS;
        for (int64_t i = 0; i < dv; i += W * ROWS) {
            const int32_t * const weight = reinterpret_cast<const int32_t *>(weights) + i / QK8_0 * ATTENTION_COLUMNS * PAIRS;
            add_words<N, W>(values + i / ROWS * PAIRS, weight, steps, sums, i, later);
        }
    }

    template <int N, int W>
    static OUTRIDER_APART void add_words(const Vec * value, const int32_t * weight, const float * steps, float * const * sums,
                                         int64_t first, Ahead & later) {
        Ahead ahead = later;
        Vec held[N][W];
        each_of<N>([&](auto c) OUTRIDER_INLINE_LAMBDA {
            each_of<W>([&](auto v) OUTRIDER_INLINE_LAMBDA { held[c][v] = zero(); });
        });
        for (int p = 0; p < PAIRS; p++, value++, weight++) {
            ahead.line();
            Vec now[W];
            each_of<W>([&](auto v) OUTRIDER_INLINE_LAMBDA { now[v] = value[v * PAIRS]; });
            each_of<N>([&](auto c) OUTRIDER_INLINE_LAMBDA {
                const Vec both = all(weight[c * PAIRS]);
                each_of<W>([&](auto v) OUTRIDER_INLINE_LAMBDA {
                    held[c][v] = add_pairs(held[c][v], now[v], both);
                    settle(held[c][v]);
                });
            });
        }
        each_of<N>([&](auto c) OUTRIDER_INLINE_LAMBDA {
            each_of<W>([&](auto v) OUTRIDER_INLINE_LAMBDA {
                float * const sum = sums[c] + first + v * ROWS;
                store(sum, fused(to_reals(held[c][v]), real(steps[c]), load(sum)));
            });
        });
        later = ahead;
    }
};

}  // namespace outrider
