// Lossy compression of what crosses devices (§5.5): a 32-bit float travels as the 16 bits that are
// left when the end of its mantissa is cut off, and gets zeros in their place on the other side.
// "not quite the IEEE 16-bit float": the exponent keeps its 8 bits, so that nothing overflows.
//
//   x ─▶ _Send      _Recv ─▶ y        x ─▶ Cast ─▶ _Send      _Recv ─▶ Cast ─▶ y
//
// Small values and those that are no floats travel as they are.
#include "optimize/pass.h"

#define DEFAULT_LIMIT_BYTES 1024

static bool is_large(const leat_graph_t* graph, leat_output_t value, int64_t limit_bytes) {
  const int64_t bytes = sizeof(float);
  return leat_shape_may_reach(leat_graph_output_shape(graph, value),
                              limit_bytes / bytes + (limit_bytes % bytes > 0));
}

// A Cast of |x| between the two types; in the place of |node|, a Send or Recv.
static leat_status_t add_cast(leat_graph_t* graph, const leat_node_t* node, leat_output_t x,
                              int from, int to, leat_output_t* out_cast) {
  leat_attr_t attrs[] = {LEAT_TYPE("SrcT", from), LEAT_TYPE("DstT", to),
                         LEAT_BOOL("Truncate", true)};
  leat_node_spec_t spec = {.device = node->device, .inputs = &x, .input_count = 1, .attrs = attrs,
                           .attr_count = 3};
  LEAT_RETURN_IF_ERROR(leat_arena_print(leat_graph_arena(graph), &spec.name, "%.*s/_cast",
                                        LEAT_SV_ARG(node->name)));
  LEAT_RETURN_IF_ERROR(leat_op_registry_find(graph->ops, LEAT_OP_NAME_CAST, &spec.op));
  out_cast->index = 0;
  return leat_graph_add_node(graph, &spec, &out_cast->node);
}

static leat_status_t narrow_send(leat_graph_t* graph, int32_t send) {
  LEAT_DCHECK(graph->nodes[send].op->flags & LEAT_OP_SEND);
  leat_attr_t type = LEAT_TYPE("T", LEAT_DTYPE_BFLOAT16);
  leat_output_t cast;
  LEAT_RETURN_IF_ERROR(add_cast(graph, &graph->nodes[send], graph->nodes[send].inputs[0],
                                LEAT_DTYPE_FLOAT, LEAT_DTYPE_BFLOAT16, &cast));
  LEAT_RETURN_IF_ERROR(leat_graph_set_attr(graph, send, &type));
  return leat_graph_set_input(graph, send, 0, cast);
}

// The Cast, whose input is still to be told what it is: readers were |*out_cast|'s.
static leat_status_t widen_recv(leat_graph_t* graph, int32_t recv, leat_output_t* out_cast) {
  LEAT_DCHECK(graph->nodes[recv].op->flags & LEAT_OP_RECV);
  // Both ends of a transfer have one type, and narrow_sends takes floats only.
  LEAT_DCHECK(graph->nodes[recv].output_types[0] == LEAT_DTYPE_FLOAT);
  static const uint8_t kType[] = {LEAT_DTYPE_BFLOAT16};
  leat_attr_t type = LEAT_TYPE("tensor_type", LEAT_DTYPE_BFLOAT16);
  LEAT_RETURN_IF_ERROR(leat_graph_set_attr(graph, recv, &type));
  graph->nodes[recv].output_types = kType;
  return add_cast(graph, &graph->nodes[recv], (leat_output_t){recv, 0}, LEAT_DTYPE_BFLOAT16,
                  LEAT_DTYPE_FLOAT, out_cast);
}

// Both ends must be of the kind that takes its value where the device's values lie.
static bool is_end(const leat_node_t* node, uint32_t flag, leat_string_view_t op) {
  return (node->op->flags & flag) && leat_string_view_equal(node->op->name, op);
}

// The names that identify transfers by their Recv: value 0; narrow_sends makes it 1.
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

static leat_status_t narrow_sends(leat_graph_t* graph, int64_t limit_bytes, leat_arena_t* arena,
                                  leat_string_map_t* transfers) {
  size_t count = graph->node_count;
  for (size_t i = 0; i < count; ++i) {
    const leat_node_t* node = &graph->nodes[i];
    leat_string_view_t name;
    if (!is_end(node, LEAT_OP_SEND, LEAT_OP_NAME_SEND) ||
        leat_graph_output_type(graph, node->inputs[0]) != LEAT_DTYPE_FLOAT ||
        !is_large(graph, node->inputs[0], limit_bytes)) {
      continue;
    }
    LEAT_RETURN_IF_ERROR(leat_transfer_name(node, arena, &name));
    if (!leat_string_map_get(transfers, name, NULL)) continue;
    LEAT_RETURN_IF_ERROR(leat_string_map_set(transfers, name, 1));
    LEAT_RETURN_IF_ERROR(narrow_send(graph, (int32_t)i));
  }
  return leat_ok_status();
}

static leat_status_t widen_recvs(leat_graph_t* graph, leat_arena_t* arena,
                                 const leat_string_map_t* transfers) {
  size_t count = graph->node_count;
  leat_output_t* casts;  // by Recv
  LEAT_RETURN_IF_ERROR(
      leat_arena_allocate_array(arena, count + 1, sizeof *casts, (void**)&casts));
  for (size_t i = 0; i < count; ++i) {
    leat_string_view_t name;
    casts[i] = LEAT_OUTPUT_NONE;
    uint64_t narrowed = 0;
    if (!is_end(&graph->nodes[i], LEAT_OP_RECV, LEAT_OP_NAME_RECV)) continue;
    LEAT_RETURN_IF_ERROR(leat_transfer_name(&graph->nodes[i], arena, &name));
    if (!leat_string_map_get(transfers, name, &narrowed) || !narrowed) continue;
    LEAT_RETURN_IF_ERROR(widen_recv(graph, (int32_t)i, &casts[i]));
  }
  for (size_t i = 0; i < count; ++i) {
    leat_node_t* node = &graph->nodes[i];
    for (int k = 0; k < node->input_count; ++k) {
      leat_output_t cast = casts[node->inputs[k].node];
      LEAT_DCHECK(!leat_output_exists(cast) || (size_t)cast.node < graph->node_count);
      if (leat_output_exists(cast)) node->inputs[k] = cast;
    }
  }
  return leat_ok_status();
}

static leat_status_t compress(leat_graph_t* const* graphs, int graph_count,
                              const leat_pass_options_t* options) {
  if (graph_count < 2) return leat_ok_status();
  int64_t limit = options->compress_limit_bytes ? options->compress_limit_bytes
                                                : DEFAULT_LIMIT_BYTES;
  leat_arena_t arena;
  leat_string_map_t transfers;
  leat_arena_initialize(graphs[0]->allocator, 0, &arena);
  leat_string_map_initialize(graphs[0]->allocator, &transfers);
  leat_status_t status = leat_ok_status();
  for (int g = 0; g < graph_count && !status; ++g) {
    status = list_recvs(graphs[g], &arena, &transfers);
  }
  for (int g = 0; g < graph_count && !status; ++g) {
    status = narrow_sends(graphs[g], limit, &arena, &transfers);
  }
  for (int g = 0; g < graph_count && !status; ++g) {
    status = widen_recvs(graphs[g], &arena, &transfers);
  }
  leat_string_map_deinitialize(&transfers);
  leat_arena_deinitialize(&arena);
  return status;
}

const leat_pass_t leat_pass_compress = {
    .name = "compress",
    .doc = "floats cross devices as their upper 16 bits (§5.5)",
    .bit = LEAT_PASS_BIT_COMPRESS,
    .run_partitions = compress};
