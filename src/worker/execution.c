// The beginning and the end of a step, which both executors share: feeds are put into their slots,
// the executor runs, fetches are taken out, and a step that was stopped is cleaned up. Fetches are
// moved out of their slots where nobody else holds the value, so that the caller gets the buffer
// itself and no copy.
//
// A step is stopped by the first failure, by an abort from the master or by its deadline; records
// that have not begun are then not run, and the status is that of the first cause. At the end the
// instance is as it was made, with nothing but constants in it, so that the next step can take it.
#include "worker/execution.h"

#include "base/clock.h"
#include "base/float_mode.h"
#include "base/span.h"
#include "kernel/cancellation.h"
#include "trace/collector.h"
#include "worker/dataflow.h"
#include "worker/sequence.h"

// ---- What kernels tell --------------------------------------------------------------------------

// The step ends with the first failure of enqueued work, whether or not somebody reads the value.
static void kernel_ended(leat_step_listener_t* self, const leat_kernel_t* kernel,
                         const leat_slot_t* outputs, int64_t duration_ns, leat_status_t status) {
  leat_execution_t* e = (leat_execution_t*)self;
  if (status) {
    leat_execution_stop(e, status);
  } else if (e->services.collector) {
    leat_step_collector_add(e->services.collector, e->plan->device->name, kernel->node_name,
                            kernel->op->name, leat_step_collector_now() - duration_ns,
                            &outputs->tensor, kernel->output_count, sizeof(leat_slot_t));
  }
}

// Constants run nowhere, but a reader of the step's statistics expects each node that had a part in
// it, as TensorFlow tells them.
static LEAT_COLD void tell_constants(const leat_execution_t* e) {
  const leat_graph_t* graph = e->plan->graph;
  for (size_t i = 0; i < graph->node_count && e->plan->constant_count; ++i) {
    const leat_node_t* node = &graph->nodes[i];
    if (!leat_plan_has_constant(node)) continue;
    leat_step_collector_add_constant(e->services.collector, e->plan->device->name, node->name,
                                     node->op->name, leat_node_constant(node));
  }
}

// ---- The beginning ------------------------------------------------------------------------------

static void set_feeds(leat_execution_t* e) {
  const leat_plan_t* plan = e->plan;
  for (int i = 0; i < plan->feed_count; ++i) {
    if (plan->feed_slots[i] == UINT32_MAX) continue;
    LEAT_DCHECK(plan->feed_slots[i] < plan->slot_count);
    leat_slot_t* slot = &e->instance->slots[plan->feed_slots[i]];
    LEAT_DCHECK(!slot->tensor.dtype);
    slot->tensor = leat_tensor_share(&e->feeds[i]);
    slot->alive = true;
  }
}

void leat_execution_start(leat_execution_t* e, leat_worker_done_fn_t done, void* data) {
  e->done = done;
  e->done_data = data;
  e->listener.ended = kernel_ended;
  e->services.listener = &e->listener;
  e->services.stopped = &e->stopped;
  e->services.observed = e->services.collector || leat_spans_are_recorded();
  if (LEAT_UNLIKELY(leat_spans_are_recorded()) &&
      atomic_load_explicit(&e->plan->told, memory_order_acquire) !=
          atomic_load_explicit(&leat_span_recording, memory_order_relaxed)) {
    leat_plan_tell(e->plan);
    leat_buffer_source_host_tell();
  }
  if (LEAT_UNLIKELY(e->services.collector != NULL)) tell_constants(e);
  set_feeds(e);
  const leat_float_mode_t before = leat_float_mode_enter();
  if (LEAT_LIKELY(e->plan->executor == LEAT_EXECUTOR_SEQUENCE)) {
    leat_sequence_run(e);
  } else {
    leat_dataflow_run(e);
  }
  leat_float_mode_leave(before);
}

// ---- On the way ---------------------------------------------------------------------------------

bool leat_execution_try_stop(leat_execution_t* e, leat_status_t status) {
  LEAT_DCHECK(status);
  leat_spinlock_lock(&e->stop_lock);
  const bool is_first = !e->stop_status;
  if (is_first) e->stop_status = status;
  leat_spinlock_unlock(&e->stop_lock);
  atomic_store_explicit(&e->stopped, true, memory_order_release);
  return is_first;
}

void leat_execution_stop(leat_execution_t* e, leat_status_t status) {
  if (!leat_execution_try_stop(e, status)) leat_status_free(status);
}

leat_status_t leat_execution_check(leat_execution_t* e) {
  if (LEAT_UNLIKELY(atomic_load_explicit(&e->stopped, memory_order_acquire))) {
    LEAT_DCHECK(e->stop_status);
    return leat_status_clone(e->stop_status);  // set before |stopped|, and once
  }
  if (e->deadline_ns != LEAT_DEADLINE_NEVER && leat_clock_now_ns() > e->deadline_ns) {
    return leat_step_timeout();
  }
  return leat_ok_status();
}

// The end of one asynchronous kernel runs the rest of its step, which may end another one: a Send
// runs what follows its Recv, where the next Send is. Beyond this depth the pool goes on, so that
// no graph ends the stack.
#define MAX_NESTED 16
static LEAT_THREAD_LOCAL int nested;

void leat_execution_resume(leat_execution_t* e, leat_task_fn_t fn, void* data) {
  if (nested >= MAX_NESTED && e->services.pool) {
    leat_thread_pool_schedule(e->services.pool, fn, data);
    return;
  }
  const leat_float_mode_t before = leat_float_mode_enter();
  ++nested;
  fn(data);
  --nested;
  leat_float_mode_leave(before);
}

leat_status_t leat_switch_refuse(const leat_kernel_t* kernel, const leat_tensor_t* predicate) {
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Compute failed for node '%.*s' (%.*s): pred has shape %s, must be a "
                          "scalar",
                          LEAT_SV_ARG(kernel->node_name), LEAT_SV_ARG(kernel->op->name),
                          LEAT_SHAPE_TEXT(&predicate->shape));
}

// ---- The end ------------------------------------------------------------------------------------

// Takes the value of a fetch: it is moved out of its slot where the fetch is the only reader.
static leat_status_t take_fetch(leat_execution_t* e, int index) {
  const leat_plan_t* plan = e->plan;
  LEAT_DCHECK(plan->fetch_slots[index] < plan->slot_count);
  leat_slot_t* slot = &e->instance->slots[plan->fetch_slots[index]];
  leat_tensor_t* fetch = &e->fetches[index];
  const leat_output_t output = plan->fetches[index];
  const leat_node_t* node = &plan->graph->nodes[output.node];
  if (slot->ref) {
    if (leat_cell_read(slot->ref, fetch)) return leat_ok_status();
    return leat_make_status(LEAT_FAILED_PRECONDITION,
                            "Attempting to use uninitialized value %s: fetch '%.*s:%d' reads it",
                            slot->ref->name, LEAT_SV_ARG(node->name), output.index);
  }
  if (!slot->alive) {
    return leat_make_status(plan->dead_fetch_code,
                            "Run failed: fetch '%.*s:%d' was not computed (a dead tensor)",
                            LEAT_SV_ARG(node->name), output.index);
  }
  LEAT_DCHECK(slot->tensor.dtype);
  *fetch = plan->fetch_moves[index] ? leat_tensor_move(&slot->tensor)
                                    : leat_tensor_share(&slot->tensor);
  return leat_ok_status();
}

static leat_status_t take_fetches(leat_execution_t* e) {
  for (int i = 0; i < e->plan->fetch_count; ++i) {
    leat_status_t status = take_fetch(e, i);
    if (status) {
      while (i-- > 0) leat_tensor_release(&e->fetches[i]);
      return status;
    }
  }
  return leat_ok_status();
}

// Fed and fetched slots are the only ones that a whole run leaves filled.
static void empty_edges(leat_execution_t* e) {
  const leat_plan_t* plan = e->plan;
  leat_slot_t* slots = e->instance->slots;
  for (int i = 0; i < plan->feed_count; ++i) {
    if (plan->feed_slots[i] != UINT32_MAX) leat_slot_clear(&slots[plan->feed_slots[i]]);
  }
  for (int i = 0; i < plan->fetch_count; ++i) {
    if (plan->fetch_moves[i]) leat_slot_clear(&slots[plan->fetch_slots[i]]);
  }
}

static void end(leat_execution_t* e, leat_status_t status) {
  // A kernel leaves its work undone when it finds the step stopped or its deadline passed, and says
  // OK: the step must not. One that failed for such a reason tells the reason, not what broke off.
  // Where the reason is a cancellation (a session was closed, say), the kernel's words follow it,
  // which are TensorFlow's and name the node that was waiting.
  const bool is_timed = !status && e->deadline_ns != LEAT_DEADLINE_NEVER;
  if (LEAT_UNLIKELY(is_timed || atomic_load_explicit(&e->stopped, memory_order_acquire))) {
    leat_status_t stop = leat_execution_check(e);
    const bool is_waiter = stop && status && leat_status_code(stop) == LEAT_CANCELLED &&
                           leat_status_code(status) == LEAT_CANCELLED;
    if (is_waiter) status = leat_status_annotate(status, "%s", leat_status_message(stop));
    status = is_waiter ? leat_status_join(status, stop) : leat_status_join(stop, status);
  }
  if (!status) status = take_fetches(e);
  if (!status) empty_edges(e);
  if (status || e->leaves_slots) leat_plan_empty_instance(e->plan, e->instance);
  e->done(e->done_data, status);
}

// The executor was through long before the device: a failure, an abort or a deadline may have come
// meanwhile.
static void synchronized(void* data, leat_status_t status) {
  leat_execution_t* e = data;
  end(e, leat_status_join(e->status, status));
}

void leat_execution_finish(leat_execution_t* e, leat_status_t status) {
  leat_device_t* device = e->plan->device;
  if (LEAT_LIKELY(!e->plan->enqueues)) {
    end(e, status);
    return;
  }
  e->status = status;
  device->vtable->synchronize(device, synchronized, e);
}
