// The command leat board: what it refuses, the line that says where it serves, and its end by a
// signal. What it answers is tested in board/board_test.c and tests/oracle/board_oracle.py.
#include "tools/tool_run.h"

#include <stdlib.h>
#include <string.h>

// A program that was built without libmicrohttpd says what is missing.
static void skip_without_board(void) {
  tool_result_t result = tool_run("board --logdir .  --port x");
  bool is_absent = strstr(result.out, "libmicrohttpd") != NULL;
  tool_free(&result);
  if (is_absent) skip();
}

static void misuse_is_told(void** state) {
  skip_without_board();
  tool_expect_part(2, "--logdir DIR is missing", "board");
  tool_expect_part(2, "'logs' is not wanted", "board logs");
  tool_expect_part(2, "port is '70000', must be", "board --logdir . --port 70000");
  tool_expect_part(2, "port is '-1', must be", "board --logdir . --port=-1");
  tool_expect_part(2, "reload_interval is '0'", "board --logdir . --reload_interval 0");
  tool_expect_part(2, "the token must be 16", "board --logdir . --token short");
  tool_expect_part(2, "path_prefix is 'x'", "board --logdir . --path_prefix x");
  tool_expect_part(2, "cannot be had with --notebook", "board --logdir . --notebook --delete_runs");
  tool_expect_part(1, "must be this machine's unless a token", "board --logdir . --host 0.0.0.0");
  tool_expect_part(1, "must be 'localhost' or an address", "board --logdir . --host no.such");
}

// Starts the server, and ends it when its line has come. The shell's command says how it ended.
static void a_signal_ends_it(void** state) {
  skip_without_board();
  const char* build = getenv("LEAT_BUILD_DIR");
  tool_result_t result = tool_run(
      "--version >/dev/null; %s/bin/leat board --logdir no/such/directory --port 0 --json "
      "--no_cache --path_prefix /p/ >line & i=0; "
      "while ! grep -q url line && [ $i -lt 1200 ]; do sleep 0.05; i=$((i + 1)); done; "
      "kill -TERM $!; wait $!; code=$?; cat line; echo code $code",
      build ? build : ".");
  assert_int_equal(result.code, 0);
  assert_non_null(strstr(result.out, "{\"url\":\"http://localhost:"));
  assert_non_null(strstr(result.out, "/p/\",\"port\":"));
  assert_non_null(strstr(result.out, "\"logdir\":\"no/such/directory\"}\ncode 0"));
  tool_free(&result);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(misuse_is_told),
      cmocka_unit_test(a_signal_ends_it),
  };
  return cmocka_run_group_tests(tests, scratch_set_up, scratch_tear_down);
}
