// The optimizers: one list, from which the formulas, the kernels and this enum are made. An
// optimizer's op comes in up to four forms: Apply (by reference), ResourceApply (by handle), and
// SparseApply of both, which update the rows that |indices| names. The inputs of all are variables
// (the parameter, then its slots), scalars, the gradient and the indices, in the order of the op's
// definition. Some come as _Scaled ops too, whose last input is a scalar by which the gradient is
// multiplied first.
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

// X(NAME, name): LEAT_OPTIMIZER_NAME is the enum's value, and |name| begins the formula's
// functions.
#define LEAT_OPTIMIZER_FORMULAS(X)     \
  LEAT_OPTIMIZER_COMPLEX_FORMULAS(X)   \
  LEAT_OPTIMIZER_REAL_FORMULAS(X)
// The first list has the formulas that serve complex types too, the second those that do not. A new
// optimizer is a line in one of them, a function of that name in optimizer_formula.inc, and rows
// for its ops in optimizer.c and optimizer_cpu.c.
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

// LEAT_OPTIMIZER_COUNT is the number of formulas, not an optimizer.
typedef enum leat_optimizer_e {
#define LEAT_OPTIMIZER_ENUM_(NAME, name) LEAT_OPTIMIZER_##NAME,
  LEAT_OPTIMIZER_FORMULAS(LEAT_OPTIMIZER_ENUM_)
#undef LEAT_OPTIMIZER_ENUM_
      LEAT_OPTIMIZER_COUNT,
} leat_optimizer_t;

// The most variables and scalars that an op has.
#define LEAT_OPTIMIZER_MAX_VARIABLES 4
#define LEAT_OPTIMIZER_MAX_SCALARS 8

// What a formula reads and writes: arrays of one element type, which are borrowed. An output is the
// array of its input, or another one where somebody else still holds the old value.
typedef struct leat_optimizer_arrays_s {
  const void* in[LEAT_OPTIMIZER_MAX_VARIABLES];
  void* out[LEAT_OPTIMIZER_MAX_VARIABLES];
  const void* gradient;
  const void* scale;    // multiplies the gradient first (float and double only); NULL: 1
  const void* scalars;  // of the element type, in the op's order
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
} leat_optimizer_table_t;
LEAT_ISA_DECLARE(leat_optimizer_table_t, leat_optimizer_table);
// Returns the formula for an element type, for float and double that of this machine's instruction
// set; those for half and bfloat16 work on arrays of float. NULL where there is none.
leat_optimizer_fn_t leat_optimizer_formula(leat_optimizer_t optimizer, int dtype);

// ---- Running one --------------------------------------------------------------------------------

// What each input of a node is. It is made once per node from the types and names of its op's
// inputs, and is the state of the kernel.
typedef struct leat_optimizer_plan_s {
  leat_optimizer_t optimizer;
  int dtype;
  int variable_count;  // inputs [0, variable_count) are the variables
  int gradient;        // the input that is the gradient
  int indices;         // the input that names rows, or -1: all elements are updated
  int scale;           // the input that multiplies the gradient, or -1
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
