// One mutex and one condition for all streams of a device: it is a simulation.
#include "device/simulated/simulated_device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/random.h"
#include "base/thread.h"
#include "device/device_name.h"

typedef struct task_s {
  struct task_s* next;
  leat_simulated_work_fn_t work;
  void* work_data;
  leat_device_done_fn_t done;
  void* done_data;
  int64_t duration_ns;
  leat_status_t status;
  uint64_t after[LEAT_SIMULATED_STREAMS_MAX];  // how much of each stream must have ended
} task_t;

typedef struct simulated_s simulated_t;

typedef struct stream_s {
  simulated_t* device;
  task_t *first, *last;
  uint64_t enqueued, completed;
  int64_t busy_ns;
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
  int stream_count;  // whose threads run
  _Atomic(uint32_t) turn;
};

// ---- Streams ------------------------------------------------------------------------------------

static void finish_task(void* data) {
  task_t task = *(task_t*)data;
  leat_allocator_free(leat_allocator_system(), data);
  task.done(task.done_data, task.status);
}

static bool events_have_come(const simulated_t* s, const task_t* task) {
  for (int i = 0; i < s->stream_count; ++i) {
    if (s->streams[i].completed < task->after[i]) return false;
  }
  return true;
}

// The next task; NULL when the device ends and nothing is left. Called with the lock held.
static task_t* wait_for_task(simulated_t* s, stream_t* stream) {
  while (!stream->first || !events_have_come(s, stream->first)) {
    if (s->stopping && !stream->first) return NULL;
    leat_condition_wait(&s->condition, &s->mutex);
  }
  return stream->first;
}

static void run_task(const simulated_t* s, task_t* task) {
  int64_t end_ns = leat_clock_now_ns() + task->duration_ns;
  task->status = task->work ? task->work(task->work_data) : leat_ok_status();
  if (s->options.virtual_time) return;
  for (int64_t left; (left = end_ns - leat_clock_now_ns()) > 0;) leat_clock_sleep_ns(left);
}

static void run_stream(void* data) {
  stream_t* stream = data;
  simulated_t* s = stream->device;
  leat_mutex_lock(&s->mutex);
  for (task_t* task; (task = wait_for_task(s, stream)) != NULL;) {
    leat_mutex_unlock(&s->mutex);
    run_task(s, task);
    leat_mutex_lock(&s->mutex);
    stream->first = task->next;
    if (!stream->first) stream->last = NULL;
    ++stream->completed;
    stream->busy_ns += task->duration_ns;
    leat_condition_notify_all(&s->condition);
    leat_mutex_unlock(&s->mutex);
    if (s->base.pool) {
      leat_thread_pool_schedule(s->base.pool, finish_task, task);
    } else {
      finish_task(task);
    }
    leat_mutex_lock(&s->mutex);
  }
  leat_mutex_unlock(&s->mutex);
}

void leat_simulated_device_enqueue(leat_device_t* device, int stream_index,
                                   const leat_simulated_event_t* events, int event_count,
                                   leat_simulated_work_fn_t work, void* work_data,
                                   int64_t duration_ns, leat_device_done_fn_t done,
                                   void* done_data) {
  simulated_t* s = (simulated_t*)device;
  stream_t* stream = &s->streams[stream_index];
  task_t* task;
  leat_status_t status =
      leat_allocator_allocate(leat_allocator_system(), sizeof *task, (void**)&task);
  if (status) {
    done(done_data, status);
    return;
  }
  *task = (task_t){.work = work, .work_data = work_data, .done = done, .done_data = done_data,
                   .duration_ns = duration_ns};
  for (int i = 0; i < event_count; ++i) task->after[events[i].stream] = events[i].number;
  leat_mutex_lock(&s->mutex);
  if (stream->last) {
    stream->last->next = task;
  } else {
    stream->first = task;
  }
  stream->last = task;
  ++stream->enqueued;
  leat_condition_notify_all(&s->condition);
  leat_mutex_unlock(&s->mutex);
}

leat_simulated_event_t leat_simulated_device_record(leat_device_t* device, int stream) {
  simulated_t* s = (simulated_t*)device;
  leat_mutex_lock(&s->mutex);
  leat_simulated_event_t event = {stream, s->streams[stream].enqueued};
  leat_mutex_unlock(&s->mutex);
  return event;
}

int64_t leat_simulated_device_busy_ns(leat_device_t* device, int stream) {
  simulated_t* s = (simulated_t*)device;
  leat_mutex_lock(&s->mutex);
  int64_t busy_ns = s->streams[stream].busy_ns;
  leat_mutex_unlock(&s->mutex);
  return busy_ns;
}

int leat_simulated_device_next_stream(leat_device_t* device) {
  simulated_t* s = (simulated_t*)device;
  return (int)(atomic_fetch_add_explicit(&s->turn, 1, memory_order_relaxed) %
               (uint32_t)s->options.compute_streams);
}

int64_t leat_simulated_device_time_ns(const leat_device_t* device, size_t bytes) {
  const leat_speed_t* speed = &device->speed;
  return speed->start_ns + (int64_t)((double)bytes / speed->bytes_per_ns);
}

leat_simulated_memory_t* leat_simulated_device_memory(const leat_device_t* device) {
  return ((const simulated_t*)device)->memory;
}

// ---- Copies -------------------------------------------------------------------------------------

typedef struct copy_s {
  simulated_t* device;
  leat_tensor_t from;
  leat_tensor_t* to;
  leat_buffer_source_t* source;  // of a target that has no bytes yet
  leat_device_done_fn_t done;
  void* done_data;
} copy_t;

static leat_status_t run_copy(void* data) {
  copy_t* copy = data;
  const leat_tensor_t* from = &copy->from;
  leat_tensor_t to = *copy->to;
  if (to.dtype == 0) {
    LEAT_RETURN_IF_ERROR(leat_tensor_allocate(copy->source, from->dtype, &from->shape, &to));
  } else if (from->dtype != to.dtype || !leat_shape_equal(&from->shape, &to.shape)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Copy between devices failed: target is %s of shape %s, must be %s of "
                            "shape %s",
                            leat_dtype_name(to.dtype), LEAT_SHAPE_TEXT(&to.shape),
                            leat_dtype_name(from->dtype), LEAT_SHAPE_TEXT(&from->shape));
  }
  leat_tensor_t seen_from = *from, seen_to = to;
  leat_simulated_memory_enter(copy->device->memory, &seen_from);
  leat_simulated_memory_enter(copy->device->memory, &seen_to);
  leat_status_t status = leat_tensor_copy_elements(from->dtype, seen_from.data, seen_to.data,
                                                   from->shape.element_count);
  *copy->to = to;
  return status;
}

static void copy_done(void* data, leat_status_t status) {
  copy_t copy = *(copy_t*)data;
  leat_allocator_free(leat_allocator_system(), data);
  leat_tensor_release(&copy.from);
  copy.done(copy.done_data, status);
}

// |to| waits for all kernels enqueued so far: they may make what is copied, or read what is
// overwritten.
static void start_copy(leat_device_t* self, int direction, const leat_tensor_t* from,
                       leat_tensor_t* to, leat_buffer_source_t* source,
                       leat_device_done_fn_t done, void* data) {
  simulated_t* s = (simulated_t*)self;
  if (leat_dtype_in(from->dtype, LEAT_DTYPES_OBJECT)) {  // strings and handles stay with the host
    leat_tensor_release(to);
    *to = leat_tensor_share(from);
    done(data, leat_ok_status());
    return;
  }
  copy_t* copy;
  leat_status_t status =
      leat_allocator_allocate(leat_allocator_system(), sizeof *copy, (void**)&copy);
  if (status) {
    done(data, status);
    return;
  }
  *copy = (copy_t){s, leat_tensor_share(from), to, source, done, data};
  leat_simulated_event_t events[LEAT_SIMULATED_STREAMS_MAX];
  for (int i = 0; i < s->options.compute_streams; ++i) {
    events[i] = leat_simulated_device_record(self, i);
  }
  int64_t duration_ns = s->options.transfer_ns + (int64_t)((double)leat_tensor_size_bytes(from) /
                                                           s->options.transfer_bytes_per_ns);
  leat_simulated_device_enqueue(self, s->options.compute_streams + direction, events,
                                s->options.compute_streams, run_copy, copy, duration_ns,
                                copy_done, copy);
}

static void copy_from_host(leat_device_t* self, const leat_tensor_t* host,
                           leat_tensor_t* device_tensor, leat_device_done_fn_t done, void* data) {
  start_copy(self, 0, host, device_tensor, self->memory, done, data);
}

static void copy_to_host(leat_device_t* self, const leat_tensor_t* device_tensor,
                         leat_tensor_t* host, leat_device_done_fn_t done, void* data) {
  start_copy(self, 1, device_tensor, host, self->host_memory, done, data);
}

static void synchronize(leat_device_t* self, leat_device_done_fn_t done, void* data) {
  simulated_t* s = (simulated_t*)self;
  leat_simulated_event_t events[LEAT_SIMULATED_STREAMS_MAX];
  for (int i = 0; i < s->stream_count; ++i) events[i] = leat_simulated_device_record(self, i);
  // A stream waits for itself anyway.
  leat_simulated_device_enqueue(self, s->stream_count - 1, events, s->stream_count - 1, NULL, NULL,
                                0, done, data);
}

// ---- Life ---------------------------------------------------------------------------------------

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
  int most = LEAT_SIMULATED_STREAMS_MAX - 2;
  return (leat_simulated_options_t){
      .memory_bytes = memory >= 1 && memory < 1e6 ? (int64_t)memory << 20 : 1 << 20,
      .compute_streams = streams >= most ? most : streams >= 1 ? (int)streams : 1,
      .start_ns = (int64_t)(start_us * 1000),
      .bytes_per_ns = gbps > 0 ? gbps : 1,
      .transfer_ns = (int64_t)(transfer_us * 1000),
      .transfer_bytes_per_ns = transfer_gbps > 0 ? transfer_gbps : 1,
      .virtual_time = virtual_time != 0};
}

static leat_status_t start_streams(simulated_t* s) {
  for (int i = 0; i < s->options.compute_streams + 2; ++i) {
    s->streams[i].device = s;
    LEAT_RETURN_IF_ERROR(
        leat_thread_start("leat-stream", run_stream, &s->streams[i], &s->streams[i].thread));
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
  int most = LEAT_SIMULATED_STREAMS_MAX - 2;
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

static leat_status_t create(leat_string_view_t name, leat_thread_pool_t* pool,
                            leat_allocator_t* allocator, leat_device_t** out_device) {
  leat_simulated_options_t options = leat_simulated_options_default();
  return leat_simulated_device_create(name, &options, pool, allocator, out_device);
}

const leat_device_type_t leat_simulated_device_type = {"SIM", create};
