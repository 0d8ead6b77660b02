// Reading a file walks its fields once: it checks that each field lies within the bytes, counts the
// nodes and gathers library and versions. Nodes are not looked into. Opening a file guesses the
// same facts from a few of its bytes: the number of nodes from the size of the first SAMPLE_NODES,
// and the versions from the last bytes, which must look like a versions field that ends the file. A
// guess is used until the file is read, and leat_graph_file_read compares it with the truth before
// the import can succeed. Files come from outside, so room is reserved on a guess only up to a
// limit.
#include "graph/import/graph_file.h"

#define SCAN_AHEAD_BYTES 4096  // the distance of the prefetch: another page, so its translation too
#define SAMPLE_NODES 64  // nodes whose mean size is taken for that of all
#define MAX_GUESSED_NODES (64 * 1024)  // above this no room is reserved on a guess
#define MAX_VERSIONS_BYTES 127  // the largest length that is one byte on the wire

void leat_graph_file_initialize(leat_allocator_t* allocator, leat_string_view_t bytes,
                                leat_graph_file_t* out_file) {
  const uint8_t* begin = (const uint8_t*)(bytes.size ? bytes.data : "");
  *out_file = (leat_graph_file_t){.nodes = {begin, begin + bytes.size, false}};
  leat_string_builder_initialize(allocator, &out_file->library);
  leat_string_builder_initialize(allocator, &out_file->versions);
  leat_string_builder_initialize(allocator, &out_file->debug_info);
}

void leat_graph_file_deinitialize(leat_graph_file_t* file) {
  leat_string_builder_deinitialize(&file->library);
  leat_string_builder_deinitialize(&file->versions);
  leat_string_builder_deinitialize(&file->debug_info);
}

static leat_string_view_t view_of(const uint8_t* data, size_t size) {
  return leat_string_view_make((const char*)data, size);
}

// ---- opening ------------------------------------------------------------------------------------

// The number of nodes if all have the mean size of the first ones, which tend to be small; 0 when
// there are fewer than SAMPLE_NODES or something else stands among them.
static size_t guess_count(const leat_node_cursor_t* nodes) {
  const uint8_t* next = nodes->next;
  leat_string_view_t node;
  for (int i = 0; i < SAMPLE_NODES; ++i) {
    next = next < nodes->end ? leat_node_cursor_read(next, nodes->end, &node) : NULL;
    if (!next) return 0;
  }
  size_t sample_bytes = (size_t)(next - nodes->next), bytes = (size_t)(nodes->end - nodes->next);
  return bytes / (sample_bytes / SAMPLE_NODES);
}

// Finds the field that ends the file, if its tag and length say that it is a versions field.
static bool guess_versions(const leat_node_cursor_t* nodes, leat_string_view_t* out_versions) {
  for (size_t size = 0; size <= MAX_VERSIONS_BYTES; ++size) {
    const uint8_t* field = nodes->end - size - 2;
    if (field[0] != LEAT_GRAPH_DEF_VERSIONS_TAG || field[1] != size) continue;
    *out_versions = view_of(field + 2, size);
    return true;
  }
  return false;
}

bool leat_graph_file_open(leat_graph_file_t* file) {
  if (file->nodes.end - file->nodes.next < LEAT_GRAPH_FILE_LARGE_BYTES) return false;
  file->node_count = guess_count(&file->nodes);
  if (file->node_count == 0 || file->node_count > MAX_GUESSED_NODES) return false;
  return guess_versions(&file->nodes, &file->last_versions);
}

leat_string_view_t leat_graph_file_versions(const leat_graph_file_t* file) {
  return file->is_read ? leat_string_builder_view(&file->versions) : file->last_versions;
}

// ---- reading ------------------------------------------------------------------------------------

// Walks the fields that are not taken yet, counts the nodes among them and appends the other
// fields.
static leat_status_t scan(leat_graph_file_t* file, size_t* out_node_count) {
  const uint8_t *next = file->nodes.next, *end = file->nodes.end;
  size_t node_count = 0;
  while (next && next < end) {
    leat_string_view_t node;
    const uint8_t* after = leat_node_cursor_read(next, end, &node);
    if (LEAT_LIKELY(after)) {
      // The length of one node tells where the next one is, so without the prefetch the walk would
      // wait for memory at every node.
      leat_node_cursor_fetch(after + SCAN_AHEAD_BYTES);
      ++node_count;
      next = after;
      continue;
    }
    uint32_t number, type;
    const uint8_t* value = leat_wire_read_tag(next, end, &number, &type);
    next = value ? leat_wire_skip(value, end, number, type) : NULL;
    if (!next || type != LEAT_WIRE_LENGTH) continue;
    if (number == LEAT_GRAPH_DEF_NODE) ++node_count;
    leat_string_builder_t* gathered = number == LEAT_GRAPH_DEF_LIBRARY    ? &file->library
                                      : number == LEAT_GRAPH_DEF_VERSIONS ? &file->versions
                                      : number == LEAT_GRAPH_DEF_DEBUG_INFO
                                          ? &file->debug_info
                                          : NULL;
    if (!gathered) continue;
    size_t size = 0;
    value = leat_wire_read_length(value, end, &size);
    leat_string_builder_append(gathered, view_of(value, size));
  }
  if (!next) return leat_make_status(LEAT_INVALID_ARGUMENT, "Invalid GraphDef");
  *out_node_count = node_count;
  LEAT_RETURN_IF_ERROR(leat_status_clone(file->library.status));
  LEAT_RETURN_IF_ERROR(leat_status_clone(file->debug_info.status));
  return leat_status_clone(file->versions.status);
}

leat_status_t leat_graph_file_read(leat_graph_file_t* file) {
  bool is_open = file->last_versions.data != NULL;
  size_t left = 0;
  LEAT_RETURN_IF_ERROR(scan(file, &left));
  if (!is_open) file->node_count = left;
  file->is_read = file->nodes.passes_others = true;
  leat_string_view_t versions = leat_graph_file_versions(file);
  if (!is_open || leat_string_view_equal(versions, file->last_versions)) return leat_ok_status();
  return leat_make_status(LEAT_FAILED_PRECONDITION,
                          "Reading a GraphDef failed: versions are %zu bytes, must be the %zu that "
                          "end it",
                          versions.size, file->last_versions.size);
}

// ---- nodes --------------------------------------------------------------------------------------

bool leat_node_cursor_take_behind_others(leat_node_cursor_t* cursor,
                                         leat_string_view_t* out_node_def) {
  while (cursor->passes_others && cursor->next < cursor->end) {
    uint32_t number, type;
    const uint8_t* next = leat_wire_read_tag(cursor->next, cursor->end, &number, &type);
    bool is_node = next && number == LEAT_GRAPH_DEF_NODE && type == LEAT_WIRE_LENGTH;
    next = !next     ? NULL
           : is_node ? leat_wire_read_bytes(next, cursor->end, out_node_def)
                     : leat_wire_skip(next, cursor->end, number, type);
    if (!next) break;  // cannot be: reading has seen that the fields are well formed
    cursor->next = next;
    if (is_node) return true;
  }
  return false;
}

size_t leat_node_cursor_count(leat_node_cursor_t cursor) {
  size_t count = 0;
  for (leat_string_view_t node; leat_node_cursor_take(&cursor, &node);) ++count;
  return count;
}
