// Partial runs. The signature's graph is rebuilt so that a client can exchange values with a step
// that is running: each argument becomes a Recv, and each fetch gets a Send, which is a target of
// the step:
//
//   client ── send_tensor("feed_0") ─▶ rendezvous ─▶ _Recv ─▶ ... ─▶ _Send ─▶ rendezvous
//   client ◀─ receive_tensor("fetch_0") ──────────────────────────────────────────┘
//
// The keys of both name the client as the device at the other end. The rebuilt graph has no feeds
// and no fetches of its own, so it is compiled and started as any other; missing feeds hold up
// exactly the nodes that depend on them, without a thread. Which fetch needs which feed is found
// once, when the run begins, so that a fetch whose feeds are missing can be refused instead of
// waiting forever.
#include "master/partial_run.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/sync.h"
#include "kernel/cancellation.h"
#include "master/answer.h"

#define CLIENT "client"

struct leat_partial_run_s {
  leat_allocator_t* allocator;
  leat_remote_partial_run_t* remote;  // NULL: the run is of this process, and what follows is set
  leat_worker_t* worker;
  leat_compiled_t* compiled;
  int64_t step_id;
  int feed_count, fetch_count;
  leat_status_code_t dead_fetch_code;
  bool* needs;  // [fetch * feed_count + feed]
  leat_notification_t finished;
  leat_status_t status;  // of the step, once |finished| is open
};

// ---- Which fetch needs which feed ---------------------------------------------------------------

// Walks backwards from each fetch, over data and control edges, to the arguments that it reaches.
static leat_status_t find_needs(leat_partial_run_t* run, const leat_rewrite_t* rewrite) {
  const leat_graph_t* graph = rewrite->graph;
  size_t cells = (size_t)run->fetch_count * (size_t)run->feed_count + 1;
  int32_t* stack;
  int32_t* seen;  // node -> 1 + the last fetch whose walk came to it
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(run->allocator, cells, &run->needs));
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(run->allocator, 2 * graph->node_count + 1, &stack));
  seen = stack + graph->node_count;
  for (int f = 0; f < run->fetch_count; ++f) {
    size_t depth = 0;
    stack[depth++] = rewrite->fetches[f].node;
    seen[rewrite->fetches[f].node] = f + 1;
    while (depth) {
      const leat_node_t* node = &graph->nodes[stack[--depth]];
      if (node->op->flags & LEAT_OP_ARGUMENT) {
        LEAT_DCHECK(leat_node_attr_int(node, "index", -1) >= 0);
        LEAT_DCHECK(leat_node_attr_int(node, "index", 0) < run->feed_count);
        run->needs[f * run->feed_count + leat_node_attr_int(node, "index", 0)] = true;
      }
      for (int k = 0; k < node->input_count + node->control_count; ++k) {
        int32_t source = node->inputs[k].node;
        if (seen[source] == f + 1) continue;
        seen[source] = f + 1;
        stack[depth++] = source;
      }
    }
  }
  leat_allocator_free(run->allocator, stack);
  return leat_ok_status();
}

// ---- The graph ----------------------------------------------------------------------------------

// Adds a Send of |input|, or a Recv where there is no |input|, for feed or fetch |index|, on
// |device|.
static leat_status_t add_transfer(leat_graph_t* graph, leat_string_view_t device,
                                  leat_string_view_t op, const char* what, int index, int dtype,
                                  leat_output_t input, int32_t* out_node) {
  leat_string_view_t key, name;
  leat_arena_t* arena = leat_graph_arena(graph);
  LEAT_RETURN_IF_ERROR(leat_arena_print(arena, &key, "%s_%d", what, index));
  LEAT_RETURN_IF_ERROR(leat_arena_print(arena, &name, "_partial/%s_%d", what, index));
  bool sends = leat_output_exists(input);
  leat_attr_t attrs[] = {LEAT_TYPE("T", dtype), LEAT_STRING("tensor_name", key),
                         LEAT_STR("send_device", CLIENT), LEAT_INT("send_device_incarnation", 0),
                         LEAT_STR("recv_device", CLIENT)};
  if (!sends) attrs[0].name = LEAT_SV("tensor_type");
  leat_node_spec_t spec = {.name = name, .device = device, .inputs = &input, .input_count = sends,
                           .attrs = attrs, .attr_count = 5, .skip_shapes = true};
  LEAT_RETURN_IF_ERROR(leat_op_registry_find(graph->ops, op, &spec.op));
  return leat_graph_add_node(graph, &spec, out_node);
}

// Copies all nodes to |graph|, with a Recv in place of each argument.
static leat_status_t copy_nodes(const leat_graph_t* old, leat_graph_t* graph,
                                leat_string_view_t device, const leat_node_map_t* map) {
  for (size_t i = 0; i < old->node_count; ++i) {
    const leat_node_t* node = &old->nodes[i];
    int32_t copy;
    if (node->op->flags & LEAT_OP_ARGUMENT) {
      LEAT_RETURN_IF_ERROR(add_transfer(graph, device, LEAT_OP_NAME_RECV, "feed",
                                        (int)leat_node_attr_int(node, "index", 0),
                                        node->output_types[0], LEAT_OUTPUT_NONE, &copy));
      graph->nodes[copy].output_shapes[0] = node->output_shapes[0];
    } else {
      LEAT_RETURN_IF_ERROR(leat_node_map_copy_node(graph, node, map, &copy));
    }
  }
  return leat_ok_status();
}

// Copies the nodes, which keep their numbers, and adds the Sends behind them. The Sends become
// targets, and no fetch is left.
static leat_status_t open_ends(leat_rewrite_t* rewrite, leat_graph_t* graph,
                               leat_string_view_t device, const leat_node_map_t* map) {
  int32_t* targets;
  size_t room = (size_t)(rewrite->target_count + rewrite->fetch_count) + 1;
  LEAT_RETURN_IF_ERROR(copy_nodes(rewrite->graph, graph, device, map));
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), room, &targets));
  leat_status_t status = leat_ok_status();
  for (int i = 0; i < rewrite->target_count; ++i) targets[i] = rewrite->targets[i];
  for (int i = 0; i < rewrite->fetch_count && !status; ++i) {
    leat_output_t fetch = rewrite->fetches[i];
    status = add_transfer(graph, device, LEAT_OP_NAME_SEND, "fetch", i,
                          leat_dtype_base(leat_graph_output_type(graph, fetch)), fetch,
                          &targets[rewrite->target_count + i]);
  }
  leat_allocator_free(leat_allocator_system(), rewrite->targets);
  rewrite->targets = targets;
  if (status) return status;
  // Nodes kept their numbers, on which the fetches rely.
  LEAT_DCHECK(graph->node_count == rewrite->graph->node_count + (size_t)rewrite->fetch_count);
  rewrite->target_count += rewrite->fetch_count;
  rewrite->fetch_count = 0;
  return leat_ok_status();
}

// Replaces the graph of |rewrite| by one that exchanges its feeds and fetches through the
// rendezvous, on |device| ("": wherever).
static leat_status_t rebuild(leat_rewrite_t* rewrite, leat_string_view_t device) {
  leat_graph_t* graph;
  leat_node_map_t map = {0};
  size_t count = rewrite->graph->node_count;
  LEAT_RETURN_IF_ERROR(leat_graph_create_child(rewrite->graph, &graph));
  leat_status_t status = LEAT_ALLOCATE(leat_allocator_system(), count + 1, &map.nodes);
  for (size_t i = 0; !status && i < count; ++i) map.nodes[i] = (int32_t)i;
  if (!status) status = open_ends(rewrite, graph, device, &map);
  leat_allocator_free(leat_allocator_system(), map.nodes);
  if (status) {
    leat_graph_free(graph);
    return status;
  }
  leat_graph_free(rewrite->graph);
  rewrite->graph = graph;
  return leat_ok_status();
}

// ---- The step -----------------------------------------------------------------------------------

// A leat_worker_done_fn_t. A failure aborts the step's rendezvous, so that a fetch that waits there
// ends with the step's status.
static void finish(void* data, leat_status_t status) {
  leat_partial_run_t* run = data;
  run->status = status;
  if (status) leat_compiled_abort_step(run->compiled, run->step_id, leat_status_clone(status));
  leat_notification_open(&run->finished);
}

static void free_run(leat_partial_run_t* run) {
  if (!run) return;
  leat_compiled_free(run->compiled);
  leat_status_free(run->status);
  leat_notification_deinitialize(&run->finished);
  leat_allocator_free(run->allocator, run->needs);
  leat_allocator_free(run->allocator, run);
}

leat_status_t leat_partial_run_begin(const leat_master_options_t* options, leat_rewrite_t* rewrite,
                                     int feed_count, leat_partial_run_t** out_run) {
  leat_partial_run_t* run = NULL;
  leat_status_t status;
  LEAT_GOTO_IF_ERROR(status, LEAT_ALLOCATE(options->allocator, 1, &run));
  run->allocator = options->allocator;
  run->dead_fetch_code =
      options->dead_fetch_code ? options->dead_fetch_code : LEAT_INVALID_ARGUMENT;
  run->worker = options->workers[0];
  run->feed_count = feed_count;
  run->fetch_count = rewrite->fetch_count;
  leat_notification_initialize(&run->finished);
  LEAT_GOTO_IF_ERROR(status, find_needs(run, rewrite));
  // In a cluster, the client's ends lie on the master's own task.
  LEAT_GOTO_IF_ERROR(status, rebuild(rewrite, options->worker_count > 1
                                                  ? options->placement.devices[0].name
                                                  : LEAT_SV("")));
  leat_master_options_t unkept = *options;
  unkept.keeps_partitions = false;  // nobody asks for those of a partial run
  LEAT_GOTO_IF_ERROR(status, leat_master_compile(&unkept, rewrite, 0, NULL, &run->compiled));
  run->step_id = leat_master_new_step();
  leat_compiled_call_t call = {.deadline_ns = LEAT_DEADLINE_NEVER,
                               .step_id = run->step_id,
                               .leaves_cleanup = true};
  leat_compiled_start(run->compiled, &call, finish, run);
  *out_run = run;
  return leat_ok_status();

cleanup:
  leat_rewrite_deinitialize(rewrite);  // nothing is left of it where the compiler took it
  free_run(run);
  return status;
}

leat_status_t leat_partial_run_of_remote(leat_remote_partial_run_t* remote,
                                         const leat_rewrite_t* rewrite, int feed_count,
                                         leat_allocator_t* allocator,
                                         leat_partial_run_t** out_run) {
  leat_partial_run_t* run;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(allocator, 1, &run));
  *run = (leat_partial_run_t){.allocator = allocator,
                              .remote = remote,
                              .feed_count = feed_count,
                              .fetch_count = rewrite->fetch_count};
  leat_status_t status = find_needs(run, rewrite);
  if (status) {
    leat_allocator_free(allocator, run->needs);
    leat_allocator_free(allocator, run);
    return status;
  }
  *out_run = run;
  return leat_ok_status();
}

bool leat_partial_run_needs(const leat_partial_run_t* run, int fetch, int feed) {
  LEAT_DCHECK(fetch >= 0 && fetch < run->fetch_count && feed >= 0 && feed < run->feed_count);
  return run->needs[fetch * run->feed_count + feed];
}

// The rendezvous key of a feed or fetch, as _Send and _Recv build it (ops/sendrecv/transfer_cpu.c).
static leat_string_view_t key_of(char* text, size_t size, const char* what, int index) {
  int length = snprintf(text, size, CLIENT ";%016x;" CLIENT ";%s_%d;0:0", 0, what, index);
  return leat_string_view_make(text, (size_t)length);
}

leat_status_t leat_partial_run_feed(leat_partial_run_t* run, int feed, const leat_tensor_t* value) {
  LEAT_DCHECK(feed >= 0 && feed < run->feed_count);
  if (run->remote) return run->remote->vtable->feed(run->remote, feed, value);
  char text[80];
  leat_buffer_mark_lent(value->buffer);
  leat_slot_t slot = {.tensor = leat_tensor_share(value), .alive = true};
  leat_answer_t answer;
  leat_answer_initialize(&answer);
  run->worker->vtable->send_tensor(run->worker, run->step_id,
                                   key_of(text, sizeof text, "feed", feed), slot, leat_answer_give,
                                   &answer);
  return leat_answer_wait(&answer);
}

// A leat_cancel_fn_t: the client's call was cancelled.
static void abort_for_caller(void* data) {
  leat_partial_run_t* run = data;
  leat_compiled_abort_step(
      run->compiled, run->step_id,
      leat_make_status(LEAT_CANCELLED, "Run failed: the caller was cancelled"));
}

// Waits for |answer| to a receive of the run's step. Aborting the step answers it too.
static leat_status_t wait_for_fetch(leat_partial_run_t* run, leat_answer_t* answer,
                                    int64_t deadline_ns, leat_cancellation_t* cancellation) {
  uint64_t token;
  const bool is_registered =
      cancellation && leat_cancellation_register(cancellation, abort_for_caller, run, &token);
  if (cancellation && !is_registered) abort_for_caller(run);
  if (!leat_notification_wait(&answer->done, deadline_ns)) {
    leat_compiled_abort_step(run->compiled, run->step_id, leat_step_timeout());
  }
  leat_status_t status = leat_answer_wait(answer);
  if (is_registered) leat_cancellation_deregister(cancellation, token);
  return status;
}

leat_status_t leat_partial_run_fetch(leat_partial_run_t* run, int fetch, int64_t deadline_ns,
                                     leat_cancellation_t* cancellation, leat_tensor_t* out_value) {
  LEAT_DCHECK(fetch >= 0 && fetch < run->fetch_count);
  if (run->remote) {
    return run->remote->vtable->fetch(run->remote, fetch, deadline_ns, cancellation, out_value);
  }
  char text[80];
  leat_slot_t value = {0};
  leat_answer_t answer;
  leat_answer_initialize(&answer);
  run->worker->vtable->receive_tensor(run->worker, run->step_id,
                                      key_of(text, sizeof text, "fetch", fetch), &value,
                                      leat_answer_give, &answer);
  LEAT_RETURN_IF_ERROR(wait_for_fetch(run, &answer, deadline_ns, cancellation));
  if (!value.alive) {
    return leat_make_status(run->dead_fetch_code,
                            "Run failed: fetch %d was not computed (a dead tensor)", fetch);
  }
  *out_value = value.tensor;
  return leat_ok_status();
}

void leat_partial_run_end(leat_partial_run_t* run) {
  if (!run) return;
  if (run->remote) {
    run->remote->vtable->end(run->remote);
    leat_allocator_free(run->allocator, run->needs);
    leat_allocator_free(run->allocator, run);
    return;
  }
  // Has no effect on a step that has ended already.
  leat_compiled_abort_step(
      run->compiled, run->step_id,
      leat_make_status(LEAT_CANCELLED, "Run failed: the partial run was given up"));
  leat_notification_wait(&run->finished, LEAT_DEADLINE_NEVER);
  leat_compiled_cleanup_step(run->compiled, run->step_id);
  free_run(run);
}
