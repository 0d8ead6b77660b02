// leat_explain_placement: where the placer puts each node of a graph, and why, as JSON. It places a
// copy of the graph with a session's options, then simulates one step over the cost model
// (master/simulator.h) and prints for each device its number of nodes, its busy time and its peak
// of memory, and for each node its device, the reason, its cost and when it ends. A worker is
// opened for its devices, but nothing runs. If a step is named, only what it needs is placed, as a
// session would do; otherwise everything is.
#include "capi/handles.h"
#include "formats/wire/json.h"
#include "leat/inspect.h"
#include "master/simulator.h"
#include "optimize/pass.h"

typedef struct explanation_s {
  leat_graph_t* graph;
  leat_placer_options_t options;
  leat_arena_t arena;
  leat_simulator_t sim;
  leat_string_builder_t out;
} explanation_t;

static void append_field(explanation_t* e, const char* name, leat_string_view_t text) {
  leat_string_builder_print(&e->out, "\"%s\": ", name);
  leat_json_append_string(&e->out, text);
}

static void append_us(explanation_t* e, const char* name, int64_t ns) {
  leat_string_builder_print(&e->out, "\"%s\": ", name);
  leat_json_append_number(&e->out, (double)ns / 1e3);
}

// Appends the devices, with the nodes that each got and its load in the simulated step.
static void append_devices(explanation_t* e) {
  leat_string_builder_append(&e->out, LEAT_SV(", \"devices\": ["));
  for (int d = 0; d < e->options.device_count; ++d) {
    const leat_placement_device_t* device = &e->options.devices[d];
    int nodes = 0;
    for (size_t i = 0; i < e->graph->node_count; ++i) {
      nodes += e->graph->nodes[i].assigned_device == d;
    }
    leat_string_builder_print(&e->out, "%s\n {", d ? "," : "");
    append_field(e, "name", device->name);
    leat_string_builder_append(&e->out, LEAT_SV(", "));
    append_field(e, "type", device->type);
    leat_string_builder_print(&e->out, ", \"nodes\": %d, ", nodes);
    append_us(e, "busy_us", e->sim.busy_ns[d]);
    leat_string_builder_print(&e->out, ", \"peak_bytes\": %lld, \"limit_bytes\": %lld}",
                              (long long)e->sim.peak_bytes[d],
                              (long long)device->memory_limit_bytes);
  }
}

// Appends the nodes, with the device, the reason and the simulated times of each. A node that no
// device can run has the time INT64_MAX, which is printed as 0.
static void append_nodes(explanation_t* e) {
  leat_string_builder_append(&e->out, LEAT_SV("],\n\"nodes\": ["));
  for (size_t i = 0; i < e->graph->node_count; ++i) {
    const leat_node_t* node = &e->graph->nodes[i];
    const leat_placement_note_t* note = &e->options.notes[i];
    size_t place = i * (size_t)e->options.device_count + (size_t)node->assigned_device;
    int64_t time = e->sim.times[place];
    leat_string_builder_print(&e->out, "%s\n {", i ? "," : "");
    append_field(e, "name", node->name);
    leat_string_builder_append(&e->out, LEAT_SV(", "));
    append_field(e, "op", node->op->name);
    leat_string_builder_print(&e->out, ", \"device\": %d, ", node->assigned_device);
    append_field(e, "reason", leat_string_view_from(leat_placement_reason_text(note->reason)));
    leat_string_builder_append(&e->out, LEAT_SV(", "));
    append_field(e, "beside", note->other >= 0 ? e->graph->nodes[note->other].name : LEAT_SV(""));
    leat_string_builder_append(&e->out, LEAT_SV(", "));
    append_us(e, "cost_us", time == INT64_MAX ? 0 : time);
    leat_string_builder_append(&e->out, LEAT_SV(", "));
    append_us(e, "end_us", e->sim.finish[i]);
    leat_string_builder_append(&e->out, LEAT_SV("}"));
  }
  leat_string_builder_append(&e->out, LEAT_SV("]}\n"));
}

// Simulates a step with the placement that the placer chose.
static leat_status_t simulate(explanation_t* e) {
  leat_groups_t* groups;
  int32_t* devices;
  size_t count = e->graph->node_count;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&e->arena, 1, &groups));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&e->arena, count + 1, &devices));
  LEAT_RETURN_IF_ERROR(leat_groups_initialize(e->graph, &e->options, &e->arena, groups));
  LEAT_RETURN_IF_ERROR(leat_groups_find(groups, &e->arena));
  LEAT_RETURN_IF_ERROR(leat_simulator_initialize(groups, &e->arena, &e->sim));
  for (size_t i = 0; i < count; ++i) devices[i] = e->graph->nodes[i].assigned_device;
  leat_simulator_run(&e->sim, devices);
  return leat_ok_status();
}

// Places the graph, simulates a step and prints both.
static leat_status_t describe(explanation_t* e, const leat_runtime_t* runtime,
                              const leat_session_options_t* options,
                              const leat_target_t* target) {
  leat_placement_device_t* devices;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&e->arena, (size_t)target->device_count, &devices));
  for (int i = 0; i < target->device_count; ++i) {
    devices[i] = leat_session_describe_device(target->devices[i]);
  }
  e->options = (leat_placer_options_t){.kernels = runtime->kernels,
                                       .devices = devices,
                                       .device_count = target->device_count,
                                       .allow_soft_placement = options->allow_soft_placement,
                                       .placer = options->placer,
                                       .costs = options->costs};
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&e->arena, e->graph->node_count + 1, &e->options.notes));
  LEAT_RETURN_IF_ERROR(leat_place(e->graph, &e->options));
  LEAT_RETURN_IF_ERROR(simulate(e));
  leat_string_builder_append(&e->out, LEAT_SV("{"));
  append_field(e, "placer",
               options->placer == LEAT_PLACER_GREEDY ? LEAT_SV("greedy") : LEAT_SV("simple"));
  leat_string_builder_append(&e->out, LEAT_SV(", "));
  append_us(e, "step_us", e->sim.makespan_ns);
  append_devices(e);
  append_nodes(e);
  return leat_ok_status();
}

// Copies what the fetches and targets need, or everything where there are none.
static leat_status_t copy_graph(TF_Graph* graph, const TF_Output* fetches, int fetch_count,
                                const TF_Operation* const* targets, int target_count,
                                leat_arena_t* arena, leat_rewrite_t* out_rewrite) {
  const leat_graph_t* whole = graph->shared->graph;
  bool all = fetch_count + target_count == 0;
  int count = all ? (int)whole->node_count : target_count;
  leat_output_t* outputs;
  int32_t* nodes;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, (size_t)fetch_count + 1, &outputs));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, (size_t)count + 1, &nodes));
  for (int i = 0; i < fetch_count; ++i) {
    LEAT_RETURN_IF_ERROR(leat_capi_output_resolve(graph, fetches[i], "fetch", &outputs[i]));
  }
  for (int i = 0; i < count; ++i) {
    if (!all && (!targets[i] || targets[i]->graph != graph)) {
      return leat_make_status(
          LEAT_INVALID_ARGUMENT,
          "Explaining a placement failed: target %d is %s, must be in the graph", i,
          targets[i] ? "of another graph" : "NULL");
    }
    nodes[i] = all ? i : targets[i]->node;
  }
  return leat_prune(whole, NULL, 0, outputs, fetch_count, nodes, count, out_rewrite);
}

TF_Buffer* leat_explain_placement(TF_Graph* graph, const TF_SessionOptions* options,
                                  const TF_Output* fetches, int fetch_count,
                                  const TF_Operation* const* targets, int target_count,
                                  TF_Status* status) {
  explanation_t e = {.graph = NULL};
  const leat_runtime_t* runtime = NULL;
  leat_target_t target = {0};
  leat_rewrite_t rewrite = {0};
  leat_arena_initialize(leat_allocator_system(), 0, &e.arena);
  leat_string_builder_initialize(leat_allocator_system(), &e.out);
  leat_status_t error = leat_runtime_get(&runtime);
  if (!error) {
    leat_mutex_lock(&graph->shared->mutex);
    error = copy_graph(graph, fetches, fetch_count, targets, target_count, &e.arena, &rewrite);
    leat_mutex_unlock(&graph->shared->mutex);
  }
  bool copied = !error;
  if (!error) error = runtime->open_target(runtime, LEAT_SV(""), &options->options, &target);
  if (!error) {
    e.graph = rewrite.graph;
    error = describe(&e, runtime, &options->options, &target);
  }
  leat_simulator_deinitialize(&e.sim);
  if (copied) leat_rewrite_deinitialize(&rewrite);
  leat_target_deinitialize(&target, leat_allocator_system());
  leat_arena_deinitialize(&e.arena);
  return leat_capi_buffer_return(error, &e.out, status);
}
