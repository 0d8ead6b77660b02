// Listens for a task. Stopping has an order: first no further call is taken, then the task's steps
// and sessions are ended, so that the calls that wait for them are answered, and only when all are
// answered is the task freed. leat_rpc_server_stop does the first and waits for the last on a
// thread of its own; steps are ended meanwhile. A server goes through its states in one direction
// only, and a server that was stopped cannot be started again.
#include "cluster/server.h"

#include <stdio.h>
#include <string.h>

#include "base/thread.h"
#include "cluster/client_session.h"
#include "cluster/fetch.h"
#include "cluster/local_call.h"
#include "cluster/security.h"
#include "cluster/task.h"
#include "formats/generated/server.h"
#include "formats/wire/decode.h"
#include "formats/wire/encode.h"

typedef enum { SERVER_NEW, SERVER_LISTENS, SERVER_STOPPING, SERVER_STOPPED } server_state_t;

struct leat_server_s {
  leat_task_t* task;
  leat_security_t security;  // the task's views are of it
  char target[280];
  leat_mutex_t mutex;  // guards what follows
  leat_condition_t changed;
  server_state_t state;
  leat_rpc_server_t* listener;
  leat_local_server_t local;  // open as long as there is a |listener|
};

// Takes from the configuration of the server what holds for all sessions: devices and threads. An
// executor that is not known fails the sessions that ask for it.
static leat_status_t read_options(leat_string_view_t config, leat_session_options_t* out_options) {
  leat_status_t executor_status = NULL;
  *out_options = leat_session_options_default();
  out_options->target = LEAT_SV("");
  if (config.size == 0) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_session_options_read(config, out_options, &executor_status));
  leat_status_free(executor_status);
  return leat_ok_status();
}

static int64_t patience_of(int64_t given_ms, int64_t default_ms) {
  return given_ms ? given_ms : default_ms;
}

// Two heartbeats make the time-out of a heartbeat, as ConfigProto knows it.
static leat_task_patience_t read_patience(const leat_pb_server_def_t* def) {
  const leat_pb_config_proto_t* config = def->default_session_config;
  const leat_pb_config_proto_experimental_t* experimental = config ? config->experimental : NULL;
  const leat_pb_coordination_service_config_t* coordination =
      experimental ? experimental->coordination_config : NULL;
  const int64_t timeout_ms = coordination ? coordination->heartbeat_timeout_in_ms : 0;
  const leat_pb_leat_server_options_t* options = def->leat_options;
  return (leat_task_patience_t){
      .heartbeat_ms = timeout_ms > 0 ? timeout_ms / 2 + timeout_ms % 2
                                     : patience_of(timeout_ms, LEAT_HEARTBEAT_DEFAULT_MS),
      .session_ms = patience_of(options ? options->session_timeout_in_ms : 0,
                                LEAT_SESSION_PATIENCE_DEFAULT_MS),
      .partial_run_ms = patience_of(options ? options->partial_run_timeout_in_ms : 0,
                                    LEAT_PARTIAL_RUN_PATIENCE_DEFAULT_MS)};
}

static leat_status_t make_task(const struct leat_runtime_s* runtime,
                               const leat_pb_server_def_t* def, leat_task_t** out_task) {
  static const leat_pb_cluster_def_t kNone;
  leat_task_options_t options = {.runtime = runtime,
                                 .cluster = def->cluster ? def->cluster : &kNone,
                                 .job = def->job_name,
                                 .index = def->task_index,
                                 .patience = read_patience(def)};
  const leat_pb_config_proto_t* defaults = def->default_session_config;
  if (defaults && defaults->experimental) {
    options.collective_leader = defaults->experimental->collective_group_leader;
  }
  if (def->protocol.size && !leat_string_view_equals(def->protocol, "grpc") &&
      !leat_string_view_equals(def->protocol, "grpc+ucx")) {
    return leat_make_status(LEAT_UNIMPLEMENTED,
                            "Making a server failed: protocol is '%.*s', must be grpc or grpc+ucx",
                            LEAT_SV_ARG(def->protocol));
  }
  leat_string_builder_t config;
  leat_string_builder_initialize(leat_allocator_system(), &config);
  leat_status_t status = leat_ok_status();
  if (def->default_session_config) {
    status = leat_message_encode(&leat_pb_config_proto_descriptor, def->default_session_config,
                                 &config);
  }
  if (!status) status = read_options(leat_string_builder_view(&config), &options.session);
  leat_string_builder_deinitialize(&config);
  LEAT_RETURN_IF_ERROR(status);
  return leat_task_create(&options, out_task);
}

static leat_string_view_t own_address(const leat_server_t* server) {
  return server->task->spec.tasks[server->task->number].address;
}

// Reads the certificates and opens the plane, where the protocol asks for one. UCX encrypts
// nothing, so that a cluster with certificates would be open to anybody on its way.
static leat_status_t open_ways(leat_server_t* server, leat_string_view_t protocol) {
  LEAT_RETURN_IF_ERROR(leat_security_initialize(own_address(server), &server->security));
  const leat_rpc_security_t* security = &server->security.rpc;
  server->task->security = *security;
  if (!leat_string_view_equals(protocol, "grpc+ucx")) return leat_ok_status();
  if (security->certificate_chain.size || security->root_certificates.size) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Making a server failed: protocol is 'grpc+ucx', must be grpc where "
                            "there are certificates: values by UCX would not be encrypted");
  }
  leat_status_t status =
      leat_task_open_plane(server->task, leat_rpc_is_loopback(own_address(server)));
  if (!status) return status;
  leat_status_t failed = leat_make_status(leat_status_code(status),
                                          "Making a server with the protocol grpc+ucx failed: %s",
                                          leat_status_message(status));
  leat_status_free(status);
  return failed;
}

leat_status_t leat_server_create(const struct leat_runtime_s* runtime,
                                 leat_string_view_t server_def, leat_server_t** out_server) {
  leat_server_t* server;
  leat_arena_t arena;
  leat_pb_server_def_t def;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &server));
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_status_t status =
      leat_message_decode(&leat_pb_server_def_descriptor, server_def, &arena, NULL, &def);
  if (!status) status = make_task(runtime, &def, &server->task);
  if (!status) status = open_ways(server, def.protocol);
  leat_arena_deinitialize(&arena);
  if (status) {
    leat_task_free(server->task);
    leat_security_deinitialize(&server->security);
    leat_allocator_free(leat_allocator_system(), server);
    return status;
  }
  leat_mutex_initialize(&server->mutex);
  leat_condition_initialize(&server->changed);
  const leat_string_view_t address = own_address(server);
  snprintf(server->target, sizeof server->target, "grpc://%.*s", LEAT_SV_ARG(address));
  *out_server = server;
  return leat_ok_status();
}

void leat_server_set_observer(leat_server_t* server, leat_task_observer_t observer, void* data) {
  server->task->observer = observer;
  server->task->observer_data = data;
}

void leat_server_print_metrics(leat_server_t* server, leat_string_builder_t* out) {
  leat_task_print_metrics(server->task, out);
}

leat_task_t* leat_server_task(leat_server_t* server) { return server->task; }

static leat_status_t listen(leat_server_t* server) {
  const leat_string_view_t address = own_address(server);
  const size_t colon = leat_string_view_find_last(address, ':');
  int port;
  const leat_rpc_server_options_t options = {.address = address,
                                             .security = server->task->security,
                                             .handler = leat_service_handle,
                                             .data = server->task,
                                             .streams = leat_service_streams};
  LEAT_RETURN_IF_ERROR(leat_rpc_server_start_reachable(&options, &port, &server->listener));
  // The address may have left the port to the system.
  snprintf(server->target, sizeof server->target, "grpc://%.*s:%d", (int)colon, address.data, port);
  server->local = (leat_local_server_t){.handler = leat_service_handle, .data = server->task};
  leat_client_session_is_target(leat_string_view_from(server->target), &server->local.address);
  leat_local_server_open(&server->local);
  return leat_ok_status();
}

leat_status_t leat_server_start(leat_server_t* server) {
  leat_mutex_lock(&server->mutex);
  leat_status_t status = leat_ok_status();
  if (server->state == SERVER_NEW) {
    status = leat_task_start(server->task);
    if (!status) status = listen(server);
    if (!status) server->state = SERVER_LISTENS;
  } else if (server->state != SERVER_LISTENS) {
    status = leat_make_status(LEAT_FAILED_PRECONDITION,
                              "Starting a server failed: it was stopped, must be new");
  }
  leat_mutex_unlock(&server->mutex);
  return status;
}

static void stop_listening(void* data) {
  leat_server_t* server = data;
  leat_local_server_close(&server->local);
  leat_rpc_server_stop(server->listener);
}

void leat_server_stop(leat_server_t* server) {
  leat_mutex_lock(&server->mutex);
  while (server->state == SERVER_STOPPING) {
    leat_condition_wait(&server->changed, &server->mutex);
  }
  const bool stops = server->state != SERVER_STOPPED;
  server->state = stops ? SERVER_STOPPING : SERVER_STOPPED;
  leat_mutex_unlock(&server->mutex);
  if (!stops) return;
  const bool listens = server->listener != NULL;
  leat_thread_t thread;
  leat_status_t status =
      listens ? leat_thread_start("leat-stop", stop_listening, server, &thread) : NULL;
  leat_plane_stop(server->task->plane);
  // A call may begin a step after one look, so the steps are ended again until none is left.
  leat_task_abort(server->task);
  if (status) {
    leat_status_free(status);
    stop_listening(server);
  } else if (listens) {
    leat_thread_join(thread);
  }
  leat_mutex_lock(&server->mutex);
  server->state = SERVER_STOPPED;
  leat_condition_notify_all(&server->changed);
  leat_mutex_unlock(&server->mutex);
}

void leat_server_join(leat_server_t* server) {
  leat_mutex_lock(&server->mutex);
  while (server->state != SERVER_STOPPED) {
    leat_condition_wait(&server->changed, &server->mutex);
  }
  leat_mutex_unlock(&server->mutex);
}

const char* leat_server_target(const leat_server_t* server) { return server->target; }

void leat_server_free(leat_server_t* server) {
  if (!server) return;
  leat_server_stop(server);
  leat_task_free(server->task);
  leat_security_deinitialize(&server->security);
  leat_condition_deinitialize(&server->changed);
  leat_mutex_deinitialize(&server->mutex);
  leat_allocator_free(leat_allocator_system(), server);
}
