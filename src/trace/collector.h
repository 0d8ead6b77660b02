// Collects what a step does, when the caller asks for it (RunOptions.trace_level) or the session
// measures it: which node ran when, on which device and thread, and the types, shapes and sizes of
// its outputs. A step that does not collect pays one test of a pointer for each node; one that does
// takes a lock and copies names, and is not for measuring short kernels.
//
//   leat_step_collector_t collector;
//   leat_step_collector_initialize(allocator, &collector);
//   status = leat_compiled_run(compiled, feeds, fetches, deadline_ns, 0, &collector);
//   ... read collector.devices, or leat_step_stats_describe(&collector, ...) ...
//   leat_step_collector_deinitialize(&collector);
#ifndef LEAT_TRACE_COLLECTOR_H_
#define LEAT_TRACE_COLLECTOR_H_

#include "base/arena.h"
#include "base/string_builder.h"
#include "base/sync.h"
#include "tensor/tensor.h"

// A node that has run, or a constant. Everything it points to lies in the collector's arena.
typedef struct leat_node_event_s {
  struct leat_node_event_s* next;
  leat_string_view_t node, op;  // in the collector's arena
  int64_t start_ns, end_ns;     // wall clock, in nanoseconds
  uint32_t thread;              // a small number, in the order of first events
  int output_count;
  struct {
    int dtype;                  // 0: the node did not produce it
    leat_partial_shape_t shape;
    size_t size_bytes;
  } * outputs;
} leat_node_event_t;

// The events of one device, in the order in which its nodes ended.
typedef struct leat_device_events_s {
  struct leat_device_events_s* next;
  leat_string_view_t device;
  leat_node_event_t* first;
  leat_node_event_t* last;
} leat_device_events_t;

// Owned by whoever runs the step. Thread-safe while the step runs; read when it has ended.
typedef struct leat_step_collector_s {
  leat_mutex_t mutex;  // guards the two fields below
  leat_arena_t arena;
  // One list for each device that ran a node, in no particular order.
  leat_device_events_t* devices;
} leat_step_collector_t;

void leat_step_collector_initialize(leat_allocator_t* allocator,
                                    leat_step_collector_t* out_collector);
// Frees the events. The step must have ended.
void leat_step_collector_deinitialize(leat_step_collector_t* collector);
// The present time by the collector's clock, in nanoseconds; taken before a node runs, to be given
// to leat_step_collector_add.
int64_t leat_step_collector_now(void);
// Adds an event for a node that has ended now. Without memory the event is left out. |outputs|
// points to the first of |output_count| tensors, which are |stride_bytes| apart.
void leat_step_collector_add(leat_step_collector_t* collector, leat_string_view_t device,
                             leat_string_view_t node, leat_string_view_t op, int64_t start_ns,
                             const leat_tensor_t* outputs, int output_count, size_t stride_bytes);

// Adds an event without length for a constant, whose value was there before the step.
void leat_step_collector_add_constant(leat_step_collector_t* collector, leat_string_view_t device,
                                      leat_string_view_t node, leat_string_view_t op,
                                      const leat_tensor_t* value);

// Adds the events that another process has collected for its part of the step. Those for which
// there is no memory, and what is not valid of them, are left out.
struct leat_pb_step_stats_s;
void leat_step_collector_add_stats(leat_step_collector_t* collector,
                                   const struct leat_pb_step_stats_s* stats);

// ---- What was collected, as messages (run_metadata.c) -------------------------------------------
// Translates collected events into TensorFlow's StepStats, and these into its RunMetadata message.
// Called after the step has ended, when nothing writes to the collector any more.

struct leat_pb_cost_graph_def_s;

// Appends the names of the inputs of |node|, separated by ", "; nothing for a node that it does not
// know.
typedef void (*leat_trace_inputs_fn_t)(void* data, leat_string_view_t node,
                                       leat_string_builder_t* out_inputs);
// One that names no inputs, for labels that only tell the op.
void leat_trace_no_inputs(void* data, leat_string_view_t node, leat_string_builder_t* out_inputs);
// Makes the StepStats of the collected events. |inputs_of| is called with |data| for each label;
// NULL: the nodes have no labels. The message lies in the collector's arena.
LEAT_MUST_USE leat_status_t leat_step_stats_describe(leat_step_collector_t* collector,
                                                     leat_trace_inputs_fn_t inputs_of, void* data,
                                                     struct leat_pb_step_stats_s* out_stats);
// Appends a serialized RunMetadata to |out_bytes|. |cost_graph| may be NULL.
LEAT_MUST_USE leat_status_t leat_run_metadata_encode(struct leat_pb_step_stats_s* stats,
                                                     struct leat_pb_cost_graph_def_s* cost_graph,
                                                     leat_string_builder_t* out_bytes);

#endif  // LEAT_TRACE_COLLECTOR_H_
