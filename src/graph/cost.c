// Estimates. An op that only hands on, chooses or names does no work; one that computes touches its
// operands once and does an operation for each element of the largest, but for contractions, whose
// work is that of the three operands' common index space:
//   A [m, k], B [k, n], C [m, n]:   2 m k n = 2 sqrt(|A| |B| |C|)
#include "graph/cost.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "formats/generated/step_stats.h"

static double element_count(leat_partial_shape_t shape) {
  if (shape.rank < 0) return LEAT_COST_UNKNOWN_DIM;
  double count = 1;
  for (int i = 0; i < shape.rank; ++i) {
    count *= shape.dims[i] == LEAT_DIM_UNKNOWN ? LEAT_COST_UNKNOWN_DIM : (double)shape.dims[i];
  }
  return count;
}

static double value_bytes(const leat_graph_t* graph, leat_output_t output) {
  int dtype = leat_dtype_base(leat_graph_output_type(graph, output));
  if (leat_dtype_in(dtype, LEAT_DTYPES_OBJECT)) return 64;
  return element_count(leat_graph_output_shape(graph, output)) * (double)leat_dtype_size(dtype);
}

static double contraction(leat_partial_shape_t a, leat_partial_shape_t b, leat_partial_shape_t c) {
  double batch = 1;
  for (int i = 0; i + 2 < c.rank; ++i) {
    batch *= c.dims[i] == LEAT_DIM_UNKNOWN ? LEAT_COST_UNKNOWN_DIM : (double)c.dims[i];
  }
  double product = element_count(a) * element_count(b) * element_count(c);
  return 2 * sqrt(product / (batch > 0 ? batch : 1));
}

// 2 |y| |filter| / channels of y. Input 1 is the filter, or its gradient is what comes out; y comes
// out, or its gradient is input 2.
static double convolution(const leat_graph_t* graph, const leat_node_t* node) {
  leat_partial_shape_t out = node->output_shapes[0], filter = out, y = out;
  if (node->input_count > 1) {
    leat_partial_shape_t second = leat_graph_output_shape(graph, node->inputs[1]);
    if (second.rank > 1) filter = second;
  }
  if (node->input_count > 2) {
    leat_partial_shape_t third = leat_graph_output_shape(graph, node->inputs[2]);
    if (third.rank > 1) y = third;
  }
  double channels = filter.rank > 0 && filter.dims[filter.rank - 1] > 0
                        ? (double)filter.dims[filter.rank - 1] : 1;
  return 2 * element_count(y) * element_count(filter) / channels;
}

static bool does_nothing(const leat_node_t* node) {
  return (node->op->flags & (LEAT_OP_CONTROL_FLOW | LEAT_OP_CONSTANT | LEAT_OP_PLACEHOLDER |
                             LEAT_OP_PASS_THROUGH | LEAT_OP_SEND | LEAT_OP_RECV | LEAT_OP_ARGUMENT |
                             LEAT_OP_ONLY_SHAPE | LEAT_OP_VARIABLE)) ||
         node->op->row->cost == LEAT_COST_NONE;
}

leat_work_t leat_cost_work(const leat_graph_t* graph, const leat_node_t* node) {
  leat_work_t work = {0, 0};
  if (does_nothing(node)) return work;
  double largest = 0;
  for (int i = 0; i < node->input_count; ++i) {
    work.bytes += value_bytes(graph, node->inputs[i]);
    largest = fmax(largest, element_count(leat_graph_output_shape(graph, node->inputs[i])));
  }
  int32_t index = (int32_t)(node - graph->nodes);
  for (int i = 0; i < node->output_count; ++i) {
    work.bytes += value_bytes(graph, (leat_output_t){index, i});
    largest = fmax(largest, element_count(node->output_shapes[i]));
  }
  leat_cost_rule_t rule = (leat_cost_rule_t)node->op->row->cost;
  work.flops = rule == LEAT_COST_FUNCTION ? 12 * largest : largest;
  if (node->output_count == 0) return work;
  if (rule == LEAT_COST_CONTRACTION && node->input_count >= 2) {
    work.flops = contraction(leat_graph_output_shape(graph, node->inputs[0]),
                             leat_graph_output_shape(graph, node->inputs[1]),
                             node->output_shapes[0]);
  }
  if (rule == LEAT_COST_CONVOLUTION) work.flops = convolution(graph, node);
  return work;
}

static int64_t to_integer(double x) { return x < 1e15 ? (int64_t)x : INT64_C(1000000000000000); }

int64_t leat_cost_time_ns(leat_work_t work, const leat_speed_t* speed) {
  if (work.flops == 0 && work.bytes == 0) return 0;
  double flops = speed->flops_per_ns > 0 ? work.flops / speed->flops_per_ns : 0;
  double bytes = speed->bytes_per_ns > 0 ? work.bytes / speed->bytes_per_ns : 0;
  return speed->start_ns + to_integer(fmax(flops, bytes));
}

leat_link_t leat_cost_link(const leat_speed_t* from, const leat_speed_t* to) {
  const double kUnknownRate = 1e9;
  double out = from->transfer_bytes_per_ns > 0 ? from->transfer_bytes_per_ns : kUnknownRate;
  double in = to->transfer_bytes_per_ns > 0 ? to->transfer_bytes_per_ns : kUnknownRate;
  return (leat_link_t){
      .bytes_per_ns = fmin(out, in),
      .latency_ns = from->transfer_ns > to->transfer_ns ? from->transfer_ns : to->transfer_ns};
}

int64_t leat_link_transfer_ns(const leat_link_t* link, int64_t bytes) {
  return link->latency_ns + to_integer((double)bytes / link->bytes_per_ns);
}

int64_t leat_cost_transfer_ns(int64_t bytes, const leat_speed_t* from, const leat_speed_t* to) {
  leat_link_t link = leat_cost_link(from, to);
  return leat_link_transfer_ns(&link, bytes);
}

// ---- Measured -----------------------------------------------------------------------------------

struct leat_costs_s {
  leat_reference_count_t references;
  leat_allocator_t* allocator;
  leat_arena_t arena;        // keys
  leat_string_map_t values;  // "CPU\nnode": ns; "2\nnode": bytes of output 2
};

leat_status_t leat_costs_create(leat_allocator_t* allocator, leat_costs_t** out_costs) {
  leat_costs_t* costs;
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate(allocator, sizeof *costs, (void**)&costs));
  costs->references = 1;
  costs->allocator = allocator;
  leat_arena_initialize(allocator, 0, &costs->arena);
  leat_string_map_initialize(allocator, &costs->values);
  *out_costs = costs;
  return leat_ok_status();
}

void leat_costs_retain(leat_costs_t* costs) {
  if (costs) leat_reference_count_retain(&costs->references);
}

void leat_costs_release(leat_costs_t* costs) {
  if (!costs || !leat_reference_count_release(&costs->references)) return;
  leat_string_map_deinitialize(&costs->values);
  leat_arena_deinitialize(&costs->arena);
  leat_allocator_free(costs->allocator, costs);
}

// Names that do not fit are not measured.
#define KEY_BYTES 512
static leat_string_view_t make_key(leat_string_view_t what, leat_string_view_t node,
                                   char buffer[KEY_BYTES]) {
  int size = snprintf(buffer, KEY_BYTES, "%.*s\n%.*s", LEAT_SV_ARG(what), LEAT_SV_ARG(node));
  return leat_string_view_make(buffer, size > 0 && size < KEY_BYTES ? (size_t)size : 0);
}

static leat_status_t note(leat_costs_t* costs, leat_string_view_t what, leat_string_view_t node,
                          int64_t value) {
  char buffer[KEY_BYTES];
  leat_string_view_t key = make_key(what, node, buffer);
  uint64_t before;
  if (key.size == 0 || value < 0) return leat_ok_status();
  if (leat_string_map_get(&costs->values, key, &before)) {
    value = (int64_t)before + (value - (int64_t)before) / 4;
  } else {
    LEAT_RETURN_IF_ERROR(leat_arena_copy_string(&costs->arena, key, &key));
  }
  return leat_string_map_set(&costs->values, key, (uint64_t)value);
}

static bool find(const leat_costs_t* costs, leat_string_view_t what, leat_string_view_t node,
                 int64_t* out_value) {
  char buffer[KEY_BYTES];
  uint64_t value;
  if (!costs) return false;
  leat_string_view_t key = make_key(what, node, buffer);
  if (key.size == 0 || !leat_string_map_get(&costs->values, key, &value)) return false;
  *out_value = (int64_t)value;
  return true;
}

leat_status_t leat_costs_add(leat_costs_t* costs, leat_string_view_t node,
                             leat_string_view_t device_type, int64_t time_ns) {
  return note(costs, device_type, node, time_ns);
}

static leat_string_view_t number_text(int number, char buffer[16]) {
  return leat_string_view_make(buffer, (size_t)snprintf(buffer, 16, "%d", number));
}

leat_status_t leat_costs_add_size(leat_costs_t* costs, leat_string_view_t node, int output,
                                  int64_t bytes) {
  return note(costs, number_text(output, (char[16]){0}), node, bytes);
}

// "CPU" of ".../device:CPU:0".
static leat_string_view_t type_of(leat_string_view_t device) {
  const char kLabel[] = "device:";
  size_t length = sizeof kLabel - 1;
  for (size_t i = 0; i + length < device.size; ++i) {
    if (memcmp(device.data + i, kLabel, length) != 0) continue;
    leat_string_view_t type = leat_string_view_from_index(device, i + length);
    size_t end = leat_string_view_find(type, ':');
    if (end != SIZE_MAX) type.size = end;
    return type;
  }
  return LEAT_SV("CPU");
}

static leat_status_t add_node(leat_costs_t* costs, leat_string_view_t device_type,
                              const leat_pb_node_exec_stats_t* node) {
  int64_t time_ns = node->op_end_rel_nanos - node->op_start_rel_nanos;
  if (time_ns == 0) time_ns = 1000 * (node->op_end_rel_micros - node->op_start_rel_micros);
  LEAT_RETURN_IF_ERROR(leat_costs_add(costs, node->node_name, device_type, time_ns));
  for (size_t i = 0; i < node->output.count; ++i) {
    const leat_pb_tensor_description_t* tensor = node->output.items[i].tensor_description;
    if (!tensor || !tensor->allocation_description) continue;
    LEAT_RETURN_IF_ERROR(leat_costs_add_size(costs, node->node_name, node->output.items[i].slot,
                                             tensor->allocation_description->requested_bytes));
  }
  return leat_ok_status();
}

leat_status_t leat_costs_add_step(leat_costs_t* costs, const leat_pb_step_stats_t* stats) {
  for (size_t d = 0; d < stats->dev_stats.count; ++d) {
    const leat_pb_device_step_stats_t* device = &stats->dev_stats.items[d];
    for (size_t i = 0; i < device->node_stats.count; ++i) {
      LEAT_RETURN_IF_ERROR(
          add_node(costs, type_of(device->device), &device->node_stats.items[i]));
    }
  }
  return leat_ok_status();
}

int64_t leat_cost_node_ns(const leat_costs_t* costs, const leat_graph_t* graph,
                          const leat_node_t* node, leat_string_view_t device_type,
                          const leat_speed_t* speed) {
  int64_t measured;
  if (find(costs, device_type, node->name, &measured)) return measured;
  return leat_cost_time_ns(leat_cost_work(graph, node), speed);
}

int64_t leat_cost_output_bytes(const leat_costs_t* costs, const leat_graph_t* graph,
                               leat_output_t output) {
  int64_t measured;
  if (output.index == LEAT_CONTROL_INDEX) return 0;
  leat_string_view_t name = graph->nodes[output.node].name;
  if (find(costs, number_text(output.index, (char[16]){0}), name, &measured)) return measured;
  return to_integer(value_bytes(graph, output));
}
