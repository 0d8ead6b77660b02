// The composition root: the runtime of this process, with every op family registered.
#ifndef LEAT_INIT_H_
#define LEAT_INIT_H_

#include "session/session.h"

// Made on the first call, thread-safe; lives as long as the process. NULL never; when memory was
// gone at the first call, it is tried again at the next and the status says so.
LEAT_MUST_USE leat_status_t leat_runtime_get(const leat_runtime_t** out_runtime);

#endif  // LEAT_INIT_H_
