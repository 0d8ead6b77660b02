// What is not the fast path of a kernel's call: references and contracts before the kernel, the
// check of a stateful kernel's outputs and the step's statistics after it; asynchronous kernels.
//
// An asynchronous kernel may end before its start has returned, on this thread or another one. The
// caller of the start and the kernel's end then race for who goes on. Both exchange the call's
// state, and whoever comes second goes on: the first may no longer touch the call, because the
// second may free it. So a kernel that ends at once costs no hand-over and no recursion.
#include "kernel/call.h"

#include "base/clock.h"
#include "base/span.h"
#include "kernel/resource.h"

// ---- Before the kernel --------------------------------------------------------------------------

static leat_status_t uninitialized(const leat_kernel_context_t* c, const leat_cell_t* cell) {
  return leat_make_status(LEAT_FAILED_PRECONDITION,
                          "Attempting to use uninitialized value %s: node '%.*s' (%.*s) reads it",
                          cell ? cell->name : "", LEAT_SV_ARG(c->kernel->node_name),
                          LEAT_SV_ARG(c->kernel->op->name));
}

static leat_status_t read_reference(const leat_kernel_context_t* c, leat_reference_read_t read) {
  leat_slot_t* target = &c->slots[read.target];
  leat_cell_t* cell = c->slots[read.source].ref;
  // A Merge runs when one of its inputs has come: a branch that was not taken brings no reference.
  if (!cell && (c->kernel->op->flags & LEAT_OP_MERGE)) return leat_ok_status();
  LEAT_DCHECK(!target->tensor.dtype);
  if (!cell || !leat_cell_read(cell, &target->tensor)) return uninitialized(c, cell);
  target->alive = true;
  return leat_ok_status();
}

static leat_status_t check_reference_inputs(const leat_kernel_context_t* c) {
  if (c->kernel->op->flags & LEAT_OP_ALLOWS_UNINITIALIZED_INPUT) return leat_ok_status();
  for (int k = 0; k < c->kernel->input_count; ++k) {
    leat_cell_t* cell = c->slots[c->input_slots[k]].ref;
    if (!cell) continue;
    leat_mutex_lock(&cell->mutex);
    bool is_initialized = cell->tensor.dtype != 0;
    leat_mutex_unlock(&cell->mutex);
    if (!is_initialized) return uninitialized(c, cell);
  }
  return leat_ok_status();
}

leat_status_t leat_kernel_prepare(const leat_kernel_context_t* c) {
  for (uint32_t i = 0; i < c->read_count; ++i) {
    LEAT_RETURN_IF_ERROR(read_reference(c, c->reads[i]));
  }
  if (c->kernel->has_ref_inputs) LEAT_RETURN_IF_ERROR(check_reference_inputs(c));
  return leat_kernel_check_contract(c);
}

// ---- After the kernel ---------------------------------------------------------------------------

static const char* describe_fault(const leat_slot_t* slot, bool is_dead) {
  if (slot->alive) return leat_dtype_name(slot->tensor.dtype);
  return is_dead ? "dead, and no control flow says so" : "missing";
}

leat_status_t leat_kernel_verify_outputs(const leat_kernel_context_t* c, bool takes_dead) {
  const leat_kernel_t* kernel = c->kernel;
  for (int i = 0; i < kernel->output_count; ++i) {
    const leat_slot_t* slot = &c->outputs[i];
    bool is_dead = !slot->alive && (kernel->op->flags & LEAT_OP_RECV);
    if ((is_dead && takes_dead) || slot->ref) continue;
    int declared = leat_dtype_base(kernel->output_types[i]);
    if (LEAT_LIKELY(slot->alive && slot->tensor.dtype == declared)) continue;
    return leat_make_status(LEAT_INTERNAL,
                            "Compute failed for node '%.*s' (%.*s): output %d is %s, must be the "
                            "declared type, %s",
                            LEAT_SV_ARG(kernel->node_name), LEAT_SV_ARG(kernel->op->name), i,
                            describe_fault(slot, is_dead), leat_dtype_name(declared));
  }
  return leat_ok_status();
}

// A kernel that enqueues its work is reported when the work has ended, by its device.
static void tell_listener(const leat_kernel_context_t* c, int64_t start_ns) {
  leat_step_listener_t* listener = c->services->listener;
  if (!c->services->collector || c->kernel->row->enqueues) return;
  listener->ended(listener, c->kernel, c->outputs, leat_clock_now_ns() - start_ns, NULL);
}

// The bytes of the inputs, which a kernel may give away as outputs.
static int64_t count_input_bytes(const leat_kernel_context_t* c) {
  int64_t bytes = 0;
  for (int i = 0; i < c->kernel->input_count; ++i) {
    const leat_tensor_t* input = leat_kernel_input(c, i);
    if (input->dtype) bytes += (int64_t)leat_tensor_size_bytes(input);
  }
  return bytes;
}

// The step of a call is its caller's, so that all kernels of a step have one number.
static leat_span_work_t work_of(const leat_kernel_context_t* c) {
  return (leat_span_work_t){leat_kernel_span_name(c->kernel),
                            leat_span_step(c->services->container_step_id)};
}

static leat_status_t compute_in_span(leat_kernel_context_t* c, leat_kernel_compute_fn_t compute,
                                     int64_t span) {
  const uint32_t around = leat_span_work_of_thread.name;
  const int64_t bytes = count_input_bytes(c);
  const leat_span_work_t work = work_of(c);
  leat_span_work_of_thread = work;
  leat_status_t status = compute(c);
  leat_span_work_of_thread = (leat_span_work_t){around, work.step};
  leat_span_end_in_step(span, LEAT_SPAN_KERNEL, work.name, bytes, work.step);
  return status;
}

leat_status_t leat_kernel_compute_observed(leat_kernel_context_t* c,
                                           leat_kernel_compute_fn_t compute) {
  const int64_t start_ns = c->services->collector ? leat_clock_now_ns() : 0;
  const int64_t span = leat_span_begin();
  LEAT_RETURN_IF_ERROR(span ? compute_in_span(c, compute, span) : compute(c));
  tell_listener(c, start_ns);
  return leat_ok_status();
}

// ---- Asynchronous kernels -----------------------------------------------------------------------

enum { CALL_STARTING, CALL_STARTED, CALL_ENDED };

static void on_kernel_done(leat_kernel_context_t* c, leat_status_t status) {
  leat_async_call_t* call = c->owner;
  if (!status) status = leat_kernel_verify_outputs(c, call->takes_dead);
  if (call->observed && call->span) {
    const leat_span_work_t work = work_of(c);
    leat_span_end_in_step(call->span, LEAT_SPAN_ASYNC_KERNEL, work.name, call->input_bytes,
                          work.step);
  }
  if (!status && call->observed) tell_listener(c, call->start_ns);
  call->status = leat_kernel_annotate(c->kernel, status);
  if (atomic_exchange_explicit(&call->state, CALL_ENDED, memory_order_acq_rel) == CALL_STARTED) {
    call->resume(call);
  }
}

bool leat_async_call_start(leat_async_call_t* call) {
  LEAT_DCHECK(call->context.kernel->row->compute_async && call->resume);
  call->context.owner = call;
  call->status = call->prepares ? leat_kernel_prepare(&call->context) : leat_ok_status();
  if (LEAT_UNLIKELY(call->status)) return true;
  if (call->observed) {
    call->start_ns = leat_clock_now_ns();
    call->span = leat_span_begin();
    if (call->span) call->input_bytes = count_input_bytes(&call->context);
  }
  atomic_store_explicit(&call->state, CALL_STARTING, memory_order_relaxed);
  const uint32_t around = leat_span_work_of_thread.name;
  if (call->observed) leat_span_work_of_thread = work_of(&call->context);
  call->context.kernel->row->compute_async(&call->context, on_kernel_done);
  leat_span_work_of_thread.name = around;
  return atomic_exchange_explicit(&call->state, CALL_STARTED, memory_order_acq_rel) == CALL_ENDED;
}
