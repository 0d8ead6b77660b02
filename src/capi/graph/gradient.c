// TF_AddGradients: extends the graph by the operations that compute gradients (section 4.1 of the
// white paper, src/gradient),
//
//     dy[i] = sum over j of  d y[j] / d x[i]  weighted by  dx[j]     (dx[j] = ones if not given)
//
// where TensorFlow's API calls the given gradients dx and the results dy. The new operations are
// named under a prefix that no node uses yet. Some gradients are sparse (IndexedSlices: rows and
// their indices); they are summed into dense tensors here, since a TF_Output can only stand for a
// tensor. Everything runs under the graph's lock. An x on which no y depends gets an output without
// an operation.

#include "capi/handles.h"
#include "function/call_gradient.h"

typedef struct request_s {
  leat_arena_t arena;
  leat_graph_t* graph;
  leat_string_view_t prefix;
  leat_output_t* ys;
  leat_output_t* xs;
  leat_output_t* grad_ys;  // dx of the API; NULL: ones for all
  leat_gradient_value_t* gradients;
  int y_count, x_count;
} request_t;

// Whether |scope| is the name of a node or the first part of one, before a "/".
static bool is_taken(const leat_graph_t* graph, leat_string_view_t scope,
                     leat_string_view_t* out_name) {
  for (size_t i = 0; i < graph->node_count; ++i) {
    leat_string_view_t name = graph->nodes[i].name;
    if (!leat_string_view_starts_with(name, scope)) continue;
    *out_name = name;
    if (name.size == scope.size || name.data[scope.size] == '/') return true;
  }
  return false;
}

// Sets the prefix: the caller's, which must be new, or the first of "gradients", "gradients_1", ...
// that is.
static leat_status_t choose_prefix(request_t* request, const char* prefix) {
  leat_string_view_t taken_by;
  if (prefix) {
    request->prefix = leat_string_view_from(prefix);
    if (!is_taken(request->graph, request->prefix, &taken_by)) return leat_ok_status();
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "prefix [%s] conflicts with existing node in the graph named [%.*s]",
                            prefix, LEAT_SV_ARG(taken_by));
  }
  request->prefix = LEAT_SV("gradients");
  for (int i = 1; is_taken(request->graph, request->prefix, &taken_by); ++i) {
    LEAT_RETURN_IF_ERROR(
        leat_arena_print(&request->arena, &request->prefix, "gradients_%d", i));
  }
  return leat_ok_status();
}

static leat_status_t resolve_outputs(request_t* request, const TF_Graph* graph,
                                     const TF_Output* outputs, int count,
                                     leat_output_t** out_outputs) {
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(&request->arena, (size_t)count,
                                                 sizeof(leat_output_t), &memory));
  *out_outputs = memory;
  for (int i = 0; i < count; ++i) {
    LEAT_RETURN_IF_ERROR(leat_capi_output_resolve(graph, outputs[i], "Adding gradients",
                                                  &(*out_outputs)[i]));
  }
  return leat_ok_status();
}

// Checks that the gradient given for y[index] has y's type and a compatible shape.
static leat_status_t check_start(request_t* request, int index) {
  leat_output_t y = request->ys[index], dy = request->grad_ys[index];
  int y_type = leat_dtype_base(leat_graph_output_type(request->graph, y));
  int dy_type = leat_dtype_base(leat_graph_output_type(request->graph, dy));
  const leat_node_t* node = leat_graph_node(request->graph, y.node);
  if (y_type != dy_type) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Adding gradients failed for node '%.*s' (%.*s): dx[%d] has type %s, "
                            "must be %s",
                            LEAT_SV_ARG(node->name), LEAT_SV_ARG(node->op->name), index,
                            leat_dtype_name(dy_type), leat_dtype_name(y_type));
  }
  leat_partial_shape_t merged;
  leat_status_t status = leat_partial_shape_merge(leat_graph_output_shape(request->graph, y),
                                                  leat_graph_output_shape(request->graph, dy),
                                                  &request->arena, &merged);
  return leat_status_annotate(status, "Adding gradients failed for node '%.*s' (%.*s): dx[%d]",
                              LEAT_SV_ARG(node->name), LEAT_SV_ARG(node->op->name), index);
}

// Resolves dx. An entry without an operation means ones, as a missing array does for all.
static leat_status_t resolve_starts(request_t* request, const TF_Graph* graph,
                                    const TF_Output* dx) {
  if (!dx) return leat_ok_status();
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(&request->arena, (size_t)request->y_count,
                                                 sizeof(leat_output_t), &memory));
  request->grad_ys = memory;
  for (int i = 0; i < request->y_count; ++i) {
    request->grad_ys[i] = LEAT_OUTPUT_NONE;
    if (!dx[i].oper) continue;
    LEAT_RETURN_IF_ERROR(leat_capi_output_resolve(graph, dx[i], "Adding gradients",
                                                  &request->grad_ys[i]));
    LEAT_RETURN_IF_ERROR(check_start(request, i));
  }
  return leat_ok_status();
}

// Makes the gradients dense and gives them to the caller.
static leat_status_t return_gradients(request_t* request, TF_Graph* graph, TF_Output* dy) {
  leat_builder_t builder = {.graph = request->graph};
  LEAT_RETURN_IF_ERROR(leat_arena_print(&request->arena, &builder.scope, "%.*s/",
                                        LEAT_SV_ARG(request->prefix)));
  for (int i = 0; i < request->x_count; ++i) {
    leat_output_t dense = leat_gradient_value_to_dense(&builder, request->gradients[i]);
    LEAT_RETURN_IF_ERROR(builder.status);
    dy[i] = leat_capi_output(graph, dense);
    if (dense.node >= 0 && !dy[i].oper) {
      return leat_make_status(LEAT_RESOURCE_EXHAUSTED, "Memory for operation handles ran out");
    }
  }
  return leat_ok_status();
}

static leat_status_t add_gradients(request_t* request, TF_Graph* g, const char* prefix,
                                   const TF_Output* y, const TF_Output* x, const TF_Output* dx,
                                   TF_Output* dy) {
  void* memory = NULL;
  if (request->y_count < 0 || request->x_count < 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Adding gradients failed: counts are %d and %d, must be >= 0",
                            request->y_count, request->x_count);
  }
  LEAT_RETURN_IF_ERROR(choose_prefix(request, prefix));
  LEAT_RETURN_IF_ERROR(resolve_outputs(request, g, y, request->y_count, &request->ys));
  LEAT_RETURN_IF_ERROR(resolve_outputs(request, g, x, request->x_count, &request->xs));
  LEAT_RETURN_IF_ERROR(resolve_starts(request, g, dx));
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(&request->arena, (size_t)request->x_count,
                                                 sizeof(leat_gradient_value_t), &memory));
  request->gradients = memory;
  leat_call_gradient_t state;
  leat_gradient_options_t options = leat_call_gradient_options(request->graph, NULL, &state);
  leat_gradient_spec_t spec = {.ys = request->ys, .y_count = request->y_count, .xs = request->xs,
                               .x_count = request->x_count, .grad_ys = request->grad_ys,
                               .options = &options, .prefix = request->prefix};
  LEAT_RETURN_IF_ERROR(leat_add_gradients(request->graph, &spec, request->gradients));
  return return_gradients(request, g, dy);
}

void TF_AddGradientsWithPrefix(TF_Graph* g, const char* prefix, TF_Output* y, int ny,
                               TF_Output* x, int nx, TF_Output* dx, TF_Status* status,
                               TF_Output* dy) {
  request_t request = {.y_count = ny, .x_count = nx};
  leat_arena_initialize(leat_allocator_system(), 4096, &request.arena);
  request.graph = leat_capi_lock(g);
  leat_status_t result = add_gradients(&request, g, prefix, y, x, dx, dy);
  leat_capi_unlock(g);
  leat_arena_deinitialize(&request.arena);
  leat_capi_status_set(status, result);
}

void TF_AddGradients(TF_Graph* g, TF_Output* y, int ny, TF_Output* x, int nx, TF_Output* dx,
                     TF_Status* status, TF_Output* dy) {
  TF_AddGradientsWithPrefix(g, NULL, y, ny, x, nx, dx, status, dy);
}
