#include "session/partition.h"

int partition_set_up(void** state) {
  static partition_t p;
  p = (partition_t){0};
  scene_open(&p.scene);
  LEAT_EXPECT_OK(leat_cpu_device_create(LEAT_SV("/job:localhost/replica:0/task:0/device:CPU:0"),
                                        NULL, leat_allocator_system(), &p.device));
  LEAT_EXPECT_OK(leat_resource_manager_create(leat_allocator_system(), &p.resources));
  *state = &p;
  return 0;
}

int partition_tear_down(void** state) {
  partition_t* p = *state;
  leat_plan_free(p->plan);
  leat_resource_manager_free(p->resources);
  leat_device_release(p->device);
  scene_close(&p->scene);
  return 0;
}

static leat_status_t copy_graph(const leat_graph_t* graph, leat_graph_t* copy) {
  leat_status_t status = leat_ok_status();
  int32_t index;
  for (size_t i = 0; !status && i < graph->node_count; ++i) {
    leat_node_t node = graph->nodes[i];
    status = leat_graph_copy_node(copy, &node, node.inputs, node.input_count, node.control_count,
                                  &index);
  }
  return status;
}

leat_status_t partition_compile(partition_t* p, const leat_output_t* fetches, int fetch_count,
                                int feed_count, leat_plan_t** out_plan) {
  leat_graph_t* child;
  LEAT_RETURN_IF_ERROR(leat_graph_create_child(p->scene.graph, &child));
  leat_status_t status = copy_graph(p->scene.graph, child);
  leat_register_request_t request = {.graph = child, .fetches = fetches,
                                     .fetch_count = fetch_count, .feed_count = feed_count,
                                     .executor = p->executor,
                                     .deterministic = p->deterministic,
                                     .inter_op_threads = p->inter_op_threads};
  leat_plan_options_t options = {p->scene.runtime->kernels, p->resources, p->device,
                                 leat_allocator_system(), NULL};
  if (!status) status = leat_plan_compile(&request, &options, out_plan);
  if (status) leat_graph_free(child);
  return status;
}

leat_output_t partition_argument(partition_t* p, int index) {
  return scene_output(&p->scene, "_Arg", "", "", LEAT_NO_INPUTS,
                      LEAT_ATTRS(LEAT_TYPE("T", LEAT_DTYPE_FLOAT), LEAT_INT("index", index)));
}

const leat_record_t* partition_record(const leat_plan_t* plan, int32_t node) {
  for (uint32_t i = 0; i < plan->record_count; ++i) {
    if (plan->record_nodes[i] == node) return &plan->records[i];
  }
  fail_msg("node %d has no record", node);
  return NULL;
}

bool partition_releases(const leat_plan_t* plan, const leat_record_t* record, uint32_t slot) {
  for (uint32_t i = 0; i < record->sequence.release_count; ++i) {
    if (plan->sequence.releases[record->sequence.first_release + i] == slot) return true;
  }
  return false;
}
