// The optimizers: one list, from which the formulas, the kernels and this enum are made. An
// optimizer's op comes in up to four forms: Apply (by reference), ResourceApply (by handle), and
// SparseApply of both, which update the rows that |indices| names. The inputs of all are variables
// (the parameter, then its slots), scalars, the gradient and the indices, in the order of the op's
// definition. _FusedApply and _FusedResourceApply do what the first two do, after the gradient went
// through a prologue: steps that each combine it with a scalar.
//
//   ApplyMomentum  var, accum, lr, grad, momentum     2 variables, 2 scalars, 1 gradient
//
// optimizer_cpu.c runs a step, optimizer_rows_cpu.c updates rows, and the formulas are in
// optimizer_formula.inc. A formula is elementwise: element i of the variables changes by element i
// of the gradient alone. The functions run on the calling thread and on the step's pool, while the
// kernel holds the locks of its variables.
#ifndef LEAT_OPS_TRAIN_OPTIMIZERS_CPU_H_
#define LEAT_OPS_TRAIN_OPTIMIZERS_CPU_H_

#include "base/cpu.h"
#include "kernel/kernel.h"

// X(enum, formula, how the names of its ops end, variables, scalars)
#define LEAT_OPTIMIZER_FORMULAS(X)     \
  LEAT_OPTIMIZER_COMPLEX_FORMULAS(X)   \
  LEAT_OPTIMIZER_REAL_FORMULAS(X)
// The first list has the formulas that serve complex types too, the second those that do not.
#define LEAT_OPTIMIZER_COMPLEX_FORMULAS(X)                                  \
  X(GRADIENT_DESCENT, gradient_descent, "GradientDescent", 1, 1)            \
  X(ADADELTA, adadelta, "Adadelta", 3, 3)                                   \
  X(ADAGRAD, adagrad, "Adagrad", 2, 1)                                      \
  X(ADAGRAD_V2, adagrad_v2, "AdagradV2", 2, 2)                              \
  X(MOMENTUM, momentum, "Momentum", 2, 2)                                   \
  X(KERAS_MOMENTUM, keras_momentum, "KerasMomentum", 2, 2)                  \
  X(ADAM, adam, "Adam", 3, 6)                                               \
  X(RMS_PROP, rms_prop, "RMSProp", 3, 4)                                    \
  X(CENTERED_RMS_PROP, centered_rms_prop, "CenteredRMSProp", 4, 4)
#define LEAT_OPTIMIZER_REAL_FORMULAS(X)                                     \
  X(ADAGRAD_DA, adagrad_da, "AdagradDA", 3, 4)                              \
  X(PROXIMAL_GRADIENT_DESCENT, proximal_gradient_descent, "ProximalGradientDescent", 1, 3) \
  X(PROXIMAL_ADAGRAD, proximal_adagrad, "ProximalAdagrad", 2, 3)            \
  X(FTRL, ftrl, "Ftrl", 3, 4)                                               \
  X(FTRL_V2, ftrl_v2, "FtrlV2", 3, 5)                                       \
  X(AMSGRAD, amsgrad, "AdamWithAmsgrad", 4, 6)                              \
  X(ADA_MAX, ada_max, "AdaMax", 3, 5)                                       \
  X(ADD_SIGN, add_sign, "AddSign", 2, 4)                                    \
  X(POWER_SIGN, power_sign, "PowerSign", 2, 4)

// LEAT_OPTIMIZER_COUNT is the number of formulas, not an optimizer.
typedef enum leat_optimizer_e {
#define LEAT_OPTIMIZER_ENUM_(NAME, ...) LEAT_OPTIMIZER_##NAME,
  LEAT_OPTIMIZER_FORMULAS(LEAT_OPTIMIZER_ENUM_)
#undef LEAT_OPTIMIZER_ENUM_
      LEAT_OPTIMIZER_COUNT,
} leat_optimizer_t;

// The most variables and scalars that an op has.
#define LEAT_OPTIMIZER_MAX_VARIABLES 4
#define LEAT_OPTIMIZER_MAX_SCALARS 8

// A step of a prologue, in which x is the gradient and s the scalar. The two may not change places
// in a minimum or maximum, which of two zeros gives the right one, and they may differ in sign.
//
// X(enum, loop, the op, which of its operands the gradient is)
#define LEAT_PROLOGUE_STEPS(X)                              \
  X(MULTIPLY, multiply, "Mul", 0)                                           \
  X(DIVIDE, divide, "RealDiv", 0)                                           \
  X(MINIMUM, minimum, "Minimum", 0)                                         \
  X(MINIMUM_OF_SCALAR, minimum_of_scalar, "Minimum", 1)                     \
  X(MAXIMUM, maximum, "Maximum", 0)                                         \
  X(MAXIMUM_OF_SCALAR, maximum_of_scalar, "Maximum", 1)
typedef enum leat_prologue_e {
#define LEAT_PROLOGUE_ENUM_(NAME, loop, op, side) LEAT_PROLOGUE_##NAME,
  LEAT_PROLOGUE_STEPS(LEAT_PROLOGUE_ENUM_)
#undef LEAT_PROLOGUE_ENUM_
      LEAT_PROLOGUE_COUNT,
} leat_prologue_t;
#define LEAT_PROLOGUE_MAX_STEPS 4
// Applies the step to |count| elements at |x| and the scalar at |scalar|; |y| may be |x|.
typedef void (*leat_prologue_fn_t)(const void* x, const void* scalar, void* y, int64_t count);

// What a formula reads and writes: arrays of one element type, which are borrowed. An output is the
// array of its input, or another one where somebody else still holds the old value.
typedef struct leat_optimizer_arrays_s {
  const void* in[LEAT_OPTIMIZER_MAX_VARIABLES];
  void* out[LEAT_OPTIMIZER_MAX_VARIABLES];
  const void* gradient;
  const void* scalars;  // of the element type, in the op's order
  const void* prologue_scalars[LEAT_PROLOGUE_MAX_STEPS];  // for its steps, not for formulas
  bool flag;            // use_nesterov, update_slots or multiply_linear_by_lr; no op has two
} leat_optimizer_arrays_t;
// Updates |count| elements of all arrays, from the first on. Runs on any thread; it does not block
// and cannot fail.
typedef void (*leat_optimizer_fn_t)(const leat_optimizer_arrays_t* arrays, int64_t count);

// The formulas over float and double of one instruction set, all of them. There is a table for the
// baseline and one for AVX2, which serves AVX-512 too (LEAT_ISA_SELECT_AVX2).
typedef struct leat_optimizer_table_s {
  leat_optimizer_fn_t f32[LEAT_OPTIMIZER_COUNT];
  leat_optimizer_fn_t f64[LEAT_OPTIMIZER_COUNT];
  leat_prologue_fn_t prologue_f32[LEAT_PROLOGUE_COUNT];
  leat_prologue_fn_t prologue_f64[LEAT_PROLOGUE_COUNT];
} leat_optimizer_table_t;
LEAT_ISA_DECLARE(leat_optimizer_table_t, leat_optimizer_table);
// Returns the step of a prologue for |dtype|, float or double.
leat_prologue_fn_t leat_prologue_step(leat_prologue_t step, int dtype);
// Returns the formula for an element type; those for half and bfloat16 work on arrays of float.
// NULL where there is none.
leat_optimizer_fn_t leat_optimizer_formula(leat_optimizer_t optimizer, int dtype);

// ---- Running one --------------------------------------------------------------------------------

// What each input of a node is. It is made once per node from the declaration of its op, or from
// the attributes of a fused one.
typedef struct leat_optimizer_plan_s {
  leat_optimizer_t optimizer;
  int dtype;
  int variable_count;  // inputs [0, variable_count) are the variables
  int gradient;        // the input that is the gradient
  int indices;         // the input that names rows, or -1: all elements are updated
  int prologue_count;  // steps; their scalars are the inputs behind the gradient
  uint8_t prologue[LEAT_PROLOGUE_MAX_STEPS];  // leat_prologue_t
  int scalar_count;
  int8_t scalars[LEAT_OPTIMIZER_MAX_SCALARS];  // the inputs that are scalars, in order
  bool flag;
} leat_optimizer_plan_t;

// Runs the formula over elements [begin, end) of |arrays|, which point at element 0 of arrays of
// the plan's type. half and bfloat16 are converted to float and back here, block by block; their
// scalars are given as half or bfloat16 too. The plan's type must have the formula.
void leat_optimizer_run(const leat_optimizer_plan_t* plan, const leat_optimizer_arrays_t* arrays,
                        int64_t begin, int64_t end);
// Updates the rows of |arrays| that the indices input names, in its order and in place: |out| and
// |in| must be the same arrays, of |shape|. INVALID_ARGUMENT, with nothing changed, when an index
// is out of range or the shapes do not fit.
LEAT_MUST_USE leat_status_t leat_optimizer_run_rows(leat_kernel_context_t* c,
                                                    const leat_optimizer_plan_t* plan,
                                                    const leat_optimizer_arrays_t* arrays,
                                                    const leat_shape_t* shape);
// Estimates how many nanoseconds an element takes.
double leat_optimizer_cost_ns(const leat_optimizer_plan_t* plan);

#endif  // LEAT_OPS_TRAIN_OPTIMIZERS_CPU_H_
