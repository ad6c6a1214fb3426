// Computes one product some times over, so that an emulator can count the instructions of a time: the difference of two
// runs that differ in their number.
//
//     product-count TYPE ROWS WIDTH COLUMNS TIMES [repacked]
//
// `repacked`: with the weights as llama.cpp lays them out anew when it loads them, where it does for this type.
#include "ggml-alloc.h"
#include "ggml-backend.h"
#include "ggml-cpu.h"
#include "ggml.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

ggml_type type_named(const std::string & name) {
    for (int type = 0; type < GGML_TYPE_COUNT; type++) {
        const char * its = ggml_type_name(static_cast<ggml_type>(type));
        if (its != nullptr && name == its) {
            return static_cast<ggml_type>(type);
        }
    }
    std::fprintf(stderr, "product-count: no type is called %s\n", name.c_str());
    std::exit(2);
}

/// The memory in which weights are laid out anew, or null where llama.cpp has none here.
ggml_backend_buffer_type_t repacking() {
    ggml_backend_dev_t device = ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU);
    const auto get = reinterpret_cast<ggml_backend_dev_get_extra_bufts_t>(
        ggml_backend_reg_get_proc_address(ggml_backend_dev_backend_reg(device), "ggml_backend_dev_get_extra_bufts"));
    ggml_backend_buffer_type_t * each = get == nullptr ? nullptr : get(device);
    for (; each != nullptr && *each != nullptr; each++) {
        if (std::strstr(ggml_backend_buft_name(*each), "REPACK") != nullptr) {
            return *each;
        }
    }
    return nullptr;
}

std::vector<float> numbers(int64_t count) {
    std::vector<float> numbers(count);
    for (int64_t i = 0; i < count; i++) {
        numbers[i] = static_cast<float>(i * 7919 % 1009) / 504.0f - 1.0f;
    }
    return numbers;
}

int multiply(ggml_type type, int64_t rows, int64_t width, int64_t columns, int times, bool repacked) {
    ggml_backend_t backend = ggml_backend_cpu_init();
    ggml_backend_cpu_set_n_threads(backend, 1);
    ggml_context * held = ggml_init({size_t{1} << 20, nullptr, true});
    ggml_context * others = ggml_init({size_t{1} << 20, nullptr, true});
    ggml_tensor * weights = ggml_new_tensor_2d(held, type, width, rows);
    ggml_tensor * tokens = ggml_new_tensor_2d(others, GGML_TYPE_F32, width, columns);
    ggml_backend_buffer_type_t place = repacked ? repacking() : ggml_backend_cpu_buffer_type();
    if (place == nullptr || ggml_backend_alloc_ctx_tensors_from_buft(held, place) == nullptr) {
        std::fprintf(stderr, "product-count: nothing is laid out anew here\n");
        return 2;
    }
    ggml_cgraph * graph = ggml_new_graph(others);
    ggml_build_forward_expand(graph, ggml_mul_mat(others, weights, tokens));
    ggml_backend_alloc_ctx_tensors(others, backend);
    std::vector<char> packed(ggml_nbytes(weights));
    ggml_quantize_chunk(type, numbers(rows * width).data(), packed.data(), 0, rows, width, nullptr);
    ggml_backend_tensor_set(weights, packed.data(), 0, packed.size());
    ggml_backend_tensor_set(tokens, numbers(width * columns).data(), 0, ggml_nbytes(tokens));
    for (int i = 0; i < times; i++) {
        if (ggml_backend_graph_compute(backend, graph) != GGML_STATUS_SUCCESS) {
            return 1;
        }
    }
    return 0;
}

}  // namespace

int main(int count, char ** words) {
    if (count < 6) {
        std::fprintf(stderr, "product-count TYPE ROWS WIDTH COLUMNS TIMES [repacked]\n");
        return 2;
    }
    return multiply(type_named(words[1]), std::atoll(words[2]), std::atoll(words[3]), std::atoll(words[4]),
                    std::atoi(words[5]), count > 6);
}
