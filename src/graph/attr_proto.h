// Attribute values to and from AttrValue messages.
#ifndef LEAT_GRAPH_ATTR_PROTO_H_
#define LEAT_GRAPH_ATTR_PROTO_H_

#include "formats/generated/attr_value.h"
#include "graph/graph.h"

// The value that |proto| holds, copied into |storage|. A message with nothing set gives kind NONE;
// an empty list gives a list of kind NONE. INVALID_ARGUMENT for a list of several kinds, a bad
// shape or a bad tensor.
LEAT_MUST_USE leat_status_t leat_attr_value_from_proto(const leat_pb_attr_value_t* proto,
                                                       leat_graph_storage_t* storage,
                                                       leat_attr_value_t* out_value);
// Fills |out_proto|, which borrows from |value|; the rest lies in |arena|.
LEAT_MUST_USE leat_status_t leat_attr_value_to_proto(const leat_attr_value_t* value,
                                                     leat_arena_t* arena,
                                                     leat_pb_attr_value_t* out_proto);

#endif  // LEAT_GRAPH_ATTR_PROTO_H_
