// TF_Server: every function answers UNIMPLEMENTED, since this version has no servers behind the C
// API.
#include "capi/handles.h"

TF_Server* TF_NewServer(const void* proto, size_t proto_len, TF_Status* status) {
  leat_capi_status_unimplemented(status, "TF_NewServer");
  return NULL;
}

void TF_ServerStart(TF_Server* server, TF_Status* status) {
  leat_capi_status_unimplemented(status, "TF_ServerStart");
}

void TF_ServerStop(TF_Server* server, TF_Status* status) {
  leat_capi_status_unimplemented(status, "TF_ServerStop");
}

void TF_ServerJoin(TF_Server* server, TF_Status* status) {
  leat_capi_status_unimplemented(status, "TF_ServerJoin");
}

const char* TF_ServerTarget(TF_Server* server) { return ""; }

void TF_DeleteServer(TF_Server* server) {}
