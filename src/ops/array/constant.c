// The ops that make tensors of given values: Const, whose tensor is written into the graph, and
// Fill, ZerosLike, OnesLike and Empty, which make tensors of one value; the contents of an Empty
// without |init| are undefined, so that it is stateful and never folded.
//
//   Fill  dims [rank], value [] -> [dims...]
//
// The runtime reads attribute "value" of a Const itself wherever it can, which the flag
// LEAT_OP_CONSTANT allows; the kernel serves the other nodes, such as those that wait for control
// inputs. Small integer tensors that the other ops make are known while the graph is built, because
// programs compute shapes of them. The gradient of Fill with respect to its value is the sum of
// dC/dy over all axes. The kernels are in constant_cpu.c.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "graph/inference/inference_index.h"
#include "ops/op_rows.h"

// ---- Const --------------------------------------------------------------------------------------

// Checks the type of the value against the node's, because whoever reads the attribute relies on
// it.
static leat_status_t constant_shape(leat_inference_t* c) {
  const leat_attr_value_t* value = leat_node_attr(c->node, LEAT_SV("value"));
  if (!value || value->kind != LEAT_ATTR_TENSOR || value->is_list) return leat_ok_status();
  if (value->tensor->dtype != c->node->output_types[0]) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Type mismatch between value (%s) and dtype (%s)",
                            leat_dtype_name(value->tensor->dtype),
                            leat_dtype_name(c->node->output_types[0]));
  }
  const leat_shape_t* shape = &value->tensor->shape;
  leat_partial_shape_t output;
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, shape->rank, leat_shape_dims(shape), &output));
  leat_inference_set_output(c, 0, output);
  return leat_ok_status();
}

// ---- Fill and its kin ---------------------------------------------------------------------------

static leat_status_t fill_shape(leat_inference_t* c) {
  leat_partial_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 0), 1, &shape));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 0, &shape));
  leat_partial_value_t dims;
  LEAT_RETURN_IF_ERROR(leat_inference_input_value(c, 0, &dims));
  for (int i = 0; i < dims.count && dims.rank >= 0; ++i) {
    if (dims.items[i] < 0 && dims.items[i] != LEAT_VALUE_UNKNOWN) {
      return leat_make_status(LEAT_INVALID_ARGUMENT, "Fill dimensions must be >= 0");
    }
  }
  LEAT_RETURN_IF_ERROR(leat_inference_input_as_shape(c, 0, &shape));
  leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}

#define MAX_FILLED 256

// Sets the value of output 0, |item| throughout, where it is a small scalar or vector of integers.
static leat_status_t set_filled(leat_inference_t* c, int64_t item) {
  leat_partial_shape_t shape = c->outputs[0];
  int dtype = c->node->output_types[0];
  int64_t count = shape.rank == 0 ? 1 : shape.rank == 1 ? shape.dims[0] : -1;
  bool is_integer = dtype == LEAT_DTYPE_INT32 || dtype == LEAT_DTYPE_INT64;
  if (count < 0 || count > MAX_FILLED || !is_integer) return leat_ok_status();
  int64_t items[MAX_FILLED];
  for (int64_t i = 0; i < count; ++i) items[i] = item;
  return leat_inference_set_output_value(c, 0, shape.rank, (int)count, items);
}

static leat_status_t fill_value(leat_inference_t* c) {
  int64_t item;
  bool is_known;
  LEAT_RETURN_IF_ERROR(leat_inference_index(c, 1, &is_known, &item));
  return is_known ? set_filled(c, item) : leat_ok_status();
}

static leat_status_t zeros_value(leat_inference_t* c) { return set_filled(c, 0); }
static leat_status_t ones_value(leat_inference_t* c) { return set_filled(c, 1); }

static leat_status_t empty_shape(leat_inference_t* c) {
  leat_partial_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_inference_input_as_shape(c, 0, &shape));
  leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}

// Sums the gradient over all axes, which a Range up to its rank names.
static leat_status_t fill_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  leat_output_t gradient = leat_gradient_of_output(g, 0);
  leat_output_t axes = leat_build(b, "Range",
                                  LEAT_INPUTS(leat_build_scalar(b, LEAT_DTYPE_INT32, 0),
                                              leat_build_unary(b, "Rank", gradient),
                                              leat_build_scalar(b, LEAT_DTYPE_INT32, 1)),
                                  LEAT_NO_ATTRS);
  leat_gradient_set_input(g, 1, leat_build_binary(b, "Sum", gradient, axes));
  return leat_ok_status();
}

const leat_op_row_t leat_constant_ops[] = {
    {.name = "Const",
     .outputs = "output: dtype",
     .attrs = "value: tensor; dtype: type",
     .flags = LEAT_OP_CONSTANT,
     .shape = constant_shape,
     .gradient = leat_gradient_none,
     .doc = "A tensor of fixed value."},
    {.name = "HostConst", .alias_of = "Const", .doc = "A Const that lies with the host."},
    {.name = "Fill",
     .inputs = "dims: index_type; value: T",
     .outputs = "output: T",
     .attrs = "T: type; index_type: {int32, int64} = int32",
     .shape = fill_shape,
     .value = fill_value,
     .gradient = fill_gradient,
     .flags = LEAT_OP_CHEAP,
     .doc = "A tensor of shape dims, each element value."},
    {.name = "ZerosLike",
     .inputs = "x: T",
     .outputs = "y: T",
     .attrs = "T: type",
     .shape = leat_shape_unchanged,
     .value = zeros_value,
     .gradient = leat_gradient_none,
     .doc = "Zeros in the shape of x."},
    {.name = "OnesLike",
     .inputs = "x: T",
     .outputs = "y: T",
     .attrs = "T: {bfloat16, half, float, double, int8, uint8, int16, uint16, int32, uint32, "
              "int64, uint64, complex64, complex128, bool}",
     .shape = leat_shape_unchanged,
     .value = ones_value,
     .gradient = leat_gradient_none,
     .doc = "Ones in the shape of x."},
    {.name = "Empty",
     .inputs = "shape: int32",
     .outputs = "output: dtype",
     .attrs = "dtype: type; init: bool = false",
     .flags = LEAT_OP_STATEFUL,
     .shape = empty_shape,
     .doc = "A tensor of the shape with any contents, zeros if init."},
    LEAT_OP_ROWS_END,
};
