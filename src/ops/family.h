// A family of ops: the lists of its rows, which src/init.c hands to the registries. The sources of
// a folder src/ops/<family>/ export tables: a definition <noun>.c exports leat_<noun>_ops, kernels
// <noun>_cpu.c export leat_<noun>_kernels_cpu, and some definitions export rewrite rules,
// leat_<noun>_rules. ops/families.c names the sources of all families:
//
//   #define TRAIN(X) X(optimizer)
//   #define TRAIN_RULES(X) X(update)
//   FAMILY(train, TRAIN, TRAIN, TRAIN_RULES)
//
// Registration is thus a table that can be read, and no row can be lost by a linker. Only what
// lists tables includes this header: a definition includes ops/op_rows.h and kernels include
// ops/kernel_rows.h, so that neither sees the other.
#ifndef LEAT_OPS_FAMILY_H_
#define LEAT_OPS_FAMILY_H_

#include "ops/kernel_rows.h"
#include "ops/op_rows.h"

struct leat_rewrite_rule_s;  // graph/rewrite_rule.h

// The tables of a family. They are static and constant, and live as long as the process.
typedef struct leat_op_family_s {
  const char* name;
  const leat_op_row_t* const* ops;          // tables, each ended by a row without a name; ends NULL
  const leat_kernel_row_t* const* kernels;  // likewise
  // Tables, each ended by a rule without a name; ends NULL.
  const struct leat_rewrite_rule_s* const* rules;
} leat_op_family_t;

// All families, which ops/families.c lists; ended by NULL.
extern const leat_op_family_t* const leat_op_families[];

// What an X-macro list of sources becomes: declarations of their tables, and the tables' addresses.
// Who lists rules includes graph/rewrite_rule.h too.
#define LEAT_OP_TABLE_DECLARE(noun) extern const leat_op_row_t leat_##noun##_ops[];
#define LEAT_KERNEL_TABLE_DECLARE(noun) extern const leat_kernel_row_t leat_##noun##_kernels_cpu[];
#define LEAT_RULE_TABLE_DECLARE(noun) extern const leat_rewrite_rule_t leat_##noun##_rules[];
#define LEAT_OP_TABLE(noun) leat_##noun##_ops,
#define LEAT_KERNEL_TABLE(noun) leat_##noun##_kernels_cpu,
#define LEAT_RULE_TABLE(noun) leat_##noun##_rules,

#endif  // LEAT_OPS_FAMILY_H_
