// The simple placer. Nodes that must share a device are united by union-find; each group collects
// its members' constraints and the devices whose kernels serve all of them; it gets the first of
// these, accelerators before the CPU, lower numbers first.
#include "master/placer.h"

#include <string.h>

#include "base/log.h"

// Devices as a set of bits, |set_words| words long.
typedef uint64_t device_set_t;

typedef struct group_s {
  int32_t parent;
  leat_device_name_t constraint;
  device_set_t* feasible;
  bool constrained;
} group_t;

typedef struct placement_s {
  const leat_graph_t* graph;
  const leat_placer_options_t* options;
  leat_device_name_t* names;  // parsed, one a device
  int* order;                 // devices by preference
  int set_words;
  device_set_t* matching;     // scratch
  group_t* groups;            // one a node; the root's counts
} placement_t;

static void add_device(device_set_t* set, int device) {
  set[device / 64] |= UINT64_C(1) << device % 64;
}

static bool has_device(const device_set_t* set, int device) {
  return set[device / 64] >> device % 64 & 1;
}

// |into| keeps what |set| has too.
static void intersect(const placement_t* p, device_set_t* into, const device_set_t* set) {
  for (int i = 0; i < p->set_words; ++i) into[i] &= set[i];
}

static bool is_empty(const placement_t* p, const device_set_t* set) {
  device_set_t any = 0;
  for (int i = 0; i < p->set_words; ++i) any |= set[i];
  return any == 0;
}

static int32_t find_root(placement_t* p, int32_t node) {
  while (p->groups[node].parent != node) {
    p->groups[node].parent = p->groups[p->groups[node].parent].parent;
    node = p->groups[node].parent;
  }
  return node;
}

static leat_status_t cannot_place(const placement_t* p, const leat_node_t* node,
                                  const char* reason) {
  leat_string_builder_t devices;
  leat_string_builder_initialize(leat_allocator_system(), &devices);
  for (int i = 0; i < p->options->device_count; ++i) {
    leat_string_builder_print(&devices, "%s%.*s", i ? ", " : "",
                              LEAT_SV_ARG(p->options->devices[i].name));
  }
  leat_status_t status = leat_make_status(
      LEAT_INVALID_ARGUMENT,
      "Place failed for node '%.*s' (%.*s): device is '%.*s', %s. Available devices: [%.*s]",
      LEAT_SV_ARG(node->name), LEAT_SV_ARG(node->op->name), LEAT_SV_ARG(node->device), reason,
      LEAT_SV_ARG(leat_string_builder_view(&devices)));
  leat_string_builder_deinitialize(&devices);
  return status;
}

static leat_status_t unite(placement_t* p, int32_t a, int32_t b) {
  int32_t x = find_root(p, a), y = find_root(p, b);
  if (x == y) return leat_ok_status();
  group_t* into = &p->groups[x];
  const group_t* from = &p->groups[y];
  if (from->constrained) {
    leat_device_name_t merged = from->constraint;
    if (into->constrained) {
      leat_status_t status = leat_device_name_merge(&into->constraint, &from->constraint,
                                                    p->options->allow_soft_placement, &merged);
      if (status) {
        return leat_status_annotate(status, "Place failed for colocated nodes '%.*s' and '%.*s'",
                                    LEAT_SV_ARG(p->graph->nodes[a].name),
                                    LEAT_SV_ARG(p->graph->nodes[b].name));
      }
    }
    into->constraint = merged;
    into->constrained = true;
  }
  intersect(p, into->feasible, from->feasible);
  p->groups[y].parent = x;
  return leat_ok_status();
}

static void find_devices_with_kernel(const placement_t* p, const leat_node_t* node,
                                     device_set_t* out_set) {
  for (int i = 0; i < p->options->device_count; ++i) {
    if (leat_kernel_registry_probe(p->options->kernels, node->op, node->attrs, node->attr_count,
                                   p->options->devices[i].type)) {
      add_device(out_set, i);
    }
  }
}

static leat_status_t start_groups(placement_t* p, device_set_t* sets) {
  for (size_t i = 0; i < p->graph->node_count; ++i) {
    const leat_node_t* node = &p->graph->nodes[i];
    group_t* group = &p->groups[i];
    group->parent = (int32_t)i;
    group->feasible = sets + i * (size_t)p->set_words;
    find_devices_with_kernel(p, node, group->feasible);
    if (is_empty(p, group->feasible)) {
      return leat_kernel_registry_unserved(p->options->kernels, node->op, node->name, node->attrs,
                                           node->attr_count, p->options->devices[0].type);
    }
    if (node->device.size == 0) continue;
    leat_status_t status = leat_device_name_parse(node->device, &group->constraint);
    if (status) {
      return leat_status_annotate(status, "Place failed for node '%.*s' (%.*s)",
                                  LEAT_SV_ARG(node->name), LEAT_SV_ARG(node->op->name));
    }
    group->constrained = true;
  }
  return leat_ok_status();
}

static leat_status_t unite_class(placement_t* p, int32_t index) {
  const leat_node_t* node = &p->graph->nodes[index];
  const leat_attr_value_t* classes = leat_node_attr(node, LEAT_SV("_class"));
  if (!classes || classes->kind != LEAT_ATTR_STRING || !classes->is_list) return leat_ok_status();
  for (uint32_t i = 0; i < classes->count; ++i) {
    leat_string_view_t name = classes->strings[i];
    if (!leat_string_view_starts_with(name, LEAT_SV("loc:@"))) continue;
    int32_t other = leat_graph_find_node(p->graph, leat_string_view_from_index(name, 5));
    if (other >= 0) LEAT_RETURN_IF_ERROR(unite(p, index, other));
  }
  return leat_ok_status();
}

// Whoever takes a reference lives where the variable lives.
static leat_status_t unite_references(placement_t* p, int32_t index) {
  const leat_node_t* node = &p->graph->nodes[index];
  for (int i = 0; i < node->input_count; ++i) {
    int type = leat_graph_output_type(p->graph, node->inputs[i]);
    bool handle = type == LEAT_DTYPE_RESOURCE;
    if (!handle && !(node->op->has_ref_inputs && leat_dtype_is_ref(type))) continue;
    LEAT_RETURN_IF_ERROR(unite(p, index, node->inputs[i].node));
  }
  return leat_ok_status();
}

// The scratch set of the devices that |constraint| allows.
static const device_set_t* devices_matching(const placement_t* p,
                                            const leat_device_name_t* constraint) {
  memset(p->matching, 0, (size_t)p->set_words * sizeof *p->matching);
  for (int i = 0; i < p->options->device_count; ++i) {
    if (leat_device_name_matches(constraint, &p->names[i])) add_device(p->matching, i);
  }
  return p->matching;
}

static bool share_a_device(const placement_t* p, const device_set_t* a, const device_set_t* b) {
  device_set_t any = 0;
  for (int i = 0; i < p->set_words; ++i) any |= a[i] & b[i];
  return any != 0;
}

// Narrows the group's devices to what its constraint allows.
static leat_status_t apply_constraint(placement_t* p, const leat_node_t* node, group_t* group) {
  const device_set_t* matching = devices_matching(p, &group->constraint);
  if (!share_a_device(p, group->feasible, matching) && p->options->allow_soft_placement) {
    leat_device_name_t loose = group->constraint;
    loose.type = LEAT_SV("");
    loose.index = LEAT_DEVICE_ANY;
    matching = devices_matching(p, &loose);
  }
  if (is_empty(p, matching)) return cannot_place(p, node, "which matches none");
  if (!share_a_device(p, group->feasible, matching)) {
    return cannot_place(p, node, "which has no kernel for it");
  }
  intersect(p, group->feasible, matching);
  group->constrained = false;  // done, for all its members
  return leat_ok_status();
}

static leat_status_t choose(placement_t* p, int32_t index, int32_t* out_device) {
  group_t* group = &p->groups[find_root(p, index)];
  const leat_node_t* node = &p->graph->nodes[index];
  if (group->constrained && !is_empty(p, group->feasible)) {
    LEAT_RETURN_IF_ERROR(apply_constraint(p, node, group));
  }
  for (int i = 0; i < p->options->device_count; ++i) {
    if (!has_device(group->feasible, p->order[i])) continue;
    *out_device = p->order[i];
    return leat_ok_status();
  }
  return cannot_place(p, node, "and its colocated nodes share no device");
}

static void order_devices(placement_t* p) {
  int next = 0;
  for (int cpu = 0; cpu < 2; ++cpu) {
    for (int i = 0; i < p->options->device_count; ++i) {
      bool is_cpu = leat_string_view_equals(p->options->devices[i].type, "CPU");
      if (is_cpu == (cpu == 1)) p->order[next++] = i;
    }
  }
}

static leat_status_t parse_devices(placement_t* p, leat_arena_t* arena) {
  size_t devices = (size_t)p->options->device_count;
  LEAT_RETURN_IF_ERROR(
      leat_arena_allocate_array(arena, devices, sizeof *p->names, (void**)&p->names));
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(arena, devices, sizeof(int), (void**)&p->order));
  p->set_words = (p->options->device_count + 63) / 64;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(arena, (size_t)p->set_words, sizeof *p->matching,
                                                 (void**)&p->matching));
  for (size_t i = 0; i < devices; ++i) {
    LEAT_RETURN_IF_ERROR(leat_device_name_parse(p->options->devices[i].name, &p->names[i]));
  }
  order_devices(p);
  return leat_ok_status();
}

static leat_status_t place(placement_t* p, leat_graph_t* graph, leat_arena_t* arena) {
  size_t count = graph->node_count;
  LEAT_RETURN_IF_ERROR(
      leat_arena_allocate_array(arena, count + 1, sizeof(group_t), (void**)&p->groups));
  LEAT_RETURN_IF_ERROR(parse_devices(p, arena));
  device_set_t* sets;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(arena, (count + 1) * (size_t)p->set_words,
                                                 sizeof *sets, (void**)&sets));
  LEAT_RETURN_IF_ERROR(start_groups(p, sets));
  for (size_t i = 0; i < count; ++i) {
    LEAT_RETURN_IF_ERROR(unite_class(p, (int32_t)i));
    LEAT_RETURN_IF_ERROR(unite_references(p, (int32_t)i));
  }
  for (size_t i = 0; i < count; ++i) {
    LEAT_RETURN_IF_ERROR(choose(p, (int32_t)i, &graph->nodes[i].assigned_device));
  }
  return leat_ok_status();
}

// One device and no constraint: nothing to decide (a missing kernel shows when the plan is made).
static bool place_on_only_device(leat_graph_t* graph, const leat_placer_options_t* options) {
  if (options->device_count != 1) return false;
  for (size_t i = 0; i < graph->node_count; ++i) {
    if (graph->nodes[i].device.size) return false;
  }
  for (size_t i = 0; i < graph->node_count; ++i) graph->nodes[i].assigned_device = 0;
  return true;
}

leat_status_t leat_place(leat_graph_t* graph, const leat_placer_options_t* options) {
  leat_status_t status = leat_ok_status();
  if (!place_on_only_device(graph, options)) {
    placement_t p = {.graph = graph, .options = options};
    leat_arena_t arena;
    leat_arena_initialize(graph->allocator, 0, &arena);
    status = place(&p, graph, &arena);
    leat_arena_deinitialize(&arena);
  }
  if (!status && options->log_placement) {
    for (size_t i = 0; i < graph->node_count; ++i) {
      const leat_node_t* node = &graph->nodes[i];
      leat_log(LEAT_LOG_WARNING, "%.*s: (%.*s): %.*s", LEAT_SV_ARG(node->name),
               LEAT_SV_ARG(node->op->name),
               LEAT_SV_ARG(options->devices[node->assigned_device].name));
    }
  }
  return status;
}

static leat_status_t check_node(const placement_t* p, const leat_node_t* node) {
  leat_device_name_t constraint;
  leat_status_t status = leat_device_name_parse(node->device, &constraint);
  if (status) {
    return leat_status_annotate(status, "Place failed for node '%.*s' (%.*s)",
                                LEAT_SV_ARG(node->name), LEAT_SV_ARG(node->op->name));
  }
  if (p->options->allow_soft_placement) {
    constraint.type = LEAT_SV("");
    constraint.index = LEAT_DEVICE_ANY;
  }
  return is_empty(p, devices_matching(p, &constraint))
             ? cannot_place(p, node, "which matches none")
             : leat_ok_status();
}

leat_status_t leat_check_placement(const leat_graph_t* graph, const leat_placer_options_t* options,
                                   size_t* inout_checked) {
  placement_t p = {.graph = graph, .options = options};
  leat_arena_t arena;
  leat_arena_initialize(graph->allocator, 0, &arena);
  leat_status_t status = parse_devices(&p, &arena);
  size_t i = *inout_checked;
  for (; !status && i < graph->node_count; ++i) {
    if (graph->nodes[i].device.size) status = check_node(&p, &graph->nodes[i]);
  }
  if (!status) *inout_checked = i;
  leat_arena_deinitialize(&arena);
  return status;
}
