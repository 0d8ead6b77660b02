// The list of passes, the functions that run one, and what every pass needs: to map the edges of
// the old graph to the new one, to put one node in the place of another, to ask what is known of a
// node. The master runs passes by leat_pass_run alone, because there, in debug builds, the graph
// that a pass made is verified: a pass that leaves an edge to a node that is gone is named at once,
// and not the executor that trips over it.
#include "optimize/pass.h"

#include <stdio.h>
#include <string.h>

#include "graph/verify.h"

const leat_pass_t* const leat_passes[] = {&leat_pass_fold, &leat_pass_arithmetic,
                                          &leat_pass_dependency, &leat_pass_cse,
                                          &leat_pass_recompute, &leat_pass_fuse, &leat_pass_defer,
                                          &leat_pass_parts, &leat_pass_scale, &leat_pass_cluster,
                                          &leat_pass_swap, &leat_pass_compress,
                                          &leat_pass_recv_schedule, NULL};

// ---- Running a pass -----------------------------------------------------------------------------

#define MAX_STAGE 64  // of "pass <name>"

static leat_status_t verify_fetch(const leat_rewrite_t* rewrite, int index, const char* stage) {
  const leat_graph_t* graph = rewrite->graph;
  const leat_output_t fetch = rewrite->fetches[index];
  if (fetch.node >= 0 && (size_t)fetch.node < graph->node_count && fetch.index >= 0 &&
      fetch.index < graph->nodes[fetch.node].output_count) {
    return leat_ok_status();
  }
  return leat_make_status(LEAT_INTERNAL,
                          "Verifying failed after %s: fetch %d is output %d of node %d, must be in "
                          "the graph of %zu nodes",
                          stage, index, fetch.index, fetch.node, graph->node_count);
}

// The graph is well formed, and what is fetched and what must run are in it.
static leat_status_t verify(const leat_rewrite_t* rewrite, bool placed, const char* stage) {
  const leat_graph_t* graph = rewrite->graph;
  LEAT_RETURN_IF_ERROR(placed ? leat_graph_verify_placed(graph, INT32_MAX, stage)
                              : leat_graph_verify(graph, stage));
  for (int i = 0; i < rewrite->fetch_count; ++i) {
    LEAT_RETURN_IF_ERROR(verify_fetch(rewrite, i, stage));
  }
  for (int i = 0; i < rewrite->target_count; ++i) {
    const int32_t node = rewrite->targets[i];
    if (node >= 0 && (size_t)node < graph->node_count) continue;
    return leat_make_status(LEAT_INTERNAL,
                            "Verifying failed after %s: target %d is node %d, must be one of the "
                            "graph's %zu",
                            stage, i, node, graph->node_count);
  }
  return leat_ok_status();
}

leat_status_t leat_pass_run(const leat_pass_t* pass, leat_rewrite_t* rewrite,
                            const leat_pass_options_t* options, bool placed) {
  char stage[MAX_STAGE];
  leat_status_t (*run)(leat_rewrite_t*, const leat_pass_options_t*) =
      placed ? pass->run_placed : pass->run;
  if (!run) return leat_ok_status();
  leat_status_t status = run(rewrite, options);
  if (status) return leat_status_annotate(status, "pass %s", pass->name);
  if (!LEAT_VERIFIES) return leat_ok_status();
  snprintf(stage, sizeof stage, "pass %s", pass->name);
  return verify(rewrite, placed, stage);
}

leat_status_t leat_pass_run_partitions(const leat_pass_t* pass, leat_graph_t* const* graphs,
                                       int graph_count, const leat_pass_options_t* options) {
  char stage[MAX_STAGE];
  leat_status_t status = pass->run_partitions(graphs, graph_count, options);
  if (status) return leat_status_annotate(status, "pass %s", pass->name);
  if (!LEAT_VERIFIES) return leat_ok_status();
  snprintf(stage, sizeof stage, "pass %s", pass->name);
  for (int i = 0; i < graph_count && !status; ++i) status = leat_graph_verify(graphs[i], stage);
  return status;
}

// ---- What passes need ---------------------------------------------------------------------------

leat_status_t leat_transfer_name(const leat_node_t* node, leat_arena_t* arena,
                                 leat_string_view_t* out_name) {
  leat_string_view_t tensor = leat_node_attr_string(node, "tensor_name");
  leat_string_view_t from = leat_node_attr_string(node, "send_device");
  leat_string_view_t to = leat_node_attr_string(node, "recv_device");
  return leat_arena_print(arena, out_name, "%.*s;%.*s;%.*s", LEAT_SV_ARG(from), LEAT_SV_ARG(to),
                          LEAT_SV_ARG(tensor));
}

void leat_rewrite_deinitialize(leat_rewrite_t* rewrite) {
  leat_graph_t* graph = rewrite->graph;
  leat_allocator_free(leat_allocator_system(), rewrite->fetches);
  leat_allocator_free(leat_allocator_system(), rewrite->targets);
  leat_graph_free(graph);
  memset(rewrite, 0, sizeof *rewrite);
}

void leat_rewrite_replace(leat_rewrite_t* rewrite, leat_graph_t* graph,
                          const leat_node_map_t* map) {
  for (int i = 0; i < rewrite->fetch_count; ++i) {
    rewrite->fetches[i] = leat_node_map_output(map, rewrite->fetches[i]);
  }
  for (int i = 0; i < rewrite->target_count; ++i) {
    rewrite->targets[i] = map->nodes[rewrite->targets[i]];
  }
  leat_graph_free(rewrite->graph);
  rewrite->graph = graph;
}

leat_status_t leat_rewrite_mark_needed(const leat_rewrite_t* rewrite, bool* out_needed) {
  const leat_graph_t* graph = rewrite->graph;
  int32_t* stack;
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate_array(graph->allocator, graph->node_count + 1,
                                                     sizeof *stack, (void**)&stack));
  size_t depth = 0;
  memset(out_needed, 0, graph->node_count);
  int roots = rewrite->fetch_count + rewrite->target_count;
  for (int i = 0; i < roots; ++i) {
    int32_t root = i < rewrite->fetch_count ? rewrite->fetches[i].node
                                            : rewrite->targets[i - rewrite->fetch_count];
    if (root < 0 || out_needed[root]) continue;
    out_needed[root] = true;
    stack[depth++] = root;
  }
  while (depth) {
    const leat_node_t* node = &graph->nodes[stack[--depth]];
    for (int i = 0; i < node->input_count + node->control_count; ++i) {
      int32_t source = node->inputs[i].node;
      if (out_needed[source]) continue;
      out_needed[source] = true;
      stack[depth++] = source;
    }
  }
  leat_allocator_free(graph->allocator, stack);
  return leat_ok_status();
}

static leat_status_t copy_needed(const leat_rewrite_t* rewrite, const bool* needed,
                                 leat_graph_t* child, leat_node_map_t* map) {
  const leat_graph_t* graph = rewrite->graph;
  int32_t next = 0;
  for (size_t i = 0; i < graph->node_count; ++i) map->nodes[i] = needed[i] ? next++ : -1;
  LEAT_RETURN_IF_ERROR(leat_graph_reserve(child, (size_t)next));
  for (size_t i = 0; i < graph->node_count; ++i) {
    int32_t copy;
    if (!needed[i]) continue;
    LEAT_RETURN_IF_ERROR(leat_node_map_copy_node(child, &graph->nodes[i], map, &copy));
  }
  return leat_ok_status();
}

static leat_status_t sweep(leat_rewrite_t* rewrite, leat_arena_t* arena) {
  bool* needed;
  leat_node_map_t map = {0};
  size_t count = rewrite->graph->node_count + 1;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(arena, count, 1, (void**)&needed));
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(arena, count, 4, (void**)&map.nodes));
  LEAT_RETURN_IF_ERROR(leat_rewrite_mark_needed(rewrite, needed));
  leat_graph_t* child;
  LEAT_RETURN_IF_ERROR(leat_graph_create_child(rewrite->graph, &child));
  leat_status_t status = copy_needed(rewrite, needed, child, &map);
  if (status) {
    leat_graph_free(child);
    return status;
  }
  leat_rewrite_replace(rewrite, child, &map);
  return leat_ok_status();
}

leat_status_t leat_rewrite_sweep(leat_rewrite_t* rewrite) {
  leat_arena_t arena;
  leat_arena_initialize(rewrite->graph->allocator, 0, &arena);
  leat_status_t status = sweep(rewrite, &arena);
  leat_arena_deinitialize(&arena);
  return status;
}

void leat_rewrite_mark_kept(const leat_rewrite_t* rewrite, bool* inout_kept) {
  for (int i = 0; i < rewrite->fetch_count; ++i) inout_kept[rewrite->fetches[i].node] = true;
  for (int i = 0; i < rewrite->target_count; ++i) inout_kept[rewrite->targets[i]] = true;
}

leat_status_t leat_rewrite_add_beside(leat_rewrite_t* rewrite, int32_t beside, const char* suffix,
                                      leat_node_spec_t* spec, int32_t* out_node) {
  leat_graph_t* graph = rewrite->graph;
  const int32_t device = graph->nodes[beside].assigned_device;
  spec->device = graph->nodes[beside].device;
  LEAT_RETURN_IF_ERROR(leat_arena_print(leat_graph_arena(graph), &spec->name, "%.*s%s",
                                        LEAT_SV_ARG(graph->nodes[beside].name), suffix));
  LEAT_RETURN_IF_ERROR(leat_graph_unique_name(graph, spec->name, &spec->name));
  LEAT_RETURN_IF_ERROR(leat_graph_add_node(graph, spec, out_node));
  graph->nodes[*out_node].assigned_device = device;
  return leat_ok_status();
}

#define SAME_INDEX (-1)  // the output that was read is read

static void redirect(leat_rewrite_t* rewrite, const leat_readers_t* readers, int32_t node,
                     int32_t by, int index) {
  for (uint32_t r = readers->begin[node]; r < readers->begin[node + 1]; ++r) {
    const leat_reader_t reader = readers->readers[r];
    leat_node_t* reading = &rewrite->graph->nodes[reader.node];
    leat_output_t* input = &reading->inputs[reader.position];
    input->node = by;
    if (index != SAME_INDEX && reader.position < reading->input_count) input->index = index;
  }
  for (int i = 0; i < rewrite->fetch_count; ++i) {
    leat_output_t* fetch = &rewrite->fetches[i];
    if (fetch->node != node) continue;
    fetch->node = by;
    if (index != SAME_INDEX) fetch->index = index;
  }
  for (int i = 0; i < rewrite->target_count; ++i) {
    if (rewrite->targets[i] == node) rewrite->targets[i] = by;
  }
}

void leat_rewrite_redirect(leat_rewrite_t* rewrite, const leat_readers_t* readers, int32_t node,
                           leat_output_t output) {
  redirect(rewrite, readers, node, output.node, output.index);
}

void leat_rewrite_replace_node(leat_rewrite_t* rewrite, const leat_readers_t* readers, int32_t node,
                               int32_t by) {
  redirect(rewrite, readers, node, by, SAME_INDEX);
}

int64_t leat_shape_count_known(leat_partial_shape_t shape) {
  int64_t count = 1;
  if (!leat_partial_shape_is_full(shape)) return -1;
  for (int d = 0; d < shape.rank; ++d) {
    if (__builtin_mul_overflow(count, shape.dims[d], &count)) return INT64_MAX;
  }
  return count;
}

bool leat_shape_may_reach(leat_partial_shape_t shape, int64_t element_count) {
  const int64_t count = leat_shape_count_known(shape);
  return count < 0 || (count > 0 && count >= element_count);
}

bool leat_node_has_one_shape(const leat_graph_t* graph, const leat_node_t* node) {
  const leat_partial_shape_t first = leat_graph_output_shape(graph, node->inputs[0]);
  if (!leat_partial_shape_is_full(first)) return false;
  for (int i = 1; i < node->input_count; ++i) {
    const leat_partial_shape_t shape = leat_graph_output_shape(graph, node->inputs[i]);
    if (!leat_partial_shape_equal(first, shape)) return false;
  }
  return true;
}

static bool adds_bias(const leat_graph_t* graph, const leat_node_t* node) {
  const leat_partial_shape_t value = leat_graph_output_shape(graph, node->inputs[0]);
  const leat_partial_shape_t bias = leat_graph_output_shape(graph, node->inputs[1]);
  return value.rank > 0 && bias.rank == 1 && bias.dims[0] >= 0 &&
         bias.dims[0] == value.dims[value.rank - 1];
}

// Types and the number of inputs apart: those a step says.
static bool has_default_attrs(const leat_node_t* node) {
  for (int i = 0; i < node->op->attr_count; ++i) {
    const leat_op_attr_t* attr = &node->op->attrs[i];
    if (attr->kind == LEAT_ATTR_TYPE || i == node->op->inputs[0].number_attr) continue;
    if (!attr->has_default ||
        !leat_attr_value_equal(&node->attrs[i].value, &attr->default_value)) {
      return false;
    }
  }
  return true;
}

const leat_kernel_row_t* leat_node_kernel(const leat_node_t* node,
                                          const leat_pass_options_t* options) {
  return options->find_kernel(options->find_kernel_data, node->op, node->attrs, node->attr_count,
                              node->assigned_device);
}

const leat_op_t* leat_node_served_as(const leat_graph_t* graph, const leat_node_t* node,
                                     const char* name, const leat_pass_options_t* options) {
  const leat_op_t* op;
  leat_status_t status = leat_op_registry_find(graph->ops, leat_string_view_from(name), &op);
  const leat_kernel_row_t* kernel =
      status ? NULL
             : options->find_kernel(options->find_kernel_data, op, node->attrs, node->attr_count,
                                    node->assigned_device);
  leat_status_free(status);
  return kernel ? op : NULL;
}

leat_elementwise_kind_t leat_node_elementwise(const leat_graph_t* graph, const leat_node_t* node,
                                              const leat_pass_options_t* options) {
  const leat_kernel_row_t* kernel = leat_node_kernel(node, options);
  const int kind = kernel ? kernel->elementwise : LEAT_ELEMENTWISE_NO;
  const bool has_attrs = kind == LEAT_ELEMENTWISE_PRODUCT || kind == LEAT_ELEMENTWISE_REDUCTION;
  if (kind == LEAT_ELEMENTWISE_NO || (!has_attrs && !has_default_attrs(node)) ||
      (kind == LEAT_ELEMENTWISE_BIAS && !adds_bias(graph, node))) {
    return LEAT_ELEMENTWISE_NO;
  }
  return (leat_elementwise_kind_t)kind;
}

bool leat_node_sums_rows(const leat_graph_t* graph, const leat_node_t* node,
                         const leat_pass_options_t* options) {
  if (leat_node_elementwise(graph, node, options) != LEAT_ELEMENTWISE_PRODUCT ||
      !has_default_attrs(node)) {
    return false;
  }
  const leat_tensor_t* column = leat_node_constant(&graph->nodes[node->inputs[1].node]);
  if (!column) return false;
  const leat_shape_t* shape = &column->shape;
  const leat_partial_shape_t x = leat_graph_output_shape(graph, node->inputs[0]);
  return shape->rank == 2 && leat_shape_dim(shape, 0) > 1 && leat_shape_dim(shape, 1) == 1 &&
         x.rank == 2 && x.dims[1] == leat_shape_dim(shape, 0) &&
         leat_tensor_is_neutral(column, LEAT_IDENTITY_ONE);
}

static bool reads_reference(const leat_graph_t* graph, const leat_node_t* node) {
  for (int i = 0; i < node->input_count; ++i) {
    if (leat_dtype_is_ref(leat_graph_output_type(graph, node->inputs[i]))) return true;
  }
  return false;
}

bool leat_node_reads_switch(const leat_graph_t* graph, const leat_node_t* node) {
  for (int k = 0; k < node->input_count; ++k) {
    if (graph->nodes[node->inputs[k].node].op->flags & LEAT_OP_SWITCH) return true;
  }
  return false;
}

bool leat_node_is_pure(const leat_graph_t* graph, const leat_node_t* node) {
  const uint32_t impure = LEAT_OP_STATEFUL | LEAT_OP_PLACEHOLDER | LEAT_OP_ARGUMENT |
                          LEAT_OP_SEND | LEAT_OP_RECV | LEAT_OP_CONTROL_FLOW |
                          LEAT_OP_LOOP_CONDITION | LEAT_OP_RETURN_VALUE | LEAT_OP_VARIABLE |
                          LEAT_OP_STEP_RESOURCE;
  return node->output_count > 0 && !(node->op->flags & impure) && !node->op->has_ref_inputs &&
         !node->op->has_ref_outputs && !reads_reference(graph, node);
}
