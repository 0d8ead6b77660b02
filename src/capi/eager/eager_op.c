// TFE_Op: an op with its inputs, before it is executed. An input tells some of the op's attributes
// as soon as it is added: MatMul's T is the type of its first input. As in TensorFlow, what is set
// first stays, so that a later TFE_OpSetAttrType does not change it, and an input does not change
// what the client set before. That holds as long as the inputs come argument by argument; when an
// item of a list is added by itself, nobody knows where the list ends, and the attributes are found
// out only when the op is executed.
#include <string.h>

#include "capi/eager/custom_device.h"
#include "capi/eager/eager_cluster.h"
#include "graph/function/graph_functions.h"

leat_status_t leat_eager_find_op(const TFE_Context* context, const char* name,
                                 const leat_op_t** out_op) {
  leat_string_view_t text = leat_string_view_from(name ? name : "");
  return leat_graph_find_op(context->graph->shared->graph, text, out_op);
}

// ---- Creation -----------------------------------------------------------------------------------

TFE_Op* TFE_NewOp(TFE_Context* ctx, const char* op_or_function_name, TF_Status* status) {
  const leat_op_t* row = NULL;
  TFE_Op* op = NULL;
  leat_status_t result = leat_eager_find_op(ctx, op_or_function_name, &row);
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
    op->description->keeps_first = true;
  }
  leat_capi_status_set(status, result);
  return op;
}

void TFE_DeleteOp(TFE_Op* op) {
  if (!op) return;
  for (size_t i = 0; i < op->input_count; ++i) TFE_DeleteTensorHandle(op->inputs[i]);
  leat_allocator_free(leat_allocator_system(), op->inputs);
  leat_capi_description_free(op->description);
  leat_eager_call_release(op->call);
  leat_allocator_free(leat_allocator_system(), op);
}

// Turns the op into a new one in place: a fresh op changes contents with it and is deleted with the
// old contents.
void TFE_OpReset(TFE_Op* op_to_reset, const char* op_or_function_name, const char* raw_device_name,
                 TF_Status* status) {
  TFE_Op* fresh = TFE_NewOp(op_to_reset->context, op_or_function_name, status);
  if (!fresh) return;
  TFE_Op former = *op_to_reset;
  *op_to_reset = *fresh;
  *fresh = former;
  TFE_DeleteOp(fresh);
  TFE_OpSetDevice(op_to_reset, raw_device_name, status);
}

const char* TFE_OpGetName(const TFE_Op* op, TF_Status* status) {
  leat_capi_status_set(status, leat_ok_status());
  return leat_capi_keep_name(op->op->name);
}

TFE_Context* TFE_OpGetContext(const TFE_Op* op, TF_Status* status) {
  leat_capi_status_set(status, leat_ok_status());
  return op->context;
}

// Whether the name ends in "CPU:0" or "cpu:0".
static bool is_cpu(const char* name) {
  const size_t size = strlen(name);
  return size >= 5 && strcmp(name + size - 2, ":0") == 0 &&
         (memcmp(name + size - 5, "CPU", 3) == 0 || memcmp(name + size - 5, "cpu", 3) == 0);
}

leat_status_t leat_eager_check_device(const char* name) {
  if (!name || *name == 0 || is_cpu(name)) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT, "%s unknown device, must be CPU:0", name);
}

// Accepts the name of a custom device, the empty name, which stands for any device, in a cluster
// that of any device of its tasks, and else one that ends in "CPU:0".
static leat_status_t set_device(TFE_Op* op, const char* name) {
  const leat_custom_device_t* custom = leat_custom_device_find(op->context, name);
  const char* remote = NULL;
  if (*name != 0 && !custom) {
    leat_eager_cluster_t* cluster = leat_capi_cluster_of(op->context);
    leat_status_t status = cluster ? leat_capi_cluster_place(cluster, name, &remote)
                                   : leat_eager_check_device(name);
    leat_eager_cluster_release(cluster);
    LEAT_RETURN_IF_ERROR(status);
  }
  op->custom_device = custom;
  op->remote_device = remote;
  op->has_device = *name != 0 && !custom && !remote;
  return leat_ok_status();
}

void TFE_OpSetDevice(TFE_Op* op, const char* device_name, TF_Status* status) {
  leat_capi_status_set(status, set_device(op, device_name ? device_name : ""));
}

const char* TFE_OpGetDevice(const TFE_Op* op, TF_Status* status) {
  leat_capi_status_set(status, leat_ok_status());
  if (op->custom_device) return op->custom_device->name;
  if (op->remote_device) return op->remote_device;
  return op->has_device ? leat_capi_cluster_own_device(op->context) : "";
}

void TFE_OpSetCancellationManager(TFE_Op* op, TFE_CancellationManager* cancellation_manager,
                                  TF_Status* status) {
  op->cancellation = cancellation_manager;
  leat_capi_status_set(status, leat_ok_status());
}

// ---- Inputs -------------------------------------------------------------------------------------

// The argument that the next input belongs to, which is then the one behind it; NULL: not known.
static const leat_op_argument_t* next_argument(TFE_Op* op) {
  bool is_known = op->next_argument >= 0 && op->next_argument < op->op->input_count;
  return is_known ? &op->op->inputs[op->next_argument++] : NULL;
}

static bool is_list(const leat_op_argument_t* argument) {
  return argument->number_attr >= 0 || argument->source == LEAT_TYPE_FROM_LIST;
}

// Sets attribute |index| of the op unless it is set.
static void fix(TFE_Op* op, int index, leat_attr_value_t value) {
  if (index < 0) return;
  leat_capi_description_note(
      op->description,
      leat_capi_description_set(op->description, op->op->attrs[index].name, value));
}

static leat_attr_value_t type_of(const TFE_TensorHandle* input) {
  return (leat_attr_value_t){.kind = LEAT_ATTR_TYPE, .type = input->tensor.dtype};
}

static leat_status_t append_input(TFE_Op* op, TFE_TensorHandle* input) {
  if (!input) return leat_make_status(LEAT_INVALID_ARGUMENT, "Invalid handle");
  LEAT_RETURN_IF_ERROR(
      LEAT_GROW(leat_allocator_system(), op->input_count + 1, &op->inputs, &op->input_capacity));
  leat_reference_count_retain(&input->references);
  op->inputs[op->input_count++] = input;
  if (LEAT_UNLIKELY(input->error)) {
    leat_capi_description_note(op->description, leat_status_clone(input->error));
  }
  return leat_ok_status();
}

static leat_status_t add_input(TFE_Op* op, TFE_TensorHandle* input) {
  LEAT_RETURN_IF_ERROR(append_input(op, input));
  const leat_op_argument_t* argument = next_argument(op);
  if (!argument) return leat_ok_status();
  if (is_list(argument)) {
    op->next_argument = -1;
  } else {
    fix(op, argument->type_attr, type_of(input));
  }
  return leat_ok_status();
}

void TFE_OpAddInput(TFE_Op* op, TFE_TensorHandle* input, TF_Status* status) {
  leat_capi_status_set(status, add_input(op, input));
}

// What a list tells: its length, and the one type of its items or the type of each.
static leat_status_t fix_by_list(TFE_Op* op, const leat_op_argument_t* argument,
                                 TFE_TensorHandle** inputs, int count) {
  if (argument->source == LEAT_TYPE_FROM_LIST) {
    void* memory = NULL;
    LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(&op->description->arena, (size_t)count + 1,
                                                   sizeof(int32_t), &memory));
    int32_t* types = memory;
    for (int i = 0; i < count; ++i) types[i] = inputs[i]->tensor.dtype;
    fix(op, argument->type_attr,
        (leat_attr_value_t){
            .kind = LEAT_ATTR_TYPE, .is_list = true, .count = (uint32_t)count, .types = types});
    return leat_ok_status();
  }
  fix(op, argument->number_attr, (leat_attr_value_t){.kind = LEAT_ATTR_INT, .i = count});
  if (count > 0) fix(op, argument->type_attr, type_of(inputs[0]));
  return leat_ok_status();
}

static leat_status_t add_inputs(TFE_Op* op, TFE_TensorHandle** inputs, int count) {
  for (int i = 0; i < count; ++i) LEAT_RETURN_IF_ERROR(append_input(op, inputs[i]));
  const leat_op_argument_t* argument = next_argument(op);
  if (!argument) return leat_ok_status();
  if (is_list(argument)) return fix_by_list(op, argument, inputs, count < 0 ? 0 : count);
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Adding a list of inputs to op '%.*s' failed: input '%.*s' is a tensor, "
                          "must be a list",
                          LEAT_SV_ARG(op->op->name), LEAT_SV_ARG(argument->name));
}

void TFE_OpAddInputList(TFE_Op* op, TFE_TensorHandle** inputs, int num_inputs,
                        TF_Status* status) {
  leat_capi_status_set(status, add_inputs(op, inputs, num_inputs));
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
