// The pass "cse" eliminates common subexpressions (section 5.1 of the white paper, which follows
// Click 1995): of several pure nodes with the same op, attributes, requested device, inputs and
// control inputs it keeps one. Clients build such duplicates whenever they call the same layer code
// twice, and gradients when they compute a shape or a mask once for each use.
//
// Nodes are visited in topological order and looked up in a hash table of the nodes that were kept.
// The inputs of a node have then been replaced already, so equal expressions of any depth have
// equal inputs when they are compared, and one visit of each node suffices. The two inputs of a
// commutative op are compared in a canonical order, so that x + y equals y + x. Node names play no
// part. The node that comes later disappears, and everything that read or awaited it has the
// earlier one, so no cycle can arise.
#include <string.h>

#include "optimize/edit.h"

typedef struct cse_s {
  leat_edit_t* edit;
  int32_t* table;    // open addressing; holds 1 + a node, 0 where a slot is free
  uint64_t* hashes;  // by node
  size_t mask;
} cse_t;

// An output as one number, for hashing and for the canonical order.
static uint64_t key(leat_output_t output) {
  return (uint64_t)(uint32_t)output.node << 32 | (uint32_t)output.index;
}

// Two inputs of a commutative op, smaller first.
static void canonical_inputs(const leat_node_t* node, uint64_t out_keys[2]) {
  out_keys[0] = key(node->inputs[0]);
  out_keys[1] = key(node->inputs[1]);
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

// The hash of all that same_node() compares; equal nodes have equal hashes.
static uint64_t node_hash(const leat_node_t* node) {
  uint64_t hash = combine((uint64_t)(uintptr_t)node->op, leat_string_view_hash(node->device));
  for (int i = 0; i < node->attr_count; ++i) {
    hash = combine(hash, leat_attr_value_hash(&node->attrs[i].value));
  }
  int first = 0;
  if (is_commutative(node)) {
    uint64_t keys[2];
    canonical_inputs(node, keys);
    hash = combine(combine(hash, keys[0]), keys[1]);
    first = 2;
  }
  for (int i = first; i < node->input_count + node->control_count; ++i) {
    hash = combine(hash, key(node->inputs[i]));
  }
  return hash;
}

static bool same_inputs(const leat_node_t* a, const leat_node_t* b) {
  if (a->input_count != b->input_count || a->control_count != b->control_count) return false;
  int first = 0;
  if (is_commutative(a)) {
    uint64_t x[2], y[2];
    canonical_inputs(a, x);
    canonical_inputs(b, y);
    if (x[0] != y[0] || x[1] != y[1]) return false;
    first = 2;
  }
  for (int i = first; i < a->input_count + a->control_count; ++i) {
    if (!leat_output_equal(a->inputs[i], b->inputs[i])) return false;
  }
  return true;
}

static bool same_node(const leat_node_t* a, const leat_node_t* b) {
  if (a->op != b->op || a->attr_count != b->attr_count) return false;
  if (!leat_string_view_equal(a->device, b->device) || !same_inputs(a, b)) return false;
  for (int i = 0; i < a->attr_count; ++i) {
    if (!leat_string_view_equal(a->attrs[i].name, b->attrs[i].name)) return false;
    if (!leat_attr_value_equal(&a->attrs[i].value, &b->attrs[i].value)) return false;
  }
  return true;
}

// Replaces node |index| by an equal node that came before, or enters it into the table.
static leat_status_t unite(cse_t* c, int32_t index) {
  const leat_graph_t* graph = c->edit->graph;
  const leat_node_t* node = &graph->nodes[index];
  if (!leat_node_is_pure(graph, node)) return leat_ok_status();
  const uint64_t hash = node_hash(node);
  c->hashes[index] = hash;
  for (size_t at = hash & c->mask;; at = (at + 1) & c->mask) {
    const int32_t other = c->table[at] - 1;
    if (other < 0) {
      c->table[at] = index + 1;
      return leat_ok_status();
    }
    if (c->hashes[other] == hash && same_node(node, &graph->nodes[other])) {
      return leat_edit_replace(c->edit, index, other);
    }
  }
}

static bool has_values(const leat_graph_t* graph) {
  for (size_t i = 0; i < graph->node_count; ++i) {
    if (graph->nodes[i].output_count) return true;
  }
  return false;
}

static leat_status_t cse(leat_edit_t* edit) {
  cse_t c = {.edit = edit};
  const size_t nodes = edit->graph->node_count;
  size_t capacity = 16, count;
  int32_t* order;
  while (capacity < 2 * nodes) capacity *= 2;
  // A power of two, with a free slot at which every search ends.
  LEAT_DCHECK((capacity & (capacity - 1)) == 0 && capacity > nodes);
  c.mask = capacity - 1;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(edit->scratch, nodes + 1, &c.hashes));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(edit->scratch, capacity, &c.table));
  LEAT_RETURN_IF_ERROR(leat_edit_sort(edit, &order, &count));
  for (size_t i = 0; i < count; ++i) LEAT_RETURN_IF_ERROR(unite(&c, order[i]));
  return leat_ok_status();
}

const leat_pass_t leat_pass_cse = {
    .name = "cse",
    .doc = "one node for equal pure computations (§5.1)",
    .after = "fold,arithmetic,dependency",
    .stage = LEAT_PASS_WHOLE,
    .bit = LEAT_PASS_BIT_CSE,
    .option = "common_subgraph_elimination",
    .has_work = has_values,
    .run = cse};
