// Collects what a step does, when somebody asks (RunOptions.trace_level): who ran when, on which
// thread, what came out. Costs nothing otherwise: the executors test one pointer.
#ifndef LEAT_TRACE_COLLECTOR_H_
#define LEAT_TRACE_COLLECTOR_H_

#include "base/arena.h"
#include "base/sync.h"
#include "tensor/tensor.h"

typedef struct leat_node_event_s {
  struct leat_node_event_s* next;
  leat_string_view_t node, op;  // in the collector's arena
  int64_t start_ns, end_ns;     // wall clock
  uint32_t thread;              // a small number, by order of appearance
  int output_count;
  struct {
    int dtype;                  // 0: no value
    leat_partial_shape_t shape;
    size_t size_bytes;
  } * outputs;
} leat_node_event_t;

typedef struct leat_device_events_s {
  struct leat_device_events_s* next;
  leat_string_view_t device;
  leat_node_event_t* first;
  leat_node_event_t* last;
} leat_device_events_t;

// Thread-safe while the step runs; read when it has ended.
typedef struct leat_step_collector_s {
  leat_mutex_t mutex;
  leat_arena_t arena;
  leat_device_events_t* devices;
} leat_step_collector_t;

void leat_step_collector_initialize(leat_allocator_t* allocator,
                                    leat_step_collector_t* out_collector);
void leat_step_collector_deinitialize(leat_step_collector_t* collector);
// Now, in the collector's clock.
int64_t leat_step_collector_now(void);
// Notes a node that ended; without memory the event is left out. |outputs| are |output_count|
// tensors, |stride_bytes| apart.
void leat_step_collector_add(leat_step_collector_t* collector, leat_string_view_t device,
                             leat_string_view_t node, leat_string_view_t op, int64_t start_ns,
                             const leat_tensor_t* outputs, int output_count, size_t stride_bytes);

#endif  // LEAT_TRACE_COLLECTOR_H_
