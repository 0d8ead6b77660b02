// A graph, pruned to what is fetched, for the tests of passes. The device and the evaluator are
// there for passes that compute; what a pass is told is each test's own.
#ifndef LEAT_TESTS_SESSION_PASS_SCENE_H_
#define LEAT_TESTS_SESSION_PASS_SCENE_H_

#include "optimize/pass.h"
#include "session/evaluate.h"
#include "session/scene.h"

typedef struct pass_scene_s {
  scene_t s;
  leat_device_t* device;  // a CPU
  leat_evaluator_t evaluator;
  leat_pass_options_t options;  // none, at first
  leat_rewrite_t rewrite;
} pass_scene_t;

void pass_scene_open(pass_scene_t* f);
// The kernels for CPUs, whatever the device; |data| is the scene. (leat_pass_options_t)
const leat_kernel_row_t* pass_scene_find_kernel(const void* data, const leat_op_t* op,
                                                const leat_attr_t* attrs, int attr_count,
                                                int32_t device);
// A scene whose options say those: |state| points to it.
int pass_scene_set_up(void** state);
int pass_scene_tear_down(void** state);
// The rewrite becomes that of what |fetches| need.
void pass_scene_prune(pass_scene_t* f, leat_outputs_t fetches);
// How many nodes fewer there are after |pass| over what |fetches| need: all on one device, but for
// the node of fetch |other| (-1: none). Fails the test where a node has no device, or there is a
// cycle.
int pass_scene_shrink(pass_scene_t* f, const leat_pass_t* pass, leat_outputs_t fetches, int other);
// The node that makes fetch |index| now.
const leat_node_t* pass_scene_fetched(const pass_scene_t* f, int index);
static inline bool pass_scene_is_op(const leat_node_t* node, const char* op) {
  return leat_string_view_equals(node->op->name, op);
}

#endif  // LEAT_TESTS_SESSION_PASS_SCENE_H_
