// The backward walk (section 4.1). Nodes "between" lie on a path from some x to some y through
// tensors that can have a gradient. They are visited when all readers between have been: a node's
// output gradients are then complete, are summed, and its op's function adds what its inputs get.
#include "gradient/gradient.h"

#include <string.h>

typedef struct part_s {  // one contribution to an output's gradient
  struct part_s* next;
  leat_gradient_value_t value;
} part_t;

typedef struct walk_s {
  leat_graph_t* graph;
  leat_arena_t arena;
  leat_string_view_t prefix;
  size_t node_count;   // before anything was added
  bool* reached;       // from some x
  bool* between;
  bool* stops;         // nodes whose inputs get nothing
  uint32_t* pending;   // readers between that are still to visit
  part_t*** parts;     // node -> output -> contributions
  int32_t* ready;
  size_t ready_count;
} walk_t;

// Types through which a gradient flows.
static bool is_differentiable(int dtype) {
  const leat_dtype_set_t set = LEAT_DTYPES_FLOATING | LEAT_DTYPES_COMPLEX |
                               LEAT_DTYPES_QUANTIZED | LEAT_DTYPE_BIT(RESOURCE) |
                               LEAT_DTYPE_BIT(VARIANT);
  return leat_dtype_in(leat_dtype_base(dtype), set);
}

static bool flows(const walk_t* w, leat_output_t output) {
  return output.index >= 0 && is_differentiable(leat_graph_output_type(w->graph, output));
}

static leat_status_t mark_reached(walk_t* w, const leat_output_t* xs, int x_count) {
  leat_readers_t readers;
  LEAT_RETURN_IF_ERROR(leat_readers_initialize(w->graph, &readers));
  size_t depth = 0;
  for (int i = 0; i < x_count; ++i) {
    if (w->reached[xs[i].node]) continue;
    w->reached[xs[i].node] = true;
    w->ready[depth++] = xs[i].node;
  }
  while (depth) {
    int32_t index = w->ready[--depth];
    for (uint32_t r = readers.begin[index]; r < readers.begin[index + 1]; ++r) {
      const leat_reader_t* reader = &readers.readers[r];
      leat_output_t edge = w->graph->nodes[reader->node].inputs[reader->position];
      if (!flows(w, edge) || w->reached[reader->node]) continue;
      w->reached[reader->node] = true;
      w->ready[depth++] = reader->node;
    }
  }
  leat_readers_deinitialize(&readers);
  return leat_ok_status();
}

static void mark_between(walk_t* w, const leat_output_t* ys, int y_count) {
  size_t depth = 0;
  for (int i = 0; i < y_count; ++i) {
    if (w->between[ys[i].node] || !w->reached[ys[i].node]) continue;
    w->between[ys[i].node] = true;
    w->ready[depth++] = ys[i].node;
  }
  while (depth) {
    const leat_node_t* node = &w->graph->nodes[w->ready[--depth]];
    for (int k = 0; k < node->input_count; ++k) {
      int32_t source = node->inputs[k].node;
      if (!w->reached[source]) continue;
      ++w->pending[source];
      if (w->between[source]) continue;
      w->between[source] = true;
      w->ready[depth++] = source;
    }
  }
}

// An x none of whose own inputs leads to another x: behind it nothing is asked for.
static void mark_stops(walk_t* w, const leat_output_t* xs, int x_count, const leat_output_t* stop,
                       int stop_count) {
  for (int i = 0; i < x_count; ++i) {
    const leat_node_t* node = &w->graph->nodes[xs[i].node];
    bool last = true;
    for (int k = 0; k < node->input_count; ++k) last &= w->pending[node->inputs[k].node] == 0;
    if (last) w->stops[xs[i].node] = true;
  }
  for (int i = 0; i < stop_count; ++i) w->stops[stop[i].node] = true;
}

static leat_status_t add_part(walk_t* w, leat_output_t output, leat_gradient_value_t value) {
  if ((size_t)output.node >= w->node_count || !leat_output_exists(value.dense)) {
    return leat_ok_status();
  }
  part_t*** list = &w->parts[output.node];
  if (!*list) {
    size_t outputs = (size_t)w->graph->nodes[output.node].output_count;
    LEAT_RETURN_IF_ERROR(
        leat_arena_allocate_array(&w->arena, outputs, sizeof(part_t*), (void**)list));
  }
  part_t* part;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate(&w->arena, sizeof *part, (void**)&part));
  part->value = value;
  part_t** end = &(*list)[output.index];
  while (*end) end = &(*end)->next;
  *end = part;
  return leat_ok_status();
}

static bool is_rows(const part_t* part) { return leat_output_exists(part->value.indices); }

// Rows of several contributions, one behind the other.
static leat_gradient_value_t join_rows(leat_builder_t* b, const part_t* first,
                                       leat_output_t* scratch, int count) {
  leat_gradient_value_t sum = first->value;
  leat_output_t axis = leat_build_scalar(b, LEAT_DTYPE_INT32, 0);
  for (int field = 0; field < 2; ++field) {
    int n = 0;
    for (const part_t* p = first; p; p = p->next) {
      scratch[n++] = field ? p->value.indices : p->value.dense;
    }
    scratch[n] = axis;
    leat_output_t joined = leat_build(b, "ConcatV2", (leat_outputs_t){scratch, count + 1},
                                      LEAT_ATTRS(LEAT_INT("N", count)));
    *(field ? &sum.indices : &sum.dense) = joined;
  }
  return sum;
}

// The sum of an output's contributions (none when there are none).
static leat_status_t sum_parts(walk_t* w, leat_builder_t* b, leat_output_t output,
                               leat_gradient_value_t* out_sum) {
  *out_sum = (leat_gradient_value_t){LEAT_OUTPUT_NONE, LEAT_OUTPUT_NONE, LEAT_OUTPUT_NONE};
  part_t* first = w->parts[output.node] ? w->parts[output.node][output.index] : NULL;
  if (!first) return leat_ok_status();
  int count = 0;
  bool all_rows = true;
  for (const part_t* p = first; p; p = p->next, ++count) all_rows &= is_rows(p);
  if (count == 1) {
    *out_sum = first->value;
    return leat_ok_status();
  }
  leat_output_t* items;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(&w->arena, (size_t)count + 1, sizeof *items,
                                                 (void**)&items));
  if (all_rows) {
    *out_sum = join_rows(b, first, items, count);
  } else {
    int n = 0;
    for (const part_t* p = first; p; p = p->next) {
      items[n++] = leat_gradient_value_to_dense(b, p->value);
    }
    out_sum->dense = leat_build(b, "AddN", (leat_outputs_t){items, count}, LEAT_NO_ATTRS);
  }
  first->value = *out_sum;
  first->next = NULL;
  return leat_ok_status();
}

static leat_status_t take_status(leat_builder_t* b) {
  leat_status_t status = b->status;
  b->status = leat_ok_status();
  return status;
}

// The function that says how gradients go through |node|: its op's, unless the attribute that
// Python's gradient_override_map sets names another op.
static leat_status_t find_gradient(const walk_t* w, const leat_node_t* node,
                                   leat_gradient_fn_t* out_fn) {
  leat_string_view_t name = node->op->name;
  *out_fn = node->op->row->gradient;
  const leat_attr_value_t* other = leat_node_attr(node, LEAT_SV("_gradient_op_type"));
  if (other && other->kind == LEAT_ATTR_STRING && !other->is_list) {
    const leat_op_t* op;
    name = other->s;
    leat_status_t status = leat_op_registry_find(w->graph->ops, name, &op);
    *out_fn = status ? NULL : op->row->gradient;
    leat_status_free(status);
  }
  if (*out_fn) return leat_ok_status();
  return leat_make_status(LEAT_NOT_FOUND,
                          "AddGradients failed for node '%.*s' (%.*s): No gradient defined for "
                          "op: %.*s",
                          LEAT_SV_ARG(node->name), LEAT_SV_ARG(node->op->name), LEAT_SV_ARG(name));
}

static leat_status_t call_gradient(walk_t* w, int32_t index,
                                   const leat_gradient_value_t* output_gradients,
                                   leat_builder_t* builder) {
  const leat_node_t* node = &w->graph->nodes[index];
  leat_gradient_fn_t fn;
  LEAT_RETURN_IF_ERROR(find_gradient(w, node, &fn));
  int inputs = node->input_count;
  leat_gradient_value_t* gradients;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(&w->arena, (size_t)inputs + 1, sizeof *gradients,
                                                 (void**)&gradients));
  for (int k = 0; k < inputs; ++k) {
    gradients[k] =
        (leat_gradient_value_t){LEAT_OUTPUT_NONE, LEAT_OUTPUT_NONE, LEAT_OUTPUT_NONE};
  }
  leat_gradient_t g = {*builder, index, output_gradients, gradients};
  leat_status_t status = fn(&g);
  // Many return the builder's own.
  if (status != g.builder.status) status = leat_status_join(status, g.builder.status);
  if (status) {
    node = &w->graph->nodes[index];
    return leat_status_annotate(status, "AddGradients failed for node '%.*s' (%.*s)",
                                LEAT_SV_ARG(node->name), LEAT_SV_ARG(node->op->name));
  }
  for (int k = 0; k < inputs; ++k) {
    LEAT_RETURN_IF_ERROR(add_part(w, w->graph->nodes[index].inputs[k], gradients[k]));
  }
  return leat_ok_status();
}

static leat_status_t scope_of(walk_t* w, int32_t index, leat_builder_t* builder) {
  *builder = (leat_builder_t){.graph = w->graph};
  return leat_arena_print(&w->arena, &builder->scope, "%.*s/%.*s_grad/", LEAT_SV_ARG(w->prefix),
                          LEAT_SV_ARG(w->graph->nodes[index].name));
}

static leat_status_t visit(walk_t* w, int32_t index) {
  if (w->stops[index] || !w->parts[index]) return leat_ok_status();
  leat_builder_t builder;
  LEAT_RETURN_IF_ERROR(scope_of(w, index, &builder));
  int outputs = w->graph->nodes[index].output_count;
  leat_gradient_value_t* gradients;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(&w->arena, (size_t)outputs, sizeof *gradients,
                                                 (void**)&gradients));
  bool any = false;
  for (int k = 0; k < outputs; ++k) {
    LEAT_RETURN_IF_ERROR(sum_parts(w, &builder, (leat_output_t){index, k}, &gradients[k]));
    any |= leat_output_exists(gradients[k].dense);
  }
  LEAT_RETURN_IF_ERROR(take_status(&builder));
  return any ? call_gradient(w, index, gradients, &builder) : leat_ok_status();
}

// Visits nodes whose readers are all done, until none is left.
static leat_status_t visit_all(walk_t* w, const leat_output_t* ys, int y_count) {
  bool* queued;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(&w->arena, w->node_count + 1, 1,
                                                 (void**)&queued));
  w->ready_count = 0;
  for (int i = 0; i < y_count; ++i) {
    int32_t node = ys[i].node;
    if (!w->between[node] || w->pending[node] || queued[node]) continue;
    queued[node] = true;
    w->ready[w->ready_count++] = node;
  }
  for (size_t next = 0; next < w->ready_count; ++next) {
    int32_t index = w->ready[next];
    LEAT_RETURN_IF_ERROR(visit(w, index));
    const leat_node_t* node = &w->graph->nodes[index];
    for (int k = 0; k < node->input_count; ++k) {
      int32_t source = node->inputs[k].node;
      if (!w->between[source] || --w->pending[source] || queued[source]) continue;
      queued[source] = true;
      w->ready[w->ready_count++] = source;
    }
  }
  return leat_ok_status();
}

static leat_status_t start_gradients(walk_t* w, const leat_output_t* ys, int y_count,
                                     const leat_output_t* grad_ys) {
  leat_string_view_t scope;
  LEAT_RETURN_IF_ERROR(
      leat_arena_print(&w->arena, &scope, "%.*s/", LEAT_SV_ARG(w->prefix)));
  leat_builder_t builder = {.graph = w->graph, .scope = scope};
  for (int i = 0; i < y_count; ++i) {
    leat_gradient_value_t value = {LEAT_OUTPUT_NONE, LEAT_OUTPUT_NONE, LEAT_OUTPUT_NONE};
    if (grad_ys && leat_output_exists(grad_ys[i])) {
      value.dense = grad_ys[i];
    } else {
      value.dense = leat_build_unary(&builder, "OnesLike", ys[i]);
    }
    LEAT_RETURN_IF_ERROR(take_status(&builder));
    LEAT_RETURN_IF_ERROR(add_part(w, ys[i], value));
  }
  return leat_ok_status();
}

static leat_status_t prepare(walk_t* w) {
  size_t count = w->node_count + 1;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(&w->arena, count, 1, (void**)&w->reached));
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(&w->arena, count, 1, (void**)&w->between));
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(&w->arena, count, 1, (void**)&w->stops));
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(&w->arena, count, 4, (void**)&w->pending));
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(&w->arena, count, 4, (void**)&w->ready));
  return leat_arena_allocate_array(&w->arena, count, sizeof(part_t**), (void**)&w->parts);
}

static leat_status_t check_outputs(const leat_graph_t* graph, const char* what,
                                   const leat_output_t* outputs, int count) {
  for (int i = 0; i < count; ++i) {
    leat_output_t o = outputs[i];
    if (o.node >= 0 && (size_t)o.node < graph->node_count && o.index >= 0 &&
        o.index < graph->nodes[o.node].output_count) {
      continue;
    }
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "AddGradients failed: %s %d names no output of the graph", what, i);
  }
  return leat_ok_status();
}

static leat_status_t collect(walk_t* w, const leat_output_t* xs, int x_count,
                             leat_gradient_value_t* out_gradients) {
  for (int i = 0; i < x_count; ++i) {
    leat_builder_t builder;
    LEAT_RETURN_IF_ERROR(scope_of(w, xs[i].node, &builder));
    LEAT_RETURN_IF_ERROR(sum_parts(w, &builder, xs[i], &out_gradients[i]));
    LEAT_RETURN_IF_ERROR(take_status(&builder));
  }
  return leat_ok_status();
}

leat_status_t leat_add_gradients(leat_graph_t* graph, const leat_output_t* ys, int y_count,
                                 const leat_output_t* xs, int x_count,
                                 const leat_output_t* grad_ys, const leat_output_t* stop,
                                 int stop_count, leat_string_view_t prefix,
                                 leat_gradient_value_t* out_gradients) {
  LEAT_RETURN_IF_ERROR(check_outputs(graph, "y", ys, y_count));
  LEAT_RETURN_IF_ERROR(check_outputs(graph, "x", xs, x_count));
  walk_t w = {.graph = graph, .prefix = prefix, .node_count = graph->node_count};
  leat_arena_initialize(graph->allocator, 0, &w.arena);
  leat_status_t status;
  LEAT_GOTO_IF_ERROR(status, prepare(&w));
  LEAT_GOTO_IF_ERROR(status, mark_reached(&w, xs, x_count));
  mark_between(&w, ys, y_count);
  mark_stops(&w, xs, x_count, stop, stop_count);
  LEAT_GOTO_IF_ERROR(status, start_gradients(&w, ys, y_count, grad_ys));
  LEAT_GOTO_IF_ERROR(status, visit_all(&w, ys, y_count));
  status = collect(&w, xs, x_count, out_gradients);
cleanup:
  leat_arena_deinitialize(&w.arena);
  return status;
}
