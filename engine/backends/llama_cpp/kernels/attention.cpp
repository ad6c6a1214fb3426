// Attention of a few tokens to a long cache, which costs little more than that of one token.
//
// llama.cpp's flash attention on the processor goes through the cache for each token and each head alone. Here all
// columns (tokens and heads) that look at the same keys and values go through it together: a block of 32 positions is
// converted once for up to 64 columns. Softmax is taken as in "Online normalizer calculation for softmax"
// (arXiv 1805.02867): a running maximum and sum, block by block.
//
// The result for a column does not depend on other columns, on the number of threads or on how long the view of the
// cache is: blocks and segments start at fixed positions, segments are put together in their order, and a block that a
// column does not see adds exactly nothing.
//
// Where the processor lacks the instructions (lanes.h), llama.cpp's own attention remains.

#define GGML_COMMON_DECL_CPP
#define GGML_COMMON_IMPL_CPP
#include "ggml-common.h"

#include "ggml-cpu-impl.h"
#include "ggml-cpu.h"
#include "ops.h"
#include "simd-mappings.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

extern "C" void ggml_stock_flash_attn_ext(const ggml_compute_params * params, ggml_tensor * dst);

#include "lanes.h"

#ifdef OUTRIDER_LANES

#include "attention_bytes.h"
#include "attention_sums.h"

namespace outrider {
namespace {

/// Positions that are added up alone before they are put together, so that threads can share a long cache.
constexpr int64_t SEGMENT = 512;
/// Columns of a job at most that look at the same head of the cache, and those of all its heads: they share what is
/// converted and fetched, and their sums must have a place in the processor's cache.
constexpr int64_t MOST_SHARING = 72;
constexpr int64_t MOST_HELD = 256;
/// Fewer columns are not worth the converting.
constexpr int64_t FEWEST_SHARING = 12;
/// By how much a score may be above what counts as a column's maximum: weights of e^8 are as exact as those below 1.
constexpr float FAR = 8.0f;
/// Jobs for each thread at least, so that all have about the same work.
constexpr int64_t JOBS_EACH = 3;

/// A thread's memory, on a cache line's start.
float * floats(std::vector<float> & memory, int64_t count) {
    if (memory.size() < static_cast<size_t>(count) + 16) {
        memory.resize(count + 16);
    }
    return reinterpret_cast<float *>((reinterpret_cast<uintptr_t>(memory.data()) + 63) & ~static_cast<uintptr_t>(63));
}

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
        return t->nb[0] == ggml_type_size(t->type) && t->ne[0] % LINE == 0 &&
               (t->type == GGML_TYPE_F32 || ggml_get_type_traits(t->type)->to_float != nullptr);
    }

    static bool fits(const ggml_tensor * dst) {
        const ggml_tensor *q = dst->src[0], *k = dst->src[1], *v = dst->src[2], *mask = dst->src[3];
        return q->type == GGML_TYPE_F32 && q->nb[0] == sizeof(float) && readable(k) && readable(v) &&
               k->ne[2] == v->ne[2] && k->ne[3] == v->ne[3] && q->ne[2] % k->ne[2] == 0 && q->ne[3] == k->ne[3] &&
               (mask == nullptr || (mask->type == GGML_TYPE_F16 && mask->nb[0] == sizeof(ggml_fp16_t)));
    }

    /// How the work is cut into jobs. A job has some heads of the cache, as they lie side by side in memory, and for
    /// each of them the same columns. Segments become jobs where there would be few, then heads, then columns.
    struct Jobs {
        int64_t heads, blocks_of_heads, size, groups, segments, count;

        explicit Jobs(const Attention & a) : segments(1) {
            const int64_t wanted = a.params->nth > 1 ? JOBS_EACH * a.params->nth : 1;
            const int64_t all = a.k->ne[2];
            divide(a, quotient_up(a.columns, MOST_SHARING), all);
            divide(a, groups, std::min(all, MOST_HELD / size));
            if (count < wanted) {
                segments = a.segments;
            }
            while (divide(a, groups, heads) < wanted && heads > 1) {
                heads = quotient_up(heads, 2);
            }
            while (divide(a, groups, heads) < wanted && a.columns >= FEWEST_SHARING * (groups + 1)) {
                groups++;
            }
        }

        int64_t divide(const Attention & a, int64_t wanted_groups, int64_t wanted_heads) {
            size = quotient_up(a.columns, wanted_groups);
            groups = quotient_up(a.columns, size);
            heads = wanted_heads;
            blocks_of_heads = quotient_up(a.k->ne[2], heads);
            count = a.q->ne[3] * blocks_of_heads * groups * segments;
            return count;
        }
    };

    /// Columns begin..begin + size of each of some heads of the cache, and one of the segments.
    struct Job {
        int64_t sequence, head, heads, begin, size, segment;

        Job(const Attention & a, const Jobs & jobs, int64_t number) : segment(number % jobs.segments) {
            number /= jobs.segments;
            begin = number % jobs.groups * jobs.size;
            size = std::min(jobs.size, a.columns - begin);
            number /= jobs.groups;
            head = number % jobs.blocks_of_heads * jobs.heads;
            heads = std::min(jobs.heads, a.k->ne[2] - head);
            sequence = number / jobs.blocks_of_heads;
        }

        int64_t count() const { return heads * size; }
    };

    /// The token and the head of a column. Tokens go first, so that the columns of a job see about the same.
    struct Place {
        int64_t token, head, sequence;
    };

    Place place(int64_t sequence, int64_t head, int64_t column) const {
        return {column / share, head * share + column % share, sequence};
    }

    Place place(const Job & job, int64_t c) const {
        return place(job.sequence, job.head + c / job.size, job.begin + c % job.size);
    }

    /// Memory of a thread.
    struct Room {
        float *keys, *values, *rows, *scores, *sums, *totals;
        ByteQueries * queries;

        Room(const Attention & a, const Jobs & jobs) {
            static thread_local std::vector<float> memory;
            const int64_t most = jobs.heads * jobs.size;
            const int64_t bytes = a.bytes() ? jobs.heads * a.group_blocks(jobs.size) * sizeof(ByteQueries) : 0;
            keys = floats(memory, (BLOCK + ROWS) * a.dk + (BLOCK + 2 * most) * a.dv + ATTENTION_COLUMNS * BLOCK +
                                      quotient_up(bytes, sizeof(float)));
            rows = keys + BLOCK * a.dk;
            values = rows + ROWS * a.dk;
            scores = values + BLOCK * a.dv;
            sums = scores + ATTENTION_COLUMNS * BLOCK;
            totals = sums + most * a.dv;
            queries = reinterpret_cast<ByteQueries *>(totals + most * a.dv);
        }
    };

    void run() const {
        const Jobs jobs(*this);
        const bool split = jobs.segments > 1;
        if (params->ith == 0) {
            ggml_threadpool_chunk_set(params->threadpool, params->nth);
            if (split) {
                static thread_local std::vector<float> memory;
                float * const parts = floats(memory, all_columns() * segments * part_size());
                std::memcpy(params->wdata, &parts, sizeof(parts));
            }
        }
        ggml_barrier(params->threadpool);
        float * parts = nullptr;
        if (split) {
            std::memcpy(&parts, params->wdata, sizeof(parts));
        }
        const Room room(*this, jobs);
        for (int64_t job = params->ith; job < jobs.count; job = ggml_threadpool_chunk_add(params->threadpool, 1)) {
            if (split) {
                part(Job(*this, jobs, job), room, parts);
            } else {
                whole(Job(*this, jobs, job), room);
            }
        }
        if (split) {
            ggml_barrier(params->threadpool);
            join(room, parts);
        }
    }

    /// What the threads leave of a column and a segment: the values, the maximum and the weight.
    int64_t part_size() const { return dv + LINE; }

    int64_t all_columns() const { return q->ne[3] * k->ne[2] * columns; }

    /// All segments for the columns of a job.
    void whole(const Job & job, const Room & room) const {
        Column held[MOST_HELD];
        Sums totals[MOST_HELD];
        open(job, room, held);
        for (int64_t c = 0; c < job.count(); c++) {
            totals[c].values = room.totals + c * dv;
            totals[c].clear(dv);
        }
        for (int64_t s = 0; s < segments; s++) {
            if (segment(job, s, room, held)) {
                for (int64_t c = 0; c < job.count(); c++) {
                    totals[c].add(held[c].sums, dv);
                }
            }
        }
        for (int64_t c = 0; c < job.count(); c++) {
            finish(place(job, c), totals[c]);
        }
    }

    /// One segment for the columns of a job.
    void part(const Job & job, const Room & room, float * parts) const {
        Column held[MOST_HELD];
        open(job, room, held);
        segment(job, job.segment, room, held);
        for (int64_t c = 0; c < job.count(); c++) {
            const int64_t head = job.sequence * k->ne[2] + job.head + c / job.size;
            const int64_t column = head * columns + job.begin + c % job.size;
            float * out = parts + (column * segments + job.segment) * part_size();
            std::copy(held[c].sums.values, held[c].sums.values + dv, out);
            out[dv] = held[c].sums.maximum;
            out[dv + 1] = held[c].sums.weight;
        }
    }

    void join(const Room & room, float * parts) const {
        for (int64_t c = params->ith; c < all_columns(); c += params->nth) {
            Sums total{NOTHING, 0.0f, room.totals};
            total.clear(dv);
            for (int64_t s = 0; s < segments; s++) {
                float * from = parts + (c * segments + s) * part_size();
                total.add(Sums{from[dv], from[dv + 1], from}, dv);
            }
            const int64_t head = c / columns;
            finish(place(head / k->ne[2], head % k->ne[2], c % columns), total);
        }
    }

    void open(const Job & job, const Room & room, Column * held) const {
        for (int64_t c = 0; c < job.count(); c++) {
            const Place at = place(job, c);
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
        for (int64_t head = 0; bytes() && head < job.heads; head++) {
            ByteQueries * queries = room.queries + head * group_blocks(job.size);
            groups(job.size, held + head * job.size, [&](auto n, Column * some, float **) {
                for (int c = 0; c < n; c++) {
                    ByteQueries::put(some[c].query, dk, c, queries);
                }
                queries += dk / QK8_0;
            });
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

    /// The sums of a segment for all columns of a job. Whether any of them sees any of it.
    bool segment(const Job & job, int64_t s, const Room & room, Column * held) const {
        for (int64_t c = 0; c < job.count(); c++) {
            held[c].sums.clear(dv);
            std::fill(held[c].weights, held[c].weights + ROWS, 0.0f);
            std::fill(held[c].errors, held[c].errors + ROWS, 0.0f);
        }
        bool seen = false;
        const int64_t end = std::min(positions, (s + 1) * SEGMENT);
        for (int64_t first = s * SEGMENT; first < end; first += BLOCK) {
            const int size = static_cast<int>(std::min<int64_t>(BLOCK, end - first));
            if (!look(job, first, size, held)) {
                continue;
            }
            seen = true;
            for (int64_t head = 0; head < job.heads; head++) {
                const Rows keys(k, job.sequence, job.head, head, first), values(v, job.sequence, job.head, head, first);
                Ahead later_keys = keys.ahead(head, job.heads), later_values = values.ahead(head, job.heads);
                Column * const columns = held + head * job.size;
                const auto multiply = [&](auto * rows, auto * numbers, int64_t stride) {
                    groups(job.size, columns, [&](auto n, Column * some, float ** sums) {
                        const float * queries[n];
                        for (int c = 0; c < n; c++) {
                            queries[c] = some[c].query;
                        }
                        multiply_keys<n>(rows, dk, queries, room.scores, later_keys);
                        weigh(room.scores, size, n, some);
                        add_all_values<n>(numbers, stride, dv, size, room.scores, sums, later_values);
                    });
                };
                if (bytes()) {
                    const Bytes block(keys, values, size, room.keys, room.values, later_keys, later_values);
                    const ByteQueries * queries = room.queries + head * group_blocks(job.size);
                    groups(job.size, columns, [&](auto n, Column * some, float ** sums) {
                        block.multiply<n>(queries, room.scores);
                        queries += dk / QK8_0;
                        weigh(room.scores, size, n, some);
                        block.add<n>(room.scores, sums, later_values);
                    });
                } else if (lean(job, size)) {
                    ggml_fp16_t * const turned = reinterpret_cast<ggml_fp16_t *>(room.keys);
                    turn_block(keys, turned);
                    multiply(turned, reinterpret_cast<const ggml_fp16_t *>(values.data), values.stride / sizeof(ggml_fp16_t));
                } else {
                    load_keys(keys, size, room.rows, room.keys);
                    load_values(values, size, room.values);
                    multiply(room.keys, room.values, dv);
                }
            }
        }
        for (int64_t c = 0; c < job.count(); c++) {
            held[c].sums.weight = held[c].weight();
        }
        return seen;
    }

    /// Whether keys and values are converted where they are multiplied.
    bool lean(const Job & job, int size) const {
        return size == BLOCK && job.size <= 2 * ATTENTION_COLUMNS && k->type == GGML_TYPE_F16 && v->type == GGML_TYPE_F16;
    }

    /// Whether keys and values are multiplied as whole numbers.
    bool bytes() const { return k->type == GGML_TYPE_Q8_0 && v->type == GGML_TYPE_Q8_0; }

    /// Blocks of the queries of a head's groups.
    int64_t group_blocks(int64_t count) const { return quotient_up(count, ATTENTION_COLUMNS) * (dk / QK8_0); }

    /// What the columns see of a block. Whether any of them sees any of it.
    bool look(const Job & job, int64_t first, int size, Column * held) const {
        bool seen = mask == nullptr;
        for (int64_t c = 0; c < job.count(); c++) {
            if (mask == nullptr) {
                held[c].here = nullptr;
                held[c].hidden = false;
            } else if (c > 0 && held[c].mask == held[c - 1].mask) {
                held[c].here = held[c - 1].here;
                held[c].hidden = held[c - 1].hidden;
            } else {
                const Sight sight(held[c].mask + first, size);
                held[c].here = sight.whole ? nullptr : held[c].mask + first;
                held[c].hidden = !sight.any;
                seen = seen || sight.any;
            }
        }
        return seen;
    }

    /// One block for the columns of a job that look at it, in groups as even as can be had: `use(count, held, sums)`.
    template <class Use> static void groups(int64_t count, Column * held, Use && use) {
        for (int64_t c = 0; c < count;) {
            const int64_t left = count - c, together = quotient_up(left, quotient_up(left, ATTENTION_COLUMNS));
            float * sums[ATTENTION_COLUMNS];
            for (int64_t i = 0; i < together; i++) {
                sums[i] = held[c + i].sums.values;
            }
            with_constant<ATTENTION_COLUMNS>(static_cast<int>(together), [&](auto n) { use(n, held + c, sums); });
            c += together;
        }
    }

    /// From a column's products with the keys of a block its scores, in their place; and its maximum so far.
    void score(float * scores, int size, Column & column) const {
        if (column.hidden) {
            std::fill(scores, scores + BLOCK, NOTHING);
            return;
        }
        Sums & sums = column.sums;
        Reals score[VECTORS];
        Mask higher = first_lanes(0);
        for (int i = 0; i < VECTORS; i++) {
            score[i] = masked(load(scores + i * ROWS), size - i * ROWS, column, i * ROWS);
            store(scores + i * ROWS, score[i]);
            higher = either(higher, above(score[i], real(sums.maximum + FAR)));
        }
        if (any(higher)) {  // Seldom but at the beginning: only then the one highest is looked for, and all sums are scaled.
            Reals most = score[0];
            for (int i = 1; i < VECTORS; i++) {
                most = larger(most, score[i]);
            }
            const float highest = largest_of(most);
            const float factor = sums.rise(highest, dv);
            store(column.weights, times(load(column.weights), real(factor)));
            store(column.errors, times(load(column.errors), real(factor)));
        }
        if (sums.maximum == NOTHING) {
            Mask none = first_lanes(0);
            for (int i = 0; i < VECTORS; i++) {
                none = either(none, no_numbers(score[i]));
            }
            if (any(none)) {  // Whatever the maximum is, the weights are no numbers, and so must the result be.
                sums.maximum = 0.0f;
            }
        }
    }

    /// From the products of some columns with the keys of a block their weights, in their place.
    void weigh(float * scores, int size, int count, Column * held) const {
        for (int c = 0; c < count; c++) {
            score(scores + c * BLOCK, size, held[c]);
        }
        for (int c = 0; c < count; c++, scores += BLOCK) {
            const Level level(held[c].sums.maximum);
            Reals sum = load(held[c].weights), error = load(held[c].errors);
            for (int i = 0; i < VECTORS; i++) {
                const Reals weight = level.weight(load(scores + i * ROWS));
                store(scores + i * ROWS, weight);
                Column::add(sum, error, weight);
            }
            store(held[c].weights, sum);
            store(held[c].errors, error);
        }
    }

    /// The scores of ROWS positions of the block at hand, `left` of which there are, from their products with a column.
    Reals masked(Reals product, int left, const Column & column, int position) const {
        Reals score = times(product, real(scale));
        if (softcap != 0.0f) {
            const Reals cap = real(softcap);
            score = times(cap, tangent(over(score, cap)));
        }
        if (column.here == nullptr && left >= ROWS) {
            return score;
        }
        Mask here = first_lanes(left);
        const Reals nothing = real(NOTHING);
        if (column.here != nullptr) {
            const ggml_fp16_t * mask = column.here + position;
            const Reals bias = left >= ROWS ? load_halves(mask) : load_some_halves(mask, left);
            here = both(here, differs(bias, nothing));
            score = fused(bias, real(column.slope), score);
        }
        return where(here, score, nothing);
    }

    /// Writes a column's result. A sink is a position without a value.
    void finish(const Place & at, Sums & total) const {
        if (sinks != nullptr) {
            const float sink = static_cast<const float *>(sinks->data)[at.head];
            if (sink > total.maximum) {
                total.rise(sink, dv);
            }
            total.weight += Level(total.maximum).weight(sink);
        }
        float * out = reinterpret_cast<float *>(
            static_cast<char *>(dst->data) +
            (at.sequence * dst->ne[2] * dst->ne[1] + at.token * dst->ne[1] + at.head) * dst->nb[1]);
        const Reals share_of_one = real(total.weight == 0.0f ? 0.0f : 1.0f / total.weight);
        for (int64_t i = 0; i < dv; i += ROWS) {
            // Adding 0 makes 0 of -0, which could tell of blocks unseen.
            store_any(out + i, fused(load(total.values + i), share_of_one, real(0.0f)));
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
