// leat.Values, called by a task that pushes whatever it likes (live_task.h): frames, keys and
// values cut off or with wrong sizes, for steps that there are not.
#include "live_task.h"

static const leat_message_descriptor_t* answer_of(leat_string_view_t name) { return NULL; }

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  live_task_run(data, size, "/leat.Values/", leat_value_methods, answer_of);
  return 0;
}
