// CPU kernels of calls that were not replaced by the function's body: recursive ones, and
// RemoteCall, whose input names the device to call on. The call runs as a step of its own, and this
// kernel waits for it without a thread:
//
//   kernel ─▶ pending call ─▶ function runtime ─▶ ... ─▶ returned ─▶ outputs, done
//
// The pending call borrows the kernel's inputs, which stay valid until the kernel is done, and owns
// the returns until they become outputs. Other kernels of this folder call functions through
// leat_call_with_inputs.
//
// _Arg, _Retval and their device forms have rows so that they can be placed. The executor handles
// these nodes itself, so their kernel runs only where a graph holds such a node by mistake, which
// is an error.
#include "device/device_name.h"
#include "ops/function/function_call_cpu.h"
#include "ops/kernel_rows.h"

// A call under way.
typedef struct pending_s {
  leat_kernel_context_t* context;
  leat_kernel_done_fn_t done;
  leat_function_call_t call;
  leat_tensor_t tensors[];  // the arguments (borrowed), then room for the returns
} pending_t;

// A leat_function_done_fn_t: ends the kernel.
static void returned(void* data, leat_status_t status) {
  pending_t* pending = data;
  leat_kernel_context_t* context = pending->context;
  leat_kernel_done_fn_t done = pending->done;
  for (int i = 0; !status && i < pending->call.return_count; ++i) {
    leat_kernel_set_output(context, i, pending->call.returns[i]);
  }
  leat_allocator_free(leat_allocator_system(), pending);
  done(context, status);
}

// Makes a pending call in one block, with its arguments and with room for its returns.
static leat_status_t make_pending(leat_kernel_context_t* c, int first_input,
                                  leat_kernel_done_fn_t done, pending_t** out_pending) {
  int arguments = c->kernel->input_count - first_input, returns = c->kernel->output_count;
  pending_t* pending;
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate(
      leat_allocator_system(),
      sizeof *pending + (size_t)(arguments + returns) * sizeof(leat_tensor_t), (void**)&pending));
  pending->context = c;
  pending->done = done;
  for (int i = 0; i < arguments; ++i) {
    pending->tensors[i] = *leat_kernel_input(c, first_input + i);
  }
  pending->call = (leat_function_call_t){.caller = c->services,
                                         .arguments = pending->tensors,
                                         .argument_count = arguments,
                                         .returns = pending->tensors + arguments,
                                         .return_count = returns};
  *out_pending = pending;
  return leat_ok_status();
}

void leat_call_with_inputs(leat_kernel_context_t* c, leat_callee_t* callee, int first_input,
                           leat_kernel_done_fn_t done) {
  pending_t* pending;
  leat_status_t status = make_pending(c, first_input, done, &pending);
  if (status) {
    done(c, status);
    return;
  }
  leat_callee_run(c, callee, &pending->call, returned, pending);
}

static leat_status_t call_create(leat_kernel_creation_t* c, void* state) {
  return leat_callee_initialize(c, "f", 0, state);
}

static void call__cpu(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  leat_call_with_inputs(c, leat_kernel_state(c), 0, done);
}

// Prints to |buffer| the device that input 0 names; the parts that it leaves out are those of the
// node's own device.
static leat_status_t read_target(const leat_kernel_context_t* c, char* buffer, size_t size) {
  const leat_tensor_t* target = leat_kernel_input(c, 0);
  leat_device_name_t name, own;
  if (target->shape.rank != 0) {
    return leat_kernel_invalid(c, "target has shape %s, must be []",
                               LEAT_SHAPE_TEXT(&target->shape));
  }
  LEAT_RETURN_IF_ERROR(leat_device_name_parse(leat_tensor_string_at(target, 0), &name));
  LEAT_RETURN_IF_ERROR(leat_device_name_parse(c->kernel->device->name, &own));
  if (name.job.size == 0) name.job = own.job;
  if (name.replica == LEAT_DEVICE_ANY) name.replica = own.replica;
  if (name.task == LEAT_DEVICE_ANY) name.task = own.task;
  if (name.type.size == 0) name.type = own.type;
  if (name.index == LEAT_DEVICE_ANY) name.index = own.index;
  leat_device_name_print(&name, buffer, size);
  return leat_ok_status();
}

static leat_status_t find_remote(const leat_kernel_context_t* c, uint64_t* out_handle) {
  const leat_callee_t* callee = leat_kernel_state(c);
  leat_function_runtime_t* functions = c->services->functions;
  char device[512];
  LEAT_RETURN_IF_ERROR(read_target(c, device, sizeof device));
  if (!functions) {
    return leat_kernel_error(c, LEAT_FAILED_PRECONDITION,
                             "function '%.*s' is called outside a session, must be inside one",
                             LEAT_SV_ARG(callee->function->name));
  }
  return functions->vtable->instantiate(functions, callee->function,
                                        leat_string_view_from(device), out_handle);
}

// The function is looked up in each run, because another step may name another device.
static void remote__cpu(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  uint64_t handle;
  pending_t* pending;
  leat_status_t status = find_remote(c, &handle);
  if (!status) status = make_pending(c, 1, done, &pending);
  if (status) {
    done(c, status);
    return;
  }
  leat_function_runtime_t* functions = c->services->functions;
  functions->vtable->run(functions, handle, &pending->call, returned, pending);
}

static void gradient__cpu(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  done(c, leat_kernel_error(c, LEAT_UNIMPLEMENTED,
                            "the gradient of a function that calls itself is not there"));
}

static leat_status_t outside_function__cpu(leat_kernel_context_t* c) {
  return leat_kernel_invalid(c, "the node is run outside a function, must be inside one");
}

#define CALL(name, how)                 \
  {.op = name,                          \
   .device_type = "CPU",                \
   .create = call_create,               \
   .state_bytes = sizeof(leat_callee_t), \
   .compute_async = how}

const leat_kernel_row_t leat_call_kernels_cpu[] = {
    CALL("PartitionedCall", call__cpu),
    CALL("StatefulPartitionedCall", call__cpu),
    CALL("RemoteCall", remote__cpu),
    CALL("SymbolicGradient", gradient__cpu),
    {.op = "_Arg", .device_type = "CPU", .compute = outside_function__cpu},
    {.op = "_Retval", .device_type = "CPU", .compute = outside_function__cpu},
    {.op = "_DeviceArg", .device_type = "CPU", .compute = outside_function__cpu},
    {.op = "_DeviceRetval", .device_type = "CPU", .compute = outside_function__cpu},
    LEAT_KERNEL_ROWS_END,
};
