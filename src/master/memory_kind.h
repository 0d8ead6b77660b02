// Which memory a value lies in on a device whose own memory the host cannot read. With the host lie
// the arguments that a kernel's row lists under host_memory, handles and strings; everything else
// lies in the device. The partitioner asks, to copy values between the two.
#ifndef LEAT_MASTER_MEMORY_KIND_H_
#define LEAT_MASTER_MEMORY_KIND_H_

#include "graph/graph.h"
#include "master/placer.h"

// Whether input or output |index| (flattened) of a placed node lies in host memory. True for every
// value on a device without memory of its own.
bool leat_memory_input_is_host(const leat_placer_options_t* placement, const leat_graph_t* graph,
                               const leat_node_t* node, int index);
bool leat_memory_output_is_host(const leat_placer_options_t* placement, const leat_node_t* node,
                                int index);
// Returns a device whose values the host can read; feeds and fetches are exchanged there.
int leat_memory_host_device(const leat_placer_options_t* placement);

#endif  // LEAT_MASTER_MEMORY_KIND_H_
