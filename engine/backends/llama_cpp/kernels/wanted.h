// Rows of an output layer that are wanted, where the others are no tokens that a draft proposes.
//
// A draft's output layer is a third of it and more, and most of its rows are tokens that are hardly ever drawn (FR-Spec,
// arXiv 2502.14856). The rows that are not wanted get a logit of minus infinity and are not read.
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>

namespace outrider {

/// Rows that are wanted together: a bit stands for so many.
constexpr int64_t WANTED_ROWS = 16;
/// What llama.cpp calls a model's logits.
constexpr const char * LOGITS = "result_output";

/// The bits that were set for these weights (mul_mat.cpp), or null: all rows are wanted.
const uint64_t * wanted_rows(const void * weights);

/// Notes the weights of a model's output layer for the thread that asked for its logits.
void note_output(const void * weights);

class Wanted {
    const uint64_t * bits = nullptr;
    const ggml_tensor * dst;

    bool holds(int64_t row) const {
        const int64_t group = row / WANTED_ROWS;
        return bits[group / 64] >> (group % 64) & 1;
    }

    void leave_out(int64_t begin, int64_t end) const {
        for (int64_t column = 0; column < dst->ne[1]; column++) {
            float * values = reinterpret_cast<float *>(static_cast<char *>(dst->data) + column * dst->nb[1]);
            std::fill(values + begin, values + end, -std::numeric_limits<float>::infinity());
        }
    }

public:
    Wanted(const ggml_compute_params * params, const ggml_tensor * dst) : dst(dst) {
        if (dst->ne[2] * dst->ne[3] == 1 && std::strcmp(dst->name, LOGITS) == 0) {
            bits = wanted_rows(dst->src[0]->data);
            if (params->ith == 0) {
                note_output(dst->src[0]->data);
            }
        }
    }

    bool all() const { return bits == nullptr; }

    /// Calls `use(begin, end)` for each run of wanted rows between two rows, and leaves out the others.
    template <class Use> void each(int64_t begin, int64_t end, Use && use) const {
        for (int64_t row = begin; row < end;) {
            const bool kept = holds(row);
            int64_t to = row;
            while (to < end && holds(to) == kept) {
                to = std::min((to / WANTED_ROWS + 1) * WANTED_ROWS, end);
            }
            if (kept) {
                use(row, to);
            } else {
                leave_out(row, to);
            }
            row = to;
        }
    }
};

}  // namespace outrider
