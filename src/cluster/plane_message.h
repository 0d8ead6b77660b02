// What the sources of the plane share: plane.c, which has the ways and what is under way on them,
// plane_message.c, which understands what comes in, plane_call.c, which has the calls of methods,
// and plane_loan.c, which has the values that another task reads from the memory of this one. A
// message is a frame, what stands behind it in the header, and a body:
//
//   frame, then what the kind says:                                   body
//   HELLO, WELCOME                                                    the proof
//   READY, GOODBYE                                                    none
//   REQUEST   the key, and the device of a member in a collective     none
//   VALUE     a RecvTensorResponse without its elements, in two parts the elements
//   FAILURE   nothing                                                 the message of the status
//   LENT      as VALUE; the elements stay where they are              none
//   TAKEN                                                             none
//   CALL      the method and its request                              none
//   ANSWER    details of a failure, and its text or a small answer    an answer that is larger
//   CANCEL                                                            none
//
// HELLO is answered by WELCOME, and that by READY, each when all of its body is there: then both
// ends know that large bodies go both ways. LENT is answered by TAKEN, when the receiver has read
// the elements or wants them no more.
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
// What can stand behind the frame in a header.
#define LEAT_PLANE_ROOM_BYTES (LEAT_PLANE_HEADER_BYTES - sizeof(leat_plane_frame_t))

typedef enum leat_plane_kind_e {
  LEAT_PLANE_HELLO = 1,
  LEAT_PLANE_WELCOME,
  LEAT_PLANE_READY,
  LEAT_PLANE_GOODBYE,
  LEAT_PLANE_REQUEST,
  LEAT_PLANE_VALUE,
  LEAT_PLANE_FAILURE,
  LEAT_PLANE_LENT,
  LEAT_PLANE_TAKEN,
  LEAT_PLANE_CALL,
  LEAT_PLANE_ANSWER,
  LEAT_PLANE_CANCEL
} leat_plane_kind_t;

typedef struct leat_plane_frame_s {
  uint32_t kind;
  uint32_t code;   // of FAILURE, and of ANSWER, which may be LEAT_OK
  uint64_t from;   // the end that sends it
  uint64_t call;
  int64_t step_id;
  uint32_t head_bytes, tail_bytes;  // of the two parts behind the frame
  uint64_t can_read;  // of a REQUEST: whether its sender can read the memory of the other end
  // What may be read in the memory of the end that sends the frame (plane_loan.c).
  int64_t process;                     // of a greeting; 0: nothing
  uint64_t seal_address;               // of a greeting and LENT
  uint64_t seal;                       // of LENT and TAKEN
  uint64_t elements, elements_bytes;   // of LENT: their address and size
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
  // The process of the other end, where its memory can be read; 0: it cannot.
  _Atomic(int64_t) process;
} leat_plane_way_t;

// A fetch, or a call of a method.
struct leat_plane_call_s {
  leat_reference_count_t references;
  leat_plane_t* plane;
  uint64_t number, way;
  leat_rendezvous_receive_fn_t fn;    // of a fetch
  leat_rpc_done_fn_t done;            // of a call of a method; else NULL
  const leat_rpc_channel_t* channel;  // of a call of a method
  void* data;
};

// A call of a method that came in and is not answered yet (plane_call.c).
typedef struct leat_plane_request_s leat_plane_request_t;

// A CANCEL that has overtaken its CALL.
#define LEAT_PLANE_EARLY_CANCELS 64
typedef struct leat_plane_early_cancel_s {
  uint64_t from, call;
} leat_plane_early_cancel_t;

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
  leat_word_map_t loans;  // seal -> loan_t*
  leat_plane_request_t* requests;  // a list
  // A ring: those for which there was no request, because it was still to come or answered already.
  leat_plane_early_cancel_t early_cancels[LEAT_PLANE_EARLY_CANCELS];
  uint32_t early_cancel_count;
  uint64_t last_call, last_seal;
  int way_count;          // that are not freed
  bool is_stopped;
  leat_condition_t changed;  // a way was freed, or a request answered
  // For tests: of values that were read from other tasks' memory, and of calls of methods.
  _Atomic(uint64_t) read_count, call_count;
};

// The way to an end, retained; NULL: there is none. The mutex is held.
leat_plane_way_t* leat_plane_find_way(leat_plane_t* plane, uint64_t number);
// The same, for a caller who does not hold the mutex.
leat_plane_way_t* leat_plane_get_way(leat_plane_t* plane, uint64_t number);
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
// Enters a call, which is copied from |call|, on a way to the task with |incarnation| that is
// ready. |*out_call| and |*out_way| are retained. false where there is no such way, or no memory.
bool leat_plane_enter_call(leat_plane_t* plane, uint64_t incarnation,
                           const leat_plane_call_t* call, leat_plane_way_t** out_way,
                           leat_plane_call_t** out_call);
// Whether the fetch or the call of a method with |number| is under way.
bool leat_plane_awaits(leat_plane_t* plane, uint64_t number, bool is_method);
// Takes that out of the table, with its reference; NULL where it has ended.
leat_plane_call_t* leat_plane_take_call(leat_plane_t* plane, uint64_t number, bool is_method);
// Ends the fetch with |number|, unless it has ended. |status| and |value| are taken.
void leat_plane_end_fetch(leat_plane_t* plane, uint64_t number, leat_status_t status,
                          leat_slot_t value);

// ---- Calls of methods (plane_call.c) ------------------------------------------------------------

// Tells the other task that nobody waits for the answer any more.
void leat_plane_send_cancel(leat_plane_call_t* call);
// An ANSWER has come. |status| (taken) is a failure where its body has not.
void leat_plane_take_answer(leat_plane_t* plane, const leat_plane_frame_t* frame,
                            const char* rest, leat_string_view_t body, leat_status_t status);
// Serves a CALL.
void leat_plane_serve_call(leat_plane_t* plane, const leat_plane_frame_t* frame, const char* rest);
// Cancels |call|, which came on the way |from|, or will come.
void leat_plane_cancel_request(leat_plane_t* plane, uint64_t from, uint64_t call);
// Cancels all that came on the way |from|.
void leat_plane_cancel_requests(leat_plane_t* plane, uint64_t from);

// ---- Loans (plane_loan.c) -----------------------------------------------------------------------

// Says in a greeting where this end's memory may be read.
void leat_plane_show_memory(const leat_plane_way_t* way, leat_plane_frame_t* inout_greeting);
// Tries to read there, and notes in the way whether it can be done.
void leat_plane_prove_memory(leat_plane_way_t* way, const leat_plane_frame_t* greeting);
// Answers |call| with a loan of |elements|, whose release is taken. false where the elements are
// too few to be worth it, the way is lost, or there is no memory, and nothing was done.
bool leat_plane_lend(leat_plane_way_t* way, uint64_t call, leat_string_view_t head,
                     leat_string_view_t tail, leat_rpc_piece_t elements);
// Copies the elements of a loan, |frame|, to |place|. UNAVAILABLE where they cannot be had: nothing
// of |place| is then to be believed. Blocks while it copies.
LEAT_MUST_USE leat_status_t leat_plane_read_loan(leat_plane_way_t* way,
                                                 const leat_plane_frame_t* frame, void* place);
// The end with the number |way| has said TAKEN of the loan with |seal|.
void leat_plane_take_back(leat_plane_t* plane, uint64_t way, uint64_t seal);
// Takes back all that was lent on a way, which is no longer in the table.
void leat_plane_take_back_all(leat_plane_t* plane, uint64_t way);

// Of leat_plane_owner_t; |data| is the plane.
void* leat_plane_begin_message(void* data, const char* header, size_t header_size,
                               size_t body_bytes, char** out_body);
void leat_plane_end_message(void* data, void* message, int code);

#endif  // LEAT_CLUSTER_PLANE_MESSAGE_H_
