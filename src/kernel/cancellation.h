// Cancelling a step: whoever waits registers a callback; cancel calls each once.
#ifndef LEAT_KERNEL_CANCELLATION_H_
#define LEAT_KERNEL_CANCELLATION_H_

#include "base/allocator.h"
#include "base/sync.h"

typedef struct leat_cancellation_s leat_cancellation_t;
typedef void (*leat_cancel_fn_t)(void* data);

LEAT_MUST_USE leat_status_t leat_cancellation_create(leat_allocator_t* allocator,
                                                     leat_cancellation_t** out_cancellation);
void leat_cancellation_retain(leat_cancellation_t* cancellation);
void leat_cancellation_release(leat_cancellation_t* cancellation);
bool leat_cancellation_is_cancelled(const leat_cancellation_t* cancellation);
// true when it was never cancelled, holds no callback and only the caller holds it: it can serve
// another step.
bool leat_cancellation_is_unused(const leat_cancellation_t* cancellation);
// false when already cancelled, or when memory is gone (|fn| is then not called). |out_token|
// identifies it.
bool leat_cancellation_register(leat_cancellation_t* cancellation, leat_cancel_fn_t fn, void* data,
                                uint64_t* out_token);
// After it returns |fn| is not running and will not run. false: it ran or is unknown.
bool leat_cancellation_deregister(leat_cancellation_t* cancellation, uint64_t token);
// Calls every registered callback, once.
void leat_cancellation_cancel(leat_cancellation_t* cancellation);

#endif  // LEAT_KERNEL_CANCELLATION_H_
