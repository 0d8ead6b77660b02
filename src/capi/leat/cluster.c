// The functions of leat/cluster.h: events and figures of a server, sources and probes of a cluster.
// Each converts the arguments of the C ABI to those of src/cluster/ and has the work done there.
// What comes back is text or bytes in a string builder, which leat_capi_buffer_return makes a
// TF_Buffer of, or NULL and |status| on failure. The programs `leat server`, `leat launch` and
// `leat doctor` call these functions, and the Python package calls leat_cluster_resolve.
//
//   TF_Server ─▶ cluster/server.h          events, Prometheus' text
//   source    ─▶ cluster/cluster_source.h  ClusterDef, and from that TF_CONFIG
//   cluster   ─▶ cluster/probe.h           JSON
//
// A cluster crosses this boundary as a serialized ClusterDef and never as a struct, so that no
// layout of ours is part of the ABI. The one struct that crosses it, leat_server_event_t, begins
// with its size, which tells a caller what it has. Its texts need a NUL where the events of
// cluster/event.h have views, so pass_on copies them to its stack, and cuts them if they are too
// long. It runs on the thread on which the event happened, on several at once, and therefore shares
// nothing.
#include "leat/cluster.h"

#include <stdio.h>

#include "capi/handles.h"
#include "capi/server_handle.h"
#include "cluster/cluster_source.h"
#include "cluster/probe.h"
#include "formats/wire/decode.h"
#include "formats/wire/encode.h"

// A copy of |text| with a NUL behind it, cut to the size of |room|.
static const char* copy_text(leat_string_view_t text, char* room, size_t size) {
  snprintf(room, size, "%.*s", LEAT_SV_ARG(text));
  return room;
}

// A leat_task_observer_t.
static void pass_on(void* data, const leat_task_event_t* event) {
  const TF_Server* server = data;
  char session[64], task[256], address[256], message[1024];
  const leat_server_event_t told = {
      .struct_size = sizeof told,
      .name = event->name,
      .session = copy_text(event->session, session, sizeof session),
      .task = copy_text(event->task, task, sizeof task),
      .address = copy_text(event->address, address, sizeof address),
      .message = copy_text(event->message, message, sizeof message),
      .count = event->count};
  server->observer(server->observer_data, &told);
}

void leat_server_observe(TF_Server* server,
                         void (*fn)(void* data, const leat_server_event_t* event), void* data) {
  server->observer = fn;
  server->observer_data = data;
  leat_server_set_observer(server->server, fn ? pass_on : NULL, server);
}

TF_Buffer* leat_server_metrics(TF_Server* server, TF_Status* status) {
  leat_string_builder_t out;
  leat_string_builder_initialize(leat_allocator_system(), &out);
  leat_server_print_metrics(server->server, &out);
  return leat_capi_buffer_return(leat_ok_status(), &out, status);
}

static leat_status_t resolve(const char* source, char* job, size_t job_size, int* task,
                             leat_string_builder_t* out) {
  leat_cluster_place_t place;
  LEAT_RETURN_IF_ERROR(leat_cluster_place_initialize(leat_string_view_from(source), &place));
  leat_status_t status =
      leat_message_encode(&leat_pb_cluster_def_descriptor, &place.cluster, out);
  if (!status && place.job.size >= job_size) {
    status = leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Reading a cluster failed: the job's name is '%.*s', must be shorter "
                              "than %zu bytes",
                              LEAT_SV_ARG(place.job), job_size);
  } else {
    copy_text(place.job, job, job_size);
  }
  *task = place.index;
  leat_cluster_place_deinitialize(&place);
  return status;
}

TF_Buffer* leat_cluster_resolve(const char* source, char* job, size_t job_size, int* task,
                                TF_Status* status) {
  leat_string_builder_t out;
  leat_string_builder_initialize(leat_allocator_system(), &out);
  leat_status_t result = resolve(source, job, job_size, task, &out);
  return leat_capi_buffer_return(result, &out, status);
}

TF_Buffer* leat_cluster_tf_config(const void* cluster_def, size_t size, const char* job, int task,
                                  TF_Status* status) {
  leat_string_builder_t out;
  leat_arena_t arena;
  leat_pb_cluster_def_t cluster;
  leat_string_builder_initialize(leat_allocator_system(), &out);
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_status_t result =
      leat_message_decode(&leat_pb_cluster_def_descriptor,
                          leat_string_view_make(cluster_def, size), &arena, NULL, &cluster);
  if (!result) leat_cluster_print_config(&cluster, leat_string_view_from(job), task, &out);
  leat_arena_deinitialize(&arena);
  return leat_capi_buffer_return(result, &out, status);
}

TF_Buffer* leat_cluster_doctor_json(const void* cluster_def, size_t size, int64_t load_bytes,
                                    int64_t timeout_ms, int pairs, TF_Status* status) {
  leat_string_builder_t out;
  const leat_cluster_probe_options_t options = {
      .cluster = leat_string_view_make(cluster_def, size),
      .load_bytes = load_bytes,
      .timeout_ms = timeout_ms > 0 ? timeout_ms : 0,
      .probes_pairs = pairs != 0};
  leat_string_builder_initialize(leat_allocator_system(), &out);
  leat_status_t result = leat_cluster_probe(&options, &out);
  return leat_capi_buffer_return(result, &out, status);
}
