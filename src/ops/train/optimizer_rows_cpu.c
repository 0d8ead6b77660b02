// Optimizers on some rows of a variable, for the SparseApply ops. A row that is named twice is
// updated twice, in the order of the indices, whatever the number of threads. For that the variable
// is cut into SHARDS ranges of rows; a thread takes some ranges and goes through all indices for
// those that fall into them:
//
//   indices      7 1 7 4        ranges of rows [0, 4) and [4, 8)
//   first range  row 1          second range  row 7, row 7 again, row 4
//
// To give each thread a range of the indices would be simpler, but two threads could then update
// one row at the same time. Instead every range reads all indices, which is little beside the
// updates. All indices are checked before the first row changes.
#include "ops/train/optimizers_cpu.h"

#define SHARDS 8

typedef struct rows_s {
  const leat_optimizer_plan_t* plan;
  const leat_optimizer_arrays_t* arrays;
  const leat_tensor_t* indices;
  int64_t row_count;
  int64_t row_size;
} rows_t;

// Checks that every index names a row of the variable.
static leat_status_t check_indices(leat_kernel_context_t* c, const rows_t* rows) {
  int64_t count = rows->indices->shape.element_count;
  for (int64_t i = 0; i < count; ++i) {
    int64_t index = leat_tensor_index_at(rows->indices, i);
    if (LEAT_UNLIKELY(index < 0 || index >= rows->row_count)) {
      return leat_kernel_invalid(c,
                                 "Index %lld at offset %lld in indices is out of range, must be "
                                 "in [0, %lld)",
                                 (long long)index, (long long)i, (long long)rows->row_count);
    }
  }
  return leat_ok_status();
}

// Checks that the gradient has a row of the variable for each index.
static leat_status_t check_shapes(leat_kernel_context_t* c, const leat_optimizer_plan_t* plan,
                                  const leat_shape_t* shape) {
  const leat_shape_t* grad = &leat_kernel_input(c, plan->gradient)->shape;
  const leat_shape_t* indices = &leat_kernel_input(c, plan->indices)->shape;
  if (shape->rank == 0) return leat_kernel_invalid(c, "var is a scalar, must have rank 1 or more");
  if (indices->rank != 1) {
    return leat_kernel_invalid(c, "indices has shape %s, must be a vector",
                               LEAT_SHAPE_TEXT(indices));
  }
  bool agrees = grad->rank == shape->rank &&
                leat_shape_dim(grad, 0) == leat_shape_dim(indices, 0);
  for (int d = 1; agrees && d < shape->rank; ++d) {
    agrees = leat_shape_dim(grad, d) == leat_shape_dim(shape, d);
  }
  if (!agrees) {
    return leat_kernel_invalid(c, "grad has shape %s, must be a row of var (%s) for each of %s "
                               "indices",
                               LEAT_SHAPE_TEXT(grad), LEAT_SHAPE_TEXT(shape),
                               LEAT_SHAPE_TEXT(indices));
  }
  return leat_ok_status();
}

// Updates row |index| of the variables with row |i| of the gradient, in place.
static void run_row(const rows_t* rows, int64_t index, int64_t i) {
  size_t size = (size_t)rows->row_size * leat_dtype_size(rows->plan->dtype);
  leat_optimizer_arrays_t row = *rows->arrays;
  for (int v = 0; v < rows->plan->variable_count; ++v) {
    row.out[v] = (uint8_t*)row.out[v] + (size_t)index * size;
    row.in[v] = row.out[v];
  }
  row.gradient = (const uint8_t*)row.gradient + (size_t)i * size;
  leat_optimizer_run(rows->plan, &row, 0, rows->row_size);
}

// Updates the rows in ranges [begin, end) of SHARDS.
static void run_shards(void* data, int64_t begin, int64_t end) {
  const rows_t* rows = data;
  int64_t shard = (rows->row_count + SHARDS - 1) / SHARDS;
  int64_t first = begin * shard, last = end * shard;
  int64_t count = rows->indices->shape.element_count;
  for (int64_t i = 0; i < count; ++i) {
    int64_t index = leat_tensor_index_at(rows->indices, i);
    if (index >= first && index < last) run_row(rows, index, i);
  }
}

leat_status_t leat_optimizer_run_rows(leat_kernel_context_t* c, const leat_optimizer_plan_t* plan,
                                      const leat_optimizer_arrays_t* arrays,
                                      const leat_shape_t* shape) {
  LEAT_RETURN_IF_ERROR(check_shapes(c, plan, shape));
  rows_t rows = {.plan = plan, .arrays = arrays, .indices = leat_kernel_input(c, plan->indices)};
  rows.row_count = leat_shape_dim(shape, 0);
  LEAT_RETURN_IF_ERROR(check_indices(c, &rows));
  int64_t count = rows.indices->shape.element_count;
  if (count == 0) return leat_ok_status();
  rows.row_size = shape->element_count / rows.row_count;
  double row_ns = 10 + (double)rows.row_size * leat_optimizer_cost_ns(plan);
  leat_kernel_parallel_for_unbroken(c, SHARDS, row_ns * (double)count / SHARDS, run_shards, &rows);
  return leat_ok_status();
}
