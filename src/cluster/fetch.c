// Fetches values from other tasks and, for the plane, hands out this task's own. Every
// fetch begins here and chooses its way by what the plane knows of the sender, which is told apart
// by the incarnation in the key, so that a task that was restarted is asked anew. The task that
// listens has the plane, also for the other names of the task (task.h). What TensorFlow's tasks, or
// tasks of Leat's without a plane, answer when they are asked for an offer is UNIMPLEMENTED; that
// settles it, and values go by RecvTensor.
//
// A fetch reports to the rendezvous that asked for it, with the name of the sender before each
// failure, since that may reach the master before the answer of the sender's RunGraph.
#include "cluster/fetch.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/host.h"
#include "base/log.h"
#include "base/span.h"
#include "cluster/collective_chunk.h"
#include "cluster/recv_tensor.h"
#include "cluster/rpc_message.h"
#include "formats/generated/worker_service.h"
#include "formats/wire/encode.h"

// How long another task may take to make its offer.
#define JOIN_TIMEOUT_MS 10000

static leat_task_t* task_of(const leat_fetcher_t* fetcher) {
  return (leat_task_t*)((char*)(uintptr_t)fetcher - offsetof(leat_task_t, fetcher));
}

// The device of a key's sender stands before its first ';'.
static int sender_of(const leat_task_t* task, leat_string_view_t key) {
  const size_t end = leat_string_view_find(key, ';');
  if (end == SIZE_MAX) return -1;
  return leat_cluster_spec_find_device(&task->spec, leat_string_view_make(key.data, end));
}

// A device of a task that the cluster does not have is of another task too: asking it fails, and a
// value that nobody will send is not waited for. Other senders are no devices: the client's.
static bool is_remote(const leat_fetcher_t* self, leat_string_view_t key) {
  const leat_task_t* task = task_of(self);
  const int sender = sender_of(task, key);
  return sender >= 0 ? sender != task->number : leat_string_view_starts_with(key, LEAT_SV("/job:"));
}

// ---- The plane ----------------------------------------------------------------------------------

typedef struct joining_s {
  leat_plane_t* plane;
  uint64_t incarnation;
} joining_t;

// A leat_rpc_done_fn_t: the other task has made its offer, or has none.
static void joined(void* data, leat_status_t status, leat_string_view_t details,
                   leat_rpc_bytes_t answer) {
  const joining_t joining = *(joining_t*)data;
  leat_arena_t arena;
  leat_pb_plane_offer_t offer;
  leat_allocator_free(leat_allocator_system(), data);
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  if (!status) {
    status = leat_rpc_decode_message(answer, &arena, &leat_pb_plane_offer_descriptor, &offer);
  }
  if (!status) status = leat_plane_join(joining.plane, &offer);
  leat_plane_answer(joining.plane, joining.incarnation, status ? NULL : &offer);
  if (status) leat_log(LEAT_LOG_DEBUG, "UCX is not used: %s", leat_status_message(status));
  leat_status_free(status);
  leat_arena_deinitialize(&arena);
}

// Asks the task with |incarnation|, which |channel| leads to, for its offer, unless it was asked.
static void ask_for_offer(leat_plane_t* plane, leat_rpc_channel_t* channel, uint64_t incarnation) {
  joining_t* joining;
  if (!leat_plane_asks(plane, incarnation)) return;
  leat_status_t status = LEAT_ALLOCATE(leat_allocator_system(), 1, &joining);
  if (status) {
    leat_plane_answer(plane, incarnation, NULL);
    leat_status_free(status);
    return;
  }
  *joining = (joining_t){plane, incarnation};
  const leat_pb_plane_offer_t offer = leat_plane_offer(plane);
  const leat_rpc_call_options_t options = {
      .method = "/leat.Plane/Join",
      .deadline_ns = leat_clock_deadline_after_ms(JOIN_TIMEOUT_MS),
      .is_patient = true};
  leat_rpc_call_message(channel, &options, &leat_pb_plane_offer_descriptor, &offer, joined,
                        joining, NULL);
}

static void join(leat_service_call_t* call, const void* message) {
  leat_plane_t* plane = call->task->root->plane;
  if (!plane) {
    leat_service_answer(call,
                        leat_make_status(LEAT_UNIMPLEMENTED,
                                         "Join failed: the protocol of this task is grpc, must be "
                                         "grpc+ucx"),
                        NULL, NULL);
    return;
  }
  const leat_pb_plane_offer_t own = leat_plane_offer(plane);
  leat_status_t status = leat_plane_join(plane, message);
  leat_service_answer(call, status, &leat_pb_plane_offer_descriptor, &own);
}

const leat_service_method_t leat_plane_methods[] = {
    {"Join", &leat_pb_plane_offer_descriptor, join},
    {0},
};

leat_status_t leat_task_check_key(leat_task_t* task, leat_string_view_t key,
                                  bool* out_restarted) {
  leat_string_view_t sender;
  uint64_t incarnation;
  LEAT_RETURN_IF_ERROR(leat_rendezvous_key_parse(key, &sender, &incarnation));
  if (leat_task_has_device(task, sender, incarnation, out_restarted)) return leat_ok_status();
  if (*out_restarted) {
    return leat_make_status(
        LEAT_ABORTED,
        "RecvTensor expects a different device incarnation: %" PRIu64 " vs. %" PRIu64 ". Your "
        "worker job (\"%.*s\") was probably restarted. Check your worker job for the reason why it "
        "was restarted.",
        incarnation, task->devices[0]->incarnation,
        LEAT_SV_ARG(task->spec.tasks[task->number].name));
  }
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "RecvTensor failed: key '%.*s' is of an unknown device, must be of one "
                          "of %.*s",
                          LEAT_SV_ARG(key), LEAT_SV_ARG(task->spec.tasks[task->number].name));
}

// A value that another task has asked for on the plane.
typedef struct handing_s {
  leat_task_t* task;
  leat_rendezvous_receive_fn_t fn;
  void* data;
} handing_t;

// A leat_rendezvous_receive_fn_t.
static void hand_out(void* data, leat_status_t status, leat_slot_t value) {
  const handing_t handing = *(handing_t*)data;
  leat_allocator_free(leat_allocator_system(), data);
  if (!status) {
    leat_metrics_note_sent(&handing.task->metrics, leat_tensor_size_bytes(&value.tensor), true);
  }
  handing.fn(handing.data, status, value);
}

// Of leat_plane_options_t.
static void serve(void* data, int64_t step_id, leat_string_view_t key, leat_string_view_t member,
                  leat_rendezvous_receive_fn_t fn, void* fn_data) {
  leat_task_t* task = data;
  bool restarted = false;
  handing_t* handing = NULL;
  if (member.size > 0) {
    leat_collective_chunk_serve(task, step_id, key, member, fn, fn_data);
    return;
  }
  leat_status_t status = leat_task_check_key(task, key, &restarted);
  if (!status) status = LEAT_ALLOCATE(leat_allocator_system(), 1, &handing);
  if (status) {
    fn(fn_data, status, (leat_slot_t){0});
    return;
  }
  *handing = (handing_t){task, fn, fn_data};
  leat_rendezvous_table_receive(task->rendezvous, step_id, key, hand_out, handing);
}

leat_status_t leat_task_open_plane(leat_task_t* task, bool is_local) {
  LEAT_DCHECK(task == task->root && !task->plane);
  const char* reads = leat_environment_get_trusted("LEAT_READ_MEMORY");
  const leat_plane_options_t options = {.is_local = is_local,
                                        .is_distant = reads && !strcmp(reads, "0"),
                                        .pool = task->pool,
                                        .allocator = task->allocator,
                                        .serve = serve,
                                        .handler = leat_service_handle,
                                        .data = task};
  return leat_plane_create(&options, &task->plane);
}

bool leat_task_fetch_on_plane(leat_task_t* task, leat_rpc_channel_t* channel, uint64_t incarnation,
                              int64_t step_id, leat_string_view_t key, leat_string_view_t member,
                              leat_rendezvous_receive_fn_t fn, void* data,
                              leat_plane_call_t** out_call) {
  leat_plane_t* plane = task->root->plane;
  if (!plane) return false;
  if (leat_plane_fetch(plane, incarnation, step_id, key, member, fn, data, out_call)) return true;
  ask_for_offer(plane, channel, incarnation);
  return false;
}

bool leat_task_call_on_plane(leat_task_t* task, const leat_plane_call_options_t* options,
                             leat_rpc_done_fn_t done, void* data, leat_plane_call_t** out_call) {
  leat_plane_t* plane = task->root->plane;
  if (!plane) return false;
  if (leat_plane_call(plane, options, done, data, out_call)) return true;
  ask_for_offer(plane, options->channel, options->incarnation);
  return false;
}

// ---- Fetches ------------------------------------------------------------------------------------

typedef struct fetch_s {
  leat_rendezvous_receive_fn_t fn;
  void* data;
  leat_task_t* task;
  int sender;  // its number
  int64_t message, span;  // for recordings: the message's number, and when it was asked for
} fetch_t;

static leat_status_t from_sender(const fetch_t* fetch, leat_status_t status) {
  return leat_task_told_by(fetch->task->spec.tasks[fetch->sender].name, status);
}

// A leat_rpc_done_fn_t.
static void fetched(void* data, leat_status_t status, leat_string_view_t details,
                    leat_rpc_bytes_t answer) {
  const fetch_t fetch = *(fetch_t*)data;
  leat_slot_t value = {0};
  leat_allocator_free(fetch.task->allocator, data);
  if (!status) {
    leat_metrics_note_received(&fetch.task->root->metrics, leat_rpc_bytes_size(answer), false);
    const int64_t span = fetch.span ? leat_span_begin() : 0;
    if (LEAT_UNLIKELY(span)) leat_span_end(fetch.span, LEAT_SPAN_FETCH, 0, fetch.message);
    status = leat_recv_tensor_decode(answer, &value);
    if (LEAT_UNLIKELY(span)) leat_span_end(span, LEAT_SPAN_DECODE, 0, fetch.message);
  }
  if (status) status = from_sender(&fetch, status);
  fetch.fn(fetch.data, status, value);
}

// A leat_rendezvous_receive_fn_t: the same on the plane.
static void fetched_on_plane(void* data, leat_status_t status, leat_slot_t value) {
  const fetch_t fetch = *(fetch_t*)data;
  leat_allocator_free(fetch.task->allocator, data);
  if (!status) {
    leat_metrics_note_received(&fetch.task->root->metrics, leat_tensor_size_bytes(&value.tensor),
                               true);
    if (LEAT_UNLIKELY(fetch.span)) leat_span_end(fetch.span, LEAT_SPAN_FETCH, 0, fetch.message);
  }
  if (status) status = from_sender(&fetch, status);
  fetch.fn(fetch.data, status, value);
}

static bool fetch_on_plane(fetch_t* fetch, leat_rpc_channel_t* channel, int64_t step_id,
                           leat_string_view_t key, leat_plane_call_t** out_call) {
  leat_string_view_t sender;
  uint64_t incarnation;
  leat_status_t status = leat_rendezvous_key_parse(key, &sender, &incarnation);
  leat_status_free(status);
  return !status && leat_task_fetch_on_plane(fetch->task, channel, incarnation, step_id, key,
                                             LEAT_SV(""), fetched_on_plane, fetch, out_call);
}

static void fetch_by_call(fetch_t* fetch, leat_rpc_channel_t* channel, leat_string_view_t bytes,
                          leat_rpc_call_t** out_call) {
  const leat_rpc_piece_t piece = {.data = bytes.data, .size = bytes.size};
  const leat_rpc_call_options_t options = {.method = "/tensorflow.WorkerService/RecvTensor",
                                           .bytes = {&piece, 1},
                                           .deadline_ns = LEAT_DEADLINE_NEVER,
                                           .is_patient = true};
  leat_rpc_call(channel, &options, fetched, fetch, out_call);
}

static leat_status_t start_fetch(leat_task_t* task, int64_t step_id, leat_string_view_t key,
                                 leat_rendezvous_receive_fn_t fn, void* data,
                                 leat_task_call_t* out_call) {
  fetch_t* fetch;
  leat_rpc_channel_t* channel;
  leat_string_builder_t bytes;
  const leat_pb_recv_tensor_request_t request = {
      .step_id = step_id, .rendezvous_key = key, .request_id = leat_task_draw(63)};
  const int sender = sender_of(task, key);
  if (sender < 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Receiving a value failed: the sender in key '%.*s' is of no task that "
                            "%.*s knows, must be of one of the cluster's %d",
                            LEAT_SV_ARG(key), LEAT_SV_ARG(task->spec.tasks[task->number].name),
                            task->spec.task_count);
  }
  LEAT_RETURN_IF_ERROR(leat_task_channel(task, sender, &channel));
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(task->allocator, 1, &fetch));
  *fetch = (fetch_t){.fn = fn, .data = data, .task = task, .sender = sender,
                     .span = leat_span_begin()};
  if (LEAT_UNLIKELY(fetch->span)) fetch->message = leat_span_message(step_id, key);
  if (fetch_on_plane(fetch, channel, step_id, key, &out_call->plane)) return leat_ok_status();
  leat_string_builder_initialize(task->allocator, &bytes);
  leat_status_t status =
      leat_message_encode(&leat_pb_recv_tensor_request_descriptor, &request, &bytes);
  if (!status) {
    fetch_by_call(fetch, channel, leat_string_builder_view(&bytes), &out_call->rpc);
  } else {
    leat_allocator_free(task->allocator, fetch);
  }
  leat_string_builder_deinitialize(&bytes);
  return status;
}

static void fetch_value(leat_fetcher_t* self, int64_t step_id, leat_string_view_t key,
                        leat_rendezvous_receive_fn_t fn, void* data,
                        leat_task_call_t* out_call) {
  leat_status_t status = start_fetch(task_of(self), step_id, key, fn, data, out_call);
  if (status) fn(data, status, (leat_slot_t){0});
}

leat_fetcher_t leat_task_fetcher(void) { return (leat_fetcher_t){is_remote, fetch_value}; }
