// Decodes attribute values straight from the wire format, without a message in between. Import
// reads hundreds of thousands of them, and decoding each into a general AttrValue first would take
// longer than everything else. The result is the same by definition: what is not plainly written
// goes through the general decoder.
#ifndef LEAT_GRAPH_IMPORT_ATTR_WIRE_H_
#define LEAT_GRAPH_IMPORT_ATTR_WIRE_H_

#include "graph/graph.h"

#define LEAT_ATTR_READER_SLOTS 128

// The reader of one file's values. Graphs repeat themselves (a thousand constants 0.0, the "_class"
// of all that belongs to one variable), so values whose bytes are equal become one value, which the
// nodes share. One thread at a time.
typedef struct leat_attr_reader_s {
  leat_graph_storage_t* storage;
  leat_arena_t* scratch;      // for what the general decoder makes
  leat_string_view_t* texts;  // the strings of the tensor that is being read
  size_t text_capacity;
  struct {
    leat_string_view_t bytes;
    leat_attr_value_t value;
  } slots[LEAT_ATTR_READER_SLOTS];  // by hash of the bytes: the last value with that hash
} leat_attr_reader_t;

// What is read lies in |storage|. |scratch| may be emptied between reads. Both are borrowed until
// deinitialize.
void leat_attr_reader_initialize(leat_graph_storage_t* storage, leat_arena_t* scratch,
                                 leat_attr_reader_t* out_reader);
void leat_attr_reader_deinitialize(leat_attr_reader_t* reader);
// Reads the encoded AttrValue |bytes|, which must outlive the reader, to the value that
// leat_attr_value_from_proto would give. The value may be shared with other nodes.
LEAT_MUST_USE leat_status_t leat_attr_reader_read(leat_attr_reader_t* reader,
                                                  leat_string_view_t bytes,
                                                  leat_attr_value_t* out_value);
// Reads a value that is shared with nobody, so that its owner may change it (import renames the
// targets of "_class").
LEAT_MUST_USE leat_status_t leat_attr_reader_read_apart(leat_attr_reader_t* reader,
                                                        leat_string_view_t bytes,
                                                        leat_attr_value_t* out_value);

// The most shapes of a list, and the highest rank, that leat_wire_shapes_read takes.
#define LEAT_WIRE_SHAPES 8

// A list of shapes on the stack, for "_output_shapes", which no node keeps.
typedef struct leat_wire_shapes_s {
  int count;
  leat_partial_shape_t shapes[LEAT_WIRE_SHAPES];
  int64_t dims[LEAT_WIRE_SHAPES][LEAT_WIRE_SHAPES];
} leat_wire_shapes_t;
// Reads an encoded AttrValue that is a list of few small shapes, plainly written; false for
// anything else.
bool leat_wire_shapes_read(leat_string_view_t bytes, leat_wire_shapes_t* out_shapes);

#endif  // LEAT_GRAPH_IMPORT_ATTR_WIRE_H_
