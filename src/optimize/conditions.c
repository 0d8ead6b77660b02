// Conditions follow the edges. What begins one: a side of a Switch, named by what decides, so that
// all that one predicate switches has one condition; a Merge, a loop's entry, turn and exit; a node
// whose kernel is asynchronous; a value that comes from another device.
#include "optimize/conditions.h"

#include <string.h>

#define MAX_CONDITIONS 8

bool leat_condition_set_equal(leat_condition_set_t a, leat_condition_set_t b) {
  return a.count == b.count &&
         (a.items == b.items || memcmp(a.items, b.items, (size_t)a.count * sizeof *a.items) == 0);
}

static uint64_t node_symbol(int32_t node) { return (uint64_t)(uint32_t)node << 32; }
static uint64_t side_symbol(leat_output_t predicate, int side) {
  // Symbols of two sides differ.
  LEAT_DCHECK(side == 0 || side == 1);
  LEAT_DCHECK(predicate.index >= 0 && predicate.index < 0xffff);
  return node_symbol(predicate.node) | (uint64_t)(predicate.index + 1) << 16 | (uint64_t)side;
}

// Does the node itself decide whether or when its value comes?
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

// False: there is no room.
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

// The set of |node| on the stack; as one of an input's where that is the same, else kept.
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
