// The pass "recompute" (section 5.2 of the white paper: "recomputing a tensor instead of retaining
// it"): a value that the forward pass computes and the backward pass reads occupies memory for most
// of the step. Where computing it is cheap, this pass adds a copy of its node for the backward
// pass, so that the value itself can be released after the forward pass. The copy reads values that
// are in memory anyway.
//
//   x ─▶ MatMul ─▶ Sigmoid ─▶ Mul ─▶ ...           x ─▶ MatMul ─▶ Sigmoid ─▶ Mul ─▶ ...
//          │          └────────│──┐                       └──────▶ Sigmoid'─┐
//          └─────────────────▶ Mul_grad ◀─ dy                     ┆    └──▶ Mul_grad ◀─ dy
//                                                                 └┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┘
// The copies must not run with the forward pass, or nothing would be saved. Nodes that feed each
// other form a group, and the copies of a group wait, by control edges, for the late inputs of the
// first node of the backward pass that reads the group. This closes no cycle: those inputs come
// before the first reader in the order of backward.h, and every other reader of the group comes
// after it.
//
// A group whose copies would keep more bytes in memory, as their inputs, than they release is left
// alone. Only pure nodes that are marked as cheap are copied, or those that the client has marked
// where the options say so. The pass runs before placement, after the other passes over the whole
// graph, since "cse" would merge copies with their originals again.
#include "graph/cost/cost.h"
#include "optimize/backward.h"

typedef struct group_s {
  int32_t first_reader;  // the first late node in order that reads a member; -1: none yet
  int64_t freed_bytes;   // the size of values that need no longer be kept for the backward pass
  int64_t held_bytes;    // the size of inputs that must be kept for the copies instead
} group_t;

typedef struct recompute_s {
  leat_backward_t b;
  leat_edit_t* edit;
  const leat_pass_options_t* options;
  int32_t* group;   // node -> its parent in a union-find; -1: the node is no member
  group_t* groups;  // by root
  int32_t* counted_by;   // node -> 1 + the group in whose held bytes it was last counted
  int32_t* members_of;   // late node -> the first member that is copied for it; -1: none
  int32_t* next_member;  // member -> the next one of the same late node; -1: none
  int32_t* copies;       // node -> its copy; -1: it is not copied
} recompute_t;

// Whether the node may be computed a second time.
static bool is_candidate(const recompute_t* r, int32_t index) {
  const leat_node_t* node = &r->b.graph->nodes[index];
  if (r->b.late[index] || r->b.conditional[index] || r->b.kept[index] || node->control_count ||
      !leat_node_is_pure(r->b.graph, node) || !node->input_count) {
    return false;
  }
  if (r->options->memory_by_hand) {
    return leat_node_attr(node, LEAT_SV("_recompute_hint")) != NULL;
  }
  return node->op->flags & LEAT_OP_CHEAP;
}

static int32_t root_of(recompute_t* r, int32_t node) {
  LEAT_DCHECK(node >= 0 && r->group[node] >= 0);
  while (r->group[node] != node) {
    r->group[node] = r->group[r->group[node]];
    node = r->group[node];
  }
  return node;
}

// Finds the members and unites those that feed each other. Visits readers before what they read, so
// that a candidate which only another member reads is found too.
static void find_members(recompute_t* r) {
  const leat_graph_t* graph = r->b.graph;
  for (size_t i = r->b.order_count; i-- > 0;) {
    int32_t index = r->b.order[i];
    if (!is_candidate(r, index)) continue;
    bool wanted = r->b.first_reader[index] >= 0;
    LEAT_EDIT_FOR_EACH_USE(r->edit, index, use) {
      const int32_t reader = leat_edit_reader(r->edit, use).node;
      wanted |= r->group[reader] >= 0 && !r->b.late[reader];
    }
    if (wanted) r->group[index] = index;
  }
  for (size_t i = 0; i < graph->node_count; ++i) {
    if (r->group[i] < 0) continue;
    const leat_node_t* node = &graph->nodes[i];
    for (int k = 0; k < node->input_count; ++k) {
      if (r->group[node->inputs[k].node] < 0) continue;
      LEAT_DCHECK(!r->b.late[node->inputs[k].node]);
      r->group[root_of(r, node->inputs[k].node)] = root_of(r, (int32_t)i);
    }
  }
}

// Adds to the node's group the bytes that copying the node frees and holds.
static void weigh_node(recompute_t* r, int32_t index) {
  const leat_graph_t* graph = r->b.graph;
  const leat_node_t* node = &graph->nodes[index];
  int32_t root = root_of(r, index), reader = r->b.first_reader[index];
  group_t* group = &r->groups[root];
  if (reader >= 0) {
    for (int i = 0; i < node->output_count; ++i) {
      group->freed_bytes += leat_cost_output_bytes(NULL, graph, (leat_output_t){index, i});
    }
    bool first = group->first_reader < 0 ||
                 r->b.place[reader] < r->b.place[group->first_reader];
    if (first) group->first_reader = reader;
  }
  for (int i = 0; i < node->input_count; ++i) {
    int32_t source = node->inputs[i].node;
    bool held = r->group[source] >= 0 || r->b.kept[source] ||
                r->b.first_reader[source] >= 0 ||
                r->counted_by[source] == root + 1;
    if (held) continue;
    r->counted_by[source] = root + 1;
    LEAT_DCHECK(node->inputs[i].index >= 0);
    group->held_bytes += leat_cost_output_bytes(NULL, graph, node->inputs[i]);
  }
}

// Whether copying the group saves memory, and there is something for the copies to wait for.
static bool pays(recompute_t* r, int32_t root, leat_output_t* scratch) {
  const group_t* group = &r->groups[root];
  return group->first_reader >= 0 && group->freed_bytes > group->held_bytes &&
         leat_backward_signals(&r->b, group->first_reader, scratch) > 0;
}

// Lists the members of each group that pays at its first reader, in topological order.
static leat_status_t list_members(recompute_t* r, size_t* out_count) {
  size_t count = r->b.graph->node_count, most = 1;
  leat_output_t* scratch;
  for (size_t i = 0; i < count; ++i) {
    const leat_node_t* node = &r->b.graph->nodes[i];
    size_t inputs = (size_t)node->input_count + (size_t)node->control_count;
    if (inputs > most) most = inputs;
  }
  LEAT_RETURN_IF_ERROR(LEAT_NEW(r->edit->scratch, most, &scratch));
  for (size_t i = r->b.order_count; i-- > 0;) {
    int32_t index = r->b.order[i];
    if (r->group[index] < 0) continue;
    int32_t root = root_of(r, index), reader = r->groups[root].first_reader;
    if (!pays(r, root, scratch)) continue;
    LEAT_DCHECK(reader >= 0 && r->b.late[reader]);
    r->next_member[index] = r->members_of[reader];
    r->members_of[reader] = index;
    ++*out_count;
  }
  return leat_ok_status();
}

// Lists the inputs of the copy of node |index|: copies where there are any. |*out_starts| tells
// whether there are none, so that the copy begins its group.
static leat_status_t list_inputs(const recompute_t* r, int32_t index, leat_output_t** out_inputs,
                                 bool* out_starts) {
  const leat_node_t* node = leat_edit_node(r->edit, index);
  LEAT_RETURN_IF_ERROR(LEAT_NEW(r->edit->scratch, (size_t)node->input_count + 1, out_inputs));
  *out_starts = true;
  for (int i = 0; i < node->input_count; ++i) {
    leat_output_t input = node->inputs[i];
    const int32_t copy = r->copies[input.node];
    if (copy >= 0) input.node = copy;
    *out_starts &= copy < 0;
    (*out_inputs)[i] = input;
  }
  return leat_ok_status();
}

// Adds the copy of node |index|. A copy that reads no other copy waits for the backward pass, and
// the others follow from it.
static leat_status_t add_copy(recompute_t* r, int32_t index, int32_t reader) {
  const leat_node_t* node = leat_edit_node(r->edit, index);
  const leat_node_t* late = leat_edit_node(r->edit, reader);
  const size_t room = (size_t)late->input_count + (size_t)late->control_count + 1;
  leat_output_t *inputs, *signals;
  leat_waits_t waits = {0};
  bool starts;
  LEAT_RETURN_IF_ERROR(list_inputs(r, index, &inputs, &starts));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(r->edit->scratch, room, &signals));
  const int signal_count = starts ? leat_backward_signals(&r->b, reader, signals) : 0;
  for (int i = 0; i < signal_count; ++i) {
    LEAT_RETURN_IF_ERROR(leat_waits_add(r->edit, signals[i].node, &waits));
  }
  // A node with control inputs is no candidate.
  LEAT_DCHECK(node->control_count == 0);
  leat_node_spec_t spec = {.op = node->op,
                           .attrs = node->attrs,
                           .attr_count = node->attr_count,
                           .inputs = inputs,
                           .input_count = node->input_count,
                           .control_inputs = waits.nodes,
                           .control_count = waits.count};
  LEAT_RETURN_IF_ERROR(leat_arena_print(leat_graph_arena(r->edit->graph), &spec.name,
                                        "_recomputed/%.*s", LEAT_SV_ARG(node->name)));
  LEAT_RETURN_IF_ERROR(leat_edit_add(r->edit, index, "", &spec, &r->copies[index]));
  node = leat_edit_node(r->edit, index);
  for (int i = 0; i < node->output_count; ++i) {
    LEAT_RETURN_IF_ERROR(leat_graph_refine_shape(
        r->edit->graph, (leat_output_t){r->copies[index], i}, node->output_shapes[i]));
  }
  return leat_ok_status();
}

// Copies the members of each group that pays, and makes the backward pass read the copies. A node
// that only waits for a member goes on waiting for the member itself.
static leat_status_t copy_members(recompute_t* r) {
  const int32_t count = r->b.node_count;
  for (int32_t i = 0; i < count; ++i) {
    for (int32_t m = r->members_of[i]; m >= 0; m = r->next_member[m]) {
      LEAT_RETURN_IF_ERROR(add_copy(r, m, i));
    }
  }
  for (int32_t i = 0; i < count; ++i) {
    if (!r->b.late[i] || leat_edit_is_gone(r->edit, i)) continue;
    for (int k = 0; k < leat_edit_node(r->edit, i)->input_count; ++k) {
      const leat_output_t input = leat_edit_node(r->edit, i)->inputs[k];
      if (input.node >= count || r->copies[input.node] < 0) continue;
      LEAT_RETURN_IF_ERROR(leat_edit_set_input(
          r->edit, i, k, (leat_output_t){r->copies[input.node], input.index}));
    }
  }
  return leat_ok_status();
}

static leat_status_t run(recompute_t* r) {
  const size_t count = r->edit->graph->node_count;
  size_t copies = 0;
  int32_t** arrays[] = {&r->group, &r->counted_by, &r->next_member, &r->members_of, &r->copies};
  LEAT_RETURN_IF_ERROR(leat_backward_find(r->edit, &r->b));
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(arrays); ++i) {
    LEAT_RETURN_IF_ERROR(LEAT_NEW(r->edit->scratch, count + 1, arrays[i]));
  }
  LEAT_RETURN_IF_ERROR(LEAT_NEW(r->edit->scratch, count + 1, &r->groups));
  for (size_t i = 0; i < count; ++i) {
    r->group[i] = r->members_of[i] = r->copies[i] = r->groups[i].first_reader = -1;
  }
  find_members(r);
  for (size_t i = 0; i < count; ++i) {
    if (r->group[i] >= 0) weigh_node(r, (int32_t)i);
  }
  LEAT_RETURN_IF_ERROR(list_members(r, &copies));
  return copies ? copy_members(r) : leat_ok_status();
}

static leat_status_t recompute(leat_edit_t* edit) {
  recompute_t r = {.edit = edit, .options = edit->options};
  return run(&r);
}

const leat_pass_t leat_pass_recompute = {
    .name = "recompute",
    .doc = "cheap values are computed again for the backward pass, not kept (§5.2)",
    .after = "fold,arithmetic,dependency,cse",
    .stage = LEAT_PASS_WHOLE,
    .bit = LEAT_PASS_BIT_RECOMPUTE,
    .run = recompute};
