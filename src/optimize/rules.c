// The pass that applies rewrite rules (graph/rewrite_rule.h). For each node, inputs first, it tries
// the rules whose root is the node's op, in the order of their tables, and the first rule that
// applies puts another node in its place. What a rule added is visited too, so that a product, its
// bias and its activation go into one node in two steps:
//
//   x, w ─▶ MatMul ─▶ BiasAdd ─▶ Relu      x, w, b ─▶ _FusedMatMul [BiasAdd] ─▶ Relu
//                b ─────┘                  x, w, b ─▶ _FusedMatMul [BiasAdd, Relu]
//
// The pass knows which nodes may go and what the new ones have to wait for; what the ops mean only
// the rule knows. Nodes that go are those between the rule's producer and its root: each is pure,
// lies on the root's device, is read by the next one alone (gradients of an unknown batch also ask
// for its shape, which the new node has as well) and comes under the same conditions, so
// that neither an effect nor a dead value is lost. An Identity on the way goes with them.
//
// This comes after placement, as only then it is known which kernels there are, and before the
// passes that take what the rules left (optimize/sums.c, optimize/fusion.c).
#include <stdlib.h>
#include <string.h>

#include "graph/rewrite_rule.h"
#include "optimize/edit.h"

#define MAX_PASSED 8  // nodes between producer and root, the producer too

// A rule, under one of the ops that its root may have.
typedef struct entry_s {
  const leat_op_row_t* root;
  const leat_rewrite_rule_t* rule;
  int place;  // in the order in which rules are tried
} entry_t;

// An attempt to apply a rule. |match| comes first: the rule sees nothing else.
typedef struct attempt_s {
  leat_rewrite_match_t match;
  leat_edit_t* edit;
  int32_t passed[MAX_PASSED];  // from the root's side on
  int passed_count;
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

// Compares rows, since to ask for an op would parse its row for a graph that may have no such node.
static leat_status_t list_entries(leat_edit_t* edit, entry_t** out_entries, int* out_count) {
  const leat_op_registry_t* ops = edit->graph->ops;
  size_t room = 0;
  for (int t = 0; t < leat_op_registry_rules_count(ops); ++t) {
    for (const leat_rewrite_rule_t* rule = leat_op_registry_rules(ops, t); rule->name; ++rule) {
      leat_string_view_t name;
      for (const char* list = rule->root; take_name(&list, &name);) ++room;
    }
  }
  entry_t* entries;
  const leat_op_t* unknown;
  int count = 0;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(edit->scratch, room + 1, &entries));
  for (int t = 0; t < leat_op_registry_rules_count(ops); ++t) {
    for (const leat_rewrite_rule_t* rule = leat_op_registry_rules(ops, t); rule->name; ++rule) {
      leat_string_view_t name;
      for (const char* list = rule->root; take_name(&list, &name); ++count) {
        entries[count] = (entry_t){leat_op_registry_find_row(ops, name), rule, count};
        if (!entries[count].root) return leat_op_registry_find(edit->graph->ops, name, &unknown);
      }
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

// Goes from input |position| of |reader| to the node that makes it, past every Identity. False
// where one of these nodes may not go.
static bool go_back(attempt_t* a, const leat_rewrite_rule_t* rule, int32_t reader, int position,
                    int32_t* out_node) {
  const leat_edit_t* edit = a->edit;
  leat_output_t input = leat_edit_node(edit, reader)->inputs[position];
  for (;;) {
    const leat_node_t* node = leat_edit_node(edit, input.node);
    // On another device than the root's the node would come under other conditions.
    if (input.index != 0 || a->passed_count == MAX_PASSED ||
        !may_go(a, rule, input.node) || !leat_node_is_pure(edit->graph, node) ||
        !leat_edit_comes_with(edit, input.node, a->match.root)) {
      return false;
    }
    a->passed[a->passed_count++] = input.node;
    if (!leat_node_forwards(node)) break;
    input = node->inputs[0];
  }
  *out_node = input.node;
  return true;
}

static bool matches(attempt_t* a, const leat_rewrite_rule_t* rule, int side) {
  leat_rewrite_match_t* match = &a->match;
  const leat_edit_t* edit = a->edit;
  match->side = side;
  match->producer = match->through = -1;
  a->passed_count = 0;
  if (rule->producer) {
    if (side >= leat_edit_node(edit, match->root)->input_count) return false;
    if (!go_back(a, rule, match->root, side, &match->producer)) return false;
    if (rule->through) {
      match->through = match->producer;
      if (!is_listed(rule->through, leat_edit_node(edit, match->through)->op->name) ||
          !go_back(a, rule, match->through, 0, &match->producer)) {
        return false;
      }
    }
    if (!is_listed(rule->producer, leat_edit_node(edit, match->producer)->op->name)) return false;
  }
  return !rule->applies || rule->applies(match);
}

// ---- Replacing ----------------------------------------------------------------------------------

// (leat_rewrite_match_t)
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
  out_output->index = 0;
  return leat_edit_add(edit, match->root, "/_fused", spec, &out_output->node);
}

// What the new nodes wait for: what those that go waited for.
static leat_status_t list_waits(attempt_t* a) {
  a->waits = (leat_waits_t){0};
  LEAT_RETURN_IF_ERROR(leat_waits_add_controls(a->edit, a->match.root, &a->waits));
  for (int i = 0; i < a->passed_count; ++i) {
    LEAT_RETURN_IF_ERROR(leat_waits_add_controls(a->edit, a->passed[i], &a->waits));
  }
  return leat_ok_status();
}

// |*out_applied| stays false where a kernel is missing.
static leat_status_t apply(attempt_t* a, const leat_rewrite_rule_t* rule, bool* out_applied) {
  leat_output_t by = LEAT_OUTPUT_NONE;
  LEAT_RETURN_IF_ERROR(list_waits(a));
  leat_status_t status = rule->make(&a->match, &by);
  if (leat_status_code(status) == LEAT_NOT_FOUND) {
    leat_status_free(status);
    return leat_ok_status();
  }
  if (status) return leat_status_annotate(status, "rule %s", rule->name);
  LEAT_DCHECK(leat_output_exists(by) && by.node != a->match.root);
  LEAT_RETURN_IF_ERROR(leat_graph_refine_shape(
      a->edit->graph, by, leat_edit_node(a->edit, a->match.root)->output_shapes[0]));
  for (int i = 0; i < a->passed_count; ++i) {
    LEAT_RETURN_IF_ERROR(leat_edit_pass_waiters(a->edit, a->passed[i]));
    if (!rule->keeps_shape) continue;
    LEAT_RETURN_IF_ERROR(move_shape_readers(a->edit, a->passed[i], by));
  }
  *out_applied = true;
  return leat_edit_replace_by_output(a->edit, a->match.root, by);
}

typedef struct rules_s {
  entry_t* entries;
  int count;
} rules_t;

static leat_status_t try_node(leat_edit_t* edit, const rules_t* rules, int32_t node) {
  const leat_op_row_t* op = leat_edit_node(edit, node)->op->row;
  int i = find_entries(rules->entries, rules->count, op);
  if (i == rules->count || rules->entries[i].root != op ||
      !leat_node_is_pure(edit->graph, leat_edit_node(edit, node)) ||
      !gives_one_output(edit, node)) {
    return leat_ok_status();
  }
  attempt_t a = {.match = {.graph = edit->graph, .root = node, .arena = edit->scratch, .add = add},
                 .edit = edit};
  a.match.optimizer = &a;
  for (; i < rules->count && rules->entries[i].root == op; ++i) {
    const leat_rewrite_rule_t* rule = rules->entries[i].rule;
    for (int side = 0; side <= (int)rule->commutes; ++side) {
      bool applied = false;
      if (!matches(&a, rule, side)) continue;
      LEAT_RETURN_IF_ERROR(apply(&a, rule, &applied));
      if (applied) return leat_ok_status();
    }
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

static leat_status_t run(leat_edit_t* edit) {
  rules_t rules;
  int32_t* nodes;
  size_t count;
  if (!edit->options->find_kernel) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(list_entries(edit, &rules.entries, &rules.count));
  if (!has_roots(edit->graph, &rules)) return leat_ok_status();
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

const leat_pass_t leat_pass_rules = {
    .name = "rules",
    .doc = "a product and what follows it become one node, as the rules of op families say",
    .stage = LEAT_PASS_PLACED,
    .bit = LEAT_PASS_BIT_RULES,
    .run = run};
