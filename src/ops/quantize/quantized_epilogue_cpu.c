// Applies what follows an integer product to rows of its sums, piece by piece on the stack, and
// checks what fused products of integers have in common: the ranges of the filter, the bias, and
// the lists of types of ops that have them.
#include "ops/quantize/quantized_epilogue_cpu.h"

#include "base/checked.h"
#include "device/cpu/half.h"

#define PIECE 256  // columns

// ---- Rows ---------------------------------------------------------------------------------------

leat_status_t leat_quantized_epilogue_begin(leat_kernel_context_t* c,
                                            const leat_quantized_fusion_t* fusion, int64_t columns,
                                            leat_tensor_t* output,
                                            leat_quantized_epilogue_t* out_run) {
  const int64_t dims[] = {2, columns};
  leat_shape_t shape;
  const leat_integers_t n = leat_integers_of(output->dtype);
  // 2147483520 is the largest float that fits in an int32.
  *out_run = (leat_quantized_epilogue_t){
      .loops = LEAT_ISA_SELECT(leat_quantized_epilogue_loops),
      .fusion = fusion,
      .output = output,
      .columns = columns,
      .factor = 1,
      .least = (float)n.min,
      .most = LEAT_MIN((float)n.max, 2147483520.0f)};
  LEAT_RETURN_IF_ERROR(leat_shape_create(2, dims, &shape));
  leat_status_t status =
      leat_kernel_allocate_temporary(c, LEAT_DTYPE_FLOAT, &shape, &out_run->vectors);
  leat_shape_release(&shape);
  LEAT_RETURN_IF_ERROR(status);
  out_run->scales = out_run->vectors.data;
  out_run->bias = out_run->scales + columns;
  for (int64_t j = 0; j < columns; ++j) {
    out_run->scales[j] = 1;
    out_run->bias[j] = 0;
  }
  return leat_ok_status();
}

void leat_quantized_epilogue_end(leat_quantized_epilogue_t* run) {
  leat_tensor_release(&run->vectors);
}

// Where a piece of a row lies in the output, and how far its elements are apart.
typedef struct place_s {
  int64_t at, stride;
} place_t;

static place_t place_of(const leat_quantized_epilogue_t* run, int64_t row, int64_t column) {
  if (run->plane == 0) return (place_t){row * run->columns + column, 1};
  const int64_t batch = row / run->plane;
  return (place_t){(batch * run->columns + column) * run->plane + row % run->plane, run->plane};
}

#define SUMMAND_CASE(DTYPE, type, number)                                          \
  case LEAT_DTYPE_##DTYPE: {                                                       \
    const type* from = leat_tensor_data(run->summand, const type) + place.at;      \
    for (int64_t i = 0; i < count; ++i) {                                          \
      x[i] = x[i] + number(from[i * place.stride]) * run->summand_scale;           \
    }                                                                              \
    break;                                                                         \
  }

static void add_summand(const leat_quantized_epilogue_t* run, place_t place, int64_t count,
                        float* x) {
  switch (run->summand->dtype) {
    SUMMAND_CASE(QUINT8, uint8_t, (float))
    SUMMAND_CASE(QINT8, int8_t, (float))
    SUMMAND_CASE(FLOAT, float, )
    SUMMAND_CASE(BFLOAT16, uint16_t, leat_bfloat16_to_float)
    default:
      LEAT_DCHECK(false);
  }
}

static void activate(const leat_quantized_fusion_t* fusion, int64_t count, float* x) {
  float alpha[PIECE];
  const void* const inputs[] = {x, alpha};
  for (int64_t i = 0; i < count && fusion->takes_alpha; ++i) alpha[i] = fusion->alpha;
  (void)fusion->activation(inputs, x, count);  // no activation has faults
}

static void store_floats(const leat_quantized_epilogue_t* run, place_t place, int64_t count,
                         const float* x) {
  const bool is_narrow = run->output->dtype == LEAT_DTYPE_BFLOAT16;
  for (int64_t i = 0; i < count; ++i) {
    const float y = x[i] * run->factor + run->shift;
    if (is_narrow) {
      leat_tensor_data(run->output, uint16_t)[place.at + i] = leat_bfloat16_from_float(y);
    } else {
      leat_tensor_data(run->output, float)[place.at + i] = y;
    }
  }
}

#define STORE_INTEGERS(loop, type)                                                            \
  do {                                                                                        \
    type piece[PIECE];                                                                        \
    type* to = leat_tensor_data(run->output, type) + place.at;                                \
    type* integers = place.stride == 1 ? to : piece;                                          \
    run->loops->loop(x, run->factor, run->shift, run->least, run->most, count, integers);     \
    for (int64_t i = 0; i < count && integers != to; ++i) to[i * place.stride] = integers[i]; \
  } while (0)

static void store(const leat_quantized_epilogue_t* run, place_t place, int64_t count,
                  const float* x) {
  switch (run->output->dtype) {
    case LEAT_DTYPE_QINT8:
    case LEAT_DTYPE_QUINT8:
      STORE_INTEGERS(to_bytes, uint8_t);
      break;
    case LEAT_DTYPE_QINT32:
      STORE_INTEGERS(to_ints, int32_t);
      break;
    default:
      LEAT_DCHECK(place.stride == 1);  // products of matrices alone have floats
      store_floats(run, place, count, x);
  }
}

void leat_quantized_epilogue_rows(const leat_quantized_epilogue_t* run, int64_t first, int64_t rows,
                                  int64_t first_column, int64_t columns, const int32_t* sums) {
  float x[PIECE];
  LEAT_DCHECK(first_column >= 0 && first_column + columns <= run->columns);
  for (int64_t row = first; row < first + rows; ++row, sums += columns) {
    for (int64_t j = 0; j < columns; j += PIECE) {
      const int64_t count = LEAT_MIN(columns - j, PIECE), column = first_column + j;
      const place_t place = place_of(run, row, column);
      run->loops->scale(sums + j, run->scales + column, run->bias + column, count, x);
      if (run->summand) add_summand(run, place, count, x);
      if (run->fusion->activation) activate(run->fusion, count, x);
      store(run, place, count, x);
    }
  }
}

// ---- The inputs ---------------------------------------------------------------------------------

leat_status_t leat_quantized_filter_read(const leat_kernel_context_t* c, int index,
                                         int64_t columns, leat_quantized_filter_t* out_filter) {
  const leat_tensor_t* min = leat_kernel_input(c, index);
  const leat_tensor_t* max = leat_kernel_input(c, index + 1);
  const int64_t count = min->shape.element_count;
  *out_filter = (leat_quantized_filter_t){min, max};
  if (leat_shape_equal(&min->shape, &max->shape) && min->shape.rank <= 1 &&
      (count == 1 || count == columns) && count > 0) {
    return leat_ok_status();
  }
  return leat_kernel_invalid(c, "the ends of the filter's range have shapes %s and %s, must be "
                             "scalars, or vectors of 1 or %lld elements",
                             LEAT_SHAPE_TEXT(&min->shape), LEAT_SHAPE_TEXT(&max->shape),
                             (long long)columns);
}

// The range of column |column|.
static leat_range_t filter_range(const leat_quantized_filter_t* filter, int64_t column) {
  const int64_t at = filter->min->shape.element_count == 1 ? 0 : column;
  return (leat_range_t){leat_tensor_data(filter->min, const float)[at],
                        leat_tensor_data(filter->max, const float)[at]};
}

float leat_quantized_filter_end(const leat_quantized_filter_t* filter, int64_t column) {
  return leat_larger_end(filter_range(filter, column));
}

float leat_quantized_filter_widest(const leat_quantized_filter_t* filter) {
  leat_range_t all = filter_range(filter, 0);
  for (int64_t j = 1; j < filter->min->shape.element_count; ++j) {
    const leat_range_t one = filter_range(filter, j);
    all = (leat_range_t){LEAT_MIN(all.min, one.min), LEAT_MAX(all.max, one.max)};
  }
  return leat_larger_end(all);
}

leat_status_t leat_quantized_filter_ranges(leat_kernel_context_t* c,
                                           const leat_quantized_filter_t* filter, int dtype,
                                           leat_range_t range) {
  const leat_integers_t symmetric = {-127, 127};
  const leat_integers_t input = dtype == LEAT_DTYPE_QINT8 ? symmetric : leat_integers_of(dtype);
  leat_tensor_t *min, *max;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 1, &filter->min->shape, &min));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 2, &filter->min->shape, &max));
  for (int64_t j = 0; j < filter->min->shape.element_count; ++j) {
    const leat_range_t sums =
        leat_range_of_products(input, range, symmetric, filter_range(filter, j));
    leat_tensor_data(min, float)[j] = sums.min;
    leat_tensor_data(max, float)[j] = sums.max;
  }
  return leat_ok_status();
}

leat_status_t leat_quantized_check_bias(const leat_kernel_context_t* c, int index, int64_t columns,
                                        bool wide) {
  const leat_shape_t* bias = &leat_kernel_input(c, index)->shape;
  if ((bias->rank == 1 || (wide && bias->rank > 1)) && bias->element_count == columns &&
      leat_shape_dim(bias, bias->rank - 1) == columns) {
    return leat_ok_status();
  }
  return leat_kernel_invalid(c, "bias has shape %s, must be a vector of %lld elements, one for "
                             "each output channel", LEAT_SHAPE_TEXT(bias), (long long)columns);
}

leat_status_t leat_quantized_check_range(const leat_kernel_context_t* c, int index) {
  for (int i = index; i < index + 2; ++i) {
    const leat_shape_t* end = &leat_kernel_input(c, i)->shape;
    if (end->rank == 0) continue;
    return leat_kernel_invalid(c, "input %d, the end of a range, has shape %s, must be a scalar",
                               i, LEAT_SHAPE_TEXT(end));
  }
  return leat_ok_status();
}

// ---- Creation -----------------------------------------------------------------------------------

leat_status_t leat_quantized_check_type(const leat_kernel_creation_t* c, int index, int dtype) {
  if (index >= c->kernel->input_count) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Creation failed for node '%.*s' (%.*s): it has %d inputs, must have "
                            "more: number %d is of type %s", LEAT_SV_ARG(c->kernel->node_name),
                            LEAT_SV_ARG(c->kernel->op->name), c->kernel->input_count, index,
                            leat_dtype_name(dtype));
  }
  if (c->kernel->input_types[index] == dtype) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Creation failed for node '%.*s' (%.*s): input %d has type %s, must have "
                          "%s", LEAT_SV_ARG(c->kernel->node_name),
                          LEAT_SV_ARG(c->kernel->op->name), index,
                          leat_dtype_name(c->kernel->input_types[index]), leat_dtype_name(dtype));
}
