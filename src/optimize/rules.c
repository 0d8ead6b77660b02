// The two passes that apply rewrite rules (graph/rewrite_rule.h): "rules" those of the phases
// EPILOGUE and SUM, "prologues" those of PROLOGUE. For each node, inputs first, a pass tries the
// rules whose root is the node's op, in the order of phases and tables, and the first rule that
// applies puts another node in its place. What a rule added is visited too, so that a product, its
// bias and its activation go into one node in two steps:
//
//   x, w ─▶ MatMul ─▶ BiasAdd ─▶ Relu      x, w, b ─▶ _FusedMatMul [BiasAdd] ─▶ Relu
//                b ─────┘                  x, w, b ─▶ _FusedMatMul [BiasAdd, Relu]
//
// The pass knows which nodes may go and what the new ones have to wait for; what the ops mean only
// the rule knows. Nodes that go are those between the rule's producer and its root: each is pure,
// lies on the root's device, is read by the next one alone (gradients of an unknown batch also ask
// for its shape, which the new node has as well) and comes under the same conditions, so that
// neither an effect nor a dead value is lost. An Identity on the way goes with them.
//
// Where a rule reads the second output of its producer, as a product of a loss's gradient does, the
// new node replaces producer and root. It then reads all that the root reads, so the root's other
// inputs must not depend on the producer: that would close a cycle.
//
// A rule of a sum takes every input of its root, or all but one: products go into a chain of nodes
// of which each adds to the one before, and padded tensors into one node. TensorFlow's gradients
// hold back the terms of such sums by Identities, each of which waits through a NoOp for all
// gradients of its group, so for its own term as well; what waits for a node that goes waits for
// the inputs of that node instead, so that the new node does not wait for itself.
//
// The passes run after placement, as only then it is known which kernels there are. "rules" comes
// before the pass that takes what it left (optimize/fusion.c), and "prologues" after those that
// look for the nodes which it would take.
#include <stdlib.h>
#include <string.h>

#include "graph/rewrite_rule.h"
#include "optimize/edit.h"

// Nodes between a producer and the root, the producer too; and bypassed ones.
#define MAX_PASSED 32

// A rule, under one of the ops that its root may have.
typedef struct entry_s {
  const leat_op_row_t* root;
  const leat_rewrite_rule_t* rule;
  int place;  // in the order in which rules are tried
} entry_t;

// The rules that a pass tries, sorted by root, and memory for one attempt at a time.
typedef struct rules_s {
  entry_t* entries;
  int count;
  int32_t *producers, *passed;  // [inputs], and [inputs * MAX_PASSED]
  int inputs;
  bool has_loops;  // the graph has frames
} rules_t;

// An attempt to apply a rule. |match| comes first: the rule sees nothing else.
typedef struct attempt_s {
  leat_rewrite_match_t match;
  leat_edit_t* edit;
  rules_t* rules;
  // The nodes that go, from the root's side on, in rules->passed; and those that the new nodes only
  // read no longer.
  int passed_count, passed_room, bypassed_count;
  int32_t bypassed[MAX_PASSED];
  leat_waits_t waits;  // of the new nodes
} attempt_t;

// ---- The rules of each op -----------------------------------------------------------------------

// Takes the next name off a list "A|B|C"; false at its end.
static bool take_name(const char** list, leat_string_view_t* out_name) {
  const size_t size = strcspn(*list, "|");
  *out_name = (leat_string_view_t){*list, size};
  *list += size + ((*list)[size] == '|');
  return size > 0;
}

static bool is_listed(const char* list, leat_string_view_t op) {
  leat_string_view_t name;
  while (take_name(&list, &name)) {
    if (leat_string_view_equal(name, op)) return true;
  }
  return false;
}

static int compare_entries(const void* a, const void* b) {
  const entry_t *x = a, *y = b;
  const uintptr_t p = (uintptr_t)x->root, q = (uintptr_t)y->root;
  return p != q ? (p < q ? -1 : 1) : (x->place > y->place) - (x->place < y->place);
}

// Lists the rules of the phases from |first| to |last|, for each op in the order of phases.
// Compares rows, since to ask for an op would parse its row for a graph that may have no such node.
static leat_status_t list_entries(leat_edit_t* edit, leat_rewrite_phase_t first,
                                  leat_rewrite_phase_t last, entry_t** out_entries,
                                  int* out_count) {
  const leat_op_registry_t* ops = edit->graph->ops;
  size_t room = 0;
  LEAT_REWRITE_FOR_EACH_RULE(ops, rule) {
    leat_string_view_t name;
    for (const char* list = rule->root; take_name(&list, &name);) ++room;
  }
  entry_t* entries;
  const leat_op_t* unknown;
  int count = 0;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(edit->scratch, room + 1, &entries));
  LEAT_REWRITE_FOR_EACH_RULE(ops, rule) {
    leat_string_view_t name;
    if (rule->phase < first || rule->phase > last) continue;
    for (const char* list = rule->root; take_name(&list, &name); ++count) {
      const int place = rule->phase * (int)room + count;
      entries[count] = (entry_t){leat_op_registry_find_row(ops, name), rule, place};
      if (!entries[count].root) return leat_op_registry_find(edit->graph->ops, name, &unknown);
    }
  }
  qsort(entries, (size_t)count, sizeof *entries, compare_entries);
  *out_entries = entries;
  *out_count = count;
  return leat_ok_status();
}

// The first entry of |op|, or the end of all.
static int find_entries(const entry_t* entries, int count, const leat_op_row_t* op) {
  int low = 0, high = count;
  while (low < high) {
    const int middle = low + (high - low) / 2;
    if ((uintptr_t)entries[middle].root < (uintptr_t)op) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// ---- Matching -----------------------------------------------------------------------------------

// Only output 0 of the root is read, and only that one fetched.
static bool gives_one_output(const leat_edit_t* edit, int32_t root) {
  const leat_node_t* node = leat_edit_node(edit, root);
  if (node->output_count == 1) return true;
  for (int i = 0; i < edit->rewrite->fetch_count; ++i) {
    const leat_output_t fetch = edit->rewrite->fetches[i];
    if (fetch.node == root && fetch.index != 0) return false;
  }
  LEAT_EDIT_FOR_EACH_USE(edit, root, use) {
    const leat_reader_t reader = leat_edit_reader(edit, use);
    const int index = leat_edit_node(edit, reader.node)->inputs[reader.position].index;
    if (index > 0) return false;
  }
  return true;
}

static bool reads_only_shape(const leat_edit_t* edit, leat_reader_t reader) {
  return !leat_edit_is_wait(edit, reader) &&
         leat_edit_node(edit, reader.node)->op->flags & LEAT_OP_ONLY_SHAPE;
}

// May the node vanish with the one that reads its value? Who asks for its shape alone can ask the
// new node where the rule keeps shapes, unless the root depends on the answer.
static bool may_go(const attempt_t* a, const leat_rewrite_rule_t* rule, int32_t node) {
  leat_edit_t* edit = a->edit;
  int readers = 0, waiters = 0;
  if (leat_edit_is_kept(edit, node)) return false;
  LEAT_EDIT_FOR_EACH_USE(edit, node, use) {
    const leat_reader_t reader = leat_edit_reader(edit, use);
    if (leat_edit_is_wait(edit, reader)) {
      ++waiters;
    } else if (!rule->keeps_shape || !reads_only_shape(edit, reader) ||
               leat_edit_reaches(edit, reader.node, a->match.root)) {
      ++readers;
    }
    if (readers > 1) return false;
  }
  return readers == 1 && (!waiters || leat_edit_can_pass_waiters(edit, node));
}

// Who asked the vanished node for its shape asks the new one.
static leat_status_t move_shape_readers(leat_edit_t* edit, int32_t node, leat_output_t by) {
  LEAT_EDIT_FOR_EACH_USE(edit, node, use) {
    const leat_reader_t reader = leat_edit_reader(edit, use);
    if (!reads_only_shape(edit, reader)) continue;
    LEAT_RETURN_IF_ERROR(leat_edit_set_input(edit, reader.node, reader.position, by));
  }
  return leat_ok_status();
}

// Whether the node is a Reshape to a constant shape. The new nodes wait for whatever that constant
// waits for.
static bool passes_reshape(attempt_t* a, const leat_rewrite_rule_t* rule,
                           const leat_node_t* node) {
  if (!rule->passes_reshapes || !(node->op->flags & LEAT_OP_RESHAPES)) return false;
  for (int i = 1; i < node->input_count; ++i) {
    const int32_t other = node->inputs[i].node;
    if (a->bypassed_count == MAX_PASSED || !leat_node_constant(leat_edit_node(a->edit, other))) {
      return false;
    }
    a->bypassed[a->bypassed_count++] = other;
  }
  a->match.is_reshaped = true;
  return true;
}

// Whether |node|, which |reader| reads, comes when the new node will. A rule of one input wants the
// root's conditions: on another device the node would come under others. A sum may come later than
// its terms, when the last of them does; what lies between a term and the root must come with it.
static bool comes_in_time(const attempt_t* a, const leat_rewrite_rule_t* rule, int32_t reader,
                          int32_t node) {
  const int32_t root = a->match.root;
  if (rule->inputs == LEAT_REWRITE_ONE_INPUT) return leat_edit_comes_with(a->edit, node, root);
  return leat_edit_node(a->edit, node)->assigned_device ==
             leat_edit_node(a->edit, root)->assigned_device &&
         (reader == root || leat_edit_comes_with(a->edit, reader, node));
}

// Goes from input |position| of |reader| to the node that makes it, past every Identity, and past
// Reshapes where the rule says so. False where one of these nodes may not go.
static bool go_back(attempt_t* a, const leat_rewrite_rule_t* rule, int32_t reader, int position,
                    int32_t* out_node) {
  const leat_edit_t* edit = a->edit;
  leat_output_t input = leat_edit_node(edit, reader)->inputs[position];
  for (;;) {
    const leat_node_t* node = leat_edit_node(edit, input.node);
    if (input.index != 0 || a->passed_count == a->passed_room ||
        !may_go(a, rule, input.node) || !leat_node_is_pure(edit->graph, node) ||
        !comes_in_time(a, rule, reader, input.node)) {
      return false;
    }
    a->rules->passed[a->passed_count++] = input.node;
    if (!leat_node_forwards(node) && !passes_reshape(a, rule, node)) break;
    reader = input.node;
    input = node->inputs[0];
  }
  *out_node = input.node;
  return true;
}

// Whether the root alone reads the rule's output of a producer that has others too, and the new
// node can replace both: nothing else that the root needs follows from the producer.
static bool shares_producer(attempt_t* a, const leat_rewrite_rule_t* rule) {
  leat_edit_t* edit = a->edit;
  const leat_node_t* root = leat_edit_node(edit, a->match.root);
  const leat_output_t input = root->inputs[a->match.side];
  leat_reader_t reader;
  a->match.producer = input.node;
  if (input.index != rule->producer_output ||
      !leat_node_is_pure(edit->graph, leat_edit_node(edit, input.node)) ||
      !leat_edit_find_only_reader(edit, input, &reader) ||
      !leat_edit_comes_with(edit, input.node, a->match.root)) {
    return false;
  }
  for (int k = 0; k < leat_node_edge_count(root); ++k) {
    if (k != a->match.side && leat_edit_reaches(edit, input.node, root->inputs[k].node)) {
      return false;
    }
  }
  return true;
}

static bool finds_producer(attempt_t* a, const leat_rewrite_rule_t* rule) {
  leat_rewrite_match_t* match = &a->match;
  const leat_edit_t* edit = a->edit;
  if (rule->producer_output) return shares_producer(a, rule);
  if (!go_back(a, rule, match->root, match->side, &match->producer)) return false;
  if (!rule->through) return true;
  match->through = match->producer;
  return is_listed(rule->through, leat_edit_node(edit, match->through)->op->name) &&
         go_back(a, rule, match->through, 0, &match->producer);
}

// Whether the rule applies to what input |side| of the root leads to. The nodes that go with it
// come behind those that are listed.
static bool matches(attempt_t* a, const leat_rewrite_rule_t* rule, int side) {
  leat_rewrite_match_t* match = &a->match;
  const leat_edit_t* edit = a->edit;
  match->side = side;
  match->producer = match->through = -1;
  match->is_reshaped = false;
  if (rule->producer) {
    if (side >= leat_edit_node(edit, match->root)->input_count || !finds_producer(a, rule) ||
        !is_listed(rule->producer, leat_edit_node(edit, match->producer)->op->name)) {
      return false;
    }
  }
  return !rule->applies || rule->applies(match);
}

// ---- Replacing ----------------------------------------------------------------------------------

// (leat_rewrite_match_t) A node that its shape function refuses is as good as one without a kernel:
// the old nodes stay, and say what is wrong when they run.
static leat_status_t add(leat_rewrite_match_t* match, const char* op, leat_node_spec_t* spec,
                         leat_output_t* out_output) {
  attempt_t* a = match->optimizer;
  leat_edit_t* edit = a->edit;
  const leat_pass_options_t* options = edit->options;
  LEAT_RETURN_IF_ERROR(
      leat_op_registry_find(edit->graph->ops, leat_string_view_from(op), &spec->op));
  if (!spec->infer_attrs &&
      !options->find_kernel(options->find_kernel_data, spec->op, spec->attrs, spec->attr_count,
                            leat_edit_node(edit, match->root)->assigned_device)) {
    return leat_make_status(LEAT_NOT_FOUND, "No kernel serves %s on this device", op);
  }
  spec->control_inputs = a->waits.nodes;
  spec->control_count = a->waits.count;
  // A node that reads nothing waits for an input of the root, so that it is in the root's frame.
  // Without frames it waits for nothing: then it is made once, and not in each step.
  const leat_node_t* root = leat_edit_node(edit, match->root);
  const int32_t anchor = a->rules->has_loops && root->input_count ? root->inputs[0].node : -1;
  if (spec->input_count == 0 && spec->control_count == 0 && anchor >= 0) {
    spec->control_inputs = &anchor;
    spec->control_count = 1;
  }
  out_output->index = 0;
  leat_status_t status = leat_edit_add(edit, match->root, "/_fused", spec, &out_output->node);
  if (leat_status_code(status) != LEAT_INVALID_ARGUMENT) return status;
  leat_status_free(status);
  return leat_make_status(LEAT_NOT_FOUND, "%s does not take these inputs", op);
}

// (leat_rewrite_match_t) A control edge could not say which output of a Switch has to be alive.
static bool may_bypass(const leat_rewrite_match_t* match, int32_t node) {
  const attempt_t* a = match->optimizer;
  const leat_node_t* n = leat_edit_node(a->edit, node);
  return leat_node_is_pure(a->edit->graph, n) && !leat_node_reads_switch(a->edit->graph, n) &&
         leat_edit_comes_with(a->edit, node, match->root);
}

// (leat_rewrite_match_t)
static leat_status_t bypass(leat_rewrite_match_t* match, int32_t node) {
  attempt_t* a = match->optimizer;
  if (a->bypassed_count == MAX_PASSED) {
    return leat_make_status(LEAT_NOT_FOUND, "More than %d nodes are bypassed", MAX_PASSED);
  }
  a->bypassed[a->bypassed_count++] = node;
  return leat_waits_add_controls(a->edit, node, &a->waits);
}

// What the new nodes wait for: what those that go waited for.
static leat_status_t list_waits(attempt_t* a, const leat_rewrite_rule_t* rule) {
  a->waits = (leat_waits_t){0};
  LEAT_RETURN_IF_ERROR(leat_waits_add_controls(a->edit, a->match.root, &a->waits));
  for (int i = 0; i < a->passed_count; ++i) {
    LEAT_RETURN_IF_ERROR(leat_waits_add_controls(a->edit, a->rules->passed[i], &a->waits));
  }
  for (int i = 0; i < a->bypassed_count; ++i) {
    LEAT_RETURN_IF_ERROR(leat_waits_add_controls(a->edit, a->bypassed[i], &a->waits));
  }
  return rule->producer_output
             ? leat_waits_add_controls(a->edit, a->match.producer, &a->waits)
             : leat_ok_status();
}

static bool is_bypassed(const attempt_t* a, int32_t node) {
  for (int i = 0; i < a->bypassed_count; ++i) {
    if (a->bypassed[i] == node) return true;
  }
  return false;
}

// Adds all that |node| reads and waits for, and of a bypassed node that is among them what that one
// reads and waits for.
static leat_status_t add_sources(const attempt_t* a, int32_t node, leat_waits_t* inout_sources) {
  for (int k = 0; k < leat_node_edge_count(leat_edit_node(a->edit, node)); ++k) {
    const int32_t source = leat_edit_node(a->edit, node)->inputs[k].node;
    LEAT_RETURN_IF_ERROR(is_bypassed(a, source) ? add_sources(a, source, inout_sources)
                                                : leat_waits_add(a->edit, source, inout_sources));
  }
  return leat_ok_status();
}

// Who waits for one of the |count| nodes waits for what it reads and waits for instead, so that it
// can vanish when nobody reads it.
static leat_status_t pass_waiters(const attempt_t* a, const int32_t* nodes, int count) {
  for (int i = 0; i < count; ++i) {
    leat_waits_t sources = {0};
    if (!leat_edit_can_pass_waiters(a->edit, nodes[i])) continue;
    LEAT_RETURN_IF_ERROR(add_sources(a, nodes[i], &sources));
    LEAT_RETURN_IF_ERROR(leat_edit_move_waiters(a->edit, nodes[i], &sources));
  }
  return leat_ok_status();
}

// The outputs of |by| have the shapes that those of |node| were known to have.
static leat_status_t refine_shapes(const leat_edit_t* edit, int32_t node, int32_t by) {
  const leat_node_t* n = leat_edit_node(edit, node);
  LEAT_DCHECK(n->output_count <= leat_edit_node(edit, by)->output_count);
  for (int i = 0; i < n->output_count; ++i) {
    LEAT_RETURN_IF_ERROR(
        leat_graph_refine_shape(edit->graph, (leat_output_t){by, i}, n->output_shapes[i]));
  }
  return leat_ok_status();
}

// Puts |by| in the place of the root, and of the producer where it replaces that too.
static leat_status_t replace(const attempt_t* a, const leat_rewrite_rule_t* rule,
                             leat_output_t by) {
  leat_edit_t* edit = a->edit;
  const int32_t root = a->match.root;
  if (rule->has_effects) {
    LEAT_RETURN_IF_ERROR(refine_shapes(edit, root, by.node));
    return leat_edit_replace(edit, root, by.node);
  }
  LEAT_RETURN_IF_ERROR(
      leat_graph_refine_shape(edit->graph, by, leat_edit_node(edit, root)->output_shapes[0]));
  LEAT_RETURN_IF_ERROR(leat_edit_replace_by_output(edit, root, by));
  return rule->producer_output ? leat_edit_replace(edit, a->match.producer, by.node)
                               : leat_ok_status();
}

// |*out_applied| stays false where a kernel is missing.
static leat_status_t apply(attempt_t* a, const leat_rewrite_rule_t* rule, bool* out_applied) {
  leat_output_t by = LEAT_OUTPUT_NONE;
  LEAT_RETURN_IF_ERROR(list_waits(a, rule));
  leat_status_t status = rule->make(&a->match, &by);
  if (leat_status_code(status) == LEAT_NOT_FOUND) {
    leat_status_free(status);
    return leat_ok_status();
  }
  if (status) return leat_status_annotate(status, "rule %s", rule->name);
  if (rule->producer_output) by.index = rule->producer_output;
  LEAT_DCHECK(leat_output_exists(by) && by.node != a->match.root);
  LEAT_RETURN_IF_ERROR(pass_waiters(a, a->rules->passed, a->passed_count));
  LEAT_RETURN_IF_ERROR(pass_waiters(a, a->bypassed, a->bypassed_count));
  for (int i = 0; i < a->passed_count && rule->keeps_shape; ++i) {
    LEAT_RETURN_IF_ERROR(move_shape_readers(a->edit, a->rules->passed[i], by));
  }
  *out_applied = true;
  leat_pass_note_rule(a->edit->options, rule);
  return replace(a, rule, by);
}

// Makes room for an attempt at a root of |inputs| inputs.
static leat_status_t reserve(leat_edit_t* edit, int inputs, rules_t* rules) {
  if (inputs <= rules->inputs) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(LEAT_NEW(edit->scratch, (size_t)inputs, &rules->producers));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(edit->scratch, (size_t)inputs * MAX_PASSED, &rules->passed));
  rules->inputs = inputs;
  return leat_ok_status();
}

// Whether the rule applies to every input of the root, or to all but the one that may stay. It goes
// from the last to the first: where all the others are taken, the first one stays.
static bool matches_inputs(attempt_t* a, const leat_rewrite_rule_t* rule, int count) {
  int32_t* producers = a->rules->producers;
  int staying = rule->inputs == LEAT_REWRITE_EVERY_INPUT ? 0 : 1;
  a->match.producers = producers;
  for (int side = count - 1; side >= 0; --side) {
    const int passed_count = a->passed_count, bypassed_count = a->bypassed_count;
    producers[side] = -1;
    if ((side > 0 || staying == 0) && matches(a, rule, side)) {
      producers[side] = a->match.producer;
      continue;
    }
    a->passed_count = passed_count;
    a->bypassed_count = bypassed_count;
    if (--staying < 0) return false;
  }
  return true;
}

// Tries a rule of more inputs than one.
static leat_status_t try_inputs(attempt_t* a, const leat_rewrite_rule_t* rule, bool* out_applied) {
  const int count = leat_edit_node(a->edit, a->match.root)->input_count;
  if (count < 2) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(reserve(a->edit, count, a->rules));
  a->passed_room = a->rules->inputs * MAX_PASSED;
  return matches_inputs(a, rule, count) ? apply(a, rule, out_applied) : leat_ok_status();
}

// Tries the rule with each input of the root at which its producer may be.
static leat_status_t try_rule(attempt_t* a, const leat_rewrite_rule_t* rule, bool* out_applied) {
  const leat_node_t* root = leat_edit_node(a->edit, a->match.root);
  const int first = rule->input ? rule->input(root) : 0;
  const int last = first + rule->commutes;
  *out_applied = false;
  a->passed_count = a->bypassed_count = 0;
  if (!rule->has_effects && (!leat_node_is_pure(a->edit->graph, root) ||
                             !gives_one_output(a->edit, a->match.root))) {
    return leat_ok_status();
  }
  if (rule->inputs != LEAT_REWRITE_ONE_INPUT) return try_inputs(a, rule, out_applied);
  for (int side = first; side >= 0 && side <= last && !*out_applied; ++side) {
    a->passed_count = a->bypassed_count = 0;
    if (matches(a, rule, side)) LEAT_RETURN_IF_ERROR(apply(a, rule, out_applied));
  }
  return leat_ok_status();
}

static leat_status_t try_node(leat_edit_t* edit, rules_t* rules, int32_t node) {
  const leat_op_row_t* op = leat_edit_node(edit, node)->op->row;
  attempt_t a = {.match = {.graph = edit->graph,
                           .root = node,
                           .arena = edit->scratch,
                           .add = add,
                           .may_bypass = may_bypass,
                           .bypass = bypass},
                 .edit = edit,
                 .rules = rules,
                 .passed_room = MAX_PASSED};
  a.match.optimizer = &a;
  bool applied = false;
  for (int i = find_entries(rules->entries, rules->count, op);
       i < rules->count && rules->entries[i].root == op && !applied; ++i) {
    LEAT_RETURN_IF_ERROR(try_rule(&a, rules->entries[i].rule, &applied));
  }
  return leat_ok_status();
}

static bool has_roots(const leat_graph_t* graph, const rules_t* rules) {
  for (size_t i = 0; i < graph->node_count; ++i) {
    const leat_op_row_t* op = graph->nodes[i].op->row;
    const int entry = find_entries(rules->entries, rules->count, op);
    if (entry < rules->count && rules->entries[entry].root == op) return true;
  }
  return false;
}

static bool has_loops(const leat_graph_t* graph) {
  for (size_t i = 0; i < graph->node_count; ++i) {
    if (graph->nodes[i].op->flags & LEAT_OP_ENTER) return true;
  }
  return false;
}

// Tries the rules of all nodes once, inputs first. A rule looks from its root towards the inputs,
// so the nodes that it takes have been visited when the root is. To visit the nodes around each
// change again, until nothing changes, found nothing more in 92 graphs (docs/decisions/0020).
static leat_status_t run(leat_edit_t* edit, leat_rewrite_phase_t first,
                         leat_rewrite_phase_t last) {
  rules_t rules = {0};
  int32_t* nodes;
  size_t count;
  if (!edit->options->find_kernel) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(list_entries(edit, first, last, &rules.entries, &rules.count));
  if (!has_roots(edit->graph, &rules)) return leat_ok_status();
  rules.has_loops = has_loops(edit->graph);
  LEAT_RETURN_IF_ERROR(reserve(edit, 2, &rules));
  LEAT_RETURN_IF_ERROR(leat_edit_find_conditions(edit));
  LEAT_RETURN_IF_ERROR(leat_edit_sort(edit, &nodes, &count));
  for (size_t i = 0; i < count; ++i) {
    size_t added = edit->graph->node_count;
    if (leat_edit_is_gone(edit, nodes[i])) continue;
    LEAT_RETURN_IF_ERROR(try_node(edit, &rules, nodes[i]));
    // What the rule made may be the root of another one, before its readers are looked at.
    for (; added < edit->graph->node_count; ++added) {
      if (leat_edit_is_gone(edit, (int32_t)added)) continue;
      LEAT_RETURN_IF_ERROR(try_node(edit, &rules, (int32_t)added));
    }
  }
  return leat_ok_status();
}

static leat_status_t run_epilogues(leat_edit_t* edit) {
  return run(edit, LEAT_REWRITE_EPILOGUE, LEAT_REWRITE_SUM);
}

static leat_status_t run_prologues(leat_edit_t* edit) {
  return run(edit, LEAT_REWRITE_PROLOGUE, LEAT_REWRITE_PROLOGUE);
}

const leat_pass_t leat_pass_rules = {
    .name = "rules",
    .doc = "a product and what follows it, or a sum and its terms, become one node",
    .stage = LEAT_PASS_PLACED,
    .bit = LEAT_PASS_BIT_RULES,
    .option = "remapping",
    .has_work = leat_graph_computes,
    .run = run_epilogues};

const leat_pass_t leat_pass_prologues = {
    .name = "prologues",
    .doc = "an update or a sum computes by itself how what it reads is scaled or clipped",
    .after = "rules,defer,concat_sinking",
    .stage = LEAT_PASS_PLACED,
    .bit = LEAT_PASS_BIT_PROLOGUES,
    .option = "remapping",
    .has_work = leat_graph_computes,
    .run = run_prologues};
