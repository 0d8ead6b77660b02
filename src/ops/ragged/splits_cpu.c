// Row splits of ragged tensors, checked and written.
#include "ops/ragged/splits_cpu.h"

#include "base/checked.h"

static leat_status_t check_vector(const leat_kernel_context_t* c, int index) {
  const leat_shape_t* shape = &leat_kernel_input(c, index)->shape;
  if (shape->rank == 1 && shape->element_count > 0) return leat_ok_status();
  return leat_kernel_invalid(c, "ragged splits have shape %s, must be a vector that is not empty",
                             LEAT_SHAPE_TEXT(shape));
}

// Checks that the splits are sorted and begin with 0, or, unless |is_exact|, with more.
static leat_status_t check_order(const leat_kernel_context_t* c, const leat_tensor_t* splits,
                                 bool is_exact, int64_t* out_last) {
  int64_t rows = leat_splits_rows(splits);
  int64_t former = leat_tensor_index_at(splits, 0);
  if (former < 0 || (is_exact && former != 0)) {
    return leat_kernel_invalid(c, "First value of ragged splits must be 0. Got %lld",
                               (long long)former);
  }
  for (int64_t i = 1; i <= rows; ++i) {
    int64_t split = leat_tensor_index_at(splits, i);
    if (split < former) {
      return leat_kernel_invalid(c, is_exact ? "Ragged splits should be non decreasing, but we got "
                                               "%lld followed by %lld"
                                             : "Ragged splits must be sorted: %lld is followed by "
                                               "%lld",
                                 (long long)former, (long long)split);
    }
    former = split;
  }
  *out_last = former;
  return leat_ok_status();
}

static leat_status_t check_one(const leat_kernel_context_t* c, const leat_tensor_t* splits,
                               int64_t value_count, bool is_exact) {
  int64_t last;
  LEAT_RETURN_IF_ERROR(check_order(c, splits, is_exact, &last));
  if (last > value_count && !is_exact) {
    return leat_kernel_invalid(c, "Ragged splits must not point past values: the last is %lld, "
                               "there are %lld values",
                               (long long)last, (long long)value_count);
  }
  if (!is_exact || last == value_count) return leat_ok_status();
  return leat_kernel_invalid(c, "Final value of ragged splits must match the length the "
                             "corresponding ragged values. %lld is not %lld",
                             (long long)last, (long long)value_count);
}

leat_status_t leat_splits_check_order(const leat_kernel_context_t* c, int index) {
  int64_t last;
  LEAT_RETURN_IF_ERROR(check_vector(c, index));
  return check_order(c, leat_kernel_input(c, index), true, &last);
}

leat_status_t leat_splits_check(const leat_kernel_context_t* c, int first, int count,
                                bool is_exact) {
  const leat_shape_t* values = &leat_kernel_input(c, first + count)->shape;
  if (values->rank == 0) return leat_kernel_invalid(c, "the flat values must not be a scalar");
  for (int i = first; i < first + count; ++i) LEAT_RETURN_IF_ERROR(check_vector(c, i));
  for (int i = first; i < first + count; ++i) {
    int64_t value_count = i + 1 < first + count ? leat_splits_rows(leat_kernel_input(c, i + 1))
                                                : leat_shape_dim(values, 0);
    LEAT_RETURN_IF_ERROR(check_one(c, leat_kernel_input(c, i), value_count, is_exact));
  }
  return leat_ok_status();
}

leat_status_t leat_splits_set(const leat_kernel_context_t* c, leat_tensor_t* splits, int64_t index,
                              int64_t value) {
  if (splits->dtype == LEAT_DTYPE_INT64) {
    leat_tensor_data(splits, int64_t)[index] = value;
  } else if (value <= INT32_MAX) {
    leat_tensor_data(splits, int32_t)[index] = (int32_t)value;
  } else {
    return leat_kernel_invalid(c, "the split %lld does not fit into int32", (long long)value);
  }
  return leat_ok_status();
}

leat_status_t leat_splits_write_uniform(leat_kernel_context_t* c, const leat_shape_t* shape) {
  int64_t rows = 1, total, size;
  for (int i = 0; i + 1 < shape->rank; ++i) {
    int64_t length = leat_shape_dim(shape, i + 1);
    leat_tensor_t* splits;
    // The product of the first dimensions may overflow where a later one is 0.
    if (!leat_checked_multiply(rows, leat_shape_dim(shape, i), &rows) ||
        !leat_checked_multiply(rows, length, &total) || !leat_checked_add(rows, 1, &size)) {
      return leat_kernel_invalid(c, "the shape %s has too many rows", LEAT_SHAPE_TEXT(shape));
    }
    LEAT_RETURN_IF_ERROR(leat_kernel_allocate_sized(c, i, 1, &size, &splits));
    for (int64_t row = 0; row <= rows; ++row) {
      LEAT_RETURN_IF_ERROR(leat_splits_set(c, splits, row, row * length));
    }
  }
  return leat_ok_status();
}
