// Kernels that a device has without anybody having written them for it, under the device type
// "DEFAULT" as in TensorFlow. A device of a plug-in needs them to be in a graph at all: to send and
// receive, for constants and variables, for control flow, for what only reads shapes. None of them
// touches an element in the device's memory. There are three kinds:
//
//   transfers, constants   copies of device/device.h
//   assignment             a variable shares the value that it is given
//   at once                the CPU's kernel of the same node, its twin, on the calling thread: it
//                          passes values on, or computes with what lies in host memory. Which one
//                          that is, is looked up when the kernel is made, since it depends on types
//
// The list says for each op which arguments lie in host memory. Integers of 32 bits are mostly
// sizes and indices, so that TensorFlow keeps them with the host, where a row of their own takes
// all arguments; the list has the same types. The rows are made once in a process, when the
// registry is first filled.
#include "ops/default_device/default_kernels.h"

#include <string.h>

#include "ops/kernel_rows.h"
#include "ops/sendrecv/transfer_kernels.h"
#include "ops/state/resource_variable_kernels.h"

#define REALS                                                                                   \
  "bfloat16, half, float, double, complex64, complex128, int8, int16, int64, uint8, uint16, "   \
  "uint32, uint64"
#define QUANTIZED "qint8, quint8, qint32"
#define T_NUMBERS "T: " REALS
#define T_ANY "T: " REALS ", bool, variant"
#define T_FLOW "T: " REALS ", bool, variant, " QUANTIZED
#define T_HOST "T: int32, string, resource"
#define T_INT32 "T: int32"
#define T_INDEX "T: int32, int64"

typedef struct listing_s {
  const char* op;
  const char* constraints;  // NULL: any type
  const char* host_memory;
} listing_t;

static const listing_t kAtOnce[] = {
    {"Add", T_INT32, "x; y; z"},
    {"AddV2", T_INT32, "x; y; z"},
    {"Assert", NULL, "condition; data"},
    {"BroadcastArgs", T_INDEX, "s0; s1; r0"},
    {"BroadcastGradientArgs", T_INDEX, "s0; s1; r0; r1"},
    {"ConcatOffset", "shape_type: int32, int64", "concat_dim; shape; offset"},
    {"ConcatV2", T_INT32, "values; axis; output"},
    {"ControlTrigger", NULL, NULL},
    {"DestroyResourceOp", NULL, "resource"},
    {"Div", T_INT32, "x; y; z"},
    {"Enter", T_FLOW, NULL},
    {"Enter", T_HOST, "data; output"},
    {"Equal", T_INT32, "x; y; z"},
    {"Exit", T_FLOW, NULL},
    {"Exit", T_HOST, "data; output"},
    {"ExpandDims", T_NUMBERS ", bool", "dim"},
    {"ExpandDims", T_INT32, "input; dim; output"},
    {"Fill", "T: int32; index_type: int32", "dims; value; output"},
    {"FloorDiv", T_INT32, "x; y; z"},
    {"FloorMod", T_INT32, "x; y; z"},
    {"Greater", T_INT32, "x; y; z"},
    {"GreaterEqual", T_INT32, "x; y; z"},
    {"Identity", T_ANY, NULL},
    {"Identity", T_HOST, "input; output"},
    {"IdentityN", NULL, NULL},
    {"IsVariableInitialized", NULL, "is_initialized"},
    {"Less", T_INT32, "x; y; z"},
    {"LessEqual", T_INT32, "x; y; z"},
    {"LoopCond", NULL, "input; output"},
    {"Maximum", T_INT32, "x; y; z"},
    {"Merge", T_FLOW, "value_index"},
    {"Merge", T_HOST, "inputs; output; value_index"},
    {"Minimum", T_INT32, "x; y; z"},
    {"Mul", T_INT32, "x; y; z"},
    {"Neg", T_INT32, "x; y"},
    {"NextIteration", T_FLOW, NULL},
    {"NextIteration", T_HOST, "data; output"},
    {"NoOp", NULL, NULL},
    {"NotEqual", T_INT32, "x; y; z"},
    {"PlaceholderWithDefault", "dtype: " REALS ", bool, variant", NULL},
    {"PlaceholderWithDefault", "dtype: int32, string, resource", "input; output"},
    {"PreventGradient", T_ANY, NULL},
    {"Range", "Tidx: int32", "start; limit; delta; output"},
    {"Rank", "T: " REALS ", variant", "output"},
    {"Rank", "T: bool, int32", "input; output"},
    {"ReadVariableOp", NULL, "resource"},
    {"RefEnter", "T: " REALS ", bool, " QUANTIZED, NULL},
    {"RefEnter", "T: int32, string", "data; output"},
    {"RefExit", "T: " REALS ", bool", NULL},
    {"RefIdentity", T_ANY, NULL},
    {"RefMerge", "T: " REALS ", bool", "value_index"},
    {"RefNextIteration", T_FLOW, NULL},
    {"RefSwitch", "T: " REALS ", bool", "pred"},
    {"Reshape", T_NUMBERS ", bool", "shape"},
    {"Reshape", T_INT32, "tensor; shape; output"},
    {"Shape", T_ANY, "output"},
    {"Shape", T_INT32, "input; output"},
    {"ShapeN", T_NUMBERS ", bool", "output"},
    {"ShapeN", T_INT32, "input; output"},
    {"Size", T_ANY, "output"},
    {"Size", T_INT32, "input; output"},
    {"Slice", T_INT32, "input; begin; size; output"},
    {"Squeeze", T_NUMBERS ", bool", NULL},
    {"Squeeze", T_INT32, "input; output"},
    {"StopGradient", T_ANY, NULL},
    {"StopGradient", T_HOST, "input; output"},
    {"Sub", T_INT32, "x; y; z"},
    {"Switch", T_FLOW, "pred"},
    {"Switch", T_HOST, "data; pred; output_false; output_true"},
    {"Unpack", T_INDEX, "value; output"},
    {"VarHandleOp", NULL, "resource"},
    {"VarIsInitializedOp", NULL, "resource; is_initialized"},
    {"Variable", NULL, NULL},
    {"VariableShape", "out_type: int32, int64", "input; output"},
    {"VariableV2", NULL, NULL},
    {"Const", "dtype: int32, string, resource", "output"},
    {"HostConst", NULL, "output"},
    {"_ArrayToList", "T: half, float, double", NULL},
    {"_ArrayToList", T_INT32, "input; output"},
    {"_EagerConst", T_ANY, NULL},
    {"_EagerConst", T_HOST, "input; output"},
    {"_HostCast", NULL, "x; y"},
    {"_ListToArray", "T: half, float, double", NULL},
    {"_ListToArray", T_INT32, "input; output"},
    {"_ReadVariablesOp", NULL, "resources"},
    {"_VarHandlesOp", NULL, "resources"},
};

// ---- Rows and their CPU twins -------------------------------------------------------------------

static leat_kernel_row_t* rows;  // ended by one without an op; live as long as the process
static size_t row_count;
// Has the CPU's rows: the registry that got |rows| last.
static _Atomic(const leat_kernel_registry_t*) cpu_kernels;

typedef struct twin_s {
  leat_kernel_t* kernel;
} twin_t;

static leat_status_t make_twin(leat_kernel_creation_t* c, void* memory) {
  const leat_kernel_t* kernel = c->kernel;
  const leat_kernel_row_t* twin;
  LEAT_RETURN_IF_ERROR(leat_kernel_registry_find(atomic_load(&cpu_kernels), kernel->op, c->attrs,
                                                 c->attr_count, LEAT_SV("CPU"), &twin));
  LEAT_DCHECK(twin->compute);
  leat_kernel_spec_t spec = {.row = twin,
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
                             .session_resources = c->session_resources,
                             .allocator = c->allocator};
  return leat_kernel_create(&spec, &((twin_t*)memory)->kernel);
}

static void destroy_twin(void* memory) { leat_kernel_free(((twin_t*)memory)->kernel); }

// Runs the twin on the calling thread, with host memory for what it makes.
static leat_status_t run_at_once(leat_kernel_context_t* c) {
  const twin_t* twin = leat_kernel_state(c);
  leat_kernel_context_t inner = *c;
  leat_step_services_t services = *c->services;
  services.memory = c->kernel->device->host_memory;
  inner.services = &services;
  inner.kernel = twin->kernel;
  return twin->kernel->compute(&inner);
}

// ---- Constants ----------------------------------------------------------------------------------

enum { VALUE_NONE, VALUE_COMING, VALUE_HERE };
typedef struct constant_s {
  leat_tensor_t host, value;  // what the node says, and its copy in the device
  _Atomic(uint32_t) value_state;
} constant_t;

// Outputs the copy in the device. Where several steps come first at the same time, each makes a
// copy, and one of the copies is kept.
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
    .constraints = "dtype: " REALS ", bool, variant, " QUANTIZED ", qint16, quint16",
    .create = make_constant,
    .destroy = destroy_constant,
    .state_bytes = sizeof(constant_t),
    .compute = give_constant};

// ---- The list -----------------------------------------------------------------------------------

// Adds a row; there is room. A row without an op stays behind the last one.
static void append(const leat_kernel_row_t* row) {
  rows[row_count] = *row;
  rows[row_count++].device_type = LEAT_KERNEL_DEFAULT_DEVICE;
}

static size_t count_rows(const leat_kernel_row_t* table) {
  size_t count = 0;
  while (table[count].op) ++count;
  return count;
}

static leat_status_t make_rows(void) {
  const leat_kernel_row_t* const tables[] = {leat_transfer_kernels_device,
                                             leat_resource_variable_kernels_device};
  size_t room = LEAT_ARRAY_SIZE(kAtOnce) + 2;  // kConstant and the end
  for (size_t t = 0; t < LEAT_ARRAY_SIZE(tables); ++t) room += count_rows(tables[t]);
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), room, &rows));
  for (size_t t = 0; t < LEAT_ARRAY_SIZE(tables); ++t) {
    for (const leat_kernel_row_t* row = tables[t]; row->op; ++row) append(row);
  }
  append(&kConstant);
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kAtOnce); ++i) {
    append(&(leat_kernel_row_t){.op = kAtOnce[i].op,
                                .constraints = kAtOnce[i].constraints,
                                .host_memory = kAtOnce[i].host_memory,
                                .create = make_twin,
                                .destroy = destroy_twin,
                                .state_bytes = sizeof(twin_t),
                                .compute = run_at_once});
  }
  LEAT_DCHECK(row_count < room);
  return leat_ok_status();
}

leat_status_t leat_default_kernels_register(leat_kernel_registry_t* registry) {
  if (!rows) LEAT_RETURN_IF_ERROR(make_rows());
  atomic_store(&cpu_kernels, registry);
  return leat_kernel_registry_add(registry, rows);
}
