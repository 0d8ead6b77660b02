// Compiles a partition into a plan (worker/plan.h). A plan is made once and run by many steps, so
// that whatever can be decided before a step is decided here. The work is in two halves, because
// the two executors want different things of one graph:
//
//   common      order and frames of the nodes, slots, constants, feeds, fetches, kernels:
//               records whose slots are numbered from 0 in each frame      (compiler.c)
//   sequence    the order of control flow, guards, who reads last          (sequence_compiler.c,
//               sequence_order.c)
//   dataflow    successors, counts of inputs and readers                   (dataflow_compiler.c)
//
// This header is what the parts share; the worker needs leat_plan_compile alone. Nothing of a
// compilation outlives it but the plan.
#ifndef LEAT_WORKER_COMPILER_H_
#define LEAT_WORKER_COMPILER_H_

#include "worker/plan.h"

// What the worker lends to the compiler; all of it is borrowed and outlives the plan.
typedef struct leat_plan_options_s {
  const leat_kernel_registry_t* kernels;
  struct leat_resource_manager_s* resources;
  leat_device_t* device;
  leat_allocator_t* allocator;
  struct leat_resource_manager_s* session_resources;  // as of leat_kernel_spec_t
} leat_plan_options_t;

// |request->graph| becomes the plan's on success only. UNIMPLEMENTED when a sequence is asked for
// and the graph cannot be one; the message says which node is in the way.
LEAT_MUST_USE leat_status_t leat_plan_compile(const leat_register_request_t* request,
                                              const leat_plan_options_t* options,
                                              leat_plan_t** out_plan);

// ---- Between the parts --------------------------------------------------------------------------

// The state of one compilation, which the parts fill one after the other. It lives on the stack of
// leat_plan_compile.
typedef struct leat_plan_compiler_s {
  const leat_register_request_t* request;
  const leat_plan_options_t* options;
  const leat_graph_t* graph;
  leat_plan_t* plan;
  leat_arena_t scratch;      // what the plan does not keep
  int32_t* order;            // nodes, every input before its reader
  leat_frames_t frames;
  uint32_t* frame_slots;     // by frame: how many slots it has
  uint32_t* first_slot;      // node -> its first output slot, in the frame of its outputs
  int64_t* record_of;        // node -> record, or -1
  bool framed;               // has control flow, or may receive dead values
  // Why the plan cannot be a sequence: the node in the way, and the rule that it breaks.
  const leat_node_t* obstacle;
  const char* obstacle_rule;
} leat_plan_compiler_t;

static inline const leat_node_t* leat_plan_compiler_node(const leat_plan_compiler_t* c,
                                                         uint32_t record) {
  LEAT_DCHECK(record < c->plan->record_count && c->plan->record_nodes[record] >= 0);
  return &c->graph->nodes[c->plan->record_nodes[record]];
}
// The frame that |record| runs in.
static inline int32_t leat_plan_compiler_frame(const leat_plan_compiler_t* c, uint32_t record) {
  LEAT_DCHECK(record < c->plan->record_count && c->plan->record_nodes[record] >= 0);
  return c->frames.runs_in[c->plan->record_nodes[record]];
}

// Fills what only the dataflow executor needs: |record->dataflow| of all records, and
// |out_tables|, which lie in |arena|.
LEAT_MUST_USE leat_status_t leat_dataflow_compile(leat_plan_compiler_t* c, leat_arena_t* arena,
                                                  leat_dataflow_tables_t* out_tables);
// Makes the plan a sequence. Where it cannot be one, the obstacle is noted, the plan is left as it
// was, and |*out_possible| is false.
LEAT_MUST_USE leat_status_t leat_sequence_compile(leat_plan_compiler_t* c, bool* out_possible);
// Part of the above: finds who reads each slot last, by which values are overwritten and slots are
// emptied. |stays|, by slot, says what no record may empty besides constants and fetches; NULL:
// nothing.
LEAT_MUST_USE leat_status_t leat_sequence_set_releases(leat_plan_compiler_t* c,
                                                       const bool* stays);
// Part of the above for graphs with control flow.
LEAT_MUST_USE leat_status_t leat_sequence_compile_framed(leat_plan_compiler_t* c,
                                                         bool* out_possible);

// The records of a sequence with control flow, in the order in which they run, and the borders of
// loop i: LEAT_ORDER_LOOP + i and LEAT_ORDER_REPEAT + i.
#define LEAT_ORDER_LOOP (UINT32_C(1) << 30)
#define LEAT_ORDER_REPEAT (UINT32_C(1) << 31)
typedef struct leat_sequence_order_s {
  uint32_t* items;
  uint32_t count;
  bool is_whole;  // false: there is no such order
} leat_sequence_order_t;
// |edges| are the successors. The items lie in the scratch arena.
LEAT_MUST_USE leat_status_t leat_sequence_order_find(leat_plan_compiler_t* c,
                                                     const leat_dataflow_tables_t* edges,
                                                     leat_sequence_order_t* out_order);

#endif  // LEAT_WORKER_COMPILER_H_
