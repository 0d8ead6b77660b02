// Definitions of the activations and their gradients.
//
//   Relu       max(x, 0)                     Elu       x, or exp(x) - 1 where x < 0
//   Relu6      min(max(x, 0), 6)             Selu      Elu scaled so that variances stay 1
//   LeakyRelu  x, or alpha x where x <= 0    Softplus  log(exp(x) + 1)
//                                            Softsign  x / (|x| + 1)
//
// Most gradients are ops of their own, (dy, x or y) -> dx, where y is the activation itself. Those
// of Relu, Relu6, Elu and Selu need y alone. Training then does not keep x, and the activation can
// overwrite it. The gradient ops have gradients in turn, except SoftsignGrad.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/math/arithmetic.h"
#include "ops/op_rows.h"

// dx = <op>(dy, y), where y is the output of the activation.
static leat_status_t gradient_by_output(leat_gradient_t* g, const char* op) {
  leat_gradient_set_input(g, 0, leat_build_binary(&g->builder, op, leat_gradient_of_output(g, 0),
                                                  leat_gradient_output(g, 0)));
  return leat_ok_status();
}
// dx = <op>(dy, x), where x is the input of the activation.
static leat_status_t gradient_by_input(leat_gradient_t* g, const char* op) {
  leat_gradient_set_input(g, 0, leat_build_binary(&g->builder, op, leat_gradient_of_output(g, 0),
                                                  leat_gradient_input(g, 0)));
  return leat_ok_status();
}
static leat_status_t relu_gradient(leat_gradient_t* g) {
  return gradient_by_output(g, "ReluGrad");
}
static leat_status_t relu6_gradient(leat_gradient_t* g) {
  return gradient_by_output(g, "Relu6Grad");
}
static leat_status_t elu_gradient(leat_gradient_t* g) { return gradient_by_output(g, "EluGrad"); }
static leat_status_t selu_gradient(leat_gradient_t* g) {
  return gradient_by_output(g, "SeluGrad");
}
static leat_status_t softsign_gradient(leat_gradient_t* g) {
  return gradient_by_input(g, "SoftsignGrad");
}

// The slope of log(exp(x) + 1) is sigmoid(x).
static leat_status_t softplus_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  const leat_output_t sigmoid = leat_build_unary(b, "Sigmoid", leat_gradient_input(g, 0));
  leat_gradient_set_input(g, 0, leat_arithmetic_mul(b, leat_gradient_of_output(g, 0), sigmoid));
  return leat_ok_status();
}

static leat_output_t build_leaky(leat_gradient_t* g, leat_output_t dy, leat_output_t x) {
  const leat_attr_value_t* alpha = leat_node_attr(leat_gradient_node(g), LEAT_SV("alpha"));
  return leat_build(&g->builder, "LeakyReluGrad", LEAT_INPUTS(dy, x),
                    LEAT_ATTRS(LEAT_COPY("alpha", alpha)));
}
static leat_status_t leaky_relu_gradient(leat_gradient_t* g) {
  leat_gradient_set_input(
      g, 0, build_leaky(g, leat_gradient_of_output(g, 0), leat_gradient_input(g, 0)));
  return leat_ok_status();
}

// ---- Of the gradients: inputs (dy, x) -> dx -----------------------------------------------------

static void set_zeros(leat_gradient_t* g, int index) {
  leat_gradient_set_input(
      g, index, leat_build_unary(&g->builder, "ZerosLike", leat_gradient_input(g, index)));
}

// The gradient of ReluGrad and Relu6Grad, which pass dy or 0: linear in dy, and constant in x.
static leat_status_t gradient_of_choice(leat_gradient_t* g, const char* op) {
  leat_gradient_set_input(g, 0, leat_build_binary(&g->builder, op, leat_gradient_of_output(g, 0),
                                                  leat_gradient_input(g, 1)));
  set_zeros(g, 1);
  return leat_ok_status();
}
static leat_status_t relu_grad_gradient(leat_gradient_t* g) {
  return gradient_of_choice(g, "ReluGrad");
}
static leat_status_t relu6_grad_gradient(leat_gradient_t* g) {
  return gradient_of_choice(g, "Relu6Grad");
}
static leat_status_t leaky_relu_grad_gradient(leat_gradient_t* g) {
  leat_gradient_set_input(
      g, 0, build_leaky(g, leat_gradient_of_output(g, 0), leat_gradient_input(g, 1)));
  set_zeros(g, 1);
  return leat_ok_status();
}

// The gradient of EluGrad and SeluGrad: where y is negative their dx is dy (y + constant), so that
// the gradient with respect to y is ddx dy there and 0 elsewhere.
static leat_status_t gradient_of_exponential(leat_gradient_t* g, const char* op) {
  leat_builder_t* b = &g->builder;
  const leat_output_t ddx = leat_gradient_of_output(g, 0);
  const leat_output_t dy = leat_gradient_input(g, 0), y = leat_gradient_input(g, 1);
  leat_gradient_set_input(g, 0, leat_build_binary(b, op, ddx, y));
  const leat_output_t zero = leat_build_scalar(b, leat_build_type_of(b, y), 0);
  const leat_output_t is_negative = leat_build_binary(b, "Less", y, zero);
  const leat_output_t product = leat_build_binary(b, "Mul", ddx, dy);
  const leat_output_t zeros = leat_build_unary(b, "ZerosLike", y);
  leat_gradient_set_input(g, 1, leat_build(b, "Select", LEAT_INPUTS(is_negative, product, zeros),
                                           LEAT_NO_ATTRS));
  return leat_ok_status();
}
static leat_status_t elu_grad_gradient(leat_gradient_t* g) {
  return gradient_of_exponential(g, "EluGrad");
}
static leat_status_t selu_grad_gradient(leat_gradient_t* g) {
  return gradient_of_exponential(g, "SeluGrad");
}

// SoftplusGrad is dy sigmoid(x), and the slope of sigmoid is 1 / (exp(-x) + 2 + exp(x)).
static leat_status_t softplus_grad_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  const leat_output_t ddx = leat_gradient_of_output(g, 0);
  const leat_output_t dy = leat_gradient_input(g, 0), x = leat_gradient_input(g, 1);
  leat_gradient_set_input(g, 0, leat_build_binary(b, "SoftplusGrad", ddx, x));
  const leat_output_t two = leat_build_scalar(b, leat_build_type_of(b, x), 2);
  const leat_output_t rising = leat_build_unary(b, "Exp", x);
  const leat_output_t falling = leat_build_unary(b, "Exp", leat_build_unary(b, "Neg", x));
  const leat_output_t sum =
      leat_build_binary(b, "AddV2", leat_build_binary(b, "AddV2", falling, two), rising);
  leat_gradient_set_input(
      g, 1, leat_build_binary(b, "RealDiv", leat_build_binary(b, "Mul", ddx, dy), sum));
  return leat_ok_status();
}

#define FLOATING "T: {half, bfloat16, float, double}"
#define REAL                                                                                  \
  "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}"
#define LEAKY "alpha: float = 0.2; T: {half, bfloat16, float, double} = float"

#define ACTIVATION(op, types, gradient_fn, text) \
  {.name = op,                                   \
   .inputs = "features: T",                      \
   .outputs = "activations: T",                  \
   .attrs = types,                               \
   .shape = leat_shape_unchanged,                \
   .flags = LEAT_OP_CHEAP,                       \
   .gradient = gradient_fn,                      \
   .doc = text}
#define GRADIENT(op, second, types, gradient_fn, text)  \
  {.name = op,                                          \
   .inputs = "gradients: T; " second ": T",             \
   .outputs = "backprops: T",                           \
   .attrs = types,                                      \
   .shape = leat_shape_merge_inputs,                    \
   .gradient = gradient_fn,                             \
   .contract = LEAT_RULES(LEAT_RULE_SAME_SHAPE(0, 1)),  \
   .doc = text}

const leat_op_row_t leat_relu_ops[] = {
    ACTIVATION("Relu",
               "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, "
               "uint32, uint64, qint8}",
               relu_gradient, "max(x, 0)."),
    GRADIENT("ReluGrad", "features", REAL, relu_grad_gradient, "dy where x > 0, else 0."),
    ACTIVATION("Relu6", REAL, relu6_gradient, "min(max(x, 0), 6)."),
    GRADIENT("Relu6Grad", "features", REAL, relu6_grad_gradient, "dy where 0 < x < 6, else 0."),
    ACTIVATION("LeakyRelu", LEAKY, leaky_relu_gradient, "x where x > 0, else alpha x."),
    GRADIENT("LeakyReluGrad", "features", LEAKY, leaky_relu_grad_gradient,
             "dy where x > 0, else alpha dy."),
    ACTIVATION("Elu", FLOATING, elu_gradient, "x where x >= 0, else exp(x) - 1."),
    GRADIENT("EluGrad", "outputs", FLOATING, elu_grad_gradient,
             "dy (y + 1) where y < 0, else dy, with y = Elu(x)."),
    ACTIVATION("Selu", FLOATING, selu_gradient,
               "scale x where x >= 0, else scale alpha (exp(x) - 1)."),
    GRADIENT("SeluGrad", "outputs", FLOATING, selu_grad_gradient,
             "dy (y + scale alpha) where y < 0, else scale dy, with y = Selu(x)."),
    ACTIVATION("Softplus", FLOATING, softplus_gradient, "log(exp(x) + 1)."),
    GRADIENT("SoftplusGrad", "features", FLOATING, softplus_grad_gradient,
             "dy / (exp(-x) + 1)."),
    ACTIVATION("Softsign", FLOATING, softsign_gradient, "x / (|x| + 1)."),
    GRADIENT("SoftsignGrad", "features", FLOATING, NULL, "dy / (|x| + 1)^2."),
    LEAT_OP_ROWS_END,
};
