// Pulling elements without holding a thread. A kernel that wants elements runs a *pull*: its step
// asks an iterator, which asks those below it. Where a function must be called on the way, the
// iterator starts the call, keeps what it has so far and says PENDING, and so does everybody above.
// When the call is done the pull's step is run again from the top: each iterator goes on where it
// stopped. So at most one call goes on in a pull, iterators need no locks, and no chain of elements
// grows the stack.
#ifndef LEAT_OPS_DATASET_PULL_CPU_H_
#define LEAT_OPS_DATASET_PULL_CPU_H_

#include "kernel/function_runtime.h"

typedef enum leat_poll_e {
  LEAT_POLL_ELEMENT,  // here it is
  LEAT_POLL_END,      // there are no more
  LEAT_POLL_PENDING,  // a function was called: ask again when the pull is woken
} leat_poll_t;

// Base of what a kernel keeps while it pulls.
typedef struct leat_pull_s leat_pull_t;
struct leat_pull_s {
  leat_kernel_context_t* context;
  leat_kernel_done_fn_t done;
  // Goes on with the work; anything but PENDING ends it (|*out_poll| is END before).
  leat_status_t (*step)(leat_pull_t* self, leat_poll_t* out_poll);
  // Once, at the end: sets outputs when |status| is OK, frees the pull and calls |done|.
  void (*finish)(leat_pull_t* self, leat_status_t status);
  _Atomic(int) state;
  bool awaits;        // a call was started whose returns are not yet taken
  uint32_t elements;  // asked for so far; the clock is read now and then
};

// Runs |pull| until it is finished or pending.
void leat_pull_run(leat_pull_t* pull);
// CANCELLED or DEADLINE_EXCEEDED when the step that pulls is to end; not before it has taken what
// it awaits, which would else be left to another step.
LEAT_MUST_USE leat_status_t leat_pull_check(leat_pull_t* pull);

// Whether |status| is that of a step which ends, and not of the element that it asked for.
bool leat_pull_was_stopped(leat_status_t status);

// A call of a function by an iterator (or a kernel), again and again, one at a time.
typedef struct leat_application_s {
  leat_function_call_t call;
  leat_pull_t* pull;
  leat_status_t status;
  bool pending;              // started, and its returns not yet taken
  int element_count;         // of |arguments|: owned here while the call goes on
  leat_tensor_t* arguments;  // the element, then what the function captured (borrowed)
  leat_tensor_t* returns;
} leat_application_t;

// What is captured is for the caller to set, behind the element's components.
LEAT_MUST_USE leat_status_t leat_application_initialize(int element_count, int captured_count,
                                                        int return_count,
                                                        leat_application_t* out_application);
void leat_application_deinitialize(leat_application_t* application);
// Calls |function| with arguments[0 .. element_count) set by the caller. The pull is then PENDING;
// it is woken also when the call failed.
void leat_application_start(leat_application_t* application, leat_pull_t* pull, uint64_t function);
// What came of the call; |out_returns| is filled when it is OK. The element stays in |arguments|.
// |pull| is the one at work: that which started the call may have ended for want of memory.
LEAT_MUST_USE leat_status_t leat_application_take(leat_application_t* application,
                                                  leat_pull_t* pull, leat_tensor_t* out_returns);
void leat_application_release_element(leat_application_t* application);

#endif  // LEAT_OPS_DATASET_PULL_CPU_H_
