// The pass that runs the optimizers of plug-ins on a placed graph, and the list of these. A plug-in
// is written against TensorFlow's Grappler, so that it gets what Grappler would give it: each node
// with its device, and a Placeholder under the client's name for each value that is fed, where our
// graph has an argument.
//
//     placed graph ── _Arg → Placeholder ──▶ GraphDef ── plug-in ──▶ GraphDef ── → _Arg ──▶ graph
//
// What comes back becomes a new graph, in which arguments, fetches and targets are found by their
// names. A node that names no device is placed beside its first input. As in TensorFlow a plug-in
// that fails, or whose result is no graph, is told to the log and leaves the graph as it was; but
// one that drops a node that is fed or fetched makes the step fail, since it says that it
// succeeded.
//
// The pass is the first of the placed graph, since later ones put nodes of the runtime's own into
// it, of which no plug-in knows. It makes another graph in place of edits, so that it runs while no
// edit is open.
#include "optimize/graph_plugin.h"

#include <string.h>

#include "base/log.h"
#include "base/sync.h"
#include "formats/wire/decode.h"
#include "formats/wire/encode.h"
#include "graph/function/graph_functions.h"
#include "graph/import/export.h"
#include "graph/import/import.h"
#include "graph/inference/inference.h"
#include "graph/op/attr_proto.h"

// ---- The list -----------------------------------------------------------------------------------

static leat_mutex_t registration = {PTHREAD_MUTEX_INITIALIZER};
static const leat_graph_plugin_t* _Atomic plugins;

const leat_graph_plugin_t* leat_graph_plugins(void) {
  return atomic_load_explicit(&plugins, memory_order_acquire);
}

leat_status_t leat_graph_plugin_register(leat_graph_plugin_t* plugin) {
  leat_status_t status = leat_ok_status();
  leat_mutex_lock(&registration);
  for (const leat_graph_plugin_t* p = leat_graph_plugins(); p && !status; p = p->next) {
    if (!leat_string_view_equal(p->device_type, plugin->device_type)) continue;
    status = leat_make_status(LEAT_ALREADY_EXISTS,
                              "Registering a graph optimizer failed: device type '%.*s' has one",
                              LEAT_SV_ARG(plugin->device_type));
  }
  plugin->next = leat_graph_plugins();
  if (!status) atomic_store_explicit(&plugins, plugin, memory_order_release);
  leat_mutex_unlock(&registration);
  return status;
}

uint32_t leat_graph_plugins_off(leat_string_view_t type) {
  for (const leat_graph_plugin_t* p = leat_graph_plugins(); p; p = p->next) {
    if (leat_string_view_equal(p->device_type, type)) return p->passes_off;
  }
  return 0;
}

// ---- The graph as a message ---------------------------------------------------------------------

// What the pass knows of the graph while one plug-in works on it. All lies in |arena|.
typedef struct work_s {
  leat_rewrite_t* rewrite;
  const leat_pass_options_t* options;
  leat_arena_t arena;
  leat_graph_plugin_item_t item;
  leat_string_view_t* names;      // what the plug-in calls the nodes
  const leat_node_t** arguments;  // [item.feed_count], in the order of |item.kept|
  leat_string_builder_t given, taken;
} work_t;

static leat_string_view_t device_name(const leat_pass_options_t* options, int32_t device) {
  return options->device_name ? options->device_name(options->find_kernel_data, device)
                              : LEAT_SV("");
}

// The device called |name|, in full; -1: there is none.
static int32_t find_device(const leat_pass_options_t* options, leat_string_view_t name) {
  for (int32_t i = 0; i < INT32_MAX; ++i) {
    const leat_string_view_t own = device_name(options, i);
    if (own.size == 0) break;
    if (leat_string_view_equal(own, name)) return i;
  }
  return -1;
}

// Whether |name|, of a device in full, is of one of |type|.
static bool is_of_type(leat_string_view_t name, leat_string_view_t type) {
  static const char kBefore[] = "/device:";
  const size_t before = sizeof kBefore - 1;
  for (size_t i = 0; i + before + type.size < name.size; ++i) {
    if (memcmp(name.data + i, kBefore, before) != 0) continue;
    return memcmp(name.data + i + before, type.data, type.size) == 0 &&
           name.data[i + before + type.size] == ':';
  }
  return false;
}

// Names the nodes for the plug-in, and lists those that are fed. An argument is called like the
// node that is fed, unless another output of that is fed or needed too.
static leat_status_t name_nodes(work_t* w) {
  const leat_graph_t* graph = w->rewrite->graph;
  leat_string_view_t* kept = NULL;
  const size_t room = graph->node_count + (size_t)w->rewrite->fetch_count +
                      (size_t)w->rewrite->target_count + 1;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&w->arena, graph->node_count + 1, &w->names));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&w->arena, graph->node_count + 1, &w->arguments));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&w->arena, room, &kept));
  for (size_t i = 0; i < graph->node_count; ++i) {
    const leat_node_t* node = &graph->nodes[i];
    w->names[i] = node->name;
    if (!(node->op->flags & LEAT_OP_ARGUMENT)) continue;
    const leat_string_view_t fed = leat_argument_fed_name(node);
    if (leat_graph_find_node(graph, fed) < 0) w->names[i] = fed;
    for (int k = 0; k < w->item.feed_count; ++k) {
      if (leat_string_view_equal(kept[k], w->names[i])) w->names[i] = node->name;
    }
    w->arguments[w->item.feed_count] = node;
    kept[w->item.feed_count++] = w->names[i];
  }
  w->item.kept = kept;
  w->item.kept_count = w->item.feed_count;
  return leat_ok_status();
}

static void keep(work_t* w, leat_string_view_t* kept, leat_string_view_t name) {
  for (int i = 0; i < w->item.kept_count; ++i) {
    if (leat_string_view_equal(kept[i], name)) return;
  }
  kept[w->item.kept_count++] = name;
}

// Lists fetches and targets by their names.
static leat_status_t name_results(work_t* w) {
  const leat_rewrite_t* r = w->rewrite;
  leat_string_view_t *fetches = NULL, *kept = (leat_string_view_t*)(uintptr_t)w->item.kept;
  LEAT_RETURN_IF_ERROR(
      LEAT_NEW(&w->arena, (size_t)(r->fetch_count + r->target_count) + 1, &fetches));
  for (int i = 0; i < r->fetch_count; ++i) {
    const leat_string_view_t name = w->names[r->fetches[i].node];
    LEAT_RETURN_IF_ERROR(leat_arena_print(&w->arena, &fetches[w->item.fetch_count++], "%.*s:%d",
                                          LEAT_SV_ARG(name), r->fetches[i].index));
    keep(w, kept, name);
  }
  for (int i = 0; i < r->target_count; ++i) {
    fetches[w->item.fetch_count++] = w->names[r->targets[i]];
    keep(w, kept, w->names[r->targets[i]]);
  }
  w->item.fetches = fetches;
  return leat_ok_status();
}

// Turns the message of an argument into one of a Placeholder.
static leat_status_t describe_argument(work_t* w, const leat_node_t* node,
                                       leat_pb_node_def_t* def) {
  leat_attr_t* attrs = NULL;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&w->arena, 2, &attrs));
  attrs[0] = LEAT_TYPE("dtype", (leat_dtype_t)node->output_types[0]);
  attrs[1] = LEAT_SHAPE("shape", node->output_shapes[0]);
  def->op = LEAT_SV("Placeholder");
  return leat_attrs_to_def(attrs, 2, &w->arena, &def->attr);
}

// Gives the inputs of a node the names that the plug-in knows.
static leat_status_t rename_inputs(work_t* w, const leat_node_t* node, leat_pb_node_def_t* def) {
  for (int k = 0; k < node->input_count; ++k) {
    const leat_output_t input = node->inputs[k];
    const leat_string_view_t name = w->names[input.node];
    if (leat_string_view_equal(name, w->rewrite->graph->nodes[input.node].name)) continue;
    LEAT_RETURN_IF_ERROR(leat_arena_copy_string(&w->arena, name, &def->input.items[k]));
  }
  return leat_ok_status();
}

static leat_status_t describe(work_t* w) {
  leat_graph_t* graph = w->rewrite->graph;
  leat_pb_function_def_library_t library = {0};
  leat_pb_version_def_t versions = {.producer = graph->producer_version,
                                    .min_consumer = graph->min_consumer_version};
  leat_pb_graph_def_t def = {.library = &library, .versions = &versions};
  LEAT_RETURN_IF_ERROR(name_nodes(w));
  LEAT_RETURN_IF_ERROR(name_results(w));
  LEAT_RETURN_IF_ERROR(leat_functions_to_def(graph->functions, &w->arena, &library));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&w->arena, graph->node_count + 1, &def.node.items));
  def.node.count = graph->node_count;
  for (size_t i = 0; i < graph->node_count; ++i) {
    const leat_node_t* node = &graph->nodes[i];
    leat_pb_node_def_t* item = &def.node.items[i];
    LEAT_RETURN_IF_ERROR(leat_node_to_def(graph, (int32_t)i, &w->arena, item));
    item->name = w->names[i];
    item->device = device_name(w->options, node->assigned_device);
    LEAT_RETURN_IF_ERROR(rename_inputs(w, node, item));
    if (node->op->flags & LEAT_OP_ARGUMENT) LEAT_RETURN_IF_ERROR(describe_argument(w, node, item));
  }
  LEAT_RETURN_IF_ERROR(leat_message_encode(&leat_pb_graph_def_descriptor, &def, &w->given));
  w->item.graph_def = leat_string_builder_view(&w->given);
  return leat_ok_status();
}

// ---- The message as a graph ---------------------------------------------------------------------

// Turns the Placeholders of what is fed back into arguments, and encodes the message again.
static leat_status_t restore_arguments(work_t* w, leat_pb_graph_def_t* def,
                                       leat_string_builder_t* out) {
  for (size_t i = 0; i < def->node.count; ++i) {
    leat_pb_node_def_t* node = &def->node.items[i];
    for (int k = 0; k < w->item.feed_count; ++k) {
      if (!leat_string_view_equal(node->name, w->item.kept[k])) continue;
      node->op = w->arguments[k]->op->name;
      node->input.count = 0;
      LEAT_RETURN_IF_ERROR(leat_attrs_to_def(w->arguments[k]->attrs, w->arguments[k]->attr_count,
                                             &w->arena, &node->attr));
    }
  }
  def->library = NULL;  // the new graph has the functions of the old one
  return leat_message_encode(&leat_pb_graph_def_descriptor, def, out);
}

// Places the nodes of the new graph, and infers its shapes from those of the arguments, which are
// as they were.
static leat_status_t settle(work_t* w, leat_graph_t* graph) {
  int32_t* order = NULL;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&w->arena, graph->node_count + 1, &order));
  LEAT_RETURN_IF_ERROR(leat_graph_sort(graph, order));
  for (int k = 0; k < w->item.feed_count; ++k) {
    const int32_t node = leat_graph_find_node(graph, w->item.kept[k]);
    if (node >= 0) graph->nodes[node].output_shapes = w->arguments[k]->output_shapes;
  }
  for (size_t i = 0; i < graph->node_count; ++i) {
    leat_node_t* node = &graph->nodes[order[i]];
    node->assigned_device = node->device.size > 0 ? find_device(w->options, node->device) : -1;
    if (node->device.size > 0 && node->assigned_device < 0) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "device of node '%.*s' is '%.*s', must be one of the session",
                              LEAT_SV_ARG(node->name), LEAT_SV_ARG(node->device));
    }
    // An edge that closes a loop comes from a node that has no device yet.
    if (node->assigned_device < 0 && node->input_count > 0) {
      node->assigned_device = graph->nodes[node->inputs[0].node].assigned_device;
    }
    if (node->assigned_device < 0) {
      node->assigned_device = w->rewrite->graph->nodes[0].assigned_device;
    }
    node->device = device_name(w->options, node->assigned_device);
  }
  return leat_graph_narrow_shapes(graph, order, graph->node_count, LEAT_OP_ARGUMENT);
}

static leat_status_t import(work_t* w, leat_graph_t* graph) {
  leat_pb_graph_def_t def = {0};
  leat_string_builder_t bytes;
  const leat_import_options_t options = {.ignore_colocation = true, .allow_internal_names = true};
  LEAT_RETURN_IF_ERROR(leat_message_decode(&leat_pb_graph_def_descriptor,
                                           leat_string_builder_view(&w->taken), &w->arena, NULL,
                                           &def));
  if (def.library) LEAT_RETURN_IF_ERROR(leat_graph_add_functions(graph, def.library));
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  leat_status_t status = restore_arguments(w, &def, &bytes);
  if (!status) {
    status = leat_graph_import(graph, leat_string_builder_view(&bytes), &options, NULL);
  }
  leat_string_builder_deinitialize(&bytes);
  LEAT_RETURN_IF_ERROR(status);
  return settle(w, graph);
}

// Finds fetches and targets in |graph| and makes it the graph of the step. INVALID_ARGUMENT, with
// nothing changed, where one of them or something that is fed is gone.
static leat_status_t adopt(work_t* w, const leat_graph_plugin_t* plugin, leat_graph_t* graph) {
  leat_rewrite_t* r = w->rewrite;
  for (int i = 0; i < w->item.kept_count; ++i) {
    if (leat_graph_find_node(graph, w->item.kept[i]) >= 0) continue;
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "The graph optimizer of the plug-in for device type '%.*s' dropped "
                            "node '%.*s', must keep what is fed or fetched",
                            LEAT_SV_ARG(plugin->device_type), LEAT_SV_ARG(w->item.kept[i]));
  }
  for (int i = 0; i < r->fetch_count; ++i) {
    const leat_string_view_t name = w->names[r->fetches[i].node];
    const leat_node_t* node = &graph->nodes[leat_graph_find_node(graph, name)];
    const leat_dtype_t wanted = leat_graph_output_type(r->graph, r->fetches[i]);
    if (r->fetches[i].index < node->output_count &&
        node->output_types[r->fetches[i].index] == wanted) {
      continue;
    }
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "The graph optimizer of the plug-in for device type '%.*s' changed the "
                            "type of output %d of node '%.*s', which is fetched",
                            LEAT_SV_ARG(plugin->device_type), r->fetches[i].index,
                            LEAT_SV_ARG(name));
  }
  for (int i = 0; i < r->fetch_count; ++i) {
    r->fetches[i].node = leat_graph_find_node(graph, w->names[r->fetches[i].node]);
  }
  for (int i = 0; i < r->target_count; ++i) {
    r->targets[i] = leat_graph_find_node(graph, w->names[r->targets[i]]);
  }
  leat_graph_free(r->graph);
  r->graph = graph;
  return leat_ok_status();
}

// ---- The pass -----------------------------------------------------------------------------------

static bool serves(const leat_graph_plugin_t* plugin, const leat_graph_t* graph,
                   const leat_pass_options_t* options) {
  for (size_t i = 0; i < graph->node_count; ++i) {
    const leat_string_view_t name = device_name(options, graph->nodes[i].assigned_device);
    if (is_of_type(name, plugin->device_type)) return true;
  }
  return false;
}

// Makes the plug-in's graph, a child of the old one. A failure is the plug-in's.
static leat_status_t make_graph(work_t* w, const leat_graph_plugin_t* plugin,
                                leat_graph_t** out_graph) {
  LEAT_RETURN_IF_ERROR(plugin->optimize(plugin, &w->item, &w->taken));
  LEAT_RETURN_IF_ERROR(leat_graph_create_child(w->rewrite->graph, out_graph));
  leat_status_t status = import(w, *out_graph);
  if (status) leat_graph_free(*out_graph);
  return status;
}

static leat_status_t run_one(const leat_graph_plugin_t* plugin, work_t* w) {
  leat_graph_t* graph = NULL;
  LEAT_RETURN_IF_ERROR(describe(w));
  leat_status_t status = make_graph(w, plugin, &graph);
  if (leat_status_code(status) == LEAT_RESOURCE_EXHAUSTED) return status;
  if (status) {
    leat_log(LEAT_LOG_ERROR, "The graph optimizer of the plug-in for device type '%.*s' failed: %s",
             LEAT_SV_ARG(plugin->device_type), leat_status_message(status));
    leat_status_free(status);
    return leat_ok_status();
  }
  status = adopt(w, plugin, graph);
  if (status) leat_graph_free(graph);
  return status;
}

static leat_status_t run(leat_rewrite_t* rewrite, const leat_pass_options_t* options) {
  leat_status_t status = leat_ok_status();
  for (const leat_graph_plugin_t* p = leat_graph_plugins(); p && !status; p = p->next) {
    if (!serves(p, rewrite->graph, options)) continue;
    work_t w = {.rewrite = rewrite, .options = options};
    leat_arena_initialize(leat_allocator_system(), 0, &w.arena);
    leat_string_builder_initialize(leat_allocator_system(), &w.given);
    leat_string_builder_initialize(leat_allocator_system(), &w.taken);
    status = run_one(p, &w);
    leat_string_builder_deinitialize(&w.given);
    leat_string_builder_deinitialize(&w.taken);
    leat_arena_deinitialize(&w.arena);
  }
  return status;
}

static bool has_work(const leat_graph_t* graph) {
  return leat_graph_plugins() && graph->node_count > 0;
}

const leat_pass_t leat_pass_plugin = {
    .name = "plugin",
    .doc = "runs the graph optimizers that plug-ins have for the devices of the graph",
    .stage = LEAT_PASS_PLACED,
    .bit = LEAT_PASS_BIT_PLUGIN,
    .option = "use_plugin_optimizers",
    .has_work = has_work,
    .run_graph = run,
};
