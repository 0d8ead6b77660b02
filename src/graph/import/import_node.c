// One NodeDef into one node. Its inputs are resolved to edges, its attributes are read into the
// graph's storage in the op's order, and the node is added as any node is (leat_graph_add_node), so
// that everything a file claims is checked where all nodes are checked.
//
// Most nodes of a file repeat an earlier one: the same op and, byte for byte, the same attributes
// except for "_class". The reader recognises that (graph/import/node_pattern.h), and such a node is
// added by leat_graph_add_like with the earlier node's attributes, which skips reading and
// resolving them. The invariant is that a pattern is remembered only for a node whose shapes are
// exactly those that its "_output_shapes" claims, so that the later node may take over the claim
// too. Malformed parts of a node show where they are used; a node that fails is decoded as a whole
// once more, because TensorFlow reports malformed bytes before anything else.
#include "formats/wire/utf8.h"
#include "graph/function/graph_functions.h"
#include "graph/import/importer.h"
#include "graph/op/attr_proto.h"
#include "graph/storage.h"

// A node that is being put together.
typedef struct draft_s {
  const leat_node_def_t* def;
  leat_node_spec_t spec;
  bool inherits_controls;  // reads an imported node, which waits for the control dependencies
  const leat_attr_def_t* output_shapes;  // "_output_shapes", if the node has it; not an attribute
} draft_t;

static leat_status_t annotate(const draft_t* draft, leat_status_t status) {
  return leat_status_annotate(status, "Importing node '%.*s' (%.*s) failed",
                              LEAT_SV_ARG(draft->def->name), LEAT_SV_ARG(draft->def->op));
}

leat_status_t leat_importer_op(leat_importer_t* importer, const leat_node_def_t* def,
                               const leat_op_t** out_op) {
  if (def->op.size == 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "Node '%.*s' does not specify an operation",
                            LEAT_SV_ARG(def->name));
  }
  size_t slot = (def->op.size * 5 + (uint8_t)def->op.data[0]) % LEAT_IMPORTER_OPS;
  *out_op = importer->last_ops[slot];
  if (*out_op && leat_string_view_equal((*out_op)->name, def->op)) return leat_ok_status();
  leat_status_t status = leat_graph_find_op(importer->graph, def->op, out_op);
  bool wants_functions = status || ((*out_op)->flags & LEAT_OP_CALLS);
  if (wants_functions && !importer->file->is_read) {
    leat_status_free(status);
    LEAT_RETURN_IF_ERROR(leat_importer_read_file(importer));
    status = leat_graph_find_op(importer->graph, def->op, out_op);
  }
  if (!status) importer->last_ops[slot] = *out_op;
  return status;
}

// ---- inputs -------------------------------------------------------------------------------------

static leat_status_t unknown_input(const draft_t* draft, leat_string_view_t input) {
  return leat_make_status(LEAT_INVALID_ARGUMENT, "Node '%.*s': Unknown input node '%.*s'",
                          LEAT_SV_ARG(draft->def->name), LEAT_SV_ARG(input));
}

// Makes room for |count| inputs and as many control inputs.
LEAT_COLD static leat_status_t grow_inputs(leat_importer_t* importer, size_t count) {
  void *controls = importer->controls, *inputs = importer->inputs;
  size_t capacity = importer->input_capacity;
  LEAT_RETURN_IF_ERROR(leat_allocator_grow_array(importer->allocator, count, sizeof(int32_t),
                                                 &controls, &capacity));
  importer->controls = controls;
  LEAT_RETURN_IF_ERROR(leat_allocator_grow_array(importer->allocator, count,
                                                 sizeof(leat_output_t), &inputs,
                                                 &importer->input_capacity));
  importer->inputs = inputs;
  return leat_ok_status();
}

static inline void add_control(leat_importer_t* importer, draft_t* draft, int32_t source) {
  importer->controls[draft->spec.control_count++] = source;
}

static inline void add_data(leat_importer_t* importer, draft_t* draft, leat_output_t source) {
  importer->inputs[draft->spec.input_count++] = source;
}

// Leaves an input open whose source is imported later, which only a Merge may have.
static leat_status_t add_back_edge(leat_importer_t* importer, draft_t* draft,
                                   leat_string_view_t input, leat_tensor_name_t source) {
  bool may_wait = (draft->spec.op->flags & LEAT_OP_MERGE) && source.index >= 0;
  if (!may_wait) return unknown_input(draft, input);
  void* edges = importer->back_edges;
  LEAT_RETURN_IF_ERROR(leat_allocator_grow_array(importer->allocator,
                                                 importer->back_edge_count + 1,
                                                 sizeof(leat_back_edge_t), &edges,
                                                 &importer->back_edge_capacity));
  importer->back_edges = edges;
  importer->back_edges[importer->back_edge_count++] = (leat_back_edge_t){
      (int32_t)importer->graph->node_count, draft->spec.input_count, source};
  add_data(importer, draft, LEAT_OUTPUT_NONE);
  return leat_ok_status();
}

static inline leat_status_t add_input(leat_importer_t* importer, draft_t* draft, int32_t node,
                                      int index) {
  const leat_node_t* source = &importer->graph->nodes[node];
  if (index < 0) {
    add_control(importer, draft, node);
    return leat_ok_status();
  }
  if (LEAT_LIKELY(index < source->output_count)) {
    add_data(importer, draft, (leat_output_t){node, index});
    return leat_ok_status();
  }
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Node '%.*s': Connecting to invalid output %d of source node %.*s which "
                          "has %d outputs.",
                          LEAT_SV_ARG(draft->def->name), index, LEAT_SV_ARG(source->name),
                          source->output_count);
}

// The input is replaced by the target of a mapping.
static leat_status_t resolve_mapped(leat_importer_t* importer, draft_t* draft, int32_t mapping) {
  leat_output_t to = importer->options->input_map[mapping].to;
  importer->mapping_used[mapping] = true;
  return add_input(importer, draft, to.node, to.index);
}

// Whether an input is a node's name without '^' and ':k', as most are.
static inline bool is_bare_name(leat_string_view_t input) {
  if (input.size == 0 || input.data[0] == '^') return false;
  size_t end = input.size;
  while (end > 0 && input.data[end - 1] >= '0' && input.data[end - 1] <= '9') --end;
  return end == input.size || end == 0 || input.data[end - 1] != ':';
}

// Adds one input to the draft. Where the file lists its node later, |*out_deferred| becomes true if
// the whole node may wait; otherwise the edge is one that closes a loop.
static inline leat_status_t resolve_input(leat_importer_t* importer, draft_t* draft,
                                          leat_string_view_t input, bool may_defer,
                                          bool* out_deferred) {
  leat_tensor_name_t name = {.node = input, .index = 0};
  if (!is_bare_name(input)) {
    leat_status_t status = leat_tensor_name_parse(input, &name.node, &name.index);
    if (LEAT_UNLIKELY(status)) {
      leat_status_free(status);
      return unknown_input(draft, input);
    }
  }
  if (LEAT_UNLIKELY(name.index >= 0 && draft->spec.control_count > 0)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Node '%.*s': Control dependencies must come after regular "
                            "dependencies",
                            LEAT_SV_ARG(draft->def->name));
  }
  int32_t mapping = importer->mapped.count ? leat_importer_mapping(importer, name) : -1;
  if (mapping >= 0) return resolve_mapped(importer, draft, mapping);
  int32_t node = leat_importer_find_near(importer, name.node);
  if (LEAT_LIKELY(node >= 0)) {
    draft->inherits_controls = true;
    return add_input(importer, draft, node, name.index);
  }
  *out_deferred = may_defer;
  return may_defer ? leat_ok_status() : add_back_edge(importer, draft, input, name);
}

// Resolves all inputs. The control dependencies of the options are added to nodes that read no
// imported node; all others wait for them through their inputs.
static leat_status_t resolve_inputs(leat_importer_t* importer, draft_t* draft, bool may_defer,
                                    bool* out_deferred) {
  const leat_node_def_t* def = draft->def;
  size_t most = def->input_count + (size_t)importer->options->control_dependency_count;
  if (LEAT_UNLIKELY(most > importer->input_capacity)) {
    LEAT_RETURN_IF_ERROR(grow_inputs(importer, most));
  }
  for (size_t i = 0; i < def->input_count && !*out_deferred; ++i) {
    LEAT_RETURN_IF_ERROR(
        resolve_input(importer, draft, def->inputs[i], may_defer, out_deferred));
  }
  draft->spec.inputs = importer->inputs;
  draft->spec.control_inputs = importer->controls;
  if (draft->inherits_controls || *out_deferred) return leat_ok_status();
  for (int i = 0; i < importer->options->control_dependency_count; ++i) {
    add_control(importer, draft, importer->options->control_dependencies[i]);
  }
  return leat_ok_status();
}

// ---- attributes ---------------------------------------------------------------------------------

// Remembers the nodes that "_class" names, which are checked and renamed when all nodes are there.
// A target that is imported already under its own name needs neither.
static leat_status_t note_colocations(leat_importer_t* importer, const leat_attr_value_t* value) {
  if (value->kind != LEAT_ATTR_STRING || !value->is_list) return leat_ok_status();
  for (uint32_t i = 0; i < value->count; ++i) {
    if (!leat_string_view_starts_with(value->strings[i], LEAT_SV("loc:@"))) continue;
    leat_string_view_t target = leat_string_view_from_index(value->strings[i], 5);
    if (importer->direct_names && leat_importer_find(importer, target) >= 0) continue;
    void* colocations = importer->colocations;
    LEAT_RETURN_IF_ERROR(leat_allocator_grow_array(importer->allocator,
                                                   importer->colocation_count + 1,
                                                   sizeof(leat_colocation_t), &colocations,
                                                   &importer->colocation_capacity));
    importer->colocations = colocations;
    importer->colocations[importer->colocation_count++] =
        (leat_colocation_t){(int32_t)importer->graph->node_count, target};
  }
  return leat_ok_status();
}

static leat_status_t read_value(leat_importer_t* importer, const leat_attr_def_t* def,
                                leat_attr_value_t* out_value) {
  if (LEAT_LIKELY(!def->message)) {
    return leat_attr_reader_read(&importer->attr_reader, def->bytes, out_value);
  }
  return leat_attr_value_from_proto(def->message, importer->graph->storage, out_value);
}

// Reads "_class". Nodes in a row mostly have the same one, so the last value is kept; where names
// change each node gets its own value, because it will be rewritten.
static leat_status_t read_class(leat_importer_t* importer, const leat_attr_def_t* def,
                                leat_attr_value_t* out_value) {
  if (def->message) {
    LEAT_RETURN_IF_ERROR(read_value(importer, def, out_value));
  } else if (!importer->direct_names) {
    LEAT_RETURN_IF_ERROR(
        leat_attr_reader_read_apart(&importer->attr_reader, def->bytes, out_value));
  } else if (leat_string_view_equal(def->bytes, importer->last_class_bytes)) {
    *out_value = importer->last_class;
    return leat_ok_status();
  } else {
    LEAT_RETURN_IF_ERROR(read_value(importer, def, out_value));
    importer->last_class_bytes = def->bytes;
    importer->last_class = *out_value;
  }
  return note_colocations(importer, out_value);
}

// Takes an attribute that the op does not declare; it goes behind those that the op does.
static leat_status_t add_other(leat_importer_t* importer, draft_t* draft,
                               const leat_attr_def_t* def) {
  if (leat_string_view_equal(def->name, LEAT_SV("_output_shapes"))) {
    draft->output_shapes = def;
    return leat_ok_status();
  }
  leat_attr_t* attr = &importer->attrs[draft->spec.attr_count++];
  if (leat_string_view_equal(def->name, LEAT_SV("_class"))) {
    attr->name = LEAT_SV("_class");
    return read_class(importer, def, &attr->value);
  }
  if (LEAT_UNLIKELY(!leat_utf8_is_valid(def->name))) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "an attribute's name is not UTF-8");
  }
  LEAT_RETURN_IF_ERROR(
      leat_graph_storage_copy_attr_name(importer->graph->storage, def->name, &attr->name));
  return read_value(importer, def, &attr->value);
}

// Makes room for |count| attributes and marks all of them as not given.
static leat_status_t clear_attrs(leat_importer_t* importer, size_t count) {
  void* attrs = importer->attrs;
  if (LEAT_UNLIKELY(count > importer->attr_capacity)) {
    LEAT_RETURN_IF_ERROR(leat_allocator_grow_array(importer->allocator, count, sizeof(leat_attr_t),
                                                   &attrs, &importer->attr_capacity));
    importer->attrs = attrs;
  }
  for (size_t i = 0; i < count; ++i) importer->attrs[i].name.data = NULL;
  return leat_ok_status();
}

static leat_status_t resolve_attrs(leat_importer_t* importer, draft_t* draft) {
  const leat_node_def_t* def = draft->def;
  draft->spec.attr_count = draft->spec.op->attr_count;
  LEAT_RETURN_IF_ERROR(clear_attrs(importer, (size_t)draft->spec.attr_count + def->attr_count));
  for (size_t i = 0; i < def->attr_count; ++i) {
    int declared = leat_op_find_attr(draft->spec.op, def->attrs[i].name);
    if (declared < 0) {
      LEAT_RETURN_IF_ERROR(add_other(importer, draft, &def->attrs[i]));
      continue;
    }
    importer->attrs[declared].name = def->attrs[i].name;
    LEAT_RETURN_IF_ERROR(read_value(importer, &def->attrs[i], &importer->attrs[declared].value));
  }
  draft->spec.placed_attrs = importer->attrs;
  return leat_ok_status();
}

// Narrows the node's output shapes by |shapes| [count].
static leat_status_t refine_all(leat_importer_t* importer, const draft_t* draft, int32_t node,
                                const leat_partial_shape_t* shapes, uint32_t count) {
  leat_graph_t* graph = importer->graph;
  int output_count = graph->nodes[node].output_count;
  if (count < (uint32_t)output_count) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Node '%.*s' has %d outputs but the _output_shapes attribute specifies "
                            "shapes for %u outputs",
                            LEAT_SV_ARG(draft->def->name), output_count, count);
  }
  for (int i = 0; i < output_count; ++i) {
    leat_output_t output = {node, i};
    if (leat_partial_shape_equal(leat_graph_output_shape(graph, output), shapes[i])) continue;
    LEAT_RETURN_IF_ERROR(leat_graph_refine_shape(graph, output, shapes[i]));
  }
  return leat_ok_status();
}

// "_output_shapes" tells what inference could not know; it is used and dropped. |*out_exact|
// becomes whether the node's shapes are now exactly those that it claims.
static leat_status_t refine_shapes(leat_importer_t* importer, const draft_t* draft, int32_t node,
                                   bool* out_exact) {
  leat_wire_shapes_t plain;
  const leat_attr_def_t* def = draft->output_shapes;
  *out_exact = !def->message && leat_wire_shapes_read(def->bytes, &plain);
  if (*out_exact) {
    LEAT_RETURN_IF_ERROR(
        refine_all(importer, draft, node, plain.shapes, (uint32_t)plain.count));
    const leat_node_t* made = &importer->graph->nodes[node];
    for (int i = 0; i < made->output_count; ++i) {
      *out_exact &= leat_partial_shape_equal(made->output_shapes[i], plain.shapes[i]);
    }
    return leat_ok_status();
  }
  leat_attr_value_t shapes;
  LEAT_RETURN_IF_ERROR(read_value(importer, def, &shapes));
  if (!shapes.is_list || (shapes.count > 0 && shapes.kind != LEAT_ATTR_SHAPE)) {
    return leat_ok_status();
  }
  return refine_all(importer, draft, node, shapes.shapes, shapes.count);
}

// ---- patterns -----------------------------------------------------------------------------------

// The attributes of the node that this one repeats, with its own "_class". The earlier node has a
// "_class" too, among the attributes that its op does not declare, since no op declares a name that
// begins with '_'.
static leat_status_t replace_class(leat_importer_t* importer, draft_t* draft) {
  const leat_node_t* like = &importer->graph->nodes[draft->spec.like];
  leat_attr_value_t value;
  LEAT_RETURN_IF_ERROR(read_class(importer, &draft->def->class_attr, &value));
  int index = like->op->attr_count;
  while (!leat_string_view_equal(like->attrs[index].name, LEAT_SV("_class"))) ++index;
  const leat_attr_value_t* old = &like->attrs[index].value;
  if (value.is_list && old->is_list && value.items == old->items) return leat_ok_status();
  void* memory = NULL;
  size_t bytes = (size_t)like->attr_count * sizeof(leat_attr_t);
  LEAT_RETURN_IF_ERROR(leat_arena_take(&importer->graph->storage->arena, bytes, &memory));
  leat_attr_t* attrs = memcpy(memory, like->attrs, bytes);
  attrs[index].value = value;
  draft->spec.attrs = attrs;
  return leat_ok_status();
}

// Applies what the file claims of the node's shapes, and remembers the node as a pattern if it can
// serve as one.
static leat_status_t finish_shapes(leat_importer_t* importer, const draft_t* draft, int32_t node) {
  const leat_node_def_t* def = draft->def;
  if (def->pattern) {
    const leat_node_t* like = &importer->graph->nodes[def->pattern->node];
    bool shares = importer->graph->nodes[node].output_shapes == like->output_shapes;
    if (!def->pattern->claims_shapes || shares) return leat_ok_status();
    return refine_all(importer, draft, node, like->output_shapes, (uint32_t)like->output_count);
  }
  bool is_exact = true;
  if (draft->output_shapes) {
    LEAT_RETURN_IF_ERROR(refine_shapes(importer, draft, node, &is_exact));
  }
  // Later nodes take the claimed shapes from this node's outputs, so the two must be the same.
  if (def->bytes.size && is_exact) {
    leat_node_patterns_add(&importer->patterns, &def->writing, def->pattern_place, draft->spec.op,
                           node, draft->output_shapes != NULL);
  }
  return leat_ok_status();
}

// ---- the node -----------------------------------------------------------------------------------

// The common case is a name that stays as it is in an empty graph: adding the node checks its
// characters, so only the '_' of internal names is left to refuse here.
static inline leat_status_t make_name(leat_importer_t* importer, leat_string_view_t name,
                                      leat_string_view_t* out_name) {
  bool stays = importer->direct_names && importer->first == 0;
  if (LEAT_LIKELY(stays && name.size > 0 && name.data[0] != '_')) {
    return leat_graph_storage_take_text(importer->graph->storage, name, out_name);
  }
  return leat_importer_name(importer, name, out_name);
}

static leat_status_t make_spec(leat_importer_t* importer, draft_t* draft) {
  const leat_node_def_t* def = draft->def;
  leat_node_spec_t* spec = &draft->spec;
  if (!def->pattern) {
    LEAT_RETURN_IF_ERROR(resolve_attrs(importer, draft));
  } else if (def->writing.has_class) {
    LEAT_RETURN_IF_ERROR(replace_class(importer, draft));
  }
  leat_string_view_t device = def->device;
  LEAT_RETURN_IF_ERROR(make_name(importer, def->name, &spec->name));
  if (device.size == 0) device = importer->options->default_device;
  if (device.size == 0) return leat_ok_status();
  return leat_graph_storage_copy_device(importer->graph->storage, device, &spec->device);
}

static leat_status_t add_draft(leat_importer_t* importer, draft_t* draft) {
  int32_t node = -1;
  LEAT_RETURN_IF_ERROR(make_spec(importer, draft));
  LEAT_RETURN_IF_ERROR(draft->def->pattern
                           ? leat_graph_add_like(importer->graph, &draft->spec, &node)
                           : leat_graph_add_node(importer->graph, &draft->spec, &node));
  if (importer->direct_names) {
    leat_importer_note(importer, draft->def->name, node);
  } else {
    LEAT_RETURN_IF_ERROR(
        leat_string_map_set(&importer->imported, draft->def->name, (uint64_t)node));
  }
  return finish_shapes(importer, draft, node);
}

// Drafts a node and adds it, unless it is deferred. The look-up of its name is begun before its
// inputs are resolved, so that the memory is in the cache when it is needed.
static leat_status_t add(leat_importer_t* importer, const leat_node_def_t* def, bool may_defer,
                         bool* out_deferred) {
  draft_t draft;
  draft.def = def;
  draft.spec = importer->blank;
  draft.inherits_controls = false;
  draft.output_shapes = NULL;
  if (importer->direct_names && leat_node_name_read(def->name, true, &draft.spec.name_hash)) {
    leat_node_index_prefetch(&importer->graph->names, draft.spec.name_hash);
  }
  if (def->pattern) {
    draft.spec.op = def->pattern->op;
    draft.spec.like = def->pattern->node;
  } else {
    LEAT_RETURN_IF_ERROR(leat_importer_op(importer, def, &draft.spec.op));
  }
  LEAT_RETURN_IF_ERROR(resolve_inputs(importer, &draft, may_defer, out_deferred));
  if (*out_deferred) return leat_ok_status();
  leat_status_t status = add_draft(importer, &draft);
  return LEAT_UNLIKELY(status) ? annotate(&draft, status) : leat_ok_status();
}

leat_status_t leat_importer_add(leat_importer_t* importer, const leat_node_def_t* def,
                                bool may_defer, bool* out_deferred) {
  *out_deferred = false;
  leat_status_t status = add(importer, def, may_defer, out_deferred);
  if (LEAT_LIKELY(!status)) return status;
  leat_status_t malformed = leat_node_def_check(def, &importer->scratch);
  if (!malformed) return status;
  leat_status_free(status);
  return malformed;
}
