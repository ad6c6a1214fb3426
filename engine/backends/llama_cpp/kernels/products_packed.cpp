// Products of packed weights in blocks of 256 with small scales.
#include "packing.h"

#ifdef OUTRIDER_LANES

#include "k_quants.h"

namespace outrider {
namespace {

/// Their bytes are packed as they are.
template <class Format> struct PackedSuperBlocks : SuperBlocks<Format> {
    using Layout = typename Format::Layout;
    static constexpr int32_t PACKED_FLIP = 0;
};

}  // namespace

const PackedProducts PACKED_K_QUANTS =
    PackedProductsOf<PackedSuperBlocks<Q4_K<PackedRows>>, PackedSuperBlocks<Q5_K<PackedRows>>,
                     PackedSuperBlocks<Q6_K<PackedRows>>>::ALL;

}  // namespace outrider

#endif
