// How the rows of a tile lie: as in their file, or packed, which is side by side.
//
// A file has each row for itself, block after block. Before the rows can be multiplied side by side their bytes are
// turned around, which takes a third of the time of eight columns (measured, AVX-512). Packed rows are turned once, when
// a model is loaded: of ROWS rows first the bytes of all blocks, four of each row in a register, then the scales of all
// blocks. They take as much memory as in the file; the products' bits are the same.
//
// A format in blocks that begin with a float16 scale, the other bytes a multiple of four, has PACKED_FLIP: what the
// packed bytes are combined with (exclusive or).
#pragma once

#include "lanes.h"

namespace outrider {

/// A block of ROWS rows, `stride` bytes apart.
struct FileBlock {
    static constexpr bool PACKED = false;

    const char * at;
    size_t stride;

    OUTRIDER_INLINE void load32(size_t from, Vec out[8]) const { lanes::load32(at + from, stride, out); }
    OUTRIDER_INLINE void load16(size_t from, Vec out[4]) const { lanes::load16(at + from, stride, out); }
    OUTRIDER_INLINE Vec load4(size_t from) const { return lanes::load4(at + from, stride); }
    OUTRIDER_INLINE Reals scales(size_t from) const { return load_scales(at + from, stride); }
};

template <class Format> struct FileRows {
    const char * rows;
    size_t stride;

    FileRows(const char * rows, size_t stride, int64_t) : rows(rows), stride(stride) {}

    OUTRIDER_INLINE FileBlock block(int64_t i) const {
        return {rows + i * sizeof(typename Format::Weights), stride};
    }
};

/// Of a packed block: where its bytes and its scales are. Places are those in a block of the file.
struct PackedBlock {
    static constexpr bool PACKED = true;

    const char *bytes, *halves;

    OUTRIDER_INLINE void load32(size_t from, Vec out[8]) const { load<8>(from, out); }
    OUTRIDER_INLINE void load16(size_t from, Vec out[4]) const { load<4>(from, out); }
    OUTRIDER_INLINE Vec load4(size_t from) const { return load_vector(bytes + (from - sizeof(ggml_half)) * ROWS); }
    OUTRIDER_INLINE Reals scales(size_t) const { return load_halves(halves); }

    template <int COUNT> OUTRIDER_INLINE void load(size_t from, Vec * out) const {
#pragma GCC unroll 8
        for (int j = 0; j < COUNT; j++) {
            out[j] = load4(from + 4 * j);
        }
    }
};

template <class Format> struct PackedRows {
    using Weights = typename Format::Weights;
    static constexpr size_t BYTES = (sizeof(Weights) - sizeof(ggml_half)) * ROWS, HALVES = sizeof(ggml_half) * ROWS;
    static_assert(offsetof(Weights, d) == 0 && (sizeof(Weights) - sizeof(ggml_half)) % 4 == 0, "see above");

    const char *bytes, *halves;

    PackedRows(const char * rows, size_t, int64_t blocks) : bytes(rows), halves(rows + blocks * BYTES) {}

    OUTRIDER_INLINE PackedBlock block(int64_t i) const { return {bytes + i * BYTES, halves + i * HALVES}; }

    /// Packs ROWS rows at `from`, `stride` bytes apart, to `to`.
    static void pack(const char * from, size_t stride, int64_t blocks, char * to) {
        char * scales = to + blocks * BYTES;
        for (int64_t i = 0; i < blocks; i++, from += sizeof(Weights), scales += HALVES) {
            for (int r = 0; r < ROWS; r++) {
                std::memcpy(scales + r * sizeof(ggml_half), from + r * stride, sizeof(ggml_half));
            }
            for (size_t b = sizeof(ggml_half); b < sizeof(Weights); b += 4, to += sizeof(Vec)) {
                const Vec four = xor_bits(lanes::load4(from + b, stride), all(Format::PACKED_FLIP));
                std::memcpy(to, &four, sizeof(four));
            }
        }
    }
};

}  // namespace outrider
