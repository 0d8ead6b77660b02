// TFE_InferShapes: the shapes of an op's outputs, from shapes of its inputs and without running it.
// The op becomes the only node of a graph over placeholders of the given shapes, or over constants
// where the client gives a value on which the shapes may depend; the graph infers the rest as it
// does for any node. The handles that were added to the op do not count, except that the types of
// the inputs may follow from them.
#include <stdio.h>

#include "capi/eager/eager.h"
#include "tensorflow/c/c_api_experimental.h"

// The attribute of the op called |name| as it is set, or its default; NULL: neither.
static const leat_attr_value_t* attr_of(const TFE_Op* op, int index) {
  const TF_OperationDescription* desc = op->description;
  const leat_op_attr_t* declared = &op->op->attrs[index];
  const leat_attr_value_t* set =
      leat_attr_find(desc->attrs, (int)desc->attr_count, declared->name);
  return set || !declared->has_default ? set : &declared->default_value;
}

// How many tensors |argument| stands for.
static int64_t length_of(const TFE_Op* op, const leat_op_argument_t* argument) {
  if (argument->source == LEAT_TYPE_FROM_LIST) {
    const leat_attr_value_t* types = attr_of(op, argument->type_attr);
    return types ? types->count : 0;
  }
  if (argument->number_attr < 0) return 1;
  const leat_attr_value_t* number = attr_of(op, argument->number_attr);
  return number ? number->i : 0;
}

// The type of item |item| of |argument|. Where the attributes do not tell it, any type that the op
// allows gives the same shapes.
static int type_of(const TFE_Op* op, const leat_op_argument_t* argument, int64_t item) {
  if (argument->source == LEAT_TYPE_FIXED) return (int)argument->dtype;
  const leat_op_attr_t* declared = &op->op->attrs[argument->type_attr];
  const leat_attr_value_t* type = attr_of(op, argument->type_attr);
  if (!type) return declared->allowed_type_count > 0 ? declared->allowed_type_list[0] : TF_FLOAT;
  return argument->source == LEAT_TYPE_FROM_LIST ? type->types[item] : type->type;
}

// The type of input |index|, counted tensor by tensor; 0 where the op has none of that number.
static int input_type(const TFE_Op* op, int64_t index) {
  for (int i = 0; i < op->op->input_count; ++i) {
    int64_t length = length_of(op, &op->op->inputs[i]);
    if (index < length) return type_of(op, &op->op->inputs[i], index);
    index -= length;
  }
  return 0;
}

static leat_status_t add_input(leat_graph_t* graph, int index, const char* op_name,
                               const leat_attr_t* attrs) {
  const leat_op_t* op = NULL;
  char name[32];
  int32_t node = -1;
  LEAT_RETURN_IF_ERROR(leat_op_registry_find(graph->ops, leat_string_view_from(op_name), &op));
  snprintf(name, sizeof name, "input_%d", index);
  leat_node_spec_t spec = {
      .name = leat_string_view_from(name), .op = op, .attrs = attrs, .attr_count = 2};
  return leat_graph_add_node(graph, &spec, &node);
}

static leat_status_t add_value(leat_graph_t* graph, int index, const TF_Tensor* handle) {
  leat_tensor_t value;
  LEAT_RETURN_IF_ERROR(leat_capi_tensor_value(handle, &value));
  const leat_attr_t attrs[] = {LEAT_TYPE("dtype", value.dtype),
                               {LEAT_SV("value"), {.kind = LEAT_ATTR_TENSOR, .tensor = &value}}};
  leat_status_t status = add_input(graph, index, "Const", attrs);
  leat_tensor_release(&value);
  return status;
}

static leat_status_t add_shape(const TFE_Op* op, leat_graph_t* graph, int index,
                               const TF_ShapeAndType* item) {
  int dtype = item->dtype ? (int)item->dtype : input_type(op, index);
  leat_partial_shape_t shape = leat_partial_shape_unknown();
  if (dtype == 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Inferring shapes failed for op '%.*s': there is a shape for input "
                            "%d, which the op does not have",
                            LEAT_SV_ARG(op->op->name), index);
  }
  if (item->num_dims >= 0) {
    LEAT_RETURN_IF_ERROR(leat_partial_shape_create(item->num_dims, item->dims,
                                                   leat_graph_arena(graph), &shape));
  }
  const leat_attr_t attrs[] = {LEAT_TYPE("dtype", dtype), LEAT_SHAPE("shape", shape)};
  return add_input(graph, index, "Placeholder", attrs);
}

// Adds the inputs as nodes 0, 1, ..., and then the op's node.
static leat_status_t add_nodes(const TFE_Op* op, const TF_ShapeAndTypeList* shapes,
                               TF_Tensor* const* values, leat_graph_t* graph, int32_t* out_node) {
  leat_output_t* inputs = NULL;
  LEAT_RETURN_IF_ERROR(leat_status_clone(op->description->status));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(leat_graph_arena(graph), (size_t)shapes->num_items + 1, &inputs));
  for (int i = 0; i < shapes->num_items; ++i) {
    LEAT_RETURN_IF_ERROR(values && values[i] ? add_value(graph, i, values[i])
                                             : add_shape(op, graph, i, &shapes->items[i]));
    inputs[i] = (leat_output_t){i, 0};
  }
  leat_node_spec_t spec = {.name = LEAT_SV("op"),
                           .op = op->op,
                           .inputs = inputs,
                           .input_count = shapes->num_items,
                           .attrs = op->description->attrs,
                           .attr_count = (int)op->description->attr_count,
                           .infer_attrs = true};
  return leat_graph_add_node(graph, &spec, out_node);
}

static leat_status_t list_outputs(const leat_graph_t* graph, int32_t index,
                                  TF_ShapeAndTypeList** out_list) {
  const leat_node_t* node = leat_graph_node(graph, index);
  TF_ShapeAndTypeList* list = TF_NewShapeAndTypeList(node->output_count);
  if (!list) return leat_make_status(LEAT_RESOURCE_EXHAUSTED, "Memory for shapes ran out");
  for (int i = 0; i < list->num_items; ++i) {
    leat_partial_shape_t shape = leat_graph_output_shape(graph, (leat_output_t){index, i});
    TF_ShapeAndTypeListSetShape(list, i, shape.dims, shape.rank);
    TF_ShapeAndTypeListSetDtype(list, i, (TF_DataType)node->output_types[i]);
  }
  *out_list = list;
  return leat_ok_status();
}

static leat_status_t infer(const TFE_Op* op, const TF_ShapeAndTypeList* shapes,
                           TF_Tensor* const* values, TF_ShapeAndTypeList** out_list) {
  leat_shared_graph_t* shared = NULL;
  const leat_runtime_t* runtime = NULL;
  int32_t node = -1;
  LEAT_RETURN_IF_ERROR(leat_runtime_get(&runtime));
  LEAT_RETURN_IF_ERROR(leat_shared_graph_create(runtime, &shared));
  leat_status_t status = add_nodes(op, shapes, values, shared->graph, &node);
  if (!status) status = list_outputs(shared->graph, node, out_list);
  leat_shared_graph_release(shared);
  return status;
}

void TFE_InferShapes(TFE_Op* op, TF_ShapeAndTypeList* input_shapes, TF_Tensor** input_tensors,
                     TF_ShapeAndTypeList* input_tensor_as_shapes,
                     TF_ShapeAndTypeList** input_resource_shapes_and_types,
                     TF_ShapeAndTypeList** output_shapes,
                     TF_ShapeAndTypeList*** output_resource_shapes_and_types, TF_Status* status) {
  TF_ShapeAndTypeList* list = NULL;
  leat_capi_status_set(status, infer(op, input_shapes, input_tensors, &list));
  if (output_shapes) {
    *output_shapes = list;
  } else {
    TF_DeleteShapeAndTypeList(list);
  }
}
