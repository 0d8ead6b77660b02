// Scales and zero points of the uniform ops, and the arithmetic between two scales. An integer
// stands for (integer - zero) * scale; there is one pair for the whole tensor, or one for each
// slice along an axis.
//
// From one scale to another is a multiplication by their quotient. The quotient is kept as a 32-bit
// mantissa and a shift, so that no float takes part and the result does not depend on the machine;
// it is TensorFlow's to the bit. The functions keep nothing and may be called from any thread.
#ifndef LEAT_OPS_QUANTIZE_UNIFORM_SCALE_CPU_H_
#define LEAT_OPS_QUANTIZE_UNIFORM_SCALE_CPU_H_

#include "kernel/kernel.h"

// The attributes of a quantised tensor.
typedef struct leat_uniform_attrs_s {
  int64_t axis;      // -1: one scale
  int32_t min, max;  // of the integers
} leat_uniform_attrs_t;

// Reads the attributes that begin with |prefix|: "", "lhs_", ... INVALID_ARGUMENT for an axis below
// -1.
LEAT_MUST_USE leat_status_t leat_uniform_attrs_read(const leat_kernel_creation_t* c,
                                                    const char* prefix,
                                                    leat_uniform_attrs_t* out_attrs);

// The scales of a tensor of some shape; the arrays are borrowed from the kernel's inputs.
typedef struct leat_uniform_scale_s {
  const float* scales;   // [count]
  const int32_t* zeros;  // [count]
  int64_t count;         // 1, or the size of the axis
  int axis;              // -1: one scale
  int64_t inner;         // elements of a slice that lie together
} leat_uniform_scale_t;

// Reads the inputs |index| and |index| + 1 for a tensor of shape |shape|. INVALID_ARGUMENT unless
// they are scalars or, with an axis, vectors of its size; and where a scale is not positive, if it
// |must_be_positive|.
LEAT_MUST_USE leat_status_t leat_uniform_scale_read(const leat_kernel_context_t* c, int index,
                                                    const leat_uniform_attrs_t* attrs,
                                                    const leat_shape_t* shape,
                                                    bool must_be_positive,
                                                    leat_uniform_scale_t* out_scale);

// The index of the scale of element |at|.
static inline int64_t leat_uniform_slice(const leat_uniform_scale_t* s, int64_t at) {
  return s->count == 1 ? 0 : at / s->inner % s->count;
}

static inline int32_t leat_uniform_limit(const leat_uniform_attrs_t* attrs, int32_t x) {
  return x < attrs->min ? attrs->min : x > attrs->max ? attrs->max : x;
}

// A positive factor, mantissa * 2^(shift - 31).
typedef struct leat_multiplier_s {
  int32_t mantissa;
  int32_t shift;
} leat_multiplier_t;

// Makes the multiplier of |factor|, a quotient of scales; INVALID_ARGUMENT unless it is positive
// and finite.
LEAT_MUST_USE leat_status_t leat_multiplier_make(const leat_kernel_context_t* c, double factor,
                                                 leat_multiplier_t* out_multiplier);

// |x| times the factor, rounded to the nearest integer, halves up, and limited to 32 bits.
int32_t leat_multiplier_apply(leat_multiplier_t m, int32_t x);

#endif  // LEAT_OPS_QUANTIZE_UNIFORM_SCALE_CPU_H_
