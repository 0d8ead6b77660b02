// Calls of methods on the plane: those that a step needs and that are small (RunGraph). A call of
// gRPC costs several times as many instructions as two messages of UCX, and a short step is little
// else. Both sides are here. To the methods it makes no difference which way a call came.
//
//   caller                                              called
//   leat_plane_call ─ CALL {method, request} ─▶ leat_rpc_handler_fn_t
//   done(status, answer)   ◀─ ANSWER {code, details, answer} ─ leat_rpc_answer
//   leat_plane_cancel      ─ CANCEL ─▶ the function of leat_rpc_request_on_cancel
//
// The caller ends a call at once when it cancels it, or when the way is lost, and the called
// cancels all requests of a way that is lost. A request stands in the plane's list until it is
// answered.
//
// A CANCEL may overtake its CALL: messages that come one behind the other are taken by different
// threads. So one that finds no request is noted, for the request that comes later. Most are noted
// in vain, since they have come too late; the newest 64 are kept.
#include <string.h>

#include "base/checked.h"
#include "cluster/plane_message.h"
#include "kernel/cancellation.h"

// ---- Calls that go out --------------------------------------------------------------------------

bool leat_plane_call(leat_plane_t* plane, const leat_plane_call_options_t* options,
                     leat_rpc_done_fn_t done, void* data, leat_plane_call_t** out_call) {
  const leat_string_view_t method = leat_string_view_from(options->method);
  leat_plane_call_t call = {.plane = plane, .channel = options->channel, .done = done,
                            .data = data};
  leat_plane_way_t* way;
  if (options->bytes.size > LEAT_PLANE_ROOM_BYTES - method.size) return false;
  if (!leat_plane_enter_call(plane, options->incarnation, &call, &way, out_call)) return false;
  const leat_plane_frame_t frame = {.kind = LEAT_PLANE_CALL, .call = (*out_call)->number};
  atomic_fetch_add(&plane->call_count, 1);
  leat_plane_send(way, frame, method, options->bytes, (leat_rpc_piece_t){0});
  leat_plane_way_release(way);
  return true;
}

void leat_plane_send_cancel(leat_plane_call_t* call) {
  leat_plane_t* plane = call->plane;
  leat_plane_way_t* way = leat_plane_get_way(plane, call->way);
  if (!way) return;
  const leat_plane_frame_t frame = {.kind = LEAT_PLANE_CANCEL, .call = call->number};
  leat_plane_send(way, frame, LEAT_SV(""), LEAT_SV(""), (leat_rpc_piece_t){0});
  leat_plane_way_release(way);
}

void leat_plane_take_answer(leat_plane_t* plane, const leat_plane_frame_t* frame,
                            const char* rest, leat_string_view_t body, leat_status_t status) {
  leat_plane_call_t* call = leat_plane_take_call(plane, frame->call, true);
  if (!call) {
    leat_status_free(status);
    return;
  }
  const leat_string_view_t details = leat_string_view_make(rest, frame->head_bytes);
  if (!body.size) body = leat_string_view_make(rest + frame->head_bytes, frame->tail_bytes);
  if (!status && frame->code != LEAT_OK) {
    status = leat_make_status((leat_status_code_t)frame->code, "%.*s", LEAT_SV_ARG(body));
  }
  const leat_rpc_piece_t piece = {.data = body.data, .size = body.size};
  call->done(call->data, status, details, (leat_rpc_bytes_t){&piece, !status && body.size > 0});
  leat_plane_call_free(call);
}

// ---- Calls that come in -------------------------------------------------------------------------

struct leat_plane_request_s {
  leat_rpc_direct_request_t base;  // first, so that it can be cast back
  leat_plane_request_t *next, **link;  // in the plane's list; |*link| is this request
  leat_plane_t* plane;
  uint64_t from, call;
  leat_rpc_piece_t piece;  // of its bytes
  char text[];             // the method, and the bytes
};

static void send_answer(leat_plane_t* plane, uint64_t from, leat_plane_frame_t frame,
                        leat_string_view_t details, leat_string_view_t text,
                        leat_rpc_piece_t body) {
  leat_plane_way_t* way = leat_plane_get_way(plane, from);
  frame.kind = LEAT_PLANE_ANSWER;
  if (way) {
    leat_plane_send(way, frame, details, text, body);
  } else if (body.release) {
    body.release(body.owner);  // who called is gone
  }
  leat_plane_way_release(way);
}

static void answer_failure(leat_plane_t* plane, uint64_t from, uint64_t call, leat_status_t status,
                           leat_string_view_t details) {
  const leat_plane_frame_t frame = {.call = call, .code = (uint32_t)leat_status_code(status)};
  leat_string_view_t text = leat_string_view_from(leat_status_message(status));
  details.size = LEAT_MIN(details.size, LEAT_PLANE_ROOM_BYTES);
  text.size = LEAT_MIN(text.size, LEAT_PLANE_ROOM_BYTES - details.size);
  send_answer(plane, from, frame, details, text, (leat_rpc_piece_t){0});
  leat_status_free(status);
}

// Bytes for which there is no room in the header go as the body, in one piece.
static void answer_bytes(leat_plane_t* plane, uint64_t from, uint64_t call,
                         leat_rpc_bytes_t bytes) {
  const leat_plane_frame_t frame = {.call = call};
  leat_string_view_t text;
  char* copy;
  leat_status_t status = leat_rpc_bytes_join(bytes, leat_allocator_system(), &text, &copy);
  if (status) {
    answer_failure(plane, from, call, status, LEAT_SV(""));
  } else if (text.size <= LEAT_PLANE_ROOM_BYTES) {
    send_answer(plane, from, frame, LEAT_SV(""), text, (leat_rpc_piece_t){0});
    leat_rpc_release_text(copy);
  } else {
    status = copy ? leat_ok_status()
                  : leat_allocator_clone_string(leat_allocator_system(), text.data, text.size,
                                                &copy);
    if (status) {
      answer_failure(plane, from, call, status, LEAT_SV(""));
    } else {
      send_answer(plane, from, frame, LEAT_SV(""), LEAT_SV(""),
                  (leat_rpc_piece_t){copy, text.size, leat_rpc_release_text, copy});
    }
  }
}

static void free_request(leat_plane_request_t* request) {
  leat_cancellation_release(request->base.cancellation);
  leat_allocator_free(request->plane->allocator, request);
}

// Of leat_rpc_request_t. The plane may be gone when the request is out of the list.
static void answer(leat_rpc_request_t* base, leat_status_t status, leat_string_view_t details,
                   leat_rpc_bytes_t bytes) {
  leat_plane_request_t* request = (leat_plane_request_t*)base;
  leat_plane_t* plane = request->plane;
  leat_rpc_request_on_cancel(base, NULL, NULL);
  if (status) {
    answer_failure(plane, request->from, request->call, status, details);
  } else {
    answer_bytes(plane, request->from, request->call, bytes);
  }
  leat_rpc_bytes_release(bytes);
  leat_mutex_lock(&plane->mutex);
  *request->link = request->next;
  if (request->next) request->next->link = request->link;
  free_request(request);
  leat_condition_notify_all(&plane->changed);
  leat_mutex_unlock(&plane->mutex);
}

// Whether a CANCEL of |request| has come before. The mutex is held.
static bool is_cancelled_early(const leat_plane_t* plane, const leat_plane_request_t* request) {
  for (int i = 0; i < LEAT_PLANE_EARLY_CANCELS; ++i) {
    const leat_plane_early_cancel_t* early = &plane->early_cancels[i];
    if (early->from == request->from && early->call == request->call) return true;
  }
  return false;
}

// Enters a request, unless its way is gone or the plane stops, which ends the call at the caller.
static bool enter_request(leat_plane_t* plane, leat_plane_request_t* request) {
  leat_mutex_lock(&plane->mutex);
  const bool enters = !plane->is_stopped && leat_word_map_get(&plane->ways, request->from, NULL);
  const bool is_cancelled = enters && is_cancelled_early(plane, request);
  if (enters) {
    request->next = plane->requests;
    request->link = &plane->requests;
    if (request->next) request->next->link = &request->next;
    plane->requests = request;
  }
  leat_mutex_unlock(&plane->mutex);
  if (is_cancelled) leat_cancellation_cancel(request->base.cancellation);
  return enters;
}

void leat_plane_serve_call(leat_plane_t* plane, const leat_plane_frame_t* frame,
                           const char* rest) {
  const size_t text_bytes = (size_t)frame->head_bytes + frame->tail_bytes;
  leat_plane_request_t* request;
  leat_cancellation_t* cancellation = NULL;
  leat_status_t status = leat_allocator_allocate(
      plane->allocator, sizeof *request + text_bytes, (void**)&request);
  if (!status) {
    status = leat_cancellation_create(plane->allocator, &cancellation);
    if (status) leat_allocator_free(plane->allocator, request);
  }
  if (status) {
    answer_failure(plane, frame->from, frame->call, status, LEAT_SV(""));
    return;
  }
  *request = (leat_plane_request_t){.plane = plane, .from = frame->from, .call = frame->call};
  memcpy(request->text, rest, text_bytes);
  request->piece =
      (leat_rpc_piece_t){.data = request->text + frame->head_bytes, .size = frame->tail_bytes};
  request->base = (leat_rpc_direct_request_t){
      .base = {.method = leat_string_view_make(request->text, frame->head_bytes),
               .bytes = {&request->piece, 1},
               .deadline_ns = LEAT_DEADLINE_NEVER,
               .peer = LEAT_SV("ucx"),
               .answer = answer},
      .cancellation = cancellation};
  if (enter_request(plane, request)) {
    plane->options.handler(plane->options.data, &request->base.base);
  } else {
    free_request(request);
  }
}

// The cancellation of a request that is not cancelled yet, retained; NULL: there is none. Of the
// call with |call| on a way, or of any call on it where |call| is 0. The mutex is held.
static leat_cancellation_t* find_request(leat_plane_t* plane, uint64_t from, uint64_t call) {
  for (leat_plane_request_t* r = plane->requests; r; r = r->next) {
    if (r->from != from || (call && r->call != call)) continue;
    if (leat_cancellation_is_cancelled(r->base.cancellation)) continue;
    leat_cancellation_retain(r->base.cancellation);
    return r->base.cancellation;
  }
  return NULL;
}

void leat_plane_cancel_request(leat_plane_t* plane, uint64_t from, uint64_t call) {
  if (!call) return;  // no call has this number
  leat_mutex_lock(&plane->mutex);
  leat_cancellation_t* found = find_request(plane, from, call);
  if (!found) {
    const uint32_t place = plane->early_cancel_count++ % LEAT_PLANE_EARLY_CANCELS;
    plane->early_cancels[place] = (leat_plane_early_cancel_t){from, call};
  }
  leat_mutex_unlock(&plane->mutex);
  if (!found) return;
  leat_cancellation_cancel(found);
  leat_cancellation_release(found);
}

void leat_plane_cancel_requests(leat_plane_t* plane, uint64_t from) {
  for (;;) {
    leat_mutex_lock(&plane->mutex);
    leat_cancellation_t* found = find_request(plane, from, 0);
    leat_mutex_unlock(&plane->mutex);
    if (!found) return;
    leat_cancellation_cancel(found);
    leat_cancellation_release(found);
  }
}
