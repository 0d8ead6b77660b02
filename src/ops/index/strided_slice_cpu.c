// The CPU kernels of StridedSlice and StridedSliceGrad. The selection is resolved from the inputs
// (selection.h) and taken (selection_cpu.h). StridedSliceGrad does the opposite: it writes dy into
// zeros of the given shape, at the places that StridedSlice would have taken. Where dy covers the
// whole output in order, the output shares its bytes; where it covers it in another order nothing
// is zeroed.
#include "base/checked.h"
#include "ops/array/index_cpu.h"
#include "ops/array/types.h"
#include "ops/index/selection_cpu.h"
#include "ops/kernel_rows.h"

static leat_status_t create(leat_kernel_creation_t* creation, void* memory) {
  return leat_selection_masks_read(creation, memory);
}

static leat_status_t strided_slice__cpu(leat_kernel_context_t* c) {
  const leat_selection_masks_t* masks = leat_kernel_state(c);
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  leat_selection_t selection;
  LEAT_RETURN_IF_ERROR(leat_selection_read(c, 1, *masks, &input->shape, &selection));
  leat_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_shape_create(selection.result_rank, selection.result, &shape));
  leat_status_t status = leat_selection_take(c, input, &selection, &shape);
  leat_shape_release(&shape);
  return status;
}

// ---- StridedSliceGrad ---------------------------------------------------------------------------

// Reads the shape of the output from input 0; the caller releases it.
static leat_status_t read_shape(const leat_kernel_context_t* c, leat_shape_t* out_shape) {
  const leat_tensor_t* sizes = leat_kernel_input(c, 0);
  int64_t dims[LEAT_SHAPE_MAX_RANK], rank = sizes->shape.element_count;
  if (sizes->shape.rank != 1 || rank > LEAT_SHAPE_MAX_RANK) {
    return leat_kernel_invalid(c, "shape has shape %s, must be a vector of at most %d sizes",
                               LEAT_SHAPE_TEXT(&sizes->shape), LEAT_SHAPE_MAX_RANK);
  }
  for (int64_t d = 0; d < rank; ++d) dims[d] = leat_tensor_index_at(sizes, d);
  return leat_shape_create((int)rank, dims, out_shape);
}

// Checks that dy has the shape of what |s| selects.
static leat_status_t check_dy(const leat_kernel_context_t* c, const leat_selection_t* s) {
  const leat_shape_t* dy = &leat_kernel_input(c, 4)->shape;
  bool fits = dy->rank == s->result_rank;
  for (int d = 0; fits && d < dy->rank; ++d) fits = leat_shape_dim(dy, d) == s->result[d];
  if (fits) return leat_ok_status();
  leat_partial_shape_t wanted = {s->result_rank, s->result};
  return leat_kernel_invalid(c, "shape of dy was %s instead of %s", LEAT_SHAPE_TEXT(dy),
                             LEAT_PARTIAL_SHAPE_TEXT(wanted));
}

static void zero_shard(void* data, int64_t begin, int64_t end) {
  memset((char*)data + begin, 0, (size_t)(end - begin));
}

// Writes dy into the places that |s| selects of an output of |shape|.
static leat_status_t scatter(leat_kernel_context_t* c, const leat_selection_t* s,
                             const leat_shape_t* shape) {
  const leat_tensor_t* dy = leat_kernel_input(c, 4);
  int64_t first;
  if (dy->shape.element_count == shape->element_count &&
      (shape->element_count == 0 || leat_selection_is_contiguous(s, shape, &first))) {
    return leat_kernel_pass_input_reshaped(c, 4, 0, shape);
  }
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, shape, &output));
  if (!leat_dtype_is_object(output->dtype) &&
      dy->shape.element_count < shape->element_count) {
    leat_kernel_parallel_for(c, (int64_t)leat_tensor_size_bytes(output), 0.04, zero_shard,
                             output->data);
  }
  int64_t steps[LEAT_SHAPE_MAX_RANK];
  first = leat_selection_steps(s, shape, steps);
  leat_strided_t block;
  leat_strided_begin(&block, output->dtype);
  int64_t from_stride = dy->shape.element_count;
  for (int d = 0; d < s->rank; ++d) {
    from_stride /= LEAT_MAX(s->sizes[d], 1);
    leat_strided_add(&block, s->sizes[d], steps[d], from_stride);
  }
  if (dy->shape.element_count == 0) return leat_ok_status();
  return leat_strided_copy(c, &block, dy->data,
                           leat_element_at(output->data, output->dtype, first));
}

static leat_status_t strided_slice_grad__cpu(leat_kernel_context_t* c) {
  const leat_selection_masks_t* masks = leat_kernel_state(c);
  leat_shape_t shape;
  leat_selection_t selection;
  LEAT_RETURN_IF_ERROR(read_shape(c, &shape));
  leat_status_t status = leat_selection_read(c, 1, *masks, &shape, &selection);
  if (!status) status = check_dy(c, &selection);
  if (!status) status = scatter(c, &selection, &shape);
  leat_shape_release(&shape);
  return status;
}

#define SLICE_TYPES "T: " LEAT_TYPES_ALL ", " LEAT_TYPES_FLOAT8 ", qint8, qint32, quint8"

const leat_kernel_row_t leat_strided_slice_kernels_cpu[] = {
    {.op = "StridedSlice",
     .device_type = "CPU",
     .constraints = SLICE_TYPES,
     .create = create,
     .state_bytes = sizeof(leat_selection_masks_t),
     .compute = strided_slice__cpu},
    {.op = "StridedSliceGrad",
     .device_type = "CPU",
     .constraints = SLICE_TYPES,
     .create = create,
     .state_bytes = sizeof(leat_selection_masks_t),
     .compute = strided_slice_grad__cpu},
    LEAT_KERNEL_ROWS_END,
};
