// The CPU kernel of IsotonicRegression, by pooling of adjacent violators: the elements of a row are
// taken one after the other as segments of one, and as long as the last segment's mean is above
// that of the one before it, the two become one. Each element is pooled at most once, so a row
// takes linear time.
//
// Sums and means are rounded to the output's type after each operation, as TensorFlow's are, since
// rounding decides which means are equal. Rows are shared out among threads.
#include "device/cpu/half.h"
#include "ops/kernel_rows.h"

typedef struct isotonic_s {
  const leat_tensor_t* input;
  leat_tensor_t* output;
  int32_t* segments;
  int64_t columns;
  // The segments of the part of a row that has been taken. Each row has room for as many as it has
  // elements, at their place.
  double* sums;
  int64_t* counts;
} isotonic_t;

static double number_at(const leat_tensor_t* tensor, int64_t i) {
  switch (tensor->dtype) {
    case LEAT_DTYPE_FLOAT: return leat_tensor_data(tensor, const float)[i];
    case LEAT_DTYPE_HALF: return leat_half_to_float(leat_tensor_data(tensor, const uint16_t)[i]);
    case LEAT_DTYPE_BFLOAT16:
      return leat_bfloat16_to_float(leat_tensor_data(tensor, const uint16_t)[i]);
    case LEAT_DTYPE_INT8: return leat_tensor_data(tensor, const int8_t)[i];
    case LEAT_DTYPE_INT16: return leat_tensor_data(tensor, const int16_t)[i];
    case LEAT_DTYPE_INT32: return leat_tensor_data(tensor, const int32_t)[i];
    case LEAT_DTYPE_INT64: return (double)leat_tensor_data(tensor, const int64_t)[i];
    default: return leat_tensor_data(tensor, const double)[i];
  }
}

// |x| as a number of |dtype|.
static double rounded(int dtype, double x) {
  switch (dtype) {
    case LEAT_DTYPE_FLOAT: return (float)x;
    case LEAT_DTYPE_HALF: return leat_half_to_float(leat_half_from_float((float)x));
    case LEAT_DTYPE_BFLOAT16: return leat_bfloat16_to_float(leat_bfloat16_from_float((float)x));
    default: return x;
  }
}

// Stores |x|, which is a number of the output's type.
static void store(leat_tensor_t* output, int64_t i, double x) {
  switch (output->dtype) {
    case LEAT_DTYPE_FLOAT: leat_tensor_data(output, float)[i] = (float)x; break;
    case LEAT_DTYPE_HALF:
      leat_tensor_data(output, uint16_t)[i] = leat_half_from_float((float)x);
      break;
    case LEAT_DTYPE_BFLOAT16:
      leat_tensor_data(output, uint16_t)[i] = leat_bfloat16_from_float((float)x);
      break;
    default: leat_tensor_data(output, double)[i] = x;
  }
}

static double mean_of(const isotonic_t* p, int64_t segment) {
  const int dtype = p->output->dtype;
  return rounded(dtype, p->sums[segment] / rounded(dtype, (double)p->counts[segment]));
}

static void fit_rows(void* data, int64_t begin, int64_t end) {
  const isotonic_t* p = data;
  const int dtype = p->output->dtype;
  for (int64_t row = begin; row < end; ++row) {
    const int64_t first = row * p->columns;
    int64_t last = first - 1;  // the segment that was made last
    for (int64_t i = first; i < first + p->columns; ++i) {
      p->sums[++last] = rounded(dtype, number_at(p->input, i));
      p->counts[last] = 1;
      for (; last > first && mean_of(p, last - 1) < mean_of(p, last); --last) {
        p->sums[last - 1] = rounded(dtype, p->sums[last - 1] + p->sums[last]);
        p->counts[last - 1] += p->counts[last];
      }
    }
    int64_t i = first;
    for (int64_t segment = first; segment <= last; ++segment) {
      const double mean = mean_of(p, segment);
      for (int64_t k = 0; k < p->counts[segment]; ++k, ++i) {
        store(p->output, i, mean);
        p->segments[i] = (int32_t)(segment - first);
      }
    }
    LEAT_DCHECK(i == first + p->columns);
  }
}

static leat_status_t isotonic__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  const leat_shape_t* shape = &input->shape;
  isotonic_t p = {.input = input,
                  .columns = shape->rank > 0 ? leat_shape_dim(shape, shape->rank - 1) : 1};
  leat_tensor_t *segments, sums, counts;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, shape, &p.output));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 1, shape, &segments));
  if (shape->element_count == 0) return leat_ok_status();
  if (p.columns > INT32_MAX) {
    return leat_kernel_invalid(c, "input has %lld columns, must have fewer than 2^31",
                               (long long)p.columns);
  }
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_temporary(c, LEAT_DTYPE_DOUBLE, shape, &sums));
  leat_status_t status = leat_kernel_allocate_temporary(c, LEAT_DTYPE_INT64, shape, &counts);
  if (!status) {
    p.segments = segments->data;
    p.sums = sums.data;
    p.counts = counts.data;
    leat_kernel_parallel_for(c, shape->element_count / p.columns, 15 * (double)p.columns, fit_rows,
                             &p);
  }
  leat_tensor_release(&counts);
  leat_tensor_release(&sums);
  return status;
}

#define ROW(types)                                                         \
  {.op = "IsotonicRegression", .device_type = "CPU", .constraints = types, \
   .compute = isotonic__cpu}

const leat_kernel_row_t leat_isotonic_kernels_cpu[] = {
    ROW("T: float, int8, int16; output_dtype: float"),
    ROW("T: double, int32, int64; output_dtype: double"),
    ROW("T: half; output_dtype: half"),
    ROW("T: bfloat16; output_dtype: bfloat16"),
    LEAT_KERNEL_ROWS_END,
};
