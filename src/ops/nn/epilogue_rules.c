// The rewrite rules that merge a matrix product or a convolution with the ops that follow it, its
// epilogue, into one node (_FusedMatMul, _FusedBatchMatMulV2, _FusedConv2D,
// _FusedDepthwiseConv2dNative). The kernel of that node applies the epilogue to rows of the result
// that are still in the processor's cache (ops/nn/epilogue_cpu.h). The pass "rules" applies the
// rules (optimize/rules.c):
//
//   x w + bias     normalization of a convolution by stored moments     ± a tensor     activation
//
// Each rule merges one op more, in this order, which is also the order in which the kernel applies
// the ops in the node's attribute "fused_ops"; so the results are bit for bit those of the separate
// ops. A dense layer over sequences has a Reshape between the product and its bias. If the Reshape
// keeps the last dimension, the bias or activation changes places with it, since its result depends
// only on an element and its index in that dimension; the rules above then apply.
//
// The product of a batch of matrices with a single matrix becomes one product of all their rows,
// between two Reshapes, where a constant shape can say the result's.
#include <string.h>

#include "graph/rewrite_rule.h"
#include "ops/nn/gelu.h"
#include "ops/op_rows.h"

// The ops with which a fused op begins, and that fused op.
static const struct {
  const char *plain, *fused;
} kProducts[] = {{"MatMul", "_FusedMatMul"},
                 {"BatchMatMul", "_FusedBatchMatMulV2"},
                 {"BatchMatMulV2", "_FusedBatchMatMulV2"},
                 {"BatchMatMulV3", "_FusedBatchMatMulV2"},
                 {"Conv2D", "_FusedConv2D"},
                 {"DepthwiseConv2dNative", "_FusedDepthwiseConv2dNative"}};
#define MATRIX_PRODUCTS "MatMul|_FusedMatMul"
#define BATCH_PRODUCTS "BatchMatMul|BatchMatMulV2|BatchMatMulV3|_FusedBatchMatMulV2"
#define CONVOLUTIONS "Conv2D|_FusedConv2D|DepthwiseConv2dNative|_FusedDepthwiseConv2dNative"
#define PRODUCTS MATRIX_PRODUCTS "|" BATCH_PRODUCTS "|" CONVOLUTIONS
#define ACTIVATIONS "Relu|Relu6|Elu|LeakyRelu|Tanh|Sigmoid"

// ---- The list of a fused op ---------------------------------------------------------------------

// The stages of an epilogue, in order. A fused node may get ops of later stages only.
typedef enum stage_e { STAGE_PRODUCT, STAGE_FIRST, STAGE_ADD, STAGE_ACTIVATION } stage_t;

static stage_t stage_of(leat_string_view_t op) {
  if (leat_string_view_equals(op, "BiasAdd") || leat_string_view_equals(op, "FusedBatchNorm")) {
    return STAGE_FIRST;
  }
  const bool adds = leat_string_view_equals(op, "Add") || leat_string_view_equals(op, "Sub") ||
                    leat_string_view_equals(op, "ReverseSub");
  return adds ? STAGE_ADD : STAGE_ACTIVATION;
}

// The last stage of the product's epilogue; STAGE_PRODUCT where it has none yet.
static stage_t stage_of_product(const leat_node_t* product) {
  const leat_attr_value_t* list = leat_node_attr(product, LEAT_SV("fused_ops"));
  return list && list->count ? stage_of(list->strings[list->count - 1]) : STAGE_PRODUCT;
}

static const char* fused_name(const leat_node_t* product) {
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kProducts); ++i) {
    if (leat_string_view_equals(product->op->name, kProducts[i].plain)) return kProducts[i].fused;
    if (leat_string_view_equals(product->op->name, kProducts[i].fused)) return kProducts[i].fused;
  }
  return NULL;
}

static bool is_convolution(const leat_node_t* product) {
  return leat_node_attr_string(product, "data_format").size > 0;
}

static bool is_batch(const leat_node_t* product) {
  return leat_op_find_attr(product->op, LEAT_SV("adj_x")) >= 0;
}

// Whether both inputs are known to have the same dimensions before the last two.
static bool has_one_batch(const leat_graph_t* graph, const leat_node_t* product) {
  const leat_partial_shape_t x = leat_graph_output_shape(graph, product->inputs[0]);
  const leat_partial_shape_t y = leat_graph_output_shape(graph, product->inputs[1]);
  if (x.rank < 0 || x.rank != y.rank) return false;
  for (int d = 0; d < x.rank - 2; ++d) {
    if (x.dims[d] < 0 || x.dims[d] != y.dims[d]) return false;
  }
  return true;
}

// Whether a fused op can compute the product. The fused depthwise convolution has no attribute for
// explicit paddings. The fused batch broadcasts, where BatchMatMul fails for batches that differ,
// and does not convert its inputs, as BatchMatMulV3 does.
static bool has_fused_form(const leat_graph_t* graph, const leat_node_t* product) {
  const leat_string_view_t op = product->op->name;
  if (leat_string_view_equals(op, "BatchMatMul")) return has_one_batch(graph, product);
  if (leat_string_view_equals(op, "BatchMatMulV3")) {
    const int type = product->output_types[0];
    return leat_graph_output_type(graph, product->inputs[0]) == type &&
           leat_graph_output_type(graph, product->inputs[1]) == type;
  }
  return !leat_string_view_equals(op, "DepthwiseConv2dNative") ||
         !leat_string_view_equals(leat_node_attr_string(product, "padding"), "EXPLICIT");
}

// The last dimension of |shape|; -1: it is not known, or there is none.
static int64_t last_dim(leat_partial_shape_t shape) {
  return shape.rank > 0 ? shape.dims[shape.rank - 1] : -1;
}

static bool has_channels_last(const leat_node_t* product) {
  return !is_convolution(product) ||
         leat_string_view_equals(leat_node_attr_string(product, "data_format"), "NHWC");
}

// An op that is to be merged into a product.
typedef struct addition_s {
  const char* op;
  const leat_output_t* args;
  int arg_count;
  const leat_node_t* epsilon;  // the nodes that have these attributes; NULL: none of its own
  const leat_node_t* alpha;
} addition_t;

// The attribute |name| of the fused node, that of |from| under |as|, or of the product.
static void take_float(const leat_node_t* product, const leat_node_t* from, const char* as,
                       const char* name, leat_attr_t* attrs, int* inout_count) {
  const leat_attr_value_t* value = from ? leat_node_attr(from, leat_string_view_from(as))
                                        : leat_node_attr(product, leat_string_view_from(name));
  if (value) attrs[(*inout_count)++] = (leat_attr_t){leat_string_view_from(name), *value};
}

static bool is_of_list(leat_string_view_t attr) {
  static const char* const kNames[] = {"num_args",       "fused_ops", "epsilon",
                                       "leakyrelu_alpha", "TArgs",     "num_host_args"};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kNames); ++i) {
    if (leat_string_view_equals(attr, kNames[i])) return true;
  }
  return false;
}

static leat_status_t list_inputs(const leat_rewrite_match_t* m, const addition_t* addition,
                                 leat_node_spec_t* out_spec) {
  const leat_node_t* product = leat_rewrite_producer(m);
  const int count = product->input_count;
  leat_output_t* inputs;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(m->arena, (size_t)(count + addition->arg_count), &inputs));
  memcpy(inputs, product->inputs, (size_t)count * sizeof *inputs);
  for (int i = 0; i < addition->arg_count; ++i) inputs[count + i] = addition->args[i];
  out_spec->inputs = inputs;
  out_spec->input_count = count + addition->arg_count;
  return leat_ok_status();
}

static leat_status_t list_attrs(const leat_rewrite_match_t* m, const addition_t* addition,
                                const leat_node_spec_t* spec, leat_attr_t** out_attrs,
                                int* out_count) {
  const leat_node_t* product = leat_rewrite_producer(m);
  const leat_attr_value_t* before = leat_node_attr(product, LEAT_SV("fused_ops"));
  const size_t ops = before ? before->count : 0;
  const int args = spec->input_count - 2;
  leat_string_view_t* names;
  int32_t* types;
  leat_attr_t* attrs;
  int count = 0;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(m->arena, ops + 1, &names));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(m->arena, (size_t)args + 1, &types));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(m->arena, (size_t)product->attr_count + 8, &attrs));
  for (size_t i = 0; i < ops; ++i) names[i] = before->strings[i];
  names[ops] = leat_string_view_from(addition->op);
  for (int i = 0; i < args; ++i) types[i] = leat_graph_output_type(m->graph, spec->inputs[2 + i]);
  for (int i = 0; i < product->op->attr_count; ++i) {
    // What only the plain op has says nothing of the value (grad_a).
    if (is_of_list(product->attrs[i].name) ||
        leat_op_find_attr(spec->op, product->attrs[i].name) < 0) {
      continue;
    }
    attrs[count++] = product->attrs[i];
  }
  if (!leat_node_attr(product, LEAT_SV("T"))) {
    attrs[count++] = LEAT_TYPE("T", product->output_types[0]);
  }
  attrs[count++] = LEAT_INT("num_args", args);
  attrs[count++] = LEAT_LIST("fused_ops", STRING, ops + 1, strings, names);
  if (leat_op_find_attr(spec->op, LEAT_SV("TArgs")) >= 0) {
    attrs[count++] = LEAT_LIST("TArgs", TYPE, args, types, types);
  }
  take_float(product, addition->epsilon, "epsilon", "epsilon", attrs, &count);
  take_float(product, addition->alpha, "alpha", "leakyrelu_alpha", attrs, &count);
  *out_attrs = attrs;
  *out_count = count;
  return leat_ok_status();
}

// Adds the fused node of the match's product and |addition|.
static leat_status_t take_further(leat_rewrite_match_t* m, const addition_t* addition,
                                  leat_output_t* out_by) {
  leat_attr_t* attrs;
  const char* name = fused_name(leat_rewrite_producer(m));
  leat_node_spec_t spec = {0};
  LEAT_RETURN_IF_ERROR(
      leat_op_registry_find(m->graph->ops, leat_string_view_from(name), &spec.op));
  LEAT_RETURN_IF_ERROR(list_inputs(m, addition, &spec));
  LEAT_RETURN_IF_ERROR(list_attrs(m, addition, &spec, &attrs, &spec.attr_count));
  spec.attrs = attrs;
  return m->add(m, name, &spec, out_by);
}

// ---- Biases -------------------------------------------------------------------------------------

static bool may_begin(const leat_rewrite_match_t* m) {
  const leat_node_t* product = leat_rewrite_producer(m);
  return stage_of_product(product) == STAGE_PRODUCT && has_fused_form(m->graph, product);
}

// Whether BiasAdd adds to the same dimension in which the product has its channels.
static bool is_bias(const leat_rewrite_match_t* m) {
  const leat_node_t* product = leat_rewrite_producer(m);
  const leat_string_view_t format = leat_node_attr_string(leat_rewrite_root(m), "data_format");
  const bool is_last = !leat_string_view_equals(format, "NCHW");
  return may_begin(m) && is_last == has_channels_last(product);
}

static leat_output_t other_input(const leat_rewrite_match_t* m) {
  return leat_rewrite_root(m)->inputs[1 - m->side];
}

// Whether the other input is a vector that is known to be as long as the last dimension, so that
// adding it adds a bias.
static bool is_bias_vector(const leat_rewrite_match_t* m) {
  const leat_partial_shape_t bias = leat_graph_output_shape(m->graph, other_input(m));
  const leat_partial_shape_t sum = leat_rewrite_root(m)->output_shapes[0];
  const leat_partial_shape_t product = leat_rewrite_producer(m)->output_shapes[0];
  return bias.rank == 1 && bias.dims[0] > 0 && last_dim(product) == bias.dims[0] &&
         sum.rank == product.rank;
}

static bool is_added_bias(const leat_rewrite_match_t* m) {
  return may_begin(m) && has_channels_last(leat_rewrite_producer(m)) && is_bias_vector(m);
}

static leat_status_t take_bias(leat_rewrite_match_t* m, leat_output_t* out_by) {
  const leat_output_t bias = other_input(m);
  return take_further(m, &(addition_t){"BiasAdd", &bias, 1, NULL, NULL}, out_by);
}

// x - b equals x + -b bit for bit, for floating-point numbers too.
static leat_status_t take_subtracted_bias(leat_rewrite_match_t* m, leat_output_t* out_by) {
  const leat_output_t bias = other_input(m);
  leat_node_spec_t negation = {.inputs = &bias, .input_count = 1, .infer_attrs = true};
  leat_output_t negative;
  LEAT_RETURN_IF_ERROR(m->add(m, "Neg", &negation, &negative));
  return take_further(m, &(addition_t){"BiasAdd", &negative, 1, NULL, NULL}, out_by);
}

// ---- Normalization, addition, activation --------------------------------------------------------

static bool is_stored_normalization(const leat_rewrite_match_t* m) {
  const leat_node_t *root = leat_rewrite_root(m), *product = leat_rewrite_producer(m);
  return may_begin(m) && !leat_node_attr_bool(root, "is_training", true) &&
         root->output_types[0] == LEAT_DTYPE_FLOAT &&
         leat_string_view_equal(leat_node_attr_string(root, "data_format"),
                                leat_node_attr_string(product, "data_format"));
}

static leat_status_t take_normalization(leat_rewrite_match_t* m, leat_output_t* out_by) {
  const leat_node_t* root = leat_rewrite_root(m);
  return take_further(m, &(addition_t){"FusedBatchNorm", root->inputs + 1, 4, root, NULL}, out_by);
}

// Whether the other input is known to have the shape of the product, so that it is not broadcast.
// The addition to a product of two matrices without a bias is left to the rule "sum_of_products",
// whose _MatMulAdd begins its sums with the tensor.
static bool is_residual(const leat_rewrite_match_t* m) {
  const leat_node_t* product = leat_rewrite_producer(m);
  const stage_t stage = stage_of_product(product);
  const bool is_sum = !leat_string_view_equals(leat_rewrite_root(m)->op->name, "Sub") &&
                      !is_convolution(product) && !is_batch(product);
  return (stage == STAGE_FIRST ||
          (stage == STAGE_PRODUCT && !is_sum && has_fused_form(m->graph, product))) &&
         leat_partial_shape_is_full(product->output_shapes[0]) &&
         leat_partial_shape_equal(product->output_shapes[0],
                                  leat_graph_output_shape(m->graph, other_input(m)));
}

static leat_status_t take_residual(leat_rewrite_match_t* m, leat_output_t* out_by) {
  const leat_output_t other = other_input(m);
  const bool subtracts = leat_string_view_equals(leat_rewrite_root(m)->op->name, "Sub");
  const char* op = !subtracts ? "Add" : m->side == 0 ? "Sub" : "ReverseSub";
  return take_further(m, &(addition_t){op, &other, 1, NULL, NULL}, out_by);
}

// TensorFlow's definition of a fused convolution requires at least one argument, so an activation
// can be merged with a convolution only after an op that has one.
static bool may_be_activated(const leat_rewrite_match_t* m) {
  const leat_node_t* product = leat_rewrite_producer(m);
  if (!fused_name(product)) return false;
  const stage_t stage = stage_of_product(product);
  return stage < STAGE_ACTIVATION &&
         (stage > STAGE_PRODUCT || (has_fused_form(m->graph, product) && !is_convolution(product)));
}

static leat_status_t take_activation(leat_rewrite_match_t* m, leat_output_t* out_by) {
  const leat_node_t* root = leat_rewrite_root(m);
  const bool has_alpha = leat_node_attr(root, LEAT_SV("alpha")) != NULL;
  return take_further(
      m, &(addition_t){root->op->row->name, NULL, 0, NULL, has_alpha ? root : NULL}, out_by);
}

// Finds a GELU of a product that may be activated, or of the Reshape of one. |*out_reshape| is that
// Reshape, or -1.
static bool find_gelu(const leat_rewrite_match_t* m, leat_gelu_t* out_gelu, int32_t* out_reshape,
                      leat_rewrite_match_t* out_product) {
  *out_product = *m;
  *out_reshape = -1;
  if (!leat_gelu_find(m, out_gelu)) return false;
  const leat_node_t* node = leat_graph_node(m->graph, out_gelu->x.node);
  out_product->producer = out_gelu->x.node;
  if (leat_string_view_equals(node->op->name, "Reshape")) {
    *out_reshape = out_gelu->x.node;
    out_product->producer = node->inputs[0].node;
    if (!leat_gelu_is_only_reader(m, node->inputs[0].node, *out_reshape) ||
        !m->may_bypass(m, *out_reshape)) {
      return false;
    }
  }
  return m->may_bypass(m, out_product->producer) && may_be_activated(out_product);
}

static bool is_gelu_of_product(const leat_rewrite_match_t* m) {
  leat_gelu_t gelu;
  leat_rewrite_match_t product;
  int32_t reshape;
  return find_gelu(m, &gelu, &reshape, &product);
}

// The GELU of the product, and then the Reshape of that, if there was one before it.
static leat_status_t take_gelu(leat_rewrite_match_t* m, leat_output_t* out_by) {
  leat_gelu_t gelu;
  leat_rewrite_match_t product;
  int32_t reshape;
  const bool found = find_gelu(m, &gelu, &reshape, &product);
  LEAT_DCHECK(found);
  if (!found) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_rewrite_bypass(m, &gelu.way));
  LEAT_RETURN_IF_ERROR(m->bypass(m, product.producer));
  if (reshape >= 0) LEAT_RETURN_IF_ERROR(m->bypass(m, reshape));
  m->producer = product.producer;
  LEAT_RETURN_IF_ERROR(take_further(
      m, &(addition_t){gelu.is_exact ? "GeluExact" : "GeluApproximate", NULL, 0, NULL, NULL},
      out_by));
  if (reshape < 0) return leat_ok_status();
  const leat_node_t* before = leat_graph_node(m->graph, reshape);
  const leat_output_t inputs[] = {*out_by, before->inputs[1]};
  leat_node_spec_t spec = {.inputs = inputs,
                           .input_count = 2,
                           .attrs = before->attrs,
                           .attr_count = before->op->attr_count};
  return m->add(m, "Reshape", &spec, out_by);
}

// ---- Past a Reshape -----------------------------------------------------------------------------

static bool keeps_last_dim(const leat_rewrite_match_t* m) {
  const leat_partial_shape_t after = leat_graph_node(m->graph, m->through)->output_shapes[0];
  const int64_t last = last_dim(leat_rewrite_producer(m)->output_shapes[0]);
  return last > 0 && last == last_dim(after);
}

static bool is_bias_past_reshape(const leat_rewrite_match_t* m) {
  const leat_partial_shape_t bias = leat_graph_output_shape(m->graph, other_input(m));
  const leat_partial_shape_t after = leat_graph_node(m->graph, m->through)->output_shapes[0];
  return may_begin(m) && keeps_last_dim(m) && bias.rank == 1 && bias.dims[0] == last_dim(after) &&
         !leat_string_view_equals(leat_node_attr_string(leat_rewrite_root(m), "data_format"),
                                  "NCHW");
}

static bool is_activation_past_reshape(const leat_rewrite_match_t* m) {
  return stage_of_product(leat_rewrite_producer(m)) == STAGE_FIRST;
}

// Applies the root to the product, and the Reshape to the result.
static leat_status_t change_places(leat_rewrite_match_t* m, leat_output_t* out_by) {
  const leat_node_t *root = leat_rewrite_root(m), *reshape = leat_graph_node(m->graph, m->through);
  const leat_output_t shape = reshape->inputs[1];
  const leat_attr_t* reshape_attrs = reshape->attrs;
  const int reshape_attr_count = reshape->op->attr_count;
  leat_output_t inputs[2] = {root->inputs[0], root->inputs[root->input_count - 1]};
  inputs[m->side] = (leat_output_t){m->producer, 0};
  leat_node_spec_t spec = {.inputs = inputs,
                           .input_count = root->input_count,
                           .attrs = root->attrs,
                           .attr_count = root->op->attr_count};
  leat_output_t moved;
  LEAT_RETURN_IF_ERROR(m->add(m, root->op->row->name, &spec, &moved));
  const leat_output_t reshaped[] = {moved, shape};
  leat_node_spec_t after = {.inputs = reshaped,
                            .input_count = 2,
                            .attrs = reshape_attrs,
                            .attr_count = reshape_attr_count};
  return m->add(m, "Reshape", &after, out_by);
}

// ---- Batches ------------------------------------------------------------------------------------

// Whether |y| is a single matrix: one of rank 2, or of known sizes behind dimensions of 1.
static bool is_one_matrix(leat_partial_shape_t y) {
  if (y.rank > 2 && (y.dims[y.rank - 2] <= 0 || y.dims[y.rank - 1] <= 0)) return false;
  for (int d = 0; d < y.rank - 2; ++d) {
    if (y.dims[d] != 1) return false;
  }
  return y.rank >= 2;
}

// Whether a batch is multiplied by a single matrix, and at most one dimension of the result is
// unknown, so that a Reshape with a constant shape can restore it.
static bool is_product_of_rows(const leat_rewrite_match_t* m) {
  const leat_node_t* root = leat_rewrite_root(m);
  const leat_partial_shape_t x = leat_graph_output_shape(m->graph, root->inputs[0]);
  const leat_partial_shape_t result = root->output_shapes[0];
  int unknown = 0;
  if (x.rank < 3 || !is_one_matrix(leat_graph_output_shape(m->graph, root->inputs[1])) ||
      result.rank != x.rank || last_dim(x) <= 0 || last_dim(result) <= 0 ||
      leat_node_attr_bool(root, "adj_x", false) ||
      !leat_dtype_in(root->output_types[0], LEAT_DTYPE_BIT(FLOAT) | LEAT_DTYPE_BIT(DOUBLE) |
                                                LEAT_DTYPE_BIT(HALF) | LEAT_DTYPE_BIT(BFLOAT16))) {
    return false;
  }
  for (int d = 0; d < result.rank; ++d) {
    if (result.dims[d] == 0) return false;
    unknown += result.dims[d] < 0;
  }
  return unknown <= 1;
}

// Reshapes |x| to |dims| [rank]; Reshape computes a dimension that is -1.
static leat_status_t reshape(leat_rewrite_match_t* m, leat_output_t x, const int64_t* dims,
                             int rank, leat_output_t* out_reshaped) {
  leat_output_t sizes;
  LEAT_RETURN_IF_ERROR(leat_rewrite_add_vector(m, dims, rank, &sizes));
  const leat_output_t inputs[] = {x, sizes};
  leat_node_spec_t spec = {.inputs = inputs, .input_count = 2, .infer_attrs = true};
  return m->add(m, "Reshape", &spec, out_reshaped);
}

static leat_status_t multiply_rows(leat_rewrite_match_t* m, leat_output_t* out_by) {
  const leat_node_t* root = leat_rewrite_root(m);
  const leat_output_t x = root->inputs[0];
  const leat_partial_shape_t result = root->output_shapes[0];
  const leat_partial_shape_t y_shape = leat_graph_output_shape(m->graph, root->inputs[1]);
  leat_output_t y = root->inputs[1];
  const int64_t rows[] = {-1, last_dim(leat_graph_output_shape(m->graph, x))};
  const leat_attr_t attrs[] = {
      LEAT_TYPE("T", root->output_types[0]),
      LEAT_BOOL("transpose_b", leat_node_attr_bool(root, "adj_y", false))};
  leat_output_t matrix, product;
  LEAT_RETURN_IF_ERROR(reshape(m, x, rows, 2, &matrix));
  if (y_shape.rank > 2) {
    LEAT_RETURN_IF_ERROR(reshape(m, y, y_shape.dims + y_shape.rank - 2, 2, &y));
  }
  const leat_output_t factors[] = {matrix, y};
  leat_node_spec_t spec = {.inputs = factors, .input_count = 2, .attrs = attrs, .attr_count = 2};
  LEAT_RETURN_IF_ERROR(m->add(m, "MatMul", &spec, &product));
  return reshape(m, product, result.dims, result.rank, out_by);
}

// ---- The rules ----------------------------------------------------------------------------------

const leat_rewrite_rule_t leat_epilogue_rules[] = {
    {.name = "product_of_rows",
     .root = "BatchMatMulV2|BatchMatMulV3",
     .normalizes = true,
     .applies = is_product_of_rows,
     .make = multiply_rows,
     .doc = "a batch of matrices times one matrix is one product"},
    {.name = "product_bias",
     .root = "BiasAdd|BiasAddV1",
     .producer = PRODUCTS,
     .keeps_shape = true,
     .applies = is_bias,
     .make = take_bias,
     .doc = "a product and its bias in one node"},
    {.name = "product_bias_vector",
     .root = "Add|AddV2",
     .producer = PRODUCTS,
     .keeps_shape = true,
     .commutes = true,
     .applies = is_added_bias,
     .make = take_bias,
     .doc = "a product and a vector that is added to its rows in one node"},
    {.name = "product_bias_subtracted",
     .root = "Sub",
     .producer = PRODUCTS,
     .keeps_shape = true,
     .applies = is_added_bias,
     .make = take_subtracted_bias,
     .doc = "a product and a vector that is subtracted from its rows in one node"},
    {.name = "convolution_normalization",
     .root = "FusedBatchNorm|FusedBatchNormV2|FusedBatchNormV3",
     .producer = CONVOLUTIONS,
     .keeps_shape = true,
     .applies = is_stored_normalization,
     .make = take_normalization,
     .doc = "a convolution and its normalization by stored moments in one node"},
    {.name = "product_residual",
     .root = "Add|AddV2|Sub",
     .producer = PRODUCTS,
     .keeps_shape = true,
     .commutes = true,
     .applies = is_residual,
     .make = take_residual,
     .doc = "a product and a tensor of its shape that is added, or their difference, in one node"},
    {.name = "product_activation",
     .root = ACTIVATIONS,
     .producer = PRODUCTS,
     .keeps_shape = true,
     .applies = may_be_activated,
     .make = take_activation,
     .doc = "a product and its activation in one node"},
    {.name = "product_gelu",
     .root = "Mul",
     .applies = is_gelu_of_product,
     .make = take_gelu,
     .doc = "a product and its GELU, which is six to nine nodes, in one node"},
    {.name = "bias_before_reshape",
     .root = "BiasAdd|BiasAddV1|Add|AddV2",
     .producer = MATRIX_PRODUCTS,
     .through = "Reshape",
     .normalizes = true,
     .applies = is_bias_past_reshape,
     .make = change_places,
     .doc = "the bias of a dense layer over sequences is added before their shape is put back"},
    {.name = "activation_before_reshape",
     .root = ACTIVATIONS,
     .producer = MATRIX_PRODUCTS,
     .through = "Reshape",
     .normalizes = true,
     .applies = is_activation_past_reshape,
     .make = change_places,
     .doc = "the activation of a dense layer over sequences comes before their shape is put back"},
    LEAT_REWRITE_RULES_END,
};
