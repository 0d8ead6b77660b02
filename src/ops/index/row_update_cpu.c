// The CPU kernels of the ops that write rows of a tensor: InplaceUpdate, InplaceAdd, InplaceSub,
// DeepCopy, ParallelConcat, _ParallelConcatStart and _ParallelConcatUpdate.
//
//   x [n, ...], i [m], v [m, ...]:   x[i[k]] = v[k], or += or -=, for k = 0, 1, ...
//
// Despite the names nothing that others read is changed: the output takes the bytes of x where
// nobody else needs them, and is a copy otherwise. Rows may repeat, so that they are written in
// their order on one thread. A row number is taken modulo n, so that negative ones count from the
// end and no number is out of range.
#include "base/checked.h"
#include "device/cpu/combine.h"
#include "ops/array/index_cpu.h"
#include "ops/array/pieces_cpu.h"
#include "ops/array/strided_cpu.h"
#include "ops/array/types.h"
#include "ops/kernel_rows.h"

// Makes output 0 hold input 0, in its own bytes when nobody else needs them.
static leat_status_t own_copy(leat_kernel_context_t* c, leat_tensor_t** out_tensor) {
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  LEAT_RETURN_IF_ERROR(leat_kernel_forward_or_allocate(c, 0, 0, &input->shape, out_tensor));
  if ((*out_tensor)->data == input->data) return leat_ok_status();
  return leat_strided_copy_runs(c, input->dtype, 1, input->shape.element_count, input->data, 0,
                                (*out_tensor)->data, 0);
}

// Says whether the shapes agree in all dimensions but the first.
static bool rows_alike(const leat_shape_t* a, const leat_shape_t* b) {
  if (a->rank != b->rank || a->rank < 1) return false;
  for (int d = 1; d < a->rank; ++d) {
    if (leat_shape_dim(a, d) != leat_shape_dim(b, d)) return false;
  }
  return true;
}

// ---- Inplace ------------------------------------------------------------------------------------

typedef struct inplace_state_s {
  leat_combine_t how;
} inplace_state_t;

static leat_status_t create_inplace(leat_kernel_creation_t* creation, void* memory) {
  inplace_state_t* state = memory;
  leat_string_view_t op = creation->kernel->op->name;
  state->how = leat_string_view_equals(op, "InplaceAdd")   ? LEAT_COMBINE_ADD
               : leat_string_view_equals(op, "InplaceSub") ? LEAT_COMBINE_SUB
                                                           : LEAT_COMBINE_ASSIGN;
  return leat_ok_status();
}

// Writes the rows into |output|, which has elements.
static leat_status_t combine_rows(const leat_kernel_context_t* c, leat_tensor_t* output) {
  const inplace_state_t* state = leat_kernel_state(c);
  const leat_tensor_t* rows = leat_kernel_input(c, 1);
  const leat_tensor_t* values = leat_kernel_input(c, 2);
  int dtype = output->dtype;
  leat_combine_fn_t combine = leat_combine_find(state->how, dtype);
  bool is_string = dtype == LEAT_DTYPE_STRING && state->how == LEAT_COMBINE_ASSIGN;
  if ((!combine || (dtype == LEAT_DTYPE_BOOL && state->how != LEAT_COMBINE_ASSIGN)) &&
      !is_string) {
    return leat_kernel_invalid(c, "type %s is not supported", leat_dtype_name(dtype));
  }
  int64_t count = leat_shape_dim(&output->shape, 0);
  int64_t run = output->shape.element_count / count;
  for (int64_t i = 0; i < rows->shape.element_count; ++i) {
    int64_t row = (leat_tensor_index_at(rows, i) % count + count) % count;
    void* to = leat_element_at(output->data, dtype, row * run);
    const void* from = leat_element_at(values->data, dtype, i * run);
    if (combine) combine(to, from, run);
    else LEAT_RETURN_IF_ERROR(leat_tensor_copy_elements(dtype, from, to, run));
  }
  return leat_ok_status();
}

static leat_status_t inplace__cpu(leat_kernel_context_t* c) {
  const leat_shape_t* x = &leat_kernel_input(c, 0)->shape;
  const leat_shape_t* rows = &leat_kernel_input(c, 1)->shape;
  const leat_shape_t* values = &leat_kernel_input(c, 2)->shape;
  if (rows->rank != 1) {
    return leat_kernel_invalid(c, "i must be a vector, has shape %s", LEAT_SHAPE_TEXT(rows));
  }
  if (!rows_alike(x, values)) {
    return leat_kernel_invalid(c, "x and v shape doesn't match (index_dims = 1): %s vs. %s",
                               LEAT_SHAPE_TEXT(x), LEAT_SHAPE_TEXT(values));
  }
  if (leat_shape_dim(values, 0) != rows->element_count) {
    return leat_kernel_invalid(c, "i and x shape doesn't match: i has %lld rows, v has %lld",
                               (long long)rows->element_count,
                               (long long)leat_shape_dim(values, 0));
  }
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(own_copy(c, &output));
  if (x->element_count == 0 || values->element_count == 0) return leat_ok_status();
  return combine_rows(c, output);
}

static leat_status_t deep_copy__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &input->shape, &output));
  return leat_strided_copy_runs(c, input->dtype, 1, input->shape.element_count, input->data, 0,
                                output->data, 0);
}

// ---- ParallelConcat -----------------------------------------------------------------------------

typedef struct start_state_s {
  leat_shape_t shape;
} start_state_t;

static leat_status_t create_start(leat_kernel_creation_t* creation, void* memory) {
  start_state_t* state = memory;
  leat_partial_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_shape(creation, "shape", &shape));
  return leat_partial_shape_to_full(shape, &state->shape);
}

static void destroy_start(void* memory) {
  start_state_t* state = memory;
  leat_shape_release(&state->shape);
}

static leat_status_t start__cpu(leat_kernel_context_t* c) {
  const start_state_t* state = leat_kernel_state(c);
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &state->shape, &output));
  if (!leat_dtype_is_object(output->dtype)) leat_tensor_fill_zero(output);
  return leat_ok_status();
}

// Joins the values, each of them one row, in a tensor of the node's shape.
static leat_status_t parallel_concat__cpu(leat_kernel_context_t* c) {
  const start_state_t* state = leat_kernel_state(c);
  int count = leat_kernel_input_count(c);
  for (int i = 0; i < count; ++i) {
    const leat_shape_t* shape = &leat_kernel_input(c, i)->shape;
    if (!rows_alike(&state->shape, shape) || leat_shape_dim(shape, 0) != 1 ||
        leat_shape_dim(&state->shape, 0) <= i) {
      return leat_kernel_invalid(c, "value %d has shape %s, must be one row of %s", i,
                                 LEAT_SHAPE_TEXT(shape), LEAT_SHAPE_TEXT(&state->shape));
    }
  }
  LEAT_RETURN_IF_ERROR(start__cpu(c));
  return leat_pieces_join(c, 0, count, 1);
}

typedef struct update_state_s {
  int64_t row;
} update_state_t;

static leat_status_t create_update(leat_kernel_creation_t* creation, void* memory) {
  update_state_t* state = memory;
  return leat_kernel_attr_int(creation, "loc", &state->row);
}

// Writes one row of the tensor that _ParallelConcatStart has made.
static leat_status_t update__cpu(leat_kernel_context_t* c) {
  const update_state_t* state = leat_kernel_state(c);
  const leat_tensor_t* value = leat_kernel_input(c, 0);
  const leat_tensor_t* update = leat_kernel_input(c, 1);
  if (!rows_alike(&value->shape, &update->shape) || leat_shape_dim(&update->shape, 0) != 1) {
    return leat_kernel_invalid(c, "update has shape %s, must be one row of %s",
                               LEAT_SHAPE_TEXT(&update->shape), LEAT_SHAPE_TEXT(&value->shape));
  }
  int64_t rows = leat_shape_dim(&value->shape, 0), row = state->row;
  if (row >= rows || row < -rows) {
    return leat_kernel_invalid(c, "loc is %lld, must be below %lld", (long long)row,
                               (long long)rows);
  }
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(own_copy(c, &output));
  int64_t run = update->shape.element_count;
  row = (row + rows) % rows;
  return leat_tensor_copy_elements(value->dtype, update->data,
                                   leat_element_at(output->data, value->dtype, row * run), run);
}

#define INPLACE_ROW(name)                                                    \
  LEAT_CPU_KERNEL(name, NULL, inplace_state_t, create_inplace, inplace__cpu)

const leat_kernel_row_t leat_row_update_kernels_cpu[] = {
    INPLACE_ROW("InplaceUpdate"),
    INPLACE_ROW("InplaceAdd"),
    INPLACE_ROW("InplaceSub"),
    {.op = "DeepCopy", .device_type = "CPU", .compute = deep_copy__cpu},
    {.op = "ParallelConcat",
     .device_type = "CPU",
     .constraints = "T: " LEAT_TYPES_STRINGS,
     .create = create_start,
     .destroy = destroy_start,
     .state_bytes = sizeof(start_state_t),
     .compute = parallel_concat__cpu},
    {.op = "_ParallelConcatStart",
     .device_type = "CPU",
     .constraints = "dtype: " LEAT_TYPES_STRINGS,
     .create = create_start,
     .destroy = destroy_start,
     .state_bytes = sizeof(start_state_t),
     .compute = start__cpu},
    {.op = "_ParallelConcatUpdate",
     .device_type = "CPU",
     .constraints = "T: " LEAT_TYPES_STRINGS,
     .create = create_update,
     .state_bytes = sizeof(update_state_t),
     .compute = update__cpu},
    LEAT_KERNEL_ROWS_END,
};
