// CPU kernel of RaggedTensorToSparse: the elements of a ragged tensor as a sparse one.
//
//   rt_nested_splits [R], rt_dense_values [n, ...] -> indices [elements, R + rank], values, shape
//
// The index of a flat value is the number of its outermost row, its place in that row, its place in
// the row there, and so on. The kernel goes over the flat values once and keeps the current row of
// each level, which only ever moves forward. A dimension of the dense shape is the length of the
// longest row at its level.
#include "base/checked.h"
#include "kernel/step_check.h"
#include "ops/kernel_rows.h"
#include "ops/ragged/splits_cpu.h"

// Moves to the row in which |place| lies, at the level of |splits|, and gives it.
static int64_t row_of(const leat_tensor_t* splits, int64_t place, int64_t* inout_row) {
  while (place >= leat_tensor_index_at(splits, *inout_row + 1)) ++*inout_row;
  return *inout_row;
}

// Writes to |index| the first |levels| + 1 numbers of the index of flat value |place|. |rows|
// [levels] are the current rows.
static void find_index(const leat_kernel_context_t* c, int levels, int64_t place, int64_t* rows,
                       int64_t* index) {
  for (int level = levels - 1; level >= 0; --level) {
    const leat_tensor_t* splits = leat_kernel_input(c, level);
    int64_t row = row_of(splits, place, &rows[level]);
    index[level + 1] = place - leat_tensor_index_at(splits, row);
    place = row;
  }
  index[0] = place;
}

// Moves |index| [rank], the place of an element in a flat value, to the next element.
static void next_element(const leat_shape_t* values, int64_t* index) {
  for (int d = values->rank - 1; d > 0; --d) {
    if (++index[d - 1] < leat_shape_dim(values, d)) return;
    index[d - 1] = 0;
  }
}

static leat_status_t write_indices(leat_kernel_context_t* c, int levels, int64_t* index) {
  const leat_shape_t* values = &leat_kernel_input(c, levels)->shape;
  int64_t rows[LEAT_SHAPE_MAX_RANK] = {0}, first[LEAT_SHAPE_MAX_RANK + 1];
  int64_t inner[LEAT_SHAPE_MAX_RANK] = {0};
  int64_t width = leat_shape_product(values, 1, values->rank);
  leat_step_pace_t pace = leat_step_pace_of(c);
  if (values->element_count == 0) return leat_ok_status();
  for (int64_t place = 0; place < leat_shape_dim(values, 0); ++place) {
    LEAT_RETURN_IF_ERROR(leat_step_pace_count(&pace, 10 * (double)width));
    find_index(c, levels, place, rows, first);
    for (int64_t i = 0; i < width; ++i) {
      for (int d = 0; d <= levels; ++d) *index++ = first[d];
      for (int d = 0; d < values->rank - 1; ++d) *index++ = inner[d];
      next_element(values, inner);
    }
  }
  return leat_ok_status();
}

static void write_shape(const leat_kernel_context_t* c, int levels, int64_t* dims) {
  const leat_shape_t* values = &leat_kernel_input(c, levels)->shape;
  *dims++ = leat_splits_rows(leat_kernel_input(c, 0));
  for (int level = 0; level < levels; ++level, ++dims) {
    const leat_tensor_t* splits = leat_kernel_input(c, level);
    *dims = 0;
    for (int64_t row = 0; row < leat_splits_rows(splits); ++row) {
      int64_t length = leat_tensor_index_at(splits, row + 1) - leat_tensor_index_at(splits, row);
      *dims = LEAT_MAX(*dims, length);
    }
  }
  for (int d = 1; d < values->rank; ++d) *dims++ = leat_shape_dim(values, d);
}

static leat_status_t to_sparse__cpu(leat_kernel_context_t* c) {
  int levels = leat_kernel_input_count(c) - 1;
  const leat_tensor_t* values = leat_kernel_input(c, levels);
  leat_tensor_t *indices, *shape;
  int64_t count = values->shape.element_count, rank = levels + values->shape.rank;
  if (rank > LEAT_SHAPE_MAX_RANK) {
    return leat_kernel_invalid(c, "the rank of the result is %lld, must be at most %d",
                               (long long)rank, LEAT_SHAPE_MAX_RANK);
  }
  LEAT_RETURN_IF_ERROR(leat_splits_check(c, 0, levels, true));
  leat_shape_t vector = leat_shape_vector(rank);
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_sized(c, 0, 2, (int64_t[]){count, rank}, &indices));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 2, &vector, &shape));
  write_shape(c, levels, shape->data);
  leat_shape_t flat = leat_shape_vector(count);
  LEAT_RETURN_IF_ERROR(leat_kernel_pass_input_reshaped(c, levels, 1, &flat));
  return write_indices(c, levels, indices->data);
}

const leat_kernel_row_t leat_ragged_to_sparse_kernels_cpu[] = {
    {.op = "RaggedTensorToSparse", .device_type = "CPU", .compute = to_sparse__cpu},
    LEAT_KERNEL_ROWS_END,
};
