// The CPU kernels of Unique and its variants, and ListDiff. Both use the hash table of
// key_table_cpu.h, whose keys are the slices along an axis, mostly single elements.
//
//   Unique    x 7 7 3  ->  y 7 3 (first appearances), idx 0 0 1, count 2 1
//   ListDiff  x 7 3 9, y 3  ->  out 7 9, idx 0 2
//
// Unique numbers all keys, then copies each key from where it first appears; counts are made of the
// numbers. ListDiff puts y into a table and asks it twice for each item of x: once to count what is
// missing, since the outputs must be allocated, and once to write it.
#include "base/checked.h"
#include "ops/array/index_cpu.h"
#include "ops/array/strided_cpu.h"
#include "ops/array/types.h"
#include "ops/index/key_table_cpu.h"
#include "ops/kernel_rows.h"

// Reads the axis; without one x must be a vector.
static leat_status_t read_axis(const leat_kernel_context_t* c, int rank, int* out_axis) {
  *out_axis = 0;
  const leat_tensor_t* axis = leat_kernel_input_count(c) > 1 ? leat_kernel_input(c, 1) : NULL;
  if (axis && (axis->shape.rank != 1 || axis->shape.element_count > 1)) {
    return leat_kernel_invalid(c, "axis has shape %s, must be a vector of at most one",
                               LEAT_SHAPE_TEXT(&axis->shape));
  }
  if (axis && axis->shape.element_count == 1) return leat_axis_read(c, 1, rank, out_axis);
  if (rank == 1) return leat_ok_status();
  return leat_kernel_invalid(c, "rank of x is %d, must be 1", rank);
}

// Output 0 becomes the different keys, in the order in which they first appear.
static leat_status_t take_unique(leat_kernel_context_t* c, const leat_key_table_t* table,
                                 int axis) {
  const leat_keys_t* keys = &table->keys;
  const leat_tensor_t* input = keys->tensor;
  int64_t dims[LEAT_SHAPE_MAX_RANK];
  memcpy(dims, leat_shape_dims(&input->shape), (size_t)input->shape.rank * sizeof(int64_t));
  dims[axis] = table->size;
  leat_tensor_t* output;
  leat_status_t status = leat_kernel_allocate_sized(c, 0, input->shape.rank, dims, &output);
  for (int64_t o = 0; !status && o < keys->outer && keys->inner > 0; ++o) {
    for (int64_t i = 0; !status && i < table->size; ++i) {
      int64_t from = (o * keys->count + leat_key_table_first(table, i)) * keys->inner;
      int64_t to = (o * table->size + i) * keys->inner;
      if (keys->inner == 1 && leat_dtype_size(input->dtype) == 4) {
        leat_tensor_data(output, uint32_t)[to] = leat_tensor_data(input, const uint32_t)[from];
        continue;
      }
      status = leat_tensor_copy_elements(
          input->dtype, leat_element_at(input->data, input->dtype, from),
          leat_element_at(output->data, input->dtype, to), keys->inner);
    }
  }
  return status;
}

// Output 2, where the op has one, becomes how often each key appears.
static leat_status_t count_unique(leat_kernel_context_t* c, int32_t size) {
  if (c->kernel->output_count < 3) return leat_ok_status();
  const leat_tensor_t* numbers = leat_kernel_output(c, 1);
  leat_shape_t shape = leat_shape_vector(size);
  leat_tensor_t* counts;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 2, &shape, &counts));
  leat_tensor_fill_zero(counts);
  for (int64_t i = 0; i < numbers->shape.element_count; ++i) {
    int64_t number = leat_tensor_index_at(numbers, i);
    leat_index_write(counts, number, leat_tensor_index_at(counts, number) + 1);
  }
  return leat_ok_status();
}

static leat_status_t number_keys(leat_kernel_context_t* c, leat_key_table_t* table, int axis) {
  leat_shape_t shape = leat_shape_vector(table->keys.count);
  leat_tensor_t* numbers;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 1, &shape, &numbers));
  LEAT_RETURN_IF_ERROR(leat_key_table_add_all(table, c, numbers));
  LEAT_RETURN_IF_ERROR(take_unique(c, table, axis));
  return count_unique(c, table->size);
}

static leat_status_t unique__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  const leat_shape_t* shape = &input->shape;
  int axis;
  LEAT_RETURN_IF_ERROR(read_axis(c, shape->rank, &axis));
  leat_keys_t keys = {.tensor = input,
                      .outer = leat_shape_product(shape, 0, axis),
                      .count = leat_shape_dim(shape, axis),
                      .inner = leat_shape_product(shape, axis + 1, shape->rank)};
  if (shape->element_count > INT32_MAX || keys.count > INT32_MAX) {
    return leat_kernel_invalid(c, "x has shape %s, must have less than 2^31 elements",
                               LEAT_SHAPE_TEXT(shape));
  }
  leat_key_table_t table;
  LEAT_RETURN_IF_ERROR(leat_key_table_initialize(c, keys, &table));
  leat_status_t status = number_keys(c, &table, axis);
  leat_key_table_deinitialize(&table);
  return status;
}

// ---- ListDiff -----------------------------------------------------------------------------------

static leat_keys_t keys_of(const leat_tensor_t* vector) {
  return (leat_keys_t){vector, 1, vector->shape.element_count, 1};
}

// Outputs the |keys| that are not in |table|, and their positions.
static leat_status_t list_missing(leat_kernel_context_t* c, const leat_key_table_t* table,
                                  const leat_keys_t* keys) {
  const leat_tensor_t* x = keys->tensor;
  int64_t size = 0;
  for (int64_t i = 0; i < keys->count; ++i) size += !leat_key_table_has(table, keys, i);
  leat_shape_t shape = leat_shape_vector(size);
  leat_tensor_t *output, *positions;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &shape, &output));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 1, &shape, &positions));
  int64_t next = 0;
  for (int64_t i = 0; next < size; ++i) {
    if (leat_key_table_has(table, keys, i)) continue;
    LEAT_RETURN_IF_ERROR(leat_tensor_copy_elements(
        x->dtype, leat_element_at(x->data, x->dtype, i),
        leat_element_at(output->data, x->dtype, next), 1));
    leat_index_write(positions, next++, i);
  }
  return leat_ok_status();
}

static leat_status_t list_diff__cpu(leat_kernel_context_t* c) {
  leat_keys_t x = keys_of(leat_kernel_input(c, 0)), y = keys_of(leat_kernel_input(c, 1));
  if (x.tensor->shape.rank != 1 || y.tensor->shape.rank != 1) {
    return leat_kernel_invalid(c, "x and y have shapes %s and %s, must be vectors",
                               LEAT_SHAPE_TEXT(&x.tensor->shape),
                               LEAT_SHAPE_TEXT(&y.tensor->shape));
  }
  if (x.count >= INT32_MAX || y.count >= INT32_MAX) {
    return leat_kernel_invalid(c, "x has %lld items and y %lld, must have less than 2^31 - 1",
                               (long long)x.count, (long long)y.count);
  }
  leat_key_table_t table;
  LEAT_RETURN_IF_ERROR(leat_key_table_initialize(c, y, &table));
  leat_status_t status = leat_key_table_add_all(&table, c, NULL);
  if (!status) status = list_missing(c, &table, &x);
  leat_key_table_deinitialize(&table);
  return status;
}

#define UNIQUE_TYPES "T: " LEAT_TYPES_REAL ", bool, string; out_idx: " LEAT_TYPES_INDEX

const leat_kernel_row_t leat_unique_kernels_cpu[] = {
    {.op = "Unique", .device_type = "CPU", .constraints = UNIQUE_TYPES, .compute = unique__cpu},
    {.op = "UniqueV2", .device_type = "CPU", .constraints = UNIQUE_TYPES, .compute = unique__cpu},
    {.op = "UniqueWithCounts",
     .device_type = "CPU",
     .constraints = UNIQUE_TYPES,
     .compute = unique__cpu},
    {.op = "UniqueWithCountsV2",
     .device_type = "CPU",
     .constraints = UNIQUE_TYPES,
     .compute = unique__cpu},
    {.op = "ListDiff",
     .device_type = "CPU",
     .constraints = "T: " LEAT_TYPES_REAL ", string; out_idx: " LEAT_TYPES_INDEX,
     .compute = list_diff__cpu},
    LEAT_KERNEL_ROWS_END,
};
