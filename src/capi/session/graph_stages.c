// What RunMetadata says of a step's graph besides the graphs of its devices: what each stage of
// compiling made of it, and why the placer put each node where it is (docs/board.md). They are
// written where a step was run with output_partition_graphs, as fields of our own.
//
// Twenty stages of a large graph would be twenty times its size. So the nodes of the first stage
// are written whole, and of each later one those that are new or other than they were, and the
// names of those that are gone. What was written last of each node is kept until the end, and
// compared byte by byte. A placed node tells its device as the graphs of devices do.
#include "capi/session/graph_stages.h"

#include "formats/generated/run_metadata.h"
#include "formats/wire/encode.h"
#include "graph/import/export.h"

enum { STAGES_FIELD = 1001, PLACEMENT_FIELD = 1002 };  // of RunMetadata
enum { NAME_FIELD = 1, DOC_FIELD = 2, NODE_FIELD = 3, REMOVED_FIELD = 4 };  // of a GraphStage

// A node as it was written last.
typedef struct known_node_s {
  leat_string_view_t bytes;
  int stage;  // the last one that has it
  bool is_gone;
} known_node_t;

static leat_status_t encode_node(const leat_graph_t* graph, int32_t index,
                                 const leat_placement_device_t* devices,
                                 leat_string_builder_t* out) {
  const int32_t device = graph->nodes[index].assigned_device;
  leat_pb_node_def_t def;
  leat_arena_t arena;
  leat_arena_initialize(leat_allocator_system(), 4096, &arena);
  leat_status_t status = leat_node_to_def(graph, index, &arena, &def);
  if (devices && device >= 0) def.device = devices[device].name;
  if (!status) status = leat_message_encode(&leat_pb_node_def_descriptor, &def, out);
  leat_arena_deinitialize(&arena);
  return status;
}

// Returns what is known of the node |name|, which may be new.
static leat_status_t find_known(leat_graph_stages_t* stages, leat_string_view_t name,
                                known_node_t** out_node) {
  uint64_t word;
  if (!leat_string_map_get(&stages->nodes, name, &word)) {
    LEAT_RETURN_IF_ERROR(LEAT_NEW(&stages->arena, 1, out_node));
    LEAT_RETURN_IF_ERROR(leat_arena_copy_string(&stages->arena, name, &name));
    return leat_string_map_set(&stages->nodes, name, (uint64_t)(uintptr_t)*out_node);
  }
  *out_node = (known_node_t*)(uintptr_t)word;
  return leat_ok_status();
}

// Writes a node if it is not what it was.
static leat_status_t write_node(leat_graph_stages_t* stages, leat_string_view_t name,
                                leat_string_view_t bytes, leat_string_builder_t* out) {
  known_node_t* known;
  LEAT_RETURN_IF_ERROR(find_known(stages, name, &known));
  const bool is_same = known->stage && !known->is_gone &&
                       leat_string_view_equal(known->bytes, bytes);
  known->stage = stages->count;
  known->is_gone = false;
  if (is_same) return leat_ok_status();
  leat_message_append_field(out, NODE_FIELD, bytes);
  return leat_arena_copy_string(&stages->arena, bytes, &known->bytes);
}

static leat_status_t write_graph(leat_graph_stages_t* stages, const leat_graph_t* graph,
                                 const leat_placement_device_t* devices,
                                 leat_string_builder_t* out) {
  leat_string_builder_t bytes;
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  leat_status_t status = leat_ok_status();
  for (size_t i = 0; i < graph->node_count && !status; ++i) {
    bytes.size = 0;
    status = encode_node(graph, (int32_t)i, devices, &bytes);
    if (!status) status = leat_status_clone(bytes.status);
    if (!status) {
      status = write_node(stages, graph->nodes[i].name, leat_string_builder_view(&bytes), out);
    }
  }
  leat_string_builder_deinitialize(&bytes);
  return status;
}

static void write_removed(leat_graph_stages_t* stages, leat_string_builder_t* out) {
  for (size_t i = 0; i < stages->nodes.count; ++i) {
    known_node_t* known = (known_node_t*)(uintptr_t)stages->nodes.entries[i].value;
    if (known->stage == stages->count || known->is_gone) continue;
    known->is_gone = true;
    leat_message_append_field(out, REMOVED_FIELD, stages->nodes.entries[i].key);
  }
}

static leat_status_t on_stage(void* data, const char* name, const char* doc,
                              const leat_placement_device_t* devices,
                              const leat_graph_t* const* graphs, int count) {
  leat_graph_stages_t* stages = data;
  leat_string_builder_t stage;
  leat_string_builder_initialize(leat_allocator_system(), &stage);
  ++stages->count;
  leat_message_append_field(&stage, NAME_FIELD, leat_string_view_from(name));
  leat_message_append_field(&stage, DOC_FIELD, leat_string_view_from(doc));
  leat_status_t status = leat_ok_status();
  for (int i = 0; i < count && !status; ++i) {
    status = write_graph(stages, graphs[i], devices, &stage);
  }
  if (!status) write_removed(stages, &stage);
  if (!status) status = leat_status_clone(stage.status);
  if (!status) {
    leat_message_append_field(stages->out, STAGES_FIELD, leat_string_builder_view(&stage));
    status = leat_status_clone(stages->out->status);
  }
  leat_string_builder_deinitialize(&stage);
  return status;
}

// ---- Placement ----------------------------------------------------------------------------------

typedef leat_pb_run_metadata_placement_node_t placement_node_t;

static leat_status_t fill_times(const leat_placer_options_t* placement, size_t node,
                                leat_arena_t* arena, placement_node_t* out) {
  const size_t count = (size_t)placement->device_count;
  if (!placement->times_ns) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count, &out->micros.items));
  out->micros.count = count;
  for (size_t d = 0; d < count; ++d) {
    const int64_t time = placement->times_ns[node * count + d];
    out->micros.items[d] = time == INT64_MAX ? -1 : (double)time / 1e3;
  }
  out->end_micros = (double)placement->notes[node].finish_ns / 1e3;
  return leat_ok_status();
}

static leat_status_t fill_placement(const leat_graph_t* graph,
                                    const leat_placer_options_t* placement, leat_arena_t* arena,
                                    leat_pb_run_metadata_placement_t* out) {
  const size_t devices = (size_t)placement->device_count;
  out->placer = placement->placer == LEAT_PLACER_GREEDY ? LEAT_SV("greedy") : LEAT_SV("simple");
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, devices, &out->devices.items));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, graph->node_count + 1, &out->node.items));
  for (size_t d = 0; d < devices; ++d) out->devices.items[d] = placement->devices[d].name;
  out->devices.count = devices;
  out->node.count = graph->node_count;
  for (size_t i = 0; i < graph->node_count; ++i) {
    const leat_placement_note_t* note = &placement->notes[i];
    placement_node_t* node = &out->node.items[i];
    node->name = graph->nodes[i].name;
    node->reason = leat_string_view_from(leat_placement_reason_text(note->reason));
    if (note->other >= 0) node->beside = graph->nodes[note->other].name;
    LEAT_RETURN_IF_ERROR(fill_times(placement, i, arena, node));
  }
  return leat_ok_status();
}

static leat_status_t on_placed(void* data, const leat_graph_t* graph,
                               const leat_placer_options_t* placement) {
  leat_graph_stages_t* stages = data;
  leat_pb_run_metadata_placement_t message = {0};
  leat_string_builder_t bytes;
  leat_arena_t arena;
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_status_t status = fill_placement(graph, placement, &arena, &message);
  if (!status) {
    status = leat_message_encode(&leat_pb_run_metadata_placement_descriptor, &message, &bytes);
  }
  if (!status) {
    leat_message_append_field(stages->out, PLACEMENT_FIELD, leat_string_builder_view(&bytes));
    status = leat_status_clone(stages->out->status);
  }
  leat_arena_deinitialize(&arena);
  leat_string_builder_deinitialize(&bytes);
  return status;
}

// ---- From beginning to end ----------------------------------------------------------------------

void leat_graph_stages_initialize(leat_string_builder_t* out, leat_graph_stages_t* out_stages) {
  *out_stages = (leat_graph_stages_t){
      .view = {.data = out_stages, .on_stage = on_stage, .on_placed = on_placed}, .out = out};
  leat_arena_initialize(leat_allocator_system(), 0, &out_stages->arena);
  leat_string_map_initialize(leat_allocator_system(), &out_stages->nodes);
}

void leat_graph_stages_deinitialize(leat_graph_stages_t* stages) {
  leat_string_map_deinitialize(&stages->nodes);
  leat_arena_deinitialize(&stages->arena);
}
