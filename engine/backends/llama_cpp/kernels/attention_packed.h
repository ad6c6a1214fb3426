// Keys and values of a quantised cache (Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, IQ4_NL), converted to float32: blocks of 32 numbers
// with a scale and, in some types, a minimum in float16.
//
// The bytes of a block are made numbers in registers, for keys with a position in each lane, for values one row at a time.
// All that is multiplied is exact in float32, so the numbers are those of ggml's own functions to the bit.
//
// A type gives
//   Block     its block; FIFTH: whether a fifth bit of each number lies apart, MINIMUM: whether there is a minimum;
//   NIBBLES   whether numbers have four bits, or a byte;
//   numbers   from the unsigned bytes of some numbers, in any order, signed ones.
#pragma once

#include "attention.h"

namespace outrider {

constexpr int PACKED = 32;

/// Bytes that are less than 128 with `offset` subtracted.
inline Vec centred(Vec bytes, int offset) {
    return xor_bits(add_words(bytes, all_bytes(static_cast<int8_t>(128 - offset))), all_bytes(-128));
}

struct CachedQ8_0 {
    using Block = block_q8_0;
    static constexpr bool NIBBLES = false, FIFTH = false, MINIMUM = false;
    static Vec numbers(Vec bytes) { return bytes; }
};

struct CachedQ4_0 {
    using Block = block_q4_0;
    static constexpr bool NIBBLES = true, FIFTH = false, MINIMUM = false;
    static Vec numbers(Vec bytes) { return centred(bytes, 8); }
};

struct CachedQ4_1 {
    using Block = block_q4_1;
    static constexpr bool NIBBLES = true, FIFTH = false, MINIMUM = true;
    static Vec numbers(Vec bytes) { return bytes; }
};

struct CachedQ5_0 {
    using Block = block_q5_0;
    static constexpr bool NIBBLES = true, FIFTH = true, MINIMUM = false;
    static Vec numbers(Vec bytes) { return centred(bytes, 16); }
};

struct CachedQ5_1 {
    using Block = block_q5_1;
    static constexpr bool NIBBLES = true, FIFTH = true, MINIMUM = true;
    static Vec numbers(Vec bytes) { return bytes; }
};

struct CachedIQ4_NL {
    using Block = block_iq4_nl;
    static constexpr bool NIBBLES = true, FIFTH = false, MINIMUM = false;
    static Vec numbers(Vec bytes) { return lookup(table16(kvalues_iq4nl), bytes); }
};

/// Calls `use` with what this type of a cache gives. Whether it is one of these.
template <class Use> bool with_packed(ggml_type type, Use && use) {
    switch (type) {
        case GGML_TYPE_Q8_0: use(CachedQ8_0()); return true;
        case GGML_TYPE_Q4_0: use(CachedQ4_0()); return true;
        case GGML_TYPE_Q4_1: use(CachedQ4_1()); return true;
        case GGML_TYPE_Q5_0: use(CachedQ5_0()); return true;
        case GGML_TYPE_Q5_1: use(CachedQ5_1()); return true;
        case GGML_TYPE_IQ4_NL: use(CachedIQ4_NL()); return true;
        default: return false;
    }
}

/// Scale and minimum of the block of each lane: the first two float16 numbers of its first four bytes, `begin`.
template <class Type> struct Scaling {
    Reals scale, minimum;

    explicit Scaling(Vec begin) : scale(low_halves(begin)), minimum(real(0.0f)) {
        if constexpr (Type::MINIMUM) {
            minimum = high_halves(begin);
        }
    }

    Reals operator()(Reals number) const {
        if constexpr (Type::MINIMUM) {
            return fused(scale, number, minimum);
        } else {
            return times(scale, number);
        }
    }
};

/// out[i * BLOCK + r] = number i of row r, for ROWS rows of `count` numbers.
template <class Type> void turn_packed(const char * rows, size_t stride, int64_t count, float * out) {
    for (int64_t i = 0; i < count; i += PACKED, rows += sizeof(typename Type::Block), out += PACKED * BLOCK) {
        Vec bytes[8];
        if constexpr (Type::NIBBLES) {
            load16(rows + offsetof(typename Type::Block, qs), stride, bytes);
            for (int j = 0; j < 4; j++) {
                bytes[4 + j] = and_bits(words_right(bytes[j], 4), all_bytes(15));
                bytes[j] = and_bits(bytes[j], all_bytes(15));
            }
        } else {
            load32(rows + offsetof(typename Type::Block, qs), stride, bytes);
        }
        if constexpr (Type::FIFTH) {
            const Vec fifth = load4(rows + offsetof(typename Type::Block, qh), stride);
#pragma GCC unroll 8
            for (int j = 0; j < 8; j++) {
                bytes[j] = or_bits(bytes[j], spread_bits(fifth, 4 * j));
            }
        }
        const Scaling<Type> scaled(load4(rows, stride));
#pragma GCC unroll 8
        for (int j = 0; j < 8; j++) {
            const Vec numbers = Type::numbers(bytes[j]);
#pragma GCC unroll 4
            for (int b = 0; b < 4; b++) {
                store(out + (4 * j + b) * BLOCK, scaled(to_reals(signed_byte(numbers, b))));
            }
        }
    }
}

/// The four bits of numbers 0..15 and those of numbers 16..31, in bytes one after the other.
inline void part_nibbles(const char * at, char * bytes) {
    constexpr uint64_t LOW = 0x0f0f0f0f0f0f0f0f;
    for (int i = 0; i < PACKED / 2; i += 8) {
        uint64_t pairs;
        std::memcpy(&pairs, at + i, sizeof(pairs));
        const uint64_t low = pairs & LOW, high = pairs >> 4 & LOW;
        std::memcpy(bytes + i, &low, sizeof(low));
        std::memcpy(bytes + PACKED / 2 + i, &high, sizeof(high));
    }
}

/// Adds 16 to those of 32 bytes whose bit is set.
inline void add_fifth(const char * at, char * bytes) {
    for (int i = 0; i < PACKED / 8; i++) {
        // Eight times the same byte, in each of which another bit is left; what is not 0 then reaches the highest bit.
        const uint64_t bits = (static_cast<unsigned char>(at[i]) * uint64_t{0x0101010101010101}) & 0x8040201008040201;
        uint64_t eight;
        std::memcpy(&eight, bytes + 8 * i, sizeof(eight));
        eight |= ((bits + 0x7f7f7f7f7f7f7f7f) & 0x8080808080808080) >> 3;
        std::memcpy(bytes + 8 * i, &eight, sizeof(eight));
    }
}

/// A row of `count` numbers.
template <class Type> void widen_packed(const char * row, int64_t count, float * out) {
    alignas(64) char room[std::max<size_t>(PACKED, sizeof(Vec))] = {};
    for (int64_t i = 0; i < count; i += PACKED, row += sizeof(typename Type::Block), out += PACKED) {
        const char * bytes = row + offsetof(typename Type::Block, qs);
        if constexpr (Type::NIBBLES) {
            part_nibbles(bytes, room);
            if constexpr (Type::FIFTH) {
                add_fifth(row + offsetof(typename Type::Block, qh), room);
            }
            for (int at = 0; at < PACKED; at += static_cast<int>(sizeof(Vec))) {
                float * const some = reinterpret_cast<float *>(room + at);
                store(some, reals_of(Type::numbers(bits_of(load(some)))));
            }
            bytes = room;
        }
        const Scaling<Type> scaled(all(dword(row)));
#pragma GCC unroll 8
        for (int j = 0; j < PACKED; j += ROWS) {
            store(out + j, scaled(to_reals(load_numbers(bytes + j))));
        }
    }
}

}  // namespace outrider
