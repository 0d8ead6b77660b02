// Where the values of a node lie (memory_kind.h), by the row of the kernel that was chosen for the
// node's device.
#include "master/memory_kind.h"

// Whether |name| is one of the names in |text|, such as "shape; axis".
static bool lists(const char* text, leat_string_view_t name) {
  leat_string_view_t rest = leat_string_view_from(text);
  while (rest.size > 0) {
    size_t end = leat_string_view_find(rest, ';');
    leat_string_view_t part = rest;
    if (end != SIZE_MAX) part.size = end;
    if (leat_string_view_equal(leat_string_view_trim(part), name)) return true;
    rest = leat_string_view_from_index(rest, end == SIZE_MAX ? rest.size : end + 1);
  }
  return false;
}

static bool is_host(const leat_placer_options_t* placement, const leat_node_t* node, int type,
                    int index, bool input) {
  LEAT_DCHECK(node->assigned_device >= 0 && node->assigned_device < placement->device_count);
  LEAT_DCHECK(index >= 0 && index < (input ? node->input_count : node->output_count));
  const leat_placement_device_t* device = &placement->devices[node->assigned_device];
  if (!device->has_own_memory) return true;
  if (leat_dtype_in(leat_dtype_base(type), LEAT_DTYPES_OBJECT)) return true;
  const leat_kernel_row_t* row;
  // The kernel was found when the node was placed, so this cannot fail for want of one.
  leat_status_free(leat_kernel_registry_probe(placement->kernels, node->op, node->attrs,
                                              node->attr_count, device->type, &row));
  if (!row || !row->host_memory) return false;
  const leat_op_t* op = node->op;
  for (int a = 0; a < (input ? op->input_count : op->output_count); ++a) {
    int begin, count = input ? leat_node_input_argument(node, a, &begin)
                             : leat_node_output_argument(node, a, &begin);
    if (index < begin || index >= begin + count) continue;
    return lists(row->host_memory, input ? op->inputs[a].name : op->outputs[a].name);
  }
  return false;
}

bool leat_memory_input_is_host(const leat_placer_options_t* placement, const leat_graph_t* graph,
                               const leat_node_t* node, int index) {
  return is_host(placement, node, leat_graph_output_type(graph, node->inputs[index]), index, true);
}

bool leat_memory_output_is_host(const leat_placer_options_t* placement, const leat_node_t* node,
                                int index) {
  return is_host(placement, node, node->output_types[index], index, false);
}

int leat_memory_host_device(const leat_placer_options_t* placement) {
  LEAT_DCHECK(placement->device_count > 0);
  for (int i = 0; i < placement->device_count; ++i) {
    if (!placement->devices[i].has_own_memory) return i;
  }
  return 0;
}
