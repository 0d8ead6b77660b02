// RunMetadata.cost_graph: for each node of each device's graph, its inputs, the largest outputs and
// the longest time that were measured (graph/cost/cost.h). The graphs of the devices follow each
// other in one message. A node's id is its number in that sequence, so that ids go on from one
// graph to the next; |first| is the id of the current graph's first node. Sends are marked as
// final, as in TensorFlow, because their values leave the graph. The message lies in the caller's
// arena.
#include "capi/session/run_options.h"
#include "device/device_name.h"
#include "formats/generated/step_stats.h"
#include "formats/generated/tensor.h"

typedef struct writer_s {
  leat_arena_t* arena;
  leat_costs_t* costs;
  const leat_graph_t* graph;
  leat_string_view_t device, device_type;
  int32_t first;  // id of the graph's first node
} writer_t;

static leat_status_t write_shape(const writer_t* w, leat_partial_shape_t shape,
                                 leat_pb_tensor_shape_proto_t** out_shape) {
  leat_pb_tensor_shape_proto_t* out;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(w->arena, 1, &out));
  out->unknown_rank = shape.rank < 0;
  out->dim.count = shape.rank > 0 ? (size_t)shape.rank : 0;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(w->arena, out->dim.count + 1, &out->dim.items));
  for (size_t d = 0; d < out->dim.count; ++d) out->dim.items[d].size = shape.dims[d];
  *out_shape = out;
  return leat_ok_status();
}

static leat_status_t write_outputs(const writer_t* w, const leat_node_t* node,
                                   leat_pb_cost_graph_def_node_t* out) {
  out->output_info.count = (size_t)node->output_count;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(w->arena, out->output_info.count + 1, &out->output_info.items));
  for (int i = 0; i < node->output_count; ++i) {
    leat_pb_cost_graph_def_node_output_info_t* info = &out->output_info.items[i];
    leat_costs_value_t value;
    LEAT_RETURN_IF_ERROR(leat_costs_largest(w->costs, node->name, i, w->arena, &value));
    info->size = value.bytes;
    info->dtype = value.dtype;
    info->alias_input_port = -1;
    LEAT_RETURN_IF_ERROR(write_shape(w, value.shape, &info->shape));
  }
  return leat_ok_status();
}

static leat_status_t write_inputs(const writer_t* w, const leat_node_t* node,
                                  leat_pb_cost_graph_def_node_t* out) {
  int count = node->input_count + node->control_count;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(w->arena, (size_t)count + 1, &out->input_info.items));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(w->arena, (size_t)count + 1, &out->control_input.items));
  for (int i = 0; i < count; ++i) {
    leat_output_t input = node->inputs[i];
    if (!leat_output_exists(input)) continue;
    if (i >= node->input_count) {
      out->control_input.items[out->control_input.count++] = w->first + input.node;
    } else {
      out->input_info.items[out->input_info.count++] =
          (leat_pb_cost_graph_def_node_input_info_t){.preceding_node = w->first + input.node,
                                                     .preceding_port = input.index};
    }
  }
  return leat_ok_status();
}

static leat_status_t write_node(const writer_t* w, int32_t index,
                                leat_pb_cost_graph_def_node_t* out) {
  const leat_node_t* node = &w->graph->nodes[index];
  out->name = node->name;
  out->device = w->device;
  out->id = w->first + index;
  out->compute_cost = (leat_costs_most_ns(w->costs, node->name, w->device_type) + 999) / 1000;
  out->is_final = (node->op->flags & LEAT_OP_SEND) != 0;
  LEAT_RETURN_IF_ERROR(write_inputs(w, node, out));
  return write_outputs(w, node, out);
}

leat_status_t leat_capi_cost_graph(leat_costs_t* costs, const leat_signature_t* signature,
                                   leat_arena_t* arena, leat_pb_cost_graph_def_t* out_graph) {
  int partitions = leat_signature_partition_count(signature);
  size_t count = 0;
  writer_t w = {.arena = arena, .costs = costs};
  for (int p = 0; p < partitions; ++p) {
    count += leat_signature_partition(signature, p, &w.device)->node_count;
  }
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count + 1, &out_graph->node.items));
  for (int p = 0; p < partitions; ++p) {
    leat_device_name_t name;
    w.graph = leat_signature_partition(signature, p, &w.device);
    LEAT_RETURN_IF_ERROR(leat_device_name_parse(w.device, &name));
    w.device_type = name.type;
    for (size_t i = 0; i < w.graph->node_count; ++i) {
      LEAT_RETURN_IF_ERROR(
          write_node(&w, (int32_t)i, &out_graph->node.items[out_graph->node.count++]));
    }
    w.first += (int32_t)w.graph->node_count;
  }
  return leat_ok_status();
}
