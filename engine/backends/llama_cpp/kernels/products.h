// Products of weights with a few columns (tokens), which cost hardly more than with one.
//
// Generating text is bound by reading the weights from memory; a product with several columns reads them once. llama.cpp
// unpacks the weights again for each column, which on two cores makes five columns cost three times one. Here a few
// rows are unpacked side by side, once for up to sixteen columns.
//
// The result for a column never depends on the other columns, nor on their number: a token that is verified together
// with others gets the same bits as a token alone. So all numbers of columns, from 1 on, are computed here.
//
// Each products_*.cpp compiles the products of some formats, so that they can be compiled side by side; mul_mat.cpp asks
// them one after the other.
#pragma once

#define GGML_COMMON_DECL_CPP
#define GGML_COMMON_IMPL_CPP
#include "ggml-common.h"

#include "ggml-backend.h"
#include "ggml-cpu-impl.h"
#include "ggml-cpu.h"
#include "simd-mappings.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "lanes.h"
#include "wanted.h"

#ifdef OUTRIDER_LANES

#include "experts.h"
#include "tiles.h"

namespace outrider {

/// The products of some formats. Each function tells whether the weights have one of them; otherwise it does nothing.
struct Products {
    bool (*workspace)(const ggml_tensor * dst, int threads, size_t * size);
    bool (*multiply)(const ggml_compute_params * params, ggml_tensor * dst);
    bool (*multiply_experts)(const ggml_compute_params * params, ggml_tensor * dst, int64_t expert,
                             const int32_t * expert_rows, char * scratch);
};

extern const Products EIGHT_BITS, SMALL_BLOCKS, SCALED_BLOCKS, K_QUANTS, GRIDS, FLOATS;

/// Numbers as a format's products take them: by its own function, where it has one, or ggml's.
template <class Format, class Activations, class = void> struct Quantising {
    static void run(const float * from, Activations * to, int64_t count) {
        ggml_get_type_traits_cpu(ggml_get_type_traits_cpu(Format::TYPE)->vec_dot_type)->from_float(from, to, count);
    }
};
template <class Format, class Activations>
struct Quantising<Format, Activations, std::void_t<decltype(&Format::quantise)>> {
    static void run(const float * from, Activations * to, int64_t count) { Format::quantise(from, to, count); }
};

template <class Format, class Activations> void quantise(const float * from, Activations * to, int64_t count) {
    Quantising<Format, Activations>::run(from, to, count);
}

/// A product dst = src0 * src1 and the places of its parts in the workspace.
template <class Format> struct Product {
    using Activations = typename Format::Activations;
    using Column = typename Format::Column;

    const ggml_compute_params * params;
    const ggml_tensor * weights;
    const ggml_tensor * input;
    ggml_tensor * dst;
    int64_t blocks, columns, row_blocks;
    Activations * numbers;
    Column * notes;
    char * panels;

    Product(const ggml_compute_params * params, ggml_tensor * dst)
        : params(params), weights(dst->src[0]), input(dst->src[1]), dst(dst),
          blocks(weights->ne[0] / ggml_blck_size(Format::TYPE)), columns(ggml_nrows(input)),
          row_blocks(static_cast<int64_t>(row_size(input->ne[0]) / sizeof(Activations))),
          numbers(static_cast<Activations *>(params->wdata)),
          notes(reinterpret_cast<Column *>(static_cast<char *>(params->wdata) + numbers_size(dst))),
          panels(panels_behind(notes, input)) {}

    static ggml_type vec_type() { return ggml_get_type_traits_cpu(Format::TYPE)->vec_dot_type; }

    static size_t row_size(int64_t count) { return ggml_row_size(vec_type(), count); }

    static size_t numbers_size(const ggml_tensor * dst) { return padded(row_size(ggml_nelements(dst->src[1]))); }

    static size_t notes_size(const ggml_tensor * input) {
        return padded(row_size(ggml_nelements(input)) / sizeof(Activations) * sizeof(Column));
    }

    /// Where the threads' panels lie: after the notes, aligned.
    static char * panels_behind(Column * notes, const ggml_tensor * input) {
        return reinterpret_cast<char *>(padded(reinterpret_cast<uintptr_t>(notes) + notes_size(input)));
    }

    /// Bytes of workspace behind those that ggml reckons for the quantised columns.
    static size_t workspace(const ggml_tensor * dst, int threads) {
        if constexpr (Format::DIRECT) {
            return 0;
        } else {
            size_t panels = 0;
            if constexpr (OPENS<Format>) {
                if (ggml_nrows(dst) >= MANY_COLUMNS) {
                    panels = threads * Panel<Format>::size(dst->src[0]->ne[0] / ggml_blck_size(Format::TYPE));
                }
            }
            return notes_size(dst->src[1]) + 192 + panels;
        }
    }

    const char * input_row(int64_t i11, int64_t i12, int64_t i13) const {
        return static_cast<const char *>(input->data) + i11 * input->nb[1] + i12 * input->nb[2] + i13 * input->nb[3];
    }

    /// Quantise the columns, each thread its share of every column.
    void prepare() const {
        const int64_t size = ggml_blck_size(vec_type());
        const int64_t begin = params->ith * row_blocks / params->nth, end = (params->ith + 1) * row_blocks / params->nth;
        for (int64_t c = 0; begin < end && c < columns; c++) {
            const int64_t i11 = c % input->ne[1], i12 = c / input->ne[1] % input->ne[2];
            const char * row = input_row(i11, i12, c / (input->ne[1] * input->ne[2]));
            Activations * quantised = numbers + c * row_blocks + begin;
            quantise<Format>(reinterpret_cast<const float *>(row) + begin * size, quantised, (end - begin) * size);
            Format::prepare(quantised, end - begin, notes + c * row_blocks + begin);
        }
    }

    void run() const {
        if constexpr (!Format::DIRECT) {
            prepare();
        }
        if (params->ith == 0) {
            ggml_threadpool_chunk_set(params->threadpool, params->nth);
        }
        ggml_barrier(params->threadpool);
        const Wanted wanted(params, dst);
        const Cut cut(weights->ne[1], weights->ne[2] * weights->ne[3], params->nth);
        const int64_t jobs = cut.chunks * weights->ne[2] * weights->ne[3];
        int64_t job = params->ith;
        while (job < jobs) {
            // Taken early, so that its first rows can be fetched from memory in time.
            const int64_t next = ggml_threadpool_chunk_add(params->threadpool, 1);
            if (wanted.all()) {
                slice(cut, job, cut.begin(job % cut.chunks), cut.end(job % cut.chunks),
                      next < jobs ? start(cut, next) : nullptr);
            } else {
                wanted.each(cut.begin(job), cut.end(job), [&](int64_t begin, int64_t end) {
                    slice(cut, job, begin, end, nullptr);
                });
            }
            job = next;
        }
    }

    /// The first weights of a job: those of a chunk of one matrix among the weights.
    const char * start(const Cut & cut, int64_t job) const {
        const int64_t matrix = job / cut.chunks, i02 = matrix % weights->ne[2], i03 = matrix / weights->ne[2];
        return static_cast<const char *>(weights->data) + i02 * weights->nb[2] + i03 * weights->nb[3] +
               cut.begin(job % cut.chunks) * weights->nb[1];
    }

    /// Rows of a job times all columns that belong to them; `next`: the first weights of the job after it, or null.
    void slice(const Cut & cut, int64_t job, int64_t begin, int64_t end, const char * next) const {
        const int64_t matrix = job / cut.chunks, i02 = matrix % weights->ne[2], i03 = matrix / weights->ne[2];
        const int64_t r2 = input->ne[2] / weights->ne[2], r3 = input->ne[3] / weights->ne[3];
        const char * first = start(cut, job) + (begin - cut.begin(job % cut.chunks)) * weights->nb[1];
        const int64_t count = input->ne[1] * r2 * r3;
        const int64_t passes = (count + MOST_COLUMNS - 1) / MOST_COLUMNS;
        const int most = static_cast<int>((count + passes - 1) / passes);
        const WeightRows<Format> rows{first, weights->nb[1], blocks, begin, end, next};
        multiply_all(rows, panels, params->ith, count, [&](auto && multiply) {
            Columns<Format> together;
            for (int64_t c = 0; c < count; c++) {
                const int64_t i11 = c % input->ne[1], i12 = i02 * r2 + c / input->ne[1] % r2;
                const int64_t i13 = i03 * r3 + c / (input->ne[1] * r2);
                float * const result = reinterpret_cast<float *>(static_cast<char *>(dst->data) + i11 * dst->nb[1] +
                                                                 i12 * dst->nb[2] + i13 * dst->nb[3]);
                if constexpr (Format::DIRECT) {
                    together.add(reinterpret_cast<const float *>(input_row(i11, i12, i13)), nullptr, result);
                } else {
                    const int64_t place = ((i13 * input->ne[2] + i12) * input->ne[1] + i11) * row_blocks;
                    together.add(numbers + place, notes + place, result);
                }
                if (together.held == most || c + 1 == count) {
                    multiply(together, c + 1 == count);
                    together.held = 0;
                }
            }
        });
    }
};

inline bool fits(const ggml_tensor * dst) {
    const ggml_tensor * weights = dst->src[0];
    const ggml_tensor * input = dst->src[1];
    return weights->ne[1] >= ROWS && weights->nb[0] == ggml_type_size(weights->type) && input->type == GGML_TYPE_F32 &&
           input->nb[0] == sizeof(float) && dst->type == GGML_TYPE_F32 && dst->nb[0] == sizeof(float);
}

/// Calls `use` with the one of the formats that has this type. Whether there is one.
template <class... Formats, class Use> bool with_one(ggml_type type, Use && use) {
    return ((type == Formats::TYPE && (use(Formats{}), true)) || ...);
}

template <class... Formats> struct ProductsOf {
    static bool workspace(const ggml_tensor * dst, int threads, size_t * size) {
        return with_one<Formats...>(dst->src[0]->type, [&](auto format) {
            *size = Product<decltype(format)>::workspace(dst, threads);
        });
    }

    static bool multiply(const ggml_compute_params * params, ggml_tensor * dst) {
        return with_one<Formats...>(dst->src[0]->type, [&](auto format) {
            Product<decltype(format)>(params, dst).run();
        });
    }

    static bool multiply_experts(const ggml_compute_params * params, ggml_tensor * dst, int64_t expert,
                                 const int32_t * expert_rows, char * scratch) {
        return with_one<Formats...>(dst->src[0]->type, [&](auto format) {
            const Routing routing(dst, expert, expert_rows);
            if (expert == routing.used(0)) {  // The others of all experts were computed with the first one's.
                ExpertProduct<decltype(format)>(params, dst, routing, scratch).run();
            }
        });
    }

    static constexpr Products ALL = {workspace, multiply, multiply_experts};
};

}  // namespace outrider

#endif
