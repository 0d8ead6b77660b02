// The optimizers: one list that gives rows, kernels and formulas. An optimizer's op comes in up to
// four forms: Apply (references), ResourceApply (handles), and SparseApply of both, which update
// the rows that |indices| names. In all of them the inputs are variables (the parameter first, then
// its slots), scalars, the gradient and the indices; their order is the op definition's. Some come
// scaled too: their last input is a scalar by which the gradient is multiplied first.
#ifndef LEAT_OPS_TRAIN_OPTIMIZERS_CPU_H_
#define LEAT_OPS_TRAIN_OPTIMIZERS_CPU_H_

#include "base/cpu.h"
#include "kernel/kernel.h"

#define LEAT_OPTIMIZER_FORMULAS(X)     \
  LEAT_OPTIMIZER_COMPLEX_FORMULAS(X)   \
  LEAT_OPTIMIZER_REAL_FORMULAS(X)
// Those that serve complex types too, and those that do not.
#define LEAT_OPTIMIZER_COMPLEX_FORMULAS(X)    \
  X(GRADIENT_DESCENT, gradient_descent)       \
  X(ADADELTA, adadelta)                       \
  X(ADAGRAD, adagrad)                         \
  X(ADAGRAD_V2, adagrad_v2)                   \
  X(MOMENTUM, momentum)                       \
  X(KERAS_MOMENTUM, keras_momentum)           \
  X(ADAM, adam)                               \
  X(RMS_PROP, rms_prop)                       \
  X(CENTERED_RMS_PROP, centered_rms_prop)
#define LEAT_OPTIMIZER_REAL_FORMULAS(X)                 \
  X(ADAGRAD_DA, adagrad_da)                             \
  X(PROXIMAL_GRADIENT_DESCENT, proximal_gradient_descent) \
  X(PROXIMAL_ADAGRAD, proximal_adagrad)                 \
  X(FTRL, ftrl)                                         \
  X(FTRL_V2, ftrl_v2)                                   \
  X(AMSGRAD, amsgrad)                                   \
  X(ADA_MAX, ada_max)                                   \
  X(ADD_SIGN, add_sign)                                 \
  X(POWER_SIGN, power_sign)

typedef enum leat_optimizer_e {
#define LEAT_OPTIMIZER_ENUM_(NAME, name) LEAT_OPTIMIZER_##NAME,
  LEAT_OPTIMIZER_FORMULAS(LEAT_OPTIMIZER_ENUM_)
#undef LEAT_OPTIMIZER_ENUM_
      LEAT_OPTIMIZER_COUNT,
} leat_optimizer_t;

#define LEAT_OPTIMIZER_MAX_VARIABLES 4
#define LEAT_OPTIMIZER_MAX_SCALARS 8

// What a formula reads and writes: arrays of one element type. An output is its input's array, or
// another one where somebody still reads the old value.
typedef struct leat_optimizer_arrays_s {
  const void* in[LEAT_OPTIMIZER_MAX_VARIABLES];
  void* out[LEAT_OPTIMIZER_MAX_VARIABLES];
  const void* gradient;
  const void* scale;    // of float and double: what multiplies the gradient first; NULL: 1
  const void* scalars;  // of the element type, in the op's order
  bool flag;            // use_nesterov, update_slots, multiply_linear_by_lr
} leat_optimizer_arrays_t;
typedef void (*leat_optimizer_fn_t)(const leat_optimizer_arrays_t* arrays, int64_t count);

typedef struct leat_optimizer_table_s {
  leat_optimizer_fn_t f32[LEAT_OPTIMIZER_COUNT];
  leat_optimizer_fn_t f64[LEAT_OPTIMIZER_COUNT];
} leat_optimizer_table_t;
LEAT_ISA_DECLARE(leat_optimizer_table_t, leat_optimizer_table);
// The formula for an element type (half and bfloat16: over floats); NULL: none.
leat_optimizer_fn_t leat_optimizer_formula(leat_optimizer_t optimizer, int dtype);

// ---- Running one --------------------------------------------------------------------------------

// Made once per node from its op's arguments.
typedef struct leat_optimizer_plan_s {
  leat_optimizer_t optimizer;
  int dtype;
  int variable_count;  // inputs [0, variable_count)
  int gradient;        // input
  int indices;         // input, or -1
  int scale;           // input, or -1
  int scalar_count;
  int8_t scalars[LEAT_OPTIMIZER_MAX_SCALARS];  // inputs
  bool flag;
} leat_optimizer_plan_t;

// Elements [begin, end) of the arrays, whatever the plan's type (half and bfloat16 go through
// float). |arrays| point at element 0.
void leat_optimizer_run(const leat_optimizer_plan_t* plan, const leat_optimizer_arrays_t* arrays,
                        int64_t begin, int64_t end);
// Rows of |variables| (exclusive tensors of one shape) named by the indices input, in its order.
// INVALID_ARGUMENT, with nothing changed, when an index is out of range.
LEAT_MUST_USE leat_status_t leat_optimizer_run_rows(leat_kernel_context_t* c,
                                                    const leat_optimizer_plan_t* plan,
                                                    const leat_optimizer_arrays_t* arrays,
                                                    const leat_shape_t* shape);
// Estimated nanoseconds an element.
double leat_optimizer_cost_ns(const leat_optimizer_plan_t* plan);

#endif  // LEAT_OPS_TRAIN_OPTIMIZERS_CPU_H_
