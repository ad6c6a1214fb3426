// Products of mixtures of experts: each column times the weights of the experts that its token was sent to.
//
// ggml has quantised the columns and sorted them by expert when it asks for the first expert's product. That one call
// computes those of all experts: each expert's weights are read once for all its columns, the jobs of all experts are
// shared by all threads, and the first weights of a job are fetched while the one before it is computed, be they the
// next expert's or not.
#pragma once

#include "tiles.h"

namespace outrider {

/// The columns of each expert, as ggml leaves them in its workspace (ggml_compute_forward_mul_mat_id).
struct Routing {
    /// One of the experts of a token: which of them, and the token.
    struct Place {
        int32_t slot, token;
    };

    int64_t experts, most;
    const int64_t * counts;
    const Place * places;

    /// `expert_rows`: the places of expert `expert`.
    Routing(const ggml_tensor * dst, int64_t expert, const int32_t * expert_rows)
        : experts(dst->src[0]->ne[2]), most(dst->src[2]->ne[0] * dst->src[2]->ne[1]),
          counts(reinterpret_cast<const int64_t *>(expert_rows) - expert * most - experts),
          places(reinterpret_cast<const Place *>(expert_rows) - expert * most) {
        static_assert(sizeof(Place) == sizeof(int64_t), "ggml keeps the counts right before the places");
    }

    /// The first expert from `expert` on that has columns, or `experts`.
    int64_t used(int64_t expert) const {
        while (expert < experts && counts[expert] == 0) {
            expert++;
        }
        return expert;
    }

    int64_t distinct() const { return experts - std::count(counts, counts + experts, 0); }
};

template <class Format> struct ExpertProduct {
    using Activations = typename Format::Activations;
    using Column = typename Format::Column;

    const ggml_compute_params * params;
    const ggml_tensor *weights, *input;
    ggml_tensor * dst;
    Routing routing;
    int64_t blocks, row_blocks;
    const Activations * numbers;
    Column * notes;
    char * panels;

    /// `scratch`: workspace of Product::workspace bytes.
    ExpertProduct(const ggml_compute_params * params, ggml_tensor * dst, const Routing & routing, char * scratch)
        : params(params), weights(dst->src[0]), input(dst->src[1]), dst(dst), routing(routing),
          blocks(weights->ne[0] / ggml_blck_size(Format::TYPE)),
          row_blocks(static_cast<int64_t>(ggml_row_size(vec_type(), input->ne[0]) / sizeof(Activations))),
          numbers(static_cast<const Activations *>(params->wdata)), notes(reinterpret_cast<Column *>(scratch)),
          panels(scratch + padded(ggml_nrows(input) * row_blocks * sizeof(Column))) {}

    static ggml_type vec_type() { return ggml_get_type_traits_cpu(Format::TYPE)->vec_dot_type; }

    void run() const {
        if constexpr (!Format::DIRECT) {
            const int64_t all = ggml_nrows(input) * row_blocks;
            const int64_t begin = params->ith * all / params->nth, end = (params->ith + 1) * all / params->nth;
            Format::prepare(numbers + begin, end - begin, notes + begin);
        }
        if (params->ith == 0) {
            ggml_threadpool_chunk_set(params->threadpool, params->nth);
        }
        ggml_barrier(params->threadpool);
        const Cut cut(weights->ne[1], routing.distinct(), params->nth);
        Job job(routing);
        job.advance(routing, cut, params->ith);
        while (job.expert < routing.experts) {
            // Taken early, so that its first rows can be fetched from memory in time.
            Job next = job;
            next.advance(routing, cut, ggml_threadpool_chunk_add(params->threadpool, 1));
            slice(job, cut, next.expert < routing.experts ? start(next, cut) : nullptr);
            job = next;
        }
    }

    /// A chunk of an expert's rows. Jobs are numbered by the experts that have columns, then by chunks.
    struct Job {
        int64_t expert, before = 0, chunk = 0;

        explicit Job(const Routing & routing) : expert(routing.used(0)) {}

        /// Goes on to a job of a higher number, or to none: then `expert` is the number of experts.
        void advance(const Routing & routing, const Cut & cut, int64_t number) {
            for (; before < number / cut.chunks && expert < routing.experts; before++) {
                expert = routing.used(expert + 1);
            }
            chunk = number % cut.chunks;
        }
    };

    const char * start(const Job & job, const Cut & cut) const {
        return static_cast<const char *>(weights->data) + job.expert * weights->nb[2] +
               cut.begin(job.chunk) * weights->nb[1];
    }

    /// The rows of a job times all columns of its expert; `next`: the first weights of the job after it, or null.
    void slice(const Job & job, const Cut & cut, const char * next) const {
        const int64_t count = routing.counts[job.expert];
        const Routing::Place * const places = routing.places + job.expert * routing.most;
        const int64_t passes = (count + MOST_COLUMNS - 1) / MOST_COLUMNS;
        const int most = static_cast<int>((count + passes - 1) / passes);
        const int64_t begin = cut.begin(job.chunk), end = cut.end(job.chunk);
        const WeightRows<Format> rows{start(job, cut), weights->nb[1], blocks, begin, end, next};
        multiply_all(rows, panels, params->ith, count, [&](auto && multiply) {
            Columns<Format> columns;
            for (int64_t c = 0; c < count; c++) {
                add(columns, places[c]);
                if (columns.held == most || c + 1 == count) {
                    multiply(columns, c + 1 == count);
                    columns.held = 0;
                }
            }
        });
    }

    void add(Columns<Format> & columns, const Routing::Place & place) const {
        float * const result = reinterpret_cast<float *>(static_cast<char *>(dst->data) + place.slot * dst->nb[1] +
                                                         place.token * dst->nb[2]);
        const int64_t i11 = place.slot % input->ne[1];
        if constexpr (Format::DIRECT) {
            columns.add(reinterpret_cast<const float *>(static_cast<const char *>(input->data) + i11 * input->nb[1] +
                                                        place.token * input->nb[2]),
                        nullptr, result);
        } else {
            const int64_t first = (place.token * input->ne[1] + i11) * row_blocks;
            columns.add(numbers + first, notes + first, result);
        }
    }
};

}  // namespace outrider
