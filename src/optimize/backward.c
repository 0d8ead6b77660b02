// Finds the nodes of the backward pass, for the passes "recompute" and "swap". The nodes that
// adding gradients made are marked (node->is_gradient). An imported graph has lost the marks, so
// where no node is marked names decide, as they do for TensorFlow's memory optimizer: a name
// belongs to the backward pass if it begins with "gradients/", at its start or after a slash. If
// the client's options name a scope, the nodes in it belong to it in any case. Every node that
// depends on such a node is late as well, since it cannot run before the backward pass does. The
// order that this file makes is topological and puts all nodes of the forward pass before the late
// ones.
#include "optimize/backward.h"

static bool is_in_scope(leat_string_view_t name, leat_string_view_t scope) {
  if (leat_string_view_starts_with(name, scope)) return true;
  for (size_t i = 1; i + scope.size <= name.size; ++i) {
    if (name.data[i - 1] == '/' &&
        leat_string_view_starts_with(leat_string_view_from_index(name, i), scope)) {
      return true;
    }
  }
  return false;
}

// Finds what is known about node |index|. Nodes must be visited in topological order, as this
// depends on what is known about the inputs.
// An empty |scope| holds no node.
static void mark(leat_backward_t* b, int32_t index, leat_string_view_t scope) {
  const leat_node_t* node = &b->graph->nodes[index];
  const uint32_t held = LEAT_OP_CONSTANT | LEAT_OP_ARGUMENT | LEAT_OP_VARIABLE;
  b->late[index] = node->is_gradient || (scope.size && is_in_scope(node->name, scope));
  b->conditional[index] = node->op->flags & (LEAT_OP_SWITCH | LEAT_OP_ENTER | LEAT_OP_MERGE);
  b->kept[index] = (node->op->flags & held) || node->op->has_ref_outputs;
  for (int i = 0; i < node->input_count + node->control_count; ++i) {
    int32_t source = node->inputs[i].node;
    LEAT_DCHECK((size_t)source < b->graph->node_count);
    b->late[index] |= b->late[source];
    b->conditional[index] |= b->conditional[source];
    if (i < node->input_count && leat_graph_output_type(b->graph, node->inputs[i]) ==
                                     LEAT_DTYPE_RESOURCE) {
      b->kept[index] = true;  // read from a variable
    }
  }
  bool forwards = (node->op->flags & LEAT_OP_PASS_THROUGH) && node->input_count;
  if (forwards && b->kept[node->inputs[0].node]) b->kept[index] = true;
}

// Finds the first late reader of each node: walks backwards, so that the earliest is noted last.
static void find_first_readers(leat_backward_t* b) {
  for (int32_t i = 0; i < b->node_count; ++i) b->first_reader[i] = -1;
  for (size_t i = b->order_count; i-- > 0;) {
    const leat_node_t* node = &b->graph->nodes[b->order[i]];
    if (!b->late[b->order[i]]) continue;
    for (int k = 0; k < node->input_count; ++k) {
      b->first_reader[node->inputs[k].node] = b->order[i];
    }
  }
}

static leat_status_t allocate(leat_backward_t* b) {
  const struct {
    void** array;
    size_t item_bytes;
  } arrays[] = {{(void**)&b->late, 1},
                {(void**)&b->conditional, 1},
                {(void**)&b->kept, 1},
                {(void**)&b->place, sizeof *b->place},
                {(void**)&b->order, sizeof *b->order},
                {(void**)&b->first_reader, sizeof *b->first_reader}};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(arrays); ++i) {
    LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(b->edit->scratch, (size_t)b->node_count + 1,
                                                   arrays[i].item_bytes, arrays[i].array));
  }
  return leat_ok_status();
}

static bool has_marks(const leat_backward_t* b, const int32_t* sorted) {
  for (size_t i = 0; i < b->order_count; ++i) {
    if (b->graph->nodes[sorted[i]].is_gradient) return true;
  }
  return false;
}

leat_status_t leat_backward_find(leat_edit_t* edit, leat_backward_t* b) {
  leat_string_view_t scope = leat_string_view_from(edit->options->memory_scope);
  int32_t* sorted;
  *b = (leat_backward_t){
      .edit = edit, .graph = edit->graph, .node_count = (int32_t)edit->graph->node_count};
  LEAT_RETURN_IF_ERROR(allocate(b));
  LEAT_RETURN_IF_ERROR(leat_edit_sort(edit, &sorted, &b->order_count));
  if (!scope.size && !has_marks(b, sorted)) scope = LEAT_SV("gradients/");
  for (size_t i = 0; i < b->order_count; ++i) mark(b, sorted[i], scope);
  for (int i = 0; i < edit->rewrite->fetch_count; ++i) {
    b->kept[edit->rewrite->fetches[i].node] = true;
  }
  size_t next = 0;
  for (int late = 0; late < 2; ++late) {
    for (size_t i = 0; i < b->order_count; ++i) {
      if (b->late[sorted[i]] != (bool)late) continue;
      b->place[sorted[i]] = (int32_t)next;
      b->order[next++] = sorted[i];
    }
  }
  LEAT_DCHECK(next == b->order_count);
  find_first_readers(b);
  return leat_ok_status();
}

int leat_backward_signals(const leat_backward_t* b, int32_t reader, leat_output_t* out_signals) {
  LEAT_DCHECK(reader >= 0 && reader < b->node_count);
  const leat_node_t* node = &b->graph->nodes[reader];
  int count = 0;
  if (b->conditional[reader]) return 0;
  for (int i = 0; i < node->input_count + node->control_count; ++i) {
    int32_t input = node->inputs[i].node;
    if (input >= b->node_count || !b->late[input]) continue;
    out_signals[count++] = (leat_output_t){input, LEAT_CONTROL_INDEX};
  }
  return count;
}
