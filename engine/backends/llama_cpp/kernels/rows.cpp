// What drawing a token needs of one row of logits: the best one, log-probabilities, the weights that the rules of
// engine/sampling_rules.def leave, and the token at a quantile of them.
//
// A round does this for every token that is drafted or verified, mostly over a few thousand logits; array by array in
// Python it costs more than some models do. All of it is linear in the size of the vocabulary.
//
// Nothing here knows of ggml: it is compiled into the same library because that one is made for the processor. For a
// processor without these registers there is nothing here, and the work is left to numpy: plain loops are slower.

#if defined(__AVX512F__) || (defined(__AVX2__) && defined(__FMA__))

#include "cuts.h"

using outrider::Row;

/// The place of the best logit, the first one on ties; -1 where it is no finite number or one is no number at all.
/// `logprob`: where not null, its natural log-probability.
OUTRIDER_API int64_t outrider_best(const float * logits, int64_t count, double * logprob) {
    const Row row{logits, count};
    const float peak = outrider::highest(row);
    if (!std::isfinite(peak)) {
        return -1;
    }
    if (logprob != nullptr) {
        *logprob = -std::log(outrider::weigh(row, peak, 1.0f, nullptr));
    }
    return outrider::place_of(row, peak);
}

/// log(sum(exp(logits))); NaN where the best one is no finite number or one is no number at all.
OUTRIDER_API double outrider_normaliser(const float * logits, int64_t count) {
    const float peak = outrider::highest({logits, count});
    if (!std::isfinite(peak)) {
        return std::numeric_limits<double>::quiet_NaN();
    }
    return peak + std::log(outrider::weigh({logits, count}, peak, 1.0f, nullptr));
}

/// The table that this was compiled with, as engine/sampling_rules.py writes it: both sides must mean the same.
OUTRIDER_API const char * outrider_sampling_rules() {
    return ""
#define SAMPLING_CUT(name, type, off, range, help) "cut " #name " " #type " " #off "\n"
#define SAMPLING_PENALTY(name, type, off, range, help) "penalty " #name " " #type " " #off "\n"
#include "../../../sampling_rules.def"
        ;
}

/// See outrider::choose. Gives how many tokens are left, or -1; `facts`: the sum of their weights, the normaliser.
OUTRIDER_API int64_t outrider_choose(const float * logits, int64_t count, const outrider::Cuts * cuts, int64_t * tokens,
                                     float * weights, double * facts) {
    const outrider::Left left = outrider::choose({logits, count}, *cuts, tokens, weights);
    facts[0] = left.mass;
    facts[1] = left.normaliser;
    return left.count;
}

/// The first place at which the weights up to it exceed `u` of their sum, never one of weight 0; -1 without a mass.
OUTRIDER_API int64_t outrider_quantile(const float * weights, int64_t count, double u) {
    return outrider::quantile(weights, count, u);
}

/// The same of weights in double precision.
OUTRIDER_API int64_t outrider_quantile_double(const double * weights, int64_t count, double u) {
    return outrider::quantile(weights, count, u);
}

#endif
