// Dot products of bytes, for instruction sets that multiply unsigned with signed bytes.
//
// With VNNI (OUTRIDER_FULL_BYTES) an instruction adds four products of any bytes to 32 bits: add_byte_products.
//
// Without it, byte_products adds up two and two in 16 bits, where two products of large bytes do not fit; so weights are
// at most 128 there: what would be larger is given signed, and the sizes of the weights are multiplied with numbers that
// take over their signs (byte_sizes, byte_signs, turn_signs). As many pairs are added up in 16 bits as fit, and then in
// 32 bits. So every sum is exact, as with VNNI.
#pragma once

#include "lanes.h"

namespace outrider {
inline namespace lanes {

#ifdef OUTRIDER_FULL_BYTES

constexpr bool FULL_BYTES = true;

/// See lanes.h.
template <int TOP, int COUNT, int N, class Each>
OUTRIDER_INLINE void dots(Vec (&sums)[N], const Vec * w, const int8_t * const (&y)[N], Each && each) {
#pragma GCC unroll 8
    for (int j = 0; j < COUNT; j++) {
        each(j);
#pragma GCC unroll 8
        for (int c = 0; c < N; c++) {
            sums[c] = add_byte_products(sums[c], w[j], all(dword(y[c] + 4 * j)));
        }
    }
}

#else

constexpr bool FULL_BYTES = false;

template <int TOP, int COUNT, int N, class Each>
OUTRIDER_INLINE void dots(Vec (&sums)[N], const Vec * w, const int8_t * const (&y)[N], Each && each) {
    constexpr int FIT = TOP == SIGNED ? 1 : std::min(pairs_that_fit(TOP), COUNT);
    static_assert(FIT >= 1, "bytes as large as these are given signed");
    const Vec ones = all_words(1);
#pragma GCC unroll 8
    for (int j = 0; j < COUNT; j += FIT) {
        Vec pairs[N];
        const int end = std::min(j + FIT, COUNT);
#pragma GCC unroll 8
        for (int i = j; i < end; i++) {
            each(i);
#pragma GCC unroll 8
            for (int c = 0; c < N; c++) {
                Vec products, numbers = all(dword(y[c] + 4 * i));
                if constexpr (TOP == SIGNED) {
                    products = byte_products(byte_sizes(w[i]), turn_signs(numbers, byte_signs(w[i])));
                } else {
                    products = byte_products(w[i], numbers);
                }
                pairs[c] = i == j ? products : add_words(pairs[c], products);
            }
        }
#pragma GCC unroll 8
        for (int c = 0; c < N; c++) {
            sums[c] = add_pairs(sums[c], pairs[c], ones);
        }
    }
}

#endif

/// How a format gives its weights, that are signed bytes: with 128 added, or as they are.
constexpr int BYTE_OFFSET = FULL_BYTES ? 128 : 0;
constexpr int BYTE_TOP = FULL_BYTES ? 255 : SIGNED;

}  // namespace lanes
}  // namespace outrider
