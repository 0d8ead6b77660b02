// The pass "dependency": removes control edges that order nothing, and computations whose values
// nobody reads although other nodes wait for them. A control edge means that the effects of one
// node come before another node. The pass keeps every such order: if a node with an effect, or one
// that reads state, came before a waiting node, it still does. Only the pure nodes on the way are
// taken out. Gradients produce many such edges, because each gradient waits for its whole group.
//
// 1. A pure node whose values nobody reads, but for which somebody waits, becomes a NoOp that waits
//    for the node's inputs:
//      a ─▶ MatMul ┄┄▶ group ┄┄▶ update        a ┄┄▶ NoOp ┄┄▶ group ┄┄▶ update
// 2. A node that waits for a NoOp, which waits for a single node, waits for that node instead.
// 3. A node does not wait for what exists from the start of a step (a constant, an argument), for
//    the same node twice, or for a node whose value it reads.
//
// A node that reads a Switch is not touched by the first rule: the NoOp would wait for the Switch,
// and a control edge cannot say which of its outputs is alive. Nor is one that reads a Recv, which
// may bring a dead value. The pass runs before placement, so that the control edges which it
// removes cost no messages between devices.
#include <string.h>

#include "optimize/edit.h"

#define NOTHING (-2)  // in |alias|: the node exists from the start, so nobody has to wait for it

typedef struct dependency_s {
  leat_edit_t* edit;
  const leat_op_t* no_op;
  int32_t* nodes;  // in topological order
  size_t count;
  int32_t* alias;    // node -> the node to wait for instead of it, or NOTHING; -1: itself
  int32_t* seen;     // source -> 1 + the node last found to read it or wait for it
  int32_t* sources;  // the control inputs that one node keeps
} dependency_t;

// ---- 1: values that nobody reads ----------------------------------------------------------------

// Whether the node is pure, and all edges that leave it are control edges.
static bool is_only_waited_for(const leat_edit_t* edit, int32_t index) {
  const leat_node_t* node = leat_edit_node(edit, index);
  if (leat_edit_is_kept(edit, index) || !leat_node_is_pure(edit->graph, node) ||
      leat_node_reads_switch_or_recv(edit->graph, node)) {
    return false;
  }
  LEAT_EDIT_FOR_EACH_USE(edit, index, use) {
    if (!leat_edit_is_wait(edit, leat_edit_reader(edit, use))) return false;
  }
  return true;
}

// Takes out the nodes whose values nobody reads. Visits readers before what they read, so that a
// whole chain of such nodes disappears in one go.
static leat_status_t drop_work(dependency_t* d) {
  for (size_t i = d->count; i-- > 0;) {
    if (leat_edit_is_gone(d->edit, d->nodes[i]) || !is_only_waited_for(d->edit, d->nodes[i])) {
      continue;
    }
    LEAT_RETURN_IF_ERROR(leat_edit_pass_waiters(d->edit, d->nodes[i]));
  }
  return leat_ok_status();
}

// ---- 2, 3: control edges that order nothing -----------------------------------------------------

// Notes for which node the others should wait in the place of node |index|.
static void find_alias(dependency_t* d, int32_t index) {
  const leat_node_t* node = leat_edit_node(d->edit, index);
  const int inputs = node->input_count + node->control_count;
  const bool does_nothing = node->op == d->no_op;
  d->alias[index] = -1;
  if (inputs == 0 &&
      (does_nothing || (node->op->flags & (LEAT_OP_CONSTANT | LEAT_OP_ARGUMENT)))) {
    d->alias[index] = NOTHING;
  } else if (does_nothing && inputs == 1) {
    d->alias[index] = node->inputs[0].node;
  }
}

// Follows |alias| to its end, and halves the path so that the next walk is shorter.
static int32_t resolve(dependency_t* d, int32_t node) {
  while (node >= 0 && d->alias[node] != -1) {
    int32_t* next = &d->alias[node];
    if (*next >= 0 && d->alias[*next] != -1) *next = d->alias[*next];
    node = *next;
  }
  return node;
}

// Removes the control inputs of node |index| that order nothing.
static leat_status_t clean_node(dependency_t* d, int32_t index) {
  const leat_node_t* node = leat_edit_node(d->edit, index);
  const leat_output_t* controls = node->inputs + node->input_count;
  int kept = 0;
  bool changes = false;
  for (int k = 0; k < node->input_count; ++k) d->seen[node->inputs[k].node] = index + 1;
  for (int k = 0; k < node->control_count; ++k) {
    const int32_t source = resolve(d, controls[k].node);
    changes |= source != controls[k].node;
    if (source < 0 || d->seen[source] == index + 1) continue;
    d->seen[source] = index + 1;
    d->sources[kept++] = source;
  }
  return changes || kept != node->control_count
             ? leat_edit_set_waits(d->edit, index, d->sources, kept)
             : leat_ok_status();
}

static leat_status_t clean_edges(dependency_t* d) {
  const size_t nodes = d->edit->graph->node_count + 1;
  leat_arena_t* arena = d->edit->scratch;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, nodes, &d->alias));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, nodes, &d->seen));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, nodes, &d->sources));
  for (size_t i = 0; i < d->count; ++i) find_alias(d, d->nodes[i]);
  // Readers first: what only a cleaned node waited for is gone, and need not be cleaned.
  for (size_t i = d->count; i-- > 0;) {
    if (leat_edit_is_gone(d->edit, d->nodes[i]) ||
        !leat_edit_node(d->edit, d->nodes[i])->control_count) {
      continue;
    }
    LEAT_RETURN_IF_ERROR(clean_node(d, d->nodes[i]));
  }
  return leat_ok_status();
}

static bool has_waits(const leat_graph_t* graph) {
  for (size_t i = 0; i < graph->node_count; ++i) {
    if (graph->nodes[i].control_count) return true;
  }
  return false;
}

static leat_status_t dependency(leat_edit_t* edit) {
  dependency_t d = {.edit = edit};
  LEAT_RETURN_IF_ERROR(leat_op_registry_find(edit->graph->ops, LEAT_OP_NAME_NO_OP, &d.no_op));
  const size_t before = edit->graph->node_count;
  LEAT_RETURN_IF_ERROR(leat_edit_sort(edit, &d.nodes, &d.count));
  LEAT_RETURN_IF_ERROR(drop_work(&d));
  // Whatever it changed, it added a NoOp.
  if (edit->graph->node_count != before) {
    LEAT_RETURN_IF_ERROR(leat_edit_sort(edit, &d.nodes, &d.count));
  }
  return clean_edges(&d);
}

const leat_pass_t leat_pass_dependency = {
    .name = "dependency",
    .doc = "nobody waits for what need not be waited for",
    .after = "fold,arithmetic",
    .stage = LEAT_PASS_WHOLE,
    .bit = LEAT_PASS_BIT_DEPENDENCY,
    .option = "dependency_optimization",
    .has_work = has_waits,
    .run = dependency};
