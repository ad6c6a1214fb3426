// What attention adds up for a column (a token and a head).
#pragma once

#include "attention.h"

#include <algorithm>

namespace outrider {

/// Maximum, sum of the weights and weighted sum of the values, of one column over some positions.
struct Sums {
    float maximum, weight;
    float * values;

    void clear(int64_t count) {
        maximum = NOTHING;
        weight = 0.0f;
        std::fill(values, values + count, 0.0f);
    }

    /// Goes over to a higher maximum. Returns by what sums were multiplied.
    float rise(float higher, int64_t count) {
        const float factor = maximum == NOTHING ? 0.0f : Level(maximum).factor(Level(higher));
        maximum = higher;
        weight *= factor;
        for (int64_t i = 0; i < count; i += ROWS) {
            store(values + i, times(load(values + i), real(factor)));
        }
        return factor;
    }

    /// Adds the sums over later positions.
    void add(const Sums & later, int64_t count) {
        if (later.maximum == NOTHING) {
            return;
        }
        if (later.maximum > maximum) {
            rise(later.maximum, count);
        }
        const Reals factor = real(Level(later.maximum).factor(Level(maximum)));
        weight = std::fma(later.weight, first_of(factor), weight);
        for (int64_t i = 0; i < count; i += ROWS) {
            store(values + i, fused(load(later.values + i), factor, load(values + i)));
        }
    }
};

/// A token and a head.
struct Column {
    const float * query;
    const ggml_fp16_t * mask;
    /// The mask of the block at hand, or none where it changes nothing; and whether it hides all of it.
    const ggml_fp16_t * here;
    bool hidden;
    float slope;
    Sums sums;
    /// The sum of the weights of a segment, by the positions' places in their vectors; and what rounding took from it.
    alignas(64) float weights[ROWS], errors[ROWS];

    /// Adds weights with what rounding takes: Knuth, The Art of Computer Programming 2, 4.2.2, theorem B.
    ///
    /// So the sum does not depend on the places. A token beside others of a tree has its weight in another place than
    /// alone, and the rounding of products to bytes can make a large difference of a last bit.
    static void add(Reals & sum, Reals & error, Reals weight) {
        const Reals more = plus(sum, weight), other = minus(more, sum);
        error = plus(error, plus(minus(sum, minus(more, other)), minus(weight, other)));
        sum = more;
    }

    /// The sum over all places, to the nearest number.
    float weight() const {
        double total = 0.0;
        for (int i = 0; i < ROWS; i++) {
            total += static_cast<double>(weights[i]) + static_cast<double>(errors[i]);
        }
        return static_cast<float>(total);
    }
};

}  // namespace outrider
