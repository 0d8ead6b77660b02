// tensorflow.eager.EagerService, called by clients that send whatever they like (live_task.h):
// contexts, queues of items by calls and by streams (each message of a stream is a call here),
// functions and parts of them.
#include "live_task.h"

static const leat_message_descriptor_t* answer_of(leat_string_view_t name) {
  return leat_string_view_equals(name, "RecvTensor") ? &leat_pb_recv_tensor_response_descriptor
                                                     : NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  leat_service_method_t methods[16] = {{0}};  // the last one stays empty, as the list's end
  int count = 0;
  for (const leat_service_method_t* m = leat_eager_methods; m->name && count < 14; ++m) {
    methods[count++] = *m;
  }
  for (const leat_service_method_t* m = leat_eager_streams; m->name && count < 15; ++m) {
    methods[count++] = *m;
  }
  live_task_run(data, size, "/tensorflow.eager.EagerService/", methods, answer_of);
  return 0;
}
