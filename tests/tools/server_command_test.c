// leat server and leat doctor --cluster as processes: the lines that a server says, its status page
// over HTTP, and what the doctor finds at a server that is there and at one that is not. A server
// is started on a free port and its lines are read until it says that it is ready, so nothing waits
// by time. The page is asked by requests written out byte by byte, with and without the token that
// may protect it. A server that a failed test leaves behind is killed by the teardown. Wrong
// arguments must be refused before anything listens.
#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cluster/rpc_scene.h"
#include "tools/tool_run.h"

extern char** environ;

typedef struct served_s {
  pid_t process;
  FILE* out;
  int port, status_port;
} served_t;

static pid_t running;  // a server that a failed test left behind; 0: none

static void read_line(served_t* served, char line[1024]) {
  assert_non_null(fgets(line, 1024, served->out));
}

// Starts a server with a status page, and waits until it serves.
static served_t start_server(const char* token) {
  served_t served = {.port = rpc_scene_free_port()};
  char program[512], cluster[64], line[1024];
  const char* build = getenv("LEAT_BUILD_DIR");
  int ends[2];
  snprintf(program, sizeof program, "%s/bin/leat", build ? build : ".");
  snprintf(cluster, sizeof cluster, "ps=localhost:%d", served.port);
  char* const arguments[] = {program, "server",        "--cluster", cluster, "--job", "ps",
                             "--json", "--status-port", "0",
                             token ? "--status-token" : NULL, (char*)(uintptr_t)token, NULL};
  posix_spawn_file_actions_t actions;
  assert_int_equal(pipe(ends), 0);
  fcntl(ends[0], F_SETFD, FD_CLOEXEC);
  assert_int_equal(posix_spawn_file_actions_init(&actions), 0);
  assert_int_equal(posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO), 0);
  assert_int_equal(posix_spawn(&served.process, program, &actions, NULL, arguments, environ), 0);
  posix_spawn_file_actions_destroy(&actions);
  running = served.process;
  close(ends[1]);
  served.out = fdopen(ends[0], "r");
  read_line(&served, line);
  assert_int_equal(strncmp(line, "{\"event\": \"serving\", \"job\": \"ps\", \"task\": 0", 40), 0);
  const char* url = strstr(line, "\"status\": \"http://localhost:");
  assert_non_null(url);
  served.status_port = atoi(strstr(url, "localhost:") + 10);
  return served;
}

// SIGTERM must end the server in order: a last line that says so, and the exit code 0.
static void end_server(served_t* served) {
  char line[1024];
  int status;
  assert_int_equal(kill(served->process, SIGTERM), 0);
  do {
    read_line(served, line);
  } while (!strstr(line, "\"event\": \"stopped\""));
  assert_int_equal(waitpid(served->process, &status, 0), served->process);
  running = 0;
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  fclose(served->out);
}

// The answer to a GET, head and body.
static void get(const served_t* served, const char* path, const char* header, char answer[65536]) {
  struct sockaddr_in address = {.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)served->status_port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  char request[512];
  size_t size = 0;
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  assert_int_equal(connect(fd, (struct sockaddr*)&address, sizeof address), 0);
  const int length = snprintf(request, sizeof request,
                              "GET %s HTTP/1.1\r\nHost: localhost:%d\r\n%sConnection: close\r\n"
                              "\r\n",
                              path, served->status_port, header);
  assert_int_equal(write(fd, request, (size_t)length), length);
  for (ssize_t got; (got = read(fd, answer + size, 65535 - size)) > 0;) size += (size_t)got;
  answer[size] = 0;
  close(fd);
}

static void expect_get(const served_t* served, const char* path, const char* header,
                       const char* first, const char* part) {
  static char answer[65536];
  get(served, path, header, answer);
  if (strncmp(answer, first, strlen(first)) || !strstr(answer, part)) print_error("%s\n", answer);
  assert_int_equal(strncmp(answer, first, strlen(first)), 0);
  assert_non_null(strstr(answer, part));
}

static void a_server_has_a_status_page(void** state) {
  served_t served = start_server(NULL);
  expect_get(&served, "/healthz", "", "HTTP/1.1 200", "\r\n\r\nok\n");
  expect_get(&served, "/metrics", "", "HTTP/1.1 200", "text/plain; version=0.0.4");
  expect_get(&served, "/metrics", "", "HTTP/1.1 200", "\nleat_sessions 0\n");
  expect_get(&served, "/metrics", "", "HTTP/1.1 200", "\nleat_rendezvous_steps 0\n");
  expect_get(&served, "/else", "", "HTTP/1.1 404", "/metrics");
  end_server(&served);
}

static void a_status_page_may_have_a_token(void** state) {
  served_t served = start_server("0123456789abcdef");
  expect_get(&served, "/healthz", "", "HTTP/1.1 401", "");
  expect_get(&served, "/healthz", "Authorization: Bearer 0123456789abcdef\r\n", "HTTP/1.1 200",
             "ok\n");
  end_server(&served);
}

static void the_doctor_finds_servers(void** state) {
  served_t served = start_server(NULL);
  tool_expect_part(0, "clock ahead by", "doctor --cluster 'ps=localhost:%d' --load 1",
                   served.port);
  tool_expect_part(1, "cannot be reached: UNAVAILABLE",
                   "doctor --cluster 'ps=localhost:%d,localhost:1' --no-pairs --load 0",
                   served.port);
  tool_expect_part(0, "was started as             /job:ps/replica:0/task:0",
                   "doctor --cluster 'worker=localhost:%d' --load 0", served.port);
  tool_expect_part(0, "\"reachable\": true", "doctor --cluster 'ps=localhost:%d' --json --load 0",
                   served.port);
  tool_expect_part(2, "--cluster is 'nonsense'", "doctor --cluster nonsense");
  end_server(&served);
}

// The program's own recording stands behind the server's in the file.
static void a_cluster_is_traced(void** state) {
  served_t served = start_server(NULL);
  scratch_write_text("g.pbtxt",
                     "node { name: 'n' op: 'Const' attr { key: 'dtype' value { type: DT_INT32 } }\n"
                     "  attr { key: 'value' value { tensor { dtype: DT_INT32\n"
                     "    tensor_shape { dim { size: 1 } } int_val: 3 } } } }\n"
                     "node { name: 'r' op: 'RandomUniform' input: 'n'\n"
                     "  attr { key: 'T' value { type: DT_INT32 } }\n"
                     "  attr { key: 'dtype' value { type: DT_FLOAT } } }");
  tool_expect_part(0, "clock ahead by",
                   "trace --cluster 'ps=localhost:%d' --out idle.perfetto-trace --seconds 1",
                   served.port);
  tool_expect_part(0, "The recording is in both.perfetto-trace",
                   "trace --cluster 'ps=localhost:%d' --out both.perfetto-trace -- "
                   "\"$LEAT_BUILD_DIR\"/bin/leat run g.pbtxt --fetch r", served.port);
  tool_expect_part(0, "1 of 1 steps are alike", "trace --report both.perfetto-trace");
  assert_false(scratch_has("both.perfetto-trace.program"));
  tool_expect_part(3, "The recording is in failed.perfetto-trace",
                   "trace --cluster 'ps=localhost:%d' --out failed.perfetto-trace -- "
                   "sh -c 'exit 3'", served.port);
  end_server(&served);
}

static void arguments_are_checked(void** state) {
  tool_expect_part(2, "is no number",
                   "server --cluster ps=localhost:1 --job ps --heartbeat soon");
  tool_expect_part(2, "must be at most 65535",
                   "server --cluster ps=localhost:1 --job ps --status-port 65536");
  tool_expect_part(1, "must be this machine's unless a token",
                   "server --cluster ps=localhost:0 --job ps --status-port 0 --status-host "
                   "0.0.0.0");
}

static int tear_down(void** state) {
  if (running) {
    kill(running, SIGKILL);
    waitpid(running, NULL, 0);
  }
  running = 0;
  return scratch_tear_down(state);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(a_server_has_a_status_page),
      TEST(a_status_page_may_have_a_token),
      TEST(the_doctor_finds_servers),
      TEST(a_cluster_is_traced),
      TEST(arguments_are_checked),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
