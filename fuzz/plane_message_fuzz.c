// An end of the plane (cluster/plane.h), to which another end that may be a hostile one sends
// whatever it likes, in any order, while values are fetched from it, methods called, and both
// cancelled. A module of our own stands in for UCX: it throws away what is sent. The input is a
// list of things to do, each with its arguments. The memory of the other end is that of the fuzzer
// itself, so that values that are lent can be read or not. Whatever happens, each fetch and each
// call ends once, and what comes in is answered without harm.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/checked.h"
#include "cluster/plane_message.h"
#include "memory_limit.h"

enum { kMostBytes = 1 << 24, kMostCalls = 64, kPeer = 1000, kIncarnation = 7 };

// ---- The module ---------------------------------------------------------------------------------

static leat_plane_owner_t owner;
static leat_rpc_piece_t proof;  // what the end sends with its greeting

static void initialize(const leat_plane_host_t* host) {}

static int end_open(const leat_plane_owner_t* of, bool is_local, leat_plane_end_t** out_end,
                    leat_string_view_t* out_address, char* message, size_t message_size) {
  owner = *of;
  *out_end = NULL;
  *out_address = LEAT_SV("here");
  return LEAT_OK;
}

static void end_close(leat_plane_end_t* end) {}

static int link_open(leat_plane_end_t* end, leat_string_view_t address, uint64_t number,
                     leat_plane_link_t** out_link) {
  *out_link = NULL;
  return LEAT_OK;
}

static void link_close(leat_plane_link_t* link, bool is_proved) {}

static void send_away(leat_plane_link_t* link, leat_string_view_t header, leat_rpc_piece_t body) {
  leat_plane_frame_t frame;
  if (header.size < sizeof frame || header.size > LEAT_PLANE_HEADER_BYTES) __builtin_trap();
  memcpy(&frame, header.data, sizeof frame);
  if (frame.kind == LEAT_PLANE_HELLO) proof = body;
  if (body.size && !body.release) __builtin_trap();
  if (body.release) body.release(body.owner);
}

static const leat_plane_module_t kModule = {.struct_size = sizeof kModule,
                                            .version = "none",
                                            .initialize = initialize,
                                            .end_open = end_open,
                                            .end_close = end_close,
                                            .link_open = link_open,
                                            .link_close = link_close,
                                            .send = send_away};

// ---- The input ----------------------------------------------------------------------------------

typedef struct input_s {
  const uint8_t *next, *end;
} input_t;

static uint32_t take(input_t* input, int bytes) {
  uint32_t number = 0;
  for (; bytes > 0 && input->next < input->end; --bytes) number = number << 8 | *input->next++;
  return number;
}

static leat_string_view_t take_bytes(input_t* input, size_t size) {
  const size_t left = (size_t)(input->end - input->next);
  const leat_string_view_t bytes =
      leat_string_view_make((const char*)input->next, LEAT_MIN(size, left));
  input->next += bytes.size;
  return bytes;
}

// ---- What the end does --------------------------------------------------------------------------

typedef struct scene_s {
  leat_plane_t* plane;
  struct {
    leat_plane_call_t* call;
    int ends;
  } calls[kMostCalls];
  int call_count;
  // What was asked for and is not answered yet.
  leat_rpc_request_t* request;
  leat_rendezvous_receive_fn_t fn;
  void* fn_data;
} scene_t;

static scene_t scene;

static leat_slot_t make_floats(int64_t count) {
  leat_slot_t slot = {.alive = true};
  leat_shape_t shape;
  leat_status_t status = leat_shape_create(1, &count, &shape);
  if (!status) {
    status = leat_tensor_allocate(leat_buffer_source_host(), LEAT_DTYPE_FLOAT, &shape,
                                  &slot.tensor);
  }
  if (status) __builtin_trap();
  memset(slot.tensor.data, 0, (size_t)count * sizeof(float));
  return slot;
}

static void answer_value(void) {
  leat_rendezvous_receive_fn_t fn = scene.fn;
  scene.fn = NULL;
  if (fn) fn(scene.fn_data, leat_ok_status(), make_floats(20000));
}

static void answer_request(void* data) {
  leat_rpc_request_t* request = scene.request;
  const leat_rpc_piece_t piece = {.data = "an answer", .size = 9};
  scene.request = NULL;
  if (request) {
    leat_rpc_answer(request, leat_ok_status(), LEAT_SV("why"), (leat_rpc_bytes_t){&piece, 1});
  }
}

static void serve(void* data, int64_t step_id, leat_string_view_t key, leat_string_view_t member,
                  leat_rendezvous_receive_fn_t fn, void* fn_data) {
  answer_value();
  scene.fn = fn;
  scene.fn_data = fn_data;
}

static void handle(void* data, leat_rpc_request_t* request) {
  answer_request(NULL);
  if (request->method.size == 0) __builtin_trap();
  scene.request = request;
  leat_rpc_request_on_cancel(request, answer_request, NULL);
}

static void end_fetch(void* data, leat_status_t status, leat_slot_t value) {
  ++*(int*)data;
  if (!status) leat_slot_release(&value);
  leat_status_free(status);
}

static void end_call(void* data, leat_status_t status, leat_string_view_t details,
                     leat_rpc_bytes_t answer) {
  ++*(int*)data;
  if (status && answer.count) __builtin_trap();
  leat_status_free(status);
}

static void begin(bool is_method) {
  const leat_plane_call_options_t options = {
      .incarnation = kIncarnation, .method = "/a/b", .bytes = LEAT_SV("request")};
  const int i = scene.call_count;
  if (i == kMostCalls) return;
  const bool has_begun =
      is_method ? leat_plane_call(scene.plane, &options, end_call, &scene.calls[i].ends,
                                  &scene.calls[i].call)
                : leat_plane_fetch(scene.plane, kIncarnation, 1, LEAT_SV("key"), LEAT_SV(""),
                                   end_fetch, &scene.calls[i].ends, &scene.calls[i].call);
  scene.call_count += has_begun;
}

// ---- What the other end does --------------------------------------------------------------------

static void deliver(leat_string_view_t header, leat_string_view_t body, int code) {
  char* place = NULL;
  void* message = owner.begin(owner.data, header.data, header.size, body.size, &place);
  if (!message) return;
  if (body.size && !place) code = LEAT_RESOURCE_EXHAUSTED;
  if (place && code == LEAT_OK) memcpy(place, body.data, body.size);
  owner.end(owner.data, message, code);
}

static void send_message(input_t* input) {
  static uint64_t seal = 5;
  static float elements[1 << 16];
  char header[LEAT_PLANE_HEADER_BYTES];
  const uint32_t flags = take(input, 1);
  leat_plane_frame_t frame = {.kind = take(input, 1) % (LEAT_PLANE_CANCEL + 2),
                              .code = flags & 1 ? take(input, 1) : LEAT_OK,
                              .from = flags & 2 ? take(input, 4) : kPeer,
                              .call = take(input, 1),
                              .step_id = 1,
                              .can_read = flags >> 2 & 1,
                              .process = getpid(),
                              .seal_address = (uintptr_t)&scene.plane->number,
                              .seal = flags & 8 ? take(input, 1) : seal};
  if (frame.kind == LEAT_PLANE_LENT) {
    frame.seal_address = (uintptr_t)&seal;
    frame.elements = flags & 16 ? take(input, 4) : (uintptr_t)elements;
    frame.elements_bytes = flags & 32 ? take(input, 4) : take(input, 2);
  }
  const leat_string_view_t head = take_bytes(input, take(input, 1));
  const leat_string_view_t tail = take_bytes(input, take(input, 1));
  leat_string_view_t body = take_bytes(input, take(input, 2));
  if (flags & 64) body = leat_string_view_make(proof.data, proof.size);
  frame.head_bytes = flags & 128 ? take(input, 2) : (uint32_t)head.size;
  frame.tail_bytes = (uint32_t)tail.size;
  memcpy(header, &frame, sizeof frame);
  memcpy(header + sizeof frame, head.data, head.size);
  memcpy(header + sizeof frame + head.size, tail.data, tail.size);
  const size_t size = sizeof frame + head.size + tail.size;
  deliver(leat_string_view_make(header, take(input, 1) ? size : size / 2), body,
          take(input, 1) ? LEAT_OK : LEAT_UNAVAILABLE);
}

static void greet(void) {
  leat_plane_frame_t frame = {.kind = LEAT_PLANE_WELCOME,
                              .from = kPeer,
                              .process = getpid(),
                              .seal_address = (uintptr_t)&scene.plane->number};
  deliver(leat_string_view_make((const char*)&frame, sizeof frame),
          leat_string_view_make(proof.data, proof.size), LEAT_OK);
}

static void act(input_t* input) {
  const uint32_t what = take(input, 1);
  const int number = scene.call_count ? (int)(take(input, 1) % (uint32_t)scene.call_count) : 0;
  switch (what % 16) {
    case 0: begin(false); break;
    case 1: begin(true); break;
    case 2:
      if (scene.call_count) leat_plane_cancel(scene.calls[number].call);
      break;
    case 3: greet(); break;
    case 4: answer_value(); break;
    case 5: answer_request(NULL); break;
    case 6:
      if (what == 6) owner.lost(owner.data, kPeer, "the fuzzer says so");
      break;
    default: send_message(input);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  memory_limit_install(kMostBytes);
  input_t input = {data, data + size};
  const leat_plane_options_t options = {.is_distant = take(&input, 1) & 1,
                                        .allocator = leat_allocator_system(),
                                        .serve = serve,
                                        .handler = handle};
  leat_plane_use_module(&kModule);
  scene = (scene_t){0};
  leat_status_t status = leat_plane_create(&options, &scene.plane);
  if (status || !leat_plane_asks(scene.plane, kIncarnation)) __builtin_trap();
  leat_pb_plane_offer_t offer = leat_plane_offer(scene.plane);
  offer.end = kPeer;
  status = leat_plane_join(scene.plane, &offer);
  if (status) __builtin_trap();
  leat_plane_answer(scene.plane, kIncarnation, &offer);
  greet();
  while (input.next < input.end) act(&input);
  answer_value();
  leat_plane_stop(scene.plane);
  if (scene.request) __builtin_trap();
  for (int i = 0; i < scene.call_count; ++i) {
    if (scene.calls[i].ends != 1) __builtin_trap();
    leat_plane_call_free(scene.calls[i].call);
  }
  leat_plane_free(scene.plane);
  return 0;
}
