// The rules that cut a distribution, each one what engine/sampling/rows.py does, and `choose`, which applies them.
#pragma once

#include <numeric>

#include "row_parts.h"

namespace outrider {
namespace {  // Each file has its own: the compiler fits them to their callers.

/// How many tokens share what top-p leaves out, at a first guess.
constexpr double SPREAD = 64.0;

/// The rules that cut a distribution: engine/sampling_rules.def, in the order in which they are applied.
struct Cuts {
#define SAMPLING_CUT(name, type, off, range, help) type name = off;
#include "../../../sampling_rules.def"
};

constexpr Cuts OFF;

/// What is left of a row: how many tokens, the sum of their weights, and log(sum(exp(logits))) over the whole row.
struct Left {
    int64_t count;
    double mass, normaliser;
    /// The weight of the likeliest token that is left: 1, unless the likeliest one of the row is not among them.
    double best = 1.0;
};

/// The lowest value that is within this many standard deviations of the best one; those of -infinity do not count.
float within_sigmas(Row row, float peak, double deviations) {
    double count = 0.0, sum = 0.0, squares = 0.0;
    for (int64_t block = 0; block < row.count; block += BLOCK) {
        double counts[8] = {}, sums[8] = {}, parts[8] = {};
        const int64_t end = std::min(block + BLOCK, row.count);
        for (int64_t i = block; i < end; i++) {
            const bool possible = row.values[i] > -INF;
            const double below = possible ? static_cast<double>(row.values[i]) - peak : 0.0;
            counts[i % 8] += possible;
            sums[i % 8] += below;
            parts[i % 8] += below * below;
        }
        count += block_sum(counts, 8);
        sum += block_sum(sums, 8);
        squares += block_sum(parts, 8);
    }
    const double mean = sum / count, variance = std::max(squares / count - mean * mean, 0.0);
    const double limit = peak - deviations * std::sqrt(variance);
    const float nearest = static_cast<float>(limit);
    return nearest < limit ? std::nextafter(nearest, INF) : nearest;
}

/// Keeps the smallest set of best tokens whose sum reaches `wanted`. No weight is above 1.
int64_t keep_sum(int64_t count, double wanted, int64_t * tokens, float * weights) {
    const Row row{weights, count};
    const float limit = last_of(0.0f, 1.0f, [=](float least) {
        const double sum = total_from(row, least);
        // Just enough: without any of these, none of which is less than `least`, it would not be.
        return sum < wanted ? Found::too_few : sum - least < wanted ? Found::just_enough : Found::enough;
    });
    const double missing = wanted - total_from(row, std::nextafter(limit, INF));
    const double ties = limit > 0.0f ? std::max(1.0, std::ceil(missing / limit)) : static_cast<double>(count);
    return apply({limit, static_cast<int64_t>(std::min(ties, static_cast<double>(count)))}, count, tokens, weights);
}

/// Keeps those among which is the smallest set of best tokens whose mass reaches `p` of all.
int64_t keep_likely(Row weights, double mass, double p, int64_t * tokens, float * kept) {
    const double left_out = (1.0 - p) * mass;
    double limit = left_out / SPREAD;
    if (total_from(weights, static_cast<float>(limit)) <= p * mass * (1.0 + 1e-6)) {
        // Tokens below this limit have less than what is left out together, whatever the distribution.
        limit = left_out / static_cast<double>(weights.count) * (1.0 - 1e-6);
    }
    return keep_from(weights, static_cast<float>(limit), tokens, kept);
}

/// Keeps the smallest set of tokens, nearest to the expected information first, whose sum reaches `share` of all.
///
/// The information of a token is log(mass) above (peak - logit) / temperature: so is the expected one, and the
/// difference of the two does without it.
int64_t keep_typical(Row row, const Cuts & cuts, float peak, Left left, int64_t * tokens, float * weights) {
    thread_local std::vector<float> held;
    float * nearness = room(held, left.count);
    const double top = peak, temperature = cuts.temperature;
    const auto above = [&](int64_t i) { return (top - row.values[tokens[i]]) / temperature; };
    double expected = 0.0;
    for (int64_t i = 0; i < left.count; i++) {
        expected += weights[i] > 0.0f ? weights[i] * above(i) : 0.0;
    }
    expected /= left.mass;
    const auto distance = [&](int64_t i) { return std::fabs(above(i) - expected); };
    for (int64_t i = 0; i < left.count; i++) {
        nearness[i] = -static_cast<float>(distance(i));
    }
    const auto sum_from = [&](float limit) { return total_from({weights, left.count}, limit, nearness); };
    const double wanted = cuts.typical * left.mass;
    const float limit = last_of(-std::numeric_limits<float>::max(), 0.0f, [&](float least) {
        return sum_from(least) < wanted ? Found::too_few : Found::enough;
    });
    double missing = wanted - sum_from(std::nextafter(limit, INF));
    // Where float32 cannot tell them apart, the nearest ones first, and the lowest ids of these.
    std::vector<int64_t> alike;
    for (int64_t i = 0; i < left.count; i++) {
        if (nearness[i] == limit) {
            alike.push_back(i);
        }
    }
    std::stable_sort(alike.begin(), alike.end(), [&](int64_t a, int64_t b) { return distance(a) < distance(b); });
    for (const int64_t i : alike) {
        nearness[i] = missing > 0.0 ? INF : nearness[i];
        missing -= weights[i];
    }
    int64_t kept = 0;
    for (int64_t i = 0; i < left.count; i++) {
        tokens[kept] = tokens[i];
        weights[kept] = weights[i];
        kept += nearness[i] > limit;
    }
    return kept;
}

/// The weights exp((logit - best) / temperature) of the tokens that the cuts leave, which are applied in their order.
///
/// `tokens`, `weights`: room for all of the row each. What is left gets its ids there, ascending, and its weights.
/// Where all are left `tokens` may stay as it is. `count` is -1 where the best logit is no finite number or one is no
/// number at all. Without `normalises` the normaliser is left out.
Left choose(Row row, const Cuts & cuts, int64_t * tokens, float * weights, bool normalises = true) {
    const float peak = highest(row);
    if (!std::isfinite(peak)) {
        return {-1, 0.0, 0.0};
    }
    const float scale = static_cast<float>(std::min<double>(1.0 / cuts.temperature, std::numeric_limits<float>::max()));
    const bool typical = cuts.typical != OFF.typical;
    Left left = {row.count, 0.0, 0.0};
    const bool best = cuts.top_k != OFF.top_k && cuts.top_k < row.count, near = cuts.top_n_sigma != OFF.top_n_sigma;
    if (best || near) {
        const float least = near ? within_sigmas(row, peak, cuts.top_n_sigma) : -INF;
        if (best) {
            left.count = keep_best(row, cuts.top_k, peak, tokens, weights);
            left.count = near ? apply({least, left.count}, left.count, tokens, weights) : left.count;
        } else {
            left.count = keep_from(row, least, tokens, weights);
        }
        left.mass = weigh({weights, left.count}, peak, scale, weights);
        left.normaliser = normalises ? peak + std::log(weigh(row, peak, 1.0f, nullptr)) : 0.0;
    } else {
        if (normalises) {
            const Sums sums = weigh_twice(row, peak, scale, weights);
            left.mass = sums.scaled;
            left.normaliser = peak + std::log(sums.plain);
        } else {
            left.mass = weigh(row, peak, scale, weights);
        }
        if (typical) {
            std::iota(tokens, tokens + row.count, 0);
        } else if (cuts.top_p != OFF.top_p) {
            left.count = keep_likely({weights, left.count}, left.mass, cuts.top_p, tokens, weights);
        } else if (cuts.min_p != OFF.min_p) {
            left.count = keep_from({weights, left.count}, static_cast<float>(cuts.min_p), tokens, weights);
        }
    }
    if (typical) {
        left.count = keep_typical(row, cuts, peak, left, tokens, weights);
        left.mass = total_from({weights, left.count}, 0.0f);
        left.best = highest({weights, left.count});
    }
    if (cuts.top_p != OFF.top_p) {
        left.count = keep_sum(left.count, cuts.top_p * left.mass, tokens, weights);
    }
    if (cuts.min_p != OFF.min_p) {
        const float limit = std::nextafter(static_cast<float>(cuts.min_p * left.best), -1.0f);
        left.count = apply({limit, 0}, left.count, tokens, weights);
    }
    if (left.count < row.count) {
        left.mass = total_from({weights, left.count}, 0.0f);
    }
    return left;
}

}  // namespace
}  // namespace outrider
