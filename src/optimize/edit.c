// The edit of a graph (edit.h): lists of uses, ranks and conditions beside the nodes, and the few
// changes that keep them true.
//
// Uses. Every edge has a number; the edges of one node are consecutive, in the order of the node's
// inputs, so that (reader, position) follows from the number and the number from them:
//
//   nodes[7].first_edge = 20     uses[20] reader 7, position 0     uses[21] reader 7, position 1
//   nodes[3].first_use ──▶ uses[20] ──next──▶ uses[45] ──▶ -1      both read node 3
//
// The uses of a source form a doubly linked list through the array, so that an edge moves from one
// source to another in constant time however many readers either has. A node that waits for more
// than there is room for gets a new range of numbers at the end.
//
// Ranks. A node's rank is greater than that of everything it reads or waits for, edges that close
// loops apart. At first the ranks are places in a topological order with wide gaps, and a new node
// takes the least rank that its inputs allow. So a node that replaces another does not come behind
// the readers of that one unless it reads something more; then nodes are raised, as few as in
// Pearce and Kelly's dynamic topological order. A walk that looks for a path need not go below the
// rank of the node where the path would begin.
#include "optimize/edit.h"

#include <string.h>

#include "base/checked.h"

#define RANK_STEP (INT64_C(1) << 24)
#define MAX_VISITS (1 << 16)  // of a walk that may say "perhaps"

// ---- Uses ---------------------------------------------------------------------------------------

static void link_use(leat_edit_t* edit, int32_t use, int32_t source) {
  leat_edit_node_t* node = &edit->nodes[source];
  LEAT_DCHECK(edit->uses[use].previous == LEAT_EDIT_NOT_LINKED && !node->is_gone);
  edit->uses[use].next = node->first_use;
  edit->uses[use].previous = -1;
  if (node->first_use >= 0) edit->uses[node->first_use].previous = use;
  node->first_use = use;
  ++node->use_count;
}

static void unlink_use(leat_edit_t* edit, int32_t use, int32_t source) {
  leat_edit_use_t* item = &edit->uses[use];
  LEAT_DCHECK(item->previous != LEAT_EDIT_NOT_LINKED && edit->nodes[source].use_count > 0);
  if (item->previous >= 0) {
    edit->uses[item->previous].next = item->next;
  } else {
    edit->nodes[source].first_use = item->next;
  }
  if (item->next >= 0) edit->uses[item->next].previous = item->previous;
  item->previous = LEAT_EDIT_NOT_LINKED;
  --edit->nodes[source].use_count;
}

static void link_edges(leat_edit_t* edit, int32_t node) {
  const leat_node_t* n = &edit->graph->nodes[node];
  // From the last to the first, so that a list begins with the lowest position.
  for (int k = leat_node_edge_count(n); k-- > 0;) {
    link_use(edit, edit->nodes[node].first_edge + k, n->inputs[k].node);
  }
}

// |source| has lost a use. Where nobody is left who needs it, it is gone, and so may be what it
// read.
static void release(leat_edit_t* edit, int32_t source) {
  size_t depth = 0;
  edit->stack[depth++] = source;
  while (depth) {
    const int32_t index = edit->stack[--depth];
    leat_edit_node_t* node = &edit->nodes[index];
    if (node->use_count || node->is_kept || node->is_gone) continue;
    node->is_gone = true;
    const leat_node_t* n = &edit->graph->nodes[index];
    for (int k = 0; k < leat_node_edge_count(n); ++k) {
      const int32_t read = n->inputs[k].node;
      unlink_use(edit, node->first_edge + k, read);
      // So each node is pushed once.
      if (!edit->nodes[read].use_count) edit->stack[depth++] = read;
    }
  }
}

// ---- Ranks --------------------------------------------------------------------------------------

static uint32_t begin_walk(leat_edit_t* edit) {
  if (edit->walk++ == LEAT_EDIT_MAX_WALKS) {
    for (size_t i = 0; i < edit->node_count; ++i) edit->nodes[i].walk = 0;
    edit->walk = 1;
  }
  return edit->walk;
}

// Backwards from |to|, through nodes of a rank above that of |from|.
static bool reaches(leat_edit_t* edit, int32_t from, int32_t to, size_t max_visits) {
  const int64_t bottom = edit->nodes[from].rank;
  const uint32_t walk = begin_walk(edit);
  size_t depth = 0, visits = 0;
  if (from == to) return true;
  if (edit->nodes[to].rank <= bottom) return false;
  edit->stack[depth++] = to;
  while (depth) {
    const leat_node_t* node = &edit->graph->nodes[edit->stack[--depth]];
    if (++visits > max_visits) return true;
    for (int k = 0; k < leat_node_edge_count(node); ++k) {
      const int32_t source = node->inputs[k].node;
      leat_edit_node_t* item = &edit->nodes[source];
      if (leat_edge_closes_loop(edit->graph, node, node->inputs[k])) continue;
      if (source == from) return true;
      if (item->walk == walk || item->rank <= bottom) continue;
      item->walk = walk;
      edit->stack[depth++] = source;
    }
  }
  return false;
}

bool leat_edit_reaches(leat_edit_t* edit, int32_t from, int32_t to) {
  return reaches(edit, from, to, MAX_VISITS);
}

// Raises |node| above |rank|, and who reads it above that.
static void raise(leat_edit_t* edit, int32_t node, int64_t rank) {
  size_t depth = 0;
  edit->is_sorted = false;
  edit->nodes[node].rank = rank + 1;
  edit->stack[depth++] = node;
  begin_walk(edit);
  while (depth) {
    const int32_t index = edit->stack[--depth];
    edit->nodes[index].walk = 0;  // is not on the stack any more
    LEAT_EDIT_FOR_EACH_USE(edit, index, u) {
      leat_edit_node_t* reader = &edit->nodes[edit->uses[u].reader];
      const leat_node_t* reading = &edit->graph->nodes[edit->uses[u].reader];
      if (reader->rank > edit->nodes[index].rank ||
          leat_edge_closes_loop(edit->graph, reading, (leat_output_t){index, 0})) {
        continue;
      }
      reader->rank = edit->nodes[index].rank + 1;
      if (reader->walk == edit->walk) continue;
      reader->walk = edit->walk;
      edit->stack[depth++] = edit->uses[u].reader;
    }
  }
}

// A node that is gone is read again, so that it and what it reads are back. What it reads may have
// been raised meanwhile. The nodes that are back are listed from the stack's end downwards, where
// raise() does not come.
static void revive(leat_edit_t* edit, int32_t source) {
  const size_t top = edit->stack_capacity - 1;
  size_t count = 0;
  if (!edit->nodes[source].is_gone) return;
  edit->nodes[source].is_gone = false;
  edit->stack[top - count++] = source;
  for (size_t i = 0; i < count; ++i) {
    const leat_node_t* node = &edit->graph->nodes[edit->stack[top - i]];
    for (int k = 0; k < leat_node_edge_count(node); ++k) {
      leat_edit_node_t* read = &edit->nodes[node->inputs[k].node];
      if (!read->is_gone) continue;
      read->is_gone = false;
      edit->stack[top - count++] = node->inputs[k].node;
    }
  }
  for (size_t i = 0; i < count; ++i) link_edges(edit, edit->stack[top - i]);
  for (size_t i = 0; i < count; ++i) {
    const int32_t index = edit->stack[top - i];
    const leat_node_t* node = &edit->graph->nodes[index];
    for (int k = 0; k < leat_node_edge_count(node); ++k) {
      const int64_t rank = edit->nodes[node->inputs[k].node].rank;
      if (rank < edit->nodes[index].rank) continue;
      if (!leat_edge_closes_loop(edit->graph, node, node->inputs[k])) raise(edit, index, rank);
    }
  }
}

// Prepares an edge from |source| to |reader|. INTERNAL where it would close a cycle.
static leat_status_t order_edge(leat_edit_t* edit, int32_t source, int32_t reader) {
  const leat_node_t* node = &edit->graph->nodes[reader];
  revive(edit, source);
  if (edit->nodes[source].rank < edit->nodes[reader].rank ||
      leat_edge_closes_loop(edit->graph, node, (leat_output_t){source, 0})) {
    return leat_ok_status();
  }
  if (reaches(edit, reader, source, SIZE_MAX)) {
    const leat_node_t* from = &edit->graph->nodes[source];
    release(edit, source);
    return leat_make_status(LEAT_INTERNAL,
                            "Editing the graph failed for node '%.*s' (%.*s): it would read '%.*s' "
                            "(%.*s), which must not depend on it",
                            LEAT_SV_ARG(node->name), LEAT_SV_ARG(node->op->name),
                            LEAT_SV_ARG(from->name), LEAT_SV_ARG(from->op->name));
  }
  raise(edit, reader, edit->nodes[source].rank);
  return leat_ok_status();
}

// ---- From beginning to end ----------------------------------------------------------------------

// Makes room for the nodes that the graph has and one more, and a stack that holds each twice.
static leat_status_t grow_nodes(leat_edit_t* edit) {
  leat_allocator_t* allocator = edit->graph->allocator;
  const size_t count = edit->graph->node_count + 2;
  LEAT_RETURN_IF_ERROR(leat_allocator_grow_array(allocator, count, sizeof *edit->nodes,
                                                 (void**)&edit->nodes, &edit->node_capacity));
  return leat_allocator_grow_array(allocator, 2 * count, sizeof *edit->stack,
                                   (void**)&edit->stack, &edit->stack_capacity);
}

static leat_status_t reserve_edges(leat_edit_t* edit, size_t count) {
  return LEAT_GROW(edit->graph->allocator, edit->use_count + count + 1, &edit->uses,
                   &edit->use_capacity);
}

// Gives node |index| numbers for |room| edges, which were reserved.
static void number_edges(leat_edit_t* edit, int32_t index, int32_t room) {
  LEAT_DCHECK(edit->use_count + (size_t)room <= edit->use_capacity);
  edit->nodes[index].first_edge = (int32_t)edit->use_count;
  for (int32_t k = 0; k < room; ++k) {
    edit->uses[edit->use_count++] = (leat_edit_use_t){index, -1, LEAT_EDIT_NOT_LINKED};
  }
}

// Adds what the edit knows of the graph's last node. The room for it was reserved.
static void add_edit_node(leat_edit_t* edit, int32_t index) {
  const leat_node_t* node = &edit->graph->nodes[index];
  LEAT_DCHECK((size_t)index == edit->node_count && edit->node_count < edit->node_capacity);
  edit->nodes[index] = (leat_edit_node_t){.first_use = -1};
  ++edit->node_count;
  number_edges(edit, index, leat_node_edge_count(node));
  link_edges(edit, index);
  int64_t rank = 0;
  for (int k = 0; k < leat_node_edge_count(node); ++k) {
    if (leat_edge_closes_loop(edit->graph, node, node->inputs[k])) continue;
    rank = LEAT_MAX(rank, edit->nodes[node->inputs[k].node].rank);
  }
  edit->nodes[index].rank = rank + 1;
  edit->is_sorted = false;
}

// Puts all nodes, those that are gone too, in an order in which inputs come first.
static leat_status_t sort(leat_edit_t* edit) {
  if (edit->is_sorted) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(LEAT_GROW(edit->graph->allocator, edit->graph->node_count + 1, &edit->order,
                                 &edit->order_capacity));
  LEAT_RETURN_IF_ERROR(leat_graph_sort(edit->graph, edit->order));
  edit->is_sorted = true;
  return leat_ok_status();
}

static void mark_kept(leat_edit_t* edit) {
  const leat_rewrite_t* rewrite = edit->rewrite;
  for (int i = 0; i < rewrite->fetch_count; ++i) {
    edit->nodes[rewrite->fetches[i].node].is_kept = true;
  }
  for (int i = 0; i < rewrite->target_count; ++i) edit->nodes[rewrite->targets[i]].is_kept = true;
}

// All nodes and edges at once: what add_edit_node does for one. From the last node to the first, so
// that a list begins with the lowest reader.
static void link_graph(leat_edit_t* edit) {
  const size_t count = edit->graph->node_count;
  for (size_t i = 0; i < count; ++i) {
    const int32_t edges = leat_node_edge_count(&edit->graph->nodes[i]);
    edit->nodes[i] =
        (leat_edit_node_t){.first_use = -1, .first_edge = (int32_t)edit->use_count};
    edit->use_count += (size_t)edges;
  }
  edit->node_count = count;
  for (size_t i = count; i-- > 0;) {
    const leat_node_t* node = &edit->graph->nodes[i];
    for (int32_t k = leat_node_edge_count(node); k-- > 0;) {
      const int32_t use = edit->nodes[i].first_edge + k;
      edit->uses[use] = (leat_edit_use_t){(int32_t)i, -1, LEAT_EDIT_NOT_LINKED};
      link_use(edit, use, node->inputs[k].node);
    }
  }
}

static leat_status_t read_graph(leat_edit_t* edit) {
  const size_t count = edit->graph->node_count;
  size_t edges = 0;
  const leat_node_t* nodes = edit->graph->nodes;
  for (size_t i = 0; i < count; ++i) edges += (size_t)leat_node_edge_count(&nodes[i]);
  LEAT_RETURN_IF_ERROR(grow_nodes(edit));
  LEAT_RETURN_IF_ERROR(reserve_edges(edit, edges));
  link_graph(edit);
  LEAT_RETURN_IF_ERROR(sort(edit));
  for (size_t i = 0; i < count; ++i) {
    edit->nodes[edit->order[i]].rank = (int64_t)(i + 1) * RANK_STEP;
  }
  mark_kept(edit);
  return leat_ok_status();
}

leat_status_t leat_edit_initialize(leat_rewrite_t* rewrite, const leat_pass_options_t* options,
                                   leat_edit_t* out_edit) {
  *out_edit = (leat_edit_t){.rewrite = rewrite,
                            .graph = rewrite->graph,
                            .options = options,
                            .first_new = rewrite->graph->node_count};
  out_edit->scratch = &out_edit->pass_arena;
  leat_arena_initialize(rewrite->graph->allocator, 0, &out_edit->pass_arena);
  leat_status_t status = read_graph(out_edit);
  if (status) leat_edit_deinitialize(out_edit);
  return status;
}

void leat_edit_begin_pass(leat_edit_t* edit) {
  leat_arena_deinitialize(&edit->pass_arena);
  leat_arena_initialize(edit->graph->allocator, 0, &edit->pass_arena);
  edit->has_conditions = false;
  edit->first_of_pass = edit->graph->node_count;
}

void leat_edit_drop_unneeded(leat_edit_t* edit, size_t first) {
  for (size_t i = first; i < edit->node_count; ++i) release(edit, (int32_t)i);
}

void leat_edit_deinitialize(leat_edit_t* edit) {
  if (!edit->scratch) return;
  leat_allocator_t* allocator = edit->graph->allocator;
  leat_allocator_free(allocator, edit->nodes);
  leat_allocator_free(allocator, edit->uses);
  leat_allocator_free(allocator, edit->stack);
  leat_allocator_free(allocator, edit->order);
  leat_arena_deinitialize(&edit->pass_arena);
  *edit = (leat_edit_t){0};
}

// ---- Visits and questions -----------------------------------------------------------------------

leat_status_t leat_edit_sort(leat_edit_t* edit, int32_t** out_nodes, size_t* out_count) {
  int32_t* nodes;
  LEAT_RETURN_IF_ERROR(sort(edit));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(edit->scratch, edit->node_count + 1, &nodes));
  *out_count = 0;
  for (size_t i = 0; i < edit->node_count; ++i) {
    if (!edit->nodes[edit->order[i]].is_gone) nodes[(*out_count)++] = edit->order[i];
  }
  *out_nodes = nodes;
  return leat_ok_status();
}

leat_status_t leat_edit_visit(leat_edit_t* edit,
                              leat_status_t (*visit)(leat_edit_t* edit, int32_t node)) {
  int32_t* nodes;
  size_t count;
  const size_t first_new = edit->graph->node_count;
  LEAT_RETURN_IF_ERROR(leat_edit_sort(edit, &nodes, &count));
  for (size_t i = 0; i < count; ++i) {
    if (!edit->nodes[nodes[i]].is_gone) LEAT_RETURN_IF_ERROR(visit(edit, nodes[i]));
  }
  for (size_t i = first_new; i < edit->graph->node_count; ++i) {
    if (!edit->nodes[i].is_gone) LEAT_RETURN_IF_ERROR(visit(edit, (int32_t)i));
  }
  return leat_ok_status();
}

bool leat_edit_find_only_reader(const leat_edit_t* edit, leat_output_t output,
                                leat_reader_t* out_reader) {
  int count = 0;
  for (int i = 0; edit->nodes[output.node].is_kept && i < edit->rewrite->fetch_count; ++i) {
    if (leat_output_equal(edit->rewrite->fetches[i], output)) return false;
  }
  LEAT_EDIT_FOR_EACH_USE(edit, output.node, u) {
    const leat_reader_t reader = leat_edit_reader(edit, u);
    if (leat_edit_is_wait(edit, reader) ||
        edit->graph->nodes[reader.node].inputs[reader.position].index != output.index) {
      continue;
    }
    *out_reader = reader;
    ++count;
  }
  return count == 1;
}

// A node that forwards its input may have got that from a Switch or a Recv.
bool leat_edit_can_pass_waiters(const leat_edit_t* edit, int32_t node) {
  const leat_node_t* n = &edit->graph->nodes[node];
  return !leat_node_forwards(n) && !leat_node_reads_switch_or_recv(edit->graph, n);
}

bool leat_edit_may_vanish(const leat_edit_t* edit, int32_t node) {
  int readers = 0;
  if (edit->nodes[node].is_kept) return false;
  LEAT_EDIT_FOR_EACH_USE(edit, node, u) {
    readers += !leat_edit_is_wait(edit, leat_edit_reader(edit, u));
    if (readers > 1) return false;
  }
  const bool is_waited_for = edit->nodes[node].use_count > 1;
  return readers == 1 && (!is_waited_for || leat_edit_can_pass_waiters(edit, node));
}

leat_status_t leat_edit_find_conditions(leat_edit_t* edit) {
  if (edit->has_conditions) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(sort(edit));
  LEAT_RETURN_IF_ERROR(leat_conditions_find(edit->graph, edit->options, edit->order,
                                            edit->scratch, &edit->conditions));
  edit->has_conditions = true;
  return leat_ok_status();
}

bool leat_edit_comes_with(const leat_edit_t* edit, int32_t a, int32_t b) {
  LEAT_DCHECK(edit->has_conditions);
  return leat_condition_set_equal(edit->conditions.sets[a], edit->conditions.sets[b]);
}

// ---- Changes ------------------------------------------------------------------------------------

leat_status_t leat_edit_add(leat_edit_t* edit, int32_t beside, const char* suffix,
                            leat_node_spec_t* spec, int32_t* out_node) {
  leat_graph_t* graph = edit->graph;
  const int32_t device = graph->nodes[beside].assigned_device;
  for (int i = 0; i < spec->input_count; ++i) revive(edit, spec->inputs[i].node);
  for (int i = 0; i < spec->control_count; ++i) revive(edit, spec->control_inputs[i]);
  spec->device = graph->nodes[beside].device;
  if (!spec->name.size) {
    LEAT_RETURN_IF_ERROR(leat_arena_print(leat_graph_arena(graph), &spec->name, "%.*s%s",
                                          LEAT_SV_ARG(graph->nodes[beside].name), suffix));
    LEAT_RETURN_IF_ERROR(leat_graph_unique_name(graph, spec->name, &spec->name));
  }
  // All room that the edit needs is there before the graph has the node, so that after a failure
  // the two agree on which nodes there are.
  const size_t edges = (size_t)spec->input_count + (size_t)spec->control_count;
  LEAT_RETURN_IF_ERROR(grow_nodes(edit));
  LEAT_RETURN_IF_ERROR(reserve_edges(edit, edges));
  LEAT_RETURN_IF_ERROR(leat_graph_add_node(graph, spec, out_node));
  leat_node_t* node = &graph->nodes[*out_node];
  node->assigned_device = device;
  node->is_gradient = graph->nodes[beside].is_gradient;
  edit->changed = true;
  add_edit_node(edit, *out_node);
  return edit->has_conditions ? leat_conditions_extend(&edit->conditions, *out_node)
                              : leat_ok_status();
}

leat_status_t leat_edit_keep(leat_edit_t* edit, int32_t node) {
  leat_rewrite_t* rewrite = edit->rewrite;
  const size_t count = (size_t)rewrite->target_count;
  if (edit->nodes[node].is_kept) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_allocator_reallocate(
      leat_allocator_system(), (count + 1) * sizeof *rewrite->targets,
      (count + 2) * sizeof *rewrite->targets, (void**)&rewrite->targets));
  rewrite->targets[rewrite->target_count++] = node;
  revive(edit, node);
  edit->nodes[node].is_kept = true;
  edit->changed = true;
  return leat_ok_status();
}

leat_status_t leat_edit_set_input(leat_edit_t* edit, int32_t reader, int position,
                                  leat_output_t source) {
  leat_node_t* node = &edit->graph->nodes[reader];
  LEAT_DCHECK(position >= 0 && position < leat_node_edge_count(node));
  LEAT_DCHECK(!edit->nodes[reader].is_gone);
  leat_output_t* input = &node->inputs[position];
  const int32_t before = input->node, use = edit->nodes[reader].first_edge + position;
  if (position >= node->input_count) source.index = LEAT_CONTROL_INDEX;
  if (leat_output_equal(*input, source)) return leat_ok_status();
  edit->changed = true;
  if (before == source.node) {
    *input = source;
    return leat_ok_status();
  }
  LEAT_RETURN_IF_ERROR(order_edge(edit, source.node, reader));
  unlink_use(edit, use, before);
  *input = source;
  link_use(edit, use, source.node);
  release(edit, before);
  return leat_ok_status();
}

// Gives the node numbers for more edges. They are linked anew.
static leat_status_t move_edges(leat_edit_t* edit, int32_t reader) {
  const leat_node_t* node = &edit->graph->nodes[reader];
  const int32_t room = 2 * leat_node_edge_count(node) + 2;
  LEAT_RETURN_IF_ERROR(reserve_edges(edit, (size_t)room));
  for (int k = 0; k < leat_node_edge_count(node); ++k) {
    unlink_use(edit, edit->nodes[reader].first_edge + k, node->inputs[k].node);
  }
  number_edges(edit, reader, room);
  link_edges(edit, reader);
  return leat_ok_status();
}

leat_status_t leat_edit_set_type(leat_edit_t* edit, int32_t index, const char* attr, int dtype,
                                 const leat_partial_shape_t* shape) {
  leat_node_t* node = &edit->graph->nodes[index];
  leat_arena_t* arena = leat_graph_arena(edit->graph);
  const size_t outputs = (size_t)node->output_count;
  const int before = leat_node_attr_type(node, attr);
  const leat_attr_t type = {leat_string_view_from(attr), {.kind = LEAT_ATTR_TYPE, .type = dtype}};
  uint8_t* types;
  leat_partial_shape_t* shapes;
  // Nodes that are alike share these arrays.
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, outputs, &types));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, outputs, &shapes));
  for (size_t i = 0; i < outputs; ++i) {
    const bool changes = node->output_types[i] == before;
    types[i] = changes ? (uint8_t)dtype : node->output_types[i];
    shapes[i] = changes && shape ? *shape : node->output_shapes[i];
  }
  LEAT_RETURN_IF_ERROR(leat_graph_set_attr(edit->graph, index, &type));
  node->output_types = types;
  node->output_shapes = shapes;
  edit->changed = true;
  return leat_ok_status();
}

leat_status_t leat_edit_add_wait(leat_edit_t* edit, int32_t reader, int32_t source) {
  const int before = leat_node_edge_count(&edit->graph->nodes[reader]);
  LEAT_DCHECK(!edit->nodes[reader].is_gone);
  LEAT_RETURN_IF_ERROR(order_edge(edit, source, reader));
  const size_t use = (size_t)(edit->nodes[reader].first_edge + before);
  const bool is_free = use < edit->use_count && edit->uses[use].reader == reader;
  if (!is_free) LEAT_RETURN_IF_ERROR(move_edges(edit, reader));
  LEAT_RETURN_IF_ERROR(leat_graph_add_control_input(edit->graph, reader, source));
  if (leat_node_edge_count(&edit->graph->nodes[reader]) == before) return leat_ok_status();
  edit->changed = true;
  link_use(edit, edit->nodes[reader].first_edge + before, source);
  return leat_ok_status();
}

leat_status_t leat_edit_set_waits(leat_edit_t* edit, int32_t reader, const int32_t* sources,
                                  int count) {
  leat_node_t* node = &edit->graph->nodes[reader];
  LEAT_DCHECK(count <= node->control_count);
  for (int k = 0; k < count; ++k) {
    LEAT_RETURN_IF_ERROR(leat_edit_set_input(edit, reader, node->input_count + k,
                                             (leat_output_t){sources[k], LEAT_CONTROL_INDEX}));
  }
  while (node->control_count > count) {
    const int last = leat_node_edge_count(node) - 1;
    const int32_t source = node->inputs[last].node;
    unlink_use(edit, edit->nodes[reader].first_edge + last, source);
    --node->control_count;
    edit->changed = true;
    release(edit, source);
  }
  return leat_ok_status();
}

#define SAME_INDEX (-1)  // the output that was read is read

// Puts |by| in the place of |node| among fetches: of output |of| alone, or of all; and of targets.
static void move_fetches(leat_edit_t* edit, int32_t node, int of, leat_output_t by) {
  leat_rewrite_t* rewrite = edit->rewrite;
  bool is_kept = false;
  if (!edit->nodes[node].is_kept) return;
  for (int i = 0; i < rewrite->fetch_count; ++i) {
    leat_output_t* fetch = &rewrite->fetches[i];
    if (fetch->node != node) continue;
    if (of != SAME_INDEX && fetch->index != of) {
      is_kept = true;
      continue;
    }
    fetch->node = by.node;
    if (by.index != SAME_INDEX) fetch->index = by.index;
    edit->nodes[by.node].is_kept = true;
  }
  for (int i = 0; i < rewrite->target_count; ++i) {
    if (rewrite->targets[i] != node) continue;
    is_kept |= of != SAME_INDEX;
    if (of != SAME_INDEX) continue;
    rewrite->targets[i] = by.node;
    edit->nodes[by.node].is_kept = true;
  }
  edit->nodes[node].is_kept = is_kept;
}

// Moves the uses of |node| to |by|: those of output |of|, or all, waiters too. What |by| itself
// reads of the node it goes on reading.
static leat_status_t move_uses(leat_edit_t* edit, int32_t node, int of, leat_output_t by) {
  LEAT_DCHECK(node != by.node);
  revive(edit, by.node);
  edit->changed = true;
  move_fetches(edit, node, of, by);
  LEAT_EDIT_FOR_EACH_USE(edit, node, use) {
    const leat_reader_t reader = leat_edit_reader(edit, use);
    if (reader.node == by.node) continue;
    leat_output_t source = edit->graph->nodes[reader.node].inputs[reader.position];
    if (of != SAME_INDEX && source.index != of) continue;
    source.node = by.node;
    if (by.index != SAME_INDEX) source.index = by.index;
    LEAT_RETURN_IF_ERROR(leat_edit_set_input(edit, reader.node, reader.position, source));
  }
  release(edit, node);
  return leat_ok_status();
}

leat_status_t leat_edit_redirect(leat_edit_t* edit, leat_output_t output, leat_output_t by) {
  return move_uses(edit, output.node, output.index, by);
}

leat_status_t leat_edit_replace(leat_edit_t* edit, int32_t node, int32_t by) {
  return move_uses(edit, node, SAME_INDEX, (leat_output_t){by, SAME_INDEX});
}

leat_status_t leat_edit_replace_by_output(leat_edit_t* edit, int32_t node, leat_output_t by) {
  return move_uses(edit, node, SAME_INDEX, by);
}
