// The way of an element from a worker into the line of results
// (ops/dataset/data_service_fetch_cpu.h). A failure that may pass puts the task off for a while,
// and another task is read meanwhile; where reads are coordinated the fetch itself pauses, because
// the element of a round comes from one task alone. Is its worker gone for good, all consumers ask
// the dispatcher to remove the task, which happens as soon as they agree on the round.
#include "ops/dataset/data_service_fetch_cpu.h"

#include "base/checked.h"
#include "ops/dataset/data_service_asking_cpu.h"
#include "ops/dataset/data_service_element_cpu.h"

static const leat_service_question_t kGetElement = {"/tensorflow.data.WorkerService/GetElement",
                                                    "Failed to get element",
                                                    &leat_pb_get_element_request_descriptor};
static const leat_service_question_t kMaybeRemoveTask = {
    "/tensorflow.data.DispatcherService/MaybeRemoveTask", "Failed to call MaybeRemoveTask",
    &leat_pb_maybe_remove_task_request_descriptor};

// ---- Results ------------------------------------------------------------------------------------

void leat_service_result_free(const leat_service_client_t* client, leat_service_result_t* result) {
  if (!result) return;
  if (result->has_element) leat_element_release(result->element, client->dataset->spec->count);
  leat_allocator_free(leat_allocator_system(), result);
}

static void append_result(leat_service_client_t* client, leat_service_result_t* result) {
  if (client->last) {
    client->last->next = result;
  } else {
    client->first = result;
  }
  client->last = result;
  ++client->result_count;
}

static leat_service_result_t* take_first(leat_service_client_t* client) {
  leat_service_result_t* result = client->first;
  client->first = result->next;
  if (!client->first) client->last = NULL;
  --client->result_count;
  return result;
}

// Those that were skipped go.
leat_service_result_t* leat_service_results_take(leat_service_client_t* client) {
  while (client->first && client->first->is_ready) {
    leat_service_result_t* result = take_first(client);
    if (!result->is_skipped) return result;
    leat_service_result_free(client, result);
  }
  return NULL;
}

// ---- Fetches ------------------------------------------------------------------------------------

static void free_fetch(leat_service_client_t* client, leat_service_fetch_t* fetch) {
  fetch->task->in_use = false;
  leat_service_task_release(fetch->task);
  if (!leat_service_client_is_coordinated(client)) leat_service_result_free(client, fetch->result);
  --client->fetch_count;
  leat_allocator_free(leat_allocator_system(), fetch);
}

void leat_service_fetches_free(leat_service_client_t* client) {
  while (client->paused) {
    leat_service_fetch_t* fetch = client->paused;
    client->paused = fetch->next;
    free_fetch(client, fetch);
  }
  while (client->first) leat_service_result_free(client, take_first(client));
}

bool leat_service_client_has_room(const leat_service_client_t* client) {
  const int64_t pending = leat_service_client_is_coordinated(client) ? 0 : client->fetch_count;
  return leat_service_client_goes_on(client) &&
         client->result_count + pending < client->max_outstanding;
}

static leat_status_t create_fetch(leat_service_client_t* client, leat_service_task_t* task,
                                  int64_t round, leat_service_fetch_t** out_fetch) {
  leat_service_fetch_t* fetch;
  leat_service_result_t* result;
  const size_t components = (size_t)client->dataset->spec->count;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &fetch));
  leat_status_t status =
      leat_allocator_allocate(leat_allocator_system(),
                              sizeof *result + components * sizeof(leat_tensor_t), (void**)&result);
  if (status) {
    leat_allocator_free(leat_allocator_system(), fetch);
    return status;
  }
  *fetch = (leat_service_fetch_t){.client = client, .task = task, .result = result, .round = round};
  ++task->references;
  task->in_use = true;
  ++client->fetch_count;
  if (leat_service_client_is_coordinated(client)) append_result(client, result);
  *out_fetch = fetch;
  return leat_ok_status();
}

static void collect_new(leat_service_client_t* client, int64_t now_ns, leat_service_work_t* work) {
  while (leat_service_client_has_room(client)) {
    int64_t round;
    leat_service_fetch_t* fetch;
    leat_service_task_t* task = leat_service_tasks_choose(&client->tasks, now_ns, &round);
    if (!task) return;
    leat_status_t status = create_fetch(client, task, round, &fetch);
    if (status) {
      leat_service_client_fail(client, status);
      return;
    }
    fetch->next = work->fetches;
    work->fetches = fetch;
  }
}

static void collect_paused(leat_service_client_t* client, int64_t now_ns,
                           leat_service_work_t* work) {
  for (leat_service_fetch_t** link = &client->paused; *link;) {
    leat_service_fetch_t* fetch = *link;
    if (fetch->wakes_ns > now_ns) {
      link = &fetch->next;
      continue;
    }
    *link = fetch->next;
    fetch->next = work->fetches;
    work->fetches = fetch;
  }
}

void leat_service_fetches_collect(leat_service_client_t* client, int64_t now_ns,
                                  leat_service_work_t* work) {
  collect_paused(client, now_ns, work);
  collect_new(client, now_ns, work);
}

int64_t leat_service_fetches_wake_ns(const leat_service_client_t* client) {
  int64_t wakes_ns = LEAT_DEADLINE_NEVER;
  for (const leat_service_fetch_t* fetch = client->paused; fetch; fetch = fetch->next) {
    wakes_ns = LEAT_MIN(wakes_ns, fetch->wakes_ns);
  }
  return wakes_ns;
}

// ---- Elements -----------------------------------------------------------------------------------

static void pause(leat_service_client_t* client, leat_service_fetch_t* fetch) {
  fetch->wakes_ns = leat_clock_now_ns() + leat_service_pause_ns(++fetch->failures);
  fetch->asks_removal = fetch->failures > 1;
  fetch->next = client->paused;
  client->paused = fetch;
}

// The worker cannot be reached now, or gives up what it does. Another task is read meanwhile; the
// element of a round comes from this one alone.
static void put_off(leat_service_client_t* client, leat_service_fetch_t* fetch) {
  leat_service_task_t* task = fetch->task;
  if (leat_service_client_is_coordinated(client) && !client->is_stopped) {
    pause(client, fetch);
    return;
  }
  task->resumes_ns = leat_clock_now_ns() + leat_service_pause_ns(++task->failures);
  free_fetch(client, fetch);
}

// The result of |fetch| is known.
static void settle(leat_service_client_t* client, leat_service_fetch_t* fetch) {
  leat_service_result_t* result = fetch->result;
  fetch->task->failures = 0;
  result->is_ready = true;
  if (result->has_element) fetch->task->skipped_last = false;
  if (result->is_skipped) fetch->task->skipped_last = true;
  if (result->is_end) leat_service_tasks_end(&client->tasks, fetch->task);
  if (result->is_end && client->beats_ns != LEAT_DEADLINE_NEVER) {
    client->beats_ns = LEAT_MIN(client->beats_ns, leat_service_client_next_beat_ns(client));
  }
  if (!leat_service_client_is_coordinated(client) && result->has_element) {
    append_result(client, result);
    fetch->result = NULL;
  }
  free_fetch(client, fetch);
}

static leat_status_t read_element(const leat_service_client_t* client, leat_string_view_t answer,
                                  leat_service_result_t* result) {
  leat_service_answer_t kind;
  LEAT_RETURN_IF_ERROR(
      leat_service_element_read(answer, client->dataset->spec, result->element, &kind));
  result->has_element = kind == LEAT_SERVICE_ELEMENT;
  result->is_skipped = kind == LEAT_SERVICE_SKIPPED;
  result->is_end = kind == LEAT_SERVICE_END;
  return leat_ok_status();
}

static void on_element(void* data, leat_status_t status, leat_string_view_t answer) {
  leat_service_fetch_t* fetch = data;
  leat_service_client_t* client = fetch->client;
  const bool may_pass = leat_service_failure_may_pass(status);
  if (!status) status = read_element(client, answer, fetch->result);
  leat_mutex_lock(&client->wait_queue.mutex);
  if (may_pass) {
    leat_status_free(status);
    put_off(client, fetch);
  } else if (status) {
    leat_service_client_fail(
        client,
        leat_status_annotate(status, "Failed to get element from worker %s", fetch->task->address));
    free_fetch(client, fetch);
  } else {
    settle(client, fetch);
  }
  leat_service_client_end_event(client);
}

static void ask_element(leat_service_fetch_t* fetch) {
  leat_service_client_t* client = fetch->client;
  leat_pb_get_element_request_t request = {.task_id = fetch->task->id,
                                           .skipped_previous_round = fetch->task->skipped_last,
                                           .trainer_id = client->job->trainer_id};
  if (leat_service_client_is_coordinated(client)) {
    request.consumer_index = client->job->consumer_index;
    request.optional_consumer_index_case = 2;
    request.round_index = fetch->round;
    request.optional_round_index_case = 3;
    request.allow_skip = true;
  }
  leat_service_call(&(leat_service_request_t){.peer = fetch->task->worker,
                                              .method = &kGetElement,
                                              .request = &request,
                                              .cancellation = client->cancellation,
                                              .done = on_element,
                                              .data = fetch});
}

// A task that all consumers want removed is skipped from this round on.
static void on_removal(void* data, leat_status_t status, leat_string_view_t answer) {
  leat_service_fetch_t* fetch = data;
  leat_service_client_t* client = fetch->client;
  leat_pb_maybe_remove_task_response_t response;
  leat_arena_t arena;
  status = leat_service_decode(&leat_pb_maybe_remove_task_response_descriptor, status, answer,
                               &arena, &response);
  leat_arena_deinitialize(&arena);
  if (!status && !response.removed) {
    ask_element(fetch);
    return;
  }
  leat_mutex_lock(&client->wait_queue.mutex);
  if (!status) {
    fetch->task->is_removed = true;
    fetch->result->is_skipped = true;
    settle(client, fetch);
  } else {
    leat_service_client_fail(client, status);
    free_fetch(client, fetch);
  }
  leat_service_client_end_event(client);
}

void leat_service_fetch_start(leat_service_fetch_t* fetch) {
  leat_service_client_t* client = fetch->client;
  const leat_pb_maybe_remove_task_request_t request = {
      .task_id = fetch->task->id,
      .consumer_index = client->job->consumer_index,
      .round = fetch->round};
  if (fetch->asks_removal) {
    leat_service_client_call(client, &kMaybeRemoveTask, &request, INT64_MAX, on_removal, fetch);
  } else {
    leat_resource_retain(&client->resource);
    ask_element(fetch);
  }
}
