// Estimates of work, time and size. A node that only names, chooses or passes on a value does no
// work. Any other one reads its inputs and writes its outputs once, and its operations follow from
// the rule of its op:
//
//   elements      one for each element of its largest input or output (12 for exp, tanh, ...)
//   contraction   A [b, m, k], B [b, k, n] -> C [b, m, n]:   2 b m k n = 2 sqrt(|A| |B| |C| / b),
//                                                          an operand with fewer matrices repeated
//   convolution   x, filter -> y:                            2 |y| |filter| / channels of y
//
// The square root gives the size of the index space of a matrix product without asking which
// operand is transposed, since each of m, k and n is in two of the three element counts. Unknown
// dimensions count as LEAT_COST_UNKNOWN_DIM. The time is the roofline: the start of the kernel,
// plus the larger of operations over the device's rate and bytes over its bandwidth. Measurements
// come before estimates; but nodes that do no work have no cost whatever was measured
// (leat_cost_node_ns).
#include "graph/cost/cost.h"

#include <math.h>

// The product of the dimensions from |begin| up to |end|.
static double dim_product(leat_partial_shape_t shape, int begin, int end) {
  double count = 1;
  for (int i = begin; i < end; ++i) {
    count *= shape.dims[i] == LEAT_DIM_UNKNOWN ? LEAT_COST_UNKNOWN_DIM : (double)shape.dims[i];
  }
  return count;
}

static double element_count(leat_partial_shape_t shape) {
  return shape.rank < 0 ? LEAT_COST_UNKNOWN_DIM : dim_product(shape, 0, shape.rank);
}

// The size of a value. Strings, handles and variants have none that shapes tell; 64 stands for it.
static double value_bytes(const leat_graph_t* graph, leat_output_t output) {
  int dtype = leat_dtype_base(leat_graph_output_type(graph, output));
  if (leat_dtype_in(dtype, LEAT_DTYPES_OBJECT)) return 64;
  return element_count(leat_graph_output_shape(graph, output)) * (double)leat_dtype_size(dtype);
}

// The elements of an operand that is repeated for each matrix of the batch: those of one matrix,
// times the batch.
static double repeated_count(leat_partial_shape_t shape, double batch) {
  const double matrix = shape.rank < 2 ? element_count(shape)
                                       : dim_product(shape, shape.rank - 2, shape.rank);
  return fmax(element_count(shape), batch * matrix);
}

// 2 sqrt(|a| |b| |c| / batch), where the batch is all dimensions of |c| but the last two.
static double contraction(leat_partial_shape_t a, leat_partial_shape_t b, leat_partial_shape_t c) {
  const double batch = dim_product(c, 0, c.rank - 2);
  const double product = repeated_count(a, batch) * repeated_count(b, batch) * element_count(c);
  return 2 * sqrt(product / (batch > 0 ? batch : 1));
}

// 2 |y| |filter| / channels of y. The same holds for the gradients: input 1 is the filter, or the
// output is the gradient of the filter; the output is y, or input 2 is the gradient of y. A vector
// in one of these places gives sizes and is passed over.
static double convolution(const leat_graph_t* graph, const leat_node_t* node) {
  LEAT_DCHECK(node->output_count > 0);
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

// Whether a node does no work by its nature.
static bool does_nothing(const leat_node_t* node) {
  return (node->op->flags & (LEAT_OP_CONTROL_FLOW | LEAT_OP_CONSTANT | LEAT_OP_PLACEHOLDER |
                             LEAT_OP_PASS_THROUGH | LEAT_OP_SEND | LEAT_OP_RECV | LEAT_OP_ARGUMENT |
                             LEAT_OP_ONLY_SHAPE | LEAT_OP_VARIABLE)) ||
         node->op->row->cost == LEAT_COST_NONE;
}

leat_work_t leat_cost_work(const leat_graph_t* graph, const leat_node_t* node) {
  // The index of the node follows from its address.
  LEAT_DCHECK(node >= graph->nodes && node < graph->nodes + graph->node_count);
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

// Rounds down, and stops at 10^15 (eleven days in nanoseconds) before the cast could overflow.
static int64_t to_integer(double x) { return x < 1e15 ? (int64_t)x : INT64_C(1000000000000000); }

int64_t leat_cost_time_ns(leat_work_t work, const leat_speed_t* speed) {
  if (work.flops == 0 && work.bytes == 0) return 0;
  double flops = speed->flops_per_ns > 0 ? work.flops / speed->flops_per_ns : 0;
  double bytes = speed->bytes_per_ns > 0 ? work.bytes / speed->bytes_per_ns : 0;
  return speed->start_ns + to_integer(fmax(flops, bytes));
}

leat_link_t leat_cost_link(const leat_speed_t* from, const leat_speed_t* to) {
  // A device that states no rate does not slow the link down.
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

// ---- Measured or estimated ----------------------------------------------------------------------

// A node that does no work keeps the cost 0 even where a microsecond was measured, because the
// placer would otherwise see a reason to separate it from the node that reads it.
int64_t leat_cost_node_ns(leat_costs_t* costs, const leat_graph_t* graph,
                          const leat_node_t* node, leat_string_view_t device_type,
                          const leat_speed_t* speed) {
  int64_t measured;
  if (does_nothing(node)) return 0;
  if (leat_costs_time(costs, node->name, device_type, &measured)) return measured;
  return leat_cost_time_ns(leat_cost_work(graph, node), speed);
}

int64_t leat_cost_output_bytes(leat_costs_t* costs, const leat_graph_t* graph,
                               leat_output_t output) {
  int64_t measured;
  if (output.index == LEAT_CONTROL_INDEX) return 0;
  leat_string_view_t name = graph->nodes[output.node].name;
  if (leat_costs_size(costs, name, output.index, &measured)) return measured;
  return to_integer(value_bytes(graph, output));
}
