// The functions of a coordinator that queue runners and supervisors need beside those of
// leat/input.h.
#ifndef LEAT_CLIENT_COORDINATOR_H_
#define LEAT_CLIENT_COORDINATOR_H_

#include "leat/input.h"

// Registers |operation| to be run by whoever requests the stop; its failure is ignored. Where the
// stop was requested before, it is run at once. Returns 0 where there is no memory.
int leat_coordinator_on_stop(leat_coordinator_t* coordinator, TF_Session* session,
                             TF_Operation* operation);
// Returns 1 once a stop was requested; |status| is its reason then.
int leat_coordinator_reason(leat_coordinator_t* coordinator, TF_Status* status);

#endif  // LEAT_CLIENT_COORDINATOR_H_
