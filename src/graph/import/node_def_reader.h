// Reads the NodeDefs of a file, one after the other. The reader finds the parts of a plain node
// (name, op, inputs, device, attributes by name) and leaves attribute values encoded, because the
// importer knows where they shall lie and often needs none of them. A node is plain if it is
// written as every encoder writes it; any other one is decoded by the general decoder, with the
// same result.
//
//   leat_node_def_t def;
//   leat_node_def_read(&reader, bytes, &def);
//   if (def.pattern) ...                    attributes of an earlier node, nothing to read
//   else for each of def.attrs: leat_attr_reader_read(..., def.attrs[i].bytes, &value)
//
// Import (import.c) uses it for nodes in the order of the file; import_order.c, which decodes nodes
// before it adds them, gets their parts by leat_node_def_of_message. One thread; the bytes are
// borrowed.
#ifndef LEAT_GRAPH_IMPORT_NODE_DEF_READER_H_
#define LEAT_GRAPH_IMPORT_NODE_DEF_READER_H_

#include "formats/generated/graph.h"
#include "graph/import/node_pattern.h"

// One attribute of a node: |bytes| where the node is plain, else |message|.
typedef struct leat_attr_def_s {
  leat_string_view_t name;
  leat_string_view_t bytes;             // an encoded AttrValue
  const leat_pb_attr_value_t* message;  // the decoded one; NULL: see |bytes|
} leat_attr_def_t;

// The parts of a node. They borrow from the encoded node, or from the message.
typedef struct leat_node_def_s {
  leat_string_view_t bytes;  // of a plain node; empty for one that was decoded
  leat_string_view_t name, op, device;
  const leat_string_view_t* inputs;
  const leat_attr_def_t* attrs;  // each name once; not set if |pattern|
  size_t input_count, attr_count;
  leat_node_writing_t writing;  // of a plain node: how its attributes are written
  leat_attr_def_t class_attr;  // of a plain node: "_class", if writing.has_class
  const leat_node_pattern_t* pattern;  // an earlier node with equal attributes, or NULL
  uint32_t pattern_place;              // for leat_node_patterns_add
} leat_node_def_t;

// A node with more attributes is not plain, so that the reader needs no array that grows.
#define LEAT_NODE_DEF_PLAIN_ATTRS 32

// The reader. It lives on the stack, some 2 KiB, and its arrays serve one node after the other.
typedef struct leat_node_def_reader_s {
  leat_arena_t* arena;
  leat_string_view_t* inputs;
  size_t input_capacity;
  leat_node_patterns_t* patterns;  // looked up here, filled by the importer
  leat_attr_def_t attrs[LEAT_NODE_DEF_PLAIN_ATTRS];
} leat_node_def_reader_t;

// |arena| takes what the general decoder makes; the caller may empty it between nodes. Both
// pointers are borrowed until deinitialize.
void leat_node_def_reader_initialize(leat_arena_t* arena, leat_node_patterns_t* patterns,
                                     leat_node_def_reader_t* out_reader);
void leat_node_def_reader_deinitialize(leat_node_def_reader_t* reader);
// Reads the encoded NodeDef |bytes|. The parts are valid until the next call. Those of a plain node
// are not validated: that texts are UTF-8 (the device's is checked) and values well formed shows
// where they are used, or in leat_node_def_check.
LEAT_MUST_USE leat_status_t leat_node_def_read(leat_node_def_reader_t* reader,
                                               leat_string_view_t bytes,
                                               leat_node_def_t* out_def);
// The parts of |message|, which must outlive them. Arrays lie in |arena|.
LEAT_MUST_USE leat_status_t leat_node_def_of_message(const leat_pb_node_def_t* message,
                                                     leat_arena_t* arena,
                                                     leat_node_def_t* out_def);
// Decodes all of a plain node, for a node that was refused: INVALID_ARGUMENT when its bytes are
// malformed, which is reported before anything else.
LEAT_MUST_USE leat_status_t leat_node_def_check(const leat_node_def_t* def, leat_arena_t* arena);

#endif  // LEAT_GRAPH_IMPORT_NODE_DEF_READER_H_
