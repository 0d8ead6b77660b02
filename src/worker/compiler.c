// The half of compiling a plan that both executors share, and the choice between them.
//
// Nodes are taken in an order in which every input comes first. Each gets its output slots;
// constants and arguments get nothing else, every other node becomes a record. An input that is a
// reference where the op wants a value is read into a slot of its own before the record runs.
//
// Which executor runs the plan is decided here, once, so that only its tables are made. A sequence
// costs two nanoseconds a record and runs loops as jumps; it is taken wherever the graph can be put
// in a sequence, unless several threads would shorten the step: that is judged by the cost model,
// as the ratio of the step's work to its critical path.
#include "worker/compiler.h"

#include <string.h>

#include "base/checked.h"
#include "graph/cost/cost.h"

// A step with less work than this has ended before another thread has come to help.
#define PARALLEL_MINIMUM_WORK_NS INT64_C(200000)
// Work over critical path from which on branches are worth running side by side.
#define PARALLEL_MINIMUM_RATIO 1.25
// A record that takes longer is worth being handed to another thread.
#define EXPENSIVE_NS INT64_C(20000)

static bool is_argument(const leat_node_t* node) { return node->op->flags & LEAT_OP_ARGUMENT; }

// ---- References ---------------------------------------------------------------------------------

// Is the op's argument at flattened input |index| a reference?
static bool takes_reference(const leat_node_t* node, int index) {
  if (!node->op->has_ref_inputs) return false;
  for (int a = 0; a < node->op->input_count; ++a) {
    int begin, count = leat_node_input_argument(node, a, &begin);
    if (index >= begin && index < begin + count) return node->op->inputs[a].is_ref;
  }
  return false;
}

// The reference from which input |index| is read when the record runs, or none. It is the input
// itself, or what an Identity in front of it reads: TensorFlow's Identity of a variable gives the
// very bytes of the variable, so that a reader that runs after an update sees the update. Here such
// a reader reads the variable again.
static leat_output_t reference_behind(const leat_graph_t* graph, const leat_node_t* node,
                                      int index) {
  leat_output_t source = node->inputs[index];
  LEAT_DCHECK(index < node->input_count);
  if (leat_dtype_is_ref(leat_graph_output_type(graph, source))) {
    return takes_reference(node, index) ? LEAT_OUTPUT_NONE : source;
  }
  const leat_node_t* from = &graph->nodes[source.node];
  if (!(from->op->flags & LEAT_OP_PASS_THROUGH) || from->input_count == 0 || source.index != 0 ||
      (node->op->flags & LEAT_OP_CONTROL_FLOW)) {
    return LEAT_OUTPUT_NONE;
  }
  leat_output_t behind = from->inputs[0];
  return leat_dtype_is_ref(leat_graph_output_type(graph, behind)) ? behind : LEAT_OUTPUT_NONE;
}

static uint32_t count_reads(const leat_graph_t* graph, const leat_node_t* node) {
  uint32_t count = 0;
  for (int k = 0; k < node->input_count; ++k) {
    count += leat_output_exists(reference_behind(graph, node, k));
  }
  return count;
}

// ---- Slots and records --------------------------------------------------------------------------

// Constants take the first slots of frame 0, so that emptying an instance leaves them by number.
static leat_status_t number_constants(leat_plan_compiler_t* c) {
  leat_plan_t* plan = c->plan;
  for (size_t i = 0; i < c->graph->node_count; ++i) {
    const leat_node_t* node = &c->graph->nodes[i];
    if (leat_plan_has_constant(node)) c->first_slot[i] = plan->constant_count++;
  }
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&c->plan->arena, plan->constant_count + 1, &plan->constants));
  for (size_t i = 0; i < c->graph->node_count; ++i) {
    const leat_node_t* node = &c->graph->nodes[i];
    if (!leat_plan_has_constant(node)) continue;
    const leat_tensor_t* constant = leat_node_constant(node);
    if (!constant || constant->dtype != node->output_types[0]) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Compile failed for node '%.*s' (%.*s): attribute value is no "
                              "tensor of the node's type, must be one",
                              LEAT_SV_ARG(node->name), LEAT_SV_ARG(node->op->name));
    }
    LEAT_DCHECK(c->first_slot[i] < plan->constant_count);
    plan->constants[c->first_slot[i]] = constant;
  }
  c->frame_slots[0] = plan->constant_count;
  return leat_ok_status();
}

// Outputs take slots of the frame that they belong to; records are numbered in order.
static leat_status_t number_records(leat_plan_compiler_t* c) {
  leat_plan_t* plan = c->plan;
  uint32_t read_count = 0;
  for (size_t i = 0; i < c->graph->node_count; ++i) {
    int32_t index = c->order[i];
    const leat_node_t* node = &c->graph->nodes[index];
    c->record_of[index] = -1;
    if (leat_plan_has_constant(node)) continue;
    LEAT_DCHECK(c->frames.outputs_in[index] >= 0 && c->frames.outputs_in[index] < c->frames.count);
    uint32_t* frame_slots = &c->frame_slots[c->frames.outputs_in[index]];
    c->first_slot[index] = *frame_slots;
    *frame_slots += (uint32_t)node->output_count;
    if (!is_argument(node)) c->record_of[index] = plan->record_count++;
    if (node->op->flags & (LEAT_OP_CONTROL_FLOW | LEAT_OP_CONTROL_TRIGGER)) c->framed = true;
    if (c->request->receives_dead && (node->op->flags & LEAT_OP_RECV)) c->framed = true;
    read_count += count_reads(c->graph, node);
  }
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate_aligned(
      plan->allocator, 64, (plan->record_count + 1) * sizeof(leat_record_t),
      (void**)&plan->records));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&c->plan->arena, plan->record_count + 1, &plan->record_nodes));
  if (read_count == 0) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&c->plan->arena, read_count + 1, &plan->reads));
  return LEAT_NEW(&c->plan->arena, plan->record_count + 2, &plan->first_read);
}

// Finds the slot of each feed, which is the output of the argument node with its index. A feed
// without such a node has no slot.
static leat_status_t number_feeds(leat_plan_compiler_t* c) {
  leat_plan_t* plan = c->plan;
  plan->feed_count = c->request->feed_count;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&c->plan->arena, (size_t)plan->feed_count + 1, &plan->feed_slots));
  for (int i = 0; i < plan->feed_count; ++i) plan->feed_slots[i] = UINT32_MAX;
  for (size_t i = 0; i < c->graph->node_count; ++i) {
    const leat_node_t* node = &c->graph->nodes[i];
    if (!is_argument(node)) continue;
    int64_t index = leat_node_attr_int(node, "index", -1);
    if (index < 0 || index >= plan->feed_count) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Compile failed for node '%.*s' (%.*s): index is %lld, must be in "
                              "[0, %d)",
                              LEAT_SV_ARG(node->name), LEAT_SV_ARG(node->op->name),
                              (long long)index, plan->feed_count);
    }
    plan->feed_slots[index] = c->first_slot[i];
  }
  return leat_ok_status();
}

// The flags of a record that say which part its op plays in control flow.
static uint32_t control_flags(const leat_node_t* node) {
  static const struct {
    uint32_t op;
    uint32_t record;
  } kFlags[] = {
      {LEAT_OP_SWITCH, LEAT_RECORD_SWITCH},
      {LEAT_OP_MERGE, LEAT_RECORD_MERGE},
      {LEAT_OP_ENTER, LEAT_RECORD_ENTER},
      {LEAT_OP_EXIT, LEAT_RECORD_EXIT},
      {LEAT_OP_NEXT_ITERATION, LEAT_RECORD_NEXT_ITERATION},
      {LEAT_OP_SEND, LEAT_RECORD_RUNS_DEAD},
      {LEAT_OP_CONTROL_TRIGGER, LEAT_RECORD_NEVER_DEAD},
  };
  uint32_t flags = 0;
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kFlags); ++i) {
    if (node->op->flags & kFlags[i].op) flags |= kFlags[i].record;
  }
  if ((flags & LEAT_RECORD_ENTER) && leat_node_attr_bool(node, "is_constant", false)) {
    flags |= LEAT_RECORD_INVARIANT;
  }
  return flags;
}

// Input slots of one record, and the references among them that are to be read.
static leat_status_t wire_record(leat_plan_compiler_t* c, uint32_t index, const leat_node_t* node,
                                 uint32_t* inout_read, uint8_t* out_input_types) {
  leat_plan_t* plan = c->plan;
  leat_record_t* record = &plan->records[index];
  uint32_t* frame_slots = &c->frame_slots[leat_plan_compiler_frame(c, index)];
  uint32_t* inputs;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&c->plan->arena, (size_t)node->input_count + 1, &inputs));
  if (plan->first_read) plan->first_read[index] = *inout_read;
  for (int k = 0; k < node->input_count; ++k) {
    leat_output_t reference = reference_behind(c->graph, node, k);
    leat_output_t source = leat_output_exists(reference) ? reference : node->inputs[k];
    int type = leat_graph_output_type(c->graph, source);
    inputs[k] = c->first_slot[source.node] + (uint32_t)source.index;
    out_input_types[k] = (uint8_t)type;
    LEAT_DCHECK(inputs[k] < *frame_slots);
    if (leat_dtype_is_ref(type)) record->flags |= LEAT_RECORD_HAS_REFS;
    if (!leat_output_exists(reference)) continue;
    uint32_t target = (*frame_slots)++;
    plan->reads[(*inout_read)++] = (leat_reference_read_t){inputs[k], target};
    inputs[k] = target;
    out_input_types[k] = (uint8_t)leat_dtype_base(type);
  }
  record->input_slots = inputs;
  record->first_output = c->first_slot[plan->record_nodes[index]];
  for (int k = 0; k < node->output_count; ++k) {
    if (leat_dtype_is_ref(node->output_types[k])) record->flags |= LEAT_RECORD_HAS_REFS;
  }
  return leat_ok_status();
}

// Makes the record's kernel, and notes in the record and in the plan what the executors and the
// worker must know of it. A Send or Recv is noted as a use of the rendezvous, not as waiting.
static leat_status_t make_kernel(leat_plan_compiler_t* c, leat_record_t* record,
                                 const leat_node_t* node, const uint8_t* input_types) {
  leat_plan_t* plan = c->plan;
  leat_string_view_t device = c->options->device->type;
  const leat_kernel_row_t* row;
  LEAT_RETURN_IF_ERROR(leat_kernel_registry_probe(c->options->kernels, node->op, node->attrs,
                                                  node->attr_count, device, &row));
  if (!row) {
    return leat_kernel_registry_unserved(c->options->kernels, node->op, node->name, node->attrs,
                                         node->attr_count, device);
  }
  leat_kernel_spec_t spec = {.row = row,
                             .op = node->op,
                             .node_name = node->name,
                             .attrs = node->attrs,
                             .attr_count = node->attr_count,
                             .input_types = input_types,
                             .input_count = node->input_count,
                             .output_types = node->output_types,
                             .output_count = node->output_count,
                             .device = c->options->device,
                             .resources = c->options->resources,
                             .session_resources = c->options->session_resources,
                             .allocator = plan->allocator};
  LEAT_RETURN_IF_ERROR(leat_kernel_create(&spec, &record->kernel));
  record->compute = record->kernel->compute;
  record->flags |= control_flags(node);
  if (row->compute_async) record->flags |= LEAT_RECORD_ASYNC;
  if (row->expensive) record->flags |= LEAT_RECORD_EXPENSIVE;
  bool meets = node->op->flags & (LEAT_OP_SEND | LEAT_OP_RECV);
  if (meets) plan->uses_rendezvous = true;
  if (row->compute_async) plan->has_async = true;
  if (row->compute_async && !meets) plan->waits = true;
  // A receive enqueues a copy into the device, which reads the sender's memory.
  const bool copies = node->op->flags & LEAT_OP_RECV && c->options->device->vtable->synchronize;
  if (row->enqueues || copies) plan->enqueues = true;
  if (node->op->flags & LEAT_OP_STEP_RESOURCE) plan->uses_step_resources = true;
  return leat_ok_status();
}

// Fills in the record of each node: its inputs, its kernel, and whether its inputs need work before
// the kernel runs.
static leat_status_t make_records(leat_plan_compiler_t* c) {
  leat_plan_t* plan = c->plan;
  uint32_t read = 0;
  for (size_t i = 0; i < c->graph->node_count; ++i) {
    int32_t index = c->order[i];
    if (c->record_of[index] < 0) continue;
    const leat_node_t* node = &c->graph->nodes[index];
    uint32_t number = (uint32_t)c->record_of[index];
    LEAT_DCHECK(number < plan->record_count);
    leat_record_t* record = &plan->records[number];
    plan->record_nodes[number] = index;
    uint8_t* input_types;
    uint32_t first_read = read;
    LEAT_RETURN_IF_ERROR(LEAT_NEW(&c->plan->arena, (size_t)node->input_count + 1, &input_types));
    LEAT_RETURN_IF_ERROR(wire_record(c, number, node, &read, input_types));
    LEAT_RETURN_IF_ERROR(make_kernel(c, record, node, input_types));
    if (leat_kernel_needs_preparing(record->kernel, read - first_read)) {
      record->flags |= LEAT_RECORD_PREPARES;
    }
  }
  if (plan->first_read) plan->first_read[plan->record_count] = read;
  return leat_ok_status();
}

// Finds the slot of each fetch. Of several fetches of one slot, only the last moves the value out.
// A constant is never moved, since the next step needs it too.
static leat_status_t number_fetches(leat_plan_compiler_t* c) {
  leat_plan_t* plan = c->plan;
  plan->fetch_count = c->request->fetch_count;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&c->plan->arena, (size_t)plan->fetch_count + 1, &plan->fetches));
  LEAT_RETURN_IF_ERROR(
      LEAT_NEW(&c->plan->arena, (size_t)plan->fetch_count + 1, &plan->fetch_slots));
  LEAT_RETURN_IF_ERROR(
      LEAT_NEW(&c->plan->arena, (size_t)plan->fetch_count + 1, &plan->fetch_moves));
  uint32_t* last_fetch;  // slot -> 1 + the last fetch of it
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&c->scratch, c->frame_slots[0] + 1, &last_fetch));
  for (int i = 0; i < plan->fetch_count; ++i) {
    leat_output_t fetch = c->request->fetches[i];
    const leat_node_t* node = &c->graph->nodes[fetch.node];
    if (c->frames.outputs_in[fetch.node] != 0) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Compile failed for node '%.*s' (%.*s): output %d is fetched, must "
                              "not be inside a loop",
                              LEAT_SV_ARG(node->name), LEAT_SV_ARG(node->op->name), fetch.index);
    }
    uint32_t slot = c->first_slot[fetch.node] + (uint32_t)fetch.index;
    plan->fetches[i] = fetch;
    plan->fetch_slots[i] = slot;
    plan->fetch_moves[i] = !leat_plan_has_constant(node);
    if (last_fetch[slot]) plan->fetch_moves[last_fetch[slot] - 1] = false;
    last_fetch[slot] = (uint32_t)i + 1;
  }
  return leat_ok_status();
}

// ---- The choice ---------------------------------------------------------------------------------

// Notes which records are worth another thread, and says whether the step is: whether its work is
// large and much of it does not lie on the critical path.
static leat_status_t weigh(leat_plan_compiler_t* c, bool* out_gains) {
  leat_plan_t* plan = c->plan;
  const leat_device_t* device = c->options->device;
  int64_t work_ns = 0, critical_ns = 0;
  int64_t* ends;  // record -> when it ends at the earliest
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&c->scratch, plan->record_count + 1, &ends));
  for (uint32_t r = 0; r < plan->record_count; ++r) {
    const leat_node_t* node = leat_plan_compiler_node(c, r);
    int64_t cost_ns = leat_cost_node_ns(NULL, c->graph, node, device->type, &device->speed);
    LEAT_DCHECK(cost_ns >= 0);
    int64_t begin_ns = 0;
    for (int k = 0; k < node->input_count + node->control_count; ++k) {
      int64_t source = c->record_of[node->inputs[k].node];
      if (source < 0 || source >= r) continue;  // the second: an edge that closes a loop
      begin_ns = LEAT_MAX(begin_ns, ends[source]);
    }
    ends[r] = begin_ns + cost_ns;
    work_ns += cost_ns;
    critical_ns = LEAT_MAX(critical_ns, ends[r]);
    if (cost_ns >= EXPENSIVE_NS) plan->records[r].flags |= LEAT_RECORD_EXPENSIVE;
  }
  *out_gains = work_ns >= PARALLEL_MINIMUM_WORK_NS &&
               (double)work_ns >= PARALLEL_MINIMUM_RATIO * (double)critical_ns;
  return leat_ok_status();
}

static bool has_threads(const leat_plan_compiler_t* c) {
  const leat_device_t* device = c->options->device;
  bool alone = c->request->inter_op_threads < 0 || c->request->inter_op_threads == 1;
  return !alone && device->pool && leat_thread_pool_size(device->pool) > 1;
}

static leat_status_t choose(leat_plan_compiler_t* c, bool* out_sequence) {
  leat_executor_kind_t asked = c->request->executor;
  *out_sequence = asked != LEAT_EXECUTOR_DATAFLOW;
  if (!has_threads(c)) return leat_ok_status();
  // Weighed for a dataflow plan too, which wants to know its expensive records. An iteration of a
  // loop costs a tenth as a sequence; two steps in a deterministic session must take one order.
  bool gains;
  LEAT_RETURN_IF_ERROR(weigh(c, &gains));
  if (asked == LEAT_EXECUTOR_AUTOMATIC && gains && c->frames.count == 1 &&
      !c->request->deterministic) {
    *out_sequence = false;
  }
  return leat_ok_status();
}

static leat_status_t no_sequence(const leat_plan_compiler_t* c) {
  const leat_node_t* node = c->obstacle;
  LEAT_DCHECK(node && c->obstacle_rule);
  return leat_make_status(LEAT_UNIMPLEMENTED,
                          "Compile failed for node '%.*s' (%.*s): executor is SEQUENCE, must be "
                          "DATAFLOW or left open: %s",
                          LEAT_SV_ARG(node->name), LEAT_SV_ARG(node->op->name),
                          c->obstacle_rule);
}

static leat_status_t compile_for_executor(leat_plan_compiler_t* c) {
  leat_plan_t* plan = c->plan;
  bool is_sequence;
  LEAT_RETURN_IF_ERROR(choose(c, &is_sequence));
  if (is_sequence) LEAT_RETURN_IF_ERROR(leat_sequence_compile(c, &is_sequence));
  if (!is_sequence && c->request->executor == LEAT_EXECUTOR_SEQUENCE) return no_sequence(c);
  plan->executor = is_sequence ? LEAT_EXECUTOR_SEQUENCE : LEAT_EXECUTOR_DATAFLOW;
  plan->ends_at_once = is_sequence && !plan->has_async && !plan->enqueues;
  if (is_sequence) return leat_ok_status();
  plan->slot_count = c->frame_slots[0];
  return leat_dataflow_compile(c, &plan->arena, &plan->dataflow);
}

// ---- The whole ----------------------------------------------------------------------------------

static leat_status_t label_loops(leat_plan_compiler_t* c) {
  const size_t loops = (size_t)c->frames.count - 1;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&c->plan->arena, loops + 1, &c->plan->loop_labels));
  for (size_t i = 0; i < loops; ++i) c->plan->loop_labels[i].frame = c->frames.items[i + 1].name;
  return leat_ok_status();
}

static leat_status_t compile(leat_plan_compiler_t* c) {
  size_t nodes = c->graph->node_count;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&c->scratch, nodes + 1, &c->order));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&c->scratch, nodes + 1, &c->first_slot));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&c->scratch, nodes + 1, &c->record_of));
  LEAT_RETURN_IF_ERROR(leat_graph_sort(c->graph, c->order));
  LEAT_RETURN_IF_ERROR(
      leat_frames_find(c->graph, c->order, nodes, "Compile", &c->plan->arena, &c->frames));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&c->scratch, (size_t)c->frames.count + 1, &c->frame_slots));
  LEAT_RETURN_IF_ERROR(label_loops(c));
  LEAT_RETURN_IF_ERROR(number_constants(c));
  LEAT_RETURN_IF_ERROR(number_records(c));
  LEAT_RETURN_IF_ERROR(number_feeds(c));
  LEAT_RETURN_IF_ERROR(make_records(c));
  LEAT_RETURN_IF_ERROR(number_fetches(c));
  return compile_for_executor(c);
}

leat_status_t leat_plan_compile(const leat_register_request_t* request,
                                const leat_plan_options_t* options, leat_plan_t** out_plan) {
  leat_plan_t* plan;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(options->allocator, 1, &plan));
  plan->allocator = options->allocator;
  plan->transfer_count = request->transfer_count;
  plan->dead_fetch_code =
      request->dead_fetch_code ? request->dead_fetch_code : LEAT_INVALID_ARGUMENT;
  plan->device = options->device;
  leat_device_retain(plan->device);
  leat_arena_initialize(options->allocator, 0, &plan->arena);
  leat_plan_compiler_t compiler = {
      .request = request, .options = options, .graph = request->graph, .plan = plan};
  leat_arena_initialize(options->allocator, 0, &compiler.scratch);
  leat_status_t status = compile(&compiler);
  leat_arena_deinitialize(&compiler.scratch);
  if (status) {
    leat_plan_free(plan);
    return status;
  }
  plan->graph = request->graph;
#if defined(LEAT_DEBUG)
  status = leat_plan_verify(plan);
  if (status) {
    plan->graph = NULL;  // still the caller's
    leat_plan_free(plan);
    return status;
  }
#endif
  *out_plan = plan;
  return leat_ok_status();
}
