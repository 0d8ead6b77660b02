// Functions of a SavedModel by their path in its object graph (concrete_function.h): "f" is the
// function that the saved object had as its attribute f, "layers.0.call" one of an object below it.
// As TensorFlow's loader does it, each part of the path names a child of the object before, and a
// function must have been traced once, for one kind of arguments, since there is nobody here to
// choose among traces; a trace of a function that has several is found under its own name
// ("f.trace_1"). A function is made when it is first asked for (model_objects.c) and then kept by
// the model, so that asking again gives the same one.
#include "capi/eager/saved_model.h"

#include <string.h>

#include "formats/generated/object_graph.h"
#include "leat/saved_model.h"

struct TF_TensorHandleList {
  size_t count;
  TFE_TensorHandle** items;
};

// What TensorFlow says of a function besides its inputs and results, which is nothing.
struct TF_FunctionMetadata {
  const TF_ConcreteFunction* function;
};

struct TF_ConcreteFunction {
  leat_model_call_t call;
  TF_FunctionMetadata metadata;
  TF_TensorHandleList captures;
  TF_ConcreteFunction* next;  // in the model's list
};

struct TF_ConcreteFunctionList {
  size_t count;
  TF_ConcreteFunction* items[];
};

// ---- Making -------------------------------------------------------------------------------------

void leat_model_functions_free(TF_ConcreteFunction* function) {
  while (function) {
    TF_ConcreteFunction* next = function->next;
    for (size_t i = 0; i < function->captures.count; ++i) {
      TFE_DeleteTensorHandle(function->captures.items[i]);
    }
    leat_allocator_free(leat_allocator_system(), function->captures.items);
    leat_allocator_free(leat_allocator_system(), function);
    function = next;
  }
}

// Makes the handles of what the function captures.
static leat_status_t wrap_captures(TF_ConcreteFunction* function) {
  TF_TensorHandleList* list = &function->captures;
  const leat_model_call_t* call = &function->call;
  LEAT_RETURN_IF_ERROR(
      LEAT_ALLOCATE(leat_allocator_system(), call->capture_count + 1, &list->items));
  for (; list->count < call->capture_count; ++list->count) {
    leat_tensor_t value = leat_tensor_share(&call->captures[list->count]);
    LEAT_RETURN_IF_ERROR(leat_eager_handle_create(&value, &list->items[list->count]));
  }
  return leat_ok_status();
}

// Finds or makes the function; the caller holds the model's mutex.
static leat_status_t find_or_make(TF_SavedModel* model, leat_string_view_t name,
                                  TF_ConcreteFunction** out_function) {
  for (TF_ConcreteFunction* f = model->objects->made; f; f = f->next) {
    if (!leat_string_view_equal(f->call.name, name)) continue;
    *out_function = f;
    return leat_ok_status();
  }
  TF_ConcreteFunction* function = leat_capi_allocate(sizeof *function);
  if (!function) return leat_make_status(LEAT_RESOURCE_EXHAUSTED, "Memory for a function ran out");
  leat_status_t status = leat_model_call_make(model, name, &function->call);
  if (!status) status = wrap_captures(function);
  if (status) {
    leat_model_functions_free(function);
    return status;
  }
  function->metadata.function = function;
  function->next = model->objects->made;
  model->objects->made = *out_function = function;
  return status;
}

// ---- Finding ------------------------------------------------------------------------------------

// The object at |path|, whose parts are the names of children; NULL: there is none.
static const leat_pb_saved_object_t* find_object(const leat_pb_saved_object_graph_t* graph,
                                                 const char* path) {
  const leat_pb_saved_object_t* object = &graph->nodes.items[0];
  for (const char* part = path; part && object; part = *part ? part + 1 : NULL) {
    const size_t size = strcspn(part, ".");
    const leat_string_view_t name = leat_string_view_make(part, size);
    const leat_pb_saved_object_t* child = NULL;
    for (size_t i = 0; !child && i < object->children.count; ++i) {
      const int32_t node = object->children.items[i].node_id;
      const bool is_it = leat_string_view_equal(object->children.items[i].local_name, name);
      if (is_it && node >= 0 && (size_t)node < graph->nodes.count) {
        child = &graph->nodes.items[node];
      }
    }
    object = child;
    part += size;
  }
  return object;
}

// Sets |out_name| to the concrete function that |object| is; "" where it is no function.
static leat_status_t function_of(const leat_pb_saved_object_t* object, const char* path,
                                 leat_string_view_t* out_name) {
  *out_name = LEAT_SV("");
  if (object->bare_concrete_function) {
    *out_name = object->bare_concrete_function->concrete_function_name;
  } else if (object->function) {
    const size_t count = object->function->concrete_functions.count;
    if (count != 1) {
      return leat_make_status(LEAT_FAILED_PRECONDITION,
                              "Function '%s' has %zu traces, must have 1: give it an input "
                              "signature when the model is saved, or name a trace (%s.trace_0)",
                              path, count, path);
    }
    *out_name = object->function->concrete_functions.items[0];
  }
  return leat_ok_status();
}

static leat_status_t get_function(TF_SavedModel* model, const char* path,
                                  TF_ConcreteFunction** out_function) {
  leat_string_view_t name;
  LEAT_RETURN_IF_ERROR(leat_model_objects_open(model));
  const leat_pb_saved_object_t* object = find_object(model->objects->graph, path ? path : "");
  if (!object) {
    return leat_make_status(LEAT_NOT_FOUND, "No saved object found at path %s", path ? path : "");
  }
  LEAT_RETURN_IF_ERROR(function_of(object, path, &name));
  if (name.size == 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "%s is not a path to a Function.", path);
  }
  return find_or_make(model, name, out_function);
}

TF_ConcreteFunction* TF_GetSavedModelConcreteFunction(TF_SavedModel* model,
                                                      const char* function_path,
                                                      TF_Status* status) {
  TF_ConcreteFunction* function = NULL;
  leat_mutex_lock(&model->mutex);
  leat_status_t result = get_function(model, function_path, &function);
  leat_mutex_unlock(&model->mutex);
  leat_capi_status_set(status, result);
  return function;
}

// ---- What a function is -------------------------------------------------------------------------

TF_FunctionMetadata* TF_ConcreteFunctionGetMetadata(TF_ConcreteFunction* func) {
  return &func->metadata;
}

TFE_Op* TF_ConcreteFunctionMakeCallOp(TF_ConcreteFunction* func, TFE_TensorHandle** inputs,
                                      int num_inputs, TF_Status* status) {
  return leat_model_call_op(&func->call, inputs, num_inputs, status);
}

const TF_TensorHandleList* leat_concrete_function_captures(const TF_ConcreteFunction* function) {
  return &function->captures;
}

size_t TF_TensorHandleListSize(const TF_TensorHandleList* list) { return list->count; }

TFE_TensorHandle* TF_TensorHandleListGet(const TF_TensorHandleList* list, int i) {
  return i >= 0 && (size_t)i < list->count ? list->items[i] : NULL;
}

// ---- All functions ------------------------------------------------------------------------------

// Fills |list|, which has room for a function of each object. A function of several traces is
// passed over, since its traces are objects of their own.
static leat_status_t list_functions(TF_SavedModel* model, TF_ConcreteFunctionList* list) {
  const leat_pb_saved_object_list_t* nodes = &model->objects->graph->nodes;
  leat_string_map_t listed;
  leat_string_map_initialize(leat_allocator_system(), &listed);
  leat_status_t status = leat_ok_status();
  for (size_t i = 0; !status && i < nodes->count; ++i) {
    const leat_pb_saved_object_t* object = &nodes->items[i];
    leat_string_view_t name;
    bool is_new = false;
    if (object->function && object->function->concrete_functions.count != 1) continue;
    status = function_of(object, "", &name);
    if (status || name.size == 0) continue;
    status = leat_string_map_insert(&listed, name, 0, NULL, &is_new);
    if (!status && is_new) status = find_or_make(model, name, &list->items[list->count]);
    if (!status && is_new) ++list->count;
  }
  leat_string_map_deinitialize(&listed);
  return status;
}

TF_ConcreteFunctionList* leat_saved_model_functions(TF_SavedModel* model, TF_Status* status) {
  TF_ConcreteFunctionList* list = NULL;
  leat_mutex_lock(&model->mutex);
  leat_status_t result = leat_model_objects_open(model);
  if (!result) {
    list = leat_capi_allocate(sizeof *list +
                              model->objects->graph->nodes.count * sizeof *list->items);
    result = list ? list_functions(model, list)
                  : leat_make_status(LEAT_RESOURCE_EXHAUSTED, "Memory for functions ran out");
  }
  leat_mutex_unlock(&model->mutex);
  if (result) {
    TF_DeleteConcreteFunctionList(list);
    list = NULL;
  }
  leat_capi_status_set(status, result);
  return list;
}

size_t TF_ConcreteFunctionListSize(TF_ConcreteFunctionList* list) { return list->count; }

TF_ConcreteFunction* TF_ConcreteFunctionListGet(TF_ConcreteFunctionList* list, int i) {
  return i >= 0 && (size_t)i < list->count ? list->items[i] : NULL;
}

void TF_DeleteConcreteFunctionList(TF_ConcreteFunctionList* list) {
  leat_allocator_free(leat_allocator_system(), list);
}
