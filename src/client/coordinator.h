// What queue runners need of a coordinator beside leat/input.h.
#ifndef LEAT_CLIENT_COORDINATOR_H_
#define LEAT_CLIENT_COORDINATOR_H_

#include "leat/input.h"

// Whoever requests the stop runs |operation|, whose failure is of no interest; at once when that
// has happened. 0 when memory is gone.
int leat_coordinator_on_stop(leat_coordinator_t* coordinator, TF_Session* session,
                             TF_Operation* operation);

#endif  // LEAT_CLIENT_COORDINATOR_H_
