// Measures the ways between the tasks of a cluster, for leat doctor. A probe makes calls one after
// the other and takes the time of each. The shortest round trip is the least disturbed one: it
// tells the latency, and the clock of the other side was read at about its middle, which gives the
// offset of the clocks. Bandwidth is that of one large message each way, less the latency, the best
// of a few. A task that does not answer costs one deadline and is reported, and the others are
// measured all the same.
#include "cluster/probe.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/checked.h"
#include "base/clock.h"
#include "base/sync.h"
#include "cluster/cluster_spec.h"
#include "cluster/rpc_message.h"
#include "cluster/security.h"
#include "formats/generated/worker_service.h"
#include "formats/wire/decode.h"
#include "formats/wire/json.h"

#define ROUNDS 21
#define LOAD_ROUNDS 3

// A leat_rpc_done_fn_t. The time is taken before the answer is read.
static void end_timed(void* data, leat_status_t status, leat_string_view_t details,
                      leat_rpc_bytes_t answer) {
  leat_timed_call_t* timed = data;
  timed->end_ns = leat_clock_now_ns();
  if (!status && timed->descriptor) {
    status = leat_rpc_decode_message(answer, timed->arena, timed->descriptor, timed->answer);
  }
  timed->status = status;
  leat_notification_open(&timed->ended);
}

leat_status_t leat_timed_call(leat_rpc_channel_t* channel, const char* method,
                              const leat_message_descriptor_t* descriptor, const void* message,
                              int64_t deadline_ns, leat_timed_call_t* timed) {
  const leat_rpc_call_options_t options = {.method = method, .deadline_ns = deadline_ns};
  leat_notification_initialize(&timed->ended);
  timed->begin_ns = leat_clock_now_ns();
  if (descriptor) {
    leat_rpc_call_message(channel, &options, descriptor, message, end_timed, timed, NULL);
  } else {
    leat_rpc_call(channel, &options, end_timed, timed, NULL);
  }
  leat_notification_wait(&timed->ended, LEAT_DEADLINE_NEVER);
  leat_notification_deinitialize(&timed->ended);
  return timed->status;
}

// ---- One task -----------------------------------------------------------------------------------

static leat_status_t ask_status(leat_rpc_channel_t* channel, int64_t deadline_ns,
                                leat_arena_t* arena, leat_pb_task_probe_t* probe) {
  leat_pb_get_status_response_t response = {0};
  leat_timed_call_t timed = {.arena = arena,
                             .descriptor = &leat_pb_get_status_response_descriptor,
                             .answer = &response};
  LEAT_RETURN_IF_ERROR(leat_timed_call(channel, "/tensorflow.WorkerService/GetStatus", NULL, NULL,
                                       deadline_ns, &timed));
  const leat_pb_device_attributes_list_t* devices = &response.device_attributes;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, devices->count + 1, &probe->incarnations.items));
  probe->incarnations.count = devices->count;
  for (size_t i = 0; i < devices->count; ++i) {
    probe->incarnations.items[i] = devices->items[i].incarnation;
  }
  return leat_ok_status();
}

static leat_status_t ask_probe(leat_rpc_channel_t* channel, leat_string_view_t load,
                               int64_t answer_bytes, int64_t deadline_ns, leat_arena_t* arena,
                               leat_pb_probe_response_t* out_response,
                               leat_timed_call_t* out_timed) {
  const leat_pb_probe_request_t request = {.load = load, .answer_bytes = answer_bytes};
  *out_response = (leat_pb_probe_response_t){0};
  *out_timed = (leat_timed_call_t){.arena = arena,
                                   .descriptor = &leat_pb_probe_response_descriptor,
                                   .answer = out_response};
  return leat_timed_call(channel, "/leat.Diagnosis/Probe", &leat_pb_probe_request_descriptor,
                         &request, deadline_ns, out_timed);
}

static int compare_times(const void* a, const void* b) {
  const int64_t x = *(const int64_t*)a, y = *(const int64_t*)b;
  return (x > y) - (x < y);
}

// Measures the round trip and, of a task of Leat's, how its clock differs.
static leat_status_t measure_latency(leat_rpc_channel_t* channel, bool is_leat,
                                     int64_t deadline_ns, leat_arena_t* arena,
                                     leat_pb_task_probe_t* probe) {
  int64_t times[ROUNDS], least = INT64_MAX;
  for (int i = 0; i < ROUNDS; ++i) {
    leat_pb_probe_response_t response = {0};
    leat_timed_call_t timed = {.arena = arena};
    const int64_t wall_ns = leat_clock_wall_ns();
    LEAT_RETURN_IF_ERROR(is_leat ? ask_probe(channel, LEAT_SV(""), 0, deadline_ns, arena,
                                             &response, &timed)
                                 : leat_timed_call(channel,
                                                   "/tensorflow.WorkerService/GetStatus", NULL,
                                                   NULL, deadline_ns, &timed));
    times[i] = timed.end_ns - timed.begin_ns;
    if (times[i] >= least) continue;
    least = times[i];
    probe->clock_offset_ns = is_leat ? response.wall_ns - (wall_ns + least / 2) : 0;
  }
  qsort(times, ROUNDS, sizeof *times, compare_times);
  probe->latency_min_ns = times[0];
  probe->latency_median_ns = times[ROUNDS / 2];
  return leat_ok_status();
}

static double speed(int64_t bytes, const leat_timed_call_t* timed, int64_t latency_ns) {
  const int64_t spent_ns = timed->end_ns - timed->begin_ns - latency_ns;
  return (double)bytes * 1e9 / (double)LEAT_MAX(spent_ns, 1);
}

static leat_status_t measure_bandwidth(leat_rpc_channel_t* channel,
                                       const leat_probe_options_t* options,
                                       leat_pb_task_probe_t* probe) {
  char* load;
  const int64_t size = LEAT_MIN(options->load_bytes, LEAT_PROBE_MAX_LOAD_BYTES);
  if (size <= 0) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(
      leat_allocator_allocate(leat_allocator_system(), (size_t)size, (void**)&load));
  leat_status_t status = leat_ok_status();
  for (int i = 0; i < 2 * LOAD_ROUNDS && !status; ++i) {
    leat_arena_t arena;  // of one answer, which may be large
    leat_pb_probe_response_t response;
    leat_timed_call_t timed;
    const bool uploads = i % 2 == 0;
    leat_arena_initialize(leat_allocator_system(), 0, &arena);
    status = ask_probe(channel, leat_string_view_make(load, uploads ? (size_t)size : 0),
                       uploads ? 0 : size, options->deadline_ns, &arena, &response, &timed);
    leat_arena_deinitialize(&arena);
    double* best =
        uploads ? &probe->upload_bytes_per_second : &probe->download_bytes_per_second;
    if (!status) *best = LEAT_MAX(*best, speed(size, &timed, probe->latency_min_ns));
  }
  leat_allocator_free(leat_allocator_system(), load);
  return status;
}

static leat_status_t probe_all(leat_rpc_channel_t* channel, const leat_probe_options_t* options,
                               leat_arena_t* arena, leat_pb_task_probe_t* probe) {
  leat_pb_probe_response_t response;
  leat_timed_call_t timed;
  LEAT_RETURN_IF_ERROR(ask_status(channel, options->deadline_ns, arena, probe));
  leat_status_t status = ask_probe(channel, LEAT_SV(""), 0, options->deadline_ns, arena,
                                   &response, &timed);
  const bool is_leat = !status;
  if (leat_status_code(status) != LEAT_UNIMPLEMENTED) LEAT_RETURN_IF_ERROR(status);
  leat_status_free(status);
  if (is_leat) {
    probe->version = response.version;
    probe->task = response.task;
  }
  LEAT_RETURN_IF_ERROR(
      measure_latency(channel, is_leat, options->deadline_ns, arena, probe));
  return is_leat ? measure_bandwidth(channel, options, probe) : leat_ok_status();
}

// Notes why a task, or the way between two, could not be probed. |status| is taken.
static leat_status_t note_failure(leat_status_t status, leat_arena_t* arena,
                                  leat_pb_task_probe_t* probe) {
  probe->code = leat_status_code(status);
  leat_status_t failure = leat_arena_copy_string(
      arena, leat_string_view_from(leat_status_message(status)), &probe->message);
  leat_status_free(status);
  return failure;
}

leat_status_t leat_probe_channel(leat_rpc_channel_t* channel, const leat_probe_options_t* options,
                                 leat_arena_t* arena, leat_pb_task_probe_t* out_probe) {
  *out_probe = (leat_pb_task_probe_t){0};
  leat_status_t status = probe_all(channel, options, arena, out_probe);
  return status ? note_failure(status, arena, out_probe) : leat_ok_status();
}

// ---- JSON ---------------------------------------------------------------------------------------

static void append_text(leat_string_builder_t* out, const char* name, leat_string_view_t text) {
  leat_string_builder_print(out, ", \"%s\": ", name);
  leat_json_append_string(out, text);
}

static void append_number(leat_string_builder_t* out, const char* name, double value) {
  leat_string_builder_print(out, ", \"%s\": %.6g", name, value);
}

static void append_probe(leat_string_builder_t* out, const leat_pb_task_probe_t* probe) {
  leat_string_builder_print(out, ", \"reachable\": %s", probe->code ? "false" : "true");
  if (probe->code) {
    append_text(out, "code",
                leat_string_view_from(leat_status_code_name((leat_status_code_t)probe->code)));
    append_text(out, "message", probe->message);
  }
  if (probe->latency_min_ns == 0) return;
  append_number(out, "latency_min_us", (double)probe->latency_min_ns / 1e3);
  append_number(out, "latency_median_us", (double)probe->latency_median_ns / 1e3);
  if (probe->version.size == 0) return;
  append_number(out, "clock_offset_us", (double)probe->clock_offset_ns / 1e3);
  if (probe->upload_bytes_per_second <= 0) return;
  append_number(out, "upload_mb_per_s", probe->upload_bytes_per_second / 1e6);
  append_number(out, "download_mb_per_s", probe->download_bytes_per_second / 1e6);
}

static void append_task(leat_string_builder_t* out, const leat_cluster_task_t* task,
                        const leat_pb_task_probe_t* probe) {
  leat_string_builder_append(out, LEAT_SV("    {\"task\": "));
  leat_json_append_string(out, task->name);
  append_text(out, "address", task->address);
  if (probe->version.size) append_text(out, "version", probe->version);
  if (probe->task.size && !leat_string_view_equal(probe->task, task->name)) {
    append_text(out, "answers_as", probe->task);
  }
  leat_string_builder_append(out, LEAT_SV(", \"incarnations\": ["));
  for (size_t i = 0; i < probe->incarnations.count; ++i) {
    leat_string_builder_print(out, "%s\"%016" PRIx64 "\"", i ? ", " : "",
                              probe->incarnations.items[i]);
  }
  leat_string_builder_append(out, LEAT_SV("]"));
  append_probe(out, probe);
  leat_string_builder_append(out, LEAT_SV("}"));
}

static void append_pair(leat_string_builder_t* out, const leat_cluster_task_t* from,
                        const leat_cluster_task_t* to, const leat_pb_task_probe_t* probe) {
  leat_string_builder_append(out, LEAT_SV("    {\"from\": "));
  leat_json_append_string(out, from->name);
  append_text(out, "to", to->name);
  append_probe(out, probe);
  leat_string_builder_append(out, LEAT_SV("}"));
}

// ---- The cluster --------------------------------------------------------------------------------

typedef struct survey_s {
  const leat_cluster_probe_options_t* options;
  leat_cluster_spec_t spec;
  leat_arena_t arena;
  leat_rpc_channel_t** channels;
  leat_pb_task_probe_t* probes;
} survey_t;

static int64_t deadline_of(const survey_t* survey) {
  return leat_clock_deadline_after_ms(survey->options->timeout_ms);
}

static leat_status_t survey_tasks(survey_t* survey, leat_string_builder_t* out) {
  leat_string_builder_append(out, LEAT_SV("{\n  \"tasks\": [\n"));
  for (int i = 0; i < survey->spec.task_count; ++i) {
    const leat_cluster_task_t* task = &survey->spec.tasks[i];
    const leat_probe_options_t options = {survey->options->load_bytes, deadline_of(survey)};
    LEAT_RETURN_IF_ERROR(leat_security_open_channel(task->address, &survey->channels[i]));
    LEAT_RETURN_IF_ERROR(leat_probe_channel(survey->channels[i], &options, &survey->arena,
                                            &survey->probes[i]));
    append_task(out, task, &survey->probes[i]);
    leat_string_builder_append(
        out, i + 1 < survey->spec.task_count ? LEAT_SV(",\n") : LEAT_SV("\n"));
  }
  leat_string_builder_append(out, LEAT_SV("  ]"));
  return leat_ok_status();
}

// Has task |from| probe task |to|. Only tasks that were reached, and are Leat's, are asked.
static leat_status_t survey_pair(survey_t* survey, int from, int to, leat_string_builder_t* out) {
  leat_pb_task_probe_t probe = {0};
  leat_timed_call_t timed = {.arena = &survey->arena,
                             .descriptor = &leat_pb_task_probe_descriptor,
                             .answer = &probe};
  const leat_pb_probe_task_request_t request = {.task = survey->spec.tasks[to].name,
                                                .load_bytes = survey->options->load_bytes};
  leat_status_t status =
      leat_timed_call(survey->channels[from], "/leat.Diagnosis/ProbeTask",
           &leat_pb_probe_task_request_descriptor, &request, deadline_of(survey), &timed);
  if (status) LEAT_RETURN_IF_ERROR(note_failure(status, &survey->arena, &probe));
  append_pair(out, &survey->spec.tasks[from], &survey->spec.tasks[to], &probe);
  return leat_ok_status();
}

static leat_status_t survey_pairs(survey_t* survey, leat_string_builder_t* out) {
  const char* before = "\n";
  leat_string_builder_append(out, LEAT_SV(",\n  \"pairs\": ["));
  for (int from = 0; from < survey->spec.task_count; ++from) {
    const leat_pb_task_probe_t* asked = &survey->probes[from];
    for (int to = 0; to < survey->spec.task_count; ++to) {
      if (to == from || asked->code || asked->version.size == 0) continue;
      leat_string_builder_append(out, leat_string_view_from(before));
      before = ",\n";
      LEAT_RETURN_IF_ERROR(survey_pair(survey, from, to, out));
    }
  }
  leat_string_builder_append(out, LEAT_SV("\n  ]"));
  return leat_ok_status();
}

static leat_status_t run_survey(survey_t* survey, leat_string_builder_t* out) {
  leat_pb_cluster_def_t cluster;
  LEAT_RETURN_IF_ERROR(leat_message_decode(&leat_pb_cluster_def_descriptor,
                                           survey->options->cluster, &survey->arena, NULL,
                                           &cluster));
  LEAT_RETURN_IF_ERROR(leat_cluster_spec_of(&cluster, leat_allocator_system(), &survey->spec));
  const size_t count = (size_t)survey->spec.task_count;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&survey->arena, count + 1, &survey->channels));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&survey->arena, count + 1, &survey->probes));
  leat_status_t status = survey_tasks(survey, out);
  if (!status && survey->options->probes_pairs) status = survey_pairs(survey, out);
  leat_string_builder_append(out, LEAT_SV("\n}\n"));
  for (size_t i = 0; i < count; ++i) leat_rpc_channel_free(survey->channels[i]);
  leat_cluster_spec_deinitialize(&survey->spec);
  return status;
}

leat_status_t leat_cluster_probe(const leat_cluster_probe_options_t* options,
                                 leat_string_builder_t* out) {
  survey_t survey = {.options = options};
  leat_arena_initialize(leat_allocator_system(), 0, &survey.arena);
  leat_status_t status = run_survey(&survey, out);
  leat_arena_deinitialize(&survey.arena);
  return status;
}
