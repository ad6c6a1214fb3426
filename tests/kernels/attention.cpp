// Attention of some tokens to a cache: right, in its memory, and the same bits alone and together.
#include "check.h"

#include <algorithm>
#include <cfloat>
#include <limits>

namespace check {
namespace {

constexpr float HIDDEN = -std::numeric_limits<float>::infinity();
/// Keys and values of ours are taken in so many numbers.
constexpr int64_t LANES = 16;

/// Types of a cache that llama.cpp offers.
constexpr ggml_type CACHES[] = {GGML_TYPE_F16,  GGML_TYPE_F32,  GGML_TYPE_BF16, GGML_TYPE_Q8_0,  GGML_TYPE_Q4_0,
                                GGML_TYPE_Q4_1, GGML_TYPE_Q5_0, GGML_TYPE_Q5_1, GGML_TYPE_IQ4_NL};

ggml_type draw_cache(const Campaign & campaign, Chance & chance) {
    for (const ggml_type type : CACHES) {
        if (campaign.type == ggml_type_name(type)) {
            return type;
        }
    }
    return chance.one_in(2) ? GGML_TYPE_F16 : CACHES[chance.among(0, std::size(CACHES) - 1)];
}

enum class Mask { none, causal, window, holes, sequences, hidden };

struct Shape {
    ggml_type keys, values;
    int64_t dk, dv, heads, share, tokens, positions, sequences, unseen, window;
    int threads;
    Edge edge;
    Mask mask;
    float bias, cap;
    bool sinks, mask_by_head, no_number;

    Shape(const Campaign & campaign, Chance & chance)
        : keys(draw_cache(campaign, chance)), values(chance.one_in(3) ? draw_cache(campaign, chance) : keys) {
        dk = chance.one_in(6) ? 40 : chance.of<int64_t>({32, 64, 80, 96, 128, 192, 256, 576});
        dk = ggml_is_quantized(keys) || ggml_is_quantized(values) ? (dk + 31) / 32 * 32 : dk;
        dk = campaign.small ? std::min<int64_t>(dk, 128) : dk;
        dv = dk == 576 ? 512 : dk == 192 ? 128 : chance.one_in(5) ? 64 : dk;
        heads = chance.among(1, 4);
        share = chance.of<int64_t>({1, 1, 2, 4, 7, 16});
        tokens = chance.one_in(3) ? 1 : chance.among(1, chance.one_in(8) ? 70 : 12);
        positions = chance.one_in(3) ? chance.among(1, 70) : chance.among(1, campaign.small ? 700 : 1400);
        positions = chance.one_in(8) ? 33 : positions;  // The last one begins another block.
        if (campaign.is_long) {
            positions = chance.among(1400, 40000);
            heads = chance.among(1, 2);
            tokens = chance.among(1, 6);
        }
        sequences = !campaign.is_long && chance.one_in(6) ? 2 : 1;
        threads = static_cast<int>(chance.among(1, 4));
        edge = chance.of({Edge::behind, Edge::before});
        mask = chance.of({Mask::none, Mask::causal, Mask::causal, Mask::window, Mask::holes, Mask::sequences,
                          Mask::hidden});
        bias = mask != Mask::none && chance.one_in(4) ? 8.0f : 0.0f;
        cap = bias == 0.0f && chance.one_in(4) ? 20.0f : 0.0f;
        sinks = chance.one_in(4);
        mask_by_head = mask != Mask::none && chance.one_in(8);
        no_number = !campaign.is_long && chance.one_in(8);  // Most would see it.
        window = chance.of<int64_t>({1, 31, 70, 512, 4096});
        unseen = mask != Mask::none && chance.one_in(3) ? chance.among(0, campaign.is_long ? 70 : positions - 1) : 0;
    }

    /// Whether the kernels compute it: llama.cpp's own attention has other bits for other numbers of tokens.
    bool is_ours() const { return dk % LANES == 0 && dv % LANES == 0; }

    /// As in products.cpp.
    bool is_known_as_wrong() const {
#ifdef __aarch64__
        return keys == GGML_TYPE_Q5_0 && dk / ggml_blck_size(keys) % 2 == 1;
#else
        return false;
#endif
    }

    /// Whether keys and values are multiplied as whole numbers: then queries are rounded as the cache is.
    bool is_whole() const { return keys == GGML_TYPE_Q8_0 && values == GGML_TYPE_Q8_0; }

    int64_t queries() const { return heads * share; }

    std::string said() const {
        constexpr const char * MASKS[] = {"no mask", "causal", "window", "holes", "sequences", "hidden"};
        return text("attention, keys %s, values %s, %d and %d wide, %d heads by %d, %d tokens to %d positions, "
                    "%d sequences, %d threads, %s, %d unseen, bias %g, cap %g%s%s%s, guard %s",
                    ggml_type_name(keys), ggml_type_name(values), static_cast<int>(dk), static_cast<int>(dv),
                    static_cast<int>(heads), static_cast<int>(share), static_cast<int>(tokens),
                    static_cast<int>(positions), static_cast<int>(sequences), threads, MASKS[static_cast<int>(mask)],
                    static_cast<int>(unseen), bias, cap, sinks ? ", sinks" : "", mask_by_head ? ", a mask a head" : "",
                    no_number ? ", one key no number" : "", edge == Edge::behind ? "behind" : "before");
    }
};

std::vector<float> normals(Chance & chance, int64_t count, float size) {
    std::vector<float> numbers(count);
    for (float & number : numbers) {
        number = size * chance.normal();
    }
    return numbers;
}

/// What the position `p` adds to a score of token `t`; minus infinity hides it.
float seen(const Shape & s, Chance & chance, int64_t t, int64_t p) {
    const int64_t own = s.positions - s.tokens + t;
    if (p >= s.positions - s.unseen) {
        return HIDDEN;
    }
    switch (s.mask) {
        case Mask::causal:
            return p <= own ? (s.bias != 0.0f ? static_cast<float>(p - own) / 8.0f : 0.0f) : HIDDEN;
        case Mask::window:
            return p <= own && p > own - s.window ? 0.0f : HIDDEN;
        case Mask::holes:
            return chance.one_in(3) ? HIDDEN : 0.0f;
        case Mask::sequences:
            return p / 45 % 3 == t % 3 ? 0.0f : HIDDEN;
        case Mask::hidden:
            return t % 2 == 0 ? HIDDEN : 0.0f;
        default:
            return 0.0f;
    }
}

/// Numbers of a case, packed by (sequence, head, row).
struct Case {
    Shape shape;
    Packed q, k, v, mask, sinks;
    std::vector<float> rounded;  // queries as a cache in Q8_0 has its numbers, where that is one

    Case(const Shape & s, Chance & chance)
        : shape(s), q(pack(GGML_TYPE_F32, s.dk, normals(chance, s.dk * s.tokens * s.queries() * s.sequences, 2.0f))),
          k(pack(s.keys, s.dk, normals(chance, s.dk * s.positions * s.heads * s.sequences, 1.0f))),
          v(pack(s.values, s.dv, normals(chance, s.dv * s.positions * s.heads * s.sequences, 1.0f))),
          sinks(pack(GGML_TYPE_F32, s.queries(), normals(chance, s.queries(), 3.0f))) {
        std::vector<float> biases;
        const int64_t masks = (s.mask_by_head ? s.queries() : 1) * s.sequences;
        for (int64_t row = 0; row < masks * s.tokens; row++) {
            for (int64_t p = 0; p < s.positions; p++) {
                biases.push_back(seen(s, chance, row % s.tokens, p));
            }
        }
        mask = pack(GGML_TYPE_F16, s.positions, biases);
        if (s.is_whole()) {
            rounded = q.values;
            std::vector<char> bytes(ggml_row_size(s.keys, s.dk));
            for (float * row = rounded.data(); row < rounded.data() + rounded.size(); row += s.dk) {
                ggml_get_type_traits_cpu(s.keys)->from_float(row, bytes.data(), s.dk);
                unpack(s.keys, bytes.data(), row, s.dk);
            }
        }
        if (s.no_number) {
            break_key(chance.among(0, s.positions - 1));
        }
    }

    /// A scale that is no number, or a number that is none.
    void break_key(int64_t position) {
        for (int64_t head = 0; head < shape.heads * shape.sequences; head++) {
            const int64_t row = head * shape.positions + position;
            std::memset(k.bytes.data() + row * k.row_size(), 0xff, sizeof(float));
            unpack(k.type, k.bytes.data() + row * k.row_size(), k.values.data() + row * shape.dk, shape.dk);
        }
    }

    /// The same where no token sees the last position but one, or, `swapped`, the last, which stands before it then.
    Case without_one(bool swapped) const {
        Case other = *this;
        const auto swap = [&](Packed & packed, int64_t size) {
            for (char * at = packed.bytes.data() + (shape.positions - 2) * size; at < packed.bytes.data() + packed.bytes.size();
                 at += shape.positions * size) {
                std::swap_ranges(at, at + size, at + size);
            }
        };
        const ggml_fp16_t hidden = ggml_fp32_to_fp16(HIDDEN);
        for (int64_t row = 0; row < mask.rows; row++) {
            std::memcpy(other.mask.bytes.data() + (row + 1) * mask.row_size() - 2 * sizeof(hidden), &hidden, sizeof(hidden));
        }
        if (swapped) {
            swap(other.mask, sizeof(hidden));
            swap(other.k, k.row_size());
            swap(other.v, v.row_size());
        }
        return other;
    }

    float scale() const { return 1.0f / std::sqrt(static_cast<float>(shape.dk)); }

    /// How steeply a head's mask rises: "Attention with Linear Biases" (arXiv 2108.12409), section 3.
    double slope(int64_t head) const {
        if (shape.bias == 0.0f) {
            return 1.0;
        }
        const int64_t power = int64_t{1} << static_cast<int>(std::log2(shape.queries()));
        return head < power ? std::pow(2.0, -shape.bias / power * (head + 1))
                            : std::pow(2.0, -shape.bias / 2.0 / power * (2 * (head - power) + 1));
    }

    const float * mask_row(int64_t sequence, int64_t head, int64_t token) const {
        const int64_t matrix = shape.mask_by_head ? sequence * shape.queries() + head : sequence;
        return mask.values.data() + (matrix * shape.tokens + token) * shape.positions;
    }
};

/// What a token and a head get, in float64, and by how much adding up in float32 may miss it.
struct Expected {
    std::vector<double> values;
    double allowed = 0.0;

    Expected(const Case & c, const std::vector<float> & queries, int64_t sequence, int64_t head, int64_t token)
        : values(c.shape.dv) {
        const Shape & s = c.shape;
        const int64_t cached = sequence * s.heads + head / s.share;
        const float * query = queries.data() + ((sequence * s.queries() + head) * s.tokens + token) * s.dk;
        const float * biases = s.mask == Mask::none ? nullptr : c.mask_row(sequence, head, token);
        std::vector<double> scores(s.positions);
        double highest = s.sinks ? c.sinks.values[head] : -INFINITY, size = 0.0, farthest = 0.0;
        for (int64_t p = 0; p < s.positions; p++) {
            const float * key = c.k.values.data() + (cached * s.positions + p) * s.dk;
            double product = 0.0, sizes = 0.0;
            for (int64_t i = 0; i < s.dk; i++) {
                product += static_cast<double>(query[i]) * key[i];
                sizes += std::fabs(static_cast<double>(query[i]) * key[i]);
            }
            product *= c.scale();
            scores[p] = s.cap != 0.0f ? s.cap * std::tanh(product / s.cap) : product;
            if (biases != nullptr) {
                scores[p] = biases[p] == HIDDEN ? -INFINITY : scores[p] + c.slope(head) * biases[p];
            }
            if (scores[p] != -INFINITY) {
                size = std::max(size, sizes * c.scale());
                const float * value = c.v.values.data() + (cached * s.positions + p) * s.dv;
                farthest = std::max<double>(farthest, std::fabs(*std::max_element(
                    value, value + s.dv, [](float a, float b) { return std::fabs(a) < std::fabs(b); })));
            }
            // A comparison with what is no number is false: it must not be passed over.
            highest = scores[p] > highest || std::isnan(scores[p]) ? scores[p] : highest;
        }
        double total = s.sinks ? std::exp(c.sinks.values[head] - highest) : 0.0;
        for (int64_t p = 0; p < s.positions; p++) {
            if (scores[p] == -INFINITY) {
                continue;
            }
            const double weight = std::exp(scores[p] - highest);
            total += weight;
            for (int64_t i = 0; i < s.dv; i++) {
                values[i] += weight * c.v.values[(cached * s.positions + p) * s.dv + i];
            }
        }
        for (double & value : values) {
            value = total == 0.0 ? 0.0 : value / total;
        }
        // Weights of 32 positions are rounded to 15 bits, by half a step each: a 25th of how values of 8 bits are rounded.
        const double steps = s.is_whole() ? 2.0 * std::sqrt(32.0) * 0.5 / 32767.0 : 0.0;
        allowed = (FLT_EPSILON * (20.0 * size + 50.0) + steps) * farthest + FLT_MIN;
    }
};

/// The tensors of a case in their memory. Heads lie beside each other in the rows of a cache, or one after the other.
struct Memory {
    const Case & c;
    Placed q, k, v, sinks;

    Memory(const Case & c, Chance & chance)
        : c(c), q(place(c.q, c.shape.tokens, c.shape.queries(), chance)),
          k(place(c.k, c.shape.positions, c.shape.heads, chance)),
          v(place(c.v, c.shape.positions, c.shape.heads, chance)),
          sinks(c.sinks, Layout::plain(GGML_TYPE_F32, c.shape.queries(), 1), c.shape.edge) {}

    Placed place(const Packed & packed, int64_t rows, int64_t heads, Chance & chance) const {
        return {packed, Layout::view(chance, packed.type, packed.width, rows, heads, c.shape.sequences), c.shape.edge};
    }

    /// The mask of some tokens for the first positions, which must have no gaps.
    Placed mask(int64_t first, int64_t count, int64_t positions) const {
        const int64_t matrices = c.mask.rows / c.shape.tokens;
        Packed part{c.mask.type, positions, matrices * count, {}, {}};
        for (int64_t row = 0; row < matrices * count; row++) {
            const int64_t whole = row / count * c.shape.tokens + first + row % count;
            const auto begin = c.mask.bytes.begin() + whole * c.mask.row_size();
            part.bytes.insert(part.bytes.end(), begin, begin + part.row_size());
        }
        const int64_t heads = c.shape.mask_by_head ? c.shape.queries() : 1;
        return {part, Layout::plain(part.type, part.width, count, heads, c.shape.sequences), c.shape.edge};
    }

    /// The results of `count` tokens from `first` on: (sequence, token, head, number); without the last, unseen positions.
    std::vector<float> attend(int64_t first, int64_t count, int threads, int64_t unseen = 0) const {
        const Computation computation(c.shape.edge, threads);
        const int64_t positions = c.shape.positions - unseen;
        const Placed some = mask(first, count, positions);
        ggml_tensor * const masked = c.shape.mask == Mask::none ? nullptr : computation.tensor(some);
        ggml_tensor * const result = ggml_flash_attn_ext(
            computation.context(), computation.tensor(q.part(first, count)),
            computation.tensor(k.part(0, positions)), computation.tensor(v.part(0, positions)), masked, c.scale(), c.shape.bias, c.shape.cap);
        if (c.shape.sinks) {
            ggml_flash_attn_ext_add_sinks(result, computation.tensor(sinks));
        }
        return computation.run(result);
    }
};

/// llama.cpp's own attention adds up values in float16 and rounds queries as the cache is rounded. A key that is no
/// number may get lost in it, or reach tokens that do not see it.
constexpr double ROUGH = 0.1;

/// How far results are off, as a share of what is allowed, with these queries.
double error_of(const Case & c, const std::vector<float> & queries, const std::vector<float> & got, bool strict) {
    const Shape & s = c.shape;
    double error = 0.0;
    for (int64_t column = 0; column < s.sequences * s.tokens * s.queries(); column++) {
        const int64_t head = column % s.queries(), token = column / s.queries() % s.tokens;
        const Expected expected(c, queries, column / (s.queries() * s.tokens), head, token);
        for (int64_t i = 0; i < s.dv; i++) {
            const double wanted = expected.values[i], found = got[column * s.dv + i];
            if (std::isnan(wanted)) {
                error = std::isnan(found) ? error : INFINITY;
            } else {
                const double off = std::fabs(found - wanted) / (strict ? expected.allowed : ROUGH);
                error = std::isnan(off) ? INFINITY : std::max(error, off);
            }
        }
    }
    return error;
}

void judge(Campaign & campaign, const Case & c, const std::vector<float> & got) {
    const Shape & s = c.shape;
    const bool strict = campaign.bits && s.is_ours();
    if ((s.no_number || s.is_known_as_wrong()) && !strict) {
        return;
    }
    // Queries are taken as they are, or rounded.
    const double error = error_of(c, c.q.values, got, strict);
    campaign.see(error > 1.0 && !c.rounded.empty() ? error_of(c, c.rounded, got, strict) : error, strict);
}

}  // namespace

void check_attention(Campaign & campaign, Chance & chance) {
    const Shape shape(campaign, chance);
    campaign.say(shape.said());
    const Case drawn(shape, chance);
    const Memory memory(drawn, chance);
    const std::vector<float> all = memory.attend(0, shape.tokens, shape.threads);
    judge(campaign, drawn, all);
    if (!shape.is_ours()) {
        return;
    }
    const int64_t row = shape.queries() * shape.dv;
    const auto compare = [&](int64_t first, int64_t count, int threads) {
        const std::vector<float> part = memory.attend(first, count, threads);
        for (int64_t s = 0; s < shape.sequences; s++) {
            same_bits(campaign, part.data() + s * count * row, all.data() + (s * shape.tokens + first) * row,
                      count * row, text("tokens %d..%d with %d threads, alone and among all", static_cast<int>(first),
                           static_cast<int>(first + count - 1), threads));
        }
    };
    for (int threads = 1; threads <= 4; threads++) {
        compare(0, shape.tokens, threads);
    }
    same_bits(campaign, memory.attend(0, shape.tokens, shape.threads, shape.unseen).data(), all.data(),
              static_cast<int64_t>(all.size()), "with positions that no token sees, and without");
    for (int64_t token = 0; token < shape.tokens; token += 1 + shape.tokens / 4) {
        compare(token, 1, static_cast<int>(chance.among(1, 4)));
    }
    // Where both places are in a group of positions that are added up alone: 512, and 32 whose weights are rounded together.
    if (shape.mask != Mask::none && !shape.no_number && shape.positions % (shape.is_whole() ? 32 : 512) > 1) {
        const Case before = drawn.without_one(false), after = drawn.without_one(true);
        same_bits(campaign, Memory(after, chance).attend(0, shape.tokens, shape.threads).data(),
                  Memory(before, chance).attend(0, shape.tokens, shape.threads).data(), static_cast<int64_t>(all.size()),
                  "behind a position that no token sees, and before it");
    }
    const int64_t first = chance.among(0, shape.tokens - 1);
    compare(first, chance.among(1, shape.tokens - first), static_cast<int>(chance.among(1, 4)));
}

}  // namespace check
