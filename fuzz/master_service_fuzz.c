// tensorflow.MasterService, called by a client that sends whatever it likes (live_task.h), in a
// cluster of two tasks, of which the other one answers whatever it likes too. Sessions, graphs,
// steps, partial runs and callables then meet in any order, with graphs that no client makes.
#include "live_task.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  live_task_run(data, size, "/tensorflow.MasterService/", leat_master_methods);
  return 0;
}
