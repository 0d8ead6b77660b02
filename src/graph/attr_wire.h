// Attribute values straight from the wire: what import reads tens of thousands of.
#ifndef LEAT_GRAPH_ATTR_WIRE_H_
#define LEAT_GRAPH_ATTR_WIRE_H_

#include "graph/graph.h"

#define LEAT_ATTR_READER_SLOTS 128

// Values of one file on their way into a graph. Graphs repeat themselves (a thousand constants 0.0,
// the colocation of all that belongs to a variable): values that are written alike become one.
typedef struct leat_attr_reader_s {
  leat_graph_storage_t* storage;
  leat_arena_t* scratch;
  leat_string_view_t* texts;  // of the tensor at hand
  size_t text_capacity;
  struct {
    leat_string_view_t bytes;
    leat_attr_value_t value;
  } slots[LEAT_ATTR_READER_SLOTS];  // by hash: the last value that fell there
} leat_attr_reader_t;

// What is read lies in |storage|; |scratch| serves the general decoder.
void leat_attr_reader_initialize(leat_graph_storage_t* storage, leat_arena_t* scratch,
                                 leat_attr_reader_t* out_reader);
void leat_attr_reader_deinitialize(leat_attr_reader_t* reader);
// The value that |bytes|, an encoded AttrValue, hold: what decoding the message and
// leat_attr_value_from_proto give. |bytes| must outlive the reader.
LEAT_MUST_USE leat_status_t leat_attr_reader_read(leat_attr_reader_t* reader,
                                                  leat_string_view_t bytes,
                                                  leat_attr_value_t* out_value);
// The same, as a value that nobody else has.
LEAT_MUST_USE leat_status_t leat_attr_reader_read_apart(leat_attr_reader_t* reader,
                                                        leat_string_view_t bytes,
                                                        leat_attr_value_t* out_value);

#define LEAT_WIRE_SHAPES 8  // and as many sizes of each

// Shapes of an encoded AttrValue, when they are few, small and plainly written.
typedef struct leat_wire_shapes_s {
  int count;
  leat_partial_shape_t shapes[LEAT_WIRE_SHAPES];
  int64_t dims[LEAT_WIRE_SHAPES][LEAT_WIRE_SHAPES];
} leat_wire_shapes_t;
// False when they are not.
bool leat_wire_shapes_read(leat_string_view_t bytes, leat_wire_shapes_t* out_shapes);

#endif  // LEAT_GRAPH_ATTR_WIRE_H_
