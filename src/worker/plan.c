// Compiles a partition. Nodes are taken in an order in which every input comes first; each gets its
// output slots, constants and arguments only those. Then come input slots (with a slot of its own
// for each reference that must be read as a value), who reads last, successors, and the kernels.
#include "worker/plan.h"

#include <string.h>

#include "base/checked.h"
#include "worker/dataflow.h"
#include "worker/ordered_plan.h"

typedef struct compiler_s {
  const leat_register_request_t* request;
  const leat_plan_options_t* options;
  leat_plan_t* plan;
  const leat_graph_t* graph;
  int32_t* order;        // [node_count]
  uint32_t* first_slot;  // node -> its first output slot
  int64_t* record_of;    // node -> record or -1
  uint32_t* last_reader; // slot -> 1 + record that reads it last
} compiler_t;

static bool is_constant(const leat_node_t* node) {
  return (node->op->flags & LEAT_OP_CONSTANT) && node->control_count == 0;
}

static bool is_argument(const leat_node_t* node) { return node->op->flags & LEAT_OP_ARGUMENT; }

static leat_status_t allocate(compiler_t* c, size_t count, size_t item_bytes, void* out_pointer) {
  return leat_arena_allocate_array(&c->plan->arena, count ? count : 1, item_bytes,
                                   (void**)out_pointer);
}

// Is the op's argument at flattened input |index| a reference?
static bool takes_ref(const leat_node_t* node, int index) {
  if (!node->op->has_ref_inputs) return false;
  for (int a = 0; a < node->op->input_count; ++a) {
    int begin, count = leat_node_input_argument(node, a, &begin);
    if (index >= begin && index < begin + count) return node->op->inputs[a].is_ref;
  }
  return false;
}

// The reference that input |index| is read from when the record runs, or none: the input itself, or
// what an Identity before it reads. Of a variable's "read" TensorFlow's Identity hands on the very
// bytes, so that a reader behind an update sees the update; here it reads again.
static leat_output_t reference_behind(const compiler_t* c, const leat_node_t* node, int index) {
  leat_output_t source = node->inputs[index];
  if (leat_dtype_is_ref(leat_graph_output_type(c->graph, source))) {
    return takes_ref(node, index) ? LEAT_OUTPUT_NONE : source;
  }
  const leat_node_t* from = &c->graph->nodes[source.node];
  if (!(from->op->flags & LEAT_OP_PASS_THROUGH) || from->input_count == 0 || source.index != 0 ||
      (node->op->flags & LEAT_OP_CONTROL_FLOW)) {
    return LEAT_OUTPUT_NONE;
  }
  leat_output_t behind = from->inputs[0];
  return leat_dtype_is_ref(leat_graph_output_type(c->graph, behind)) ? behind : LEAT_OUTPUT_NONE;
}

static uint32_t count_dereferences(const compiler_t* c, const leat_node_t* node) {
  uint32_t count = 0;
  for (int k = 0; k < node->input_count; ++k) {
    count += leat_output_exists(reference_behind(c, node, k));
  }
  return count;
}

// Slots are numbered within the frame that the outputs belong to, records within the one they run
// in. Slots for values read from references come behind the outputs.
static leat_status_t number_slots(compiler_t* c) {
  leat_plan_t* plan = c->plan;
  for (size_t i = 0; i < c->graph->node_count; ++i) {
    int32_t index = c->order[i];
    const leat_node_t* node = &c->graph->nodes[index];
    leat_plan_frame_t* frame = &plan->frame_plans[plan->frames.outputs_in[index]];
    c->first_slot[index] = frame->slot_count;
    frame->slot_count += (uint32_t)node->output_count;
    c->record_of[index] = -1;
    if (is_constant(node)) {
      ++plan->constant_count;
    } else if (!is_argument(node)) {
      c->record_of[index] = plan->record_count++;
    }
    if (node->op->flags & (LEAT_OP_CONTROL_FLOW | LEAT_OP_CONTROL_TRIGGER)) plan->framed = true;
    if (c->request->receives_dead && (node->op->flags & LEAT_OP_RECV)) plan->framed = true;
    plan->dereference_count += count_dereferences(c, node);
  }
  for (int32_t f = 0; f < plan->frames.count; ++f) {
    leat_plan_frame_t* frame = &plan->frame_plans[f];
    LEAT_RETURN_IF_ERROR(allocate(c, frame->slot_count + plan->dereference_count,
                                  sizeof(uint32_t), &frame->readers));
  }
  plan->readers = plan->frame_plans[0].readers;
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate_aligned(
      plan->allocator, 64, (plan->record_count + 1) * sizeof(leat_record_t),
      (void**)&plan->records));
  LEAT_RETURN_IF_ERROR(allocate(c, plan->record_count, sizeof(uint32_t), &plan->record_places));
  return allocate(c, plan->record_count, sizeof(int32_t), &plan->record_nodes);
}

static leat_status_t set_constants_and_feeds(compiler_t* c) {
  leat_plan_t* plan = c->plan;
  plan->feed_count = c->request->feed_count;
  LEAT_RETURN_IF_ERROR(allocate(c, plan->constant_count, sizeof(uint32_t), &plan->constant_slots));
  LEAT_RETURN_IF_ERROR(
      allocate(c, plan->constant_count, sizeof(leat_tensor_t*), &plan->constant_tensors));
  LEAT_RETURN_IF_ERROR(allocate(c, (size_t)plan->feed_count, sizeof(uint32_t), &plan->feed_slots));
  for (int i = 0; i < plan->feed_count; ++i) plan->feed_slots[i] = UINT32_MAX;
  uint32_t constants = 0;
  for (size_t i = 0; i < c->graph->node_count; ++i) {
    const leat_node_t* node = &c->graph->nodes[i];
    if (is_constant(node)) {
      const leat_tensor_t* constant = leat_node_constant(node);
      if (!constant || constant->dtype != node->output_types[0]) {
        return leat_make_status(LEAT_INVALID_ARGUMENT,
                                "Compile failed for node '%.*s' (%.*s): attribute value is no "
                                "tensor of the node's type, must be one",
                                LEAT_SV_ARG(node->name), LEAT_SV_ARG(node->op->name));
      }
      plan->constant_slots[constants] = c->first_slot[i];
      plan->constant_tensors[constants++] = constant;
    } else if (is_argument(node)) {
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
  }
  return leat_ok_status();
}

// |record| reads |slot| of its own frame.
static void note_reader(compiler_t* c, leat_plan_frame_t* frame, uint32_t slot, uint32_t record) {
  ++frame->readers[slot];
  if (!c->plan->framed) c->last_reader[slot] = record + 1;
}

// Input slots of one record; counts readers.
static leat_status_t wire_record(compiler_t* c, uint32_t index, const leat_node_t* node,
                                 uint32_t* inout_dereference, uint8_t* input_types) {
  leat_plan_t* plan = c->plan;
  leat_record_t* record = &plan->records[index];
  leat_plan_frame_t* frame = &plan->frame_plans[plan->frames.runs_in[plan->record_nodes[index]]];
  uint32_t* inputs;
  LEAT_RETURN_IF_ERROR(allocate(c, (size_t)node->input_count, sizeof(uint32_t), &inputs));
  if (plan->dereference_count) plan->first_dereference[index] = *inout_dereference;
  for (int k = 0; k < node->input_count; ++k) {
    leat_output_t reference = reference_behind(c, node, k);
    leat_output_t source = leat_output_exists(reference) ? reference : node->inputs[k];
    uint32_t slot = c->first_slot[source.node] + (uint32_t)source.index;
    int type = leat_graph_output_type(c->graph, source);
    note_reader(c, frame, slot, index);
    if (leat_dtype_is_ref(type)) record->flags |= LEAT_RECORD_HAS_REFS;
    if (leat_output_exists(reference)) {
      uint32_t target = frame->slot_count++;
      plan->dereferences[(*inout_dereference)++] = (leat_dereference_t){index, slot, target};
      note_reader(c, frame, target, index);
      slot = target;
      type = leat_dtype_base(type);
    }
    inputs[k] = slot;
    input_types[k] = (uint8_t)type;
  }
  record->input_slots = inputs;
  record->input_count = (uint32_t)node->input_count;
  record->output_count = (uint32_t)node->output_count;
  plan->record_places[index] = frame->record_count++;
  return leat_ok_status();
}

static uint16_t control_flags(const leat_node_t* node) {
  static const struct {
    uint32_t op;
    uint16_t record;
  } kFlags[] = {
      {LEAT_OP_SWITCH, LEAT_RECORD_SWITCH},
      {LEAT_OP_MERGE, LEAT_RECORD_MERGE},
      {LEAT_OP_ENTER, LEAT_RECORD_ENTER},
      {LEAT_OP_EXIT, LEAT_RECORD_EXIT},
      {LEAT_OP_NEXT_ITERATION, LEAT_RECORD_NEXT_ITERATION},
      {LEAT_OP_SEND, LEAT_RECORD_RUNS_DEAD},
      {LEAT_OP_CONTROL_TRIGGER, LEAT_RECORD_NEVER_DEAD},
  };
  uint16_t flags = 0;
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kFlags); ++i) {
    if (node->op->flags & kFlags[i].op) flags |= kFlags[i].record;
  }
  if ((flags & LEAT_RECORD_ENTER) && leat_node_attr_bool(node, "is_constant", false)) {
    flags |= LEAT_RECORD_INVARIANT;
  }
  return flags;
}

static leat_status_t compute_verified(leat_kernel_context_t* context) {
  LEAT_RETURN_IF_ERROR(context->kernel->row->compute(context));
  return leat_execution_verify(context);
}

static leat_status_t make_kernel(compiler_t* c, leat_record_t* record, const leat_node_t* node,
                                 const uint8_t* input_types) {
  leat_string_view_t device = c->options->device->type;
  const leat_kernel_row_t* row;
  LEAT_RETURN_IF_ERROR(leat_kernel_registry_probe(c->options->kernels, node->op, node->attrs,
                                                  node->attr_count, device, &row));
  if (!row) {
    return leat_kernel_registry_unserved(c->options->kernels, node->op, node->name, node->attrs,
                                         node->attr_count, device);
  }
  LEAT_RETURN_IF_ERROR(leat_kernel_create(
      row, node->op, node->name, node->attrs, node->attr_count, input_types, node->input_count,
      node->output_types, node->output_count, c->options->device, c->options->resources,
      c->plan->allocator, &record->kernel));
  bool is_stateful = node->op->flags & LEAT_OP_STATEFUL;
  record->compute = is_stateful && node->output_count ? compute_verified : row->compute;
  if (record->kernel->contract) record->flags |= LEAT_RECORD_CONTRACT;
  if (row->compute_async) record->flags |= LEAT_RECORD_ASYNC;
  if (row->expensive) record->flags |= LEAT_RECORD_EXPENSIVE;
  bool meets = node->op->flags & (LEAT_OP_SEND | LEAT_OP_RECV);
  if (meets) c->plan->uses_rendezvous = true;
  if (row->compute_async && !meets) c->plan->waits = true;
  if (node->op->flags & LEAT_OP_STEP_RESOURCE) c->plan->uses_step_resources = true;
  record->flags |= control_flags(node);
  if (record->flags & LEAT_RECORD_ASYNC) c->plan->has_async = true;
  if (row->enqueues) c->plan->enqueues = true;
  if (c->plan->has_async || c->plan->framed || c->plan->enqueues) c->plan->linear = false;
  return leat_ok_status();
}

static leat_status_t make_records(compiler_t* c) {
  leat_plan_t* plan = c->plan;
  LEAT_RETURN_IF_ERROR(allocate(c, plan->frame_plans[0].slot_count + plan->dereference_count,
                                sizeof(uint32_t), &c->last_reader));
  if (plan->dereference_count) {
    LEAT_RETURN_IF_ERROR(
        allocate(c, plan->dereference_count, sizeof(leat_dereference_t), &plan->dereferences));
    LEAT_RETURN_IF_ERROR(
        allocate(c, plan->record_count + 1, sizeof(uint32_t), &plan->first_dereference));
  }
  uint32_t dereference = 0;
  for (size_t i = 0; i < c->graph->node_count; ++i) {
    int32_t index = c->order[i];
    if (c->record_of[index] < 0) continue;
    const leat_node_t* node = &c->graph->nodes[index];
    uint32_t number = (uint32_t)c->record_of[index];
    leat_record_t* record = &plan->records[number];
    plan->record_nodes[number] = index;
    record->first_output = c->first_slot[index];
    for (int k = 0; k < node->output_count; ++k) {
      if (leat_dtype_is_ref(node->output_types[k])) record->flags |= LEAT_RECORD_HAS_REFS;
    }
    uint8_t* input_types;
    LEAT_RETURN_IF_ERROR(allocate(c, (size_t)node->input_count, 1, &input_types));
    LEAT_RETURN_IF_ERROR(wire_record(c, number, node, &dereference, input_types));
    LEAT_RETURN_IF_ERROR(make_kernel(c, record, node, input_types));
  }
  if (plan->first_dereference) plan->first_dereference[plan->record_count] = dereference;
  plan->slot_count = plan->frame_plans[0].slot_count;
  return leat_ok_status();
}

static leat_status_t fetch_in_loop(const compiler_t* c, leat_output_t fetch) {
  const leat_node_t* node = &c->graph->nodes[fetch.node];
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Compile failed for node '%.*s' (%.*s): output %d is fetched, must not "
                          "be inside a loop",
                          LEAT_SV_ARG(node->name), LEAT_SV_ARG(node->op->name), fetch.index);
}

static leat_status_t set_fetches(compiler_t* c) {
  leat_plan_t* plan = c->plan;
  plan->fetch_count = c->request->fetch_count;
  LEAT_RETURN_IF_ERROR(
      allocate(c, (size_t)plan->fetch_count, sizeof(uint32_t), &plan->fetch_slots));
  LEAT_RETURN_IF_ERROR(
      allocate(c, (size_t)plan->fetch_count, sizeof(bool), &plan->fetch_moves));
  for (int i = 0; i < plan->fetch_count; ++i) {
    leat_output_t fetch = c->request->fetches[i];
    if (plan->frames.outputs_in[fetch.node] != 0) return fetch_in_loop(c, fetch);
    uint32_t slot = c->first_slot[fetch.node] + (uint32_t)fetch.index;
    plan->fetch_slots[i] = slot;
    plan->fetch_moves[i] = !is_constant(&c->graph->nodes[fetch.node]);
    for (int k = 0; k < i; ++k) {
      if (plan->fetch_slots[k] == slot) plan->fetch_moves[k] = false;
    }
    ++plan->readers[slot];
    c->last_reader[slot] = UINT32_MAX;  // read when all records have run
  }
  // Constants stay: nobody may release or overwrite them.
  for (uint32_t i = 0; i < plan->constant_count; ++i) {
    c->last_reader[plan->constant_slots[i]] = UINT32_MAX;
    plan->readers[plan->constant_slots[i]] = LEAT_READERS_CONSTANT;
  }
  return leat_ok_status();
}

static bool reads_twice(const leat_record_t* record, uint32_t slot) {
  int count = 0;
  for (uint32_t k = 0; k < record->input_count; ++k) count += record->input_slots[k] == slot;
  return count > 1;
}

// Who may overwrite and who empties, in record order.
static leat_status_t set_releases(compiler_t* c) {
  leat_plan_t* plan = c->plan;
  if (plan->framed) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(allocate(c, plan->slot_count, sizeof(uint32_t), &plan->releases));
  bool* released;
  LEAT_RETURN_IF_ERROR(allocate(c, plan->slot_count, sizeof(bool), &released));
  for (uint32_t r = 0; r < plan->record_count; ++r) {
    leat_record_t* record = &plan->records[r];
    record->first_release = plan->release_count;
    for (uint32_t k = 0; k < record->input_count; ++k) {
      uint32_t slot = record->input_slots[k];
      if (c->last_reader[slot] != r + 1 || released[slot]) continue;
      released[slot] = true;
      plan->releases[plan->release_count++] = slot;
      if (k < 64 && !reads_twice(record, slot)) record->last_readers |= UINT64_C(1) << k;
    }
    for (uint32_t k = 0; k < record->output_count; ++k) {
      if (c->last_reader[record->first_output + k] == 0) {
        plan->releases[plan->release_count++] = record->first_output + k;
      }
    }
    uint32_t d = plan->first_dereference ? plan->first_dereference[r] : 0;
    uint32_t d_end = plan->first_dereference ? plan->first_dereference[r + 1] : 0;
    for (; d < d_end; ++d) {
      uint32_t slot = plan->dereferences[d].source;
      if (c->last_reader[slot] != r + 1 || released[slot]) continue;
      released[slot] = true;
      plan->releases[plan->release_count++] = slot;
    }
    record->release_count = plan->release_count - record->first_release;
  }
  return leat_ok_status();
}

// Calls for every edge between records; |fill| is the second time, when there is room.
static void list_edges(compiler_t* c, bool fill, size_t* out_edges) {
  leat_plan_t* plan = c->plan;
  *out_edges = 0;
  for (uint32_t r = 0; r < plan->record_count; ++r) {
    const leat_node_t* node = &c->graph->nodes[plan->record_nodes[r]];
    for (int k = 0; k < node->input_count + node->control_count; ++k) {
      int64_t source = c->record_of[node->inputs[k].node];
      if (source < 0) continue;
      leat_record_t* from = &plan->records[source];
      if (fill) {
        uint32_t place = from->first_successor + from->successor_count;
        plan->successors[place] = r;
        if (plan->framed) plan->successor_outputs[place] = node->inputs[k].index;
        ++plan->pending[r];
      }
      ++from->successor_count;
      ++*out_edges;
    }
  }
}

// What a Merge waits for: twice its control inputs, and one more until the first live value; a
// constant is one.
static uint32_t merge_pending(const compiler_t* c, const leat_node_t* node) {
  uint32_t pending = 1 + 2 * (uint32_t)node->control_count;
  for (int k = 0; k < node->input_count; ++k) {
    if (c->record_of[node->inputs[k].node] < 0) pending = 2 * (uint32_t)node->control_count;
  }
  return pending;
}

static leat_status_t set_frame_pending(compiler_t* c) {
  leat_plan_t* plan = c->plan;
  for (int32_t f = 0; f < plan->frames.count; ++f) {
    leat_plan_frame_t* frame = &plan->frame_plans[f];
    LEAT_RETURN_IF_ERROR(allocate(c, frame->record_count, sizeof(uint32_t), &frame->pending));
  }
  for (uint32_t r = 0; r < plan->record_count; ++r) {
    int32_t index = plan->record_nodes[r];
    if (plan->records[r].flags & LEAT_RECORD_MERGE) {
      plan->pending[r] = merge_pending(c, &c->graph->nodes[index]);
    }
    plan->frame_plans[plan->frames.runs_in[index]].pending[plan->record_places[r]] =
        plan->pending[r];
  }
  return leat_ok_status();
}

static leat_status_t set_successors(compiler_t* c) {
  leat_plan_t* plan = c->plan;
  size_t edges;
  LEAT_RETURN_IF_ERROR(allocate(c, plan->record_count, sizeof(uint32_t), &plan->pending));
  list_edges(c, false, &edges);
  LEAT_RETURN_IF_ERROR(allocate(c, edges, sizeof(uint32_t), &plan->successors));
  if (plan->framed) {
    LEAT_RETURN_IF_ERROR(allocate(c, edges, sizeof(int32_t), &plan->successor_outputs));
  }
  uint32_t next = 0;
  for (uint32_t r = 0; r < plan->record_count; ++r) {
    plan->records[r].first_successor = next;
    next += plan->records[r].successor_count;
    plan->records[r].successor_count = 0;
  }
  list_edges(c, true, &edges);
  if (plan->framed) LEAT_RETURN_IF_ERROR(set_frame_pending(c));
  LEAT_RETURN_IF_ERROR(allocate(c, plan->record_count, sizeof(uint32_t), &plan->roots));
  for (uint32_t r = 0; r < plan->record_count; ++r) {
    if (plan->pending[r] == 0) plan->roots[plan->root_count++] = r;
  }
  return leat_ok_status();
}

static leat_status_t find_frames(compiler_t* c) {
  leat_plan_t* plan = c->plan;
  LEAT_RETURN_IF_ERROR(leat_frames_find(c->graph, c->order, c->graph->node_count, "Compile",
                                        &plan->arena, &plan->frames));
  LEAT_RETURN_IF_ERROR(allocate(c, (size_t)plan->frames.count, sizeof(leat_plan_frame_t),
                                &plan->frame_plans));
  for (int32_t f = 0; f < plan->frames.count; ++f) {
    plan->frame_plans[f].frame = plan->frames.items[f];
  }
  return leat_ok_status();
}

// One asynchronous record, and nothing behind it that could run while it waits.
static leat_status_t find_awaited(compiler_t* c) {
  leat_plan_t* plan = c->plan;
  uint32_t awaited = LEAT_NO_RECORD;
  bool* follows;
  plan->awaited_record = LEAT_NO_RECORD;
  if (!plan->has_async || plan->framed || plan->uses_rendezvous) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(allocate(c, plan->record_count, sizeof(bool), &follows));
  for (uint32_t r = 0; r < plan->record_count; ++r) {
    const leat_record_t* record = &plan->records[r];
    if (record->flags & LEAT_RECORD_ASYNC) {
      if (awaited != LEAT_NO_RECORD) return leat_ok_status();
      awaited = r;
      follows[r] = true;
    }
    if (awaited != LEAT_NO_RECORD && !follows[r]) return leat_ok_status();
    for (uint32_t i = 0; follows[r] && i < record->successor_count; ++i) {
      follows[plan->successors[record->first_successor + i]] = true;
    }
  }
  plan->awaited_record = awaited;
  return leat_ok_status();
}

static leat_status_t compile(compiler_t* c) {
  size_t nodes = c->graph->node_count;
  LEAT_RETURN_IF_ERROR(allocate(c, nodes, sizeof(int32_t), &c->order));
  LEAT_RETURN_IF_ERROR(allocate(c, nodes, sizeof(uint32_t), &c->first_slot));
  LEAT_RETURN_IF_ERROR(allocate(c, nodes, sizeof(int64_t), &c->record_of));
  LEAT_RETURN_IF_ERROR(leat_graph_sort(c->graph, c->order));
  LEAT_RETURN_IF_ERROR(find_frames(c));
  LEAT_RETURN_IF_ERROR(number_slots(c));
  LEAT_RETURN_IF_ERROR(set_constants_and_feeds(c));
  LEAT_RETURN_IF_ERROR(make_records(c));
  LEAT_RETURN_IF_ERROR(set_fetches(c));
  LEAT_RETURN_IF_ERROR(set_releases(c));
  LEAT_RETURN_IF_ERROR(set_successors(c));
  LEAT_RETURN_IF_ERROR(find_awaited(c));
  if (!c->plan->framed) return leat_ok_status();
  return leat_ordered_plan_make(c->plan, c->graph, &c->plan->ordered);
}

leat_status_t leat_plan_compile(const leat_register_request_t* request,
                                const leat_plan_options_t* options, leat_plan_t** out_plan) {
  leat_plan_t* plan;
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate(options->allocator, sizeof *plan, (void**)&plan));
  plan->allocator = options->allocator;
  plan->linear = true;
  plan->device = options->device;
  leat_device_retain(plan->device);
  leat_arena_initialize(options->allocator, 0, &plan->arena);
  compiler_t compiler = {request, options, plan, request->graph, 0, 0, 0, 0};
  leat_status_t status = compile(&compiler);
  if (status) {
    leat_plan_free(plan);
    return status;
  }
  plan->graph = request->graph;
  *out_plan = plan;
  return leat_ok_status();
}

// Of frame 0, and of all loops where their slots are here too.
static uint32_t instance_slot_count(const leat_plan_t* plan) {
  return plan->ordered ? plan->ordered->slot_count : plan->slot_count;
}

void leat_plan_free_instance(leat_plan_t* plan, leat_plan_instance_t* instance) {
  for (uint32_t i = 0; instance->slots && i < instance_slot_count(plan); ++i) {
    leat_slot_clear(&instance->slots[i]);
  }
  leat_allocator_free(plan->allocator, instance->slots);
  leat_allocator_free(plan->allocator, instance->counters);
  leat_allocator_free(plan->allocator, instance->flags);
  leat_iterations_free(plan, instance);
  leat_allocator_free(plan->allocator, instance);
}

void leat_plan_free(leat_plan_t* plan) {
  if (!plan) return;
  for (uint32_t i = 0; plan->records && i < plan->record_count; ++i) {
    leat_kernel_free(plan->records[i].kernel);
  }
  leat_allocator_free(plan->allocator, plan->records);
  leat_arena_deinitialize(&plan->arena);
  leat_graph_free(plan->graph);
  leat_device_release(plan->device);
  leat_allocator_free(plan->allocator, plan);
}

leat_status_t leat_plan_make_instance(leat_plan_t* plan, leat_plan_instance_t** out_instance) {
  leat_plan_instance_t* instance;
  LEAT_RETURN_IF_ERROR(
      leat_allocator_allocate(plan->allocator, sizeof *instance, (void**)&instance));
  leat_status_t status = leat_allocator_allocate_aligned(
      plan->allocator, 64, (instance_slot_count(plan) + 1) * sizeof(leat_slot_t),
      (void**)&instance->slots);
  if (!status && plan->ordered) {
    status = leat_allocator_allocate_array(plan->allocator,
                                           plan->ordered->flag_count + plan->ordered->loop_count, 1,
                                           (void**)&instance->flags);
  }
  if (status) {
    leat_plan_free_instance(plan, instance);
    return status;
  }
  for (uint32_t i = 0; i < plan->constant_count; ++i) {
    leat_slot_t* slot = &instance->slots[plan->constant_slots[i]];
    slot->tensor = leat_tensor_share(plan->constant_tensors[i]);
    slot->alive = true;
  }
  *out_instance = instance;
  return leat_ok_status();
}

void leat_plan_empty_instance(leat_plan_t* plan, leat_plan_instance_t* instance) {
  for (uint32_t i = 0; i < plan->slot_count; ++i) {
    if (plan->readers[i] != LEAT_READERS_CONSTANT) leat_slot_clear(&instance->slots[i]);
  }
  for (uint32_t i = plan->slot_count; i < instance_slot_count(plan); ++i) {
    leat_slot_clear(&instance->slots[i]);
  }
}

leat_string_view_t leat_plan_record_name(const leat_plan_t* plan, uint32_t record) {
  return plan->graph->nodes[plan->record_nodes[record]].name;
}
