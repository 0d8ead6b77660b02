// tensorflow.eager.EagerService, called by clients that send whatever they like (live_task.h):
// contexts, queues of items by calls and by streams (each message of a stream is a call here),
// functions, parts of them, and those that need the other task, which answers whatever it likes.
#include "live_task.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  leat_service_method_t methods[16] = {{0}};  // the last one stays empty, as the list's end
  int count = 0;
  for (const leat_service_method_t* m = leat_eager_methods; m->name && count < 14; ++m) {
    methods[count++] = *m;
  }
  for (const leat_service_method_t* m = leat_eager_streams; m->name && count < 15; ++m) {
    methods[count++] = *m;
  }
  live_task_run(data, size, "/tensorflow.eager.EagerService/", methods);
  return 0;
}
