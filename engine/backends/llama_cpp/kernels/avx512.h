// Sixteen lanes: AVX-512 (F, BW, VL, DQ), with VNNI or without. lanes.h says what each name is.
#pragma once

#include <immintrin.h>

#include "lanes.h"

namespace outrider {
inline namespace lanes {

using Vec = __m512i;
using Reals = __m512;
using Mask = __mmask16;

constexpr int ROWS = 16;
constexpr bool PACKS = true;
constexpr int EIGHT_BIT_BESIDE = 1;
constexpr int TALL_BESIDE = 0;
constexpr int MOST_AS_ONE = 16;
constexpr int SUPER_BLOCKS_BESIDE = 4;
constexpr int SUPER_BLOCKS_TALL = 0;
constexpr int SUPER_BLOCKS_TALL_AS_ONE = 1;
constexpr int float_rows(int) { return 4; }
constexpr int FLOAT_COLUMNS = 6;
constexpr int ATTENTION_COLUMNS = 12;
constexpr int ATTENTION_VECTORS = 2;

inline Vec zero() { return _mm512_setzero_si512(); }
inline Vec all(int32_t x) { return _mm512_set1_epi32(x); }
inline Vec all_words(int16_t x) { return _mm512_set1_epi16(x); }
inline Vec all_bytes(int8_t x) { return _mm512_set1_epi8(x); }
inline Reals real(float x) { return _mm512_set1_ps(x); }

inline Vec and_bits(Vec a, Vec b) { return _mm512_and_si512(a, b); }
inline Vec or_bits(Vec a, Vec b) { return _mm512_or_si512(a, b); }
inline Vec xor_bits(Vec a, Vec b) { return _mm512_xor_si512(a, b); }
inline Vec words_right(Vec x, int n) { return _mm512_srli_epi16(x, n); }
inline Vec signed_words_right(Vec x, int n) { return _mm512_srai_epi16(x, n); }
inline Vec words_left(Vec x, int n) { return _mm512_slli_epi16(x, n); }
inline Vec dwords_right(Vec x, int n) { return _mm512_srli_epi32(x, n); }
inline Vec dwords_left(Vec x, int n) { return _mm512_slli_epi32(x, n); }
inline Vec join_masked(Vec w, Vec x, Vec bits) { return _mm512_ternarylogic_epi32(w, x, bits, 0xf8); }
/// A rotation of whole dwords takes the fewest instructions.
inline Vec move_bytes(Vec x, int n) { return _mm512_rorv_epi32(x, _mm512_set1_epi32(n & 31)); }
inline Vec spread_bits(Vec x, int n) {
    alignas(64) static const uint32_t SPREAD[16] = {
        0x00000000, 0x00000010, 0x00001000, 0x00001010, 0x00100000, 0x00100010, 0x00101000, 0x00101010,
        0x10000000, 0x10000010, 0x10001000, 0x10001010, 0x10100000, 0x10100010, 0x10101000, 0x10101010,
    };
    return _mm512_permutexvar_epi32(_mm512_srli_epi32(x, n), _mm512_load_si512(SPREAD));
}
inline Vec byte_in_words(Vec x, int n) {
    const int step = n * 0x10001;
    return _mm512_shuffle_epi8(x, _mm512_set4_epi32(0x800c800c + step, 0x80088008 + step, 0x80048004 + step,
                                                    0x80008000 + step));
}

inline Vec add_dwords(Vec a, Vec b) { return _mm512_add_epi32(a, b); }
inline Vec sub_dwords(Vec a, Vec b) { return _mm512_sub_epi32(a, b); }
inline Vec add_words(Vec a, Vec b) { return _mm512_add_epi16(a, b); }
inline Vec sub_words(Vec a, Vec b) { return _mm512_sub_epi16(a, b); }
inline Vec mul_words(Vec a, Vec b) { return _mm512_mullo_epi16(a, b); }

inline Vec table16(const void * at) {
    return _mm512_broadcast_i32x4(_mm_loadu_si128(static_cast<const __m128i *>(at)));
}
inline Vec lookup(Vec table, Vec x) { return _mm512_shuffle_epi8(table, x); }

inline Vec signed_byte(Vec x, int n) { return _mm512_srai_epi32(dwords_left(x, 24 - 8 * n), 24); }
inline Reals to_reals(Vec x) { return _mm512_cvtepi32_ps(x); }
inline Reals low_halves(Vec x) { return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(x)); }
inline Reals high_halves(Vec x) { return low_halves(_mm512_srli_epi32(x, 16)); }
inline Vec bits_of(Reals x) { return _mm512_castps_si512(x); }
inline Reals reals_of(Vec x) { return _mm512_castsi512_ps(x); }

OUTRIDER_INLINE void fetch_first(const char * at) { _mm_prefetch(at, _MM_HINT_T0); }
OUTRIDER_INLINE void fetch_second(const char * at) { _mm_prefetch(at, _MM_HINT_T1); }

OUTRIDER_INLINE Vec two_quarters(const void * low, const void * high) {
    const __m256i a = _mm256_loadu_si256(static_cast<const __m256i *>(low));
    const __m256i b = _mm256_loadu_si256(static_cast<const __m256i *>(high));
    return _mm512_inserti64x4(_mm512_castsi256_si512(a), b, 1);
}

OUTRIDER_INLINE Vec four_quarters(const void * a, const void * b, const void * c, const void * d) {
    const auto part = [](const void * at) { return _mm_loadu_si128(static_cast<const __m128i *>(at)); };
    const __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(part(a)), part(b), 1);
    const __m256i high = _mm256_inserti128_si256(_mm256_castsi128_si256(part(c)), part(d), 1);
    return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

/// Calls `use(i, a, b, c, d)` for i = 0..3 with the addresses of rows i, i + 4, i + 8, i + 12, which take few
/// registers: GCC otherwise keeps products of the stride, most of them in vector registers.
template <class Use> OUTRIDER_INLINE void each_fourth_row(const char * at, size_t given, Use && use) {
    const size_t stride = anew(given), twelve = anew(12 * stride);
    each_of<4>([&](auto i) OUTRIDER_INLINE_LAMBDA {
        use(i, at, at + 4 * stride, at + 8 * stride, at + twelve);
        at = anew(at + stride);
    });
}

/// Transposes four by four dwords in each 128-bit quarter.
OUTRIDER_INLINE void transpose4(Vec & a, Vec & b, Vec & c, Vec & d) {
    const Vec ab_low = _mm512_unpacklo_epi32(a, b), ab_high = _mm512_unpackhi_epi32(a, b);
    const Vec cd_low = _mm512_unpacklo_epi32(c, d), cd_high = _mm512_unpackhi_epi32(c, d);
    a = _mm512_unpacklo_epi64(ab_low, cd_low);
    b = _mm512_unpackhi_epi64(ab_low, cd_low);
    c = _mm512_unpacklo_epi64(ab_high, cd_high);
    d = _mm512_unpackhi_epi64(ab_high, cd_high);
}

OUTRIDER_INLINE void load32(const char * at, size_t stride, Vec out[8]) {
    Vec a[4], b[4];
    each_fourth_row(at, stride, [&](auto i, auto... row) OUTRIDER_INLINE_LAMBDA {
        const char * rows[] = {row...};
        a[i] = two_quarters(rows[0], rows[1]);
        b[i] = two_quarters(rows[2], rows[3]);
    });
    transpose4(a[0], a[1], a[2], a[3]);
    transpose4(b[0], b[1], b[2], b[3]);
    for (int j = 0; j < 4; j++) {
        out[j] = _mm512_shuffle_i32x4(a[j], b[j], 0x88);
        out[4 + j] = _mm512_shuffle_i32x4(a[j], b[j], 0xdd);
    }
}

OUTRIDER_INLINE void load16(const char * at, size_t stride, Vec out[4]) {
    each_fourth_row(at, stride, [&](auto i, auto... row) OUTRIDER_INLINE_LAMBDA { out[i] = four_quarters(row...); });
    transpose4(out[0], out[1], out[2], out[3]);
}

OUTRIDER_INLINE Vec load4(const char * at, size_t stride) {
    Vec even = _mm512_setzero_si512(), odd = even;
    each_fourth_row(at, stride, [&](auto i, auto... row) OUTRIDER_INLINE_LAMBDA {
        Vec & part = i % 2 == 0 ? even : odd;
        const char * rows[] = {row...};
        each_of<4>([&](auto q) OUTRIDER_INLINE_LAMBDA {
            part = _mm512_mask_set1_epi32(part, static_cast<__mmask16>(1 << (i + 4 * q)), dword(rows[q]));
        });
    });
    return _mm512_or_si512(even, odd);
}

inline Vec load_vector(const void * at) { return _mm512_loadu_si512(at); }

/// Row r is read from 2 * r bytes before it on, where its number comes to its place; no other byte is asked for.
OUTRIDER_INLINE Reals load_scales(const char * at, size_t stride) {
    __m256i parts[4];
    each_fourth_row(at, stride, [&](auto i, auto... row) OUTRIDER_INLINE_LAMBDA {
        const char * rows[] = {row...};
        parts[i] = _mm256_setzero_si256();
        each_of<4>([&](auto q) OUTRIDER_INLINE_LAMBDA {
            constexpr int r = i + 4 * q;
            parts[i] = _mm256_mask_loadu_epi16(parts[i], static_cast<__mmask16>(1 << r), rows[q] - 2 * r);
        });
    });
    return _mm512_cvtph_ps(_mm256_or_si256(_mm256_or_si256(parts[0], parts[1]), _mm256_or_si256(parts[2], parts[3])));
}

inline Reals load(const float * at) { return _mm512_load_ps(at); }
inline Reals load_any(const float * at) { return _mm512_loadu_ps(at); }
inline void store(float * at, Reals x) { _mm512_store_ps(at, x); }
inline void store_any(float * at, Reals x) { _mm512_storeu_ps(at, x); }
inline Reals load_halves(const void * at) { return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *) at)); }
inline Reals widen_bhalves(__m256i x) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(x), 16));
}
inline Reals load_bhalves(const void * at) { return widen_bhalves(_mm256_loadu_si256((const __m256i *) at)); }

inline Vec load_counts(const void * at) { return _mm512_cvtepu8_epi32(_mm_loadu_si128(static_cast<const __m128i *>(at))); }
inline Vec load_numbers(const void * at) {
    return _mm512_cvtepi8_epi32(_mm_loadu_si128(static_cast<const __m128i *>(at)));
}

inline Mask first_lanes(int n) { return n >= ROWS ? 0xffff : n <= 0 ? 0 : static_cast<Mask>((1u << n) - 1); }
inline Reals load_some(const float * at, int n) { return _mm512_maskz_loadu_ps(first_lanes(n), at); }
inline Reals load_some_halves(const void * at, int n) {
    return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(first_lanes(n), at));
}
inline Reals load_some_bhalves(const void * at, int n) {
    return widen_bhalves(_mm256_maskz_loadu_epi16(first_lanes(n), at));
}

OUTRIDER_INLINE void put_halves(float * out, __m256i x) { _mm512_store_ps(out, _mm512_cvtph_ps(x)); }
OUTRIDER_INLINE void put_halves(ggml_fp16_t * out, __m256i x) { _mm256_store_si256((__m256i *) out, x); }

template <class Number> void turn_halves(const char * rows, size_t stride, Number * out, int64_t pitch) {
    Vec a[8], b[8];
    for (int i = 0; i < 8; i++) {
        a[i] = two_quarters(rows + i * stride, rows + (i + 8) * stride);
    }
    for (int i = 0; i < 8; i += 2) {
        b[i] = _mm512_unpacklo_epi16(a[i], a[i + 1]);
        b[i + 1] = _mm512_unpackhi_epi16(a[i], a[i + 1]);
    }
    // b: numbers 0..3 (even) or 4..7 (odd) of two rows, then of four, then two numbers of eight rows.
    for (int i = 0; i < 2; i++) {
        for (int h = 0; h < 2; h++) {
            a[4 * i + 2 * h] = _mm512_unpacklo_epi32(b[4 * i + h], b[4 * i + 2 + h]);
            a[4 * i + 2 * h + 1] = _mm512_unpackhi_epi32(b[4 * i + h], b[4 * i + 2 + h]);
        }
    }
    for (int j = 0; j < 4; j++) {
        b[2 * j] = _mm512_unpacklo_epi64(a[j], a[4 + j]);
        b[2 * j + 1] = _mm512_unpackhi_epi64(a[j], a[4 + j]);
    }
    for (int j = 0; j < 8; j++) {
        // Quarters: number j of rows 0..7, number 8 + j of these, number j of rows 8..15, number 8 + j of these.
        const Vec turned = _mm512_shuffle_i32x4(b[j], b[j], 0xd8);
        put_halves(out + j * pitch, _mm512_castsi512_si256(turned));
        put_halves(out + (8 + j) * pitch, _mm512_extracti64x4_epi64(turned, 1));
    }
}

inline Reals plus(Reals a, Reals b) { return _mm512_add_ps(a, b); }
inline Reals minus(Reals a, Reals b) { return _mm512_sub_ps(a, b); }
inline Reals times(Reals a, Reals b) { return _mm512_mul_ps(a, b); }
inline Reals over(Reals a, Reals b) { return _mm512_div_ps(a, b); }
inline Reals larger(Reals a, Reals b) { return _mm512_max_ps(a, b); }
inline Reals size_of(Reals x) { return _mm512_abs_ps(x); }
inline Reals fused(Reals a, Reals b, Reals c) { return _mm512_fmadd_ps(a, b, c); }
inline Reals fused_minus(Reals a, Reals b, Reals c) { return _mm512_fnmadd_ps(a, b, c); }
inline Reals nearest(Reals x) { return _mm512_roundscale_ps(x, 0); }
inline Reals scale_by_power(Reals x, Reals n) { return _mm512_scalef_ps(x, n); }
inline Reals with_sign_of(Reals x, Reals y) {
    return reals_of(_mm512_ternarylogic_epi32(bits_of(y), bits_of(x), _mm512_set1_epi32(INT32_MIN), 0xe4));
}

inline Mask above(Reals a, Reals b) { return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ); }
inline Mask not_below(Reals a, Reals b) { return _mm512_cmp_ps_mask(a, b, _CMP_NLT_UQ); }
inline Mask differs(Reals a, Reals b) { return _mm512_cmp_ps_mask(a, b, _CMP_NEQ_UQ); }
inline Mask no_numbers(Reals x) { return _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q); }
inline Mask either(Mask a, Mask b) { return a | b; }
inline Mask both(Mask a, Mask b) { return a & b; }
inline bool any(Mask mask) { return mask != 0; }
inline Reals where(Mask mask, Reals yes, Reals no) { return _mm512_mask_mov_ps(no, mask, yes); }

inline float sum_of(Reals x) { return _mm512_reduce_add_ps(x); }
inline float largest_of(Reals x) { return _mm512_reduce_max_ps(x); }
inline float first_of(Reals x) { return _mm512_cvtss_f32(x); }

#ifdef __AVX512VNNI__

#define OUTRIDER_FULL_BYTES 1
inline Vec add_byte_products(Vec sum, Vec a, Vec b) { return _mm512_dpbusd_epi32(sum, a, b); }
inline Vec add_pairs(Vec sum, Vec a, Vec b) { return _mm512_dpwssd_epi32(sum, a, b); }

#else

inline Vec add_pairs(Vec sum, Vec a, Vec b) { return _mm512_add_epi32(sum, _mm512_madd_epi16(a, b)); }

using Signs = __mmask64;
inline Vec byte_products(Vec a, Vec b) { return _mm512_maddubs_epi16(a, b); }
inline Vec byte_sizes(Vec x) { return _mm512_abs_epi8(x); }
inline Signs byte_signs(Vec x) { return _mm512_movepi8_mask(x); }
inline Vec turn_signs(Vec x, Signs signs) { return _mm512_mask_sub_epi8(x, signs, _mm512_setzero_si512(), x); }

#endif

}  // namespace lanes
}  // namespace outrider

#include "dots.h"
