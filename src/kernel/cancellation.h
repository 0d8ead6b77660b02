// Cancellation of a step. Whatever waits in a step (a dequeue, a receive, a call to another task)
// registers a callback that ends the wait; cancelling calls each callback once. Loops that compute
// register nothing and look from time to time instead (kernel/step_check.h). The worker cancels a
// step when one of its kernels fails, and when the master aborts the step because it failed
// elsewhere, its session was closed or its time is up.
//
//   uint64_t token;
//   if (!leat_cancellation_register(cancellation, end_wait, call, &token)) return give_up(call);
//   ...
//   if (leat_cancellation_deregister(cancellation, token)) ...  // |end_wait| will never run
//
// Reference counted; every function may be called on any thread.
#ifndef LEAT_KERNEL_CANCELLATION_H_
#define LEAT_KERNEL_CANCELLATION_H_

#include "base/allocator.h"
#include "base/sync.h"

typedef struct leat_cancellation_s leat_cancellation_t;
typedef void (*leat_cancel_fn_t)(void* data);

// Not cancelled, with one reference, the caller's.
LEAT_MUST_USE leat_status_t leat_cancellation_create(leat_allocator_t* allocator,
                                                     leat_cancellation_t** out_cancellation);
void leat_cancellation_retain(leat_cancellation_t* cancellation);
// NULL is allowed.
void leat_cancellation_release(leat_cancellation_t* cancellation);
// One load; once true, it stays true.
bool leat_cancellation_is_cancelled(const leat_cancellation_t* cancellation);
// Whether it was never cancelled, holds no callback and has the caller as its only owner, so that
// it can serve another step.
bool leat_cancellation_is_unused(const leat_cancellation_t* cancellation);
// Registers |fn|, which |*out_token| identifies. False, and |fn| will not be called, when the step
// is cancelled already or memory ran out: the caller must not wait then. |fn| runs on the thread
// that cancels, with no lock of this object held, and may deregister.
bool leat_cancellation_register(leat_cancellation_t* cancellation, leat_cancel_fn_t fn, void* data,
                                uint64_t* out_token);
// Removes a callback. When it returns, |fn| is not running on another thread and will not run; it
// may block until a running |fn| ends. False: |fn| ran, is this very call's caller, or the token is
// unknown.
bool leat_cancellation_deregister(leat_cancellation_t* cancellation, uint64_t token);
// Calls every registered callback once, one after the other, on this thread. Later calls, from any
// thread, return at once, even while the first is still calling.
void leat_cancellation_cancel(leat_cancellation_t* cancellation);

// DEADLINE_EXCEEDED: what a step returns whose timeout has passed, in the words that programs
// written for TensorFlow look for.
LEAT_MUST_USE leat_status_t leat_step_timeout(void);

#endif  // LEAT_KERNEL_CANCELLATION_H_
