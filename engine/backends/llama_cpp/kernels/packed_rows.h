// How the rows of a tile lie: as in their file, or packed, which is side by side.
//
// A file has each row for itself, block after block. Before the rows can be multiplied side by side their bytes are
// turned around, which takes a third of the time of eight columns with AVX-512 and VNNI, and of one with AVX2 (measured). Packed rows are turned once, when
// a model is loaded: of ROWS rows first the bytes of all blocks, four of each row in a register, then, where a format
// has a scale beside those, the scales of all blocks. They take as much memory as in the file; the products'
// bits are the same.
#pragma once

#include "lanes.h"

namespace outrider {

/// Of a type of blocks: where its bytes begin, a multiple of four of them, and where the scale is that is not among them.
template <class Weights> struct Parts {
    static constexpr size_t BYTES_AT = sizeof(ggml_half), BYTES = sizeof(Weights) - sizeof(ggml_half);
    static constexpr size_t SCALE_AT = 0, SCALE = sizeof(ggml_half);
    static_assert(offsetof(Weights, d) == 0 && BYTES % 4 == 0, "it has parts of its own");
};

struct WholeParts {
    static constexpr size_t BYTES_AT = 0, SCALE_AT = 0, SCALE = 0;
};
template <> struct Parts<block_q4_K> : WholeParts {
    static constexpr size_t BYTES = sizeof(block_q4_K);
};
template <> struct Parts<block_q5_K> : WholeParts {
    static constexpr size_t BYTES = sizeof(block_q5_K);
};
template <> struct Parts<block_q4_1> : WholeParts {
    static constexpr size_t BYTES = sizeof(block_q4_1);
};
template <> struct Parts<block_q5_1> : WholeParts {
    static constexpr size_t BYTES = sizeof(block_q5_1);
};
template <> struct Parts<block_q6_K> {
    static constexpr size_t BYTES_AT = 0, BYTES = offsetof(block_q6_K, d), SCALE_AT = BYTES, SCALE = sizeof(ggml_half);
};
/// Its scale is a byte.
template <> struct Parts<block_mxfp4> {
    static constexpr size_t BYTES_AT = offsetof(block_mxfp4, qs), BYTES = sizeof(block_mxfp4::qs), SCALE_AT = 0, SCALE = 1;
};

/// A block of ROWS rows, `stride` bytes apart.
template <class Weights> struct FileBlock {
    static constexpr bool PACKED = false;

    const char * at;
    size_t stride;

    OUTRIDER_INLINE void load32(size_t from, Vec out[8]) const { lanes::load32(at + from, stride, out); }
    OUTRIDER_INLINE void load16(size_t from, Vec out[4]) const { lanes::load16(at + from, stride, out); }
    OUTRIDER_INLINE Vec load4(size_t from) const { return lanes::load4(at + from, stride); }
    /// The float16 scales. Those at a block's end are read with the bytes before them, never with the next block's.
    OUTRIDER_INLINE Reals scales() const {
        constexpr size_t PLACE = Parts<Weights>::SCALE_AT;
        return PLACE == 0 ? load_scales(at, stride) : high_halves(load4(PLACE - sizeof(ggml_half)));
    }
    /// Scales that are a byte, which the block begins with.
    OUTRIDER_INLINE Vec scale_bytes() const { return and_bits(load4(0), all(255)); }
};

template <class Weights> struct FileRows {
    using Block = FileBlock<Weights>;

    const char * rows;
    size_t stride;

    FileRows(const char * rows, size_t stride, int64_t) : rows(rows), stride(stride) {}

    OUTRIDER_INLINE Block block(int64_t i) const { return {rows + i * sizeof(Weights), stride}; }
};

/// Of a packed block: where its bytes and its scales are. Places are those in a block of the file.
template <class Weights> struct PackedBlock {
    static constexpr bool PACKED = true;

    const char *bytes, *scale;

    OUTRIDER_INLINE void load32(size_t from, Vec out[8]) const { load<8>(from, out); }
    OUTRIDER_INLINE void load16(size_t from, Vec out[4]) const { load<4>(from, out); }
    OUTRIDER_INLINE Vec load4(size_t from) const { return load_vector(bytes + (from - Parts<Weights>::BYTES_AT) * ROWS); }
    OUTRIDER_INLINE Reals scales() const { return load_halves(scale); }
    OUTRIDER_INLINE Vec scale_bytes() const { return load_counts(scale); }

    template <int COUNT> OUTRIDER_INLINE void load(size_t from, Vec * out) const {
#pragma GCC unroll 8
        for (int j = 0; j < COUNT; j++) {
            out[j] = load4(from + 4 * j);
        }
    }
};

template <class Weights> struct PackedRows {
    using Block = PackedBlock<Weights>;
    static constexpr size_t SCALE = Parts<Weights>::SCALE, BYTES = Parts<Weights>::BYTES * ROWS, SCALES = SCALE * ROWS;

    const char *bytes, *scales;

    PackedRows(const char * rows, size_t, int64_t blocks) : bytes(rows), scales(rows + blocks * BYTES) {}

    OUTRIDER_INLINE Block block(int64_t i) const { return {bytes + i * BYTES, scales + i * SCALES}; }

    /// Packs ROWS rows at `from`, `stride` bytes apart, to `to`. `flip`: bits of the bytes that are to be turned.
    static void pack(const char * from, size_t stride, int64_t blocks, char * to, int32_t flip) {
        char * scales = to + blocks * BYTES;
        for (int64_t i = 0; i < blocks; i++, from += sizeof(Weights), scales += SCALES) {
            for (int r = 0; SCALE != 0 && r < ROWS; r++) {
                std::memcpy(scales + r * SCALE, from + r * stride + Parts<Weights>::SCALE_AT, SCALE);
            }
            for (size_t b = 0; b < Parts<Weights>::BYTES; b += 4, to += sizeof(Vec)) {
                const Vec four = lanes::load4(from + Parts<Weights>::BYTES_AT + b, stride);
                const Vec turned = xor_bits(four, all(flip));
                std::memcpy(to, &turned, sizeof(turned));
            }
        }
    }
};

/// How the rows of a format lie that says so (packed_rows.h), and of any other: as in the file.
template <class Format, class = void> struct BlocksOf {
    const char * rows;
    size_t stride;

    BlocksOf(const char * rows, size_t stride, int64_t) : rows(rows), stride(stride) {}

    OUTRIDER_INLINE Format operator[](int64_t i) const {
        return Format(rows + i * sizeof(typename Format::Weights), stride);
    }
};
template <class Format> struct BlocksOf<Format, std::void_t<typename Format::Layout>> {
    typename Format::Layout rows;

    BlocksOf(const char * weights, size_t stride, int64_t blocks) : rows(weights, stride, blocks) {}

    OUTRIDER_INLINE Format operator[](int64_t i) const { return Format(rows.block(i)); }
};

}  // namespace outrider
