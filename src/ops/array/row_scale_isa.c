// The loops of products of a run of elements and a number (row_scale_cpu.h), compiled once per
// instruction set.
#include "ops/array/row_scale_cpu.h"
#include "ops/math/loops_cpu.h"

#define DEFINE(name, type, assign)                                                        \
  static void name(const void* from, const void* number, int64_t count, void* to) {       \
    const type *xs = from, y = *(const type*)number;                                      \
    type* zs = to;                                                                        \
    LEAT_LOOP_INDEPENDENT                                                                 \
    for (int64_t i = 0; i < count; ++i) zs[i] assign xs[i] * y;                           \
  }
DEFINE(lay_f32, float, =)
DEFINE(add_f32, float, +=)
DEFINE(sub_f32, float, -=)
DEFINE(lay_f64, double, =)
DEFINE(add_f64, double, +=)
DEFINE(sub_f64, double, -=)

extern const leat_row_scale_loops_t LEAT_ISA_NAME(leat_row_scale_loops);
const leat_row_scale_loops_t LEAT_ISA_NAME(leat_row_scale_loops) = {
    .f32 = {lay_f32, add_f32, sub_f32}, .f64 = {lay_f64, add_f64, sub_f64}};
