// CPU kernel of SparseSoftmax: exp(x - max) / sum over the entries of each row, that is of all
// entries whose indices agree but for the last number.
//
// As in TensorFlow, entries that are not in order are put in order first, and the results stand in
// that order. All types are computed as double.
#include <math.h>

#include "base/checked.h"
#include "device/cpu/half.h"
#include "ops/kernel_rows.h"
#include "ops/sparse/entries_cpu.h"

// Reads and writes numbers of the types that the op takes.
static double number_at(const leat_tensor_t* tensor, int64_t i) {
  switch (tensor->dtype) {
    case LEAT_DTYPE_HALF: return leat_half_to_float(leat_tensor_data(tensor, const leat_half_t)[i]);
    case LEAT_DTYPE_FLOAT: return leat_tensor_data(tensor, const float)[i];
    default: return leat_tensor_data(tensor, const double)[i];
  }
}

static void set_number(leat_tensor_t* tensor, int64_t i, double value) {
  switch (tensor->dtype) {
    case LEAT_DTYPE_HALF:
      leat_tensor_data(tensor, leat_half_t)[i] = leat_half_from_float((float)value);
      break;
    case LEAT_DTYPE_FLOAT: leat_tensor_data(tensor, float)[i] = (float)value; break;
    default: leat_tensor_data(tensor, double)[i] = value;
  }
}

// Computes results [begin, end), which are those of one row.
static void softmax_of_row(const leat_tensor_t* values, const int64_t* order, int64_t begin,
                           int64_t end, leat_tensor_t* output) {
  double most = -INFINITY, sum = 0;
  for (int64_t i = begin; i < end; ++i) most = fmax(most, number_at(values, order[i]));
  for (int64_t i = begin; i < end; ++i) sum += exp(number_at(values, order[i]) - most);
  for (int64_t i = begin; i < end; ++i) {
    set_number(output, i, exp(number_at(values, order[i]) - most) / sum);
  }
}

static leat_status_t softmax__cpu(leat_kernel_context_t* c) {
  const leat_entries_t entries = leat_entries_of_inputs(c, 0);
  leat_shape_t dense;
  leat_tensor_t order, *output;
  int64_t rank = entries.shape.shape.element_count, count = entries.values.shape.element_count;
  if (rank < 2) {
    return leat_kernel_invalid(c, "Input should have rank >= 2, but received rank %lld",
                               (long long)rank);
  }
  LEAT_RETURN_IF_ERROR(
      leat_shape_create((int)LEAT_MIN(rank, INT32_MAX), entries.shape.data, &dense));
  leat_shape_release(&dense);
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &entries.values.shape, &output));
  const int64_t* index = entries.indices.data;
  LEAT_RETURN_IF_ERROR(leat_entries_order(c, index, count, rank, &order));
  const int64_t* place = order.data;
  for (int64_t first = 0, end; first < count; first = end) {
    for (end = first + 1; end < count; ++end) {
      const int64_t *a = index + place[first] * rank, *b = index + place[end] * rank;
      if (leat_index_compare(a, b, rank - 1) != 0) break;
    }
    softmax_of_row(&entries.values, place, first, end, output);
  }
  leat_tensor_release(&order);
  return leat_ok_status();
}

const leat_kernel_row_t leat_sparse_softmax_kernels_cpu[] = {
    {.op = "SparseSoftmax",
     .device_type = "CPU",
     .constraints = "T: double, float, half",
     .compute = softmax__cpu},
    LEAT_KERNEL_ROWS_END,
};
