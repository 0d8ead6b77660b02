// Adds the control loops of loops that lie on several devices (loop_control.h). The work has five
// parts:
//
//   1. nodes on a loop's border are moved to the device of their neighbour in the loop, so that no
//      edge which closes a loop is cut
//   2. the frames are found
//   3. for each frame, the devices that take part in it are found
//   4. each of these devices gets a control loop:
//        Const ─▶ Enter ─▶ Merge ─▶ Switch(LoopCond) ─▶ NextIteration ─▶ Merge
//   5. nodes in the loop wait for the Merge of their device's control loop
//
// A device also takes part in all frames around a frame that it takes part in. The reason is that
// the control loop of an inner loop must begin anew in each iteration of the outer one: its Const
// waits for the outer control loop's Merge. Frames are therefore handled parents first. A loop on a
// single device with memory of its own needs a control loop too, since values are received there
// from the host.
#include "master/loop_control.h"

#include <string.h>

typedef struct adder_s {
  leat_graph_t* graph;
  const leat_placer_options_t* placement;
  leat_arena_t* arena;
  leat_loop_control_t* control;
  int32_t* conditions;  // frame -> its LoopCond, or -1
  bool* is_in_frame;    // [frame * device_count + device]
} adder_t;

static bool has_loops(const leat_graph_t* graph) {
  for (size_t i = 0; i < graph->node_count; ++i) {
    if (graph->nodes[i].op->flags & LEAT_OP_ENTER) return true;
  }
  return false;
}

static leat_status_t find_frames(adder_t* a) {
  int32_t* order;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(a->arena, a->graph->node_count + 1, &order));
  LEAT_RETURN_IF_ERROR(leat_graph_sort(a->graph, order));
  return leat_frames_find(a->graph, order, a->graph->node_count, "Partition", a->arena,
                          &a->control->frames);
}

// ---- Borders ------------------------------------------------------------------------------------

// Whether |node| is the Enter of a loop invariant.
static bool is_invariant(const leat_node_t* node) {
  return (node->op->flags & LEAT_OP_ENTER) && leat_node_attr_bool(node, "is_constant", false);
}

// Copies the Enter of an invariant to |device| for the readers there. |*inout_copy| is 0 until
// then; node 0 cannot be a copy.
static leat_status_t copy_enter(adder_t* a, int32_t index, int device, int32_t* inout_copy) {
  LEAT_DCHECK(is_invariant(&a->graph->nodes[index]));
  if (*inout_copy) return leat_ok_status();
  const leat_node_t* node = &a->graph->nodes[index];
  leat_node_spec_t spec = {.op = node->op, .device = node->device, .inputs = node->inputs,
                           .input_count = 1, .attrs = node->attrs, .attr_count = node->attr_count,
                           .borrow_storage = true};
  leat_string_view_t name;
  LEAT_RETURN_IF_ERROR(leat_arena_print(leat_graph_arena(a->graph), &name, "_%.*s/on_%d",
                                        LEAT_SV_ARG(node->name), device));
  LEAT_RETURN_IF_ERROR(leat_graph_unique_name(a->graph, name, &spec.name));
  LEAT_RETURN_IF_ERROR(leat_graph_add_node(a->graph, &spec, inout_copy));
  a->graph->nodes[*inout_copy].assigned_device = device;
  return leat_ok_status();
}

// Lets each reader of an invariant read the copy on its own device.
static leat_status_t settle_invariants(adder_t* a) {
  size_t count = a->graph->node_count, devices = (size_t)a->control->device_count;
  int32_t** copies;  // [node][device] -> copy of that Enter, allocated on first need
  LEAT_RETURN_IF_ERROR(LEAT_NEW(a->arena, count + 1, &copies));
  for (size_t i = 0; i < count; ++i) {
    for (int k = 0; k < a->graph->nodes[i].input_count; ++k) {
      const leat_node_t* node = &a->graph->nodes[i];
      leat_output_t source = node->inputs[k];
      int device = node->assigned_device;
      const leat_node_t* from = &a->graph->nodes[source.node];
      if ((size_t)source.node >= count || !is_invariant(from) ||
          from->assigned_device == device) {
        continue;
      }
      int32_t** copy = &copies[source.node];
      if (!*copy) LEAT_RETURN_IF_ERROR(LEAT_NEW(a->arena, devices + 1, copy));
      LEAT_RETURN_IF_ERROR(copy_enter(a, source.node, device, &(*copy)[device]));
      LEAT_RETURN_IF_ERROR(leat_graph_set_input(a->graph, (int32_t)i, k,
                                                (leat_output_t){(*copy)[device], 0}));
    }
  }
  return leat_ok_status();
}

// Moves the nodes on the borders of loops.
static leat_status_t settle_borders(adder_t* a) {
  for (size_t i = 0; i < a->graph->node_count; ++i) {
    leat_node_t* node = &a->graph->nodes[i];
    if (node->op->flags & LEAT_OP_EXIT) {
      node->assigned_device = a->graph->nodes[node->inputs[0].node].assigned_device;
      LEAT_DCHECK(node->assigned_device >= 0);
    }
    if (!(node->op->flags & LEAT_OP_MERGE)) continue;
    for (int k = 0; k < node->input_count; ++k) {
      leat_node_t* source = &a->graph->nodes[node->inputs[k].node];
      bool passes = source->op->flags & (LEAT_OP_ENTER | LEAT_OP_NEXT_ITERATION);
      if (passes && !is_invariant(source)) source->assigned_device = node->assigned_device;
    }
  }
  return settle_invariants(a);
}

// ---- Devices of a frame ------------------------------------------------------------------------

static bool* is_in(const adder_t* a, int32_t frame, int device) {
  LEAT_DCHECK(frame >= 0 && frame < a->control->frames.count);
  LEAT_DCHECK(device >= 0 && device < a->control->device_count);
  return &a->is_in_frame[frame * a->control->device_count + device];
}

// Finds the condition of each frame, and the devices that take part in it.
static leat_status_t find_frame_devices(adder_t* a) {
  const leat_frames_t* frames = &a->control->frames;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(a->arena, (size_t)frames->count + 1, &a->conditions));
  LEAT_RETURN_IF_ERROR(
      LEAT_NEW(a->arena, (size_t)(frames->count * a->control->device_count) + 1, &a->is_in_frame));
  for (int32_t f = 0; f < frames->count; ++f) a->conditions[f] = -1;
  for (size_t i = 0; i < a->graph->node_count; ++i) {
    const leat_node_t* node = &a->graph->nodes[i];
    if (node->op->flags & LEAT_OP_LOOP_CONDITION) a->conditions[frames->runs_in[i]] = (int32_t)i;
    for (int32_t f = frames->runs_in[i]; f > 0; f = frames->items[f].parent) {
      *is_in(a, f, node->assigned_device) = true;
    }
    for (int32_t f = frames->outputs_in[i]; f > 0; f = frames->items[f].parent) {
      *is_in(a, f, node->assigned_device) = true;
    }
  }
  return leat_ok_status();
}

// Whether values are received within the frame: it lies on several devices, or on one with memory
// of its own.
static bool is_spread(const adder_t* a, int32_t frame) {
  int count = 0;
  bool own_memory = false;
  for (int d = 0; d < a->control->device_count; ++d) {
    count += *is_in(a, frame, d);
    own_memory |= *is_in(a, frame, d) && a->placement->devices[d].has_own_memory;
  }
  return count > 1 || own_memory;
}

// ---- Control loops ------------------------------------------------------------------------------

static leat_status_t no_condition(const leat_frame_t* frame) {
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Partition failed: frame '%.*s' lies on several devices and has no "
                          "LoopCond, must have one",
                          LEAT_SV_ARG(frame->name));
}

// Adds the control loop of frame |index| on |device|.
static leat_status_t add_loop(adder_t* a, int32_t index, int device) {
  // Frame 0 is the graph outside of all loops.
  LEAT_DCHECK(index > 0 && index < a->control->frames.count);
  leat_loop_control_t* control = a->control;
  const leat_frame_t* frame = &control->frames.items[index];
  // The frame around it comes before it, so its control loop is there already.
  LEAT_DCHECK(frame->parent >= 0 && frame->parent < index);
  if (a->conditions[index] < 0) return no_condition(frame);
  leat_string_view_t scope;
  LEAT_RETURN_IF_ERROR(leat_arena_print(leat_graph_arena(a->graph), &scope, "_control_%d_%d/",
                                        index, device));
  int32_t begins = control->merges[frame->parent * control->device_count + device];
  leat_builder_t b = {.graph = a->graph, .scope = scope, .control_inputs = &begins,
                      .control_count = begins >= 0};
  size_t first = a->graph->node_count;
  leat_output_t start = leat_build_scalar(&b, LEAT_DTYPE_BOOL, 0);
  b.control_count = 0;
  leat_output_t entered =
      leat_build(&b, "Enter", LEAT_INPUTS(start),
                 LEAT_ATTRS(LEAT_STRING("frame_name", frame->name),
                            LEAT_INT("parallel_iterations", frame->parallel_iterations)));
  leat_output_t merged = leat_build_binary(&b, "Merge", entered, entered);
  leat_output_t parted = leat_build_binary(&b, "Switch", merged,
                                           (leat_output_t){a->conditions[index], 0});
  LEAT_RETURN_IF_ERROR(b.status);
  leat_output_t next = leat_build_unary(&b, "NextIteration", (leat_output_t){parted.node, 1});
  LEAT_RETURN_IF_ERROR(b.status);
  LEAT_RETURN_IF_ERROR(leat_graph_set_input(a->graph, merged.node, 1, next));
  for (size_t i = first; i < a->graph->node_count; ++i) {
    a->graph->nodes[i].assigned_device = device;
  }
  control->merges[index * control->device_count + device] = merged.node;
  return leat_ok_status();
}

static leat_status_t add_loops(adder_t* a) {
  leat_loop_control_t* control = a->control;
  size_t places = (size_t)(control->frames.count * control->device_count);
  LEAT_RETURN_IF_ERROR(LEAT_NEW(a->arena, places + 1, &control->merges));
  for (size_t i = 0; i < places; ++i) control->merges[i] = -1;
  for (int32_t f = 1; f < control->frames.count; ++f) {
    for (int d = 0; is_spread(a, f) && d < control->device_count; ++d) {
      if (*is_in(a, f, d)) LEAT_RETURN_IF_ERROR(add_loop(a, f, d));
    }
  }
  return leat_ok_status();
}

// Lets the first |count| nodes, those that were there before the control loops, wait for the Merge
// of their frame on their device. A node that receives a value thus comes after the Merge for which
// the Recv will wait.
static leat_status_t order_receivers(adder_t* a, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const leat_node_t* node = &a->graph->nodes[i];
    int32_t frame = a->control->frames.runs_in[i];
    LEAT_DCHECK(frame >= 0 && frame < a->control->frames.count);
    int32_t gate = a->control->merges[frame * a->control->device_count + node->assigned_device];
    if (gate < 0 || (node->op->flags & LEAT_OP_MERGE)) continue;
    LEAT_RETURN_IF_ERROR(leat_graph_add_control_input(a->graph, (int32_t)i, gate));
  }
  return leat_ok_status();
}

// Finds the frames of the graph as it is now. Their numbers follow the order of the nodes, which
// the control loops have changed, so the Merges are entered again under the new numbers.
static leat_status_t renumber(adder_t* a) {
  leat_loop_control_t* control = a->control;
  const int32_t* merges = control->merges;
  int32_t places = control->frames.count * control->device_count;
  LEAT_RETURN_IF_ERROR(find_frames(a));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(a->arena, (size_t)places + 1, &control->merges));
  // Control loops belong to the loops' frames, so there are no new ones.
  LEAT_DCHECK(places == control->frames.count * control->device_count);
  for (int32_t i = 0; i < places; ++i) control->merges[i] = -1;
  for (int32_t i = 0; i < places; ++i) {
    if (merges[i] < 0) continue;
    LEAT_DCHECK((size_t)merges[i] < a->graph->node_count);
    int32_t frame = control->frames.runs_in[merges[i]];
    control->merges[frame * control->device_count + i % control->device_count] = merges[i];
  }
  return leat_ok_status();
}

leat_status_t leat_loop_control_add(leat_graph_t* graph, const leat_placer_options_t* placement,
                                    leat_arena_t* arena, leat_loop_control_t* out_control) {
  *out_control = (leat_loop_control_t){.device_count = placement->device_count};
  if (!has_loops(graph)) return leat_ok_status();
  adder_t a = {.graph = graph, .placement = placement, .arena = arena, .control = out_control};
  LEAT_RETURN_IF_ERROR(settle_borders(&a));
  LEAT_RETURN_IF_ERROR(find_frames(&a));
  LEAT_RETURN_IF_ERROR(find_frame_devices(&a));
  size_t count = graph->node_count;
  LEAT_RETURN_IF_ERROR(add_loops(&a));
  LEAT_RETURN_IF_ERROR(order_receivers(&a, count));
  return renumber(&a);
}

int32_t leat_loop_control_gate(const leat_loop_control_t* control, leat_output_t source,
                               int device) {
  if (!control->frames.count) return -1;
  LEAT_DCHECK(device >= 0 && device < control->device_count);
  int32_t frame = control->frames.outputs_in[source.node];  // of control edges, too
  return control->merges[frame * control->device_count + device];
}
