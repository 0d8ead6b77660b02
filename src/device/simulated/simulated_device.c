// The simulated accelerator "SIM": streams, copies between host and device, and the device's life.
// It behaves like a GPU with asynchronous streams, so that the code which drives accelerators is
// tested on any machine; its kernels run on the CPU.
//
//   host thread ─enqueue─▶ stream's queue ─▶ stream's thread: wait for events, let the time pass,
//                                            do the work, count it as ended ─▶ done() on the pool
//
// A stream is a queue of entries and a thread that runs them in order. An entry may wait for
// events: numbers of entries that must have ended on other streams. One mutex and one condition
// serve all streams of a device, because this is a simulation: simplicity counts, speed does not.
// Invariant: an entry waits only for entries that were enqueued before it, so that streams never
// wait in a circle. Work runs after its simulated time has passed, at the latest moment at which a
// real device could write its results, so that a reader that does not wait finds old bytes and a
// test fails.
#include "device/simulated/simulated_device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/random.h"
#include "base/span.h"
#include "base/thread.h"
#include "device/device_name.h"

// One into the device, one out of it, and one on which the host waits for the others.
#define OTHER_STREAMS 3

typedef struct entry_s {
  struct entry_s* next;
  leat_simulated_task_t task;
  leat_status_t status;
  int64_t work;   // the number of the work in recordings; 0: nothing was recorded
  uint32_t name;  // of the kernel that launched it
} entry_t;

typedef struct simulated_s simulated_t;

typedef struct stream_s {
  simulated_t* device;
  entry_t *first, *last;
  leat_simulated_progress_t progress;
  leat_thread_t thread;
} stream_t;

struct simulated_s {
  leat_device_t base;
  leat_allocator_t* allocator;
  leat_simulated_options_t options;
  leat_simulated_memory_t* memory;
  leat_mutex_t mutex;
  leat_condition_t condition;
  bool stopping;
  stream_t streams[LEAT_SIMULATED_STREAMS_MAX];
  int stream_count;  // streams whose threads run
  _Atomic(uint32_t) turn;  // chooses the next compute stream
};

// ---- Streams ------------------------------------------------------------------------------------

// Frees the entry and calls the |done| of its task, on the pool or, without one, on the stream's
// thread.
static void finish_entry(void* data) {
  entry_t entry = *(entry_t*)data;
  leat_allocator_free(leat_allocator_system(), data);
  entry.task.done(entry.task.done_data, entry.status);
}

// true when all events have come. Called with the lock held.
static bool events_have_come(const simulated_t* s, const leat_simulated_events_t* events) {
  for (int i = 0; i < s->stream_count; ++i) {
    if (s->streams[i].progress.ended < events->numbers[i]) return false;
  }
  return true;
}

// Waits for the stream's next entry and its events. NULL when the device ends and nothing is left.
// Called with the lock held.
static entry_t* wait_for_entry(simulated_t* s, stream_t* stream) {
  int64_t waits_since = 0;
  while (!stream->first || !events_have_come(s, &stream->first->task.after)) {
    if (s->stopping && !stream->first) return NULL;
    if (stream->first && !waits_since) waits_since = leat_span_begin();
    leat_condition_wait(&s->condition, &s->mutex);
  }
  const entry_t* entry = stream->first;
  if (LEAT_UNLIKELY(waits_since)) {
    leat_span_end(waits_since, LEAT_SPAN_STREAM_WAIT, entry->name, entry->work);
  }
  return stream->first;
}

// Lets the entry's time pass and does its work. Called without the lock.
static void run_entry(const simulated_t* s, entry_t* entry) {
  int64_t start_ns = leat_clock_now_ns(), end_ns = start_ns + entry->task.duration_ns;
  const int64_t span = entry->work ? leat_span_begin() : 0;
  if (!s->options.virtual_time) {
    for (int64_t left; (left = end_ns - leat_clock_now_ns()) > 0;) leat_clock_sleep_ns(left);
  }
  if (entry->task.work) entry->status = entry->task.work(entry->task.work_data, start_ns);
  const int in = s->options.compute_streams;
  const bool copies = entry->task.stream == in || entry->task.stream == in + 1;
  if (LEAT_UNLIKELY(span)) {
    leat_span_end(span, copies ? LEAT_SPAN_COPY : LEAT_SPAN_STREAM, entry->name, entry->work);
  }
}

// Notes that |entry| has run and tells those who wait for it. Called with the lock held.
static void end_entry(simulated_t* s, stream_t* stream, const entry_t* entry) {
  stream->first = entry->next;
  if (!stream->first) stream->last = NULL;
  ++stream->progress.ended;
  leat_simulated_memory_advance(s->memory, (int)(stream - s->streams), stream->progress.ended);
  stream->progress.busy_ns += entry->task.duration_ns;
  leat_condition_notify_all(&s->condition);
}

// The thread of a stream. An entry counts as ended before its callback is called, and the callback
// runs on the pool where there is one.
static void run_stream(void* data) {
  stream_t* stream = data;
  simulated_t* s = stream->device;
  leat_mutex_lock(&s->mutex);
  for (entry_t* entry; (entry = wait_for_entry(s, stream)) != NULL;) {
    leat_mutex_unlock(&s->mutex);
    run_entry(s, entry);
    leat_mutex_lock(&s->mutex);
    end_entry(s, stream, entry);
    leat_mutex_unlock(&s->mutex);
    if (!entry->task.done) {
      leat_status_free(entry->status);
      leat_allocator_free(leat_allocator_system(), entry);
    } else if (s->base.pool) {
      leat_thread_pool_schedule(s->base.pool, finish_entry, entry);
    } else {
      finish_entry(entry);
    }
    leat_mutex_lock(&s->mutex);
  }
  leat_mutex_unlock(&s->mutex);
}

// Marks the launch of an entry, and numbers its work. Called with the lock held, because the entry
// belongs to the stream once it is let go.
static void note_launch(const simulated_t* s, const stream_t* stream, entry_t* entry) {
  if (LEAT_LIKELY(!leat_spans_are_recorded())) return;
  const uint64_t number = stream->progress.enqueued * LEAT_SIMULATED_STREAMS_MAX +
                          (uint64_t)(stream - s->streams);
  entry->work = (int64_t)(leat_hash_mix(s->base.incarnation, number) >> 1) | 1;
  entry->name = leat_span_work_of_thread.name;
  leat_span_mark(LEAT_SPAN_LAUNCH, entry->name, entry->work);
}

leat_status_t leat_simulated_device_enqueue(leat_device_t* device,
                                            const leat_simulated_task_t* task,
                                            uint64_t* out_number) {
  simulated_t* s = (simulated_t*)device;
  stream_t* stream = &s->streams[task->stream];
  entry_t* entry;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &entry));
  entry->task = *task;
  leat_mutex_lock(&s->mutex);
  note_launch(s, stream, entry);
  if (stream->last) {
    stream->last->next = entry;
  } else {
    stream->first = entry;
  }
  stream->last = entry;
  uint64_t number = ++stream->progress.enqueued;
  leat_condition_notify_all(&s->condition);
  leat_mutex_unlock(&s->mutex);
  if (out_number) *out_number = number;
  return leat_ok_status();
}

void leat_simulated_device_record(leat_device_t* device, int stream_count,
                                  leat_simulated_events_t* events) {
  simulated_t* s = (simulated_t*)device;
  leat_mutex_lock(&s->mutex);
  for (int i = 0; i < stream_count; ++i) {
    leat_simulated_events_add(events, i, s->streams[i].progress.enqueued);
  }
  leat_mutex_unlock(&s->mutex);
}

leat_simulated_progress_t leat_simulated_device_progress(leat_device_t* device, int stream) {
  simulated_t* s = (simulated_t*)device;
  leat_mutex_lock(&s->mutex);
  leat_simulated_progress_t progress = s->streams[stream].progress;
  leat_mutex_unlock(&s->mutex);
  return progress;
}

int leat_simulated_device_next_stream(leat_device_t* device) {
  simulated_t* s = (simulated_t*)device;
  return (int)(atomic_fetch_add_explicit(&s->turn, 1, memory_order_relaxed) %
               (uint32_t)s->options.compute_streams);
}

int leat_simulated_device_copy_in_stream(const leat_device_t* device) {
  return ((const simulated_t*)device)->options.compute_streams;
}

int64_t leat_simulated_device_time_ns(const leat_device_t* device, size_t bytes) {
  const leat_speed_t* speed = &device->speed;
  return speed->start_ns + (int64_t)((double)bytes / speed->bytes_per_ns);
}

leat_simulated_memory_t* leat_simulated_device_memory(const leat_device_t* device) {
  return ((const simulated_t*)device)->memory;
}

// ---- Copies -------------------------------------------------------------------------------------

// A copy under way. Whoever asked for it may release a tensor of the device meanwhile; |from| and
// |to| are held as enqueued work holds its tensors.
typedef struct copy_s {
  simulated_t* device;
  leat_tensor_t from, to;
  leat_simulated_writer_t* maker;   // the work that writes |from|, whose failure is the copy's
  leat_simulated_writer_t* writer;  // the copy, as the work that writes |to|
  leat_device_done_fn_t done;       // NULL for a copy into the device, which nobody waits for
  void* done_data;
} copy_t;

static void free_copy(copy_t* copy) {
  leat_tensor_release(&copy->from);
  leat_tensor_release(&copy->to);
  leat_simulated_writer_release(copy->maker);
  leat_simulated_writer_release(copy->writer);
  leat_allocator_free(leat_allocator_system(), copy);
}

// Copies the bytes, on the copy stream's thread; fails as the work that made them failed. Nobody
// waits for a copy into the device, so its failure is kept where the readers of |to| look for it.
static leat_status_t run_copy(void* data, int64_t start_ns) {
  copy_t* copy = data;
  leat_status_t status = copy->maker ? leat_status_clone(copy->maker->status) : leat_ok_status();
  if (!status) {
    leat_tensor_t from = copy->from, to = copy->to;
    leat_simulated_memory_enter(copy->device->memory, &from);
    leat_simulated_memory_enter(copy->device->memory, &to);
    status =
        leat_tensor_copy_elements(from.dtype, from.data, to.data, from.shape.element_count);
  }
  if (!copy->done) {
    copy->writer->status = leat_status_clone(status);
    free_copy(copy);
  }
  return status;
}

static void copy_done(void* data, leat_status_t status) {
  copy_t copy = *(copy_t*)data;
  free_copy(data);
  copy.done(copy.done_data, status);
}

// Enqueues a copy that waits for the work that writes |from| and for all uses of |to|. The order of
// the steps matters: the uses are noted after the copy has a number, and |copy| may be freed by the
// stream as soon as it is enqueued.
static leat_status_t enqueue_copy(simulated_t* s, int stream, copy_t* copy,
                                  const leat_tensor_t* from, const leat_tensor_t* to) {
  leat_simulated_memory_t* memory = s->memory;
  int64_t bytes = (int64_t)leat_tensor_size_bytes(from);
  leat_simulated_task_t task = {
      .stream = stream,
      .duration_ns =
          s->options.transfer_ns + (int64_t)((double)bytes / s->options.transfer_bytes_per_ns),
      .work = run_copy,
      .work_data = copy,
      .done = copy->done ? copy_done : NULL,
      .done_data = copy};
  LEAT_RETURN_IF_ERROR(leat_simulated_writer_create(stream, &copy->writer));
  // Once the copy is enqueued |copy| may be gone, and with it a target in the host.
  bool is_inward = !copy->done;
  leat_simulated_writer_t* writer = copy->writer;
  leat_reference_count_retain(&writer->references);
  copy->maker = leat_simulated_memory_await_value(memory, from, &task.after);
  copy->from = leat_simulated_memory_hold(memory, from);
  copy->to = leat_simulated_memory_hold(memory, to);
  leat_simulated_memory_await_uses(memory, to, &task.after);
  leat_status_t status = leat_simulated_device_enqueue(&s->base, &task, &writer->number);
  if (!status) leat_simulated_memory_note_read(memory, from, stream, writer->number);
  if (!status && is_inward) leat_simulated_memory_note_write(memory, to, writer);
  leat_simulated_writer_release(writer);
  return status;
}

// Starts a copy into the device (direction 0) or out of it (1).
static leat_status_t start_copy(leat_device_t* self, int direction, const leat_tensor_t* from,
                                leat_tensor_t* to, leat_device_done_fn_t done, void* data) {
  simulated_t* s = (simulated_t*)self;
  bool is_fresh = to->dtype == 0;
  copy_t* copy;
  LEAT_RETURN_IF_ERROR(
      leat_device_prepare_target(from, direction ? self->host_memory : self->memory, to));
  leat_status_t status = LEAT_ALLOCATE(leat_allocator_system(), 1, &copy);
  if (!status) {
    *copy = (copy_t){.device = s, .done = done, .done_data = data};
    status = enqueue_copy(s, leat_simulated_device_copy_in_stream(self) + direction, copy, from,
                          to);
    if (status) free_copy(copy);
  }
  if (status && is_fresh) leat_tensor_release(to);
  return status;
}

// true for strings and handles, which stay in the host's memory: |to| shares |from|.
static bool stays(const leat_tensor_t* from, leat_tensor_t* to) {
  if (!leat_dtype_in(from->dtype, LEAT_DTYPES_OBJECT)) return false;
  leat_tensor_release(to);
  *to = leat_tensor_share(from);
  return true;
}

static leat_status_t copy_from_host(leat_device_t* self, const leat_tensor_t* host,
                                    leat_tensor_t* device_tensor) {
  if (stays(host, device_tensor)) return leat_ok_status();
  return start_copy(self, 0, host, device_tensor, NULL, NULL);
}

static leat_status_t copy_to_host(leat_device_t* self, const leat_tensor_t* device_tensor,
                                  leat_tensor_t* host, leat_device_done_fn_t done, void* data) {
  if (!stays(device_tensor, host)) return start_copy(self, 1, device_tensor, host, done, data);
  done(data, leat_ok_status());
  return leat_ok_status();
}

// Calls |done| when all that is enqueued now has ended.
static void synchronize(leat_device_t* self, leat_device_done_fn_t done, void* data) {
  simulated_t* s = (simulated_t*)self;
  leat_simulated_task_t task = {.stream = s->stream_count - 1, .done = done, .done_data = data};
  leat_simulated_device_record(self, s->stream_count - 1, &task.after);
  leat_status_t status = leat_simulated_device_enqueue(self, &task, NULL);
  if (status) done(data, status);
}

// ---- Life ---------------------------------------------------------------------------------------

// Lets all streams finish what is enqueued, then frees the device.
static void destroy(leat_device_t* self) {
  simulated_t* s = (simulated_t*)self;
  leat_mutex_lock(&s->mutex);
  s->stopping = true;
  leat_condition_notify_all(&s->condition);
  leat_mutex_unlock(&s->mutex);
  for (int i = 0; i < s->stream_count; ++i) leat_thread_join(s->streams[i].thread);
  leat_condition_deinitialize(&s->condition);
  leat_mutex_deinitialize(&s->mutex);
  leat_simulated_memory_release(s->memory);
  leat_thread_pool_release(self->pool);
  leat_allocator_free(s->allocator, s);
}

static const leat_device_vtable_t kVtable = {copy_from_host, copy_to_host, synchronize, destroy};

leat_simulated_options_t leat_simulated_options_default(void) {
  double memory = 256, streams = 2, start_us = 5, gbps = 100, transfer_us = 10, transfer_gbps = 10,
         virtual_time = 0;
  const struct {
    const char* name;
    double* value;
  } settings[] = {{"memory=", &memory},           {"streams=", &streams},
                  {"start_us=", &start_us},       {"transfer_us=", &transfer_us},
                  {"transfer_gbps=", &transfer_gbps}, {"virtual=", &virtual_time},
                  {"gbps=", &gbps}};
  const char* text = getenv("LEAT_SIMULATED");
  for (size_t i = 0; text && i < LEAT_ARRAY_SIZE(settings); ++i) {
    size_t length = strlen(settings[i].name);
    for (const char* at = text; (at = strstr(at, settings[i].name)) != NULL; at += length) {
      if (at == text || at[-1] == ' ') *settings[i].value = strtod(at + length, NULL);
    }
  }
  int most = LEAT_SIMULATED_STREAMS_MAX - OTHER_STREAMS;
  return (leat_simulated_options_t){
      .memory_bytes = memory >= 1 && memory < 1e6 ? (int64_t)memory << 20 : 1 << 20,
      .compute_streams = streams >= most ? most : streams >= 1 ? (int)streams : 1,
      .start_ns = (int64_t)(start_us * 1000),
      .bytes_per_ns = gbps > 0 ? gbps : 1,
      .transfer_ns = (int64_t)(transfer_us * 1000),
      .transfer_bytes_per_ns = transfer_gbps > 0 ? transfer_gbps : 1,
      .virtual_time = virtual_time != 0};
}

// Starts the threads of the streams. On failure the caller destroys those that have started.
static leat_status_t start_streams(simulated_t* s) {
  static const char* const kOthers[OTHER_STREAMS] = {"copy in", "copy out", "wait"};
  const int compute = s->options.compute_streams;
  leat_device_name_t name;
  LEAT_RETURN_IF_ERROR(leat_device_name_parse(s->base.name, &name));
  for (int i = 0; i < compute + OTHER_STREAMS; ++i) {
    char text[32];
    s->streams[i].device = s;
    if (i < compute) {
      snprintf(text, sizeof text, "SIM:%d stream %d", name.index, i);
    } else {
      snprintf(text, sizeof text, "SIM:%d %s", name.index, kOthers[i - compute]);
    }
    LEAT_RETURN_IF_ERROR(
        leat_thread_start(text, run_stream, &s->streams[i], &s->streams[i].thread));
    ++s->stream_count;
  }
  return leat_ok_status();
}

leat_status_t leat_simulated_device_create(leat_string_view_t name,
                                           const leat_simulated_options_t* options,
                                           leat_thread_pool_t* pool, leat_allocator_t* allocator,
                                           leat_device_t** out_device) {
  leat_device_name_t parsed;
  simulated_t* s;
  *out_device = NULL;
  LEAT_RETURN_IF_ERROR(leat_device_name_parse(name, &parsed));
  if (parsed.job.size == 0 || parsed.replica < 0 || parsed.task < 0 || parsed.index < 0 ||
      !leat_string_view_equals(parsed.type, "SIM")) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Device creation failed: name is '%.*s', must be the full name of a "
                            "SIM", LEAT_SV_ARG(name));
  }
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate(allocator, sizeof *s + name.size, (void**)&s));
  char* text = (char*)(s + 1);
  memcpy(text, name.data, name.size);
  leat_status_t status =
      leat_simulated_memory_create((size_t)options->memory_bytes, allocator, &s->memory);
  if (status) {
    leat_allocator_free(allocator, s);
    return status;
  }
  s->allocator = allocator;
  s->options = *options;
  int most = LEAT_SIMULATED_STREAMS_MAX - OTHER_STREAMS;
  if (s->options.compute_streams < 1) s->options.compute_streams = 1;
  if (s->options.compute_streams > most) s->options.compute_streams = most;
  leat_mutex_initialize(&s->mutex);
  leat_condition_initialize(&s->condition);
  s->base = (leat_device_t){
      .vtable = &kVtable,
      .references = 1,
      .name = leat_string_view_make(text, name.size),
      .type = LEAT_SV("SIM"),
      .incarnation = leat_random_seed() | 1,
      .memory_limit_bytes = options->memory_bytes,
      .memory = leat_simulated_memory_outer(s->memory),
      .host_memory = leat_buffer_source_host(),
      .pool = pool,
      .speed = {.flops_per_ns = 1e6,
                .bytes_per_ns = options->bytes_per_ns,
                .start_ns = options->start_ns,
                .transfer_bytes_per_ns = options->transfer_bytes_per_ns,
                .transfer_ns = options->transfer_ns},
  };
  if (pool) leat_thread_pool_retain(pool);
  status = start_streams(s);
  if (status) {
    destroy(&s->base);
    return status;
  }
  *out_device = &s->base;
  return leat_ok_status();
}

static leat_status_t create(const leat_device_type_t* type, const leat_device_request_t* request,
                            leat_device_t** out_device) {
  leat_simulated_options_t options = leat_simulated_options_default();
  return leat_simulated_device_create(request->name, &options, request->pool, request->allocator,
                                      out_device);
}

const leat_device_type_t leat_simulated_device_type = {.name = "SIM", .create = create};
