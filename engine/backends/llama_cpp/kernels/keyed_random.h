// Random numbers of a key, the same as in Python: engine/sampling/distribution.py.

#pragma once

#include <algorithm>
#include <cstdint>

namespace outrider {
namespace {

enum Purpose : uint64_t { DRAFT = 1, ACCEPT, CORRECTION, TARGET };

constexpr uint64_t INITIAL[8] = {0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
                                 0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179};
constexpr uint8_t ORDER[10][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4}, {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13}, {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11}, {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5}, {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0}};

uint64_t turned(uint64_t value, int bits) { return value >> bits | value << (64 - bits); }

/// A number in [0, 1) of this key alone: engine.sampling.distribution.uniform. It is BLAKE2b (RFC 7693) of one block of
/// 17 bytes.
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

}  // namespace
}  // namespace outrider
