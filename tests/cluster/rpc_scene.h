// A server of remote procedure calls with a channel to it, in one process, for the tests of
// cluster/rpc.h. Its methods echo, describe, fail, block or wait to be answered by the test. An end
// (rpc_end_t) records what a call came to: code, message, answer and how often it ended, which must
// be once. Each test has a server of its own on a free port, so that counts begin at zero and a
// test that stops its server disturbs no other.
#ifndef LEAT_TESTS_CLUSTER_RPC_SCENE_H_
#define LEAT_TESTS_CLUSTER_RPC_SCENE_H_

#include <inttypes.h>
#include <stdio.h>

#include "base/sync.h"
#include "cluster/rpc.h"

#define RPC_SCENE_MAX_HELD 16

typedef struct rpc_scene_options_s {
  int port;  // 0 takes a free one
  int64_t max_message_bytes;
  leat_rpc_security_t server_security, client_security;
} rpc_scene_options_t;

typedef struct rpc_scene_s {
  leat_rpc_server_t* server;
  leat_rpc_channel_t* channel;
  int port;
  leat_mutex_t mutex;
  leat_condition_t changed;
  int gathered, gathered_at;  // calls of /test/Gather so far; all answer when so many have come
  // Requests of /test/Hold, which the test answers. The first one's cancellation is watched.
  leat_rpc_request_t* held[RPC_SCENE_MAX_HELD];
  int held_count;
  bool holds_without_asking, holds_many;
  bool is_closing;  // nothing is held any more
  leat_notification_t cancelled;
  int64_t cancellation_takes_ns;
  atomic_int cancellations, cancellations_ended, faults;
  atomic_bool has_stopped;
  leat_rpc_piece_t lent;  // what /test/Lend and /test/FailLending answer
  bool lent_equalled;     // whether the request of /test/Lend was the same
  int fails_with;         // /test/Fail
  const char* fails_saying;
  leat_string_view_t fails_with_details;
  atomic_int streamed;  // messages of /test/Stream, which "fail", are on "hold", or come back
} rpc_scene_t;

// How a call ended.
typedef struct rpc_end_s {
  leat_notification_t ended;
  atomic_int times;
  leat_status_code_t code;
  char message[512];
  char details[64];
  size_t details_size;
  char* answer;  // with a NUL behind it
  size_t answer_size;
  rpc_scene_t* scene;  // for tests
} rpc_end_t;

void rpc_scene_open(rpc_scene_t* scene, const rpc_scene_options_t* options);
// Answers what is still held, and frees what is still there.
void rpc_scene_close(rpc_scene_t* scene);
int rpc_scene_set_up(void** state);
int rpc_scene_tear_down(void** state);
// A port on which nobody listens, and which no other test gets as long as this process lives.
int rpc_scene_free_port(void);
// What one side wrote before it sent something is visible to the other in any case, but a race
// detector knows nothing of sockets; both sides therefore pass through the scene's mutex.
void rpc_scene_share(rpc_scene_t* scene);
// The server's handler.
void rpc_scene_serve(void* data, leat_rpc_request_t* request);

void rpc_end_initialize(rpc_end_t* end);
void rpc_end_wait(rpc_end_t* end);
void rpc_end_free(rpc_end_t* end);
// The |done| of calls: fills an rpc_end_t.
void rpc_scene_done(void* data, leat_status_t status, leat_string_view_t details,
                    leat_rpc_bytes_t answer);
// Calls without a deadline, and waits for the end.
void rpc_scene_call(rpc_scene_t* scene, const char* method, const char* text, size_t size,
                    rpc_end_t* out_end);
// The same with no bytes and without waiting. |out_call| may be NULL.
void rpc_scene_start(rpc_scene_t* scene, const char* method, rpc_end_t* out_end,
                     leat_rpc_call_t** out_call);

// The first request of /test/Hold.
leat_rpc_request_t* rpc_scene_wait_for_held(rpc_scene_t* scene);
void rpc_scene_answer_held(rpc_scene_t* scene);
// Counts, as what is called when a held request is cancelled.
void rpc_scene_on_cancel(void* scene);
// The |release| of a piece: counts in the atomic_int that is its owner.
void rpc_scene_count(void* owner);
// Waits until the count is reached, and a little longer, in which it must not be passed.
void rpc_scene_expect_count(atomic_int* count, int expected);

#endif  // LEAT_TESTS_CLUSTER_RPC_SCENE_H_
