// The interface of leat_module_ucx.so: messages between processes by UCX, as plain C functions, so
// that our library links none of it. cluster/plane.c loads the module, says what the messages mean,
// and is its only caller; the module knows nothing of tensors and steps. It reaches the library
// through the functions that it is handed, leat_plane_host_t, and has no other way to memory and
// threads.
//
// An end is where messages come in: one of a task, with an address that other ends can be told. A
// link is the way from an end to another, by which messages go out. A message is a short header and
// a body of any size. The header is copied; the body goes from the sender's buffer into the one
// that the receiver chooses when it has seen the header, so that a large one is not copied on its
// way. Messages of a link may overtake each other.
#ifndef LEAT_CLUSTER_PLANE_MODULE_H_
#define LEAT_CLUSTER_PLANE_MODULE_H_

#include "base/sync.h"
#include "cluster/rpc.h"

#define LEAT_PLANE_HEADER_BYTES 4096  // at most

typedef struct leat_plane_end_s leat_plane_end_t;
typedef struct leat_plane_link_s leat_plane_link_t;

// What the library gives to the module. All functions may be called from any thread.
typedef struct leat_plane_host_s {
  void* (*allocate)(size_t size_bytes);  // zeroed; NULL without memory
  void (*free)(void* pointer);           // NULL is allowed
  int64_t (*now_ns)(void);               // leat_clock_now_ns
  // Starts a thread that nobody joins; false where the system has no more.
  bool (*start_thread)(const char* name, void (*fn)(void* data), void* data);
  void (*mutex_initialize)(leat_mutex_t* out_mutex);
  void (*mutex_deinitialize)(leat_mutex_t* mutex);
  void (*condition_initialize)(leat_condition_t* out_condition);
  void (*condition_deinitialize)(leat_condition_t* condition);
  bool (*condition_wait_until)(leat_condition_t* condition, leat_mutex_t* mutex,
                               int64_t deadline_ns);
  void (*condition_notify_all)(leat_condition_t* condition);
} leat_plane_host_t;

// What an end tells its owner.
typedef struct leat_plane_owner_s {
  void* data;
  // A message begins. Gives what |end| is called with and, in |*out_body|, where |body_size| bytes
  // are to go; NULL: the message is dropped. Where |*out_body| stays NULL and there is a body, only
  // that is dropped, and the message ends with LEAT_RESOURCE_EXHAUSTED. |header| is valid during
  // the call. The end's lock is held: this must be short, not block and call no function of the
  // module.
  void* (*begin)(void* data, const char* header, size_t header_size, size_t body_size,
                 char** out_body);
  // The body of a message is there, or will never be: |code| is not LEAT_OK then. Nobody writes to
  // it any more. Called once, on a thread of the end's, which it may block.
  void (*end)(void* data, void* message, int code);
  // The link that was opened as |number| is broken, for the reason that is said. Called once at
  // most, as |end| is, and not after link_close has returned before it began.
  void (*lost)(void* data, uint64_t number, const char* reason);
} leat_plane_owner_t;

// Functions that return int return one of leat_status_code_t. All may be called from any thread.
typedef struct leat_plane_module_s {
  size_t struct_size;   // of the module's struct: a field past it is absent
  const char* version;  // of what it was made for, for people
  // Must be called before all others, once or more often with the same |host|, which is kept.
  void (*initialize)(const leat_plane_host_t* host);
  // |is_local|: only processes of this machine can reach the end. |*out_address| lives as long as
  // the end. Where it fails, |message| says why.
  int (*end_open)(const leat_plane_owner_t* owner, bool is_local, leat_plane_end_t** out_end,
                  leat_string_view_t* out_address, char* message, size_t message_size);
  // Closes all links that are left and waits until no function of the owner runs; messages whose
  // bodies are not there end with LEAT_CANCELLED. Not from a function of the owner.
  void (*end_close)(leat_plane_end_t* end);
  // A link to the end with |address|. It connects with the first message; that it cannot is told
  // by |lost|. There must be one at most to an end at any time: UCX pairs the links of two ends by
  // their order. INVALID_ARGUMENT for what is no address, RESOURCE_EXHAUSTED without memory.
  int (*link_open)(leat_plane_end_t* end, leat_string_view_t address, uint64_t number,
                   leat_plane_link_t** out_link);
  // Messages that were not sent yet are dropped. A link by which no large body has gone and come
  // (|is_proved| is false) may still be connecting, and UCX ends the process where such a one is
  // given up: the module lets it finish, or keeps it until the process ends. NULL is allowed.
  void (*link_close)(leat_plane_link_t* link, bool is_proved);
  // Sends a message; never blocks. |header| is copied, and has LEAT_PLANE_HEADER_BYTES at most. The
  // piece's |release| is called once, on any thread, also where the message cannot be sent; that is
  // told by |lost|. Without a |release| the body must have no bytes.
  void (*send)(leat_plane_link_t* link, leat_string_view_t header, leat_rpc_piece_t body);
} leat_plane_module_t;

// The module's only exported symbol, `leat_module_ucx`, has this type.
const leat_plane_module_t* leat_module_ucx(void);

// Uses |module| in place of the one that would be loaded: for tests, before any end is opened.
void leat_plane_use_module(const leat_plane_module_t* module);

#endif  // LEAT_CLUSTER_PLANE_MODULE_H_
