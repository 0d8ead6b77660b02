// Names and shows the passes of the optimizer (leat/inspect.h), for the command line and for
// whoever asks what a pass did to a graph. leat_passes_json() lists the passes in the order in
// which they run. leat_pass_show() gives a step's graph before and after one pass, as two
// GraphDefs; the session prunes the graph to what the step needs and runs that pass alone. The
// graph's lock is held only while the caller's fetches and targets are looked up. A pass that works
// on the graphs of single devices shows several graphs, which are joined into one GraphDef by
// writing them one behind the other.
#include "capi/handles.h"
#include "graph/import/export.h"
#include "leat/inspect.h"
#include "optimize/pass.h"

TF_Buffer* leat_passes_json(TF_Status* status) {
  static const char* const kStages[] = {
      [LEAT_PASS_WHOLE] = "whole", [LEAT_PASS_PLACED] = "placed",
      [LEAT_PASS_PARTITIONS] = "partitions"};
  leat_string_builder_t json;
  leat_string_builder_initialize(leat_allocator_system(), &json);
  for (const leat_pass_t* const* pass = leat_passes; *pass; ++pass) {
    leat_string_builder_print(
        &json,
        "%s{\"name\": \"%s\", \"doc\": \"%s\", \"stage\": \"%s\", \"after\": \"%s\", "
        "\"default\": %s}",
        pass == leat_passes ? "[" : ", ", (*pass)->name, (*pass)->doc, kStages[(*pass)->stage],
        (*pass)->after ? (*pass)->after : "",
        (*pass)->option ? "true" : "false");
  }
  leat_string_builder_print(&json, "]\n");
  return leat_capi_buffer_return(leat_ok_status(), &json, status);
}

// Appends a graph to the graphs before or after the pass. Serialized messages in a row are one
// message with the nodes of all, so that the graphs of several devices become one.
static leat_status_t append_graph(void* data, bool after, const leat_graph_t* graph) {
  leat_string_builder_t* graphs = data;
  return leat_graph_export(graph, &graphs[after]);
}

static leat_status_t resolve(const TF_Session* session, const TF_Output* fetches,
                             const TF_Operation* const* targets, leat_arena_t* arena,
                             leat_run_t* run) {
  leat_output_t* outputs;
  int32_t* nodes;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, (size_t)run->fetch_count + 1, &outputs));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, (size_t)run->target_count + 1, &nodes));
  for (int i = 0; i < run->fetch_count; ++i) {
    LEAT_RETURN_IF_ERROR(
        leat_capi_output_resolve(session->graph, fetches[i], "a fetch", &outputs[i]));
  }
  for (int i = 0; i < run->target_count; ++i) {
    if (!targets[i] || targets[i]->graph != session->graph) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Showing a pass failed: target %d is %s, must be in the session's "
                              "graph", i, targets[i] ? "of another graph" : "NULL");
    }
    nodes[i] = targets[i]->node;
  }
  run->fetches = outputs;
  run->targets = nodes;
  return leat_ok_status();
}

void leat_pass_show(TF_Session* session, const char* pass, const TF_Output* fetches,
                    int fetch_count, const TF_Operation* const* targets, int target_count,
                    TF_Buffer* before, TF_Buffer* after, TF_Status* status) {
  leat_string_builder_t graphs[2];
  leat_arena_t arena;
  leat_run_t run = {.fetch_count = fetch_count, .target_count = target_count};
  leat_arena_initialize(leat_allocator_system(), 4096, &arena);
  for (int i = 0; i < 2; ++i) {
    leat_string_builder_initialize(leat_allocator_system(), &graphs[i]);
  }
  leat_status_t result = leat_capi_buffer_check_empty(before);
  if (!result) result = leat_capi_buffer_check_empty(after);
  leat_capi_lock(session->graph);
  if (!result) result = resolve(session, fetches, targets, &arena, &run);
  leat_capi_unlock(session->graph);
  if (!result) {
    result = leat_session_show_pass(session->session, &run, pass, append_graph, graphs);
  }
  if (!result) result = leat_capi_buffer_take(&graphs[0], before);
  if (!result) result = leat_capi_buffer_take(&graphs[1], after);
  for (int i = 0; i < 2; ++i) leat_string_builder_deinitialize(&graphs[i]);
  leat_arena_deinitialize(&arena);
  leat_capi_status_set(status, result);
}
