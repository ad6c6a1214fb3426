// One call for all that a drafted token needs, and one for the verdict on a draft (see engine/sampling/native_draw.py).
//
// What they do is engine/sampling/distribution.py and engine/sampling/acceptance.py, number by number, with the same
// random numbers.

#if defined(__AVX512F__) || (defined(__AVX2__) && defined(__FMA__))

#include "cuts.h"
#include "keyed_random.h"

namespace outrider {
namespace {

/// How the distribution is made of a row. Without a temperature the best token is taken.
struct Rules {
    Cuts cuts;
#define SAMPLING_PENALTY(name, type, off, range, help) type name;
#include "../../../sampling_rules.def"
    int64_t penalised;
    uint64_t seed;
    /// A draft's token is not proposed where the best one's probability is below this.
    double least;
    /// What is added to the logits of some tokens, and tokens that never come.
    int64_t biased_count, banned_count;
    const int64_t * biased;
    const float * amounts;
    const int64_t * banned;

    bool reshape() const { return penalised || biased_count > 0 || banned_count > 0; }
};

/// The committed tokens that are penalised, and how often each came: those of the window (see Rules; 0: of all).
struct Counted {
    int64_t count;
    const int64_t * tokens;
    const float * numbers;
    /// The first ones of the window in their order, and how many it holds.
    const int64_t * oldest;
    int64_t held;
};

/// Tokens behind the committed ones.
struct Behind {
    const int64_t * tokens;
    int64_t count;
};

/// A drafted token and the distribution that it was drawn from: `left` weights, of all ids where `tokens` is null.
struct Proposal {
    int64_t token, left;
    const int64_t * tokens;
    const float * weights;
    double mass, logprob;
};

constexpr int64_t MOST_JUDGED = 34, MOST_TOP = 5, ALIGNED = 64;

/// What one sampler is told once, and where it finds what was drawn and judged (engine/sampling/native_rules.py: Work).
struct Work {
    Rules rules;
    Counted counted;
    /// Which tokens may come, or null: for each row a bit a token, in words from the lowest bit on.
    const uint32_t * masks;
    int64_t mask_words;
    int64_t token;
    double logprob;
    int64_t kept, tokens[MOST_JUDGED];
    double logprobs[MOST_JUDGED];
    /// How many of each row's best tokens are wanted; these, best first, one row behind the other.
    int64_t top, top_tokens[MOST_JUDGED * MOST_TOP];
    double top_logprobs[MOST_JUDGED * MOST_TOP];

    const uint32_t * mask_of(int64_t row) const { return masks == nullptr ? nullptr : masks + row * mask_words; }
};

constexpr int64_t DECLINED = 0, DRAWN = 1, NO_PEAK = -1, NO_MASS = -2;

/// The penalties for what stands in the window (engine.sampling.distribution.penalise).
void penalise(float * values, int64_t size, const Rules & rules, const Counted & counted, Behind behind) {
    thread_local std::vector<float> held;
    float * numbers = room(held, size);  // All are 0 from one call to the next.
    const auto inside = [=](int64_t token) { return token >= 0 && token < size; };
    const auto add = [=](int64_t token, float number) {
        if (inside(token)) {
            numbers[token] += number;
        }
    };
    for (int64_t i = 0; i < counted.count; i++) {
        add(counted.tokens[i], counted.numbers[i]);
    }
    for (int64_t i = 0; i < behind.count; i++) {
        add(behind.tokens[i], 1.0f);
    }
    const int64_t window = rules.penalty_window, gone = window > 0 ? counted.held + behind.count - window : 0;
    for (int64_t i = 0; i < gone; i++) {
        add(i < counted.held ? counted.oldest[i] : behind.tokens[i - counted.held], -1.0f);
    }
    const auto shape = [&](int64_t token) {
        if (!inside(token) || numbers[token] == 0.0f) {
            return;
        }
        float & value = values[token];
        if (rules.repeat_penalty != 1.0f) {
            value = value > 0.0f ? value / rules.repeat_penalty : value * rules.repeat_penalty;
        }
        value -= rules.presence_penalty;
        value -= rules.frequency_penalty * numbers[token];
        numbers[token] = 0.0f;
    };
    std::for_each(counted.tokens, counted.tokens + counted.count, shape);
    std::for_each(behind.tokens, behind.tokens + behind.count, shape);
}

/// Makes the tokens impossible whose bits are not set (engine.sampling.masking.masked).
void leave_out(float * values, int64_t size, const uint32_t * mask, int64_t words) {
    constexpr int64_t BITS = 32;
    const int64_t whole = std::min(words, size / BITS);
    for (int64_t word = 0; word < whole; word++) {
        const uint32_t bits = mask[word];
        float * part = values + word * BITS;
        if (bits == 0) {
            std::fill(part, part + BITS, -INF);
        } else if (bits != 0xffffffff) {
            for (int64_t i = 0; i < BITS; i++) {
                part[i] = (bits >> i & 1) != 0 ? part[i] : -INF;
            }
        }
    }
    for (int64_t i = whole * BITS; i < size; i++) {
        const bool may = i / BITS < words && (mask[i / BITS] >> (i % BITS) & 1) != 0;
        values[i] = may ? values[i] : -INF;
    }
}

/// A copy of the row with penalties, bias, bans and mask; the room is the next call's too.
Row reshaped(Row row, const Work & work, const uint32_t * mask, Behind behind) {
    const Rules & rules = work.rules;
    thread_local std::vector<float> held;
    float * values = room(held, row.count);
    std::memcpy(values, row.values, sizeof(float) * static_cast<size_t>(row.count));
    if (rules.penalised) {
        penalise(values, row.count, rules, work.counted, behind);
    }
    for (int64_t i = 0; i < rules.biased_count; i++) {
        values[rules.biased[i]] += rules.amounts[i];
    }
    for (int64_t i = 0; i < rules.banned_count; i++) {
        values[rules.banned[i]] = -INF;
    }
    if (mask != nullptr) {
        leave_out(values, row.count, mask, work.mask_words);
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

/// The weights of what may be drawn: engine.sampling.distribution.candidates. The normaliser is always the row's own.
Distribution distribution(Row row, const Work & work, const uint32_t * mask, Behind behind, int64_t * tokens,
                          float * weights) {
    const Rules & rules = work.rules;
    const bool reshape = rules.reshape() || mask != nullptr;
    const Row shaped = reshape ? reshaped(row, work, mask, behind) : row;
    const bool draws = rules.cuts.temperature > 0.0;
    Left left = {-1, 1.0, 0.0};
    float own = 0.0f;
    if (draws) {
        left = choose(shaped, rules.cuts, tokens, weights, !reshape);
    } else {
        own = highest(shaped);
        if (std::isfinite(own)) {
            left.count = 1;
            tokens[0] = place_of(shaped, own);
            weights[0] = 1.0f;
        }
    }
    if (left.count > 0 && (reshape || !draws)) {
        own = reshape ? highest(row) : own;
        left.count = std::isfinite(own) ? left.count : -1;
        left.normaliser = own + std::log(weigh(row, own, 1.0f, nullptr));
    }
    return {left, draws && left.count == row.count ? nullptr : tokens, weights};
}

/// engine.sampling.acceptance.residual_distribution, times the target's mass, of the target's tokens; then the token at
/// `u` of it.
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

/// The `count` best tokens and their logits, best first and lower ids first among equals.
void best_few(Row row, int64_t count, int64_t * tokens, float * values) {
    int64_t found = 0;
    const auto insert = [&](int64_t token, float value) {
        int64_t place = found < count ? found++ : count - 1;
        for (; place > 0 && values[place - 1] < value; place--) {
            tokens[place] = tokens[place - 1];
            values[place] = values[place - 1];
        }
        tokens[place] = token;
        values[place] = value;
    };
    for (int64_t i = 0; i < row.count; i += LANES) {
        const bool full = found == count;
        const Sixteen limit = all(full ? std::nextafter(values[count - 1], INF) : -INF);
        if (full && at_least(row.part(i, -INF), limit) == 0) {
            continue;
        }
        for (int64_t j = i; j < std::min(i + LANES, row.count); j++) {
            if (found < count || row.values[j] > values[count - 1]) {
                insert(j, row.values[j]);
            }
        }
    }
}

/// Notes the best tokens of row `index`.
void note_top(Work & work, int64_t index, Row row, double normaliser) {
    const int64_t count = std::min(work.top, row.count);
    float values[MOST_TOP];
    best_few(row, count, work.top_tokens + index * count, values);
    for (int64_t i = 0; i < count; i++) {
        work.top_logprobs[index * count + i] = values[i] - normaliser;
    }
}

}  // namespace
}  // namespace outrider

using outrider::Behind;
using outrider::Distribution;
using outrider::Proposal;
using outrider::Row;
using outrider::Work;

/// engine.sampling.distribution.uniform, for a test.
OUTRIDER_API double outrider_uniform(uint64_t seed, int64_t position, int64_t purpose) {
    return outrider::uniform(seed, position, static_cast<outrider::Purpose>(purpose));
}

/// The size of what a sampler shares with the functions here: both sides must mean the same.
OUTRIDER_API int64_t outrider_work_size() { return sizeof(Work); }

/// Draws a draft's next token. `work` gets it and its log-probability; `found` a Proposal, then the weights and tokens
/// that it tells of: room for that and, for `count` each, 12 bytes a token and 64 more.
///
/// Gives how many bytes it used; 0: it is not sure enough of the best one; -1: the best logit is no finite number or
/// one is no number at all.
OUTRIDER_API int64_t outrider_draw_proposal(Work * work, const float * logits, int64_t count, int64_t position,
                                            const int64_t * behind, int64_t behind_count, char * found) {
    const outrider::Rules & rules = work->rules;
    float * weights = reinterpret_cast<float *>(found + sizeof(Proposal));
    // Behind them at first; where few are left, right behind those.
    int64_t * tokens = reinterpret_cast<int64_t *>(weights + (count + 1) / 2 * 2);
    const uint32_t * mask = work->mask_of(0);
    const Distribution drawn =
        outrider::distribution({logits, count}, *work, mask, {behind, behind_count}, tokens, weights);
    if (drawn.left.count < 0) {
        return outrider::NO_PEAK;
    }
    const bool draws = rules.cuts.temperature > 0.0;
    if (rules.least > 0.0 && (draws || !(rules.reshape() || mask != nullptr))) {
        const outrider::Left & left = drawn.left;
        const double highest = draws ? left.best / left.mass : std::exp(logits[drawn.id(0)] - left.normaliser);
        if (highest < rules.least) {
            return outrider::DECLINED;
        }
    }
    const double u = draws ? outrider::uniform(rules.seed, position, outrider::DRAFT) : 0.0;
    work->token = drawn.id(draws ? outrider::quantile(weights, drawn.left.count, u) : 0);
    work->logprob = logits[work->token] - drawn.left.normaliser;
    if (!draws) {
        return sizeof(Proposal);
    }
    const int64_t left = drawn.left.count;
    char * end = reinterpret_cast<char *>(weights + (left + 1) / 2 * 2);
    if (drawn.tokens != nullptr) {
        std::memmove(end, tokens, sizeof(int64_t) * static_cast<size_t>(left));
        tokens = reinterpret_cast<int64_t *>(end);
        end += sizeof(int64_t) * static_cast<size_t>(left);
    }
    *reinterpret_cast<Proposal *>(found) = {
        work->token, left, drawn.tokens == nullptr ? nullptr : tokens, weights, drawn.left.mass, work->logprob};
    return (end - found + outrider::ALIGNED - 1) / outrider::ALIGNED * outrider::ALIGNED;
}

/// Judges `proposed` tokens with the rows of logits from `first` to before `last`, and draws the token that ends the
/// round. Each row belongs to the proposal of its number; row `proposed_count` has none to judge. All before `first` were
/// kept. `position` is that of row 0.
///
/// With `proposals` a token is kept or corrected by its distribution, without (null) where it is the one that the
/// target draws. Gives how many tokens there are; `work` gets them, their log-probabilities, how many of them are
/// proposals, and the best tokens of each row. -1: see outrider_draw_proposal; `kept` tells the row, from `first` on.
OUTRIDER_API int64_t outrider_judge_draft(Work * work, const float * logits, int64_t count, int64_t first, int64_t last,
                                          int64_t position, const int64_t * proposed, int64_t proposed_count,
                                          const Proposal * const * proposals) {
    thread_local std::vector<int64_t> held_tokens;
    thread_local std::vector<float> held_weights;
    int64_t * left = outrider::room(held_tokens, count);
    float * weights = outrider::room(held_weights, count);
    const outrider::Rules & rules = work->rules;
    for (int64_t row_index = first; row_index < last; row_index++) {
        const int64_t i = row_index - first;
        const Row row{logits + row_index * count, count};
        work->kept = i;
        // Whoever comes here has kept all before.
        const Distribution target =
            outrider::distribution(row, *work, work->mask_of(row_index), {proposed, row_index}, left, weights);
        if (target.left.count < 0) {
            return outrider::NO_PEAK;
        }
        const bool judged = row_index < proposed_count;
        const auto draw = [&](outrider::Purpose purpose) {
            return outrider::uniform(rules.seed, position + row_index, purpose);
        };
        int64_t & token = work->tokens[i];
        bool keeps;
        if (judged && proposals != nullptr) {
            const Proposal & draft = *proposals[row_index];
            token = proposed[row_index];
            const double theirs = Distribution{{draft.left, draft.mass, 0.0}, draft.tokens, draft.weights}.of(token);
            keeps = theirs > 0.0 && draw(outrider::ACCEPT) < target.of(token) / theirs;
            token = keeps ? token : outrider::draw_residual(target, draft, draw(outrider::CORRECTION));
        } else {
            const double u = rules.cuts.temperature > 0.0 ? draw(outrider::TARGET) : 0.0;
            token = target.id(outrider::quantile(target.weights, target.left.count, u));
            keeps = judged && token == proposed[row_index];
        }
        work->logprobs[i] = row.values[token] - target.left.normaliser;
        if (work->top > 0) {
            outrider::note_top(*work, i, row, target.left.normaliser);
        }
        if (!keeps) {
            return i + 1;
        }
    }
    return work->kept = last - first;
}

#endif
