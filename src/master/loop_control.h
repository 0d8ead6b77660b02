// Loops that lie on several devices (section 4.4). Every device that has a part of a loop gets a
// loop of its own that does nothing but go round as long as the loop's condition says so, sent to
// it once an iteration:
//
//   device of the condition:  ... ─▶ LoopCond ─┐ (one small message an iteration and device)
//   another device:   Enter ─▶ Merge ─▶ Switch ◀┘ ─▶ NextIteration ─▶ Merge
//                                └─▶ what is received in the loop waits for this Merge
//
// So every frame has a root on each device, and a Recv belongs to the iteration whose Merge it
// waits for.
#ifndef LEAT_MASTER_LOOP_CONTROL_H_
#define LEAT_MASTER_LOOP_CONTROL_H_

#include "graph/builder.h"
#include "graph/frames.h"
#include "master/placer.h"

typedef struct leat_loop_control_s {
  leat_frames_t frames;  // of the graph, control loops included; no items: the graph has no loop
  int32_t* merges;       // frame * device_count + device -> the control loop's Merge, or -1
  int device_count;
} leat_loop_control_t;

// Adds the control loops to a placed graph, and moves what only passes values at a loop's border:
// an Enter and a NextIteration to their Merge, an Exit to what it reads; an Enter of an invariant
// is copied to each reader's device. Lies in |arena|.
LEAT_MUST_USE leat_status_t leat_loop_control_add(leat_graph_t* graph,
                                                  const leat_placer_options_t* placement,
                                                  leat_arena_t* arena,
                                                  leat_loop_control_t* out_control);
// The node that a Recv of |source| on |device| waits for, or -1.
int32_t leat_loop_control_gate(const leat_loop_control_t* control, leat_output_t source,
                               int device);

#endif  // LEAT_MASTER_LOOP_CONTROL_H_
