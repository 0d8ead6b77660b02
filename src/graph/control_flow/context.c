// The contexts of a graph (graph/control_flow/context.h): their lifetimes, which of them is
// current, and where each node is. Each thread that builds has a current context of its own; a
// stack keeps what was current before, so that leaving a construct also leaves what was opened in
// it and never closed. A context notes how high the stack was when it was opened, and takes nothing
// away below that.
//
// The place of a node is noted when the node is added through a context. All other nodes (imported,
// of gradients, of functions) get theirs here the next time it matters, each node once: such a node
// is in the deepest context of what it reads, and an Enter in the loop whose frame it names, since
// gradients add variables to loops. Loops that came with such nodes are no contexts: |foreign|
// counts their frames around a node, so that an Exit of one of them is not taken for an Exit of
// ours. The names of all frames in the graph are collected on the way, since a frame is known by
// its name and a new loop must not share one.
#include "graph/control_flow/construct.h"

// ---- Lifetime -----------------------------------------------------------------------------------

leat_status_t leat_control_flow_create(leat_graph_t* graph, leat_control_flow_t** out_flow) {
  leat_allocator_t* allocator = leat_allocator_system();
  leat_control_flow_t* flow = NULL;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(allocator, 1, &flow));
  flow->graph = graph;
  leat_arena_initialize(allocator, 4096, &flow->arena);
  leat_word_map_initialize(allocator, &flow->context_of);
  leat_word_map_initialize(allocator, &flow->foreign);
  leat_string_map_initialize(allocator, &flow->frames);
  *out_flow = flow;
  return leat_ok_status();
}

static void free_builder(leat_control_flow_t* flow, leat_control_builder_t* builder) {
  leat_allocator_t* allocator = leat_allocator_system();
  leat_control_builder_t** place = &flow->builders;
  while (*place != builder) place = &(*place)->next;
  *place = builder->next;
  leat_allocator_free(allocator, builder->stack);
  leat_allocator_free(allocator, builder);
}

void leat_control_flow_free(leat_control_flow_t* flow) {
  if (!flow) return;
  leat_allocator_t* allocator = leat_allocator_system();
  for (leat_control_context_t* c = flow->contexts; c; c = c->next) {
    leat_word_map_deinitialize(&c->captures);
  }
  leat_word_map_deinitialize(&flow->context_of);
  leat_word_map_deinitialize(&flow->foreign);
  leat_string_map_deinitialize(&flow->frames);
  leat_arena_deinitialize(&flow->arena);
  while (flow->builders) free_builder(flow, flow->builders);
  leat_allocator_free(allocator, flow->fresh);
  leat_allocator_free(allocator, flow);
}

leat_status_t leat_control_create(leat_control_flow_t* flow,
                                  const leat_control_options_t* options,
                                  leat_control_context_t** out_context) {
  leat_control_context_t* c = NULL;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&flow->arena, 1, &c));
  LEAT_RETURN_IF_ERROR(
      leat_arena_print(&flow->arena, &c->scope, "%.*s/", LEAT_SV_ARG(options->name)));
  LEAT_RETURN_IF_ERROR(leat_arena_copy_string(&flow->arena, options->device, &c->device));
  c->flow = flow;
  c->outer = leat_control_flow_current(flow);
  c->loop = c->outer ? c->outer->loop : NULL;
  c->depth = c->outer ? c->outer->depth + 1 : 1;
  c->stage = LEAT_CONTROL_CLOSED;
  c->predicate = c->within = LEAT_OUTPUT_NONE;
  c->pivot = -1;
  leat_word_map_initialize(leat_allocator_system(), &c->captures);
  c->next = flow->contexts;
  flow->contexts = c;
  *out_context = c;
  return leat_ok_status();
}

// ---- The current context ------------------------------------------------------------------------

// Threads are told apart by a number, since their own handles come back when they have ended.
static uint64_t this_thread(void) {
  static _Atomic uint64_t last;
  static LEAT_THREAD_LOCAL uint64_t number;
  if (!number) number = ++last;
  return number;
}

leat_control_builder_t* leat_control_builder(const leat_control_flow_t* flow) {
  leat_control_builder_t* builder = flow->builders;
  if (LEAT_LIKELY(!builder)) return NULL;
  for (const uint64_t thread = this_thread(); builder && builder->thread != thread;) {
    builder = builder->next;
  }
  return builder;
}

leat_control_context_t* leat_control_flow_current(const leat_control_flow_t* flow) {
  const leat_control_builder_t* builder = leat_control_builder(flow);
  return builder ? builder->current : NULL;
}

// The thread's record, made if there is none.
static leat_status_t make_builder(leat_control_flow_t* flow, leat_control_builder_t** out) {
  *out = leat_control_builder(flow);
  if (*out) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, out));
  (*out)->thread = this_thread();
  (*out)->next = flow->builders;
  flow->builders = *out;
  return leat_ok_status();
}

// A record that says nothing is not kept, so that those of threads that have ended do not gather.
static void forget_if_idle(leat_control_flow_t* flow, leat_control_builder_t* builder) {
  if (builder->stack_count == 0) free_builder(flow, builder);
}

static leat_status_t push(leat_control_builder_t* builder, leat_control_context_t* context) {
  LEAT_RETURN_IF_ERROR(LEAT_GROW(leat_allocator_system(), builder->stack_count + 1,
                                 &builder->stack, &builder->stack_capacity));
  builder->stack[builder->stack_count++] = builder->current;
  builder->current = context;
  return leat_ok_status();
}

leat_status_t leat_control_flow_enter(leat_control_flow_t* flow,
                                      leat_control_context_t* context) {
  leat_control_builder_t* builder;
  LEAT_RETURN_IF_ERROR(make_builder(flow, &builder));
  leat_status_t status = push(builder, context);
  forget_if_idle(flow, builder);
  return status;
}

leat_status_t leat_control_open(leat_control_context_t* context, leat_control_stage_t stage) {
  leat_control_flow_t* flow = context->flow;
  leat_control_builder_t* builder;
  LEAT_DCHECK(context->stage == LEAT_CONTROL_CLOSED && stage != LEAT_CONTROL_CLOSED);
  LEAT_RETURN_IF_ERROR(leat_control_flow_enter(flow, context));
  builder = leat_control_builder(flow);
  context->builder = builder;
  context->stack_count = builder->stack_count - 1;
  context->stage = stage;
  context->around = builder->open;
  builder->open = context;
  return leat_ok_status();
}

void leat_control_close(leat_control_context_t* context) {
  leat_control_builder_t* builder = context->builder;
  LEAT_DCHECK(context->stage != LEAT_CONTROL_CLOSED);
  LEAT_DCHECK(context->stack_count < builder->stack_count);
  while (builder->open && builder->open->stack_count >= context->stack_count) {
    builder->open->stage = LEAT_CONTROL_CLOSED;
    builder->open = builder->open->around;
  }
  builder->current = builder->stack[context->stack_count];
  builder->stack_count = context->stack_count;
  forget_if_idle(context->flow, builder);
}

// What is on the stack up to and with the entry of the innermost open construct stays.
void leat_control_flow_leave(leat_control_flow_t* flow) {
  leat_control_builder_t* builder = leat_control_builder(flow);
  if (!builder) return;
  size_t floor = builder->open ? builder->open->stack_count + 1 : 0;
  if (builder->stack_count <= floor) return;
  builder->current = builder->stack[--builder->stack_count];
  forget_if_idle(flow, builder);
}

void leat_control_flow_abandon(leat_control_context_t* context) {
  if (context && context->stage == LEAT_CONTROL_CLOSED) context = context->other;
  if (context && context->stage != LEAT_CONTROL_CLOSED) leat_control_close(context);
}

leat_status_t leat_control_check_stage(const leat_control_context_t* context,
                                       leat_control_stage_t stage, const char* verb) {
  static const char* const names[] = {"its condition", "open", "closed"};
  const char* is = NULL;
  const leat_control_builder_t* builder = leat_control_builder(context->flow);
  if (context->stage != stage) {
    is = names[context->stage];
  } else if (!builder || builder->current != context ||
             builder->stack_count != context->stack_count + 1) {
    is = "not the current context";
  }
  if (!is) return leat_ok_status();
  return leat_make_status(LEAT_FAILED_PRECONDITION,
                          "%s failed for context '%.*s': it is %s, must be %s and current", verb,
                          LEAT_SV_ARG(context->scope), is, names[stage]);
}

// ---- Where nodes are ----------------------------------------------------------------------------

bool leat_control_holds(const leat_control_context_t* outer,
                        const leat_control_context_t* inner) {
  if (!outer) return true;
  while (inner && inner->depth > outer->depth) inner = inner->outer;
  return inner == outer;
}

static leat_control_context_t* context_of(const leat_control_flow_t* flow, int32_t node) {
  uint64_t word = 0;
  leat_word_map_get(&flow->context_of, (uint64_t)node, &word);
  return (leat_control_context_t*)(uintptr_t)word;
}

static uint64_t frames_around(const leat_control_flow_t* flow, int32_t node) {
  uint64_t count = 0;
  leat_word_map_get(&flow->foreign, (uint64_t)node, &count);
  return count;
}

static bool is_exit(const leat_control_flow_t* flow, int32_t node) {
  return flow->graph->nodes[node].op->flags & LEAT_OP_EXIT;
}

leat_control_context_t* leat_control_output_context(const leat_control_flow_t* flow,
                                                    int32_t node) {
  leat_control_context_t* context = context_of(flow, node);
  // An Exit of a loop that is no context stays in the context.
  return context && is_exit(flow, node) && frames_around(flow, node) == 0 ? context->outer
                                                                          : context;
}

bool leat_control_is_around(const leat_control_context_t* loop, int32_t control) {
  const leat_control_context_t* from = leat_control_output_context(loop->flow, control);
  const leat_control_context_t* outer = loop->outer;
  if (!leat_control_holds(from, outer)) return false;
  return !outer || !outer->loop || leat_control_holds(outer->loop, from);
}

// The number of frames which no context made around the outputs of |node|.
static uint64_t frames_around_output(const leat_control_flow_t* flow, int32_t node) {
  uint64_t count = frames_around(flow, node);
  return count > 0 && is_exit(flow, node) ? count - 1 : count;
}

leat_status_t leat_control_put(leat_control_flow_t* flow, int32_t node,
                               const leat_control_context_t* context) {
  const leat_node_t* n = &flow->graph->nodes[node];
  uint64_t frames = 0;
  for (int i = 0; i < n->input_count + n->control_count; ++i) {
    // What closes a loop comes later, and a Merge of a loop under construction may lack it.
    if (!leat_output_exists(n->inputs[i]) || n->inputs[i].node >= node) continue;
    uint64_t around = frames_around_output(flow, n->inputs[i].node);
    if (around > frames) frames = around;
  }
  if (context) {
    LEAT_RETURN_IF_ERROR(
        leat_word_map_set(&flow->context_of, (uint64_t)node, (uintptr_t)context));
  }
  if (frames > 0) LEAT_RETURN_IF_ERROR(leat_word_map_set(&flow->foreign, (uint64_t)node, frames));
  flow->known_nodes = (size_t)node + 1;
  return leat_ok_status();
}

leat_status_t leat_control_note_frame(leat_control_flow_t* flow, int32_t node) {
  leat_string_view_t name = leat_node_attr_string(&flow->graph->nodes[node], "frame_name");
  uint64_t* loop = NULL;
  LEAT_RETURN_IF_ERROR(leat_string_map_insert(&flow->frames, name, 0, &loop, NULL));
  if (*loop) return leat_word_map_set(&flow->context_of, (uint64_t)node, *loop);
  return leat_word_map_set(&flow->foreign, (uint64_t)node, frames_around(flow, node) + 1);
}

// Derives the place of a node from its inputs. A Merge of a conditional reads both branches and is
// in neither. A node whose place could not be noted is tried again.
static leat_status_t derive(leat_control_flow_t* flow, int32_t node) {
  const leat_node_t* n = &flow->graph->nodes[node];
  const uint64_t flags = n->op->flags;
  leat_control_context_t* deepest = NULL;
  for (int i = 0; i < n->input_count + n->control_count; ++i) {
    if (!leat_output_exists(n->inputs[i]) || n->inputs[i].node >= node) continue;
    leat_control_context_t* c = leat_control_output_context(flow, n->inputs[i].node);
    if (c && (!deepest || c->depth > deepest->depth)) deepest = c;
  }
  bool ends_conditional =
      (flags & LEAT_OP_MERGE) && leat_node_closing_input(flow->graph, n) < 0;
  if (ends_conditional && deepest && !deepest->is_loop) deepest = deepest->outer;
  leat_status_t status = leat_control_put(flow, node, deepest);
  if (!status && (flags & LEAT_OP_ENTER)) status = leat_control_note_frame(flow, node);
  if (status) flow->known_nodes = (size_t)node;
  return status;
}

leat_status_t leat_control_catch_up(leat_control_flow_t* flow) {
  while (flow->known_nodes < flow->graph->node_count) {
    LEAT_RETURN_IF_ERROR(derive(flow, (int32_t)flow->known_nodes));
  }
  return leat_ok_status();
}

leat_status_t leat_control_flow_context_of(leat_control_flow_t* flow, int32_t node,
                                           leat_control_context_t** out_context) {
  LEAT_RETURN_IF_ERROR(leat_control_catch_up(flow));
  *out_context = context_of(flow, node);
  return leat_ok_status();
}

// TensorFlow's rule: a value may be read in its own loop and in loops within that one, and a value
// outside all loops everywhere. A value of a branch may be read outside the branch, though it is
// dead there when the other branch runs. Nodes that a client makes into loops and conditionals by
// hand are not judged.
leat_status_t leat_control_check_input(const leat_control_flow_t* flow,
                                       const leat_control_context_t* context,
                                       leat_output_t value, const leat_op_t* op,
                                       leat_string_view_t reader) {
  const leat_control_context_t* place = leat_control_output_context(flow, value.node);
  const leat_control_context_t* from = place ? place->loop : NULL;
  const leat_control_context_t* to = context ? context->loop : NULL;
  if (leat_control_holds(from, to)) return leat_ok_status();
  if (!to && (op->flags & (LEAT_OP_ENTER | LEAT_OP_SWITCH))) return leat_ok_status();
  leat_string_view_t name = flow->graph->nodes[value.node].name;
  if (!to) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Cannot use '%.*s' as input to '%.*s' because '%.*s' is in a while "
                            "loop ('%.*s')",
                            LEAT_SV_ARG(name), LEAT_SV_ARG(reader), LEAT_SV_ARG(name),
                            LEAT_SV_ARG(from->frame));
  }
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Cannot use '%.*s' as input to '%.*s' because they are in different "
                          "while loops ('%.*s' and '%.*s')",
                          LEAT_SV_ARG(name), LEAT_SV_ARG(reader), LEAT_SV_ARG(from->frame),
                          LEAT_SV_ARG(to->frame));
}

// ---- Changes ------------------------------------------------------------------------------------

leat_status_t leat_control_change_begin(leat_control_flow_t* flow,
                                        leat_control_change_t* out_change) {
  LEAT_RETURN_IF_ERROR(leat_control_catch_up(flow));
  flow->fresh_count = 0;
  *out_change = (leat_control_change_t){leat_graph_mark(flow->graph), flow->frames.count};
  return leat_ok_status();
}

leat_status_t leat_control_change_end(leat_control_flow_t* flow,
                                      const leat_control_change_t* change, leat_status_t status) {
  if (leat_status_is_ok(status)) return status;
  for (size_t i = 0; i < flow->fresh_count; ++i) {
    leat_word_map_erase(&flow->fresh[i].context->captures, flow->fresh[i].key);
  }
  flow->fresh_count = 0;
  for (size_t i = change->mark.node_count; i < flow->graph->node_count; ++i) {
    leat_word_map_erase(&flow->context_of, i);
    leat_word_map_erase(&flow->foreign, i);
  }
  if (flow->known_nodes > change->mark.node_count) flow->known_nodes = change->mark.node_count;
  leat_string_map_truncate(&flow->frames, change->frame_count);
  leat_graph_return_to(flow->graph, &change->mark);
  return status;
}
