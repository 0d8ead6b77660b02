// What nodes wait for, through an edit: lists of nodes to wait for, and the rule for those who wait
// for a node that vanishes without anything in its place (edit.h).
#include <string.h>

#include "optimize/edit.h"

leat_status_t leat_waits_add(leat_edit_t* edit, int32_t node, leat_waits_t* inout_waits) {
  LEAT_DCHECK(node >= 0 && (size_t)node < edit->graph->node_count);
  LEAT_DCHECK(inout_waits->count <= inout_waits->room);
  if (inout_waits->count == inout_waits->room) {
    int32_t* nodes;
    const int room = 2 * inout_waits->room + 4;
    LEAT_RETURN_IF_ERROR(LEAT_NEW(edit->scratch, (size_t)room, &nodes));
    if (inout_waits->count) {
      memcpy(nodes, inout_waits->nodes, (size_t)inout_waits->count * sizeof *nodes);
    }
    inout_waits->nodes = nodes;
    inout_waits->room = room;
  }
  inout_waits->nodes[inout_waits->count++] = node;
  return leat_ok_status();
}

leat_status_t leat_waits_add_controls(leat_edit_t* edit, int32_t index, leat_waits_t* inout_waits) {
  for (int k = 0; k < edit->graph->nodes[index].control_count; ++k) {
    const leat_node_t* node = &edit->graph->nodes[index];
    LEAT_RETURN_IF_ERROR(
        leat_waits_add(edit, node->inputs[node->input_count + k].node, inout_waits));
  }
  return leat_ok_status();
}

leat_status_t leat_edit_move_waiters(leat_edit_t* edit, int32_t node, const leat_waits_t* sources) {
  int32_t waiter = -1;
  leat_node_spec_t spec = {.control_inputs = sources->nodes, .control_count = sources->count};
  LEAT_RETURN_IF_ERROR(leat_op_registry_find(edit->graph->ops, LEAT_OP_NAME_NO_OP, &spec.op));
  LEAT_EDIT_FOR_EACH_USE(edit, node, use) {
    const leat_reader_t reader = leat_edit_reader(edit, use);
    if (!leat_edit_is_wait(edit, reader)) continue;
    if (waiter < 0) LEAT_RETURN_IF_ERROR(leat_edit_add(edit, node, "/_waited", &spec, &waiter));
    LEAT_RETURN_IF_ERROR(leat_edit_set_input(edit, reader.node, reader.position,
                                             (leat_output_t){waiter, LEAT_CONTROL_INDEX}));
  }
  return leat_ok_status();
}

leat_status_t leat_edit_pass_waiters(leat_edit_t* edit, int32_t index) {
  leat_waits_t sources = {0};
  for (int k = 0; k < leat_node_edge_count(leat_edit_node(edit, index)); ++k) {
    LEAT_RETURN_IF_ERROR(
        leat_waits_add(edit, edit->graph->nodes[index].inputs[k].node, &sources));
  }
  return leat_edit_move_waiters(edit, index, &sources);
}
