// eager/c_api_unified_experimental.h: one interface over running ops and tracing them. A context is
// either a TFE_Context or the graph of a function's body, and a tensor is either a TFE_TensorHandle
// or an output in such a graph. An op only remembers what it was told; executing it describes it
// to the one or the other:
//
//   TF_AbstractOp ── eager ──▶ TFE_Op, TFE_Execute            ──▶ handles
//                 ── tracing ─▶ TF_NewOperation, TF_FinishOperation ──▶ outputs
#include "tensorflow/c/eager/c_api_unified_experimental.h"

#include <stdio.h>
#include <string.h>

#include "capi/eager/eager.h"

struct TF_ExecutionContext {
  TFE_Context* eager;  // NULL: the context traces
  TF_Graph* graph;     // of the body that is traced
  char* name;          // of the function
  TF_Output* parameters;
  size_t parameter_count, parameter_capacity;
  int64_t op_count;  // numbers nodes that have no name
};

// A handle, or an output of the graph of |function|.
struct TF_AbstractTensor {
  TFE_TensorHandle* handle;
  const TF_ExecutionContext* function;
  TF_Output output;
};

typedef struct type_attr_s {
  char* name;
  TF_DataType value;
} type_attr_t;

struct TF_AbstractOp {
  TF_ExecutionContext* context;
  char *type, *name;
  type_attr_t* attrs;
  size_t attr_count, attr_capacity;
};

struct TF_OutputList {
  TF_AbstractTensor** items;  // borrowed
  size_t count, capacity;
};

struct TF_AbstractFunction {
  TF_Function* function;
};

static leat_status_t copy_text(const char* text, char** out_copy) {
  leat_string_view_t view = leat_string_view_from(text);
  return leat_allocator_clone_string(leat_allocator_system(), view.data, view.size, out_copy);
}

// Gives |object| to the caller, or NULL without memory.
static void* made(void* object, TF_Status* status) {
  leat_capi_status_set(status, object ? leat_ok_status()
                                      : leat_make_status(LEAT_RESOURCE_EXHAUSTED,
                                                         "Memory for an object ran out"));
  return object;
}

// ---- Contexts -----------------------------------------------------------------------------------

void TF_SetTracingImplementation(const char* name, TF_Status* status) {
  bool is_known = strcmp(name, "graphdef") == 0;
  leat_capi_status_set(status, is_known ? leat_ok_status()
                                        : leat_make_status(LEAT_INVALID_ARGUMENT,
                                                           "The way of tracing is '%s', must be "
                                                           "graphdef",
                                                           name));
}

TF_ExecutionContext* TF_CreateFunction(const char* fn_name, TF_Status* status) {
  TF_ExecutionContext* context = leat_capi_allocate(sizeof *context);
  if (context) {
    leat_status_free(copy_text(fn_name, &context->name));
    context->graph = TF_NewGraph();
    if (!context->name || !context->graph) {
      TF_DeleteExecutionContext(context);
      context = NULL;
    }
  }
  return made(context, status);
}

TF_ExecutionContext* TF_NewEagerExecutionContext(TFE_ContextOptions* options, TF_Status* s) {
  TFE_Context* eager = TFE_NewContext(options, s);
  TF_ExecutionContext* context = eager ? leat_capi_allocate(sizeof *context) : NULL;
  if (!eager) return NULL;
  if (context) {
    context->eager = eager;
  } else {
    TFE_DeleteContext(eager);
  }
  return made(context, s);
}

void TF_DeleteExecutionContext(TF_ExecutionContext* ctx) {
  if (!ctx) return;
  TFE_DeleteContext(ctx->eager);
  TF_DeleteGraph(ctx->graph);
  leat_allocator_free(leat_allocator_system(), ctx->name);
  leat_allocator_free(leat_allocator_system(), ctx->parameters);
  leat_allocator_free(leat_allocator_system(), ctx);
}

TFE_Context* TF_ExecutionContextGetTFEContext(TF_ExecutionContext* ctx, TF_Status* s) {
  leat_capi_status_set(s, ctx->eager ? leat_ok_status()
                                     : leat_make_status(LEAT_INVALID_ARGUMENT,
                                                        "Not an eager context."));
  return ctx->eager;
}

// ---- Tensors and lists --------------------------------------------------------------------------

static leat_status_t new_tensor(TF_AbstractTensor value, TF_AbstractTensor** out_tensor) {
  *out_tensor = leat_capi_allocate(sizeof **out_tensor);
  if (!*out_tensor) {
    return leat_make_status(LEAT_RESOURCE_EXHAUSTED, "Memory for a tensor ran out");
  }
  **out_tensor = value;
  return leat_ok_status();
}

TF_AbstractTensor* TF_CreateAbstractTensorFromEagerTensor(TFE_TensorHandle* t, TF_Status* s) {
  TF_AbstractTensor* tensor = NULL;
  leat_capi_status_set(s, new_tensor((TF_AbstractTensor){.handle = t}, &tensor));
  return tensor;
}

TFE_TensorHandle* TF_AbstractTensorGetEagerTensor(TF_AbstractTensor* at, TF_Status* s) {
  leat_capi_status_set(s, at->handle ? leat_ok_status()
                                     : leat_make_status(LEAT_INVALID_ARGUMENT,
                                                        "Not an eager handle."));
  return at->handle;
}

void TF_DeleteAbstractTensor(TF_AbstractTensor* tensor) {
  if (!tensor) return;
  TFE_DeleteTensorHandle(tensor->handle);
  leat_allocator_free(leat_allocator_system(), tensor);
}

TF_OutputList* TF_NewOutputList(void) { return leat_capi_allocate(sizeof(TF_OutputList)); }

void TF_DeleteOutputList(TF_OutputList* o) {
  if (o) leat_allocator_free(leat_allocator_system(), o->items);
  leat_allocator_free(leat_allocator_system(), o);
}

// Makes the list |count| items long; new ones are NULL.
static leat_status_t resize(TF_OutputList* o, size_t count) {
  LEAT_RETURN_IF_ERROR(
      LEAT_GROW(leat_allocator_system(), count + 1, &o->items, &o->capacity));
  for (size_t i = o->count; i < count; ++i) o->items[i] = NULL;
  o->count = count;
  return leat_ok_status();
}

void TF_OutputListSetNumOutputs(TF_OutputList* o, int num_outputs, TF_Status* status) {
  leat_capi_status_set(status, resize(o, num_outputs < 0 ? 0 : (size_t)num_outputs));
}

int TF_OutputListNumOutputs(TF_OutputList* o) { return (int)o->count; }

TF_AbstractTensor* TF_OutputListGet(TF_OutputList* o, int i) {
  return i >= 0 && (size_t)i < o->count ? o->items[i] : NULL;
}

void TF_OutputListPushBack(TF_OutputList* o, TF_AbstractTensor* tensor, TF_Status* status) {
  leat_status_t result = resize(o, o->count + 1);
  if (!result) o->items[o->count - 1] = tensor;
  leat_capi_status_set(status, result);
}

// ---- Ops ----------------------------------------------------------------------------------------

TF_AbstractOp* TF_NewAbstractOp(TF_ExecutionContext* ctx) {
  TF_AbstractOp* op = leat_capi_allocate(sizeof *op);
  if (op) op->context = ctx;
  return op;
}

void TF_DeleteAbstractOp(TF_AbstractOp* op) {
  if (!op) return;
  for (size_t i = 0; i < op->attr_count; ++i) {
    leat_allocator_free(leat_allocator_system(), op->attrs[i].name);
  }
  leat_allocator_free(leat_allocator_system(), op->attrs);
  leat_allocator_free(leat_allocator_system(), op->type);
  leat_allocator_free(leat_allocator_system(), op->name);
  leat_allocator_free(leat_allocator_system(), op);
}

// Sets a text that must not be set yet.
static leat_status_t set_once(const char* what, const char* value, char** inout_text) {
  if (!*inout_text) return copy_text(value, inout_text);
  return leat_make_status(LEAT_FAILED_PRECONDITION,
                          "Setting the %s of an op failed: it is '%s' already", what, *inout_text);
}

void TF_AbstractOpSetOpType(TF_AbstractOp* op, const char* const op_type, TF_Status* s) {
  leat_capi_status_set(s, set_once("type", op_type, &op->type));
}

void TF_AbstractOpSetOpName(TF_AbstractOp* op, const char* const op_name, TF_Status* s) {
  leat_capi_status_set(s, set_once("name", op_name, &op->name));
}

static leat_status_t add_attr(TF_AbstractOp* op, const char* name, TF_DataType value) {
  LEAT_RETURN_IF_ERROR(
      LEAT_GROW(leat_allocator_system(), op->attr_count + 1, &op->attrs, &op->attr_capacity));
  LEAT_RETURN_IF_ERROR(copy_text(name, &op->attrs[op->attr_count].name));
  op->attrs[op->attr_count++].value = value;
  return leat_ok_status();
}

void TF_AbstractOpSetAttrType(TF_AbstractOp* op, const char* const attr_name, TF_DataType value,
                              TF_Status* s) {
  leat_capi_status_set(s, add_attr(op, attr_name, value));
}

// ---- Running ops --------------------------------------------------------------------------------

static leat_status_t wrong_input(int index) {
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Executing an op failed: input %d is of another context, must be of the "
                          "op's",
                          index);
}

// Puts handles, which are taken, into the list as tensors.
static leat_status_t list_handles(TFE_TensorHandle** handles, int count, TF_OutputList* o) {
  leat_status_t status = resize(o, (size_t)count);
  for (int i = 0; i < count; ++i) {
    if (!status) status = new_tensor((TF_AbstractTensor){.handle = handles[i]}, &o->items[i]);
    if (status) TFE_DeleteTensorHandle(handles[i]);
  }
  return status;
}

static leat_status_t run_op(TFE_Op* op, TF_OutputList* o) {
  TFE_TensorHandle** handles = NULL;
  TF_Status status = {0};
  int count = (int)o->count;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), o->count + 1, &handles));
  TFE_Execute(op, handles, &count, &status);
  leat_status_t result = leat_capi_status_take(&status);
  if (!result) result = list_handles(handles, count, o);
  leat_allocator_free(leat_allocator_system(), handles);
  return result;
}

static leat_status_t execute(const TF_AbstractOp* op, int count,
                             TF_AbstractTensor* const* inputs, TF_OutputList* o) {
  TF_Status status = {0};
  TFE_Op* eager = TFE_NewOp(op->context->eager, op->type, &status);
  leat_status_t result = leat_capi_status_take(&status);
  for (int i = 0; !result && i < count; ++i) {
    if (!inputs[i]->handle) {
      result = wrong_input(i);
    } else {
      TFE_OpAddInput(eager, inputs[i]->handle, &status);
      result = leat_capi_status_take(&status);
    }
  }
  for (size_t i = 0; !result && i < op->attr_count; ++i) {
    TFE_OpSetAttrType(eager, op->attrs[i].name, op->attrs[i].value);
  }
  if (!result) result = run_op(eager, o);
  TFE_DeleteOp(eager);
  return result;
}

// ---- Tracing ops --------------------------------------------------------------------------------

static leat_status_t list_outputs(const TF_ExecutionContext* context, TF_Operation* node,
                                  TF_OutputList* o) {
  int count = TF_OperationNumOutputs(node);
  LEAT_RETURN_IF_ERROR(resize(o, (size_t)count));
  for (int i = 0; i < count; ++i) {
    TF_AbstractTensor tensor = {.function = context, .output = {node, i}};
    LEAT_RETURN_IF_ERROR(new_tensor(tensor, &o->items[i]));
  }
  return leat_ok_status();
}

// Describes the op to the graph and finishes it.
static leat_status_t trace(const TF_AbstractOp* op, int count, TF_AbstractTensor* const* inputs,
                           TF_OutputList* o) {
  TF_ExecutionContext* context = op->context;
  char name[120];
  for (int i = 0; i < count; ++i) {
    if (inputs[i]->handle || inputs[i]->function != context) return wrong_input(i);
  }
  snprintf(name, sizeof name, "%.80s_%lld", op->type, (long long)context->op_count++);
  TF_OperationDescription* desc =
      TF_NewOperation(context->graph, op->type, op->name ? op->name : name);
  for (int i = 0; i < count; ++i) TF_AddInput(desc, inputs[i]->output);
  for (size_t i = 0; i < op->attr_count; ++i) {
    TF_SetAttrType(desc, op->attrs[i].name, op->attrs[i].value);
  }
  TF_Status status = {0};
  TF_Operation* node = TF_FinishOperation(desc, &status);
  LEAT_RETURN_IF_ERROR(leat_capi_status_take(&status));
  return list_outputs(context, node, o);
}

void TF_ExecuteOperation(TF_AbstractOp* op, int num_inputs, TF_AbstractTensor* const* inputs,
                         TF_OutputList* o, TF_Status* s) {
  leat_status_t result;
  if (!op->type) {
    result = leat_make_status(LEAT_FAILED_PRECONDITION, "Executing an op failed: it has no type");
  } else {
    result = op->context->eager ? execute(op, num_inputs, inputs, o)
                                : trace(op, num_inputs, inputs, o);
  }
  leat_capi_status_set(s, result);
}

// ---- Functions ----------------------------------------------------------------------------------

// Adds the placeholder of the next argument.
static leat_status_t add_parameter(TF_ExecutionContext* context, TF_DataType dtype,
                                   TF_Shape shape, TF_AbstractTensor** out_tensor) {
  char name[40];
  if (context->eager) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Can't add function parameter on an eager context.");
  }
  LEAT_RETURN_IF_ERROR(LEAT_GROW(leat_allocator_system(), context->parameter_count + 1,
                                 &context->parameters, &context->parameter_capacity));
  snprintf(name, sizeof name, "input_%zu", context->parameter_count);
  TF_OperationDescription* desc = TF_NewOperation(context->graph, "Placeholder", name);
  TF_SetAttrType(desc, "dtype", dtype);
  TF_SetAttrShape(desc, "shape", shape.dim_sizes, shape.num_dims);
  TF_Status status = {0};
  TF_Output output = {TF_FinishOperation(desc, &status), 0};
  LEAT_RETURN_IF_ERROR(leat_capi_status_take(&status));
  LEAT_RETURN_IF_ERROR(
      new_tensor((TF_AbstractTensor){.function = context, .output = output}, out_tensor));
  context->parameters[context->parameter_count++] = output;
  return leat_ok_status();
}

TF_AbstractTensor* TF_AddFunctionParameter(TF_ExecutionContext* func, TF_DataType dtype,
                                           TF_Shape shape, TF_Status* s) {
  TF_AbstractTensor* tensor = NULL;
  leat_capi_status_set(s, add_parameter(func, dtype, shape, &tensor));
  return tensor;
}

static leat_status_t finalize(const TF_ExecutionContext* context, const TF_OutputList* list,
                              TF_Output* outputs, TF_Function** out_function) {
  for (size_t i = 0; i < list->count; ++i) {
    if (!list->items[i] || list->items[i]->handle || list->items[i]->function != context) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Finalizing function '%s' failed: output %zu is not of the function",
                              context->name ? context->name : "", i);
    }
    outputs[i] = list->items[i]->output;
  }
  TF_Status status = {0};
  *out_function = TF_GraphToFunction(
      context->graph, context->name, 0, -1, NULL, (int)context->parameter_count,
      context->parameters, (int)list->count, outputs, NULL, NULL, NULL, &status);
  return leat_capi_status_take(&status);
}

TF_AbstractFunction* TF_FinalizeFunction(TF_ExecutionContext* ctx, TF_OutputList* outputs,
                                         TF_Status* status) {
  TF_AbstractFunction* function = leat_capi_allocate(sizeof *function);
  TF_Output* found = NULL;
  leat_status_t result = LEAT_ALLOCATE(leat_allocator_system(), outputs->count + 1, &found);
  if (!result && (!function || ctx->eager)) {
    result = leat_make_status(function ? LEAT_INVALID_ARGUMENT : LEAT_RESOURCE_EXHAUSTED,
                              "Finalizing a function failed: %s",
                              function ? "the context is eager, must trace" : "no memory");
  }
  if (!result) result = finalize(ctx, outputs, found, &function->function);
  if (result) {
    leat_allocator_free(leat_allocator_system(), function);
    function = NULL;
  }
  leat_allocator_free(leat_allocator_system(), found);
  TF_DeleteExecutionContext(ctx);
  leat_capi_status_set(status, result);
  return function;
}

void TF_DeleteAbstractFunction(TF_AbstractFunction* func) {
  if (func) TF_DeleteFunction(func->function);
  leat_allocator_free(leat_allocator_system(), func);
}

void TF_ExecutionContextRegisterFunction(TF_ExecutionContext* ctx, TF_AbstractFunction* func,
                                         TF_Status* status) {
  if (ctx->eager) {
    TFE_ContextAddFunction(ctx->eager, func->function, status);
  } else {
    TF_GraphCopyFunction(ctx->graph, func->function, NULL, status);
  }
}
