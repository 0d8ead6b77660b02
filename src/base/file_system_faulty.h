// A file system for tests that stands before another and lets it go wrong: the n-th call fails, or
// the disk fills up. A write that fails leaves half of its bytes behind (on a full disk what fits),
// as real ones do. It must outlive the files opened through it.
#ifndef LEAT_BASE_FILE_SYSTEM_FAULTY_H_
#define LEAT_BASE_FILE_SYSTEM_FAULTY_H_

#include <stdatomic.h>

#include "base/file_system.h"

typedef struct leat_file_system_faulty_s {
  leat_file_system_t base;
  leat_file_system_t* target;
  // Set at any time.
  int64_t failing_call;           // counted from 1; 0 = none
  leat_status_code_t failing_code;  // UNAVAILABLE at first
  bool fails_from_then_on;        // each later call fails too: a disk that is gone
  uint64_t space_bytes;           // that may still be written; UINT64_MAX = no limit
  // Counted.
  _Atomic int64_t call_count;
} leat_file_system_faulty_t;

void leat_file_system_faulty_initialize(leat_file_system_t* target,
                                        leat_file_system_faulty_t* out_faulty);

#endif  // LEAT_BASE_FILE_SYSTEM_FAULTY_H_
