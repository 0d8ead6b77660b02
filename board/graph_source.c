// Finds where the graph, or the step statistics, that a request asks for lie in the event files. A
// graph comes as a GraphDef in an event of its own, as a summary whose tensor holds the bytes, or
// as graphs inside a RunMetadata; plugins of TensorBoard's name say which. The newest step of a tag
// counts. Nothing is kept: the bytes are read from the file for each request, and graph_store.c
// keeps what was made of them.
#include "board/graph_source.h"

#include "formats/generated/run_metadata.h"
#include "formats/wire/decode.h"

// The newest step of the first of |plugins| that owns the source's tag.
static leat_status_t find_newest(board_api_t* api, const board_request_t* request,
                                 const char* const plugins[2], board_graph_source_t* source) {
  leat_string_view_t name;
  if (!board_query_get(&request->query, "run", &name)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "query parameter \"run\" is required");
  }
  source->run = board_logdir_find(api->logdir, name);
  leat_status_t status = leat_make_status(LEAT_NOT_FOUND, "Not found");
  for (int i = 0; i < 2 && source->run && plugins[i] && status; ++i) {
    leat_status_free(status);
    status = board_snapshot_take(source->run, source->tag, plugins[i], BOARD_CLASS_BLOB,
                                 request->arena, &source->snapshot);
  }
  LEAT_RETURN_IF_ERROR(status);
  LEAT_RETURN_IF_ERROR(board_snapshot_sort(&source->snapshot, request->arena));
  if (!source->snapshot.count) return leat_make_status(LEAT_NOT_FOUND, "Not found");
  source->index = source->snapshot.count - 1;
  return leat_ok_status();
}

// A program's graph, where the run has one. That it has none is no failure.
static leat_status_t find_written(const board_request_t* request, board_graph_source_t* source) {
  leat_status_t status = board_snapshot_take(source->run, BOARD_RUN_GRAPH, "graphs",
                                             BOARD_CLASS_BLOB, request->arena, &source->written);
  if (leat_status_code(status) == LEAT_NOT_FOUND) {
    leat_status_free(status);
    return leat_ok_status();
  }
  LEAT_RETURN_IF_ERROR(status);
  source->has_written = source->written.count > 0;
  return board_snapshot_sort(&source->written, request->arena);
}

leat_status_t board_graph_source_find(board_api_t* api, const board_request_t* request,
                                      board_graph_source_t* out_source) {
  *out_source = (board_graph_source_t){.tag = BOARD_RUN_GRAPH, .stage = -1};
  if (!board_query_get(&request->query, "tag", &out_source->tag)) {
    return find_newest(api, request, (const char*[2]){"graphs"}, out_source);
  }
  leat_string_view_t ignored;
  if (board_query_get(&request->query, "placed", &ignored)) {
    LEAT_RETURN_IF_ERROR(board_graph_source_find_steps(api, request, "tag", out_source));
    out_source->is_placed = true;
    LEAT_RETURN_IF_ERROR(board_api_int(request, "stage", -1, &out_source->stage));
    return find_written(request, out_source);
  }
  out_source->is_metadata = true;
  return find_newest(api, request,
                     (const char*[2]){"graph_run_metadata", "graph_run_metadata_graph"},
                     out_source);
}

leat_status_t board_graph_source_find_steps(board_api_t* api, const board_request_t* request,
                                            const char* name, board_graph_source_t* out_source) {
  *out_source = (board_graph_source_t){.is_metadata = true, .stage = -1};
  if (!board_query_get(&request->query, name, &out_source->tag)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "query parameter \"%s\" is required", name);
  }
  return find_newest(api, request,
                     (const char*[2]){"graph_tagged_run_metadata", "graph_run_metadata"},
                     out_source);
}

leat_status_t board_graph_source_bytes(const board_graph_source_t* source, leat_arena_t* arena,
                                       leat_string_view_t* out_bytes) {
  leat_pb_summary_value_t value;
  if (source->snapshot.form == BOARD_FORM_BYTES) {
    return board_snapshot_bytes(&source->snapshot, source->index, arena, out_bytes);
  }
  LEAT_RETURN_IF_ERROR(board_snapshot_value(&source->snapshot, source->index, arena, &value));
  if (!value.tensor || !value.tensor->string_val.count) {
    return leat_make_status(LEAT_NOT_FOUND, "Not found");
  }
  *out_bytes = value.tensor->string_val.items[0];
  return leat_ok_status();
}

// Joins the graphs of the devices into one. Names of nodes are the same as in the whole graph; what
// the runtime added to send tensors from one device to another has names of its own.
static leat_status_t join_partitions(const leat_pb_run_metadata_t* metadata, leat_arena_t* arena,
                                     leat_pb_graph_def_t* out_graph) {
  size_t count = 0;
  const leat_pb_graph_def_list_t* parts = &metadata->partition_graphs;
  for (size_t i = 0; i < parts->count; ++i) count += parts->items[i].node.count;
  if (!count) {
    return leat_make_status(LEAT_NOT_FOUND,
                            "the step was recorded without the graphs of its devices: RunOptions "
                            "must have output_partition_graphs");
  }
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count, &out_graph->node.items));
  out_graph->library = parts->items[0].library;  // each part has the whole library
  for (size_t i = 0; i < parts->count; ++i) {
    for (size_t n = 0; n < parts->items[i].node.count; ++n) {
      out_graph->node.items[out_graph->node.count++] = parts->items[i].node.items[n];
    }
  }
  return leat_ok_status();
}

// Reads the graph as the program wrote it, with which the first stage is compared.
static leat_status_t read_written(const board_graph_source_t* source, leat_arena_t* arena,
                                  const leat_pb_graph_def_t** out_graph) {
  leat_decode_limits_t limits = {0};
  leat_string_view_t bytes;
  leat_pb_graph_def_t* graph;
  *out_graph = NULL;
  if (!source->has_written) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(
      board_snapshot_bytes(&source->written, source->written.count - 1, arena, &bytes));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, 1, &graph));
  LEAT_RETURN_IF_ERROR(
      leat_message_decode(&leat_pb_graph_def_descriptor, bytes, arena, &limits, graph));
  *out_graph = graph;
  return leat_ok_status();
}

static leat_status_t decode_step(const board_graph_source_t* source, leat_arena_t* arena,
                                 leat_pb_run_metadata_t** out_step) {
  leat_decode_limits_t limits = {0};
  leat_string_view_t bytes;
  LEAT_RETURN_IF_ERROR(board_graph_source_bytes(source, arena, &bytes));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, 1, out_step));
  return leat_message_decode(&leat_pb_run_metadata_descriptor, bytes, arena, &limits, *out_step);
}

leat_status_t board_graph_source_read_stages(const board_graph_source_t* source, size_t wanted,
                                             leat_arena_t* arena,
                                             leat_pb_run_metadata_t** out_step,
                                             board_graph_stage_t** out_stages) {
  const leat_pb_graph_def_t* written;
  LEAT_RETURN_IF_ERROR(decode_step(source, arena, out_step));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, (*out_step)->graph_stages.count + 1, out_stages));
  if (!(*out_step)->graph_stages.count) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(read_written(source, arena, &written));
  return board_graph_stages_read(*out_step, written, wanted, arena, *out_stages);
}

// What a step's devices ran, or what a stage made of its graph.
static leat_status_t read_step(const board_graph_source_t* source, leat_arena_t* arena,
                               board_graph_content_t* out) {
  leat_pb_run_metadata_t* step;
  board_graph_stage_t* stages;
  if (source->stage < 0) {
    LEAT_RETURN_IF_ERROR(decode_step(source, arena, &step));
    out->step = step;
    return join_partitions(step, arena, &out->graph);
  }
  const size_t wanted = (size_t)source->stage;
  LEAT_RETURN_IF_ERROR(board_graph_source_read_stages(source, wanted, arena, &step, &stages));
  if (wanted >= step->graph_stages.count) {
    return leat_make_status(LEAT_NOT_FOUND, "Not found: stage is %lld, and the step was recorded "
                            "with %zu", (long long)source->stage, step->graph_stages.count);
  }
  out->step = step;
  out->stage = &stages[wanted];
  out->graph = stages[wanted].graph;
  if (step->partition_graphs.count) {
    out->graph.library = step->partition_graphs.items[0].library;
  }
  return leat_ok_status();
}

leat_status_t board_graph_source_read(const board_graph_source_t* source, leat_arena_t* arena,
                                      board_graph_content_t* out_content) {
  leat_decode_limits_t limits = {0};
  leat_string_view_t bytes;
  leat_pb_run_metadata_t metadata;
  *out_content = (board_graph_content_t){0};
  if (source->is_placed) return read_step(source, arena, out_content);
  LEAT_RETURN_IF_ERROR(board_graph_source_bytes(source, arena, &bytes));
  if (!source->is_metadata) {
    return leat_message_decode(&leat_pb_graph_def_descriptor, bytes, arena, &limits,
                               &out_content->graph);
  }
  LEAT_RETURN_IF_ERROR(
      leat_message_decode(&leat_pb_run_metadata_descriptor, bytes, arena, &limits, &metadata));
  if (metadata.function_graphs.count > 1) {
    return leat_make_status(LEAT_UNIMPLEMENTED, "graphs of several functions are not joined");
  }
  if (metadata.function_graphs.count == 1 &&
      metadata.function_graphs.items[0].pre_optimization_graph) {
    out_content->graph = *metadata.function_graphs.items[0].pre_optimization_graph;
  }
  return leat_ok_status();
}
