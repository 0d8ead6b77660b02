// A row scale multiplies an array where it is read, so that the product needs no memory of its own:
// by one number, or each row of dimension 0 by a number for that row. Kernels that the optimizer
// makes of a product and its reader use it. The products are those of Mul, bit for bit.
//
//   values [rows, ...], factor [] or of |rows| elements -> values * factor
#ifndef LEAT_OPS_ARRAY_ROW_SCALE_CPU_H_
#define LEAT_OPS_ARRAY_ROW_SCALE_CPU_H_

#include "base/cpu.h"
#include "kernel/kernel.h"

// The element types that may be scaled, as a constraint of kernel rows.
#define LEAT_ROW_SCALE_TYPES "float, double"

// What becomes of the products at |to|.
typedef enum leat_row_scale_end_e {
  LEAT_ROW_SCALE_LAY,  // they are stored
  LEAT_ROW_SCALE_ADD,  // they are rounded to the type and then added to what is there
  LEAT_ROW_SCALE_SUB,  // they are rounded to the type and then subtracted from what is there
  LEAT_ROW_SCALE_END_COUNT,
} leat_row_scale_end_t;

// An open product. It is plain data: nothing has to be closed.
typedef struct leat_row_scale_s {
  int dtype;
  const void *values, *numbers;  // borrowed
  int64_t run;                   // elements that are multiplied by the same number
} leat_row_scale_t;

// Opens the product of inputs |values| and |factor| of a kernel, which it borrows. INVALID_ARGUMENT
// unless the factor has one element, or as many as the values have rows, under any shape.
LEAT_MUST_USE leat_status_t leat_row_scale_open(const leat_kernel_context_t* c, int values,
                                                int factor, leat_row_scale_t* out_scale);
// Applies |end| to the |count| products from element |begin| on and to |to|. |to| must not overlap
// the values; for LEAT_ROW_SCALE_LAY it may also be where these elements are.
void leat_row_scale_apply(const leat_row_scale_t* scale, leat_row_scale_end_t end, int64_t begin,
                          int64_t count, void* to);

// ---- Loops --------------------------------------------------------------------------------------

// Multiplies each of the |count| elements at |from| by the one number at |number|.
typedef void (*leat_row_scale_loop_t)(const void* from, const void* number, int64_t count,
                                      void* to);
typedef struct leat_row_scale_loops_s {
  leat_row_scale_loop_t f32[LEAT_ROW_SCALE_END_COUNT], f64[LEAT_ROW_SCALE_END_COUNT];
} leat_row_scale_loops_t;
LEAT_ISA_DECLARE(leat_row_scale_loops_t, leat_row_scale_loops);

#endif  // LEAT_OPS_ARRAY_ROW_SCALE_CPU_H_
