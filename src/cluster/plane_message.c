// Understands the messages of the plane that come in. For each there is a message_t from the moment
// when its header is seen until its body is there: the body of a value of plain numbers goes into
// the value's tensor, that of any other message into memory of its own, and is decoded at the end.
// The body of a value that is lent is read then, since that takes long for a large one.
// The tensor belongs to the message until all of it is there, so that UCX never writes to memory
// that somebody else has; whether anybody still wants it is asked then.
//
// Who can reach an end may ask for values, as whoever reaches the port of gRPC may. Frames are
// checked before anything is believed of them; the ends of a cluster have the same order of bytes.
#include "cluster/plane_message.h"

#include <string.h>

#include "base/checked.h"
#include "cluster/recv_tensor.h"

#define LARGEST_TEXT 65536  // of the message of a status

// A message that comes in.
typedef struct message_s {
  leat_plane_frame_t frame;
  size_t body_bytes;
  char* body;         // NULL: it goes into the value's tensor, or there is none
  leat_slot_t value;  // where its elements go, of a LEAT_PLANE_VALUE
  bool is_placed;
  char rest[];        // of the header
} message_t;

static void* allocate(size_t size_bytes) {
  void* pointer = NULL;
  leat_status_t status = leat_allocator_allocate(leat_allocator_system(), size_bytes, &pointer);
  if (!status) return pointer;
  leat_status_free(status);
  return NULL;
}

static void free_memory(void* pointer) { leat_allocator_free(leat_allocator_system(), pointer); }

// Finds the place for the elements of a value, where they are plain numbers.
static leat_status_t place_value(message_t* message, char** out_body) {
  const leat_plane_frame_t* frame = &message->frame;
  const leat_rpc_piece_t pieces[] = {
      {.data = message->rest, .size = frame->head_bytes},
      {.size = message->body_bytes},
      {.data = message->rest + frame->head_bytes, .size = frame->tail_bytes}};
  leat_status_t status = leat_recv_tensor_place((leat_rpc_bytes_t){pieces, 3}, &message->value,
                                                &message->is_placed);
  if (message->is_placed) *out_body = message->value.tensor.data;
  return status;
}

static bool is_right(const leat_plane_frame_t* frame, size_t rest_bytes, size_t body_bytes) {
  const uint64_t parts_bytes = (uint64_t)frame->head_bytes + frame->tail_bytes;
  switch (frame->kind) {
    case LEAT_PLANE_HELLO: case LEAT_PLANE_WELCOME:
      return rest_bytes == 0 && body_bytes == LEAT_PLANE_PROOF_BYTES;
    case LEAT_PLANE_READY: case LEAT_PLANE_GOODBYE: case LEAT_PLANE_TAKEN:
      return rest_bytes == 0 && body_bytes == 0;
    case LEAT_PLANE_LENT:
      return rest_bytes == parts_bytes && body_bytes == 0 && frame->elements_bytes > 0 &&
             frame->elements_bytes <= PTRDIFF_MAX;
    case LEAT_PLANE_REQUEST: return rest_bytes == parts_bytes && body_bytes == 0;
    case LEAT_PLANE_VALUE: return rest_bytes == parts_bytes;
    case LEAT_PLANE_FAILURE: return rest_bytes == 0 && body_bytes <= LARGEST_TEXT &&
                         frame->code != LEAT_OK && frame->code <= LEAT_UNAUTHENTICATED;
    case LEAT_PLANE_CALL:
      return rest_bytes == parts_bytes && body_bytes == 0 && frame->head_bytes > 0;
    case LEAT_PLANE_ANSWER:
      return rest_bytes == parts_bytes && (body_bytes == 0 || frame->tail_bytes == 0) &&
             frame->code <= LEAT_UNAUTHENTICATED;
    case LEAT_PLANE_CANCEL: return rest_bytes == 0 && body_bytes == 0;
    default: return false;
  }
}

// Of leat_plane_owner_t. The engine's lock is held.
void* leat_plane_begin_message(void* data, const char* header, size_t header_size,
                               size_t body_bytes, char** out_body) {
  leat_plane_t* plane = data;
  leat_plane_frame_t frame;
  if (header_size < sizeof frame) return NULL;
  memcpy(&frame, header, sizeof frame);
  const size_t rest_bytes = header_size - sizeof frame;
  if (!is_right(&frame, rest_bytes, body_bytes)) return NULL;
  const bool is_answer = frame.kind == LEAT_PLANE_ANSWER;
  if ((is_answer || frame.kind == LEAT_PLANE_VALUE) &&
      !leat_plane_awaits(plane, frame.call, is_answer)) {
    return NULL;
  }
  message_t* message = allocate(sizeof *message + rest_bytes + 1);
  if (!message) return NULL;
  message->frame = frame;
  message->body_bytes = body_bytes;
  if (rest_bytes) memcpy(message->rest, header + sizeof frame, rest_bytes);
  leat_status_t status = leat_ok_status();
  if (frame.kind == LEAT_PLANE_VALUE) status = place_value(message, out_body);
  if (!status && !message->is_placed && body_bytes) {
    message->body = allocate(body_bytes);
    *out_body = message->body;
  }
  leat_status_free(status);  // without a place the message ends with a status of its own
  return message;
}

typedef struct reception_s {
  leat_plane_t* plane;
  uint64_t from, call;
  bool can_read;
} reception_t;

static void answer_failure(leat_plane_way_t* way, uint64_t call, leat_status_t status) {
  const char* text = leat_status_message(status);
  const size_t size = LEAT_MIN(strlen(text), (size_t)LARGEST_TEXT);
  char* copy = allocate(size + 1);
  if (copy) memcpy(copy, text, size);
  const leat_plane_frame_t frame = {
      .kind = LEAT_PLANE_FAILURE, .call = call, .code = (uint32_t)leat_status_code(status)};
  leat_plane_send(way, frame, LEAT_SV(""), LEAT_SV(""),
             (leat_rpc_piece_t){copy, copy ? size : 0, free_memory, copy});
  leat_status_free(status);
}

static void answer_value(leat_plane_way_t* way, uint64_t call, bool can_read, leat_slot_t value) {
  leat_rpc_piece_t pieces[LEAT_RECV_TENSOR_PIECES];
  leat_rpc_bytes_t bytes;
  // The tensor of a dead value says nothing.
  if (!value.alive) leat_slot_release(&value);
  leat_status_t status = leat_recv_tensor_encode(value, pieces, &bytes);
  if (status) {
    answer_failure(way, call, status);
    return;
  }
  const leat_string_view_t head = leat_string_view_make(pieces[0].data, pieces[0].size);
  const leat_string_view_t tail = leat_string_view_make(pieces[2].data, pieces[2].size);
  if (!can_read || !leat_plane_lend(way, call, head, tail, pieces[1])) {
    const leat_plane_frame_t frame = {.kind = LEAT_PLANE_VALUE, .call = call};
    leat_plane_send(way, frame, head, tail, pieces[1]);
  }
  pieces[0].release(pieces[0].owner);
  pieces[2].release(pieces[2].owner);
}

// A leat_rendezvous_receive_fn_t: what was asked for is there. Who asked may be gone.
static void received(void* data, leat_status_t status, leat_slot_t value) {
  const reception_t reception = *(reception_t*)data;
  leat_plane_t* plane = reception.plane;
  free_memory(data);
  leat_plane_way_t* way = leat_plane_get_way(plane, reception.from);
  if (!way) {
    if (!status) leat_slot_release(&value);
    leat_status_free(status);
  } else if (status) {
    answer_failure(way, reception.call, status);
  } else {
    answer_value(way, reception.call, reception.can_read, value);
  }
  leat_plane_way_release(way);
}

static void serve_request(leat_plane_t* plane, const message_t* message) {
  reception_t* reception = allocate(sizeof *reception);
  leat_plane_way_t* way = leat_plane_get_way(plane, message->frame.from);
  if (reception && way) {
    const leat_plane_frame_t* frame = &message->frame;
    *reception = (reception_t){plane, frame->from, frame->call, frame->can_read != 0};
    plane->options.serve(
        plane->options.data, frame->step_id,
        leat_string_view_make(message->rest, frame->head_bytes),
        leat_string_view_make(message->rest + frame->head_bytes, frame->tail_bytes), received,
        reception);
  } else {
    free_memory(reception);
    if (way) {
      answer_failure(way, message->frame.call,
                     leat_make_status(LEAT_RESOURCE_EXHAUSTED,
                                      "Sending a value failed: there is no memory"));
    }
  }
  leat_plane_way_release(way);
}

// A proof that did not come, or not as it was sent, is none.
static void take_greeting(leat_plane_t* plane, const message_t* message, bool has_come) {
  const leat_plane_kind_t kind = (leat_plane_kind_t)message->frame.kind;
  if (!has_come) return;
  if (message->body && memcmp(message->body, plane->proof, message->body_bytes) != 0) return;
  leat_plane_way_t* way = leat_plane_get_way(plane, message->frame.from);
  if (!way) return;
  if (kind != LEAT_PLANE_READY) leat_plane_prove_memory(way, &message->frame);
  leat_mutex_lock(&plane->mutex);
  if (kind != LEAT_PLANE_HELLO) way->is_ready = true;
  leat_mutex_unlock(&plane->mutex);
  if (kind != LEAT_PLANE_READY) {
    leat_plane_greet(way, kind == LEAT_PLANE_HELLO ? LEAT_PLANE_WELCOME : LEAT_PLANE_READY);
  }
  leat_plane_way_release(way);
}

static void take_value(leat_plane_t* plane, message_t* message, leat_status_t status) {
  const leat_plane_frame_t* frame = &message->frame;
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
  leat_plane_end_fetch(plane, frame->call, status, status ? (leat_slot_t){0} : value);
}

// Reads the elements of a value that is lent, and gives them back. The sender keeps them until it
// is told, also where nobody waits for the value any more.
static void receive_loan(leat_plane_t* plane, message_t* message) {
  const leat_plane_frame_t* frame = &message->frame;
  leat_status_t status = leat_ok_status();
  char* place = NULL;
  const bool is_awaited = leat_plane_awaits(plane, frame->call, false);
  leat_plane_way_t* way = leat_plane_get_way(plane, frame->from);
  if (!way) return;  // the call has ended with it
  if (is_awaited) {
    message->body_bytes = (size_t)frame->elements_bytes;
    status = place_value(message, &place);
    if (!status && !message->is_placed) place = message->body = allocate(message->body_bytes);
    if (!status && !place) {
      status = leat_make_status(LEAT_RESOURCE_EXHAUSTED,
                                "Receiving a value failed: there is no memory for %zu bytes",
                                message->body_bytes);
    }
    if (!status) status = leat_plane_read_loan(way, frame, place);
  }
  const leat_plane_frame_t taken = {.kind = LEAT_PLANE_TAKEN, .seal = frame->seal};
  leat_plane_send(way, taken, LEAT_SV(""), LEAT_SV(""), (leat_rpc_piece_t){0});
  leat_plane_way_release(way);
  if (is_awaited) take_value(plane, message, status);
}

// Of leat_plane_owner_t.
void leat_plane_end_message(void* data, void* message_data, int code) {
  leat_plane_t* plane = data;
  message_t* message = message_data;
  const leat_plane_frame_t* frame = &message->frame;
  leat_status_t status = leat_ok_status();
  if (code != LEAT_OK) {
    status = leat_make_status((leat_status_code_t)code,
                              "Receiving a value failed: its elements did not come by UCX");
  }
  switch (frame->kind) {
    case LEAT_PLANE_HELLO: case LEAT_PLANE_WELCOME: case LEAT_PLANE_READY:
      take_greeting(plane, message, code == LEAT_OK);
      break;
    case LEAT_PLANE_GOODBYE:
      leat_plane_lose(plane, frame->from, LEAT_UNAVAILABLE, "the other task stops");
      break;
    case LEAT_PLANE_REQUEST: serve_request(plane, message); break;
    case LEAT_PLANE_VALUE:
      take_value(plane, message, status);
      status = NULL;
      break;
    case LEAT_PLANE_LENT: receive_loan(plane, message); break;
    case LEAT_PLANE_TAKEN: leat_plane_take_back(plane, frame->from, frame->seal); break;
    case LEAT_PLANE_CALL: leat_plane_serve_call(plane, frame, message->rest); break;
    case LEAT_PLANE_CANCEL:
      leat_plane_cancel_request(plane, frame->from, frame->call);
      break;
    case LEAT_PLANE_ANSWER:
      leat_plane_take_answer(plane, frame, message->rest,
                             leat_string_view_make(message->body, message->body_bytes), status);
      status = NULL;
      break;
    default:
      leat_status_free(status);
      status = leat_make_status((leat_status_code_t)frame->code, "%.*s",
                                (int)(message->body ? message->body_bytes : 0),
                                message->body ? message->body : "");
      leat_plane_end_fetch(plane, frame->call, status, (leat_slot_t){0});
      status = NULL;
  }
  leat_status_free(status);
  free_memory(message->body);
  free_memory(message);
}
