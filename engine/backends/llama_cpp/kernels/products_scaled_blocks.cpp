// Products of weights in blocks with other scales.
#include "packing.h"

#ifdef OUTRIDER_LANES

#include "scaled_blocks.h"

namespace outrider {

namespace {

/// Their bytes are packed as they are.
template <class Format> struct PackedScaledBlocks : ScaledBlocks<Format> {
    using Layout = typename Format::Layout;
    static constexpr int32_t PACKED_FLIP = 0;
};

}  // namespace

const Products SCALED_BLOCKS = ProductsOf<ScaledBlocks<Q4_1<>>, ScaledBlocks<Q5_1<>>, ScaledBlocks<MXFP4<>>,
                                          ScaledBlocks<NVFP4>, ScaledBlocks<Q1_0>, ScaledBlocks<Q2_0>>::ALL;
const PackedProducts PACKED_SCALED_BLOCKS =
    PackedProductsOf<PackedScaledBlocks<Q4_1<PackedRows>>, PackedScaledBlocks<Q5_1<PackedRows>>,
                     PackedScaledBlocks<MXFP4<PackedRows>>>::ALL;

}  // namespace outrider

#endif
