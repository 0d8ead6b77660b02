// The CPU kernels of BroadcastArgs and BroadcastGradientArgs. Both align the two shapes at their
// last dimension and take a missing dimension as 1:
//
//   s0 = [2, 1, 4], s1 = [3, 1]  ->  BroadcastArgs [2, 3, 4]
//                                    BroadcastGradientArgs [1], [0, 2] (where s0, s1 is 1)
//
// BroadcastArgs gives the shape to which two shapes broadcast. BroadcastGradientArgs gives for each
// of them the axes over which its gradient must be summed; gradients use it where shapes are not
// known before the step (graph/gradient.c). The inputs are tiny int32 or int64 vectors, so that one
// thread computes each output in a loop. Sizes that differ and are not 1 are INVALID_ARGUMENT.
#include "base/checked.h"
#include "ops/kernel_rows.h"

static leat_status_t incompatible(leat_kernel_context_t* c) {
  return leat_kernel_invalid(c, "Incompatible shapes: s0 and s1 must be equal or 1 in each "
                                "dimension");
}

// The size of dimension |d| of |shape|, a vector of sizes, when it is aligned right with |rank|
// dimensions.
static int64_t aligned_dim(const leat_tensor_t* shape, int64_t rank, int64_t d) {
  int64_t own = d - (rank - shape->shape.element_count);
  return own < 0 ? 1 : leat_tensor_index_at(shape, own);
}

static void store(leat_tensor_t* tensor, int64_t index, int64_t value) {
  if (tensor->dtype == LEAT_DTYPE_INT32) {
    leat_tensor_data(tensor, int32_t)[index] = (int32_t)value;
  } else {
    leat_tensor_data(tensor, int64_t)[index] = value;
  }
}

static leat_status_t broadcast_args__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* x = leat_kernel_input(c, 0);
  const leat_tensor_t* y = leat_kernel_input(c, 1);
  int64_t rank = LEAT_MAX(x->shape.element_count, y->shape.element_count);
  leat_shape_t shape = leat_shape_vector(rank);
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &shape, &output));
  for (int64_t d = 0; d < rank; ++d) {
    int64_t a = aligned_dim(x, rank, d), b = aligned_dim(y, rank, d);
    if (a != b && a != 1 && b != 1) return incompatible(c);
    store(output, d, a == 1 ? b : a);
  }
  return leat_ok_status();
}

static bool shapes_equal(const leat_tensor_t* x, const leat_tensor_t* y) {
  if (x->shape.element_count != y->shape.element_count) return false;
  for (int64_t d = 0; d < x->shape.element_count; ++d) {
    if (leat_tensor_index_at(x, d) != leat_tensor_index_at(y, d)) return false;
  }
  return true;
}

// Writes output |index|: the dimensions in which |own| is 1, even those in which |other| is 1 too,
// as TensorFlow does; none if the shapes are equal.
static leat_status_t write_axes(leat_kernel_context_t* c, int index, const leat_tensor_t* own,
                                const leat_tensor_t* other, int64_t rank) {
  bool is_equal = shapes_equal(own, other);
  int64_t count = 0;
  for (int64_t d = 0; d < rank && !is_equal; ++d) {
    count += aligned_dim(own, rank, d) == 1;
  }
  leat_shape_t shape = leat_shape_vector(count);
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, index, &shape, &output));
  int64_t next = 0;
  for (int64_t d = 0; d < rank && next < count; ++d) {
    if (aligned_dim(own, rank, d) == 1) store(output, next++, d);
  }
  return leat_ok_status();
}

static leat_status_t broadcast_gradient_args__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* x = leat_kernel_input(c, 0);
  const leat_tensor_t* y = leat_kernel_input(c, 1);
  int64_t rank = LEAT_MAX(x->shape.element_count, y->shape.element_count);
  for (int64_t d = 0; d < rank; ++d) {
    int64_t a = aligned_dim(x, rank, d), b = aligned_dim(y, rank, d);
    if (a != b && a != 1 && b != 1) return incompatible(c);
  }
  LEAT_RETURN_IF_ERROR(write_axes(c, 0, x, y, rank));
  return write_axes(c, 1, y, x, rank);
}

const leat_kernel_row_t leat_broadcast_kernels_cpu[] = {
    {.op = "BroadcastArgs", .device_type = "CPU", .compute = broadcast_args__cpu},
    {.op = "BroadcastGradientArgs", .device_type = "CPU", .compute = broadcast_gradient_args__cpu},
    LEAT_KERNEL_ROWS_END,
};
