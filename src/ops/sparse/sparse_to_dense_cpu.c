// CPU kernel of SparseToDense: a dense tensor that has a default value everywhere but at the given
// indices.
//
//   sparse_indices [n, r] (or [n], or []), output_shape [r], sparse_values [n] or [] -> dense
//
// The output is filled with the default first, and the values are then copied to their places one
// by one, on one thread. Indices outside the shape are refused always. With validate_indices they
// must also be in order, and none may come twice. Otherwise the last value for an index wins.
#include "ops/kernel_rows.h"
#include "ops/sparse/entries_cpu.h"

typedef struct validation_s {
  bool validates;
} validation_t;

static leat_status_t to_dense_create(leat_kernel_creation_t* c, void* state) {
  return leat_kernel_attr_bool(c, "validate_indices", &((validation_t*)state)->validates);
}

static leat_status_t check(const leat_kernel_context_t* c, int64_t count, int64_t rank) {
  const leat_shape_t *dims = &leat_kernel_input(c, 1)->shape,
                     *values = &leat_kernel_input(c, 2)->shape;
  if (leat_kernel_input(c, 0)->shape.rank > 2) {
    return leat_kernel_invalid(c, "sparse_indices should be a scalar, vector, or matrix, got "
                               "shape %s",
                               LEAT_SHAPE_TEXT(&leat_kernel_input(c, 0)->shape));
  }
  if (dims->element_count != rank || rank > LEAT_SHAPE_MAX_RANK) {
    return leat_kernel_invalid(c, "output_shape has shape %s, must be [%lld]",
                               LEAT_SHAPE_TEXT(dims), (long long)rank);
  }
  if (values->rank == 0 || (values->rank == 1 && values->element_count == count)) {
    return leat_ok_status();
  }
  return leat_kernel_invalid(c, "sparse_values has incorrect shape %s, should be [] or [%lld]",
                             LEAT_SHAPE_TEXT(values), (long long)count);
}

// Gives the indices as int64 [count, rank]; the caller releases the tensor.
static leat_status_t read_indices(leat_kernel_context_t* c, int64_t count, int64_t rank,
                                  leat_tensor_t* out_indices) {
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  leat_shape_t matrix;
  LEAT_RETURN_IF_ERROR(leat_shape_create(2, (int64_t[]){count, rank}, &matrix));
  if (input->dtype == LEAT_DTYPE_INT64) return leat_tensor_reshape(input, &matrix, out_indices);
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_temporary(c, LEAT_DTYPE_INT64, &matrix, out_indices));
  for (int64_t i = 0; i < matrix.element_count; ++i) {
    leat_tensor_data(out_indices, int64_t)[i] = leat_tensor_index_at(input, i);
  }
  return leat_ok_status();
}

// Plain values are filled by copying what is there already, twice as much each time; strings and
// other objects one by one.
static leat_status_t fill_default(const leat_tensor_t* value, leat_tensor_t* output) {
  size_t bytes = leat_dtype_size(value->dtype);
  int64_t count = output->shape.element_count;
  bool is_object = leat_dtype_in(value->dtype, LEAT_DTYPES_OBJECT);
  char* to = output->data;
  for (int64_t done = 0; done < count;) {
    int64_t some = done && !is_object ? (done < count - done ? done : count - done) : 1;
    const void* from = done && !is_object ? to : value->data;
    LEAT_RETURN_IF_ERROR(
        leat_tensor_copy_elements(value->dtype, from, to + (size_t)done * bytes, some));
    done += some;
  }
  return leat_ok_status();
}

// Copies each value to its index. A scalar value goes to all of them.
static leat_status_t scatter(leat_kernel_context_t* c, const leat_tensor_t* indices,
                             leat_tensor_t* output) {
  const leat_tensor_t* values = leat_kernel_input(c, 2);
  int64_t count = leat_shape_dim(&indices->shape, 0), rank = leat_shape_dim(&indices->shape, 1);
  const int64_t* index = indices->data;
  size_t bytes = leat_dtype_size(values->dtype);
  for (int64_t i = 0; i < count; ++i) {
    int64_t place = 0;
    for (int64_t d = 0; d < rank; ++d, ++index) {
      int64_t size = leat_shape_dim(&output->shape, (int)d);
      if (*index < 0 || *index >= size) {
        return leat_kernel_invalid(c, "Indices are not valid (out of bounds).  Shape: %s",
                                   LEAT_SHAPE_TEXT(&output->shape));
      }
      place = place * size + *index;
    }
    LEAT_RETURN_IF_ERROR(leat_tensor_copy_elements(
        values->dtype, (const char*)values->data + (values->shape.rank ? (size_t)i * bytes : 0),
        (char*)output->data + (size_t)place * bytes, 1));
  }
  return leat_ok_status();
}

static leat_status_t to_dense__cpu(leat_kernel_context_t* c) {
  const validation_t* state = leat_kernel_state(c);
  const leat_shape_t* shape = &leat_kernel_input(c, 0)->shape;
  int64_t count = shape->rank > 0 ? leat_shape_dim(shape, 0) : 1;
  int64_t rank = shape->rank > 1 ? leat_shape_dim(shape, 1) : 1;
  int64_t dims[LEAT_SHAPE_MAX_RANK];
  leat_tensor_t indices, *output;
  LEAT_RETURN_IF_ERROR(check(c, count, rank));
  for (int64_t i = 0; i < rank; ++i) dims[i] = leat_tensor_index_at(leat_kernel_input(c, 1), i);
  leat_status_t status = leat_kernel_allocate_sized(c, 0, (int)rank, dims, &output);
  LEAT_RETURN_IF_ERROR(status);
  LEAT_RETURN_IF_ERROR(read_indices(c, count, rank, &indices));
  if (state->validates) status = leat_entries_check_indices(c, &indices, dims);
  if (!status) status = fill_default(leat_kernel_input(c, 3), output);
  if (!status) status = scatter(c, &indices, output);
  leat_tensor_release(&indices);
  return status;
}

const leat_kernel_row_t leat_sparse_to_dense_kernels_cpu[] = {
    {.op = "SparseToDense",
     .device_type = "CPU",
     .constraints = "T: bfloat16, bool, complex128, complex64, double, float, half, int16, int32, "
                    "int64, int8, qint16, qint8, quint16, quint8, string, uint16, uint32, uint64, "
                    "uint8",
     .create = to_dense_create,
     .state_bytes = sizeof(validation_t),
     .compute = to_dense__cpu},
    LEAT_KERNEL_ROWS_END,
};
