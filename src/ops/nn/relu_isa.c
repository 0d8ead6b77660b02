// Loops of the activations over float and double, per instruction set. What needs an exponential
// goes block by block through vector_math.
#include <math.h>

#include "base/checked.h"
#include "device/cpu/vector_math.h"
#include "ops/nn/relu_cpu.h"

#define SELU_SCALE 1.0507009873554804934193349852946
#define SELU_SCALE_ALPHA 1.7580993408473768599402175208123
#define BLOCK 256

#define LOOP(name, type, expression)                                                              \
  static void name(const void* gradients, const void* features, void* result, int64_t n,          \
                   float alpha) {                                                                 \
    const type* dys = gradients;                                                                  \
    const type* xs = features;                                                                    \
    type* ys = result;                                                                            \
    _Pragma("GCC ivdep") for (int64_t i = 0; i < n; ++i) {                                        \
      const type x = xs[i];                                                                       \
      ys[i] = (type)(expression);                                                                 \
    }                                                                                             \
    (void)dys;                                                                                    \
    (void)alpha;                                                                                  \
  }
#define DY dys[i]

// |value| is function(x), block by block.
#define MATH_LOOP(name, type, function, expression)                                               \
  static void name(const void* gradients, const void* features, void* result, int64_t n,          \
                   float alpha) {                                                                 \
    const type* dys = gradients;                                                                  \
    const type* xs = features;                                                                    \
    type* ys = result;                                                                            \
    type values[BLOCK];                                                                           \
    for (int64_t begin = 0; begin < n; begin += BLOCK) {                                          \
      const int64_t count = LEAT_MIN(n - begin, BLOCK);                                           \
      LEAT_ISA_NAME(leat_vector_math).function(xs + begin, values, count);                        \
      _Pragma("GCC ivdep") for (int64_t k = 0; k < count; ++k) {                                  \
        const int64_t i = begin + k;                                                              \
        const type x = xs[i], value = values[k];                                                  \
        (void)x;                                                                                  \
        ys[i] = (type)(expression);                                                               \
      }                                                                                           \
    }                                                                                             \
    (void)dys;                                                                                    \
    (void)alpha;                                                                                  \
  }

#define DEFINE(suffix, type, absolute)                                                            \
  LOOP(relu_##suffix, type, x < 0 ? 0 : x)                                                        \
  LOOP(relu_grad_##suffix, type, DY * (type)(x > 0 ? 1 : 0))                                      \
  LOOP(relu6_##suffix, type, x < 0 ? 0 : x > 6 ? 6 : x)                                           \
  LOOP(relu6_grad_##suffix, type, DY * (type)((x > 0) & (x < 6) ? 1 : 0))                         \
  LOOP(leaky_relu_##suffix, type, x > 0 ? x : x * (type)alpha)                                    \
  LOOP(leaky_relu_grad_##suffix, type, x > 0 ? DY : DY * (type)alpha)                             \
  MATH_LOOP(elu_##suffix, type, expm1_##suffix, x < 0 ? value : x)                                \
  LOOP(elu_grad_##suffix, type, x < 0 ? (x + 1) * DY : DY)                                        \
  MATH_LOOP(selu_##suffix, type, expm1_##suffix,                                                  \
            x < 0 ? (type)SELU_SCALE_ALPHA * value : (type)SELU_SCALE * x)                        \
  LOOP(selu_grad_##suffix, type,                                                                  \
       DY * (x < 0 ? x + (type)SELU_SCALE_ALPHA : (type)SELU_SCALE))                              \
  MATH_LOOP(softplus_##suffix, type, softplus_##suffix, value)                                    \
  MATH_LOOP(softplus_grad_##suffix, type, sigmoid_##suffix, DY * value)                           \
  LOOP(softsign_##suffix, type, x / (absolute(x) + 1))                                            \
  LOOP(softsign_grad_##suffix, type, DY / ((absolute(x) + 1) * (absolute(x) + 1)))                \
  const leat_activation_loops_t LEAT_ISA_NAME(leat_activation_loops_##suffix) = {                 \
      LEAT_ACTIVATIONS(ENTRY_##suffix)};

#define ENTRY_f32(name) .name = name##_f32, .name##_grad = name##_grad_f32,
#define ENTRY_f64(name) .name = name##_f64, .name##_grad = name##_grad_f64,
extern const leat_activation_loops_t LEAT_ISA_NAME(leat_activation_loops_f32);
extern const leat_activation_loops_t LEAT_ISA_NAME(leat_activation_loops_f64);
DEFINE(f32, float, fabsf)
DEFINE(f64, double, fabs)
