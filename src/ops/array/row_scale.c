// Finds products of an array and a scalar, or a number for each row, for rewrite rules
// (row_scale.h). An op that can scale its input itself then reads the array and the factor, and the
// product need not be computed and stored.
//
// The search goes back from the Mul over nodes whose output has the elements of their input in the
// same order, or that repeat a column along the rows: a Tile, a BroadcastTo, or the matrix product
// of the column and a row of ones, which is how TensorFlow's gradients say it. Shapes that are
// known prove that nothing else is broadcast; where one is missing for that, the product stays as
// it is. The search changes nothing. leat_row_scaling_applies and leat_row_scaling_make both do it,
// so that a rule which applies finds the same nodes when it is carried out.
#include "ops/array/row_scale.h"

#include <string.h>

static leat_partial_shape_t shape_of(const leat_rewrite_match_t* m, leat_output_t output) {
  return leat_graph_output_shape(m->graph, output);
}

// The output that the root reads, where the product is on the way.
static leat_output_t read_output(const leat_rewrite_match_t* m) {
  return leat_rewrite_root(m)->inputs[m->side];
}

// Finds the value: |side|, an input of the product, or what lies behind its Reshapes. Where the
// product was reshaped, the value must have the shape that the root reads, since the new node will
// read it without those Reshapes.
static bool find_value(const leat_rewrite_match_t* m, leat_output_t side,
                       leat_row_scaling_t* inout_scaling) {
  inout_scaling->value = side;
  return !m->is_reshaped || leat_rewrite_find_shape(m, shape_of(m, read_output(m)),
                                                    &inout_scaling->way, &inout_scaling->value);
}

// ---- A number for each row ----------------------------------------------------------------------

// Whether an array of |shape| has |rows| rows of one element each.
static bool is_column(leat_partial_shape_t shape, int64_t rows) {
  if (shape.rank < 1 || shape.dims[0] != rows) return false;
  for (int d = 1; d < shape.rank; ++d) {
    if (shape.dims[d] != 1) return false;
  }
  return true;
}

static bool is_ones(const leat_tensor_t* tensor) {
  if (!tensor || !leat_dtype_in(tensor->dtype, LEAT_DTYPE_BIT(FLOAT) | LEAT_DTYPE_BIT(DOUBLE))) {
    return false;
  }
  for (int64_t i = 0; i < tensor->shape.element_count; ++i) {
    const double item = tensor->dtype == LEAT_DTYPE_DOUBLE
                            ? leat_tensor_data(tensor, const double)[i]
                            : leat_tensor_data(tensor, const float)[i];
    if (item != 1) return false;
  }
  return true;
}

// Whether the node reads a column of |rows| numbers and repeats each along a row.
static bool repeats_column(const leat_rewrite_match_t* m, const leat_node_t* node, int64_t rows) {
  const leat_string_view_t op = node->op->name;
  if (leat_string_view_equals(op, "MatMul")) {
    const leat_output_t ones = node->inputs[1];
    const leat_node_t* row = leat_graph_node(m->graph, ones.node);
    if (!is_ones(leat_node_constant(row))) return false;
  } else if (!leat_string_view_equals(op, "Tile") && !leat_string_view_equals(op, "BroadcastTo")) {
    return false;
  }
  const leat_partial_shape_t shape = node->output_shapes[0];
  const leat_partial_shape_t column = shape_of(m, node->inputs[0]);
  return shape.rank == column.rank && shape.rank > 0 && shape.dims[0] == rows &&
         is_column(column, rows);
}

// Finds the column of |rows| numbers that |side|, an input of the product, is or was made from.
static bool find_column(const leat_rewrite_match_t* m, leat_output_t side, int64_t rows,
                        leat_row_scaling_t* inout_scaling) {
  while (!is_column(shape_of(m, side), rows)) {
    const leat_node_t* node = leat_graph_node(m->graph, side.node);
    const bool keeps = node->op->flags & (LEAT_OP_PASS_THROUGH | LEAT_OP_RESHAPES);
    if (!(keeps || repeats_column(m, node, rows)) ||
        !leat_rewrite_step_back(m, &inout_scaling->way, &side)) {
      return false;
    }
  }
  inout_scaling->factor = side;
  return true;
}

// Whether |shape| is fully known and has |rows| rows.
static bool has_rows(leat_partial_shape_t shape, int64_t rows) {
  return leat_partial_shape_is_full(shape) && shape.rank > 0 && shape.dims[0] == rows;
}

// Whether input |side| of the product has one number for each row of the other input.
static bool find_rows(const leat_rewrite_match_t* m, int side, leat_row_scaling_t* out_scaling) {
  const leat_node_t* product = leat_rewrite_producer(m);
  const leat_output_t factor = product->inputs[side], value = product->inputs[1 - side];
  const leat_partial_shape_t shape = product->output_shapes[0], numbers = shape_of(m, factor);
  *out_scaling = (leat_row_scaling_t){0};
  if (shape.rank <= 0 || !has_rows(shape, shape.dims[0])) return false;
  const int64_t rows = shape.dims[0];
  return has_rows(shape_of(m, read_output(m)), rows) && has_rows(numbers, rows) &&
         numbers.rank == shape.rank && leat_partial_shape_equal(shape_of(m, value), shape) &&
         find_column(m, factor, rows, out_scaling) && find_value(m, value, out_scaling);
}

// ---- One number ---------------------------------------------------------------------------------

// Whether input |side| of the product is a scalar. The product then has the shape of its other
// input, so that no shape need be known.
static bool find_scalar(const leat_rewrite_match_t* m, int side, leat_row_scaling_t* out_scaling) {
  const leat_node_t* product = leat_rewrite_producer(m);
  *out_scaling = (leat_row_scaling_t){.factor = product->inputs[side]};
  return shape_of(m, out_scaling->factor).rank == 0 &&
         find_value(m, product->inputs[1 - side], out_scaling);
}

// ---- For the rules ------------------------------------------------------------------------------

bool leat_row_scaling_find(const leat_rewrite_match_t* match, leat_row_scaling_t* out_scaling) {
  for (int side = 1; side >= 0; --side) {
    if (find_scalar(match, side, out_scaling) || find_rows(match, side, out_scaling)) return true;
  }
  return false;
}

bool leat_row_scaling_applies(const leat_rewrite_match_t* match) {
  leat_row_scaling_t scaling;
  return leat_row_scaling_find(match, &scaling);
}

leat_status_t leat_row_scaling_make(leat_rewrite_match_t* match, const char* op,
                                    const leat_attr_t* attrs, int attr_count,
                                    leat_output_t* out_by) {
  const leat_node_t* root = leat_rewrite_root(match);
  const int count = root->input_count, root_attr_count = root->op->attr_count;
  leat_row_scaling_t scaling;
  leat_node_spec_t spec = {.input_count = count + 1};
  leat_output_t* inputs;
  leat_attr_t* all;
  const bool found = leat_row_scaling_find(match, &scaling);
  LEAT_DCHECK(found);
  if (!found) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(LEAT_NEW(match->arena, (size_t)count + 1, &inputs));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(match->arena, (size_t)(root_attr_count + attr_count), &all));
  LEAT_RETURN_IF_ERROR(
      leat_op_registry_find(match->graph->ops, leat_string_view_from(op), &spec.op));
  memcpy(inputs, root->inputs, (size_t)count * sizeof *inputs);
  inputs[match->side] = scaling.value;
  inputs[count] = scaling.factor;
  for (int i = 0; i < attr_count; ++i) all[spec.attr_count++] = attrs[i];
  for (int i = 0; i < root_attr_count; ++i) {
    if (leat_op_find_attr(spec.op, root->attrs[i].name) < 0 ||
        leat_attr_find(attrs, attr_count, root->attrs[i].name)) {
      continue;
    }
    all[spec.attr_count++] = root->attrs[i];
  }
  spec.inputs = inputs;
  spec.attrs = all;
  LEAT_RETURN_IF_ERROR(leat_rewrite_bypass(match, &scaling.way));
  return match->add(match, op, &spec, out_by);
}
