// The parts of attention: blocks of 32 positions of a cache times a few columns (a token and a head each).
//
// Keys are turned so that positions lie side by side, one in each lane. For many columns keys and values are converted to
// float32 once; for few, those of a cache in float16 are converted where they are multiplied, which takes a load that there
// would be anyway. Each column's sums are added up alone, in the order of positions; so they do not depend on other columns.
#pragma once

#include "lanes.h"

#include <cmath>
#include <limits>

namespace outrider {

/// Positions that are taken at once. Blocks start at multiples of it.
constexpr int BLOCK = 32;
/// Registers that a block's positions fill.
constexpr int VECTORS = BLOCK / ROWS;
/// The lengths of keys and values are multiples of it, and so are places in memory.
constexpr int LINE = 16;

inline int64_t quotient_up(int64_t a, int64_t b) {
    return (a + b - 1) / b;
}

constexpr float NOTHING = -std::numeric_limits<float>::infinity();
constexpr float LOG2_E = 1.44269504f;

/// e^x / 2^power for a whole `power`, to about a unit in the last place and with the same last bits whatever the power is;
/// 0 where that would not be a normal number. At most 2^12.
inline Reals exponential(Reals x, Reals power) {
    const Reals n = nearest(times(x, real(LOG2_E)));
    // ln 2 in two parts: n times the first is exact.
    Reals r = fused_minus(n, real(0.693359375f), x);
    r = fused_minus(n, real(-2.12194440e-4f), r);
    Reals sum = real(1.0f / 5040);
    for (const float term : {1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 1.0f / 2, 1.0f, 1.0f}) {
        sum = fused(sum, r, real(term));
    }
    const Reals left = minus(n, power);
    // True for NaN, too.
    return where(not_below(left, real(-126.0f)), scale_by_power(sum, left), real(0.0f));
}

/// What weights are divided by: a power of two near e^maximum. To go over to another one is exact, so sums have the same bits
/// whenever a maximum is found. Of scores that are too large for that, e^maximum itself.
struct Level {
    float base = 0.0f, power = 0.0f;

    explicit Level(float maximum) {
        if (std::fabs(maximum) < 65536.0f) {
            power = std::nearbyint(maximum * LOG2_E);
        } else if (maximum != NOTHING) {  // Or it would be no number what is left of nothing.
            base = maximum;
        }
    }

    Reals weight(Reals score) const { return exponential(minus(score, real(base)), real(power)); }

    float weight(float score) const { return first_of(weight(real(score))); }

    /// What makes weights of this level ones of a higher one.
    float factor(Level higher) const {
        return first_of(exponential(real(base - higher.base), real(higher.power - power)));
    }
};

inline Reals tangent(Reals x) {
    const Reals one = real(1.0f), e = exponential(times(size_of(x), real(-2.0f)), real(0.0f));
    return with_sign_of(over(minus(one, e), plus(one, e)), x);
}

/// out[i * BLOCK + r] = number i of row r, for ROWS rows and four numbers in float32.
inline void turn_floats(const float * rows, int64_t stride, float * out) {
    Vec v[4];
    load16(reinterpret_cast<const char *>(rows), stride * sizeof(float), v);
    for (int i = 0; i < 4; i++) {
        store(out + i * BLOCK, reals_of(v[i]));
    }
}

inline void widen_halves(const char * row, int64_t count, float * out) {
    for (int64_t i = 0; i < count; i += ROWS) {
        store(out + i, load_halves(row + i * sizeof(ggml_fp16_t)));
    }
}

/// What a mask in float16 lets through of some positions: any of them, and all of them as they are.
struct Sight {
    bool any, whole;

    Sight(const ggml_fp16_t * mask, int count) {
        ggml_fp16_t seen = 0, changed = 0;
        for (int i = 0; i < count; i++) {
            seen |= mask[i] ^ 0xfc00;
            changed |= mask[i];
        }
        any = seen != 0;
        whole = changed == 0;
    }
};

/// Calls `use` with `count`, 1..MOST, as a constant.
template <int MOST, class Use> void with_constant(int count, Use && use) {
    if constexpr (MOST > 1) {
        if (count < MOST) {
            return with_constant<MOST - 1>(count, use);
        }
    }
    use(std::integral_constant<int, MOST>{});
}

inline Reals load_number(const float * at) {
    return load(at);
}

inline Reals load_number(const ggml_fp16_t * at) {
    return load_halves(at);
}

/// Asks memory for what is needed later, a line with each call: many at once would fill the buffers that wait for memory,
/// and then nothing goes on beside (arithmetic hides memory's time so, and next to nothing of it otherwise: measured).
/// Rows of some heads that lie side by side, as they lie there: a head's own rows lie far apart, which takes much longer.
class Ahead {
    const char *row, *at, *end;
    size_t stride, head_stride, size;
    int64_t heads, head, left;

  public:
    /// `left` rows of `size` bytes, from that of `head` on: `heads` at `row`, then as many a `stride` further.
    Ahead(const char * row, size_t stride, size_t head_stride, size_t size, int64_t heads, int64_t head, int64_t left)
        : row(row), at(row + head * head_stride), end(at + size), stride(stride), head_stride(head_stride), size(size),
          heads(heads), head(head), left(left) {}

    OUTRIDER_INLINE void line() {
        if (left == 0) {
            return;
        }
        fetch_second(at);
        at += 64;
        if (at >= end) {
            next();
        }
    }

  private:
    void next() {
        left--;
        if (++head == heads) {
            head = 0;
            row += stride;
        }
        at = row + head * head_stride;
        end = at + size;
    }
};

/// out[c * BLOCK + p]: the product of column c with the key of position p, for N columns.
template <int N, class Number>
void multiply_keys(const Number * keys, int64_t count, const float * const * columns, float * out, Ahead & later) {
    Ahead ahead = later;
    for (int first = 0; first < VECTORS; first += ATTENTION_VECTORS, keys += ATTENTION_VECTORS * ROWS) {
        Reals sums[N][ATTENTION_VECTORS];
        for (int c = 0; c < N; c++) {
            for (int v = 0; v < ATTENTION_VECTORS; v++) {
                sums[c][v] = real(0.0f);
            }
        }
        for (int64_t i = 0; i < count; i++) {
            ahead.line();
            Reals key[ATTENTION_VECTORS];
            for (int v = 0; v < ATTENTION_VECTORS; v++) {
                key[v] = load_number(keys + i * BLOCK + v * ROWS);
            }
            for (int c = 0; c < N; c++) {
                const Reals number = real(columns[c][i]);
                for (int v = 0; v < ATTENTION_VECTORS; v++) {
                    sums[c][v] = fused(key[v], number, sums[c][v]);
                }
            }
        }
        for (int c = 0; c < N; c++) {
            for (int v = 0; v < ATTENTION_VECTORS; v++) {
                store(out + c * BLOCK + (first + v) * ROWS, sums[c][v]);
            }
        }
    }
    later = ahead;
}

/// sums[c][0..ROWS * W) += the values of `positions` positions, `stride` numbers apart, each times its weight for column c,
/// for N columns.
template <int N, int W, class Number>
void add_values(const Number * values, int64_t stride, int positions, const float * weights, float * const * sums,
                int64_t first, Ahead & ahead) {
    Reals held[N][W];
    for (int c = 0; c < N; c++) {
        for (int v = 0; v < W; v++) {
            held[c][v] = load(sums[c] + first + v * ROWS);
        }
    }
    for (int p = 0; p < positions; p++) {
        ahead.line();
        Reals value[W];
        for (int v = 0; v < W; v++) {
            value[v] = load_number(values + p * stride + first + v * ROWS);
        }
        for (int c = 0; c < N; c++) {
            const Reals weight = real(weights[c * BLOCK + p]);
            for (int v = 0; v < W; v++) {
                held[c][v] = fused(value[v], weight, held[c][v]);
            }
        }
    }
    for (int c = 0; c < N; c++) {
        for (int v = 0; v < W; v++) {
            store(sums[c] + first + v * ROWS, held[c][v]);
        }
    }
}

template <int N, class Number>
void add_all_values(const Number * values, int64_t stride, int64_t count, int positions, const float * weights, float * const * sums,
                    Ahead & later) {
    Ahead ahead = later;
    int64_t first = 0;
    for (; first + ATTENTION_VECTORS * ROWS <= count; first += ATTENTION_VECTORS * ROWS) {
        add_values<N, ATTENTION_VECTORS>(values, stride, positions, weights, sums, first, ahead);
    }
    for (; first < count; first += ROWS) {
        add_values<N, 1>(values, stride, positions, weights, sums, first, ahead);
    }
    later = ahead;
}

}  // namespace outrider
