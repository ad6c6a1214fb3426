// Four lanes: NEON with dot products (ARMv8.2 dotprod, which every processor with i8mm has, too). lanes.h says what each
// name is.
//
// Weights stay signed bytes. Four numbers of a token are taken from a register by their place, so that none is copied to
// all lanes first: that makes products of eight bytes (i8mm) no quicker, whose weights and numbers are to be brought
// into pairs of rows and of tokens before, and whose sums are to be parted behind.
#pragma once

#include <arm_neon.h>

#include "lanes.h"

namespace outrider {
inline namespace lanes {

using Vec = int32x4_t;
using Reals = float32x4_t;
using Mask = uint32x4_t;

constexpr int ROWS = 4;
constexpr bool PACKS = false;
constexpr int EIGHT_BIT_BESIDE = 4;
constexpr int TALL_BESIDE = 0;
constexpr int MOST_AS_ONE = 8;
constexpr int SUPER_BLOCKS_BESIDE = 4;
constexpr int SUPER_BLOCKS_TALL = 0;
constexpr int SUPER_BLOCKS_TALL_AS_ONE = 1;
constexpr int float_rows(int) { return 4; }
constexpr int FLOAT_COLUMNS = 5;
constexpr int ATTENTION_COLUMNS = 6;
constexpr int ATTENTION_VECTORS = 4;

inline int8x16_t bytes_of(Vec x) { return vreinterpretq_s8_s32(x); }
inline uint8x16_t ubytes_of(Vec x) { return vreinterpretq_u8_s32(x); }
inline int16x8_t words_of(Vec x) { return vreinterpretq_s16_s32(x); }
inline uint16x8_t uwords_of(Vec x) { return vreinterpretq_u16_s32(x); }
inline uint32x4_t udwords_of(Vec x) { return vreinterpretq_u32_s32(x); }
inline Vec vec(int8x16_t x) { return vreinterpretq_s32_s8(x); }
inline Vec vec(uint8x16_t x) { return vreinterpretq_s32_u8(x); }
inline Vec vec(int16x8_t x) { return vreinterpretq_s32_s16(x); }
inline Vec vec(uint16x8_t x) { return vreinterpretq_s32_u16(x); }
inline Vec vec(uint32x4_t x) { return vreinterpretq_s32_u32(x); }

inline Vec zero() { return vdupq_n_s32(0); }
inline Vec all(int32_t x) { return vdupq_n_s32(x); }
inline Vec all_words(int16_t x) { return vec(vdupq_n_s16(x)); }
inline Vec all_bytes(int8_t x) { return vec(vdupq_n_s8(x)); }
inline Reals real(float x) { return vdupq_n_f32(x); }

// Operators of the compilers, which know a shift by a constant when they see one.
inline Vec and_bits(Vec a, Vec b) { return a & b; }
inline Vec or_bits(Vec a, Vec b) { return a | b; }
inline Vec xor_bits(Vec a, Vec b) { return a ^ b; }
inline Vec words_right(Vec x, int n) { return vec(uwords_of(x) >> static_cast<uint16_t>(n)); }
inline Vec signed_words_right(Vec x, int n) { return vec(words_of(x) >> static_cast<int16_t>(n)); }
inline Vec words_left(Vec x, int n) { return vec(uwords_of(x) << static_cast<uint16_t>(n)); }
inline Vec dwords_right(Vec x, int n) { return vec(udwords_of(x) >> static_cast<uint32_t>(n)); }
inline Vec dwords_left(Vec x, int n) { return vec(udwords_of(x) << static_cast<uint32_t>(n)); }
inline Vec join_masked(Vec w, Vec x, Vec bits) { return w | (x & bits); }
/// Moves within bytes, so that a mask that follows may be left out by the compiler.
inline Vec move_bytes(Vec x, int n) {
    return n < 0 ? vec(ubytes_of(x) << static_cast<uint8_t>(-n)) : vec(ubytes_of(x) >> static_cast<uint8_t>(n));
}
inline Vec spread_bits(Vec x, int n) {
    const uint32_t at = static_cast<uint32_t>(n) / 8 * 0x01010101;
    const uint32x4_t bytes = {at, at + 0x04040404, at + 0x08080808, at + 0x0c0c0c0c};
    const uint32x4_t bits = vdupq_n_u32(0x08040201u << n % 8);
    const uint8x16_t found = vqtbl1q_u8(ubytes_of(x), vreinterpretq_u8_u32(bytes));
    return vec(vandq_u8(vtstq_u8(found, vreinterpretq_u8_u32(bits)), vdupq_n_u8(16)));
}
inline Vec byte_in_words(Vec x, int n) {
    const uint32_t at = 0xff00ff00 + static_cast<uint32_t>(n) * 0x10001;  // A place that is not there gives 0.
    const uint32x4_t bytes = {at, at + 0x40004, at + 0x80008, at + 0xc000c};
    return vec(vqtbl1q_u8(ubytes_of(x), vreinterpretq_u8_u32(bytes)));
}

inline Vec add_dwords(Vec a, Vec b) { return vaddq_s32(a, b); }
inline Vec sub_dwords(Vec a, Vec b) { return vsubq_s32(a, b); }
inline Vec add_words(Vec a, Vec b) { return vec(vaddq_s16(words_of(a), words_of(b))); }
inline Vec sub_words(Vec a, Vec b) { return vec(vsubq_s16(words_of(a), words_of(b))); }
inline Vec mul_words(Vec a, Vec b) { return vec(vmulq_s16(words_of(a), words_of(b))); }

inline Vec table16(const void * at) { return vec(vld1q_s8(static_cast<const int8_t *>(at))); }
inline Vec lookup(Vec table, Vec x) { return vec(vqtbl1q_s8(bytes_of(table), ubytes_of(x))); }

inline Vec signed_byte(Vec x, int n) { return (x << (24 - 8 * n)) >> 24; }
inline Reals to_reals(Vec x) { return vcvtq_f32_s32(x); }
inline Reals low_halves(Vec x) { return vcvt_f32_f16(vreinterpret_f16_u16(vmovn_u32(udwords_of(x)))); }
inline Reals high_halves(Vec x) { return vcvt_f32_f16(vreinterpret_f16_u16(vshrn_n_u32(udwords_of(x), 16))); }
inline Vec bits_of(Reals x) { return vreinterpretq_s32_f32(x); }
inline Reals reals_of(Vec x) { return vreinterpretq_f32_s32(x); }

inline void fetch_first(const char * at) { __builtin_prefetch(at, 0, 3); }
inline void fetch_second(const char * at) { __builtin_prefetch(at, 0, 2); }

inline void load16(const char * at, size_t stride, Vec out[4]) {
    const auto row = [&](int r) { return vec(vld1q_s8(reinterpret_cast<const int8_t *>(at + r * stride))); };
    const Vec a = row(0), b = row(1), c = row(2), d = row(3);
    const auto wide = [](Vec x) { return vreinterpretq_s64_s32(x); };
    const int64x2_t ab_even = wide(vtrn1q_s32(a, b)), ab_odd = wide(vtrn2q_s32(a, b));
    const int64x2_t cd_even = wide(vtrn1q_s32(c, d)), cd_odd = wide(vtrn2q_s32(c, d));
    out[0] = vreinterpretq_s32_s64(vtrn1q_s64(ab_even, cd_even));
    out[1] = vreinterpretq_s32_s64(vtrn1q_s64(ab_odd, cd_odd));
    out[2] = vreinterpretq_s32_s64(vtrn2q_s64(ab_even, cd_even));
    out[3] = vreinterpretq_s32_s64(vtrn2q_s64(ab_odd, cd_odd));
}

inline void load32(const char * at, size_t stride, Vec out[8]) {
    load16(at, stride, out);
    load16(at + 16, stride, out + 4);
}

inline Vec load_vector(const void * at) { return vld1q_s32(static_cast<const int32_t *>(at)); }

inline Vec load4(const char * at, size_t stride) {
    return Vec{dword(at), dword(at + stride), dword(at + 2 * stride), dword(at + 3 * stride)};
}

inline Reals load_scales(const char * at, size_t stride) { return low_halves(load4(at, stride)); }

inline Reals load(const float * at) { return vld1q_f32(at); }
inline Reals load_any(const float * at) { return vld1q_f32(at); }
inline void store(float * at, Reals x) { vst1q_f32(at, x); }
inline void store_any(float * at, Reals x) { vst1q_f32(at, x); }
inline uint16x4_t load_words(const void * at) { return vld1_u16(static_cast<const uint16_t *>(at)); }
inline Reals load_halves(const void * at) { return vcvt_f32_f16(vreinterpret_f16_u16(load_words(at))); }
inline Reals load_bhalves(const void * at) { return vreinterpretq_f32_u32(vshll_n_u16(load_words(at), 16)); }

inline Vec load_counts(const void * at) {
    const uint8x8_t bytes = vreinterpret_u8_s32(vdup_n_s32(dword(at)));
    return vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(vmovl_u8(bytes))));
}

inline Vec load_numbers(const void * at) {
    const int8x8_t bytes = vreinterpret_s8_s32(vdup_n_s32(dword(at)));
    return vmovl_s16(vget_low_s16(vmovl_s8(bytes)));
}

inline Mask first_lanes(int n) { return vcgtq_s32(all(n), Vec{0, 1, 2, 3}); }
/// The first n of four numbers, zeros behind.
template <class Number> struct Some {
    Number numbers[ROWS] = {};
    Some(const void * at, int n) { std::memcpy(numbers, at, std::clamp(n, 0, ROWS) * sizeof(Number)); }
};
inline Reals load_some(const float * at, int n) { return load_any(Some<float>(at, n).numbers); }
inline Reals load_some_halves(const void * at, int n) { return load_halves(Some<uint16_t>(at, n).numbers); }
inline Reals load_some_bhalves(const void * at, int n) { return load_bhalves(Some<uint16_t>(at, n).numbers); }

inline void put_halves(float * out, uint32x2_t x) { store(out, vcvt_f32_f16(vreinterpret_f16_u32(x))); }
inline void put_halves(ggml_fp16_t * out, uint32x2_t x) { vst1_u16(out, vreinterpret_u16_u32(x)); }

template <class Number> void turn_halves(const char * rows, size_t stride, Number * out, int64_t pitch) {
    const uint16x4_t a = load_words(rows), b = load_words(rows + stride);
    const uint16x4_t c = load_words(rows + 2 * stride), d = load_words(rows + 3 * stride);
    const uint32x2_t ab_even = vreinterpret_u32_u16(vtrn1_u16(a, b)), ab_odd = vreinterpret_u32_u16(vtrn2_u16(a, b));
    const uint32x2_t cd_even = vreinterpret_u32_u16(vtrn1_u16(c, d)), cd_odd = vreinterpret_u32_u16(vtrn2_u16(c, d));
    const uint32x2_t turned[ROWS] = {vtrn1_u32(ab_even, cd_even), vtrn1_u32(ab_odd, cd_odd), vtrn2_u32(ab_even, cd_even),
                                     vtrn2_u32(ab_odd, cd_odd)};
    for (int i = 0; i < ROWS; i++) {
        put_halves(out + i * pitch, turned[i]);
    }
}

inline Reals plus(Reals a, Reals b) { return vaddq_f32(a, b); }
inline Reals minus(Reals a, Reals b) { return vsubq_f32(a, b); }
inline Reals times(Reals a, Reals b) { return vmulq_f32(a, b); }
inline Reals over(Reals a, Reals b) { return vdivq_f32(a, b); }
inline Reals larger(Reals a, Reals b) { return vmaxnmq_f32(a, b); }
inline Reals size_of(Reals x) { return vabsq_f32(x); }
inline Reals fused(Reals a, Reals b, Reals c) { return vfmaq_f32(c, a, b); }
inline Reals fused_minus(Reals a, Reals b, Reals c) { return vfmsq_f32(c, a, b); }
inline Reals nearest(Reals x) { return vrndnq_f32(x); }
inline Reals scale_by_power(Reals x, Reals n) {
    return times(x, reals_of(dwords_left(add_dwords(vcvtq_s32_f32(n), all(127)), 23)));
}
inline Reals with_sign_of(Reals x, Reals y) { return vbslq_f32(vdupq_n_u32(0x80000000), y, x); }

inline Mask above(Reals a, Reals b) { return vcgtq_f32(a, b); }
inline Mask not_below(Reals a, Reals b) { return vmvnq_u32(vcltq_f32(a, b)); }
inline Mask differs(Reals a, Reals b) { return vmvnq_u32(vceqq_f32(a, b)); }
inline Mask no_numbers(Reals x) { return differs(x, x); }
inline Mask either(Mask a, Mask b) { return vorrq_u32(a, b); }
inline Mask both(Mask a, Mask b) { return vandq_u32(a, b); }
inline bool any(Mask mask) { return vmaxvq_u32(mask) != 0; }
inline Reals where(Mask mask, Reals yes, Reals no) { return vbslq_f32(mask, yes, no); }

inline float sum_of(Reals x) { return vaddvq_f32(x); }
inline float largest_of(Reals x) { return vmaxnmvq_f32(x); }
inline float first_of(Reals x) { return vgetq_lane_f32(x, 0); }

inline Vec add_pairs(Vec sum, Vec a, Vec b) {
    const int16x8_t x = words_of(a), y = words_of(b);
    const Vec low = vmull_s16(vget_low_s16(x), vget_low_s16(y)), high = vmull_high_s16(x, y);
    return add_dwords(sum, vpaddq_s32(low, high));
}

constexpr bool FULL_BYTES = false;
constexpr bool NARROW = false;
constexpr int BYTE_OFFSET = 0;
constexpr int BYTE_TOP = SIGNED;

/// See lanes.h.
template <int TOP, int COUNT, int N, class Each>
OUTRIDER_INLINE void dots(Vec (&sums)[N], const Vec * w, const int8_t * const (&y)[N], Each && each) {
    static_assert(TOP <= INT8_MAX && COUNT % 4 == 0);
#pragma GCC unroll 2
    for (int j = 0; j < COUNT; j += 4) {
        for (int i = j; i < j + 4; i++) {
            each(i);
        }
#pragma GCC unroll 8
        for (int c = 0; c < N; c++) {
            const int8x16_t numbers = vld1q_s8(y[c] + 4 * j);
            sums[c] = vdotq_laneq_s32(sums[c], bytes_of(w[j]), numbers, 0);
            sums[c] = vdotq_laneq_s32(sums[c], bytes_of(w[j + 1]), numbers, 1);
            sums[c] = vdotq_laneq_s32(sums[c], bytes_of(w[j + 2]), numbers, 2);
            sums[c] = vdotq_laneq_s32(sums[c], bytes_of(w[j + 3]), numbers, 3);
        }
    }
}

}  // namespace lanes
}  // namespace outrider
