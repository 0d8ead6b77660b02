// One thread of the recorder's exchanges times with all tasks, in batches, until the recording
// ends; the calls of start and stop are made by the caller's thread. A task that fails once is left
// alone from then on, so that one which is down costs one timeout. All of a task's fields belong to
// the recorder's thread while it runs, and to the caller before and after that.
#include "cluster/recorder.h"

#include <inttypes.h>

#include "base/clock.h"
#include "base/thread.h"
#include "cluster/cluster_spec.h"
#include "cluster/probe.h"
#include "cluster/security.h"
#include "formats/generated/cluster.h"
#include "formats/wire/decode.h"
#include "formats/wire/json.h"
#include "trace/clock_fit.h"

#define BATCH 8               // exchanges
#define BATCH_EVERY_MS 200
#define MAX_EXCHANGES 65536   // of a task, a multiple of two batches
#define READ_BYTES (INT64_C(4) << 20)
#define FIRST_NUMBER 0x10000000u  // of processes in the file, beyond those of any system

typedef struct recorded_s {
  const leat_cluster_task_t* task;
  leat_rpc_channel_t* channel;
  leat_status_t failure;  // why it is left out
  bool is_shared;
  int64_t process, bytes, lost;
  leat_clock_exchange_t* exchanges;
  size_t count, capacity;
  leat_clock_relation_t clock;
} recorded_t;

struct leat_cluster_recorder_s {
  leat_cluster_spec_t spec;
  recorded_t* tasks;
  uint64_t limit_bytes;
  int64_t timeout_ms;
  leat_arena_t arena;
  leat_thread_t thread;
  bool has_thread;
  leat_notification_t stops;
};

static int64_t deadline_of(const leat_cluster_recorder_t* recorder) {
  return leat_clock_deadline_after_ms(recorder->timeout_ms);
}

// Calls a method of leat.Diagnosis. The answer lies in |arena|.
static leat_status_t ask(const leat_cluster_recorder_t* recorder, const recorded_t* task,
                         const char* method, const leat_message_descriptor_t* descriptor,
                         const void* message, leat_arena_t* arena,
                         const leat_message_descriptor_t* answer_descriptor, void* answer,
                         leat_timed_call_t* out_timed) {
  *out_timed = (leat_timed_call_t){.arena = arena, .descriptor = answer_descriptor,
                                   .answer = answer};
  return leat_timed_call(task->channel, method, descriptor, message, deadline_of(recorder),
                         out_timed);
}

// ---- Clocks -------------------------------------------------------------------------------------

static leat_status_t exchange(const leat_cluster_recorder_t* recorder, recorded_t* task) {
  const leat_pb_probe_request_t request = {0};
  leat_pb_probe_response_t response = {0};
  leat_timed_call_t timed;
  leat_arena_t arena;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_status_t status = ask(recorder, task, "/leat.Diagnosis/Probe",
                             &leat_pb_probe_request_descriptor, &request, &arena,
                             &leat_pb_probe_response_descriptor, &response, &timed);
  leat_arena_deinitialize(&arena);
  if (!status) {
    status = LEAT_GROW(leat_allocator_system(), task->count + 1, &task->exchanges,
                       &task->capacity);
  }
  if (!status) {
    task->exchanges[task->count++] =
        (leat_clock_exchange_t){timed.begin_ns, timed.end_ns, response.now_ns};
  }
  return status;
}

static void exchange_batch(const leat_cluster_recorder_t* recorder, recorded_t* task) {
  for (int i = 0; i < BATCH && !task->failure; ++i) task->failure = exchange(recorder, task);
}

// Forgets every other batch, as a recording may go on for days.
static void thin_exchanges(recorded_t* task) {
  for (size_t i = 0; i < task->count / (2 * BATCH); ++i) {
    memmove(task->exchanges + i * BATCH, task->exchanges + 2 * i * BATCH,
            BATCH * sizeof *task->exchanges);
  }
  task->count /= 2;
}

// The thread's function. A task that is no longer asked ends its recording (diagnosis_methods.c).
static void watch_clocks(void* data) {
  leat_cluster_recorder_t* recorder = data;
  while (!leat_notification_wait(&recorder->stops, leat_clock_deadline_after_ms(BATCH_EVERY_MS))) {
    for (int i = 0; i < recorder->spec.task_count; ++i) {
      recorded_t* task = &recorder->tasks[i];
      if (task->is_shared || task->failure) continue;
      if (task->count == MAX_EXCHANGES) thin_exchanges(task);
      exchange_batch(recorder, task);
    }
  }
}

// ---- The beginning ------------------------------------------------------------------------------

static leat_status_t start_task(leat_cluster_recorder_t* recorder, recorded_t* task) {
  const leat_pb_start_recording_request_t request = {
      .limit_bytes = (int64_t)recorder->limit_bytes};
  leat_pb_start_recording_response_t response = {0};
  leat_timed_call_t timed;
  LEAT_RETURN_IF_ERROR(leat_security_open_channel(task->task->address, &task->channel));
  LEAT_RETURN_IF_ERROR(ask(recorder, task, "/leat.Diagnosis/StartRecording",
                           &leat_pb_start_recording_request_descriptor, &request,
                           &recorder->arena, &leat_pb_start_recording_response_descriptor,
                           &response, &timed));
  task->process = response.process;
  task->is_shared = response.is_shared;
  return leat_ok_status();
}

static leat_status_t start(const leat_cluster_recorder_options_t* options,
                           leat_cluster_recorder_t* recorder) {
  leat_pb_cluster_def_t cluster;
  int started = 0;
  LEAT_RETURN_IF_ERROR(leat_message_decode(&leat_pb_cluster_def_descriptor, options->cluster,
                                           &recorder->arena, NULL, &cluster));
  LEAT_RETURN_IF_ERROR(leat_cluster_spec_of(&cluster, leat_allocator_system(), &recorder->spec));
  LEAT_RETURN_IF_ERROR(
      LEAT_NEW(&recorder->arena, (size_t)recorder->spec.task_count + 1, &recorder->tasks));
  for (int i = 0; i < recorder->spec.task_count; ++i) {
    recorded_t* task = &recorder->tasks[i];
    task->task = &recorder->spec.tasks[i];
    task->failure = start_task(recorder, task);
    if (task->failure || task->is_shared) continue;
    ++started;
    exchange_batch(recorder, task);
  }
  if (!started) {
    const leat_status_t why = recorder->spec.task_count ? recorder->tasks[0].failure : NULL;
    return leat_make_status(LEAT_UNAVAILABLE,
                            "Recording failed: no task of the cluster can be recorded: %s",
                            why ? leat_status_message(why) : "somebody else does so already");
  }
  LEAT_RETURN_IF_ERROR(
      leat_thread_start("leat-clocks", watch_clocks, recorder, &recorder->thread));
  recorder->has_thread = true;
  return leat_ok_status();
}

static void free_recorder(leat_cluster_recorder_t* recorder) {
  for (int i = 0; recorder->tasks && i < recorder->spec.task_count; ++i) {
    recorded_t* task = &recorder->tasks[i];
    leat_rpc_channel_free(task->channel);
    leat_status_free(task->failure);
    leat_allocator_free(leat_allocator_system(), task->exchanges);
  }
  leat_cluster_spec_deinitialize(&recorder->spec);
  leat_notification_deinitialize(&recorder->stops);
  leat_arena_deinitialize(&recorder->arena);
  leat_allocator_free(leat_allocator_system(), recorder);
}

leat_status_t leat_cluster_recorder_start(const leat_cluster_recorder_options_t* options,
                                          leat_cluster_recorder_t** out_recorder) {
  leat_cluster_recorder_t* recorder;
  *out_recorder = NULL;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &recorder));
  recorder->limit_bytes = options->limit_bytes;
  recorder->timeout_ms = options->timeout_ms;
  leat_arena_initialize(leat_allocator_system(), 0, &recorder->arena);
  leat_notification_initialize(&recorder->stops);
  leat_status_t status = start(options, recorder);
  if (status) {
    free_recorder(recorder);
    return status;
  }
  *out_recorder = recorder;
  return leat_ok_status();
}

// ---- The end ------------------------------------------------------------------------------------

static leat_status_t stop_task(leat_cluster_recorder_t* recorder, int index) {
  recorded_t* task = &recorder->tasks[index];
  leat_string_view_t name;
  // Perfetto's viewer shows of a name what stands behind its last slash.
  LEAT_RETURN_IF_ERROR(leat_arena_print(&recorder->arena, &name, "%.*s:%d (process %" PRId64 ")",
                                        LEAT_SV_ARG(task->task->job), task->task->index,
                                        task->process));
  const leat_pb_stop_recording_request_t request = {
      .number = FIRST_NUMBER + (uint32_t)index,
      .name = name,
      .clock_at_ns = task->clock.at_ns,
      .clock_offset_ns = task->clock.offset_ns,
      .clock_drift_ppb = (int64_t)(task->clock.drift * 1e9),
      .clock_residual_ns = task->clock.residual_ns};
  leat_pb_stop_recording_response_t response = {0};
  leat_timed_call_t timed;
  LEAT_RETURN_IF_ERROR(ask(recorder, task, "/leat.Diagnosis/StopRecording",
                           &leat_pb_stop_recording_request_descriptor, &request,
                           &recorder->arena, &leat_pb_stop_recording_response_descriptor,
                           &response, &timed));
  task->lost = response.lost;
  return leat_ok_status();
}

// Reads the next bytes of a task's section and appends them to the file.
static leat_status_t read_piece(leat_cluster_recorder_t* recorder, recorded_t* task,
                                leat_file_t* file, bool* out_is_over) {
  const leat_pb_read_recording_request_t request = {.offset = task->bytes, .bytes = READ_BYTES};
  leat_pb_read_recording_response_t response = {0};
  leat_timed_call_t timed;
  leat_arena_t arena;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  task->failure = ask(recorder, task, "/leat.Diagnosis/ReadRecording",
                      &leat_pb_read_recording_request_descriptor, &request, &arena,
                      &leat_pb_read_recording_response_descriptor, &response, &timed);
  leat_status_t status = leat_ok_status();
  *out_is_over = task->failure || response.data.size == 0;
  if (!*out_is_over) {
    status = file->vtable->write(file, response.data.data, response.data.size);
    task->bytes += (int64_t)response.data.size;
  }
  leat_arena_deinitialize(&arena);
  return status;
}

static leat_status_t write_tasks(leat_cluster_recorder_t* recorder, leat_file_t* file) {
  for (int i = 0; i < recorder->spec.task_count; ++i) {
    recorded_t* task = &recorder->tasks[i];
    bool is_over = task->failure || task->is_shared;
    while (!is_over) LEAT_RETURN_IF_ERROR(read_piece(recorder, task, file, &is_over));
  }
  return leat_ok_status();
}

static void print_task(const recorded_t* task, leat_string_builder_t* out) {
  leat_string_builder_append(out, LEAT_SV("    {\"task\": "));
  leat_json_append_string(out, task->task->name);
  leat_string_builder_append(out, LEAT_SV(", \"address\": "));
  leat_json_append_string(out, task->task->address);
  if (task->process) leat_string_builder_print(out, ", \"process\": %" PRId64, task->process);
  leat_string_builder_print(out, ", \"recorded\": %s",
                            task->failure || task->is_shared ? "false" : "true");
  if (task->is_shared) leat_string_builder_append(out, LEAT_SV(", \"shared\": true"));
  if (task->failure) {
    leat_string_builder_append(out, LEAT_SV(", \"message\": "));
    leat_json_append_string(out, leat_string_view_from(leat_status_message(task->failure)));
  } else if (!task->is_shared) {
    leat_string_builder_print(out,
                              ", \"bytes\": %" PRId64 ", \"lost\": %" PRId64
                              ", \"clock_offset_us\": %.3f, \"clock_drift_ppm\": %.3f"
                              ", \"clock_residual_us\": %.3f",
                              task->bytes, task->lost, (double)task->clock.offset_ns / 1e3,
                              task->clock.drift * 1e6, (double)task->clock.residual_ns / 1e3);
  }
  leat_string_builder_append(out, LEAT_SV("}"));
}

// Relates the clock and ends the recording of each task, all of them before the first is read, so
// that they end at about the same time.
static void stop_tasks(leat_cluster_recorder_t* recorder) {
  for (int i = 0; i < recorder->spec.task_count; ++i) {
    recorded_t* task = &recorder->tasks[i];
    if (task->failure || task->is_shared) continue;
    exchange_batch(recorder, task);
    task->clock = leat_clock_fit(task->exchanges, task->count, BATCH);
    if (!task->failure) task->failure = stop_task(recorder, i);
  }
}

leat_status_t leat_cluster_recorder_stop(leat_cluster_recorder_t* recorder,
                                         leat_file_system_t* files, const char* path,
                                         leat_string_builder_t* out) {
  leat_file_t* file = NULL;
  leat_notification_open(&recorder->stops);
  if (recorder->has_thread) leat_thread_join(recorder->thread);
  stop_tasks(recorder);
  leat_status_t status =
      leat_file_open(files, path, LEAT_FILE_WRITE, leat_allocator_system(), &file);
  if (!status) {
    status = write_tasks(recorder, file);
    status = leat_status_join(status, leat_file_close(file));
  }
  leat_string_builder_append(out, LEAT_SV("{\n  \"tasks\": [\n"));
  for (int i = 0; i < recorder->spec.task_count; ++i) {
    print_task(&recorder->tasks[i], out);
    leat_string_builder_append(
        out, i + 1 < recorder->spec.task_count ? LEAT_SV(",\n") : LEAT_SV("\n"));
  }
  leat_string_builder_append(out, LEAT_SV("  ]\n}\n"));
  free_recorder(recorder);
  return status;
}
