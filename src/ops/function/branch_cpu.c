// CPU kernels of If and Case where they were not lowered: each calls the function of the branch
// that is taken, with the inputs behind the first, through the session's function runtime. The
// kernel waits without a thread; the call's end sets its outputs (call_cpu.c). A condition need not
// be a bool:
//
//   tensor of rank 0:   a number is true unless it is 0, a string unless it is empty
//   any other tensor:   true unless it has no elements
//
// An index of Case that is out of range selects the last branch. The functions are looked up in the
// runtime when they are first called, and the kernel's state keeps what was found. ToBool, which
// the lowering of branches and loops uses, is here because it has the same rule for conditions.
#include "ops/function/function_call_cpu.h"
#include "ops/kernel_rows.h"

typedef struct branches_s {
  leat_allocator_t* allocator;
  leat_callee_t* items;  // [count]; for If, the branch for false comes first
  int count;
} branches_t;

leat_status_t leat_condition_value(const leat_kernel_context_t* c, const leat_tensor_t* condition,
                                   bool* out_value) {
  *out_value = condition->shape.element_count > 0;
  if (condition->shape.rank > 0) return leat_ok_status();
  switch (condition->dtype) {
#define NUMBER(NAME, type) \
  case LEAT_DTYPE_##NAME: *out_value = *leat_tensor_data(condition, const type) != 0; break
    NUMBER(BOOL, bool);
    NUMBER(FLOAT, float);
    NUMBER(DOUBLE, double);
    NUMBER(INT8, int8_t);
    NUMBER(INT16, int16_t);
    NUMBER(INT32, int32_t);
    NUMBER(INT64, int64_t);
    NUMBER(UINT8, uint8_t);
#undef NUMBER
    case LEAT_DTYPE_STRING:
      *out_value = TF_StringGetSize(leat_tensor_data(condition, const TF_TString)) > 0;
      break;
    default:
      return leat_kernel_invalid(c, "a condition is of type %s, must be bool, a "
                                 "signed integer, uint8, float, double or a string",
                                 leat_dtype_name(condition->dtype));
  }
  return leat_ok_status();
}

static leat_status_t create(leat_kernel_creation_t* c, branches_t* state, int count) {
  state->allocator = c->allocator;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(c->allocator, (size_t)count, &state->items));
  state->count = count;
  return leat_ok_status();
}

static leat_status_t if_create(leat_kernel_creation_t* c, void* data) {
  branches_t* state = data;
  LEAT_RETURN_IF_ERROR(create(c, state, 2));
  LEAT_RETURN_IF_ERROR(leat_callee_initialize(c, "else_branch", 0, &state->items[0]));
  return leat_callee_initialize(c, "then_branch", 0, &state->items[1]);
}

static leat_status_t case_create(leat_kernel_creation_t* c, void* data) {
  branches_t* state = data;
  const leat_attr_value_t* list;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr(c, "branches", &list));
  LEAT_RETURN_IF_ERROR(create(c, state, (int)list->count));
  for (int i = 0; i < state->count; ++i) {
    LEAT_RETURN_IF_ERROR(leat_callee_initialize(c, "branches", i, &state->items[i]));
  }
  return leat_ok_status();
}

static void destroy(void* data) {
  branches_t* state = data;
  if (state->allocator) leat_allocator_free(state->allocator, state->items);
}

static void if__cpu(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  branches_t* state = leat_kernel_state(c);
  bool taken;
  leat_status_t status = leat_condition_value(c, leat_kernel_input(c, 0), &taken);
  if (status) {
    done(c, status);
  } else {
    leat_call_with_inputs(c, &state->items[taken], 1, done);
  }
}

static void case__cpu(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  branches_t* state = leat_kernel_state(c);
  const leat_tensor_t* index = leat_kernel_input(c, 0);
  if (index->shape.rank != 0) {
    done(c, leat_kernel_invalid(c, "branch_index has shape %s, must be a scalar",
                                LEAT_SHAPE_TEXT(&index->shape)));
    return;
  }
  int32_t branch = *leat_tensor_data(index, const int32_t);
  if (branch < 0 || branch >= state->count) branch = state->count - 1;
  leat_call_with_inputs(c, &state->items[branch], 1, done);
}

// Only for who asks which ops have kernels: in a graph the node is always lowered.
static leat_status_t switch_n__cpu(leat_kernel_context_t* c) {
  return leat_kernel_error(c, LEAT_INTERNAL, "control flow is run alone, must be run in a graph");
}

static leat_status_t to_bool__cpu(leat_kernel_context_t* c) {
  bool value;
  LEAT_RETURN_IF_ERROR(leat_condition_value(c, leat_kernel_input(c, 0), &value));
  leat_tensor_t output;
  LEAT_RETURN_IF_ERROR(leat_tensor_scalar(LEAT_DTYPE_BOOL, &value, &output));
  leat_kernel_set_output(c, 0, output);
  return leat_ok_status();
}

#define BRANCH(name, make, how)      \
  {.op = name,                       \
   .device_type = "CPU",             \
   .create = make,                   \
   .destroy = destroy,               \
   .state_bytes = sizeof(branches_t), \
   .compute_async = how}

const leat_kernel_row_t leat_branch_kernels_cpu[] = {
    BRANCH("If", if_create, if__cpu),
    BRANCH("StatelessIf", if_create, if__cpu),
    BRANCH("_If", if_create, if__cpu),
    BRANCH("Case", case_create, case__cpu),
    BRANCH("StatelessCase", case_create, case__cpu),
    {.op = "_SwitchN", .device_type = "CPU", .compute = switch_n__cpu},
    {.op = "ToBool", .device_type = "CPU", .compute = to_bool__cpu},
    LEAT_KERNEL_ROWS_END,
};
