// Arrays that are multiplied where they are read: by one number, or each row of dimension 0 by one
// of its own. The products are those of Mul, bit for bit.
#ifndef LEAT_OPS_ARRAY_ROW_SCALE_CPU_H_
#define LEAT_OPS_ARRAY_ROW_SCALE_CPU_H_

#include "base/cpu.h"
#include "kernel/kernel.h"

#define LEAT_ROW_SCALE_TYPES "float, double"

// What becomes of the products.
typedef enum leat_row_scale_end_e {
  LEAT_ROW_SCALE_LAY,  // they are where they are to be
  LEAT_ROW_SCALE_ADD,  // they are rounded, then added
  LEAT_ROW_SCALE_SUB,  // likewise
  LEAT_ROW_SCALE_END_COUNT,
} leat_row_scale_end_t;

typedef struct leat_row_scale_s {
  int dtype;
  const void *values, *numbers;  // borrowed
  int64_t run;                   // elements that have one number
} leat_row_scale_t;

// Of inputs |values| and |factor| of a kernel. INVALID_ARGUMENT unless the factor is one number, or
// has as many as the values have rows, under any shape.
LEAT_MUST_USE leat_status_t leat_row_scale_open(const leat_kernel_context_t* c, int values,
                                                int factor, leat_row_scale_t* out_scale);
// Of the |count| elements from |begin| on, to |to|: that lies apart, or to LAY where they do.
void leat_row_scale_apply(const leat_row_scale_t* scale, leat_row_scale_end_t end, int64_t begin,
                          int64_t count, void* to);

// ---- Loops --------------------------------------------------------------------------------------

// |from| has |count| elements, of which each is multiplied by the one at |number|.
typedef void (*leat_row_scale_loop_t)(const void* from, const void* number, int64_t count,
                                      void* to);
typedef struct leat_row_scale_loops_s {
  leat_row_scale_loop_t f32[LEAT_ROW_SCALE_END_COUNT], f64[LEAT_ROW_SCALE_END_COUNT];
} leat_row_scale_loops_t;
LEAT_ISA_DECLARE(leat_row_scale_loops_t, leat_row_scale_loops);

#endif  // LEAT_OPS_ARRAY_ROW_SCALE_CPU_H_
