// The methods of leat.Diagnosis (cluster/probe.h): a task answers probes, and probes another task
// when it is asked to. Who reaches the port may run any graph here, so these give away nothing new;
// what a call makes the task send is bounded.
//
// A recording is begun, ended and read by three methods. There is one in a process: where somebody
// records already, be it the program itself or another task of the process, this task has no part
// in it. What was recorded is made into a section of a file when it ends, and is read piece by
// piece; it is freed when its end has been read. A new recording drops what nobody came for, and so
// does time: who records asks for times until the end, and one that no longer does has died.
#include "base/checked.h"
#include "base/clock.h"
#include "base/host.h"
#include "base/span.h"
#include "cluster/probe.h"
#include "cluster/service.h"
#include "trace/recording_file.h"

// The time for a probe of another task on behalf of one who states no deadline.
#define PROBE_TIMEOUT_MS 60000
#define MAX_RECORDING_BYTES (INT64_C(1) << 30)
#define RECORDING_PATIENCE_BEATS 12

static void probe(leat_service_call_t* call, const void* message) {
  const leat_pb_probe_request_t* request = message;
  leat_task_t* task = call->task;
  const int64_t size = LEAT_MIN(LEAT_MAX(request->answer_bytes, 0), LEAT_PROBE_MAX_LOAD_BYTES);
  void* load = NULL;
  leat_status_t status =
      leat_allocator_allocate(task->allocator, (size_t)size + 1, &load);
  const leat_pb_probe_response_t response = {
      .version = LEAT_SV(LEAT_VERSION),
      .task = task->spec.tasks[task->number].name,
      .wall_ns = leat_clock_wall_ns(),
      .now_ns = leat_clock_now_ns(),
      .load = leat_string_view_make(load, status ? 0 : (size_t)size)};
  leat_rpc_piece_t piece;
  leat_rpc_bytes_t bytes;
  status = leat_service_encode(status, &leat_pb_probe_response_descriptor, &response, &piece,
                               &bytes);
  leat_allocator_free(task->allocator, load);
  leat_task_recording_t* recording = &task->root->recording;
  leat_mutex_lock(&recording->mutex);
  recording->asked_ns = leat_clock_now_ns();
  leat_mutex_unlock(&recording->mutex);
  leat_service_answer_bytes(call, status, bytes);
}

static leat_status_t probe_other(leat_service_call_t* call,
                                 const leat_pb_probe_task_request_t* request,
                                 leat_pb_task_probe_t* out_probe) {
  leat_task_t* task = call->task;
  leat_rpc_channel_t* channel;
  const int number = leat_cluster_spec_find_name(&task->spec, request->task);
  if (number < 0 || number == task->number) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Probing failed: task is '%.*s', must be another task of the cluster",
                            LEAT_SV_ARG(request->task));
  }
  LEAT_RETURN_IF_ERROR(leat_task_channel(task, number, &channel));
  const leat_probe_options_t options = {
      request->load_bytes, LEAT_MIN(call->request->deadline_ns,
                                    leat_clock_deadline_after_ms(PROBE_TIMEOUT_MS))};
  return leat_probe_channel(channel, &options, &call->arena, out_probe);
}

static void probe_task(leat_service_call_t* call, const void* message) {
  leat_pb_task_probe_t answer = {0};
  leat_status_t status = probe_other(call, message, &answer);
  leat_service_answer(call, status, &leat_pb_task_probe_descriptor, &answer);
}

// ---- Recordings ---------------------------------------------------------------------------------

void leat_task_drop_recording(leat_task_t* task) {
  leat_task_recording_t* r = &task->recording;
  leat_recording_t* recording = NULL;
  if (r->is_under_way) leat_status_free(leat_recording_stop(&recording));
  leat_recording_free(recording);
  leat_allocator_free(leat_allocator_system(), r->bytes);
  r->is_under_way = false;
  r->bytes = NULL;
  r->size = 0;
}

void leat_task_collect_recording(leat_task_t* task, int64_t now_ns) {
  leat_task_recording_t* r = &task->recording;
  const int64_t patience_ns = task->patience.heartbeat_ms * RECORDING_PATIENCE_BEATS * 1000000;
  leat_mutex_lock(&r->mutex);
  if ((r->is_under_way || r->bytes) && now_ns - r->asked_ns > patience_ns) {
    leat_task_drop_recording(task);
  }
  leat_mutex_unlock(&r->mutex);
}

static void start_recording(leat_service_call_t* call, const void* message) {
  const leat_pb_start_recording_request_t* request = message;
  leat_task_t* task = call->task->root;
  const int64_t limit = LEAT_MIN(LEAT_MAX(request->limit_bytes, 0), MAX_RECORDING_BYTES);
  leat_pb_start_recording_response_t response = {.process = leat_host_process_id()};
  leat_mutex_lock(&task->recording.mutex);
  leat_task_drop_recording(task);
  leat_status_t status = leat_recording_start((uint64_t)limit);
  task->recording.is_under_way = !status;
  task->recording.asked_ns = leat_clock_now_ns();
  leat_mutex_unlock(&task->recording.mutex);
  if (leat_status_code(status) == LEAT_FAILED_PRECONDITION) {
    response.is_shared = true;
    leat_status_free(status);
    status = leat_ok_status();
  }
  leat_service_answer(call, status, &leat_pb_start_recording_response_descriptor, &response);
}

// Ends the recording that began here and makes its section of the file.
static leat_status_t end_recording(leat_task_t* task,
                                   const leat_pb_stop_recording_request_t* request,
                                   leat_pb_stop_recording_response_t* response) {
  leat_task_recording_t* r = &task->recording;
  leat_recording_t* recording = NULL;
  leat_string_builder_t text;
  const leat_recording_section_t section = {
      request->number, request->name,
      {.at_ns = request->clock_at_ns, .offset_ns = request->clock_offset_ns,
       .drift = (double)request->clock_drift_ppb / 1e9,
       .residual_ns = request->clock_residual_ns}};
  if (!r->is_under_way) {
    return leat_make_status(LEAT_FAILED_PRECONDITION,
                            "StopRecording failed: no recording of this task is under way");
  }
  LEAT_RETURN_IF_ERROR(leat_recording_stop(&recording));
  r->is_under_way = false;
  leat_string_builder_initialize(leat_allocator_system(), &text);
  leat_status_t status =
      request->number ? leat_recording_encode(recording, &section, &text) : leat_ok_status();
  response->lost = (int64_t)recording->lost;
  leat_recording_free(recording);
  if (!status && text.size) status = leat_string_builder_finish(&text, &r->bytes, &r->size);
  leat_string_builder_deinitialize(&text);
  response->bytes = (int64_t)r->size;
  return status;
}

static void stop_recording(leat_service_call_t* call, const void* message) {
  leat_task_t* task = call->task->root;
  leat_pb_stop_recording_response_t response = {0};
  leat_mutex_lock(&task->recording.mutex);
  leat_status_t status = end_recording(task, message, &response);
  task->recording.asked_ns = leat_clock_now_ns();
  leat_mutex_unlock(&task->recording.mutex);
  leat_service_answer(call, status, &leat_pb_stop_recording_response_descriptor, &response);
}

// Gives the bytes from |offset| on; when all have been read, and were asked for once more, they go.
static void read_recording(leat_service_call_t* call, const void* message) {
  const leat_pb_read_recording_request_t* request = message;
  leat_task_t* task = call->task->root;
  leat_task_recording_t* r = &task->recording;
  leat_rpc_piece_t piece;
  leat_rpc_bytes_t bytes;
  leat_pb_read_recording_response_t response = {0};
  leat_status_t status = leat_ok_status();
  leat_mutex_lock(&r->mutex);
  r->asked_ns = leat_clock_now_ns();
  if (request->offset < 0 || (uint64_t)request->offset > r->size) {
    status = leat_make_status(LEAT_OUT_OF_RANGE,
                              "ReadRecording failed: offset is %lld, must be 0 to %zu",
                              (long long)request->offset, r->size);
  } else {
    const size_t offset = (size_t)request->offset;
    const int64_t most = LEAT_MIN(LEAT_MAX(request->bytes, 1), LEAT_PROBE_MAX_LOAD_BYTES);
    response.data =
        leat_string_view_make(r->bytes + offset, LEAT_MIN((size_t)most, r->size - offset));
  }
  status = leat_service_encode(status, &leat_pb_read_recording_response_descriptor, &response,
                               &piece, &bytes);
  if (!status && response.data.size == 0 && !r->is_under_way) leat_task_drop_recording(task);
  leat_mutex_unlock(&r->mutex);
  leat_service_answer_bytes(call, status, bytes);
}

const leat_service_method_t leat_diagnosis_methods[] = {
    {"StartRecording", &leat_pb_start_recording_request_descriptor, start_recording},
    {"StopRecording", &leat_pb_stop_recording_request_descriptor, stop_recording},
    {"ReadRecording", &leat_pb_read_recording_request_descriptor, read_recording},
    {"Probe", &leat_pb_probe_request_descriptor, probe},
    {"ProbeTask", &leat_pb_probe_task_request_descriptor, probe_task},
    {0},
};
