// NodeDefs one after the other. Of a plain one (most are) the reader finds the parts: names,
// inputs, attributes by name; the values stay encoded, since who takes them knows best where they
// shall lie. Everything else goes through the general decoder, with the same result.
#ifndef LEAT_GRAPH_NODE_DEF_READER_H_
#define LEAT_GRAPH_NODE_DEF_READER_H_

#include "formats/generated/graph.h"
#include "graph/node_pattern.h"

typedef struct leat_attr_def_s {
  leat_string_view_t name;
  leat_string_view_t bytes;             // an encoded AttrValue,
  const leat_pb_attr_value_t* message;  // or the decoded one
} leat_attr_def_t;

// Borrows from the encoded node, or from the message.
typedef struct leat_node_def_s {
  leat_string_view_t bytes;  // of a plain node, of which nothing was decoded; empty when all was
  leat_string_view_t name, op, device;
  const leat_string_view_t* inputs;
  const leat_attr_def_t* attrs;  // no name twice
  size_t input_count, attr_count;
  leat_node_writing_t writing;    // of a plain node
  leat_attr_def_t class_attr;     // its "_class", if it has one
  const leat_node_pattern_t* pattern;  // if it is there |attrs| are not read
  uint32_t pattern_place;
} leat_node_def_t;

#define LEAT_NODE_DEF_PLAIN_ATTRS 32

typedef struct leat_node_def_reader_s {
  leat_arena_t* arena;
  leat_string_view_t* inputs;
  size_t input_capacity;
  leat_node_patterns_t* patterns;  // who takes the nodes fills them
  leat_attr_def_t attrs[LEAT_NODE_DEF_PLAIN_ATTRS];
} leat_node_def_reader_t;

// What the general decoder makes lies in |arena|.
void leat_node_def_reader_initialize(leat_arena_t* arena, leat_node_patterns_t* patterns,
                                     leat_node_def_reader_t* out_reader);
void leat_node_def_reader_deinitialize(leat_node_def_reader_t* reader);
// The parts are valid until the next call. Those of a plain node are taken on trust: that its texts
// are UTF-8 (the device apart) and its values well formed shows where they are used, or in
// leat_node_def_check.
LEAT_MUST_USE leat_status_t leat_node_def_read(leat_node_def_reader_t* reader,
                                               leat_string_view_t bytes,
                                               leat_node_def_t* out_def);
// The parts of |message|, which must outlive them; arrays lie in |arena|.
LEAT_MUST_USE leat_status_t leat_node_def_of_message(const leat_pb_node_def_t* message,
                                                     leat_arena_t* arena,
                                                     leat_node_def_t* out_def);
// Says what is malformed in a node whose parts were taken on trust: of a node that is refused, that
// comes first.
LEAT_MUST_USE leat_status_t leat_node_def_check(const leat_node_def_t* def, leat_arena_t* arena);

#endif  // LEAT_GRAPH_NODE_DEF_READER_H_
