// The CPU kernel of _UnaryOpsComposition, whose attribute "op_names" lists ops of one operand:
//
//   x ─▶ op_names[0] ─▶ op_names[1] ─▶ ... ─▶ y
//
// Each op is the elementwise kernel that a node of its own would have: the row of its name creates
// the state, and the engine (elementwise_cpu.h) runs the loop. So the bits are those of the nodes
// one by one; half is rounded after each op. The tensor is walked in pieces that stay in the
// first-level cache, and a piece goes through all ops before the next one begins. TensorFlow fixes
// which ops there may be, and so does this file: a graph must not be able to name one whose loop
// wants other operands. TensorFlow has fewer of them for half.
#include "base/checked.h"
#include "ops/family.h"
#include "ops/kernel_rows.h"
#include "ops/math/elementwise_cpu.h"

#define PIECE 2048  // elements

static const char* const kComposable[] = {
    "Abs",   "Acos",  "Acosh", "Asin",  "Asinh", "Atan",    "Atanh", "Ceil",
    "Cos",   "Cosh",  "Elu",   "Exp",   "Expm1", "Floor",   "Inv",   "Log",
    "Log1p", "Neg",   "Reciprocal", "Relu", "Relu6", "Rint", "Round", "Rsqrt",
    "Selu",  "Sigmoid", "Sin", "Sinh",  "Sqrt",  "Square",  "Tan",   "Tanh",
};

#define SOURCES(X) X(relu) X(unary)
SOURCES(LEAT_KERNEL_TABLE_DECLARE)
static const leat_kernel_row_t* const kKernels[] = {SOURCES(LEAT_KERNEL_TABLE)};

typedef struct composition_s {
  leat_allocator_t* allocator;
  leat_elementwise_t* steps;  // [count]
  int count;
  double cost_ns;  // of an element
} composition_t;

// The row of the kernel that computes |op|; NULL where it cannot be part of a composition.
static const leat_kernel_row_t* find_kernel(leat_string_view_t op) {
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kComposable); ++i) {
    if (!leat_string_view_equals(op, kComposable[i])) continue;
    for (size_t k = 0; k < LEAT_ARRAY_SIZE(kKernels); ++k) {
      for (const leat_kernel_row_t* row = kKernels[k]; row->op; ++row) {
        if (leat_string_view_equals(op, row->op)) return row;
      }
    }
  }
  return NULL;
}

static leat_status_t create(leat_kernel_creation_t* c, void* data) {
  composition_t* state = data;
  const leat_attr_value_t* names;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr(c, "op_names", &names));
  if (names->count == 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Unary op composition must have at least one op: op_names is empty");
  }
  state->allocator = c->allocator;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(c->allocator, (size_t)names->count, &state->steps));
  for (uint32_t i = 0; i < names->count; ++i) {
    const leat_kernel_row_t* row = find_kernel(names->strings[i]);
    if (!row) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Do not have a compute function registered for op: %.*s, which is "
                              "item %u of op_names", LEAT_SV_ARG(names->strings[i]), i);
    }
    LEAT_DCHECK(row->state_bytes == sizeof(leat_elementwise_t));
    LEAT_RETURN_IF_ERROR(row->create(c, &state->steps[i]));
    state->cost_ns += (double)state->steps[i].cost_ns;
    ++state->count;
  }
  return leat_ok_status();
}

static void destroy(void* data) {
  composition_t* state = data;
  if (state->allocator) leat_allocator_free(state->allocator, state->steps);
}

typedef struct job_s {
  const composition_t* state;
  const char* x;
  char* y;
  size_t item_bytes;
} job_t;

static void run_pieces(void* data, int64_t begin, int64_t end) {
  const job_t* job = data;
  for (int64_t at = begin; at < end; at += PIECE) {
    const int64_t n = LEAT_MIN(PIECE, end - at);
    char* y = job->y + (size_t)at * job->item_bytes;
    const void* operand = job->x + (size_t)at * job->item_bytes;
    for (int i = 0; i < job->state->count; ++i) {
      // No function of floating-point numbers has a fault to report.
      (void)leat_elementwise_piece(&job->state->steps[i], &operand, y, n);
      operand = y;
    }
  }
}

static leat_status_t composition__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* x = leat_kernel_input(c, 0);
  leat_tensor_t* y;
  LEAT_RETURN_IF_ERROR(leat_kernel_forward_or_allocate(c, 0, 0, &x->shape, &y));
  job_t job = {leat_kernel_state(c), x->data, y->data, leat_dtype_size(x->dtype)};
  leat_kernel_parallel_for(c, x->shape.element_count, job.state->cost_ns, run_pieces, &job);
  return leat_ok_status();
}

const leat_kernel_row_t leat_composition_kernels_cpu[] = {
    LEAT_CPU_KERNEL("_UnaryOpsComposition", "T: float, half, double", composition_t, create,
                    composition__cpu, .destroy = destroy),
    LEAT_KERNEL_ROWS_END,
};
