#include "session/flow.h"

#include <stdio.h>

leat_output_t flow_int(scene_t* s, int value) {
  leat_output_t output = leat_build_scalar(&s->b, LEAT_DTYPE_INT32, value);
  LEAT_EXPECT_OK(s->b.status);
  return output;
}

leat_output_t flow_switch(scene_t* s, leat_output_t x, leat_output_t pred, int side) {
  int32_t node = scene_node(s, "Switch", "", "", LEAT_INPUTS(x, pred), LEAT_NO_ATTRS);
  return leat_node_output(node, side);
}

leat_output_t flow_merge(scene_t* s, leat_output_t a, leat_output_t b) {
  return scene_output(s, "Merge", "", "", LEAT_INPUTS(a, b), LEAT_NO_ATTRS);
}

leat_output_t flow_enter(scene_t* s, const char* frame, leat_output_t x, bool is_constant) {
  return scene_output(s, "Enter", "", "", LEAT_INPUTS(x),
                      LEAT_ATTRS(LEAT_STRING("frame_name", leat_string_view_from(frame)),
                                 LEAT_BOOL("is_constant", is_constant)));
}

void flow_loop_open(scene_t* s, const char* frame, leat_outputs_t initial, flow_loop_t* loop) {
  *loop = (flow_loop_t){.scene = s, .count = initial.count};
  assert_true(initial.count <= kFlowVariables);
  snprintf(loop->frame, sizeof loop->frame, "%s", frame);
  for (int i = 0; i < loop->count; ++i) {
    leat_output_t in = flow_enter(s, frame, initial.items[i], false);
    loop->merges[i] = loop->values[i] = flow_merge(s, in, in);  // until flow_loop_next
  }
}

void flow_loop_test(flow_loop_t* loop, leat_output_t condition) {
  scene_t* s = loop->scene;
  loop->pred = scene_unary(s, "LoopCond", -1, condition);
  for (int i = 0; i < loop->count; ++i) {
    loop->switches[i] = flow_switch(s, loop->merges[i], loop->pred, 1).node;
    loop->values[i] = leat_node_output(loop->switches[i], 1);
  }
  loop->pivot = scene_unary(s, "Identity", -1, loop->values[0]).node;
}

leat_output_t flow_loop_invariant(flow_loop_t* loop, leat_output_t x) {
  return flow_enter(loop->scene, loop->frame, x, true);
}

void flow_loop_next(flow_loop_t* loop, int variable, leat_output_t value) {
  leat_output_t next = scene_unary(loop->scene, "NextIteration", -1, value);
  LEAT_EXPECT_OK(
      leat_graph_set_input(loop->scene->graph, loop->merges[variable].node, 1, next));
}

leat_output_t flow_loop_exit(flow_loop_t* loop, int variable) {
  return scene_unary(loop->scene, "Exit", -1, leat_node_output(loop->switches[variable], 0));
}

void flow_loop_count(scene_t* s, const char* frame, leat_output_t limit, leat_outputs_t initial,
                     flow_loop_t* loop) {
  leat_output_t all[kFlowVariables] = {flow_int(s, 0)};
  for (int i = 0; i < initial.count; ++i) all[i + 1] = initial.items[i];
  flow_loop_open(s, frame, (leat_outputs_t){all, initial.count + 1}, loop);
  leat_output_t most = flow_loop_invariant(loop, limit);
  flow_loop_test(loop, scene_binary(s, "Less", -1, loop->values[0], most));
  leat_output_t one = flow_int(s, 1);
  scene_after(s, one.node, loop->pivot);
  flow_loop_next(loop, 0, scene_binary(s, "AddV2", -1, loop->values[0], one));
}
