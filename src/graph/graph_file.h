// An encoded GraphDef on its way into a graph: its nodes, taken one by one, and what is no node,
// its library and versions, which in every file that TensorFlow writes stand behind them.
//
// Every node waits for the versions, so that a file is read through before its nodes are taken. Of
// a large one that costs a tenth of the import: the time to bring it from memory once more. Such a
// file may be opened instead: its versions are then what its last bytes look like, and once the
// nodes are through, or one of them asks for a function, the rest is read and held against that.
#ifndef LEAT_GRAPH_GRAPH_FILE_H_
#define LEAT_GRAPH_GRAPH_FILE_H_

#include "base/string_builder.h"
#include "formats/wire.h"

#define LEAT_GRAPH_FILE_LARGE_BYTES (128 * 1024)

// Walks the nodes of an encoded GraphDef.
typedef struct leat_node_cursor_s {
  const uint8_t* next;
  const uint8_t* end;
  bool passes_others;  // what is no node, and known to be well formed; else it ends there
} leat_node_cursor_t;

typedef struct leat_graph_file_s {
  leat_node_cursor_t nodes;  // those that are not taken yet
  size_t node_count;         // of all; of a file that was opened, about
  bool is_read;
  leat_string_view_t last_versions;         // what the file was opened with
  leat_string_builder_t library, versions;  // encoded; several are merged by standing in a row
} leat_graph_file_t;

// |bytes| must outlive the file.
void leat_graph_file_initialize(leat_allocator_t* allocator, leat_string_view_t bytes,
                                leat_graph_file_t* out_file);
void leat_graph_file_deinitialize(leat_graph_file_t* file);
// False where the file must be read instead.
bool leat_graph_file_open(leat_graph_file_t* file);
// Reads what is not taken yet. INVALID_ARGUMENT when it is malformed; FAILED_PRECONDITION when the
// file was opened with other versions than it has.
LEAT_MUST_USE leat_status_t leat_graph_file_read(leat_graph_file_t* file);
leat_string_view_t leat_graph_file_versions(const leat_graph_file_t* file);  // encoded

// Field numbers of GraphDef, and tags made of them.
enum { LEAT_GRAPH_DEF_NODE = 1, LEAT_GRAPH_DEF_LIBRARY = 2, LEAT_GRAPH_DEF_VERSIONS = 4 };
enum {
  LEAT_GRAPH_DEF_NODE_TAG = LEAT_GRAPH_DEF_NODE << 3 | LEAT_WIRE_LENGTH,
  LEAT_GRAPH_DEF_VERSIONS_TAG = LEAT_GRAPH_DEF_VERSIONS << 3 | LEAT_WIRE_LENGTH,
};

// The node that begins at |next|, in one byte's tag; NULL when something else does.
static inline const uint8_t* leat_node_cursor_read(const uint8_t* next, const uint8_t* end,
                                                   leat_string_view_t* out_node_def) {
  return *next == LEAT_GRAPH_DEF_NODE_TAG ? leat_wire_read_bytes(next + 1, end, out_node_def)
                                          : NULL;
}

#define LEAT_NODE_CURSOR_AHEAD_BYTES 512  // two usual nodes

// Begins to bring into the processor's cache what a node at |next| takes up, mostly four lines.
static inline void leat_node_cursor_fetch(const uint8_t* next) {
  for (int i = 0; i < 4; ++i) __builtin_prefetch(next + i * LEAT_CACHE_LINE_BYTES);
}

bool leat_node_cursor_take_behind_others(leat_node_cursor_t* cursor,
                                         leat_string_view_t* out_node_def);
// The next node; false at the end.
static inline bool leat_node_cursor_take(leat_node_cursor_t* cursor,
                                         leat_string_view_t* out_node_def) {
  if (cursor->next == cursor->end) return false;
  const uint8_t* next = leat_node_cursor_read(cursor->next, cursor->end, out_node_def);
  if (LEAT_UNLIKELY(!next)) return leat_node_cursor_take_behind_others(cursor, out_node_def);
  cursor->next = next;
  leat_node_cursor_fetch(next + LEAT_NODE_CURSOR_AHEAD_BYTES);
  return true;
}
// How many it would take yet.
size_t leat_node_cursor_count(leat_node_cursor_t cursor);

#endif  // LEAT_GRAPH_GRAPH_FILE_H_
