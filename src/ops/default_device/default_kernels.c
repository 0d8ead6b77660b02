// Kernels that a device has without anybody having written them for it, under the device type
// "DEFAULT" as in TensorFlow. A device of a plug-in needs them to be in a graph at all: to send and
// receive, for constants and variables, for control flow, for what only reads shapes. None of them
// touches an element in the device's memory. There are three kinds:
//
//   transfers, constants   copies of device/device.h
//   assignment             a variable shares the value that it is given
//   at once                the CPU's kernel of the same node, its twin, on the calling thread: it
//                          passes values on, or computes with what lies in host memory
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
};

// ---- Rows and their CPU twins -------------------------------------------------------------------

static leat_kernel_row_t* rows;          // ended by one without an op; live as long as the process
static const leat_kernel_row_t** twins;  // of the CPU, beside |rows|
static size_t row_count;

typedef struct twin_s {
  leat_kernel_t* kernel;
} twin_t;

static leat_status_t make_twin(leat_kernel_creation_t* c, void* memory) {
  const leat_kernel_t* kernel = c->kernel;
  LEAT_DCHECK(kernel->row >= rows && (size_t)(kernel->row - rows) < row_count);
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

// Adds a row; there is room, because the CPU's rows were counted. A row without an op stays behind
// the last one.
static leat_status_t append(const leat_kernel_row_t* row, const leat_kernel_row_t* twin) {
  rows[row_count] = *row;
  rows[row_count].device_type = LEAT_KERNEL_DEFAULT_DEVICE;
  twins[row_count++] = twin;
  return leat_ok_status();
}

// Makes a row of |listing| from the CPU's row |cpu|, unless that is asynchronous. The listing's
// types count, and the CPU's kernels of these ops serve any of them.
static leat_status_t list_row(void* data, const leat_kernel_row_t* cpu) {
  const listing_t* listing = data;
  if (strcmp(cpu->device_type, "CPU") != 0 || !cpu->compute || cpu->label) {
    return leat_ok_status();
  }
  const leat_kernel_row_t row = {
      .op = cpu->op,
      .constraints = listing->constraints ? listing->constraints : cpu->constraints,
      .host_memory = listing->host_memory,
      .priority = cpu->priority,
      .create = make_twin,
      .destroy = destroy_twin,
      .state_bytes = sizeof(twin_t),
      .compute = run_at_once};
  return append(&row, cpu);
}

static leat_status_t count_row(void* data, const leat_kernel_row_t* row) {
  ++*(size_t*)data;
  return leat_ok_status();
}

static leat_status_t append_all(const leat_kernel_row_t* table) {
  for (const leat_kernel_row_t* row = table; row->op; ++row) {
    LEAT_RETURN_IF_ERROR(append(row, NULL));
  }
  return leat_ok_status();
}

static leat_status_t fill_rows(leat_kernel_registry_t* registry) {
  LEAT_RETURN_IF_ERROR(append_all(leat_transfer_kernels_device));
  LEAT_RETURN_IF_ERROR(append_all(leat_resource_variable_kernels_device));
  LEAT_RETURN_IF_ERROR(append(&kConstant, NULL));
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kAtOnce); ++i) {
    listing_t listing = kAtOnce[i];
    LEAT_RETURN_IF_ERROR(leat_kernel_registry_each(registry, leat_string_view_from(listing.op),
                                                   list_row, &listing));
  }
  return leat_ok_status();
}

// Makes all rows or, on failure, none: a part of them would pass for the whole at the next attempt.
static leat_status_t make_rows(leat_kernel_registry_t* registry) {
  size_t room = 16;
  LEAT_DCHECK(!rows && !twins && row_count == 0);
  LEAT_RETURN_IF_ERROR(leat_kernel_registry_each(registry, LEAT_SV(""), count_row, &room));
  leat_status_t status = LEAT_ALLOCATE(leat_allocator_system(), 2 * room, &rows);
  if (!status) status = LEAT_ALLOCATE(leat_allocator_system(), 2 * room, &twins);
  if (!status) status = fill_rows(registry);
  if (!status) return status;
  leat_allocator_free(leat_allocator_system(), rows);
  leat_allocator_free(leat_allocator_system(), twins);
  rows = NULL;
  twins = NULL;
  row_count = 0;
  return status;
}

leat_status_t leat_default_kernels_register(leat_kernel_registry_t* registry) {
  if (!rows) LEAT_RETURN_IF_ERROR(make_rows(registry));
  return leat_kernel_registry_add(registry, rows);
}
