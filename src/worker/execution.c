// What both executors share: feeds in, references read, contracts checked, fetches out.
#include "base/clock.h"
#include "trace/collector.h"
#include "worker/executor.h"

// ---- What kernels did ---------------------------------------------------------------------------

static void trace_kernel(leat_execution_t* e, const leat_kernel_t* kernel,
                         const leat_slot_t* outputs, int64_t start_ns) {
  leat_step_collector_add(e->services.collector, e->plan->device->name, kernel->node_name,
                          kernel->op->name, start_ns, &outputs->tensor, kernel->output_count,
                          sizeof(leat_slot_t));
}

void leat_execution_trace(leat_execution_t* e, const leat_slot_t* slots, uint32_t index,
                          int64_t start_ns) {
  const leat_record_t* record = &e->plan->records[index];
  if (record->kernel->row->enqueues) return;  // |work_ended| does it
  trace_kernel(e, record->kernel, &slots[record->first_output], start_ns);
}

leat_status_t leat_execution_annotate(leat_execution_t* e, uint32_t record, leat_status_t status) {
  return leat_kernel_annotate(e->plan->records[record].kernel, status);
}

// The step ends with the first failure, whether or not somebody reads the value.
static void work_ended(leat_step_work_t* self, const leat_kernel_t* kernel,
                       const leat_slot_t* outputs, int64_t duration_ns, leat_status_t status) {
  leat_execution_t* e = (leat_execution_t*)self;
  if (status) {
    leat_execution_stop(e, status);
  } else if (e->services.collector) {
    trace_kernel(e, kernel, outputs, leat_step_collector_now() - duration_ns);
  }
}

// ---- A step -------------------------------------------------------------------------------------

static void set_feeds(leat_execution_t* e) {
  const leat_plan_t* plan = e->plan;
  for (int i = 0; i < plan->feed_count; ++i) {
    if (plan->feed_slots[i] == UINT32_MAX) continue;
    leat_slot_t* slot = &e->instance->slots[plan->feed_slots[i]];
    slot->tensor = leat_tensor_share(&e->feeds[i]);
    slot->alive = true;
  }
}

void leat_execution_start(leat_execution_t* e, leat_executor_kind_t kind,
                          leat_worker_done_fn_t done, void* data) {
  e->done = done;
  e->done_data = data;
  e->work.ended = work_ended;
  e->services.work = &e->work;
  e->services.stopped = &e->stopped;
  set_feeds(e);
  bool alone = !e->services.pool || leat_thread_pool_size(e->services.pool) == 1;
  if (e->plan->linear && kind != LEAT_EXECUTOR_DATAFLOW) {
    leat_execution_run_linear(e);
  } else if (e->plan->awaited_record != LEAT_NO_RECORD && kind != LEAT_EXECUTOR_DATAFLOW) {
    leat_execution_run_awaiting(e);
  } else if (e->plan->ordered && kind != LEAT_EXECUTOR_DATAFLOW && !e->services.collector) {
    leat_execution_run_ordered(e);
  } else if (e->plan->linear && alone) {
    leat_execution_run_single(e);
  } else {
    leat_execution_run_dataflow(e);
  }
}

leat_status_t leat_switch_refuse(const leat_kernel_t* kernel, const leat_tensor_t* predicate) {
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Compute failed for node '%.*s' (%.*s): pred has shape %s, must be a "
                          "scalar",
                          LEAT_SV_ARG(kernel->node_name), LEAT_SV_ARG(kernel->op->name),
                          LEAT_SHAPE_TEXT(&predicate->shape));
}

void leat_execution_stop(leat_execution_t* e, leat_status_t status) {
  leat_spinlock_lock(&e->stop_lock);
  if (e->stop_status) {
    leat_status_free(status);
  } else {
    e->stop_status = status;
  }
  leat_spinlock_unlock(&e->stop_lock);
  atomic_store_explicit(&e->stopped, true, memory_order_release);
}

leat_status_t leat_execution_check(leat_execution_t* e) {
  if (LEAT_UNLIKELY(atomic_load_explicit(&e->stopped, memory_order_acquire))) {
    leat_spinlock_lock(&e->stop_lock);
    leat_status_t status = leat_status_clone(e->stop_status);
    leat_spinlock_unlock(&e->stop_lock);
    return status;
  }
  if (e->deadline_ns != LEAT_DEADLINE_NEVER && leat_clock_now_ns() > e->deadline_ns) {
    return leat_make_status(LEAT_DEADLINE_EXCEEDED, "Run failed: the step's timeout has passed");
  }
  return leat_ok_status();
}

static leat_status_t uninitialized(const leat_execution_t* e, uint32_t record, uint32_t slot) {
  // The variable is the node that wrote the slot.
  const leat_plan_t* plan = e->plan;
  leat_string_view_t variable = LEAT_SV("");
  for (uint32_t r = 0; r < plan->record_count; ++r) {
    const leat_record_t* from = &plan->records[r];
    if (slot >= from->first_output && slot < from->first_output + from->output_count) {
      variable = leat_plan_record_name(plan, r);
    }
  }
  return leat_make_status(LEAT_FAILED_PRECONDITION,
                          "Attempting to use uninitialized value %.*s: node '%.*s' reads it",
                          LEAT_SV_ARG(variable), LEAT_SV_ARG(leat_plan_record_name(plan, record)));
}

// Reads the cells of references that the record takes as values, and sees that those it takes as
// references are initialised (unless the op allows otherwise).
static leat_status_t read_references(leat_execution_t* e, leat_slot_t* slots, uint32_t index) {
  const leat_plan_t* plan = e->plan;
  const leat_record_t* record = &plan->records[index];
  if (plan->first_dereference) {
    uint32_t end = plan->first_dereference[index + 1];
    for (uint32_t d = plan->first_dereference[index]; d < end; ++d) {
      const leat_dereference_t* reference = &plan->dereferences[d];
      leat_slot_t* target = &slots[reference->target];
      leat_cell_t* cell = slots[reference->source].ref;
      if (!cell && (record->flags & LEAT_RECORD_MERGE)) continue;  // the branch not taken
      if (!cell || !leat_cell_read(cell, &target->tensor)) {
        return uninitialized(e, index, reference->source);
      }
      target->alive = true;
    }
  }
  if (record->kernel->op->flags & LEAT_OP_ALLOWS_UNINITIALIZED_INPUT) return leat_ok_status();
  for (uint32_t k = 0; k < record->input_count; ++k) {
    leat_cell_t* cell = slots[record->input_slots[k]].ref;
    if (!cell) continue;
    leat_mutex_lock(&cell->mutex);
    bool initialized = cell->tensor.dtype != 0;
    leat_mutex_unlock(&cell->mutex);
    if (!initialized) return uninitialized(e, index, record->input_slots[k]);
  }
  return leat_ok_status();
}

leat_status_t leat_execution_prepare(leat_execution_t* e, leat_slot_t* slots, uint32_t record,
                                     const leat_kernel_context_t* context) {
  uint32_t flags = e->plan->records[record].flags;
  if (flags & LEAT_RECORD_HAS_REFS) LEAT_RETURN_IF_ERROR(read_references(e, slots, record));
  if (flags & LEAT_RECORD_CONTRACT) return leat_kernel_check_contract(context);
  return leat_ok_status();
}

leat_status_t leat_execution_verify(const leat_kernel_context_t* c) {
  const leat_kernel_t* kernel = c->kernel;
  for (int i = 0; i < kernel->output_count; ++i) {
    const leat_slot_t* slot = &c->outputs[i];
    bool is_dead = !slot->alive && (kernel->op->flags & LEAT_OP_RECV);
    if (is_dead || slot->ref) continue;
    int declared = leat_dtype_base(kernel->output_types[i]);
    if (LEAT_LIKELY(slot->alive && slot->tensor.dtype == declared)) continue;
    return leat_make_status(LEAT_INTERNAL,
                            "Compute failed for node '%.*s' (%.*s): output %d is %s, must be the "
                            "declared type, %s",
                            LEAT_SV_ARG(kernel->node_name), LEAT_SV_ARG(kernel->op->name), i,
                            slot->alive ? leat_dtype_name(slot->tensor.dtype) : "missing",
                            leat_dtype_name(declared));
  }
  return leat_ok_status();
}

// The value of a fetch: moved out of its slot where the fetch is the only reader.
static leat_status_t take_fetch(leat_execution_t* e, int index) {
  const leat_plan_t* plan = e->plan;
  uint32_t number = plan->fetch_slots[index];
  leat_slot_t* slot = &e->instance->slots[number];
  leat_tensor_t* fetch = &e->fetches[index];
  if (slot->ref) {
    if (leat_cell_read(slot->ref, fetch)) return leat_ok_status();
    return uninitialized(e, 0, number);
  }
  if (!slot->alive) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Run failed: fetch %d was not computed (a dead tensor)", index);
  }
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
  if (!status || atomic_load_explicit(&e->stopped, memory_order_acquire)) {
    status = leat_status_join(leat_execution_check(e), status);
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
  end(e, leat_status_join(e->awaited_status, status));
}

void leat_execution_finish(leat_execution_t* e, leat_status_t status) {
  leat_device_t* device = e->plan->device;
  if (LEAT_LIKELY(!e->plan->enqueues)) {
    end(e, status);
    return;
  }
  e->awaited_status = status;
  device->vtable->synchronize(device, synchronized, e);
}
