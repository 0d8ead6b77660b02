// The shape function that follows from a row's pattern (graph/op/shape_pattern.h). What is known of
// the inputs is taken item by item: each dimension is merged with what its name stands for so far,
// and what lies between with its group. Then the outputs are put together from names and groups. A
// shape of unknown rank says nothing of the names in its item, and an output with a group of
// unknown rank is itself unknown.
#include "graph/inference/inference.h"
#include "graph/op/shape_pattern.h"

// What names and groups stand for.
typedef struct bound_s {
  int64_t names[LEAT_PATTERN_MAX_NAMES];
  leat_partial_shape_t groups[LEAT_PATTERN_MAX_GROUPS];
} bound_t;

static leat_status_t bind_dim(bound_t* bound, int32_t dim, int64_t size) {
  int64_t ignored;
  if (dim == LEAT_PATTERN_ANY) return leat_ok_status();
  if (dim >= 0) return leat_inference_dim_with_value(size, dim, &ignored);
  int64_t* name = &bound->names[LEAT_PATTERN_NAME(dim)];
  return leat_inference_merge_dim(*name, size, name);
}

static leat_status_t bind_item(leat_inference_t* c, const leat_shape_item_t* item,
                               leat_partial_shape_t shape, bound_t* bound) {
  const bool has_group = item->group_at >= 0;
  if (!has_group) {
    LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, shape, item->dim_count, &shape));
  } else {
    LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_least(c, shape, item->dim_count));
  }
  if (shape.rank < 0) return leat_ok_status();
  const int front = has_group ? item->group_at : item->dim_count;
  for (int i = 0; i < item->dim_count; ++i) {
    const int at = i < front ? i : i + shape.rank - item->dim_count;
    LEAT_RETURN_IF_ERROR(bind_dim(bound, item->dims[i], shape.dims[at]));
  }
  if (!has_group) return leat_ok_status();
  leat_partial_shape_t within, *group = &bound->groups[item->group];
  LEAT_RETURN_IF_ERROR(leat_inference_subshape(
      c, shape, front, shape.rank - (item->dim_count - front), &within));
  return leat_inference_merge(c, *group, within, group);
}

static leat_status_t make_output(leat_inference_t* c, const leat_shape_item_t* item,
                                 const bound_t* bound, leat_partial_shape_t* out_shape) {
  int64_t dims[LEAT_SHAPE_MAX_RANK];
  const leat_partial_shape_t none = {0};
  const leat_partial_shape_t group = item->group_at < 0 ? none : bound->groups[item->group];
  int count = 0;
  *out_shape = leat_partial_shape_unknown();
  if (group.rank < 0 || group.rank + item->dim_count > LEAT_SHAPE_MAX_RANK) {
    return leat_ok_status();
  }
  for (int i = 0; i <= item->dim_count; ++i) {
    for (int k = 0; i == item->group_at && k < group.rank; ++k) dims[count++] = group.dims[k];
    if (i == item->dim_count) break;
    const int32_t dim = item->dims[i];
    dims[count++] = dim == LEAT_PATTERN_ANY ? LEAT_DIM_UNKNOWN
                    : dim >= 0              ? dim
                                            : bound->names[LEAT_PATTERN_NAME(dim)];
  }
  return leat_inference_make(c, count, dims, out_shape);
}

leat_status_t leat_shape_by_pattern(leat_inference_t* c) {
  const leat_op_t* op = c->node->op;
  const leat_shape_pattern_t* pattern = op->shapes;
  bound_t bound;
  LEAT_DCHECK(pattern);
  for (int i = 0; i < LEAT_PATTERN_MAX_NAMES; ++i) bound.names[i] = LEAT_DIM_UNKNOWN;
  for (int i = 0; i < LEAT_PATTERN_MAX_GROUPS; ++i) {
    bound.groups[i] = leat_partial_shape_unknown();
  }
  for (int i = 0; i < pattern->input_count; ++i) {
    const leat_shape_item_t* item = &pattern->inputs[i];
    const leat_argument_range_t range =
        leat_op_input_range(op, item->argument, c->node->input_count);
    for (int k = range.begin; k < range.end; ++k) {
      LEAT_RETURN_IF_ERROR(bind_item(c, item, leat_inference_input(c, k), &bound));
    }
  }
  for (int i = 0; i < pattern->output_count; ++i) {
    const leat_shape_item_t* item = &pattern->outputs[i];
    const leat_argument_range_t range =
        leat_op_output_range(op, item->argument, c->node->output_count);
    leat_partial_shape_t shape;
    LEAT_RETURN_IF_ERROR(make_output(c, item, &bound, &shape));
    for (int k = range.begin; k < range.end; ++k) leat_inference_set_output(c, k, shape);
  }
  return leat_ok_status();
}
