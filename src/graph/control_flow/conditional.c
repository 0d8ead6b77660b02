// Conditionals of section 4.4 of the white paper, built in three calls with the client's nodes
// between them. leat/control_flow.h is the public form of the three calls. The names of the nodes
// are TensorFlow's:
//
//   predicate ─▶ Switch ─(1)─▶ switch_t    pivot of the true branch
//           │          └─(0)─▶ switch_f    pivot of the false branch
//           └──▶ pred_id                   decides for each value that a branch captures
//
//   results of the false branch ─┐
//   results of the true branch  ─┴─▶ Merge, one for each pair
//
// A branch is a context, so nodes that the client adds between two calls belong to it, and values
// from outside come in through a Switch. Only one of the two branches is open at a time; the false
// branch is made when the true one ends, and each then knows the other. What is wrong with a
// predicate or a pair of results is said before a node is added.
#include "graph/control_flow/construct.h"

static const char kBegin[] = "Beginning a conditional", kElse[] = "Ending a true branch",
                  kEnd[] = "Ending a conditional";

// What the two branches are made of.
typedef struct start_s {
  int32_t pivots[2];  // by branch
  leat_output_t predicate;
} start_t;

static leat_status_t check_predicate(const leat_graph_t* graph, leat_output_t predicate) {
  const leat_node_t* node = leat_graph_node(graph, predicate.node);
  int dtype = leat_dtype_base(node->output_types[predicate.index]);
  leat_partial_shape_t shape = node->output_shapes[predicate.index];
  if (dtype == LEAT_DTYPE_BOOL && shape.rank <= 0) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "%s failed for node '%.*s' (%.*s): predicate is %s of shape %s, must be "
                          "a scalar bool",
                          kBegin, LEAT_SV_ARG(node->name), LEAT_SV_ARG(node->op->name),
                          leat_dtype_name(dtype), LEAT_PARTIAL_SHAPE_TEXT(shape));
}

// The nodes that both branches share. They are in the context around the conditional.
static leat_status_t add_start(leat_control_context_t* branch,
                               const leat_control_options_t* options, leat_output_t predicate,
                               start_t* out_start) {
  leat_control_flow_t* flow = branch->flow;
  leat_control_node_t request = {.op = "Switch",
                                 .scope = branch->scope,
                                 .device = branch->device,
                                 .inputs = LEAT_INPUTS(predicate, predicate),
                                 .controls = options->after,
                                 .control_count = options->after_count,
                                 .colocate_with = -1};
  int32_t parted = -1;
  LEAT_RETURN_IF_ERROR(check_predicate(flow->graph, predicate));
  LEAT_RETURN_IF_ERROR(leat_control_build(flow, &request, &parted));
  request.op = "Identity";
  request.control_count = 0;
  request.name = "switch_t";
  request.inputs = LEAT_INPUTS(((leat_output_t){parted, 1}));
  LEAT_RETURN_IF_ERROR(leat_control_build(flow, &request, &out_start->pivots[1]));
  request.name = "switch_f";
  request.inputs = LEAT_INPUTS(((leat_output_t){parted, 0}));
  LEAT_RETURN_IF_ERROR(leat_control_build(flow, &request, &out_start->pivots[0]));
  request.name = "pred_id";
  request.control_count = options->after_count;
  request.inputs = LEAT_INPUTS(predicate);
  out_start->predicate.index = 0;
  return leat_control_build(flow, &request, &out_start->predicate.node);
}

// Makes a context the branch |side|. The predicate is known there as itself.
static leat_status_t open_branch(leat_control_context_t* branch, int side, int32_t pivot,
                                 leat_output_t predicate) {
  branch->branch = (uint8_t)side;
  branch->pivot = pivot;
  branch->predicate = predicate;
  uint64_t key = (uint64_t)(uint32_t)predicate.node << 32;
  LEAT_RETURN_IF_ERROR(leat_word_map_set(&branch->captures, key, key));
  LEAT_RETURN_IF_ERROR(leat_word_map_set(&branch->flow->context_of, (uint64_t)pivot,
                                         (uintptr_t)branch));
  return leat_control_open(branch, LEAT_CONTROL_OPEN);
}

leat_status_t leat_control_cond_begin(leat_control_flow_t* flow,
                                      const leat_control_options_t* options,
                                      leat_output_t predicate,
                                      leat_control_context_t** out_context) {
  leat_control_context_t* branch = NULL;
  leat_control_change_t change;
  start_t start;
  LEAT_RETURN_IF_ERROR(leat_control_change_begin(flow, &change));
  leat_status_t status = leat_control_create(flow, options, &branch);
  if (!status) status = add_start(branch, options, predicate, &start);
  if (!status) status = open_branch(branch, 1, start.pivots[1], start.predicate);
  if (status) {
    leat_control_flow_abandon(branch);
    return leat_control_change_end(flow, &change, status);
  }
  branch->other_pivot = start.pivots[0];
  *out_context = branch;
  return leat_ok_status();
}

// ---- Ends of branches ---------------------------------------------------------------------------

// What stands for an operation as a result: an Identity of the pivot that waits for it.
static leat_status_t wait_for(leat_control_context_t* branch, int32_t node,
                              leat_output_t* out_result) {
  leat_control_node_t request = {.op = "Identity",
                                 .name = "control_dependency",
                                 .scope = branch->scope,
                                 .inputs = LEAT_INPUTS(((leat_output_t){branch->pivot, 0})),
                                 .controls = &node,
                                 .control_count = 1,
                                 .colocate_with = branch->pivot};
  out_result->index = 0;
  return leat_control_build(branch->flow, &request, &out_result->node);
}

static leat_status_t take_results(leat_control_context_t* branch, const leat_output_t* results,
                                  int count, const char* verb, leat_output_t** out_results) {
  if (count < 1) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "%s failed for context '%.*s': result count is %d, must be >= 1", verb,
                            LEAT_SV_ARG(branch->scope), count);
  }
  leat_graph_t* graph = branch->flow->graph;
  const leat_op_t* op = NULL;
  const leat_control_reader_t reader = {.scope = branch->scope, .device = branch->device};
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&branch->flow->arena, (size_t)count, out_results));
  LEAT_RETURN_IF_ERROR(leat_op_registry_find(graph->ops, LEAT_SV("Merge"), &op));
  for (int i = 0; i < count; ++i) {
    leat_output_t* result = &(*out_results)[i];
    if (results[i].index == LEAT_CONTROL_INDEX) {
      LEAT_RETURN_IF_ERROR(wait_for(branch, results[i].node, result));
      continue;
    }
    LEAT_RETURN_IF_ERROR(
        leat_control_check_input(branch->flow, branch, results[i], op, branch->scope));
    LEAT_RETURN_IF_ERROR(leat_control_bring(branch, results[i], &reader, result));
  }
  return leat_ok_status();
}

leat_status_t leat_control_cond_else(leat_control_context_t* branch, const leat_output_t* results,
                                     int count, leat_control_context_t** out_context) {
  LEAT_RETURN_IF_ERROR(leat_control_check_stage(branch, LEAT_CONTROL_OPEN, kElse));
  leat_control_flow_t* flow = branch->flow;
  if (branch->is_loop || branch->branch == 0) {
    return leat_make_status(LEAT_FAILED_PRECONDITION,
                            "%s failed for context '%.*s': it is a %s, must be a true branch",
                            kElse, LEAT_SV_ARG(branch->scope),
                            branch->is_loop ? "loop" : "false branch");
  }
  leat_control_change_t change;
  LEAT_RETURN_IF_ERROR(leat_control_change_begin(flow, &change));
  leat_output_t* taken = NULL;
  leat_status_t status = take_results(branch, results, count, kElse, &taken);
  leat_control_context_t* next = NULL;
  leat_control_options_t options = {
      .name = leat_string_view_make(branch->scope.data, branch->scope.size - 1),
      .device = branch->device};
  if (!status) status = leat_control_create(flow, &options, &next);
  if (status) return leat_control_change_end(flow, &change, status);
  next->outer = branch->outer;
  next->loop = branch->loop;
  next->depth = branch->depth;
  next->other = branch;
  leat_control_close(branch);
  status = open_branch(next, 0, branch->other_pivot, branch->predicate);
  if (status) {  // without memory for the second branch the first is open again
    leat_status_t again = leat_control_open(branch, LEAT_CONTROL_OPEN);
    return leat_control_change_end(flow, &change, leat_status_join(status, again));
  }
  branch->other = next;
  branch->results = taken;
  branch->result_count = count;
  *out_context = next;
  return leat_ok_status();
}

// Both branches give as many results, of the same types.
static leat_status_t check_pairs(const leat_control_context_t* branch, const leat_output_t* results,
                                 int count) {
  const leat_graph_t* graph = branch->flow->graph;
  const leat_control_context_t* other = branch->other;
  if (count != other->result_count) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "%s failed for context '%.*s': the false branch has %d results, must "
                            "have %d as the true branch",
                            kEnd, LEAT_SV_ARG(branch->scope), count, other->result_count);
  }
  for (int i = 0; i < count; ++i) {
    int x = leat_dtype_base(leat_graph_output_type(graph, other->results[i]));
    int y = leat_dtype_base(leat_graph_output_type(graph, results[i]));
    if (x == y) continue;
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Outputs of both branches of a conditional must have the same type(s). "
                            "Received %s from the true branch ('%.*s:%d') and %s from the false "
                            "branch ('%.*s:%d')",
                            leat_dtype_name(x),
                            LEAT_SV_ARG(graph->nodes[other->results[i].node].name),
                            other->results[i].index, leat_dtype_name(y),
                            LEAT_SV_ARG(graph->nodes[results[i].node].name), results[i].index);
  }
  return leat_ok_status();
}

// The Merges, which are outside both branches. A pair of references is merged as such.
static leat_status_t merge(leat_control_context_t* branch, const leat_output_t* results,
                           leat_output_t* out_merged) {
  const leat_graph_t* graph = branch->flow->graph;
  const leat_control_context_t* other = branch->other;
  for (int i = 0; i < other->result_count; ++i) {
    bool are_refs = leat_dtype_is_ref(leat_graph_output_type(graph, results[i])) &&
                    leat_dtype_is_ref(leat_graph_output_type(graph, other->results[i]));
    leat_control_node_t request = {.op = are_refs ? "RefMerge" : "Merge",
                                   .name = "Merge",
                                   .scope = branch->scope,
                                   .device = branch->device,
                                   .inputs = LEAT_INPUTS(results[i], other->results[i]),
                                   .colocate_with = -1};
    out_merged[i].index = 0;
    LEAT_RETURN_IF_ERROR(leat_control_build(branch->flow, &request, &out_merged[i].node));
  }
  return leat_ok_status();
}

leat_status_t leat_control_cond_end(leat_control_context_t* branch, const leat_output_t* results,
                                    int count, leat_output_t* out_merged) {
  LEAT_RETURN_IF_ERROR(leat_control_check_stage(branch, LEAT_CONTROL_OPEN, kEnd));
  leat_control_flow_t* flow = branch->flow;
  if (branch->is_loop || branch->branch == 1) {
    return leat_make_status(LEAT_FAILED_PRECONDITION,
                            "%s failed for context '%.*s': it is a %s, must be a false branch",
                            kEnd, LEAT_SV_ARG(branch->scope),
                            branch->is_loop ? "loop" : "true branch");
  }
  LEAT_DCHECK(branch->other);
  leat_control_change_t change;
  LEAT_RETURN_IF_ERROR(leat_control_change_begin(flow, &change));
  leat_output_t* taken = NULL;
  leat_status_t status = take_results(branch, results, count, kEnd, &taken);
  if (!status) status = check_pairs(branch, taken, count);
  if (!status) {
    // The Merges are added as if the branch were left already; where that fails it is open still.
    leat_control_builder_t* builder = branch->builder;
    builder->current = branch->outer;
    status = merge(branch, taken, out_merged);
    builder->current = branch;
  }
  if (status) return leat_control_change_end(flow, &change, status);
  leat_control_close(branch);
  return leat_ok_status();
}
