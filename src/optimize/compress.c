// The pass "compress": lossy compression of values that cross devices (section 5.5 of the white
// paper). A 32-bit float travels as its upper 16 bits, which cuts off the end of the mantissa, and
// the receiver fills the rest with zeros. This is the format that the paper calls "not quite the
// IEEE 16-bit float": the exponent keeps its 8 bits, so that nothing overflows.
//
//   x ─▶ _Send      _Recv ─▶ y        x ─▶ Cast ─▶ _Send      _Recv ─▶ Cast ─▶ y
//
// Small values and values of other types travel as they are. Both ends of a transfer must agree on
// the type, and they lie in different graphs; so the pass first lists all Recvs by the name of the
// transfer, then changes the Sends that have one and notes which it changed, and changes those
// Recvs at last. It runs over the partitions, where Sends and Recvs exist, and only when the client
// asks for it, because it changes results.
#include "optimize/edit.h"

#define DEFAULT_LIMIT_BYTES 1024

// Whether the value is known to have at least |limit_bytes|, or its size is not known.
static bool is_large(const leat_graph_t* graph, leat_output_t value, int64_t limit_bytes) {
  const int64_t bytes = sizeof(float);
  return leat_shape_may_reach(leat_graph_output_shape(graph, value),
                              limit_bytes / bytes + (limit_bytes % bytes > 0));
}

// Adds a Cast of |x| from type |from| to type |to|, on the device of |node|, a Send or Recv.
static leat_status_t add_cast(leat_edit_t* edit, int32_t node, leat_output_t x, int from, int to,
                              leat_output_t* out_cast) {
  leat_attr_t attrs[] = {LEAT_TYPE("SrcT", from), LEAT_TYPE("DstT", to),
                         LEAT_BOOL("Truncate", true)};
  leat_node_spec_t spec = {.inputs = &x, .input_count = 1, .attrs = attrs, .attr_count = 3};
  LEAT_RETURN_IF_ERROR(leat_op_registry_find(edit->graph->ops, LEAT_OP_NAME_CAST, &spec.op));
  out_cast->index = 0;
  return leat_edit_add(edit, node, "/_cast", &spec, &out_cast->node);
}

static leat_status_t narrow_send(leat_edit_t* edit, int32_t send) {
  const leat_node_t* node = leat_edit_node(edit, send);
  leat_output_t cast;
  LEAT_DCHECK(node->op->flags & LEAT_OP_SEND);
  LEAT_RETURN_IF_ERROR(add_cast(edit, send, node->inputs[0], LEAT_DTYPE_FLOAT,
                                LEAT_DTYPE_BFLOAT16, &cast));
  LEAT_RETURN_IF_ERROR(leat_edit_set_type(edit, send, "T", LEAT_DTYPE_BFLOAT16, NULL));
  return leat_edit_set_input(edit, send, 0, cast);
}

static leat_status_t widen_recv(leat_edit_t* edit, int32_t recv) {
  leat_output_t cast;
  LEAT_DCHECK(leat_edit_node(edit, recv)->op->flags & LEAT_OP_RECV);
  // Both ends of a transfer have one type, and narrow_sends takes floats only.
  LEAT_DCHECK(leat_edit_node(edit, recv)->output_types[0] == LEAT_DTYPE_FLOAT);
  LEAT_RETURN_IF_ERROR(
      leat_edit_set_type(edit, recv, "tensor_type", LEAT_DTYPE_BFLOAT16, NULL));
  LEAT_RETURN_IF_ERROR(add_cast(edit, recv, (leat_output_t){recv, 0}, LEAT_DTYPE_BFLOAT16,
                                LEAT_DTYPE_FLOAT, &cast));
  return leat_edit_redirect(edit, (leat_output_t){recv, 0}, cast);
}

// Whether the node is a Send or Recv of a value in the device's memory; the variants for values in
// host memory are other ops.
static bool is_end(const leat_node_t* node, uint32_t flag, leat_string_view_t op) {
  return (node->op->flags & flag) && leat_string_view_equal(node->op->name, op);
}

// Enters the name of each transfer that has a Recv, with value 0; narrow_sends() makes it 1.
static leat_status_t list_recvs(const leat_graph_t* graph, leat_arena_t* arena,
                                leat_string_map_t* transfers) {
  for (size_t i = 0; i < graph->node_count; ++i) {
    leat_string_view_t name;
    if (!is_end(&graph->nodes[i], LEAT_OP_RECV, LEAT_OP_NAME_RECV)) continue;
    LEAT_RETURN_IF_ERROR(leat_transfer_name(&graph->nodes[i], arena, &name));
    LEAT_RETURN_IF_ERROR(leat_string_map_set(transfers, name, 0));
  }
  return leat_ok_status();
}

static leat_status_t narrow_sends(leat_edit_t* edit, leat_string_map_t* transfers) {
  const int64_t given = edit->options->compress_limit_bytes;
  const int64_t limit_bytes = given ? given : DEFAULT_LIMIT_BYTES;
  const size_t count = edit->graph->node_count;
  for (size_t i = 0; i < count; ++i) {
    const leat_node_t* node = &edit->graph->nodes[i];
    leat_string_view_t name;
    if (!is_end(node, LEAT_OP_SEND, LEAT_OP_NAME_SEND) ||
        leat_graph_output_type(edit->graph, node->inputs[0]) != LEAT_DTYPE_FLOAT ||
        !is_large(edit->graph, node->inputs[0], limit_bytes)) {
      continue;
    }
    LEAT_RETURN_IF_ERROR(leat_transfer_name(node, edit->scratch, &name));
    if (!leat_string_map_get(transfers, name, NULL)) continue;
    LEAT_RETURN_IF_ERROR(leat_string_map_set(transfers, name, 1));
    LEAT_RETURN_IF_ERROR(narrow_send(edit, (int32_t)i));
  }
  return leat_ok_status();
}

static leat_status_t widen_recvs(leat_edit_t* edit, const leat_string_map_t* transfers) {
  const size_t count = edit->graph->node_count;
  for (size_t i = 0; i < count; ++i) {
    leat_string_view_t name;
    uint64_t narrowed = 0;
    if (!is_end(&edit->graph->nodes[i], LEAT_OP_RECV, LEAT_OP_NAME_RECV)) continue;
    LEAT_RETURN_IF_ERROR(leat_transfer_name(&edit->graph->nodes[i], edit->scratch, &name));
    if (!leat_string_map_get(transfers, name, &narrowed) || !narrowed) continue;
    LEAT_RETURN_IF_ERROR(widen_recv(edit, (int32_t)i));
  }
  return leat_ok_status();
}

static leat_status_t compress(leat_edit_t* edits, int count) {
  leat_string_map_t transfers;
  leat_string_map_initialize(edits[0].graph->allocator, &transfers);
  leat_status_t status = leat_ok_status();
  for (int g = 0; g < count && !status; ++g) {
    status = list_recvs(edits[g].graph, edits[0].scratch, &transfers);
  }
  for (int g = 0; g < count && !status; ++g) status = narrow_sends(&edits[g], &transfers);
  for (int g = 0; g < count && !status; ++g) status = widen_recvs(&edits[g], &transfers);
  leat_string_map_deinitialize(&transfers);
  return status;
}

const leat_pass_t leat_pass_compress = {
    .name = "compress",
    .doc = "floats cross devices as their upper 16 bits (§5.5)",
    .stage = LEAT_PASS_PARTITIONS,
    .bit = LEAT_PASS_BIT_COMPRESS,
    .run_partitions = compress};
