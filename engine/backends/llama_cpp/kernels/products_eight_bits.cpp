// Products of weights in eight bits: Q8_0.
#include "packing.h"

#ifdef OUTRIDER_LANES

#include "eight_bit.h"

namespace outrider {

const Products EIGHT_BITS = ProductsOf<EightBit<Q8_0>>::ALL;
const PackedProducts PACKED_EIGHT_BITS = PackedProductsOf<EightBit<Q8_0, PackedRows>>::ALL;

}  // namespace outrider

#endif
