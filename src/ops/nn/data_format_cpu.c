// CPU kernels of DataFormatDimMap and DataFormatVecPermute. A graph that is rewritten from one
// layout to another (NHWC to NCHW) has constants that speak of dimensions; these ops translate
// them.
//
//   DataFormatDimMap      x holds numbers of dimensions in src_format -> those in dst_format
//   DataFormatVecPermute  x holds a size (or a pair) for each dimension of src_format -> the same
//                         in the order of dst_format
//
// A format has a letter for each dimension, and the two formats must be permutations of each other.
// DataFormatVecPermute also takes vectors of the spatial dimensions alone, two fewer.
#include "ops/kernel_rows.h"

typedef struct leat_format_change_s {
  int count;       // dimensions of the formats
  int32_t to[5];   // dimension i of the source is dimension to[i] of the destination
  // The change among the spatial dimensions alone ("HW", or "DHW" of five-letter formats).
  int spatial_count, spatial_to[5];
} leat_format_change_t;

static int find(leat_string_view_t format, char dim) {
  for (int i = 0; i < (int)format.size; ++i) {
    if (format.data[i] == dim) return i;
  }
  return -1;
}

static bool is_spatial(char dim, int spatial) {
  return dim == 'H' || dim == 'W' || (spatial == 3 && dim == 'D');
}

// The number of |dim| among the spatial dimensions of |format|.
static int find_spatial(leat_string_view_t format, char dim, int spatial) {
  int place = 0;
  for (int i = 0; i < (int)format.size && format.data[i] != dim; ++i) {
    place += is_spatial(format.data[i], spatial);
  }
  return place;
}

// Finds where each dimension of src_format stands in dst_format, among all dimensions and among the
// spatial ones alone.
static leat_status_t create(leat_kernel_creation_t* c, void* state) {
  leat_format_change_t* change = state;
  leat_string_view_t from, to;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "src_format", &from));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "dst_format", &to));
  if ((from.size != 4 && from.size != 5) || (to.size != 4 && to.size != 5)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "formats are '%.*s' and '%.*s', must be of length 4 or 5",
                            LEAT_SV_ARG(from), LEAT_SV_ARG(to));
  }
  change->count = (int)from.size;
  bool fits = from.size == to.size;
  for (int i = 0; i < change->count && fits; ++i) {
    change->to[i] = find(to, from.data[i]);
    fits = change->to[i] >= 0 && find(from, from.data[i]) == i;
    if (fits && is_spatial(from.data[i], change->count - 2)) {
      change->spatial_to[change->spatial_count++] =
          find_spatial(to, from.data[i], change->count - 2);
    }
  }
  if (fits) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT, "Destination and source format must determine a "
                          "permutation, got %.*s and %.*s", LEAT_SV_ARG(from), LEAT_SV_ARG(to));
}

static void store(leat_tensor_t* tensor, int64_t index, int64_t value) {
  if (tensor->dtype == LEAT_DTYPE_INT32) {
    leat_tensor_data(tensor, int32_t)[index] = (int32_t)value;
  } else {
    leat_tensor_data(tensor, int64_t)[index] = value;
  }
}

// A negative number counts from the last dimension. Numbers outside the format are not refused:
// from its length on they wrap around, and those too far below zero become the last dimension.
static leat_status_t dim_map__cpu(leat_kernel_context_t* c) {
  const leat_format_change_t* change = leat_kernel_state(c);
  const leat_tensor_t* x = leat_kernel_input(c, 0);
  leat_tensor_t* y;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &x->shape, &y));
  for (int64_t i = 0; i < x->shape.element_count; ++i) {
    const int64_t dim = (leat_tensor_index_at(x, i) % change->count + change->count) %
                        change->count;
    const bool is_inside = leat_tensor_index_at(x, i) >= -change->count;
    store(y, i, change->to[is_inside ? dim : change->count - 1]);
  }
  return leat_ok_status();
}

static leat_status_t vec_permute__cpu(leat_kernel_context_t* c) {
  const leat_format_change_t* change = leat_kernel_state(c);
  const leat_tensor_t* x = leat_kernel_input(c, 0);
  const int rank = x->shape.rank, spatial = change->count - 2;
  const int64_t count = rank > 0 ? leat_shape_dim(&x->shape, 0) : 0;
  const bool is_pairs = rank == 2 && leat_shape_dim(&x->shape, 1) == 2;
  if (!(rank == 1 || is_pairs) || (count != change->count && count != spatial)) {
    return leat_kernel_invalid(
        c, rank == 1   ? "1D input must be of size %d or %d, but got shape %s"
           : rank != 2 ? "input must be a vector or 2D tensor (of size %d or %d), but got shape %s"
           : is_pairs  ? "First dimension of 2D input must be of size %d or %d, but got shape %s"
                       : "Second dimension of 2D input must be of size 2 (the first %d or %d), "
                         "but got shape %s",
        spatial, change->count, LEAT_SHAPE_TEXT(&x->shape));
  }
  if (count == spatial && change->spatial_count != spatial) {
    return leat_kernel_invalid(c, "Format specifier must contain H and W for 2D case, D, H and W "
                               "for 3D");
  }
  leat_tensor_t* y;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &x->shape, &y));
  for (int64_t i = 0; i < count; ++i) {
    const int64_t to = count == spatial ? change->spatial_to[i] : change->to[i];
    for (int64_t k = 0; k < rank; ++k) {
      store(y, to * rank + k, leat_tensor_index_at(x, i * rank + k));
    }
  }
  return leat_ok_status();
}

#define ROW(name, compute_fn)                                                        \
  LEAT_CPU_KERNEL(name, "T: int32, int64", leat_format_change_t, create, compute_fn)

const leat_kernel_row_t leat_data_format_kernels_cpu[] = {
    ROW("DataFormatDimMap", dim_map__cpu),
    ROW("DataFormatVecPermute", vec_permute__cpu),
    LEAT_KERNEL_ROWS_END,
};
