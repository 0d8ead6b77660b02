// Reading the memory of another process of this machine, in one copy and without its help. Whether
// that works is for the system to say: the two must be of one user and see the same numbers of
// processes, and a policy of the system may forbid it (Yama's ptrace_scope, seccomp). On systems
// other than Linux it never works.
#ifndef LEAT_BASE_PROCESS_MEMORY_H_
#define LEAT_BASE_PROCESS_MEMORY_H_

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

// Copies |size_bytes| bytes at |address| of the process with the number |process| (that of
// leat_host_process_id there) to |buffer|, while the process runs: what it writes meanwhile may be
// seen or not. Nothing tells that the number has passed to another process; a caller who cannot
// rule that out must recognize what it reads. Where it fails, some of |buffer| may be written.
// UNAVAILABLE where there is no such process, OUT_OF_RANGE where it has no such memory,
// PERMISSION_DENIED where the system forbids it, UNIMPLEMENTED where it knows no such thing.
LEAT_MUST_USE leat_status_t leat_process_memory_read(int64_t process, uint64_t address,
                                                     void* buffer, size_t size_bytes);

#endif  // LEAT_BASE_PROCESS_MEMORY_H_
