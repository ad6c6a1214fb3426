// Keys and values as they lie in a cache: fetched from memory in time, and converted.
#pragma once

#include "attention_packed.h"

#include <algorithm>

namespace outrider {

/// The rows of a block for one of a job's heads: keys or values.
struct Rows {
    const ggml_tensor * tensor;
    const char *begin, *data;
    size_t stride;

    /// Row `first` and those behind it of head `first_head` + `head`.
    Rows(const ggml_tensor * t, int64_t sequence, int64_t first_head, int64_t head, int64_t first)
        : tensor(t), begin(static_cast<const char *>(t->data) + first * t->nb[1] + first_head * t->nb[2] +
                           sequence * t->nb[3]),
          data(begin + head * t->nb[2]), stride(t->nb[1]) {}

    const char * at(int row) const { return data + row * stride; }

    /// The same in `room`, with zeros in place of the rows from `size` on.
    Rows filled(int size, char * room) const {
        Rows copy = *this;
        copy.data = room;
        copy.stride = ggml_row_size(tensor->type, tensor->ne[0]);
        for (int r = 0; r < size; r++) {
            std::memcpy(room + r * copy.stride, at(r), copy.stride);
        }
        std::memset(room + size * copy.stride, 0, (BLOCK - size) * copy.stride);
        return copy;
    }

    /// What to fetch meanwhile: of the next block as much, the rows of all `heads` of the job as they lie in memory.
    Ahead ahead(int64_t head, int64_t heads) const {
        const size_t all = stride * BLOCK / heads;
        if (stride == heads * tensor->nb[2]) {  // Without gaps: one long row.
            return Ahead(begin + stride * BLOCK + head * all, 0, 0, all, 1, 0, 1);
        }
        return Ahead(begin + (BLOCK + head * BLOCK / heads) * stride, stride, tensor->nb[2],
                     ggml_row_size(tensor->type, tensor->ne[0]), heads, head * BLOCK % heads, BLOCK);
    }
};

inline void widen(const ggml_tensor * t, const char * row, float * out) {
    if (t->type == GGML_TYPE_F16) {
        widen_halves(row, t->ne[0], out);
    } else if (t->type == GGML_TYPE_F32) {
        std::memcpy(out, row, t->ne[0] * sizeof(float));
    } else {
        ggml_get_type_traits(t->type)->to_float(row, out, t->ne[0]);
    }
}

/// Turns ROWS keys that lie `stride` bytes apart. False for a type whose rows must be widened before.
inline bool turn_keys(const ggml_tensor * k, const char * rows, size_t stride, float * out) {
    const int64_t dk = k->ne[0];
    if (k->type == GGML_TYPE_F16) {
        for (int64_t i = 0; i < dk; i += ROWS) {
            turn_halves(rows + i * sizeof(ggml_fp16_t), stride, out + i * BLOCK, BLOCK);
        }
        return true;
    }
    return with_packed(k->type, [&](auto type) { turn_packed<decltype(type)>(rows, stride, dk, out); });
}

/// The keys of a whole block in float16, turned.
inline void turn_block(Rows from, ggml_fp16_t * keys) {
    for (int r = 0; r < BLOCK; r += ROWS) {
        for (int64_t i = 0; i < from.tensor->ne[0]; i += ROWS) {
            turn_halves(from.at(r) + i * sizeof(ggml_fp16_t), from.stride, keys + r + i * BLOCK, BLOCK);
        }
    }
}

/// The keys of `size` positions, turned; behind them the last one again. `room`: a place for ROWS keys.
inline void load_keys(Rows from, int size, float * room, float * keys) {
    const ggml_tensor * const k = from.tensor;
    const int64_t dk = k->ne[0];
    for (int r = 0; r < BLOCK; r += ROWS) {
        if (r + ROWS <= size && turn_keys(k, from.at(r), from.stride, keys + r)) {
            continue;
        }
        for (int i = 0; i < ROWS; i++) {
            widen(k, from.at(std::min(r + i, size - 1)), room + i * dk);
        }
        for (int64_t i = 0; i < dk; i += 4) {
            turn_floats(room + i, dk, keys + i * BLOCK + r);
        }
    }
}

inline void load_values(Rows from, int size, float * values) {
    const ggml_tensor * const v = from.tensor;
    const auto each = [&](auto && widen_row) {
        for (int p = 0; p < size; p++) {
            widen_row(from.at(p), values + p * v->ne[0]);
        }
    };
    const bool packed = with_packed(v->type, [&](auto type) {
        each([&](const char * row, float * out) { widen_packed<decltype(type)>(row, v->ne[0], out); });
    });
    if (!packed) {
        each([&](const char * row, float * out) { widen(v, row, out); });
    }
}

}  // namespace outrider
