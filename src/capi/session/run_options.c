// What a step takes and gives beside values: the RunOptions that come in (a timeout, whether to
// trace, whether to show the partitioned graphs), and the RunMetadata that goes out. Statistics are
// collected by a leat_step_collector_t (trace/collector.h), which the step fills while it runs.
// They serve two readers: the caller's RunMetadata, and the costs of a session that measures its
// steps. Tracing without a place for the RunMetadata collects nothing, as in TensorFlow.
#include "capi/session/run_options.h"

#include "capi/plugin/profiler.h"
#include "formats/generated/config.h"
#include "formats/generated/step_stats.h"
#include "formats/wire/decode.h"
#include "formats/wire/encode.h"
#include "session/graph_stages.h"
#include "trace/collector.h"

static leat_status_t read_options(leat_string_view_t bytes, leat_capi_run_options_t* out_options,
                                  bool* out_traced) {
  leat_arena_t arena;
  leat_pb_run_options_t options = {0};
  leat_arena_initialize(leat_allocator_system(), 1024, &arena);
  leat_status_t status =
      leat_message_decode(&leat_pb_run_options_descriptor, bytes, &arena, NULL, &options);
  if (status) {
    status = leat_status_annotate(status, "Unparseable RunOptions proto");
  } else {
    out_options->timeout_ms = options.timeout_in_ms;
    out_options->inter_op_pool = options.inter_op_thread_pool;
    out_options->shows_partitions = options.output_partition_graphs;
    *out_traced = options.trace_level > 0;
    if (options.experimental) {
      out_options->collective_graph_key = options.experimental->collective_graph_key;
    }
  }
  leat_arena_deinitialize(&arena);
  return status;
}

// Makes the collector, once.
static void collect(leat_capi_run_options_t* options) {
  if (options->collector) return;
  leat_step_collector_initialize(leat_allocator_system(), &options->storage);
  options->collector = &options->storage;
}

leat_status_t leat_capi_run_options_begin(const TF_Buffer* run_options,
                                          const TF_Buffer* run_metadata,
                                          leat_capi_run_options_t* out_options) {
  *out_options = (leat_capi_run_options_t){0};
  if (run_metadata && run_metadata->data) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Passing non-empty run_metadata is invalid.");
  }
  bool traced = false;
  if (run_options) {
    LEAT_RETURN_IF_ERROR(
        read_options(leat_capi_buffer_bytes(run_options), out_options, &traced));
  }
  if (traced && run_metadata) {
    collect(out_options);
    out_options->is_profiled = leat_plugin_profilers_start();
  }
  if (!run_metadata) out_options->shows_partitions = false;
  leat_string_builder_initialize(leat_allocator_system(), &out_options->graphs);
  return leat_ok_status();
}

void leat_capi_run_options_measure(leat_capi_run_options_t* options, TF_Session* session,
                                   leat_signature_t* signature) {
  if (!leat_session_measures_step(session->session, signature)) return;
  options->measured = signature;
  collect(options);
}

// Appends the inputs of node |name| in the form of a NodeDef ("x", "y:1", "^z"), for labels of the
// trace.
static void print_inputs(void* data, leat_string_view_t name, leat_string_builder_t* out_inputs) {
  TF_Graph* handle = ((TF_Session*)data)->graph;
  const leat_graph_t* graph = leat_capi_lock(handle);
  int32_t index = leat_graph_find_node(graph, name);
  const leat_node_t* node = index < 0 ? NULL : leat_graph_node(graph, index);
  for (int i = 0; node && i < node->input_count + node->control_count; ++i) {
    leat_output_t input = node->inputs[i];
    if (!leat_output_exists(input)) continue;
    const char* before = input.index < 0 ? "^" : "";
    leat_string_builder_print(out_inputs, "%s%s%.*s", i ? ", " : "", before,
                              LEAT_SV_ARG(leat_graph_node(graph, input.node)->name));
    if (input.index > 0) leat_string_builder_print(out_inputs, ":%d", input.index);
  }
  leat_capi_unlock(handle);
}

// Encodes the statistics, with the session's costs where this step was measured.
static leat_status_t encode(const leat_capi_run_options_t* options, leat_costs_t* costs,
                            leat_pb_step_stats_t* stats, leat_string_builder_t* out_bytes) {
  leat_pb_cost_graph_def_t cost_graph = {0};
  if (!options->measured) return leat_run_metadata_encode(stats, NULL, out_bytes);
  LEAT_RETURN_IF_ERROR(leat_capi_cost_graph(costs, options->measured, &options->collector->arena,
                                            &cost_graph));
  return leat_run_metadata_encode(stats, &cost_graph, out_bytes);
}

// Adds what was collected to the session's costs, and to the RunMetadata where |out_bytes| is
// given.
static leat_status_t tell_statistics(leat_capi_run_options_t* options, TF_Session* session,
                                     leat_string_builder_t* out_bytes) {
  leat_costs_t* costs = leat_session_costs(session->session);
  leat_pb_step_stats_t stats;
  LEAT_RETURN_IF_ERROR(leat_step_stats_describe(
      options->collector, out_bytes ? print_inputs : NULL, session, &stats));
  if (options->measured) LEAT_RETURN_IF_ERROR(leat_costs_add_step(costs, &stats));
  if (options->is_profiled) {
    options->is_profiled = false;
    LEAT_RETURN_IF_ERROR(leat_plugin_profilers_collect(&options->collector->arena, &stats));
  }
  return out_bytes ? encode(options, costs, &stats, out_bytes) : leat_ok_status();
}

static leat_status_t tell(leat_capi_run_options_t* options, TF_Session* session,
                          const leat_run_t* run, TF_Buffer* run_metadata) {
  leat_string_builder_t bytes;
  leat_status_t status = leat_ok_status();
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  if (options->collector) status = tell_statistics(options, session, run_metadata ? &bytes : NULL);
  if (!status && options->shows_partitions && leat_session_is_remote(session->session)) {
    leat_string_builder_append(&bytes, leat_string_builder_view(&options->graphs));
  } else if (!status && options->shows_partitions) {
    status = leat_session_describe_graphs(session->session, run, SIZE_MAX, &bytes);
  }
  if (!status && run_metadata) return leat_capi_buffer_take(&bytes, run_metadata);
  leat_string_builder_deinitialize(&bytes);
  return status;
}

leat_status_t leat_capi_run_options_end(leat_capi_run_options_t* options, TF_Session* session,
                                        const leat_run_t* run, leat_status_t status,
                                        TF_Buffer* run_metadata) {
  if (!options->collector && !options->shows_partitions && !run_metadata) return status;
  if (options->is_profiled) leat_plugin_profilers_stop();
  if (status) {  // the times of a failed step mean nothing, and it may not have been partitioned
    options->measured = NULL;
    options->shows_partitions = false;
  }
  // A step that collected nothing has an empty RunMetadata, which is a message all the same.
  status = leat_status_join(status, tell(options, session, run, run_metadata));
  if (options->is_profiled) {  // telling failed before what they saw was collected
    leat_pb_step_stats_t unused = {.dev_stats = {NULL, 0}};
    status = leat_status_join(
        status, leat_plugin_profilers_collect(&options->collector->arena, &unused));
  }
  if (options->collector) leat_step_collector_deinitialize(options->collector);
  leat_string_builder_deinitialize(&options->graphs);
  return status;
}
