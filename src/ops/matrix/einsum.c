// The op Einsum: its shape function and its gradient; einsum_cpu.c has the kernel. The gradient of
// an operand is again an Einsum, of the output's gradient and the other operand:
//
//   z = einsum("ij,jk->ik", x, y)
//   dx = einsum("ik,jk->ij", dz, y),   dy = einsum("ik,ij->jk", dz, x)
//
// A label that only x has was summed over, so that it cannot come out of that Einsum; dx is
// computed without it and repeated along it. Where the ellipses of the operands were broadcast
// against each other, the gradients are summed down at the end. Operands are conjugated for complex
// numbers, as in TensorFlow.
#include <stdio.h>

#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/matrix/equation.h"
#include "ops/nn/subgraph.h"
#include "ops/op_rows.h"

// ---- Shape --------------------------------------------------------------------------------------

#define DIM_ABSENT (-2)

typedef struct labels_s {
  int64_t dims[256];  // by label; DIM_ABSENT for labels that have not been seen
} labels_t;

// Notes the sizes of the labels of an input in |labels|; |out_broadcast| receives the dimensions of
// its ellipsis. INVALID_ARGUMENT when a label has two sizes.
static leat_status_t read_input(leat_inference_t* c, leat_partial_shape_t shape,
                                const leat_subscripts_t* subscripts, labels_t* labels,
                                leat_partial_shape_t* out_broadcast) {
  *out_broadcast = leat_partial_shape_scalar();
  if (subscripts->ellipsis < 0) {
    leat_partial_shape_t whole;
    LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, shape, subscripts->count, &whole));
  } else {
    LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_least(c, shape, subscripts->count));
    if (shape.rank < 0) {
      *out_broadcast = shape;
    } else {
      const int end = shape.rank - (subscripts->count - subscripts->ellipsis);
      LEAT_RETURN_IF_ERROR(
          leat_inference_subshape(c, shape, subscripts->ellipsis, end, out_broadcast));
    }
  }
  for (int i = 0; i < subscripts->count; ++i) {
    const bool is_after = subscripts->ellipsis >= 0 && i >= subscripts->ellipsis;
    const int64_t dim = leat_partial_shape_dim(shape, is_after ? i - subscripts->count : i);
    int64_t* known = &labels->dims[subscripts->labels[i]];
    if (*known == DIM_ABSENT) {
      *known = dim;
    } else {
      LEAT_RETURN_IF_ERROR(leat_inference_merge_dim(*known, dim, known));
    }
  }
  return leat_ok_status();
}

// Sets the output's shape to the sizes of its labels, with |broadcast| in the place of the
// ellipsis.
static leat_status_t set_shape(leat_inference_t* c, const leat_subscripts_t* subscripts,
                               const labels_t* labels, leat_partial_shape_t broadcast) {
  int64_t dims[2 * LEAT_SHAPE_MAX_RANK];
  int rank = 0;
  for (int i = 0; i <= subscripts->count; ++i) {
    if (i == subscripts->ellipsis) {
      for (int d = 0; d < broadcast.rank; ++d) dims[rank++] = broadcast.dims[d];
    }
    if (i == subscripts->count) break;
    dims[rank] = labels->dims[subscripts->labels[i]];
    if (dims[rank++] == DIM_ABSENT) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Einsum output has label '%c' which is not present in the inputs",
                              subscripts->labels[i]);
    }
  }
  if (rank > LEAT_SHAPE_MAX_RANK) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "rank is %d, must be <= %d", rank,
                            LEAT_SHAPE_MAX_RANK);
  }
  leat_partial_shape_t output;
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, rank, dims, &output));
  leat_inference_set_output(c, 0, output);
  return leat_ok_status();
}

// Reads the size of each label from the operands, broadcasts what their ellipses stand for, and
// puts the output's subscripts together of the two.
static leat_status_t einsum_shape(leat_inference_t* c) {
  leat_equation_t equation;
  LEAT_RETURN_IF_ERROR(
      leat_equation_parse(leat_node_attr_string(c->node, "equation"), &equation));
  if (leat_inference_input_count(c) != equation.input_count) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Expected %d inputs for the equation but got: %d",
                            equation.input_count, leat_inference_input_count(c));
  }
  labels_t labels;
  for (int i = 0; i < 256; ++i) labels.dims[i] = DIM_ABSENT;
  leat_partial_shape_t broadcast[2];
  for (int i = 0; i < equation.input_count; ++i) {
    LEAT_RETURN_IF_ERROR(read_input(c, leat_inference_input(c, i), &equation.inputs[i], &labels,
                                    &broadcast[i]));
  }
  leat_partial_shape_t whole = broadcast[0];
  if (equation.input_count == 2) {
    LEAT_RETURN_IF_ERROR(leat_inference_broadcast(c, broadcast[0], broadcast[1], &whole));
  }
  if (equation.output.ellipsis < 0) {
    LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_most(c, whole, 0));
  } else if (whole.rank < 0) {
    leat_inference_set_output(c, 0, leat_partial_shape_unknown());
    return leat_ok_status();
  }
  return set_shape(c, &equation.output, &labels, whole);
}

// ---- Gradient -----------------------------------------------------------------------------------

// Builds an Einsum whose equation is |format| filled with up to three subscripts.
static leat_output_t build_einsum(leat_builder_t* b, leat_outputs_t inputs, const char* format,
                                  const char* x, const char* y, const char* z) {
  char text[3 * LEAT_SUBSCRIPTS_TEXT_SIZE + 4];
  const int size = snprintf(text, sizeof text, format, x, y, z);
  const leat_string_view_t equation = {text, (size_t)size};
  return leat_build(b, "Einsum", inputs, LEAT_ATTRS(LEAT_STRING("equation", equation)));
}
static leat_output_t build_unary(leat_builder_t* b, leat_output_t x, const leat_subscripts_t* from,
                                 const leat_subscripts_t* to) {
  char from_text[LEAT_SUBSCRIPTS_TEXT_SIZE], to_text[LEAT_SUBSCRIPTS_TEXT_SIZE];
  leat_subscripts_print(from, from_text);
  leat_subscripts_print(to, to_text);
  return build_einsum(b, LEAT_INPUTS(x), "%s->%s", from_text, to_text, "");
}
static leat_output_t build_binary(leat_builder_t* b, leat_output_t x, leat_output_t y,
                                  const leat_subscripts_t* from_x, const leat_subscripts_t* from_y,
                                  const leat_subscripts_t* to) {
  char x_text[LEAT_SUBSCRIPTS_TEXT_SIZE], y_text[LEAT_SUBSCRIPTS_TEXT_SIZE];
  char to_text[LEAT_SUBSCRIPTS_TEXT_SIZE];
  leat_subscripts_print(from_x, x_text);
  leat_subscripts_print(from_y, y_text);
  leat_subscripts_print(to, to_text);
  return build_einsum(b, LEAT_INPUTS(x, y), "%s,%s->%s", x_text, y_text, to_text);
}

static void append_label(leat_subscripts_t* subscripts, uint8_t label) {
  if (subscripts->count < LEAT_SHAPE_MAX_RANK) subscripts->labels[subscripts->count++] = label;
}

// The labels of |from| that are in neither |x| nor |y| (which may be NULL), each once.
static leat_subscripts_t labels_alone(const leat_subscripts_t* from, const leat_subscripts_t* x,
                                      const leat_subscripts_t* y) {
  leat_subscripts_t alone = {.ellipsis = -1};
  for (int i = 0; i < from->count; ++i) {
    const uint8_t label = from->labels[i];
    if (leat_subscripts_has(x, label) || (y && leat_subscripts_has(y, label))) continue;
    if (!leat_subscripts_has(&alone, label)) append_label(&alone, label);
  }
  return alone;
}

// The subscripts |from| without the labels of |dropped|.
static leat_subscripts_t drop_labels(const leat_subscripts_t* from,
                                     const leat_subscripts_t* dropped) {
  leat_subscripts_t left = {.ellipsis = -1};
  for (int i = 0; i <= from->count; ++i) {
    if (i == from->ellipsis) left.ellipsis = left.count;
    if (i == from->count || leat_subscripts_has(dropped, from->labels[i])) continue;
    append_label(&left, from->labels[i]);
  }
  return left;
}

static bool has_repeats(const leat_subscripts_t* subscripts) {
  for (int i = 0; i < subscripts->count; ++i) {
    for (int j = 0; j < i; ++j) {
      if (subscripts->labels[i] == subscripts->labels[j]) return true;
    }
  }
  return false;
}

static bool same_subscripts(const leat_subscripts_t* a, const leat_subscripts_t* b) {
  return a->count == b->count && a->ellipsis == b->ellipsis &&
         memcmp(a->labels, b->labels, (size_t)a->count) == 0;
}

// The axis of the first occurrence of |label|, counted from the end when it is behind the ellipsis,
// whose length is not known.
static int axis_of(const leat_subscripts_t* subscripts, int label) {
  int i = 0;
  while (subscripts->labels[i] != label) ++i;
  return subscripts->ellipsis >= 0 && i >= subscripts->ellipsis ? i - subscripts->count : i;
}

// Builds the vector |shape| with 1 at |axes|, which may be negative.
static leat_output_t set_ones(leat_builder_t* b, leat_output_t shape, const int32_t* axes,
                              int count) {
  const leat_output_t zero = leat_build_scalar(b, LEAT_DTYPE_INT32, 0);
  const leat_output_t one = leat_build_scalar(b, LEAT_DTYPE_INT32, 1);
  const leat_output_t rank = leat_build_unary(b, "Size", shape);
  const leat_output_t all =
      leat_build(b, "Range", LEAT_INPUTS(zero, rank, one), LEAT_NO_ATTRS);
  const leat_output_t given = leat_build_int32_vector(b, axes, count);
  const leat_output_t places =
      leat_build_binary(b, "FloorMod", leat_build_binary(b, "AddV2", given, rank), rank);
  const leat_output_t ones = leat_build_unary(b, "OnesLike", places);
  return leat_build(b, "DynamicStitch", LEAT_INPUTS(all, places, shape, ones),
                    LEAT_ATTRS(LEAT_INT("N", 2)));
}

// Builds a vector of the items of |shape| at |axes|.
static leat_output_t take_items(leat_builder_t* b, leat_output_t shape, const int32_t* axes,
                                int count) {
  leat_output_t items[LEAT_SHAPE_MAX_RANK];
  for (int i = 0; i < count; ++i) items[i] = leat_subgraph_item(b, shape, axes[i]);
  return leat_build(b, "Pack", (leat_outputs_t){items, count}, LEAT_ATTRS(LEAT_INT("axis", 0)));
}

// Builds the gradient of x for an Einsum x -> y that sums over |reduced|, the labels of x that y
// lacks. When x without these labels is y in the same order, dy is reshaped and broadcast.
static leat_output_t repeat_reduced(leat_builder_t* b, leat_output_t dy,
                                    const leat_subscripts_t* y, const leat_subscripts_t* x,
                                    leat_output_t x_shape, const leat_subscripts_t* reduced) {
  int32_t axes[LEAT_SHAPE_MAX_RANK], ones[LEAT_SHAPE_MAX_RANK];
  for (int i = 0; i < reduced->count; ++i) {
    axes[i] = axis_of(x, reduced->labels[i]);
    ones[i] = 1;
  }
  const leat_subscripts_t left = drop_labels(x, reduced);
  if (!has_repeats(x) && !has_repeats(y) && same_subscripts(&left, y)) {
    const leat_output_t shape = set_ones(b, x_shape, axes, reduced->count);
    return leat_build_binary(b, "BroadcastTo", leat_build_binary(b, "Reshape", dy, shape),
                             x_shape);
  }
  // Otherwise the reduced labels are put in front by broadcasting, and an Einsum that sums nothing
  // brings all labels to their places, including diagonals.
  const leat_output_t sizes = take_items(b, x_shape, axes, reduced->count);
  const leat_output_t dy_shape = leat_build_shape_of(b, dy);
  const leat_output_t one = leat_build_int32_vector(b, ones, reduced->count);
  const leat_output_t narrow = leat_build_binary(
      b, "Reshape", dy, leat_subgraph_join(b, one, dy_shape, LEAT_OUTPUT_NONE));
  const leat_output_t wide = leat_build_binary(
      b, "BroadcastTo", narrow, leat_subgraph_join(b, sizes, dy_shape, LEAT_OUTPUT_NONE));
  leat_subscripts_t front = *reduced;
  front.ellipsis = y->ellipsis < 0 ? -1 : y->ellipsis + reduced->count;
  for (int i = 0; i < y->count; ++i) append_label(&front, y->labels[i]);
  return build_unary(b, wide, &front, x);
}

// Builds the gradient of the operand with labels |x|; |y| are the labels of the other operand, |z|
// those of the output.
static leat_output_t operand_gradient(leat_builder_t* b, leat_output_t dz, leat_output_t other,
                                      leat_output_t x_shape, const leat_subscripts_t* x,
                                      const leat_subscripts_t* y, const leat_subscripts_t* z) {
  const leat_subscripts_t reduced = labels_alone(x, y, z);
  const leat_subscripts_t left = drop_labels(x, &reduced);
  const leat_output_t dx = build_binary(b, dz, other, z, y, &left);
  return reduced.count == 0 ? dx : repeat_reduced(b, dx, &left, x, x_shape, &reduced);
}

static leat_status_t unary_gradient(leat_gradient_t* g, const leat_equation_t* equation) {
  leat_builder_t* b = &g->builder;
  const leat_subscripts_t *x = &equation->inputs[0], *y = &equation->output;
  const leat_output_t dy = leat_gradient_of_output(g, 0);
  const leat_subscripts_t reduced = labels_alone(x, y, NULL);
  if (reduced.count == 0) {
    leat_gradient_set_input(g, 0, build_unary(b, dy, y, x));
  } else {
    const leat_output_t shape = leat_build_shape_of(b, leat_gradient_input(g, 0));
    leat_gradient_set_input(g, 0, repeat_reduced(b, dy, y, x, shape, &reduced));
  }
  return leat_ok_status();
}

// Builds the part of the vector |shape| that the ellipsis of |subscripts| stands for.
static leat_output_t broadcast_part(leat_builder_t* b, leat_output_t shape,
                                    const leat_subscripts_t* subscripts) {
  return leat_subgraph_slice(b, shape, subscripts->ellipsis,
                             subscripts->ellipsis - subscripts->count);
}

// true when the ellipses of both operands have equal, known sizes: nothing was broadcast.
static bool surely_same_broadcast(const leat_builder_t* b, leat_output_t x, leat_output_t y,
                                  const leat_subscripts_t* of_x, const leat_subscripts_t* of_y) {
  const leat_partial_shape_t p = leat_graph_output_shape(b->graph, x);
  const leat_partial_shape_t q = leat_graph_output_shape(b->graph, y);
  if (p.rank < 0 || q.rank < 0 || p.rank - of_x->count != q.rank - of_y->count) return false;
  for (int d = 0; d < p.rank - of_x->count; ++d) {
    const int64_t dim = p.dims[of_x->ellipsis + d];
    if (dim == LEAT_DIM_UNKNOWN || dim != q.dims[of_y->ellipsis + d]) return false;
  }
  return true;
}

// Builds |dx| summed over the dimensions |dims| of the ellipsis, in the given shape.
static leat_output_t sum_broadcast(leat_builder_t* b, leat_output_t dx, leat_output_t dims,
                                   const leat_subscripts_t* x, leat_output_t shape) {
  const leat_output_t begin = leat_build_scalar(b, LEAT_DTYPE_INT32, x->ellipsis);
  const leat_output_t axes = leat_build_binary(b, "AddV2", begin, dims);
  return leat_build_binary(b, "Reshape", leat_build_binary(b, "Sum", dx, axes), shape);
}

// An operand without an ellipsis is treated as one with an empty ellipsis at its end, so that both
// can be broadcast and summed in the same way.
static leat_status_t einsum_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  leat_equation_t equation;
  LEAT_RETURN_IF_ERROR(leat_equation_parse(
      leat_node_attr_string(leat_gradient_node(g), "equation"), &equation));
  if (equation.input_count == 1) return unary_gradient(g, &equation);
  const bool broadcasts = equation.output.ellipsis >= 0;
  leat_output_t inputs[2], shapes[2];
  for (int i = 0; i < 2; ++i) {
    leat_subscripts_t* subscripts = &equation.inputs[i];
    if (broadcasts && subscripts->ellipsis < 0) subscripts->ellipsis = subscripts->count;
    inputs[i] = leat_gradient_input(g, i);
    shapes[i] = leat_build_shape_of(b, inputs[i]);
    if (leat_dtype_in(leat_build_type_of(b, inputs[i]), LEAT_DTYPES_COMPLEX)) {
      inputs[i] = leat_build_unary(b, "Conj", inputs[i]);
    }
  }
  const leat_subscripts_t *x = &equation.inputs[0], *y = &equation.inputs[1];
  const leat_output_t dz = leat_gradient_of_output(g, 0);
  leat_output_t dx = operand_gradient(b, dz, inputs[1], shapes[0], x, y, &equation.output);
  leat_output_t dy = operand_gradient(b, dz, inputs[0], shapes[1], y, x, &equation.output);
  if (broadcasts && !surely_same_broadcast(b, leat_gradient_input(g, 0), leat_gradient_input(g, 1),
                                           x, y)) {
    const int32_t reduced = leat_build_node(
        b, "BroadcastGradientArgs",
        LEAT_INPUTS(broadcast_part(b, shapes[0], x), broadcast_part(b, shapes[1], y)),
        LEAT_NO_ATTRS);
    dx = sum_broadcast(b, dx, leat_node_output(reduced, 0), x, shapes[0]);
    dy = sum_broadcast(b, dy, leat_node_output(reduced, 1), y, shapes[1]);
  }
  leat_gradient_set_input(g, 0, dx);
  leat_gradient_set_input(g, 1, dy);
  return leat_ok_status();
}

const leat_op_row_t leat_einsum_ops[] = {
    {.name = "Einsum",
     .cost = LEAT_COST_CONTRACTION,
     .inputs = "inputs: N * T",
     .outputs = "output: T",
     .attrs = "equation: string; N: int >= 1; T: type",
     .shape = einsum_shape,
     .gradient = einsum_gradient,
     .doc = "Sums of products of one or two tensors, by an equation of dimensions' labels."},
    LEAT_OP_ROWS_END,
};
