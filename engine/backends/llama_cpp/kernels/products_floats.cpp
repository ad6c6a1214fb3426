// Products of weights in floats and halves.
#include "products.h"

#ifdef OUTRIDER_LANES

#include "floats.h"

namespace outrider {

const Products FLOATS = ProductsOf<Floats<F32>, Floats<F16>, Floats<BF16>>::ALL;

}  // namespace outrider

#endif
