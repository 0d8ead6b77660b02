// A file system for tests that stands before another and lets it go wrong: the n-th call fails, or
// the disk fills up. A write that fails leaves half of its bytes behind (on a full disk what fits),
// as real ones do; a close that fails closes nevertheless. The file system must outlive the files
// opened through it.
//
// A test runs its operation with n = 1, 2, 3 and so on until the operation succeeds, and looks
// after each failure whether readers still see the old file or the new one:
//
//   leat_file_system_faulty_t faulty;
//   leat_file_system_faulty_initialize(leat_file_system_posix(), &faulty);
//   faulty.failing_call = n;
//   leat_status_t status = save(&faulty.base);
//
// Calls are counted for files and directories together. Unlike base/fault.h, which makes calls of
// the whole process fail, this one touches only what is opened through it.
#ifndef LEAT_BASE_FILE_SYSTEM_FAULTY_H_
#define LEAT_BASE_FILE_SYSTEM_FAULTY_H_

#include <stdatomic.h>

#include "base/file_system.h"

typedef struct leat_file_system_faulty_s {
  leat_file_system_t base;
  // Does the work; borrowed.
  leat_file_system_t* target;
  // The number of the call that fails, counted from 1 since |call_count| was 0; 0 is none.
  int64_t failing_call;
  // UNAVAILABLE after leat_file_system_faulty_initialize.
  leat_status_code_t failing_code;
  // Each later call fails too: a disk that is gone.
  bool fails_from_then_on;
  // How much may still be written before the disk is full; UINT64_MAX is no limit. Removing files
  // gives none of it back.
  uint64_t space_bytes;
  // All calls so far, those that failed included. A test may set it back to 0.
  _Atomic int64_t call_count;
} leat_file_system_faulty_t;

// No call fails at first and the space has no limit. Nothing is allocated, so there is no
// deinitialize.
void leat_file_system_faulty_initialize(leat_file_system_t* target,
                                        leat_file_system_faulty_t* out_faulty);

#endif  // LEAT_BASE_FILE_SYSTEM_FAULTY_H_
