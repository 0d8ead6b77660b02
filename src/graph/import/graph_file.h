// An encoded GraphDef on its way into a graph. A GraphDef has four kinds of fields:
//
//   node node node ... node | library | versions | debug_info     in the order in which TensorFlow
//                                                                 writes them
// Nodes are taken one by one, without decoding the rest; the others are gathered. The
// importer needs the versions before it adds the first node, and they stand at the end, so a file
// must be read through first: leat_graph_file_read does that, and only counts nodes and skips them.
// For a large file even that costs a tenth of the import, since every byte comes from memory twice.
// Such a file may be opened instead (leat_graph_file_open): its versions are guessed from its last
// bytes, the nodes are imported, and the rest is read afterwards, or when a node asks for a
// function, and compared with the guess. A wrong guess fails, and the importer begins again with a
// file that was read. Bytes are borrowed; one thread.
#ifndef LEAT_GRAPH_IMPORT_GRAPH_FILE_H_
#define LEAT_GRAPH_IMPORT_GRAPH_FILE_H_

#include "base/string_builder.h"
#include "formats/wire/wire.h"

// Smaller files are always read first.
#define LEAT_GRAPH_FILE_LARGE_BYTES (128 * 1024)

// A walk over the nodes of an encoded GraphDef.
typedef struct leat_node_cursor_s {
  const uint8_t* next;
  const uint8_t* end;
  // Other fields are known to be well formed and are skipped; if false, the walk ends at the first.
  bool passes_others;
} leat_node_cursor_t;

typedef struct leat_graph_file_s {
  leat_node_cursor_t nodes;          // the nodes that have not been taken yet
  size_t node_count;                 // of the whole file; a guess while it is open
  bool is_read;                      // library and versions are known
  leat_string_view_t last_versions;  // the guess with which the file was opened
  // The encoded fields. A file may have several of a kind: their concatenation encodes the merged
  // message.
  leat_string_builder_t library, versions, debug_info;
} leat_graph_file_t;

// |bytes| are borrowed and must outlive the file.
void leat_graph_file_initialize(leat_allocator_t* allocator, leat_string_view_t bytes,
                                leat_graph_file_t* out_file);
void leat_graph_file_deinitialize(leat_graph_file_t* file);
// Guesses the versions and the number of nodes; false where the file must be read first, because it
// is small or does not look as expected.
bool leat_graph_file_open(leat_graph_file_t* file);
// Reads the fields that are not taken yet. INVALID_ARGUMENT when the GraphDef is malformed;
// FAILED_PRECONDITION when the file was opened with a wrong guess.
LEAT_MUST_USE leat_status_t leat_graph_file_read(leat_graph_file_t* file);
// The encoded versions, or the guess while the file is not read.
leat_string_view_t leat_graph_file_versions(const leat_graph_file_t* file);

// Field numbers of GraphDef, and their tags.
enum {
  LEAT_GRAPH_DEF_NODE = 1,
  LEAT_GRAPH_DEF_LIBRARY = 2,
  LEAT_GRAPH_DEF_VERSIONS = 4,
  LEAT_GRAPH_DEF_DEBUG_INFO = 5,
};
enum {
  LEAT_GRAPH_DEF_NODE_TAG = LEAT_GRAPH_DEF_NODE << 3 | LEAT_WIRE_LENGTH,
  LEAT_GRAPH_DEF_VERSIONS_TAG = LEAT_GRAPH_DEF_VERSIONS << 3 | LEAT_WIRE_LENGTH,
};

// Reads the node field that begins at |next| and returns where it ends; NULL when another field
// begins there, or the node's length is malformed.
static inline const uint8_t* leat_node_cursor_read(const uint8_t* next, const uint8_t* end,
                                                   leat_string_view_t* out_node_def) {
  return *next == LEAT_GRAPH_DEF_NODE_TAG ? leat_wire_read_bytes(next + 1, end, out_node_def)
                                          : NULL;
}

#define LEAT_NODE_CURSOR_AHEAD_BYTES 512  // the distance of the prefetch: two nodes of usual size

// Prefetches the four cache lines that most nodes take up.
static inline void leat_node_cursor_fetch(const uint8_t* next) {
  for (int i = 0; i < 4; ++i) __builtin_prefetch(next + i * LEAT_CACHE_LINE_BYTES);
}

// leat_node_cursor_take where the next field is not a node with a one-byte tag.
bool leat_node_cursor_take_behind_others(leat_node_cursor_t* cursor,
                                         leat_string_view_t* out_node_def);
// Takes the next node; false at the end of the walk.
static inline bool leat_node_cursor_take(leat_node_cursor_t* cursor,
                                         leat_string_view_t* out_node_def) {
  if (cursor->next == cursor->end) return false;
  const uint8_t* next = leat_node_cursor_read(cursor->next, cursor->end, out_node_def);
  if (LEAT_UNLIKELY(!next)) return leat_node_cursor_take_behind_others(cursor, out_node_def);
  cursor->next = next;
  leat_node_cursor_fetch(next + LEAT_NODE_CURSOR_AHEAD_BYTES);
  return true;
}
// How many nodes the cursor would still take.
size_t leat_node_cursor_count(leat_node_cursor_t cursor);

#endif  // LEAT_GRAPH_IMPORT_GRAPH_FILE_H_
