// TF_AddGradients: extends the graph by the operations that compute gradients (section 4.1 of the
// white paper, src/gradient),
//
//     dy[i] = sum over j of  d y[j] / d x[i]  weighted by  dx[j]     (dx[j] = ones if not given)
//
// where TensorFlow's API calls the given gradients dx and the results dy. The new operations are
// named under a prefix that no node uses yet. Some gradients are sparse (IndexedSlices: rows and
// their indices): TF_AddGradients sums them into dense tensors, since a TF_Output can only stand
// for a tensor, and leat_gradients (leat/gradients.h) gives them as they are. An x on which no y
// depends gets an output without an operation.
//
// Everything runs under the graph's lock, except gradient functions of the caller: the lock is free
// while one runs, and TF_FinishOperation takes it for each node. TF_Graph's field |gradient| tells
// it that the node belongs to the walk, which may be building within a loop.

#include "capi/handles.h"
#include "function/call_gradient.h"
#include "leat/gradients.h"

typedef struct request_s {
  TF_Graph* handle;
  const leat_gradients_options_t* options;
  leat_arena_t arena;
  leat_graph_t* graph;
  leat_string_view_t prefix;
  leat_output_t* ys;
  leat_output_t* xs;
  leat_output_t* grad_ys;  // dx of the API; NULL: ones for all
  leat_output_t* stops;
  leat_gradient_value_t* gradients;
  int y_count, x_count;
  bool is_strict;  // as TensorFlow's C library, where tf.gradients of Python is not
} request_t;

// ---- TensorFlow's C library ---------------------------------------------------------------------
// It has a registry of gradients of its own. An op that Python declares to have none is unknown to
// it, and so an error, unless it is one of kEnds. Here that holds for the derivative of what gives
// integers, truth values or texts, such as ArgMax. Where gradients end at a rounding (Ceil, Round)
// on their way, training goes on as in Python.

static bool gives_numbers(const leat_node_t* node) {
  const leat_dtype_set_t others =
      LEAT_DTYPES_INTEGER | LEAT_DTYPE_BIT(BOOL) | LEAT_DTYPE_BIT(STRING);
  for (int i = 0; i < node->output_count; ++i) {
    if (!leat_dtype_in(leat_dtype_base(node->output_types[i]), others)) return true;
  }
  return node->output_count == 0;
}

static bool refuses(const leat_node_t* node) {
  static const char* const kEnds[] = {
      "ApproximateEqual", "Equal", "Greater", "GreaterEqual", "Less", "LessEqual",
      "NonMaxSuppression", "NonMaxSuppressionV2", "NonMaxSuppressionV3", "NonMaxSuppressionV4",
      "NotEqual", "QueueSize", "Rank", "Shape", "ShapeN", "Size"};
  if (gives_numbers(node)) return false;
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kEnds); ++i) {
    if (leat_string_view_equals(node->op->name, kEnds[i])) return false;
  }
  return true;
}

// TensorFlow's text to the letter: clients compare it, and its own tests do.
static leat_status_t unknown(leat_string_view_t entry) {
  return leat_make_status(LEAT_NOT_FOUND,
                          "No gradient defined for op: %.*s. Please see "
                          "https://www.tensorflow.org/code/tensorflow/cc/gradients/README.md for "
                          "instructions on how to add C++ gradients.",
                          LEAT_SV_ARG(entry));
}

// ---- Arguments ----------------------------------------------------------------------------------

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

// Sets the prefix: the first of |prefix|, "|prefix|_1", ... that is new, where NULL is "gradients";
// or |prefix| as it is where it ends in "/", as a name scope of TensorFlow's Python that is entered
// again. TF_AddGradientsWithPrefix refuses a prefix that is not new, as TensorFlow's does.
static leat_status_t choose_prefix(request_t* request, const char* prefix) {
  leat_string_view_t taken_by;
  const leat_string_view_t base = leat_string_view_from(prefix ? prefix : "gradients");
  request->prefix = base;
  if (base.size > 0 && base.data[base.size - 1] == '/') {
    --request->prefix.size;
    return leat_ok_status();
  }
  for (int i = 1; is_taken(request->graph, request->prefix, &taken_by); ++i) {
    if (prefix && request->is_strict) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "prefix [%s] conflicts with existing node in the graph named [%.*s]",
                              prefix, LEAT_SV_ARG(taken_by));
    }
    LEAT_RETURN_IF_ERROR(leat_arena_print(&request->arena, &request->prefix, "%.*s_%d",
                                          LEAT_SV_ARG(base), i));
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

// ---- Gradient functions of the caller -----------------------------------------------------------

// False also where there is no memory for the text; the op's function is then asked for.
static bool has_own(void* data, leat_string_view_t entry) {
  request_t* request = data;
  leat_string_view_t text;
  leat_status_t status = leat_arena_copy_string(&request->arena, entry, &text);
  const bool has =
      !status && request->options->has_gradient(request->options->data, text.data) != 0;
  leat_status_free(status);
  return has;
}

static TF_Output handle_of(TF_Graph* graph, leat_output_t output) {
  return leat_output_exists(output) ? leat_capi_output(graph, output) : (TF_Output){NULL, -1};
}

static leat_derivative_t derivative_of(TF_Graph* graph, leat_gradient_value_t value) {
  return (leat_derivative_t){handle_of(graph, value.dense), handle_of(graph, value.indices),
                             handle_of(graph, value.dense_shape)};
}

// What the caller's function set for input |index|. INVALID_ARGUMENT where it is no output of the
// graph, has not the type of the input, or is rows without their shape.
static leat_status_t take_input(TF_Graph* graph, leat_gradient_t* g, int index,
                                leat_derivative_t given) {
  leat_gradient_value_t value = LEAT_GRADIENT_NONE;
  const char* what = "Taking a derivative of the caller";
  if (!given.values.oper) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_capi_output_resolve(graph, given.values, what, &value.dense));
  if (given.indices.oper) {
    LEAT_RETURN_IF_ERROR(leat_capi_output_resolve(graph, given.indices, what, &value.indices));
    LEAT_RETURN_IF_ERROR(
        leat_capi_output_resolve(graph, given.dense_shape, what, &value.dense_shape));
  }
  const int type = leat_dtype_base(leat_graph_output_type(g->builder.graph, value.dense));
  const leat_output_t input = leat_gradient_input(g, index);
  const int wanted = leat_dtype_base(leat_graph_output_type(g->builder.graph, input));
  // A handle has a derivative of the type of its variable.
  if (type != wanted && wanted != LEAT_DTYPE_RESOURCE && wanted != LEAT_DTYPE_VARIANT) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "the caller's derivative of input %d has type %s, must be %s", index,
                            leat_dtype_name(type), leat_dtype_name(wanted));
  }
  g->input_gradients[index] = value;
  return leat_ok_status();
}

// The arguments of one call of the caller's function.
typedef struct own_call_s {
  leat_gradient_node_t node;
  leat_derivative_t* of_inputs;
} own_call_t;

static leat_status_t make_call(request_t* request, leat_gradient_t* g, own_call_t* out_call) {
  const leat_node_t* node = leat_gradient_node(g);
  leat_derivative_t* of_outputs;
  leat_string_view_t entry, name = g->builder.scope;
  if (name.size > 0) --name.size;  // without its "/"
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&request->arena, (size_t)node->output_count + 1, &of_outputs));
  LEAT_RETURN_IF_ERROR(
      LEAT_NEW(&request->arena, (size_t)node->input_count + 1, &out_call->of_inputs));
  LEAT_RETURN_IF_ERROR(leat_arena_copy_string(&request->arena, leat_gradient_entry(node), &entry));
  LEAT_RETURN_IF_ERROR(leat_arena_copy_string(&request->arena, name, &name));
  for (int i = 0; i < node->output_count; ++i) {
    of_outputs[i] = derivative_of(request->handle, g->output_gradients[i]);
  }
  TF_Operation* operation = leat_capi_operation(request->handle, g->node);
  out_call->node = (leat_gradient_node_t){
      .operation = operation, .entry = entry.data, .name = name.data, .of_outputs = of_outputs};
  if (operation) return leat_ok_status();
  return leat_make_status(LEAT_RESOURCE_EXHAUSTED, "Memory for an operation handle ran out");
}

// Calls the caller's function without the lock, outside of all contexts, which are for what the
// caller adds otherwise.
static leat_status_t call_unlocked(request_t* request, leat_gradient_t* g, own_call_t* call) {
  TF_Graph* graph = request->handle;
  TF_Status* status = TF_NewStatus();
  if (!status) return leat_make_status(LEAT_RESOURCE_EXHAUSTED, "Memory for a status ran out");
  leat_gradient_t* const outer = graph->gradient;
  const bool leaves = graph->flow != NULL;
  leat_status_t result = leaves ? leat_control_flow_enter(graph->flow, NULL) : leat_ok_status();
  if (!result) {
    graph->gradient = g;
    leat_capi_unlock(graph);
    request->options->gradient(request->options->data, &call->node, call->of_inputs, status);
    leat_capi_lock(graph);
    graph->gradient = outer;
    if (leaves) leat_control_flow_leave(graph->flow);
    result = status->status;
    status->status = NULL;
  }
  TF_DeleteStatus(status);
  return result;
}

static leat_status_t build_own(void* data, leat_gradient_t* g) {
  request_t* request = data;
  own_call_t call;
  LEAT_RETURN_IF_ERROR(make_call(request, g, &call));
  LEAT_RETURN_IF_ERROR(call_unlocked(request, g, &call));
  const int count = leat_gradient_node(g)->input_count;
  for (int i = 0; i < count; ++i) {
    LEAT_RETURN_IF_ERROR(take_input(request->handle, g, i, call.of_inputs[i]));
  }
  return leat_ok_status();
}

leat_status_t leat_capi_check_no_gradient(const TF_Graph* graph, const char* what) {
  if (LEAT_LIKELY(!graph->gradient) || !graph->gradient->builder.place) return leat_ok_status();
  const leat_node_t* node = leat_gradient_node(graph->gradient);
  return leat_make_status(LEAT_FAILED_PRECONDITION,
                          "%s failed: the gradient function of node '%.*s' (%.*s), which is in a "
                          "loop or a function, is building, and may add single operations only",
                          what, LEAT_SV_ARG(node->name), LEAT_SV_ARG(node->op->name));
}

// ---- Results ------------------------------------------------------------------------------------

// RESOURCE_EXHAUSTED where there is no memory for a handle of a gradient.
static leat_status_t reserve_handles(request_t* request) {
  for (int i = 0; i < request->x_count; ++i) {
    const leat_gradient_value_t* g = &request->gradients[i];
    const leat_output_t outputs[] = {g->dense, g->indices, g->dense_shape};
    for (size_t k = 0; k < LEAT_ARRAY_SIZE(outputs); ++k) {
      if (!leat_output_exists(outputs[k])) continue;
      LEAT_RETURN_IF_ERROR(
          leat_capi_graph_reserve(request->handle, (size_t)outputs[k].node, 1));
    }
  }
  return leat_ok_status();
}

static leat_status_t return_as_they_are(request_t* request, leat_derivative_t* out) {
  LEAT_RETURN_IF_ERROR(reserve_handles(request));
  for (int i = 0; i < request->x_count; ++i) {
    out[i] = derivative_of(request->handle, request->gradients[i]);
  }
  return leat_ok_status();
}

// Makes the gradients dense and gives them to the caller.
static leat_status_t return_dense(request_t* request, TF_Output* dy) {
  leat_builder_t builder = {.graph = request->graph};
  LEAT_RETURN_IF_ERROR(leat_arena_print(&request->arena, &builder.scope, "%.*s/",
                                        LEAT_SV_ARG(request->prefix)));
  for (int i = 0; i < request->x_count; ++i) {
    leat_output_t dense = leat_gradient_value_to_dense(&builder, request->gradients[i]);
    LEAT_RETURN_IF_ERROR(builder.status);
    request->gradients[i] = leat_gradient_dense(dense);
  }
  LEAT_RETURN_IF_ERROR(reserve_handles(request));
  for (int i = 0; i < request->x_count; ++i) {
    dy[i] = leat_capi_output(request->handle, request->gradients[i].dense);
  }
  return leat_ok_status();
}

static leat_status_t resolve_arguments(request_t* request, const TF_Output* ys,
                                       const TF_Output* xs) {
  const leat_gradients_options_t* options = request->options;
  TF_Graph* g = request->handle;
  if (request->y_count < 0 || request->x_count < 0 || options->stop_gradient_count < 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Adding gradients failed: counts are %d, %d and %d, must be >= 0",
                            request->y_count, request->x_count, options->stop_gradient_count);
  }
  if (!options->has_gradient != !options->gradient) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Adding gradients failed: of has_gradient and gradient one is NULL, "
                            "must be both or none");
  }
  LEAT_RETURN_IF_ERROR(choose_prefix(request, options->prefix));
  LEAT_RETURN_IF_ERROR(resolve_outputs(request, g, ys, request->y_count, &request->ys));
  LEAT_RETURN_IF_ERROR(resolve_outputs(request, g, xs, request->x_count, &request->xs));
  LEAT_RETURN_IF_ERROR(resolve_outputs(request, g, options->stop_gradients,
                                       options->stop_gradient_count, &request->stops));
  return resolve_starts(request, g, options->grad_ys);
}

static leat_status_t add_gradients(request_t* request, const TF_Output* ys, const TF_Output* xs) {
  const leat_own_gradients_t own = {request, has_own, build_own};
  leat_call_gradient_t state;
  LEAT_RETURN_IF_ERROR(leat_capi_check_no_gradient(request->handle, "Adding gradients"));
  LEAT_RETURN_IF_ERROR(resolve_arguments(request, ys, xs));
  LEAT_RETURN_IF_ERROR(
      LEAT_NEW(&request->arena, (size_t)request->x_count + 1, &request->gradients));
  leat_gradient_options_t options = leat_call_gradient_options(
      request->graph, NULL, request->options->gradient ? &own : NULL, &state);
  options.stop = request->stops;
  options.stop_count = request->options->stop_gradient_count;
  options.colocate = request->options->colocate != 0;
  options.refuses = request->is_strict ? refuses : NULL;
  options.as_cpp = request->is_strict;
  options.unknown = request->is_strict ? unknown : NULL;
  leat_gradient_spec_t spec = {.ys = request->ys, .y_count = request->y_count, .xs = request->xs,
                               .x_count = request->x_count, .grad_ys = request->grad_ys,
                               .options = &options, .prefix = request->prefix};
  return leat_add_gradients(request->graph, &spec, request->gradients);
}

// Adds the gradients and gives them: as they are in |rows|, or dense in |dense|; the other is NULL.
static leat_status_t run(request_t* request, const TF_Output* ys, const TF_Output* xs,
                         leat_derivative_t* rows, TF_Output* dense) {
  static const leat_gradients_options_t defaults;
  if (!request->options) request->options = &defaults;
  leat_arena_initialize(leat_allocator_system(), 4096, &request->arena);
  request->graph = leat_capi_lock(request->handle);
  leat_status_t status = add_gradients(request, ys, xs);
  if (!status) status = rows ? return_as_they_are(request, rows) : return_dense(request, dense);
  leat_capi_unlock(request->handle);
  leat_arena_deinitialize(&request->arena);
  return status;
}

void leat_gradients(TF_Graph* graph, const TF_Output* ys, int ny, const TF_Output* xs, int nx,
                    const leat_gradients_options_t* options, leat_derivative_t* out_derivatives,
                    TF_Status* status) {
  request_t request = {.handle = graph, .options = options, .y_count = ny, .x_count = nx};
  leat_capi_status_set(status, run(&request, ys, xs, out_derivatives, NULL));
}

void TF_AddGradientsWithPrefix(TF_Graph* g, const char* prefix, TF_Output* y, int ny,
                               TF_Output* x, int nx, TF_Output* dx, TF_Status* status,
                               TF_Output* dy) {
  const leat_gradients_options_t options = {.prefix = prefix, .grad_ys = dx};
  request_t request = {.handle = g, .options = &options, .y_count = ny, .x_count = nx,
                       .is_strict = true};
  leat_capi_status_set(status, run(&request, y, x, NULL, dy));
}

void TF_AddGradients(TF_Graph* g, TF_Output* y, int ny, TF_Output* x, int nx, TF_Output* dx,
                     TF_Status* status, TF_Output* dy) {
  TF_AddGradientsWithPrefix(g, NULL, y, ny, x, nx, dx, status, dy);
}
