// The CPU kernels of HistogramFixedWidth and Bucketize.
//
//   HistogramFixedWidth: values, range [lo, hi], nbins -> counts [nbins]
//      bin = floor((clamp(v, lo, hi) - lo) / step),  step = hi / nbins - lo / nbins
//   Bucketize: x, boundaries b0 <= b1 <= ... -> the number of boundaries that are <= x
//
// Values outside of the range count in the first and last bin; NaN is an error. The width of a bin
// is computed as the difference of quotients, so that hi - lo cannot overflow. Both ops run on one
// thread, element by element: they are used to monitor values, on small tensors.
#include <string.h>

#include "base/checked.h"
#include "ops/kernel_rows.h"

// Element |i| of |tensor| as a double.
static double number_at(const leat_tensor_t* tensor, int64_t i) {
  switch (tensor->dtype) {
    case LEAT_DTYPE_FLOAT: return (double)leat_tensor_data(tensor, const float)[i];
    case LEAT_DTYPE_DOUBLE: return leat_tensor_data(tensor, const double)[i];
    default: return (double)leat_tensor_index_at(tensor, i);
  }
}

static leat_status_t histogram__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* values = leat_kernel_input(c, 0);
  const leat_tensor_t* range = leat_kernel_input(c, 1);
  int64_t bins = leat_tensor_index_at(leat_kernel_input(c, 2), 0);
  double low = number_at(range, 0), high = number_at(range, 1);
  if (!(low < high)) {
    return leat_kernel_invalid(c, "value_range is [%g, %g], must be ascending", low, high);
  }
  if (bins <= 0) return leat_kernel_invalid(c, "nbins is %lld, must be > 0", (long long)bins);
  leat_shape_t shape = leat_shape_vector(bins);
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &shape, &output));
  leat_tensor_fill_zero(output);
  double step = high / (double)bins - low / (double)bins;
  for (int64_t i = 0; i < values->shape.element_count; ++i) {
    double value = number_at(values, i);
    if (value != value) return leat_kernel_invalid(c, "Histogram values must not contain NaN");
    double position = (LEAT_MIN(LEAT_MAX(value, low), high) - low) / step;
    int64_t bin = position < (double)(bins - 1) ? (int64_t)position : bins - 1;
    if (output->dtype == LEAT_DTYPE_INT32) {
      ++leat_tensor_data(output, int32_t)[bin];
    } else {
      ++leat_tensor_data(output, int64_t)[bin];
    }
  }
  return leat_ok_status();
}

// ---- Bucketize ----------------------------------------------------------------------------------

// The boundaries belong to the node's attributes, which do not outlive creation, so that the kernel
// copies them.
typedef struct leat_bucketize_s {
  leat_allocator_t* allocator;
  float* boundaries;
  int64_t count;
} leat_bucketize_t;

static leat_status_t create_bucketize(leat_kernel_creation_t* c, void* state) {
  leat_bucketize_t* s = state;
  const leat_attr_value_t* list;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr(c, "boundaries", &list));
  for (uint32_t i = 1; i < list->count; ++i) {
    if (list->floats[i] < list->floats[i - 1]) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Create failed for node '%.*s' (Bucketize): boundaries are not "
                              "sorted, must be ascending",
                              LEAT_SV_ARG(c->kernel->node_name));
    }
  }
  s->allocator = c->allocator;
  s->count = list->count;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(c->allocator, (size_t)list->count + 1, &s->boundaries));
  if (list->count) memcpy(s->boundaries, list->floats, list->count * sizeof(float));
  return leat_ok_status();
}

static void destroy_bucketize(void* state) {
  leat_bucketize_t* s = state;
  if (s->allocator) leat_allocator_free(s->allocator, s->boundaries);
}

static leat_status_t bucketize__cpu(leat_kernel_context_t* c) {
  const leat_bucketize_t* s = leat_kernel_state(c);
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &input->shape, &output));
  for (int64_t i = 0; i < input->shape.element_count; ++i) {
    double value = number_at(input, i);
    int64_t low = 0, high = s->count;
    while (low < high) {
      int64_t middle = (low + high) / 2;
      if (value < (double)s->boundaries[middle]) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    leat_tensor_data(output, int32_t)[i] = (int32_t)low;
  }
  return leat_ok_status();
}

const leat_kernel_row_t leat_histogram_kernels_cpu[] = {
    {.op = "HistogramFixedWidth", .device_type = "CPU", .compute = histogram__cpu},
    {.op = "Bucketize",
     .device_type = "CPU",
     .constraints = "T: int32, int64, float, double",
     .create = create_bucketize,
     .destroy = destroy_bucketize,
     .state_bytes = sizeof(leat_bucketize_t),
     .compute = bucketize__cpu},
    LEAT_KERNEL_ROWS_END,
};
