// TF_Server: a task of a cluster in this process (cluster/server.h).
#include "tensorflow/c/c_api_server.h"

#include "capi/handles.h"
#include "capi/server_handle.h"
#include "init.h"

static leat_status_t make(leat_string_view_t server_def, TF_Server** out_server) {
  const leat_runtime_t* runtime;
  TF_Server* server;
  LEAT_RETURN_IF_ERROR(leat_runtime_get(&runtime));
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &server));
  leat_status_t status = leat_server_create(runtime, server_def, &server->server);
  if (status) {
    leat_allocator_free(leat_allocator_system(), server);
    return status;
  }
  *out_server = server;
  return leat_ok_status();
}

TF_Server* TF_NewServer(const void* proto, size_t proto_len, TF_Status* status) {
  TF_Server* server = NULL;
  leat_capi_status_set(status, make(leat_string_view_make(proto, proto_len), &server));
  return server;
}

void TF_ServerStart(TF_Server* server, TF_Status* status) {
  leat_capi_status_set(status, leat_server_start(server->server));
}

void TF_ServerStop(TF_Server* server, TF_Status* status) {
  leat_server_stop(server->server);
  leat_capi_status_set(status, leat_ok_status());
}

void TF_ServerJoin(TF_Server* server, TF_Status* status) {
  leat_server_join(server->server);
  leat_capi_status_set(status, leat_ok_status());
}

const char* TF_ServerTarget(TF_Server* server) { return leat_server_target(server->server); }

void TF_DeleteServer(TF_Server* server) {
  if (!server) return;
  leat_server_free(server->server);
  leat_allocator_free(leat_allocator_system(), server);
}
