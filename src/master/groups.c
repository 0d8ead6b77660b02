// Finds colocation groups by TensorFlow's rules. Nodes are tied together in this order:
//
//   references and handles   a node that takes a variable's reference or handle lies where the
//                            variable lies; where the two ask for different devices, the variable's
//                            request stands
//   "_class" = "loc:@name"   all nodes that name one group lie together, whether or not a node of
//                            that name is in the graph
//
// Each group keeps its members' merged request, and the set of devices whose kernels serve all of
// them; uniting two groups merges the requests and intersects the sets. At the end the request
// narrows the set; with soft placement, a request that leaves nothing loses its device type and
// number first. The set of every group is then not empty, on which the placers rely. The groups are
// found afresh for each graph, in nearly linear time.
#include "master/groups.h"

#include <string.h>

// Whether two sets have a device in common; a set with itself: whether it has any.
static bool has_any(const leat_groups_t* g, const leat_device_set_t* a,
                    const leat_device_set_t* b) {
  leat_device_set_t any = 0;
  for (int i = 0; i < g->set_words; ++i) any |= a[i] & b[i];
  return any != 0;
}

// The root of the node's group, with path halving.
static int32_t find_root(const leat_groups_t* g, int32_t node) {
  LEAT_DCHECK(node >= 0 && (size_t)node < g->graph->node_count);
  while (g->items[node].parent != node) {
    g->items[node].parent = g->items[g->items[node].parent].parent;
    node = g->items[node].parent;
  }
  return node;
}

leat_group_t* leat_groups_of(leat_groups_t* groups, int32_t node) {
  return &groups->items[find_root(groups, node)];
}

int leat_groups_first_device(const leat_groups_t* groups, const leat_group_t* group) {
  for (int i = 0; i < groups->options->device_count; ++i) {
    if (leat_group_allows(group, groups->order[i])) return groups->order[i];
  }
  LEAT_DCHECK(false);  // groups are settled, and every group that is settled allows a device
  return 0;
}

// ---- Messages -----------------------------------------------------------------------------------

static LEAT_COLD leat_status_t cannot_place(const leat_groups_t* g, const leat_node_t* node,
                                            const char* reason) {
  leat_string_builder_t devices;
  leat_string_builder_initialize(leat_allocator_system(), &devices);
  for (int i = 0; i < g->options->device_count; ++i) {
    leat_string_builder_print(&devices, "%s%.*s", i ? ", " : "",
                              LEAT_SV_ARG(g->options->devices[i].name));
  }
  leat_status_t status = leat_make_status(
      LEAT_INVALID_ARGUMENT,
      "Place failed for node '%.*s' (%.*s): device is '%.*s', %s. Available devices: [%.*s]",
      LEAT_SV_ARG(node->name), LEAT_SV_ARG(node->op->name), LEAT_SV_ARG(node->device), reason,
      LEAT_SV_ARG(leat_string_builder_view(&devices)));
  leat_string_builder_deinitialize(&devices);
  return status;
}

// Adds to |status| the two nodes that cannot be together.
static LEAT_COLD leat_status_t about(leat_status_t status, const leat_groups_t* g, int32_t a,
                                     int32_t b) {
  return leat_status_annotate(status, "Place failed for colocated nodes '%.*s' and '%.*s'",
                              LEAT_SV_ARG(g->graph->nodes[a].name),
                              LEAT_SV_ARG(g->graph->nodes[b].name));
}

static leat_status_t parse(const leat_node_t* node, leat_device_name_t* out_name) {
  leat_status_t status = leat_device_name_parse(node->device, out_name);
  if (!status) return status;
  return leat_status_annotate(status, "Place failed for node '%.*s' (%.*s)",
                              LEAT_SV_ARG(node->name), LEAT_SV_ARG(node->op->name));
}

// ---- Devices ------------------------------------------------------------------------------------

leat_status_t leat_groups_initialize(const leat_graph_t* graph,
                                     const leat_placer_options_t* options, leat_arena_t* arena,
                                     leat_groups_t* out_groups) {
  leat_groups_t* g = out_groups;
  size_t devices = (size_t)options->device_count;
  *g = (leat_groups_t){.graph = graph, .options = options, .set_words = (int)(devices + 63) / 64};
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, devices, &g->names));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, devices, &g->order));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, (size_t)g->set_words, &g->matching));
  // Later stages rely on there being a device 0.
  LEAT_DCHECK(options->device_count > 0);
  int next = 0;
  for (int cpu = 0; cpu < 2; ++cpu) {
    for (int i = 0; i < options->device_count; ++i) {
      bool is_cpu = leat_string_view_equals(options->devices[i].type, "CPU");
      if (is_cpu == (cpu == 1)) g->order[next++] = i;
    }
  }
  // Each device has its place in the order.
  LEAT_DCHECK(next == options->device_count);
  for (size_t i = 0; i < devices; ++i) {
    LEAT_RETURN_IF_ERROR(leat_device_name_parse(options->devices[i].name, &g->names[i]));
  }
  return leat_ok_status();
}

// Returns the set of devices that |name| allows, in scratch memory: it is valid until the next
// call.
static const leat_device_set_t* devices_matching(const leat_groups_t* g,
                                                 const leat_device_name_t* name) {
  memset(g->matching, 0, (size_t)g->set_words * sizeof *g->matching);
  for (int i = 0; i < g->options->device_count; ++i) {
    if (!leat_device_name_matches(name, &g->names[i])) continue;
    g->matching[i / 64] |= UINT64_C(1) << i % 64;
  }
  return g->matching;
}

// What soft placement leaves of a request: the machine, but neither type nor number of the device.
static leat_device_name_t softened(leat_device_name_t name) {
  name.type = LEAT_SV("");
  name.index = LEAT_DEVICE_ANY;
  return name;
}

// Adds to |feasible|, which must be empty, the devices that have a kernel for |node|.
static leat_status_t find_serving(const leat_groups_t* g, const leat_node_t* node,
                                  leat_device_set_t* feasible) {
  LEAT_DCHECK(!has_any(g, feasible, feasible));
  bool served = false;
  for (int i = 0; i < g->options->device_count; ++i) {
    const leat_kernel_row_t* row;
    LEAT_RETURN_IF_ERROR(leat_kernel_registry_probe(g->options->kernels, node->op, node->attrs,
                                                    node->attr_count, g->options->devices[i].type,
                                                    &row));
    if (!row) continue;
    feasible[i / 64] |= UINT64_C(1) << i % 64;
    served = true;
  }
  if (served) return leat_ok_status();
  return leat_kernel_registry_unserved(g->options->kernels, node->op, node->name, node->attrs,
                                       node->attr_count, g->options->devices[0].type);
}

leat_status_t leat_groups_check_node(const leat_groups_t* groups, const leat_node_t* node) {
  leat_device_name_t name;
  if (!(node->op->flags & LEAT_OP_CALLS)) {
    memset(groups->matching, 0, (size_t)groups->set_words * sizeof *groups->matching);
    leat_status_t status = find_serving(groups, node, groups->matching);
    // Most declared ops have kernels in TensorFlow, where a graph runs that does not need them.
    if (status && leat_op_registry_has(groups->graph->ops, node->op->name)) return status;
    leat_status_free(status);
  }
  if (!node->device.size) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(parse(node, &name));
  if (groups->options->allow_soft_placement) name = softened(name);
  const leat_device_set_t* matching = devices_matching(groups, &name);
  return has_any(groups, matching, matching) ? leat_ok_status()
                                             : cannot_place(groups, node, "which matches none");
}

// Narrows a group to the devices that its request allows; |node| is its first member, for messages.
static leat_status_t settle(const leat_groups_t* g, const leat_node_t* node, leat_group_t* group) {
  // Uniting groups refuses those that share no device.
  LEAT_DCHECK(has_any(g, group->feasible, group->feasible));
  const leat_device_set_t* matching = devices_matching(g, &group->asked);
  if (!has_any(g, group->feasible, matching) && g->options->allow_soft_placement) {
    leat_device_name_t soft = softened(group->asked);
    matching = devices_matching(g, &soft);
  }
  if (!has_any(g, matching, matching)) return cannot_place(g, node, "which matches none");
  if (!has_any(g, group->feasible, matching)) {
    return cannot_place(g, node, "which has no kernel for it and those colocated with it");
  }
  for (int i = 0; i < g->set_words; ++i) group->feasible[i] &= matching[i];
  LEAT_DCHECK(has_any(g, group->feasible, group->feasible));
  return leat_ok_status();
}

// ---- Uniting ------------------------------------------------------------------------------------

bool leat_node_makes_reference(const leat_node_t* node) {
  if (node->input_count > 0) return false;
  for (int i = 0; i < node->output_count; ++i) {
    int type = node->output_types[i];
    if (type == LEAT_DTYPE_RESOURCE || leat_dtype_is_ref(type)) return true;
  }
  return false;
}

static leat_status_t start_group(leat_groups_t* g, int32_t index) {
  const leat_node_t* node = &g->graph->nodes[index];
  leat_group_t* group = &g->items[index];
  group->parent = index;
  group->device = -1;
  LEAT_RETURN_IF_ERROR(find_serving(g, node, group->feasible));
  LEAT_RETURN_IF_ERROR(parse(node, &group->asked));
  group->constrained = node->device.size > 0;
  LEAT_RETURN_IF_ERROR(leat_device_name_parse(LEAT_SV(""), &group->variable));
  if (leat_node_makes_reference(node)) group->variable = group->asked;
  return leat_ok_status();
}

// Unites the groups of |a| and |b|. |asked| may lose its type and number where soft placement
// allows; the request of variables may not.
static leat_status_t unite(leat_groups_t* g, int32_t a, int32_t b) {
  int32_t x = find_root(g, a), y = find_root(g, b);
  if (x == y) return leat_ok_status();
  LEAT_DCHECK(g->items[x].parent == x && g->items[y].parent == y);
  leat_group_t* into = &g->items[x];
  const leat_group_t* from = &g->items[y];
  leat_status_t status = leat_device_name_merge(
      &into->asked, &from->asked, g->options->allow_soft_placement, &into->asked);
  if (!status) {
    status = leat_device_name_merge(&into->variable, &from->variable, false, &into->variable);
  }
  if (status) return about(status, g, a, b);
  if (!has_any(g, into->feasible, from->feasible)) {
    return about(leat_make_status(LEAT_INVALID_ARGUMENT, "no device has kernels for both: they "
                                                         "share no device"), g, a, b);
  }
  for (int i = 0; i < g->set_words; ++i) into->feasible[i] &= from->feasible[i];
  into->constrained |= from->constrained;
  g->items[y].parent = x;
  return leat_ok_status();
}

// Whether a request names anything.
static bool is_asked(const leat_device_name_t* name) {
  return name->job.size || name->type.size || name->replica != LEAT_DEVICE_ANY ||
         name->task != LEAT_DEVICE_ANY || name->index != LEAT_DEVICE_ANY;
}

// Unites |reader| with |source|, whose reference or handle it takes.
static leat_status_t tie(leat_groups_t* g, int32_t source, int32_t reader) {
  leat_group_t* from = leat_groups_of(g, source);
  leat_group_t* to = leat_groups_of(g, reader);
  LEAT_DCHECK(from->parent == from - g->items && to->parent == to - g->items);
  if (from == to) return leat_ok_status();
  leat_device_name_t merged;
  leat_status_t status = leat_device_name_merge(&from->variable, &to->variable, false, &merged);
  if (status) return about(status, g, source, reader);
  status = leat_device_name_merge(&from->asked, &to->asked, false, &merged);
  if (status) {
    leat_status_free(status);
    // The reader's own request gives way, unless the reader lies with the maker already: the Merge
    // of a loop has the handle from outside, and gets it back from a NextIteration.
    if (is_asked(&to->variable) && !is_asked(&from->variable)) {
      from->asked = to->asked;
    } else {
      to->asked = from->asked;
    }
  }
  return unite(g, source, reader);
}

// Ties a node to the makers of the references and handles that it takes.
static leat_status_t tie_to_inputs(leat_groups_t* g, int32_t index) {
  const leat_node_t* node = &g->graph->nodes[index];
  for (int i = 0; i < node->input_count; ++i) {
    int type = leat_graph_output_type(g->graph, node->inputs[i]);
    bool takes_ref = leat_dtype_is_ref(type) && node->op->has_ref_inputs &&
                     leat_dtype_is_ref(leat_node_input_type(node, i));
    if (type != LEAT_DTYPE_RESOURCE && !takes_ref) continue;
    LEAT_RETURN_IF_ERROR(tie(g, node->inputs[i].node, index));
  }
  return leat_ok_status();
}

// Unites node |index| with the groups that its attribute "_class" names. |first| maps the name of a
// group without a node of that name to the first node that names it.
static leat_status_t unite_class(leat_groups_t* g, int32_t index, leat_string_map_t* first) {
  const leat_attr_value_t* classes = leat_node_attr(&g->graph->nodes[index], LEAT_SV("_class"));
  if (!classes || classes->kind != LEAT_ATTR_STRING || !classes->is_list) return leat_ok_status();
  for (uint32_t i = 0; i < classes->count; ++i) {
    leat_string_view_t name = classes->strings[i];
    if (!leat_string_view_starts_with(name, LEAT_SV("loc:@"))) continue;
    name = leat_string_view_from_index(name, 5);
    int32_t other = leat_graph_find_node(g->graph, name);
    if (other < 0) {
      uint64_t* seen;
      bool inserted;
      LEAT_RETURN_IF_ERROR(
          leat_string_map_insert(first, name, (uint64_t)index, &seen, &inserted));
      LEAT_DCHECK(*seen < g->graph->node_count);
      other = (int32_t)*seen;
    }
    LEAT_RETURN_IF_ERROR(unite(g, other, index));
  }
  return leat_ok_status();
}

static leat_status_t unite_classes(leat_groups_t* g) {
  leat_string_map_t first;
  leat_string_map_initialize(g->graph->allocator, &first);
  leat_status_t status = leat_ok_status();
  for (size_t i = 0; i < g->graph->node_count && !status; ++i) {
    status = unite_class(g, (int32_t)i, &first);
  }
  leat_string_map_deinitialize(&first);
  return status;
}

leat_status_t leat_groups_find(leat_groups_t* groups, leat_arena_t* arena) {
  // leat_groups_initialize must have been called.
  LEAT_DCHECK(groups->names && groups->order && groups->set_words > 0);
  size_t count = groups->graph->node_count;
  leat_device_set_t* sets;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count + 1, &groups->items));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, (count + 1) * (size_t)groups->set_words, &sets));
  for (size_t i = 0; i < count; ++i) {
    groups->items[i].feasible = sets + i * (size_t)groups->set_words;
    LEAT_RETURN_IF_ERROR(start_group(groups, (int32_t)i));
  }
  for (size_t i = 0; i < count; ++i) LEAT_RETURN_IF_ERROR(tie_to_inputs(groups, (int32_t)i));
  LEAT_RETURN_IF_ERROR(unite_classes(groups));
  bool* settled;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count + 1, &settled));
  for (size_t i = 0; i < count; ++i) {
    int32_t root = find_root(groups, (int32_t)i);
    if (settled[root]) continue;
    settled[root] = true;
    LEAT_RETURN_IF_ERROR(settle(groups, &groups->graph->nodes[i], &groups->items[root]));
  }
  return leat_ok_status();
}
