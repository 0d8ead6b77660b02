// Collects the statistics of one step (trace/collector.h): each node that ends adds an event to the
// list of its device. The lists and everything that they point to lie in an arena that ends with
// the collector. A mutex guards them, which nodes on different threads take for a moment only;
// steps that collect are not run for speed. Threads get small numbers in the order in which they
// first add an event, because the identifiers of the system say nothing to a reader of the trace.
// An event for which there is no memory is left out, so that a trace never fails its step.
#include "trace/collector.h"

#include "base/clock.h"
#include "formats/generated/step_stats.h"

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

static void link_event(leat_device_events_t* events, leat_node_event_t* event) {
  if (events->last) {
    events->last->next = event;
  } else {
    events->first = event;
  }
  events->last = event;
}

// Adds an event. It is linked into its list last, so that an event for which memory runs out is
// never seen in part.
static leat_status_t add(leat_step_collector_t* collector, leat_string_view_t device,
                         leat_string_view_t node, leat_string_view_t op, int64_t start_ns,
                         int64_t end_ns, const leat_tensor_t* outputs, int output_count,
                         size_t stride_bytes) {
  leat_device_events_t* events;
  LEAT_RETURN_IF_ERROR(find_device(collector, device, &events));
  leat_node_event_t* event;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&collector->arena, 1, &event));
  LEAT_RETURN_IF_ERROR(leat_arena_copy_string(&collector->arena, node, &event->node));
  LEAT_RETURN_IF_ERROR(leat_arena_copy_string(&collector->arena, op, &event->op));
  LEAT_RETURN_IF_ERROR(note_outputs(collector, outputs, output_count, stride_bytes, event));
  event->start_ns = start_ns;
  event->end_ns = end_ns;
  event->thread = thread_number();
  link_event(events, event);
  return leat_ok_status();
}

void leat_step_collector_add(leat_step_collector_t* collector, leat_string_view_t device,
                             leat_string_view_t node, leat_string_view_t op, int64_t start_ns,
                             const leat_tensor_t* outputs, int output_count,
                             size_t stride_bytes) {
  const int64_t end_ns = leat_step_collector_now();
  leat_mutex_lock(&collector->mutex);
  leat_status_free(
      add(collector, device, node, op, start_ns, end_ns, outputs, output_count, stride_bytes));
  leat_mutex_unlock(&collector->mutex);
}

void leat_step_collector_add_constant(leat_step_collector_t* collector, leat_string_view_t device,
                                      leat_string_view_t node, leat_string_view_t op,
                                      const leat_tensor_t* value) {
  const int64_t now_ns = leat_step_collector_now();
  leat_mutex_lock(&collector->mutex);
  leat_status_free(add(collector, device, node, op, now_ns, now_ns, value, 1, sizeof *value));
  leat_mutex_unlock(&collector->mutex);
}

// ---- Events of other processes ------------------------------------------------------------------

// The op in a label `name = Op(input, input)`; empty where it is of another form.
static leat_string_view_t op_of_label(leat_string_view_t label) {
  const size_t equals = leat_string_view_find(label, '=');
  if (equals == SIZE_MAX || equals + 2 >= label.size) return LEAT_SV("");
  const leat_string_view_t rest = leat_string_view_from_index(label, equals + 2);
  const size_t end = leat_string_view_find(rest, '(');
  return end == SIZE_MAX ? LEAT_SV("") : leat_string_view_make(rest.data, end);
}

// Copies the types, shapes and sizes of outputs; each stands at the place of its slot.
static leat_status_t note_described(leat_step_collector_t* collector,
                                    const leat_pb_node_output_list_t* outputs,
                                    leat_node_event_t* event) {
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&collector->arena, outputs->count + 1, &event->outputs));
  event->output_count = (int)outputs->count;
  for (size_t i = 0; i < outputs->count; ++i) {
    const leat_pb_node_output_t* output = &outputs->items[i];
    const leat_pb_tensor_description_t* tensor = output->tensor_description;
    if (output->slot < 0 || (size_t)output->slot >= outputs->count || !tensor) continue;
    leat_arena_t* arena = &collector->arena;
    const size_t rank = tensor->shape ? tensor->shape->dim.count : 0;
    int64_t* dims;
    LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, rank + 1, &dims));
    for (size_t d = 0; d < rank; ++d) dims[d] = tensor->shape->dim.items[d].size;
    LEAT_RETURN_IF_ERROR(leat_partial_shape_create((int)rank, dims, arena,
                                                   &event->outputs[output->slot].shape));
    event->outputs[output->slot].dtype = tensor->dtype;
    if (!tensor->allocation_description) continue;
    event->outputs[output->slot].size_bytes =
        (size_t)tensor->allocation_description->requested_bytes;
  }
  return leat_ok_status();
}

static leat_status_t add_described(leat_step_collector_t* collector, leat_string_view_t device,
                                   const leat_pb_node_exec_stats_t* stats) {
  leat_arena_t* arena = &collector->arena;
  leat_device_events_t* events;
  leat_node_event_t* event;
  LEAT_RETURN_IF_ERROR(find_device(collector, device, &events));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, 1, &event));
  LEAT_RETURN_IF_ERROR(leat_arena_copy_string(arena, stats->node_name, &event->node));
  LEAT_RETURN_IF_ERROR(
      leat_arena_copy_string(arena, op_of_label(stats->timeline_label), &event->op));
  LEAT_RETURN_IF_ERROR(note_described(collector, &stats->output, event));
  event->start_ns =
      stats->all_start_nanos ? stats->all_start_nanos : stats->all_start_micros * 1000;
  event->end_ns = event->start_ns + (stats->all_start_nanos ? stats->all_end_rel_nanos
                                                            : stats->all_end_rel_micros * 1000);
  event->thread = stats->thread_id;
  link_event(events, event);
  return leat_ok_status();
}

void leat_step_collector_add_stats(leat_step_collector_t* collector,
                                   const leat_pb_step_stats_t* stats) {
  leat_mutex_lock(&collector->mutex);
  for (size_t i = 0; i < stats->dev_stats.count; ++i) {
    const leat_pb_device_step_stats_t* device = &stats->dev_stats.items[i];
    for (size_t k = 0; k < device->node_stats.count; ++k) {
      leat_status_free(add_described(collector, device->device, &device->node_stats.items[k]));
    }
  }
  leat_mutex_unlock(&collector->mutex);
}
