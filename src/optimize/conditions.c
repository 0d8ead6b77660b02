// Finds for each node the set of conditions on which it depends whether and when its value appears
// (conditions.h). A set is the union of the sets of all nodes that the node reads or awaits, and of
// the conditions that its edges add. So one visit in topological order suffices.
//
// A condition is a 64-bit symbol, and these make one: a side of a Switch, named by the predicate,
// so that everything which one predicate switches has the same condition; an edge from another
// device, since the value comes when the transfer is done; a node that decides by itself when it
// appears, such as a Merge, a loop's Enter, NextIteration and Exit, a Recv, a call, or a node whose
// kernel is asynchronous.
//
// Sets are small, sorted arrays, and equal sets are shared with an input where possible, so that
// comparing them is usually comparing two pointers. A set that grows beyond MAX_CONDITIONS becomes
// the node itself: two such nodes count as different, and a pass merely merges less than it could.
#include "optimize/conditions.h"

#include <string.h>

#define MAX_CONDITIONS 8

bool leat_condition_set_equal(leat_condition_set_t a, leat_condition_set_t b) {
  return a.count == b.count &&
         (a.items == b.items || memcmp(a.items, b.items, (size_t)a.count * sizeof *a.items) == 0);
}

// The condition that only the node itself decides.
static uint64_t node_symbol(int32_t node) { return (uint64_t)(uint32_t)node << 32; }
static uint64_t side_symbol(leat_output_t predicate, int side) {
  // Symbols of two sides differ.
  LEAT_DCHECK(side == 0 || side == 1);
  LEAT_DCHECK(predicate.index >= 0 && predicate.index < 0xffff);
  return node_symbol(predicate.node) | (uint64_t)(predicate.index + 1) << 16 | (uint64_t)side;
}

// Whether the node itself decides whether or when its value appears.
static bool is_condition(const leat_conditions_t* c, const leat_node_t* node) {
  const uint32_t flags = node->op->flags;
  if (flags & (LEAT_OP_MERGE | LEAT_OP_EXIT | LEAT_OP_NEXT_ITERATION | LEAT_OP_RECV |
               LEAT_OP_CALLS)) {
    return true;
  }
  if (flags & LEAT_OP_ENTER) return !leat_node_attr_bool(node, "is_constant", false);
  if (!(flags & LEAT_OP_STATEFUL)) return false;
  const leat_kernel_row_t* kernel = leat_node_kernel(node, c->options);
  return !kernel || kernel->compute_async;
}

// Inserts |symbol| into the sorted |items|. False where there is no room.
static bool add(uint64_t symbol, uint64_t* items, int* inout_count) {
  LEAT_DCHECK(*inout_count >= 0 && *inout_count <= MAX_CONDITIONS);
  int place = *inout_count;
  while (place > 0 && items[place - 1] > symbol) --place;
  if (place > 0 && items[place - 1] == symbol) return true;
  if (*inout_count == MAX_CONDITIONS) return false;
  memmove(items + place + 1, items + place, (size_t)(*inout_count - place) * sizeof *items);
  items[place] = symbol;
  ++*inout_count;
  return true;
}

// Inserts the conditions of |source| and those that the edge itself adds.
static bool add_edge(const leat_conditions_t* c, const leat_node_t* reader, leat_output_t source,
                     bool is_control, uint64_t* items, int* inout_count) {
  const leat_node_t* node = &c->graph->nodes[source.node];
  const leat_condition_set_t set = c->sets[source.node];
  for (int i = 0; i < set.count; ++i) {
    if (!add(set.items[i], items, inout_count)) return false;
  }
  if (!is_control && (node->op->flags & LEAT_OP_SWITCH) && node->input_count > 1 &&
      !add(side_symbol(node->inputs[1], source.index), items, inout_count)) {
    return false;
  }
  return node->assigned_device == reader->assigned_device ||
         add(node_symbol(source.node), items, inout_count);
}

// Stores the set of node |index|. |items| lie on the stack: where an input has the same set, that
// is shared, else the items are copied into the arena.
static leat_status_t keep(leat_conditions_t* c, int32_t index, const uint64_t* items, int count) {
  const leat_node_t* node = &c->graph->nodes[index];
  leat_condition_set_t* set = &c->sets[index];
  // Sets are sorted, so that equal ones are equal item by item.
  LEAT_DCHECK(count == 0 || items[0] <= items[count - 1]);
  *set = (leat_condition_set_t){count, items};
  for (int i = 0; i < node->input_count; ++i) {
    const leat_condition_set_t other = c->sets[node->inputs[i].node];
    if (!leat_condition_set_equal(*set, other)) continue;
    *set = other;
    return leat_ok_status();
  }
  uint64_t* copy;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(c->arena, (size_t)count + 1, &copy));
  memcpy(copy, items, (size_t)count * sizeof *copy);
  set->items = copy;
  return leat_ok_status();
}

// Finds the set of node |index|, whose inputs have theirs.
static leat_status_t find(leat_conditions_t* c, int32_t index) {
  const leat_node_t* node = &c->graph->nodes[index];
  uint64_t items[MAX_CONDITIONS];
  int count = 0;
  bool fits = !is_condition(c, node);
  for (int i = 0; fits && i < node->input_count + node->control_count; ++i) {
    fits = add_edge(c, node, node->inputs[i], i >= node->input_count, items, &count);
  }
  if (!fits) {
    items[0] = node_symbol(index);
    count = 1;
  }
  return keep(c, index, items, count);
}

leat_status_t leat_conditions_find(const leat_graph_t* graph, const leat_pass_options_t* options,
                                   const int32_t* order, leat_arena_t* arena,
                                   leat_conditions_t* out_conditions) {
  LEAT_DCHECK(options->find_kernel);
  *out_conditions = (leat_conditions_t){
      .graph = graph, .options = options, .arena = arena, .capacity = graph->node_count + 1};
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, out_conditions->capacity, &out_conditions->sets));
  for (size_t i = 0; i < graph->node_count; ++i) {
    LEAT_RETURN_IF_ERROR(find(out_conditions, order[i]));
  }
  return leat_ok_status();
}

leat_status_t leat_conditions_extend(leat_conditions_t* conditions, int32_t node) {
  leat_condition_set_t* sets;
  if ((size_t)node >= conditions->capacity) {
    const size_t capacity = 2 * (size_t)node + 2;
    LEAT_RETURN_IF_ERROR(LEAT_NEW(conditions->arena, capacity, &sets));
    memcpy(sets, conditions->sets, conditions->capacity * sizeof *sets);
    conditions->sets = sets;
    conditions->capacity = capacity;
  }
  return find(conditions, node);
}
