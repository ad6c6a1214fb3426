// Eight lanes: AVX2 with FMA and F16C, with VNNI in either of its encodings or without. lanes.h says what each name is.
#pragma once

#include <immintrin.h>

#include "lanes.h"

namespace outrider {
inline namespace lanes {

using Vec = __m256i;
using Reals = __m256;
using Mask = __m256;

constexpr int ROWS = 8;
constexpr bool PACKS = true;
constexpr int EIGHT_BIT_BESIDE = 8;
constexpr int TALL_BESIDE = 5;
constexpr int MOST_AS_ONE = 8;
#if defined(__AVX512VL__)
constexpr int SUPER_BLOCKS_BESIDE = 8;  // There are 32 registers.
constexpr int SUPER_BLOCKS_TALL = 6;
constexpr int SUPER_BLOCKS_TALL_AS_ONE = 8;
#elif defined(__AVXVNNI__)
constexpr int SUPER_BLOCKS_BESIDE = 5;
constexpr int SUPER_BLOCKS_TALL = 5;
constexpr int SUPER_BLOCKS_TALL_AS_ONE = 5;
#else
constexpr int SUPER_BLOCKS_BESIDE = 6;
constexpr int SUPER_BLOCKS_TALL = 0;  // Products in 16 bits do not wait for loads (measured).
constexpr int SUPER_BLOCKS_TALL_AS_ONE = 1;
#endif
/// Few sums wait for each other, so few columns take more rows; three with four columns: twelve sums do not wait, eight do.
constexpr int float_rows(int columns) { return columns <= 2 ? 4 : columns == 4 ? 3 : 2; }
constexpr int FLOAT_COLUMNS = 5;
constexpr int ATTENTION_COLUMNS = 6;
constexpr int ATTENTION_VECTORS = 2;

inline Vec zero() { return _mm256_setzero_si256(); }
inline Vec all(int32_t x) { return _mm256_set1_epi32(x); }
inline Vec all_words(int16_t x) { return _mm256_set1_epi16(x); }
inline Vec all_bytes(int8_t x) { return _mm256_set1_epi8(x); }
inline Reals real(float x) { return _mm256_set1_ps(x); }

inline Vec and_bits(Vec a, Vec b) { return _mm256_and_si256(a, b); }
inline Vec or_bits(Vec a, Vec b) { return _mm256_or_si256(a, b); }
inline Vec xor_bits(Vec a, Vec b) { return _mm256_xor_si256(a, b); }
inline Vec words_right(Vec x, int n) { return _mm256_srli_epi16(x, n); }
inline Vec signed_words_right(Vec x, int n) { return _mm256_srai_epi16(x, n); }
inline Vec words_left(Vec x, int n) { return _mm256_slli_epi16(x, n); }
inline Vec dwords_right(Vec x, int n) { return _mm256_srli_epi32(x, n); }
inline Vec dwords_left(Vec x, int n) { return _mm256_slli_epi32(x, n); }
inline Vec join_masked(Vec w, Vec x, Vec bits) { return or_bits(w, and_bits(x, bits)); }
inline Vec move_bytes(Vec x, int n) { return n < 0 ? words_left(x, -n) : words_right(x, n); }
inline Vec spread_bits(Vec x, int n) {
    const int at = n / 8 * 0x01010101;
    const Vec bytes = _mm256_setr_epi32(at, at + 0x04040404, at + 0x08080808, at + 0x0c0c0c0c, at, at + 0x04040404,
                                        at + 0x08080808, at + 0x0c0c0c0c);
    const Vec bits = all(0x08040201 << n % 8);
    const Vec found = _mm256_cmpeq_epi8(and_bits(_mm256_shuffle_epi8(x, bytes), bits), bits);
    return and_bits(found, all_bytes(16));
}
inline Vec byte_in_words(Vec x, int n) {
    const int a = static_cast<int>(0x80008000) + n * 0x10001, b = a + 0x40004, c = a + 0x80008, d = a + 0xc000c;
    return _mm256_shuffle_epi8(x, _mm256_setr_epi32(a, b, c, d, a, b, c, d));
}

inline Vec add_dwords(Vec a, Vec b) { return _mm256_add_epi32(a, b); }
inline Vec sub_dwords(Vec a, Vec b) { return _mm256_sub_epi32(a, b); }
inline Vec add_words(Vec a, Vec b) { return _mm256_add_epi16(a, b); }
inline Vec sub_words(Vec a, Vec b) { return _mm256_sub_epi16(a, b); }
inline Vec mul_words(Vec a, Vec b) { return _mm256_mullo_epi16(a, b); }

inline Vec table16(const void * at) {
    return _mm256_broadcastsi128_si256(_mm_loadu_si128(static_cast<const __m128i *>(at)));
}
inline Vec lookup(Vec table, Vec x) { return _mm256_shuffle_epi8(table, x); }

inline Vec signed_byte(Vec x, int n) { return _mm256_srai_epi32(dwords_left(x, 24 - 8 * n), 24); }
inline Reals to_reals(Vec x) { return _mm256_cvtepi32_ps(x); }
/// The words at `places` of each 128-bit half, as float16.
inline Reals halves_at(Vec x, int64_t places, int64_t more_places) {
    const Vec words = _mm256_shuffle_epi8(x, _mm256_setr_epi64x(places, more_places, places, more_places));
    return _mm256_cvtph_ps(_mm_unpacklo_epi64(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1)));
}
inline Reals low_halves(Vec x) { return halves_at(x, 0x0d0c090805040100, -1); }
inline Reals high_halves(Vec x) { return halves_at(x, 0x0f0e0b0a07060302, -1); }
inline Vec bits_of(Reals x) { return _mm256_castps_si256(x); }
inline Reals reals_of(Vec x) { return _mm256_castsi256_ps(x); }

OUTRIDER_INLINE void fetch_first(const char * at) { _mm_prefetch(at, _MM_HINT_T0); }
OUTRIDER_INLINE void fetch_second(const char * at) { _mm_prefetch(at, _MM_HINT_T1); }

/// Loading the second half into both places and blending takes fewer cycles than inserting it (measured on Zen 3: an
/// insertion takes both units that move bytes, a blend any).
inline Vec two_halves(const void * low, const void * high) {
    const auto part = [](const void * at) { return _mm_loadu_si128(static_cast<const __m128i *>(at)); };
    return _mm256_blend_epi32(_mm256_castsi128_si256(part(low)), _mm256_broadcastsi128_si256(part(high)), 0xf0);
}

/// Eight rows, as addresses that take few registers: GCC otherwise keeps eight products of the stride, most of them in
/// memory.
struct EightRows {
    const char *low, *high;
    size_t stride, three;

    OUTRIDER_INLINE EightRows(const char * at, size_t given) : low(at), stride(anew(given)) {
        three = 3 * stride;
        high = low + 4 * stride;
    }

    OUTRIDER_INLINE const char * operator[](int r) const {
        const char * four = r < 4 ? low : high;
        return r % 4 == 3 ? four + three : four + r % 4 * stride;
    }
};

inline void load16(const char * at, size_t stride, Vec out[4]) {
    const EightRows row(at, stride);
    const Vec a = two_halves(row[0], row[4]), b = two_halves(row[1], row[5]);
    const Vec c = two_halves(row[2], row[6]), d = two_halves(row[3], row[7]);
    const Vec ab_low = _mm256_unpacklo_epi32(a, b), ab_high = _mm256_unpackhi_epi32(a, b);
    const Vec cd_low = _mm256_unpacklo_epi32(c, d), cd_high = _mm256_unpackhi_epi32(c, d);
    out[0] = _mm256_unpacklo_epi64(ab_low, cd_low);
    out[1] = _mm256_unpackhi_epi64(ab_low, cd_low);
    out[2] = _mm256_unpacklo_epi64(ab_high, cd_high);
    out[3] = _mm256_unpackhi_epi64(ab_high, cd_high);
}

inline void load32(const char * at, size_t stride, Vec out[8]) {
    load16(at, stride, out);
    load16(at + 16, stride, out + 4);
}

inline Vec load_vector(const void * at) { return _mm256_loadu_si256(static_cast<const __m256i *>(at)); }

inline Vec load4(const char * at, size_t stride) {
    const auto two = [&](int r) {
        const __m128i a = _mm_cvtsi32_si128(dword(at + r * stride));
        return _mm_unpacklo_epi32(a, _mm_cvtsi32_si128(dword(at + (r + 1) * stride)));
    };
    return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_unpacklo_epi64(two(0), two(2))),
                                   _mm_unpacklo_epi64(two(4), two(6)), 1);
}

/// Row r is read from 2 * r bytes before it on, where its number comes to its place by a blend: all that is read lies
/// between the first row's number and the last one's.
inline Reals load_scales(const char * at, size_t stride) {
    const EightRows rows(at, stride);
    const auto row = [&](int r) OUTRIDER_INLINE_LAMBDA {
        return _mm_loadu_si128(reinterpret_cast<const __m128i *>(rows[r] - 2 * r));
    };
    __m128i low = _mm_blend_epi16(row(0), row(1), 0x02), high = _mm_blend_epi16(row(4), row(5), 0x20);
    low = _mm_blend_epi16(_mm_blend_epi16(low, row(2), 0x04), row(3), 0x08);
    high = _mm_blend_epi16(_mm_blend_epi16(high, row(6), 0x40), row(7), 0x80);
    return _mm256_cvtph_ps(_mm_blend_epi16(low, high, 0xf0));
}

inline Reals load(const float * at) { return _mm256_load_ps(at); }
inline Reals load_any(const float * at) { return _mm256_loadu_ps(at); }
inline void store(float * at, Reals x) { _mm256_store_ps(at, x); }
inline void store_any(float * at, Reals x) { _mm256_storeu_ps(at, x); }
inline Reals load_halves(const void * at) { return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *) at)); }
inline Reals load_bhalves(const void * at) {
    const __m128i halves = _mm_loadu_si128(static_cast<const __m128i *>(at));
    return reals_of(_mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 16));
}

inline Vec load_counts(const void * at) { return _mm256_cvtepu8_epi32(_mm_loadl_epi64(static_cast<const __m128i *>(at))); }
inline Vec load_numbers(const void * at) { return _mm256_cvtepi8_epi32(_mm_loadl_epi64(static_cast<const __m128i *>(at))); }

inline Mask first_lanes(int n) {
    const Vec numbers = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return reals_of(_mm256_cmpgt_epi32(all(n), numbers));
}
inline Reals load_some(const float * at, int n) { return _mm256_maskload_ps(at, bits_of(first_lanes(n))); }
/// The first n of eight words.
struct SomeWords {
    int16_t words[ROWS] = {};
    SomeWords(const void * at, int n) { std::memcpy(words, at, std::clamp(n, 0, ROWS) * sizeof(words[0])); }
};
inline Reals load_some_halves(const void * at, int n) { return load_halves(SomeWords(at, n).words); }
inline Reals load_some_bhalves(const void * at, int n) { return load_bhalves(SomeWords(at, n).words); }

OUTRIDER_INLINE void put_halves(float * out, __m128i x) { store(out, _mm256_cvtph_ps(x)); }
OUTRIDER_INLINE void put_halves(ggml_fp16_t * out, __m128i x) { _mm_store_si128((__m128i *) out, x); }

template <class Number> void turn_halves(const char * rows, size_t stride, Number * out, int64_t pitch) {
    Vec a[4], b[4];
    for (int i = 0; i < 4; i++) {
        a[i] = two_halves(rows + i * stride, rows + (i + 4) * stride);
    }
    for (int i = 0; i < 4; i += 2) {
        b[i] = _mm256_unpacklo_epi16(a[i], a[i + 1]);
        b[i + 1] = _mm256_unpackhi_epi16(a[i], a[i + 1]);
    }
    for (int i = 0; i < 2; i++) {
        a[2 * i] = _mm256_unpacklo_epi32(b[i], b[i + 2]);
        a[2 * i + 1] = _mm256_unpackhi_epi32(b[i], b[i + 2]);
    }
    for (int j = 0; j < 4; j++) {
        // Quarters: number 2j of rows 0..3, number 2j + 1 of these, number 2j of rows 4..7, number 2j + 1 of these.
        const Vec turned = _mm256_permute4x64_epi64(a[j], 0xd8);
        put_halves(out + 2 * j * pitch, _mm256_castsi256_si128(turned));
        put_halves(out + (2 * j + 1) * pitch, _mm256_extracti128_si256(turned, 1));
    }
}

inline Reals plus(Reals a, Reals b) { return _mm256_add_ps(a, b); }
inline Reals minus(Reals a, Reals b) { return _mm256_sub_ps(a, b); }
inline Reals times(Reals a, Reals b) { return _mm256_mul_ps(a, b); }
inline Reals over(Reals a, Reals b) { return _mm256_div_ps(a, b); }
inline Reals larger(Reals a, Reals b) { return _mm256_max_ps(a, b); }
inline Reals size_of(Reals x) { return _mm256_andnot_ps(real(-0.0f), x); }
inline Reals fused(Reals a, Reals b, Reals c) { return _mm256_fmadd_ps(a, b, c); }
inline Reals fused_minus(Reals a, Reals b, Reals c) { return _mm256_fnmadd_ps(a, b, c); }
inline Reals nearest(Reals x) { return _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
inline Reals scale_by_power(Reals x, Reals n) {
    const Vec exponent = add_dwords(_mm256_cvtps_epi32(n), all(127));
    return times(x, reals_of(dwords_left(exponent, 23)));
}
inline Reals with_sign_of(Reals x, Reals y) { return _mm256_or_ps(size_of(x), _mm256_and_ps(real(-0.0f), y)); }

inline Mask above(Reals a, Reals b) { return _mm256_cmp_ps(a, b, _CMP_GT_OQ); }
inline Mask not_below(Reals a, Reals b) { return _mm256_cmp_ps(a, b, _CMP_NLT_UQ); }
inline Mask differs(Reals a, Reals b) { return _mm256_cmp_ps(a, b, _CMP_NEQ_UQ); }
inline Mask no_numbers(Reals x) { return _mm256_cmp_ps(x, x, _CMP_UNORD_Q); }
inline Mask either(Mask a, Mask b) { return _mm256_or_ps(a, b); }
inline Mask both(Mask a, Mask b) { return _mm256_and_ps(a, b); }
inline bool any(Mask mask) { return _mm256_movemask_ps(mask) != 0; }
inline Reals where(Mask mask, Reals yes, Reals no) { return _mm256_blendv_ps(no, yes, mask); }

inline float sum_of(Reals x) {
    __m128 four = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    four = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(four, _mm_movehdup_ps(four)));
}
inline float largest_of(Reals x) {
    __m128 four = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    four = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(four, _mm_movehdup_ps(four)));
}
inline float first_of(Reals x) { return _mm256_cvtss_f32(x); }

#if defined(__AVXVNNI__) || (defined(__AVX512VNNI__) && defined(__AVX512VL__))

#define OUTRIDER_FULL_BYTES 1
#ifdef __AVXVNNI__
inline Vec add_byte_products(Vec sum, Vec a, Vec b) { return _mm256_dpbusd_avx_epi32(sum, a, b); }
inline Vec add_pairs(Vec sum, Vec a, Vec b) { return _mm256_dpwssd_avx_epi32(sum, a, b); }
#else
inline Vec add_byte_products(Vec sum, Vec a, Vec b) { return _mm256_dpbusd_epi32(sum, a, b); }
inline Vec add_pairs(Vec sum, Vec a, Vec b) { return _mm256_dpwssd_epi32(sum, a, b); }
#endif

#else

inline Vec add_pairs(Vec sum, Vec a, Vec b) { return _mm256_add_epi32(sum, _mm256_madd_epi16(a, b)); }

using Signs = Vec;
inline Vec byte_products(Vec a, Vec b) { return _mm256_maddubs_epi16(a, b); }
inline Vec byte_sizes(Vec x) { return _mm256_abs_epi8(x); }
inline Signs byte_signs(Vec x) { return x; }
inline Vec turn_signs(Vec x, Signs signs) { return _mm256_sign_epi8(x, signs); }

#endif

}  // namespace lanes
}  // namespace outrider

#include "dots.h"
