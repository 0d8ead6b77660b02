// Conversion between attribute values (graph/op/attr.h) and decoded AttrValue messages. Import
// takes the faster way of graph/import/attr_wire.h for values that are plainly written, and this
// one for all others.
#ifndef LEAT_GRAPH_OP_ATTR_PROTO_H_
#define LEAT_GRAPH_OP_ATTR_PROTO_H_

#include "formats/generated/attr_value.h"
#include "graph/graph.h"

// Copies the value that |proto| holds into |storage|. A message with nothing set gives kind NONE,
// an empty list a list of kind NONE. INVALID_ARGUMENT for a list with items of several kinds, a
// malformed shape or a malformed tensor.
LEAT_MUST_USE leat_status_t leat_attr_value_from_proto(const leat_pb_attr_value_t* proto,
                                                       leat_graph_storage_t* storage,
                                                       leat_attr_value_t* out_value);
// Fills |out_proto|, which borrows from |value|; what it needs besides lies in |arena|.
LEAT_MUST_USE leat_status_t leat_attr_value_to_proto(const leat_attr_value_t* value,
                                                     leat_arena_t* arena,
                                                     leat_pb_attr_value_t* out_proto);
// What |count| of a single value says of |tensor|, which was made of |proto|.
uint32_t leat_attr_tensor_listed(const leat_pb_tensor_proto_t* proto, const leat_tensor_t* tensor);

#endif  // LEAT_GRAPH_OP_ATTR_PROTO_H_
