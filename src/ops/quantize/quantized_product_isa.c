// The inner loops of quantised products, compiled for each instruction set.
#include "ops/quantize/quantized_product_cpu.h"

#define TYPE int16_t
#define SUFFIX(name) name##_narrow
#define PRODUCT(x, y) (uint32_t)((int32_t)(x) * (int32_t)(y))
#include "ops/quantize/quantized_product_loops.inc"

#define TYPE int32_t
#define SUFFIX(name) name##_wide
#define PRODUCT(x, y) ((uint32_t)(x) * (uint32_t)(y))
#include "ops/quantize/quantized_product_loops.inc"

const leat_quantized_widths_t LEAT_ISA_NAME(leat_quantized_widths) = {
    .narrow = {centre_narrow, multiply_narrow, sizeof(int16_t)},
    .wide = {centre_wide, multiply_wide, sizeof(int32_t)},
};
