// A family of ops: the lists of its rows, which src/init.c hands to the registries. A family's
// folder has one file <family>.c, which names the sources; a source <noun> (<noun>.c, <noun>_cpu.c)
// exports two tables, leat_<noun>_ops and leat_<noun>_kernels_cpu.
#ifndef LEAT_OPS_FAMILY_H_
#define LEAT_OPS_FAMILY_H_

#include "graph/op.h"
#include "kernel/kernel.h"

typedef struct leat_op_family_s {
  const char* name;
  const leat_op_row_t* const* ops;          // tables, each ended by a row without a name; ends NULL
  const leat_kernel_row_t* const* kernels;  // likewise
} leat_op_family_t;

// Ends a table of op rows / kernel rows.
#define LEAT_OP_ROWS_END {.name = 0}
#define LEAT_KERNEL_ROWS_END {.op = 0}

// A row of an op; behind its words may stand further fields.
#define LEAT_OP_ROW(op, ins, outs, types, shape_fn, gradient_fn, ...) \
  {.name = op,                                                        \
   .inputs = ins,                                                     \
   .outputs = outs,                                                   \
   .attrs = types,                                                    \
   .shape = shape_fn,                                                 \
   .gradient = gradient_fn,                                           \
   .doc = __VA_ARGS__}
// A row of a CPU kernel with a state: behind the function that computes may stand further fields.
#define LEAT_CPU_KERNEL(op_name, types, state_type, create_fn, ...) \
  {.op = op_name,                                                  \
   .device_type = "CPU",                                           \
   .constraints = types,                                           \
   .create = create_fn,                                            \
   .state_bytes = sizeof(state_type),                              \
   .compute = __VA_ARGS__}

// Defines leat_family_<name> from an X-macro list of sources.
#define LEAT_OP_FAMILY(family, SOURCES)                                                  \
  SOURCES(LEAT_OP_FAMILY_DECLARE_)                                                       \
  static const leat_op_row_t* const kOps[] = {SOURCES(LEAT_OP_FAMILY_OPS_) 0};           \
  static const leat_kernel_row_t* const kKernels[] = {SOURCES(LEAT_OP_FAMILY_KERNELS_) 0}; \
  extern const leat_op_family_t leat_family_##family;                                    \
  const leat_op_family_t leat_family_##family = {#family, kOps, kKernels};
#define LEAT_OP_FAMILY_DECLARE_(noun)             \
  extern const leat_op_row_t leat_##noun##_ops[]; \
  extern const leat_kernel_row_t leat_##noun##_kernels_cpu[];
#define LEAT_OP_FAMILY_OPS_(noun) leat_##noun##_ops,
#define LEAT_OP_FAMILY_KERNELS_(noun) leat_##noun##_kernels_cpu,

#endif  // LEAT_OPS_FAMILY_H_
