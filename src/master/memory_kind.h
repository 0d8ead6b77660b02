// Which memory a value is in on a device whose own memory the host cannot read: an argument that
// its kernel's row lists under host_memory, a handle and a string lie with the host, all else in
// the device.
#ifndef LEAT_MASTER_MEMORY_KIND_H_
#define LEAT_MASTER_MEMORY_KIND_H_

#include "graph/graph.h"
#include "master/placer.h"

// Of flattened input or output |index| of a node that is placed; true on devices without memory of
// their own too.
bool leat_memory_input_is_host(const leat_placer_options_t* placement, const leat_graph_t* graph,
                               const leat_node_t* node, int index);
bool leat_memory_output_is_host(const leat_placer_options_t* placement, const leat_node_t* node,
                                int index);
// A device whose values the host can read, for feeds and fetches.
int leat_memory_host_device(const leat_placer_options_t* placement);

#endif  // LEAT_MASTER_MEMORY_KIND_H_
