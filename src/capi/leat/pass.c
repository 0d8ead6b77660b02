// Names and shows the passes of the optimizer (leat/inspect.h), for the command line and for
// whoever asks what a pass did to a graph. leat_passes_json() lists the passes in the order in
// which they run. leat_pass_show() gives a step's graph before and after one pass, as two
// GraphDefs; the session prunes the graph to what the step needs and runs that pass alone.
// leat_passes_explain() runs all of them, one after the other, and says what each has done. The
// graph's lock is held only while the caller's fetches and targets are looked up. A pass that works
// on the graphs of single devices shows several graphs, which are joined into one GraphDef by
// writing them one behind the other.
#include "capi/handles.h"
#include "graph/import/export.h"
#include "graph/rewrite_rule.h"
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

#define MAX_RULES 128  // that a pass may use

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

// Runs |pass| for a step, and gives |show| the graph before and after.
static leat_status_t show_pass(TF_Session* session, const char* pass, const TF_Output* fetches,
                               int fetch_count, const TF_Operation* const* targets,
                               int target_count, const leat_pass_observer_t* observer,
                               leat_graph_view_fn_t show, void* data) {
  leat_arena_t arena;
  leat_run_t run = {.fetch_count = fetch_count, .target_count = target_count};
  leat_arena_initialize(leat_allocator_system(), 4096, &arena);
  leat_capi_lock(session->graph);
  leat_status_t status = resolve(session, fetches, targets, &arena, &run);
  leat_capi_unlock(session->graph);
  if (!status) {
    status = leat_session_show_pass(session->session, &run, pass, observer, show, data);
  }
  leat_arena_deinitialize(&arena);
  return status;
}

void leat_pass_show(TF_Session* session, const char* pass, const TF_Output* fetches,
                    int fetch_count, const TF_Operation* const* targets, int target_count,
                    TF_Buffer* before, TF_Buffer* after, TF_Status* status) {
  leat_string_builder_t graphs[2];
  for (int i = 0; i < 2; ++i) {
    leat_string_builder_initialize(leat_allocator_system(), &graphs[i]);
  }
  leat_status_t result = leat_capi_buffer_check_empty(before);
  if (!result) result = leat_capi_buffer_check_empty(after);
  if (!result) {
    result = show_pass(session, pass, fetches, fetch_count, targets, target_count, NULL,
                       append_graph, graphs);
  }
  if (!result) result = leat_capi_buffer_take(&graphs[0], before);
  if (!result) result = leat_capi_buffer_take(&graphs[1], after);
  for (int i = 0; i < 2; ++i) leat_string_builder_deinitialize(&graphs[i]);
  leat_capi_status_set(status, result);
}

// ---- What all passes do to a step ---------------------------------------------------------------

// What leat_passes_explain writes. A pass tells its rules before itself, so they are counted until
// it comes.
typedef struct explanation_s {
  leat_string_builder_t json;
  struct {
    const leat_rewrite_rule_t* rule;
    int times;
  } rules[MAX_RULES];
  int rule_count;
} explanation_t;

static void note_rule(void* data, const leat_rewrite_rule_t* rule) {
  explanation_t* e = data;
  int i = 0;
  while (i < e->rule_count && e->rules[i].rule != rule) ++i;
  if (i == MAX_RULES) return;  // more rules than the library has
  if (i == e->rule_count) e->rules[e->rule_count++].rule = rule;
  ++e->rules[i].times;
}

static void note_pass(void* data, const leat_pass_t* pass, size_t removed, size_t added) {
  explanation_t* e = data;
  leat_string_builder_t* json = &e->json;
  leat_string_builder_print(json, "%s{\"pass\": \"%s\", \"removed\": %zu, \"added\": %zu, "
                            "\"rules\": [", json->size ? ", " : "[", pass->name, removed, added);
  for (int i = 0; i < e->rule_count; ++i) {
    leat_string_builder_print(json, "%s{\"rule\": \"%s\", \"times\": %d, \"doc\": \"%s\"}",
                              i ? ", " : "", e->rules[i].rule->name, e->rules[i].times,
                              e->rules[i].rule->doc);
    e->rules[i].times = 0;
  }
  leat_string_builder_print(json, "]}");
  e->rule_count = 0;
}

static leat_status_t show_nothing(void* data, bool after, const leat_graph_t* graph) {
  return leat_ok_status();
}

TF_Buffer* leat_passes_explain(TF_Session* session, const TF_Output* fetches, int fetch_count,
                               const TF_Operation* const* targets, int target_count,
                               TF_Status* status) {
  explanation_t e = {0};
  const leat_pass_observer_t observer = {.data = &e, .on_pass = note_pass, .on_rule = note_rule};
  leat_string_builder_initialize(leat_allocator_system(), &e.json);
  leat_status_t result = show_pass(session, "all", fetches, fetch_count, targets, target_count,
                                   &observer, show_nothing, NULL);
  leat_string_builder_print(&e.json, "%s]\n", e.json.size ? "" : "[");
  return leat_capi_buffer_return(result, &e.json, status);
}
