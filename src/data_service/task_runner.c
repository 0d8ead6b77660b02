// Elements are made one after the other on the runner's thread, ahead of who asks: one of them, or
// a round's. What was made waits in |made|, a ring. An element that failed is an entry too, which
// one asker gets, and the next element follows it; of a coordinated read, in which all consumers
// must stay in step, a failure is the end. The end stays in the ring for all who ask.
//
// Of a coordinated read all consumers ask for the same round, and the round is filled when the last
// of them has asked. Where a consumer allows it, a round for which there are no elements after a
// tenth of a second is skipped by all, so that a slow worker delays nobody. A worker that comes
// back after a crash meets consumers in two rounds that follow each other, since some had got their
// element of the first: those in the first are served alone, once, and all are in step again.
//
// One mutex guards all; everybody who waits, waits for |changed|.
#include "data_service/task_runner.h"

#include <inttypes.h>

#include "base/clock.h"
#include "base/thread.h"

#define SKIP_AFTER_NS (100 * INT64_C(1000000))
#define MAX_TRAINERS 65536  // of a shared task; each keeps its place

// What came of making an element.
typedef struct made_s {
  leat_data_element_t* element;
  leat_status_t status;
  bool at_end;
} made_t;

// A consumer that waits for its round; on its thread's stack.
typedef struct round_request_s {
  struct round_request_s* next;
  const leat_pb_get_element_request_t* asked;
  bool is_replaced;  // the same consumer has asked again
} round_request_t;

struct leat_task_runner_s {
  leat_allocator_t* allocator;
  leat_task_runner_options_t options;
  leat_element_source_t* source;
  leat_thread_t thread;
  bool has_thread;
  leat_mutex_t mutex;  // guards what follows
  leat_condition_t changed;
  bool is_cancelled;
  made_t* made;  // [capacity], a ring
  size_t capacity, first, count;
  int64_t element_count;
  // Of a coordinated read.
  leat_data_element_t** round;  // [num_consumers], where the round is not skipped
  int64_t current_round, first_round;
  bool is_filling, round_is_skipped;
  round_request_t* requests;
  // Of a shared one: elements |window_begin| and on, and the next one of each trainer.
  leat_arena_t trainer_names;
  leat_string_map_t trainers;
  leat_data_element_t** window;
  size_t window_count, window_capacity;
  int64_t window_begin, window_size;
};

void leat_data_element_release(leat_data_element_t* element) {
  if (element && leat_reference_count_release(&element->references)) {
    leat_allocator_free(leat_allocator_system(), element);
  }
}

static leat_data_element_t* retain(leat_data_element_t* element) {
  leat_reference_count_retain(&element->references);
  return element;
}

static leat_status_t cancelled(void) {
  return leat_make_status(LEAT_CANCELLED, "Reading an element failed: the task has ended");
}

// ---- Making elements ----------------------------------------------------------------------------

static leat_status_t copy_element(leat_string_view_t fields, leat_data_element_t** out_element) {
  leat_data_element_t* element;
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate_uninitialized(
      leat_allocator_system(), 16, sizeof *element + fields.size, (void**)&element));
  *element = (leat_data_element_t){.references = 1, .size = fields.size};
  if (fields.size) memcpy(element->fields, fields.data, fields.size);
  *out_element = element;
  return leat_ok_status();
}

static made_t make_one(leat_task_runner_t* runner) {
  made_t made = {0};
  leat_string_builder_t fields;
  leat_string_builder_initialize(leat_allocator_system(), &fields);
  made.status = leat_element_source_next(runner->source, &fields, &made.at_end);
  if (!made.status && !made.at_end) {
    made.status = copy_element(leat_string_builder_view(&fields), &made.element);
  }
  leat_string_builder_deinitialize(&fields);
  return made;
}

// Puts what was made into the ring. The mutex is held.
static void put(leat_task_runner_t* runner, made_t made) {
  if (made.element) made.element->index = runner->element_count++;
  LEAT_DCHECK(runner->count < runner->capacity);
  runner->made[(runner->first + runner->count++) % runner->capacity] = made;
  leat_condition_notify_all(&runner->changed);
}

static void make_elements(void* data) {
  leat_task_runner_t* runner = data;
  bool goes_on = true;
  while (goes_on) {
    leat_mutex_lock(&runner->mutex);
    while (!runner->is_cancelled && runner->count == runner->capacity) {
      leat_condition_wait(&runner->changed, &runner->mutex);
    }
    goes_on = !runner->is_cancelled;
    leat_mutex_unlock(&runner->mutex);
    if (!goes_on) break;
    const made_t made = make_one(runner);
    goes_on = !made.at_end && !(made.status && runner->options.is_coordinated);
    leat_mutex_lock(&runner->mutex);
    put(runner, made);
    leat_mutex_unlock(&runner->mutex);
  }
}

// Takes the first entry out of the ring, where there is one; the end stays. The mutex is held.
static made_t take(leat_task_runner_t* runner) {
  made_t* first = &runner->made[runner->first];
  const made_t made = *first;
  if (made.at_end) return made;
  *first = (made_t){0};
  runner->first = (runner->first + 1) % runner->capacity;
  --runner->count;
  leat_condition_notify_all(&runner->changed);
  return made;
}

// ---- First come, first served -------------------------------------------------------------------

static leat_status_t next_of_all(leat_task_runner_t* runner, bool (*is_gone)(void* data),
                                 void* data, leat_data_result_t* out_result) {
  while (!runner->is_cancelled && !is_gone(data) && !runner->count) {
    leat_condition_wait(&runner->changed, &runner->mutex);
  }
  if (runner->is_cancelled || is_gone(data)) return cancelled();
  const made_t made = take(runner);
  out_result->element = made.element;
  out_result->at_end = made.at_end;
  return made.status;
}

// ---- Shared -------------------------------------------------------------------------------------

// Finds the place of a trainer, which begins with the oldest element that there is.
static leat_status_t find_trainer(leat_task_runner_t* runner, leat_string_view_t id,
                                  uint64_t** out_place) {
  leat_string_view_t name = id;
  if (!id.size) {
    return leat_make_status(LEAT_INTERNAL, "Reading an element failed: trainer_id is empty, must "
                                           "tell the trainers that share elements apart");
  }
  if (!leat_string_map_get(&runner->trainers, id, NULL)) {
    if (runner->trainers.count >= MAX_TRAINERS) {
      return leat_make_status(LEAT_RESOURCE_EXHAUSTED,
                              "Reading an element failed: there are %d trainers already",
                              MAX_TRAINERS);
    }
    LEAT_RETURN_IF_ERROR(leat_arena_copy_string(&runner->trainer_names, id, &name));
  }
  return leat_string_map_insert(&runner->trainers, name, (uint64_t)runner->window_begin, out_place,
                                NULL);
}

// Moves an element that was made to the end of the window, and lets go of the oldest ones beyond
// its size.
static leat_status_t extend_window(leat_task_runner_t* runner) {
  const made_t made = take(runner);
  LEAT_RETURN_IF_ERROR(made.status);
  if (made.at_end) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Reading an element failed: the dataset has ended, must have no end "
                            "where trainers share its elements");
  }
  leat_status_t status = LEAT_GROW(runner->allocator, runner->window_count + 1, &runner->window,
                                   &runner->window_capacity);
  if (status) {
    leat_data_element_release(made.element);
    return status;
  }
  runner->window[runner->window_count++] = made.element;
  runner->window_size += (int64_t)made.element->size;
  size_t gone = 0;
  while (runner->window_size > runner->options.window_bytes && gone + 1 < runner->window_count) {
    runner->window_size -= (int64_t)runner->window[gone]->size;
    leat_data_element_release(runner->window[gone++]);
  }
  runner->window_count -= gone;
  runner->window_begin += (int64_t)gone;
  if (gone) {
    memmove(runner->window, runner->window + gone, runner->window_count * sizeof *runner->window);
  }
  leat_condition_notify_all(&runner->changed);
  return leat_ok_status();
}

static leat_status_t next_of_trainer(leat_task_runner_t* runner, leat_string_view_t id,
                                     bool (*is_gone)(void* data), void* data,
                                     leat_data_result_t* out_result) {
  for (;;) {
    uint64_t* place;
    LEAT_RETURN_IF_ERROR(find_trainer(runner, id, &place));
    if ((int64_t)*place < runner->window_begin) *place = (uint64_t)runner->window_begin;
    const size_t index = (size_t)((int64_t)*place - runner->window_begin);
    if (index < runner->window_count) {
      ++*place;
      out_result->element = retain(runner->window[index]);
      return leat_ok_status();
    }
    if (runner->is_cancelled || is_gone(data)) return cancelled();
    if (runner->count) {
      LEAT_RETURN_IF_ERROR(extend_window(runner));
    } else {
      leat_condition_wait(&runner->changed, &runner->mutex);
    }
  }
}

// ---- Rounds -------------------------------------------------------------------------------------

static int64_t count_requests(const leat_task_runner_t* runner, int64_t round) {
  int64_t count = 0;
  for (const round_request_t* r = runner->requests; r; r = r->next) {
    count += r->asked->round_index == round && !r->is_replaced;
  }
  return count;
}

// What ended the elements of a coordinated read; NULL where they go on.
static leat_status_t check_elements(const leat_task_runner_t* runner) {
  for (size_t i = 0; i < runner->count; ++i) {
    const made_t* made = &runner->made[(runner->first + i) % runner->capacity];
    if (made->status) return leat_status_clone(made->status);
    if (!made->at_end) continue;
    return leat_make_status(LEAT_FAILED_PRECONDITION,
                            "Reading an element failed: the dataset has ended, must have no end "
                            "where it is read in rounds: add repeat()");
  }
  return runner->is_cancelled ? cancelled() : leat_ok_status();
}

// Fills the round with elements, or skips it where there are too few at the deadline.
static leat_status_t fill_round(leat_task_runner_t* runner, int64_t deadline_ns) {
  const size_t count = (size_t)runner->options.num_consumers;
  leat_status_t status = leat_ok_status();
  bool is_late = false;
  runner->is_filling = true;
  while (!(status = check_elements(runner)) && runner->count < count && !is_late) {
    is_late = !leat_condition_wait_until(&runner->changed, &runner->mutex, deadline_ns);
  }
  runner->is_filling = false;
  runner->round_is_skipped = runner->count < count;
  for (size_t i = 0; i < count && !status && !runner->round_is_skipped; ++i) {
    leat_data_element_release(runner->round[i]);
    runner->round[i] = take(runner).element;
  }
  leat_condition_notify_all(&runner->changed);
  return status;
}

// Whether a consumer that waits for |round| has told that the round before was skipped.
static bool skipped_before(const leat_task_runner_t* runner, int64_t round) {
  for (const round_request_t* r = runner->requests; r; r = r->next) {
    if (r->asked->round_index == round) return r->asked->skipped_previous_round;
  }
  return false;
}

// Begins a round, if |asked| was the last request that it waited for.
static leat_status_t begin_round(leat_task_runner_t* runner,
                                 const leat_pb_get_element_request_t* asked) {
  const int64_t consumers = runner->options.num_consumers, first = runner->first_round;
  const int64_t round = asked->round_index;
  if (runner->is_filling) return leat_ok_status();
  if (runner->current_round < round && count_requests(runner, round) == consumers) {
    runner->current_round = round;
    return fill_round(runner, asked->allow_skip ? leat_clock_now_ns() + SKIP_AFTER_NS
                                                : LEAT_DEADLINE_NEVER);
  }
  if (runner->current_round >= 0 || first == INT64_MAX ||
      count_requests(runner, first) + count_requests(runner, first + 1) != consumers) {
    return leat_ok_status();
  }
  runner->current_round = first;
  if (!skipped_before(runner, first + 1)) return fill_round(runner, LEAT_DEADLINE_NEVER);
  runner->round_is_skipped = true;
  leat_condition_notify_all(&runner->changed);
  return leat_ok_status();
}

static leat_status_t check_request(const leat_task_runner_t* runner,
                                   const leat_pb_get_element_request_t* asked) {
  const int64_t consumer = asked->consumer_index;
  if (!asked->optional_consumer_index_case || !asked->optional_round_index_case ||
      asked->round_index < 0) {
    return leat_make_status(LEAT_FAILED_PRECONDITION,
                            "Reading an element failed: the request must state consumer_index and "
                            "round_index, since the task is read in rounds");
  }
  if (consumer >= 0 && consumer < runner->options.num_consumers) return leat_ok_status();
  return leat_make_status(LEAT_FAILED_PRECONDITION,
                          "Reading an element failed: consumer_index is %" PRId64
                          ", must be from 0 to %" PRId64,
                          consumer, runner->options.num_consumers - 1);
}

static void enter(leat_task_runner_t* runner, round_request_t* request) {
  const leat_pb_get_element_request_t* asked = request->asked;
  for (round_request_t* r = runner->requests; r; r = r->next) {
    if (r->asked->consumer_index == asked->consumer_index &&
        r->asked->round_index == asked->round_index) {
      r->is_replaced = true;
    }
  }
  request->next = runner->requests;
  runner->requests = request;
  if (asked->round_index < runner->first_round) runner->first_round = asked->round_index;
}

static void leave(leat_task_runner_t* runner, const round_request_t* request) {
  round_request_t** place = &runner->requests;
  while (*place != request) place = &(*place)->next;
  *place = request->next;
}

static leat_status_t wait_for_round(leat_task_runner_t* runner,
                                    const leat_pb_get_element_request_t* asked,
                                    bool (*is_gone)(void* data), void* data) {
  const int64_t round = asked->round_index;
  LEAT_RETURN_IF_ERROR(begin_round(runner, asked));
  while (runner->current_round < round || runner->is_filling) {
    LEAT_RETURN_IF_ERROR(check_elements(runner));
    if (is_gone(data)) return cancelled();
    leat_condition_wait(&runner->changed, &runner->mutex);
  }
  if (runner->current_round == round) return check_elements(runner);
  return leat_make_status(LEAT_FAILED_PRECONDITION,
                          "Reading an element failed: consumer %" PRId64 " asks for round %" PRId64
                          ", but round %" PRId64 " has begun; was the consumer started again with "
                          "the name of a job that goes on?",
                          asked->consumer_index, round, runner->current_round);
}

static leat_status_t next_of_round(leat_task_runner_t* runner,
                                   const leat_pb_get_element_request_t* asked,
                                   bool (*is_gone)(void* data), void* data,
                                   leat_data_result_t* out_result) {
  round_request_t request = {.asked = asked};
  LEAT_RETURN_IF_ERROR(check_request(runner, asked));
  enter(runner, &request);
  leat_status_t status = wait_for_round(runner, asked, is_gone, data);
  leave(runner, &request);
  LEAT_RETURN_IF_ERROR(status);
  out_result->skips = runner->round_is_skipped;
  if (!out_result->skips) out_result->element = retain(runner->round[asked->consumer_index]);
  return leat_ok_status();
}

// ---- Runners ------------------------------------------------------------------------------------

static leat_status_t check_endless(leat_element_source_t* source) {
  int64_t cardinality;
  LEAT_RETURN_IF_ERROR(leat_element_source_cardinality(source, &cardinality));
  if (cardinality < 0) return leat_ok_status();
  return leat_make_status(LEAT_FAILED_PRECONDITION,
                          "Reading a dataset in rounds failed: it has %" PRId64
                          " elements, must have no end: add repeat()",
                          cardinality);
}

static leat_status_t prepare(leat_task_runner_t* runner) {
  const leat_task_runner_options_t* options = &runner->options;
  runner->capacity = options->is_coordinated ? (size_t)options->num_consumers : 1;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(runner->allocator, runner->capacity, &runner->made));
  if (options->is_coordinated) {
    LEAT_RETURN_IF_ERROR(check_endless(runner->source));
    LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(runner->allocator, runner->capacity, &runner->round));
  }
  LEAT_RETURN_IF_ERROR(leat_thread_start("leat-data-task", make_elements, runner,
                                         &runner->thread));
  runner->has_thread = true;
  return leat_ok_status();
}

leat_status_t leat_task_runner_create(const leat_task_runner_options_t* options,
                                      leat_element_source_t* source,
                                      leat_task_runner_t** out_runner) {
  leat_task_runner_t* runner;
  leat_status_t status = LEAT_ALLOCATE(leat_allocator_system(), 1, &runner);
  if (status) {
    leat_element_source_free(source);
    return status;
  }
  *runner = (leat_task_runner_t){.allocator = leat_allocator_system(),
                                 .options = *options,
                                 .source = source,
                                 .current_round = -1,
                                 .first_round = INT64_MAX};
  leat_mutex_initialize(&runner->mutex);
  leat_condition_initialize(&runner->changed);
  leat_arena_initialize(runner->allocator, 0, &runner->trainer_names);
  leat_string_map_initialize(runner->allocator, &runner->trainers);
  status = prepare(runner);
  if (status) {
    leat_task_runner_free(runner);
    return status;
  }
  *out_runner = runner;
  return leat_ok_status();
}

leat_status_t leat_task_runner_next(leat_task_runner_t* runner,
                                    const leat_pb_get_element_request_t* request,
                                    bool (*is_gone)(void* data), void* data,
                                    leat_data_result_t* out_result) {
  leat_status_t status;
  *out_result = (leat_data_result_t){0};
  leat_mutex_lock(&runner->mutex);
  if (runner->options.is_coordinated) {
    status = next_of_round(runner, request, is_gone, data, out_result);
  } else if (runner->options.is_shared) {
    status = next_of_trainer(runner, request->trainer_id, is_gone, data, out_result);
  } else {
    status = next_of_all(runner, is_gone, data, out_result);
  }
  leat_mutex_unlock(&runner->mutex);
  return status;
}

void leat_task_runner_wake(leat_task_runner_t* runner) {
  leat_mutex_lock(&runner->mutex);
  leat_condition_notify_all(&runner->changed);
  leat_mutex_unlock(&runner->mutex);
}

void leat_task_runner_cancel(leat_task_runner_t* runner) {
  leat_mutex_lock(&runner->mutex);
  runner->is_cancelled = true;
  leat_condition_notify_all(&runner->changed);
  leat_mutex_unlock(&runner->mutex);
  leat_element_source_close(runner->source);
}

void leat_task_runner_free(leat_task_runner_t* runner) {
  if (!runner) return;
  leat_task_runner_cancel(runner);
  if (runner->has_thread) leat_thread_join(runner->thread);
  for (size_t i = 0; i < runner->count; ++i) {
    made_t* made = &runner->made[(runner->first + i) % runner->capacity];
    leat_data_element_release(made->element);
    leat_status_free(made->status);
  }
  for (int64_t i = 0; runner->round && i < runner->options.num_consumers; ++i) {
    leat_data_element_release(runner->round[i]);
  }
  for (size_t i = 0; i < runner->window_count; ++i) leat_data_element_release(runner->window[i]);
  leat_element_source_free(runner->source);
  leat_string_map_deinitialize(&runner->trainers);
  leat_arena_deinitialize(&runner->trainer_names);
  leat_condition_deinitialize(&runner->changed);
  leat_mutex_deinitialize(&runner->mutex);
  leat_allocator_free(runner->allocator, runner->made);
  leat_allocator_free(runner->allocator, runner->round);
  leat_allocator_free(runner->allocator, runner->window);
  leat_allocator_free(runner->allocator, runner);
}
