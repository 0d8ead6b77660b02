// Finds, for the pass "fusion", the smallest part of a constant that determines all of it. Folding
// the gradient of a sum gives an array that repeats one number, and a constant mask or label may
// repeat one row for each example. A program broadcasts its operands, so it can read the number or
// the row, and the large array leaves the graph unless another node reads it.
#include <string.h>

#include "optimize/fusion.h"

// The lengths of rows that are worth broadcasting: the kernel lays the row out for a whole tile
// once, which costs as much as it saves where rows are shorter.
#define SHORTEST_ROW 16
#define LONGEST_ROW 4096

// Whether the tensor's bytes repeat the first |period| ones.
static bool repeats(const leat_tensor_t* tensor, size_t period) {
  const char* data = leat_tensor_data(tensor, const char);
  return memcmp(data, data + period, leat_tensor_size_bytes(tensor) - period) == 0;
}

// The length of a row along the last dimension.
static int64_t row_of(const leat_tensor_t* tensor) {
  return leat_shape_dim(&tensor->shape, tensor->shape.rank - 1);
}

leat_fusion_extent_t leat_fusion_find_extent(const leat_tensor_t* constant) {
  const size_t size = leat_dtype_size(constant->dtype);
  if (!constant->shape.element_count || leat_dtype_in(constant->dtype, LEAT_DTYPES_OBJECT)) {
    return LEAT_FUSION_WHOLE;
  }
  if (repeats(constant, size)) return LEAT_FUSION_ELEMENT;
  const int64_t row = row_of(constant);
  const bool is_laid_once = constant->shape.rank > 1 && row >= SHORTEST_ROW && row <= LONGEST_ROW;
  return is_laid_once && repeats(constant, (size_t)row * size) ? LEAT_FUSION_ROW
                                                               : LEAT_FUSION_WHOLE;
}

bool leat_fusion_is_one(const leat_tensor_t* constant) {
  if (leat_fusion_find_extent(constant) != LEAT_FUSION_ELEMENT) return false;
  switch (constant->dtype) {
    case LEAT_DTYPE_FLOAT: return *leat_tensor_data(constant, const float) == 1;
    case LEAT_DTYPE_DOUBLE: return *leat_tensor_data(constant, const double) == 1;
    default: return false;
  }
}

leat_status_t leat_fusion_take_extent(const leat_tensor_t* constant, leat_fusion_extent_t extent,
                                      leat_tensor_t* out_constant) {
  switch (extent) {
    case LEAT_FUSION_ELEMENT:
      return leat_tensor_scalar(constant->dtype, constant->data, out_constant);
    case LEAT_FUSION_ROW:
      return leat_tensor_vector(constant->dtype, constant->data, row_of(constant), out_constant);
    default: *out_constant = leat_tensor_share(constant); return leat_ok_status();
  }
}

bool leat_fusion_covers(leat_partial_shape_t shape, leat_partial_shape_t operand) {
  if (shape.rank < operand.rank) return false;
  for (int d = 0; d < operand.rank; ++d) {
    const int64_t dim = operand.dims[d];
    if (dim != 1 && shape.dims[shape.rank - operand.rank + d] != dim) return false;
  }
  return true;
}
