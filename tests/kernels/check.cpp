#include "check.h"

#include <map>

// Not there in a library without the kernels.
extern "C" __attribute__((weak)) bool outrider_computes_here();

namespace check {

char told[1200];

Layout Layout::plain(ggml_type type, int64_t width, int64_t n1, int64_t n2, int64_t n3) {
    const size_t row = ggml_row_size(type, width);
    return {{width, n1, n2, n3}, {ggml_type_size(type), row, row * n1, row * n1 * n2}};
}

Layout Layout::view(Chance & chance, ggml_type type, int64_t width, int64_t n1, int64_t n2, int64_t n3) {
    const size_t row = ggml_row_size(type, width) + chance.among(0, 3) * ggml_type_size(type);
    Layout layout = plain(type, width, n1, n2, n3);
    if (chance.one_in(2)) {  // As heads beside each other in a row of a cache.
        layout.nb[2] = row;
        layout.nb[1] = row * (n2 + chance.among(0, 1));
        layout.nb[3] = layout.nb[1] * n1;
    } else {
        layout.nb[1] = row;
        layout.nb[2] = row * (n1 + chance.among(0, 2));
        layout.nb[3] = layout.nb[2] * n2;
    }
    return layout;
}

Placed::Placed(const Packed & packed, const Layout & layout, Edge edge) : type(packed.type), layout(layout) {
    const size_t size = layout.offset(layout.ne[1] * layout.ne[2] * layout.ne[3] - 1) + packed.row_size();
    // Blocks begin with two bytes that belong together; all else is read as it comes.
    const size_t alignment = ggml_is_quantized(type) ? 2 : ggml_type_size(type);
    memory = std::make_shared<Guarded>(size, alignment, edge);
    std::memset(memory->data(), 0xff, size);
    for (int64_t row = 0; row < packed.rows; row++) {
        const char * from = packed.bytes.data() + row * packed.row_size();
        std::memcpy(memory->data() + layout.offset(row), from, packed.row_size());
    }
}

Placed Placed::part(int64_t first, int64_t count) const {
    Placed part = *this;
    part.begin += first * layout.nb[1];
    part.layout.ne[1] = count;
    return part;
}

namespace {

float half(const char * at) {
    ggml_fp16_t value;
    std::memcpy(&value, at, sizeof(value));
    return ggml_fp16_to_fp32(value);
}

/// The two types that only activations have, for which ggml has no function: a scale, further sums, and bytes.
void unpack_bytes(ggml_type type, const char * from, float * to, int64_t count) {
    const int64_t block = ggml_blck_size(type);
    for (int64_t i = 0; i < count; i++) {
        const char * at = from + i / block * ggml_type_size(type);
        float scale;
        std::memcpy(&scale, at, sizeof(scale));
        const bool wide = type == GGML_TYPE_Q8_K;
        to[i] = (wide ? scale : half(at)) * static_cast<int8_t>(at[4 + i % block]);
    }
}

}  // namespace

void unpack(ggml_type type, const char * from, float * to, int64_t count) {
    if (type == GGML_TYPE_F32) {
        std::memcpy(to, from, count * sizeof(float));
    } else if (type == GGML_TYPE_Q8_K || type == GGML_TYPE_Q8_1) {
        unpack_bytes(type, from, to, count);
    } else {
        ggml_get_type_traits(type)->to_float(from, to, count);
    }
}

Packed pack(ggml_type type, int64_t width, std::vector<float> values) {
    const int64_t count = static_cast<int64_t>(values.size()), rows = count / width;
    Packed packed{type, width, rows, std::vector<char>(ggml_row_size(type, width) * rows), {}};
    if (type == GGML_TYPE_F32) {
        std::memcpy(packed.bytes.data(), values.data(), packed.bytes.size());
    } else {
        const std::vector<float> importance(width, 1.0f);
        ggml_quantize_chunk(type, values.data(), packed.bytes.data(), 0, rows, width, importance.data());
    }
    packed.values.resize(count);
    unpack(type, packed.bytes.data(), packed.values.data(), count);
    return packed;
}

Computation::Computation(Edge edge, int threads)
    : edge(edge), threads(threads), held(ggml_init({size_t{1} << 16, nullptr, true})) {}

Computation::~Computation() {
    ggml_free(held);
}

ggml_tensor * Computation::tensor(const Placed & placed) const {
    ggml_tensor * made = ggml_new_tensor(held, placed.type, GGML_MAX_DIMS, placed.layout.ne);
    std::copy(placed.layout.nb, placed.layout.nb + GGML_MAX_DIMS, made->nb);
    made->data = placed.data();
    return made;
}

namespace {

/// Threads that are there already; they sleep in between.
ggml_threadpool * pool(int threads) {
    static std::map<int, ggml_threadpool *> pools;
    ggml_threadpool *& found = pools[threads];
    if (found == nullptr) {
        ggml_threadpool_params params = ggml_threadpool_params_default(threads);
        params.poll = 0;
        found = ggml_threadpool_new(&params);
    }
    return found;
}

}  // namespace

std::vector<float> Computation::run(ggml_tensor * result) const {
    constexpr size_t LINE = 64;
    ggml_cgraph * graph = ggml_new_graph_custom(held, 16, false);
    const Guarded written(ggml_nbytes(result), sizeof(float), edge);
    result->data = written.data();
    ggml_build_forward_expand(graph, result);
    ggml_cplan plan = ggml_graph_plan(graph, threads, pool(threads));
    const Guarded work(plan.work_size, LINE, edge);
    plan.work_data = reinterpret_cast<uint8_t *>(work.data());
    if (ggml_graph_compute(graph, &plan) != GGML_STATUS_SUCCESS) {
        throw Broken("not computed");
    }
    if (!written.is_whole() || !work.is_whole()) {
        throw Broken("written beside its memory");
    }
    const float * numbers = reinterpret_cast<const float *>(written.data());
    return {numbers, numbers + ggml_nelements(result)};
}

void same_bits(Campaign & campaign, const float * one, const float * other, int64_t count, const std::string & what) {
    if (!campaign.bits) {
        return;
    }
    campaign.compared += count;
    for (int64_t i = 0; i < count; i++) {
        if (std::memcmp(one + i, other + i, sizeof(float)) != 0) {
            throw Broken(text("%s: number %d is %.9g and %.9g", what.c_str(), static_cast<int>(i), one[i], other[i]));
        }
    }
}

bool at_work() {
    return outrider_computes_here != nullptr && outrider_computes_here();
}

}  // namespace check
