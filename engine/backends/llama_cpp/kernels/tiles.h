// What products share: how rows are cut into tiles, and a tile of rows times any number of columns.
#pragma once

#include "lanes.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace outrider {

/// Rows that a thread takes at once: of a matrix for many columns they stay in the cache of its core meanwhile.
constexpr int64_t CHUNK = 64;

/// How `rows` rows of each of `matrices` matrices are cut: into several jobs for each thread, so that one which is held
/// up does not hold up all.
struct Cut {
    int64_t rows, size, chunks;

    Cut(int64_t rows, int64_t matrices, int64_t threads) : rows(rows), size(CHUNK) {
        while (size > ROWS && matrices * rows / size < 8 * threads) {
            size /= 2;
        }
        chunks = std::max<int64_t>(rows / size, 1);  // The last one takes the rest.
    }

    int64_t begin(int64_t chunk) const { return chunk * size; }

    int64_t end(int64_t chunk) const { return chunk + 1 == chunks ? rows : (chunk + 1) * size; }
};

/// Columns that are multiplied together, and where their results go. A column's pointers are those of its beginning.
template <class Format> struct Columns {
    const typename Format::Activations * y[MOST_COLUMNS];
    const typename Format::Column * notes[MOST_COLUMNS];
    float * out[MOST_COLUMNS];
    int held = 0;

    void add(const typename Format::Activations * column, const typename Format::Column * noted, float * result) {
        y[held] = column;
        notes[held] = noted;
        out[held++] = result;
    }
};

template <class Tile, class Format, std::size_t... N>
constexpr std::array<Tile, sizeof...(N)> tile_table(std::index_sequence<N...>) {
    return {&Format::template tile<static_cast<int>(N) + 1>...};
}

/// Multiplies rows begin..end, whose weights start at `rows`, with the columns; `next`: weights that are needed then.
template <class Format>
void multiply_rows(const char * rows, size_t stride, int64_t blocks, int64_t begin, int64_t end, const char * next,
                   const Columns<Format> & columns) {
    using Tile = void (*)(const char *, size_t, int64_t, const typename Format::Activations * const *,
                          const typename Format::Column * const *, float * const *, const char *);
    static constexpr auto TILES = tile_table<Tile, Format>(std::make_index_sequence<MOST_COLUMNS>{});
    float * here[MOST_COLUMNS];
    for (int64_t row = begin; row < end; row += ROWS) {
        const int64_t first = std::min(row, end - ROWS);  // The last tile may repeat rows of the one before.
        const char * tile = rows + (first - begin) * stride;
        for (int c = 0; c < columns.held; c++) {
            here[c] = columns.out[c] + first;
        }
        TILES[columns.held - 1](tile, stride, blocks, columns.y, columns.notes, here,
                                row + ROWS < end ? tile + ROWS * stride : next);
    }
}

}  // namespace outrider
