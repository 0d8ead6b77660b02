// A file whose nodes stand behind what they read, as nearly all do, is imported in one pass that
// decodes a node, adds it and forgets the message. At the first node that reads a later one the
// rest goes through import_order.c. What fails is undone.
#include "graph/import.h"

#include <stdlib.h>

#include "base/checked.h"
#include "formats/decode.h"
#include "formats/wire.h"
#include "graph/function_library.h"
#include "graph/graph_functions.h"
#include "graph/importer.h"
#include "graph/storage.h"

#define SCRATCH_BLOCK_BYTES 4096
#define SCRATCH_LIMIT_BYTES (256 * 1024)
#define SCAN_AHEAD_BYTES 4096  // another page, mostly: its translation comes too
#define USUAL_LINES 4          // of the processor's cache, that a node takes
#define NODES_AT_ONCE 1024  // whose pages are taken together

// Field numbers of GraphDef.
enum { FIELD_NODE = 1, FIELD_LIBRARY = 2, FIELD_VERSIONS = 4 };
enum { TAG_NODE = FIELD_NODE << 3 | LEAT_WIRE_LENGTH };

// ---- the file -----------------------------------------------------------------------------------

typedef struct graph_file_s {
  leat_node_cursor_t nodes;
  size_t node_count;
  leat_string_builder_t library, versions;  // encoded; several are merged by standing in a row
} graph_file_t;

static leat_string_view_t view_of(const uint8_t* data, size_t size) {
  return leat_string_view_make((const char*)data, size);
}

// The node that begins at |next|, in one byte's tag; NULL when something else does.
static inline const uint8_t* read_node(const uint8_t* next, const uint8_t* end,
                                       leat_string_view_t* out_node_def) {
  return *next == TAG_NODE ? leat_wire_read_bytes(next + 1, end, out_node_def) : NULL;
}

// Begins to bring into the processor's cache what a node at |next| takes up.
static inline void fetch_node(const uint8_t* next) {
  for (int i = 0; i < USUAL_LINES; ++i) __builtin_prefetch(next + i * LEAT_CACHE_LINE_BYTES);
}

// What is no node is passed over.
static bool take_behind_others(leat_node_cursor_t* cursor, leat_string_view_t* out_node_def) {
  while (cursor->next < cursor->end) {
    uint32_t number, type;
    const uint8_t* next = leat_wire_read_tag(cursor->next, cursor->end, &number, &type);
    bool is_node = next && number == FIELD_NODE && type == LEAT_WIRE_LENGTH;
    next = !next     ? NULL
           : is_node ? leat_wire_read_bytes(next, cursor->end, out_node_def)
                     : leat_wire_skip(next, cursor->end, number, type);
    if (!next) break;  // the scan has seen that it is well formed
    cursor->next = next;
    if (is_node) return true;
  }
  return false;
}

static inline bool take_node(leat_node_cursor_t* cursor, leat_string_view_t* out_node_def) {
  if (cursor->next == cursor->end) return false;
  const uint8_t* next = read_node(cursor->next, cursor->end, out_node_def);
  if (LEAT_UNLIKELY(!next)) return take_behind_others(cursor, out_node_def);
  cursor->next = next;
  fetch_node(next);
  return true;
}

bool leat_node_cursor_take(leat_node_cursor_t* cursor, leat_string_view_t* out_node_def) {
  return take_node(cursor, out_node_def);
}

// Checks the outer structure and gathers what is no node.
static leat_status_t scan(leat_string_view_t bytes, graph_file_t* file) {
  const uint8_t* next = (const uint8_t*)(bytes.size ? bytes.data : "");
  const uint8_t* end = next + bytes.size;
  file->nodes = (leat_node_cursor_t){next, end};
  while (next && next < end) {
    leat_string_view_t node;
    const uint8_t* after = read_node(next, end, &node);
    if (LEAT_LIKELY(after)) {
      // One node tells where the next one is: without this each would be waited for.
      fetch_node(after + SCAN_AHEAD_BYTES);
      ++file->node_count;
      next = after;
      continue;
    }
    uint32_t number, type;
    const uint8_t* value = leat_wire_read_tag(next, end, &number, &type);
    next = value ? leat_wire_skip(value, end, number, type) : NULL;
    if (!next || type != LEAT_WIRE_LENGTH) continue;
    if (number == FIELD_NODE) ++file->node_count;
    if (number != FIELD_LIBRARY && number != FIELD_VERSIONS) continue;
    size_t size = 0;
    value = leat_wire_read_length(value, end, &size);
    leat_string_builder_append(number == FIELD_LIBRARY ? &file->library : &file->versions,
                               view_of(value, size));
  }
  if (!next) return leat_make_status(LEAT_INVALID_ARGUMENT, "Invalid GraphDef");
  LEAT_RETURN_IF_ERROR(leat_status_clone(file->library.status));
  return leat_status_clone(file->versions.status);
}

static leat_status_t check_versions(const leat_pb_version_def_t* versions) {
  if (versions->producer < 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "GraphDef producer version %d below min producer 0",
                            versions->producer);
  }
  if (versions->min_consumer > LEAT_GRAPH_DEF_VERSION) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "GraphDef min consumer version %d above current version %d",
                            versions->min_consumer, LEAT_GRAPH_DEF_VERSION);
  }
  for (size_t i = 0; i < versions->bad_consumers.count; ++i) {
    if (versions->bad_consumers.items[i] != LEAT_GRAPH_DEF_VERSION) continue;
    return leat_make_status(LEAT_INVALID_ARGUMENT, "GraphDef disallows consumer version %d",
                            LEAT_GRAPH_DEF_VERSION);
  }
  return leat_ok_status();
}

static leat_status_t import_library(leat_graph_t* graph, leat_string_view_t bytes) {
  if (bytes.size == 0) return leat_ok_status();
  leat_arena_t arena;
  leat_arena_initialize(graph->allocator, 0, &arena);
  leat_pb_function_def_library_t message;
  leat_status_t status = leat_message_decode(&leat_pb_function_def_library_descriptor, bytes,
                                             &arena, NULL, &message);
  if (!status) status = leat_graph_add_functions(graph, &message);
  leat_arena_deinitialize(&arena);
  return status;
}

// ---- versions -----------------------------------------------------------------------------------

static int compare_versions(const void* a, const void* b) {
  int32_t x = *(const int32_t*)a, y = *(const int32_t*)b;
  return (x > y) - (x < y);
}

static leat_status_t merge_bad_consumers(leat_graph_t* graph,
                                         const leat_pb_int32_list_t* consumers) {
  if (consumers->count == 0) return leat_ok_status();
  size_t old_count = (size_t)graph->bad_consumer_count;
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(&graph->storage->arena,
                                                 old_count + consumers->count, sizeof(int32_t),
                                                 &memory));
  int32_t* all = memory;
  if (old_count > 0) memcpy(all, graph->bad_consumers, old_count * sizeof(int32_t));
  memcpy(all + old_count, consumers->items, consumers->count * sizeof(int32_t));
  size_t total = old_count + consumers->count, kept = 0;
  qsort(all, total, sizeof(int32_t), compare_versions);
  for (size_t i = 0; i < total; ++i) {
    if (kept == 0 || all[kept - 1] != all[i]) all[kept++] = all[i];
  }
  graph->bad_consumers = all;
  graph->bad_consumer_count = (int)kept;
  return leat_ok_status();
}

// ---- before and after ---------------------------------------------------------------------------

static leat_status_t prepare_mappings(leat_importer_t* importer) {
  const leat_import_options_t* options = importer->options;
  if (options->input_map_count == 0) return leat_ok_status();
  void* memory = NULL;
  size_t count = (size_t)options->input_map_count;
  LEAT_RETURN_IF_ERROR(
      leat_allocator_allocate_array(importer->allocator, count, sizeof(int32_t), &memory));
  importer->next_mapping = memory;
  LEAT_RETURN_IF_ERROR(
      leat_allocator_allocate_array(importer->allocator, count, sizeof(bool), &memory));
  importer->mapping_used = memory;
  for (int32_t i = 0; i < options->input_map_count; ++i) {
    const leat_import_mapping_t* mapping = &options->input_map[i];
    if (mapping->to.node < 0 || mapping->to.node >= importer->first) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Importing failed: target of input_map entry '%.*s:%d' is node %d, "
                              "must be in the graph",
                              LEAT_SV_ARG(mapping->from.node), mapping->from.index,
                              mapping->to.node);
    }
    if ((mapping->from.index < 0) != (mapping->to.index < 0)) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "input_map entry '%.*s:%d' between control edge and non-control edge",
                              LEAT_SV_ARG(mapping->from.node), mapping->from.index);
    }
    uint64_t* last = NULL;
    bool inserted = false;
    LEAT_RETURN_IF_ERROR(leat_string_map_insert(&importer->mapped, mapping->from.node,
                                                (uint64_t)i, &last, &inserted));
    importer->next_mapping[i] = inserted ? -1 : (int32_t)*last;
    *last = (uint64_t)i;
  }
  return leat_ok_status();
}

static leat_status_t check_controls(const leat_importer_t* importer) {
  for (int i = 0; i < importer->options->control_dependency_count; ++i) {
    int32_t node = importer->options->control_dependencies[i];
    if (node >= 0 && node < importer->first) continue;
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Importing failed: control dependency is node %d, must be in the graph",
                            node);
  }
  return leat_ok_status();
}

static leat_status_t return_output(leat_importer_t* importer, leat_tensor_name_t name,
                                   leat_output_t* out_output) {
  int32_t mapping = leat_importer_mapping(importer, name);
  if (mapping >= 0) {
    *out_output = importer->options->input_map[mapping].to;
    return leat_ok_status();
  }
  int32_t node = leat_importer_find(importer, name.node);
  if (node < 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Requested return tensor '%.*s:%d' not found in graph def",
                            LEAT_SV_ARG(name.node), name.index);
  }
  int output_count = importer->graph->nodes[node].output_count;
  if (name.index != LEAT_CONTROL_INDEX && (name.index < 0 || name.index >= output_count)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Invalid return output %d of node '%.*s', which has %d output(s)",
                            name.index, LEAT_SV_ARG(name.node), output_count);
  }
  *out_output = (leat_output_t){node, name.index};
  return leat_ok_status();
}

static leat_status_t return_all(leat_importer_t* importer, leat_import_results_t* results) {
  const leat_import_options_t* options = importer->options;
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate_array(
      importer->allocator, (size_t)options->return_output_count, sizeof(leat_output_t), &memory));
  results->return_outputs = memory;
  for (int i = 0; i < options->return_output_count; ++i) {
    LEAT_RETURN_IF_ERROR(
        return_output(importer, options->return_outputs[i], &results->return_outputs[i]));
  }
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate_array(
      importer->allocator, (size_t)options->return_node_count, sizeof(int32_t), &memory));
  results->return_nodes = memory;
  for (int i = 0; i < options->return_node_count; ++i) {
    results->return_nodes[i] = leat_importer_find(importer, options->return_nodes[i]);
    if (results->return_nodes[i] >= 0) continue;
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Requested return node '%.*s' not found in graph def",
                            LEAT_SV_ARG(options->return_nodes[i]));
  }
  return leat_ok_status();
}

// Is the mapping's key nowhere in the GraphDef?
static bool is_missing(leat_importer_t* importer, int32_t mapping) {
  leat_tensor_name_t from = importer->options->input_map[mapping].from;
  if (importer->mapping_used[mapping] || leat_importer_mapping(importer, from) != mapping) {
    return false;
  }
  int32_t node = leat_importer_find(importer, from.node);
  return node < 0 || from.index >= importer->graph->nodes[node].output_count;
}

static bool comes_before(const leat_import_mapping_t* map, int32_t a, int32_t b) {
  int order = leat_string_view_compare(map[a].from.node, map[b].from.node);
  return order < 0 || (order == 0 && map[a].from.index < map[b].from.index);
}

// Heapsort by name and index: a list may be long.
static void sift_down(const leat_import_mapping_t* map, int32_t* items, int at, int count) {
  for (int child; (child = 2 * at + 1) < count; at = child) {
    if (child + 1 < count && comes_before(map, items[child], items[child + 1])) ++child;
    if (!comes_before(map, items[at], items[child])) return;
    int32_t swapped = items[at];
    items[at] = items[child];
    items[child] = swapped;
  }
}

static leat_status_t list_unused(leat_importer_t* importer, leat_import_results_t* results) {
  const leat_import_mapping_t* map = importer->options->input_map;
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate_array(importer->allocator,
                                                     (size_t)importer->options->input_map_count,
                                                     sizeof(int32_t), &memory));
  int32_t* items = results->unused_mappings = memory;
  int count = 0;
  for (int32_t i = 0; i < importer->options->input_map_count; ++i) {
    if (is_missing(importer, i)) items[count++] = i;
  }
  results->unused_mapping_count = count;
  for (int i = count / 2 - 1; i >= 0; --i) sift_down(map, items, i, count);
  for (int i = count - 1; i > 0; --i) {
    int32_t last = items[0];
    items[0] = items[i];
    items[i] = last;
    sift_down(map, items, 0, i);
  }
  return leat_ok_status();
}

void leat_import_results_deinitialize(leat_import_results_t* results) {
  if (!results->allocator) return;
  leat_allocator_free(results->allocator, results->return_outputs);
  leat_allocator_free(results->allocator, results->return_nodes);
  leat_allocator_free(results->allocator, results->unused_mappings);
  *results = (leat_import_results_t){0};
}

// ---- the import ---------------------------------------------------------------------------------

static void empty_scratch(leat_importer_t* importer) {
  leat_arena_deinitialize(&importer->scratch);
  leat_arena_initialize(importer->allocator, SCRATCH_BLOCK_BYTES, &importer->scratch);
}

// Adds |count| nodes as they come until one reads a later one; says how many were added.
static leat_status_t import_in_order(leat_importer_t* importer, leat_node_cursor_t* cursor,
                                     size_t count, size_t* out_added) {
  leat_node_def_reader_t reader;
  leat_node_def_reader_initialize(&importer->scratch, &importer->patterns, &reader);
  leat_status_t status = leat_ok_status();
  leat_node_cursor_t before = *cursor;
  leat_string_view_t bytes;
  bool deferred = false;
  while (take_node(cursor, &bytes)) {
    if (*out_added % NODES_AT_ONCE == 0) {
      leat_graph_expect(importer->graph, LEAT_MIN(count - *out_added, (size_t)NODES_AT_ONCE));
    }
    if (importer->scratch.used_bytes > SCRATCH_LIMIT_BYTES) empty_scratch(importer);
    leat_node_def_t def;
    status = leat_node_def_read(&reader, bytes, &def);
    if (!status) status = leat_importer_add(importer, &def, true, &deferred);
    if (status || deferred) break;
    before = *cursor;
    ++*out_added;
  }
  leat_node_def_reader_deinitialize(&reader);
  *cursor = before;
  return status;
}

static leat_status_t add_nodes(leat_importer_t* importer, graph_file_t* file) {
  LEAT_RETURN_IF_ERROR(leat_importer_prepare_names(importer));
  LEAT_RETURN_IF_ERROR(prepare_mappings(importer));
  LEAT_RETURN_IF_ERROR(check_controls(importer));
  LEAT_RETURN_IF_ERROR(
      leat_graph_reserve(importer->graph, importer->graph->node_count + file->node_count));
  if (importer->direct_names) {
    LEAT_RETURN_IF_ERROR(leat_node_patterns_initialize(importer->allocator, file->node_count,
                                                       &importer->patterns));
  }
  size_t added = 0;
  // New names must avoid those that are still to come, so that all are read first.
  if (!importer->renames) {
    LEAT_RETURN_IF_ERROR(import_in_order(importer, &file->nodes, file->node_count, &added));
  }
  if (added < file->node_count) {
    LEAT_RETURN_IF_ERROR(
        leat_importer_add_ordered(importer, &file->nodes, file->node_count - added));
  }
  return leat_importer_finish_colocations(importer);
}

// TensorFlow reads all names before it looks up an op: a name that is none is what is wrong, even
// behind an op that nobody knows.
static leat_status_t explain(leat_importer_t* importer, leat_node_cursor_t nodes,
                             leat_status_t status) {
  if (leat_status_code(status) != LEAT_NOT_FOUND) return status;
  leat_node_def_reader_t reader;
  leat_node_def_reader_initialize(&importer->scratch, &importer->patterns, &reader);
  leat_status_t refusal = leat_ok_status();
  leat_string_view_t bytes;
  while (!refusal && leat_node_cursor_take(&nodes, &bytes)) {
    if (importer->scratch.used_bytes > SCRATCH_LIMIT_BYTES) empty_scratch(importer);
    leat_node_def_t def;
    refusal = leat_node_def_read(&reader, bytes, &def);
    if (!refusal) refusal = leat_importer_check_name(importer, def.name);
  }
  leat_node_def_reader_deinitialize(&reader);
  return refusal ? leat_status_join(refusal, status) : status;
}

static leat_status_t import_nodes(leat_importer_t* importer, graph_file_t* file) {
  leat_node_cursor_t nodes = file->nodes;
  leat_status_t status = add_nodes(importer, file);
  return status ? explain(importer, nodes, status) : status;
}

static void importer_initialize(leat_graph_t* graph, const leat_import_options_t* options,
                                leat_importer_t* out_importer) {
  static const leat_import_options_t defaults = {.prefix = {NULL, 0}};
  *out_importer = (leat_importer_t){.graph = graph,
                                    .options = options ? options : &defaults,
                                    .allocator = graph->allocator,
                                    .blank = {.borrow_storage = true},
                                    .first = (int32_t)graph->node_count};
  leat_arena_initialize(graph->allocator, SCRATCH_BLOCK_BYTES, &out_importer->scratch);
  leat_attr_reader_initialize(graph->storage, &out_importer->scratch, &out_importer->attr_reader);
  leat_string_map_initialize(graph->allocator, &out_importer->imported);
  leat_string_map_initialize(graph->allocator, &out_importer->taken);
  leat_string_map_initialize(graph->allocator, &out_importer->file_names);
  leat_string_map_initialize(graph->allocator, &out_importer->mapped);
}

static void importer_deinitialize(leat_importer_t* importer) {
  leat_arena_deinitialize(&importer->scratch);
  leat_string_map_deinitialize(&importer->imported);
  leat_string_map_deinitialize(&importer->taken);
  leat_string_map_deinitialize(&importer->file_names);
  leat_string_map_deinitialize(&importer->mapped);
  leat_allocator_free(importer->allocator, importer->next_mapping);
  leat_allocator_free(importer->allocator, importer->mapping_used);
  leat_allocator_free(importer->allocator, importer->inputs);
  leat_allocator_free(importer->allocator, importer->controls);
  leat_allocator_free(importer->allocator, importer->attrs);
  leat_allocator_free(importer->allocator, importer->back_edges);
  leat_allocator_free(importer->allocator, importer->colocations);
  leat_node_patterns_deinitialize(&importer->patterns);
}

// |versions| and the library count while nodes are added, and stay on success.
static leat_status_t import_file(leat_graph_t* graph, graph_file_t* file,
                                 const leat_pb_version_def_t* versions,
                                 const leat_import_options_t* options,
                                 leat_import_results_t* results) {
  leat_importer_t importer;
  importer_initialize(graph, options, &importer);
  int32_t producer = graph->producer_version;
  graph->producer_version = versions->producer;
  leat_status_t status = import_library(graph, leat_string_builder_view(&file->library));
  if (!status) status = import_nodes(&importer, file);
  if (!status && results) status = return_all(&importer, results);
  if (!status && results) status = list_unused(&importer, results);
  if (!status) status = merge_bad_consumers(graph, &versions->bad_consumers);
  if (!status) {
    if (producer < versions->producer) graph->producer_version = producer;
    if (graph->min_consumer_version < versions->min_consumer) {
      graph->min_consumer_version = versions->min_consumer;
    }
    if (results) {
      results->first_node = importer.first;
      results->node_count = (int32_t)graph->node_count - importer.first;
    }
  }
  importer_deinitialize(&importer);
  return status;
}

static leat_status_t import_scanned(leat_graph_t* graph, graph_file_t* file,
                                    const leat_import_options_t* options,
                                    leat_import_results_t* results) {
  leat_arena_t arena;
  leat_arena_initialize(graph->allocator, 0, &arena);
  leat_pb_version_def_t versions;
  leat_status_t status =
      leat_message_decode(&leat_pb_version_def_descriptor,
                          leat_string_builder_view(&file->versions), &arena, NULL, &versions);
  if (!status) status = check_versions(&versions);
  leat_graph_mark_t before = leat_graph_mark(graph);
  if (!status) {
    status = import_file(graph, file, &versions, options, results);
    if (status) leat_graph_return_to(graph, &before);
  }
  leat_arena_deinitialize(&arena);
  return status;
}

leat_status_t leat_graph_import(leat_graph_t* graph, leat_string_view_t graph_def,
                                const leat_import_options_t* options,
                                leat_import_results_t* out_results) {
  if (out_results) *out_results = (leat_import_results_t){.allocator = graph->allocator};
  graph_file_t file = {.node_count = 0};
  leat_string_builder_initialize(graph->allocator, &file.library);
  leat_string_builder_initialize(graph->allocator, &file.versions);
  // Clearing many pages drives from the processor's cache what is there: before the scan that is
  // nothing yet of the file, nor of the tables.
  leat_arena_expect(&graph->storage->arena, graph_def.size);
  leat_status_t status = scan(graph_def, &file);
  if (!status) status = import_scanned(graph, &file, options, out_results);
  leat_string_builder_deinitialize(&file.library);
  leat_string_builder_deinitialize(&file.versions);
  if (status && out_results) leat_import_results_deinitialize(out_results);
  return status;
}
