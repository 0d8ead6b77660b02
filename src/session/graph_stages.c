// What RunMetadata says of a step's graph: the graphs of its devices, what each stage of compiling
// made of the graph, and why the placer put each node where it is (docs/board.md). They are written
// where a step was run with output_partition_graphs; the last two are fields of our own.
//
// Twenty stages of a large graph would be twenty times its size. So the nodes of the first stage
// are written whole, and of each later one those that are new or other than they were, and the
// names of those that are gone. What was written last of each node is kept until the end, and
// compared byte by byte. A placed node names its device as the graphs of the devices do.
//
// The stages are written into bytes of their own first, because only at the end it is known whether
// all fits into a message: a graph with constants of hundreds of megabytes has them in several
// stages. The graphs of the devices must go out in any case.
//
//   leat_session_show_partitions ──on_stage, on_placed──▶ |told| ──if it fits──▶ |out|
//                                └─append_partition─────────────────────────────▶ |out|
#include "session/graph_stages.h"

#include "base/log.h"
#include "base/map.h"
#include "formats/generated/run_metadata.h"
#include "formats/wire/encode.h"
#include "graph/import/export.h"
#include "master/master.h"

enum { PARTITION_GRAPHS_FIELD = 3, STAGES_FIELD = 1001, PLACEMENT_FIELD = 1002 };  // RunMetadata's
enum { NAME_FIELD = 1, DOC_FIELD = 2, NODE_FIELD = 3, REMOVED_FIELD = 4 };  // of a GraphStage

typedef struct description_s {
  leat_string_builder_t* out;  // the encoded RunMetadata
  leat_string_builder_t told;  // its fields graph_stages and placement
  size_t most_bytes;           // of |told|
  bool too_many;               // then no further stages are encoded, and none is told
  leat_arena_t arena;
  leat_string_map_t nodes;     // name -> what was written of the node
  int count;                   // of stages
} description_t;

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
static leat_status_t find_known(description_t* d, leat_string_view_t name,
                                known_node_t** out_node) {
  uint64_t word;
  if (!leat_string_map_get(&d->nodes, name, &word)) {
    LEAT_RETURN_IF_ERROR(LEAT_NEW(&d->arena, 1, out_node));
    LEAT_RETURN_IF_ERROR(leat_arena_copy_string(&d->arena, name, &name));
    return leat_string_map_set(&d->nodes, name, (uint64_t)(uintptr_t)*out_node);
  }
  *out_node = (known_node_t*)(uintptr_t)word;
  return leat_ok_status();
}

// Writes a node if it is not what it was.
static leat_status_t write_node(description_t* d, leat_string_view_t name,
                                leat_string_view_t bytes, leat_string_builder_t* out) {
  known_node_t* known;
  LEAT_RETURN_IF_ERROR(find_known(d, name, &known));
  const bool is_same = known->stage && !known->is_gone &&
                       leat_string_view_equal(known->bytes, bytes);
  known->stage = d->count;
  known->is_gone = false;
  if (is_same) return leat_ok_status();
  leat_message_append_field(out, NODE_FIELD, bytes);
  return leat_arena_copy_string(&d->arena, bytes, &known->bytes);
}

static leat_status_t write_graph(description_t* d, const leat_graph_t* graph,
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
      status = write_node(d, graph->nodes[i].name, leat_string_builder_view(&bytes), out);
    }
  }
  leat_string_builder_deinitialize(&bytes);
  return status;
}

static void write_removed(description_t* d, leat_string_builder_t* out) {
  for (size_t i = 0; i < d->nodes.count; ++i) {
    known_node_t* known = (known_node_t*)(uintptr_t)d->nodes.entries[i].value;
    if (known->stage == d->count || known->is_gone) continue;
    known->is_gone = true;
    leat_message_append_field(out, REMOVED_FIELD, d->nodes.entries[i].key);
  }
}

// Adds a field to what is told.
static leat_status_t tell(description_t* d, uint32_t field, const leat_string_builder_t* bytes) {
  leat_message_append_field(&d->told, field, leat_string_builder_view(bytes));
  d->too_many = d->told.size > d->most_bytes;
  return leat_status_clone(d->told.status);
}

// A leat_compile_view_t's; |data| is the description.
static leat_status_t on_stage(void* data, const char* name, const char* doc,
                              const leat_placement_device_t* devices,
                              const leat_graph_t* const* graphs, int count) {
  description_t* d = data;
  leat_string_builder_t stage;
  if (d->too_many) return leat_ok_status();
  leat_string_builder_initialize(leat_allocator_system(), &stage);
  ++d->count;
  leat_message_append_field(&stage, NAME_FIELD, leat_string_view_from(name));
  leat_message_append_field(&stage, DOC_FIELD, leat_string_view_from(doc));
  leat_status_t status = leat_ok_status();
  for (int i = 0; i < count && !status; ++i) {
    status = write_graph(d, graphs[i], devices, &stage);
  }
  if (!status) write_removed(d, &stage);
  if (!status) status = leat_status_clone(stage.status);
  if (!status) status = tell(d, STAGES_FIELD, &stage);
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
  description_t* d = data;
  leat_pb_run_metadata_placement_t message = {0};
  leat_string_builder_t bytes;
  if (d->too_many) return leat_ok_status();
  leat_arena_t arena;
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_status_t status = fill_placement(graph, placement, &arena, &message);
  if (!status) {
    status = leat_message_encode(&leat_pb_run_metadata_placement_descriptor, &message, &bytes);
  }
  if (!status) status = tell(d, PLACEMENT_FIELD, &bytes);
  leat_arena_deinitialize(&arena);
  leat_string_builder_deinitialize(&bytes);
  return status;
}

// ---- From beginning to end ----------------------------------------------------------------------

// A leat_graph_view_fn_t: appends the graph of a device. Fields of a message may be encoded one by
// one.
static leat_status_t append_partition(void* data, bool after, const leat_graph_t* graph) {
  leat_string_builder_t* out = ((description_t*)data)->out;
  leat_string_builder_t def;
  leat_string_builder_initialize(leat_allocator_system(), &def);
  leat_status_t status = leat_graph_export(graph, &def);
  if (!status) {
    leat_message_append_field(out, PARTITION_GRAPHS_FIELD, leat_string_builder_view(&def));
    status = leat_status_clone(out->status);
  }
  leat_string_builder_deinitialize(&def);
  return status;
}

// Adds what was told of the stages, if there is room for it.
static leat_status_t append_told(description_t* d, size_t most_bytes) {
  if (d->too_many || d->out->size > most_bytes || d->told.size > most_bytes - d->out->size) {
    leat_log(LEAT_LOG_WARNING,
             "the RunMetadata of a step tells no graph_stages and no placement, because it would "
             "have more than %zu bytes with them", most_bytes);
    return leat_ok_status();
  }
  leat_string_builder_append(d->out, leat_string_builder_view(&d->told));
  return leat_status_clone(d->out->status);
}

leat_status_t leat_session_describe_graphs(leat_session_t* session, const leat_run_t* run,
                                           size_t most_bytes, leat_string_builder_t* out) {
  description_t d = {.out = out, .most_bytes = most_bytes};
  const leat_compile_view_t view = {.data = &d, .on_stage = on_stage, .on_placed = on_placed};
  leat_string_builder_initialize(leat_allocator_system(), &d.told);
  leat_arena_initialize(leat_allocator_system(), 0, &d.arena);
  leat_string_map_initialize(leat_allocator_system(), &d.nodes);
  leat_status_t status = leat_session_show_partitions(session, run, &view, append_partition, &d);
  if (!status) status = append_told(&d, most_bytes);
  leat_string_map_deinitialize(&d.nodes);
  leat_arena_deinitialize(&d.arena);
  leat_string_builder_deinitialize(&d.told);
  return status;
}
