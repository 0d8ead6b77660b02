// Decodes NodeDefs one after the other. Most are plain: names, inputs, single-valued attributes;
// these are read without the tables, into arrays that the next one reuses. Everything else goes
// through the general decoder, with the same result.
#ifndef LEAT_GRAPH_NODE_DEF_READER_H_
#define LEAT_GRAPH_NODE_DEF_READER_H_

#include "formats/generated/graph.h"

typedef struct leat_node_def_reader_s {
  leat_allocator_t* allocator;
  leat_string_view_t* inputs;
  size_t input_capacity;
  leat_pb_node_def_attr_entry_t* entries;
  size_t entry_capacity;
  leat_pb_attr_value_t* values;
  size_t value_capacity;
  leat_arena_t arena;  // of what the general decoder makes; emptied when it has grown
} leat_node_def_reader_t;

void leat_node_def_reader_initialize(leat_allocator_t* allocator,
                                     leat_node_def_reader_t* out_reader);
void leat_node_def_reader_deinitialize(leat_node_def_reader_t* reader);
// The message is valid until the next call and borrows from |bytes|. Of a value only the member
// that value_case names is defined.
LEAT_MUST_USE leat_status_t leat_node_def_read(leat_node_def_reader_t* reader,
                                               leat_string_view_t bytes,
                                               leat_pb_node_def_t* out_def);

#endif  // LEAT_GRAPH_NODE_DEF_READER_H_
