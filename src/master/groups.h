// Colocation groups (section 4.3): nodes that must share a device, united by union-find, and the
// devices on which every member of a group can run.
#ifndef LEAT_MASTER_GROUPS_H_
#define LEAT_MASTER_GROUPS_H_

#include "master/placer.h"

// Devices as a set of bits, groups->set_words words long.
typedef uint64_t leat_device_set_t;

typedef struct leat_group_s {
  int32_t parent;
  int device;  // chosen, or -1
  bool constrained;               // somebody asked for a device
  leat_device_name_t asked;       // what the members ask for, merged
  leat_device_name_t variable;    // what those ask for that make references and handles
  leat_device_set_t* feasible;
} leat_group_t;

typedef struct leat_groups_s {
  const leat_graph_t* graph;
  const leat_placer_options_t* options;
  leat_device_name_t* names;   // parsed, one a device
  int* order;                  // devices by preference: accelerators first, lower numbers first
  int set_words;
  leat_device_set_t* matching;  // scratch
  leat_group_t* items;          // one a node; the root's counts
} leat_groups_t;

// Only the devices: names and order.
LEAT_MUST_USE leat_status_t leat_groups_initialize(const leat_graph_t* graph,
                                                   const leat_placer_options_t* options,
                                                   leat_arena_t* arena, leat_groups_t* out_groups);
// Finds the groups of an initialised struct. INVALID_ARGUMENT names the nodes that cannot be
// together, or the node whose request no device meets.
LEAT_MUST_USE leat_status_t leat_groups_find(leat_groups_t* groups, leat_arena_t* arena);
// Is there a kernel for |node| somewhere, and a device that meets its own request?
LEAT_MUST_USE leat_status_t leat_groups_check_node(const leat_groups_t* groups,
                                                   const leat_node_t* node);
// Is it a generator of a reference or a resource handle: does it hold state?
bool leat_node_makes_reference(const leat_node_t* node);
leat_group_t* leat_groups_of(leat_groups_t* groups, int32_t node);

static inline bool leat_group_allows(const leat_group_t* group, int device) {
  return group->feasible[device / 64] >> device % 64 & 1;
}
// The preferred one; there is one.
int leat_groups_first_device(const leat_groups_t* groups, const leat_group_t* group);

#endif  // LEAT_MASTER_GROUPS_H_
