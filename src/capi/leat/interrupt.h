// What the steps of the C API take from the interrupts of leat/interrupt.h.
#ifndef LEAT_CAPI_LEAT_INTERRUPT_H_
#define LEAT_CAPI_LEAT_INTERRUPT_H_

#include "kernel/cancellation.h"

// The cancellation that steps of the calling thread belong to, borrowed; NULL: none.
leat_cancellation_t* leat_capi_thread_cancellation(void);

#endif  // LEAT_CAPI_LEAT_INTERRUPT_H_
