// Placement (sections 3.2.1, 4.3): which device runs each node. Feasible devices come from the
// kernel registry, the node's constraint and colocation ("_class" = "loc:@name", and references
// with their variables), united by union-find. `simple` takes the first feasible device by priority
// (accelerators before CPU), as TensorFlow does.
#ifndef LEAT_MASTER_PLACER_H_
#define LEAT_MASTER_PLACER_H_

#include "device/device_name.h"
#include "graph/graph.h"
#include "kernel/registry.h"

// A device as the master knows it: by name.
typedef struct leat_placement_device_s {
  leat_string_view_t name;  // full
  leat_string_view_t type;
  int64_t memory_limit_bytes;
} leat_placement_device_t;

typedef struct leat_placer_options_s {
  const leat_kernel_registry_t* kernels;
  const leat_placement_device_t* devices;
  int device_count;
  bool allow_soft_placement;
  bool log_placement;
} leat_placer_options_t;

// Sets node->assigned_device (index in |options->devices|) of every node. INVALID_ARGUMENT names a
// node that no device can run, the constraint and the devices there are.
LEAT_MUST_USE leat_status_t leat_place(leat_graph_t* graph, const leat_placer_options_t* options);

// TensorFlow places the whole graph, also what no step asks for: sees that each node from
// |*inout_checked| on could be placed by its own constraint, and moves the mark on.
LEAT_MUST_USE leat_status_t leat_check_placement(const leat_graph_t* graph,
                                                 const leat_placer_options_t* options,
                                                 size_t* inout_checked);

#endif  // LEAT_MASTER_PLACER_H_
