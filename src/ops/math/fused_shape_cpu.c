// The shapes of what the steps of a _FusedElementwise give. Most have that of their widest operand,
// which is found without a broadcast; what does not fit is an error of the step's own node.
#include "ops/math/fused_cpu.h"
#include "ops/math/reduction_plan_cpu.h"

static inline bool is_repeated_along(const leat_shape_t* scalar, const leat_shape_t* shape) {
  return scalar->element_count == 1 && scalar->rank <= shape->rank;
}

// A step broadcasts its operands, also where its op did not have to as they were known to have one
// shape: there may be parts of constants among them now (optimize/cluster_constant.c).
static inline bool broadcasts(const leat_fused_step_t* step) {
  return step->kernel.row->elementwise != LEAT_ELEMENTWISE_SAME;
}

// The operand whose shape the step has because the others have it or are scalars; NULL: it takes
// more to find out, or they do not fit.
static const leat_tensor_t* find_widest(const leat_fused_step_t* step,
                                        const leat_tensor_t* const operands[]) {
  const leat_tensor_t* widest = NULL;
  for (int k = 0; k < step->kernel.input_count; ++k) {
    const leat_tensor_t* operand = operands[k];
    if (!widest || leat_shape_equal(&widest->shape, &operand->shape)) {
      widest = operand;
    } else if (!broadcasts(step)) {
      return NULL;
    } else if (is_repeated_along(&widest->shape, &operand->shape)) {
      widest = operand;
    } else if (!is_repeated_along(&operand->shape, &widest->shape)) {
      return NULL;
    }
  }
  return widest;
}

static leat_status_t find_shape(const leat_kernel_context_t* program,
                                const leat_fused_step_t* step,
                                const leat_tensor_t* const operands[], leat_shape_t* out_shape) {
  const int count = step->kernel.input_count;
  const leat_tensor_t* widest = find_widest(step, operands);
  if (LEAT_LIKELY(widest != NULL)) {
    leat_shape_share(&widest->shape, out_shape);
    return leat_ok_status();
  }
  leat_kernel_context_t c = leat_fused_step_context(program, step);
  if (broadcasts(step)) {
    return leat_elementwise_shape(&c, count, operands, out_shape);
  }
  // The contract of an elementwise op is that shapes agree.
  const bool is_strict = step->kernel.contract != NULL;
  for (int k = 1; k < count; ++k) {
    const leat_shape_t *first = &operands[0]->shape, *other = &operands[k]->shape;
    if (is_strict ? leat_shape_equal(first, other) : first->element_count == other->element_count) {
      continue;
    }
    return leat_kernel_invalid(&c, "input %d is %s, must have %s %s", k, LEAT_SHAPE_TEXT(other),
                               is_strict ? "the shape" : "as many elements as",
                               LEAT_SHAPE_TEXT(first));
  }
  *out_shape = leat_shape_retain(&operands[0]->shape);
  return leat_ok_status();
}

static bool is_repeated_to(const leat_shape_t* x, const leat_shape_t* shape) {
  if (x->rank > shape->rank) return false;
  for (int d = 1; d <= x->rank; ++d) {
    const int64_t dim = leat_shape_dim(x, x->rank - d);
    if (dim != 1 && dim != leat_shape_dim(shape, shape->rank - d)) return false;
  }
  return x->element_count != shape->element_count || !x->element_count;
}

// The shape that the step states, if it fits.
static leat_status_t find_stated_shape(const leat_kernel_context_t* program,
                                       const leat_fused_step_t* step, const leat_shape_t* given,
                                       leat_shape_t* out_shape) {
  leat_shape_share(&step->shape, out_shape);
  if (leat_fused_repeats(step->elementwise)) {
    if (LEAT_LIKELY(is_repeated_to(given, out_shape))) return leat_ok_status();
    return leat_kernel_invalid(program, "a step is %s, must be smaller and broadcast to %s",
                               LEAT_SHAPE_TEXT(given), LEAT_SHAPE_TEXT(out_shape));
  }
  if (LEAT_LIKELY(given->element_count == out_shape->element_count)) return leat_ok_status();
  return leat_kernel_invalid(program, "a step is %s, must have as many elements as %s",
                             LEAT_SHAPE_TEXT(given), LEAT_SHAPE_TEXT(out_shape));
}

static leat_status_t find_reduced_shape(const leat_kernel_context_t* program,
                                        const leat_fused_step_t* step, const leat_shape_t* given,
                                        leat_shape_t* out_shape) {
  bool reduced[LEAT_SHAPE_MAX_RANK];
  if (step->axes > given->rank) {
    const leat_kernel_context_t c = leat_fused_step_context(program, step);
    return leat_kernel_invalid(&c, "axis is %lld, must be in [%d, %d)", -(long long)step->axes,
                               -given->rank, given->rank);
  }
  leat_fused_mark_reduced(step, given->rank, reduced);
  return leat_reduction_shape(given, reduced, step->reduction->keep_dims, out_shape);
}

leat_status_t leat_fused_step_shape(const leat_kernel_context_t* program,
                                    const leat_fused_step_t* step,
                                    const leat_tensor_t* const operands[],
                                    leat_shape_t* out_shape) {
  if (step->reduction) return find_reduced_shape(program, step, &operands[0]->shape, out_shape);
  return step->elementwise && !leat_fused_repeats(step->elementwise)
             ? find_shape(program, step, operands, out_shape)
             : find_stated_shape(program, step, &operands[0]->shape, out_shape);
}
