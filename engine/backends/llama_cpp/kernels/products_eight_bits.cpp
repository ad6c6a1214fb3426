// Products of weights in eight bits: Q8_0.
#include "products.h"

#ifdef OUTRIDER_LANES

#include "eight_bit.h"

namespace outrider {

const Products EIGHT_BITS = ProductsOf<EightBit<Q8_0>>::ALL;

}  // namespace outrider

#endif
