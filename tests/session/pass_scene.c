#include "session/pass_scene.h"

void pass_scene_open(pass_scene_t* f) {
  *f = (pass_scene_t){0};
  scene_open(&f->s);
  LEAT_EXPECT_OK(leat_cpu_device_create(LEAT_SV("/job:localhost/replica:0/task:0/device:CPU:0"),
                                        NULL, leat_allocator_system(), &f->device));
  leat_evaluator_initialize(f->s.runtime->kernels, f->device, leat_allocator_system(),
                            &f->evaluator);
}

const leat_kernel_row_t* pass_scene_find_kernel(const void* data, const leat_op_t* op,
                                                const leat_attr_t* attrs, int attr_count,
                                                int32_t device) {
  const pass_scene_t* f = data;
  const leat_kernel_row_t* row = NULL;
  leat_status_free(leat_kernel_registry_find(f->s.runtime->kernels, op, attrs, attr_count,
                                             LEAT_SV("CPU"), &row));
  return row;
}

int pass_scene_set_up(void** state) {
  static pass_scene_t f;
  pass_scene_open(&f);
  f.options =
      (leat_pass_options_t){.find_kernel = pass_scene_find_kernel, .find_kernel_data = &f};
  *state = &f;
  return 0;
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

int pass_scene_shrink(pass_scene_t* f, const leat_pass_t* pass, leat_outputs_t fetches,
                      int other) {
  pass_scene_prune(f, fetches);
  leat_graph_t* graph = f->rewrite.graph;
  const size_t before = graph->node_count;
  int32_t order[64];
  for (size_t i = 0; i < before; ++i) graph->nodes[i].assigned_device = 0;
  if (other >= 0) graph->nodes[f->rewrite.fetches[other].node].assigned_device = 1;
  LEAT_EXPECT_OK(leat_pass_run(pass, &f->rewrite, &f->options));
  graph = f->rewrite.graph;
  for (size_t i = 0; i < graph->node_count; ++i) assert_true(graph->nodes[i].assigned_device >= 0);
  assert_true(graph->node_count <= LEAT_ARRAY_SIZE(order));
  LEAT_EXPECT_OK(leat_graph_sort(graph, order));
  return (int)before - (int)graph->node_count;
}

const leat_node_t* pass_scene_fetched(const pass_scene_t* f, int index) {
  return &f->rewrite.graph->nodes[f->rewrite.fetches[index].node];
}
