// The ops of TensorArrays: arrays of tensors that live as long as a step and are written once.
// While loops (section 4.4) collect in them what their iterations produce. Writes and reads are put
// in order by the flow, a float without meaning that each write outputs and that reads take in.
//
// The gradient of an array is an array with as many slots, and gradients run through it backwards:
//
//   forward   Write(a, i, x) ─flow─▶ Read(a, i) ─▶ y
//   backward  dx ◀─ Read(da, i) ◀─flow─ Write(da, i, dy)
//
// A gradient node must not make the gradient array before the forward writes are done, since the
// gradient array takes over the length and the slots' shapes; identity nodes with control inputs,
// which `after` builds, see to that. Each op exists in three versions (handle: reference, string,
// resource).
#include "ops/list/tensor_array.h"

#include <stdio.h>

#include "graph/inference/inference.h"
#include "ops/op_rows.h"

// ---- What is in arrays --------------------------------------------------------------------------

// Tells inference the type and shape of the array's elements. A partial shape counts only where the
// node says that all elements have the same shape; otherwise they may differ in the open sizes.
static leat_status_t array_value(leat_inference_t* c) {
  leat_referent_t element = {.dtype = leat_node_attr_type(c->node, "dtype")};
  const leat_attr_value_t* shape = leat_node_attr(c->node, LEAT_SV("element_shape"));
  if (!shape || shape->kind != LEAT_ATTR_SHAPE) return leat_ok_status();
  bool identical = leat_node_attr_bool(c->node, "identical_element_shapes", false);
  if (!identical && !leat_partial_shape_is_full(shape->shape)) return leat_ok_status();
  element.shape = shape->shape;
  return leat_inference_set_output_referents(c, 0, &element, 1);
}

// The elements of a gradient with more dimensions: as in TensorFlow only the number of the new
// dimensions is told, although their sizes may be known.
static leat_status_t prepended_array_value(leat_inference_t* c) {
  leat_referent_t element;
  leat_partial_shape_t shape;
  const leat_partial_shape_t sizes = leat_inference_input(c, 2);
  int dtype;
  if (!leat_inference_input_handle(c, 0, &dtype, &shape) || shape.rank < 0) return leat_ok_status();
  if (sizes.rank != 1 || sizes.dims[0] < 0 ||
      sizes.dims[0] > LEAT_SHAPE_MAX_RANK - shape.rank) {
    return leat_ok_status();
  }
  const int count = (int)sizes.dims[0];
  int64_t dims[LEAT_SHAPE_MAX_RANK];
  for (int i = 0; i < count; ++i) dims[i] = -1;
  for (int i = 0; i < shape.rank; ++i) dims[count + i] = shape.dims[i];
  element = (leat_referent_t){.dtype = dtype};
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, count + shape.rank, dims, &element.shape));
  return leat_inference_set_output_referents(c, 0, &element, 1);
}

bool leat_array_element_shape(leat_inference_t* c, leat_partial_shape_t* out_shape) {
  int dtype;
  return leat_inference_input_handle(c, 0, &dtype, out_shape);
}

leat_status_t leat_array_check_handle(leat_inference_t* c) {
  return leat_shape_check_two_strings(c, 0);
}

// ---- Shapes -------------------------------------------------------------------------------------

static leat_status_t array_shape(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(leat_shape_check_scalar(c, 0));
  leat_inference_set_output(c, 1, leat_partial_shape_scalar());
  return leat_shape_two_strings(c);
}

static leat_status_t gradient_shape(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(leat_array_check_handle(c));
  leat_inference_set_output(c, 1, leat_partial_shape_scalar());
  return leat_shape_two_strings(c);
}

static leat_status_t write_shape(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(leat_array_check_handle(c));
  LEAT_RETURN_IF_ERROR(leat_shape_check_scalar(c, 1));
  LEAT_RETURN_IF_ERROR(leat_shape_check_scalar(c, 3));
  leat_partial_shape_t element;
  if (leat_array_element_shape(c, &element)) {
    LEAT_RETURN_IF_ERROR(leat_inference_merge(c, element, leat_inference_input(c, 2), &element));
  }
  return leat_shape_scalar_output(c);
}

static leat_status_t read_shape(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(leat_array_check_handle(c));
  LEAT_RETURN_IF_ERROR(leat_shape_check_scalar(c, 1));
  LEAT_RETURN_IF_ERROR(leat_shape_check_scalar(c, 2));
  leat_partial_shape_t element;
  leat_array_element_shape(c, &element);
  leat_inference_set_output(c, 0, element);
  return leat_ok_status();
}

static leat_status_t size_shape(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(leat_array_check_handle(c));
  return leat_shape_scalar_output(c);
}

// ---- Gradients ----------------------------------------------------------------------------------

// Returns the name of the call that builds gradients. Two calls that build gradients of one array
// must not add to the same gradient array, so its key is this name. The builder's scope is
// "<call>/<node>_grad/", of which the name is the beginning.
static leat_string_view_t source_of(const leat_gradient_t* g) {
  leat_string_view_t scope = g->builder.scope, node = leat_gradient_node(g)->name;
  size_t tail = node.size + sizeof("/_grad/") - 1;
  if (scope.size > tail) scope.size -= tail;
  return scope;
}

// The version of the node's op, which its gradient's ops have too.
static const char* version_of(const leat_gradient_t* g) {
  leat_string_view_t op = leat_gradient_node(g)->op->name;
  if (leat_string_view_ends_with(op, LEAT_SV("V3"))) return "V3";
  return leat_string_view_ends_with(op, LEAT_SV("V2")) ? "V2" : "";
}

leat_output_t leat_array_build(leat_gradient_t* g, const char* op, const char* version,
                               leat_outputs_t inputs, leat_attrs_t attrs) {
  char name[64];
  snprintf(name, sizeof name, "%s%s", op, version);
  return leat_build(&g->builder, name, inputs, attrs);
}

// Builds an Identity of |x| that runs only after node |before|.
static leat_output_t after(leat_gradient_t* g, leat_output_t x, int32_t before) {
  leat_builder_t* b = &g->builder;
  const int32_t* former = b->control_inputs;
  int former_count = b->control_count;
  if (b->status) return LEAT_OUTPUT_NONE;
  b->control_inputs = &before;
  b->control_count = 1;
  leat_output_t y = leat_build_unary(b, "Identity", x);
  b->control_inputs = former;
  b->control_count = former_count;
  return y;
}

leat_array_gradient_t leat_array_gradient(leat_gradient_t* g, leat_output_t flow) {
  leat_array_gradient_t gradient = {.version = version_of(g)};
  gradient.handle =
      leat_array_build(g, "TensorArrayGrad", gradient.version,
                       LEAT_INPUTS(leat_gradient_input(g, 0), flow),
                       LEAT_ATTRS(LEAT_STRING("source", source_of(g))));
  gradient.flow = after(g, flow, gradient.handle.node);
  return gradient;
}

// Without this delay the gradient array might be made before the last forward write, and be too
// short.
leat_output_t leat_array_flow_after_write(leat_gradient_t* g) {
  leat_output_t written = leat_build_unary(&g->builder, "Identity", leat_gradient_output(g, 0));
  return after(g, leat_gradient_of_output(g, 0), written.node);
}

leat_status_t leat_array_gradient_to_rows(leat_gradient_t* g, const char* op) {
  leat_output_t dy = leat_gradient_of_output(g, 0);
  leat_array_gradient_t array = leat_array_gradient(g, leat_gradient_input(g, 2));
  leat_gradient_set_input(g, 2,
                          leat_array_build(g, op, array.version,
                                           LEAT_INPUTS(array.handle, leat_gradient_input(g, 1),
                                                       dy, array.flow),
                                           LEAT_NO_ATTRS));
  return leat_ok_status();
}

leat_status_t leat_array_gradient_of_rows(leat_gradient_t* g, const char* op) {
  int dtype = leat_node_attr_type(leat_gradient_node(g), "T");
  leat_output_t flow = leat_array_flow_after_write(g);
  leat_array_gradient_t array = leat_array_gradient(g, flow);
  leat_gradient_set_input(g, 2,
                          leat_array_build(g, op, array.version,
                                           LEAT_INPUTS(array.handle, leat_gradient_input(g, 1),
                                                       array.flow),
                                           LEAT_ATTRS(LEAT_TYPE("dtype", dtype))));
  leat_gradient_set_input(g, 3, flow);
  return leat_ok_status();
}

static leat_status_t read_gradient(leat_gradient_t* g) {
  return leat_array_gradient_to_rows(g, "TensorArrayWrite");
}
static leat_status_t write_gradient(leat_gradient_t* g) {
  return leat_array_gradient_of_rows(g, "TensorArrayRead");
}

// ---- Rows ---------------------------------------------------------------------------------------

#define OLD LEAT_OP_STEP_RESOURCE
#define NEW LEAT_OP_STATEFUL
#define MAKES LEAT_OP_STATEFUL | LEAT_OP_STEP_RESOURCE

#define ONE_SLOT(op_name, more_inputs, op_outputs, op_attrs, op_shape, op_gradient, words)       \
  LEAT_ARRAY_ROW(op_name, "Ref(string)", more_inputs, op_outputs, op_attrs, OLD,                 \
                 leat_shape_unknown, op_gradient, 16, "Use " op_name "V3", words),               \
      LEAT_ARRAY_ROW(op_name "V2", "string", more_inputs, op_outputs, op_attrs, OLD, op_shape,   \
                     op_gradient, 26, "Use " op_name "V3", words),                               \
      LEAT_ARRAY_ROW(op_name "V3", "resource", more_inputs, op_outputs, op_attrs, NEW, op_shape, \
                     op_gradient, 0, NULL, words)

#define GRADIENT_WORDS "The array of gradients of an array, one for each source."
#define ARRAY_WORDS "An array of tensors of one type."

const leat_op_row_t leat_tensor_array_ops[] = {
    {.name = "TensorArray",
     .inputs = "size: int32",
     .outputs = "handle: Ref(string)",
     .attrs = "dtype: type; dynamic_size: bool = false; clear_after_read: bool = true; "
              "tensor_array_name: string = ''; element_shape: shape = {unknown_rank: true}",
     .flags = MAKES,
     .shape = leat_shape_unknown,
     .gradient = leat_gradient_none,
     .deprecated_since = 16,
     .deprecation = "Use TensorArrayV3",
     .doc = ARRAY_WORDS},
    {.name = "TensorArrayV2",
     .inputs = "size: int32",
     .outputs = "handle: string",
     .attrs = "dtype: type; element_shape: shape = {unknown_rank: true}; dynamic_size: bool = "
              "false; clear_after_read: bool = true; tensor_array_name: string = ''",
     .flags = MAKES,
     .shape = array_shape,
     .gradient = leat_gradient_none,
     .deprecated_since = 26,
     .deprecation = "Use TensorArrayV3",
     .doc = ARRAY_WORDS},
    {.name = "TensorArrayV3",
     .inputs = "size: int32",
     .outputs = "handle: resource; flow: float",
     .attrs = "dtype: type; element_shape: shape = {unknown_rank: true}; dynamic_size: bool = "
              "false; clear_after_read: bool = true; identical_element_shapes: bool = false; "
              "tensor_array_name: string = ''",
     .flags = NEW,
     .shape = array_shape,
     .value = array_value,
     .gradient = leat_gradient_none,
     .doc = ARRAY_WORDS},
    {.name = "TensorArrayGrad",
     .inputs = "handle: string; flow_in: float",
     .outputs = "grad_handle: Ref(string)",
     .attrs = "source: string",
     .flags = MAKES,
     .shape = leat_shape_unknown,
     .gradient = leat_gradient_none,
     .deprecated_since = 16,
     .deprecation = "Use TensorArrayGradV3",
     .doc = GRADIENT_WORDS},
    {.name = "TensorArrayGradV2",
     .inputs = "handle: string; flow_in: float",
     .outputs = "grad_handle: string",
     .attrs = "source: string",
     .flags = MAKES,
     .shape = gradient_shape,
     .gradient = leat_gradient_none,
     .deprecated_since = 26,
     .deprecation = "Use TensorArrayGradV3",
     .doc = GRADIENT_WORDS},
    {.name = "TensorArrayGradV3",
     .inputs = "handle: resource; flow_in: float",
     .outputs = "grad_handle: resource; flow_out: float",
     .attrs = "source: string",
     .flags = NEW,
     .shape = gradient_shape,
     .value = leat_value_forwarded,
     .gradient = leat_gradient_none,
     .doc = GRADIENT_WORDS},
    {.name = "TensorArrayGradWithShape",
     .inputs = "handle: resource; flow_in: float; shape_to_prepend: int32",
     .outputs = "grad_handle: resource; flow_out: float",
     .attrs = "source: string",
     .flags = NEW,
     .shape = gradient_shape,
     .value = prepended_array_value,
     .gradient = leat_gradient_none,
     .doc = "The same for elements that have more dimensions before the array's."},
    ONE_SLOT("TensorArrayWrite", "; index: int32; value: T; flow_in: float", "flow_out: float",
             "T: type", write_shape, write_gradient, "Puts a tensor into a slot."),
    ONE_SLOT("TensorArrayRead", "; index: int32; flow_in: float", "value: dtype", "dtype: type",
             read_shape, read_gradient, "The tensor in a slot, which is mostly emptied."),
    ONE_SLOT("TensorArraySize", "; flow_in: float", "size: int32", NULL, size_shape,
             leat_gradient_none, "How many slots there are."),
    ONE_SLOT("TensorArrayClose", "", NULL, NULL, leat_array_check_handle, leat_gradient_none,
             "Forgets all tensors; the array cannot be used any more."),
    LEAT_OP_ROWS_END,
};
