// tensorflow.WorkerService, called by a master and by other workers that send whatever they like
// (live_task.h): sessions, graphs with Sends and Recvs, steps whole and partial, values under keys
// good and bad, and the groups and chunks of collectives.
#include "live_task.h"

static const leat_message_descriptor_t* answer_of(leat_string_view_t name) {
  static const struct {
    const char* name;
    const leat_message_descriptor_t* descriptor;
  } kAnswers[] = {
      {"RecvTensor", &leat_pb_recv_tensor_response_descriptor},
      {"RecvBuf", &leat_pb_recv_buf_response_descriptor},
      {"CompleteGroup", &leat_pb_complete_group_response_descriptor},
      {"CompleteInstance", &leat_pb_complete_instance_response_descriptor},
      {"GetStepSequence", &leat_pb_get_step_sequence_response_descriptor},
  };
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kAnswers); ++i) {
    if (leat_string_view_equals(name, kAnswers[i].name)) return kAnswers[i].descriptor;
  }
  return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  live_task_run(data, size, "/tensorflow.WorkerService/", leat_worker_methods, answer_of);
  return 0;
}
