// Products of packed weights in blocks of 256 with small scales.
#include "packing.h"

#ifdef OUTRIDER_LANES

#include "k_quants.h"

namespace outrider {
const PackedProducts PACKED_K_QUANTS =
    PackedProductsOf<PackedAsTheyAre<SuperBlocks, Q4_K<PackedRows>>, PackedAsTheyAre<SuperBlocks, Q5_K<PackedRows>>,
                     PackedAsTheyAre<SuperBlocks, Q6_K<PackedRows>>>::ALL;

}  // namespace outrider

#endif
