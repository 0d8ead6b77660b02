// tensorflow.MasterService, called by a client that sends whatever it likes (live_task.h), in a
// cluster of two tasks, of which the other one answers whatever it likes too. Sessions, graphs,
// steps, partial runs and callables then meet in any order, with graphs that no client makes.
#include "live_task.h"

static const leat_message_descriptor_t* answer_of(leat_string_view_t name) {
  static const struct {
    const char* name;
    const leat_message_descriptor_t* descriptor;
  } kAnswers[] = {
      {"GetStatus", &leat_pb_get_status_response_descriptor},
      {"RegisterGraph", &leat_pb_register_graph_response_descriptor},
      {"RunGraph", &leat_pb_run_graph_response_descriptor},
      {"RecvTensor", &leat_pb_recv_tensor_response_descriptor},
      {"Logging", &leat_pb_logging_response_descriptor},
  };
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kAnswers); ++i) {
    if (leat_string_view_equals(name, kAnswers[i].name)) return kAnswers[i].descriptor;
  }
  return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  live_task_run(data, size, "/tensorflow.MasterService/", leat_master_methods, answer_of);
  return 0;
}
