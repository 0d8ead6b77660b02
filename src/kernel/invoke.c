// Runs one kernel outside a plan: constant folding, eager calls, tests. The context is made on the
// stack over the caller's values; nothing may be overwritten, since the caller keeps its inputs.
#include "base/clock.h"
#include "kernel/kernel.h"
#include "kernel/resource.h"

#define INLINE_SLOTS 16

// Slots and their numbers; on the stack unless there are many.
typedef struct leat_invocation_s {
  leat_slot_t* inputs;
  uint32_t* numbers;
  void* memory;  // NULL: the inline arrays serve
  leat_slot_t inline_inputs[INLINE_SLOTS];
  uint32_t inline_numbers[INLINE_SLOTS];
} leat_invocation_t;

static leat_status_t initialize_invocation(int input_count, leat_invocation_t* out_invocation) {
  LEAT_DCHECK(input_count >= 0);
  out_invocation->inputs = out_invocation->inline_inputs;
  out_invocation->numbers = out_invocation->inline_numbers;
  out_invocation->memory = NULL;
  if (input_count > INLINE_SLOTS) {
    LEAT_RETURN_IF_ERROR(leat_allocator_allocate_array(
        leat_allocator_system(), (size_t)input_count, sizeof(leat_slot_t) + sizeof(uint32_t),
        &out_invocation->memory));
    out_invocation->inputs = out_invocation->memory;
    out_invocation->numbers = (uint32_t*)(out_invocation->inputs + input_count);
  }
  for (int i = 0; i < input_count; ++i) out_invocation->numbers[i] = (uint32_t)i;
  return leat_ok_status();
}

// ---- The run ------------------------------------------------------------------------------------

// An asynchronous kernel's continuation finds its waiter through the context's owner. One that
// enqueues its work has a step of its own here.
typedef struct leat_waiter_s {
  leat_step_work_t work;
  leat_notification_t notification;
  leat_spinlock_t lock;
  leat_status_t status;  // the first failure
} leat_waiter_t;

static void note_status(leat_waiter_t* waiter, leat_status_t status) {
  leat_spinlock_lock(&waiter->lock);
  waiter->status = leat_status_join(waiter->status, status);
  leat_spinlock_unlock(&waiter->lock);
}

static void on_done(leat_kernel_context_t* context, leat_status_t status) {
  leat_waiter_t* waiter = context->owner;
  LEAT_DCHECK(waiter);
  note_status(waiter, status);
  leat_notification_open(&waiter->notification);
}

static void on_work_ended(leat_step_work_t* self, const leat_kernel_t* kernel,
                          const leat_slot_t* outputs, int64_t duration_ns, leat_status_t status) {
  note_status((leat_waiter_t*)self, status);
}

static void on_synchronized(void* data, leat_status_t status) {
  note_status(data, status);
  leat_notification_open(&((leat_waiter_t*)data)->notification);
}

// Runs |context| and all of its work.
static leat_status_t compute_and_wait(leat_kernel_context_t* context) {
  LEAT_DCHECK(context->services && !context->owner);
  const leat_kernel_row_t* row = context->kernel->row;
  leat_device_t* device = context->kernel->device;
  leat_waiter_t waiter = {.work = {on_work_ended}};
  leat_step_services_t services = *context->services;
  services.work = &waiter.work;
  context->services = &services;
  context->owner = &waiter;
  leat_notification_initialize(&waiter.notification);
  if (row->enqueues) {
    note_status(&waiter, row->compute(context));
    device->vtable->synchronize(device, on_synchronized, &waiter);
  } else {
    row->compute_async(context, on_done);
  }
  leat_notification_wait(&waiter.notification, LEAT_DEADLINE_NEVER);
  leat_notification_deinitialize(&waiter.notification);
  return waiter.status;
}

static leat_status_t compute(leat_kernel_context_t* context) {
  const leat_kernel_row_t* row = context->kernel->row;
  LEAT_RETURN_IF_ERROR(leat_kernel_check_contract(context));
  if (row->compute && !row->enqueues) return row->compute(context);
  if (row->compute || row->compute_async) return compute_and_wait(context);
  return leat_kernel_error(context, LEAT_INTERNAL, "compute is absent from the kernel's row");
}

static leat_status_t run(const leat_kernel_t* kernel, const leat_step_services_t* services,
                         leat_invocation_t* invocation, leat_slot_t* outputs) {
  leat_step_services_t lent;
  if (!services) {
    lent = (leat_step_services_t){.memory = kernel->device->memory, .pool = kernel->device->pool};
    services = &lent;
  }
  leat_kernel_context_t context = {
      .kernel = kernel,
      .slots = invocation->inputs,
      .input_slots = invocation->numbers,
      .outputs = outputs,
      .services = services,
  };
  leat_status_t status = compute(&context);
  if (status) {
    for (int i = 0; i < kernel->output_count; ++i) leat_slot_release(&outputs[i]);
  }
  return status;
}

// A reference that feeds a plain input is read now; the others are borrowed as they are.
static leat_status_t borrow_input(const leat_kernel_t* kernel, int index, const leat_slot_t* from,
                                  leat_slot_t* out_slot) {
  *out_slot = *from;
  if (!from->ref || leat_dtype_is_ref(kernel->input_types[index])) return leat_ok_status();
  out_slot->tensor = (leat_tensor_t){0};
  out_slot->ref = NULL;
  if (leat_cell_read(from->ref, &out_slot->tensor)) return leat_ok_status();
  return leat_make_status(LEAT_FAILED_PRECONDITION,
                          "Attempting to use uninitialized value in input %d of node '%.*s' (%.*s)",
                          index, LEAT_SV_ARG(kernel->node_name), LEAT_SV_ARG(kernel->op->name));
}

leat_status_t leat_kernel_invoke_slots(const leat_kernel_t* kernel,
                                       const leat_step_services_t* services,
                                       const leat_slot_t* inputs, leat_slot_t* out_outputs) {
  leat_invocation_t invocation;
  leat_status_t status = leat_ok_status();
  int borrowed = 0;
  for (int i = 0; i < kernel->output_count; ++i) out_outputs[i] = (leat_slot_t){0};
  LEAT_RETURN_IF_ERROR(initialize_invocation(kernel->input_count, &invocation));
  for (; borrowed < kernel->input_count && !status; ++borrowed) {
    status = borrow_input(kernel, borrowed, &inputs[borrowed], &invocation.inputs[borrowed]);
  }
  if (!status) status = run(kernel, services, &invocation, out_outputs);
  for (int i = 0; i < borrowed; ++i) {
    bool was_read = inputs[i].ref && !invocation.inputs[i].ref;
    if (was_read) leat_tensor_release(&invocation.inputs[i].tensor);
  }
  leat_allocator_free(leat_allocator_system(), invocation.memory);
  return status;
}

// ---- Over plain tensors -------------------------------------------------------------------------

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
  leat_invocation_t invocation;
  LEAT_RETURN_IF_ERROR(initialize_invocation(kernel->input_count, &invocation));
  for (int i = 0; i < kernel->input_count; ++i) {
    invocation.inputs[i] = (leat_slot_t){.tensor = inputs[i], .alive = true};
  }
  leat_status_t status = run(kernel, services, &invocation, outputs);
  for (int i = 0; i < kernel->output_count; ++i) take_output(&outputs[i], &out_outputs[i]);
  leat_allocator_free(leat_allocator_system(), invocation.memory);
  return status;
}

leat_status_t leat_kernel_invoke(const leat_kernel_t* kernel, const leat_step_services_t* services,
                                 const leat_tensor_t* inputs, leat_tensor_t* out_outputs) {
  leat_slot_t inline_outputs[INLINE_SLOTS];
  void* memory = NULL;
  for (int i = 0; i < kernel->output_count; ++i) out_outputs[i] = (leat_tensor_t){0};
  if (kernel->output_count > INLINE_SLOTS) {
    LEAT_RETURN_IF_ERROR(leat_allocator_allocate_array(
        leat_allocator_system(), (size_t)kernel->output_count, sizeof(leat_slot_t), &memory));
  }
  leat_slot_t* outputs = memory ? memory : inline_outputs;
  for (int i = 0; i < kernel->output_count; ++i) outputs[i] = (leat_slot_t){0};
  leat_status_t status = invoke_into(kernel, services, inputs, outputs, out_outputs);
  leat_allocator_free(leat_allocator_system(), memory);
  return status;
}
