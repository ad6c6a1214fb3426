// What products share: how rows are cut into tiles, and a tile of rows times any number of columns.
#pragma once

#include "lanes.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

namespace outrider {

constexpr size_t padded(size_t size) {
    return (size + 63) & ~static_cast<size_t>(63);
}

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

/// Columns from which on a format multiplies twice ROWS rows at once (`tall_tile`), or 0. Results are the same.
template <class Format, class = void> constexpr int TALL_FROM = 0;
template <class Format>
constexpr int TALL_FROM<Format, std::enable_if_t<(Format::TALL_FROM > 0)>> = Format::TALL_FROM;

template <class Tile, class Format, std::size_t... N>
constexpr std::array<Tile, sizeof...(N)> tall_table(std::index_sequence<N...>) {
    return {&Format::template tall_tile<static_cast<int>(N) + TALL_FROM<Format>>...};
}

/// Multiplies rows begin..end, whose weights start at `rows`, with the columns; `next`: weights that are needed then.
template <class Format>
void multiply_rows(const char * rows, size_t stride, int64_t blocks, int64_t begin, int64_t end, const char * next,
                   const Columns<Format> & columns) {
    using Tile = void (*)(const char *, size_t, int64_t, const typename Format::Activations * const *,
                          const typename Format::Column * const *, float * const *, const char *);
    static constexpr auto TILES = tile_table<Tile, Format>(std::make_index_sequence<MOST_COLUMNS>{});
    float * here[MOST_COLUMNS];
    int64_t row = begin;
    if constexpr (TALL_FROM<Format> != 0) {
        constexpr int FROM = TALL_FROM<Format>, TALL = 2 * ROWS;
        static constexpr auto TALL_TILES = tall_table<Tile, Format>(std::make_index_sequence<MOST_COLUMNS + 1 - FROM>{});
        for (; columns.held >= FROM && row + TALL <= end; row += TALL) {
            const char * tile = rows + (row - begin) * stride;
            for (int c = 0; c < columns.held; c++) {
                here[c] = columns.out[c] + row;
            }
            TALL_TILES[columns.held - FROM](tile, stride, blocks, columns.y, columns.notes, here,
                                            row + TALL < end ? tile + TALL * stride : next);
        }
    }
    for (; row < end; row += ROWS) {
        const int64_t first = std::min(row, end - ROWS);  // The last tile may repeat rows of the one before.
        const char * tile = rows + (first - begin) * stride;
        for (int c = 0; c < columns.held; c++) {
            here[c] = columns.out[c] + first;
        }
        TILES[columns.held - 1](tile, stride, blocks, columns.y, columns.notes, here,
                                row + ROWS < end ? tile + ROWS * stride : next);
    }
}

/// Columns from which on rows are unpacked once for all of them: those of a prompt. Results are the same.
constexpr int64_t MANY_COLUMNS = 3 * MOST_COLUMNS;

/// Whether a format does so. With many sums for each block it gains nothing (measured in Q4_K).
template <class Format, class = void> constexpr bool OPENS = false;
template <class Format> constexpr bool OPENS<Format, std::void_t<typename Format::Opened>> = true;

/// Where a thread keeps rows that are unpacked: as many tiles as stay in the cache of its core, in memory of its own.
template <class Format> struct Panel {
    using Opened = typename Format::Opened;
    static constexpr int64_t SIZE = 256 * 1024;

    Opened * memory;  // Or null: rows stay as they are.
    int64_t tiles;

    static int64_t tiles_of(int64_t blocks) {
        return std::clamp<int64_t>(SIZE / (blocks * static_cast<int64_t>(sizeof(Opened))), 1, CHUNK / ROWS);
    }

    /// Bytes for each thread.
    static size_t size(int64_t blocks) { return tiles_of(blocks) * blocks * sizeof(Opened); }

    /// The panel of thread `number` in memory from `first` on, for so many columns.
    Panel(char * first, int number, int64_t blocks, int64_t columns)
        : memory(columns < MANY_COLUMNS ? nullptr : reinterpret_cast<Opened *>(first + number * size(blocks))),
          tiles(memory == nullptr ? CHUNK : tiles_of(blocks)) {}

    void open(const char * rows, size_t stride, int64_t blocks, int64_t begin, int64_t end, const char * next) const {
        Opened * to = memory;
        for (int64_t row = begin; row < end; row += ROWS) {
            const char * tile = rows + (std::min(row, end - ROWS) - begin) * stride;
            const char * later = row + ROWS < end ? tile + ROWS * stride : next;
            const typename Format::Layout lying(tile, stride, blocks);
            for (int64_t i = 0; i < blocks; i++) {
                if (later != nullptr) {
                    fetch<ROWS * sizeof(typename Format::Weights)>(later + i * ROWS * sizeof(typename Format::Weights));
                }
                new (to++) Opened(lying, i);
            }
        }
    }

    /// As multiply_rows, for the rows that are open. Columns that lack in their number are computed for nobody: one way
    /// for all numbers compiles in a sixteenth of the time.
    void multiply(int64_t blocks, int64_t begin, int64_t end, const Columns<Format> & columns) const {
        Columns<Format> all = columns;
        float nobody[2 * ROWS], * here[MOST_COLUMNS];
        while (all.held < MOST_COLUMNS) {
            all.add(all.y[0], all.notes[0], nobody);
        }
        const Opened * tile = memory;
        int64_t row = begin;
        if constexpr (TALL_FROM<Format> != 0) {
            for (; row + 2 * ROWS <= end; row += 2 * ROWS, tile += 2 * blocks) {
                for (int c = 0; c < MOST_COLUMNS; c++) {
                    here[c] = c < columns.held ? all.out[c] + row : nobody;
                }
                Format::template opened_tall_tile<MOST_COLUMNS>(tile, blocks, all.notes, here);
            }
        }
        for (; row < end; row += ROWS, tile += blocks) {
            for (int c = 0; c < MOST_COLUMNS; c++) {
                here[c] = c < columns.held ? all.out[c] + std::min(row, end - ROWS) : nobody;
            }
            Format::template opened_tile<MOST_COLUMNS>(tile, blocks, all.y, all.notes, here);
        }
    }
};

/// Rows of weights, as they are or unpacked.
template <class Format> struct WeightRows {
    const char * first;
    size_t stride;
    int64_t blocks, begin, end;
    const char * next;  // Weights that are needed then, or null.
};

/// Multiplies rows with columns: `each(use)` calls `use(columns, last)` with at most MOST_COLUMNS at a time, as often as
/// it is asked for.
template <class Format, class Each>
void multiply_all(const WeightRows<Format> & rows, char * memory, int number, int64_t count, Each && each) {
    if constexpr (OPENS<Format>) {
        const Panel<Format> panel(memory, number, rows.blocks, count);
        if (panel.memory != nullptr) {
            for (int64_t begin = rows.begin; begin < rows.end; begin += panel.tiles * ROWS) {
                const int64_t end = std::min(begin + panel.tiles * ROWS, rows.end);
                // The last tile may repeat rows of the one before.
                const int64_t from = std::min(begin, end - ROWS);
                const char * first = rows.first + (from - rows.begin) * rows.stride;
                panel.open(first, rows.stride, rows.blocks, from, end, end < rows.end ? first + (end - from) * rows.stride : rows.next);
                each([&](const Columns<Format> & columns, bool) { panel.multiply(rows.blocks, from, end, columns); });
            }
            return;
        }
    }
    each([&](const Columns<Format> & columns, bool last) {
        multiply_rows<Format>(rows.first, rows.stride, rows.blocks, rows.begin, rows.end, last ? rows.next : nullptr, columns);
    });
}

}  // namespace outrider
