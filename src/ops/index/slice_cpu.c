// The CPU kernel of Slice: it checks the box and takes it as a selection of stride 1
// (selection_cpu.h).
#include "ops/array/index_cpu.h"
#include "ops/array/types.h"
#include "ops/index/selection_cpu.h"
#include "ops/kernel_rows.h"

static leat_status_t read_range(const leat_kernel_context_t* c, int d, int64_t dim,
                                leat_selection_t* s) {
  int64_t begin = leat_tensor_index_at(leat_kernel_input(c, 1), d);
  int64_t size = leat_tensor_index_at(leat_kernel_input(c, 2), d);
  if (begin < 0 || begin > dim) {
    return leat_kernel_invalid(c, "Expected begin[%d] in [0, %lld], but got %lld", d,
                               (long long)dim, (long long)begin);
  }
  if (size == -1) size = dim - begin;
  if (size < 0 || size > dim - begin) {
    return leat_kernel_invalid(c, "Expected size[%d] in [0, %lld], but got %lld", d,
                               (long long)(dim - begin), (long long)size);
  }
  s->begin[d] = begin;
  s->strides[d] = 1;
  s->sizes[d] = size;
  return leat_ok_status();
}

static leat_status_t slice__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  const leat_shape_t* begin = &leat_kernel_input(c, 1)->shape;
  const leat_shape_t* size = &leat_kernel_input(c, 2)->shape;
  int rank = input->shape.rank;
  if (begin->rank != 1 || size->rank != 1 || begin->element_count != rank ||
      size->element_count != rank) {
    return leat_kernel_invalid(c, "Expected begin and size arguments to be 1-D tensors of size %d, "
                               "but got shapes %s and %s",
                               rank, LEAT_SHAPE_TEXT(begin), LEAT_SHAPE_TEXT(size));
  }
  leat_selection_t selection;
  selection.rank = rank;
  const int64_t* dims = leat_shape_dims(&input->shape);
  for (int d = 0; d < rank; ++d) LEAT_RETURN_IF_ERROR(read_range(c, d, dims[d], &selection));
  leat_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_shape_create(rank, selection.sizes, &shape));
  leat_status_t status = leat_selection_take(c, input, &selection, &shape);
  leat_shape_release(&shape);
  return status;
}

const leat_kernel_row_t leat_slice_kernels_cpu[] = {
    {.op = "Slice",
     .device_type = "CPU",
     .constraints = "T: " LEAT_TYPES_STRINGS ", " LEAT_TYPES_FLOAT8
                    ", qint8, qint32, quint8; Index: " LEAT_TYPES_INDEX,
     .access = LEAT_ACCESS_SLICE,
     .compute = slice__cpu},
    LEAT_KERNEL_ROWS_END,
};
