// TF_TryEvaluateConstant: the value of an output, where it follows from the graph alone. There are
// two ways to it. If the output and everything that it depends on is constant and pure, and has a
// CPU kernel, a step is run by a session that the graph keeps for this purpose. Otherwise shape
// inference may know the value: the Shape of a fed tensor, for example, whose static shape is
// known. The step runs without the graph's lock, because a session takes that lock itself. Not
// knowing a value is no error: the result is then NULL.
#include "capi/handles.h"
#include "graph/inference/inference.h"
#include "kernel/registry.h"

// Flags of ops whose outputs are not a function of their inputs alone, or not outside a step.
#define NOT_CONSTANT                                                                            \
  (LEAT_OP_STATEFUL | LEAT_OP_PLACEHOLDER | LEAT_OP_SEND | LEAT_OP_RECV | LEAT_OP_CONTROL_FLOW | \
   LEAT_OP_LOOP_CONDITION | LEAT_OP_CONTROL_TRIGGER | LEAT_OP_ARGUMENT | LEAT_OP_RETURN_VALUE |  \
   LEAT_OP_NEVER_FOLD)

static bool has_kernel(const leat_kernel_registry_t* kernels, const leat_node_t* node) {
  const leat_kernel_row_t* row = NULL;
  leat_status_t status = leat_kernel_registry_find(kernels, node->op, node->attrs,
                                                   node->attr_count, LEAT_SV("CPU"), &row);
  bool found = leat_status_is_ok(status);
  leat_status_free(status);
  return found;
}

// Whether |root| and everything that it depends on is constant, by a depth-first walk. |seen| and
// |stack| have room for all nodes.
static bool is_constant(const leat_graph_t* graph, const leat_kernel_registry_t* kernels,
                        int32_t root, bool* seen, int32_t* stack) {
  size_t depth = 0;
  stack[depth++] = root;
  seen[root] = true;
  while (depth > 0) {
    const leat_node_t* node = leat_graph_node(graph, stack[--depth]);
    if ((node->op->flags & NOT_CONSTANT) || !has_kernel(kernels, node)) return false;
    for (int i = 0; i < node->input_count + node->control_count; ++i) {
      int32_t source = node->inputs[i].node;
      if (seen[source]) continue;
      seen[source] = true;
      stack[depth++] = source;
    }
  }
  return true;
}

// Makes a tensor of the value that shape inference knows. It knows integers only; the value counts
// only if all of its elements are known.
static leat_status_t read_inferred(leat_graph_t* graph, leat_output_t output,
                                   leat_tensor_t* out_tensor, bool* out_known) {
  int dtype = leat_graph_output_type(graph, output);
  leat_partial_value_t value = {.rank = -1};
  if (dtype != LEAT_DTYPE_INT32 && dtype != LEAT_DTYPE_INT64) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_inference_value_of(graph, output, 0, &value));
  if (value.rank < 0) return leat_ok_status();
  for (int i = 0; i < value.count; ++i) {
    if (value.items[i] == LEAT_VALUE_UNKNOWN) return leat_ok_status();
  }
  leat_shape_t shape = value.rank == 0 ? leat_shape_scalar() : leat_shape_vector(value.count);
  LEAT_RETURN_IF_ERROR(
      leat_tensor_allocate(leat_buffer_source_host(), dtype, &shape, out_tensor));
  for (int i = 0; i < value.count; ++i) {
    if (dtype == LEAT_DTYPE_INT32) {
      leat_tensor_data(out_tensor, int32_t)[i] = (int32_t)value.items[i];
    } else {
      leat_tensor_data(out_tensor, int64_t)[i] = value.items[i];
    }
  }
  *out_known = true;
  return leat_ok_status();
}

// Called with the graph's lock held. Gives the inferred value, or says in |*out_runnable| that a
// step gives it; then the graph's evaluator exists.
static leat_status_t examine(TF_Graph* graph, const leat_runtime_t* runtime, leat_output_t output,
                             leat_tensor_t* out_tensor, bool* out_known, bool* out_runnable) {
  leat_graph_t* g = graph->shared->graph;
  leat_arena_t arena;
  void* seen = NULL;
  void* stack = NULL;
  *out_runnable = false;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_status_t status = leat_arena_allocate_array(&arena, g->node_count, sizeof(bool), &seen);
  if (!status) {
    status = leat_arena_allocate_array(&arena, g->node_count, sizeof(int32_t), &stack);
  }
  if (!status) *out_runnable = is_constant(g, runtime->kernels, output.node, seen, stack);
  leat_arena_deinitialize(&arena);
  LEAT_RETURN_IF_ERROR(status);
  if (!*out_runnable) return read_inferred(g, output, out_tensor, out_known);
  if (graph->evaluator) return leat_ok_status();
  leat_session_options_t options = leat_session_options_default();
  return leat_session_create(runtime, graph->shared, &options, &graph->evaluator);
}

static leat_status_t evaluate(TF_Graph* graph, TF_Output output, leat_tensor_t* out_tensor,
                              bool* out_known) {
  const leat_runtime_t* runtime = NULL;
  leat_output_t source;
  bool runnable = false;
  LEAT_RETURN_IF_ERROR(leat_runtime_get(&runtime));
  leat_capi_lock(graph);
  leat_status_t status = leat_capi_output_resolve(graph, output, "Evaluating", &source);
  if (!status) status = examine(graph, runtime, source, out_tensor, out_known, &runnable);
  leat_capi_unlock(graph);
  if (status || !runnable) return status;
  leat_run_t run = {.fetches = &source, .fetch_values = out_tensor, .fetch_count = 1};
  LEAT_RETURN_IF_ERROR(leat_session_run(graph->evaluator, &run));
  *out_known = true;
  return leat_ok_status();
}

unsigned char TF_TryEvaluateConstant(TF_Graph* graph, TF_Output output, TF_Tensor** result,
                                     TF_Status* status) {
  leat_tensor_t tensor = {0};
  bool known = false;
  *result = NULL;
  leat_status_t outcome = evaluate(graph, output, &tensor, &known);
  if (!outcome && known) outcome = leat_capi_tensor_wrap(&tensor, result);
  leat_capi_status_set(status, outcome);
  return *result != NULL;
}
