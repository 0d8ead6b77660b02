// What the sources of this module share. The module is a shared library of its own,
// leat_module_ucx.so; cluster/plane_module.h is its whole interface.
//
//   link.c: messages go out and come in ─ under the end's lock ─▶ UCP worker
//   engine.c: the leader ─▶ progress of the UCP worker ─▶ events ─▶ functions of the owner
//
// All functions of UCX are called with the end's mutex held, because a UCP worker serves one thread
// at a time. What they find is put into a list of events, and the functions of the owner are called
// for these without the mutex, since they may call the module again; |begin| alone is called within
// it.
#ifndef LEAT_MODULES_UCX_ENGINE_H_
#define LEAT_MODULES_UCX_ENGINE_H_

#include <ucp/api/ucp.h>

#include "cluster/plane_module.h"

// The functions of the library, set before anything else runs.
extern const leat_plane_host_t* ucx_host;

// What the owner is to be told. It is a field of what it is about.
typedef struct ucx_event_s ucx_event_t;
struct ucx_event_s {
  ucx_event_t* next;
  // Called without the mutex; frees what the event is a field of where that is done with.
  void (*tell)(ucx_event_t* event);
};
#define UCX_EVENT_OWNER(event, type, field) ((type*)((char*)(event) - offsetof(type, field)))

typedef struct ucx_receipt_s ucx_receipt_t;
typedef struct ucx_dispatch_s ucx_dispatch_t;

struct leat_plane_end_s {
  leat_plane_owner_t owner;
  ucp_context_h context;
  ucp_address_t* address;
  size_t address_bytes;
  int descriptor;             // readable when the worker has something to do
  atomic_uint turn;           // odd: the leader is in a function of the owner's
  atomic_int waiting;         // for the mutex
  leat_mutex_t mutex;         // guards what follows
  ucp_worker_h worker;
  ucx_event_t* first_event;
  ucx_event_t** last_event;
  leat_plane_link_t* links;   // that are not closed, or whose close is under way
  ucx_receipt_t* receipts;    // whose bodies are under way
  ucx_dispatch_t* dispatches; // of which UCP may yet read
  bool leader_sleeps;         // in poll
  bool has_sentry, sentry_sleeps;
  bool is_closing;            // no link is opened any more
  bool is_closed;             // the threads are to end
  int threads;
  leat_condition_t sentry_wakes, changed;  // a link or a thread has gone
  leat_plane_end_t* next_left;  // in the list of those whose worker stays
};

// The leader may need the mutex for long; it lets those have it who say that they wait.
static inline void ucx_lock(leat_plane_end_t* end) {
  atomic_fetch_add(&end->waiting, 1);
  leat_mutex_lock(&end->mutex);
  atomic_fetch_sub(&end->waiting, 1);
}
static inline void ucx_unlock(leat_plane_end_t* end) { leat_mutex_unlock(&end->mutex); }

// Starts the threads of an end. false where the system has no more.
bool ucx_engine_start(leat_plane_end_t* end);
// Ends them and waits for them. The mutex is not held.
void ucx_engine_stop(leat_plane_end_t* end);
// Adds an event. The mutex is held; the leader must be woken, unless it is the one who adds.
void ucx_engine_add(leat_plane_end_t* end, ucx_event_t* event, void (*tell)(ucx_event_t* event));
// Has the leader look at the worker and the events. The mutex is held.
void ucx_engine_wake(leat_plane_end_t* end);

// Ends the messages whose bodies will not come, once the worker is gone.
void ucx_receipts_end(leat_plane_end_t* end);
// Frees the messages whose end UCP has not told, which it does not always do where an endpoint has
// failed, once the worker is gone.
void ucx_dispatches_end(leat_plane_end_t* end);
// Has |end| take messages. false where UCX cannot.
bool ucx_receipts_begin(leat_plane_end_t* end);
// Begins to close all links. The mutex is held.
void ucx_links_close(leat_plane_end_t* end);

// ---- The functions of the module's table (cluster/plane_module.h) -------------------------------

int ucx_link_open(leat_plane_end_t* end, leat_string_view_t address, uint64_t number,
                  leat_plane_link_t** out_link);
void ucx_link_close(leat_plane_link_t* link, bool is_proved);
void ucx_send(leat_plane_link_t* link, leat_string_view_t header, leat_rpc_piece_t body);

#endif  // LEAT_MODULES_UCX_ENGINE_H_
