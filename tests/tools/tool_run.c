// Running the built executables as a user does: through a shell, with both outputs joined, and an
// exit code. The programs are found in LEAT_BUILD_DIR, which CTest sets. tool_expect() compares the
// whole output and tool_expect_part() looks for a piece where the rest depends on the machine; both
// print the command and its output when the exit code is another one. tool_data_path() skips the
// test where the data directory (LEAT_DATA_DIR) or the file is absent.
#include "tools/tool_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

static tool_result_t run_command(const char* command) {
  tool_result_t result = {-1, calloc(1, 1)};
  size_t size = 0, got;
  char block[4096];
  FILE* pipe = popen(command, "r");
  assert_non_null(pipe);
  while ((got = fread(block, 1, sizeof block, pipe)) > 0) {
    result.out = realloc(result.out, size + got + 1);
    assert_non_null(result.out);
    memcpy(result.out + size, block, got);
    size += got;
    result.out[size] = 0;
  }
  int status = pclose(pipe);
  result.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

tool_result_t tool_run_example(const char* program, const char* arguments) {
  char command[4096];
  const char* build = getenv("LEAT_BUILD_DIR");
  snprintf(command, sizeof command, "%s/bin/%s %s 2>&1", build ? build : ".", program, arguments);
  return run_command(command);
}

static tool_result_t run_v(const char* format, va_list arguments) {
  char command[4096];
  const char* build = getenv("LEAT_BUILD_DIR");
  int used = snprintf(command, sizeof command, "%s/bin/leat ", build ? build : ".");
  used += vsnprintf(command + used, sizeof command - (size_t)used, format, arguments);
  snprintf(command + used, sizeof command - (size_t)used, " 2>&1");
  return run_command(command);
}

tool_result_t tool_run(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  tool_result_t result = run_v(format, arguments);
  va_end(arguments);
  return result;
}

void tool_free(tool_result_t* result) {
  free(result->out);
  result->out = NULL;
}

static void expect_code(const tool_result_t* result, int code, const char* format) {
  if (result->code != code) print_error("leat %s: %s", format, result->out);
  assert_int_equal(result->code, code);
}

void tool_expect(int code, const char* out, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  tool_result_t result = run_v(format, arguments);
  va_end(arguments);
  expect_code(&result, code, format);
  if (out) assert_string_equal(result.out, out);
  tool_free(&result);
}

void tool_expect_part(int code, const char* part, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  tool_result_t result = run_v(format, arguments);
  va_end(arguments);
  expect_code(&result, code, format);
  if (!strstr(result.out, part)) print_error("'%s' is not in:\n%s\n", part, result.out);
  assert_non_null(strstr(result.out, part));
  tool_free(&result);
}

const char* tool_data_path(const char* name) {
  static char path[1024];
  struct stat about;
  const char* data = getenv("LEAT_DATA_DIR");
  snprintf(path, sizeof path, "%s/%s", data ? data : "", name);
  if (!data || stat(path, &about)) skip();
  return path;
}
