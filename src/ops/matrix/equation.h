// The equation of an Einsum, "ij,...jk->...ik": each operand's named labels and where its ellipsis
// stands. One or two operands.
#ifndef LEAT_OPS_MATRIX_EQUATION_H_
#define LEAT_OPS_MATRIX_EQUATION_H_

#include "base/status.h"
#include "base/string_view.h"
#include "tensor/shape.h"

typedef struct leat_subscripts_s {
  int count;     // of labels
  int ellipsis;  // labels before it; -1: there is none
  uint8_t labels[LEAT_SHAPE_MAX_RANK];
} leat_subscripts_t;

typedef struct leat_equation_s {
  int input_count;
  leat_subscripts_t inputs[2];
  leat_subscripts_t output;
} leat_equation_t;

// INVALID_ARGUMENT when it is not an equation.
LEAT_MUST_USE leat_status_t leat_equation_parse(leat_string_view_t text,
                                                leat_equation_t* out_equation);
// Does |label| stand there?
bool leat_subscripts_has(const leat_subscripts_t* subscripts, int label);

// As text, NUL-terminated, the ellipsis included.
#define LEAT_SUBSCRIPTS_TEXT_SIZE (LEAT_SHAPE_MAX_RANK + 4)
void leat_subscripts_print(const leat_subscripts_t* subscripts, char* out_text);

#endif  // LEAT_OPS_MATRIX_EQUATION_H_
