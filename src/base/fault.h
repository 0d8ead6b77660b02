// Fault injection for tests: makes the n-th allocation or file call of the process fail, by way of
// the observer. A test runs its operation with n = 1, 2, 3 ... until no fault was met:
//
//   for (int64_t n = 1;; ++n) {
//     leat_fault_t fault;
//     leat_fault_install(&fault, LEAT_FAULT_ALLOCATION, n);
//     leat_status_t status = operation();
//     if (!leat_fault_remove(&fault)) break;      // ran through: |status| must be OK
//     ... |status| must be the fault or, where the operation can do without, OK ...
//   }
#ifndef LEAT_BASE_FAULT_H_
#define LEAT_BASE_FAULT_H_

#include <stdbool.h>
#include <stdint.h>

#include "base/observer.h"

// Bits, so that one fault may watch several kinds at once. The comments say which code the failure
// has.
typedef enum leat_fault_kind_e {
  LEAT_FAULT_ALLOCATION = 1,  // RESOURCE_EXHAUSTED
  LEAT_FAULT_FILE = 2,        // UNAVAILABLE
  LEAT_FAULT_MESSAGE = 4,     // UNAVAILABLE
} leat_fault_kind_t;

// A counter behind the observer's hooks. It lies with the test and must live until
// leat_fault_remove.
typedef struct leat_fault_s {
  leat_observer_t observer;
  int kinds;                    // a set of leat_fault_kind_t
  _Atomic int64_t events_left;  // until the fault
} leat_fault_t;

// Counts an event of |kind|, on any thread; the event that finds one left fails, and no other.
static inline LEAT_MUST_USE leat_status_t leat_fault_meet(leat_fault_t* fault,
                                                          leat_fault_kind_t kind) {
  if (!(fault->kinds & (int)kind)) return leat_ok_status();
  if (atomic_fetch_sub(&fault->events_left, 1) != 1) return leat_ok_status();
  return leat_make_status(
      kind == LEAT_FAULT_ALLOCATION ? LEAT_RESOURCE_EXHAUSTED : LEAT_UNAVAILABLE, "injected fault");
}

static inline LEAT_MUST_USE leat_status_t leat_fault_on_allocation(void* data,
                                                                   size_t size_bytes) {
  (void)size_bytes;
  return leat_fault_meet(data, LEAT_FAULT_ALLOCATION);
}

static inline LEAT_MUST_USE leat_status_t leat_fault_on_file(void* data, const char* call,
                                                             const char* path) {
  (void)call;
  (void)path;
  return leat_fault_meet(data, LEAT_FAULT_FILE);
}

static inline LEAT_MUST_USE leat_status_t leat_fault_on_message(void* data, const char* kind,
                                                                size_t size_bytes) {
  (void)kind;
  (void)size_bytes;
  return leat_fault_meet(data, LEAT_FAULT_MESSAGE);
}

// From now on the |nth| event (counted from 1) of the |kinds| fails, whichever thread meets it. It
// takes the place of any other observer of the process. No other thread may be in the library
// meanwhile.
static inline void leat_fault_install(leat_fault_t* fault, int kinds, int64_t nth) {
  fault->observer = (leat_observer_t){fault, leat_fault_on_allocation, leat_fault_on_file,
                                      leat_fault_on_message, NULL};
  fault->kinds = kinds;
  atomic_init(&fault->events_left, nth);
  leat_observer_install(&fault->observer);
}

// Ends it; true when the fault was met, even if the operation did without what failed.
static inline bool leat_fault_remove(leat_fault_t* fault) {
  leat_observer_install(NULL);
  return atomic_load(&fault->events_left) <= 0;
}

#endif  // LEAT_BASE_FAULT_H_
