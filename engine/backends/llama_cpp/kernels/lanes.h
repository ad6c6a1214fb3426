// A small vector type over the instruction sets: rows of weights (or positions, or numbers) side by side in the lanes of
// a register. Products and attention are written once in its words; an instruction set is one header beside this one.
//
// OUTRIDER_LANES is defined where there is one for the processor that is compiled for. Include ggml-cpu-impl.h before.
//
// What such a header gives (avx512.h shows it at its shortest):
//
//   ROWS               lanes of 32 bits in a register
//   Vec, Reals, Mask   a register of dwords (or of their words or bytes), one of float32, a truth for each lane
//   PACKS              whether weights are packed when a model is loaded (packed_rows.h)
//   NARROW             dot products go through 16 bits (dots.h): then small scales are multiplied in there
//   FULL_BYTES         dot products take weights as unsigned bytes 0..255 (w + 128); otherwise signed bytes as they are
//   EIGHT_BIT_BESIDE, SUPER_BLOCKS_BESIDE   columns whose products are computed side by side, by the registers there are
//   MOST_AS_ONE        columns up to which a tile is one function; of more, the groups that stand side by side are such
//                      functions, shared by all numbers of columns: that compiles in a quarter of the time
//   TALL_BESIDE, SUPER_BLOCKS_TALL          the same where twice as many rows are multiplied at once; 0: never
//   SUPER_BLOCKS_TALL_AS_ONE                columns that then still stand side by side where there are no more
//   FLOAT_COLUMNS, float_rows(columns)      columns and rows of floats/halves whose sums are held in registers
//   ATTENTION_COLUMNS, ATTENTION_VECTORS    the same for attention: columns and registers of positions or values
//
//   dots<TOP, COUNT, N>(sums, w, y, each)   sums[c] += for each lane: the products of the bytes of w[0..COUNT) with the
//                      4 * COUNT numbers at y[c], for N columns; exact. TOP: no byte of w is larger, or SIGNED for signed
//                      bytes. The numbers are -127..127. each(j) is called once for each j: something to fetch meanwhile
//   add_pairs(sum, a, b)                    sum + the two products of the words of each lane
//
//   fetch_first, fetch_second               ask for a cache line; OUTRIDER_INLINE, or GCC leaves the calls out
//   all, all_words, all_bytes, zero, real   every dword, word, byte, float the same
//   and_bits, or_bits, xor_bits             and words_right, signed_words_right, words_left, dwords_right, dwords_left
//   join_masked(w, x, bits)                 w | (x & bits)
//   move_bytes(x, n)   each byte's bits moved down by n, up where n is negative; what other bits become is open
//   spread_bits(x, n)  bits n..n+3 of each dword, as the fifth bits (16) of its four bytes; n = 0, 4, 8...
//   byte_in_words(x, n)                     byte n of each dword, in both words of it
//   signed_byte(x, n)  byte n of each dword, as a signed dword
//   add_dwords, sub_dwords, add_words, sub_words, mul_words
//   table16, lookup    a table of 16 bytes, and its entries for bytes 0..15
//   to_reals, low_halves, high_halves       numbers of dwords, of float16 in their low or high words
//   bits_of, reals_of  the same register, taken as the other type
//
//   load32, load16     out[j], lane r: bytes 4j..4j+3 of row r, of 32 or 16 bytes at `at` + r * `stride`
//   load4              lane r: the four bytes at `at` + r * `stride`
//   load_vector        a register of bytes at any address
//   load_scales        lane r: the float16 number at `at` + r * `stride` (two bytes more may be read)
//   load, store        ROWS floats, aligned; load_any, store_any: at any address
//   load_halves, load_bhalves               ROWS numbers in float16, bfloat16 at any address
//   load_counts, load_numbers               ROWS unsigned, signed bytes at any address, as dwords
//   load_some(at, n), load_some_halves, load_some_bhalves   the first n of them, zeros behind; no byte more is read
//   turn_halves(rows, stride, out, pitch)   out[i * pitch + r]: number i of row r, for ROWS rows and ROWS float16 numbers, as
//                      they are or in float32, by the type of `out`
//
//   plus, minus, times, over, larger, size_of, fused(a, b, c) = a * b + c, fused_minus(a, b, c) = c - a * b
//   nearest            to the nearest whole number; scale_by_power(x, n) = x * 2^n for whole n = -126..12
//   with_sign_of(x, y) |x| with the sign of y
//   first_lanes(n), above, differs, no_numbers, either, both, any, where(mask, yes, no)
//   sum_of, largest_of, first_of            over the lanes, in a fixed order
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

// What must become a part of its caller, and what must not; INLINE_LAMBDA is for a lambda. MSVC's has not been tested.
#if defined(_MSC_VER) && !defined(__clang__)
#define OUTRIDER_APART __declspec(noinline)
#define OUTRIDER_INLINE __forceinline
#define OUTRIDER_INLINE_LAMBDA
#else
#if defined(__clang__)
#define OUTRIDER_APART __attribute__((noinline))
#else
#define OUTRIDER_APART __attribute__((noinline, noclone))
#endif
#define OUTRIDER_INLINE inline __attribute__((always_inline))
#define OUTRIDER_INLINE_LAMBDA __attribute__((always_inline))
#endif

namespace outrider {
inline namespace lanes {

/// Bytes of weights that are signed, in place of the largest that they reach.
constexpr int SIGNED = -1;

/// Has a sum added up where it stands: GCC otherwise gathers additions at the end, for which there are too few registers.
template <class T> OUTRIDER_INLINE void settle([[maybe_unused]] T & sum) {
#if (defined(__GNUC__) || defined(__clang__)) && defined(__x86_64__)
    __asm__("" : "+v"(sum));
#endif
}

/// The same address or number, of which the compiler does not know any more where it came from: what it has made of it, or
/// of the values there, it makes again, in place of keeping it where there are too few registers for the sums.
template <class T> OUTRIDER_INLINE T anew(T at) {
#if defined(__GNUC__) || defined(__clang__)
    __asm__("" : "+r"(at));
#endif
    return at;
}

/// The same, and what was written must have been stored.
template <class T> OUTRIDER_INLINE T * stored(T * at) {
#if defined(__GNUC__) || defined(__clang__)
    __asm__("" : "+r"(at) : : "memory");
#endif
    return at;
}

inline int32_t dword(const void * at) {
    int32_t value;
    std::memcpy(&value, at, 4);
    return value;
}

/// Of products of bytes up to `top` with numbers up to 127, two and two added up: how many fit into 16 bits.
constexpr int pairs_that_fit(int top) {
    return INT16_MAX / (2 * top * 127);
}

/// The size of groups of at most `most` of `count`, as even as can be.
constexpr int group_size(int count, int most) {
    const int groups = (count + most - 1) / most;
    return (count + groups - 1) / groups;
}

/// Calls `use` for groups of at most `MOST` of N columns, as even as can be: with the first one and how many they are.
template <int N, int MOST, class Use, int... G>
OUTRIDER_INLINE void in_groups(Use && use, std::integer_sequence<int, G...>) {
    constexpr int SIZE = (N + static_cast<int>(sizeof...(G)) - 1) / static_cast<int>(sizeof...(G));
    (use(std::integral_constant<int, G * SIZE>{}, std::integral_constant<int, std::min(SIZE, N - G * SIZE)>{}), ...);
}

/// Calls `use` with the numbers 0..N-1, each a constant: then GCC keeps arrays that they index in registers, which it
/// does not where it unrolls a loop too late.
template <class Use, int... I> OUTRIDER_INLINE void each_of(Use && use, std::integer_sequence<int, I...>) {
    (use(std::integral_constant<int, I>{}), ...);
}

template <int N, class Use> OUTRIDER_INLINE void each_of(Use && use) {
    each_of(use, std::make_integer_sequence<int, N>{});
}

template <int N, int MOST, class Use> OUTRIDER_INLINE void in_groups(Use && use) {
    in_groups<N, MOST>(use, std::make_integer_sequence<int, (N + MOST - 1) / MOST>{});
}

/// The same groups for a number of columns that only the caller knows.
template <int MOST> struct Groups {
    int count, size;

    explicit Groups(int count) : count(count), size(group_size(count, MOST)) {}
    /// One group of all up to `as_one`.
    Groups(int count, int as_one) : count(count), size(count <= as_one ? count : group_size(count, MOST)) {}

    /// From the group on that begins with column `from`.
    template <class Use> OUTRIDER_INLINE void each(int from, Use && use) const {
        for (int first = from; first < count; first += size) {
            use(first, std::min(size, count - first));
        }
    }
};

/// The first `COUNT` from `at` on.
template <int COUNT, class T> OUTRIDER_INLINE T (&some(T * at))[COUNT] {
    return reinterpret_cast<T(&)[COUNT]>(*at);
}

}  // namespace lanes
}  // namespace outrider

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__) && defined(__AVX512DQ__)
#define OUTRIDER_LANES 1
#include "avx512.h"
#elif defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
#define OUTRIDER_LANES 1
#include "avx2.h"
#elif defined(__ARM_FEATURE_DOTPROD) && (defined(__GNUC__) || defined(__clang__))
#define OUTRIDER_LANES 1
#include "neon.h"
#endif

#ifdef OUTRIDER_LANES

namespace outrider {
inline namespace lanes {

/// What `word_dots` and `tall_word_dots` give is so many times the products: words that hold a byte of weights in their
/// upper half take fewer instructions than words that are the byte. Sums of 32 products still fit.
constexpr int WORD_DOTS = 256;

/// Only there where products are NARROW (dots.h).
template <int COUNT, int N, class Each>
void word_dots(Vec (&sums)[N], const Vec * w, const int16_t * const (&y)[N], Each && each);
template <int COUNT, int N, class Each>
void tall_word_dots(Vec (&sums)[2][N], const Vec * low, const Vec * high, const int16_t * const (&y)[N], Each && each);
template <int TOP, int COUNT, int N, class Bytes, class Each>
void tall_dots(Vec (&sums)[2][N], Bytes low, Bytes high, const int8_t * const (&y)[N], Each && each);

/// Calls `use` with the numbers 0..N-1: see `each_of`, which takes longer to compile.
template <int N, class Use> OUTRIDER_INLINE void each_column(Use && use) {
    if constexpr (NARROW) {
        each_of<N>(use);
    } else {
#pragma GCC unroll 16
        for (int c = 0; c < N; c++) {
            use(c);
        }
    }
}

/// Columns (tokens) whose sums are added up in one pass over the weights.
constexpr int MOST_COLUMNS = 16;

/// Fetches `SIZE` bytes into the second cache: the first one waits for few lines at a time, which bounds the speed where
/// memory answers late (measured: half of it). Inline, or GCC takes it for a function without effects and leaves it out.
template <size_t SIZE> OUTRIDER_INLINE void fetch(const char * at) {
    for (size_t b = 0; b < SIZE; b += 64) {
        fetch_second(at + b);
    }
}

}  // namespace lanes
}  // namespace outrider

#endif
