// Products of weights and tokens: right, in their memory, and the same bits alone and together.
#include "check.h"

#include "ggml-backend.h"

#include <algorithm>
#include <cfloat>

#include <numeric>

// Not there in a library without the kernels.
extern "C" __attribute__((weak)) bool outrider_want_rows(const void * weights, const uint64_t * bits);

namespace check {
namespace {

/// Where ggml's type has its float16 scales in a block: all else may be any bytes. `slow`: it takes long to quantise.
struct Scales {
    ggml_type type;
    int first, second;
    bool slow = false;
};

constexpr Scales SCALES[] = {
    {GGML_TYPE_Q4_0, 0, -1},        {GGML_TYPE_Q4_1, 0, 2},          {GGML_TYPE_Q5_0, 0, -1},
    {GGML_TYPE_Q5_1, 0, 2},         {GGML_TYPE_Q8_0, 0, -1},         {GGML_TYPE_Q2_K, 80, 82},
    {GGML_TYPE_Q3_K, 108, -1},      {GGML_TYPE_Q4_K, 0, 2},          {GGML_TYPE_Q5_K, 0, 2},
    {GGML_TYPE_Q6_K, 208, -1},      {GGML_TYPE_IQ4_NL, 0, -1},       {GGML_TYPE_IQ4_XS, 0, -1},
    {GGML_TYPE_IQ2_XXS, 0, -1, true}, {GGML_TYPE_IQ2_XS, 0, -1, true}, {GGML_TYPE_IQ2_S, 0, -1, true},
    {GGML_TYPE_IQ3_XXS, 0, -1, true}, {GGML_TYPE_IQ3_S, 0, -1, true},  {GGML_TYPE_IQ1_S, 0, -1, true},
    {GGML_TYPE_IQ1_M, 48, -1, true},
};

/// All types that weights may have. Those that only activations have are left out.
constexpr ggml_type TYPES[] = {
    GGML_TYPE_F32,     GGML_TYPE_F16,    GGML_TYPE_BF16,    GGML_TYPE_Q4_0,  GGML_TYPE_Q4_1,  GGML_TYPE_Q5_0,
    GGML_TYPE_Q5_1,    GGML_TYPE_Q8_0,   GGML_TYPE_Q2_K,    GGML_TYPE_Q3_K,  GGML_TYPE_Q4_K,  GGML_TYPE_Q5_K,
    GGML_TYPE_Q6_K,    GGML_TYPE_IQ4_NL, GGML_TYPE_IQ4_XS,  GGML_TYPE_MXFP4, GGML_TYPE_NVFP4, GGML_TYPE_IQ1_S,
    GGML_TYPE_IQ1_M,   GGML_TYPE_IQ2_XXS, GGML_TYPE_IQ2_XS, GGML_TYPE_IQ2_S, GGML_TYPE_IQ3_XXS, GGML_TYPE_IQ3_S,
    GGML_TYPE_TQ1_0,   GGML_TYPE_TQ2_0,  GGML_TYPE_Q1_0,    GGML_TYPE_Q2_0,
};

ggml_type draw_type(const Campaign & campaign, Chance & chance) {
    if (!campaign.type.empty()) {
        for (const ggml_type type : TYPES) {
            if (campaign.type == ggml_type_name(type)) {
                return type;
            }
        }
        throw std::runtime_error("no type of weights is called " + campaign.type);
    }
    return TYPES[chance.among(0, std::size(TYPES) - 1)];
}

/// Rows like a model's; some zero, large, all of one size, all alike: the ends of what a type can hold.
std::vector<float> draw_numbers(Chance & chance, int64_t width, int64_t rows) {
    std::vector<float> numbers(width * rows);
    for (int64_t r = 0; r < rows; r++) {
        const int64_t kind = chance.among(0, 9);
        for (int64_t i = 0; i < width; i++) {
            const float normal = chance.normal();
            float & number = numbers[r * width + i];
            number = kind == 0   ? 0.0f
                     : kind == 1 ? 100.0f * normal
                     : kind == 2 ? std::copysign(1.0f, normal)
                     : kind == 3 ? std::fabs(normal)
                     : kind == 4 ? -1.0f
                     : kind == 5 ? 1.0f
                                 : normal;
        }
    }
    return numbers;
}

/// A block's scale, at `place`; in IQ1_M it is spread over the highest bits of four numbers.
void put_scale(ggml_type type, char * block, int place, float scale) {
    const ggml_fp16_t half = ggml_fp32_to_fp16(scale);
    if (type != GGML_TYPE_IQ1_M) {
        std::memcpy(block + place, &half, sizeof(half));
        return;
    }
    for (int i = 0; i < 4; i++) {
        char & high = block[place + 2 * i + 1];
        high = static_cast<char>((high & 15) | (half >> 4 * i & 15) << 4);
    }
}

/// Bytes that no quantising makes, but a file may hold; only the scales are such that sums are not too large.
Packed draw_bytes(Chance & chance, const Scales & scales, int64_t width, int64_t rows) {
    Packed packed{scales.type, width, rows, std::vector<char>(ggml_row_size(scales.type, width) * rows),
                  std::vector<float>(width * rows)};
    for (char & byte : packed.bytes) {
        byte = static_cast<char>(chance.bits());
    }
    for (size_t at = 0; at < packed.bytes.size(); at += ggml_type_size(scales.type)) {
        for (const int place : {scales.first, scales.second}) {
            if (place >= 0) {
                put_scale(scales.type, packed.bytes.data() + at, place, 0.01f * chance.normal());
            }
        }
    }
    unpack(scales.type, packed.bytes.data(), packed.values.data(), width * rows);
    return packed;
}

Packed draw_weights(Chance & chance, ggml_type type, int64_t width, int64_t rows) {
    const auto found = std::find_if(std::begin(SCALES), std::end(SCALES), [&](auto & s) { return s.type == type; });
    if (found != std::end(SCALES) && (found->slow || chance.one_in(2))) {
        return draw_bytes(chance, *found, width, rows);
    }
    return pack(type, width, draw_numbers(chance, width, rows));
}

/// Tokens as they go into a product: as they are, and rounded as ggml's type for them rounds.
struct Tokens {
    Packed packed;
    std::vector<float> rounded;

    Tokens(Chance & chance, ggml_type weights, int64_t width, int64_t rows)
        : packed(pack(GGML_TYPE_F32, width, draw_numbers(chance, width, rows))), rounded(packed.values) {
        const ggml_type type = ggml_get_type_traits_cpu(weights)->vec_dot_type;
        if (type != GGML_TYPE_F32) {
            std::vector<char> bytes(ggml_row_size(type, width));
            for (int64_t r = 0; r < rows; r++) {
                ggml_get_type_traits_cpu(type)->from_float(packed.values.data() + r * width, bytes.data(), width);
                unpack(type, bytes.data(), rounded.data() + r * width, width);
            }
        }
    }
};

/// What of a row or a token says how far rounding may go.
struct Extent {
    double largest = 0.0, sum = 0.0, norm = 0.0;

    Extent(const float * numbers, int64_t count) {
        for (int64_t i = 0; i < count; i++) {
            const double size = std::fabs(static_cast<double>(numbers[i]));
            largest = std::max(largest, size);
            sum += size;
            norm += size * size;
        }
        norm = std::sqrt(norm);
    }
};

/// Judges results by their distance to sums in float64, of the tokens as they are or as they are rounded: products may
/// take them either way, but all of a case the same one.
class Judge {
public:
    Judge(bool strict, ggml_type type)
        : strict(strict), pairs(ggml_get_type_traits_cpu(type)->vec_dot_type == GGML_TYPE_Q8_1) {}

    /// Takes the results `got` of a matrix of weights and one token.
    void see(const float * weights, const std::vector<Extent> & extents, int64_t first_row, int64_t rows,
             const float * token, const float * rounded, int64_t width, const float * got) {
        const Extent extent(token, width);
        for (int64_t row = first_row; row < first_row + rows; row++) {
            const float * const w = weights + row * width;
            double plain = 0.0, coarse = 0.0, size = 0.0;
            for (int64_t i = 0; i < width; i++) {
                plain += static_cast<double>(w[i]) * token[i];
                coarse += static_cast<double>(w[i]) * rounded[i];
                size += std::fabs(static_cast<double>(w[i]) * token[i]);
            }
            see(extents[row], extent, plain, coarse, size, got[row - first_row]);
        }
    }

    double error() const { return std::min(exact, noisy); }

private:
    bool strict, pairs;
    double exact = 0.0, noisy = 0.0;

    void see(const Extent & row, const Extent & token, double plain, double coarse, double size, double got) {
        // Adding up in float32; where a type subtracts its minima, both sides of it may be larger than the difference.
        double allowed = FLT_EPSILON * (16.0 * size + row.largest * token.sum) + FLT_MIN;
        if (pairs || !strict) {  // A block's sum in float16; llama.cpp's own products may even add up in it.
            allowed += row.largest * token.sum / 1024.0;
        }
        exact = std::max(exact, std::fabs(got - coarse) / allowed);
        // To eight bits, evenly spread, or as float16 or bfloat16 rounds.
        const double rounding = strict ? 0.0 : 6.0 * (token.largest / 440.0) * row.norm;
        noisy = std::max(noisy, std::fabs(got - plain) / (allowed + rounding));
        if (!std::isfinite(got)) {
            exact = noisy = INFINITY;
        }
    }
};

std::vector<Extent> extents_of(const Packed & packed) {
    std::vector<Extent> extents;
    for (int64_t row = 0; row < packed.rows; row++) {
        extents.emplace_back(packed.values.data() + row * packed.width, packed.width);
    }
    return extents;
}

/// From so many columns on llama.cpp's own products of a prompt may take other ways than those of a few.
constexpr int64_t PROMPT = 34;
/// Fewer rows have no product of ours.
constexpr int64_t FEW_ROWS = 16;

struct Shape {
    ggml_type type;
    int64_t width, rows, columns, n2, n3, r2, r3;
    int threads;
    Edge edge;

    Shape(const Campaign & campaign, Chance & chance) : type(draw_type(campaign, chance)) {
        const int64_t block = ggml_blck_size(type), most = campaign.small ? 512 : 1536;
        width = block == 1 ? chance.among(1, chance.one_in(4) ? most : 200) : block * chance.among(1, most / block);
        rows = chance.one_in(4) ? chance.among(1, 15) : chance.among(16, campaign.small ? 40 : 130);
        columns = chance.one_in(3) ? chance.among(1, 4) : chance.among(1, chance.one_in(5) ? 120 : 40);
        n2 = chance.one_in(3) ? chance.among(1, 3) : 1;
        n3 = chance.one_in(4) ? 2 : 1;
        r2 = chance.one_in(3) ? chance.among(1, 3) : 1;
        r3 = chance.one_in(4) ? 2 : 1;
        threads = static_cast<int>(chance.among(1, 4));
        edge = chance.of({Edge::behind, Edge::before});
    }

    bool is_ours() const { return rows >= FEW_ROWS; }

    /// Whether so many tokens must get the same bits as among all. llama.cpp's own products for ARM take rows and
    /// tokens two and two, where threads leave them so.
    bool has_same_bits([[maybe_unused]] int64_t count) const {
#ifdef __aarch64__
        return is_ours();
#else
        return is_ours() || count == columns || columns < PROMPT;
#endif
    }

    /// llama.cpp's own product for ARM is wrong with an odd number of blocks of this type, as GCC 12 compiles it.
    bool is_known_as_wrong() const {
#ifdef __aarch64__
        return !is_ours() && type == GGML_TYPE_Q5_0 && width / ggml_blck_size(type) % 2 == 1;
#else
        return false;
#endif
    }

    std::string said() const {
        return text("%s, %d numbers, %d x %d x %d rows, %d x %d x %d columns, %d threads, guard %s",
                    ggml_type_name(type), static_cast<int>(width), static_cast<int>(rows), static_cast<int>(n2), static_cast<int>(n3),
                    static_cast<int>(columns), static_cast<int>(n2 * r2), static_cast<int>(n3 * r3), threads,
                    edge == Edge::behind ? "behind" : "before");
    }
};

std::vector<float> multiply(const Placed & weights, const Placed & tokens, int threads, Edge edge) {
    const Computation computation(edge, threads);
    return computation.run(
        ggml_mul_mat(computation.context(), computation.tensor(weights), computation.tensor(tokens)));
}

/// Compares `count` columns from `first` on with the same ones among all.
void compare_part(Campaign & campaign, const Shape & shape, const std::vector<float> & all, const Placed & weights,
                  const Placed & tokens, int64_t first, int64_t count, int threads) {
    if (!shape.has_same_bits(count)) {
        return;
    }
    const std::vector<float> part = multiply(weights, tokens.part(first, count), threads, shape.edge);
    for (int64_t b = 0; b < shape.n2 * shape.r2 * shape.n3 * shape.r3; b++) {
        same_bits(campaign, part.data() + b * count * shape.rows, all.data() + (b * shape.columns + first) * shape.rows,
                  count * shape.rows,
                  text("columns %d..%d with %d threads, alone and among all", static_cast<int>(first),
                       static_cast<int>(first + count - 1), threads));
    }
}

/// The buffer type of packed weights, or null: compiled without, or for a processor where it is no gain.
ggml_backend_buffer_type_t packing_type() {
    ggml_backend_dev_t device = ggml_backend_reg_dev_get(ggml_backend_cpu_reg(), 0);
    const auto types = reinterpret_cast<ggml_backend_dev_get_extra_bufts_t>(
        ggml_backend_reg_get_proc_address(ggml_backend_cpu_reg(), "ggml_backend_dev_get_extra_bufts"));
    for (ggml_backend_buffer_type_t * type = types(device); *type != nullptr; type++) {
        if (std::string(ggml_backend_buft_name(*type)) == "CPU_OUTRIDER") {
            return *type;
        }
    }
    return nullptr;
}

/// How many of the rows can be packed.
int64_t packable(const Shape & shape) {
    return shape.rows / FEW_ROWS * FEW_ROWS;
}

/// Runs a product with its weights packed, whose `bytes` are those of a file; empty where such are not packed.
std::vector<float> run_packed(const Computation & computation, ggml_tensor * product, const std::vector<char> & bytes,
                              Edge edge) {
    static const ggml_backend_buffer_type_t type = packing_type();
    if (type == nullptr) {
        return {};
    }
    static const ggml_backend_buffer_t buffer = ggml_backend_buft_alloc_buffer(type, 64);
    ggml_tensor * const weights = product->src[0];
    weights->buffer = buffer;
    if (!ggml_backend_dev_supports_op(ggml_backend_reg_dev_get(ggml_backend_cpu_reg(), 0), product)) {
        return {};
    }
    const Guarded memory(ggml_nbytes(weights), 64, edge);
    weights->data = memory.data();
    ggml_backend_tensor_set(weights, bytes.data(), 0, ggml_nbytes(weights));
    std::vector<float> found = computation.run(product);
    if (!memory.is_whole()) {
        throw Broken("packed beside its memory");
    }
    return found;
}

/// Compares rows as they are with the same rows packed, as many as can be, for `count` columns from `first` on.
void compare_packed(Campaign & campaign, const Shape & shape, const std::vector<float> & all, const Packed & packed,
                    const Placed & tokens, int64_t first, int64_t count, int threads) {
    const int64_t rows = packable(shape);
    if (rows == 0 || shape.n2 * shape.n3 != 1) {
        return;
    }
    const Computation computation(shape.edge, threads);
    ggml_tensor * const weights = ggml_new_tensor_2d(computation.context(), shape.type, shape.width, rows);
    const std::vector<float> found = run_packed(
        computation, ggml_mul_mat(computation.context(), weights, computation.tensor(tokens.part(first, count))),
        packed.bytes, shape.edge);
    if (found.empty()) {
        return;
    }
    for (int64_t b = 0; b < shape.r2 * shape.r3; b++) {
        for (int64_t c = 0; c < count; c++) {
            same_bits(campaign, found.data() + (b * count + c) * rows,
                      all.data() + (b * shape.columns + first + c) * shape.rows, rows,
                      text("column %d of %d, packed and not", static_cast<int>(first + c), static_cast<int>(count)));
        }
    }
}

/// Compares rows that are wanted, as of an output layer (wanted.h), with the same ones among all.
void compare_wanted(Campaign & campaign, const Shape & shape, const std::vector<float> & all, const Placed & weights,
                    const Placed & tokens, uint64_t bits) {
    if (!campaign.bits || !shape.is_ours() || shape.n2 * shape.n3 * shape.r2 * shape.r3 != 1) {
        return;
    }
    const Computation computation(shape.edge, shape.threads);
    ggml_tensor * const product =
        ggml_mul_mat(computation.context(), computation.tensor(weights), computation.tensor(tokens));
    ggml_set_name(product, "result_output");
    if (!outrider_want_rows(weights.data(), &bits)) {
        throw Broken("no rows can be wanted");
    }
    const std::vector<float> found = computation.run(product);
    outrider_want_rows(weights.data(), nullptr);
    for (int64_t place = 0; place < static_cast<int64_t>(all.size()); place++) {
        const int64_t row = place % shape.rows;
        if (bits >> row / FEW_ROWS & 1) {
            same_bits(campaign, &found[place], &all[place], 1, text("wanted row %d", static_cast<int>(row)));
        } else if (row < shape.rows - FEW_ROWS && found[place] != -INFINITY) {  // The last tile repeats rows.
            throw Broken(text("row %d is not wanted, and is %g", static_cast<int>(row), found[place]));
        }
    }
}

}  // namespace

void check_product(Campaign & campaign, Chance & chance) {
    const Shape shape(campaign, chance);
    campaign.say(shape.said());
    const int64_t matrices = shape.n2 * shape.n3, shares = shape.r2 * shape.r3;
    const Packed packed = draw_weights(chance, shape.type, shape.width, shape.rows * matrices);
    const Tokens drawn(chance, shape.type, shape.width, shape.columns * matrices * shares);
    const auto lay = [&](ggml_type type, int64_t n1, int64_t n2, int64_t n3) {
        return chance.one_in(2) ? Layout::plain(type, shape.width, n1, n2, n3)
                                : Layout::view(chance, type, shape.width, n1, n2, n3);
    };
    const Placed weights(packed, lay(shape.type, shape.rows, shape.n2, shape.n3), shape.edge);
    const int64_t n2 = shape.n2 * shape.r2, n3 = shape.n3 * shape.r3;
    const Placed tokens(drawn.packed, lay(GGML_TYPE_F32, shape.columns, n2, n3), shape.edge);

    const std::vector<float> all = multiply(weights, tokens, shape.threads, shape.edge);
    const std::vector<Extent> extents = extents_of(packed);
    const bool strict = campaign.bits && shape.is_ours();
    Judge judge(strict, shape.type);
    for (int64_t column = 0; column < drawn.packed.rows; column++) {
        const int64_t i2 = column / shape.columns % n2 / shape.r2, i3 = column / (shape.columns * n2) / shape.r3;
        judge.see(packed.values.data(), extents, (i3 * shape.n2 + i2) * shape.rows, shape.rows,
                  drawn.packed.values.data() + column * shape.width, drawn.rounded.data() + column * shape.width,
                  shape.width, all.data() + column * shape.rows);
    }
    campaign.see(shape.is_known_as_wrong() ? 0.0 : judge.error(), strict);

    for (int threads = 1; threads <= 4; threads++) {
        compare_part(campaign, shape, all, weights, tokens, 0, shape.columns, threads);
    }
    for (int64_t column = 0; column < shape.columns; column += 1 + shape.columns / 8) {
        compare_part(campaign, shape, all, weights, tokens, column, 1, static_cast<int>(chance.among(1, 4)));
    }
    compare_packed(campaign, shape, all, packed, tokens, 0, shape.columns, shape.threads);
    const int64_t first = chance.among(0, shape.columns - 1), count = chance.among(1, shape.columns - first);
    compare_packed(campaign, shape, all, packed, tokens, first, count, static_cast<int>(chance.among(1, 4)));
    compare_part(campaign, shape, all, weights, tokens, first, count, static_cast<int>(chance.among(1, 4)));
    compare_wanted(campaign, shape, all, weights, tokens, chance.bits());
}

namespace {

/// Rows first..first + count of some.
Packed rows_of(const Packed & all, int64_t first, int64_t count) {
    const auto bytes = all.bytes.begin() + first * all.row_size();
    const auto values = all.values.begin() + first * all.width;
    return {all.type, all.width, count, {bytes, bytes + count * all.row_size()}, {values, values + count * all.width}};
}

/// Each token's experts, all different, in rows that lie `stride` numbers apart.
struct Chosen {
    int64_t used, tokens, stride;
    std::vector<int32_t> experts;

    Chosen(Chance & chance, int64_t all, int64_t used, int64_t tokens)
        : used(used), tokens(tokens), stride(chance.one_in(2) ? all : used), experts(stride * tokens) {
        const int64_t among = chance.one_in(4) ? used : all;  // Or all tokens choose the same ones.
        std::vector<int32_t> order(all);
        for (int64_t t = 0; t < tokens; t++) {
            std::iota(order.begin(), order.end(), 0);
            for (int64_t u = 0; u < stride; u++) {
                std::swap(order[u], order[chance.among(u, std::max(among - 1, u))]);
                experts[t * stride + u] = order[u];
            }
        }
    }

    Layout layout() const {
        const size_t row = stride * sizeof(int32_t);
        return {{used, tokens, 1, 1}, {sizeof(int32_t), row, row * tokens, row * tokens}};
    }

    Packed packed() const {
        Packed packed{GGML_TYPE_I32, used, tokens, {}, {}};
        for (int64_t t = 0; t < tokens; t++) {
            const char * row = reinterpret_cast<const char *>(experts.data() + t * stride);
            packed.bytes.insert(packed.bytes.end(), row, row + used * sizeof(int32_t));
        }
        return packed;
    }
};

/// The token is in dimension 2, so that `part` of dimension 1 does not do.
Placed tokens_of(const Placed & all, int64_t first, int64_t count) {
    Placed turned = all;
    std::swap(turned.layout.ne[1], turned.layout.ne[2]);
    std::swap(turned.layout.nb[1], turned.layout.nb[2]);
    Placed part = turned.part(first, count);
    std::swap(part.layout.ne[1], part.layout.ne[2]);
    std::swap(part.layout.nb[1], part.layout.nb[2]);
    return part;
}

/// Compares the product with experts as they are, `together`, with that which `multiply` makes of them packed.
template <class Multiply>
void compare_packed_experts(Campaign & campaign, const Shape & shape, const Packed & packed, int64_t experts,
                            const std::vector<float> & together, Multiply && multiply) {
    const int64_t rows = packable(shape);
    const size_t whole = shape.rows * packed.row_size(), part = rows * packed.row_size();
    std::vector<char> bytes;
    for (int64_t e = 0; e < experts; e++) {
        const char * first = packed.bytes.data() + e * whole;
        bytes.insert(bytes.end(), first, first + part);
    }
    if (rows == 0) {
        return;
    }
    const Computation computation(shape.edge, shape.threads);
    ggml_tensor * const weights = ggml_new_tensor_3d(computation.context(), shape.type, shape.width, rows, experts);
    const std::vector<float> found = run_packed(computation, multiply(computation, weights), bytes, shape.edge);
    for (size_t place = 0; place < found.size() / rows; place++) {
        same_bits(campaign, found.data() + place * rows, together.data() + place * shape.rows, rows,
                  text("place %d of experts, packed and not", static_cast<int>(place)));
    }
}

}  // namespace

void check_experts(Campaign & campaign, Chance & chance) {
    const Shape shape(campaign, chance);
    const int64_t all = chance.among(2, 12), used = chance.among(1, std::min<int64_t>(all, 4));
    const int64_t beside = chance.one_in(2) ? used : 1;  // Each expert its own input, or all the same.
    campaign.say(text("%d of %d experts, ", static_cast<int>(used), static_cast<int>(all)) + shape.said());
    const Packed packed = draw_weights(chance, shape.type, shape.width, shape.rows * all);
    const Placed weights(packed, Layout::plain(shape.type, shape.width, shape.rows, all), shape.edge);
    const Tokens drawn(chance, shape.type, shape.width, beside * shape.columns);
    const Placed tokens(drawn.packed, Layout::plain(GGML_TYPE_F32, shape.width, beside, shape.columns), shape.edge);
    const Chosen chosen(chance, all, used, shape.columns);
    const Placed ids(chosen.packed(), chosen.layout(), shape.edge);
    const auto multiply_some = [&](int64_t first, int64_t count, int threads) {
        const Computation computation(shape.edge, threads);
        return computation.run(ggml_mul_mat_id(computation.context(), computation.tensor(weights),
                                               computation.tensor(tokens_of(tokens, first, count)),
                                               computation.tensor(ids.part(first, count))));
    };
    const std::vector<float> together = multiply_some(0, shape.columns, shape.threads);
    const std::vector<Extent> extents = extents_of(packed);
    const bool strict = campaign.bits && shape.is_ours();
    Judge judge(strict, shape.type);
    for (int64_t place = 0; place < used * shape.columns; place++) {
        const int64_t token = place / used, expert = chosen.experts[token * chosen.stride + place % used];
        const int64_t column = token * beside + place % used % beside;
        judge.see(packed.values.data(), extents, expert * shape.rows, shape.rows,
                  drawn.packed.values.data() + column * shape.width, drawn.rounded.data() + column * shape.width,
                  shape.width, together.data() + place * shape.rows);
    }
    campaign.see(shape.is_known_as_wrong() ? 0.0 : judge.error(), strict);
    for (int64_t token = 0; shape.has_same_bits(1) && token < shape.columns; token += 1 + shape.columns / 8) {
        const int threads = static_cast<int>(chance.among(1, 4));
        same_bits(campaign, multiply_some(token, 1, threads).data(), together.data() + token * used * shape.rows,
                  used * shape.rows,
                  text("token %d with %d threads, alone and among all", static_cast<int>(token), threads));
    }
    if (shape.is_ours()) {
        const auto place = [&](const Packed & some) {
            return Placed(some, Layout::plain(some.type, some.width, some.rows), shape.edge);
        };
        const Placed alone = place(rows_of(packed, chosen.experts[0] * shape.rows, shape.rows));
        same_bits(campaign, multiply(alone, place(rows_of(drawn.packed, 0, 1)), shape.threads, shape.edge).data(),
                  together.data(), shape.rows, "an expert and a plain product with its weights");
    }
    compare_packed_experts(campaign, shape, packed, all, together, [&](const Computation & computation, auto * experts) {
        return ggml_mul_mat_id(computation.context(), experts, computation.tensor(tokens), computation.tensor(ids));
    });
}

}  // namespace check
