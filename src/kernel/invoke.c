// Runs one kernel outside of a plan: for constant folding, eager execution and tests. A context is
// made over the caller's values, and the kernel is called as every executor calls it
// (kernel/call.h), so that contracts, references and messages are the same. The caller keeps its
// inputs, so nothing may be overwritten: no input has this kernel as its last reader.
//
//   slots:  [ the caller's inputs | values read from references ]
//
// A reference that feeds an input of the plain type gets a second slot, into which its value is
// read. A kernel that is asynchronous, or whose work continues on a device after it has returned,
// is waited for: the calling thread blocks, so no executor may use this. On failure the outputs are
// empty.
#include <stddef.h>

#include "base/clock.h"
#include "base/float_mode.h"
#include "kernel/call.h"
#include "kernel/resource.h"
#include "kernel/step_check.h"

#define INLINE_INPUTS 16

// The arrays of a context, on the stack unless the kernel has more than INLINE_INPUTS inputs.
typedef struct invocation_s {
  leat_slot_t* slots;  // [2 * inputs]
  uint32_t* input_slots;
  leat_reference_read_t* reads;
  uint32_t read_count;
  void* memory;  // the heap block of the arrays; NULL: the inline ones serve
  leat_slot_t inline_slots[2 * INLINE_INPUTS];
  uint32_t inline_input_slots[INLINE_INPUTS];
  leat_reference_read_t inline_reads[INLINE_INPUTS];
} invocation_t;

static leat_status_t initialize_invocation(int input_count, invocation_t* out_invocation) {
  LEAT_DCHECK(input_count >= 0);
  out_invocation->slots = out_invocation->inline_slots;
  out_invocation->input_slots = out_invocation->inline_input_slots;
  out_invocation->reads = out_invocation->inline_reads;
  out_invocation->read_count = 0;
  out_invocation->memory = NULL;
  if (input_count > INLINE_INPUTS) {
    size_t count = (size_t)input_count;
    LEAT_RETURN_IF_ERROR(leat_allocator_allocate_array(
        leat_allocator_system(), count,
        2 * sizeof(leat_slot_t) + sizeof(leat_reference_read_t) + sizeof(uint32_t),
        &out_invocation->memory));
    out_invocation->slots = out_invocation->memory;
    out_invocation->reads = (leat_reference_read_t*)(out_invocation->slots + 2 * count);
    out_invocation->input_slots = (uint32_t*)(out_invocation->reads + count);
  }
  for (int i = 0; i < input_count; ++i) out_invocation->input_slots[i] = (uint32_t)i;
  return leat_ok_status();
}

// ---- The run ------------------------------------------------------------------------------------

// What stands for the step of a kernel that ends later than its call returns.
typedef struct waiter_s {
  leat_step_listener_t listener;
  leat_async_call_t call;
  leat_notification_t ended;
  leat_spinlock_t lock;
  leat_status_t status;  // the first failure
} waiter_t;

static void note_status(waiter_t* waiter, leat_status_t status) {
  leat_spinlock_join_status(&waiter->lock, &waiter->status, status);
}

static void on_work_ended(leat_step_listener_t* self, const leat_kernel_t* kernel,
                          const leat_slot_t* outputs, int64_t duration_ns, leat_status_t status) {
  note_status((waiter_t*)self, status);
}

static void on_synchronized(void* data, leat_status_t status) {
  waiter_t* waiter = data;
  note_status(waiter, status);
  leat_notification_open(&waiter->ended);
}

static void on_resume(leat_async_call_t* call) {
  waiter_t* waiter = LEAT_CONTAINER_OF(call, waiter_t, call);
  leat_notification_open(&waiter->ended);
}

// Runs the kernel and blocks until it and all of its work on the device have ended.
static leat_status_t call_and_wait(leat_kernel_context_t* context, bool prepares) {
  LEAT_DCHECK(context->services && !context->owner);
  const leat_kernel_t* kernel = context->kernel;
  waiter_t waiter = {.listener = {on_work_ended}};
  leat_step_services_t services = *context->services;
  services.listener = &waiter.listener;
  context->services = &services;
  leat_notification_initialize(&waiter.ended);
  bool has_ended = false;
  if (kernel->row->enqueues) {
    note_status(&waiter, leat_kernel_call(context, kernel->compute, prepares, false));
    kernel->device->vtable->synchronize(kernel->device, on_synchronized, &waiter);
  } else {
    waiter.call.context = *context;
    waiter.call.prepares = prepares;
    waiter.call.resume = on_resume;
    has_ended = leat_async_call_start(&waiter.call);
  }
  if (!has_ended) leat_notification_wait(&waiter.ended, LEAT_DEADLINE_NEVER);
  leat_notification_deinitialize(&waiter.ended);
  return leat_status_join(waiter.status, waiter.call.status);
}

static leat_status_t call(leat_kernel_context_t* context, bool prepares) {
  const leat_kernel_row_t* row = context->kernel->row;
  if (row->compute_async || row->enqueues) return call_and_wait(context, prepares);
  if (row->compute) return leat_kernel_call(context, context->kernel->compute, prepares, false);
  return leat_kernel_error(context, LEAT_INTERNAL, "compute is absent from the kernel's row");
}

static leat_status_t call_as_in_a_step(leat_kernel_context_t* context, bool prepares) {
  const leat_float_mode_t before = leat_float_mode_enter();
  leat_status_t status = call(context, prepares);
  leat_float_mode_leave(before);
  return status;
}

// Runs the kernel over the slots of |invocation|. Where the caller gives no services, the kernel
// gets the memory and threads of its device.
static leat_status_t run(const leat_kernel_t* kernel, const leat_step_services_t* services,
                         invocation_t* invocation, leat_slot_t* outputs) {
  leat_step_services_t lent;
  if (!services) {
    lent = (leat_step_services_t){.memory = kernel->device->memory, .pool = kernel->device->pool};
    services = &lent;
  }
  leat_kernel_context_t context = {
      .kernel = kernel,
      .slots = invocation->slots,
      .input_slots = invocation->input_slots,
      .outputs = outputs,
      .services = services,
      .reads = invocation->reads,
      .read_count = invocation->read_count,
  };
  leat_status_t status =
      call_as_in_a_step(&context, leat_kernel_needs_preparing(kernel, invocation->read_count));
  if (!status) status = leat_step_check(services, true);  // a long loop may have been cut short
  if (status) {
    for (int i = 0; i < kernel->output_count; ++i) leat_slot_release(&outputs[i]);
  }
  return status;
}

// ---- Over slots ---------------------------------------------------------------------------------

leat_status_t leat_kernel_invoke_slots(const leat_kernel_t* kernel,
                                       const leat_step_services_t* services,
                                       const leat_slot_t* inputs, leat_slot_t* out_outputs) {
  invocation_t invocation;
  uint32_t count = (uint32_t)kernel->input_count;
  for (int i = 0; i < kernel->output_count; ++i) out_outputs[i] = (leat_slot_t){0};
  LEAT_RETURN_IF_ERROR(initialize_invocation(kernel->input_count, &invocation));
  for (uint32_t i = 0; i < count; ++i) {
    invocation.slots[i] = inputs[i];  // borrowed
    if (!inputs[i].ref || leat_dtype_is_ref(kernel->input_types[i])) continue;
    invocation.slots[count + i] = (leat_slot_t){0};
    invocation.input_slots[i] = count + i;
    invocation.reads[invocation.read_count++] = (leat_reference_read_t){i, count + i};
  }
  leat_status_t status = run(kernel, services, &invocation, out_outputs);
  for (uint32_t i = 0; i < invocation.read_count; ++i) {
    leat_slot_release(&invocation.slots[invocation.reads[i].target]);
  }
  leat_allocator_free(leat_allocator_system(), invocation.memory);
  return status;
}

// ---- Over plain tensors -------------------------------------------------------------------------

// Moves an output out of its slot; for a reference, shares the variable's value if it has one.
static void take_output(leat_slot_t* slot, leat_tensor_t* out_tensor) {
  LEAT_DCHECK(!slot->ref || slot->tensor.dtype == 0);
  *out_tensor = (leat_tensor_t){0};
  if (slot->ref) {
    leat_cell_read(slot->ref, out_tensor);
  } else if (slot->alive) {
    *out_tensor = leat_tensor_move(&slot->tensor);
  }
  leat_slot_release(slot);
}

static leat_status_t invoke_into(const leat_kernel_t* kernel, const leat_step_services_t* services,
                                 const leat_tensor_t* inputs, leat_slot_t* outputs,
                                 leat_tensor_t* out_outputs) {
  invocation_t invocation;
  LEAT_RETURN_IF_ERROR(initialize_invocation(kernel->input_count, &invocation));
  for (int i = 0; i < kernel->input_count; ++i) {
    invocation.slots[i] = (leat_slot_t){.tensor = inputs[i], .alive = true};
  }
  leat_status_t status = run(kernel, services, &invocation, outputs);
  for (int i = 0; i < kernel->output_count; ++i) take_output(&outputs[i], &out_outputs[i]);
  leat_allocator_free(leat_allocator_system(), invocation.memory);
  return status;
}

leat_status_t leat_kernel_invoke(const leat_kernel_t* kernel, const leat_step_services_t* services,
                                 const leat_tensor_t* inputs, leat_tensor_t* out_outputs) {
  leat_slot_t inline_outputs[INLINE_INPUTS];
  void* memory = NULL;
  for (int i = 0; i < kernel->output_count; ++i) out_outputs[i] = (leat_tensor_t){0};
  if (kernel->output_count > INLINE_INPUTS) {
    LEAT_RETURN_IF_ERROR(leat_allocator_allocate_array(
        leat_allocator_system(), (size_t)kernel->output_count, sizeof(leat_slot_t), &memory));
  }
  leat_slot_t* outputs = memory ? memory : inline_outputs;
  for (int i = 0; i < kernel->output_count; ++i) outputs[i] = (leat_slot_t){0};
  leat_status_t status = invoke_into(kernel, services, inputs, outputs, out_outputs);
  leat_allocator_free(leat_allocator_system(), memory);
  return status;
}
