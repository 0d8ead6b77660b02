// The simple placer, which follows TensorFlow's rules, and the frame of both placers. Each
// colocation group gets the first of its feasible devices, accelerators before the CPU and lower
// numbers first. There are three exceptions, each of which saves a copy between devices:
//
//   - a node that reads only shapes lies with its input;
//   - a node that passes its one input on to one reader lies with its input, where the nodes on
//     both sides ask for the same device;
//   - a node that only generates a value lies with its readers, when they are all on one device.
//
// Generators are therefore placed last, when the devices of their readers are known. Whichever
// placer runs, groups are found first and stateful nodes are held at the devices of earlier
// signatures (anchors.h); a graph without any request on a single device skips all of this.
#include "master/placer.h"

#include <stdio.h>

#include "graph/verify.h"
#include "master/anchors.h"
#include "master/greedy.h"
#include "master/groups.h"
#include "optimize/pass.h"

typedef struct simple_s {
  leat_groups_t* groups;
  leat_graph_t* graph;
  leat_readers_t readers;
} simple_t;

const char* leat_placement_reason_text(leat_placement_reason_t reason) {
  static const char* const kTexts[] = {
      "only device", "asked for", "only kernel", "with its group", "with its input",
      "with its reader", "preferred", "earliest end", "as before",
  };
  LEAT_DCHECK((size_t)reason < LEAT_ARRAY_SIZE(kTexts));
  return kTexts[reason];
}

static void note(const simple_t* s, int32_t node, leat_placement_reason_t reason, int32_t other) {
  leat_placement_note_t* notes = s->groups->options->notes;
  if (notes) notes[node] = (leat_placement_note_t){.reason = reason, .other = other};
}

// Whether |node| has no inputs and one output that is no reference.
static bool is_generator(const leat_node_t* node) {
  return node->input_count + node->control_count == 0 && node->output_count == 1 &&
         !leat_dtype_is_ref(node->output_types[0]);
}

// Returns the input whose device node |index| should share by the first two exceptions, or -1.
static int32_t wanted_input(const simple_t* s, int32_t index) {
  const leat_node_t* node = &s->graph->nodes[index];
  if (node->input_count != 1) return -1;
  int32_t input = node->inputs[0].node;
  if (node->op->flags & LEAT_OP_ONLY_SHAPE) return input;
  const uint32_t* begin = s->readers.begin + index;
  if (!(node->op->flags & LEAT_OP_PASS_THROUGH) || node->control_count > 0 ||
      node->device.size > 0 || begin[1] - begin[0] != 1) {
    return -1;
  }
  LEAT_DCHECK(input >= 0 && (size_t)input < s->graph->node_count);
  int32_t reader = s->readers.readers[*begin].node;
  bool alike =
      leat_string_view_equal(s->graph->nodes[input].device, s->graph->nodes[reader].device);
  return alike ? input : -1;
}

// Returns a reader of node |index| when all its readers lie on one device, or -1.
static int32_t wanted_reader(const simple_t* s, int32_t index) {
  uint32_t begin = s->readers.begin[index], end = s->readers.begin[index + 1];
  if (begin == end) return -1;
  int32_t first = s->readers.readers[begin].node;
  LEAT_DCHECK(first >= 0 && (size_t)first < s->graph->node_count);
  for (uint32_t i = begin; i < end; ++i) {
    int32_t reader = s->readers.readers[i].node;
    if (s->graph->nodes[reader].assigned_device != s->graph->nodes[first].assigned_device) {
      return -1;
    }
  }
  return first;
}

static int count_feasible(const leat_groups_t* groups, const leat_group_t* group) {
  int count = 0;
  for (int i = 0; i < groups->set_words; ++i) count += __builtin_popcountll(group->feasible[i]);
  return count;
}

// Places node |index|: on the device of its group when that has one, else beside node |beside| (-1:
// nowhere in particular), else on the group's first device.
static void choose(simple_t* s, int32_t index, int32_t beside, leat_placement_reason_t reason) {
  LEAT_DCHECK(index >= 0 && (size_t)index < s->graph->node_count);
  leat_groups_t* groups = s->groups;
  leat_group_t* group = leat_groups_of(groups, index);
  int32_t* device = &s->graph->nodes[index].assigned_device;
  int wanted = beside >= 0 ? s->graph->nodes[beside].assigned_device : -1;
  if (group->device >= 0) {
    *device = group->device;
    note(s, index, LEAT_PLACED_WITH_GROUP, group->first);
    return;
  }
  bool free_to_choose = count_feasible(groups, group) > 1;
  if (free_to_choose && wanted >= 0 && leat_group_allows(group, wanted)) {
    group->device = wanted;
    note(s, index, reason, beside);
  } else {
    group->device = leat_groups_first_device(groups, group);
    note(s, index,
         groups->options->device_count == 1 ? LEAT_PLACED_ONLY_DEVICE
         : free_to_choose                   ? LEAT_PLACED_PREFERRED
         : group->constrained               ? LEAT_PLACED_AS_ASKED
                                            : LEAT_PLACED_ONLY_KERNEL,
         -1);
  }
  LEAT_DCHECK(group->device >= 0 && leat_group_allows(group, group->device));
  *device = group->device;
  group->first = index;
}

static leat_status_t place_simple(leat_graph_t* graph, leat_groups_t* groups) {
  simple_t s = {.groups = groups, .graph = graph};
  LEAT_RETURN_IF_ERROR(leat_readers_initialize(graph, &s.readers));
  int32_t count = (int32_t)graph->node_count;
  for (int32_t i = 0; i < count; ++i) graph->nodes[i].assigned_device = -1;
  for (int32_t i = 0; i < count; ++i) {
    if (is_generator(&graph->nodes[i])) continue;
    choose(&s, i, wanted_input(&s, i), LEAT_PLACED_WITH_INPUT);
  }
  for (int32_t i = 0; i < count; ++i) {
    if (!is_generator(&graph->nodes[i])) continue;
    choose(&s, i, wanted_reader(&s, i), LEAT_PLACED_WITH_READER);
  }
  leat_readers_deinitialize(&s.readers);
  return leat_ok_status();
}

// Places everything on the only device, when no node asks for one and nobody wants notes. A kernel
// that is missing is reported later, when the plan is made.
static bool place_on_only_device(leat_graph_t* graph, const leat_placer_options_t* options) {
  if (options->device_count != 1 || options->notes) return false;
  for (size_t i = 0; i < graph->node_count; ++i) {
    if (graph->nodes[i].device.size) return false;
  }
  for (size_t i = 0; i < graph->node_count; ++i) graph->nodes[i].assigned_device = 0;
  return true;
}

static leat_status_t place(leat_graph_t* graph, const leat_placer_options_t* options,
                           leat_arena_t* arena) {
  leat_groups_t groups;
  LEAT_RETURN_IF_ERROR(leat_groups_initialize(graph, options, arena, &groups));
  LEAT_RETURN_IF_ERROR(leat_groups_find(&groups, arena));
  leat_anchors_t* anchors = options->anchors;
  if (anchors) {
    leat_anchors_lock(anchors);
    leat_anchors_hold(anchors, &groups);
  }
  leat_status_t status = options->placer == LEAT_PLACER_GREEDY
                             ? leat_place_greedily(graph, &groups, arena)
                             : place_simple(graph, &groups);
  if (anchors) {
    if (!status) status = leat_anchors_drop(anchors, graph);
    leat_anchors_unlock(anchors);
  }
  return status;
}

leat_status_t leat_place(leat_graph_t* graph, const leat_placer_options_t* options) {
  leat_status_t status = leat_ok_status();
  if (!place_on_only_device(graph, options)) {
    leat_arena_t arena;
    leat_arena_initialize(graph->allocator, 0, &arena);
    status = place(graph, options, &arena);
    leat_arena_deinitialize(&arena);
  }
  if (!status) status = LEAT_VERIFY_PLACED(graph, options->device_count, "placement");
  return status;
}

// Sets |*out_copy| to a child of |graph| with all of its nodes.
static leat_status_t copy_whole(const leat_graph_t* graph, leat_rewrite_t* out_copy) {
  int32_t* nodes;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(graph->allocator, graph->node_count + 1, &nodes));
  for (size_t i = 0; i < graph->node_count; ++i) nodes[i] = (int32_t)i;
  leat_status_t status =
      leat_prune(graph, NULL, 0, NULL, 0, nodes, (int)graph->node_count, out_copy);
  leat_allocator_free(graph->allocator, nodes);
  return status;
}

leat_status_t leat_print_placement(const leat_graph_t* graph,
                                   const leat_placer_options_t* options) {
  leat_placer_options_t alone = *options;
  alone.anchors = NULL;  // the copy's nodes run nowhere, so they hold none
  leat_rewrite_t copy;
  LEAT_RETURN_IF_ERROR(copy_whole(graph, &copy));
  leat_status_t status = leat_place(copy.graph, &alone);
  for (int generators = 0; !status && generators < 2; ++generators) {
    for (size_t i = 0; i < copy.graph->node_count; ++i) {
      const leat_node_t* node = &copy.graph->nodes[i];
      if (is_generator(node) != generators) continue;
      printf("%.*s: (%.*s): %.*s\n", LEAT_SV_ARG(node->name), LEAT_SV_ARG(node->op->name),
             LEAT_SV_ARG(options->devices[node->assigned_device].name));
    }
  }
  fflush(stdout);
  leat_rewrite_deinitialize(&copy);
  return status;
}

// Nodes that are written alike share their attributes (graph/import/node_pattern.h), and which
// devices serve a node follows from its op and attributes. So of such nodes one is checked.
#define CHECKED_LIKES 256
typedef struct checked_s {
  const leat_op_t* op;
  const leat_attr_t* attrs;
  int attr_count;
} checked_t;

static leat_status_t check_node(const leat_groups_t* groups, const leat_node_t* node,
                                checked_t checked[CHECKED_LIKES]) {
  const checked_t like = {node->op, node->attrs, node->attr_count};
  const uintptr_t word = (uintptr_t)like.op ^ (uintptr_t)like.attrs;
  checked_t* place = &checked[(word >> 4 ^ word >> 12) % CHECKED_LIKES];
  const bool is_known = place->op == like.op && place->attrs == like.attrs &&
                        place->attr_count == like.attr_count;
  if (is_known && !node->device.size) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_groups_check_node(groups, node));
  *place = like;
  return leat_ok_status();
}

leat_status_t leat_check_placement(const leat_graph_t* graph, const leat_placer_options_t* options,
                                   size_t* inout_checked) {
  // A graph only grows: what was checked is still there.
  LEAT_DCHECK(*inout_checked <= graph->node_count);
  leat_groups_t groups;
  leat_arena_t arena;
  leat_arena_initialize(graph->allocator, 0, &arena);
  checked_t checked[CHECKED_LIKES] = {{0}};
  leat_status_t status = leat_groups_initialize(graph, options, &arena, &groups);
  // Nodes with inputs come first, as in TensorFlow, which places constants and the like beside
  // their readers: so an error names the reader.
  for (int sources = 0; sources < 2; ++sources) {
    for (size_t i = *inout_checked; !status && i < graph->node_count; ++i) {
      if ((graph->nodes[i].input_count == 0) != sources) continue;
      status = check_node(&groups, &graph->nodes[i], checked);
    }
  }
  if (!status) *inout_checked = graph->node_count;
  leat_arena_deinitialize(&arena);
  return status;
}
