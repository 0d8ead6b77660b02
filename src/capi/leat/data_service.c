// The functions of leat/data_service.h. Each converts the arguments of the C ABI to those of
// data_service/data_server.h, which does the work. Options may come from a program that was built
// with an older header and has fewer of them: what lies beyond its size is as if zeroed. Events get
// texts with a NUL behind them, cut if they are too long; they come on several threads at once, so
// that nothing is shared.
#include "leat/data_service.h"

#include <stdio.h>
#include <string.h>

#include "capi/handles.h"
#include "data_service/data_server.h"
#include "init.h"

struct leat_data_service_t {
  leat_data_server_t* server;
  void (*observer)(void* data, const leat_data_service_event_t* event);
  void* observer_data;
};

// A leat_data_observer_t.
static void pass_on(void* data, const leat_data_event_t* event) {
  const leat_data_service_t* service = data;
  char address[256], message[1024];
  snprintf(address, sizeof address, "%.*s", LEAT_SV_ARG(event->address));
  snprintf(message, sizeof message, "%.*s", LEAT_SV_ARG(event->message));
  const leat_data_service_event_t told = {.struct_size = sizeof told,
                                          .name = event->name,
                                          .address = address,
                                          .message = message,
                                          .id = event->id};
  service->observer(service->observer_data, &told);
}

static leat_status_t view_texts(const char* const* texts, int count, leat_arena_t* arena,
                                leat_pb_string_list_t* out_list) {
  *out_list = (leat_pb_string_list_t){0};
  if (count <= 0) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, (size_t)count, &out_list->items));
  for (int i = 0; i < count; ++i) out_list->items[i] = leat_string_view_from(texts[i]);
  out_list->count = (size_t)count;
  return leat_ok_status();
}

static leat_status_t start_dispatcher(const leat_data_service_options_t* o,
                                      leat_data_server_options_t* server, leat_arena_t* arena,
                                      const leat_runtime_t* runtime, leat_data_teller_t teller,
                                      leat_data_server_t** out_server) {
  leat_dispatcher_options_t options = {.runtime = runtime,
                                       .work_dir = leat_string_view_from(o->work_dir),
                                       .is_fault_tolerant = o->is_fault_tolerant != 0,
                                       .gc_check_ms = o->job_gc_check_interval_ms,
                                       .gc_timeout_ms = o->job_gc_timeout_ms,
                                       .client_timeout_ms = o->client_timeout_ms,
                                       .worker_timeout_ms = o->worker_timeout_ms,
                                       .teller = teller};
  LEAT_RETURN_IF_ERROR(view_texts(o->worker_addresses, o->worker_address_count, arena,
                                  &options.worker_addresses));
  server->dispatcher = &options;
  return leat_data_server_start(server, out_server);
}

static leat_status_t start_worker(const leat_data_service_options_t* o,
                                  leat_data_server_options_t* server, leat_arena_t* arena,
                                  const leat_runtime_t* runtime, leat_data_teller_t teller,
                                  leat_data_server_t** out_server) {
  leat_data_worker_options_t options = {
      .runtime = runtime,
      .dispatcher_address = leat_string_view_from(o->dispatcher_address),
      .heartbeat_ms = o->heartbeat_interval_ms,
      .dispatcher_timeout_ms = o->dispatcher_timeout_ms,
      .window_bytes = o->cross_trainer_cache_bytes,
      .teller = teller};
  LEAT_RETURN_IF_ERROR(view_texts(o->worker_tags, o->worker_tag_count, arena, &options.tags));
  server->worker = &options;
  return leat_data_server_start(server, out_server);
}

static leat_status_t start(const leat_data_service_options_t* given, leat_arena_t* arena,
                           leat_data_service_t* service) {
  leat_data_service_options_t o = {0};
  leat_data_server_options_t server = {0};
  const leat_runtime_t* runtime;
  memcpy(&o, given, given->struct_size < sizeof o ? given->struct_size : sizeof o);
  if (o.port < 0 || o.port > 65535) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Starting a data service failed: port is %d, must be from 0 to 65535",
                            o.port);
  }
  LEAT_RETURN_IF_ERROR(leat_runtime_get(&runtime));
  LEAT_RETURN_IF_ERROR(leat_arena_print(arena, &server.address, "%s:%d",
                                        o.host && *o.host ? o.host : "localhost", o.port));
  service->observer = o.observer;
  service->observer_data = o.observer_data;
  const leat_data_teller_t teller = {o.observer ? pass_on : NULL, service};
  return (o.dispatcher_address ? start_worker : start_dispatcher)(&o, &server, arena, runtime,
                                                                  teller, &service->server);
}

leat_data_service_t* leat_data_service_start(const leat_data_service_options_t* options,
                                             TF_Status* status) {
  leat_data_service_t* service = NULL;
  leat_arena_t arena;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_status_t result = LEAT_ALLOCATE(leat_allocator_system(), 1, &service);
  if (!result) result = start(options, &arena, service);
  leat_arena_deinitialize(&arena);
  if (result) {
    leat_allocator_free(leat_allocator_system(), service);
    service = NULL;
  }
  leat_capi_status_set(status, result);
  return service;
}

const char* leat_data_service_address(const leat_data_service_t* service) {
  return leat_data_server_address(service->server);
}

int leat_data_service_port(const leat_data_service_t* service) {
  return leat_data_server_port(service->server);
}

int64_t leat_data_service_count(leat_data_service_t* service) {
  return (int64_t)leat_data_server_count(service->server);
}

int leat_data_service_is_ready(leat_data_service_t* service) {
  return leat_data_server_is_ready(service->server);
}

void leat_data_service_delete(leat_data_service_t* service) {
  if (!service) return;
  leat_data_server_stop(service->server);
  leat_allocator_free(leat_allocator_system(), service);
}
