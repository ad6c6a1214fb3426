// What all checks share: chance, tensors in guarded memory, one operation computed, and what is said when one fails.
#pragma once

#include "guarded.h"

#include "ggml-cpu.h"
#include "ggml.h"

#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace check {

/// Numbers of chance that are the same everywhere: SplitMix64 (Steele, Lea, Flood 2014).
class Chance {
public:
    explicit Chance(uint64_t seed) : state(seed) {}

    uint64_t bits() {
        uint64_t z = state += 0x9e3779b97f4a7c15;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return z ^ (z >> 31);
    }

    double unit() { return static_cast<double>(bits() >> 11) * 0x1p-53; }

    /// A whole number, first and last included.
    int64_t among(int64_t first, int64_t last) {
        return first + static_cast<int64_t>(bits() % static_cast<uint64_t>(last - first + 1));
    }

    bool one_in(int64_t count) { return among(1, count) == 1; }

    template <class T> T of(std::initializer_list<T> values) {
        return values.begin()[among(0, static_cast<int64_t>(values.size()) - 1)];
    }

    /// About a normal distribution: a sum of evenly spread numbers, the same on every system.
    float normal() {
        const uint64_t drawn = bits();
        const int64_t sum = (drawn & 0xffff) + (drawn >> 16 & 0xffff) + (drawn >> 32 & 0xffff) + (drawn >> 48);
        return static_cast<float>(sum - 131070) / 37837.0f;
    }

private:
    uint64_t state;
};

inline std::string text(const char * format, ...) {
    char line[1000];
    va_list values;
    va_start(values, format);
    std::vsnprintf(line, sizeof(line), format, values);
    va_end(values);
    return line;
}

/// A rule was broken.
struct Broken : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// The case at work, for whoever handles a signal.
extern char told[1200];

/// What is asked for, and what was seen so far.
struct Campaign {
    bool bits = true;         // compare bits: only where the kernels are at work
    bool small = false;       // smaller shapes, for an emulated processor
    bool is_long = false;     // attention to thousands of positions
    std::string type;         // this one alone
    int64_t compared = 0;     // results compared bit for bit
    double largest = 0.0;     // error of ours, as a share of what is allowed
    std::string largest_of;
    std::string now;          // the case at work

    /// Tells more about the case at work.
    void say(const std::string & more) {
        now += more;
        std::snprintf(told, sizeof(told), "%s", now.c_str());
    }

    /// Takes an error as a share of what is allowed; `strict` where that is little.
    void see(double error, bool strict) {
        if (strict && error > largest) {
            largest = error;
            largest_of = now;
        }
        if (!(error <= 1.0)) {
            throw Broken(text("wrong by %.3g times what rounding explains", error));
        }
    }
};

/// Rows of numbers in the form of a type, packed one behind the other.
struct Packed {
    ggml_type type;
    int64_t width, rows;
    std::vector<char> bytes;
    std::vector<float> values;  // what the bytes stand for

    size_t row_size() const { return ggml_row_size(type, width); }
};

Packed pack(ggml_type type, int64_t width, std::vector<float> values);
/// The numbers that `count` of a type stand for.
void unpack(ggml_type type, const char * from, float * to, int64_t count);

/// How the rows of a tensor lie in memory.
struct Layout {
    int64_t ne[4];
    size_t nb[4];

    /// Without gaps.
    static Layout plain(ggml_type type, int64_t width, int64_t n1, int64_t n2 = 1, int64_t n3 = 1);
    /// As a view into something larger: gaps between rows, or the second and third dimension swapped.
    static Layout view(Chance & chance, ggml_type type, int64_t width, int64_t n1, int64_t n2 = 1, int64_t n3 = 1);

    size_t offset(int64_t row) const {
        return row % ne[1] * nb[1] + row / ne[1] % ne[2] * nb[2] + row / (ne[1] * ne[2]) * nb[3];
    }
};

/// Rows laid out in guarded memory.
struct Placed {
    ggml_type type;
    Layout layout;
    std::shared_ptr<Guarded> memory;

    Placed(const Packed & packed, const Layout & layout, Edge edge);

    /// Rows first..first + count of dimension 1 alone.
    Placed part(int64_t first, int64_t count) const;

    char * data() const { return memory->data() + begin; }

private:
    size_t begin = 0;
};

/// Computes one operation with all its memory guarded.
class Computation {
public:
    Computation(Edge edge, int threads);
    ~Computation();

    ggml_context * context() const { return held; }
    ggml_tensor * tensor(const Placed & placed) const;
    /// The numbers of `result`, without gaps.
    std::vector<float> run(ggml_tensor * result) const;

private:
    Edge edge;
    int threads;
    ggml_context * held;
};

/// Throws where bits differ; `what` says what was compared. NaN equals NaN of the same bits.
void same_bits(Campaign & campaign, const float * one, const float * other, int64_t count, const std::string & what);

void check_product(Campaign & campaign, Chance & chance);
void check_experts(Campaign & campaign, Chance & chance);
void check_attention(Campaign & campaign, Chance & chance);

/// Whether the kernels are compiled for this processor.
bool at_work();

}  // namespace check
