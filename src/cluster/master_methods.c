// The methods of tensorflow.MasterService. A step runs on the thread of its call, which may block
// (cluster/rpc.h). It ends early when the client cancels the call or its deadline passes: a
// cancellation is cancelled then, of which the session makes an abort on every task.
//
//   RunStep ─▶ find names ─▶ read feeds ─▶ leat_master_session_run ─▶ write fetches, sorted by name
//
// Failures of a step travel in the answer's body where the client asks for it, as all of
// TensorFlow's do.
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cluster/cluster_target.h"
#include "cluster/master_session.h"
#include "cluster/remote_task.h"
#include "cluster/service.h"
#include "formats/generated/master_service.h"
#include "formats/generated/worker_service.h"
#include "formats/wire/decode.h"
#include "formats/wire/tensor_content.h"

// ---- Sessions -----------------------------------------------------------------------------------

static void create_session(leat_service_call_t* call, const void* message) {
  leat_pb_create_session_response_t response = {0};
  leat_status_t status =
      leat_master_session_create(call->task, message, call->request->peer,
                                 call->request->deadline_ns, &call->arena,
                                 &response.session_handle);
  leat_service_answer(call, status, &leat_pb_create_session_response_descriptor, &response);
}

static void extend_session(leat_service_call_t* call, const void* message) {
  const leat_pb_extend_session_request_t* request = message;
  leat_pb_extend_session_response_t response = {0};
  leat_master_session_t* session = NULL;
  leat_status_t status = leat_master_session_find(call->task, request->session_handle, &session);
  if (!status) {
    status = leat_master_session_extend(session, request->graph_def,
                                        request->current_graph_version,
                                        &response.new_graph_version);
  }
  leat_master_session_release(session);
  leat_service_answer(call, status, &leat_pb_extend_session_response_descriptor, &response);
}

static void close_session(leat_service_call_t* call, const void* message) {
  const leat_pb_close_session_request_t* request = message;
  leat_service_answer(call, leat_master_session_close(call->task, request->session_handle), NULL,
                      NULL);
}

// ---- Steps --------------------------------------------------------------------------------------

// What a step needs while it runs. Its values are released, and its call answered, at its end.
typedef struct step_s {
  leat_service_call_t* call;
  leat_master_session_t* session;  // retained
  leat_named_step_t named;
  leat_tensor_t* feeds;
  leat_tensor_t* fetches;
  leat_string_builder_t metadata;
  leat_cancellation_t* cancellation;
} step_t;

static void cancel_step(void* data) { leat_cancellation_cancel(data); }

static void begin_step(leat_service_call_t* call, step_t* out_step) {
  *out_step = (step_t){.call = call};
  leat_string_builder_initialize(leat_allocator_system(), &out_step->metadata);
}

// Releases all but the call, whose client may be told that it was cancelled no more.
static void end_step(step_t* step) {
  leat_rpc_request_on_cancel(step->call->request, NULL, NULL);
  for (int i = 0; step->feeds && i < step->named.feed_count; ++i) {
    leat_tensor_release(&step->feeds[i]);
  }
  for (int i = 0; step->fetches && i < step->named.fetch_count; ++i) {
    leat_tensor_release(&step->fetches[i]);
  }
  leat_string_builder_deinitialize(&step->metadata);
  leat_cancellation_release(step->cancellation);
  leat_master_session_release(step->session);
}

// Makes room for values, and lets the client's cancellation reach the step.
static leat_status_t prepare_step(step_t* step) {
  leat_arena_t* arena = &step->call->arena;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, (size_t)step->named.feed_count + 1, &step->feeds));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, (size_t)step->named.fetch_count + 1, &step->fetches));
  LEAT_RETURN_IF_ERROR(leat_cancellation_create(leat_allocator_system(), &step->cancellation));
  leat_rpc_request_on_cancel(step->call->request, cancel_step, step->cancellation);
  return leat_ok_status();
}

// Runs a step with the values of |protos|; failed or not, the step is to be ended.
static leat_status_t run(step_t* step, const leat_pb_tensor_proto_t* const* protos,
                         const leat_pb_run_options_t* options) {
  leat_service_call_t* call = step->call;
  LEAT_RETURN_IF_ERROR(prepare_step(step));
  LEAT_RETURN_IF_ERROR(
      leat_named_step_read_feeds(&step->named, protos, &call->arena, step->feeds));
  return leat_master_session_run(step->session, &step->named, step->feeds, options,
                                 call->request->deadline_ns, step->cancellation, step->fetches,
                                 &step->metadata);
}

// ---- RunStep ------------------------------------------------------------------------------------

static int compare_names(const void* a, const void* b) {
  return leat_string_view_compare(*(const leat_string_view_t*)a, *(const leat_string_view_t*)b);
}

// The names of |list|, each once, sorted.
static leat_status_t sort_names(const leat_pb_string_list_t* list, leat_arena_t* arena,
                                leat_pb_string_list_t* out_list) {
  *out_list = (leat_pb_string_list_t){0};
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, list->count + 1, &out_list->items));
  if (list->count) memcpy(out_list->items, list->items, list->count * sizeof *list->items);
  qsort(out_list->items, list->count, sizeof *list->items, compare_names);
  for (size_t i = 0; i < list->count; ++i) {
    const leat_string_view_t name = out_list->items[i];
    if (i == 0 || !leat_string_view_equal(name, out_list->items[out_list->count - 1])) {
      out_list->items[out_list->count++] = name;
    }
  }
  return leat_ok_status();
}

// Splits the feeds of a request into names and values.
static leat_status_t split_feeds(const leat_pb_named_tensor_proto_list_t* feeds,
                                 leat_arena_t* arena, leat_pb_string_list_t* out_names,
                                 const leat_pb_tensor_proto_t*** out_protos) {
  out_names->count = feeds->count;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, feeds->count + 1, &out_names->items));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, feeds->count + 1, out_protos));
  for (size_t i = 0; i < feeds->count; ++i) {
    out_names->items[i] = feeds->items[i].name;
    (*out_protos)[i] = feeds->items[i].tensor;
  }
  return leat_ok_status();
}

static leat_status_t write_fetches(const step_t* step, const leat_pb_string_list_t* names,
                                   leat_pb_run_step_response_t* response) {
  leat_arena_t* arena = &step->call->arena;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, names->count + 1, &response->tensor.items));
  for (size_t i = 0; i < names->count; ++i) {
    leat_pb_named_tensor_proto_t* item = &response->tensor.items[i];
    item->name = names->items[i];
    LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, 1, &item->tensor));
    LEAT_RETURN_IF_ERROR(leat_tensor_to_content(&step->fetches[i], arena, item->tensor));
  }
  response->tensor.count = names->count;
  return leat_ok_status();
}

// Runs the step that |request| asks for and fills the response.
static leat_status_t serve_step(step_t* step, const leat_pb_run_step_request_t* request,
                                leat_pb_run_step_response_t* response) {
  leat_service_call_t* call = step->call;
  leat_pb_string_list_t feeds = {0}, fetches = {0};
  const leat_pb_tensor_proto_t** protos;
  LEAT_RETURN_IF_ERROR(leat_task_note_request(call->task, request->request_id, "RunStep"));
  LEAT_RETURN_IF_ERROR(
      leat_master_session_find(call->task, request->session_handle, &step->session));
  LEAT_RETURN_IF_ERROR(split_feeds(&request->feed, &call->arena, &feeds, &protos));
  LEAT_RETURN_IF_ERROR(sort_names(&request->fetch, &call->arena, &fetches));
  LEAT_RETURN_IF_ERROR(leat_master_session_resolve(step->session, &feeds, &fetches,
                                                   &request->target, &call->arena,
                                                   &step->named));
  if (request->partial_run_handle.size) {
    LEAT_RETURN_IF_ERROR(prepare_step(step));
    LEAT_RETURN_IF_ERROR(
        leat_named_step_read_feeds(&step->named, protos, &call->arena, step->feeds));
    LEAT_RETURN_IF_ERROR(
        leat_master_session_run_partial(step->session, request->partial_run_handle, &step->named,
                                        step->feeds, call->request->deadline_ns,
                                        step->cancellation, step->fetches));
  } else {
    LEAT_RETURN_IF_ERROR(run(step, protos, request->options));
  }
  LEAT_RETURN_IF_ERROR(write_fetches(step, &fetches, response));
  response->metadata = leat_string_builder_view(&step->metadata);
  return leat_ok_status();
}

// Did the step end by the client's own deadline? The client's end of the call tells the client so
// at that very moment, as a status of the call. Where this task is the quicker of the two, it must
// say it in the same way, and not in the body of the response.
static bool is_late(const leat_service_call_t* call, leat_status_t status) {
  return leat_status_code(status) == LEAT_DEADLINE_EXCEEDED &&
         leat_clock_now_ns() >= call->request->deadline_ns;
}

// Encodes before the step is ended, because the response borrows from it.
static void run_step(leat_service_call_t* call, const void* message) {
  const leat_pb_run_step_request_t* request = message;
  const bool stores_errors = request->store_errors_in_response_body;
  leat_pb_run_step_response_t response = {0};
  step_t step;
  begin_step(call, &step);
  leat_status_t status = serve_step(&step, request, &response);
  leat_status_t told = NULL;
  if (status && stores_errors && !is_late(call, status)) {
    response = (leat_pb_run_step_response_t){
        .status_code = leat_status_code(status),
        .status_error_message = leat_string_view_from(leat_status_message(status))};
    told = status;
    status = leat_ok_status();
  }
  leat_rpc_piece_t piece;
  leat_rpc_bytes_t bytes;
  status = leat_service_encode(status, &leat_pb_run_step_response_descriptor, &response, &piece,
                               &bytes);
  leat_status_free(told);
  end_step(&step);
  leat_service_answer_bytes(call, status, bytes);
}

static void partial_run_setup(leat_service_call_t* call, const void* message) {
  const leat_pb_partial_run_setup_request_t* request = message;
  leat_pb_partial_run_setup_response_t response = {0};
  leat_master_session_t* session = NULL;
  leat_named_step_t step;
  leat_status_t status =
      leat_task_note_request(call->task, request->request_id, "PartialRunSetup");
  if (!status) status = leat_master_session_find(call->task, request->session_handle, &session);
  if (!status) {
    status = leat_master_session_resolve(session, &request->feed, &request->fetch,
                                         &request->target, &call->arena, &step);
  }
  if (!status) {
    status = leat_master_session_begin_partial(session, &step, &call->arena,
                                               &response.partial_run_handle);
  }
  leat_master_session_release(session);
  leat_service_answer(call, status, &leat_pb_partial_run_setup_response_descriptor, &response);
}

// ---- Callables ----------------------------------------------------------------------------------

static leat_status_t keep_callable(leat_master_session_t* session,
                                   const leat_pb_make_callable_request_t* request,
                                   leat_arena_t* arena, int64_t* out_number) {
  static const leat_pb_callable_options_t kNone;
  const leat_pb_callable_options_t* options = request->options ? request->options : &kNone;
  leat_named_step_t step;
  if (options->tensor_connection.count) {
    return leat_make_status(LEAT_UNIMPLEMENTED,
                            "MakeCallable failed: tensor_connection has %zu items, must have none",
                            options->tensor_connection.count);
  }
  LEAT_RETURN_IF_ERROR(leat_master_session_resolve(session, &options->feed, &options->fetch,
                                                   &options->target, arena, &step));
  if (step.fetch_count + step.target_count == 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "MakeCallable failed: the number of fetches and targets is 0, must be "
                            "at least 1");
  }
  return leat_master_session_keep_callable(session, &step, out_number);
}

static void make_callable(leat_service_call_t* call, const void* message) {
  const leat_pb_make_callable_request_t* request = message;
  leat_pb_make_callable_response_t response = {0};
  leat_master_session_t* session = NULL;
  leat_status_t status = leat_master_session_find(call->task, request->session_handle, &session);
  if (!status) status = keep_callable(session, request, &call->arena, &response.handle);
  leat_master_session_release(session);
  leat_service_answer(call, status, &leat_pb_make_callable_response_descriptor, &response);
}

// The repeat of a fetch is answered without a value, as TensorFlow does.
static leat_status_t write_callable(const step_t* step,
                                    leat_pb_run_callable_response_t* response) {
  leat_arena_t* arena = &step->call->arena;
  const leat_named_step_t* named = &step->named;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, (size_t)named->fetch_count + 1, &response->fetch.items));
  response->fetch.count = (size_t)named->fetch_count;
  for (int i = 0; i < named->fetch_count; ++i) {
    bool repeats = false;
    for (int k = 0; k < i && !repeats; ++k) {
      repeats = leat_output_equal(named->fetches[k], named->fetches[i]);
    }
    if (repeats) continue;
    LEAT_RETURN_IF_ERROR(
        leat_tensor_to_content(&step->fetches[i], arena, &response->fetch.items[i]));
  }
  return leat_ok_status();
}

static leat_status_t serve_callable(step_t* step, const leat_pb_run_callable_request_t* request,
                                    leat_pb_run_callable_response_t* response) {
  leat_service_call_t* call = step->call;
  const leat_pb_tensor_proto_t** protos;
  LEAT_RETURN_IF_ERROR(leat_task_note_request(call->task, request->request_id, "RunCallable"));
  LEAT_RETURN_IF_ERROR(
      leat_master_session_find(call->task, request->session_handle, &step->session));
  LEAT_RETURN_IF_ERROR(leat_master_session_find_callable(step->session, request->handle,
                                                         &call->arena, &step->named));
  if (request->feed.count != (size_t)step->named.feed_count) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "RunCallable failed: the number of feeds is %zu, must be %d",
                            request->feed.count, step->named.feed_count);
  }
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&call->arena, request->feed.count + 1, &protos));
  for (size_t i = 0; i < request->feed.count; ++i) protos[i] = &request->feed.items[i];
  LEAT_RETURN_IF_ERROR(run(step, protos, NULL));
  return write_callable(step, response);
}

static void run_callable(leat_service_call_t* call, const void* message) {
  leat_pb_run_callable_response_t response = {0};
  step_t step;
  leat_rpc_piece_t piece;
  leat_rpc_bytes_t bytes;
  begin_step(call, &step);
  leat_status_t status = serve_callable(&step, message, &response);
  status = leat_service_encode(status, &leat_pb_run_callable_response_descriptor, &response,
                               &piece, &bytes);
  end_step(&step);
  leat_service_answer_bytes(call, status, bytes);
}

static void release_callable(leat_service_call_t* call, const void* message) {
  const leat_pb_release_callable_request_t* request = message;
  leat_master_session_t* session = NULL;
  leat_status_t status = leat_master_session_find(call->task, request->session_handle, &session);
  if (!status) leat_master_session_release_callable(session, request->handle);
  leat_master_session_release(session);
  leat_service_answer(call, status, NULL, NULL);
}

// ---- The cluster --------------------------------------------------------------------------------

// Lists the devices of a session. TensorFlow calls all of them local, but where the session has a
// cluster of its own those of other tasks are remote.
static leat_status_t list_session_devices(const leat_master_session_t* master,
                                          leat_arena_t* arena,
                                          leat_pb_list_devices_response_t* response) {
  const leat_session_t* session = leat_master_session_session(master);
  leat_pb_device_attributes_list_t* out_list = &response->local_device;
  const size_t count = (size_t)leat_session_device_count(session);
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count, &out_list->items));
  out_list->count = count;
  for (size_t i = 0; i < count; ++i) {
    const leat_placement_device_t* device = leat_session_device(session, (int)i);
    leat_pb_device_attributes_t* item = &out_list->items[i];
    LEAT_RETURN_IF_ERROR(leat_arena_copy_string(arena, device->name, &item->name));
    LEAT_RETURN_IF_ERROR(leat_arena_copy_string(arena, device->type, &item->device_type));
    item->memory_limit = device->memory_limit_bytes;
    item->incarnation = device->incarnation;
  }
  int own_count;
  if (leat_master_session_is_renamed(master, &own_count)) {
    out_list->count = (size_t)own_count;
    response->remote_device.items = out_list->items + own_count;
    response->remote_device.count = count - (size_t)own_count;
  }
  return leat_ok_status();
}

static void list_devices(leat_service_call_t* call, const void* message) {
  const leat_pb_list_devices_request_t* request = message;
  leat_pb_list_devices_response_t response = {0};
  leat_master_session_t* session = NULL;
  leat_status_t status = leat_ok_status();
  if (request->session_handle.size == 0) {
    status = leat_task_describe_cluster(call->task, call->request->deadline_ns, &call->arena,
                                        &response.local_device, &response.remote_device);
  } else {
    status = leat_master_session_find(call->task, request->session_handle, &session);
    if (leat_status_code(status) == LEAT_ABORTED) {
      leat_status_free(status);
      status = leat_make_status(LEAT_INVALID_ARGUMENT, "Session %.*s is not found.",
                                LEAT_SV_ARG(request->session_handle));
    }
    if (!status) {
      status = list_session_devices(session, &call->arena, &response);
    }
  }
  leat_master_session_release(session);
  leat_service_answer(call, status, &leat_pb_list_devices_response_descriptor, &response);
}

static void reset(leat_service_call_t* call, const void* message) {
  const leat_pb_reset_request_t* request = message;
  leat_master_sessions_close(call->task, "a client reset the cluster");
  leat_status_t status =
      leat_task_clear_cluster(call->task, &request->container, &request->device_filters,
                              call->request->deadline_ns);
  leat_service_answer(call, status, NULL, NULL);
}

const leat_service_method_t leat_master_methods[] = {
    {"CreateSession", &leat_pb_create_session_request_descriptor, create_session},
    {"ExtendSession", &leat_pb_extend_session_request_descriptor, extend_session},
    {"CloseSession", &leat_pb_close_session_request_descriptor, close_session},
    {"RunStep", &leat_pb_run_step_request_descriptor, run_step},
    {"PartialRunSetup", &leat_pb_partial_run_setup_request_descriptor, partial_run_setup},
    {"MakeCallable", &leat_pb_make_callable_request_descriptor, make_callable},
    {"RunCallable", &leat_pb_run_callable_request_descriptor, run_callable},
    {"ReleaseCallable", &leat_pb_release_callable_request_descriptor, release_callable},
    {"ListDevices", &leat_pb_list_devices_request_descriptor, list_devices},
    {"Reset", &leat_pb_reset_request_descriptor, reset},
    {0},
};
