// A chunk that a member wants of another process is asked for on the plane where there is a way to
// that process, and otherwise by RecvBuf. The round that asks (kernel/collective_remote.c) sees no
// difference but in the bytes it is given: those of the plane lie in a tensor, which is aligned, so
// that they are merged where they are.
//
//   fetch ──▶ plane: REQUEST {step, key, member} ──▶ serve ──▶ the round of the member that offers
//     │         ▲ VALUE: a vector of bytes ◀── a copy, since the member goes on with its chunk
//     └─────▶ RecvBuf (collective_methods.c)
//
// A fetch has two owners, the round and the answer; the last of them frees it. The round cancels an
// answer that it wants no more, and is told so as of any other end. While a chunk is awaited on the
// plane, heartbeats ask its task, as they do during a call; where that is silent, the round fails,
// and cancels.
#include "cluster/collective_chunk.h"

#include <inttypes.h>
#include <string.h>

#include "cluster/fetch.h"
#include "cluster/rpc_message.h"
#include "formats/generated/collective.h"
#include "formats/generated/worker_service.h"
#include "formats/wire/decode.h"

// ---- Fetching -----------------------------------------------------------------------------------

typedef struct chunk_fetch_s {
  leat_reference_count_t references;  // the round's, and the answer's
  leat_task_t* task;
  int sender;              // the number of its task
  leat_task_call_t call;  // one of the two
  leat_collective_chunk_fn_t fn;
  void* data;
} chunk_fetch_t;

void leat_collective_chunk_free(void* call) {
  chunk_fetch_t* fetch = call;
  if (!leat_reference_count_release(&fetch->references)) return;
  leat_task_call_free(fetch->call);
  leat_allocator_free(fetch->task->allocator, fetch);
}

void leat_collective_chunk_cancel(void* call) {
  const chunk_fetch_t* fetch = call;
  if (fetch) leat_task_call_cancel(fetch->call);
}

static void end_fetch(chunk_fetch_t* fetch, leat_status_t status, leat_string_view_t bytes) {
  const bool is_on_plane = fetch->call.plane != NULL;
  if (is_on_plane) leat_heartbeat_expect(fetch->task->heartbeat, fetch->sender, -1);
  if (!status) leat_metrics_note_received(&fetch->task->root->metrics, bytes.size, is_on_plane);
  fetch->fn(fetch->data, status, bytes);
  leat_collective_chunk_free(fetch);
}

// The bytes of a chunk in the answer of RecvBuf. TensorFlow may send them in several pieces.
static leat_status_t read_chunk(leat_rpc_bytes_t answer, leat_arena_t* arena,
                                leat_string_view_t* out_bytes) {
  leat_pb_recv_buf_response_t response;
  leat_pb_recv_buf_resp_extra_t extra = {0};
  LEAT_RETURN_IF_ERROR(
      leat_rpc_decode_message(answer, arena, &leat_pb_recv_buf_response_descriptor, &response));
  *out_bytes = LEAT_SV("");
  if (!response.transport_options) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_message_decode(&leat_pb_recv_buf_resp_extra_descriptor,
                                           response.transport_options->value, arena, NULL,
                                           &extra));
  if (extra.tensor_content.count == 1) *out_bytes = extra.tensor_content.items[0];
  if (extra.tensor_content.count <= 1) return leat_ok_status();
  size_t size = 0;
  char* joined;
  for (size_t i = 0; i < extra.tensor_content.count; ++i) {
    size += extra.tensor_content.items[i].size;
  }
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, size, &joined));
  *out_bytes = leat_string_view_make(joined, size);
  for (size_t i = 0; i < extra.tensor_content.count; ++i) {
    const leat_string_view_t piece = extra.tensor_content.items[i];
    memcpy(joined, piece.data, piece.size);
    joined += piece.size;
  }
  return leat_ok_status();
}

// A leat_rpc_done_fn_t.
static void received(void* data, leat_status_t status, leat_string_view_t details,
                     leat_rpc_bytes_t answer) {
  leat_arena_t arena;
  leat_string_view_t bytes = LEAT_SV("");
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  if (!status) status = read_chunk(answer, &arena, &bytes);
  end_fetch(data, status, bytes);
  leat_arena_deinitialize(&arena);
}

// A leat_rendezvous_receive_fn_t: the same on the plane.
static void received_on_plane(void* data, leat_status_t status, leat_slot_t value) {
  chunk_fetch_t* fetch = data;
  leat_string_view_t bytes = LEAT_SV("");
  if (!status && (!value.alive || value.tensor.dtype != LEAT_DTYPE_UINT8)) {
    status = leat_make_status(LEAT_INTERNAL, "a chunk came as a tensor of %s, must be one of bytes",
                              value.alive ? leat_dtype_name(value.tensor.dtype) : "nothing");
    leat_slot_release(&value);
  } else if (!status) {
    bytes = leat_string_view_make(value.tensor.data, leat_tensor_size_bytes(&value.tensor));
  }
  const bool has_value = !status;
  end_fetch(fetch, status, bytes);
  if (has_value) leat_slot_release(&value);
}

static void fetch_by_call(chunk_fetch_t* fetch, leat_rpc_channel_t* channel,
                          const leat_collective_chunk_t* chunk) {
  leat_pb_device_locality_t locality = {0};
  const leat_pb_recv_buf_request_t request = {.step_id = chunk->step_id,
                                              .buf_rendezvous_key = chunk->key,
                                              .num_bytes = (int64_t)chunk->size_bytes,
                                              .client_locality = &locality,
                                              .server_locality = &locality,
                                              .src_device = chunk->source,
                                              .dst_device = chunk->target,
                                              .src_incarnation = chunk->source_incarnation,
                                              .request_id = leat_task_draw(63)};
  const leat_rpc_call_options_t options = {.method = "/tensorflow.WorkerService/RecvBuf",
                                           .deadline_ns = LEAT_DEADLINE_NEVER};
  leat_rpc_call_message(channel, &options, &leat_pb_recv_buf_request_descriptor, &request,
                        received, fetch, &fetch->call.rpc);
}

void leat_collective_chunk_fetch(leat_task_t* task, const leat_collective_chunk_t* chunk,
                                 leat_collective_chunk_fn_t fn, void* data, void** out_call) {
  chunk_fetch_t* fetch;
  leat_rpc_channel_t* channel;
  const int number = leat_cluster_spec_find_device(&task->spec, chunk->source);
  leat_status_t status = leat_task_channel(task, number, &channel);
  if (!status) status = LEAT_ALLOCATE(task->allocator, 1, &fetch);
  if (status) {
    fn(data, status, LEAT_SV(""));
    return;
  }
  *fetch = (chunk_fetch_t){.task = task, .sender = number, .fn = fn, .data = data};
  atomic_init(&fetch->references, 2);
  *out_call = fetch;
  leat_heartbeat_expect(task->heartbeat, number, 1);
  if (!leat_task_fetch_on_plane(task, channel, chunk->source_incarnation, chunk->step_id,
                                chunk->key, chunk->source, received_on_plane, fetch,
                                &fetch->call.plane)) {
    leat_heartbeat_expect(task->heartbeat, number, -1);
    fetch_by_call(fetch, channel, chunk);
  }
}

// ---- Handing out --------------------------------------------------------------------------------

leat_status_t leat_collective_chunk_check(leat_task_t* task, int64_t step_id,
                                          leat_string_view_t device, uint64_t incarnation) {
  bool is_named;
  const bool is_here = leat_task_has_device(task, device, incarnation, &is_named);
  if (!is_here && !is_named) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "RecvBuf failed: '%.*s' is an unknown device",
                            LEAT_SV_ARG(device));
  }
  if (!is_here && incarnation) {
    return leat_make_status(LEAT_ABORTED,
                            "RecvBuf expects a different device incarnation: %" PRIu64
                            " vs. %" PRIu64 ". Your worker job was probably restarted.",
                            incarnation, task->devices[0]->incarnation);
  }
  if (leat_rendezvous_table_is_over(task->rendezvous, step_id)) {
    return leat_make_status(LEAT_ABORTED, "RecvBuf failed: the step is over");
  }
  return leat_ok_status();
}

// A chunk that another task has asked for on the plane.
typedef struct handing_s {
  leat_task_t* task;
  leat_rendezvous_receive_fn_t fn;
  void* data;
} handing_t;

static leat_status_t copy_bytes(leat_string_view_t bytes, leat_tensor_t* out_tensor) {
  leat_shape_t shape;
  const int64_t size = (int64_t)bytes.size;
  LEAT_RETURN_IF_ERROR(leat_shape_create(1, &size, &shape));
  leat_status_t status =
      leat_tensor_allocate(leat_buffer_source_host(), LEAT_DTYPE_UINT8, &shape, out_tensor);
  leat_shape_release(&shape);
  if (!status && size) memcpy(out_tensor->data, bytes.data, bytes.size);
  return status;
}

// A leat_collective_chunk_fn_t.
static void hand_out(void* data, leat_status_t status, leat_string_view_t bytes) {
  const handing_t handing = *(handing_t*)data;
  leat_slot_t value = {.alive = true};
  leat_allocator_free(leat_allocator_system(), data);
  if (!status) status = copy_bytes(bytes, &value.tensor);
  if (status) {
    handing.fn(handing.data, status, (leat_slot_t){0});
    return;
  }
  leat_metrics_note_sent(&handing.task->metrics, bytes.size, true);
  handing.fn(handing.data, status, value);
}

void leat_collective_chunk_serve(leat_task_t* task, int64_t step_id, leat_string_view_t key,
                                 leat_string_view_t member, leat_rendezvous_receive_fn_t fn,
                                 void* fn_data) {
  handing_t* handing;
  leat_status_t status = leat_collective_chunk_check(task, step_id, member, 0);
  if (!status) status = LEAT_ALLOCATE(leat_allocator_system(), 1, &handing);
  if (status) {
    fn(fn_data, status, (leat_slot_t){0});
    return;
  }
  *handing = (handing_t){task, fn, fn_data};
  leat_collectives_take(leat_task_collectives_rounds(task->collectives), step_id, key, member,
                        hand_out, handing);
}
