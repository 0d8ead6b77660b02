// The functions of a coordinator that queue runners need beside those of leat/input.h.
#ifndef LEAT_CLIENT_COORDINATOR_H_
#define LEAT_CLIENT_COORDINATOR_H_

#include "leat/input.h"

// Registers |operation| to be run by whoever requests the stop; its failure is ignored. Where the
// stop was requested before, it is run at once. Returns 0 where there is no memory.
int leat_coordinator_on_stop(leat_coordinator_t* coordinator, TF_Session* session,
                             TF_Operation* operation);

#endif  // LEAT_CLIENT_COORDINATOR_H_
