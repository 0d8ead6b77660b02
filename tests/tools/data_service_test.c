// The command leat data-service: what it refuses, and a dispatcher that is killed and started again
// in its work directory. What a dispatcher knows then is tested in src/data_service, and beside
// TensorFlow's by tests/oracle/data_service_journal_oracle.py.
#include "tools/tool_run.h"

#include <stdlib.h>
#include <string.h>

static void misuse_is_told(void** state) {
  tool_expect_part(2, "one of --dispatcher and --worker", "data-service");
  tool_expect_part(2, "--dispatcher_address is missing", "data-service --worker");
  tool_expect_part(2, "--dispatcher_address is for a worker",
                   "data-service --dispatcher --dispatcher_address localhost:1");
  tool_expect_part(2, "'x' is no number", "data-service --dispatcher --port x");
  tool_expect_part(2, "--work-dir is missing", "data-service --dispatcher --fault-tolerant");
}

#define SERVE "%s/bin/leat data-service --dispatcher --work-dir work --fault-tolerant"
// Kills the dispatcher once it serves, which the file `line` tells. Whoever starts it empties the
// file first: the shell would do so in the background, perhaps after grep has read the former one.
#define KILL_LATER                                                                            \
  " >>line & i=0; while ! grep -q serving line && [ $i -lt 1200 ]; do sleep 0.05; "             \
  "i=$((i + 1)); done; kill -KILL $!; wait $! 2>/dev/null; grep -c serving line; "             \
  "ls work/tf_data_dispatcher_journal"

// Each start of a fault-tolerant dispatcher begins a file of the journal. One with a file that is
// damaged says which.
static void a_killed_dispatcher_goes_on(void** state) {
  const char* build = getenv("LEAT_BUILD_DIR");
  if (!build) build = ".";
  tool_expect_part(0, "1\njournal_0\n", "--version >line; " SERVE KILL_LATER, build);
  tool_expect_part(0, "1\njournal_0\njournal_1\n", "--version >line; " SERVE KILL_LATER,
                   build);
  tool_expect_part(1, "journal_0: record 0",
                   "--version >/dev/null; echo a line of text, and no record "
                   ">work/tf_data_dispatcher_journal/journal_0; " SERVE, build);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(misuse_is_told),
      cmocka_unit_test(a_killed_dispatcher_goes_on),
  };
  return cmocka_run_group_tests(tests, scratch_set_up, scratch_tear_down);
}
