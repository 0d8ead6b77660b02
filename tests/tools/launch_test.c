// leat launch starts a cluster of processes on this machine. Here the processes are shells that
// print what they see or end as a case wants, so no training takes part. Each task must find its
// place in TF_CONFIG, and its output must come line by line behind its name. How a cluster ends has
// most of the rules: with the chief's exit code, with the first failure, with the workers even if
// parameter servers run for ever, and by force where a task ignores the request. Signals to the
// launcher reach the tasks, for which two of them meet through a file before one sends the signal.
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tools/tool_run.h"

static void each_task_has_its_place(void** state) {
  tool_result_t result = tool_run(
      "launch -n 2 --ps 1 -- sh -c 'echo \"$TF_CONFIG\"; echo to stderr >&2; "
      "printf \"no end\"'");
  assert_int_equal(result.code, 0);
  static const char* const lines[] = {
      "[worker 0] {\"cluster\": {\"worker\": [\"localhost:",
      "\"task\": {\"type\": \"worker\", \"index\": 0}}\n",
      "\"task\": {\"type\": \"worker\", \"index\": 1}}\n",
      "\"task\": {\"type\": \"ps\", \"index\": 0}}\n",
      "[worker 1] to stderr\n",
      "[worker 0] no end\n",
  };
  for (size_t i = 0; i < sizeof lines / sizeof *lines; ++i) {
    if (!strstr(result.out, lines[i])) print_error("%s\n is not in\n%s\n", lines[i], result.out);
    // A parameter server may be ended before it has said anything.
    if (i != 3) assert_non_null(strstr(result.out, lines[i]));
  }
  tool_free(&result);
}

// The parameter server would run for ever; what it started ends with it.
static void parameter_servers_end_with_the_workers(void** state) {
  tool_expect_part(0, "[worker 1] done",
                   "launch -n 2 --ps 2 -- sh -c 'case \"$TF_CONFIG\" in "
                   "*\"type*: .ps\"*) sleep 1000;; *) echo done;; esac'");
}

static void one_failure_ends_all(void** state) {
  tool_expect_part(3, "worker 1 ended with code 3; the other tasks are ended",
                   "launch -n 3 --ps 1 -- sh -c 'case \"$TF_CONFIG\" in "
                   "*worker*index*1}}) exit 3;; *) sleep 1000;; esac'");
  tool_expect_part(137, "worker 0 ended with signal 9",
                   "launch -n 1 --ps 1 -- sh -c 'case \"$TF_CONFIG\" in "
                   "*type*worker*index*) kill -9 $$;; *) sleep 1000;; esac'");
}

static void who_does_not_end_is_killed(void** state) {
  tool_expect_part(3, "ended with code 3",
                   "launch -n 2 --grace 0 -- sh -c 'case \"$TF_CONFIG\" in *index*1}}) exit 3;; "
                   "*) trap \"\" TERM; sleep 1000; sleep 1000;; esac'");
}

static void the_exit_code_is_the_chiefs(void** state) {
  tool_expect(5, NULL, "launch -n 2 -- sh -c 'case \"$TF_CONFIG\" in *index*0}}) exit 5;; esac'");
  tool_expect_part(127, "cannot be started", "launch -- /no/such/program");
}

// Both tasks have set their traps when the chief asks the launcher for the signal.
static void signals_are_passed_on(void** state) {
  tool_result_t result = tool_run(
      "launch -n 2 -- sh -c 'trap \"echo heard; exit 0\" USR1; case \"$TF_CONFIG\" in "
      "*index*0}}) while [ ! -e ready ]; do sleep 0.05; done; kill -USR1 $PPID;; "
      "*) : > ready;; esac; while :; do sleep 0.05; done'");
  assert_int_equal(result.code, 0);
  assert_non_null(strstr(result.out, "[worker 0] heard"));
  assert_non_null(strstr(result.out, "[worker 1] heard"));
  tool_free(&result);
}

// Ports that the system gives to nobody by itself, each with a lock while the cluster runs, since a
// server starts seconds after its port was found.
static void free_ports_are_kept(void** state) {
  tool_expect(0, "[worker 0] kept\n[worker 0] kept\n",
              "launch -n 1 --ps 1 -- sh -c 'for port in $(echo \"$TF_CONFIG\" | grep -o :[0-9]* | "
              "tr -d :); do [ $port -lt 30000 ] && grep -q @leat-port-$port$ /proc/net/unix && "
              "case \"$TF_CONFIG\" in *type*worker*index*) echo kept;; esac; done; true'");
}

static void given_ports_must_be_free(void** state) {
  struct sockaddr_in address = {.sin_family = AF_INET};
  socklen_t size = sizeof address;
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  assert_int_equal(bind(listener, (struct sockaddr*)&address, size), 0);
  assert_int_equal(listen(listener, 1), 0);
  assert_int_equal(getsockname(listener, (struct sockaddr*)&address, &size), 0);
  char arguments[80];
  snprintf(arguments, sizeof arguments, "launch -n 1 --port %d -- true", ntohs(address.sin_port));
  tool_expect_part(1, "there are no free ports from that one on", arguments);
  close(listener);
  tool_expect(0, "", arguments);
  tool_expect_part(1, "there are no free ports from that one on",
                   "launch -n 2 --port 65535 -- true");
}

static void arguments_are_checked(void** state) {
  tool_expect_part(2, "the program is missing", "launch -n 2");
  tool_expect_part(2, "must be a number", "launch -n two -- true");
  tool_expect_part(2, "with a worker", "launch -n 0 --ps 2 -- true");
  tool_expect_part(0, "leat launch -n 3", "launch --help");
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_set_up, scratch_tear_down)
  const struct CMUnitTest tests[] = {
      TEST(each_task_has_its_place),
      TEST(parameter_servers_end_with_the_workers),
      TEST(one_failure_ends_all),
      TEST(who_does_not_end_is_killed),
      TEST(the_exit_code_is_the_chiefs),
      TEST(signals_are_passed_on),
      TEST(free_ports_are_kept),
      TEST(given_ports_must_be_free),
      TEST(arguments_are_checked),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
