// TFE_Op: executing one op at once. The op becomes the only node of a small graph, whose inputs are
// placeholders with the types and shapes of the input handles:
//
//     input_0, input_1, ...  ──▶  eager_<n>          a graph made for this execution
//
// The graph does what it does for any client: it checks the attributes, infers those that follow
// from the inputs, and fills in defaults. Then the kernel is made from the node and called directly
// (kernel/invoke.c), with no plan and no executor. The graph and the kernel are freed at the end,
// unless the kernel made a resource, which it may own; then both are kept with the context. Ops
// that only make sense in a graph, or that take functions or references, are refused.
#include <stdio.h>
#include <string.h>

#include "capi/eager/eager.h"

// Flags of ops that only make sense in a graph.
#define NOT_EAGER                                                                      \
  (LEAT_OP_PLACEHOLDER | LEAT_OP_SEND | LEAT_OP_RECV | LEAT_OP_CONTROL_FLOW |          \
   LEAT_OP_LOOP_CONDITION | LEAT_OP_CONTROL_TRIGGER | LEAT_OP_ARGUMENT | LEAT_OP_RETURN_VALUE)

static leat_status_t find_op(const char* name, const leat_op_t** out_op) {
  const leat_runtime_t* runtime = NULL;
  LEAT_RETURN_IF_ERROR(leat_runtime_get(&runtime));
  return leat_op_registry_find(runtime->ops, leat_string_view_from(name ? name : ""), out_op);
}

// ---- Creation -----------------------------------------------------------------------------------

TFE_Op* TFE_NewOp(TFE_Context* ctx, const char* op_or_function_name, TF_Status* status) {
  const leat_op_t* row = NULL;
  TFE_Op* op = NULL;
  leat_status_t result = find_op(op_or_function_name, &row);
  if (!result) {
    op = leat_capi_allocate(sizeof *op);
    if (op) op->description = TF_NewOperation(ctx->graph, op_or_function_name, "op");
    if (!op || !op->description) {
      result = leat_make_status(LEAT_RESOURCE_EXHAUSTED, "Memory for an op ran out");
      leat_allocator_free(leat_allocator_system(), op);
      op = NULL;
    }
  }
  if (op) {
    op->context = ctx;
    op->op = row;
  }
  leat_capi_status_set(status, result);
  return op;
}

void TFE_DeleteOp(TFE_Op* op) {
  if (!op) return;
  for (size_t i = 0; i < op->input_count; ++i) TFE_DeleteTensorHandle(op->inputs[i]);
  leat_allocator_free(leat_allocator_system(), op->inputs);
  leat_capi_description_free(op->description);
  leat_allocator_free(leat_allocator_system(), op);
}

const char* TFE_OpGetName(const TFE_Op* op, TF_Status* status) {
  leat_capi_status_set(status, leat_ok_status());
  return leat_capi_keep_name(op->op->name);
}

TFE_Context* TFE_OpGetContext(const TFE_Op* op, TF_Status* status) {
  leat_capi_status_set(status, leat_ok_status());
  return op->context;
}

// Accepts a name that ends in "CPU:0" or "cpu:0", and the empty name, which stands for any device.
void TFE_OpSetDevice(TFE_Op* op, const char* device_name, TF_Status* status) {
  size_t size = device_name ? strlen(device_name) : 0;
  bool is_cpu = size >= 5 && strcmp(device_name + size - 2, ":0") == 0 &&
                (memcmp(device_name + size - 5, "CPU", 3) == 0 ||
                 memcmp(device_name + size - 5, "cpu", 3) == 0);
  if (size == 0 || is_cpu) op->has_device = is_cpu;
  leat_capi_status_set(status, size == 0 || is_cpu
                                   ? leat_ok_status()
                                   : leat_make_status(LEAT_INVALID_ARGUMENT,
                                                      "Device is '%s', must be CPU:0",
                                                      device_name));
}

const char* TFE_OpGetDevice(const TFE_Op* op, TF_Status* status) {
  leat_capi_status_set(status, leat_ok_status());
  return op->has_device ? "/job:localhost/replica:0/task:0/device:CPU:0" : "";
}

// ---- Inputs -------------------------------------------------------------------------------------

static leat_status_t add_input(TFE_Op* op, TFE_TensorHandle* input) {
  if (!input) return leat_make_status(LEAT_INVALID_ARGUMENT, "Invalid handle");
  LEAT_RETURN_IF_ERROR(
      LEAT_GROW(leat_allocator_system(), op->input_count + 1, &op->inputs, &op->input_capacity));
  leat_reference_count_retain(&input->references);
  op->inputs[op->input_count++] = input;
  return leat_ok_status();
}

void TFE_OpAddInput(TFE_Op* op, TFE_TensorHandle* input, TF_Status* status) {
  leat_capi_status_set(status, add_input(op, input));
}

void TFE_OpAddInputList(TFE_Op* op, TFE_TensorHandle** inputs, int num_inputs,
                        TF_Status* status) {
  leat_status_t result = leat_ok_status();
  for (int i = 0; i < num_inputs && !result; ++i) result = add_input(op, inputs[i]);
  leat_capi_status_set(status, result);
}

int TFE_OpGetFlatInputCount(const TFE_Op* op, TF_Status* status) {
  leat_capi_status_set(status, leat_ok_status());
  return (int)op->input_count;
}

TFE_TensorHandle* TFE_OpGetFlatInput(const TFE_Op* op, int index, TF_Status* status) {
  bool exists = index >= 0 && (size_t)index < op->input_count;
  leat_capi_status_set(status, exists ? leat_ok_status()
                                      : leat_make_status(LEAT_INVALID_ARGUMENT,
                                                         "Input is %d, must be in [0, %zu)", index,
                                                         op->input_count));
  return exists ? op->inputs[index] : NULL;
}

// ---- Attributes ---------------------------------------------------------------------------------

static leat_status_t attr_type(const leat_op_t* op, const char* name, unsigned char* is_list,
                               TF_AttrType* out_type) {
  int index = leat_op_find_attr(op, leat_string_view_from(name ? name : ""));
  if (index < 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "Attribute '%s' does not exist for this op",
                            name ? name : "");
  }
  leat_attr_kind_t kind = op->attrs[index].kind;
  if (is_list) *is_list = op->attrs[index].is_list;
  *out_type = kind == LEAT_ATTR_FUNCTION ? TF_ATTR_FUNC : (TF_AttrType)(kind - LEAT_ATTR_STRING);
  return leat_ok_status();
}

TF_AttrType TFE_OpGetAttrType(TFE_Op* op, const char* attr_name, unsigned char* is_list,
                              TF_Status* status) {
  TF_AttrType type = TF_ATTR_STRING;
  leat_capi_status_set(status, attr_type(op->op, attr_name, is_list, &type));
  return type;
}

TF_AttrType TFE_OpNameGetAttrType(TFE_Context* ctx, const char* op_or_function_name,
                                  const char* attr_name, unsigned char* is_list,
                                  TF_Status* status) {
  TF_AttrType type = TF_ATTR_STRING;
  const leat_op_t* op = NULL;
  leat_status_t result = find_op(op_or_function_name, &op);
  if (!result) result = attr_type(op, attr_name, is_list, &type);
  leat_capi_status_set(status, result);
  return type;
}

void TFE_OpSetAttrString(TFE_Op* op, const char* attr_name, const void* value, size_t length) {
  TF_SetAttrString(op->description, attr_name, value, length);
}
void TFE_OpSetAttrInt(TFE_Op* op, const char* attr_name, int64_t value) {
  TF_SetAttrInt(op->description, attr_name, value);
}
void TFE_OpSetAttrFloat(TFE_Op* op, const char* attr_name, float value) {
  TF_SetAttrFloat(op->description, attr_name, value);
}
void TFE_OpSetAttrBool(TFE_Op* op, const char* attr_name, unsigned char value) {
  TF_SetAttrBool(op->description, attr_name, value);
}
void TFE_OpSetAttrType(TFE_Op* op, const char* attr_name, TF_DataType value) {
  TF_SetAttrType(op->description, attr_name, value);
}
void TFE_OpSetAttrShape(TFE_Op* op, const char* attr_name, const int64_t* dims, const int num_dims,
                        TF_Status* out_status) {
  TF_SetAttrShape(op->description, attr_name, dims, num_dims);
  leat_capi_status_set(out_status, leat_ok_status());
}
void TFE_OpSetAttrTensor(TFE_Op* op, const char* attr_name, TF_Tensor* tensor, TF_Status* status) {
  TF_SetAttrTensor(op->description, attr_name, tensor, status);
}
void TFE_OpSetAttrStringList(TFE_Op* op, const char* attr_name, const void* const* values,
                             const size_t* lengths, int num_values) {
  TF_SetAttrStringList(op->description, attr_name, values, lengths, num_values);
}
void TFE_OpSetAttrIntList(TFE_Op* op, const char* attr_name, const int64_t* values,
                          int num_values) {
  TF_SetAttrIntList(op->description, attr_name, values, num_values);
}
void TFE_OpSetAttrFloatList(TFE_Op* op, const char* attr_name, const float* values,
                            int num_values) {
  TF_SetAttrFloatList(op->description, attr_name, values, num_values);
}
void TFE_OpSetAttrBoolList(TFE_Op* op, const char* attr_name, const unsigned char* values,
                           int num_values) {
  TF_SetAttrBoolList(op->description, attr_name, values, num_values);
}
void TFE_OpSetAttrTypeList(TFE_Op* op, const char* attr_name, const TF_DataType* values,
                           int num_values) {
  TF_SetAttrTypeList(op->description, attr_name, values, num_values);
}
void TFE_OpSetAttrShapeList(TFE_Op* op, const char* attr_name, const int64_t** dims,
                            const int* num_dims, int num_values, TF_Status* out_status) {
  TF_SetAttrShapeList(op->description, attr_name, dims, num_dims, num_values);
  leat_capi_status_set(out_status, leat_ok_status());
}

// ---- The graph of one node ----------------------------------------------------------------------

// UNIMPLEMENTED for ops that cannot run without a graph.
static leat_status_t check_eager(const leat_op_t* op) {
  bool takes_function = false;
  for (int i = 0; i < op->attr_count; ++i) {
    takes_function = takes_function || op->attrs[i].kind == LEAT_ATTR_FUNCTION;
  }
  if (!(op->flags & NOT_EAGER) && !op->has_ref_inputs && !op->has_ref_outputs && !takes_function) {
    return leat_ok_status();
  }
  return leat_make_status(LEAT_UNIMPLEMENTED,
                          "Executing op '%.*s' failed: it takes %s: build a graph and run it in a "
                          "TF_Session",
                          LEAT_SV_ARG(op->name), takes_function ? "a function" : "a graph");
}

// Adds a placeholder with the type and shape of an input.
static leat_status_t add_placeholder(leat_graph_t* graph, const leat_op_t* placeholder,
                                     size_t index, const leat_tensor_t* value) {
  char name[32];
  int32_t node = -1;
  int64_t dims[LEAT_SHAPE_MAX_RANK];
  for (int i = 0; i < value->shape.rank; ++i) dims[i] = leat_shape_dim(&value->shape, i);
  leat_attr_t attrs[] = {
      LEAT_TYPE("dtype", value->dtype),
      LEAT_SHAPE("shape", ((leat_partial_shape_t){value->shape.rank, dims}))};
  snprintf(name, sizeof name, "input_%zu", index);
  leat_node_spec_t spec = {.name = leat_string_view_from(name),
                           .op = placeholder,
                           .attrs = attrs,
                           .attr_count = 2};
  return leat_graph_add_node(graph, &spec, &node);
}

// Adds the placeholders as nodes 0, 1, ..., and then the op's node, which is the last.
static leat_status_t add_nodes(const TFE_Op* op, leat_arena_t* arena, leat_graph_t* graph) {
  const leat_op_t* placeholder = NULL;
  void* memory = NULL;
  char name[40];
  int32_t node = -1;
  LEAT_RETURN_IF_ERROR(find_op("Placeholder", &placeholder));
  LEAT_RETURN_IF_ERROR(
      leat_arena_allocate_array(arena, op->input_count, sizeof(leat_output_t), &memory));
  leat_output_t* inputs = memory;
  for (size_t i = 0; i < op->input_count; ++i) {
    LEAT_RETURN_IF_ERROR(add_placeholder(graph, placeholder, i, &op->inputs[i]->tensor));
    inputs[i] = (leat_output_t){(int32_t)i, 0};
  }
  // The name is unique in the context: a resource without a shared name is called after its node.
  snprintf(name, sizeof name, "eager_%lld",
           (long long)atomic_fetch_add(&op->context->runs, 1));
  leat_node_spec_t spec = {.name = leat_string_view_from(name),
                           .op = op->op,
                           .inputs = inputs,
                           .input_count = (int)op->input_count,
                           .attrs = op->description->attrs,
                           .attr_count = (int)op->description->attr_count,
                           .infer_attrs = true};
  return leat_graph_add_node(graph, &spec, &node);
}

// Makes the graph; the caller frees it. INVALID_ARGUMENT or UNIMPLEMENTED where the op cannot be
// executed so.
static leat_status_t build(const TFE_Op* op, leat_graph_t** out_graph) {
  const leat_runtime_t* runtime = NULL;
  leat_arena_t arena;
  *out_graph = NULL;
  LEAT_RETURN_IF_ERROR(leat_status_clone(op->description->status));
  LEAT_RETURN_IF_ERROR(check_eager(op->op));
  LEAT_RETURN_IF_ERROR(leat_runtime_get(&runtime));
  LEAT_RETURN_IF_ERROR(leat_graph_create(runtime->ops, leat_allocator_system(), out_graph));
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_status_t status = add_nodes(op, &arena, *out_graph);
  leat_arena_deinitialize(&arena);
  if (status) {
    leat_graph_free(*out_graph);
    *out_graph = NULL;
  }
  return status;
}

// The number of tensors in an argument. A graph is built to find out, because the number may follow
// from attributes that only the graph infers.
static int argument_length(const TFE_Op* op, const char* name, bool is_input, TF_Status* status) {
  leat_graph_t* graph = NULL;
  int length = -1, begin = 0;
  leat_status_t result = build(op, &graph);
  int count = is_input ? op->op->input_count : op->op->output_count;
  const leat_op_argument_t* arguments = is_input ? op->op->inputs : op->op->outputs;
  for (int i = 0; graph && i < count; ++i) {
    if (!leat_string_view_equals(arguments[i].name, name ? name : "")) continue;
    const leat_node_t* node = leat_graph_node(graph, (int32_t)op->input_count);
    length = is_input ? leat_node_input_argument(node, i, &begin)
                      : leat_node_output_argument(node, i, &begin);
  }
  if (!result && length < 0) {
    result = leat_make_status(LEAT_INVALID_ARGUMENT, "Argument '%s' not found", name ? name : "");
  }
  leat_graph_free(graph);
  leat_capi_status_set(status, result);
  return length;
}

int TFE_OpGetInputLength(TFE_Op* op, const char* input_name, TF_Status* status) {
  return argument_length(op, input_name, true, status);
}

int TFE_OpGetOutputLength(TFE_Op* op, const char* output_name, TF_Status* status) {
  return argument_length(op, output_name, false, status);
}

// ---- Execution ----------------------------------------------------------------------------------

// Makes the kernel of the op's node, which is the last one of |graph|.
static leat_status_t make_kernel(const TFE_Op* op, leat_graph_t* graph,
                                 leat_eager_kernel_t** out_kernel) {
  const leat_runtime_t* runtime = NULL;
  const leat_kernel_row_t* row = NULL;
  const leat_node_t* node = leat_graph_node(graph, (int32_t)op->input_count);
  leat_device_t* device = op->context->device;
  LEAT_RETURN_IF_ERROR(leat_runtime_get(&runtime));
  LEAT_RETURN_IF_ERROR(leat_kernel_registry_find(runtime->kernels, node->op, node->attrs,
                                                 node->attr_count, device->type, &row));
  leat_eager_kernel_t* kernel = leat_capi_allocate(sizeof *kernel + op->input_count);
  if (!kernel) return leat_make_status(LEAT_RESOURCE_EXHAUSTED, "Memory for a kernel ran out");
  for (size_t i = 0; i < op->input_count; ++i) {
    kernel->input_types[i] = (uint8_t)op->inputs[i]->tensor.dtype;
  }
  leat_kernel_spec_t spec = {.row = row,
                             .op = node->op,
                             .node_name = node->name,
                             .attrs = node->attrs,
                             .attr_count = node->attr_count,
                             .input_types = kernel->input_types,
                             .input_count = node->input_count,
                             .output_types = node->output_types,
                             .output_count = node->output_count,
                             .device = device,
                             .resources = op->context->resources,
                             .allocator = leat_allocator_system()};
  leat_status_t status = leat_kernel_create(&spec, &kernel->kernel);
  if (status) {
    leat_allocator_free(leat_allocator_system(), kernel);
    return status;
  }
  *out_kernel = kernel;
  return status;
}

// Calls the kernel and wraps its outputs. After a failure no output is left in |retvals|.
static leat_status_t invoke(const TFE_Op* op, const leat_eager_kernel_t* kernel,
                            leat_arena_t* arena, TFE_TensorHandle** retvals) {
  void *inputs = NULL, *outputs = NULL;
  int count = kernel->kernel->output_count;
  LEAT_RETURN_IF_ERROR(
      leat_arena_allocate_array(arena, op->input_count + 1, sizeof(leat_tensor_t), &inputs));
  LEAT_RETURN_IF_ERROR(
      leat_arena_allocate_array(arena, (size_t)count + 1, sizeof(leat_tensor_t), &outputs));
  for (size_t i = 0; i < op->input_count; ++i) ((leat_tensor_t*)inputs)[i] = op->inputs[i]->tensor;
  leat_step_services_t services = {.step_id = atomic_load(&op->context->runs),
                                   .memory = op->context->device->memory,
                                   .pool = op->context->device->pool,
                                   .resources = op->context->resources,
                                   .step_resources = op->context->step_resources,
                                   .cancellation = op->cancellation ? op->cancellation->cancellation
                                                                   : op->context->cancellation};
  leat_tensor_t* values = outputs;
  LEAT_RETURN_IF_ERROR(leat_kernel_invoke(kernel->kernel, &services, inputs, values));
  leat_status_t status = leat_ok_status();
  for (int i = 0; i < count; ++i) {
    retvals[i] = leat_capi_allocate(sizeof **retvals);
    if (retvals[i]) {
      retvals[i]->references = 1;
      retvals[i]->tensor = values[i];
    } else {
      leat_tensor_release(&values[i]);
      status = leat_status_join(status, leat_make_status(LEAT_RESOURCE_EXHAUSTED,
                                                         "Memory for a handle ran out"));
    }
  }
  for (int i = 0; status && i < count; ++i) {
    TFE_DeleteTensorHandle(retvals[i]);
    retvals[i] = NULL;
  }
  return status;
}

// Such a kernel may own its resource, and must not be freed before it.
static bool makes_resource(const leat_kernel_t* kernel) {
  for (int i = 0; i < kernel->output_count; ++i) {
    if (kernel->output_types[i] == LEAT_DTYPE_RESOURCE) return true;
  }
  return false;
}

// Ends an execution: keeps the kernel with its graph, or frees both. |kernel| may be NULL.
static void end(TFE_Context* context, leat_eager_kernel_t* kernel, leat_graph_t* graph, bool keep) {
  if (keep) {
    kernel->graph = graph;
    leat_mutex_lock(&context->mutex);
    kernel->next = context->kept;
    context->kept = kernel;
    leat_mutex_unlock(&context->mutex);
    return;
  }
  if (kernel) leat_kernel_free(kernel->kernel);
  leat_allocator_free(leat_allocator_system(), kernel);
  leat_graph_free(graph);
}

// Builds the graph, makes the kernel, calls it, and keeps or frees both.
static leat_status_t execute(const TFE_Op* op, TFE_TensorHandle** retvals, int* num_retvals) {
  leat_graph_t* graph = NULL;
  leat_eager_kernel_t* kernel = NULL;
  leat_arena_t arena;
  LEAT_RETURN_IF_ERROR(build(op, &graph));
  int count = leat_graph_node(graph, (int32_t)op->input_count)->output_count;
  leat_status_t status = leat_ok_status();
  if (*num_retvals < count) {
    status = leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Expecting %d outputs, but *num_retvals is %d", count, *num_retvals);
  }
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  if (!status) status = make_kernel(op, graph, &kernel);
  if (!status) status = invoke(op, kernel, &arena, retvals);
  leat_arena_deinitialize(&arena);
  if (!status) *num_retvals = count;
  end(op->context, kernel, graph, !status && makes_resource(kernel->kernel));
  return status;
}

void TFE_Execute(TFE_Op* op, TFE_TensorHandle** retvals, int* num_retvals, TF_Status* status) {
  leat_capi_status_set(status, execute(op, retvals, num_retvals));
}
