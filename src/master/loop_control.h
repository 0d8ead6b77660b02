// Loops that lie on several devices (section 4.4). Every device that runs a part of a loop gets a
// control loop: a loop that computes nothing and goes round as often as the loop's condition says,
// which is sent to the device once for each iteration:
//
//   device of the condition:  ... ─▶ LoopCond ─┐ (one small message for each iteration and device)
//   another device:   Enter ─▶ Merge ─▶ Switch ◀┘ ─▶ NextIteration ─▶ Merge
//                                └─▶ the Recvs in the loop wait for this Merge
//
// Each frame thus has a root on every device, and a Recv belongs to the iteration whose Merge it
// waits for. The partitioner calls this before it cuts the graph.
#ifndef LEAT_MASTER_LOOP_CONTROL_H_
#define LEAT_MASTER_LOOP_CONTROL_H_

#include "graph/builder.h"
#include "graph/frames.h"
#include "master/placer.h"

typedef struct leat_loop_control_s {
  leat_frames_t frames;  // of the graph with its control loops; no items: it has no loop
  int32_t* merges;       // frame * device_count + device -> the control loop's Merge, or -1
  int device_count;
} leat_loop_control_t;

// Adds the control loops to a placed graph. Nodes that only pass values across a loop's border are
// moved: an Enter and a NextIteration to the device of their Merge, an Exit to that of its input;
// the Enter of a loop invariant is copied to each reader's device. The result lies in |arena|.
// INVALID_ARGUMENT for a loop on several devices without a LoopCond.
LEAT_MUST_USE leat_status_t leat_loop_control_add(leat_graph_t* graph,
                                                  const leat_placer_options_t* placement,
                                                  leat_arena_t* arena,
                                                  leat_loop_control_t* out_control);
// Returns the node that a Recv of |source| on |device| must wait for, or -1 outside of loops.
int32_t leat_loop_control_gate(const leat_loop_control_t* control, leat_output_t source,
                               int device);

#endif  // LEAT_MASTER_LOOP_CONTROL_H_
