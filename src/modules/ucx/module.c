// The UCX module's table of functions, and the life of an end. An end has a UCP context and a
// worker of its own. UCP itself chooses the transport of each link among those that both processes
// have: RDMA where there is hardware, else TCP; UCX_TLS in the environment narrows the choice, as
// for all programs over UCX.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucs/config/global_opts.h>
#include <ucs/debug/debug.h>

#include "modules/ucx/engine.h"

// How long closing waits for UCX to close links. Those to ends that are gone need no answer.
#define CLOSE_NS INT64_C(2000000000)
// And for what UCX sends by itself.
#define FLUSH_NS INT64_C(1000000000)

const leat_plane_host_t* ucx_host;
static leat_mutex_t host_mutex = {PTHREAD_MUTEX_INITIALIZER};

static int fail(const char* what, ucs_status_t status, char* message, size_t message_size) {
  snprintf(message, message_size, "%s: %s", what, ucs_status_string(status));
  return status == UCS_ERR_NO_MEMORY ? LEAT_RESOURCE_EXHAUSTED : LEAT_UNAVAILABLE;
}

// An end for this machine alone has no network but the loopback device. The peers of a process
// share one ring of UCX's shared memory, and one that dies while it writes there stops the ring for
// all others, so shared memory is used only where UCX_MM_ERROR_HANDLING=y in the environment asks
// for it (docs/decisions/0052). UCX looks each second whether a peer is gone. Connecting by TCP
// does not wait for the other machine, since the end's lock is held. These, of which a version of
// UCX may know nothing, are wishes.
static ucs_status_t configure(ucp_config_t* config, bool is_local) {
  ucp_config_modify(config, "WARN_INVALID_CONFIG", "n");
  ucp_config_modify(config, "KEEPALIVE_INTERVAL", "1s");
  ucp_config_modify(config, "TCP_CONN_NB", "y");
  return is_local ? ucp_config_modify(config, "NET_DEVICES", "lo") : UCS_OK;
}

static ucs_status_t open_context(bool is_local, ucp_context_h* out_context) {
  ucp_config_t* config;
  const ucp_params_t params = {.field_mask = UCP_PARAM_FIELD_FEATURES,
                               .features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP};
  ucs_status_t status = ucp_config_read(NULL, NULL, &config);
  if (status != UCS_OK) return status;
  status = configure(config, is_local);
  if (status == UCS_OK) status = ucp_init(&params, config, out_context);
  ucp_config_release(config);
  return status;
}

static ucs_status_t open_worker(leat_plane_end_t* end) {
  const ucp_worker_params_t params = {.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
                                      .thread_mode = UCS_THREAD_MODE_SERIALIZED};
  ucs_status_t status = ucp_worker_create(end->context, &params, &end->worker);
  if (status == UCS_OK) status = ucp_worker_get_efd(end->worker, &end->descriptor);
  if (status == UCS_OK) {
    status = ucp_worker_get_address(end->worker, &end->address, &end->address_bytes);
  }
  if (status == UCS_OK && !ucx_receipts_begin(end)) status = UCS_ERR_UNSUPPORTED;
  return status;
}

// Lets go out what UCX itself has yet to send, such as its answer to a link that is being made: it
// ends the process where a worker is destroyed before that. Whether all has gone in time.
static bool flush(ucp_worker_h worker) {
  const ucp_request_param_t param = {0};
  const int64_t deadline_ns = ucx_host->now_ns() + FLUSH_NS;
  const ucs_status_ptr_t request = ucp_worker_flush_nbx(worker, &param);
  if (!UCS_PTR_IS_PTR(request)) return true;
  while (ucp_request_check_status(request) == UCS_INPROGRESS && ucx_host->now_ns() < deadline_ns) {
    ucp_worker_progress(worker);
  }
  const bool is_done = ucp_request_check_status(request) != UCS_INPROGRESS;
  ucp_request_free(request);
  return is_done;
}

// Ends whose worker stays until the process ends, with what UCP may yet read. Guarded by
// |host_mutex|.
static leat_plane_end_t* left_ends;

static void leave_end(leat_plane_end_t* end) {
  leat_mutex_lock(&host_mutex);
  end->next_left = left_ends;
  left_ends = end;
  leat_mutex_unlock(&host_mutex);
}

static void tell_events(leat_plane_end_t* end) {
  for (ucx_event_t* event; (event = end->first_event) != NULL;) {
    end->first_event = event->next;
    if (!end->first_event) end->last_event = &end->first_event;
    event->tell(event);
  }
}

// The threads have ended. A worker that cannot be flushed, or has endpoints that cannot be closed
// (flush_endpoint in link.c), cannot be destroyed, and is left.
static void free_end(leat_plane_end_t* end) {
  const bool is_left = end->worker && (end->links || !flush(end->worker));
  if (end->address) ucp_worker_release_address(end->worker, end->address);
  if (!is_left) {
    if (end->worker) ucp_worker_destroy(end->worker);
    if (end->context) ucp_cleanup(end->context);
    ucx_dispatches_end(end);
  }
  ucx_receipts_end(end);
  tell_events(end);
  if (is_left) {
    leave_end(end);
    return;
  }
  ucx_host->condition_deinitialize(&end->sentry_wakes);
  ucx_host->condition_deinitialize(&end->changed);
  ucx_host->mutex_deinitialize(&end->mutex);
  ucx_host->free(end);
}

static int end_open(const leat_plane_owner_t* owner, bool is_local, leat_plane_end_t** out_end,
                    leat_string_view_t* out_address, char* message, size_t message_size) {
  leat_plane_end_t* end = ucx_host->allocate(sizeof *end);
  if (!end) return fail("making an end", UCS_ERR_NO_MEMORY, message, message_size);
  end->owner = *owner;
  end->last_event = &end->first_event;
  ucx_host->mutex_initialize(&end->mutex);
  ucx_host->condition_initialize(&end->sentry_wakes);
  ucx_host->condition_initialize(&end->changed);
  int code = LEAT_OK;
  ucs_status_t status = open_context(is_local, &end->context);
  if (status != UCS_OK) code = fail("opening UCX", status, message, message_size);
  if (status == UCS_OK) {
    status = open_worker(end);
    if (status != UCS_OK) code = fail("opening a worker", status, message, message_size);
  }
  if (status == UCS_OK && !ucx_engine_start(end)) {
    code = fail("starting threads", UCS_ERR_NO_RESOURCE, message, message_size);
    ucx_engine_stop(end);
  }
  if (code != LEAT_OK) {
    free_end(end);
    return code;
  }
  *out_end = end;
  *out_address = leat_string_view_make((const char*)end->address, end->address_bytes);
  return LEAT_OK;
}

static void end_close(leat_plane_end_t* end) {
  const int64_t deadline_ns = ucx_host->now_ns() + CLOSE_NS;
  ucx_lock(end);
  end->is_closing = true;
  ucx_links_close(end);
  ucx_engine_wake(end);
  while (end->links &&
         ucx_host->condition_wait_until(&end->changed, &end->mutex, deadline_ns)) {
  }
  ucx_unlock(end);
  ucx_engine_stop(end);
  free_end(end);
}

// UCX catches the signals of faults to print where they happened, which is the program's to decide,
// and writes what it notices to the standard output, where it would stand among the program's own.
static void quieten_ucx(void) {
  static const int kSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
  for (size_t i = 0; i < sizeof kSignals / sizeof *kSignals; ++i) {
    ucs_debug_disable_signal(kSignals[i]);
  }
  if (!getenv("UCX_LOG_LEVEL")) ucs_global_opts_set_value("LOG_LEVEL", "FATAL");
}

static void initialize(const leat_plane_host_t* host) {
  leat_mutex_lock(&host_mutex);
  if (!ucx_host) quieten_ucx();
  if (!ucx_host) ucx_host = host;
  leat_mutex_unlock(&host_mutex);
}

__attribute__((visibility("default"))) const leat_plane_module_t* leat_module_ucx(void) {
  static const leat_plane_module_t kModule = {
      .struct_size = sizeof(leat_plane_module_t),
      .version = "UCX 1.13 or later",
      .initialize = initialize,
      .end_open = end_open,
      .end_close = end_close,
      .link_open = ucx_link_open,
      .link_close = ucx_link_close,
      .send = ucx_send,
  };
  return &kModule;
}
