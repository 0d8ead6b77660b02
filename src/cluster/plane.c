// The ways of the plane, and what is under way on them: fetches of values, and calls of methods,
// which are both called calls here. The engine, a module over UCX, moves headers and bodies
// (cluster/plane_module.h). A way leads to another end and is named by the number of that end; a
// call is named by a number that its request carries and its answer repeats.
//
// A call is ended by whoever takes it out of the table of calls: its answer, its cancellation, or
// the loss of the way. So its function is called once, and a value that comes too late is dropped.
// A way is closed when nobody uses it any more; whoever sends has a reference of its own, and
// stopping waits for the last of them before it closes the end.
//
// An end gets one way in the plane's life. Two tasks often ask each other at the same time, each on
// several threads, and UCX pairs the links of two ends by their order: of two links to one end it
// would pair the one that is closed again. So who joins looks for a way and opens one within
// |joining|, and an end to which a way was lost is remembered.
#include "cluster/plane.h"

#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/module.h"
#include "base/random.h"
#include "base/thread.h"
#include "cluster/plane_message.h"

#define VERSION 5
// How long a way may take to prove itself, by default. Values go by gRPC in that time.
#define PROOF_TIMEOUT_NS INT64_C(5000000000)
// What is known of a task, in place of the number of its end, which is larger.
#define PAIR_ASKED UINT64_C(1)
#define PAIR_ABSENT UINT64_C(2)

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

void leat_plane_use_module(const leat_plane_module_t* module) { atomic_store(&ucx.table, module); }

// ---- Ways ---------------------------------------------------------------------------------------

void leat_plane_way_release(leat_plane_way_t* way) {
  if (!way || !leat_reference_count_release(&way->references)) return;
  leat_plane_t* plane = way->plane;
  plane->module->link_close(way->link, way->is_ready);
  leat_allocator_free(plane->allocator, way);
  leat_mutex_lock(&plane->mutex);
  --plane->way_count;
  leat_condition_notify_all(&plane->changed);
  leat_mutex_unlock(&plane->mutex);
}

leat_plane_way_t* leat_plane_find_way(leat_plane_t* plane, uint64_t number) {
  uint64_t found;
  if (!leat_word_map_get(&plane->ways, number, &found)) return NULL;
  leat_plane_way_t* way = (leat_plane_way_t*)(uintptr_t)found;
  leat_reference_count_retain(&way->references);
  return way;
}

leat_plane_way_t* leat_plane_get_way(leat_plane_t* plane, uint64_t number) {
  leat_mutex_lock(&plane->mutex);
  leat_plane_way_t* way = leat_plane_find_way(plane, number);
  leat_mutex_unlock(&plane->mutex);
  return way;
}

void leat_plane_send(leat_plane_way_t* way, leat_plane_frame_t frame, leat_string_view_t head,
                     leat_string_view_t tail, leat_rpc_piece_t body) {
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

// Of the proof, which the plane keeps until its end is closed.
static void release_nothing(void* owner) {}

void leat_plane_greet(leat_plane_way_t* way, leat_plane_kind_t kind) {
  leat_rpc_piece_t body = {0};
  if (kind == LEAT_PLANE_HELLO || kind == LEAT_PLANE_WELCOME) {
    body = (leat_rpc_piece_t){way->plane->proof, LEAT_PLANE_PROOF_BYTES, release_nothing, NULL};
  }
  leat_plane_frame_t frame = {.kind = kind};
  leat_plane_show_memory(way, &frame);
  leat_plane_send(way, frame, LEAT_SV(""), LEAT_SV(""), body);
}

// The mutex is held.
static leat_status_t add_way(leat_plane_t* plane, leat_plane_way_t* way) {
  if (plane->is_stopped) {
    return leat_make_status(LEAT_CANCELLED, "Joining failed: the server stops");
  }
  LEAT_RETURN_IF_ERROR(
      leat_word_map_set(&plane->ways, way->number, (uint64_t)(uintptr_t)way));
  leat_reference_count_retain(&way->references);
  return leat_ok_status();
}

static leat_status_t open_way(leat_plane_t* plane, const leat_pb_plane_offer_t* offer,
                              leat_plane_way_t** out_way) {
  leat_plane_way_t* way;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(plane->allocator, 1, &way));
  *way = (leat_plane_way_t){.plane = plane, .number = offer->end};
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

// |joining| is held.
static leat_status_t find_or_open_way(leat_plane_t* plane, const leat_pb_plane_offer_t* offer) {
  leat_status_t status = leat_ok_status();
  leat_plane_way_t* way = NULL;
  leat_mutex_lock(&plane->mutex);
  const bool is_there = leat_word_map_get(&plane->ways, offer->end, NULL);
  if (plane->is_stopped) {
    status = leat_make_status(LEAT_CANCELLED, "Joining failed: the server stops");
  } else if (leat_word_map_get(&plane->lost, offer->end, NULL)) {
    status = leat_make_status(LEAT_UNAVAILABLE, "Joining failed: a way to the end was lost before");
  } else if (!is_there) {
    ++plane->way_count;  // before it is opened, so that stopping waits for it
  }
  leat_mutex_unlock(&plane->mutex);
  if (is_there || status) return status;
  status = open_way(plane, offer, &way);
  leat_mutex_lock(&plane->mutex);
  if (status) {
    --plane->way_count;
    leat_condition_notify_all(&plane->changed);
  } else {
    status = add_way(plane, way);
  }
  leat_mutex_unlock(&plane->mutex);
  leat_plane_way_release(way);
  return status;
}

leat_status_t leat_plane_join(leat_plane_t* plane, const leat_pb_plane_offer_t* offer) {
  if (offer->version != VERSION || offer->end <= PAIR_ABSENT || offer->address.size == 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Joining failed: version is %u, must be %d, with an end and an address",
                            offer->version, VERSION);
  }
  leat_mutex_lock(&plane->joining);
  leat_status_t status = find_or_open_way(plane, offer);
  leat_mutex_unlock(&plane->joining);
  return status;
}

// ---- Calls --------------------------------------------------------------------------------------

void leat_plane_call_free(leat_plane_call_t* call) {
  if (!call || !leat_reference_count_release(&call->references)) return;
  leat_allocator_free(call->plane->allocator, call);
}

// The call with |number|, of the kind that is asked for; NULL: there is none. The mutex is held.
static leat_plane_call_t* find_call(leat_plane_t* plane, uint64_t number, bool is_method) {
  uint64_t found;
  if (!leat_word_map_get(&plane->calls, number, &found)) return NULL;
  leat_plane_call_t* call = (leat_plane_call_t*)(uintptr_t)found;
  return (call->done != NULL) == is_method ? call : NULL;
}

bool leat_plane_awaits(leat_plane_t* plane, uint64_t number, bool is_method) {
  leat_mutex_lock(&plane->mutex);
  const bool awaits = find_call(plane, number, is_method) != NULL;
  leat_mutex_unlock(&plane->mutex);
  return awaits;
}

leat_plane_call_t* leat_plane_take_call(leat_plane_t* plane, uint64_t number, bool is_method) {
  leat_mutex_lock(&plane->mutex);
  leat_plane_call_t* call = find_call(plane, number, is_method);
  if (call) leat_word_map_erase(&plane->calls, number);
  leat_mutex_unlock(&plane->mutex);
  return call;
}

void leat_plane_end_fetch(leat_plane_t* plane, uint64_t number, leat_status_t status,
                          leat_slot_t value) {
  leat_plane_call_t* call = leat_plane_take_call(plane, number, false);
  if (call) {
    call->fn(call->data, status, value);
  } else {
    if (!status) leat_slot_release(&value);
    leat_status_free(status);
  }
  leat_plane_call_free(call);
}

// Ends a call that was taken out of the table with a failure, |status| (taken).
static void fail_call(leat_plane_call_t* call, leat_status_t status) {
  if (call->done) {
    call->done(call->data, status, LEAT_SV(""), (leat_rpc_bytes_t){0});
  } else {
    call->fn(call->data, status, (leat_slot_t){0});
  }
  leat_plane_call_free(call);
}

static const char* what_failed(const leat_plane_call_t* call) {
  return call->done ? "Calling another task" : "Receiving a value";
}

// Enters a call on a way that is ready, which is returned, retained; NULL where there is none.
// |*out_late|: the end to which there is one that has not proved itself in time; 0: none. The mutex
// is held.
static leat_plane_way_t* enter_call(leat_plane_t* plane, uint64_t incarnation,
                                    leat_plane_call_t* call, uint64_t* out_late) {
  uint64_t number = 0;
  *out_late = 0;
  if (!leat_word_map_get(&plane->pairs, incarnation, &number)) return NULL;
  leat_plane_way_t* way = leat_plane_find_way(plane, number);
  if (!way) return NULL;
  call->number = ++plane->last_call;
  call->way = number;
  leat_status_t status =
      way->is_ready ? leat_word_map_set(&plane->calls, call->number, (uint64_t)(uintptr_t)call)
                    : leat_make_status(LEAT_UNAVAILABLE, "it is not ready");
  if (!status) return way;
  leat_status_free(status);
  if (!way->is_ready && leat_clock_now_ns() >= way->deadline_ns) *out_late = number;
  // The table of ways has a reference as long as the mutex is held, so this is not the last one.
  leat_reference_count_release(&way->references);
  return NULL;
}

// The way to an end has not proved itself in time.
static void give_up(leat_plane_t* plane, uint64_t number) {
  leat_plane_way_t* way = leat_plane_get_way(plane, number);
  if (!way) return;
  leat_log(LEAT_LOG_WARNING,
           "UCX: %d bytes did not go to another task and back within %d ms; values between the two "
           "go by gRPC", LEAT_PLANE_PROOF_BYTES, (int)(plane->options.proof_timeout_ns / 1000000));
  leat_plane_greet(way, LEAT_PLANE_GOODBYE);
  leat_plane_lose(plane, number, LEAT_UNAVAILABLE, "it did not prove itself in time");
  leat_plane_way_release(way);
}

bool leat_plane_enter_call(leat_plane_t* plane, uint64_t incarnation,
                           const leat_plane_call_t* call, leat_plane_way_t** out_way,
                           leat_plane_call_t** out_call) {
  leat_plane_call_t* entered;
  leat_status_t status = LEAT_ALLOCATE(plane->allocator, 1, &entered);
  if (status) {
    leat_status_free(status);
    return false;
  }
  *entered = *call;
  atomic_init(&entered->references, 2);  // the table's, the caller's
  // It may end as soon as it is entered, so the caller has it before that.
  *out_call = entered;
  uint64_t late;
  leat_mutex_lock(&plane->mutex);
  *out_way = enter_call(plane, incarnation, entered, &late);
  leat_mutex_unlock(&plane->mutex);
  if (late) give_up(plane, late);
  if (*out_way) return true;
  *out_call = NULL;
  leat_allocator_free(plane->allocator, entered);
  return false;
}

bool leat_plane_fetch(leat_plane_t* plane, uint64_t incarnation, int64_t step_id,
                      leat_string_view_t key, leat_string_view_t member,
                      leat_rendezvous_receive_fn_t fn, void* data, leat_plane_call_t** out_call) {
  const leat_plane_call_t call = {.plane = plane, .fn = fn, .data = data};
  leat_plane_way_t* way;
  const size_t room = LEAT_PLANE_ROOM_BYTES;
  if (key.size > room || member.size > room - key.size) return false;
  if (!leat_plane_enter_call(plane, incarnation, &call, &way, out_call)) return false;
  const leat_plane_frame_t frame = {.kind = LEAT_PLANE_REQUEST,
                                    .call = (*out_call)->number,
                                    .step_id = step_id,
                                    .can_read = atomic_load(&way->process) != 0};
  leat_plane_send(way, frame, key, member, (leat_rpc_piece_t){0});
  leat_plane_way_release(way);
  return true;
}

void leat_plane_cancel(leat_plane_call_t* call) {
  leat_plane_t* plane = call->plane;
  const bool is_method = call->done != NULL;
  leat_plane_call_t* taken = leat_plane_take_call(plane, call->number, is_method);
  if (!taken) return;
  if (is_method) leat_plane_send_cancel(taken);
  fail_call(taken, leat_make_status(LEAT_CANCELLED, "%s failed: it was cancelled",
                                    what_failed(taken)));
}

// Takes a call out of the table, with its reference: one on the way |number| or, where |channel| is
// not NULL, one of a method of the task that this leads to. NULL: there is none.
static leat_plane_call_t* take_any_call(leat_plane_t* plane, uint64_t number,
                                        const leat_rpc_channel_t* channel) {
  leat_plane_call_t* found = NULL;
  leat_mutex_lock(&plane->mutex);
  for (size_t i = 0; i < plane->calls.capacity && !found; ++i) {
    if (!plane->calls.used[i]) continue;
    leat_plane_call_t* call = (leat_plane_call_t*)(uintptr_t)plane->calls.values[i];
    if (channel ? call->channel == channel : call->way == number) found = call;
  }
  if (found) leat_word_map_erase(&plane->calls, found->number);
  leat_mutex_unlock(&plane->mutex);
  return found;
}

void leat_plane_fail(leat_plane_t* plane, const leat_rpc_channel_t* channel,
                     leat_status_t status) {
  for (leat_plane_call_t* call; plane && (call = take_any_call(plane, 0, channel));) {
    fail_call(call, leat_status_clone(status));
  }
  leat_status_free(status);
}

// ---- The loss of a way --------------------------------------------------------------------------

void leat_plane_lose(leat_plane_t* plane, uint64_t number, leat_status_code_t code,
                     const char* reason) {
  uint64_t found = 0;
  leat_mutex_lock(&plane->mutex);
  if (leat_word_map_get(&plane->ways, number, &found)) {
    leat_word_map_erase(&plane->ways, number);
    leat_status_free(leat_word_map_set(&plane->lost, number, 1));
  }
  for (size_t i = 0; i < plane->pairs.capacity; ++i) {
    if (plane->pairs.used[i] && plane->pairs.values[i] == number) {
      plane->pairs.values[i] = PAIR_ABSENT;
    }
  }
  leat_mutex_unlock(&plane->mutex);
  for (leat_plane_call_t* call; (call = take_any_call(plane, number, NULL));) {
    fail_call(call, leat_make_status(code, "%s failed: the connection by UCX broke: %s",
                                     what_failed(call), reason));
  }
  leat_plane_cancel_requests(plane, number);
  leat_plane_take_back_all(plane, number);
  leat_plane_way_release((leat_plane_way_t*)(uintptr_t)found);
}

// Of leat_plane_owner_t.
static void lost(void* data, uint64_t number, const char* reason) {
  leat_log(LEAT_LOG_INFO, "UCX: the connection to another task broke: %s", reason);
  leat_plane_lose(data, number, LEAT_UNAVAILABLE, reason);
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
  leat_plane_way_t* way = offer ? leat_plane_find_way(plane, offer->end) : NULL;
  // The entry is there since the task was asked, so that no memory is needed.
  leat_status_free(leat_word_map_set(&plane->pairs, incarnation, way ? offer->end : PAIR_ABSENT));
  const bool asks = way && !way->is_asked;
  if (asks) {
    way->is_asked = true;
    way->deadline_ns = leat_clock_now_ns() + plane->options.proof_timeout_ns;
  }
  leat_mutex_unlock(&plane->mutex);
  if (asks) leat_plane_greet(way, LEAT_PLANE_HELLO);
  leat_plane_way_release(way);
}

// ---- Life ---------------------------------------------------------------------------------------

leat_pb_plane_offer_t leat_plane_offer(const leat_plane_t* plane) {
  return (leat_pb_plane_offer_t){
      .version = VERSION, .end = plane->number, .address = plane->address};
}

leat_status_t leat_plane_create(const leat_plane_options_t* options, leat_plane_t** out_plane) {
  const void* table;
  leat_plane_t* plane;
  char *proof, reason[160] = "";
  LEAT_RETURN_IF_ERROR(leat_module_load(&ucx, &table));
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(options->allocator, 1, &plane));
  leat_status_t status = LEAT_ALLOCATE(options->allocator, LEAT_PLANE_PROOF_BYTES, &proof);
  if (status) {
    leat_allocator_free(options->allocator, plane);
    return status;
  }
  for (size_t i = 0; i < LEAT_PLANE_PROOF_BYTES; ++i) proof[i] = (char)(i + (i >> 8));
  *plane = (leat_plane_t){.options = *options, .allocator = options->allocator, .module = table,
                          .proof = proof};
  if (!plane->options.proof_timeout_ns) plane->options.proof_timeout_ns = PROOF_TIMEOUT_NS;
  do plane->number = leat_random_seed(); while (plane->number <= PAIR_ABSENT);
  plane->last_seal = plane->number;
  leat_mutex_initialize(&plane->joining);
  leat_mutex_initialize(&plane->mutex);
  leat_condition_initialize(&plane->changed);
  leat_word_map_initialize(plane->allocator, &plane->ways);
  leat_word_map_initialize(plane->allocator, &plane->lost);
  leat_word_map_initialize(plane->allocator, &plane->pairs);
  leat_word_map_initialize(plane->allocator, &plane->calls);
  leat_word_map_initialize(plane->allocator, &plane->loans);
  plane->module->initialize(&host);
  const leat_plane_owner_t owner = {plane, leat_plane_begin_message, leat_plane_end_message, lost};
  const int code = plane->module->end_open(&owner, options->is_local, &plane->end,
                                           &plane->address, reason, sizeof reason);
  if (code != LEAT_OK) {
    plane->is_stopped = true;
    leat_plane_free(plane);
    return leat_make_status((leat_status_code_t)code, "Opening the plane failed: %s",
                            reason);
  }
  *out_plane = plane;
  return leat_ok_status();
}

// One of the ways that are left, retained; NULL: there is none.
static leat_plane_way_t* find_any_way(leat_plane_t* plane) {
  leat_plane_way_t* way = NULL;
  leat_mutex_lock(&plane->mutex);
  for (size_t i = 0; i < plane->ways.capacity && !way; ++i) {
    if (plane->ways.used[i]) way = leat_plane_find_way(plane, plane->ways.keys[i]);
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
  for (leat_plane_way_t* way; (way = find_any_way(plane));) {
    leat_plane_greet(way, LEAT_PLANE_GOODBYE);
    leat_plane_lose(plane, way->number, LEAT_CANCELLED, "the server stops");
    leat_plane_way_release(way);
  }
  leat_mutex_lock(&plane->mutex);
  while (plane->way_count > 0 || plane->requests) {
    leat_condition_wait(&plane->changed, &plane->mutex);
  }
  leat_mutex_unlock(&plane->mutex);
  plane->module->end_close(plane->end);
}

void leat_plane_free(leat_plane_t* plane) {
  if (!plane) return;
  leat_plane_stop(plane);
  LEAT_DCHECK(plane->calls.count == 0 && plane->ways.count == 0 && plane->loans.count == 0);
  leat_word_map_deinitialize(&plane->ways);
  leat_word_map_deinitialize(&plane->lost);
  leat_word_map_deinitialize(&plane->pairs);
  leat_word_map_deinitialize(&plane->calls);
  leat_word_map_deinitialize(&plane->loans);
  leat_condition_deinitialize(&plane->changed);
  leat_mutex_deinitialize(&plane->mutex);
  leat_mutex_deinitialize(&plane->joining);
  leat_allocator_free(plane->allocator, plane->proof);
  leat_allocator_free(plane->allocator, plane);
}
