// What a node may be called, and the hash by which it is found.
#ifndef LEAT_GRAPH_NODE_NAME_H_
#define LEAT_GRAPH_NODE_NAME_H_

#include "base/string_view.h"

// May a node be called that? The runtime's own nodes (|may_be_internal|) may begin with '_'.
bool leat_node_name_is_valid(leat_string_view_t name, bool may_be_internal);
// The same with |*out_hash|, in one pass; a name that is none has no hash.
bool leat_node_name_read(leat_string_view_t name, bool may_be_internal, uint64_t* out_hash);
uint64_t leat_node_name_hash(leat_string_view_t name);

#endif  // LEAT_GRAPH_NODE_NAME_H_
