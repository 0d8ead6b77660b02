// For the rewrite rules of ops that can multiply one of their inputs by themselves: finds the array
// before the multiplication and what multiplies it. The kernels of those ops use row_scale_cpu.h.
//
//   reader ◀── (Reshape, Identity) ── Mul ◀── (Reshape, Identity) ── value
//                                      ▲
//          (Reshape, Identity) ── a column, repeated along each row ◀── factor
//
// The matched producer is the Mul, the root its reader. Between value and reader only the ends need
// to agree: the value must have the shape that the reader reads, and both the product and what the
// reader reads must have as many rows as the factor has numbers.
//
// One bit is not preserved. A MatMul with ones that repeats the factor computes 0 + number, which
// turns -0 into +0; the reader multiplies by the number itself. That changes only the sign of a
// zero in the product, and the sum of that zero and any number but another zero is the same. So an
// op may take factors by row only if it does no more than add or subtract the product.
#ifndef LEAT_OPS_ARRAY_ROW_SCALE_H_
#define LEAT_OPS_ARRAY_ROW_SCALE_H_

#include "graph/rewrite_rule.h"

typedef struct leat_row_scaling_s {
  leat_output_t value;     // what the reader will read instead of the product
  leat_output_t factor;    // a scalar, or any shape with one number for each row of the value
  leat_rewrite_way_t way;  // what lies between them and the product
} leat_row_scaling_t;

// False where neither input of the product is a scalar or has a number for each row.
bool leat_row_scaling_find(const leat_rewrite_match_t* match, leat_row_scaling_t* out_scaling);
// (leat_rewrite_rule_t.applies)
bool leat_row_scaling_applies(const leat_rewrite_match_t* match);
// Adds a node of |op|: the root's inputs with the value in the place of the product, and the factor
// behind them; the |attr_count| attributes |attrs|, and what else of the root's |op| has too.
LEAT_MUST_USE leat_status_t leat_row_scaling_make(leat_rewrite_match_t* match, const char* op,
                                                  const leat_attr_t* attrs, int attr_count,
                                                  leat_output_t* out_by);

#endif  // LEAT_OPS_ARRAY_ROW_SCALE_H_
