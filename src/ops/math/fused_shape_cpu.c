// The output shapes of the steps of a _FusedElementwise, computed at each run from the tensors. The
// common case is that all operands have one shape or are scalars: then the step shares the shape of
// its widest operand and nothing is allocated. Otherwise the shapes are broadcast as the op's own
// kernel would. Operands that do not fit give the error of the node that the step was before
// fusion, with its name. fused_cpu.c calls this for every step, before it allocates any output.
#include "ops/math/fused_cpu.h"
#include "ops/math/reduction_plan_cpu.h"

// true when |scalar| has one element and broadcasting it to |shape| changes nothing of |shape|.
static inline bool is_repeated_along(const leat_shape_t* scalar, const leat_shape_t* shape) {
  return scalar->element_count == 1 && scalar->rank <= shape->rank;
}

// true when the step's operands may broadcast. Select and its like require equal shapes as nodes,
// but a fused step may read a part of a constant that had that shape and was shrunk
// (optimize/fusion_constant.c), so that only ops which keep one shape do not broadcast.
static inline bool broadcasts(const leat_fused_step_t* step) {
  return step->kernel.row->access != LEAT_ACCESS_SAME;
}

// The operand whose shape is the step's, when all others have its shape or are scalars. NULL when
// the shapes must be broadcast to find out, or do not fit.
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
  // An op with a contract requires equal shapes, the others equal element counts.
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

// true when |x| broadcasts to |shape| and really is smaller, or |x| is empty.
static bool is_repeated_to(const leat_shape_t* x, const leat_shape_t* shape) {
  if (x->rank > shape->rank) return false;
  for (int d = 1; d <= x->rank; ++d) {
    const int64_t dim = leat_shape_dim(x, x->rank - d);
    if (dim != 1 && dim != leat_shape_dim(shape, shape->rank - d)) return false;
  }
  return x->element_count != shape->element_count || !x->element_count;
}

// Shares the shape that a Reshape or BroadcastTo step states, when its operand |given| fits it.
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
