// The import of a GraphDef. Nearly all files list a node behind the nodes that it reads, so the
// import is one pass that finds the parts of a NodeDef, adds the node and forgets them:
//
//   file --cursor--> NodeDef --import_node.c--> node          until a node reads a later one;
//        --rest----> import_order.c --> nodes                 then the rest is sorted first
//   library, versions --> before the nodes (file read) or after them (file opened)
//
// Renaming must avoid names that stand later in the file, so it takes the second way for all nodes.
// The graph is marked before and returned to the mark on failure, functions included. A large file
// is first opened without reading it through (graph/import/graph_file.h); when that import fails
// for any reason but memory, the same file is read and imported again, and the second verdict
// counts. So the fast way decides nothing about which files are valid, nor about messages. Names,
// types and versions are checked as TensorFlow's importer checks them, in its order as far as
// messages depend on it.
#include "graph/import/import.h"

#include <stdlib.h>

#include "base/checked.h"
#include "base/sort.h"
#include "formats/wire/decode.h"
#include "graph/function/function_library.h"
#include "graph/function/graph_functions.h"
#include "graph/import/importer.h"
#include "graph/storage.h"
#include "graph/verify.h"

#define SCRATCH_BLOCK_BYTES 4096
#define SCRATCH_LIMIT_BYTES (256 * 1024)  // of decoded messages, before they are dropped
#define NODES_AT_ONCE 1024                // nodes whose memory pages are mapped together

// Whether this runtime may read a GraphDef of these versions.
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

// Adds to the versions that must not read the graph, sorted and each once.
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

// Checks the input map and chains the mappings of each node, from the last to the first.
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

// Whether the |from| of a mapping is nowhere in the GraphDef. A mapping that a later one of the
// same |from| replaces is not reported.
static bool is_missing(leat_importer_t* importer, int32_t mapping) {
  leat_tensor_name_t from = importer->options->input_map[mapping].from;
  if (importer->mapping_used[mapping] || leat_importer_mapping(importer, from) != mapping) {
    return false;
  }
  int32_t node = leat_importer_find(importer, from.node);
  return node < 0 || from.index >= importer->graph->nodes[node].output_count;
}

// Compares the indices of two mappings by the name and the index that each replaces.
static bool mapping_is_before(const void* mappings, const void* a, const void* b) {
  const leat_import_mapping_t* map = mappings;
  const leat_tensor_name_t x = map[*(const int32_t*)a].from, y = map[*(const int32_t*)b].from;
  int order = leat_string_view_compare(x.node, y.node);
  return order < 0 || (order == 0 && x.index < y.index);
}

// Lists the mappings that are missing, sorted by name and index.
static leat_status_t list_unused(leat_importer_t* importer, leat_import_results_t* results) {
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
  leat_sort(items, (size_t)count, sizeof *items, mapping_is_before,
            importer->options->input_map);
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

leat_status_t leat_importer_read_file(leat_importer_t* importer) {
  leat_graph_file_t* file = importer->file;
  if (file->is_read) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_graph_file_read(file));
  return import_library(importer->graph, leat_string_builder_view(&file->library));
}

// Adds the file's nodes one after the other until one reads a later node; the cursor then stands
// before that node. The pages of the node array are mapped ahead, many at a time, instead of one at
// each page fault.
static leat_status_t import_in_order(leat_importer_t* importer) {
  leat_node_cursor_t* cursor = &importer->file->nodes;
  size_t node_bytes =
      (size_t)(cursor->end - cursor->next) / LEAT_MAX(importer->file->node_count, (size_t)1) + 1;
  leat_node_def_reader_t reader;
  leat_node_def_reader_initialize(&importer->scratch, &importer->patterns, &reader);
  leat_status_t status = leat_ok_status();
  const uint8_t* before = cursor->next;
  leat_string_view_t bytes;
  bool deferred = false;
  for (size_t added = 0; leat_node_cursor_take(cursor, &bytes); ++added) {
    if (added % NODES_AT_ONCE == 0) {
      size_t left = (size_t)(cursor->end - before) / node_bytes + 1;
      leat_graph_expect(importer->graph, LEAT_MIN(left, (size_t)NODES_AT_ONCE));
    }
    if (importer->scratch.used_bytes > SCRATCH_LIMIT_BYTES) empty_scratch(importer);
    leat_node_def_t def;
    status = leat_node_def_read(&reader, bytes, &def);
    if (!status) status = leat_importer_add(importer, &def, true, &deferred);
    if (status || deferred) break;
    before = cursor->next;
  }
  leat_node_def_reader_deinitialize(&reader);
  cursor->next = before;
  return status;
}

static leat_status_t add_nodes(leat_importer_t* importer) {
  leat_graph_file_t* file = importer->file;
  LEAT_RETURN_IF_ERROR(leat_importer_prepare_names(importer));
  LEAT_RETURN_IF_ERROR(prepare_mappings(importer));
  LEAT_RETURN_IF_ERROR(check_controls(importer));
  LEAT_RETURN_IF_ERROR(
      leat_graph_reserve(importer->graph, importer->graph->node_count + file->node_count));
  if (importer->direct_names) {
    LEAT_RETURN_IF_ERROR(leat_node_patterns_initialize(importer->allocator, file->node_count,
                                                       &importer->patterns));
  }
  // A new name must avoid those that stand later in the file, so with renaming every node goes
  // through the second way, which reads all names first.
  if (!importer->renames) LEAT_RETURN_IF_ERROR(import_in_order(importer));
  LEAT_RETURN_IF_ERROR(leat_importer_read_file(importer));
  size_t left = leat_node_cursor_count(file->nodes);
  if (left > 0) LEAT_RETURN_IF_ERROR(leat_importer_add_ordered(importer, &file->nodes, left));
  return leat_importer_finish_colocations(importer);
}

// TensorFlow reads all names before it looks up an op, so a malformed name anywhere in the file is
// reported before an unknown op. |nodes| walks the file from its begin.
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

static leat_status_t import_nodes(leat_importer_t* importer) {
  leat_node_cursor_t nodes = importer->file->nodes;
  leat_status_t status = add_nodes(importer);
  return status ? explain(importer, nodes, status) : status;
}

static void importer_initialize(leat_graph_t* graph, leat_graph_file_t* file,
                                const leat_import_options_t* options,
                                leat_importer_t* out_importer) {
  static const leat_import_options_t defaults = {.prefix = {NULL, 0}};
  *out_importer = (leat_importer_t){.graph = graph,
                                    .file = file,
                                    .options = options ? options : &defaults,
                                    .allocator = graph->allocator,
                                    .blank.borrow_storage = true,
                                    .blank.tolerate_shapes = options && options->tolerate_shapes,
                                    .first = (int32_t)graph->node_count};
  leat_arena_initialize(graph->allocator, SCRATCH_BLOCK_BYTES, &out_importer->scratch);
  leat_attr_reader_initialize(graph->storage, &out_importer->scratch, &out_importer->attr_reader);
  leat_string_map_initialize(graph->allocator, &out_importer->imported);
  leat_string_map_initialize(graph->allocator, &out_importer->taken);
  leat_string_map_initialize(graph->allocator, &out_importer->file_names);
  leat_string_map_initialize(graph->allocator, &out_importer->mapped);
}

static void importer_deinitialize(leat_importer_t* importer) {
  leat_attr_reader_deinitialize(&importer->attr_reader);
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

// Imports the nodes of |file|. Versions and functions are set before the first node, because nodes
// are checked against them, and the mark of the caller undoes them on failure.
static leat_status_t import_file(leat_graph_t* graph, leat_graph_file_t* file,
                                 const leat_pb_version_def_t* versions,
                                 const leat_import_options_t* options,
                                 leat_import_results_t* results) {
  leat_importer_t importer;
  importer_initialize(graph, file, options, &importer);
  int32_t producer = graph->producer_version;
  graph->producer_version = versions->producer;
  leat_status_t status = import_library(graph, leat_string_builder_view(&file->library));
  if (!status) status = import_nodes(&importer);
  if (!status && results) status = return_all(&importer, results);
  if (!status && results) status = list_unused(&importer, results);
  if (!status) status = merge_bad_consumers(graph, &versions->bad_consumers);
  if (!status) {
    // What the client built before the import may be unfinished (open Merges) or have cycles, so
    // only a graph that is all imported is verified as a finished one.
    status = importer.first == 0 ? LEAT_VERIFY_GRAPH(graph, "import")
                                 : LEAT_VERIFY_UNFINISHED(graph, "import");
  }
  if (!status) status = leat_importer_read_lines(&importer);
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

// Checks the versions, imports, and returns the graph to its mark on failure.
static leat_status_t import_checked(leat_graph_t* graph, leat_graph_file_t* file,
                                    const leat_import_options_t* options,
                                    leat_import_results_t* results) {
  leat_arena_t arena;
  leat_arena_initialize(graph->allocator, 0, &arena);
  leat_pb_version_def_t versions;
  leat_status_t status =
      leat_message_decode(&leat_pb_version_def_descriptor, leat_graph_file_versions(file), &arena,
                          NULL, &versions);
  if (!status) status = check_versions(&versions);
  leat_graph_mark_t before = leat_graph_mark(graph);
  if (!status) {
    status = import_file(graph, file, &versions, options, results);
    if (status) leat_graph_return_to(graph, &before);
  }
  leat_arena_deinitialize(&arena);
  return status;
}

// Imports |bytes| once. |reads_last| asks to open the file and read it behind its nodes, if that is
// possible.
static leat_status_t import_bytes(leat_graph_t* graph, leat_string_view_t bytes, bool reads_last,
                                  const leat_import_options_t* options,
                                  leat_import_results_t* out_results) {
  if (out_results) *out_results = (leat_import_results_t){.allocator = graph->allocator};
  leat_graph_file_t file;
  leat_graph_file_initialize(graph->allocator, bytes, &file);
  leat_status_t status = leat_ok_status();
  if (!reads_last || !leat_graph_file_open(&file)) status = leat_graph_file_read(&file);
  if (!status) status = import_checked(graph, &file, options, out_results);
  leat_graph_file_deinitialize(&file);
  if (status && out_results) leat_import_results_deinitialize(out_results);
  return status;
}

leat_status_t leat_graph_import(leat_graph_t* graph, leat_string_view_t graph_def,
                                const leat_import_options_t* options,
                                leat_import_results_t* out_results) {
  // The arena's pages are cleared now, while the processor's cache holds nothing of the file or of
  // the tables that clearing would evict.
  leat_arena_expect(&graph->storage->arena, graph_def.size);
  bool renames = options && options->uniquify_names;
  if (graph_def.size >= LEAT_GRAPH_FILE_LARGE_BYTES && !renames) {
    leat_status_t status = import_bytes(graph, graph_def, true, options, out_results);
    if (!status || leat_status_code(status) == LEAT_RESOURCE_EXHAUSTED) return status;
    leat_status_free(status);  // the import below says what is wrong, or that nothing is
  }
  return import_bytes(graph, graph_def, false, options, out_results);
}
