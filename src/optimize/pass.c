// The list of passes, the functions that run them, and what every pass may ask of a node.
//
// The passes of a stage share one edit, so that readers and ranks are computed once, and nodes that
// are not needed any more are dropped once, when all passes of the stage have run. The order of the
// list is the order in which they run, and it must agree with what each pass says in |after|.
//
// Debug builds verify the graph and the edit after each pass. A pass that leaves an edge to a node
// that is gone is thus named in the error at once, and not the executor that fails on it later. The
// master calls these functions before placement, after it, and after partitioning.
#include "optimize/pass.h"

#include <stdio.h>
#include <string.h>

#include "graph/verify.h"
#include "optimize/edit.h"

const leat_pass_t* const leat_passes[] = {
    &leat_pass_fold,      &leat_pass_arithmetic,     &leat_pass_dependency,
    &leat_pass_cse,       &leat_pass_recompute,      &leat_pass_plugin,
    &leat_pass_rules,     &leat_pass_defer,          &leat_pass_concat_sinking,
    &leat_pass_prologues, &leat_pass_fusion,         &leat_pass_swap,
    &leat_pass_compress,  &leat_pass_recv_schedule,
    NULL};

uint32_t leat_passes_of_option(const char* option) {
  uint32_t bits = 0;
  for (const leat_pass_t* const* pass = leat_passes; *pass; ++pass) {
    const char* own = (*pass)->option;
    if (own && (!option || strcmp(own, option) == 0)) bits |= (*pass)->bit;
  }
  return bits;
}

// ---- Running passes -----------------------------------------------------------------------------

#define MAX_STAGE 64  // of "pass <name>"

static bool is_on(const leat_pass_t* pass, const leat_pass_options_t* options,
                  leat_pass_stage_t stage) {
  return pass->stage == stage && options->passes & pass->bit;
}

// How many nodes from |begin| to |end| are not gone.
static size_t count_nodes(const leat_edit_t* edit, size_t begin, size_t end) {
  size_t count = 0;
  for (size_t i = begin; i < end; ++i) count += !leat_edit_is_gone(edit, (int32_t)i);
  return count;
}

static bool is_shown(const leat_pass_observer_t* observer) {
  return observer && observer->on_graphs;
}

// Shows what the edit has come to, without those nodes that are gone.
static leat_status_t show_edit(const leat_pass_t* pass, const leat_edit_t* edit) {
  const leat_pass_observer_t* observer = edit->options->observer;
  leat_graph_t* graph;
  LEAT_RETURN_IF_ERROR(leat_edit_copy(edit, &graph));
  const leat_graph_t* shown = graph;
  leat_status_t status = observer->on_graphs(observer->data, pass, &shown, 1);
  leat_graph_free(graph);
  return status;
}

static leat_status_t run(const leat_pass_t* pass, leat_edit_t* edit) {
  const leat_pass_observer_t* observer = edit->options->observer;
  char stage[MAX_STAGE];
  leat_edit_begin_pass(edit);
  const size_t first_new = edit->first_of_pass;
  const size_t before = observer ? count_nodes(edit, 0, first_new) : 0;
  leat_status_t status = pass->run(edit);
  if (status) return leat_status_annotate(status, "pass %s", pass->name);
  leat_edit_drop_unneeded(edit, edit->first_of_pass);
  if (observer && observer->on_pass) {
    observer->on_pass(observer->data, pass, before - count_nodes(edit, 0, first_new),
                      count_nodes(edit, first_new, edit->graph->node_count));
  }
  if (is_shown(observer)) LEAT_RETURN_IF_ERROR(show_edit(pass, edit));
  if (!LEAT_VERIFIES) return leat_ok_status();
  snprintf(stage, sizeof stage, "pass %s", pass->name);
  return leat_edit_verify(edit, pass->stage == LEAT_PASS_PLACED, stage);
}

static leat_status_t end_edit(leat_edit_t* edit, leat_status_t status) {
  if (!status && edit->graph) status = leat_edit_compact(edit);
  leat_edit_deinitialize(edit);
  return status;
}

// Runs a pass that makes another graph, after the edits of those before it are ended.
static leat_status_t run_graph(const leat_pass_t* pass, leat_rewrite_t* rewrite,
                               const leat_pass_options_t* options, leat_edit_t* inout_edit) {
  const leat_pass_observer_t* observer = options->observer;
  char stage[MAX_STAGE];
  leat_status_t status = inout_edit->graph ? end_edit(inout_edit, leat_ok_status())
                                           : leat_ok_status();
  *inout_edit = (leat_edit_t){0};
  const leat_graph_t* before = rewrite->graph;
  const size_t count = before->node_count;
  if (!status) status = pass->run_graph(rewrite, options);
  if (status) return leat_status_annotate(status, "pass %s", pass->name);
  if (observer && observer->on_pass && rewrite->graph != before) {
    observer->on_pass(observer->data, pass, count, rewrite->graph->node_count);
  }
  if (is_shown(observer)) {
    const leat_graph_t* shown = rewrite->graph;
    LEAT_RETURN_IF_ERROR(observer->on_graphs(observer->data, pass, &shown, 1));
  }
  if (!LEAT_VERIFIES) return leat_ok_status();
  snprintf(stage, sizeof stage, "pass %s", pass->name);
  return leat_graph_verify(rewrite->graph, stage);
}

// Runs the pass if it may have work. The edit is made for the first pass that has.
static leat_status_t run_if_needed(const leat_pass_t* pass, leat_rewrite_t* rewrite,
                                   const leat_pass_options_t* options, leat_edit_t* inout_edit) {
  if (pass->has_work && !pass->has_work(rewrite->graph)) return leat_ok_status();
  if (pass->run_graph) return run_graph(pass, rewrite, options, inout_edit);
  if (!inout_edit->graph) {
    LEAT_RETURN_IF_ERROR(leat_edit_initialize(rewrite, options, inout_edit));
  }
  return run(pass, inout_edit);
}

leat_status_t leat_passes_run(leat_rewrite_t* rewrite, const leat_pass_options_t* options,
                              leat_pass_stage_t stage) {
  leat_edit_t edit = {0};
  leat_status_t status = leat_ok_status();
  for (const leat_pass_t* const* pass = leat_passes; *pass && !status; ++pass) {
    if (is_on(*pass, options, stage)) status = run_if_needed(*pass, rewrite, options, &edit);
  }
  return end_edit(&edit, status);
}

leat_status_t leat_pass_run(const leat_pass_t* pass, leat_rewrite_t* rewrite,
                            const leat_pass_options_t* options) {
  leat_edit_t edit = {0};
  return end_edit(&edit, run_if_needed(pass, rewrite, options, &edit));
}

// ---- Passes over partitions ---------------------------------------------------------------------

// Such a pass takes no nodes away, so that the graphs are as they will be.
static leat_status_t show_edits(const leat_pass_t* pass, leat_edit_t* edits, int count) {
  const leat_pass_observer_t* observer = edits[0].options->observer;
  const leat_graph_t** graphs;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(edits[0].scratch, (size_t)count, &graphs));
  for (int i = 0; i < count; ++i) graphs[i] = edits[i].graph;
  return observer->on_graphs(observer->data, pass, graphs, count);
}

static leat_status_t run_on(const leat_pass_t* pass, leat_edit_t* edits, int count) {
  char stage[MAX_STAGE];
  for (int i = 0; i < count; ++i) leat_edit_begin_pass(&edits[i]);
  leat_status_t status = pass->run_partitions(edits, count);
  if (status) return leat_status_annotate(status, "pass %s", pass->name);
  if (is_shown(edits[0].options->observer)) LEAT_RETURN_IF_ERROR(show_edits(pass, edits, count));
  if (!LEAT_VERIFIES) return leat_ok_status();
  snprintf(stage, sizeof stage, "pass %s", pass->name);
  for (int i = 0; i < count && !status; ++i) status = leat_graph_verify(edits[i].graph, stage);
  return status;
}

static leat_status_t run_all_on(leat_edit_t* edits, int count, const leat_pass_options_t* options,
                                const leat_pass_t* only) {
  leat_status_t status = leat_ok_status();
  for (const leat_pass_t* const* pass = leat_passes; *pass && !only && !status; ++pass) {
    if (is_on(*pass, options, LEAT_PASS_PARTITIONS)) status = run_on(*pass, edits, count);
  }
  return only ? run_on(only, edits, count) : status;
}

// Drops no nodes of a partition: a node that no other one reads is a Send, or returns a value.
leat_status_t leat_passes_run_partitions(leat_graph_t* const* graphs, int count,
                                         const leat_pass_options_t* options,
                                         const leat_pass_t* only) {
  leat_arena_t arena;
  leat_rewrite_t* rewrites;
  leat_edit_t* edits = NULL;
  bool any_is_on = only != NULL;
  for (const leat_pass_t* const* pass = leat_passes; *pass; ++pass) {
    any_is_on |= is_on(*pass, options, LEAT_PASS_PARTITIONS);
  }
  if (count < 2 || !any_is_on) return leat_ok_status();
  leat_arena_initialize(graphs[0]->allocator, 0, &arena);
  leat_status_t status;
  int opened = 0;
  LEAT_GOTO_IF_ERROR(status, LEAT_NEW(&arena, (size_t)count, &rewrites));
  LEAT_GOTO_IF_ERROR(status, LEAT_NEW(&arena, (size_t)count, &edits));
  for (; opened < count; ++opened) {
    rewrites[opened].graph = graphs[opened];
    LEAT_GOTO_IF_ERROR(status, leat_edit_initialize(&rewrites[opened], options, &edits[opened]));
  }
  status = run_all_on(edits, count, options, only);
cleanup:
  for (int i = 0; i < opened; ++i) leat_edit_deinitialize(&edits[i]);
  leat_arena_deinitialize(&arena);
  return status;
}

// ---- What passes ask ---------------------------------------------------------------------------

leat_status_t leat_transfer_name(const leat_node_t* node, leat_arena_t* arena,
                                 leat_string_view_t* out_name) {
  leat_string_view_t tensor = leat_node_attr_string(node, "tensor_name");
  leat_string_view_t from = leat_node_attr_string(node, "send_device");
  leat_string_view_t to = leat_node_attr_string(node, "recv_device");
  return leat_arena_print(arena, out_name, "%.*s;%.*s;%.*s", LEAT_SV_ARG(from), LEAT_SV_ARG(to),
                          LEAT_SV_ARG(tensor));
}

void leat_rewrite_deinitialize(leat_rewrite_t* rewrite) {
  leat_graph_t* graph = rewrite->graph;
  leat_allocator_free(leat_allocator_system(), rewrite->fetches);
  leat_allocator_free(leat_allocator_system(), rewrite->targets);
  leat_graph_free(graph);
  memset(rewrite, 0, sizeof *rewrite);
}

bool leat_graph_computes(const leat_graph_t* graph) {
  for (size_t i = 0; i < graph->node_count; ++i) {
    if (graph->nodes[i].input_count > 0 && graph->nodes[i].output_count > 0) return true;
  }
  return false;
}

int64_t leat_shape_count_known(leat_partial_shape_t shape) {
  int64_t count = 1;
  if (!leat_partial_shape_is_full(shape)) return -1;
  for (int d = 0; d < shape.rank; ++d) {
    if (__builtin_mul_overflow(count, shape.dims[d], &count)) return INT64_MAX;
  }
  return count;
}

bool leat_shape_may_reach(leat_partial_shape_t shape, int64_t element_count) {
  const int64_t count = leat_shape_count_known(shape);
  return count < 0 || (count > 0 && count >= element_count);
}

const leat_kernel_row_t* leat_node_kernel(const leat_node_t* node,
                                          const leat_pass_options_t* options) {
  return options->find_kernel(options->find_kernel_data, node->op, node->attrs, node->attr_count,
                              node->assigned_device);
}

const leat_op_t* leat_node_served_as(const leat_graph_t* graph, const leat_node_t* node,
                                     const char* name, const leat_pass_options_t* options) {
  const leat_op_t* op;
  leat_status_t status = leat_op_registry_find(graph->ops, leat_string_view_from(name), &op);
  const leat_kernel_row_t* kernel =
      status ? NULL
             : options->find_kernel(options->find_kernel_data, op, node->attrs, node->attr_count,
                                    node->assigned_device);
  leat_status_free(status);
  return kernel ? op : NULL;
}

leat_speed_t leat_pass_speed(const leat_pass_options_t* options, int32_t device) {
  if (options->speeds && device >= 0) return options->speeds[device];
  return (leat_speed_t){.flops_per_ns = 8, .bytes_per_ns = 8, .start_ns = 100};
}

leat_access_t leat_node_access(const leat_graph_t* graph, const leat_node_t* node,
                               const leat_pass_options_t* options) {
  const leat_kernel_row_t* kernel = leat_node_kernel(node, options);
  const int access = kernel ? kernel->access : LEAT_ACCESS_OTHER;
  const bool is_elementwise = access != LEAT_ACCESS_OTHER && access <= LEAT_ACCESS_REPEATED;
  if ((is_elementwise && !leat_node_has_default_attrs(node)) ||
      (access == LEAT_ACCESS_BIAS && !leat_node_adds_bias(graph, node))) {
    return LEAT_ACCESS_OTHER;
  }
  return (leat_access_t)access;
}

bool leat_node_sums_rows(const leat_graph_t* graph, const leat_node_t* node,
                         const leat_pass_options_t* options) {
  return leat_node_access(graph, node, options) == LEAT_ACCESS_CONTRACTION &&
         leat_node_multiplies_ones(graph, node);
}

static bool reads_reference(const leat_graph_t* graph, const leat_node_t* node) {
  for (int i = 0; i < node->input_count; ++i) {
    if (leat_dtype_is_ref(leat_graph_output_type(graph, node->inputs[i]))) return true;
  }
  return false;
}

bool leat_node_reads_switch_or_recv(const leat_graph_t* graph, const leat_node_t* node) {
  for (int k = 0; k < node->input_count; ++k) {
    const uint32_t flags = graph->nodes[node->inputs[k].node].op->flags;
    if (flags & (LEAT_OP_SWITCH | LEAT_OP_RECV)) return true;
  }
  return false;
}

bool leat_node_is_pure(const leat_graph_t* graph, const leat_node_t* node) {
  const uint32_t impure = LEAT_OP_STATEFUL | LEAT_OP_PLACEHOLDER | LEAT_OP_ARGUMENT |
                          LEAT_OP_SEND | LEAT_OP_RECV | LEAT_OP_CONTROL_FLOW |
                          LEAT_OP_LOOP_CONDITION | LEAT_OP_RETURN_VALUE | LEAT_OP_VARIABLE |
                          LEAT_OP_STEP_RESOURCE;
  return node->output_count > 0 && !(node->op->flags & impure) && !node->op->has_ref_inputs &&
         !node->op->has_ref_outputs && !reads_reference(graph, node);
}
