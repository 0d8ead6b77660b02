// CPU kernels of QuantizeAndDequantize: numbers are scaled to integers of num_bits bits, rounded,
// and scaled back.
//
//   y = round(clamp(x, min, max) * scale) / scale
//
// The scale is the largest by which neither end of the range exceeds the ends of the integers. The
// end that decides stays exact, and the other end of the range follows from it. 0 stays 0, since
// nothing is added. If range_given, the range is an input (an attribute of the first version) and
// numbers outside it are clamped; otherwise it is that of the input itself and nothing needs
// clamping.
//
// With an axis, each slice along it has a range of its own. The input is then seen as [outer,
// slices, inner], and each slice goes through the loops of quantization_isa.c.
#include <float.h>
#include <math.h>

#include "base/checked.h"
#include "ops/array/index_cpu.h"
#include "ops/array/strided_cpu.h"
#include "ops/kernel_rows.h"
#include "ops/quantize/quantization_cpu.h"

typedef struct quantization_state_s {
  int64_t bits;  // 0: input 3 holds the number of bits (the third version)
  int64_t axis;
  bool is_signed, range_given, is_narrow, rounds_up;
  bool has_fixed_range;  // the first version, whose range is |min| and |max| below
  float min, max;
} quantization_state_t;

// More bits would not fit in an int64.
static leat_status_t check_bits(const leat_kernel_t* kernel, int64_t bits, bool is_signed) {
  if (bits > 0 && bits < (is_signed ? 62 : 63)) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT, "num_bits is %lld for node '%.*s' (%.*s), must be "
                          "in [1, %d)", (long long)bits, LEAT_SV_ARG(kernel->node_name),
                          LEAT_SV_ARG(kernel->op->name), is_signed ? 62 : 63);
}

static leat_status_t read_first_version(leat_kernel_creation_t* creation,
                                        quantization_state_t* state) {
  state->has_fixed_range = true;
  state->axis = -1;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_float(creation, "input_min", &state->min));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_float(creation, "input_max", &state->max));
  if (!state->range_given || state->min <= state->max) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT, "input_min is %g, must be at most input_max, %g",
                          (double)state->min, (double)state->max);
}

// Reads the attributes. One function serves all versions of the op, so it asks which attributes
// there are.
static leat_status_t create(leat_kernel_creation_t* creation, void* memory) {
  quantization_state_t* state = memory;
  const leat_op_t* op = creation->kernel->op;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_bool(creation, "signed_input", &state->is_signed));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_bool(creation, "range_given", &state->range_given));
  if (leat_op_find_attr(op, LEAT_SV("num_bits")) >= 0) {
    LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(creation, "num_bits", &state->bits));
    LEAT_RETURN_IF_ERROR(check_bits(creation->kernel, state->bits, state->is_signed));
  }
  if (leat_op_find_attr(op, LEAT_SV("input_min")) >= 0) {
    return read_first_version(creation, state);
  }
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(creation, "axis", &state->axis));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_bool(creation, "narrow_range", &state->is_narrow));
  if (leat_op_find_attr(op, LEAT_SV("round_mode")) < 0) return leat_ok_status();
  leat_string_view_t mode;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(creation, "round_mode", &mode));
  state->rounds_up = leat_string_view_equals(mode, "HALF_UP");
  return leat_ok_status();
}

// ---- The integers -------------------------------------------------------------------------------

// The least and the greatest integer of the quantised type.
typedef struct integers_s {
  int64_t min, max;
} integers_t;

static integers_t integers_of(const quantization_state_t* state, int64_t bits) {
  if (!state->is_signed) return (integers_t){0, (int64_t)((UINT64_C(1) << bits) - 1)};
  int64_t half = INT64_C(1) << (bits - 1);
  return (integers_t){state->is_narrow ? 1 - half : -half, half - 1};
}

// ---- The kernel ---------------------------------------------------------------------------------

// The input as [outer, count, inner], with a range for each of |count| slices.
typedef struct channels_s {
  const leat_tensor_t* input;
  leat_tensor_t* output;
  const leat_tensor_t* min;  // NULL: the range in the kernel's state, or none
  const leat_tensor_t* max;
  int64_t outer, count, inner;
  integers_t integers;
} channels_t;

#define TYPE float
#define SUFFIX(name) name##_f32
#define QUANTIZATION leat_quantization_f32_t
#define LARGEST FLT_MAX
#include "ops/quantize/quantization_channels.inc"

#define TYPE double
#define SUFFIX(name) name##_f64
#define QUANTIZATION leat_quantization_f64_t
#define LARGEST DBL_MAX
#include "ops/quantize/quantization_channels.inc"

static double number_at(const leat_tensor_t* tensor, int64_t at) {
  return tensor->dtype == LEAT_DTYPE_FLOAT ? (double)leat_tensor_data(tensor, const float)[at]
                                           : leat_tensor_data(tensor, const double)[at];
}

// As in TensorFlow, the order of the ends is checked only where there is one range for the whole
// input.
static leat_status_t check_ranges(const leat_kernel_context_t* k, const channels_t* c,
                                  int64_t axis) {
  int rank = axis < 0 ? 0 : 1;
  if (c->min->shape.rank != rank || c->max->shape.rank != rank ||
      c->min->shape.element_count != c->count || c->max->shape.element_count != c->count) {
    return leat_kernel_invalid(k, "input_min and input_max have shapes %s and %s, must be of rank "
                               "%d and %lld elements",
                               LEAT_SHAPE_TEXT(&c->min->shape), LEAT_SHAPE_TEXT(&c->max->shape),
                               rank, (long long)c->count);
  }
  if (axis < 0 && !(number_at(c->min, 0) <= number_at(c->max, 0))) {
    return leat_kernel_invalid(k, "input_min is %g, must be at most input_max, %g",
                               number_at(c->min, 0), number_at(c->max, 0));
  }
  return leat_ok_status();
}

// Fills outer, count and inner of |c|; an axis of -1 makes one slice of the whole input.
static leat_status_t divide_channels(const leat_kernel_context_t* k, int64_t axis,
                                     channels_t* c) {
  const leat_shape_t* shape = &c->input->shape;
  if (axis < -1 || (axis != -1 && axis >= shape->rank)) {
    return leat_kernel_invalid(k, "axis is %lld, must be -1 or below the rank %d",
                               (long long)axis, shape->rank);
  }
  c->outer = axis < 0 ? 1 : leat_shape_product(shape, 0, (int)axis);
  c->count = axis < 0 ? 1 : leat_shape_dim(shape, (int)axis);
  c->inner = leat_shape_product(shape, axis < 0 ? 0 : (int)axis + 1, shape->rank);
  return leat_ok_status();
}

static leat_status_t read_bits(const leat_kernel_context_t* k, int64_t* out_bits) {
  const quantization_state_t* state = leat_kernel_state(k);
  *out_bits = state->bits;
  if (state->bits > 0) return leat_ok_status();
  *out_bits = leat_index_read(leat_kernel_input(k, 3), 0);
  return check_bits(k->kernel, *out_bits, state->is_signed);
}

static leat_status_t quantize_and_dequantize__cpu(leat_kernel_context_t* k) {
  const quantization_state_t* state = leat_kernel_state(k);
  channels_t c = {.input = leat_kernel_input(k, 0)};
  int64_t bits;
  LEAT_RETURN_IF_ERROR(divide_channels(k, state->axis, &c));
  LEAT_RETURN_IF_ERROR(read_bits(k, &bits));
  if (!state->has_fixed_range && state->range_given) {
    c.min = leat_kernel_input(k, 1);
    c.max = leat_kernel_input(k, 2);
    LEAT_RETURN_IF_ERROR(check_ranges(k, &c, state->axis));
  }
  c.integers = integers_of(state, bits);
  LEAT_RETURN_IF_ERROR(
      leat_kernel_forward_or_allocate(k, 0, 0, &c.input->shape, &c.output));
  if (c.input->shape.element_count == 0) return leat_ok_status();
  for (int64_t i = 0; i < c.count; ++i) {
    if (c.input->dtype == LEAT_DTYPE_FLOAT) channel_f32(&c, state, i);
    else channel_f64(&c, state, i);
  }
  return leat_ok_status();
}

// ---- The gradient -------------------------------------------------------------------------------

typedef struct gradient_state_s {
  int64_t axis;
} gradient_state_t;

static leat_status_t create_gradient(leat_kernel_creation_t* creation, void* memory) {
  gradient_state_t* state = memory;
  return leat_kernel_attr_int(creation, "axis", &state->axis);
}

static leat_status_t gradient__cpu(leat_kernel_context_t* k) {
  const gradient_state_t* state = leat_kernel_state(k);
  const leat_tensor_t* gradients = leat_kernel_input(k, 0);
  channels_t c = {.input = leat_kernel_input(k, 1),
                  .min = leat_kernel_input(k, 2),
                  .max = leat_kernel_input(k, 3)};
  LEAT_RETURN_IF_ERROR(divide_channels(k, state->axis, &c));
  int rank = state->axis < 0 ? 0 : 1;
  if (c.min->shape.rank != rank || c.max->shape.rank != rank ||
      c.min->shape.element_count != c.count || c.max->shape.element_count != c.count) {
    return leat_kernel_invalid(k, "the range must have rank %d and %lld elements", rank,
                               (long long)c.count);
  }
  leat_tensor_t *min, *max;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(k, 0, &c.input->shape, &c.output));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(k, 1, &c.min->shape, &min));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(k, 2, &c.min->shape, &max));
  leat_tensor_fill_zero(min);
  leat_tensor_fill_zero(max);
  if (c.input->dtype == LEAT_DTYPE_FLOAT) pass_f32(&c, gradients->data);
  else pass_f64(&c, gradients->data);
  return leat_ok_status();
}

#define QUANTIZE_ROW(name)                                                \
  LEAT_CPU_KERNEL(name, "T: float, double", quantization_state_t, create, \
                  quantize_and_dequantize__cpu)

const leat_kernel_row_t leat_quantization_kernels_cpu[] = {
    QUANTIZE_ROW("QuantizeAndDequantize"),
    QUANTIZE_ROW("QuantizeAndDequantizeV2"),
    QUANTIZE_ROW("QuantizeAndDequantizeV3"),
    QUANTIZE_ROW("QuantizeAndDequantizeV4"),
    {.op = "QuantizeAndDequantizeV4Grad",
     .device_type = "CPU",
     .constraints = "T: float, double",
     .create = create_gradient,
     .state_bytes = sizeof(gradient_state_t),
     .compute = gradient__cpu},
    LEAT_KERNEL_ROWS_END,
};
