// CPU kernels that put tuples into queues and take tuples out of them. Each kernel finds the queue
// that its handle names, checks that the node's types are the queue's, and calls the queue's vtable
// (kernel/queue.h). All of them but size and is_closed may have to wait, and are therefore
// asynchronous: the queue keeps the context and the callback, and calls |done| when the call has
// ended, on whatever thread ended it. A kernel holds a reference to the queue until the vtable's
// function has returned; calls that wait keep the queue alive themselves. The kernels serve queues
// of every implementation.
#include "kernel/handle.h"
#include "kernel/tuple.h"
#include "kernel/wait_queue.h"
#include "ops/kernel_rows.h"
#include "ops/queue/tuple_queue_cpu.h"

static leat_status_t find_queue(leat_kernel_context_t* c, leat_queue_t** out_queue) {
  return leat_handle_find(c, 0, &leat_queue_kind, (leat_resource_t**)out_queue);
}

static leat_status_t access_create(leat_kernel_creation_t* c, void* state) {
  (void)state;
  int64_t timeout_ms;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "timeout_ms", &timeout_ms));
  if (timeout_ms == -1) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT, "Timeout not supported yet.");
}

// Checks the node's types for the components, |types| [count], against the queue's.
static leat_status_t check_types(const leat_kernel_context_t* c, const leat_queue_t* queue,
                                 const uint8_t* types, int count) {
  if (count != queue->component_count) {
    return leat_kernel_invalid(c, "Signature mismatch: the node has %d components, the queue %d",
                               count, queue->component_count);
  }
  for (int i = 0; i < count; ++i) {
    if ((int32_t)leat_dtype_base(types[i]) == queue->component_types[i]) continue;
    return leat_kernel_invalid(c, "Signature mismatch: component %d is %s, must be the queue's, %s",
                               i, leat_dtype_name(types[i]),
                               leat_dtype_name(queue->component_types[i]));
  }
  return leat_ok_status();
}

// Input 0 is the handle, the others are the components. They are kept, not borrowed, because the
// call may outlast the kernel's inputs.
static void enqueue(leat_kernel_context_t* c, leat_kernel_done_fn_t done, bool many) {
  leat_queue_t* queue;
  leat_status_t status = find_queue(c, &queue);
  if (status) {
    done(c, status);
    return;
  }
  int count = c->kernel->input_count - 1;
  leat_tuple_t tuple;
  status = check_types(c, queue, c->kernel->input_types + 1, count);
  if (!status) status = leat_tuple_keep_inputs(c, 1, count, &tuple);
  if (status) {
    leat_resource_release(&queue->resource);
    done(c, status);
    return;
  }
  leat_queue_call_t call = leat_queue_call_of_kernel(c, done);
  queue->vtable->enqueue(queue, many, leat_tuple_items(&tuple), &call);
  leat_tuple_deinitialize(&tuple, count);
  leat_resource_release(&queue->resource);
}

static void enqueue__cpu(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  enqueue(c, done, false);
}

static void enqueue_many__cpu(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  enqueue(c, done, true);
}

static void dequeue__cpu(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  leat_queue_t* queue = NULL;
  leat_status_t status = find_queue(c, &queue);
  if (!status) status = check_types(c, queue, c->kernel->output_types, c->kernel->output_count);
  if (status) {
    done(c, status);
  } else {
    leat_queue_call_t call = leat_queue_call_of_kernel(c, done);
    queue->vtable->dequeue(queue, &call);
  }
  leat_resource_release(queue ? &queue->resource : NULL);
}

// Reads how many tuples a dequeue is to take, from input 1.
static leat_status_t read_count(const leat_kernel_context_t* c, int64_t* out_count) {
  const leat_tensor_t* n = leat_kernel_input(c, 1);
  if (n->shape.element_count < 1) return leat_kernel_invalid(c, "n is empty, must be a scalar");
  *out_count = *leat_tensor_data(n, const int32_t);
  if (*out_count >= 0) return leat_ok_status();
  return leat_kernel_invalid(c, "%s requested %lld < 0 elements", c->kernel->row->op,
                             (long long)*out_count);
}

static void dequeue_many(leat_kernel_context_t* c, leat_kernel_done_fn_t done, bool up_to) {
  leat_queue_t* queue = NULL;
  int64_t count = 0;
  leat_status_t status = find_queue(c, &queue);
  if (!status) status = read_count(c, &count);
  if (!status) status = check_types(c, queue, c->kernel->output_types, c->kernel->output_count);
  if (status) {
    done(c, status);
  } else {
    leat_queue_call_t call = leat_queue_call_of_kernel(c, done);
    queue->vtable->dequeue_many(queue, count, up_to, &call);
  }
  leat_resource_release(queue ? &queue->resource : NULL);
}

static void dequeue_many__cpu(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  dequeue_many(c, done, false);
}

static void dequeue_up_to__cpu(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  dequeue_many(c, done, true);
}

typedef struct close_s {
  bool cancel_pending_enqueues;
} close_t;

static leat_status_t close_create(leat_kernel_creation_t* c, void* state) {
  return leat_kernel_attr_bool(c, "cancel_pending_enqueues",
                               &((close_t*)state)->cancel_pending_enqueues);
}

static void close__cpu(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  const close_t* options = leat_kernel_state(c);
  leat_queue_t* queue;
  leat_status_t status = find_queue(c, &queue);
  if (status) {
    done(c, status);
    return;
  }
  leat_queue_call_t call = leat_queue_call_of_kernel(c, done);
  queue->vtable->close(queue, options->cancel_pending_enqueues, &call);
  leat_resource_release(&queue->resource);
}

static leat_status_t size__cpu(leat_kernel_context_t* c) {
  leat_queue_t* queue;
  LEAT_RETURN_IF_ERROR(find_queue(c, &queue));
  int64_t size = queue->vtable->size(queue);
  leat_resource_release(&queue->resource);
  return leat_kernel_set_output_int32(c, 0, size);
}

static leat_status_t is_closed__cpu(leat_kernel_context_t* c) {
  leat_queue_t* queue;
  LEAT_RETURN_IF_ERROR(find_queue(c, &queue));
  bool closed = queue->vtable->is_closed(queue);
  leat_resource_release(&queue->resource);
  return leat_kernel_set_output_bool(c, 0, closed);
}

#define ACCESS(name, create_fn, state, fn)                                                      \
  {.op = name, .device_type = "CPU", .create = create_fn, .state_bytes = state,                 \
   .compute_async = fn},                                                                        \
  {                                                                                             \
    .op = name "V2", .device_type = "CPU", .create = create_fn, .state_bytes = state,           \
    .compute_async = fn                                                                         \
  }

const leat_kernel_row_t leat_queue_access_kernels_cpu[] = {
    ACCESS("QueueEnqueue", access_create, 0, enqueue__cpu),
    ACCESS("QueueEnqueueMany", access_create, 0, enqueue_many__cpu),
    ACCESS("QueueDequeue", access_create, 0, dequeue__cpu),
    ACCESS("QueueDequeueMany", access_create, 0, dequeue_many__cpu),
    ACCESS("QueueDequeueUpTo", access_create, 0, dequeue_up_to__cpu),
    ACCESS("QueueClose", close_create, sizeof(close_t), close__cpu),
    {.op = "QueueSize", .device_type = "CPU", .compute = size__cpu},
    {.op = "QueueSizeV2", .device_type = "CPU", .compute = size__cpu},
    {.op = "QueueIsClosed", .device_type = "CPU", .compute = is_closed__cpu},
    {.op = "QueueIsClosedV2", .device_type = "CPU", .compute = is_closed__cpu},
    LEAT_KERNEL_ROWS_END,
};
