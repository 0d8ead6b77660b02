// The CPU kernels of Shape, ShapeN, Rank and Size, which write what is known of the input without
// reading it.
#include "ops/kernel_rows.h"

// Writes |value| as element |index| of an int32 or int64 output. As in TensorFlow, a size that is
// no int32 fails for an int32 output.
static leat_status_t store_index(leat_kernel_context_t* c, leat_tensor_t* output, int64_t index,
                                 int64_t value) {
  if (output->dtype == LEAT_DTYPE_INT64) {
    leat_tensor_data(output, int64_t)[index] = value;
    return leat_ok_status();
  }
  if (value > INT32_MAX) {
    return leat_kernel_invalid(c, "size is %lld, must be below 2^31 for out_type int32",
                               (long long)value);
  }
  leat_tensor_data(output, int32_t)[index] = (int32_t)value;
  return leat_ok_status();
}

static leat_status_t shape__cpu(leat_kernel_context_t* c) {
  for (int i = 0; i < leat_kernel_input_count(c); ++i) {
    const leat_shape_t* shape = &leat_kernel_input(c, i)->shape;
    leat_shape_t vector = leat_shape_vector(shape->rank);
    leat_tensor_t* output;
    LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, i, &vector, &output));
    for (int d = 0; d < shape->rank; ++d) {
      LEAT_RETURN_IF_ERROR(store_index(c, output, d, leat_shape_dim(shape, d)));
    }
  }
  return leat_ok_status();
}

static leat_status_t rank__cpu(leat_kernel_context_t* c) {
  leat_shape_t scalar = leat_shape_scalar();
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &scalar, &output));
  return store_index(c, output, 0, leat_kernel_input(c, 0)->shape.rank);
}

static leat_status_t size__cpu(leat_kernel_context_t* c) {
  leat_shape_t scalar = leat_shape_scalar();
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &scalar, &output));
  return store_index(c, output, 0, leat_kernel_input(c, 0)->shape.element_count);
}

const leat_kernel_row_t leat_shape_kernels_cpu[] = {
    {.op = "Shape", .device_type = "CPU", .compute = shape__cpu},
    {.op = "ShapeN", .device_type = "CPU", .compute = shape__cpu},
    {.op = "Rank", .device_type = "CPU", .compute = rank__cpu},
    {.op = "Size", .device_type = "CPU", .compute = size__cpu},
    LEAT_KERNEL_ROWS_END,
};
