// Control flow (section 4.4) in short forms: conditions and loops as a client library spells them,
// in Switch, Merge, Enter, Exit and NextIteration.
#ifndef LEAT_TESTS_SESSION_FLOW_H_
#define LEAT_TESTS_SESSION_FLOW_H_

#include "session/scene.h"

leat_output_t flow_int(scene_t* scene, int value);
// Output |side| of a new Switch.
leat_output_t flow_switch(scene_t* scene, leat_output_t x, leat_output_t pred, int side);
leat_output_t flow_merge(scene_t* scene, leat_output_t a, leat_output_t b);
leat_output_t flow_enter(scene_t* scene, const char* frame, leat_output_t x, bool is_constant);
// The value index of a Merge.
static inline leat_output_t flow_index(leat_output_t merge) {
  return leat_node_output(merge.node, 1);
}

// A loop of up to so many variables. Between flow_loop_open and flow_loop_test |values| are the
// Merges, which the condition reads; after it, what the body has.
enum { kFlowVariables = 24 };
typedef struct flow_loop_s {
  scene_t* scene;
  char frame[32];
  int count;
  leat_output_t merges[kFlowVariables];
  int32_t switches[kFlowVariables];
  leat_output_t values[kFlowVariables];
  leat_output_t pred;
  int32_t pivot;  // control input of what the body has without inputs
} flow_loop_t;

void flow_loop_open(scene_t* scene, const char* frame, leat_outputs_t initial,
                    flow_loop_t* out_loop);
void flow_loop_test(flow_loop_t* loop, leat_output_t condition);
// An Enter whose value all iterations see.
leat_output_t flow_loop_invariant(flow_loop_t* loop, leat_output_t x);
void flow_loop_next(flow_loop_t* loop, int variable, leat_output_t value);
leat_output_t flow_loop_exit(flow_loop_t* loop, int variable);

// for (variable 0 = 0; variable 0 < limit; ++variable 0): tested already, and counted on.
void flow_loop_count(scene_t* scene, const char* frame, leat_output_t limit,
                     leat_outputs_t initial, flow_loop_t* out_loop);

#endif  // LEAT_TESTS_SESSION_FLOW_H_
