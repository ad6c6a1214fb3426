// Products of weights in blocks of 256 with small scales, and of those of three values.
#include "products.h"

#ifdef OUTRIDER_LANES

#include "k_quants.h"
#include "ternary.h"

namespace outrider {

const Products K_QUANTS = ProductsOf<SuperBlocks<Q2_K>, SuperBlocks<Q3_K>, SuperBlocks<Q4_K<>>,
                                     SuperBlocks<Q5_K<>>, SuperBlocks<Q6_K<>>, SuperBlocks<IQ4_XS>,
                                     SuperBlocks<TQ1_0>, SuperBlocks<TQ2_0>>::ALL;

}  // namespace outrider

#endif
