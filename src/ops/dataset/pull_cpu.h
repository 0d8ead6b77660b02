// Pulling elements without holding a thread. A kernel that wants elements runs a *pull*: its step
// asks an iterator, which asks the iterators below it. An iterator that must call a function starts
// the call, keeps what it has so far and answers PENDING, and so do all iterators above it. When
// the call has ended, the pull's step is run again from the top, and each iterator continues where
// it stopped.
//
//     kernel ──▶ leat_pull_run ──▶ step ──▶ iterators ──▶ leat_application_start ──▶ PENDING
//                     ▲                                             │
//                     └───────────── the call has ended ◀───────────┘
//
// At most one call goes on in a pull at a time. Therefore iterators need no locks, and a long chain
// of elements does not grow the stack. The obvious way, a thread that blocks in each call, could
// use up all threads of the pool that the called functions need.
#ifndef LEAT_OPS_DATASET_PULL_CPU_H_
#define LEAT_OPS_DATASET_PULL_CPU_H_

#include "kernel/draw_counts.h"
#include "kernel/function_runtime.h"

// The answer of an iterator, or of a pull's step.
typedef enum leat_poll_e {
  LEAT_POLL_ELEMENT,  // an element was written to |out|
  LEAT_POLL_END,      // there are no more elements
  LEAT_POLL_PENDING,  // it waits for a call or an element: ask again when the pull is run again
} leat_poll_t;

// The first member of what a kernel keeps while it pulls; the kernel owns it. Work in the
// background has no kernel: |context| and |done| are NULL.
typedef struct leat_pull_s leat_pull_t;
struct leat_pull_s {
  // Of the step that pulls, or of the work in the background (ops/dataset/ahead_cpu.h).
  const leat_step_services_t* services;
  leat_kernel_context_t* context;  // of the kernel that pulls, for its own |step| and |finish|
  leat_kernel_done_fn_t done;
  // Does the next part of the work. Unless |*out_poll| (END before the call) is PENDING, or when it
  // fails, the pull is finished.
  leat_status_t (*step)(leat_pull_t* self, leat_poll_t* out_poll);
  // Called once, at the end: sets the outputs when |status| is OK, frees the pull and calls |done|.
  void (*finish)(leat_pull_t* self, leat_status_t status);
  _Atomic(int) state;  // who continues the pull (pull_cpu.c)
  bool awaits;        // a call was started whose result is not yet taken
  uint32_t elements;  // asked for so far; decides when the clock is read
};

// Runs |pull| until it is finished or waits. It may be freed when this returns.
void leat_pull_run(leat_pull_t* pull);
// What |pull| waits for has come: runs it again, here, or on the thread that is in its step now. To
// be called once for each time that an iterator has answered PENDING.
void leat_pull_wake(leat_pull_t* pull);
// CANCELLED or DEADLINE_EXCEEDED when the step that pulls has to end. OK while the pull awaits a
// call's result, which would otherwise be taken by another step's pull.
LEAT_MUST_USE leat_status_t leat_pull_check(leat_pull_t* pull);

// True when |status| says that the step has to end, and nothing about the element that it asked
// for.
bool leat_pull_was_stopped(leat_status_t status);

// Repeated calls of one function by an iterator or a kernel, one at a time.
typedef struct leat_application_s {
  leat_function_call_t call;
  leat_pull_t* pull;
  leat_status_t status;
  bool pending;              // started, and its result not yet taken
  int element_count;         // of the |arguments|, the first are the element's; they are owned here
  leat_tensor_t* arguments;  // the element, then what the function captured, which is borrowed
  leat_tensor_t* returns;
} leat_application_t;

// Allocates the arguments and returns. |draw_counts|, those of the iterator that calls, are
// retained; NULL: random ops in the function go on. The caller sets the captured arguments, behind
// the element's.
LEAT_MUST_USE leat_status_t leat_application_initialize(leat_draw_counts_t* draw_counts,
                                                        int element_count, int captured_count,
                                                        int return_count,
                                                        leat_application_t* out_application);
void leat_application_deinitialize(leat_application_t* application);
// Calls |function| with the element that the caller has moved into arguments[0 .. element_count).
// The iterator then answers PENDING; the pull is run again when the call has ended, also if it
// failed.
void leat_application_start(leat_application_t* application, leat_pull_t* pull, uint64_t function);
// Takes the result of the call; |out_returns| is filled when it is OK. The element stays in
// |arguments|. |pull| is the one that runs now, which need not be the one that started the call:
// that one may have ended early for want of memory.
LEAT_MUST_USE leat_status_t leat_application_take(leat_application_t* application,
                                                  leat_pull_t* pull, leat_tensor_t* out_returns);
// Releases the element in |arguments|, when nobody needs it any more.
void leat_application_release_element(leat_application_t* application);
// Releases the element and what the function returned.
void leat_application_release(leat_application_t* application);

#endif  // LEAT_OPS_DATASET_PULL_CPU_H_
