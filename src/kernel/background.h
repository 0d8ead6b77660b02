// The work of a session that goes on between its steps, such as an iterator that makes elements
// ahead of the steps that ask for them. It uses what the session owns (functions, devices), so that
// the session ends it before it frees these. Steps are ended by their worker; work in the
// background belongs to no step, and each unit of it is counted here instead:
//
//   if (!leat_background_enter(background)) return give_up();   // the session ends
//   ...                                                         // a unit of work, on any thread
//   leat_background_leave(background);                          // the session is left alone
//
// Work that waits registers a callback with the background's cancellation, as a kernel that waits
// does with that of its step.
//
// Reference counted, so that a task that still lies in a pool can ask an ended session and hear no.
// Every function may be called on any thread.
#ifndef LEAT_KERNEL_BACKGROUND_H_
#define LEAT_KERNEL_BACKGROUND_H_

#include "kernel/cancellation.h"

typedef struct leat_background_s leat_background_t;

// Open, without work, with one reference, the caller's.
LEAT_MUST_USE leat_status_t leat_background_create(leat_allocator_t* allocator,
                                                   leat_background_t** out_background);
void leat_background_retain(leat_background_t* background);
void leat_background_release(leat_background_t* background);  // NULL is allowed
// Is cancelled when the background is. It lives as long as the background.
leat_cancellation_t* leat_background_cancellation(leat_background_t* background);
// Begins a unit of work. False when the background was cancelled: the caller must not work then.
bool leat_background_enter(leat_background_t* background);
// Ends a unit of work.
void leat_background_leave(leat_background_t* background);
// Refuses work from now on and cancels what goes on, without waiting for it.
void leat_background_cancel(leat_background_t* background);
// Cancels and waits until all work has left. A function of a
// program that does not return is waited for, as by the end of a step.
void leat_background_close(leat_background_t* background);

#endif  // LEAT_KERNEL_BACKGROUND_H_
