// Estimates what a step gains if a group of nodes is computed piece by piece, for the pass
// "concat_sinking", by the cost model (graph/cost/cost.h). A group with no gain is refused. The
// gain is a sum over the nodes:
//
//   JOINED, TAKEN     the copy is not made; a piece that gets or loses an axis costs the start of a
//                     kernel
//   EACH, APPLIED     the time of the whole node, less that of the nodes of the pieces
//   COMBINED          likewise, less the nodes that combine the results
//
// The node of a piece does as much of the work as its piece is of the whole, but reads again every
// operand that is not cut. Of a table from which rows are gathered it reads the rows alone, which
// are cut.
#include <string.h>

#include "graph/cost/cost.h"
#include "optimize/concat_sinking.h"

// The speed of the node's device. Where the options say how many elements are worth a node, the
// start of a kernel takes as long as copying so many floats.
static leat_speed_t speed_for(const leat_concat_t* p, int32_t index) {
  const leat_pass_options_t* options = p->edit->options;
  leat_speed_t speed = leat_pass_speed(options, leat_edit_node(p->edit, index)->assigned_device);
  if (options->fusion_limit_elements) {
    const double bytes = 2.0 * sizeof(float) * (double)options->fusion_limit_elements;
    speed.start_ns = (int64_t)(bytes / speed.bytes_per_ns);
  }
  return speed;
}

// The bytes that the node of each piece reads as a whole.
static double shared_bytes(const leat_concat_t* p, int32_t index) {
  const leat_node_t* node = leat_edit_node(p->edit, index);
  const leat_concat_value_t* value = &p->values[index];
  const leat_access_t access = leat_node_access(p->edit->graph, node, p->edit->options);
  double bytes = 0;
  if (access == LEAT_ACCESS_GATHER || access == LEAT_ACCESS_SCATTER) return 0;
  for (int k = 0; k < node->input_count; ++k) {
    if ((value->in_pieces | value->constants) >> k & 1) continue;
    bytes += (double)leat_cost_output_bytes(NULL, p->edit->graph, node->inputs[k]);
  }
  return bytes;
}

// The time of the nodes that do the work of |index| on the pieces.
static int64_t time_of_pieces(const leat_concat_t* p, int32_t index, const leat_speed_t* speed) {
  const leat_work_t whole = leat_cost_work(p->edit->graph, leat_edit_node(p->edit, index));
  const leat_division_t division = p->values[index].division;
  const double total = (double)leat_division_length(division), shared = shared_bytes(p, index);
  int64_t time = 0;
  for (int i = 0; i < division.count; ++i) {
    const double share = (double)division.lengths[i] / total;
    const leat_work_t work = {whole.flops * share, (whole.bytes - shared) * share + shared};
    time += leat_cost_time_ns(work, speed);
  }
  return time;
}

// The time of a chain that combines the results of the pieces, and perhaps divides at last.
static int64_t time_to_combine(const leat_concat_t* p, int32_t index, const leat_speed_t* speed) {
  const leat_concat_value_t* value = &p->values[index];
  const double bytes = (double)leat_cost_output_bytes(NULL, p->edit->graph,
                                                      (leat_output_t){index, 0});
  const int links = value->division.count - 1 + (value->rule->combination->divide != NULL);
  return links * leat_cost_time_ns((leat_work_t){bytes / 4, 3 * bytes}, speed);
}

// The time of a node that takes a value apart. It reads as much as it writes.
static int64_t time_to_take(const leat_concat_t* p, int32_t index, const leat_speed_t* speed) {
  const leat_node_t* node = leat_edit_node(p->edit, index);
  double bytes = 0;
  for (int i = 0; i < node->output_count; ++i) {
    bytes += 2 * (double)leat_cost_output_bytes(NULL, p->edit->graph, (leat_output_t){index, i});
  }
  return leat_cost_time_ns((leat_work_t){0, bytes}, speed);
}

// The number of nodes that give pieces an axis, or take it from them.
static int count_changes_of_axis(const leat_concat_t* p, int32_t index) {
  const leat_node_t* node = leat_edit_node(p->edit, index);
  switch (leat_node_access(p->edit->graph, node, p->edit->options)) {
    case LEAT_ACCESS_PACK: return node->input_count;
    case LEAT_ACCESS_UNPACK: return node->output_count;
    default: return 0;
  }
}

void leat_concat_weigh(leat_concat_t* p, int32_t index) {
  const leat_concat_value_t* value = &p->values[index];
  const leat_speed_t speed = speed_for(p, index);
  const int64_t whole =
      leat_cost_time_ns(leat_cost_work(p->edit->graph, leat_edit_node(p->edit, index)), &speed);
  int64_t gain = 0;
  switch (value->role) {
    case LEAT_CONCAT_JOINED:
      gain = whole - count_changes_of_axis(p, index) * speed.start_ns;
      break;
    case LEAT_CONCAT_TAKEN:
      gain = time_to_take(p, index, &speed) - count_changes_of_axis(p, index) * speed.start_ns;
      break;
    case LEAT_CONCAT_COMBINED:
      gain = whole - time_of_pieces(p, index, &speed) - time_to_combine(p, index, &speed);
      break;
    case LEAT_CONCAT_EACH:
    case LEAT_CONCAT_APPLIED: gain = whole - time_of_pieces(p, index, &speed); break;
    default: break;
  }
  p->values[leat_concat_group(p, index)].gain_ns += gain;
}
