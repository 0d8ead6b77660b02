// The objects of a SavedModel's object graph, as far as concrete functions capture them. A function
// of the model takes, behind its own arguments, what it captured when it was traced: variables,
// constants, paths of assets, tables. In the file each is the number of an object. Here it becomes
// a value, a resource handle or a tensor, that is made when a function first needs it and fed to
// the function's call like an argument:
//
//     object 7: variable "w" ──▶ handle of the session's variable ──▶ feed of each call
//
// Signatures must see what functions do, so that both must mean the same variable. The file does
// not say which node of the graph a variable is. But a node of the graph that calls a concrete
// function has the captured objects as its last inputs, in order, and a variable whose name no
// other has is the node of that name. An object that neither rule finds is used by no signature,
// so that it gets a resource of its own: a variable is restored from the checkpoint, and a table is
// made and filled by the functions that the model brings for that.
#include "capi/eager/saved_model.h"

#include <stdio.h>
#include <string.h>

#include "formats/generated/object_graph.h"
#include "formats/wire/decode.h"
#include "formats/wire/shape_proto.h"
#include "graph/function/graph_functions.h"
#include "session/meta_graph.h"
#include "tensorflow/c/c_api_experimental.h"

// Functions that are made because another captures what they make nest at most so deep.
#define MAX_DEPTH 32

// ---- Life ---------------------------------------------------------------------------------------

// Notes for each node that |node| captures by calling a concrete function which tensor it is.
static void bind_call(leat_model_objects_t* objects, const leat_node_t* node) {
  const leat_attr_value_t* f = leat_node_attr(node, LEAT_SV("f"));
  const bool is_call = f && f->kind == LEAT_ATTR_FUNCTION && !f->is_list;
  uint64_t number = 0;
  if (!leat_string_map_get(&objects->functions, is_call ? f->function->name : node->op->name,
                           &number)) {
    return;
  }
  const leat_pb_saved_concrete_function_t* function =
      objects->graph->concrete_functions.items[number].value;
  const size_t count = function ? function->bound_inputs.count : 0;
  if (count > (size_t)node->input_count) return;
  for (size_t i = 0; i < count; ++i) {
    const int32_t object = function->bound_inputs.items[i];
    if (object < 0 || (size_t)object >= objects->graph->nodes.count) continue;
    if (objects->bound[object].node >= 0) continue;
    objects->bound[object] = node->inputs[(size_t)node->input_count - count + i];
  }
}

static leat_status_t fill(TF_SavedModel* model, leat_model_objects_t* objects) {
  const size_t count = objects->graph->nodes.count;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&model->calls, count, &objects->values));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&model->calls, count, &objects->states));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&model->calls, count, &objects->bound));
  for (size_t i = 0; i < objects->graph->concrete_functions.count; ++i) {
    LEAT_RETURN_IF_ERROR(leat_string_map_set(&objects->functions,
                                             objects->graph->concrete_functions.items[i].key, i));
  }
  for (size_t i = 0; i < count; ++i) {
    const leat_pb_saved_variable_t* variable = objects->graph->nodes.items[i].variable;
    uint64_t* uses = NULL;
    objects->bound[i].node = -1;
    if (!variable) continue;
    LEAT_RETURN_IF_ERROR(
        leat_string_map_insert(&objects->variables, variable->name, 0, &uses, NULL));
    ++*uses;
  }
  const leat_graph_t* graph = leat_capi_lock(model->graph);
  for (size_t i = 0; i < graph->node_count; ++i) {
    bind_call(objects, leat_graph_node(graph, (int32_t)i));
  }
  leat_capi_unlock(model->graph);
  return leat_ok_status();
}

leat_status_t leat_model_objects_open(TF_SavedModel* model) {
  if (model->objects) return leat_ok_status();
  if (!model->def.object_graph_def || model->def.object_graph_def->nodes.count == 0) {
    return leat_make_status(LEAT_NOT_FOUND, "The SavedModel in %s has no objects",
                            model->directory.data);
  }
  leat_model_objects_t* objects = leat_capi_allocate(sizeof *objects);
  if (!objects) return leat_make_status(LEAT_RESOURCE_EXHAUSTED, "Memory for objects ran out");
  objects->graph = model->def.object_graph_def;
  leat_string_map_initialize(leat_allocator_system(), &objects->functions);
  leat_string_map_initialize(leat_allocator_system(), &objects->variables);
  leat_status_t status = fill(model, objects);
  if (status) {
    leat_model_objects_free(objects);
    return status;
  }
  model->objects = objects;
  return status;
}

void leat_model_objects_free(leat_model_objects_t* objects) {
  if (!objects) return;
  leat_model_functions_free(objects->made);
  for (size_t i = 0; objects->values && i < objects->graph->nodes.count; ++i) {
    leat_tensor_release(&objects->values[i]);
  }
  leat_string_map_deinitialize(&objects->functions);
  leat_string_map_deinitialize(&objects->variables);
  leat_allocator_free(leat_allocator_system(), objects);
}

// ---- Nodes that are added to the model's graph --------------------------------------------------

static leat_status_t lacks(const TF_SavedModel* model, const char* what, leat_string_view_t name) {
  return leat_make_status(LEAT_FAILED_PRECONDITION, "The SavedModel in %s lacks %s '%.*s'",
                          model->directory.data, what, LEAT_SV_ARG(name));
}

// Adds a node of the op, or function, |op|, whose name is "leat_object_<n>/|part|". The caller
// holds the graph's lock.
static leat_status_t add_node(TF_SavedModel* model, leat_graph_t* graph, leat_string_view_t op,
                              const char* part, const leat_output_t* inputs, int input_count,
                              const leat_attr_t* attrs, int attr_count, int32_t* out_node) {
  char name[64];
  leat_node_spec_t spec = {.inputs = inputs, .input_count = input_count,
                           .attrs = attrs, .attr_count = attr_count, .infer_attrs = true};
  do {
    snprintf(name, sizeof name, "leat_object_%d/%s", model->objects->calls++, part);
  } while (leat_graph_find_node(graph, leat_string_view_from(name)) >= 0);
  spec.name = leat_string_view_from(name);
  LEAT_RETURN_IF_ERROR(leat_graph_find_op(graph, op, &spec.op));
  return leat_graph_add_node(graph, &spec, out_node);
}

static leat_status_t add_placeholder(TF_SavedModel* model, leat_graph_t* graph,
                                     leat_dtype_t dtype, leat_output_t* out_output) {
  const leat_attr_t type = LEAT_TYPE("dtype", dtype);
  *out_output = (leat_output_t){-1, 0};
  return add_node(model, graph, LEAT_SV("Placeholder"), "value", NULL, 0, &type, 1,
                  &out_output->node);
}

static leat_status_t fetch(const TF_SavedModel* model, leat_output_t output,
                           leat_tensor_t* out_value) {
  const leat_run_t run = {.fetches = &output, .fetch_values = out_value, .fetch_count = 1};
  return leat_session_run(model->session->session, &run);
}

// Adds placeholders for all inputs of the function, and a node that calls it.
static leat_status_t add_call(TF_SavedModel* model, leat_graph_t* graph, leat_model_call_t* call) {
  const leat_op_t* op = NULL;
  leat_output_t *feeds = NULL, *returns = NULL;
  if (!leat_function_library_find(graph->functions, call->name)) {
    return lacks(model, "the function", call->name);
  }
  LEAT_RETURN_IF_ERROR(leat_graph_find_op(graph, call->name, &op));
  if (op->input_count < (int)call->capture_count) {
    return leat_make_status(LEAT_FAILED_PRECONDITION,
                            "Function '%.*s' has %d inputs, must have the %zu that it captures",
                            LEAT_SV_ARG(call->name), op->input_count, call->capture_count);
  }
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&model->calls, (size_t)op->input_count + 1, &feeds));
  for (int i = 0; i < op->input_count; ++i) {
    LEAT_RETURN_IF_ERROR(add_placeholder(model, graph, op->inputs[i].dtype, &feeds[i]));
  }
  LEAT_RETURN_IF_ERROR(add_node(model, graph, call->name, "call", feeds, op->input_count, NULL, 0,
                                &call->target));
  call->feeds = feeds;
  call->arg_count = (size_t)op->input_count - call->capture_count;
  call->return_count = (size_t)leat_graph_node(graph, call->target)->output_count;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&model->calls, call->return_count + 1, &returns));
  for (size_t i = 0; i < call->return_count; ++i) {
    returns[i] = (leat_output_t){call->target, (int32_t)i};
  }
  call->returns = returns;
  return leat_ok_status();
}

// ---- Variables ----------------------------------------------------------------------------------

typedef leat_pb_trackable_object_graph_trackable_object_t trackable_t;
typedef leat_pb_trackable_object_graph_trackable_object_object_reference_list_t children_t;

static int32_t find_child(const children_t* children, leat_string_view_t name, size_t node_count) {
  for (size_t i = 0; i < children->count; ++i) {
    const int32_t node = children->items[i].node_id;
    if (!leat_string_view_equal(children->items[i].local_name, name)) continue;
    return node >= 0 && (size_t)node < node_count ? node : -1;
  }
  return -1;
}

static leat_string_view_t key_of(const trackable_t* object) {
  for (size_t i = 0; i < object->attributes.count; ++i) {
    if (leat_string_view_equals(object->attributes.items[i].name, "VARIABLE_VALUE")) {
      return object->attributes.items[i].checkpoint_key;
    }
  }
  return LEAT_SV("");
}

// Walks over both object graphs from their roots: a child of the model's is the child of the same
// name in the checkpoint's, which numbers its nodes in another way.
static leat_status_t match_keys(TF_SavedModel* model,
                                const leat_pb_trackable_object_graph_t* saved) {
  leat_model_objects_t* objects = model->objects;
  const size_t count = objects->graph->nodes.count;
  int32_t* pairs = NULL;  // of nodes whose children are still to be matched, and their partners
  bool* is_seen = NULL;
  size_t pending = 1;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&model->calls, 2 * count, &pairs));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&model->calls, count, &is_seen));
  is_seen[0] = true;
  if (saved->nodes.count == 0) return leat_ok_status();
  while (pending > 0) {
    const int32_t node = pairs[2 * --pending], partner = pairs[2 * pending + 1];
    const children_t* children = &objects->graph->nodes.items[node].children;
    objects->keys[node] = key_of(&saved->nodes.items[partner]);
    for (size_t i = 0; i < children->count; ++i) {
      const int32_t child = children->items[i].node_id;
      if (child < 0 || (size_t)child >= count || is_seen[child]) continue;
      const int32_t match = find_child(&saved->nodes.items[partner].children,
                                       children->items[i].local_name, saved->nodes.count);
      if (match < 0) continue;
      is_seen[child] = true;
      pairs[2 * pending] = child;
      pairs[2 * pending++ + 1] = match;
    }
  }
  return leat_ok_status();
}

// Reads the tensor |key| of the model's checkpoint.
static leat_status_t read_variable(TF_SavedModel* model, leat_string_view_t key,
                                   leat_tensor_t* out_value) {
  TF_Status status = {0};
  TF_Tensor* value = NULL;
  leat_string_view_t path = {NULL, 0}, name = {NULL, 0};
  LEAT_RETURN_IF_ERROR(leat_arena_print(&model->calls, &path, "%s/variables/variables",
                                        model->directory.data));
  LEAT_RETURN_IF_ERROR(leat_arena_copy_string(&model->calls, key, &name));
  TF_CheckpointReader* reader = TF_NewCheckpointReader(path.data, &status);
  if (reader) value = TF_CheckpointReaderGetTensor(reader, name.data, &status);
  TF_DeleteCheckpointReader(reader);
  leat_status_t result = leat_capi_status_take(&status);
  if (!result) result = leat_capi_tensor_value(value, out_value);
  TF_DeleteTensor(value);
  return result;
}

// Finds out under which key the checkpoint has each variable.
static leat_status_t read_keys(TF_SavedModel* model) {
  leat_model_objects_t* objects = model->objects;
  leat_tensor_t serialized = {0};
  leat_string_view_t bytes;
  leat_pb_trackable_object_graph_t saved = {0};
  if (objects->keys) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(
      read_variable(model, LEAT_SV("_CHECKPOINTABLE_OBJECT_GRAPH"), &serialized));
  leat_status_t status = leat_ok_status();
  if (serialized.dtype != LEAT_DTYPE_STRING || serialized.shape.element_count != 1) {
    status = lacks(model, "in its checkpoint a string", LEAT_SV("_CHECKPOINTABLE_OBJECT_GRAPH"));
  }
  if (!status) {
    status = leat_arena_copy_string(&model->calls, leat_tensor_string_at(&serialized, 0), &bytes);
  }
  leat_tensor_release(&serialized);
  if (!status) {
    status = leat_message_decode(&leat_pb_trackable_object_graph_descriptor, bytes, &model->calls,
                                 NULL, &saved);
  }
  LEAT_RETURN_IF_ERROR(status);
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&model->calls, objects->graph->nodes.count, &objects->keys));
  return match_keys(model, &saved);
}

// Adds a variable, and what assigns the value of a placeholder to it.
static leat_status_t add_variable(TF_SavedModel* model, leat_graph_t* graph,
                                  const leat_pb_saved_variable_t* variable,
                                  leat_output_t* out_handle, leat_output_t* out_feed,
                                  int32_t* out_assign) {
  leat_partial_shape_t shape = leat_partial_shape_unknown();
  if (variable->shape) {
    LEAT_RETURN_IF_ERROR(leat_partial_shape_from_proto(variable->shape, &model->calls, &shape));
  }
  const leat_attr_t attrs[] = {LEAT_TYPE("dtype", (leat_dtype_t)variable->dtype),
                               LEAT_SHAPE("shape", shape)};
  *out_handle = (leat_output_t){-1, 0};
  LEAT_RETURN_IF_ERROR(add_node(model, graph, LEAT_SV("VarHandleOp"), "variable", NULL, 0, attrs,
                                2, &out_handle->node));
  LEAT_RETURN_IF_ERROR(
      add_placeholder(model, graph, (leat_dtype_t)variable->dtype, out_feed));
  const leat_output_t inputs[] = {*out_handle, *out_feed};
  return add_node(model, graph, LEAT_SV("AssignVariableOp"), "assign", inputs, 2, NULL, 0,
                  out_assign);
}

// Makes a variable with the value from the checkpoint, if that has one.
static leat_status_t restore_variable(TF_SavedModel* model, int32_t object,
                                      const leat_pb_saved_variable_t* variable,
                                      leat_tensor_t* out_handle) {
  leat_output_t handle, feed;
  leat_tensor_t value = {0};
  int32_t assign = -1;
  LEAT_RETURN_IF_ERROR(read_keys(model));
  leat_graph_t* graph = leat_capi_lock(model->graph);
  const leat_graph_mark_t mark = leat_graph_mark(graph);
  leat_status_t status = add_variable(model, graph, variable, &handle, &feed, &assign);
  if (status) leat_graph_return_to(graph, &mark);
  leat_capi_unlock(model->graph);
  LEAT_RETURN_IF_ERROR(status);
  if (model->objects->keys[object].size == 0) return fetch(model, handle, out_handle);
  LEAT_RETURN_IF_ERROR(read_variable(model, model->objects->keys[object], &value));
  const leat_run_t run = {.feeds = &feed, .feed_values = &value, .feed_count = 1,
                          .fetches = &handle, .fetch_values = out_handle, .fetch_count = 1,
                          .targets = &assign, .target_count = 1};
  status = leat_session_run(model->session->session, &run);
  leat_tensor_release(&value);
  return status;
}

static leat_status_t revive_variable(TF_SavedModel* model, int32_t object,
                                     const leat_pb_saved_variable_t* variable,
                                     leat_tensor_t* out_value) {
  uint64_t uses = 0;
  leat_string_map_get(&model->objects->variables, variable->name, &uses);
  const leat_graph_t* graph = leat_capi_lock(model->graph);
  const int32_t node = uses == 1 ? leat_graph_find_node(graph, variable->name) : -1;
  const bool is_it =
      node >= 0 &&
      leat_string_view_equals(leat_graph_node(graph, node)->op->name, "VarHandleOp");
  leat_capi_unlock(model->graph);
  return is_it ? fetch(model, (leat_output_t){node, 0}, out_value)
               : restore_variable(model, object, variable, out_value);
}

// ---- Other objects ------------------------------------------------------------------------------

static leat_status_t revive_asset(TF_SavedModel* model, const leat_pb_saved_asset_t* asset,
                                  leat_tensor_t* out_value) {
  const leat_pb_asset_file_def_list_t* files = &model->def.asset_file_def;
  const int32_t index = asset->asset_file_def_index;
  if (index < 0 || (size_t)index >= files->count) {
    return leat_make_status(LEAT_FAILED_PRECONDITION,
                            "An object of the SavedModel in %s is asset %d, of which there are %zu",
                            model->directory.data, index, files->count);
  }
  leat_string_view_t path;
  LEAT_RETURN_IF_ERROR(leat_arena_print(&model->calls, &path, "%s/assets/%.*s",
                                        model->directory.data,
                                        LEAT_SV_ARG(files->items[index].filename)));
  return leat_tensor_scalar_string(path, out_value);
}

// The name of the one concrete function behind the child |name| of |object|; "" where there is
// none.
static leat_string_view_t child_function(const TF_SavedModel* model, int32_t object,
                                         const char* name) {
  const leat_pb_saved_object_list_t* nodes = &model->objects->graph->nodes;
  const int32_t child =
      find_child(&nodes->items[object].children, leat_string_view_from(name), nodes->count);
  if (child < 0) return LEAT_SV("");
  const leat_pb_saved_function_t* function = nodes->items[child].function;
  const leat_pb_saved_bare_concrete_function_t* bare = nodes->items[child].bare_concrete_function;
  if (bare) return bare->concrete_function_name;
  return function && function->concrete_functions.count == 1
             ? function->concrete_functions.items[0]
             : LEAT_SV("");
}

// Calls a function without arguments, which gives |return_count| values.
static leat_status_t call_once(TF_SavedModel* model, leat_string_view_t name, size_t return_count,
                               leat_tensor_t* out_value) {
  leat_model_call_t call;
  LEAT_RETURN_IF_ERROR(leat_model_call_make(model, name, &call));
  if (call.arg_count > 0 || call.return_count < return_count) {
    return leat_make_status(LEAT_FAILED_PRECONDITION,
                            "Function '%.*s' has %zu arguments and %zu results, must have none and "
                            "at least %zu",
                            LEAT_SV_ARG(name), call.arg_count, call.return_count, return_count);
  }
  const leat_run_t run = {.feeds = call.feeds, .feed_values = call.captures,
                          .feed_count = (int)call.capture_count,
                          .fetches = call.returns, .fetch_values = out_value,
                          .fetch_count = (int)return_count,
                          .targets = &call.target, .target_count = 1};
  return leat_session_run(model->session->session, &run);
}

// A table or the like: made by one of its functions, then filled by another.
static leat_status_t revive_resource(TF_SavedModel* model, int32_t object) {
  const leat_string_view_t create = child_function(model, object, "_create_resource");
  const leat_string_view_t initialize = child_function(model, object, "_initialize");
  if (create.size == 0) {
    return lacks(model, "for a resource the function", LEAT_SV("_create_resource"));
  }
  LEAT_RETURN_IF_ERROR(call_once(model, create, 1, &model->objects->values[object]));
  return initialize.size > 0 ? call_once(model, initialize, 0, NULL) : leat_ok_status();
}

static leat_status_t revive_constant(TF_SavedModel* model, leat_string_view_t operation,
                                     leat_tensor_t* out_value) {
  leat_output_t output;
  LEAT_RETURN_IF_ERROR(leat_meta_graph_find(model->graph->shared, operation, &output));
  return fetch(model, output, out_value);
}

// Makes the value of |object|, unless it is there.
static leat_status_t revive(TF_SavedModel* model, int32_t object) {
  leat_model_objects_t* objects = model->objects;
  const leat_pb_saved_object_t* node = &objects->graph->nodes.items[object];
  leat_tensor_t* value = &objects->values[object];
  if (value->dtype != 0) return leat_ok_status();
  if (objects->bound[object].node >= 0) return fetch(model, objects->bound[object], value);
  if (node->variable) return revive_variable(model, object, node->variable, value);
  if (node->constant) return revive_constant(model, node->constant->operation, value);
  if (node->asset) return revive_asset(model, node->asset, value);
  if (node->resource && !objects->states[object]) {
    objects->states[object] = true;
    leat_status_t status = revive_resource(model, object);
    objects->states[object] = false;
    return status;
  }
  return leat_make_status(LEAT_FAILED_PRECONDITION,
                          "Object %d of the SavedModel in %s is captured by a function, must be a "
                          "variable, a constant, an asset or a resource that does not need itself",
                          object, model->directory.data);
}

// ---- Calls --------------------------------------------------------------------------------------

// Revives what a function captures, as an array behind |call|.
static leat_status_t capture(TF_SavedModel* model,
                             const leat_pb_saved_concrete_function_t* function,
                             leat_model_call_t* call) {
  leat_tensor_t* captures = NULL;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&model->calls, call->capture_count + 1, &captures));
  for (size_t i = 0; i < call->capture_count; ++i) {
    const int32_t object = function->bound_inputs.items[i];
    if (object < 0 || (size_t)object >= model->objects->graph->nodes.count) {
      return leat_make_status(LEAT_FAILED_PRECONDITION,
                              "Function '%.*s' captures object %d, of which there are %zu",
                              LEAT_SV_ARG(call->name), object,
                              model->objects->graph->nodes.count);
    }
    LEAT_RETURN_IF_ERROR(revive(model, object));
    captures[i] = model->objects->values[object];
  }
  call->captures = captures;
  return leat_ok_status();
}

leat_status_t leat_model_call_make(TF_SavedModel* model, leat_string_view_t name,
                                   leat_model_call_t* out_call) {
  leat_model_objects_t* objects = model->objects;
  uint64_t number = 0;
  if (!leat_string_map_get(&objects->functions, name, &number) ||
      !objects->graph->concrete_functions.items[number].value) {
    return lacks(model, "the concrete function", name);
  }
  if (objects->depth >= MAX_DEPTH) {
    return leat_make_status(LEAT_FAILED_PRECONDITION,
                            "Functions that make what function '%.*s' captures nest deeper than %d",
                            LEAT_SV_ARG(name), MAX_DEPTH);
  }
  const leat_pb_saved_concrete_function_t* function =
      objects->graph->concrete_functions.items[number].value;
  *out_call = (leat_model_call_t){.model = model, .kind = "function", .name = name,
                                  .capture_count = function->bound_inputs.count};
  ++objects->depth;
  leat_status_t status = capture(model, function, out_call);
  --objects->depth;
  LEAT_RETURN_IF_ERROR(status);
  leat_graph_t* graph = leat_capi_lock(model->graph);
  const leat_graph_mark_t mark = leat_graph_mark(graph);
  status = add_call(model, graph, out_call);
  if (status) leat_graph_return_to(graph, &mark);
  leat_capi_unlock(model->graph);
  return status;
}
