// The memory of a child that was forked, and so has what this process had, at the same addresses,
// and then changes it.
#define _GNU_SOURCE
#include "base/process_memory.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/host.h"
#include "base/test.h"
#include "readable_memory.h"

// Above what one call of the system is asked for.
#define LARGE_BYTES ((size_t)40 << 20)

typedef struct child_s {
  pid_t process;
  char* memory;  // LARGE_BYTES, and then a page that the child does not have
  long page_bytes;
} child_t;

static child_t child;

static char byte_of(size_t index) { return (char)(index * 7 + (index >> 12) + (index >> 24)); }

static int start_child(void** state) {
  int ready[2];
  char byte;
  child.page_bytes = sysconf(_SC_PAGESIZE);
  child.memory = mmap(NULL, LARGE_BYTES + (size_t)child.page_bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_true(child.memory != MAP_FAILED);
  assert_int_equal(pipe(ready), 0);
  child.process = fork();
  if (child.process == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (size_t i = 0; i < LARGE_BYTES; ++i) child.memory[i] = byte_of(i);
    munmap(child.memory + LARGE_BYTES, (size_t)child.page_bytes);
    if (write(ready[1], "", 1) != 1) _exit(1);
    for (;;) pause();
  }
  assert_int_equal(read(ready[0], &byte, 1), 1);
  close(ready[0]);
  close(ready[1]);
  return 0;
}

static void kill_child(void) {
  if (!child.process) return;
  kill(child.process, SIGKILL);
  waitpid(child.process, NULL, 0);
  child.process = 0;
}

static int end_child(void** state) {
  kill_child();
  return munmap(child.memory, LARGE_BYTES + (size_t)child.page_bytes);
}

static leat_status_t read_child(size_t offset, void* buffer, size_t size) {
  return leat_process_memory_read(child.process, (uint64_t)(uintptr_t)(child.memory + offset),
                                  buffer, size);
}

static void expect_code(leat_status_t status, leat_status_code_t code, const char* part) {
  assert_int_equal(leat_status_code(status), code);
  if (!strstr(leat_status_message(status), part)) fail_msg("%s", leat_status_message(status));
  leat_status_free(status);
}

static void memory_is_that_of_the_other(void** state) {
  static const size_t kSizes[] = {0, 1, 4095, 4097, 1 << 20, LARGE_BYTES - 5};
  if (!may_read_children()) skip();
  char* buffer = malloc(LARGE_BYTES);
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kSizes); ++i) {
    memset(buffer, 0, LARGE_BYTES);
    LEAT_EXPECT_OK(read_child(5, buffer, kSizes[i]));
    for (size_t k = 0; k < kSizes[i]; ++k) {
      if (buffer[k] != byte_of(k + 5)) fail_msg("byte %zu of %zu", k, kSizes[i]);
    }
    if (kSizes[i] < LARGE_BYTES - 5) assert_int_equal(buffer[kSizes[i]], 0);
  }
  free(buffer);
}

static void own_memory_is_read_too(void** state) {
  if (!may_read_children()) skip();
  const uint64_t there = 5;
  uint64_t here = 0;
  LEAT_EXPECT_OK(leat_process_memory_read(leat_host_process_id(), (uint64_t)(uintptr_t)&there,
                                          &here, sizeof here));
  assert_true(here == there);
}

// Also where it begins well: the system then reads less, without an error.
static void memory_that_is_not_there_is_told(void** state) {
  char buffer[100];
  if (!may_read_children()) skip();
  expect_code(read_child(LARGE_BYTES, buffer, 100), LEAT_OUT_OF_RANGE, "after 0 of 100 bytes");
  expect_code(read_child(LARGE_BYTES - 40, buffer, 100), LEAT_OUT_OF_RANGE, "of 100 bytes");
  expect_code(leat_process_memory_read(child.process, UINT64_MAX - 50, buffer, 100),
              LEAT_OUT_OF_RANGE, "after 0 of 100 bytes");
}

static void a_process_that_is_not_there_is_told(void** state) {
  static const int64_t kNumbers[] = {0, -1, INT64_MIN, INT64_C(1) << 32 | 1, INT32_MAX};
  char buffer[8];
  if (!may_read_children()) skip();
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kNumbers); ++i) {
    expect_code(leat_process_memory_read(kNumbers[i], (uint64_t)(uintptr_t)child.memory, buffer, 8),
                LEAT_UNAVAILABLE, "of process");
  }
  const pid_t former = child.process;
  kill_child();
  expect_code(leat_process_memory_read(former, (uint64_t)(uintptr_t)child.memory, buffer, 8),
              LEAT_UNAVAILABLE, "of process");
}

// A process that forbids it is as one that belongs to somebody else, unless root reads.
static void what_the_system_forbids_is_told(void** state) {
  if (geteuid() == 0) {
    const pid_t reader = fork();
    if (reader == 0) {
      char byte;
      if (setresuid(65534, 65534, 65534) != 0) _exit(2);
      leat_status_t status = read_child(0, &byte, 1);
      _exit(leat_status_code(status) == LEAT_PERMISSION_DENIED ? 0 : 1);
    }
    int ended;
    assert_int_equal(waitpid(reader, &ended, 0), reader);
    assert_true(WIFEXITED(ended));
    assert_int_equal(WEXITSTATUS(ended), 0);
  } else {
    char byte;
    expect_code(leat_process_memory_read(1, (uint64_t)(uintptr_t)child.memory, &byte, 1),
                LEAT_PERMISSION_DENIED, "of process 1");
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(memory_is_that_of_the_other, start_child, end_child),
      cmocka_unit_test(own_memory_is_read_too),
      cmocka_unit_test_setup_teardown(memory_that_is_not_there_is_told, start_child, end_child),
      cmocka_unit_test_setup_teardown(a_process_that_is_not_there_is_told, start_child, end_child),
      cmocka_unit_test_setup_teardown(what_the_system_forbids_is_told, start_child, end_child),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
