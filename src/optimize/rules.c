// The two passes that apply rewrite rules (graph/rewrite_rule.h): "rules" those of the phases
// EPILOGUE and SUM, "prologues" those of PROLOGUE. For each node, inputs first, a pass looks which
// rules whose root is the node's op apply, and to which of its inputs; the one that gains most puts
// another node in its place. What a rule added is visited too, so that a product, its bias and its
// activation go into one node in two steps:
//
//   x, w ─▶ MatMul ─▶ BiasAdd ─▶ Relu      x, w, b ─▶ _FusedMatMul [BiasAdd] ─▶ Relu
//                b ─────┘                  x, w, b ─▶ _FusedMatMul [BiasAdd, Relu]
//
// How a rule is carried out, and what it gains by the cost model, is the matter of a trial
// (rule_trial.h). A rule that gains nothing is not taken, unless it normalizes; such a rule is
// taken where no other one applies. Where two gain the same, the first in the order of phases and
// tables is taken. So what a pass makes of a graph depends on that graph alone.
//
// A rule looks from its root towards the inputs. All that it sees there has got its last form when
// the root is visited, but for one thing: a rule is refused where somebody else reads what would
// go, and that reader may go later. So the nodes are visited again where, in the sweep before, one
// has come to have fewer readers than it had, until there is none. A graph in which that does not
// happen, as is nearly always so, is swept once. There is an end to it, since each rule that is
// applied takes its root away and makes the graph cheaper or more normal.
//
// The passes run after placement, as only then it is known which kernels there are. "rules" comes
// before the pass that takes what it left (optimize/fusion.c), and "prologues" after those that
// look for the nodes which it would take.
#include <stdlib.h>
#include <string.h>

#include "optimize/rule_trial.h"

// A rule, under one of the ops that its root may have.
typedef struct entry_s {
  const leat_op_row_t* root;
  const leat_rewrite_rule_t* rule;
  int place;  // in the order in which rules are tried
} entry_t;

// A rule that applies to the node that is visited, and the input of the node at which it does.
typedef struct candidate_s {
  const leat_rewrite_rule_t* rule;
  int side;
} candidate_t;

// What a pass works with.
typedef struct rules_s {
  leat_edit_t* edit;
  entry_t* entries;  // the rules that the pass tries, sorted by root
  int count;
  candidate_t* candidates;  // room for each entry twice
  leat_trial_t trial;
  // How many edges read each node, before the first rule was applied in this sweep, and once a rule
  // had added it; for no node before that.
  int32_t* readers;
  size_t readers_count, readers_room;
} rules_t;

// ---- The rules of each op -----------------------------------------------------------------------

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
    for (const char* list = rule->root; leat_rewrite_take_name(&list, &name);) ++room;
  }
  entry_t* entries;
  const leat_op_t* unknown;
  int count = 0;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(edit->scratch, room + 1, &entries));
  LEAT_REWRITE_FOR_EACH_RULE(ops, rule) {
    leat_string_view_t name;
    if (rule->phase < first || rule->phase > last) continue;
    for (const char* list = rule->root; leat_rewrite_take_name(&list, &name); ++count) {
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

// ---- One node -----------------------------------------------------------------------------------

// Lists the rules that apply to the trial's root; a rule may apply to two of its inputs.
static int list_candidates(rules_t* rules, int32_t root) {
  const leat_op_row_t* op = leat_edit_node(rules->edit, root)->op->row;
  int count = 0;
  for (int i = find_entries(rules->entries, rules->count, op);
       i < rules->count && rules->entries[i].root == op; ++i) {
    const leat_rewrite_rule_t* rule = rules->entries[i].rule;
    const int first = rule->input ? rule->input(leat_edit_node(rules->edit, root)) : 0;
    for (int side = first; side >= 0 && side <= first + rule->commutes; ++side) {
      if (!leat_trial_match(&rules->trial, rule, side)) continue;
      rules->candidates[count++] = (candidate_t){rule, side};
    }
  }
  return count;
}

#define NO_GAIN (-1)

// Adds the nodes of the candidate on trial. |*out_gain_ns| is NO_GAIN, and nothing is added, where
// the rule is not to be taken.
static leat_status_t try_candidate(leat_trial_t* trial, candidate_t candidate,
                                   int64_t* out_gain_ns) {
  bool made = false;
  *out_gain_ns = NO_GAIN;
  if (leat_trial_match(trial, candidate.rule, candidate.side)) {
    LEAT_RETURN_IF_ERROR(leat_trial_make(trial, &made));
  }
  if (!made) return leat_ok_status();
  const int64_t gain = candidate.rule->normalizes ? 0 : leat_trial_gain_ns(trial);
  if (gain > 0 || candidate.rule->normalizes) {
    *out_gain_ns = gain;
  } else {
    leat_trial_drop(trial);
  }
  return leat_ok_status();
}

// Finds the candidate that gains most, and leaves what it adds in the graph; |*out_found| is false
// where none gains. What a candidate adds reads the same nodes as the next one would take, so it
// has to go before that is tried. Only what stays is named as what was fused.
static leat_status_t make_best(rules_t* rules, int count, bool* out_found) {
  leat_trial_t* trial = &rules->trial;
  int64_t most = NO_GAIN, gain = NO_GAIN;
  int best = 0;
  trial->suffix = count > 1 ? "/_tried" : "/_fused";
  for (int i = 0; i < count; ++i) {
    LEAT_RETURN_IF_ERROR(try_candidate(trial, rules->candidates[i], &gain));
    if (count > 1 && gain != NO_GAIN) leat_trial_drop(trial);
    if (gain > most) {
      best = i;
      most = gain;
    }
  }
  if (count > 1 && most != NO_GAIN) {
    trial->suffix = "/_fused";
    LEAT_RETURN_IF_ERROR(try_candidate(trial, rules->candidates[best], &gain));
  }
  *out_found = gain != NO_GAIN;
  return leat_ok_status();
}

// The edges that read a value of the node.
static int32_t readers_of(const leat_edit_t* edit, int32_t node) {
  int32_t count = 0;
  LEAT_EDIT_FOR_EACH_USE(edit, node, use) {
    count += !leat_edit_is_wait(edit, leat_edit_reader(edit, use));
  }
  return count;
}

// Notes how many readers the nodes have that the graph has got since the last call.
static leat_status_t note_readers(rules_t* rules) {
  const size_t count = rules->edit->graph->node_count;
  if (count > rules->readers_room) {
    int32_t* readers;
    LEAT_RETURN_IF_ERROR(LEAT_NEW(rules->edit->scratch, 2 * count, &readers));
    if (rules->readers_count) {
      memcpy(readers, rules->readers, rules->readers_count * sizeof *readers);
    }
    rules->readers = readers;
    rules->readers_room = 2 * count;
  }
  while (rules->readers_count < count) {
    rules->readers[rules->readers_count] =
        readers_of(rules->edit, (int32_t)rules->readers_count);
    ++rules->readers_count;
  }
  return leat_ok_status();
}

// Puts another node in the place of |node| where a rule gains by it.
static leat_status_t visit(rules_t* rules, int32_t node) {
  bool found;
  if (leat_edit_is_gone(rules->edit, node)) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_trial_begin(&rules->trial, node));
  const int count = list_candidates(rules, node);
  if (!count) return leat_ok_status();
  if (!rules->readers_count) LEAT_RETURN_IF_ERROR(note_readers(rules));
  LEAT_RETURN_IF_ERROR(make_best(rules, count, &found));
  if (!found) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_trial_replace(&rules->trial));
  return note_readers(rules);
}

// ---- The passes ---------------------------------------------------------------------------------

// Visits all nodes, inputs first. What a rule made may be the root of another one, before its
// readers are looked at.
static leat_status_t sweep(rules_t* rules) {
  int32_t* nodes;
  size_t count;
  rules->readers_count = 0;
  LEAT_RETURN_IF_ERROR(leat_edit_sort(rules->edit, &nodes, &count));
  for (size_t i = 0; i < count; ++i) {
    size_t added = rules->edit->graph->node_count;
    LEAT_RETURN_IF_ERROR(visit(rules, nodes[i]));
    for (; added < rules->edit->graph->node_count; ++added) {
      LEAT_RETURN_IF_ERROR(visit(rules, (int32_t)added));
    }
  }
  return leat_ok_status();
}

// Whether the last sweep has left a node with fewer readers than it had, so that a rule which was
// refused for one of them may apply now. No rule takes a constant, of which many lose a reader.
static bool has_freed(const rules_t* rules) {
  for (size_t i = 0; i < rules->readers_count; ++i) {
    const int32_t node = (int32_t)i;
    if (!leat_edit_is_gone(rules->edit, node) &&
        !leat_node_constant(leat_edit_node(rules->edit, node)) &&
        readers_of(rules->edit, node) < rules->readers[i]) {
      return true;
    }
  }
  return false;
}

static bool has_roots(const rules_t* rules) {
  const leat_graph_t* graph = rules->edit->graph;
  for (size_t i = 0; i < graph->node_count; ++i) {
    const leat_op_row_t* op = graph->nodes[i].op->row;
    const int entry = find_entries(rules->entries, rules->count, op);
    if (entry < rules->count && rules->entries[entry].root == op &&
        !leat_edit_is_gone(rules->edit, (int32_t)i)) {
      return true;
    }
  }
  return false;
}

static leat_status_t run(leat_edit_t* edit, leat_rewrite_phase_t first,
                         leat_rewrite_phase_t last) {
  rules_t rules = {.edit = edit};
  if (!edit->options->find_kernel) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(list_entries(edit, first, last, &rules.entries, &rules.count));
  if (!has_roots(&rules)) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(LEAT_NEW(edit->scratch, 2 * (size_t)rules.count, &rules.candidates));
  LEAT_RETURN_IF_ERROR(leat_edit_find_conditions(edit));
  leat_trial_initialize(edit, &rules.trial);
  do {
    LEAT_RETURN_IF_ERROR(sweep(&rules));
  } while (has_freed(&rules));
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
