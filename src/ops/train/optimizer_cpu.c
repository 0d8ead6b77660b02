// The CPU kernels of all optimizers. One kernel serves them: a plan, made once for each node from
// the declaration of its op, says which inputs are variables, scalars, gradient and indices, and
// the formula (optimizer_formula.inc) is a loop over arrays.
//
//   lock the variables -> check them -> read the scalars -> run the formula -> unlock
//
// A kernel locks its variables in the order of their addresses, so that two of them cannot
// deadlock, and holds all locks until every variable is updated, so that two updates do not mix.
// The formula reads the old values and writes the new ones in one pass: in place, or, where
// somebody still holds the old value, into fresh memory that then becomes the value. That saves a
// pass over the variable, which copying first and updating the copy would need. The loops are not
// broken off when the step is told to end, because half an update is worse than a late one.
//
// half and bfloat16 are widened to float, computed, and narrowed again, in blocks that stay in the
// cache.
#include <string.h>

#include "base/checked.h"
#include "device/cpu/half.h"
#include "device/cpu/vector_math.h"
#include "ops/kernel_rows.h"
#include "ops/state/update_cpu.h"
#include "ops/train/optimizers_cpu.h"

// ---- The plan: from the op's declaration --------------------------------------------------------

// Says whether an input is a variable, by reference or by handle.
static bool is_variable(const leat_op_argument_t* input) {
  return input->is_ref ||
         (input->source == LEAT_TYPE_FIXED && input->dtype == LEAT_DTYPE_RESOURCE);
}

// Sorts the inputs into variables, gradient, indices and scalars, by type and name.
static void read_inputs(const leat_op_t* op, leat_optimizer_plan_t* plan) {
  for (int i = 0; i < op->input_count; ++i) {
    leat_string_view_t name = op->inputs[i].name;
    if (is_variable(&op->inputs[i])) {
      ++plan->variable_count;
    } else if (leat_string_view_equals(name, "grad") || leat_string_view_equals(name, "delta")) {
      plan->gradient = i;
    } else if (leat_string_view_equals(name, "indices")) {
      plan->indices = i;
    } else {
      plan->scalars[plan->scalar_count++] = (int8_t)i;
    }
  }
}

// Finds the formula of the op called |name|, "ResourceSparseApplyAdagrad" for instance, which ends
// with that of the optimizer. False where there is none.
static bool find_formula(leat_string_view_t name, leat_optimizer_plan_t* plan) {
  static const char* const kNames[LEAT_OPTIMIZER_COUNT] = {
#define ENTRY(NAME, formula, op, ...) [LEAT_OPTIMIZER_##NAME] = "Apply" op,
      LEAT_OPTIMIZER_FORMULAS(ENTRY)
#undef ENTRY
  };
  for (int i = 0; i < LEAT_OPTIMIZER_COUNT; ++i) {
    plan->optimizer = (leat_optimizer_t)i;
    if (leat_string_view_ends_with(name, leat_string_view_from(kNames[i]))) return true;
  }
  return false;
}

static leat_status_t optimizer_create(leat_kernel_creation_t* c, void* state) {
  static const char* const kFlags[] = {"use_nesterov", "update_slots", "multiply_linear_by_lr"};
  leat_optimizer_plan_t* plan = state;
  plan->indices = -1;
  const bool found = find_formula(c->kernel->op->name, plan);
  LEAT_DCHECK(found);
  read_inputs(c->kernel->op, plan);
  for (size_t i = 0; found && i < LEAT_ARRAY_SIZE(kFlags); ++i) {
    if (leat_op_find_attr(c->kernel->op, leat_string_view_from(kFlags[i])) < 0) continue;
    LEAT_RETURN_IF_ERROR(leat_kernel_attr_bool(c, kFlags[i], &plan->flag));
  }
  return leat_kernel_attr_type(c, "T", &plan->dtype);
}

// ---- The plan of a fused op: from its attributes ------------------------------------------------

static bool find_step(leat_string_view_t op, int64_t side, uint8_t* out_step) {
  static const struct {
    const char* op;
    int side;
  } kSteps[LEAT_PROLOGUE_COUNT] = {
#define ENTRY(NAME, loop, op, side) [LEAT_PROLOGUE_##NAME] = {op, side},
      LEAT_PROLOGUE_STEPS(ENTRY)
#undef ENTRY
  };
  for (int i = 0; i < LEAT_PROLOGUE_COUNT; ++i) {
    *out_step = (uint8_t)i;
    if (kSteps[i].side == side && leat_string_view_equals(op, kSteps[i].op)) return true;
  }
  return false;
}

// Reads the steps that the gradient goes through before the formula: each is an op and the operand
// that the gradient is.
static leat_status_t read_prologue(leat_kernel_creation_t* c, leat_optimizer_plan_t* plan) {
  const leat_attr_value_t* ops = leat_attr_find(c->attrs, c->attr_count, LEAT_SV("prologue"));
  const leat_attr_value_t* sides = leat_attr_find(c->attrs, c->attr_count, LEAT_SV("sides"));
  int64_t args;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "N", &args));
  if (!ops || !sides || ops->count != sides->count || ops->count != args ||
      args > LEAT_PROLOGUE_MAX_STEPS) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "attributes prologue, sides and N have %u and %u items and the value "
                            "%lld, must agree and be at most %d",
                            ops ? ops->count : 0, sides ? sides->count : 0, (long long)args,
                            LEAT_PROLOGUE_MAX_STEPS);
  }
  plan->prologue_count = (int)args;
  for (int i = 0; i < plan->prologue_count; ++i) {
    if (find_step(ops->strings[i], sides->ints[i], &plan->prologue[i])) continue;
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "attribute prologue has op '%.*s' with the gradient as operand %lld, "
                            "must be Mul or RealDiv (operand 0), Minimum or Maximum (0 or 1)",
                            LEAT_SV_ARG(ops->strings[i]), (long long)sides->ints[i]);
  }
  return leat_ok_status();
}

// Whether the attributes give the formula the variables and scalars that it reads.
static leat_status_t check_inputs(const leat_optimizer_plan_t* plan) {
  static const int8_t kCounts[LEAT_OPTIMIZER_COUNT][2] = {
#define ENTRY(NAME, formula, op, variables, scalars) [LEAT_OPTIMIZER_##NAME] = {variables, scalars},
      LEAT_OPTIMIZER_FORMULAS(ENTRY)
#undef ENTRY
  };
  const int variables = kCounts[plan->optimizer][0], scalars = kCounts[plan->optimizer][1];
  if (plan->variable_count != variables || plan->scalar_count != scalars) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "attributes V and S give %d variables and %d scalars, must be "
                            "%d and %d for this update",
                            plan->variable_count, plan->scalar_count, variables, scalars);
  }
  return leat_ok_status();
}

// Makes the plan of a fused update. Its op can stand for any optimizer, so that the plan comes from
// attributes and not from the op's declaration.
static leat_status_t fused_create(leat_kernel_creation_t* c, void* state) {
  leat_optimizer_plan_t* plan = state;
  leat_string_view_t update;
  int64_t variables;
  plan->indices = -1;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "update", &update));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "V", &variables));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_type(c, "T", &plan->dtype));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_bool(c, "flag", &plan->flag));
  LEAT_RETURN_IF_ERROR(read_prologue(c, plan));
  if (!find_formula(update, plan)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "attribute update is '%.*s', must be the name of an optimizer's op",
                            LEAT_SV_ARG(update));
  }
  plan->gradient = c->kernel->input_count - plan->prologue_count - 1;
  const int64_t scalars = plan->gradient - variables;
  if (variables > LEAT_OPTIMIZER_MAX_VARIABLES || scalars > LEAT_OPTIMIZER_MAX_SCALARS) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "attributes V and S give %lld variables and %lld scalars, must "
                            "be at most %d and %d",
                            (long long)variables, (long long)scalars,
                            LEAT_OPTIMIZER_MAX_VARIABLES, LEAT_OPTIMIZER_MAX_SCALARS);
  }
  plan->variable_count = (int)variables;
  for (int64_t i = 0; i < scalars; ++i) {
    plan->scalars[plan->scalar_count++] = (int8_t)(variables + i);
  }
  return check_inputs(plan);
}

// ---- Running a formula --------------------------------------------------------------------------

// How many elements are widened to float, or go through a prologue, at a time.
#define BLOCK 512

typedef struct narrow_s {
  void (*widen)(const uint16_t* x, float* y, int64_t n);
  void (*narrow)(const float* x, uint16_t* y, int64_t n);
} narrow_t;

// Runs the formula over elements [begin, end) of half or bfloat16, which have no prologue.
static void run_narrow(const leat_optimizer_plan_t* plan, const leat_optimizer_arrays_t* arrays,
                       int64_t begin, int64_t end, narrow_t convert) {
  float values[LEAT_OPTIMIZER_MAX_VARIABLES][BLOCK], gradient[BLOCK];
  float scalars[LEAT_OPTIMIZER_MAX_SCALARS];
  convert.widen(arrays->scalars, scalars, plan->scalar_count);
  leat_optimizer_arrays_t wide = {
      .gradient = gradient, .scalars = scalars, .flag = arrays->flag};
  for (int v = 0; v < plan->variable_count; ++v) wide.in[v] = wide.out[v] = values[v];
  leat_optimizer_fn_t formula = leat_optimizer_formula(plan->optimizer, plan->dtype);
  for (int64_t i = begin; i < end; i += BLOCK) {
    int64_t count = LEAT_MIN(end - i, BLOCK);
    convert.widen((const uint16_t*)arrays->gradient + i, gradient, count);
    for (int v = 0; v < plan->variable_count; ++v) {
      convert.widen((const uint16_t*)arrays->in[v] + i, values[v], count);
    }
    formula(&wide, count);
    for (int v = 0; v < plan->variable_count; ++v) {
      convert.narrow(values[v], (uint16_t*)arrays->out[v] + i, count);
    }
  }
}

// The arrays from element |begin| on.
static leat_optimizer_arrays_t arrays_from(const leat_optimizer_plan_t* plan,
                                           const leat_optimizer_arrays_t* arrays, int64_t begin) {
  const size_t offset = (size_t)begin * leat_dtype_size(plan->dtype);
  leat_optimizer_arrays_t shard = *arrays;
  for (int v = 0; v < plan->variable_count; ++v) {
    shard.in[v] = (const uint8_t*)shard.in[v] + offset;
    shard.out[v] = (uint8_t*)shard.out[v] + offset;
  }
  shard.gradient = (const uint8_t*)shard.gradient + offset;
  return shard;
}

// Runs the prologue and then the formula, block by block, so that what the prologue computes stays
// in the cache.
static void run_prologue(const leat_optimizer_plan_t* plan, const leat_optimizer_arrays_t* arrays,
                         int64_t begin, int64_t end) {
  _Alignas(64) double gradient[BLOCK];
  leat_prologue_fn_t steps[LEAT_PROLOGUE_MAX_STEPS];
  const leat_optimizer_fn_t formula = leat_optimizer_formula(plan->optimizer, plan->dtype);
  for (int s = 0; s < plan->prologue_count; ++s) {
    steps[s] = leat_prologue_step((leat_prologue_t)plan->prologue[s], plan->dtype);
  }
  for (int64_t i = begin; i < end; i += BLOCK) {
    const int64_t count = LEAT_MIN(end - i, BLOCK);
    leat_optimizer_arrays_t shard = arrays_from(plan, arrays, i);
    for (int s = 0; s < plan->prologue_count; ++s) {
      steps[s](shard.gradient, arrays->prologue_scalars[s], gradient, count);
      shard.gradient = gradient;
    }
    formula(&shard, count);
  }
}

void leat_optimizer_run(const leat_optimizer_plan_t* plan, const leat_optimizer_arrays_t* arrays,
                        int64_t begin, int64_t end) {
  const leat_vector_math_t* math = leat_vector_math();
  if (plan->dtype == LEAT_DTYPE_HALF) {
    run_narrow(plan, arrays, begin, end, (narrow_t){math->half_to_float, math->half_from_float});
    return;
  }
  if (plan->dtype == LEAT_DTYPE_BFLOAT16) {
    run_narrow(plan, arrays, begin, end,
               (narrow_t){math->bfloat16_to_float, math->bfloat16_from_float});
    return;
  }
  if (plan->prologue_count) {
    run_prologue(plan, arrays, begin, end);
    return;
  }
  const leat_optimizer_arrays_t shard = arrays_from(plan, arrays, begin);
  leat_optimizer_formula(plan->optimizer, plan->dtype)(&shard, end - begin);
}

double leat_optimizer_cost_ns(const leat_optimizer_plan_t* plan) {
  double bytes = (double)leat_dtype_size(plan->dtype) * (2 * plan->variable_count + 1);
  bool is_complex = leat_dtype_in(plan->dtype, LEAT_DTYPES_COMPLEX);
  return bytes / 25 + (is_complex ? 20 : 0);
}

// ---- A step -------------------------------------------------------------------------------------

typedef struct step_s {
  const leat_optimizer_plan_t* plan;
  leat_update_cells_t cells;
  leat_tensor_t fresh[LEAT_OPTIMIZER_MAX_VARIABLES];  // what replaces shared values
  _Alignas(16) uint8_t scalars[LEAT_OPTIMIZER_MAX_SCALARS * 16];
  leat_optimizer_arrays_t arrays;
} step_t;

// Writes an int64 among the scalars (AdagradDA's global_step) as a number of |dtype|. Ops with such
// an input have kernels for float and double only.
static void convert_integer(int64_t value, int dtype, void* target) {
  if (dtype == LEAT_DTYPE_DOUBLE) {
    *(double*)target = (double)value;
  } else {
    *(float*)target = (float)value;
  }
}

// The name by which the op declares the input. A fused op declares lists: variables, scalars, the
// gradient, args.
static leat_string_view_t input_name(const leat_kernel_context_t* c,
                                     const leat_optimizer_plan_t* plan, int input) {
  const leat_op_argument_t* inputs = c->kernel->op->inputs;
  if (!plan->prologue_count) return inputs[input].name;
  if (input < plan->variable_count) return inputs[0].name;
  return inputs[input < plan->gradient ? 1 : input == plan->gradient ? 2 : 3].name;
}

static leat_status_t check_scalar(leat_kernel_context_t* c, const leat_optimizer_plan_t* plan,
                                  int input) {
  const leat_shape_t* shape = &leat_kernel_input(c, input)->shape;
  if (LEAT_LIKELY(shape->rank == 0)) return leat_ok_status();
  return leat_kernel_invalid(c, "%.*s has shape %s, must be a scalar",
                             LEAT_SV_ARG(input_name(c, plan, input)), LEAT_SHAPE_TEXT(shape));
}

static double number_of(const leat_tensor_t* scalar) {
  switch (scalar->dtype) {
    case LEAT_DTYPE_DOUBLE: return *leat_tensor_data(scalar, double);
    case LEAT_DTYPE_HALF: return leat_half_to_float(*leat_tensor_data(scalar, uint16_t));
    case LEAT_DTYPE_BFLOAT16: return leat_bfloat16_to_float(*leat_tensor_data(scalar, uint16_t));
    default: return *leat_tensor_data(scalar, float);
  }
}

// Checks the scalars of the optimizers whose scalars TensorFlow checks: ProximalAdagrad's, and
// Ftrl's over rows. The first is lr, which must be positive; Ftrl's last is lr_power, which must
// not be; the others are weights of penalties. None may be NaN.
static leat_status_t check_scalar_values(leat_kernel_context_t* c,
                                         const leat_optimizer_plan_t* plan) {
  const bool is_ftrl =
      plan->optimizer == LEAT_OPTIMIZER_FTRL || plan->optimizer == LEAT_OPTIMIZER_FTRL_V2;
  const bool over_rows = plan->indices >= 0;
  if (is_ftrl ? !over_rows : plan->optimizer != LEAT_OPTIMIZER_PROXIMAL_ADAGRAD) {
    return leat_ok_status();
  }
  for (int i = 0; i < plan->scalar_count; ++i) {
    const double value = number_of(leat_kernel_input(c, plan->scalars[i]));
    const bool is_rate = i == 0, is_power = is_ftrl && i == plan->scalar_count - 1;
    const bool may_be_zero = !is_rate || (is_ftrl && plan->flag);  // multiply_linear_by_lr
    const bool is_good = is_power ? value <= 0 : may_be_zero ? value >= 0 : value > 0;
    if (is_good) continue;
    return leat_kernel_invalid(c, "%.*s is %g, must be %s",
                               LEAT_SV_ARG(input_name(c, plan, plan->scalars[i])), value,
                               is_power ? "<= 0" : may_be_zero ? ">= 0" : "> 0");
  }
  return leat_ok_status();
}

// Reads the scalars, in the op's order, into an array of the element type.
static leat_status_t read_scalars(leat_kernel_context_t* c, step_t* step) {
  const leat_optimizer_plan_t* plan = step->plan;
  size_t size = leat_dtype_size(plan->dtype);
  for (int s = 0; s < plan->prologue_count; ++s) {
    const leat_tensor_t* scalar = leat_kernel_input(c, plan->gradient + 1 + s);
    if (scalar->shape.element_count != 1) {
      return leat_kernel_invalid(c, "args[%d] has shape %s, must have one element", s,
                                 LEAT_SHAPE_TEXT(&scalar->shape));
    }
    step->arrays.prologue_scalars[s] = scalar->data;
  }
  for (int i = 0; i < plan->scalar_count; ++i) {
    const leat_tensor_t* scalar = leat_kernel_input(c, plan->scalars[i]);
    LEAT_RETURN_IF_ERROR(check_scalar(c, plan, plan->scalars[i]));
    uint8_t* target = step->scalars + (size_t)i * size;
    if (scalar->dtype == LEAT_DTYPE_INT64) {
      convert_integer(*leat_tensor_data(scalar, int64_t), plan->dtype, target);
    } else {
      memcpy(target, scalar->data, size);
    }
  }
  return check_scalar_values(c, plan);
}

// Checks that all variables have values of the element type and of one shape.
static leat_status_t check_variables(leat_kernel_context_t* c, const step_t* step) {
  const leat_tensor_t* var = &step->cells.cells[0]->tensor;
  for (int v = 0; v < step->plan->variable_count; ++v) {
    const leat_tensor_t* value = &step->cells.cells[v]->tensor;
    leat_string_view_t name = input_name(c, step->plan, v);
    if (!value->dtype) {
      return leat_kernel_error(c, LEAT_FAILED_PRECONDITION,
                               "Attempting to use uninitialized variables: %.*s",
                               LEAT_SV_ARG(name));
    }
    if (value->dtype != step->plan->dtype || !leat_shape_equal(&value->shape, &var->shape)) {
      return leat_kernel_invalid(c, "%.*s is %s %s, must be %s %s as var", LEAT_SV_ARG(name),
                                 leat_dtype_name(value->dtype), LEAT_SHAPE_TEXT(&value->shape),
                                 leat_dtype_name(step->plan->dtype), LEAT_SHAPE_TEXT(&var->shape));
    }
  }
  return leat_ok_status();
}

// Decides where the formula writes each variable. A value that somebody holds is replaced by a
// fresh one, of which every element is written. Where only some rows are written, or one variable
// is named twice, the value is copied and updated in place.
static leat_status_t prepare_arrays(leat_kernel_context_t* c, step_t* step) {
  const leat_optimizer_plan_t* plan = step->plan;
  bool in_place = plan->indices >= 0 || step->cells.has_duplicates;
  for (int v = 0; v < plan->variable_count; ++v) {
    leat_cell_t* cell = step->cells.cells[v];
    leat_buffer_t* buffer = cell->tensor.buffer;
    void* target = cell->tensor.data;
    if (buffer && !leat_buffer_is_exclusive(buffer)) {
      if (in_place) {
        LEAT_RETURN_IF_ERROR(leat_cell_make_exclusive(cell, c->services->memory));
        target = cell->tensor.data;
      } else {
        LEAT_RETURN_IF_ERROR(leat_tensor_allocate(c->services->memory, plan->dtype,
                                                  &cell->tensor.shape, &step->fresh[v]));
        target = step->fresh[v].data;
      }
    }
    step->arrays.in[v] = cell->tensor.data;
    step->arrays.out[v] = target;
  }
  step->arrays.gradient = leat_kernel_input(c, plan->gradient)->data;
  step->arrays.scalars = step->scalars;
  step->arrays.flag = plan->flag;
  return leat_ok_status();
}

static void run_shard(void* data, int64_t begin, int64_t end) {
  const step_t* step = data;
  leat_optimizer_run(step->plan, &step->arrays, begin, end);
}

// Updates all elements. Fresh arrays become the values of their cells at the end.
static leat_status_t run_dense(leat_kernel_context_t* c, step_t* step) {
  const leat_shape_t* shape = &step->cells.cells[0]->tensor.shape;
  const leat_tensor_t* gradient = leat_kernel_input(c, step->plan->gradient);
  if (!leat_shape_equal(&gradient->shape, shape)) {
    return leat_kernel_invalid(c, "%.*s has shape %s, must be the variable's, %s",
                               LEAT_SV_ARG(input_name(c, step->plan, step->plan->gradient)),
                               LEAT_SHAPE_TEXT(&gradient->shape), LEAT_SHAPE_TEXT(shape));
  }
  LEAT_RETURN_IF_ERROR(prepare_arrays(c, step));
  leat_kernel_parallel_for_unbroken(c, shape->element_count, leat_optimizer_cost_ns(step->plan),
                                    run_shard, step);
  for (int v = 0; v < step->plan->variable_count; ++v) {
    if (step->fresh[v].dtype) {
      leat_cell_set(step->cells.cells[v], leat_tensor_move(&step->fresh[v]));
    }
  }
  return leat_ok_status();
}

// Updates the rows that the indices name.
static leat_status_t run_sparse(leat_kernel_context_t* c, step_t* step) {
  LEAT_RETURN_IF_ERROR(prepare_arrays(c, step));
  return leat_optimizer_run_rows(c, step->plan, &step->arrays,
                                 &step->cells.cells[0]->tensor.shape);
}

static leat_status_t run_locked(leat_kernel_context_t* c, step_t* step) {
  LEAT_RETURN_IF_ERROR(check_variables(c, step));
  LEAT_RETURN_IF_ERROR(read_scalars(c, step));
  return step->plan->indices < 0 ? run_dense(c, step) : run_sparse(c, step);
}

static leat_status_t optimizer__cpu(leat_kernel_context_t* c) {
  step_t step = {.plan = leat_kernel_state(c)};
  if (c->kernel->output_count) leat_kernel_pass_ref(c, 0, 0);
  LEAT_RETURN_IF_ERROR(leat_update_lock(c, step.plan->variable_count, &step.cells));
  leat_status_t status = run_locked(c, &step);
  leat_update_unlock(&step.cells);
  for (int v = 0; v < step.plan->variable_count; ++v) leat_tensor_release(&step.fresh[v]);
  return status;
}

// ---- Rows ---------------------------------------------------------------------------------------

#define ALL "T: bfloat16, complex128, complex64, double, float, half"
#define NO_BFLOAT16 "T: complex128, complex64, double, float, half"
#define REAL "T: bfloat16, double, float, half"
#define REAL_NO_BFLOAT16 "T: double, float, half"
#define WIDE "T: double, float"

#define KERNEL(op_name, create_fn, types)                                              \
  LEAT_CPU_KERNEL(op_name, types, leat_optimizer_plan_t, create_fn, optimizer__cpu,    \
                  .expensive = true)
#define DENSE(op, types)                              \
  KERNEL("Apply" op, optimizer_create, types),        \
      KERNEL("ResourceApply" op, optimizer_create, types)
#define SPARSE(op, types)                             \
  KERNEL("SparseApply" op, optimizer_create, types),  \
      KERNEL("ResourceSparseApply" op, optimizer_create, types)

const leat_kernel_row_t leat_optimizer_kernels_cpu[] = {
    DENSE("GradientDescent", ALL),
    DENSE("ProximalGradientDescent", WIDE),
    SPARSE("ProximalGradientDescent", WIDE),
    DENSE("Adadelta", ALL),
    SPARSE("Adadelta", ALL),
    DENSE("Adagrad", ALL),
    SPARSE("Adagrad", ALL),
    DENSE("AdagradV2", ALL),
    SPARSE("AdagradV2", ALL),
    DENSE("AdagradDA", WIDE),
    SPARSE("AdagradDA", WIDE),
    DENSE("ProximalAdagrad", WIDE),
    SPARSE("ProximalAdagrad", WIDE),
    DENSE("Ftrl", REAL),
    SPARSE("Ftrl", REAL),
    DENSE("FtrlV2", REAL),
    SPARSE("FtrlV2", REAL),
    DENSE("Momentum", ALL),
    SPARSE("Momentum", ALL),
    KERNEL("ResourceApplyKerasMomentum", optimizer_create, ALL),
    KERNEL("ResourceSparseApplyKerasMomentum", optimizer_create, ALL),
    DENSE("Adam", ALL),
    KERNEL("ResourceApplyAdamWithAmsgrad", optimizer_create, REAL),
    DENSE("AdaMax", REAL_NO_BFLOAT16),
    DENSE("RMSProp", ALL),
    SPARSE("RMSProp", NO_BFLOAT16),
    DENSE("CenteredRMSProp", ALL),
    SPARSE("CenteredRMSProp", NO_BFLOAT16),
    DENSE("AddSign", REAL),
    DENSE("PowerSign", REAL),
    KERNEL("_FusedApply", fused_create, WIDE),
    KERNEL("_FusedResourceApply", fused_create, WIDE),
    LEAT_KERNEL_ROWS_END,
};
