// Which names a node may have, and the hash by which leat_node_index_t finds it.
#ifndef LEAT_GRAPH_NODE_NAME_H_
#define LEAT_GRAPH_NODE_NAME_H_

#include "base/string_view.h"

// Whether a node may be called |name|: [A-Za-z0-9.][A-Za-z0-9_./-]*, perhaps several such texts
// joined by '>'. Nodes of the runtime (|may_be_internal|) may begin with '_'.
bool leat_node_name_is_valid(leat_string_view_t name, bool may_be_internal);
// Does the same and gives the hash in one pass over the text. |*out_hash| has no meaning when it
// returns false.
bool leat_node_name_read(leat_string_view_t name, bool may_be_internal, uint64_t* out_hash);
uint64_t leat_node_name_hash(leat_string_view_t name);

#endif  // LEAT_GRAPH_NODE_NAME_H_
