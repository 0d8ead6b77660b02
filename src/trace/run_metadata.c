// Translates the events of a step (trace/collector.h) into TensorFlow's StepStats message, and
// encodes it in a RunMetadata. Its readers are TensorFlow's tools (the timeline viewer, the
// profiler) and the greedy placer of this library, which learns costs from it. Every time is
// written twice, as TensorFlow does: in microseconds for older readers, with durations rounded up,
// and in nanoseconds. A node's label, `name = Op(input, input)`, is what tools take the edges of
// the graph from; the caller supplies the inputs, because events do not know them. The message lies
// in the collector's arena and borrows its texts.
#include "formats/generated/run_metadata.h"
#include "formats/generated/step_stats.h"
#include "formats/wire/encode.h"
#include "trace/collector.h"

void leat_trace_no_inputs(void* data, leat_string_view_t node, leat_string_builder_t* out_inputs) {}

typedef struct labels_s {
  leat_trace_inputs_fn_t inputs_of;
  void* data;
  leat_string_builder_t text;
} labels_t;

// Makes a node's label, `name = Op(input, input)`.
static leat_status_t make_label(leat_arena_t* arena, labels_t* labels,
                                const leat_node_event_t* event, leat_string_view_t* out_label) {
  labels->text.size = 0;
  leat_string_builder_print(&labels->text, "%.*s = %.*s(", LEAT_SV_ARG(event->node),
                            LEAT_SV_ARG(event->op));
  labels->inputs_of(labels->data, event->node, &labels->text);
  leat_string_builder_append_char(&labels->text, ')');
  LEAT_RETURN_IF_ERROR(leat_status_clone(labels->text.status));
  return leat_arena_copy_string(arena, leat_string_builder_view(&labels->text), out_label);
}

static leat_status_t fill_output(leat_arena_t* arena, const leat_node_event_t* event, int index,
                                 leat_pb_node_output_t* out) {
  out->slot = index;
  if (!event->outputs[index].dtype) return leat_ok_status();
  leat_partial_shape_t shape = event->outputs[index].shape;
  leat_pb_tensor_description_t* tensor;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, 1, &tensor));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, 1, &tensor->shape));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, 1, &tensor->allocation_description));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, (size_t)shape.rank + 1, &tensor->shape->dim.items));
  tensor->dtype = event->outputs[index].dtype;
  tensor->shape->dim.count = (size_t)shape.rank;
  for (int d = 0; d < shape.rank; ++d) tensor->shape->dim.items[d].size = shape.dims[d];
  tensor->allocation_description->requested_bytes = (int64_t)event->outputs[index].size_bytes;
  out->tensor_description = tensor;
  return leat_ok_status();
}

// Fills the times, the label and the outputs of an event. Scheduling is not measured: a node counts
// as scheduled when it starts.
static leat_status_t fill_node(leat_arena_t* arena, labels_t* labels,
                               const leat_node_event_t* event, leat_pb_node_exec_stats_t* out) {
  int64_t duration = event->end_ns - event->start_ns;
  out->node_name = event->node;
  out->all_start_micros = event->start_ns / 1000;
  out->op_end_rel_micros = (duration + 999) / 1000;
  out->all_end_rel_micros = (duration + 999) / 1000;
  out->all_start_nanos = event->start_ns;
  out->op_end_rel_nanos = duration;
  out->all_end_rel_nanos = duration;
  out->scheduled_micros = event->start_ns / 1000;
  out->scheduled_nanos = event->start_ns;
  out->thread_id = event->thread;
  if (labels->inputs_of) {
    LEAT_RETURN_IF_ERROR(make_label(arena, labels, event, &out->timeline_label));
  }
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, (size_t)event->output_count + 1, &out->output.items));
  out->output.count = (size_t)event->output_count;
  for (int i = 0; i < event->output_count; ++i) {
    LEAT_RETURN_IF_ERROR(fill_output(arena, event, i, &out->output.items[i]));
  }
  return leat_ok_status();
}

static leat_status_t fill_device(leat_arena_t* arena, labels_t* labels,
                                 const leat_device_events_t* events,
                                 leat_pb_device_step_stats_t* out) {
  size_t count = 0;
  for (const leat_node_event_t* e = events->first; e; e = e->next) ++count;
  out->device = events->device;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count + 1, &out->node_stats.items));
  for (const leat_node_event_t* e = events->first; e; e = e->next) {
    leat_pb_node_exec_stats_t* stats = &out->node_stats.items[out->node_stats.count++];
    LEAT_RETURN_IF_ERROR(fill_node(arena, labels, e, stats));
  }
  return leat_ok_status();
}

static leat_status_t fill_stats(leat_step_collector_t* collector, labels_t* labels,
                                leat_pb_step_stats_t* stats) {
  size_t count = 0;
  for (const leat_device_events_t* d = collector->devices; d; d = d->next) ++count;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&collector->arena, count + 1, &stats->dev_stats.items));
  for (const leat_device_events_t* d = collector->devices; d; d = d->next) {
    leat_pb_device_step_stats_t* device = &stats->dev_stats.items[stats->dev_stats.count++];
    LEAT_RETURN_IF_ERROR(fill_device(&collector->arena, labels, d, device));
  }
  return leat_ok_status();
}

leat_status_t leat_step_stats_describe(leat_step_collector_t* collector,
                                       leat_trace_inputs_fn_t inputs_of, void* data,
                                       leat_pb_step_stats_t* out_stats) {
  labels_t labels = {.inputs_of = inputs_of, .data = data};
  *out_stats = (leat_pb_step_stats_t){0};
  leat_string_builder_initialize(collector->arena.allocator, &labels.text);
  leat_status_t status = fill_stats(collector, &labels, out_stats);
  leat_string_builder_deinitialize(&labels.text);
  return status;
}

leat_status_t leat_run_metadata_encode(leat_pb_step_stats_t* stats,
                                       leat_pb_cost_graph_def_t* cost_graph,
                                       leat_string_builder_t* out_bytes) {
  leat_pb_run_metadata_t metadata = {.step_stats = stats, .cost_graph = cost_graph};
  return leat_message_encode(&leat_pb_run_metadata_descriptor, &metadata, out_bytes);
}
