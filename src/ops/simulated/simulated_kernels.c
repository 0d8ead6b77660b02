// Kernels of the simulated device: rows made from the CPU's rows of the ops listed below, under the
// device type "SIM". Nearly every such kernel has a twin, the CPU's kernel of the same node, which
// computes in its place on a stream or on the host. The rows are made once in a process, when the
// device's kernels are first registered. There are four kinds:
//
//   enqueued     The kernel only enqueues its work (launch_kernel.h), and the executor does not
//                wait for it. For ops whose output shapes follow from input shapes and host
//                arguments by the shape function, and which touch nothing but their inputs, outputs
//                and a random generator of the node. Where shapes cannot be told after all (a slice
//                from INT64_MIN), the call waits for the stream.
//   to the end   The kernel is done when its work has run on a stream. For ops that update a
//                variable, or read one by its handle: the twin looks up the variable and decides
//                whether it may be overwritten, which nobody can know when the work is enqueued.
//   at once      The kernel runs on the host. For ops that touch no element in device memory: they
//                pass values on, or read shapes or names.
//   constants    They are copied into the device by the first step that reads them.
//
// In the lists, the text before ':' is the op, and behind it stand the arguments that live in host
// memory. Handles and strings always live there.
#include "ops/simulated/simulated_kernels.h"

#include <string.h>

#include "device/simulated/simulated_device.h"
#include "kernel/resource.h"
#include "ops/kernel_rows.h"
#include "ops/sendrecv/transfer_kernels.h"
#include "ops/simulated/launch_kernel.h"

static const char* const kEnqueued[] = {
    "Abs", "Add", "AddN", "AddV2", "All:reduction_indices", "Any:reduction_indices",
    "ArgMax:dimension", "ArgMin:dimension", "AvgPool", "AvgPoolGrad:orig_input_shape",
    "BatchMatMul", "BatchMatMulV2", "BiasAdd", "BiasAddGrad", "BiasAddV1", "BroadcastTo:shape",
    "Cast", "Ceil", "ConcatV2:axis", "Conv2D", "Conv2DBackpropFilter:filter_sizes",
    "Conv2DBackpropInput:input_sizes", "Cos", "Cumsum:axis", "Div", "DivNoNan", "Elu", "EluGrad",
    "Equal", "Erf", "Exp", "Expm1", "Fill:dims", "Floor", "FloorDiv", "FloorMod", "FusedBatchNorm",
    "FusedBatchNormGrad", "FusedBatchNormGradV3", "FusedBatchNormV3", "Gather", "GatherNd",
    "GatherV2:axis", "Greater", "GreaterEqual", "InvGrad", "L2Loss", "LeakyRelu", "LeakyReluGrad",
    "Less", "LessEqual", "Log", "Log1p", "LogSoftmax", "LogicalAnd", "LogicalNot", "LogicalOr",
    "MatMul", "Max:reduction_indices", "MaxPool", "MaxPoolGrad", "Maximum",
    "Mean:reduction_indices", "Min:reduction_indices", "Minimum", "Mul", "Neg", "NotEqual",
    "OneHot:depth", "OnesLike", "Pack", "Pad:paddings", "PadV2:paddings", "Pow",
    "Prod:reduction_indices", "RandomStandardNormal:shape", "RandomUniform:shape", "RealDiv",
    "Reciprocal", "ReciprocalGrad", "Relu", "Relu6", "Relu6Grad", "ReluGrad", "ReverseV2:axis",
    "Round", "Rsqrt", "RsqrtGrad", "Select", "SelectV2", "Selu", "SeluGrad", "Sigmoid",
    "SigmoidGrad", "Sign", "Sin", "Slice:begin;size", "Softmax", "SoftmaxCrossEntropyWithLogits",
    "Softplus", "SoftplusGrad", "Softsign", "SoftsignGrad", "SparseSoftmaxCrossEntropyWithLogits",
    "Split:split_dim", "SplitV:size_splits;split_dim", "Sqrt", "SqrtGrad", "Square",
    "SquaredDifference", "StridedSlice:begin;end;strides",
    "StridedSliceGrad:shape;begin;end;strides", "Sub", "Sum:reduction_indices", "Tan", "Tanh",
    "TanhGrad", "Tile:multiples", "Transpose:perm", "TruncatedNormal:shape", "Unpack",
    "UnsortedSegmentSum:num_segments", "Xdivy", "Xlogy", "ZerosLike",
};

static const char* const kToTheEnd[] = {
    "ApplyAdagrad", "ApplyAdam", "ApplyGradientDescent", "ApplyMomentum", "ApplyRMSProp", "Assign",
    "AssignAdd", "AssignAddVariableOp", "AssignSub", "AssignSubVariableOp", "AssignVariableOp",
    "ResourceApplyAdagrad", "ResourceApplyAdam", "ResourceApplyGradientDescent",
    "ResourceApplyKerasMomentum", "ResourceApplyMomentum", "ResourceApplyRMSProp", "ResourceGather",
    "ResourceScatterAdd", "ScatterAdd", "ScatterSub",
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

// Enqueued work cannot make values that the host reads (strings, handles), as nobody waits for it.
static leat_status_t check_outputs(const leat_kernel_t* kernel) {
  for (int i = 0; i < kernel->output_count; ++i) {
    int dtype = leat_dtype_base(kernel->output_types[i]);
    if (!leat_dtype_in(dtype, LEAT_DTYPES_OBJECT)) continue;
    return leat_make_status(LEAT_UNIMPLEMENTED,
                            "Kernel creation failed for node '%.*s' (%.*s): output %d is %s, must "
                            "be a type that lies in the device's memory",
                            LEAT_SV_ARG(kernel->node_name), LEAT_SV_ARG(kernel->op->name), i,
                            leat_dtype_name(dtype));
  }
  return leat_ok_status();
}

// Creates the CPU's kernel of the same node, and what finds its output shapes where the row
// enqueues.
static leat_status_t make_twin(leat_kernel_creation_t* c, void* memory) {
  leat_twin_t* twin = memory;
  const leat_kernel_t* kernel = c->kernel;
  if (kernel->row->enqueues) {
    LEAT_RETURN_IF_ERROR(check_outputs(kernel));
    LEAT_RETURN_IF_ERROR(leat_output_shapes_create(kernel->op, kernel->node_name, c->attrs,
                                                   c->attr_count, c->allocator, &twin->shapes));
  }
  leat_kernel_spec_t spec = {.row = twins[kernel->row - rows],
                             .op = kernel->op,
                             .node_name = kernel->node_name,
                             .attrs = c->attrs,
                             .attr_count = c->attr_count,
                             .input_types = kernel->input_types,
                             .input_count = kernel->input_count,
                             .output_types = kernel->output_types,
                             .output_count = kernel->output_count,
                             .device = kernel->device,
                             .resources = c->resources,
                             .allocator = c->allocator};
  return leat_kernel_create(&spec, &twin->kernel);
}

static void destroy_twin(void* memory) {
  leat_twin_t* twin = memory;
  leat_kernel_free(twin->kernel);
  leat_output_shapes_free(twin->shapes);
}

// ---- At once ------------------------------------------------------------------------------------

// Runs the twin on the calling thread, with host memory for its outputs.
static leat_status_t run_at_once(leat_kernel_context_t* c) {
  const leat_twin_t* twin = leat_kernel_state(c);
  leat_kernel_context_t inner = *c;
  leat_step_services_t services = *c->services;
  const leat_device_t* device = c->kernel->device;
  services.memory = device->host_memory;
  inner.services = &services;
  inner.kernel = twin->kernel;
  LEAT_RETURN_IF_ERROR(twin->kernel->row->compute(&inner));
  for (int i = 0; i < c->kernel->output_count; ++i) {
    leat_simulated_memory_leave(leat_simulated_device_memory(device), &c->outputs[i].tensor);
  }
  return leat_ok_status();
}

// ---- Constants ----------------------------------------------------------------------------------

enum { VALUE_NONE, VALUE_COMING, VALUE_HERE };
typedef struct constant_s {
  leat_tensor_t host, value;  // what the node says, and its copy in the device
  _Atomic(uint32_t) value_state;
} constant_t;

// Outputs the copy in the device, which readers wait for as for any other work. Where several steps
// come first at the same time, each makes a copy, and one of the copies is kept.
static leat_status_t give_constant(leat_kernel_context_t* c) {
  constant_t* constant = leat_kernel_state(c);
  leat_device_t* device = c->kernel->device;
  leat_tensor_t value = {0};
  if (atomic_load_explicit(&constant->value_state, memory_order_acquire) == VALUE_HERE) {
    leat_kernel_set_output(c, 0, leat_tensor_share(&constant->value));
    return leat_ok_status();
  }
  LEAT_RETURN_IF_ERROR(device->vtable->copy_from_host(device, &constant->host, &value));
  uint32_t none = VALUE_NONE;
  if (atomic_compare_exchange_strong(&constant->value_state, &none, VALUE_COMING)) {
    constant->value = leat_tensor_share(&value);
    atomic_store_explicit(&constant->value_state, VALUE_HERE, memory_order_release);
  }
  leat_kernel_set_output(c, 0, value);
  return leat_ok_status();
}

static leat_status_t make_constant(leat_kernel_creation_t* c, void* memory) {
  const leat_tensor_t* value;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_tensor(c, "value", &value));
  ((constant_t*)memory)->host = leat_tensor_share(value);
  return leat_ok_status();
}

static void destroy_constant(void* memory) {
  constant_t* constant = memory;
  leat_tensor_release(&constant->host);
  leat_tensor_release(&constant->value);
}

static const leat_kernel_row_t kConstant = {
    .op = "Const",
    .constraints = "dtype: bfloat16, half, float, double, complex64, complex128",
    .create = make_constant,
    .destroy = destroy_constant,
    .state_bytes = sizeof(constant_t),
    .compute = give_constant};

// Constants of these types stay in host memory: integers are mostly sizes and indices, which the
// host reads.
#define HOST_CONSTANTS                                                                          \
  "dtype: int8, int16, int32, int64, uint8, uint16, uint32, uint64, bool, string, resource, variant"

// ---- The list -----------------------------------------------------------------------------------

typedef enum { ENQUEUED, TO_THE_END, AT_ONCE } way_t;

typedef struct lister_s {
  const char* host_memory;
  const char* constraints;  // NULL: the CPU's
  way_t way;
} lister_t;

// Adds a row for the device; there is room, because the CPU's rows were counted. A row without an
// op stays behind the last one.
static leat_status_t append(const leat_kernel_row_t* row, const leat_kernel_row_t* twin) {
  // The last one is kept free; the room was counted.
  rows[row_count] = *row;
  rows[row_count].device_type = "SIM";
  twins[row_count++] = twin;
  return leat_ok_status();
}

// Makes a row from the CPU's row |cpu|, unless that is asynchronous.
static leat_status_t list_row(void* data, const leat_kernel_row_t* cpu) {
  const lister_t* lister = data;
  if (strcmp(cpu->device_type, "CPU") != 0 || !cpu->compute) return leat_ok_status();
  leat_kernel_row_t row = {.op = cpu->op,
                           .constraints = lister->constraints ? lister->constraints
                                                              : cpu->constraints,
                           .priority = cpu->priority,
                           .host_memory = lister->host_memory,
                           .create = make_twin,
                           .destroy = destroy_twin,
                           .state_bytes = sizeof(leat_twin_t),
                           .enqueues = lister->way == ENQUEUED};
  if (lister->way == TO_THE_END) {
    row.compute_async = leat_launch_to_the_end;
  } else {
    row.compute = lister->way == ENQUEUED ? leat_launch_enqueue : run_at_once;
  }
  return append(&row, cpu);
}

static leat_status_t list_ops(leat_kernel_registry_t* registry, const char* const* ops,
                              size_t count, way_t way) {
  for (size_t i = 0; i < count; ++i) {
    leat_string_view_t op = leat_string_view_from(ops[i]);
    size_t colon = leat_string_view_find(op, ':');
    lister_t lister = {.way = way};
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

// Makes all rows or, on failure, none: a part of them would pass for the whole at the next attempt.
static leat_status_t make_rows(leat_kernel_registry_t* registry) {
  size_t room = 16;
  lister_t constants = {"output", HOST_CONSTANTS, AT_ONCE};
  leat_status_t status;
  LEAT_DCHECK(!rows && !twins && row_count == 0);
  LEAT_GOTO_IF_ERROR(status,
                     leat_kernel_registry_each(registry, LEAT_SV(""), count_row, &room));
  LEAT_GOTO_IF_ERROR(status, LEAT_ALLOCATE(leat_allocator_system(), room, &rows));
  LEAT_GOTO_IF_ERROR(status, LEAT_ALLOCATE(leat_allocator_system(), room, &twins));
  for (const leat_kernel_row_t* row = leat_transfer_kernels_device; row->op; ++row) {
    LEAT_GOTO_IF_ERROR(status, append(row, NULL));
  }
  LEAT_GOTO_IF_ERROR(status, append(&kConstant, NULL));
  LEAT_GOTO_IF_ERROR(status, leat_kernel_registry_each(registry, LEAT_OP_NAME_CONSTANT, list_row,
                                                       &constants));
  LEAT_GOTO_IF_ERROR(status,
                     list_ops(registry, kEnqueued, LEAT_ARRAY_SIZE(kEnqueued), ENQUEUED));
  LEAT_GOTO_IF_ERROR(status,
                     list_ops(registry, kToTheEnd, LEAT_ARRAY_SIZE(kToTheEnd), TO_THE_END));
  LEAT_GOTO_IF_ERROR(status, list_ops(registry, kAtOnce, LEAT_ARRAY_SIZE(kAtOnce), AT_ONCE));
  return leat_ok_status();

cleanup:
  leat_allocator_free(leat_allocator_system(), rows);
  leat_allocator_free(leat_allocator_system(), twins);
  rows = NULL;
  twins = NULL;
  row_count = 0;
  return status;
}

leat_status_t leat_simulated_kernels_register(leat_kernel_registry_t* registry) {
  if (!rows) LEAT_RETURN_IF_ERROR(make_rows(registry));
  return leat_kernel_registry_add(registry, rows);
}
