// Compiles signatures: inlines calls, runs the passes of src/optimize, places nodes on devices,
// cuts the graph into a partition for each device, and registers the partitions with the worker.
// The session calls it for the first step of each signature.
//
//   pruned graph ─▶ inlined ─▶ optimized ─▶ placed ─▶ optimized ─▶ cut ─▶ optimized ─▶ registered
//
// Where the session gives the values of a step with it, the inlined graph is specialized: shapes
// are inferred again from those of the feeds, so that the passes know sizes that the client left
// open, a batch for example.
//
// There are passes for three stages: of the whole graph, of the graph with its devices known, and
// of the partitions with the transfers that the cut has added. The graph of a rewrite changes hands
// at each stage, and leat_master_compile takes it over even where it fails.
//
// Who looks on sees the graph after each stage. A session that places by what it measures would get
// another plan where it compiled once more for that, so its compilations are kept, and shown again
// from there (compile_record.h).
//
// In a cluster, a graph that lies on several tasks is first cut by task. The partitions of other
// tasks go to their workers as they are, which compile them in the same way; that of the master's
// own goes on through the stages above.
//
// The feeds and fetches of a step belong to the whole graph, while each partition has only some of
// them. The partitioner gives a list of indices for each partition, by which step.c distributes
// feeds and collects fetches; with a single partition the caller's arrays are passed on as they
// are. What has been compiled is immutable, so any number of steps may run it at once.
#include "master/compiled.h"

#include "base/clock.h"
#include "base/sync.h"
#include "function/function.h"
#include "graph/inference/inference.h"
#include "master/answer.h"
#include "master/collectives.h"
#include "master/partitioner.h"
#include "optimize/graph_plugin.h"

leat_status_t leat_master_prune(const leat_graph_t* graph, const leat_step_signature_t* signature,
                                leat_rewrite_t* out_rewrite) {
  return leat_prune(graph, signature->feeds, signature->feed_count, signature->fetches,
                    signature->fetch_count, signature->targets, signature->target_count,
                    out_rewrite);
}

// ---- Compiling ----------------------------------------------------------------------------------

// Copies the graph of a partition for those who look on (leat_compiled_partition), because the
// worker takes the graph itself over.
static leat_status_t keep_copy(const leat_partition_t* partition, leat_rewrite_t* out_kept) {
  const leat_rewrite_t whole = {.graph = partition->graph};
  return leat_rewrite_copy(&whole, out_kept);
}

// Gives the partition to the worker and waits for its answer. The graph belongs to the worker from
// the call on, even if it refuses.
static leat_status_t register_partition(const leat_master_options_t* options,
                                        leat_partition_t* partition, uint32_t transfer_count,
                                        int feed_count, bool has_flow,
                                        leat_compiled_partition_t* out) {
  LEAT_DCHECK(partition->graph && !out->registered);
  const leat_placement_device_t* device = &options->placement.devices[partition->device];
  leat_register_request_t request = {
      .graph = partition->graph,
      .device = device->name,
      .feed_count = feed_count,
      .fetches = partition->fetches,
      .fetch_count = partition->fetch_count,
      .executor = options->executor,
      .inter_op_threads = options->inter_op_threads,
      .deterministic = options->deterministic,
      .functions = options->functions,
      .receives_dead = has_flow,
      .transfer_count = transfer_count,
      .dead_fetch_code = options->dead_fetch_code,
  };
  out->device = request.device;
  out->worker = options->workers[device->task];
  if (options->keeps_partitions) {
    LEAT_RETURN_IF_ERROR(keep_copy(partition, &out->kept));
    if (device->task == 0) leat_name_device(out->kept.graph, out->device);
  }
  partition->graph = NULL;  // taken over
  leat_answer_t answer;
  leat_answer_initialize(&answer);
  out->worker->vtable->register_graph(out->worker, &request, &out->handle, leat_answer_give,
                                      &answer);
  leat_status_t status = leat_answer_wait(&answer);
  out->registered = !status;
  return status;
}

static leat_status_t copy_indices(leat_allocator_t* allocator, const int* indices, int count,
                                  int** out_indices) {
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(allocator, (size_t)(count ? count : 1), out_indices));
  for (int i = 0; i < count; ++i) (*out_indices)[i] = indices[i];
  return leat_ok_status();
}

// Notes the worker of a new partition.
static void add_worker(leat_compiled_t* compiled, leat_worker_t* worker) {
  for (int i = 0; i < compiled->worker_count; ++i) {
    if (compiled->workers[i] == worker) return;
  }
  compiled->workers[compiled->worker_count++] = worker;
}

// Registers the partitions of the master's own devices, and |remote|, those of other tasks, each
// with its worker. With a single one of the former, the step's feeds and fetches are passed on
// without lists of indices.
static leat_status_t register_partitions(const leat_master_options_t* options,
                                         leat_partitions_t* partitions, leat_partitions_t* remote,
                                         leat_compiled_t* compiled) {
  size_t room = (size_t)(partitions->count + remote->count);
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(options->allocator, room, &compiled->partitions));
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(options->allocator, room, &compiled->workers));
  for (int i = 0; i < remote->count; ++i) {
    leat_compiled_partition_t* out = &compiled->partitions[compiled->partition_count++];
    LEAT_RETURN_IF_ERROR(register_partition(options, &remote->items[i], 0, 0, true, out));
    add_worker(compiled, out->worker);
  }
  bool several = partitions->count > 1;
  for (int i = 0; i < partitions->count; ++i) {
    leat_partition_t* partition = &partitions->items[i];
    leat_compiled_partition_t* out = &compiled->partitions[compiled->partition_count++];
    out->feed_count = several ? partition->feed_count : compiled->feed_count;
    out->fetch_count = partition->fetch_count;
    if (several) {
      LEAT_RETURN_IF_ERROR(copy_indices(options->allocator, partition->feed_indices,
                                        partition->feed_count, &out->feed_indices));
      LEAT_RETURN_IF_ERROR(copy_indices(options->allocator, partition->fetch_indices,
                                        partition->fetch_count, &out->fetch_indices));
    }
    LEAT_RETURN_IF_ERROR(register_partition(options, partition, partitions->transfer_count,
                                            out->feed_count, compiled->has_flow, out));
    add_worker(compiled, out->worker);
  }
  return leat_ok_status();
}

// Tells the passes which kernel a node would get (leat_pass_options_t.find_kernel). NULL where
// there is none, or no memory to find it; a pass then does not make the node.
static const leat_kernel_row_t* find_kernel(const void* data, const leat_op_t* op,
                                            const leat_attr_t* attrs, int attr_count,
                                            int32_t device) {
  const leat_placer_options_t* placement = data;
  const leat_kernel_row_t* row;
  leat_status_free(leat_kernel_registry_probe(placement->kernels, op, attrs, attr_count,
                                              placement->devices[device].type, &row));
  return row;
}

// Tells the passes what devices are called (leat_pass_options_t.device_name).
static leat_string_view_t device_name(const void* data, int32_t device) {
  const leat_placer_options_t* placement = data;
  return device >= 0 && device < placement->device_count ? placement->devices[device].name
                                                         : LEAT_SV("");
}

// Passes that a plug-in turns off run on no graph of a session that has devices of its type.
leat_pass_options_t leat_master_pass_options(const leat_master_options_t* options) {
  leat_pass_options_t passes = options->passes;
  for (int i = 0; leat_graph_plugins() && i < options->placement.device_count; ++i) {
    passes.passes &= ~leat_graph_plugins_off(options->placement.devices[i].type);
  }
  passes.device_name = device_name;
  passes.find_kernel = find_kernel;
  passes.find_kernel_data = &options->placement;
  return passes;
}

// A stage of compiling, for who looks on.
typedef struct stage_s {
  const leat_compile_view_t* view;  // NULL: nobody does
  const leat_placement_device_t* devices;  // NULL before nodes are placed
  const leat_partitions_t* remote;  // what other tasks get, once the graph is cut by task; or NULL
  leat_compile_record_t* record;      // where the compilation is kept; NULL: it is not
  const leat_compile_record_t* past;  // the compilation to show again; NULL: this is a new one
  leat_pass_observer_t observer;
} stage_t;

// Shows |graphs| together with those of other tasks, to which nothing happens any more.
static leat_status_t show_with_remote(const stage_t* stage, const char* name, const char* doc,
                                      const leat_graph_t* const* graphs, int count) {
  const int total = count + stage->remote->count;
  const leat_graph_t** all;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), (size_t)total + 1, &all));
  for (int i = 0; i < count; ++i) all[i] = graphs[i];
  for (int i = count; i < total; ++i) all[i] = stage->remote->items[i - count].graph;
  leat_status_t status =
      stage->view->on_stage(stage->view->data, name, doc, stage->devices, all, total);
  leat_allocator_free(leat_allocator_system(), all);
  return status;
}

static leat_status_t show(const stage_t* stage, const char* name, const char* doc,
                          const leat_graph_t* const* graphs, int count) {
  const leat_compile_view_t* view = stage->view;
  if (LEAT_LIKELY(!view || !view->on_stage)) return leat_ok_status();
  if (stage->remote) return show_with_remote(stage, name, doc, graphs, count);
  return view->on_stage(view->data, name, doc, stage->devices, graphs, count);
}

static leat_status_t show_graph(const stage_t* stage, const char* name, const char* doc,
                                const leat_graph_t* graph) {
  return show(stage, name, doc, &graph, 1);
}

static leat_status_t show_after_pass(void* data, const leat_pass_t* pass,
                                     const leat_graph_t* const* graphs, int count) {
  return show(data, pass->name, pass->doc, graphs, count);
}

static leat_status_t optimize(const leat_master_options_t* options, leat_rewrite_t* rewrite,
                              leat_pass_stage_t kind, const stage_t* stage) {
  leat_pass_options_t passes = leat_master_pass_options(options);
  if (stage->view) passes.observer = &stage->observer;
  return options->optimize ? leat_passes_run(rewrite, &passes, kind) : leat_ok_status();
}

// Calls become the bodies of what they call; what these do besides is a target, as the call was
// part of the step.
static leat_status_t inline_calls(leat_rewrite_t* rewrite) {
  leat_inlined_t inlined;
  LEAT_RETURN_IF_ERROR(leat_function_inline(rewrite->graph, &inlined));
  if (!inlined.graph) return leat_ok_status();
  leat_allocator_t* allocator = leat_allocator_system();
  size_t count = (size_t)(rewrite->target_count + inlined.effect_count);
  int32_t* targets;
  leat_status_t status = LEAT_ALLOCATE(allocator, count + 1, &targets);
  int kept = 0;
  for (int i = 0; !status && i < rewrite->target_count; ++i) {
    int32_t target = inlined.map.nodes[rewrite->targets[i]];
    LEAT_DCHECK((size_t)target + 1 <= inlined.graph->node_count);
    if (target >= 0) targets[kept++] = target;
  }
  for (int i = 0; !status && i < inlined.effect_count; ++i) targets[kept++] = inlined.effects[i];
  for (int i = 0; !status && i < rewrite->fetch_count; ++i) {
    rewrite->fetches[i] = leat_node_map_output(&inlined.map, rewrite->fetches[i]);
    LEAT_DCHECK(leat_output_exists(rewrite->fetches[i]));
  }
  leat_rewrite_t pruned;
  if (!status) {
    status = leat_prune(inlined.graph, NULL, 0, rewrite->fetches, rewrite->fetch_count, targets,
                        kept, &pruned);
    leat_allocator_free(allocator, targets);
  }
  leat_graph_free(inlined.graph);
  if (status) return status;
  leat_rewrite_deinitialize(rewrite);
  *rewrite = pruned;
  return leat_ok_status();
}

// Names the devices of all nodes, for who looks on: transfers are not placed.
static void name_devices(const leat_master_options_t* options,
                         const leat_partitions_t* partitions) {
  for (int i = 0; i < partitions->count; ++i) {
    const leat_placement_device_t* device =
        &options->placement.devices[partitions->items[i].device];
    if (device->task == 0) leat_name_device(partitions->items[i].graph, device->name);
  }
}

// Runs the passes that look at all partitions at once, which a single partition does not need. The
// cut that made them is shown as stage |name|.
static leat_status_t optimize_partitions(const leat_master_options_t* options,
                                         leat_partitions_t* partitions, const stage_t* stage,
                                         const char* name, const char* doc) {
  const int count = partitions->count;
  const bool runs = count > 1 && options->optimize;
  leat_graph_t** graphs;
  if (!runs && !stage->view) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(options->allocator, (size_t)count + 1, &graphs));
  for (int i = 0; i < count; ++i) graphs[i] = partitions->items[i].graph;
  if (stage->view) name_devices(options, partitions);
  leat_status_t status = show(stage, name, doc, (const leat_graph_t* const*)graphs, count);
  leat_pass_options_t passes = options->passes;
  if (stage->view) passes.observer = &stage->observer;
  if (!status && runs) status = leat_passes_run_partitions(graphs, count, &passes, NULL);
  leat_allocator_free(options->allocator, graphs);
  return status;
}

// Gives each argument of the graph the shape of the value that is fed to it, unless that
// contradicts what the client said of the shape: the step will then show whether that matters.
static leat_status_t shape_arguments(leat_graph_t* graph, const leat_tensor_t* feeds) {
  leat_arena_t* arena = leat_graph_arena(graph);
  for (size_t i = 0; i < graph->node_count; ++i) {
    leat_node_t* node = &graph->nodes[i];
    if (!(node->op->flags & LEAT_OP_ARGUMENT)) continue;
    const int64_t index = leat_node_attr_int(node, "index", 0);
    leat_partial_shape_t shape, *shapes;
    leat_status_t status =
        leat_partial_shape_merge(node->output_shapes[0],
                                 leat_partial_shape_of(&feeds[index].shape), arena, &shape);
    if (leat_status_code(status) == LEAT_INVALID_ARGUMENT) {
      leat_status_free(status);
      continue;
    }
    LEAT_RETURN_IF_ERROR(status);
    LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, 1, &shapes));  // the old array may belong to a copy too
    *shapes = shape;
    node->output_shapes = shapes;
  }
  return leat_ok_status();
}

// Makes the graph one for feeds of the shapes of |feeds|: infers all shapes that follow from these.
static leat_status_t specialize(leat_graph_t* graph, const leat_tensor_t* feeds) {
  int32_t* order;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(graph->allocator, graph->node_count + 1, &order));
  leat_status_t status = shape_arguments(graph, feeds);
  if (!status) status = leat_graph_sort(graph, order);
  if (!status) {
    status = leat_graph_narrow_shapes(graph, order, graph->node_count, LEAT_OP_ARGUMENT);
  }
  leat_allocator_free(graph->allocator, order);
  return status;
}

// Makes |graph| (taken, even on failure) the graph of |rewrite|, whose fetches are |fetches|. Its
// targets are the nodes that nobody reads, which keeps all of its nodes.
static leat_status_t replace_graph(leat_rewrite_t* rewrite, leat_graph_t* graph,
                                   const leat_output_t* fetches) {
  leat_allocator_t* allocator = leat_allocator_system();
  for (int i = 0; i < rewrite->fetch_count; ++i) rewrite->fetches[i] = fetches[i];
  leat_graph_free(rewrite->graph);
  leat_allocator_free(allocator, rewrite->targets);
  rewrite->graph = graph;
  rewrite->targets = NULL;
  rewrite->target_count = 0;
  if (!graph) return leat_ok_status();
  return leat_graph_find_sinks(graph, allocator, &rewrite->targets, &rewrite->target_count);
}

// Places nodes that a pass has added to a task's graph on the devices of their inputs.
static void settle_devices(leat_graph_t* graph, const leat_placer_options_t* placement) {
  for (size_t i = 0; i < graph->node_count; ++i) {
    leat_node_t* node = &graph->nodes[i];
    if (node->assigned_device >= 0 || node->input_count == 0) continue;
    node->assigned_device = graph->nodes[node->inputs[0].node].assigned_device;
    if (node->assigned_device >= 0) node->device = placement->devices[node->assigned_device].name;
  }
}

// A pass that compresses transfers puts a Cast behind a Recv, and gives it to the Recv's readers. A
// fetch of the Recv is one more reader, of which the pass does not know.
static void settle_fetches(const leat_rewrite_t* rewrite, leat_partition_t* own) {
  for (int i = 0; i < own->fetch_count; ++i) {
    leat_output_t* fetch = &own->fetches[i];
    const leat_dtype_t wanted =
        leat_dtype_base(leat_graph_output_type(rewrite->graph, rewrite->fetches[i]));
    if (leat_dtype_base(leat_graph_output_type(own->graph, *fetch)) == wanted) continue;
    for (size_t n = 0; n < own->graph->node_count; ++n) {
      const leat_node_t* node = &own->graph->nodes[n];
      if (node->input_count != 1 || !leat_output_equal(node->inputs[0], *fetch) ||
          node->output_types[0] != wanted) {
        continue;
      }
      *fetch = (leat_output_t){(int32_t)n, 0};
      break;
    }
  }
}

// Cuts a placed graph that lies on several tasks. What is on the master's own stays in |rewrite|,
// where the graph is NULL if there is none; the rest becomes |out_remote|, a partition a task.
static leat_status_t cut_by_task(const leat_master_options_t* options, leat_rewrite_t* rewrite,
                                 const stage_t* stage, leat_partitions_t* out_remote) {
  leat_graph_t* own = NULL;
  const leat_output_t* fetches = NULL;
  LEAT_RETURN_IF_ERROR(leat_partition_by_task(rewrite->graph, rewrite->fetches,
                                              rewrite->fetch_count, &options->placement,
                                              out_remote));
  // Between tasks every float counts, however small, as in TensorFlow.
  leat_master_options_t between = *options;
  between.passes.compress_limit_bytes = 1;
  LEAT_RETURN_IF_ERROR(optimize_partitions(&between, out_remote, stage, "partition_tasks",
                                           "cuts the graph into one for each task, with transfers "
                                           "between them"));
  for (int i = 0; i < out_remote->count; ++i) {
    settle_devices(out_remote->items[i].graph, &options->placement);
  }
  leat_partition_t* first = &out_remote->items[0];
  const bool has_own = options->placement.devices[first->device].task == 0;
  if (has_own) {
    settle_fetches(rewrite, first);
    own = first->graph;
    fetches = first->fetches;
    first->graph = NULL;
  }
  leat_status_t status = replace_graph(rewrite, own, fetches);
  if (has_own) leat_partitions_remove_first(out_remote);
  return status;
}

// Notes what numbered steps have to know of the collectives in the placed graph.
static leat_status_t note_collectives(const leat_master_options_t* options,
                                      const leat_graph_t* graph, leat_compiled_t* compiled) {
  leat_graph_collectives_t found;
  LEAT_RETURN_IF_ERROR(leat_graph_collectives_find(graph, &options->placement, &found));
  compiled->graph_key = found.graph_key;
  if (found.has_any) compiled->keeps_state = true;
  if (found.are_own) compiled->keeps_collectives = options->workers[0];
  return leat_ok_status();
}

// Takes a pruned graph up to where it is placed.
static leat_status_t prepare(const leat_master_options_t* options, leat_rewrite_t* rewrite,
                             const leat_tensor_t* feeds, const stage_t* stage) {
  LEAT_RETURN_IF_ERROR(show_graph(stage, "prune", "leaves out what the step does not need",
                                  rewrite->graph));
  const leat_graph_t* called = rewrite->graph;
  LEAT_RETURN_IF_ERROR(inline_calls(rewrite));
  if (rewrite->graph != called) {
    LEAT_RETURN_IF_ERROR(show_graph(stage, "inline", "puts the nodes of functions in the places "
                                    "of their calls", rewrite->graph));
  }
  if (feeds) LEAT_RETURN_IF_ERROR(specialize(rewrite->graph, feeds));
  return optimize(options, rewrite, LEAT_PASS_WHOLE, stage);
}

// Makes the graph what it was when the compilation that is shown again had placed it, and tells the
// reasons of then.
static leat_status_t place_as_before(leat_rewrite_t* rewrite, const stage_t* stage) {
  const leat_compile_view_t* view = stage->view;
  leat_rewrite_t placed;
  LEAT_DCHECK(stage->past->placed.graph && !stage->record);
  LEAT_RETURN_IF_ERROR(leat_rewrite_copy(&stage->past->placed, &placed));
  leat_rewrite_deinitialize(rewrite);
  *rewrite = placed;
  if (!view->on_placed) return leat_ok_status();
  return view->on_placed(view->data, rewrite->graph, &stage->past->placement);
}

static leat_status_t place(const leat_master_options_t* options, leat_rewrite_t* rewrite,
                           stage_t* stage) {
  if (stage->record) {
    return leat_compile_record_place(stage->record, rewrite, &options->placement);
  }
  if (LEAT_LIKELY(!stage->view)) return leat_place(rewrite->graph, &options->placement);
  LEAT_RETURN_IF_ERROR(
      stage->past ? place_as_before(rewrite, stage)
                  : leat_place_and_explain(rewrite->graph, &options->placement, stage->view));
  stage->devices = options->placement.devices;
  return show_graph(stage, "place", "gives each node a device", rewrite->graph);
}

// Takes a pruned graph through all stages up to the partitions. |compiled|, unless it is NULL, is
// told what kinds of nodes the graph has; |stage| says who looks on. |out_remote| gets the
// partitions of other tasks.
static leat_status_t cut(const leat_master_options_t* options, leat_rewrite_t* rewrite,
                         const leat_tensor_t* feeds, leat_compiled_t* compiled, stage_t* stage,
                         leat_partitions_t* out_remote, leat_partitions_t* out_partitions) {
  const uint32_t traces = LEAT_OP_STEP_RESOURCE | LEAT_OP_CALLS;
  stage->observer = (leat_pass_observer_t){.data = stage, .on_graphs = show_after_pass};
  if (stage->record) LEAT_RETURN_IF_ERROR(leat_compile_record_begin(rewrite, stage->record));
  LEAT_RETURN_IF_ERROR(prepare(options, rewrite, feeds, stage));
  for (size_t i = 0; compiled && i < rewrite->graph->node_count; ++i) {
    uint32_t flags = rewrite->graph->nodes[i].op->flags;
    if (flags & traces) compiled->keeps_state = true;
    // What a Recv of the graph itself brings may be dead.
    if (flags & (LEAT_OP_CONTROL_FLOW | LEAT_OP_RECV)) compiled->has_flow = true;
  }
  LEAT_RETURN_IF_ERROR(place(options, rewrite, stage));
  if (compiled && options->numbers) {
    LEAT_RETURN_IF_ERROR(note_collectives(options, rewrite->graph, compiled));
  }
  if (options->worker_count > 1 && leat_spans_tasks(rewrite->graph, &options->placement)) {
    if (compiled) compiled->spans_tasks = true;
    LEAT_RETURN_IF_ERROR(cut_by_task(options, rewrite, stage, out_remote));
    if (!rewrite->graph) return leat_ok_status();
    stage->remote = out_remote;
  }
  LEAT_RETURN_IF_ERROR(optimize(options, rewrite, LEAT_PASS_PLACED, stage));
  LEAT_RETURN_IF_ERROR(leat_partition(&rewrite->graph, rewrite->fetches, rewrite->fetch_count,
                                      &options->placement, out_partitions));
  stage->devices = NULL;  // the graphs of the devices name them
  leat_status_t status =
      optimize_partitions(options, out_partitions, stage, "partition",
                          "cuts the graph into one for each device, with transfers between them");
  if (status) leat_partitions_free(out_partitions);
  return status;
}

static leat_status_t compile(const leat_master_options_t* options, leat_rewrite_t* rewrite,
                             const leat_tensor_t* feeds, leat_compiled_t* compiled) {
  leat_partitions_t remote = {0}, partitions = {0};
  stage_t stage = {.record = options->keeps_partitions ? &compiled->record : NULL};
  leat_status_t status = cut(options, rewrite, feeds, compiled, &stage, &remote, &partitions);
  if (!status) status = register_partitions(options, &partitions, &remote, compiled);
  leat_partitions_free(&partitions);
  leat_partitions_free(&remote);
  return status;
}

leat_status_t leat_master_show_partitions(const leat_master_options_t* options,
                                          leat_rewrite_t* rewrite, const leat_tensor_t* feeds,
                                          const leat_compile_view_t* view,
                                          leat_graph_view_fn_t see, void* data) {
  leat_partitions_t remote = {0}, partitions = {0};
  stage_t stage = {.view = view};
  leat_status_t status = cut(options, rewrite, feeds, NULL, &stage, &remote, &partitions);
  leat_rewrite_deinitialize(rewrite);
  if (!status) status = leat_show_partitions(options, &partitions, true, see, data);
  if (!status) status = leat_show_partitions(options, &remote, true, see, data);
  leat_partitions_free(&partitions);
  leat_partitions_free(&remote);
  return status;
}

leat_status_t leat_compiled_show_stages(const leat_compiled_t* compiled,
                                        const leat_master_options_t* options,
                                        const leat_compile_view_t* view) {
  leat_partitions_t remote = {0}, partitions = {0};
  leat_rewrite_t rewrite;
  stage_t stage = {.view = view, .past = &compiled->record};
  LEAT_DCHECK(compiled->record.placed.graph);
  LEAT_RETURN_IF_ERROR(leat_rewrite_copy(&compiled->record.source, &rewrite));
  leat_status_t status = cut(options, &rewrite, NULL, NULL, &stage, &remote, &partitions);
  leat_rewrite_deinitialize(&rewrite);
  leat_partitions_free(&partitions);
  leat_partitions_free(&remote);
  return status;
}

leat_status_t leat_master_compile(const leat_master_options_t* options, leat_rewrite_t* rewrite,
                                  int feed_count, const leat_tensor_t* feeds,
                                  leat_compiled_t** out_compiled) {
  leat_compiled_t* compiled;
  leat_status_t status = LEAT_ALLOCATE(options->allocator, 1, &compiled);
  if (!status) {
    compiled->allocator = options->allocator;
    compiled->feed_count = feed_count;
    compiled->fetch_count = rewrite->fetch_count;
    status = compile(options, rewrite, feeds, compiled);
    if (status) leat_compiled_free(compiled);
  }
  leat_rewrite_deinitialize(rewrite);
  if (!status) *out_compiled = compiled;
  return status;
}

void leat_compiled_free(leat_compiled_t* compiled) {
  if (!compiled) return;
  for (int i = 0; i < compiled->partition_count; ++i) {
    leat_compiled_partition_t* partition = &compiled->partitions[i];
    if (partition->registered) {
      partition->worker->vtable->deregister_graph(partition->worker, partition->handle);
    }
    if (partition->kept.graph) leat_rewrite_deinitialize(&partition->kept);
    leat_allocator_free(compiled->allocator, partition->feed_indices);
    leat_allocator_free(compiled->allocator, partition->fetch_indices);
  }
  leat_compile_record_deinitialize(&compiled->record);
  leat_allocator_free(compiled->allocator, compiled->partitions);
  leat_allocator_free(compiled->allocator, compiled->workers);
  leat_allocator_free(compiled->allocator, compiled);
}

int leat_compiled_partition_count(const leat_compiled_t* compiled) {
  bool kept = compiled->partition_count > 0 && compiled->partitions[0].kept.graph;
  return kept ? compiled->partition_count : 0;
}

const leat_graph_t* leat_compiled_partition(const leat_compiled_t* compiled, int index,
                                            leat_string_view_t* out_device) {
  *out_device = compiled->partitions[index].device;
  return compiled->partitions[index].kept.graph;
}
