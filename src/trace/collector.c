// Collects the statistics of one step (trace/collector.h): each node that ends adds an event to the
// list of its device. The lists and everything that they point to lie in an arena that ends with
// the collector. A mutex guards them, which nodes on different threads take for a moment only;
// steps that collect are not run for speed. Threads get small numbers in the order in which they
// first add an event, because the identifiers of the system say nothing to a reader of the trace.
// An event for which there is no memory is left out, so that a trace never fails its step.
#include "trace/collector.h"

#include "base/clock.h"

void leat_step_collector_initialize(leat_allocator_t* allocator,
                                    leat_step_collector_t* out_collector) {
  leat_mutex_initialize(&out_collector->mutex);
  leat_arena_initialize(allocator, 0, &out_collector->arena);
  out_collector->devices = NULL;
}

void leat_step_collector_deinitialize(leat_step_collector_t* collector) {
  leat_arena_deinitialize(&collector->arena);
  leat_mutex_deinitialize(&collector->mutex);
}

int64_t leat_step_collector_now(void) { return leat_clock_wall_ns(); }

static uint32_t thread_number(void) {
  static _Atomic(uint32_t) next = 1;
  static LEAT_THREAD_LOCAL uint32_t number;
  if (!number) number = atomic_fetch_add_explicit(&next, 1, memory_order_relaxed);
  return number;
}

static leat_status_t find_device(leat_step_collector_t* collector, leat_string_view_t name,
                                 leat_device_events_t** out_device) {
  for (leat_device_events_t* d = collector->devices; d; d = d->next) {
    if (leat_string_view_equal(d->device, name)) {
      *out_device = d;
      return leat_ok_status();
    }
  }
  leat_device_events_t* device;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&collector->arena, 1, &device));
  LEAT_RETURN_IF_ERROR(leat_arena_copy_string(&collector->arena, name, &device->device));
  device->next = collector->devices;
  collector->devices = device;
  *out_device = device;
  return leat_ok_status();
}

// Copies the types, shapes and sizes of the outputs; their values are not kept. An output without a
// type is one that the node did not produce.
static leat_status_t note_outputs(leat_step_collector_t* collector, const leat_tensor_t* outputs,
                                  int count, size_t stride_bytes, leat_node_event_t* event) {
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&collector->arena, (size_t)count + 1, &event->outputs));
  event->output_count = count;
  for (int i = 0; i < count; ++i) {
    const leat_tensor_t* tensor =
        (const leat_tensor_t*)((const char*)outputs + (size_t)i * stride_bytes);
    event->outputs[i].dtype = tensor->dtype;
    if (!tensor->dtype) continue;
    event->outputs[i].size_bytes = leat_tensor_size_bytes(tensor);
    LEAT_RETURN_IF_ERROR(leat_partial_shape_create(tensor->shape.rank,
                                                   leat_shape_dims(&tensor->shape),
                                                   &collector->arena, &event->outputs[i].shape));
  }
  return leat_ok_status();
}

// Adds an event. It is linked into its list last, so that an event for which memory runs out is
// never seen in part.
static leat_status_t add(leat_step_collector_t* collector, leat_string_view_t device,
                         leat_string_view_t node, leat_string_view_t op, int64_t start_ns,
                         const leat_tensor_t* outputs, int output_count, size_t stride_bytes) {
  leat_device_events_t* events;
  LEAT_RETURN_IF_ERROR(find_device(collector, device, &events));
  leat_node_event_t* event;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&collector->arena, 1, &event));
  LEAT_RETURN_IF_ERROR(leat_arena_copy_string(&collector->arena, node, &event->node));
  LEAT_RETURN_IF_ERROR(leat_arena_copy_string(&collector->arena, op, &event->op));
  LEAT_RETURN_IF_ERROR(note_outputs(collector, outputs, output_count, stride_bytes, event));
  event->start_ns = start_ns;
  event->end_ns = leat_step_collector_now();
  event->thread = thread_number();
  if (events->last) {
    events->last->next = event;
  } else {
    events->first = event;
  }
  events->last = event;
  return leat_ok_status();
}

void leat_step_collector_add(leat_step_collector_t* collector, leat_string_view_t device,
                             leat_string_view_t node, leat_string_view_t op, int64_t start_ns,
                             const leat_tensor_t* outputs, int output_count,
                             size_t stride_bytes) {
  leat_mutex_lock(&collector->mutex);
  leat_status_free(
      add(collector, device, node, op, start_ns, outputs, output_count, stride_bytes));
  leat_mutex_unlock(&collector->mutex);
}
