// Names on their way from the file into the graph: prefix, uniqueness, the input map, colocation.
// As in TensorFlow a name "a" is taken when the graph has a node "a" or a node "a/...", because
// "a/..." is the scope of the nodes that belong to "a". There are three cases:
//
//   no prefix, no renaming     names stay (direct_names), and the graph's index finds them
//   prefix                     "x" -> "prefix/x"; the map |imported| has the file's names
//   uniquify_names             "x" -> "x", or "x_1", "x_2", ... which neither graph nor file has
//
// Renamed nodes must still be found by the names that the file uses, in inputs and in "_class"
// attributes. Inputs are looked up by the file's names throughout. The "_class" attributes are
// rewritten at the end, when every node has its final name.
#include <stdio.h>

#include "graph/import/importer.h"
#include "graph/storage.h"

// Adds the scopes of |name| to |prefixes|: "a" and "a/b" for "a/b/c".
static leat_status_t add_prefixes(leat_string_map_t* prefixes, leat_string_view_t name) {
  for (size_t i = 0; i < name.size; ++i) {
    if (name.data[i] != '/') continue;
    LEAT_RETURN_IF_ERROR(leat_string_map_set(prefixes, leat_string_view_make(name.data, i), 1));
  }
  return leat_ok_status();
}

leat_status_t leat_importer_learn_names(leat_importer_t* importer, leat_string_view_t name) {
  LEAT_RETURN_IF_ERROR(leat_string_map_set(&importer->file_names, name, 1));
  return add_prefixes(&importer->file_names, name);
}

// Whether the graph had |name| as a node or a scope before the import began.
static bool is_taken(const leat_importer_t* importer, leat_string_view_t name) {
  int32_t node = leat_graph_find_node(importer->graph, name);
  return (node >= 0 && node < importer->first) ||
         leat_string_map_get(&importer->taken, name, NULL);
}

// |name|, or the first of name_1, name_2, ... that is taken neither in the graph nor in the file.
static leat_status_t find_unique(leat_importer_t* importer, leat_string_view_t name,
                                 leat_string_view_t* out_name) {
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(
      leat_arena_allocate(&importer->graph->storage->arena, name.size + 24, &memory));
  char* text = memory;
  if (name.size > 0) memcpy(text, name.data, name.size);
  *out_name = leat_string_view_make(text, name.size);
  for (unsigned long long count = 1; is_taken(importer, *out_name) ||
                                     (count > 1 && leat_string_map_get(&importer->file_names,
                                                                       *out_name, NULL));
       ++count) {
    int digits = snprintf(text + name.size, 24, "_%llu", count);
    *out_name = leat_string_view_make(text, name.size + (size_t)digits);
  }
  return leat_ok_status();
}

// Checks the prefix, makes it unique if asked, and appends the '/'.
static leat_status_t prepare_prefix(leat_importer_t* importer) {
  leat_string_view_t prefix = importer->options->prefix;
  if (leat_string_view_ends_with(prefix, LEAT_SV("/"))) --prefix.size;
  if (prefix.size == 0 && importer->options->prefix.size == 0) return leat_ok_status();
  if (!leat_node_name_is_valid(prefix, false)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Imported node name prefix '%.*s/' would lead to invalid node names",
                            LEAT_SV_ARG(prefix));
  }
  if (importer->options->uniquify_prefix) {
    LEAT_RETURN_IF_ERROR(find_unique(importer, prefix, &prefix));
  }
  return leat_arena_print(&importer->graph->storage->arena, &importer->prefix, "%.*s/",
                          LEAT_SV_ARG(prefix));
}

leat_status_t leat_importer_prepare_names(leat_importer_t* importer) {
  const leat_import_options_t* options = importer->options;
  // Scopes of older nodes matter only where an imported name can equal one of them.
  bool may_clash = options->prefix.size == 0 || options->uniquify_prefix || options->uniquify_names;
  for (int32_t i = 0; may_clash && i < importer->first; ++i) {
    LEAT_RETURN_IF_ERROR(add_prefixes(&importer->taken, importer->graph->nodes[i].name));
  }
  LEAT_RETURN_IF_ERROR(prepare_prefix(importer));
  bool has_prefix = importer->prefix.size > 0;
  importer->renames = options->uniquify_names && !(has_prefix && options->uniquify_prefix);
  importer->direct_names = !has_prefix && !importer->renames;
  return leat_ok_status();
}

static bool is_internal(leat_string_view_t name) { return name.size > 0 && name.data[0] == '_'; }

leat_status_t leat_importer_check_name(const leat_importer_t* importer, leat_string_view_t name) {
  bool allows_internal = importer->options->allow_internal_names;
  bool is_valid = leat_node_name_is_valid(name, allows_internal);
  if (is_valid && (allows_internal || !is_internal(name))) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Node '%.*s': Node name contains invalid characters", LEAT_SV_ARG(name));
}

leat_status_t leat_importer_name(leat_importer_t* importer, leat_string_view_t name,
                                 leat_string_view_t* out_name) {
  leat_graph_storage_t* storage = importer->graph->storage;
  if (!importer->direct_names || is_internal(name)) {
    LEAT_RETURN_IF_ERROR(leat_importer_check_name(importer, name));
  }
  if (importer->direct_names) {
    if (importer->first > 0 && is_taken(importer, name)) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Node name '%.*s' already exists in the Graph", LEAT_SV_ARG(name));
    }
    return leat_graph_storage_copy_text(storage, name, out_name);
  }
  if (leat_string_map_get(&importer->imported, name, NULL)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "Node '%.*s' is not unique", LEAT_SV_ARG(name));
  }
  *out_name = name;
  if (importer->prefix.size > 0) {
    LEAT_RETURN_IF_ERROR(leat_arena_print(&storage->arena, out_name, "%.*s%.*s",
                                          LEAT_SV_ARG(importer->prefix), LEAT_SV_ARG(name)));
  }
  if (importer->renames && is_taken(importer, *out_name)) {
    return find_unique(importer, *out_name, out_name);
  }
  return importer->prefix.size > 0 ? leat_ok_status()
                                   : leat_graph_storage_copy_text(storage, name, out_name);
}

int32_t leat_importer_find(leat_importer_t* importer, leat_string_view_t name) {
  if (!importer->direct_names) {
    uint64_t found = 0;
    return leat_string_map_get(&importer->imported, name, &found) ? (int32_t)found : -1;
  }
  int32_t node = leat_graph_find_node(importer->graph, name);
  if (node < 0 || (node < importer->first && !importer->options->extends_graph)) return -1;
  leat_importer_note(importer, name, node);
  return node;
}

int32_t leat_importer_mapping(const leat_importer_t* importer, leat_tensor_name_t from) {
  uint64_t last = 0;
  if (!leat_string_map_get(&importer->mapped, from.node, &last)) return -1;
  int32_t mapping = (int32_t)last;
  while (mapping >= 0 && importer->options->input_map[mapping].from.index != from.index) {
    mapping = importer->next_mapping[mapping];
  }
  return mapping;
}

// ---- colocation ---------------------------------------------------------------------------------

// Changes "loc:@target" in the node's "_class" to "loc:@<prefix><name>". The strings may be written
// because they were read for this node alone (leat_attr_reader_read_apart).
static leat_status_t rename_group(leat_importer_t* importer, const leat_colocation_t* colocation,
                                  leat_string_view_t prefix, leat_string_view_t name) {
  const leat_node_t* node = &importer->graph->nodes[colocation->node];
  const leat_attr_value_t* value = leat_node_attr(node, LEAT_SV("_class"));
  leat_string_view_t* groups = (leat_string_view_t*)(uintptr_t)value->strings;
  for (uint32_t i = 0; i < value->count; ++i) {
    if (!leat_string_view_starts_with(groups[i], LEAT_SV("loc:@"))) continue;
    if (!leat_string_view_equal(leat_string_view_from_index(groups[i], 5), colocation->target)) {
      continue;
    }
    return leat_arena_print(&importer->graph->storage->arena, &groups[i],
                            "loc:@%.*s%.*s", LEAT_SV_ARG(prefix), LEAT_SV_ARG(name));
  }
  return leat_ok_status();
}

leat_status_t leat_importer_finish_colocations(leat_importer_t* importer) {
  for (size_t i = 0; i < importer->colocation_count; ++i) {
    const leat_colocation_t* colocation = &importer->colocations[i];
    int32_t target = leat_importer_find(importer, colocation->target);
    if (target < 0 && importer->options->ignore_colocation) {
      LEAT_RETURN_IF_ERROR(
          rename_group(importer, colocation, importer->prefix, colocation->target));
      continue;
    }
    if (target < 0) {
      return leat_make_status(
          LEAT_INVALID_ARGUMENT, "Node '%.*s' expects to be colocated with unknown node '%.*s'",
          LEAT_SV_ARG(importer->graph->nodes[colocation->node].name),
          LEAT_SV_ARG(colocation->target));
    }
    if (importer->direct_names) continue;
    LEAT_RETURN_IF_ERROR(rename_group(importer, colocation, LEAT_SV(""),
                                      importer->graph->nodes[target].name));
  }
  return leat_ok_status();
}
