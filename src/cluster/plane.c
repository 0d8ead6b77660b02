// What the messages of the plane mean, and what is under way on it. The engine, a module over UCX,
// moves headers and bodies (cluster/plane_module.h); here are the ways to other ends, each named by
// the number of the other end, and the calls, each named by a number that its request carries and
// its answer repeats.
//
//   frame_t, then what the kind says:                                 body
//   HELLO, WELCOME, GOODBYE                                           none
//   REQUEST   the key                                                 none
//   VALUE     a RecvTensorResponse without its elements, in two parts  the elements
//   FAILURE   nothing                                                 the message of the status
//
// A call is ended by whoever takes it out of the table of calls: its answer, its cancellation, or
// the loss of the way. So its function is called once, and a value that comes too late is dropped;
// its tensor belongs to the message until all of it is there, so that UCX never writes to memory
// that somebody else has.
//
// Lock order. The engine calls |begin| with its own lock held, and that takes this file's mutex.
// So no function of the engine is called with the mutex held, and neither are those of callers.
//
// Who can reach an end may ask for values, as whoever reaches the port of gRPC may. Frames are
// checked before anything is believed of them; the ends of a cluster have the same order of bytes.
#include "cluster/plane.h"

#include <string.h>

#include "base/checked.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/map.h"
#include "base/module.h"
#include "base/random.h"
#include "base/thread.h"
#include "cluster/recv_tensor.h"

#define VERSION 1
#define LARGEST_TEXT 65536  // of the message of a status
#define LARGEST_KEY (LEAT_PLANE_HEADER_BYTES - sizeof(frame_t))
// What is known of a task, in place of the number of its end, which is larger.
#define PAIR_ASKED UINT64_C(1)
#define PAIR_ABSENT UINT64_C(2)

typedef enum { HELLO = 1, WELCOME, GOODBYE, REQUEST, VALUE, FAILURE } kind_t;

typedef struct frame_s {
  uint32_t kind;
  uint32_t code;   // of FAILURE
  uint64_t from;   // the end that sends it
  uint64_t call;
  int64_t step_id;
  uint32_t head_bytes, tail_bytes;  // the key has a head alone
} frame_t;

typedef struct way_s {
  leat_reference_count_t references;
  leat_plane_t* plane;
  uint64_t number;
  leat_plane_link_t* link;
  bool is_ready;  // the other end has answered; guarded by the plane's mutex
} way_t;

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
  leat_mutex_t mutex;     // guards what follows
  leat_word_map_t ways;   // number of an end -> way_t*, retained
  leat_word_map_t pairs;  // incarnation -> number of an end, or PAIR_*
  leat_word_map_t calls;  // number -> leat_plane_call_t*, retained
  uint64_t last_call;
  int way_count;          // that are not freed
  bool is_stopped;
  leat_condition_t changed;  // a way was freed
};

// A message that comes in.
typedef struct message_s {
  frame_t frame;
  size_t body_bytes;
  char* body;         // NULL: it goes into the value's tensor, or there is none
  leat_slot_t value;  // where its elements go, of a VALUE
  bool is_placed;
  char rest[];        // of the header
} message_t;

static leat_module_t ucx = {
    .name = "ucx", .struct_size = sizeof(leat_plane_module_t), .package = "libucx0"};

// ---- What the module may use --------------------------------------------------------------------

static void* allocate(size_t size_bytes) {
  void* pointer = NULL;
  leat_status_t status = leat_allocator_allocate(leat_allocator_system(), size_bytes, &pointer);
  if (!status) return pointer;
  leat_status_free(status);
  return NULL;
}

static void free_memory(void* pointer) { leat_allocator_free(leat_allocator_system(), pointer); }

static bool start_thread(const char* name, void (*fn)(void* data), void* data) {
  leat_thread_t thread;
  leat_status_t status = leat_thread_start(name, fn, data, &thread);
  if (!status) leat_thread_detach(thread);
  leat_status_free(status);
  return !status;
}

static const leat_plane_host_t host = {
    .allocate = allocate,
    .free = free_memory,
    .now_ns = leat_clock_now_ns,
    .start_thread = start_thread,
    .mutex_initialize = leat_mutex_initialize,
    .mutex_deinitialize = leat_mutex_deinitialize,
    .condition_initialize = leat_condition_initialize,
    .condition_deinitialize = leat_condition_deinitialize,
    .condition_wait_until = leat_condition_wait_until,
    .condition_notify_all = leat_condition_notify_all,
};

// ---- Ways ---------------------------------------------------------------------------------------

static void release_way(way_t* way) {
  if (!way || !leat_reference_count_release(&way->references)) return;
  leat_plane_t* plane = way->plane;
  plane->module->link_close(way->link);
  leat_allocator_free(plane->allocator, way);
  leat_mutex_lock(&plane->mutex);
  --plane->way_count;
  leat_condition_notify_all(&plane->changed);
  leat_mutex_unlock(&plane->mutex);
}

// The way to an end, retained; NULL: there is none. The mutex is held.
static way_t* find_way(leat_plane_t* plane, uint64_t number) {
  uint64_t found;
  if (!leat_word_map_get(&plane->ways, number, &found)) return NULL;
  way_t* way = (way_t*)(uintptr_t)found;
  leat_reference_count_retain(&way->references);
  return way;
}

// Sends a frame, with what stands behind it in the header and the body.
static void send_frame(way_t* way, frame_t frame, leat_string_view_t head, leat_string_view_t tail,
                       leat_rpc_piece_t body) {
  char header[LEAT_PLANE_HEADER_BYTES];
  LEAT_DCHECK(sizeof frame + head.size + tail.size <= sizeof header);
  frame.from = way->plane->number;
  frame.head_bytes = (uint32_t)head.size;
  frame.tail_bytes = (uint32_t)tail.size;
  memcpy(header, &frame, sizeof frame);
  if (head.size) memcpy(header + sizeof frame, head.data, head.size);
  if (tail.size) memcpy(header + sizeof frame + head.size, tail.data, tail.size);
  const size_t size = sizeof frame + head.size + tail.size;
  way->plane->module->send(way->link, leat_string_view_make(header, size), body);
}

static void greet(way_t* way, kind_t kind) {
  send_frame(way, (frame_t){.kind = kind}, LEAT_SV(""), LEAT_SV(""), (leat_rpc_piece_t){0});
}

// The mutex is held.
static leat_status_t add_way(leat_plane_t* plane, way_t* way) {
  if (plane->is_stopped) {
    return leat_make_status(LEAT_CANCELLED, "Joining failed: the server stops");
  }
  LEAT_RETURN_IF_ERROR(
      leat_word_map_set(&plane->ways, way->number, (uint64_t)(uintptr_t)way));
  leat_reference_count_retain(&way->references);
  return leat_ok_status();
}

static leat_status_t open_way(leat_plane_t* plane, const leat_pb_plane_offer_t* offer,
                              way_t** out_way) {
  way_t* way;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(plane->allocator, 1, &way));
  *way = (way_t){.plane = plane, .number = offer->end};
  atomic_init(&way->references, 1);
  const int code = plane->module->link_open(plane->end, offer->address, offer->end, &way->link);
  if (code != LEAT_OK) {
    leat_allocator_free(plane->allocator, way);
    return leat_make_status((leat_status_code_t)code,
                            "Joining failed: UCX cannot reach the address of the end");
  }
  *out_way = way;
  return leat_ok_status();
}

leat_status_t leat_plane_join(leat_plane_t* plane, const leat_pb_plane_offer_t* offer) {
  if (offer->version != VERSION || offer->end <= PAIR_ABSENT || offer->address.size == 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Joining failed: version is %u, must be %d, with an end and an address",
                            offer->version, VERSION);
  }
  leat_status_t status = leat_ok_status();
  way_t* way = NULL;
  leat_mutex_lock(&plane->mutex);
  way_t* found = find_way(plane, offer->end);
  if (!found) {
    // Counted before it is opened, so that stopping waits for it.
    if (plane->is_stopped) {
      status = leat_make_status(LEAT_CANCELLED, "Joining failed: the server stops");
    } else {
      ++plane->way_count;
    }
  }
  leat_mutex_unlock(&plane->mutex);
  if (found || status) {
    release_way(found);
    return status;
  }
  status = open_way(plane, offer, &way);
  leat_mutex_lock(&plane->mutex);
  if (status) {
    --plane->way_count;
    leat_condition_notify_all(&plane->changed);
  } else if (!leat_word_map_get(&plane->ways, way->number, NULL)) {
    status = add_way(plane, way);
  }
  leat_mutex_unlock(&plane->mutex);
  if (!status) greet(way, HELLO);
  release_way(way);
  return status;
}

// ---- Calls --------------------------------------------------------------------------------------

void leat_plane_call_free(leat_plane_call_t* call) {
  if (!call || !leat_reference_count_release(&call->references)) return;
  leat_allocator_free(call->plane->allocator, call);
}

// Takes a call out of the table, with its reference; NULL where it has ended. The mutex is held.
static leat_plane_call_t* take_call(leat_plane_t* plane, uint64_t number) {
  uint64_t found;
  if (!leat_word_map_get(&plane->calls, number, &found)) return NULL;
  leat_word_map_erase(&plane->calls, number);
  return (leat_plane_call_t*)(uintptr_t)found;
}

// Ends the call with |number|, unless it has ended. |status| and |value| are taken.
static void end_call(leat_plane_t* plane, uint64_t number, leat_status_t status,
                     leat_slot_t value) {
  leat_mutex_lock(&plane->mutex);
  leat_plane_call_t* call = take_call(plane, number);
  leat_mutex_unlock(&plane->mutex);
  if (call) {
    call->fn(call->data, status, value);
  } else {
    if (!status) leat_slot_release(&value);
    leat_status_free(status);
  }
  leat_plane_call_free(call);
}

// Enters a call on a way that is ready, which is returned, retained; NULL where there is none. The
// mutex is held.
static way_t* enter_call(leat_plane_t* plane, uint64_t incarnation, leat_plane_call_t* call) {
  uint64_t number = 0;
  if (!leat_word_map_get(&plane->pairs, incarnation, &number)) return NULL;
  way_t* way = find_way(plane, number);
  if (!way) return NULL;
  call->number = ++plane->last_call;
  call->way = number;
  leat_status_t status =
      way->is_ready ? leat_word_map_set(&plane->calls, call->number, (uint64_t)(uintptr_t)call)
                    : leat_make_status(LEAT_UNAVAILABLE, "it is not ready");
  if (!status) return way;
  leat_status_free(status);
  // The table of ways has a reference as long as the mutex is held, so this is not the last one.
  leat_reference_count_release(&way->references);
  return NULL;
}

bool leat_plane_fetch(leat_plane_t* plane, uint64_t incarnation, int64_t step_id,
                      leat_string_view_t key, leat_rendezvous_receive_fn_t fn, void* data,
                      leat_plane_call_t** out_call) {
  leat_plane_call_t* call;
  if (key.size > LARGEST_KEY) return false;
  leat_status_t status = LEAT_ALLOCATE(plane->allocator, 1, &call);
  if (status) {
    leat_status_free(status);
    return false;
  }
  *call = (leat_plane_call_t){.plane = plane, .fn = fn, .data = data};
  atomic_init(&call->references, 2);  // the table's, the caller's
  leat_mutex_lock(&plane->mutex);
  way_t* way = enter_call(plane, incarnation, call);
  leat_mutex_unlock(&plane->mutex);
  if (!way) {
    leat_allocator_free(plane->allocator, call);
    return false;
  }
  *out_call = call;
  const frame_t frame = {.kind = REQUEST, .call = call->number, .step_id = step_id};
  send_frame(way, frame, key, LEAT_SV(""), (leat_rpc_piece_t){0});
  release_way(way);
  return true;
}

void leat_plane_cancel(leat_plane_call_t* call) {
  end_call(call->plane, call->number,
           leat_make_status(LEAT_CANCELLED, "Receiving a value failed: it was cancelled"),
           (leat_slot_t){0});
}

// The number of a call on the way |number|; 0: there is none.
static uint64_t find_call(leat_plane_t* plane, uint64_t number) {
  uint64_t found = 0;
  leat_mutex_lock(&plane->mutex);
  for (size_t i = 0; i < plane->calls.capacity && !found; ++i) {
    if (!plane->calls.used[i]) continue;
    const leat_plane_call_t* call =
        (const leat_plane_call_t*)(uintptr_t)plane->calls.values[i];
    if (call->way == number) found = call->number;
  }
  leat_mutex_unlock(&plane->mutex);
  return found;
}

// ---- The loss of a way --------------------------------------------------------------------------

// Takes a way out of the table and ends its calls. Its tasks are asked by gRPC from now on.
static void lose_way(leat_plane_t* plane, uint64_t number, leat_status_code_t code,
                     const char* reason) {
  uint64_t found = 0;
  leat_mutex_lock(&plane->mutex);
  if (leat_word_map_get(&plane->ways, number, &found)) leat_word_map_erase(&plane->ways, number);
  for (size_t i = 0; i < plane->pairs.capacity; ++i) {
    if (plane->pairs.used[i] && plane->pairs.values[i] == number) {
      plane->pairs.values[i] = PAIR_ABSENT;
    }
  }
  leat_mutex_unlock(&plane->mutex);
  for (uint64_t call; (call = find_call(plane, number));) {
    end_call(plane, call,
             leat_make_status(code, "Receiving a value failed: the connection by UCX broke: %s",
                              reason),
             (leat_slot_t){0});
  }
  release_way((way_t*)(uintptr_t)found);
}

// ---- Messages that come in ----------------------------------------------------------------------

// Finds the place for the elements of a value. false without memory for them.
static bool place_value(message_t* message, char** out_body) {
  const frame_t* frame = &message->frame;
  const leat_rpc_piece_t pieces[] = {
      {.data = message->rest, .size = frame->head_bytes},
      {.size = message->body_bytes},
      {.data = message->rest + frame->head_bytes, .size = frame->tail_bytes}};
  leat_status_t status = leat_recv_tensor_place((leat_rpc_bytes_t){pieces, 3}, &message->value,
                                                &message->is_placed);
  const bool has_failed = status != NULL;
  leat_status_free(status);
  if (message->is_placed) *out_body = message->value.tensor.data;
  return !has_failed;
}

static bool is_right(const frame_t* frame, size_t rest_bytes, size_t body_bytes) {
  switch (frame->kind) {
    case HELLO: case WELCOME: case GOODBYE: return rest_bytes == 0 && body_bytes == 0;
    case REQUEST: return rest_bytes == frame->head_bytes && body_bytes == 0;
    case VALUE: return rest_bytes == (uint64_t)frame->head_bytes + frame->tail_bytes;
    case FAILURE: return rest_bytes == 0 && body_bytes <= LARGEST_TEXT &&
                         frame->code != LEAT_OK && frame->code <= LEAT_UNAUTHENTICATED;
    default: return false;
  }
}

// Of leat_plane_owner_t. The engine's lock is held.
static void* begin(void* data, const char* header, size_t header_size, size_t body_bytes,
                   char** out_body) {
  leat_plane_t* plane = data;
  frame_t frame;
  if (header_size < sizeof frame) return NULL;
  memcpy(&frame, header, sizeof frame);
  const size_t rest_bytes = header_size - sizeof frame;
  if (!is_right(&frame, rest_bytes, body_bytes)) return NULL;
  if (frame.kind == VALUE) {
    leat_mutex_lock(&plane->mutex);
    const bool is_awaited = leat_word_map_get(&plane->calls, frame.call, NULL);
    leat_mutex_unlock(&plane->mutex);
    if (!is_awaited) return NULL;
  }
  message_t* message = allocate(sizeof *message + rest_bytes + 1);
  if (!message) return NULL;
  message->frame = frame;
  message->body_bytes = body_bytes;
  if (rest_bytes) memcpy(message->rest, header + sizeof frame, rest_bytes);
  const bool has_place = frame.kind != VALUE || place_value(message, out_body);
  if (has_place && !message->is_placed && body_bytes) {
    message->body = allocate(body_bytes);
    *out_body = message->body;
  }
  return message;
}

typedef struct reception_s {
  leat_plane_t* plane;
  uint64_t from, call;
} reception_t;

static void answer_failure(way_t* way, uint64_t call, leat_status_t status) {
  const char* text = leat_status_message(status);
  const size_t size = LEAT_MIN(strlen(text), (size_t)LARGEST_TEXT);
  char* copy = allocate(size + 1);
  if (copy) memcpy(copy, text, size);
  const frame_t frame = {
      .kind = FAILURE, .call = call, .code = (uint32_t)leat_status_code(status)};
  send_frame(way, frame, LEAT_SV(""), LEAT_SV(""),
             (leat_rpc_piece_t){copy, copy ? size : 0, free_memory, copy});
  leat_status_free(status);
}

static void answer_value(way_t* way, uint64_t call, leat_slot_t value) {
  leat_rpc_piece_t pieces[LEAT_RECV_TENSOR_PIECES];
  leat_rpc_bytes_t bytes;
  // The tensor of a dead value says nothing.
  if (!value.alive) leat_slot_release(&value);
  leat_status_t status = leat_recv_tensor_encode(value, pieces, &bytes);
  if (status) {
    answer_failure(way, call, status);
    return;
  }
  const frame_t frame = {.kind = VALUE, .call = call};
  send_frame(way, frame, leat_string_view_make(pieces[0].data, pieces[0].size),
             leat_string_view_make(pieces[2].data, pieces[2].size), pieces[1]);
  pieces[0].release(pieces[0].owner);
  pieces[2].release(pieces[2].owner);
}

// A leat_rendezvous_receive_fn_t: what was asked for is there. Who asked may be gone.
static void received(void* data, leat_status_t status, leat_slot_t value) {
  const reception_t reception = *(reception_t*)data;
  leat_plane_t* plane = reception.plane;
  free_memory(data);
  leat_mutex_lock(&plane->mutex);
  way_t* way = find_way(plane, reception.from);
  leat_mutex_unlock(&plane->mutex);
  if (!way) {
    if (!status) leat_slot_release(&value);
    leat_status_free(status);
  } else if (status) {
    answer_failure(way, reception.call, status);
  } else {
    answer_value(way, reception.call, value);
  }
  release_way(way);
}

static void serve_request(leat_plane_t* plane, const message_t* message) {
  reception_t* reception = allocate(sizeof *reception);
  leat_mutex_lock(&plane->mutex);
  way_t* way = find_way(plane, message->frame.from);
  leat_mutex_unlock(&plane->mutex);
  if (reception && way) {
    *reception = (reception_t){plane, message->frame.from, message->frame.call};
    plane->options.serve(plane->options.data, message->frame.step_id,
                         leat_string_view_make(message->rest, message->frame.head_bytes), received,
                         reception);
  } else {
    free_memory(reception);
    if (way) {
      answer_failure(way, message->frame.call,
                     leat_make_status(LEAT_RESOURCE_EXHAUSTED, "Sending a value failed: no memory"));
    }
  }
  release_way(way);
}

static void take_greeting(leat_plane_t* plane, const frame_t* frame) {
  leat_mutex_lock(&plane->mutex);
  way_t* way = find_way(plane, frame->from);
  if (way) way->is_ready = true;
  leat_mutex_unlock(&plane->mutex);
  if (way && frame->kind == HELLO) greet(way, WELCOME);
  release_way(way);
}

static void take_value(leat_plane_t* plane, message_t* message, leat_status_t status) {
  const frame_t* frame = &message->frame;
  leat_slot_t value = message->value;
  if (!status && !message->is_placed) {
    const leat_rpc_piece_t pieces[] = {
        {.data = message->rest, .size = frame->head_bytes},
        {.data = message->body, .size = message->body_bytes},
        {.data = message->rest + frame->head_bytes, .size = frame->tail_bytes}};
    status = leat_recv_tensor_decode((leat_rpc_bytes_t){pieces, 3}, &value);
  } else if (status && message->is_placed) {
    leat_slot_release(&value);
  }
  end_call(plane, frame->call, status, status ? (leat_slot_t){0} : value);
}

// Of leat_plane_owner_t.
static void end(void* data, void* message_data, int code) {
  leat_plane_t* plane = data;
  message_t* message = message_data;
  const frame_t* frame = &message->frame;
  leat_status_t status = leat_ok_status();
  if (code != LEAT_OK) {
    status = leat_make_status((leat_status_code_t)code,
                              "Receiving a value failed: its elements did not come by UCX");
  }
  switch (frame->kind) {
    case HELLO: case WELCOME: take_greeting(plane, frame); break;
    case GOODBYE:
      lose_way(plane, frame->from, LEAT_UNAVAILABLE, "the other task stops");
      break;
    case REQUEST: serve_request(plane, message); break;
    case VALUE:
      take_value(plane, message, status);
      status = NULL;
      break;
    default:
      leat_status_free(status);
      status = leat_make_status((leat_status_code_t)frame->code, "%.*s",
                                (int)(message->body ? message->body_bytes : 0),
                                message->body ? message->body : "");
      end_call(plane, frame->call, status, (leat_slot_t){0});
      status = NULL;
  }
  leat_status_free(status);
  free_memory(message->body);
  free_memory(message);
}

// Of leat_plane_owner_t.
static void lost(void* data, uint64_t number, const char* reason) {
  leat_log(LEAT_LOG_INFO, "UCX: the connection to another task broke: %s", reason);
  lose_way(data, number, LEAT_UNAVAILABLE, reason);
}

// ---- Pairs --------------------------------------------------------------------------------------

bool leat_plane_asks(leat_plane_t* plane, uint64_t incarnation) {
  leat_mutex_lock(&plane->mutex);
  bool asks = !plane->is_stopped && !leat_word_map_get(&plane->pairs, incarnation, NULL);
  if (asks) {
    leat_status_t status = leat_word_map_set(&plane->pairs, incarnation, PAIR_ASKED);
    asks = !status;
    leat_status_free(status);
  }
  leat_mutex_unlock(&plane->mutex);
  return asks;
}

void leat_plane_answer(leat_plane_t* plane, uint64_t incarnation,
                       const leat_pb_plane_offer_t* offer) {
  leat_mutex_lock(&plane->mutex);
  const bool has_way = offer && leat_word_map_get(&plane->ways, offer->end, NULL);
  // The entry is there since the task was asked, so that no memory is needed.
  leat_status_free(
      leat_word_map_set(&plane->pairs, incarnation, has_way ? offer->end : PAIR_ABSENT));
  leat_mutex_unlock(&plane->mutex);
}

// ---- Life ---------------------------------------------------------------------------------------

leat_pb_plane_offer_t leat_plane_offer(const leat_plane_t* plane) {
  return (leat_pb_plane_offer_t){
      .version = VERSION, .end = plane->number, .address = plane->address};
}

leat_status_t leat_plane_create(const leat_plane_options_t* options, leat_plane_t** out_plane) {
  const void* table;
  leat_plane_t* plane;
  char reason[160] = "";
  LEAT_RETURN_IF_ERROR(leat_module_load(&ucx, &table));
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(options->allocator, 1, &plane));
  *plane = (leat_plane_t){.options = *options, .allocator = options->allocator, .module = table};
  do plane->number = leat_random_seed(); while (plane->number <= PAIR_ABSENT);
  leat_mutex_initialize(&plane->mutex);
  leat_condition_initialize(&plane->changed);
  leat_word_map_initialize(plane->allocator, &plane->ways);
  leat_word_map_initialize(plane->allocator, &plane->pairs);
  leat_word_map_initialize(plane->allocator, &plane->calls);
  plane->module->initialize(&host);
  const leat_plane_owner_t owner = {plane, begin, end, lost};
  const int code = plane->module->end_open(&owner, options->is_local, &plane->end,
                                           &plane->address, reason, sizeof reason);
  if (code != LEAT_OK) {
    plane->is_stopped = true;
    leat_plane_free(plane);
    return leat_make_status((leat_status_code_t)code, "Opening the plane of values failed: %s",
                            reason);
  }
  *out_plane = plane;
  return leat_ok_status();
}

// One of the ways that are left, retained; NULL: there is none.
static way_t* find_any_way(leat_plane_t* plane) {
  way_t* way = NULL;
  leat_mutex_lock(&plane->mutex);
  for (size_t i = 0; i < plane->ways.capacity && !way; ++i) {
    if (plane->ways.used[i]) way = find_way(plane, plane->ways.keys[i]);
  }
  leat_mutex_unlock(&plane->mutex);
  return way;
}

void leat_plane_stop(leat_plane_t* plane) {
  if (!plane) return;
  leat_mutex_lock(&plane->mutex);
  const bool stops = !plane->is_stopped;
  plane->is_stopped = true;
  leat_mutex_unlock(&plane->mutex);
  if (!stops) return;
  for (way_t* way; (way = find_any_way(plane));) {
    // Over shared memory the other end learns of it by this alone.
    greet(way, GOODBYE);
    lose_way(plane, way->number, LEAT_CANCELLED, "the server stops");
    release_way(way);
  }
  leat_mutex_lock(&plane->mutex);
  while (plane->way_count > 0) leat_condition_wait(&plane->changed, &plane->mutex);
  leat_mutex_unlock(&plane->mutex);
  plane->module->end_close(plane->end);
}

void leat_plane_free(leat_plane_t* plane) {
  if (!plane) return;
  leat_plane_stop(plane);
  LEAT_DCHECK(plane->calls.count == 0 && plane->ways.count == 0);
  leat_word_map_deinitialize(&plane->ways);
  leat_word_map_deinitialize(&plane->pairs);
  leat_word_map_deinitialize(&plane->calls);
  leat_condition_deinitialize(&plane->changed);
  leat_mutex_deinitialize(&plane->mutex);
  leat_allocator_free(plane->allocator, plane);
}
