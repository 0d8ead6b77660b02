// tensorflow.WorkerService, called by a master and by other workers that send whatever they like
// (live_task.h): sessions, graphs with Sends and Recvs, steps whole and partial, values under keys
// good and bad, and the groups and chunks of collectives.
#include "live_task.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  live_task_run(data, size, "/tensorflow.WorkerService/", leat_worker_methods);
  return 0;
}
