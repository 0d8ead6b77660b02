// Reads images of any type as float, and writes results that were summed in double to any type.
//
// TensorFlow's image ops take twelve types of pixels but compute in float. Converting a tensor
// first costs a pass over memory, and saves a copy of every kernel for each type. The list TYPES
// below has, for each type, how to make a number of an element and how to make an element of a
// double; the conversions are generated from it.
#include "ops/image/pixels_cpu.h"

#include "device/cpu/half.h"

// Converts without overflow, which would be undefined. Sums lie far within the range unless the
// inputs were made to break this.
static int64_t int64_of(double x) {
  if (x >= 9223372036854775808.0) return INT64_MAX;
  return x >= -9223372036854775808.0 ? (int64_t)x : INT64_MIN;
}

// X(dtype, type of an element, an element x as a number, a double x as an element)
#define TYPES(X)                                                                                  \
  X(LEAT_DTYPE_FLOAT, float, x, (float)x)                                                         \
  X(LEAT_DTYPE_DOUBLE, double, x, x)                                                              \
  X(LEAT_DTYPE_HALF, uint16_t, leat_half_to_float(x), leat_half_from_float((float)x))             \
  X(LEAT_DTYPE_BFLOAT16, uint16_t, leat_bfloat16_to_float(x), leat_bfloat16_from_float((float)x)) \
  X(LEAT_DTYPE_INT8, int8_t, x, (int8_t)int64_of(x))                                              \
  X(LEAT_DTYPE_UINT8, uint8_t, x, (uint8_t)int64_of(x))                                           \
  X(LEAT_DTYPE_INT16, int16_t, x, (int16_t)int64_of(x))                                           \
  X(LEAT_DTYPE_UINT16, uint16_t, x, (uint16_t)int64_of(x))                                        \
  X(LEAT_DTYPE_INT32, int32_t, x, (int32_t)int64_of(x))                                           \
  X(LEAT_DTYPE_UINT32, uint32_t, x, (uint32_t)int64_of(x))                                        \
  X(LEAT_DTYPE_INT64, int64_t, x, int64_of(x))                                                    \
  X(LEAT_DTYPE_UINT64, uint64_t, x, (uint64_t)int64_of(x))

#define CONVERT_CASE(dtype, type, number, unused)  \
  case dtype:                                      \
    for (int64_t i = 0; i < count; ++i) {          \
      const type x = ((const type*)from)[i];       \
      to[i] = (__typeof__(*to))(number);           \
    }                                              \
    break;
void leat_pixels_to_floats(int dtype, const void* from, int64_t count, float* to) {
  switch (dtype) { TYPES(CONVERT_CASE) }
}
static void to_doubles(int dtype, const void* from, int64_t count, double* to) {
  switch (dtype) { TYPES(CONVERT_CASE) }
}

leat_status_t leat_pixels_size(const leat_kernel_context_t* c, int input, const char* what,
                               leat_pixels_t* out_pixels) {
  const leat_shape_t* shape = &leat_kernel_input(c, input)->shape;
  if (shape->rank != 4) {
    return leat_kernel_invalid(c, "%s must be 4-dimensional, got shape %s", what,
                               LEAT_SHAPE_TEXT(shape));
  }
  const int64_t* dims = leat_shape_dims(shape);
  *out_pixels = (leat_pixels_t){dims[0], dims[1], dims[2], dims[3], NULL, {0}};
  return leat_ok_status();
}

leat_status_t leat_pixels_read(leat_kernel_context_t* c, int input, leat_pixels_t* pixels) {
  const leat_tensor_t* tensor = leat_kernel_input(c, input);
  pixels->values = tensor->data;
  if (tensor->dtype == LEAT_DTYPE_FLOAT) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(
      leat_kernel_allocate_temporary(c, LEAT_DTYPE_FLOAT, &tensor->shape, &pixels->copy));
  leat_pixels_to_floats(tensor->dtype, tensor->data, tensor->shape.element_count,
                        pixels->copy.data);
  pixels->values = pixels->copy.data;
  return leat_ok_status();
}

leat_status_t leat_pixels_copy_doubles(leat_kernel_context_t* c, int input,
                                       leat_tensor_t* out_copy) {
  const leat_tensor_t* tensor = leat_kernel_input(c, input);
  LEAT_RETURN_IF_ERROR(
      leat_kernel_allocate_temporary(c, LEAT_DTYPE_DOUBLE, &tensor->shape, out_copy));
  to_doubles(tensor->dtype, tensor->data, tensor->shape.element_count, out_copy->data);
  return leat_ok_status();
}

void leat_pixels_release(leat_pixels_t* pixels) { leat_tensor_release(&pixels->copy); }

leat_status_t leat_pixels_read_size(const leat_kernel_context_t* c, int input, const char* what,
                                    int64_t* out_height, int64_t* out_width) {
  const leat_tensor_t* size = leat_kernel_input(c, input);
  if (size->shape.rank != 1 || size->shape.element_count != 2) {
    return leat_kernel_invalid(c, "%s must be a vector of two elements, got shape %s", what,
                               LEAT_SHAPE_TEXT(&size->shape));
  }
  *out_height = leat_tensor_index_at(size, 0);
  *out_width = leat_tensor_index_at(size, 1);
  if (*out_height > 0 && *out_width > 0) return leat_ok_status();
  return leat_kernel_invalid(c, "%s is %lld by %lld, dimensions must be positive", what,
                             (long long)*out_height, (long long)*out_width);
}

leat_status_t leat_pixels_allocate(leat_kernel_context_t* c, const leat_pixels_t* like,
                                   int64_t height, int64_t width, leat_tensor_t** out_output) {
  return leat_kernel_allocate_sized(
      c, 0, 4, (int64_t[]){like->batch, height, width, like->channels}, out_output);
}

leat_status_t leat_sums_begin(leat_kernel_context_t* c, const leat_tensor_t* output,
                              leat_tensor_t* out_sums) {
  LEAT_RETURN_IF_ERROR(
      leat_kernel_allocate_temporary(c, LEAT_DTYPE_DOUBLE, &output->shape, out_sums));
  leat_tensor_fill_zero(out_sums);
  return leat_ok_status();
}

// Converts by the last column of TYPES.
void leat_sums_end(leat_tensor_t* sums, leat_tensor_t* output) {
  const double* from = sums->data;
  int64_t count = output->shape.element_count;
  switch (output->dtype) {
#define CASE(dtype, type, unused, as_type)         \
  case dtype:                                      \
    for (int64_t i = 0; i < count; ++i) {          \
      const double x = from[i];                    \
      leat_tensor_data(output, type)[i] = as_type; \
    }                                              \
    break;
    TYPES(CASE)
    default:
      break;
  }
  leat_tensor_release(sums);
}
