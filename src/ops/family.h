// A family of ops: the lists of its rows, which src/init.c hands to the registries. A family's
// folder has one file <family>.c that defines this table from the tables of its sources.
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

#endif  // LEAT_OPS_FAMILY_H_
