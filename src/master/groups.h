// Colocation groups (section 4.3): sets of nodes that must share a device, found by union-find, and
// for each group the devices on which all its members can run. Placers choose a device for each
// group. All arrays lie in the arena that the functions are given, and live as long.
//
//   leat_groups_t groups;
//   LEAT_RETURN_IF_ERROR(leat_groups_initialize(graph, options, arena, &groups));
//   LEAT_RETURN_IF_ERROR(leat_groups_find(&groups, arena));
//   leat_group_t* group = leat_groups_of(&groups, node);
//   if (group->device < 0) group->device = leat_groups_first_device(&groups, group);
//
// A graph's groups belong to the thread that places it.
#ifndef LEAT_MASTER_GROUPS_H_
#define LEAT_MASTER_GROUPS_H_

#include "master/placer.h"

// Devices as a set of bits, groups->set_words words long.
typedef uint64_t leat_device_set_t;

typedef struct leat_group_s {
  int32_t parent;  // in the union-find forest; a root is its own parent
  // An index in options->devices, which the placer chooses; -1 before.
  int device;
  int32_t first;                  // the member for which the placer chose |device|
  bool constrained;               // a member asks for a device
  leat_device_name_t asked;       // the merged requests of the members
  leat_device_name_t variable;    // the merged requests of those that make references or handles
  leat_device_set_t* feasible;    // devices that every member can run on
} leat_group_t;

typedef struct leat_groups_s {
  const leat_graph_t* graph;
  const leat_placer_options_t* options;
  leat_device_name_t* names;   // [device_count], parsed
  int* order;                  // devices by preference: accelerators first, lower numbers first
  int set_words;
  leat_device_set_t* matching;  // scratch
  leat_group_t* items;          // [node_count]; a group's content is in the item of its root
} leat_groups_t;

// Prepares the devices' names and order; groups are not found yet.
LEAT_MUST_USE leat_status_t leat_groups_initialize(const leat_graph_t* graph,
                                                   const leat_placer_options_t* options,
                                                   leat_arena_t* arena, leat_groups_t* out_groups);
// Finds the groups of an initialized struct. INVALID_ARGUMENT names the nodes that cannot be
// together, or the node whose request no device meets.
LEAT_MUST_USE leat_status_t leat_groups_find(leat_groups_t* groups, leat_arena_t* arena);
// Checks that some device has a kernel for |node|, unless its op is only declared
// (graph/op/declared.h), and that some device meets the node's own request.
LEAT_MUST_USE leat_status_t leat_groups_check_node(const leat_groups_t* groups,
                                                   const leat_node_t* node);
// Whether |node| holds state: it has no inputs and makes a reference or a resource handle.
bool leat_node_makes_reference(const leat_node_t* node);
// The group of |node|: the item of its root. Paths to the root are shortened on the way.
leat_group_t* leat_groups_of(leat_groups_t* groups, int32_t node);

// Whether every member of the group can run on |device|.
static inline bool leat_group_allows(const leat_group_t* group, int device) {
  return group->feasible[device / 64] >> device % 64 & 1;
}
// Returns the preferred one of the group's devices; every group has at least one.
int leat_groups_first_device(const leat_groups_t* groups, const leat_group_t* group);

#endif  // LEAT_MASTER_GROUPS_H_
