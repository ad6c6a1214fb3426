// Products of weights in blocks of 32 with a scale each, of four or five bits.
#include "packing.h"

#ifdef OUTRIDER_LANES

#include "eight_bit.h"

namespace outrider {

const Products SMALL_BLOCKS = ProductsOf<EightBit<Q4_0>, EightBit<Q5_0>, EightBit<IQ4_NL>>::ALL;
const PackedProducts PACKED_SMALL_BLOCKS = PackedProductsOf<EightBit<Q4_0, PackedRows>, EightBit<Q5_0, PackedRows>, EightBit<IQ4_NL, PackedRows>>::ALL;

}  // namespace outrider

#endif
