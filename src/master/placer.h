// Placement (sections 3.2.1, 4.3): chooses the device that runs each node. The devices that are
// feasible follow from the kernel registry, the node's request and its colocation group (groups.h).
// Two placers choose among them: `simple` by TensorFlow's rules, `greedy` by simulating the step
// (greedy.h). The master places each signature's graph after the passes that need no devices, and
// before the partitioner cuts it. A graph is placed by one thread.
#ifndef LEAT_MASTER_PLACER_H_
#define LEAT_MASTER_PLACER_H_

#include "device/device_name.h"
#include "graph/cost/cost.h"
#include "graph/graph.h"
#include "kernel/registry.h"

// A device as the master knows it: what it needs of a device on another machine too. The strings
// are borrowed.
typedef struct leat_placement_device_s {
  leat_string_view_t name;  // full
  leat_string_view_t type;
  uint64_t incarnation;     // as in leat_device_t
  // The number of its task among the session's, which stand in their order; 0: the master's own.
  int task;
  int64_t memory_limit_bytes;  // for the greedy placer; 0: no limit
  bool has_own_memory;         // the host cannot read its tensors
  leat_speed_t speed;
} leat_placement_device_t;

// Which placer runs; a session's options or the environment variable LEAT_PLACER say it.
typedef enum leat_placer_kind_e { LEAT_PLACER_SIMPLE, LEAT_PLACER_GREEDY } leat_placer_kind_t;

// Why a node was placed where it is, for tools that explain a placement.
typedef enum leat_placement_reason_e {
  LEAT_PLACED_ONLY_DEVICE,  // there is no other
  LEAT_PLACED_AS_ASKED,     // its own or its group's constraint left one device
  LEAT_PLACED_ONLY_KERNEL,  // no other device has kernels for it and its group
  LEAT_PLACED_WITH_GROUP,   // beside |other| of its group, which was placed first
  LEAT_PLACED_WITH_INPUT,   // beside its input |other|: it reads only shapes, or passes it on
  LEAT_PLACED_WITH_READER,  // beside its reader |other|: it only generates a value
  LEAT_PLACED_PREFERRED,    // the first of several by TensorFlow's order
  LEAT_PLACED_EARLIEST,     // greedy: it ends there at |finish_ns|
  LEAT_PLACED_AS_BEFORE,    // its state, or that of its group, lies there since an earlier step
} leat_placement_reason_t;
// "asked for", as documents say it.
const char* leat_placement_reason_text(leat_placement_reason_t reason);
// The note of one node. Only the greedy placer predicts |finish_ns|.
typedef struct leat_placement_note_s {
  leat_placement_reason_t reason;
  int32_t other;      // a node, or -1
  int64_t finish_ns;  // predicted, from the start of the step
} leat_placement_note_t;

// What the placers go by; borrowed for the call.
typedef struct leat_placer_options_s {
  const leat_kernel_registry_t* kernels;
  const leat_placement_device_t* devices;
  int device_count;
  // A request that no device can meet is dropped in part instead of failing (ConfigProto).
  bool allow_soft_placement;
  leat_placer_kind_t placer;
  leat_costs_t* costs;           // measured costs; NULL: estimates alone
  struct leat_anchors_s* anchors;  // of the session (anchors.h); NULL: nothing was placed before
  int effort;                    // greedy: how many usual budgets annealing gets; 0 = 1
  leat_placement_note_t* notes;  // [node_count], to be filled in; or NULL
  // [node_count][device_count], to be filled in by the greedy placer, beside |notes|: how long it
  // takes each node to take on each device, INT64_MAX where it cannot run. NULL: nobody asks.
  int64_t* times_ns;
} leat_placer_options_t;

// Sets node->assigned_device (an index in |options->devices|) of every node. INVALID_ARGUMENT names
// a node that no device can run, its request, and the devices that there are.
LEAT_MUST_USE leat_status_t leat_place(leat_graph_t* graph, const leat_placer_options_t* options);

// Places a copy of |graph| and prints a line "name: (op): device" for each node to stdout, in
// TensorFlow's order: nodes that only generate a value come last (ConfigProto's
// log_device_placement). Stateful nodes that earlier signatures placed elsewhere are not looked at.
LEAT_MUST_USE leat_status_t leat_print_placement(const leat_graph_t* graph,
                                                 const leat_placer_options_t* options);

// Checks that each node from number |*inout_checked| on has a kernel and that its own request can
// be met, and then raises the number to the count of nodes. TensorFlow reports such faults for the
// whole graph, also for nodes that no step needs; this does so without placing them. That a node
// whose op is only declared has no kernel is reported when a step needs it.
LEAT_MUST_USE leat_status_t leat_check_placement(const leat_graph_t* graph,
                                                 const leat_placer_options_t* options,
                                                 size_t* inout_checked);

#endif  // LEAT_MASTER_PLACER_H_
