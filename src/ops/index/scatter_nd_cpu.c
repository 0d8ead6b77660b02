// The CPU kernels of ScatterNd, TensorScatter* and ScatterNdNonAliasingAdd, and
// leat_scatter_nd_apply for the kernels of variables. Tuples may repeat, so that updates are
// applied in their order on one thread: a sum of floats then has the same bits each time, and the
// last assignment wins.
//
// The name of the op says how an update is combined with what is there. ScatterNd begins with
// zeros; the other ops begin with their input, in its own bytes where nobody else needs them.
#include "base/checked.h"
#include "device/cpu/combine.h"
#include "ops/array/strided_cpu.h"
#include "ops/array/types.h"
#include "ops/index/nd_index_cpu.h"
#include "ops/index/scatter_nd_cpu.h"
#include "ops/kernel_rows.h"

// Finds how updates are combined from the last word of the op's name.
static leat_combine_t how_of(leat_string_view_t op) {
  if (leat_string_view_ends_with(op, LEAT_SV("Update"))) return LEAT_COMBINE_ASSIGN;
  if (leat_string_view_ends_with(op, LEAT_SV("Sub"))) return LEAT_COMBINE_SUB;
  if (leat_string_view_ends_with(op, LEAT_SV("Min"))) return LEAT_COMBINE_MIN;
  if (leat_string_view_ends_with(op, LEAT_SV("Max"))) return LEAT_COMBINE_MAX;
  return LEAT_COMBINE_ADD;
}

leat_status_t leat_scatter_nd_create(leat_kernel_creation_t* creation, void* memory) {
  leat_scatter_nd_t* state = memory;
  state->how = how_of(creation->kernel->op->name);
  return leat_bad_indices_read(creation, &state->policy);
}

// ---- Updates ------------------------------------------------------------------------------------

// Indices [outer..., depth] into a tensor [d_0, d_1, ...] must come with updates of shape
// [outer..., d_depth, ...].
static leat_status_t check_updates(const leat_kernel_context_t* c, const leat_shape_t* whole,
                                   const leat_shape_t* indices, const leat_shape_t* updates) {
  if (indices->rank < 1 || updates->rank < 1) {
    return leat_kernel_invalid(c, "indices and updates have shapes %s and %s, must have a rank of "
                               "at least 1",
                               LEAT_SHAPE_TEXT(indices), LEAT_SHAPE_TEXT(updates));
  }
  if (whole->element_count == 0 && (indices->element_count > 0 || updates->element_count > 0)) {
    return leat_kernel_invalid(c, "indices and updates are given for an empty output");
  }
  int outer = indices->rank - 1;
  int64_t depth = leat_shape_dim(indices, outer);
  bool fits = depth <= whole->rank && updates->rank - outer == whole->rank - depth;
  for (int d = 0; fits && d < outer; ++d) {
    fits = leat_shape_dim(indices, d) == leat_shape_dim(updates, d);
  }
  for (int d = outer; fits && d < updates->rank; ++d) {
    fits = leat_shape_dim(updates, d) == leat_shape_dim(whole, d - outer + (int)depth);
  }
  if (fits) return leat_ok_status();
  return leat_kernel_invalid(c, "Inner dimensions of output shape must match inner dimensions of "
                             "updates shape: updates have shape %s, indices %s, the output %s",
                             LEAT_SHAPE_TEXT(updates), LEAT_SHAPE_TEXT(indices),
                             LEAT_SHAPE_TEXT(whole));
}

// Combines |count| elements. |combine| is NULL for strings, which are assigned or appended.
static leat_status_t apply_one(leat_combine_t how, leat_combine_fn_t combine, int dtype, void* to,
                               const void* from, int64_t count) {
  if (LEAT_LIKELY(combine != NULL)) {
    combine(to, from, count);
    return leat_ok_status();
  }
  if (how == LEAT_COMBINE_ASSIGN) return leat_tensor_copy_elements(dtype, from, to, count);
  return leat_combine_strings(to, from, count);
}

leat_status_t leat_scatter_nd_apply(const leat_kernel_context_t* c, const leat_tensor_t* indices,
                                    const leat_tensor_t* updates, leat_tensor_t* whole) {
  const leat_scatter_nd_t* state = leat_kernel_state(c);
  int dtype = whole->dtype;
  LEAT_RETURN_IF_ERROR(check_updates(c, &whole->shape, &indices->shape, &updates->shape));
  leat_combine_fn_t combine = leat_combine_find(state->how, dtype);
  if (!combine && dtype != LEAT_DTYPE_STRING) {
    return leat_kernel_error(c, LEAT_UNIMPLEMENTED, "type %s cannot be combined so",
                             leat_dtype_name(dtype));
  }
  leat_nd_index_t index;
  LEAT_RETURN_IF_ERROR(leat_nd_index_make(c, indices, &whole->shape, &index));
  for (int64_t i = 0; i < index.count; ++i) {
    int64_t at = leat_nd_index_at(&index, i);
    if (at < 0 && state->policy == LEAT_BAD_INDICES_IGNORE) continue;
    if (at < 0) return leat_nd_index_error(c, &index, "shape", i);
    LEAT_RETURN_IF_ERROR(apply_one(state->how, combine, dtype,
                                   leat_element_at(whole->data, dtype, at),
                                   leat_element_at(updates->data, dtype, i * index.slice),
                                   index.slice));
  }
  return leat_ok_status();
}

// ---- The kernels --------------------------------------------------------------------------------

static leat_status_t scatter_into_zeros(leat_kernel_context_t* c, const leat_shape_t* shape) {
  const leat_tensor_t* indices = leat_kernel_input(c, 0);
  const leat_tensor_t* updates = leat_kernel_input(c, 1);
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, shape, &output));
  if (!leat_dtype_is_object(output->dtype)) leat_tensor_fill_zero(output);
  return leat_scatter_nd_apply(c, indices, updates, output);
}

static leat_status_t scatter_nd__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* sizes = leat_kernel_input(c, 2);
  int64_t dims[LEAT_SHAPE_MAX_RANK], rank = sizes->shape.element_count;
  if (sizes->shape.rank != 1 || rank > LEAT_SHAPE_MAX_RANK) {
    return leat_kernel_invalid(c, "shape has shape %s, must be a vector of at most %d",
                               LEAT_SHAPE_TEXT(&sizes->shape), LEAT_SHAPE_MAX_RANK);
  }
  for (int i = 0; i < 2 && rank == 0; ++i) {
    if (leat_kernel_input(c, i)->shape.element_count == 0) continue;
    return leat_kernel_invalid(c, "Indices and updates specified for empty output shape");
  }
  for (int64_t d = 0; d < rank; ++d) dims[d] = leat_index_read(sizes, d);
  leat_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_shape_create((int)rank, dims, &shape));
  leat_status_t status = scatter_into_zeros(c, &shape);
  leat_shape_release(&shape);
  return status;
}

static leat_status_t tensor_scatter__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  const leat_tensor_t* indices = leat_kernel_input(c, 1);
  const leat_tensor_t* updates = leat_kernel_input(c, 2);
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_forward_or_allocate(c, 0, 0, &input->shape, &output));
  if (output->data != input->data) {
    LEAT_RETURN_IF_ERROR(leat_strided_copy_runs(c, input->dtype, 1, input->shape.element_count,
                                                input->data, 0, output->data, 0));
  }
  return leat_scatter_nd_apply(c, indices, updates, output);
}

#define SCATTER_ROW(name, types, function)                                         \
  LEAT_CPU_KERNEL(name, "T: " types "; Tindices: int32, int64", leat_scatter_nd_t, \
                  leat_scatter_nd_create, function)

const leat_kernel_row_t leat_scatter_nd_kernels_cpu[] = {
    SCATTER_ROW("ScatterNd", LEAT_TYPES_STRINGS, scatter_nd__cpu),
    SCATTER_ROW("TensorScatterUpdate", LEAT_TYPES_STRINGS, tensor_scatter__cpu),
    SCATTER_ROW("TensorScatterAdd", LEAT_TYPES_NUMBER, tensor_scatter__cpu),
    SCATTER_ROW("TensorScatterSub", LEAT_TYPES_NUMBER, tensor_scatter__cpu),
    SCATTER_ROW("TensorScatterMin", LEAT_TYPES_REAL, tensor_scatter__cpu),
    SCATTER_ROW("TensorScatterMax", LEAT_TYPES_REAL, tensor_scatter__cpu),
    SCATTER_ROW("ScatterNdNonAliasingAdd", LEAT_TYPES_PLAIN, tensor_scatter__cpu),
    LEAT_KERNEL_ROWS_END,
};
