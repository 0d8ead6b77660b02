// Sums of squares, compiled for each instruction set. 64 partial sums run side by side: one sum
// would wait for each addition, and many small sums lose fewer bits than one large one.
#include "ops/nn/l2_loss_cpu.h"

#define WIDTH 64

#define TYPE float
#define SUFFIX(name) name##_f32
#include "ops/nn/l2_loss_sum.inc"

#define TYPE double
#define SUFFIX(name) name##_f64
#include "ops/nn/l2_loss_sum.inc"

extern const leat_square_sums_t LEAT_ISA_NAME(leat_square_sums);
const leat_square_sums_t LEAT_ISA_NAME(leat_square_sums) = {sum_f32, sum_f64};
