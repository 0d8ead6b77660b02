// How the rows of kernels are written: what the source of kernels (src/ops/<family>/<noun>_cpu.c)
// includes. The source ends with its table, which the family's list names (ops/family.h):
//
//   const leat_kernel_row_t leat_bias_kernels_cpu[] = {
//       LEAT_CPU_KERNEL("BiasAdd", "T: float", leat_bias_t, create_bias, bias_add__cpu),
//       LEAT_KERNEL_ROWS_END,
//   };
#ifndef LEAT_OPS_KERNEL_ROWS_H_
#define LEAT_OPS_KERNEL_ROWS_H_

#include "kernel/kernel.h"

// Ends a table of kernel rows.
#define LEAT_KERNEL_ROWS_END {.op = 0}

// A row of a CPU kernel with a state: |types| is its constraint, NULL for none, and behind the
// function that computes may stand further fields, such as .destroy.
#define LEAT_CPU_KERNEL(op_name, types, state_type, create_fn, ...) \
  {.op = op_name,                                                  \
   .device_type = "CPU",                                           \
   .constraints = types,                                           \
   .create = create_fn,                                            \
   .state_bytes = sizeof(state_type),                              \
   .compute = __VA_ARGS__}

#endif  // LEAT_OPS_KERNEL_ROWS_H_
