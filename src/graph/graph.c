// Creating graphs, naming nodes and adding them. The invariant is that every node of a graph is
// complete: it fits its op, its name is unique and in the index, and its output shapes have been
// inferred. So a node is built in the place behind the last one, which nobody can see, and the last
// thing that can fail is the insertion of its name; only then does the count grow. What fails
// before leaves unused bytes in the arena and nothing else, and there is nothing to undo.
//
//   leat_graph_add_node:  name -> op's version -> signature (attributes, input types) -> texts
//                         -> inputs -> shapes -> index by name, count
//
// Two shortcuts serve import, which adds nodes by the hundred thousand: leat_graph_add_like repeats
// a node whose attributes are known to be good, and |borrow_storage| says that texts need no copy.
// Order matters for messages too: TensorFlow reports a duplicate name before anything else, but
// looking names up twice would cost time, so the duplicate is looked for again when a node has
// failed (explain).
#include "graph/graph.h"

#include <stdio.h>

#include "base/checked.h"
#include "base/pages.h"
#include "graph/inference/inference.h"
#include "graph/signature.h"
#include "graph/storage.h"

#define MIN_NODES 16  // room in a graph's first array

static leat_status_t create_graph(leat_op_registry_t* ops, leat_allocator_t* allocator,
                                  leat_graph_storage_t* parent, leat_graph_t** out_graph) {
  *out_graph = NULL;
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate(allocator, sizeof(leat_graph_t), &memory));
  leat_graph_t* graph = memory;
  graph->allocator = allocator;
  graph->ops = ops;
  graph->producer_version = LEAT_GRAPH_DEF_VERSION;
  graph->min_consumer_version = LEAT_GRAPH_DEF_MIN_CONSUMER;
  leat_node_index_initialize(allocator, &graph->names);
  leat_status_t status = leat_graph_storage_create(allocator, parent, &graph->storage);
  if (status) {
    leat_graph_free(graph);
    return status;
  }
  *out_graph = graph;
  return leat_ok_status();
}

leat_status_t leat_graph_create(leat_op_registry_t* ops, leat_allocator_t* allocator,
                                leat_graph_t** out_graph) {
  return create_graph(ops, allocator, NULL, out_graph);
}

leat_status_t leat_graph_create_child(const leat_graph_t* parent, leat_graph_t** out_graph) {
  LEAT_RETURN_IF_ERROR(create_graph(parent->ops, parent->allocator, parent->storage, out_graph));
  (*out_graph)->producer_version = parent->producer_version;
  (*out_graph)->min_consumer_version = parent->min_consumer_version;
  (*out_graph)->bad_consumers = parent->bad_consumers;
  (*out_graph)->bad_consumer_count = parent->bad_consumer_count;
  (*out_graph)->functions = parent->functions;
  return leat_ok_status();
}

void leat_graph_free(leat_graph_t* graph) {
  if (!graph) return;
  leat_node_index_deinitialize(&graph->names);
  leat_allocator_free(graph->allocator, graph->nodes);
  leat_graph_storage_release(graph->storage);
  leat_allocator_free(graph->allocator, graph);
}

leat_arena_t* leat_graph_arena(leat_graph_t* graph) { return &graph->storage->arena; }

int32_t leat_graph_find_node(const leat_graph_t* graph, leat_string_view_t name) {
  return leat_node_index_find(&graph->names, graph->nodes, name, leat_node_name_hash(name));
}

leat_status_t leat_graph_reserve(leat_graph_t* graph, size_t node_count) {
  if (node_count >= INT32_MAX) {
    return leat_make_status(LEAT_RESOURCE_EXHAUSTED,
                            "Growing a graph failed: node count is %zu, must be below 2^31",
                            node_count);
  }
  if (node_count <= graph->node_capacity) return leat_ok_status();
  size_t capacity = LEAT_MAX(node_count, LEAT_MAX(2 * graph->node_capacity, (size_t)MIN_NODES));
  capacity = LEAT_MIN(capacity, (size_t)INT32_MAX);
  LEAT_RETURN_IF_ERROR(leat_node_index_reserve(&graph->names, graph->nodes, capacity));
  // The new room is not zeroed: a page that no node has reached yet stays untouched and costs no
  // memory.
  void* nodes = graph->nodes;
  LEAT_RETURN_IF_ERROR(leat_allocator_reallocate(graph->allocator,
                                                 graph->node_capacity * sizeof(leat_node_t),
                                                 capacity * sizeof(leat_node_t), &nodes));
  graph->nodes = nodes;
  graph->node_capacity = capacity;
  return leat_ok_status();
}

void leat_graph_expect(leat_graph_t* graph, size_t node_count) {
  LEAT_DCHECK(graph->node_count <= graph->node_capacity);
  size_t room = graph->node_capacity - graph->node_count;
  leat_pages_advise(graph->nodes + graph->node_count,
                    LEAT_MIN(node_count, room) * sizeof(leat_node_t), LEAT_PAGES_PRESENT);
}

// ---- names --------------------------------------------------------------------------------------

// The counter of suffixes that were given to |base|. It is kept, so that the thousandth node of a
// name does not try the 999 suffixes before it.
static leat_status_t suffix_of(leat_graph_t* graph, leat_string_view_t base,
                               uint64_t** out_suffix) {
  leat_string_map_t* suffixes = &graph->storage->suffixes;
  if (!leat_string_map_get(suffixes, base, NULL)) {
    LEAT_RETURN_IF_ERROR(leat_arena_copy_string(&graph->storage->arena, base, &base));
  }
  return leat_string_map_insert(suffixes, base, 0, out_suffix, NULL);
}

leat_status_t leat_graph_unique_name(leat_graph_t* graph, leat_string_view_t base,
                                     leat_string_view_t* out_name) {
  leat_arena_t* arena = &graph->storage->arena;
  if (leat_graph_find_node(graph, base) < 0) return leat_arena_copy_string(arena, base, out_name);
  uint64_t* suffix = NULL;
  LEAT_RETURN_IF_ERROR(suffix_of(graph, base, &suffix));
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate(arena, base.size + 24, &memory));
  char* text = memory;
  memcpy(text, base.data, base.size);
  do {
    int digits = snprintf(text + base.size, 24, "_%llu", (unsigned long long)++*suffix);
    *out_name = leat_string_view_make(text, base.size + (size_t)digits);
  } while (leat_graph_find_node(graph, *out_name) >= 0);
  return leat_ok_status();
}

static leat_status_t malformed_name(leat_string_view_t name) {
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Node '%.*s': Node name contains invalid characters", LEAT_SV_ARG(name));
}

// The hash of the name; INVALID_ARGUMENT for a name that the node may not have.
static leat_status_t read_name(leat_graph_t* graph, const leat_node_spec_t* spec,
                               uint64_t* out_hash) {
  *out_hash = spec->name_hash;
  if (*out_hash || leat_node_name_read(spec->name, true, out_hash)) return leat_ok_status();
  if (!spec->any_name) return malformed_name(spec->name);
  graph->has_any_names = true;
  *out_hash = leat_node_name_hash(spec->name);
  return leat_ok_status();
}

leat_status_t leat_graph_check_names(const leat_graph_t* graph) {
  uint64_t hash;
  for (size_t i = 0; graph->has_any_names && i < graph->node_count; ++i) {
    const leat_string_view_t name = graph->nodes[i].name;
    if (!leat_node_name_read(name, true, &hash)) return malformed_name(name);
  }
  return leat_ok_status();
}

static leat_status_t duplicate_name(leat_string_view_t name) {
  return leat_make_status(LEAT_INVALID_ARGUMENT, "Duplicate node name in graph: '%.*s'",
                          LEAT_SV_ARG(name));
}

static leat_status_t check_deprecation(const leat_graph_t* graph, const leat_op_t* op) {
  int since = op->row->deprecated_since;
  if (since == 0 || graph->producer_version < since) return leat_ok_status();
  return leat_make_status(LEAT_UNIMPLEMENTED,
                          "Op %.*s is not available in GraphDef version %d. It has been removed in "
                          "version %d. %s.",
                          LEAT_SV_ARG(op->name), graph->producer_version, since,
                          op->row->deprecation ? op->row->deprecation : "");
}

// ---- adding -------------------------------------------------------------------------------------

// Drops repeated control inputs and keeps the first of each. Up to 16 are compared in pairs; more
// go through a map, so that a hostile list costs no quadratic time.
static leat_status_t unique_controls(leat_graph_t* graph, leat_output_t* controls,
                                     int* inout_count) {
  int kept = 0;
  leat_word_map_t seen;
  leat_word_map_initialize(graph->allocator, &seen);
  leat_status_t status = leat_ok_status();
  bool many = *inout_count > 16;
  for (int i = 0; i < *inout_count && !status; ++i) {
    bool repeated = false;
    if (many) {
      repeated = leat_word_map_get(&seen, (uint64_t)controls[i].node, NULL);
      if (!repeated) status = leat_word_map_set(&seen, (uint64_t)controls[i].node, 1);
    } else {
      for (int k = 0; k < kept && !repeated; ++k) repeated = controls[k].node == controls[i].node;
    }
    if (!repeated) controls[kept++] = controls[i];
  }
  leat_word_map_deinitialize(&seen);
  *inout_count = kept;
  return status;
}

static leat_status_t make_controls(leat_graph_t* graph, const leat_node_spec_t* spec,
                                   leat_node_t* node) {
  leat_output_t* controls = node->inputs + spec->input_count;
  LEAT_DCHECK(node->inputs);
  for (int i = 0; i < spec->control_count; ++i) {
    int32_t source = spec->control_inputs[i];
    if (source < 0 || (size_t)source >= graph->node_count) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Adding node '%.*s' (%.*s) failed: control input is node %d, must be "
                              "one of the graph's %zu",
                              LEAT_SV_ARG(node->name), LEAT_SV_ARG(spec->op->name), source,
                              graph->node_count);
    }
    controls[i] = (leat_output_t){source, LEAT_CONTROL_INDEX};
  }
  node->control_count = spec->control_count;
  if (spec->control_count == 1) return leat_ok_status();
  return unique_controls(graph, controls, &node->control_count);
}

static inline leat_status_t make_inputs(leat_graph_t* graph, const leat_node_spec_t* spec,
                                        leat_node_t* node) {
  size_t count = (size_t)spec->input_count + (size_t)spec->control_count;
  if (count == 0) return leat_ok_status();
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(leat_arena_take(&graph->storage->arena,
                                       leat_edge_capacity(count) * sizeof(leat_output_t), &memory));
  node->inputs = memory;
  for (int i = 0; i < spec->input_count; ++i) node->inputs[i] = spec->inputs[i];
  return spec->control_count > 0 ? make_controls(graph, spec, node) : leat_ok_status();
}

static leat_status_t make_texts(leat_graph_t* graph, const leat_node_spec_t* spec,
                                leat_node_t* node) {
  node->name = spec->name;
  node->device = spec->device;
  if (spec->borrow_storage) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_graph_storage_copy_text(graph->storage, spec->name, &node->name));
  return leat_graph_storage_copy_device(graph->storage, spec->device, &node->device);
}

// Infers the output shapes, or sets them unknown where |waits| or |spec| asks for that. A node
// without outputs is inferred too when it has inputs, because its shape function may refuse them.
static leat_status_t make_shapes(leat_graph_t* graph, const leat_node_spec_t* spec, bool waits,
                                 leat_node_t* node) {
  const leat_op_row_t* row = node->op->row;
  const bool has_shapes = row->shape || row->shapes;
  if (node->output_count == 0 && (node->input_count == 0 || !has_shapes)) return leat_ok_status();
  void* memory = NULL;
  if (node->output_count > 0) {
    size_t bytes = (size_t)node->output_count * sizeof(leat_partial_shape_t);
    LEAT_RETURN_IF_ERROR(leat_arena_take(&graph->storage->arena, bytes, &memory));
  }
  node->output_shapes = memory;
  if (!waits && !spec->skip_shapes) {
    return spec->tolerate_shapes
               ? leat_inference_try(graph, node, node->output_shapes, &node->shapes_follow)
               : leat_inference_run(graph, node, node->output_shapes, &node->shapes_follow);
  }
  for (int i = 0; i < node->output_count; ++i) {
    node->output_shapes[i] = leat_partial_shape_unknown();
  }
  return leat_ok_status();
}

// The place behind the last node, with room for it. It belongs to the graph from append_node on.
static inline leat_status_t next_node(leat_graph_t* graph, leat_node_t** out_node) {
  LEAT_DCHECK(graph->node_count <= graph->node_capacity && graph->names.count == graph->node_count);
  if (LEAT_UNLIKELY(graph->node_count >= graph->node_capacity)) {
    LEAT_RETURN_IF_ERROR(leat_graph_reserve(graph, graph->node_count + 1));
  }
  *out_node = &graph->nodes[graph->node_count];
  return leat_ok_status();
}

// Makes the node that next_node gave the last one of the graph; INVALID_ARGUMENT when its name is
// taken.
static inline leat_status_t append_node(leat_graph_t* graph, uint64_t name_hash,
                                        int32_t* out_node) {
  if (LEAT_UNLIKELY(!leat_node_index_add(&graph->names, graph->nodes, name_hash))) {
    return duplicate_name(graph->nodes[graph->node_count].name);
  }
  // Node and name are added together: what is looked up by name is a node.
  LEAT_DCHECK(graph->node_count < graph->node_capacity);
  LEAT_DCHECK(graph->names.count == graph->node_count + 1);
  *out_node = (int32_t)graph->node_count++;
  return leat_ok_status();
}

// Adds a node with all checks, in the order of the picture above.
static leat_status_t add_checked(leat_graph_t* graph, const leat_node_spec_t* spec,
                                 int32_t* out_node) {
  uint64_t name_hash;
  LEAT_RETURN_IF_ERROR(read_name(graph, spec, &name_hash));
  LEAT_RETURN_IF_ERROR(check_deprecation(graph, spec->op));
  leat_node_signature_t signature;
  leat_node_t* node = NULL;
  LEAT_RETURN_IF_ERROR(next_node(graph, &node));
  LEAT_RETURN_IF_ERROR(leat_signature_resolve(graph, spec, &signature));
  *node = (leat_node_t){
      .op = spec->op,
      .attrs = signature.attrs,
      .attr_count = signature.attr_count,
      .input_count = spec->input_count,
      .output_types = signature.output_types,
      .output_count = signature.output_count,
      .assigned_device = -1,
  };
  LEAT_RETURN_IF_ERROR(make_texts(graph, spec, node));
  LEAT_RETURN_IF_ERROR(make_inputs(graph, spec, node));
  // A node that waits for an attribute's value cannot be inferred: its shape function would read
  // it.
  bool waits = graph->has_placeholders && leat_node_waits(node);
  LEAT_RETURN_IF_ERROR(make_shapes(graph, spec, waits, node));
  return append_node(graph, name_hash, out_node);
}

// Whether every input has the same type as that of |like|; |*out_alike| becomes whether the shapes
// are the same too. False also where an index is out of range, which the full check then reports.
static bool inputs_fit_like(const leat_graph_t* graph, const leat_node_spec_t* spec,
                            const leat_node_t* like, bool* out_alike) {
  *out_alike = spec->input_count == like->input_count;
  if (!*out_alike) return false;
  for (int i = 0; i < spec->input_count; ++i) {
    leat_output_t input = spec->inputs[i], other = like->inputs[i];
    if ((uint32_t)input.node >= graph->node_count || !leat_output_exists(other)) return false;
    const leat_node_t* source = &graph->nodes[input.node];
    if ((uint32_t)input.index >= (uint32_t)source->output_count) return false;
    if (source->output_types[input.index] != leat_graph_output_type(graph, other)) return false;
    if (!*out_alike) continue;
    *out_alike = leat_partial_shape_equal(source->output_shapes[input.index],
                                          leat_graph_output_shape(graph, other));
  }
  return true;
}

// Types equal to those of a node that was checked need no check; others are held against the op.
static leat_status_t check_like(leat_graph_t* graph, const leat_node_spec_t* spec,
                                const leat_node_t* node, bool* out_alike) {
  if (inputs_fit_like(graph, spec, &graph->nodes[spec->like], out_alike)) return leat_ok_status();
  *out_alike = false;
  return leat_signature_check_inputs(graph, spec, node->attrs);
}

// Adds a node with the attributes and output types of |spec->like|. Its shapes are taken over as
// well where they follow from those of its inputs, and these have the same shapes.
static leat_status_t add_like(leat_graph_t* graph, const leat_node_spec_t* spec,
                              int32_t* out_node) {
  uint64_t name_hash;
  LEAT_RETURN_IF_ERROR(read_name(graph, spec, &name_hash));
  leat_node_t* node = NULL;
  LEAT_RETURN_IF_ERROR(next_node(graph, &node));
  LEAT_DCHECK(spec->like >= 0 && (size_t)spec->like < graph->node_count);
  *node = graph->nodes[spec->like];
  if (spec->attrs) node->attrs = spec->attrs;
  node->name = spec->name;
  node->device = spec->device;
  node->inputs = NULL;
  node->control_count = 0;
  bool alike = false;
  LEAT_RETURN_IF_ERROR(check_like(graph, spec, node, &alike));
  LEAT_RETURN_IF_ERROR(make_inputs(graph, spec, node));
  if (node->input_count > 0 && !(alike && node->shapes_follow)) {
    bool waits = graph->has_placeholders && leat_node_waits(node);
    LEAT_RETURN_IF_ERROR(make_shapes(graph, spec, waits, node));
  }
  return append_node(graph, name_hash, out_node);
}

// Replaces |status| by the duplicate name, if that is also wrong with the node: TensorFlow reports
// it first.
LEAT_COLD static leat_status_t explain(const leat_graph_t* graph, leat_string_view_t name,
                                       leat_status_t status) {
  if (leat_graph_find_node(graph, name) < 0) return status;
  leat_status_free(status);
  return duplicate_name(name);
}

leat_status_t leat_graph_add_node(leat_graph_t* graph, const leat_node_spec_t* spec,
                                  int32_t* out_node) {
  *out_node = -1;
  leat_status_t status = add_checked(graph, spec, out_node);
  return LEAT_LIKELY(!status) ? status : explain(graph, spec->name, status);
}

leat_status_t leat_graph_add_like(leat_graph_t* graph, const leat_node_spec_t* spec,
                                  int32_t* out_node) {
  *out_node = -1;
  leat_status_t status = add_like(graph, spec, out_node);
  return LEAT_LIKELY(!status) ? status : explain(graph, spec->name, status);
}

leat_status_t leat_graph_copy_node(leat_graph_t* graph, const leat_node_t* node,
                                   const leat_output_t* inputs, int input_count,
                                   int control_count, int32_t* out_node) {
  *out_node = -1;
  leat_node_t original = *node;  // |node| may be of this graph, whose array moves when it grows
  leat_node_t* copy = NULL;
  LEAT_RETURN_IF_ERROR(next_node(graph, &copy));
  *copy = original;
  copy->inputs = NULL;
  copy->input_count = input_count;
  LEAT_DCHECK(input_count >= 0 && control_count >= 0);
  LEAT_DCHECK(inputs || input_count + control_count == 0);
  copy->control_count = control_count;
  size_t count = (size_t)input_count + (size_t)control_count;
  if (count > 0) {
    void* memory = NULL;
    LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(
        &graph->storage->arena, leat_edge_capacity(count), sizeof(leat_output_t), &memory));
    copy->inputs = memcpy(memory, inputs, count * sizeof(leat_output_t));
  }
  return append_node(graph, leat_node_name_hash(copy->name), out_node);
}
