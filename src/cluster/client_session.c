// A step is one call, on whose answer its thread waits (client_call.h). The answer is read where it
// arrives, on a thread of the engine, so that a large value is copied once: from the answer's bytes
// into its tensor. The graph is sent under a mutex before a step that needs new nodes, so that the
// master's version and the session's never differ.
#include "cluster/client_session.h"

#include <stdio.h>
#include <string.h>

#include "cluster/client_call.h"
#include "cluster/security.h"
#include "formats/generated/master_service.h"
#include "formats/generated/run_metadata.h"
#include "formats/wire/decode.h"
#include "formats/wire/encode.h"
#include "formats/wire/tensor_content.h"
#include "graph/import/export.h"
#include "master/partial_run.h"
#include "trace/collector.h"

#define SCHEME "grpc://"
#define FULL_TRACE 3  // of RunOptions.TraceLevel
// How long a master has to end a session.
#define CLOSE_TIMEOUT_MS 10000

typedef struct client_session_s {
  leat_remote_session_t base;
  leat_allocator_t* allocator;
  leat_rpc_channel_t* channel;
  char* address;
  char* handle;            // the master's name of the session; NULL: there is none
  int64_t timeout_ms;      // of a step that has none of its own; 0: none
  leat_mutex_t mutex;      // guards the graph's state, and is held while the graph is sent
  int64_t graph_version;   // the master's
  size_t sent_nodes;
  leat_client_calls_t calls;
} client_session_t;

static leat_status_t call(client_session_t* session, const char* method,
                          const leat_message_descriptor_t* descriptor, const void* message,
                          int64_t deadline_ns, leat_client_call_kind_t kind,
                          leat_cancellation_t* cancellation, leat_client_read_fn_t read,
                          void* data) {
  const leat_client_call_t call = {.address = leat_string_view_from(session->address),
                                   .channel = session->channel,
                                   .method = method,
                                   .descriptor = descriptor,
                                   .message = message,
                                   .deadline_ns = deadline_ns,
                                   .kind = kind,
                                   .cancellation = cancellation,
                                   .read = read,
                                   .data = data};
  return leat_client_call(&session->calls, &call);
}

// ---- Life ---------------------------------------------------------------------------------------

bool leat_client_session_is_target(leat_string_view_t target, leat_string_view_t* out_address) {
  if (!leat_string_view_starts_with(target, LEAT_SV(SCHEME))) return false;
  *out_address = leat_string_view_from_index(target, strlen(SCHEME));
  return true;
}

static void close_session(leat_remote_session_t* base) {
  client_session_t* session = (client_session_t*)base;
  leat_client_calls_close(&session->calls);
  if (session->handle) {
    const leat_pb_close_session_request_t request = {
        .session_handle = leat_string_view_from(session->handle)};
    // A master that is gone has no session to end.
    leat_status_free(call(session, "/tensorflow.MasterService/CloseSession",
                          &leat_pb_close_session_request_descriptor, &request,
                          leat_clock_deadline_after_ms(CLOSE_TIMEOUT_MS),
                          LEAT_CLIENT_CALL_CLOSES, NULL, NULL, NULL));
  }
  leat_client_calls_cancel(&session->calls);
}

static void destroy_session(leat_remote_session_t* base) {
  client_session_t* session = (client_session_t*)base;
  leat_allocator_t* allocator = session->allocator;
  leat_rpc_channel_free(session->channel);
  leat_mutex_deinitialize(&session->mutex);
  leat_client_calls_deinitialize(&session->calls);
  leat_allocator_free(allocator, session->handle);
  leat_allocator_free(allocator, session->address);
  leat_allocator_free(allocator, session);
}

static leat_status_t run_step(leat_remote_session_t* base, leat_shared_graph_t* graph,
                              const leat_run_t* run);
static leat_status_t begin_partial(leat_remote_session_t* base, leat_shared_graph_t* graph,
                                   const leat_run_t* run, leat_remote_partial_run_t** out_run);
static const leat_remote_session_vtable_t kVtable = {run_step, begin_partial, close_session,
                                                     destroy_session};

// A session that the master does not know yet.
static leat_status_t make_session(leat_string_view_t address, leat_allocator_t* allocator,
                                  client_session_t** out_session) {
  client_session_t* session;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(allocator, 1, &session));
  session->base.vtable = &kVtable;
  session->allocator = allocator;
  leat_mutex_initialize(&session->mutex);
  leat_client_calls_initialize(&session->calls);
  leat_status_t status =
      leat_allocator_clone_string(allocator, address.data, address.size, &session->address);
  if (!status) status = leat_security_open_channel(address, &session->channel);
  if (status) {
    destroy_session(&session->base);
    return status;
  }
  *out_session = session;
  return status;
}

static leat_status_t read_created(void* data, leat_string_view_t answer) {
  client_session_t* session = data;
  leat_arena_t arena;
  leat_pb_create_session_response_t response;
  leat_arena_initialize(session->allocator, 0, &arena);
  leat_status_t status = leat_message_decode(&leat_pb_create_session_response_descriptor, answer,
                                             &arena, NULL, &response);
  if (!status) {
    session->graph_version = response.graph_version;
    status = leat_allocator_clone_string(session->allocator, response.session_handle.data,
                                         response.session_handle.size, &session->handle);
  }
  leat_arena_deinitialize(&arena);
  return status;
}

static leat_status_t add_devices(const leat_pb_device_attributes_list_t* devices,
                                 leat_target_t* target) {
  for (size_t i = 0; i < devices->count; ++i) {
    const leat_pb_device_attributes_t* device = &devices->items[i];
    leat_placement_device_t* entry = &target->remote_devices[target->remote_device_count];
    entry->memory_limit_bytes = device->memory_limit;
    entry->incarnation = device->incarnation;
    LEAT_RETURN_IF_ERROR(leat_arena_copy_string(target->names, device->name, &entry->name));
    LEAT_RETURN_IF_ERROR(leat_arena_copy_string(target->names, device->device_type, &entry->type));
    ++target->remote_device_count;
  }
  return leat_ok_status();
}

static leat_status_t read_devices(void* data, leat_string_view_t answer) {
  leat_target_t* target = data;
  leat_allocator_t* allocator = leat_allocator_system();
  leat_pb_list_devices_response_t response;
  LEAT_RETURN_IF_ERROR(leat_message_decode(&leat_pb_list_devices_response_descriptor, answer,
                                           target->names, NULL, &response));
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(
      allocator, response.local_device.count + response.remote_device.count + 1,
      &target->remote_devices));
  LEAT_RETURN_IF_ERROR(add_devices(&response.local_device, target));
  return add_devices(&response.remote_device, target);
}

static leat_status_t open_session(client_session_t* session, const leat_session_options_t* options,
                                  leat_target_t* target) {
  const int64_t deadline_ns = leat_clock_deadline_after_ms(
      options->open_timeout_ms > 0 ? options->open_timeout_ms : session->timeout_ms);
  char address[320];  // by which a master finds itself in ConfigProto.cluster_def
  snprintf(address, sizeof address, SCHEME "%s", session->address);
  const leat_pb_create_session_request_t create = {.config = options->config,
                                                   .target = leat_string_view_from(address)};
  LEAT_RETURN_IF_ERROR(call(session, "/tensorflow.MasterService/CreateSession",
                            &leat_pb_create_session_request_descriptor, &create, deadline_ns,
                            LEAT_CLIENT_CALL_OPENS, NULL, read_created, session));
  const leat_pb_list_devices_request_t list = {
      .session_handle = leat_string_view_from(session->handle)};
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(session->allocator, 1, &target->names));
  leat_arena_initialize(session->allocator, 0, target->names);
  return call(session, "/tensorflow.MasterService/ListDevices",
              &leat_pb_list_devices_request_descriptor, &list, deadline_ns,
              LEAT_CLIENT_CALL_OPENS, NULL, read_devices, target);
}

leat_status_t leat_client_session_open(leat_string_view_t address,
                                       const leat_session_options_t* options,
                                       leat_allocator_t* allocator, leat_target_t* out_target) {
  client_session_t* session;
  LEAT_RETURN_IF_ERROR(make_session(address, allocator, &session));
  session->timeout_ms = options->operation_timeout_ms;
  out_target->remote = &session->base;
  leat_status_t status = open_session(session, options, out_target);
  if (!status) return status;
  status = leat_status_annotate(status, "Creating a session at %s%s", SCHEME, session->address);
  close_session(&session->base);
  leat_target_deinitialize(out_target, allocator);
  return status;
}

leat_status_t leat_client_session_reset(leat_string_view_t address, const char* const* containers,
                                        size_t count, int64_t timeout_ms) {
  client_session_t* session;
  leat_arena_t arena;
  leat_pb_reset_request_t request = {.container = {.count = count}};
  LEAT_RETURN_IF_ERROR(make_session(address, leat_allocator_system(), &session));
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_status_t status = LEAT_NEW(&arena, count + 1, &request.container.items);
  for (size_t i = 0; i < count && !status; ++i) {
    request.container.items[i] = leat_string_view_from(containers[i] ? containers[i] : "");
  }
  if (!status) {
    const bool is_limited = timeout_ms > 0;
    status = call(session, "/tensorflow.MasterService/Reset", &leat_pb_reset_request_descriptor,
                  &request,
                  is_limited ? leat_clock_deadline_after_ms(timeout_ms) : LEAT_DEADLINE_NEVER,
                  is_limited ? LEAT_CLIENT_CALL_OPENS : LEAT_CLIENT_CALL_CLOSES, NULL, NULL, NULL);
  }
  leat_arena_deinitialize(&arena);
  destroy_session(&session->base);
  return status;
}

// ---- The graph ----------------------------------------------------------------------------------

static leat_status_t read_extended(void* data, leat_string_view_t answer) {
  client_session_t* session = data;
  leat_arena_t arena;
  leat_pb_extend_session_response_t response;
  leat_arena_initialize(session->allocator, 0, &arena);
  leat_status_t status = leat_message_decode(&leat_pb_extend_session_response_descriptor, answer,
                                             &arena, NULL, &response);
  if (!status) session->graph_version = response.new_graph_version;
  leat_arena_deinitialize(&arena);
  return status;
}

// Sends the nodes that were added since the last call, with the graph's functions.
static leat_status_t send_graph(client_session_t* session, leat_shared_graph_t* graph,
                                int64_t deadline_ns) {
  leat_string_builder_t bytes;
  leat_string_builder_initialize(session->allocator, &bytes);
  leat_mutex_lock(&graph->mutex);
  const size_t count = graph->graph->node_count;
  leat_status_t status = leat_ok_status();
  if (count > session->sent_nodes) {
    status = leat_graph_export_from(graph->graph, session->sent_nodes, &bytes);
    if (!status) status = leat_graph_export_lines(graph->graph, session->sent_nodes, &bytes);
  }
  leat_mutex_unlock(&graph->mutex);
  if (!status && count > session->sent_nodes) {
    const leat_pb_extend_session_request_t request = {
        .session_handle = leat_string_view_from(session->handle),
        .graph_def = leat_string_builder_view(&bytes),
        .current_graph_version = session->graph_version};
    status = call(session, "/tensorflow.MasterService/ExtendSession",
                  &leat_pb_extend_session_request_descriptor, &request, deadline_ns,
                  LEAT_CLIENT_CALL_STEP, NULL, read_extended, session);
    if (!status) session->sent_nodes = count;
  }
  leat_string_builder_deinitialize(&bytes);
  return status;
}

// ---- Steps --------------------------------------------------------------------------------------

typedef struct step_s {
  const leat_run_t* run;
  leat_arena_t arena;
  leat_pb_run_step_request_t request;
} step_t;

static leat_status_t name_output(const leat_graph_t* graph, leat_output_t output,
                                 leat_arena_t* arena, leat_string_view_t* out_name) {
  const leat_string_view_t node = graph->nodes[output.node].name;
  char* text = NULL;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, node.size + 16, &text));
  const int size =
      snprintf(text, node.size + 16, "%.*s:%d", LEAT_SV_ARG(node), output.index);
  *out_name = leat_string_view_make(text, (size_t)size);
  return leat_ok_status();
}

// Makes names of the step's edges. The graph's lock is held.
static leat_status_t name_edges(const leat_graph_t* graph, step_t* step) {
  const leat_run_t* run = step->run;
  leat_pb_run_step_request_t* request = &step->request;
  leat_arena_t* arena = &step->arena;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, (size_t)run->feed_count + 1, &request->feed.items));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, (size_t)run->fetch_count + 1, &request->fetch.items));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, (size_t)run->target_count + 1, &request->target.items));
  request->feed.count = (size_t)run->feed_count;
  request->fetch.count = (size_t)run->fetch_count;
  request->target.count = (size_t)run->target_count;
  for (int i = 0; i < run->feed_count; ++i) {
    LEAT_RETURN_IF_ERROR(
        name_output(graph, run->feeds[i], arena, &request->feed.items[i].name));
  }
  for (int i = 0; i < run->fetch_count; ++i) {
    LEAT_RETURN_IF_ERROR(name_output(graph, run->fetches[i], arena, &request->fetch.items[i]));
  }
  for (int i = 0; i < run->target_count; ++i) {
    LEAT_RETURN_IF_ERROR(leat_arena_copy_string(arena, graph->nodes[run->targets[i]].name,
                                                &request->target.items[i]));
  }
  return leat_ok_status();
}

// The feeds' bytes stay where they are until they are encoded.
static leat_status_t write_feeds(step_t* step) {
  for (int i = 0; i < step->run->feed_count; ++i) {
    leat_pb_named_tensor_proto_t* feed = &step->request.feed.items[i];
    LEAT_RETURN_IF_ERROR(LEAT_NEW(&step->arena, 1, &feed->tensor));
    LEAT_RETURN_IF_ERROR(
        leat_tensor_to_content(&step->run->feed_values[i], &step->arena, feed->tensor));
  }
  return leat_ok_status();
}

// The value of |name|. Values mostly come in the order of their names, hence the search begins
// where the last one ended.
static const leat_pb_tensor_proto_t* find_value(const leat_pb_run_step_response_t* response,
                                                leat_string_view_t name, size_t* inout_at) {
  for (size_t i = 0; i < response->tensor.count; ++i) {
    const size_t at = (*inout_at + i) % response->tensor.count;
    if (!leat_string_view_equal(response->tensor.items[at].name, name)) continue;
    *inout_at = at + 1;
    return response->tensor.items[at].tensor;
  }
  return NULL;
}

static leat_status_t read_fetches(step_t* step, const leat_pb_run_step_response_t* response) {
  const leat_run_t* run = step->run;
  size_t at = 0;
  leat_status_t status = leat_ok_status();
  int count = 0;
  for (; count < run->fetch_count && !status; ++count) {
    const leat_string_view_t name = step->request.fetch.items[count];
    const leat_pb_tensor_proto_t* value = find_value(response, name, &at);
    run->fetch_values[count] = (leat_tensor_t){0};
    status = value ? leat_tensor_from_content(value, &step->arena, leat_buffer_source_host(),
                                              &run->fetch_values[count])
                   : leat_make_status(LEAT_INTERNAL,
                                      "Run failed: the master's answer has no value of '%.*s'",
                                      LEAT_SV_ARG(name));
  }
  while (status && count > 0) leat_tensor_release(&run->fetch_values[--count]);
  return status;
}

// Appends the graphs of the devices and how they came about to |out|, as fields of a RunMetadata. A
// master of TensorFlow's tells the first alone.
static leat_status_t keep_graphs(const leat_pb_run_metadata_t* metadata,
                                 leat_string_builder_t* out) {
  const leat_pb_run_metadata_t graphs = {.partition_graphs = metadata->partition_graphs,
                                         .graph_stages = metadata->graph_stages,
                                         .placement = metadata->placement};
  return leat_message_encode(&leat_pb_run_metadata_descriptor, &graphs, out);
}

// Adds what the master recorded of the step.
static leat_status_t read_metadata(step_t* step, leat_string_view_t bytes) {
  leat_pb_run_metadata_t metadata;
  LEAT_RETURN_IF_ERROR(leat_message_decode(&leat_pb_run_metadata_descriptor, bytes, &step->arena,
                                           NULL, &metadata));
  if (step->run->collector && metadata.step_stats) {
    leat_step_collector_add_stats(step->run->collector, metadata.step_stats);
  }
  return step->run->out_graphs ? keep_graphs(&metadata, step->run->out_graphs) : leat_ok_status();
}

static leat_status_t read_step(void* data, leat_string_view_t answer) {
  step_t* step = data;
  leat_pb_run_step_response_t response;
  LEAT_RETURN_IF_ERROR(leat_message_decode(&leat_pb_run_step_response_descriptor, answer,
                                           &step->arena, NULL, &response));
  if (response.status_code) {
    return leat_make_status((leat_status_code_t)response.status_code, "%.*s",
                            LEAT_SV_ARG(response.status_error_message));
  }
  if (step->run->collector || step->run->out_graphs) {
    LEAT_RETURN_IF_ERROR(read_metadata(step, response.metadata));
  }
  return read_fetches(step, &response);
}

static leat_status_t make_step(client_session_t* session, leat_shared_graph_t* graph,
                               step_t* step) {
  leat_mutex_lock(&graph->mutex);
  leat_status_t status = name_edges(graph->graph, step);
  leat_mutex_unlock(&graph->mutex);
  LEAT_RETURN_IF_ERROR(status);
  step->request.session_handle = leat_string_view_from(session->handle);
  step->request.store_errors_in_response_body = true;
  return write_feeds(step);
}

static leat_status_t run_step(leat_remote_session_t* base, leat_shared_graph_t* graph,
                              const leat_run_t* run) {
  client_session_t* session = (client_session_t*)base;
  const int64_t timeout_ms = run->timeout_ms > 0 ? run->timeout_ms : session->timeout_ms;
  const int64_t deadline_ns = leat_clock_deadline_after_ms(timeout_ms);
  leat_pb_run_options_experimental_t keys = {.collective_graph_key = run->collective_graph_key};
  const leat_pb_run_options_t options = {.timeout_in_ms = timeout_ms > 0 ? timeout_ms : 0,
                                         .trace_level = run->collector ? FULL_TRACE : 0,
                                         .output_partition_graphs = run->out_graphs != NULL,
                                         .experimental = &keys};
  step_t step = {.run = run, .request = {.options = (leat_pb_run_options_t*)&options}};
  leat_arena_initialize(session->allocator, 0, &step.arena);
  leat_mutex_lock(&session->mutex);
  leat_status_t status = send_graph(session, graph, deadline_ns);
  leat_mutex_unlock(&session->mutex);
  if (!status) status = make_step(session, graph, &step);
  if (!status) {
    status = call(session, "/tensorflow.MasterService/RunStep",
                  &leat_pb_run_step_request_descriptor, &step.request, deadline_ns,
                  LEAT_CLIENT_CALL_STEP, run->cancellation, read_step, &step);
  }
  leat_arena_deinitialize(&step.arena);
  return status;
}

// ---- Partial runs -------------------------------------------------------------------------------

// A partial run at the master. A fed value is kept until a fetch is asked for, whose call takes
// along all that were fed since the last one.
typedef struct client_partial_s {
  leat_remote_partial_run_t base;
  client_session_t* session;
  step_t step;            // the names of all feeds and fetches
  leat_run_t run;         // of |step|; only its counts are valid
  char* handle;
  leat_tensor_t* values;  // [feed_count], those that are not sent yet
  bool* is_waiting;       // [feed_count], which these are
} client_partial_t;

static leat_status_t keep_feed(leat_remote_partial_run_t* base, int feed,
                               const leat_tensor_t* value) {
  client_partial_t* partial = (client_partial_t*)base;
  leat_buffer_mark_lent(value->buffer);
  partial->values[feed] = leat_tensor_share(value);
  partial->is_waiting[feed] = true;
  return leat_ok_status();
}

// Adds the values that wait to the request.
static leat_status_t take_feeds(client_partial_t* partial, step_t* step) {
  leat_pb_named_tensor_proto_list_t* feeds = &step->request.feed;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&step->arena, (size_t)partial->run.feed_count + 1, &feeds->items));
  for (int i = 0; i < partial->run.feed_count; ++i) {
    if (!partial->is_waiting[i]) continue;
    leat_pb_named_tensor_proto_t* feed = &feeds->items[feeds->count++];
    feed->name = partial->step.request.feed.items[i].name;
    LEAT_RETURN_IF_ERROR(LEAT_NEW(&step->arena, 1, &feed->tensor));
    LEAT_RETURN_IF_ERROR(leat_tensor_to_content(&partial->values[i], &step->arena, feed->tensor));
  }
  return leat_ok_status();
}

static void drop_feeds(client_partial_t* partial) {
  for (int i = 0; i < partial->run.feed_count; ++i) {
    if (partial->is_waiting[i]) leat_tensor_release(&partial->values[i]);
    partial->is_waiting[i] = false;
  }
}

static leat_status_t take_fetch(leat_remote_partial_run_t* base, int fetch, int64_t deadline_ns,
                                leat_cancellation_t* cancellation, leat_tensor_t* out_value) {
  client_partial_t* partial = (client_partial_t*)base;
  client_session_t* session = partial->session;
  const leat_run_t run = {.fetch_count = 1, .fetch_values = out_value};
  step_t step = {
      .run = &run,
      .request = {.session_handle = leat_string_view_from(session->handle),
                  .partial_run_handle = leat_string_view_from(partial->handle),
                  .fetch = {&partial->step.request.fetch.items[fetch], 1},
                  .store_errors_in_response_body = true}};
  leat_arena_initialize(session->allocator, 0, &step.arena);
  leat_status_t status = take_feeds(partial, &step);
  if (!status) {
    status = call(session, "/tensorflow.MasterService/RunStep",
                  &leat_pb_run_step_request_descriptor, &step.request, deadline_ns,
                  LEAT_CLIENT_CALL_STEP, cancellation, read_step, &step);
  }
  drop_feeds(partial);
  leat_arena_deinitialize(&step.arena);
  return status;
}

// The master ends a run that is complete, and one that is abandoned after some time.
static void end_partial(leat_remote_partial_run_t* base) {
  client_partial_t* partial = (client_partial_t*)base;
  leat_allocator_t* allocator = partial->session->allocator;
  if (partial->is_waiting) drop_feeds(partial);
  leat_arena_deinitialize(&partial->step.arena);
  leat_allocator_free(allocator, partial->handle);
  leat_allocator_free(allocator, partial);
}

static leat_status_t read_partial(void* data, leat_string_view_t answer) {
  client_partial_t* partial = data;
  leat_pb_partial_run_setup_response_t response;
  LEAT_RETURN_IF_ERROR(leat_message_decode(&leat_pb_partial_run_setup_response_descriptor, answer,
                                           &partial->step.arena, NULL, &response));
  return leat_allocator_clone_string(partial->session->allocator, response.partial_run_handle.data,
                                     response.partial_run_handle.size, &partial->handle);
}

static leat_status_t set_up(client_partial_t* partial, leat_shared_graph_t* graph) {
  client_session_t* session = partial->session;
  step_t* step = &partial->step;
  leat_pb_string_list_t feeds = {.count = (size_t)partial->run.feed_count};
  const int64_t deadline_ns = leat_clock_deadline_after_ms(session->timeout_ms);
  leat_mutex_lock(&session->mutex);
  leat_status_t status = send_graph(session, graph, deadline_ns);
  leat_mutex_unlock(&session->mutex);
  LEAT_RETURN_IF_ERROR(status);
  leat_mutex_lock(&graph->mutex);
  status = name_edges(graph->graph, step);
  leat_mutex_unlock(&graph->mutex);
  LEAT_RETURN_IF_ERROR(status);
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&step->arena, feeds.count + 1, &feeds.items));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&step->arena, feeds.count + 1, &partial->values));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&step->arena, feeds.count + 1, &partial->is_waiting));
  for (size_t i = 0; i < feeds.count; ++i) feeds.items[i] = step->request.feed.items[i].name;
  const leat_pb_partial_run_setup_request_t request = {
      .session_handle = leat_string_view_from(session->handle),
      .feed = feeds,
      .fetch = step->request.fetch,
      .target = step->request.target};
  return call(session, "/tensorflow.MasterService/PartialRunSetup",
              &leat_pb_partial_run_setup_request_descriptor, &request, deadline_ns,
              LEAT_CLIENT_CALL_STEP, NULL, read_partial, partial);
}

static leat_status_t begin_partial(leat_remote_session_t* base, leat_shared_graph_t* graph,
                                   const leat_run_t* run, leat_remote_partial_run_t** out_run) {
  static const leat_remote_partial_run_vtable_t kPartialVtable = {keep_feed, take_fetch,
                                                                  end_partial};
  client_session_t* session = (client_session_t*)base;
  client_partial_t* partial;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(session->allocator, 1, &partial));
  partial->base.vtable = &kPartialVtable;
  partial->session = session;
  partial->run = *run;
  partial->step.run = &partial->run;
  leat_arena_initialize(session->allocator, 0, &partial->step.arena);
  leat_status_t status = set_up(partial, graph);
  *out_run = status ? NULL : &partial->base;
  if (status) end_partial(&partial->base);
  return status;
}
