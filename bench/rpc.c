// What a remote procedure call costs beside a plain socket: bin/rpc_bench, two processes on
// loopback. The socket is measured by the same program in the same run, because the cost of a call
// on its own says little: half of it is the kernel's. Rows:
//
//   echo of 1 kB      raw TCP; a call that the end of the one before starts; a call that a thread
//                     waits for, as a client's session does
//   100 MB one way    raw TCP into a buffer; an answer (get) and a request (put), each copied from
//                     the engine's pieces into a buffer that was there before
//
// Compare ratios of one run, never times. The program starts itself a second time as the server,
// which tells its two ports through a pipe and ends when its standard input does.
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/sync.h"
#include "cluster/rpc.h"

enum { ECHO_BYTES = 1024, ECHOES = 20000, WARM_UP = 2000, TRANSFERS = 15 };
static const size_t kLarge = 100 * 1000 * 1000;
static char* large;  // what is sent, or where it is put

static void check(bool is_right, const char* what) {
  if (is_right) return;
  fprintf(stderr, "rpc_bench: %s failed\n", what);
  exit(1);
}

static void check_status(leat_status_t status, const char* what) {
  if (status) fprintf(stderr, "rpc_bench: %s\n", leat_status_message(status));
  check(!status, what);
}

static int compare(const void* a, const void* b) {
  const int64_t x = *(const int64_t*)a, y = *(const int64_t*)b;
  return (x > y) - (x < y);
}

static void show_latency(const char* what, int64_t* ns) {
  qsort(ns, ECHOES, sizeof *ns, compare);
  printf("%-34s min %7.1f us   median %7.1f us   99 %% %7.1f us\n", what, (double)ns[0] / 1e3,
         (double)ns[ECHOES / 2] / 1e3, (double)ns[ECHOES * 99 / 100] / 1e3);
}

static void show_bandwidth(const char* what, int64_t* ns) {
  qsort(ns, TRANSFERS, sizeof *ns, compare);
  printf("%-34s best %6.2f GB/s  median %6.2f GB/s\n", what, (double)kLarge / (double)ns[0],
         (double)kLarge / (double)ns[TRANSFERS / 2]);
}

// ---- The server ---------------------------------------------------------------------------------

static void put_pieces(leat_rpc_bytes_t bytes) {
  char* end = large;
  for (size_t i = 0; i < bytes.count; ++i) {
    memcpy(end, bytes.pieces[i].data, bytes.pieces[i].size);
    end += bytes.pieces[i].size;
  }
}

static void let_go(void* owner) {}

static void serve(void* data, leat_rpc_request_t* request) {
  leat_rpc_piece_t piece = {large, kLarge, let_go, NULL};
  leat_rpc_bytes_t answer = {&piece, 1};
  if (leat_string_view_equals(request->method, "/bench/Echo")) {
    answer = request->bytes;
  } else if (leat_string_view_equals(request->method, "/bench/Put")) {
    put_pieces(request->bytes);
    answer.count = 0;
  }
  leat_rpc_answer(request, leat_ok_status(), LEAT_SV(""), answer);
}

// false when the other side has closed the connection.
static bool read_all(int socket, char* to, size_t size) {
  for (size_t at = 0; at < size;) {
    ssize_t got = recv(socket, to + at, size - at, 0);
    if (got <= 0) return false;
    at += (size_t)got;
  }
  return true;
}

static void write_all(int socket, const char* from, size_t size) {
  for (size_t at = 0; at < size;) {
    ssize_t sent = send(socket, from + at, size - at, 0);
    check(sent > 0, "sending");
    at += (size_t)sent;
  }
}

// Answers what begins with 'e' as it is, and else with the large buffer.
static void* serve_sockets(void* data) {
  char bytes[ECHO_BYTES];
  const int one = 1, socket = accept(*(int*)data, NULL, NULL);
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  while (read_all(socket, bytes, sizeof bytes)) {
    if (bytes[0] == 'e') {
      write_all(socket, bytes, sizeof bytes);
    } else {
      write_all(socket, large, kLarge);
    }
  }
  close(socket);
  return NULL;
}

static int run_server(void) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t size = sizeof address;
  int listener = socket(AF_INET, SOCK_STREAM, 0), port;
  check(!bind(listener, (struct sockaddr*)&address, size) && !listen(listener, 1), "listening");
  getsockname(listener, (struct sockaddr*)&address, &size);
  pthread_t thread;
  pthread_create(&thread, NULL, serve_sockets, &listener);
  leat_rpc_server_t* server;
  const leat_rpc_server_options_t options = {.address = LEAT_SV("127.0.0.1:0"), .handler = serve};
  check_status(leat_rpc_server_start(&options, &port, &server), "starting the server");
  printf("%d %d\n", ntohs(address.sin_port), port);
  fflush(stdout);
  while (getchar() != EOF) {}
  leat_rpc_server_stop(server);
  return 0;
}

// ---- The client ---------------------------------------------------------------------------------

static void measure_sockets(int port) {
  static int64_t ns[ECHOES];
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)},
                                .sin_port = htons((uint16_t)port)};
  const int one = 1, s = socket(AF_INET, SOCK_STREAM, 0);
  check(!connect(s, (struct sockaddr*)&address, sizeof address), "connecting");
  setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  char bytes[ECHO_BYTES] = "e";
  for (int i = -WARM_UP; i < ECHOES; ++i) {
    const int64_t begin = leat_clock_now_ns();
    write_all(s, bytes, sizeof bytes);
    read_all(s, bytes, sizeof bytes);
    if (i >= 0) ns[i] = leat_clock_now_ns() - begin;
  }
  show_latency("echo 1 kB, raw TCP", ns);
  for (int i = 0; i < TRANSFERS; ++i) {
    bytes[0] = 'g';
    const int64_t begin = leat_clock_now_ns();
    write_all(s, bytes, sizeof bytes);
    read_all(s, large, kLarge);
    ns[i] = leat_clock_now_ns() - begin;
  }
  show_bandwidth("100 MB, raw TCP", ns);
  close(s);
}

typedef struct run_s {
  leat_rpc_channel_t* channel;
  leat_rpc_call_options_t options;
  leat_notification_t ended;
  leat_rpc_piece_t piece;
  int64_t begin, *ns;
  int i, end;
} run_t;

static void on_done(void* data, leat_status_t status, leat_string_view_t details,
                    leat_rpc_bytes_t answer) {
  run_t* run = data;
  check_status(status, "a call");
  put_pieces(answer);
  const int64_t now = leat_clock_now_ns();
  if (run->i >= 0) run->ns[run->i] = now - run->begin;
  if (++run->i >= run->end) {
    leat_notification_open(&run->ended);
    return;
  }
  run->begin = leat_clock_now_ns();
  leat_rpc_call(run->channel, &run->options, on_done, run, NULL);
}

// From the |first| call (those below 0 do not count) up to, but without, the one numbered |end|,
// each started by the end of the one before.
static void run_calls(run_t* run, int first, int end) {
  run->i = first;
  run->end = end;
  leat_notification_initialize(&run->ended);
  run->begin = leat_clock_now_ns();
  leat_rpc_call(run->channel, &run->options, on_done, run, NULL);
  leat_notification_wait(&run->ended, LEAT_DEADLINE_NEVER);
  leat_notification_deinitialize(&run->ended);
}

static void measure_calls(int port) {
  static int64_t ns[ECHOES];
  static char echo[ECHO_BYTES];
  char address[32];
  run_t run = {.ns = ns, .piece = {echo, sizeof echo, NULL, NULL}};
  snprintf(address, sizeof address, "127.0.0.1:%d", port);
  check_status(leat_rpc_channel_create(leat_string_view_from(address), &(leat_rpc_security_t){0},
                                       &run.channel), "opening the channel");
  run.options = (leat_rpc_call_options_t){.method = "/bench/Echo", .bytes = {&run.piece, 1},
                                          .deadline_ns = LEAT_DEADLINE_NEVER};
  run_calls(&run, -WARM_UP, ECHOES);
  show_latency("echo 1 kB, call after call", ns);
  for (int i = 0; i < ECHOES; ++i) {
    const int64_t begin = leat_clock_now_ns();
    run_calls(&run, -1, 0);
    ns[i] = leat_clock_now_ns() - begin;
  }
  show_latency("echo 1 kB, a thread waits", ns);
  run.options.method = "/bench/Get";
  run_calls(&run, -2, TRANSFERS);
  show_bandwidth("100 MB, get into a buffer", ns);
  run.options.method = "/bench/Put";
  run.piece = (leat_rpc_piece_t){large, kLarge, let_go, NULL};
  run_calls(&run, -2, TRANSFERS);
  show_bandwidth("100 MB, put into a buffer", ns);
  leat_rpc_channel_free(run.channel);
}

static pid_t start_server(const char* self, int* out_ports, int* out_stdin) {
  int to[2], from[2];
  check(!pipe(to) && !pipe(from), "making pipes");
  const pid_t child = fork();
  if (child == 0) {
    dup2(to[0], 0);
    dup2(from[1], 1);
    close(to[1]);
    execl(self, self, "serve", NULL);
    _exit(1);
  }
  close(to[0]);
  close(from[1]);
  FILE* ports = fdopen(from[0], "r");
  check(fscanf(ports, "%d %d", &out_ports[0], &out_ports[1]) == 2, "starting the server");
  *out_stdin = to[1];
  return child;
}

int main(int argc, char** argv) {
  int ports[2], server_stdin;
  large = malloc(kLarge);
  memset(large, 'x', kLarge);
  if (argc > 1) return run_server();
  const pid_t server = start_server("/proc/self/exe", ports, &server_stdin);
  measure_sockets(ports[0]);
  measure_calls(ports[1]);
  close(server_stdin);
  waitpid(server, NULL, 0);
  return 0;
}
