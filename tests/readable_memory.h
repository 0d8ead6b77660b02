// Whether the system lets this process read the memory of its children, and so its own: seccomp may
// forbid it. What can only be tested where it may is skipped then (dev/allowed-skips).
#ifndef LEAT_TESTS_READABLE_MEMORY_H_
#define LEAT_TESTS_READABLE_MEMORY_H_

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/process_memory.h"

static inline bool may_read_children(void) {
  static const char kByte = 'x';
  char byte = 0;
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) pause();
  }
  if (child < 0) return false;
  leat_status_t status = leat_process_memory_read(child, (uint64_t)(uintptr_t)&kByte, &byte, 1);
  const bool may = !status && byte == kByte;
  leat_status_free(status);
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
  return may;
}

#endif  // LEAT_TESTS_READABLE_MEMORY_H_
