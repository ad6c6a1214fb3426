// Sixteen rows of quantised weights side by side, one in each lane of a 512-bit register.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>

// What must become a part of its caller; the second is for a lambda. MSVC's has not been tested.
#if defined(_MSC_VER) && !defined(__clang__)
#define OUTRIDER_INLINE __forceinline
#define OUTRIDER_INLINE_LAMBDA
#else
#define OUTRIDER_INLINE inline __attribute__((always_inline))
#define OUTRIDER_INLINE_LAMBDA __attribute__((always_inline))
#endif

namespace outrider {

using Vec = __m512i;

constexpr int ROWS = 16;
/// Columns (tokens) whose sums are kept in registers at once.
constexpr int MOST_COLUMNS = 16;

inline int32_t dword(const void * at) {
    int32_t value;
    std::memcpy(&value, at, 4);
    return value;
}

inline Vec both(const void * low, const void * high) {
    const __m256i a = _mm256_loadu_si256(static_cast<const __m256i *>(low));
    const __m256i b = _mm256_loadu_si256(static_cast<const __m256i *>(high));
    return _mm512_inserti64x4(_mm512_castsi256_si512(a), b, 1);
}

inline Vec four(const void * a, const void * b, const void * c, const void * d) {
    const auto load = [](const void * at) { return _mm_loadu_si128(static_cast<const __m128i *>(at)); };
    const __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(load(a)), load(b), 1);
    const __m256i high = _mm256_inserti128_si256(_mm256_castsi128_si256(load(c)), load(d), 1);
    return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

/// Fetches `SIZE` bytes into the second cache: the first one waits for few lines at a time, which bounds the speed where
/// memory answers late (measured: half of it). Inline, or GCC takes it for a function without effects and leaves it out.
template <size_t SIZE> OUTRIDER_INLINE void fetch(const char * at) {
    for (size_t b = 0; b < SIZE; b += 64) {
        _mm_prefetch(at + b, _MM_HINT_T1);
    }
}

/// Transposes four by four dwords in each 128-bit quarter.
inline void transpose4(Vec & a, Vec & b, Vec & c, Vec & d) {
    const Vec ab_low = _mm512_unpacklo_epi32(a, b), ab_high = _mm512_unpackhi_epi32(a, b);
    const Vec cd_low = _mm512_unpacklo_epi32(c, d), cd_high = _mm512_unpackhi_epi32(c, d);
    a = _mm512_unpacklo_epi64(ab_low, cd_low);
    b = _mm512_unpackhi_epi64(ab_low, cd_low);
    c = _mm512_unpacklo_epi64(ab_high, cd_high);
    d = _mm512_unpackhi_epi64(ab_high, cd_high);
}

/// out[j], lane r: bytes 4j..4j+3 of row r, of 32 bytes at `at` + r * `stride`.
inline void load32(const char * at, size_t stride, Vec out[8]) {
    Vec a[4], b[4];
    for (int i = 0; i < 4; i++) {
        a[i] = both(at + i * stride, at + (i + 4) * stride);
        b[i] = both(at + (i + 8) * stride, at + (i + 12) * stride);
    }
    transpose4(a[0], a[1], a[2], a[3]);
    transpose4(b[0], b[1], b[2], b[3]);
    for (int j = 0; j < 4; j++) {
        out[j] = _mm512_shuffle_i32x4(a[j], b[j], 0x88);
        out[4 + j] = _mm512_shuffle_i32x4(a[j], b[j], 0xdd);
    }
}

/// out[j], lane r: bytes 4j..4j+3 of row r, of 16 bytes at `at` + r * `stride`.
inline void load16(const char * at, size_t stride, Vec out[4]) {
    for (int i = 0; i < 4; i++) {
        const char * row = at + i * stride;
        out[i] = four(row, row + 4 * stride, row + 8 * stride, row + 12 * stride);
    }
    transpose4(out[0], out[1], out[2], out[3]);
}

/// Lane r: the four bytes at `at` + r * `stride`.
inline Vec load4(const char * at, size_t stride) {
    Vec even = _mm512_setzero_si512(), odd = even;
    for (int r = 0; r < ROWS; r += 2) {
        even = _mm512_mask_set1_epi32(even, static_cast<__mmask16>(1 << r), dword(at + r * stride));
        odd = _mm512_mask_set1_epi32(odd, static_cast<__mmask16>(2 << r), dword(at + (r + 1) * stride));
    }
    return _mm512_or_si512(even, odd);
}

/// Lane r: the float16 number at `at` + r * `stride` (two bytes more are read).
inline __m512 load_halves(const char * at, size_t stride) {
    return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(load4(at, stride)));
}

}  // namespace outrider
