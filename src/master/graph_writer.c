// Writing graphs that kernels describe. A dataset is such a graph: the nodes that made it and those
// below it. Its nodes name functions, these call others, and all of them go into the GraphDef's
// library, so that a reader in another process needs nothing else.
//
// What a node needs is collected in a library of its own, which holds each function once. It
// doubles as the list of what is still to be looked at: a function that is added goes to its end,
// and the walk over it ends when it has caught up. Names are looked up in the library of the node
// that led to them, since the functions of an imported graph are known to that graph only. What all
// nodes need is then put into one library, which refuses two functions of one name.
#include "master/graph_writer.h"

#include "formats/wire/encode.h"
#include "graph/graph.h"
#include "graph/import/export.h"

typedef struct writer_s {
  leat_op_registry_t* ops;
  leat_arena_t arena;
  leat_function_library_t* needed;  // by the node that is being written
  leat_function_library_t* all;     // by all nodes so far
  leat_string_view_t stateful;
} writer_t;

// ---- Functions ----------------------------------------------------------------------------------

static leat_status_t need(writer_t* w, const leat_function_library_t* library,
                          leat_string_view_t name) {
  const leat_pb_function_def_t* function = leat_function_library_find(library, name);
  if (function) return leat_function_library_add(w->needed, NULL, function);
  return leat_make_status(LEAT_NOT_FOUND, "Function %.*s is not defined.", LEAT_SV_ARG(name));
}

static leat_status_t need_value(writer_t* w, const leat_function_library_t* library,
                                const leat_pb_attr_value_t* value);

static leat_status_t need_named(writer_t* w, const leat_function_library_t* library,
                                const leat_pb_name_attr_list_t* function) {
  LEAT_RETURN_IF_ERROR(need(w, library, function->name));
  for (size_t i = 0; i < function->attr.count; ++i) {
    LEAT_RETURN_IF_ERROR(need_value(w, library, function->attr.items[i].value));
  }
  return leat_ok_status();
}

// Decoders limit how deep messages nest, and attribute values with them.
static leat_status_t need_value(writer_t* w, const leat_function_library_t* library,
                                const leat_pb_attr_value_t* value) {
  if (!value) return leat_ok_status();
  if (value->func) return need_named(w, library, value->func);
  for (size_t i = 0; value->list && i < value->list->func.count; ++i) {
    LEAT_RETURN_IF_ERROR(need_named(w, library, &value->list->func.items[i]));
  }
  return leat_ok_status();
}

// Whether |op| gives one variant and is called "...Dataset", or so with a version behind it.
static bool makes_dataset(const leat_op_t* op) {
  leat_string_view_t name = op->name;
  while (name.size && name.data[name.size - 1] >= '0' && name.data[name.size - 1] <= '9') {
    --name.size;
  }
  if (name.size < op->name.size && leat_string_view_ends_with(name, LEAT_SV("V"))) --name.size;
  return op->output_count == 1 && op->outputs[0].dtype == LEAT_DTYPE_VARIANT &&
         leat_string_view_ends_with(name, LEAT_SV("Dataset"));
}

// Whether what a node of |op| gives depends on more than its inputs. A call is judged by the
// functions that it calls, and an op that makes a dataset only describes what is done later. As in
// TensorFlow an Assert passes, and reading a table, which is written with the graph.
static bool is_stateful(const leat_op_t* op) {
  if (!(op->flags & LEAT_OP_STATEFUL) || op->flags & LEAT_OP_CALLS) return false;
  return !makes_dataset(op) && !leat_string_view_equals(op->name, "Assert") &&
         !leat_string_view_equals(op->name, "LookupTableFindV2");
}

// What one node of a function's body needs: the function that its op may be, and those that its
// attributes name.
static leat_status_t need_node(writer_t* w, const leat_function_library_t* library,
                               const leat_pb_node_def_t* node) {
  const leat_op_t* op = NULL;
  if (leat_function_library_find(library, node->op)) {
    LEAT_RETURN_IF_ERROR(need(w, library, node->op));
  } else {
    LEAT_RETURN_IF_ERROR(leat_op_registry_find(w->ops, node->op, &op));
    if (!w->stateful.size && is_stateful(op)) w->stateful = op->name;
  }
  for (size_t i = 0; i < node->attr.count; ++i) {
    LEAT_RETURN_IF_ERROR(need_value(w, library, node->attr.items[i].value));
  }
  return leat_ok_status();
}

// Looks at the functions in |needed|, which are in |library|, and adds what they lead to.
static leat_status_t follow(writer_t* w, const leat_function_library_t* library) {
  for (int i = 0; i < leat_function_library_count(w->needed); ++i) {
    const leat_pb_function_def_t* function = leat_function_library_at(w->needed, i);
    const leat_string_view_t name = function->signature->name;
    const leat_string_view_t gradient = leat_function_library_gradient_of(library, name);
    if (gradient.size) {
      LEAT_RETURN_IF_ERROR(leat_function_library_add_gradient(w->needed, name, gradient));
      LEAT_RETURN_IF_ERROR(need(w, library, gradient));
    }
    for (size_t n = 0; n < function->node_def.count; ++n) {
      LEAT_RETURN_IF_ERROR(need_node(w, library, &function->node_def.items[n]));
    }
  }
  return leat_ok_status();
}

static leat_status_t collect(writer_t* w, const leat_function_library_t* library,
                             const leat_pb_node_def_attr_entry_list_t* attrs) {
  leat_pb_function_def_library_t found;
  for (size_t i = 0; i < attrs->count; ++i) {
    LEAT_RETURN_IF_ERROR(need_value(w, library, attrs->items[i].value));
  }
  LEAT_RETURN_IF_ERROR(follow(w, library));
  LEAT_RETURN_IF_ERROR(leat_functions_to_def(w->needed, &w->arena, &found));
  return leat_function_library_add_all(w->all, NULL, &found);
}

// Adds what the functions in |attrs| need to |all|.
static leat_status_t need_functions(writer_t* w, const leat_function_library_t* library,
                                    const leat_pb_node_def_attr_entry_list_t* attrs) {
  LEAT_RETURN_IF_ERROR(leat_function_library_create(leat_allocator_system(), &w->needed));
  leat_status_t status = collect(w, library, attrs);
  leat_function_library_free(w->needed);
  return status;
}

// ---- Nodes --------------------------------------------------------------------------------------

// The attributes that the op declares.
static leat_status_t declared_attrs(writer_t* w, const leat_described_node_t* node,
                                    leat_pb_node_def_attr_entry_list_t* out_list) {
  const leat_op_t* op = NULL;
  leat_attr_t* attrs;
  int count = 0;
  LEAT_RETURN_IF_ERROR(leat_op_registry_find(w->ops, node->op, &op));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&w->arena, (size_t)node->attr_count, &attrs));
  for (int i = 0; i < node->attr_count; ++i) {
    if (leat_op_find_attr(op, node->attrs[i].name) >= 0) attrs[count++] = node->attrs[i];
  }
  return leat_attrs_to_def(attrs, count, &w->arena, out_list);
}

static bool names_functions(const leat_pb_node_def_attr_entry_list_t* attrs) {
  for (size_t i = 0; i < attrs->count; ++i) {
    const leat_pb_attr_value_t* value = attrs->items[i].value;
    if (value->func || (value->list && value->list->func.count)) return true;
  }
  return false;
}

static leat_status_t write_node(writer_t* w, const leat_described_node_t* node,
                                leat_find_library_fn_t find, void* data,
                                leat_pb_node_def_t* out_def) {
  const leat_function_library_t* library = NULL;
  *out_def = (leat_pb_node_def_t){.name = node->name, .op = node->op};
  out_def->input.count = (size_t)node->input_count;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&w->arena, out_def->input.count, &out_def->input.items));
  for (int i = 0; i < node->input_count; ++i) out_def->input.items[i] = node->inputs[i];
  LEAT_RETURN_IF_ERROR(declared_attrs(w, node, &out_def->attr));
  if (!names_functions(&out_def->attr)) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(find(data, node, &library));
  return need_functions(w, library, &out_def->attr);
}

static leat_status_t write_graph(writer_t* w, const leat_described_node_t* nodes, int count,
                                 leat_find_library_fn_t find, void* data,
                                 leat_string_builder_t* out) {
  leat_pb_function_def_library_t library;
  leat_pb_version_def_t versions = {.producer = LEAT_GRAPH_DEF_VERSION,
                                    .min_consumer = LEAT_GRAPH_DEF_MIN_CONSUMER};
  leat_pb_graph_def_t graph = {.library = &library, .versions = &versions};
  graph.node.count = (size_t)count;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&w->arena, graph.node.count, &graph.node.items));
  for (int i = 0; i < count; ++i) {
    LEAT_RETURN_IF_ERROR(write_node(w, &nodes[i], find, data, &graph.node.items[i]));
  }
  LEAT_RETURN_IF_ERROR(leat_functions_to_def(w->all, &w->arena, &library));
  return leat_message_encode(&leat_pb_graph_def_descriptor, &graph, out);
}

leat_status_t leat_described_graph_write(leat_op_registry_t* ops,
                                         const leat_described_node_t* nodes, int count,
                                         leat_find_library_fn_t find, void* data,
                                         leat_string_builder_t* out,
                                         leat_string_view_t* out_stateful) {
  writer_t w = {.ops = ops, .stateful = LEAT_SV("")};
  LEAT_RETURN_IF_ERROR(leat_function_library_create(leat_allocator_system(), &w.all));
  leat_arena_initialize(leat_allocator_system(), 0, &w.arena);
  leat_status_t status = write_graph(&w, nodes, count, find, data, out);
  leat_arena_deinitialize(&w.arena);
  leat_function_library_free(w.all);
  *out_stateful = w.stateful;
  return status;
}
