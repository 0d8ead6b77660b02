// Common subexpressions (§5.1, after Click 1995): two pure nodes with the same op, attributes,
// device and inputs are one. Inputs of commutative ops are compared in a canonical order.
#include <string.h>

#include "optimize/pass.h"

typedef struct cse_s {
  const leat_graph_t* graph;
  int32_t* order;
  int32_t* same_as;  // node -> the node that stands for it (itself mostly)
  int32_t* table;    // open addressing: node + 1
  uint64_t* hashes;  // by node
  size_t mask;
  size_t merged;
} cse_t;

static leat_output_t representative(const cse_t* c, leat_output_t output) {
  // Inputs come first, so that what a node reads has its representative, which stands for itself.
  LEAT_DCHECK((size_t)output.node < c->graph->node_count);
  LEAT_DCHECK(c->same_as[c->same_as[output.node]] == c->same_as[output.node]);
  return (leat_output_t){c->same_as[output.node], output.index};
}

static uint64_t key(leat_output_t output) {
  return (uint64_t)(uint32_t)output.node << 32 | (uint32_t)output.index;
}

// Two inputs of a commutative op, smaller first.
static void canonical_inputs(const cse_t* c, const leat_node_t* node, uint64_t out_keys[2]) {
  out_keys[0] = key(representative(c, node->inputs[0]));
  out_keys[1] = key(representative(c, node->inputs[1]));
  if (out_keys[0] > out_keys[1]) {
    uint64_t swap = out_keys[0];
    out_keys[0] = out_keys[1];
    out_keys[1] = swap;
  }
}

static bool is_commutative(const leat_node_t* node) {
  return (node->op->flags & LEAT_OP_COMMUTATIVE) && node->input_count == 2;
}

static uint64_t combine(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
  return hash ^ hash >> 31;
}

static uint64_t node_hash(const cse_t* c, const leat_node_t* node) {
  uint64_t hash = combine((uint64_t)(uintptr_t)node->op, leat_string_view_hash(node->device));
  for (int i = 0; i < node->attr_count; ++i) {
    hash = combine(hash, leat_attr_value_hash(&node->attrs[i].value));
  }
  int first = 0;
  if (is_commutative(node)) {
    uint64_t keys[2];
    canonical_inputs(c, node, keys);
    hash = combine(combine(hash, keys[0]), keys[1]);
    first = 2;
  }
  for (int i = first; i < node->input_count + node->control_count; ++i) {
    hash = combine(hash, key(representative(c, node->inputs[i])));
  }
  return hash;
}

static bool same_inputs(const cse_t* c, const leat_node_t* a, const leat_node_t* b) {
  if (a->input_count != b->input_count || a->control_count != b->control_count) return false;
  int first = 0;
  if (is_commutative(a)) {
    uint64_t x[2], y[2];
    canonical_inputs(c, a, x);
    canonical_inputs(c, b, y);
    if (x[0] != y[0] || x[1] != y[1]) return false;
    first = 2;
  }
  for (int i = first; i < a->input_count + a->control_count; ++i) {
    if (key(representative(c, a->inputs[i])) != key(representative(c, b->inputs[i]))) return false;
  }
  return true;
}

static bool same_node(const cse_t* c, const leat_node_t* a, const leat_node_t* b) {
  if (a->op != b->op || a->attr_count != b->attr_count) return false;
  if (!leat_string_view_equal(a->device, b->device) || !same_inputs(c, a, b)) return false;
  for (int i = 0; i < a->attr_count; ++i) {
    if (!leat_string_view_equal(a->attrs[i].name, b->attrs[i].name)) return false;
    if (!leat_attr_value_equal(&a->attrs[i].value, &b->attrs[i].value)) return false;
  }
  return true;
}

static void find_same(cse_t* c, int32_t index) {
  LEAT_DCHECK(c->same_as[index] == index);
  const leat_node_t* node = &c->graph->nodes[index];
  if (!leat_node_is_pure(c->graph, node)) return;
  uint64_t hash = node_hash(c, node);
  c->hashes[index] = hash;
  for (size_t at = hash & c->mask;; at = (at + 1) & c->mask) {
    int32_t other = c->table[at] - 1;
    if (other < 0) {
      c->table[at] = index + 1;
      return;
    }
    if (c->hashes[other] == hash && same_node(c, node, &c->graph->nodes[other])) {
      LEAT_DCHECK(c->same_as[other] == other);
      c->same_as[index] = other;
      ++c->merged;
      return;
    }
  }
}

// The new graph holds the representatives in their old order.
static leat_status_t rebuild(const cse_t* c, leat_rewrite_t* rewrite, leat_arena_t* arena) {
  size_t count = c->graph->node_count;
  leat_node_map_t map = {0};
  LEAT_RETURN_IF_ERROR(
      leat_arena_allocate_array(arena, count, sizeof(int32_t), (void**)&map.nodes));
  int32_t next = 0;
  for (size_t i = 0; i < count; ++i) {
    if (c->same_as[i] == (int32_t)i) map.nodes[i] = next++;
  }
  for (size_t i = 0; i < count; ++i) map.nodes[i] = map.nodes[c->same_as[i]];
  LEAT_DCHECK(next + (int32_t)c->merged == (int32_t)count);
  leat_graph_t* child;
  LEAT_RETURN_IF_ERROR(leat_graph_create_child(c->graph, &child));
  for (size_t i = 0; i < count; ++i) {
    if (c->same_as[i] != (int32_t)i) continue;
    int32_t copy;
    leat_status_t status = leat_node_map_copy_node(child, &c->graph->nodes[i], &map, &copy);
    if (status) {
      leat_graph_free(child);
      return status;
    }
  }
  leat_rewrite_replace(rewrite, child, &map);
  return leat_ok_status();
}

static leat_status_t run(leat_rewrite_t* rewrite, leat_arena_t* arena) {
  cse_t c = {.graph = rewrite->graph};
  size_t count = c.graph->node_count;
  size_t capacity = 16;
  while (capacity < 2 * count) capacity *= 2;
  // A power of two, with a free slot at which every search ends.
  LEAT_DCHECK((capacity & (capacity - 1)) == 0 && capacity > count);
  c.mask = capacity - 1;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(arena, count + 1, 4, (void**)&c.order));
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(arena, count + 1, 4, (void**)&c.same_as));
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(arena, count + 1, 8, (void**)&c.hashes));
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(arena, capacity, 4, (void**)&c.table));
  LEAT_RETURN_IF_ERROR(leat_graph_sort(c.graph, c.order));
  for (size_t i = 0; i < count; ++i) c.same_as[i] = (int32_t)i;
  for (size_t i = 0; i < count; ++i) find_same(&c, c.order[i]);
  return c.merged ? rebuild(&c, rewrite, arena) : leat_ok_status();
}

static leat_status_t cse(leat_rewrite_t* rewrite, const leat_pass_options_t* options) {
  (void)options;
  leat_arena_t arena;
  leat_arena_initialize(rewrite->graph->allocator, 0, &arena);
  leat_status_t status = run(rewrite, &arena);
  leat_arena_deinitialize(&arena);
  return status;
}

const leat_pass_t leat_pass_cse = {
    .name = "cse",
    .doc = "one node for equal pure computations (§5.1)",
    .bit = LEAT_PASS_BIT_CSE,
    .run = cse};
