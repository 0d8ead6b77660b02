// The ops that pad a tensor: Pad and PadV2 with a constant, MirrorPad with the tensor's mirror
// image, and _SumOfPads, a sum of padded tensors. Here are their shapes, gradients and
// registration. The input paddings [rank, 2] says how many elements are added before and after each
// dimension:
//
//   x [d_0, ...], paddings [[b_0, a_0], ...] -> [b_0 + d_0 + a_0, ...]
//
// The output's sizes are known where paddings is a constant; otherwise only the rank is, from x or
// from the number of rows of paddings. The gradient of Pad is the Slice of dC/dy where the input
// was. The value that PadV2 pads with gets none, as in TensorFlow. MirrorPad and MirrorPadGrad are
// each other's gradient (mirror_pad_cpu.c has a picture). _SumOfPads has no gradient, because
// gradients are built before the optimizer makes it: the rule at the end makes one of the Pad nodes
// that feed an AddN, so that no padded tensor is laid out in memory. The kernels are in pad_cpu.c,
// mirror_pad_cpu.c and pad_sum_cpu.c.
#include "ops/array/pad.h"

#include "graph/gradient.h"
#include "graph/inference/inference_index.h"
#include "graph/rewrite_rule.h"
#include "ops/op_rows.h"

// Checks that input |index| may be [rank, 2] for the rank of |input|, the tensor that is padded,
// which becomes known if the paddings tell it. |out_rank| is -1 where neither does.
static leat_status_t check_paddings(leat_inference_t* c, int index, leat_partial_shape_t* input,
                                    int64_t* out_rank) {
  leat_partial_shape_t paddings;
  int64_t unused;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, index), 2, &paddings));
  LEAT_RETURN_IF_ERROR(leat_inference_dim_with_value(paddings.dims[1], 2, &unused));
  int64_t rank = paddings.dims[0];
  if (rank > LEAT_SHAPE_MAX_RANK) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "Shape must be at most rank %d but is rank %lld",
                            LEAT_SHAPE_MAX_RANK, (long long)rank);
  }
  if (rank != LEAT_DIM_UNKNOWN) {
    LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, *input, (int)rank, input));
  }
  *out_rank = rank == LEAT_DIM_UNKNOWN ? input->rank : rank;
  return leat_ok_status();
}

leat_status_t leat_pad_infer(leat_inference_t* c, leat_partial_shape_t input, int paddings_index,
                             int sign, leat_partial_shape_t* out_shape) {
  int64_t rank, dims[LEAT_SHAPE_MAX_RANK];
  LEAT_RETURN_IF_ERROR(check_paddings(c, paddings_index, &input, &rank));
  *out_shape = leat_partial_shape_unknown();
  if (rank < 0) return leat_ok_status();
  const leat_tensor_t* paddings = leat_inference_input_tensor(c, paddings_index);
  if (!paddings || paddings->shape.rank != 2 || paddings->shape.element_count != 2 * rank) {
    return leat_inference_unknown_of_rank(c, (int)rank, out_shape);
  }
  for (int64_t d = 0; d < rank; ++d) {
    int64_t before = leat_tensor_index_at(paddings, 2 * d);
    int64_t after = leat_tensor_index_at(paddings, 2 * d + 1);
    if (before < 0 || after < 0) {
      return leat_make_status(LEAT_INVALID_ARGUMENT, "Paddings must be non-negative");
    }
    int64_t size = input.rank < 0 ? LEAT_DIM_UNKNOWN : input.dims[d];
    LEAT_RETURN_IF_ERROR(leat_inference_add(size, sign * before, &size));
    LEAT_RETURN_IF_ERROR(leat_inference_add(size, sign * after, &dims[d]));
  }
  return leat_inference_make(c, (int)rank, dims, out_shape);
}

// The shape function of ops (input, paddings) -> output.
static leat_status_t padded_shape(leat_inference_t* c, int sign) {
  leat_partial_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_pad_infer(c, leat_inference_input(c, 0), 1, sign, &shape));
  leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}

static leat_status_t pad_shape(leat_inference_t* c) { return padded_shape(c, 1); }

// Slices the gradient from column 0 of the paddings on, with the sizes of the input.
static leat_status_t pad_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  leat_output_t input = leat_gradient_input(g, 0), paddings = leat_gradient_input(g, 1);
  leat_output_t origin = leat_build_int32_vector(b, (const int32_t[]){0, 0}, 2);
  leat_output_t column = leat_build(b, "Pack",
                                    LEAT_INPUTS(leat_build_unary(b, "Rank", input),
                                                leat_build_scalar(b, LEAT_DTYPE_INT32, 1)),
                                    LEAT_NO_ATTRS);
  leat_output_t before =
      leat_build(b, "Slice", LEAT_INPUTS(paddings, origin, column), LEAT_NO_ATTRS);
  leat_output_t flat = leat_build_int32_vector(b, (const int32_t[]){-1}, 1);
  leat_output_t begin = leat_build_binary(b, "Reshape", before, flat);
  leat_output_t size =
      leat_build(b, "Shape", LEAT_INPUTS(input),
                 LEAT_ATTRS(LEAT_TYPE("out_type", leat_build_type_of(b, paddings))));
  leat_output_t gradient = leat_gradient_of_output(g, 0);
  leat_gradient_set_input(
      g, 0, leat_build(b, "Slice", LEAT_INPUTS(gradient, begin, size), LEAT_NO_ATTRS));
  return leat_ok_status();
}

// ---- Mirror images ------------------------------------------------------------------------------

static leat_status_t mirror_pad_shape(leat_inference_t* c) { return padded_shape(c, 1); }
static leat_status_t mirror_pad_grad_shape(leat_inference_t* c) { return padded_shape(c, -1); }

static leat_status_t mirror_gradient(leat_gradient_t* g, const char* op) {
  leat_string_view_t mode = leat_node_attr_string(leat_gradient_node(g), "mode");
  leat_output_t paddings = leat_gradient_input(g, 1);
  leat_output_t gradient = leat_gradient_of_output(g, 0);
  leat_gradient_set_input(g, 0,
                          leat_build(&g->builder, op, LEAT_INPUTS(gradient, paddings),
                                     LEAT_ATTRS(LEAT_STRING("mode", mode))));
  return leat_ok_status();
}
static leat_status_t mirror_pad_gradient(leat_gradient_t* g) {
  return mirror_gradient(g, "MirrorPadGrad");
}
static leat_status_t mirror_pad_grad_gradient(leat_gradient_t* g) {
  return mirror_gradient(g, "MirrorPad");
}

#define MIRROR_ATTRS \
  "T: type; Tpaddings: {int32, int64} = int32; mode: {'REFLECT', 'SYMMETRIC'}"

// ---- Sums of padded tensors ---------------------------------------------------------------------

static leat_status_t pad_sum_shape(leat_inference_t* c) {
  const int count = c->node->input_count / 2;
  leat_partial_shape_t sum, term;
  LEAT_RETURN_IF_ERROR(leat_pad_infer(c, leat_inference_input(c, 0), count, 1, &sum));
  for (int i = 1; i < count; ++i) {
    LEAT_RETURN_IF_ERROR(
        leat_pad_infer(c, leat_inference_input(c, i), count + i, 1, &term));
    LEAT_RETURN_IF_ERROR(leat_inference_merge(c, sum, term, &sum));
  }
  leat_inference_set_output(c, 0, sum);
  return leat_ok_status();
}

const leat_op_row_t leat_pad_ops[] = {
    {.name = "Pad",
     .inputs = "input: T; paddings: Tpaddings",
     .outputs = "output: T",
     .attrs = "T: type; Tpaddings: {int32, int64} = int32",
     .shape = pad_shape,
     .gradient = pad_gradient,
     .identities = LEAT_IDENTITY_SAME_SHAPE,
     .doc = "The input with zeros around: paddings[i] of them before and after dimension i."},
    {.name = "PadV2",
     .inputs = "input: T; paddings: Tpaddings; constant_values: T",
     .outputs = "output: T",
     .attrs = "T: type; Tpaddings: {int32, int64} = int32",
     .shape = pad_shape,
     .gradient = pad_gradient,
     .doc = "The input with a constant around."},
    {.name = "MirrorPad",
     .inputs = "input: T; paddings: Tpaddings",
     .outputs = "output: T",
     .attrs = MIRROR_ATTRS,
     .shape = mirror_pad_shape,
     .gradient = mirror_pad_gradient,
     .doc = "The input with its mirror image around; the border itself is repeated if SYMMETRIC."},
    {.name = "MirrorPadGrad",
     .inputs = "input: T; paddings: Tpaddings",
     .outputs = "output: T",
     .attrs = MIRROR_ATTRS,
     .shape = mirror_pad_grad_shape,
     .gradient = mirror_pad_grad_gradient,
     .doc = "The gradient of MirrorPad: what was mirrored is added back and cut off."},
    {.name = "_SumOfPads",
     .inputs = "inputs: N * T; paddings: N * Tpaddings",
     .outputs = "sum: T",
     .attrs = "N: int >= 2; T: type; Tpaddings: {int32, int64} = int32; names: list(string)",
     .shape = pad_sum_shape,
     .doc = "The sum, as by AddN, of the inputs padded as by the Pads of those names."},
    LEAT_OP_ROWS_END,
};

// ---- Rewriting ----------------------------------------------------------------------------------

// Whether the root fails where the shapes of its inputs differ, as _SumOfPads does, or they are
// known to be equal: AddV2 would broadcast.
static bool adds_one_shape(const leat_rewrite_match_t* m) {
  const leat_node_t* root = leat_rewrite_root(m);
  return leat_op_find_attr(root->op, LEAT_SV("N")) >= 0 || leat_node_has_one_shape(m->graph, root);
}

// The node is refused, and the Pads stay, where their paddings have different types.
static leat_status_t sum_pads(leat_rewrite_match_t* m, leat_output_t* out_by) {
  const int count = leat_rewrite_root(m)->input_count;
  leat_output_t* inputs;
  leat_string_view_t* names;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(m->arena, 2 * (size_t)count, &inputs));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(m->arena, (size_t)count, &names));
  for (int i = 0; i < count; ++i) {
    const leat_node_t* pad = leat_graph_node(m->graph, m->producers[i]);
    inputs[i] = pad->inputs[0];
    inputs[count + i] = pad->inputs[1];
    names[i] = pad->name;
  }
  const leat_node_t* first = leat_graph_node(m->graph, m->producers[0]);
  const leat_attr_t attrs[] = {LEAT_TYPE("T", leat_node_attr_type(first, "T")),
                               LEAT_TYPE("Tpaddings", leat_node_attr_type(first, "Tpaddings")),
                               LEAT_INT("N", count),
                               LEAT_LIST("names", STRING, count, strings, names)};
  leat_node_spec_t spec = {
      .inputs = inputs, .input_count = 2 * count, .attrs = attrs, .attr_count = 4};
  return m->add(m, "_SumOfPads", &spec, out_by);
}

const leat_rewrite_rule_t leat_pad_rules[] = {
    {.name = "sum_of_pads",
     .phase = LEAT_REWRITE_SUM,
     .root = "AddN|AccumulateNV2|AddV2|Add",
     .producer = "Pad",
     .inputs = LEAT_REWRITE_EVERY_INPUT,
     .applies = adds_one_shape,
     .make = sum_pads,
     .doc = "a sum of padded tensors lays none of them out"},
    LEAT_REWRITE_RULES_END,
};
