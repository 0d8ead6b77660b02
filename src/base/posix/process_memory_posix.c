// process_vm_readv, which Linux has. One call moves at most 2 GiB and may move less than it was
// asked for, without an error where only the beginning can be read.
#define _GNU_SOURCE
#include "base/process_memory.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/uio.h>

#include "base/attributes.h"
#include "base/checked.h"

#if defined(__linux__)

// Of one call: a process that is killed while it reads ends within a few milliseconds.
#define CALL_BYTES ((size_t)16 << 20)

static leat_status_code_t code_of(int error) {
  switch (error) {
    case ESRCH: return LEAT_UNAVAILABLE;
    case EFAULT: case EINVAL: return LEAT_OUT_OF_RANGE;
    case ENOSYS: return LEAT_UNIMPLEMENTED;
    case ENOMEM: return LEAT_RESOURCE_EXHAUSTED;
    default: return LEAT_PERMISSION_DENIED;
  }
}

leat_status_t leat_process_memory_read(int64_t process, uint64_t address, void* buffer,
                                       size_t size_bytes) {
  const pid_t number = (pid_t)process;
  int error = process > 0 && number == process ? 0 : ESRCH;
  size_t done = 0;
  while (!error && done < size_bytes) {
    const size_t size = LEAT_MIN(size_bytes - done, CALL_BYTES);
    const struct iovec here = {(char*)buffer + done, size};
    const struct iovec there = {(void*)(uintptr_t)(address + done), size};
    const ssize_t count = process_vm_readv(number, &here, 1, &there, 1, 0);
    if (count > 0) done += (size_t)count;
    if (count <= 0) error = count ? errno : EFAULT;
  }
  if (!error) return leat_ok_status();
  char text[128];
  return leat_make_status(code_of(error),
                          "Reading the memory of process %" PRId64 " failed: after %zu of %zu "
                          "bytes the system says: %s", process, done, size_bytes,
                          strerror_r(error, text, sizeof text));
}

#else

leat_status_t leat_process_memory_read(int64_t process, uint64_t address, void* buffer,
                                       size_t size_bytes) {
  return leat_make_status(LEAT_UNIMPLEMENTED,
                          "Reading the memory of process %" PRId64 " failed: the system has no "
                          "such function", process);
}

#endif
