// Attention of a few tokens to a long cache, which costs little more than that of one token.
//
// llama.cpp's flash attention on the processor goes through the cache for each token and each head alone. Here all
// columns (tokens and heads) that look at the same keys and values go through it together: a block of 64 positions is
// converted once for up to 64 columns. Softmax is taken as in "Online normalizer calculation for softmax"
// (arXiv 1805.02867): a running maximum and sum, block by block.
//
// The result for a column does not depend on other columns, on the number of threads or on how long the cache's view is:
// blocks and segments start at fixed positions, segments are put together in their order, and a block that a column
// does not see adds exactly nothing.
//
// Where the processor lacks AVX-512, llama.cpp's own attention remains.

#include "ggml-cpu-impl.h"
#include "ggml-cpu.h"
#include "ops.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

extern "C" void ggml_stock_flash_attn_ext(const ggml_compute_params * params, ggml_tensor * dst);

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__) && defined(__AVX512DQ__)

#include "attention.h"

namespace outrider {
namespace {

/// Positions that are added up alone before they are put together, so that threads can share a long cache.
constexpr int64_t SEGMENT = 1024;
/// Columns of a job at most: they share what is converted, and must leave it its place in the processor's cache.
constexpr int64_t MOST_SHARING = 64;
/// Fewer columns are not worth the converting.
constexpr int64_t FEWEST_SHARING = 12;
/// Jobs for each thread at least, so that all have about the same work.
constexpr int64_t JOBS_EACH = 2;

int64_t quotient_up(int64_t a, int64_t b) {
    return (a + b - 1) / b;
}

/// A thread's memory, on a cache line's start.
float * floats(std::vector<float> & memory, int64_t count) {
    if (memory.size() < static_cast<size_t>(count) + 16) {
        memory.resize(count + 16);
    }
    return reinterpret_cast<float *>((reinterpret_cast<uintptr_t>(memory.data()) + 63) & ~static_cast<uintptr_t>(63));
}

/// Maximum, sum of the weights and weighted sum of the values, of one column over some positions.
struct Sums {
    float maximum, weight;
    float * values;

    void clear(int64_t count) {
        maximum = NOTHING;
        weight = 0.0f;
        std::fill(values, values + count, 0.0f);
    }

    void scale(float factor, int64_t count) {
        weight *= factor;
        for (int64_t i = 0; i < count; i += LANES) {
            _mm512_store_ps(values + i, _mm512_mul_ps(_mm512_load_ps(values + i), _mm512_set1_ps(factor)));
        }
    }

    /// Adds the sums over later positions.
    void add(const Sums & later, int64_t count) {
        if (later.maximum == NOTHING) {
            return;
        }
        const float most = std::max(maximum, later.maximum);
        scale(exponential(maximum - most), count);
        maximum = most;
        const __m512 factor = _mm512_set1_ps(exponential(later.maximum - most));
        weight = std::fma(later.weight, _mm512_cvtss_f32(factor), weight);
        for (int64_t i = 0; i < count; i += LANES) {
            const __m512 more = _mm512_load_ps(later.values + i);
            _mm512_store_ps(values + i, _mm512_fmadd_ps(more, factor, _mm512_load_ps(values + i)));
        }
    }
};

/// A token and a head.
struct Column {
    const float * query;
    const ggml_fp16_t * mask;
    float slope;
    Sums sums;
};

struct Attention {
    const ggml_compute_params * params;
    const ggml_tensor *q, *k, *v, *mask, *sinks;
    ggml_tensor * dst;
    int64_t dk, dv, positions, share, columns, segments;
    float scale, max_bias, softcap;

    Attention(const ggml_compute_params * params, ggml_tensor * dst)
        : params(params), q(dst->src[0]), k(dst->src[1]), v(dst->src[2]), mask(dst->src[3]), sinks(dst->src[4]),
          dst(dst), dk(k->ne[0]), dv(v->ne[0]), positions(k->ne[1]), share(q->ne[2] / k->ne[2]),
          columns(q->ne[1] * share), segments(quotient_up(positions, SEGMENT)), scale(parameter(dst, 0)),
          max_bias(parameter(dst, 1)), softcap(parameter(dst, 2)) {}

    static float parameter(const ggml_tensor * dst, int index) {
        float value;
        std::memcpy(&value, dst->op_params + index, sizeof(value));
        return value;
    }

    static bool readable(const ggml_tensor * t) {
        return t->nb[0] == ggml_type_size(t->type) && t->ne[0] % LANES == 0 &&
               (t->type == GGML_TYPE_F32 || ggml_get_type_traits(t->type)->to_float != nullptr);
    }

    static bool fits(const ggml_tensor * dst) {
        const ggml_tensor *q = dst->src[0], *k = dst->src[1], *v = dst->src[2], *mask = dst->src[3];
        return q->type == GGML_TYPE_F32 && q->nb[0] == sizeof(float) && readable(k) && readable(v) &&
               k->ne[2] == v->ne[2] && k->ne[3] == v->ne[3] && q->ne[2] % k->ne[2] == 0 && q->ne[3] % k->ne[3] == 0 &&
               (mask == nullptr || (mask->type == GGML_TYPE_F16 && mask->nb[0] == sizeof(ggml_fp16_t)));
    }

    /// How the work is cut into jobs: by the heads of the cache, by columns, and by segments where jobs would be few.
    struct Jobs {
        int64_t matrices, groups, size, segments, count;

        explicit Jobs(const Attention & a) : matrices(a.k->ne[2] * a.q->ne[3]) {
            const int64_t wanted = JOBS_EACH * a.params->nth;
            groups = quotient_up(a.columns, MOST_SHARING);
            const bool few = a.params->nth > 1 && matrices * groups < wanted;
            segments = few ? a.segments : 1;
            while (few && matrices * groups * segments < wanted && a.columns >= FEWEST_SHARING * (groups + 1)) {
                groups++;
            }
            size = quotient_up(a.columns, groups);
            groups = quotient_up(a.columns, size);
            count = matrices * groups * segments;
        }
    };

    /// Memory of a job.
    struct Room {
        float *keys, *values, *rows, *scores, *sums, *totals;

        explicit Room(const Attention & a) {
            static thread_local std::vector<float> memory;
            const int64_t most = std::min(MOST_SHARING, a.columns);
            keys = floats(memory, (BLOCK + LANES) * a.dk + (BLOCK + 2 * most) * a.dv + TOGETHER * BLOCK);
            rows = keys + BLOCK * a.dk;
            values = rows + LANES * a.dk;
            scores = values + BLOCK * a.dv;
            sums = scores + TOGETHER * BLOCK;
            totals = sums + most * a.dv;
        }
    };

    void run() const {
        const Jobs jobs(*this);
        const bool split = jobs.segments > 1;
        // What the threads put together when all are done: per column and segment the values, maximum and weight.
        const int64_t stride = dv + LANES;
        if (params->ith == 0) {
            ggml_threadpool_chunk_set(params->threadpool, params->nth);
            if (split) {
                static thread_local std::vector<float> memory;
                float * const parts = floats(memory, jobs.matrices * columns * jobs.segments * stride);
                std::memcpy(params->wdata, &parts, sizeof(parts));
            }
        }
        ggml_barrier(params->threadpool);
        float * parts = nullptr;
        if (split) {
            std::memcpy(&parts, params->wdata, sizeof(parts));
        }
        const Room room(*this);
        for (int64_t job = params->ith; job < jobs.count; job = ggml_threadpool_chunk_add(params->threadpool, 1)) {
            const int64_t matrix = job / (jobs.groups * jobs.segments), group = job / jobs.segments % jobs.groups;
            const int64_t begin = group * jobs.size, end = std::min(columns, begin + jobs.size);
            if (split) {
                part(matrix, begin, end, job % jobs.segments, room, parts);
            } else {
                whole(matrix, begin, end, room);
            }
        }
        if (split) {
            ggml_barrier(params->threadpool);
            join(jobs, room, parts);
        }
    }

    /// All segments for the columns begin..end of a matrix.
    void whole(int64_t matrix, int64_t begin, int64_t end, const Room & room) const {
        Column held[MOST_SHARING];
        Sums totals[MOST_SHARING];
        const int count = static_cast<int>(end - begin);
        open(matrix, begin, count, room, held);
        for (int c = 0; c < count; c++) {
            totals[c].values = room.totals + c * dv;
            totals[c].clear(dv);
        }
        for (int64_t s = 0; s < segments; s++) {
            if (segment(matrix, s, count, room, held)) {
                for (int c = 0; c < count; c++) {
                    totals[c].add(held[c].sums, dv);
                }
            }
        }
        for (int c = 0; c < count; c++) {
            finish(matrix, begin + c, totals[c]);
        }
    }

    /// One segment for the columns begin..end of a matrix.
    void part(int64_t matrix, int64_t begin, int64_t end, int64_t s, const Room & room, float * parts) const {
        Column held[MOST_SHARING];
        const int count = static_cast<int>(end - begin);
        open(matrix, begin, count, room, held);
        segment(matrix, s, count, room, held);
        for (int c = 0; c < count; c++) {
            float * out = parts + ((matrix * columns + begin + c) * segments + s) * (dv + LANES);
            std::copy(held[c].sums.values, held[c].sums.values + dv, out);
            out[dv] = held[c].sums.maximum;
            out[dv + 1] = held[c].sums.weight;
        }
    }

    void join(const Jobs & jobs, const Room & room, float * parts) const {
        for (int64_t c = params->ith; c < jobs.matrices * columns; c += params->nth) {
            Sums total{NOTHING, 0.0f, room.totals};
            total.clear(dv);
            for (int64_t s = 0; s < segments; s++) {
                float * from = parts + (c * segments + s) * (dv + LANES);
                total.add(Sums{from[dv], from[dv + 1], from}, dv);
            }
            finish(c / columns, c % columns, total);
        }
    }

    /// The token and the head of a matrix's column. Tokens go first, so that the columns of a job see about the same.
    struct Place {
        int64_t token, head, sequence;
    };

    Place place(int64_t matrix, int64_t column) const {
        return {column / share, matrix % k->ne[2] * share + column % share, matrix / k->ne[2]};
    }

    void open(int64_t matrix, int64_t begin, int count, const Room & room, Column * held) const {
        for (int c = 0; c < count; c++) {
            const Place at = place(matrix, begin + c);
            held[c].query = reinterpret_cast<const float *>(static_cast<const char *>(q->data) + at.token * q->nb[1] +
                                                            at.head * q->nb[2] + at.sequence * q->nb[3]);
            held[c].mask = nullptr;
            if (mask != nullptr) {
                held[c].mask = reinterpret_cast<const ggml_fp16_t *>(
                    static_cast<const char *>(mask->data) + at.token * mask->nb[1] +
                    at.head % mask->ne[2] * mask->nb[2] + at.sequence % mask->ne[3] * mask->nb[3]);
            }
            held[c].slope = slope(at.head);
            held[c].sums.values = room.sums + c * dv;
        }
    }

    /// How steeply a head's mask rises: "Attention with Linear Biases" (arXiv 2108.12409), section 3.
    float slope(int64_t head) const {
        if (max_bias <= 0.0f) {
            return 1.0f;
        }
        int64_t power = 1;
        while (2 * power <= q->ne[2]) {
            power *= 2;
        }
        const auto root = [&](float bias) { return std::pow(2.0f, -bias / static_cast<float>(power)); };
        return head < power ? std::pow(root(max_bias), static_cast<float>(head + 1))
                            : std::pow(root(max_bias / 2.0f), static_cast<float>(2 * (head - power) + 1));
    }

    const char * row(const ggml_tensor * t, int64_t matrix, int64_t position) const {
        const int64_t sequence = matrix / k->ne[2] / (q->ne[3] / t->ne[3]);
        return static_cast<const char *>(t->data) + position * t->nb[1] + matrix % k->ne[2] * t->nb[2] +
               sequence * t->nb[3];
    }

    /// The sums of a segment for all columns held. Whether any of them sees any of it.
    bool segment(int64_t matrix, int64_t s, int count, const Room & room, Column * held) const {
        bool seen = false;
        const int64_t end = std::min(positions, (s + 1) * SEGMENT);
        for (int64_t first = s * SEGMENT; first < end; first += BLOCK) {
            const int size = static_cast<int>(std::min<int64_t>(BLOCK, end - first));
            if (!visible(first, size, count, held)) {
                continue;
            }
            if (!seen) {
                for (int c = 0; c < count; c++) {
                    held[c].sums.clear(dv);
                }
                seen = true;
            }
            load_keys(row(k, matrix, first), size, room);
            load_values(row(v, matrix, first), size, room);
            for (int c = 0; c < count;) {
                // As even groups as can be had.
                const int together = static_cast<int>(quotient_up(count - c, quotient_up(count - c, TOGETHER)));
                block(first, size, together, room, held + c);
                c += together;
            }
        }
        if (!seen) {
            for (int c = 0; c < count; c++) {
                held[c].sums.clear(dv);
            }
        }
        return seen;
    }

    bool visible(int64_t first, int size, int count, const Column * held) const {
        const ggml_fp16_t * last = nullptr;
        for (int c = 0; c < count; c++) {
            if (held[c].mask == nullptr) {
                return true;
            }
            if (held[c].mask != last && any_visible(held[c].mask + first, size)) {
                return true;
            }
            last = held[c].mask;
        }
        return false;
    }

    /// Asks memory for the row a block further on: rows of a head lie apart, which processors do not foresee well.
    static void fetch(const ggml_tensor * t, const char * row) {
        const size_t size = ggml_row_size(t->type, t->ne[0]);
        for (size_t b = 0; b < size; b += 64) {
            _mm_prefetch(row + BLOCK * t->nb[1] + b, _MM_HINT_T0);
        }
    }

    void widen(const ggml_tensor * t, const char * row, float * out) const {
        if (t->type == GGML_TYPE_F16) {
            widen_halves(row, t->ne[0], out);
        } else if (t->type == GGML_TYPE_F32) {
            std::memcpy(out, row, t->ne[0] * sizeof(float));
        } else {
            ggml_get_type_traits(t->type)->to_float(row, out, t->ne[0]);
        }
    }

    /// The keys of `size` positions, turned; behind them the last one again.
    void load_keys(const char * from, int size, const Room & room) const {
        for (int r = 0; r < BLOCK; r += LANES) {
            const char * rows[LANES];
            for (int i = 0; i < LANES; i++) {
                rows[i] = from + std::min(r + i, size - 1) * k->nb[1];
                fetch(k, rows[i]);
            }
            if (k->type == GGML_TYPE_F16) {
                for (int64_t i = 0; i < dk; i += LANES) {
                    turn_halves(rows, i * sizeof(ggml_fp16_t), room.keys + i * BLOCK + r);
                }
                continue;
            }
            for (int i = 0; i < LANES; i++) {
                widen(k, rows[i], room.rows + i * dk);
            }
            for (int64_t i = 0; i < dk; i += 4) {
                turn_floats(room.rows + i, dk, room.keys + i * BLOCK + r);
            }
        }
    }

    void load_values(const char * from, int size, const Room & room) const {
        for (int p = 0; p < size; p++) {
            fetch(v, from + p * v->nb[1]);
            widen(v, from + p * v->nb[1], room.values + p * dv);
        }
    }

    template <std::size_t... N> void block(int size, int count, const Room & room, Column * held, const float ** queries,
                                           float ** sums, int64_t first, std::index_sequence<N...>) const {
        using Keys = void (*)(const float *, int64_t, const float * const *, float *);
        using Values = void (*)(const float *, int64_t, int, const float *, float * const *);
        static constexpr std::array<Keys, sizeof...(N)> KEYS{&multiply_keys<static_cast<int>(N) + 1>...};
        static constexpr std::array<Values, sizeof...(N)> VALUES{&add_all_values<static_cast<int>(N) + 1>...};
        KEYS[count - 1](room.keys, dk, queries, room.scores);
        for (int c = 0; c < count; c++) {
            weigh(room.scores + c * BLOCK, first, size, held[c]);
        }
        VALUES[count - 1](room.values, dv, size, room.scores, sums);
    }

    /// One block for up to TOGETHER columns.
    void block(int64_t first, int size, int count, const Room & room, Column * held) const {
        const float * queries[TOGETHER];
        float * sums[TOGETHER];
        for (int c = 0; c < count; c++) {
            queries[c] = held[c].query;
            sums[c] = held[c].sums.values;
        }
        block(size, count, room, held, queries, sums, first, std::make_index_sequence<TOGETHER>{});
    }

    /// From a column's products with the keys of a block their weights, in their place.
    void weigh(float * scores, int64_t first, int size, Column & column) const {
        __m512 score[VECTORS];
        __m512 most = _mm512_set1_ps(NOTHING);
        for (int i = 0; i < VECTORS; i++) {
            const int left = size - i * LANES;
            const __mmask16 here = left >= LANES ? 0xffff : left <= 0 ? 0 : (1 << left) - 1;
            score[i] = masked(_mm512_load_ps(scores + i * LANES), here, column, first + i * LANES);
            most = _mm512_max_ps(most, score[i]);
        }
        const float highest = _mm512_reduce_max_ps(most);
        Sums & sums = column.sums;
        if (highest > sums.maximum) {
            sums.scale(exponential(sums.maximum - highest), dv);
            sums.maximum = highest;
        }
        if (sums.maximum == NOTHING) {  // Nothing seen so far, and -inf - -inf is no number.
            std::fill(scores, scores + BLOCK, 0.0f);
            return;
        }
        __m512 sum = _mm512_setzero_ps();
        for (int i = 0; i < VECTORS; i++) {
            const __m512 weight = exponential(_mm512_sub_ps(score[i], _mm512_set1_ps(sums.maximum)));
            _mm512_store_ps(scores + i * LANES, weight);
            sum = _mm512_add_ps(sum, weight);
        }
        sums.weight += _mm512_reduce_add_ps(sum);
    }

    __m512 masked(__m512 product, __mmask16 here, const Column & column, int64_t position) const {
        __m512 score = _mm512_mul_ps(product, _mm512_set1_ps(scale));
        if (softcap != 0.0f) {
            const __m512 cap = _mm512_set1_ps(softcap);
            score = _mm512_mul_ps(cap, tangent(_mm512_div_ps(score, cap)));
        }
        const __m512 nothing = _mm512_set1_ps(NOTHING);
        if (column.mask != nullptr) {
            const __m512 bias = _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(here, column.mask + position));
            here = _mm512_mask_cmp_ps_mask(here, bias, nothing, _CMP_NEQ_UQ);
            score = _mm512_fmadd_ps(bias, _mm512_set1_ps(column.slope), score);
        }
        return _mm512_mask_mov_ps(nothing, here, score);
    }

    /// Writes a column's result. A sink is a position without a value.
    void finish(int64_t matrix, int64_t column, Sums & total) const {
        const Place at = place(matrix, column);
        if (sinks != nullptr) {
            const float sink = static_cast<const float *>(sinks->data)[at.head];
            if (sink > total.maximum) {
                total.scale(exponential(total.maximum - sink), dv);
                total.maximum = sink;
            }
            total.weight += exponential(sink - total.maximum);
        }
        float * out = reinterpret_cast<float *>(
            static_cast<char *>(dst->data) +
            (at.sequence * dst->ne[2] * dst->ne[1] + at.token * dst->ne[1] + at.head) * dst->nb[1]);
        const __m512 share_of_one = _mm512_set1_ps(total.weight == 0.0f ? 0.0f : 1.0f / total.weight);
        for (int64_t i = 0; i < dv; i += LANES) {
            // Adding 0 makes 0 of -0, which could tell of blocks unseen.
            const __m512 values = _mm512_load_ps(total.values + i);
            _mm512_storeu_ps(out + i, _mm512_fmadd_ps(values, share_of_one, _mm512_setzero_ps()));
        }
    }
};

bool attend(const ggml_compute_params * params, ggml_tensor * dst) {
    if (params->use_ref || !Attention::fits(dst)) {
        return false;
    }
    Attention(params, dst).run();
    return true;
}

}  // namespace
}  // namespace outrider

#else

namespace outrider {
namespace {

bool attend(const ggml_compute_params *, ggml_tensor *) {
    return false;
}

}  // namespace
}  // namespace outrider

#endif

extern "C" void ggml_compute_forward_flash_attn_ext(const ggml_compute_params * params, ggml_tensor * dst) {
    if (!outrider::attend(params, dst)) {
        ggml_stock_flash_attn_ext(params, dst);
    }
}
