// Reading a selection (selection.h) from the inputs of a kernel, and taking what it selects of a
// tensor. Slice, StridedSlice and assignment to slices all use it. Of a selection that is taken
// there are three kinds:
//
//   contiguous and long    the output shares the bytes of the input, and nothing is moved
//   contiguous and short   one copy, because sharing would keep the whole input alive for little
//   any other              a strided copy (strided_cpu.h): x[:, 1:3] of [4, 5] has 4 runs of 2
//
// What is long is decided by leat_pieces_should_share (ops/array/pieces_cpu.h), as for Split and
// Unpack. All of the input is always shared. Tensors are not changed while somebody else holds
// them, so that sharing is safe.
#include "ops/index/selection_cpu.h"

#include "base/checked.h"
#include "ops/array/index_cpu.h"
#include "ops/array/pieces_cpu.h"

leat_status_t leat_selection_masks_read(const leat_kernel_creation_t* creation,
                                        leat_selection_masks_t* out_masks) {
  static const char* const names[] = {"begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask",
                                      "shrink_axis_mask"};
  uint32_t* masks[] = {&out_masks->begin, &out_masks->end, &out_masks->ellipsis,
                       &out_masks->new_axis, &out_masks->shrink};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(names); ++i) {
    int64_t value;
    LEAT_RETURN_IF_ERROR(leat_kernel_attr_int32(creation, names[i], &value));
    *masks[i] = (uint32_t)value;
  }
  return leat_ok_status();
}

// All numbers are known here, so that one which equals the mark of the unknown is moved by one: it
// is as far out of range.
leat_status_t leat_selection_read(const leat_kernel_context_t* c, int first,
                                  leat_selection_masks_t masks, const leat_shape_t* shape,
                                  leat_selection_t* out_selection) {
  const leat_tensor_t* begin = leat_kernel_input(c, first);
  const leat_tensor_t* end = leat_kernel_input(c, first + 1);
  const leat_tensor_t* strides = leat_kernel_input(c, first + 2);
  int64_t count = strides->shape.element_count;
  if (begin->shape.rank != 1 || end->shape.rank != 1 || strides->shape.rank != 1 ||
      begin->shape.element_count != count || end->shape.element_count != count ||
      count > LEAT_SELECTION_MAX_ITEMS) {
    return leat_kernel_invalid(
        c, "Expected begin, end, and strides to be 1D equal size tensors, but got shapes %s, %s, "
        "and %s instead; they have less than 32 elements", LEAT_SHAPE_TEXT(&begin->shape),
        LEAT_SHAPE_TEXT(&end->shape), LEAT_SHAPE_TEXT(&strides->shape));
  }
  leat_selection_items_t items;
  items.count = (int)count;
  for (int i = 0; i < items.count; ++i) {
    items.begin[i] = leat_index_read(begin, i);
    items.end[i] = leat_index_read(end, i);
    items.strides[i] = leat_index_read(strides, i);
    if (items.begin[i] == LEAT_SELECTION_UNKNOWN) ++items.begin[i];
    if (items.end[i] == LEAT_SELECTION_UNKNOWN) ++items.end[i];
  }
  leat_status_t status =
      leat_selection_make(&items, masks, shape->rank, leat_shape_dims(shape), out_selection);
  if (LEAT_LIKELY(!status)) return status;
  return leat_status_annotate(status, "Compute failed for node '%.*s' (%.*s)",
                              LEAT_SV_ARG(c->kernel->node_name), LEAT_SV_ARG(c->kernel->op->name));
}

int64_t leat_selection_steps(const leat_selection_t* s, const leat_shape_t* shape,
                             int64_t* out_steps) {
  leat_shape_strides(shape, out_steps);
  int64_t first = 0;
  for (int d = 0; d < s->rank; ++d) {
    first += s->begin[d] * out_steps[d];
    // A dimension of size 1 takes no step, and its stride may be so large that the product would
    // overflow.
    out_steps[d] = s->sizes[d] > 1 ? out_steps[d] * s->strides[d] : 0;
  }
  return first;
}

bool leat_selection_is_contiguous(const leat_selection_t* s, const leat_shape_t* shape,
                                  int64_t* out_first) {
  const int64_t* dims = leat_shape_dims(shape);
  int64_t first = 0;
  bool is_partial = false;  // some dimension further in is not taken whole
  int64_t stride = 1;
  for (int d = s->rank - 1; d >= 0; --d) {
    if (s->sizes[d] == 0) return false;
    if (s->sizes[d] != 1 && (s->strides[d] != 1 || is_partial)) return false;
    if (s->sizes[d] != dims[d]) is_partial = true;
    first += s->begin[d] * stride;
    stride *= dims[d];
  }
  *out_first = first;
  return true;
}

// ---- Taking ------------------------------------------------------------------------------------

// Makes the output the elements of |input| from |first| on, under |shape|, in the same bytes.
static leat_status_t share(leat_kernel_context_t* c, const leat_tensor_t* input, int64_t first,
                           const leat_shape_t* shape) {
  leat_shape_t flat = leat_shape_vector(input->shape.element_count);
  leat_tensor_t all, piece, output;
  LEAT_RETURN_IF_ERROR(leat_tensor_reshape(input, &flat, &all));
  leat_status_t status = leat_tensor_slice(&all, first, first + shape->element_count, &piece);
  leat_tensor_release(&all);
  if (status) return status;
  status = leat_tensor_reshape(&piece, shape, &output);
  leat_tensor_release(&piece);
  if (!status) leat_kernel_set_output(c, 0, output);
  return status;
}

// Says whether |count| contiguous elements should share the bytes of the input.
static bool is_shared(const leat_tensor_t* input, int64_t first, int64_t count) {
  size_t width = leat_dtype_size(input->dtype);
  return count == input->shape.element_count ||
         leat_pieces_should_share((char*)input->data + (size_t)first * width,
                                  (size_t)count * width);
}

// Copies what is selected into |output|, which is dense.
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
