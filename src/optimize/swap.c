// The pass "swap" (section 5.2 of the white paper: "swapping out long-lived tensors from GPU memory
// to more plentiful host CPU memory"): a large value that the forward pass computes and the
// backward pass reads is kept in the memory of another device in between.
//
// The pass adds an Identity on that device and makes the backward pass read it; the partitioner
// then adds the Sends and Recvs that copy the value out and back. The Identity waits, by control
// edges, for the other late inputs of its first reader, so the value returns only when the backward
// pass needs it, and not right away. Values in branches and loops are left alone, since such a
// control edge could be dead. Small values cost more to transfer than they save. The pass runs
// after placement and fusion, when it is known which values exist and on which device.
//
//   device: x ─▶ forward                         x ─▶ forward       ┌▶ _Recv ─▶ backward ◀─ dy
//           └──────────▶ backward ◀─ dy          └▶ _Send ┐  _Send ┄│┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┘
//   host:                                                 └▶ Identity ─▶ _Send
#include "graph/cost/cost.h"
#include "optimize/backward.h"

#define DEFAULT_LIMIT_BYTES (INT64_C(1) << 20)

typedef struct swap_s {
  leat_backward_t b;
  leat_edit_t* edit;
  leat_graph_t* graph;  // the edit's
  const leat_pass_options_t* options;
} swap_t;

// Whether the client's attribute "_swap_to_host" of the node lists that input.
static bool is_asked_for(const leat_node_t* node, int position) {
  const leat_attr_value_t* list = leat_node_attr(node, LEAT_SV("_swap_to_host"));
  if (!list || !list->is_list || list->kind != LEAT_ATTR_INT) return false;
  for (uint32_t i = 0; i < list->count; ++i) {
    if (list->ints[i] == position) return true;
  }
  return false;
}

// Whether any reader of the value has it in its attribute.
static bool is_asked_for_anywhere(const swap_t* s, leat_output_t value) {
  LEAT_EDIT_FOR_EACH_USE(s->edit, value.node, use) {
    const leat_reader_t reader = leat_edit_reader(s->edit, use);
    const leat_node_t* node = &s->graph->nodes[reader.node];
    if (is_asked_for(node, reader.position) &&
        leat_output_equal(node->inputs[reader.position], value)) {
      return true;
    }
  }
  return false;
}

// The first late reader of |value| on the value's own device; -1 where there is none or the value
// is not worth a transfer.
static int32_t find_reader(const swap_t* s, leat_output_t value) {
  const leat_node_t* node = &s->graph->nodes[value.node];
  int64_t limit = s->options->swap_limit_bytes > 0 ? s->options->swap_limit_bytes
                                                   : DEFAULT_LIMIT_BYTES;
  int dtype = leat_graph_output_type(s->graph, value);
  int32_t first = -1;
  if (s->b.late[value.node] || s->b.conditional[value.node] || s->b.kept[value.node] ||
      leat_dtype_is_ref(dtype) || leat_dtype_in(dtype, LEAT_DTYPES_OBJECT)) {
    return -1;
  }
  bool wanted = s->options->memory_by_hand ? is_asked_for_anywhere(s, value)
                                           : leat_cost_output_bytes(NULL, s->graph, value) >= limit;
  if (!wanted) return -1;
  LEAT_EDIT_FOR_EACH_USE(s->edit, value.node, use) {
    const leat_reader_t reader = leat_edit_reader(s->edit, use);
    if (reader.node >= s->b.node_count) continue;  // an Identity that this pass has added
    const leat_node_t* other = &s->graph->nodes[reader.node];
    bool reads = s->b.late[reader.node] && reader.position < other->input_count &&
                 leat_output_equal(other->inputs[reader.position], value);
    if (!reads || other->assigned_device != node->assigned_device) continue;
    if (first < 0 || s->b.place[reader.node] < s->b.place[first]) first = reader.node;
  }
  return first;
}

// Adds the Identity on device |host|, which waits for the late inputs of |reader|. |*out_stay| is
// LEAT_OUTPUT_NONE where there are no such inputs, as the value would return at once.
static leat_status_t add_stay(swap_t* s, leat_output_t value, int32_t reader, int32_t host,
                              leat_output_t* out_stay) {
  leat_output_t* signals;
  int32_t* controls;
  const leat_node_t* late = &s->graph->nodes[reader];
  size_t room = (size_t)late->input_count + (size_t)late->control_count + 1;
  *out_stay = LEAT_OUTPUT_NONE;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(s->edit->scratch, room, &signals));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(s->edit->scratch, room, &controls));
  LEAT_DCHECK(s->b.late[reader]);
  int count = leat_backward_signals(&s->b, reader, signals);
  if (!count) return leat_ok_status();
  for (int i = 0; i < count; ++i) controls[i] = signals[i].node;
  leat_attr_t type = LEAT_TYPE("T", leat_graph_output_type(s->graph, value));
  leat_node_spec_t spec = {.inputs = &value, .input_count = 1, .control_inputs = controls,
                           .control_count = count, .attrs = &type, .attr_count = 1};
  LEAT_RETURN_IF_ERROR(leat_op_registry_find(s->graph->ops, LEAT_OP_NAME_IDENTITY, &spec.op));
  LEAT_RETURN_IF_ERROR(leat_arena_print(leat_graph_arena(s->graph), &spec.name,
                                        "_swapped/%.*s_%d",
                                        LEAT_SV_ARG(s->graph->nodes[value.node].name),
                                        value.index));
  LEAT_RETURN_IF_ERROR(leat_edit_add(s->edit, value.node, "", &spec, &out_stay->node));
  s->graph->nodes[out_stay->node].assigned_device = host;
  return leat_ok_status();
}

// Makes all late readers of |value| on its device read the Identity instead, if it is swapped.
static leat_status_t try_value(swap_t* s, leat_output_t value) {
  int32_t device = s->graph->nodes[value.node].assigned_device;
  // The pass runs after placement, so the node has a device.
  LEAT_DCHECK(device >= 0);
  int32_t host = s->options->swap_devices[device];
  int32_t reader = host >= 0 && host != device ? find_reader(s, value) : -1;
  leat_output_t stay;
  if (reader < 0) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(add_stay(s, value, reader, host, &stay));
  if (!leat_output_exists(stay)) return leat_ok_status();
  LEAT_EDIT_FOR_EACH_USE(s->edit, value.node, use) {
    const leat_reader_t other = leat_edit_reader(s->edit, use);
    const leat_node_t* node = &s->graph->nodes[other.node];
    if (other.node < s->b.node_count && s->b.late[other.node] &&
        !leat_edit_is_wait(s->edit, other) &&
        leat_output_equal(node->inputs[other.position], value)) {
      LEAT_DCHECK(node->assigned_device >= 0);
      LEAT_RETURN_IF_ERROR(leat_edit_set_input(s->edit, other.node, other.position, stay));
    }
  }
  return leat_ok_status();
}

static leat_status_t swap(leat_edit_t* edit) {
  swap_t s = {.edit = edit, .graph = edit->graph, .options = edit->options};
  const size_t count = edit->graph->node_count;
  if (!edit->options->swap_devices) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_backward_find(edit, &s.b));
  for (size_t i = 0; i < count; ++i) {
    for (int k = 0; !leat_edit_is_gone(edit, (int32_t)i) && k < s.graph->nodes[i].output_count;
         ++k) {
      LEAT_RETURN_IF_ERROR(try_value(&s, (leat_output_t){(int32_t)i, k}));
    }
  }
  return leat_ok_status();
}

const leat_pass_t leat_pass_swap = {
    .name = "swap",
    .doc = "large values wait for the backward pass in the host's memory (§5.2)",
    .after = "fusion",
    .stage = LEAT_PASS_PLACED,
    .bit = LEAT_PASS_BIT_SWAP,
    .run = swap};
