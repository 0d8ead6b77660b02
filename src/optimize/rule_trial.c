// Matching, making, weighing and replacing: the steps of a trial to apply a rewrite rule.
//
// The trial knows which nodes may go and what the new ones have to wait for; what the ops mean
// only the rule knows. Nodes that go are those between the rule's producer and its root: each is
// pure, lies on the root's device, is read by the next one alone (gradients of an unknown batch
// also ask for its shape, which the new node has as well) and comes under the same conditions, so
// that neither an effect nor a dead value is lost. An Identity on the way goes with them.
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
// The gain is known once the new nodes are there, since only the rule knows how many it makes and
// what they read. So they are made first, and go again where they gain nothing.
#include "optimize/rule_trial.h"

#include <string.h>

#include "base/checked.h"
#include "graph/cost/cost.h"
#include "graph/inference/inference.h"

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
static bool may_go(const leat_trial_t* a, int32_t node) {
  leat_edit_t* edit = a->edit;
  int readers = 0, waiters = 0;
  if (leat_edit_is_kept(edit, node)) return false;
  LEAT_EDIT_FOR_EACH_USE(edit, node, use) {
    const leat_reader_t reader = leat_edit_reader(edit, use);
    if (leat_edit_is_wait(edit, reader)) {
      ++waiters;
    } else if (!a->rule->keeps_shape || !reads_only_shape(edit, reader) ||
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
static bool passes_reshape(leat_trial_t* a, const leat_node_t* node) {
  if (!a->rule->passes_reshapes || !(node->op->flags & LEAT_OP_RESHAPES)) return false;
  for (int i = 1; i < node->input_count; ++i) {
    const int32_t other = node->inputs[i].node;
    if (a->bypassed_count == LEAT_TRIAL_MAX_PASSED ||
        !leat_node_constant(leat_edit_node(a->edit, other))) {
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
static bool comes_in_time(const leat_trial_t* a, int32_t reader, int32_t node) {
  const int32_t root = a->match.root;
  if (a->rule->inputs == LEAT_REWRITE_ONE_INPUT) return leat_edit_comes_with(a->edit, node, root);
  return leat_edit_node(a->edit, node)->assigned_device ==
             leat_edit_node(a->edit, root)->assigned_device &&
         (reader == root || leat_edit_comes_with(a->edit, reader, node));
}

// Goes from input |position| of |reader| to the node that makes it, past every Identity, and past
// Reshapes where the rule says so. False where one of these nodes may not go.
static bool go_back(leat_trial_t* a, int32_t reader, int position, int32_t* out_node) {
  const leat_edit_t* edit = a->edit;
  leat_output_t input = leat_edit_node(edit, reader)->inputs[position];
  for (;;) {
    const leat_node_t* node = leat_edit_node(edit, input.node);
    if (input.index != 0 || a->passed_count == a->inputs * LEAT_TRIAL_MAX_PASSED ||
        !may_go(a, input.node) || !leat_node_is_pure(edit->graph, node) ||
        !comes_in_time(a, reader, input.node)) {
      return false;
    }
    a->passed[a->passed_count++] = input.node;
    if (!leat_node_forwards(node) && !passes_reshape(a, node)) break;
    reader = input.node;
    input = node->inputs[0];
  }
  *out_node = input.node;
  return true;
}

// Whether the root alone reads the rule's output of a producer that has others too, and the new
// node can replace both: nothing else that the root needs follows from the producer.
static bool shares_producer(leat_trial_t* a) {
  leat_edit_t* edit = a->edit;
  const leat_node_t* root = leat_edit_node(edit, a->match.root);
  const leat_output_t input = root->inputs[a->match.side];
  leat_reader_t reader;
  a->match.producer = input.node;
  if (input.index != a->rule->producer_output ||
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

static bool finds_producer(leat_trial_t* a) {
  leat_rewrite_match_t* match = &a->match;
  const leat_edit_t* edit = a->edit;
  if (a->rule->producer_output) return shares_producer(a);
  if (!go_back(a, match->root, match->side, &match->producer)) return false;
  if (!a->rule->through) return true;
  match->through = match->producer;
  return leat_rewrite_is_listed(a->rule->through, leat_edit_node(edit, match->through)->op->name) &&
         go_back(a, match->through, 0, &match->producer);
}

// Whether the rule applies to what input |side| of the root leads to. The nodes that go with it
// come behind those that are listed.
static bool matches(leat_trial_t* a, int side) {
  leat_rewrite_match_t* match = &a->match;
  const leat_edit_t* edit = a->edit;
  match->side = side;
  match->producer = match->through = -1;
  match->is_reshaped = false;
  if (a->rule->producer) {
    if (side >= leat_edit_node(edit, match->root)->input_count || !finds_producer(a) ||
        !leat_rewrite_is_listed(a->rule->producer,
                                leat_edit_node(edit, match->producer)->op->name)) {
      return false;
    }
  }
  return !a->rule->applies || a->rule->applies(match);
}

// Whether the rule applies to every input of the root, or to all but the one that may stay. It goes
// from the last to the first: where all the others are taken, the first one stays.
static bool matches_inputs(leat_trial_t* a, int count) {
  int32_t* producers = a->producers;
  int staying = a->rule->inputs == LEAT_REWRITE_EVERY_INPUT ? 0 : 1;
  a->match.producers = producers;
  for (int side = count - 1; side >= 0; --side) {
    const int passed_count = a->passed_count, bypassed_count = a->bypassed_count;
    producers[side] = -1;
    if ((side > 0 || staying == 0) && matches(a, side)) {
      producers[side] = a->match.producer;
      continue;
    }
    a->passed_count = passed_count;
    a->bypassed_count = bypassed_count;
    if (--staying < 0) return false;
  }
  return true;
}

bool leat_trial_match(leat_trial_t* a, const leat_rewrite_rule_t* rule, int side) {
  const leat_node_t* root = leat_edit_node(a->edit, a->match.root);
  a->rule = rule;
  a->passed_count = a->bypassed_count = 0;
  if (!rule->has_effects && (!leat_node_is_pure(a->edit->graph, root) ||
                             !gives_one_output(a->edit, a->match.root))) {
    return false;
  }
  if (rule->inputs == LEAT_REWRITE_ONE_INPUT) return matches(a, side);
  return root->input_count > 1 && matches_inputs(a, root->input_count);
}

// ---- Making -------------------------------------------------------------------------------------

// (leat_rewrite_match_t) A node that its shape function refuses is as good as one without a kernel:
// the old nodes stay, and say what is wrong when they run.
static leat_status_t add(leat_rewrite_match_t* match, const char* op, leat_node_spec_t* spec,
                         leat_output_t* out_output) {
  leat_trial_t* a = match->optimizer;
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
  const int32_t anchor = a->has_loops && root->input_count ? root->inputs[0].node : -1;
  if (spec->input_count == 0 && spec->control_count == 0 && anchor >= 0) {
    spec->control_inputs = &anchor;
    spec->control_count = 1;
  }
  out_output->index = 0;
  leat_status_t status = leat_edit_add(edit, match->root, a->suffix, spec, &out_output->node);
  if (leat_status_code(status) != LEAT_INVALID_ARGUMENT) return status;
  leat_status_free(status);
  return leat_make_status(LEAT_NOT_FOUND, "%s does not take these inputs", op);
}

// (leat_rewrite_match_t) A control edge could not say which output of a Switch has to be alive.
static bool may_bypass(const leat_rewrite_match_t* match, int32_t node) {
  const leat_trial_t* a = match->optimizer;
  const leat_node_t* n = leat_edit_node(a->edit, node);
  return leat_node_is_pure(a->edit->graph, n) &&
         !leat_node_reads_switch_or_recv(a->edit->graph, n) &&
         leat_edit_comes_with(a->edit, node, match->root);
}

// (leat_rewrite_match_t)
static leat_status_t bypass(leat_rewrite_match_t* match, int32_t node) {
  leat_trial_t* a = match->optimizer;
  if (a->bypassed_count == LEAT_TRIAL_MAX_PASSED) {
    return leat_make_status(LEAT_NOT_FOUND, "More than %d nodes are bypassed",
                            LEAT_TRIAL_MAX_PASSED);
  }
  a->bypassed[a->bypassed_count++] = node;
  return leat_waits_add_controls(a->edit, node, &a->waits);
}

// What the new nodes wait for: what those that go waited for.
static leat_status_t list_waits(leat_trial_t* a) {
  a->waits = (leat_waits_t){0};
  LEAT_RETURN_IF_ERROR(leat_waits_add_controls(a->edit, a->match.root, &a->waits));
  for (int i = 0; i < a->passed_count; ++i) {
    LEAT_RETURN_IF_ERROR(leat_waits_add_controls(a->edit, a->passed[i], &a->waits));
  }
  for (int i = 0; i < a->bypassed_count; ++i) {
    LEAT_RETURN_IF_ERROR(leat_waits_add_controls(a->edit, a->bypassed[i], &a->waits));
  }
  return a->rule->producer_output
             ? leat_waits_add_controls(a->edit, a->match.producer, &a->waits)
             : leat_ok_status();
}

static bool is_bypassed(const leat_trial_t* a, int32_t node) {
  for (int i = 0; i < a->bypassed_count; ++i) {
    if (a->bypassed[i] == node) return true;
  }
  return false;
}

// Adds all that |node| reads and waits for, and of a bypassed node that is among them what that one
// reads and waits for.
static leat_status_t add_sources(const leat_trial_t* a, int32_t node,
                                 leat_waits_t* inout_sources) {
  for (int k = 0; k < leat_node_edge_count(leat_edit_node(a->edit, node)); ++k) {
    const int32_t source = leat_edit_node(a->edit, node)->inputs[k].node;
    LEAT_RETURN_IF_ERROR(is_bypassed(a, source) ? add_sources(a, source, inout_sources)
                                                : leat_waits_add(a->edit, source, inout_sources));
  }
  return leat_ok_status();
}

// Who waits for one of the |count| nodes waits for what it reads and waits for instead, so that it
// can vanish when nobody reads it.
static leat_status_t pass_waiters(const leat_trial_t* a, const int32_t* nodes, int count) {
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

// Infers the shapes of a node that goes again, where they are not known. The graph may have become
// better known since the node was added, and the new nodes are compared with it.
static leat_status_t infer_again(leat_edit_t* edit, int32_t index) {
  const leat_node_t* node = leat_edit_node(edit, index);
  leat_partial_shape_t* shapes;
  if (!node->output_count || leat_partial_shape_is_full(node->output_shapes[0])) {
    return leat_ok_status();
  }
  LEAT_RETURN_IF_ERROR(LEAT_NEW(edit->scratch, (size_t)node->output_count, &shapes));
  leat_status_t status = leat_inference_run(edit->graph, node, shapes, NULL);
  for (int i = 0; i < node->output_count && !status; ++i) {
    status = leat_graph_refine_shape(edit->graph, (leat_output_t){index, i}, shapes[i]);
  }
  // A contradiction is told when the node, or what replaces it, runs.
  if (leat_status_code(status) != LEAT_INVALID_ARGUMENT) return status;
  leat_status_free(status);
  return leat_ok_status();
}

// From the producers to the root.
static leat_status_t infer_all_again(const leat_trial_t* a) {
  for (int i = a->bypassed_count; i-- > 0;) {
    LEAT_RETURN_IF_ERROR(infer_again(a->edit, a->bypassed[i]));
  }
  for (int i = a->passed_count; i-- > 0;) {
    LEAT_RETURN_IF_ERROR(infer_again(a->edit, a->passed[i]));
  }
  return infer_again(a->edit, a->match.root);
}

// What replaces the root has the shapes that the root was known to have.
static leat_status_t keep_shapes(const leat_trial_t* a) {
  const int32_t root = a->match.root;
  if (a->rule->has_effects) return refine_shapes(a->edit, root, a->by.node);
  return leat_graph_refine_shape(a->edit->graph, a->by,
                                 leat_edit_node(a->edit, root)->output_shapes[0]);
}

leat_status_t leat_trial_make(leat_trial_t* a, bool* out_made) {
  a->first_made = a->edit->graph->node_count;
  a->by = LEAT_OUTPUT_NONE;
  LEAT_RETURN_IF_ERROR(list_waits(a));
  leat_status_t status = a->rule->make(&a->match, &a->by);
  *out_made = leat_status_code(status) != LEAT_NOT_FOUND;
  if (!*out_made) {
    leat_status_free(status);
    leat_trial_drop(a);
    return leat_ok_status();
  }
  if (status) return leat_status_annotate(status, "rule %s", a->rule->name);
  if (a->rule->producer_output) a->by.index = a->rule->producer_output;
  LEAT_DCHECK(leat_output_exists(a->by) && a->by.node != a->match.root);
  LEAT_RETURN_IF_ERROR(infer_all_again(a));
  return keep_shapes(a);
}

void leat_trial_drop(leat_trial_t* a) { leat_edit_drop_unneeded(a->edit, a->first_made); }

leat_status_t leat_trial_replace(leat_trial_t* a) {
  const leat_rewrite_rule_t* rule = a->rule;
  leat_edit_t* edit = a->edit;
  LEAT_RETURN_IF_ERROR(pass_waiters(a, a->passed, a->passed_count));
  LEAT_RETURN_IF_ERROR(pass_waiters(a, a->bypassed, a->bypassed_count));
  for (int i = 0; i < a->passed_count && rule->keeps_shape; ++i) {
    LEAT_RETURN_IF_ERROR(move_shape_readers(edit, a->passed[i], a->by));
  }
  leat_pass_note_rule(edit->options, rule);
  if (rule->has_effects) return leat_edit_replace(edit, a->match.root, a->by.node);
  LEAT_RETURN_IF_ERROR(leat_edit_replace_by_output(edit, a->match.root, a->by));
  return rule->producer_output ? leat_edit_replace(edit, a->match.producer, a->by.node)
                               : leat_ok_status();
}

// ---- Weighing -----------------------------------------------------------------------------------

// Whether the node goes for sure, or is a bypassed one of which that was found out.
static bool goes(const leat_trial_t* a, int32_t node) {
  if (node == a->match.root || (a->rule->producer_output && node == a->match.producer)) return true;
  for (int i = 0; i < a->passed_count; ++i) {
    if (a->passed[i] == node) return true;
  }
  for (int i = 0; i < a->bypassed_count; ++i) {
    if (a->bypassed[i] == node && a->bypassed_goes[i]) return true;
  }
  return false;
}

static bool only_going_nodes_read(const leat_trial_t* a, int32_t node) {
  if (leat_edit_is_kept(a->edit, node)) return false;
  LEAT_EDIT_FOR_EACH_USE(a->edit, node, use) {
    const leat_reader_t reader = leat_edit_reader(a->edit, use);
    if (!leat_edit_is_wait(a->edit, reader) && !goes(a, reader.node)) return false;
  }
  return true;
}

static int64_t time_of(const leat_trial_t* a, int32_t node, const leat_speed_t* speed) {
  const leat_graph_t* graph = a->edit->graph;
  return leat_cost_time_ns(leat_cost_work(graph, leat_edit_node(a->edit, node)), speed);
}

// The time of the bypassed nodes that nobody but going nodes reads: they go too. Each that is found
// may make another one go, in whatever order the rule has bypassed them.
static int64_t time_of_bypassed(leat_trial_t* a, const leat_speed_t* speed) {
  int64_t time = 0;
  bool found = true;
  memset(a->bypassed_goes, 0, sizeof a->bypassed_goes);
  while (found) {
    found = false;
    for (int i = 0; i < a->bypassed_count; ++i) {
      const int32_t node = a->bypassed[i];
      if (goes(a, node) || !only_going_nodes_read(a, node)) continue;
      a->bypassed_goes[i] = found = true;
      time += time_of(a, node, speed);
    }
  }
  return time;
}

int64_t leat_trial_gain_ns(leat_trial_t* a) {
  const int32_t root = a->match.root;
  const leat_speed_t speed =
      leat_pass_speed(a->edit->options, leat_edit_node(a->edit, root)->assigned_device);
  int64_t gain = time_of(a, root, &speed) + time_of_bypassed(a, &speed);
  if (a->rule->producer_output) gain += time_of(a, a->match.producer, &speed);
  for (int i = 0; i < a->passed_count; ++i) gain += time_of(a, a->passed[i], &speed);
  for (size_t i = a->first_made; i < a->edit->graph->node_count; ++i) {
    gain -= time_of(a, (int32_t)i, &speed);
  }
  return gain;
}

// ---- From beginning to end ----------------------------------------------------------------------

static bool has_loops(const leat_graph_t* graph) {
  for (size_t i = 0; i < graph->node_count; ++i) {
    if (graph->nodes[i].op->flags & LEAT_OP_ENTER) return true;
  }
  return false;
}

void leat_trial_initialize(leat_edit_t* edit, leat_trial_t* out_trial) {
  LEAT_DCHECK(edit->has_conditions);
  *out_trial = (leat_trial_t){.match = {.graph = edit->graph,
                                            .arena = edit->scratch,
                                            .add = add,
                                            .may_bypass = may_bypass,
                                            .bypass = bypass,
                                            .optimizer = out_trial},
                                  .edit = edit,
                                  .has_loops = has_loops(edit->graph)};
}

leat_status_t leat_trial_begin(leat_trial_t* a, int32_t root) {
  const int inputs = LEAT_MAX(leat_edit_node(a->edit, root)->input_count, 2);
  const size_t room = (size_t)inputs * LEAT_TRIAL_MAX_PASSED;
  a->match.root = root;
  if (inputs <= a->inputs) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(LEAT_NEW(a->edit->scratch, (size_t)inputs, &a->producers));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(a->edit->scratch, room, &a->passed));
  a->inputs = inputs;
  return leat_ok_status();
}
