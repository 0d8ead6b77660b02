// The inner loops of batch normalisation, compiled once for each instruction set. The compiler
// makes vector instructions of them: channels are consecutive and independent. batch_norm_cpu.h
// says what each computes.
#include "ops/nn/batch_norm_cpu.h"

#define TYPE float
#define FN(name) name##_f32
#include "ops/nn/batch_norm_loops.inc"

#define TYPE double
#define FN(name) name##_f64
#include "ops/nn/batch_norm_loops.inc"

#define FIELDS(suffix)                                                                        \
  .sum_##suffix = sum_##suffix, .squares_##suffix = squares_##suffix,                         \
  .products_##suffix = products_##suffix, .normalize_##suffix = normalize_##suffix,           \
  .back_##suffix = back_##suffix
extern const leat_batch_norm_loops_t LEAT_ISA_NAME(leat_batch_norm_loops);
const leat_batch_norm_loops_t LEAT_ISA_NAME(leat_batch_norm_loops) = {FIELDS(f32), FIELDS(f64)};
