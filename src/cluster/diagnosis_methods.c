// The methods of leat.Diagnosis (cluster/probe.h): a task answers probes, and probes another task
// when it is asked to. Who reaches the port may run any graph here, so these give away nothing new;
// what a call makes the task send is bounded.
#include "base/checked.h"
#include "base/clock.h"
#include "cluster/probe.h"
#include "cluster/service.h"

// The time for a probe of another task on behalf of one who states no deadline.
#define PROBE_TIMEOUT_MS 60000

static void probe(leat_service_call_t* call, const void* message) {
  const leat_pb_probe_request_t* request = message;
  const leat_task_t* task = call->task;
  const int64_t size = LEAT_MIN(LEAT_MAX(request->answer_bytes, 0), LEAT_PROBE_MAX_LOAD_BYTES);
  void* load = NULL;
  leat_status_t status =
      leat_allocator_allocate(task->allocator, (size_t)size + 1, &load);
  const leat_pb_probe_response_t response = {
      .version = LEAT_SV(LEAT_VERSION),
      .task = task->spec.tasks[task->number].name,
      .wall_ns = leat_clock_wall_ns(),
      .load = leat_string_view_make(load, status ? 0 : (size_t)size)};
  leat_rpc_piece_t piece;
  leat_rpc_bytes_t bytes;
  status = leat_service_encode(status, &leat_pb_probe_response_descriptor, &response, &piece,
                               &bytes);
  leat_allocator_free(task->allocator, load);
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

const leat_service_method_t leat_diagnosis_methods[] = {
    {"Probe", &leat_pb_probe_request_descriptor, probe},
    {"ProbeTask", &leat_pb_probe_task_request_descriptor, probe_task},
    {0},
};
