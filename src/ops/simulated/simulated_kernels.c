// Kernels of the simulated device: the CPU's rows of the ops below, under the device's type. Three
// ways:
//   on a stream   the row runs on a stream's thread, where the device's memory can be touched, and
//                 takes the device's time; the executor hears of it when it has ended
//   at once       the op touches no element in device memory (it hands on, reads shapes, names)
//   constants     are copied into the device by the first step that reads them
// Text before ':' is the op, behind it stand the arguments that live in host memory; handles and
// strings always do.
#include "ops/simulated/simulated_kernels.h"

#include <string.h>

#include "device/simulated/simulated_device.h"
#include "kernel/resource.h"
#include "ops/family.h"
#include "ops/sendrecv/transfer_kernels.h"

static const char* const kOnStream[] = {
    "Abs", "Add", "AddN", "AddV2", "All:reduction_indices", "Any:reduction_indices",
    "ApplyAdagrad", "ApplyAdam", "ApplyGradientDescent", "ApplyMomentum", "ApplyRMSProp",
    "ArgMax:dimension", "ArgMin:dimension", "Assign", "AssignAdd", "AssignAddVariableOp",
    "AssignSub", "AssignSubVariableOp", "AssignVariableOp", "AvgPool",
    "AvgPoolGrad:orig_input_shape", "BatchMatMul", "BatchMatMulV2", "BiasAdd", "BiasAddGrad",
    "BiasAddV1", "BroadcastTo:shape", "Cast", "Ceil", "ConcatV2:axis", "Conv2D",
    "Conv2DBackpropFilter:filter_sizes", "Conv2DBackpropInput:input_sizes", "Cos",
    "Cumsum:axis", "Div", "DivNoNan", "Elu", "EluGrad", "Equal", "Erf", "Exp", "Expm1",
    "Fill:dims", "Floor", "FloorDiv", "FloorMod", "FusedBatchNorm", "FusedBatchNormGrad",
    "FusedBatchNormGradV3", "FusedBatchNormV3", "Gather", "GatherNd", "GatherV2:axis", "Greater",
    "GreaterEqual", "InvGrad", "L2Loss", "LeakyRelu", "LeakyReluGrad", "Less", "LessEqual", "Log",
    "Log1p", "LogSoftmax", "LogicalAnd", "LogicalNot", "LogicalOr", "MatMul",
    "Max:reduction_indices", "MaxPool", "MaxPoolGrad", "Maximum", "Mean:reduction_indices",
    "Min:reduction_indices", "Minimum", "Mul", "Neg", "NotEqual", "OneHot:depth", "OnesLike",
    "Pack", "Pad:paddings", "PadV2:paddings", "Pow", "Prod:reduction_indices",
    "RandomStandardNormal:shape", "RandomUniform:shape", "RealDiv", "Reciprocal", "ReciprocalGrad",
    "Relu", "Relu6", "Relu6Grad", "ReluGrad", "ResourceApplyAdagrad", "ResourceApplyAdam",
    "ResourceApplyGradientDescent", "ResourceApplyKerasMomentum", "ResourceApplyMomentum",
    "ResourceApplyRMSProp", "ResourceGather", "ResourceScatterAdd", "ReverseV2:axis", "Round",
    "Rsqrt", "RsqrtGrad", "ScatterAdd", "ScatterSub", "Select", "SelectV2", "Selu", "SeluGrad",
    "Sigmoid", "SigmoidGrad", "Sign", "Sin", "Slice:begin;size", "Softmax",
    "SoftmaxCrossEntropyWithLogits", "Softplus", "SoftplusGrad", "Softsign", "SoftsignGrad",
    "SparseSoftmaxCrossEntropyWithLogits", "Split:split_dim", "SplitV:size_splits;split_dim",
    "Sqrt", "SqrtGrad", "Square", "SquaredDifference", "StridedSlice:begin;end;strides",
    "StridedSliceGrad:shape;begin;end;strides", "Sub", "Sum:reduction_indices", "Tan", "Tanh",
    "TanhGrad", "Tile:multiples", "Transpose:perm", "TruncatedNormal:shape", "Unpack",
    "UnsortedSegmentSum:num_segments", "Xdivy", "Xlogy", "ZerosLike",
};

static const char* const kAtOnce[] = {
    "BroadcastGradientArgs:s0;s1;r0;r1", "ConcatOffset:concat_dim;shape;offset", "ControlTrigger",
    "DestroyResourceOp", "Enter", "Exit", "ExpandDims:dim", "Identity", "IdentityN",
    "IsVariableInitialized:is_initialized", "LoopCond:input;output", "Merge:value_index",
    "NextIteration", "NoOp", "PreventGradient", "Rank:output", "ReadVariableOp", "RefEnter",
    "RefExit", "RefIdentity", "RefMerge:value_index", "RefNextIteration", "RefSwitch:pred",
    "Reshape:shape", "Shape:output", "ShapeN:output", "Size:output", "Snapshot", "Squeeze",
    "StopGradient", "Switch:pred", "VarHandleOp", "VarIsInitializedOp:is_initialized", "Variable",
    "VariableShape:output", "VariableV2",
};

// ---- Rows and their CPU twins -------------------------------------------------------------------

static leat_kernel_row_t* rows;         // ended by one without an op; live as long as the process
static const leat_kernel_row_t** twins;  // of the CPU, beside |rows|
static size_t row_count;

enum { VALUE_NONE, VALUE_COMING, VALUE_HERE };
typedef struct state_s {
  leat_kernel_t* inner;  // of the twin
  // Of a constant: what the node says, and its copy in the device.
  leat_tensor_t host, value;
  _Atomic(uint32_t) value_state;
} state_t;

static leat_status_t make_twin(leat_kernel_creation_t* c, void* memory) {
  state_t* state = memory;
  const leat_kernel_t* kernel = c->kernel;
  return leat_kernel_create(twins[kernel->row - rows], kernel->op, kernel->node_name, c->attrs,
                            c->attr_count, kernel->input_types, kernel->input_count,
                            kernel->output_types, kernel->output_count, kernel->device,
                            c->resources, c->allocator, &state->inner);
}

static void destroy(void* memory) {
  state_t* state = memory;
  leat_kernel_free(state->inner);
  leat_tensor_release(&state->host);
  leat_tensor_release(&state->value);
}

// ---- At once ------------------------------------------------------------------------------------

static leat_status_t run_at_once(leat_kernel_context_t* c) {
  const state_t* state = leat_kernel_state(c);
  leat_kernel_context_t inner = *c;
  leat_step_services_t services = *c->services;
  const leat_device_t* device = c->kernel->device;
  services.memory = device->host_memory;
  inner.services = &services;
  inner.kernel = state->inner;
  LEAT_RETURN_IF_ERROR(state->inner->row->compute(&inner));
  for (int i = 0; i < c->kernel->output_count; ++i) {
    leat_simulated_memory_leave(leat_simulated_device_memory(device), &c->outputs[i].tensor);
  }
  return leat_ok_status();
}

// ---- On a stream --------------------------------------------------------------------------------

typedef struct launch_s {
  leat_kernel_context_t* context;
  leat_kernel_done_fn_t done;
  leat_kernel_context_t inner;
  leat_step_services_t services;
  leat_slot_t slots[];  // as the stream sees them: inputs, outputs; then their numbers
} launch_t;

// Inputs by the stream's addresses. One slot stays one slot: a kernel sees who reads twice.
static void enter(launch_t* l) {
  const leat_kernel_context_t* c = l->context;
  uint32_t* numbers = (uint32_t*)(l->slots + c->kernel->input_count + c->kernel->output_count);
  for (int i = 0; i < c->kernel->input_count; ++i) {
    int first = 0;
    while (c->input_slots[first] != c->input_slots[i]) ++first;
    numbers[i] = (uint32_t)first;
    l->slots[i] = c->slots[c->input_slots[i]];
    leat_simulated_memory_enter(leat_simulated_device_memory(c->kernel->device),
                                &l->slots[i].tensor);
  }
  l->inner = *c;
  l->services = *c->services;
  l->services.memory =
      leat_simulated_memory_inner(leat_simulated_device_memory(c->kernel->device));
  l->services.pool = NULL;  // only the stream's thread may touch the memory
  l->inner.kernel = ((const state_t*)c->kernel->state)->inner;
  l->inner.slots = l->slots;
  l->inner.input_slots = numbers;
  l->inner.outputs = l->slots + c->kernel->input_count;
  l->inner.services = &l->services;
}

// What the kernel took out of its inputs, or forwarded, is gone from the executor's slots too.
static void leave(launch_t* l) {
  leat_kernel_context_t* c = l->context;
  for (int i = 0; i < c->kernel->input_count; ++i) {
    if (l->inner.input_slots[i] != (uint32_t)i) continue;
    leat_tensor_t* input = &c->slots[c->input_slots[i]].tensor;
    if (!l->slots[i].tensor.buffer) input->buffer = NULL;
    if (!l->slots[i].tensor.dtype) *input = l->slots[i].tensor;
  }
  for (int i = 0; i < c->kernel->output_count; ++i) {
    leat_simulated_memory_leave(leat_simulated_device_memory(c->kernel->device),
                                &l->inner.outputs[i].tensor);
    c->outputs[i] = l->inner.outputs[i];
  }
}

static leat_status_t run_launch(void* data) {
  launch_t* l = data;
  leat_status_t status = l->inner.kernel->row->compute(&l->inner);
  leave(l);
  return status;
}

static void launch_done(void* data, leat_status_t status) {
  launch_t* l = data;
  leat_kernel_context_t* context = l->context;
  leat_kernel_done_fn_t done = l->done;
  leat_allocator_free(leat_allocator_system(), l);
  done(context, status);
}

static void launch(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  leat_device_t* device = c->kernel->device;
  size_t slots = (size_t)(c->kernel->input_count + c->kernel->output_count);
  size_t numbers = (size_t)c->kernel->input_count;
  launch_t* l;
  leat_status_t status = leat_allocator_allocate(
      leat_allocator_system(),
      sizeof *l + slots * sizeof(leat_slot_t) + numbers * sizeof(uint32_t), (void**)&l);
  if (status) {
    done(c, status);
    return;
  }
  l->context = c;
  l->done = done;
  enter(l);
  size_t bytes = 0;
  for (int i = 0; i < c->kernel->input_count; ++i) {
    bytes += leat_tensor_size_bytes(&l->slots[i].tensor);
  }
  leat_simulated_device_enqueue(device, leat_simulated_device_next_stream(device), NULL, 0,
                                run_launch, l, leat_simulated_device_time_ns(device, bytes),
                                launch_done, l);
}

// ---- Constants ----------------------------------------------------------------------------------

typedef struct copying_s {
  leat_kernel_context_t* context;
  leat_kernel_done_fn_t done;
  leat_tensor_t value;
} copying_t;

// The first copy that comes is kept.
static void constant_copied(void* data, leat_status_t status) {
  copying_t copying = *(copying_t*)data;
  state_t* state = leat_kernel_state(copying.context);
  leat_allocator_free(leat_allocator_system(), data);
  uint32_t none = VALUE_NONE;
  if (!status) {
    if (atomic_compare_exchange_strong(&state->value_state, &none, VALUE_COMING)) {
      state->value = leat_tensor_share(&copying.value);
      atomic_store_explicit(&state->value_state, VALUE_HERE, memory_order_release);
    }
    leat_kernel_set_output(copying.context, 0, copying.value);
  }
  copying.done(copying.context, status);
}

static void give_constant(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  const state_t* state = leat_kernel_state(c);
  leat_device_t* device = c->kernel->device;
  if (atomic_load_explicit(&state->value_state, memory_order_acquire) == VALUE_HERE) {
    leat_kernel_set_output(c, 0, leat_tensor_share(&state->value));
    done(c, leat_ok_status());
    return;
  }
  copying_t* copying;
  leat_status_t status =
      leat_allocator_allocate(leat_allocator_system(), sizeof *copying, (void**)&copying);
  if (status) {
    done(c, status);
    return;
  }
  *copying = (copying_t){.context = c, .done = done};
  device->vtable->copy_from_host(device, &state->host, &copying->value, constant_copied, copying);
}

static leat_status_t make_constant(leat_kernel_creation_t* c, void* memory) {
  const leat_tensor_t* value;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_tensor(c, "value", &value));
  ((state_t*)memory)->host = leat_tensor_share(value);
  return leat_ok_status();
}

static const leat_kernel_row_t kConstant = {
    .op = "Const",
    .constraints = "dtype: bfloat16, half, float, double, complex64, complex128",
    .create = make_constant,
    .destroy = destroy,
    .state_bytes = sizeof(state_t),
    .compute_async = give_constant};

// Integers are sizes and indices mostly, which the host reads.
#define HOST_CONSTANTS                                                                          \
  "dtype: int8, int16, int32, int64, uint8, uint16, uint32, uint64, bool, string, resource, variant"

// ---- The list -----------------------------------------------------------------------------------

typedef struct lister_s {
  const char* host_memory;
  const char* constraints;  // NULL: the CPU's
  bool at_once;
} lister_t;

static leat_status_t append(const leat_kernel_row_t* row, const leat_kernel_row_t* twin) {
  // The last one is kept free; the room was counted.
  rows[row_count] = *row;
  rows[row_count].device_type = "SIM";
  twins[row_count++] = twin;
  return leat_ok_status();
}

static leat_status_t list_row(void* data, const leat_kernel_row_t* cpu) {
  const lister_t* lister = data;
  if (strcmp(cpu->device_type, "CPU") != 0 || !cpu->compute) return leat_ok_status();
  leat_kernel_row_t row = {.op = cpu->op,
                           .constraints = lister->constraints ? lister->constraints
                                                              : cpu->constraints,
                           .priority = cpu->priority,
                           .host_memory = lister->host_memory,
                           .create = make_twin,
                           .destroy = destroy,
                           .state_bytes = sizeof(state_t)};
  if (lister->at_once) {
    row.compute = run_at_once;
  } else {
    row.compute_async = launch;
  }
  return append(&row, cpu);
}

static leat_status_t list_ops(leat_kernel_registry_t* registry, const char* const* ops,
                              size_t count, bool at_once) {
  for (size_t i = 0; i < count; ++i) {
    leat_string_view_t op = leat_string_view_from(ops[i]);
    size_t colon = leat_string_view_find(op, ':');
    lister_t lister = {.at_once = at_once};
    if (colon != SIZE_MAX) {
      lister.host_memory = ops[i] + colon + 1;
      op.size = colon;
    }
    LEAT_RETURN_IF_ERROR(leat_kernel_registry_each(registry, op, list_row, &lister));
  }
  return leat_ok_status();
}

static leat_status_t count_row(void* data, const leat_kernel_row_t* row) {
  ++*(size_t*)data;
  return leat_ok_status();
}

static leat_status_t make_rows(leat_kernel_registry_t* registry) {
  size_t room = 16;
  LEAT_RETURN_IF_ERROR(leat_kernel_registry_each(registry, LEAT_SV(""), count_row, &room));
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate_array(leat_allocator_system(), room,
                                                     sizeof *rows, (void**)&rows));
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate_array(leat_allocator_system(), room,
                                                     sizeof *twins, (void**)&twins));
  for (const leat_kernel_row_t* row = leat_transfer_kernels_device; row->op; ++row) {
    LEAT_RETURN_IF_ERROR(append(row, NULL));
  }
  LEAT_RETURN_IF_ERROR(append(&kConstant, NULL));
  lister_t constants = {"output", HOST_CONSTANTS, true};
  LEAT_RETURN_IF_ERROR(
      leat_kernel_registry_each(registry, LEAT_OP_NAME_CONSTANT, list_row, &constants));
  LEAT_RETURN_IF_ERROR(list_ops(registry, kOnStream, LEAT_ARRAY_SIZE(kOnStream), false));
  return list_ops(registry, kAtOnce, LEAT_ARRAY_SIZE(kAtOnce), true);
}

leat_status_t leat_simulated_kernels_register(leat_kernel_registry_t* registry) {
  if (!rows) LEAT_RETURN_IF_ERROR(make_rows(registry));
  return leat_kernel_registry_add(registry, rows);
}
