// The equation of an Einsum, as in "ij,...jk->...ik", parsed: for each operand its labels in order,
// and where its ellipsis stands. An Einsum has one or two operands. Both the shape function and the
// kernel parse the equation with this.
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

// Parses |text|; INVALID_ARGUMENT when it is no equation of one or two operands.
LEAT_MUST_USE leat_status_t leat_equation_parse(leat_string_view_t text,
                                                leat_equation_t* out_equation);
// true when |label| is among the labels.
bool leat_subscripts_has(const leat_subscripts_t* subscripts, int label);

// Writes the labels and the ellipsis to |out_text|, NUL-terminated; it has room for
// LEAT_SUBSCRIPTS_TEXT_SIZE bytes.
#define LEAT_SUBSCRIPTS_TEXT_SIZE (LEAT_SHAPE_MAX_RANK + 4)
void leat_subscripts_print(const leat_subscripts_t* subscripts, char* out_text);

#endif  // LEAT_OPS_MATRIX_EQUATION_H_
