// Placement (sections 3.2.1, 4.3): which device runs each node. Feasible devices come from the
// kernel registry, the node's constraint and colocation (master/groups.h). Two placers choose among
// them: `simple` as TensorFlow does, `greedy` by the white paper's simulated execution
// (master/greedy.h).
#ifndef LEAT_MASTER_PLACER_H_
#define LEAT_MASTER_PLACER_H_

#include "device/device_name.h"
#include "graph/cost.h"
#include "graph/graph.h"
#include "kernel/registry.h"

// A device as the master knows it: by name, and by what may be expected of it.
typedef struct leat_placement_device_s {
  leat_string_view_t name;  // full
  leat_string_view_t type;
  int64_t memory_limit_bytes;  // greedy: 0 = none
  bool has_own_memory;         // the host cannot read its tensors
  leat_speed_t speed;
} leat_placement_device_t;

typedef enum leat_placer_kind_e { LEAT_PLACER_SIMPLE, LEAT_PLACER_GREEDY } leat_placer_kind_t;

// Why a node lies where it lies.
typedef enum leat_placement_reason_e {
  LEAT_PLACED_ONLY_DEVICE,  // there is no other
  LEAT_PLACED_AS_ASKED,     // its own or its group's constraint left one device
  LEAT_PLACED_ONLY_KERNEL,  // no other device has kernels for it and its group
  LEAT_PLACED_WITH_GROUP,   // |other| was placed first
  LEAT_PLACED_WITH_INPUT,   // it reads shapes only, or hands on: beside |other|
  LEAT_PLACED_WITH_READER,  // it only generates a value: beside |other|, who reads it
  LEAT_PLACED_PREFERRED,    // the first of several by TensorFlow's order
  LEAT_PLACED_EARLIEST,     // greedy: it ends there at |finish_ns|
} leat_placement_reason_t;
typedef struct leat_placement_note_s {
  leat_placement_reason_t reason;
  int32_t other;      // a node, or -1
  int64_t finish_ns;  // predicted, from the start of the step
} leat_placement_note_t;

typedef struct leat_placer_options_s {
  const leat_kernel_registry_t* kernels;
  const leat_placement_device_t* devices;
  int device_count;
  bool allow_soft_placement;
  bool log_placement;
  leat_placer_kind_t placer;
  leat_costs_t* costs;           // measured; NULL: estimates alone
  struct leat_anchors_s* anchors;  // of the session; NULL: nothing was placed before
  int effort;                    // greedy: how long it looks for better ones; 0 = 1
  leat_placement_note_t* notes;  // one a node, to be filled; or NULL
} leat_placer_options_t;

// Sets node->assigned_device (index in |options->devices|) of every node. INVALID_ARGUMENT names a
// node that no device can run, the constraint and the devices there are.
LEAT_MUST_USE leat_status_t leat_place(leat_graph_t* graph, const leat_placer_options_t* options);

// TensorFlow places the whole graph, also what no step asks for: sees that each node from
// |*inout_checked| on has a kernel and can be placed by its own constraint, and moves the mark on.
LEAT_MUST_USE leat_status_t leat_check_placement(const leat_graph_t* graph,
                                                 const leat_placer_options_t* options,
                                                 size_t* inout_checked);

#endif  // LEAT_MASTER_PLACER_H_
