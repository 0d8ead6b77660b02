// Takes what is selected. What lies together and is long enough shares the input's bytes; the rest are
// strided copies.
#include "base/checked.h"
#include "ops/array/parts.h"
#include "ops/array/selection.h"

// |count| elements from |first| on as the output.
static leat_status_t share(leat_kernel_context_t* c, const leat_tensor_t* input, int64_t first,
                           const leat_shape_t* shape) {
  leat_shape_t flat = leat_shape_vector(input->shape.element_count);
  leat_tensor_t all, part, output;
  LEAT_RETURN_IF_ERROR(leat_tensor_reshape(input, &flat, &all));
  leat_status_t status = leat_tensor_slice(&all, first, first + shape->element_count, &part);
  leat_tensor_release(&all);
  if (status) return status;
  status = leat_tensor_reshape(&part, shape, &output);
  leat_tensor_release(&part);
  if (!status) leat_kernel_set_output(c, 0, output);
  return status;
}

static bool is_shared(const leat_tensor_t* input, int64_t first, int64_t count) {
  size_t width = leat_dtype_size(input->dtype);
  return count == input->shape.element_count ||
         leat_parts_should_share((char*)input->data + (size_t)first * width,
                                 (size_t)count * width);
}

static leat_status_t copy_selected(leat_kernel_context_t* c, const leat_tensor_t* input,
                                   const leat_selection_t* s, const leat_tensor_t* output) {
  int64_t steps[LEAT_SHAPE_MAX_RANK];
  int64_t first = leat_selection_steps(s, &input->shape, steps);
  leat_strided_t block;
  leat_strided_begin(&block, input->dtype);
  int64_t to_stride = output->shape.element_count;
  for (int d = 0; d < s->rank; ++d) {
    to_stride /= LEAT_MAX(s->sizes[d], 1);
    leat_strided_add(&block, s->sizes[d], to_stride, steps[d]);
  }
  return leat_strided_copy(c, &block, leat_element_at(input->data, input->dtype, first),
                           output->data);
}

leat_status_t leat_selection_take(leat_kernel_context_t* c, const leat_tensor_t* input,
                                  const leat_selection_t* s, const leat_shape_t* shape) {
  int64_t first = 0;
  bool is_contiguous = leat_selection_is_contiguous(s, &input->shape, &first);
  if (is_contiguous && is_shared(input, first, shape->element_count)) {
    return share(c, input, first, shape);
  }
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, shape, &output));
  if (shape->element_count == 0) return leat_ok_status();
  if (is_contiguous) {
    return leat_tensor_copy_elements(input->dtype,
                                     leat_element_at(input->data, input->dtype, first),
                                     output->data, shape->element_count);
  }
  return copy_selected(c, input, s, output);
}
