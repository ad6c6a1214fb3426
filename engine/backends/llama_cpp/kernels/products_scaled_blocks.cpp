// Products of weights in blocks with other scales.
#include "packing.h"

#ifdef OUTRIDER_LANES

#include "scaled_blocks.h"

namespace outrider {

const Products SCALED_BLOCKS = ProductsOf<ScaledBlocks<Q4_1<>>, ScaledBlocks<Q5_1<>>, ScaledBlocks<MXFP4<>>,
                                          ScaledBlocks<NVFP4>, ScaledBlocks<Q1_0>, ScaledBlocks<Q2_0>>::ALL;
const PackedProducts PACKED_SCALED_BLOCKS =
    PackedProductsOf<PackedAsTheyAre<ScaledBlocks, Q4_1<PackedRows>>, PackedAsTheyAre<ScaledBlocks, Q5_1<PackedRows>>,
                     PackedAsTheyAre<ScaledBlocks, MXFP4<PackedRows>>>::ALL;

}  // namespace outrider

#endif
