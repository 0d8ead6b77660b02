// What the two sources of the plane share: plane.c, which has the ways and the calls, and
// plane_message.c, which understands what comes in. A message is a frame, what stands behind it in
// the header, and a body:
//
//   frame, then what the kind says:                                   body
//   HELLO, WELCOME                                                    the proof
//   READY, GOODBYE                                                    none
//   REQUEST   the key, and the device of a member in a collective     none
//   VALUE     a RecvTensorResponse without its elements, in two parts the elements
//   FAILURE   nothing                                                 the message of the status
//
// HELLO is answered by WELCOME, and that by READY, each when all of its body is there: then both
// ends know that large bodies go both ways.
//
// Lock order. Two that open ways take turns by |joining|, which is taken before all others. The
// engine calls |begin| with its own lock held, and that takes the plane's mutex. So
// no function of the engine is called with the mutex held, and neither are those of callers.
#ifndef LEAT_CLUSTER_PLANE_MESSAGE_H_
#define LEAT_CLUSTER_PLANE_MESSAGE_H_

#include "base/map.h"
#include "cluster/plane.h"

// Above what UCX sends together with the header, by any transport (at most 64 kB by default).
#define LEAT_PLANE_PROOF_BYTES (256 * 1024)

typedef enum leat_plane_kind_e {
  LEAT_PLANE_HELLO = 1,
  LEAT_PLANE_WELCOME,
  LEAT_PLANE_READY,
  LEAT_PLANE_GOODBYE,
  LEAT_PLANE_REQUEST,
  LEAT_PLANE_VALUE,
  LEAT_PLANE_FAILURE
} leat_plane_kind_t;

typedef struct leat_plane_frame_s {
  uint32_t kind;
  uint32_t code;   // of LEAT_PLANE_FAILURE
  uint64_t from;   // the end that sends it
  uint64_t call;
  int64_t step_id;
  uint32_t head_bytes, tail_bytes;  // of the two parts behind the frame
} leat_plane_frame_t;

// The way to another end, which is named by that end's number.
typedef struct leat_plane_way_s {
  leat_reference_count_t references;
  leat_plane_t* plane;
  uint64_t number;
  leat_plane_link_t* link;
  // Guarded by the plane's mutex.
  bool is_ready;        // it has proved itself
  bool is_asked;        // for its proof
  int64_t deadline_ns;  // of the proof, where it is asked
} leat_plane_way_t;

struct leat_plane_call_s {
  leat_reference_count_t references;
  leat_plane_t* plane;
  uint64_t number, way;
  leat_rendezvous_receive_fn_t fn;
  void* data;
};

struct leat_plane_s {
  leat_plane_options_t options;
  leat_allocator_t* allocator;
  const leat_plane_module_t* module;
  leat_plane_end_t* end;
  leat_string_view_t address;
  uint64_t number;
  char* proof;            // LEAT_PLANE_PROOF_BYTES, the same at all ends
  leat_mutex_t joining;   // held while a way is opened, so that no end gets two
  leat_mutex_t mutex;     // guards what follows
  leat_word_map_t ways;   // number of an end -> way, retained
  leat_word_map_t lost;   // number of an end to which a way was lost -> 1
  leat_word_map_t pairs;  // incarnation -> number of an end, or PAIR_*
  leat_word_map_t calls;  // number -> leat_plane_call_t*, retained
  uint64_t last_call;
  int way_count;          // that are not freed
  bool is_stopped;
  leat_condition_t changed;  // a way was freed
};

// The way to an end, retained; NULL: there is none. The mutex is held.
leat_plane_way_t* leat_plane_find_way(leat_plane_t* plane, uint64_t number);
void leat_plane_way_release(leat_plane_way_t* way);  // not with the mutex held; NULL is allowed
// Sends a frame, with what stands behind it in the header and the body. Fields that each frame has
// are filled in.
void leat_plane_send(leat_plane_way_t* way, leat_plane_frame_t frame, leat_string_view_t head,
                     leat_string_view_t tail, leat_rpc_piece_t body);
void leat_plane_greet(leat_plane_way_t* way, leat_plane_kind_t kind);
// Takes the way to an end out of the table and ends its calls with |code|. Values of its task come
// by gRPC from now on.
void leat_plane_lose(leat_plane_t* plane, uint64_t number, leat_status_code_t code,
                     const char* reason);
// Ends the call with |number|, unless it has ended. |status| and |value| are taken.
void leat_plane_end_call(leat_plane_t* plane, uint64_t number, leat_status_t status,
                         leat_slot_t value);

// Of leat_plane_owner_t; |data| is the plane.
void* leat_plane_begin_message(void* data, const char* header, size_t header_size,
                               size_t body_bytes, char** out_body);
void leat_plane_end_message(void* data, void* message, int code);

#endif  // LEAT_CLUSTER_PLANE_MESSAGE_H_
