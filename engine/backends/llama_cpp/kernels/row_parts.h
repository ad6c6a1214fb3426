// Parts of what is asked of a row of logits, sixteen of them at once: sums, the best ones, quantiles.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "sixteen.h"

#if defined(_WIN32)
#define OUTRIDER_API extern "C" __declspec(dllexport)
#else
#define OUTRIDER_API extern "C" __attribute__((visibility("default")))
#endif

namespace outrider {
namespace {  // Each file has its own: the compiler fits them to their callers.

constexpr float INF = std::numeric_limits<float>::infinity();
/// Numbers that are added in float32 before their sum goes on in float64.
constexpr int64_t BLOCK = 128;

struct Row {
    const float * values;
    int64_t count;

    /// Sixteen values from `at` on; `otherwise` behind the last one.
    Sixteen part(int64_t at, float otherwise) const {
        return at + LANES <= count ? load(values + at) : load_some(values + at, count - at, otherwise);
    }
};

/// The highest value, or NaN where one of them is no number.
float highest(Row row) {
    constexpr int64_t TOGETHER = 4;
    Sixteen most[TOGETHER] = {all(-INF), all(-INF), all(-INF), all(-INF)};
    bool numbers = true;
    int64_t i = 0;
    for (; i + TOGETHER * LANES <= row.count; i += TOGETHER * LANES) {  // None waits for the one before.
        for (int64_t j = 0; j < TOGETHER; j++) {
            const Sixteen values = load(row.values + i + j * LANES);
            most[j] = larger(most[j], values);
            numbers &= are_numbers(values);
        }
    }
    for (; i < row.count; i += LANES) {
        const Sixteen values = row.part(i, -INF);
        most[0] = larger(most[0], values);
        numbers &= are_numbers(values);
    }
    const Sixteen found = larger(larger(most[0], most[1]), larger(most[2], most[3]));
    return numbers ? largest_of(found) : std::numeric_limits<float>::quiet_NaN();
}

/// exp((value - peak) * scale) of all values into `out` (null: only added up); gives their sum.
double weigh(Row row, float peak, float scale, float * out) {
    const Sixteen top = all(peak), factor = all(scale);
    double total = 0.0;
    for (int64_t block = 0; block < row.count; block += BLOCK) {
        Sixteen sum = all(0.0f);
        const int64_t end = std::min(block + BLOCK, row.count);
        for (int64_t i = block; i < end; i += LANES) {
            const Sixteen weights = exp_of(times(minus(row.part(i, -INF), top), factor));
            sum = plus(sum, weights);
            if (out != nullptr) {
                store_some(out + i, weights, end - i);
            }
        }
        total += sum_of(sum);
    }
    return total;
}

struct Sums {
    double scaled, plain;
};

/// The same, and the sum of exp(value - peak) from the same pass.
Sums weigh_twice(Row row, float peak, float scale, float * out) {
    const Sixteen top = all(peak), factor = all(scale);
    Sums total = {0.0, 0.0};
    for (int64_t block = 0; block < row.count; block += BLOCK) {
        Sixteen scaled = all(0.0f), plain = all(0.0f);
        const int64_t end = std::min(block + BLOCK, row.count);
        for (int64_t i = block; i < end; i += LANES) {
            const Sixteen below = minus(row.part(i, -INF), top);
            const Sixteen weights = exp_of(times(below, factor));
            scaled = plus(scaled, weights);
            plain = plus(plain, exp_of(below));
            store_some(out + i, weights, end - i);
        }
        total.scaled += sum_of(scaled);
        total.plain += sum_of(plain);
    }
    return total;
}

/// The sum of the weights whose `compared` (null: they themselves) are at least `limit`.
double total_from(Row weights, float limit, const float * compared = nullptr) {
    const Row keys{compared == nullptr ? weights.values : compared, weights.count};
    const Sixteen least = all(limit);
    double total = 0.0;
    for (int64_t block = 0; block < weights.count; block += BLOCK) {
        Sixteen sum = all(0.0f);
        const int64_t end = std::min(block + BLOCK, weights.count);
        for (int64_t i = block; i < end; i += LANES) {
            sum = plus(sum, if_at_least(keys.part(i, 0.0f), least, weights.part(i, 0.0f)));
        }
        total += sum_of(sum);
    }
    return total;
}

/// Keeps what is at least `limit`: `tokens` are the places in ascending order, `kept` (it may be the row) the values.
int64_t keep_from(Row row, float limit, int64_t * tokens, float * kept) {
    const Sixteen least = all(limit);
    int64_t count = 0;
    for (int64_t i = 0; i < row.count; i += LANES) {
        const Sixteen values = row.part(i, -INF);
        // What fills up the last sixteen may be as low as the limit.
        const uint32_t inside = row.count - i < LANES ? (1u << (row.count - i)) - 1 : 0xffffu;
        const uint32_t mask = at_least(values, least) & inside;
        if (mask != 0) {
            count += keep_lanes(values, mask, i, tokens + count, kept + count);
        }
    }
    return count;
}

struct Cut {
    float limit;
    /// How many of those that equal the limit belong to what is kept: the first ones.
    int64_t ties;
};

/// Keeps what is above the limit, and as many that equal it as there are `ties`.
int64_t apply(Cut cut, int64_t count, int64_t * tokens, float * values) {
    int64_t kept = 0;
    for (int64_t i = 0; i < count; i++) {
        const float value = values[i];
        const bool tied = value == cut.limit && cut.ties > 0;
        cut.ties -= tied;
        tokens[kept] = tokens[i];
        values[kept] = value;
        kept += tied || value > cut.limit;
    }
    return kept;
}

/// A whole number for a float, in the same order; and back.
int32_t rank_of(float value) {
    int32_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    return bits >= 0 ? bits : static_cast<int32_t>(0x80000000u - static_cast<uint32_t>(bits));
}

float ranked(int32_t rank) {
    const int32_t bits = rank >= 0 ? rank : static_cast<int32_t>(0x80000000u - static_cast<uint32_t>(rank));
    float value;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
}

enum class Found { too_few, enough, just_enough };

/// The highest value from `low` to `high` that `reached` calls enough, or one that it calls just enough.
///
/// Halving needs more passes than choosing pivots among the values, but each is sixteen at once and guesses no branch.
template <typename Reached> float last_of(float low, float high, Reached reached) {
    int64_t first = rank_of(low), last = rank_of(high);
    while (first < last) {
        const int64_t middle = last - (last - first) / 2;
        const float limit = ranked(static_cast<int32_t>(middle));
        const Found found = reached(limit);
        if (found == Found::just_enough) {
            return limit;
        }
        first = found == Found::enough ? middle : first;
        last = found == Found::enough ? last : middle - 1;
    }
    return ranked(static_cast<int32_t>(first));
}

int64_t count_from(Row row, float limit) {
    const Sixteen least = all(limit);
    int64_t count = 0;
    for (int64_t i = 0; i < row.count; i += LANES) {
        count += how_many(at_least(row.part(i, -INF), least));
    }
    return count;
}

/// The k-th highest value, or a lower one that just k reach; `low`: one that at least k reach.
float kth_highest(Row row, int64_t k, float low, float high) {
    return last_of(low, high, [=](float limit) {
        const int64_t count = count_from(row, limit);
        return count < k ? Found::too_few : count > k ? Found::enough : Found::just_enough;
    });
}

/// A value that at least `k` values reach, and not many more: the k-th best of the best ones of small groups.
float reached_by(Row row, int64_t k, float peak) {
    thread_local std::vector<float> best;
    const int64_t vectors = (row.count + LANES - 1) / LANES;
    const int64_t together = std::max<int64_t>(1, 4 * vectors / (k + 4)) * LANES;
    best.clear();
    for (int64_t group = 0; group < row.count; group += together) {
        Sixteen most = all(-INF);
        for (int64_t i = group; i < std::min(group + together, row.count); i += LANES) {
            most = larger(most, row.part(i, -INF));
        }
        best.resize(best.size() + LANES);
        store_some(best.data() + best.size() - LANES, most, LANES);
    }
    const Row groups{best.data(), static_cast<int64_t>(best.size())};
    const float lowest = std::numeric_limits<float>::lowest();
    return count_from(groups, lowest) < k ? -INF : kth_highest(groups, k, lowest, peak);
}

/// The `k` best values with their places, ascending; the first places on ties.
int64_t keep_best(Row row, int64_t k, float peak, int64_t * tokens, float * kept) {
    const float low = reached_by(row, k, peak);
    const int64_t count = keep_from(row, low, tokens, kept);
    const float limit = kth_highest({kept, count}, k, low, peak);
    return apply({limit, k - count_from({kept, count}, std::nextafter(limit, INF))}, count, tokens, kept);
}

template <typename Number> double block_sum(const Number * weights, int64_t count) {
    double lanes[8] = {};
    int64_t i = 0;
    for (; i + 8 <= count; i += 8) {
        for (int64_t j = 0; j < 8; j++) {
            lanes[j] += weights[i + j];
        }
    }
    for (; i < count; i++) {
        lanes[0] += weights[i];
    }
    return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
}

/// Room that grows and stays.
template <typename Number> Number * room(std::vector<Number> & held, int64_t count) {
    if (held.size() < static_cast<size_t>(count)) {
        held.resize(static_cast<size_t>(count));
    }
    return held.data();
}

/// The first index at which the weights up to it exceed `u` of their sum, never one of weight 0; -1: there is no mass.
template <typename Number> int64_t quantile(const Number * weights, int64_t count, double u) {
    thread_local std::vector<double> held;
    double * sums = room(held, count / BLOCK + 1);
    double total = 0.0;
    for (int64_t i = 0; i < count; i += BLOCK) {
        total += sums[i / BLOCK] = block_sum(weights + i, std::min(BLOCK, count - i));
    }
    if (!(total > 0.0 && total < std::numeric_limits<double>::infinity())) {
        return -1;
    }
    const double wanted = u * total;
    double sum = 0.0;
    for (int64_t block = 0; block < count; block += BLOCK) {
        const int64_t end = std::min(block + BLOCK, count);
        const double after = sum + sums[block / BLOCK];
        for (int64_t i = block; i < end && after > wanted; i++) {
            sum += weights[i];
            if (sum > wanted && weights[i] > 0) {
                return i;
            }
        }
        sum = after;
    }
    while (!(weights[count - 1] > 0)) {  // By rounding the sum never exceeded what is wanted.
        count--;
    }
    return count - 1;
}

/// The place of the highest value, the first one on ties.
int64_t place_of(Row row, float peak) {
    const Sixteen least = all(peak);
    int64_t i = 0;
    while (at_least(row.part(i, -INF), least) == 0) {
        i += LANES;
    }
    while (row.values[i] != peak) {
        i++;
    }
    return i;
}

}  // namespace
}  // namespace outrider
