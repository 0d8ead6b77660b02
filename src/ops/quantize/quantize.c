// The family of quantisation ops: between real numbers and the integers of few bits that stand for
// them.
#include "ops/family.h"

#define LEAT_QUANTIZE_SOURCES(X) \
  X(fake_quant)                  \
  X(quantization)                \
  X(quantized)

LEAT_OP_FAMILY(quantize, LEAT_QUANTIZE_SOURCES)
