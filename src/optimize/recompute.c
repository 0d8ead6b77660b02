// Recomputation (§5.2: "recomputing a tensor instead of retaining it"): cheap nodes of the forward
// pass whose values the backward pass reads are computed a second time, from what is kept anyway,
// when the backward pass has come so far.
//
//   x ─▶ MatMul ─▶ Sigmoid ─▶ Mul ─▶ ...           x ─▶ MatMul ─▶ Sigmoid ─▶ Mul ─▶ ...
//          │          └────────│──┐                       └──────▶ Sigmoid'─┐
//          └─────────────────▶ Mul_grad ◀─ dy                     ┆    └──▶ Mul_grad ◀─ dy
//                                                                 └┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┘
// Nodes that feed each other are one group, which starts when its first reader's other inputs are
// there: what is late depends on the group, if at all, through later readers, so that no cycle
// closes. A group that would keep more than it gives up stays as it is.
#include "graph/cost/cost.h"
#include "optimize/backward.h"

typedef struct group_s {
  int32_t first_reader;
  int64_t freed_bytes;  // values that the backward pass no longer holds
  int64_t held_bytes;   // and those that it holds instead
} group_t;

typedef struct recompute_s {
  leat_backward_t b;
  leat_rewrite_t* rewrite;
  const leat_pass_options_t* options;
  leat_arena_t* arena;
  int32_t* group;   // node -> parent of a union-find; -1: not computed again
  group_t* groups;  // by root
  int32_t* counted_by;   // node -> 1 + the group that holds it
  int32_t* members_of;   // late node -> the first of those that are copied for it, or -1
  int32_t* next_member;  // and the next
  leat_node_map_t originals, copies;  // to the new graph, as early and as late nodes see it
} recompute_t;

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

// Readers come before what they read, so that what a copy needs is copied with it.
static void find_members(recompute_t* r) {
  const leat_graph_t* graph = r->b.graph;
  for (size_t i = graph->node_count; i-- > 0;) {
    int32_t index = r->b.order[i];
    r->group[index] = -1;
    if (!is_candidate(r, index)) continue;
    bool wanted = r->b.first_reader[index] >= 0;
    for (uint32_t k = r->b.readers.begin[index]; k < r->b.readers.begin[index + 1]; ++k) {
      wanted |= r->group[r->b.readers.readers[k].node] >= 0 &&
                !r->b.late[r->b.readers.readers[k].node];
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

static bool pays(recompute_t* r, int32_t root, leat_output_t* scratch) {
  const group_t* group = &r->groups[root];
  return group->first_reader >= 0 && group->freed_bytes > group->held_bytes &&
         leat_backward_signals(&r->b, group->first_reader, scratch) > 0;
}

// Those of a group that pays are listed with its first reader, each behind what it reads.
static leat_status_t list_members(recompute_t* r, size_t* out_count) {
  size_t count = r->b.graph->node_count, most = 1;
  leat_output_t* scratch;
  for (size_t i = 0; i < count; ++i) {
    const leat_node_t* node = &r->b.graph->nodes[i];
    size_t inputs = (size_t)node->input_count + (size_t)node->control_count;
    if (inputs > most) most = inputs;
  }
  LEAT_RETURN_IF_ERROR(
      leat_arena_allocate_array(r->arena, most, sizeof *scratch, (void**)&scratch));
  for (size_t i = count; i-- > 0;) {
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

// Nodes keep their order, which the executors follow where they may; copies stand before their
// first reader.
static void number_nodes(recompute_t* r) {
  int32_t next = 0;
  for (size_t i = 0; i < r->b.graph->node_count; ++i) {
    for (int32_t m = r->members_of[i]; m >= 0; m = r->next_member[m]) r->copies.nodes[m] = next++;
    r->originals.nodes[i] = next++;
  }
  for (size_t i = 0; i < r->b.graph->node_count; ++i) {
    if (r->copies.nodes[i] < 0) r->copies.nodes[i] = r->originals.nodes[i];
  }
}

// A copy that reads no other waits for the backward pass.
static leat_status_t add_copy(recompute_t* r, leat_graph_t* child, int32_t index, int32_t reader) {
  leat_node_t node = r->b.graph->nodes[index];
  const leat_node_t* late = &r->b.graph->nodes[reader];
  size_t room = (size_t)node.input_count + (size_t)late->input_count + (size_t)late->control_count;
  leat_output_t* inputs;
  bool starts = true;
  LEAT_RETURN_IF_ERROR(
      leat_arena_allocate_array(r->arena, room, sizeof *inputs, (void**)&inputs));
  for (int i = 0; i < node.input_count; ++i) {
    int32_t source = node.inputs[i].node;
    inputs[i] = node.inputs[i];
    starts = starts && r->copies.nodes[source] == r->originals.nodes[source];
  }
  // What waits for others is no candidate, and there is no room for its control inputs.
  LEAT_DCHECK(node.control_count == 0);
  if (starts) {
    node.control_count = leat_backward_signals(&r->b, reader, inputs + node.input_count);
  }
  LEAT_RETURN_IF_ERROR(leat_arena_print(leat_graph_arena(child), &node.name,
                                        "_recomputed/%.*s", LEAT_SV_ARG(node.name)));
  node.inputs = inputs;
  int32_t copy;
  return leat_node_map_copy_node(child, &node, &r->copies, &copy);
}

static leat_status_t add_nodes(recompute_t* r, leat_graph_t* child) {
  for (size_t i = 0; i < r->b.graph->node_count; ++i) {
    for (int32_t m = r->members_of[i]; m >= 0; m = r->next_member[m]) {
      LEAT_RETURN_IF_ERROR(add_copy(r, child, m, (int32_t)i));
    }
    int32_t copy;
    LEAT_RETURN_IF_ERROR(leat_node_map_copy_node(child, &r->b.graph->nodes[i],
                                                r->b.late[i] ? &r->copies : &r->originals, &copy));
  }
  return leat_ok_status();
}

static leat_status_t rebuild(recompute_t* r) {
  leat_graph_t* child;
  number_nodes(r);
  LEAT_RETURN_IF_ERROR(leat_graph_create_child(r->b.graph, &child));
  leat_status_t status = add_nodes(r, child);
  if (status) {
    leat_graph_free(child);
    return status;
  }
  leat_rewrite_replace(r->rewrite, child, &r->originals);
  return leat_rewrite_sweep(r->rewrite);
}

static leat_status_t run(recompute_t* r) {
  size_t count = r->rewrite->graph->node_count, copies = 0;
  int32_t** arrays[] = {&r->group,      &r->counted_by,    &r->next_member,
                        &r->members_of, &r->copies.nodes, &r->originals.nodes};
  LEAT_RETURN_IF_ERROR(leat_backward_find(r->rewrite, r->options, r->arena, &r->b));
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(arrays); ++i) {
    LEAT_RETURN_IF_ERROR(
        leat_arena_allocate_array(r->arena, count + 1, sizeof(int32_t), (void**)arrays[i]));
  }
  LEAT_RETURN_IF_ERROR(
      leat_arena_allocate_array(r->arena, count + 1, sizeof *r->groups, (void**)&r->groups));
  find_members(r);
  for (size_t i = 0; i < count; ++i) {
    r->members_of[i] = r->copies.nodes[i] = r->groups[i].first_reader = -1;
  }
  for (size_t i = 0; i < count; ++i) {
    if (r->group[i] >= 0) weigh_node(r, (int32_t)i);
  }
  LEAT_RETURN_IF_ERROR(list_members(r, &copies));
  return copies ? rebuild(r) : leat_ok_status();
}

static leat_status_t recompute(leat_rewrite_t* rewrite, const leat_pass_options_t* options) {
  leat_arena_t arena;
  leat_arena_initialize(rewrite->graph->allocator, 0, &arena);
  recompute_t r = {.rewrite = rewrite, .options = options, .arena = &arena};
  leat_status_t status = run(&r);
  leat_backward_release(&r.b);
  leat_arena_deinitialize(&arena);
  return status;
}

const leat_pass_t leat_pass_recompute = {
    .name = "recompute",
    .doc = "cheap values are computed again for the backward pass, not kept (§5.2)",
    .bit = LEAT_PASS_BIT_RECOMPUTE,
    .run = recompute};
