// Reads scales and zero points of the uniform ops, and multiplies integers by quotients of scales.
#include "ops/quantize/uniform_scale_cpu.h"

#include <math.h>
#include <stdio.h>

#include "base/checked.h"

leat_status_t leat_uniform_attrs_read(const leat_kernel_creation_t* c, const char* prefix,
                                      leat_uniform_attrs_t* out_attrs) {
  char name[64];
  int64_t min, max;
  snprintf(name, sizeof(name), "%squantization_axis", prefix);
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, name, &out_attrs->axis));
  if (out_attrs->axis < -1) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "%s must be >= -1, given: %lld", name,
                            (long long)out_attrs->axis);
  }
  snprintf(name, sizeof(name), "%squantization_min_val", prefix);
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, name, &min));
  snprintf(name, sizeof(name), "%squantization_max_val", prefix);
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, name, &max));
  out_attrs->min = (int32_t)LEAT_MAX(LEAT_MIN(min, INT32_MAX), INT32_MIN);
  out_attrs->max = (int32_t)LEAT_MAX(LEAT_MIN(max, INT32_MAX), INT32_MIN);
  return leat_ok_status();
}

leat_status_t leat_uniform_scale_read(const leat_kernel_context_t* c, int index,
                                      const leat_uniform_attrs_t* attrs,
                                      const leat_shape_t* shape, bool must_be_positive,
                                      leat_uniform_scale_t* out_scale) {
  const leat_tensor_t* scales = leat_kernel_input(c, index);
  const leat_tensor_t* zeros = leat_kernel_input(c, index + 1);
  if (attrs->axis >= shape->rank) {
    return leat_kernel_invalid(c, "quantization_axis must be -1 or in range [0, %d), but given "
                               "%lld", shape->rank, (long long)attrs->axis);
  }
  const int axis = (int)attrs->axis;
  *out_scale = (leat_uniform_scale_t){
      .scales = scales->data,
      .zeros = zeros->data,
      .count = axis < 0 ? 1 : leat_shape_dim(shape, axis),
      .axis = axis,
      .inner = leat_shape_product(shape, axis < 0 ? 0 : axis + 1, shape->rank)};
  if (scales->shape.rank != (axis >= 0) || !leat_shape_equal(&scales->shape, &zeros->shape) ||
      scales->shape.element_count != out_scale->count) {
    return leat_kernel_invalid(c, "scales and zero_points have shapes %s and %s, must be scalars, "
                               "or vectors as long as dimension quantization_axis, %d",
                               LEAT_SHAPE_TEXT(&scales->shape), LEAT_SHAPE_TEXT(&zeros->shape),
                               axis);
  }
  for (int64_t k = 0; k < out_scale->count && must_be_positive; ++k) {
    if (out_scale->scales[k] > 0) continue;
    return leat_kernel_invalid(c, "scales elements must be all positive, one is %g",
                               (double)out_scale->scales[k]);
  }
  return leat_ok_status();
}

// The multiplier of a factor that is positive and finite.
static leat_multiplier_t multiplier_of(double factor) {
  int shift;
  int64_t mantissa = llround(frexp(factor, &shift) * 0x1p31);
  if (mantissa == INT64_C(1) << 31) {
    mantissa /= 2;
    ++shift;
  }
  // A factor this small makes 0 of everything, and of the largest only the limit is left.
  if (shift < -31) return (leat_multiplier_t){0, 0};
  if (shift > 30) return (leat_multiplier_t){INT32_MAX, 30};
  return (leat_multiplier_t){(int32_t)mantissa, shift};
}

leat_status_t leat_multiplier_make(const leat_kernel_context_t* c, double factor,
                                   leat_multiplier_t* out_multiplier) {
  if (!(factor > 0) || isinf(factor)) {
    return leat_kernel_invalid(c, "the quotient of two scales is %g, must be positive and finite",
                               factor);
  }
  *out_multiplier = multiplier_of(factor);
  return leat_ok_status();
}

int32_t leat_multiplier_apply(leat_multiplier_t m, int32_t x) {
  const int shift = 31 - m.shift;
  const int64_t sum = (int64_t)x * m.mantissa + (INT64_C(1) << (shift - 1));
  const int64_t result = sum >> shift;
  return (int32_t)LEAT_MAX(LEAT_MIN(result, INT32_MAX), INT32_MIN);
}
