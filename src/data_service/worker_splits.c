// A question is a call to the dispatcher, whose answer goes on to the iterator that waits, on the
// thread of the engine that brought it. Where the dispatcher is away, that thread waits for a
// moment and asks again: threads of the engine may block. Each question holds a reference, so that
// the source lives until it is answered.
#include "data_service/worker_splits.h"

#include "base/clock.h"
#include "cluster/rpc_message.h"
#include "data_service/call.h"
#include "formats/generated/data_service.h"
#include "formats/wire/tensor_content.h"

#define ANSWER_MS 30000
#define RETRY_NS (200 * INT64_C(1000000))

struct leat_worker_splits_s {
  leat_split_source_t base;
  leat_rpc_channel_t* dispatcher;
  int64_t iteration_id, index, timeout_ms;
  _Atomic(bool) is_closed;
};

typedef struct question_s {
  leat_worker_splits_t* splits;
  int64_t pass, deadline_ns;
  leat_split_done_fn_t done;
  void* data;
} question_t;

static void answer(question_t* question, leat_status_t status, int64_t split, bool at_end) {
  const question_t asked = *question;
  leat_allocator_free(leat_allocator_system(), question);
  asked.done(asked.data, status, split, at_end);
  leat_resource_release(&asked.splits->base.resource);
}

// A split is a scalar of int64.
static leat_status_t read_split(const leat_pb_tensor_proto_t* proto, leat_arena_t* arena,
                                int64_t* out_split) {
  leat_tensor_t tensor = {0};
  if (proto) {
    LEAT_RETURN_IF_ERROR(
        leat_tensor_from_content(proto, arena, leat_buffer_source_host(), &tensor));
  }
  const bool is_number = tensor.dtype == LEAT_DTYPE_INT64 && tensor.shape.rank == 0;
  if (is_number) *out_split = *(const int64_t*)tensor.data;
  leat_tensor_release(&tensor);
  if (is_number) return leat_ok_status();
  return leat_make_status(LEAT_UNIMPLEMENTED,
                          "Reading a split failed: the dispatcher's is no scalar of int64");
}

static leat_status_t read_answer(leat_rpc_bytes_t bytes, int64_t* out_split, bool* out_at_end) {
  leat_pb_get_split_response_t response;
  leat_arena_t arena;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_status_t status = leat_rpc_decode_message(
      bytes, &arena, &leat_pb_get_split_response_descriptor, &response);
  *out_at_end = !status && response.end_of_splits;
  if (!status && !*out_at_end) status = read_split(response.split, &arena, out_split);
  leat_arena_deinitialize(&arena);
  return status;
}

static void ask(question_t* question);

static leat_status_t closed(void) {
  return leat_make_status(LEAT_CANCELLED, "Reading a split failed: the task has ended");
}

// A leat_rpc_done_fn_t.
static void take_answer(void* data, leat_status_t status, leat_string_view_t details,
                        leat_rpc_bytes_t bytes) {
  question_t* question = data;
  int64_t split = 0;
  bool at_end = false;
  const leat_status_code_t code = leat_status_code(status);
  const bool is_away = code == LEAT_DEADLINE_EXCEEDED || leat_data_is_preempted(status);
  if (is_away && !atomic_load(&question->splits->is_closed) &&
      leat_clock_now_ns() < question->deadline_ns) {
    leat_status_free(status);
    leat_clock_sleep_ns(RETRY_NS);
    ask(question);
    return;
  }
  if (!status) status = read_answer(bytes, &split, &at_end);
  answer(question, status, split, at_end);
}

static void ask(question_t* question) {
  const leat_worker_splits_t* splits = question->splits;
  const leat_pb_get_split_request_t message = {.iteration_id = splits->iteration_id,
                                               .repetition = question->pass,
                                               .split_provider_index = splits->index};
  const leat_rpc_call_options_t options = {
      .method = "/tensorflow.data.DispatcherService/GetSplit",
      .deadline_ns = leat_clock_deadline_after_ms(ANSWER_MS)};
  if (atomic_load(&splits->is_closed)) {
    answer(question, closed(), 0, false);
    return;
  }
  leat_rpc_call_message(splits->dispatcher, &options, &leat_pb_get_split_request_descriptor,
                        &message, take_answer, question, NULL);
}

static void splits_next(leat_split_source_t* self, int64_t pass, leat_split_done_fn_t done,
                        void* data) {
  leat_worker_splits_t* splits = (leat_worker_splits_t*)self;
  question_t* question;
  leat_status_t status = LEAT_ALLOCATE(leat_allocator_system(), 1, &question);
  if (status) {
    done(data, status, 0, false);
    return;
  }
  leat_resource_retain(&self->resource);
  *question = (question_t){.splits = splits,
                           .pass = pass,
                           .deadline_ns = leat_clock_deadline_after_ms(splits->timeout_ms),
                           .done = done,
                           .data = data};
  ask(question);
}

static void splits_destroy(leat_split_source_t* self) {
  leat_allocator_free(leat_allocator_system(), self);
}

leat_status_t leat_worker_splits_create(leat_rpc_channel_t* dispatcher, int64_t iteration_id,
                                        int64_t index, int64_t timeout_ms,
                                        leat_worker_splits_t** out_splits) {
  leat_worker_splits_t* splits;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &splits));
  splits->base.resource.kind = &leat_split_source_kind;
  splits->base.resource.references = 1;
  splits->base.next = splits_next;
  splits->base.destroy = splits_destroy;
  splits->dispatcher = dispatcher;
  splits->iteration_id = iteration_id;
  splits->index = index;
  splits->timeout_ms = timeout_ms;
  *out_splits = splits;
  return leat_ok_status();
}

leat_split_source_t* leat_worker_splits_source(leat_worker_splits_t* splits) {
  return &splits->base;
}

void leat_worker_splits_close(leat_worker_splits_t* splits) {
  atomic_store(&splits->is_closed, true);
}

void leat_worker_splits_release(leat_worker_splits_t* splits) {
  if (splits) leat_resource_release(&splits->base.resource);
}
