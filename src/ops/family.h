// A family of ops: the lists of its rows, which src/init.c hands to the registries. A family's
// folder has one file <family>.c, which names the sources; a source <noun> exports two tables,
// leat_<noun>_ops (in <noun>.c) and leat_<noun>_kernels_cpu (in <noun>_cpu.c). A whole family file
// is a list:
//
//   #define SOURCES(X) X(bias) X(conv2d) X(relu)
//   LEAT_OP_FAMILY(nn, SOURCES)
//
// Registration is thus a table that can be read, and no row can be lost by a linker. Only the lists
// of families include this header: a definition includes ops/op_rows.h and kernels include
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
  const struct leat_rewrite_rule_s* const* rules;  // tables, each ended by a rule without a name
} leat_op_family_t;

// Defines leat_family_<name> from an X-macro list of sources.
#define LEAT_OP_FAMILY(family, SOURCES) LEAT_OP_FAMILY_TABLES_(family, SOURCES, NULL)
// The same of a family with rewrite rules: for each |noun| of the list RULES, the table
// leat_<noun>_rules.
#define LEAT_OP_FAMILY_WITH_RULES(family, SOURCES, RULES)                          \
  RULES(LEAT_OP_FAMILY_DECLARE_RULES_)                                             \
  static const struct leat_rewrite_rule_s* const kRules[] = {RULES(LEAT_OP_FAMILY_RULES_) 0}; \
  LEAT_OP_FAMILY_TABLES_(family, SOURCES, kRules)
#define LEAT_OP_FAMILY_TABLES_(family, SOURCES, rule_tables)                               \
  SOURCES(LEAT_OP_FAMILY_DECLARE_)                                                         \
  static const leat_op_row_t* const kOps[] = {SOURCES(LEAT_OP_FAMILY_OPS_) 0};             \
  static const leat_kernel_row_t* const kKernels[] = {SOURCES(LEAT_OP_FAMILY_KERNELS_) 0}; \
  extern const leat_op_family_t leat_family_##family;                                      \
  const leat_op_family_t leat_family_##family = {#family, kOps, kKernels, rule_tables};
#define LEAT_OP_FAMILY_DECLARE_RULES_(noun) \
  extern const struct leat_rewrite_rule_s leat_##noun##_rules[];
#define LEAT_OP_FAMILY_RULES_(noun) leat_##noun##_rules,
#define LEAT_OP_FAMILY_DECLARE_(noun)             \
  extern const leat_op_row_t leat_##noun##_ops[]; \
  extern const leat_kernel_row_t leat_##noun##_kernels_cpu[];
#define LEAT_OP_FAMILY_OPS_(noun) leat_##noun##_ops,
#define LEAT_OP_FAMILY_KERNELS_(noun) leat_##noun##_kernels_cpu,

#endif  // LEAT_OPS_FAMILY_H_
