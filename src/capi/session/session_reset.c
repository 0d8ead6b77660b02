// TF_Reset: clears the named containers of resources, which outlive sessions, and closes all
// sessions of this process, which are in a list for this purpose; or it asks the master that the
// target names to do the same in its cluster. The operation_timeout_in_ms of the options limits how
// long that may take.
#include "capi/handles.h"

static leat_mutex_t sessions_mutex = {PTHREAD_MUTEX_INITIALIZER};
static TF_Session* sessions;

void leat_capi_session_opened(TF_Session* session) {
  leat_mutex_lock(&sessions_mutex);
  session->next = sessions;
  sessions = session;
  leat_mutex_unlock(&sessions_mutex);
}

void leat_capi_session_ends(TF_Session* session) {
  leat_mutex_lock(&sessions_mutex);
  TF_Session** link = &sessions;
  while (*link && *link != session) link = &(*link)->next;
  if (*link) *link = session->next;
  leat_mutex_unlock(&sessions_mutex);
}

static leat_status_t close_sessions(void) {
  leat_status_t status = leat_ok_status();
  leat_mutex_lock(&sessions_mutex);
  for (TF_Session* s = sessions; s; s = s->next) {
    status = leat_status_join(status, leat_session_close(s->session));
  }
  leat_mutex_unlock(&sessions_mutex);
  return status;
}

static leat_status_t reset(const TF_SessionOptions* options, const char** names, int count) {
  const leat_runtime_t* runtime = NULL;
  const char* target = options && options->target ? options->target : "";
  const int64_t timeout_ms = options ? options->options.operation_timeout_ms : 0;
  bool is_here;
  LEAT_RETURN_IF_ERROR(leat_runtime_get(&runtime));
  LEAT_RETURN_IF_ERROR(runtime->reset_target(leat_string_view_from(target), names,
                                             count > 0 ? (size_t)count : 0, timeout_ms,
                                             &is_here));
  return is_here ? close_sessions() : leat_ok_status();
}

void TF_Reset(const TF_SessionOptions* opt, const char** containers, int ncontainers,
              TF_Status* status) {
  leat_capi_status_set(status, reset(opt, containers, ncontainers));
}
