// Names say where the backward pass is, as in TensorFlow: "gradients/..." at the front or behind a
// slash.
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

// In order, so that the inputs of each node are settled.
static void mark(leat_backward_t* b, int32_t index, leat_string_view_t scope) {
  const leat_node_t* node = &b->graph->nodes[index];
  const uint32_t held = LEAT_OP_CONSTANT | LEAT_OP_ARGUMENT | LEAT_OP_VARIABLE;
  b->late[index] = is_in_scope(node->name, scope);
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
  bool hands_on = (node->op->flags & LEAT_OP_PASS_THROUGH) && node->input_count;
  if (hands_on && b->kept[node->inputs[0].node]) b->kept[index] = true;
}

static void find_first_readers(leat_backward_t* b) {
  size_t count = b->graph->node_count;
  for (size_t i = 0; i < count; ++i) b->first_reader[i] = -1;
  for (size_t i = count; i-- > 0;) {
    const leat_node_t* node = &b->graph->nodes[b->order[i]];
    if (!b->late[b->order[i]]) continue;
    for (int k = 0; k < node->input_count; ++k) {
      b->first_reader[node->inputs[k].node] = b->order[i];
    }
  }
}

static leat_status_t find(const leat_rewrite_t* rewrite, leat_string_view_t scope,
                          leat_arena_t* arena, leat_backward_t* b) {
  size_t count = b->graph->node_count;
  int32_t* sorted;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(arena, count + 1, 1, (void**)&b->late));
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(arena, count + 1, 1, (void**)&b->conditional));
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(arena, count + 1, 1, (void**)&b->kept));
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(arena, count + 1, 4, (void**)&b->place));
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(arena, count + 1, 4, (void**)&b->order));
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(arena, count + 1, 4, (void**)&b->first_reader));
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(arena, count + 1, 4, (void**)&sorted));
  LEAT_RETURN_IF_ERROR(leat_graph_sort(b->graph, sorted));
  for (size_t i = 0; i < count; ++i) mark(b, sorted[i], scope);
  for (int i = 0; i < rewrite->fetch_count; ++i) b->kept[rewrite->fetches[i].node] = true;
  size_t next = 0;
  for (int late = 0; late < 2; ++late) {
    for (size_t i = 0; i < count; ++i) {
      if (b->late[sorted[i]] != (bool)late) continue;
      b->place[sorted[i]] = (int32_t)next;
      b->order[next++] = sorted[i];
    }
  }
  LEAT_DCHECK(next == count);
  find_first_readers(b);
  return leat_readers_initialize(b->graph, &b->readers);
}

leat_status_t leat_backward_find(const leat_rewrite_t* rewrite, const leat_pass_options_t* options,
                                 leat_arena_t* arena, leat_backward_t* out_backward) {
  leat_string_view_t scope = leat_string_view_from(options->memory_scope);
  *out_backward = (leat_backward_t){
      .graph = rewrite->graph, .node_count = (int32_t)rewrite->graph->node_count};
  return find(rewrite, scope.size ? scope : LEAT_SV("gradients/"), arena, out_backward);
}

void leat_backward_release(leat_backward_t* backward) {
  leat_readers_deinitialize(&backward->readers);
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
