// A sequence is known at the leader from the first question on, and elsewhere when the leader has
// answered. One thread asks and the others wait, each as long as its own step may; where the answer
// is a failure, the thread that asked fails with it, and the next one asks again.
//
// The leader's own steps may be ahead of a master that comes new: one that waits for that master's
// members is under way. So the leader tells the oldest number that is in use, if there is one, and
// else the next. A master that is behind all the same, because it came when others had failed
// steps, catches up: other tasks remember steps that are over, and its own steps fail until it is
// there.
#include "cluster/step_sequence.h"

#include "base/checked.h"
#include "base/clock.h"
#include "base/sync.h"
#include "cluster/rpc_message.h"
#include "cluster/task.h"
#include "formats/generated/collective.h"
#include "kernel/cancellation.h"

#define STEP_BITS 57  // of a number, as in TensorFlow
#define TELL_TIMEOUT_MS 10000

typedef struct sequence_s {
  struct sequence_s* next;
  leat_step_sequences_t* owner;
  int64_t key;
  int64_t next_number;  // 0: not known yet
  bool is_asked;        // a question is under way
  leat_status_t status;  // of the last question
  int64_t* in_use;
  size_t in_use_count, in_use_capacity;
} sequence_t;

struct leat_step_sequences_s {
  leat_step_numbers_t numbers;
  leat_task_t* task;
  int leader;
  leat_mutex_t mutex;  // guards what follows
  leat_condition_t changed;
  sequence_t* sequences;
};

// The sequence of the key, made where there is none. The mutex is held.
static leat_status_t find_sequence(leat_step_sequences_t* s, int64_t key,
                                   sequence_t** out_sequence) {
  sequence_t* sequence = s->sequences;
  while (sequence && sequence->key != key) sequence = sequence->next;
  if (!sequence) {
    LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(s->task->allocator, 1, &sequence));
    *sequence = (sequence_t){.next = s->sequences, .owner = s, .key = key};
    if (s->leader == s->task->number) sequence->next_number = leat_task_draw(STEP_BITS);
    s->sequences = sequence;
  }
  *out_sequence = sequence;
  return leat_ok_status();
}

// ---- Asking the leader --------------------------------------------------------------------------

static leat_status_t read_answer(leat_rpc_bytes_t bytes, int64_t key, int64_t* out_number) {
  leat_arena_t arena;
  leat_pb_get_step_sequence_response_t response;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_status_t status = leat_rpc_decode_message(
      bytes, &arena, &leat_pb_get_step_sequence_response_descriptor, &response);
  *out_number = 0;
  for (size_t i = 0; !status && i < response.step_sequence.count; ++i) {
    const leat_pb_step_sequence_t* told = &response.step_sequence.items[i];
    if (told->graph_key == key) *out_number = told->next_step_id;
  }
  if (!status && *out_number <= 0) {
    status = leat_make_status(LEAT_INTERNAL, "the leader told step %lld as the next one of graph "
                              "key %lld, must be positive", (long long)*out_number,
                              (long long)key);
  }
  leat_arena_deinitialize(&arena);
  return status;
}

// A leat_rpc_done_fn_t.
static void answered(void* data, leat_status_t status, leat_string_view_t details,
                     leat_rpc_bytes_t answer) {
  sequence_t* sequence = data;
  leat_step_sequences_t* s = sequence->owner;
  int64_t number = 0;
  if (!status) status = read_answer(answer, sequence->key, &number);
  leat_mutex_lock(&s->mutex);
  leat_status_free(sequence->status);
  sequence->status = status;
  if (!status) sequence->next_number = number;
  sequence->is_asked = false;
  leat_condition_notify_all(&s->changed);
  leat_mutex_unlock(&s->mutex);
}

static void ask(sequence_t* sequence) {
  leat_step_sequences_t* s = sequence->owner;
  leat_rpc_channel_t* channel;
  const leat_pb_get_step_sequence_request_t request = {.graph_key = {&sequence->key, 1}};
  const leat_rpc_call_options_t options = {
      .method = "/tensorflow.WorkerService/GetStepSequence",
      .deadline_ns = LEAT_DEADLINE_NEVER,
      .waits = true};
  leat_status_t status = leat_task_channel(s->task, s->leader, &channel);
  if (status) {
    answered(sequence, status, LEAT_SV(""), (leat_rpc_bytes_t){0});
  } else {
    leat_rpc_call_message(channel, &options, &leat_pb_get_step_sequence_request_descriptor,
                          &request, answered, sequence, NULL);
  }
}

// Waits until the sequence is known. The mutex is held, and free while this waits.
static leat_status_t learn(sequence_t* sequence, int64_t deadline_ns,
                           leat_cancellation_t* cancellation) {
  leat_step_sequences_t* s = sequence->owner;
  bool has_asked = false;
  while (!sequence->next_number) {
    if (cancellation && leat_cancellation_is_cancelled(cancellation)) {
      return leat_make_status(LEAT_CANCELLED, "Run failed: the step was cancelled");
    }
    if (!sequence->is_asked) {
      if (has_asked) return leat_status_clone(sequence->status);
      has_asked = sequence->is_asked = true;
      leat_mutex_unlock(&s->mutex);
      ask(sequence);
      leat_mutex_lock(&s->mutex);
    } else if (!leat_condition_wait_until(&s->changed, &s->mutex, deadline_ns)) {
      return leat_step_timeout();
    }
  }
  return leat_ok_status();
}

// ---- Numbers ------------------------------------------------------------------------------------

static void wake(void* data) {
  leat_step_sequences_t* s = data;
  leat_mutex_lock(&s->mutex);
  leat_condition_notify_all(&s->changed);
  leat_mutex_unlock(&s->mutex);
}

static leat_status_t take_number(leat_step_sequences_t* s, int64_t key, int64_t deadline_ns,
                                 leat_cancellation_t* cancellation, int64_t* out_number) {
  sequence_t* sequence;
  LEAT_RETURN_IF_ERROR(find_sequence(s, key, &sequence));
  LEAT_RETURN_IF_ERROR(learn(sequence, deadline_ns, cancellation));
  LEAT_RETURN_IF_ERROR(LEAT_GROW(s->task->allocator, sequence->in_use_count + 1,
                                 &sequence->in_use, &sequence->in_use_capacity));
  *out_number = sequence->next_number;
  sequence->in_use[sequence->in_use_count++] = *out_number;
  sequence->next_number = (*out_number + 1) & ((INT64_C(1) << STEP_BITS) - 1);
  if (!sequence->next_number) sequence->next_number = 1;
  return leat_ok_status();
}

// Of leat_step_numbers_t.
static leat_status_t draw(leat_step_numbers_t* self, int64_t key, int64_t deadline_ns,
                          leat_cancellation_t* cancellation, int64_t* out_number) {
  leat_step_sequences_t* s = (leat_step_sequences_t*)self;
  uint64_t token = 0;
  // Where this fails, the step was cancelled, which is seen below, or memory ran out; and then the
  // wait ends with the answer.
  const bool is_registered =
      cancellation && leat_cancellation_register(cancellation, wake, s, &token);
  leat_mutex_lock(&s->mutex);
  leat_status_t status = take_number(s, key, deadline_ns, cancellation, out_number);
  leat_mutex_unlock(&s->mutex);
  if (is_registered) leat_cancellation_deregister(cancellation, token);
  return status;
}

// The end of a call to a task that may be gone, or run TensorFlow.
static void ignore(void* data, leat_status_t status, leat_string_view_t details,
                   leat_rpc_bytes_t answer) {
  leat_status_free(status);
}

// That a step was cancelled is a cause of its own only where it was; others hear that it ended.
static void tell_others(leat_task_t* task, int64_t number, leat_status_t status) {
  leat_arena_t arena;
  leat_pb_fail_step_request_t request = {.step_id = number, .code = leat_status_code(status)};
  const leat_rpc_call_options_t options = {
      .method = "/leat.Collective/FailStep",
      .deadline_ns = leat_clock_deadline_after_ms(TELL_TIMEOUT_MS),
      .is_patient = true};
  if (request.code == LEAT_CANCELLED) request.code = LEAT_ABORTED;
  leat_arena_initialize(task->allocator, 0, &arena);
  leat_status_t printed = leat_arena_print(&arena, &request.message, "From %.*s:\n%s",
                                           LEAT_SV_ARG(task->spec.tasks[task->number].name),
                                           leat_status_message(status));
  leat_status_free(printed);  // without memory the cause is not told, but the code is
  for (int i = 0; i < task->spec.task_count; ++i) {
    leat_rpc_channel_t* channel;
    if (i == task->number) continue;
    leat_status_t made = leat_task_channel(task, i, &channel);
    if (!made) {
      leat_rpc_call_message(channel, &options, &leat_pb_fail_step_request_descriptor, &request,
                            ignore, NULL, NULL);
    }
    leat_status_free(made);
  }
  leat_arena_deinitialize(&arena);
}

// Of leat_step_numbers_t.
static void retire(leat_step_numbers_t* self, int64_t key, int64_t number, leat_status_t status) {
  leat_step_sequences_t* s = (leat_step_sequences_t*)self;
  leat_mutex_lock(&s->mutex);
  sequence_t* sequence = s->sequences;
  while (sequence && sequence->key != key) sequence = sequence->next;
  LEAT_DCHECK(sequence);
  for (size_t i = 0; i < sequence->in_use_count; ++i) {
    if (sequence->in_use[i] != number) continue;
    sequence->in_use[i] = sequence->in_use[--sequence->in_use_count];
    break;
  }
  leat_mutex_unlock(&s->mutex);
  if (status) tell_others(s->task, number, status);
}

static int64_t oldest_number(const sequence_t* sequence) {
  int64_t number = sequence->next_number;
  for (size_t i = 0; i < sequence->in_use_count; ++i) {
    number = LEAT_MIN(number, sequence->in_use[i]);
  }
  return number;
}

leat_status_t leat_step_sequences_tell(leat_step_sequences_t* s,
                                       const leat_pb_get_step_sequence_request_t* request,
                                       leat_arena_t* arena,
                                       leat_pb_get_step_sequence_response_t* out_response) {
  leat_pb_step_sequence_list_t* list = &out_response->step_sequence;
  if (s->leader != s->task->number) {
    return leat_make_status(LEAT_INTERNAL, "GetStepSequence failed: it is asked of %.*s, must be "
                            "asked of the leader of collective groups, %.*s",
                            LEAT_SV_ARG(s->task->spec.tasks[s->task->number].name),
                            LEAT_SV_ARG(s->task->spec.tasks[s->leader].name));
  }
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, request->graph_key.count + 1, &list->items));
  leat_mutex_lock(&s->mutex);
  leat_status_t status = leat_ok_status();
  for (size_t i = 0; i < request->graph_key.count && !status; ++i) {
    sequence_t* sequence;
    status = find_sequence(s, request->graph_key.items[i], &sequence);
    if (status) break;
    list->items[list->count++] =
        (leat_pb_step_sequence_t){.graph_key = sequence->key,
                                  .next_step_id = oldest_number(sequence)};
  }
  leat_mutex_unlock(&s->mutex);
  return status;
}

// ---- Life ---------------------------------------------------------------------------------------

leat_status_t leat_step_sequences_create(leat_task_t* task, int leader,
                                         leat_step_sequences_t** out_sequences) {
  leat_step_sequences_t* s;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(task->allocator, 1, &s));
  s->numbers = (leat_step_numbers_t){draw, retire};
  s->task = task;
  s->leader = leader;
  leat_mutex_initialize(&s->mutex);
  leat_condition_initialize(&s->changed);
  *out_sequences = s;
  return leat_ok_status();
}

void leat_step_sequences_free(leat_step_sequences_t* s) {
  if (!s) return;
  for (sequence_t *sequence = s->sequences, *next; sequence; sequence = next) {
    next = sequence->next;
    leat_status_free(sequence->status);
    leat_allocator_free(s->task->allocator, sequence->in_use);
    leat_allocator_free(s->task->allocator, sequence);
  }
  leat_condition_deinitialize(&s->changed);
  leat_mutex_deinitialize(&s->mutex);
  leat_allocator_free(s->task->allocator, s);
}

leat_step_numbers_t* leat_step_sequences_numbers(leat_step_sequences_t* sequences) {
  return &sequences->numbers;
}
