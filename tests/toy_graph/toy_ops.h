// A handful of ops for the tests of the room graph/, which must not see the real families. Each
// shows one ability of an op's row: a variable number of inputs, several outputs, a shape function
// that needs a value, value functions, references, a loop, a deprecation. The rows have no kernels,
// because nothing in that room runs. The ops are static in a header so that a test that includes it
// needs no library of test code beside it.
#ifndef LEAT_TESTS_TOY_GRAPH_TOY_OPS_H_
#define LEAT_TESTS_TOY_GRAPH_TOY_OPS_H_

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "graph/builder.h"
#include "graph/inference/inference.h"

static leat_status_t toy_const_shape(leat_inference_t* c) {
  const leat_attr_value_t* value = leat_node_attr(c->node, LEAT_SV("value"));
  leat_inference_set_output(c, 0, leat_partial_shape_of(&value->tensor->shape));
  return leat_ok_status();
}

static leat_status_t toy_shape_shape(leat_inference_t* c) {
  int64_t rank = leat_inference_input(c, 0).rank;
  leat_partial_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 1, &rank, &shape));
  leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}

static leat_status_t toy_shape_value(leat_inference_t* c) {
  leat_partial_shape_t input = leat_inference_input(c, 0);
  if (input.rank < 0) return leat_ok_status();
  int64_t items[LEAT_SHAPE_MAX_RANK];
  for (int i = 0; i < input.rank; ++i) {
    items[i] = input.dims[i] < 0 ? LEAT_VALUE_UNKNOWN : input.dims[i];
  }
  return leat_inference_set_output_value(c, 0, 1, input.rank, items);
}

static leat_status_t toy_fill_shape(leat_inference_t* c) {
  leat_partial_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_inference_input_as_shape(c, 0, &shape));
  leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}

// Both inputs' values added: a value function whose inputs may be one node.
static leat_status_t toy_add_value(leat_inference_t* c) {
  leat_partial_value_t a, b;
  LEAT_RETURN_IF_ERROR(leat_inference_input_value(c, 0, &a));
  LEAT_RETURN_IF_ERROR(leat_inference_input_value(c, 1, &b));
  if (a.rank != 0 || b.rank != 0) return leat_ok_status();
  int64_t sum = (int64_t)((uint64_t)a.items[0] + (uint64_t)b.items[0]);
  return leat_inference_set_output_value(c, 0, 0, 1, &sum);
}

static const leat_op_row_t toy_rows[] = {
    {.name = "NoOp"},
    {.name = "Const",
     .outputs = "output: dtype",
     .attrs = "value: tensor; dtype: type",
     .flags = LEAT_OP_CONSTANT,
     .shape = toy_const_shape},
    {.name = "Placeholder",
     .outputs = "output: dtype",
     .attrs = "dtype: type; shape: shape = { unknown_rank: true }",
     .flags = LEAT_OP_PLACEHOLDER,
     .shape = leat_shape_from_attr},
    {.name = "Identity",
     .inputs = "input: T",
     .outputs = "output: T",
     .attrs = "T: type",
     .flags = LEAT_OP_PASS_THROUGH,
     .shape = leat_shape_unchanged},
    {.name = "Add",
     .inputs = "x: T; y: T",
     .outputs = "z: T",
     .attrs = "T: {bfloat16, half, float, double, int32, int64}",
     .shape = leat_shape_broadcast_binary,
     .value = toy_add_value},
    {.name = "AddN",
     .inputs = "inputs: N * T",
     .outputs = "sum: T",
     .attrs = "N: int >= 1; T: {numbertype, variant}",
     .flags = LEAT_OP_COMMUTATIVE | LEAT_OP_AGGREGATE,
     .shape = leat_shape_merge_inputs},
    {.name = "IdentityN",
     .inputs = "input: T",
     .outputs = "output: T",
     .attrs = "T: list(type) >= 1"},
    {.name = "Split",
     .inputs = "split_dim: int32; value: T",
     .outputs = "output: num_split * T",
     .attrs = "num_split: int >= 1; T: type"},
    {.name = "Shape",
     .inputs = "input: T",
     .outputs = "output: out_type",
     .attrs = "T: type; out_type: {int32, int64} = DT_INT32",
     .shape = toy_shape_shape,
     .value = toy_shape_value},
    {.name = "Fill",
     .inputs = "dims: index_type; value: T",
     .outputs = "output: T",
     .attrs = "T: type; index_type: {int32, int64} = DT_INT32",
     .shape = toy_fill_shape},
    {.name = "Variable",
     .outputs = "ref: Ref(dtype)",
     .attrs = "shape: shape; dtype: type",
     .flags = LEAT_OP_STATEFUL | LEAT_OP_VARIABLE,
     .shape = leat_shape_from_attr},
    {.name = "Assign",
     .inputs = "ref: Ref(T); value: T",
     .outputs = "output_ref: Ref(T)",
     .attrs = "T: type; validate_shape: bool = true",
     .flags = LEAT_OP_ALLOWS_UNINITIALIZED_INPUT},
    {.name = "Conv",
     .inputs = "input: T",
     .outputs = "output: T",
     .attrs = "T: {half, float}; strides: list(int) >= 2; padding: {'SAME', 'VALID'}"},
    {.name = "Merge",
     .inputs = "inputs: N * T",
     .outputs = "output: T; value_index: int32",
     .attrs = "T: type; N: int >= 1",
     .flags = LEAT_OP_MERGE},
    {.name = "NextIteration",
     .inputs = "data: T",
     .outputs = "output: T",
     .attrs = "T: type",
     .flags = LEAT_OP_NEXT_ITERATION},
    {.name = "Sum",
     .inputs = "input: T; reduction_indices: Tidx",
     .outputs = "output: T",
     .attrs = "keep_dims: bool = false; T: numbertype; Tidx: {int32, int64} = DT_INT32"},
    {.name = "Reshape",
     .inputs = "tensor: T; shape: Tshape",
     .outputs = "output: T",
     .attrs = "T: type; Tshape: {int32, int64} = DT_INT32"},
    {.name = "BroadcastGradientArgs",
     .inputs = "s0: T; s1: T",
     .outputs = "r0: T; r1: T",
     .attrs = "T: {int32, int64} = DT_INT32"},
    {.name = "StridedSlice",
     .inputs = "input: T; begin: Index; end: Index; strides: Index",
     .outputs = "output: T",
     .attrs = "T: type; Index: {int16, int32, int64}; shrink_axis_mask: int = 0"},
    {.name = "UnsortedSegmentSum",
     .inputs = "data: T; segment_ids: Tindices; num_segments: Tnumsegments",
     .outputs = "output: T",
     .attrs = "T: numbertype; Tindices: {int32, int64}; Tnumsegments: {int32, int64} = DT_INT32"},
    {.name = "ZerosLike", .inputs = "x: T", .outputs = "y: T", .attrs = "T: type"},
    {.name = "VarHandleOp",
     .outputs = "resource: resource",
     .attrs = "dtype: type; shape: shape",
     .flags = LEAT_OP_VARIABLE},
    {.name = "VariableShape",
     .inputs = "input: resource",
     .outputs = "output: out_type",
     .attrs = "out_type: {int32, int64} = DT_INT32"},
    {.name = "Old", .deprecated_since = 20, .deprecation = "Use New"},
    {.name = 0},
};

typedef struct toy_s {
  leat_op_registry_t* ops;
  leat_graph_t* graph;
} toy_t;

static inline void toy_ok(leat_status_t status) {
  if (status) fail_msg("%s", leat_status_message(status));
}

static inline void toy_fails(leat_status_t status, leat_status_code_t code, const char* part) {
  assert_int_equal(leat_status_code(status), code);
  if (!strstr(leat_status_message(status), part)) {
    fail_msg("'%s' is not in '%s'", part, leat_status_message(status));
  }
  leat_status_free(status);
}

static inline void toy_open(toy_t* toy) {
  toy_ok(leat_op_registry_create(leat_allocator_system(), &toy->ops));
  toy_ok(leat_op_registry_add(toy->ops, toy_rows));
  toy_ok(leat_graph_create(toy->ops, leat_allocator_system(), &toy->graph));
}

static inline void toy_close(toy_t* toy) {
  leat_graph_free(toy->graph);
  leat_op_registry_free(toy->ops);
}

static inline leat_status_t toy_try(toy_t* toy, const char* op, const char* name,
                                    leat_outputs_t inputs, leat_attrs_t attrs, int32_t* out_node) {
  leat_node_spec_t spec = {.name = leat_string_view_from(name),
                           .inputs = inputs.items,
                           .input_count = inputs.count,
                           .attrs = attrs.items,
                           .attr_count = attrs.count,
                           .infer_attrs = true};
  LEAT_RETURN_IF_ERROR(leat_op_registry_find(toy->ops, leat_string_view_from(op), &spec.op));
  return leat_graph_add_node(toy->graph, &spec, out_node);
}

static inline int32_t toy_add(toy_t* toy, const char* op, const char* name, leat_outputs_t inputs,
                              leat_attrs_t attrs) {
  int32_t node = -1;
  toy_ok(toy_try(toy, op, name, inputs, attrs, &node));
  return node;
}

static inline leat_output_t toy_placeholder(toy_t* toy, const char* name, int dtype, int rank,
                                            const int64_t* dims) {
  leat_partial_shape_t shape = {rank, dims};
  leat_attrs_t attrs = LEAT_ATTRS(LEAT_TYPE("dtype", dtype), LEAT_SHAPE("shape", shape));
  return leat_node_output(toy_add(toy, "Placeholder", name, LEAT_NO_INPUTS, attrs), 0);
}

#define TOY_SHAPE(toy, output) \
  LEAT_PARTIAL_SHAPE_TEXT(leat_graph_output_shape((toy)->graph, (output)))

#endif  // LEAT_TESTS_TOY_GRAPH_TOY_OPS_H_
