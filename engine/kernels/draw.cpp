// One call for all that a drafted token needs, and one for the verdict on a draft (see engine/native_sampler.py).
//
// What they do is engine/sampling.py and engine/acceptance.py, number by number, with the same random numbers.

#if defined(__AVX512F__) || (defined(__AVX2__) && defined(__FMA__))

#include "row_parts.h"

namespace outrider {
namespace {

/// How the distribution is made of a row. Without a temperature the best token is taken.
struct Rules {
    Cuts cuts;
    float repeat, presence, frequency;
    int32_t penalised;
    uint64_t seed;
    /// A draft's token is not proposed where the best one's probability is below this.
    double least;
};

/// The tokens that are penalised, and how often each came.
struct Counted {
    int64_t count;
    const int64_t * tokens;
    const float * numbers;
};

/// A drafted token and the distribution that it was drawn from: `left` weights, of all ids where `tokens` is null.
struct Proposal {
    int64_t token, left;
    const int64_t * tokens;
    const float * weights;
    double mass, logprob;
};

enum Purpose : uint64_t { DRAFT = 1, ACCEPT, CORRECTION, TARGET };

constexpr int64_t DECLINED = 0, DRAWN = 1, NO_PEAK = -1, NO_MASS = -2;

constexpr uint64_t INITIAL[8] = {0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
                                 0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179};
constexpr uint8_t ORDER[10][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4}, {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13}, {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11}, {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5}, {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0}};

uint64_t turned(uint64_t value, int bits) { return value >> bits | value << (64 - bits); }

/// A number in [0, 1) of this key alone: engine.sampling.uniform. It is BLAKE2b (RFC 7693) of one block of 17 bytes.
double uniform(uint64_t seed, int64_t position, Purpose purpose) {
    const uint64_t message[16] = {seed, static_cast<uint64_t>(position), purpose};
    uint64_t first = INITIAL[0] ^ 0x01010000 ^ 8;  // No key; eight bytes are asked for.
    uint64_t v[16];
    std::copy(INITIAL, INITIAL + 8, v);
    std::copy(INITIAL, INITIAL + 8, v + 8);
    v[0] = first;
    v[12] ^= 17;
    v[14] = ~v[14];
    const auto mix = [&](int a, int b, int c, int d, uint64_t x, uint64_t y) {
        v[a] += v[b] + x;
        v[d] = turned(v[d] ^ v[a], 32);
        v[c] += v[d];
        v[b] = turned(v[b] ^ v[c], 24);
        v[a] += v[b] + y;
        v[d] = turned(v[d] ^ v[a], 16);
        v[c] += v[d];
        v[b] = turned(v[b] ^ v[c], 63);
    };
#pragma GCC unroll 12
    for (int round = 0; round < 12; round++) {
        const uint8_t * order = ORDER[round % 10];
        const auto part = [&](int i) { return message[order[i]]; };
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++) {
            mix(i, i + 4, i + 8, i + 12, part(2 * i), part(2 * i + 1));
        }
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++) {
            mix(i, (i + 1) % 4 + 4, (i + 2) % 4 + 8, (i + 3) % 4 + 12, part(8 + 2 * i), part(9 + 2 * i));
        }
    }
    return static_cast<double>((first ^ v[0] ^ v[8]) >> 11) * 0x1p-53;
}

/// A copy of the row with the penalties (engine.sampling.penalise); the room is the next call's too.
Row penalise(Row row, const Rules & rules, const Counted & counted) {
    thread_local std::vector<float> held;
    float * values = room(held, row.count);
    std::memcpy(values, row.values, sizeof(float) * static_cast<size_t>(row.count));
    for (int64_t i = 0; i < counted.count; i++) {
        if (counted.tokens[i] < 0 || counted.tokens[i] >= row.count) {
            continue;
        }
        float & value = values[counted.tokens[i]];
        if (rules.repeat != 1.0f) {
            value = value > 0.0f ? value / rules.repeat : value * rules.repeat;
        }
        value -= rules.presence;
        value -= rules.frequency * counted.numbers[i];
    }
    return {values, row.count};
}

/// A distribution over the ids, and what the row itself says of them.
struct Distribution {
    Left left;
    /// Null: the weights are those of all ids from 0 on.
    const int64_t * tokens;
    const float * weights;

    /// How likely the token is.
    double of(int64_t token) const {
        int64_t place = token;
        if (tokens != nullptr) {
            place = std::lower_bound(tokens, tokens + left.count, token) - tokens;
            if (place == left.count || tokens[place] != token) {
                return 0.0;
            }
        }
        return place < left.count ? weights[place] / left.mass : 0.0;
    }

    int64_t id(int64_t place) const { return tokens == nullptr ? place : tokens[place]; }
};

/// The weights of what may be drawn: engine.sampling.candidates. The normaliser is always the row's own.
Distribution distribution(Row row, const Rules & rules, const Counted & counted, int64_t * tokens, float * weights) {
    const Row shaped = rules.penalised ? penalise(row, rules, counted) : row;
    const bool draws = rules.cuts.temperature > 0.0;
    Left left = {-1, 1.0, 0.0};
    float own = 0.0f;
    if (draws) {
        left = choose(shaped, rules.cuts, tokens, weights);
    } else {
        own = highest(shaped);
        if (std::isfinite(own)) {
            left.count = 1;
            tokens[0] = place_of(shaped, own);
            weights[0] = 1.0f;
        }
    }
    if (left.count > 0 && (rules.penalised || !draws)) {
        own = rules.penalised ? highest(row) : own;
        left.count = std::isfinite(own) ? left.count : -1;
        left.normaliser = own + std::log(weigh(row, own, 1.0f, nullptr));
    }
    return {left, draws && left.count == row.count ? nullptr : tokens, weights};
}

/// engine.acceptance.residual_distribution, times the target's mass, of the target's tokens; then the token at `u` of it.
int64_t draw_residual(const Distribution & target, const Proposal & draft, double u) {
    thread_local std::vector<double> held;
    double * residual = room(held, target.left.count);
    const double ratio = target.left.mass / draft.mass;
    const auto without = [&](int64_t i, int64_t j) {
        return std::max(target.weights[i] - draft.weights[j] * ratio, 0.0);
    };
    const int64_t count = target.left.count;
    if (target.tokens == nullptr && draft.tokens == nullptr) {
        const int64_t both = std::min(count, draft.left);
        for (int64_t i = 0; i < both; i++) {
            residual[i] = without(i, i);
        }
        std::copy(target.weights + both, target.weights + count, residual + both);
    } else {
        std::copy(target.weights, target.weights + count, residual);
        for (int64_t i = 0, j = 0; i < count && j < draft.left;) {
            const int64_t mine = target.id(i), theirs = draft.tokens == nullptr ? j : draft.tokens[j];
            if (mine == theirs) {
                residual[i] = without(i, j);
            }
            // Where one has all ids, the other one's next is a step away.
            i = mine == theirs ? i + 1 : mine > theirs ? i : target.tokens == nullptr ? theirs : i + 1;
            j = mine == theirs ? j + 1 : mine < theirs ? j : draft.tokens == nullptr ? mine : j + 1;
        }
    }
    const int64_t place = quantile(residual, count, u);
    return target.id(place >= 0 ? place : quantile(target.weights, count, u));
}

}  // namespace
}  // namespace outrider

using outrider::Counted;
using outrider::Distribution;
using outrider::Proposal;
using outrider::Row;
using outrider::Rules;

/// engine.sampling.uniform, for a test.
OUTRIDER_API double outrider_uniform(uint64_t seed, int64_t position, int64_t purpose) {
    return outrider::uniform(seed, position, static_cast<outrider::Purpose>(purpose));
}

/// Draws a draft's next token into `found`, with the distribution in `tokens` and `weights` (room for `count` each).
///
/// 1: drawn; 0: it is not sure enough of the best one; -1: the best logit is no finite number or one is no number at all.
OUTRIDER_API int64_t outrider_propose(const float * logits, int64_t count, const Rules * rules, int64_t position,
                                      const Counted * counted, int64_t * tokens, float * weights, Proposal * found) {
    const Distribution drawn = outrider::distribution({logits, count}, *rules, *counted, tokens, weights);
    if (drawn.left.count < 0) {
        return outrider::NO_PEAK;
    }
    const bool draws = rules->cuts.temperature > 0.0;
    if (rules->least > 0.0 && (draws || !rules->penalised)) {
        // A best token has the weight 1.
        const double highest = draws ? 1.0 / drawn.left.mass : std::exp(logits[drawn.id(0)] - drawn.left.normaliser);
        if (highest < rules->least) {
            return outrider::DECLINED;
        }
    }
    const double u = draws ? outrider::uniform(rules->seed, position, outrider::DRAFT) : 0.0;
    const int64_t token = drawn.id(draws ? outrider::quantile(weights, drawn.left.count, u) : 0);
    *found = {token, drawn.left.count, drawn.tokens, weights, drawn.left.mass, logits[token] - drawn.left.normaliser};
    return outrider::DRAWN;
}

/// Judges the `proposed` tokens with the rows of logits that belong to them, and draws the token that ends the round.
///
/// With `proposals` a token is kept or corrected by its distribution, without (null) where it is the one that the target
/// draws. Row `proposed` and further ones have no token to judge. `tokens`, `logprobs`: room for `rows` each.
/// Gives how many tokens there are, and in `kept` how many of these are proposals. -1: see outrider_propose; `kept` tells
/// the row.
OUTRIDER_API int64_t outrider_judge(const float * logits, int64_t count, int64_t rows, const Rules * rules,
                                    int64_t position, const Counted * counted, const int64_t * proposed,
                                    int64_t proposed_count, const Proposal * proposals, int64_t * tokens,
                                    double * logprobs, int64_t * kept) {
    thread_local std::vector<int64_t> held_tokens;
    thread_local std::vector<float> held_weights;
    int64_t * left = outrider::room(held_tokens, count);
    float * weights = outrider::room(held_weights, count);
    for (int64_t i = 0; i < rows; i++, position++) {
        const Row row{logits + i * count, count};
        *kept = i;
        const Distribution target = outrider::distribution(row, *rules, *counted, left, weights);
        if (target.left.count < 0) {
            return outrider::NO_PEAK;
        }
        const bool judged = i < proposed_count;
        const auto draw = [&](outrider::Purpose purpose) { return outrider::uniform(rules->seed, position, purpose); };
        bool keeps;
        if (judged && proposals != nullptr) {
            const Proposal & draft = proposals[i];
            const double theirs = Distribution{{draft.left, draft.mass, 0.0}, draft.tokens, draft.weights}.of(proposed[i]);
            keeps = theirs > 0.0 && draw(outrider::ACCEPT) < target.of(proposed[i]) / theirs;
            tokens[i] = keeps ? proposed[i] : outrider::draw_residual(target, draft, draw(outrider::CORRECTION));
        } else {
            const double u = rules->cuts.temperature > 0.0 ? draw(outrider::TARGET) : 0.0;
            tokens[i] = target.id(outrider::quantile(target.weights, target.left.count, u));
            keeps = judged && tokens[i] == proposed[i];
        }
        logprobs[i] = row.values[tokens[i]] - target.left.normaliser;
        if (!keeps) {
            return i + 1;
        }
    }
    *kept = rows;
    return rows;
}

#endif
