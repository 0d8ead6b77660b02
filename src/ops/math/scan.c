// The ops Cumsum, Cumprod and CumulativeLogsumexp: element i of the output is the reduction of all
// elements up to i along an axis. "exclusive" leaves element i itself out, and "reverse" runs from
// the end. scan_cpu.c has the kernels.
//
//   x, axis -> y of x's shape,  y_i = fold(x_0, ..., x_i)
//
// The gradient of a scan is a scan in the other direction, because x_i contributes to all y_j with
// j >= i:
//
//    Cumsum:   dx = reverse_cumsum(dy)
//    Cumprod:  dx = reverse_cumsum(y dy) / x      (0 where x is 0, as in TensorFlow)
//
// The gradient of CumulativeLogsumexp is computed with logarithms, which exist for positive numbers
// only, so that positive and negative dy are summed apart.
#include "graph/inference/inference.h"
#include "ops/math/arithmetic.h"
#include "ops/op_rows.h"

#define MUL leat_arithmetic_mul
#define SUB leat_arithmetic_sub
#define ADD leat_arithmetic_add

// Builds the scan |op| of |x| along the node's axis, in the node's direction or, if |opposite|, in
// the other direction.
static leat_output_t scan(leat_gradient_t* g, const char* op, leat_output_t x, bool opposite) {
  const leat_node_t* node = leat_gradient_node(g);
  bool exclusive = leat_node_attr_bool(node, "exclusive", false);
  bool reverse = leat_node_attr_bool(node, "reverse", false);
  return leat_build(&g->builder, op, LEAT_INPUTS(x, leat_gradient_input(g, 1)),
                    LEAT_ATTRS(LEAT_BOOL("exclusive", exclusive),
                               LEAT_BOOL("reverse", reverse != opposite)));
}

static leat_status_t cumsum_gradient(leat_gradient_t* g) {
  leat_gradient_set_input(g, 0, scan(g, "Cumsum", leat_gradient_of_output(g, 0), true));
  return leat_ok_status();
}

static leat_status_t cumprod_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  leat_output_t x = leat_gradient_input(g, 0);
  leat_output_t product = scan(g, "Cumprod", x, false);
  leat_output_t sum = scan(g, "Cumsum", MUL(b, product, leat_gradient_of_output(g, 0)), true);
  leat_gradient_set_input(g, 0, leat_build_binary(b, "DivNoNan", sum, x));
  return leat_ok_status();
}

// The lowest finite number of a type, which stands for log(0).
static double lowest(int dtype) {
  switch (dtype) {
    case LEAT_DTYPE_HALF: return -65504;
    case LEAT_DTYPE_BFLOAT16: return -0x1.fep127;
    case LEAT_DTYPE_FLOAT: return -0x1.fffffep127;
    default: return -0x1.fffffffffffffp1023;
  }
}

// dx_i is the sum over j >= i of exp(x_i - y_j) dy_j. It is computed with logarithms, which exist
// for positive numbers only, so that positive and negative dy are summed apart: this builds exp(x +
// reverse_logsumexp(log|dy| - y)) over the dy of one sign.
static leat_output_t signed_part(leat_gradient_t* g, leat_output_t dy, bool is_positive) {
  leat_builder_t* b = &g->builder;
  leat_output_t x = leat_gradient_input(g, 0);
  int dtype = b->status ? 0 : leat_build_type_of(b, dy);
  leat_output_t zero = leat_arithmetic_constant_like(b, dy, 0);
  leat_output_t mask = leat_build_binary(b, is_positive ? "Greater" : "Less", dy, zero);
  leat_output_t size = is_positive ? dy : leat_arithmetic_neg(b, dy);
  leat_output_t log = leat_arithmetic_select(b, mask, leat_build_unary(b, "Log", size),
                                             leat_arithmetic_constant_like(b, dy, lowest(dtype)));
  leat_output_t rest = SUB(b, log, leat_gradient_output(g, 0));
  leat_output_t sum = ADD(b, scan(g, "CumulativeLogsumexp", rest, true), x);
  return leat_build_unary(b, "Exp", sum);
}

static leat_status_t cumulative_logsumexp_gradient(leat_gradient_t* g) {
  leat_output_t dy = leat_gradient_of_output(g, 0);
  leat_output_t positive = signed_part(g, dy, true);
  leat_output_t negative = signed_part(g, dy, false);
  leat_gradient_set_input(g, 0, SUB(&g->builder, positive, negative));
  return leat_ok_status();
}

#define NUMBER                                                                                \
  "{float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, "      \
  "bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}"
#define ROW(op, types, gradient_fn, text)                                                     \
  {.name = op,                                                                                \
   .inputs = "x: T; axis: Tidx",                                                              \
   .outputs = "out: T",                                                                       \
   .attrs = "exclusive: bool = false; reverse: bool = false; T: " types                       \
            "; Tidx: {int32, int64} = int32",                                                 \
   .shape = leat_shape_unchanged,                                                             \
   .gradient = gradient_fn,                                                                   \
   .contract = LEAT_RULES(LEAT_RULE_SCALAR(1)),                                               \
   .doc = text}

const leat_op_row_t leat_scan_ops[] = {
    ROW("Cumsum", NUMBER, cumsum_gradient, "Running sums along an axis."),
    ROW("Cumprod", NUMBER, cumprod_gradient, "Running products along an axis."),
    ROW("CumulativeLogsumexp", "{bfloat16, half, float, double}", cumulative_logsumexp_gradient,
        "Logarithms of the running sums of exponentials along an axis."),
    LEAT_OP_ROWS_END,
};
