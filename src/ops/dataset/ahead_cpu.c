// The work of iterators that make elements ahead (ops/dataset/ahead_cpu.h). A unit of work is a run
// of a channel's pull, from its scheduling to its end, or a call of the function. Each unit holds a
// reference to the leat_ahead_t and is counted by the background of the session.
//
// The pull of a channel takes one element after the other:
//
//     reserve an item ─▶ element from the input ─▶ append to the line ─▶ reserve the next ...
//                                                        └─▶ call, or made
//
// With a function, each element ends the run of the pull: the next run is scheduled first, and then
// the call is made on this thread, where the element was made. So as many threads work as there are
// calls that compute. Without one, the run goes on until the line is full. When somebody waits for
// the element, the run ends too, before it wakes him: what he does with the element may take long,
// and the pull goes on elsewhere meanwhile.
//
// Only the thread that clears |is_pulling|, or leaves it set and schedules the next run, ends a
// run, and it touches nothing of the channel afterwards. So there is one run at a time, and an
// iterator whose channel has ended may open it anew.
#include "ops/dataset/ahead_cpu.h"

#include "kernel/function_runtime.h"

// ---- Items --------------------------------------------------------------------------------------

static void free_item(leat_item_t* item) {
  if (!item) return;
  leat_channel_t* channel = item->channel;
  leat_status_free(item->status);
  if (!channel->kind.calls && item->element) {
    leat_element_release(item->element, channel->input->dataset->spec->count);
    leat_allocator_free(leat_allocator_system(), item->element);
  }
  leat_application_deinitialize(&item->application);
  leat_allocator_free(leat_allocator_system(), item);
}

static void free_items(leat_item_t* first) {
  while (first) {
    leat_item_t* item = first;
    first = item->next;
    free_item(item);
  }
}

// Allocates room for an element, and for its call where there is a function.
static leat_status_t make_room(leat_channel_t* channel, leat_item_t* item) {
  const leat_dataset_t* dataset = channel->ahead->dataset;
  const int components = channel->input->dataset->spec->count;
  if (!channel->kind.calls) {
    return LEAT_ALLOCATE(leat_allocator_system(), (size_t)components + 1, &item->element);
  }
  LEAT_RETURN_IF_ERROR(leat_application_initialize(
      channel->input->draw_counts, components, dataset->tensor_count, channel->kind.return_count,
      &item->application));
  item->element = item->application.arguments;
  for (int i = 0; i < dataset->tensor_count; ++i) {
    item->element[components + i] = dataset->tensors[i];
  }
  return leat_ok_status();
}

static leat_status_t create_item(leat_channel_t* channel, leat_item_t** out_item) {
  leat_item_t* item;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &item));
  item->channel = channel;
  leat_status_t status = make_room(channel, item);
  if (status) {
    free_item(item);
    return status;
  }
  *out_item = item;
  return leat_ok_status();
}

leat_status_t leat_item_take_status(leat_item_t* item) {
  leat_status_t status = item->status;
  item->status = leat_ok_status();
  return status;
}

// ---- The line, under the lock -------------------------------------------------------------------

static bool is_stopped(leat_ahead_t* ahead) {
  return atomic_load_explicit(&ahead->stopped, memory_order_relaxed);
}

// Sets |making| to an item, or to NULL when nothing is to be made now.
static leat_status_t reserve(leat_channel_t* channel) {
  channel->making = NULL;
  const bool has_room = channel->count < channel->kind.capacity;
  if (channel->has_ended || !has_room || is_stopped(channel->ahead)) return leat_ok_status();
  if (!channel->unused) return create_item(channel, &channel->making);
  channel->making = channel->unused;
  channel->unused = channel->making->next;
  return leat_ok_status();
}

static void append(leat_channel_t* channel, leat_item_t* item) {
  item->next = NULL;
  if (channel->last) {
    channel->last->next = item;
  } else {
    channel->first = item;
  }
  channel->last = item;
  ++channel->count;
}

// The item that may be taken, which |*out_before| precedes; NULL: none.
static leat_item_t* find_made(const leat_channel_t* channel, leat_item_t** out_before) {
  leat_item_t* item = channel->first;
  *out_before = NULL;
  while (item && !item->is_made && channel->kind.any_order) {
    *out_before = item;
    item = item->next;
  }
  return item && item->is_made ? item : NULL;
}

static leat_item_t* take_made(leat_channel_t* channel) {
  leat_item_t* before;
  leat_item_t* item = find_made(channel, &before);
  if (!item) return NULL;
  if (before) {
    before->next = item->next;
  } else {
    channel->first = item->next;
  }
  if (channel->last == item) channel->last = before;
  item->line_made = channel->made--;
  item->line_calling = --channel->count - channel->made;
  return item;
}

static bool is_at_end(const leat_channel_t* channel) {
  return channel->has_ended && !channel->first;
}

bool leat_channel_is_ready(const void* data) {
  const leat_channel_t* channel = data;
  leat_item_t* before;
  return is_at_end(channel) || find_made(channel, &before) || is_stopped(channel->ahead);
}

// ---- Units of work ------------------------------------------------------------------------------

static bool begin_unit(leat_ahead_t* ahead) {
  if (!leat_background_enter(ahead->background)) return false;
  leat_resource_retain(&ahead->resource);
  return true;
}

// The unit is over for the session when what it may have freed is.
static void end_unit(leat_ahead_t* ahead) {
  leat_background_t* background = ahead->background;
  leat_background_retain(background);
  leat_resource_release(&ahead->resource);
  leat_background_leave(background);
  leat_background_release(background);
}

static leat_status_t closed(void) {
  return leat_make_status(LEAT_CANCELLED,
                          "Making elements of a dataset ahead ended: its session was closed");
}

// The item is in the line.
static void set_made(void* data) {
  leat_item_t* item = data;
  item->is_made = true;
  ++item->channel->made;
}

// Lets the item be taken, by a pull that waits for it at once.
static void publish(leat_item_t* item) {
  leat_wait_queue_change(&item->channel->ahead->wait_queue, set_made, item, 0);
}

static void returned(void* data, leat_status_t status) {
  leat_item_t* item = data;
  leat_ahead_t* ahead = item->channel->ahead;
  item->status = status;
  if (!item->channel->kind.keeps_element) leat_application_release_element(&item->application);
  publish(item);
  end_unit(ahead);
}

static void start_call(leat_item_t* item) {
  leat_ahead_t* ahead = item->channel->ahead;
  leat_function_runtime_t* functions = ahead->services.functions;
  if (!begin_unit(ahead)) {
    item->status = closed();
    publish(item);
    return;
  }
  item->calls = 0;
  item->application.call.caller = &ahead->services;
  item->application.call.calls = &item->calls;
  functions->vtable->run(functions, ahead->dataset->function, &item->application.call, returned,
                         item);
}

// ---- The pull -----------------------------------------------------------------------------------

// Appends the element that was made, unless there is no room behind it or somebody waits for it;
// true: the next one is to be made.
static bool append_and_go_on(leat_channel_t* channel) {
  leat_wait_queue_t* wait_queue = &channel->ahead->wait_queue;
  leat_item_t* item = channel->making;
  leat_mutex_lock(&wait_queue->mutex);
  bool goes_on = !wait_queue->first[LEAT_LINE_OUT];
  if (goes_on) {
    ++channel->count;  // of |item|, which is appended when the next one is certain
    leat_status_free(reserve(channel));
    --channel->count;
    goes_on = channel->making != NULL;
    if (goes_on) {
      append(channel, item);
      set_made(item);
    } else {
      channel->making = item;
    }
  }
  leat_mutex_unlock(&wait_queue->mutex);
  return goes_on;
}

static leat_status_t pull_step(leat_pull_t* pull, leat_poll_t* out_poll) {
  leat_channel_t* channel = (leat_channel_t*)pull;
  do {
    leat_item_t* item = channel->making;
    item->status = leat_iterator_next(channel->input, pull, item->element, out_poll);
    if (!item->status && *out_poll == LEAT_POLL_PENDING) return leat_ok_status();
    channel->input_ended = !item->status && *out_poll == LEAT_POLL_END;
    channel->was_stopped = leat_pull_was_stopped(item->status) && is_stopped(channel->ahead);
    const bool calls = channel->kind.calls && !item->status;
    if (channel->input_ended || channel->was_stopped || calls) break;
  } while (append_and_go_on(channel));
  *out_poll = LEAT_POLL_END;
  return leat_ok_status();
}

// Appends what the run has made last, which may not be taken yet, and prepares the next run; true:
// there is one.
static bool append_and_prepare(leat_channel_t* channel) {
  leat_wait_queue_t* wait_queue = &channel->ahead->wait_queue;
  leat_mutex_lock(&wait_queue->mutex);
  append(channel, channel->making);
  leat_status_free(reserve(channel));
  const bool goes_on = channel->is_pulling = channel->making != NULL;
  leat_mutex_unlock(&wait_queue->mutex);
  return goes_on;
}

// Ends the pulling with an item that was not made. The lock is held.
static void set_idle(void* data) {
  leat_channel_t* channel = data;
  channel->making->next = channel->unused;
  channel->unused = channel->making;
  channel->making = NULL;
  channel->has_ended = channel->input_ended;
  channel->is_pulling = false;
}

static void run_pull(void* data);

// Schedules a run of the pull, for which |is_pulling| is set and |making| reserved. False when the
// session is closed.
static bool schedule(leat_channel_t* channel) {
  leat_ahead_t* ahead = channel->ahead;
  const bool is_open = begin_unit(ahead);
  if (is_open) {
    leat_thread_pool_schedule(ahead->services.pool, run_pull, channel);
  } else {
    leat_wait_queue_change(&ahead->wait_queue, set_idle, channel, 0);
  }
  return is_open;
}

// The next run may begin, and end, as soon as it is scheduled, and the channel may be opened anew
// as soon as it has ended.
static void pull_finish(leat_pull_t* pull, leat_status_t status) {
  leat_channel_t* channel = (leat_channel_t*)pull;
  leat_ahead_t* ahead = channel->ahead;
  leat_item_t* item = channel->making;
  leat_status_free(status);  // failures are those of items
  if (channel->input_ended || channel->was_stopped) {
    leat_status_free(leat_item_take_status(item));
    leat_wait_queue_change(&ahead->wait_queue, set_idle, channel, 0);
  } else {
    const bool calls = channel->kind.calls && !item->status;
    if (append_and_prepare(channel)) (void)schedule(channel);
    if (calls) {
      start_call(item);
    } else {
      publish(item);
    }
  }
  end_unit(ahead);
}

static void run_pull(void* data) {
  leat_channel_t* channel = data;
  channel->pull = (leat_pull_t){
      .services = &channel->ahead->services, .step = pull_step, .finish = pull_finish};
  leat_pull_run(&channel->pull);
}

// ---- Channels -----------------------------------------------------------------------------------

void leat_channel_open(leat_channel_t* channel, leat_iterator_t* input,
                       const leat_channel_kind_t* kind) {
  LEAT_DCHECK(!channel->is_pulling && !channel->first && kind->capacity > 0);
  free_items(channel->unused);  // their size is that of the former input's elements
  channel->unused = NULL;
  leat_iterator_free(channel->input);
  channel->input = input;
  channel->input_ended = channel->has_ended = false;
  channel->kind = *kind;
}

// Prepares a run of the pull if none goes on and there is room; true: it is to be scheduled. The
// lock is held.
static leat_status_t prepare_run(leat_channel_t* channel, bool* out_starts) {
  *out_starts = false;
  if (channel->is_pulling) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(reserve(channel));
  *out_starts = channel->is_pulling = channel->making != NULL;
  return leat_ok_status();
}

leat_status_t leat_channel_fill(leat_channel_t* channel) {
  leat_mutex_t* mutex = &channel->ahead->wait_queue.mutex;
  bool starts;
  leat_mutex_lock(mutex);
  leat_status_t status = prepare_run(channel, &starts);
  leat_mutex_unlock(mutex);
  if (starts && !schedule(channel)) status = closed();
  return status;
}

leat_status_t leat_channel_take(leat_channel_t* channel, leat_item_t** out_item,
                                leat_poll_t* out_poll) {
  leat_ahead_t* ahead = channel->ahead;
  bool starts;
  leat_mutex_lock(&ahead->wait_queue.mutex);
  *out_item = take_made(channel);
  *out_poll = *out_item            ? LEAT_POLL_ELEMENT
              : is_at_end(channel) ? LEAT_POLL_END
                                   : LEAT_POLL_PENDING;
  leat_status_t status = prepare_run(channel, &starts);
  leat_mutex_unlock(&ahead->wait_queue.mutex);
  const bool is_closed = (starts && !schedule(channel)) || is_stopped(ahead);
  if (*out_poll != LEAT_POLL_PENDING) {
    leat_status_free(status);  // the next call tries again
    return leat_ok_status();
  }
  return !status && is_closed ? closed() : status;
}

void leat_channel_give_back(leat_item_t* item) {
  leat_channel_t* channel = item->channel;
  leat_mutex_t* mutex = &channel->ahead->wait_queue.mutex;
  leat_status_free(leat_item_take_status(item));
  if (channel->kind.calls) {
    leat_application_release(&item->application);
  } else {
    leat_element_release(item->element, channel->input->dataset->spec->count);
  }
  leat_mutex_lock(mutex);
  item->is_made = false;
  item->next = channel->unused;
  channel->unused = item;
  leat_mutex_unlock(mutex);
}

// ---- Waiting ------------------------------------------------------------------------------------

typedef struct waiting_s {
  leat_attempt_t base;
  leat_ahead_t* ahead;
  leat_pull_t* pull;
  bool (*is_ready)(const void* data);
  const void* data;
} waiting_t;

static leat_passage_t attempt_wait(leat_attempt_t* self) {
  const waiting_t* waiting = (const waiting_t*)self;
  return waiting->is_ready(waiting->data) ? LEAT_PASSAGE_DONE : LEAT_PASSAGE_WAITS;
}

// A pull whose step was cancelled notices it by itself. Any other failure is left to it, since it
// would otherwise try to wait again and again.
static void finish_waiting(leat_attempt_t* self) {
  const waiting_t* waiting = (const waiting_t*)self;
  if (leat_status_code(self->status) == LEAT_CANCELLED) {
    leat_status_free(self->status);
  } else {
    waiting->ahead->failure = self->status;
  }
  leat_pull_wake(waiting->pull);
}

void leat_ahead_wait(leat_ahead_t* ahead, leat_pull_t* pull, bool (*is_ready)(const void* data),
                     const void* data) {
  waiting_t waiting = {.base = {.size_bytes = sizeof waiting,
                                .attempt = attempt_wait,
                                .finish = finish_waiting,
                                .cancellation = pull->services->cancellation,
                                .pool = pull->services->pool},
                       .ahead = ahead,
                       .pull = pull,
                       .is_ready = is_ready,
                       .data = data};
  leat_wait_queue_enter(&ahead->wait_queue, LEAT_LINE_OUT, &waiting.base);
}

// ---- The whole ----------------------------------------------------------------------------------

static void destroy(leat_resource_t* resource) {
  leat_ahead_t* ahead = (leat_ahead_t*)resource;
  if (ahead->background) {
    leat_cancellation_deregister(leat_background_cancellation(ahead->background), ahead->token);
  }
  for (int i = 0; i < ahead->channel_count; ++i) {
    leat_channel_t* channel = &ahead->channels[i];
    free_items(channel->first);
    free_items(channel->unused);
    free_item(channel->making);
    leat_iterator_free(channel->input);
  }
  leat_status_free(ahead->failure);
  leat_dataset_release(ahead->dataset);
  leat_cancellation_release(ahead->cancellation);
  leat_background_release(ahead->background);
  leat_wait_queue_deinitialize(&ahead->wait_queue);
  leat_allocator_free(leat_allocator_system(), ahead);
}

static const leat_resource_kind_t kAhead = {.name = "Ahead", .destroy = destroy};

leat_status_t leat_ahead_create(leat_dataset_t* dataset, int channel_count,
                                leat_ahead_t** out_ahead) {
  leat_ahead_t* ahead;
  leat_cancellation_t* cancellation;
  LEAT_RETURN_IF_ERROR(leat_cancellation_create(leat_allocator_system(), &cancellation));
  leat_status_t status = leat_allocator_allocate(
      leat_allocator_system(), sizeof *ahead + (size_t)channel_count * sizeof(leat_channel_t),
      (void**)&ahead);
  if (status) {
    leat_cancellation_release(cancellation);
    return status;
  }
  ahead->resource.kind = &kAhead;
  ahead->resource.references = 1;
  leat_wait_queue_initialize(&ahead->resource, &ahead->wait_queue);
  ahead->cancellation = cancellation;
  ahead->dataset = dataset;
  leat_dataset_retain(dataset);
  ahead->channel_count = channel_count;
  for (int i = 0; i < channel_count; ++i) ahead->channels[i].ahead = ahead;
  *out_ahead = ahead;
  return leat_ok_status();
}

// Whether work is under way.
static bool is_busy(leat_ahead_t* ahead) {
  bool busy = false;
  leat_mutex_lock(&ahead->wait_queue.mutex);
  for (int i = 0; i < ahead->channel_count && !busy; ++i) {
    const leat_item_t* item = ahead->channels[i].first;
    busy = ahead->channels[i].is_pulling;
    for (; item && !busy; item = item->next) busy = !item->is_made;
  }
  leat_mutex_unlock(&ahead->wait_queue.mutex);
  return busy;
}

static void stop(leat_ahead_t* ahead) {
  atomic_store_explicit(&ahead->stopped, true, memory_order_relaxed);
  leat_cancellation_cancel(ahead->cancellation);
  leat_wait_queue_change(&ahead->wait_queue, NULL, NULL, 1u << LEAT_LINE_OUT);
}

void leat_ahead_stop(leat_ahead_t* ahead) {
  if (!ahead) return;
  stop(ahead);
  leat_resource_release(&ahead->resource);
}

// The callback of the background's cancellation. Another thread may have released the last
// reference and be about to deregister the callback; then there is nothing to stop.
static void on_close(void* data) {
  leat_ahead_t* ahead = data;
  uint32_t references = atomic_load_explicit(&ahead->resource.references, memory_order_relaxed);
  do {
    if (references == 0) return;
  } while (!atomic_compare_exchange_weak_explicit(&ahead->resource.references, &references,
                                                  references + 1, memory_order_relaxed,
                                                  memory_order_relaxed));
  stop(ahead);
  leat_resource_release(&ahead->resource);
}

// Forgets the session that worked ahead and was closed, so that another one can go on with the
// elements that were made: an iterator in a container that sessions share outlives them.
static leat_status_t forget_session(leat_ahead_t* ahead) {
  leat_cancellation_t* cancellation;
  if (is_busy(ahead)) return closed();
  LEAT_RETURN_IF_ERROR(leat_cancellation_create(leat_allocator_system(), &cancellation));
  leat_cancellation_deregister(leat_background_cancellation(ahead->background), ahead->token);
  leat_background_release(ahead->background);
  ahead->background = NULL;
  leat_cancellation_release(ahead->cancellation);
  ahead->cancellation = cancellation;
  atomic_store_explicit(&ahead->stopped, false, memory_order_relaxed);
  return leat_ok_status();
}

leat_step_services_t leat_background_services(const leat_step_services_t* caller) {
  return (leat_step_services_t){.memory = caller->memory,
                                .pool = caller->pool,
                                .resources = caller->resources,
                                .session_tensors = caller->session_tensors,
                                .functions = caller->functions,
                                .function_depth = caller->function_depth,
                                .deterministic = caller->deterministic};
}

bool leat_ahead_is_possible(const leat_pull_t* pull) {
  return pull->services->functions && pull->services->pool;
}

leat_status_t leat_ahead_begin(leat_ahead_t* ahead, const leat_pull_t* pull) {
  const leat_step_services_t* caller = pull->services;
  leat_status_t failure = ahead->failure;
  ahead->failure = leat_ok_status();
  if (failure) return failure;
  if (ahead->background && is_stopped(ahead) && caller->functions &&
      caller->functions->background != ahead->background) {
    LEAT_RETURN_IF_ERROR(forget_session(ahead));
  }
  if (ahead->background) return leat_ok_status();
  if (!leat_ahead_is_possible(pull)) {
    return leat_make_status(LEAT_FAILED_PRECONDITION,
                            "Calling a dataset's function failed: it is called outside a session, "
                            "must be inside one");
  }
  leat_background_t* background = caller->functions->background;
  if (!leat_cancellation_register(leat_background_cancellation(background), on_close, ahead,
                                  &ahead->token)) {
    return closed();
  }
  leat_background_retain(background);
  ahead->background = background;
  ahead->services = leat_background_services(caller);
  ahead->services.cancellation = ahead->cancellation;
  ahead->services.stopped = &ahead->stopped;
  return leat_ok_status();
}
