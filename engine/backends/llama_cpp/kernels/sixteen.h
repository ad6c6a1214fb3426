// Sixteen floats side by side: in one 512-bit register, or in two of 256 bits (AVX2 with FMA).
#pragma once

#include <cstdint>
#include <cstring>

#include <immintrin.h>

namespace outrider {

constexpr int64_t LANES = 16;

/// Below this exponent of e the result is 0: no number of less than full precision is made, which would be slow.
constexpr float LEAST_EXPONENT = -87.0f;
/// log2(e), and ln(2) in two parts, of which the first one has few bits.
constexpr float LOG2_E = 1.44269504f, LN2_HIGH = 0.693359375f, LN2_LOW = -2.12194440e-4f;
/// exp(r) = 1 + r + r^2 * p(r) for |r| <= ln(2) / 2: the polynomial of Cephes' expf (Moshier).
constexpr float EXP_TERMS[] = {1.9875691500e-4f, 1.3981999507e-3f, 8.3334519073e-3f,
                               4.1665795894e-2f, 1.6666665459e-1f, 5.0000001201e-1f};

#if defined(__AVX512F__)

using Sixteen = __m512;

inline Sixteen all(float value) { return _mm512_set1_ps(value); }
inline Sixteen load(const float * from) { return _mm512_loadu_ps(from); }
inline __mmask16 first_lanes(int64_t count) { return static_cast<__mmask16>(count >= LANES ? 0xffff : (1 << count) - 1); }
inline Sixteen load_some(const float * from, int64_t count, float otherwise) {
    return _mm512_mask_loadu_ps(all(otherwise), first_lanes(count), from);
}
inline void store_some(float * to, Sixteen values, int64_t count) {
    _mm512_mask_storeu_ps(to, first_lanes(count), values);
}
inline Sixteen plus(Sixteen a, Sixteen b) { return _mm512_add_ps(a, b); }
inline Sixteen minus(Sixteen a, Sixteen b) { return _mm512_sub_ps(a, b); }
inline Sixteen times(Sixteen a, Sixteen b) { return _mm512_mul_ps(a, b); }
inline Sixteen larger(Sixteen a, Sixteen b) { return _mm512_max_ps(a, b); }
inline float largest_of(Sixteen values) { return _mm512_reduce_max_ps(values); }
inline float sum_of(Sixteen values) { return _mm512_reduce_add_ps(values); }
inline bool are_numbers(Sixteen values) { return _mm512_cmp_ps_mask(values, values, _CMP_UNORD_Q) == 0; }
/// A bit for each lane that is at least the limit's.
inline uint32_t at_least(Sixteen values, Sixteen limit) { return _mm512_cmp_ps_mask(values, limit, _CMP_GE_OQ); }
/// The values where `compared` is at least the limit, 0 elsewhere.
inline Sixteen if_at_least(Sixteen compared, Sixteen limit, Sixteen values) {
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(compared, limit, _CMP_GE_OQ), values);
}

inline int64_t how_many(uint32_t lanes) { return _mm_popcnt_u32(lanes); }
/// Stores the lanes of the mask one behind the other, and their numbers from `first` on; gives how many they are.
inline int64_t keep_lanes(Sixteen values, uint32_t mask, int64_t first, int64_t * places, float * kept) {
    const int64_t count = how_many(mask);
    const __m512i lanes = _mm512_maskz_compress_epi32(
        static_cast<__mmask16>(mask), _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
    const __m512i start = _mm512_set1_epi64(first);
    const __m512i low = _mm512_add_epi64(_mm512_cvtepi32_epi64(_mm512_castsi512_si256(lanes)), start);
    const __m512i high = _mm512_add_epi64(_mm512_cvtepi32_epi64(_mm512_extracti64x4_epi64(lanes, 1)), start);
    const uint32_t stored = first_lanes(count);
    _mm512_mask_storeu_epi64(places, static_cast<__mmask8>(stored), low);
    _mm512_mask_storeu_epi64(places + LANES / 2, static_cast<__mmask8>(stored >> 8), high);
    store_some(kept, _mm512_maskz_compress_ps(static_cast<__mmask16>(mask), values), count);
    return count;
}

/// e to each power, none of them above 88; relative error about 1e-7.
inline Sixteen exp_of(Sixteen x) {
    const __mmask16 counts = _mm512_cmp_ps_mask(x, all(LEAST_EXPONENT), _CMP_GE_OQ);
    x = larger(x, all(LEAST_EXPONENT));
    const Sixteen whole = _mm512_roundscale_ps(times(x, all(LOG2_E)), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    Sixteen r = _mm512_fnmadd_ps(whole, all(LN2_HIGH), x);
    r = _mm512_fnmadd_ps(whole, all(LN2_LOW), r);
    Sixteen p = all(EXP_TERMS[0]);
    for (int i = 1; i < 6; i++) {
        p = _mm512_fmadd_ps(p, r, all(EXP_TERMS[i]));
    }
    p = _mm512_fmadd_ps(p, times(r, r), plus(r, all(1.0f)));
    return _mm512_maskz_scalef_ps(counts, p, whole);
}

#else

struct Sixteen {
    __m256 low, high;
};

inline Sixteen all(float value) { return {_mm256_set1_ps(value), _mm256_set1_ps(value)}; }
inline Sixteen load(const float * from) { return {_mm256_loadu_ps(from), _mm256_loadu_ps(from + LANES / 2)}; }
inline Sixteen load_some(const float * from, int64_t count, float otherwise) {
    float lanes[LANES];
    for (int64_t i = 0; i < LANES; i++) {
        lanes[i] = i < count ? from[i] : otherwise;
    }
    return load(lanes);
}
inline void store_some(float * to, Sixteen values, int64_t count) {
    if (count >= LANES) {
        _mm256_storeu_ps(to, values.low);
        _mm256_storeu_ps(to + LANES / 2, values.high);
        return;
    }
    float lanes[LANES];
    store_some(lanes, values, LANES);
    std::memcpy(to, lanes, sizeof(float) * static_cast<size_t>(count));
}
inline Sixteen plus(Sixteen a, Sixteen b) { return {_mm256_add_ps(a.low, b.low), _mm256_add_ps(a.high, b.high)}; }
inline Sixteen minus(Sixteen a, Sixteen b) { return {_mm256_sub_ps(a.low, b.low), _mm256_sub_ps(a.high, b.high)}; }
inline Sixteen times(Sixteen a, Sixteen b) { return {_mm256_mul_ps(a.low, b.low), _mm256_mul_ps(a.high, b.high)}; }
inline Sixteen larger(Sixteen a, Sixteen b) { return {_mm256_max_ps(a.low, b.low), _mm256_max_ps(a.high, b.high)}; }
inline float largest_of(Sixteen values) {
    const __m256 eight = _mm256_max_ps(values.low, values.high);
    __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    four = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(four, _mm_movehdup_ps(four)));
}
inline float sum_of(Sixteen values) {
    const __m256 eight = _mm256_add_ps(values.low, values.high);
    __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    four = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(four, _mm_movehdup_ps(four)));
}
inline bool are_numbers(Sixteen values) {
    return _mm256_movemask_ps(_mm256_cmp_ps(values.low, values.high, _CMP_UNORD_Q)) == 0;
}
/// A bit for each lane that is at least the limit's.
inline uint32_t at_least(Sixteen values, Sixteen limit) {
    const int low = _mm256_movemask_ps(_mm256_cmp_ps(values.low, limit.low, _CMP_GE_OQ));
    const int high = _mm256_movemask_ps(_mm256_cmp_ps(values.high, limit.high, _CMP_GE_OQ));
    return static_cast<uint32_t>(low | high << 8);
}
/// The values where `compared` is at least the limit, 0 elsewhere.
inline Sixteen if_at_least(Sixteen compared, Sixteen limit, Sixteen values) {
    return {_mm256_and_ps(_mm256_cmp_ps(compared.low, limit.low, _CMP_GE_OQ), values.low),
            _mm256_and_ps(_mm256_cmp_ps(compared.high, limit.high, _CMP_GE_OQ), values.high)};
}

inline int64_t how_many(uint32_t lanes) { return _mm_popcnt_u32(lanes); }
/// Stores the lanes of the mask one behind the other, and their numbers from `first` on; gives how many they are.
inline int64_t keep_lanes(Sixteen values, uint32_t mask, int64_t first, int64_t * places, float * kept) {
    float lanes[LANES];
    store_some(lanes, values, LANES);
    int64_t count = 0;
    for (int64_t i = 0; i < LANES && mask >> i != 0; i++) {
        places[count] = first + i;  // What is not kept is written over: there is room up to this lane.
        kept[count] = lanes[i];
        count += (mask >> i) & 1;
    }
    return count;
}

inline __m256 exp_of(__m256 x) {
    const __m256 least = _mm256_set1_ps(LEAST_EXPONENT);
    const __m256 counts = _mm256_cmp_ps(x, least, _CMP_GE_OQ);
    x = _mm256_max_ps(x, least);
    const __m256 whole = _mm256_round_ps(_mm256_mul_ps(x, _mm256_set1_ps(LOG2_E)),
                                         _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    __m256 r = _mm256_fnmadd_ps(whole, _mm256_set1_ps(LN2_HIGH), x);
    r = _mm256_fnmadd_ps(whole, _mm256_set1_ps(LN2_LOW), r);
    __m256 p = _mm256_set1_ps(EXP_TERMS[0]);
    for (int i = 1; i < 6; i++) {
        p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(EXP_TERMS[i]));
    }
    p = _mm256_fmadd_ps(p, _mm256_mul_ps(r, r), _mm256_add_ps(r, _mm256_set1_ps(1.0f)));
    const __m256i exponent = _mm256_add_epi32(_mm256_cvtps_epi32(whole), _mm256_set1_epi32(127));
    return _mm256_and_ps(counts, _mm256_mul_ps(p, _mm256_castsi256_ps(_mm256_slli_epi32(exponent, 23))));
}
/// e to each power, none of them above 88; relative error about 1e-7.
inline Sixteen exp_of(Sixteen x) { return {exp_of(x.low), exp_of(x.high)}; }

#endif

}  // namespace outrider
