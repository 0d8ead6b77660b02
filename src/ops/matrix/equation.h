// The equation of an Einsum, as in "ij,...jk->...ik", parsed: for each operand its labels in order,
// and where its ellipsis stands. An Einsum has one or two operands. Both the shape function
// (einsum.c) and the kernel (einsum_cpu.c) parse the equation with this.
//
//   "...ij"   labels i j, ellipsis 0      "ij"   labels i j, ellipsis -1
//
// A label is any byte but a period. Whether labels fit the operands' shapes is checked by the
// callers, as is a label of the output that no operand has. The functions allocate nothing but
// errors.
#ifndef LEAT_OPS_MATRIX_EQUATION_H_
#define LEAT_OPS_MATRIX_EQUATION_H_

#include "base/status.h"
#include "base/string_view.h"
#include "tensor/shape.h"

typedef struct leat_subscripts_s {
  int count;     // the number of labels
  int ellipsis;  // the number of labels before the ellipsis; -1: there is none
  uint8_t labels[LEAT_SHAPE_MAX_RANK];
} leat_subscripts_t;

typedef struct leat_equation_s {
  int input_count;
  leat_subscripts_t inputs[2];
  leat_subscripts_t output;
} leat_equation_t;

// Parses |text|, which may be dropped afterwards. INVALID_ARGUMENT when it is no equation of one or
// two operands: it needs one arrow, at most one comma before it, and periods only as one ellipsis
// in a subscript.
LEAT_MUST_USE leat_status_t leat_equation_parse(leat_string_view_t text,
                                                leat_equation_t* out_equation);
// true when |label| is among the labels.
bool leat_subscripts_has(const leat_subscripts_t* subscripts, int label);

// Writes the labels and the ellipsis to |out_text|, NUL-terminated; it has room for
// LEAT_SUBSCRIPTS_TEXT_SIZE bytes.
#define LEAT_SUBSCRIPTS_TEXT_SIZE (LEAT_SHAPE_MAX_RANK + 4)
void leat_subscripts_print(const leat_subscripts_t* subscripts, char* out_text);

#endif  // LEAT_OPS_MATRIX_EQUATION_H_
