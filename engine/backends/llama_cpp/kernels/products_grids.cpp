// Products of weights that are taken from tables.
#include "products.h"

#ifdef OUTRIDER_LANES

#include "grids.h"

namespace outrider {

const Products GRIDS = ProductsOf<SuperBlocks<IQ2_XXS>, SuperBlocks<IQ2_XS>, SuperBlocks<IQ2_S>,
                                  SuperBlocks<IQ3_XXS>, SuperBlocks<IQ3_S>, SuperBlocks<IQ1_S>,
                                  SuperBlocks<IQ1_M>>::ALL;

}  // namespace outrider

#endif
