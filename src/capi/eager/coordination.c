// The coordination service of eager contexts: keys and values, barriers and errors that the tasks
// of a cluster share. An eager context here is never part of a cluster, and TensorFlow's answer to
// a context of one process is the answer of all of these: FAILED_PRECONDITION.
#include "capi/eager/eager.h"

static void refuse(TF_Status* status) {
  leat_capi_status_set(status, leat_make_status(LEAT_FAILED_PRECONDITION,
                                                "Coordination service is not enabled: the context "
                                                "is not part of a cluster"));
}

void TFE_InsertConfigKeyValue(TFE_Context* ctx, const char* key, const char* value,
                              TF_Status* status) {
  refuse(status);
}

void TFE_GetConfigKeyValue(TFE_Context* ctx, const char* key, int64_t timeout_in_ms,
                           TF_Buffer* value_buf, TF_Status* status) {
  refuse(status);
}

void TFE_DeleteConfigKeyValue(TFE_Context* ctx, const char* key, TF_Status* status) {
  refuse(status);
}

void TFE_ReportErrorToCluster(TFE_Context* ctx, int error_code, const char* error_message,
                              TF_Status* status) {
  refuse(status);
}

// |tasks| is a reference in TensorFlow's C++ header, which is a pointer to callers.
void TFE_GetTaskStates(TFE_Context* ctx, const TF_Buffer* tasks, void* states, TF_Status* status) {
  refuse(status);
}

void TFE_WaitAtBarrier(TFE_Context* ctx, const char* barrier_id, int64_t barrier_timeout_in_ms,
                       TF_Status* status) {
  refuse(status);
}
