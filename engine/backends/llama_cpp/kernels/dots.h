// Dot products of bytes, for instruction sets that multiply unsigned with signed bytes.
//
// With VNNI (OUTRIDER_FULL_BYTES) an instruction adds four products of any bytes to 32 bits: add_byte_products.
//
// Without it, byte_products adds up two and two in 16 bits, where two products of large bytes do not fit; so weights are
// at most 128 there: what would be larger is given signed, and the sizes of the weights are multiplied with numbers that
// take over their signs (byte_sizes, byte_signs, turn_signs). As many pairs are added up in 16 bits as fit, and then in
// 32 bits, where small scales are multiplied in on the way. So every sum is exact, as with VNNI.
#pragma once

#include "lanes.h"

namespace outrider {
inline namespace lanes {

#ifdef OUTRIDER_FULL_BYTES

constexpr bool FULL_BYTES = true;
constexpr bool NARROW = false;

/// See lanes.h.
template <int TOP, int COUNT, int N, class Each>
OUTRIDER_INLINE void dots(Vec (&sums)[N], const Vec * w, const int8_t * const (&y)[N], Each && each) {
#pragma GCC unroll 8
    for (int j = 0; j < COUNT; j++) {
        each(j);
#pragma GCC unroll 16
        for (int c = 0; c < N; c++) {
            sums[c] = add_byte_products(sums[c], w[j], all(dword(y[c] + 4 * j)));
        }
    }
}

/// The same for the rows of two registers of weights each, low[j] and high[j], with which each of the numbers is multiplied
/// once it is loaded. each(j) is called for j = 0 .. 2 * COUNT - 1, j as a constant.
template <int TOP, int COUNT, int N, class Bytes, class Each>
OUTRIDER_INLINE void tall_dots(Vec (&sums)[2][N], Bytes low, Bytes high, const int8_t * const (&y)[N], Each && each) {
    each_of<COUNT>([&](auto i) OUTRIDER_INLINE_LAMBDA {
        each(std::integral_constant<int, 2 * i>{});
        each(std::integral_constant<int, 2 * i + 1>{});
        const Vec a = low[i], b = high[i];
        each_of<N>([&](auto c) OUTRIDER_INLINE_LAMBDA {
            Vec numbers = all(dword(y[c] + 4 * i));
            settle(numbers);
            sums[0][c] = add_byte_products(sums[0][c], a, numbers);
            sums[1][c] = add_byte_products(sums[1][c], b, numbers);
        });
    });
}

#else

constexpr bool FULL_BYTES = false;
constexpr bool NARROW = true;

/// As in lanes.h, and times the words of `scale`.
template <int TOP, int COUNT, int N, class Each>
OUTRIDER_INLINE void dots(Vec (&sums)[N], const Vec * w, const int8_t * const (&y)[N], Each && each, Vec scale) {
    constexpr int FIT = TOP == SIGNED ? 1 : std::min(pairs_that_fit(TOP), COUNT);
    static_assert(FIT >= 1, "bytes as large as these are given signed");
    Vec pairs[N];
    each_of<COUNT>([&](auto i) OUTRIDER_INLINE_LAMBDA {
        each(i);
        each_of<N>([&](auto c) OUTRIDER_INLINE_LAMBDA {
            Vec products, numbers = all(dword(y[c] + 4 * i));
            if constexpr (TOP == SIGNED) {
                products = byte_products(byte_sizes(w[i]), turn_signs(numbers, byte_signs(w[i])));
            } else {
                products = byte_products(w[i], numbers);
            }
            pairs[c] = i % FIT == 0 ? products : add_words(pairs[c], products);
            settle(pairs[c]);
        });
        if constexpr (i % FIT == FIT - 1 || i == COUNT - 1) {
            each_of<N>([&](auto c) OUTRIDER_INLINE_LAMBDA {
                sums[c] = add_pairs(sums[c], pairs[c], scale);
                settle(sums[c]);
            });
        }
    });
}

template <int TOP, int COUNT, int N, class Each>
OUTRIDER_INLINE void dots(Vec (&sums)[N], const Vec * w, const int8_t * const (&y)[N], Each && each) {
    dots<TOP, COUNT>(sums, w, y, each, all_words(1));
}

/// The same for the rows of two registers of weights each, low[j] and high[j], with which each of the numbers is multiplied
/// once it is loaded. each(j) is called for j = 0 .. 2 * COUNT - 1, j as a constant.
template <int TOP, int COUNT, int N, class Bytes, class Each>
OUTRIDER_INLINE void tall_dots(Vec (&sums)[2][N], Bytes low, Bytes high, const int8_t * const (&y)[N], Each && each) {
    constexpr int FIT = std::min(pairs_that_fit(TOP), COUNT);
    static_assert(FIT >= 1, "signed bytes are multiplied with words");
    Vec pairs[2][N];
    each_of<COUNT>([&](auto i) OUTRIDER_INLINE_LAMBDA {
        each(std::integral_constant<int, 2 * i>{});
        each(std::integral_constant<int, 2 * i + 1>{});
        const Vec a = low[i], b = high[i];
        each_of<N>([&](auto c) OUTRIDER_INLINE_LAMBDA {
            const Vec numbers = all(dword(y[c] + 4 * i));
            const Vec products[2] = {byte_products(a, numbers), byte_products(b, numbers)};
            for (int r = 0; r < 2; r++) {
                pairs[r][c] = i % FIT == 0 ? products[r] : add_words(pairs[r][c], products[r]);
                settle(pairs[r][c]);
            }
        });
        if constexpr (i % FIT == FIT - 1 || i == COUNT - 1) {
            each_of<N>([&](auto c) OUTRIDER_INLINE_LAMBDA {
                for (int r = 0; r < 2; r++) {
                    sums[r][c] = add_pairs(sums[r][c], pairs[r][c], all_words(1));
                    settle(sums[r][c]);
                }
            });
        }
    });
}

/// As `dots` for signed bytes of weights and numbers in words, times WORD_DOTS, which takes fewer instructions than moving
/// signs: of each four numbers the first and the third, then the second and the fourth.
template <int COUNT, int N, class Each>
OUTRIDER_INLINE void word_dots(Vec (&sums)[N], const Vec * w, const int16_t * const (&y)[N], Each && each) {
    each_of<COUNT>([&](auto j) OUTRIDER_INLINE_LAMBDA {
        each(j);
        const Vec even = words_left(w[j], 8), odd = and_bits(w[j], all_words(-256));
        each_of<N>([&](auto c) OUTRIDER_INLINE_LAMBDA {
            sums[c] = add_pairs(sums[c], even, all(dword(y[c] + 4 * j)));
            settle(sums[c]);
            sums[c] = add_pairs(sums[c], odd, all(dword(y[c] + 4 * j + 2)));
            settle(sums[c]);
        });
    });
}

/// The same as `tall_dots`, but that `sums` are set.
template <int COUNT, int N, class Each>
OUTRIDER_INLINE void tall_word_dots(Vec (&sums)[2][N], const Vec * low, const Vec * high,
                                    const int16_t * const (&y)[N], Each && each) {
    const auto words = [](Vec w, bool odd) OUTRIDER_INLINE_LAMBDA {
        return odd ? and_bits(w, all_words(-256)) : words_left(w, 8);
    };
    each_of<N>([&](auto c) OUTRIDER_INLINE_LAMBDA { sums[0][c] = sums[1][c] = zero(); });
    each_of<2 * COUNT>([&](auto j) OUTRIDER_INLINE_LAMBDA {
        each(j);
        const Vec a = words(low[j / 2], j % 2), b = words(high[j / 2], j % 2);
        each_of<N>([&](auto c) OUTRIDER_INLINE_LAMBDA {
            const Vec numbers = all(dword(y[c] + 2 * j));
            sums[0][c] = add_pairs(sums[0][c], a, numbers);
            settle(sums[0][c]);
            sums[1][c] = add_pairs(sums[1][c], b, numbers);
            settle(sums[1][c]);
        });
    });
}

#endif

/// How a format gives its weights, that are signed bytes: with 128 added, or as they are.
constexpr int BYTE_OFFSET = FULL_BYTES ? 128 : 0;
constexpr int BYTE_TOP = FULL_BYTES ? 255 : SIGNED;

}  // namespace lanes
}  // namespace outrider
