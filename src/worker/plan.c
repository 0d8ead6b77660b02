// What a plan owns and how it is freed, and the instances of a plan. An instance is the memory of
// one step: the slots for values and, for the sequence executor, the flags of conditions. Many
// steps may run one plan at once, each with its own instance; the graph's entry in the worker keeps
// instances that no step uses for the next one, so that a steady step allocates nothing here.
//
// Invariant: an instance that no step uses holds exactly the plan's constants. They are put into
// their slots when the instance is made and stay there; a step must empty every other slot before
// it returns the instance.
#include "worker/plan.h"

#include "graph/cost/cost.h"
#include "graph/source_line.h"
#include "worker/dataflow.h"

#define MAX_TOLD_OUTPUTS 8  // of a node, to a recording

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

leat_string_view_t leat_plan_record_name(const leat_plan_t* plan, uint32_t record) {
  LEAT_DCHECK(record < plan->record_count);
  int32_t node = plan->record_nodes[record];
  return node < 0 ? LEAT_SV("") : plan->graph->nodes[node].name;
}

// ---- Recordings ---------------------------------------------------------------------------------

typedef struct told_s {
  leat_span_node_t* nodes;
  uint32_t* node_records;  // of each node of the graph the number of its record; UINT32_MAX: none
  uint32_t *first_producer, *producers;
} told_t;

// Lists the producers of each record: what it takes values from, and what it waits for. Constants
// and fed values have no record, and nobody waits for them.
static void list_producers(const leat_plan_t* plan, told_t* told) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < plan->record_count; ++i) {
    const int32_t index = plan->record_nodes[i];
    told->first_producer[i] = count;
    if (index < 0) continue;
    const leat_node_t* node = &plan->graph->nodes[index];
    for (int k = 0; k < node->input_count + node->control_count; ++k) {
      const uint32_t producer = told->node_records[node->inputs[k].node];
      if (producer != UINT32_MAX) told->producers[count++] = producer;
    }
  }
  told->first_producer[plan->record_count] = count;
}

// Whether all shapes that |node| takes and gives are known.
static bool has_known_shapes(const leat_graph_t* graph, const leat_node_t* node) {
  for (int k = 0; k < node->input_count + node->output_count; ++k) {
    const leat_partial_shape_t shape =
        k < node->input_count ? leat_graph_output_shape(graph, node->inputs[k])
                              : node->output_shapes[k - node->input_count];
    if (!leat_partial_shape_is_full(shape)) return false;
  }
  return true;
}

// "float [32,10], int32 []"
static leat_status_t print_outputs(const leat_node_t* node, leat_arena_t* arena,
                                   leat_string_view_t* inout_text) {
  for (int k = 0; k < node->output_count && k < MAX_TOLD_OUTPUTS; ++k) {
    LEAT_RETURN_IF_ERROR(leat_arena_print(
        arena, inout_text, "%.*s%s%s %s", LEAT_SV_ARG(*inout_text), k ? ", " : "",
        leat_dtype_name(leat_dtype_base(node->output_types[k])),
        LEAT_PARTIAL_SHAPE_TEXT(node->output_shapes[k])));
  }
  if (node->output_count <= MAX_TOLD_OUTPUTS) return leat_ok_status();
  return leat_arena_print(arena, inout_text, "%.*s, ...", LEAT_SV_ARG(*inout_text));
}

static leat_status_t find_facts(const leat_plan_t* plan, const leat_node_t* node,
                                leat_arena_t* arena, leat_span_facts_t* out_facts) {
  leat_string_view_t file;
  uint32_t line;
  const bool is_known = has_known_shapes(plan->graph, node);
  *out_facts = (leat_span_facts_t){.device = plan->device->name};
  out_facts->flops = is_known ? leat_cost_work(plan->graph, node).flops : -1;
  LEAT_RETURN_IF_ERROR(print_outputs(node, arena, &out_facts->outputs));
  if (!leat_graph_find_source_line(plan->graph, node->name, &file, &line)) {
    return leat_ok_status();
  }
  return leat_arena_print(arena, &out_facts->source, "%.*s:%u", LEAT_SV_ARG(file), line);
}

static leat_status_t make_told(const leat_plan_t* plan, leat_arena_t* arena, told_t* told) {
  const size_t nodes = plan->graph->node_count;
  size_t edges = 0;
  for (size_t i = 0; i < nodes; ++i) {
    edges += (size_t)(plan->graph->nodes[i].input_count + plan->graph->nodes[i].control_count);
  }
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, plan->record_count + 1, &told->nodes));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, nodes + 1, &told->node_records));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, plan->record_count + 1, &told->first_producer));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, edges + 1, &told->producers));
  for (size_t i = 0; i < nodes; ++i) told->node_records[i] = UINT32_MAX;
  for (uint32_t i = 0; i < plan->record_count; ++i) {
    leat_kernel_t* kernel = plan->records[i].kernel;
    if (plan->record_nodes[i] >= 0) told->node_records[plan->record_nodes[i]] = i;
    if (!kernel) continue;  // the border of a loop
    told->nodes[i] = (leat_span_node_t){kernel->node_name, kernel->op->name, &kernel->span_name,
                                        .facts = {.flops = -1}};
    if (plan->record_nodes[i] < 0) continue;
    LEAT_RETURN_IF_ERROR(find_facts(plan, &plan->graph->nodes[plan->record_nodes[i]], arena,
                                    &told->nodes[i].facts));
  }
  list_producers(plan, told);
  return leat_ok_status();
}

void leat_plan_tell(leat_plan_t* plan) {
  leat_arena_t arena;
  told_t told;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_status_t status = make_told(plan, &arena, &told);
  if (!status) {
    const leat_span_graph_t graph = {told.nodes, plan->record_count, told.first_producer,
                                     told.producers};
    leat_span_tell_graph(&plan->told, &graph);
  }
  leat_status_free(status);
  leat_arena_deinitialize(&arena);
}

// ---- Instances ----------------------------------------------------------------------------------

static void set_slot(leat_slot_t* slot, const leat_tensor_t* constant) {
  if (slot->tensor.dtype) return;
  slot->tensor = leat_tensor_share(constant);
  slot->alive = true;
}

static void set_constants(const leat_plan_t* plan, leat_plan_instance_t* instance) {
  for (uint32_t i = 0; i < plan->constant_count; ++i) {
    set_slot(&instance->slots[i], plan->constants[i]);
  }
  for (uint32_t i = 0; i < plan->late_constant_count; ++i) {
    LEAT_DCHECK(plan->late_constant_slots[i] < plan->slot_count);
    set_slot(&instance->slots[plan->late_constant_slots[i]], plan->late_constants[i]);
  }
}

static leat_status_t allocate_instance(const leat_plan_t* plan, leat_plan_instance_t* instance) {
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate_aligned(
      plan->allocator, 64, (plan->slot_count + 1) * sizeof(leat_slot_t),
      (void**)&instance->slots));
  if (plan->executor != LEAT_EXECUTOR_SEQUENCE || plan->sequence.flag_count == 0) {
    return leat_ok_status();
  }
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(plan->allocator,
                                     plan->sequence.flag_count + plan->sequence.loop_count,
                                     &instance->flags));
  return LEAT_ALLOCATE(plan->allocator, plan->sequence.loop_count, &instance->loops);
}

leat_status_t leat_plan_make_instance(leat_plan_t* plan, leat_plan_instance_t** out_instance) {
  leat_plan_instance_t* instance;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(plan->allocator, 1, &instance));
  leat_status_t status = allocate_instance(plan, instance);
  if (status) {
    leat_plan_free_instance(plan, instance);
    return status;
  }
  set_constants(plan, instance);
  *out_instance = instance;
  return leat_ok_status();
}

void leat_plan_empty_instance(leat_plan_t* plan, leat_plan_instance_t* instance) {
  for (uint32_t i = plan->constant_count; i < plan->slot_count; ++i) {
    leat_slot_clear(&instance->slots[i]);
  }
  if (plan->late_constant_count) set_constants(plan, instance);
}

void leat_plan_free_instance(leat_plan_t* plan, leat_plan_instance_t* instance) {
  for (uint32_t i = 0; instance->slots && i < plan->slot_count; ++i) {
    leat_slot_clear(&instance->slots[i]);
  }
  leat_allocator_free(plan->allocator, instance->slots);
  leat_allocator_free(plan->allocator, instance->flags);
  leat_allocator_free(plan->allocator, instance->loops);
  leat_iterations_free(plan, instance);
  leat_allocator_free(plan->allocator, instance);
}
