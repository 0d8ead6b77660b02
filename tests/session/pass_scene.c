#include "session/pass_scene.h"

void pass_scene_open(pass_scene_t* f) {
  *f = (pass_scene_t){0};
  scene_open(&f->s);
  LEAT_EXPECT_OK(leat_cpu_device_create(LEAT_SV("/job:localhost/replica:0/task:0/device:CPU:0"),
                                        NULL, leat_allocator_system(), &f->device));
  leat_evaluator_initialize(f->s.runtime->kernels, f->device, leat_allocator_system(),
                            &f->evaluator);
}

int pass_scene_tear_down(void** state) {
  pass_scene_t* f = *state;
  if (f->rewrite.graph) leat_rewrite_deinitialize(&f->rewrite);
  leat_device_release(f->device);
  scene_close(&f->s);
  return 0;
}

void pass_scene_prune(pass_scene_t* f, leat_outputs_t fetches) {
  if (f->rewrite.graph) leat_rewrite_deinitialize(&f->rewrite);
  LEAT_EXPECT_OK(
      leat_prune(f->s.graph, NULL, 0, fetches.items, fetches.count, NULL, 0, &f->rewrite));
}

const leat_node_t* pass_scene_fetched(const pass_scene_t* f, int index) {
  return &f->rewrite.graph->nodes[f->rewrite.fetches[index].node];
}
