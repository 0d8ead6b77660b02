// The loops of the activations over float and double, compiled for each instruction set. The macros
// LEAT_LOOP_* (ops/math/loops_cpu.h) make a loop of an expression over x, or over x and y; in a
// gradient x is dy and y is what the slope follows from. The compiler makes vector instructions of
// them.
//
// Elu, Selu, Gelu and the gradient of Softplus need an exponential (relu_exponentials.inc). It
// comes from the vector functions of device/cpu/vector_math.h, block by block through an array on
// the stack, so that the values are still in the first-level cache when the rest of the expression
// is computed.
//
// Half and bfloat16 go through the float loops (the engine converts them), except where
// TensorFlow's result depends on the type: in Elu, Selu and their gradients (relu_narrow.inc), and
// in Softplus of bfloat16.
#include "base/checked.h"
#include "device/cpu/vector_math.h"
#include "ops/math/loops_cpu.h"
#include "ops/nn/relu_cpu.h"

#define SELU_SCALE 1.0507009873554804934193349852946
#define SELU_SCALE_ALPHA 1.7580993408473768599402175208123
#define BLOCK 256

#define UNARY(suffix, DTYPE, type, wide, name, expression) \
  LEAT_LOOP_UNARY(name##_##suffix, type, type, expression)
#define BINARY(suffix, DTYPE, type, wide, name, expression) \
  LEAT_LOOP_BINARY(name##_##suffix, type, type, expression)

LEAT_LOOP_FLOATS(UNARY, relu, x < 0 ? 0 : x)
LEAT_LOOP_FLOATS(BINARY, relu_grad, x * (y > 0 ? 1 : 0))
LEAT_LOOP_FLOATS(UNARY, relu6, x < 0 ? 0 : x > 6 ? 6 : x)
LEAT_LOOP_FLOATS(BINARY, relu6_grad, x * ((y > 0) & (y < 6) ? 1 : 0))
LEAT_LOOP_FLOATS(BINARY, leaky_relu, x > 0 ? x : x * y)
LEAT_LOOP_FLOATS(BINARY, elu_grad, y < 0 ? (y + 1) * x : x)
LEAT_LOOP_UNARY(softsign_f32, float, float, x / (__builtin_fabsf(x) + 1))
LEAT_LOOP_UNARY(softsign_f64, double, double, x / (__builtin_fabs(x) + 1))
#define SQUARE(x) ((x) * (x))
LEAT_LOOP_BINARY(softsign_grad_f32, float, float, x / SQUARE(__builtin_fabsf(y) + 1))
LEAT_LOOP_BINARY(softsign_grad_f64, double, double, x / SQUARE(__builtin_fabs(y) + 1))

#define LEAKY_RELU_GRAD(suffix, DTYPE, type, wide, name)                         \
  LEAT_LOOP_FUNCTION name##_##suffix(const void* const inputs[], void* output, int64_t n) { \
    const type* dys = inputs[0];                                                 \
    const type* xs = inputs[1];                                                  \
    const type* alphas = inputs[2];                                              \
    type* dxs = output;                                                          \
    LEAT_LOOP_INDEPENDENT                                                        \
    for (int64_t i = 0; i < n; ++i) dxs[i] = xs[i] > 0 ? dys[i] : dys[i] * alphas[i]; \
    return 0;                                                                    \
  }
LEAT_LOOP_FLOATS(LEAKY_RELU_GRAD, leaky_relu_grad)

#define SELU_GRAD(suffix, DTYPE, type, wide, name) \
  LEAT_LOOP_BINARY(name##_##suffix, type, type,    \
                   x * (y < 0 ? y + (type)SELU_SCALE_ALPHA : (type)SELU_SCALE))
LEAT_LOOP_FLOATS(SELU_GRAD, selu_grad)

#define SQRT_HALF 0.70710678118654752440
#define SQRT_2_OVER_PI 0.79788456080286535588

#define TYPE float
#define SUFFIX(name) name##_f32
#include "ops/nn/relu_exponentials.inc"

#define TYPE double
#define SUFFIX(name) name##_f64
#include "ops/nn/relu_exponentials.inc"

#define SUFFIX(name) name##_half
#define TO_FLOAT half_to_float
#define FROM_FLOAT half_from_float
#include "ops/nn/relu_narrow.inc"

#define SUFFIX(name) name##_bfloat16
#define TO_FLOAT bfloat16_to_float
#define FROM_FLOAT bfloat16_from_float
#include "ops/nn/relu_narrow.inc"

#define SOFTPLUS(suffix, DTYPE, type, wide, name)                                \
  LEAT_LOOP_FUNCTION name##_##suffix(const void* const inputs[], void* output, int64_t n) { \
    LEAT_ISA_NAME(leat_vector_math).softplus_##suffix(inputs[0], output, n);     \
    return 0;                                                                    \
  }
LEAT_LOOP_FLOATS(SOFTPLUS, softplus)

// Softplus of bfloat16. As in TensorFlow it is x itself above -(log(epsilon) + 2), which in this
// type is so low that the difference from the exact result shows.
LEAT_LOOP_FUNCTION softplus_bfloat16(const void* const inputs[], void* output, int64_t n) {
  const uint16_t* xs = inputs[0];
  uint16_t* ys = output;
  float x[BLOCK], y[BLOCK];
  for (int64_t begin = 0; begin < n; begin += BLOCK) {
    const int64_t count = LEAT_MIN(n - begin, BLOCK);
    LEAT_ISA_NAME(leat_vector_math).bfloat16_to_float(xs + begin, x, count);
    LEAT_ISA_NAME(leat_vector_math).softplus_f32(x, y, count);
    for (int64_t i = 0; i < count; ++i) y[i] = x[i] > 2.85f ? x[i] : y[i];
    LEAT_ISA_NAME(leat_vector_math).bfloat16_from_float(y, ys + begin, count);
  }
  return 0;
}

#define FLOATS(name) LEAT_LOOP_FLOATS(LEAT_LOOP_ENTRY, name)
#define FLOATING(name) \
  FLOATS(name) [LEAT_LOOP_TYPE_HALF] = name##_half, [LEAT_LOOP_TYPE_BFLOAT16] = name##_bfloat16

extern const leat_activation_loops_t LEAT_ISA_NAME(leat_activation_loops);
const leat_activation_loops_t LEAT_ISA_NAME(leat_activation_loops) = {.items = {
    [LEAT_ACTIVATION_RELU] = {FLOATS(relu)},
    [LEAT_ACTIVATION_RELU_GRAD] = {FLOATS(relu_grad)},
    [LEAT_ACTIVATION_RELU6] = {FLOATS(relu6)},
    [LEAT_ACTIVATION_RELU6_GRAD] = {FLOATS(relu6_grad)},
    [LEAT_ACTIVATION_LEAKY_RELU] = {FLOATS(leaky_relu)},
    [LEAT_ACTIVATION_LEAKY_RELU_GRAD] = {FLOATS(leaky_relu_grad)},
    [LEAT_ACTIVATION_ELU] = {FLOATING(elu)},
    [LEAT_ACTIVATION_ELU_GRAD] = {FLOATING(elu_grad)},
    [LEAT_ACTIVATION_SELU] = {FLOATING(selu)},
    [LEAT_ACTIVATION_SELU_GRAD] = {FLOATING(selu_grad)},
    [LEAT_ACTIVATION_SOFTPLUS] = {FLOATS(softplus) [LEAT_LOOP_TYPE_BFLOAT16] = softplus_bfloat16},
    [LEAT_ACTIVATION_SOFTPLUS_GRAD] = {FLOATS(softplus_grad)},
    [LEAT_ACTIVATION_SOFTSIGN] = {FLOATS(softsign)},
    [LEAT_ACTIVATION_SOFTSIGN_GRAD] = {FLOATS(softsign_grad)},
    [LEAT_ACTIVATION_GELU_EXACT] = {FLOATS(gelu_exact)},
    [LEAT_ACTIVATION_GELU_APPROXIMATE] = {FLOATS(gelu_approximate)},
}};
