// Running the built executable as a user does.
#ifndef LEAT_TESTS_TOOLS_TOOL_RUN_H_
#define LEAT_TESTS_TOOLS_TOOL_RUN_H_

#include "scratch.h"

// What a run gave; freed with tool_free.
typedef struct tool_result_s {
  int code;
  char* out;  // both outputs, NUL-terminated
} tool_result_t;

// Runs `leat <arguments>` in the test's own folder by the shell.
tool_result_t tool_run(const char* format, ...) __attribute__((format(printf, 1, 2)));
// Runs the program of an example likewise.
tool_result_t tool_run_example(const char* program, const char* arguments);
void tool_free(tool_result_t* result);
// Runs it, and expects the exit code and (unless NULL) just this output.
void tool_expect(int code, const char* out, const char* format, ...)
    __attribute__((format(printf, 3, 4)));
// The same with an output that contains |part|.
void tool_expect_part(int code, const char* part, const char* format, ...)
    __attribute__((format(printf, 3, 4)));

// $LEAT_DATA_DIR/<name>, in a buffer of the function's own; skips the test when there is none.
const char* tool_data_path(const char* name);

#endif  // LEAT_TESTS_TOOLS_TOOL_RUN_H_
